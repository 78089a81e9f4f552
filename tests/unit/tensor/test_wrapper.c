/* test_wrapper.c -- tensors made of tensors: what is refused, what is kept, how they end. */
#include "tensor/room.h"
#include "unit.h"
#include <dispatchd/dispatch.h>

static dp_error err;
static dp_tensor *x;
static const int64_t shape[] = {2, 3};

static void setup(void)
{
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 2, shape, NULL, &x, &err), 0);
}
static void teardown(void)
{
    x = dp_tensor_unref(x);
}

static dp_wrapper of(dp_tensor *const *tensors, uint32_t n)
{
    return (dp_wrapper){.size = sizeof(dp_wrapper),
                        .version = 3,
                        .kind = "pair",
                        .keys = {DPI_BIT(FuncTorchBatched), 0},
                        .dtype = DP_FLOAT32,
                        .ndim = 2,
                        .sizes = shape,
                        .n_tensors = n,
                        .tensors = tensors};
}

static void refuses(const dp_wrapper *w, int code, const char *part)
{
    dp_tensor *t = NULL;

    dp_error_clear(&err);
    ck_assert_int_eq(dpi_wrapper_new(w, &t, &err), code);
    ck_assert_msg(strstr(err.message, part) != NULL, "'%s' not in '%s'", part, err.message);
    ck_assert_ptr_null(t);
}

START_TEST(what_cannot_be_is_refused)
{
    dp_tensor *parts[] = {x, NULL}, *many[DP_LIMIT_WRAPPER_PARTS + 1];
    dp_wrapper good = of(parts, 1), w;

    for (size_t i = 0; i < DPI_COUNT(many); i++)
        many[i] = x;
    w = good, w.size = 0;
    refuses(&w, DP_EVALUE, "dp_wrapper.size is 0; set .size = sizeof(dp_wrapper)");
    w = good, w.kind = NULL;
    refuses(&w, DP_EVALUE, "kind");
    w = good, w.kind = "with space";
    refuses(&w, DP_EVALUE, "'with space'");
    w = good, w.keys.functionality = 0;
    refuses(&w, DP_EVALUE,
            "kind 'pair', which no loaded plugin names by DP_WRAPPER_KIND, needs keys");
    w = good, w.keys.functionality |= DPI_BIT(Dense);
    refuses(&w, DP_EVALUE, "kind 'pair' include Dense, which no wrapper tensor may have");
    w = good, w.dtype = 99;
    refuses(&w, DP_ETYPE, "99");
    w = good, w.n_tensors = 0;
    refuses(&w, DP_EVALUE, "made of no tensor");
    w = good, w.n_tensors = 2;
    refuses(&w, DP_EVALUE, "tensor 1");
    w = of(many, DPI_COUNT(many));
    refuses(&w, DP_ERESOURCE, "wrapper_parts");
    w = good, w.n_ints = 1;
    refuses(&w, DP_EVALUE, "integers: they are NULL");
    w = good, w.n_doubles = 1;
    refuses(&w, DP_EVALUE, "doubles: they are NULL");
    w = good, w.n_doubles = DP_LIMIT_WRAPPER_PARTS + 1, w.doubles = (const double[]){0};
    refuses(&w, DP_ERESOURCE, "doubles (wrapper_parts)");
    w = good, w.layout = DP_LAYOUT_END;
    refuses(&w, DP_EVALUE, "no layout has number 8");
    w = good, w.layout = -1;
    refuses(&w, DP_EVALUE, "no layout has number -1");
    w = good, w.sizes = NULL;
    refuses(&w, DP_EVALUE, "sizes: they are NULL");
    w = good, w.size = offsetof(dp_wrapper, n_tensors);
    refuses(&w, DP_EVALUE, "made of no tensor");
    w = good, w.device = DP_DEVICE(DP_B_NAMED_FIRST + 3, 0);
    refuses(&w, DP_ERUNTIME, "backend");
    w = good, w.sizes = (const int64_t[]){-1, 2};
    refuses(&w, DP_ERUNTIME, "-1");
    ck_assert_uint_eq(x->refs, 1);
}
END_TEST

START_TEST(everything_is_copied)
{
    dp_tensor *parts[] = {x, x}, *t, *same;
    int64_t sizes[] = {4, 5}, strides[] = {1, 4}, ints[] = {-7, 9};
    char kind[] = "pair";
    dp_wrapper w = of(parts, 2), got = {.size = sizeof(got)};

    w.kind = kind, w.sizes = sizes, w.strides = strides, w.ints = ints, w.n_ints = 2;
    ck_assert_int_eq(dpi_wrapper_new(&w, &t, &err), 0);
    kind[0] = 'X', sizes[0] = strides[0] = ints[0] = 99, parts[0] = NULL;
    ck_assert(dp_wrapper_get(t, &got));
    ck_assert_str_eq(got.kind, "pair");
    ck_assert_int_eq(got.version, 3);
    ck_assert_int_eq(got.sizes[0] * 1000 + got.strides[1] * 100 + got.ints[0], 4000 + 400 - 7);
    ck_assert_ptr_eq(got.tensors[0], x);
    ck_assert_uint_eq(x->refs, 3);
    ck_assert_uint_eq(got.keys.backend, DP_BBIT(DP_B_CPU));
    ck_assert_uint_eq(dp_tensor_keys(t).functionality, DPI_BIT(FuncTorchBatched));
    dp_tensor_bump_version(x);
    ck_assert_uint_eq(dp_tensor_version(t), 1); /* no autograd key: its first tensor's */
    ck_assert_uint_eq(dp_tensor_storage_bytes(t), 0);
    ck_assert_uint_ne(dp_tensor_storage_id(t), dp_tensor_storage_id(x));
    ck_assert_int_eq(dp_tensor_alias(t, &same, &err), 0);
    ck_assert(dp_wrapper_get(same, &got));
    ck_assert_uint_eq(dp_tensor_keys(same).functionality, dp_tensor_keys(t).functionality);
    dp_tensor_unref(t);
    ck_assert_ptr_eq(got.tensors[1], x);
    ck_assert_uint_eq(x->refs, 3);
    dp_tensor_unref(same);
    ck_assert_uint_eq(x->refs, 1);
    ck_assert(!dp_wrapper_get(x, &got));
    w.keys.functionality |= DPI_BIT(AutogradOther);
    w.tensors = (dp_tensor *[]){x, x}, w.kind = "own";
    ck_assert_int_eq(dpi_wrapper_new(&w, &t, &err), 0);
    ck_assert_uint_eq(dp_tensor_version(t), 0); /* history of its own */
    dp_tensor_unref(t);
}
END_TEST

/* A struct of a plugin that was built before doubles and layouts has neither, and is not written
 * past its end. */
START_TEST(doubles_and_a_layout_are_kept)
{
    double doubles[] = {0.5, -2};
    dp_wrapper w = of(&x, 1), got = {.size = sizeof(got)};
    dp_tensor *t;

    w.doubles = doubles, w.n_doubles = 2, w.layout = DP_LAYOUT_SPARSE_CSR;
    ck_assert_int_eq(dpi_wrapper_new(&w, &t, &err), 0);
    doubles[1] = 9;
    ck_assert(dp_wrapper_get(t, &got));
    ck_assert_uint_eq(got.n_doubles, 2);
    ck_assert(got.doubles[0] == 0.5 && got.doubles[1] == -2);
    ck_assert_int_eq(got.layout, DP_LAYOUT_SPARSE_CSR);
    w.layout = DP_LAYOUT_STRIDED;
    ck_assert_int_eq(dpi_wrapper_become(t, &w, &err), DP_EVALUE);
    ck_assert_ptr_nonnull(strstr(err.message, "sparse_csr"));
    w.layout = DP_LAYOUT_SPARSE_CSR, w.n_doubles = 1;
    ck_assert_int_eq(dpi_wrapper_become(t, &w, &err), 0);
    ck_assert(dp_wrapper_get(t, &got));
    ck_assert_uint_eq(got.n_doubles, 1);
    dp_tensor_unref(t);
    w.size = got.size = offsetof(dp_wrapper, n_doubles);
    ck_assert_int_eq(dpi_wrapper_new(&w, &t, &err), 0);
    got.layout = 77;
    ck_assert(dp_wrapper_get(t, &got));
    ck_assert_int_eq(got.layout, 77);
    got.size = sizeof(got);
    ck_assert(dp_wrapper_get(t, &got));
    ck_assert_uint_eq(got.n_doubles, 0);
    ck_assert_int_eq(got.layout, DP_LAYOUT_STRIDED);
    dp_tensor_unref(t);
}
END_TEST

START_TEST(wrappers_in_wrappers_end_in_a_loop)
{
    dp_tensor_stats before, after;
    dp_tensor *t = dp_tensor_ref(x), *next;

    dp_tensor_stats_get(&before);
    for (int depth = 1; depth <= DP_LIMIT_WRAPPER_DEPTH; depth++) {
        dp_wrapper w = of((dp_tensor *[]){t, t}, 2); /* 2^64 ways down */
        ck_assert_int_eq(dpi_wrapper_new(&w, &next, &err), 0);
        dp_tensor_unref(t);
        t = next;
    }
    dp_wrapper w = of(&t, 1);
    refuses(&w, DP_ERESOURCE, "wrapper_depth");
    dp_tensor_unref(t);
    dp_tensor_stats_get(&after);
    ck_assert_uint_eq(after.tensors, before.tensors);
    ck_assert_uint_eq(x->refs, 1);
}
END_TEST

START_TEST(a_running_call_sees_what_it_began_with)
{
    dp_tensor *t, *y, *parts[] = {x};
    dp_wrapper w = of(parts, 1), got = {.size = sizeof(got)};
    const int64_t five = 5;

    ck_assert_int_eq(dpi_wrapper_new(&w, &t, &err), 0);
    uint64_t storage = dp_tensor_storage_id(t);
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, &five, NULL, &y, &err), 0);
    w.tensors = &y, w.ndim = 1, w.sizes = &five;
    ck_assert_int_eq(dpi_wrapper_become(t, &w, &err), 0);
    ck_assert(dp_wrapper_get(t, &got));
    ck_assert_ptr_eq(got.tensors[0], y);
    ck_assert_int_eq(got.ndim, 1);
    ck_assert_uint_eq(dp_tensor_storage_id(t), storage);
    ck_assert_uint_eq(x->refs, 2); /* for calls that began before */
    w.kind = "other";
    ck_assert_int_eq(dpi_wrapper_become(t, &w, &err), DP_EVALUE);
    ck_assert_int_eq(dpi_wrapper_become(y, &w, &err), DP_EVALUE);
    ck_assert_ptr_nonnull(strstr(err.message, "the tensor is no wrapper tensor"));
    w.keys = (dp_keyset){DPI_BIT(Dense), 0}; /* that it is none is said first */
    ck_assert_int_eq(dpi_wrapper_become(y, &w, &err), DP_EVALUE);
    ck_assert_ptr_nonnull(strstr(err.message, "the tensor is no wrapper tensor"));
    w.keys = of(parts, 1).keys;
    w.kind = "pair", w.tensors = &t;
    ck_assert_int_eq(dpi_wrapper_become(t, &w, &err), DP_EVALUE);
    dp_tensor_unref(t);
    dp_tensor_unref(y);
    ck_assert_uint_eq(x->refs, 1);
}
END_TEST

/* Also when what is inside comes to need one after it was made, or is put there later. */
START_TEST(a_wrapper_may_have_a_gradient_when_its_parts_may)
{
    dp_tensor *t, *n, *parts[] = {x};
    dp_wrapper w = of(parts, 1);

    ck_assert_int_eq(dpi_wrapper_new(&w, &t, &err), 0);
    ck_assert(dp_tensor_may_grad(t));
    ck_assert(!dp_tensor_may_grad(x));
    dp_tensor_unref(t);
    ck_assert_int_eq(dp_tensor_new(DP_INT64, DP_DEVICE_CPU, 2, shape, NULL, &n, &err), 0);
    w.tensors = &n;
    ck_assert_int_eq(dpi_wrapper_new(&w, &t, &err), 0);
    ck_assert(!dp_tensor_may_grad(t));
    w.tensors = parts;
    ck_assert_int_eq(dpi_wrapper_become(t, &w, &err), 0);
    ck_assert(dp_tensor_may_grad(t));
    dp_tensor_unref(t);
    dp_tensor_unref(n);
}
END_TEST

UNIT_SUITE(wrapper)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, what_cannot_be_is_refused);
    tcase_add_test(tc, everything_is_copied);
    tcase_add_test(tc, doubles_and_a_layout_are_kept);
    tcase_add_test(tc, wrappers_in_wrappers_end_in_a_loop);
    tcase_add_test(tc, a_running_call_sees_what_it_began_with);
    tcase_add_test(tc, a_wrapper_may_have_a_gradient_when_its_parts_may);
}
