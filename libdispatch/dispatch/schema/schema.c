/* schema.c -- function schemas: text to struct and back.
 *
 * A recursive-descent parser straight over the text; the grammar is that of
 * torch/csrc/jit/frontend/function_schema_parser.cpp.  A schema
 * and everything in it live in one arena, and are immutable once parsed.  `text` is canonical:
 * parsing it gives the same fields.  Beyond PyTorch's own checks an argument's name must be unique,
 * since names are part of the interface. */
#include "schema.h"
#include <dispatchd/typed.h>
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

#define TAG(t)      (1u << DP_TAG_##t)
#define TAGS_ALL    ((1u << DP_TAG_END) - 1)
#define TAGS_LISTS  (TAG(TENSORS) | TAG(INTS) | TAG(DOUBLES) | TAG(BOOLS) | TAG(LIST))
#define TAGS_SCALAR (TAG(INT) | TAG(DOUBLE) | TAG(BOOL) | TAG(COMPLEX))

/* One-word types: kind, tags of values that fit, tag of a list of them, letter of the C type. */
typedef struct word {
    const char *name;
    uint8_t kind;
    uint32_t tags;
    uint32_t list_tag;
    const char *letter; /* NULL: none */
} word;

static const word words[] = {
    {"Tensor", DPI_TYPE_TENSOR, TAG(TENSOR), TAG(TENSORS), "T"},
    {"int", DPI_TYPE_INT, TAG(INT), TAG(INTS), "i"},
    {"float", DPI_TYPE_FLOAT, TAG(DOUBLE), TAG(DOUBLES), "f"},
    {"bool", DPI_TYPE_BOOL, TAG(BOOL), TAG(BOOLS), "b"},
    {"str", DPI_TYPE_STR, TAG(STR), TAG(LIST), "S"},
    {"Scalar", DPI_TYPE_SCALAR, TAGS_SCALAR, TAG(LIST), "s"},
    {"complex", DPI_TYPE_COMPLEX, TAG(COMPLEX), TAG(LIST), "c"},
    {"SymInt", DPI_TYPE_SYMINT, TAG(INT), TAG(INTS), "i"},
    {"ScalarType", DPI_TYPE_SCALAR_TYPE, TAG(INT), TAG(INTS), "i"},
    {"Layout", DPI_TYPE_LAYOUT, TAG(INT), TAG(INTS), "i"},
    {"MemoryFormat", DPI_TYPE_MEMORY_FORMAT, TAG(INT), TAG(INTS), "i"},
    {"Device", DPI_TYPE_DEVICE, TAG(INT), TAG(INTS), "i"},
    {"Generator", DPI_TYPE_GENERATOR, TAG(GENERATOR), TAG(LIST), "g"},
    {"SymFloat", DPI_TYPE_NAMED, TAG(DOUBLE), TAG(DOUBLES), NULL},
    {"SymBool", DPI_TYPE_NAMED, TAG(BOOL), TAG(BOOLS), NULL},
    {"DeviceIndex", DPI_TYPE_NAMED, TAG(INT), TAG(INTS), NULL},
    {"QScheme", DPI_TYPE_NAMED, TAG(INT), TAG(INTS), NULL},
    {"Storage", DPI_TYPE_NAMED, 0, TAG(LIST), "U"},
    {"Stream", DPI_TYPE_NAMED, 0, TAG(LIST), "M"},
    {"Quantizer", DPI_TYPE_NAMED, 0, TAG(LIST), NULL},
    {"ConstQuantizerPtr", DPI_TYPE_NAMED, 0, TAG(LIST), NULL},
    {"Capsule", DPI_TYPE_NAMED, 0, TAG(LIST), NULL},
    {"NoneType", DPI_TYPE_NAMED, TAG(NONE), TAG(LIST), NULL},
    {"Any", DPI_TYPE_NAMED, TAGS_ALL, TAGS_LISTS, NULL},
    {"AnyClassType", DPI_TYPE_NAMED, TAGS_ALL, TAGS_LISTS, NULL},
    {"AnyEnumType", DPI_TYPE_NAMED, TAGS_ALL, TAGS_LISTS, NULL},
};

/* Names that mean another one, and print as it, as in PyTorch's type system. */
static const struct {
    const char *name, *means;
} synonyms[] = {
    {"Dimname", "str"},
    {"number", "Scalar"},
    {"None", "NoneType"},
};

/* Identifiers that native_functions.yaml writes where the operator takes an integer. */
static const struct {
    const char *name;
    int64_t value;
} enum_values[] = {
    {"float", DP_FLOAT32},
    {"double", DP_FLOAT64},
    {"int", DP_INT32},
    {"long", DP_INT64},
    {"bool", DP_BOOL},
    {"complex64", DP_COMPLEX64},
    {"complex128", DP_COMPLEX128},
    {"strided", DP_LAYOUT_STRIDED},
    {"contiguous_format", DP_CONTIGUOUS},
    {"preserve_format", DP_PRESERVE},
    {"channels_last", DP_CHANNELS_LAST},
    {"channels_last_3d", DP_CHANNELS_LAST_3D},
    {"Mean", 1},
    {"Sum", 2},
};

static const word *word_of(const dpi_type *t)
{
    for (size_t i = 0; t->name && i < DPI_COUNT(words); i++)
        if (words[i].kind == t->kind && strcmp(words[i].name, t->name) == 0)
            return &words[i];
    return NULL;
}

/* -- types: what fits, C letters, text -- */

static uint32_t type_tags(const dpi_type *t);

static uint32_t list_tags(const dpi_type *elem)
{
    const word *w = word_of(elem);

    if (w)
        return w->list_tag;
    if (elem->kind == DPI_TYPE_VARIABLE)
        return TAGS_LISTS;
    if (elem->kind == DPI_TYPE_OPTIONAL && elem->elem->kind == DPI_TYPE_TENSOR)
        return TAG(TENSORS);
    return TAG(LIST);
}

static uint32_t type_tags(const dpi_type *t)
{
    const word *w = word_of(t);

    switch (t->kind) {
    case DPI_TYPE_OPTIONAL:
        return TAG(NONE) | type_tags(t->elem);
    case DPI_TYPE_LIST:
        return list_tags(t->elem);
    case DPI_TYPE_TUPLE:
        return TAG(LIST);
    case DPI_TYPE_VARIABLE:
        return TAGS_ALL;
    default:
        return w ? w->tags : 0;
    }
}

static bool tuple_fits(const dpi_type *elem, const dp_value *v)
{
    for (uint32_t i = 0; i < v->len; i++, elem = elem->next)
        if (elem == NULL || !dpi_type_fits(elem, &v->u.values[i]))
            return false;
    return elem == NULL;
}

bool dpi_type_fits(const dpi_type *t, const dp_value *v)
{
    if (v->tag >= DP_TAG_END || !(type_tags(t) & 1u << v->tag))
        return false;
    if (t->kind == DPI_TYPE_OPTIONAL)
        return v->tag == DP_TAG_NONE || dpi_type_fits(t->elem, v);
    if (t->kind == DPI_TYPE_TUPLE)
        return tuple_fits(t->elem, v);
    if (t->kind != DPI_TYPE_LIST)
        return true;
    for (uint32_t i = 0; v->tag == DP_TAG_TENSORS && i < v->len; i++)
        if (v->u.tensors[i] == NULL && t->elem->kind == DPI_TYPE_TENSOR)
            return false;
    for (uint32_t i = 0; v->tag == DP_TAG_LIST && i < v->len; i++)
        if (!dpi_type_fits(t->elem, &v->u.values[i]))
            return false;
    return true;
}

const char *dpi_value_kind(const dp_value *v)
{
    static const char *const kinds[DP_TAG_END] = {
        "None",     "Tensor", "int",     "float",  "bool", "complex",  "str",
        "Tensor[]", "int[]",  "float[]", "bool[]", "list", "Generator"};
    return v->tag < DP_TAG_END ? kinds[v->tag] : "?";
}

/* Appends the letters of plugin.h; false when the type has none. */
static bool type_code(dpi_text *out, const dpi_type *t)
{
#define TEXT(letters) #letters,
    static const char *const codes[] = {DP_LETTER_MAP(TEXT)};
#undef TEXT
    char code[8] = "";
    size_t n = 0;

    for (; t->kind == DPI_TYPE_OPTIONAL || t->kind == DPI_TYPE_LIST; t = t->elem)
        if (n < 3)
            code[n++] = t->kind == DPI_TYPE_OPTIONAL ? 'o' : 'l';
    const word *w = word_of(t);
    if (w == NULL || w->letter == NULL)
        return false;
    code[n] = w->letter[0];
    for (size_t i = 0; i < DPI_COUNT(codes); i++)
        if (strcmp(codes[i], code) == 0) {
            dpi_text_add(out, code);
            return true;
        }
    return false;
}

static bool lacks_letters(const dpi_type *t)
{
    dpi_text code = {0};
    bool has = type_code(&code, t);

    dpi_text_fini(&code);
    return !has;
}

const dpi_argument *dpi_schema_letterless(const dp_schema *s)
{
    for (uint32_t i = 0; i < s->n_args; i++)
        if (lacks_letters(s->args[i].type))
            return &s->args[i];
    for (uint32_t i = 0; i < s->n_rets; i++)
        if (s->ret_alias[i] < 0 && lacks_letters(s->rets[i].type))
            return &s->rets[i];
    return NULL;
}

bool dpi_type_reserved(const dpi_type *t)
{
    bool list_of_tensors = t->kind == DPI_TYPE_OPTIONAL && t->elem->kind == DPI_TYPE_LIST;

    while (t->kind == DPI_TYPE_OPTIONAL || t->kind == DPI_TYPE_LIST)
        t = t->elem;
    const word *w = word_of(t);
    return w != NULL && w->letter != NULL &&
           (strchr("cUM", w->letter[0]) != NULL || (list_of_tensors && w->letter[0] == 'T'));
}

static void print_alias(dpi_text *out, const dpi_alias *a, bool plain)
{
    if (plain || !a->present)
        return;
    if (a->bare) {
        dpi_text_add(out, "!");
        return;
    }
    dpi_text_printf(out, "(%s%s", a->wildcard_before ? "*" : a->before, a->write ? "!" : "");
    if (a->has_after)
        dpi_text_printf(out, " -> %s", a->wildcard_after ? "*" : a->after);
    dpi_text_add(out, ")");
}

void dpi_type_print(dpi_text *out, const dpi_type *t, bool plain)
{
    switch (t->kind) {
    case DPI_TYPE_LIST:
        dpi_type_print(out, t->elem, plain);
        if (t->sized)
            dpi_text_printf(out, "[%u]", t->n);
        else
            dpi_text_add(out, "[]");
        break;
    case DPI_TYPE_OPTIONAL:
        dpi_type_print(out, t->elem, plain);
        dpi_text_add(out, "?");
        break;
    case DPI_TYPE_DICT:
        dpi_text_add(out, "Dict(");
        dpi_type_print(out, t->elem, plain);
        dpi_text_add(out, ", ");
        dpi_type_print(out, t->value, plain);
        dpi_text_add(out, ")");
        break;
    case DPI_TYPE_TUPLE:
        for (const dpi_type *e = t->elem; e; e = e->next) {
            dpi_text_add(out, e == t->elem ? "(" : ", ");
            dpi_type_print(out, e, plain);
        }
        dpi_text_add(out, ")");
        break;
    case DPI_TYPE_FUTURE:
        dpi_text_printf(out, "%s(", t->name);
        dpi_type_print(out, t->elem, plain);
        dpi_text_add(out, ")");
        break;
    default:
        dpi_text_add(out, t->name);
    }
    print_alias(out, &t->alias, plain);
}

/* A SymInt is an int here, as in PyTorch's check of signatures; sizes of lists do not count. */
static bool same_type(const dpi_type *a, const dpi_type *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    int ka = a->kind == DPI_TYPE_SYMINT ? DPI_TYPE_INT : a->kind;
    int kb = b->kind == DPI_TYPE_SYMINT ? DPI_TYPE_INT : b->kind;
    bool by_name = ka >= DPI_TYPE_NAMED && ka <= DPI_TYPE_CLASS;
    if (ka != kb || (by_name && strcmp(a->name, b->name) != 0))
        return false;
    return same_type(a->elem, b->elem) && same_type(a->value, b->value) &&
           same_type(a->next, b->next);
}

static bool same_list(const dpi_argument *a, uint32_t na, const dpi_argument *b, uint32_t nb)
{
    for (uint32_t i = 0; na == nb && i < na; i++)
        if (!same_type(a[i].type, b[i].type))
            return false;
    return na == nb;
}

bool dpi_schema_same_types(const dp_schema *a, const dp_schema *b)
{
    return a->vararg == b->vararg && a->varret == b->varret &&
           same_list(a->args, a->n_args, b->args, b->n_args) &&
           same_list(a->rets, a->n_rets, b->rets, b->n_rets);
}

/* -- the parser -- */

typedef struct parser {
    const char *text, *at;
    dp_arena *arena;
    dp_error *err;
    int rc; /* of the first fault; nothing is consumed after it */
} parser;

/* All of these return false or NULL when the text does not go on so, with the error set. */

static bool fail(parser *p, const char *what)
{
    size_t shown = strcspn(p->at, " ");

    if (p->rc == DP_OK && *p->at == '\0')
        p->rc = dp_error_set(p->err, DP_EVALUE, "column %zu: expected %s, found the end: %s",
                             (size_t)(p->at - p->text) + 1, what, p->text);
    else if (p->rc == DP_OK)
        p->rc = dp_error_set(p->err, DP_EVALUE, "column %zu: expected %s, found '%.*s': %s",
                             (size_t)(p->at - p->text) + 1, what,
                             (int)(shown < 1    ? 1
                                   : shown > 32 ? 32
                                                : shown),
                             p->at, p->text);
    return false;
}

static bool refuse(parser *p, int code, const char *what, const char *name)
{
    if (p->rc == DP_OK)
        p->rc = dp_error_set(p->err, code, "column %zu: %s '%.128s': %s",
                             (size_t)(p->at - p->text) + 1, what, name, p->text);
    return false;
}

static bool over_limit(parser *p, const char *what, int limit)
{
    if (p->rc == DP_OK)
        p->rc = dp_error_set(p->err, DP_ERESOURCE, "column %zu: more than %d %s: %.200s",
                             (size_t)(p->at - p->text) + 1, limit, what, p->text);
    return false;
}

static void *alloc(parser *p, size_t bytes)
{
    void *m = dp_arena_alloc(p->arena, bytes);

    if (m)
        return memset(m, 0, bytes);
    if (p->rc == DP_OK)
        p->rc = dpi_no_memory(p->err, "a schema");
    return NULL;
}

static const char *copy(parser *p, const char *s, size_t n)
{
    char *c = alloc(p, n + 1);
    return c ? memcpy(c, s, n) : NULL;
}

/* Copies t's text into the schema and frees it. */
static const char *keep(parser *p, dpi_text *t)
{
    const char *s = NULL;

    if (!t->failed)
        s = copy(p, t->s ? t->s : "", t->len);
    else if (p->rc == DP_OK)
        p->rc = dpi_no_memory(p->err, "a schema");
    dpi_text_fini(t);
    return s;
}

static void skip(parser *p)
{
    p->at += strspn(p->at, " \t\r\n");
}

static bool next_is(parser *p, const char *token)
{
    skip(p);
    return strncmp(p->at, token, strlen(token)) == 0;
}

static bool take(parser *p, const char *token)
{
    if (!next_is(p, token))
        return false;
    p->at += strlen(token);
    return true;
}

static bool expect(parser *p, const char *token)
{
    char what[32];

    if (take(p, token))
        return true;
    snprintf(what, sizeof(what), "'%s'", token);
    return fail(p, what);
}

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
#define DIGITS  "0123456789"

/* Length of the identifier here; 0: none. */
static size_t ident_length(parser *p)
{
    skip(p);
    return strspn(p->at, LETTERS) ? strspn(p->at, LETTERS DIGITS) : 0;
}

static const char *ident(parser *p, const char *what)
{
    size_t n = ident_length(p);

    if (n == 0) {
        fail(p, what);
        return NULL;
    }
    const char *s = copy(p, p->at, n);
    p->at += n;
    return s;
}

static bool parse_name(parser *p, dp_schema *s)
{
    const char *what = "an operator name";

    if (!(s->base = ident(p, what)))
        return false;
    s->ns = s->overload = "";
    if (take(p, "::")) {
        s->ns = s->base;
        if (!(s->base = ident(p, what)))
            return false;
    }
    if (take(p, ".") && !(s->overload = ident(p, "an overload name")))
        return false;
    if (strcmp(s->overload, "default") == 0 || strncmp(s->overload, "__", 2) == 0)
        return refuse(p, DP_EVALUE, "not a legal overload name:", s->overload);
    return true;
}

/* Text, then its length must be small enough for whoever copies names. */
static bool join_name(parser *p, dp_schema *s)
{
    dpi_text t = {0};

    dpi_text_printf(&t, "%s%s%s%s%s", s->ns, *s->ns ? "::" : "", s->base, *s->overload ? "." : "",
                    s->overload);
    size_t n = t.len;
    if (!(s->name = keep(p, &t)))
        return false;
    return n <= DP_LIMIT_NAME_BYTES || over_limit(p, "bytes in a name", DP_LIMIT_NAME_BYTES);
}

/* One side of alias info: "*" or idents joined by "|".  Once "*" is seen the rest does not count.
 */
static bool parse_alias_set(parser *p, const char **set, bool *wildcard)
{
    dpi_text t = {0};

    do {
        size_t n = ident_length(p);
        if (take(p, "*"))
            *wildcard = true;
        else if (n > 0) {
            dpi_text_add(&t, t.len ? "|" : "");
            dpi_text_addn(&t, p->at, n);
            p->at += n;
        } else {
            dpi_text_fini(&t);
            return fail(p, "an alias set or '*'");
        }
    } while (take(p, "|"));
    if (*wildcard) {
        dpi_text_fini(&t);
        return true;
    }
    return (*set = keep(p, &t)) != NULL;
}

static bool parse_alias(parser *p, dpi_alias *a)
{
    if (take(p, "!")) {
        a->present = a->bare = a->write = true;
        return true;
    }
    if (!take(p, "("))
        return true;
    a->present = true;
    if (!parse_alias_set(p, &a->before, &a->wildcard_before))
        return false;
    a->write = take(p, "!");
    if (take(p, "->")) {
        if (!parse_alias_set(p, &a->after, &a->wildcard_after))
            return false;
        a->has_after = a->wildcard_before != a->wildcard_after ||
                       (a->before && a->after && strcmp(a->before, a->after) != 0);
    }
    return expect(p, ")");
}

static dpi_type *parse_type(parser *p, int depth, int *height);

static dpi_type *type_new(parser *p, int kind, dpi_type *elem)
{
    dpi_type *t = alloc(p, sizeof(*t));

    if (t) {
        t->kind = (uint8_t)kind;
        t->elem = elem;
    }
    return t;
}

/* "(" has been taken. */
static dpi_type *parse_tuple(parser *p, int depth, int *height)
{
    dpi_type *t = type_new(p, DPI_TYPE_TUPLE, NULL);

    if (t == NULL)
        return NULL;
    dpi_type **tail = &t->elem;
    do {
        if (!(*tail = parse_type(p, depth, height)))
            return NULL;
        tail = &(*tail)->next;
    } while (take(p, ","));
    return expect(p, ")") ? t : NULL;
}

static dpi_type *parse_dict(parser *p, int depth, int *height)
{
    dpi_type *t = type_new(p, DPI_TYPE_DICT, NULL);

    if (t && (t->elem = parse_type(p, depth, height)) && expect(p, ",") &&
        (t->value = parse_type(p, depth, height)) && expect(p, ")"))
        return t;
    return NULL;
}

static dpi_type *parse_future(parser *p, const char *name, int depth, int *height)
{
    dpi_type *t = type_new(p, DPI_TYPE_FUTURE, NULL);

    if (t && (t->elem = parse_type(p, depth, height)) && expect(p, ")")) {
        t->name = name;
        return t;
    }
    return NULL;
}

/* "__torch__" has been taken: the rest of __torch__.torch.classes.ns.Class. */
static dpi_type *parse_class(parser *p)
{
    dpi_type *t = type_new(p, DPI_TYPE_CLASS, NULL);
    dpi_text name = {0};

    dpi_text_add(&name, "__torch__");
    if (!expect(p, ".torch.classes"))
        t = NULL;
    else
        dpi_text_add(&name, ".torch.classes");
    for (int i = 0; t && i < 2; i++) {
        size_t n = expect(p, ".") ? ident_length(p) : 0;
        if (n == 0) {
            fail(p, "a class name");
            t = NULL;
            break;
        }
        dpi_text_add(&name, ".");
        dpi_text_addn(&name, p->at, n);
        p->at += n;
    }
    if (t == NULL)
        dpi_text_fini(&name);
    else if (!(t->name = keep(p, &name)))
        t = NULL;
    return t;
}

static dpi_type *parse_word(parser *p, const char *name, const char *start)
{
    dpi_type *t = type_new(p, DPI_TYPE_VARIABLE, NULL);

    if (t == NULL)
        return NULL;
    for (size_t i = 0; i < DPI_COUNT(synonyms); i++)
        if (strcmp(synonyms[i].name, name) == 0)
            name = synonyms[i].means;
    t->name = name;
    for (size_t i = 0; i < DPI_COUNT(words); i++)
        if (strcmp(words[i].name, name) == 0) {
            t->kind = words[i].kind;
            return t;
        }
    if (name[0] >= 'a' && name[0] <= 'z')
        return t;
    p->at = start;
    fail(p, "a type");
    return NULL;
}

static dpi_type *parse_base(parser *p, int depth, int *height)
{
    if (take(p, "("))
        return parse_tuple(p, depth, height);
    skip(p);
    const char *start = p->at, *name = ident(p, "a type");
    if (name == NULL)
        return NULL;
    if (strcmp(name, "Dict") == 0)
        return expect(p, "(") ? parse_dict(p, depth, height) : NULL;
    if (strcmp(name, "Future") == 0 || strcmp(name, "RRef") == 0 || strcmp(name, "Await") == 0)
        return expect(p, "(") ? parse_future(p, name, depth, height) : NULL;
    if (strcmp(name, "__torch__") == 0)
        return parse_class(p);
    return parse_word(p, name, start);
}

/* "[" has been taken: the rest of "[]" or "[2]". */
static bool parse_list_size(parser *p, dpi_type *t)
{
    skip(p);
    size_t digits = strspn(p->at, DIGITS);
    long size = digits > 10 ? LONG_MAX : strtol(p->at, NULL, 10);

    t->sized = digits > 0;
    if (t->sized && size > INT32_MAX)
        return fail(p, "a list size from 0 to 2147483647");
    t->n = t->sized ? (uint32_t)size : 0;
    p->at += digits;
    return expect(p, "]");
}

/* base { "[" [N] "]" [alias] | "?" }.  height: of the tallest type so far, in levels. */
static dpi_type *parse_type(parser *p, int depth, int *height)
{
    int inner = 0, levels = 1;

    if (depth >= DP_LIMIT_TYPE_DEPTH) {
        over_limit(p, "levels in a type", DP_LIMIT_TYPE_DEPTH);
        return NULL;
    }
    dpi_type *t = parse_base(p, depth + 1, &inner);
    if (t == NULL || !parse_alias(p, &t->alias))
        return NULL;
    for (bool list; (list = take(p, "[")) || take(p, "?"); levels++) {
        t = type_new(p, list ? DPI_TYPE_LIST : DPI_TYPE_OPTIONAL, t);
        if (t == NULL || (list && (!parse_list_size(p, t) || !parse_alias(p, &t->alias))))
            return NULL;
    }
    levels += inner;
    if (levels > DP_LIMIT_TYPE_DEPTH) {
        over_limit(p, "levels in a type", DP_LIMIT_TYPE_DEPTH);
        return NULL;
    }
    if (levels > *height)
        *height = levels;
    return t;
}

/* -- defaults -- */

/* Characters of the number here, 0 when there is none; *integral: without point and exponent. */
static size_t number_length(parser *p, bool *integral)
{
    skip(p);
    size_t n = strspn(p->at, "-+"), digits = strspn(p->at + n, DIGITS);

    *integral = true;
    if (n > 1)
        return 0;
    n += digits;
    if (p->at[n] == '.') {
        size_t fraction = strspn(p->at + n + 1, DIGITS);
        n += 1 + fraction;
        digits += fraction;
        *integral = false;
    }
    if (digits == 0)
        return 0;
    if (p->at[n] == 'e' || p->at[n] == 'E') {
        size_t sign = strspn(p->at + n + 1, "-+");
        size_t exponent = strspn(p->at + n + 1 + sign, DIGITS);
        if (sign > 1 || exponent == 0)
            return 0;
        n += 1 + sign + exponent;
        *integral = false;
    }
    return n;
}

static bool parse_double(parser *p, double *out)
{
    bool integral;
    size_t n = number_length(p, &integral);

    if (n == 0)
        return fail(p, "a number");
    *out = strtod(p->at, NULL);
    p->at += n;
    return true;
}

static bool parse_int(parser *p, dp_value *v)
{
    bool integral;
    size_t n = number_length(p, &integral);

    if (n == 0 || !integral)
        return fail(p, "an integer");
    errno = 0;
    *v = dp_int(strtoll(p->at, NULL, 10));
    if (errno == ERANGE)
        return fail(p, "an integer of 64 bits");
    p->at += n;
    return true;
}

static bool parse_int_or_enum(parser *p, dp_value *v)
{
    size_t n = ident_length(p);

    for (size_t i = 0; n > 0 && i < DPI_COUNT(enum_values); i++)
        if (strlen(enum_values[i].name) == n && strncmp(enum_values[i].name, p->at, n) == 0) {
            *v = dp_int(enum_values[i].value);
            p->at += n;
            return true;
        }
    return parse_int(p, v);
}

static bool take_word(parser *p, const char *name)
{
    return ident_length(p) == strlen(name) && take(p, name);
}

static bool parse_bool(parser *p, dp_value *v)
{
    bool yes = take_word(p, "True");

    *v = dp_bool(yes);
    return yes || take_word(p, "False") || fail(p, "True or False");
}

/* "2.j", "1.", "1.+2.j" */
static bool parse_complex(parser *p, dp_value *v)
{
    double *c = alloc(p, 2 * sizeof(*c));

    if (c == NULL || !parse_double(p, &c[0]))
        return false;
    if (take(p, "j")) {
        c[1] = c[0];
        c[0] = 0;
    } else if (next_is(p, "+") || next_is(p, "-")) {
        if (!parse_double(p, &c[1]) || !expect(p, "j"))
            return false;
    }
    v->tag = DP_TAG_COMPLEX;
    v->u.doubles = c;
    return true;
}

static bool parse_scalar(parser *p, dp_value *v)
{
    bool integral;

    if (ident_length(p) > 0)
        return parse_bool(p, v);
    size_t n = number_length(p, &integral);
    if (n > 0 && (p->at[n] == 'j' || p->at[n] == '+' || p->at[n] == '-'))
        return parse_complex(p, v);
    if (n > 0 && integral)
        return parse_int(p, v);
    *v = dp_double(0);
    return parse_double(p, &v->u.d);
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* What follows a backslash: one of abfnrtv, three octal digits, x and two hex digits, or itself. */
static bool parse_escape(parser *p, char *out)
{
    static const char names[] = "abfnrtv", values[] = "\a\b\f\n\r\t\v";
    char c = *p->at;
    const char *name = c ? strchr(names, c) : NULL;
    unsigned code = 0;

    if (c == '\0')
        return fail(p, "an escape");
    if (c >= '0' && c <= '7') {
        for (int i = 0; i < 3; i++, p->at++) {
            if (*p->at < '0' || *p->at > '7')
                return fail(p, "three octal digits");
            code = code * 8 + (unsigned)(*p->at - '0');
        }
    } else if (c == 'x') {
        p->at++;
        for (int i = 0; i < 2; i++, p->at++) {
            if (hex_digit(*p->at) < 0)
                return fail(p, "two hex digits");
            code = code * 16 + (unsigned)hex_digit(*p->at);
        }
    } else {
        code = (unsigned char)(name ? values[name - names] : c);
        p->at++;
    }
    *out = (char)code;
    return code < 256 || fail(p, "a byte");
}

static bool parse_string(parser *p, dp_value *v)
{
    dpi_text t = {0};

    skip(p);
    char quote = *p->at;
    if (quote != '"' && quote != '\'')
        return fail(p, "a string");
    for (p->at++; *p->at != quote;) {
        char c = *p->at;
        if (c == '\0')
            fail(p, "the string's closing quote");
        else
            p->at++;
        if (c == '\0' || (c == '\\' && !parse_escape(p, &c))) {
            dpi_text_fini(&t);
            return false;
        }
        dpi_text_addn(&t, &c, 1);
    }
    p->at++;
    v->tag = DP_TAG_STR;
    v->len = (uint32_t)t.len;
    return (v->u.s = keep(p, &t)) != NULL;
}

static bool parse_default(parser *p, const dpi_type *t, dp_value *v);

/* n values as the list that a kernel sees. */
static bool make_list(parser *p, const dpi_type *elem, const dp_value *items, uint32_t n,
                      dp_value *v)
{
    uint32_t tags = list_tags(elem);
    size_t bytes = tags & TAG(INTS) ? sizeof(int64_t) : tags & TAG(DOUBLES) ? sizeof(double) : 1;
    void *list = alloc(p, n * (tags & TAG(LIST) ? sizeof(dp_value) : bytes));

    if (list == NULL)
        return false;
    v->len = n;
    v->u.values = list;
    v->tag = DP_TAG_LIST;
    if (tags & TAG(LIST))
        memcpy(list, items, n * sizeof(*items));
    else
        for (uint32_t tag = 0; tag < DP_TAG_END; tag++)
            if (tags & 1u << tag)
                v->tag = tag;
    for (uint32_t i = 0; i < n; i++)
        switch (v->tag) {
        case DP_TAG_INTS:
            ((int64_t *)list)[i] = items[i].u.i;
            break;
        case DP_TAG_DOUBLES:
            ((double *)list)[i] = items[i].u.d;
            break;
        case DP_TAG_BOOLS:
            ((bool *)list)[i] = items[i].u.b;
            break;
        }
    return true;
}

/* "[" value, ... "]", or for a sized list one value that stands for all. */
static bool parse_list(parser *p, const dpi_type *t, dp_value *v)
{
    enum { ITEMS_MAX = 256 };
    dp_value items[ITEMS_MAX];
    uint32_t n = 0;

    if (!take(p, "[")) {
        if (!t->sized)
            return fail(p, "'['");
        if (t->n > ITEMS_MAX)
            return over_limit(p, "elements in a default", ITEMS_MAX);
        memset(items, 0, sizeof(items));
        if (!parse_default(p, t->elem, &items[0]))
            return false;
        for (n = 1; n < t->n; n++)
            items[n] = items[0];
        return make_list(p, t->elem, items, t->n, v);
    }
    if (t->elem->kind == DPI_TYPE_TENSOR)
        return expect(p, "]") && make_list(p, t->elem, items, 0, v);
    for (bool more = !take(p, "]"); more; n++) {
        if (n == ITEMS_MAX)
            return over_limit(p, "elements in a default", ITEMS_MAX);
        memset(&items[n], 0, sizeof(items[n]));
        if (!parse_default(p, t->elem, &items[n]))
            return false;
        more = take(p, ",");
        if (!more && !expect(p, "]"))
            return false;
    }
    return make_list(p, t->elem, items, n, v);
}

static bool parse_default(parser *p, const dpi_type *t, dp_value *v)
{
    const word *w = word_of(t);

    *v = dp_none();
    switch (t->kind) {
    case DPI_TYPE_OPTIONAL:
        return take_word(p, "None") || parse_default(p, t->elem, v);
    case DPI_TYPE_LIST:
        return parse_list(p, t, v);
    case DPI_TYPE_FLOAT:
        *v = dp_double(0);
        return parse_double(p, &v->u.d);
    case DPI_TYPE_BOOL:
        return parse_bool(p, v);
    case DPI_TYPE_STR:
        return parse_string(p, v);
    case DPI_TYPE_SCALAR:
        return parse_scalar(p, v);
    case DPI_TYPE_COMPLEX:
        return parse_complex(p, v);
    default:
        if (w && w->tags == TAG(INT))
            return parse_int_or_enum(p, v);
        return take_word(p, "None") || fail(p, "None");
    }
}

/* -- printing defaults: IValue's operator<< -- */

static void print_double(dpi_text *t, double d)
{
    if (d > -1e10 && d < 1e10 && (double)(int64_t)d == d)
        dpi_text_printf(t, "%s%lld.", d == 0 && __builtin_signbit(d) ? "-" : "", (long long)d);
    else
        dpi_text_printf(t, "%.17g", d);
}

static void print_string(dpi_text *t, const char *s, size_t n)
{
    static const char plain[] = "\\'\"\a\b\f\n\r\t\v", names[] = "\\'\"abfnrtv";

    dpi_text_add(t, "\"");
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        const char *escape = c ? strchr(plain, c) : NULL;
        if (escape)
            dpi_text_printf(t, "\\%c", names[escape - plain]);
        else if (c < 0x20 || c >= 0x7f)
            dpi_text_printf(t, "\\%03o", c);
        else
            dpi_text_addn(t, s + i, 1);
    }
    dpi_text_add(t, "\"");
}

static void print_value(dpi_text *t, const dp_value *v)
{
    switch (v->tag) {
    case DP_TAG_NONE:
        dpi_text_add(t, "None");
        break;
    case DP_TAG_INT:
        dpi_text_printf(t, "%lld", (long long)v->u.i);
        break;
    case DP_TAG_DOUBLE:
        print_double(t, v->u.d);
        break;
    case DP_TAG_BOOL:
        dpi_text_add(t, v->u.b ? "True" : "False");
        break;
    case DP_TAG_COMPLEX:
        print_double(t, v->u.doubles[0]);
        dpi_text_add(t, __builtin_signbit(v->u.doubles[1]) ? "-" : "+");
        print_double(t, __builtin_fabs(v->u.doubles[1]));
        dpi_text_add(t, "j");
        break;
    case DP_TAG_STR:
        print_string(t, v->u.s, v->len);
        break;
    default:
        dpi_text_add(t, "[");
        for (uint32_t i = 0; i < v->len; i++) {
            dp_value item = dp_list_item(v, i);
            dpi_text_add(t, i ? ", " : "");
            print_value(t, &item);
        }
        dpi_text_add(t, "]");
    }
}

/* int[N] whose N elements agree prints one of them, "int[2] stride=1", as native_functions.yaml. */
static bool prints_as_one(const dpi_type *t, const dp_value *v)
{
    if (v->tag != DP_TAG_INTS || t->elem->kind != DPI_TYPE_INT || v->len < 2 || v->len != t->n)
        return false;
    for (uint32_t i = 1; i < v->len; i++)
        if (v->u.ints[i] != v->u.ints[0])
            return false;
    return true;
}

static const char *default_text(parser *p, const dpi_type *t, const dp_value *v)
{
    dpi_text text = {0};
    dp_value first = {DP_TAG_NONE, 0, {0}};

    if (t->kind == DPI_TYPE_LIST && prints_as_one(t, v)) {
        first = dp_list_item(v, 0);
        v = &first;
    }
    print_value(&text, v);
    return keep(p, &text);
}

/* -- arguments and returns -- */

/* Where alias info of a whole argument stands: on the type, or on what it contains. */
static const dpi_alias *alias_of(const dpi_type *t)
{
    while (!t->alias.present && (t->kind == DPI_TYPE_LIST || t->kind == DPI_TYPE_OPTIONAL))
        t = t->elem;
    return &t->alias;
}

static bool is_written(const dpi_type *t)
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

static bool parse_argument(parser *p, dpi_argument *a, bool is_return)
{
    int height = 0;

    a->name = "";
    a->type = parse_type(p, 0, &height);
    if (a->type == NULL)
        return false;
    if ((!is_return || ident_length(p) > 0) && !(a->name = ident(p, "an argument name")))
        return false;
    a->tags = type_tags(a->type);
    a->written = is_written(a->type);
    if (is_return || !take(p, "="))
        return true;
    a->has_default = true;
    return parse_default(p, a->type, &a->def) &&
           (a->default_text = default_text(p, a->type, &a->def)) != NULL;
}

static bool add_argument(parser *p, dpi_argument *list, uint32_t *n, bool is_return,
                         bool kwarg_only)
{
    if (*n == DP_LIMIT_ARGUMENTS)
        return over_limit(p, is_return ? "returns" : "arguments", DP_LIMIT_ARGUMENTS);
    dpi_argument *a = &list[*n];
    if (!parse_argument(p, a, is_return))
        return false;
    for (uint32_t i = 0; *a->name && i < *n; i++)
        if (strcmp(list[i].name, a->name) == 0)
            return refuse(p, DP_EVALUE, is_return ? "two returns named" : "two arguments named",
                          a->name);
    a->kwarg_only = kwarg_only;
    ++*n;
    return true;
}

/* "(" has been taken. */
static bool parse_arguments(parser *p, dp_schema *s, dpi_argument *list)
{
    bool kwarg_only = false, more = !take(p, ")");

    while (more) {
        if (take(p, "...")) {
            s->vararg = true;
            return expect(p, ")");
        }
        if (take(p, "*")) {
            if (kwarg_only)
                return fail(p, "one '*'");
            kwarg_only = true;
        } else if (!add_argument(p, list, &s->n_args, false, kwarg_only))
            return false;
        more = take(p, ",");
        if (!more && !expect(p, ")"))
            return false;
    }
    return true;
}

static bool parse_returns(parser *p, dp_schema *s, dpi_argument *list)
{
    if (take(p, "...")) {
        s->varret = true;
        return true;
    }
    if (!take(p, "("))
        return add_argument(p, list, &s->n_rets, true, false);
    for (bool more = !take(p, ")"); more;) {
        if (!add_argument(p, list, &s->n_rets, true, false))
            return false;
        more = take(p, ",");
        if (!more && !expect(p, ")"))
            return false;
    }
    return true;
}

static dpi_argument *keep_list(parser *p, const dpi_argument *list, uint32_t n)
{
    dpi_argument *kept = alloc(p, n * sizeof(*kept));
    return kept ? memcpy(kept, list, n * sizeof(*kept)) : NULL;
}

static bool parse_signature(parser *p, dp_schema *s)
{
    dpi_argument list[DP_LIMIT_ARGUMENTS];

    memset(list, 0, sizeof(list));
    if (!parse_arguments(p, s, list) || !(s->args = keep_list(p, list, s->n_args)))
        return false;
    memset(list, 0, sizeof(list));
    return expect(p, "->") && parse_returns(p, s, list) &&
           (s->rets = keep_list(p, list, s->n_rets)) != NULL;
}

/* -- what is derived -- */

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
                same_type(s->rets[r].type, s->args[i].type))
                s->ret_alias[r] = (int8_t)i;
        s->n_given -= s->ret_alias[r] >= 0;
    }
}

static int form_of(const dp_schema *s)
{
    for (uint32_t i = 0; i < s->n_args; i++)
        if (s->args[i].written && s->args[i].kwarg_only)
            return DP_FORM_OUT;
    size_t n = strlen(s->base);
    if (s->n_args > 0 && s->args[0].written && n > 0 && s->base[n - 1] == '_')
        return DP_FORM_IN_PLACE;
    return s->written != 0 ? DP_FORM_MUTABLE : DP_FORM_FUNCTIONAL;
}

static bool derive_code(parser *p, dp_schema *s)
{
    dpi_text code = {0};
    bool whole = !s->vararg && !s->varret && !s->name_only;

    for (uint32_t i = 0; i < s->n_args && whole; i++)
        whole = type_code(&code, s->args[i].type);
    dpi_text_add(&code, ">");
    for (uint32_t i = 0; i < s->n_rets && whole; i++)
        whole = s->ret_alias[i] >= 0 || type_code(&code, s->rets[i].type);
    if (whole || code.failed)
        return (s->code = keep(p, &code)) != NULL;
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

static bool derive_text(parser *p, dp_schema *s)
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
    return (s->text = keep(p, &t)) != NULL;
}

/* -- the whole -- */

static bool parse_schema(parser *p, const char *ns, dp_schema *s)
{
    if (!parse_name(p, s))
        return false;
    if (ns && *s->ns && strcmp(ns, s->ns) != 0)
        return refuse(p, DP_EVALUE, "a schema of another namespace in the library of", ns);
    if (ns && !(s->ns = copy(p, ns, strlen(ns))))
        return false;
    if (!join_name(p, s))
        return false;
    s->name_only = !take(p, "(");
    if (!s->name_only && !parse_signature(p, s))
        return false;
    skip(p);
    if (*p->at != '\0')
        return fail(p, s->name_only ? "'(' or the end" : "the end");
    derive_aliases(s);
    derive_views(s);
    s->form = form_of(s);
    return derive_code(p, s) && derive_text(p, s);
}

static int parse_in(dp_arena *a, const char *text, const char *ns, dp_schema **out, dp_error *err)
{
    parser p = {.text = text, .at = text, .arena = a, .err = err};
    dp_schema *s = alloc(&p, sizeof(*s));

    if (s == NULL || !parse_schema(&p, ns, s))
        return p.rc;
    atomic_init(&s->refs, 1);
    s->arena = a;
    *out = s;
    return DP_OK;
}

int dpi_schema_parse(const char *text, const char *ns, dp_schema **out, dp_error *err)
{
    if (strlen(text) > DP_LIMIT_SCHEMA_BYTES)
        return dp_error_set(err, DP_ERESOURCE, "a schema of %zu bytes, more than %d: %.200s",
                            strlen(text), DP_LIMIT_SCHEMA_BYTES, text);
    dp_arena *a = dp_arena_new();
    if (a == NULL)
        return dpi_no_memory(err, "a schema");
    /* Numbers are read and printed with a point, whatever the process's locale is. */
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
