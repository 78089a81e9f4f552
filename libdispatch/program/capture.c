/* capture.c -- record the calls of operators that a context makes, to make a program from them.
 *
 * dp_capture_call() is the fallback kernel of the keys Functionalize and Tracer (plugin capture).
 * It looks up each argument among the values that the capture knows, runs the call below with both
 * keys excluded, so that nothing which that call calls is recorded, and adds the call and its
 * results to the capture.  At Functionalize, calls arrive below autograd and autocast, and
 * composite operators have been decomposed; at Tracer, calls arrive as they were made.
 *
 * A tensor that a kernel made without a call (a view by dp_as_strided(), an alias that autograd
 * saved) is recognised by its storage. */
#include "capture.h"
#include "dispatch/call/enter.h"
#include "dispatch/plugin/plugins.h"
#include <stdio.h>

#define CAPTURE_BITS (DPI_BIT(Functionalize) | DPI_BIT(Tracer))

/* -- arguments -- */

/* Fail because of a value that the program cannot have; `what` describes it. */
static int fail_value(const dpi_recorder *r, const char *what)
{
    if (r->schema == NULL)
        return dp_error_set(&r->ctx->error, DP_EVALUE, "output '%.64s' is %s", r->name, what);
    return dp_error_set(&r->ctx->error, DP_EVALUE, "%s: argument '%s' is %s", r->name,
                        r->schema->args[r->argument].name, what);
}

static int fail_unknown(const dpi_recorder *r, const dp_tensor *t)
{
    char shape[DP_SHAPE_TEXT], what[DP_SHAPE_TEXT + 200];
    DPI_VIEW(v, t);

    snprintf(what, sizeof(what),
             "a %s tensor of shape %s that the capture does not know: it is no input, no constant "
             "and no result of a recorded call; begin with it as an input or a constant",
             dp_dtype_name(v.dtype), dp_shape_text(shape, v.sizes, (size_t)v.ndim));
    return fail_value(r, what);
}

/* Record that `t` is a view of value `base`, whose storage it has: *out, its value. */
static int record_view(const dpi_recorder *r, uint32_t base, const dp_tensor *t, uint32_t *out)
{
    dp_ctx *ctx = r->ctx;
    dp_capture *c = r->c;
    const dp_op *op = dp_op_find(ctx, "aten::as_strided");
    DPI_VIEW(v, t);
    const dp_value constants[3] = {dp_ints(v.sizes, (size_t)v.ndim),
                                   dp_ints(v.strides, (size_t)v.ndim), dp_int(dp_tensor_offset(t))};
    uint32_t refs[4] = {DPI_CAPTURED(DPI_HAS_VALUE, base)};
    int rc = op != NULL ? 0 : ctx->error.code;

    for (int i = 0; i < 3 && rc == 0; i++)
        rc = dpi_capture_keep(ctx, c, &constants[i], &refs[i + 1]);
    if (rc == 0)
        rc = dpi_capture_add_call(
            ctx, c, (dpi_captured_call){.kind = DP_STEP_CALL, .op = op, .n_args = 4, .n_rets = 1},
            refs);
    *out = c->n_values;
    return rc == 0 ? dpi_capture_add_tensor(ctx, c, t) : rc;
}

/* Find the value that has the bytes and the geometry of `t`, or of which `t` is a view. */
static int find_by_storage(const dpi_recorder *r, const dp_tensor *t, uint32_t *out)
{
    const dp_capture *c = r->c;
    uint32_t v = *dpi_capture_slot(c, c->homes, dp_tensor_storage_id(t), true), base = 0;

    for (; v != 0; v = c->values[v - 1].same_storage) {
        if (c->values[v - 1].is_old)
            continue;
        base = v;
        if (dpi_capture_is_like(&c->values[v - 1], t)) {
            *out = dpi_capture_first(c, v - 1);
            return 0;
        }
    }
    if (base == 0 || c->values[base - 1].dtype != t->dtype)
        return fail_unknown(r, t);
    return record_view(r, dpi_capture_first(c, base - 1), t, out);
}

static int record_tensor(const dpi_recorder *r, const dp_tensor *t, uint32_t *out)
{
    dp_capture *c = r->c;
    dp_value number;
    double z[2];
    uint32_t v;

    if (dpi_capture_reserve(r->ctx, c) < 0)
        return DP_ERESOURCE;
    if ((v = *dpi_capture_slot(c, c->table, dp_tensor_id(t), false)) != 0) {
        *out = DPI_CAPTURED(DPI_HAS_VALUE, dpi_capture_first(c, v - 1));
        return 0;
    }
    if (dpi_wrapped_number(t, z, &number))
        return dpi_capture_keep(r->ctx, c, &number, out);
    int rc = find_by_storage(r, t, &v);
    *out = DPI_CAPTURED(DPI_HAS_VALUE, v);
    return rc;
}

/* A generator or an object: an input. */
static int record_other(const dpi_recorder *r, const dp_value *v, uint32_t *out)
{
    const dp_capture *c = r->c;

    for (uint32_t i = 0; i < c->n_inputs; i++)
        if (c->inputs[i].tag == v->tag && c->inputs[i].other == (const void *)v->u.g) {
            *out = DPI_CAPTURED(DPI_HAS_VALUE, c->inputs[i].value);
            return 0;
        }
    return fail_value(r, v->tag == DP_TAG_GENERATOR ? "a generator that is no input of the capture"
                                                    : "an object that is no input of the capture");
}

bool dpi_holds_tensors(const dp_value *v)
{
    bool any = v->tag == DP_TAG_TENSOR || (v->tag == DP_TAG_TENSORS && v->len > 0) ||
               v->tag == DP_TAG_GENERATOR || v->tag == DP_TAG_OBJECT;

    for (uint32_t i = 0; !any && v->tag == DP_TAG_LIST && i < v->len; i++)
        any = dpi_holds_tensors(&v->u.values[i]);
    return any;
}

/* Record argument `v`: *out, a reference.  A list with tensors is its length, then its items, in
 * `items`. */
int dpi_capture_argument(const dpi_recorder *r, const dp_value *v, uint32_t *out)
{
    dp_capture *c = r->c;
    uint32_t at = c->n_items;
    int rc = 0;

    if (!dpi_holds_tensors(v))
        return dpi_capture_keep(r->ctx, c, v, out);
    if (v->tag == DP_TAG_TENSOR)
        return record_tensor(r, v->u.t, out);
    if (!dp_is_list(v))
        return record_other(r, v, out);
    if (!DPI_CAPTURE_GROW(r->ctx, c, items, (uint64_t)v->len + 1))
        return DP_ERESOURCE;
    c->n_items += v->len + 1;
    c->items[at] = v->len;
    for (uint32_t i = 0; i < v->len && rc == 0; i++) {
        dp_value item = dp_list_item(v, i);
        uint32_t ref = 0;
        rc = dpi_capture_argument(r, &item, &ref);
        c->items[at + 1 + i] = ref;
    }
    *out = DPI_CAPTURED(DPI_HAS_LIST, at);
    return rc;
}

/* -- returns -- */

/* Record that value `number`, which a call computed from the elements of tensors, was `v`: the
 * program fails if it is another number then. */
static int record_number(dp_ctx *ctx, dp_capture *c, uint32_t number, const dp_value *v)
{
    uint32_t refs[2] = {DPI_CAPTURED(DPI_HAS_VALUE, number)};
    int rc = dpi_capture_keep(ctx, c, v, &refs[1]);

    if (rc == 0)
        rc = dpi_capture_add_call(
            ctx, c, (dpi_captured_call){.kind = DP_STEP_SCALAR, .n_args = 2, .n_rets = 1}, refs);
    return rc == 0 ? dpi_capture_add_other(ctx, c) : rc;
}

static int record_returns(dp_ctx *ctx, dp_capture *c, uint32_t first, const dp_call *call)
{
    int rc = 0;

    for (uint32_t i = 0; i < call->n_rets && rc == 0; i++)
        rc = call->rets[i].tag == DP_TAG_TENSOR ? dpi_capture_add_tensor(ctx, c, call->rets[i].u.t)
                                                : dpi_capture_add_other(ctx, c);
    for (uint32_t i = 0; i < call->n_rets && rc == 0; i++) {
        const dp_value *v = &call->rets[i];
        if (dp_is_list(v))
            rc = dpi_capture_items(ctx, c, first + i, v);
        else if (v->tag != DP_TAG_TENSOR && v->tag != DP_TAG_NONE)
            rc = record_number(ctx, c, first + i, v);
    }
    return rc;
}

/* Describe again the tensors that `call` wrote to, whose geometry it may have changed. */
static int record_writes(const dpi_recorder *r, const dp_call *call)
{
    int rc = 0;

    for (uint32_t i = 0; i < call->n_args && rc == 0; i++) {
        const dp_value *v = &call->args[i];
        if (!r->schema->args[i].written)
            continue;
        if (v->tag == DP_TAG_TENSOR)
            rc = dpi_capture_again(r->ctx, r->c, v->u.t);
        for (uint32_t k = 0; dp_is_list(v) && k < v->len && rc == 0; k++) {
            dp_value item = dp_list_item(v, k);
            if (item.tag == DP_TAG_TENSOR)
                rc = dpi_capture_again(r->ctx, r->c, item.u.t);
        }
    }
    return rc;
}

/* -- the kernel -- */

/* Check that the program can have what the operator returns. */
static int check_returns(const dpi_recorder *r)
{
    const dp_schema *s = r->schema;
    const uint32_t tensors = 1u << DP_TAG_TENSOR | 1u << DP_TAG_TENSORS;

    if (s->vararg || s->varret)
        return dp_error_set(&r->ctx->error, DP_ENOTIMPL,
                            "%s: an operator with ... cannot be captured", r->name);
    for (uint32_t i = 0; i < s->n_rets && !r->c->numbers; i++)
        if (!(s->rets[i].tags & tensors))
            return dp_error_set(
                &r->ctx->error, DP_ENOTIMPL,
                "%s returns a number that depends on the elements of tensors, so a program cannot "
                "be captured; with numbers=true the program has it, and fails where it differs",
                r->name);
    return 0;
}

/* Record the arguments of `call` and add the call. */
static int record_call(dpi_recorder *r, const dp_call *call)
{
    uint32_t refs[DP_LIMIT_ARGUMENTS];
    int rc = check_returns(r);

    for (uint32_t i = 0; i < call->n_args && rc == 0; i++) {
        r->argument = i;
        refs[i] = 0;
        rc = dpi_capture_argument(r, &call->args[i], &refs[i]);
    }
    dpi_captured_call step = {.kind = DP_STEP_CALL,
                              .op = call->op,
                              .n_args = call->n_args,
                              .n_rets = call->n_rets,
                              .no_grad =
                                  call->key == DP_KEY(DP_F_Tracer) && dp_ctx_mode(r->ctx)->no_grad};
    return rc < 0 ? rc : dpi_capture_add_call(r->ctx, r->c, step, refs);
}

int dp_capture_call(dp_call *call)
{
    dp_ctx *ctx = call->ctx;
    dp_capture *c = ctx->capture;

    if (c == NULL || c->key != call->key)
        return dpi_call_below(call, call->n_args, CAPTURE_BITS);
    const dp_capture_mark before = dp_capture_now(c);
    const dpi_entry *e = dpi_snapshot_entry(dpi_ctx_snapshot(ctx), call->op);
    dpi_recorder r = {ctx, c, call->op->name, e->schema, 0};

    int rc = record_call(&r, call);
    if (rc < 0) {
        dp_capture_undo(c, &before);
        return dp_refuse(ctx, rc, NULL);
    }
    uint32_t first = c->n_values;
    rc = dpi_call_below(call, call->n_args, CAPTURE_BITS);
    if (rc == 0)
        rc = record_returns(ctx, c, first, call);
    if (rc == 0)
        rc = record_writes(&r, call);
    if (rc < 0)
        dp_capture_undo(c, &before);
    return rc;
}

__attribute__((constructor)) static void fill(void)
{
    dpi_fill_dp_capture_call(dp_capture_call);
}
