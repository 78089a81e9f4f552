/* test_program.c -- libdispatch/program: what the builder refuses, what a run holds and gives back.
 */
#include "dispatch/records.h"
#include <dispatchd/program.h>

static dp_registry *reg;
static dp_ctx *ctx;
static dp_unit *ops, *impls;
static dp_tensor *x;
static uint64_t most_tensors; /* alive in any kernel */
static int runs;
static dp_cancel_flag cancel;

/* -- operators -- */

static void note_live(void)
{
    dp_tensor_stats s;

    dp_tensor_stats_get(&s);
    if (s.tensors > most_tensors)
        most_tensors = s.tensors;
    runs++;
}

static int fresh(dp_call *call)
{
    dp_tensor *t = NULL;
    int64_t n = 1;
    int rc = dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, &n, NULL, &t, dp_ctx_error(call->ctx));

    note_live();
    call->rets[0] = dp_tensor_value(t);
    return rc;
}
static int scaled(dp_call *call)
{
    ck_assert_uint_eq(call->args[1].tag, DP_TAG_DOUBLE);
    return fresh(call);
}
static int same(dp_call *call)
{
    note_live();
    return rec_kernel(call);
}
static int writes(dp_call *call)
{
    (void)call;
    note_live();
    return 0;
}
static int parts(dp_call *call)
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
static int join(dp_call *call)
{
    ck_assert_uint_eq(call->args[0].tag, DP_TAG_TENSORS);
    return fresh(call);
}
static int fails(dp_call *call)
{
    (void)call;
    note_live();
    return dp_fail(call->ctx, DP_ERUNTIME, "it fails");
}
static int cancels(dp_call *call)
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
};
static const dp_item kernels[] = {
    REC_IMPL("fresh", fresh),      REC_IMPL("scaled", scaled), REC_IMPL("over.Tensor", fresh),
    REC_IMPL("over.Scalar", same), REC_IMPL("same_", writes),  REC_IMPL("parts", parts),
    REC_IMPL("join", join),        REC_IMPL("shaped", fresh),  REC_IMPL("fails", fails),
    REC_IMPL("cancels", cancels),  REC_IMPL("changes", same),
};
static const dp_block blocks[] = {
    REC_BLOCK(DP_BLOCK_LIBRARY, 1, "t", "", defs),
    REC_BLOCK(DP_BLOCK_IMPL, 2, "t", "CPU", kernels),
};

static void setup(void)
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

static void teardown(void)
{
    dp_tensor_stats s;

    x = dp_tensor_unref(x);
    dp_ctx_free(ctx);
    rec_check(reg);
    dp_registry_free(reg);
    dp_tensor_stats_get(&s);
    ck_assert_uint_eq(s.tensors, 0);
}

/* -- building in few words -- */

static int add(dp_builder *b, uint32_t origin, const char *op, const dp_ref *args, size_t n,
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

static dp_builder *begin(dp_ref *input)
{
    dp_builder *b = NULL;

    ck_assert_int_eq(dp_builder_new(ctx, &b), 0);
    ck_assert_int_eq(dp_builder_input(b, "x", "Tensor", input), 0);
    return b;
}

static dp_program *end(dp_builder *b, dp_ref output)
{
    dp_program *p = NULL;
    int rc = dp_builder_output(b, "y", output);

    if (rc == 0)
        rc = dp_builder_finish(b, &p);
    ck_assert_msg(rc == 0, "%s", dp_ctx_error(ctx)->message);
    dp_builder_free(b);
    return p;
}

/* n steps of op, each on the one before. */
static dp_program *chain(const char *op, uint32_t n)
{
    dp_ref r;
    dp_builder *b = begin(&r);

    for (uint32_t i = 0; i < n; i++)
        ck_assert_msg(add(b, i, op, &r, 1, &r) == 0, "%s", dp_ctx_error(ctx)->message);
    return end(b, r);
}

static int run1(const dp_program *p, dp_value *out, dp_run *r)
{
    static dp_value in;

    in = dp_tensor_value(x);
    *r = (dp_run){.size = sizeof(*r), .inputs = &in, .outputs = out};
    return dp_program_run(ctx, p, r);
}

static void expect(int rc, int code, const char *part)
{
    const char *message = dp_ctx_error(ctx)->message;

    ck_assert_msg(rc == code, "%d, want %d: %s", rc, code, message);
    ck_assert_msg(strstr(message, part) != NULL, "no '%s' in '%s'", part, message);
}

/* -- the builder -- */

START_TEST(program_refuses_a_wrong_step_before_any_runs)
{
    dp_ref in, y, ints, args[3];
    dp_builder *b = begin(&in);
    dp_value two = dp_int(2), text = {DP_TAG_STR, 1, {.s = "a"}};
    dp_step s = {.size = sizeof(s),
                 .kind = DP_STEP_CALL,
                 .name = "t::fresh",
                 .args = &in,
                 .n_args = 1,
                 .n_rets = 2,
                 .origin = 7};

    ck_assert_int_eq(dp_builder_constant(b, NULL, &two, &ints), 0);
    ck_assert_int_eq(dp_builder_constant(b, NULL, &text, &y), 0);
    for (uint32_t i = 0; i < 900; i++)
        ck_assert_int_eq(add(b, i, "t::fresh", &in, 1, NULL), 0);
    expect(add(b, 900, "t::frech", &in, 1, NULL), DP_ENOTFOUND, "step 900: no operator 't::frech'");
    args[0] = in, args[1] = y;
    expect(add(b, 901, "t::scaled", args, 2, NULL), DP_ETYPE,
           "step 901: t::scaled: argument 'by' (position 2) must be float, not str 'a'");
    args[0] = ints;
    expect(add(b, 902, "t::join", args, 1, NULL), DP_ETYPE, "must be Tensor[], not int");
    expect(add(b, 903, "t::fresh", args, 0, NULL), DP_ETYPE, "step 903: t::fresh: missing 1");
    args[0] = args[1] = in;
    expect(add(b, 904, "t::fresh", args, 2, NULL), DP_ETYPE, "takes 1 positional");
    expect(dp_builder_add(b, &s, NULL, NULL), DP_EVALUE,
           "step 7: as names 2 returns but t::fresh has 1");
    s.kwargs = (dp_ref_kwarg[]){{"nope", in}}, s.n_kwargs = 1;
    expect(dp_builder_add(b, &s, NULL, NULL), DP_ETYPE, "no argument named 'nope'");
    args[0] = DP_ERUNTIME;
    expect(add(b, 905, "t::fresh", args, 1, NULL), DP_EVALUE, "nothing made so far");
    s = (dp_step){.size = sizeof(s), .kind = DP_STEP_WHILE, .origin = 8};
    expect(dp_builder_add(b, &s, NULL, NULL), DP_ENOTIMPL, "step 8: step kind 'while' is reserved");
    s.kind = DP_STEP_COND;
    expect(dp_builder_add(b, &s, NULL, NULL), DP_ENOTIMPL, "'cond'");
    s = (dp_step){.size = sizeof(s),
                  .kind = DP_STEP_GET,
                  .name = "size",
                  .n_rets = -1,
                  .args = &in,
                  .n_args = 1};
    expect(dp_builder_add(b, &s, NULL, NULL), DP_ETYPE, "get 'size' takes 2 arguments");
    s.name = "shapes";
    expect(dp_builder_add(b, &s, NULL, NULL), DP_ENOTFOUND, "'shapes'; nearest: ");
    s.name = "len";
    expect(dp_builder_add(b, &s, NULL, NULL), DP_ETYPE, "of a list, which 'x' is not");
    s = (dp_step){.size = sizeof(s), .kind = DP_STEP_ITEM, .args = &in, .n_args = 1, .n_rets = 1};
    expect(dp_builder_add(b, &s, NULL, NULL), DP_ETYPE, "index 0 of 'x', which is no list");
    ck_assert_int_eq(runs, 0);
    dp_builder_free(b);
}
END_TEST

START_TEST(program_names_are_unique_and_known)
{
    dp_ref in, r, other;
    dp_builder *b = begin(&in);
    dp_value two = dp_int(2);

    expect(dp_builder_input(b, "x", "Tensor", &r), DP_EEXISTS, "'x' is an input already");
    expect(dp_builder_input(b, "z", "Tenser q, int", &r), DP_EVALUE, "'Tenser q, int' is no type");
    ck_assert_int_eq(dp_builder_constant(b, "k", &two, &r), 0);
    expect(dp_builder_constant(b, "k", &two, &r), DP_EEXISTS, "'k' is a constant already");
    ck_assert_int_eq(add(b, 3, "t::fresh", &in, 1, &r), 0);
    ck_assert_int_eq(dp_builder_name(b, "y", r, 3), 0);
    expect(dp_builder_name(b, "y", r, 4), DP_EEXISTS, "'y' is made by step 3 already");
    expect(dp_builder_find(b, "yy", &other), DP_ENOTFOUND, "is called 'yy'");
    for (int i = 0; i < 300; i++) {
        char name[16];
        snprintf(name, sizeof(name), "n%d", i);
        ck_assert_int_eq(dp_builder_name(b, name, r, 3), 0);
    }
    ck_assert_int_eq(dp_builder_find(b, "y", &other), 0);
    ck_assert_uint_eq(other, r);
    expect(dp_builder_input(b, "late", NULL, &r), DP_EVALUE, "after the first step");
    dp_builder_free(b);
}
END_TEST

START_TEST(program_writes_to_no_constant)
{
    dp_ref in, k, list;
    dp_builder *b = begin(&in);
    dp_value v = dp_tensor_value(x);

    ck_assert_int_eq(dp_builder_constant(b, "k", &v, &k), 0);
    expect(add(b, 0, "t::same_", &k, 1, NULL), DP_EVALUE,
           "t::same_ writes to its argument 'x', which is a constant");
    dp_step s = {.size = sizeof(s), .kind = DP_STEP_LIST, .args = &k, .n_args = 1, .n_rets = 1};
    ck_assert_int_eq(dp_builder_add(b, &s, &list, NULL), 0);
    s = (dp_step){.size = sizeof(s), .kind = DP_STEP_ITEM, .args = &list, .n_args = 1, .n_rets = 1};
    ck_assert_int_eq(dp_builder_add(b, &s, &k, NULL), 0);
    expect(add(b, 1, "t::same_", &k, 1, NULL), DP_EVALUE, "which is a constant");
    dp_program *writes = chain("t::same_", 1);
    s = (dp_step){.size = sizeof(s),
                  .kind = DP_STEP_SUB,
                  .program = writes,
                  .n_rets = 1,
                  .kwargs = (dp_ref_kwarg[]){{"x", k}},
                  .n_kwargs = 1};
    expect(dp_builder_add(b, &s, NULL, NULL), DP_EVALUE, "its input 'x', which is a constant");
    dp_program_unref(writes);
    dp_builder_free(b);
}
END_TEST

/* -- runs -- */

START_TEST(program_frees_values_at_their_last_use)
{
    dp_program *p = chain("t::fresh", 1000);
    dp_value out;
    dp_run r;

    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(run1(p, &out, &r), 0);
        dp_values_release(&out, 1);
        dp_ctx_reset(ctx);
    }
    ck_assert_int_eq(runs, 3000);
    ck_assert_uint_eq(most_tensors, 3); /* the input, a step's argument and its return */
    dp_program_unref(p);
}
END_TEST

START_TEST(program_fits_what_it_knows_later)
{
    dp_ref t, k, any, y, z, w, sizes, dtype, args[3];
    dp_builder *b = begin(&t);
    dp_value out[4], in[3] = {dp_tensor_value(x), dp_int(3), dp_double(1.5)};
    bool written[4];
    dp_run r = {.size = sizeof(r), .inputs = in, .outputs = out, .written = written};
    dp_step s = {.size = sizeof(s),
                 .kind = DP_STEP_GET,
                 .name = "sizes",
                 .args = &t,
                 .n_args = 1,
                 .n_rets = 1};

    ck_assert_int_eq(dp_builder_input(b, "k", "int", &k), 0);
    ck_assert_int_eq(dp_builder_input(b, "any", NULL, &any), 0);
    args[0] = t, args[1] = k; /* an int where a float is taken */
    ck_assert_int_eq(add(b, 0, "t::scaled", args, 2, &y), 0);
    args[1] = any; /* the value says which overload */
    ck_assert_int_eq(add(b, 1, "t::over", args, 2, NULL), 0);
    s.n_rets = 1;
    ck_assert_int_eq(dp_builder_add(b, &s, &sizes, NULL), 0);
    s.name = "dtype";
    ck_assert_int_eq(dp_builder_add(b, &s, &dtype, NULL), 0);
    args[1] = sizes, args[2] = dtype;
    ck_assert_int_eq(add(b, 2, "t::shaped", args, 3, &z), 0);
    ck_assert_int_eq(add(b, 3, "t::same_", &t, 1, &w), 0);
    ck_assert_int_eq(dp_builder_output(b, "y", y), 0);
    ck_assert_int_eq(dp_builder_output(b, "w", w), 0);
    ck_assert_int_eq(dp_builder_output(b, "dtype", dtype), 0);
    dp_program *p = end(b, sizes);
    ck_assert_msg(dp_program_run(ctx, p, &r) == 0, "%s", dp_ctx_error(ctx)->message);
    ck_assert_uint_eq(out[1].tag, DP_TAG_TENSOR);
    ck_assert_ptr_eq(out[1].u.t, x);
    ck_assert(!written[0] && written[1] && !written[2]);
    ck_assert_str_eq(out[2].u.s, "float32");
    ck_assert_uint_eq(out[3].tag, DP_TAG_INTS);
    ck_assert_int_eq(out[3].u.ints[0], 1);
    dp_values_release(out, 4);
    in[2] = (dp_value){DP_TAG_STR, 1, {.s = "s"}};
    expect(dp_program_run(ctx, p, &r), DP_ETYPE, "step 1: t::over: no overload takes");
    ck_assert_int_eq(r.step, 1);
    in[0] = dp_none();
    expect(dp_program_run(ctx, p, &r), DP_ETYPE, "input 'x' must be Tensor, not None");
    ck_assert_int_eq(r.step, -1);
    dp_program_unref(p);
}
END_TEST

START_TEST(program_lists_and_their_items)
{
    dp_ref t, list, item, both, y;
    dp_builder *b = begin(&t);
    dp_value out, in;
    dp_run r;

    ck_assert_int_eq(add(b, 0, "t::parts", &t, 1, &list), 0);
    dp_step s = {.size = sizeof(s),
                 .kind = DP_STEP_ITEM,
                 .args = &list,
                 .n_args = 1,
                 .index = 1,
                 .n_rets = 1,
                 .origin = 1};
    ck_assert_int_eq(dp_builder_add(b, &s, &item, NULL), 0);
    s = (dp_step){.size = sizeof(s),
                  .kind = DP_STEP_LIST,
                  .args = (dp_ref[]){t, item},
                  .n_args = 2,
                  .n_rets = 1,
                  .origin = 2};
    ck_assert_int_eq(dp_builder_add(b, &s, &both, NULL), 0);
    ck_assert_int_eq(add(b, 3, "t::join", &both, 1, &y), 0);
    ck_assert_int_eq(add(b, 3, "t::join", &list, 1, &y), 0);
    dp_program *p = end(b, both);
    ck_assert_msg(run1(p, &out, &r) == 0, "%s", dp_ctx_error(ctx)->message);
    ck_assert_uint_eq(out.tag, DP_TAG_TENSORS);
    ck_assert_uint_eq(out.len, 2);
    ck_assert_ptr_eq(out.u.tensors[0], x);
    dp_values_release(&out, 1);
    dp_program_unref(p);

    b = begin(&t);
    ck_assert_int_eq(add(b, 0, "t::parts", &t, 1, &list), 0);
    s = (dp_step){.size = sizeof(s),
                  .kind = DP_STEP_ITEM,
                  .args = &list,
                  .n_args = 1,
                  .index = 2,
                  .n_rets = 1,
                  .origin = 5};
    ck_assert_int_eq(dp_builder_add(b, &s, &item, NULL), 0);
    p = end(b, item);
    in = dp_tensor_value(x);
    expect(run1(p, &out, &r), DP_EINDEX, "step 5: index 2 of '%1', a list of 2");
    (void)in;
    dp_program_unref(p);
}
END_TEST

START_TEST(program_that_fails_names_its_step_and_gives_all_back)
{
    dp_ref t, y;
    dp_builder *b = begin(&t);
    dp_value out;
    dp_run r;

    ck_assert_int_eq(add(b, 0, "t::fresh", &t, 1, &y), 0);
    ck_assert_int_eq(add(b, 1, "t::fails", &t, 1, NULL), 0);
    dp_program *p = end(b, y);
    expect(run1(p, &out, &r), DP_ERUNTIME, "step 1: it fails");
    ck_assert_int_eq(r.step, 1);
    ck_assert_str_eq(dp_ctx_error(ctx)->op, "t::fails");
    ck_assert_uint_eq(r.n_unspecified, 1);
    ck_assert_ptr_eq(r.unspecified[0], x);
    dp_program_unref(p);
}
END_TEST

START_TEST(program_stops_between_steps)
{
    dp_ref t, y;
    dp_builder *b = begin(&t);
    dp_value out;
    dp_run r;

    ck_assert_int_eq(add(b, 0, "t::cancels", &t, 1, &y), 0);
    ck_assert_int_eq(add(b, 1, "t::fresh", &y, 1, &y), 0);
    dp_program *p = end(b, y);
    dp_ctx_set_cancel(ctx, &cancel);
    expect(run1(p, &out, &r), DP_ECANCELLED, "step 1: cancelled");
    ck_assert_int_eq(r.step, 1);
    ck_assert_int_eq(runs, 1);
    dp_ctx_reset(ctx); /* forgets both */
    atomic_store(&cancel, 0);
    dp_ctx_set_deadline(ctx, 1);
    expect(run1(p, &out, &r), DP_EDEADLINE, "step 0: ");
    ck_assert_int_eq(runs, 1);
    dp_ctx_reset(ctx);
    ck_assert_int_eq(run1(p, &out, &r), 0);
    dp_values_release(&out, 1);
    dp_program_unref(p);
}
END_TEST

/* -- the registry moves -- */

static int add_sub(dp_builder *b, dp_program *p, dp_ref in, dp_ref *out)
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

/* A program that runs p `times`; NULL: the error says why not.  takes p */
static dp_program *around(dp_program *p, int times)
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

static dp_unit *define(const char *schema)
{
    dp_item item[] = {REC_DEF(schema)};
    dp_item impl[] = {REC_IMPL("f", same)};
    dp_block both[] = {REC_BLOCK(DP_BLOCK_LIBRARY, 1, "u", "", item),
                       REC_BLOCK(DP_BLOCK_IMPL, 2, "u", "CPU", impl)};
    return rec_attach(reg, "u", both, 2);
}

START_TEST(program_holds_operators_by_name_and_schema)
{
    dp_unit *u = define("f(Tensor x, int n=1) -> Tensor");
    dp_program *p = chain("u::f", 1);
    dp_value out;
    dp_run r;

    ck_assert_int_eq(run1(p, &out, &r), 0);
    dp_values_release(&out, 1);
    rec_detach(reg, u);
    expect(run1(p, &out, &r), DP_ENOTFOUND, "step 0: u::f: no plugin defines this operator");
    ck_assert_str_eq(dp_ctx_error(ctx)->op, "u::f");
    ck_assert_int_eq(r.step, 0);
    u = define("f(Tensor x, int n=1) -> Tensor"); /* the same, newly loaded */
    ck_assert_int_eq(run1(p, &out, &r), 0);
    dp_values_release(&out, 1);
    rec_detach(reg, u);
    u = define("f(Tensor x, int n=2) -> Tensor");
    expect(run1(p, &out, &r), DP_ERUNTIME,
           "step 0: u::f: its schema has changed since the program was made, from "
           "'u::f(Tensor x, int n=1) -> Tensor' to 'u::f(Tensor x, int n=2) -> Tensor'");
    ck_assert_int_eq(r.step, 0);
    ck_assert_ptr_nonnull(p = around(p, 1));
    expect(run1(p, &out, &r), DP_ERUNTIME, "step 4: step 0: u::f: its schema has changed");
    ck_assert_int_eq(r.step, 4);
    rec_detach(reg, u);
    dp_program_unref(p);
}
END_TEST

/* -- programs that run programs -- */

START_TEST(program_runs_programs_to_a_depth)
{
    dp_program *p = chain("t::fresh", 2);
    dp_program_info info;
    dp_value out;
    dp_run r;

    for (int i = 1; i < DP_LIMIT_PROGRAM_DEPTH; i++)
        ck_assert_ptr_nonnull(p = around(p, 1));
    dp_program_info_get(p, &info);
    ck_assert_uint_eq(info.depth, 64);
    ck_assert_uint_eq(info.expanded, 2 + 63);
    ck_assert_msg(run1(p, &out, &r) == 0, "%s", dp_ctx_error(ctx)->message);
    ck_assert_int_eq(runs, 2);
    dp_values_release(&out, 1);
    ck_assert_ptr_null(around(p, 1));
    expect(dp_ctx_error(ctx)->code, DP_ERESOURCE, "more than 64 deep (program_depth)");

    p = around(around(chain("t::fails", 1), 1), 1);
    expect(run1(p, &out, &r), DP_ERUNTIME, "step 4: step 4: step 0: it fails");
    ck_assert_int_eq(r.step, 4);
    dp_program_unref(p);
}
END_TEST

START_TEST(program_that_would_never_end_is_refused)
{
    dp_program *p = chain("t::fresh", 1), *next;
    int made = 0;

    while (made < 40 && (next = around(p, 2)) != NULL) {
        p = next;
        made++;
    }
    ck_assert_int_eq(made, 18); /* 2^18 calls and the steps that lead to them are under 10^6 */
    expect(dp_ctx_error(ctx)->code, DP_ERESOURCE,
           "1000000 steps, those it runs counted each time (program_expanded)");
}
END_TEST

START_TEST(program_checks_the_inputs_of_programs)
{
    dp_ref t, k;
    dp_builder *b = begin(&t);
    dp_program *p = chain("t::fresh", 1);
    dp_value two = {DP_TAG_STR, 1, {.s = "a"}};
    dp_step s = {.size = sizeof(s),
                 .kind = DP_STEP_SUB,
                 .program = p,
                 .n_rets = 1,
                 .kwargs = (dp_ref_kwarg[]){{"z", t}},
                 .n_kwargs = 1};

    expect(dp_builder_add(b, &s, NULL, NULL), DP_ENOTFOUND, "no input 'z'");
    s.n_kwargs = 0;
    expect(dp_builder_add(b, &s, NULL, NULL), DP_ETYPE, "missing input 'x'");
    ck_assert_int_eq(dp_builder_constant(b, NULL, &two, &k), 0);
    expect(add_sub(b, p, k, NULL), DP_ETYPE, "input 'x' must be Tensor, not str 'a'");
    dp_program_unref(p);
    dp_builder_free(b);
}
END_TEST

/* -- limits, memory, text -- */

START_TEST(program_has_limits)
{
    dp_ref t, y, k;
    dp_builder *b = begin(&t);
    dp_error err = DP_ERROR_INIT;
    dp_tensor *large = NULL;
    int64_t n = DP_LIMIT_PROGRAM_CONSTANT_BYTES + 4;

    for (uint32_t i = 0; i < DP_LIMIT_PROGRAM_LOWERED_STEPS; i++)
        unit_each(add(b, i, "t::fresh", &t, 1, &y) == 0, "%s", dp_ctx_error(ctx)->message);
    expect(add(b, 1, "t::fresh", &t, 1, &y), DP_ERESOURCE,
           "more than 100000 steps (program_lowered_steps)");
    ck_assert_int_eq(dp_tensor_new(DP_UINT8, DP_DEVICE_CPU, 1, &n, NULL, &large, &err), 0);
    dp_value v = dp_tensor_value(large);
    expect(dp_builder_constant(b, NULL, &v, &k), DP_ERESOURCE, "(program_constant_bytes)");
    dp_tensor_unref(large);
    dp_builder_free(b);
}
END_TEST

START_TEST(program_has_limits_of_values_and_arguments)
{
    enum { MOST = DP_LIMIT_PROGRAM_VALUES };
    _Static_assert((int)MOST == (int)DP_LIMIT_PROGRAM_ARGUMENTS, "one array serves both");
    dp_ref *refs = calloc(MOST + 1, sizeof(*refs)), t;
    dp_step s = {.size = sizeof(s), .kind = DP_STEP_LIST, .n_rets = 1, .args = refs};
    dp_builder *b;

    ck_assert_int_eq(dp_builder_new(ctx, &b), 0);
    ck_assert_int_eq(dp_builder_input(b, NULL, "Tensor", &t), 0);
    for (int i = 0; i <= MOST; i++)
        refs[i] = t;
    s.n_args = MOST + 1;
    expect(dp_builder_add(b, &s, &t, NULL), DP_ERESOURCE,
           "more than 1048576 arguments (program_arguments)");
    for (int i = 1; i < MOST; i++)
        unit_each(dp_builder_input(b, NULL, "Tensor", &t) == 0, "%s", dp_ctx_error(ctx)->message);
    expect(dp_builder_input(b, NULL, "Tensor", &t), DP_ERESOURCE,
           "more than 1048576 values (program_values)");
    expect(add(b, 0, "t::fresh", refs, 1, &t), DP_ERESOURCE,
           "more than 1048576 values (program_values)");
    dp_builder_free(b);
    free(refs);
}
END_TEST

/* Every way through the builder and a run; a code. */
static int build_and_run(void)
{
    dp_builder *b = NULL;
    dp_program *p = NULL;
    dp_ref t, k, any, y, z, l;
    int64_t ints[2] = {1, 2};
    dp_value list = dp_ints(ints, 2), in[2] = {dp_tensor_value(x), dp_double(1)}, out[2];
    dp_run r = {.size = sizeof(r), .inputs = in, .outputs = out};
    dp_step s = {.size = sizeof(s), .kind = DP_STEP_LIST, .n_rets = 1, .n_args = 2};
    int rc = dp_builder_new(ctx, &b);

    if (rc < 0)
        return rc;
    if ((rc = dp_builder_input(b, "x", "Tensor", &t)) < 0 ||
        (rc = dp_builder_input(b, "any", NULL, &any)) < 0 ||
        (rc = dp_builder_constant(b, "k", &list, &k)) < 0 ||
        (rc = add(b, 0, "t::over", (dp_ref[]){t, any}, 2, NULL)) < 0 ||
        (rc = add(b, 1, "t::shaped", (dp_ref[]){t, k}, 2, &y)) < 0 ||
        (rc = dp_builder_name(b, "y", y, 1)) < 0)
        goto done;
    s.args = (dp_ref[]){t, y};
    if ((rc = dp_builder_add(b, &s, &l, NULL)) < 0 || (rc = add(b, 2, "t::join", &l, 1, &z)) < 0 ||
        (rc = dp_builder_output(b, "z", z)) < 0 || (rc = dp_builder_output(b, NULL, l)) < 0 ||
        (rc = dp_builder_finish(b, &p)) < 0)
        goto done;
    rc = dp_program_run(ctx, p, &r);
    if (rc == 0)
        dp_values_release(out, 2);
    if (rc == 0 && (dp_program_text(p, dp_ctx_arena(ctx)) == NULL ||
                    dp_program_dot(p, dp_ctx_arena(ctx)) == NULL))
        rc = DP_ERESOURCE;
done:
    dp_program_unref(p);
    dp_builder_free(b);
    return rc;
}

START_TEST(program_survives_every_failed_allocation)
{
    dp_tensor_stats before, after;
    uint64_t n = 0;

    ck_assert_int_eq(build_and_run(), 0);
    dp_tensor_stats_get(&before);
    do {
        dp_ctx_reset(ctx);
        dp_ctx_free(ctx); /* so that its arena is cold */
        dp_error err = DP_ERROR_INIT;
        ck_assert_int_eq(dp_ctx_new(reg, &ctx, &err), 0);
        dp_fault_arm(++n);
        int rc = build_and_run();
        bool hit = dp_fault_hit();
        dp_fault_arm(0);
        dp_tensor_stats_get(&after);
        unit_each(rc == DP_ERESOURCE || (rc == 0 && (!hit || n > 0)), "fault %lu: %d %s",
                  (unsigned long)n, rc, dp_ctx_error(ctx)->message);
        unit_each(after.tensors == before.tensors, "fault %lu: %lu tensors, want %lu",
                  (unsigned long)n, (unsigned long)after.tensors, (unsigned long)before.tensors);
        if (!hit)
            break;
    } while (n < 1000);
    ck_assert_uint_gt(n, 30);
    ck_assert_uint_lt(n, 1000);
}
END_TEST

START_TEST(program_as_text_and_as_dot)
{
    dp_ref t, k, y, z;
    dp_builder *b = begin(&t);
    dp_value two = dp_double(0.1);

    ck_assert_int_eq(dp_builder_constant(b, "k", &two, &k), 0);
    ck_assert_int_eq(add(b, 0, "t::scaled", (dp_ref[]){t, k}, 2, &y), 0);
    ck_assert_int_eq(dp_builder_name(b, "mid", y, 0), 0);
    dp_step s = {.size = sizeof(s),
                 .kind = DP_STEP_GET,
                 .name = "sizes",
                 .args = &y,
                 .n_args = 1,
                 .n_rets = 1,
                 .origin = 1};
    ck_assert_int_eq(dp_builder_add(b, &s, &z, NULL), 0);
    dp_program *p = end(b, z);
    ck_assert_str_eq(dp_program_text(p, dp_ctx_arena(ctx)),
                     "program(Tensor x) -> (%2)\n"
                     "  constant k = 0.1\n"
                     "     0  mid = t::scaled(x, k, None)\n"
                     "     1  %2 = get sizes(mid)  # ends: mid\n");
    ck_assert_str_eq(dp_program_dot(p, dp_ctx_arena(ctx)),
                     "digraph program {\n"
                     "  input0 [shape=ellipse, label=\"x\"];\n"
                     "  step0 [shape=box, label=\"t::scaled\"];\n"
                     "  step1 [shape=box, label=\"sizes\"];\n"
                     "  output0 [shape=ellipse, label=\"y\"];\n"
                     "  input0 -> step0 [label=\"\"];\n"
                     "  step0 -> step1 [label=\"mid\"];\n"
                     "  step1 -> output0 [label=\"%2\"];\n"
                     "}\n");
    dp_program_unref(p);
}
END_TEST

UNIT_SUITE(program)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, program_refuses_a_wrong_step_before_any_runs);
    tcase_add_test(tc, program_names_are_unique_and_known);
    tcase_add_test(tc, program_writes_to_no_constant);
    tcase_add_test(tc, program_frees_values_at_their_last_use);
    tcase_add_test(tc, program_fits_what_it_knows_later);
    tcase_add_test(tc, program_lists_and_their_items);
    tcase_add_test(tc, program_that_fails_names_its_step_and_gives_all_back);
    tcase_add_test(tc, program_stops_between_steps);
    tcase_add_test(tc, program_holds_operators_by_name_and_schema);
    tcase_add_test(tc, program_runs_programs_to_a_depth);
    tcase_add_test(tc, program_that_would_never_end_is_refused);
    tcase_add_test(tc, program_checks_the_inputs_of_programs);
    tcase_add_test(tc, program_has_limits);
    tcase_add_test(tc, program_has_limits_of_values_and_arguments);
    tcase_add_test(tc, program_survives_every_failed_allocation);
    tcase_add_test(tc, program_as_text_and_as_dot);
}
