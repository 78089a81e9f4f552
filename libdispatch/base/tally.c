/* tally.c -- statistics that all threads update often and that are read rarely.
 *
 * Each thread has its own row of counters, so that counting is an addition without contention.
 * The sum of all rows is the value.  When a thread ends, its row stays as it is, with the blocks
 * that it keeps (small.c), and a later thread continues with it.  Row 0 is shared by the threads
 * that found no free row, and by ending threads that have returned theirs. */
#include "base.h"
#include <pthread.h>

enum { ROWS = 256 };

dpi_tally_row dpi_tally_rows[ROWS];
_Thread_local dpi_tally_row *dpi_tally_own = dpi_tally_rows;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool has_key;

static void return_row(void *row)
{
    dpi_tally_own = dpi_tally_rows;
    atomic_store_explicit(&((dpi_tally_row *)row)->taken, false, memory_order_release);
}

static void make_key(void)
{
    has_key = pthread_key_create(&key, return_row) == 0;
}

static dpi_tally_row *take_row(void)
{
    for (int i = 1; i < ROWS; i++) {
        dpi_tally_row *row = &dpi_tally_rows[i];
        if (!atomic_load_explicit(&row->taken, memory_order_relaxed) &&
            !atomic_exchange_explicit(&row->taken, true, memory_order_acquire))
            return row;
    }
    return dpi_tally_rows;
}

void dpi_tally_enter(void)
{
    static _Thread_local bool entered;

    if (entered) /* the thread found no free row, or has returned its row because it ends */
        return;
    entered = true;
    pthread_once(&once, make_key);
    dpi_tally_row *row = has_key ? take_row() : dpi_tally_rows;
    if (row != dpi_tally_rows && pthread_setspecific(key, row) != 0) {
        return_row(row);
        return;
    }
    dpi_tally_own = row;
}

int64_t dpi_tally_sum(int which)
{
    int64_t sum = 0;

    for (int i = 0; i < ROWS; i++)
        sum += atomic_load_explicit(&dpi_tally_rows[i].n[which], memory_order_relaxed);
    return sum;
}
