/* test_names.c -- tensor.name and tensor.open at each allocation that fails; lengths of names. */
#include "values.h"

static uint64_t named(void)
{
    dp_usage held[DP_HOLDERS];

    names_usage(session_user(rq.session), held);
    return held[DP_HOLDER_NAMES].count;
}

START_TEST(a_name_has_a_length)
{
    static char name[LIMIT_TENSOR_NAME_BYTES + 2];
    const json_path at = {NULL, "name", 0};

    memset(name, 'x', LIMIT_TENSOR_NAME_BYTES);
    ck_assert_int_eq(tensor_name_check(name, &at, &err), 0);
    name[LIMIT_TENSOR_NAME_BYTES] = 'x';
    ck_assert_int_eq(tensor_name_check(name, &at, &err), DP_EPARAMS);
    ck_assert_str_eq(err.message, "name: a name has 1 to 1023 bytes (tensor_name_bytes) but this "
                                  "one has 1024");
    ck_assert_int_eq(tensor_name_check("", &at, &err), DP_EPARAMS);
}
END_TEST

/* A method that fails leaves neither a name nor a handle. */
START_TEST(naming_and_opening_at_the_nth_allocation_that_fails)
{
    int64_t sizes[] = {2};
    dp_tensor *t = NULL;

    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, sizes, NULL, &t, &err), 0);
    tensor_name_params name = {.tensor = (int64_t)session_put(rq.session, t, &err), .name = "w"};
    tensor_open_params open = {.name = "w"};
    dp_tensor_unref(t);
    for (int done = 0, n = 1; done < 2; n++) {
        dp_fault_arm((uint64_t)n);
        int rc = done == 0 ? tensor_name(&rq, &name, &rq.out, &err)
                           : tensor_open(&rq, &open, &rq.out, &err);
        bool hit = dp_fault_hit();
        dp_fault_arm(0);
        ck_assert_int_eq(rc < 0 || rq.out.failed, hit);
        if (hit)
            run_undo(&rq);
        uint64_t *handles = NULL;
        ck_assert_int_eq(session_handles(rq.session, false, &handles, &err),
                         1 + (done == 1 && !hit));
        dp_free(handles);
        ck_assert_uint_eq(named(), done == 1 || !hit);
        request_drop(&rq);
        ck_assert_int_eq(run_begin(&rq, &err), 0);
        jw_fini(&rq.out);
        jw_init(&rq.out);
        if (!hit) {
            done++;
            n = 0;
        }
        ck_assert_int_lt(n, 40);
    }
}
END_TEST

UNIT_SUITE(methods_names)
{
    tcase_add_checked_fixture(tc, values_begin, values_end);
    tcase_add_test(tc, a_name_has_a_length);
    tcase_add_test(tc, naming_and_opening_at_the_nth_allocation_that_fails);
}
