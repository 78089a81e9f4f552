/* capture_io.c -- inputs, constants and outputs of a program that is captured. */
#include "capture.h"

/* Keep what the program requires of an input: a value that is no tensor, or such items of a
 * list. */
static int keep_others(dp_ctx *ctx, dp_capture *c, const dp_value *v)
{
    uint32_t ref;
    int rc = 0;

    if (v->tag == DP_TAG_TENSOR || v->tag == DP_TAG_GENERATOR || v->tag == DP_TAG_OBJECT)
        return 0;
    if (!dp_is_list(v))
        return dpi_capture_keep(ctx, c, v, &ref);
    for (uint32_t i = 0; i < v->len && rc == 0; i++) {
        dp_value item = dp_list_item(v, i);
        if (item.tag != DP_TAG_TENSOR)
            rc = dpi_capture_keep(ctx, c, &item, &ref);
    }
    return rc;
}

static const char *keep_name(dp_ctx *ctx, dp_capture *c, const char *name)
{
    const char *copy = dp_arena_dup(c->arena, name, strlen(name) + 1);

    if (copy == NULL)
        dpi_capture_no_memory(ctx);
    return copy;
}

static int fail_known(dp_ctx *ctx, const char *name)
{
    return dp_error_set(&ctx->error, DP_EEXISTS,
                        "'%.64s' is a tensor that the capture knows already", name);
}

/* Check that `v` has no tensors in lists of lists, which guards could not name. */
static int check_depth(dp_ctx *ctx, const char *name, const dp_value *v)
{
    for (uint32_t i = 0; dp_is_list(v) && i < v->len; i++) {
        dp_value item = dp_list_item(v, i);
        if (dp_is_list(&item) && dpi_holds_tensors(&item))
            return dp_error_set(&ctx->error, DP_ETYPE,
                                "input '%.64s': item %u is a list with tensors, but a capture "
                                "takes tensors in one list only",
                                name, i);
    }
    return 0;
}

int dp_capture_input(dp_ctx *ctx, dp_capture *c, const char *name, const dp_value *v)
{
    const dp_capture_mark before = dp_capture_now(c);
    dpi_captured_input input = {.name = keep_name(ctx, c, name),
                                .value = c->n_values,
                                .tag = v->tag,
                                .len = dp_is_list(v) ? v->len : 0,
                                .constant = c->n_constants};

    if (check_depth(ctx, name, v) < 0)
        return ctx->error.code;
    if (input.name == NULL || !DPI_CAPTURE_GROW(ctx, c, inputs, 1) ||
        dpi_capture_reserve(ctx, c) < 0) {
        dp_capture_undo(c, &before);
        return DP_ERESOURCE;
    }
    if (v->tag == DP_TAG_GENERATOR || v->tag == DP_TAG_OBJECT)
        input.other = v->u.g;
    bool known =
        v->tag == DP_TAG_TENSOR && *dpi_capture_slot(c, c->table, dp_tensor_id(v->u.t), false) != 0;
    c->inputs[c->n_inputs++] = input;
    int rc = known                     ? fail_known(ctx, name)
             : v->tag == DP_TAG_TENSOR ? dpi_capture_add_tensor(ctx, c, v->u.t)
                                       : dpi_capture_add_other(ctx, c);
    if (rc == 0 && dp_is_list(v))
        rc = dpi_capture_items(ctx, c, input.value, v);
    if (rc == 0)
        rc = keep_others(ctx, c, v);
    if (rc < 0)
        dp_capture_undo(c, &before);
    return rc;
}

int dp_capture_constant(dp_ctx *ctx, dp_capture *c, const char *name, dp_tensor *t)
{
    const dp_capture_mark before = dp_capture_now(c);
    const dp_value v = dp_tensor_value(t);
    uint32_t ref;

    if (dpi_capture_reserve(ctx, c) < 0)
        return DP_ERESOURCE;
    if (*dpi_capture_slot(c, c->table, dp_tensor_id(t), false) != 0)
        return fail_known(ctx, name);
    int rc = dpi_capture_keep(ctx, c, &v, &ref);
    if (rc == 0)
        rc = dpi_capture_add_tensor(ctx, c, t);
    if (rc == 0) {
        c->values[c->n_values - 1].constant = 1 + (ref & 0xfffffffu);
        c->values[c->n_values - 1].name = keep_name(ctx, c, name);
        rc = c->values[c->n_values - 1].name != NULL ? 0 : DP_ERESOURCE;
    }
    if (rc < 0)
        dp_capture_undo(c, &before);
    return rc;
}

int dp_capture_output(dp_ctx *ctx, dp_capture *c, const char *name, const dp_value *v)
{
    const dp_capture_mark before = dp_capture_now(c);
    const dpi_recorder r = {ctx, c, name, NULL, 0};
    dpi_captured_output output = {keep_name(ctx, c, name), 0};
    bool begun;
    int rc = output.name != NULL && DPI_CAPTURE_GROW(ctx, c, outputs, 1) ? 0 : DP_ERESOURCE;

    if (rc == 0 && (rc = dpi_ctx_pin(ctx, &begun)) == 0) { /* a view of a value is a call */
        rc = dpi_capture_argument(&r, v, &output.ref);
        dpi_ctx_unpin(ctx, begun);
    }
    if (rc == 0)
        c->outputs[c->n_outputs++] = output;
    else
        dp_capture_undo(c, &before);
    return rc;
}
