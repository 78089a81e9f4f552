/* plugin_i.h -- declarations about a plugin's file that the files of this folder share. */
#ifndef DPI_PLUGIN_I_H
#define DPI_PLUGIN_I_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

enum { DPI_PIN_MAX = 4 };

/* Hazards of unloading that the file's dynamic section shows.  Strings live in the manifest's arena
 * or are static. */
typedef struct dpi_hazards {
    bool static_tls;              /* the file must not be loaded: static TLS is never freed */
    bool constructors;            /* the file's own code runs in dlopen */
    const char *resident;         /* why dlclose would be unsafe; NULL: it is safe */
    const char *may_stay;         /* why dlclose may leave it mapped; NULL: no reason found */
    const char *pin[DPI_PIN_MAX]; /* libraries that must stay mapped; the plugin need not */
    uint32_t n_pins;
} dpi_hazards;

/* Read the whole file at `path` into memory of dp_malloc(), *bytes (owned).  DP_EPLUGIN: it is no
 * regular file; DP_ERESOURCE: over DP_LIMIT_PLUGIN_FILE bytes; DP_EBUSY: it changed meanwhile. */
int dpi_file_read(const char *path, void **bytes, size_t *n, dp_error *err);
/* Parse the manifest of a file's `n` bytes, as dp_manifest_read() does for a path.  `hazards` may
 * be NULL.  `path` is used in messages only. */
int dpi_manifest_parse(const void *bytes, size_t n, const char *path, dp_arena *a, dp_manifest *out,
                       dpi_hazards *hazards, dp_error *err);
/* Build the canonical text of mapped records, which must equal that of the notes.  *text is in the
 * arena. */
int dpi_manifest_text(const dp_root *root, const dp_block *const *blocks, size_t n, dp_arena *a,
                      const char **text, dp_error *err);
/* DP_EABI: this host cannot run the plugin; the message has both versions and says what to do. */
int dpi_manifest_check_abi(const dp_manifest *m, const char *path, dp_error *err);

/* One plugin file.  Its bytes were read once: the manifest was parsed from them, and they were
 * written to the private copy that is mapped. */
typedef struct dpi_image {
    dp_arena *arena; /* owned; has the manifest and the records */
    dp_manifest manifest;
    dpi_hazards hazards;
    const char *path; /* where the file was found; in the arena */
    /* Path of the mapped file, and the directory made for this private copy; both owned.  `dir`
     * NULL: the file itself is mapped instead of a copy. */
    char *copy, *dir;
    void *handle;   /* from dlopen(); NULL after dlclose() */
    uintptr_t base; /* load address */
    size_t bytes;   /* size of the mapping */
    bool mapped;    /* false before dlopen(), and after the mapping was found to be gone */
    bool code_ran;  /* the plugin's own code may have run: then a resident plugin must stay */
    char never_close[256]; /* reason besides residence why dlclose() must never be called; "" */
    /* Oldest first (notes.c); this and next_noting are protected by the registry's lock. */
    struct dpi_note *notes;
    struct dpi_image *next_noting; /* next in dp_registry.note_images */
    const dp_block **blocks;       /* [n_blocks] copies, each as big as the host's struct */
    size_t n_blocks;
} dpi_image;

/* Read and check the file at `path`, and copy it into `cache_dir`.  `copy` false: make no copy; the
 * file itself will be mapped.  No code of the file runs. */
int dpi_image_open(const char *path, bool copy, const char *cache_dir, dpi_image **out,
                   dp_error *err);
/* Map the file, check its records against its note and give it the host's table of functions.  The
 * file's constructors run. */
int dpi_image_map(dpi_image *im, dp_error *err);
/* Check the records of a mapped file, copy them into `blocks` and give the plugin the host's table
 * of functions. */
int dpi_records_check(dpi_image *im, dp_error *err);
bool dpi_image_listed(const dpi_image *im); /* is the file in the dynamic linker's list? */
/* Return the first block of this kind; NULL: there is none. */
const dp_block *dpi_image_block(const dpi_image *im, int kind);
/* Must the image stay mapped for ever?  If so, write the reason to `buf`. */
bool dpi_image_resident(const dpi_image *im, char *buf, size_t bytes);
/* Call dlclose(), unless the image must stay mapped.  True: the dynamic linker's list shows that
 * the mapping is gone, and the copy was deleted.  False: `why` says why it is still mapped. */
bool dpi_image_unmap(dpi_image *im, char *why, size_t bytes);
/* Is the mapping gone, perhaps some time after dlclose()?  If so, the copy is deleted. */
bool dpi_image_gone(dpi_image *im);
/* Accept notes of the plugin (dp_note()) from now on. */
void dpi_notes_open(dp_registry *reg, dpi_image *im);
/* Accept no more notes of the plugin, and free its notes.  `im` need not be open for notes. */
void dpi_notes_close(dp_registry *reg, dpi_image *im);
/* Copy the plugin's notes to the arena; *out has *n elements.  DP_ERESOURCE: no memory; no message
 * is set.  The caller holds the registry's lock. */
int dpi_notes_copy(const dpi_image *im, dp_arena *a, const dp_note_info **out, size_t *n);

/* Delete the copy and free `im`; a mapping that still exists is not unmapped.  NULL is allowed. */
dpi_image *dpi_image_free(dpi_image *im);

/* Count the replaced generations that are DRAINING.  The caller holds the registry's lock. */
uint32_t dpi_plugins_draining(const dp_registry *reg);
/* The table of functions that plugins call (host.c). */
const dp_host *dpi_host_table(void);

#pragma GCC visibility pop

#endif
