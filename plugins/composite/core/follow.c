/* follow.c -- overloads derived from another overload by a row of a table (follow.h). */
#include "follow.h"
#include "composite.h"
#include "fake.h"
#include <dispatchd/check.h>
#include <stdlib.h>
#include <string.h>

static int by_name(const void *name, const void *row)
{
    return strcmp(name, ((const follow_row *)row)->name);
}

/* -- arguments -- */

static int clone(dp_call *call, dp_value given, dp_value *out)
{
    dp_tensor **made;

    if (given.tag == DP_TAG_TENSOR) {
        out->tag = DP_TAG_TENSOR;
        return dp_invoke(call->ctx, "aten::clone", "T>T", given.u.t, &out->u.t);
    }
    if (given.tag != DP_TAG_TENSORS)
        return 0; /* None stays None */
    made = dp_alloc_n(call->ctx, given.len, sizeof(dp_tensor *));
    if (made == NULL)
        return DP_ERESOURCE;
    *out = dp_tensors(made, 0);
    for (int rc; out->len < given.len; out->len++)
        if ((rc = dp_invoke(call->ctx, "aten::clone", "T>T", given.u.tensors[out->len],
                            &made[out->len])) < 0)
            return rc;
    return 0;
}

/* Make a tensor with memory that has the dtype, device, sizes and strides of `fake`. */
static int make(dp_ctx *ctx, const dp_value *fake, dp_value *out)
{
    DP_VIEW(x, fake->u.t);
    out->tag = DP_TAG_TENSOR;
    return dp_empty_strided(ctx, x.dtype, x.device, x.ndim, x.sizes, x.strides, &out->u.t);
}

static dp_value option(dp_call *call, follow_part part)
{
    if (part.what == FOLLOW_NONE)
        return dp_none();
    if (part.what == FOLLOW_LAYOUT)
        return dp_int(DP_LAYOUT_STRIDED);
    DP_VIEW(x, call->args[part.i].u.t);
    return dp_int(part.what == FOLLOW_DTYPE ? (int64_t)x.dtype : (int64_t)x.device);
}

static bool is_owned(follow_part part)
{
    return part.what == FOLLOW_CLONE || part.what == FOLLOW_MADE;
}

/* Set args [row->n_args], which are None, to the target's arguments.  Arguments for which
 * is_owned() is true are new tensors that the caller releases; the others are borrowed from the
 * call.  `fakes` are the results of fake_run(), or NULL. */
static int arguments(dp_call *call, const follow_row *row, const dp_value *fakes, dp_value *args)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < row->n_args; i++) {
        follow_part part = row->args[i];
        if (part.what == FOLLOW_CLONE)
            rc = clone(call, call->args[part.i], &args[i]);
        else if (part.what == FOLLOW_MADE)
            rc = make(call->ctx, &fakes[part.i], &args[i]);
        else
            args[i] = part.what == FOLLOW_GIVEN || part.what == FOLLOW_CHECKED ? call->args[part.i]
                                                                               : option(call, part);
    }
    return rc;
}

/* Set `args` like arguments(), after a fake run if an argument of the row needs one. */
static int all_arguments(dp_call *call, const follow_row *row, dp_value *args)
{
    bool fake = false;

    for (uint32_t i = 0; i < row->n_args; i++)
        fake |= row->args[i].what == FOLLOW_MADE || row->args[i].what == FOLLOW_CHECKED;
    if (!fake)
        return arguments(call, row, NULL, args);
    dp_value *fakes = dp_alloc_n(call->ctx, call->n_rets, sizeof(dp_value));
    int rc = fakes ? fake_run(call, row->target, fakes) : DP_ERESOURCE;
    if (rc < 0)
        return rc;
    rc = arguments(call, row, fakes, args);
    dp_values_release(fakes, call->n_rets);
    return rc;
}

static void release_made(const follow_row *row, dp_value *args)
{
    for (uint32_t i = 0; i < row->n_args; i++)
        if (is_owned(row->args[i]))
            dp_values_release(&args[i], 1);
}

/* -- results -- */

/* Set *out to the tensors of `v`, a Tensor or a Tensor[]; return their number. */
static size_t tensors_of(const dp_value *v, dp_tensor *const **out)
{
    *out = v->tag == DP_TAG_TENSOR ? &v->u.t : v->u.tensors;
    return v->tag == DP_TAG_TENSOR ? 1 : v->tag == DP_TAG_TENSORS ? v->len : 0;
}

static int check_outs(dp_call *call, size_t n, size_t n_outs)
{
    if (n == n_outs)
        return 0;
    return dp_refuse(call->ctx, DP_ERUNTIME,
                     "%s expected an out= argument of size %zu, got size %zu", dp_op_name(call->op),
                     n, n_outs);
}

static int resize_outs(dp_call *call, const dp_value *made, const dp_value *given)
{
    dp_tensor *const *from, *const *to;
    size_t n = tensors_of(made, &from);
    int rc = check_outs(call, n, tensors_of(given, &to));

    for (size_t i = 0; rc == 0 && i < n; i++) {
        dp_tensor *out = to[i];
        DP_VIEW(x, from[i]);
        DP_VIEW(y, out);
        rc = dp_set_output(call->ctx, &out, x.ndim, x.sizes, NULL, DP_DTYPE_NONE, y.device);
        if (rc == 0 && dp_internal_overlap(out) == 1) /* checked before any output is written */
            rc = dp_fail(call->ctx, DP_ERUNTIME,
                         "unsupported operation: more than one element of the written-to tensor "
                         "refers to a single memory location; clone() it first");
    }
    return rc;
}

/* Test whether the target writes to an argument of the call. */
static bool writes_given(dp_call *call, const follow_row *row)
{
    dp_schema_info info = {.size = sizeof(info)};
    bool writes = dp_schema_info_get(call->ctx, dp_op_find(call->ctx, row->target), &info) < 0;

    for (uint32_t i = 0; i < row->n_args; i++)
        writes |= row->args[i].what == FOLLOW_GIVEN && (info.written >> i & 1);
    return writes;
}

static bool same_shape(const dp_tensor *a, const dp_tensor *b)
{
    DP_VIEW(x, a);
    DP_VIEW(y, b);
    return dp_same_sizes(x.ndim, x.sizes, y.ndim, y.sizes);
}

/* Copy the tensors of `made` to the tensors of `given`.  `resized`: resize_outs() has resized all
 * of the given tensors.  If the shape of one then differs from its result, the same tensor was
 * given for two outputs and resized for the later one; the copy is skipped, because the later
 * result would overwrite it. */
static int copy_outs(dp_call *call, const dp_value *made, const dp_value *given, bool resized)
{
    dp_tensor *const *from, *const *to;
    size_t n = tensors_of(made, &from);
    int rc = check_outs(call, n, tensors_of(given, &to));

    for (size_t i = 0; rc == 0 && i < n; i++)
        if (!resized || same_shape(to[i], from[i]))
            rc = dp_invoke(call->ctx, "aten::copy_", "TTb>", to[i], from[i], (int)false);
    return rc;
}

/* Set the call's returns, and write its out= arguments, from the target's returns `rets` and
 * arguments `args`.  Values that become returns of the call are moved out of rets and args. */
static int results(dp_call *call, const follow_row *row, dp_value *args, dp_value *rets)
{
    uint32_t next = 0;
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < row->n_results; i++)
        if (row->results[i].what == FOLLOW_COPY)
            rc = resize_outs(call, &rets[i], &call->args[row->results[i].i]);
    if (rc < 0)
        return writes_given(call, row) ? rc : dp_refuse(call->ctx, rc, NULL);
    for (uint32_t i = 0; rc == 0 && i < row->n_results; i++) {
        follow_part part = row->results[i];
        if (part.what == FOLLOW_COPY || part.what == FOLLOW_FILL) {
            rc = copy_outs(call, &rets[i], &call->args[part.i], part.what == FOLLOW_COPY);
            continue;
        }
        if (part.what == FOLLOW_CLONES) {
            rc = clone(call, rets[part.i], &call->rets[next++]);
            continue;
        }
        dp_value *from = part.what == FOLLOW_RETURN ? &rets[part.i] : &args[part.i];
        call->rets[next++] = *from;
        *from = dp_none();
    }
    return rc;
}

const follow_row *follow_find(dp_call *call, const follow_row *rows, size_t n)
{
    const follow_row *row = bsearch(dp_op_name(call->op), rows, n, sizeof(*rows), by_name);

    if (row == NULL)
        dp_fail(call->ctx, DP_EPLUGIN, "%s follows from no operator", dp_op_name(call->op));
    return row;
}

int follow(dp_call *call, const follow_row *rows, size_t n)
{
    const follow_row *row = follow_find(call, rows, n);

    if (row == NULL)
        return DP_EPLUGIN;
    dp_value *args = dp_alloc_n(call->ctx, row->n_args + row->n_rets, sizeof(dp_value));
    dp_value *rets = args + row->n_args;
    if (args == NULL)
        return DP_ERESOURCE;
    for (uint32_t i = 0; i < row->n_args; i++)
        args[i] = dp_none();
    int rc = all_arguments(call, row, args);
    if (rc == 0)
        rc = dp_call_boxed(call->ctx, dp_op_find(call->ctx, row->target), args, row->n_args, rets,
                           row->n_rets);
    if (rc < 0) {
        release_made(row, args);
        return dp_refuse(call->ctx, rc, NULL);
    }
    rc = results(call, row, args, rets);
    if (rc < 0)
        dp_values_release(call->rets, call->n_rets);
    release_made(row, args);
    dp_values_release(rets, row->n_rets);
    return rc;
}
