/* parse.c -- parse the text of a function schema into a dp_schema.
 *
 * The parser is a recursive-descent parser without a separate lexer.  The grammar is that of
 * torch/csrc/jit/frontend/function_schema_parser.cpp.  A schema and all that it points to lie in
 * one arena and are immutable after parsing.  dp_schema.text is the schema in canonical form:
 * equal schemas have equal texts, and parsing the text gives the schema again.  In addition to
 * PyTorch's checks, names of arguments must be unique, since clients pass arguments by name. */
#include "parse.h"
#include <limits.h>
#include <locale.h>
#include <stdlib.h>

static bool parse_name(dpi_parser *p, dp_schema *s)
{
    const char *what = "an operator name";

    if (!(s->base = dpi_parser_ident(p, what)))
        return false;
    s->ns = s->overload = "";
    if (dpi_parser_accept(p, "::")) {
        s->ns = s->base;
        if (!(s->base = dpi_parser_ident(p, what)))
            return false;
    }
    if (dpi_parser_accept(p, ".") && !(s->overload = dpi_parser_ident(p, "an overload name")))
        return false;
    if (strcmp(s->overload, "default") == 0 || strncmp(s->overload, "__", 2) == 0)
        return dpi_parser_refuse(p, DP_EVALUE, "not a legal overload name:", s->overload);
    return true;
}

/* Set the full name, "ns::base.overload", which has at most DP_LIMIT_NAME_BYTES bytes. */
static bool join_name(dpi_parser *p, dp_schema *s)
{
    dpi_text t = {0};
    const char *const parts[] = {s->ns, *s->ns ? "::" : "", s->base, *s->overload ? "." : "",
                                 s->overload};

    for (size_t i = 0; i < DPI_COUNT(parts); i++)
        dpi_text_add(&t, parts[i]);
    size_t n = t.len;
    if (!(s->name = dpi_parser_store(p, &t)))
        return false;
    return n <= DP_LIMIT_NAME_BYTES ||
           dpi_parser_over_limit(p, "bytes in a name", DP_LIMIT_NAME_BYTES);
}

/* Parse an alias set: "a", "a|b" or "*".  If the set contains "*", set `*wildcard` and drop the
 * names; otherwise store the names, joined by "|", in `*set`. */
static bool parse_alias_set(dpi_parser *p, const char **set, bool *wildcard)
{
    dpi_text t = {0};

    do {
        size_t n = dpi_parser_ident_length(p);
        if (dpi_parser_accept(p, "*"))
            *wildcard = true;
        else if (n > 0) {
            dpi_text_add(&t, t.len ? "|" : "");
            dpi_text_addn(&t, p->at, n);
            p->at += n;
        } else {
            dpi_text_fini(&t);
            return dpi_parser_fail(p, "an alias set or '*'");
        }
    } while (dpi_parser_accept(p, "|"));
    if (*wildcard) {
        dpi_text_fini(&t);
        return true;
    }
    return (*set = dpi_parser_store(p, &t)) != NULL;
}

static bool parse_alias(dpi_parser *p, dpi_alias *a)
{
    if (dpi_parser_accept(p, "!")) {
        a->present = a->bare = a->write = true;
        return true;
    }
    if (!dpi_parser_accept(p, "("))
        return true;
    a->present = true;
    if (!parse_alias_set(p, &a->before, &a->wildcard_before))
        return false;
    a->write = dpi_parser_accept(p, "!");
    if (dpi_parser_accept(p, "->")) {
        if (!parse_alias_set(p, &a->after, &a->wildcard_after))
            return false;
        a->has_after = a->wildcard_before != a->wildcard_after ||
                       (a->before && a->after && strcmp(a->before, a->after) != 0);
    }
    return dpi_parser_expect(p, ")");
}

static dpi_type *parse_type(dpi_parser *p, int depth, int *height);

static dpi_type *type_new(dpi_parser *p, int kind, dpi_type *elem)
{
    dpi_type *t = dpi_parser_alloc(p, sizeof(*t));

    if (t) {
        t->kind = (uint8_t)kind;
        t->elem = elem;
    }
    return t;
}

/* Parse the remainder of a tuple type after "(". */
static dpi_type *parse_tuple(dpi_parser *p, int depth, int *height)
{
    dpi_type *t = type_new(p, DPI_TYPE_TUPLE, NULL);

    if (t == NULL)
        return NULL;
    dpi_type **tail = &t->elem;
    do {
        if (!(*tail = parse_type(p, depth, height)))
            return NULL;
        tail = &(*tail)->next;
    } while (dpi_parser_accept(p, ","));
    return dpi_parser_expect(p, ")") ? t : NULL;
}

static dpi_type *parse_dict(dpi_parser *p, int depth, int *height)
{
    dpi_type *t = type_new(p, DPI_TYPE_DICT, NULL);

    if (t && (t->elem = parse_type(p, depth, height)) && dpi_parser_expect(p, ",") &&
        (t->value = parse_type(p, depth, height)) && dpi_parser_expect(p, ")"))
        return t;
    return NULL;
}

static dpi_type *parse_future(dpi_parser *p, const char *name, int depth, int *height)
{
    dpi_type *t = type_new(p, DPI_TYPE_FUTURE, NULL);

    if (t && (t->elem = parse_type(p, depth, height)) && dpi_parser_expect(p, ")")) {
        t->name = name;
        return t;
    }
    return NULL;
}

/* Parse the remainder of "__torch__.torch.classes.ns.Class" after "__torch__". */
static dpi_type *parse_class(dpi_parser *p)
{
    dpi_type *t = type_new(p, DPI_TYPE_CLASS, NULL);
    dpi_text name = {0};

    dpi_text_add(&name, "__torch__");
    if (!dpi_parser_expect(p, ".torch.classes"))
        t = NULL;
    else
        dpi_text_add(&name, ".torch.classes");
    for (int i = 0; t && i < 2; i++) {
        size_t n = dpi_parser_expect(p, ".") ? dpi_parser_ident_length(p) : 0;
        if (n == 0) {
            dpi_parser_fail(p, "a class name");
            t = NULL;
            break;
        }
        dpi_text_add(&name, ".");
        dpi_text_addn(&name, p->at, n);
        p->at += n;
    }
    if (t == NULL)
        dpi_text_fini(&name);
    else if (!(t->name = dpi_parser_store(p, &name)))
        t = NULL;
    return t;
}

/* Make the type called `name`: a one-word type or a type variable.  `start`: position of the name
 * in the text, for an error.  `before`: where the arena stood before it got `name`, which is
 * forgotten if the type is one word: such words have constant names. */
static dpi_type *parse_word(dpi_parser *p, const char *name, const char *start, char *before)
{
    const dpi_word *w = dpi_word_named(&name);

    if (w != NULL) {
        name = w->name;
        dpi_arena_rewind(p->arena, before);
    }
    dpi_type *t = type_new(p, DPI_TYPE_VARIABLE, NULL);

    if (t == NULL)
        return NULL;
    t->name = name;
    if (w != NULL)
        t->kind = w->kind;
    if (w != NULL || (name[0] >= 'a' && name[0] <= 'z'))
        return t;
    p->at = start;
    dpi_parser_fail(p, "a type");
    return NULL;
}

static dpi_type *parse_base(dpi_parser *p, int depth, int *height)
{
    if (dpi_parser_accept(p, "("))
        return parse_tuple(p, depth, height);
    dpi_parser_skip(p);
    char *before = p->arena->at;
    const char *start = p->at, *name = dpi_parser_ident(p, "a type");
    if (name == NULL)
        return NULL;
    if (strcmp(name, "Dict") == 0)
        return dpi_parser_expect(p, "(") ? parse_dict(p, depth, height) : NULL;
    if (strcmp(name, "Future") == 0 || strcmp(name, "RRef") == 0 || strcmp(name, "Await") == 0)
        return dpi_parser_expect(p, "(") ? parse_future(p, name, depth, height) : NULL;
    if (strcmp(name, "__torch__") == 0)
        return parse_class(p);
    return parse_word(p, name, start, before);
}

/* Parse the remainder of "[]" or "[2]" after "[". */
static bool parse_list_size(dpi_parser *p, dpi_type *t)
{
    dpi_parser_skip(p);
    size_t digits = strspn(p->at, DIGITS);
    long size = digits > 10 ? LONG_MAX : strtol(p->at, NULL, 10);

    t->sized = digits > 0;
    if (t->sized && size > INT32_MAX)
        return dpi_parser_fail(p, "a list size from 0 to 2147483647");
    t->n = t->sized ? (uint32_t)size : 0;
    p->at += digits;
    return dpi_parser_expect(p, "]");
}

/* Parse a type: base [alias] { "[" [N] "]" [alias] | "?" }.  `depth`: number of types that enclose
 * this type.  If this type has more nested levels than `*height`, set `*height` to that number. */
static dpi_type *parse_type(dpi_parser *p, int depth, int *height)
{
    int inner = 0, levels = 1;

    if (depth >= DP_LIMIT_TYPE_DEPTH) {
        dpi_parser_over_limit(p, "levels in a type", DP_LIMIT_TYPE_DEPTH);
        return NULL;
    }
    dpi_type *t = parse_base(p, depth + 1, &inner);
    if (t == NULL || !parse_alias(p, &t->alias))
        return NULL;
    for (bool list; (list = dpi_parser_accept(p, "[")) || dpi_parser_accept(p, "?"); levels++) {
        t = type_new(p, list ? DPI_TYPE_LIST : DPI_TYPE_OPTIONAL, t);
        if (t == NULL || (list && (!parse_list_size(p, t) || !parse_alias(p, &t->alias))))
            return NULL;
    }
    levels += inner;
    if (levels > DP_LIMIT_TYPE_DEPTH) {
        dpi_parser_over_limit(p, "levels in a type", DP_LIMIT_TYPE_DEPTH);
        return NULL;
    }
    if (levels > *height)
        *height = levels;
    return t;
}

/* -- arguments and returns -- */

static bool parse_argument(dpi_parser *p, dpi_argument *a, bool is_return)
{
    int height = 0;

    a->name = "";
    a->type = parse_type(p, 0, &height);
    if (a->type == NULL)
        return false;
    if ((!is_return || dpi_parser_ident_length(p) > 0) &&
        !(a->name = dpi_parser_ident(p, "an argument name")))
        return false;
    a->tags = dpi_type_tags(a->type);
    a->written = dpi_type_written(a->type);
    if (is_return || !dpi_parser_accept(p, "="))
        return true;
    a->has_default = true;
    return dpi_parse_default(p, a->type, &a->def) &&
           (a->default_text = dpi_default_text(p, a->type, &a->def)) != NULL;
}

static bool add_argument(dpi_parser *p, dpi_argument *list, uint32_t *n, bool is_return,
                         bool kwarg_only)
{
    if (*n == DP_LIMIT_ARGUMENTS)
        return dpi_parser_over_limit(p, is_return ? "returns" : "arguments", DP_LIMIT_ARGUMENTS);
    dpi_argument *a = &list[*n];
    if (!parse_argument(p, a, is_return))
        return false;
    for (uint32_t i = 0; *a->name && i < *n; i++)
        if (strcmp(list[i].name, a->name) == 0)
            return dpi_parser_refuse(
                p, DP_EVALUE, is_return ? "two returns named" : "two arguments named", a->name);
    a->kwarg_only = kwarg_only;
    ++*n;
    return true;
}

/* Parse the remainder of the arguments after "(". */
static bool parse_arguments(dpi_parser *p, dp_schema *s, dpi_argument *list)
{
    bool kwarg_only = false, more = !dpi_parser_accept(p, ")");

    while (more) {
        if (dpi_parser_accept(p, "...")) {
            s->vararg = true;
            return dpi_parser_expect(p, ")");
        }
        if (dpi_parser_accept(p, "*")) {
            if (kwarg_only)
                return dpi_parser_fail(p, "one '*'");
            kwarg_only = true;
        } else if (!add_argument(p, list, &s->n_args, false, kwarg_only))
            return false;
        more = dpi_parser_accept(p, ",");
        if (!more && !dpi_parser_expect(p, ")"))
            return false;
    }
    return true;
}

static bool parse_returns(dpi_parser *p, dp_schema *s, dpi_argument *list)
{
    if (dpi_parser_accept(p, "...")) {
        s->varret = true;
        return true;
    }
    if (!dpi_parser_accept(p, "("))
        return add_argument(p, list, &s->n_rets, true, false);
    for (bool more = !dpi_parser_accept(p, ")"); more;) {
        if (!add_argument(p, list, &s->n_rets, true, false))
            return false;
        more = dpi_parser_accept(p, ",");
        if (!more && !dpi_parser_expect(p, ")"))
            return false;
    }
    return true;
}

static dpi_argument *copy_list(dpi_parser *p, const dpi_argument *list, uint32_t n)
{
    dpi_argument *copy = dpi_parser_alloc(p, n * sizeof(*copy));
    if (copy != NULL)
        dp_copy_n(copy, list, n, sizeof(*copy));
    return copy;
}

static bool parse_signature(dpi_parser *p, dp_schema *s)
{
    dpi_argument list[DP_LIMIT_ARGUMENTS];

    memset(list, 0, sizeof(list));
    if (!parse_arguments(p, s, list) || !(s->args = copy_list(p, list, s->n_args)))
        return false;
    memset(list, 0, sizeof(list));
    return dpi_parser_expect(p, "->") && parse_returns(p, s, list) &&
           (s->rets = copy_list(p, list, s->n_rets)) != NULL;
}

/* -- a schema -- */

static bool parse_schema(dpi_parser *p, const char *ns, dp_schema *s)
{
    if (!parse_name(p, s))
        return false;
    if (ns && *s->ns && strcmp(ns, s->ns) != 0)
        return dpi_parser_refuse(p, DP_EVALUE, "a schema of another namespace in the library of",
                                 ns);
    if (ns && !(s->ns = dpi_parser_copy(p, ns, strlen(ns))))
        return false;
    if (!join_name(p, s))
        return false;
    s->name_only = !dpi_parser_accept(p, "(");
    if (!s->name_only && !parse_signature(p, s))
        return false;
    dpi_parser_skip(p);
    if (*p->at != '\0')
        return dpi_parser_fail(p, s->name_only ? "'(' or the end" : "the end");
    return dpi_schema_derive(p, s);
}

/* Check that the print of `s`, which was parsed from `text`, is no longer than a schema may be: a
 * default of one value for a list has a value for each element there. */
static int check_print(const dp_schema *s, const char *text, dp_error *err)
{
    size_t bytes = strlen(text);

    for (uint32_t i = 0; i < s->n_args; i++)
        bytes += s->args[i].default_text != NULL ? strlen(s->args[i].default_text) : 0;
    if (bytes <= DP_LIMIT_SCHEMA_BYTES)
        return DP_OK;
    char *print = dp_schema_print(s);
    if (print == NULL)
        return dpi_no_memory(err, "a schema");
    bytes = strlen(print);
    dp_free(print);
    return bytes <= DP_LIMIT_SCHEMA_BYTES
               ? DP_OK
               : dp_error_set(err, DP_ERESOURCE,
                              "a schema of %zu bytes with its lists written out, more than %d: "
                              "%.200s",
                              bytes, DP_LIMIT_SCHEMA_BYTES, text);
}

static int parse_in(dp_arena *a, const char *text, const char *ns, dp_schema **out, dp_error *err)
{
    dpi_parser p = {.text = text, .at = text, .arena = a, .err = err};
    dp_schema *s = dpi_parser_alloc(&p, sizeof(*s));

    if (s == NULL || !parse_schema(&p, ns, s))
        return p.rc;
    int rc = check_print(s, text, err);
    if (rc < 0)
        return rc;
    atomic_init(&s->refs, 1);
    s->arena = a;
    *out = s;
    return DP_OK;
}

/* Size of the blocks of a schema's arena.  Thousands of schemas live as long as their plugin, and
 * most need 1 to 2 KiB: blocks that grow as in other arenas would be half empty. */
enum { BLOCK_BYTES = 464 };

int dpi_schema_parse(const char *text, const char *ns, dp_schema **out, dp_error *err)
{
    if (strlen(text) > DP_LIMIT_SCHEMA_BYTES)
        return dp_error_set(err, DP_ERESOURCE, "a schema of %zu bytes, more than %d: %.200s",
                            strlen(text), DP_LIMIT_SCHEMA_BYTES, text);
    dp_arena *a = dp_arena_new();
    if (a == NULL)
        return dpi_no_memory(err, "a schema");
    a->most_bytes = BLOCK_BYTES;
    /* In the C locale, numbers have a decimal point, whatever the locale of the process. */
    locale_t c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    locale_t old = c ? uselocale(c) : (locale_t)0;
    int rc = c ? parse_in(a, text, ns, out, err) : dpi_no_memory(err, "a locale");
    if (c) {
        uselocale(old);
        freelocale(c);
    }
    if (rc < 0)
        dp_arena_free(a);
    return rc;
}

int dpi_name_parse(const char *text, const char *ns, dp_schema **out, dp_error *err)
{
    int rc = dpi_schema_parse(text, ns, out, err);

    if (rc == 0 && !(*out)->name_only) {
        *out = dp_schema_free(*out);
        rc = dp_error_set(err, DP_EVALUE, "a schema where only a name is wanted: %s", text);
    }
    return rc;
}

int dp_schema_parse(const char *text, dp_schema **out, dp_error *err)
{
    if (!DPI_GIVEN(err, DP_EVALUE, text, out))
        return DP_EVALUE;
    return dpi_schema_parse(text, NULL, out, err);
}

dp_schema *dpi_schema_ref(dp_schema *s)
{
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}

dp_schema *dp_schema_free(dp_schema *s)
{
    if (s && atomic_fetch_sub(&s->refs, 1) == 1)
        dp_arena_free(s->arena);
    return NULL;
}

char *dp_schema_print(const dp_schema *s)
{
    return dp_strdup(s->text);
}
