/* manifest.c -- reads a plugin's description from the ELF notes of its file, without loading it.
 *
 * The macros of plugin.h emit each block of registrations (dp_block) twice: as a const struct, and
 * as an ELF note with a text.  When the file is mapped, the structs are turned into texts of the
 * same form (dpi_manifest_text()).  All texts, sorted and joined, are the canonical text; the
 * canonical texts of the notes and of the structs must be equal. */
#include "elf.h"
#include <errno.h>
#include <stdlib.h>

#define NOTE_NAME "DISP"
enum { NOTE_TYPE = 1, SHOWN_MAX = 200 }; /* SHOWN_MAX: bytes of a text in a message */

/* -- notes -- */

/* The text of one block.  The texts of a file are sorted, because compilers place blocks in
 * different orders: gcc reverses the order of the source. */
typedef struct piece {
    const char *text;                     /* the block's line, then a line for each item */
    const char *file;                     /* source file of the block */
    const char *word, *ns, *key;          /* kind (block_words), ns and key of the block */
    uint16_t major, minor, target, draft; /* interface version; block "plugin" only */
    uint32_t line;
} piece;

typedef struct pieces {
    piece *items;
    uint32_t n, cap;
} pieces;

static piece *pieces_add(pieces *ps)
{
    piece *items = dpi_grow(ps->items, &ps->cap, ps->n + 1, sizeof(*items));

    if (items == NULL)
        return NULL;
    ps->items = items;
    memset(&ps->items[ps->n], 0, sizeof(piece));
    return &ps->items[ps->n++];
}

static int piece_compare(const void *x, const void *y)
{
    const piece *a = x, *b = y;
    int c = strcmp(a->file, b->file);

    if (c == 0)
        c = (a->line > b->line) - (a->line < b->line);
    return c ? c : strcmp(a->text, b->text);
}

static const char *pieces_join(pieces *ps, dp_arena *a)
{
    size_t len = 0;
    char *text, *end;

    if (ps->n)
        qsort(ps->items, ps->n, sizeof(piece), piece_compare);
    for (size_t i = 0; i < ps->n; i++)
        len += strlen(ps->items[i].text);
    text = end = dp_arena_alloc(a, len + 1);
    if (text == NULL)
        return NULL;
    *end = '\0';
    for (size_t i = 0; i < ps->n; i++)
        end = stpcpy(end, ps->items[i].text);
    return text;
}

/* Cut off and return the next tab-separated field of *s.  NULL: no field is left. */
static char *field(char **s)
{
    char *start = *s, *tab = start ? strchr(start, '\t') : NULL;

    *s = tab ? tab + 1 : NULL;
    if (tab)
        *tab = '\0';
    return start;
}

static bool number(const char *s, unsigned long max, unsigned long *out)
{
    char *end;

    if (s == NULL || *s < '0' || *s > '9')
        return false;
    errno = 0;
    *out = strtoul(s, &end, 10);
    return *end == '\0' && errno == 0 && *out <= max;
}

/* Parse the interface version with which the plugin was built ("2.0-draft1", or "2.0" if this
 * version is frozen), and `target`, the lowest minor version that the plugin needs ("0"). */
static bool piece_abi(piece *p, char *version, const char *target)
{
    static const char word[] = "-draft";
    unsigned long major, minor, lowest, draft = 0;
    char *dot = version ? strchr(version, '.') : NULL, *drafted = dot ? strstr(dot, word) : NULL;

    if (dot == NULL || (drafted && !number(drafted + strlen(word), UINT16_MAX, &draft)))
        return false;
    if (drafted)
        *drafted = '\0';
    *dot = '\0';
    if (!number(version, UINT16_MAX, &major) || !number(dot + 1, UINT16_MAX, &minor) ||
        !number(target, UINT16_MAX, &lowest))
        return false;
    p->major = (uint16_t)major;
    p->minor = (uint16_t)minor;
    p->target = (uint16_t)lowest;
    p->draft = (uint16_t)draft;
    return true;
}

/* Parse the block's line, the first of p->text, which is not modified.  The fields of the line,
 * separated by tabs, are "word ns key file line", or "plugin abi target ns key file line". */
static int piece_parse(piece *p, dp_arena *a, const char *path, dp_error *err)
{
    unsigned long line;
    size_t n = strcspn(p->text, "\n");
    char *cursor = dp_arena_dup(a, p->text, n + 1);

    if (cursor == NULL)
        return dpi_no_memory(err, "a manifest");
    cursor[n] = '\0';
    p->word = field(&cursor);
    if (strcmp(p->word, "plugin") == 0) {
        char *version = field(&cursor);
        if (!piece_abi(p, version, field(&cursor)))
            goto malformed;
    }
    p->ns = field(&cursor);
    p->key = field(&cursor);
    p->file = field(&cursor);
    if (!number(field(&cursor), UINT32_MAX, &line) || cursor)
        goto malformed;
    p->line = (uint32_t)line;
    return 0;
malformed:
    return dp_error_set(err, DP_EPLUGIN, "'%s' has a malformed note: '%.*s'", path,
                        (int)(n < SHOWN_MAX ? n : SHOWN_MAX), p->text);
}

static int note_add(pieces *ps, const char *desc, uint32_t bytes, const char *path, dp_arena *a,
                    dp_error *err)
{
    size_t len = strnlen(desc, bytes);
    piece *p;

    if (len == bytes)
        return dp_error_set(err, DP_EPLUGIN, "'%s' has a note without an end", path);
    p = pieces_add(ps);
    if (p == NULL || (p->text = dp_arena_dup(a, desc, len + 1)) == NULL)
        return dpi_no_memory(err, "a manifest");
    return piece_parse(p, a, path, err);
}

static uint64_t padded(uint64_t n, uint64_t align)
{
    return (n + align - 1) / align * align;
}

static bool note_is_ours(const dpi_elf *e, uint64_t at, uint64_t end, const Elf64_Nhdr *nh)
{
    return nh->n_type == NOTE_TYPE && nh->n_namesz == sizeof(NOTE_NAME) &&
           end - at - sizeof(*nh) >= sizeof(NOTE_NAME) &&
           memcmp(e->p + at + sizeof(*nh), NOTE_NAME, sizeof(NOTE_NAME)) == 0;
}

/* Add each dispatchd note of one PT_NOTE segment to `ps`.  If a note of another program is
 * malformed, this is no error, but it ends the loop: the position of the next note is unknown. */
static int segment_notes(const dpi_elf *e, const Elf64_Phdr *ph, pieces *ps, const char *path,
                         dp_arena *a, dp_error *err)
{
    uint64_t align = ph->p_align == 8 ? 8 : 4, at = ph->p_offset, end;
    Elf64_Nhdr nh;
    int rc = 0;

    if (dpi_elf_at(e, ph->p_offset, ph->p_filesz) == NULL)
        return dp_error_set(err, DP_EPLUGIN, "'%s' is cut short: its notes lie past its end", path);
    end = ph->p_offset + ph->p_filesz;
    while (rc == 0 && end - at >= sizeof(nh) && dpi_elf_get(e, at, &nh, sizeof(nh))) {
        /* Header and name are padded together: with alignment 8, a 4-byte name ends at byte 16. */
        uint64_t desc = at + padded(sizeof(nh) + nh.n_namesz, align);
        bool ours = note_is_ours(e, at, end, &nh), fits = desc <= end && nh.n_descsz <= end - desc;
        if (ours && !fits)
            return dp_error_set(err, DP_EPLUGIN, "'%s' has a note longer than its segment", path);
        if (ours)
            rc = note_add(ps, (const char *)e->p + desc, nh.n_descsz, path, a, err);
        at = fits ? desc + padded(nh.n_descsz, align) : end;
        if (at > end)
            break;
    }
    return rc;
}

/* -- from pieces to a manifest -- */

static bool starts(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

static void count_items(const char *text, dp_manifest *out)
{
    while ((text = strchr(text, '\n')) != NULL && *++text) {
        out->defs += starts(text, "def\t");
        out->impls +=
            starts(text, "impl\t") || starts(text, "fallthrough\t") || starts(text, "formula\t");
    }
}

static int summarize(const pieces *ps, const char *path, dp_arena *a, dp_manifest *out,
                     dp_error *err)
{
    const piece *plugin = NULL;
    const char **backends = dp_arena_alloc_n(a, ps->n + 1, sizeof(*backends));

    if (backends == NULL)
        return dpi_no_memory(err, "a manifest");
    out->backends = backends;
    for (size_t i = 0; i < ps->n; i++) {
        const piece *p = &ps->items[i];
        if (strcmp(p->word, "plugin") == 0) {
            if (plugin)
                return dp_error_set(err, DP_EPLUGIN, "'%s' says DP_PLUGIN twice: %s:%u and %s:%u",
                                    path, plugin->file, plugin->line, p->file, p->line);
            plugin = p;
        }
        if (strcmp(p->word, "backend") == 0)
            backends[out->n_backends++] = p->ns;
        out->fallbacks += strcmp(p->word, "fallback") == 0;
        count_items(p->text, out);
    }
    if (plugin == NULL)
        return dp_error_set(err, DP_EPLUGIN,
                            "'%s' is not a dispatchd plugin: it has no DP_PLUGIN note", path);
    out->plugin = plugin->ns;
    out->version = plugin->key;
    out->abi_major = plugin->major;
    out->abi_minor = plugin->minor;
    out->abi_target = plugin->target;
    out->abi_draft = plugin->draft;
    return 0;
}

static const char name_letters[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";

static int check_names(const dp_manifest *m, const char *path, dp_error *err)
{
    size_t n = strlen(m->plugin);

    if (n == 0 || n > DP_LIMIT_NAME_BYTES || strspn(m->plugin, name_letters) != n)
        return dp_error_set(
            err, DP_EPLUGIN,
            "'%s' calls its plugin '%.*s'; a name has 1 to %d letters, digits, '_', "
            "'.' and '-'",
            path, SHOWN_MAX, m->plugin, DP_LIMIT_NAME_BYTES);
    if (m->version[0] == '\0')
        return dp_error_set(err, DP_EPLUGIN, "plugin '%s': its version is empty", m->plugin);
    if (strlen(m->version) >= sizeof(((dp_plugin_report *)0)->version))
        return dp_error_set(err, DP_EPLUGIN,
                            "plugin '%s': its version has %zu bytes, more than %zu", m->plugin,
                            strlen(m->version), sizeof(((dp_plugin_report *)0)->version) - 1);
    return 0;
}

static int read_notes(const dpi_elf *e, const char *path, dp_arena *a, dp_manifest *out,
                      dp_error *err)
{
    pieces ps = {NULL, 0, 0};
    Elf64_Phdr ph;
    int rc = dpi_elf_check_segments(e, path, err);

    for (unsigned i = 0; rc == 0 && dpi_elf_segment(e, i, &ph); i++)
        if (ph.p_type == PT_NOTE)
            rc = segment_notes(e, &ph, &ps, path, a, err);
    if (rc == 0) {
        out->text = pieces_join(&ps, a);
        rc = out->text ? summarize(&ps, path, a, out, err) : dpi_no_memory(err, "a manifest");
    }
    dp_free(ps.items);
    return rc ? rc : check_names(out, path, err);
}

/* -- reading manifests -- */

int dpi_manifest_parse(const void *bytes, size_t n, const char *path, dp_arena *a, dp_manifest *out,
                       dpi_hazards *hazards, dp_error *err)
{
    dpi_elf e;
    dp_manifest m;
    dpi_hazards h;
    int rc;

    memset(&m, 0, sizeof(m));
    memset(&h, 0, sizeof(h));
    rc = dpi_elf_open(&e, bytes, n, path, err);
    if (rc == 0)
        rc = read_notes(&e, path, a, &m, err);
    if (rc == 0)
        rc = dpi_hazards_find(&e, path, a, &m, &h, err);
    if (rc)
        return rc;
    *out = m;
    if (hazards)
        *hazards = h;
    return 0;
}

int dp_manifest_read(const char *path, dp_arena *a, dp_manifest *out, dp_error *err)
{
    if (!DPI_GIVEN(err, DP_EVALUE, path, a, out))
        return DP_EVALUE;
    void *bytes;
    size_t n;
    int rc = dpi_file_read(path, &bytes, &n, err);

    if (rc)
        return rc;
    rc = dpi_manifest_parse(bytes, n, path, a, out, NULL, err);
    dp_free(bytes);
    return rc;
}

int dpi_manifest_check_abi(const dp_manifest *m, const char *path, dp_error *err)
{
    if (m->abi_major == DP_ABI_MAJOR && m->abi_draft == DP_ABI_DRAFT &&
        m->abi_target <= DP_ABI_MINOR)
        return 0;
    if (m->abi_major == DP_ABI_MAJOR && m->abi_draft != DP_ABI_DRAFT)
        return dp_error_set(
            err, DP_EABI,
            "plugin '%s' (%s) was built with draft %u of interface %u.%u; this host "
            "has draft %d and takes no other: build it again with this host's "
            "headers",
            m->plugin, path, m->abi_draft, m->abi_major, m->abi_minor, DP_ABI_DRAFT);
    return dp_error_set(
        err, DP_EABI,
        "plugin '%s' (%s) was built with interface %u.%u and needs %u.%u or a later "
        "%u.x; this host has %d.%d: %s",
        m->plugin, path, m->abi_major, m->abi_minor, m->abi_major, m->abi_target, m->abi_major,
        DP_ABI_MAJOR, DP_ABI_MINOR,
        m->abi_major < DP_ABI_MAJOR ? "build it again with this host's headers"
                                    : "update the host, or build it with this host's headers");
}

/* The first word of the line of each kind of block, as in plugin_macros.h. */
static const char *const block_words[DP_BLOCK_END] = {
    [DP_BLOCK_PLUGIN] = "plugin",       [DP_BLOCK_LIBRARY] = "library",
    [DP_BLOCK_FRAGMENT] = "fragment",   [DP_BLOCK_IMPL] = "impl",
    [DP_BLOCK_FALLBACK] = "fallback",   [DP_BLOCK_BACKEND] = "backend",
    [DP_BLOCK_OBSERVER] = "observer",   [DP_BLOCK_ON_LOAD] = "on_load",
    [DP_BLOCK_ON_UNLOAD] = "on_unload", [DP_BLOCK_RESIDENT] = "resident",
    [DP_BLOCK_KIND] = "kind",           [DP_BLOCK_SESSION_END] = "session_end",
    [DP_BLOCK_OBJECT] = "object",
};

static void item_text(dpi_text *t, const dp_item *i)
{
    bool def = i->kind == DP_ITEM_DEF, formula = i->kind == DP_ITEM_FORMULA;
    const char *last = def ? i->tags : formula ? "" : i->code;
    const char *word = def                              ? "def"
                       : formula                        ? "formula"
                       : i->flags & DP_FLAG_FALLTHROUGH ? "fallthrough"
                                                        : "impl";

    dpi_text_printf(t, "%s\t%s\t%s\n", word, i->name, last ? last : "");
}

static void plugin_text(dpi_text *t, const dp_root *root)
{
    dpi_text_printf(t, "\t%u.%u", root->abi_major, root->abi_minor);
    if (root->abi_draft != 0)
        dpi_text_printf(t, "-draft%u", root->abi_draft);
    dpi_text_printf(t, "\t%u", root->abi_target);
}

static void block_text(dpi_text *t, const dp_root *root, const dp_block *b)
{
    dpi_text_add(t, block_words[b->kind]);
    if (b->kind == DP_BLOCK_PLUGIN)
        plugin_text(t, root);
    dpi_text_printf(t, "\t%s\t%s\t%s\t%u\n", b->ns, b->key, b->file, b->line);
    for (uint32_t i = 0; i < b->n_items; i++)
        item_text(t, &b->items[i]);
}

static int piece_of_block(piece *p, const dp_root *root, const dp_block *b, dp_arena *a)
{
    dpi_text t = {NULL, 0, 0, false};

    block_text(&t, root, b);
    p->file = b->file;
    p->line = b->line;
    p->text = t.failed ? NULL : dp_arena_dup(a, t.s, t.len + 1);
    dpi_text_fini(&t);
    return p->text ? 0 : DP_ERESOURCE;
}

int dpi_manifest_text(const dp_root *root, const dp_block *const *blocks, size_t n, dp_arena *a,
                      const char **text, dp_error *err)
{
    pieces ps = {NULL, 0, 0};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++) {
        piece *p = pieces_add(&ps);
        rc = p ? piece_of_block(p, root, blocks[i], a) : DP_ERESOURCE;
    }
    if (rc == 0 && (*text = pieces_join(&ps, a)) == NULL)
        rc = DP_ERESOURCE;
    dp_free(ps.items);
    return rc ? dpi_no_memory(err, "a manifest") : 0;
}
