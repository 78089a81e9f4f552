/* threads.c -- starts and joins the threads of plugins, so that no code is unmapped while a thread
 * runs it.
 *
 * Each thread has a struct thread with the path of the file that contains the thread's function;
 * for a plugin this is the private copy of one load.  The struct exists from dp_thread_start()
 * until the thread is joined; a joined thread runs no code any more, not even destructors.  One
 * lock protects all these structs.  The lock is held while a thread is joined, but only after the
 * thread's function has ended, so nobody waits for the lock for long. */
#define _GNU_SOURCE /* dladdr, names of threads, waits by the monotonic clock */
#include "threads.h"
#include "dispatch/call/ctx.h"
#include "base/process.h"
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

typedef struct thread {
    struct thread *next;
    uint64_t id;
    dp_registry *reg;
    dp_ctx *ctx; /* owned by the thread */
    dp_thread_fn fn;
    void *arg;
    char *file; /* path of the file that contains fn; owned */
    pthread_t thread;
    bool ended;   /* fn has returned, or called pthread_exit() */
    bool joining; /* a thread waits to join this thread, or joins it */
    bool warned;  /* fp_settle() has given its warning for this thread */
    char name[DP_THREAD_NAME_MAX];
} thread;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t one_ended = PTHREAD_COND_INITIALIZER;
static thread *threads; /* newest first */
static uint64_t last_id;

/* -- a thread's life -- */

static void label(const thread *t)
{
    char text[DP_THREAD_NAME_MAX + 16];

    snprintf(text, sizeof(text), "thread '%s'", t->name);
    dp_ctx_set_label(t->ctx, text);
}

/* Reset the thread's floating-point environment at dp_thread_turn() and at the thread's end, so
 * that kernels which it calls compute the same results as in other threads. */
static void fp_settle(thread *t)
{
    char changed[256], text[DP_LIMIT_WARNING_BYTES + 1];

    if (DPI_LIKELY(dpi_fp_get() == DPI_FP_DEFAULT))
        return;
    dpi_fp_restore(DPI_FP_DEFAULT, changed, sizeof(changed));
    if (t->warned)
        return;
    t->warned = true;
    snprintf(text, sizeof(text),
             "plugin's file '%s': its thread '%s' changed and the host set back: the "
             "floating-point environment (%s)",
             t->file, t->name, changed);
    dpi_warn_listener(text);
}

static void thread_end(void *arg)
{
    thread *t = arg;

    fp_settle(t);
    pthread_mutex_lock(&lock);
    dp_ctx *ctx = t->ctx;
    t->ctx = NULL; /* cleared first: a new context may get the same address */
    pthread_mutex_unlock(&lock);
    dp_ctx_free(ctx);
    pthread_mutex_lock(&lock);
    t->ended = true;
    pthread_cond_broadcast(&one_ended);
    pthread_mutex_unlock(&lock);
}

static void *thread_run(void *arg)
{
    thread *t = arg;

    snprintf(dpi_thread_plugin, sizeof(dpi_thread_plugin), "thread=0 for='thread '%s'' file='%s'",
             t->name, t->file);
    dpi_fp_set(DPI_FP_DEFAULT);          /* a new thread inherits its creator's environment */
    pthread_cleanup_push(thread_end, t); /* runs also if fn calls pthread_exit() */
    t->fn(t->ctx, t->arg);
    pthread_cleanup_pop(1);
    return NULL;
}

static thread *thread_free(thread *t)
{
    dp_free(t->file);
    dp_free(t);
    return NULL;
}

static int thread_new(dp_ctx *ctx, const char *name, dp_thread_fn fn, void *arg, thread **out)
{
    Dl_info where;
    thread *t;

    if (!dladdr((void *)(uintptr_t)fn, &where))
        return dp_error_set(&ctx->error, DP_EVALUE, "thread '%s': its function lies in no file",
                            name);
    if ((t = dp_calloc(1, sizeof(*t))) == NULL || !(t->file = dp_strdup(where.dli_fname)) ||
        dp_ctx_new(ctx->reg, &t->ctx, NULL) < 0) {
        if (t != NULL)
            thread_free(t);
        return dpi_no_memory(&ctx->error, "a thread");
    }
    t->reg = ctx->reg;
    t->fn = fn;
    t->arg = arg;
    snprintf(t->name, sizeof(t->name), "%s", name);
    label(t);
    *out = t;
    return 0;
}

/* Count the threads whose function is in `file`.  The caller holds `lock`. */
static uint32_t count(const char *file)
{
    uint32_t n = 0;

    for (const thread *t = threads; t != NULL; t = t->next)
        n += strcmp(t->file, file) == 0;
    return n;
}

static int create(thread *t)
{
    sigset_t before;
    char short_name[16]; /* Linux takes at most 15 bytes and a zero */

    dpi_signals_block(&before);
    int rc = pthread_create(&t->thread, NULL, thread_run, t);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    snprintf(short_name, sizeof(short_name), "%.15s", t->name);
    if (rc == 0)
        pthread_setname_np(t->thread, short_name);
    return rc;
}

static bool registry_threads_end(dp_registry *reg)
{
    char who[1];

    return dpi_threads_end(reg, NULL, DPI_THREADS_WAIT_MS, who, sizeof(who));
}

/* Start the thread and add it to the list.  The caller holds `lock`, so that no other thread sees a
 * started thread that is not in the list. */
static int start(thread *t, uint64_t *id, dp_error *err)
{
    if (count(t->file) >= DP_LIMIT_PLUGIN_THREADS)
        return dp_error_set(err, DP_ERESOURCE, "thread '%s': a plugin has at most %d threads",
                            t->name, DP_LIMIT_PLUGIN_THREADS);
    *id = t->id = last_id + 1;
    int rc = create(t);
    if (rc != 0)
        return dp_error_set(err, DP_ERESOURCE, "thread '%s': %s", t->name, strerror(rc));
    last_id++;
    t->next = threads;
    threads = t;
    t->reg->threads_end = registry_threads_end;
    return 0;
}

int dp_thread_start(dp_ctx *ctx, const char *name, dp_thread_fn fn, void *arg, uint64_t *id)
{
    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, name, fn, id))
        return DP_EPLUGIN;
    thread *t = NULL;
    int rc = thread_new(ctx, name, fn, arg, &t);

    if (rc < 0)
        return rc;
    pthread_mutex_lock(&lock);
    rc = start(t, id, &ctx->error);
    pthread_mutex_unlock(&lock);
    if (rc < 0) {
        dp_ctx_free(t->ctx);
        thread_free(t);
    }
    return rc;
}

/* -- joining -- */

/* Wait for the end of `t`, at most until time `until` (NULL: no limit).  The caller holds `lock`,
 * which is released while waiting; t->joining keeps other threads from joining `t` meanwhile.
 * False: `t` still runs. */
static bool wait_for(thread *t, const struct timespec *until)
{
    int rc = 0;

    t->joining = true;
    while (!t->ended && rc == 0)
        rc = until != NULL ? pthread_cond_clockwait(&one_ended, &lock, CLOCK_MONOTONIC, until)
                           : pthread_cond_wait(&one_ended, &lock);
    t->joining = t->ended;
    return t->ended;
}

/* Join and free `t`, whose `ended` is true.  The caller holds `lock`; pthread_join() does not
 * deadlock, because `t` does not take the lock any more. */
static void join_and_free(thread *t)
{
    thread **at = &threads;

    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    pthread_join(t->thread, NULL);
    thread_free(t);
}

static thread *find(uint64_t id)
{
    thread *t = threads;

    while (t != NULL && t->id != id)
        t = t->next;
    return t;
}

static int join(dp_ctx *ctx, uint64_t id, int timeout_ms)
{
    struct timespec until = dpi_time_after(timeout_ms > 0 ? timeout_ms : 0);
    thread *t = find(id);

    if (t != NULL && t->ctx == ctx)
        return dp_error_set(&ctx->error, DP_EVALUE, "thread '%s' cannot join itself", t->name);
    if (t == NULL || t->joining)
        return dp_error_set(&ctx->error, DP_ENOTFOUND, "no thread %llu that could be joined",
                            (unsigned long long)id);
    if (!wait_for(t, timeout_ms >= 0 ? &until : NULL))
        return dp_error_set(&ctx->error, DP_EBUSY, "thread '%s' still runs after %d ms", t->name,
                            timeout_ms);
    join_and_free(t);
    return 0;
}

int dp_thread_join(dp_ctx *ctx, uint64_t id, int timeout_ms)
{
    pthread_mutex_lock(&lock);
    int rc = join(ctx, id, timeout_ms);
    pthread_mutex_unlock(&lock);
    return rc;
}

int dp_thread_turn(dp_ctx *ctx)
{
    pthread_mutex_lock(&lock);
    thread *t = threads;
    while (t != NULL && t->ctx != ctx)
        t = t->next;
    pthread_mutex_unlock(&lock);
    if (t == NULL || ctx->thread != NULL)
        return dp_error_set(&ctx->error, DP_ERUNTIME,
                            "only a thread that dp_thread_start() made turns, outside of calls");
    fp_settle(t);
    dp_ctx_reset(ctx);
    label(t);
    return 0;
}

/* Return the first thread whose function is in `file`, or, if `file` is NULL, the first thread of
 * `reg`.  NULL: there is none. */
static thread *first_thread(const dp_registry *reg, const char *file)
{
    thread *t = threads;

    while (t != NULL && (file != NULL ? strcmp(t->file, file) != 0 : t->reg != reg))
        t = t->next;
    return t;
}

bool dpi_threads_end(const dp_registry *reg, const dpi_image *im, int timeout_ms, char *who,
                     size_t bytes)
{
    struct timespec until = dpi_time_after(timeout_ms);
    const char *file = im != NULL ? im->copy : NULL;
    bool ended = true;
    thread *t;

    if (im != NULL && file == NULL)
        return true; /* the file was never mapped, so it started no thread */
    pthread_mutex_lock(&lock);
    while (ended && (t = first_thread(reg, file)) != NULL) {
        ended = !t->joining && wait_for(t, &until);
        if (ended)
            join_and_free(t);
        else
            snprintf(who, bytes, "thread '%s' of %s%s%s", t->name, im ? "plugin '" : t->file,
                     im ? im->manifest.plugin : "", im ? "'" : "");
    }
    pthread_mutex_unlock(&lock);
    return ended;
}
