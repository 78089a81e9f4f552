/* output.c -- dp_set_output(): allocate, resize or check one output of the running operator.
 *
 * dp_set_output() is for functional, in-place and out= variants, like resize_out and check_inplace
 * of ATen's generated kernels. */
#include "enter.h"
#include <stdio.h>

void dpi_warn_resized(dp_ctx *ctx, const dpi_geometry *replaced, const dp_tensor *t)
{
    char had[DP_SHAPE_TEXT], has[DP_SHAPE_TEXT];
    const dpi_geometry *g = dpi_geometry_of(t);

    dp_warn(ctx,
            "An output with one or more elements was resized since it had shape %s, which does not "
            "match the required output shape %s. This behavior is deprecated, and in a future "
            "PyTorch release outputs will not be resized unless they have zero elements. You can "
            "explicitly reuse an out tensor t by resizing it, inplace, to zero elements with "
            "t.resize_(0).",
            dp_shape_text(had, replaced->sizes, (size_t)replaced->ndim),
            dp_shape_text(has, g->sizes, (size_t)g->ndim));
}

/* Return the entry of the running operator; NULL: no operator runs, or it has no schema. */
static const dpi_entry *running_entry(const dp_ctx *ctx)
{
    const dp_op *op = dpi_ctx_running(ctx);
    const dpi_entry *e = op != NULL ? dpi_snapshot_entry(dpi_ctx_snapshot(ctx), op) : NULL;

    return e != NULL && e->schema != NULL ? e : NULL;
}

static bool is_or_holds(const dp_value *v, const dp_tensor *t)
{
    bool found = v->tag == DP_TAG_TENSOR && v->u.t == t;

    for (uint32_t i = 0; v->tag == DP_TAG_TENSORS && i < v->len && !found; i++)
        found = v->u.tensors[i] == t;
    return found;
}

static const dpi_frame *running_frame(const dp_ctx *ctx)
{
    const dpi_thread *th = ctx->thread;

    return &th->frames[atomic_load_explicit(&th->depth, memory_order_relaxed) - 1];
}

/* Does the running kernel also read `t`?  If `t` were resized, the kernel would read beyond its
 * end.  A composite kernel is not checked, but the kernels that it calls are: it may have finished
 * reading before it sets its outputs. */
static bool is_read(const dp_ctx *ctx, const dpi_entry *e, const dp_tensor *t)
{
    const dpi_frame *f = running_frame(ctx);
    const dpi_kernel *k = atomic_load_explicit(&f->kernel, memory_order_relaxed);
    const dp_value *args = atomic_load_explicit(&f->args, memory_order_relaxed);
    bool found = false;

    if (args == NULL || k == NULL || dpi_is_composite(k->key))
        return false;
    for (uint32_t i = 0; i < e->n_args && !found; i++)
        found = (e->written >> i & 1) == 0 && is_or_holds(&args[i], t);
    return found;
}

/* Return the name of the argument that is `t` or a list with `t`, if the operator writes no such
 * argument; otherwise NULL.  Only the frames of boxed calls have arguments. */
static const char *read_only_argument(const dp_ctx *ctx, const dpi_entry *e, const dp_tensor *t)
{
    const dp_value *args = atomic_load_explicit(&running_frame(ctx)->args, memory_order_relaxed);
    const char *name = NULL;

    for (uint32_t i = 0; args != NULL && i < e->n_args; i++)
        if (is_or_holds(&args[i], t)) {
            if (e->written >> i & 1)
                return NULL;
            name = e->schema->args[i].name;
        }
    return name;
}

int dpi_check_changes(dp_ctx *ctx, const dp_tensor *t)
{
    const dpi_entry *e = running_entry(ctx);
    const char *name = e != NULL ? read_only_argument(ctx, e, t) : NULL;
    char text[200];

    if (name == NULL)
        return 0;
    snprintf(text, sizeof(text),
             "its kernel changes argument '%s', and its schema does not say that it writes it",
             name);
    return dpi_fail_op(ctx, DP_EPLUGIN, e->op, DP_KEY_Undefined, text);
}

/* Check that the kernel may resize `t` as an output.  DP_EPLUGIN: `t` is an argument that the
 * operator does not write.  If `t` is no argument, the kernel made `t` itself; this is an error,
 * too, if the operator writes no argument at all. */
static int check_is_output(dp_ctx *ctx, const dpi_entry *e, const dp_tensor *t)
{
    const char *name = read_only_argument(ctx, e, t);
    char text[300];

    if (name == NULL && e->written != 0)
        return 0;
    snprintf(
        text, sizeof(text),
        "its kernel gives %s%s%s another shape, as an output, and its schema does not say that "
        "it writes %s",
        name ? "argument '" : "a tensor", name ? name : "", name ? "'" : "", name ? "it" : "any");
    return dpi_fail_op(ctx, DP_EPLUGIN, e->op, DP_KEY_Undefined, text);
}

static int check_given(dp_ctx *ctx, bool in_place, const dp_tensor *t, dp_dtype dtype,
                       dp_device device)
{
    char own[DP_KEY_NAME_MAX], wanted[DP_KEY_NAME_MAX];
    dp_device has = dpi_storage_of(t)->device;

    if (dtype != DP_DTYPE_NONE && dtype != t->dtype)
        return dp_fail(ctx, DP_ERUNTIME,
                       in_place ? "Bad in-place call: input tensor dtype %s and output tensor "
                                  "dtype %s should match"
                                : "Expected out tensor to have dtype %2$s, but got %1$s instead",
                       dp_dtype_name(t->dtype), dp_dtype_name(dtype));
    if (device != has)
        return dp_fail(ctx, DP_ERUNTIME,
                       in_place ? "Bad in-place call: input tensor device %s and output tensor "
                                  "device %s should match"
                                : "Expected out tensor to have device %2$s, but got %1$s instead",
                       dp_device_name(has, own), dp_device_name(device, wanted));
    return 0;
}

int dp_set_output(dp_ctx *ctx, dp_tensor **out, int ndim, const int64_t *sizes,
                  const int64_t *strides, dp_dtype dtype, dp_device device)
{
    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, out))
        return DP_EPLUGIN;
    if (ndim > 0 && !DPI_GIVEN(&ctx->error, DP_EPLUGIN, sizes))
        return DP_EPLUGIN;
    char own[DP_SHAPE_TEXT], wanted[DP_SHAPE_TEXT];
    dpi_target target = dpi_ctx_target(ctx, device);
    dp_tensor *t = *out;

    if (t == NULL)
        return dpi_empty_strided(dtype, target, ndim, sizes, strides, out, &ctx->error);
    const dpi_entry *e = running_entry(ctx);
    bool in_place = e != NULL && e->schema->variant == DP_VARIANT_IN_PLACE;
    const dpi_geometry *g = dpi_geometry_of(t);
    int rc = check_given(ctx, in_place, t, dtype, target.device & ~DPI_FAKE);
    if (rc < 0 || (g->ndim == ndim && memcmp(g->sizes, sizes, (size_t)ndim * sizeof(*sizes)) == 0))
        return rc;
    if (in_place || (e != NULL && e->schema->variant == DP_VARIANT_OUT && is_read(ctx, e, t)))
        return dp_fail(ctx, DP_ERUNTIME,
                       "output with shape %s doesn't match the broadcast shape %s",
                       dp_shape_text(own, g->sizes, (size_t)g->ndim),
                       dp_shape_text(wanted, sizes, (size_t)ndim));
    if (e != NULL && (rc = check_is_output(ctx, e, t)) < 0)
        return rc;
    rc = dpi_resize_output(ctx->account, t, ndim, sizes, strides, &ctx->error);
    if (rc == 0 && g->numel > 0)
        dpi_warn_resized(ctx, g, t);
    return rc;
}
