/* plugins.h -- the plugins of a registry, between plugin.c, unload.c and list.c. */
#ifndef DPI_PLUGINS_H
#define DPI_PLUGINS_H

#include "dispatch/registry/truth.h"
#include "plugin_i.h"

#pragma GCC visibility push(hidden)

enum { LIVE, DRAINING, KEPT }; /* dpi_plugin.state; plugin.c says how they follow each other */

typedef struct dpi_plugin {
    struct dpi_plugin *next; /* by load number; generations of one place oldest first */
    int state;
    dpi_image *image;    /* owned */
    dp_unit *unit;       /* owned; NULL once its backends have ended */
    dpi_generation *gen; /* counted; NULL until attached */
    uint32_t defs, impls, fallbacks, backends;
    bool said_goodbye; /* DRAINING: its on_unload ran, only threads are left */
    char kept[256];    /* KEPT: why it is still mapped; DRAINING: who runs it */
} dpi_plugin;

/* -- list.c -- */

const char *dpi_plugin_name(const dpi_plugin *p);
uint32_t dpi_plugin_registrations(const dpi_plugin *p);
double dpi_millis_since(uint64_t start);
void dpi_plugins_add(dp_registry *reg, dpi_plugin *p);
void dpi_plugins_remove(dp_registry *reg, dpi_plugin *p);
void dpi_plugin_set_state(dp_registry *reg, dpi_plugin *p, int state, const char *kept);
dpi_plugin *dpi_plugins_live(dp_registry *reg, const char *name); /* NULL: none is LIVE */
/* Count the plugins in this state; `name` NULL: of any name. */
size_t dpi_plugins_count(const dp_registry *reg, int state, const char *name);
/* DP_ENOTFOUND, with the nearest names. */
int dpi_plugins_not_loaded(dp_registry *reg, const char *name, dp_error *err);

/* -- unload.c -- */

/* Run the plugin's on_load or on_unload; 0 when it has none. */
int dpi_plugin_hook(dp_registry *reg, dpi_image *im, int kind, dp_error *err);
/* Unmap and forget p, which is in no list and has no unit.  True: the mapping is gone.  Else it is
 * listed as KEPT, *why (256 bytes) says why. */
bool dpi_plugin_retire(dp_registry *reg, dpi_plugin *p, char *why);
/* End a detached plugin that nobody runs and that has no say any more.  False: it is KEPT, or
 * DRAINING while a thread of it runs; *why (256 bytes) says why. */
bool dpi_plugin_finish(dp_registry *reg, dpi_plugin *p, int timeout_ms, char *why);
/* Under plugin_lock.  close: old generations may no longer be entered from older snapshots. */
size_t dpi_plugins_reap(dp_registry *reg, bool close);
bool dpi_plugins_free(dp_registry *reg); /* registry.h: plugins_free */

#pragma GCC visibility pop

#endif
