/* main.c -- dispatchctl: finds the verb, its options, and talks to the daemon. */
#include "cli.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const verb *const groups[] = {verbs_call, verbs_registry, verbs_plugin, verbs_tensor,
                                     verbs_service};
enum { N_GROUPS = COUNT(groups) };

static const char *const help_tail =
    "\nOptions of every verb:\n"
    "  --socket PATH   where the daemon listens ($DISPATCHD_SOCKET, else the usual place)\n"
    "  --session KEY   join a session that 'dispatchctl session' made ($DISPATCHD_SESSION)\n"
    "  --json          print the answer as one line of JSON\n"
    "  --help          of the verb\n"
    "  --              what follows are no options\n"
    "\nAn argument of an operator is JSON: 2, true, null, '[[1,2],[3,4]]', '{\"tensor\":17}',\n"
    "'{\"dtype\":\"int64\",\"data\":[1,2]}'.  Where the operator wants a Tensor, nested arrays are "
    "one of\n"
    "float32.  name=VALUE passes by name.  A word that is not JSON is a string.\n"
    "\nExit codes: 0 ok, 1 the daemon answered an error, 2 usage, 3 no connection\n";

/* -- words -- */

static void remove_words(cli *c, int at, int n)
{
    c->n_words -= n;
    memmove(c->words + at, c->words + at + n, (size_t)(c->n_words - at) * sizeof(*c->words));
}

static bool is_end(const char *word)
{
    return strcmp(word, "--") == 0;
}

bool take_flag(cli *c, const char *name)
{
    for (int i = 0; i < c->n_words && !is_end(c->words[i]); i++)
        if (strcmp(c->words[i], name) == 0) {
            remove_words(c, i, 1);
            return true;
        }
    return false;
}

const char *take_option(cli *c, const char *name)
{
    size_t n = strlen(name);

    for (int i = 0; i < c->n_words && !is_end(c->words[i]); i++) {
        const char *word = c->words[i];
        if (strncmp(word, name, n) == 0 && word[n] == '=') {
            remove_words(c, i, 1);
            return word + n + 1;
        }
        if (strcmp(word, name) == 0 && i + 1 < c->n_words) {
            const char *value = c->words[i + 1];
            remove_words(c, i, 2);
            return value;
        }
    }
    return NULL;
}

int usage(cli *c, const char *format, ...)
{
    va_list ap;

    fprintf(stderr, "dispatchctl: ");
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    if (c->verb)
        fprintf(stderr, "\nusage: dispatchctl %s %s\n", c->verb->name, c->verb->args);
    else
        fprintf(stderr, "\ntry: dispatchctl --help\n");
    return CLI_USAGE;
}

bool words_fit(cli *c, int min, int max)
{
    bool options = true;

    for (int i = 0; i < c->n_words && options; i++) {
        if (is_end(c->words[i])) {
            remove_words(c, i, 1);
            options = false;
        } else if (strncmp(c->words[i], "--", 2) == 0) {
            usage(c, "unknown option '%s', or its value is missing", c->words[i]);
            return false;
        }
    }
    if (c->n_words >= min && (max < 0 || c->n_words <= max))
        return true;
    usage(c, "%s arguments for '%s'", c->n_words < min ? "not enough" : "too many", c->verb->name);
    return false;
}

/* -- params -- */

void *need(void *p)
{
    if (p == NULL) {
        fprintf(stderr, "dispatchctl: out of memory\n");
        exit(CLI_NO_CONNECTION);
    }
    return p;
}

cJSON *params_new(void)
{
    return need(cJSON_CreateObject());
}

void params_text(cJSON *params, const char *name, const char *value)
{
    if (value)
        need(cJSON_AddStringToObject(params, name, value));
}

void params_raw(cJSON *params, const char *name, const char *json)
{
    if (json)
        need(cJSON_AddRawToObject(params, name, json));
}

void params_bool(cJSON *params, const char *name, bool value)
{
    if (value)
        need(cJSON_AddTrueToObject(params, name));
}

bool params_count(cli *c, cJSON *params, const char *name, const char *text)
{
    char *end;

    if (text == NULL)
        return true;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno != 0 || value < 0 || end == text || *end != '\0') {
        usage(c, "%s wants a whole number of 0 or more, not '%s'", name, text);
        return false;
    }
    need(cJSON_AddNumberToObject(params, name, (double)value));
    return true;
}

/* -- requests -- */

static int send_request(cli *c, const char *method, cJSON *params, dc_answer *a)
{
    dc_error err;

    if (dc_call(c->client, method, params, NULL, 0, a, &err) == 0)
        return CLI_OK;
    fprintf(stderr, "dispatchctl: %s\n", err.message);
    return CLI_NO_CONNECTION;
}

static int print_error(cli *c, const cJSON *error)
{
    const char *type = text_of(member(error, "data"), "type");

    if (c->json) {
        char *text = json_text(error);
        fprintf(stderr, "%s\n", text);
        free(text);
    } else {
        fprintf(stderr, "dispatchctl: %s%s%s\n", type, *type ? ": " : "",
                text_of(error, "message"));
    }
    return CLI_ERROR;
}

static int request_plain(cli *c, const char *method, cJSON *params, dc_answer *a)
{
    int rc = send_request(c, method, params, a);

    if (rc == CLI_OK && a->error) {
        rc = print_error(c, a->error);
        dc_answer_fini(a);
    }
    return rc;
}

static int connect_client(cli *c)
{
    dc_error err;
    dc_answer a;

    if (dc_connect(c->socket, &c->client, &err) < 0) {
        fprintf(stderr, "dispatchctl: %s\n", err.message);
        return CLI_NO_CONNECTION;
    }
    if (c->session == NULL)
        return CLI_OK;
    cJSON *params = params_new();
    params_text(params, "session_key", c->session);
    int rc = request_plain(c, "server.hello", params, &a);
    if (rc == CLI_OK)
        dc_answer_fini(&a);
    return rc;
}

/* params as text of our own: cJSON would change the last digits of numbers, and what the user wrote
 * may have line breaks, which would end the message. */
static cJSON *exact(cJSON *params)
{
    if (params == NULL)
        return NULL;
    char *text = json_text(params);
    for (char *p = text; (p = strchr(p, '\n')) != NULL;)
        *p = ' ';
    cJSON *raw = need(cJSON_CreateRaw(text));
    free(text);
    cJSON_Delete(params);
    return raw;
}

int request(cli *c, const char *method, cJSON *params, dc_answer *a)
{
    int rc = c->client ? CLI_OK : connect_client(c);

    if (rc == CLI_OK)
        return request_plain(c, method, exact(params), a);
    cJSON_Delete(params);
    return rc;
}

int ask(cli *c, const char *method, cJSON *params, void (*show)(const cJSON *result))
{
    dc_answer a;
    int rc = request(c, method, params, &a);

    if (rc != CLI_OK)
        return rc;
    (c->json ? print_json : show)(a.result);
    dc_answer_fini(&a);
    return CLI_OK;
}

/* -- verbs -- */

static void print_verb(const verb *v)
{
    printf("  %s%s%s\n      %s\n", v->name, *v->args ? " " : "", v->args, v->help);
}

static int print_help(void)
{
    printf(
        "dispatchctl: asks a running dispatchd.\n\nusage: dispatchctl VERB [options] [args]\n\n");
    for (size_t g = 0; g < N_GROUPS; g++)
        for (const verb *v = groups[g]; v->name; v++)
            print_verb(v);
    fputs(help_tail, stdout);
    return CLI_OK;
}

/* How many of the words are v's name; 0: it is another verb. */
static int verb_matches(const verb *v, char **words, int n_words)
{
    char name[64];

    if (n_words >= 1 && strcmp(v->name, words[0]) == 0)
        return 1;
    if (n_words < 2)
        return 0;
    int n = snprintf(name, sizeof(name), "%s %s", words[0], words[1]);
    return n > 0 && (size_t)n < sizeof(name) && strcmp(v->name, name) == 0 ? 2 : 0;
}

static int find_verb(cli *c)
{
    for (size_t g = 0; g < N_GROUPS; g++)
        for (const verb *v = groups[g]; v->name; v++) {
            int n = verb_matches(v, c->words, c->n_words);
            if (n == 0)
                continue;
            c->verb = v;
            remove_words(c, 0, n);
            return CLI_OK;
        }
    return usage(c, c->n_words ? "no verb '%s'" : "which verb?", c->n_words ? c->words[0] : "");
}

int main(int argc, char **argv)
{
    cli c = {.words = argv + 1, .n_words = argc - 1, .session = getenv("DISPATCHD_SESSION")};
    const char *session;
    int rc;

    c.socket = take_option(&c, "--socket");
    if ((session = take_option(&c, "--session")) != NULL)
        c.session = session;
    c.json = take_flag(&c, "--json");
    bool help = take_flag(&c, "--help");
    if (help && c.n_words == 0)
        return print_help();
    rc = find_verb(&c);
    if (rc == CLI_OK && help)
        print_verb(c.verb);
    else if (rc == CLI_OK)
        rc = c.verb->run(&c);
    dc_close(c.client);
    return rc;
}
