/* test_result.c -- values of answers as JSON: scalars, lists, tensors with handles, data or an
 * attachment. */
#include "base/kind.h"
#include "values.h"

static dp_tensor *make(void)
{
    static const float elements[] = {1, 2.5f, -3};
    int64_t sizes[] = {3};
    dp_tensor *t = NULL;

    ck_assert_int_eq(
        dp_tensor_from(NULL, DP_FLOAT32, DP_DEVICE_CPU, 1, sizes, DP_FLOAT32, elements, &t, &err),
        0);
    return t;
}

START_TEST(scalars_and_lists)
{
    int64_t ints[] = {1, 2};
    dp_value items[] = {dp_int(7), dp_double(2), dp_bool(true), dp_none(), {DP_TAG_INTS, 2, {0}}};
    dp_value list = {DP_TAG_LIST, 5, {0}};

    items[4].u.ints = ints;
    list.u.values = items;
    ck_assert_int_eq(value_to_json(&rq, &rq.out, &list, RETURN_HANDLE, NULL, &err), 0);
    ck_assert_str_eq(written(), "[7,{\"float\":2},true,null,[1,2]]");
}
END_TEST

START_TEST(a_tensor_gets_a_fresh_handle)
{
    dp_tensor *t = make();
    dp_value v = dp_tensor_value(t);

    ck_assert_int_eq(value_to_json(&rq, &rq.out, &v, RETURN_HANDLE, NULL, &err), 0);
    ck_assert_ptr_nonnull(strstr(written(), "{\"tensor\":1,\"dtype\":\"float32\",\"shape\":[3]"));
    dp_tensor *got = session_tensor_get(rq.session, 1);
    ck_assert_ptr_eq(got, t);
    dp_tensor_unref(got);
    run_undo(&rq); /* as when the method fails afterwards */
    ck_assert_ptr_null(session_tensor_get(rq.session, 1));
    dp_tensor_unref(t);
}
END_TEST

START_TEST(data_and_attachments_have_no_handle)
{
    dp_tensor *t = make();
    dp_value v = dp_tensor_value(t);

    ck_assert_int_eq(value_to_json(&rq, &rq.out, &v, RETURN_ATTACHMENT, NULL, &err), 0);
    ck_assert_ptr_nonnull(strstr(written(), "\"attachment\":0"));
    ck_assert_ptr_null(strstr(rq.out.s, "\"tensor\""));
    ck_assert_uint_eq(rq.n_parts, 1);
    ck_assert_uint_eq(rq.parts[0].bytes, 3 * sizeof(float));
    run_undo(&rq);
    dp_free(rq.parts);
    dp_tensor_unref(t);
}
END_TEST

START_TEST(sizes_of_tensors)
{
    dp_tensor *t = make();

    ck_assert_uint_eq(tensor_bytes(t), 12);
    ck_assert_uint_eq(tensor_host_bytes(t), 12);
    ck_assert_uint_eq(tensor_text_bytes(t), strlen("[0,0,0]"));
    ck_assert_uint_eq(tensor_bytes(NULL), 0);
    dp_tensor_unref(t);
}
END_TEST

/* Return the text of the set that has only the key of a kind with this name. */
static const char *key_of_kind(const char *name, int *slot)
{
    ck_assert_int_eq(dpi_kind_register(name, "unit", false, slot, &err), 0);
    jw_fini(&rq.out);
    jw_init(&rq.out);
    jw_object(&rq.out);
    keyset_to_json(&rq.out, "keys", dp_keyset_of(dpi_kind_key(*slot)));
    jw_object_end(&rq.out);
    dpi_kind_unregister(*slot);
    return written();
}

START_TEST(a_key_has_the_name_of_the_kind_that_has_it_now)
{
    int first, second;

    ck_assert_str_eq(key_of_kind("oldkind", &first), "{\"keys\":[\"oldkind\"]}");
    ck_assert_str_eq(key_of_kind("newkind", &second), "{\"keys\":[\"newkind\"]}");
    ck_assert_int_eq(first, second);
}
END_TEST

UNIT_SUITE(result)
{
    tcase_add_checked_fixture(tc, values_begin, values_end);
    tcase_add_test(tc, scalars_and_lists);
    tcase_add_test(tc, a_tensor_gets_a_fresh_handle);
    tcase_add_test(tc, data_and_attachments_have_no_handle);
    tcase_add_test(tc, sizes_of_tensors);
    tcase_add_test(tc, a_key_has_the_name_of_the_kind_that_has_it_now);
}
