/* calls.h -- fixture for tests of operator calls: a registry with the operators t::first and
 * t::many, and kernels that a test registers for t::first. */
#ifndef CALLS_H
#define CALLS_H

#include "base/base.h"
#include "dispatch/records.h"
#include <dispatchd/dispatch.h>
#include <dispatchd/typed.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static dp_registry *reg;
static dp_ctx *ctx;
static dp_error err;
static dp_tensor *a, *b;
static dp_unit *schemas;
static atomic_int entered, may_leave, kernel_runs;

static inline int first_unboxed(dp_ctx *c, dp_tensor *x, dp_tensor *y, dp_tensor **out)
{
    (void)c, (void)y;
    atomic_fetch_add(&kernel_runs, 1);
    *out = dp_tensor_ref(x);
    return 0;
}
static inline int first(dp_call *call)
{
    atomic_fetch_add(&kernel_runs, 1);
    call->rets[0] = dp_tensor_value(dp_tensor_ref(call->args[0].u.t));
    return 0;
}
static inline int second(dp_call *call)
{
    call->rets[0] = dp_tensor_value(dp_tensor_ref(call->args[1].u.t));
    return 0;
}
static inline int below(dp_call *call)
{
    return dp_redispatch_boxed(call->ctx, call->op, dp_keyset_below(call->keys, call->key),
                               call->args, call->n_args, call->rets, call->n_rets);
}
static inline int again(dp_call *call)
{
    return dp_call_boxed(call->ctx, call->op, call->args, call->n_args, call->rets, call->n_rets);
}
static inline int nothing(dp_call *call)
{
    (void)call;
    return 0;
}
static inline int returns_int(dp_call *call)
{
    call->rets[0] = dp_int(1);
    return 0;
}
static inline int returns_seven(dp_call *call)
{
    call->rets[0] = dp_tensor_value(dp_tensor_ref(call->args[0].u.t));
    return 7;
}
static inline int waits(dp_call *call)
{
    atomic_store(&entered, 1);
    while (atomic_load(&may_leave) == 0)
        usleep(200);
    return first(call);
}
static inline int invokes(dp_call *call)
{
    dp_tensor *out = NULL;
    dp_value rets[1];
    const dp_op *op = dp_op_find(call->ctx, "t::first");
    int rc = op ? dp_call_boxed(call->ctx, op, call->args, 2, rets, 1) : DP_ENOTFOUND;
    if (rc == 0)
        out = rets[0].u.t;
    call->rets[0] = dp_tensor_value(out);
    return rc;
}

static const dp_item defs[] = {
    REC_DEF("first(Tensor a, Tensor b) -> Tensor"),
    REC_DEF("many(Tensor[] x, int n=3, *, float? f=None) -> (Tensor, int)"),
};
static const dp_block def_block = REC_BLOCK(DP_BLOCK_LIBRARY, __LINE__, "t", "", defs);

static inline dp_unit *attach_as(const char *name, const char *key, dp_boxed_fn boxed,
                                 dp_any_fn unboxed, uint16_t flags)
{
    dp_item item = REC_IMPL_UNBOXED("first", boxed, unboxed, unboxed ? "TT>T" : "", flags);
    dp_item items[1] = {item};
    dp_block block = REC_BLOCK(DP_BLOCK_IMPL, __LINE__, "t", key, items);
    dp_unit *unit = NULL;

    dp_registry_attach(reg, name, "1", &block, 1, &unit, &err);
    return unit;
}

static inline void detach(dp_unit *u)
{
    int rc = dp_registry_detach(reg, u, 1000, &err);
    ck_assert_msg(rc == 0, "detach: %d %s", rc, err.message);
}

static inline int call(dp_value *ret)
{
    dp_value args[2] = {dp_tensor_value(a), dp_tensor_value(b)};
    const dp_op *op = dp_op_find(ctx, "t::first");
    return op ? dp_call_boxed(ctx, op, args, 2, ret, 1) : DP_ENOTFOUND;
}

static inline void expect_fail(int code, const char *text)
{
    dp_value ret;
    int rc = call(&ret);
    ck_assert_int_eq(rc, code);
    ck_assert_msg(strstr(dp_ctx_error(ctx)->message, text) != NULL, "'%s' not in '%s'", text,
                  dp_ctx_error(ctx)->message);
    ck_assert_uint_eq(ret.tag, DP_TAG_NONE);
}

static inline void expect_tensor(const dp_tensor *want)
{
    dp_value ret;
    int rc = call(&ret);
    ck_assert_msg(rc == 0, "%d: %s", rc, dp_ctx_error(ctx)->message);
    ck_assert_ptr_eq(ret.u.t, want);
    dp_values_release(&ret, 1);
}

static inline void setup(void)
{
    int64_t sizes[1] = {3};

    atomic_store(&entered, 0);
    atomic_store(&may_leave, 0);
    atomic_store(&kernel_runs, 0);
    ck_assert_int_eq(dp_registry_new(&reg, &err), 0);
    ck_assert_msg(dp_registry_attach(reg, "schemas", "1", &def_block, 1, &schemas, &err) == 0, "%s",
                  err.message);
    ck_assert_int_eq(dp_ctx_new(reg, &ctx, &err), 0);
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, sizes, NULL, &a, &err), 0);
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, sizes, NULL, &b, &err), 0);
}

static inline void teardown(void)
{
    dp_tensor_unref(a);
    dp_tensor_unref(b);
    ctx = dp_ctx_free(ctx);
    reg = dp_registry_free(reg);
}

DP_TYPED(typed_first, (T, T), (T))

/* Allocate small and large scratch memory, and return the first argument. */
static inline int takes(dp_call *call)
{
    static const size_t bytes[] = {100, 100000, 3000};

    for (int i = 0; i < 3; i++) {
        char *p = dp_alloc(call->ctx, bytes[i]);
        if (p == NULL)
            return DP_ERESOURCE;
        memset(p, 0xee, bytes[i]);
    }
    return first(call);
}

static inline int takes_unboxed(dp_ctx *c, dp_tensor *x, dp_tensor *y, dp_tensor **out)
{
    char *p = dp_alloc(c, 50000);

    (void)y;
    if (p == NULL)
        return DP_ERESOURCE;
    memset(p, 0xee, 50000);
    *out = dp_tensor_ref(x);
    return 0;
}

static inline dp_value text(const char *s)
{
    dp_value v = {DP_TAG_STR, (uint32_t)strlen(s), {0}};
    v.u.s = s;
    return v;
}

/* Return values of all types with pointers: into the plugin's code, into scratch memory, and to the
 * tensor argument. */
static inline int returns_memory(dp_call *call)
{
    static const char code[] = "in the code";
    int64_t n = call->args[1].u.i;
    double *z = dp_alloc(call->ctx, 2 * sizeof(*z));
    int64_t *ints = dp_alloc(call->ctx, (size_t)n * sizeof(*ints));
    dp_tensor **list = dp_alloc(call->ctx, 2 * sizeof(*list));
    dp_value *words = dp_alloc(call->ctx, 2 * sizeof(*words));
    char *number = dp_alloc(call->ctx, 32), *noise = dp_alloc(call->ctx, 40000);

    if (!z || !ints || !list || !words || !number || !noise)
        return DP_ERESOURCE;
    memset(noise, 0xee, 40000);
    z[0] = 1, z[1] = 2;
    for (int64_t i = 0; i < n; i++)
        ints[i] = n * i;
    list[0] = list[1] = dp_tensor_ref(dp_tensor_ref(call->args[0].u.t));
    snprintf(number, 32, "number %lld", (long long)n);
    words[0] = text(code);
    words[1] = text(number);
    call->rets[0] = text(code);
    call->rets[1] = (dp_value){DP_TAG_LIST, 2, {.values = words}};
    call->rets[2] = dp_ints(ints, (size_t)n);
    call->rets[3] = dp_tensors(list, 2);
    call->rets[4] = (dp_value){DP_TAG_COMPLEX, 0, {.doubles = z}};
    return 0;
}

static const dp_item memory_items[] = {
    REC_DEF("memory(Tensor x, int n) -> (str, str[], int[], Tensor[], complex)"),
    REC_IMPL("memory", returns_memory),
    REC_DEF("takes(Tensor a, Tensor b) -> Tensor"),
    REC_IMPL_UNBOXED("takes", takes, takes_unboxed, "TT>T", 0),
};
static const dp_block memory_block = REC_BLOCK(DP_BLOCK_FRAGMENT, 1, "t", "", memory_items);

#endif
