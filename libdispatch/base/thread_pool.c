/* thread_pool.c -- the threads behind dp_parallel_for.
 *
 * A job is one parallel loop.  It lies on its caller's stack, and is in the list `jobs` while it
 * wants more helpers.  The caller and the helpers claim pieces of the loop from one atomic counter,
 * so that a slow thread delays no other.  The caller finishes the job alone if no helper comes.
 * Because of that nested and simultaneous loops cannot deadlock; they share the free threads.
 * Helpers leave a job under `lock`; the caller returns after the last helper has left.
 *
 * Waking a thread takes as long as a short job.  Because of that a thread without work polls for a
 * while before it sleeps, and yields its core between polls.
 *
 * If no other core is idle, Linux wakes a helper on its caller's core, where the helper waits until
 * the next clock tick (4 ms), longer than most jobs take.  Because of that a helper must not run on
 * the core on which the caller ran when it called helpers (`job.cpu`).
 *
 * If a loop body ends the helper thread on which it runs (pthread_exit), the job fails and a new
 * thread replaces the helper's thread.  If a body ends the caller's thread, the kernel that called
 * dp_parallel_for() ends, too (dispatch/registry/thread.c).
 *
 * If a body changes the floating-point environment of a helper, the change moves to the caller's
 * thread, as if the body had run on that thread.  The code that started the kernel checks that
 * thread's environment. */
#define _GNU_SOURCE /* sched_getcpu, pthread_setaffinity_np */
#include "base.h"
#include "fp.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>

enum {
    THREADS_MAX = 256,
    PIECES_PER_THREAD = 4,    /* more than one, since pieces may differ in cost */
    ALIGN = 64,               /* elements; sizes of pieces of large loops are multiples of this */
    ALIGNED_MIN = 64 * ALIGN, /* pieces of at least this many elements are rounded to ALIGN */
    POLL_NANOS = 100000,      /* polling time before a thread sleeps */
    POLLS = 64,               /* polls between two yields of the core */
    SLICE_NANOS = 2000000     /* about the longest time between two checks of `stop` */
};

typedef struct job {
    struct job *next;
    int cpu; /* the core on which the caller ran when it called helpers */
    dp_range_fn fn;
    void *user;
    int64_t begin, end, grain, step, n_pieces;
    int64_t n_longer;        /* number of first pieces that have `step` + 1 elements, not `step` */
    _Atomic int64_t claimed; /* pieces that threads have begun */
    const dpi_stop *stop;    /* borrowed; NULL: the job cannot be stopped */
    atomic_int stopped;      /* the error code, once the job was stopped */
    unsigned wanted;         /* helpers still wanted; the job is in `jobs` while this is > 0 */
    atomic_uint inside;      /* number of helpers that work on the job */
    atomic_bool fp_changed;  /* a body changed a helper's floating-point environment to `fp` */
    _Atomic(dpi_fp) fp;
} job;

typedef struct helper {
    pthread_t thread;
    pthread_cond_t wake;
    struct helper *next; /* in the list `asleep` */
    bool called;         /* call_helpers() has woken the helper for a job */
    job *job;            /* the job that the helper works on */
    dpi_fp fp;           /* floating-point environment before the job */
    int avoided_cpu;     /* the core that it must not run on; -1: none */
} helper;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Signalled when the last helper that works on a job has left it. */
static pthread_cond_t helpers_left = PTHREAD_COND_INITIALIZER;
static job *jobs;          /* jobs that want helpers, oldest first */
static atomic_uint n_jobs; /* number of jobs in `jobs` */
static helper helpers[THREADS_MAX];
static helper *asleep;       /* list of the helpers that sleep until they are called */
static atomic_int n_threads; /* number of helpers */
static cpu_set_t cpus;       /* cores that the process may use */
static bool stopping;
/* `stop` of the job whose body this thread runs; NULL: no job, or it cannot be stopped. */
static _Thread_local const dpi_stop *current_stop;

/* Run the body over [begin, end) in slices, and check `stop` before each slice, because a piece may
 * have 2^60 steps.  The first slice has `grain` steps.  Later slices get longer or shorter, by a
 * factor of 2, so that one takes about SLICE_NANOS.  Returns 0, or the code with which the job must
 * stop.  `stop` is also checked after the last slice, because a body that sees it set returns
 * early. */
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

/* Claim and run pieces of `j` until all are claimed, or until `stop` ends the job. */
static void run_pieces(job *j)
{
    const dpi_stop *before = current_stop;
    int64_t i;

    current_stop = j->stop;
    while ((i = atomic_fetch_add_explicit(&j->claimed, 1, memory_order_relaxed)) < j->n_pieces) {
        int64_t begin = j->begin + i * j->step + (i < j->n_longer ? i : j->n_longer);
        int64_t end = i == j->n_pieces - 1 ? j->end : begin + j->step + (i < j->n_longer);
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
    current_stop = before;
}

/* Poll until `*word` is 0, or, if `zero` is false, until it is not 0.  False: POLL_NANOS have
 * passed. */
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

/* `lock` is held.  Remove `j` from the list, so that no more helpers come. */
static void unlink_job(job *j)
{
    job **link = &jobs;

    while (*link && *link != j)
        link = &(*link)->next;
    if (*link) {
        *link = j->next;
        atomic_fetch_sub(&n_jobs, 1);
    }
    j->wanted = 0;
}

/* `lock` is held.  Forbid `h` to run on core `cpu`.  A failure is ignored: the helper may only
 * start later. */
static void avoid_cpu(helper *h, int cpu)
{
    cpu_set_t allowed = cpus;

    if (cpu < 0 || h->avoided_cpu == cpu)
        return;
    CPU_CLR(cpu, &allowed);
    if (CPU_COUNT(&allowed) > 0 &&
        pthread_setaffinity_np(h->thread, sizeof(allowed), &allowed) == 0)
        h->avoided_cpu = cpu;
}

/* `lock` is held, except during the sleep. */
static void sleep_until_called(helper *h)
{
    h->called = false;
    h->next = asleep;
    asleep = h;
    while (!h->called && !stopping)
        pthread_cond_wait(&h->wake, &lock);
}

/* `lock` is held.  After the last helper has left, the job's caller may return, and `j` lies on the
 * caller's stack, so the helper must not use `j` after this. */
static void leave_job(job *j)
{
    if (atomic_fetch_sub_explicit(&j->inside, 1, memory_order_release) == 1)
        pthread_cond_broadcast(&helpers_left);
}

static void *worker(void *arg);

/* Restore the helper's floating-point environment, and move a change to the job. */
static void fp_move_to_job(helper *h)
{
    dpi_fp now = dpi_fp_get();

    if (DPI_LIKELY(now == h->fp))
        return;
    dpi_fp_set(h->fp);
    atomic_store(&h->job->fp, now);
    atomic_store(&h->job->fp_changed, true);
}

/* Cleanup handler of a helper whose thread ends in a body: fail the job and start a new thread.  If
 * no thread can be started, the pool has one helper less. */
static void replace_thread(void *arg)
{
    helper *self = arg;
    job *j = self->job;
    pthread_t next;

    fp_move_to_job(self); /* first, because the new thread inherits this environment */
    atomic_store(&j->stopped, DPI_THREAD_LEFT);
    atomic_store(&j->claimed, j->n_pieces);
    pthread_mutex_lock(&lock);
    self->avoided_cpu = -1;
    if (!stopping && pthread_create(&next, NULL, worker, self) == 0) {
        pthread_detach(self->thread); /* else dp_thread_pool_stop() joins it */
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
            avoid_cpu(self, j->cpu);
        self->job = j;
        self->fp = dpi_fp_get();
        pthread_mutex_unlock(&lock);
        pthread_cleanup_push(replace_thread, self);
        run_pieces(j);
        pthread_cleanup_pop(0);
        fp_move_to_job(self);
        pthread_mutex_lock(&lock);
        leave_job(j);
        pthread_mutex_unlock(&lock);
        poll_for(&n_jobs, false);
        pthread_mutex_lock(&lock);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* Add `j` to the list of jobs, for `wanted` helpers, and wake as many as sleep. */
static void call_helpers(job *j, unsigned wanted)
{
    job **link = &jobs;

    pthread_mutex_lock(&lock);
    while (*link)
        link = &(*link)->next;
    *link = j;
    j->wanted = wanted;
    j->cpu = sched_getcpu();
    atomic_fetch_add(&n_jobs, 1);
    for (unsigned i = 0; i < wanted && asleep != NULL; i++) {
        helper *h = asleep;
        asleep = h->next;
        h->called = true;
        avoid_cpu(h, j->cpu);
        pthread_cond_signal(&h->wake);
    }
    pthread_mutex_unlock(&lock);
}

/* Let no more helpers begin with `j`, and wait until those that work on it have left it. */
static void dismiss_helpers(job *j)
{
    pthread_mutex_lock(&lock);
    unlink_job(j);
    pthread_mutex_unlock(&lock);
    if (poll_for(&j->inside, true))
        return;
    pthread_mutex_lock(&lock);
    while (atomic_load(&j->inside) > 0)
        pthread_cond_wait(&helpers_left, &lock);
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
    int64_t pieces = n / grain; /* each has at least `grain` elements */
    if (pieces > runners * PIECES_PER_THREAD)
        pieces = runners * PIECES_PER_THREAD;
    if (runners > pieces)
        runners = pieces;
    if (pieces <= 1 || (runners <= 1 && stop == NULL)) {
        const dpi_stop *before = current_stop;
        current_stop = stop;
        fn(begin, end, user);
        current_stop = before;
        return stop != NULL ? dpi_stop_code(stop) : 0;
    }
    job j = {.fn = fn, .user = user, .begin = begin, .end = end, .grain = grain, .stop = stop};
    j.n_pieces = pieces;
    j.step = n / pieces;
    /* pieces of large loops begin at multiples of ALIGN elements, and so at cache lines if the data
     * does */
    if (j.step >= ALIGNED_MIN)
        j.step -= j.step % ALIGN;
    else
        j.n_longer = n % pieces;
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
    return current_stop != NULL ? dpi_stop_code(current_stop) : 0;
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
    pthread_mutex_lock(&lock); /* helpers wait until all of them exist */
    while (made < n) {
        helper *h = &helpers[made];
        *h = (helper){.wake = PTHREAD_COND_INITIALIZER, .avoided_cpu = -1};
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
