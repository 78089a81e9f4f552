/* conj_neg_real_imag.c -- views with the conjugate or the negative bit, the operators that resolve
 * these bits, and real and imag (aten/src/ATen/native/UnaryOps.cpp).
 *
 * Operators: _conj, conj, _conj_physical, conj_physical, imag, _neg_view, real, resolve_conj,
 * resolve_neg. */
#include "core/composite.h"

/* -- operators -- */

static bool is_complex(const dp_tensor *t)
{
    DP_VIEW(x, t);
    return dp_dtype_is_complex(x.dtype);
}

/* Set *out, owned, to a view of `t` in which key `flip` is removed if t has it, else added. */
static int flipped(dp_ctx *ctx, dp_tensor *t, dp_key flip, dp_tensor **out)
{
    DP_VIEW(x, t);
    return dp_view_as(ctx, t, x.dtype, dp_keyset_of(flip).functionality, x.ndim, x.sizes, x.strides,
                      dp_tensor_offset(t), out);
}

/* aten::_conj(Tensor(a) self) -> Tensor(a) */
static int conj_view(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    if (!is_complex(self))
        return dp_fail(ctx, DP_ERUNTIME, "_conj is for complex tensors");
    return flipped(ctx, self, DP_KEY(DP_F_Conjugate), out);
}

/* aten::_neg_view(Tensor(a) self) -> Tensor(a) */
static int neg_view(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    DP_VIEW(x, self);

    if (x.dtype == DP_BOOL)
        return dp_fail(ctx, DP_ERUNTIME, "_neg_view is not for bool tensors");
    return flipped(ctx, self, DP_KEY(DP_F_Negative), out);
}

/* aten::conj(Tensor(a) self) -> Tensor(a) */
static int conj_of(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    if (is_complex(self))
        return dp_invoke(ctx, "aten::_conj", "T>T", self, out);
    *out = dp_tensor_ref(self);
    return 0;
}

/* Set dst to the conjugate of self. */
static int copy_conj(dp_ctx *ctx, dp_tensor *dst, dp_tensor *self)
{
    dp_tensor *other;
    int rc = is_complex(self) ? flipped(ctx, self, DP_KEY(DP_F_Conjugate), &other) : 0;

    if (rc < 0)
        return rc;
    rc = dp_copy(ctx, dst, is_complex(self) ? other : self);
    if (is_complex(self))
        dp_tensor_unref(other);
    return rc;
}

/* aten::_conj_physical(Tensor self) -> Tensor */
static int conj_physical_new(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    dp_tensor *made;
    int rc = dp_empty_like(ctx, self, DP_DTYPE_NONE, DP_PRESERVE, &made);

    if (rc < 0)
        return rc;
    rc = copy_conj(ctx, made, self);
    if (rc < 0)
        made = dp_tensor_unref(made);
    *out = made;
    return rc;
}

/* aten::conj_physical(Tensor self) -> Tensor */
static int conj_physical(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    if (is_complex(self))
        return dp_invoke(ctx, "aten::_conj_physical", "T>T", self, out);
    *out = dp_tensor_ref(self);
    return 0;
}

/* aten::conj_physical_(Tensor(a!) self) -> Tensor(a!) */
static int conj_physical_(dp_ctx *ctx, dp_tensor *self)
{
    return is_complex(self) ? copy_conj(ctx, self, self) : 0;
}

/* Set *out, owned, to self if it does not have the key, else to a resolved copy. */
static int without(dp_ctx *ctx, dp_tensor *self, dp_key key, dp_tensor **out)
{
    if (dp_keyset_has(dp_tensor_keys(self), key))
        return dp_invoke(ctx, "aten::clone", "Toi>T", self, NULL, out);
    *out = dp_tensor_ref(self);
    return 0;
}

/* aten::resolve_conj(Tensor(a) self) -> Tensor(a) */
static int resolve_conj(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    return without(ctx, self, DP_KEY(DP_F_Conjugate), out);
}

/* aten::resolve_neg(Tensor(a) self) -> Tensor(a) */
static int resolve_neg(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    return without(ctx, self, DP_KEY(DP_F_Negative), out);
}

/* Set *out, owned, to a view of one part of the complex self. */
static int part(dp_ctx *ctx, dp_tensor *self, int64_t which, dp_tensor **out)
{
    bool conjugate = dp_keyset_has(dp_tensor_keys(self), DP_KEY(DP_F_Conjugate));
    dp_tensor *plain = NULL, *pairs = NULL, *one = NULL;
    int rc = conjugate ? dp_invoke(ctx, "aten::_conj", "T>T", self, &plain) : 0;

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::view_as_real", "T>T", conjugate ? plain : self, &pairs);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::select.int", "Tii>T", pairs, (int64_t)-1, which, &one);
    if (rc == 0 && conjugate && which == 1)
        rc = dp_invoke(ctx, "aten::_neg_view", "T>T", one, out);
    else if (rc == 0)
        *out = dp_tensor_ref(one);
    dp_tensor_unref(plain);
    dp_tensor_unref(pairs);
    dp_tensor_unref(one);
    return rc;
}

/* aten::real(Tensor(a) self) -> Tensor(a) */
static int real_part(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    if (is_complex(self))
        return part(ctx, self, 0, out);
    *out = dp_tensor_ref(self);
    return 0;
}

/* aten::imag(Tensor(a) self) -> Tensor(a) */
static int imag_part(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    if (is_complex(self))
        return part(ctx, self, 1, out);
    return dp_fail(ctx, DP_ERUNTIME,
                   "imag is not implemented for tensors with non-complex dtypes.");
}

DP_LIBRARY_META(aten, CompositeExplicitAutograd, DP_IMPL_UNBOXED("_conj", conj_view, (T), (T)),
                DP_IMPL_UNBOXED("_neg_view", neg_view, (T), (T)),
                DP_IMPL_UNBOXED("_conj_physical", conj_physical_new, (T), (T)),
                DP_IMPL_UNBOXED("conj_physical_", conj_physical_, (T), ()))
DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED("conj", conj_of, (T), (T)),
                DP_IMPL_UNBOXED("conj_physical", conj_physical, (T), (T)),
                DP_IMPL_UNBOXED("resolve_conj", resolve_conj, (T), (T)),
                DP_IMPL_UNBOXED("resolve_neg", resolve_neg, (T), (T)),
                DP_IMPL_UNBOXED("real", real_part, (T), (T)),
                DP_IMPL_UNBOXED("imag", imag_part, (T), (T)))
