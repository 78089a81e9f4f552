/* far.c -- a backend with memory of its own and one kernel: a boxed CPU fallback that serves every
 * operator by what the host says of its schema, and knows none of them.
 *
 * Every storage that arguments lie on is copied to the CPU once, and each tensor becomes a view
 * there as it is one here, so that what shares memory still does.  Then the operator runs on the
 * CPU.  What it wrote is copied back; what it returns is moved here, or, if it lies on one of those
 * storages, becomes a view here. */
#include <dispatchd/plugin.h>
#include "faulting_device.h"

DP_PLUGIN(far, "1.0")
DP_BACKEND_DEVICE(far, faultdev_ops)

/* A storage here, as one row of elements, and its copy. */
typedef struct base {
    uint64_t storage;
    dp_dtype dtype;
    dp_tensor *far, *cpu;
} base;

/* An argument here, and what stands for it. */
typedef struct twin {
    uint64_t id;
    dp_tensor *far, *cpu;
} twin;

typedef struct crossing {
    dp_call *call;
    dp_ctx *ctx;
    dp_schema_info facts;
    int backend;
    dp_device target; /* of what is returned */
    base *bases;
    twin *twins;
    uint32_t n_bases, n_twins;
    dp_value *args;
} crossing;

/* -- arguments -- */

static int base_new(crossing *c, dp_tensor *t, base *out)
{
    DP_VIEW(v, t);
    int64_t n = (int64_t)(dp_tensor_storage_bytes(t) / dp_dtype_size(v.dtype));

    *out = (base){dp_tensor_storage_id(t), v.dtype, NULL, NULL};
    int rc = dp_as_strided(c->ctx, t, 1, &n, NULL, 0, &out->far);
    if (rc == 0)
        rc = dp_empty(c->ctx, v.dtype, DP_DEVICE_CPU, 1, &n, DP_CONTIGUOUS, &out->cpu);
    return rc < 0 ? rc : dp_copy(c->ctx, out->cpu, out->far);
}

static int base_of(crossing *c, dp_tensor *t, const base **out)
{
    DP_VIEW(v, t);

    for (uint32_t i = 0; i < c->n_bases; i++)
        if (c->bases[i].storage == dp_tensor_storage_id(t) && c->bases[i].dtype == v.dtype) {
            *out = &c->bases[i];
            return 0;
        }
    *out = &c->bases[c->n_bases];
    return base_new(c, t, &c->bases[c->n_bases++]);
}

/* *out: borrowed from the crossing; t itself when it is not here. */
static int tensor_down(crossing *c, dp_tensor *t, dp_tensor **out)
{
    const base *b;
    DP_VIEW(v, t);

    *out = t;
    if (dp_device_backend(v.device) != c->backend)
        return 0;
    if (dp_device_backend(c->target) != c->backend)
        c->target = v.device;
    for (uint32_t i = 0; i < c->n_twins; i++)
        if (c->twins[i].id == dp_tensor_id(t)) {
            *out = c->twins[i].cpu;
            return 0;
        }
    int rc = base_of(c, t, &b);
    twin *w = &c->twins[c->n_twins];
    if (rc == 0)
        rc =
            dp_as_strided(c->ctx, b->cpu, v.ndim, v.sizes, v.strides, dp_tensor_offset(t), &w->cpu);
    if (rc < 0)
        return rc;
    w->id = dp_tensor_id(t);
    w->far = t;
    dp_tensor_set_wrapped(w->cpu, dp_tensor_is_wrapped(t));
    *out = w->cpu;
    c->n_twins++;
    return 0;
}

static int value_down(crossing *c, dp_value *v)
{
    dp_tensor *t, **list;

    if (v->tag == DP_TAG_TENSOR) {
        int rc = tensor_down(c, v->u.t, &t);
        *v = dp_tensor_value(t);
        return rc;
    }
    if (v->tag != DP_TAG_TENSORS)
        return 0;
    if ((list = dp_alloc(c->ctx, v->len * sizeof(*list))) == NULL)
        return DP_ERESOURCE;
    for (uint32_t i = 0; i < v->len; i++) {
        int rc = 0;
        list[i] = NULL; /* of a Tensor?[] */
        if (v->u.tensors[i] != NULL && (rc = tensor_down(c, v->u.tensors[i], &list[i])) < 0)
            return rc;
    }
    v->u.tensors = list;
    return 0;
}

/* A device argument says where the result is to be; on the CPU it says CPU. */
static int down(crossing *c)
{
    dp_value *asked = NULL;

    for (uint32_t i = 0; i < c->facts.n_args; i++) {
        dp_arg_info info = {.size = sizeof(info)};
        c->args[i] = c->call->args[i];
        dp_op_arg(&c->facts, i, &info);
        int rc = info.type == DP_TYPE_TENSOR ? value_down(c, &c->args[i]) : 0;
        if (rc < 0)
            return rc;
        if (info.type == DP_TYPE_DEVICE && c->args[i].tag != DP_TAG_NONE)
            asked = &c->args[i];
    }
    if (asked != NULL) {
        c->target = (dp_device)asked->u.i;
        *asked = dp_int(DP_DEVICE_CPU);
    }
    return 0;
}

/* -- results -- */

/* An argument that was written may have another shape, too. */
static int written_up(crossing *c, const dp_tensor *cpu)
{
    for (uint32_t i = 0; i < c->n_twins; i++) {
        const twin *w = &c->twins[i];
        DP_VIEW(here, w->far);
        DP_VIEW(there, w->cpu);
        if (w->cpu != cpu)
            continue;
        bool same = here.ndim == there.ndim && dp_tensor_offset(w->far) == dp_tensor_offset(cpu);
        for (int d = 0; same && d < here.ndim; d++)
            same = here.sizes[d] == there.sizes[d] && here.strides[d] == there.strides[d];
        int rc = same ? 0
                      : dp_set_storage(c->ctx, w->far, w->far, dp_tensor_offset(cpu), there.ndim,
                                       there.sizes, there.strides);
        return rc < 0 ? rc : dp_copy(c->ctx, w->far, w->cpu);
    }
    return 0; /* it was on the CPU */
}

static int all_written_up(crossing *c)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < c->facts.n_args; i++) {
        const dp_value *v = &c->args[i];
        dp_arg_info info = {.size = sizeof(info)};
        if (!dp_op_arg(&c->facts, i, &info) || !info.written)
            continue;
        if (v->tag == DP_TAG_TENSOR)
            rc = written_up(c, v->u.t);
        for (uint32_t k = 0; rc == 0 && v->tag == DP_TAG_TENSORS && k < v->len; k++)
            rc = v->u.tensors[k] != NULL ? written_up(c, v->u.tensors[k]) : 0;
    }
    return rc;
}

/* Takes t, which is on the CPU, also on failure. */
static int tensor_up(crossing *c, dp_tensor *t, dp_tensor **out)
{
    const base *of = NULL;
    dp_tensor *here = NULL;
    DP_VIEW(v, t);
    int rc;

    for (uint32_t i = 0; i < c->n_bases; i++)
        if (dp_tensor_storage_id(c->bases[i].cpu) == dp_tensor_storage_id(t))
            of = &c->bases[i];
    if (of != NULL && dp_device_backend(c->target) == c->backend) {
        rc = dp_as_strided(c->ctx, of->far, v.ndim, v.sizes, v.strides, dp_tensor_offset(t), &here);
    } else {
        rc = dp_empty_strided(c->ctx, v.dtype, c->target, v.ndim, v.sizes, v.strides, &here);
        if (rc == 0 && (rc = dp_copy(c->ctx, here, t)) < 0)
            here = dp_tensor_unref(here);
    }
    dp_tensor_unref(t);
    *out = here;
    return rc;
}

static int value_up(crossing *c, dp_value *v)
{
    dp_tensor *t = NULL, **list = NULL;
    int rc = 0;

    if (v->tag == DP_TAG_TENSOR) {
        rc = tensor_up(c, v->u.t, &t);
        *v = dp_tensor_value(t);
    }
    if (v->tag != DP_TAG_TENSORS || v->len == 0)
        return rc;
    if ((list = dp_alloc(c->ctx, v->len * sizeof(*list))) == NULL)
        return DP_ERESOURCE;
    memcpy(list, v->u.tensors, v->len * sizeof(*list));
    v->u.tensors = list;
    for (uint32_t i = 0; rc == 0 && i < v->len; i++)
        if (list[i] != NULL)
            rc = tensor_up(c, list[i], &list[i]);
    return rc;
}

/* -- the kernel -- */

static int run(crossing *c)
{
    const dp_keyset cpu = dp_keyset_of(DP_KEY_OF(DP_F_Dense, DP_B_CPU));
    int rc = down(c);

    if (rc == 0)
        rc = dp_redispatch_boxed(c->ctx, c->call->op, cpu, c->args, c->facts.n_args, c->call->rets,
                                 c->facts.n_rets);
    if (rc < 0)
        return dp_refuse(c->ctx, rc, NULL); /* nothing here was written */
    rc = all_written_up(c);
    for (uint32_t i = 0; rc == 0 && i < c->facts.n_rets; i++)
        rc = value_up(c, &c->call->rets[i]);
    return rc;
}

static uint32_t count_tensors(const dp_call *call)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < call->n_args; i++)
        n += call->args[i].tag == DP_TAG_TENSORS ? call->args[i].len : 1;
    return n;
}

static int on_the_cpu(dp_call *call)
{
    crossing c = {.call = call, .ctx = call->ctx, .facts = {.size = sizeof(dp_schema_info)}};
    uint32_t n = count_tensors(call);
    int rc = dp_schema_info_get(call->ctx, call->op, &c.facts);

    if (rc < 0)
        return rc;
    c.backend = dp_keyset_backend(call->keys);
    c.bases = dp_alloc(call->ctx, (n + 1) * sizeof(*c.bases));
    c.twins = dp_alloc(call->ctx, (n + 1) * sizeof(*c.twins));
    c.args = dp_alloc(call->ctx, (call->n_args + 1) * sizeof(*c.args));
    if (c.bases == NULL || c.twins == NULL || c.args == NULL)
        return DP_ERESOURCE;
    rc = run(&c);
    for (uint32_t i = 0; i < c.n_twins; i++)
        dp_tensor_unref(c.twins[i].cpu);
    for (uint32_t i = 0; i < c.n_bases; i++) {
        dp_tensor_unref(c.bases[i].cpu);
        dp_tensor_unref(c.bases[i].far);
    }
    return rc;
}

DP_FALLBACK(far, on_the_cpu)
DP_ON_UNLOAD(faultdev_unload)
