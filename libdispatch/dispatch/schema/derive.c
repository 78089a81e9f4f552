/* derive.c -- fill in the fields of a schema that are derived from its arguments and returns.
 *
 * These fields are: aliases, views, the variant (functional, in-place, out, mutable), the letters
 * of the C types (plugin.h) and the canonical text. */
#include "parse.h"

/* Return the alias annotation of `t`.  If a list or an optional has none, return its element's. */
static const dpi_alias *alias_of(const dpi_type *t)
{
    while (!t->alias.present && (t->kind == DPI_TYPE_LIST || t->kind == DPI_TYPE_OPTIONAL))
        t = t->elem;
    return &t->alias;
}

bool dpi_type_written(const dpi_type *t)
{
    for (;; t = t->elem) {
        if (t->alias.write)
            return true;
        if (t->kind != DPI_TYPE_LIST && t->kind != DPI_TYPE_OPTIONAL)
            return false;
    }
}

/* May a value of this type have dispatch keys: is it a Tensor, a Generator, or an optional or list
 * of these? */
static bool carries_keys(const dpi_type *t)
{
    while (t->kind == DPI_TYPE_LIST || t->kind == DPI_TYPE_OPTIONAL)
        t = t->elem;
    return t->kind == DPI_TYPE_TENSOR || t->kind == DPI_TYPE_GENERATOR;
}

/* Do both annotations have "!" and the same alias set, as in "(Tensor(a!) self) -> Tensor(a!)"? */
static bool same_written_set(const dpi_alias *a, const dpi_alias *b)
{
    return a->write && b->write && a->before && b->before && strcmp(a->before, b->before) == 0;
}

/* Do the alias sets of `a` and `b` have a name in common, as "a" and "a|b" have? */
static bool sets_intersect(const dpi_alias *a, const dpi_alias *b)
{
    if (a->before == NULL || b->before == NULL)
        return false;
    for (const char *s = a->before; *s != '\0'; s += strspn(s, "|")) {
        size_t n = strcspn(s, "|");
        for (const char *t = b->before; *t != '\0'; t += strspn(t, "|")) {
            size_t m = strcspn(t, "|");
            if (n == m && memcmp(s, t, n) == 0)
                return true;
            t += m;
        }
        s += n;
    }
    return false;
}

/* Set ret_view[] and `viewed`: a return shares memory with the first argument whose alias set has a
 * name in common with the return's. */
static void derive_views(dp_schema *s)
{
    memset(s->ret_view, -1, sizeof(s->ret_view));
    for (uint32_t r = 0; r < s->n_rets; r++) {
        for (uint32_t i = 0; i < s->n_args && s->ret_view[r] < 0; i++)
            if (sets_intersect(alias_of(s->rets[r].type), alias_of(s->args[i].type)))
                s->ret_view[r] = (int8_t)i;
        if (s->ret_view[r] >= 0 && !s->args[s->ret_view[r]].written)
            s->viewed |= (uint64_t)1 << s->ret_view[r];
    }
}

/* Set ret_alias[], `n_given`, `tensor_args` and `written`. */
static void derive_aliases(dp_schema *s)
{
    memset(s->ret_alias, -1, sizeof(s->ret_alias));
    for (uint32_t i = 0; i < s->n_args; i++) {
        s->tensor_args |= (uint64_t)carries_keys(s->args[i].type) << i;
        s->written |= (uint64_t)s->args[i].written << i;
    }
    s->n_given = s->n_rets;
    for (uint32_t r = 0; r < s->n_rets; r++) {
        for (uint32_t i = 0; i < s->n_args && s->ret_alias[r] < 0; i++)
            if (same_written_set(alias_of(s->rets[r].type), alias_of(s->args[i].type)) &&
                dpi_type_same(s->rets[r].type, s->args[i].type))
                s->ret_alias[r] = (int8_t)i;
        s->n_given -= s->ret_alias[r] >= 0;
    }
}

/* Return the operator's variant, DP_VARIANT_*. */
static int variant_of(const dp_schema *s)
{
    for (uint32_t i = 0; i < s->n_args; i++)
        if (s->args[i].written && s->args[i].kwarg_only)
            return DP_VARIANT_OUT;
    size_t n = strlen(s->base);
    if (s->n_args > 0 && s->args[0].written && n > 0 && s->base[n - 1] == '_')
        return DP_VARIANT_IN_PLACE;
    return s->written != 0 ? DP_VARIANT_MUTABLE : DP_VARIANT_FUNCTIONAL;
}

/* Set `code` to the letters of the arguments, ">", and the letters of the returns that the kernel
 * makes (ret_alias[i] < 0).  `code` becomes "" if a type has no letters, or if the schema has "..."
 * or is only a name. */
static bool derive_code(dpi_parser *p, dp_schema *s)
{
    dpi_text code = {0};
    bool whole = !s->vararg && !s->varret && !s->name_only;

    for (uint32_t i = 0; i < s->n_args && whole; i++)
        whole = dpi_type_code(&code, s->args[i].type);
    dpi_text_add(&code, ">");
    for (uint32_t i = 0; i < s->n_rets && whole; i++)
        whole = s->ret_alias[i] >= 0 || dpi_type_code(&code, s->rets[i].type);
    if (whole || code.failed)
        return (s->code = dpi_parser_store(p, &code)) != NULL;
    dpi_text_fini(&code);
    s->code = "";
    return true;
}

static void print_argument(dpi_text *t, const dpi_argument *a)
{
    dpi_type_print(t, a->type, false);
    if (*a->name) {
        dpi_text_add(t, " ");
        dpi_text_add(t, a->name);
    }
    if (a->has_default) {
        dpi_text_add(t, "=");
        dpi_text_add(t, a->default_text);
    }
}

static void print_returns(dpi_text *t, const dp_schema *s)
{
    bool parentheses = s->n_rets != 1 || s->rets[0].type->kind == DPI_TYPE_TUPLE;

    if (s->varret) {
        dpi_text_add(t, "...");
        return;
    }
    /* Without parentheses a single tuple, or a list of tuples, would parse as several returns. */
    for (const dpi_type *e = s->n_rets == 1 ? s->rets[0].type : NULL; e && !parentheses;
         e = e->kind == DPI_TYPE_LIST || e->kind == DPI_TYPE_OPTIONAL ? e->elem : NULL)
        parentheses = e->kind == DPI_TYPE_TUPLE;
    dpi_text_add(t, parentheses ? "(" : "");
    for (uint32_t i = 0; i < s->n_rets; i++) {
        dpi_text_add(t, i ? ", " : "");
        print_argument(t, &s->rets[i]);
    }
    dpi_text_add(t, parentheses ? ")" : "");
}

static bool derive_text(dpi_parser *p, dp_schema *s)
{
    dpi_text t = {0};
    bool kwarg_only = false;

    dpi_text_add(&t, s->name);
    if (!s->name_only) {
        dpi_text_add(&t, "(");
        for (uint32_t i = 0; i < s->n_args; i++) {
            dpi_text_add(&t, i ? ", " : "");
            if (s->args[i].kwarg_only && !kwarg_only)
                dpi_text_add(&t, "*, ");
            kwarg_only = s->args[i].kwarg_only;
            print_argument(&t, &s->args[i]);
        }
        if (s->vararg)
            dpi_text_add(&t, s->n_args ? ", ..." : "...");
        dpi_text_add(&t, ") -> ");
        print_returns(&t, s);
    }
    return (s->text = dpi_parser_store(p, &t)) != NULL;
}

bool dpi_schema_derive(dpi_parser *p, dp_schema *s)
{
    derive_aliases(s);
    derive_views(s);
    s->variant = variant_of(s);
    return derive_code(p, s) && derive_text(p, s);
}
