/* fallback.c -- dp_fallback_cpu(): run any operator of a backend by the CPU kernel, on copies of
 * the arguments (aten/src/ATen/native/CPUFallback.cpp).
 *
 * Each storage of the arguments is copied to the CPU once, as bytes.  Each argument gets a twin: a
 * CPU tensor of the same geometry on that copy.  So arguments that share memory have twins that
 * share memory, and a kernel that checks for overlap finds it.  After the call, written arguments
 * are copied back to the device, and so are the returns.  A return on a copied storage becomes a
 * view of the device's storage.  So views stay views, where PyTorch's fallback warns and returns a
 * copy.  Only a return on other memory, which the schema calls a view, becomes a copy, with
 * PyTorch's warning. */
#include "enter.h"
#include "enums.h"

/* A storage on a device and its copy on the CPU, each as a 1-dim tensor of bytes. */
typedef struct storage_pair {
    dp_tensor *device, *cpu;
} storage_pair;

typedef struct twin {
    dp_tensor *device; /* the argument, borrowed */
    dp_tensor *cpu;    /* owned */
    bool written;
} twin;

typedef struct fallback {
    dp_call *call;
    dp_ctx *ctx;
    const dpi_entry *e;
    storage_pair *pairs;
    twin *twins;
    dp_generator **generators;
    uint32_t n_pairs, n_twins, n_generators;
    dp_value *args;
    dp_device target;          /* device of new results */
    bool has_target;           /* an argument has determined `target` */
    bool from_device_argument; /* `target` comes from a Device argument */
    bool writes_cpu_argument;  /* the kernel writes an argument that is on the CPU already */
    bool copied_view;          /* a return that the schema calls a view is on other memory */
    uint64_t bytes;            /* copied so far */
} fallback;

static const dp_keyset cpu_keys = {DPI_BIT(Dense), DP_BBIT(DP_B_CPU)};

/* -- arguments -- */

static bool on_device(const dp_tensor *t)
{
    const dpi_storage *s = dpi_storage_of(t);
    int backend = dp_device_backend(s->device);

    return backend != DP_B_CPU && backend != DP_B_Meta && !s->memoryless &&
           !(dpi_keys_of(t).backend & DPI_WRAPPER_BIT);
}

static void set_target(fallback *f, dp_device device)
{
    if (!f->has_target)
        f->target = device;
    f->has_target = true;
}

/* Set *out to a 1-dim tensor of the bytes of the storage of `t`. */
static int bytes_of(fallback *f, const dp_tensor *t, dp_tensor **out)
{
    int64_t n = (int64_t)dp_tensor_storage_bytes(t), stride = 1;

    return dpi_view_as(t, DP_UINT8, dpi_math_bits(t), 1, &n, &stride, 0, out, &f->ctx->error);
}

/* Copy the elements of `from` to `to`, and count the bytes. */
static int copy(fallback *f, dp_tensor *to, const dp_tensor *from)
{
    int rc = dp_copy(f->ctx, to, from);

    if (rc == 0)
        f->bytes += (uint64_t)dpi_geometry_of(from)->numel * dp_dtype_size(from->dtype);
    return rc;
}

static int pair_new(fallback *f, const dp_tensor *t, storage_pair *pair)
{
    int64_t n = (int64_t)dp_tensor_storage_bytes(t);

    *pair = (storage_pair){NULL, NULL};
    f->n_pairs++;
    int rc = bytes_of(f, t, &pair->device);
    if (rc == 0)
        rc = dp_empty(f->ctx, DP_UINT8, DP_DEVICE_CPU, 1, &n, DP_CONTIGUOUS, &pair->cpu);
    return rc < 0 ? rc : copy(f, pair->cpu, pair->device);
}

/* Set *out to a tensor on the storage of `bytes`, with the geometry and the Conjugate and Negative
 * bits of `t`. */
static int view_like(fallback *f, const dp_tensor *bytes, const dp_tensor *t, dp_tensor **out)
{
    const dpi_geometry *g = dpi_geometry_of(t);

    return dpi_view_as(bytes, t->dtype, dpi_math_bits(t), g->ndim, g->sizes, g->strides, g->offset,
                       out, &f->ctx->error);
}

static int twin_new(fallback *f, dp_tensor *t, twin *w)
{
    const storage_pair *pair = NULL;

    for (uint32_t i = 0; i < f->n_pairs; i++)
        if (dpi_storage_of(f->pairs[i].device) == dpi_storage_of(t))
            pair = &f->pairs[i];
    if (pair == NULL) {
        int rc = pair_new(f, t, &f->pairs[f->n_pairs]);
        if (rc < 0)
            return rc;
        pair = &f->pairs[f->n_pairs - 1];
    }
    *w = (twin){.device = t};
    int rc = view_like(f, pair->cpu, t, &w->cpu);
    if (rc < 0)
        return rc;
    if (dp_tensor_is_wrapped(t))
        dp_tensor_set_wrapped(w->cpu, true);
    f->n_twins++;
    return 0;
}

/* If *t is on a device, replace *t by its twin, without a new reference. */
static int tensor_to_cpu(fallback *f, dp_tensor **t, bool written)
{
    twin *w = NULL;

    if (!on_device(*t)) {
        f->writes_cpu_argument |= written;
        return 0;
    }
    set_target(f, dpi_storage_of(*t)->device);
    for (uint32_t i = 0; i < f->n_twins; i++)
        if (f->twins[i].device == *t)
            w = &f->twins[i];
    if (w == NULL) {
        int rc = twin_new(f, *t, w = &f->twins[f->n_twins]);
        if (rc < 0)
            return rc;
    }
    w->written |= written;
    *t = w->cpu;
    return 0;
}

static int list_to_cpu(fallback *f, dp_value *v, bool written)
{
    dp_tensor **list = dp_alloc_n(f->ctx, v->len, sizeof(*list));
    int rc = 0;

    if (list == NULL)
        return DP_ERESOURCE;
    dp_copy_n(list, v->u.tensors, v->len, sizeof(*list));
    for (uint32_t i = 0; rc == 0 && i < v->len; i++)
        if (list[i] != NULL)
            rc = tensor_to_cpu(f, &list[i], written);
    v->u.tensors = list;
    return rc;
}

/* Replace *v, a device's generator, by a CPU generator.  One draw from the device's generator gives
 * the seed: its own seed if nothing was drawn from it before, otherwise a new one for each call. */
static int generator_to_cpu(fallback *f, dp_value *v)
{
    dp_ctx *ctx = f->ctx;
    dp_device device = dp_generator_device(v->u.g);
    uint64_t seed = 0, offset = 0;

    if (dp_device_backend(device) == DP_B_CPU)
        return 0;
    set_target(f, device);
    int rc = dp_generator_enter(ctx, v->u.g, device);
    if (rc < 0)
        return rc;
    rc = dp_generator_philox(ctx, 4, &seed, &offset);
    dp_generator_leave(ctx);
    if (rc == 0)
        rc = dp_generator_new(DP_DEVICE_CPU, seed + offset * 0x9e3779b97f4a7c15u,
                              &f->generators[f->n_generators], &ctx->error);
    if (rc < 0)
        return rc;
    v->u.g = f->generators[f->n_generators++];
    return 0;
}

static bool is_written(const fallback *f, uint32_t i)
{
    return f->e->schema->args[i].written || (i < 64 && (f->e->written >> i & 1));
}

static int value_to_cpu(fallback *f, uint32_t i)
{
    dp_value *v = &f->args[i];

    switch (v->tag) {
    case DP_TAG_TENSOR:
        return tensor_to_cpu(f, &v->u.t, is_written(f, i));
    case DP_TAG_TENSORS:
        return list_to_cpu(f, v, is_written(f, i));
    case DP_TAG_GENERATOR:
        return generator_to_cpu(f, v);
    default:
        return 0;
    }
}

/* Take the target device from a Device argument, which has precedence over tensors.  Pass CPU to
 * the kernel instead. */
static void read_device(fallback *f)
{
    const dp_schema *s = f->e->schema;

    for (uint32_t i = 0; i < s->n_args; i++)
        if (f->args[i].tag == DP_TAG_INT && dpi_enum_kind(s->args[i].type) == DPI_TYPE_DEVICE) {
            set_target(f, (dp_device)f->args[i].u.i);
            f->from_device_argument = true;
            f->args[i] = dp_int(DP_DEVICE_CPU);
        }
}

static int arguments_to_cpu(fallback *f)
{
    int rc = 0;

    read_device(f);
    for (uint32_t i = 0; rc == 0 && i < f->call->n_args; i++)
        rc = value_to_cpu(f, i);
    return rc;
}

/* -- results -- */

static const storage_pair *pair_of(const fallback *f, const dp_tensor *cpu)
{
    for (uint32_t i = 0; i < f->n_pairs; i++)
        if (dpi_storage_of(f->pairs[i].cpu) == dpi_storage_of(cpu))
            return &f->pairs[i];
    return NULL;
}

static bool same_geometry(const dpi_geometry *a, const dpi_geometry *b)
{
    return a->offset == b->offset && dpi_same_sizes(a, b) && dpi_same_strides(a, b);
}

/* Set *out to a tensor on the storage that the argument of `w` must get, because the kernel gave
 * its twin another storage: that of another argument's twin, or a new one. */
static int new_source(fallback *f, const twin *w, dp_tensor **out)
{
    const storage_pair *pair = pair_of(f, w->cpu);
    int64_t none = 0, stride = 1, n = (int64_t)dp_tensor_storage_bytes(w->cpu);
    dp_tensor *bytes = NULL;

    if (pair != NULL)
        return dpi_view_as(pair->device, w->device->dtype, 0, 1, &none, &stride, 0, out,
                           &f->ctx->error);
    int rc =
        dp_empty(f->ctx, DP_UINT8, dpi_storage_of(w->device)->device, 1, &n, DP_CONTIGUOUS, &bytes);
    if (rc == 0)
        rc = dpi_view_as(bytes, w->device->dtype, 0, 1, &none, &stride, 0, out, &f->ctx->error);
    dp_tensor_unref(bytes);
    return rc;
}

/* Give the argument of `w` the geometry that the kernel gave its twin (out=, resize_, set_). */
static int geometry_to_device(fallback *f, const twin *w)
{
    const dpi_geometry *g = dpi_geometry_of(w->cpu);
    const storage_pair *pair = pair_of(f, w->cpu);
    bool moved = pair == NULL || dpi_storage_of(pair->device) != dpi_storage_of(w->device);
    dp_tensor *source = NULL;

    if (!moved && same_geometry(dpi_geometry_of(w->device), g))
        return 0;
    int rc = moved ? new_source(f, w, &source) : 0;
    if (rc == 0)
        rc = dp_set_storage(f->ctx, w->device, moved ? source : w->device, g->offset, g->ndim,
                            g->sizes, g->strides);
    dp_tensor_unref(source);
    return rc;
}

/* Copy the twin's elements to its argument.  If elements of the argument share memory, copy the
 * whole storage instead. */
static int elements_to_device(fallback *f, const twin *w)
{
    const storage_pair *pair = pair_of(f, w->cpu);

    return pair != NULL && dp_internal_overlap(w->device) == 1 ? copy(f, pair->device, pair->cpu)
                                                               : copy(f, w->device, w->cpu);
}

/* Set *out to a copy of `t` and its whole storage on the target device.  This is for a tensor whose
 * elements share memory. */
static int storage_copy(fallback *f, const dp_tensor *t, dp_tensor **out)
{
    int64_t n = (int64_t)dp_tensor_storage_bytes(t);
    dp_tensor *from = NULL, *to = NULL;
    int rc = bytes_of(f, t, &from);

    if (rc == 0)
        rc = dp_empty(f->ctx, DP_UINT8, f->target, 1, &n, DP_CONTIGUOUS, &to);
    if (rc == 0)
        rc = copy(f, to, from);
    if (rc == 0)
        rc = view_like(f, to, t, out);
    dp_tensor_unref(from);
    dp_tensor_unref(to);
    return rc;
}

static int tensor_copy(fallback *f, const dp_tensor *t, dp_tensor **out)
{
    const dpi_geometry *g = dpi_geometry_of(t);

    if (dp_internal_overlap(t) == 1)
        return storage_copy(f, t, out);
    int rc = dp_empty_strided(f->ctx, t->dtype, f->target, g->ndim, g->sizes, g->strides, out);
    if (rc == 0)
        rc = copy(f, *out, t);
    if (rc == 0 && dp_tensor_is_wrapped(t))
        dp_tensor_set_wrapped(*out, true);
    return rc;
}

/* Does `t` share the storage of an argument of this call, e.g. one that was on the CPU already? */
static bool shares_with_argument(const fallback *f, const dp_tensor *t)
{
    for (uint32_t i = 0; i < f->call->n_args; i++) {
        const dp_value *v = &f->call->args[i];
        if (v->tag == DP_TAG_TENSOR && dpi_share_storage(v->u.t, t))
            return true;
        for (uint32_t k = 0; v->tag == DP_TAG_TENSORS && k < v->len; k++)
            if (v->u.tensors[k] != NULL && dpi_share_storage(v->u.tensors[k], t))
                return true;
    }
    return false;
}

/* Replace *t, which the CPU kernel returned, by the return of this call.  For a twin this is its
 * argument; for another tensor on the CPU copy of a storage, a view of that storage; but if a
 * Device argument asks for another device, neither.  Otherwise *t stays if it is on a device, is a
 * view of an argument on the CPU, or is on no copy while the target is the CPU; else it is copied
 * to the target.  `is_view`: the schema says that *t is a view.  On failure, *t becomes NULL. */
static int tensor_to_device(fallback *f, dp_tensor **t, bool is_view)
{
    dp_tensor *cpu = *t, *out = NULL;
    const storage_pair *pair = pair_of(f, cpu);
    bool stays = on_device(cpu) || (is_view && shares_with_argument(f, cpu)) ||
                 (pair == NULL && f->target == DP_DEVICE_CPU);
    int rc = 0;

    if (pair != NULL && f->from_device_argument &&
        dpi_storage_of(pair->device)->device != f->target)
        pair = NULL;
    for (uint32_t i = 0; pair != NULL && i < f->n_twins; i++)
        if (f->twins[i].cpu == cpu)
            out = dp_tensor_ref(f->twins[i].device);
    f->copied_view |= is_view && pair == NULL && !shares_with_argument(f, cpu);
    if (out == NULL && pair != NULL)
        rc = view_like(f, pair->device, cpu, &out);
    else if (out == NULL && stays)
        return 0;
    else if (out == NULL)
        rc = tensor_copy(f, cpu, &out);
    if (rc < 0)
        out = dp_tensor_unref(out);
    dp_tensor_unref(cpu);
    *t = out;
    return rc;
}

static int return_to_device(fallback *f, uint32_t i)
{
    dp_value *v = &f->call->rets[i];
    bool is_view = f->e->schema->ret_view[i] >= 0;
    dp_tensor **list;
    int rc = 0;

    if (v->tag == DP_TAG_TENSOR) {
        rc = tensor_to_device(f, &v->u.t, is_view);
        *v = dp_tensor_value(v->u.t);
    }
    if (v->tag != DP_TAG_TENSORS || v->len == 0)
        return rc;
    if ((list = dp_alloc_n(f->ctx, v->len, sizeof(*list))) == NULL)
        return DP_ERESOURCE;
    dp_copy_n(list, v->u.tensors, v->len, sizeof(*list));
    v->u.tensors = list;
    for (uint32_t k = 0; rc == 0 && k < v->len; k++)
        if (list[k] != NULL)
            rc = tensor_to_device(f, &list[k], is_view);
    return rc;
}

/* -- the kernel -- */

/* Fail with `rc`, whose error is set.  Report that no argument was written, because the kernel
 * wrote only to twins; if it may have written an argument on the CPU, let dp_refuse() decide. */
static int refuse(fallback *f, int rc)
{
    dp_ctx *ctx = f->ctx;

    if (f->writes_cpu_argument)
        return dp_refuse(ctx, rc, NULL);
    ctx->error.written = 0;
    ctx->refused = atomic_load_explicit(&ctx->thread->depth, memory_order_relaxed);
    return rc;
}

static int run(fallback *f)
{
    dp_call *call = f->call;
    int rc = arguments_to_cpu(f);

    if (rc == 0)
        rc = dp_redispatch_boxed(f->ctx, call->op, cpu_keys, f->args, call->n_args, call->rets,
                                 call->n_rets);
    for (uint32_t i = 0; rc == 0 && i < f->n_twins; i++)
        rc = f->twins[i].written ? geometry_to_device(f, &f->twins[i]) : 0;
    for (uint32_t i = 0; rc == 0 && i < call->n_rets; i++)
        rc = return_to_device(f, i);
    if (rc < 0)
        return refuse(f, rc);
    for (uint32_t i = 0; rc == 0 && i < f->n_twins; i++)
        rc = f->twins[i].written ? elements_to_device(f, &f->twins[i]) : 0;
    if (f->copied_view)
        dpi_warn_copied_view(call, f->target);
    return rc;
}

static int prepare(fallback *f)
{
    const dp_call *call = f->call;
    size_t n = 0;

    for (uint32_t i = 0; i < call->n_args; i++)
        n += call->args[i].tag == DP_TAG_TENSORS ? call->args[i].len : 1;
    f->pairs = dp_alloc_n(f->ctx, n, sizeof(*f->pairs));
    f->twins = dp_alloc_n(f->ctx, n, sizeof(*f->twins));
    f->generators = dp_alloc_n(f->ctx, n, sizeof(dp_generator *));
    f->args = dp_alloc_n(f->ctx, call->n_args, sizeof(*f->args));
    if (f->pairs == NULL || f->twins == NULL || f->generators == NULL || f->args == NULL)
        return DP_ERESOURCE;
    dp_copy_n(f->args, call->args, call->n_args, sizeof(*f->args));
    return 0;
}

static void release(fallback *f)
{
    for (uint32_t i = 0; i < f->n_twins; i++)
        dp_tensor_unref(f->twins[i].cpu);
    for (uint32_t i = 0; i < f->n_pairs; i++) {
        dp_tensor_unref(f->pairs[i].cpu);
        dp_tensor_unref(f->pairs[i].device);
    }
    for (uint32_t i = 0; i < f->n_generators; i++)
        dp_generator_unref(f->generators[i]);
}

static int check_key(dp_call *call)
{
    int backend = dp_key_backend(call->key);

    if (dp_key_functionality(call->key) == DP_F_Dense && backend != DP_B_CPU &&
        backend != DP_B_Meta)
        return 0;
    return dpi_fail_op(call->ctx, DP_ENOTIMPL, call->op, call->key,
                       "dp_fallback_cpu() serves backends other than CPU and Meta");
}

int dp_fallback_cpu(dp_call *call)
{
    if (call == NULL)
        return DP_EPLUGIN; /* without a context there is nowhere to describe the error */
    fallback f = {.call = call,
                  .ctx = call->ctx,
                  .e = entry_of(call->ctx, call->op),
                  .target = DP_DEVICE(dp_key_backend(call->key), 0)};

    if (f.e == NULL || check_key(call) < 0)
        return call->ctx->error.code;
    if (dpi_needs_no_bytes(f.e))
        return dp_redispatch_boxed(f.ctx, call->op, cpu_keys, call->args, call->n_args, call->rets,
                                   call->n_rets);
    int rc = dpi_begin_fallback(call, f.e);
    if (rc == 0)
        rc = prepare(&f);
    if (rc == 0)
        rc = run(&f);
    dpi_end_fallback(call, f.bytes);
    release(&f);
    return rc;
}
