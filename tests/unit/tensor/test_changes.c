/* test_changes.c -- readers of a tensor beside those who change its shape. */
#include "shapes.h"

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

UNIT_SUITE(changes)
{
    tcase_add_test(tc, readers_and_changers_run_side_by_side);
}
