/* words.c -- the command line: removes options from the words, so that only arguments are left. */
#include "cli.h"
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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

/* Return the length of the JSON number at `s`.  `*large`: the number is an integer with a magnitude
 * of 2^53 or more, which a JSON number does not hold exactly. */
static size_t number_at(const char *s, bool *large)
{
    const intmax_t most = INTMAX_C(1) << 53;
    size_t n = strspn(s, "+-.0123456789eE"), integer = strspn(s, "-0123456789");

    errno = 0;
    intmax_t i = strtoimax(s, NULL, 10);
    *large = n == integer && (errno == ERANGE || i >= most || i <= -most);
    return n;
}

char *spell_integers(const char *json, bool elements)
{
    char *out = need(calloc(2 * strlen(json) + sizeof("{\"int\":\"\"}"), 1)), *to = out;
    bool text = false, large = false;
    int objects = 0;

    for (size_t n; *json != '\0'; json += n) {
        n = text && *json == '\\' && json[1] != '\0' ? 2 : 1;
        text ^= *json == '"';
        objects += text ? 0 : (*json == '{') - (*json == '}');
        if (!text && strchr("-0123456789", *json) != NULL)
            n = number_at(json, &large);
        const char *form = !large                    ? "%.*s"
                           : elements || objects > 0 ? "\"%.*s\""
                                                     : "{\"int\":\"%.*s\"}";
        to += sprintf(to, form, (int)n, json);
        large = false;
    }
    return out;
}
