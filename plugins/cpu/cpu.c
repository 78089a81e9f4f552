/* cpu.c -- the plugin's declaration and its hooks on_load and on_unload.  The kernels are in the
 * folders beside this file; the loops of pointwise operators and reductions are generated from
 * proto/ops/pointwise.yaml and reduce.yaml. */
#include "fft/fft.h"
#include "core/isa.h"
#include "matmul/openblas.h"

static int on_load(dp_ctx *ctx)
{
    return cpu_choose_level(ctx);
}

static int on_unload(dp_ctx *ctx)
{
    (void)ctx;
    fft_plans_drop();
    blas_close();
    return 0;
}

DP_PLUGIN(cpu, "1.0")
DP_ON_LOAD(on_load)
DP_ON_UNLOAD(on_unload)
