/* program.c -- verbs for programs in files: {"inputs","constants"?,"steps","outputs"}.
 *
 * "inputs" lists names and types, as in program.create, or gives values by name, as in program.run.
 * `program run` uses these values for inputs that the command line does not give. */
#include "cli.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MAX = 1 << 30 };

/* Read `f` up to its end, but at most FILE_MAX - 1 bytes; owned. */
static char *read_all(FILE *f)
{
    size_t n = 0, cap = 1 << 16;
    char *s = need(malloc(cap));

    for (size_t got; (got = fread(s + n, 1, cap - n - 1, f)) > 0;) {
        n += got;
        if (n + 1 == cap && cap < FILE_MAX)
            s = need(realloc(s, cap *= 2));
    }
    s[n] = '\0';
    return s;
}

/* Read the file at `path`, or standard input if `path` is "-"; owned.  NULL: it cannot be opened,
 * and errno is set. */
static char *read_file(const char *path)
{
    bool input = strcmp(path, "-") == 0;
    FILE *f = input ? stdin : fopen(path, "r");
    char *s = f != NULL ? read_all(f) : NULL;

    if (f != NULL && !input)
        fclose(f);
    return s;
}

/* Read the program in the file that the first word names, as a JSON object; owned.  NULL: a usage
 * message was printed. */
static cJSON *program_of_file(cli *c)
{
    char *text = read_file(c->words[0]);

    if (text == NULL) {
        usage(c, "%s: %s", c->words[0], strerror(errno));
        return NULL;
    }
    cJSON *j = cJSON_ParseWithOpts(text, NULL, true);
    free(text);
    if (!cJSON_IsObject(j)) {
        usage(c, "%s: not a JSON object", c->words[0]);
        cJSON_Delete(j);
        return NULL;
    }
    return j;
}

/* Replace "inputs" of `program` by the list of names that program.create takes.  Returns the values
 * that "inputs" held, by name; owned. */
static cJSON *take_values(cJSON *program)
{
    cJSON *inputs = cJSON_DetachItemFromObjectCaseSensitive(program, "inputs"), *list, *value;

    /* `inputs` is a list, or an error that the daemon will report. */
    if (inputs != NULL && !cJSON_IsObject(inputs)) {
        cJSON_AddItemToObject(program, "inputs", inputs);
        return params_new();
    }
    list = need(cJSON_AddArrayToObject(program, "inputs"));
    cJSON_ArrayForEach(value, inputs)
    {
        cJSON *input = params_new();
        params_text(input, "name", value->string);
        cJSON_AddItemToArray(list, input);
    }
    return inputs != NULL ? inputs : params_new();
}

/* Handles of the programs that this command has made. */
static cJSON *made;

/* Note program `name` of answer `a`, and return its handle, owned. */
static cJSON *take_handle(const dpc_answer *a, const char *name)
{
    const cJSON *handle = member(dpc_answer_result(a), name);

    if (made == NULL)
        made = need(cJSON_CreateArray());
    cJSON_AddItemToArray(made, need(cJSON_Duplicate(handle, true)));
    return need(cJSON_Duplicate(handle, true));
}

/* Release what the command has made: a session that others share would keep it.  Returns `rc`, or
 * the status of a release that failed. */
static int finish(cli *c, int rc)
{
    cJSON *handle;
    dpc_answer *a;

    while (c->session != NULL && made != NULL && (handle = made->child) != NULL) {
        cJSON *params = params_new();
        cJSON_AddItemToObject(params, "program", cJSON_DetachItemViaPointer(made, handle));
        int released = request(c, "program.release", params, &a);
        if (released == CLI_OK)
            dpc_answer_free(a);
        rc = rc != CLI_OK ? rc : released;
    }
    cJSON_Delete(made);
    made = NULL;
    return rc;
}

/* Create the program in the daemon, in the session of this command.  CLI_OK: member "program" of
 * `*params` (owned) is its handle, and member "inputs" has the values from the file. */
static int create(cli *c, cJSON **params)
{
    cJSON *program = program_of_file(c);
    dpc_answer *a;

    if (program == NULL)
        return CLI_USAGE;
    cJSON *values = take_values(program);
    int rc = request(c, "program.create", program, &a);
    if (rc != CLI_OK) {
        cJSON_Delete(values);
        return rc;
    }
    *params = params_new();
    cJSON_AddItemToObject(*params, "inputs", values);
    cJSON_AddItemToObject(*params, "program", take_handle(a, "program"));
    dpc_answer_free(a);
    return CLI_OK;
}

static void show_text(const cJSON *result)
{
    fputs(text_of(result, "text"), stdout);
}

static int describe(cli *c, const char *format)
{
    cJSON *params;
    int rc = words_fit(c, 1, 1) ? create(c, &params) : CLI_USAGE;

    if (rc != CLI_OK)
        return rc;
    cJSON_DeleteItemFromObjectCaseSensitive(params, "inputs");
    params_text(params, "format", c->json && strcmp(format, "text") == 0 ? "json" : format);
    return ask(c, "program.describe", params, show_text);
}

static int check(cli *c)
{
    return finish(c, describe(c, "text"));
}

static int dot(cli *c)
{
    return finish(c, describe(c, "dot"));
}

/* Run the passes that the words after the first one name, and print the program that they make. */
static int show_pass(cli *c)
{
    cJSON *params;
    dpc_answer *a;
    int rc = words_fit(c, 2, -1) ? create(c, &params) : CLI_USAGE;

    if (rc != CLI_OK)
        return rc;
    cJSON_DeleteItemFromObjectCaseSensitive(params, "inputs");
    cJSON *passes = need(cJSON_AddArrayToObject(params, "passes"));
    for (int i = 1; i < c->n_words; i++)
        cJSON_AddItemToArray(passes, need(cJSON_CreateString(c->words[i])));
    rc = request(c, "program.pass", params, &a);
    if (rc != CLI_OK)
        return rc;
    params = params_new();
    cJSON_AddItemToObject(params, "program", take_handle(a, "program"));
    dpc_answer_free(a);
    params_text(params, "format", c->json ? "json" : "text");
    return ask(c, "program.describe", params, show_text);
}

static int pass(cli *c)
{
    return finish(c, show_pass(c));
}

/* Add an input from NAME=JSON to `inputs`.  An array, nested or flat, is a tensor of float32.
 * false: a usage message was printed. */
static bool add_input(cli *c, const char *word, cJSON *inputs)
{
    const char *equals = strchr(word, '=');
    cJSON *j = equals != NULL ? cJSON_ParseWithOpts(equals + 1, NULL, true) : NULL;

    if (j == NULL) {
        usage(c, "'%s' is not NAME=JSON", word);
        return false;
    }
    char *name = text_printf("%.*s", (int)(equals - word), word);
    /* The text is sent as written, so that no digit changes. */
    cJSON *value = need(cJSON_CreateRaw(equals + 1));
    if (cJSON_IsArray(j)) {
        cJSON *literal = params_new();
        cJSON_AddItemToObject(literal, "data", value);
        value = literal;
    }
    cJSON_AddItemToObject(inputs, name, value);
    free(name);
    cJSON_Delete(j);
    return true;
}

/* Move to `inputs` the values of those inputs that have none yet; takes ownership of `values`. */
static void fill_in(cJSON *inputs, cJSON *values)
{
    for (cJSON *v; (v = values->child) != NULL;) {
        cJSON_DetachItemViaPointer(values, v);
        if (member(inputs, v->string) != NULL)
            cJSON_Delete(v);
        else
            cJSON_AddItemToObject(inputs, v->string, v);
    }
    cJSON_Delete(values);
}

/* Create the program in the file that the first word names.  Member "inputs" of `*params` (owned)
 * has the values of the other words, NAME=JSON, and those of the file. */
static int create_with_inputs(cli *c, cJSON **params)
{
    cJSON *inputs = params_new();
    bool ok = words_fit(c, 1, -1);

    for (int i = 1; i < c->n_words && ok; i++)
        ok = add_input(c, c->words[i], inputs);
    int rc = ok ? create(c, params) : CLI_USAGE;
    if (rc != CLI_OK) {
        cJSON_Delete(inputs);
        return rc;
    }
    fill_in(inputs, cJSON_DetachItemFromObjectCaseSensitive(*params, "inputs"));
    cJSON_AddItemToObject(*params, "inputs", inputs);
    return CLI_OK;
}

/* Take option --deadline-ms and create the program; member "deadline_ms" of `*params` has its
 * value. */
static int create_to_run(cli *c, cJSON **params)
{
    cJSON *deadline = params_new();
    int rc = params_count(c, deadline, "deadline_ms", take_option(c, "--deadline-ms"))
                 ? create_with_inputs(c, params)
                 : CLI_USAGE;
    cJSON *ms = cJSON_DetachItemFromObjectCaseSensitive(deadline, "deadline_ms");

    if (ms != NULL && rc == CLI_OK)
        cJSON_AddItemToObject(*params, "deadline_ms", ms);
    else
        cJSON_Delete(ms);
    cJSON_Delete(deadline);
    return rc;
}

static int run(cli *c)
{
    cJSON *params;
    int rc = create_to_run(c, &params);

    if (rc == CLI_OK) {
        params_text(params, "return", "data");
        rc = ask(c, "program.run", params, print_outputs);
    }
    return finish(c, rc);
}

/* Add member "dynamic" to `params` from "x=0,y=0": dimensions by the names of inputs.  false: a
 * usage message was printed. */
static bool add_dynamic(cli *c, cJSON *params, const char *text)
{
    cJSON *dynamic = need(cJSON_AddObjectToObject(params, "dynamic"));

    for (const char *at = text; at != NULL;) {
        const char *end = at + strcspn(at, ","), *equals = strchr(at, '=');
        char *stop = NULL;
        long dim = equals != NULL ? strtol(equals + 1, &stop, 10) : -1;
        if (stop != end || stop == equals + 1 || dim < 0 || equals == at) {
            usage(c, "--dynamic: '%.*s' is not NAME=DIMENSION", (int)(end - at), at);
            return false;
        }
        char *name = need(strndup(at, (size_t)(equals - at)));
        cJSON *dims = cJSON_GetObjectItemCaseSensitive(dynamic, name);
        if (dims == NULL)
            dims = need(cJSON_AddArrayToObject(dynamic, name));
        cJSON_AddItemToArray(dims, need(cJSON_CreateNumber((double)dim)));
        free(name);
        at = *end == ',' ? end + 1 : NULL;
    }
    return true;
}

static int show_capture(cli *c)
{
    const char *dynamic = take_option(c, "--dynamic");
    bool whole = take_flag(c, "--whole"), reals = take_flag(c, "--reals"),
         numbers = take_flag(c, "--numbers"), as_dot = take_flag(c, "--dot");
    dpc_answer *a;
    cJSON *params, *about;
    int rc = create_to_run(c, &params);

    if (rc != CLI_OK)
        return rc;
    params_bool(params, "whole", whole);
    params_bool(params, "numbers", numbers);
    cJSON_AddItemToObject(params, "fakes", need(cJSON_CreateBool(!reals)));
    if (dynamic != NULL && !add_dynamic(c, params, dynamic)) {
        cJSON_Delete(params);
        return CLI_USAGE;
    }
    if ((rc = request(c, "program.capture", params, &a)) != CLI_OK)
        return rc;
    about = params_new();
    cJSON_AddItemToObject(about, "program", take_handle(a, "program"));
    dpc_answer_free(a);
    params_text(about, "format", as_dot ? "dot" : c->json ? "json" : "text");
    return ask(c, "program.describe", about, show_text);
}

static int capture(cli *c)
{
    return finish(c, show_capture(c));
}

/* Print program `name` of answer `a`. */
static int show_made(cli *c, const dpc_answer *a, const char *name)
{
    cJSON *about = params_new();

    cJSON_AddItemToObject(about, "program", take_handle(a, name));
    params_text(about, "format", c->json ? "json" : "text");
    return ask(c, "program.describe", about, show_text);
}

static int show_gradients(cli *c)
{
    const char *wrt = take_option(c, "--wrt"), *memory = take_option(c, "--memory");
    bool min_cut = take_flag(c, "--min-cut");
    dpc_answer *a;
    cJSON *params, *names;

    if (wrt == NULL)
        return usage(c, "expected --wrt with the names of inputs");
    int rc = create_with_inputs(c, &params);
    if (rc != CLI_OK)
        return rc;
    names = need(cJSON_AddArrayToObject(params, "wrt"));
    for (const char *at = wrt; at != NULL;) {
        const char *end = strchr(at, ',');
        size_t n = end != NULL ? (size_t)(end - at) : strlen(at);
        char *name = need(strndup(at, n));
        cJSON_AddItemToArray(names, need(cJSON_CreateString(name)));
        free(name);
        at = end != NULL ? end + 1 : NULL;
    }
    params_text(params, "partition", min_cut ? "min_cut" : "default");
    if (!params_count(c, params, "memory", memory)) {
        cJSON_Delete(params);
        return CLI_USAGE;
    }
    if ((rc = request(c, "program.grad", params, &a)) != CLI_OK)
        return rc;
    cJSON_Delete(take_handle(a, "program"));
    rc = show_made(c, a, "forward");
    if (rc == CLI_OK)
        rc = show_made(c, a, "backward");
    dpc_answer_free(a);
    return rc;
}

static int grad(cli *c)
{
    return finish(c, show_gradients(c));
}

/* clang-format would set the sentences in columns. */
/* clang-format off */
const verb verbs_program[] = {
    {"program check", "FILE",
     "check a program without running it, and print its steps as they would run; FILE may be -",
     check},
    {"program run", "FILE [NAME=JSON...] [--deadline-ms N]",
     "run a program on inputs and print what it gives; an array is a tensor of float32", run},
    {"program pass", "FILE PASS...",
     "run passes over a program, and print its steps afterwards: inline, dead, common, fold, "
     "functionalize",
     pass},
    {"program capture",
     "FILE [NAME=JSON...] [--dynamic NAME=DIM,...] [--whole] [--reals] [--numbers] [--dot] "
     "[--deadline-ms N]",
     "print the calls that a program makes, below autograd, as a program, for any size of the "
     "dimensions of --dynamic; nothing is computed, except with --reals",
     capture},
    {"program grad", "FILE [NAME=JSON...] --wrt NAME,... [--min-cut [--memory BYTES]]",
     "print the programs of the gradients of inputs: a forward that saves values, and a backward",
     grad},
    {"program dot", "FILE",
     "the program as a graph for Graphviz's dot", dot},
    {NULL, NULL, NULL, NULL},
};
/* clang-format on */
