/* per_session.c -- counts something for each session, and forgets it when the session ends. */
#include <dispatchd/plugin.h>
#include <pthread.h>
#include <string.h>

DP_PLUGIN(per_session, "1.0")

enum { SESSIONS = 64 };

static struct {
    uint64_t session; /* 0: free */
    int64_t count;
} entries[SESSIONS];
static int64_t ended;
static bool fails;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* count() -> int: how often this session has called it */
static int count(dp_ctx *ctx, int64_t *out)
{
    uint64_t session = dp_session_id(ctx);
    int at = -1;

    pthread_mutex_lock(&lock);
    for (int i = SESSIONS - 1; i >= 0; i--)
        if (entries[i].session == session || (entries[i].session == 0 && at < 0))
            at = i;
    for (int i = 0; i < SESSIONS; i++)
        at = entries[i].session == session ? i : at;
    if (at >= 0) {
        entries[at].session = session;
        *out = ++entries[at].count;
    }
    pthread_mutex_unlock(&lock);
    return at >= 0 ? 0 : dp_fail(ctx, DP_ERESOURCE, "per_session: more than %d sessions", SESSIONS);
}

/* session() -> int */
static int session(dp_ctx *ctx, int64_t *out)
{
    *out = (int64_t)dp_session_id(ctx);
    return 0;
}

/* state() -> (int, int): sessions that have an entry, sessions that ended */
static int state(dp_ctx *ctx, int64_t *kept, int64_t *gone)
{
    (void)ctx;
    pthread_mutex_lock(&lock);
    *kept = 0;
    for (int i = 0; i < SESSIONS; i++)
        *kept += entries[i].session != 0;
    *gone = ended;
    pthread_mutex_unlock(&lock);
    return 0;
}

/* fail(bool on) -> () */
static int fail(dp_ctx *ctx, bool on)
{
    (void)ctx;
    pthread_mutex_lock(&lock);
    fails = on;
    pthread_mutex_unlock(&lock);
    return 0;
}

static int on_end(dp_ctx *ctx)
{
    dp_tensor *one = NULL;
    int rc = dp_scalar_tensor(ctx, dp_int(1), DP_DTYPE_NONE, &one); /* it may call operators */

    pthread_mutex_lock(&lock);
    ended++;
    for (int i = 0; i < SESSIONS; i++)
        if (entries[i].session == dp_session_id(ctx))
            memset(&entries[i], 0, sizeof(entries[i]));
    rc = rc == 0 && fails ? dp_fail(ctx, DP_ERUNTIME, "the ledger is shut") : rc;
    pthread_mutex_unlock(&lock);
    dp_tensor_unref(one);
    return rc;
}

DP_ON_SESSION_END(on_end)
DP_LIBRARY(per_session, DP_DEF("count() -> int"), DP_DEF("session() -> int"),
           DP_DEF("state() -> (int, int)"), DP_DEF("fail(bool on) -> ()"))
DP_LIBRARY_IMPL(per_session, CompositeExplicitAutograd, DP_IMPL_UNBOXED("count", count, (), (i)),
                DP_IMPL_UNBOXED("session", session, (), (i)),
                DP_IMPL_UNBOXED("state", state, (), (i, i)), DP_IMPL_UNBOXED("fail", fail, (b), ()))
