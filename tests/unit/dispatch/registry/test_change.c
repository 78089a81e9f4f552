/* test_change.c -- what a change of the registry refuses. */
#include "../calls.h"

START_TEST(call_wrong_c_type_is_refused_at_attach)
{
    dp_item items[1] = {REC_IMPL_UNBOXED("first", first, first_unboxed, "Ti>T", 0)};
    dp_block block = REC_BLOCK(DP_BLOCK_IMPL, __LINE__, "t", "CPU", items);
    dp_unit *u = NULL;

    ck_assert_int_eq(dp_registry_attach(reg, "bad", "1", &block, 1, &u, &err), DP_ETYPE);
    ck_assert_msg(strstr(err.message, "Ti>T") && strstr(err.message, "TT>T"), "%s", err.message);
}
END_TEST

START_TEST(call_reserved_letters_are_refused_by_name)
{
    static const struct {
        const char *schema, *want;
    } cases[] = {
        {"r(Tensor a, Storage source) -> Tensor",
         "argument 'source' is Storage, for which letters"},
        {"r(Stream? s) -> Tensor", "argument 's' is Stream?, for which letters are reserved"},
        {"r(Tensor a, complex[] z) -> Tensor", "argument 'z' is complex[], for which letters"},
        {"r(Tensor?[]? xs) -> Tensor", "argument 'xs' is Tensor?[]?, for which letters"},
        {"r(Tensor a) -> (Tensor, Stream)", "return 2 is Stream, for which letters are reserved"},
        {"r(Tensor a, QScheme q) -> Tensor", "argument 'q' is QScheme; its kernels are boxed"},
        {"r(Tensor a, ...) -> Tensor", "'...' stands for any number"},
    };

    for (size_t i = 0; i < DPI_COUNT(cases); i++) {
        dp_item items[2] = {REC_DEF(cases[i].schema),
                            REC_IMPL_UNBOXED("r", first, first_unboxed, "TT>T", 0)};
        dp_block block = REC_BLOCK(DP_BLOCK_FRAGMENT, __LINE__, "t", "", items);
        dp_unit *u = NULL;

        ck_assert_int_eq(dp_registry_attach(reg, "bad", "1", &block, 1, &u, &err), DP_ETYPE);
        ck_assert_msg(strstr(err.message, cases[i].want) != NULL, "%s", err.message);
    }
}
END_TEST

UNIT_SUITE(change)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, call_wrong_c_type_is_refused_at_attach);
    tcase_add_test(tc, call_reserved_letters_are_refused_by_name);
}
