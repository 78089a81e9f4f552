/* steps.c -- finds the step of a program that gives something else on the other side: its first
 * steps are run again, and the run answers what the last of them has made */
#include "replay.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The run of a program, as params of a program.run with steps. */
typedef struct dissection {
    replay *r;
    const peer *at;
    cJSON *inputs;       /* owned: the values of inputs and constants by their names */
    const cJSON *steps;  /* borrowed */
    const cJSON *params; /* of the recorded run */
    outcome o[2];
    cJSON *nodes[2]; /* references into the answers */
    dpc_answer *answers[2];
} dissection;

/* -- a run of some steps -- */

/* Append the names of the values that a step makes. */
static void add_names(cJSON *names, const cJSON *step)
{
    const cJSON *name;

    cJSON_ArrayForEach(name, member(step, "as")) if (cJSON_IsString(name))
        cJSON_AddItemToArray(names, need(cJSON_Duplicate(name, true)));
}

/* Make the params of a run of the first `n` steps, which answers what those from `from` on make. */
static cJSON *params_of(const dissection *d, int from, int n)
{
    static const char *const kept[] = {"grad_enabled", "inference", "autocast"};
    cJSON *params = params_new(), *steps = need(cJSON_AddArrayToObject(params, "steps")),
          *outputs = need(cJSON_AddArrayToObject(params, "outputs"));

    for (int i = 0; i < n; i++) {
        const cJSON *step = cJSON_GetArrayItem(d->steps, i);
        cJSON_AddItemToArray(steps, need(cJSON_Duplicate(step, true)));
        if (i >= from)
            add_names(outputs, step);
    }
    cJSON_AddItemToObject(params, "inputs", need(cJSON_Duplicate(d->inputs, true)));
    for (size_t i = 0; i < COUNT(kept); i++)
        if (member(d->params, kept[i]) != NULL)
            cJSON_AddItemToObject(params, kept[i],
                                  need(cJSON_Duplicate(member(d->params, kept[i]), true)));
    cJSON_AddNumberToObject(params, "deadline_ms", d->r->deadline_ms);
    return params;
}

static void release_nodes(dpc_client *c, const cJSON *nodes)
{
    const cJSON *node;

    cJSON_ArrayForEach(node, nodes)
    {
        int64_t handle = (int64_t)number_of(node, "tensor");
        dpc_error err;
        dpc_tensor_release(c, &handle, 1, &err);
    }
}

static void run_side(dissection *d, int side, const cJSON *recorded)
{
    cJSON *params = need(cJSON_Duplicate(recorded, true));
    bool tainted;
    dpc_error err;
    char *missing = translate(params, &d->r->handles, d->at->of->number, side,
                              &d->r->sides[side].places, &tainted);

    if (missing == NULL) {
        char *text = json_text(params);
        dpc_request *q = need(dpc_request_json("program.run", text));
        if (dpc_submit(d->at->client[side], q, NULL, &err) == 0)
            dpc_receive(d->at->client[side], -1, &d->answers[side], &err);
        dpc_request_free(q);
        free(text);
    }
    free(missing);
    cJSON_Delete(params);
    if (d->answers[side] != NULL)
        collect(d->nodes[side], dpc_answer_result(d->answers[side]), TENSOR);
    keep(&d->o[side], d->at->of->aside[side], d->answers[side], d->nodes[side]);
    release_nodes(d->at->of->aside[side], d->nodes[side]);
}

static void forget_run(dissection *d)
{
    for (int side = 0; side < 2; side++) {
        outcome_free(&d->o[side]);
        cJSON_Delete(d->nodes[side]);
        dpc_answer_free(d->answers[side]);
        d->nodes[side] = NULL;
        d->answers[side] = NULL;
    }
}

/* Run the first `n` steps on both sides, and compare what those from `from` on make, with the
 * tolerances of `op`.  Returns owned text about what differs; NULL: nothing does.  `*kind`: how. */
static char *run_steps(dissection *d, int from, int n, const char *op, verdict *kind)
{
    static trial about; /* large, and all zero but for the operator */
    cJSON *params = params_of(d, from, n);
    char *why = NULL;

    for (int side = 0; side < 2; side++) {
        d->nodes[side] = need(cJSON_CreateArray());
        run_side(d, side, params);
    }
    cJSON_Delete(params);
    about.op = op;
    *kind = compare(&about, &d->o[WANT], &d->o[GOT], &why);
    forget_run(d);
    return why;
}

/* -- the search -- */

/* Find the first step that makes something else.  All steps before it are run for each, because a
 * later step may write what an earlier one has made. */
static bool search_steps(dissection *d, fault *f)
{
    int n = cJSON_GetArraySize(d->steps);

    for (int i = 0; i < n; i++) {
        const cJSON *step = cJSON_GetArrayItem(d->steps, i);
        const char *op = *text_of(step, "op") ? text_of(step, "op") : "a step";
        verdict kind;
        char *why = run_steps(d, i, i + 1, op, &kind);
        if (kind == VERDICT_CRASHED) {
            free(why);
            return false;
        }
        if (why != NULL) {
            *f = (fault){text_printf("%s", op), why, NULL, 0, i, kind};
            return true;
        }
    }
    return false;
}

static void add_values(cJSON *to, const cJSON *values)
{
    const cJSON *v;

    cJSON_ArrayForEach(v, values) if (v->string != NULL && member(to, v->string) == NULL)
        cJSON_AddItemToObject(to, v->string, need(cJSON_Duplicate(v, true)));
}

bool find_step(replay *r, const peer *at, const cJSON *params, fault *f)
{
    dissection d = {.r = r, .at = at, .params = params};
    const cJSON *program = member(params, "program"), *made_from = params;
    const entry *e = cJSON_IsNumber(program)
                         ? handles_find(&r->handles, at->of->number, PROGRAM, program->valuedouble)
                         : NULL;

    if (program != NULL && (made_from = e ? e->made_from : NULL) == NULL)
        return false;
    d.steps = member(made_from, "steps");
    if (cJSON_GetArraySize(d.steps) > STEPS_MOST)
        return false;
    d.inputs = params_new();
    add_values(d.inputs, member(params, "inputs"));
    add_values(d.inputs, member(made_from, "constants"));
    bool found = search_steps(&d, f);
    cJSON_Delete(d.inputs);
    return found;
}
