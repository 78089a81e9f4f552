/* math_bits.c -- tensors that are the conjugate or the negative of what their bytes say.
 *
 * _conj and _neg_view are views that only say so, in their keys.  An operator without a kernel of its
 * own for the key Conjugate or Negative comes by here: its arguments are turned into plain ones, and
 * what it writes is copied back (aten/src/ATen/native/MathBitsFallback.h).  Views stay what they are
 * views of. */
#include "composite.h"

/* -- the fallback -- */

/* A written argument that a plain copy stands for. */
typedef struct twin {
    dp_tensor *own, *plain;
} twin;

/* Within one call: the copies are owned. */
typedef struct straight {
    dp_call *call;
    uint64_t bit;
    twin *twins;
    uint32_t n, room;
} straight;

static bool has_bit(const dp_tensor *t, uint64_t bit)
{
    return t != NULL && dp_tensor_keys(t).functionality & bit;
}

/* *slot, which has the bit, becomes a plain copy. */
static int replace(straight *s, dp_tensor **slot)
{
    dp_ctx *ctx = s->call->ctx;
    dp_tensor *plain;

    for (uint32_t i = 0; i < s->n; i++)
        if (s->twins[i].own == *slot) { /* out=x of x: still one tensor */
            *slot = s->twins[i].plain;
            return 0;
        }
    int rc = dp_empty_like(ctx, *slot, DP_DTYPE_NONE, DP_PRESERVE, &plain);
    if (rc < 0)
        return rc;
    rc = dp_copy(ctx, plain, *slot);
    s->twins[s->n++] = (twin){*slot, plain};
    *slot = plain;
    return rc;
}

/* How many tensors of v have the bit. */
static uint32_t count(const dp_value *v, uint64_t bit)
{
    uint32_t n = v->tag == DP_TAG_TENSOR && has_bit(v->u.t, bit);

    for (uint32_t i = 0; v->tag == DP_TAG_TENSORS && i < v->len; i++)
        n += has_bit(v->u.tensors[i], bit);
    return n;
}

/* A list with plain tensors, in memory of the call; some may be NULL. */
static int replace_list(straight *s, dp_value *v)
{
    dp_tensor **items = dp_alloc(s->call->ctx, v->len * sizeof(dp_tensor *));
    int rc = items ? 0 : DP_ERESOURCE;

    for (uint32_t i = 0; rc == 0 && i < v->len; i++) {
        items[i] = v->u.tensors[i];
        rc = has_bit(items[i], s->bit) ? replace(s, &items[i]) : 0;
    }
    *v = dp_tensors(items, v->len);
    return rc;
}

static int replace_all(straight *s, uint64_t viewed, dp_value *args)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < s->call->n_args; i++) {
        if (viewed >> i & 1 || count(&args[i], s->bit) == 0)
            continue;
        rc = args[i].tag == DP_TAG_TENSOR ? replace(s, &args[i].u.t) : replace_list(s, &args[i]);
    }
    return rc;
}

/* What was written goes to the tensors that were to be; the copies go. */
static int finish(straight *s, int rc, const dp_op_facts *facts)
{
    dp_ctx *ctx = s->call->ctx;

    for (uint32_t k = 0; k < s->n; k++) {
        bool written = false;
        for (uint32_t i = 0; i < s->call->n_args; i++)
            written |= facts->written >> i & 1 && s->call->args[i].tag == DP_TAG_TENSOR &&
                       s->call->args[i].u.t == s->twins[k].own;
        if (rc == 0 && written) {
            DP_VIEW(x, s->twins[k].plain);
            rc = dp_resize(ctx, s->twins[k].own, x.ndim, x.sizes, DP_PRESERVE);
            if (rc == 0)
                rc = dp_copy(ctx, s->twins[k].own, s->twins[k].plain);
        }
        dp_tensor_unref(s->twins[k].plain);
    }
    return rc;
}

/* Runs the operator below this key on plain arguments. */
static int resolve(dp_call *call, uint64_t bit)
{
    straight s = {call, bit, NULL, 0, 0};
    dp_op_facts facts = {.size = sizeof(facts)};
    dp_keyset below = dp_keyset_below(call->keys, call->key);
    int rc = dp_op_facts_get(call->ctx, call->op, &facts);

    for (uint32_t i = 0; i < call->n_args; i++)
        s.room += count(&call->args[i], bit);
    dp_value *args = dp_alloc(call->ctx, call->n_args * sizeof(dp_value));
    s.twins = dp_alloc(call->ctx, s.room * sizeof(twin));
    if (args == NULL || s.twins == NULL)
        return DP_ERESOURCE;
    for (uint32_t i = 0; i < call->n_args; i++)
        args[i] = call->args[i];
    if (rc == 0)
        rc = replace_all(&s, facts.viewed, args);
    if (rc < 0)
        rc = dp_refuse(call->ctx, rc, NULL);
    else
        rc = dp_redispatch_boxed(call->ctx, call->op, below, args, call->n_args, call->rets,
                                 call->n_rets);
    return finish(&s, rc, &facts);
}

static int conjugated(dp_call *call)
{
    return resolve(call, DP_FBIT(DP_F_Conjugate));
}

static int negated(dp_call *call)
{
    return resolve(call, DP_FBIT(DP_F_Negative));
}

DP_FALLBACK(Conjugate, conjugated)
DP_FALLBACK(Negative, negated)

/* What looks at sizes alone, converts by itself (dp_copy()), or changes a tensor's own geometry. */
#define SEE_THROUGH(key)                                                                           \
    DP_LIBRARY_IMPL(aten, key, DP_IMPL_FALLTHROUGH("copy_"), DP_IMPL_FALLTHROUGH("clone"),         \
                    DP_IMPL_FALLTHROUGH("_conj_physical"), DP_IMPL_FALLTHROUGH("conj_physical_"),  \
                    DP_IMPL_FALLTHROUGH("resolve_conj"), DP_IMPL_FALLTHROUGH("resolve_neg"),       \
                    DP_IMPL_FALLTHROUGH("empty_like"), DP_IMPL_FALLTHROUGH("zeros_like"),          \
                    DP_IMPL_FALLTHROUGH("ones_like"), DP_IMPL_FALLTHROUGH("full_like"),            \
                    DP_IMPL_FALLTHROUGH("new_empty"), DP_IMPL_FALLTHROUGH("new_empty_strided"),    \
                    DP_IMPL_FALLTHROUGH("new_zeros"), DP_IMPL_FALLTHROUGH("new_ones"),             \
                    DP_IMPL_FALLTHROUGH("new_full"), DP_IMPL_FALLTHROUGH("squeeze_"),              \
                    DP_IMPL_FALLTHROUGH("squeeze_.dim"), DP_IMPL_FALLTHROUGH("unsqueeze_"),        \
                    DP_IMPL_FALLTHROUGH("transpose_"), DP_IMPL_FALLTHROUGH("t_"),                  \
                    DP_IMPL_FALLTHROUGH("as_strided_"), DP_IMPL_FALLTHROUGH("set_"),               \
                    DP_IMPL_FALLTHROUGH("set_.source_Tensor"))
SEE_THROUGH(Conjugate)
SEE_THROUGH(Negative)

/* -- operators -- */

static bool is_complex(const dp_tensor *t)
{
    DP_VIEW(x, t);
    return dp_dtype_is_complex(x.dtype);
}

/* All of t, with the bits of `flip` the other way round. */
static int flipped(dp_ctx *ctx, dp_tensor *t, uint64_t flip, dp_tensor **out)
{
    DP_VIEW(x, t);
    return dp_view_as(ctx, t, x.dtype, flip, x.ndim, x.sizes, x.strides, dp_tensor_offset(t), out);
}

/* aten::_conj(Tensor(a) self) -> Tensor(a) */
static int conj_view(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    if (!is_complex(self))
        return dp_fail(ctx, DP_ERUNTIME, "_conj is for complex tensors");
    return flipped(ctx, self, DP_FBIT(DP_F_Conjugate), out);
}

/* aten::_neg_view(Tensor(a) self) -> Tensor(a) */
static int neg_view(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    DP_VIEW(x, self);

    if (x.dtype == DP_BOOL)
        return dp_fail(ctx, DP_ERUNTIME, "_neg_view is not for bool tensors");
    return flipped(ctx, self, DP_FBIT(DP_F_Negative), out);
}

/* aten::conj(Tensor(a) self) -> Tensor(a) */
static int conj_of(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    if (is_complex(self))
        return dp_invoke(ctx, "aten::_conj", "T>T", self, out);
    *out = dp_tensor_ref(self);
    return 0;
}

/* dst = the conjugate of self */
static int copy_conj(dp_ctx *ctx, dp_tensor *dst, dp_tensor *self)
{
    dp_tensor *other;
    int rc = is_complex(self) ? flipped(ctx, self, DP_FBIT(DP_F_Conjugate), &other) : 0;

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

/* self if it has not the bit, else a plain copy. */
static int without(dp_ctx *ctx, dp_tensor *self, uint64_t bit, dp_tensor **out)
{
    if (has_bit(self, bit))
        return dp_invoke(ctx, "aten::clone", "Toi>T", self, NULL, out);
    *out = dp_tensor_ref(self);
    return 0;
}

/* aten::resolve_conj(Tensor(a) self) -> Tensor(a) */
static int resolve_conj(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    return without(ctx, self, DP_FBIT(DP_F_Conjugate), out);
}

/* aten::resolve_neg(Tensor(a) self) -> Tensor(a) */
static int resolve_neg(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    return without(ctx, self, DP_FBIT(DP_F_Negative), out);
}

/* One part of the complex self: a view of it. */
static int part(dp_ctx *ctx, dp_tensor *self, int64_t which, dp_tensor **out)
{
    bool conjugate = has_bit(self, DP_FBIT(DP_F_Conjugate));
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
