/* test_watcher.c -- watchers of gradients: when they are told, and when no more. */
#include "graphs.h"

static uint64_t names[8];
static uint32_t n_names;

static void note(void *arg, uint64_t name)
{
    ck_assert_ptr_eq(arg, names);
    ck_assert_uint_lt(n_names, 8);
    names[n_names++] = name;
}

static dp_grad_watcher *watcher(void)
{
    dp_grad_watcher *w = dp_grad_watcher_new(note, names);

    ck_assert_ptr_nonnull(w);
    n_names = 0;
    return w;
}

START_TEST(told_once_a_backward)
{
    dp_tensor *x = leaf(FLOATS(3)), *y = call1("t::square", x),
              *z = call2("aten::mul.Tensor", y, y);
    dp_grad_watcher *w = watcher();

    ck_assert_int_eq(dp_tensor_retain_grad(ctx, y), 0);
    ck_assert_int_eq(dp_tensor_watch_grad(ctx, x, w, 7), 1);
    ck_assert_int_eq(dp_tensor_watch_grad(ctx, x, w, 8), 0);
    ck_assert_int_eq(dp_tensor_watch_grad(ctx, y, w, 9), 1);
    ck_assert_uint_eq(dp_tensor_hooks(x) + dp_tensor_hooks(y), 0);
    ck_assert_int_eq(try_backward(z, NULL, DP_BACKWARD_RETAIN), 0);
    ck_assert_msg(n_names == 2 && names[0] == 9 && names[1] == 8, "%u told", n_names);
    ck_assert_int_eq(dp_tensor_unwatch_grad(ctx, y, w), 0);
    ck_assert_int_eq(dp_tensor_unwatch_grad(ctx, y, w), 0);
    backward(z);
    ck_assert_msg(n_names == 3 && names[2] == 8, "%u told", n_names);
    refused(try_backward(z, NULL, 0), DP_ERUNTIME, "a second time");
    ck_assert_uint_eq(n_names, 3);
    dp_grad_watcher_end(w);
    DROP(x, y, z);
}
END_TEST

START_TEST(an_end_is_final)
{
    dp_tensor *x = leaf(FLOATS(3)), *y = call1("t::square", x);
    dp_grad_watcher *w = watcher(), *second = watcher();

    ck_assert_int_eq(dp_tensor_watch_grad(ctx, x, w, 1), 1);
    ck_assert_ptr_null(dp_grad_watcher_end(w));
    ck_assert_ptr_null(dp_grad_watcher_end(NULL));
    ck_assert_int_eq(try_backward(y, NULL, DP_BACKWARD_RETAIN), 0);
    ck_assert_uint_eq(n_names, 0);
    ck_assert_int_eq(dp_tensor_watch_grad(ctx, x, second, 2), 1); /* in the place of the first */
    backward(y);
    ck_assert_msg(n_names == 1 && names[0] == 2, "%u told", n_names);
    dp_grad_watcher_end(second);
    DROP(x, y);
}
END_TEST

START_TEST(the_limit_counts_those_that_have_not_ended)
{
    dp_grad_watcher *all[DP_LIMIT_HOOKS + 1];
    dp_tensor *x = leaf(FLOATS(3)), *plain = floats(FLOATS(1));

    for (int i = 0; i <= DP_LIMIT_HOOKS; i++)
        all[i] = watcher();
    for (int i = 0; i < DP_LIMIT_HOOKS; i++)
        ck_assert_int_eq(dp_tensor_watch_grad(ctx, x, all[i], (uint64_t)i), 1);
    refused(dp_tensor_watch_grad(ctx, x, all[DP_LIMIT_HOOKS], 0), DP_ERESOURCE,
            "the tensor has 16 watchers already (hooks)");
    all[3] = dp_grad_watcher_end(all[3]);
    ck_assert_int_eq(dp_tensor_watch_grad(ctx, x, all[DP_LIMIT_HOOKS], 0), 1);
    refused(dp_tensor_watch_grad(ctx, plain, all[0], 0), DP_ERUNTIME, "doesn't require gradient");
    for (int i = 0; i <= DP_LIMIT_HOOKS; i++)
        dp_grad_watcher_end(all[i]);
    DROP(x, plain);
}
END_TEST

static dp_tensor *kept;

static int watch_and_walk(void)
{
    dp_grad_watcher *w = dp_grad_watcher_new(note, names);
    dp_tensor *y = NULL;
    int rc = w != NULL ? dp_tensor_watch_grad(ctx, kept, w, 1) : DP_ERESOURCE;

    n_names = 0;
    if (rc >= 0)
        rc = try_call("t::square", (dp_value[]){dp_tensor_value(kept)}, 1, &y);
    if (rc >= 0)
        rc = try_backward(y, NULL, 0);
    ck_assert_uint_eq(n_names, rc >= 0);
    dp_grad_watcher_end(w);
    DROP(y);
    ck_assert_int_eq(dp_tensor_set_grad(ctx, kept, NULL), 0);
    return rc;
}

START_TEST(no_allocation_is_told_of_half)
{
    kept = leaf(FLOATS(3));
    ck_assert_uint_gt(each_allocation(watch_and_walk), 5);
    DROP(kept);
}
END_TEST

UNIT_SUITE(autograd_watcher)
{
    tcase_add_checked_fixture(tc, graphs_setup, graphs_teardown);
    tcase_add_test(tc, told_once_a_backward);
    tcase_add_test(tc, an_end_is_final);
    tcase_add_test(tc, the_limit_counts_those_that_have_not_ended);
    tcase_add_test(tc, no_allocation_is_told_of_half);
}
