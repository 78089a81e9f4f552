/* read.c -- parses JSON strictly.
 *
 * A single pass over the text checks grammar, UTF-8, depth, size and numbers, and builds a tree of
 * cJSON structs.  The tree's memory is a few blocks of nodes.  The first block also has a copy of
 * the text after its nodes; strings are unescaped in place in that copy. */
#define _GNU_SOURCE
#include "json/text.h"
#include "daemon.h"
#include <endian.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* number of zero bytes after the text: 8 bytes at a time are loaded, also at the end of the
     * text */
    WORD = sizeof(uint64_t),
    /* The first block has a node for each NODE_BYTES bytes of text, and NODES_MIN more.  For short
     * lines, malloc() usually has free blocks of these sizes in its cache. */
    NODE_BYTES = 16,
    NODES_MIN = 4,
};

typedef struct scan {
    char *s;      /* the copy of the text; parts that were read may have been overwritten */
    size_t n, i;  /* length of the text; index of the next byte */
    size_t nodes; /* number of nodes in the tree */
    unsigned depth;
    /* [LIMIT_JSON_DEPTH]: the objects and arrays (containers) that have not ended, outermost
     * first */
    cJSON **open;
    char *key;         /* name of the next value */
    cJSON *next, *end; /* nodes that are not used yet: [next, end) */
    block *blocks;     /* the first block */
    int repeated;      /* 0, or the first error of check_members() */
    dp_error *err;
} scan;

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* A word whose high bits, one in each byte, mark the bytes of `word` that are below n <= 0x80; its
 * other bits mean nothing.  Only the lowest mark is reliable: the subtraction borrows from the byte
 * above a marked one, so that byte's mark may be wrong. */
#define BELOW(word, n) (((word)-EACH(n)) & ~(word))

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

size_t plain_bytes(const char *s, size_t n)
{
    size_t i = 0;

    for (uint64_t word, hits; n - i >= WORD; i += WORD) {
        memcpy(&word, s + i, WORD);
        word = le64toh(word);
        hits = word | BELOW(word, 0x20) | BELOW(word ^ EACH('"'), 1) | BELOW(word ^ EACH('\\'), 1);
        hits &= EACH(0x80);
        if (hits != 0)
            return i + (size_t)__builtin_ctzll(hits) / 8;
    }
    while (i < n && is_plain((unsigned char)s[i]))
        i++;
    return i;
}

/* -- the tree -- */

static int no_memory(scan *x)
{
    return dp_error_set(x->err, DP_ERESOURCE, "out of memory: a message of %zu bytes", x->n);
}

static int tree_init(scan *x, const char *s)
{
    size_t nodes = x->n / NODE_BYTES + NODES_MIN;

    x->blocks = json_block_new(nodes, x->n + WORD);
    if (x->blocks == NULL)
        return no_memory(x);
    x->next = x->blocks->nodes;
    x->end = x->next + nodes;
    x->s = memcpy(x->end, s, x->n);
    memset(x->s + x->n, 0, WORD);
    return 0;
}

/* Allocate a block with as many nodes as the tree has already. */
static int more_nodes(scan *x)
{
    block *b = json_block_new(x->nodes, 0);

    if (b == NULL)
        return no_memory(x);
    b->next = x->blocks->next;
    x->blocks->next = b;
    x->next = b->nodes;
    x->end = b->nodes + x->nodes;
    return 0;
}

/* Append a node to the innermost open container.  As cJSON does, `prev` of the first child points
 * to the last child. */
static cJSON *add_node(scan *x)
{
    if (x->next == x->end && more_nodes(x) < 0)
        return NULL;
    cJSON *j = x->next++;
    *j = (cJSON){.string = x->key};
    x->key = NULL;
    if (x->depth == 0)
        return j;
    cJSON *up = x->open[x->depth - 1];
    if (up->child == NULL) {
        up->child = j->prev = j;
        return j;
    }
    j->prev = up->child->prev;
    j->prev->next = j;
    up->child->prev = j;
    return j;
}

/* -- the pass over the text -- */

static int fail(scan *x, size_t at, const char *what)
{
    return dp_error_set(x->err, DP_EVALUE, "%s at byte %zu", what, at + 1);
}

static int fail_char(scan *x, const char *expected)
{
    unsigned char c = x->i < x->n ? (unsigned char)x->s[x->i] : 0;

    if (x->i >= x->n)
        return dp_error_set(x->err, DP_EVALUE, "expected %s but the line ends at byte %zu",
                            expected, x->n);
    return dp_error_set(x->err, DP_EVALUE,
                        c > ' ' && c < 0x7f ? "expected %s but got '%c' at byte %zu"
                                            : "expected %s but got 0x%02x at byte %zu",
                        expected, c, x->i + 1);
}

static char peek(const scan *x)
{
    return x->s[x->i];
}

static void skip_space(scan *x)
{
    unsigned char c;

    while ((c = (unsigned char)peek(x)) <= ' ' && (c == ' ' || c == '\t' || c == '\r' || c == '\n'))
        x->i++;
}

/* Return the value of the four hexadecimal digits at `i`; -1: there are fewer. */
static int hex4(const scan *x, size_t i)
{
    int value = 0;

    if (x->n - i < 4)
        return -1;
    for (size_t k = i; k < i + 4; k++) {
        const char *digits = "0123456789abcdef", *at = memchr(digits, x->s[k] | 0x20, 16);
        if (at == NULL || x->s[k] < '0')
            return -1;
        value = value * 16 + (int)(at - digits);
    }
    return value;
}

static int scan_unicode(scan *x, size_t start, char **to)
{
    int high = hex4(x, x->i), low;

    if (high < 0)
        return fail(x, start, "\\u without four hexadecimal digits");
    if (high == 0)
        return fail(x, start, "\\u0000 in a string");
    x->i += 4;
    if (high < 0xd800 || high > 0xdfff) {
        *to = utf8_put(*to, (unsigned)high);
        return 0;
    }
    if (high > 0xdbff || x->n - x->i < 6 || memcmp(x->s + x->i, "\\u", 2) != 0)
        return fail(x, start, "lone surrogate");
    low = hex4(x, x->i + 2);
    if (low < 0xdc00 || low > 0xdfff)
        return fail(x, start, "lone surrogate");
    x->i += 6;
    *to = utf8_put(*to, 0x10000 + ((unsigned)(high - 0xd800) << 10) + (unsigned)(low - 0xdc00));
    return 0;
}

static int scan_escape(scan *x, char **to)
{
    static const char letters[] = "\"\\/bfnrt", plain[] = "\"\\/\b\f\n\r\t";
    size_t start = x->i++;
    char c = peek(x);

    x->i++;
    if (c == 'u')
        return scan_unicode(x, start, to);
    const char *at = memchr(letters, c, sizeof(letters) - 1);
    if (at == NULL)
        return fail(x, start, "unknown escape");
    *(*to)++ = plain[at - letters];
    return 0;
}

/* Move the next `n` bytes of the text, which need no unescaping, to `to`.  Returns the address
 * behind the moved bytes. */
static char *copy_down(scan *x, char *to, size_t n)
{
    const char *from = x->s + x->i;

    if (to != from)
        memmove(to, from, n);
    x->i += n;
    return to + n;
}

static int scan_string(scan *x, char **out)
{
    size_t start = x->i++, bytes;
    char *to = *out = x->s + x->i;

    for (;;) {
        to = copy_down(x, to, plain_bytes(x->s + x->i, x->n - x->i + WORD));
        unsigned char c = (unsigned char)x->s[x->i];
        if (x->i >= x->n)
            return fail(x, start, "string without an end");
        if (c == '"')
            break;
        if (c < 0x20)
            return fail(x, x->i, c == 0 ? "NUL in a string" : "control character in a string");
        if (c == '\\') {
            if (scan_escape(x, &to) < 0)
                return DP_EVALUE;
            continue;
        }
        bytes = utf8_sequence(x->s + x->i, x->n - x->i);
        if (bytes == 0)
            return fail(x, x->i, "invalid UTF-8");
        to = copy_down(x, to, bytes);
    }
    x->i++;
    *to = '\0';
    return 0;
}

/* Read decimal digits and append them to `*value`.  Returns their number. */
static size_t scan_digits(scan *x, uint64_t *value)
{
    size_t from = x->i;

    for (unsigned digit; (digit = (unsigned)peek(x) - '0') <= 9; x->i++)
        *value = *value * 10 + digit;
    return x->i - from;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static locale_t c_locale;

static void set_up(void)
{
    /* cannot fail: the "C" locale is a static object of glibc */
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* Convert the number of the newest node by strtod().  DP_EVALUE: it is too large, and no id. */
static int read_number(scan *x, size_t start, bool integral, double *out)
{
    pthread_once(&once, set_up);
    *out = strtod_l(x->s + start, NULL, c_locale);
    if (!isfinite(*out))
        return fail(x, start, "number too large for a double");
    if (integral && fabs(*out) >= (double)JSON_EXACT_INT &&
        !json_is_request_id(x->open, x->depth, x->next[-1].string))
        return fail(x, start, "bare integer of 2^53 or more: write {\"int\":\"...\"}");
    return 0;
}

/* every integer of 15 digits, and 10^15, is below 2^53, so it is exact as a double */
enum { EXACT_DIGITS = 15 };
static const double tens[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                              1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

static int scan_number(scan *x, double *out)
{
    size_t start = x->i, digits, fraction = 0;
    bool negative = peek(x) == '-', integral = true, exponent = false;
    uint64_t value = 0, power = 0;

    x->i += negative;
    char first = peek(x);
    digits = scan_digits(x, &value);
    if (digits == 0)
        return fail_char(x, "a digit");
    if (digits > 1 && first == '0')
        return fail(x, start, "number with a leading zero");
    if (peek(x) == '.') {
        integral = false;
        x->i++;
        fraction = scan_digits(x, &value);
        if (fraction == 0)
            return fail_char(x, "a digit");
    }
    if ((peek(x) | 0x20) == 'e') {
        integral = false;
        exponent = true;
        x->i++;
        x->i += peek(x) == '+' || peek(x) == '-';
        if (scan_digits(x, &power) == 0)
            return fail_char(x, "a digit");
    }
    if (x->i - start > LIMIT_SIZE(JSON_NUMBER_BYTES))
        return LIMIT_REACHED(
            JSON_NUMBER_BYTES, x->i - start,
            dp_error_set(x->err, DP_EVALUE,
                         "number of %zu characters, at most %zu (json_number_bytes), at byte %zu",
                         x->i - start, LIMIT_SIZE(JSON_NUMBER_BYTES), start + 1));
    if (exponent || digits + fraction > EXACT_DIGITS)
        return read_number(x, start, integral, out);
    /* both operands are exact, so the quotient is the double nearest to the number */
    *out = (double)value / tens[fraction];
    *out = negative ? -*out : *out;
    return 0;
}

static int scan_word(scan *x, int *type)
{
    static const struct {
        const char *text;
        int type;
    } words[] = {{"true", cJSON_True}, {"false", cJSON_False}, {"null", cJSON_NULL}};

    for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++) {
        size_t n = strlen(words[k].text);
        if (x->n - x->i >= n && memcmp(x->s + x->i, words[k].text, n) == 0) {
            x->i += n;
            *type = words[k].type;
            return 0;
        }
    }
    return fail_char(x, "a value");
}

static int scan_key(scan *x)
{
    skip_space(x);
    if (peek(x) != '"')
        return fail_char(x, "a member's name");
    if (scan_string(x, &x->key) < 0)
        return DP_EVALUE;
    skip_space(x);
    if (peek(x) != ':')
        return fail_char(x, "':'");
    x->i++;
    return 0;
}

/* -- members -- */

enum { FEW = 8 };

/* Check that the names of an object's members differ.  Up to FEW members are compared pairwise;
 * more are sorted.  DP_EVALUE: two names are equal. */
static int check_members(const cJSON *object, dp_error *err)
{
    const cJSON *m;
    size_t n = 0;
    bool repeated = false;

    cJSON_ArrayForEach(m, object)
    {
        for (const cJSON *k = object->child; n < FEW && k != m; k = k->next)
            repeated = repeated || same_name(k->string, m->string);
        n++;
    }
    return repeated || n > FEW ? json_name_repeated(object, n, err) : 0;
}

/* -- values -- */

/* Begin container `j`.  `*inside`: whether it has elements. */
static int scan_open(scan *x, cJSON *j, bool *inside)
{
    bool object = peek(x) == '{';

    if (x->depth >= LIMIT_SIZE(JSON_DEPTH))
        return LIMIT_REACHED(JSON_DEPTH, x->depth + 1,
                             dp_error_set(x->err, DP_EVALUE,
                                          "nested %u deep, at most %zu (json_depth), at byte %zu",
                                          x->depth + 1, LIMIT_SIZE(JSON_DEPTH), x->i + 1));
    j->type = object ? cJSON_Object : cJSON_Array;
    x->i++;
    skip_space(x);
    *inside = peek(x) != (object ? '}' : ']');
    if (!*inside) {
        x->i++;
        return 0;
    }
    x->open[x->depth++] = j;
    return object ? scan_key(x) : 0;
}

/* Read one value.  If it is a container that has elements, read only up to its first value, and set
 * `*inside` to true. */
static int scan_value(scan *x, bool *inside)
{
    skip_space(x);
    *inside = false;
    if (++x->nodes > LIMIT_SIZE(JSON_NODES))
        return LIMIT_REACHED(JSON_NODES, x->nodes,
                             dp_error_set(x->err, DP_EVALUE,
                                          "%zu values or more, at most %zu (json_nodes)", x->nodes,
                                          LIMIT_SIZE(JSON_NODES)));
    cJSON *j = add_node(x);
    char c = peek(x);
    if (j == NULL)
        return DP_ERESOURCE;
    if (c == '{' || c == '[')
        return scan_open(x, j, inside);
    if (c == '"') {
        j->type = cJSON_String;
        return scan_string(x, &j->valuestring);
    }
    if (c == '-' || (c >= '0' && c <= '9')) {
        j->type = cJSON_Number;
        return scan_number(x, &j->valuedouble);
    }
    return scan_word(x, &j->type);
}

/* End the innermost container.  An error about its members is reported at the end of the text,
 * unless another error comes first. */
static void end_container(scan *x)
{
    const cJSON *j = x->open[--x->depth];

    x->i++;
    if (x->repeated == 0 && j->type == cJSON_Object)
        x->repeated = check_members(j, x->err);
}

/* Read the text after a value: end the containers that end here.  `*more`: whether another value
 * follows. */
static int scan_after(scan *x, bool *more)
{
    *more = false;
    while (x->depth > 0) {
        bool object = x->open[x->depth - 1]->type == cJSON_Object;
        skip_space(x);
        if (peek(x) == ',') {
            x->i++;
            *more = true;
            return object ? scan_key(x) : 0;
        }
        if (peek(x) != (object ? '}' : ']'))
            return fail_char(x, object ? "',' or '}'" : "',' or ']'");
        end_container(x);
    }
    return 0;
}

static int scan_text(scan *x)
{
    bool more = true, inside;

    while (more) {
        int rc = scan_value(x, &inside);
        if (rc == 0 && !inside)
            rc = scan_after(x, &more);
        if (rc < 0)
            return rc;
    }
    skip_space(x);
    return x->i < x->n ? fail_char(x, "the end of the line") : x->repeated;
}

int json_parse(const char *s, size_t n, cJSON **out, dp_error *err)
{
    cJSON *open[LIMIT_JSON_DEPTH];
    scan x = {.n = n, .open = open, .err = err};

    int rc = tree_init(&x, s);
    if (rc < 0)
        return rc;
    rc = scan_text(&x);
    if (rc == 0)
        *out = x.blocks->nodes;
    else
        json_free(x.blocks->nodes);
    return rc;
}
