/* foreach.c -- operators over lists of tensors (_foreach_*): one call of the target per element
 * (aten/src/ATen/native/ForeachOpsKernels.cpp). */
#include "composite.h"
#include "follow.h"
#include "variants.h"

/* Return the length of the list from which argument `i` of the target takes its elements; -1: the
 * argument is not taken from a list. */
static int64_t length(const dp_call *call, const follow_row *row, uint32_t i)
{
    follow_part part = row->args[i];

    return part.what == FOLLOW_EACH ? (int64_t)call->args[part.i].len : -1;
}

static int check_lengths(const dp_call *call, const follow_row *row)
{
    int64_t n = length(call, row, 0);

    for (uint32_t i = 0; i < row->n_args; i++) {
        int64_t m = length(call, row, i);
        if (m < 0)
            continue;
        bool tensors = call->args[row->args[i].i].tag == DP_TAG_TENSORS;
        if (m == 0 && tensors)
            return dp_refuse(call->ctx, DP_ERUNTIME, "Tensor list must have at least one tensor.");
        if (m != n && tensors)
            return dp_refuse(call->ctx, DP_ERUNTIME,
                             "Tensor lists must have the same number of tensors, got %" PRId64
                             " and %" PRId64,
                             n, m);
        if (m != n)
            return dp_refuse(call->ctx, DP_ERUNTIME,
                             "Tensor list must have same number of elements as scalar list, got "
                             "%" PRId64 " and %" PRId64,
                             n, m);
    }
    return 0;
}

static void arguments(const dp_call *call, const follow_row *row, size_t k, dp_value *args)
{
    for (uint32_t i = 0; i < row->n_args; i++) {
        follow_part part = row->args[i];
        args[i] = part.what == FOLLOW_EACH    ? dp_list_item(&call->args[part.i], k)
                  : part.what == FOLLOW_GIVEN ? call->args[part.i]
                  : part.what == FOLLOW_INT   ? dp_int(part.i)
                  : part.what == FOLLOW_FALSE ? dp_bool(false)
                                              : dp_none();
    }
}

/* Call the target for element `k` of the lists.  If the call returns a list, made[k] is set to the
 * result. */
static int each(dp_call *call, const follow_row *row, const dp_op *op, size_t k, dp_value *args,
                dp_tensor **made)
{
    bool copies = row->n_results > 0 && row->results[0].what == FOLLOW_COPY;
    dp_value ret = dp_none();
    dp_tensor *copy = NULL;

    arguments(call, row, k, args);
    dp_tensor *self = args[0].u.t;
    int rc = copies ? spare_self(call->ctx, args, row->n_args, &copy) : 0;
    if (rc == 0)
        rc = dp_call_boxed(call->ctx, op, args, row->n_args, &ret, 1);
    dp_tensor_unref(copy);
    if (rc == 0 && copies) {
        rc = dp_invoke(call->ctx, "aten::copy_", "TTb>", self, ret.u.t, (int)false);
        dp_values_release(&ret, 1);
    }
    if (rc == 0 && call->n_rets > 0)
        made[k] = ret.u.t;
    return rc;
}

int follow_each(dp_call *call, const follow_row *rows, size_t n)
{
    const follow_row *row = follow_find(call, rows, n);
    int rc = row ? check_lengths(call, row) : DP_EPLUGIN;

    if (rc < 0)
        return rc;
    size_t length = call->args[0].len, k = 0;
    const dp_op *op = dp_op_find(call->ctx, row->target);
    dp_value *args = dp_alloc_n(call->ctx, row->n_args, sizeof(dp_value));
    dp_tensor **made = dp_alloc_n(call->ctx, length, sizeof(dp_tensor *));
    rc = args && made ? 0 : DP_ERESOURCE;
    for (; rc == 0 && k < length; k += rc == 0)
        rc = each(call, row, op, k, args, made);
    if (call->n_rets == 0)
        return rc;
    if (rc == 0)
        call->rets[0] = dp_tensors(made, length);
    else
        while (k > 0)
            dp_tensor_unref(made[--k]);
    return rc;
}
