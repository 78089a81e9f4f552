/* plugin_i.h -- declarations about a plugin's file that the files of this folder share.
 *
 * A block (dp_block of abi.h) is the record that one macro of plugin.h emits, such as
 * DP_LIBRARY_IMPL(); its items (dp_item) are the registrations in that macro. */
#ifndef DPI_PLUGIN_I_H
#define DPI_PLUGIN_I_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

enum { DPI_PIN_MAX = 4 };

/* Reasons why unloading a plugin may fail or be unsafe, found in the dynamic section of its file.
 * Strings live in the manifest's arena or are static. */
typedef struct dpi_hazards {
    bool static_tls;              /* the file must not be loaded: static TLS is never freed */
    bool constructors;            /* the file's own code runs in dlopen */
    const char *resident;         /* why dlclose would be unsafe; NULL: it is safe */
    const char *may_stay;         /* why dlclose may leave the file mapped; NULL: no reason found */
    const char *pin[DPI_PIN_MAX]; /* needed libraries that must stay mapped after an unload */
    uint32_t n_pins;
} dpi_hazards;

/* Read the whole file at `path` into *bytes, which the caller frees with dp_free().  DP_ENOTFOUND,
 * DP_EPERM, DP_ERUNTIME: the file cannot be opened.  DP_EPLUGIN: `path` is not a regular file.
 * DP_ERESOURCE: the file has more than DP_LIMIT_PLUGIN_FILE bytes, or there is no memory.
 * DP_EBUSY: the file changed while it was read. */
int dpi_file_read(const char *path, void **bytes, size_t *n, dp_error *err);
/* Parse the manifest (the plugin's description in the ELF notes) of a file's `n` bytes, as
 * dp_manifest_read() does for a path.  The strings of *out and *hazards are in arena `a`.
 * `hazards` may be NULL.  `path` is used in messages only. */
int dpi_manifest_parse(const void *bytes, size_t n, const char *path, dp_arena *a, dp_manifest *out,
                       dpi_hazards *hazards, dp_error *err);
/* Build the text of a mapped plugin's blocks in the form in which dp_manifest.text has the file's
 * ELF notes: the two texts must be equal.  *text is in the arena. */
int dpi_manifest_text(const dp_root *root, const dp_block *const *blocks, size_t n, dp_arena *a,
                      const char **text, dp_error *err);
/* Check that this host has the interface version that the plugin needs.  DP_EABI: it has not; the
 * message has both versions and says what to do. */
int dpi_manifest_check_abi(const dp_manifest *m, const char *path, dp_error *err);

/* One plugin file.  The bytes of the file were read once: the manifest was parsed from them, and
 * they were written to the private copy that is mapped. */
typedef struct dpi_image {
    dp_arena *arena; /* owned; has the manifest and the records */
    dp_manifest manifest;
    dpi_hazards hazards;
    /* where the file was found; no path, but a text, if it was read from a descriptor.  In the
     * arena */
    const char *path;
    /* Path of the mapped file, and the directory made for this private copy; both owned.  `dir`
     * NULL: the file itself is mapped instead of a copy. */
    char *copy, *dir;
    void *handle;   /* from dlopen(); NULL after dlclose() */
    uintptr_t base; /* load address */
    size_t bytes;   /* size of the mapping */
    bool mapped;    /* false before dlopen(), and after the mapping was found to be gone */
    bool code_ran;  /* code of the plugin may have run: a resident plugin then stays mapped */
    /* Why dlclose() must never be called, although the plugin may not be resident: its on_unload
     * failed, or a thread of it did not end.  "": no such reason. */
    char never_close[256];
    /* Texts that the plugin set with dp_note(), oldest first (notes.c).  The registry's lock
     * protects `notes` and `next_noting`. */
    struct dpi_note *notes;
    struct dpi_image *next_noting; /* next in dp_registry.note_images */
    /* [n_blocks] copies of the plugin's blocks; each has the size of this host's dp_block */
    const dp_block **blocks;
    size_t n_blocks;
} dpi_image;

/* Read and check the file at `path`, and copy it into a new directory in `cache_dir` (if that is
 * NULL, in $TMPDIR or /tmp).  `copy` false: make no copy; the file itself will be mapped.  No code
 * of the file runs. */
int dpi_image_open(const char *path, bool copy, const char *cache_dir, dpi_image **out,
                   dp_error *err);
/* Map the file, check that its blocks agree with its ELF notes, and give the plugin the host's
 * table of functions.  The file's constructors run.  If this fails, the file may be mapped all the
 * same: call dpi_image_unmap(). */
int dpi_image_map(dpi_image *im, dp_error *err);
/* Check the blocks and items of a mapped file, copy them to im->blocks and give the plugin the
 * host's table of functions. */
int dpi_records_check(dpi_image *im, dp_error *err);
bool dpi_image_listed(const dpi_image *im); /* is the file in the dynamic linker's list? */
/* Return the first block of this kind; NULL: there is none. */
const dp_block *dpi_image_block(const dpi_image *im, int kind);
/* Is the plugin resident?  A plugin is resident if it says so by DP_RESIDENT(), or if its imports
 * make unmapping unsafe.  Once code of a resident plugin has run, its file stays mapped for ever.
 * If true, `buf` gets the reason. */
bool dpi_image_resident(const dpi_image *im, char *buf, size_t bytes);
/* Call dlclose(), unless never_close is set, or the plugin is resident and its code has run.  True:
 * the dynamic linker's list shows that the mapping is gone, and the copy was deleted.  False: `why`
 * says why the file is still mapped. */
bool dpi_image_unmap(dpi_image *im, char *why, size_t bytes);
/* Is the mapping gone, perhaps some time after dlclose()?  If so, the copy is deleted. */
bool dpi_image_gone(dpi_image *im);
/* Let the plugin of `im` call dp_note() from now on; before, such calls do nothing. */
void dpi_notes_open(dp_registry *reg, dpi_image *im);
/* Ignore dp_note() of the plugin from now on, and free the notes that it has set.  dpi_notes_open()
 * need not have been called. */
void dpi_notes_close(dp_registry *reg, dpi_image *im);
/* Copy the plugin's notes to the arena; *out has *n elements.  DP_ERESOURCE: no memory; no message
 * is set.  The caller holds the registry's lock. */
int dpi_notes_copy(const dpi_image *im, dp_arena *a, const dp_note_info **out, size_t *n);

/* Delete the copy and free `im`; a mapping that still exists is not unmapped.  NULL is allowed. */
dpi_image *dpi_image_free(dpi_image *im);

/* Count the plugins in state DRAINING: replaced or detached, but a call or thread still used their
 * code when that was last checked.  The caller holds the registry's lock. */
uint32_t dpi_plugins_draining(const dp_registry *reg);
/* Return the table of functions that plugins call (host.c). */
const dp_host *dpi_host_table(void);

#pragma GCC visibility pop

#endif
