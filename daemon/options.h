/* options.h -- the command line. */
#ifndef DAEMON_OPTIONS_H
#define DAEMON_OPTIONS_H

#include "daemon.h"

typedef struct options {
    const char *socket; /* NULL: see endpoint_path() */
    const char *plugin_path, *cache_dir, *log, *describe, *probe;
    const char **plugins; /* [n_plugins] --plugin */
    size_t n_plugins;
    int64_t mode, max_line, max_attachment, session_bytes, workers, threads;
    int log_level;
    bool no_plugins, help, version;
} options;
/* DP_EVALUE names what is wrong. */
int options_parse(options *o, int argc, char **argv, dp_error *err);
void options_fini(options *o);
void options_help(void);

#endif
