/* test_session.c -- whose session and request a context works for, and hooks on a session's end. */
#include "dispatch/call/ctx.h"
#include "dispatch/records.h"
#include <dispatchd/grad.h>

static int ran[4], n_ran, failures;
static uint64_t seen;
static char why[DP_ERROR_MESSAGE_MAX + 16];

static int first(dp_ctx *ctx)
{
    ran[n_ran++] = 1;
    seen = dp_session_id(ctx);
    return 0;
}

static int second(dp_ctx *ctx)
{
    ran[n_ran++] = 2;
    return dp_fail(ctx, DP_EVALUE, "it fails");
}

static int third(dp_ctx *ctx)
{
    (void)ctx;
    ran[n_ran++] = 3;
    return 12345;
}

static void failed(void *arg, const char *plugin, const dp_error *err)
{
    (void)plugin;
    failures++;
    ck_assert_ptr_eq(arg, &failures);
    snprintf(why, sizeof(why), "%s", err->message);
}

static dp_registry *unloading;
static dp_unit *own;

/* Unload the plugin of the hook that runs. */
static int unloads(dp_ctx *ctx)
{
    dp_error err = DP_ERROR_INIT;

    (void)ctx;
    n_ran++;
    int rc = dp_registry_detach(unloading, own, 120, &err); /* more than the 50 ms of grace */
    if (rc == 0)
        own = NULL;
    snprintf(why, sizeof(why), "%d %s", rc, err.message);
    return 0;
}

static const dp_block self[] = {REC_PLAIN(DP_BLOCK_SESSION_END, 0, 1, "self", "", unloads)};
static const dp_block one[] = {REC_PLAIN(DP_BLOCK_SESSION_END, 0, 1, "first", "", first)};
static const dp_block two[] = {REC_PLAIN(DP_BLOCK_SESSION_END, 0, 1, "second", "", second),
                               REC_PLAIN(DP_BLOCK_SESSION_END, 0, 2, "third", "", third)};
static const dp_block none[] = {REC_PLAIN(DP_BLOCK_SESSION_END, 0, 1, "none", "", NULL)};

START_TEST(hooks_run_in_load_order_and_may_fail)
{
    dp_registry *reg = rec_registry();
    dp_error err = DP_ERROR_INIT;
    dp_ctx *ctx = NULL;
    dp_unit *unit = NULL;

    rec_attach(reg, "one", one, 1);
    rec_attach(reg, "two", two, 2);
    ck_assert_int_eq(dp_registry_attach(reg, "none", "1.0", none, 1, &unit, &err), DP_EPLUGIN);
    ck_assert_ptr_nonnull(strstr(err.message, "session's end 'none' at t.c:1: no function"));
    ck_assert_int_eq(dp_ctx_new(reg, &ctx, &err), 0);
    ck_assert_uint_eq(dp_session_id(ctx), 0);
    dp_ctx_set_session(ctx, 7);
    ck_assert_int_eq(dp_session_end(ctx, failed, &failures), 0);
    ck_assert_int_eq(n_ran, 3);
    ck_assert(ran[0] == 1 && ran[1] == 2 && ran[2] == 3);
    ck_assert_uint_eq(seen, 7);
    ck_assert_int_eq(failures, 2);
    ck_assert_str_eq(why, "its hook on the end of a session returned 12345, no error code");
    dp_ctx_reset(ctx);
    ck_assert_uint_eq(dp_session_id(ctx), 0);
    dp_ctx_free(ctx);
    dp_registry_free(reg);
}
END_TEST

static void is_named(dp_ctx *ctx, const char *want)
{
    dpi_origin *o = dpi_ctx_origin(ctx), *again = dpi_ctx_origin(ctx);

    ck_assert_ptr_eq(o, again);
    ck_assert_str_eq(o->request, want);
    dp_ctx_set_request(ctx, NULL, NULL);
    ck_assert_ptr_null(dpi_ctx_origin(ctx));
    ck_assert_str_eq(o->request, want); /* it outlives the request */
    dpi_origin_unref(o);
    dpi_origin_unref(again);
}

START_TEST(the_name_of_a_request)
{
    dp_registry *reg = rec_registry();
    dp_error err = DP_ERROR_INIT;
    dp_ctx *ctx = NULL;
    const int64_t number = -12;
    int64_t step = 5;
    char text[80], want[65];

    ck_assert_int_eq(dp_ctx_new(reg, &ctx, &err), 0);
    ck_assert_ptr_null(dpi_ctx_origin(ctx));
    dp_ctx_set_request(ctx, NULL, &number);
    is_named(ctx, "-12");
    memset(text, 'x', sizeof(text));
    memcpy(text + 63, "\xc3\xa4", 3); /* a character that does not fit whole */
    snprintf(want, sizeof(want), "%.63s", text);
    dp_ctx_set_request(ctx, text, NULL);
    is_named(ctx, want);
    ck_assert_int_eq(dpi_ctx_step(ctx), -1);
    dp_ctx_set_step(ctx, &step);
    step = 6;
    ck_assert_int_eq(dpi_ctx_step(ctx), 6);
    dp_ctx_set_request(ctx, "left", NULL);
    dpi_origin_unref(dpi_ctx_origin(ctx));
    dp_ctx_reset(ctx);
    ck_assert_ptr_null(dpi_ctx_origin(ctx));
    ck_assert_int_eq(dpi_ctx_step(ctx), -1);
    dp_ctx_free(ctx);
    dp_registry_free(reg);
}
END_TEST

START_TEST(an_unload_waits_for_a_hook)
{
    dp_registry *reg = rec_registry();
    dp_error err = DP_ERROR_INIT;
    dp_ctx *ctx = NULL;
    char want[80];

    unloading = reg;
    own = rec_attach(reg, "self", self, 1);
    n_ran = 0;
    ck_assert_int_eq(dp_ctx_new(reg, &ctx, &err), 0);
    ck_assert_int_eq(dp_session_end(ctx, failed, &failures), 0);
    snprintf(want, sizeof(want), "%d 'self' is in use: ", DP_EBUSY);
    ck_assert_msg(strncmp(why, want, strlen(want)) == 0, "%s", why);
    ck_assert_msg(strstr(why, "its hook on the end of a session") != NULL, "%s", why);
    ck_assert_int_eq(dp_session_end(ctx, failed, &failures), 0); /* it is attached again */
    ck_assert_int_eq(n_ran, 2);
    dp_ctx_reset(ctx);
    rec_detach(reg, own);
    dp_ctx_free(ctx);
    dp_registry_free(reg);
}
END_TEST

UNIT_SUITE(session)
{
    tcase_add_test(tc, the_name_of_a_request);
    tcase_add_test(tc, hooks_run_in_load_order_and_may_fail);
    tcase_add_test(tc, an_unload_waits_for_a_hook);
}
