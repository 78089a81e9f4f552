/* derive.c -- what follows from a schema's arguments and returns: aliases, views, form, C type,
 * text. */
#include "parse.h"

/* Where alias info of a whole argument stands: on the type, or on what it contains. */
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

static bool carries_keys(const dpi_type *t)
{
    while (t->kind == DPI_TYPE_LIST || t->kind == DPI_TYPE_OPTIONAL)
        t = t->elem;
    return t->kind == DPI_TYPE_TENSOR || t->kind == DPI_TYPE_GENERATOR;
}

static bool same_set(const dpi_alias *a, const dpi_alias *b)
{
    return a->write && b->write && a->before && b->before && strcmp(a->before, b->before) == 0;
}

/* Do two alias sets, "a" and "a|b", have a name in common? */
static bool sets_meet(const dpi_alias *a, const dpi_alias *b)
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

/* Which argument each return shares memory with, by the letters of their alias sets. */
static void derive_views(dp_schema *s)
{
    memset(s->ret_view, -1, sizeof(s->ret_view));
    for (uint32_t r = 0; r < s->n_rets; r++) {
        for (uint32_t i = 0; i < s->n_args && s->ret_view[r] < 0; i++)
            if (sets_meet(alias_of(s->rets[r].type), alias_of(s->args[i].type)))
                s->ret_view[r] = (int8_t)i;
        if (s->ret_view[r] >= 0 && !s->args[s->ret_view[r]].written)
            s->viewed |= (uint64_t)1 << s->ret_view[r];
    }
}

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
            if (same_set(alias_of(s->rets[r].type), alias_of(s->args[i].type)) &&
                dpi_type_same(s->rets[r].type, s->args[i].type))
                s->ret_alias[r] = (int8_t)i;
        s->n_given -= s->ret_alias[r] >= 0;
    }
}

static int form_of(const dp_schema *s)
{
    for (uint32_t i = 0; i < s->n_args; i++)
        if (s->args[i].written && s->args[i].kwarg_only)
            return DP_VARIANT_OUT;
    size_t n = strlen(s->base);
    if (s->n_args > 0 && s->args[0].written && n > 0 && s->base[n - 1] == '_')
        return DP_VARIANT_IN_PLACE;
    return s->written != 0 ? DP_VARIANT_MUTABLE : DP_VARIANT_FUNCTIONAL;
}

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
        return (s->code = dpi_parser_keep(p, &code)) != NULL;
    dpi_text_fini(&code);
    s->code = "";
    return true;
}

static void print_argument(dpi_text *t, const dpi_argument *a)
{
    dpi_type_print(t, a->type, false);
    if (*a->name)
        dpi_text_printf(t, " %s", a->name);
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
    /* A single tuple, or a list of them, would read as several returns. */
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
    return (s->text = dpi_parser_keep(p, &t)) != NULL;
}

bool dpi_schema_derive(dpi_parser *p, dp_schema *s)
{
    derive_aliases(s);
    derive_views(s);
    s->form = form_of(s);
    return derive_code(p, s) && derive_text(p, s);
}
