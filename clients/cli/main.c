/* main.c -- dispatchctl: finds the verb and runs it. */
#include "cli.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const verb *const groups[] = {
    verbs_call,    verbs_registry, verbs_plugin,  verbs_tensor, verbs_program,    verbs_grad,
    verbs_store,   verbs_service,  verbs_metrics, verbs_watch,  verbs_top,        verbs_bench,
    verbs_conform, verbs_new,      verbs_dev,     verbs_replay, verbs_completion, NULL};

static const char *const help_tail =
    "\nOptions of every verb:\n"
    "  --socket PATH   where the daemon listens ($DISPATCHD_SOCKET, else the usual place)\n"
    "  --session KEY   join a session that 'dispatchctl session' made ($DISPATCHD_SESSION)\n"
    "  --json          print the answer as one line of JSON\n"
    "  --help          of the verb, or of the verbs that begin with this word\n"
    "  --version       of dispatchctl; 'dispatchctl raw server.hello' has the daemon's\n"
    "  --              what follows are no options\n"
    "\nAn argument of an operator is JSON: 2, true, null, '[[1,2],[3,4]]', '{\"tensor\":17}',\n"
    "'{\"dtype\":\"int64\",\"data\":[1,2]}'.  Where the operator wants a Tensor, nested arrays are "
    "one of\n"
    "float32.  name=VALUE passes by name.  A word that is not JSON is a string.\n"
    "\nExit codes: 0 ok, 1 the daemon answered an error, 2 usage, 3 no connection\n";

/* -- verbs -- */

static void print_verb(const verb *v)
{
    printf("  %s%s%s\n      %s\n", v->name, *v->args ? " " : "", v->args, v->help);
}

static int print_help(void)
{
    printf(
        "dispatchctl: asks a running dispatchd.\n\nusage: dispatchctl VERB [options] [args]\n\n");
    for (const verb *const *group = groups; *group; group++)
        for (const verb *v = *group; v->name; v++)
            print_verb(v);
    fputs(help_tail, stdout);
    return CLI_OK;
}

static bool begins_with(const verb *v, const char *word)
{
    size_t bytes = strlen(word);

    return strncmp(v->name, word, bytes) == 0 && (v->name[bytes] == ' ' || v->name[bytes] == '\0');
}

/* Print every verb whose first word is `word`, for "dispatchctl plugin --help".  Returns their
 * number. */
static int print_group(const char *word)
{
    int n = 0;

    for (const verb *const *group = groups; *group; group++)
        for (const verb *v = *group; v->name; v++)
            if (begins_with(v, word)) {
                print_verb(v);
                n++;
            }
    return n;
}

/* Print that the words name no verb, and those that begin with the first word. */
static int no_verb(cli *c)
{
    const char *first = c->words[0], *second = c->n_words > 1 ? c->words[1] : "";
    char list[300] = "";
    size_t at = 0;

    for (const verb *const *group = groups; *group; group++)
        for (const verb *v = *group; v->name && at < sizeof(list); v++)
            if (begins_with(v, first))
                at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%s", at > 0 ? ", " : "",
                                       v->name);
    if (at == 0)
        return usage(c, "no verb '%s'", first);
    return usage(c, "no verb '%s%s%s'; verbs that begin with '%s': %s", first, *second ? " " : "",
                 second, first, list);
}

/* Return how many of the words are the name of verb `v`; 0: they name another verb. */
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

/* Test whether the first word is `word`, and remove it if so. */
static bool take_word(cli *c, const char *word)
{
    bool is = c->n_words > 0 && strcmp(c->words[0], word) == 0;

    if (is)
        remove_words(c, 0, 1);
    return is;
}

static int find_verb(cli *c)
{
    for (const verb *const *group = groups; *group; group++)
        for (const verb *v = *group; v->name; v++) {
            int n = verb_matches(v, c->words, c->n_words);
            if (n == 0)
                continue;
            c->verb = v;
            remove_words(c, 0, n);
            return CLI_OK;
        }
    return c->n_words > 0 ? no_verb(c) : usage(c, "which verb?");
}

int main(int argc, char **argv)
{
    cli c = {.groups = groups,
             .words = argv + 1,
             .n_words = argc - 1,
             .session = getenv("DISPATCHD_SESSION")};
    const char *session;
    int rc;

    c.socket = take_option(&c, "--socket");
    if ((session = take_option(&c, "--session")) != NULL)
        c.session = session;
    if (c.session != NULL && *c.session == '\0')
        c.session = NULL; /* an empty variable is as good as none */
    c.json = take_flag(&c, "--json");
    if (take_flag(&c, "--version"))
        return printf("dispatchctl %s\n", DISPATCHCTL_VERSION) < 0;
    bool help = take_flag(&c, "--help") || take_word(&c, "help");
    if (help && c.n_words == 0)
        return print_help();
    if (help && c.n_words == 1 && print_group(c.words[0]) > 0)
        return CLI_OK;
    rc = find_verb(&c);
    if (rc == CLI_OK && help)
        print_verb(c.verb);
    else if (rc == CLI_OK)
        rc = c.verb->run(&c);
    dpc_close(c.client);
    return rc;
}
