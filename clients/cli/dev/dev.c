/* dev.c -- verb dev: at each save, builds a plugin, reloads it into a daemon of this command,
 * compares its operators with their reference, and prints a line.
 *
 * Good code goes on to the daemon of --socket.  Code that crashes or computes wrong never gets
 * there, so what is loaded there when the verb ends is the last good code. */
#include "dev.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { FAULTS_SHOWN = 5 };

/* Set by the handler of SIGINT, SIGTERM and SIGHUP: the verb ends. */
static volatile sig_atomic_t stop;

/* A daemon of this command with one plugin. */
typedef struct place {
    host host;
    bool runs;
    char *file; /* what the daemon loads when it starts again; owned */
    const char *list[2];
    char *plugin;    /* name of what is loaded; NULL: nothing; owned */
    cJSON *backends; /* of the plugin; owned */
} place;

typedef struct dev {
    cli *c; /* its socket: the daemon that gets good code; NULL: none */
    const char *device, *op;
    folder folder;
    samples all;
    place mine, reference;
    struct timespec reference_time; /* of the file that is loaded */
    bool good;                      /* the newest verdict */
} dev;

/* -- a daemon with a plugin -- */

static void place_stop(place *p)
{
    if (p->runs)
        host_stop(&p->host);
    free(p->plugin);
    free(p->file);
    cJSON_Delete(p->backends);
    memset(p, 0, sizeof(*p));
}

/* Load the file, or load it again.  false: a message was printed. */
static bool place_load(place *p, const char *file)
{
    static const char *const nothing[] = {NULL};
    cJSON *params = params_new(), *result = NULL;
    int rc = CLI_NO_CONNECTION;

    if (!p->runs)
        p->runs = host_start(&p->host, nothing);
    params_text(params, p->plugin ? "plugin" : "path", p->plugin ? p->plugin : file);
    if (p->runs)
        rc = fetch(&p->host.c, p->plugin ? "plugin.reload" : "plugin.load", params, &result);
    else
        cJSON_Delete(params);
    if (rc == CLI_NO_CONNECTION)
        place_stop(p);
    if (rc != CLI_OK)
        return false;
    free(p->plugin);
    p->plugin = text_printf("%s", text_of(result, "plugin"));
    cJSON_Delete(p->backends);
    p->backends = cJSON_DetachItemFromObject(result, "backends");
    cJSON_Delete(result);
    /* If a kernel ends the daemon, it starts again with the plugin. */
    free(p->file);
    p->list[0] = p->file = text_printf("%s", file);
    p->host.plugins = p->list;
    return true;
}

/* -- verdicts -- */

static void put_line(const dev *d, const char *word, const char *text, double since, const suite *s)
{
    double seconds = seconds_now() - since;

    if (d->c->json) {
        cJSON *out = params_new();
        params_text(out, "verdict", word);
        cJSON_AddNumberToObject(out, "seconds", seconds);
        if (s != NULL)
            cJSON_AddItemToObject(out, "report", report_json(s));
        print_json(out);
        cJSON_Delete(out);
    } else {
        printf("%s%s%s  (%.2f s)\n", word, *text ? ": " : "", text, seconds);
    }
    fflush(stdout);
}

/* Return "48 pass, 2 fell back", the worst first; owned. */
static char *counts_text(const suite *s)
{
    char *text = text_printf("%s", "");

    for (int v = N_VERDICTS - 1; v >= 0; v--) {
        if (s->count[v] == 0)
            continue;
        char *longer =
            text_printf("%s%s%d %s", text, *text ? ", " : "", s->count[v], verdict_names[v]);
        free(text);
        text = longer;
    }
    return text;
}

static bool put_verdict(const dev *d, const suite *s, const choice *ch, double since)
{
    char *counts = counts_text(s);
    char *text = text_printf("%s beside %s: %s%s%s%s", s->device, s->reference,
                             *counts ? counts : "no calls", s->complete ? "" : ", not complete",
                             *ch->unsampled ? "; no samples of " : "", ch->unsampled);

    if (!d->c->json)
        report_faults(s, FAULTS_SHOWN);
    put_line(d, suite_is_good(s) ? "ok" : "not ok", text, since, s);
    free(text);
    free(counts);
    return suite_is_good(s);
}

/* -- the comparison -- */

/* Find out what the device is to be compared with: the CPU, or for a plugin of the CPU itself the
 * plugin reference.so of the folder.  false: with nothing; *ok then tells whether that is right. */
static bool find_reference(dev *d, target *reference, const char *device, bool *ok)
{
    char *file = folder_file(&d->folder, "reference.so");
    struct stat about;

    *ok = true;
    reference->device = "cpu";
    reference->c = &d->mine.host.c;
    reference->mine = &d->mine.host;
    if (strcmp(device, "cpu") != 0 || file == NULL || stat(file, &about) != 0) {
        free(file);
        return strcmp(device, "cpu") != 0;
    }
    bool known = d->reference.runs && d->reference.plugin != NULL &&
                 about.st_mtim.tv_sec == d->reference_time.tv_sec &&
                 about.st_mtim.tv_nsec == d->reference_time.tv_nsec;
    *ok = known || place_load(&d->reference, file);
    d->reference_time = about.st_mtim;
    reference->c = &d->reference.host.c;
    reference->mine = &d->reference.host;
    free(file);
    return *ok;
}

static int plugin_ops(dev *d, cJSON **listed)
{
    cJSON *params = params_new();

    params_text(params, "plugin", d->mine.plugin);
    params_text(params, "match", d->op);
    return fetch(&d->mine.host.c, "registry.list", params, listed);
}

/* Make the calls and print the verdict. */
static bool run_suite(dev *d, target *reference, target *on, const choice *ch, double since)
{
    suite s = {.device = on->device,
               .reference = reference->c == on->c ? reference->device : "reference.so",
               .hang_ends = true,
               .stop = &stop};
    schemas ops;

    if (!target_probe(reference) || !target_probe(on) ||
        schemas_read(&ops, on->c, &ch->picked) != CLI_OK) {
        put_line(d, "not ok", "the device takes no tensors", since, NULL);
        return false;
    }
    suite_run(&s, &ch->picked, &ops, UINT32_MAX, reference, on);
    bool good = !stop && put_verdict(d, &s, ch, since);
    if (!s.complete) { /* the next round begins with new daemons */
        place_stop(&d->mine);
        place_stop(&d->reference);
    }
    suite_free(&s);
    schemas_free(&ops);
    return good;
}

static bool compare_plugin(dev *d, double since)
{
    const char *backend = cJSON_GetStringValue(cJSON_GetArrayItem(d->mine.backends, 0));
    target reference = {0}, on = {.c = &d->mine.host.c, .mine = &d->mine.host};
    cJSON *listed;
    choice ch;
    bool ok;

    /* run_suite() may end the daemons, and with them the list of backends. */
    char *device = text_printf("%s", d->device ? d->device : backend ? backend : "cpu");
    on.device = device;
    bool compares = find_reference(d, &reference, device, &ok);
    if (!compares) {
        put_line(
            d, ok ? "ok" : "not ok",
            ok ? "loaded; a plugin of the CPU is compared with reference.so, which is not there"
               : "reference.so is not loaded",
            since, NULL);
        free(device);
        return ok;
    }
    ok = plugin_ops(d, &listed) == CLI_OK;
    if (!ok) {
        put_line(d, "not ok", "its operators are not known", since, NULL);
    } else {
        char *own = folder_file(&d->folder, "samples.jsonl");
        ok = choice_make(&ch, &d->all, own, member(listed, "ops"));
        bool none = d->op != NULL && cJSON_GetArraySize(member(listed, "ops")) == 0;
        if (!ok) {
            put_line(d, "not ok", "the folder's samples.jsonl cannot be read", since, NULL);
        } else if (none) {
            char *text =
                text_printf("no operator for which the plugin has a kernel contains '%s'", d->op);
            put_line(d, "not ok", text, since, NULL);
            free(text);
            ok = false;
        } else {
            ok = run_suite(d, &reference, &on, &ch, since);
        }
        choice_free(&ch);
        free(own);
        cJSON_Delete(listed);
    }
    free(device);
    return ok;
}

/* -- the user's daemon -- */

/* Test whether a plugin of this name is loaded there from this file. */
static bool is_loaded(const cJSON *plugins, const char *plugin, const char *file)
{
    const cJSON *j;

    cJSON_ArrayForEach(j, plugins)
    {
        if (strcmp(text_of(j, "plugin"), plugin) == 0 && strcmp(text_of(j, "path"), file) == 0 &&
            !cJSON_IsTrue(member(j, "kept")))
            return true;
    }
    return false;
}

/* Bring good code to the daemon of --socket. */
static bool hand_on(dev *d)
{
    cJSON *params = params_new(), *list = NULL, *result = NULL;
    int rc = fetch(d->c, "plugin.list", params_new(), &list);
    bool again = rc == CLI_OK && is_loaded(member(list, "plugins"), d->mine.plugin, d->folder.file);

    params_text(params, again ? "plugin" : "path", again ? d->mine.plugin : d->folder.file);
    if (rc == CLI_OK)
        rc = fetch(d->c, again ? "plugin.reload" : "plugin.load", params, &result);
    else
        cJSON_Delete(params);
    if (rc == CLI_OK && d->c->json)
        print_json(result);
    else if (rc == CLI_OK)
        printf("%s is in the daemon at %s, generation %.0f\n", d->mine.plugin, d->c->socket,
               number_of(result, "generation"));
    fflush(stdout);
    cJSON_Delete(list);
    cJSON_Delete(result);
    disconnect(d->c); /* that daemon may come and go between two saves */
    return rc == CLI_OK;
}

/* -- rounds -- */

static void round_once(dev *d)
{
    double since = seconds_now();

    d->good = false;
    if (!folder_build(&d->folder)) {
        put_line(d, "not built", "", since, NULL);
        return;
    }
    if (!place_load(&d->mine, d->folder.file)) {
        put_line(d, "not loaded", d->mine.plugin ? "the code before it stays" : "", since, NULL);
        return;
    }
    d->good = compare_plugin(d, since);
    if (d->good && d->c->socket != NULL)
        d->good = hand_on(d);
}

static void on_signal(int signal)
{
    (void)signal;
    stop = 1;
}

static void catch_signals(void)
{
    const int caught[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

    for (size_t i = 0; i < COUNT(caught); i++)
        sigaction(caught[i], &action, NULL);
}

static int develop(cli *c)
{
    dev d = {.c = c, .device = take_option(c, "--device"), .op = take_option(c, "--op")};

    if (!words_fit(c, 1, 1))
        return CLI_USAGE;
    char *path = samples_path();
    bool ok = samples_read(&d.all, path, NULL) && folder_open(&d.folder, c->words[0]);
    free(path);
    if (ok) {
        catch_signals();
        if (!c->json)
            printf("watching %s; Ctrl-C ends it\n", d.folder.path);
        fflush(stdout);
        do
            round_once(&d);
        while (folder_wait(&d.folder, &stop));
    }
    place_stop(&d.mine);
    place_stop(&d.reference);
    folder_close(&d.folder);
    samples_free(&d.all);
    return !ok ? CLI_USAGE : d.good ? CLI_OK : CLI_ERROR;
}

/* clang-format would set the sentences in columns. */
/* clang-format off */
const verb verbs_dev[] = {
    {"dev", "FOLDER|FILE.so [--device NAME] [--op TEXT]",
     "at each save, build a plugin with make, reload it, compare its operators, and print a line; "
     "with --socket, good code goes to that daemon", develop},
    {NULL, NULL, NULL, NULL},
};
/* clang-format on */
