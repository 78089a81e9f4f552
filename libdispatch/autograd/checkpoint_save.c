/* checkpoint_save.c -- save what a program needs to run again in backward, and get it back: its
 * inputs, the dispatcher state and the state of the generators (torch.utils.checkpoint).
 *
 * Inputs are saved as nodes save them: with their versions, and without their history, so that no
 * node leads to itself.  An input that the program writes is copied before it runs. */
#include "base/generator.h"
#include "checkpoint.h"
#include "dispatch/call/values.h"

/* -- tensors of the inputs -- */

static inline uint32_t tensors_of(const dp_value *v, dp_tensor *const **list)
{
    *list = v->tag == DP_TAG_TENSOR ? (dp_tensor *const *)&v->u.t : v->u.tensors;
    return v->tag == DP_TAG_TENSOR ? 1 : v->tag == DP_TAG_TENSORS ? v->len : 0;
}

/* Has the program, or anyone else, written to an input since it was saved? */
static bool is_written(const dpi_slot *s)
{
    const dpi_saved *list;
    uint32_t n = dpi_saved_of(s, &list);

    for (uint32_t k = 0; k < n; k++)
        if (list[k].geometry != NULL && dpi_saved_is_stale(&list[k]))
            return true;
    return false;
}

/* Return the address of the saved tensor's first element; NULL: it has no memory. */
static const char *address_of(const dpi_saved *s)
{
    const char *data = s->geometry->storage->data;

    return data != NULL ? data + s->geometry->offset * (int64_t)dp_dtype_size(s->dtype) : NULL;
}

/* Have a tensor and its copy the same bytes?  False, too, if the bytes lie apart or not on the
 * CPU. */
static bool same_bytes(const dpi_saved *s, const dpi_saved *copy)
{
    const dpi_geometry *g = s->geometry;
    const char *a = g != NULL ? address_of(s) : NULL, *b = a != NULL ? address_of(copy) : NULL;

    if (a == NULL || b == NULL)
        return g == NULL || a == b;
    return g->dense && g->storage->device == DP_DEVICE_CPU &&
           memcmp(a, b, dp_size_times((uint64_t)g->numel, dp_dtype_size(s->dtype))) == 0;
}

/* Has the program left input i as it was?  Some operators write without increasing the version
 * (tag "keeps_version"), so the bytes are compared, too. */
static bool is_unchanged(const dpi_checkpoint *c, uint32_t i)
{
    const dpi_saved *list, *copies;
    uint32_t n = dpi_saved_of(&c->inputs[i], &list);

    dpi_saved_of(&c->copies[i], &copies);
    for (uint32_t k = 0; k < n; k++)
        if (!same_bytes(&list[k], &copies[k]))
            return false;
    return !is_written(&c->inputs[i]);
}

static bool contains(const dpi_slot *s, const dpi_storage *storage, const dpi_saved *except)
{
    const dpi_saved *list;
    uint32_t n = dpi_saved_of(s, &list);

    for (uint32_t k = 0; k < n; k++)
        if (&list[k] != except && list[k].geometry != NULL && list[k].geometry->storage == storage)
            return true;
    return false;
}

/* Check that no tensor of input `i`, which the program writes, shares its storage with another
 * input: the copies would not share theirs. */
static int check_alone(dp_ctx *ctx, const dpi_checkpoint *c, uint32_t i)
{
    const dpi_saved *list;
    uint32_t n = dpi_saved_of(&c->inputs[i], &list);

    for (uint32_t k = 0; k < n; k++)
        for (uint32_t other = 0; other < c->program->n_inputs && list[k].geometry != NULL; other++)
            if (contains(&c->inputs[other], list[k].geometry->storage, &list[k]))
                return dp_error_set(&ctx->error, DP_ERUNTIME,
                                    "recompute: the program writes to its input '%.64s', which "
                                    "shares memory with input '%.64s': it cannot be run again",
                                    dp_program_input_name(c->program, i),
                                    dp_program_input_name(c->program, other));
    return 0;
}

/* Copy `t`, with its strides: *out, owned. */
static int copy_tensor(dp_ctx *ctx, const dp_tensor *t, dp_tensor **out)
{
    const dpi_geometry *g = dpi_geometry_of(t);
    int rc = dpi_no_wrapper(t, &ctx->error);

    if (rc == 0)
        rc = dpi_empty_strided(t->dtype, dpi_ctx_target(ctx, g->storage->device), g->ndim, g->sizes,
                               g->strides, out, &ctx->error);
    if (rc == 0 && (rc = dpi_copy(*out, t, ctx->threads, &ctx->error)) < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* -- saving -- */

/* Save a tensor or a list of tensors; `copy`: of each a copy. */
static int save_tensors(dp_ctx *ctx, const dp_value *v, bool copy, dpi_slot *s)
{
    dp_tensor *const *list;
    uint32_t n = tensors_of(v, &list);
    dpi_saved *saved = &s->tensor;
    int rc = 0;

    if (v->tag == DP_TAG_TENSORS) {
        if ((saved = dp_calloc((size_t)n + 1, sizeof(*saved))) == NULL)
            return dpi_no_memory(&ctx->error, "a checkpoint");
        *s = (dpi_slot){.kind = DPI_SLOT_TENSORS, .n = n, .list = saved};
    } else {
        *s = (dpi_slot){.kind = DPI_SLOT_TENSOR};
        saved = &s->tensor;
    }
    for (uint32_t k = 0; k < n && rc == 0; k++) {
        dp_tensor *made = NULL;
        if (list[k] == NULL)
            continue;
        rc = copy ? copy_tensor(ctx, list[k], &made) : 0;
        if (rc == 0)
            dpi_saved_set(&saved[k], copy ? made : list[k]);
        dp_tensor_unref(made);
    }
    return rc;
}

static bool contains_tensor(const dp_value *v)
{
    bool found = v->tag == DP_TAG_TENSOR || v->tag == DP_TAG_TENSORS;

    for (uint32_t i = 0; v->tag == DP_TAG_LIST && i < v->len && !found; i++)
        found = contains_tensor(&v->u.values[i]);
    return found;
}

/* Save input i. */
static int save_input(dp_ctx *ctx, dpi_checkpoint *c, uint32_t i, const dp_value *v)
{
    uint8_t written = c->program->values[i].written;
    const char *name = dp_program_input_name(c->program, i);

    if (v->tag == DP_TAG_TENSOR || v->tag == DP_TAG_TENSORS) {
        int rc = save_tensors(ctx, v, false, &c->inputs[i]);
        return rc == 0 && written ? save_tensors(ctx, v, true, &c->copies[i]) : rc;
    }
    if (contains_tensor(v))
        return dp_error_set(&ctx->error, DP_EVALUE,
                            "recompute: input '%.64s' is a list of tensors and other values, which "
                            "cannot be saved: let its tensors be inputs",
                            name);
    if (v->tag == DP_TAG_OBJECT && written)
        return dp_error_set(&ctx->error, DP_EVALUE,
                            "recompute: the program may change its input '%.64s', an object, which "
                            "cannot be copied: it cannot be run again",
                            name);
    int rc = dp_value_copy(ctx, v, &c->inputs[i].value);
    c->inputs[i].kind = rc == 0 ? DPI_SLOT_VALUE : DPI_SLOT_NONE;
    return rc;
}

/* Note which tensors of the inputs require a gradient. */
static int save_needs(dp_ctx *ctx, dpi_checkpoint *c, const dp_value *inputs)
{
    uint32_t at = 0;
    dp_tensor *const *list;

    for (uint32_t i = 0; i < c->program->n_inputs; i++) {
        uint32_t n = tensors_of(&inputs[i], &list);
        for (uint32_t k = 0; k < n; k++, at++) {
            dpi_edge e;
            if (list[k] == NULL || !dpi_may_have_edge(list[k]))
                continue;
            int rc = dpi_edge_of(ctx, list[k], &e);
            if (rc < 0)
                return rc;
            c->needs[at] = e.to != NULL ? 1 + dpi_edge_topo(e) : 0;
            dpi_edge_unref(e);
        }
    }
    return 0;
}

/* -- generators -- */

/* Copy the default generators `from`: *out, owned. */
static int copy_defaults(dp_ctx *ctx, dp_generators *from, dp_generators **out)
{
    dp_generator *g, *copy;
    int rc = dpi_generators_like(from, out, &ctx->error);

    for (uint32_t i = 0; rc == 0 && (g = dpi_generators_item(from, i)) != NULL; i++) {
        if (dpi_generator_check(g, NULL) == 0) {
            rc = dpi_ctx_generator_copy(ctx, g, &copy);
            if (rc == 0)
                rc = dpi_generators_put(*out, copy, &ctx->error);
        }
        dp_generator_unref(g);
    }
    if (rc < 0)
        *out = dp_generators_free(*out);
    return rc;
}

/* Copy generator olds[i]: *out, owned.  If it is a default generator of `from`, the copy is that of
 * `to`; if it is another input, too, so is the copy: news [i]. */
static int copy_generator(dp_ctx *ctx, dp_generators *from, dp_generators *to, const dp_value *olds,
                          const dp_value *news, uint32_t i, dp_generator **out)
{
    dp_generator *g = olds[i].u.g, *usual;

    for (uint32_t k = 0; k < i; k++)
        if (olds[k].tag == DP_TAG_GENERATOR && olds[k].u.g == g) {
            *out = dp_generator_ref(news[k].u.g);
            return 0;
        }
    int rc = dp_generators_get(from, dp_generator_device(g), &usual, &ctx->error);
    if (rc < 0)
        return rc;
    rc = usual == g ? dp_generators_get(to, dp_generator_device(g), out, &ctx->error)
                    : dpi_ctx_generator_copy(ctx, g, out);
    dp_generator_unref(usual);
    return rc;
}

/* Save the state of all generators; news [n_inputs] is filled for inputs that are one. */
static int save_generators(dp_ctx *ctx, dpi_checkpoint *c, const dp_value *inputs, dp_value *news)
{
    dp_generators *from = ctx->generators != NULL ? ctx->generators : ctx->reg->generators;
    int rc = copy_defaults(ctx, from, &c->generators);

    for (uint32_t i = 0; i < c->program->n_inputs && rc == 0; i++) {
        dp_generator *copy;
        if (inputs[i].tag != DP_TAG_GENERATOR)
            continue;
        rc = copy_generator(ctx, from, c->generators, inputs, news, i, &copy);
        if (rc == 0) {
            c->inputs[i] = (dpi_slot){.kind = DPI_SLOT_VALUE,
                                      .value = {.tag = DP_TAG_GENERATOR, .u = {.g = copy}}};
            news[i] = c->inputs[i].value;
        }
    }
    return rc;
}

/* -- the checkpoint -- */

static int reserve(dp_ctx *ctx, dpi_checkpoint *c, const dp_value *inputs)
{
    uint32_t n = c->program->n_inputs, n_tensors = 0;
    dp_tensor *const *list;

    for (uint32_t i = 0; i < n; i++)
        n_tensors += tensors_of(&inputs[i], &list);
    int rc =
        dpi_checkpoint_charge(ctx, c,
                              dp_size_times((uint64_t)n, 2 * sizeof(dpi_slot)) +
                                  dp_size_times(n_tensors, sizeof(uint32_t) + sizeof(dpi_saved)));
    if (rc < 0)
        return rc;
    c->inputs = dp_calloc((size_t)n + 1, sizeof(*c->inputs));
    c->copies = dp_calloc((size_t)n + 1, sizeof(*c->copies));
    c->needs = dp_calloc((size_t)n_tensors + 1, sizeof(*c->needs));
    return c->inputs != NULL && c->copies != NULL && c->needs != NULL
               ? 0
               : dpi_no_memory(&ctx->error, "a checkpoint");
}

int dpi_checkpoint_save(dp_ctx *ctx, dpi_checkpoint *c, const dp_value *given)
{
    char *at = ctx->arena.at;
    uint32_t n = c->program->n_inputs;
    dp_value *news = dp_arena_alloc_n(&ctx->arena, n, sizeof(*news));
    dp_value *inputs = dp_arena_alloc_n(&ctx->arena, n, sizeof(*inputs));
    int rc = news != NULL && inputs != NULL ? 0 : dpi_no_memory(&ctx->error, "a checkpoint");

    if (rc == 0)
        dp_copy_n(inputs, given, n, sizeof(*inputs));
    for (uint32_t i = 0; i < n && rc == 0; i++)
        rc = dpi_checkpoint_tensors(ctx, &inputs[i]);
    if (rc == 0)
        rc = reserve(ctx, c, inputs);

    c->include = ctx->state->include;
    c->exclude = ctx->state->exclude;
    c->mode = *dp_ctx_mode(ctx);
    c->snapshot = dpi_ctx_snapshot(ctx)->number;
    if (rc == 0)
        rc = save_generators(ctx, c, inputs, news);
    for (uint32_t i = 0; i < n && rc == 0; i++)
        if (inputs[i].tag != DP_TAG_GENERATOR)
            rc = save_input(ctx, c, i, &inputs[i]);
    for (uint32_t i = 0; i < n && rc == 0; i++)
        if (c->program->values[i].written & DPI_WRITTEN)
            rc = check_alone(ctx, c, i);
    if (rc == 0)
        rc = save_needs(ctx, c, inputs);
    dpi_arena_rewind(&ctx->arena, at);
    return rc;
}

int dpi_checkpoint_settle(dp_ctx *ctx, dpi_checkpoint *c)
{
    int rc = 0;

    for (uint32_t i = 0; i < c->program->n_inputs && rc == 0; i++) {
        if (c->copies[i].kind == DPI_SLOT_NONE)
            continue;
        if (is_unchanged(c, i)) {
            dpi_slot_clear(&c->copies[i]);
            continue;
        }
        rc = check_alone(ctx, c, i);
        if (rc == 0)
            dpi_slot_clear(&c->inputs[i]);
    }
    return rc;
}

/* -- another run -- */

/* Give t history that ends at once, at a node whose topo is that of the node that the saved
 * tensor's edge led to: so calls are recorded, and get nodes in the same order, as before. */
static int give_history(dp_ctx *ctx, dp_tensor *t, uint32_t topo)
{
    dpi_node *end;
    uint32_t dims = 0;
    int rc = dpi_node_new(ctx, DPI_NODE_MISSING, NULL, 0, 1, 0, 0,
                          (uint32_t)dpi_geometry_of(t)->ndim, &end);

    if (rc < 0)
        return rc;
    end->topo = topo;
    dpi_node_set_return(end, 0, t, &dims);
    return dpi_history_set(ctx, t, end, 0);
}

/* Make the tensor saved as `s` of input i, of which `need` is in c->needs: *out, owned. */
static int restore_tensor(dp_ctx *ctx, const dpi_checkpoint *c, uint32_t i, const dpi_saved *s,
                          uint32_t need, dp_tensor **out)
{
    dp_tensor *saved;

    if (s->geometry == NULL)
        return 0;
    if (dpi_saved_is_stale(s))
        return dpi_saved_fail_stale(s, &ctx->error, "a program with recompute", "its input ",
                                    dp_program_input_name(c->program, i));
    int rc = dpi_saved_tensor(s, out, &ctx->error);
    if (rc == 0 && c->copies[i].kind != DPI_SLOT_NONE) {
        saved = *out;
        *out = NULL;
        rc = copy_tensor(ctx, saved, out);
        dp_tensor_unref(saved);
    }
    return rc == 0 && need > 0 ? give_history(ctx, *out, need - 1) : rc;
}

static int restore_input(dp_ctx *ctx, const dpi_checkpoint *c, uint32_t i, const uint32_t *needs,
                         dp_value *v)
{
    const dpi_slot *s = dpi_checkpoint_input(c, i);
    const dpi_saved *saved;
    uint32_t n = dpi_saved_of(s, &saved);
    dp_tensor *one = NULL, **list = &one;
    int rc = 0;

    if (s->kind == DPI_SLOT_TENSORS) {
        if ((list = dp_arena_alloc_n(&ctx->arena, n, sizeof(*list))) == NULL)
            return dpi_no_memory(&ctx->error, "the inputs of a program");
        dp_zero_n(list, n, sizeof(*list));
        *v = dp_tensors(list, n);
    }
    for (uint32_t k = 0; k < n && rc == 0; k++)
        rc = restore_tensor(ctx, c, i, &saved[k], needs[k], &list[k]);
    if (s->kind == DPI_SLOT_TENSOR && one != NULL)
        *v = dp_tensor_value(one);
    return rc;
}

int dpi_checkpoint_inputs(dp_ctx *ctx, const dpi_checkpoint *c, dp_value *values,
                          dp_generators **generators)
{
    uint32_t n = c->program->n_inputs, at = 0;
    const dpi_saved *saved;
    dp_value *olds = dp_arena_alloc_n(&ctx->arena, n, sizeof(*olds));

    dp_zero_n(values, n, sizeof(*values));
    if (olds == NULL)
        return dpi_no_memory(&ctx->error, "the inputs of a program");
    int rc = copy_defaults(ctx, c->generators, generators);
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        const dpi_slot *s = &c->inputs[i];
        olds[i] = s->kind == DPI_SLOT_VALUE ? s->value : (dp_value){0};
        if (olds[i].tag == DP_TAG_GENERATOR) {
            dp_generator *copy;
            rc = copy_generator(ctx, c->generators, *generators, olds, values, i, &copy);
            if (rc == 0)
                values[i] = (dp_value){.tag = DP_TAG_GENERATOR, .u = {.g = copy}};
        } else if (s->kind == DPI_SLOT_VALUE) {
            values[i] = s->value;
        } else {
            rc = restore_input(ctx, c, i, c->needs + at, &values[i]);
        }
        at += dpi_saved_of(dpi_checkpoint_input(c, i), &saved);
    }
    return rc;
}

void dpi_checkpoint_inputs_end(const dpi_checkpoint *c, dp_value *values)
{
    for (uint32_t i = 0; i < c->program->n_inputs; i++)
        if (values[i].tag == DP_TAG_TENSOR || values[i].tag == DP_TAG_TENSORS)
            dp_values_release(&values[i], 1);
        else if (values[i].tag == DP_TAG_GENERATOR)
            dp_generator_unref(values[i].u.g);
}

/* -- operators that were replaced -- */

/* Hash the kernels of `e` that compute results.  Those for gradients are left out: the nodes keep
 * the formulas with which they were recorded. */
static uint64_t kernels_of(const dpi_entry *e)
{
    uint64_t h = 0;

    for (uint32_t i = 0; e != NULL && i < e->n_kernels; i++) {
        dp_key k = e->kernels[i]->key;
        unsigned id = dp_key_functionality(k);
        if (id != DP_ALIAS_Autograd && id != DP_ALIAS_AutogradFormula &&
            (dpi_key_bit(k) & DPI_AUTOGRAD_BITS) == 0)
            h += (e->kernels[i]->id ^ UINT64_C(0x5851f42d4c957f2d)) * UINT64_C(0x9e3779b97f4a7c15);
    }
    return h;
}

int dpi_checkpoint_called(dp_ctx *ctx, dpi_checkpoint *c, const uint64_t *before, uint32_t n)
{
    const dpi_snapshot *s = dpi_ctx_snapshot(ctx);
    uint32_t count = 0;

    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < ctx->n_counts; i++) {
            if (atomic_load_explicit(&ctx->counts[i], memory_order_relaxed) ==
                    (i < n ? before[i] : 0) ||
                dpi_snapshot_at(s, i) == NULL)
                continue;
            if (pass == 1)
                c->called[c->n_called++] =
                    (dpi_called){s->entries[i]->op, kernels_of(s->entries[i])};
            count++;
        }
        if (pass == 1)
            break;
        int rc = dpi_checkpoint_charge(ctx, c, dp_size_times(count, sizeof(*c->called)));
        if (rc < 0)
            return rc;
        if ((c->called = dp_calloc((size_t)count + 1, sizeof(*c->called))) == NULL)
            return dpi_no_memory(&ctx->error, "a checkpoint");
    }
    return 0;
}

int dpi_checkpoint_check(dp_ctx *ctx, dpi_checkpoint *c)
{
    const dpi_snapshot *s = dpi_ctx_snapshot(ctx);

    for (uint32_t i = 0; s->number != c->snapshot && i < c->n_called; i++)
        if (kernels_of(dpi_snapshot_entry(s, c->called[i].op)) != c->called[i].kernels)
            return dp_error_set(&ctx->error, DP_ERUNTIME,
                                "recompute: the kernels of %s were replaced since the program ran, "
                                "so that it may compute something else: run it again first",
                                c->called[i].op->name);
    return 0;
}
