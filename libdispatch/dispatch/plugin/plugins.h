/* plugins.h -- the plugins of a registry: declarations shared by plugin.c, unload.c and list.c. */
#ifndef DPI_PLUGINS_H
#define DPI_PLUGINS_H

#include "dispatch/registry/truth.h"
#include "plugin_i.h"

#pragma GCC visibility push(hidden)

enum { LIVE, CANARY, DRAINING, KEPT }; /* dpi_plugin.state; plugin.c explains transitions */

typedef struct dpi_plugin {
    struct dpi_plugin *next; /* next in the list, sorted by load number, then by gen->number */
    int state;               /* LIVE, CANARY, DRAINING, KEPT */
    dpi_image *image;        /* owned */
    dp_unit *unit;           /* registrations; owned; NULL after dpi_unit_free() */
    dpi_generation *gen;     /* this load of the code; holds a reference; NULL until attached */
    uint32_t defs, impls, fallbacks, backends; /* number of registrations by kind */
    bool on_unload_ran; /* DRAINING: on_unload has run, but a thread of the plugin still runs */
    char reason[256]; /* KEPT: why it is still mapped; DRAINING: the call or thread that uses it */
} dpi_plugin;

/* -- list.c: where a list is read, the caller holds plugin_lock or the registry's lock -- */

const char *dpi_plugin_name(const dpi_plugin *p);
uint32_t dpi_plugin_registrations(const dpi_plugin *p);
double dpi_millis_since(uint64_t start);
void dpi_plugins_add(dp_registry *reg, dpi_plugin *p);
void dpi_plugins_remove(dp_registry *reg, dpi_plugin *p);
void dpi_plugin_set_state(dp_registry *reg, dpi_plugin *p, int state, const char *reason);
dpi_plugin *dpi_plugins_live(dp_registry *reg, const char *name); /* NULL: none is LIVE */
/* Return the plugin named `name` that is in this state; NULL: none is. */
dpi_plugin *dpi_plugins_find(dp_registry *reg, int state, const char *name);
/* Count the plugins named `name` that are in this state; `name` NULL: count all names. */
size_t dpi_plugins_count(const dp_registry *reg, int state, const char *name);
/* Fail with DP_ENOTFOUND and a message that lists the names most similar to `name`. */
int dpi_plugins_not_loaded(dp_registry *reg, const char *name, dp_error *err);

/* -- unload.c -- */

/* Run the plugin's hook `kind`: on_load or on_unload.  Returns 0 if the plugin has no such hook. */
int dpi_plugin_hook(dp_registry *reg, dpi_image *im, int kind, dp_error *err);
/* Join the threads of `p`, unmap its file and free `p`, which is not in the list and has no unit.
 * False: the file is still mapped; `p` is now in the list as KEPT, and `why` (256 bytes) has the
 * reason. */
bool dpi_plugin_retire(dp_registry *reg, dpi_plugin *p, char *why);
/* Unload a detached plugin whose code no call runs.  If on_unload fails, the unload goes on, but
 * the file stays mapped.  Wait at most `timeout_ms` (>= 0) for the plugin's threads, and for
 * threads that end its objects.  False: the plugin is KEPT, or, because such a thread still runs,
 * DRAINING; `why` (256 bytes) has the reason. */
bool dpi_plugin_finish(dp_registry *reg, dpi_plugin *p, int timeout_ms, char *why);
enum { DPI_RELOAD_WAIT_MS = 20 }; /* how long a reload waits for calls of the old code */
/* Wait at most `ms` milliseconds until no thread pins a snapshot that has the replaced plugin
 * `old`, and unload it.  If that takes longer, leave it DRAINING: dpi_plugins_reap() unloads it
 * later.  *r describes the result.  The caller holds plugin_lock. */
void dpi_plugin_drain(dp_registry *reg, dpi_plugin *old, int ms, dp_unload_report *r);
/* End canary `p`, and do with it what dpi_plugin_drain() does. */
void dpi_plugin_roll_back(dp_registry *reg, dpi_plugin *p, int ms, dp_unload_report *r);
/* Unload the DRAINING plugins that no call or thread uses any more, free the KEPT plugins whose
 * mapping has gone after all, and return the number of plugins that are still DRAINING.  `close`:
 * also close the generations of DRAINING plugins, so that calls with older snapshots cannot enter
 * their kernels.  The caller holds plugin_lock. */
size_t dpi_plugins_reap(dp_registry *reg, bool close);
bool dpi_plugins_free(dp_registry *reg); /* for dp_registry.plugins_free */

/* Declare dpi_fill_NAME(), which sets the entry of function NAME in the host's table.
 * dpi_fill_NAME() is for functions of folders that use this one (autograd, program), which this
 * folder cannot name. */
#define DP_FN(ret, name, params, args)
#define DP_FN_ABOVE(ret, name, params, args) void dpi_fill_##name(ret(*fn) params);
#include <dispatchd/api.h>
#undef DP_FN

#pragma GCC visibility pop

#endif
