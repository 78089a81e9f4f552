/* image.c -- copies one plugin file, checks it, maps it into memory and unmaps it.
 *
 * dpi_image_open() reads the bytes once, parses the manifest from them, and writes them to a
 * private copy at a unique path.  (The dynamic linker identifies libraries by path: for a path that
 * it has loaded before it would return the old library.)  dpi_image_map() calls dlopen, and
 * records.c checks the plugin's registrations.  dpi_image_unmap() calls dlclose, and checks that
 * the mapping is gone.  dp_plugin_try() does all of this with the file itself instead of a copy;
 * call dp_plugin_try() in a child process, because the file may crash the process that loads it. */
#define _GNU_SOURCE
#include "plugin_i.h"
#include "base/process.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* -- the private copy -- */

static char *join(const char *dir, const char *name, const char *suffix)
{
    dpi_text t = {NULL, 0, 0, false};

    dpi_text_printf(&t, "%s/%s%s", dir, name, suffix);
    if (t.failed)
        dpi_text_fini(&t);
    return t.failed ? NULL : t.s;
}

static int write_all(int fd, const char *p, size_t n)
{
    while (n) {
        ssize_t w = write(fd, p, n);
        if (w < 0 && errno == EINTR)
            continue;
        if (w < 0)
            return -1;
        p += w;
        n -= (size_t)w;
    }
    return 0;
}

static void copy_remove(dpi_image *im)
{
    if (im->dir && im->copy)
        unlink(im->copy);
    if (im->dir)
        rmdir(im->dir);
    dp_free(im->copy);
    dp_free(im->dir);
    im->copy = im->dir = NULL;
}

/* Write the private copy to a file with a unique path.  The copy is not a memfd, because gdb and
 * perf must be able to read it. */
static int copy_make(dpi_image *im, const char *cache_dir, const void *bytes, size_t n,
                     dp_error *err)
{
    const char *tmp = cache_dir ? cache_dir : secure_getenv("TMPDIR");
    char *dir = join(tmp ? tmp : "/tmp", "dispatchd-XXXXXX", "");
    int fd;

    if (dir == NULL)
        return dpi_no_memory(err, "a plugin");
    if (mkdtemp(dir) == NULL) {
        int rc = dp_error_set(err, DP_ERESOURCE,
                              "cannot make a directory for the copy of plugin '%s' in "
                              "'%s': %s",
                              im->manifest.plugin, tmp ? tmp : "/tmp", strerror(errno));
        dp_free(dir);
        return rc;
    }
    im->dir = dir;
    im->copy = join(dir, im->manifest.plugin, ".so");
    if (im->copy == NULL)
        return dpi_no_memory(err, "a plugin");
    fd = open(im->copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool written = fd >= 0 && write_all(fd, bytes, n) == 0;
    int error = errno;
    if (fd >= 0 && close(fd) < 0 && written) {
        written = false;
        error = errno;
    }
    return written
               ? 0
               : dp_error_set(err, DP_ERESOURCE, "cannot write the copy of plugin '%s', '%s': %s",
                              im->manifest.plugin, im->copy, strerror(error));
}

static int image_check(dpi_image *im, const void *bytes, size_t n, dp_error *err)
{
    const char *path = im->path;
    int rc = dpi_manifest_parse(bytes, n, path, im->arena, &im->manifest, &im->hazards, err);
    if (rc == 0)
        rc = dpi_manifest_check_abi(&im->manifest, path, err);
    if (rc == 0 && im->hazards.static_tls)
        rc = dp_error_set(err, DP_EPLUGIN,
                          "plugin '%s' (%s) needs static TLS, which is never given back: build it "
                          "without -ftls-model=initial-exec",
                          im->manifest.plugin, path);
    return rc;
}

/* Map the file itself instead of a copy. */
static int use_original(dpi_image *im, const char *path, dp_error *err)
{
    im->copy = dp_strdup(path);
    return im->copy ? 0 : dpi_no_memory(err, "a plugin");
}

/* Store in im->path what messages and lists call the file at `path`.  The path of a descriptor will
 * soon name another file, or none; what replaces it is no path. */
static int image_name(dpi_image *im, const char *path, dp_error *err)
{
    static const char descriptors[] = "/proc/self/fd/";
    char target[PATH_MAX];
    bool passed = strncmp(path, descriptors, sizeof(descriptors) - 1) == 0;
    ssize_t n = passed ? readlink(path, target, sizeof(target) - 1) : 0;

    target[n > 0 ? n : 0] = '\0';
    im->path = passed ? dp_arena_printf(im->arena, "a descriptor of '%s'", target)
                      : dp_arena_printf(im->arena, "%s", path);
    return im->path != NULL ? 0 : dpi_no_memory(err, "a plugin");
}

static int image_read(dpi_image *im, const char *path, bool copy, const char *cache_dir,
                      dp_error *err)
{
    void *bytes;
    size_t n;
    int rc = dpi_file_read(path, &bytes, &n, err);

    if (rc)
        return rc;
    rc = image_check(im, bytes, n, err);
    if (rc == 0)
        rc = copy ? copy_make(im, cache_dir, bytes, n, err) : use_original(im, path, err);
    dp_free(bytes);
    return rc;
}

int dpi_image_open(const char *path, bool copy, const char *cache_dir, dpi_image **out,
                   dp_error *err)
{
    dpi_image *im = dp_calloc(1, sizeof(*im));
    int rc = DP_ERESOURCE;

    if (im == NULL || (im->arena = dp_arena_new()) == NULL)
        dpi_no_memory(err, "a plugin");
    else if ((rc = image_name(im, path, err)) == 0)
        rc = image_read(im, path, copy, cache_dir, err);
    if (rc) {
        dpi_image_free(im);
        return rc;
    }
    *out = im;
    return 0;
}

dpi_image *dpi_image_free(dpi_image *im)
{
    if (im == NULL)
        return NULL;
    copy_remove(im);
    dp_arena_free(im->arena);
    dp_free(im);
    return NULL;
}

/* -- mapping and unmapping -- */

/* Set an error with the text of dlerror(), in which the user's path replaces that of the copy. */
static int load_error(const dpi_image *im, dp_error *err)
{
    const char *text = dlerror();
    size_t n = strlen(im->copy);
    struct statvfs fs;
    bool noexec = im->dir && statvfs(im->dir, &fs) == 0 && (fs.f_flag & ST_NOEXEC);

    text = text ? text : "unknown error";
    if (strncmp(text, im->copy, n) == 0 && strncmp(text + n, ": ", 2) == 0)
        text += n + 2;
    return dp_error_set(
        err, DP_EPLUGIN, "cannot load plugin '%s' from '%s': %s%s%s%s", im->manifest.plugin,
        im->path, text, noexec ? " (its copy is in '" : "", noexec ? im->dir : "",
        noexec ? "', which is mounted noexec: choose another cache directory)" : "");
}

/* Keep the libraries in `hazards.pin`, which the plugin needs, mapped for ever, so that the plugin
 * itself can be unmapped while their threads run. */
static int pin_libraries(const dpi_image *im, dp_error *err)
{
    for (uint32_t i = 0; i < im->hazards.n_pins; i++) {
        void *handle = dlopen(im->hazards.pin[i], RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
        if (handle == NULL)
            return load_error(im, err);
        dlclose(handle);
    }
    return 0;
}

int dpi_image_map(dpi_image *im, dp_error *err)
{
    struct link_map *map = NULL;
    dpi_process before;
    int rc;

    dpi_process_save(&before);
    /* RTLD_NOW: a missing symbol must fail this load, not a later call. */
    im->handle = dlopen(im->copy, RTLD_NOW | RTLD_LOCAL);
    dpi_process_settle(&before, im->manifest.plugin, "loading it");
    if (im->handle == NULL)
        return load_error(im, err);
    im->mapped = true;
    im->code_ran = im->hazards.constructors;
    if (dlinfo(im->handle, RTLD_DI_LINKMAP, &map) != 0)
        return load_error(im, err);
    im->base = map->l_addr;
    rc = pin_libraries(im, err);
    return rc ? rc : dpi_records_check(im, err);
}

bool dpi_image_resident(const dpi_image *im, char *buf, size_t bytes)
{
    const dp_block *declared = dpi_image_block(im, DP_BLOCK_RESIDENT);

    if (declared)
        snprintf(buf, bytes, "declares itself resident (%s:%u)", declared->file, declared->line);
    else if (im->hazards.resident)
        snprintf(buf, bytes, "%s", im->hazards.resident);
    return declared || im->hazards.resident;
}

bool dpi_image_gone(dpi_image *im)
{
    if (im->mapped && !im->handle && !dpi_image_listed(im))
        im->mapped = false;
    if (!im->mapped)
        copy_remove(im);
    return !im->mapped;
}

static void close_file(dpi_image *im)
{
    dpi_process before;

    dpi_process_save(&before);
    dlclose(im->handle);
    dpi_process_settle(&before, im->manifest.plugin, "unloading it");
}

bool dpi_image_unmap(dpi_image *im, char *why, size_t bytes)
{
    snprintf(why, bytes, "%s", im->never_close);
    if (im->never_close[0] || (im->code_ran && dpi_image_resident(im, why, bytes)))
        return false;
    if (im->handle)
        close_file(im);
    im->handle = NULL;
    if (dpi_image_gone(im))
        return true;
    snprintf(why, bytes, "%s",
             im->hazards.may_stay ? im->hazards.may_stay
                                  : "dlclose left it mapped: something else holds it open");
    return false;
}

int dp_plugin_try(const char *path, dp_error *err)
{
    if (!DPI_GIVEN(err, DP_EVALUE, path))
        return DP_EVALUE;
    char why[sizeof(((dpi_image *)0)->never_close)];
    dpi_image *im;
    int rc = dpi_image_open(path, false, NULL, &im, err);

    if (rc)
        return rc;
    rc = dpi_image_map(im, err);
    dpi_image_unmap(im, why, sizeof(why));
    dpi_image_free(im);
    return rc;
}
