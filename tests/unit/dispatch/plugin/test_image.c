/* test_image.c -- files that are refused, and files that are only tried. */
#define _GNU_SOURCE /* pthread_tryjoin_np */
#include "loaded.h"

static const struct refusal {
    const char *file, *first; /* loaded before, or NULL */
    int code;
    const char *says[2];
} refusals[] = {
    {"missing_symbol", NULL, DP_EPLUGIN, {"cannot load plugin 'missing_symbol'", "not_anywhere"}},
    {"wrong_abi", NULL, DP_EABI, {"needs 99.0", "this host has 2.0: update the host"}},
    {"too_new", NULL, DP_EABI, {"needs 2.99", "this host has 2.0"}},
    {"lying_note",
     NULL,
     DP_EPLUGIN,
     {"the note says 'def\tharmless() -> ()\t'",
      "the records say 'def\tf(Tensor self) -> Tensor\t'"}},
    {"bad_schema", NULL, DP_EPLUGIN, {"broken(Tensor self -> Tensor", "bad_schema.c:"}},
    {"clash", "plugins/template", DP_EEXISTS, {"tutorial::scale", "template.c:"}},
    {"second_owner", "plugins/template", DP_EEXISTS, {"tutorial", "template.c:"}},
    {"wrong_signature", NULL, DP_ETYPE, {"'Ti>T'", "'Tf>T'"}},
    {"type_variable", NULL, DP_ETYPE, {"'f>f'", "argument 'x' is 'double', a type variable"}},
    {"duplicate_fallback_b",
     "duplicate_fallback_a",
     DP_EEXISTS,
     {"TESTING_ONLY_GenericMode", "duplicate_fallback_a.c:"}},
    {"failing_on_load", NULL, DP_ERUNTIME, {"its on_load (", "no device of kind 'toy' is there"}},
    {"static_tls", NULL, DP_EPLUGIN, {"needs static TLS", "-ftls-model"}},
    {"two_names", NULL, DP_EPLUGIN, {"two_names.c:4", "two_names.c:5"}},
    {"plugins/template",
     "plugins/template",
     DP_EEXISTS,
     {"is loaded already, as generation 1", "reload it"}},
};

START_TEST(plugin_refused_load_changes_nothing)
{
    const struct refusal *r = &refusals[_i];

    if (r->first)
        OK(load(built(r->first)));
    state before = now();
    for (int twice = 0; twice < 2; twice++) {
        int rc = load(built(r->file));
        ck_assert_msg(rc == r->code, "%s gave %d, not %d: %s", r->file, rc, r->code, err.message);
        says(err.message, r->says[0]);
        says(err.message, r->says[1]);
    }
    state after = now();
    same(&before, &after);
    check_invariants();
    OK(load(built("version_1"))); /* and the registry still works */
    ck_assert_int_eq(call_int("version::value"), 1);
}
END_TEST

static int refuse(const char *copy, dp_error *e)
{
    ck_assert_int_eq(access(copy, R_OK), 0);
    ck_assert_uint_eq(mappings(copy), 0);
    return dp_error_set(e, DP_EPLUGIN, "the trial says no");
}

START_TEST(plugin_that_the_trial_refuses_is_not_mapped)
{
    state before = now();

    options.probe = refuse;
    ck_assert_int_eq(load(built("plugins/template")), DP_EPLUGIN);
    says(err.message, "cannot load plugin 'template' from '");
    says(err.message, "plugins/template.so': the trial says no");
    state after = now();
    same(&before, &after);
}
END_TEST

START_TEST(plugin_tried_leaves_nothing)
{
    state before = now();

    OK(dp_plugin_try(built("plugins/template"), &err));
    ck_assert_uint_eq(mappings("template.so"), 0);
    ck_assert_int_eq(access(built("plugins/template"), R_OK), 0); /* it was no copy */
    ck_assert_int_eq(dp_plugin_try(built("lying_note"), &err), DP_EPLUGIN);
    ck_assert_int_eq(dp_plugin_try("/nowhere/x.so", &err), DP_ENOTFOUND);
    state after = now();
    same(&before, &after);
}
END_TEST

UNIT_SUITE(image)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, plugin_refused_load_changes_nothing, 0, DPI_COUNT(refusals));
    tcase_add_test(tc, plugin_that_the_trial_refuses_is_not_mapped);
    tcase_add_test(tc, plugin_tried_leaves_nothing);
}
