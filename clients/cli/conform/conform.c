/* conform.c -- verb conform: which operators give on a device what they give on the reference */
#include "conform.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEADLINE_MOST_MS = 3600000 };

typedef struct options {
    const char *device, *against, *plugin, *other, *op, *samples, *junit, *page,
        *dtype; /* NULL: all */
    uint32_t dtypes;
    uint64_t seed;
    double slow, deadline; /* deadline: in milliseconds */
} options;

/* Read a number from 0 to 2^53, with a fraction if `fraction`. */
static bool take_number(cli *c, const char *name, bool fraction, double *out)
{
    const char *text = take_option(c, name);
    char *end;

    if (text == NULL)
        return true;
    *out = strtod(text, &end);
    if (end != text && *end == '\0' && *out >= 0 && *out <= 0x1p53 &&
        (fraction || *out == floor(*out)))
        return true;
    usage(c, "%s wants %s from 0 to 2^53, not '%s'", name, fraction ? "a number" : "an integer",
          text);
    return false;
}

static bool take_dtype(cli *c, const char **out_name, uint32_t *out)
{
    const char *name = take_option(c, "--dtype");
    dpc_dtype dtype = name ? dtype_named(name) : DPC_DTYPE_OTHER;

    *out_name = name;
    *out = name ? 1u << (dtype & 31) : UINT32_MAX;
    if (name == NULL || dtype != DPC_DTYPE_OTHER)
        return true;
    usage(c, "no dtype '%s'", name);
    return false;
}

static bool take_options(cli *c, options *o)
{
    double seed = 0;

    *o = (options){.deadline = CONFORM_DEADLINE_MS};
    o->device = take_option(c, "--device");
    o->against = take_option(c, "--against");
    o->plugin = take_option(c, "--plugin");
    o->op = take_option(c, "--op");
    o->samples = take_option(c, "--samples");
    o->junit = take_option(c, "--junit");
    o->page = take_option(c, "--html");
    if (!take_number(c, "--seed", false, &seed) || !take_number(c, "--slow", true, &o->slow) ||
        !take_number(c, "--deadline", false, &o->deadline) ||
        !take_dtype(c, &o->dtype, &o->dtypes) || !words_fit(c, 0, o->plugin ? 1 : 0))
        return false;
    o->other = c->n_words > 0 ? c->words[0] : NULL;
    o->seed = (uint64_t)seed;
    if (o->device == NULL)
        usage(c, "--device names the device to be checked");
    else if (o->other != NULL && o->against != NULL)
        usage(c, "--plugin with two files compares these; --against names another reference");
    else if (o->deadline < 1 || o->deadline > DEADLINE_MOST_MS)
        usage(c, "--deadline wants milliseconds from 1 to %d", DEADLINE_MOST_MS);
    else
        return true;
    return false;
}

/* -- targets -- */

/* The daemons of a run: the one that is checked, and another one to compare with. */
typedef struct hosts {
    host first, second;
    cli other;
    target reference, on;
} hosts;

/* Set up both targets, with the daemons that have to be started.  CLI_OK, or a message was
 * printed. */
static int find_targets(cli *c, const options *o, hosts *h, const char *const *first,
                        const char *const *second)
{
    bool is_socket = o->against != NULL && strchr(o->against, '/') != NULL;

    memset(h, 0, sizeof(*h));
    h->on = (target){.c = c, .device = o->device, .deadline_ms = (int)o->deadline};
    h->reference = h->on;
    h->reference.device = "cpu";
    if (o->plugin != NULL) {
        if (!host_start(&h->first, o->other ? second : first))
            return CLI_NO_CONNECTION;
        h->on.c = h->reference.c = &h->first.c;
        h->on.mine = h->reference.mine = &h->first;
    } else if (!host_connect(c)) {
        return CLI_NO_CONNECTION;
    }
    if (o->other != NULL) { /* --plugin OLD NEW: the device of the old build is the reference */
        if (!host_start(&h->second, first))
            return CLI_NO_CONNECTION;
        h->reference.c = &h->second.c;
        h->reference.mine = &h->second;
        h->reference.device = o->device;
    } else if (is_socket) {
        h->other.socket = o->against;
        h->reference.c = &h->other;
        h->reference.mine = NULL;
        h->reference.device = o->device;
        if (!host_connect(&h->other))
            return CLI_NO_CONNECTION;
    } else if (o->against != NULL) {
        h->reference.device = o->against;
    }
    return target_probe(&h->reference) && target_probe(&h->on) ? CLI_OK : CLI_ERROR;
}

static void release_targets(hosts *h)
{
    disconnect(&h->other);
    host_stop(&h->first);
    host_stop(&h->second);
}

/* -- the verb -- */

static int exit_code(const suite *s)
{
    if (!s->complete)
        return CLI_NO_CONNECTION;
    return suite_is_good(s) ? CLI_OK : CLI_ERROR;
}

static int report(cli *c, const suite *s, const options *o)
{
    if (c->json) {
        cJSON *out = report_json(s);
        print_json(out);
        cJSON_Delete(out);
    } else {
        report_text(s);
    }
    bool ok = o->junit == NULL || report_junit(s, o->junit);
    ok = (o->page == NULL || report_page(s, o->page)) && ok;
    return ok ? exit_code(s) : CLI_ERROR;
}

static bool any_has(const samples *s, uint32_t dtypes)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->at[i].dtypes & dtypes)
            return true;
    return false;
}

static int conform(cli *c)
{
    options o;
    samples from;
    schemas ops;
    hosts h;

    if (!take_options(c, &o))
        return CLI_USAGE;
    char *path = o.samples ? text_printf("%s", o.samples) : samples_path();
    bool ok = samples_read(&from, path, o.op);
    free(path);
    if (!ok || !any_has(&from, o.dtypes)) {
        const char *op = o.op ? o.op : "";
        if (ok && from.n == 0)
            usage(c, "no operator contains '%s'", op);
        else if (ok)
            usage(c, "no sample of '%s' has dtype %s", op, o.dtype);
        samples_free(&from);
        return CLI_USAGE;
    }
    char *plugin = o.plugin ? host_plugin(o.plugin) : NULL;
    char *other = o.other ? host_plugin(o.other) : NULL;
    const char *first[] = {plugin, NULL}, *second[] = {other, NULL};
    int rc = find_targets(c, &o, &h, first, second);
    if (rc == CLI_OK)
        rc = schemas_read(&ops, h.on.c, &from);
    if (rc == CLI_OK) {
        suite s = {.device = o.device,
                   .reference = o.other     ? o.plugin
                                : o.against ? o.against
                                            : "cpu",
                   .seed = o.seed,
                   .slow = o.slow};
        suite_run(&s, &from, &ops, o.dtypes, &h.reference, &h.on);
        rc = report(c, &s, &o);
        suite_free(&s);
        schemas_free(&ops);
    }
    release_targets(&h);
    free(plugin);
    free(other);
    samples_free(&from);
    return rc;
}

/* clang-format would set the sentences in columns. */
/* clang-format off */
const verb verbs_conform[] = {
    {"conform",
     "--device NAME [--op TEXT] [--dtype D] [--seed N] [--slow N] [--deadline MS] "
     "[--against NAME|SOCKET] [--plugin FILE.so [NEW.so]] [--junit FILE] [--html FILE] "
     "[--samples FILE]",
     "call operators on a device and on the CPU, and tell what differs", conform},
    {NULL, NULL, NULL, NULL},
};
/* clang-format on */
