/* exposition.c -- writes metrics in Prometheus's text format.
 * Source of the format: https://prometheus.io/docs/instrumenting/exposition_formats/. */
#include "exposition.h"
#include "daemon.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LABELS_MAX = 8, FIRST_BYTES = 16 << 10, SECONDS_BYTES = 32 };

void exposition_fini(exposition *e)
{
    dp_free(e->s);
    *e = (exposition){0};
}

static void put(exposition *e, const char *s, size_t n)
{
    if (e->failed)
        return;
    if (n > e->cap - e->len) {
        size_t cap = e->cap > 0 ? 2 * e->cap : FIRST_BYTES;
        cap = cap - e->len >= n ? cap : e->len + n;
        char *more = dp_realloc(e->s, cap);
        if (more == NULL) {
            e->failed = true;
            return;
        }
        e->s = more;
        e->cap = cap;
    }
    memcpy(e->s + e->len, s, n);
    e->len += n;
}

static void put_text(exposition *e, const char *s)
{
    put(e, s, strlen(s));
}

/* Write the value of a label: backslashes, double quotes and line feeds are escaped. */
static void put_escaped(exposition *e, const char *s)
{
    for (size_t n; *s != '\0'; s += n) {
        n = strcspn(s, "\\\"\n");
        put(e, s, n);
        if (s[n] == '\0')
            continue;
        put_text(e, s[n] == '\n' ? "\\n" : s[n] == '"' ? "\\\"" : "\\\\");
        n++;
    }
}

/* Write nanoseconds as seconds without needless zeros: "0.0003", "12". */
static void format_seconds(char out[SECONDS_BYTES], uint64_t nanos)
{
    int n = snprintf(out, SECONDS_BYTES, "%" PRIu64 ".%09" PRIu64, nanos / 1000000000,
                     nanos % 1000000000);

    while (out[n - 1] == '0')
        n--;
    out[out[n - 1] == '.' ? n - 1 : n] = '\0';
}

void exposition_metric(exposition *e, const char *name, const char *type, const char *help)
{
    e->name = name;
    e->type = type;
    e->help = help;
    e->begun = false;
}

static void begin(exposition *e)
{
    if (e->begun)
        return;
    e->begun = true;
    const char *const texts[] = {"# HELP ", e->name, " ",     e->help, "\n# TYPE ",
                                 e->name,   " ",     e->type, "\n"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        put_text(e, texts[i]);
}

static void put_sample(exposition *e, const char *suffix, const exposition_label *labels, size_t n,
                       const char *value)
{
    const char *before = "{";

    begin(e);
    put_text(e, e->name);
    put_text(e, suffix);
    for (size_t i = 0; i < n; i++) {
        if (labels[i].value == NULL)
            continue;
        put_text(e, before);
        put_text(e, labels[i].name);
        put_text(e, "=\"");
        put_escaped(e, labels[i].value);
        put_text(e, "\"");
        before = ",";
    }
    put_text(e, *before == ',' ? "} " : " ");
    put_text(e, value);
    put_text(e, "\n");
}

static void put_number(exposition *e, const char *suffix, const exposition_label *labels, size_t n,
                       uint64_t value)
{
    char text[SECONDS_BYTES];

    snprintf(text, sizeof(text), "%" PRIu64, value);
    put_sample(e, suffix, labels, n, text);
}

void exposition_count(exposition *e, const exposition_label *labels, size_t n, uint64_t value)
{
    put_number(e, "", labels, n, value);
}

void exposition_seconds(exposition *e, const exposition_label *labels, size_t n, uint64_t nanos)
{
    char text[SECONDS_BYTES];

    format_seconds(text, nanos);
    put_sample(e, "", labels, n, text);
}

void exposition_histogram(exposition *e, const exposition_label *labels, size_t n,
                          const uint64_t *bounds, size_t n_bounds, const uint64_t *buckets,
                          uint64_t nanos)
{
    exposition_label all[LABELS_MAX + 1];
    char text[SECONDS_BYTES];
    uint64_t sum = 0;

    n = n < LABELS_MAX ? n : LABELS_MAX;
    for (size_t i = 0; i < n; i++)
        all[i] = labels[i];
    all[n] = (exposition_label){"le", text};
    for (size_t i = 0; i <= n_bounds; i++) {
        sum += buckets[i];
        if (i < n_bounds)
            format_seconds(text, bounds[i]);
        else
            snprintf(text, sizeof(text), "+Inf");
        put_number(e, "_bucket", all, n + 1, sum);
    }
    format_seconds(text, nanos);
    put_sample(e, "_sum", labels, n, text);
    put_number(e, "_count", labels, n, sum);
}
