/* report.c -- what verb conform found, as text, JSON and JUnit's XML */
#include "conform.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- text -- */

static int samples_of(const cell *c)
{
    int n = 0;

    for (int v = 0; v < N_VERDICTS; v++)
        n += c->count[v];
    return n;
}

void report_faults(const suite *s, size_t most)
{
    for (size_t i = 0; i < s->n && most > 0; i++) {
        const cell *c = &s->cells[i];
        if (c->worst <= VERDICT_FELL_BACK)
            continue;
        most--;
        printf("%-8s %s %s, %d of %d calls\n", verdict_names[c->worst], c->op,
               dpc_dtype_name(c->dtype), c->count[c->worst], samples_of(c));
        if (c->call != NULL)
            printf("         %s\n", c->call);
        printf("         %s\n", c->why);
    }
}

void report_text(const suite *s)
{
    int total = 0;

    report_faults(s, s->n);
    for (int v = 0; v < N_VERDICTS; v++)
        total += s->count[v];
    printf("%s beside %s: %d calls of %zu operators and dtypes, seed %llu\n", s->device,
           s->reference, total, s->n, (unsigned long long)s->seed);
    for (int v = 0; v < N_VERDICTS; v++)
        if (s->count[v] > 0 || v == VERDICT_PASS)
            printf("%8d %s\n", s->count[v], verdict_names[v]);
    if (!s->guards)
        printf("as_strided gives no views there: no call had guards around its outputs\n");
    if (s->restarts > 0)
        printf("the daemon was started again %d times\n", s->restarts);
    if (!s->complete)
        printf("the daemon or the device is gone: operators that follow in the alphabet were not "
               "called\n");
}

/* -- JSON -- */

static cJSON *counts_json(const int *count)
{
    cJSON *out = params_new();

    for (int v = 0; v < N_VERDICTS; v++)
        if (count[v] > 0)
            cJSON_AddNumberToObject(out, verdict_names[v], count[v]);
    return out;
}

cJSON *report_json(const suite *s)
{
    cJSON *out = params_new(), *cells = need(cJSON_CreateArray());

    params_text(out, "device", s->device);
    params_text(out, "reference", s->reference);
    cJSON_AddNumberToObject(out, "seed", (double)s->seed);
    cJSON_AddBoolToObject(out, "complete", s->complete);
    cJSON_AddBoolToObject(out, "guards", s->guards);
    cJSON_AddNumberToObject(out, "restarts", s->restarts);
    cJSON_AddItemToObject(out, "counts", counts_json(s->count));
    for (size_t i = 0; i < s->n; i++) {
        const cell *c = &s->cells[i];
        cJSON *j = params_new();
        params_text(j, "op", c->op);
        params_text(j, "dtype", dpc_dtype_name(c->dtype));
        params_text(j, "verdict", verdict_names[c->worst]);
        cJSON_AddItemToObject(j, "counts", counts_json(c->count));
        params_text(j, "call", c->call);
        params_text(j, "why", c->why);
        if (c->ns[0] > 0) {
            cJSON_AddNumberToObject(j, "reference_ns", c->ns[0]);
            cJSON_AddNumberToObject(j, "device_ns", c->ns[1]);
        }
        cJSON_AddItemToArray(cells, j);
    }
    cJSON_AddItemToObject(out, "cells", cells);
    return out;
}

/* -- JUnit -- */

static void put_xml(FILE *f, const char *text)
{
    for (; text != NULL && *text; text++) {
        switch (*text) {
        case '&':
            fputs("&amp;", f);
            break;
        case '<':
            fputs("&lt;", f);
            break;
        case '>':
            fputs("&gt;", f);
            break;
        case '"':
            fputs("&quot;", f);
            break;
        default: /* XML 1.0 has no other control characters than these */
            fputc((unsigned char)*text < 0x20 && *text != '\t' && *text != '\n' ? '?' : *text, f);
        }
    }
}

bool close_report(FILE *f, const char *path)
{
    bool ok = f != NULL && !ferror(f);

    if (f != NULL && fclose(f) != 0)
        ok = false;
    if (!ok)
        fprintf(stderr, "dispatchctl: %s: %s\n", path, strerror(errno));
    return ok;
}

bool report_junit(const suite *s, const char *path)
{
    FILE *f = fopen(path, "we");
    int failures = 0;

    for (size_t i = 0; i < s->n; i++)
        failures += s->cells[i].worst > VERDICT_FELL_BACK;
    if (f == NULL)
        return close_report(f, path);
    fprintf(f, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"conform ");
    put_xml(f, s->device);
    fprintf(f, "\" tests=\"%zu\" failures=\"%d\">\n", s->n, failures);
    for (size_t i = 0; i < s->n; i++) {
        const cell *c = &s->cells[i];
        fprintf(f, "<testcase classname=\"");
        put_xml(f, c->op);
        fprintf(f, "\" name=\"%s\"", dpc_dtype_name(c->dtype));
        if (c->worst <= VERDICT_FELL_BACK) {
            fprintf(f, "/>\n");
            continue;
        }
        fprintf(f, "><failure type=\"%s\" message=\"", verdict_names[c->worst]);
        put_xml(f, c->why);
        fprintf(f, "\">");
        put_xml(f, c->call);
        fprintf(f, "</failure></testcase>\n");
    }
    fprintf(f, "</testsuite>\n");
    return close_report(f, path);
}
