/* nll_loss.c -- nll_loss and nll_loss2d, negative log likelihood losses, and their gradients
 * (aten/src/ATen/native/LossNLL.cpp, LossNLL2d.cpp).
 *
 * Both are one loss over an input [rows, classes, inner]: a vector is one row, a matrix has an
 * inner size of 1, and images have their pixels in the inner dimension.  Targets are copied and
 * checked before anything is written.
 *
 * Operators: nll_loss2d_backward, nll_loss2d_forward, nll_loss_backward, nll_loss_forward. */
#include "core/dense.h"
#include "core/pack.h"

enum { NONE, MEAN, SUM }; /* at::Reduction */
enum { SIDES = 4 };       /* number of partial sums */

typedef struct nll {
    const char *name;
    dp_tensor *self, *target, *weight, *total;
    int64_t reduction, ignored;
    bool images, each; /* the operator is nll_loss2d; the result has a loss for each target */
    dp_dtype dtype;
    int64_t rows, classes, inner;
    const int64_t *at;    /* [rows, inner] targets */
    const double *factor; /* [classes] weights; NULL: all 1 */
} nll;

static void store(dp_dtype dtype, void *p, int64_t i, double v)
{
    if (dtype == DP_FLOAT32)
        ((float *)p)[i] = (float)v;
    else if (dtype == DP_FLOAT64)
        ((double *)p)[i] = v;
    else
        ((uint16_t *)p)[i] = dp_float_to_bfloat16((float)v);
}

/* -- checks -- */

static int check_rows(dp_ctx *ctx, const dp_view *x, const dp_view *t)
{
    char a[DP_SHAPE_TEXT], b[DP_SHAPE_TEXT];

    if (x->ndim < 1 || x->ndim > 2)
        return dp_fail(ctx, DP_ERUNTIME, "input tensor should be 1D or 2D");
    if (t->ndim > 1)
        return dp_fail(ctx, DP_ERUNTIME,
                       "0D or 1D target tensor expected, multi-target not supported");
    if (x->ndim == 1 && t->ndim == 0)
        return 0;
    if (t->ndim == 0)
        return dp_fail(ctx, DP_EINDEX, "Dimension specified as 0 but tensor has no dimensions");
    if (x->sizes[0] != t->sizes[0])
        return dp_fail(ctx, DP_ERUNTIME, "size mismatch (got input: %s, target: %s)",
                       dp_shape_text(a, x->sizes, (size_t)x->ndim),
                       dp_shape_text(b, t->sizes, (size_t)t->ndim));
    return 0;
}

static int check_images(dp_ctx *ctx, const dp_view *x, const dp_view *t)
{
    char a[DP_SHAPE_TEXT], b[DP_SHAPE_TEXT];

    if (t->ndim != 3)
        return dp_fail(ctx, DP_ERUNTIME,
                       "only batches of spatial targets supported (3D tensors) but got targets of "
                       "dimension: %d",
                       t->ndim);
    if (x->ndim != 4)
        return dp_fail(ctx, DP_ERUNTIME,
                       "only batches of spatial inputs supported (4D tensors), but got input of "
                       "dimension: %d",
                       x->ndim);
    if (x->sizes[0] != t->sizes[0] || x->sizes[2] != t->sizes[1] || x->sizes[3] != t->sizes[2])
        return dp_fail(ctx, DP_ERUNTIME, "size mismatch (got input: %s , target: %s",
                       dp_shape_text(a, x->sizes, 4), dp_shape_text(b, t->sizes, 3));
    return 0;
}

static int check_weight(dp_ctx *ctx, const nll *l)
{
    char shape[DP_SHAPE_TEXT];

    if (l->weight == NULL)
        return 0;
    DP_VIEW(w, l->weight);
    if (w.numel != l->classes || (!l->images && w.ndim != 1))
        return dp_fail(ctx, DP_ERUNTIME,
                       "weight tensor should be defined either for all %" PRId64
                       " classes or no classes but got weight tensor of shape: %s",
                       l->classes, dp_shape_text(shape, w.sizes, (size_t)w.ndim));
    return dense_check_same(ctx, l->dtype, w.dtype);
}

/* Check everything that depends only on shapes and dtypes. */
static int check(dp_ctx *ctx, nll *l)
{
    DP_VIEW(x, l->self);
    DP_VIEW(t, l->target);
    int rc = l->images ? check_images(ctx, &x, &t) : check_rows(ctx, &x, &t);

    if (rc < 0)
        return rc;
    l->dtype = x.dtype;
    l->rows = t.numel == 0 ? 0 : x.ndim == 1 ? 1 : x.sizes[0];
    l->classes = x.ndim == 1 ? x.sizes[0] : x.sizes[1];
    l->inner = l->images && l->rows > 0 ? t.numel / l->rows : 1;
    l->each = l->reduction == NONE && x.ndim > 1;
    rc = dense_check_type(ctx, l->name, x.dtype, DENSE_FLOATS);
    if (rc == 0)
        rc = check_weight(ctx, l);
    /* without targets, their dtype is not checked */
    bool asked = l->each || l->rows > 0 || l->total;
    if (rc == 0 && asked && (t.dtype != DP_UINT8 || l->images))
        rc = dense_check_same(ctx, DP_INT64, t.dtype);
    return rc;
}

/* Load a copy of the targets and the weights.  DP_EINDEX: a target is not a class. */
static void load_targets(pack *p, nll *l)
{
    l->at = pack_own(p, l->target, DP_INT64);
    l->factor = pack_get(p, l->weight, DP_FLOAT64);
    if (p->rc < 0 || dp_memoryless(p->ctx))
        return;
    const int64_t *at = l->at, n = l->rows * l->inner, last = l->classes - 1, ignored = l->ignored;
    /* `signs` is negative if a target is negative or greater than the last class */
    int64_t signs = 0;
    for (int64_t i = 0; i < n; i++)
        signs |= (at[i] | (last - at[i])) & -(int64_t)(at[i] != ignored);
    for (int64_t i = 0; signs < 0 && p->rc == 0 && i < n; i++)
        if (l->at[i] != l->ignored && (l->at[i] < 0 || l->at[i] >= l->classes))
            p->rc = dp_refuse(p->ctx, DP_EINDEX, "Target %" PRId64 " is out of bounds.", l->at[i]);
}

/* -- forward -- */

/* The memory of x [rows, classes, inner] with its strides; x is copied only if its pixels are not
 * at equal distances. */
typedef struct lie {
    const void *data;
    int64_t row, class, inner;
} lie;

static lie lie_of(pack *p, const nll *l)
{
    DP_VIEW(x, l->self);
    bool even = !l->images || x.strides[2] == x.sizes[3] * x.strides[3] || x.sizes[2] <= 1;

    if (!even)
        return (lie){pack_get(p, l->self, l->dtype), l->classes * l->inner, l->inner, 1};
    if (x.ndim == 1)
        return (lie){x.data, 0, x.strides[0], 0};
    return (lie){x.data, x.strides[0], x.strides[1], l->images ? x.strides[3] : 0};
}

/* Partial sums of losses and of weights; there are SIDES of each, so that additions do not wait for
 * one another. */
typedef struct sums {
    double loss[SIDES], weight[SIDES];
} sums;

/* Define the losses of targets [i, i + n), whose elements of x are `step` apart, from `from` on. */
#define LINE(name, type, load, store)                                                              \
    __attribute__((always_inline)) static inline void one_##name(                                  \
        const nll *l, const type *x, int64_t class, int64_t at, int64_t ignored, type *out,        \
        double *loss, double *weight)                                                              \
    {                                                                                              \
        double w = at == ignored ? 0 : l->factor ? l->factor[at] : 1;                              \
        double v = at == ignored ? 0 : -(double)load(x[at * class]) * w;                           \
        if (out)                                                                                   \
            *out = store(v);                                                                       \
        *loss += v;                                                                                \
        *weight += w;                                                                              \
    }                                                                                              \
    static void line_##name(const nll *l, const lie *rows, int64_t from, int64_t step, int64_t i,  \
                            int64_t n, void *each, sums *s)                                        \
    {                                                                                              \
        const type *x = (const type *)rows->data + from;                                           \
        const int64_t *at = l->at + i, class = rows->class, ignored = l->ignored;                  \
        type *out = each ? (type *)each + i : NULL;                                                \
        sums own = *s;                                                                             \
        int64_t k = 0;                                                                             \
        for (; n - k >= SIDES; k += SIDES)                                                         \
            for (int side = 0; side < SIDES; side++)                                               \
                one_##name(l, x + (k + side) * step, class, at[k + side], ignored,                 \
                           out ? out + k + side : NULL, &own.loss[side], &own.weight[side]);       \
        for (; k < n; k++)                                                                         \
            one_##name(l, x + k * step, class, at[k], ignored, out ? out + k : NULL, own.loss,     \
                       own.weight);                                                                \
        *s = own;                                                                                  \
    }
LINE(f32, float, , (float))
LINE(f64, double, , )
LINE(bf16, uint16_t, dp_bfloat16_to_float, dp_float_to_bfloat16)

/* Compute the losses into `out`, or their sum; *total is the sum of the weights. */
static void run(pack *p, const nll *l, void *out, double *total)
{
    lie x = lie_of(p, l);
    sums s = {{0}, {0}};
    void *each = l->each ? out : NULL;
    void (*line)(const nll *, const lie *, int64_t, int64_t, int64_t, int64_t, void *, sums *) =
        l->dtype == DP_FLOAT32   ? line_f32
        : l->dtype == DP_FLOAT64 ? line_f64
                                 : line_bf16;

    *total = 0;
    if (p->rc < 0)
        return;
    if (l->inner == 1)
        line(l, &x, 0, x.row, 0, l->rows, each, &s);
    for (int64_t r = 0; l->inner != 1 && r < l->rows; r++)
        line(l, &x, r * x.row, x.inner, r * l->inner, l->inner, each, &s);
    for (int i = 1; i < SIDES; i++) {
        s.loss[0] += s.loss[i];
        s.weight[0] += s.weight[i];
    }
    *total = s.weight[0];
    if (!l->each)
        store(l->dtype, out, 0, l->reduction == MEAN ? s.loss[0] / *total : s.loss[0]);
}

/* Run the forward call; *out and *total are made if NULL. */
static int forward(dp_ctx *ctx, nll *l, dp_tensor **out, dp_tensor **total)
{
    pack p = {.ctx = ctx, .rc = check(ctx, l)};
    dp_tensor *loss, *sum, *given = *out;
    double weights = 0;

    if (p.rc < 0)
        return dp_refuse(ctx, p.rc, NULL);
    DP_VIEW(t, l->target);
    load_targets(&p, l);
    void *y = pack_new(&p, l->dtype, l->each ? t.ndim : 0, t.sizes, &loss);
    void *w = pack_new(&p, l->dtype, 0, NULL, &sum);
    if (p.rc == 0 && !dp_memoryless(ctx)) {
        run(&p, l, y, &weights);
        store(l->dtype, w, 0, l->each ? 0 : weights);
    }
    pack_place(&p, sum, l->dtype, total);
    pack_give(&p, loss, l->dtype, out);
    pack_give(&p, sum, l->dtype, total);
    if (p.rc < 0 && given == NULL)
        *out = dp_tensor_unref(*out);
    return pack_end(&p);
}

/* -- backward -- */

static int check_gradient(dp_ctx *ctx, const nll *l, dp_tensor *grad)
{
    char a[DP_SHAPE_TEXT], b[DP_SHAPE_TEXT];
    DP_VIEW(g, grad);
    DP_VIEW(t, l->target);
    DP_VIEW(w, l->total);

    if (w.numel != 1)
        return dp_fail(ctx, DP_ERUNTIME,
                       "expected total_weight to be a single element tensor, got: %s (%" PRId64
                       " elements)",
                       dp_shape_text(a, w.sizes, (size_t)w.ndim), w.numel);
    if (!l->each && (g.numel != 1 || (g.ndim > 1 && !l->images)))
        return dp_fail(ctx, DP_ERUNTIME,
                       "Expected a single element grad_output tensor, but got: %s",
                       dp_shape_text(a, g.sizes, (size_t)g.ndim));
    bool same = !l->each || g.ndim == t.ndim;
    for (int i = 0; l->each && same && i < t.ndim; i++)
        same = g.sizes[i] == t.sizes[i];
    if (!same)
        return dp_fail(ctx, DP_ERUNTIME,
                       "size mismatch (got grad_output: %s, target: %s): they should be equal",
                       dp_shape_text(a, g.sizes, (size_t)g.ndim),
                       dp_shape_text(b, t.sizes, (size_t)t.ndim));
    int rc = dense_check_same(ctx, l->dtype, g.dtype);
    return rc < 0 || l->each ? rc : dense_check_same(ctx, l->dtype, w.dtype);
}

/* Set the gradient of x, whose elements are 0, at the targets. */
static void run_backward(const nll *l, const double *grad, double total, void *x)
{
    const int64_t *at = l->at, ignored = l->ignored;
    const double one = l->each ? 0 : l->reduction == MEAN ? grad[0] / total : grad[0];

    for (int64_t r = 0, i = 0; r < l->rows; r++)
        for (int64_t j = 0; j < l->inner; j++, i++)
            if (at[i] != ignored)
                store(l->dtype, x, (r * l->classes + at[i]) * l->inner + j,
                      -(l->factor ? l->factor[at[i]] : 1) * (l->each ? grad[i] : one));
}

static int backward(dp_ctx *ctx, nll *l, dp_tensor *grad, dp_tensor **out)
{
    pack p = {.ctx = ctx, .rc = check(ctx, l)};
    dp_tensor *slope;

    if (p.rc == 0)
        p.rc = check_gradient(ctx, l, grad);
    if (p.rc < 0)
        return dp_refuse(ctx, p.rc, NULL);
    DP_VIEW(x, l->self);
    load_targets(&p, l);
    const double *g = pack_get(&p, grad, DP_FLOAT64);
    const double *total = pack_get(&p, l->total, DP_FLOAT64);
    void *y = pack_zeros(&p, l->dtype, x.ndim, x.sizes, &slope);
    if (p.rc == 0 && !dp_memoryless(ctx))
        run_backward(l, g, *total, y);
    pack_give(&p, slope, l->dtype, out);
    return pack_end(&p);
}

/* -- variants: for rows (nll_loss) and for images (nll_loss2d) -- */

/* aten::nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, int
 *     ignore_index) -> (Tensor output, Tensor total_weight)
 * aten::nll_loss_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int
 *     reduction, int ignore_index, Tensor total_weight) -> Tensor */
#define PARAMS                                                                                     \
    dp_tensor *self, dp_tensor *target, dp_tensor *weight, int64_t reduction, int64_t ignored
#define LOSS(text, of_images)                                                                      \
    nll l = {.name = text,                                                                         \
             .self = self,                                                                         \
             .target = target,                                                                     \
             .weight = weight,                                                                     \
             .reduction = reduction,                                                               \
             .ignored = ignored,                                                                   \
             .images = of_images}
/* Define the variants.  `frame` and `backward_frame` are the kernels that PyTorch names in its
 * errors. */
#define FORMS(name, frame, backward_frame, of_images)                                              \
    static int name##_forward(dp_ctx *ctx, PARAMS, dp_tensor **out, dp_tensor **total)             \
    {                                                                                              \
        LOSS(frame, of_images);                                                                    \
        *out = *total = NULL;                                                                      \
        return forward(ctx, &l, out, total);                                                       \
    }                                                                                              \
    static int name##_forward_out(dp_ctx *ctx, PARAMS, dp_tensor *out, dp_tensor *total)           \
    {                                                                                              \
        LOSS(frame, of_images);                                                                    \
        return forward(ctx, &l, &out, &total);                                                     \
    }                                                                                              \
    static int name##_backward(dp_ctx *ctx, dp_tensor *grad, PARAMS, dp_tensor *total,             \
                               dp_tensor **out)                                                    \
    {                                                                                              \
        LOSS(backward_frame, of_images);                                                           \
        *out = NULL;                                                                               \
        l.total = total;                                                                           \
        return backward(ctx, &l, grad, out);                                                       \
    }                                                                                              \
    static int name##_backward_out(dp_ctx *ctx, dp_tensor *grad, PARAMS, dp_tensor *total,         \
                                   dp_tensor *out)                                                 \
    {                                                                                              \
        LOSS(backward_frame, of_images);                                                           \
        l.total = total;                                                                           \
        return backward(ctx, &l, grad, &out);                                                      \
    }
FORMS(nll_loss, "nll_loss_out_frame", "nll_loss_backward_out_frame", false)
FORMS(nll_loss2d, "nll_loss2d_out_frame", "nll_loss2d_backward_out_frame", true)

DP_LIBRARY_META(
    aten, CPU, DP_IMPL_UNBOXED("nll_loss_forward", nll_loss_forward, (T, T, oT, i, i), (T, T)),
    DP_IMPL_UNBOXED("nll_loss_forward.output", nll_loss_forward_out, (T, T, oT, i, i, T, T), ()),
    DP_IMPL_UNBOXED("nll_loss_backward", nll_loss_backward, (T, T, T, oT, i, i, T), (T)),
    DP_IMPL_UNBOXED("nll_loss_backward.grad_input", nll_loss_backward_out,
                    (T, T, T, oT, i, i, T, T), ()),
    DP_IMPL_UNBOXED("nll_loss2d_forward", nll_loss2d_forward, (T, T, oT, i, i), (T, T)),
    DP_IMPL_UNBOXED("nll_loss2d_forward.output", nll_loss2d_forward_out, (T, T, oT, i, i, T, T),
                    ()),
    DP_IMPL_UNBOXED("nll_loss2d_backward", nll_loss2d_backward, (T, T, T, oT, i, i, T), (T)),
    DP_IMPL_UNBOXED("nll_loss2d_backward.grad_input", nll_loss2d_backward_out,
                    (T, T, T, oT, i, i, T, T), ()))
