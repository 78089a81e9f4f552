/* test_shared_tensor.c -- one tensor in two calls: one gives it a shape while the other reads it.
 */
#include "calling.h"
#include "../alive.h"
#include <pthread.h>
#include <stdlib.h>

enum { ROUNDS = 2000, COLUMNS = 7 };

static dp_tensor *make(int ndim, const int64_t *sizes)
{
    dp_tensor *t = NULL;
    dp_error err = DP_ERROR_INIT;
    int rc = dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, ndim, sizes, NULL, &t, &err);

    ck_assert_msg(rc == DP_OK, "%s", err.message);
    return t;
}

/* As a kernel with an out argument: an empty `out` gets in's shape. */
static int give_shape(dp_tensor *out, dp_tensor *in, dp_error *err)
{
    dp_arena *arena = dp_arena_new();
    dp_iter_config c = dp_iter_of(DP_ITER_UNARY, 1, &out, 1, &in);
    dp_iter it = {.size = sizeof(it)};
    int rc = dpi_iter_init(&c, false, NULL, arena, &it, err);

    dp_arena_free(arena);
    return rc;
}

static void expect_shape(const dp_tensor *t, int ndim, int64_t first)
{
    dp_view v = {.size = sizeof(v)};

    dp_tensor_view(t, &v);
    ck_assert_int_eq(v.ndim, ndim);
    ck_assert_int_eq(v.sizes[0], first);
}

/* -- in one thread -- */

static void *look_in_a_call_begun_before(void *arg)
{
    dp_tensor **ts = arg; /* t, and what gives it a shape */
    dp_error err = DP_ERROR_INIT;

    ck_assert_int_eq(give_shape(ts[0], ts[1], &err), DP_OK);
    expect_shape(ts[0], 2, 3);
    return NULL;
}

static void in_another_thread(void *(*fn)(void *), void *arg)
{
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, fn, arg), 0);
    pthread_join(thread, NULL);
}

START_TEST(a_call_sees_the_shape_it_began_with)
{
    int64_t none[] = {0}, sizes[] = {3, COLUMNS};
    dp_tensor *t = make(1, none), *in = make(2, sizes), *ts[] = {t, in}, *alias = NULL;
    dp_error err = DP_ERROR_INIT;

    call_begins();
    in_another_thread(look_in_a_call_begun_before, ts);
    expect_shape(t, 1, 0);
    ck_assert_uint_eq(dp_tensor_storage_bytes(t), 0);
    ck_assert_int_eq(give_shape(t, in, &err), DP_ERUNTIME);
    ck_assert_str_eq(err.message, "output with shape [0] was given another one by another call, "
                                  "since this one began");
    ck_assert_int_eq(dp_tensor_alias(t, &alias, &err), DP_OK);
    call_ends();
    expect_shape(t, 2, 3);
    expect_shape(alias, 1, 0);
    call_begins();
    expect_shape(t, 2, 3);
    call_ends();
    dp_tensor_unref(alias);
    dp_tensor_unref(t);
    dp_tensor_unref(in);
    ck_assert_uint_eq(alive().tensors, 0);
}
END_TEST

START_TEST(a_call_sees_what_it_changes_itself)
{
    int64_t none[] = {0}, sizes[] = {3, COLUMNS};
    dp_tensor *t = make(1, none), *in = make(2, sizes);
    dp_error err = DP_ERROR_INIT;

    call_begins();
    ck_assert_int_eq(give_shape(t, in, &err), DP_OK);
    expect_shape(t, 2, 3);
    ck_assert_uint_eq(dp_tensor_storage_bytes(t), 3 * COLUMNS * sizeof(float));
    call_ends();
    dp_tensor_unref(t);
    dp_tensor_unref(in);
}
END_TEST

START_TEST(shapes_of_one_tensor_are_limited)
{
    int64_t wide[] = {0, 2}, narrow[] = {0, 1};
    dp_tensor *t = make(2, wide), *in[] = {make(2, narrow), make(2, wide)};
    dp_error err = DP_ERROR_INIT;
    int n = 0;

    while (n < 1000 && give_shape(t, in[n % 2], &err) == DP_OK)
        n++;
    ck_assert_int_eq(n, DP_LIMIT_RESIZES);
    ck_assert_int_eq(err.code, DP_ERUNTIME);
    ck_assert_str_eq(err.message, "output with shape [0, 2] was given another one 64 times, which "
                                  "is the limit (DP_LIMIT_RESIZES)");
    ck_assert_int_eq(give_shape(t, in[1], &err), DP_OK); /* it has that shape */
    dp_tensor_unref(t);
    dp_tensor_unref(in[0]);
    dp_tensor_unref(in[1]);
    ck_assert_uint_eq(alive().tensors, 0);
}
END_TEST

/* A view, an alias and a resized tensor hold what they need of each other's homes, whichever goes
 * first; and nothing is left in the end. */
START_TEST(homes_end_with_their_last_holder)
{
    static const int orders[][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 0, 3, 2}, {2, 3, 0, 1}};
    int64_t sizes[] = {3, COLUMNS}, none[] = {0}, two[] = {2}, one[] = {1};
    dp_error err = DP_ERROR_INIT;
    dp_tensor_stats before, now;

    dp_tensor_stats_get(&before);
    for (size_t o = 0; o < DPI_COUNT(orders); o++) {
        dp_tensor *in = make(2, sizes), *ts[4] = {make(1, none)};
        ck_assert_int_eq(dp_tensor_alias(ts[0], &ts[1], &err), DP_OK); /* of what it was */
        ck_assert_int_eq(give_shape(ts[0], in, &err), DP_OK);
        dp_tensor_unref(in);
        ck_assert_int_eq(dpi_as_strided(ts[0], 1, two, one, 5, &ts[2], &err), DP_OK);
        ck_assert_int_eq(dp_tensor_alias(ts[2], &ts[3], &err), DP_OK);
        ck_assert_int_eq(dp_tensor_write(ts[2], &(float[2]){5, 6}, &err), DP_OK);
        for (int i = 0; i < 4; i++) {
            float got[2] = {0};
            ts[orders[o][i]] = dp_tensor_unref(ts[orders[o][i]]);
            if (ts[3] == NULL)
                continue;
            ck_assert_int_eq(dp_tensor_read(ts[3], got, &err), DP_OK);
            ck_assert_msg(got[0] == 5 && got[1] == 6, "order %zu, step %d: %g %g", o, i,
                          (double)got[0], (double)got[1]);
        }
        dp_tensor_stats_get(&now);
        ck_assert_uint_eq(now.tensors, before.tensors);
        ck_assert_uint_eq(now.storages, before.storages);
        ck_assert_uint_eq(now.bytes, before.bytes);
    }
}
END_TEST

/* Each tensor is a view of the one before, and then gets the shape of a new one: each home holds the
 * next one's.  Ending the last one ends them all, on a stack of any size. */
START_TEST(a_long_chain_of_homes_ends_in_a_loop)
{
    enum { LENGTH = 20000 };
    int64_t none[] = {0}, one[] = {1};
    dp_error err = DP_ERROR_INIT;
    dp_tensor *t = make(1, none), *in = make(1, one);

    for (int i = 0; i < LENGTH; i++) {
        dp_tensor *view = NULL;
        ck_assert_int_eq(dpi_as_strided(t, 1, none, one, 0, &view, &err), DP_OK);
        dp_tensor_unref(t);
        t = view;
        ck_assert_int_eq(give_shape(t, in, &err), DP_OK);
    }
    dp_tensor_unref(in);
    dp_tensor_unref(t);
    ck_assert_uint_eq(alive().tensors, 0);
}
END_TEST

START_TEST(all_outputs_change_or_none)
{
    int64_t none[] = {0}, sizes[] = {3, COLUMNS};
    dp_tensor *in = make(2, sizes), *outs[] = {make(1, none), make(1, none)};
    dp_tensor *ts[] = {outs[1], in}, *fresh[] = {make(2, sizes), make(2, sizes)};
    dp_error err = DP_ERROR_INIT;

    call_begins();
    in_another_thread(look_in_a_call_begun_before, ts);
    ck_assert_int_eq(dpi_tensors_become(2, outs, fresh, &err), DP_ERUNTIME);
    expect_shape(outs[0], 1, 0);
    call_ends();
    for (int i = 0; i < 2; i++) {
        dp_tensor_unref(outs[i]);
        dp_tensor_unref(fresh[i]);
    }
    dp_tensor_unref(in);
    ck_assert_uint_eq(alive().tensors, 0);
}
END_TEST

/* -- two threads at once -- */

typedef struct part {
    dp_tensor *t, *in;
    float *elements; /* room for in's */
    pthread_barrier_t *start;
    uint64_t changed, seen_empty;
} part;

/* Rounds begin and end at the barrier; between, the main thread makes a new r->t. */
static void *reader(void *arg)
{
    part *r = arg;
    dp_error err = DP_ERROR_INIT;

    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(r->start);
        call_begins();
        dp_view a = {.size = sizeof(a)}, b = {.size = sizeof(b)};
        dp_tensor_view(r->t, &a);
        ck_assert_int_eq(dp_tensor_read(r->t, r->elements, &err), DP_OK);
        dp_tensor_view(r->t, &b);
        ck_assert_ptr_eq(a.data, b.data);
        ck_assert_ptr_eq(a.sizes, b.sizes);
        /* the storage grows first */
        ck_assert_uint_ge(dp_tensor_storage_bytes(r->t), (size_t)b.numel * sizeof(float));
        for (int d = 0; d < b.ndim; d++)
            ck_assert_int_eq(b.sizes[d], b.numel == 0 ? 0 : d == 0 ? i % 50 + 1 : COLUMNS);
        r->seen_empty += b.numel == 0;
        call_ends();
        pthread_barrier_wait(r->start);
    }
    return NULL;
}

static void *changer(void *arg)
{
    part *r = arg;

    for (int i = 0; i < ROUNDS; i++) {
        dp_error err = DP_ERROR_INIT;
        pthread_barrier_wait(r->start);
        call_begins();
        int rc = give_shape(r->t, r->in, &err);
        call_ends();
        if (rc == DP_OK)
            r->changed++;
        else
            ck_assert_msg(strstr(err.message, "by another call, since this one began") != NULL,
                          "%s", err.message);
        pthread_barrier_wait(r->start);
    }
    return NULL;
}

/* One reads, two give it a shape. */
START_TEST(readers_and_changers_run_side_by_side)
{
    int64_t none[] = {0};
    pthread_barrier_t start;
    part parts[3];
    void *(*const work[3])(void *) = {reader, changer, changer};
    pthread_t threads[3];
    float *elements = malloc(50 * COLUMNS * sizeof(float));

    pthread_barrier_init(&start, NULL, 4);
    for (int k = 0; k < 3; k++) {
        parts[k] = (part){.elements = elements, .start = &start};
        ck_assert_int_eq(pthread_create(&threads[k], NULL, work[k], &parts[k]), 0);
    }
    for (int i = 0; i < ROUNDS; i++) {
        int64_t sizes[] = {i % 50 + 1, COLUMNS};
        dp_tensor *t = make(1, none), *in = make(2, sizes);
        for (int k = 0; k < 3; k++) {
            parts[k].t = t;
            parts[k].in = in;
        }
        pthread_barrier_wait(&start);
        pthread_barrier_wait(&start);
        expect_shape(t, 2, sizes[0]);
        dp_tensor_unref(t);
        dp_tensor_unref(in);
    }
    for (int k = 0; k < 3; k++)
        pthread_join(threads[k], NULL);
    ck_assert_uint_ge(parts[1].changed + parts[2].changed, ROUNDS);
    pthread_barrier_destroy(&start);
    free(elements);
    ck_assert_uint_eq(alive().tensors, 0);
}
END_TEST

UNIT_SUITE(shared_tensor)
{
    tcase_add_test(tc, a_call_sees_the_shape_it_began_with);
    tcase_add_test(tc, a_call_sees_what_it_changes_itself);
    tcase_add_test(tc, shapes_of_one_tensor_are_limited);
    tcase_add_test(tc, all_outputs_change_or_none);
    tcase_add_test(tc, homes_end_with_their_last_holder);
    tcase_add_test(tc, a_long_chain_of_homes_ends_in_a_loop);
    tcase_add_test(tc, readers_and_changers_run_side_by_side);
}
