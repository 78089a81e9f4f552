/* dense.c -- dtype checks, scratch memory and grain sizes for kernels that loop over arrays. */
#include "dense.h"
#include <dispatchd/check.h>

dp_dtype dense_opmath(dp_dtype d)
{
    return d == DP_FLOAT64 ? DP_FLOAT64 : DP_FLOAT32;
}

const char *dense_type_name(dp_dtype d)
{
    return dp_dtype_aten_name(d);
}

int dense_check_type(dp_ctx *ctx, const char *what, dp_dtype d, unsigned types)
{
    if (types & DENSE_BIT(d))
        return 0;
    return dp_refuse_dtype(ctx, what, d);
}

int dense_check_same(dp_ctx *ctx, dp_dtype want, dp_dtype got)
{
    if (want == got)
        return 0;
    return dp_fail(ctx, DP_ERUNTIME, "expected scalar type %s but found %s", dense_type_name(want),
                   dense_type_name(got));
}

void *dense_data(const dp_tensor *t)
{
    DP_VIEW(v, t);
    return v.data;
}

void *dense_array(dp_ctx *ctx, int64_t n, size_t item)
{
    uint64_t bytes = dp_sizes_product(item, &n, 1);

    if (bytes <= INT64_MAX)
        return dp_alloc(ctx, bytes);
    dp_fail(ctx, DP_ERESOURCE, "out of memory: %" PRId64 " items of %zu bytes", n, item);
    return NULL;
}

int64_t dense_grain(double each)
{
    enum { WORTHWHILE = 32768 }; /* element operations that take longer than waking a thread */
    int64_t grain = (int64_t)(WORTHWHILE / (each > 1 ? each : 1));
    return grain > 0 ? grain : 1;
}
