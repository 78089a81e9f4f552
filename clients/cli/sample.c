/* sample.c -- reads the text of server.metrics, which is Prometheus's text format. */
#include "cli.h"
#include <stdlib.h>
#include <string.h>

/* Return the end of the labels that begin at `p`, the '}' that is not inside a value. */
static const char *labels_end(const char *p)
{
    for (bool quoted = false; *p != '\0' && *p != '\n'; p++) {
        if (quoted && *p == '\\' && p[1] != '\0')
            p++;
        else if (*p == '"')
            quoted = !quoted;
        else if (*p == '}' && !quoted)
            return p;
    }
    return NULL;
}

/* Read the line at `p` if it is a sample of metric `name`. */
static bool read_sample(const char *p, const char *name, sample *out)
{
    size_t n = strlen(name);

    if (strncmp(p, name, n) != 0 || (p[n] != '{' && p[n] != ' '))
        return false;
    out->labels = p[n] == '{' ? p + n + 1 : NULL;
    const char *end = out->labels != NULL ? labels_end(out->labels) : p + n - 1;
    if (end == NULL)
        return false;
    out->value = strtod(end + 1, NULL);
    return true;
}

bool sample_next(const char **text, const char *name, sample *out)
{
    bool found = false;

    while (!found && **text != '\0') {
        const char *end = strchr(*text, '\n');
        found = read_sample(*text, name, out);
        *text = end != NULL ? end + 1 : *text + strlen(*text);
    }
    return found;
}

/* Copy the value that begins at `p`, behind its quote, without escapes; owned. */
static char *copy_value(const char *p)
{
    char *out = need(malloc(strlen(p) + 1)), *to = out;

    for (; *p != '\0' && *p != '"' && *p != '\n'; p++) {
        if (*p == '\\' && p[1] != '\0') {
            p++;
            *to++ = *p == 'n' ? '\n' : *p;
        } else {
            *to++ = *p;
        }
    }
    *to = '\0';
    return out;
}

char *sample_label(const sample *s, const char *label)
{
    size_t n = strlen(label);
    const char *p = s->labels;

    while (p != NULL && *p != '}' && *p != '\0') {
        if (strncmp(p, label, n) == 0 && p[n] == '=' && p[n + 1] == '"')
            return copy_value(p + n + 2);
        p = strchr(p, '"'); /* the value, to its closing quote */
        for (p = p != NULL ? p + 1 : NULL; p != NULL && *p != '"' && *p != '\0'; p++)
            p += *p == '\\' && p[1] != '\0';
        p = p != NULL && *p == '"' ? p + 1 : NULL;
        p = p != NULL && *p == ',' ? p + 1 : p;
    }
    return text_printf("%s", "");
}

double sample_sum(const char *text, const char *name)
{
    double sum = 0;
    sample s;

    while (sample_next(&text, name, &s))
        sum += s.value;
    return sum;
}
