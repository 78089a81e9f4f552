/* fake.c -- the dispatch key Fake, for calls with fake tensors (tensors without memory, as
 * PyTorch's FakeTensor) or in fake mode; and fake runs, which find the shapes and dtypes that a
 * call returns.
 *
 * Such calls run only kernels that read no elements: kernels with DP_FLAG_META, and composites.
 * The dispatch table lists them for key Meta.  A fake has the device of a real tensor, which the
 * kernels of keys above Fake (autograd, autocast) need; the fallback for Fake then redispatches the
 * call to Meta. */
#include "fake.h"
#include "composite.h"

static bool has_memory(const dp_tensor *t)
{
    DP_VIEW(x, t);
    return x.data != NULL;
}

/* Check that all written arguments are fake, since a fake call cannot change the elements of a real
 * tensor.  DP_ERUNTIME: a written argument has memory. */
static int check_written(dp_call *call)
{
    dp_schema_info f = {.size = sizeof(f)};
    dp_arg_info arg = {.size = sizeof(arg)};
    int rc = dp_schema_info_get(call->ctx, call->op, &f);

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

/* Run the call's operator with `args` for key Meta.  Meanwhile, the key Fake is in the thread's
 * included keys, so that composite kernels, too, make fake tensors.  DP_ENOTIMPL: an argument is
 * quantized; the kernels for Meta do not take quantized dtypes. */
static int run_without_memory(dp_call *call, const dp_value *args, dp_value *rets)
{
    if (!dp_keyset_is_empty(dp_keyset_only(call->keys, dp_keyset_of(DP_KEY(DP_F_Quantized)))))
        return dp_refuse(call->ctx, DP_ENOTIMPL,
                         "%s: no kernel for quantized tensors, such as one for QuantizedCPU",
                         dp_op_name(call->op));
    dp_keyset keys = dp_keyset_of(DP_KEY_OF(DP_F_Dense, DP_B_Meta));
    int depth = dp_guard_enter(call->ctx, dp_keyset_of(DP_KEY(DP_F_Fake)), (dp_keyset){0, 0});

    keys.backend |= call->keys.backend;
    if (depth < 0)
        return depth;
    int rc = dp_redispatch_boxed(call->ctx, call->op, keys, args, call->n_args, rets, call->n_rets);
    dp_guard_leave(call->ctx, depth);
    return rc;
}

static int fake(dp_call *call)
{
    int rc = check_written(call);

    return rc < 0 ? rc : run_without_memory(call, call->args, call->rets);
}

DP_FALLBACK(Fake, fake)

/* -- fakes of a call's arguments -- */

/* Set *out to a copy of `given` in which each tensor is replaced by an owned fake of it. */
static int fake_of(dp_ctx *ctx, const dp_value *given, dp_value *out)
{
    dp_tensor **list;
    int rc = 0;

    *out = *given;
    if (given->tag == DP_TAG_TENSOR) {
        out->u.t = NULL;
        return dp_fake(ctx, given->u.t, &out->u.t);
    }
    if (given->tag != DP_TAG_TENSORS)
        return 0;
    *out = dp_none();
    if ((list = dp_alloc_n(ctx, given->len, sizeof(dp_tensor *))) == NULL)
        return DP_ERESOURCE;
    *out = dp_tensors(list, given->len);
    for (size_t i = 0; i < given->len; i++)
        list[i] = NULL;
    for (size_t i = 0; rc == 0 && i < given->len; i++)
        if (given->u.tensors[i] != NULL)
            rc = dp_fake(ctx, given->u.tensors[i], &list[i]);
    return rc;
}

static bool is_mask(const dp_tensor *t)
{
    if (t == NULL)
        return false;
    DP_VIEW(x, t);
    return x.dtype == DP_BOOL || x.dtype == DP_UINT8;
}

/* Append fakes of the index tensors that replace `mask`, one per dimension of mask, to fakes [*n].
 * The length of the index tensors depends on the mask's values, so nonzero runs on the mask itself
 * (TensorAdvancedIndexing.cpp, make_info). */
static int fakes_of_mask(dp_ctx *ctx, dp_tensor *mask, dp_tensor **fakes, uint32_t *n)
{
    dp_tensor *indices = NULL;
    DP_VIEW(m, mask);
    int rc = DP_INVOKE(ctx, "aten::nonzero", (T), (T), mask, &indices);

    for (int64_t d = 0; rc == 0 && d < m.ndim; d++) {
        dp_tensor *column = NULL;
        rc = DP_INVOKE(ctx, "aten::select.int", (T, i, i), (T), indices, 1, d, &column);
        if (rc == 0)
            rc = dp_fake(ctx, column, &fakes[(*n)++]);
        dp_tensor_unref(column);
    }
    dp_tensor_unref(indices);
    return rc;
}

/* Set *out to fakes of a list of indices (Tensor?[]); each mask is replaced by index tensors. */
static int fake_of_indices(dp_ctx *ctx, const dp_value *given, dp_value *out)
{
    uint32_t most = 0, n = 0;
    int rc = 0;

    for (uint32_t i = 0; i < given->len; i++)
        most += is_mask(given->u.tensors[i]) ? DP_DIM_MAX : 1;
    dp_tensor **list = dp_alloc_n(ctx, most, sizeof(*list));
    *out = dp_none();
    if (list == NULL)
        return DP_ERESOURCE;
    dp_zero_n(list, most, sizeof(*list));
    for (uint32_t i = 0; rc == 0 && i < given->len; i++) {
        dp_tensor *t = given->u.tensors[i];
        if (is_mask(t))
            rc = fakes_of_mask(ctx, t, list, &n);
        else if (t != NULL)
            rc = dp_fake(ctx, t, &list[n++]);
        else
            n++;
    }
    *out = dp_tensors(list, n);
    return rc;
}

/* Test whether argument `i` is a list of indices (Tensor?[]) with a mask in it. */
static bool has_mask(const dp_call *call, uint32_t i)
{
    dp_schema_info info = {.size = sizeof(info)};
    dp_arg_info arg = {.size = sizeof(arg)};
    const dp_value *v = &call->args[i];
    bool any = false;

    for (uint32_t j = 0; v->tag == DP_TAG_TENSORS && !any && j < v->len; j++)
        any = is_mask(v->u.tensors[j]);
    return any && dp_schema_info_get(call->ctx, call->op, &info) == 0 &&
           dp_op_arg(&info, i, &arg) && arg.optional_item;
}

static void release(const dp_value *v)
{
    if (v->tag == DP_TAG_TENSOR)
        dp_tensor_unref(v->u.t);
    for (size_t i = 0; v->tag == DP_TAG_TENSORS && i < v->len; i++)
        dp_tensor_unref(v->u.tensors[i]);
}

int fake_run(dp_call *call, const char *target, dp_value *rets)
{
    dp_value *fakes = dp_alloc_n(call->ctx, call->n_args, sizeof(dp_value));
    uint32_t n = 0;
    int rc = fakes ? 0 : DP_ERESOURCE;

    /* In a fake call, the kernel that called fake_run() is the only kernel of the operator that
     * runs without memory, so there is no other kernel that can be run. */
    if (dp_memoryless(call->ctx))
        return dp_fail(call->ctx, DP_ENOTIMPL,
                       "%s: the backend of its tensors has no kernel for it, and none for %s that "
                       "runs without memory, too (DP_FLAG_META)",
                       dp_op_name(call->op), target);
    for (; rc == 0 && n < call->n_args; n++)
        rc = has_mask(call, n) ? fake_of_indices(call->ctx, &call->args[n], &fakes[n])
                               : fake_of(call->ctx, &call->args[n], &fakes[n]);
    if (rc == 0)
        rc = run_without_memory(call, fakes, rets);
    for (uint32_t i = 0; i < n; i++)
        release(&fakes[i]);
    return rc;
}
