/* plugin_i.h -- what elf.c, hazards.c, manifest.c, image.c and plugin.c share about a plugin's
 * file. */
#ifndef DPI_PLUGIN_I_H
#define DPI_PLUGIN_I_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

enum { DPI_PIN_MAX = 4 };

/* What the file's dynamic section says about unloading, so that no library goes while
 * somebody still holds its code.  Strings live in the arena of the manifest, or for ever. */
typedef struct dpi_hazards {
    bool static_tls;              /* fatal at load: such memory is never given back */
    bool constructors;            /* code of its own runs in dlopen */
    const char *resident;         /* why dlclose would be unsafe; NULL: it is not */
    const char *sticks;           /* why dlclose may leave it mapped; NULL: it will not */
    const char *pin[DPI_PIN_MAX]; /* libraries to keep mapped, so that the plugin need not be */
    uint32_t n_pins;
} dpi_hazards;

/* The whole file, once, in dp_malloc memory.  path is opened as a regular file of at most
 * DP_LIMIT_PLUGIN_FILE bytes.  DP_EBUSY: it changed meanwhile.  *bytes owned. */
int dpi_file_read(const char *path, void **bytes, size_t *n, dp_error *err);
/* dp_manifest_read on bytes in memory; hazards may be NULL.  path is for messages only. */
int dpi_manifest_parse(const void *bytes, size_t n, const char *path, dp_arena *a, dp_manifest *out,
                       dpi_hazards *hazards, dp_error *err);
/* The canonical text that these records should have in their notes.  *text in the arena. */
int dpi_manifest_text(const dp_root *root, const dp_block *const *blocks, size_t n, dp_arena *a,
                      const char **text, dp_error *err);
/* DP_EABI when this host cannot run it: both versions and what to do. */
int dpi_manifest_check_abi(const dp_manifest *m, const char *path, dp_error *err);

/* One mapped plugin file.  The bytes were read once; the manifest was parsed from them and they
 * were mapped from a private copy that nobody else writes. */
typedef struct dpi_image {
    dp_arena *arena; /* manifest, records */
    dp_manifest manifest;
    dpi_hazards hazards;
    const char *path; /* where the file was found; in the arena */
    char *copy, *dir; /* what is mapped, and its own directory; dp_malloc.  dir NULL: no copy */
    void *handle;     /* dlopen's; NULL once closed */
    uintptr_t base;   /* load address */
    size_t bytes;     /* of the mapping */
    bool mapped;      /* false before dlopen, and after an unmapping that was proved */
    bool ran;         /* code of the plugin's own may have run: a resident one must stay */
    char stay[256];   /* why it must never be dlclosed, beside being resident; "" */
    struct dpi_note *notes; /* oldest first; notes.c's, under the registry's lock, as is the next */
    struct dpi_image *noting; /* the next of the registry's plugins that may make notes */
    const dp_block **blocks;  /* [n_blocks] the host's copies, as big as the host's struct */
    size_t n_blocks;
} dpi_image;

/* Read, check and copy path.  Nothing of the file has run yet.  Without `copy` the file itself will
 * be mapped. */
int dpi_image_open(const char *path, bool copy, const char *cache_dir, dpi_image **out,
                   dp_error *err);
/* Map it, check its records against its note and give it the host's table.  Its constructors run.
 */
int dpi_image_map(dpi_image *im, dp_error *err);
/* Check the records of a mapped file, copy them into `blocks` and give the plugin the host's
 * table. */
int dpi_records_check(dpi_image *im, dp_error *err);
bool dpi_image_listed(const dpi_image *im); /* is its mapping in the dynamic linker's list? */
/* The first block of this kind; NULL: none. */
const dp_block *dpi_image_block(const dpi_image *im, int kind);
/* Why it must never be dlclosed, into buf; false: it may be. */
bool dpi_image_resident(const dpi_image *im, char *buf, size_t bytes);
/* dlclose, unless resident; *why says what keeps it when it is still mapped, else is "".  True: the
 * mapping is gone, as the dynamic linker's own list shows, and so is the copy. */
bool dpi_image_unmap(dpi_image *im, char *why, size_t bytes);
/* Is a mapping that stayed after dlclose gone by now?  If so the copy goes too. */
bool dpi_image_gone(dpi_image *im);
/* Take notes of the plugin (dp_note) from now on. */
void dpi_notes_open(dp_registry *reg, dpi_image *im);
/* ... no more, and free those that there are.  im need not be open. */
void dpi_notes_close(dp_registry *reg, dpi_image *im);
/* *out: [*n] in the arena.  DP_ERESOURCE without a message.  Under the registry's lock. */
int dpi_notes_copy(const dpi_image *im, dp_arena *a, const dp_note_info **out, size_t *n);

/* Removes the copy and frees; the mapping, if there still is one, stays.  NULL is fine. */
dpi_image *dpi_image_free(dpi_image *im);

/* Old generations that still run; under the registry's lock. */
uint32_t dpi_plugins_draining(const dp_registry *reg);
/* The host's table for plugins (host.c). */
const dp_host *dpi_host_table(void);

#pragma GCC visibility pop

#endif
