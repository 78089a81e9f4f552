/* result.c -- what a replay has found: counted, as text and as JSON */
#include "replay.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void result_call(findings *r, const char *op, bool faulty)
{
    size_t i = 0;

    while (i < r->n_tallies && strcmp(r->tallies[i].op, op) != 0)
        i++;
    if (i == r->n_tallies) {
        r->tallies = need(realloc(r->tallies, (i + 1) * sizeof(*r->tallies)));
        r->tallies[r->n_tallies++] = (tally){text_printf("%s", op), 0, 0};
    }
    r->tallies[i].calls++;
    r->tallies[i].faults += faulty;
}

void result_skip(findings *r, uint64_t number, const char *op, const char *why)
{
    if (r->skipped++ == 0)
        r->why_skipped = text_printf("call %" PRIu64 ", %s: %s", number, op, why);
}

void result_fault(fault *at, const char *op, uint64_t number, verdict kind, const char *call,
                  char *why)
{
    if (at->op != NULL) {
        free(why);
        return;
    }
    *at = (fault){text_printf("%s", op), why, text_printf("%s", call), number, -1, kind};
}

void fault_free(fault *f)
{
    free(f->op);
    free(f->why);
    free(f->call);
}

void result_step(findings *r, uint64_t number, fault *step)
{
    fault *const at[] = {&r->first, &r->matters};

    for (size_t i = 0; i < COUNT(at); i++) {
        if (at[i]->op == NULL || at[i]->number != number)
            continue;
        free(at[i]->op);
        free(at[i]->why);
        at[i]->op = text_printf("%s", step->op);
        at[i]->why = text_printf("%s", step->why);
        at[i]->step = step->step;
        at[i]->kind = step->kind;
    }
    fault_free(step);
}

void result_free(findings *r)
{
    for (size_t i = 0; i < r->n_tallies; i++)
        free(r->tallies[i].op);
    free(r->tallies);
    free(r->why_skipped);
    fault_free(&r->first);
    fault_free(&r->matters);
    memset(r, 0, sizeof(*r));
}

/* -- text -- */

void print_fault(const char *head, const fault *f)
{
    printf("%s: call %" PRIu64 ", %s", head, f->number, f->op);
    if (f->step >= 0)
        printf(", step %d", f->step);
    printf(": %s\n    %s\n", f->why, f->call);
}

static bool same_fault(const findings *r)
{
    return r->first.op != NULL && r->matters.op != NULL && r->first.number == r->matters.number;
}

void result_text(const findings *r, const recording *from, const replay_side *sides)
{
    printf("%s: %" PRIu64 " calls on %s beside %s\n", from->path, r->calls, sides[GOT].name,
           sides[WANT].name);
    if (r->first.op != NULL && !same_fault(r))
        print_fault("first difference", &r->first);
    if (r->matters.op != NULL)
        print_fault("first that matters", &r->matters);
    for (size_t i = 0; i < r->n_tallies; i++)
        if (r->tallies[i].faults > 0)
            printf("  %-32s %" PRIu64 " of %" PRIu64 " calls differ\n", r->tallies[i].op,
                   r->tallies[i].faults, r->tallies[i].calls);
    printf("%" PRIu64 " the same, %" PRIu64 " within the tolerance, %" PRIu64 " differ", r->same,
           r->close, r->faults);
    if (r->behind > 0)
        printf(", %" PRIu64 " behind a difference", r->behind);
    if (r->unread > 0)
        printf(", %" PRIu64 " without elements to compare", r->unread);
    if (r->skipped > 0)
        printf(", %" PRIu64 " not made", r->skipped);
    printf("\n");
    if (r->skipped > 0)
        printf("the first that was not made: %s\n", r->why_skipped);
    if (from->left_out)
        printf("large inputs are not in the recording: numbers were drawn in their place\n");
}

/* -- JSON -- */

cJSON *fault_json(const fault *f)
{
    cJSON *j = params_new();

    cJSON_AddNumberToObject(j, "call", (double)f->number);
    params_text(j, "op", f->op);
    if (f->step >= 0)
        cJSON_AddNumberToObject(j, "step", f->step);
    params_text(j, "verdict", verdict_names[f->kind]);
    params_text(j, "why", f->why);
    params_text(j, "request", f->call);
    return j;
}

cJSON *result_json(const findings *r, const recording *from, const replay_side *sides)
{
    const struct {
        const char *name;
        uint64_t n;
    } counts[] = {{"calls", r->calls},   {"same", r->same},     {"close", r->close},
                  {"differ", r->faults}, {"behind", r->behind}, {"not_made", r->skipped},
                  {"unread", r->unread}};
    cJSON *j = params_new();

    params_text(j, "file", from->path);
    params_text(j, "on", sides[GOT].name);
    params_text(j, "beside", sides[WANT].name);
    for (size_t i = 0; i < COUNT(counts); i++)
        cJSON_AddNumberToObject(j, counts[i].name, (double)counts[i].n);
    if (r->first.op != NULL)
        cJSON_AddItemToObject(j, "first", fault_json(&r->first));
    if (r->matters.op != NULL)
        cJSON_AddItemToObject(j, "matters", fault_json(&r->matters));
    params_text(j, "why_not_made", r->why_skipped);
    params_text(j, "fault_of_file", from->fault);
    cJSON *ops = need(cJSON_AddArrayToObject(j, "ops"));
    for (size_t i = 0; i < r->n_tallies; i++) {
        cJSON *op = params_new();
        params_text(op, "op", r->tallies[i].op);
        cJSON_AddNumberToObject(op, "calls", (double)r->tallies[i].calls);
        cJSON_AddNumberToObject(op, "differ", (double)r->tallies[i].faults);
        cJSON_AddItemToArray(ops, op);
    }
    return j;
}
