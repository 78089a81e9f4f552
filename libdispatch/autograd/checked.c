/* checked.c -- evaluate the operator or program whose gradients dp_grad_check() checks: copy its
 * arguments to float64 and complex128, call it, and list its outputs that require gradients. */
#include "gradcheck.h"
#include "tensor/room.h"
#include <dispatchd/program.h>
#include <string.h>

enum { NO_ITEM = UINT32_MAX, NAME_BYTES = DP_LIMIT_NAME_BYTES + 64 };

static int no_memory(dpi_function *f)
{
    return dpi_no_memory(&f->ctx->error, "a check of gradients");
}

/* -- arguments -- */

/* Call `see` for each tensor in `v`, item by item, with its place in a copy of `v`; `to` may be
 * `v`. */
typedef int (*see_fn)(dpi_function *f, dp_tensor *t, uint32_t index, uint32_t item,
                      dp_tensor **place);

static int walk(dpi_function *f, const dp_value *v, dp_value *to, uint32_t index, uint32_t *item,
                see_fn see)
{
    int rc = 0;

    *to = *v;
    if (v->tag == DP_TAG_TENSOR) {
        rc = see(f, v->u.t, index, *item, &to->u.t);
        *item += *item != NO_ITEM;
        return rc;
    }
    if (v->tag != DP_TAG_TENSORS && v->tag != DP_TAG_LIST)
        return 0;
    if (*item == NO_ITEM)
        *item = 0;
    void *list = dp_arena_alloc_n(&f->ctx->arena, v->len,
                                  v->tag == DP_TAG_LIST ? sizeof(dp_value) : sizeof(dp_tensor *));
    if (list == NULL)
        return no_memory(f);
    if (v->tag == DP_TAG_LIST) {
        to->u.values = list;
        for (uint32_t i = 0; i < v->len && rc == 0; i++)
            rc = walk(f, &v->u.values[i], (dp_value *)list + i, index, item, see);
        return rc;
    }
    to->u.tensors = list;
    for (uint32_t i = 0; i < v->len && rc == 0; i++, ++*item) {
        ((dp_tensor **)list)[i] = v->u.tensors[i];
        if (v->u.tensors[i] != NULL)
            rc = see(f, v->u.tensors[i], index, *item, (dp_tensor **)list + i);
    }
    return rc;
}

static int walk_all(dpi_function *f, see_fn see)
{
    int rc = 0;

    for (uint32_t i = 0; i < f->o->n_args && rc == 0; i++) {
        uint32_t item = NO_ITEM;
        rc = walk(f, &f->o->args[i], &f->args[i], i, &item, see);
    }
    return rc;
}

/* Count the tensors, and see whether one requires a gradient. */
static int count(dpi_function *f, dp_tensor *t, uint32_t index, uint32_t item, dp_tensor **place)
{
    (void)index, (void)item, (void)place;
    f->n_copies++;
    f->any |= dpi_differentiable(t->dtype) && dpi_needs_grad(t);
    return 0;
}

static int check_host(dpi_function *f, const dp_tensor *t)
{
    const dpi_geometry *g = dpi_geometry_of(t);
    char shape[DP_SHAPE_TEXT], device[DP_KEY_NAME_MAX];

    if (g->parts == NULL && g->storage->host && !dpi_is_memoryless(t))
        return 0;
    return dp_error_set(&f->ctx->error, DP_ENOTIMPL,
                        "%s: gradients are checked in the host's memory, but a tensor of shape %s "
                        "is %s %s",
                        f->name, dp_shape_text(shape, g->sizes, (size_t)g->ndim),
                        g->parts != NULL ? "a wrapper on" : "on",
                        dp_device_name(g->storage->device, device));
}

/* Make a contiguous copy of t, without history, of float64 or complex128: *out, owned. */
static int widen(dpi_function *f, dp_tensor *t, dp_tensor **out)
{
    dp_dtype wide = dp_dtype_is_complex(t->dtype) ? DP_COMPLEX128 : DP_FLOAT64;
    dp_value args[5] = {{0}, dp_int(wide), dp_bool(false), dp_bool(true), dp_int(DP_CONTIGUOUS)};
    dp_tensor *plain;
    int rc = dpi_call_one(f->ctx, "aten::detach", (dp_value[]){dp_tensor_value(t)}, 1, &plain);

    *out = NULL;
    if (rc < 0)
        return rc;
    args[0] = dp_tensor_value(plain);
    rc = dpi_call_one(f->ctx, "aten::to.dtype", args, 5, out);
    dp_tensor_unref(plain);
    return rc;
}

/* Let backward compute the gradient of x->t, a contiguous tensor of float64 or complex128. */
static int begin_leaf(dpi_function *f, dpi_checked *x)
{
    const dp_value args[2] = {dp_tensor_value(x->t), dp_bool(true)};
    dp_tensor *same;
    DP_VIEW(v, x->t);

    x->complex = dp_dtype_is_complex(v.dtype);
    x->n = (size_t)v.numel << x->complex;
    x->data = v.data;
    int rc = dpi_call_one(f->ctx, "aten::requires_grad_", args, 2, &same);
    if (rc == 0)
        dp_tensor_unref(same);
    return rc;
}

int dpi_function_too_large(dpi_function *f, uint64_t elements)
{
    dp_error_set(&f->ctx->error, DP_ERESOURCE,
                 "%s: %llu elements of inputs and outputs are to be checked, more than the "
                 "limit check_elements, %llu",
                 f->name, (unsigned long long)elements, (unsigned long long)f->o->max_elements);
    return dp_error_limit(DP_ERESOURCE, "check_elements", f->o->max_elements, elements);
}

uint64_t dpi_function_elements(const dpi_function *f)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < f->n_checked; i++)
        sum += f->checked[i].n >> f->checked[i].complex;
    return sum;
}

/* Copy one tensor, unless an earlier argument is the same tensor. */
static int copy(dpi_function *f, dp_tensor *t, uint32_t index, uint32_t item, dp_tensor **place)
{
    dp_tensor *made;

    if (!dpi_differentiable(t->dtype))
        return 0;
    for (uint32_t i = 0; i < f->n_checked; i++)
        if (f->checked[i].given == t) {
            *place = f->checked[i].t;
            return 0;
        }
    uint64_t elements = dpi_function_elements(f) + (uint64_t)dpi_geometry_of(t)->numel;
    bool chosen = !f->any || dpi_needs_grad(t);
    int rc = check_host(f, t);
    if (rc == 0 && chosen && elements > f->o->max_elements)
        rc = dpi_function_too_large(f, elements);
    if (rc == 0)
        rc = widen(f, t, &made);
    if (rc < 0)
        return rc;
    if (chosen) {
        dpi_checked *x = &f->checked[f->n_checked++];
        *x = (dpi_checked){.given = t, .t = made, .index = index, .item = item};
        rc = begin_leaf(f, x);
    } else {
        f->copies[f->n_copies++] = made;
    }
    *place = made;
    return rc;
}

/* Fail if the operator writes an argument: the copies would change from call to call. */
static int check_written(dpi_function *f)
{
    dp_schema_info info = {.size = sizeof(info)};
    dp_arg_info arg = {.size = sizeof(arg)};
    const char *name = NULL;

    if (f->o->program != NULL) {
        for (uint32_t i = 0; i < f->o->n_args && name == NULL; i++)
            if (dp_program_input_written(f->o->program, i))
                name = dp_program_input_name(f->o->program, i);
    } else if (dp_schema_info_get(f->ctx, f->o->op, &info) < 0) {
        return f->ctx->error.code;
    } else if (info.written != 0) {
        dp_op_arg(&info, (uint32_t)__builtin_ctzll(info.written), &arg);
        name = arg.name;
    }
    if (name == NULL)
        return 0;
    return dp_error_set(&f->ctx->error, DP_ERUNTIME,
                        "%s writes its argument '%s': check the gradients of one that returns its "
                        "result",
                        f->name, name);
}

/* Find out how many values the operator or the program returns. */
static int count_returns(dpi_function *f)
{
    dp_schema_info info = {.size = sizeof(info)};
    dp_program_info program = {.size = sizeof(program)};

    if (f->o->program != NULL) {
        dp_program_info_get(f->o->program, &program);
        f->n_rets = program.n_outputs;
    } else if (dp_schema_info_get(f->ctx, f->o->op, &info) < 0) {
        return f->ctx->error.code;
    } else {
        f->n_rets = info.n_rets;
    }
    return 0;
}

int dpi_function_init(dp_ctx *ctx, const dp_grad_check_options *o, dpi_function *f)
{
    *f = (dpi_function){.ctx = ctx, .o = o};
    f->name = o->op != NULL ? o->op->name : "the program";
    int rc = check_written(f);
    if (rc == 0)
        rc = count_returns(f);
    if (rc < 0)
        return rc;
    f->args = dp_arena_alloc_n(&ctx->arena, o->n_args, sizeof(*f->args));
    f->rets = dp_arena_alloc_n(&ctx->arena, f->n_rets, sizeof(*f->rets));
    if (f->args == NULL || f->rets == NULL)
        return no_memory(f);
    if ((rc = walk_all(f, count)) < 0)
        return rc;
    f->copies = dp_arena_alloc_n(&ctx->arena, f->n_copies, sizeof(*f->copies));
    f->checked = dp_arena_alloc_n(&ctx->arena, f->n_copies, sizeof(*f->checked));
    f->n_copies = 0;
    if (f->copies == NULL || f->checked == NULL)
        return no_memory(f);
    rc = walk_all(f, copy);
    f->n_args_checked = f->n_checked;
    if (rc == 0 && f->n_checked == 0)
        rc = dp_error_set(&ctx->error, DP_ERUNTIME,
                          "%s: gradients are checked for floating-point and complex tensors, but "
                          "no argument is one",
                          f->name);
    return rc;
}

/* -- evaluation -- */

static int add_output(dpi_function *f, dp_tensor *t, uint32_t index, uint32_t item)
{
    dpi_output *grown = dpi_grow(f->outputs, &f->cap_outputs, f->n_outputs + 1, sizeof(*grown));

    if (grown == NULL)
        return no_memory(f);
    f->outputs = grown;
    f->outputs[f->n_outputs++] = (dpi_output){dp_tensor_ref(t), index, item};
    return 0;
}

/* List the output t if it requires a gradient. */
static int list_output(dpi_function *f, dp_tensor *t, uint32_t index, uint32_t item,
                       dp_tensor **place)
{
    (void)place;
    if (!dpi_differentiable(t->dtype) || !dpi_needs_grad(t))
        return 0;
    int rc = check_host(f, t);
    return rc == 0 ? add_output(f, t, index, item) : rc;
}

static void clear(dpi_output *outputs, uint32_t *n)
{
    for (uint32_t i = 0; i < *n; i++)
        dp_tensor_unref(outputs[i].t);
    *n = 0;
}

/* Call the operator, or run the program. */
static int call(dpi_function *f)
{
    dp_run r = {.size = sizeof(r), .inputs = f->args, .outputs = f->rets, .step = -1};
    int rc = f->o->program != NULL
                 ? dp_program_run(f->ctx, f->o->program, &r)
                 : dp_call_boxed(f->ctx, f->o->op, f->args, f->o->n_args, f->rets, f->n_rets);

    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < f->n_rets && rc == 0; i++) {
        uint32_t item = NO_ITEM;
        dp_value seen;
        rc = walk(f, &f->rets[i], &seen, i, &item, list_output);
    }
    dp_values_release(f->rets, f->n_rets);
    return rc;
}

/* Replace f->outputs, those of the operator, by the gradients of its arguments. */
static int differentiate(dpi_function *f)
{
    dp_arena *a = &f->ctx->arena;
    uint32_t n = f->n_outputs, n_inputs = f->n_args_checked;
    dp_tensor **lists[4];
    const size_t lengths[4] = {n, n, n_inputs, n_inputs};

    for (int i = 0; i < 4; i++)
        if ((lists[i] = dp_arena_alloc_n(a, lengths[i], sizeof(dp_tensor *))) == NULL)
            return no_memory(f);
    if (n != f->n_checked - n_inputs)
        return dp_error_set(&f->ctx->error, DP_ERUNTIME,
                            "%s: the number of outputs that require a gradient depends on values",
                            f->name);
    for (uint32_t i = 0; i < n; i++) {
        lists[0][i] = f->outputs[i].t;
        lists[1][i] = f->checked[n_inputs + i].t;
    }
    for (uint32_t i = 0; i < n_inputs; i++)
        lists[2][i] = f->checked[i].t;
    int rc = dp_gradients(f->ctx, lists[0], lists[1], n, lists[2], n_inputs,
                          DP_BACKWARD_CREATE | DP_BACKWARD_RETAIN, lists[3]);
    if (rc < 0)
        return rc;
    clear(f->inner, &f->n_inner);
    dpi_output *swap = f->inner;
    uint32_t cap = f->cap_inner;
    f->inner = f->outputs, f->n_inner = f->n_outputs, f->cap_inner = f->cap_outputs;
    f->outputs = swap, f->n_outputs = 0, f->cap_outputs = cap;
    for (uint32_t i = 0; i < n_inputs; i++) {
        if (rc == 0 && lists[3][i] != NULL)
            rc = list_output(f, lists[3][i], i, NO_ITEM, NULL);
        dp_tensor_unref(lists[3][i]);
    }
    clear(f->inner, &f->n_inner);
    return rc;
}

int dpi_function_evaluate(dpi_function *f)
{
    char *at = f->ctx->arena.at;

    clear(f->outputs, &f->n_outputs);
    int rc = dp_checkpoint(f->ctx);
    if (rc == 0)
        rc = call(f);
    if (rc == 0 && f->second)
        rc = differentiate(f);
    dpi_arena_rewind(&f->ctx->arena, at);
    return rc;
}

/* Return a number between -1 and 1, by splitmix64: each check gets the same ones. */
static double draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)(z >> 11) * 0x1p-52 - 1;
}

int dpi_function_second(dpi_function *f)
{
    dp_arena *a = &f->ctx->arena;
    uint32_t n = f->n_args_checked;
    dpi_checked *all = dp_arena_alloc_n(a, n + (size_t)f->n_outputs, sizeof(*all));
    uint64_t state = 0;
    int rc = 0;

    if (all == NULL)
        return no_memory(f);
    dp_copy_n(all, f->checked, n, sizeof(*all));
    f->checked = all;
    for (uint32_t i = 0; i < f->n_outputs && rc == 0; i++) {
        const dpi_output *y = &f->outputs[i];
        dpi_checked *x = &f->checked[f->n_checked];
        *x = (dpi_checked){.index = y->index, .item = y->item};
        if ((rc = widen(f, y->t, &x->t)) < 0)
            break;
        f->n_checked++;
        rc = begin_leaf(f, x);
        for (size_t k = 0; k < x->n && rc == 0; k++)
            x->data[k] = draw(&state);
    }
    f->second = true;
    return rc;
}

int dpi_function_read(dpi_function *f, dp_tensor *t, dp_tensor **out, double **data)
{
    int rc = widen(f, t, out);

    if (rc < 0)
        return rc;
    DP_VIEW(v, *out);
    *data = v.data;
    return 0;
}

void dpi_function_fini(dpi_function *f)
{
    clear(f->outputs, &f->n_outputs);
    clear(f->inner, &f->n_inner);
    dp_free(f->outputs);
    dp_free(f->inner);
    for (uint32_t i = 0; i < f->n_checked; i++)
        dp_tensor_unref(f->checked[i].t);
    for (uint32_t i = 0; i < f->n_copies; i++)
        dp_tensor_unref(f->copies[i]);
}

/* -- names -- */

static const char *joined(dpi_function *f, const char *before, const char *name, uint32_t item)
{
    char *text = dp_arena_alloc(&f->ctx->arena, NAME_BYTES);

    if (text != NULL && item == NO_ITEM)
        snprintf(text, NAME_BYTES, "%s%.*s", before, DP_LIMIT_NAME_BYTES, name);
    else if (text != NULL)
        snprintf(text, NAME_BYTES, "%s%.*s[%u]", before, DP_LIMIT_NAME_BYTES, name, item);
    return text;
}

static const char *return_name(dpi_function *f, const char *before, uint32_t index, uint32_t item)
{
    dp_schema_info info = {.size = sizeof(info)};
    dp_arg_info ret = {.size = sizeof(ret)};
    char numbered[32];

    if (f->o->program != NULL)
        return joined(f, before, dp_program_output_name(f->o->program, index), item);
    if (dp_schema_info_get(f->ctx, f->o->op, &info) == 0 && dp_op_ret(&info, index, &ret) &&
        ret.name[0] != '\0')
        return joined(f, before, ret.name, item);
    snprintf(numbered, sizeof(numbered), index > 0 ? "result%u" : "result", index);
    return joined(f, before, numbered, item);
}

static const char *argument_name(dpi_function *f, const char *before, uint32_t index, uint32_t item)
{
    dp_schema_info info = {.size = sizeof(info)};
    dp_arg_info arg = {.size = sizeof(arg)};

    if (f->o->program != NULL)
        return joined(f, before, dp_program_input_name(f->o->program, index), item);
    if (dp_schema_info_get(f->ctx, f->o->op, &info) == 0 && dp_op_arg(&info, index, &arg))
        return joined(f, before, arg.name, item);
    return joined(f, before, "argument", index);
}

const char *dpi_function_input_name(dpi_function *f, const dpi_checked *x)
{
    if (x->given == NULL)
        return return_name(f, "gradient of ", x->index, x->item);
    return argument_name(f, "", x->index, x->item);
}

const char *dpi_function_output_name(dpi_function *f, const dpi_output *y)
{
    if (f->second)
        return argument_name(f, "gradient of ", f->checked[y->index].index,
                             f->checked[y->index].item);
    return return_name(f, "", y->index, y->item);
}
