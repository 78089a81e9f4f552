/* replay.c -- verb replay: the calls of a recording on a device beside a reference */
#include "replay.h"
#include <stdlib.h>
#include <string.h>

typedef struct options {
    const char *file, *device, *against, *plugin, *other;
} options;

static bool take_options(cli *c, options *o)
{
    memset(o, 0, sizeof(*o));
    o->device = take_option(c, "--device");
    o->against = take_option(c, "--against");
    o->plugin = take_option(c, "--plugin");
    if (!words_fit(c, 1, o->plugin ? 2 : 1))
        return false;
    o->file = c->words[0];
    o->other = c->n_words > 1 ? c->words[1] : NULL;
    if (o->against != NULL && o->other != NULL)
        usage(c, "--against and a second plugin both name the reference");
    return o->against == NULL || o->other == NULL;
}

/* Choose the sides, and start the daemons that they need.  false: a message was printed. */
static bool find_sides(const cli *c, const options *o, replay *r, host hosts[2])
{
    bool is_socket = o->against != NULL && strchr(o->against, '/') != NULL;
    replay_side *want = &r->sides[WANT], *got = &r->sides[GOT];

    *got =
        (replay_side){.name = o->device ? o->device : "the recorded devices", .socket = c->socket};
    got->places.device = o->device;
    *want = *got;
    if (o->plugin != NULL) {
        if (!start_with(&hosts[GOT], o->other ? o->other : o->plugin))
            return false;
        got->socket = want->socket = hosts[GOT].socket;
    }
    if (o->other != NULL) { /* --plugin OLD NEW: the same devices of the old build */
        if (!start_with(&hosts[WANT], o->plugin))
            return false;
        want->socket = hosts[WANT].socket;
        want->name = o->plugin;
        got->name = o->other;
    } else if (is_socket) {
        want->socket = want->name = o->against;
    } else {
        want->name = want->places.device = o->against ? o->against : "cpu";
    }
    return true;
}

static int report(const cli *c, const replay *r, bool ok)
{
    const findings *found = &r->result;

    if (c->json) {
        cJSON *json = result_json(found, r->from, r->sides);
        print_json(json);
        cJSON_Delete(json);
    } else {
        result_text(found, r->from, r->sides);
    }
    fflush(stdout);
    if (r->from->fault != NULL)
        fprintf(stderr, "dispatchctl: %s\n", r->from->fault);
    else if (r->from->calls == 0)
        fprintf(stderr, "dispatchctl: %s has no calls: nothing was compared\n", r->from->path);
    if (!ok && r->from->fault == NULL && found->matters.op == NULL)
        return CLI_NO_CONNECTION;
    return ok && r->from->fault == NULL && found->faults == 0 && found->calls > 0 ? CLI_OK
                                                                                  : CLI_ERROR;
}

static int replay_verb(cli *c)
{
    recording from;
    options o;
    host hosts[2] = {{.pid = 0}, {.pid = 0}};

    if (!take_options(c, &o))
        return CLI_USAGE;
    replay r = {.from = &from, .deadline_ms = REPLAY_DEADLINE_MS};
    int rc = recording_open(&from, o.file) ? CLI_OK : CLI_USAGE;
    if (rc == CLI_OK) {
        rc = CLI_NO_CONNECTION;
        if (find_sides(c, &o, &r, hosts)) {
            rc = side_has_device(&r.sides[WANT]);
            if (rc == CLI_OK)
                rc = side_has_device(&r.sides[GOT]);
            if (rc == CLI_OK)
                rc = report(c, &r, replay_run(&r));
        }
    }
    replay_free(&r);
    recording_close(&from);
    host_stop(&hosts[WANT]);
    host_stop(&hosts[GOT]);
    return rc;
}

/* clang-format would set the sentences in columns. */
/* clang-format off */
const verb verbs_replay[] = {
    {"record", "FILE [--without-large] [COMMAND...]",
     "run a command, behind --, and write the calls of its sessions to a file; without a command "
     "print the socket to be used, until a signal comes",
     record_verb},
    {"replay", "FILE [--device NAME] [--against NAME|SOCKET] [--plugin FILE.so [NEW.so]]",
     "make the calls of a recording on a device beside a reference, and tell what differs",
     replay_verb},
    {"bisect", "FILE PLUGIN.so PLUGIN.so... [--device NAME]",
     "find the first of several builds of a plugin, oldest first, with which the calls of a "
     "recording give other results than with the first one",
     bisect_verb},
    {NULL, NULL, NULL, NULL},
};
/* clang-format on */
