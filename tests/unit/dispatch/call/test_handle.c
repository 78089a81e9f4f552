/* test_handle.c -- functions that look their operator up themselves (DP_HANDLE_CALL): in one
 * registry, in another one beside it and after it, and where nobody defines it. */
#include "dispatch/records.h"
#include <dispatchd/dispatch.h>
#include <dispatchd/typed.h>
#include <string.h>

DP_TYPED(call_ii, (i), (i))

static int next(dp_ctx *ctx, int64_t n, int64_t *out)
{
    DP_HANDLE_CALL(call_ii, "t::next", "i>i", n, out);
}

static int adds(dp_call *call)
{
    call->rets[0] = dp_int(call->args[0].u.i + 1);
    return 0;
}
static int takes(dp_call *call)
{
    call->rets[0] = dp_int(call->args[0].u.i - 1);
    return 0;
}

static const dp_item adding[] = {REC_DEF("next(int n) -> int"), REC_IMPL("next", adds)};
static const dp_item taking[] = {REC_DEF("other(int n) -> int"), REC_IMPL("other", takes),
                                 REC_DEF("next(int n) -> int"), REC_IMPL("next", takes)};
static const dp_block block_adding = REC_BLOCK(DP_BLOCK_LIBRARY, __LINE__, "t", "", adding);
static const dp_block block_taking = REC_BLOCK(DP_BLOCK_LIBRARY, __LINE__, "t", "", taking);

typedef struct world {
    dp_registry *reg;
    dp_unit *unit;
    dp_ctx *ctx;
} world;

static world made(const dp_block *block)
{
    dp_error err = DP_ERROR_INIT;
    world w = {rec_registry(), NULL, NULL};

    w.unit = rec_attach(w.reg, "one", block, 1);
    ck_assert_int_eq(dp_ctx_new(w.reg, &w.ctx, &err), 0);
    return w;
}

static void gone(world *w)
{
    rec_detach(w->reg, w->unit);
    dp_ctx_free(w->ctx);
    dp_registry_free(w->reg);
}

static int64_t next_of(world *w)
{
    int64_t out = 0;

    ck_assert_msg(next(w->ctx, 5, &out) == 0, "%s", dp_ctx_error(w->ctx)->message);
    return out;
}

START_TEST(handle_is_right_in_every_registry)
{
    world a = made(&block_adding), b = made(&block_taking);

    for (int i = 0; i < 3; i++) { /* the first makes the handle its own */
        ck_assert_int_eq(next_of(&a), 6);
        ck_assert_int_eq(next_of(&b), 4);
    }
    gone(&a);
    ck_assert_int_eq(next_of(&b), 4);
    world c = made(&block_adding); /* maybe where the first one lay */
    ck_assert_int_eq(next_of(&c), 6);
    gone(&b);
    gone(&c);
}
END_TEST

START_TEST(handle_without_an_operator_names_it)
{
    static const dp_item other[] = {REC_DEF("next(int n, int m) -> int"), REC_IMPL("next", adds)};
    static const dp_block block = REC_BLOCK(DP_BLOCK_LIBRARY, __LINE__, "t", "", other);
    world none = made(&block), some = made(&block_adding);
    int64_t out;

    ck_assert_int_eq(next(none.ctx, 5, &out), DP_ETYPE);
    ck_assert_ptr_nonnull(strstr(dp_ctx_error(none.ctx)->message, "the C type 'ii>i'"));
    rec_detach(none.reg, none.unit);
    ck_assert_int_eq(next(none.ctx, 5, &out), DP_ENOTFOUND);
    none.unit = rec_attach(none.reg, "one", &block_adding, 1);
    ck_assert_int_eq(next_of(&none), 6); /* what failed was not kept */
    ck_assert_int_eq(next_of(&some), 6);
    gone(&none);
    gone(&some);
}
END_TEST

UNIT_SUITE(handle)
{
    tcase_add_test(tc, handle_is_right_in_every_registry);
    tcase_add_test(tc, handle_without_an_operator_names_it);
}
