/* clip_grad.c -- clipping of gradients by their norm and by value
 * (torch/nn/utils/clip_grad.py).
 *
 * Operators: clip_grad_norm, clip_grad_value. */
#include "clip_grad.h"
#include "optim.h"
#include "core/dense.h"

/* -- the norm of all gradients -- */

typedef struct norm {
    clip_row rows[2];
    int kind;
    double p;
    double *sums; /* [number of blocks] */
} norm;

static void sum_block(uint32_t item, int64_t block, bool wide, int64_t n, void *const *x,
                      void *user)
{
    const norm *m = user;
    (void)item;
    m->sums[block] = m->rows[wide].sum(m->kind, m->p, n, x[0]);
}

static int kind_of(double p)
{
    return p == 0           ? CLIP_COUNT
           : p == 1         ? CLIP_1
           : p == 2         ? CLIP_2
           : p == INFINITY  ? CLIP_MAX
           : p == -INFINITY ? CLIP_MIN
                            : CLIP_P;
}

static double merge(int kind, double a, double b)
{
    if (kind != CLIP_MAX && kind != CLIP_MIN)
        return a + b;
    if (a != a || b != b)
        return a + b;
    return (kind == CLIP_MAX ? a > b : a < b) ? a : b;
}

static double none_of(int kind)
{
    return kind == CLIP_MIN ? INFINITY : 0;
}

/* Return the norm whose sum is `sum`. */
static double norm_of(const norm *m, double sum)
{
    return m->kind == CLIP_2 ? sqrt(sum) : m->kind == CLIP_P ? pow(sum, 1 / m->p) : sum;
}

/* Return what a number adds to the sum of norm `m`. */
static double power_of(const norm *m, double v)
{
    v = fabs(v);
    return m->kind == CLIP_COUNT ? v != 0
           : m->kind == CLIP_2   ? v * v
           : m->kind == CLIP_P   ? pow(v, m->p)
                                 : v;
}

/* Return the norm of the norms of the tensors, each rounded to the dtype of its tensor.  `type`:
 * the dtype of the result.  Source: clip_grad_norm_, which stacks the norms. */
static double total_norm(const norm *m, const blocks_run *r, dp_dtype type)
{
    double total = none_of(m->kind);
    const block_list *grads = &r->lists->of[0];

    for (uint32_t i = 0; i < grads->len; i++) {
        DP_VIEW(v, grads->at[i]);
        double sum = none_of(m->kind);
        for (int64_t b = r->first[i]; b < r->first[i + 1]; b++)
            sum = merge(m->kind, sum, m->sums[b]);
        total = merge(m->kind, total, power_of(m, as_stored(norm_of(m, sum), v.dtype)));
    }
    return as_stored(norm_of(m, total), type);
}

/* Check that every gradient has an element, if the norm has no value for none. */
static int check_elements(dp_ctx *ctx, const block_list *grads, int kind)
{
    for (uint32_t i = 0; (kind == CLIP_MAX || kind == CLIP_MIN) && i < grads->len; i++) {
        DP_VIEW(v, grads->at[i]);
        if (v.numel == 0)
            return dp_refuse(
                ctx, DP_ERUNTIME,
                "max(): grads[%u] has no elements, and an infinite norm of no elements "
                "is not defined",
                i);
    }
    return 0;
}

static int check_finite(dp_ctx *ctx, double total, double p)
{
    if (isfinite(total))
        return 0;
    return dp_refuse(
        ctx, DP_ERUNTIME,
        "The total norm of order %g for gradients from `parameters` is non-finite (%g), "
        "so it cannot be clipped. To disable this error and scale the gradients by the "
        "non-finite norm anyway, set `error_if_nonfinite=False`",
        p, total);
}

/* -- clipping -- */

typedef struct change {
    clip_row rows[2];
    double by; /* the factor, or the limit */
    bool clamps;
} change;

static void change_block(uint32_t item, int64_t block, bool wide, int64_t n, void *const *x,
                         void *user)
{
    const change *c = user;
    (void)item;
    (void)block;
    (c->clamps ? c->rows[wide].clamp : c->rows[wide].multiply)(n, x[0], c->by);
}

static int apply(blocks_run *run, double by, bool clamps)
{
    const clip_row *rows = CPU_CHOSEN(clip_loops);
    change c = {{rows[0], rows[1]}, by, clamps};

    run->fn = change_block;
    run->user = &c;
    return blocks_each(run, true);
}

static int check_grads(dp_ctx *ctx, const dp_value *v, const char *what, block_lists *l)
{
    blocks_add(l, "grads", v, true);
    int rc = blocks_check(ctx, l, what);
    return rc == 0 ? blocks_check_apart(ctx, l, NULL) : rc;
}

/* Return the factor of the gradients: max_norm / (total + 1e-6), at most 1, with the roundings of
 * tensors of dtype `type`.  NaN stays NaN. */
static double factor_of(double max_norm, double total, dp_dtype type)
{
    double inverse = as_stored(1 / as_stored(total + 1e-6, type), type);
    double factor = as_stored(inverse * max_norm, type);
    return factor > 1 ? 1 : factor;
}

/* Return the dtype of a stack of the norms of `grads`. */
static dp_dtype result_type(const block_list *grads)
{
    dp_dtype type = DP_DTYPE_NONE;

    for (uint32_t i = 0; i < grads->len; i++) {
        DP_VIEW(v, grads->at[i]);
        type = i ? dp_promote_types(type, v.dtype) : v.dtype;
    }
    return grads->len ? type : DP_FLOAT32;
}

/* optim::clip_grad_norm_(Tensor(a!)[] grads, float max_norm, float norm_type=2.0,
 *     bool error_if_nonfinite=False) -> Tensor */
static int clip_grad_norm_(dp_call *call)
{
    dp_ctx *ctx = call->ctx;
    const dp_value *a = call->args;
    const clip_row *rows = CPU_CHOSEN(clip_loops);
    norm m = {.rows = {rows[0], rows[1]}, .kind = kind_of(a[2].u.d), .p = a[2].u.d};
    block_lists l = {0};
    blocks_run run = {.fn = sum_block, .user = &m};
    double total = 0;
    dp_tensor *out = NULL;
    int rc = check_grads(ctx, &a[0], "clip_grad_norm_", &l);
    dp_dtype type = rc == 0 ? result_type(&l.of[0]) : DP_FLOAT32;

    if (rc == 0)
        rc = check_elements(ctx, &l.of[0], m.kind);
    if (rc == 0)
        rc = blocks_count(ctx, &l, &run);
    m.sums = rc == 0 ? dp_alloc_n(ctx, (size_t)run.n_blocks, sizeof(double)) : NULL;
    if (rc == 0 && m.sums == NULL)
        rc = DP_ERESOURCE;
    if (rc == 0 && !dp_memoryless(ctx))
        rc = blocks_each(&run, false);
    if (rc == 0 && !dp_memoryless(ctx)) {
        total = total_norm(&m, &run, type);
        rc = a[3].u.b ? check_finite(ctx, total, m.p) : 0;
    }
    if (rc == 0)
        rc = dp_scalar_tensor(ctx, dp_double(total), type, &out);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    double factor = factor_of(a[1].u.d, total, type);
    if (factor != 1 && !dp_memoryless(ctx))
        rc = apply(&run, factor, false);
    if (rc < 0) {
        dp_tensor_unref(out);
        return rc;
    }
    call->rets[0] = dp_tensor_value(out);
    return 0;
}

/* optim::clip_grad_value_(Tensor(a!)[] grads, float clip_value) -> () */
static int clip_grad_value_(dp_call *call)
{
    dp_ctx *ctx = call->ctx;
    block_lists l = {0};
    blocks_run run = {0};
    int rc = check_grads(ctx, &call->args[0], "clip_grad_value_", &l);

    if (rc == 0)
        rc = blocks_count(ctx, &l, &run);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    return dp_memoryless(ctx) ? 0 : apply(&run, call->args[1].u.d, true);
}

DP_LIBRARY_META(optim, CPU, DP_IMPL("clip_grad_norm_", clip_grad_norm_),
                DP_IMPL("clip_grad_value_", clip_grad_value_))
DP_LIBRARY_IMPL(optim, BackendSelect, DP_IMPL_BELOW("clip_grad_norm_", optim_select_backend),
                DP_IMPL_BELOW("clip_grad_value_", optim_select_backend))
DP_LIBRARY_IMPL(optim, Autograd, DP_IMPL_FALLTHROUGH("clip_grad_norm_"),
                DP_IMPL_FALLTHROUGH("clip_grad_value_"))
