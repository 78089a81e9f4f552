// crashes.cc -- kernels that take the process with them, each in its way.
#include <atomic>
#include <dispatchd/plugin.h>
#include <pthread.h>
#include <signal.h>
#include <stdexcept>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

DP_PLUGIN(crashes, "1.0")

namespace
{

volatile int *volatile nowhere = reinterpret_cast<volatile int *>(0x98);
volatile int depth = -1; // without end, as far as the compiler knows it may have one

__attribute__((noinline)) int recurse(int n)
{
    volatile char room[4096];

    room[n % 4096] = (char)n;
    return n == depth ? 0 : recurse(n + 1) + room[0];
}

int die(dp_ctx *ctx, dp_tensor *, dp_str how, int64_t n, dp_tensor **)
{
    if (strcmp(how.s, "null") == 0)
        *(volatile int *)n = 1;
    else if (strcmp(how.s, "abort") == 0)
        abort();
    else if (strcmp(how.s, "illegal") == 0)
        __builtin_trap();
    else if (strcmp(how.s, "overflow") == 0)
        return recurse(0);
    else if (strcmp(how.s, "throw") == 0)
        throw std::runtime_error("it escapes");
    else if (strcmp(how.s, "exit") == 0)
        exit((int)n);
    else if (strcmp(how.s, "pthread_exit") == 0)
        pthread_exit(nullptr);
    else
        raise((int)n);
    return dp_fail(ctx, DP_ERUNTIME, "still alive");
}

// The same, one call deeper, with a shape of its own.
int calls(dp_ctx *ctx, dp_tensor *self, dp_str how, int64_t n, dp_tensor **out)
{
    dp_tensor *wide = nullptr;
    int rc = DP_INVOKE(ctx, "aten::unsqueeze", (T, i), (T), self, 0, &wide);

    if (rc == 0)
        rc = DP_INVOKE(ctx, "crashes::die", (T, S, i), (T), wide, how, n, out);
    dp_tensor_unref(wide);
    return rc;
}

// On another thread than the caller's: of the pool (how "pool"), or one of the plugin's own.
void die_apart(int64_t, int64_t, void *user)
{
    static std::atomic<bool> died; // two at once are a race, which its sanitizer stops to report

    if (!pthread_equal(*static_cast<pthread_t *>(user), pthread_self()) && !died.exchange(true))
        *nowhere = 1;
    for (int ms = 0; ms < 20000; ms++) // until a helper has come for a piece, however busy all are
        usleep(1000);
}

void die_in_thread(dp_ctx *, void *how)
{
    if (strcmp((const char *)how, "exit") == 0)
        exit(3);
    else if (strcmp((const char *)how, "abort") == 0)
        abort();
    else if (strcmp((const char *)how, "leave") == 0)
        pthread_exit(nullptr);
    *nowhere = 1;
}

int dies_apart(dp_ctx *ctx, dp_tensor *self, dp_str how, int64_t, dp_tensor **out)
{
    pthread_t caller = pthread_self();
    uint64_t id;
    int rc = strcmp(how.s, "pool") == 0
                 ? dp_parallel_for(ctx, 0, 5000, 1, die_apart, &caller)
                 : dp_thread_start(ctx, "doomed", die_in_thread, (void *)how.s, &id);

    if (rc == 0 && strcmp(how.s, "pool") != 0)
        rc = dp_thread_join(ctx, id, 5000);
    *out = rc == 0 ? dp_tensor_ref(self) : nullptr;
    return rc;
}

// Returns what is no tensor: whoever looks at it dies.
int bogus(dp_ctx *, dp_tensor *, dp_str, int64_t n, dp_tensor **out)
{
    *out = reinterpret_cast<dp_tensor *>(n);
    return 0;
}

// Tramples on its own arguments first.
int scribbles(dp_call *call)
{
    const_cast<dp_value *>(call->args)[0].u.t = reinterpret_cast<dp_tensor *>(64);
    *(volatile int *)call->args[2].u.i = 1;
    return 0;
}

int numbers(dp_call *)
{
    *nowhere = 1;
    return 0;
}

} // namespace

DP_LIBRARY(crashes, DP_DEF("die(Tensor self, str how, int n=0) -> Tensor"),
           DP_DEF("scribbles(Tensor self, str how, int n=0) -> Tensor"),
           DP_DEF("bogus(Tensor self, str how, int n=0) -> Tensor"),
           DP_DEF("numbers(Tensor self, float f, bool b) -> Tensor"),
           DP_DEF("dies_apart(Tensor self, str how, int n=0) -> Tensor"),
           DP_DEF("calls(Tensor self, str how, int n=0) -> Tensor"))
DP_LIBRARY_IMPL(crashes, CPU, DP_IMPL_UNBOXED("die", die, (T, S, i), (T)),
                DP_IMPL_UNBOXED("bogus", bogus, (T, S, i), (T)), DP_IMPL("numbers", numbers),
                DP_IMPL_UNBOXED("dies_apart", dies_apart, (T, S, i), (T)),
                DP_IMPL_UNBOXED("calls", calls, (T, S, i), (T)), DP_IMPL("scribbles", scribbles))
