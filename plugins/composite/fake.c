/* fake.c -- calls of fakes, and calls in fake mode: only kernels that need no bytes run.
 *
 * Those are the ones of column Meta (DP_FLAG_META, composites).  A fake's device is a true one, so
 * what lies above Fake, autograd and autocast, has seen that; here the call goes on as if it were
 * Meta's. */
#include "composite.h"

static bool has_memory(const dp_tensor *t)
{
    DP_VIEW(x, t);
    return x.data != NULL;
}

/* What is written must be fake, too, or it would keep what it held before. */
static int check_written(dp_call *call)
{
    dp_op_facts f = {.size = sizeof(f)};
    dp_arg_info arg = {.size = sizeof(arg)};
    int rc = dp_op_facts_get(call->ctx, call->op, &f);

    for (uint32_t i = 0; rc == 0 && i < call->n_args && i < 64; i++) {
        const dp_value *v = &call->args[i];
        if (!(f.written >> i & 1) || (v->tag != DP_TAG_TENSOR && v->tag != DP_TAG_TENSORS))
            continue;
        size_t n = v->tag == DP_TAG_TENSORS ? v->len : 1;
        for (size_t j = 0; rc == 0 && j < n; j++) {
            const dp_tensor *t = v->tag == DP_TAG_TENSORS ? v->u.tensors[j] : v->u.t;
            if (t != NULL && has_memory(t) && dp_op_arg(&f, i, &arg))
                rc = dp_refuse(call->ctx, DP_ERUNTIME,
                               "argument '%s' of %s has memory: a fake call cannot write to it",
                               arg.name, dp_op_name(call->op));
        }
    }
    return rc;
}

static int fake(dp_call *call)
{
    dp_keyset keys = {DP_FBIT(DP_F_Dense), call->keys.backend | DP_BBIT(DP_B_Meta)};
    int rc = check_written(call);

    if (rc < 0)
        return rc;
    /* so that what composites make is fake, too; the guard ends with this kernel */
    rc = dp_guard_enter(call->ctx, (dp_keyset){DP_FBIT(DP_F_Fake), 0}, (dp_keyset){0, 0});
    return rc < 0 ? rc
                  : dp_redispatch_boxed(call->ctx, call->op, keys, call->args, call->n_args,
                                        call->rets, call->n_rets);
}

DP_FALLBACK(Fake, fake)
