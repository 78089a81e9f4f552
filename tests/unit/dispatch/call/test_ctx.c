/* test_ctx.c -- contexts: their labels. */
#include "../calls.h"

static char seen_label[32];

static int sees_label(dp_call *call)
{
    dp_running running[4];

    ck_assert_uint_eq(dp_registry_running(reg, running, 4), 1);
    memcpy(seen_label, running[0].label, sizeof(seen_label));
    ck_assert(seen_label[0] != '\0' || running[0].nanos == 0);
    return first(call);
}

/* A thread keeps the label that it published last; no call of another request shows it. */
START_TEST(call_shows_its_own_label)
{
    dp_ctx *labelled = NULL;
    dp_error e = DP_ERROR_INIT;
    dp_typed t;
    const struct {
        const char *set; /* NULL: as before */
        const char *seen;
    } rows[] = {{"session 12", "session 12"},
                {NULL, "session 12"},
                {"session 7", "session 7"},
                {"", ""},
                {NULL, ""},
                {"session 7", "session 7"}};

    attach_as("cpu", "CPU", sees_label, NULL, 0);
    ck_assert_int_eq(dp_ctx_new(reg, &labelled, &e), 0);
    ck_assert_int_eq(dp_typed_init(ctx, "t::first", DP_CODE((T, T), (T)), &t), 0);
    for (size_t i = 0; i < DPI_COUNT(rows); i++) {
        dp_tensor *out = NULL;
        if (rows[i].set != NULL)
            dp_ctx_set_label(labelled, rows[i].set);
        for (int again = 0; again < 2; again++) {
            ck_assert_int_eq(typed_first(labelled, &t, a, b, &out), 0);
            dp_tensor_unref(out);
            ck_assert_str_eq(seen_label, rows[i].seen);
        }
        expect_tensor(a); /* of the context without one */
        ck_assert_str_eq(seen_label, "");
    }
    dp_ctx_free(labelled);
}
END_TEST

UNIT_SUITE(ctx)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, call_shows_its_own_label);
}
