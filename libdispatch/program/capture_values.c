/* capture_values.c -- create, undo and free a capture; its values, which are found by tensor and by
 * storage, its calls and its constants. */
#include "capture.h"
#include "base/account.h"
#include "dispatch/call/values.h"

int dpi_capture_no_memory(dp_ctx *ctx)
{
    return dpi_no_memory(&ctx->error, "a capture");
}

/* -- the tables -- */

uint32_t *dpi_capture_slot(const dp_capture *c, uint32_t *table, uint64_t number, bool home)
{
    uint32_t i = (uint32_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> 32) & c->mask;

    while (table[i] != 0 &&
           (home ? c->values[table[i] - 1].storage : c->values[table[i] - 1].id) != number)
        i = (i + 1) & c->mask;
    return &table[i];
}

/* Enter value `v` in both tables, which have room for it.  An earlier value of the same tensor has
 * a geometry that the tensor has no more. */
static void enter_value(dp_capture *c, uint32_t v)
{
    dpi_captured *x = &c->values[v];

    if (x->id == 0)
        return;
    uint32_t *slot = dpi_capture_slot(c, c->table, x->id, false);
    if (*slot != 0) {
        c->values[*slot - 1].is_old = true;
        x->again = 1 + dpi_capture_first(c, *slot - 1);
    }
    *slot = v + 1;
    uint32_t *home = dpi_capture_slot(c, c->homes, x->storage, true);
    x->same_storage = *home;
    *home = v + 1;
    c->n_table++;
}

static void fill_tables(dp_capture *c)
{
    c->n_table = 0;
    for (uint32_t v = 0; v < c->n_values; v++) {
        c->values[v].is_old = false;
        enter_value(c, v);
    }
}

/* Charge `bytes` of arrays to the account of the capture.  DP_ERESOURCE: over its limit. */
static int charge(dp_ctx *ctx, dp_capture *c, uint64_t bytes)
{
    dp_account *a = c->arena->account;
    int rc = a != NULL ? dp_account_charge(a, DP_HOLDER_INTERMEDIATES, 0, bytes, &ctx->error) : 0;

    if (rc == 0 && a != NULL)
        c->charged += bytes;
    return rc;
}

static void refund(dp_capture *c, uint64_t bytes)
{
    if (c->arena->account == NULL)
        return;
    dp_account_refund(c->arena->account, DP_HOLDER_INTERMEDIATES, 0, bytes);
    c->charged -= bytes;
}

/* Make room for one more value in the tables, which are at most half full. */
int dpi_capture_reserve(dp_ctx *ctx, dp_capture *c)
{
    uint32_t n = c->table == NULL ? 256 : 2 * (c->mask + 1);

    if (c->table != NULL && 2 * (c->n_table + 1) <= c->mask)
        return 0;
    uint64_t more = n - (c->table != NULL ? c->mask + 1 : 0);
    uint64_t bytes = dp_size_times(dp_size_times(more, 2), sizeof(*c->table));
    if (charge(ctx, c, bytes) < 0)
        return DP_ERESOURCE;
    uint32_t *both = dp_calloc(dp_size_times(n, 2), sizeof(*both));
    if (both == NULL) {
        refund(c, bytes);
        return dpi_capture_no_memory(ctx);
    }
    dp_free(c->table);
    c->table = both;
    c->homes = both + n;
    c->mask = n - 1;
    fill_tables(c);
    return 0;
}

/* -- arrays -- */

bool dpi_capture_grow(dp_ctx *ctx, dp_capture *c, void *array, uint32_t *cap, uint64_t need,
                      size_t item)
{
    uint64_t want = *cap > 0 ? *cap : 2;
    void *old, *grown;

    if (need <= *cap)
        return true;

    if (need > DP_LIMIT_PROGRAM_VALUES) {
        dp_error_set(&ctx->error, DP_ERESOURCE,
                     "a capture of more than %d values, arguments or steps (program_values)",
                     DP_LIMIT_PROGRAM_VALUES);
        dp_error_limit(DP_ERESOURCE, "program_values", DP_LIMIT_PROGRAM_VALUES, need);
        return false;
    }
    while (want < need) /* as dpi_grow() does */
        want *= 2;
    uint64_t bytes = dp_size_times(want - *cap, item);
    if (charge(ctx, c, bytes) < 0)
        return false;
    memcpy(&old, array, sizeof(old));
    if ((grown = dpi_grow(old, cap, (uint32_t)need, item)) == NULL) {
        refund(c, bytes);
        dpi_capture_no_memory(ctx);
        return false;
    }
    memcpy(array, &grown, sizeof(grown));
    return true;
}

/* -- values -- */

static bool is_equal(const int64_t *a, const int64_t *b, size_t n)
{
    size_t i = 0;

    while (i < n && a[i] == b[i])
        i++;
    return i == n;
}

bool dpi_capture_is_like(const dpi_captured *x, const dp_tensor *t)
{
    DPI_VIEW(v, t);
    size_t n = (size_t)v.ndim;

    return x->storage == dp_tensor_storage_id(t) && x->dtype == v.dtype && x->ndim == v.ndim &&
           x->offset == dp_tensor_offset(t) &&
           x->keys.functionality == dp_tensor_keys(t).functionality &&
           is_equal(x->extents, v.sizes, n) && is_equal(x->extents + n, v.strides, n);
}

static int describe_tensor(dp_ctx *ctx, dp_capture *c, const dp_tensor *t, dpi_captured *out)
{
    DPI_VIEW(v, t);
    size_t n = (size_t)v.ndim, bytes = dp_size_times(dp_size_times(n, 2), sizeof(int64_t));
    int64_t *extents = dp_arena_alloc(c->arena, bytes);

    if (extents == NULL)
        return dp_arena_failed(c->arena, bytes, "a capture", &ctx->error);
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
int dpi_capture_add_other(dp_ctx *ctx, dp_capture *c)
{
    if (!DPI_CAPTURE_GROW(ctx, c, values, 1))
        return DP_ERESOURCE;
    c->values[c->n_values++] = (dpi_captured){0};
    return 0;
}

int dpi_capture_add_tensor(dp_ctx *ctx, dp_capture *c, const dp_tensor *t)
{
    int rc = dpi_capture_add_other(ctx, c);

    if (rc < 0 || t == NULL || (rc = dpi_capture_reserve(ctx, c)) < 0)
        return rc;
    uint32_t same = *dpi_capture_slot(c, c->table, dp_tensor_id(t), false);
    if (same != 0) {
        c->values[c->n_values - 1].same_storage = 1 + dpi_capture_first(c, same - 1);
        return 0;
    }
    rc = describe_tensor(ctx, c, t, &c->values[c->n_values - 1]);
    if (rc == 0)
        enter_value(c, c->n_values - 1);
    return rc;
}

int dpi_capture_again(dp_ctx *ctx, dp_capture *c, const dp_tensor *t)
{
    uint32_t v = t != NULL ? *dpi_capture_slot(c, c->table, dp_tensor_id(t), false) : 0;

    if (v == 0 || dpi_capture_is_like(&c->values[v - 1], t))
        return 0;
    int rc = dpi_capture_add_other(ctx, c);
    if (rc < 0 || (rc = dpi_capture_reserve(ctx, c)) < 0)
        return rc;
    rc = describe_tensor(ctx, c, t, &c->values[c->n_values - 1]);
    if (rc == 0)
        enter_value(c, c->n_values - 1);
    return rc;
}

/* -- constants, calls, items of lists -- */

/* Keep a copy of `v`, which holds no tensor, as a constant: *out, a reference. */
int dpi_capture_keep(dp_ctx *ctx, dp_capture *c, const dp_value *v, uint32_t *out)
{
    dp_value copy = *v;

    if (!DPI_CAPTURE_GROW(ctx, c, constants, 1))
        return DP_ERESOURCE;
    if (dpi_values_copy(c->arena, &copy, 1) < 0)
        return dpi_capture_no_memory(ctx);
    dpi_values_ref(&copy, 1);
    *out = DPI_CAPTURED(DPI_HAS_CONSTANT, c->n_constants);
    c->constants[c->n_constants++] = copy;
    return 0;
}

/* Add a call whose arguments are `refs`, without its returns. */
int dpi_capture_add_call(dp_ctx *ctx, dp_capture *c, dpi_captured_call call, const uint32_t *refs)
{
    if (!DPI_CAPTURE_GROW(ctx, c, calls, 1) || !DPI_CAPTURE_GROW(ctx, c, args, call.n_args))
        return DP_ERESOURCE;
    int64_t step = c->of_program ? dpi_ctx_step(ctx) : -1;
    call.origin = step >= 0 ? (uint32_t)step : UINT32_MAX;
    call.flags = call.kind == DP_STEP_CALL ? ctx->save_flags : 0;
    if (call.op != NULL)
        call.schema = dpi_schema_ref(dpi_snapshot_entry(dpi_ctx_snapshot(ctx), call.op)->schema);
    call.first_arg = c->n_args;
    call.first_ret = c->n_values;
    dp_copy_n(c->args + c->n_args, refs, call.n_args, sizeof(*refs));
    c->n_args += call.n_args;
    c->calls[c->n_calls++] = call;
    return 0;
}

/* Add an item of the list that is value `list` as a value of its own. */
static int record_item(dp_ctx *ctx, dp_capture *c, uint32_t list, uint32_t i, const dp_tensor *t)
{
    const uint32_t ref = DPI_CAPTURED(DPI_HAS_VALUE, list);
    int rc = dpi_capture_add_call(
        ctx, c, (dpi_captured_call){.kind = DP_STEP_ITEM, .n_args = 1, .n_rets = 1, .item = i},
        &ref);

    return rc == 0 ? dpi_capture_add_tensor(ctx, c, t) : rc;
}

/* Add the tensors of list `v`, which is value `list`. */
int dpi_capture_items(dp_ctx *ctx, dp_capture *c, uint32_t list, const dp_value *v)
{
    int rc = 0;

    for (uint32_t i = 0; i < v->len && rc == 0; i++) {
        dp_value item = dp_list_item(v, i);
        if (item.tag == DP_TAG_TENSOR)
            rc = record_item(ctx, c, list, i, item.u.t);
    }
    return rc;
}

/* -- life -- */

int dpi_need_fallback(dp_ctx *ctx, dp_key key, const char *what, const char *plugin)
{
    pthread_mutex_lock(&ctx->reg->lock);
    bool found = dpi_fallback_for(&ctx->reg->fallbacks, key) != NULL;
    pthread_mutex_unlock(&ctx->reg->lock);

    return found ? 0
                 : dp_error_set(&ctx->error, DP_ENOTFOUND,
                                "%s needs plugin '%s', which is not loaded: plugin.load loads it, "
                                "with the path of %s.so",
                                what, plugin, plugin);
}

int dp_capture_new(dp_ctx *ctx, const dp_capture_options *o, dp_capture **out)
{
    dp_key key = o != NULL && o->whole ? DP_KEY(DP_F_Tracer) : DP_KEY(DP_F_Functionalize);
    int rc = dpi_need_fallback(ctx, key, "a capture of calls", "capture");

    if (rc < 0)
        return rc;
    dp_capture *c = dp_calloc(1, sizeof(*c));
    if (c == NULL || (c->arena = dp_arena_new()) == NULL) {
        dp_free(c);
        return dpi_capture_no_memory(ctx);
    }
    if ((c->arena->account = ctx->account) != NULL)
        dpi_account_ref(ctx->account); /* the capture may outlive the session that pays for it */
    c->key = key;
    c->numbers = o != NULL && o->numbers;
    c->fakes = o != NULL && o->fakes;
    *out = c;
    return 0;
}

/* Release the schemas of the calls from `first` on. */
static void release_schemas(dp_capture *c, uint32_t first)
{
    for (uint32_t i = first; i < c->n_calls; i++)
        dp_schema_free(c->calls[i].schema);
}

dp_capture *dp_capture_free(dp_capture *c)
{
    if (c == NULL)
        return NULL;
    dp_account *account = c->arena->account;
    dp_values_release(c->constants, c->n_constants);
    release_schemas(c, 0);
    dp_free(c->values);
    dp_free(c->calls);
    dp_free(c->args);
    dp_free(c->items);
    dp_free(c->constants);
    dp_free(c->inputs);
    dp_free(c->outputs);
    dp_free(c->table);
    refund(c, c->charged);
    dp_arena_free(c->arena);
    dp_account_close(account);
    dp_free(c);
    return NULL;
}

dp_capture_mark dp_capture_now(const dp_capture *c)
{
    return (dp_capture_mark){
        {c->n_values, c->n_calls, c->n_args, c->n_items, c->n_constants, c->n_inputs, c->n_outputs},
        c->arena->at};
}

/* Free the array of outputs, which only the end of a capture needs. */
static void drop_outputs(dp_capture *c)
{
    refund(c, dp_size_times(c->cap_outputs, sizeof(*c->outputs)));
    dp_free(c->outputs);
    c->outputs = NULL;
    c->cap_outputs = 0;
}

void dp_capture_undo(dp_capture *c, const dp_capture_mark *to)
{
    dp_values_release(c->constants + to->n[4], c->n_constants - to->n[4]);
    release_schemas(c, to->n[1]);
    c->n_values = to->n[0];
    c->n_calls = to->n[1];
    c->n_args = to->n[2];
    c->n_items = to->n[3];
    c->n_constants = to->n[4];
    c->n_inputs = to->n[5];
    c->n_outputs = to->n[6];
    if (c->n_outputs == 0)
        drop_outputs(c);
    if (c->table != NULL) {
        dp_zero_n(c->table, dp_size_times((uint64_t)c->mask + 1, 2), sizeof(*c->table));
        fill_tables(c);
    }
    dpi_arena_rewind(c->arena, to->memory);
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
