/* thread_pool.c -- the threads behind dp_parallel_for.
 *
 * A job is on its caller's stack, and in the list `jobs` while it wants more helpers.  Caller and
 * helpers claim pieces from one atomic counter, so that a slow thread delays nobody.  The caller
 * would finish the job alone if no helper came; so nested and simultaneous calls cannot deadlock,
 * they share the threads that are free.  Helpers leave under the lock; the caller returns when the
 * last has left.
 *
 * Waking a thread takes as long as a short job.  So a thread without work polls for a while before
 * it sleeps, and yields its core meanwhile.
 *
 * Linux wakes a helper on its caller's core if no other core is idle at that moment, and leaves it
 * in that core's queue until the next clock tick (4 ms), which is longer than most jobs.  So a
 * helper is not allowed to run on the core that its caller was on when it called.
 *
 * A body that ends its thread (pthread_exit) on a helper fails its job, and a new thread takes the
 * helper's place.  On the caller's thread it ends the kernel, too (registry/thread.c).
 *
 * A body that changes the floating-point environment of a helper changes that of the caller's
 * thread instead, as if it had run there; whoever called the caller compares it. */
#define _GNU_SOURCE /* sched_getcpu, pthread_setaffinity_np */
#include "base.h"
#include "fp.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>

enum {
    THREADS_MAX = 256,
    PIECES_PER_THREAD = 4, /* so that pieces of unequal cost even out */
    ALIGN = 64,            /* elements */
    ALIGNED_MIN = 64 * ALIGN,
    POLL_NANOS = 100000,
    POLLS = 64,           /* between two yields */
    SLICE_NANOS = 2000000 /* time that a body takes at most, about, between two looks at `stop` */
};

typedef struct job {
    struct job *next;
    int cpu; /* the core its caller was on */
    dp_range_fn fn;
    void *user;
    int64_t begin, end, grain, step, n_pieces;
    int64_t longer; /* so many pieces, the first ones, have one more than step */
    _Atomic int64_t claimed;
    const dpi_stop *stop;   /* NULL: it is not stopped */
    atomic_int stopped;     /* the code, once it is */
    unsigned wanted;        /* helpers still wanted; in the list while > 0 */
    atomic_uint inside;     /* helpers working on it */
    atomic_bool fp_changed; /* a body changed a helper's floating-point environment, to fp */
    _Atomic(dpi_fp) fp;
} job;

typedef struct helper {
    pthread_t thread;
    pthread_cond_t wake;
    struct helper *next; /* asleep */
    bool called;
    job *job;  /* that it works on */
    dpi_fp fp; /* its floating-point environment before that */
    int off;   /* the core it must not run on; -1: none */
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
static _Thread_local const dpi_stop
    *own_stop; /* of the job whose body the thread runs; NULL: none, or it is not stopped */

/* Run the body over [begin, end).  A job with a `stop` does so in slices: the first is as long as
 * the grain, and the next ones double until one takes SLICE_NANOS, since a piece may have 2^60
 * steps.  0, or the code with which the job is to stop; it is asked after the last slice, too,
 * because a body that finds it set returns early. */
static int run_slices(job *j, int64_t begin, int64_t end)
{
    int64_t slice = j->grain;
    int code = dpi_stop_code(j->stop);

    for (uint64_t before = dpi_nanos(), now; code == 0 && begin < end; before = now) {
        int64_t next = end - begin > slice ? begin + slice : end;
        j->fn(begin, next, j->user);
        begin = next;
        code = dpi_stop_code(j->stop);
        now = dpi_nanos();
        if (now - before < SLICE_NANOS / 2 && slice <= INT64_MAX / 2)
            slice *= 2;
        else if (now - before > SLICE_NANOS && slice / 2 >= j->grain)
            slice /= 2;
    }
    return code;
}

static void run_pieces(job *j)
{
    const dpi_stop *before = own_stop;
    int64_t i;

    own_stop = j->stop;
    while ((i = atomic_fetch_add_explicit(&j->claimed, 1, memory_order_relaxed)) < j->n_pieces) {
        int64_t begin = j->begin + i * j->step + (i < j->longer ? i : j->longer);
        int64_t end = i == j->n_pieces - 1 ? j->end : begin + j->step + (i < j->longer);
        int code = 0;
        if (j->stop != NULL)
            code = run_slices(j, begin, end);
        else
            j->fn(begin, end, j->user);
        if (code < 0) {
            atomic_store(&j->stopped, code);
            atomic_store(&j->claimed, j->n_pieces);
            break;
        }
    }
    own_stop = before;
}

/* Wait, for POLL_NANOS at most, until *word is zero, or until it is not.  False: it did not
 * happen. */
static bool poll_for(const atomic_uint *word, bool zero)
{
    uint64_t end = dpi_nanos() + POLL_NANOS;

    do {
        for (int i = 0; i < POLLS; i++) {
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

/* Locked.  If it fails, the helper only may start later. */
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

/* Locked.  j is its caller's again when the last has left. */
static void leave_job(job *j)
{
    if (atomic_fetch_sub_explicit(&j->inside, 1, memory_order_release) == 1)
        pthread_cond_broadcast(&left);
}

static void *worker(void *arg);

static void fp_take_back(helper *h)
{
    dpi_fp now = dpi_fp_get();

    if (DPI_LIKELY(now == h->fp))
        return;
    dpi_fp_set(h->fp);
    atomic_store(&h->job->fp, now);
    atomic_store(&h->job->fp_changed, true);
}

/* Of a helper whose thread ends in a body.  If no other can be started, it stays away. */
static void replace_thread(void *arg)
{
    helper *self = arg;
    job *j = self->job;
    pthread_t next;

    fp_take_back(self); /* a thread begins with that of the one that starts it */
    atomic_store(&j->stopped, DPI_THREAD_LEFT);
    atomic_store(&j->claimed, j->n_pieces);
    pthread_mutex_lock(&lock);
    self->off = -1;
    if (!stopping && pthread_create(&next, NULL, worker, self) == 0) {
        pthread_detach(self->thread); /* or dp_thread_pool_stop() joins it */
        self->thread = next;
    }
    leave_job(j);
    pthread_mutex_unlock(&lock);
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
        self->job = j;
        self->fp = dpi_fp_get();
        pthread_mutex_unlock(&lock);
        pthread_cleanup_push(replace_thread, self);
        run_pieces(j);
        pthread_cleanup_pop(0);
        fp_take_back(self);
        pthread_mutex_lock(&lock);
        leave_job(j);
        pthread_mutex_unlock(&lock);
        poll_for(&n_jobs, false);
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
    if (poll_for(&j->inside, true))
        return;
    pthread_mutex_lock(&lock);
    while (atomic_load(&j->inside) > 0)
        pthread_cond_wait(&left, &lock);
    pthread_mutex_unlock(&lock);
}

int dpi_thread_pool_run(int max_threads, int64_t begin, int64_t end, int64_t grain, dp_range_fn fn,
                        void *user, const dpi_stop *stop)
{
    int64_t n = end - begin, runners = 1 + atomic_load_explicit(&n_threads, memory_order_relaxed);

    if (stop != NULL && stop->deadline == 0 && stop->cancel == NULL)
        stop = NULL;
    if (n <= 0)
        return 0;
    if (grain < 1)
        grain = 1;
    if (max_threads > 0 && runners > max_threads)
        runners = max_threads;
    int64_t pieces = n / grain; /* so that each has at least grain */
    if (pieces > runners * PIECES_PER_THREAD)
        pieces = runners * PIECES_PER_THREAD;
    if (runners > pieces)
        runners = pieces;
    if (pieces <= 1 || (runners <= 1 && stop == NULL)) {
        const dpi_stop *before = own_stop;
        own_stop = stop;
        fn(begin, end, user);
        own_stop = before;
        return stop != NULL ? dpi_stop_code(stop) : 0;
    }
    job j = {.fn = fn, .user = user, .begin = begin, .end = end, .grain = grain, .stop = stop};
    j.n_pieces = pieces;
    j.step = n / pieces;
    if (j.step >= ALIGNED_MIN) /* pieces of large loops begin at lines of the cache */
        j.step -= j.step % ALIGN;
    else
        j.longer = n % pieces;
    if (runners > 1)
        call_helpers(&j, (unsigned)(runners - 1));
    run_pieces(&j);
    if (runners > 1)
        dismiss_helpers(&j);
    if (DPI_UNLIKELY(atomic_load_explicit(&j.fp_changed, memory_order_relaxed)))
        dpi_fp_set(atomic_load(&j.fp));
    return atomic_load(&j.stopped);
}

int dpi_thread_pool_stop_code(void)
{
    return own_stop != NULL ? dpi_stop_code(own_stop) : 0;
}

int dp_thread_pool_start(int n, dp_error *err)
{
    sigset_t old;
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
    dpi_signals_block(&old);
    pthread_mutex_lock(&lock); /* helpers start working when all of them exist */
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
        dp_thread_pool_stop();
        rc = dp_error_set(err, DP_ERESOURCE, "thread %d of the pool's %d could not be started",
                          made + 1, n);
    }
    return rc;
}

void dp_thread_pool_stop(void)
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
