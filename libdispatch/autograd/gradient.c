/* gradient.c -- make the gradients that backward starts from, give a gradient the shape and dtype
 * of its tensor, and sum the gradients of one tensor (torch/csrc/autograd/engine.cpp:
 * validate_outputs, input_buffer.cpp). */
#include "engine.h"

/* Give *grad these sizes and this dtype (dpi_gradient_fit()). */
DPI_HOT static int fit(dp_ctx *ctx, int ndim, const int64_t *sizes, dp_dtype dtype,
                       dp_tensor **grad)
{
    const dpi_geometry *have = dpi_geometry_of(*grad);
    bool same = have->ndim == ndim && memcmp(have->sizes, sizes, (size_t)ndim * 8) == 0;
    int rc = 0;

    if (!same) {
        dp_value args[2] = {{0}, dp_ints(sizes, (size_t)ndim)};
        rc = dpi_replace(ctx, "aten::sum_to_size", args, 2, grad);
    }
    if (rc == 0 && dp_dtype_is_complex((*grad)->dtype) && !dp_dtype_is_complex(dtype)) {
        dp_value one[1];
        rc = dpi_replace(ctx, "aten::real", one, 1, grad);
    }
    if (rc == 0 && (*grad)->dtype != dtype) {
        dp_value args[5] = {{0}, dp_int(dtype), dp_bool(false), dp_bool(false), {0}};
        rc = dpi_replace(ctx, "aten::to.dtype", args, 5, grad);
    }
    return rc;
}

DPI_HOT int dpi_gradient_fit(dp_ctx *ctx, dpi_edge e, dp_tensor **grad)
{
    if (e.leaf) {
        const dp_tensor *t = e.to;
        const dpi_geometry *to = dpi_geometry_of(t);
        return fit(ctx, to->ndim, to->sizes, t->dtype, grad);
    }
    const dpi_node *n = e.to;
    const dpi_node_ret *r = &n->rets[e.nr];
    return fit(ctx, r->ndim, n->dims + r->sizes, r->dtype, grad);
}

int dpi_gradient_add(dp_ctx *ctx, bool create, dp_tensor **sum, dp_tensor *grad)
{
    dp_value args[3] = {dp_tensor_value(*sum), dp_tensor_value(grad), dp_int(1)};
    /* The sum may be written in place only if nothing else refers to it. */
    bool in_place = !create && dpi_tensor_is_only(*sum) && (*sum)->root == NULL;
    dp_tensor *made = NULL;
    int rc = dpi_call_one(ctx, in_place ? "aten::add_.Tensor" : "aten::add.Tensor", args, 3, &made);

    dp_tensor_unref(grad);
    if (rc == 0 && in_place) {
        dp_tensor_unref(made); /* `made` is *sum again; NULL inside a kernel (dp_call_boxed()) */
    } else if (rc == 0) {
        dp_tensor_unref(*sum);
        *sum = made;
    }
    return rc;
}

int dpi_gradient_of_root(dp_ctx *ctx, const dp_backward_options *o, size_t i, dp_tensor **out)
{
    const dp_tensor *t = o->tensors[i];
    const dpi_geometry *to = dpi_geometry_of(t);
    dp_tensor *given = o->gradients != NULL ? o->gradients[i] : NULL;
    char got[DP_SHAPE_TEXT], want[DP_SHAPE_TEXT];

    if (given == NULL) {
        const dp_value one = dp_int(1);
        const dp_value args[6] = {dp_ints(to->sizes, (size_t)to->ndim), one, dp_int(t->dtype), {0},
                                  dp_int(to->storage->device),          {0}};
        if (to->numel != 1)
            return dp_error_set(&ctx->error, DP_ERUNTIME,
                                "grad can be implicitly created only for scalar outputs, and "
                                "tensor %zu has %lld elements",
                                i, (long long)to->numel);
        if (dp_dtype_is_complex(t->dtype))
            return dp_error_set(&ctx->error, DP_ERUNTIME,
                                "grad can be implicitly created only for real scalar outputs but "
                                "got %s",
                                dp_dtype_name(t->dtype));
        return dpi_call_one(ctx, "aten::full", args, 6, out);
    }
    const dpi_geometry *from = dpi_geometry_of(given);
    if (!dpi_same_sizes(from, to))
        return dp_error_set(&ctx->error, DP_ERUNTIME,
                            "Mismatch in shape: gradient %zu has shape %s and tensor %zu has shape "
                            "%s",
                            i, dp_shape_text(got, from->sizes, (size_t)from->ndim), i,
                            dp_shape_text(want, to->sizes, (size_t)to->ndim));
    if (dp_dtype_is_complex(given->dtype) != dp_dtype_is_complex(t->dtype))
        return dp_error_set(
            &ctx->error, DP_ERUNTIME,
            "gradient %zu is of %s, but its tensor of %s: both must be real or both "
            "complex",
            i, dp_dtype_name(given->dtype), dp_dtype_name(t->dtype));
    *out = dp_tensor_ref(given);
    return 0;
}
