/* test_object.c -- objects of plugins: who gets their data, when they end, who takes them over. */
#include "tensor/object.h"
#include "unit.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static dp_error err;
static int ended, asked;
static bool refuses;

static int end(void *data, dp_error *e)
{
    ended += *(int *)data;
    return refuses ? dp_error_set(e, DP_ERUNTIME, "stuck") : 0;
}

static int adopt(void *data, size_t bytes, uint32_t version, dp_error *e)
{
    asked++;
    ck_assert_uint_eq(bytes, sizeof(int));
    return version == 1 && *(int *)data != 7 ? 0 : dp_error_set(e, DP_EVALUE, "not this one");
}

/* Two versions of one kind, as two generations of a plugin have them, and another kind. */
static const dp_object_ops old = {.size = sizeof(old), .version = 1, .end = end, .adopt = adopt},
                           new = {.size = sizeof(new), .version = 1, .end = end, .adopt = adopt},
                           other = {.size = sizeof(other)};
static dpi_object_kind *kinds[3];

static void setup(void)
{
    ended = asked = 0;
    refuses = false;
    ck_assert_int_eq(dpi_object_kind_new("u", "A", "p", 1, false, &old, &kinds[0], &err), 0);
    ck_assert_int_eq(dpi_object_kind_new("u", "B", "p", 1, false, &other, &kinds[2], &err), 0);
}

static void load_new(void)
{
    ck_assert_int_eq(dpi_object_kind_new("u", "A", "p", 2, true, &new, &kinds[1], &err), 0);
}

static void teardown(void)
{
    for (int i = 0; i < 3; i++) {
        dpi_object_kind_free(kinds[i]);
        kinds[i] = NULL;
    }
    ck_assert_uint_eq(dp_objects_count(), 0);
}

static dp_object *make(const dp_object_ops *kind, int value)
{
    dp_object_view v = {.size = sizeof(v)};
    dp_object *o = NULL;

    ck_assert_int_eq(dpi_object_new(kind, sizeof(int), NULL, 0, NULL, &o, &err), 0);
    ck_assert_int_eq(dpi_object_get(o, kind, &v, &err), 0);
    ck_assert_int_eq(*(int *)v.data, 0);
    *(int *)v.data = value;
    return o;
}

static bool gone(int i)
{
    char why[256];
    bool all = dpi_object_kind_end(kinds[i], 0, why, sizeof(why));

    if (all) {
        dpi_object_kind_free(kinds[i]);
        kinds[i] = NULL;
    }
    return all;
}

static void refused(int rc, int code, const char *text)
{
    ck_assert_int_eq(rc, code);
    ck_assert_msg(strstr(err.message, text) != NULL, "'%s' is not in '%s'", text, err.message);
}

START_TEST(an_object_ends_with_its_last_reference)
{
    dp_object *o = make(&old, 5);

    ck_assert_str_eq(dp_object_kind(o), "u.A");
    ck_assert_str_eq(dp_object_plugin(o), "p");
    ck_assert_uint_eq(dp_object_bytes(o), sizeof(int));
    ck_assert_ptr_eq(dp_object_ref(o), o);
    dp_object_unref(o);
    ck_assert_int_eq(ended, 0);
    ck_assert_int_eq(dp_object_check(o, &err), 0);
    ck_assert_ptr_null(dp_object_unref(o));
    ck_assert_int_eq(ended, 5);
    ck_assert_ptr_null(dp_object_unref(NULL));
    refuses = true;
    dp_object_unref(make(&old, 5)); /* a failure changes nothing */
    ck_assert_int_eq(ended, 10);
}
END_TEST

START_TEST(only_its_kind_gets_the_data)
{
    static const dp_object_ops stranger = {.size = sizeof(stranger)}, sizeless = {.version = 1};
    dp_object_view v = {.size = sizeof(v)};
    dpi_object_kind *k;
    dp_object *o = make(&old, 1), *p = NULL;
    dp_tensor *none = NULL;

    refused(dpi_object_get(o, &other, &v, &err), DP_ETYPE,
            "expected an object of kind 'u.B' but got one of 'u.A'");
    refused(dpi_object_get(o, &stranger, &v, &err), DP_EPLUGIN, "no plugin that is loaded");
    refused(dpi_object_new(&stranger, 8, NULL, 0, NULL, &p, &err), DP_EPLUGIN, "of no kind");
    refused(dpi_object_new(&old, SIZE_MAX - 8, NULL, 0, NULL, &p, &err), DP_ERESOURCE, "bytes");
    refused(dpi_object_new(&old, 8, &none, 1, NULL, &p, &err), DP_EPLUGIN, "tensor 0 of 1");
    refused(dpi_object_kind_new("u", "A", "q", 3, false, &stranger, &k, &err), DP_EEXISTS,
            "plugin 'p' has it");
    refused(dpi_object_kind_new("u", "A", "q", 3, true, &stranger, &k, &err), DP_EEXISTS, "'p'");
    refused(dpi_object_kind_new("u", "C", "q", 3, false, &sizeless, &k, &err), DP_EPLUGIN, "size");
    refused(dpi_object_kind_new("u", "C", "q", 3, false, NULL, &k, &err), DP_EPLUGIN, "size");
    dp_object_unref(o);
}
END_TEST

START_TEST(kinds_are_limited)
{
    static dp_object_ops ops[DP_LIMIT_OBJECT_KINDS + 1];
    dpi_object_kind *many[DP_LIMIT_OBJECT_KINDS] = {NULL}, *k;
    int n = 0, rc = 0;

    for (int i = 0; i <= DP_LIMIT_OBJECT_KINDS; i++)
        ops[i].size = sizeof(ops[i]);
    ck_assert_int_eq(dpi_object_kind_new("u", "Z", "q", 1, false, &ops[0], &k, &err), 0);
    refused(dpi_object_kind_new("u", "Y", "q", 1, false, &ops[0], &many[0], &err), DP_EPLUGIN,
            "'u.Z' and 'u.Y' share one dp_object_ops");
    dpi_object_kind_free(k);

    for (; rc == 0 && n < DP_LIMIT_OBJECT_KINDS; n += rc == 0) {
        char name[8];
        snprintf(name, sizeof(name), "K%d", n);
        rc = dpi_object_kind_new("u", name, "q", 1, false, &ops[n], &many[n], &err);
    }
    refused(rc, DP_ERESOURCE, "object_kinds");
    ck_assert_int_eq(n, DP_LIMIT_OBJECT_KINDS - 2);
    ck_assert_int_eq(
        dpi_object_kind_new("u", "Z", "q", 1, false, &ops[DP_LIMIT_OBJECT_KINDS], &k, &err),
        DP_ERESOURCE);
    while (n-- > 0)
        dpi_object_kind_free(many[n]);
}
END_TEST

START_TEST(what_is_left_ends_with_its_kind)
{
    dp_object_view v = {.size = sizeof(v)};
    dp_object *o = make(&old, 3);

    ck_assert(gone(0));
    ck_assert_int_eq(ended, 3);
    refused(dp_object_check(o, &err), DP_ERUNTIME, "'u.A' has ended: plugin 'p'");
    refused(dpi_object_get(o, &other, &v, &err), DP_ERUNTIME, "has ended");
    ck_assert_uint_eq(dp_objects_count(), 1); /* its memory, as long as somebody holds it */
    dp_object_unref(o);
    ck_assert_int_eq(ended, 3);
}
END_TEST

START_TEST(a_new_version_adopts)
{
    dp_object_view v = {.size = sizeof(v)};
    dp_object *early = make(&old, 1), *late = make(&old, 2), *stays = make(&old, 7);

    load_new();
    ck_assert_int_eq(dpi_object_get(early, &new, &v, &err), 0); /* when it is asked for */
    ck_assert_int_eq(*(int *)v.data, 1);
    ck_assert_int_eq(asked, 1);
    ck_assert_int_eq(dpi_object_get(early, &old, &v, &err), 0); /* calls of the old code run on */
    refused(dpi_object_get(stays, &new, &v, &err), DP_ERUNTIME, "generation 2 did not adopt it");
    refused(err.code, DP_ERUNTIME, "not this one");
    ck_assert_int_eq(dpi_object_get(stays, &old, &v, &err), 0);
    ck_assert(gone(0)); /* or when the old code goes */
    ck_assert_int_eq(dp_object_check(late, &err), 0);
    ck_assert_int_eq(dp_object_check(stays, &err), DP_ERUNTIME);
    ck_assert_int_eq(ended, 7);
    ck_assert_int_eq(dpi_object_get(late, &new, &v, &err), 0);
    ck_assert(gone(1));
    ck_assert_int_eq(ended, 10);
    dp_object_unref(early);
    dp_object_unref(late);
    dp_object_unref(stays);
}
END_TEST

START_TEST(tensors_are_held_and_charged)
{
    dp_holder_limit limits[DP_HOLDERS];
    dp_account *a;
    dp_usage held[DP_HOLDERS];
    dp_tensor *t = NULL, *twice[2];
    int64_t n = 2;
    size_t m;
    dp_object *o = NULL;

    for (int h = 0; h < DP_HOLDERS; h++)
        limits[h] = (dp_holder_limit){"count", "bytes", 2, 1000};
    ck_assert_int_eq(dp_account_new(limits, &a, &err), 0);
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, 0, 1, &n, NULL, &t, &err), 0);
    twice[0] = twice[1] = t;
    ck_assert_int_eq(dpi_object_new(&old, 100, twice, 2, a, &o, &err), 0);
    dp_tensor_unref(t);
    ck_assert_ptr_eq(dpi_object_tensors(o, &m)[1], t);
    ck_assert_uint_eq(m, 2);
    dp_account_usage(a, held);
    ck_assert_uint_eq(held[DP_HOLDER_OBJECTS].count, 1);
    ck_assert_uint_gt(held[DP_HOLDER_OBJECTS].bytes, 100);
    dp_object *big = NULL;
    refused(dpi_object_new(&old, 900, NULL, 0, a, &big, &err), DP_ERESOURCE, "objects");
    dp_object_unref(o);
    dp_account_usage(a, held);
    ck_assert_uint_eq(held[DP_HOLDER_OBJECTS].count, 0);
    ck_assert_uint_eq(held[DP_HOLDER_OBJECTS].bytes, 0);
    dp_account_close(a);
}
END_TEST

START_TEST(every_failed_allocation_is_survived)
{
    dp_object *o = NULL;
    dpi_object_kind *k = NULL;
    int rc = DP_ERESOURCE;

    for (uint64_t n = 1; rc < 0; n++) {
        ck_assert_uint_lt(n, 12);
        dp_fault_arm(n);
        rc = k == NULL ? dpi_object_kind_new("u", "F", "p", 1, false, &new, &k, &err) : 0;
        if (rc == 0)
            rc = dpi_object_new(&new, 16, NULL, 0, NULL, &o, &err);
        dp_fault_arm(0);
        if (rc < 0)
            ck_assert_int_eq(err.code, DP_ERESOURCE);
    }
    dp_object_unref(o);
    dpi_object_kind_free(k);
}
END_TEST

static pthread_barrier_t inside;

static int end_slowly(void *data, dp_error *e)
{
    (void)data, (void)e;
    pthread_barrier_wait(&inside); /* it has begun */
    pthread_barrier_wait(&inside); /* it may end */
    return 0;
}

static void *unref(void *o)
{
    return dp_object_unref(o);
}

START_TEST(a_kind_waits_for_who_ends_its_objects)
{
    static const dp_object_ops slow = {.size = sizeof(slow), .end = end_slowly};
    dpi_object_kind *k;
    dp_object *o = NULL;
    pthread_t thread;
    char why[256] = "";

    ck_assert_int_eq(dpi_object_kind_new("u", "S", "p", 1, false, &slow, &k, &err), 0);
    ck_assert_int_eq(dpi_object_new(&slow, 1, NULL, 0, NULL, &o, &err), 0);
    pthread_barrier_init(&inside, NULL, 2);
    pthread_create(&thread, NULL, unref, o);
    pthread_barrier_wait(&inside);
    ck_assert(!dpi_object_kind_end(k, 10, why, sizeof(why)));
    ck_assert_str_eq(why, "another thread is ending an object of its kind 'u.S'");
    pthread_barrier_wait(&inside);
    ck_assert(dpi_object_kind_end(k, 10000, why, sizeof(why)));
    pthread_join(thread, NULL);
    dpi_object_kind_free(k);
    pthread_barrier_destroy(&inside);
}
END_TEST

UNIT_SUITE(object)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, an_object_ends_with_its_last_reference);
    tcase_add_test(tc, only_its_kind_gets_the_data);
    tcase_add_test(tc, kinds_are_limited);
    tcase_add_test(tc, what_is_left_ends_with_its_kind);
    tcase_add_test(tc, a_new_version_adopts);
    tcase_add_test(tc, tensors_are_held_and_charged);
    tcase_add_test(tc, every_failed_allocation_is_survived);
    tcase_add_test(tc, a_kind_waits_for_who_ends_its_objects);
}
