/* margin_loss.c -- multi_margin_loss and multilabel_margin_loss, losses of margins between classes,
 * and their gradients (aten/src/ATen/native/LossMultiMargin.cpp, LossMultiLabelMargin.cpp).
 *
 * The losses are computed in double from contiguous copies.  Targets are copied and checked before
 * anything is written.
 *
 * Operators: multi_margin_loss, multi_margin_loss_backward, multilabel_margin_loss_backward,
 * multilabel_margin_loss_forward. */
#include "core/dense.h"
#include "core/pack.h"
#include <dispatchd/check.h>
#include <string.h>

enum { NONE, MEAN, SUM }; /* at::Reduction */
enum { SIDES = 4 };       /* number of partial sums */

static const unsigned float_types = DP_DTYPE_BITS(DP_DTYPES_FLOATING);

typedef struct margins {
    const char *name; /* name of the operator's loops in error messages */
    dp_tensor *self, *target, *weight;
    int64_t reduction;
    double p, margin;
    /* multilabel_margin_loss: a target is a row of labels that ends at the first negative one */
    bool labels;
    int64_t rows, n; /* rows of `n` classes */
    bool each;       /* the result has a loss for each row */
    dp_dtype dtype;
    const double *x, *factor;
    const int64_t *at;
} margins;

/* -- checks -- */

static int check_target(dp_ctx *ctx, const margins *m, const dp_view *x, const dp_view *t)
{
    char a[DP_SHAPE_TEXT], b[DP_SHAPE_TEXT];

    if (!m->labels) {
        if (t->ndim <= 1 && t->numel == m->rows)
            return 0;
        return dp_fail(ctx, DP_ERUNTIME,
                       "inconsistent target size, expected %" PRId64 " but got %s", m->rows,
                       dp_shape_text(a, t->sizes, (size_t)t->ndim));
    }
    bool fits = x->ndim <= 1 ? t->ndim <= 1 && t->numel == m->n
                             : t->ndim == 2 && t->sizes[0] == m->rows && t->sizes[1] == m->n;
    if (fits)
        return 0;
    return dp_fail(ctx, DP_ERUNTIME, "inconsistent target size: %s for input of size: %s",
                   dp_shape_text(a, t->sizes, (size_t)t->ndim),
                   dp_shape_text(b, x->sizes, (size_t)x->ndim));
}

/* Check the weights; for a single number as input, they may have any length, as in PyTorch. */
static int check_weight(dp_ctx *ctx, const margins *m, bool number)
{
    char shape[DP_SHAPE_TEXT];

    if (m->weight == NULL)
        return 0;
    DP_VIEW(w, m->weight);
    if (w.ndim > 1 || (number ? w.numel < m->n : w.numel != m->n))
        return dp_fail(ctx, DP_ERUNTIME,
                       "inconsistent weight size, expected %" PRId64 " but got %s", m->n,
                       dp_shape_text(shape, w.sizes, (size_t)w.ndim));
    return dense_check_same(ctx, m->dtype, w.dtype);
}

static int check(dp_ctx *ctx, margins *m)
{
    char shape[DP_SHAPE_TEXT];
    DP_VIEW(x, m->self);
    DP_VIEW(t, m->target);

    if (!m->labels && m->p != 1 && m->p != 2)
        return dp_fail(ctx, DP_ERUNTIME, "only p == 1 and p == 2 supported");
    if (x.ndim > 2 || (x.ndim > 0 && x.sizes[x.ndim - 1] == 0))
        return dp_fail(
            ctx, DP_ERUNTIME,
            "Expected non-empty vector or matrix with optional 0-dim batch size, but got: %s",
            dp_shape_text(shape, x.sizes, (size_t)x.ndim));
    m->rows = x.ndim == 2 ? x.sizes[0] : 1;
    m->n = x.ndim == 0 ? 1 : x.sizes[x.ndim - 1];
    m->dtype = x.dtype;
    m->each = m->reduction == NONE && (m->labels ? t.ndim > 1 : t.ndim > 0);
    int rc = check_target(ctx, m, &x, &t);
    if (rc < 0 || x.numel == 0)
        return rc;
    rc = dense_check_type(ctx, m->name, x.dtype, float_types);
    if (rc == 0)
        rc = dense_check_same(ctx, DP_INT64, t.dtype);
    return rc < 0 ? rc : check_weight(ctx, m, x.ndim == 0);
}

static void load(pack *p, margins *m)
{
    int64_t least = m->labels ? -1 : 0;
    DP_VIEW(t, m->target);

    m->at = pack_own(p, m->target, DP_INT64);
    m->x = pack_get(p, m->self, DP_FLOAT64);
    m->factor = pack_get(p, m->weight, DP_FLOAT64);
    for (int64_t i = 0; p->rc == 0 && !dp_memoryless(p->ctx) && m->rows > 0 && i < t.numel; i++)
        if (m->at[i] < least || m->at[i] >= m->n)
            p->rc = dp_refuse(p->ctx, DP_ERUNTIME, "target out of range");
}

/* -- one row -- */

/* Add to sum[0] the excess of each class x [n] over -base, or with `square` its square.  If `slope`
 * is not NULL, set slope [n] to the derivatives times `g`, and add their sum to sum[1].  SIDES
 * partial sums are used. */
__attribute__((always_inline)) static inline void add_excess(const double *x, int64_t n,
                                                             double base, bool square, double g,
                                                             double *slope, double *sum)
{
    double excess[SIDES] = {0}, slopes[SIDES] = {0};

    for (int64_t d = 0; d < n; d += SIDES)
        for (int64_t s = 0; s < (n - d < SIDES ? n - d : SIDES); s++) {
            double z = base + x[d + s], h = square ? 2 * g * z : g;
            bool over = z > 0;
            z = over ? z : 0;
            h = over ? h : 0;
            excess[s] += square ? z * z : z;
            if (slope != NULL) {
                slope[d + s] = h;
                slopes[s] += h;
            }
        }
    for (int s = 0; s < SIDES; s++) {
        sum[0] += excess[s];
        sum[1] += slopes[s];
    }
}

/* Return the loss of a row.  If `slope` [n] is not NULL, it is set to the gradient of the loss
 * times `g`. */
static double margin_row(const margins *m, int64_t row, double g, double *slope)
{
    const double *x = m->x + row * m->n;
    int64_t target = m->at[row], next = target + 1;
    double w = m->factor ? m->factor[target] : 1, base = m->margin - x[target], sum[2] = {0};

    for (int side = 0; side < 2; side++) { /* the classes before the target, and those after it */
        int64_t from = side ? next : 0, n = side ? m->n - next : target;
        double *to = slope ? slope + from : NULL;
        if (m->p != 1)
            add_excess(x + from, n, base, true, g * w, to, sum);
        else if (slope)
            add_excess(x + from, n, base, false, g * w, to, sum);
        else
            add_excess(x + from, n, base, false, 0, NULL, sum);
    }
    if (slope)
        slope[target] = -sum[1];
    return sum[0] * w;
}

/* Return the loss of a row with several labels, like margin_row().  is[i] is 1 if class i is a
 * label. */
static double labels_row(const margins *m, int64_t row, const double *is, double g, double *slope)
{
    const double *x = m->x + row * m->n;
    const int64_t *at = m->at + row * m->n;
    double sum = 0;

    for (int64_t k = 0; k < m->n && at[k] >= 0; k++)
        for (int64_t d = 0; d < m->n; d++) {
            double z = 1 - x[at[k]] + x[d];
            if (is[d] != 0 || !(z > 0))
                continue;
            sum += z;
            if (slope != NULL) {
                slope[d] += g;
                slope[at[k]] -= g;
            }
        }
    return sum;
}

static void mark_labels(const margins *m, int64_t row, double *is)
{
    const int64_t *at = m->at + row * m->n;

    dp_zero_n(is, (size_t)m->n, sizeof(double));
    for (int64_t k = 0; k < m->n && at[k] >= 0; k++)
        is[at[k]] = 1;
}

/* -- losses of all rows -- */

static void run(const margins *m, double *is, double *out)
{
    double sum = 0;

    for (int64_t r = 0; r < m->rows; r++) {
        if (m->labels)
            mark_labels(m, r, is + r * m->n);
        double loss =
            m->labels ? labels_row(m, r, is + r * m->n, 0, NULL) : margin_row(m, r, 0, NULL);
        loss /= (double)m->n;
        if (m->each)
            out[r] = loss;
        sum += loss;
    }
    if (!m->each)
        *out = m->reduction == MEAN && m->rows > 0 ? sum / (double)m->rows : sum;
}

/* Run the forward call; `out` and `is_target` are made if NULL. */
static int forward(dp_ctx *ctx, margins *m, dp_tensor **out, dp_tensor **is_target)
{
    pack p = {.ctx = ctx, .rc = check(ctx, m)};
    dp_tensor *loss, *marks, *given = *out;

    if (p.rc < 0)
        return dp_refuse(ctx, p.rc, NULL);
    DP_VIEW(t, m->target);
    load(&p, m);
    double *y = pack_new(&p, DP_FLOAT64, m->each, &m->rows, &loss), *is = NULL;
    if (m->labels)
        is = pack_new(&p, DP_FLOAT64, t.ndim, t.sizes, &marks);
    if (p.rc == 0 && !dp_memoryless(ctx))
        run(m, is, y);
    if (m->labels)
        pack_place(&p, marks, m->dtype, is_target);
    pack_give(&p, loss, m->dtype, out);
    if (m->labels)
        pack_give(&p, marks, m->dtype, is_target);
    if (p.rc < 0 && given == NULL)
        *out = dp_tensor_unref(*out);
    return pack_end(&p);
}

static int check_gradient(dp_ctx *ctx, const margins *m, dp_tensor *grad, dp_tensor *is_target)
{
    DP_VIEW(g, grad);
    bool one = m->reduction != NONE || g.ndim == 0;

    if (g.numel != (one ? 1 : m->rows))
        return dp_fail(ctx, DP_ERUNTIME,
                       "Expected grad_output to have %" PRId64 " elements, but got %" PRId64,
                       one ? 1 : m->rows, g.numel);
    if (is_target != NULL) {
        const dp_checked given = {m->target, "target", 3}, is = {is_target, "is_target", 5};
        int rc = dp_check_same_size(ctx, m->name, &given, &is);
        if (rc < 0)
            return rc;
    }
    return m->rows == 0 ? 0 : dense_check_same(ctx, m->dtype, g.dtype);
}

/* Set the gradient, whose elements are 0. */
static void run_backward(const margins *m, const double *is, const double *grad, bool one,
                         double *slope)
{
    double g = 1 / (double)m->n / (m->reduction == MEAN ? (double)m->rows : 1);

    for (int64_t r = 0; r < m->rows; r++) {
        double factor = g * grad[one ? 0 : r];
        if (m->labels)
            labels_row(m, r, is + r * m->n, factor, slope + r * m->n);
        else
            margin_row(m, r, factor, slope + r * m->n);
    }
}

static int backward(dp_ctx *ctx, margins *m, dp_tensor *grad, dp_tensor *is_target, dp_tensor **out)
{
    pack p = {.ctx = ctx, .rc = check(ctx, m)};
    dp_tensor *made;

    if (p.rc == 0)
        p.rc = check_gradient(ctx, m, grad, is_target);
    if (p.rc < 0)
        return dp_refuse(ctx, p.rc, NULL);
    DP_VIEW(x, m->self);
    DP_VIEW(g, grad);
    load(&p, m);
    const double *is = pack_get(&p, is_target, DP_FLOAT64);
    const double *slopes = pack_get(&p, grad, DP_FLOAT64);
    double *y = pack_zeros(&p, DP_FLOAT64, x.ndim, x.sizes, &made);
    if (p.rc == 0 && !dp_memoryless(ctx))
        run_backward(m, is, slopes, m->reduction != NONE || g.ndim == 0, y);
    pack_give(&p, made, m->dtype, out);
    return pack_end(&p);
}

/* -- multi_margin_loss -- */

static margins margins_of(const char *name, dp_tensor *self, dp_tensor *target, dp_value p,
                          dp_value margin, dp_tensor *weight, int64_t reduction)
{
    return (margins){.name = name,
                     .self = self,
                     .target = target,
                     .weight = weight,
                     .reduction = reduction,
                     .p = as_double(p),
                     .margin = as_double(margin)};
}

#define PARAMS                                                                                     \
    dp_tensor *self, dp_tensor *target, dp_value p, dp_value margin, dp_tensor *weight,            \
        int64_t reduction

/* aten::multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor?
 *     weight=None, int reduction=1) -> Tensor */
static int multi_margin(dp_ctx *ctx, PARAMS, dp_tensor **out)
{
    margins m = margins_of("multi_margin_loss", self, target, p, margin, weight, reduction);
    *out = NULL;
    return forward(ctx, &m, out, NULL);
}

static int multi_margin_out(dp_ctx *ctx, PARAMS, dp_tensor *out)
{
    margins m = margins_of("multi_margin_loss", self, target, p, margin, weight, reduction);
    return forward(ctx, &m, &out, NULL);
}

static int multi_margin_backward(dp_ctx *ctx, dp_tensor *grad, PARAMS, dp_tensor **out)
{
    margins m =
        margins_of("multi_margin_loss_backward", self, target, p, margin, weight, reduction);
    *out = NULL;
    return backward(ctx, &m, grad, NULL, out);
}

static int multi_margin_backward_out(dp_ctx *ctx, dp_tensor *grad, PARAMS, dp_tensor *out)
{
    margins m =
        margins_of("multi_margin_loss_backward", self, target, p, margin, weight, reduction);
    return backward(ctx, &m, grad, NULL, &out);
}

/* -- multilabel_margin_loss -- */

static margins labels_of(const char *name, dp_tensor *self, dp_tensor *target, int64_t reduction)
{
    return (margins){
        .name = name, .self = self, .target = target, .reduction = reduction, .labels = true};
}

/* aten::multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction)
 *     -> (Tensor output, Tensor is_target) */
static int multilabel(dp_ctx *ctx, dp_tensor *self, dp_tensor *target, int64_t reduction,
                      dp_tensor **out, dp_tensor **is_target)
{
    margins m = labels_of("multilabel_margin_loss_forward_out_frame", self, target, reduction);
    *out = *is_target = NULL;
    return forward(ctx, &m, out, is_target);
}

static int multilabel_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *target, int64_t reduction,
                          dp_tensor *out, dp_tensor *is_target)
{
    margins m = labels_of("multilabel_margin_loss_forward_out_frame", self, target, reduction);
    DP_VIEW(t, target);
    DP_VIEW(y, is_target);

    if (dp_same_sizes(t.ndim, t.sizes, y.ndim, y.sizes) &&
        !dp_tensor_is_contiguous(is_target, DP_CONTIGUOUS))
        return dp_refuse(ctx, DP_ERUNTIME, "is_target must be contiguous");
    return forward(ctx, &m, &out, &is_target);
}

/* aten::multilabel_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int
 *     reduction, Tensor is_target) -> Tensor */
static int multilabel_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *self, dp_tensor *target,
                               int64_t reduction, dp_tensor *is_target, dp_tensor **out)
{
    margins m = labels_of("multilabel_margin_loss_backward_out_frame", self, target, reduction);
    *out = NULL;
    return backward(ctx, &m, grad, is_target, out);
}

static int multilabel_backward_out(dp_ctx *ctx, dp_tensor *grad, dp_tensor *self, dp_tensor *target,
                                   int64_t reduction, dp_tensor *is_target, dp_tensor *out)
{
    margins m = labels_of("multilabel_margin_loss_backward_out_frame", self, target, reduction);
    return backward(ctx, &m, grad, is_target, &out);
}

DP_LIBRARY_META(
    aten, CPU, DP_IMPL_UNBOXED("multi_margin_loss", multi_margin, (T, T, s, s, oT, i), (T)),
    DP_IMPL_UNBOXED("multi_margin_loss.out", multi_margin_out, (T, T, s, s, oT, i, T), ()),
    DP_IMPL_UNBOXED("multi_margin_loss_backward", multi_margin_backward, (T, T, T, s, s, oT, i),
                    (T)),
    DP_IMPL_UNBOXED("multi_margin_loss_backward.grad_input", multi_margin_backward_out,
                    (T, T, T, s, s, oT, i, T), ()),
    DP_IMPL_UNBOXED("multilabel_margin_loss_forward", multilabel, (T, T, i), (T, T)),
    DP_IMPL_UNBOXED("multilabel_margin_loss_forward.output", multilabel_out, (T, T, i, T, T), ()),
    DP_IMPL_UNBOXED("multilabel_margin_loss_backward", multilabel_backward, (T, T, T, i, T), (T)),
    DP_IMPL_UNBOXED("multilabel_margin_loss_backward.grad_input", multilabel_backward_out,
                    (T, T, T, i, T, T), ()))
