/* test_formers.c -- what a tensor was before it changed its shape goes when no running call can see it.
 */
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
static dp_tensor *t;
static sem_t running, go;

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
    unit_each(n >= 1 && n <= 3 && before.sizes[before.ndim - 1] == n, "%lld and %lld", (long long)n,
              (long long)before.sizes[before.ndim - 1]);
    return 0;
}

static const dp_item defs[] = {REC_DEF("shape_(Tensor(a!) self, int n) -> ()"),
                               REC_DEF("shape.out(int n, *, Tensor(a!) out) -> Tensor(a!)"),
                               REC_DEF("look(Tensor x, bool wait) -> ()")};
static const dp_item impls[] = {REC_IMPL("shape_", shape_), REC_IMPL("shape.out", shape_out),
                                REC_IMPL("look", look)};
static const dp_block blocks[] = {
    REC_BLOCK(DP_BLOCK_LIBRARY, 1, "s", "", defs),
    REC_BLOCK(DP_BLOCK_IMPL, 2, "s", "CompositeExplicitAutograd", impls)};

static dp_ctx *context(void)
{
    dp_ctx *c = NULL;
    dp_error e = DP_ERROR_INIT;

    ck_assert_msg(dp_ctx_new(reg, &c, &e) == 0, "%s", e.message);
    return c;
}

static void setup(void)
{
    reg = rec_registry();
    rec_attach(reg, "shapes", blocks, 2);
    ctx = context();
    sem_init(&running, 0, 0);
    sem_init(&go, 0, 0);
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, 0, 1, (int64_t[]){3}, NULL, &t, &err), 0);
}

static void teardown(void)
{
    dp_tensor_stats left;

    dp_tensor_unref(t);
    dp_ctx_free(ctx);
    dp_registry_free(reg);
    dp_tensor_stats_get(&left);
    ck_assert_uint_eq(left.tensors, 0);
    ck_assert_uint_eq(left.storages, 0);
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

static int look_at(dp_ctx *c, bool wait)
{
    dp_value args[] = {dp_tensor_value(t), dp_bool(wait)};

    return dp_call_boxed(c, dp_op_find(c, "s::look"), args, 2, NULL, 0);
}

static int formers(void)
{
    int n = 0;

    for (const dpi_geometry *g = dpi_geometry_of(t); (g = dpi_former_of(g)) != NULL;)
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
            unit_each(formers() <= AT_A_TIME, "%d formers after change %d", formers(), i);
            if (i == AT_A_TIME * 10)
                before = mallinfo2().uordblks;
        }
        ck_assert_uint_lt(mallinfo2().uordblks, before + 65536);
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
    ck_assert_int_le(formers(), AT_A_TIME);
}
END_TEST

START_TEST(what_is_held_stays)
{
    int n = 0;

    ck_assert_int_eq(reshape(ctx, 1), 0);
    ck_assert_int_eq(dp_shapes_hold(&err), 0);
    DP_VIEW(held, t);
    while (n < 1000 && reshape(ctx, n % 2 + 2) == 0)
        n++;
    ck_assert_int_le(n, DP_LIMIT_RESIZES);
    ck_assert_int_ge(n, DP_LIMIT_RESIZES - 1);
    ck_assert_int_eq(held.sizes[0], 1);
    ck_assert_int_eq(dp_shapes_hold(&err), 0); /* of now */
    ck_assert_int_eq(reshape(ctx, 1), 0);
    dp_shapes_let();
    ck_assert_int_eq(reshape(ctx, 2), 0);
}
END_TEST

static void *change(void *arg)
{
    dp_ctx *c = context();

    (void)arg;
    for (int i = 0; i < CHANGES / 20; i++) {
        int rc = i % 3 == 0 ? give(c, i % 2 + 1) : reshape(c, i % 2 + 1);
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
        unit_each(look_at(c, false) == 0, "%s", dp_ctx_error(c)->message);
        unit_each(dp_shapes_hold(&e) == 0, "%s", e.message);
        DP_VIEW(v, t);
        unit_each(v.sizes[v.ndim - 1] <= 3, "%lld", (long long)v.sizes[v.ndim - 1]);
        dp_shapes_let();
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
    ck_assert_int_le(formers(), DP_LIMIT_RESIZES);
}
END_TEST

UNIT_SUITE(formers)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_shape_changes_without_end);
    tcase_add_test(tc, what_a_running_call_sees_stays);
    tcase_add_test(tc, what_is_held_stays);
    tcase_add_test(tc, calls_look_while_others_change);
}
