/* general.c -- compare the programs of captures with different sizes: the same calls must have been
 * made, and a number that differs must be given by an expression of the sizes. */
#include "dispatch/call/ctx.h"
#include "symbol.h"

/* The operator of step `s`, or what it does. */
static const char *name_of(const dp_program *p, uint32_t s, dp_step_info *info)
{
    *info = (dp_step_info){.size = sizeof(*info)};
    if (s >= p->n_steps)
        return "the outputs";
    dp_program_step(p, s, info);
    return info->name[0] != '\0' ? info->name : info->kind;
}

static const char *argument_name(const dp_program *p, uint32_t s, uint32_t arg)
{
    const dpi_step *step = &p->steps[s];

    if (s >= p->n_steps)
        return dp_program_output_name(p, arg);
    if (step->kind != DP_STEP_CALL)
        return "";
    return p->ops[step->operand].schema->args[arg].name;
}

static int fail_step(dp_ctx *ctx, const dp_program *p, const dp_program *q, uint32_t s)
{
    dp_step_info a, b;

    return dp_error_set(&ctx->error, DP_EVALUE,
                        "step %u depends on the sizes: it is %s for some sizes and %s for others, "
                        "or has other arguments",
                        s, name_of(p, s, &a), name_of(q, s, &b));
}

static const dp_value *constant_of(const dp_program *p, dp_ref r)
{
    return DPI_REF_KIND(r) == DPI_REF_CONSTANT ? &p->constants[DPI_REF_INDEX(r)] : NULL;
}

/* The reference that argument `i` of step `s` is; of step n_steps: output `i`. */
static dp_ref ref_at(const dp_program *p, uint32_t s, uint32_t i)
{
    return s < p->n_steps ? p->links[p->steps[s].args + i] : p->outputs[i].ref;
}

static uint32_t count_at(const dp_program *p, uint32_t s)
{
    return s < p->n_steps ? p->steps[s].n_args : p->n_outputs;
}

static bool is_number(const dp_value *v)
{
    return v->tag == DP_TAG_INT || v->tag == DP_TAG_DOUBLE;
}

static double number_of(const dp_value *v)
{
    return v->tag == DP_TAG_DOUBLE ? v->u.d : (double)v->u.i;
}

static uint32_t items_of(const dp_value *v)
{
    return dp_is_list(v) ? v->len : 1;
}

static dp_value item_of(const dp_value *v, uint32_t i)
{
    return dp_is_list(v) ? dp_list_item(v, i) : *v;
}

/* Are two items equal, or both numbers of one kind, which may differ? */
static bool is_like(const dp_value *a, const dp_value *b)
{
    if (a->tag != b->tag)
        return false;
    switch (a->tag) {
    case DP_TAG_BOOL:
        return a->u.b == b->u.b;
    case DP_TAG_STR:
        return a->len == b->len && memcmp(a->u.s, b->u.s, a->len) == 0;
    case DP_TAG_COMPLEX:
        return memcmp(a->u.doubles, b->u.doubles, 2 * sizeof(double)) == 0;
    case DP_TAG_TENSOR:
        return a->u.t == b->u.t;
    default: /* ints and doubles are compared later; None has no value */
        return true;
    }
}

static bool is_like_constant(const dp_value *a, const dp_value *b)
{
    bool like = a->tag == b->tag && (!dp_is_list(a) || a->len == b->len);

    for (uint32_t i = 0; like && i < items_of(a); i++) {
        dp_value x = item_of(a, i), y = item_of(b, i);
        like = is_like(&x, &y);
    }
    return like;
}

static bool is_like_step(const dp_program *p, const dp_program *q, uint32_t s)
{
    const dpi_step *a = &p->steps[s], *b = &q->steps[s];

    if (a->kind != b->kind || a->n_args != b->n_args || a->n_rets != b->n_rets ||
        a->mode != b->mode)
        return false;
    if (a->kind == DP_STEP_CALL)
        return p->ops[a->operand].op == q->ops[b->operand].op;
    return a->operand == b->operand;
}

/* Check that `q` makes the calls of `p`, with the same values, and constants that are alike. */
static int compare(dp_ctx *ctx, const dp_program *p, const dp_program *q)
{
    dp_step_info info;

    for (uint32_t s = 0; s < p->n_steps && s < q->n_steps; s++)
        if (!is_like_step(p, q, s))
            return fail_step(ctx, p, q, s);
    if (p->n_steps != q->n_steps)
        return dp_error_set(&ctx->error, DP_EVALUE,
                            "the steps depend on the sizes: %u steps for some, and %u for others; "
                            "the first that is missing is %s",
                            p->n_steps, q->n_steps,
                            p->n_steps > q->n_steps ? name_of(p, q->n_steps, &info)
                                                    : name_of(q, p->n_steps, &info));
    for (uint32_t s = 0; s <= p->n_steps; s++)
        for (uint32_t i = 0; i < count_at(p, s); i++) {
            dp_ref x = ref_at(p, s, i), y = ref_at(q, s, i);
            const dp_value *a = constant_of(p, x), *b = constant_of(q, y);
            bool like = a == NULL || b == NULL ? x == y : is_like_constant(a, b);
            if (!like)
                return dp_error_set(&ctx->error, DP_EVALUE,
                                    "step %u, %s: argument '%s' depends on the sizes, and is not a "
                                    "number in both cases",
                                    s, name_of(p, s, &info), argument_name(p, s, i));
        }
    return 0;
}

/* -- numbers that differ -- */

/* Write the sizes of a probe, such as "s0=5, s1=24", to `buf`. */
static const char *sizes_text(const int64_t *sizes, uint32_t n, char buf[160])
{
    size_t at = 0;

    buf[0] = '\0';
    for (uint32_t s = 0; s < n; s++)
        at += (size_t)snprintf(buf + at, 160 - at, "%ss%u=%lld", s > 0 ? ", " : "", s,
                               (long long)sizes[s]);
    return buf;
}

/* Turn a number into the int that an expression can give, in one of the ways DPI_AS_*. */
static bool to_int(const dp_value *v, uint32_t as, int64_t *out)
{
    if (v->tag == DP_TAG_INT) {
        *out = v->u.i;
        return as == DPI_AS_INT;
    }
    double d = as == DPI_AS_RECIPROCAL ? 1.0 / v->u.d : v->u.d;
    if (as == DPI_AS_INT || !(__builtin_fabs(d) < 9007199254740992.0)) /* 2^53; false for NaN */
        return false;
    *out = (int64_t)__builtin_round(d);
    return as == DPI_AS_RECIPROCAL ? 1.0 / (double)*out == v->u.d : (double)*out == d;
}

/* Find the expression for the number that differs, where x->step, arg and item say. */
static int solve(dp_ctx *ctx, dp_program *const *programs, const dpi_probes *p, const dp_value *of,
                 dpi_varying *x)
{
    int64_t *values = dp_arena_alloc_n(&ctx->arena, p->n, sizeof(*values));
    dp_step_info info;
    char one[160], two[160];
    uint32_t k = 0, other = 1;

    if (values == NULL)
        return dpi_no_memory(&ctx->error, "the expressions of sizes");
    for (x->as = DPI_AS_INT; x->as <= DPI_AS_RECIPROCAL; x->as++) {
        for (k = 0; k < p->n && to_int(&of[k], x->as, &values[k]); k++)
            continue;
        if (k == p->n && dpi_expr_solve(p, values, &x->expr))
            return 0;
    }
    while (other + 1 < p->n && number_of(&of[other]) == number_of(&of[0]))
        other++;
    return dp_error_set(
        &ctx->error, DP_EVALUE,
        "step %u, %s: argument '%s' is %.17g where %s, and %.17g where %s: no expression of the "
        "sizes was found that gives it",
        x->step, name_of(programs[0], x->step, &info), argument_name(programs[0], x->step, x->arg),
        number_of(&of[0]), sizes_text(p->sizes, p->n_symbols, one), number_of(&of[other]),
        sizes_text(p->sizes + (size_t)other * p->n_symbols, p->n_symbols, two));
}

static int add_varying(dp_ctx *ctx, dpi_general *g, const dpi_varying *x)
{
    if (g->n == g->cap) {
        uint32_t cap = g->cap > 0 ? 2 * g->cap : 16;
        dpi_varying *grown = dp_arena_alloc_n(&ctx->arena, cap, sizeof(*grown));
        if (grown == NULL)
            return dpi_no_memory(&ctx->error, "the expressions of sizes");
        dp_copy_n(grown, g->varying, g->n, sizeof(*grown));
        g->varying = grown;
        g->cap = cap;
    }
    g->varying[g->n++] = *x;
    return 0;
}

/* Gather the number at `x` of all probes in of[p->n]; add it to `g` if it differs. */
static int find_item(dp_ctx *ctx, dp_program *const *programs, const dpi_probes *p, dp_value *of,
                     dpi_varying *x, dpi_general *g)
{
    bool differs = false;

    for (uint32_t k = 0; k < p->n; k++) {
        const dp_value *v = constant_of(programs[k], ref_at(programs[k], x->step, x->arg));
        of[k] = item_of(v, x->item);
        differs |= is_number(&of[k]) && memcmp(&of[k].u, &of[0].u, sizeof(double)) != 0;
    }
    if (!differs)
        return 0;
    int rc = solve(ctx, programs, p, of, x);
    return rc == 0 ? add_varying(ctx, g, x) : rc;
}

int dpi_general_find(dp_ctx *ctx, dp_program *const *programs, const dpi_probes *p,
                     dpi_general *out)
{
    const dp_program *first = programs[0];
    dp_value *of = dp_arena_alloc_n(&ctx->arena, p->n, sizeof(*of));
    int rc = of != NULL ? 0 : dpi_no_memory(&ctx->error, "the expressions of sizes");

    for (uint32_t k = 1; k < p->n && rc == 0; k++)
        rc = compare(ctx, first, programs[k]);
    for (uint32_t s = 0; s <= first->n_steps && rc == 0; s++)
        for (uint32_t i = 0; i < count_at(first, s) && rc == 0; i++) {
            const dp_value *v = constant_of(first, ref_at(first, s, i));
            for (uint32_t item = 0; v != NULL && item < items_of(v) && rc == 0; item++) {
                dpi_varying x = {.step = s, .arg = i, .item = item};
                rc = find_item(ctx, programs, p, of, &x, out);
            }
        }
    return rc;
}

/* The double or int that `x` is for `sizes`. */
static double value_of(const dpi_varying *x, const int64_t *sizes)
{
    double d = (double)dpi_expr_eval(&x->expr, sizes);

    return x->as == DPI_AS_RECIPROCAL ? 1.0 / d : d;
}

int dpi_general_check(dp_ctx *ctx, const dp_program *p, const dp_program *q, const dpi_general *g,
                      const int64_t *sizes)
{
    dp_step_info info;
    uint32_t next = 0;
    int rc = compare(ctx, p, q);

    for (uint32_t s = 0; s <= p->n_steps && rc == 0; s++)
        for (uint32_t i = 0; i < count_at(p, s) && rc == 0; i++) {
            const dp_value *v = constant_of(p, ref_at(p, s, i));
            for (uint32_t k = 0; v != NULL && k < items_of(v) && rc == 0; k++) {
                const dpi_varying *x = next < g->n ? &g->varying[next] : NULL;
                dp_value a = item_of(v, k), b = item_of(constant_of(q, ref_at(q, s, i)), k);
                bool varies = x != NULL && x->step == s && x->arg == i && x->item == k;
                next += varies;
                if (!is_number(&a))
                    continue;
                double want = varies ? value_of(x, sizes) : number_of(&a);
                if (number_of(&b) != want && !(want != want && number_of(&b) != number_of(&b)))
                    rc = dp_error_set(&ctx->error, DP_EVALUE,
                                      "step %u, %s: argument '%s' is %.17g, where other sizes make "
                                      "one expect %.17g",
                                      s, name_of(p, s, &info), argument_name(p, s, i),
                                      number_of(&b), want);
            }
        }
    return rc;
}
