/* counts_threads.c -- how many threads a parallel kernel gets: its pieces are long enough for every
 * helper to come. */
/* CFLAGS: -D_GNU_SOURCE */
#include <dispatchd/plugin.h>
#include <time.h>
#include <unistd.h>

DP_PLUGIN(counts_threads, "1.0")

enum { PIECES = 64 };

static void piece(int64_t begin, int64_t end, void *user)
{
    struct timespec t = {0, 5000000};

    for (; begin < end; begin++) {
        nanosleep(&t, NULL);
        ((int *)user)[begin] = gettid();
    }
}

static int count(dp_ctx *ctx, dp_tensor *self, int64_t *out)
{
    int ids[PIECES], n = 0;

    (void)self;
    int rc = dp_parallel_for(ctx, 0, PIECES, 1, piece, ids);
    if (rc < 0)
        return rc;
    for (int i = 0; i < PIECES; i++) {
        int j = 0;
        while (j < i && ids[j] != ids[i])
            j++;
        n += j == i;
    }
    *out = n;
    return 0;
}

DP_LIBRARY(counts_threads, DP_DEF("count(Tensor self) -> int"))
DP_LIBRARY_IMPL(counts_threads, CPU, DP_IMPL_UNBOXED("count", count, (T), (i)))
