/* test_kind.c -- keys lent to kinds of wrapper tensors. */
#include "base/kind.h"
#include "unit.h"
#include <stdio.h>

static dp_error err;

START_TEST(a_name_has_one_key)
{
    int a, b, again;
    char owner[DP_LIMIT_NAME_BYTES + 1], buf[DP_KEY_NAME_MAX];

    ck_assert_int_eq(dpi_kind_register("unitkind", "one", false, &a, &err), 0);
    ck_assert_int_eq(dpi_kind_register("unitkind", "two", false, &b, &err), DP_EEXISTS);
    ck_assert_str_eq(err.message, "kind 'unitkind' is registered by plugin 'one'");
    ck_assert_int_eq(dpi_kind_register("otherkind", "two", false, &b, &err), 0);
    ck_assert_int_ne(a, b);
    ck_assert_int_eq(dp_key_parse("unitkind"), dpi_kind_key(a));
    ck_assert_int_eq(dp_key_parse("Kind0"), DP_KEY_Undefined);
    ck_assert_int_eq(dpi_backend_register("unitkind", "two", NULL, &again, &err), DP_EEXISTS);
    ck_assert_str_eq(err.message, "backend 'unitkind': a kind of wrapper tensors has this name");
    ck_assert_str_eq(dp_key_name(dpi_kind_key(b), buf), "otherkind");
    ck_assert_str_eq(dp_kind_owner(dpi_kind_key(b), owner), "two");
    ck_assert_ptr_null(dp_kind_owner(DP_KEY(DP_F_Sparse), owner));
    ck_assert_int_eq(dpi_kind_check_maker("unitkind", "one", &err), 0);
    ck_assert_int_eq(dpi_kind_check_maker("nobodys", "one", &err), 0);
    ck_assert_int_eq(dpi_kind_check_maker("unitkind", "two", &err), DP_EPLUGIN);
    ck_assert_int_eq(dpi_kind_register("unitkind", "one", true, &again, &err), 0); /* a reload */
    ck_assert_int_eq(again, a);
    dpi_kind_unregister(a);
    ck_assert_int_eq(dpi_kind_find("unitkind"), a);
    dpi_kind_unregister(again);
    dpi_kind_unregister(b);
    ck_assert_int_eq(dpi_kind_find("unitkind"), -1);
    ck_assert_int_eq(dp_key_parse("unitkind"), DP_KEY_Undefined);
}
END_TEST

START_TEST(tensors_keep_a_key_from_other_names)
{
    int held, others[DP_LIMIT_KINDS];
    char name[32];
    dp_key key;

    ck_assert_int_eq(dpi_kind_register("heldkind", "one", false, &held, &err), 0);
    ck_assert_int_eq(dpi_kind_ref("heldkind"), held);
    dpi_kind_unregister(held);
    ck_assert_int_eq(dpi_kind_ref("heldkind"), -1); /* no new tensor of it */
    ck_assert_int_eq(dp_key_lookup("heldkind", &key, &err), DP_ENOTFOUND);
    ck_assert_str_eq(err.message, "the plugin of kind 'heldkind' is not loaded: only live tensors "
                                  "and key sets of sessions still have its key");
    for (int i = 0; i < DP_LIMIT_KINDS - 1; i++) {
        snprintf(name, sizeof(name), "kind_%d", i);
        ck_assert_int_eq(dpi_kind_register(name, "two", false, &others[i], &err), 0);
        ck_assert_int_ne(others[i], held);
    }
    ck_assert_int_eq(dpi_kind_register("kind_more", "two", false, &others[7], &err), DP_ERESOURCE);
    ck_assert_ptr_nonnull(strstr(err.message, "kind 'kind_more': 8 kinds are alive, the limit"));
    ck_assert_ptr_nonnull(
        strstr(err.message, "heldkind without a plugin (live tensors: 1, key sets: 0)"));
    ck_assert_ptr_nonnull(strstr(err.message, "kind_3 of plugin 'two'"));
    ck_assert_int_eq(dpi_kind_register("heldkind", "three", false, &others[7], &err), 0);
    ck_assert_int_eq(others[7], held);
    dpi_kind_unref(held);
    for (int i = 0; i < DP_LIMIT_KINDS; i++)
        dpi_kind_unregister(others[i]);
}
END_TEST

START_TEST(pins_keep_a_key_from_other_names)
{
    int a, b;
    char buf[DP_KEY_NAME_MAX];
    const dp_keyset all = {UINT64_MAX, UINT64_MAX};

    ck_assert_int_eq(dpi_kind_register("pinnedkind", "one", false, &a, &err), 0);
    dp_keyset pinned = dp_keyset_pin(dp_keyset_of(dpi_kind_key(a)));
    ck_assert(dp_keyset_has(pinned, dpi_kind_key(a)));
    dpi_kind_unregister(a);
    ck_assert_str_eq(dp_key_name(dpi_kind_key(a), buf), "pinnedkind");
    ck_assert_int_eq(dpi_kind_ref("pinnedkind"), -1);
    ck_assert_int_eq(dpi_kind_register("otherkind", "two", false, &b, &err), 0);
    ck_assert_int_ne(a, b);
    dpi_kind_unregister(b);
    dp_keyset_unpin(pinned);
    ck_assert_uint_eq(dp_keyset_pin(all).functionality, 0); /* nothing is left to be pinned */
    ck_assert_int_eq(dpi_kind_register("otherkind", "two", false, &b, &err), 0);
    ck_assert_int_eq(a, b);
    dpi_kind_unregister(b);
}
END_TEST

START_TEST(names_of_others_and_wrong_ones_are_refused)
{
    ck_assert_int_eq(dpi_kind_check_name("cuda", &err), DP_EEXISTS);
    ck_assert_int_eq(dpi_kind_check_name("", &err), DP_EVALUE);
    ck_assert_int_eq(dpi_kind_check_name("Masked", &err), DP_EVALUE);
    ck_assert_int_eq(dpi_kind_check_name("a-b", &err), DP_EVALUE);
    ck_assert_int_eq(dpi_kind_check_name("masked", &err), 0);
}
END_TEST

UNIT_SUITE(kind)
{
    tcase_add_test(tc, a_name_has_one_key);
    tcase_add_test(tc, tensors_keep_a_key_from_other_names);
    tcase_add_test(tc, pins_keep_a_key_from_other_names);
    tcase_add_test(tc, names_of_others_and_wrong_ones_are_refused);
}
