/* test_replaced.c -- what a tensor was before it changed its shape, its parts or its memory goes
 * when no running call can see it. */
#include "../../alive.h"
#include "dispatch/records.h"
#include "tensor/tensor_i.h"
#include <dispatchd/dispatch.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>

enum { CHANGES = 100000, AT_A_TIME = 8 };

static dp_registry *reg;
static dp_ctx *ctx;
static dp_error err;
static dp_tensor *t, *w, *parts[2]; /* w: a wrapper of one of the parts */
static sem_t running, go;

static float *data_of(const dp_tensor *x)
{
    DP_VIEW(v, x);
    return v.data;
}

static int shape_(dp_call *call)
{
    int64_t sizes[] = {call->args[1].u.i};

    return dp_resize(call->ctx, call->args[0].u.t, 1, sizes, DP_PRESERVE);
}

static int shape_out(dp_call *call)
{
    int64_t sizes[] = {1, call->args[0].u.i};
    dp_tensor *out = call->args[1].u.t;

    return dp_set_output(call->ctx, &out, 2, sizes, NULL, DP_FLOAT32, DP_DEVICE_CPU);
}

/* It sees one shape from its beginning to its end. */
static int look(dp_call *call)
{
    DP_VIEW(before, call->args[0].u.t);
    int64_t n = before.sizes[before.ndim - 1];

    if (call->args[1].u.b) {
        sem_post(&running);
        sem_wait(&go);
    }
    DP_VIEW(after, call->args[0].u.t);
    unit_each(before.sizes == after.sizes && before.data == after.data, "%p and %p",
              (const void *)before.sizes, (const void *)after.sizes);
    unit_each(n >= 0 && n < CHANGES && before.sizes[before.ndim - 1] == n, "%lld and %lld",
              (long long)n, (long long)before.sizes[before.ndim - 1]);
    return 0;
}

/* As many bytes as n says, if it has less. */
static int grow_(dp_call *call)
{
    dp_tensor *self = call->args[0].u.t;
    int64_t n = call->args[1].u.i, few = 1;
    int rc = dp_resize(call->ctx, self, 1, &n, DP_PRESERVE);

    return rc < 0 ? rc : dp_resize(call->ctx, self, 1, &few, DP_PRESERVE);
}

static dp_wrapper wrapper_of(dp_tensor *const *part)
{
    return (dp_wrapper){.size = sizeof(dp_wrapper),
                        .kind = "one",
                        .keys = {DPI_BIT(FuncTorchBatched), 0},
                        .dtype = DP_FLOAT32,
                        .n_tensors = 1,
                        .tensors = part};
}

static int become_(dp_call *call)
{
    dp_wrapper next = wrapper_of(&call->args[1].u.t);

    return dp_wrapper_become(call->ctx, call->args[0].u.t, &next);
}

/* It is made of one tensor from its beginning to its end. */
static int look_inside(dp_call *call)
{
    dp_wrapper before = {.size = sizeof(before)}, after = {.size = sizeof(after)};
    float *first;

    unit_each(dp_wrapper_get(call->args[0].u.t, &before), "it is no wrapper");
    first = data_of(before.tensors[0]);
    for (int i = 0; i < 10; i++)
        unit_each(*first == 1 || *first == 2, "%g", (double)*first);
    unit_each(dp_wrapper_get(call->args[0].u.t, &after), "it is no wrapper");
    unit_each(before.tensors == after.tensors, "%p and %p", (const void *)before.tensors,
              (const void *)after.tensors);
    return 0;
}

static const dp_item defs[] = {REC_DEF("shape_(Tensor(a!) self, int n) -> ()"),
                               REC_DEF("shape.out(int n, *, Tensor(a!) out) -> Tensor(a!)"),
                               REC_DEF("look(Tensor x, bool wait) -> ()"),
                               REC_DEF("grow_(Tensor(a!) self, int n) -> ()"),
                               REC_DEF("become_(Tensor(a!) self, Tensor part) -> ()"),
                               REC_DEF("look_inside(Tensor x) -> ()")};
static const dp_item impls[] = {REC_IMPL("shape_", shape_), REC_IMPL("shape.out", shape_out),
                                REC_IMPL("look", look), REC_IMPL("grow_", grow_)};
static const dp_item wrapper_impls[] = {REC_IMPL("become_", become_),
                                        REC_IMPL("look_inside", look_inside)};
static const dp_block blocks[] = {
    REC_BLOCK(DP_BLOCK_LIBRARY, 1, "s", "", defs),
    REC_BLOCK(DP_BLOCK_IMPL, 2, "s", "CompositeExplicitAutograd", impls),
    REC_BLOCK(DP_BLOCK_IMPL, 3, "s", "FuncTorchBatched", wrapper_impls)};

static dp_tensor *part(float value)
{
    dp_tensor *p = NULL;
    int64_t n = 1000;

    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, 0, 1, &n, NULL, &p, &err), 0);
    for (int i = 0; i < n; i++)
        data_of(p)[i] = value;
    return p;
}

static dp_ctx *context(void)
{
    dp_ctx *c = NULL;
    dp_error e = DP_ERROR_INIT;

    ck_assert_msg(dp_ctx_new(reg, &c, &e) == 0, "%s", e.message);
    return c;
}

static void setup(void)
{
    alive_begin();
    reg = rec_registry();
    rec_attach(reg, "shapes", blocks, DPI_COUNT(blocks));
    ctx = context();
    sem_init(&running, 0, 0);
    sem_init(&go, 0, 0);
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, 0, 1, (int64_t[]){3}, NULL, &t, &err), 0);
    *data_of(t) = 7;
    parts[0] = part(1);
    parts[1] = part(2);
    dp_wrapper of = wrapper_of(parts);
    ck_assert_int_eq(dpi_wrapper_new(&of, &w, &err), 0);
}

static void teardown(void)
{
    dp_tensor *all[] = {t, w, parts[0], parts[1]};
    for (size_t i = 0; i < DPI_COUNT(all); i++)
        dp_tensor_unref(all[i]);
    dp_ctx_free(ctx);
    dp_registry_free(reg);
    alive_end();
}

static int reshape(dp_ctx *c, int64_t n)
{
    dp_value args[] = {dp_tensor_value(t), dp_int(n)};

    return dp_call_boxed(c, dp_op_find(c, "s::shape_"), args, 2, NULL, 0);
}

static int give(dp_ctx *c, int64_t n)
{
    dp_value args[] = {dp_int(n), dp_tensor_value(t)}, ret;
    int rc = dp_call_boxed(c, dp_op_find(c, "s::shape.out"), args, 2, &ret, 1);

    if (rc == 0) {
        dp_values_release(&ret, 1);
        dp_ctx_reset(c); /* its warning */
    }
    return rc;
}

static int grow(dp_ctx *c, int64_t n)
{
    dp_value args[] = {dp_tensor_value(t), dp_int(n)};

    return dp_call_boxed(c, dp_op_find(c, "s::grow_"), args, 2, NULL, 0);
}

static int become(dp_ctx *c, dp_tensor *p)
{
    dp_value args[] = {dp_tensor_value(w), dp_tensor_value(p)};

    return dp_call_boxed(c, dp_op_find(c, "s::become_"), args, 2, NULL, 0);
}

static int look_at(dp_ctx *c, bool wait)
{
    dp_value args[] = {dp_tensor_value(t), dp_bool(wait)};

    return dp_call_boxed(c, dp_op_find(c, "s::look"), args, 2, NULL, 0);
}

static int replaced_geometries(void)
{
    int n = 0;

    for (const dpi_geometry *g = dpi_geometry_of(t); (g = dpi_replaced_of(g)) != NULL;)
        n++;
    return n;
}

/* By an output and by itself, with little memory. */
START_TEST(a_shape_changes_without_end)
{
    int (*const ways[])(dp_ctx *, int64_t) = {reshape, give};

    for (size_t way = 0; way < DPI_COUNT(ways); way++) {
        size_t before = 0;
        for (int i = 0; i < CHANGES; i++) {
            int rc = ways[way](ctx, i % 2 + 1);
            unit_each(rc == 0, "change %d: %s", i, dp_ctx_error(ctx)->message);
            unit_each(replaced_geometries() <= AT_A_TIME, "%d formers after change %d",
                      replaced_geometries(), i);
            if (i == AT_A_TIME * 10)
                before = mallinfo2().uordblks;
        }
        ck_assert_uint_lt(mallinfo2().uordblks, before + 65536);
    }
}
END_TEST

START_TEST(a_storage_grows_without_end)
{
    for (int i = 0; i < CHANGES; i++) {
        unit_each(grow(ctx, 100 + i) == 0, "growth %d: %s", i, dp_ctx_error(ctx)->message);
        unit_each(alive().bytes < 4 * (uint64_t)(2 * i + 1000) + 8000, "%llu bytes after growth %d",
                  (unsigned long long)alive().bytes, i);
        unit_each(alive().storages <= 6, "%llu storages", (unsigned long long)alive().storages);
    }
    ck_assert_msg(*data_of(t) == 7, "%g", (double)*data_of(t));
}
END_TEST

/* What it was made of goes, though the wrapper's first geometry lies with the wrapper. */
START_TEST(a_wrapper_becomes_others_without_end)
{
    size_t before = 0;

    for (int i = 0; i < CHANGES; i++) {
        dp_tensor *p = part((float)(i % 2 + 1));
        unit_each(become(ctx, p) == 0, "change %d: %s", i, dp_ctx_error(ctx)->message);
        dp_tensor_unref(p);
        unit_each(alive().tensors <= 6, "%llu tensors", (unsigned long long)alive().tensors);
        if (i == 100)
            before = mallinfo2().uordblks;
    }
    ck_assert_uint_lt(mallinfo2().uordblks, before + 65536);
    ck_assert_uint_eq(parts[0]->refs, 1);
}
END_TEST

/* Whoever keeps a wrapper is charged for what it is made of now, and for what it was as long as
 * that is there. */
START_TEST(an_account_holds_what_a_wrapper_is_made_of)
{
    dp_holder_limit limits[DP_HOLDERS];
    dp_usage held[DP_HOLDERS];
    dp_account *a;

    for (int h = 0; h < DP_HOLDERS; h++)
        limits[h] = (dp_holder_limit){"count_limit", "bytes_limit", 10, 20000};
    ck_assert_int_eq(dp_account_new(limits, &a, &err), 0);
    ck_assert_int_eq(dp_account_charge_tensor(a, DP_HOLDER_TENSORS, w, &err), 0);
    for (int i = 0; i < 1000; i++) {
        dp_tensor *p = part(1);
        unit_each(become(ctx, p) == 0, "change %d: %s", i, dp_ctx_error(ctx)->message);
        dp_tensor_unref(p);
        dp_account_usage(a, held);
        unit_each(held[DP_HOLDER_TENSORS].bytes == 8000, "%llu bytes",
                  (unsigned long long)held[DP_HOLDER_TENSORS].bytes);
    }
    ck_assert_int_eq(dp_account_charge_tensor(a, DP_HOLDER_TENSORS, parts[0], &err), 0);
    ck_assert_int_eq(become(ctx, parts[0]), 0); /* another's handle */
    ck_assert_int_eq(become(ctx, parts[1]), 0);
    ck_assert_int_eq(become(ctx, parts[1]), 0);
    dp_account_usage(a, held);
    ck_assert_uint_eq(held[DP_HOLDER_TENSORS].bytes, 8000);
    dp_account_refund_tensor(a, DP_HOLDER_TENSORS, w);
    dp_account_usage(a, held);
    ck_assert_uint_eq(held[DP_HOLDER_TENSORS].bytes, 4000);
    dp_account_refund_tensor(a, DP_HOLDER_TENSORS, parts[0]);
    dp_account_usage(a, held);
    ck_assert_uint_eq(held[DP_HOLDER_TENSORS].bytes, 0);
    dp_account_close(a);
}
END_TEST

/* The former memory is refunded when it goes. */
START_TEST(an_account_holds_what_a_storage_grew_to)
{
    dp_holder_limit limits[DP_HOLDERS];
    dp_usage held[DP_HOLDERS];
    dp_account *a;

    for (int h = 0; h < DP_HOLDERS; h++)
        limits[h] = (dp_holder_limit){"count_limit", "bytes_limit", 10, 100000};
    ck_assert_int_eq(dp_account_new(limits, &a, &err), 0);
    ck_assert_int_eq(dp_account_charge_tensor(a, DP_HOLDER_TENSORS, t, &err), 0);
    for (int i = 1; i < 1000; i++) {
        unit_each(grow(ctx, 100 + i) == 0, "growth %d: %s", i, dp_ctx_error(ctx)->message);
        dp_account_usage(a, held);
        uint64_t most = i == 1 ? 12 + 404 : 4 * (2 * 100 + 2 * (uint64_t)i - 1);
        unit_each(held[DP_HOLDER_TENSORS].bytes == most, "%llu bytes, not %llu",
                  (unsigned long long)held[DP_HOLDER_TENSORS].bytes, (unsigned long long)most);
    }
    dp_account_refund_tensor(a, DP_HOLDER_TENSORS, t);
    dp_account_usage(a, held);
    ck_assert_uint_eq(held[DP_HOLDER_TENSORS].bytes, 0);
    ck_assert_int_eq(grow(ctx, 2000), 0); /* for nobody, and then for its next keeper */
    ck_assert_int_eq(dp_account_charge_tensor(a, DP_HOLDER_TENSORS, t, &err), 0);
    dp_account_usage(a, held);
    ck_assert_uint_eq(held[DP_HOLDER_TENSORS].bytes, 4 * (1099 + 2000));
    dp_tensor_unref(t);
    t = part(1);
    dp_account_usage(a, held);
    ck_assert_uint_eq(held[DP_HOLDER_TENSORS].bytes, 0);
    dp_account_close(a);
}
END_TEST

/* The first allocation fails, then the second, until none does; each time all is as it was. */
START_TEST(no_memory_changes_nothing)
{
    for (int way = 0; way < 2; way++)
        for (uint64_t n = 1;; n++) {
            dp_wrapper got = {.size = sizeof(got)};
            uint64_t tensors = alive().tensors, storages = alive().storages;
            ck_assert_int_eq(way ? become(ctx, parts[0]) : grow(ctx, 200 * (int64_t)n), 0);
            ck_assert_int_eq(way ? become(ctx, parts[0]) : grow(ctx, 200 * (int64_t)n + 1), 0);
            size_t bytes = dp_tensor_storage_bytes(t);
            dp_fault_arm(n);
            int rc = way ? become(ctx, parts[1]) : grow(ctx, 200 * (int64_t)n + 2);
            dp_fault_arm(0);
            ck_assert(dp_wrapper_get(w, &got));
            if (rc == 0) {
                ck_assert_uint_gt(n, 1);
                break;
            }
            ck_assert_int_eq(rc, DP_ERESOURCE);
            ck_assert_ptr_eq(got.tensors[0], parts[0]);
            ck_assert_uint_le(dp_tensor_storage_bytes(t), bytes + 4); /* it may have grown */
            ck_assert_msg(*data_of(t) == 7, "%g", (double)*data_of(t));
            ck_assert_uint_eq(alive().tensors, tensors);
            ck_assert_uint_le(alive().storages, storages + 2);
        }
}
END_TEST

static void *look_and_wait(void *arg)
{
    dp_ctx *c = context();

    (void)arg;
    unit_each(look_at(c, true) == 0, "%s", dp_ctx_error(c)->message);
    dp_ctx_free(c);
    return NULL;
}

START_TEST(what_a_running_call_sees_stays)
{
    pthread_t thread;
    int n = 0;

    ck_assert_int_eq(pthread_create(&thread, NULL, look_and_wait, NULL), 0);
    sem_wait(&running);
    while (n < 1000 && reshape(ctx, n % 2 + 1) == 0)
        n++;
    ck_assert_int_eq(n, DP_LIMIT_RESIZES);
    ck_assert_int_eq(dp_ctx_error(ctx)->code, DP_ERUNTIME);
    ck_assert_msg(strstr(dp_ctx_error(ctx)->message, "DP_LIMIT_RESIZES") != NULL, "%s",
                  dp_ctx_error(ctx)->message);
    sem_post(&go);
    pthread_join(thread, NULL);
    for (int i = 0; i < 1000; i++)
        unit_each(reshape(ctx, i % 2 + 1) == 0, "%s", dp_ctx_error(ctx)->message);
    ck_assert_int_le(replaced_geometries(), AT_A_TIME);
}
END_TEST

START_TEST(what_is_held_stays)
{
    int n = 0;

    ck_assert_int_eq(reshape(ctx, 1), 0);
    ck_assert_int_eq(dp_shapes_pin(&err), 0);
    DP_VIEW(held, t);
    while (n < 1000 && reshape(ctx, n % 2 + 2) == 0)
        n++;
    ck_assert_int_le(n, DP_LIMIT_RESIZES);
    ck_assert_int_ge(n, DP_LIMIT_RESIZES - 1);
    ck_assert_int_eq(held.sizes[0], 1);
    ck_assert_int_eq(dp_shapes_pin(&err), 0); /* of now */
    ck_assert_int_eq(reshape(ctx, 1), 0);
    dp_shapes_unpin();
    ck_assert_int_eq(reshape(ctx, 2), 0);
}
END_TEST

static void *change(void *arg)
{
    dp_ctx *c = context();

    (void)arg;
    for (int i = 0; i < CHANGES / 20; i++) {
        int rc = i % 4 == 0   ? give(c, i % 2 + 1)
                 : i % 4 == 1 ? grow(c, i)
                 : i % 4 == 2 ? become(c, parts[i / 4 % 2])
                              : reshape(c, i % 2 + 1);
        const char *text = dp_ctx_error(c)->message;
        unit_each(rc == 0 || strstr(text, "by another call, since") != NULL ||
                      strstr(text, "DP_LIMIT_RESIZES") != NULL, /* a thread may be slow */
                  "%s", text);
    }
    dp_ctx_free(c);
    return NULL;
}

static void *watch(void *arg)
{
    dp_ctx *c = context();
    dp_error e = DP_ERROR_INIT;

    (void)arg;
    for (int i = 0; i < CHANGES / 10; i++) {
        dp_value args[] = {dp_tensor_value(w)};
        unit_each(look_at(c, false) == 0, "%s", dp_ctx_error(c)->message);
        unit_each(dp_call_boxed(c, dp_op_find(c, "s::look_inside"), args, 1, NULL, 0) == 0, "%s",
                  dp_ctx_error(c)->message);
        unit_each(dp_shapes_pin(&e) == 0, "%s", e.message);
        DP_VIEW(v, t);
        unit_each(v.sizes[v.ndim - 1] < CHANGES, "%lld", (long long)v.sizes[v.ndim - 1]);
        dp_shapes_unpin();
    }
    dp_ctx_free(c);
    return NULL;
}

START_TEST(calls_look_while_others_change)
{
    void *(*const work[])(void *) = {watch, change, watch, change};
    pthread_t threads[DPI_COUNT(work)];

    for (size_t i = 0; i < DPI_COUNT(work); i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, work[i], NULL), 0);
    for (size_t i = 0; i < DPI_COUNT(work); i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_eq(reshape(ctx, 1), 0);
    ck_assert_int_le(replaced_geometries(), DP_LIMIT_RESIZES);
}
END_TEST

UNIT_SUITE(replaced)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_shape_changes_without_end);
    tcase_add_test(tc, a_storage_grows_without_end);
    tcase_add_test(tc, a_wrapper_becomes_others_without_end);
    tcase_add_test(tc, an_account_holds_what_a_wrapper_is_made_of);
    tcase_add_test(tc, an_account_holds_what_a_storage_grew_to);
    tcase_add_test(tc, no_memory_changes_nothing);
    tcase_add_test(tc, what_a_running_call_sees_stays);
    tcase_add_test(tc, what_is_held_stays);
    tcase_add_test(tc, calls_look_while_others_change);
}
