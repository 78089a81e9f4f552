/* test_restored.c -- what a kernel made of the shapes and the memory of its written arguments is
 * undone when it fails. */
#include "../../alive.h"
#include "dispatch/records.h"
#include "tensor/tensor_i.h"
#include <dispatchd/dispatch.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>

static dp_registry *reg;
static dp_ctx *ctx;
static dp_error err;
static dp_tensor *t, *other, *w, *parts[2]; /* w: a wrapper of one of the parts */

static dp_wrapper wrapper_of(dp_tensor *const *part)
{
    return (dp_wrapper){.size = sizeof(dp_wrapper),
                        .kind = "one",
                        .keys = {DPI_BIT(FuncTorchBatched), 0},
                        .dtype = DP_FLOAT32,
                        .n_tensors = 1,
                        .tensors = part};
}

enum { RESIZE, OUTPUT, STORAGE, PARTS, WAYS };

static int change(dp_ctx *c, dp_tensor *x, int64_t way, int64_t n)
{
    int64_t sizes[] = {2, n};
    dp_wrapper next = wrapper_of(&parts[n % 2]);

    return way == RESIZE    ? dp_resize(c, x, 2, sizes, DP_PRESERVE)
           : way == OUTPUT  ? dp_set_output(c, &x, 2, sizes, NULL, DP_FLOAT32, DP_DEVICE_CPU)
           : way == STORAGE ? dp_set_storage(c, x, other, 1, 2, sizes, NULL)
                            : dp_wrapper_become(c, x, &next);
}

static int may_fail(dp_ctx *c, bool fails)
{
    return fails ? dp_fail(c, DP_EVALUE, "not today") : 0;
}

static int change_(dp_call *call)
{
    const dp_value *a = call->args;
    int rc = change(call->ctx, a[0].u.t, a[1].u.i, a[2].u.i);

    return rc < 0 ? rc : may_fail(call->ctx, a[3].u.b);
}

static int call_change(dp_ctx *c, dp_tensor *x, int64_t way, int64_t n, bool fails)
{
    dp_value args[] = {dp_tensor_value(x), dp_int(way), dp_int(n), dp_bool(fails)};

    return dp_call_boxed(c, dp_op_find(c, "s::change_"), args, 4, NULL, 0);
}

/* Changes it, and has others change all of them, one of which fails. */
static int all_(dp_call *call)
{
    const dp_value *a = call->args;
    int rc = 0;

    for (uint32_t i = 0; i < a[0].len && rc == 0; i++) {
        rc = change(call->ctx, a[0].u.tensors[i], RESIZE, 2);
        if (rc == 0)
            rc = call_change(call->ctx, a[0].u.tensors[i], RESIZE, 3, false);
        if (rc == 0 && call_change(call->ctx, a[0].u.tensors[i], RESIZE, 4, true) == 0)
            rc = dp_fail(call->ctx, DP_EVALUE, "it did not fail");
    }
    return rc < 0 ? rc : may_fail(call->ctx, a[1].u.b);
}

static void *change_after(void *arg)
{
    dp_error e = DP_ERROR_INIT;
    dp_ctx *c;

    unit_each(dp_ctx_new(reg, &c, &e) == 0, "%s", e.message);
    unit_each(call_change(c, arg, RESIZE, 5, false) == 0, "%s", dp_ctx_error(c)->message);
    dp_ctx_free(c);
    return NULL;
}

/* Somebody else changes it after this kernel did. */
static int overtaken_(dp_call *call)
{
    pthread_t thread;
    dp_tensor *x = call->args[0].u.t;
    int rc = change(call->ctx, x, RESIZE, 2);

    pthread_create(&thread, NULL, change_after, x);
    pthread_join(thread, NULL);
    return rc < 0 ? rc : may_fail(call->ctx, true);
}

enum { GROWN = 50 };
static dp_tensor *left; /* by grown_ */
static float seen;      /* by a call of another thread */

static float *data_of(const dp_tensor *x)
{
    DP_VIEW(v, x);
    return v.data;
}

static int look(dp_call *call)
{
    seen = *data_of(call->args[0].u.t);
    return 0;
}

static int write_(dp_call *call)
{
    *data_of(call->args[0].u.t) = 9;
    return 0;
}

/* Its shape and its memory fit together, from the kernel's beginning to its end. */
static int ends(dp_call *call)
{
    for (int i = 0; i < 3; i++) {
        DP_VIEW(v, call->args[0].u.t);
        const float *data = v.data;
        unit_each(data[0] == 7 && (v.sizes[0] == 3 || data[v.sizes[0] - 1] < 1000), "%g",
                  (double)data[0]);
    }
    return 0;
}

static void *call_after(void *arg)
{
    dp_error e = DP_ERROR_INIT;
    dp_value *args = arg;
    dp_ctx *c;

    unit_each(dp_ctx_new(reg, &c, &e) == 0, "%s", e.message);
    unit_each(dp_call_boxed(c, dp_op_find(c, args[1].u.i ? "s::write_" : "s::look"), args, 1, NULL,
                            0) == 0,
              "%s", dp_ctx_error(c)->message);
    dp_ctx_free(c);
    return NULL;
}

enum { TWICE, VIEWED, LEFT, LEFT_FOLDED, ALONE, LOOKED_AT, WRITTEN_TO };

/* Grows self and writes to it; what happens meanwhile to its memory, or to that of `also`, by
 * `how`. */
static int grown_(dp_call *call)
{
    dp_tensor *x = call->args[0].u.t;
    int64_t how = call->args[1].u.i, n = GROWN;
    dp_value args[] = {call->args[2], dp_int(how == WRITTEN_TO)};
    pthread_t thread;
    int rc = dp_resize(call->ctx, x, 1, &n, DP_PRESERVE);

    if (rc == 0 && how == TWICE)
        rc = dp_resize(call->ctx, x, 1, SIZES(2 * GROWN), DP_PRESERVE);
    if (rc == 0 && (how == VIEWED || how == LEFT))
        rc = dp_as_strided(call->ctx, x, 1, SIZES(GROWN), SIZES(1), 0, &left);
    if (rc == 0 && how == LEFT_FOLDED)
        rc = dp_view_sizes(call->ctx, x, 2, SIZES(2, GROWN / 2), &left);
    if (rc == 0 && how == VIEWED)
        left = dp_tensor_unref(left);
    if (rc < 0)
        return rc;
    for (int i = 0; how != WRITTEN_TO && how != ALONE && i < GROWN; i++)
        data_of(x)[i] = 100;
    if (how >= LOOKED_AT) {
        pthread_create(&thread, NULL, call_after, args);
        pthread_join(thread, NULL);
    }
    return may_fail(call->ctx, true);
}

/* A call that begins between a change of another one and its undoing, in the order of these. */
static sem_t changed, begun, undone, looked, changed_again;
static int64_t sizes_seen[2];

static int change_beside_(dp_call *call)
{
    int rc = change(call->ctx, call->args[0].u.t, RESIZE, 2);

    sem_post(&changed);
    sem_wait(&begun);
    return rc < 0 ? rc : may_fail(call->ctx, true);
}

static int64_t first_size(const dp_tensor *x)
{
    DP_VIEW(v, x);
    return v.ndim == 1 ? v.sizes[0] : -1;
}

static int look_twice(dp_call *call)
{
    sem_post(&begun);
    sem_wait(&undone);
    sizes_seen[0] = first_size(call->args[0].u.t);
    sem_post(&looked);
    sem_wait(&changed_again);
    sizes_seen[1] = first_size(call->args[0].u.t);
    return 0;
}

static void *call_look_twice(void *arg)
{
    dp_error e = DP_ERROR_INIT;
    dp_value args[] = {dp_tensor_value(arg)};
    dp_ctx *c;

    unit_each(dp_ctx_new(reg, &c, &e) == 0, "%s", e.message);
    sem_wait(&changed);
    unit_each(dp_call_boxed(c, dp_op_find(c, "s::look_twice"), args, 1, NULL, 0) == 0, "%s",
              dp_ctx_error(c)->message);
    dp_ctx_free(c);
    return NULL;
}

static const dp_item defs[] = {
    REC_DEF("change_(Tensor(a!) self, int way, int n, bool fails) -> ()"),
    REC_DEF("all_(Tensor(a!)[] self, bool fails) -> ()"),
    REC_DEF("overtaken_(Tensor(a!) self) -> ()"),
    REC_DEF("change.out(int way, int n, bool fails, *, Tensor(a!) out) -> Tensor(a!)"),
    REC_DEF("grown_(Tensor(a!) self, int how, Tensor also) -> ()"),
    REC_DEF("look(Tensor x) -> ()"),
    REC_DEF("change_beside_(Tensor(a!) self) -> ()"),
    REC_DEF("look_twice(Tensor x) -> ()"),
    REC_DEF("ends(Tensor x) -> ()"),
    REC_DEF("write_(Tensor(a!) self) -> ()"),
};

static int change_out(dp_call *call)
{
    const dp_value *a = call->args;
    int rc = change(call->ctx, a[3].u.t, a[0].u.i, a[1].u.i);

    return rc < 0 ? rc : may_fail(call->ctx, a[2].u.b);
}

static const dp_item impls[] = {REC_IMPL("change_", change_),
                                REC_IMPL("change.out", change_out),
                                REC_IMPL("all_", all_),
                                REC_IMPL("overtaken_", overtaken_),
                                REC_IMPL("grown_", grown_),
                                REC_IMPL("look", look),
                                REC_IMPL("ends", ends),
                                REC_IMPL("write_", write_),
                                REC_IMPL("change_beside_", change_beside_),
                                REC_IMPL("look_twice", look_twice)};
static const dp_item wrapper_impls[] = {REC_IMPL("change_", change_)};
static const dp_block blocks[] = {
    REC_BLOCK(DP_BLOCK_LIBRARY, 1, "s", "", defs),
    REC_BLOCK(DP_BLOCK_IMPL, 2, "s", "CompositeExplicitAutograd", impls),
    REC_BLOCK(DP_BLOCK_IMPL, 3, "s", "FuncTorchBatched", wrapper_impls)};

static dp_tensor *tensor(int64_t n)
{
    dp_tensor *x = NULL;

    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, 0, 1, &n, NULL, &x, &err), 0);
    return x;
}

static void setup(void)
{
    alive_begin();
    reg = rec_registry();
    rec_attach(reg, "shapes", blocks, DPI_COUNT(blocks));
    OK(dp_ctx_new(reg, &ctx, &err));
    t = tensor(3);
    other = tensor(100);
    parts[0] = tensor(1);
    parts[1] = tensor(1);
    dp_wrapper of = wrapper_of(parts);
    OK(dpi_wrapper_new(&of, &w, &err));
}

static void teardown(void)
{
    dp_tensor *all[] = {t, other, w, parts[0], parts[1]};

    for (size_t i = 0; i < DPI_COUNT(all); i++)
        dp_tensor_unref(all[i]);
    dp_ctx_free(ctx);
    dp_registry_free(reg);
    alive_end();
}

static int run(int64_t way, int64_t n, bool fails)
{
    dp_value args[] = {dp_int(way), dp_int(n), dp_bool(fails), dp_tensor_value(t)}, ret;

    if (way != OUTPUT)
        return call_change(ctx, way == PARTS ? w : t, way, n, fails);
    int rc = dp_call_boxed(ctx, dp_op_find(ctx, "s::change.out"), args, 4, &ret, 1);
    if (rc == 0)
        dp_values_release(&ret, 1);
    return rc;
}

static void expect(const dp_tensor *x, const dp_tensor *of, int ndim, const int64_t *sizes)
{
    char got[DP_SHAPE_TEXT], want[DP_SHAPE_TEXT];
    DP_VIEW(v, x);

    unit_each(v.ndim == ndim && memcmp(v.sizes, sizes, (size_t)ndim * sizeof(int64_t)) == 0,
              "shape %s, not %s", dp_shape_text(got, v.sizes, (size_t)v.ndim),
              dp_shape_text(want, sizes, (size_t)ndim));
    unit_each(dp_tensor_storage_id(x) == dp_tensor_storage_id(of), "it has another storage");
}

static void expect_as_made(const dp_tensor *of)
{
    dp_wrapper got = {.size = sizeof(got)};

    expect(t, of, 1, SIZES(3));
    ck_assert(dp_wrapper_get(w, &got));
    ck_assert_ptr_eq(got.tensors[0], parts[0]);
}

START_TEST(a_kernel_that_fails_leaves_shapes)
{
    dp_tensor *of;

    OK(dp_tensor_alias(t, &of, &err));
    for (int64_t way = 0; way < WAYS; way++) {
        dp_tensor_stats before = alive();
        for (int64_t i = 0; i < 1000; i++) {
            ck_assert_int_eq(run(way, i * 2 + 1, true), DP_EVALUE);
            expect_as_made(of);
            unit_each(alive().storages == before.storages && alive().bytes == before.bytes,
                      "way %lld: %llu storages of %llu bytes, not %llu of %llu", (long long)way,
                      (unsigned long long)alive().storages, (unsigned long long)alive().bytes,
                      (unsigned long long)before.storages, (unsigned long long)before.bytes);
        }
        dp_ctx_reset(ctx);
    }
    dp_tensor_unref(of);
}
END_TEST

START_TEST(one_that_does_not_fail_changes_them)
{
    ck_assert_int_eq(run(RESIZE, 2, false), 0);
    expect(t, t, 2, SIZES(2, 2));
    ck_assert_int_eq(run(STORAGE, 3, false), 0);
    expect(t, other, 2, SIZES(2, 3));
    ck_assert_int_eq(run(RESIZE, 7, true), DP_EVALUE);
    expect(t, other, 2, SIZES(2, 3));
    ck_assert_int_eq(dp_tensor_offset(t), 1);
}
END_TEST

START_TEST(inner_calls_are_undone_with_the_outer_one)
{
    dp_tensor *both[] = {t, other};
    dp_value args[] = {dp_tensors(both, 2), dp_bool(true)};

    ck_assert_int_eq(dp_call_boxed(ctx, dp_op_find(ctx, "s::all_"), args, 2, NULL, 0), DP_EVALUE);
    ck_assert_str_eq(dp_ctx_error(ctx)->message, "not today");
    expect(t, t, 1, SIZES(3));
    expect(other, other, 1, SIZES(100));
    args[1] = dp_bool(false);
    ck_assert_int_eq(dp_call_boxed(ctx, dp_op_find(ctx, "s::all_"), args, 2, NULL, 0), 0);
    expect(t, t, 2, SIZES(2, 3)); /* without what the inner call that failed made of it */
    expect(other, other, 2, SIZES(2, 3));
}
END_TEST

START_TEST(what_others_made_of_it_stays)
{
    dp_value args[] = {dp_tensor_value(t)};

    ck_assert_int_eq(dp_call_boxed(ctx, dp_op_find(ctx, "s::overtaken_"), args, 1, NULL, 0),
                     DP_EVALUE);
    expect(t, t, 2, SIZES(2, 5));
}
END_TEST

static void grow_in_vain(int64_t how, dp_tensor *also)
{
    dp_value args[] = {dp_tensor_value(t), dp_int(how), dp_tensor_value(also)};

    ck_assert_int_eq(dp_call_boxed(ctx, dp_op_find(ctx, "s::grown_"), args, 3, NULL, 0), DP_EVALUE);
    expect(t, t, 1, SIZES(3));
    dp_ctx_reset(ctx);
}

static void expect_bytes(const dp_tensor *x, float first, size_t bytes)
{
    ck_assert_msg(*data_of(x) == first, "element 0 is %g, not %g", (double)*data_of(x),
                  (double)first);
    ck_assert_uint_eq(dp_tensor_storage_bytes(x), bytes);
}

/* For t and for a view of it; with no memory more for a thousand of them than for some. */
START_TEST(memory_that_a_failing_kernel_grew_is_released)
{
    dp_tensor *v = NULL;
    size_t before = 0;

    OK(dpi_as_strided(t, 1, SIZES(2), SIZES(1), 0, &v, &err));
    *data_of(t) = 7;
    for (int i = 0; i < 1000; i++) {
        dp_tensor_stats had = alive();
        grow_in_vain(i % 2 ? TWICE : VIEWED, other);
        ck_assert_uint_eq(alive().bytes, had.bytes);
        ck_assert_uint_eq(alive().storages, had.storages);
        expect_bytes(t, 7, 3 * sizeof(float));
        expect_bytes(v, 7, 3 * sizeof(float));
        if (i == 100)
            before = mallinfo2().uordblks;
    }
    ck_assert_uint_lt(mallinfo2().uordblks, before + 16384);
    ck_assert_int_eq(run(RESIZE, 20, false), 0); /* in place of what was undone */
    expect_bytes(t, 7, 40 * sizeof(float));
    expect_bytes(v, 7, 40 * sizeof(float));
    dp_tensor_unref(v);
}
END_TEST

START_TEST(an_account_gets_back_what_is_undone)
{
    dp_holder_limit limits[DP_HOLDERS];
    dp_usage held[DP_HOLDERS];
    dp_account *a;

    for (int h = 0; h < DP_HOLDERS; h++)
        limits[h] = (dp_holder_limit){"count_limit", "bytes_limit", 10, 100000};
    ck_assert_int_eq(dp_account_new(limits, &a, &err), 0);
    dp_ctx_set_account(ctx, a);
    for (int keeps = 0; keeps < 2; keeps++) {
        if (keeps)
            ck_assert_int_eq(dp_account_charge_tensor(a, DP_HOLDER_TENSORS, t, &err), 0);
        grow_in_vain(TWICE, other);
        dp_ctx_set_account(ctx, a);
        dp_account_usage(a, held);
        ck_assert_uint_eq(held[DP_HOLDER_INTERMEDIATES].bytes, 0);
        ck_assert_uint_eq(held[DP_HOLDER_TENSORS].bytes, keeps ? 3 * sizeof(float) : 0);
    }
    dp_account_refund_tensor(a, DP_HOLDER_TENSORS, t);
    dp_ctx_set_account(ctx, NULL);
    dp_account_close(a);
}
END_TEST

/* The new memory stays where a tensor that needs it is left, or another thread read or wrote it. */
START_TEST(memory_that_others_use_stays)
{
    dp_tensor *v = NULL;

    *data_of(t) = 7;
    grow_in_vain(LEFT, other);
    ck_assert_uint_eq(dp_tensor_storage_bytes(left), GROWN * sizeof(float));
    ck_assert_msg(data_of(left)[GROWN - 1] == 100, "%g", (double)data_of(left)[GROWN - 1]);
    left = dp_tensor_unref(left);
    dp_tensor_unref(t);
    t = tensor(3);
    grow_in_vain(LEFT_FOLDED, other);
    ck_assert_uint_eq(dp_tensor_storage_bytes(left), GROWN * sizeof(float));
    ck_assert_msg(data_of(left)[GROWN - 1] == 100, "%g", (double)data_of(left)[GROWN - 1]);
    left = dp_tensor_unref(left);
    dp_tensor_unref(t);
    t = tensor(3);
    *data_of(t) = 7;
    grow_in_vain(LOOKED_AT, t);
    ck_assert_msg(seen == 100, "%g", (double)seen);
    expect_bytes(t, 100, GROWN * sizeof(float));
    dp_tensor_unref(t);
    t = tensor(3);
    OK(dpi_as_strided(t, 1, SIZES(2), SIZES(1), 0, &v, &err));
    grow_in_vain(WRITTEN_TO, v);
    expect_bytes(t, 9, GROWN * sizeof(float));
    expect_bytes(v, 9, GROWN * sizeof(float));
    dp_tensor_unref(v);
}
END_TEST

static void *look_at_ends(void *arg)
{
    dp_error e = DP_ERROR_INIT;
    dp_value args[] = {dp_tensor_value(arg)};
    dp_ctx *c;

    unit_each(dp_ctx_new(reg, &c, &e) == 0, "%s", e.message);
    for (int i = 0; i < 20000; i++)
        unit_each(dp_call_boxed(c, dp_op_find(c, "s::ends"), args, 1, NULL, 0) == 0, "%s",
                  dp_ctx_error(c)->message);
    dp_ctx_free(c);
    return NULL;
}

static void *grow_in_vain_again(void *arg)
{
    dp_error e = DP_ERROR_INIT;
    dp_value args[] = {dp_tensor_value(arg), dp_int(ALONE), dp_tensor_value(arg)};
    dp_ctx *c;

    unit_each(dp_ctx_new(reg, &c, &e) == 0, "%s", e.message);
    for (int i = 0; i < 5000; i++) {
        int rc = dp_call_boxed(c, dp_op_find(c, "s::grown_"), args, 3, NULL, 0);
        unit_each(rc == DP_EVALUE || rc == DP_ERUNTIME, "%s", dp_ctx_error(c)->message);
        dp_ctx_reset(c);
    }
    dp_ctx_free(c);
    return NULL;
}

/* Whatever the others see of a growth, it is whole. */
START_TEST(others_look_while_growth_is_undone)
{
    dp_tensor *v = NULL;
    pthread_t threads[4];

    OK(dpi_as_strided(t, 1, SIZES(3), SIZES(1), 0, &v, &err));
    *data_of(t) = 7;
    pthread_create(&threads[0], NULL, grow_in_vain_again, t);
    pthread_create(&threads[1], NULL, grow_in_vain_again, v);
    pthread_create(&threads[2], NULL, look_at_ends, t);
    pthread_create(&threads[3], NULL, look_at_ends, v);
    for (size_t i = 0; i < DPI_COUNT(threads); i++)
        pthread_join(threads[i], NULL);
    expect(t, t, 1, SIZES(3));
    dp_tensor_unref(v);
}
END_TEST

/* A call that began when the shape was changed, and looks when that is undone, sees the shape
 * before, which therefore stays until that call ends. */
START_TEST(a_shape_below_an_undone_one_stays_while_a_call_sees_it)
{
    sem_t *all[] = {&changed, &begun, &undone, &looked, &changed_again};
    dp_value args[] = {dp_tensor_value(t)};
    pthread_t thread;

    for (size_t i = 0; i < DPI_COUNT(all); i++)
        sem_init(all[i], 0, 0);
    pthread_create(&thread, NULL, call_look_twice, t);
    ck_assert_int_eq(dp_call_boxed(ctx, dp_op_find(ctx, "s::change_beside_"), args, 1, NULL, 0),
                     DP_EVALUE);
    sem_post(&undone);
    sem_wait(&looked);
    for (int64_t i = 0; i < 40; i++)
        ck_assert_int_lt(run(RESIZE, i + 1, true), 0);
    sem_post(&changed_again);
    pthread_join(thread, NULL);
    ck_assert_int_eq(sizes_seen[0], 3);
    ck_assert_int_eq(sizes_seen[1], 3);
    for (size_t i = 0; i < DPI_COUNT(all); i++)
        sem_destroy(all[i]);
}
END_TEST

/* At the limit, too: undoing is one change more. */
START_TEST(a_shape_that_changed_to_the_limit_is_restored)
{
    ck_assert_int_eq(dp_shapes_pin(&err), 0);
    int64_t n = 0;
    for (; run(RESIZE, 10 + n % 2, n == DP_LIMIT_RESIZES - 1) == 0; n++)
        ck_assert_int_lt(n, DP_LIMIT_RESIZES);
    ck_assert_int_eq(n, DP_LIMIT_RESIZES - 1);
    ck_assert_str_eq(dp_ctx_error(ctx)->message, "not today");
    expect(t, t, 2, SIZES(2, 10 + (n - 1) % 2));
    dp_shapes_unpin();
}
END_TEST

/* The first allocation fails, then the second, until none does.  Only where there is no memory to
 * undo it with, a shape stays, and the error says so. */
START_TEST(without_memory_the_error_says_what_stays)
{
    for (int64_t way = 0; way < WAYS; way++) {
        bool stayed = false;
        run(way, 1, true); /* what a context allocates once */
        for (uint64_t n = 1;; n++) {
            dp_ctx_reset(ctx);
            dp_fault_arm(n);
            int rc = run(way, 1, true);
            bool hit = dp_fault_hit();
            dp_fault_arm(0);
            ck_assert_int_lt(rc, 0);
            stayed |= strstr(dp_ctx_error(ctx)->message, "; an output keeps the shape") != NULL;
            if (!stayed)
                expect_as_made(t);
            if (!hit)
                break;
            ck_assert_int_eq(run(RESIZE, 1, false), 0);
            ck_assert_int_eq(dp_resize(ctx, t, 1, SIZES(3), DP_PRESERVE), 0);
            ck_assert_int_eq(run(PARTS, 2, false), 0);
        }
        ck_assert_msg(stayed, "way %lld: it never stayed", (long long)way);
    }
}
END_TEST

UNIT_SUITE(restored)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_kernel_that_fails_leaves_shapes);
    tcase_add_test(tc, one_that_does_not_fail_changes_them);
    tcase_add_test(tc, inner_calls_are_undone_with_the_outer_one);
    tcase_add_test(tc, what_others_made_of_it_stays);
    tcase_add_test(tc, memory_that_a_failing_kernel_grew_is_released);
    tcase_add_test(tc, an_account_gets_back_what_is_undone);
    tcase_add_test(tc, memory_that_others_use_stays);
    tcase_add_test(tc, others_look_while_growth_is_undone);
    tcase_add_test(tc, a_shape_below_an_undone_one_stays_while_a_call_sees_it);
    tcase_add_test(tc, a_shape_that_changed_to_the_limit_is_restored);
    tcase_add_test(tc, without_memory_the_error_says_what_stays);
}
