/* options.h -- the options in force: those of the command line, and below them those of the config
 * file. */
#ifndef DAEMON_OPTIONS_H
#define DAEMON_OPTIONS_H

#include "daemon.h"

typedef struct text_list {
    const char **items; /* [n]; the array is owned, the texts are not */
    size_t n;
} text_list;

typedef struct id_list { /* numbers of users or groups */
    int64_t *items;      /* owned; [n] */
    size_t n;
} id_list;

enum { WRONG_LINES = 16 }; /* most wrong lines of a config file that are reported one by one */

typedef struct wrong_lines {
    char *messages[WRONG_LINES]; /* owned; those of the first lines, in order */
    size_t n;                    /* number of wrong lines, which may be more than WRONG_LINES */
} wrong_lines;

typedef struct options {
    const char *socket; /* NULL: endpoint_path() chooses the path */
    /* NULL: not given */
    const char *plugin_path, *cache_dir, *data_path, *log, *describe, *probe, *config;
    text_list plugins;              /* paths given by --plugin */
    id_list allow_uids, allow_gids; /* who may connect, besides the daemon's own uid */
    int64_t mode, workers, threads, spin_us;
    int64_t session_bytes;  /* 0: half of the machine's memory */
    int64_t serve_fd;       /* -1: not given */
    int64_t limits[LIMITS]; /* values given for limits; -1: not given */
    int log_level, log_format;
    bool no_plugins, help, version, check_config;
    wrong_lines wrong; /* of the config file */
    char *text;        /* owned: the config file's text, into which members point; NULL: none */
} options;
/* Read the command line and the config file that it names into `*o`.  The command line wins.
 * DP_EVALUE: the message names the wrong option, or the file, the line and the key of the first
 * wrong line; `o->wrong` has all wrong lines.  DP_ERUNTIME: the file cannot be read.
 * DP_ERESOURCE: out of memory.  Even after a failure options_fini() must be called.  One thread at
 * a time may call this function. */
int options_parse(options *o, int argc, char **argv, dp_error *err);
void options_fini(options *o);
void options_help(void);
/* Call `report` with each message of options_parse(), which failed with the error `err`: those of
 * the first WRONG_LINES wrong lines and how many more there are, or that of `err`. */
void options_report(const options *o, const dp_error *err, void (*report)(const char *message));
/* Call `report` with the name of each option that has other values in `now` than in `was`, and that
 * takes effect only when the daemon starts. */
void options_need_restart(const options *was, const options *now, void (*report)(const char *name));

/* -- config.c -- */

/* Call `set` for each line `key = value` of the config file `path`, in order.  `*text` gets the
 * content of the file (owned by the caller, also after a failure), into which key and value point.
 * `where` is "PATH:LINE".  A line that has another form, or for which `set` returns DP_EVALUE, is
 * added to `*wrong`, whose messages are the caller's, and the next line is read.  DP_ERUNTIME: the
 * file cannot be read.  DP_EVALUE: the file or a line is wrong; the message is that of the first
 * line.  Otherwise returns 0, or the first other result of `set` that is not 0. */
int config_read(const char *path, char **text,
                int (*set)(void *arg, const char *where, const char *key, const char *value,
                           dp_error *err),
                void *arg, wrong_lines *wrong, dp_error *err);

/* -- quantity.c: numbers with units -- */

enum { UNIT_NONE, UNIT_OCTAL, UNIT_BYTES, UNIT_TIME };
/* The unit of a limit, by its name: bytes for NAME_bytes, time for NAME_ms. */
int quantity_unit(const char *limit);
/* Read `text`, such as 16, 64 MiB or 5 s (in milliseconds), into `*out`.  DP_EVALUE: the message
 * begins with `where`, and has the text, and the range and the units wanted. */
int quantity_read(const char *text, int unit, int64_t low, int64_t high, const char *where,
                  int64_t *out, dp_error *err);

/* -- limits.c -- */

/* The values that a config file may give a limit; `high` 0: the limit is fixed, because the
 * protocol or sizes of arrays depend on it. */
typedef struct limit_range {
    int64_t low, high;
} limit_range;
limit_range limits_range(size_t at); /* `at`: LIMIT_AT_NAME */
/* Compute all limits from the options and from the system's own limits.  DP_ERESOURCE: the system's
 * limit of file descriptors does not allow two connections. */
int limits_compute(const options *o, int64_t out[LIMITS], dp_error *err);
void limits_apply(const int64_t values[LIMITS]); /* Put these limits in force. */

#endif
