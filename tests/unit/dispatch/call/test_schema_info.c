/* test_schema_info.c -- what a boxed kernel can ask of the operator that it is called for. */
#include "base/base.h"
#include "dispatch/records.h"
#include <dispatchd/dispatch.h>

static dp_registry *reg;
static dp_ctx *ctx;
static dp_error err;

static const dp_item defs[] = {
    REC_DEF("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"),
    REC_DEF("add.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)"),
    REC_DEF("add_(Tensor(a!) self, Tensor other) -> Tensor(a!)"),
    REC_DEF("chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]"),
    REC_DEF(
        "index(Tensor self, Tensor?[] indices, Tensor[]? more, int[2] size=3, SymInt[]? n=None, "
        "*, str s='x', ScalarType? dtype=None, Device? device=None, Layout? layout=None, "
        "MemoryFormat? f=None, Generator? g=None, QScheme q=1, complex c=1) -> (Tensor a, int)"),
    REC_DEF("stats(Tensor x, Tensor(b!)[] sums) -> ()"),
    {.size = sizeof(dp_item),
     .kind = DP_ITEM_DEF,
     .name = "norm(Tensor x, Tensor? mean) -> Tensor",
     .tags = "core also_written:mean"},
};
static const dp_item implicit[] = {REC_IMPL("add.Tensor", rec_kernel)};
static const dp_item explicit_[] = {REC_IMPL("add_", rec_kernel),
                                    REC_IMPL("add.Tensor", rec_kernel)};
static const dp_block blocks[] = {
    REC_BLOCK(DP_BLOCK_LIBRARY, 1, "f", "", defs),
    REC_BLOCK(DP_BLOCK_IMPL, 2, "f", "CompositeImplicitAutograd", implicit),
    REC_BLOCK(DP_BLOCK_IMPL, 3, "f", "CompositeExplicitAutograd", explicit_),
};

static void setup(void)
{
    reg = rec_registry();
    rec_attach(reg, "facts", blocks, 3);
    ck_assert_int_eq(dp_ctx_new(reg, &ctx, &err), 0);
    ck_assert_int_eq(dp_ctx_begin(ctx), 0);
}

static void teardown(void)
{
    ctx = dp_ctx_free(ctx);
    reg = dp_registry_free(reg);
}

static dp_schema_info facts_of(const char *name)
{
    dp_schema_info f = {.size = sizeof(f)};
    int rc = dp_schema_info_get(ctx, dp_op_find(ctx, name), &f);

    ck_assert_msg(rc == 0, "%s: %s", name, dp_ctx_error(ctx)->message);
    return f;
}

static dp_arg_info arg(const dp_schema_info *f, uint32_t i)
{
    dp_arg_info a = {.size = sizeof(a)};

    ck_assert(dp_op_arg(f, i, &a));
    return a;
}

static dp_arg_info ret(const dp_schema_info *f, uint32_t i)
{
    dp_arg_info a = {.size = sizeof(a)};

    ck_assert(dp_op_ret(f, i, &a));
    return a;
}

START_TEST(facts_form_masks_and_composites)
{
    static const struct {
        const char *name;
        uint32_t n_args, n_rets, flags;
        int variant;
        uint64_t tensors, written, viewed;
    } want[] = {
        {"f::add.Tensor", 3, 1, DP_OP_COMPOSITE | DP_OP_IMPLICIT, DP_VARIANT_FUNCTIONAL, 3, 0, 0},
        {"f::add.out", 3, 1, 0, DP_VARIANT_OUT, 7, 4, 0},
        {"f::add_", 2, 1, DP_OP_COMPOSITE, DP_VARIANT_IN_PLACE, 3, 1, 0},
        {"f::chunk", 3, 1, 0, DP_VARIANT_FUNCTIONAL, 1, 0, 1},
        {"f::index", 13, 2, 0, DP_VARIANT_FUNCTIONAL, 7, 0, 0},
        {"f::stats", 2, 0, 0, DP_VARIANT_MUTABLE, 3, 2, 0},
        {"f::norm", 2, 1, 0, DP_VARIANT_FUNCTIONAL, 3, 2, 0},
    };
    for (size_t i = 0; i < DPI_COUNT(want); i++) {
        dp_schema_info f = facts_of(want[i].name);
        ck_assert_uint_eq(f.n_args, want[i].n_args);
        ck_assert_uint_eq(f.n_rets, want[i].n_rets);
        ck_assert_msg(f.flags == want[i].flags, "%s: flags %u", want[i].name, f.flags);
        ck_assert_msg(f.variant == want[i].variant, "%s: form %d", want[i].name, f.variant);
        ck_assert_uint_eq(f.tensors, want[i].tensors);
        ck_assert_uint_eq(f.written, want[i].written);
        ck_assert_uint_eq(f.viewed, want[i].viewed);
        ck_assert_int_eq(strncmp(f.text, want[i].name, strlen(want[i].name)), 0);
    }
}
END_TEST

START_TEST(facts_types_of_arguments)
{
    static const struct {
        const char *name, *type_name;
        int type;
        uint32_t depth, length;
        bool optional, optional_item, kwarg_only, has_default;
    } want[] = {
        {"self", "Tensor", DP_TYPE_TENSOR, 0, 0, false, false, false, false},
        {"indices", "Tensor", DP_TYPE_TENSOR, 1, 0, false, true, false, false},
        {"more", "Tensor", DP_TYPE_TENSOR, 1, 0, true, false, false, false},
        {"size", "int", DP_TYPE_INT, 1, 2, false, false, false, true},
        {"n", "SymInt", DP_TYPE_SYMINT, 1, 0, true, false, false, true},
        {"s", "str", DP_TYPE_STR, 0, 0, false, false, true, true},
        {"dtype", "ScalarType", DP_TYPE_DTYPE, 0, 0, true, false, true, true},
        {"device", "Device", DP_TYPE_DEVICE, 0, 0, true, false, true, true},
        {"layout", "Layout", DP_TYPE_LAYOUT, 0, 0, true, false, true, true},
        {"f", "MemoryFormat", DP_TYPE_MEMORY_FORMAT, 0, 0, true, false, true, true},
        {"g", "Generator", DP_TYPE_GENERATOR, 0, 0, true, false, true, true},
        {"q", "QScheme", DP_TYPE_OTHER, 0, 0, false, false, true, true},
        {"c", "complex", DP_TYPE_COMPLEX, 0, 0, false, false, true, true},
    };
    dp_schema_info f = facts_of("f::index");

    for (uint32_t i = 0; i < DPI_COUNT(want); i++) {
        dp_arg_info a = arg(&f, i);
        ck_assert_str_eq(a.name, want[i].name);
        ck_assert_str_eq(a.type_name, want[i].type_name);
        ck_assert_msg(a.type == want[i].type, "%s: type %d", a.name, a.type);
        ck_assert_uint_eq(a.depth, want[i].depth);
        ck_assert_uint_eq(a.length, want[i].length);
        ck_assert_msg(a.optional == want[i].optional, "%s: optional %d", a.name, a.optional);
        ck_assert_int_eq(a.optional_item, want[i].optional_item);
        ck_assert_int_eq(a.kwarg_only, want[i].kwarg_only);
        ck_assert_int_eq(a.has_default, want[i].has_default);
        ck_assert_int_eq(a.alias_of, -1);
        ck_assert(!a.written);
    }
    dp_arg_info size = arg(&f, 3), none = {.size = sizeof(none)};
    ck_assert_uint_eq(size.default_value.tag, DP_TAG_INTS);
    ck_assert_int_eq(size.default_value.u.ints[1], 3);
    ck_assert(!dp_op_arg(&f, 13, &none));
    ck_assert(!dp_op_ret(&f, 2, &none));
}
END_TEST

START_TEST(facts_what_returns_alias)
{
    dp_schema_info chunk = facts_of("f::chunk"), out = facts_of("f::add.out"),
                   ix = facts_of("f::index");

    dp_arg_info r = ret(&chunk, 0);
    ck_assert_int_eq(r.alias_of, 0);
    ck_assert_uint_eq(r.depth, 1);
    ck_assert(!r.written);
    r = ret(&out, 0);
    ck_assert_int_eq(r.alias_of, 2);
    ck_assert(r.written && r.is_argument && !ret(&chunk, 0).is_argument);
    ck_assert(arg(&out, 2).written);
    dp_schema_info norm = facts_of("f::norm");
    ck_assert(arg(&norm, 1).written && !arg(&norm, 0).written);
    ck_assert_int_eq(ret(&ix, 0).alias_of, -1);
    ck_assert_str_eq(ret(&ix, 0).name, "a");
    ck_assert_str_eq(ret(&ix, 1).name, "");
}
END_TEST

/* A struct of an older plugin is filled in as far as it goes, and no further. */
START_TEST(facts_into_a_shorter_struct)
{
    dp_schema_info f = {.size = offsetof(dp_schema_info, tensors), .tensors = 77};
    dp_arg_info a = {.size = offsetof(dp_arg_info, name), .name = "mine"};
    dp_schema_info whole = facts_of("f::add_");

    ck_assert_int_eq(dp_schema_info_get(ctx, dp_op_find(ctx, "f::add_"), &f), 0);
    ck_assert_int_eq(f.variant, DP_VARIANT_IN_PLACE);
    ck_assert_uint_eq(f.tensors, 77);
    ck_assert(dp_op_arg(&whole, 0, &a));
    ck_assert_int_eq(a.type, DP_TYPE_TENSOR);
    ck_assert_str_eq(a.name, "mine");
}
END_TEST

START_TEST(facts_need_a_snapshot_and_a_definition)
{
    static const dp_item only[] = {REC_IMPL("undefined", rec_kernel)};
    dp_block block = REC_BLOCK(DP_BLOCK_IMPL, 4, "f", "CPU", only);
    dp_schema_info f = {.size = sizeof(f)};
    const dp_op *add = dp_op_find(ctx, "f::add_");

    ck_assert_int_eq(dp_schema_info_get(ctx, dp_op_find(ctx, "f::nothing"), &f), DP_ENOTFOUND);
    dp_ctx_end(ctx);
    ck_assert_int_eq(dp_schema_info_get(ctx, add, &f), DP_ERUNTIME);
    ck_assert_msg(strstr(dp_ctx_error(ctx)->message, "f::add_") != NULL, "%s",
                  dp_ctx_error(ctx)->message);
    rec_attach(reg, "more", &block, 1);
    ck_assert_int_eq(dp_ctx_begin(ctx), 0);
    ck_assert_int_eq(dp_schema_info_get(ctx, dp_op_find(ctx, "f::undefined"), &f), DP_ENOTFOUND);
}
END_TEST

/* -- dp_decompose -- */

static int calls_neg(dp_call *call)
{
    return dp_call_boxed(call->ctx, dp_op_find(call->ctx, "d::neg"), call->args, 1, call->rets, 1);
}
static int decomposes(dp_call *call)
{
    return dp_decompose(call);
}
static int fails(dp_call *call)
{
    return dp_fail(call->ctx, DP_EVALUE, "neg fails");
}

static int decompose(const char *name, bool traced, dp_value *ret)
{
    dp_tensor *t = NULL;
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 0, NULL, NULL, &t, &err), 0);
    dp_value arg = dp_tensor_value(t);
    ck_assert_int_eq(dp_ctx_trace(ctx, traced), 0);
    int rc = dp_call_boxed(ctx, dp_op_find(ctx, name), &arg, 1, ret, 1);
    if (rc == 0)
        ck_assert_ptr_eq(ret->u.t, t);
    dp_values_release(ret, 1);
    dp_tensor_unref(t);
    return rc;
}

START_TEST(facts_a_fallback_decomposes)
{
    static const dp_item ops[] = {REC_DEF("twice(Tensor x) -> Tensor"),
                                  REC_DEF("neg(Tensor x) -> Tensor"),
                                  REC_DEF("bad(Tensor x) -> Tensor")};
    static const dp_item explicit_ones[] = {REC_IMPL("twice", fails)};
    static const dp_item implicit_ones[] = {REC_IMPL("twice", calls_neg),
                                            REC_IMPL("bad", decomposes)};
    static const dp_item cpu[] = {REC_IMPL("twice", decomposes), REC_IMPL("neg", rec_kernel)};
    static const dp_item broken[] = {REC_IMPL("neg", fails)};
    dp_block all[] = {
        REC_BLOCK(DP_BLOCK_LIBRARY, 11, "d", "", ops),
        REC_BLOCK(DP_BLOCK_IMPL, 12, "d", "CompositeImplicitAutograd", implicit_ones),
        REC_BLOCK(DP_BLOCK_IMPL, 13, "d", "CompositeExplicitAutograd", explicit_ones),
        REC_BLOCK(DP_BLOCK_IMPL, 14, "d", "CPU", cpu),
        REC_PLAIN(DP_BLOCK_FALLBACK, 0, 15, "_", "AutogradCPU", decomposes),
    };
    dp_block later = REC_BLOCK(DP_BLOCK_IMPL, 16, "d", "CPU", broken);
    dp_value ret;
    size_t n;
    bool cut;

    dp_ctx_end(ctx);
    rec_attach(reg, "d", all, 4);
    ck_assert_int_eq(decompose("d::twice", true, &ret), 0);
    const dp_trace_step *steps = dp_ctx_trace_get(ctx, &n, &cut);
    ck_assert_uint_eq(n, 3); /* twice at CPU, its composite kernel, neg */
    ck_assert_str_eq(steps[1].provenance, "math kernel");
    ck_assert_uint_eq(steps[1].from.line, 12);
    ck_assert_uint_eq(steps[1].depth, 1);
    ck_assert_str_eq(dp_op_name(steps[2].op), "d::neg");
    ck_assert_int_eq(decompose("d::bad", false, &ret), DP_ENOTIMPL);
    ck_assert_msg(strstr(dp_ctx_error(ctx)->message, "asks for itself") != NULL, "%s",
                  dp_ctx_error(ctx)->message);
    /* a layer above that decomposes what has nothing to decompose */
    dp_unit *layer = rec_attach(reg, "layer", all + 4, 1);
    ck_assert_int_eq(decompose("d::neg", false, &ret), DP_ENOTIMPL);
    ck_assert_str_eq(dp_ctx_error(ctx)->op, "d::neg");
    ck_assert_str_eq(dp_ctx_error(ctx)->key, "AutogradCPU");
    ck_assert_msg(strstr(dp_ctx_error(ctx)->message, "no composite kernel") != NULL, "%s",
                  dp_ctx_error(ctx)->message);
    rec_detach(reg, layer);
    rec_attach(reg, "broken", &later, 1);
    ck_assert_int_eq(decompose("d::twice", false, &ret), DP_EVALUE);
    ck_assert_int_eq(dp_ctx_begin(ctx), 0);
}
END_TEST

UNIT_SUITE(schema_info)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, facts_form_masks_and_composites);
    tcase_add_test(tc, facts_types_of_arguments);
    tcase_add_test(tc, facts_what_returns_alias);
    tcase_add_test(tc, facts_into_a_shorter_struct);
    tcase_add_test(tc, facts_a_fallback_decomposes);
    tcase_add_test(tc, facts_need_a_snapshot_and_a_definition);
}
