/* threaded.c -- a worker that squares what callers submit, by calling an operator, and a ticker;
 * both end when it is unloaded. */
#include <dispatchd/plugin.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

DP_PLUGIN(threaded, "1.0")

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int64_t submitted, taken, done, sum, failed; /* 1 .. submitted are to be squared */
static atomic_bool stop;
static uint64_t worker_id, ticker_id;
static atomic_llong ticks;

static void square_next(dp_ctx *ctx)
{
    int64_t n = ++taken, square = 0;

    pthread_mutex_unlock(&lock);
    int rc = dp_alloc(ctx, 1 << 16) ? DP_INVOKE(ctx, "threaded::square", (i), (i), n, &square) : 1;
    if (dp_thread_turn(ctx))
        rc = 1;
    pthread_mutex_lock(&lock);
    done++;
    failed += rc != 0;
    sum += square;
    pthread_cond_broadcast(&changed);
}

static void worker(dp_ctx *ctx, void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    while (!stop)
        if (taken < submitted)
            square_next(ctx);
        else
            pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static void ticker(dp_ctx *ctx, void *arg)
{
    (void)ctx;
    while (!atomic_load((atomic_bool *)arg)) {
        atomic_fetch_add(&ticks, 1);
        usleep(1000);
    }
}

static int on_load(dp_ctx *ctx)
{
    int rc = dp_thread_start(ctx, "worker", worker, NULL, &worker_id);

    return rc ? rc : dp_thread_start(ctx, "ticker", ticker, &stop, &ticker_id);
}

static int on_unload(dp_ctx *ctx)
{
    pthread_mutex_lock(&lock);
    stop = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    int rc = dp_thread_join(ctx, worker_id, 10000);
    return rc ? rc : dp_thread_join(ctx, ticker_id, 10000);
}

static int square(dp_ctx *ctx, int64_t n, int64_t *out)
{
    (void)ctx;
    *out = n * n;
    return 0;
}

/* Sum of the squares of all that was ever submitted, n more included. */
static int squares(dp_ctx *ctx, int64_t n, int64_t *out, int64_t *failures)
{
    (void)ctx;
    pthread_mutex_lock(&lock);
    submitted += n;
    pthread_cond_broadcast(&changed);
    int64_t mine = submitted;
    while (done < mine)
        pthread_cond_wait(&changed, &lock);
    *out = sum;
    *failures = failed;
    pthread_mutex_unlock(&lock);
    return 0;
}

static int ticked(dp_ctx *ctx, int64_t *out)
{
    (void)ctx;
    *out = atomic_load(&ticks);
    return 0;
}

static void nothing(dp_ctx *ctx, void *arg)
{
    (void)ctx, (void)arg;
}

static uint64_t own_id;
static void joins_itself(dp_ctx *ctx, void *arg)
{
    *(int *)arg = dp_thread_join(ctx, own_id, 0);
}

/* What is refused: the codes are the answer. */
static int misuse(dp_ctx *ctx, int64_t *twice, int64_t *early, int64_t *turn, int64_t *itself)
{
    uint64_t id;
    int code = 1;
    int rc = dp_thread_start(ctx, "nothing", nothing, NULL, &id);

    if (rc == 0)
        rc = dp_thread_join(ctx, id, -1);
    if (rc)
        return rc;
    *twice = dp_thread_join(ctx, id, 0);
    *early = dp_thread_join(ctx, ticker_id, 0);
    *turn = dp_thread_turn(ctx);
    rc = dp_thread_start(ctx, "itself", joins_itself, &code, &own_id);
    if (rc == 0)
        rc = dp_thread_join(ctx, own_id, -1);
    *itself = code;
    return rc;
}

/* Starts threads until it is refused; how many there were. */
static int most(dp_ctx *ctx, int64_t *out)
{
    static atomic_bool enough;
    uint64_t ids[1000];
    int rc = 0;

    atomic_store(&enough, false);
    for (*out = 0; *out < 1000 && rc == 0; *out += rc == 0)
        rc = dp_thread_start(ctx, "one of many", ticker, &enough, &ids[*out]);
    atomic_store(&enough, true);
    for (int64_t i = 0; i < *out; i++)
        dp_thread_join(ctx, ids[i], -1);
    return rc == DP_ERESOURCE ? 0 : dp_fail(ctx, DP_ERUNTIME, "%d", rc);
}

DP_ON_LOAD(on_load)
DP_ON_UNLOAD(on_unload)
DP_LIBRARY(threaded, DP_DEF("square(int n) -> int"), DP_DEF("squares(int n) -> (int, int)"),
           DP_DEF("ticked() -> int"), DP_DEF("misuse() -> (int, int, int, int)"),
           DP_DEF("most() -> int"))
DP_LIBRARY_IMPL(threaded, CompositeExplicitAutograd, DP_IMPL_UNBOXED("square", square, (i), (i)),
                DP_IMPL_UNBOXED("squares", squares, (i), (i, i)),
                DP_IMPL_UNBOXED("ticked", ticked, (), (i)),
                DP_IMPL_UNBOXED("misuse", misuse, (), (i, i, i, i)),
                DP_IMPL_UNBOXED("most", most, (), (i)))
