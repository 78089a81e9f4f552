/* pool.c -- the threads behind dp_parallel_for.
 *
 * A job lies on its caller's stack and is linked while it wants helpers.  Caller and helpers claim
 * pieces from one atomic counter, so a slow thread holds up nobody, and the caller alone would
 * finish the job: nested and simultaneous calls cannot deadlock, they share the threads that are
 * free. Helpers leave under the lock, and the caller returns when the last has left.
 *
 * Waking a thread takes as long as a short job.  So whoever has nothing to do looks for a while
 * whether that changes before he sleeps, and lets others have the core meanwhile.
 *
 * A kernel wakes a helper on its caller's core when no other is idle at that moment, and leaves it
 * in the queue there until its next clock tick, 4 ms: longer than most jobs.  So helpers keep off
 * the core that their caller was on when he called. */
#define _GNU_SOURCE /* sched_getcpu, pthread_setaffinity_np */
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
    int cpu; /* its caller's */
    dp_range_fn fn;
    void *user;
    int64_t begin, end, step, n_pieces;
    _Atomic int64_t claimed;
    unsigned wanted;    /* helpers to come; linked while > 0 */
    atomic_uint inside; /* helpers at work */
} job;

typedef struct helper {
    pthread_t thread;
    pthread_cond_t wake;
    struct helper *next; /* asleep */
    bool called;
    int off; /* the core it keeps off; -1: none */
} helper;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t left = PTHREAD_COND_INITIALIZER;
static job *jobs; /* that want helpers, oldest first */
static atomic_uint n_jobs;
static helper helpers[THREADS_MAX];
static helper *asleep;
static atomic_int n_threads;
static cpu_set_t cpus; /* that the process may use */
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

/* Locked.  Where this cannot be done, nothing is lost but time. */
static void keep_off(helper *h, int cpu)
{
    cpu_set_t others = cpus;

    if (cpu < 0 || h->off == cpu)
        return;
    CPU_CLR(cpu, &others);
    if (CPU_COUNT(&others) > 0 && pthread_setaffinity_np(h->thread, sizeof(others), &others) == 0)
        h->off = cpu;
}

/* Locked. */
static void sleep_until_called(helper *h)
{
    h->called = false;
    h->next = asleep;
    asleep = h;
    while (!h->called && !stopping)
        pthread_cond_wait(&h->wake, &lock);
}

static void *worker(void *arg)
{
    helper *self = arg;

    pthread_mutex_lock(&lock);
    while (!stopping) {
        job *j = jobs;
        if (j == NULL) {
            sleep_until_called(self);
            continue;
        }
        atomic_fetch_add_explicit(&j->inside, 1, memory_order_relaxed);
        if (--j->wanted == 0)
            unlink_job(j);
        if (sched_getcpu() == j->cpu)
            keep_off(self, j->cpu);
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
    j->cpu = sched_getcpu();
    atomic_fetch_add(&n_jobs, 1);
    for (unsigned i = 0; i < wanted && asleep != NULL; i++) {
        helper *h = asleep;
        asleep = h->next;
        h->called = true;
        keep_off(h, j->cpu);
        pthread_cond_signal(&h->wake);
    }
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
    asleep = NULL;
    if (sched_getaffinity(0, sizeof(cpus), &cpus) < 0)
        CPU_ZERO(&cpus);
    sigfillset(&all); /* signals are the main thread's */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pthread_mutex_lock(&lock); /* helpers begin when they are all there */
    while (made < n) {
        helper *h = &helpers[made];
        *h = (helper){.wake = PTHREAD_COND_INITIALIZER, .off = -1};
        if (pthread_create(&h->thread, NULL, worker, h) != 0)
            break;
        made++;
    }
    pthread_mutex_unlock(&lock);
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
    for (int i = 0; i < n; i++)
        pthread_cond_signal(&helpers[i].wake);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < n; i++)
        pthread_join(helpers[i].thread, NULL);
}
