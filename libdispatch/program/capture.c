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
#include "dispatch/call/values.h"
#include "dispatch/plugin/plugins.h"
#include <stdio.h>

#define CAPTURE_BITS (DPI_BIT(Functionalize) | DPI_BIT(Tracer))

/* The recording of one call, or of one output. */
typedef struct recorder {
    dp_ctx *ctx;
    dp_capture *c;
    const char *name;        /* the operator's, or the output's */
    const dp_schema *schema; /* of the operator; NULL: an output is recorded */
    uint32_t argument;       /* number of the argument that is recorded now */
} recorder;

static int no_memory(dp_ctx *ctx)
{
    return dpi_no_memory(&ctx->error, "a capture");
}

/* -- the tables -- */

static uint32_t *slot_of(const dp_capture *c, uint32_t *table, uint64_t number, bool home)
{
    uint32_t i = (uint32_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> 32) & c->mask;

    while (table[i] != 0 &&
           (home ? c->values[table[i] - 1].storage : c->values[table[i] - 1].id) != number)
        i = (i + 1) & c->mask;
    return &table[i];
}

/* Enter value `v` in both tables, which have room for it. */
static void enter_value(dp_capture *c, uint32_t v)
{
    dpi_captured *x = &c->values[v];

    if (x->id == 0)
        return;
    *slot_of(c, c->table, x->id, false) = v + 1;
    uint32_t *home = slot_of(c, c->homes, x->storage, true);
    x->same_storage = *home;
    *home = v + 1;
    c->n_table++;
}

static void fill_tables(dp_capture *c)
{
    c->n_table = 0;
    for (uint32_t v = 0; v < c->n_values; v++)
        enter_value(c, v);
}

/* Make room for one more value in the tables, which are at most half full. */
static int tables_grow(dp_ctx *ctx, dp_capture *c)
{
    uint32_t n = c->table == NULL ? 256 : 2 * (c->mask + 1);

    if (c->table != NULL && 2 * (c->n_table + 1) <= c->mask)
        return 0;
    uint32_t *both = dp_calloc((size_t)n * 2, sizeof(*both));
    if (both == NULL)
        return no_memory(ctx);
    dp_free(c->table);
    c->table = both;
    c->homes = both + n;
    c->mask = n - 1;
    fill_tables(c);
    return 0;
}

/* Grow array `name` of capture `c` by `n` items.  False: the error is set. */
#define GROW(ctx, c, name, n)                                                                      \
    grow(ctx, &(c)->name, &(c)->cap_##name, (uint64_t)(c)->n_##name + (n), sizeof(*(c)->name))
static bool grow(dp_ctx *ctx, void *array, uint32_t *cap, uint64_t need, size_t item)
{
    void *old, *grown;

    if (need > DP_LIMIT_PROGRAM_VALUES) {
        dp_error_set(&ctx->error, DP_ERESOURCE,
                     "a capture of more than %d values, arguments or steps (program_values)",
                     DP_LIMIT_PROGRAM_VALUES);
        dp_error_limit(DP_ERESOURCE, "program_values", DP_LIMIT_PROGRAM_VALUES, need);
        return false;
    }
    memcpy(&old, array, sizeof(old));
    if ((grown = dpi_grow(old, cap, (uint32_t)need, item)) == NULL) {
        no_memory(ctx);
        return false;
    }
    memcpy(array, &grown, sizeof(grown));
    return true;
}

/* -- values -- */

static int describe_tensor(dp_ctx *ctx, dp_capture *c, const dp_tensor *t, dpi_captured *out)
{
    DPI_VIEW(v, t);
    size_t n = (size_t)v.ndim;
    int64_t *extents = dp_arena_alloc_n(c->arena, 2 * n, sizeof(*extents));

    if (extents == NULL)
        return dp_arena_failed(c->arena, 2 * n * sizeof(*extents), "a capture", &ctx->error);
    dp_copy_n(extents, v.sizes, n, sizeof(*extents));
    dp_copy_n(extents + n, v.strides, n, sizeof(*extents));
    *out = (dpi_captured){.id = dp_tensor_id(t),
                          .storage = dp_tensor_storage_id(t),
                          .keys = dp_tensor_keys(t),
                          .device = v.device,
                          .dtype = v.dtype,
                          .ndim = v.ndim,
                          .offset = dp_tensor_offset(t),
                          .extents = extents};
    return 0;
}

/* Add a value that is no tensor. */
static int add_other(dp_ctx *ctx, dp_capture *c)
{
    if (!GROW(ctx, c, values, 1))
        return DP_ERESOURCE;
    c->values[c->n_values++] = (dpi_captured){0};
    return 0;
}

/* Add `t` as the next value.  If `t` is a value already, the new one is only its second name. */
static int add_tensor(dp_ctx *ctx, dp_capture *c, const dp_tensor *t)
{
    int rc = add_other(ctx, c);

    if (rc < 0 || t == NULL || (rc = tables_grow(ctx, c)) < 0)
        return rc;
    if (*slot_of(c, c->table, dp_tensor_id(t), false) != 0)
        return 0;
    rc = describe_tensor(ctx, c, t, &c->values[c->n_values - 1]);
    if (rc == 0)
        enter_value(c, c->n_values - 1);
    return rc;
}

static bool is_equal(const int64_t *a, const int64_t *b, size_t n)
{
    size_t i = 0;

    while (i < n && a[i] == b[i])
        i++;
    return i == n;
}

static bool has_geometry(const dpi_captured *x, const dp_tensor *t)
{
    DPI_VIEW(v, t);
    size_t n = (size_t)v.ndim;

    return x->dtype == v.dtype && x->ndim == v.ndim && x->offset == dp_tensor_offset(t) &&
           x->keys.functionality == dp_tensor_keys(t).functionality &&
           is_equal(x->extents, v.sizes, n) && is_equal(x->extents + n, v.strides, n);
}

/* -- arguments -- */

#define REF(kind, index) ((uint32_t)(kind) << 28 | (index))

/* Keep a copy of `v`, which holds no tensor, as a constant: *out, a reference. */
static int keep_constant(dp_ctx *ctx, dp_capture *c, const dp_value *v, uint32_t *out)
{
    dp_value copy = *v;

    if (!GROW(ctx, c, constants, 1))
        return DP_ERESOURCE;
    if (dpi_values_copy(c->arena, &copy, 1) < 0)
        return no_memory(ctx);
    dpi_values_ref(&copy, 1);
    *out = REF(DPI_HAS_CONSTANT, c->n_constants);
    c->constants[c->n_constants++] = copy;
    return 0;
}

/* Fail because of a value that the program cannot have; `what` describes it. */
static int fail_value(const recorder *r, const char *what)
{
    if (r->schema == NULL)
        return dp_error_set(&r->ctx->error, DP_EVALUE, "output '%.64s' is %s", r->name, what);
    return dp_error_set(&r->ctx->error, DP_EVALUE, "%s: argument '%s' is %s", r->name,
                        r->schema->args[r->argument].name, what);
}

static int fail_unknown(const recorder *r, const dp_tensor *t)
{
    char shape[DP_SHAPE_TEXT], what[DP_SHAPE_TEXT + 160];
    DPI_VIEW(v, t);

    snprintf(what, sizeof(what),
             "a %s tensor of shape %s that the capture does not know: it is no input, no constant "
             "and no result of a recorded call",
             dp_dtype_name(v.dtype), dp_shape_text(shape, v.sizes, (size_t)v.ndim));
    return fail_value(r, what);
}

/* Add a call whose arguments are `refs`, without its returns. */
static int add_call(dp_ctx *ctx, dp_capture *c, dpi_captured_call call, const uint32_t *refs)
{
    if (!GROW(ctx, c, calls, 1) || !GROW(ctx, c, args, call.n_args))
        return DP_ERESOURCE;
    call.first_arg = c->n_args;
    call.first_ret = c->n_values;
    dp_copy_n(c->args + c->n_args, refs, call.n_args, sizeof(*refs));
    c->n_args += call.n_args;
    c->calls[c->n_calls++] = call;
    return 0;
}

/* Record that `t` is a view of value `base`, whose storage it has: *out, its value. */
static int record_view(const recorder *r, uint32_t base, const dp_tensor *t, uint32_t *out)
{
    dp_ctx *ctx = r->ctx;
    dp_capture *c = r->c;
    const dp_op *op = dp_op_find(ctx, "aten::as_strided");
    DPI_VIEW(v, t);
    const dp_value constants[3] = {dp_ints(v.sizes, (size_t)v.ndim),
                                   dp_ints(v.strides, (size_t)v.ndim), dp_int(dp_tensor_offset(t))};
    uint32_t refs[4] = {REF(DPI_HAS_VALUE, base)};
    int rc = op != NULL ? 0 : ctx->error.code;

    for (int i = 0; i < 3 && rc == 0; i++)
        rc = keep_constant(ctx, c, &constants[i], &refs[i + 1]);
    if (rc == 0)
        rc = add_call(ctx, c,
                      (dpi_captured_call){.kind = DP_STEP_CALL, .op = op, .n_args = 4, .n_rets = 1},
                      refs);
    *out = c->n_values;
    return rc == 0 ? add_tensor(ctx, c, t) : rc;
}

/* Find the value that has the bytes and the geometry of `t`, or of which `t` is a view. */
static int find_by_storage(const recorder *r, const dp_tensor *t, uint32_t *out)
{
    const dp_capture *c = r->c;
    uint32_t v = *slot_of(c, c->homes, dp_tensor_storage_id(t), true), base = v;

    if (v == 0)
        return fail_unknown(r, t);
    for (; v != 0; v = c->values[v - 1].same_storage) {
        base = v;
        if (has_geometry(&c->values[v - 1], t)) {
            *out = v - 1;
            return 0;
        }
    }
    if (c->values[base - 1].dtype != t->dtype)
        return fail_unknown(r, t);
    return record_view(r, base - 1, t, out);
}

/* Is `t` a wrapped number, a tensor that dp_bind() made from a number?  *out: the number; `z` holds
 * it if it is complex. */
static bool number_of(const dp_tensor *t, double z[2], dp_value *out)
{
    DPI_VIEW(v, t);
    int64_t i = 0;

    if (!dp_tensor_is_wrapped(t) || v.ndim != 0 || v.data == NULL)
        return false;
    if (dp_dtype_is_complex(v.dtype)) {
        dp_convert(DP_COMPLEX128, z, v.dtype, v.data, 1);
        *out = (dp_value){DP_TAG_COMPLEX, 0, {0}};
        out->u.doubles = z;
    } else if (dp_dtype_is_floating(v.dtype)) {
        dp_convert(DP_FLOAT64, z, v.dtype, v.data, 1);
        *out = dp_double(z[0]);
    } else {
        dp_convert(DP_INT64, &i, v.dtype, v.data, 1);
        *out = v.dtype == DP_BOOL ? dp_bool(i != 0) : dp_int(i);
    }
    return true;
}

static int record_tensor(const recorder *r, const dp_tensor *t, uint32_t *out)
{
    dp_capture *c = r->c;
    dp_value number;
    double z[2];
    uint32_t v;

    if (tables_grow(r->ctx, c) < 0)
        return DP_ERESOURCE;
    if ((v = *slot_of(c, c->table, dp_tensor_id(t), false)) != 0) {
        *out = REF(DPI_HAS_VALUE, v - 1);
        return 0;
    }
    if (number_of(t, z, &number))
        return keep_constant(r->ctx, c, &number, out);
    int rc = find_by_storage(r, t, &v);
    *out = REF(DPI_HAS_VALUE, v);
    return rc;
}

/* A generator or an object: an input. */
static int record_other(const recorder *r, const dp_value *v, uint32_t *out)
{
    const dp_capture *c = r->c;

    for (uint32_t i = 0; i < c->n_inputs; i++)
        if (c->inputs[i].tag == v->tag && c->inputs[i].other == (const void *)v->u.g) {
            *out = REF(DPI_HAS_VALUE, c->inputs[i].value);
            return 0;
        }
    return fail_value(r, v->tag == DP_TAG_GENERATOR ? "a generator that is no input of the capture"
                                                    : "an object that is no input of the capture");
}

static bool holds_tensors(const dp_value *v)
{
    bool any = v->tag == DP_TAG_TENSOR || v->tag == DP_TAG_TENSORS || v->tag == DP_TAG_GENERATOR ||
               v->tag == DP_TAG_OBJECT;

    for (uint32_t i = 0; !any && v->tag == DP_TAG_LIST && i < v->len; i++)
        any = holds_tensors(&v->u.values[i]);
    return any;
}

/* Record argument `v`: *out, a reference.  A list with tensors is its length, then its items, in
 * `items`. */
static int record_argument(const recorder *r, const dp_value *v, uint32_t *out)
{
    dp_capture *c = r->c;
    uint32_t at = c->n_items;
    int rc = 0;

    if (!holds_tensors(v))
        return keep_constant(r->ctx, c, v, out);
    if (v->tag == DP_TAG_TENSOR)
        return record_tensor(r, v->u.t, out);
    if (!dp_is_list(v))
        return record_other(r, v, out);
    if (!GROW(r->ctx, c, items, (uint64_t)v->len + 1))
        return DP_ERESOURCE;
    c->n_items += v->len + 1;
    c->items[at] = v->len;
    for (uint32_t i = 0; i < v->len && rc == 0; i++) {
        dp_value item = dp_list_item(v, i);
        uint32_t ref = 0;
        rc = record_argument(r, &item, &ref);
        c->items[at + 1 + i] = ref;
    }
    *out = REF(DPI_HAS_LIST, at);
    return rc;
}

/* -- returns -- */

/* Add an item of the list that is value `list` as a value of its own. */
static int record_item(dp_ctx *ctx, dp_capture *c, uint32_t list, uint32_t i, const dp_tensor *t)
{
    const uint32_t ref = REF(DPI_HAS_VALUE, list);
    int rc = add_call(
        ctx, c, (dpi_captured_call){.kind = DP_STEP_ITEM, .n_args = 1, .n_rets = 1, .item = i},
        &ref);

    return rc == 0 ? add_tensor(ctx, c, t) : rc;
}

/* Add the tensors of list `v`, which is value `list`. */
static int record_items(dp_ctx *ctx, dp_capture *c, uint32_t list, const dp_value *v)
{
    int rc = 0;

    for (uint32_t i = 0; i < v->len && rc == 0; i++) {
        dp_value item = dp_list_item(v, i);
        if (item.tag == DP_TAG_TENSOR)
            rc = record_item(ctx, c, list, i, item.u.t);
    }
    return rc;
}

/* Record that value `number`, which a call computed from the elements of tensors, was `v`: the
 * program fails if it is another number then. */
static int record_number(dp_ctx *ctx, dp_capture *c, uint32_t number, const dp_value *v)
{
    uint32_t refs[2] = {REF(DPI_HAS_VALUE, number)};
    int rc = keep_constant(ctx, c, v, &refs[1]);

    if (rc == 0)
        rc = add_call(ctx, c, (dpi_captured_call){.kind = DP_STEP_SCALAR, .n_args = 2, .n_rets = 1},
                      refs);
    return rc == 0 ? add_other(ctx, c) : rc;
}

static int record_returns(dp_ctx *ctx, dp_capture *c, uint32_t first, const dp_call *call)
{
    int rc = 0;

    for (uint32_t i = 0; i < call->n_rets && rc == 0; i++)
        rc = call->rets[i].tag == DP_TAG_TENSOR ? add_tensor(ctx, c, call->rets[i].u.t)
                                                : add_other(ctx, c);
    for (uint32_t i = 0; i < call->n_rets && rc == 0; i++) {
        const dp_value *v = &call->rets[i];
        if (dp_is_list(v))
            rc = record_items(ctx, c, first + i, v);
        else if (v->tag != DP_TAG_TENSOR && v->tag != DP_TAG_NONE)
            rc = record_number(ctx, c, first + i, v);
    }
    return rc;
}

/* -- the kernel -- */

/* Check that the program can have what the operator returns. */
static int check_returns(const recorder *r)
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
static int record_call(recorder *r, const dp_call *call)
{
    uint32_t refs[DP_LIMIT_ARGUMENTS];
    int rc = check_returns(r);

    for (uint32_t i = 0; i < call->n_args && rc == 0; i++) {
        r->argument = i;
        refs[i] = 0;
        rc = record_argument(r, &call->args[i], &refs[i]);
    }
    dpi_captured_call step = {.kind = DP_STEP_CALL,
                              .op = call->op,
                              .n_args = call->n_args,
                              .n_rets = call->n_rets,
                              .no_grad =
                                  call->key == DP_KEY(DP_F_Tracer) && dp_ctx_mode(r->ctx)->no_grad};
    return rc < 0 ? rc : add_call(r->ctx, r->c, step, refs);
}

int dp_capture_call(dp_call *call)
{
    dp_ctx *ctx = call->ctx;
    dp_capture *c = ctx->capture;

    if (c == NULL || c->key != call->key)
        return dpi_call_below(call, call->n_args, CAPTURE_BITS);
    const dp_capture_mark before = dp_capture_now(c);
    const dpi_entry *e = dpi_snapshot_entry(dpi_ctx_snapshot(ctx), call->op);
    recorder r = {ctx, c, call->op->name, e->schema, 0};

    int rc = record_call(&r, call);
    if (rc < 0) {
        dp_capture_undo(c, &before);
        return dp_refuse(ctx, rc, NULL);
    }
    uint32_t first = c->n_values;
    rc = dpi_call_below(call, call->n_args, CAPTURE_BITS);
    if (rc == 0)
        rc = record_returns(ctx, c, first, call);
    if (rc < 0)
        dp_capture_undo(c, &before);
    return rc;
}

/* -- life -- */

int dp_capture_new(dp_ctx *ctx, const dp_capture_options *o, dp_capture **out)
{
    dp_capture *c = dp_calloc(1, sizeof(*c));

    if (c == NULL || (c->arena = dp_arena_new()) == NULL) {
        dp_free(c);
        return no_memory(ctx);
    }
    c->arena->account = ctx->account;
    c->key = o != NULL && o->whole ? DP_KEY(DP_F_Tracer) : DP_KEY(DP_F_Functionalize);
    c->numbers = o != NULL && o->numbers;
    c->fakes = o != NULL && o->fakes;
    *out = c;
    return 0;
}

dp_capture *dp_capture_free(dp_capture *c)
{
    if (c == NULL)
        return NULL;
    dp_values_release(c->constants, c->n_constants);
    dp_free(c->values);
    dp_free(c->calls);
    dp_free(c->args);
    dp_free(c->items);
    dp_free(c->constants);
    dp_free(c->inputs);
    dp_free(c->outputs);
    dp_free(c->table);
    dp_arena_free(c->arena);
    dp_free(c);
    return NULL;
}

dp_capture_mark dp_capture_now(const dp_capture *c)
{
    return (dp_capture_mark){{c->n_values, c->n_calls, c->n_args, c->n_items, c->n_constants,
                              c->n_inputs, c->n_outputs}};
}

void dp_capture_undo(dp_capture *c, const dp_capture_mark *to)
{
    dp_values_release(c->constants + to->n[4], c->n_constants - to->n[4]);
    c->n_values = to->n[0];
    c->n_calls = to->n[1];
    c->n_args = to->n[2];
    c->n_items = to->n[3];
    c->n_constants = to->n[4];
    c->n_inputs = to->n[5];
    c->n_outputs = to->n[6];
    if (c->table != NULL) {
        dp_zero_n(c->table, 2 * ((size_t)c->mask + 1), sizeof(*c->table));
        fill_tables(c);
    }
}

void dp_ctx_set_capture(dp_ctx *ctx, dp_capture *c)
{
    dpi_state *s = &ctx->states[0];

    if (ctx->capture != NULL)
        s->include.functionality &= ~ctx->capture_bits;
    ctx->capture = c;
    ctx->capture_bits = c != NULL ? dpi_capture_bits(c) & ~s->include.functionality : 0;
    s->include.functionality |= ctx->capture_bits;
}

/* -- inputs, constants, outputs -- */

static const char *keep_name(dp_ctx *ctx, dp_capture *c, const char *name)
{
    const char *copy = dp_arena_dup(c->arena, name, strlen(name) + 1);

    if (copy == NULL)
        no_memory(ctx);
    return copy;
}

static int fail_known(dp_ctx *ctx, const char *name)
{
    return dp_error_set(&ctx->error, DP_EEXISTS,
                        "'%.64s' is a tensor that the capture knows already", name);
}

int dp_capture_input(dp_ctx *ctx, dp_capture *c, const char *name, const dp_value *v)
{
    const dp_capture_mark before = dp_capture_now(c);
    dpi_captured_input input = {keep_name(ctx, c, name), c->n_values, v->tag, NULL};

    if (input.name == NULL || !GROW(ctx, c, inputs, 1) || tables_grow(ctx, c) < 0)
        return DP_ERESOURCE;
    if (v->tag == DP_TAG_GENERATOR || v->tag == DP_TAG_OBJECT)
        input.other = v->u.g;
    bool known = v->tag == DP_TAG_TENSOR && *slot_of(c, c->table, dp_tensor_id(v->u.t), false) != 0;
    c->inputs[c->n_inputs++] = input;
    int rc = known                     ? fail_known(ctx, name)
             : v->tag == DP_TAG_TENSOR ? add_tensor(ctx, c, v->u.t)
                                       : add_other(ctx, c);
    if (rc == 0 && dp_is_list(v))
        rc = record_items(ctx, c, input.value, v);
    if (rc < 0)
        dp_capture_undo(c, &before);
    return rc;
}

int dp_capture_constant(dp_ctx *ctx, dp_capture *c, const char *name, dp_tensor *t)
{
    const dp_capture_mark before = dp_capture_now(c);
    const dp_value v = dp_tensor_value(t);
    uint32_t ref;

    if (tables_grow(ctx, c) < 0)
        return DP_ERESOURCE;
    if (*slot_of(c, c->table, dp_tensor_id(t), false) != 0)
        return fail_known(ctx, name);
    int rc = keep_constant(ctx, c, &v, &ref);
    if (rc == 0)
        rc = add_tensor(ctx, c, t);
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
    const recorder r = {ctx, c, name, NULL, 0};
    dpi_captured_output output = {keep_name(ctx, c, name), 0};

    if (output.name == NULL || !GROW(ctx, c, outputs, 1))
        return DP_ERESOURCE;
    int rc = record_argument(&r, v, &output.ref);
    if (rc == 0)
        c->outputs[c->n_outputs++] = output;
    return rc;
}

__attribute__((constructor)) static void fill(void)
{
    dpi_fill_dp_capture_call(dp_capture_call);
}
