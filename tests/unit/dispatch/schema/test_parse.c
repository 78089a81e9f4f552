/* test_parse.c -- schemas as text. */
#include "schemas.h"

START_TEST(schema_takes_its_librarys_namespace)
{
    dp_error err = DP_ERROR_INIT;
    dp_schema *s = NULL;

    ck_assert_int_eq(dpi_schema_parse("f.x(Tensor a) -> ()", "my", &s, &err), DP_OK);
    ck_assert_str_eq(s->name, "my::f.x");
    ck_assert_str_eq(s->text, "my::f.x(Tensor a) -> ()");
    dp_schema_free(s);
    ck_assert_int_eq(dpi_schema_parse("my::f(Tensor a) -> ()", "my", &s, &err), DP_OK);
    dp_schema *second = dpi_schema_ref(s);
    ck_assert_ptr_null(dp_schema_free(s));
    ck_assert_str_eq(second->ns, "my");
    dp_schema_free(second);
    ck_assert_int_eq(dpi_schema_parse("other::f(Tensor a) -> ()", "my", &s, &err), DP_EVALUE);
    ck_assert_ptr_nonnull(strstr(err.message, "'my'"));
    ck_assert_ptr_nonnull(strstr(err.message, "other::f"));
}
END_TEST

START_TEST(schema_parse_survives_any_failed_allocation)
{
    static const char text[] =
        "a::b.c(Tensor(a! -> a|b)[] x, Dict(str, (int, t)) y, int[2] z=1, str s=\"a\\n\", *, "
        "__torch__.torch.classes.n.C c, complex[] w=[1j], Scalar v=2.5) -> (Tensor(a!)[] p, int)";

    for (uint64_t n = 1;; n++) {
        dp_error err = DP_ERROR_INIT;
        dp_schema *s = NULL;
        dp_fault_arm(n);
        int rc = dp_schema_parse(text, &s, &err);
        if (!dp_fault_hit()) {
            ck_assert_msg(rc == DP_OK, "%s", err.message);
            dp_schema_free(s);
            ck_assert_uint_gt(n, 5);
            break;
        }
        ck_assert_int_eq(rc, DP_ERESOURCE);
        ck_assert_ptr_null(s);
        ck_assert_str_ne(err.message, "");
    }
    dp_fault_arm(0);
}
END_TEST

/* head, then n times each, then tail */
static int parse_repeated(const char *head, const char *each, int n, const char *tail)
{
    dpi_text t = {0};
    dp_schema *s = NULL;

    dpi_text_add(&t, head);
    for (int i = 0; i < n; i++)
        dpi_text_printf(&t, each, i);
    dpi_text_add(&t, tail);
    int rc = dp_schema_parse(t.s, &s, NULL);
    dp_schema_free(s);
    dpi_text_fini(&t);
    return rc;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-extra-args"
START_TEST(schema_limits_hold)
{
    ck_assert_int_eq(parse_repeated("a::b(", "int x%d, ", 63, "int y) -> ()"), DP_OK);
    ck_assert_int_eq(parse_repeated("a::b(", "int x%d, ", 64, "int y) -> ()"), DP_ERESOURCE);
    ck_assert_int_eq(parse_repeated("a::b() -> (", "int, ", 64, "int)"), DP_ERESOURCE);
    ck_assert_int_eq(parse_repeated("a::b(int", "[]", 15, " x) -> ()"), DP_OK);
    ck_assert_int_eq(parse_repeated("a::b(int", "[]", 16, " x) -> ()"), DP_ERESOURCE);
    ck_assert_int_eq(parse_repeated("a::b(int", "?", 7000, " x) -> ()"), DP_ERESOURCE);
    ck_assert_int_eq(parse_repeated("a::b(", "Future(", 2000, "t) x) -> ()"), DP_ERESOURCE);
    ck_assert_int_eq(parse_repeated("a::b(", "(", 16000, "t) x) -> ()"), DP_ERESOURCE);
    ck_assert_int_eq(parse_repeated("a::b() ", " ", 17000, "-> ()"), DP_ERESOURCE);
    ck_assert_int_eq(parse_repeated("a::b", "b", 130, "() -> ()"), DP_ERESOURCE);
    ck_assert_int_eq(parse_repeated("a::b(int[] x=[0", ",%d", 300, "]) -> ()"), DP_ERESOURCE);
    ck_assert_int_eq(parse_repeated("a::b(int[60000] x=0", "", 0, ") -> ()"), DP_ERESOURCE);
}
END_TEST
#pragma GCC diagnostic pop

UNIT_SUITE(parse)
{
    tcase_add_test(tc, schema_takes_its_librarys_namespace);
    tcase_add_test(tc, schema_limits_hold);
    tcase_add_test(tc, schema_parse_survives_any_failed_allocation);
}
