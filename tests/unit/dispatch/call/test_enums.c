/* test_enums.c -- dtypes, layouts, memory formats and devices, by name and by number. */
#include "dispatch/call/enums.h"
#include "unit.h"

static dp_value str(const char *s)
{
    dp_value v = {DP_TAG_STR, (uint32_t)strlen(s), {0}};

    v.u.s = s;
    return v;
}

static const struct {
    uint8_t kind;
    int64_t number;
    const char *name;
} enums[] = {
    {DPI_TYPE_SCALAR_TYPE, DP_FLOAT32, "float32"},
    {DPI_TYPE_SCALAR_TYPE, DP_BOOL, "bool"},
    {DPI_TYPE_LAYOUT, DP_LAYOUT_STRIDED, "strided"},
    {DPI_TYPE_LAYOUT, DP_LAYOUT_SPARSE_COO, "sparse_coo"},
    {DPI_TYPE_LAYOUT, DP_LAYOUT_JAGGED, "jagged"},
    {DPI_TYPE_MEMORY_FORMAT, DP_PRESERVE, "preserve_format"},
    {DPI_TYPE_MEMORY_FORMAT, DP_CHANNELS_LAST_3D, "channels_last_3d"},
    {DPI_TYPE_DEVICE, DP_DEVICE_CPU, "cpu"},
};

START_TEST(enum_reads_names_and_numbers)
{
    char buf[DP_KEY_NAME_MAX];
    dp_value name = str(enums[_i].name), number = dp_int(enums[_i].number);
    int64_t got = -1;

    ck_assert(dpi_enum_number(enums[_i].kind, &name, &got));
    ck_assert_int_eq(got, enums[_i].number);
    got = -1;
    ck_assert(dpi_enum_number(enums[_i].kind, &number, &got));
    ck_assert_int_eq(got, enums[_i].number);
    ck_assert_str_eq(dpi_enum_name(enums[_i].kind, enums[_i].number, buf), enums[_i].name);
}
END_TEST

START_TEST(enum_refuses_what_is_none_of_its_kind)
{
    dp_value wrong[] = {str("float31"), dp_int(1 << 30), dp_int(-1), dp_double(1), dp_none()};
    char buf[DP_KEY_NAME_MAX];
    int64_t got;

    for (uint8_t kind = DPI_TYPE_SCALAR_TYPE; kind <= DPI_TYPE_DEVICE; kind++)
        for (size_t i = 0; i < DPI_COUNT(wrong); i++)
            ck_assert(!dpi_enum_number(kind, &wrong[i], &got));
    dp_value strided = str("strided");
    ck_assert(!dpi_enum_number(DPI_TYPE_MEMORY_FORMAT, &strided, &got));
    ck_assert_ptr_null(dpi_enum_name(DPI_TYPE_SCALAR_TYPE, 9999, buf));
    ck_assert_ptr_null(dpi_enum_name(DPI_TYPE_LAYOUT, 9999, buf));
}
END_TEST

START_TEST(enum_kind_looks_into_lists_and_optionals)
{
    dpi_type device = {.kind = DPI_TYPE_DEVICE}, tensor = {.kind = DPI_TYPE_TENSOR};
    dpi_type list = {.kind = DPI_TYPE_LIST, .elem = &device};
    dpi_type optional = {.kind = DPI_TYPE_OPTIONAL, .elem = &list};

    ck_assert_uint_eq(dpi_enum_kind(&optional), DPI_TYPE_DEVICE);
    ck_assert_uint_eq(dpi_enum_kind(&tensor), 0);
}
END_TEST

START_TEST(enum_offers_the_nearest_name)
{
    dpi_text t = {0};

    dpi_enum_nearest(&t, DPI_TYPE_SCALAR_TYPE, "float31");
    ck_assert_ptr_nonnull(strstr(t.s, "no dtype 'float31'; nearest: 'float32'"));
    dpi_text_fini(&t);
}
END_TEST

UNIT_SUITE(enums)
{
    tcase_add_loop_test(tc, enum_reads_names_and_numbers, 0, DPI_COUNT(enums));
    tcase_add_test(tc, enum_refuses_what_is_none_of_its_kind);
    tcase_add_test(tc, enum_kind_looks_into_lists_and_optionals);
    tcase_add_test(tc, enum_offers_the_nearest_name);
}
