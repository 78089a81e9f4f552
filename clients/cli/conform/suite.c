/* suite.c -- makes the calls of all samples on both targets, counts the verdicts, and goes on after
 * the end of a daemon */
#include "conform.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_DTYPES = 16, TIMES = 3, RECONNECT_MS = 5000 };

static const double first_draw_s = 0.5, draw_s = 0.1; /* when the progress bar is drawn */

/* How many samples of an operator and dtype are called in each form. */
static const int most[N_FORMS] = {
    [FORM_GIVEN] = 1 << 30, [FORM_STRIDED] = 1 << 30,    [FORM_SPECIAL] = 8,
    [FORM_IN_PLACE] = 3,    [FORM_IN_PLACE_STRIDED] = 2, [FORM_OUT] = 2,
    [FORM_OUT_STRIDED] = 1, [FORM_OUT_SHAPE] = 1,        [FORM_OUT_EMPTY] = 1,
    [FORM_EMPTY] = 1,       [FORM_SCALAR] = 1,           [FORM_LONGER] = 2,
    [FORM_LARGE] = 1,
};

typedef struct run {
    suite *s;
    target *reference, *on;
    int made[N_FORMS];
    cell *now;           /* of the operator and dtype */
    const char *last_op; /* called last on the device; NULL: none was */
    bool hung;           /* a kernel still runs in a daemon that this command has not started */
    bool ended;          /* a daemon or the device is gone for good */
} run;

/* -- cells -- */

static cell *cell_new(suite *s, const char *op, dpc_dtype dtype)
{
    s->cells = grown(s->cells, s->n, sizeof(*s->cells));
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

static bool one_daemon(const run *r)
{
    return r->reference->c == r->on->c;
}

/* Test whether the daemon has to be started or connected again after a call. */
static bool is_gone(ending state)
{
    return state == STATE_LOST || state == STATE_STUCK;
}

/* Connect to the daemon of `t` again; one that this command has started is first ended.  Returns
 * owned text about its end; NULL: it or its device is gone, and a message was printed. */
static char *connect_again(run *r, target *t)
{
    bool views = t->views;
    dpc_error err;
    char *text;

    r->s->restarts++;
    if (t->mine != NULL) {
        text = host_restart(t->mine);
    } else {
        bool ok = dpc_reconnect(t->c->client, RECONNECT_MS, NULL, &err) == 0;
        text = ok ? text_printf("the daemon ended; its log has the crash report") : NULL;
        if (!ok)
            print_lost(&err);
    }
    if (text != NULL && !target_probe(t)) {
        free(text);
        text = NULL;
    }
    t->views = views;
    r->ended = r->ended || text == NULL;
    return text;
}

/* -- calls -- */

/* Make a call on both targets `TIMES` times, and keep the shortest times.  A call on the device
 * that comes to another end than before, as with a data race, ends this and becomes `*got`. */
static void time_both(run *r, const trial *t, const outcome *want, outcome *got)
{
    const target *both[2] = {r->reference, r->on};
    bool ok = true;

    for (int i = 0; ok && i < 2; i++)
        for (int n = 0; ok && n < TIMES; n++) {
            outcome o;
            char *why = NULL;
            trial_run(t, both[i], false, &o);
            ok = o.state == STATE_DONE && (i == 0 || compare(t, want, &o, &why) == VERDICT_PASS);
            free(why);
            if (ok && (r->now->ns[i] == 0 || o.kernel_ns < r->now->ns[i]))
                r->now->ns[i] = o.kernel_ns;
            if (ok || i == 0) {
                outcome_free(&o);
            } else {
                outcome_free(got);
                *got = o;
            }
        }
}

static bool is_slow(const run *r)
{
    return r->s->slow > 0 && r->now->ns[0] > 0 && r->now->ns[1] > r->s->slow * r->now->ns[0];
}

/* Make the call on the reference.  false: nothing can be said about the device. */
static bool ask_reference(run *r, const trial *t, outcome *want)
{
    trial_run(t, r->reference, false, want);
    if (want->state == STATE_HUNG && r->hung && one_daemon(r)) {
        end_progress();
        fprintf(stderr, "dispatchctl: the daemon runs no more calls, as kernels that hang keep its "
                        "threads; --plugin checks with a daemon of its own\n");
        r->ended = true;
    }
    if (is_gone(want->state)) {
        char *text = connect_again(r, r->reference);
        if (one_daemon(r))
            count(r, want->state == STATE_LOST ? VERDICT_CRASHED : VERDICT_HANGS,
                  text_printf("%s, on the reference; the call before was of %s on the device",
                              text && want->state == STATE_LOST ? text : want->message,
                              r->last_op ? r->last_op : "nothing"),
                  trial_text(t));
        free(text);
    }
    return want->state != STATE_HUNG && !(is_gone(want->state) && (one_daemon(r) || r->ended));
}

/* Make the call on the device, and compare.  `*why` as compare() sets it. */
static verdict ask_device(run *r, const trial *t, const outcome *want, outcome *got, char **why)
{
    trial_run(t, r->on, true, got);
    r->last_op = t->op;
    verdict v = compare(t, want, got, why);
    if (t->form != FORM_LARGE || v != VERDICT_PASS)
        return v;
    time_both(r, t, want, got);
    v = compare(t, want, got, why);
    if (v != VERDICT_PASS || !is_slow(r))
        return v;
    *why = text_printf("%.1f us in the kernel, %.1f us on the reference", r->now->ns[1] / 1e3,
                       r->now->ns[0] / 1e3);
    return VERDICT_SLOWER;
}

/* Make a call on both targets and count what came of it.  `keep`: where the reference's outcome
 * goes, or NULL. false: the rest of the operator and dtype is left out. */
static bool try(run *r, const trial *t, outcome *keep)
{
    outcome want, got;
    char *why;

    if (!ask_reference(r, t, &want)) {
        outcome_free(&want);
        return false;
    }
    verdict v = ask_device(r, t, &want, &got, &why);
    bool hung = got.state == STATE_HUNG;
    if (is_gone(got.state) || (hung && r->on->mine != NULL)) {
        char *text = connect_again(r, r->on);
        if (got.state == STATE_LOST && text != NULL) {
            free(why);
            why = text;
        } else {
            free(text);
        }
    } else if (got.state == STATE_REFUSED && v != VERDICT_PASS && !target_probe(r->on)) {
        r->ended = true; /* the device was unloaded: the operator did nothing wrong */
    }
    r->hung = r->hung || (hung && r->on->mine == NULL);
    if (r->ended && got.state == STATE_REFUSED)
        free(why);
    else
        count(r, v, why, v == VERDICT_PASS ? NULL : trial_text(t));
    bool goes_on = !hung && !is_gone(got.state) && !r->ended;
    outcome_free(&got);
    if (keep != NULL && goes_on)
        *keep = want;
    else
        outcome_free(&want);
    return goes_on;
}

/* Make the calls of a sample.  false: the rest of the operator and dtype is left out. */
static bool run_sample(run *r, const op_sample *s, const schema *op, dpc_dtype dtype)
{
    outcome first = {.state = STATE_LOST}, longer = {.state = STATE_LOST};
    bool ok = true;
    trial t;

    for (int f = FORM_GIVEN; ok && f < N_FORMS; f++) {
        const outcome *from = f == FORM_LARGE ? &longer : &first;
        if (r->made[f] >= most[f] || !form_make(&t, (form)f, s, op, dtype, r->s->seed, from))
            continue;
        r->made[f]++;
        ok = try(r, &t, f == FORM_GIVEN ? &first : f == FORM_LONGER ? &longer : NULL);
        trial_free(&t);
    }
    outcome_free(&first);
    outcome_free(&longer);
    return ok;
}

static bool is_stopped(const run *r)
{
    const suite *s = r->s;

    return r->ended || (s->stop != NULL && *s->stop) ||
           (s->hang_ends && s->count[VERDICT_HANGS] > 0);
}

/* Make the calls of the samples `at` [n] of one operator that have a dtype. */
static void run_cell(run *r, const op_sample *at, size_t n, const schema *op, dpc_dtype dtype)
{
    r->now = NULL;
    memset(r->made, 0, sizeof(r->made));
    for (size_t i = 0; i < n && !is_stopped(r); i++) {
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
}

void suite_run(suite *s, const samples *from, const schemas *ops, uint32_t dtypes,
               target *reference, target *on)
{
    run r = {.s = s, .reference = reference, .on = on};
    bool shown = isatty(STDERR_FILENO), drawn = false;
    double draw_at = seconds_now() + first_draw_s;

    s->guards = reference->views && on->views;
    reference->views = on->views = s->guards;
    for (size_t i = 0, n; i < from->n && !is_stopped(&r); i += n) {
        const char *op = from->at[i].op;
        n = samples_of_op(from, i);
        for (int d = 0; d < N_DTYPES && !is_stopped(&r); d++)
            if (dtypes & 1u << d)
                run_cell(&r, &from->at[i], n, schemas_find(ops, op), (dpc_dtype)d);
        if (shown && seconds_now() >= draw_at) {
            draw_progress((double)i, (double)from->n, op);
            drawn = true;
            draw_at = seconds_now() + draw_s;
        }
    }
    if (drawn)
        draw_progress((double)from->n, (double)from->n, "the samples");
    s->complete = !is_stopped(&r);
}

bool suite_is_good(const suite *s)
{
    for (int v = VERDICT_FELL_BACK + 1; v < N_VERDICTS; v++)
        if (s->count[v] > 0)
            return false;
    return s->complete;
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
