/* sizes.c -- the memory that the values of a program take, found by a run over fakes.
 *
 * The program is copied with all its values as outputs, so that a run returns each of them. */
#include "joint.h"
#include "dispatch/call/ctx.h"

static int make_probe(dp_ctx *ctx, const dp_program *p, dp_program **out)
{
    dpi_rewrite r;
    int rc = dpi_rewrite_begin(&r, ctx, p);

    for (uint32_t i = 0; i < p->n_steps && rc == 0; i++)
        rc = dpi_rewrite_keep(&r, i);
    for (uint32_t i = 0; i < p->n_values && rc == 0; i++)
        rc = dp_builder_output(r.b, NULL, r.values[i]);
    if (rc == 0)
        rc = dpi_rewrite_finish(&r, out);
    dpi_rewrite_end(&r);
    return rc;
}

static void measure_tensor(const dp_tensor *t, dpi_value_size *out)
{
    DPI_VIEW(v, t);

    out->bytes =
        dp_size_plus(out->bytes, dp_sizes_product(dp_dtype_size(v.dtype), v.sizes, (size_t)v.ndim));
    out->storage = dp_tensor_storage_id(t);
}

static void measure(const dp_value *v, dpi_value_size *out)
{
    *out = (dpi_value_size){.is_list = dp_is_list(v)};
    if (v->tag == DP_TAG_TENSOR)
        measure_tensor(v->u.t, out);
    for (uint32_t i = 0; v->tag == DP_TAG_TENSORS && i < v->len; i++)
        if (v->u.tensors[i] != NULL)
            measure_tensor(v->u.tensors[i], out);
    out->of_input = out->storage == 0;
}

static int run_probe(dp_ctx *ctx, const dp_program *probe, const dp_value *fakes,
                     dpi_value_size *sizes)
{
    const dp_keyset fake = {DPI_BIT(Fake), 0}, none = {0, 0};
    uint32_t n = probe->n_outputs;
    dp_value *outputs = dp_arena_alloc_n(&ctx->arena, n, sizeof(*outputs));
    dp_run run = {.size = sizeof(run), .inputs = fakes, .outputs = outputs, .step = -1};
    DP_MODE(mode, ctx);

    if (outputs == NULL)
        return dpi_no_memory(&ctx->error, "the values of a program");
    mode.no_grad = true;
    int depth = dp_guard_mode(ctx, &mode);
    int inner = depth < 0 ? depth : dp_guard_enter(ctx, fake, none);
    int rc = inner < 0 ? inner : dp_program_run(ctx, probe, &run);
    if (depth >= 0)
        dp_guard_leave(ctx, depth);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < n; i++)
        measure(&outputs[i], &sizes[i]);
    dp_values_release(outputs, n);
    return 0;
}

int dpi_value_sizes(dp_ctx *ctx, const dp_program *p, const dp_value *fakes, dpi_value_size *sizes)
{
    dp_program *probe = NULL;
    int rc = make_probe(ctx, p, &probe);

    if (rc == 0)
        rc = run_probe(ctx, probe, fakes, sizes);
    dp_program_unref(probe);
    for (uint32_t i = 0; i < p->n_values && rc == 0; i++)
        for (uint32_t k = 0; k < p->n_inputs && !sizes[i].of_input; k++)
            sizes[i].of_input = sizes[i].storage == sizes[k].storage;
    return rc;
}
