/* test_manifest.c -- a manifest is read from the file alone, whatever is in the file. */
#define _GNU_SOURCE /* dladdr, memmem */
#include "unit.h"
#include "dispatch/plugin/plugin_i.h"
#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MUTATIONS = 20000 };

static dp_arena *arena;
static dp_error err;
static dp_manifest m;

static void setup(void)
{
    arena = dp_arena_new();
    memset(&err, 0, sizeof(err));
}

static void teardown(void)
{
    arena = dp_arena_free(arena);
}

static const char *built(const char *name)
{
    const char *build = getenv("BUILD");
    char *path = dp_arena_printf(arena, "%s/%s.so", build ? build : "build", name);

    ck_assert_msg(access(path, R_OK) == 0, "%s is not built", path);
    return path;
}

static void says(const char *text, const char *part)
{
    ck_assert_msg(strstr(text, part) != NULL, "'%s' does not say '%s'", text, part);
}

START_TEST(manifest_tells_everything_in_source_order)
{
    ck_assert_int_eq(dp_manifest_read(built("tests/plugins/overrides"), arena, &m, &err), 0);
    ck_assert_str_eq(m.plugin, "overrides");
    ck_assert_str_eq(m.version, "2.1");
    ck_assert_uint_eq(m.abi_major, DP_ABI_MAJOR);
    ck_assert_uint_eq(m.abi_minor, DP_ABI_MINOR);
    ck_assert_uint_eq(m.defs, 0);
    ck_assert_uint_eq(m.impls, 2);
    ck_assert_uint_eq(m.n_warnings, 0);
    const char *tutorial = strstr(m.text, "impl\ttutorial\tCPU\t"),
               *nowhere = strstr(m.text, "impl\tnowhere");
    ck_assert_int_eq(strncmp(m.text, "plugin\t", strlen("plugin\t")), 0);
    ck_assert_ptr_nonnull(tutorial);
    ck_assert_ptr_nonnull(nowhere);
    ck_assert(tutorial < nowhere);
    says(m.text, "impl\tscale\tTf>T\n");
    says(m.text, "impl\tdangling\t\n");
}
END_TEST

START_TEST(manifest_names_backends)
{
    ck_assert_int_eq(dp_manifest_read(built("tests/plugins/toy_backend"), arena, &m, &err), 0);
    ck_assert_uint_eq(m.n_backends, 1);
    ck_assert_str_eq(m.backends[0], "toy");
    ck_assert_uint_eq(m.defs, 2);
}
END_TEST

/* A plugin that this host cannot run can still be described. */
START_TEST(manifest_of_another_abi_is_readable)
{
    ck_assert_int_eq(dp_manifest_read(built("tests/plugins/wrong_abi"), arena, &m, &err), 0);
    ck_assert_uint_eq(m.abi_major, 99);
    ck_assert_int_eq(dp_manifest_read(built("tests/plugins/too_new"), arena, &m, &err), 0);
    ck_assert_uint_eq(m.abi_target, 99);
}
END_TEST

static const struct {
    const char *file, *says;
} hazards[] = {
    {"unique_symbol", "defines the unique symbol 'dp_test_unique'"},
    {"thread_exit", "imports '__cxa_thread_atexit_impl'"},
    {"starts_thread", "imports 'pthread_create'"},
    {"static_tls", "static TLS"},
};

START_TEST(manifest_warns_of_what_makes_unloading_unsafe)
{
    char path[64];

    snprintf(path, sizeof(path), "tests/plugins/%s", hazards[_i].file);
    ck_assert_int_eq(dp_manifest_read(built(path), arena, &m, &err), 0);
    ck_assert_uint_ge(m.n_warnings, 1);
    says(m.warnings[0], hazards[_i].says);
}
END_TEST

static const struct {
    const char *path;
    int code;
    const char *says;
} not_plugins[] = {
    {"/nowhere/at/all.so", DP_ENOTFOUND, "cannot open '/nowhere/at/all.so'"},
    {"/", DP_EPLUGIN, "'/' is not a regular file"},
    {"/dev/null", DP_EPLUGIN, "'/dev/null' is not a regular file"},
    {"Makefile", DP_EPLUGIN, "'Makefile' is not an ELF file"},
};

START_TEST(manifest_refuses_what_is_no_plugin)
{
    ck_assert_int_eq(dp_manifest_read(not_plugins[_i].path, arena, &m, &err), not_plugins[_i].code);
    says(err.message, not_plugins[_i].says);
}
END_TEST

START_TEST(manifest_of_a_library_without_notes)
{
    ck_assert_int_eq(dp_manifest_read(built("libdispatchd"), arena, &m, &err), DP_EPLUGIN);
    says(err.message, "has no DP_PLUGIN note");
}
END_TEST

/* The C library has notes padded to 8 bytes, as have plugins linked with -z shstk. */
START_TEST(manifest_of_a_system_library)
{
    Dl_info libc;

    ck_assert_int_ne(dladdr((void *)(uintptr_t)strtol, &libc), 0);
    ck_assert_int_eq(dp_manifest_read(libc.dli_fname, arena, &m, &err), DP_EPLUGIN);
    says(err.message, "is not a dispatchd plugin");
}
END_TEST

START_TEST(manifest_refuses_two_names)
{
    ck_assert_int_eq(dp_manifest_read(built("tests/plugins/two_names"), arena, &m, &err),
                     DP_EPLUGIN);
    says(err.message, "two_names.c:4");
    says(err.message, "two_names.c:5");
}
END_TEST

/* A file of exactly `n` bytes at the end of its memory, so that the sanitizer sees one byte more.
 */
static int parse(const unsigned char *bytes, size_t n)
{
    unsigned char *copy = malloc(n + !n);
    int rc;

    memcpy(copy, bytes, n);
    rc = dpi_manifest_parse(copy, n, "mutated", arena, &m, NULL, &err);
    free(copy);
    return rc;
}

START_TEST(manifest_passes_over_notes_of_others)
{
    static const char name[] = "ODD\0odd";
    Elf64_Nhdr nh;
    void *bytes;
    size_t n;
    int rc = dp_manifest_read(built("tests/plugins/other_notes"), arena, &m, &err);

    ck_assert_msg(rc == 0, "%d: %s", rc, err.message);
    ck_assert_str_eq(m.plugin, "other_notes");
    ck_assert_uint_eq(m.defs, 1);
    ck_assert_int_eq(dpi_file_read(built("tests/plugins/other_notes"), &bytes, &n, &err), 0);
    unsigned char *odd = memmem(bytes, n, name, sizeof(name) - 1);
    ck_assert_ptr_nonnull(odd);
    memcpy(&nh, odd - sizeof(nh), sizeof(nh));
    nh.n_descsz = UINT32_MAX; /* past the end of its segment */
    memcpy(odd - sizeof(nh), &nh, sizeof(nh));
    rc = parse(bytes, n);
    ck_assert_msg(rc == 0, "%d: %s", rc, err.message);
    dp_free(bytes);
}
END_TEST

enum { MEMSZ, FILESZ, VADDR, ALIGN };

/* The dynamic linker would map such a file over what is not its own. */
static const struct {
    uint32_t type, nth; /* of the segments of that type */
    int field;
    uint64_t value;
    const char *says;
} liars[] = {
    {PT_LOAD, 2, MEMSZ, UINT64_C(0x7200000130), "overlap"},
    {PT_LOAD, 3, MEMSZ, UINT64_MAX, "impossible size"},
    {PT_LOAD, 3, MEMSZ, 0, "impossible size"},
    {PT_LOAD, 1, VADDR, UINT64_MAX, "impossible size"},
    {PT_LOAD, 1, VADDR, 0, "overlap"},
    {PT_LOAD, 1, ALIGN, 0x3000, "power of two"},
    {PT_LOAD, 1, FILESZ, UINT64_MAX, "cut short"},
    {PT_GNU_RELRO, 0, MEMSZ, 0x100000, "points past"},
    {PT_GNU_RELRO, 0, VADDR, UINT64_MAX, "points past"},
    {PT_DYNAMIC, 0, VADDR, 0x7000000, "points past"},
};

START_TEST(manifest_refuses_segments_of_other_memory)
{
    void *bytes;
    size_t n;
    uint32_t left = liars[_i].nth + 1;
    Elf64_Ehdr eh;
    Elf64_Phdr ph = {0};

    ck_assert_int_eq(dpi_file_read(built("plugins/template"), &bytes, &n, &err), 0);
    memcpy(&eh, bytes, sizeof(eh));
    unsigned char *at = (unsigned char *)bytes + eh.e_phoff;
    for (;; at += sizeof(ph)) {
        memcpy(&ph, at, sizeof(ph));
        if (ph.p_type == liars[_i].type && --left == 0)
            break;
        ck_assert(at < (unsigned char *)bytes + eh.e_phoff + eh.e_phnum * sizeof(ph));
    }
    uint64_t *fields[] = {&ph.p_memsz, &ph.p_filesz, &ph.p_vaddr, &ph.p_align};
    *fields[liars[_i].field] = liars[_i].value;
    memcpy(at, &ph, sizeof(ph));
    ck_assert_int_eq(parse(bytes, n), DP_EPLUGIN);
    says(err.message, liars[_i].says);
    dp_free(bytes);
}
END_TEST

/* Headers that would have the same part of a file read again and again. */
static const struct {
    uint32_t type;
    unsigned times; /* how often the first header of that type is repeated */
    const char *says;
} repeaters[] = {
    {PT_NOTE, 0, ""},
    {PT_DYNAMIC, 1, "has two dynamic segments"},
    {PT_NOTE, 3, "has notes that overlap"},
    {PT_NULL, 65000, "expected at most 128"},
};

START_TEST(manifest_refuses_headers_that_repeat)
{
    void *bytes;
    size_t n;
    Elf64_Ehdr eh;
    Elf64_Phdr ph = {.p_type = PT_NULL};

    ck_assert_int_eq(dpi_file_read(built("plugins/template"), &bytes, &n, &err), 0);
    memcpy(&eh, bytes, sizeof(eh));
    unsigned total = eh.e_phnum + repeaters[_i].times;
    unsigned char *longer = calloc(1, n + total * sizeof(ph)), *to = longer + n;
    memcpy(longer, bytes, n);
    for (unsigned i = 0; i < eh.e_phnum && repeaters[_i].type != PT_NULL; i++) {
        memcpy(&ph, longer + eh.e_phoff + i * sizeof(ph), sizeof(ph));
        if (ph.p_type == repeaters[_i].type)
            break;
    }
    memcpy(to, longer + eh.e_phoff, eh.e_phnum * sizeof(ph));
    if (ph.p_type == PT_NOTE) {
        ph.p_offset = 0;
        ph.p_filesz = n / 2;
    }
    for (unsigned i = eh.e_phnum; i < total; i++)
        memcpy(to + i * sizeof(ph), &ph, sizeof(ph));
    eh.e_phoff = n;
    eh.e_phnum = (Elf64_Half)total;
    memcpy(longer, &eh, sizeof(eh));
    int rc = parse(longer, n + total * sizeof(ph));
    ck_assert_msg(rc == (repeaters[_i].times == 0 ? 0 : DP_EPLUGIN), "%d: %s", rc, err.message);
    says(err.message, repeaters[_i].says);
    free(longer);
    dp_free(bytes);
}
END_TEST

/* Return the value of `tag` in the dynamic section: an address in the first segment, which is the
 * offset in the file, too. */
static uint64_t dynamic_value(const unsigned char *bytes, int64_t tag)
{
    Elf64_Ehdr eh;
    Elf64_Phdr ph;
    Elf64_Dyn dyn;

    memcpy(&eh, bytes, sizeof(eh));
    for (unsigned i = 0; i < eh.e_phnum; i++) {
        memcpy(&ph, bytes + eh.e_phoff + i * sizeof(ph), sizeof(ph));
        for (uint64_t k = 0; ph.p_type == PT_DYNAMIC && k < ph.p_filesz / sizeof(dyn); k++) {
            memcpy(&dyn, bytes + ph.p_offset + k * sizeof(dyn), sizeof(dyn));
            if (dyn.d_tag == tag)
                return dyn.d_un.d_val;
        }
    }
    ck_abort_msg("no entry %lld", (long long)tag);
}

START_TEST(manifest_refuses_what_the_linker_would_not_look_at)
{
    const uint64_t far = 0x7000000;
    void *bytes;
    size_t n;

    ck_assert_int_eq(dpi_file_read(built("plugins/template"), &bytes, &n, &err), 0);
    unsigned char *symbol = (unsigned char *)bytes + dynamic_value(bytes, DT_SYMTAB) +
                            sizeof(Elf64_Sym) + offsetof(Elf64_Sym, st_name);
    unsigned char *relocation =
        (unsigned char *)bytes + dynamic_value(bytes, DT_RELA) + offsetof(Elf64_Rela, r_offset);
    memcpy(relocation, &far, sizeof(far));
    ck_assert_int_eq(parse(bytes, n), DP_EPLUGIN);
    says(err.message, "relocation");
    uint32_t name = (uint32_t)dynamic_value(bytes, DT_STRSZ);
    memcpy(symbol, &name, sizeof(name));
    ck_assert_int_eq(parse(bytes, n), DP_EPLUGIN);
    says(err.message, "past its names");
    dp_free(bytes);
}
END_TEST

START_TEST(manifest_survives_every_mutation)
{
    void *bytes;
    size_t n, read = 0;
    unsigned state = 1;

    ck_assert_int_eq(dpi_file_read(built("plugins/template"), &bytes, &n, &err), 0);
    for (int i = 0; i < MUTATIONS; i++) {
        unsigned char saved[16];
        size_t at[16], n_at = (size_t)(rand_r(&state) % 16 + 1);
        size_t len = rand_r(&state) % 4 ? n : (size_t)rand_r(&state) % n;
        for (size_t k = 0; k < n_at; k++) { /* half of them where the headers and the notes are */
            at[k] = (size_t)rand_r(&state) % (rand_r(&state) % 2 || n < 2048 ? n : 2048);
            saved[k] = ((unsigned char *)bytes)[at[k]];
            ((unsigned char *)bytes)[at[k]] =
                rand_r(&state) % 3 ? (unsigned char)rand_r(&state) : 0xff;
        }
        dp_arena_reset(arena);
        int rc = parse(bytes, len);
        unit_each(rc == 0 || rc == DP_EPLUGIN, "mutation %d gave %d: %s", i, rc, err.message);
        read += rc == 0;
        for (size_t k = n_at; k-- > 0;)
            ((unsigned char *)bytes)[at[k]] = saved[k];
    }
    ck_assert_uint_gt(read, 0);
    ck_assert_uint_lt(read, MUTATIONS);
    ck_assert_int_eq(parse(bytes, n), 0);
    dp_free(bytes);
}
END_TEST

START_TEST(manifest_survives_every_failed_allocation)
{
    int rc = DP_ERESOURCE;

    for (uint64_t n = 1; rc != 0; n++) {
        ck_assert_uint_lt(n, 1000);
        arena = dp_arena_free(arena);
        arena = dp_arena_new();
        const char *path = built("plugins/template");
        dp_fault_arm(n);
        rc = dp_manifest_read(path, arena, &m, &err);
        dp_fault_arm(0);
        ck_assert_msg(rc == 0 || rc == DP_ERESOURCE, "allocation %d: %d %s", (int)n, rc,
                      err.message);
    }
}
END_TEST

UNIT_SUITE(manifest)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, manifest_tells_everything_in_source_order);
    tcase_add_test(tc, manifest_names_backends);
    tcase_add_test(tc, manifest_of_another_abi_is_readable);
    tcase_add_loop_test(tc, manifest_warns_of_what_makes_unloading_unsafe, 0, DPI_COUNT(hazards));
    tcase_add_loop_test(tc, manifest_refuses_what_is_no_plugin, 0, DPI_COUNT(not_plugins));
    tcase_add_test(tc, manifest_of_a_library_without_notes);
    tcase_add_test(tc, manifest_of_a_system_library);
    tcase_add_test(tc, manifest_refuses_two_names);
    tcase_add_test(tc, manifest_passes_over_notes_of_others);
    tcase_add_loop_test(tc, manifest_refuses_segments_of_other_memory, 0, DPI_COUNT(liars));
    tcase_add_loop_test(tc, manifest_refuses_headers_that_repeat, 0, DPI_COUNT(repeaters));
    tcase_add_test(tc, manifest_refuses_what_the_linker_would_not_look_at);
    tcase_add_test(tc, manifest_survives_every_mutation);
    tcase_add_test(tc, manifest_survives_every_failed_allocation);
}
