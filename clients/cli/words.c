/* words.c -- the command line: options are taken out of the words, the rest are arguments. */
#include "cli.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void remove_words(cli *c, int at, int n)
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
