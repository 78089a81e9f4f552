/* programs.h -- fixture for tests of programs (dispatchd/program.h): operators of namespace t, and
 * helpers to build and run programs that call them. */
#ifndef PROGRAMS_H
#define PROGRAMS_H

#include "dispatch/records.h"
#include <dispatchd/program.h>

static dp_registry *reg;
static dp_ctx *ctx;
static dp_unit *ops, *impls;
static dp_tensor *x;
static uint64_t most_tensors; /* greatest number of living tensors that a kernel saw */
static int runs;              /* number of kernel calls */
static dp_cancel_flag cancel;

static inline void note_live(void)
{
    dp_tensor_stats s;

    dp_tensor_stats_get(&s);
    if (s.tensors > most_tensors)
        most_tensors = s.tensors;
    runs++;
}

static inline int fresh(dp_call *call)
{
    dp_tensor *t = NULL;
    int64_t n = 1;
    int rc = dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, &n, NULL, &t, dp_ctx_error(call->ctx));

    note_live();
    call->rets[0] = dp_tensor_value(t);
    return rc;
}
static inline int scaled(dp_call *call)
{
    ck_assert_uint_eq(call->args[1].tag, DP_TAG_DOUBLE);
    return fresh(call);
}
static inline int same(dp_call *call)
{
    note_live();
    return rec_kernel(call);
}
static inline int writes(dp_call *call)
{
    (void)call;
    note_live();
    return 0;
}
static inline int parts(dp_call *call)
{
    dp_tensor **list = dp_arena_alloc(dp_ctx_arena(call->ctx), 2 * sizeof(*list));
    int64_t n = 1;

    note_live();
    if (list == NULL)
        return dp_fail(call->ctx, DP_ERESOURCE, "out of memory: parts");
    list[0] = dp_tensor_ref(call->args[0].u.t);
    int rc =
        dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, &n, NULL, &list[1], dp_ctx_error(call->ctx));
    if (rc < 0) {
        dp_tensor_unref(list[0]);
        return rc;
    }
    call->rets[0] = dp_tensors(list, 2);
    return 0;
}
static inline int join(dp_call *call)
{
    ck_assert_uint_eq(call->args[0].tag, DP_TAG_TENSORS);
    return fresh(call);
}
static inline int fails(dp_call *call)
{
    (void)call;
    note_live();
    return dp_fail(call->ctx, DP_ERUNTIME, "it fails");
}
static inline int cancels(dp_call *call)
{
    atomic_store(&cancel, 1);
    return same(call);
}

static const dp_item defs[] = {
    REC_DEF("fresh(Tensor x) -> Tensor"),
    REC_DEF("scaled(Tensor x, float by=2.0, *, Tensor? other=None) -> Tensor"),
    REC_DEF("over.Tensor(Tensor x, Tensor y) -> Tensor"),
    REC_DEF("over.Scalar(Tensor x, Scalar y) -> Tensor"),
    REC_DEF("same_(Tensor(a!) x) -> Tensor(a!)"),
    REC_DEF("parts(Tensor x) -> Tensor[]"),
    REC_DEF("join(Tensor[] x) -> Tensor"),
    REC_DEF("shaped(Tensor x, int[] sizes, ScalarType? dtype=None) -> Tensor"),
    REC_DEF("fails(Tensor(a!) x) -> Tensor(a!)"),
    REC_DEF("cancels(Tensor x) -> Tensor"),
    REC_DEF("changes(Tensor x) -> Tensor"),
    {.size = sizeof(dp_item),
     .kind = DP_ITEM_DEF,
     .name = "draws(Tensor x) -> Tensor",
     .tags = "pointwise nondeterministic_seeded"},
    REC_DEF("quiet(Tensor x) -> ()"),
    {.size = sizeof(dp_item),
     .kind = DP_ITEM_DEF,
     .name = "counts(Tensor x, Tensor seen) -> Tensor",
     .tags = "also_written:seen"},
};
static const dp_item kernels[] = {
    REC_IMPL("fresh", fresh),      REC_IMPL("scaled", scaled), REC_IMPL("over.Tensor", fresh),
    REC_IMPL("over.Scalar", same), REC_IMPL("same_", writes),  REC_IMPL("parts", parts),
    REC_IMPL("join", join),        REC_IMPL("shaped", fresh),  REC_IMPL("fails", fails),
    REC_IMPL("cancels", cancels),  REC_IMPL("changes", same),  REC_IMPL("draws", fresh),
    REC_IMPL("quiet", writes),     REC_IMPL("counts", fresh),
};
static const dp_block blocks[] = {
    REC_BLOCK(DP_BLOCK_LIBRARY, 1, "t", "", defs),
    REC_BLOCK(DP_BLOCK_IMPL, 2, "t", "CPU", kernels),
};

static inline void setup(void)
{
    dp_error err = DP_ERROR_INIT;
    int64_t n = 1;

    reg = rec_registry();
    ops = rec_attach(reg, "ops", blocks, 2);
    ck_assert_int_eq(dp_ctx_new(reg, &ctx, &err), 0);
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, &n, NULL, &x, &err), 0);
    atomic_store(&cancel, 0);
    most_tensors = 0;
    runs = 0;
    (void)impls;
}

static inline void teardown(void)
{
    dp_tensor_stats s;

    x = dp_tensor_unref(x);
    dp_ctx_free(ctx);
    rec_check(reg);
    dp_registry_free(reg);
    dp_tensor_stats_get(&s);
    ck_assert_uint_eq(s.tensors, 0);
}

static inline int add(dp_builder *b, uint32_t origin, const char *op, const dp_ref *args, size_t n,
                      dp_ref *out)
{
    dp_step s = {.size = sizeof(s),
                 .kind = DP_STEP_CALL,
                 .name = op,
                 .args = args,
                 .n_args = n,
                 .n_rets = -1,
                 .origin = origin};
    return dp_builder_add(b, &s, out, NULL);
}

static inline dp_builder *begin(dp_ref *input)
{
    dp_builder *b = NULL;

    ck_assert_int_eq(dp_builder_new(ctx, &b), 0);
    ck_assert_int_eq(dp_builder_input(b, "x", "Tensor", input), 0);
    return b;
}

static inline dp_program *end(dp_builder *b, dp_ref output)
{
    dp_program *p = NULL;
    int rc = dp_builder_output(b, "y", output);

    if (rc == 0)
        rc = dp_builder_finish(b, &p);
    ck_assert_msg(rc == 0, "%s", dp_ctx_error(ctx)->message);
    dp_builder_free(b);
    return p;
}

/* Return a program of `n` steps that call `op`, each with the result of the step before it. */
static inline dp_program *chain(const char *op, uint32_t n)
{
    dp_ref r;
    dp_builder *b = begin(&r);

    for (uint32_t i = 0; i < n; i++)
        ck_assert_msg(add(b, i, op, &r, 1, &r) == 0, "%s", dp_ctx_error(ctx)->message);
    return end(b, r);
}

static inline dp_program *read_program(const char *text)
{
    dp_builder *b;
    dp_program *p = NULL;

    ck_assert_int_eq(dp_builder_new(ctx, &b), 0);
    int rc = dp_builder_text(b, text);
    if (rc == 0)
        rc = dp_builder_finish(b, &p);
    ck_assert_msg(rc == 0, "%s: %s", text, dp_ctx_error(ctx)->message);
    dp_builder_free(b);
    return p;
}

static inline int run1(const dp_program *p, dp_value *out, dp_run *r)
{
    static dp_value in;

    in = dp_tensor_value(x);
    *r = (dp_run){.size = sizeof(*r), .inputs = &in, .outputs = out};
    return dp_program_run(ctx, p, r);
}

static inline void expect(int rc, int code, const char *part)
{
    const char *message = dp_ctx_error(ctx)->message;

    ck_assert_msg(rc == code, "%d, want %d: %s", rc, code, message);
    ck_assert_msg(strstr(message, part) != NULL, "no '%s' in '%s'", part, message);
}

static inline int add_sub(dp_builder *b, dp_program *p, dp_ref in, dp_ref *out)
{
    dp_step s = {.size = sizeof(s),
                 .kind = DP_STEP_SUB,
                 .program = p,
                 .n_rets = 1,
                 .kwargs = (dp_ref_kwarg[]){{"x", in}},
                 .n_kwargs = 1,
                 .origin = 4};
    return dp_builder_add(b, &s, out, NULL);
}

/* Return a program that runs `p` as a sub-program, `times` times in a row; the reference to `p`
 * moves to this function.  NULL: the context has the error. */
static inline dp_program *around(dp_program *p, int times)
{
    dp_ref r;
    dp_builder *b = begin(&r);
    int rc = 0;

    for (int i = 0; i < times && rc == 0; i++)
        rc = add_sub(b, p, r, &r);
    dp_program_unref(p);
    if (rc == 0)
        return end(b, r);
    dp_builder_free(b);
    return NULL;
}

#endif
