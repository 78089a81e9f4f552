/* test_key.c -- priorities, names, slots and expansions; values of PyTorch by name. */
#include "base/kind.h"
#include "unit.h"
#include <stdio.h>

static const char *print(dp_keyset s)
{
    static char buf[4096];
    return dp_keyset_print(s, buf, sizeof(buf));
}

static dp_keyset set_of(const char *a, const char *b)
{
    dp_keyset s = dp_keyset_of(dp_key_parse(a));
    return b ? dp_keyset_or(s, dp_keyset_of(dp_key_parse(b))) : s;
}

static const char *highest(dp_keyset s)
{
    static char buf[DP_KEY_NAME_MAX];
    return dp_key_name(dp_keyset_highest(s), buf);
}

START_TEST(key_slots_are_a_bijection)
{
    for (unsigned slot = 0; slot < DPI_SLOTS_MAX; slot++) {
        dp_key k = dpi_slot_key(slot);
        ck_assert_uint_eq(dpi_key_slot(k), slot);
        int f = dp_key_functionality(k), b = dp_key_backend(k);
        ck_assert_int_ge(f, 0);
        ck_assert(k == DP_KEY_Undefined || dpi_rank(k) > 0);
        ck_assert_int_eq(b >= 0, (DPI_PER_BACKEND_BITS & dpi_key_bit(k)) != 0);
    }
    for (int r = 0; r < DPI_RANKS; r++) {
        int f = dp_key_functionality(dpi_rank_keys[r]);
        bool per = (DPI_PER_BACKEND_BITS & dpi_key_bit(DP_KEY(f))) != 0;
        ck_assert_int_eq(dpi_rank(DP_KEY(f)), r);
        if (!per)
            ck_assert_uint_eq(dpi_slot_key(dpi_key_slot(DP_KEY(f))), DP_KEY(f));
        for (int b = 0; per && b < 64; b++) {
            if (b >= DP_B_NAMED_FIRST + DP_B_NAMED_MAX && b != DP_B_Meta)
                continue;
            dp_key k = (dp_key)DP_KEY_OF(f, b);
            ck_assert_uint_lt(dpi_key_slot(k), DPI_SLOTS_MAX);
            ck_assert_uint_eq(dpi_slot_key(dpi_key_slot(k)), k);
        }
    }
    ck_assert_uint_eq(dpi_key_slot(DP_KEY_Undefined), 0);
    ck_assert_uint_lt(dpi_key_slot(dp_key_parse("NestedTensorMeta")), DPI_SLOTS(0));
    ck_assert_uint_ge(dpi_key_slot(DP_KEY_OF(DP_F_Dense, DP_B_NAMED_FIRST)), DPI_SLOTS(0));
    ck_assert_uint_lt(dpi_key_slot(DP_KEY_OF(DP_F_AutocastNamed, DP_B_NAMED_FIRST)), DPI_SLOTS(1));
}
END_TEST

START_TEST(key_names_read_back)
{
    char name[DP_KEY_NAME_MAX], other[DP_KEY_NAME_MAX];
    int npu, backends = 0;
    dp_key found;

    ck_assert_int_eq(dpi_backend_register("npu", "t", NULL, &npu, NULL), DP_OK);
    for (unsigned slot = 0; slot < DPI_SLOTS_MAX; slot++) {
        dp_key k = dpi_slot_key(slot);
        int b = dp_key_backend(k);
        bool named = b >= DP_B_NAMED_FIRST && b != DP_B_Meta;
        dp_key_name(k, name);
        bool lent = dpi_kind_slot(k) >= 0; /* to nobody */
        if ((named && b != npu) || lent ||
            (dp_key_functionality(k) == DP_F_AutocastNamed && !named)) {
            ck_assert(dp_key_parse(name) != k);
            continue;
        }
        ck_assert_msg(dp_key_lookup(name, &found, NULL) == 0, "%s", name);
        ck_assert_str_eq(dp_key_name(dp_key_parse(name), other), name);
        ck_assert_uint_eq(dp_key_parse(name), k);
        backends += b == npu;
    }
    ck_assert_int_eq(backends, 7);
    for (int a = DP_ALIAS_FIRST; a < DP_ALIAS_END; a++)
        ck_assert_uint_eq(dp_key_parse(dp_key_name(DP_KEY(a), name)), DP_KEY(a));
    ck_assert_str_eq(dp_key_name(DP_KEY_OF(DP_F_Dense, npu), name), "npu");
    ck_assert_str_eq(dp_key_name(DP_KEY_OF(DP_F_AutocastNamed, npu), name), "Autocastnpu");
    ck_assert_uint_eq(dp_key_parse("Sparsenpu"), DP_KEY_OF(DP_F_Sparse, npu));
    ck_assert_uint_eq(dp_key_parse("AutocastCPU"), DP_KEY(DP_F_AutocastCPU));
    ck_assert_int_eq(dp_key_lookup("Undefined", &found, NULL), 0);
    static const char *const unknown[] = {"",         "cpu",         "Dense", "AutocastMeta",
                                          "CatchAll", "Autogradxpu", "CPU "};
    for (size_t i = 0; i < DPI_COUNT(unknown); i++)
        ck_assert_msg(dp_key_lookup(unknown[i], &found, NULL) == DP_ENOTFOUND, "'%s'", unknown[i]);
    dpi_backend_unregister(npu);
    ck_assert_int_eq(dp_key_lookup("Autogradnpu", &found, NULL), DP_ENOTFOUND);
}
END_TEST

START_TEST(key_a_wrong_one_offers_the_nearest)
{
    dp_error err = DP_ERROR_INIT;
    dp_key found;

    ck_assert_int_eq(dp_key_lookup("AutogradCPUU", &found, &err), DP_ENOTFOUND);
    ck_assert_str_eq(err.message, "no dispatch key 'AutogradCPUU'; nearest: 'AutogradCPU', "
                                  "'AutogradIPU', 'AutogradXPU'");
}
END_TEST

START_TEST(key_sets_of_a_call)
{
    dp_keyset cpu = dpi_backend_keys(DP_B_CPU), both, included, after;

    ck_assert_str_eq(print(cpu), "AutogradCPU, ADInplaceOrView, CPU");
    included = set_of("BackendSelect", "ADInplaceOrView");
    cpu = dp_keyset_or(cpu, included);
    ck_assert_str_eq(print(cpu), "AutogradCPU, ADInplaceOrView, BackendSelect, CPU");
    ck_assert_str_eq(highest(cpu), "AutogradCPU");
    after = dp_keyset_below(cpu, dp_key_parse("AutogradOther"));
    ck_assert_str_eq(highest(after), "ADInplaceOrView");
    after = dp_keyset_below(cpu, dp_key_parse("ADInplaceOrView"));
    ck_assert_str_eq(highest(after), "BackendSelect");
    after = dp_keyset_below(after, dp_key_parse("BackendSelect"));
    ck_assert_str_eq(highest(after), "CPU");
    ck_assert_str_eq(highest(dp_keyset_below(after, dp_key_parse("CPU"))), "Undefined");
    both = dp_keyset_or(cpu, dpi_backend_keys(DP_B_CUDA));
    ck_assert_str_eq(highest(both), "AutogradCUDA");
    both = dp_keyset_or(both, dpi_backend_keys(DP_B_Meta));
    ck_assert_str_eq(highest(both), "AutogradMeta");
    after = dp_keyset_below(set_of("PythonDispatcher", "CPU"), dp_key_parse("Tracer"));
    ck_assert_str_eq(print(after), "PythonDispatcher, CPU");
    ck_assert_str_eq(print(set_of("AutogradCPU", "CUDA")), "AutogradCUDA, AutogradCPU, CUDA, CPU");
    ck_assert(dp_keyset_has(set_of("AutogradCPU", "CUDA"), dp_key_parse("CPU")));
    after = dp_keyset_minus(set_of("AutogradCPU", "CUDA"), set_of("CUDA", NULL));
    ck_assert_str_eq(print(after), "AutogradCUDA, AutogradCPU");
    ck_assert_str_eq(print(set_of("Undefined", "CompositeImplicitAutograd")), "");
    ck_assert_str_eq(print(dpi_backend_keys(DP_B_HIP)), "AutogradOther, ADInplaceOrView, HIP");
}
END_TEST

START_TEST(key_set_lists_are_cut_at_cap)
{
    dp_key keys[2] = {0, 0};
    char buf[12];

    ck_assert_uint_eq(dp_keyset_list(dpi_backend_keys(DP_B_CPU), keys, 1), 3);
    ck_assert_uint_eq(keys[0], dp_key_parse("AutogradCPU"));
    ck_assert_uint_eq(keys[1], 0);
    dp_keyset_print(dpi_backend_keys(DP_B_CPU), buf, sizeof(buf));
    ck_assert_str_eq(buf, "AutogradCPU");
}
END_TEST

START_TEST(key_aliases_stand_for)
{
    static const struct {
        const char *alias, *in, *out;
    } cases[] = {
        {"Autograd", "AutogradCPU AutogradMeta AutogradOther AutogradNestedTensor Autogradnpu",
         "CPU ADInplaceOrView Undefined"},
        {"CompositeExplicitAutograd",
         "CPU Meta QuantizedCUDA SparseCPU SparseCsrCPU FPGA MkldnnCPU npu Sparsenpu",
         "NestedTensorCPU AutogradCPU BackendSelect Functionalize Autocastnpu Undefined"},
        {"CompositeExplicitAutogradNonFunctional", "CPU QuantizedCPU SparseCsrCPU FPGA npu",
         "XLA Lazy QuantizedXLA SparseCPU NestedTensorCPU"},
        {"CompositeImplicitAutograd",
         "CPU AutogradCPU AutogradOther AutogradNestedTensor NestedTensorCPU Functionalize npu",
         "BackendSelect Python FuncTorchBatched Tracer ADInplaceOrView AutocastCPU Autocastnpu"},
        {"CompositeImplicitAutogradNestedTensor", "NestedTensorCPU AutogradNestedTensor",
         "CPU AutogradCPU"},
        {"FuncTorchBatchedDecomposition", "FuncTorchBatched", "Batched CPU"},
        {"CPU", "CPU", "CUDA AutogradCPU"},
    };
    char word[DP_KEY_NAME_MAX];
    int npu, n;
    dp_key found;

    ck_assert_int_eq(dpi_backend_register("npu", "t", NULL, &npu, NULL), DP_OK);
    for (size_t i = 0; i < DPI_COUNT(cases); i++)
        for (int side = 0; side < 2; side++)
            for (const char *s = side ? cases[i].out : cases[i].in;
                 sscanf(s, "%63s%n", word, &n) > 0; s += n) {
                ck_assert_msg(dp_key_lookup(word, &found, NULL) == 0, "%s", word);
                ck_assert_msg(dpi_alias_has(dp_key_parse(cases[i].alias), dp_key_parse(word)) !=
                                  side,
                              "%s and %s", cases[i].alias, word);
            }
    /* A number that is no alias's stands for none. */
    for (unsigned slot = 1; slot < DPI_SLOTS(0); slot++)
        ck_assert(!dpi_alias_has(DP_KEY(0xff), dpi_slot_key(slot)));
    dpi_backend_unregister(npu);
}
END_TEST

START_TEST(key_autograd_above_a_backend)
{
    static const char *const pairs[][2] = {
        {"CPU", "AutogradCPU"},         {"SparseCUDA", "AutogradCUDA"}, {"FPGA", "AutogradOther"},
        {"MkldnnCPU", "AutogradOther"}, {"HIP", "AutogradOther"},       {"Meta", "AutogradMeta"},
        {"npu", "Autogradnpu"},         {"Sparsenpu", "Autogradnpu"}};
    char name[DP_KEY_NAME_MAX];
    int npu;

    ck_assert_int_eq(dpi_backend_register("npu", "t", NULL, &npu, NULL), DP_OK);
    for (size_t i = 0; i < DPI_COUNT(pairs); i++) {
        dp_key k = dp_key_parse(pairs[i][0]);
        ck_assert(dpi_is_backend_key(k));
        ck_assert_str_eq(dp_key_name(dpi_autograd_of(k), name), pairs[i][1]);
    }
    ck_assert(!dpi_is_backend_key(dp_key_parse("NestedTensorCPU")));
    ck_assert(!dpi_is_backend_key(dp_key_parse("AutogradCPU")));
    ck_assert(!dpi_is_backend_key(DP_KEY_Undefined));
    ck_assert(!dpi_is_backend_key(DP_KEY(DP_ALIAS_Autograd)));
    dpi_backend_unregister(npu);
}
END_TEST

UNIT_SUITE(key)
{
    tcase_add_test(tc, key_slots_are_a_bijection);
    tcase_add_test(tc, key_names_read_back);
    tcase_add_test(tc, key_a_wrong_one_offers_the_nearest);
    tcase_add_test(tc, key_sets_of_a_call);
    tcase_add_test(tc, key_set_lists_are_cut_at_cap);
    tcase_add_test(tc, key_aliases_stand_for);
    tcase_add_test(tc, key_autograd_above_a_backend);
}
