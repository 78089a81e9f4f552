/* test_kernel_id.c -- the kernels of a bound call as one number, and where the kernel below the
 * layers comes from. */
#include "bound.h"

START_TEST(bound_kernel)
{
    static const dp_item kernel[] = {REC_IMPL("f", rec_kernel)};
    static const dp_block block[] = {REC_BLOCK(DP_BLOCK_IMPL, 7, "t", "CPU", kernel)};
    static const dp_block above[] = {
        REC_PLAIN(DP_BLOCK_FALLBACK, DP_FLAG_BELOW, 8, "_", "AutogradCPU", rec_kernel)};
    const dp_value self = dp_tensor_value(two);
    dp_value ret;
    dp_bound b;

    dp_unit *def = DEFINE("d", "f(Tensor x) -> Tensor");
    ck_assert_int_eq(dp_bind(ctx, "t::f", &self, 1, NULL, 0, &b), 0);
    ck_assert_uint_eq(dp_bound_kernel(ctx, &b), 0);
    dp_unit *u = rec_attach(reg, "kernels", block, 1);
    uint64_t id = dp_bound_kernel(ctx, &b);
    ck_assert_uint_ne(id, 0);
    dp_ctx_set_label(ctx, "session 12");
    ck_assert_int_eq(dp_call_boxed(ctx, b.op, b.args, b.n_args, &ret, 1), 0);
    dp_values_release(&ret, 1);
    ck_assert_uint_eq(dp_ctx_stats(ctx).kernel_id, id);
    rec_detach(reg, u);
    u = rec_attach(reg, "kernels", block, 1); /* another generation */
    ck_assert_uint_ne(dp_bound_kernel(ctx, &b), 0);
    ck_assert_uint_ne(dp_bound_kernel(ctx, &b), id);
    id = dp_bound_kernel(ctx, &b);
    dp_unit *layer = rec_attach(reg, "layer", above, 1);
    uint64_t under = dp_bound_kernel(ctx, &b);
    ck_assert_uint_ne(under, id); /* what is proven without it is not with it */
    ck_assert_uint_eq(DP_KERNEL_BELOW(under), id);
    ck_assert_uint_eq(under >> DP_KERNEL_BITS & 1, 0);
    rec_detach(reg, layer);
    ck_assert_uint_eq(dp_bound_kernel(ctx, &b), id);
    rec_detach(reg, def);
    ck_assert_uint_eq(dp_bound_kernel(ctx, &b), 0);
}
END_TEST

START_TEST(bound_random)
{
    static const dp_item plain[] = {REC_DEF("f(Tensor x) -> Tensor")};
    static const dp_block plain_block[] = {REC_BLOCK(DP_BLOCK_LIBRARY, 7, "t", "", plain)};
    const dp_value self = dp_tensor_value(two);
    dp_item tagged[] = {REC_DEF("f(Tensor x) -> Tensor")};
    dp_block tagged_block[] = {REC_BLOCK(DP_BLOCK_LIBRARY, 7, "t", "", tagged)};
    dp_bound b;

    tagged[0].tags = "core nondeterministic_seeded";
    dp_unit *u = rec_attach(reg, "plain", plain_block, 1);
    ck_assert_int_eq(dp_bind(ctx, "t::f", &self, 1, NULL, 0, &b), 0);
    ck_assert(!dp_bound_random(ctx, &b));
    rec_detach(reg, u);
    ck_assert(dp_bound_random(ctx, &b)); /* nothing is known about it */
    u = rec_attach(reg, "tagged", tagged_block, 1);
    ck_assert_int_eq(dp_bind(ctx, "t::f", &self, 1, NULL, 0, &b), 0);
    ck_assert(dp_bound_random(ctx, &b));
    rec_detach(reg, u);
}
END_TEST

START_TEST(bound_origin)
{
    static const dp_item kernel[] = {REC_IMPL("f", rec_kernel)};
    static const dp_block block[] = {REC_BLOCK(DP_BLOCK_IMPL, 7, "t", "CPU", kernel)};
    static const dp_block above[] = {
        REC_PLAIN(DP_BLOCK_FALLBACK, DP_FLAG_BELOW, 8, "_", "AutogradCPU", rec_kernel)};
    const dp_value self = dp_tensor_value(two);
    dp_kernel_origin from;
    dp_bound b;

    dp_unit *def = DEFINE("d", "f(Tensor x) -> Tensor");
    ck_assert_int_eq(dp_bind(ctx, "t::f", &self, 1, NULL, 0, &b), 0);
    dp_bound_origin(ctx, &b, &from);
    ck_assert_uint_eq(from.id, 0);
    dp_unit *u = rec_attach(reg, "kernels", block, 1);
    dp_unit *layer = rec_attach(reg, "layer", above, 1);
    dp_bound_origin(ctx, &b, &from);
    ck_assert_uint_eq(from.id, DP_KERNEL_BELOW(dp_bound_kernel(ctx, &b)));
    ck_assert_uint_eq(from.key, dp_key_parse("CPU"));
    ck_assert_str_eq(from.plugin, "kernels");
    uint64_t generation = from.generation;
    rec_detach(reg, u);
    u = rec_attach(reg, "kernels", block, 1);
    dp_bound_origin(ctx, &b, &from);
    ck_assert_uint_gt(from.generation, generation);
    rec_detach(reg, layer);
    rec_detach(reg, u);
    rec_detach(reg, def);
}
END_TEST

START_TEST(calls_by_operator)
{
    static const dp_item kernel[] = {REC_IMPL("f", rec_kernel)};
    static const dp_block block[] = {REC_BLOCK(DP_BLOCK_IMPL, 7, "t", "CPU", kernel)};
    const dp_value self = dp_tensor_value(two);
    dp_arena *a = dp_arena_new();
    dp_error err = DP_ERROR_INIT;
    const dp_op_calls *rows;
    dp_value ret;
    dp_bound b;
    size_t n;

    dp_unit *def = DEFINE("d", "f(Tensor x) -> Tensor", "g(Tensor x) -> Tensor");
    dp_unit *u = rec_attach(reg, "kernels", block, 1);
    ck_assert_int_eq(dp_registry_calls(reg, a, &rows, &n, &err), 0);
    ck_assert_uint_eq(n, 0);
    ck_assert_int_eq(dp_bind(ctx, "t::f", &self, 1, NULL, 0, &b), 0);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(dp_call_boxed(ctx, b.op, b.args, b.n_args, &ret, 1), 0);
        dp_values_release(&ret, 1);
    }
    ck_assert_int_eq(dp_registry_calls(reg, a, &rows, &n, &err), 0);
    ck_assert_uint_eq(n, 1);
    ck_assert_str_eq(rows[0].op, "t::f");
    ck_assert_uint_eq(rows[0].calls, 3);
    dp_ctx_free(ctx); /* calls of contexts that are gone count as well */
    ck_assert_int_eq(dp_ctx_new(reg, &ctx, &err), 0);
    ck_assert_int_eq(dp_registry_calls(reg, a, &rows, &n, &err), 0);
    ck_assert_uint_eq(n, 1);
    ck_assert_uint_eq(rows[0].calls, 3);
    rec_detach(reg, u);
    rec_detach(reg, def);
    dp_arena_free(a);
}
END_TEST

UNIT_SUITE(kernel_id)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, bound_kernel);
    tcase_add_test(tc, bound_random);
    tcase_add_test(tc, bound_origin);
    tcase_add_test(tc, calls_by_operator);
}
