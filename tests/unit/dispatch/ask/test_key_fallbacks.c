/* test_key_fallbacks.c -- the fallback of each key beside PyTorch 1.13's, and why they differ. */
#include "asked.h"
#include <dispatchd/dispatch.h>

/* Lines "[backend fallback]" that torch 1.13 printed by torch._C._dispatch_dump_table() for an
 * operator without kernels. */
static const struct {
    const char *key;
    const char *kind;
} recorded[] = {
    {"BackendSelect", "fallthrough"},
    {"Python", "kernel"},
    {"FuncTorchDynamicLayerBackMode", "kernel"},
    {"Functionalize", "kernel"},
    {"Named", "kernel"},
    {"Conjugate", "kernel"},
    {"Negative", "kernel"},
    {"ZeroTensor", "kernel"},
    {"ADInplaceOrView", "fallthrough"},
    {"AutogradOther", "fallthrough"},
    {"AutogradCPU", "fallthrough"},
    {"AutogradCUDA", "fallthrough"},
    {"AutogradXLA", "fallthrough"},
    {"AutogradMPS", "fallthrough"},
    {"AutogradXPU", "fallthrough"},
    {"AutogradHPU", "fallthrough"},
    {"AutogradLazy", "fallthrough"},
    {"Tracer", "kernel"},
    {"AutocastCPU", "fallthrough"},
    {"AutocastCUDA", "fallthrough"},
    {"FuncTorchBatched", "kernel"},
    {"FuncTorchVmapMode", "fallthrough"},
    {"Batched", "kernel"},
    {"VmapMode", "fallthrough"},
    {"FuncTorchGradWrapper", "kernel"},
    {"PythonTLSSnapshot", "kernel"},
    {"FuncTorchDynamicLayerFrontMode", "kernel"},
    {"PythonDispatcher", "kernel"},
};

static const dp_key_fallback *all;
static const dp_key *keys;
static size_t n_keys;

static void read_all(void)
{
    n_keys = dp_registry_keys(reg, arena, &keys);
    while (dp_key_is_alias(keys[n_keys - 1]))
        n_keys--;
    ck_assert_int_eq(dp_registry_key_fallbacks(reg, keys, n_keys, arena, &all, &err), 0);
}

static const dp_key_fallback *of(const char *key)
{
    char name[DP_KEY_NAME_MAX];

    for (size_t i = 0; i < n_keys; i++)
        if (strcmp(dp_key_name(keys[i], name), key) == 0)
            return &all[i];
    ck_abort_msg("no key %s", key);
    return NULL;
}

static const char *recorded_kind(const char *key)
{
    for (size_t i = 0; i < DPI_COUNT(recorded); i++)
        if (strcmp(recorded[i].key, key) == 0)
            return recorded[i].kind;
    return "none";
}

START_TEST(pytorchs_fallbacks_are_those_that_it_printed)
{
    char name[DP_KEY_NAME_MAX];
    size_t found = 0;

    read_all();
    for (size_t i = 0; i < n_keys; i++) {
        dp_key_name(keys[i], name);
        ck_assert_msg(strcmp(all[i].pytorch, recorded_kind(name)) == 0, "%s: got %s, want %s", name,
                      all[i].pytorch, recorded_kind(name));
        found += strcmp(all[i].pytorch, "none") != 0;
    }
    ck_assert_uint_eq(found, DPI_COUNT(recorded));
}
END_TEST

START_TEST(each_that_differs_has_a_reason)
{
    read_all();
    for (size_t i = 0; i < DPI_COUNT(recorded); i++) {
        const dp_key_fallback *f = of(recorded[i].key);
        bool differs = strcmp(f->kind, f->pytorch) != 0;
        ck_assert_msg(differs == (f->reason != NULL), "%s: %s, in PyTorch %s, reason '%s'",
                      recorded[i].key, f->kind, f->pytorch, f->reason != NULL ? f->reason : "");
    }
}
END_TEST

START_TEST(a_fallback_names_its_plugin)
{
    read_all();
    const dp_key_fallback *f = of("Batched"); /* unit `falls` of asked.h lets calls fall through */
    ck_assert_str_eq(f->kind, "fallthrough");
    ck_assert_str_eq(f->from.plugin, "falls");
    ck_assert_uint_eq(f->from.line, 30);
    f = of("BackendSelect");
    ck_assert_str_eq(f->kind, "fallthrough");
    ck_assert_str_eq(f->from.plugin, "(built in)");
    ck_assert_ptr_null(f->reason);
    f = of("Named");
    ck_assert_str_eq(f->kind, "none");
    ck_assert_ptr_null(f->from.plugin);
}
END_TEST

START_TEST(a_reason_follows_the_registrations)
{
    static const dp_block more[] = {
        REC_PLAIN(DP_BLOCK_FALLBACK, 0, 40, "_", "Functionalize", rec_kernel),
        REC_PLAIN(DP_BLOCK_FALLBACK, 0, 41, "_", "AutogradFunctionality", rec_kernel)};

    read_all();
    ck_assert_str_eq(of("Functionalize")->reason, "no loaded plugin registers one");
    ck_assert_ptr_null(of("AutogradCPU")->reason);
    dp_unit *unit = rec_attach(reg, "more", more, 2);
    read_all();
    ck_assert_str_eq(of("Functionalize")->kind, "kernel");
    ck_assert_str_eq(of("Functionalize")->from.plugin, "more");
    ck_assert_ptr_null(of("Functionalize")->reason);
    ck_assert_str_eq(of("AutogradCPU")->kind, "kernel");
    ck_assert_ptr_nonnull(of("AutogradCPU")->reason);
    ck_assert_ptr_null(of("AutogradMeta")->reason); /* PyTorch has none there */
    rec_detach(reg, unit);
    read_all();
    ck_assert_str_eq(of("Functionalize")->kind, "none");
}
END_TEST

UNIT_SUITE(key_fallbacks)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, pytorchs_fallbacks_are_those_that_it_printed);
    tcase_add_test(tc, each_that_differs_has_a_reason);
    tcase_add_test(tc, a_fallback_names_its_plugin);
    tcase_add_test(tc, a_reason_follows_the_registrations);
}
