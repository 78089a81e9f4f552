/* captured_run.c -- capture the calls that a program makes when it runs: the calls of a program of
 * composite operators are decomposed, those of a backward in it are recorded, too. */
#include "history.h"
#include "dispatch/call/values.h"
#include "program/capture.h"
#include "symbol.h"
#include <stdio.h>

static int no_memory(dp_ctx *ctx)
{
    return dpi_no_memory(&ctx->error, "a capture");
}

/* Fakes of the inputs. */
typedef struct faker {
    dp_ctx *ctx;
    const dpi_dynamic *dynamic; /* sizes that differ from those of the inputs; NULL: none */
    uint64_t *storages;         /* [n] storage of each tensor that has a fake */
    dp_tensor **fakes;          /* [n] */
    uint32_t n;
} faker;

bool dpi_dynamic_layout(const dpi_dynamic *d, const dp_tensor *t, dp_input_place at, int64_t *sizes,
                        int64_t *strides)
{
    bool any = false;
    DPI_VIEW(v, t);

    dp_copy_n(sizes, v.sizes, (size_t)v.ndim, sizeof(*sizes));
    for (uint32_t i = 0; i < d->n; i++)
        if (d->places[i].input == at.input && d->places[i].item == at.item) {
            sizes[d->places[i].dim] = d->sizes[i];
            any = true;
        }
    dpi_dense_strides(v.ndim, v.strides, sizes, strides);
    return any;
}

/* Find the fake of an earlier tensor that shares the storage and the dtype of `t`. */
static dp_tensor *relative_of(const faker *f, const dp_tensor *t)
{
    uint64_t storage = dp_tensor_storage_id(t);
    uint32_t i = 0;

    while (i < f->n && (f->storages[i] != storage || f->fakes[i]->dtype != t->dtype))
        i++;
    return i < f->n ? f->fakes[i] : NULL;
}

/* Make a fake of `t`, the tensor at place `at`: *out, owned.  Inputs that share a storage have
 * fakes that share one. */
static int fake_layout(faker *f, const dp_tensor *t, dp_input_place at, dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX], strides[DP_DIM_MAX];
    dp_error *err = &f->ctx->error;
    dp_tensor *relative = relative_of(f, t);
    DPI_VIEW(v, t);

    if (f->dynamic != NULL && dpi_dynamic_layout(f->dynamic, t, at, sizes, strides))
        return dpi_empty_strided(t->dtype, (dpi_target){v.device | DPI_FAKE, 0, f->ctx->account},
                                 v.ndim, sizes, strides, out, err);
    return relative != NULL
               ? dpi_as_strided(relative, v.ndim, v.sizes, v.strides, dp_tensor_offset(t), out, err)
               : dp_fake(f->ctx, t, out);
}

/* Make a fake of `t` that requires a gradient if `t` does: *out, owned. */
static int fake_of(faker *f, const dp_tensor *t, dp_input_place at, dp_tensor **out)
{
    int rc = fake_layout(f, t, at, out);

    if (rc == 0 && dp_tensor_requires_grad(t) &&
        (rc = dp_tensor_set_requires_grad(f->ctx, *out, true)) < 0)
        *out = dp_tensor_unref(*out);
    if (rc == 0) {
        f->storages[f->n] = dp_tensor_storage_id(t);
        f->fakes[f->n++] = *out;
    }
    return rc;
}

/* Replace the tensors of list *v by fakes, in the context's memory. */
static int fake_list(faker *f, dp_value *v, uint32_t input)
{
    dp_value *items = dp_arena_alloc_n(&f->ctx->arena, v->len, sizeof(*items));
    uint32_t n = 0;
    int rc = 0;

    if (items == NULL)
        return no_memory(f->ctx);
    for (; n < v->len && rc == 0; n++) {
        dp_value item = dp_list_item(v, n);
        items[n] = item;
        if (item.tag == DP_TAG_TENSOR)
            rc = fake_of(f, item.u.t, (dp_input_place){input, (int32_t)n, 0}, &items[n].u.t);
        else
            dpi_values_ref(&items[n], 1);
    }
    if (rc < 0) {
        dp_values_release(items, n - 1);
        return rc;
    }
    *v = (dp_value){DP_TAG_LIST, v->len, {0}};
    v->u.values = items;
    return 0;
}

/* Replace input *v by an owned copy whose tensors are fakes. */
static int make_fake(faker *f, dp_value *v, uint32_t input)
{
    if (v->tag == DP_TAG_TENSOR)
        return fake_of(f, v->u.t, (dp_input_place){input, -1, 0}, &v->u.t);
    if (v->tag == DP_TAG_TENSORS || v->tag == DP_TAG_LIST)
        return fake_list(f, v, input);
    dpi_values_ref(v, 1);
    return 0;
}

/* Copy `inputs` [n] to *out, with fakes for their tensors; the first *n_owned are owned. */
static int fake_inputs(faker *f, const dp_value *inputs, uint32_t n, dp_value *out,
                       uint32_t *n_owned)
{
    size_t tensors = 0;
    int rc = 0;

    for (uint32_t i = 0; i < n; i++)
        tensors += dp_is_list(&inputs[i]) ? inputs[i].len : 1;
    f->storages = dp_arena_alloc_n(&f->ctx->arena, tensors, sizeof(*f->storages));
    f->fakes = dp_arena_alloc_n(&f->ctx->arena, tensors, sizeof(dp_tensor *));
    if (f->storages == NULL || f->fakes == NULL)
        return no_memory(f->ctx);
    for (uint32_t i = 0; i < n && rc == 0; i++)
        if ((rc = make_fake(f, &out[i], i)) == 0)
            *n_owned = i + 1;
    return rc;
}

/* Make tensor `t` a constant of the capture, unless it is one already or is a number, which the
 * capture needs not know. */
static int capture_constant(dp_ctx *ctx, dp_capture *c, const char *name, dp_tensor *t)
{
    if (t == NULL || dp_tensor_is_wrapped(t))
        return 0;
    if (dpi_capture_reserve(ctx, c) < 0)
        return DP_ERESOURCE;
    uint32_t v = *dpi_capture_slot(c, c->table, dp_tensor_id(t), false);
    bool known = v != 0 && c->values[dpi_capture_first(c, v - 1)].constant != 0;
    return known ? 0 : dp_capture_constant(ctx, c, name, t);
}

/* Make the tensors of `v`, which may be a list, constants of the capture. */
static int capture_value(dp_ctx *ctx, dp_capture *c, const char *name, const dp_value *v)
{
    int rc = v->tag == DP_TAG_TENSOR ? capture_constant(ctx, c, name, v->u.t) : 0;

    for (uint32_t i = 0; dp_is_list(v) && i < v->len && rc == 0; i++) {
        dp_value item = dp_list_item(v, i);
        rc = capture_value(ctx, c, "", &item);
    }
    return rc;
}

/* The constants of the programs that `p` runs have no names: those of `p` may have the same.  Calls
 * itself, at most DP_LIMIT_PROGRAM_DEPTH deep. */
static int capture_constants(dp_ctx *ctx, dp_capture *c, const dp_program *p, bool named)
{
    char name[DP_KEY_NAME_MAX] = "";
    int rc = 0;

    for (uint32_t i = 0; i < p->n_constants && rc == 0; i++) {
        if (named)
            dp_program_value_name(p, DPI_REF(DPI_REF_CONSTANT, i), name);
        rc = capture_value(ctx, c, name, &p->constants[i]);
    }
    for (uint32_t i = 0; i < p->n_subs && rc == 0; i++)
        rc = capture_constants(ctx, c, p->subs[i], false);
    return rc;
}

int dpi_capture_constants(dp_ctx *ctx, dp_capture *c, const dp_program *p)
{
    return capture_constants(ctx, c, p, true);
}

/* Say what helps, if an operator failed since it needs the elements of a fake. */
static void fail_fakes(dp_ctx *ctx, int rc)
{
    size_t at = strlen(ctx->error.message);

    if (rc == DP_ENOTIMPL && strncmp(ctx->error.key, "Meta", 5) == 0)
        snprintf(ctx->error.message + at, sizeof(ctx->error.message) - at,
                 "; without fakes the capture computes with the inputs themselves");
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
    const int64_t *before = ctx->step_now;
    ctx->capture = c;
    c->of_program = true;
    ctx->step_now = &run.step;
    int rc = dp_program_run(ctx, p, &run);
    ctx->step_now = before;
    c->of_program = false;
    ctx->capture = NULL;
    dp_guard_leave(ctx, depth);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < p->n_outputs && rc == 0; i++)
        rc = dp_capture_output(ctx, c, dp_program_output_name(p, i), &outputs[i]);
    dp_values_release(outputs, p->n_outputs);
    return rc;
}

int dpi_capture_program(dp_ctx *ctx, const dp_program *p, const dp_value *inputs,
                        const dp_capture_options *o, const dpi_dynamic *dynamic, dp_program **out)
{
    dp_capture *c = NULL;
    dp_value *copies = dp_arena_alloc_n(&ctx->arena, p->n_inputs, sizeof(*copies));
    faker f = {.ctx = ctx, .dynamic = dynamic};
    uint32_t n_owned = 0;

    if (ctx->capture != NULL)
        return dp_error_set(&ctx->error, DP_ERUNTIME,
                            "a program cannot be captured while a capture records its calls");
    int rc = copies != NULL ? dp_capture_new(ctx, o, &c) : no_memory(ctx);
    if (rc < 0)
        return rc;
    dp_copy_n(copies, inputs, p->n_inputs, sizeof(*copies));
    if (c->fakes)
        rc = fake_inputs(&f, inputs, p->n_inputs, copies, &n_owned);
    for (uint32_t i = 0; i < p->n_inputs && rc == 0; i++)
        rc = dp_capture_input(ctx, c, dp_program_input_name(p, i), &copies[i]);
    if (rc == 0)
        rc = dpi_capture_constants(ctx, c, p);
    if (rc == 0)
        rc = capture_run(ctx, p, copies, c);
    if (rc < 0 && c->fakes && dynamic == NULL)
        fail_fakes(ctx, rc);
    if (rc == 0)
        rc = dp_capture_finish(ctx, c, out);
    dp_capture_free(c);
    if (n_owned > 0)
        dp_values_release(copies, n_owned);
    return rc;
}

int dp_program_capture(dp_ctx *ctx, const dp_program *p, const dp_value *inputs,
                       const dp_capture_options *o, dp_program **out)
{
    return dpi_capture_program(ctx, p, inputs, o, NULL, out);
}
