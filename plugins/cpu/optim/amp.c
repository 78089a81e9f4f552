/* amp.c -- what the gradient scaler of mixed precision does after backward: unscaling of gradients
 * with a check for infinities, and the next scale (aten/src/ATen/native/cuda/AmpKernels.cu).
 *
 * Operators: _amp_foreach_non_finite_check_and_unscale, _amp_update_scale. */
#include "blocks.h"
#include "clip_grad.h"
#include "core/dense.h"

/* Check that `t` is a tensor of one element of `dtype`, which PyTorch's message calls `type`, on
 * the device of `other`. */
static int check_one(dp_ctx *ctx, const dp_tensor *t, const char *name, dp_dtype dtype,
                     const char *type, const dp_tensor *other)
{
    DP_VIEW(v, t);
    DP_VIEW(o, other);

    if (v.device != o.device)
        return dp_refuse(ctx, DP_ERUNTIME,
                         "Expected all tensors to be on the same device, but %s is on another one "
                         "than the other tensors",
                         name);
    if (v.numel != 1)
        return dp_refuse(ctx, DP_ERUNTIME,
                         "%s must be a 1-element tensor, but it has %" PRId64 " elements.", name,
                         v.numel);
    if (v.dtype != dtype)
        return dp_refuse(ctx, DP_ERUNTIME, "%s must be %s tensor, but its dtype is %s.", name, type,
                         dp_dtype_name(v.dtype));
    return 0;
}

typedef struct job {
    clip_row rows[2];
    double inverse;
    char *infinite; /* [number of blocks] */
} job;

static void unscale_block(uint32_t item, int64_t block, bool wide, int64_t n, void *const *x,
                          void *user)
{
    const job *j = user;
    (void)item;
    j->infinite[block] = j->rows[wide].unscale(n, x[0], j->inverse);
}

static int unscale_all(blocks_run *run, job *j, float *found_inf)
{
    int rc = blocks_each(run, true);

    for (int64_t b = 0; rc == 0 && b < run->n_blocks; b++)
        if (j->infinite[b])
            *found_inf = 1;
    return rc;
}

/* aten::_amp_foreach_non_finite_check_and_unscale_(Tensor(a!)[] self, Tensor(b!) found_inf,
 *     Tensor inv_scale) -> () */
static int check_and_unscale_(dp_ctx *ctx, dp_tensor *const *self, size_t n, dp_tensor *found_inf,
                              dp_tensor *inv_scale)
{
    const clip_row *rows = CPU_CHOSEN(clip_loops);
    job j = {.rows = {rows[0], rows[1]}};
    block_lists l = {.n = 1, .of = {{"self", self, (uint32_t)n, true}}};
    block_list found = {"found_inf", &found_inf, 1, true};
    blocks_run run = {.fn = unscale_block, .user = &j};
    const dp_tensor *other = n > 0 ? self[0] : found_inf;
    int rc = check_one(ctx, inv_scale, "inv_scale", DP_FLOAT32, "a float", other);

    if (rc == 0)
        rc = check_one(ctx, found_inf, "found_inf", DP_FLOAT32, "a float", other);
    if (rc == 0)
        rc = blocks_check(ctx, &l, "_amp_foreach_non_finite_check_and_unscale");
    if (rc == 0)
        rc = blocks_check_apart(ctx, &l, &found);
    if (rc == 0)
        rc = blocks_count(ctx, &l, &run);
    j.infinite = rc == 0 ? dp_alloc_n(ctx, (size_t)run.n_blocks, 1) : NULL;
    if (rc == 0 && j.infinite == NULL)
        rc = DP_ERESOURCE;
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    if (dp_memoryless(ctx))
        return 0;
    j.inverse = *(const float *)dense_data(inv_scale);
    return unscale_all(&run, &j, dense_data(found_inf));
}

/* aten::_amp_update_scale_(Tensor(a!) self, Tensor(b!) growth_tracker, Tensor found_inf,
 *     float scale_growth_factor, float scale_backoff_factor, int growth_interval) -> Tensor(a!) */
static int update_scale_(dp_ctx *ctx, dp_tensor *self, dp_tensor *growth_tracker,
                         dp_tensor *found_inf, double growth, double backoff, int64_t interval)
{
    int rc = check_one(ctx, growth_tracker, "growth_tracker", DP_INT32, "an int", self);

    if (rc == 0)
        rc = check_one(ctx, self, "current_scale", DP_FLOAT32, "a float", self);
    if (rc == 0)
        rc = check_one(ctx, found_inf, "found_inf", DP_FLOAT32, "a float", self);
    if (rc < 0 || dp_memoryless(ctx))
        return rc;
    float *scale = dense_data(self);
    int32_t *tracker = dense_data(growth_tracker), grown = *tracker < INT32_MAX ? *tracker + 1 : 0;
    if (*(const float *)dense_data(found_inf) != 0) {
        *scale = (float)(*scale * backoff);
        *tracker = 0;
        return 0;
    }
    float next = (float)(*scale * growth);
    if (grown == interval && isfinite(next)) /* the scale does not grow past float32 */
        *scale = next;
    *tracker = grown == interval ? 0 : grown;
    return 0;
}

DP_LIBRARY_META(aten, CPU,
                DP_IMPL_UNBOXED("_amp_foreach_non_finite_check_and_unscale_", check_and_unscale_,
                                (lT, T, T), ()),
                DP_IMPL_UNBOXED("_amp_update_scale_", update_scale_, (T, T, T, f, f, i), ()))
/* as in PyTorch, leaves that require a gradient may be unscaled */
DP_LIBRARY_IMPL(aten, Autograd, DP_IMPL_FALLTHROUGH("_amp_foreach_non_finite_check_and_unscale_"))
