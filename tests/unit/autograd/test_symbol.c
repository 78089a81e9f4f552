/* test_symbol.c -- captures for any size: the fakes' layout, and sizes that cannot be dynamic. */
#include "../program/programs.h"
#include "autograd/symbol.h"

START_TEST(a_fake_is_dense_and_ordered_as_the_input)
{
    static const int64_t sizes[3] = {2, 3, 4}, strides[3] = {12, 1, 3};
    const dp_input_place places[2] = {{0, -1, 0}, {0, -1, 2}};
    const int64_t given[2] = {7, 5};
    const dpi_dynamic d = {places, given, 2};
    int64_t n[DP_DIM_MAX], s[DP_DIM_MAX];
    dp_error err = DP_ERROR_INIT;
    dp_tensor *t = NULL;

    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 3, sizes, strides, &t, &err), 0);
    ck_assert(dpi_dynamic_layout(&d, t, (dp_input_place){0, -1, 0}, n, s));
    ck_assert_mem_eq(n, ((int64_t[]){7, 3, 5}), 3 * sizeof(*n));
    ck_assert_mem_eq(s, ((int64_t[]){15, 1, 3}), 3 * sizeof(*s));
    ck_assert(!dpi_dynamic_layout(&d, t, (dp_input_place){1, -1, 0}, n, s));
    dp_tensor_unref(t);
}
END_TEST

START_TEST(sizes_that_cannot_be_dynamic)
{
    static const int64_t two = 2;
    const dp_capture_options fakes = {.size = sizeof(fakes), .fakes = true}, reals = {0};
    const dp_input_place twice[2] = {{0, -1, 0}, {0, -1, 0}}, other = {1, -1, 0},
                         outside = {0, -1, 1}, many[DP_LIMIT_PROGRAM_SYMBOLS + 1] = {{0}};
    dp_program *p = read_program("in x Tensor; in n int; a = t::fresh(x); out y a\n"), *q = NULL;
    dp_error err = DP_ERROR_INIT;
    dp_tensor *wide = NULL;
    dp_value in[2] = {dp_tensor_value(x), dp_int(1)};

    ck_assert_int_eq(
        dp_tensor_new_storage(DP_FLOAT32, DP_DEVICE_CPU, 4, 1, &two, &two, 0, &wide, &err), 0);
    expect(dp_program_capture_dynamic(ctx, p, in, &reals, twice, 1, &q), DP_EVALUE, "over fakes");
    expect(dp_program_capture_dynamic(ctx, p, in, &fakes, twice, 2, &q), DP_EVALUE,
           "dimension 0 of input 'x' is named twice");
    expect(dp_program_capture_dynamic(ctx, p, in, &fakes, &other, 1, &q), DP_EVALUE,
           "input 'n' has dynamic sizes, but is no tensor");
    expect(dp_program_capture_dynamic(ctx, p, in, &fakes, &outside, 1, &q), DP_EVALUE,
           "dimension 1 of input 'x' is to be dynamic, but it has 1 dimensions");
    expect(dp_program_capture_dynamic(ctx, p, in, &fakes, many, DP_LIMIT_PROGRAM_SYMBOLS + 1, &q),
           DP_ERESOURCE, "program_symbols");
    in[0] = dp_tensor_value(wide);
    expect(dp_program_capture_dynamic(ctx, p, in, &fakes, twice, 1, &q), DP_EVALUE,
           "its stride in dimension 0 is 2 instead of 1");
    dp_tensor_unref(wide);
    dp_program_unref(p);
}
END_TEST

/* m::empty(x, sizes): a new tensor of `sizes`. */
static int makes_empty(dp_call *call)
{
    const dp_value *sizes = &call->args[1];
    dp_tensor *t = NULL;
    int rc = dp_empty(call->ctx, DP_FLOAT32, DP_DEVICE_CPU, (int)sizes->len, sizes->u.ints,
                      DP_CONTIGUOUS, &t);

    call->rets[0] = dp_tensor_value(t);
    return rc;
}

/* Redispatch to Meta, as plugin composite does for calls in fake mode. */
static int below(dp_call *call)
{
    dp_keyset keys = dp_keyset_of(DP_KEY_OF(DP_F_Dense, DP_B_Meta));

    keys.backend |= call->keys.backend;
    return dp_redispatch_boxed(call->ctx, call->op, keys, call->args, call->n_args, call->rets,
                               call->n_rets);
}

static const dp_item more_defs[] = {REC_DEF("empty(Tensor x, int[] sizes) -> Tensor")};
static const dp_item more_kernels[] = {REC_IMPL_FLAGS("empty", makes_empty, DP_FLAG_META)};
static const dp_block more_blocks[] = {
    REC_BLOCK(DP_BLOCK_LIBRARY, 1, "m", "", more_defs),
    REC_BLOCK(DP_BLOCK_IMPL, 2, "m", "CPU", more_kernels),
    REC_PLAIN(DP_BLOCK_FALLBACK, 0, 3, "_", "Functionalize", dp_capture_call),
    REC_PLAIN(DP_BLOCK_FALLBACK, 0, 4, "_", "Fake", below)};

static void setup_more(void)
{
    setup();
    rec_attach(reg, "more", more_blocks, DPI_COUNT(more_blocks));
}

static const char program[] = "in x Tensor; in z Tensor\n"
                              "n = get size(x, 0); k = get size(z, 0)\n"
                              "a = scalar mul(n, k); b = scalar add(a, 2); s = [n, b]\n"
                              "y = m::empty(x, s); out y y\n";

/* Capture `program` for any sizes of dimension 0 of its inputs: *out. */
static int capture(const dp_program *p, dp_program **out)
{
    static const dp_input_place places[2] = {{0, -1, 0}, {1, -1, 0}};
    const dp_capture_options fakes = {.size = sizeof(fakes), .fakes = true};
    const dp_value in[2] = {dp_tensor_value(x), dp_tensor_value(x)};

    return dp_program_capture_dynamic(ctx, p, in, &fakes, places, 2, out);
}

START_TEST(a_program_is_captured_for_any_sizes)
{
    dp_program *p = read_program(program), *q = NULL;
    dp_arena *a = dp_arena_new();
    dp_error err = DP_ERROR_INIT;
    dp_tensor *t = NULL;
    const int64_t six = 6;
    dp_value out;

    int rc = capture(p, &q);
    ck_assert_msg(rc == 0, "%s", dp_ctx_error(ctx)->message);
    const char *text = dp_program_text(q, a);
    ck_assert_msg(strstr(text, "= [s0, s0*s1+2]") != NULL, "no list in\n%s", text);
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, &six, NULL, &t, &err), 0);
    dp_run r = {.size = sizeof(r),
                .outputs = &out,
                .inputs = (dp_value[]){dp_tensor_value(t), dp_tensor_value(x)}};
    rc = dp_program_run(ctx, q, &r);
    ck_assert_msg(rc == 0, "%s", dp_ctx_error(ctx)->message);
    DP_VIEW(v, out.u.t);
    ck_assert_int_eq(v.sizes[0], 6);
    ck_assert_int_eq(v.sizes[1], 8);
    dp_values_release(&out, 1);
    dp_tensor_unref(t);
    dp_arena_free(a);
    dp_program_unref(p);
    dp_program_unref(q);
}
END_TEST

START_TEST(capturing_at_the_nth_allocation_that_fails)
{
    dp_program *p = read_program(program), *q = NULL;
    int rc = DP_ERESOURCE;

    for (uint64_t n = 1; rc == DP_ERESOURCE; n++) {
        dp_fault_arm(n);
        rc = capture(p, &q);
        dp_fault_arm(0);
        ck_assert_msg(rc == 0 || rc == DP_ERESOURCE, "allocation %u: %s", (unsigned)n,
                      dp_ctx_error(ctx)->message);
        ck_assert_uint_lt(n, 5000);
    }
    ck_assert_uint_eq(dp_program_guards(q), 4);
    dp_program_unref(p);
    dp_program_unref(q);
}
END_TEST

UNIT_SUITE(symbol)
{
    tcase_add_checked_fixture(tc, setup_more, teardown);
    tcase_add_test(tc, a_program_is_captured_for_any_sizes);
    tcase_add_test(tc, capturing_at_the_nth_allocation_that_fails);
    tcase_add_test(tc, a_fake_is_dense_and_ordered_as_the_input);
    tcase_add_test(tc, sizes_that_cannot_be_dynamic);
}
