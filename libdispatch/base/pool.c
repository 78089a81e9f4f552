/* pool.c -- the threads behind dp_parallel_for.
 *
 * A job lies on its caller's stack and is linked while it wants helpers.  Caller and helpers claim
 * pieces from one atomic counter, so a slow thread holds up nobody, and the caller alone would
 * finish the job: nested and simultaneous calls cannot deadlock, they share the threads that are
 * free. Helpers leave under the lock, and the caller returns when the last has left.
 *
 * Waking a thread takes as long as a short job.  So whoever has nothing to do looks for a while
 * whether that changes before he sleeps, and lets others have the core meanwhile. */
#include "base.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>

enum {
    THREADS_MAX = 256,
    PIECES_PER_THREAD = 4, /* so that pieces of unequal cost even out */
    LOOK_NANOS = 100000,
    LOOKS = 64 /* between two offers of the core */
};

typedef struct job {
    struct job *next;
    dp_range_fn fn;
    void *user;
    int64_t begin, end, step, n_pieces;
    _Atomic int64_t claimed;
    unsigned wanted;    /* helpers to come; linked while > 0 */
    atomic_uint inside; /* helpers at work */
} job;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER, left = PTHREAD_COND_INITIALIZER;
static job *jobs; /* that want helpers, oldest first */
static atomic_uint n_jobs;
static unsigned asleep; /* helpers */
static pthread_t threads[THREADS_MAX];
static atomic_int n_threads;
static bool stopping;

static void run_pieces(job *j)
{
    int64_t i;

    while ((i = atomic_fetch_add_explicit(&j->claimed, 1, memory_order_relaxed)) < j->n_pieces) {
        int64_t begin = j->begin + i * j->step;
        j->fn(begin, i == j->n_pieces - 1 ? j->end : begin + j->step, j->user);
    }
}

/* Look for a while whether *word is zero, or is not. */
static bool look(const atomic_uint *word, bool zero)
{
    uint64_t end = dpi_nanos() + LOOK_NANOS;

    do {
        for (int i = 0; i < LOOKS; i++) {
            if ((atomic_load_explicit(word, memory_order_acquire) == 0) == zero)
                return true;
#ifdef __x86_64__
            __builtin_ia32_pause();
#endif
        }
        sched_yield();
    } while (dpi_nanos() < end);
    return false;
}

/* Locked. */
static void unlink_job(job *j)
{
    job **at = &jobs;

    while (*at && *at != j)
        at = &(*at)->next;
    if (*at) {
        *at = j->next;
        atomic_fetch_sub(&n_jobs, 1);
    }
    j->wanted = 0;
}

static void *worker(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    for (;;) {
        asleep++;
        while (jobs == NULL && !stopping)
            pthread_cond_wait(&work, &lock);
        asleep--;
        job *j = jobs;
        if (j == NULL)
            break;
        atomic_fetch_add_explicit(&j->inside, 1, memory_order_relaxed);
        if (--j->wanted == 0)
            unlink_job(j);
        pthread_mutex_unlock(&lock);
        run_pieces(j);
        pthread_mutex_lock(&lock);
        if (atomic_fetch_sub_explicit(&j->inside, 1, memory_order_release) == 1)
            pthread_cond_broadcast(&left); /* j is its caller's again */
        pthread_mutex_unlock(&lock);
        look(&n_jobs, false);
        pthread_mutex_lock(&lock);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void call_helpers(job *j, unsigned wanted)
{
    job **at = &jobs;

    pthread_mutex_lock(&lock);
    while (*at)
        at = &(*at)->next;
    *at = j;
    j->wanted = wanted;
    atomic_fetch_add(&n_jobs, 1);
    for (unsigned i = 0; i < wanted && i < asleep; i++)
        pthread_cond_signal(&work);
    pthread_mutex_unlock(&lock);
}

static void dismiss_helpers(job *j)
{
    pthread_mutex_lock(&lock);
    unlink_job(j);
    pthread_mutex_unlock(&lock);
    if (look(&j->inside, true))
        return;
    pthread_mutex_lock(&lock);
    while (atomic_load(&j->inside) > 0)
        pthread_cond_wait(&left, &lock);
    pthread_mutex_unlock(&lock);
}

void dpi_pool_run(int max_threads, int64_t begin, int64_t end, int64_t grain, dp_range_fn fn,
                  void *user)
{
    int64_t n = end - begin, runners = 1 + atomic_load_explicit(&n_threads, memory_order_relaxed);

    if (n <= 0)
        return;
    if (grain < 1)
        grain = 1;
    if (max_threads > 0 && runners > max_threads)
        runners = max_threads;
    int64_t pieces = n / grain; /* so that each has at least grain */
    if (pieces > runners * PIECES_PER_THREAD)
        pieces = runners * PIECES_PER_THREAD;
    if (runners > pieces)
        runners = pieces;
    if (runners <= 1) {
        fn(begin, end, user);
        return;
    }
    job j = {.fn = fn, .user = user, .begin = begin, .end = end};
    j.n_pieces = pieces;
    j.step = n / pieces;
    call_helpers(&j, (unsigned)(runners - 1));
    run_pieces(&j);
    dismiss_helpers(&j);
}

int dp_pool_start(int n, dp_error *err)
{
    sigset_t all, old;
    int made = 0, rc = DP_OK;

    if (n < 0 || n > THREADS_MAX)
        return dp_error_set(err, DP_EVALUE, "pool of %d threads; 0 to %d are possible", n,
                            THREADS_MAX);
    if (atomic_load(&n_threads) > 0)
        return dp_error_set(err, DP_EEXISTS, "the pool is running, with %d threads",
                            atomic_load(&n_threads));
    stopping = false;
    sigfillset(&all); /* signals are the main thread's */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    while (made < n && pthread_create(&threads[made], NULL, worker, NULL) == 0)
        made++;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    atomic_store(&n_threads, made);
    if (made < n) {
        dp_pool_stop();
        rc = dp_error_set(err, DP_ERESOURCE, "thread %d of the pool's %d could not be started",
                          made + 1, n);
    }
    return rc;
}

void dp_pool_stop(void)
{
    int n = atomic_exchange(&n_threads, 0);

    pthread_mutex_lock(&lock);
    stopping = true;
    pthread_cond_broadcast(&work);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
}
