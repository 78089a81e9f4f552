/* math_bits_fallback.c -- tensors that are the conjugate or the negative of what their bytes say.
 *
 * _conj and _neg_view are views that only say so, in their keys.  An operator without a kernel of
 * its own for the key Conjugate or Negative comes by here: its arguments are turned into plain
 * ones, and what it writes is copied back (aten/src/ATen/native/MathBitsFallback.h).  Views stay
 * what they are views of.
 *
 * Operators: as_strided, clone, _conj_physical, conj_physical, copy, empty_like, full_like,
 * new_empty, new_empty_strided, new_full, new_ones, new_zeros, ones_like, resolve_conj,
 * resolve_neg, set, squeeze, t, transpose, unsqueeze, zeros_like. */
#include "composite.h"

/* A written argument that a plain copy stands for. */
typedef struct twin {
    dp_tensor *own, *plain;
} twin;

/* Within one call: the copies are owned. */
typedef struct straight {
    dp_call *call;
    uint64_t bit; /* of the key that the kernel runs for */
    twin *twins;
    uint32_t n, room;
} straight;

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
    dp_tensor **items = dp_alloc_n(s->call->ctx, v->len, sizeof(dp_tensor *));
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
static int finish(straight *s, int rc, const dp_schema_info *facts)
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
static int resolve(dp_call *call)
{
    uint64_t bit = dp_keyset_of(call->key).functionality;
    straight s = {call, bit, NULL, 0, 0};
    dp_schema_info facts = {.size = sizeof(facts)};
    dp_keyset below = dp_keyset_below(call->keys, call->key);
    int rc = dp_schema_info_get(call->ctx, call->op, &facts);

    for (uint32_t i = 0; i < call->n_args; i++)
        s.room += count(&call->args[i], bit);
    dp_value *args = dp_alloc_n(call->ctx, call->n_args, sizeof(dp_value));
    s.twins = dp_alloc_n(call->ctx, s.room, sizeof(twin));
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

DP_FALLBACK(Conjugate, resolve)
DP_FALLBACK(Negative, resolve)

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
