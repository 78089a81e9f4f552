/* test_engine.c -- backward: order, sums, inputs, graphs that are kept, and what stops it. */
#include "graphs.h"

START_TEST(leaves_get_gradients_that_add_up)
{
    dp_tensor *x = leaf(FLOATS(1, 2)), *w = leaf(FLOATS(5, 7));
    dp_tensor *y = call2("aten::mul.Tensor", x, w), *z = call1("aten::sum", y);

    ck_assert(!dp_tensor_is_leaf(z) && dp_tensor_requires_grad(z));
    ck_assert_str_eq(dp_tensor_grad_fn(z), "aten::sum");
    backward(z);
    has_grad(x, FLOATS(5, 7));
    has_grad(w, FLOATS(1, 2));
    ck_assert_ptr_null(dp_tensor_grad(y));
    DROP(y, z);
    y = call2("aten::mul.Tensor", x, w), z = call1("aten::sum", y);
    backward(z);
    has_grad(x, FLOATS(10, 14));
    DROP(x, w, y, z);
}
END_TEST

START_TEST(a_node_runs_once_after_all_its_gradients_came)
{
    dp_tensor *x = leaf(FLOATS(3)), *t = call1("t::through", x), *u = call1("t::through", t);
    dp_tensor *v = call2("aten::mul.Tensor", t, u), *w = call2("aten::add.Tensor", v, t);

    backward(w); /* x * x + x */
    ck_assert_int_eq(runs, 2);
    has_grad(x, FLOATS(7));
    DROP(x, t, u, v, w);
}
END_TEST

START_TEST(a_graph_is_freed_unless_it_is_kept)
{
    dp_tensor *x = leaf(FLOATS(3)), *y = call1("t::square", x);

    ck_assert_int_eq(try_backward(y, NULL, DP_BACKWARD_RETAIN), 0);
    has_grad(x, FLOATS(6));
    backward(y);
    has_grad(x, FLOATS(12));
    refused(try_backward(y, NULL, 0), DP_ERUNTIME,
            "Trying to backward through the graph a second time");
    refused(try_backward(y, NULL, 0), DP_ERUNTIME, "at t::square");
    has_grad(x, FLOATS(12));
    DROP(x, y);
}
END_TEST

START_TEST(derivatives_of_gradients)
{
    dp_tensor *x = leaf(FLOATS(3)), *y = call1("t::square", x), *cube, *first, *second, *third;
    uint32_t flags = DP_BACKWARD_RETAIN | DP_BACKWARD_CREATE;

    cube = call2("aten::mul.Tensor", y, x);
    ck_assert_msg(gradients_of(cube, 1, &x, &first, flags) == 0, "%s", said());
    is_floats(first, FLOATS(27));
    ck_assert(dp_tensor_requires_grad(first));
    ck_assert_msg(gradients_of(first, 1, &x, &second, flags) == 0, "%s", said());
    is_floats(second, FLOATS(18));
    ck_assert_msg(gradients_of(second, 1, &x, &third, 0) == 0, "%s", said());
    is_floats(third, FLOATS(6));
    ck_assert(!dp_tensor_requires_grad(third));
    DROP(x, y, cube, first, second, third);
}
END_TEST

static const float ten[10] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

START_TEST(a_cancelled_backward_changes_no_leaf)
{
    dp_tensor *x = leaf(FLOATS(3)), *w = leaf(FLOATS(4)), *s = call1("t::stops", x);
    dp_tensor *y = call2("aten::mul.Tensor", s, w), *one = floats(1, ten);

    ck_assert_int_eq(try_backward(x, one, 0), 0);
    dp_ctx_set_cancel(ctx, &cancel);
    dp_tensor *deeper = call1("t::through", s), *z = call2("aten::mul.Tensor", y, deeper);
    dp_tensor *t = call1("t::stops", z);
    refused(try_backward(t, NULL, 0), DP_ECANCELLED, "");
    ck_assert_int_eq(runs, 0);
    has_grad(x, FLOATS(1));
    ck_assert_ptr_null(dp_tensor_grad(w));
    DROP(x, w, s, y, one, deeper, z, t);
}
END_TEST

START_TEST(an_operator_without_a_derivative)
{
    dp_tensor *x = leaf(FLOATS(3)), *y = call1("t::plain", x);

    ck_assert(dp_tensor_requires_grad(y));
    refused(try_backward(y, NULL, 0), DP_ENOTIMPL, "the derivative for 't::plain' is not impl");
    DROP(x, y);
}
END_TEST

/* x + x + ...: a chain of nodes, and a leaf whose buffer is summed at each of them. */
START_TEST(a_deep_graph)
{
    enum { DEPTH = 2000 };
    dp_tensor *x = leaf(FLOATS(1)), *y = dp_tensor_ref(x);

    for (int i = 0; i < DEPTH; i++) {
        dp_tensor *next = call2("aten::add.Tensor", y, x);
        dp_tensor_unref(y);
        y = next;
    }
    ck_assert_uint_eq(dp_grad_nodes(), DEPTH);
    backward(y);
    has_grad(x, FLOATS(DEPTH + 1));
    DROP(x, y);
    dpi_node_drop_wait();
}
END_TEST

/* Make *x a leaf of one element, 3, and *y its square; any step may fail for want of memory. */
static int try_square(dp_tensor **x, dp_tensor **y)
{
    float three[1] = {3};
    int64_t n = 1;
    dp_error err = DP_ERROR_INIT;
    int rc = dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, &n, NULL, x, &err);

    if (rc == 0)
        rc = dp_tensor_write(*x, three, &err);
    if (rc == 0)
        rc = dp_tensor_set_requires_grad(ctx, *x, true);
    if (rc == 0)
        rc = try_call("t::square", &(dp_value){DP_TAG_TENSOR, 0, {.t = *x}}, 1, y);
    return rc;
}

static int record_and_walk(void)
{
    dp_tensor *x = NULL, *y = NULL, *z = NULL, *s = NULL;
    int rc = try_square(&x, &y);

    if (rc == 0)
        rc = try_call2("aten::mul.Tensor", y, x, &z);
    if (rc == 0)
        rc = try_call("aten::sum", &(dp_value){DP_TAG_TENSOR, 0, {.t = z}}, 1, &s);
    if (rc == 0)
        rc = try_backward(s, NULL, DP_BACKWARD_RETAIN);
    if (rc == 0) {
        has_grad(x, FLOATS(27));
        rc = try_backward(s, NULL, 0);
    }
    if (rc == 0)
        has_grad(x, FLOATS(54));
    DROP(x, y, z, s);
    return rc;
}

START_TEST(no_allocation_leaks)
{
    ck_assert_uint_gt(each_allocation(record_and_walk), 20);
}
END_TEST

static int double_backward(void)
{
    dp_tensor *x = NULL, *y = NULL, *first = NULL, *second = NULL;
    int rc = try_square(&x, &y);

    if (rc == 0)
        rc = gradients_of(y, 1, &x, &first, DP_BACKWARD_CREATE);
    if (rc == 0)
        rc = gradients_of(first, 1, &x, &second, 0);
    if (rc == 0)
        is_floats(second, FLOATS(2));
    DROP(x, y, first, second);
    return rc;
}

START_TEST(no_allocation_of_a_double_backward_leaks)
{
    ck_assert_uint_gt(each_allocation(double_backward), 20);
}
END_TEST

START_TEST(a_backward_inside_a_backward)
{
    dp_tensor *x = leaf(FLOATS(3)), *w = leaf(FLOATS(5)), *other = call1("t::square", w);
    dp_tensor *y = call1("t::square", x), *z = call1("t::nests", y);

    nested.root = other;
    ck_assert_int_eq(try_backward(z, NULL, DP_BACKWARD_RETAIN), 0);
    ck_assert_int_eq(nested.rc, 0);
    has_grad(x, FLOATS(6));
    has_grad(w, FLOATS(10));
    nested.root = z;
    nested.flags = DP_BACKWARD_RETAIN;
    refused(try_backward(z, NULL, DP_BACKWARD_RETAIN), DP_ERUNTIME,
            "backward inside backward: both go through the call of t::nests");
    has_grad(x, FLOATS(6));
    has_grad(w, FLOATS(10));
    nested.root = x; /* a leaf has no call */
    backward(z);
    has_grad(x, FLOATS(13));
    DROP(x, w, other, y, z);
}
END_TEST

START_TEST(a_backward_while_gradients_are_added)
{
    dp_tensor *x = leaf(FLOATS(3)), *w = leaf(FLOATS(5)), *other = call1("t::square", w);
    dp_tensor *y = call1("t::square", x);

    ck_assert_int_eq(try_backward(y, NULL, DP_BACKWARD_RETAIN), 0);
    nested.root = other;
    nested.in_add = true;
    refused(try_backward(y, NULL, DP_BACKWARD_RETAIN), DP_ERUNTIME,
            "an operator that adds gradients has called it");
    ck_assert(!nested.in_add && dp_tensor_grad(w) == NULL);
    has_grad(x, FLOATS(6));
    backward(y);
    has_grad(x, FLOATS(12));
    DROP(x, w, other, y);
}
END_TEST

/* Connections of one session walk one graph that is not kept, and some of them win. */
enum { WALKERS = 4, ROUNDS = 200 };
static pthread_barrier_t barrier;
static dp_tensor *root;
static atomic_int walked;

static void *walks(void *context)
{
    for (int round = 0; round < ROUNDS; round++) {
        const dp_backward_options o = {.size = sizeof(o), .tensors = &root, .n = 1};
        pthread_barrier_wait(&barrier);
        int rc = dp_backward(context, &o);
        const char *why = dp_ctx_error(context)->message;
        unit_each(rc == 0 || strstr(why, "through the graph a second time") != NULL, "%d: %s", rc,
                  why);
        atomic_fetch_add(&walked, rc == 0);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

START_TEST(threads_that_walk_one_graph)
{
    dp_tensor *leaf_of_all = leaf(FLOATS(3)), *grad = floats(FLOATS(0));
    pthread_t threads[WALKERS];
    dp_ctx *contexts[WALKERS];
    dp_error err = DP_ERROR_INIT;

    pthread_barrier_init(&barrier, NULL, WALKERS + 1);
    ck_assert_int_eq(dp_tensor_set_grad(ctx, leaf_of_all, grad), 0);
    for (int i = 0; i < WALKERS; i++) {
        ck_assert_int_eq(dp_ctx_new(reg, &contexts[i], &err), 0);
        ck_assert_int_eq(pthread_create(&threads[i], NULL, walks, contexts[i]), 0);
    }
    for (int round = 0; round < ROUNDS; round++) {
        const float none = 0;
        dp_tensor *y = call1("t::square", leaf_of_all), *z = call1("t::square", y);
        root = call1("aten::sum", z);
        DROP(y, z);
        atomic_store(&walked, 0);
        ck_assert_int_eq(dp_tensor_write(grad, &none, &err), 0);
        pthread_barrier_wait(&barrier); /* they walk */
        pthread_barrier_wait(&barrier);
        float want = (float)(4 * 27 * atomic_load(&walked));
        unit_each(want > 0, "none has walked the graph");
        dp_view v = view_of_tensor(grad);
        unit_each(*element(&v, 0) == want, "%g, want %g", (double)*element(&v, 0), (double)want);
        dp_tensor_unref(root);
    }
    for (int i = 0; i < WALKERS; i++) {
        pthread_join(threads[i], NULL);
        dp_ctx_free(contexts[i]);
    }
    pthread_barrier_destroy(&barrier);
    DROP(leaf_of_all, grad);
}
END_TEST

UNIT_SUITE(autograd_engine)
{
    tcase_add_checked_fixture(tc, graphs_setup, graphs_teardown);
    tcase_add_test(tc, leaves_get_gradients_that_add_up);
    tcase_add_test(tc, a_node_runs_once_after_all_its_gradients_came);
    tcase_add_test(tc, a_graph_is_freed_unless_it_is_kept);
    tcase_add_test(tc, derivatives_of_gradients);
    tcase_add_test(tc, a_cancelled_backward_changes_no_leaf);
    tcase_add_test(tc, an_operator_without_a_derivative);
    tcase_add_test(tc, a_deep_graph);
    tcase_add_test(tc, no_allocation_leaks);
    tcase_add_test(tc, no_allocation_of_a_double_backward_leaks);
    tcase_add_test(tc, threads_that_walk_one_graph);
    tcase_add_test(tc, a_backward_inside_a_backward);
    tcase_add_test(tc, a_backward_while_gradients_are_added);
}
