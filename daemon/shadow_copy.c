/* shadow_copy.c -- which calls are shadowed, and copies of their arguments and results. */
#include "shadow.h"
#include <string.h>

/* Operators whose results on copies of the arguments need not be equal. */
static const char *const differing[] = {
    /* elements without a defined value */
    "aten::empty", "aten::empty_like", "aten::empty_strided", "aten::new_empty",
    "aten::new_empty_strided", "aten::resize", "aten::resize_", "aten::resize_as",
    "aten::resize_as_", "aten::set_",
    /* elements of the storage that the argument, a view, does not have */
    "aten::as_strided_", "aten::as_strided_copy", "aten::as_strided_scatter",
    "aten::_reshape_alias_copy",
    /* facts about the tensor itself */
    "aten::_has_same_storage_numel", "aten::_version", "aten::is_conj", "aten::is_inference",
    "aten::is_leaf", "aten::is_neg", "aten::is_pinned", "aten::is_set_to", "aten::output_nr",
    "aten::retains_grad"};

static bool differs_on_copies(const char *op)
{
    size_t n = strcspn(op, "."); /* without the overload */

    for (size_t i = 0; i < sizeof(differing) / sizeof(differing[0]); i++)
        if (strlen(differing[i]) == n && strncmp(differing[i], op, n) == 0)
            return true;
    return false;
}

/* -- which calls -- */

/* Return the number of elements from the first one in memory to the last one. */
static int64_t span_of(const dp_view *v)
{
    int64_t span = v->numel > 0;

    for (int d = 0; v->numel > 0 && d < v->ndim; d++)
        span += (v->sizes[d] - 1) * v->strides[d];
    return span;
}

static uint64_t bytes_of(const dp_tensor *t)
{
    DP_VIEW(v, t);
    return dp_size_times((size_t)span_of(&v), dp_dtype_size(v.dtype)); /* a copy has the strides */
}

/* Is `t` strided, with elements in memory that dp_copy() reads? */
static bool is_plain(const dp_tensor *t)
{
    dp_wrapper parts = {.size = sizeof(parts)};

    DP_VIEW(v, t);
    return !dp_wrapper_get(t, &parts) && !dp_dtype_is_quantized(v.dtype) &&
           dp_device_backend(v.device) != DP_B_Meta &&
           !dp_keyset_has(dp_tensor_keys(t), dp_key_parse("Fake")) &&
           (v.data != NULL || v.numel == 0);
}

/* Add the bytes of the tensors in `v`; false: `v` has something that is not copied or compared. */
static bool add_bytes(const dp_value *v, uint64_t *bytes, unsigned *n_tensors)
{
    bool ok = v->tag != DP_TAG_GENERATOR && v->tag != DP_TAG_OBJECT;

    if (v->tag != DP_TAG_TENSOR && v->tag != DP_TAG_TENSORS && v->tag != DP_TAG_LIST)
        return ok;
    for (uint32_t i = 0; ok && i < (v->tag == DP_TAG_TENSOR ? 1 : v->len); i++) {
        dp_value item = v->tag == DP_TAG_TENSOR ? *v : dp_list_item(v, i);
        if (v->tag == DP_TAG_LIST)
            ok = item.tag != DP_TAG_TENSOR && item.tag != DP_TAG_TENSORS &&
                 add_bytes(&item, bytes, n_tensors);
        else if (item.tag == DP_TAG_TENSOR && (ok = is_plain(item.u.t))) {
            *bytes = dp_size_plus(*bytes, bytes_of(item.u.t));
            ++*n_tensors;
        }
    }
    return ok;
}

/* Do the arguments allow the operator to run elsewhere, with results that can be compared? */
static bool schema_fits(dp_ctx *ctx, const dp_bound *b)
{
    dp_schema_info info = {.size = sizeof(info)};
    dp_arg_info arg = {.size = sizeof(arg)};

    if (dp_ctx_begin(ctx) < 0)
        return false;
    bool fits = !dp_bound_random(ctx, b) && dp_schema_info_get(ctx, b->op, &info) == 0 &&
                !(info.flags & (DP_OP_VARARG | DP_OP_VARRET)) && info.viewed == 0;
    for (uint32_t i = 0; fits && i < b->n_args; i++)
        fits = dp_op_arg(&info, i, &arg) &&
               (arg.type != DP_TYPE_DEVICE || b->args[i].tag == DP_TAG_NONE);
    dp_ctx_end(ctx);
    return fits;
}

bool shadow_fits(dp_ctx *ctx, const dp_bound *b, uint64_t *bytes)
{
    const dp_mode *mode = dp_ctx_mode(ctx);
    dp_keyset include, exclude, now = dp_ctx_include(ctx), out = dp_ctx_exclude(ctx);
    unsigned n_tensors = 0;

    *bytes = 0;
    dp_state_default(&include, &exclude);
    bool fits = mode->cast_backends == 0 && memcmp(&include, &now, sizeof(now)) == 0 &&
                memcmp(&exclude, &out, sizeof(out)) == 0;
    for (uint32_t i = 0; fits && i < b->n_args; i++)
        fits = add_bytes(&b->args[i], bytes, &n_tensors);
    /* without a tensor, the call's arguments do not choose the backend */
    return fits && n_tensors > 0 && !differs_on_copies(dp_op_name(b->op)) && schema_fits(ctx, b);
}

/* -- arguments -- */

/* Make a copy of `t` whose elements share memory as those of `t` do.  *out owned. */
static int copy_shared(dp_ctx *ctx, const dp_tensor *t, dp_device device, dp_tensor **out)
{
    static const int64_t one = 1;
    dp_tensor *from = NULL, *all = NULL;

    DP_VIEW(v, t);
    const int64_t span = span_of(&v);
    int rc = dp_as_strided(ctx, t, 1, &span, &one, dp_tensor_offset(t), &from);
    if (rc == 0)
        rc = dp_empty(ctx, v.dtype, device, 1, &span, DP_CONTIGUOUS, &all);
    if (rc == 0)
        rc = dp_copy(ctx, all, from);
    if (rc == 0)
        rc = dp_as_strided(ctx, all, v.ndim, v.sizes, v.strides, 0, out);
    dp_tensor_unref(from);
    dp_tensor_unref(all);
    return rc;
}

int shadow_copy(dp_ctx *ctx, const dp_tensor *t, dp_device device, dp_tensor **out)
{
    DP_VIEW(v, t);

    /* the strides stay: some kernels choose by them what they compute, as those of LU factors do */
    if (dp_internal_overlap(t) == 1)
        return copy_shared(ctx, t, device, out);
    int rc = dp_empty_strided(ctx, v.dtype, device, v.ndim, v.sizes, v.strides, out);
    if (rc < 0)
        return rc;
    rc = dp_copy(ctx, *out, t);
    if (rc < 0)
        *out = dp_tensor_unref(*out);
    else if (dp_tensor_is_wrapped(t))
        dp_tensor_set_wrapped(*out, true);
    return rc;
}

/* Set *out to the copy of `t`, which is made if `t` is met for the first time. */
static int take_tensor(shadow_call *c, dp_tensor *t, bool written, dp_tensor **out)
{
    shadow_tensor *s = c->tensors, *end = s + c->n_tensors;

    while (s < end && s->of != t)
        s++;
    if (s == end) {
        DP_VIEW(v, t);
        *s = (shadow_tensor){.of = t, .version = dp_tensor_version(t), .home = v.device};
        int rc = shadow_copy(c->ctx, t, DP_DEVICE_CPU, &s->host);
        if (rc < 0)
            return rc;
        c->n_tensors++;
    }
    s->written |= written;
    *out = s->host;
    return 0;
}

static int take_value(shadow_call *c, const dp_value *v, bool written, dp_value *out)
{
    if (v->tag == DP_TAG_TENSOR) {
        *out = *v;
        return take_tensor(c, v->u.t, written, &out->u.t);
    }
    if (v->tag != DP_TAG_TENSORS)
        return dp_value_copy(c->ctx, v, out);
    dp_tensor **list = dp_arena_alloc_n(dp_ctx_arena(c->ctx), v->len, sizeof(*list));
    int rc = list != NULL ? 0 : DP_ERESOURCE;
    for (uint32_t i = 0; rc == 0 && i < v->len; i++) {
        list[i] = NULL;
        if (v->u.tensors[i] != NULL)
            rc = take_tensor(c, v->u.tensors[i], written, &list[i]);
    }
    if (rc == 0)
        *out = dp_tensors(list, v->len);
    return rc;
}

/* Does a written argument share memory with another argument?  Copies would not share it. */
static bool shares_written(const shadow_call *c)
{
    for (uint32_t i = 0; i < c->n_tensors; i++)
        for (uint32_t k = 0; c->tensors[i].written && k < c->n_tensors; k++)
            if (k != i &&
                dp_tensor_storage_id(c->tensors[i].of) == dp_tensor_storage_id(c->tensors[k].of))
                return true;
    return false;
}

int shadow_take(shadow_call *c, dp_ctx *ctx, const dp_bound *b)
{
    dp_arena *a = dp_ctx_arena(c->ctx);
    dp_schema_info info = {.size = sizeof(info)};
    uint32_t n = 0;

    for (uint32_t i = 0; i < b->n_args; i++)
        n += b->args[i].tag == DP_TAG_TENSOR    ? 1
             : b->args[i].tag == DP_TAG_TENSORS ? b->args[i].len
                                                : 0;
    c->bound = *b;
    c->bound.n_args = 0; /* the number of those that shadow_release() frees */
    c->bound.args = dp_arena_alloc_n(a, b->n_args, sizeof(*b->args));
    c->tensors = dp_arena_alloc_n(a, n, sizeof(*c->tensors));
    if (c->bound.args == NULL || c->tensors == NULL || dp_ctx_begin(ctx) < 0)
        return DP_ERESOURCE;
    int rc = dp_schema_info_get(ctx, b->op, &info);
    c->schema = rc == 0 ? dp_arena_dup(a, info.text, strlen(info.text) + 1) : NULL;
    dp_ctx_end(ctx);
    rc = c->schema != NULL ? 0 : DP_ERESOURCE;
    for (uint32_t i = 0; rc == 0 && i < b->n_args; i++) {
        rc = take_value(c, &b->args[i], i < 64 && (b->written >> i & 1), &c->bound.args[i]);
        c->bound.n_args += rc == 0;
    }
    return rc == 0 && shares_written(c) ? DP_EVALUE : rc;
}

int shadow_restore(const shadow_call *c, dp_ctx *ctx)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < c->n_tensors; i++)
        if (c->tensors[i].written)
            rc = dp_copy(ctx, (dp_tensor *)(uintptr_t)c->tensors[i].of, c->tensors[i].host);
    return rc;
}

/* -- results -- */

static bool is_written(const dp_bound *b, uint32_t i)
{
    return i < 64 && (b->written >> i & 1);
}

/* Is argument `i` also a return? */
static bool is_returned(const dp_bound *b, uint32_t i)
{
    for (uint32_t r = 0; r < b->n_rets && r < 64; r++)
        if ((b->ret_written >> r & 1) && b->ret_alias[r] == (int8_t)i)
            return true;
    return false;
}

/* Return value number `i` of those to compare: a return, or a written argument. */
static const dp_value *result(const dp_bound *b, const dp_value *rets, uint32_t i)
{
    static const dp_value none;

    if (i < b->n_rets)
        return &rets[i];
    i -= b->n_rets;
    return is_written(b, i) && !is_returned(b, i) ? &b->args[i] : &none;
}

uint64_t shadow_result_bytes(const shadow_call *c, const dp_bound *b, const dp_value *rets)
{
    uint64_t bytes = 0;
    unsigned n_tensors = 0;

    for (uint32_t i = 0; i < c->n_tensors; i++)
        if (!c->tensors[i].written && dp_tensor_version(c->tensors[i].of) != c->tensors[i].version)
            return UINT64_MAX;
    for (uint32_t i = 0; i < b->n_rets + b->n_args; i++)
        if (!add_bytes(result(b, rets, i), &bytes, &n_tensors))
            return UINT64_MAX;
    return bytes;
}

int shadow_copy_value(shadow_call *c, const dp_value *v, dp_value *out)
{
    dp_value taken = *v;
    uint32_t n = v->tag == DP_TAG_TENSOR ? 1 : v->tag == DP_TAG_TENSORS ? v->len : 0;
    dp_tensor *const *from = v->tag == DP_TAG_TENSOR ? &v->u.t : v->u.tensors;
    dp_tensor **list = dp_arena_alloc_n(dp_ctx_arena(c->ctx), n, sizeof(*list));
    int rc = list != NULL ? 0 : DP_ERESOURCE;
    uint32_t done = 0;

    for (; rc == 0 && done < n; done++) {
        list[done] = NULL;
        if (from[done] != NULL)
            rc = shadow_copy(c->ctx, from[done], DP_DEVICE_CPU, &list[done]);
    }
    if (v->tag == DP_TAG_TENSOR && rc == 0)
        taken.u.t = list[0];
    else if (v->tag == DP_TAG_TENSORS)
        taken.u.tensors = list;
    if (rc == 0)
        rc = dp_value_copy(c->ctx, &taken, out);
    while (done > 0)
        dp_tensor_unref(list[--done]);
    return rc;
}

int shadow_take_results(shadow_call *c, const dp_bound *b, const dp_value *rets)
{
    uint32_t n = b->n_rets + b->n_args;
    dp_value *want = dp_arena_alloc_n(dp_ctx_arena(c->ctx), n, sizeof(*want));
    int rc = want != NULL ? 0 : DP_ERESOURCE;

    for (uint32_t i = 0; want != NULL && i < n; i++)
        want[i] = dp_none();
    c->want = want;
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        rc = shadow_copy_value(c, result(b, rets, i), &want[i]);
    return rc;
}

void shadow_release(shadow_call *c)
{
    for (uint32_t i = 0; c->want != NULL && i < c->bound.n_rets + c->bound.n_args; i++)
        dp_value_free(&c->want[i]);
    for (uint32_t i = 0; i < c->bound.n_args; i++)
        if (c->bound.args[i].tag != DP_TAG_TENSOR && c->bound.args[i].tag != DP_TAG_TENSORS)
            dp_value_free(&c->bound.args[i]);
    for (uint32_t i = 0; i < c->n_tensors; i++) {
        dp_tensor_unref(c->tensors[i].host);
        dp_tensor_unref(c->tensors[i].device);
    }
    dp_ctx_reset(c->ctx);
    *c = (shadow_call){.ctx = c->ctx};
}
