/* formula_text.c -- check the text of a formula against its operator: the flags, the sources and
 * types of inputs, and the arguments whose gradients the outputs are; and read the properties of
 * tensors that inputs name.
 *
 * A plugin's formulas are checked when it is loaded, if their operators are known then; and each is
 * checked when it is compiled, because its operator may have been defined later.  Steps are not
 * read here: the operators that they call may be loaded after the formula. */
#include "formula.h"
#include "dispatch/call/ctx.h"
#include "dispatch/schema/parse.h"
#include "program/program_i.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* -- properties of tensors that a formula can read without saving the tensor -- */

/* dpi_source.field is one of these or an index in dpi_gets, the properties that GET steps read. */
enum { FIELD_DEFINED = DPI_GETS_MAX, FIELD_LEN };

int dpi_field_find(const char *name)
{
    if (strcmp(name, "defined") == 0)
        return FIELD_DEFINED;
    if (strcmp(name, "len") == 0)
        return FIELD_LEN;
    if (strcmp(name, "dtypes") == 0)
        return dpi_field_find("dtype");
    for (uint32_t i = 0; i < dpi_n_gets; i++)
        if (dpi_gets[i].n_args == 1 && strcmp(dpi_gets[i].name, name) == 0)
            return (int)i;
    return -1;
}

const char *dpi_field_type(uint16_t field)
{
    const uint32_t tag = field == FIELD_DEFINED ? DP_TAG_BOOL
                         : field == FIELD_LEN   ? DP_TAG_INT
                                                : dpi_gets[field].result_tag;

    return tag == DP_TAG_INTS ? "int[]" : tag == DP_TAG_BOOL ? "bool" : "int";
}

bool dpi_field_of_each(uint16_t field)
{
    return field != FIELD_DEFINED && field != FIELD_LEN;
}

int dpi_field_read(dp_ctx *ctx, uint16_t field, const dp_value *v, dp_value *out)
{
    char *at = ctx->arena.at;
    dp_value found = {0};
    int rc = 0;

    if (field == FIELD_DEFINED) {
        found = dp_bool(v->tag == DP_TAG_TENSOR);
    } else if (field == FIELD_LEN) {
        found = dp_int(v->tag == DP_TAG_TENSORS ? v->len : 0);
    } else if (v->tag == DP_TAG_TENSOR) {
        rc = dpi_gets[field].fn(ctx, v, &found);
    } else if (v->tag == DP_TAG_TENSORS) {
        dp_value *items = dp_arena_alloc_n(&ctx->arena, v->len, sizeof(*items));
        if (items == NULL)
            rc = dpi_no_memory(&ctx->error, "what a formula saves");
        for (uint32_t i = 0; i < v->len && rc == 0; i++) {
            const dp_value item = dp_list_item(v, i);
            items[i] = (dp_value){0};
            if (item.u.t != NULL)
                rc = dpi_gets[field].fn(ctx, &item, &items[i]);
        }
        found = (dp_value){DP_TAG_LIST, v->len, {.values = items}};
    }
    if (rc == 0)
        rc = dp_value_copy(ctx, &found, out);
    dpi_arena_rewind(&ctx->arena, at);
    return rc;
}

/* -- errors -- */

enum { TEXT_SHOWN = 40, NAME_MAX_BYTES = DP_KEY_NAME_MAX };

/* Set the error of a formula: where it is, and the message that `format` makes. */
__attribute__((format(printf, 2, 3))) static int refuse(const dpi_formula_site *at,
                                                        const char *format, ...)
{
    char what[sizeof(at->err->message)];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    return dp_error_set(at->err, DP_EPLUGIN, "the formula of %s (%s:%u): %s", at->op, at->file,
                        at->line, what);
}

static int argument_find(const dp_schema *s, const char *name, size_t n)
{
    for (uint32_t i = 0; i < s->n_args; i++)
        if (strlen(s->args[i].name) == n && memcmp(s->args[i].name, name, n) == 0)
            return (int)i;
    return -1;
}

/* -- flags -- */

static bool read_switch(dpi_formula *f, const char *word, size_t n)
{
    const struct {
        const char *name;
        bool *on;
    } switches[] = {{"detaches", &f->detaches},
                    {"once_differentiable", &f->once},
                    {"reshapes", &f->reshapes},
                    {"through", &f->through},
                    {"unrecorded", &f->unrecorded}};

    for (size_t i = 0; i < DPI_COUNT(switches); i++)
        if (strlen(switches[i].name) == n && memcmp(switches[i].name, word, n) == 0)
            return *switches[i].on = true;
    return false;
}

/* Read the digits of flag differentiable=, one for each return. */
static int read_digits(const dpi_formula_site *at, dpi_formula *f, const char *digits, size_t n)
{
    if (n != at->schema->n_rets || strspn(digits, "01") < n)
        return refuse(at,
                      "flag differentiable=%.*s must have a digit, 0 or 1, for each return of the "
                      "operator, which has %u",
                      (int)(n < TEXT_SHOWN ? n : TEXT_SHOWN), digits, at->schema->n_rets);
    f->differentiable = 0;
    for (size_t i = 0; i < n; i++)
        f->differentiable |= (uint64_t)(digits[i] == '1') << i;
    return 0;
}

static int read_clone(const dpi_formula_site *at, dpi_formula *f, const char *name, size_t n)
{
    int i = argument_find(at->schema, name, n), shown = (int)(n < TEXT_SHOWN ? n : TEXT_SHOWN);

    if (i < 0)
        return refuse(at, "it clones no argument '%.*s'", shown, name);
    if (!(at->schema->written >> i & 1))
        return refuse(at,
                      "flag clone=%.*s is for an argument that the operator writes in place, and "
                      "it does not write '%.*s'",
                      shown, name, shown, name);
    f->clone |= (uint64_t)1 << i;
    return 0;
}

int dpi_formula_flags(const dpi_formula_site *at, dpi_formula *f, const char **text)
{
    const char *end = strchr(*text, '\n'), *word = *text + strlen("flags");
    int rc = 0;

    if (strncmp(*text, "flags", strlen("flags")) != 0 || end == NULL)
        return refuse(at, "its text does not begin with 'flags'");
    *text = end + 1;
    f->differentiable = ~(uint64_t)0;
    while (word < end && rc == 0) {
        word += strspn(word, " ");
        size_t n = strcspn(word, " \n");
        if (n >= 15 && strncmp(word, "differentiable=", 15) == 0)
            rc = read_digits(at, f, word + 15, n - 15);
        else if (n >= 6 && strncmp(word, "clone=", 6) == 0)
            rc = read_clone(at, f, word + 6, n - 6);
        else if (n > 0 && !read_switch(f, word, n))
            rc = refuse(at, "no flag is called '%.*s'", (int)(n < TEXT_SHOWN ? n : TEXT_SHOWN),
                        word);
        word += n;
    }
    return rc;
}

/* -- inputs -- */

/* Find the return that `name` [n] means: its name in the schema, "result" or "result1"; -1:
 * none. */
static int return_find(const dp_schema *s, const char *name, size_t n)
{
    for (uint32_t i = 0; i < s->n_rets; i++)
        if (s->rets[i].name != NULL && s->rets[i].name[0] != '\0' && strlen(s->rets[i].name) == n &&
            memcmp(s->rets[i].name, name, n) == 0)
            return (int)i;
    if (n < 6 || memcmp(name, "result", 6) != 0)
        return -1;
    int i = n == 6 ? 0 : name[6] - '0';
    return n <= 7 && i >= 0 && i < (int)s->n_rets ? i : -1;
}

/* Find the return whose gradient `name` means: "grad" or "grads" is that of return 0, "grad1" that
 * of return 1; -1: none. */
static int grad_find(const dp_schema *s, const char *name)
{
    if (strcmp(name, "grads") == 0) /* the return is a list */
        return s->n_rets > 0 ? 0 : -1;
    if (strncmp(name, "grad", 4) != 0)
        return -1;
    char *end;
    long i = name[4] == '\0' ? 0 : strtol(name + 4, &end, 10);
    return (name[4] == '\0' || *end == '\0') && i >= 0 && i < (long)s->n_rets ? (int)i : -1;
}

int dpi_formula_source(const dpi_formula_site *at, const char *name, const char *type,
                       dpi_source *out)
{
    const dp_schema *s = at->schema;
    const char *dot = strchr(name, '.');
    size_t n = dot != NULL ? (size_t)(dot - name) : strlen(name);
    int i;

    *out = (dpi_source){.kind = DPI_FROM_GRAD};
    if (strcmp(name, "create_graph") == 0) {
        out->kind = DPI_FROM_CREATE;
        return 0;
    }
    if (dot != NULL && n == 4 && memcmp(name, "need", 4) == 0) {
        i = argument_find(s, dot + 1, strlen(dot + 1));
        out->kind = DPI_FROM_NEED;
        out->index = (uint16_t)i;
        return i >= 0 ? 0 : refuse(at, "no argument is called '%.40s'", dot + 1);
    }
    if (dot == NULL && argument_find(s, name, n) < 0 && (i = grad_find(s, name)) >= 0) {
        out->index = (uint16_t)i;
        out->optional = type[strlen(type) - 1] == '?';
        out->list = s->rets[i].type->kind == DPI_TYPE_LIST;
        return 0;
    }
    i = argument_find(s, name, n);
    out->kind = dot != NULL ? DPI_FROM_ARG_FIELD : DPI_FROM_ARG;
    if (i < 0) {
        i = return_find(s, name, n);
        out->kind = dot != NULL ? DPI_FROM_RET_FIELD : DPI_FROM_RET;
    }
    int field = dot != NULL ? dpi_field_find(dot + 1) : 0;
    if (i < 0 || field < 0)
        return refuse(at, "no %s is called '%.40s'", i < 0 ? "argument or return" : "field", name);
    out->index = (uint16_t)i;
    out->field = (uint16_t)field;
    return 0;
}

/* Get the tags of values that fit the type with the text `type`: a word, with "[]" for a list and
 * "?" for an optional.  0: it is any other text, which the program's own reader judges. */
static uint32_t tags_of(const char *type)
{
    dpi_type levels[4];
    size_t n = strlen(type);
    char word[NAME_MAX_BYTES];
    int top = 0;

    if (n >= sizeof(word))
        return 0;
    while (n > 1 && top < 3 && (type[n - 1] == '?' || type[n - 1] == ']')) {
        bool optional = type[n - 1] == '?';
        levels[top] = (dpi_type){.kind = optional ? DPI_TYPE_OPTIONAL : DPI_TYPE_LIST,
                                 .elem = &levels[top + 1]};
        top++;
        while (n > 1 && !optional && type[n - 1] != '[')
            n--;
        n--;
    }
    memcpy(word, type, n);
    word[n] = '\0';
    const char *name = word;
    const dpi_word *w = dpi_word_named(&name);
    if (w == NULL)
        return 0;
    levels[top] = (dpi_type){.kind = w->kind, .name = name};
    return dpi_type_tags(&levels[0]);
}

/* Get the type of the values that `from` gives: its text in `out`, and the tags of such values. */
static uint32_t wanted_type(const dpi_formula_site *at, const dpi_source *from, dpi_text *out)
{
    bool arg = from->kind == DPI_FROM_ARG || from->kind == DPI_FROM_ARG_FIELD;
    const dpi_argument *of = arg ? &at->schema->args[from->index] : &at->schema->rets[from->index];
    const char *text = NULL;

    switch (from->kind) {
    case DPI_FROM_GRAD:
        text = from->list ? "Tensor?[]" : "Tensor?";
        break;
    case DPI_FROM_ARG:
    case DPI_FROM_RET:
        dpi_type_print(out, of->type, true);
        return dpi_type_tags(of->type);
    case DPI_FROM_ARG_FIELD:
    case DPI_FROM_RET_FIELD:
        text = dpi_field_type(from->field);
        if (of->type->kind == DPI_TYPE_LIST && dpi_field_of_each(from->field)) {
            dpi_text_printf(out, "a list of %s", text);
            return TAG(LIST);
        }
        break;
    default:
        text = "bool";
    }
    dpi_text_add(out, text);
    return tags_of(text);
}

static int check_input(const dpi_formula_site *at, const char *name, const char *type)
{
    dpi_source from;
    dpi_text wanted = {0};
    int rc = dpi_formula_source(at, name, type, &from);
    uint32_t got = tags_of(type);

    if (rc < 0 || strcmp(type, "any") == 0 || got == 0)
        return rc;
    uint32_t want = wanted_type(at, &from, &wanted);
    got |= got & TAG(DOUBLE) ? TAG(INT) : 0; /* a call gives an int for a float, too */
    if (want != TAGS_ALL && got != TAGS_ALL && !(got & want & ~TAG(NONE)))
        rc = refuse(at, "input '%.40s' has type %.40s, and its values are %s", name, type,
                    wanted.failed ? "others" : wanted.s);
    dpi_text_fini(&wanted);
    return rc;
}

/* -- outputs -- */

int dpi_formula_output(const dpi_formula_site *at, const char *name, uint64_t *given)
{
    int i = argument_find(at->schema, name, strlen(name));

    if (i < 0)
        return refuse(at, "no argument is called '%.40s'", name);
    if (!(at->schema->tensor_args >> i & 1))
        return refuse(at, "'out %.40s' must be the gradient of a tensor, and this argument is none",
                      name);
    if (*given >> i & 1)
        return refuse(at, "'out %.40s' is given twice, and an argument has one gradient", name);
    *given |= (uint64_t)1 << i;
    return i;
}

/* -- statements -- */

/* Find the next statement in *text: *at [*n]; and move *text behind it.  False: there is none. */
static bool next_statement(const char **text, const char **at, size_t *n)
{
    const char *end = *text + strspn(*text, " \t\n;");

    while (*end == '#') {
        end += strcspn(end, "\n");
        end += strspn(end, " \t\n;");
    }
    *at = end;
    while (*end != '\0' && strchr("\n;#", *end) == NULL) {
        const char *quote = *end == '\'' ? strchr(end + 1, '\'') : end;
        end = quote != NULL ? quote + 1 : end + strlen(end);
    }
    *n = (size_t)(end - *at);
    *text = end;
    return *n > 0;
}

/* Read "`word` NAME REST", the statement `at` [n]: copy NAME to `name`, and REST without blanks at
 * its ends to `rest`.  False: the statement is another one. */
static bool read_words(const char *at, size_t n, const char *word, char name[NAME_MAX_BYTES],
                       char rest[NAME_MAX_BYTES])
{
    const char *end = at + n;
    size_t bytes = strlen(word);

    if (n < bytes || memcmp(at, word, bytes) != 0 || (at[bytes] != ' ' && at[bytes] != '\t'))
        return false;
    at += bytes;
    at += strspn(at, " \t");
    bytes = strcspn(at, " \t\n;#");
    if (!(isalpha((unsigned char)*at) || *at == '_') || bytes >= NAME_MAX_BYTES || at + bytes > end)
        return false;
    memcpy(name, at, bytes);
    name[bytes] = '\0';
    at += bytes;
    at += strspn(at, " \t");
    while (end > at && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    bytes = end > at ? (size_t)(end - at) : 0;
    if (bytes == 0 || bytes >= NAME_MAX_BYTES)
        return false;
    memcpy(rest, at, bytes);
    rest[bytes] = '\0';
    return true;
}

static int check_statements(const dpi_formula_site *at, const dpi_formula *f, const char *text)
{
    char name[NAME_MAX_BYTES], rest[NAME_MAX_BYTES];
    const uint32_t n_rets = at->schema->n_rets;
    uint64_t given = 0, rets = n_rets < 64 ? ((uint64_t)1 << n_rets) - 1 : UINT64_MAX;
    const char *s;
    size_t n;
    int rc = 0;

    while (rc >= 0 && next_statement(&text, &s, &n)) {
        if (f->through)
            rc = refuse(at, "flag through is for an empty program, and this one has '%.*s'",
                        (int)(n < TEXT_SHOWN ? n : TEXT_SHOWN), s);
        else if (read_words(s, n, "in", name, rest))
            rc = check_input(at, name, rest);
        else if (read_words(s, n, "out", name, rest))
            rc = dpi_formula_output(at, name, &given);
    }
    bool none = f->through || f->unrecorded || f->detaches || (f->differentiable & rets) == 0;
    if (rc >= 0 && given == 0 && !none)
        rc = refuse(at, "it has no 'out', which gives the gradient of an argument");
    return rc < 0 ? rc : 0;
}

int dpi_formula_check(const char *op, const dp_schema *schema, const dpi_kernel *k, dp_error *err)
{
    const dpi_formula_site at = {err, op, schema, k->file, k->line};
    const char *text = k->code;
    dpi_formula f = {0};
    int rc = dpi_formula_flags(&at, &f, &text);

    return rc == 0 ? check_statements(&at, &f, text) : rc;
}
