/* hazards.c -- finds reasons in a plugin's file why unloading the plugin may fail or be unsafe.
 *
 * The functions read the file's dynamic section and symbols, and also find damage that the dynamic
 * linker does not check for.
 *
 * The reasons are warnings, given before the load.  The list is not complete, because a plugin can
 * look up symbols at run time; image.c checks after dlclose that the mapping is gone. */
#include "elf.h"
#include <stdio.h>

enum { MAY_STAY = 1, RESIDENT };
enum { SYMBOL_MAX = 200 }; /* bytes of a symbol's name; every name in `imports` is shorter */

/* Imported functions that are hazards.  RESIDENT: the process might run or read the plugin's memory
 * after unmapping, so it must stay mapped.  MAY_STAY: the dynamic linker may leave the plugin
 * mapped, which only costs memory. */
static const struct {
    const char *symbol;
    int effect;
    const char *why;
} imports[] = {
    {"pthread_create", RESIDENT, "its threads may run its code at any time"},
    {"thrd_create", RESIDENT, "its threads may run its code at any time"},
    {"_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE",
     RESIDENT, "its threads may run its code at any time"},
    {"pthread_key_create", RESIDENT, "its destructors run when threads end"},
    {"tss_create", RESIDENT, "its destructors run when threads end"},
    {"on_exit", RESIDENT, "its handlers run at exit"},
    {"signal", RESIDENT, "its signal handlers may stay installed"},
    {"sigaction", RESIDENT, "its signal handlers may stay installed"},
    {"__sysv_signal", RESIDENT, "its signal handlers may stay installed"},
    {"putenv", RESIDENT, "the environment may keep strings of its memory; setenv copies them"},
    {"_ZSt13set_terminatePFvvE", RESIDENT, "its handler runs when an exception is not caught"},
    {"_ZSt15set_new_handlerPFvvE", RESIDENT, "its handler runs when memory is short"},
    {"dlopen", MAY_STAY, "it may hold itself open"},
    {"dlmopen", MAY_STAY, "it may hold itself open"},
    {"__cxa_thread_atexit", MAY_STAY, "threads keep it while they own its thread_local objects"},
    {"__cxa_thread_atexit_impl", MAY_STAY,
     "threads keep it while they own its thread_local objects"},
};

/* Libraries that start threads.  If such a library were unloaded with the plugin that needs it, its
 * threads would run unmapped code (libgomp), or would be started and joined at every load
 * (OpenBLAS). */
static const char *const pinned_libraries[] = {"libgomp.so", "libomp.so", "libopenblas"};

/* Values from the dynamic segment.  A table is given by its offset in the file; UINT64_MAX: the
 * file has no such table. */
typedef struct dynamic {
    uint64_t strings, strings_bytes, symbols, hash, gnu_hash, flags, flags_1, init_bytes;
    /* jumps: DT_JMPREL, the relocations of the procedure linkage table */
    uint64_t relocations, relocations_bytes, jumps, jumps_bytes;
} dynamic;

typedef struct findings {
    dp_arena *arena;
    const char **warnings;
    uint32_t n, cap;
    dpi_hazards *hazards;
    bool failed;        /* no memory for a warning */
    const char *damage; /* why the file must not be loaded; NULL: no damage found */
} findings;

/* Add a warning, if the list has space for it.  If `first` is not NULL but *first is NULL, store
 * the warning in *first, too. */
static void __attribute__((format(printf, 3, 4)))
add_warning(findings *f, const char **first, const char *format, ...)
{
    char line[512];
    const char *copy;
    va_list ap;

    if (f->n == f->cap && (first == NULL || *first))
        return;
    va_start(ap, format);
    vsnprintf(line, sizeof(line), format, ap);
    va_end(ap);
    copy = dp_arena_printf(f->arena, "%s", line);
    if (copy == NULL)
        f->failed = true;
    else if (f->n < f->cap)
        f->warnings[f->n++] = copy;
    if (first && *first == NULL)
        *first = copy;
}

/* Return the string at offset `index` of the dynamic string table, and its length in *n.  NULL: the
 * string is outside the table or the file, or has SYMBOL_MAX bytes or more. */
static const char *dynamic_string(const dpi_elf *e, const dynamic *d, uint64_t index, size_t *n)
{
    const char *s;
    uint64_t left;

    if (index >= d->strings_bytes || d->strings > e->n || index > e->n - d->strings)
        return NULL;
    left = d->strings_bytes - index;
    if (left > e->n - d->strings - index)
        left = e->n - d->strings - index;
    if (left > SYMBOL_MAX)
        left = SYMBOL_MAX;
    s = (const char *)e->p + d->strings + index;
    *n = strnlen(s, left);
    return *n < left ? s : NULL;
}

static void check_needed(const dpi_elf *e, const dynamic *d, uint64_t index, findings *f)
{
    dpi_hazards *h = f->hazards;
    size_t n;
    const char *s = dynamic_string(e, d, index, &n);

    for (size_t i = 0; s && i < DPI_COUNT(pinned_libraries); i++)
        if (strncmp(s, pinned_libraries[i], strlen(pinned_libraries[i])) == 0) {
            add_warning(
                f, NULL,
                "needs '%s', whose threads never end: that library stays mapped, the plugin can go",
                s);
            if (h->n_pins < DPI_PIN_MAX && (h->pin[h->n_pins] = dp_arena_printf(f->arena, "%s", s)))
                h->n_pins++;
        }
}

static void check_symbol(const dpi_elf *e, const dynamic *d, const Elf64_Sym *sym, findings *f)
{
    size_t n;
    const char *s = dynamic_string(e, d, sym->st_name, &n);

    if (s == NULL)
        return;
    if (sym->st_shndx != SHN_UNDEF) {
        if (ELF64_ST_BIND(sym->st_info) == STB_GNU_UNIQUE)
            add_warning(
                f, &f->hazards->may_stay,
                "defines the unique symbol '%s': the dynamic linker never unmaps such a library "
                "(build with -fno-gnu-unique; -fvisibility=hidden does not hide those of "
                "namespace std)",
                s);
        return;
    }
    for (size_t i = 0; i < DPI_COUNT(imports); i++)
        if (strcmp(s, imports[i].symbol) == 0)
            add_warning(
                f, imports[i].effect == RESIDENT ? &f->hazards->resident : &f->hazards->may_stay,
                "imports '%s': %s", s, imports[i].why);
}

/* Return the number of dynamic symbols.  The number is read from the hash tables, because strip(1)
 * may have removed the sections. */
static uint64_t count_symbols(const dpi_elf *e, const dynamic *d)
{
    uint32_t head[4], bucket, chain, last = 0;

    if (d->hash != UINT64_MAX)
        return dpi_elf_get(e, d->hash, head, 8) ? head[1] : 0;
    if (d->gnu_hash == UINT64_MAX || !dpi_elf_get(e, d->gnu_hash, head, sizeof(head)))
        return 0;
    uint64_t buckets = d->gnu_hash + sizeof(head) + (uint64_t)head[2] * 8;
    for (uint32_t i = 0; i < head[0] && dpi_elf_get(e, buckets + (uint64_t)i * 4, &bucket, 4); i++)
        last = bucket > last ? bucket : last;
    if (last < head[1])
        return head[1];
    do {
        if (!dpi_elf_get(e, buckets + ((uint64_t)head[0] + (last - head[1])) * 4, &chain, 4))
            return 0;
        last++;
    } while (!(chain & 1));
    return last;
}

/* Copy entry `i` of the dynamic segment to *dyn; false: the segment has no entry `i`. */
static bool dynamic_next(const dpi_elf *e, const Elf64_Phdr *ph, uint64_t i, Elf64_Dyn *dyn)
{
    return i < ph->p_filesz / sizeof(*dyn) && ph->p_offset <= e->n &&
           dpi_elf_get(e, ph->p_offset + i * sizeof(*dyn), dyn, sizeof(*dyn)) &&
           dyn->d_tag != DT_NULL;
}

/* The entries of the dynamic segment that dynamic_read() stores in a struct dynamic. */
static const struct {
    int64_t tag;
    size_t member;
    bool address; /* the value is an address, stored as an offset in the file */
} wanted[] = {
    {DT_STRTAB, offsetof(dynamic, strings), true},
    {DT_STRSZ, offsetof(dynamic, strings_bytes), false},
    {DT_SYMTAB, offsetof(dynamic, symbols), true},
    {DT_HASH, offsetof(dynamic, hash), true},
    {DT_GNU_HASH, offsetof(dynamic, gnu_hash), true},
    {DT_FLAGS, offsetof(dynamic, flags), false},
    {DT_FLAGS_1, offsetof(dynamic, flags_1), false},
    {DT_INIT_ARRAYSZ, offsetof(dynamic, init_bytes), false},
    {DT_RELA, offsetof(dynamic, relocations), true},
    {DT_RELASZ, offsetof(dynamic, relocations_bytes), false},
    {DT_JMPREL, offsetof(dynamic, jumps), true},
    {DT_PLTRELSZ, offsetof(dynamic, jumps_bytes), false},
};

static void dynamic_read(const dpi_elf *e, const Elf64_Phdr *ph, dynamic *d)
{
    Elf64_Dyn dyn;

    *d = (dynamic){.strings = UINT64_MAX,
                   .symbols = UINT64_MAX,
                   .hash = UINT64_MAX,
                   .gnu_hash = UINT64_MAX,
                   .relocations = UINT64_MAX,
                   .jumps = UINT64_MAX};
    for (uint64_t i = 0; dynamic_next(e, ph, i, &dyn); i++)
        for (size_t w = 0; w < DPI_COUNT(wanted); w++)
            if (dyn.d_tag == wanted[w].tag)
                *(uint64_t *)((char *)d + wanted[w].member) =
                    wanted[w].address ? dpi_elf_offset(e, dyn.d_un.d_ptr) : dyn.d_un.d_val;
}

/* Check that relocations change only memory of this file: the dynamic linker writes to any
 * address. */
static void check_relocations(const dpi_elf *e, uint64_t offset, uint64_t bytes, findings *f)
{
    enum { NO_RELOCATION = 0 }; /* the type has this number on every machine */
    Elf64_Rela r;

    for (uint64_t i = 0; i < bytes / sizeof(r) && offset <= e->n; i++) {
        if (!dpi_elf_get(e, offset + i * sizeof(r), &r, sizeof(r)))
            break;
        if (ELF64_R_TYPE(r.r_info) != NO_RELOCATION &&
            !dpi_elf_has(e, r.r_offset, sizeof(uint32_t)))
            f->damage = "has a relocation of what is not its own";
    }
}

static void scan_dynamic(const dpi_elf *e, const Elf64_Phdr *ph, findings *f)
{
    dynamic d;
    Elf64_Dyn dyn;
    Elf64_Sym sym;

    dynamic_read(e, ph, &d);
    /* Every shared object has one constructor from the C start-up code; more are the plugin's. */
    f->hazards->constructors = d.init_bytes > sizeof(void *);
    if (d.flags & DF_STATIC_TLS) {
        f->hazards->static_tls = true;
        add_warning(f, NULL,
                    "needs static TLS (built with -ftls-model=initial-exec): cannot be loaded");
    }
    if (d.flags_1 & DF_1_NODELETE)
        add_warning(f, &f->hazards->may_stay,
                    "linked with -z nodelete: the dynamic linker never unmaps it");
    check_relocations(e, d.relocations, d.relocations_bytes, f);
    check_relocations(e, d.jumps, d.jumps_bytes, f);
    for (uint64_t i = 0; dynamic_next(e, ph, i, &dyn); i++)
        if (dyn.d_tag == DT_NEEDED)
            check_needed(e, &d, dyn.d_un.d_val, f);
    for (uint64_t i = 0, n = count_symbols(e, &d); i < n && d.symbols <= e->n; i++) {
        if (!dpi_elf_get(e, d.symbols + i * sizeof(sym), &sym, sizeof(sym)))
            break;
        if (sym.st_name >= d.strings_bytes)
            f->damage = "has a symbol whose name lies past its names";
        check_symbol(e, &d, &sym, f);
    }
}

/* Warn if the plugin links crtfastmath, the start-up code that gcc adds for -Ofast and -ffast-math.
 * The only symbol of crtfastmath is local, so a stripped plugin does not show it. */
static void check_fast_math(const dpi_elf *e, const Elf64_Shdr *symbols, findings *f)
{
    static const char start_up[] = "set_fast_math";
    Elf64_Shdr names;
    Elf64_Sym sym;

    if (!dpi_elf_section(e, symbols->sh_link, &names))
        return;
    for (uint64_t i = 0; i < symbols->sh_size / sizeof(sym); i++) {
        char name[sizeof(start_up)];
        if (!dpi_elf_get(e, symbols->sh_offset + i * sizeof(sym), &sym, sizeof(sym)))
            return;
        if (ELF64_ST_TYPE(sym.st_info) == STT_FUNC && sym.st_name < names.sh_size &&
            dpi_elf_get(e, names.sh_offset + sym.st_name, name, sizeof(name)) &&
            memcmp(name, start_up, sizeof(name)) == 0) {
            add_warning(
                f, NULL,
                "links crtfastmath (-Ofast, -ffast-math): loading it makes subnormal numbers "
                "zero; the host sets that back");
            return;
        }
    }
}

int dpi_hazards_find(const dpi_elf *e, const char *path, dp_arena *a, dp_manifest *out,
                     dpi_hazards *h, dp_error *err)
{
    enum { WARNINGS_MAX = 64 };
    findings f = {.arena = a,
                  .warnings = dp_arena_alloc(a, WARNINGS_MAX * sizeof(char *)),
                  .cap = WARNINGS_MAX,
                  .hazards = h};
    Elf64_Phdr ph;
    Elf64_Shdr sh;

    if (f.warnings == NULL)
        return dpi_no_memory(err, "a manifest");
    for (unsigned i = 0; dpi_elf_segment(e, i, &ph); i++)
        if (ph.p_type == PT_DYNAMIC)
            scan_dynamic(e, &ph, &f);
    for (unsigned i = 0; dpi_elf_section(e, i, &sh); i++)
        if (sh.sh_type == SHT_SYMTAB) {
            check_fast_math(e, &sh, &f);
            break; /* a file has at most one symbol table */
        }
    out->warnings = f.warnings;
    out->n_warnings = f.n;
    if (f.damage != NULL)
        return dp_error_set(err, DP_EPLUGIN, "'%s' %s", path, f.damage);
    return f.failed ? dpi_no_memory(err, "a manifest") : 0;
}
