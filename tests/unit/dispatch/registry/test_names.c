/* test_names.c -- the hash of operator names: full names, and the overloads of a base name. */
#include "dispatch/registry/snapshot.h"
#include "unit.h"
#include <stdio.h>

enum { MANY = 500 };

static int64_t found(const dpi_names *names, const char *name)
{
    return dpi_names_find(names, name, strlen(name));
}

START_TEST(names_find_each_operator_and_no_other)
{
    static dp_op ops[MANY];
    static char text[MANY][24];
    dp_op *list[MANY];

    for (int i = 0; i < MANY; i++) {
        snprintf(text[i], sizeof(text[i]), "t::op%d.o%d", i / 2, i % 2);
        ops[i].name = text[i];
        list[i] = &ops[i];
    }
    dpi_names *names = dpi_names_build(list, MANY);
    ck_assert_ptr_nonnull(names);
    for (int i = 0; i < MANY; i++)
        ck_assert_int_eq(found(names, text[i]), i);
    ck_assert_int_eq(found(names, "t::op0"), -1);
    ck_assert_int_eq(found(names, "t::op0.o2"), -1);
    ck_assert_int_eq(found(names, ""), -1);
    dpi_names_unref(dpi_names_ref(names));
    dpi_names_unref(names);
}
END_TEST

/* Names are added one after another, and the table grows with them. */
START_TEST(a_table_of_names_grows)
{
    static dp_op ops[MANY];
    static char text[MANY][24];
    dp_op *list[MANY];
    dpi_names *names = NULL;

    for (int i = 0; i < MANY; i++) {
        snprintf(text[i], sizeof(text[i]), "t::op%d", i);
        ops[i].name = text[i];
        list[i] = &ops[i];
        ck_assert(dpi_names_add(&names, list, (uint32_t)i + 1));
        ck_assert_int_eq(found(names, text[i]), i);
    }
    for (int i = 0; i < MANY; i++)
        ck_assert_int_eq(found(names, text[i]), i);
    ck_assert_int_eq(found(names, "t::op500"), -1);
    dpi_names_unref(names);
}
END_TEST

START_TEST(names_list_the_overloads_of_a_base_name)
{
    dp_op ops[] = {{.name = "t::add"},
                   {.name = "t::add.out"},
                   {.name = "t::addmm"},
                   {.name = "u::add"},
                   {.name = "t::add.Tensor"}};
    dp_op *list[] = {&ops[0], &ops[1], &ops[2], &ops[3], &ops[4]};
    dpi_names *names = dpi_names_build(list, 5);
    uint32_t seen = 0, id;

    for (uint32_t at = dpi_names_base(names, "t::add", 6); at != 0;) {
        at = dpi_names_next(names, at, &id);
        ck_assert_uint_eq(seen >> id & 1, 0);
        seen |= 1u << id;
    }
    ck_assert_uint_eq(seen, 1u << 0 | 1u << 1 | 1u << 4);
    ck_assert_uint_eq(dpi_names_base(names, "t::ad", 5), 0);
    dpi_names_unref(names);
}
END_TEST

START_TEST(base_name_ends_before_the_overload)
{
    ck_assert_uint_eq(dpi_base_bytes("t::add.out"), 6);
    ck_assert_uint_eq(dpi_base_bytes("t::add"), 6);
    ck_assert_uint_eq(dpi_base_bytes("add.out"), 3);
    ck_assert_uint_eq(dpi_base_bytes("t.u::add.out"), 8);
}
END_TEST

UNIT_SUITE(names)
{
    tcase_add_test(tc, names_find_each_operator_and_no_other);
    tcase_add_test(tc, a_table_of_names_grows);
    tcase_add_test(tc, names_list_the_overloads_of_a_base_name);
    tcase_add_test(tc, base_name_ends_before_the_overload);
}
