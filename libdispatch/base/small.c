/* small.c -- blocks of one size that a thread keeps for its next allocation: the memory of small
 * tensors.
 *
 * Most calls make a small tensor and free one.  The C library's allocator is fast for that in most
 * states of its heap, but not in all: if it has no chunk of the wanted size, it may give one that
 * is 16 bytes larger, take it back as a chunk of that other size, and so search at every call.
 * Blocks that lie in the thread's row of counters (tally.c) cost the same in every state.
 *
 * A build with a sanitizer keeps no block, so that the sanitizer sees each allocation. */
#include "base.h"
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { KEPT = 0 };
#else
enum { KEPT = 16 }; /* the most blocks that a thread keeps */
#endif

struct dpi_small {
    dpi_small *next;
};

DPI_HOT void *dpi_small_alloc(void)
{
    dpi_tally_row *row = dpi_tally_own;
    dpi_small *p = row->small; /* NULL in the row that threads share */

    if (DPI_UNLIKELY(p == NULL))
        return dp_malloc(DPI_SMALL_BYTES);
    if (dpi_fault())
        return NULL;
    row->small = p->next;
    row->n_small--;
    return p;
}

DPI_HOT void dpi_small_free(void *p)
{
    dpi_tally_row *row = dpi_tally_own;

    /* + 1: the compiler warns of a comparison with 0 that an unsigned number always passes */
    if (DPI_UNLIKELY(row == dpi_tally_rows || row->n_small + 1 > KEPT)) {
        free(p);
        return;
    }
    ((dpi_small *)p)->next = row->small;
    row->small = p;
    row->n_small++;
}
