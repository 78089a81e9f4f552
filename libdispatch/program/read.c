/* read.c -- read the text of a program and add its inputs, steps and outputs to a builder, one
 * statement a line.
 *
 *     in self Tensor                         an input, and its type as in a schema; "any": any type
 *     a = aten::mul.Tensor(self, 2.5)        a call; the overload may be left out
 *     b, c = aten::split(a, 2, dim=-1)       several returns, and an argument by name
 *     n = get size(self, 0)                  a property of a tensor or list: a GET step
 *     m = scalar floordiv(n, 2)              arithmetic on numbers
 *     l = [a, b]     d = l[1]                a list, and an item of a list
 *     e = select(n, a, d)                    a if n is true, else d
 *     f = when n: aten::neg(a)               a step that runs only if n is true
 *     aten::_assert_async(a)                 a call without returns
 *     out y f                                an output and its value
 *
 * An argument is a name, an int, a float (also inf, nan), true, false, none, a string in single
 * quotes, or a list of ints.  A semicolon ends a statement, too; "#" begins a comment. */
#include "dispatch/call/ctx.h"
#include "program_i.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

enum { READ_ARGS = DP_LIMIT_ARGUMENTS, READ_NAME = DP_KEY_NAME_MAX };

typedef struct reader {
    dp_builder *b;
    const char *at;
    uint32_t line;
} reader;

/* -- tokens -- */

static int fail(reader *r, const char *what)
{
    return dpi_builder_fail(r->b, DP_EVALUE, "line %u of the program: %s at '%.20s'", r->line, what,
                            r->at);
}

static void skip_blanks(reader *r)
{
    while (*r->at == ' ' || *r->at == '\t')
        r->at++;
    if (*r->at == '#')
        while (*r->at != '\0' && *r->at != '\n')
            r->at++;
}

/* Skip character `c` and the blanks around it.  False: another character comes next. */
static bool take(reader *r, char c)
{
    skip_blanks(r);
    if (*r->at != c)
        return false;
    r->at++;
    skip_blanks(r);
    return true;
}

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == ':';
}

/* Read a name into `out`.  A single colon ends the name; "::" is a part of it. */
static bool take_name(reader *r, char out[READ_NAME])
{
    size_t n = 0;

    skip_blanks(r);
    if (!isalpha((unsigned char)*r->at) && *r->at != '_')
        return false;
    while (n < READ_NAME - 1 && is_name_char(r->at[n]) &&
           (r->at[n] != ':' || r->at[n + 1] == ':' || (n > 0 && r->at[n - 1] == ':')))
        n++;
    memcpy(out, r->at, n);
    out[n] = '\0';
    r->at += n;
    skip_blanks(r);
    return true;
}

static bool take_word(reader *r, const char *word)
{
    const char *at = r->at;
    char name[READ_NAME];

    if (take_name(r, name) && strcmp(name, word) == 0 && *r->at != '=' && *r->at != ',' &&
        *r->at != '(' && *r->at != ')' && *r->at != '[' && *r->at != ']')
        return true;
    r->at = at;
    return false;
}

/* -- arguments -- */

static int take_number(reader *r, dp_value *out)
{
    char *end_int, *end_double;
    long long i = strtoll(r->at, &end_int, 10);
    double d = strtod(r->at, &end_double);

    if (end_double == r->at)
        return fail(r, "no argument");
    *out = end_double > end_int ? dp_double(d) : dp_int(i);
    r->at = end_double;
    skip_blanks(r);
    return 0;
}

static int take_string(reader *r, dp_value *out)
{
    const char *end = strchr(r->at + 1, '\'');

    if (end == NULL)
        return fail(r, "a string without its end");
    size_t n = (size_t)(end - r->at - 1);
    char *copy = dp_arena_alloc(r->b->arena, n + 1);
    if (copy == NULL)
        return dpi_no_memory(&r->b->ctx->error, "a string");
    memcpy(copy, r->at + 1, n);
    copy[n] = '\0';
    *out = (dp_value){DP_TAG_STR, (uint32_t)n, {.s = copy}};
    r->at = end + 1;
    skip_blanks(r);
    return 0;
}

static int take_ints(reader *r, dp_value *out)
{
    int64_t items[DP_DIM_MAX];
    uint32_t n = 0;

    while (!take(r, ']')) {
        dp_value v;
        if (n == DP_DIM_MAX || (n > 0 && !take(r, ',')))
            return fail(r, "no list of ints");
        int rc = take_number(r, &v);
        if (rc < 0)
            return rc;
        if (v.tag != DP_TAG_INT)
            return fail(r, "a list of ints with something else");
        items[n++] = v.u.i;
    }
    int64_t *copy = dp_arena_dup_n(r->b->arena, items, n, sizeof(*items));
    if (copy == NULL)
        return dpi_no_memory(&r->b->ctx->error, "a list");
    *out = dp_ints(copy, n);
    return 0;
}

/* Get the constant that `word` means: *out.  False: `word` is the name of a value. */
static bool constant_of(const char *word, dp_value *out)
{
    if (strcmp(word, "true") == 0 || strcmp(word, "false") == 0)
        *out = dp_bool(word[0] == 't');
    else if (strcmp(word, "none") == 0)
        *out = (dp_value){0};
    else if (strcmp(word, "inf") == 0 || strcmp(word, "nan") == 0)
        *out = dp_double(strtod(word, NULL));
    else
        return false;
    return true;
}

static int take_constant(reader *r, dp_value *out)
{
    if (*r->at == '\'')
        return take_string(r, out);
    return take(r, '[') ? take_ints(r, out) : take_number(r, out);
}

/* Read one argument: *out.  `name`: the word that begins the argument if it was read already, else
 * "". */
static int take_argument(reader *r, const char *name, dp_ref *out)
{
    dp_value v;

    if (name[0] != '\0' && !constant_of(name, &v))
        return dp_builder_find(r->b, name, out);
    int rc = name[0] != '\0' ? 0 : take_constant(r, &v);
    return rc < 0 ? rc : dp_builder_constant(r->b, NULL, &v, out);
}

typedef struct arguments {
    dp_ref args[READ_ARGS];
    dp_ref_kwarg kwargs[READ_ARGS];
    char names[READ_ARGS][READ_NAME]; /* names of the keyword arguments */
    size_t n_args, n_kwargs;
} arguments;

/* Read the arguments up to and including `end`. */
static int take_arguments(reader *r, char end, arguments *a)
{
    a->n_args = a->n_kwargs = 0;
    while (!take(r, end)) {
        char name[READ_NAME] = "";
        if (a->n_args + a->n_kwargs > 0 && !take(r, ','))
            return fail(r, "no comma between arguments");
        if (a->n_args + a->n_kwargs == READ_ARGS)
            return fail(r, "too many arguments");
        if (*r->at != '-' && !isdigit((unsigned char)*r->at) && *r->at != '\'' && *r->at != '[')
            if (!take_name(r, name))
                return fail(r, "no argument");
        bool by_name = name[0] != '\0' && take(r, '=');
        if (by_name) {
            strcpy(a->names[a->n_kwargs], name);
            name[0] = '\0';
            take_name(r, name);
        }
        dp_ref ref;
        int rc = take_argument(r, name, &ref);
        if (rc < 0)
            return rc;
        if (by_name) {
            a->kwargs[a->n_kwargs] = (dp_ref_kwarg){a->names[a->n_kwargs], ref};
            a->n_kwargs++;
        } else {
            a->args[a->n_args++] = ref;
        }
    }
    return 0;
}

/* -- steps -- */

/* Read the part of a statement after "=": the kind, the name and the arguments of a step. */
static int take_step(reader *r, dp_step *s, char name[READ_NAME], arguments *a)
{
    if (take(r, '[')) {
        s->kind = DP_STEP_LIST;
        return take_arguments(r, ']', a);
    }
    s->kind = take_word(r, "get")      ? DP_STEP_GET
              : take_word(r, "scalar") ? DP_STEP_SCALAR
                                       : DP_STEP_CALL;
    if (!take_name(r, name))
        return fail(r, "no step");
    s->name = name;
    if (s->kind == DP_STEP_CALL && take(r, '[')) {
        dp_value index;
        s->kind = DP_STEP_ITEM;
        a->n_args = 1;
        int rc = dp_builder_find(r->b, name, &a->args[0]);
        if (rc == 0)
            rc = take_number(r, &index);
        if (rc == 0 && (index.tag != DP_TAG_INT || !take(r, ']')))
            rc = fail(r, "no index");
        s->index = rc == 0 ? index.u.i : 0;
        return rc;
    }
    if (strcmp(name, "select") == 0)
        s->kind = DP_STEP_SELECT;
    return take(r, '(') ? take_arguments(r, ')', a) : fail(r, "no arguments");
}

/* Read a statement "CALL" whose operator returns nothing. */
static int read_call(reader *r)
{
    char name[READ_NAME];
    arguments *a = dp_arena_alloc(&r->b->ctx->arena, sizeof(*a));
    dp_step s = {.size = sizeof(s), .origin = r->line};

    if (a == NULL)
        return dpi_no_memory(&r->b->ctx->error, "a step");
    int rc = take_step(r, &s, name, a);
    s.args = a->args;
    s.n_args = a->n_args;
    s.kwargs = a->kwargs;
    s.n_kwargs = a->n_kwargs;
    return rc == 0 ? dp_builder_add(r->b, &s, NULL, NULL) : rc;
}

/* Read a statement "NAMES = [when NAME:] STEP" after its first name. */
static int read_step(reader *r, char first[READ_NAME])
{
    char names[READ_ARGS][READ_NAME], name[READ_NAME], condition[READ_NAME];
    arguments *a = dp_arena_alloc(&r->b->ctx->arena, sizeof(*a));
    dp_step s = {.size = sizeof(s), .n_rets = 1, .origin = r->line};
    dp_ref when, ret;
    int rc;

    if (a == NULL)
        return dpi_no_memory(&r->b->ctx->error, "a step");
    a->n_args = a->n_kwargs = 0;
    strcpy(names[0], first);
    while (take(r, ','))
        if (s.n_rets == READ_ARGS || !take_name(r, names[s.n_rets++]))
            return fail(r, "no name of a return");
    if (!take(r, '='))
        return fail(r, "no '='");
    if (take_word(r, "when")) {
        if (!take_name(r, condition) || !take(r, ':'))
            return fail(r, "no condition");
        if ((rc = dp_builder_find(r->b, condition, &when)) < 0)
            return rc;
        s.when = &when;
    }
    rc = take_step(r, &s, name, a);
    s.args = a->args;
    s.n_args = a->n_args;
    s.kwargs = a->kwargs;
    s.n_kwargs = a->n_kwargs;
    if (rc == 0)
        rc = dp_builder_add(r->b, &s, &ret, NULL);
    for (int64_t i = 0; i < s.n_rets && rc == 0; i++)
        if (strcmp(names[i], "_") != 0)
            rc = dp_builder_name(r->b, names[i], ret + (dp_ref)i, r->line);
    return rc;
}

static int read_input(reader *r)
{
    char name[READ_NAME], type[READ_NAME];
    dp_ref ref;

    if (!take_name(r, name))
        return fail(r, "no name of an input");
    size_t n = strcspn(r->at, "\n;#");
    while (n > 0 && (r->at[n - 1] == ' ' || r->at[n - 1] == '\t'))
        n--;
    if (n == 0 || n >= sizeof(type))
        return fail(r, "no type of an input");
    memcpy(type, r->at, n);
    type[n] = '\0';
    r->at += n;
    return dp_builder_input(r->b, name, strcmp(type, "any") == 0 ? NULL : type, &ref);
}

static int read_output(reader *r)
{
    char name[READ_NAME], value[READ_NAME] = "";
    dp_ref ref;

    if (!take_name(r, name))
        return fail(r, "no name of an output");
    take_name(r, value);
    int rc = take_argument(r, value, &ref);
    return rc < 0 ? rc : dp_builder_output(r->b, name, ref);
}

static int read_statement(reader *r)
{
    char name[READ_NAME];

    if (take_word(r, "in"))
        return read_input(r);
    if (take_word(r, "out"))
        return read_output(r);
    const char *at = r->at;
    if (!take_name(r, name))
        return fail(r, "no statement");
    if (*r->at != '(')
        return read_step(r, name);
    r->at = at;
    return read_call(r);
}

int dp_builder_text(dp_builder *b, const char *text)
{
    if (b == NULL)
        return DP_EVALUE;
    if (!DPI_GIVEN(&b->ctx->error, DP_EVALUE, text))
        return DP_EVALUE;
    reader r = {b, text, 1};
    b->p.of_lines = true;

    for (;;) {
        skip_blanks(&r);
        if (*r.at == '\n' || *r.at == ';') {
            r.line += *r.at == '\n';
            r.at++;
            continue;
        }
        if (*r.at == '\0')
            return 0;
        int rc = read_statement(&r);
        if (rc < 0)
            return rc;
        skip_blanks(&r);
        if (*r.at != '\0' && *r.at != '\n' && *r.at != ';')
            return fail(&r, "something after a statement");
    }
}
