/* options.c -- the parser of the command line, driven by a table. */
#include "options.h"
#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* kinds of an option's argument; TEXTS: the option can be given several times */
enum { FLAG, TEXT, TEXTS, COUNT, OCTAL, LEVEL };

typedef struct option_row {
    const char *name;
    int kind;
    size_t offset;            /* offset of the option's member in struct options */
    int64_t low, high;        /* least and largest number allowed */
    const char *value, *help; /* for --help: name of the argument; text */
} option_row;

#define AT(member) offsetof(options, member)
static const option_row rows[] = {
    {"socket", TEXT, AT(socket), 0, 0, "PATH", "listen here (default: see docs/operating.md)"},
    {"mode", OCTAL, AT(mode), 0, 0777, "OCTAL", "mode of the socket (default 0600)"},
    {"plugin", TEXTS, 0, 0, 0, "PATH", "load this plugin at the start; repeatable"},
    {"no-plugins", FLAG, AT(no_plugins), 0, 0, NULL, "do not load plugins/ beside the executable"},
    {"plugin-path", TEXT, AT(plugin_path), 0, 0, "DIR:...", "where plugin.load finds a bare name"},
    {"cache-dir", TEXT, AT(cache_dir), 0, 0, "DIR", "make private copies of plugins here"},
    {"max-line", COUNT, AT(max_line), 1024, 1 << 30, "BYTES", "longest line (default 1048576)"},
    {"max-attachment", COUNT, AT(max_attachment), 0, (int64_t)1 << 46, "BYTES",
     "all attachments of one message (default 1073741824)"},
    {"session-bytes", COUNT, AT(session_bytes), 1, (int64_t)1 << 46, "BYTES",
     "tensors of one session, and as much that its calls make (default: half of memory)"},
    {"workers", COUNT, AT(workers), 1, LIMIT_WORKERS, "N",
     "threads that run requests (default 16)"},
    {"threads", COUNT, AT(threads), 0, 1024, "N",
     "threads of one parallel kernel (default: cores)"},
    {"log", TEXT, AT(log), 0, 0, "FILE", "append the log here (default: standard error)"},
    {"log-level", LEVEL, AT(log_level), 0, 0, "LEVEL", "error, warn, info (default) or debug"},
    {"describe", TEXT, AT(describe), 0, 0, "FILE", "say what a plugin's file holds and leave"},
    {"probe", TEXT, AT(probe), 0, 0, "FILE", "load a plugin's file, unload it and leave"},
    {"version", FLAG, AT(version), 0, 0, NULL, "say the version and leave"},
    {"help", FLAG, AT(help), 0, 0, NULL, "say this and leave"},
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static const char *const levels[] = {"error", "warn", "info", "debug"};

static int set_number(options *o, const option_row *r, const char *text, dp_error *err)
{
    char *end;

    errno = 0;
    long long n = strtoll(text, &end, r->kind == OCTAL ? 8 : 10);
    if (errno != 0 || end == text || *end != '\0' || n < r->low || n > r->high)
        return dp_error_set(err, DP_EVALUE,
                            r->kind == OCTAL
                                ? "--%s: expected an octal number from %llo to %llo, got '%s'"
                                : "--%s: expected a number from %lld to %lld, got '%s'",
                            r->name, (long long)r->low, (long long)r->high, text);
    *(int64_t *)((char *)o + r->offset) = n;
    return 0;
}

static int set_level(options *o, const option_row *r, const char *text, dp_error *err)
{
    for (int i = 0; i <= LOG_DEBUG; i++)
        if (strcmp(text, levels[i]) == 0) {
            *(int *)((char *)o + r->offset) = i;
            return 0;
        }
    return dp_error_set(err, DP_EVALUE, "--%s: expected error, warn, info or debug, got '%s'",
                        r->name, text);
}

static int add_plugin(options *o, const char *path, dp_error *err)
{
    const char **plugins = dp_realloc_n(o->plugins, o->n_plugins + 1, sizeof(*plugins));

    if (plugins == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: options");
    plugins[o->n_plugins++] = path;
    o->plugins = plugins;
    return 0;
}

static int set(options *o, const option_row *r, const char *text, dp_error *err)
{
    switch (r->kind) {
    case FLAG:
        *(bool *)((char *)o + r->offset) = true;
        return 0;
    case TEXT:
        *(const char **)((char *)o + r->offset) = text;
        return 0;
    case TEXTS:
        return add_plugin(o, text, err);
    case LEVEL:
        return set_level(o, r, text, err);
    default:
        return set_number(o, r, text, err);
    }
}

int options_parse(options *o, int argc, char **argv, dp_error *err)
{
    struct option known[ROWS + 1] = {0};
    int found, row, rc = 0;

    *o = (options){.mode = 0600,
                   .max_line = LIMIT_LINE_BYTES,
                   .max_attachment = LIMIT_ATTACHMENT_BYTES,
                   .workers = 16,
                   .threads = sysconf(_SC_NPROCESSORS_ONLN),
                   .log_level = LOG_INFO};
    for (int i = 0; i < ROWS; i++)
        known[i] = (struct option){rows[i].name,
                                   rows[i].kind == FLAG ? no_argument : required_argument, NULL, 0};
    opterr = 0;
    optind = 1;
    while (rc == 0 && (found = getopt_long(argc, argv, ":", known, &row)) != -1) {
        if (found == 0)
            rc = set(o, &rows[row], optarg, err);
        else
            rc = dp_error_set(err, DP_EVALUE,
                              found == ':' ? "%s needs a value" : "unknown option %s",
                              argv[optind - 1]);
    }
    if (rc == 0 && optind < argc)
        rc = dp_error_set(err, DP_EVALUE, "unexpected argument '%s'", argv[optind]);
    return rc;
}

void options_fini(options *o)
{
    dp_free(o->plugins);
    o->plugins = NULL;
    o->n_plugins = 0;
}

void options_help(void)
{
    puts("usage: dispatchd [OPTION]...\nThe PyTorch dispatcher as a service.\n");
    for (int i = 0; i < ROWS; i++) {
        char left[40];
        snprintf(left, sizeof(left), "--%s%s%s", rows[i].name, rows[i].value ? " " : "",
                 rows[i].value ? rows[i].value : "");
        printf("  %-24s %s\n", left, rows[i].help);
    }
}
