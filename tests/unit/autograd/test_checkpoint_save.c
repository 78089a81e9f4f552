/* test_checkpoint_save.c -- the inputs and generators that checkpoints save, and get back. */
#include "checkpoints.h"
#include "base/generator.h"

/* A checkpoint of a program with these inputs, and one input with its copies. */
static dpi_checkpoint *saved(const char *text, const dp_value *inputs, int want)
{
    dp_program *p = program(text);
    dpi_checkpoint *c;

    ck_assert_int_eq(dp_ctx_begin(ctx), 0);
    ck_assert_int_eq(dpi_checkpoint_new(ctx, p, &c), 0);
    int rc = dpi_checkpoint_save(ctx, c, inputs);
    ck_assert_msg(rc == want, "%d: %s", rc, said());
    dp_program_unref(p);
    return c;
}

static void end(dpi_checkpoint *c)
{
    dpi_checkpoint_unref(c);
    dp_ctx_end(ctx);
}

START_TEST(tensors_come_back_with_history)
{
    dp_tensor *x = leaf(FLOATS(2)), *y = call1("t::square", x), *k = floats(FLOATS(3));
    dp_tensor *list[3] = {k, NULL, x};
    dp_value inputs[3] = {dp_tensor_value(y), dp_tensors(list, 3), dp_double(0.5)}, back[3];
    dp_generators *g = NULL;
    dpi_checkpoint *c = saved("in y Tensor\nin l any\nin d float\nout y y\n", inputs, 0);

    ck_assert_int_eq(dpi_checkpoint_inputs(ctx, c, back, &g), 0);
    is_floats(back[0].u.t, FLOATS(4));
    ck_assert_ptr_ne(back[0].u.t, y);
    ck_assert_uint_eq(node_of(back[0].u.t)->topo, node_of(y)->topo);
    ck_assert_ptr_ne(node_of(back[0].u.t), node_of(y));
    ck_assert(!dp_tensor_requires_grad(back[1].u.tensors[0]));
    ck_assert_ptr_null(back[1].u.tensors[1]);
    ck_assert_uint_eq(node_of(back[1].u.tensors[2])->topo, 0); /* a leaf's edge */
    ck_assert(back[2].tag == DP_TAG_DOUBLE && back[2].u.d == 0.5);
    dpi_checkpoint_inputs_end(c, back);
    dp_generators_free(g);
    write2("aten::add_.Tensor", k, k);
    g = NULL;
    refused(dpi_checkpoint_inputs(ctx, c, back, &g), DP_ERUNTIME,
            "its input 'l', is at version 2; expected version 1 instead");
    dpi_checkpoint_inputs_end(c, back);
    dp_generators_free(g);
    end(c);
    DROP(x, y, k);
}
END_TEST

#define WRITES "in x Tensor\nin y Tensor\na = aten::add_.Tensor(x, y)\nout a a\n"

START_TEST(copies_of_what_is_written)
{
    dp_tensor *x = floats(FLOATS(2)), *y = floats(FLOATS(3));
    dp_value inputs[2] = {dp_tensor_value(x), dp_tensor_value(y)}, back[2];
    dp_generators *g = NULL;
    dpi_checkpoint *c = saved(WRITES, inputs, 0);

    write2("aten::add_.Tensor", x, y);
    ck_assert_int_eq(dpi_checkpoint_settle(ctx, c), 0);
    ck_assert_int_eq(c->inputs[0].kind, DPI_SLOT_NONE);
    for (int run = 0; run < 2; run++) { /* each run gets a copy of its own */
        ck_assert_int_eq(dpi_checkpoint_inputs(ctx, c, back, &g), 0);
        is_floats(back[0].u.t, FLOATS(2));
        write2("aten::add_.Tensor", back[0].u.t, y);
        dpi_checkpoint_inputs_end(c, back);
        g = dp_generators_free(g);
    }
    is_floats(x, FLOATS(5));
    end(c);

    c = saved(WRITES, inputs, 0); /* nothing is written after all */
    ck_assert_int_eq(dpi_checkpoint_settle(ctx, c), 0);
    ck_assert_int_eq(c->copies[0].kind, DPI_SLOT_NONE);
    ck_assert_ptr_eq(c->inputs[0].tensor.geometry, dpi_geometry_of(x));
    end(c);

    c = saved(WRITES, inputs, 0);
    dp_view v = view_of_tensor(x);
    *element(&v, 0) = 9; /* written without a new version, as running statistics are */
    ck_assert_int_eq(dpi_checkpoint_settle(ctx, c), 0);
    ck_assert_int_eq(c->copies[0].kind, DPI_SLOT_TENSOR);
    end(c);
    DROP(x, y);
}
END_TEST

START_TEST(inputs_that_cannot_be_saved)
{
    dp_tensor *x = floats(FLOATS(2, 3, 4, 5)), *half = call1("t::half", x), *k = floats(FLOATS(1));
    dp_value inputs[2] = {dp_tensor_value(half), dp_tensor_value(x)};
    const dp_value mixed[2] = {dp_tensor_value(k), dp_int(1)};

    end(saved(WRITES, inputs, DP_ERUNTIME));
    ck_assert_ptr_nonnull(strstr(said(), "input 'x', which shares memory with input 'y'"));
    inputs[1] = (dp_value){DP_TAG_LIST, 2, {.values = mixed}};
    end(saved("in x any\nin y any\nout x x\n", inputs, DP_EVALUE));
    ck_assert_ptr_nonnull(strstr(said(), "input 'y' is a list of tensors and other values"));
    DROP(x, half, k);
}
END_TEST

/* The first word that `g` draws next. */
static uint32_t drawn(dp_generator *g)
{
    dp_error err = DP_ERROR_INIT;
    uint32_t word = 0;

    dpi_generator_lock(g);
    ck_assert_int_eq(dpi_generator_u32(g, &word, 1, &err), 0);
    dpi_generator_unlock(g);
    return word;
}

START_TEST(generators_are_copied)
{
    dp_error err = DP_ERROR_INIT;
    dp_generator *usual, *own, *copy;
    dp_generators *first = NULL, *second = NULL;
    dp_value inputs[4], back[4], again[4];

    ck_assert_int_eq(dp_generators_get(reg->generators, DP_DEVICE_CPU, &usual, &err), 0);
    ck_assert_int_eq(dp_generator_new(DP_DEVICE_CPU, 5, &own, &err), 0);
    drawn(own);
    inputs[0] = inputs[1] = (dp_value){.tag = DP_TAG_GENERATOR, .u = {.g = own}};
    inputs[2] = (dp_value){.tag = DP_TAG_GENERATOR, .u = {.g = usual}};
    inputs[3] = dp_int(1);
    dpi_checkpoint *c = saved("in a any\nin b any\nin c any\nin d int\nout d d\n", inputs, 0);
    uint32_t next = drawn(own), after = drawn(own), usual_next = drawn(usual);
    ck_assert_int_eq(dpi_checkpoint_inputs(ctx, c, back, &first), 0);
    ck_assert_int_eq(dpi_checkpoint_inputs(ctx, c, again, &second), 0);
    ck_assert_ptr_eq(back[0].u.g, back[1].u.g);
    ck_assert_uint_eq(drawn(back[0].u.g), next);
    ck_assert_uint_eq(drawn(back[1].u.g), after);
    ck_assert_uint_eq(drawn(again[1].u.g), next);
    ck_assert_int_eq(dp_generators_get(first, DP_DEVICE_CPU, &copy, &err), 0);
    ck_assert_ptr_eq(copy, back[2].u.g);
    ck_assert_uint_eq(drawn(copy), usual_next);
    dp_generator_unref(copy);
    dpi_checkpoint_inputs_end(c, back);
    dpi_checkpoint_inputs_end(c, again);
    dp_generators_free(first);
    dp_generators_free(second);
    end(c);
    dp_generator_unref(own);
    dp_generator_unref(usual);
}
END_TEST

/* Another kernel for t::plain. */
static const dp_item plain_again[] = {REC_IMPL("plain", mul_kernel)};
static const dp_block replaced[] = {REC_BLOCK(DP_BLOCK_IMPL, 9, "t", "CPU", plain_again)};

START_TEST(operators_that_were_replaced)
{
    dp_tensor *x = floats(FLOATS(2));
    const dp_value input = dp_tensor_value(x);
    dpi_checkpoint *c = saved("in x Tensor\nout x x\n", &input, 0);
    const uint64_t zeros[1] = {0};
    dp_tensor *y = call1("t::plain", x);

    ck_assert_int_eq(dpi_checkpoint_called(ctx, c, zeros, 0), 0);
    ck_assert_uint_ge(c->n_called, 1);
    ck_assert_int_eq(dpi_checkpoint_check(ctx, c), 0);
    dp_ctx_end(ctx);
    rec_attach(reg, "replaced", replaced, DPI_COUNT(replaced));
    ck_assert_int_eq(dp_ctx_begin(ctx), 0);
    refused(dpi_checkpoint_check(ctx, c), DP_ERUNTIME, "the kernels of t::plain were replaced");
    end(c);
    DROP(x, y);
}
END_TEST

UNIT_SUITE(autograd_checkpoint_save)
{
    tcase_add_checked_fixture(tc, graphs_setup, graphs_teardown);
    tcase_add_test(tc, tensors_come_back_with_history);
    tcase_add_test(tc, copies_of_what_is_written);
    tcase_add_test(tc, inputs_that_cannot_be_saved);
    tcase_add_test(tc, generators_are_copied);
    tcase_add_test(tc, operators_that_were_replaced);
}
