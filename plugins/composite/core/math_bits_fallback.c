/* math_bits_fallback.c -- fallbacks for tensors with the conjugate bit or the negative bit.
 *
 * _conj and _neg_view return views of unchanged memory that have one more dispatch key, Conjugate
 * or Negative.  An operator that has no kernel of its own for that key runs the fallback: it
 * replaces each argument that has the bit by a resolved copy, redispatches the operator to the
 * keys below, and copies the results back to written arguments
 * (aten/src/ATen/native/MathBitsFallback.h).  An argument of which the operator returns a view is
 * not replaced.
 *
 * Operators: as_strided, clone, _conj_physical, conj_physical, copy, empty_like, full_like,
 * new_empty, new_empty_strided, new_full, new_ones, new_zeros, ones_like, resolve_conj,
 * resolve_neg, set, squeeze, t, transpose, unsqueeze, zeros_like. */
#include "composite.h"

/* an argument with the bit, borrowed, and its resolved copy, owned */
typedef struct twin {
    dp_tensor *own, *plain;
} twin;

/* state of the fallback in one call */
typedef struct resolution {
    dp_call *call;
    uint64_t bit; /* functionality bit of the key for which the fallback runs */
    twin *twins;  /* [n], of at most `capacity` */
    uint32_t n, capacity;
} resolution;

/* Replace *slot, a tensor with the bit, by a resolved copy that `s` owns. */
static int replace(resolution *s, dp_tensor **slot)
{
    dp_ctx *ctx = s->call->ctx;
    dp_tensor *plain;

    for (uint32_t i = 0; i < s->n; i++)
        if (s->twins[i].own == *slot) { /* in f(x, out=x), both arguments stay one tensor */
            *slot = s->twins[i].plain;
            return 0;
        }
    int rc = dp_invoke(ctx, "aten::clone", "Toi>T", *slot, (const int64_t *)NULL, &plain);
    if (rc < 0)
        return rc;
    s->twins[s->n++] = (twin){*slot, plain};
    *slot = plain;
    return 0;
}

/* Return the number of tensors in `v` that have the bit. */
static uint32_t count(const dp_value *v, uint64_t bit)
{
    uint32_t n = v->tag == DP_TAG_TENSOR && has_bit(v->u.t, bit);

    for (uint32_t i = 0; v->tag == DP_TAG_TENSORS && i < v->len; i++)
        n += has_bit(v->u.tensors[i], bit);
    return n;
}

/* Replace the list `v` by a list with resolved tensors, whose array is freed when the call ends;
 * items may be NULL. */
static int replace_list(resolution *s, dp_value *v)
{
    dp_tensor **items = dp_alloc_n(s->call->ctx, v->len, sizeof(dp_tensor *));
    int rc = items ? 0 : DP_ERESOURCE;

    for (uint32_t i = 0; rc == 0 && i < v->len; i++) {
        items[i] = v->u.tensors[i];
        rc = has_bit(items[i], s->bit) ? replace(s, &items[i]) : 0;
    }
    *v = dp_tensors(items, v->len);
    return rc;
}

/* Refuse a list that is written, as PyTorch does. */
static int refuse_list(const resolution *s)
{
    char key[DP_KEY_NAME_MAX];

    return dp_fail(s->call->ctx, DP_ERUNTIME,
                   "%s: a list of tensors to write has one with the key %s; materialize it first, "
                   "by resolve_conj or resolve_neg",
                   dp_op_name(s->call->op), dp_key_name(s->call->key, key));
}

static int replace_all(resolution *s, const dp_schema_info *info, dp_value *args)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < s->call->n_args; i++) {
        if (info->viewed >> i & 1 || count(&args[i], s->bit) == 0)
            continue;
        rc = args[i].tag == DP_TAG_TENSOR ? replace(s, &args[i].u.t)
             : info->written >> i & 1     ? refuse_list(s)
                                          : replace_list(s, &args[i]);
    }
    return rc;
}

/* If `rc` is 0, copy each written copy back to the argument that it replaced.  Release all copies.
 * Return rc, or the error of copying back. */
static int finish(resolution *s, int rc, const dp_schema_info *info)
{
    dp_ctx *ctx = s->call->ctx;

    for (uint32_t k = 0; k < s->n; k++) {
        bool written = false;
        for (uint32_t i = 0; i < s->call->n_args; i++)
            written |= info->written >> i & 1 && s->call->args[i].tag == DP_TAG_TENSOR &&
                       s->call->args[i].u.t == s->twins[k].own;
        if (rc == 0 && written) {
            DP_VIEW(x, s->twins[k].plain);
            rc = dp_resize(ctx, s->twins[k].own, x.ndim, x.sizes, DP_PRESERVE);
            if (rc == 0)
                rc = dp_invoke(ctx, "aten::copy_", "TTb>", s->twins[k].own, s->twins[k].plain,
                               (int)false);
        }
        dp_tensor_unref(s->twins[k].plain);
    }
    return rc;
}

/* Run the operator below the call's key on resolved arguments. */
static int resolve(dp_call *call)
{
    uint64_t bit = dp_keyset_of(call->key).functionality;
    resolution s = {call, bit, NULL, 0, 0};
    dp_schema_info info = {.size = sizeof(info)};
    dp_keyset below = dp_keyset_below(call->keys, call->key);
    int rc = dp_schema_info_get(call->ctx, call->op, &info);

    for (uint32_t i = 0; i < call->n_args; i++)
        s.capacity += count(&call->args[i], bit);
    dp_value *args = dp_alloc_n(call->ctx, call->n_args, sizeof(dp_value));
    s.twins = dp_alloc_n(call->ctx, s.capacity, sizeof(twin));
    if (args == NULL || s.twins == NULL)
        return DP_ERESOURCE;
    for (uint32_t i = 0; i < call->n_args; i++)
        args[i] = call->args[i];
    if (rc == 0)
        rc = replace_all(&s, &info, args);
    if (rc < 0)
        rc = dp_refuse(call->ctx, rc, NULL);
    else
        rc = dp_redispatch_boxed(call->ctx, call->op, below, args, call->n_args, call->rets,
                                 call->n_rets);
    return finish(&s, rc, &info);
}

DP_FALLBACK(Conjugate, resolve)
DP_FALLBACK(Negative, resolve)

/* Operators that skip the fallback, because they only read sizes, resolve the bit themselves
 * (dp_copy()), or only change the sizes, strides or storage of their argument. */
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
