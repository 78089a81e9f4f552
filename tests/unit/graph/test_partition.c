/* test_partition.c -- a joint program is divided into forward and backward. */
#include "gradients_fixture.h"

enum { MOST = 16 };

typedef struct divided {
    dp_program *p;
    dp_grad_programs made;
} divided;

static divided divide(const char *text, const dp_value *inputs, uint32_t wrt, int partition,
                      uint64_t memory)
{
    divided d = {read_program(text), {.size = sizeof(d.made)}};
    const dp_grad_options o = {
        .size = sizeof(o), .partition = partition, .wrt = &wrt, .n_wrt = 1, .memory = memory};

    ck_assert_msg(dp_program_grad(ctx, d.p, inputs, &o, &d.made) == 0, "%s\n%s",
                  dp_ctx_error(ctx)->message, text);
    return d;
}

static void drop(divided *d)
{
    dp_program_unref(d->made.joint);
    dp_program_unref(d->made.forward);
    dp_program_unref(d->made.backward);
    dp_program_unref(d->p);
}

/* Run the joint program, then the forward and the backward with the same seed, and compare. */
static void check_parts(const divided *d, const dp_value *inputs, uint32_t n)
{
    const dp_grad_programs *g = &d->made;
    dp_value all[MOST], joint[MOST], forward[MOST], back[MOST], grads[MOST];
    dp_tensor *one;
    uint32_t n_outputs = d->p->n_outputs;

    dp_copy_n(all, inputs, n, sizeof(*all));
    ck_assert_uint_eq(g->joint->n_inputs, n + 1);
    const int64_t none[1] = {0};
    double v = 1;
    ck_assert_int_eq(
        dp_tensor_from(NULL, DP_FLOAT64, DP_DEVICE_CPU, 0, none, DP_FLOAT64, &v, &one, &err), 0);
    all[n] = dp_tensor_value(one);
    dp_ctx_set_generators(ctx, generators);
    dp_generators_seed(generators, 7);
    run_plain(g->joint, all, joint);
    dp_generators_seed(generators, 7);
    run_plain(g->forward, inputs, forward);
    ck_assert_uint_eq(g->forward->n_outputs, n_outputs + g->n_saved);
    dp_copy_n(back, forward + n_outputs, g->n_saved, sizeof(*back));
    back[g->n_saved] = all[n];
    run_plain(g->backward, back, grads);
    for (uint32_t i = 0; i < n_outputs; i++)
        ck_assert_msg(same_elements(joint[i].u.t, forward[i].u.t), "%s", text_of(g->forward));
    ck_assert_msg(same_elements(joint[n_outputs].u.t, grads[0].u.t), "%s%s", text_of(g->joint),
                  text_of(g->backward));
    dp_values_release(joint, g->joint->n_outputs);
    dp_values_release(forward, g->forward->n_outputs);
    dp_values_release(grads, 1);
    dp_tensor_unref(one);
}

static const char *const chain = "in x Tensor\nin w Tensor\nh = aten::mm(x, w)\n"
                                 "e = aten::exp(h)\ns = aten::sin(e)\nl = aten::sum(s)\nout l l";
static const char *const random_chain = "in x Tensor\nin w Tensor\nh = aten::mul(x, w)\n"
                                        "d = aten::dropout(h, 0.5, true)\nl = aten::sum(d)\n"
                                        "out l l";
/* x is written after its old value was saved */
static const char *const writes = "in x Tensor\nin w Tensor\nc = aten::clone(x)\n"
                                  "h = aten::mul(c, w)\ne = aten::exp(h)\nl = aten::sum(e)\n"
                                  "z = aten::copy_(x, h)\nout l l";

START_TEST(parts_give_the_bits_of_the_joint_program)
{
    static const char *const texts[] = {chain, random_chain, writes};
    static const struct {
        int partition;
        uint64_t memory;
    } ways[] = {{DP_PARTITION_DEFAULT, 0}, {DP_PARTITION_MIN_CUT, 0}, {DP_PARTITION_MIN_CUT, 72}};

    for (size_t i = 0; i < DPI_COUNT(texts); i++)
        for (size_t k = 0; k < DPI_COUNT(ways); k++) {
            dp_tensor *x = square(-0.5), *w = square(0.25);
            const dp_value inputs[2] = {dp_tensor_value(x), dp_tensor_value(w)};
            divided d = divide(texts[i], inputs, 1, ways[k].partition, ways[k].memory);
            if (texts[i] != writes)
                check_parts(&d, inputs, 2);
            ck_assert_uint_le(d.made.saved_bytes, d.made.default_bytes);
            drop(&d);
            dp_tensor_unref(x);
            dp_tensor_unref(w);
        }
}
END_TEST

START_TEST(a_smallest_cut_saves_less_and_repeats_nothing_heavy)
{
    dp_tensor *x = square(-0.5), *w = square(0.25);
    const dp_value inputs[2] = {dp_tensor_value(x), dp_tensor_value(w)};
    divided all = divide(chain, inputs, 1, DP_PARTITION_DEFAULT, 0);
    divided cut = divide(chain, inputs, 1, DP_PARTITION_MIN_CUT, 0);
    divided least = divide(chain, inputs, 1, DP_PARTITION_MIN_CUT, 1);

    ck_assert_uint_eq(all.made.saved_bytes, 72); /* e, of which exp and sin read the values */
    ck_assert_uint_eq(count(all.made.backward, "aten::exp"), 0);
    ck_assert_uint_eq(cut.made.saved_bytes, 72);
    ck_assert_uint_eq(count(cut.made.backward, "aten::mm"), 1); /* of the gradient itself */
    ck_assert_uint_eq(least.made.saved_bytes, 0);
    ck_assert_uint_eq(count(least.made.backward, "aten::mm"), 2);
    drop(&all);
    drop(&cut);
    drop(&least);
    dp_tensor_unref(x);
    dp_tensor_unref(w);
}
END_TEST

START_TEST(parts_have_the_guards_of_their_inputs)
{
    dp_tensor *x = square(-0.5), *w = square(0.25);
    const dp_value inputs[2] = {dp_tensor_value(x), dp_tensor_value(w)};
    divided d = divide(chain, inputs, 1, DP_PARTITION_DEFAULT, 0), e;

    ck_assert_uint_eq(dp_program_guards(d.made.forward), 2);
    ck_assert_str_eq(dp_program_guard_text(d.made.forward, 1, arena),
                     "w is float64 on cpu, sizes [3, 3] strides [3, 1]");
    ck_assert_uint_eq(dp_program_guards(d.made.backward), 1);
    ck_assert_str_eq(dp_program_guard_text(d.made.backward, 0, arena),
                     "grad_l is float64 on cpu, sizes [] strides []");
    e = divide(writes, inputs, 1, DP_PARTITION_DEFAULT, 0);
    ck_assert_uint_eq(dp_program_guards(e.made.forward), 3);
    ck_assert_uint_eq(dp_program_guards(e.made.backward), 1);
    drop(&d);
    drop(&e);
    dp_tensor_unref(x);
    dp_tensor_unref(w);
}
END_TEST

START_TEST(memory_that_no_cut_fits_is_told)
{
    dp_program *p = read_program(random_chain);
    dp_tensor *x = square(-0.5), *w = square(0.25);
    const dp_value inputs[2] = {dp_tensor_value(x), dp_tensor_value(w)};
    const uint32_t wrt[1] = {1};
    const dp_grad_options o = {
        .size = sizeof(o), .partition = DP_PARTITION_MIN_CUT, .wrt = wrt, .n_wrt = 1, .memory = 8};
    dp_grad_programs made = {.size = sizeof(made)};

    ck_assert_int_eq(dp_program_grad(ctx, p, inputs, &o, &made), DP_ERESOURCE);
    ck_assert_ptr_nonnull(strstr(dp_ctx_error(ctx)->message, "needs at least 72 bytes"));
    dp_tensor_unref(x);
    dp_tensor_unref(w);
    dp_program_unref(p);
}
END_TEST

UNIT_SUITE(partition)
{
    tcase_add_checked_fixture(tc, setup_gradients, teardown_gradients);
    tcase_add_test(tc, parts_give_the_bits_of_the_joint_program);
    tcase_add_test(tc, a_smallest_cut_saves_less_and_repeats_nothing_heavy);
    tcase_add_test(tc, parts_have_the_guards_of_their_inputs);
    tcase_add_test(tc, memory_that_no_cut_fits_is_told);
}
