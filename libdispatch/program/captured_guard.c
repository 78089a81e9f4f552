/* captured_guard.c -- the guards of a program that was captured: what it takes for granted of its
 * inputs.  Its calls were recorded for tensors of one geometry, values that are no tensors are part
 * of the calls, and a tensor that a kernel made was recognised by its storage. */
#include "capture.h"

/* The inputs of a capture, while their guards are made. */
typedef struct guarding {
    const dp_capture *c;
    dp_builder *b;
    /* [n_values] where each value is among the inputs; item INT32_MIN: it is not */
    dp_input_place *places;
    bool offsets; /* a call names an offset in the storage, so the inputs' offsets matter */
} guarding;

static bool is_known(const guarding *g, uint32_t value)
{
    return g->places[value].item != INT32_MIN;
}

/* Does a call make a view at an offset in a storage? */
static bool has_offsets(const dp_capture *c)
{
    bool any = false;

    for (uint32_t i = 0; i < c->n_calls && !any; i++) {
        const dp_op *op = c->calls[i].op;
        any = op != NULL && strncmp(op->name, "aten::as_strided", 16) == 0;
    }
    return any;
}

/* Find the inputs, and the items of those that are lists. */
static void find_places(guarding *g)
{
    const dp_capture *c = g->c;

    for (uint32_t v = 0; v < c->n_values; v++)
        g->places[v] = (dp_input_place){0, INT32_MIN, 0};
    for (uint32_t i = 0; i < c->n_inputs; i++)
        g->places[c->inputs[i].value] = (dp_input_place){i, -1, 0};
    for (uint32_t i = 0; i < c->n_calls; i++) {
        const dpi_captured_call *call = &c->calls[i];
        if (call->kind != DP_STEP_ITEM)
            continue;
        uint32_t list = c->args[call->first_arg] & 0xfffffffu;
        if (is_known(g, list) && g->places[list].item < 0)
            g->places[call->first_ret] =
                (dp_input_place){g->places[list].input, (int32_t)call->item, 0};
    }
}

static int64_t first_byte(const dpi_captured *x)
{
    return x->offset * (int64_t)dp_dtype_size(x->dtype);
}

/* Add the guards of tensor `v`, an input or an item of one. */
static int guard_tensor(guarding *g, uint32_t v)
{
    /* A value without an id is a second name of an earlier one. */
    const dpi_captured *own = &g->c->values[v];
    const dpi_captured *x = own->id != 0 ? own : &g->c->values[own->same_storage - 1];
    dp_input_guard guard = {.size = sizeof(guard),
                            .kind = DP_GUARD_TENSOR,
                            .of = g->places[v],
                            .dtype = x->dtype,
                            .device = x->device,
                            .layout = x->keys.functionality,
                            .ndim = x->ndim,
                            .sizes = x->extents,
                            .strides = x->extents + x->ndim,
                            .offset = g->offsets ? x->offset : -1};
    uint32_t other = own->same_storage;

    int rc = dp_builder_guard(g->b, &guard);
    while (other != 0 && !is_known(g, other - 1))
        other = g->c->values[other - 1].same_storage;
    if (rc < 0 || other == 0)
        return rc;
    return dp_builder_guard(
        g->b, &(dp_input_guard){.size = sizeof(guard),
                                .kind = DP_GUARD_SHARE,
                                .of = g->places[v],
                                .other = g->places[other - 1],
                                .number = first_byte(x) - first_byte(&g->c->values[other - 1])});
}

static int guard_value(guarding *g, dp_input_place of, uint32_t constant)
{
    return dp_builder_guard(g->b, &(dp_input_guard){.size = sizeof(dp_input_guard),
                                                    .kind = DP_GUARD_VALUE,
                                                    .of = of,
                                                    .value = &g->c->constants[constant]});
}

/* Add the guards of input `i` that are not of tensors.  tensors[k]: is item k a tensor? */
static int guard_others(guarding *g, uint32_t i, const bool *tensors)
{
    const dpi_captured_input *in = &g->c->inputs[i];
    const dp_value list = {.tag = in->tag};
    uint32_t constant = in->constant;

    if (in->tag == DP_TAG_TENSOR || in->tag == DP_TAG_GENERATOR || in->tag == DP_TAG_OBJECT)
        return 0;
    if (!dp_is_list(&list))
        return guard_value(g, (dp_input_place){i, -1, 0}, constant);
    int rc = dp_builder_guard(g->b, &(dp_input_guard){.size = sizeof(dp_input_guard),
                                                      .kind = DP_GUARD_LENGTH,
                                                      .of = {i, -1, 0},
                                                      .number = in->len});
    for (uint32_t k = 0; k < in->len && rc == 0; k++)
        if (!tensors[k])
            rc = guard_value(g, (dp_input_place){i, (int32_t)k, 0}, constant++);
    return rc;
}

/* Find which items of input `i` are tensors, and add its guards that are not of tensors. */
static int guard_input(dp_ctx *ctx, guarding *g, uint32_t i)
{
    uint32_t len = g->c->inputs[i].len;
    bool *tensors = dp_arena_alloc_n(&ctx->arena, len, sizeof(*tensors));

    if (tensors == NULL)
        return dpi_no_memory(&ctx->error, "the guards of a program");
    dp_zero_n(tensors, len, sizeof(*tensors));
    for (uint32_t v = g->c->inputs[i].value + 1; v < g->c->n_values && len > 0; v++)
        if (is_known(g, v) && g->places[v].input == i && g->places[v].item >= 0)
            tensors[g->places[v].item] = true;
    return guard_others(g, i, tensors);
}

static int add_guards(dp_ctx *ctx, guarding *g)
{
    uint32_t n = 0;
    int rc = 0;

    find_places(g);
    g->offsets = has_offsets(g->c);
    for (uint32_t i = 0; i < g->c->n_inputs && rc == 0; i++)
        rc = guard_input(ctx, g, i);
    for (uint32_t v = 0; v < g->c->n_values && rc == 0; v++)
        if (is_known(g, v) && (g->c->values[v].id != 0 || g->c->values[v].same_storage != 0)) {
            rc = guard_tensor(g, v);
            n++;
        }
    if (rc == 0 && n > 1)
        rc = dp_builder_guard(
            g->b, &(dp_input_guard){.size = sizeof(dp_input_guard), .kind = DP_GUARD_APART});
    return rc;
}

int dpi_capture_guards(dp_ctx *ctx, const dp_capture *c, dp_builder *b)
{
    guarding g = {.c = c, .b = b, .places = dp_malloc_n(c->n_values + 1, sizeof(*g.places))};

    if (g.places == NULL)
        return dpi_no_memory(&ctx->error, "the guards of a program");
    int rc = add_guards(ctx, &g);
    dp_free(g.places);
    return rc;
}
