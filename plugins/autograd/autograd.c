/* autograd.c -- plugin autograd: kernels of the Autograd keys, which record calls of operators for
 * backward, and operators on the history of a tensor (torch/csrc/autograd).  The formulas that
 * compute gradients are generated from proto/ops/derivatives.yaml.
 *
 * Operators: _backward, detach, _fw_primal, gradients, is_leaf, _make_dual, output_nr,
 * requires_grad_, retain_grad, retains_grad, set_data, tensor, _unpack_dual. */
#include <dispatchd/plugin.h>

DP_PLUGIN(autograd, "1.0")

static int record(dp_call *call)
{
    return dp_record(call);
}
DP_FALLBACK_GRAD(AutogradFunctionality, record)
DP_FALLBACK_GRAD(AutogradOther, record)
DP_FALLBACK_GRAD(AutogradNestedTensor, record)

/* -- operators on the history of a tensor -- */

static int requires_grad_(dp_ctx *ctx, dp_tensor *self, bool requires_grad)
{
    return dp_tensor_set_requires_grad(ctx, self, requires_grad);
}

/* aten::detach_(Tensor(a!) self) -> Tensor(a!)
 * This kernel must run even if no call is recorded at present (no_grad), since it removes history
 * that was recorded before. */
static int detach_(dp_call *call)
{
    int rc = dp_redispatch_boxed(call->ctx, call->op, dp_keyset_below(call->keys, call->key),
                                 call->args, call->n_args, call->rets, call->n_rets);

    if (rc == 0) /* the redispatched kernel fails for views, so `self` is none here */
        dp_tensor_detach(call->args[0].u.t);
    return rc;
}

/* aten::resize_(Tensor(a!) self, ...) -> Tensor(a!), aten::resize_as_
 * A tensor that requires gradients is refused even in no_grad mode, because its history contains
 * its sizes. */
static int resize_(dp_call *call)
{
    if (dp_tensor_requires_grad(call->args[0].u.t))
        return dp_refuse(call->ctx, DP_ERUNTIME, "cannot resize variables that require grad");
    return dp_redispatch_boxed(call->ctx, call->op, dp_keyset_below(call->keys, call->key),
                               call->args, call->n_args, call->rets, call->n_rets);
}
DP_LIBRARY_IMPL(aten, Autograd, DP_IMPL("detach_", detach_), DP_IMPL("resize_", resize_),
                DP_IMPL("resize_as_", resize_))

static int is_leaf(dp_ctx *ctx, dp_tensor *self, bool *out)
{
    (void)ctx;
    *out = dp_tensor_is_leaf(self);
    return 0;
}

static int retain_grad(dp_ctx *ctx, dp_tensor *self)
{
    int rc = dp_tensor_retain_grad(ctx, self);

    return rc < 0 ? dp_refuse(ctx, rc, NULL) : 0;
}

static int retains_grad(dp_ctx *ctx, dp_tensor *self, bool *out)
{
    (void)ctx;
    *out = dp_tensor_retains_grad(self);
    return 0;
}

static int output_nr(dp_ctx *ctx, dp_tensor *self, int64_t *out)
{
    (void)ctx;
    *out = dp_tensor_output_nr(self);
    return 0;
}

/* aten::_backward(Tensor self, Tensor[] inputs, Tensor? gradient=None, bool? retain_graph=None,
 *     bool create_graph=False) -> () */
static int backward(dp_call *call)
{
    const dp_value *a = call->args;
    bool create = a[4].u.b, retain = a[3].tag == DP_TAG_NONE ? create : a[3].u.b;

    return dp_tensor_backward(call->ctx, a[0].u.t, a[2].tag == DP_TAG_NONE ? NULL : a[2].u.t,
                              a[1].u.tensors, a[1].len, (uint32_t)retain | (uint32_t)create << 1);
}

/* grad::gradients(Tensor[] tensors, Tensor[] inputs, Tensor?[] gradients=[], *,
 *     bool? retain_graph=None, bool create_graph=False) -> Tensor[]
 * torch.autograd.grad as an operator, so that a program (a stored sequence of operator calls) can
 * contain a whole training step. */
static int gradients(dp_call *call)
{
    const dp_value *a = call->args;
    bool create = a[4].u.b, retain = a[3].tag == DP_TAG_NONE ? create : a[3].u.b;
    uint32_t n = a[1].len;
    dp_tensor **grads = dp_alloc_n(call->ctx, (size_t)n + 1, sizeof(dp_tensor *));

    if (grads == NULL)
        return DP_ERESOURCE; /* dp_alloc_n() has set the error */
    if (n == 0)
        return dp_refuse(call->ctx, DP_ERUNTIME, "grad requires non-empty inputs.");
    if (a[2].len != 0 && a[2].len != a[0].len)
        return dp_refuse(call->ctx, DP_ERUNTIME,
                         "got %u tensors and %u gradients: there must be a gradient for each "
                         "tensor, or none",
                         a[0].len, a[2].len);
    int rc =
        dp_gradients(call->ctx, a[0].u.tensors, a[2].len != 0 ? a[2].u.tensors : NULL, a[0].len,
                     a[1].u.tensors, n, (uint32_t)retain | (uint32_t)create << 1, grads);
    for (uint32_t i = 0; i < n && rc == 0; i++)
        if (grads[i] == NULL)
            rc = dp_refuse(call->ctx, DP_ERUNTIME,
                           "One of the differentiated Tensors appears to not have been used in the "
                           "graph: input %u",
                           i);
    if (rc == 0) {
        call->rets[0] = dp_tensors(grads, n);
        return 0;
    }
    for (uint32_t i = 0; i < n; i++)
        dp_tensor_unref(grads[i]);
    return rc;
}
DP_LIBRARY_FRAGMENT(
    grad, DP_DEF("gradients(Tensor[] tensors, Tensor[] inputs, Tensor?[] gradients=[], *, "
                 "bool? retain_graph=None, bool create_graph=False) -> Tensor[]"))
DP_LIBRARY_META(grad, CompositeImplicitAutograd, DP_IMPL("gradients", gradients))

/* aten::set_data(Tensor(a!) self, Tensor new_data) -> ()
 * `self` keeps its history and its version counter.  Unlike in PyTorch, `self` cannot get another
 * dtype. */
static int set_data(dp_ctx *ctx, dp_tensor *self, dp_tensor *data)
{
    dp_keyset math = dp_keyset_named(DP_KEYSET_MATH);
    dp_wrapper w = {.size = sizeof(w)};
    DP_VIEW(x, self);
    DP_VIEW(y, data);

    if (dp_wrapper_get(self, &w) || dp_wrapper_get(data, &w) || x.device != y.device)
        return dp_refuse(ctx, DP_ERUNTIME,
                         "Attempted to call `variable.set_data(tensor)`, but `variable` and "
                         "`tensor` have incompatible tensor type.");
    if (dp_tensor_requires_grad(self) && !dp_dtype_is_floating(y.dtype) &&
        !dp_dtype_is_complex(y.dtype))
        return dp_refuse(ctx, DP_ERUNTIME,
                         "data set to a tensor that requires gradients must be floating point or "
                         "complex dtype");
    if (x.dtype != y.dtype)
        return dp_refuse(ctx, DP_ENOTIMPL,
                         "set_data: a tensor keeps its dtype, which is %s; the new data is %s",
                         dp_dtype_name(x.dtype), dp_dtype_name(y.dtype));
    if (!dp_keyset_is_empty(dp_keyset_only(dp_tensor_keys(self), math)) ||
        !dp_keyset_is_empty(dp_keyset_only(dp_tensor_keys(data), math)))
        return dp_refuse(ctx, DP_ENOTIMPL,
                         "set_data: of a tensor with a lazy conjugate or negative; call "
                         "resolve_conj and resolve_neg before");
    int rc = self == data ? 0
                          : dp_set_storage(ctx, self, data, dp_tensor_offset(data), y.ndim, y.sizes,
                                           y.strides);
    return rc < 0 ? dp_refuse(ctx, rc, NULL) : 0;
}

/* aten::_fw_primal, _make_dual, _unpack_dual: operators of forward-mode differentiation */
static int forward_mode(dp_call *call)
{
    return dp_refuse(call->ctx, DP_ENOTIMPL,
                     "%s: derivatives in forward mode are not implemented; grad.backward computes "
                     "them in reverse mode",
                     dp_op_name(call->op));
}
DP_LIBRARY_META(aten, CompositeExplicitAutograd, DP_IMPL("_fw_primal", forward_mode),
                DP_IMPL("_make_dual", forward_mode))

/* aten::tensor.float(float t, *, ScalarType? dtype=None, Device? device=None, bool
 * requires_grad=False) -> Tensor, and the overloads for int, bool and complex: torch.tensor() of
 * one number.  If `dtype` is None, the dtype depends on the number's type (`kinds`). */
static int tensor(dp_call *call)
{
    static const dp_dtype kinds[DP_TAG_END] = {[DP_TAG_INT] = DP_INT64,
                                               [DP_TAG_DOUBLE] = DP_FLOAT32,
                                               [DP_TAG_BOOL] = DP_BOOL,
                                               [DP_TAG_COMPLEX] = DP_COMPLEX64};
    const dp_value *a = call->args;
    const dp_value dtype = a[1].tag == DP_TAG_NONE ? dp_int(kinds[a[0].tag]) : a[1];
    const dp_value args[5] = {a[0], dtype, {0}, a[2], {0}};
    int rc = dp_call_boxed(call->ctx, dp_op_find(call->ctx, "aten::scalar_tensor"), args, 5,
                           call->rets, 1);

    if (rc == 0 && a[3].u.b)
        rc = dp_tensor_set_requires_grad(call->ctx, call->rets[0].u.t, true);
    return rc;
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL("tensor.float", tensor),
                DP_IMPL("tensor.int", tensor), DP_IMPL("tensor.bool", tensor),
                DP_IMPL("tensor.complex", tensor),
                DP_IMPL_UNBOXED("requires_grad_", requires_grad_, (T, b), ()),
                DP_IMPL_UNBOXED("is_leaf", is_leaf, (T), (b)),
                DP_IMPL_UNBOXED("retain_grad", retain_grad, (T), ()),
                DP_IMPL_UNBOXED("retains_grad", retains_grad, (T), (b)),
                DP_IMPL_UNBOXED("output_nr", output_nr, (T), (i)), DP_IMPL("_backward", backward),
                DP_IMPL_UNBOXED("set_data", set_data, (T, T), ()),
                DP_IMPL("_unpack_dual", forward_mode))
