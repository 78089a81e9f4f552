/* test_symbols.c -- values that are known by kind only. */
#include "dispatch/call/coerce.h"
#include "unit.h"

enum { NO, AS_IT_IS, LATE, MAYBE }; /* how a symbol fits; MAYBE: as its value will say */

#define TAG(t) (1u << DP_TAG_##t)

static dpi_type tensor = {.kind = DPI_TYPE_TENSOR}, number = {.kind = DPI_TYPE_FLOAT},
                whole = {.kind = DPI_TYPE_INT}, dtype = {.kind = DPI_TYPE_SCALAR_TYPE};
static dpi_type two_ints = {.kind = DPI_TYPE_LIST, .elem = &whole, .sized = true, .n = 2};
static dpi_type maybe_tensor = {.kind = DPI_TYPE_OPTIONAL, .elem = &tensor};

static const struct {
    const dpi_type *type;
    uint32_t tags;
    bool loose, written;
    int fits;
} symbols[] = {
    {&tensor, TAG(TENSOR), false, false, AS_IT_IS},
    {&tensor, TAG(DOUBLE), false, false, NO},
    {&tensor, TAG(DOUBLE), true, false, LATE},
    {&tensor, TAG(DOUBLE), true, true, NO}, /* a number cannot be written */
    {&tensor, TAG(TENSOR) | TAG(STR), false, false, MAYBE},
    {&number, TAG(INT), false, false, LATE},
    {&number, TAG(TENSOR), true, false, MAYBE}, /* if it has no dimensions */
    {&whole, TAG(DOUBLE), false, false, NO},
    {&two_ints, TAG(INT), false, false, LATE},
    {&two_ints, TAG(INTS), false, false, AS_IT_IS},
    {&two_ints, TAG(LIST), false, false, MAYBE},
    {&dtype, TAG(STR), false, false, MAYBE},
    {&maybe_tensor, TAG(NONE) | TAG(TENSOR), false, false, AS_IT_IS},
};

START_TEST(symbol_fits_as_its_tags_do)
{
    dpi_fit_try f = {.loose = symbols[_i].loose, .written = symbols[_i].written};
    dp_value v = {DPI_TAG_SYMBOL, 0, {0}}, out;

    v.u.i = symbols[_i].tags;
    int rc = dpi_coerce_symbol(&f, symbols[_i].type, &v, &out);
    int fits = rc == DP_ETYPE ? NO : f.maybe ? MAYBE : f.late ? LATE : AS_IT_IS;
    ck_assert_int_eq(fits, symbols[_i].fits);
    ck_assert_uint_eq(out.tag, DPI_TAG_SYMBOL);
}
END_TEST

START_TEST(symbol_is_described_by_its_kinds)
{
    dp_value v = {DPI_TAG_SYMBOL, 0, {0}};
    char text[96], cut[8];

    v.u.i = TAG(TENSOR) | TAG(INT);
    dpi_describe_symbol(&v, text, sizeof(text));
    ck_assert_str_eq(text, "Tensor or int");
    dpi_describe_symbol(&v, cut, sizeof(cut));
    ck_assert_str_eq(cut, "Tensor ");
}
END_TEST

/* One item that must be fitted later is enough, wherever it stands in the list. */
START_TEST(list_is_late_if_an_item_is)
{
    dpi_type numbers = {.kind = DPI_TYPE_LIST, .elem = &number};
    dp_value items[] = {{DPI_TAG_SYMBOL, 0, {0}}, {DPI_TAG_SYMBOL, 0, {0}}};
    dp_value list = {DP_TAG_LIST, 2, {0}}, out;
    dp_registry *reg;
    dpi_request rq = {0};
    dpi_fit_try f = {.rq = &rq};

    ck_assert_int_eq(dp_registry_new(&reg, NULL), 0);
    ck_assert_int_eq(dp_ctx_new(reg, &rq.ctx, NULL), 0);
    list.u.values = items;

    items[_i].u.i = TAG(INT);
    items[1 - _i].u.i = TAG(DOUBLE);
    ck_assert_int_eq(dpi_coerce(&f, &numbers, &list, &out), 0);
    ck_assert_msg(f.late, "late is %d, item %d must be fitted later", f.late, _i);
    dp_ctx_free(rq.ctx);
    dp_registry_free(reg);
}
END_TEST

UNIT_SUITE(symbols)
{
    tcase_add_loop_test(tc, symbol_fits_as_its_tags_do, 0, DPI_COUNT(symbols));
    tcase_add_test(tc, symbol_is_described_by_its_kinds);
    tcase_add_loop_test(tc, list_is_late_if_an_item_is, 0, 2);
}
