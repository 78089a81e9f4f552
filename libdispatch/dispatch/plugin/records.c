/* records.c -- checks the records of a mapped plugin, and copies them to structs of this host.
 *
 * The records are the const structs that the macros of plugin.h emit: blocks and their items.  All
 * of them must lie inside the plugin's mapping, and agree with the ELF notes in its file. */
#define _GNU_SOURCE
#include "plugin_i.h"
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <unistd.h>

/* Limits for the sizes of records.  The minimum is the size in the oldest plugins; fields that
 * their records lack are read as zero. */
enum {
    BLOCK_BYTES_MIN = offsetof(dp_block, fn),
    ITEM_BYTES_MIN = offsetof(dp_item, tags),
    RECORD_BYTES_MAX = 4096,
    SEGMENTS_MAX = 16
};

/* -- the mapping's addresses -- */

/* Addresses of one mapped segment. */
typedef struct extent {
    uintptr_t start, end;
    uint32_t flags; /* PF_* */
} extent;

/* All mapped segments of one library. */
typedef struct span {
    uintptr_t base;   /* set by the caller: load address of the library */
    const char *name; /* set by the caller: path of the library */
    bool found;       /* the library is in the dynamic linker's list */
    uint32_t n;
    extent extents[SEGMENTS_MAX];
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
            s->extents[s->n++] =
                (extent){s->base + ph->p_vaddr, s->base + ph->p_vaddr + ph->p_memsz, ph->p_flags};
    }
    return 1;
}

/* Find the segments of `im` in the dynamic linker's list.  dlclose() may return 0 and leave a
 * library in this list. */
static bool span_find(span *s, const dpi_image *im)
{
    memset(s, 0, sizeof(*s));
    s->base = im->base;
    s->name = im->copy;
    dl_iterate_phdr(span_look, s);
    return s->found;
}

bool dpi_image_listed(const dpi_image *im)
{
    span s;

    return span_find(&s, im);
}

static size_t span_bytes(const span *s)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), low = UINTPTR_MAX, high = 0;

    for (uint32_t i = 0; i < s->n; i++) {
        low = s->extents[i].start < low ? s->extents[i].start : low;
        high = s->extents[i].end > high ? s->extents[i].end : high;
    }
    return high > low ? (high + page - 1) / page * page - low / page * page : 0;
}

/* Return the number of bytes from `p` to the end of its segment.  0: no segment with the
 * permissions `flags` (PF_*) contains `p`. */
static size_t span_left(const span *s, const void *p, uint32_t flags)
{
    uintptr_t x = (uintptr_t)p;

    for (uint32_t i = 0; i < s->n; i++)
        if (x >= s->extents[i].start && x < s->extents[i].end &&
            (s->extents[i].flags & flags) == flags)
            return s->extents[i].end - x;
    return 0;
}

/* Does string `text` lie in the mapping, with its terminating zero? */
static bool span_text(const span *s, const char *text)
{
    size_t left = span_left(s, text, PF_R);

    return left && strnlen(text, left) < left;
}

const dp_block *dpi_image_block(const dpi_image *im, int kind)
{
    for (size_t i = 0; i < im->n_blocks; i++)
        if (im->blocks[i]->kind == kind)
            return im->blocks[i];
    return NULL;
}

/* -- records -- */

/* Copy a record of `size` bytes to a struct of `capacity` bytes, and zero the remainder. */
static void copy_record(void *dst, size_t capacity, const void *src, size_t size)
{
    memset(dst, 0, capacity);
    memcpy(dst, src, size < capacity ? size : capacity);
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
    items = dp_arena_alloc_n(im->arena, b->n_items, sizeof(*items));
    if (items == NULL)
        return dpi_no_memory(err, "a plugin's records");
    for (uint32_t i = 0; i < b->n_items; i++) {
        copy_record(&items[i], sizeof(items[i]), from + (size_t)i * b->item_size, b->item_size);
        if (items[i].size != b->item_size)
            return bad_record(im, b, err, "has an item whose size is not its block's item_size");
        if (!span_text(s, items[i].name) || (items[i].tags && !span_text(s, items[i].tags)) ||
            (items[i].code && !span_text(s, items[i].code)))
            return bad_record(im, b, err, "has an item with text outside its file");
        if (items[i].kind < DP_ITEM_DEF || items[i].kind > DP_ITEM_FORMULA)
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

    if (left >= sizeof(from->size) && from->size == 0)
        return bad_record(im, b, err,
                          "has a dp_device_ops whose size is 0; set .size = sizeof(dp_device_ops)");
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

/* Read the block at `at`, from which `left` bytes remain to the end of all blocks.  Store the
 * block's size in *bytes: the next block follows it. */
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
    size_t max_blocks;
    uint32_t bytes = 0;

    if (at >= end || span_left(s, at, PF_R) < (size_t)(end - at))
        return bad_record(im, NULL, err, "lies outside its file");
    max_blocks = (size_t)(end - at) / BLOCK_BYTES_MIN + 1;
    im->blocks = dp_arena_alloc_n(im->arena, max_blocks, sizeof(*im->blocks));
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

/* -- comparing the note with the records -- */

/* Check that the texts are equal.  The error message quotes the first line that differs. */
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
    m.abi_draft = root->abi_draft;
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

/* Check that there is at most one hook of each kind, and that each hook has a function. */
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

/* Check that the records say what the notes of the file say.  The text of the records may be long,
 * and is needed for this comparison only, so its memory is freed at once. */
static int check_text(dpi_image *im, const dp_root *root, dp_error *err)
{
    const char *text = NULL;
    char *before = im->arena->at;
    int rc = dpi_manifest_text(root, im->blocks, im->n_blocks, im->arena, &text, err);

    if (rc == 0)
        rc = compare_texts(im, im->manifest.text, text, err);
    dpi_arena_rewind(im->arena, before);
    return rc;
}

int dpi_records_check(dpi_image *im, dp_error *err)
{
    const dp_root *root = dlsym(im->handle, "dp_plugin_root");
    span s;
    int rc;

    span_find(&s, im);
    im->bytes = span_bytes(&s);
    rc = check_root(&s, im, root, err);
    if (rc == 0)
        rc = read_blocks(&s, im, root, err);
    if (rc == 0)
        rc = check_text(im, root, err);
    if (rc == 0)
        rc = check_hooks(im, err);
    if (rc == 0)
        *root->host = dpi_host_table();
    return rc;
}
