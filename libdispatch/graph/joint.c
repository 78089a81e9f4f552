/* joint.c -- make the joint program of a program: one that computes its outputs and the gradients
 * of its inputs, from the inputs and the gradients of the outputs; and the program of its
 * derivative in a direction.
 *
 * The program runs once over fakes while a capture records what it calls, and so does its backward.
 * Then in-place calls are replaced by functional ones, so that a step may be put elsewhere. */
#include "joint.h"
#include "autograd/history.h"
#include "autograd/symbol.h"
#include "dispatch/call/values.h"
#include "program/capture.h"
#include <stdio.h>

/* The state while the joint program is captured. */
typedef struct tracer {
    int (*backward)(struct tracer *t); /* records what comes after the forward */
    dp_ctx *ctx;
    dp_capture *c;
    const dp_program *p;
    const dp_grad_options *o;
    dp_value *inputs; /* [p->n_inputs] with fakes; owned up to n_owned */
    uint32_t n_owned;
    dp_value *outputs; /* [p->n_outputs]; owned if `ran` */
    bool ran;
    dp_tensor **roots, **tangents; /* [n_roots] outputs that have a gradient, and fakes for it */
    uint32_t n_roots;
    dp_tensor **grads;        /* [o->n_wrt] owned */
    dp_tensor **wrt;          /* [o->n_wrt] */
    dp_tensor **double_grads; /* [n_roots] owned; of a derivative in a direction */
} tracer;

static int no_memory(dp_ctx *ctx)
{
    return dpi_no_memory(&ctx->error, "a joint program");
}

/* Allocate an array of `n` NULLs; NULL: no memory. */
static dp_tensor **no_tensors(dp_arena *a, uint32_t n)
{
    dp_tensor **list = dp_arena_alloc_n(a, n, sizeof(dp_tensor *));

    if (list != NULL)
        dp_zero_n(list, n, sizeof(dp_tensor *));
    return list;
}

static int check_options(dp_ctx *ctx, const dp_program *p, const dp_grad_options *o)
{
    if (o->n_wrt == 0)
        return dp_error_set(&ctx->error, DP_EVALUE,
                            "gradients of no input: expected the names of one or more");
    for (uint32_t i = 0; i < o->n_wrt; i++) {
        if (o->wrt[i] >= p->n_inputs)
            return dp_error_set(&ctx->error, DP_EVALUE, "the program has no input %u, only %u",
                                o->wrt[i], p->n_inputs);
        for (uint32_t k = 0; k < i; k++)
            if (o->wrt[k] == o->wrt[i])
                return dp_error_set(&ctx->error, DP_EVALUE, "input '%.64s' is named twice",
                                    dp_program_input_name(p, o->wrt[i]));
    }
    return 0;
}

/* -- inputs -- */

/* Replace the tensors of list *v by fakes, in the context's memory. */
static int fake_list(dp_ctx *ctx, dp_value *v)
{
    dp_value *items = dp_arena_alloc_n(&ctx->arena, v->len, sizeof(*items));
    uint32_t n = 0;
    int rc = items != NULL ? 0 : no_memory(ctx);

    while (n < v->len && rc == 0) {
        dp_value item = dp_list_item(v, n);
        if (item.tag == DP_TAG_TENSOR)
            rc = dp_fake(ctx, item.u.t, &item.u.t);
        else
            dpi_values_ref(&item, 1);
        if (rc == 0)
            items[n++] = item;
    }
    if (rc < 0) {
        dp_values_release(items, n);
        return rc;
    }
    *v = (dp_value){DP_TAG_LIST, v->len, {0}};
    v->u.values = items;
    return 0;
}

/* Copy `inputs` to t->inputs, with fakes for their tensors. */
static int fake_inputs(tracer *t, const dp_value *inputs)
{
    int rc = 0;

    dp_copy_n(t->inputs, inputs, t->p->n_inputs, sizeof(*inputs));
    for (uint32_t i = 0; i < t->p->n_inputs && rc == 0; i++) {
        dp_value *v = &t->inputs[i];
        if (v->tag == DP_TAG_TENSOR)
            rc = dp_fake(t->ctx, v->u.t, &v->u.t);
        else if (v->tag == DP_TAG_TENSORS || v->tag == DP_TAG_LIST)
            rc = fake_list(t->ctx, v);
        else
            dpi_values_ref(v, 1);
        if (rc == 0)
            t->n_owned = i + 1;
    }
    return rc;
}

static int require_gradients(const tracer *t)
{
    int rc = 0;

    for (uint32_t i = 0; i < t->o->n_wrt && rc == 0; i++) {
        const dp_value *v = &t->inputs[t->o->wrt[i]];
        const char *name = dp_program_input_name(t->p, t->o->wrt[i]);
        if (v->tag != DP_TAG_TENSOR)
            return dp_error_set(&t->ctx->error, DP_ETYPE, "input '%.64s' is a %s, not a tensor",
                                name, dpi_value_kind(v));
        if (!dp_dtype_is_floating(v->u.t->dtype) && !dp_dtype_is_complex(v->u.t->dtype))
            return dp_error_set(&t->ctx->error, DP_ERUNTIME,
                                "input '%.64s' is of %s, and only floating-point and complex "
                                "tensors have gradients",
                                name, dp_dtype_name(v->u.t->dtype));
        rc = dp_tensor_set_requires_grad(t->ctx, v->u.t, true);
        t->wrt[i] = v->u.t;
    }
    return rc;
}

static int capture_inputs(const tracer *t)
{
    int rc = 0;

    for (uint32_t i = 0; i < t->p->n_inputs && rc == 0; i++)
        rc = dp_capture_input(t->ctx, t->c, dp_program_input_name(t->p, i), &t->inputs[i]);
    return rc < 0 ? rc : dpi_capture_constants(t->ctx, t->c, t->p);
}

/* -- the run, and its backward -- */

static int run_forward(tracer *t)
{
    dp_run run = {.size = sizeof(run), .inputs = t->inputs, .outputs = t->outputs, .step = -1};
    const int64_t *before = t->ctx->step_now;

    t->ctx->step_now = &run.step;
    int rc = dp_program_run(t->ctx, t->p, &run);
    t->ctx->step_now = before;
    t->ran = rc == 0;
    for (uint32_t i = 0; i < t->p->n_outputs && rc == 0; i++)
        rc = dp_capture_output(t->ctx, t->c, dp_program_output_name(t->p, i), &t->outputs[i]);
    return rc;
}

enum { NAME_BYTES = DP_KEY_NAME_MAX };

/* Write "grad_" or "tangent_" and the name of output `i`, or its number, to `buf`. */
static const char *name_of_output(const tracer *t, const char *prefix, uint32_t i,
                                  char buf[NAME_BYTES])
{
    const char *output = dp_program_output_name(t->p, i);

    if (output[0] != '\0')
        snprintf(buf, NAME_BYTES, "%s%.48s", prefix, output);
    else
        snprintf(buf, NAME_BYTES, "%s%u", prefix, i);
    return buf;
}

static const char *name_of_input(const tracer *t, const char *prefix, uint32_t k,
                                 char buf[NAME_BYTES])
{
    snprintf(buf, NAME_BYTES, "%s%.48s", prefix, dp_program_input_name(t->p, t->o->wrt[k]));
    return buf;
}

/* Is output `i` a tensor that has a gradient, and no earlier output? */
static bool is_root(const tracer *t, uint32_t i)
{
    const dp_value *v = &t->outputs[i];
    bool fresh = v->tag == DP_TAG_TENSOR && dp_tensor_requires_grad(v->u.t);

    for (uint32_t k = 0; k < t->n_roots && fresh; k++)
        fresh = t->roots[k] != v->u.t;
    return fresh;
}

static bool is_input(const dp_capture *c, const char *name)
{
    bool found = false;

    for (uint32_t i = 0; i < c->n_inputs && !found; i++)
        found = strcmp(c->inputs[i].name, name) == 0;
    return found;
}

/* Make a fake, with the layout that aten::empty_like would give it, an input of the program: *out,
 * owned.  If an input has the name, as where the program is a joint program itself, a number
 * follows it. */
static int add_fake(tracer *t, const char *name, const dp_tensor *like, dp_tensor **out)
{
    char numbered[NAME_BYTES + 16];
    int rc = dp_empty_like(t->ctx, like, DP_DTYPE_NONE, DP_PRESERVE, out);

    if (rc < 0)
        return rc;
    snprintf(numbered, sizeof(numbered), "%s", name);
    for (uint32_t n = 2; is_input(t->c, numbered); n++)
        snprintf(numbered, sizeof(numbered), "%s_%u", name, n);
    const dp_value v = dp_tensor_value(*out);
    return dp_capture_input(t->ctx, t->c, numbered, &v);
}

static int fail_no_root(const tracer *t)
{
    return dp_error_set(&t->ctx->error, DP_ERUNTIME,
                        "no output of the program depends on an input with a gradient");
}

/* Record the backward: inputs for the gradients of the outputs, outputs for those of the inputs. */
static int run_backward(tracer *t)
{
    char name[NAME_BYTES];
    int rc = 0;

    for (uint32_t i = 0; i < t->p->n_outputs && rc == 0; i++)
        if (is_root(t, i)) {
            uint32_t k = t->n_roots++;
            t->roots[k] = t->outputs[i].u.t;
            rc = add_fake(t, name_of_output(t, "grad_", i, name), t->roots[k], &t->tangents[k]);
        }
    if (rc == 0 && t->n_roots == 0)
        return fail_no_root(t);
    if (rc == 0)
        rc = dp_gradients(t->ctx, t->roots, t->tangents, t->n_roots, t->wrt, t->o->n_wrt, 0,
                          t->grads);
    for (uint32_t i = 0; i < t->o->n_wrt && rc == 0; i++) {
        const dp_value grad = dp_tensor_value(t->grads[i]);
        rc = dp_capture_output(t->ctx, t->c, name_of_input(t, "grad_", i, name), &grad);
    }
    return rc;
}

/* -- a derivative in a direction -- */

static int call_like(dp_ctx *ctx, const char *name, dp_tensor *like, dp_tensor **out)
{
    const dp_op *op = dp_op_find(ctx, name);
    const dp_value args[6] = {dp_tensor_value(like)};
    dp_value ret = {0};
    int rc = op == NULL ? ctx->error.code : dp_call_boxed(ctx, op, args, 6, &ret, 1);

    *out = rc == 0 ? ret.u.t : NULL;
    return rc;
}

/* Give output `i` a gradient that requires one itself: what the backward returns is linear in it,
 * and the coefficients are the derivatives. */
static int add_linear(tracer *t, uint32_t i)
{
    uint32_t k = t->n_roots;
    int rc = call_like(t->ctx, "aten::zeros_like", t->outputs[i].u.t, &t->tangents[k]);

    if (rc < 0)
        return rc;
    t->roots[k] = t->outputs[i].u.t;
    t->n_roots++;
    return dp_tensor_set_requires_grad(t->ctx, t->tangents[k], true);
}

/* Add output "tangent_y" for each root y; one that no input with a tangent reaches has zeros. */
static int output_tangents(tracer *t)
{
    char name[NAME_BYTES];
    int rc = 0;

    for (uint32_t i = 0; i < t->p->n_outputs && rc == 0; i++)
        for (uint32_t k = 0; k < t->n_roots && rc == 0; k++) {
            if (t->outputs[i].u.t != t->roots[k] || t->outputs[i].tag != DP_TAG_TENSOR)
                continue;
            if (t->double_grads[k] == NULL)
                rc = call_like(t->ctx, "aten::zeros_like", t->roots[k], &t->double_grads[k]);
            const dp_value v = dp_tensor_value(t->double_grads[k]);
            if (rc == 0)
                rc = dp_capture_output(t->ctx, t->c, name_of_output(t, "tangent_", i, name), &v);
        }
    return rc;
}

/* Record the derivative of the outputs in the direction of inputs "tangent_x", by two backwards. */
static int run_twice(tracer *t)
{
    uint32_t n = t->o->n_wrt, n_linear = 0;
    dp_tensor **directions = no_tensors(&t->ctx->arena, n);
    char name[NAME_BYTES];
    int rc = directions != NULL ? 0 : no_memory(t->ctx);

    for (uint32_t i = 0; i < t->p->n_outputs && rc == 0; i++)
        if (is_root(t, i))
            rc = add_linear(t, i);
    if (rc == 0 && t->n_roots == 0)
        return fail_no_root(t);
    if (rc == 0)
        rc = dp_gradients(t->ctx, t->roots, t->tangents, t->n_roots, t->wrt, n, 3, t->grads);
    uint32_t made = 0;
    for (uint32_t i = 0; i < n && rc == 0; i++, made++)
        rc = add_fake(t, name_of_input(t, "tangent_", i, name), t->wrt[i], &directions[i]);
    dp_tensor **linear = no_tensors(&t->ctx->arena, n), **towards = no_tensors(&t->ctx->arena, n);
    if ((linear == NULL || towards == NULL) && rc == 0)
        rc = no_memory(t->ctx);
    for (uint32_t i = 0; i < n && rc == 0; i++)
        if (t->grads[i] != NULL && dp_tensor_requires_grad(t->grads[i])) {
            linear[n_linear] = t->grads[i];
            towards[n_linear++] = directions[i];
        }
    if (rc == 0 && n_linear > 0)
        rc = dp_gradients(t->ctx, linear, towards, n_linear, t->tangents, t->n_roots, 0,
                          t->double_grads);
    if (rc == 0)
        rc = output_tangents(t);
    for (uint32_t i = 0; i < made; i++)
        dp_tensor_unref(directions[i]);
    return rc;
}

/* Run forward and backward while t->c records them. */
static int record(tracer *t)
{
    const dp_keyset include = {dpi_capture_bits(t->c), 0}, none = {0, 0};
    DP_MODE(mode, t->ctx);

    mode.no_grad = mode.inference = false;
    int depth = dp_guard_mode(t->ctx, &mode);
    if (depth < 0)
        return depth;
    int rc = require_gradients(t);
    if (rc == 0)
        rc = capture_inputs(t);
    int inner = rc == 0 ? dp_guard_enter(t->ctx, include, none) : rc;
    t->ctx->capture = t->c;
    t->c->of_program = true;
    rc = inner < 0 ? inner : run_forward(t);
    if (rc == 0)
        rc = t->backward(t);
    t->ctx->capture = NULL;
    dp_guard_leave(t->ctx, depth);
    return rc;
}

static int prepare(tracer *t, const dp_value *inputs)
{
    dp_arena *a = &t->ctx->arena;
    const dp_capture_options how = {.size = sizeof(how), .fakes = true};

    if (t->ctx->capture != NULL)
        return dp_error_set(&t->ctx->error, DP_ERUNTIME,
                            "a joint program cannot be made while a capture records the calls");
    t->inputs = dp_arena_alloc_n(a, t->p->n_inputs, sizeof(*t->inputs));
    t->outputs = dp_arena_alloc_n(a, t->p->n_outputs, sizeof(*t->outputs));
    t->roots = no_tensors(a, t->p->n_outputs);
    t->tangents = no_tensors(a, t->p->n_outputs);
    t->grads = no_tensors(a, t->o->n_wrt);
    t->wrt = no_tensors(a, t->o->n_wrt);
    t->double_grads = no_tensors(a, t->p->n_outputs);
    if (t->inputs == NULL || t->outputs == NULL || t->roots == NULL || t->tangents == NULL ||
        t->grads == NULL || t->wrt == NULL || t->double_grads == NULL)
        return no_memory(t->ctx);
    int rc = dpi_need_fallback(t->ctx, DP_KEY_OF(DP_F_AutogradFunctionality, DP_B_CPU),
                               "a gradient", "autograd");
    if (rc == 0)
        rc = dp_capture_new(t->ctx, &how, &t->c);
    return rc < 0 ? rc : fake_inputs(t, inputs);
}

/* Keep the fakes of the inputs and of the gradients for dpi_joint_drop(). */
static int keep_fakes(const tracer *t, dpi_joint *out)
{
    uint32_t n = t->n_owned;
    dp_value *fakes = dp_arena_alloc_n(&t->ctx->arena, (size_t)n + t->n_roots, sizeof(*fakes));

    if (fakes == NULL)
        return no_memory(t->ctx);
    dp_copy_n(fakes, t->inputs, n, sizeof(*fakes));
    for (uint32_t i = 0; i < t->n_roots; i++)
        fakes[n + i] = dp_tensor_value(t->tangents[i]);
    out->fakes = fakes;
    out->n_fakes = n + t->n_roots;
    return 0;
}

/* Replace *p by what `pass` makes of it. */
static int apply(dp_ctx *ctx, int (*pass)(dp_ctx *, const dp_program *, dp_program **),
                 dp_program **p)
{
    dp_program *made;
    int rc = pass(ctx, *p, &made);

    if (rc < 0)
        return rc;
    dp_program_unref(*p);
    *p = made;
    return 0;
}

static void release_all(dp_tensor *const *list, uint32_t n)
{
    for (uint32_t i = 0; list != NULL && i < n; i++)
        dp_tensor_unref(list[i]);
}

/* Record the program of `t`: *out, owned.  `kept`: keeps the fakes, or NULL. */
static int trace(tracer *t, const dp_value *inputs, dp_program **out, dpi_joint *kept)
{
    int rc = check_options(t->ctx, t->p, t->o);

    if (rc == 0)
        rc = prepare(t, inputs);
    if (rc == 0)
        rc = record(t);
    if (rc == 0)
        rc = dp_capture_finish(t->ctx, t->c, out);
    if (rc == 0 && kept != NULL)
        rc = keep_fakes(t, kept);
    dp_capture_free(t->c);
    if (t->ran)
        dp_values_release(t->outputs, t->p->n_outputs);
    release_all(t->grads, t->o->n_wrt);
    if (t->double_grads != NULL)
        release_all(t->double_grads, t->n_roots);
    if (kept == NULL || kept->fakes == NULL) {
        dp_values_release(t->inputs, t->n_owned);
        release_all(t->tangents, t->n_roots);
    }
    if (rc == 0 && ((*out)->flags & DP_STEP_FLAG_EFFECT))
        rc = apply(t->ctx, dp_program_functionalize, out);
    return rc < 0 ? rc : apply(t->ctx, dp_program_dead, out);
}

int dpi_joint_make(dp_ctx *ctx, const dp_program *p, const dp_value *inputs,
                   const dp_grad_options *o, dpi_joint *out)
{
    tracer t = {.backward = run_backward, .ctx = ctx, .p = p, .o = o};

    *out = (dpi_joint){.n_inputs = p->n_inputs, .n_outputs = p->n_outputs};
    return trace(&t, inputs, &out->p, out);
}

int dp_program_jvp(dp_ctx *ctx, const dp_program *p, const dp_value *inputs, const uint32_t *wrt,
                   uint32_t n_wrt, dp_program **out)
{
    const dp_grad_options o = {.size = sizeof(o), .wrt = wrt, .n_wrt = n_wrt};
    tracer t = {.backward = run_twice, .ctx = ctx, .p = p, .o = &o};
    dp_program *made = NULL;

    if (!DPI_GIVEN(&ctx->error, DP_EVALUE, p, out))
        return DP_EVALUE;
    int rc = trace(&t, inputs, &made, NULL);
    if (rc == 0)
        *out = made;
    else
        dp_program_unref(made);
    return rc;
}

void dpi_joint_drop(dpi_joint *j)
{
    if (j->fakes != NULL)
        dp_values_release(j->fakes, j->n_fakes);
    j->p = dp_program_unref(j->p);
}
