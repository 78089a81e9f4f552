/* test_registry.c -- a failed attach or detach is invisible. */
#include "units.h"

/* A tensor outlives its backend: the bit stays taken, but nothing is registered for it. */
START_TEST(a_backend_held_by_a_tensor_is_not_dumped)
{
    dp_registry *reg = rec_registry();
    dp_error err = DP_ERROR_INIT;
    dp_tensor *t = NULL;
    dp_device device;

    rec_attach(reg, unit[2].name, unit[2].blocks, unit[2].n);
    char *before = rec_dump(reg);
    dp_unit *npu_unit = rec_attach(reg, unit[4].name, unit[4].blocks, unit[4].n);
    ck_assert_msg(dp_device_parse("npu", &device, &err) == 0, "%s", err.message);
    ck_assert_msg(dp_tensor_new(DP_FLOAT32, device, 0, NULL, NULL, &t, &err) == 0, "%s",
                  err.message);
    rec_detach(reg, npu_unit);
    rec_check(reg);
    rec_same(reg, before);
    dp_tensor_unref(t);
    dp_registry_free(reg);
}
END_TEST

static const dp_item twice[] = {REC_IMPL("foo", rec_kernel), REC_DEF("foo(Tensor x) -> Tensor")};
static const dp_item bad_schema[] = {REC_IMPL("foo", rec_kernel),
                                     REC_DEF("qux(Tensor x -> Tensor")};
static const dp_item no_function[] = {REC_IMPL("bar.two", rec_kernel), REC_IMPL("foo", NULL)};
static const dp_item no_overload[] = {REC_DEF("foo.default(Tensor x) -> Tensor")};
static const dp_item dunder[] = {REC_IMPL("foo.__get__", rec_kernel)};
static const dp_item two_words[] = {REC_IMPL("foo bar", rec_kernel)};
static const dp_item whole_schema[] = {REC_IMPL("foo(Tensor x) -> Tensor", rec_kernel)};
static const dp_item elsewhere[] = {REC_IMPL("u::foo", rec_kernel)};
static const dp_item no_argument[] = {{.size = sizeof(dp_item),
                                       .kind = DP_ITEM_DEF,
                                       .name = "norm(Tensor x, Tensor? mean) -> Tensor",
                                       .tags = "core also_written:meen also_written:mean"}};

/* Records that are refused, and the two things that the error must name. */
#define REFUSED(records, error, one, other)                                                        \
    {                                                                                              \
        .block = records, .code = error, .mine = one, .theirs = other                              \
    }
static const struct {
    dp_block block;
    int code;
    const char *mine, *theirs;
} refused[] = {
    REFUSED(REC_BLOCK(DP_BLOCK_FRAGMENT, 201, "t", "", twice), DP_EEXISTS, "t.c:201", "t.c:1"),
    REFUSED(REC_BLOCK(DP_BLOCK_LIBRARY, 202, "t", "", meta), DP_EEXISTS, "t.c:202", "t.c:1"),
    REFUSED(REC_BLOCK(DP_BLOCK_FRAGMENT, 203, "t", "", bad_schema), DP_EPLUGIN, "t.c:203", "qux"),
    REFUSED(REC_BLOCK(DP_BLOCK_IMPL, 204, "t", "Nowhere", cpu), DP_EPLUGIN, "t.c:204", "Nowhere"),
    REFUSED(REC_BLOCK(DP_BLOCK_IMPL, 205, "t", "CPU", no_function), DP_EPLUGIN, "t.c:205", "foo"),
    REFUSED(REC_BLOCK(DP_BLOCK_IMPL, 206, "no good", "CPU", cpu), DP_EPLUGIN, "t.c:206", "no good"),
    REFUSED(REC_PLAIN(DP_BLOCK_FALLBACK, 0, 207, "_", "Batched", rec_kernel), DP_EEXISTS, "t.c:207",
            "t.c:31"),
    REFUSED(REC_PLAIN(DP_BLOCK_BACKEND, 0, 208, "npu", "", NULL), DP_EEXISTS, "npu", "npu"),
    REFUSED(REC_PLAIN(DP_BLOCK_BACKEND, 0, 209, "cpu", "", NULL), DP_EEXISTS, "cpu", "cpu"),
    REFUSED(REC_BLOCK(DP_BLOCK_FRAGMENT, 210, "t", "", no_overload), DP_EPLUGIN, "t.c:210",
            "'default'"),
    REFUSED(REC_BLOCK(DP_BLOCK_IMPL, 211, "t", "CPU", dunder), DP_EPLUGIN, "t.c:211", "'__get__'"),
    REFUSED(REC_BLOCK(DP_BLOCK_IMPL, 212, "t", "CPU", two_words), DP_EPLUGIN, "t.c:212", "foo bar"),
    REFUSED(REC_BLOCK(DP_BLOCK_IMPL, 213, "t", "CPU", whole_schema), DP_EPLUGIN, "t.c:213",
            "only a name"),
    REFUSED(REC_BLOCK(DP_BLOCK_IMPL, 214, "t", "CPU", elsewhere), DP_EPLUGIN, "t.c:214", "u::foo"),
    REFUSED(REC_PLAIN(DP_BLOCK_FALLBACK, 0, 215, "_", "Undefined", rec_kernel), DP_EPLUGIN,
            "t.c:215", "falls back"),
    REFUSED(REC_BLOCK(DP_BLOCK_FRAGMENT, 216, "t", "", no_argument), DP_EPLUGIN, "t.c:216",
            "'meen'"),
    REFUSED(REC_BLOCK(DP_BLOCK_IMPL, 217, "t", "CUDA", meta), DP_EPLUGIN, "t.c:199", "t.c:217"),
};

START_TEST(a_refused_attach_changes_nothing)
{
    dp_registry *reg = rec_registry();
    dp_error err = DP_ERROR_INIT;
    /* a good block before the bad one: what it registered must go again */
    dp_block both[2] = {REC_BLOCK(DP_BLOCK_IMPL, 199, "t", "CUDA", cpu), refused[_i].block};
    dp_unit *u = NULL;

    for (int i = 0; i < UNITS; i++)
        rec_attach(reg, unit[i].name, unit[i].blocks, unit[i].n);
    char *before = rec_dump(reg);
    int rc = dp_registry_attach(reg, "bad", "1.0", both, 2, &u, &err);
    ck_assert_msg(rc == refused[_i].code, "%d: %s", rc, err.message);
    ck_assert_msg(strstr(err.message, refused[_i].mine) != NULL &&
                      strstr(err.message, refused[_i].theirs) != NULL,
                  "'%s' does not name %s and %s", err.message, refused[_i].mine,
                  refused[_i].theirs);
    rec_check(reg);
    rec_same(reg, before);
    dp_registry_free(reg);
}
END_TEST

/* A backend whose kernels came from elsewhere cannot leave before them. */
START_TEST(a_backend_in_use_stays)
{
    static const dp_block user[] = {REC_BLOCK(DP_BLOCK_IMPL, 301, "t", "Quantizednpu", cpu)};
    dp_registry *reg = rec_registry();
    dp_error err = DP_ERROR_INIT;
    dp_unit *backend = rec_attach(reg, unit[4].name, unit[4].blocks, unit[4].n);
    dp_unit *other = rec_attach(reg, "user", user, 1);
    char *before = rec_dump(reg);

    ck_assert_int_eq(dp_registry_detach(reg, backend, -1, &err), DP_EBUSY);
    ck_assert_msg(strstr(err.message, "t.c:301") != NULL, "%s", err.message);
    rec_same(reg, before);
    rec_detach(reg, other);
    rec_detach(reg, backend);
    dp_registry_free(reg);
}
END_TEST

/* Attach unit i with every allocation failing in turn, then detach it the same way. */
static void starve_unit(dp_registry *reg, int i)
{
    char *without = rec_dump(reg);
    dp_unit *u = NULL;
    uint64_t n;

    for (n = 1; u == NULL; n++) {
        dp_error err = DP_ERROR_INIT;
        dp_fault_arm(n);
        int rc = dp_registry_attach(reg, unit[i].name, "1.0", unit[i].blocks, unit[i].n, &u, &err);
        bool hit = dp_fault_hit();
        dp_fault_arm(0);
        ck_assert_msg(rc == (hit ? DP_ERESOURCE : 0), "allocation %llu: %d, %s",
                      (unsigned long long)n, rc, err.message);
        rec_check(reg);
        if (rc < 0)
            rec_same(reg, strdup(without));
    }
    ck_assert_uint_gt(n, 5); /* it did fail now and then */
    char *with = rec_dump(reg);
    for (n = 1; u != NULL; n++) {
        dp_error err = DP_ERROR_INIT;
        dp_fault_arm(n);
        int rc = dp_registry_detach(reg, u, -1, &err);
        bool hit = dp_fault_hit();
        dp_fault_arm(0);
        ck_assert_msg(rc == (hit ? DP_ERESOURCE : 0), "allocation %llu: %d, %s",
                      (unsigned long long)n, rc, err.message);
        rec_check(reg);
        rec_same(reg, strdup(rc < 0 ? with : without));
        u = rc < 0 ? u : NULL;
    }
    free(with);
    free(without);
}

START_TEST(attach_and_detach_without_memory)
{
    dp_registry *reg = rec_registry();

    for (int i = 0; i < UNITS; i++)
        if (i != _i)
            rec_attach(reg, unit[i].name, unit[i].blocks, unit[i].n);
    starve_unit(reg, _i);
    dp_registry_free(reg);
}
END_TEST

UNIT_SUITE(registry)
{
    tcase_add_test(tc, a_backend_held_by_a_tensor_is_not_dumped);
    tcase_add_loop_test(tc, a_refused_attach_changes_nothing, 0, DPI_COUNT(refused));
    tcase_add_test(tc, a_backend_in_use_stays);
    tcase_add_loop_test(tc, attach_and_detach_without_memory, 0, UNITS);
}
