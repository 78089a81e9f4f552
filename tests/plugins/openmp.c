/* openmp.c -- brings libgomp, whose threads wait in its code for ever. */
/* CFLAGS: -fopenmp */
#include <dispatchd/plugin.h>

DP_PLUGIN(openmp, "1.0")

static int sum(dp_ctx *ctx, dp_tensor *self, double *out)
{
    double total = 0;
    DP_VIEW(x, self);

    (void)ctx;
#pragma omp parallel for num_threads(2) reduction(+ : total)
    for (int64_t i = 0; i < x.numel; i++)
        total += ((const float *)x.data)[i];
    *out = total;
    return 0;
}

DP_LIBRARY(openmp, DP_DEF("sum(Tensor self) -> float"))
DP_LIBRARY_IMPL(openmp, CPU, DP_IMPL_UNBOXED("sum", sum, (T), (f)))
