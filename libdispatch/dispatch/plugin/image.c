/* image.c -- one plugin file in memory: copied, checked, mapped, unmapped.
 *
 * open: bytes are read once; the manifest is parsed from them, and they become a private copy at a
 * path no other load has (the dynamic linker knows libraries by name first: the same path again
 * would give the old one).  map: dlopen, then every record is checked to lie inside the mapping,
 * copied to the host's structs and compared with the note.  unmap: dlclose, and proof.  try: all
 * of it on the file itself, in a process that may die of it. */
#define _GNU_SOURCE
#include "plugin_i.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Oldest sizes that can be read: what comes after is zero for whoever ends there. */
enum {
    BLOCK_BYTES_MIN = offsetof(dp_block, fn),
    ITEM_BYTES_MIN = offsetof(dp_item, tags),
    RECORD_BYTES_MAX = 4096,
    SEGMENTS_MAX = 16
};

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

/* A real file, not a memfd: gdb and perf can read it, and its name is its own. */
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

/* The file where it lies stands for its own copy. */
static int copy_none(dpi_image *im, dp_error *err)
{
    im->copy = dp_strdup(im->path);
    return im->copy ? 0 : dpi_no_memory(err, "a plugin");
}

static int image_read(dpi_image *im, bool copy, const char *cache_dir, dp_error *err)
{
    void *bytes;
    size_t n;
    int rc = dpi_file_read(im->path, &bytes, &n, err);

    if (rc)
        return rc;
    rc = image_check(im, bytes, n, err);
    if (rc == 0)
        rc = copy ? copy_make(im, cache_dir, bytes, n, err) : copy_none(im, err);
    dp_free(bytes);
    return rc;
}

int dpi_image_open(const char *path, bool copy, const char *cache_dir, dpi_image **out,
                   dp_error *err)
{
    dpi_image *im = dp_calloc(1, sizeof(*im));
    int rc = DP_ERESOURCE;

    if (im == NULL || (im->arena = dp_arena_new()) == NULL ||
        (im->path = dp_arena_printf(im->arena, "%s", path)) == NULL)
        dpi_no_memory(err, "a plugin");
    else
        rc = image_read(im, copy, cache_dir, err);
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

/* -- where it lies -- */

typedef struct extent {
    uintptr_t start, end;
    uint32_t flags; /* PF_* */
} extent;

typedef struct span {
    uintptr_t base; /* in: which library */
    const char *name;
    bool found;
    uint32_t n;
    extent at[SEGMENTS_MAX];
} span;

static int span_look(struct dl_phdr_info *info, size_t size, void *arg)
{
    span *s = arg;

    (void)size;
    if (info->dlpi_addr != s->base || strcmp(info->dlpi_name, s->name) != 0)
        return 0;
    s->found = true;
    for (unsigned i = 0; i < info->dlpi_phnum && s->n < SEGMENTS_MAX; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        if (ph->p_type == PT_LOAD)
            s->at[s->n++] =
                (extent){s->base + ph->p_vaddr, s->base + ph->p_vaddr + ph->p_memsz, ph->p_flags};
    }
    return 1;
}

/* The dynamic linker's own list, which dlclose's return value says nothing about. */
static bool span_find(span *s, const dpi_image *im)
{
    memset(s, 0, sizeof(*s));
    s->base = im->base;
    s->name = im->copy;
    dl_iterate_phdr(span_look, s);
    return s->found;
}

static size_t span_bytes(const span *s)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), low = UINTPTR_MAX, high = 0;

    for (uint32_t i = 0; i < s->n; i++) {
        low = s->at[i].start < low ? s->at[i].start : low;
        high = s->at[i].end > high ? s->at[i].end : high;
    }
    return high > low ? (high + page - 1) / page * page - low / page * page : 0;
}

/* Bytes of the mapping from p to the end of its segment, with these permissions; 0: not in it. */
static size_t span_left(const span *s, const void *p, uint32_t flags)
{
    uintptr_t x = (uintptr_t)p;

    for (uint32_t i = 0; i < s->n; i++)
        if (x >= s->at[i].start && x < s->at[i].end && (s->at[i].flags & flags) == flags)
            return s->at[i].end - x;
    return 0;
}

static bool span_text(const span *s, const char *text)
{
    size_t left = span_left(s, text, PF_R);

    return left && strnlen(text, left) < left;
}

/* -- records -- */

/* Copy a record of `size` bytes to the host's struct of `room`; what it does not cover is zero. */
static void copy_record(void *dst, size_t room, const void *src, size_t size)
{
    memset(dst, 0, room);
    memcpy(dst, src, size < room ? size : room);
}

static int bad_record(const dpi_image *im, const dp_block *b, dp_error *err, const char *what)
{
    if (b && b->file)
        return dp_error_set(err, DP_EPLUGIN, "plugin '%s': the record at %s:%u %s",
                            im->manifest.plugin, b->file, b->line, what);
    return dp_error_set(err, DP_EPLUGIN, "plugin '%s': a record %s", im->manifest.plugin, what);
}

static int read_items(const span *s, dpi_image *im, dp_block *b, dp_error *err)
{
    const char *from = (const char *)b->items;
    dp_item *items;

    if (b->item_size < ITEM_BYTES_MIN || b->item_size > RECORD_BYTES_MAX || b->item_size % 8 ||
        span_left(s, from, PF_R) / b->item_size < b->n_items)
        return bad_record(im, b, err, "has items outside its file, or of a strange size");
    items = dp_arena_alloc(im->arena, b->n_items * sizeof(*items));
    if (items == NULL)
        return dpi_no_memory(err, "a plugin's records");
    for (uint32_t i = 0; i < b->n_items; i++) {
        copy_record(&items[i], sizeof(items[i]), from + (size_t)i * b->item_size, b->item_size);
        if (items[i].size != b->item_size)
            return bad_record(im, b, err, "has an item whose size is not its block's item_size");
        if (!span_text(s, items[i].name) || (items[i].tags && !span_text(s, items[i].tags)) ||
            (items[i].code && !span_text(s, items[i].code)))
            return bad_record(im, b, err, "has an item with text outside its file");
        if (items[i].kind != DP_ITEM_DEF && items[i].kind != DP_ITEM_IMPL)
            return bad_record(im, b, err, "has an item of a kind this host does not know");
        if (items[i].flags &
            ~(DP_FLAG_FALLTHROUGH | DP_FLAG_BELOW | DP_FLAG_META | DP_FLAG_GRAD | DP_FLAG_VIEWS))
            return bad_record(im, b, err, "has an item with a flag this host does not know");
        items[i].size = sizeof(items[i]);
        items[i].tags = items[i].tags ? items[i].tags : "";
        items[i].code = items[i].code ? items[i].code : "";
    }
    b->items = items;
    b->item_size = sizeof(*items);
    return 0;
}

static int read_device(const span *s, dpi_image *im, dp_block *b, dp_error *err)
{
    const dp_device_ops *from = b->data;
    dp_device_ops *ops;
    size_t left = span_left(s, from, PF_R);

    if (left < sizeof(from->size) || from->size < sizeof(from->size) || left < from->size)
        return bad_record(im, b, err, "has a device record outside its file");
    ops = dp_arena_alloc(im->arena, sizeof(*ops));
    if (ops == NULL)
        return dpi_no_memory(err, "a plugin's records");
    copy_record(ops, sizeof(*ops), from, from->size);
    ops->size = sizeof(*ops);
    b->data = ops;
    return 0;
}

/* One block at `at`, `left` bytes before the end of all; *bytes: how far the next one is. */
static int read_block(const span *s, dpi_image *im, const char *at, size_t left, dp_block *b,
                      uint32_t *bytes, dp_error *err)
{
    int rc = 0;

    memset(b, 0, sizeof(*b));
    if (left >= sizeof(*bytes))
        memcpy(bytes, at, sizeof(*bytes));
    if (left < BLOCK_BYTES_MIN || *bytes < BLOCK_BYTES_MIN || *bytes > RECORD_BYTES_MAX ||
        *bytes > left || *bytes % 8)
        return bad_record(im, NULL, err, "has a strange size");
    copy_record(b, sizeof(*b), at, *bytes);
    b->size = sizeof(*b);
    b->key = b->key ? b->key : "";
    if (!span_text(s, b->file)) {
        b->file = NULL;
        return bad_record(im, b, err, "has text outside its file");
    }
    if (!span_text(s, b->ns) || (*b->key && !span_text(s, b->key)))
        return bad_record(im, b, err, "has text outside its file");
    if (b->kind == 0 || b->kind >= DP_BLOCK_END)
        return bad_record(im, b, err, "is of a kind this host does not know");
    if (b->n_items)
        rc = read_items(s, im, b, err);
    if (rc == 0 && b->kind == DP_BLOCK_BACKEND && b->data)
        rc = read_device(s, im, b, err);
    return rc;
}

static int read_blocks(const span *s, dpi_image *im, const dp_root *root, dp_error *err)
{
    const char *at = (const char *)root->begin, *end = (const char *)root->end;
    size_t most;
    uint32_t bytes = 0;

    if (at >= end || span_left(s, at, PF_R) < (size_t)(end - at))
        return bad_record(im, NULL, err, "lies outside its file");
    most = (size_t)(end - at) / BLOCK_BYTES_MIN + 1;
    im->blocks = dp_arena_alloc(im->arena, most * sizeof(*im->blocks));
    if (im->blocks == NULL)
        return dpi_no_memory(err, "a plugin's records");
    for (; at < end; at += bytes) {
        dp_block *b = dp_arena_alloc(im->arena, sizeof(*b));
        int rc = b ? read_block(s, im, at, (size_t)(end - at), b, &bytes, err)
                   : dpi_no_memory(err, "a plugin's records");
        if (rc)
            return rc;
        im->blocks[im->n_blocks++] = b;
    }
    return 0;
}

/* -- note and records must say the same -- */

/* Refuse the load at the first line where they differ. */
static int compare_texts(const dpi_image *im, const char *note, const char *records, dp_error *err)
{
    size_t n, m;

    if (strcmp(note, records) == 0)
        return 0;
    for (; *note && *records; note += n + 1, records += m + 1) {
        n = strcspn(note, "\n");
        m = strcspn(records, "\n");
        if (n != m || memcmp(note, records, n) != 0)
            break;
    }
    n = strcspn(note, "\n");
    m = strcspn(records, "\n");
    return dp_error_set(err, DP_EPLUGIN,
                        "plugin '%s': its note and its records differ: the note says '%.*s', the "
                        "records say '%.*s'",
                        im->manifest.plugin, (int)n, note, (int)m, records);
}

static int check_root(const span *s, const dpi_image *im, const dp_root *root, dp_error *err)
{
    const char *name = im->manifest.plugin;

    if (root == NULL || span_left(s, root, PF_R) < sizeof(*root))
        return dp_error_set(
            err, DP_EPLUGIN,
            "plugin '%s' has no dp_plugin_root of its own: is a version script hiding it?", name);
    if (root->magic != DP_ABI_MAGIC)
        return dp_error_set(err, DP_EPLUGIN,
                            "plugin '%s': its root record begins with %#x, not %#x", name,
                            root->magic, DP_ABI_MAGIC);
    dp_manifest m = im->manifest;
    m.abi_major = root->abi_major;
    m.abi_minor = root->abi_minor;
    m.abi_target = root->abi_target;
    int rc = dpi_manifest_check_abi(&m, im->path, err);
    if (rc)
        return rc;
    if (span_left(s, root->host, PF_R | PF_W) < sizeof(*root->host))
        return dp_error_set(err, DP_EPLUGIN,
                            "plugin '%s': its root record has no place for the host's "
                            "table",
                            name);
    return 0;
}

/* At most one hook of a kind, and with a function. */
static int check_hooks(const dpi_image *im, dp_error *err)
{
    for (size_t i = 0; i < im->n_blocks; i++) {
        const dp_block *b = im->blocks[i];
        if (b->kind != DP_BLOCK_ON_LOAD && b->kind != DP_BLOCK_ON_UNLOAD)
            continue;
        if (b->fn == NULL)
            return bad_record(im, b, err, "is a hook without a function");
        if (dpi_image_block(im, b->kind) != b)
            return bad_record(im, b, err, "is a second hook of its kind");
    }
    return 0;
}

static int check_records(dpi_image *im, dp_error *err)
{
    const dp_root *root = dlsym(im->handle, "dp_plugin_root");
    const char *text = NULL;
    span s;
    int rc;

    span_find(&s, im);
    im->bytes = span_bytes(&s);
    rc = check_root(&s, im, root, err);
    if (rc == 0)
        rc = read_blocks(&s, im, root, err);
    if (rc == 0)
        rc = dpi_manifest_text(root, im->blocks, im->n_blocks, im->arena, &text, err);
    if (rc == 0)
        rc = compare_texts(im, im->manifest.text, text, err);
    if (rc == 0)
        rc = check_hooks(im, err);
    if (rc == 0)
        *root->host = dpi_host_table();
    return rc;
}

/* -- mapping and unmapping -- */

/* dlerror's text with the user's path in place of the copy's. */
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

/* Libraries with threads of their own, which came with the plugin, stay; the plugin can go then. */
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
    int rc;

    /* NOW: a missing symbol must fail this load, not the daemon in the middle of a call. */
    im->handle = dlopen(im->copy, RTLD_NOW | RTLD_LOCAL);
    if (im->handle == NULL)
        return load_error(im, err);
    im->mapped = true;
    im->ran = im->hazards.constructors;
    if (dlinfo(im->handle, RTLD_DI_LINKMAP, &map) != 0)
        return load_error(im, err);
    im->base = map->l_addr;
    rc = pin_libraries(im, err);
    return rc ? rc : check_records(im, err);
}

const dp_block *dpi_image_block(const dpi_image *im, int kind)
{
    for (size_t i = 0; i < im->n_blocks; i++)
        if (im->blocks[i]->kind == kind)
            return im->blocks[i];
    return NULL;
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
    span s;

    if (im->mapped && !im->handle && !span_find(&s, im))
        im->mapped = false;
    if (!im->mapped)
        copy_remove(im);
    return !im->mapped;
}

bool dpi_image_unmap(dpi_image *im, char *why, size_t bytes)
{
    snprintf(why, bytes, "%s", im->stay);
    if (im->stay[0] || (im->ran && dpi_image_resident(im, why, bytes)))
        return false;
    if (im->handle)
        dlclose(im->handle);
    im->handle = NULL;
    if (dpi_image_gone(im))
        return true;
    snprintf(why, bytes, "%s",
             im->hazards.sticks ? im->hazards.sticks
                                : "dlclose left it mapped: something else holds it open");
    return false;
}

int dp_plugin_try(const char *path, dp_error *err)
{
    if (!DPI_GIVEN(err, DP_EVALUE, path))
        return DP_EVALUE;
    char why[sizeof(((dpi_image *)0)->stay)];
    dpi_image *im;
    int rc = dpi_image_open(path, false, NULL, &im, err);

    if (rc)
        return rc;
    rc = dpi_image_map(im, err);
    dpi_image_unmap(im, why, sizeof(why));
    dpi_image_free(im);
    return rc;
}
