/* captured_run.c -- capture the calls that a program makes when it runs: the calls of a program of
 * composite operators are decomposed, those of a backward in it are recorded, too. */
#include "history.h"
#include "program/capture.h"

static int no_memory(dp_ctx *ctx)
{
    return dpi_no_memory(&ctx->error, "a capture");
}

/* Make a fake of `t` that requires a gradient if `t` does: *out, owned. */
static int fake_of(dp_ctx *ctx, const dp_tensor *t, dp_tensor **out)
{
    bool requires_grad = dp_tensor_requires_grad(t);
    int rc = dp_fake(ctx, t, out);

    if (rc == 0 && requires_grad && (rc = dp_tensor_set_requires_grad(ctx, *out, true)) < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* Replace the tensors of *v by fakes, owned, in the context's memory. */
static int make_fake(dp_ctx *ctx, dp_value *v)
{
    int rc = 0;

    if (v->tag == DP_TAG_TENSOR)
        return fake_of(ctx, v->u.t, &v->u.t);
    if (v->tag != DP_TAG_TENSORS)
        return 0;
    dp_tensor **list = dp_arena_alloc_n(&ctx->arena, v->len, sizeof(dp_tensor *));
    uint32_t n = 0;
    if (list == NULL)
        return no_memory(ctx);
    for (; n < v->len && rc == 0; n++) {
        list[n] = NULL;
        rc = v->u.tensors[n] != NULL ? fake_of(ctx, v->u.tensors[n], &list[n]) : 0;
    }
    v->u.tensors = list;
    if (rc < 0)
        while (n-- > 0)
            dp_tensor_unref(list[n]);
    return rc;
}

/* Copy `inputs` to *out; with `fakes` their tensors are fakes, which *n_owned says. */
static int copy_inputs(dp_ctx *ctx, const dp_value *inputs, uint32_t n, bool fakes, dp_value **out,
                       uint32_t *n_owned)
{
    int rc = 0;

    if ((*out = dp_arena_alloc_n(&ctx->arena, n, sizeof(**out))) == NULL)
        return no_memory(ctx);
    dp_copy_n(*out, inputs, n, sizeof(**out));
    for (uint32_t i = 0; fakes && i < n && rc == 0; i++)
        if ((rc = make_fake(ctx, &(*out)[i])) == 0)
            *n_owned = i + 1;
    return rc;
}

static int add_program_constants(dp_ctx *ctx, const dp_program *p, dp_capture *c)
{
    char name[DP_KEY_NAME_MAX];
    int rc = 0;

    for (uint32_t i = 0; i < p->n_constants && rc == 0; i++)
        if (p->constants[i].tag == DP_TAG_TENSOR)
            rc = dp_capture_constant(ctx, c,
                                     dp_program_value_name(p, DPI_REF(DPI_REF_CONSTANT, i), name),
                                     p->constants[i].u.t);
    return rc;
}

static int capture_run(dp_ctx *ctx, const dp_program *p, const dp_value *inputs, dp_capture *c)
{
    dp_value *outputs = dp_arena_alloc_n(&ctx->arena, p->n_outputs, sizeof(*outputs));
    dp_run run = {.size = sizeof(run), .inputs = inputs, .outputs = outputs, .step = -1};
    const dp_keyset include = {dpi_capture_bits(c), 0}, none = {0, 0};

    if (outputs == NULL)
        return no_memory(ctx);
    int depth = dp_guard_enter(ctx, include, none);
    if (depth < 0)
        return depth;
    ctx->capture = c;
    int rc = dp_program_run(ctx, p, &run);
    ctx->capture = NULL;
    dp_guard_leave(ctx, depth);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < p->n_outputs && rc == 0; i++)
        rc = dp_capture_output(ctx, c, dp_program_output_name(p, i), &outputs[i]);
    dp_values_release(outputs, p->n_outputs);
    return rc;
}

int dp_program_capture(dp_ctx *ctx, const dp_program *p, const dp_value *inputs,
                       const dp_capture_options *o, dp_program **out)
{
    dp_capture *c = NULL;
    dp_value *copies = NULL;
    uint32_t n_owned = 0;

    if (ctx->capture != NULL)
        return dp_error_set(&ctx->error, DP_ERUNTIME,
                            "a program cannot be captured while a capture records its calls");
    int rc = dp_capture_new(ctx, o, &c);
    if (rc == 0)
        rc = copy_inputs(ctx, inputs, p->n_inputs, c->fakes, &copies, &n_owned);
    for (uint32_t i = 0; i < p->n_inputs && rc == 0; i++)
        rc = dp_capture_input(ctx, c, dp_program_input_name(p, i), &copies[i]);
    if (rc == 0)
        rc = add_program_constants(ctx, p, c);
    if (rc == 0)
        rc = capture_run(ctx, p, copies, c);
    if (rc == 0)
        rc = dp_capture_finish(ctx, c, out);
    dp_capture_free(c);
    if (n_owned > 0)
        dp_values_release(copies, n_owned);
    return rc;
}
