/* options.h -- the parsed command line. */
#ifndef DAEMON_OPTIONS_H
#define DAEMON_OPTIONS_H

#include "daemon.h"

typedef struct options {
    const char *socket; /* NULL: endpoint_path() chooses the path */
    const char *plugin_path, *cache_dir, *log, *describe, *probe; /* NULL: not given */
    const char **plugins; /* paths given by --plugin, [n_plugins] */
    size_t n_plugins;
    /* session_bytes 0: half of the machine's memory */
    int64_t mode, max_line, max_attachment, session_bytes, workers, threads;
    int log_level;
    bool no_plugins, help, version;
} options;
/* Parse the command line into `*o`.  DP_EVALUE: the message names the wrong option.  DP_ERESOURCE:
 * out of memory.  Even after a failure options_fini() must be called. */
int options_parse(options *o, int argc, char **argv, dp_error *err);
void options_fini(options *o);
void options_help(void);

#endif
