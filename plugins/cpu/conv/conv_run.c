/* conv_run.c -- a convolution and its gradient by the input, as products of panels of columns and
 * panels of weights.
 *
 * Both are walks.  A walk computes the results on a lattice of the output; each result is a sum
 * over channels and taps, and a tap (conv.h) reads the element at a fixed distance.  A convolution
 * is one walk.  Its gradient by x is one walk for each remainder of a position of x modulo the
 * stride, with the taps that reach such positions. */
#include "conv_walk.h"

/* Run walk `w`, in which only the members that follow from other members are not set. */
static int run_walk(dp_ctx *ctx, conv_walk *w)
{
    conv_axis *a = w->planes.axis;
    int64_t k[] = {w->op.in_channels, a[0].taps, a[1].taps, a[2].taps}, results = 1;
    uint64_t all = dp_sizes_product(1, k, 4);

    for (int s = 0; s < CONV_SPACE; s++)
        results *= a[s].count;
    if (results == 0)
        return 0;
    if (all > INT32_MAX)
        return dp_fail(ctx, DP_ERESOURCE, "a convolution whose sums are of more than %d products",
                       INT32_MAX);
    w->packed.k = (int64_t)all;
    if (conv_is_pixelwise(w))
        return conv_run_pixelwise(ctx, w);
    if (conv_is_of_pixels(w))
        return conv_run_of_pixels(ctx, w);
    w->blocks.depth = conv_block_depth(w);
    int rc = conv_is_thin(w)
                 ? conv_planes_cut(ctx, &w->planes, &w->cut)
                 : conv_planes_init(ctx, &w->planes, w->op.n, w->loops.class->lanes, true);
    if (rc == 0)
        rc = conv_pack_weights(ctx, w);
    if (conv_is_thin(w))
        return rc < 0 ? rc : conv_run_thin(ctx, w);
    for (w->pass.first = 0; rc == 0 && w->pass.first < w->op.n;
         w->pass.first += w->planes.samples) {
        w->pass.samples = conv_least(w->op.n - w->pass.first, w->planes.samples);
        w->pass.columns = w->pass.samples * results;
        rc = conv_planes_fill(ctx, &w->planes, w->pass.first, w->pass.samples);
        if (rc == 0)
            rc = conv_run_blocks(ctx, w);
    }
    return rc;
}

/* Return a walk with the members that depend only on the dtype and the shape. */
static conv_walk walk_of(dp_dtype dtype, const conv_shape *s, const conv_side *from,
                         const conv_side *to, int64_t in_channels, int64_t out_channels)
{
    const gemm_dtype *packing = &CPU_CHOSEN(gemm_dtypes)[dtype];
    conv_walk w = {.loops = {.class = &CPU_CHOSEN(conv_classes)[packing->class],
                             .packing = packing,
                             .dtype = &CPU_CHOSEN(conv_dtypes)[dtype]},
                   .op = {.n = s->n,
                          .groups = s->groups,
                          .in_channels = in_channels,
                          .out_channels = out_channels,
                          .to = *to}};

    w.planes.dtype = w.loops.dtype;
    w.planes.from = *from;
    w.planes.bytes = packing->bytes;
    w.planes.class_bytes = w.loops.class->bytes;
    w.planes.channels = s->groups * in_channels;
    w.planes.per_group = in_channels;
    return w;
}

/* Allocate the memory for the taps of all axes, and the scratch memory of workers. */
static int make_memory(dp_ctx *ctx, conv_walk *w, const conv_shape *s)
{
    for (int i = 0; i < CONV_SPACE; i++) {
        w->planes.axis[i].off = dp_alloc(ctx, dp_sizes_product(sizeof(int64_t), &s->kernel[i], 1));
        w->op.tap[i] = dp_alloc(ctx, dp_sizes_product(sizeof(int64_t), &s->kernel[i], 1));
        if (w->planes.axis[i].off == NULL || w->op.tap[i] == NULL)
            return DP_ERESOURCE;
    }
    return conv_block_rooms(ctx, w);
}

/* Convert the bias to the class, with zeros up to whole tiles. */
static int widen_bias(dp_ctx *ctx, conv_walk *w, const void *bias)
{
    int64_t n = (int64_t)dp_size_times((uint64_t)w->op.groups, (uint64_t)w->op.out_channels);
    char *wide =
        bias ? dp_alloc_n(ctx, (size_t)(n + w->loops.class->lanes), (size_t)w->loops.class->bytes)
             : NULL;

    if (bias && wide == NULL)
        return DP_ERESOURCE;
    if (bias)
        w->loops.dtype->widen(wide, n, bias, n, 1, 1, n);
    w->op.bias = wide;
    return 0;
}

/* Test whether the spatial dimensions of `a` can be viewed as one dimension of contiguous rows. */
static bool flat(const conv_side *a, const int64_t size[CONV_SPACE])
{
    return (size[1] == 1 || a->at[1] == size[2] * a->at[2]) &&
           (size[0] == 1 || a->at[0] == size[1] * size[2] * a->at[2]);
}

static conv_shape flattened(const conv_shape *s, const conv_side *x, const conv_side *y)
{
    conv_shape f = *s;

    for (int i = 0; i < CONV_SPACE; i++)
        if (s->kernel[i] != 1 || s->stride[i] != 1 || s->padding[i] != 0 || s->in[i] != s->out[i])
            return f;
    if (!flat(x, s->in) || !flat(y, s->out))
        return f;
    f.in[2] = f.out[2] = s->in[0] * s->in[1] * s->in[2];
    f.in[0] = f.in[1] = f.out[0] = f.out[1] = 1;
    return f;
}

int conv_forward(dp_ctx *ctx, dp_dtype dtype, const conv_shape *shape, const conv_side *x,
                 const conv_side *weight, const void *bias, const conv_side *y)
{
    const conv_shape s = flattened(shape, x, y);
    conv_walk w = walk_of(dtype, &s, x, y, s.in_channels, s.out_channels);
    int rc = make_memory(ctx, &w, &s);

    w.op.weights = *weight;
    w.op.group_step = s.out_channels * weight->outer;
    w.op.accumulate_in_output = y->at[2] == 1 && w.loops.packing->bytes == w.loops.class->bytes;
    w.op.by_channel = y->channel != 1; /* PyTorch's order of summands, for equal last bits */
    for (int i = 0; rc == 0 && i < CONV_SPACE; i++) {
        conv_axis *a = &w.planes.axis[i];
        a->in = s.in[i], a->count = s.out[i], a->step = s.stride[i], a->taps = s.kernel[i];
        w.op.stride[i] = 1;
        for (int64_t t = 0; t < a->taps; t++) {
            w.op.tap[i][t] = t;
            a->off[t] = t * s.dilation[i] - s.padding[i];
        }
    }
    if (rc == 0)
        rc = widen_bias(ctx, &w, bias);
    return rc < 0 ? rc : run_walk(ctx, &w);
}

/* Set the taps that reach those positions of x along axis `i` whose remainder modulo the stride is
 * `r`. */
static void reach(conv_walk *w, const conv_shape *s, int i, int64_t r)
{
    conv_axis *a = &w->planes.axis[i];
    int64_t stride = s->stride[i];

    a->in = s->out[i], a->step = 1, a->taps = 0, a->low = 0;
    a->count = r < s->in[i] ? (s->in[i] - r + stride - 1) / stride : 0;
    w->op.begin[i] = r;
    w->op.stride[i] = stride;
    for (int64_t t = 0; t < s->kernel[i]; t++) {
        int64_t at = r + s->padding[i] - t * s->dilation[i];
        if (at % stride != 0)
            continue;
        a->off[a->taps] = at / stride;
        w->op.tap[i][a->taps++] = t;
    }
}

int conv_input(dp_ctx *ctx, dp_dtype dtype, const conv_shape *shape, const conv_side *y,
               const conv_side *weight, const void *bias, bool apart, const conv_side *x)
{
    const conv_shape s = flattened(shape, x, y);
    conv_walk all = walk_of(dtype, &s, y, x, s.out_channels, s.in_channels);
    int rc = make_memory(ctx, &all, &s);
    int64_t n = 1, by[CONV_SPACE];

    all.op.separate_taps = apart;
    all.op.weights = *weight;
    all.op.weights.outer = weight->channel, all.op.weights.channel = weight->outer;
    all.op.group_step = s.out_channels * weight->outer;
    for (int i = 0; i < CONV_SPACE; i++)
        n *= by[i] = conv_least(s.stride[i], s.in[i]);
    if (rc == 0)
        rc = widen_bias(ctx, &all, bias);
    for (int64_t r = 0; rc == 0 && r < n; r++) {
        conv_walk w = all;
        reach(&w, &s, 0, r / by[2] / by[1]);
        reach(&w, &s, 1, r / by[2] % by[1]);
        reach(&w, &s, 2, r % by[2]);
        w.op.accumulate_in_output =
            x->at[2] == 1 && w.op.stride[2] == 1 && w.loops.packing->bytes == w.loops.class->bytes;
        rc = run_walk(ctx, &w);
    }
    return rc;
}
