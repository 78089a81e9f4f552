/* bisect.c -- verb bisect: the first of several builds of a plugin with which a recording's calls
 * give other results than with the first build */
#include "replay.h"
#include <stdlib.h>
#include <string.h>

typedef struct search {
    recording from;
    host first;         /* has the first build */
    const char *device; /* NULL: the recorded ones */
    char **builds;      /* [n], borrowed */
    int n;
    fault found; /* with the build that differs, of those that were tried */
    bool json;
} search;

typedef enum trial_end { SAME, DIFFERS, FAILED } trial_end;

static void keep_fault(search *s, fault *f)
{
    fault_free(&s->found);
    s->found = *f;
    memset(f, 0, sizeof(*f));
}

/* Compare build `i` with the first one.  FAILED: a message was printed. */
static trial_end try_build(search *s, int i)
{
    host h = {.pid = 0};
    replay r = {.from = &s->from, .deadline_ms = REPLAY_DEADLINE_MS, .first_only = true};

    if (!start_with(&h, s->builds[i])) {
        host_stop(&h);
        return FAILED;
    }
    for (int side = 0; side < 2; side++) {
        r.sides[side].name = s->builds[side == GOT ? i : 0];
        r.sides[side].socket = side == GOT ? h.socket : s->first.socket;
        r.sides[side].places.device = s->device;
    }
    bool whole = replay_run(&r);
    trial_end end = r.result.matters.op != NULL ? DIFFERS : whole ? SAME : FAILED;
    if (end == FAILED)
        fprintf(stderr, "dispatchctl: %s: not all calls could be made\n", s->builds[i]);
    if (end == SAME && r.result.calls == 0) {
        fprintf(stderr, "dispatchctl: %s: no call could be made\n", s->builds[i]);
        end = FAILED;
    }
    if (end == DIFFERS)
        keep_fault(s, &r.result.matters);
    if (end != FAILED && !s->json)
        printf("%s: %s\n", s->builds[i], end == SAME ? "the same" : "differs");
    fflush(stdout);
    replay_free(&r);
    host_stop(&h);
    return end;
}

static void print_found(const search *s, int first)
{
    if (s->json) {
        cJSON *json = params_new();
        params_text(json, "first", first > 0 ? s->builds[first] : NULL);
        params_text(json, "before", first > 0 ? s->builds[first - 1] : NULL);
        if (first > 0)
            cJSON_AddItemToObject(json, "fault", fault_json(&s->found));
        print_json(json);
        cJSON_Delete(json);
    } else if (first == 0) {
        printf("the last build gives what the first one gives, on %s\n",
               s->device ? s->device : "the recorded devices");
    } else {
        printf("first that differs: %s, number %d of %d\n", s->builds[first], first + 1, s->n);
        print_fault("there", &s->found);
    }
}

/* Find the first build that differs, if the last one does. */
static int find(search *s)
{
    int same = 0, differs = s->n - 1;
    trial_end end = try_build(s, differs);

    while (end != FAILED && s->found.op != NULL && differs - same > 1) {
        int middle = same + (differs - same) / 2;
        end = try_build(s, middle);
        if (end == SAME)
            same = middle;
        else
            differs = middle;
    }
    if (end == FAILED)
        return CLI_ERROR;
    print_found(s, s->found.op != NULL ? differs : 0);
    return s->found.op != NULL ? CLI_ERROR : CLI_OK;
}

int bisect_verb(cli *c)
{
    search s = {.device = take_option(c, "--device"), .json = c->json};

    if (!words_fit(c, 3, -1))
        return CLI_USAGE;
    s.builds = c->words + 1;
    s.n = c->n_words - 1;
    int rc = recording_open(&s.from, c->words[0]) ? CLI_OK : CLI_USAGE;
    if (rc == CLI_OK)
        rc = start_with(&s.first, s.builds[0]) ? find(&s) : CLI_NO_CONNECTION;
    if (s.from.fault != NULL) {
        fprintf(stderr, "dispatchctl: %s\n", s.from.fault);
        rc = rc == CLI_OK ? CLI_ERROR : rc;
    }
    fault_free(&s.found);
    recording_close(&s.from);
    host_stop(&s.first);
    return rc;
}
