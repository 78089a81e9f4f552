/* rewrite.c -- the rewriter: copy a program into a builder, step by step, with a map from old
 * references to new ones. */
#include "graph.h"
#include "dispatch/call/ctx.h"
#include "program/machine.h"

/* -- life -- */

int dpi_rewrite_input(dpi_rewrite *r, uint32_t i)
{
    const dpi_type_text *type = &r->from->types[r->from->inputs[i].type];

    return dp_builder_input(r->b, r->from->values[i].name, type->schema != NULL ? type->text : NULL,
                            &r->values[i]);
}

static int make_maps(dpi_rewrite *r)
{
    const dp_program *p = r->from;

    r->values = dp_malloc_n((size_t)p->n_values + 1, sizeof(*r->values));
    r->constants = dp_malloc_n((size_t)p->n_constants + 1, sizeof(*r->constants));
    if (r->values == NULL || r->constants == NULL)
        return dpi_no_memory(&r->ctx->error, "a pass over a program");
    for (uint32_t i = 0; i < p->n_values; i++)
        r->values[i] = DPI_REF_NONE;
    for (uint32_t i = 0; i < p->n_constants; i++)
        r->constants[i] = DPI_REF_NONE;
    return 0;
}

int dpi_rewrite_begin_part(dpi_rewrite *r, dp_ctx *ctx, const dp_program *from)
{
    *r = (dpi_rewrite){.ctx = ctx, .from = from, .when = DPI_REF_NONE};
    int rc = dp_builder_new(ctx, &r->b);
    if (rc < 0)
        return rc;
    if (from->reg != r->b->p.reg)
        return dpi_builder_fail(r->b, DP_EVALUE, "the program belongs to another registry");
    r->b->p.of_lines = from->of_lines;
    r->b->whole_names = true;
    dp_run run = {.size = sizeof(run),
                  .step = -1}; /* the arguments could mean something else now */
    rc = dpi_check_ops(ctx, from, &run);
    return rc == 0 ? make_maps(r) : rc;
}

int dpi_rewrite_begin(dpi_rewrite *r, dp_ctx *ctx, const dp_program *from)
{
    int rc = dpi_rewrite_begin_part(r, ctx, from);

    for (uint32_t i = 0; i < from->n_inputs && rc == 0; i++)
        rc = dpi_rewrite_input(r, i);
    return rc == 0 ? dp_builder_guards_of(r->b, from) : rc;
}

/* Add the members of `own` that it sets to those of `mode`. */
static void merge_mode(dp_step_mode *mode, const dp_step_mode *own)
{
    if (own->sets & DP_STEP_MODE_GRAD)
        mode->mode.no_grad = own->mode.no_grad;
    if (own->sets & DP_STEP_MODE_CAST) {
        mode->mode.no_cast_cache = own->mode.no_cast_cache;
        mode->mode.cast_backends = own->mode.cast_backends;
        memcpy(mode->mode.cast_dtype, own->mode.cast_dtype, sizeof(mode->mode.cast_dtype));
    }
    mode->sets |= own->sets;
}

/* Return the mode of a step of r->from, with the modes of the SUB steps around it. */
static dp_step_mode mode_of(const dpi_rewrite *r, const dpi_step *step)
{
    dp_step_mode mode = r->mode;

    if (step->mode > 0)
        merge_mode(&mode, &r->from->modes[step->mode - 1]);
    mode.size = (uint32_t)sizeof(mode);
    mode.mode.size = (uint32_t)sizeof(mode.mode);
    return mode;
}

void dpi_rewrite_end(dpi_rewrite *r)
{
    dp_free(r->values);
    dp_free(r->constants);
    if (r->outer == NULL)
        r->b = dp_builder_free(r->b);
    r->values = r->constants = NULL;
}

int dpi_rewrite_finish(dpi_rewrite *r, dp_program **out)
{
    return dp_builder_finish(r->b, out);
}

/* -- references -- */

int dpi_rewrite_ref(dpi_rewrite *r, dp_ref old, dp_ref *out)
{
    uint32_t i = DPI_REF_INDEX(old);

    if (dpi_is_value(old)) {
        *out = r->values[i];
        return *out != DPI_REF_NONE
                   ? 0
                   : dpi_builder_fail(r->b, DP_ERUNTIME, "a pass reads value %u before it is made",
                                      i);
    }
    if (r->constants[i] == DPI_REF_NONE) {
        const char *name = r->outer == NULL ? r->from->constant_names[i] : NULL;
        int rc = dp_builder_constant(r->b, name, &r->from->constants[i], &r->constants[i]);
        if (rc < 0)
            return rc;
    }
    *out = r->constants[i];
    return 0;
}

int dpi_rewrite_set(dpi_rewrite *r, dp_ref old, dp_ref ref)
{
    const char *name = r->from->values[old].name;
    bool first = r->values[old] == DPI_REF_NONE;

    r->values[old] = ref;
    if (!first || name == NULL || r->outer != NULL || !dpi_is_value(ref) ||
        r->b->p.values[ref].name != NULL)
        return 0;
    return dp_builder_name(r->b, name, ref, 0);
}

int dpi_rewrite_int(dpi_rewrite *r, int64_t i, dp_ref *out)
{
    dp_value v = dp_int(i);

    return dp_builder_constant(r->b, NULL, &v, out);
}

/* -- steps -- */

int dpi_rewrite_fail(const dpi_rewrite *r, uint32_t i)
{
    uint32_t n;
    const uint32_t *origins = dpi_step_origins(r->from, &r->from->steps[i], &n);

    return dpi_step_fail(r->ctx, r->from, origins, n);
}

/* Add step `s`, which has `n` origins, with those of r->more, too. */
static int add_with_more(dpi_rewrite *r, dp_step *s, size_t n, dp_ref *first)
{
    uint32_t *all = dp_malloc_n(n + r->n_more, sizeof(*all));

    if (all == NULL)
        return dpi_no_memory(&r->ctx->error, "a step of a program");
    dp_copy_n(all, s->origins, n, sizeof(*all));
    dp_copy_n(all + n, r->more, r->n_more, sizeof(*all));
    s->origins = all;
    s->n_origins = n + r->n_more;
    int rc = dp_builder_add(r->b, s, first, NULL);
    dp_free(all);
    return rc;
}

int dpi_rewrite_add(dpi_rewrite *r, uint32_t like, dp_step *s, dp_ref *first)
{
    const dpi_rewrite *top = r;
    dp_step_mode mode = mode_of(r, &r->from->steps[like]);
    uint32_t n;

    uint32_t save = r->from->steps[like].flags & DPI_SAVE_FLAGS;
    for (; top->outer != NULL; top = top->outer) {
        like = top->like;
        save |= top->outer->from->steps[like].flags & DPI_SAVE_FLAGS;
    }
    const dpi_step *step = &top->from->steps[like];
    if (s->kind == DP_STEP_CALL || s->kind == DP_STEP_SUB)
        s->flags |= save;
    s->size = (uint32_t)sizeof(*s);
    s->origins = dpi_step_origins(top->from, step, &n);
    s->origin = step->origin;
    s->n_origins = step->origins > 0 ? n : 0;
    if (s->mode != NULL)
        merge_mode(&mode, s->mode);
    s->mode = mode.sets != 0 ? &mode : NULL;
    int rc = r->n_more > 0 ? add_with_more(r, s, n, first) : dp_builder_add(r->b, s, first, NULL);
    s->mode = NULL;
    return rc;
}

int dpi_rewrite_select(dpi_rewrite *r, uint32_t like, dp_ref when, dp_ref *yes, const dp_ref *no)
{
    dp_value none = {0};
    dp_ref args[3] = {when, *yes, no != NULL ? *no : 0};
    dp_step s = {.kind = DP_STEP_SELECT, .args = args, .n_args = 3, .n_rets = 1};
    int rc = no != NULL ? 0 : dp_builder_constant(r->b, NULL, &none, &args[2]);

    return rc == 0 ? dpi_rewrite_add(r, like, &s, yes) : rc;
}

int dpi_rewrite_when(dpi_rewrite *r, uint32_t i, dp_ref *out)
{
    dp_ref own = r->from->steps[i].when;

    *out = r->when;
    if (own == DPI_REF_NONE)
        return 0;
    int rc = dpi_rewrite_ref(r, own, out);
    /* if the inner program does not run, None stands for its conditions, too */
    return rc == 0 && r->when != DPI_REF_NONE ? dpi_rewrite_select(r, i, r->when, out, NULL) : rc;
}

int dpi_rewrite_within(dpi_rewrite *inner, dpi_rewrite *outer, uint32_t like)
{
    const dpi_step *step = &outer->from->steps[like];

    *inner = (dpi_rewrite){.ctx = outer->ctx,
                           .from = outer->from->subs[step->operand],
                           .b = outer->b,
                           .outer = outer,
                           .like = like,
                           .when = DPI_REF_NONE,
                           .mode = mode_of(outer, step)};
    int rc = make_maps(inner);
    return rc == 0 ? dpi_rewrite_when(outer, like, &inner->when) : rc;
}

/* Fill in the members of `s` that name the arguments: those of a CALL step that are keyword-only,
 * and those of BIND and SUB steps, are given by name. */
static void name_arguments(const dpi_rewrite *r, const dpi_step *step, dp_ref *refs,
                           dp_ref_kwarg *kwargs, dp_step *s)
{
    const dp_program *p = r->from;

    s->args = refs;
    s->kwargs = kwargs;
    for (uint32_t i = 0; i < step->n_args; i++) {
        const char *name = NULL;
        if (step->kind == DP_STEP_CALL && p->ops[step->operand].schema->args[i].kwarg_only)
            name = p->ops[step->operand].schema->args[i].name;
        else if (step->kind == DPI_STEP_BIND)
            name = p->binds[step->operand].kwargs[i];
        else if (step->kind == DP_STEP_SUB)
            name = dp_program_input_name(p->subs[step->operand], i);
        if (name != NULL)
            kwargs[s->n_kwargs++] = (dp_ref_kwarg){name, refs[i]};
        else
            refs[s->n_args++] = refs[i];
    }
}

/* Fill in the members of `s` that depend on the kind of `step`. */
static void fill_kind(const dpi_rewrite *r, const dpi_step *step, dp_step *s)
{
    const dp_program *p = r->from;

    s->kind = step->kind == DPI_STEP_BIND ? DP_STEP_CALL : step->kind;
    s->n_rets = step->kind == DPI_STEP_BIND && !step->names_written ? -1 : (int64_t)step->n_rets;
    s->name = step->kind == DP_STEP_CALL     ? p->ops[step->operand].schema->name
              : step->kind == DPI_STEP_BIND  ? p->binds[step->operand].name
              : step->kind == DP_STEP_GET    ? dpi_gets[step->operand].name
              : step->kind == DP_STEP_SCALAR ? dpi_scalars[step->operand].name
                                             : NULL;
    s->index = step->kind == DP_STEP_ITEM ? (int64_t)step->operand : 0;
    if (step->kind == DP_STEP_SUB)
        s->program = r->subs != NULL && r->subs[step->operand] != NULL ? r->subs[step->operand]
                                                                       : p->subs[step->operand];
    s->flags = step->flags & DP_STEP_FLAG_RECOMPUTE;
}

int dpi_rewrite_step(dpi_rewrite *r, uint32_t i, dp_ref *first)
{
    enum { FEW = 64 };
    const dpi_step *step = &r->from->steps[i];
    dp_ref few[FEW], when, *refs = few;
    dp_ref_kwarg few_kwargs[FEW], *kwargs = few_kwargs;
    dp_step s = {0};
    int rc = dp_checkpoint(r->ctx);

    if (rc == 0 && step->n_args > FEW) {
        refs = dp_malloc_n(step->n_args, sizeof(*refs));
        kwargs = dp_malloc_n(step->n_args, sizeof(*kwargs));
        if (refs == NULL || kwargs == NULL)
            rc = dpi_no_memory(&r->ctx->error, "a step of a program");
    }
    for (uint32_t k = 0; k < step->n_args && rc == 0; k++)
        rc = dpi_rewrite_ref(r, r->from->links[step->args + k], &refs[k]);
    if (rc == 0)
        rc = dpi_rewrite_when(r, i, &when);
    if (rc == 0) {
        s.when = when != DPI_REF_NONE ? &when : NULL;
        name_arguments(r, step, refs, kwargs, &s);
        fill_kind(r, step, &s);
        r->b->whole_names = step->kind != DPI_STEP_BIND; /* whose overload may be known now */
        rc = dpi_rewrite_add(r, i, &s, first);
        r->b->whole_names = true;
    }
    if (refs != few) {
        dp_free(refs);
        dp_free(kwargs);
    }
    return rc;
}

int dpi_rewrite_keep(dpi_rewrite *r, uint32_t i)
{
    const dpi_step *step = &r->from->steps[i];
    dp_ref first = 0;
    int rc = dpi_rewrite_step(r, i, &first);

    for (uint32_t k = 0; k < step->n_rets && rc == 0; k++)
        rc = dpi_rewrite_set(r, step->ret + k, first + k);
    return rc;
}

int dpi_rewrite_outputs(dpi_rewrite *r)
{
    int rc = 0;

    for (uint32_t i = 0; i < r->from->n_outputs && rc == 0; i++) {
        dp_ref ref;
        rc = dpi_rewrite_ref(r, r->from->outputs[i].ref, &ref);
        if (rc == 0)
            rc = dp_builder_output(r->b, r->from->outputs[i].name, ref);
    }
    return rc;
}

/* -- memory of values -- */

bool dpi_changes_tensor(const dp_schema *s)
{
    static const char *const bases[] = {
        "resize_",    "resize_as_", "set_",           "set_data",        "as_strided_",
        "transpose_", "t_",         "squeeze_",       "unsqueeze_",      "swapaxes_",
        "swapdims_",  "detach_",    "requires_grad_", "_resize_output_", "rename_"};
    bool changes = false;

    for (size_t i = 0; i < DPI_COUNT(bases); i++)
        changes |= strcmp(bases[i], s->base) == 0;
    return changes && strcmp(s->ns, "aten") == 0;
}

void dpi_find_touched(const dp_program *p, bool *touched)
{
    for (uint32_t v = 0; v < p->n_inputs; v++)
        touched[v] = p->values[v].written != 0;
    for (const dpi_step *s = p->steps; s < p->steps + p->n_steps; s++)
        for (uint32_t i = 0; i < s->n_rets; i++) {
            const dpi_share *share = &p->values[s->ret + i].share;
            bool *t = &touched[s->ret + i];
            *t = p->values[s->ret + i].written != 0 || share->how == DPI_UNKNOWN;
            dp_ref root = dpi_root_of(p, s->ret + i);
            *t |= root != s->ret + i && touched[root];
            for (uint32_t k = 0; k < s->n_args && share->how == DPI_SEVERAL; k++)
                *t |= dpi_is_value(p->links[s->args + k]) && touched[p->links[s->args + k]];
        }
}

void dpi_find_kept(const dp_program *p, bool *kept)
{
    bool any_unknown = false;

    dp_zero_n(kept, p->n_values, sizeof(*kept));
    for (uint32_t i = 0; i < p->n_outputs; i++)
        dpi_mark_shared(p, p->outputs[i].ref, kept);
    for (uint32_t k = p->n_steps; k-- > 0;) {
        const dpi_step *s = &p->steps[k];
        bool any = false, passes = s->kind == DP_STEP_LIST || s->kind == DP_STEP_ITEM ||
                                   s->kind == DP_STEP_SELECT;
        for (uint32_t i = 0; i < s->n_rets; i++) {
            uint32_t how = p->values[s->ret + i].share.how;
            any |= kept[s->ret + i] && (passes || how == DPI_SEVERAL || how == DPI_UNKNOWN);
            any_unknown |= kept[s->ret + i] && how == DPI_UNKNOWN;
        }
        for (uint32_t i = 0; i < s->n_args && (any || any_unknown); i++)
            dpi_mark_shared(p, p->links[s->args + i], kept);
    }
}
