/* suite.c -- makes the calls of all samples on both targets, counts the verdicts, and goes on after
 * the end of a daemon */
#include "conform.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { N_DTYPES = 16, TIMES = 3, DRAW_MS = 100, RECONNECT_MS = 10000 };

/* How many samples of an operator and dtype are called in each form. */
static const int most[N_FORMS] = {
    [FORM_GIVEN] = 1 << 30, [FORM_STRIDED] = 1 << 30, [FORM_SPECIAL] = 3,   [FORM_IN_PLACE] = 3,
    [FORM_OUT] = 2,         [FORM_OUT_SHAPE] = 1,     [FORM_OUT_EMPTY] = 1, [FORM_EMPTY] = 1,
    [FORM_SCALAR] = 1,      [FORM_LARGE] = 1,
};

typedef struct run {
    suite *s;
    target *reference, *on;
    host *mine;
    int made[N_FORMS];
    cell *now;       /* of the operator and dtype */
    char *fell_back; /* owned: what fell back in the first call of `now` */
    bool ended;      /* the daemon is gone for good */
} run;

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* -- cells -- */

static cell *cell_new(suite *s, const char *op, dpc_dtype dtype)
{
    if ((s->n & (s->n - 1)) == 0)
        s->cells = need(realloc(s->cells, (2 * s->n + 1) * sizeof(*s->cells)));
    cell *c = &s->cells[s->n++];
    *c = (cell){.op = op, .dtype = dtype};
    return c;
}

/* Count a verdict; takes ownership of `why` and `call`. */
static void count(run *r, verdict v, char *why, char *call)
{
    cell *c = r->now;

    c->count[v]++;
    r->s->count[v]++;
    if (v > c->worst) {
        c->worst = v;
        free(c->why);
        free(c->call);
        c->why = why;
        c->call = call;
        return;
    }
    free(why);
    free(call);
}

/* -- the end of a daemon -- */

/* Connect to the daemon again.  Returns owned text about its end; NULL: it is gone. */
static char *connect_again(run *r)
{
    dpc_error err;
    char *text;

    if (r->mine != NULL) {
        text = host_restart(r->mine);
    } else {
        bool ok = dpc_reconnect(r->on->c->client, RECONNECT_MS, NULL, &err) == 0;
        text = ok ? text_printf("the daemon ended; its log has the crash report") : NULL;
        if (!ok)
            print_lost(&err);
    }
    r->s->restarts++;
    if (text != NULL && !target_probe(r->on)) {
        free(text);
        text = NULL;
    }
    r->ended = text == NULL;
    return text;
}

/* -- calls -- */

/* Make a call on the device `TIMES` times and on the reference, and keep the shortest times. */
static void time_both(run *r, const trial *t)
{
    const target *both[2] = {r->reference, r->on};

    for (int i = 0; i < 2; i++)
        for (int n = 0; n < TIMES; n++) {
            outcome o;
            trial_run(t, both[i], false, &o);
            if (o.state == STATE_DONE && (r->now->ns[i] == 0 || o.kernel_ns < r->now->ns[i]))
                r->now->ns[i] = o.kernel_ns;
            outcome_free(&o);
        }
}

static bool is_slow(const run *r)
{
    return r->s->slow > 0 && r->now->ns[0] > 0 && r->now->ns[1] > r->s->slow * r->now->ns[0];
}

/* Make a call on both targets and count what came of it.  `keep`: where the reference's outcome
 * goes, or NULL.  false: the rest of the operator and dtype is left out. */
static bool try(run *r, const trial *t, form f, outcome *keep)
{
    outcome want, got;
    char *why;
    cell *c = r->now;

    trial_run(t, r->reference, false, &want);
    if (want.state == STATE_LOST ||
        want.state == STATE_HUNG) { /* it says nothing about the device */
        bool lost = want.state == STATE_LOST;
        char *text = lost ? connect_again(r) : NULL;
        if (lost && text != NULL)
            count(r, VERDICT_CRASHED, text_printf("%s, on the reference", text), trial_text(t));
        free(text);
        outcome_free(&want);
        return !lost;
    }
    bool first = r->fell_back == NULL && c->count[VERDICT_PASS] == 0;
    trial_run(t, r->on, first, &got);
    if (first && got.fell_back != NULL)
        r->fell_back = text_printf("%s", got.fell_back);
    verdict v = compare(t, &want, &got, &why);
    if (v == VERDICT_PASS && r->fell_back != NULL) {
        v = VERDICT_FELL_BACK;
        why = text_printf("fell back: %s", r->fell_back);
    }
    if (f == FORM_LARGE && v == VERDICT_PASS) {
        time_both(r, t);
        if (is_slow(r)) {
            v = VERDICT_SLOWER;
            why = text_printf("%.1f us in the kernel, %.1f us on the reference", c->ns[1] / 1e3,
                              c->ns[0] / 1e3);
        }
    }
    if (v == VERDICT_CRASHED || (v == VERDICT_HANGS && r->mine != NULL)) {
        char *text = connect_again(r);
        if (v == VERDICT_CRASHED && text != NULL) {
            free(why);
            why = text;
        } else {
            free(text);
        }
    }
    count(r, v, why, v == VERDICT_PASS ? NULL : trial_text(t));
    outcome_free(&got);
    if (keep != NULL)
        *keep = want;
    else
        outcome_free(&want);
    if (keep != NULL && (v == VERDICT_CRASHED || v == VERDICT_HANGS))
        outcome_free(keep);
    return v != VERDICT_CRASHED && v != VERDICT_HANGS;
}

/* Make the calls of a sample.  false: the rest of the operator and dtype is left out. */
static bool run_sample(run *r, const op_sample *s, const schema *op, dpc_dtype dtype)
{
    outcome first;
    trial t;

    memset(&first, 0, sizeof(first));
    form_make(&t, FORM_GIVEN, s, op, dtype, r->s->seed, NULL);
    bool ok = try(r, &t, FORM_GIVEN, &first);
    trial_free(&t);
    if (!ok)
        return false;
    for (int f = FORM_GIVEN + 1; ok && f < N_FORMS; f++) {
        if (r->made[f] >= most[f] || !form_make(&t, (form)f, s, op, dtype, r->s->seed, &first))
            continue;
        r->made[f]++;
        ok = try(r, &t, (form)f, NULL);
        trial_free(&t);
    }
    outcome_free(&first);
    return ok;
}

/* Make the calls of the samples `at` [n] of one operator that have a dtype. */
static void run_cell(run *r, const op_sample *at, size_t n, const schema *op, dpc_dtype dtype)
{
    r->now = NULL;
    memset(r->made, 0, sizeof(r->made));
    for (size_t i = 0; i < n && !r->ended; i++) {
        if (!(at[i].dtypes & 1u << dtype))
            continue;
        if (r->now == NULL)
            r->now = cell_new(r->s, at->op, dtype);
        if (op == NULL || op->arguments == NULL) {
            count(r, VERDICT_MISSING, text_printf("the registry has no such operator"), NULL);
            break;
        }
        if (!run_sample(r, &at[i], op, dtype))
            break;
    }
    free(r->fell_back);
    r->fell_back = NULL;
}

void suite_run(suite *s, const samples *from, const schemas *ops, uint32_t dtypes,
               target *reference, target *on, host *mine)
{
    run r = {.s = s, .reference = reference, .on = on, .mine = mine};
    bool shown = isatty(STDERR_FILENO), drawn = false;
    double draw_at = now_ms() + 5 * DRAW_MS;

    s->guards = reference->views && on->views;
    reference->views = on->views = s->guards;
    for (size_t i = 0, n; i < from->n && !r.ended; i += n) {
        const char *op = from->at[i].op;
        for (n = 1; i + n < from->n && strcmp(from->at[i + n].op, op) == 0;)
            n++;
        for (int d = 0; d < N_DTYPES && !r.ended; d++)
            if (dtypes & 1u << d)
                run_cell(&r, &from->at[i], n, schemas_find(ops, op), (dpc_dtype)d);
        if (shown && now_ms() >= draw_at) {
            draw_progress((double)i, (double)from->n, op);
            drawn = true;
            draw_at = now_ms() + DRAW_MS;
        }
    }
    if (drawn)
        draw_progress((double)from->n, (double)from->n, "the samples");
    s->complete = !r.ended;
}

void suite_free(suite *s)
{
    for (size_t i = 0; i < s->n; i++) {
        free(s->cells[i].why);
        free(s->cells[i].call);
    }
    free(s->cells);
    s->cells = NULL;
    s->n = 0;
}
