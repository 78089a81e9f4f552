/* grid_sampler.c -- grid_sampler_2d and grid_sampler_3d (aten/src/ATen/native/GridSampler.cpp).
 *
 * Operators: grid_sampler_2d, grid_sampler_2d_backward, grid_sampler_3d,
 * grid_sampler_3d_backward. */
#include "grid_sampler.h"
#include "core/dense.h"
#include <string.h>

typedef struct sampler {
    int dims;
    dp_tensor *input, *grid;
    int64_t mode, padding;
    bool align;
    int64_t sizes[5]; /* sizes of the result */
} sampler;

/* -- checks; source: at::native::check_grid_sampler_common and similar functions -- */

static int check_shapes(dp_ctx *ctx, const sampler *s, const dp_view *x, const dp_view *g)
{
    char input[DP_SHAPE_TEXT], grid[DP_SHAPE_TEXT];

    dp_shape_text(input, x->sizes, (size_t)x->ndim);
    dp_shape_text(grid, g->sizes, (size_t)g->ndim);
    if (x->ndim != s->dims + 2 || g->ndim != s->dims + 2)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "grid_sampler(): expected %dD input and grid with same number of dimensions, but "
            "got input with sizes %s and grid with sizes %s",
            s->dims + 2, input, grid);
    if (x->sizes[0] != g->sizes[0])
        return dp_fail(
            ctx, DP_ERUNTIME,
            "grid_sampler(): expected grid and input to have same batch size, but got input "
            "with sizes %s and grid with sizes %s",
            input, grid);
    if (g->sizes[g->ndim - 1] != s->dims)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "grid_sampler(): expected grid to have size %d in last dimension, but got grid "
            "with sizes %s",
            s->dims, grid);
    for (int d = 2; d < x->ndim; d++)
        if (x->sizes[d] == 0)
            return dp_fail(
                ctx, DP_ERUNTIME,
                "grid_sampler(): expected input to have non-empty spatial dimensions, but "
                "input has sizes %s with dimension %d being empty",
                input, d);
    return 0;
}

static int check(dp_ctx *ctx, sampler *s, const char *what)
{
    DP_VIEW(x, s->input);
    DP_VIEW(g, s->grid);
    int rc = check_shapes(ctx, s, &x, &g);

    if (rc < 0)
        return rc;
    if (s->mode < 0 || s->mode >= GRID_MODES || s->padding < 0 || s->padding >= GRID_PADDINGS)
        return dp_fail(ctx, DP_ERUNTIME,
                       "grid_sampler(): no such interpolation_mode or padding_mode: %" PRId64
                       ", %" PRId64,
                       s->mode, s->padding);
    if (s->dims == 3 && s->mode == GRID_CUBIC)
        return dp_fail(ctx, DP_ERUNTIME,
                       "grid_sampler(): bicubic interpolation only supports 4D input");
    if (x.dtype != DP_FLOAT32 && x.dtype != DP_FLOAT64)
        return dp_fail(ctx, DP_ERUNTIME, "\"%s\" not implemented for '%s'", what,
                       dense_type_name(x.dtype));
    s->sizes[0] = x.sizes[0];
    s->sizes[1] = x.sizes[1];
    for (int d = 0; d < s->dims; d++)
        s->sizes[d + 2] = g.sizes[d + 1];
    return dense_check_same(ctx, x.dtype, g.dtype);
}

static int check_grad(dp_ctx *ctx, const sampler *s, dp_tensor *grad)
{
    char want[DP_SHAPE_TEXT], got[DP_SHAPE_TEXT];
    DP_VIEW(x, s->input);
    DP_VIEW(g, grad);

    if (g.ndim != s->dims + 2 || memcmp(g.sizes, s->sizes, (size_t)g.ndim * sizeof(int64_t)) != 0)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "grid_sampler(): expected grad_output to have sizes %s, but got one with sizes %s",
            dp_shape_text(want, s->sizes, (size_t)s->dims + 2),
            dp_shape_text(got, g.sizes, (size_t)g.ndim));
    return dense_check_same(ctx, x.dtype, g.dtype);
}

/* -- running -- */

/* Set *out, owned, to `t` if it is contiguous, else to a contiguous copy. */
static int pack(dp_ctx *ctx, dp_tensor *t, dp_tensor **out)
{
    if (dp_tensor_is_contiguous(t, DP_CONTIGUOUS)) {
        *out = dp_tensor_ref(t);
        return 0;
    }
    int rc = dp_empty_like(ctx, t, DP_DTYPE_NONE, DP_CONTIGUOUS, out);
    if (rc == 0 && (rc = dp_copy(ctx, *out, t)) < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

static const char *data_of(const dp_tensor *t)
{
    DP_VIEW(v, t);
    return v.data;
}

/* Set held [3], owned, to contiguous input, grid and grad; grad may be NULL. */
static int prepare(dp_ctx *ctx, const sampler *s, dp_tensor *grad, dp_tensor **held, grid_job *j)
{
    DP_VIEW(x, s->input);
    DP_VIEW(g, s->grid);
    int rc = pack(ctx, s->input, &held[0]);

    if (rc == 0)
        rc = pack(ctx, s->grid, &held[1]);
    if (rc == 0 && grad)
        rc = pack(ctx, grad, &held[2]);
    if (rc < 0)
        return rc;
    *j = (grid_job){
        .dims = s->dims, .mode = (int)s->mode, .padding = (int)s->padding, .align = s->align};
    j->n = x.sizes[0];
    j->channels = x.sizes[1];
    j->points = j->n ? g.numel / j->n / s->dims : 0;
    j->places = 1;
    for (int d = 0; d < s->dims; d++) {
        j->size[d] = x.sizes[x.ndim - 1 - d];
        j->places *= j->size[d];
    }
    if (j->places > INT32_MAX)
        return dp_fail(ctx, DP_ERESOURCE,
                       "grid_sampler(): planes of %" PRId64 " elements are more than it takes (%d)",
                       j->places, INT32_MAX);
    j->x = data_of(held[0]);
    j->grid = data_of(held[1]);
    j->grad = held[2] ? data_of(held[2]) : NULL;
    j->blocks = (j->points + GRID_BLOCK - 1) / GRID_BLOCK;
    j->groups = (j->channels + GRID_GROUP - 1) / GRID_GROUP;
    return 0;
}

static void release(dp_tensor **held)
{
    for (int i = 0; i < 3; i++)
        dp_tensor_unref(held[i]);
}

static const grid_loops *loops_of(const sampler *s)
{
    DP_VIEW(x, s->input);
    return &CPU_CHOSEN(grid_types)[x.dtype == DP_FLOAT64];
}

static int sample(dp_ctx *ctx, sampler *s, dp_tensor **out)
{
    dp_tensor *held[3] = {0};
    grid_job j;
    DP_VIEW(x, s->input);
    int rc = check(ctx, s, s->dims == 2 ? "grid_sampler_2d_cpu" : "grid_sampler3d_cpu");

    if (rc == 0)
        rc = dp_empty(ctx, x.dtype, x.device, s->dims + 2, s->sizes, DP_CONTIGUOUS, out);
    if (rc < 0 || dp_memoryless(ctx))
        return rc;
    rc = prepare(ctx, s, NULL, held, &j);
    if (rc == 0 && j.channels > 0) {
        DP_VIEW(y, *out);
        j.out = y.data;
        rc = dp_parallel_for(ctx, 0, j.n * j.blocks,
                             dense_grain(GRID_BLOCK * (double)(8 + 4 * j.channels)),
                             loops_of(s)->sample, &j);
    }
    release(held);
    if (rc < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* Compute one gradient, of the input or of the grid, into `out`. */
static int run_back(dp_ctx *ctx, const sampler *s, const grid_job *job, bool of_input,
                    dp_tensor *out)
{
    grid_job j = *job;
    DP_VIEW(y, out);

    if (y.numel == 0)
        return 0;
    j.out = y.data;
    dp_zero_n(y.data, (size_t)y.numel, dp_dtype_size(y.dtype));
    if (!of_input && j.mode == GRID_NEAREST)
        return 0; /* the gradient of the grid is 0 with nearest neighbours */
    if (of_input)
        return dp_parallel_for(ctx, 0, j.n * j.groups,
                               dense_grain((double)j.points * 4 * GRID_GROUP),
                               loops_of(s)->input_back, &j);
    return dp_parallel_for(ctx, 0, j.n * j.blocks,
                           dense_grain(GRID_BLOCK * (double)(8 + 4 * j.channels)),
                           loops_of(s)->grid_back, &j);
}

/* Compute the gradients that the mask selects; the gradient of the grid is always computed. */
static int sample_back(dp_ctx *ctx, sampler *s, dp_tensor *grad, const bool *mask,
                       dp_tensor **input, dp_tensor **grid)
{
    dp_tensor *held[3] = {0};
    grid_job j;
    int rc = check(ctx, s,
                   s->dims == 2 ? "grid_sampler_2d_backward_cpu" : "grid_sampler_3d_backward_cpu");

    *input = *grid = NULL;
    if (rc == 0)
        rc = check_grad(ctx, s, grad);
    if (rc == 0 && mask[0])
        rc = dp_empty_like(ctx, s->input, DP_DTYPE_NONE, DP_CONTIGUOUS, input);
    if (rc == 0)
        rc = dp_empty_like(ctx, s->grid, DP_DTYPE_NONE, DP_CONTIGUOUS, grid);
    if (rc == 0 && !dp_memoryless(ctx)) {
        rc = prepare(ctx, s, grad, held, &j);
        if (rc == 0 && mask[0])
            rc = run_back(ctx, s, &j, true, *input);
        if (rc == 0)
            rc = run_back(ctx, s, &j, false, *grid);
        release(held);
    }
    if (rc < 0) {
        *input = dp_tensor_unref(*input);
        *grid = dp_tensor_unref(*grid);
    }
    return rc;
}

/* -- operators -- */

#define SAMPLER(spatial)                                                                           \
    static int sample##spatial(dp_ctx *ctx, dp_tensor *input, dp_tensor *grid, int64_t mode,       \
                               int64_t padding, bool align, dp_tensor **out)                       \
    {                                                                                              \
        sampler s = {spatial, input, grid, mode, padding, align, {0}};                             \
        return sample(ctx, &s, out);                                                               \
    }                                                                                              \
    static int sample##spatial##_back(dp_ctx *ctx, dp_tensor *grad, dp_tensor *input,              \
                                      dp_tensor *grid, int64_t mode, int64_t padding, bool align,  \
                                      const bool *mask, size_t n, dp_tensor **grad_input,          \
                                      dp_tensor **grad_grid)                                       \
    {                                                                                              \
        sampler s = {spatial, input, grid, mode, padding, align, {0}};                             \
        if (n != 2)                                                                                \
            return dp_fail(ctx, DP_ERUNTIME, "output_mask must have 2 values, not %zu", n);        \
        return sample_back(ctx, &s, grad, mask, grad_input, grad_grid);                            \
    }
SAMPLER(2)
SAMPLER(3)

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("grid_sampler_2d", sample2, (T, T, i, i, b), (T)),
                DP_IMPL_UNBOXED("grid_sampler_3d", sample3, (T, T, i, i, b), (T)),
                DP_IMPL_UNBOXED("grid_sampler_2d_backward", sample2_back, (T, T, T, i, i, b, lb),
                                (T, T)),
                DP_IMPL_UNBOXED("grid_sampler_3d_backward", sample3_back, (T, T, T, i, i, b, lb),
                                (T, T)))
