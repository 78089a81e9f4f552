/* bench.c -- verb bench: calls an operator many times and prints how long the calls took.
 *
 * A call is measured from sending its request to having read its answer; results are returned as
 * data, so no handle is left.  With --device, conform/bench.c measures the kernels instead. */
#include "cli.h"
#include "conform/conform.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { CALLS = 1000, CALLS_MOST = 10000000, BAR = 40, BINS = 64 };
static const double first_draw_s = 0.5, draw_s = 0.1; /* when the progress bar is drawn */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* Return the smallest time that at least `share` of the sorted `times` do not exceed. */
static double quantile(const double *times, size_t n, double share)
{
    size_t rank = (size_t)ceil(share * (double)n);

    return times[rank > 0 ? rank - 1 : 0];
}

/* -- the histogram -- */

/* Return the upper bound of bin `i`: 1, 2, 5, 10, 20, 50, ... µs. */
static double bound(int i)
{
    static const double steps[] = {1, 2, 5};

    return steps[i % 3] * pow(10, i / 3);
}

/* Return how many of the sorted times are at most `limit`. */
static size_t count_to(const double *times, size_t n, double limit)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (times[mid] <= limit)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Return the histogram as rows {from, to, calls}, without the empty bins at both ends; owned. */
static cJSON *histogram(const double *times, size_t n)
{
    cJSON *rows = need(cJSON_CreateArray());
    size_t before = 0;

    for (int i = 0; i < BINS && before < n; i++) {
        size_t until = i + 1 < BINS ? count_to(times, n, bound(i)) : n;
        if (until > 0) {
            cJSON *row = params_new();
            cJSON_AddNumberToObject(row, "from_us", i > 0 ? bound(i - 1) : 0);
            cJSON_AddNumberToObject(row, "to_us", bound(i));
            cJSON_AddNumberToObject(row, "calls", (double)(until - before));
            cJSON_AddItemToArray(rows, row);
        }
        before = until;
    }
    return rows;
}

static void print_histogram(const cJSON *rows)
{
    const cJSON *row;
    double most = 1;

    cJSON_ArrayForEach(row, rows)
    {
        most = fmax(most, number_of(row, "calls"));
    }
    cJSON_ArrayForEach(row, rows)
    {
        int length = (int)ceil(number_of(row, "calls") / most * BAR);
        printf("%9.0f to %-9.0f µs %9.0f  %.*s\n", number_of(row, "from_us"),
               number_of(row, "to_us"), number_of(row, "calls"), length,
               "########################################");
    }
}

/* -- results -- */

/* Return the results as an object; owned.  Sorts `times`. */
static cJSON *summary(const char *op, double *times, size_t n)
{
    static const struct {
        const char *name;
        double share;
    } rows[] = {{"min_us", 0}, {"p50_us", 0.5}, {"p90_us", 0.9}, {"p99_us", 0.99}, {"max_us", 1}};
    cJSON *out = params_new();
    double sum = 0;

    qsort(times, n, sizeof(*times), by_size);
    for (size_t i = 0; i < n; i++)
        sum += times[i];
    params_text(out, "op", op);
    cJSON_AddNumberToObject(out, "calls", (double)n);
    cJSON_AddNumberToObject(out, "mean_us", sum / (double)n);
    for (size_t i = 0; i < COUNT(rows); i++)
        cJSON_AddNumberToObject(out, rows[i].name, quantile(times, n, rows[i].share));
    cJSON_AddItemToObject(out, "histogram", histogram(times, n));
    return out;
}

static void print_summary(const cJSON *out)
{
    static const char *const rows[] = {"mean", "min", "p50", "p90", "p99", "max"};

    printf("%s  %.0f calls, one after the other\n\n", text_of(out, "op"), number_of(out, "calls"));
    for (size_t i = 0; i < COUNT(rows); i++) {
        char *name = text_printf("%s_us", rows[i]);
        printf("%-5s %12.1f µs\n", rows[i], number_of(out, name));
        free(name);
    }
    putchar('\n');
    print_histogram(member(out, "histogram"));
}

/* -- calling -- */

static int call_once(cli *c, const cJSON *params, double *micros)
{
    cJSON *copy = need(cJSON_Duplicate(params, true));
    dpc_answer *a;

    double begun = seconds_now();
    int rc = request(c, "op.call", copy, &a);
    *micros = (seconds_now() - begun) * 1e6;
    if (rc == CLI_OK)
        dpc_answer_free(a);
    return rc;
}

/* Call `warm_up` times without measuring, then `n` times.  On a terminal, a bar shows how many of
 * all these calls have been made, if they take longer than FIRST_DRAW_US. */
static int run(cli *c, const cJSON *params, size_t warm_up, size_t n, double *times)
{
    bool shown = isatty(STDERR_FILENO) && !c->json, drawn = false;
    double draw_at = seconds_now() + first_draw_s, all = (double)(warm_up + n), ignored;
    char *what = text_printf("%.0f calls", all);
    int rc = CLI_OK;

    for (size_t i = 0; rc == CLI_OK && i < warm_up + n; i++) {
        rc = call_once(c, params, i < warm_up ? &ignored : &times[i - warm_up]);
        if (!shown || seconds_now() < draw_at)
            continue;
        draw_progress((double)i, all, what);
        drawn = true;
        draw_at = seconds_now() + draw_s;
    }
    if (rc == CLI_OK && drawn)
        draw_progress(all, all, what);
    free(what);
    return rc;
}

/* Take option --calls: a number from 1 to CALLS_MOST; 0: a usage message was printed. */
static size_t take_calls(cli *c)
{
    const char *text = take_option(c, "--calls");
    cJSON *read = params_new();
    bool ok = params_count(c, read, "calls", text);
    double n = !ok ? 0 : text != NULL ? number_of(read, "calls") : CALLS;

    cJSON_Delete(read);
    if (ok && (n < 1 || n > CALLS_MOST)) {
        usage(c, "--calls wants a number from 1 to %d, not '%s'", CALLS_MOST, text);
        return 0;
    }
    return (size_t)n;
}

static int bench(cli *c)
{
    const char *device = take_option(c, "--device");

    if (device != NULL)
        return bench_device(c, device);
    size_t n = take_calls(c);

    if (n == 0 || !words_fit(c, 1, -1))
        return CLI_USAGE;
    cJSON *params = params_new();
    params_text(params, "return", "data");
    int rc = bind_words(c, params);
    double *times = need(calloc(n, sizeof(*times)));
    if (rc == CLI_OK)
        rc = run(c, params, n / 10, n, times);
    if (rc == CLI_OK) {
        cJSON *out = summary(c->words[0], times, n);
        (c->json ? print_json : print_summary)(out);
        cJSON_Delete(out);
    }
    free(times);
    cJSON_Delete(params);
    return rc;
}

/* clang-format would set the sentences in columns. */
/* clang-format off */
const verb verbs_bench[] = {
    {"bench", "OP [ARG...] [name=ARG...] [--calls N] [--device NAME] [--dtype D] [--svg FILE]",
     "call an operator N times (1000), after N/10 more, and print how long the calls took; "
     "with --device: print how long kernels take there and on the CPU", bench},
    {NULL, NULL, NULL, NULL},
};
/* clang-format on */
