/* fold.c -- the pass that runs steps whose arguments are constants, and makes their results
 * constants.
 *
 * Each step runs as a program of its own.  A result becomes a constant of the new program when a
 * step that stays reads it, so that results between two folded steps take no memory there. */
#include "graph.h"
#include "dispatch/call/ctx.h"

typedef struct folder {
    dpi_rewrite r;
    dp_value *results; /* [n_values] owned, of folded steps */
    bool *folded;      /* [n_values] results[i] is set */
    bool *touched, *kept;
    size_t bytes; /* of the storages of all results */
} folder;

/* -- which steps -- */

/* Does `v` hold a tensor for which backward computes a gradient? */
static bool has_gradient(const dp_value *v)
{
    bool has = v->tag == DP_TAG_TENSOR && dp_tensor_requires_grad(v->u.t);

    for (uint32_t i = 0; v->tag == DP_TAG_TENSORS && i < v->len && !has; i++)
        has = v->u.tensors[i] != NULL && dp_tensor_requires_grad(v->u.tensors[i]);
    for (uint32_t i = 0; v->tag == DP_TAG_LIST && i < v->len && !has; i++)
        has = has_gradient(&v->u.values[i]);
    return has;
}

/* Is `r` a constant without gradients, or the result of a folded step? */
static bool is_known(const folder *f, dp_ref r)
{
    const dp_value *constant = dp_program_constant(f->r.from, r);

    return constant != NULL ? !has_gradient(constant) : f->folded[r];
}

static bool is_foldable(const folder *f, const dpi_step *s)
{
    const dp_program *p = f->r.from;
    bool may = s->kind != DPI_STEP_BIND && s->kind != DP_STEP_SUB && s->when == DPI_REF_NONE &&
               s->n_rets > 0 && (s->flags & (DP_STEP_FLAG_RANDOM | DP_STEP_FLAG_EFFECT)) == 0;

    for (uint32_t i = 0; i < s->n_args && may; i++)
        may = is_known(f, p->links[s->args + i]);
    for (uint32_t i = 0; i < s->n_rets && may; i++)
        may = !f->touched[s->ret + i] && !f->kept[s->ret + i];
    return may;
}

/* -- running a step -- */

/* Return the entry of the map for reference `r`. */
static dp_ref *entry(folder *f, dp_ref r)
{
    return dpi_is_value(r) ? &f->r.values[r] : &f->r.constants[DPI_REF_INDEX(r)];
}

/* Make a program without inputs that runs step i, in f->r.b: *out. */
static int make_program(folder *f, uint32_t i, dp_program **out)
{
    const dp_program *p = f->r.from;
    const dpi_step *s = &p->steps[i];
    dp_ref first = 0;
    int rc = 0;

    for (uint32_t k = 0; k < s->n_args && rc == 0; k++) {
        dp_ref r = p->links[s->args + k];
        *entry(f, r) = DPI_REF_NONE;
        if (dpi_is_value(r))
            rc = dp_builder_constant(f->r.b, NULL, &f->results[r], &f->r.values[r]);
    }
    if (rc == 0)
        rc = dpi_rewrite_step(&f->r, i, &first);
    for (uint32_t k = 0; k < s->n_rets && rc == 0; k++)
        rc = dp_builder_output(f->r.b, NULL, first + k);
    return rc == 0 ? dpi_rewrite_finish(&f->r, out) : rc;
}

/* Make the program of step i in a builder of its own, which sees another map. */
static int program_of(folder *f, uint32_t i, dp_program **out)
{
    const dpi_step *s = &f->r.from->steps[i];
    const dp_ref *args = &f->r.from->links[s->args];
    dp_ref *saved = dp_malloc_n((size_t)s->n_args + 1, sizeof(*saved));
    dp_builder *b = f->r.b;
    int rc = saved == NULL ? dpi_no_memory(&f->r.ctx->error, "a pass over a program")
                           : dp_builder_new(f->r.ctx, &f->r.b);

    if (rc == 0) {
        for (uint32_t k = 0; k < s->n_args; k++)
            saved[k] = *entry(f, args[k]);
        rc = make_program(f, i, out);
        for (uint32_t k = 0; k < s->n_args; k++)
            *entry(f, args[k]) = saved[k];
        dp_builder_free(f->r.b);
    }
    f->r.b = b;
    dp_free(saved);
    return rc;
}

/* Keep the results of step i, unless they take too many bytes or have gradients. */
static bool take_results(folder *f, const dpi_step *s, const dp_value *results)
{
    size_t bytes = 0;
    bool takes = true;

    for (uint32_t k = 0; k < s->n_rets; k++) {
        bytes += dpi_storage_bytes_of(&results[k]);
        takes &= !has_gradient(&results[k]) && results[k].tag != DP_TAG_OBJECT;
    }
    if (!takes || bytes > DP_LIMIT_PROGRAM_FOLDED_BYTES - f->bytes)
        return false;
    f->bytes += bytes;
    for (uint32_t k = 0; k < s->n_rets; k++) {
        f->results[s->ret + k] = results[k];
        f->folded[s->ret + k] = true;
    }
    return true;
}

/* Fold step i if it can be run now: *folded.  A step that fails stays, and fails when the program
 * runs; but a lack of memory, a deadline and a request to stop end the pass. */
static int fold(folder *f, uint32_t i, bool *folded)
{
    const dpi_step *s = &f->r.from->steps[i];
    dp_value results[DP_LIMIT_ARGUMENTS] = {{0}};
    dp_run run = {.size = sizeof(run), .outputs = results};
    dp_program *p = NULL;
    int rc = program_of(f, i, &p);

    *folded = false;
    if (rc == 0)
        rc = dp_program_run(f->r.ctx, p, &run);
    dp_program_unref(p);
    if (rc == DP_ERESOURCE || rc == DP_ECANCELLED || rc == DP_EDEADLINE)
        return rc;
    if (rc < 0) {
        dp_error_clear(&f->r.ctx->error);
        return 0;
    }
    *folded = take_results(f, s, results);
    if (!*folded)
        dp_values_release(results, s->n_rets);
    return 0;
}

/* -- the pass -- */

/* Make a constant of value `r` if it is the result of a folded step and was not read before. */
static int need(folder *f, dp_ref r)
{
    if (r == DPI_REF_NONE || !dpi_is_value(r) || !f->folded[r] || f->r.values[r] != DPI_REF_NONE)
        return 0;
    return dp_builder_constant(f->r.b, f->r.from->values[r].name, &f->results[r], &f->r.values[r]);
}

static int copy_steps(folder *f)
{
    const dp_program *p = f->r.from;
    bool fake = dpi_ctx_fake(f->r.ctx);
    int rc = 0;

    for (uint32_t i = 0; i < p->n_steps && rc == 0; i++) {
        const dpi_step *s = &p->steps[i];
        bool folded = false;
        if (!fake && is_foldable(f, s))
            rc = fold(f, i, &folded);
        if (folded || rc < 0)
            continue;
        for (uint32_t k = 0; k < s->n_args && rc == 0; k++)
            rc = need(f, p->links[s->args + k]);
        if (rc == 0)
            rc = need(f, s->when);
        if (rc == 0)
            rc = dpi_rewrite_keep(&f->r, i);
    }
    return rc;
}

int dp_program_fold(dp_ctx *ctx, const dp_program *p, dp_program **out)
{
    folder f = {0};
    int rc = dpi_rewrite_begin(&f.r, ctx, p);

    f.results = dp_calloc((size_t)p->n_values + 1, sizeof(*f.results));
    f.folded = dp_calloc((size_t)p->n_values + 1, sizeof(*f.folded));
    f.touched = dp_calloc((size_t)p->n_values + 1, sizeof(*f.touched));
    f.kept = dp_calloc((size_t)p->n_values + 1, sizeof(*f.kept));
    if (rc == 0 && (f.results == NULL || f.folded == NULL || f.touched == NULL || f.kept == NULL))
        rc = dpi_no_memory(&ctx->error, "a pass over a program");
    if (rc == 0) {
        dpi_find_touched(p, f.touched);
        dpi_find_kept(p, f.kept);
        rc = copy_steps(&f);
    }
    if (rc == 0)
        rc = dpi_rewrite_outputs(&f.r);
    if (rc == 0)
        rc = dpi_rewrite_finish(&f.r, out);
    if (f.results != NULL)
        dp_values_release(f.results, p->n_values);
    dp_free(f.results);
    dp_free(f.folded);
    dp_free(f.touched);
    dp_free(f.kept);
    dpi_rewrite_end(&f.r);
    return rc;
}
