/* options.c -- the parser of the command line and of the config file's keys, driven by a table.
 *
 * Both take every option by its name; the config file also takes every limit (LIMIT_MAP). */
#include "options.h"
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Kinds of an option's argument.  TEXTS and IDS: the option can be given several times.  LIMITED:
 * the option is another name of a limit. */
enum { FLAG, TEXT, TEXTS, IDS, COUNT, OCTAL, BYTES, LIMITED, LEVEL, FORMAT };
/* When an option of the config file takes effect: when the file is read again, too; only at the
 * start; or it may stand on the command line only. */
enum { ANY_TIME, AT_START, LINE_ONLY };

typedef struct option_row {
    const char *name;
    int kind, when;
    size_t offset;     /* offset of the option's member in struct options; LIMITED: LIMIT_AT_NAME */
    int64_t low, high; /* least and largest number allowed */
    const char *value, *help; /* for --help: name of the argument; text */
} option_row;

#define AT(member) offsetof(options, member)
static const option_row rows[] = {
    {"config", TEXT, LINE_ONLY, AT(config), 0, 0, "FILE", "read options and limits from this file"},
    {"socket", TEXT, AT_START, AT(socket), 0, 0, "PATH",
     "listen here (default: see docs/operating.md)"},
    {"mode", OCTAL, AT_START, AT(mode), 0, 0777, "OCTAL", "mode of the socket (default 0600)"},
    {"serve-fd", COUNT, LINE_ONLY, AT(serve_fd), 0, INT_MAX, "N",
     "serve the connected socket N that was inherited; listen nowhere"},
    {"allow-uid", IDS, ANY_TIME, AT(allow_uids), 0, UINT_MAX - 1, "UID",
     "this user may connect, too; repeatable"},
    {"allow-gid", IDS, ANY_TIME, AT(allow_gids), 0, UINT_MAX - 1, "GID",
     "members of this group may connect, too; repeatable"},
    {"plugin", TEXTS, AT_START, AT(plugins), 0, 0, "PATH",
     "load this plugin at the start; repeatable"},
    {"no-plugins", FLAG, AT_START, AT(no_plugins), 0, 0, NULL,
     "do not load plugins/ beside the executable"},
    {"plugin-path", TEXT, AT_START, AT(plugin_path), 0, 0, "DIR:...",
     "where plugin.load finds a bare name"},
    {"cache-dir", TEXT, AT_START, AT(cache_dir), 0, 0, "DIR",
     "make private copies of plugins here"},
    {"data-path", TEXT, AT_START, AT(data_path), 0, 0, "DIR",
     "store.save and store.load use files here"},
    {"max-line", LIMITED, ANY_TIME, LIMIT_AT_LINE_BYTES, 0, 0, "BYTES",
     "longest line (default 1048576)"},
    {"max-attachment", LIMITED, ANY_TIME, LIMIT_AT_ATTACHMENT_BYTES, 0, 0, "BYTES",
     "all attachments of one message (default 1073741824)"},
    {"session-bytes", BYTES, ANY_TIME, AT(session_bytes), 1, (int64_t)1 << 46, "BYTES",
     "tensors of one session, and as much that its calls make (default: half of memory)"},
    {"workers", COUNT, AT_START, AT(workers), 1, LIMIT_WORKERS, "N",
     "threads that run requests (default 16)"},
    {"threads", COUNT, AT_START, AT(threads), 0, 1024, "N",
     "threads of one parallel kernel (default: cores)"},
    {"spin-us", COUNT, AT_START, AT(spin_us), 0, 1000, "MICROS",
     "poll so long for a client's next request before sleeping (default 50)"},
    {"log", TEXT, ANY_TIME, AT(log), 0, 0, "FILE", "append the log here (default: standard error)"},
    {"log-level", LEVEL, ANY_TIME, AT(log_level), 0, 0, "LEVEL",
     "error, warn, info (default) or debug"},
    {"log-format", FORMAT, ANY_TIME, AT(log_format), 0, 0, "FORMAT", "text (default) or json"},
    {"check-config", FLAG, LINE_ONLY, AT(check_config), 0, 0, NULL,
     "say which lines of --config are wrong and leave"},
    {"describe", TEXT, LINE_ONLY, AT(describe), 0, 0, "FILE",
     "say what a plugin's file holds and leave"},
    {"probe", TEXT, LINE_ONLY, AT(probe), 0, 0, "FILE",
     "load a plugin's file, unload it and leave"},
    {"version", FLAG, LINE_ONLY, AT(version), 0, 0, NULL, "say the version and leave"},
    {"help", FLAG, LINE_ONLY, AT(help), 0, 0, NULL, "say this and leave"},
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]), KEYS = ROWS + LIMITS, WHERE_BYTES = 640 };

static const char *const levels[] = {"error", "warn", "info", "debug"};
static const char *const formats[] = {"text", "json"};

/* Values of parse.set_by: where a key was set last.  Keys are the options, in the order of `rows`,
 * then the limits. */
enum { NOBODY, FILE_LINE, COMMAND_LINE };
typedef struct parse {
    options *o;
    char set_by[KEYS];
} parse;

/* The key of a row: a LIMITED option has the key of its limit. */
static size_t key_of(size_t row)
{
    return rows[row].kind == LIMITED ? ROWS + rows[row].offset : row;
}

static void *member(const options *o, const option_row *r)
{
    return (char *)o + r->offset;
}

static int set_choice(int *out, const char *text, const char *const *names, int n,
                      const char *where, dp_error *err)
{
    char wanted[128] = "";

    for (int i = 0; i < n; i++) {
        if (strcmp(text, names[i]) == 0) {
            *out = i;
            return 0;
        }
        snprintf(wanted + strlen(wanted), sizeof(wanted) - strlen(wanted), "%s%s",
                 i == 0       ? ""
                 : i == n - 1 ? " or "
                              : ", ",
                 names[i]);
    }
    return dp_error_set(err, DP_EVALUE, "%s: expected %s, got '%s'", where, wanted, text);
}

static int set_flag(bool *out, const char *text, const char *where, dp_error *err)
{
    static const char *const names[] = {"false", "true"};
    int chosen = 1;

    /* `text` is NULL on the command line: the option alone says true */
    if (text != NULL && set_choice(&chosen, text, names, 2, where, err) < 0)
        return err->code;
    *out = chosen == 1;
    return 0;
}

static int add_text(text_list *l, const char *text, dp_error *err)
{
    const char **items = dp_realloc_n(l->items, l->n + 1, sizeof(*items));

    if (items == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: options");
    items[l->n++] = text;
    l->items = items;
    return 0;
}

static int add_id(id_list *l, int64_t id, dp_error *err)
{
    int64_t *items = dp_realloc_n(l->items, l->n + 1, sizeof(*items));

    if (items == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: options");
    items[l->n++] = id;
    l->items = items;
    return 0;
}

static int refuse_fixed(int64_t value, const char *text, const char *where, dp_error *err)
{
    return dp_error_set(err, DP_EVALUE,
                        "%s: this limit is fixed at %lld, expected a limit that can be set, got "
                        "'%s'",
                        where, (long long)value, text);
}

static int set_limit(options *o, size_t at, const char *text, const char *where, dp_error *err)
{
    limit_range range = limits_range(at);

    if (range.high == 0)
        return refuse_fixed(limit_defaults[at], text, where, err);
    return quantity_read(text, quantity_unit(limit_names[at]), range.low, range.high, where,
                         &o->limits[at], err);
}

static int set(options *o, const option_row *r, const char *text, const char *where, dp_error *err)
{
    int64_t id;

    switch (r->kind) {
    case FLAG:
        return set_flag(member(o, r), text, where, err);
    case TEXT:
        *(const char **)member(o, r) = text;
        return 0;
    case TEXTS:
        return add_text(member(o, r), text, err);
    case IDS:
        return quantity_read(text, UNIT_NONE, r->low, r->high, where, &id, err) < 0
                   ? err->code
                   : add_id(member(o, r), id, err);
    case LIMITED:
        return set_limit(o, r->offset, text, where, err);
    case LEVEL:
        return set_choice(member(o, r), text, levels, LOG_DEBUG + 1, where, err);
    case FORMAT:
        return set_choice(member(o, r), text, formats, LOG_JSON + 1, where, err);
    default:
        return quantity_read(text,
                             r->kind == OCTAL   ? UNIT_OCTAL
                             : r->kind == BYTES ? UNIT_BYTES
                                                : UNIT_NONE,
                             r->low, r->high, where, member(o, r), err);
    }
}

/* -- the config file -- */

static size_t find_key(const char *name)
{
    size_t i = 0;

    while (i < ROWS && strcmp(rows[i].name, name) != 0)
        i++;
    while (i >= ROWS && i < KEYS && strcmp(limit_names[i - ROWS], name) != 0)
        i++;
    return i;
}

/* Return the error about a key that no option and no limit of the daemon has. */
static int refuse_key(const char *name, const char *value, const char *where, dp_error *err)
{
    for (size_t i = 0; i < LIBRARY_LIMITS; i++)
        if (strcmp(library_limits[i].name, name) == 0)
            return refuse_fixed(library_limits[i].value, value, where, err);
    return dp_error_set(err, DP_EVALUE,
                        "%s: unknown key, expected an option of dispatchd --help or a limit of "
                        "server.hello, got value '%s'",
                        where, value);
}

static int set_key(options *o, size_t i, const char *text, const char *where, dp_error *err)
{
    return i < ROWS ? set(o, &rows[i], text, where, err) : set_limit(o, i - ROWS, text, where, err);
}

static int set_from_file(void *arg, const char *where, const char *name, const char *value,
                         dp_error *err)
{
    parse *p = arg;
    size_t i = find_key(name), key = i < ROWS ? key_of(i) : i;
    bool repeatable = i < ROWS && (rows[i].kind == TEXTS || rows[i].kind == IDS);
    char at[WHERE_BYTES];

    snprintf(at, sizeof(at), "%s: %s", where, name);
    if (i == KEYS)
        return refuse_key(name, value, at, err);
    if (i < ROWS && rows[i].when == LINE_ONLY)
        return dp_error_set(err, DP_EVALUE,
                            "%s: only the command line may have this option, got value '%s'", at,
                            value);
    if (p->set_by[key] == FILE_LINE && !repeatable)
        return dp_error_set(err, DP_EVALUE,
                            "%s: an earlier line has set this key, expected it once, got value "
                            "'%s' again",
                            at, value);
    if (p->set_by[key] == COMMAND_LINE) {
        /* the value is checked, but the one of the command line stays */
        options unused = {0};
        int rc = set_key(&unused, i, value, at, err);
        options_fini(&unused);
        return rc;
    }
    p->set_by[key] = FILE_LINE;
    return set_key(p->o, i, value, at, err);
}

/* -- the command line -- */

static int set_from_line(parse *p, int row, const char *text, dp_error *err)
{
    char where[WHERE_BYTES];

    snprintf(where, sizeof(where), "--%s", rows[row].name);
    p->set_by[key_of((size_t)row)] = COMMAND_LINE;
    return set(p->o, &rows[row], text, where, err);
}

int options_parse(options *o, int argc, char **argv, dp_error *err)
{
    struct option known[ROWS + 1] = {0};
    parse p = {.o = o};
    int found, row, rc = 0;

    *o = (options){.mode = 0600,
                   .workers = 16,
                   .spin_us = 50,
                   .threads = sysconf(_SC_NPROCESSORS_ONLN),
                   .serve_fd = -1,
                   .log_level = LOG_INFO};
    for (int i = 0; i < LIMITS; i++)
        o->limits[i] = -1;
    for (int i = 0; i < ROWS; i++)
        known[i] = (struct option){rows[i].name,
                                   rows[i].kind == FLAG ? no_argument : required_argument, NULL, 0};
    opterr = 0;
    optind = 0; /* glibc: also forget the state of an earlier parse */
    while (rc == 0 && (found = getopt_long(argc, argv, ":", known, &row)) != -1) {
        if (found == 0)
            rc = set_from_line(&p, row, optarg, err);
        else
            rc = dp_error_set(err, DP_EVALUE,
                              found == ':' ? "%s needs a value" : "unknown option %s",
                              argv[optind - 1]);
    }
    if (rc == 0 && optind < argc)
        rc = dp_error_set(err, DP_EVALUE, "unexpected argument '%s'", argv[optind]);
    if (rc == 0 && o->config != NULL)
        rc = config_read(o->config, &o->text, set_from_file, &p, &o->wrong, err);
    else if (rc == 0 && o->check_config)
        rc = dp_error_set(err, DP_EVALUE, "--check-config checks the file of --config, got none");
    return rc;
}

void options_fini(options *o)
{
    dp_free(o->plugins.items);
    dp_free(o->allow_uids.items);
    dp_free(o->allow_gids.items);
    dp_free(o->text);
    for (size_t i = 0; i < WRONG_LINES; i++)
        dp_free(o->wrong.messages[i]);
    *o = (options){0};
}

/* -- comparing -- */

static bool same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool same_texts(const text_list *a, const text_list *b)
{
    bool same = a->n == b->n;

    for (size_t i = 0; same && i < a->n; i++)
        same = same_text(a->items[i], b->items[i]);
    return same;
}

/* Has the option of a row that takes effect only at the start the same value in both? */
static bool same_value(const option_row *r, const options *a, const options *b)
{
    switch (r->kind) {
    case FLAG:
        return *(bool *)member(a, r) == *(bool *)member(b, r);
    case TEXT:
        return same_text(*(const char **)member(a, r), *(const char **)member(b, r));
    case TEXTS:
        return same_texts(member(a, r), member(b, r));
    default:
        return *(int64_t *)member(a, r) == *(int64_t *)member(b, r);
    }
}

void options_need_restart(const options *was, const options *now, void (*report)(const char *name))
{
    for (int i = 0; i < ROWS; i++)
        if (rows[i].when == AT_START && !same_value(&rows[i], was, now))
            report(rows[i].name);
}

void options_report(const options *o, const dp_error *err, void (*report)(const char *message))
{
    const wrong_lines *w = &o->wrong;
    char more[WHERE_BYTES];

    if (w->n == 0 || err->code != DP_EVALUE) {
        report(err->message);
        return;
    }
    for (size_t i = 0; i < w->n && i < WRONG_LINES; i++)
        report(w->messages[i]);
    if (w->n > WRONG_LINES) {
        snprintf(more, sizeof(more), "%s: %zu more lines are wrong", o->config, w->n - WRONG_LINES);
        report(more);
    }
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
