/* test_into.c -- param "into": what it must be, what it reserves, and what becomes of it. */
#include "../tensors.h"
#include "values.h"

#define ID(n) ((uint64_t)(int64_t)(n))

static uint64_t charged(void)
{
    dp_usage held[DP_HOLDERS];

    dp_account_usage(session_account(rq.session), held);
    return held[DP_HOLDER_TENSORS].count;
}

/* Let request `text` fail with `*e`. */
static void let_fail(const char *text, const run *r, const dp_error *e)
{
    const cJSON *msg = json(text);
    const char *name = param_str(msg, "method");
    const failed_request f = {name != NULL ? method_find(name) : NULL, param(msg, "params"),
                              param(msg, "id")};

    into_fail(&rq, &f, r, e);
}

/* -- checks -- */

static const dp_value tensor = {DP_TAG_TENSOR, 0, {0}}, three = {DP_TAG_TENSORS, 3, {0}},
                      number = {DP_TAG_INT, 0, {0}}, none = {DP_TAG_NONE, 0, {0}},
                      ints = {DP_TAG_INTS, 1, {0}};

static const struct {
    const char *into;
    const dp_value *output;
    const char *error; /* NULL: accepted */
} entries[] = {
    {"-1", &tensor, NULL},
    {"null", &tensor, NULL},
    {"null", &number, NULL},
    {"-1", &none, NULL},
    {"[-1,null,-3]", &three, NULL},
    {"[-1]", &tensor,
     "into: the output is one tensor: expected a number below 0 or null but got an array"},
    {"-1", &three, "into: the output is a list: expected an array of 3 entries or null but got -1"},
    {"[-1]", &three, "into: 1 entries, but the output is a list of 3"},
    {"[-1,[-2],-3]", &three,
     "into[1]: the output is one tensor: expected a number below 0 or null but got an array"},
    {"-1", &number,
     "into: the output is no tensor and gets no handle of its client: expected null but got "
     "number"},
    {"[-1]", &ints,
     "into[0]: the output is no tensor and gets no handle of its client: expected null but got "
     "number"},
};

START_TEST(entries_fit_their_outputs)
{
    json_path at = {NULL, "into", 0};

    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
        const cJSON *into = json(entries[i].into);
        int rc = into_check_value(into, entries[i].output, &at, &err);
        ck_assert_int_eq(rc, entries[i].error != NULL ? DP_EVALUE : 0);
        if (rc < 0)
            ck_assert_str_eq(err.message, entries[i].error);
    }
    ck_assert_int_eq(into_check_value(NULL, &number, &at, &err), 0);
}
END_TEST

START_TEST(numbers_are_below_zero)
{
    ck_assert_int_eq(into_check(NULL, RETURN_DATA, &err), 0);
    ck_assert_int_eq(into_check(json("[-1,[null,-2]]"), RETURN_HANDLE, &err), 0);
    ck_assert_int_eq(into_check(json("[-1,[null,0]]"), RETURN_HANDLE, &err), DP_EPARAMS);
    ck_assert_str_eq(err.message,
                     "into[1][1]: expected a handle below 0, null or an array but got 0");
    ck_assert_int_eq(into_check(json("-1"), RETURN_DATA, &err), DP_EPARAMS);
    ck_assert_int_eq(into_check_count(json("[-1,-2]"), 2, "x", &err), 0);
    ck_assert_int_eq(into_check_count(json("-1"), 1, "x", &err), 0);
    ck_assert_int_eq(into_check_count(json("-1"), 2, "x", &err), DP_EVALUE);
    ck_assert_str_eq(err.message, "into: 1 entry, but x has 2 outputs");
}
END_TEST

/* -- handles -- */

START_TEST(what_names_no_tensor_is_free_after_the_run)
{
    dp_tensor *t = make();
    const cJSON *into = json("[-1,[-2,null]]");
    uint64_t id = 0;

    ck_assert_int_eq(into_reserve(&rq, into, &err), 0);
    ck_assert_uint_eq(charged(), 2);
    ck_assert_int_eq(run_put_at(&rq, t, into_first(into), &id, &err), 0);
    ck_assert_uint_eq(id, ID(-1));
    dp_tensor_unref(t);
    request_drop(&rq);
    ck_assert_uint_eq(charged(), 1);
    ck_assert_int_eq(run_begin(&rq, &err), 0);
    ck_assert_int_eq(into_reserve(&rq, json("[-2,-1]"), &err), DP_EEXISTS);
    ck_assert_str_eq(err.message, "into[1]: handle -1 names a tensor that was not released");
}
END_TEST

/* A failed request leaves no tensor, and the same failure for each of its handles. */
START_TEST(every_allocation_of_a_put_can_fail)
{
    static const char text[] =
        "{\"method\":\"tensor.create\",\"id\":\"a\",\"params\":{\"into\":-7}}";
    dp_tensor *t = make();
    uint64_t id;
    int rc = DP_ERESOURCE;

    for (unsigned n = 1; rc < 0; n++) {
        const cJSON *into = param(param(json(text), "params"), "into");
        dp_error e;
        ck_assert_uint_lt(n, 20);
        dp_fault_arm(n);
        rc = run_put_one(&rq, t, into, &id, &err);
        dp_fault_arm(0);
        if (rc == 0)
            break;
        ck_assert_int_eq(rc, DP_ERESOURCE);
        run_undo(&rq);
        e = err;
        /* let_fail() parses the text again, and frees what was parsed before */
        cJSON *copy = cJSON_Duplicate(into, true);
        rq.run->into = rq.run->into != NULL ? copy : NULL;
        let_fail(text, rq.run, &e);
        request_drop(&rq);
        cJSON_Delete(copy);
        ck_assert_uint_eq(charged(), 0);
        failure *f = session_failure(rq.session, ID(-7));
        ck_assert_str_eq(f->message, e.message);
        ck_assert_str_eq(f->request_id, "\"a\"");
        ck_assert_str_eq(f->method, "tensor.create");
        failure_unref(f);
        ck_assert(session_release(rq.session, ID(-7)));
        ck_assert_int_eq(run_begin(&rq, &err), 0);
    }
    ck_assert_uint_eq(id, ID(-7));
    ck_assert_uint_eq(charged(), 1);
    dp_tensor_unref(t);
}
END_TEST

START_TEST(only_params_of_methods_that_take_into_fail)
{
    dp_error e = DP_ERROR_INIT;

    dp_error_set(&e, DP_ERUNTIME, "x");
    let_fail("{\"method\":\"tensor.read\",\"params\":{\"into\":-7}}", NULL, &e);
    let_fail("{\"method\":7,\"params\":{\"into\":-7}}", NULL, &e);
    ck_assert_ptr_null(session_failure(rq.session, ID(-7)));
    let_fail("{\"method\":\"op.call\",\"params\":{\"into\":[-7,\"a\",[8,-9],-1.5]}}", NULL, &e);
    for (int n = -9; n <= -7; n += 2)
        failure_unref(session_failure(rq.session, ID(n)));
    ck_assert(session_release(rq.session, ID(-9)));
    ck_assert(session_release(rq.session, ID(-7)));
    ck_assert(!session_release(rq.session, ID(-1)));
}
END_TEST

START_TEST(a_failed_argument_is_the_cause)
{
    json_path at = {NULL, "args", 0};
    dp_error first = DP_ERROR_INIT;
    dp_tensor *t;

    dp_error_set(&first, DP_EINDEX, "first");
    let_fail("{\"method\":\"op.call\",\"id\":3,\"params\":{\"into\":-7}}", NULL, &first);
    ck_assert_int_eq(run_pin(&rq, ID(-7), &at, &t, &err), DP_EINDEX);
    ck_assert_str_eq(err.message, "first");
    ck_assert_uint_eq(rq.run->cause_handle, ID(-7));
    ck_assert_str_eq(rq.run->cause->request_id, "3");
    let_fail("{\"method\":\"op.call\",\"id\":4,\"params\":{\"into\":-8}}", rq.run, &err);
    failure *f = session_failure(rq.session, ID(-8)), *of = session_failure(rq.session, ID(-7));
    ck_assert_ptr_eq(f, of);
    failure_unref(f);
    failure_unref(of);
}
END_TEST

UNIT_SUITE(into)
{
    tcase_add_checked_fixture(tc, values_begin, values_end);
    tcase_add_test(tc, entries_fit_their_outputs);
    tcase_add_test(tc, numbers_are_below_zero);
    tcase_add_test(tc, what_names_no_tensor_is_free_after_the_run);
    tcase_add_test(tc, every_allocation_of_a_put_can_fail);
    tcase_add_test(tc, only_params_of_methods_that_take_into_fail);
    tcase_add_test(tc, a_failed_argument_is_the_cause);
}
