/* default.c -- default values of arguments: parse them to a dp_value, and print them.
 *
 * Defaults are printed as PyTorch's operator<< for IValue prints them. */
#include "parse.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Identifiers that native_functions.yaml uses as defaults of integer arguments. */
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

/* Return the length in characters of the number at the parser's position; 0: there is no number.
 * `*integral` becomes true if the number has no decimal point and no exponent. */
static size_t number_length(dpi_parser *p, bool *integral)
{
    dpi_parser_skip(p);
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

static bool parse_double(dpi_parser *p, double *out)
{
    bool integral;
    size_t n = number_length(p, &integral);

    if (n == 0)
        return dpi_parser_fail(p, "a number");
    *out = strtod(p->at, NULL);
    if (!__builtin_isfinite(*out)) /* there is no text for it, so it could not be printed */
        return dpi_parser_fail(p, "a number that a double can hold");
    p->at += n;
    return true;
}

static bool parse_int(dpi_parser *p, dp_value *v)
{
    bool integral;
    size_t n = number_length(p, &integral);

    if (n == 0 || !integral)
        return dpi_parser_fail(p, "an integer");
    errno = 0;
    *v = dp_int(strtoll(p->at, NULL, 10));
    if (errno == ERANGE)
        return dpi_parser_fail(p, "an integer of 64 bits");
    p->at += n;
    return true;
}

static bool parse_int_or_enum(dpi_parser *p, dp_value *v)
{
    size_t n = dpi_parser_ident_length(p);

    for (size_t i = 0; n > 0 && i < DPI_COUNT(enum_values); i++)
        if (strlen(enum_values[i].name) == n && strncmp(enum_values[i].name, p->at, n) == 0) {
            *v = dp_int(enum_values[i].value);
            p->at += n;
            return true;
        }
    return parse_int(p, v);
}

static bool accept_word(dpi_parser *p, const char *name)
{
    return dpi_parser_ident_length(p) == strlen(name) && dpi_parser_accept(p, name);
}

static bool parse_bool(dpi_parser *p, dp_value *v)
{
    bool yes = accept_word(p, "True");

    *v = dp_bool(yes);
    return yes || accept_word(p, "False") || dpi_parser_fail(p, "True or False");
}

/* Parse a complex number: "2.j", "1." or "1.+2.j". */
static bool parse_complex(dpi_parser *p, dp_value *v)
{
    double *c = dpi_parser_alloc(p, 2 * sizeof(*c));

    if (c == NULL || !parse_double(p, &c[0]))
        return false;
    if (dpi_parser_accept(p, "j")) {
        c[1] = c[0];
        c[0] = 0;
    } else if (dpi_parser_next_is(p, "+") || dpi_parser_next_is(p, "-")) {
        if (!parse_double(p, &c[1]) || !dpi_parser_expect(p, "j"))
            return false;
    }
    v->tag = DP_TAG_COMPLEX;
    v->u.doubles = c;
    return true;
}

static bool parse_scalar(dpi_parser *p, dp_value *v)
{
    bool integral;

    if (dpi_parser_ident_length(p) > 0)
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

/* Parse an escape sequence after its backslash: a letter of abfnrtv, three octal digits, or x and
 * two hex digits.  Any other character stands for itself. */
static bool parse_escape(dpi_parser *p, char *out)
{
    static const char names[] = "abfnrtv", values[] = "\a\b\f\n\r\t\v";
    char c = *p->at;
    const char *name = c ? strchr(names, c) : NULL;
    unsigned code = 0;

    if (c == '\0')
        return dpi_parser_fail(p, "an escape");
    if (c >= '0' && c <= '7') {
        for (int i = 0; i < 3; i++, p->at++) {
            if (*p->at < '0' || *p->at > '7')
                return dpi_parser_fail(p, "three octal digits");
            code = code * 8 + (unsigned)(*p->at - '0');
        }
    } else if (c == 'x') {
        p->at++;
        for (int i = 0; i < 2; i++, p->at++) {
            if (hex_digit(*p->at) < 0)
                return dpi_parser_fail(p, "two hex digits");
            code = code * 16 + (unsigned)hex_digit(*p->at);
        }
    } else {
        code = (unsigned char)(name ? values[name - names] : c);
        p->at++;
    }
    *out = (char)code;
    return code < 256 || dpi_parser_fail(p, "a byte");
}

static bool parse_string(dpi_parser *p, dp_value *v)
{
    dpi_text t = {0};

    dpi_parser_skip(p);
    char quote = *p->at;
    if (quote != '"' && quote != '\'')
        return dpi_parser_fail(p, "a string");
    for (p->at++; *p->at != quote;) {
        char c = *p->at;
        if (c == '\0')
            dpi_parser_fail(p, "the string's closing quote");
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
    return (v->u.s = dpi_parser_store(p, &t)) != NULL;
}

/* Make `v` a list of the `n` items, in the form in which kernels take it: a C array (DP_TAG_INTS,
 * ...) if there is one for the element type, else an array of values (DP_TAG_LIST). */
static bool make_list(dpi_parser *p, const dpi_type *elem, const dp_value *items, uint32_t n,
                      dp_value *v)
{
    uint32_t tags = dpi_list_tags(elem);
    size_t bytes = tags & TAG(LIST)      ? sizeof(dp_value)
                   : tags & TAG(INTS)    ? sizeof(int64_t)
                   : tags & TAG(DOUBLES) ? sizeof(double)
                   : tags & TAG(BOOLS)   ? sizeof(bool)
                                         : sizeof(dp_tensor *); /* TENSORS: every item is None */
    void *list = dpi_parser_alloc(p, n * bytes);

    if (list == NULL)
        return false;
    v->len = n;
    v->u.values = list;
    v->tag = DP_TAG_LIST;
    if (tags & TAG(LIST))
        dp_copy_n(list, items, n, sizeof(*items));
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

/* Does a list of type `t` take one value without brackets?  As in PyTorch, a list of lists does
 * not: it would have more elements than its schema has bytes. */
static bool takes_one_value(const dpi_type *t)
{
    const dpi_type *elem = t->elem;

    while (elem->kind == DPI_TYPE_OPTIONAL)
        elem = elem->elem;
    return t->sized && elem->kind != DPI_TYPE_LIST && t->elem->kind != DPI_TYPE_TENSOR;
}

/* Parse "[" value, ... "]".  A list type with a size also takes one value without brackets: in
 * "int[2] stride=1" every element is 1. */
static bool parse_list(dpi_parser *p, const dpi_type *t, dp_value *v)
{
    enum { ITEMS_MAX = 256 };
    dp_value items[ITEMS_MAX];
    uint32_t n = 0;

    if (!dpi_parser_accept(p, "[")) {
        if (!takes_one_value(t))
            return dpi_parser_fail(p, "'['");
        if (t->n > ITEMS_MAX)
            return dpi_parser_over_limit(p, "elements in a default", ITEMS_MAX);
        memset(items, 0, sizeof(items));
        if (!dpi_parse_default(p, t->elem, &items[0]))
            return false;
        for (n = 1; n < t->n; n++)
            items[n] = items[0];
        return make_list(p, t->elem, items, t->n, v);
    }
    if (t->elem->kind == DPI_TYPE_TENSOR)
        return dpi_parser_expect(p, "]") && make_list(p, t->elem, items, 0, v);
    for (bool more = !dpi_parser_accept(p, "]"); more; n++) {
        if (n == ITEMS_MAX)
            return dpi_parser_over_limit(p, "elements in a default", ITEMS_MAX);
        memset(&items[n], 0, sizeof(items[n]));
        if (!dpi_parse_default(p, t->elem, &items[n]))
            return false;
        more = dpi_parser_accept(p, ",");
        if (!more && !dpi_parser_expect(p, "]"))
            return false;
    }
    return make_list(p, t->elem, items, n, v);
}

bool dpi_parse_default(dpi_parser *p, const dpi_type *t, dp_value *v)
{
    const dpi_word *w = dpi_type_word(t);

    *v = dp_none();
    switch (t->kind) {
    case DPI_TYPE_OPTIONAL:
        return accept_word(p, "None") || dpi_parse_default(p, t->elem, v);
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
        if (w && w->tags == TAG(BOOL))
            return parse_bool(p, v);
        if (w && w->tags == TAG(DOUBLE)) {
            *v = dp_double(0);
            return parse_double(p, &v->u.d);
        }
        return accept_word(p, "None") || dpi_parser_fail(p, "None");
    }
}

/* -- printing, in the format of IValue's operator<< -- */

/* Numbers without a decimal point and an exponent get a point: a Scalar would be read as an integer
 * from such a text. */
static void print_double(dpi_text *t, double d)
{
    char text[32];

    if (d > -1e10 && d < 1e10 && (double)(int64_t)d == d)
        dpi_text_printf(t, "%s%lld.", d == 0 && __builtin_signbit(d) ? "-" : "", (long long)d);
    else {
        snprintf(text, sizeof(text), "%.17g", d);
        dpi_text_printf(t, "%s%s", text, text[strcspn(text, ".e")] == '\0' ? "." : "");
    }
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

/* Is the default an int[N] with N > 1 equal elements?  If so, it prints as one element, "int[2]
 * stride=1", as in native_functions.yaml. */
static bool prints_as_one(const dpi_type *t, const dp_value *v)
{
    if (v->tag != DP_TAG_INTS || t->elem->kind != DPI_TYPE_INT || v->len < 2 || v->len != t->n)
        return false;
    for (uint32_t i = 1; i < v->len; i++)
        if (v->u.ints[i] != v->u.ints[0])
            return false;
    return true;
}

const char *dpi_default_text(dpi_parser *p, const dpi_type *t, const dp_value *v)
{
    dpi_text text = {0};
    dp_value first = {DP_TAG_NONE, 0, {0}};

    if (t->kind == DPI_TYPE_LIST && prints_as_one(t, v)) {
        first = dp_list_item(v, 0);
        v = &first;
    }
    print_value(&text, v);
    return dpi_parser_store(p, &text);
}
