/* programs.c -- kernels that build and run programs. */
#include <dispatchd/plugin.h>
#include <dispatchd/program.h>
#include <stdatomic.h>
#include <string.h>

DP_PLUGIN(programs, "1.0")

/* -- a program that the plugin keeps: 2 * x + 1, added up over a dimension if x has one -- */

static _Atomic(dp_program *) kept;
static atomic_llong n_built;

static int build(dp_ctx *ctx, const char *text, dp_program **out)
{
    dp_builder *b = NULL;
    int rc = dp_builder_new(ctx, &b);

    if (rc == 0)
        rc = dp_builder_text(b, text);
    if (rc == 0)
        rc = dp_builder_finish(b, out);
    dp_builder_free(b);
    return rc;
}

static int keep(dp_ctx *ctx, dp_program **out)
{
    dp_program *made = NULL, *none = NULL;

    if ((*out = atomic_load(&kept)) != NULL)
        return 0;
    int rc = build(ctx,
                   "in x Tensor\n"
                   "y = aten::mul.Tensor(x, 2)\n"
                   "z = aten::add.Tensor(y, 1)\n"
                   "n = get ndim(z)\n"
                   "s = when n: aten::sum.dim_IntList(z, [0])\n"
                   "r = select(n, s, z)\n"
                   "out r r; out n n",
                   &made);
    if (rc < 0)
        return rc;
    atomic_fetch_add(&n_built, 1);
    if (!atomic_compare_exchange_strong(&kept, &none, made)) {
        dp_program_unref(made);
        made = none;
    }
    *out = made;
    return 0;
}

static int release(dp_ctx *ctx)
{
    (void)ctx;
    dp_program_unref(atomic_exchange(&kept, NULL));
    return 0;
}
DP_ON_UNLOAD(release)

static int run_kept(dp_ctx *ctx, dp_tensor *self, dp_tensor **out, int64_t *ndim, int64_t *built)
{
    dp_program *p;
    dp_value in = dp_tensor_value(self), outs[2];
    dp_run r = {.size = sizeof(r), .inputs = &in, .outputs = outs};
    int rc = keep(ctx, &p);

    if (rc == 0)
        rc = dp_program_run(ctx, p, &r);
    if (rc < 0)
        return rc;
    *out = outs[0].u.t;
    *ndim = outs[1].u.i;
    *built = atomic_load(&n_built);
    return 0;
}

/* -- a program for one call, step by step, that writes to its input without gradients -- */

static int add_steps(dp_builder *b, dp_value k, const char *op)
{
    dp_ref x, c, y;
    dp_step_mode off = {.size = sizeof(off), .sets = DP_STEP_MODE_GRAD};
    int rc = dp_builder_input(b, "x", "Tensor", &x);

    off.mode.size = sizeof(dp_mode);
    off.mode.no_grad = true;
    if (rc == 0)
        rc = dp_builder_constant(b, NULL, &k, &c);
    const dp_ref args[] = {x, c};
    const uint32_t origins[] = {4, 6};
    const dp_step s = {.size = sizeof(s),
                       .kind = DP_STEP_CALL,
                       .name = op,
                       .args = args,
                       .n_args = 2,
                       .n_rets = 1,
                       .origins = origins,
                       .n_origins = 2,
                       .mode = &off};
    if (rc == 0)
        rc = dp_builder_add(b, &s, &y, NULL);
    if (rc == 0)
        rc = dp_builder_name(b, "y", y, 4);
    if (rc == 0)
        rc = dp_builder_find(b, "y", &y);
    return rc == 0 ? dp_builder_output(b, "y", y) : rc;
}

/* Fail unless the program describes itself as it was built. */
static int check(dp_ctx *ctx, const dp_program *p)
{
    dp_program_info info = {.size = sizeof(info)};
    dp_step_info s = {.size = sizeof(s)};
    dp_alias alias = {.size = sizeof(alias)};
    char buf[DP_KEY_NAME_MAX];
    uint64_t hash[2];

    dp_program_info_get(p, &info);
    dp_program_step(p, 0, &s);
    dp_program_output_alias(p, 0, &alias);
    dp_program_hash(p, hash);
    if (info.n_inputs != 1 || info.n_steps != 1 || s.n_origins != 2 || s.origins[1] != 6 ||
        !s.mode->mode.no_grad || !(s.flags & DP_STEP_FLAG_EFFECT) ||
        strcmp(dp_program_value_name(p, s.first, buf), "y") != 0 ||
        dp_program_input_find(p, "x") != 0 || !dp_program_input_written(p, 0) ||
        strcmp(dp_program_input_type(p, 0), "Tensor") != 0 ||
        strcmp(dp_program_input_name(p, 0), "x") != 0 ||
        strcmp(dp_program_output_name(p, 0), "y") != 0 || dp_program_output(p, 0) != s.first ||
        dp_program_constant(p, s.args[1]) == NULL ||
        dp_program_argument_name(p, 0, 1, buf) != NULL || alias.kind != DP_ALIAS_INPUT ||
        !alias.same || (hash[0] == 0 && hash[1] == 0))
        return dp_fail(ctx, DP_ERUNTIME, "the program is not as it was built");
    return 0;
}

static int write_(dp_ctx *ctx, dp_tensor *self, dp_value k, dp_str op)
{
    dp_builder *b = NULL;
    dp_program *p = NULL, *again;
    dp_value in = dp_tensor_value(self), out;
    dp_run r = {.size = sizeof(r), .inputs = &in, .outputs = &out};
    int rc = dp_builder_new(ctx, &b);

    if (rc == 0)
        rc = add_steps(b, k, op.s);
    if (rc == 0)
        rc = dp_builder_finish(b, &p);
    dp_builder_free(b);
    if (rc == 0)
        rc = check(ctx, p);
    if (rc == 0) {
        again = dp_program_ref(p);
        rc = dp_program_run(ctx, again, &r);
        dp_program_unref(again);
    }
    if (rc == 0)
        dp_values_release(&out, 1);
    dp_program_unref(p);
    return rc;
}

DP_LIBRARY(programs, DP_DEF("run_kept(Tensor self) -> (Tensor, int, int)"),
           DP_DEF("write_(Tensor(a!) self, Scalar k, str op) -> Tensor(a!)"))
DP_LIBRARY_IMPL(programs, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("run_kept", run_kept, (T), (T, i, i)),
                DP_IMPL_UNBOXED("write_", write_, (T, s, S), ()))
