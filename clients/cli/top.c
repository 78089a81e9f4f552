/* top.c -- verb top: connections, sessions, what they hold, and the busiest operators, drawn again
 * and again on a terminal, or once if the output is not a terminal. */
#include "cli.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TOP_ROWS = 15, INTERVAL_MS = 2000, BUFFER_BYTES = 1 << 16 };

/* The calls of one kernel: a sample of dispatchd_calls_total and those with the same labels. */
typedef struct kernel {
    char *labels; /* owned: the text of the labels, by which kernels are sorted */
    char *op, *key, *plugin, *generation; /* owned */
    double calls, errors, seconds;
} kernel;

typedef struct view {
    kernel *kernels; /* [n] */
    size_t n;
    double at; /* seconds of CLOCK_MONOTONIC */
} view;

/* -- reading -- */

static void view_free(view *v)
{
    for (size_t i = 0; i < v->n; i++) {
        free(v->kernels[i].labels);
        free(v->kernels[i].op);
        free(v->kernels[i].key);
        free(v->kernels[i].plugin);
        free(v->kernels[i].generation);
    }
    free(v->kernels);
    *v = (view){0};
}

static int by_labels(const void *a, const void *b)
{
    return strcmp(((const kernel *)a)->labels, ((const kernel *)b)->labels);
}

/* Return an owned copy of the labels' text. */
static char *labels_text(const sample *s)
{
    size_t n = s->labels != NULL ? strcspn(s->labels, "\n") : 0;

    while (n > 0 && s->labels[n] != '}')
        n--;
    return text_printf("%.*s", (int)n, n > 0 ? s->labels : "");
}

/* Read the kernels of the text of server.metrics.  The samples of the three metrics stand in one
 * order. */
static view view_new(const char *text)
{
    const char *calls = text, *errors = text, *seconds = text;
    view v = {.at = seconds_now()};
    size_t cap = 0;
    sample s, e, t;

    while (sample_next(&calls, "dispatchd_calls_total", &s) &&
           sample_next(&errors, "dispatchd_call_errors_total", &e) &&
           sample_next(&seconds, "dispatchd_call_seconds_sum", &t)) {
        if (v.n == cap) {
            cap = cap > 0 ? 2 * cap : 64;
            v.kernels = need(reallocarray(v.kernels, cap, sizeof(*v.kernels)));
        }
        v.kernels[v.n++] = (kernel){labels_text(&s),
                                    sample_label(&s, "operator"),
                                    sample_label(&s, "key"),
                                    sample_label(&s, "plugin"),
                                    sample_label(&s, "generation"),
                                    s.value,
                                    e.value,
                                    t.value};
    }
    if (v.n > 0)
        qsort(v.kernels, v.n, sizeof(*v.kernels), by_labels);
    return v;
}

/* -- the busiest operators -- */

static int by_time(const void *a, const void *b)
{
    double x = ((const kernel *)a)->seconds, y = ((const kernel *)b)->seconds;

    return x > y ? -1 : x < y;
}

/* Return the calls since `before` as rows of a table, those that took most time first; owned. */
static cJSON *busiest(const view *v, const view *before)
{
    cJSON *rows = need(cJSON_CreateArray());
    kernel *since = need(malloc((v->n + 1) * sizeof(*since)));
    double seconds = before->kernels != NULL ? v->at - before->at : 0;
    size_t n = 0;

    for (size_t i = 0; i < v->n; i++) {
        kernel k = v->kernels[i];
        const kernel *old =
            before->n > 0 ? bsearch(&k, before->kernels, before->n, sizeof(k), by_labels) : NULL;
        if (old != NULL) {
            k.calls -= old->calls;
            k.errors -= old->errors;
            k.seconds -= old->seconds;
        }
        if (k.calls > 0)
            since[n++] = k;
    }
    if (n > 0)
        qsort(since, n, sizeof(*since), by_time);
    for (size_t i = 0; i < n && i < TOP_ROWS; i++) {
        const kernel *k = &since[i];
        cJSON *row = params_new();
        params_text(row, "operator", k->op);
        params_text(row, "key", k->key);
        params_text(row, "plugin", k->plugin);
        params_text(row, "generation", k->generation);
        cJSON_AddNumberToObject(row, "calls", seconds > 0 ? k->calls / seconds : k->calls);
        cJSON_AddNumberToObject(row, "errors", k->errors);
        cJSON_AddNumberToObject(row, "mean_us", k->seconds / k->calls * 1e6);
        cJSON_AddNumberToObject(row, "seconds", k->seconds);
        cJSON_AddNumberToObject(row, "busy", seconds > 0 ? 100 * k->seconds / seconds : 0);
        cJSON_AddItemToArray(rows, row);
    }
    free(since);
    return rows;
}

static char *cell_whole(const cJSON *row, const char *name)
{
    return text_printf("%.0f", number_of(row, name));
}

static char *cell_tenth(const cJSON *row, const char *name)
{
    return text_printf("%.1f", number_of(row, name));
}

static char *cell_thousandth(const cJSON *row, const char *name)
{
    return text_printf("%.3f", number_of(row, name));
}

static void print_busiest(const cJSON *rows, bool rates)
{
    const column columns[] = {
        {"operator", cell_text, "operator", false},
        {"key", cell_text, "key", false},
        {"plugin", cell_text, "plugin", false},
        {"generation", cell_text, "generation", true},
        {rates ? "calls/s" : "calls", rates ? cell_tenth : cell_whole, "calls", true},
        {"errors", cell_whole, "errors", true},
        {"mean µs", cell_tenth, "mean_us", true},
        {rates ? "busy %" : "seconds", rates ? cell_tenth : cell_thousandth,
         rates ? "busy" : "seconds", true},
    };

    if (cJSON_GetArraySize(rows) > 0)
        print_table(rows, columns, COUNT(columns));
    else
        puts(rates ? "no operator was called by op.call since the last look"
                   : "no operator was called by op.call");
}

/* -- the screen -- */

static void print_bytes(const char *label, double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    size_t u = 0;

    for (; bytes >= 1024 && u + 1 < COUNT(units); u++)
        bytes /= 1024;
    printf(u == 0 ? "%s %.0f %s" : "%s %.1f %s", label, bytes, units[u]);
}

/* Print the shadow calls since the daemon's start, if there are any. */
static void print_shadow(const char *text)
{
    double calls = sample_sum(text, "dispatchd_shadow_calls_total");
    double dropped = sample_sum(text, "dispatchd_shadow_dropped_total");

    if (calls + dropped > 0)
        printf("shadow calls %.0f   differ %.0f   failed %.0f   dropped %.0f\n", calls,
               sample_sum(text, "dispatchd_shadow_differs_total"),
               sample_sum(text, "dispatchd_shadow_failed_total"), dropped);
}

static void print_head(const cJSON *status, const char *text)
{
    double up = number_of(status, "uptime_ms") / 1000;

    printf(
        "up %.0f h %.0f min %.0f s   connections %.0f (%.0f paused, %.0f wait)   sessions %.0f   "
        "tensors %.0f   ",
        (double)(long)(up / 3600), (double)((long)(up / 60) % 60), (double)((long)up % 60),
        sample_sum(text, "dispatchd_connections"), sample_sum(text, "dispatchd_connections_paused"),
        sample_sum(text, "dispatchd_connections_waiting"), sample_sum(text, "dispatchd_sessions"),
        number_of(status, "tensors"));
    print_bytes("bytes held", sample_sum(text, "dispatchd_held_bytes"));
    printf("\noldest request waits %.1f ms   longest loop turn %.1f ms   request errors %.0f   "
           "refused by limits %.0f   fell back %.0f   ",
           sample_sum(text, "dispatchd_queue_oldest_seconds") * 1e3,
           sample_sum(text, "dispatchd_loop_turn_max_seconds") * 1e3,
           sample_sum(text, "dispatchd_request_errors_total"),
           sample_sum(text, "dispatchd_limit_refusals_total"),
           sample_sum(text, "dispatchd_fallbacks_total"));
    print_bytes("unsent", sample_sum(text, "dispatchd_unsent_bytes"));
    putchar('\n');
    print_shadow(text);
    putchar('\n');
}

static char *cell_own_name(const cJSON *row, const char *name)
{
    (void)name;
    return text_printf("%s", row->string);
}

/* Number of things, or bytes, of one holder of a user; `name`: "holder.member". */
static char *cell_of_holder(const cJSON *row, const char *name)
{
    const char *dot = strchr(name, '.');
    char *holder = text_printf("%.*s", (int)(dot - name), name);
    char *text = text_printf("%.0f", number_of(member(member(row, "account"), holder), dot + 1));

    free(holder);
    return text;
}

/* Print what uids and sessions hold, and what kinds of charge they hold. */
static void print_held(const cJSON *status, const cJSON *sessions)
{
    static const column user_columns[] = {
        {"uid", cell_text, "uid", true},
        {"sessions", cell_text, "sessions", true},
        {"connections", cell_text, "connections", true},
        {"requests", cell_text, "requests", true},
        {"workers", cell_text, "workers", true},
        {"maps", cell_text, "maps", true},
        {"tensors", cell_of_holder, "tensors.count", true},
        {"objects", cell_of_holder, "objects.count", true},
        {"names", cell_of_holder, "names.count", true},
        {"named bytes", cell_of_holder, "names.bytes", true},
        {"bytes", cell_text, "bytes", true},
    };
    static const column session_columns[] = {
        {"session", cell_text, "session", true},
        {"uid", cell_text, "uid", true},
        {"connections", cell_text, "connections", true},
        {"bytes", cell_text, "bytes", true},
    };
    static const column account_columns[] = {
        {"sessions hold", cell_own_name, NULL, false},
        {"count", cell_text, "count", true},
        {"bytes", cell_text, "bytes", true},
    };

    print_table(member(status, "users"), user_columns, COUNT(user_columns));
    putchar('\n');
    print_table(sessions, session_columns, COUNT(session_columns));
    putchar('\n');
    print_table(member(status, "account"), account_columns, COUNT(account_columns));
    putchar('\n');
}

static void print_running(const cJSON *status)
{
    static const column columns[] = {
        {"runs in session", cell_text, "session", true},
        {"operator", cell_text, "op", false},
        {"plugin", cell_text, "plugin", false},
        {"ms", cell_tenth, "ms", true},
    };
    const cJSON *running = member(status, "running");

    if (cJSON_GetArraySize(running) == 0)
        return;
    print_table(running, columns, COUNT(columns));
    putchar('\n');
}

static int by_bytes(const void *a, const void *b)
{
    double x = number_of(*(cJSON *const *)a, "bytes"), y = number_of(*(cJSON *const *)b, "bytes");

    return x > y ? -1 : x < y;
}

/* Return the sessions that hold most, those first; owned.  `result`: that of session.list. */
static cJSON *largest(cJSON *result)
{
    cJSON *list = cJSON_GetObjectItemCaseSensitive(result, "sessions");
    cJSON *rows = need(cJSON_CreateArray()), *first;
    size_t n = 0, count = (size_t)cJSON_GetArraySize(list);
    cJSON **sorted = need(malloc((count + 1) * sizeof(*sorted)));

    while ((first = cJSON_DetachItemFromArray(list, 0)) != NULL)
        sorted[n++] = first;
    qsort(sorted, n, sizeof(*sorted), by_bytes);
    for (size_t i = 0; i < n; i++)
        if (i < TOP_ROWS)
            cJSON_AddItemToArray(rows, sorted[i]);
        else
            cJSON_Delete(sorted[i]);
    free(sorted);
    return rows;
}

static void print_as_json(const cJSON *status, const cJSON *sessions, const cJSON *operators)
{
    cJSON *all = params_new();

    cJSON_AddItemToObject(all, "status", need(cJSON_Duplicate(status, true)));
    cJSON_AddItemToObject(all, "sessions", need(cJSON_Duplicate(sessions, true)));
    cJSON_AddItemToObject(all, "operators", need(cJSON_Duplicate(operators, true)));
    print_json(all);
    cJSON_Delete(all);
}

/* Draw once; `*before` is what was drawn last, and becomes what is drawn now.  `live`: clear the
 * terminal first. */
static int draw(cli *c, view *before, bool live)
{
    cJSON *status = NULL, *metrics = NULL, *list = NULL;
    int rc = fetch(c, "server.status", NULL, &status);

    if (rc == CLI_OK)
        rc = fetch(c, "server.metrics", NULL, &metrics);
    if (rc == CLI_OK)
        rc = fetch(c, "session.list", NULL, &list);
    if (rc == CLI_OK) {
        const char *text = text_of(metrics, "text");
        cJSON *sessions = largest(list);
        view v = view_new(text);
        cJSON *rows = busiest(&v, before);
        if (live)
            fputs("\033[H\033[2J", stdout);
        if (c->json) {
            print_as_json(status, sessions, rows);
        } else {
            print_head(status, text);
            print_held(status, sessions);
            print_running(status);
            print_busiest(rows, before->kernels != NULL);
        }
        fflush(stdout);
        view_free(before);
        *before = v;
        cJSON_Delete(rows);
        cJSON_Delete(sessions);
    }
    cJSON_Delete(status);
    cJSON_Delete(metrics);
    cJSON_Delete(list);
    return rc;
}

static int top(cli *c)
{
    static char buffer[BUFFER_BYTES]; /* a screen is written at once, so that it does not flicker */
    cJSON *options = params_new();
    bool once = take_flag(c, "--once") || c->json || !isatty(STDOUT_FILENO);
    bool ok = params_count(c, options, "ms", take_option(c, "--interval-ms")) && words_fit(c, 0, 0);
    double ms = member(options, "ms") ? number_of(options, "ms") : INTERVAL_MS;
    struct timespec pause = {(time_t)(ms / 1000), (long)(ms * 1e6) % 1000000000};
    view before = {0};

    cJSON_Delete(options);
    if (!ok)
        return CLI_USAGE;
    setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
    int rc = draw(c, &before, !once);
    while (rc == CLI_OK && !once) {
        nanosleep(&pause, NULL);
        rc = draw(c, &before, true);
    }
    view_free(&before);
    return rc;
}

/* clang-format would set the sentences in columns. */
/* clang-format off */
const verb verbs_top[] = {
    {"top", "[--once] [--interval-ms N]",
     "who holds what and the busiest operators, every 2 s; once if not on a terminal", top},
    {NULL, NULL, NULL, NULL},
};
/* clang-format on */
