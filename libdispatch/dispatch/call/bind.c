/* bind.c -- choose the overload of a call and fit the arguments to its schema.
 *
 * Overloads are tried in the order of definition, in two passes.  The second pass also accepts
 * numbers for tensors, and 0-dim tensors for numbers (python_arg_parser.cpp).  If only one overload
 * takes this number of arguments with these names, the first pass is skipped.  No error message is
 * formatted in these passes.  If no overload fits, the most likely overload is tried again to
 * describe the error. */
#include "bind.h"
#include "coerce.h"
#include "ctx.h"
#include "enums.h"
#include "find.h"
#include "values.h"
#include <stdio.h>

/* Copy a default value: the schema that has it may be unloaded during the request. */
static int copy_default(const dpi_fit_try *f, const dp_value *def, dp_value *out)
{
    *out = *def;
    return dpi_values_copy(&f->rq->ctx->arena, out, 1) < 0 ? no_memory(f) : 0;
}

/* -- one schema -- */

static uint32_t positionals(const dp_schema *s)
{
    uint32_t n = 0;

    while (n < s->n_args && !s->args[n].kwarg_only)
        n++;
    return n;
}

static uint32_t required(const dp_schema *s)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->n_args; i++)
        n += !s->args[i].has_default;
    return n;
}

static const dp_kwarg *kwarg_of(const dpi_request *rq, const char *name)
{
    for (size_t i = 0; i < rq->n_kwargs; i++)
        if (strcmp(rq->kwargs[i].name, name) == 0)
            return &rq->kwargs[i];
    return NULL;
}

/* Return the value that the caller gave for argument `i`; NULL: none. */
static const dp_value *given(const dpi_fit_try *f, uint32_t i)
{
    if (i < f->rq->n_args)
        return &f->rq->args[i];
    const dp_kwarg *kw = kwarg_of(f->rq, f->schema->args[i].name);
    return kw ? &kw->value : NULL;
}

static int fail_count(const dpi_fit_try *f)
{
    uint32_t most = positionals(f->schema), least = 0;

    for (uint32_t i = 0; i < most; i++)
        least += !f->schema->args[i].has_default;
    if (least < most)
        return dp_error_set(f->err, DP_ETYPE,
                            "%s: takes from %u to %u positional arguments, but %zu were given",
                            f->schema->name, least, most, f->rq->n_args);
    return dp_error_set(f->err, DP_ETYPE, "%s: takes %u positional argument%s, but %zu %s given",
                        f->schema->name, most, most == 1 ? "" : "s", f->rq->n_args,
                        f->rq->n_args == 1 ? "was" : "were");
}

static int fail_unknown(const dpi_fit_try *f, const char *name)
{
    const char *names[DP_LIMIT_ARGUMENTS];
    char near[200] = "";

    for (uint32_t i = 0; i < f->schema->n_args; i++)
        names[i] = f->schema->args[i].name;
    if (f->err != NULL)
        dpi_nearest(name, names, f->schema->n_args, 3, near, sizeof(near));
    return dp_error_set(f->err, DP_ETYPE, "%s: has no argument named '%s'; nearest: %s",
                        f->schema->name, name, near[0] ? near : "(it takes none)");
}

static int fail_missing(const dpi_fit_try *f)
{
    dpi_text names = {0};
    uint32_t n = 0;

    if (f->err == NULL)
        return DP_ETYPE;
    for (uint32_t i = 0; i < f->schema->n_args; i++)
        if (given(f, i) == NULL && !f->schema->args[i].has_default)
            dpi_text_printf(&names, "%s'%s'", n++ ? ", " : "", f->schema->args[i].name);
    int rc = names.failed ? no_memory(f)
                          : dp_error_set(f->err, DP_ETYPE, "%s: missing %u required argument%s: %s",
                                         f->schema->name, n, n == 1 ? "" : "s", names.s);
    dpi_text_fini(&names);
    return rc;
}

static int fail_value(const dpi_fit_try *f, uint32_t i)
{
    const dpi_argument *arg = &f->schema->args[i];
    const dp_value *v = given(f, i);
    dpi_text t = {0};

    dpi_text_printf(&t, "%s: argument '%s'", f->schema->name, arg->name);
    if (i < f->rq->n_args)
        dpi_text_printf(&t, " (position %u)", i + 1);
    dpi_text_add(&t, " must be ");
    dpi_type_print(&t, arg->type, true);
    if (f->element < 0)
        dpi_text_printf(&t, ", not %s", f->actual);
    else
        dpi_text_printf(&t, ", not %s with %s at index %lld", dpi_value_kind(given(f, i)),
                        f->actual, (long long)f->element);
    if (dpi_enum_kind(arg->type) != 0 && v != NULL && v->tag == DP_TAG_STR)
        dpi_enum_nearest(&t, dpi_enum_kind(arg->type), v->u.s);
    int rc = t.failed ? no_memory(f) : dp_error_set(f->err, DP_ETYPE, "%s", t.s);
    dpi_text_fini(&t);
    return rc;
}

/* Return the index of the argument `name`; s->n_args: there is none. */
static uint32_t index_of(const dp_schema *s, const char *name)
{
    uint32_t i = 0;

    while (i < s->n_args && strcmp(s->args[i].name, name) != 0)
        i++;
    return i;
}

/* Check the number and names of the arguments, before their values are fitted. */
static int check_names(const dpi_fit_try *f)
{
    const dp_schema *s = f->schema;
    const dpi_request *rq = f->rq;

    if (s->vararg)
        return dp_error_set(f->err, DP_ETYPE,
                            "%s: takes any number of arguments ('...'), which a call cannot give",
                            s->name);
    if (rq->n_args > positionals(s))
        return fail_count(f);
    for (size_t k = 0; k < rq->n_kwargs; k++) {
        const char *name = rq->kwargs[k].name;
        uint32_t i = index_of(s, name);
        if (i == s->n_args)
            return fail_unknown(f, name);
        if (i < rq->n_args || kwarg_of(rq, name) != &rq->kwargs[k])
            return dp_error_set(f->err, DP_ETYPE, "%s: argument '%s' has more than one value",
                                s->name, name);
    }
    for (uint32_t i = (uint32_t)rq->n_args; i < s->n_args; i++)
        if (!s->args[i].has_default && given(f, i) == NULL)
            return fail_missing(f);
    return 0;
}

/* Fit one argument.  `v` NULL: use the default. */
static int fit_argument(dpi_fit_try *f, uint32_t i, const dp_value *v, dp_value *out)
{
    const dpi_argument *arg = &f->schema->args[i];

    f->written = arg->written;
    f->late = false;
    f->element = -1;
    f->actual[0] = '\0';
    int rc = v ? dpi_coerce(f, arg->type, v, out) : copy_default(f, &arg->def, out);
    return rc == DP_ETYPE && f->err != NULL ? fail_value(f, i) : rc;
}

static int fit_arguments(dpi_fit_try *f, dp_value *out, uint64_t *late)
{
    int rc = f->rq->names_checked ? 0 : check_names(f);

    *late = 0;
    for (uint32_t i = 0; rc == 0 && i < f->schema->n_args; i++) {
        rc = fit_argument(f, i, given(f, i), &out[i]);
        *late |= (uint64_t)f->late << i;
    }
    return rc;
}

static int fit_schema(const dpi_request *rq, const dpi_entry *e, bool loose, dp_error *err,
                      dp_bound *out)
{
    const dp_schema *s = e->schema;
    dpi_fit_try f = {.rq = rq, .schema = s, .err = err, .loose = loose};
    dp_value *values = dp_arena_alloc_n(&rq->ctx->arena, (size_t)s->n_args, sizeof(dp_value));
    uint64_t late = 0;
    int rc = values ? fit_arguments(&f, values, &late) : no_memory(&f);

    if (rc < 0)
        return rc;
    if (rq->kinds != NULL)
        *rq->kinds = (dpi_kinds){f.maybe && !rq->single_overload ? NULL : e->schema, late};
    out->op = e->op;
    out->n_args = s->n_args;
    out->n_rets = s->n_rets;
    out->args = values;
    out->written = s->written;
    out->ret_written = 0;
    memset(out->ret_alias, -1, sizeof(out->ret_alias));
    for (uint32_t i = 0; i < s->n_rets; i++) {
        out->ret_alias[i] = s->ret_alias[i];
        out->ret_names[i] = dpi_enum_kind(s->rets[i].type);
        if (s->ret_alias[i] >= 0)
            out->ret_written |= (uint64_t)1 << i;
    }
    return 0;
}

/* -- overloads -- */

static int fail_undefined(const dpi_entry *e, dp_error *err)
{
    const dpi_kernel *k = e->kernels[0];

    return dp_error_set(err, DP_ENOTFOUND,
                        "operator '%s' is implemented (plugin '%s', %s:%u) but not defined: no "
                        "plugin that is loaded has its schema",
                        e->op->name, k->gen->plugin, k->file, k->line);
}

/* List the overloads that have the full name `name`, or, if it names no overload and need not be
 * whole, that base name; leave out those without a schema. */
static int candidates(const dpi_request *rq, const char *name, const dpi_entry ***out, size_t *n)
{
    dp_ctx *ctx = rq->ctx;
    const dpi_snapshot *s = dpi_ctx_snapshot(ctx);
    size_t base = dpi_base_bytes(name), found, n_kept = 0;
    bool whole = rq->whole_name || name[base] == '.';
    const dpi_entry *exact = whole ? dpi_snapshot_find(s, name, strlen(name)) : NULL;
    const dpi_entry **list;

    found = exact ? 1 : whole ? 0 : dpi_overloads(s, name, base, NULL, 0);
    if (found == 0)
        return dpi_no_operator(s, name, &ctx->error);
    if ((list = dp_arena_alloc_n(&ctx->arena, found, sizeof(*list))) == NULL)
        return dpi_no_memory(&ctx->error, "overloads of an operator");
    list[0] = exact;
    if (exact == NULL)
        dpi_overloads(s, name, base, list, found);
    const dpi_entry *first = list[0];
    for (size_t i = 0; i < found; i++)
        if (list[i]->schema != NULL)
            list[n_kept++] = list[i];
    *out = list;
    *n = n_kept;
    return n_kept ? 0 : fail_undefined(first, &ctx->error);
}

/* Could a call with this number of arguments mean schema `s`? */
static bool plausible(const dpi_request *rq, const dp_schema *s)
{
    size_t n = rq->n_args + rq->n_kwargs;
    return rq->n_args <= positionals(s) && n >= required(s) && n <= s->n_args;
}

static void describe_request(const dpi_request *rq, dpi_text *t)
{
    char kind[96];

    for (size_t i = 0; i < rq->n_args; i++) {
        dpi_describe(&rq->args[i], kind, sizeof(kind));
        dpi_text_printf(t, "%s%s", i ? ", " : "", kind);
    }
    for (size_t i = 0; i < rq->n_kwargs; i++) {
        dpi_describe(&rq->kwargs[i].value, kind, sizeof(kind));
        dpi_text_printf(t, "%s%s=%s", i || rq->n_args ? ", " : "", rq->kwargs[i].name, kind);
    }
}

/* Describe that no overload fits.  If one overload is likely meant, say why it does not fit;
 * otherwise list the kinds of the arguments and all overloads. */
static int fail_fit(const dpi_request *rq, const char *name, const dpi_entry **list, size_t n)
{
    const dpi_entry *likely = NULL;
    size_t n_likely = 0;
    dpi_text t = {0};
    dp_bound unused;

    for (size_t i = 0; i < n; i++)
        if (n == 1 || plausible(rq, list[i]->schema)) {
            likely = list[i];
            n_likely++;
        }
    if (n_likely == 1)
        return fit_schema(rq, likely, true, &rq->ctx->error, &unused);
    dpi_text_printf(&t, "%s: no overload takes (", name);
    describe_request(rq, &t);
    dpi_text_add(&t, "); it has:");
    for (size_t i = 0; i < n; i++)
        dpi_text_printf(&t, "\n  %s", list[i]->schema->text);
    if (t.failed)
        dpi_no_memory(&rq->ctx->error, "message");
    else
        dp_error_set(&rq->ctx->error, DP_ETYPE, "%s", t.s);
    int rc = t.failed ? DP_ERESOURCE : DP_ETYPE;
    dpi_text_fini(&t);
    return rc;
}

/* Fail if a keyword argument is a string that is not the name of a dtype, although all `n`
 * overloads in `list` take a dtype for that argument.  Do the same for layouts, memory formats and
 * devices.  Return 0 if there is no such argument.  check_names() must have passed for all of
 * `list`, and `n` is at least 1. */
static int fail_name(const dpi_request *rq, const dpi_entry *const *list, size_t n)
{
    for (size_t k = 0; k < rq->n_kwargs; k++) {
        const dp_value *v = &rq->kwargs[k].value;
        dpi_fit_try f = {.rq = rq, .element = -1};
        uint8_t kind = 0;
        size_t wrong = 0;
        uint32_t i = 0;
        dp_value unused;
        for (; v->tag == DP_TAG_STR && wrong < n; wrong++) {
            f.schema = list[wrong]->schema;
            i = index_of(f.schema, rq->kwargs[k].name);
            const dpi_type *type = f.schema->args[i].type;
            if (wrong == 0)
                kind = dpi_enum_kind(type);
            if (kind == 0 || dpi_enum_kind(type) != kind ||
                dpi_coerce(&f, type, v, &unused) != DP_ETYPE)
                break;
        }
        if (wrong < n)
            continue;
        f.err = &rq->ctx->error;
        dpi_describe(v, f.actual, sizeof(f.actual));
        return fail_value(&f, i);
    }
    return 0;
}

/* Write to `out` the overloads in list [n] that take this number of arguments with these names, and
 * return the number of these overloads. */
static size_t filter_by_names(dpi_request *rq, const dpi_entry *const *list, size_t n,
                              const dpi_entry **out)
{
    size_t n_kept = 0;

    for (size_t i = 0; i < n; i++)
        if (check_names(&(dpi_fit_try){.rq = rq, .schema = list[i]->schema}) == 0)
            out[n_kept++] = list[i];
    rq->names_checked = true;
    return n_kept;
}

static int choose(const dpi_request *rq, const dpi_entry *const *list, size_t n, dp_bound *out)
{
    /* The loose pass accepts all that the first pass accepts, so one overload needs only the loose
     * pass. */
    for (int loose = rq->single_overload; loose < 2; loose++)
        for (size_t i = 0; i < n; i++) {
            int rc = fit_schema(rq, list[i], loose != 0, NULL, out);
            if (rc != DP_ETYPE)
                return rc;
        }
    return DP_ETYPE;
}

/* Return the position of the argument whose list a call may give as numbers one by one, like sizes
 * in permute(x, 1, 0): the last positional one of schema `s`, if it is a list of ints of any
 * length.  DP_LIMIT_ARGUMENTS: `s` has no such list, or `rq` does not give it one or more ints. */
static uint32_t spread_from(const dpi_request *rq, const dp_schema *s)
{
    uint32_t n = positionals(s);
    const dpi_type *type = n > 0 ? s->args[n - 1].type : NULL;

    if (type == NULL || type->kind != DPI_TYPE_LIST || type->sized ||
        dpi_list_tag(type->elem) != DP_TAG_INTS || rq->n_args < n)
        return DP_LIMIT_ARGUMENTS;
    for (size_t i = n - 1; i < rq->n_args; i++)
        if (rq->args[i].tag != DP_TAG_INT)
            return DP_LIMIT_ARGUMENTS;
    return n - 1;
}

/* Try once more with the last numbers as one list, as PyTorch's parser of Python arguments does.
 * This is not done for calls in programs (rq->kinds).  DP_ETYPE: no overload fits. */
static int choose_spread(dpi_request *rq, const dpi_entry *const *list, size_t n, dp_bound *out)
{
    dp_arena *arena = &rq->ctx->arena;
    uint32_t from = DP_LIMIT_ARGUMENTS;

    for (size_t i = 0; i < n && from == DP_LIMIT_ARGUMENTS && rq->kinds == NULL; i++)
        from = spread_from(rq, list[i]->schema);
    if (from == DP_LIMIT_ARGUMENTS)
        return DP_ETYPE;
    size_t n_items = rq->n_args - from;
    dp_value *args = dp_arena_alloc_n(arena, (size_t)from + 1, sizeof(*args));
    int64_t *items = dp_arena_alloc_n(arena, n_items, sizeof(*items));
    if (args == NULL || items == NULL)
        return dpi_no_memory(&rq->ctx->error, "arguments of a call");
    for (uint32_t i = 0; i < from; i++)
        args[i] = rq->args[i];
    for (size_t i = 0; i < n_items; i++)
        items[i] = rq->args[from + i].u.i;
    args[from] = dp_ints(items, n_items);
    dpi_request joined = *rq;
    joined.args = args;
    joined.n_args = (size_t)from + 1;
    joined.single_overload = n == 1;
    return choose(&joined, list, n, out);
}

static int choose_or_explain(dpi_request *rq, const char *name, const dpi_entry **list, size_t n,
                             dp_bound *out)
{
    const dpi_entry **matching = list;
    size_t n_matching = n;

    if (n > 1) {
        if ((matching = dp_arena_alloc_n(&rq->ctx->arena, n, sizeof(*matching))) == NULL)
            return dpi_no_memory(&rq->ctx->error, "overloads of an operator");
        n_matching = filter_by_names(rq, list, n, matching);
    }
    rq->single_overload = n_matching == 1;
    int rc = choose(rq, matching, n_matching, out);
    rq->names_checked = false;
    if (rc == DP_ETYPE)
        rc = choose_spread(rq, list, n, out);
    if (rc != DP_ETYPE)
        return rc;
    if (n_matching > 1 && (rc = fail_name(rq, matching, n_matching)) != 0)
        return rc;
    return n_matching == 1 ? fail_fit(rq, name, matching, 1) : fail_fit(rq, name, list, n);
}

static int bind_one(dpi_request *rq, const char *name, dp_bound *out)
{
    dp_ctx *ctx = rq->ctx;
    const dpi_entry **list = NULL;
    bool begun;
    size_t n = 0;
    int rc = dpi_ctx_pin(ctx, &begun);

    *out = (dp_bound){0};
    if (rc < 0)
        return rc;
    rc = candidates(rq, name, &list, &n);
    if (rc == 0)
        rc = choose_or_explain(rq, name, list, n, out);
    if (rc < 0)
        snprintf(ctx->error.op, sizeof(ctx->error.op), "%s", name);
    dpi_ctx_unpin(ctx, begun);
    return rc;
}

int dp_bind(dp_ctx *ctx, const char *name, const dp_value *args, size_t n_args,
            const dp_kwarg *kwargs, size_t n_kwargs, dp_bound *out)
{
    if (!DPI_GIVEN(&ctx->error, DP_EVALUE, name, out))
        return DP_EVALUE;
    dpi_request rq = {ctx, args, n_args, kwargs, n_kwargs, NULL, false, false, false};

    return bind_one(&rq, name, out);
}

int dpi_bind_kinds(dp_ctx *ctx, const char *name, bool whole, const dp_value *args, size_t n_args,
                   const dp_kwarg *kwargs, size_t n_kwargs, dp_bound *out, dpi_kinds *kinds)
{
    dpi_request rq = {ctx, args, n_args, kwargs, n_kwargs, kinds, false, false, whole};

    return bind_one(&rq, name, out);
}

int dpi_fit(dp_ctx *ctx, const dp_schema *schema, uint64_t late, dp_value *values)
{
    dpi_request rq = {ctx, values, schema->n_args, NULL, 0, NULL, true, true, true};
    dpi_fit_try f = {.rq = &rq, .schema = schema, .err = &ctx->error, .loose = true};
    int rc = 0;

    for (; late != 0 && rc == 0; late &= late - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(late);
        dp_value fitted;
        rc = fit_argument(&f, i, &values[i], &fitted);
        if (rc == 0)
            values[i] = fitted;
    }
    if (rc < 0)
        snprintf(ctx->error.op, sizeof(ctx->error.op), "%s", schema->name);
    return rc;
}
