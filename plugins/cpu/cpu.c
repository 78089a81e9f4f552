/* cpu.c -- the plugin's name, and what is done when it is loaded.  Its kernels are in the files
 * beside it; the loops of the pointwise ones are generated from proto/ops/pointwise.yaml. */
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
