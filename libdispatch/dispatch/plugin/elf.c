/* elf.c -- reads a plugin's file, and finds segments, sections and addresses in its bytes.
 *
 * All data that loading needs is found through program headers, which strip(1) does not remove.
 * Every offset is checked in 64-bit arithmetic. */
#include "elf.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* -- the file -- */

static int open_error(const char *path, dp_error *err)
{
    int error = errno, code = DP_ERUNTIME;

    if (error == ENOENT || error == ENOTDIR)
        code = DP_ENOTFOUND;
    else if (error == EACCES)
        code = DP_EPERM;
    else if (error == EMFILE || error == ENFILE || error == ENOMEM)
        code = DP_ERESOURCE;
    return dp_error_set(err, code, "cannot open '%s': %s", path, strerror(error));
}

/* Read `n` bytes, or fewer at the end of the file or on an error; return the number of bytes. */
static size_t read_all(int fd, char *p, size_t n)
{
    size_t got = 0;

    while (got < n) {
        ssize_t r = read(fd, p + got, n - got);
        if (r < 0 && errno == EINTR)
            continue;
        if (r <= 0)
            break;
        got += (size_t)r;
    }
    return got;
}

/* Is `path` still the file that `fd` has open, with the size and modification time in `was`? */
static bool unchanged(int fd, const char *path, const struct stat *was)
{
    struct stat at_fd, at_path;

    return fstat(fd, &at_fd) == 0 && stat(path, &at_path) == 0 && at_path.st_dev == was->st_dev &&
           at_path.st_ino == was->st_ino && at_fd.st_size == was->st_size &&
           at_fd.st_mtim.tv_sec == was->st_mtim.tv_sec &&
           at_fd.st_mtim.tv_nsec == was->st_mtim.tv_nsec;
}

static int read_fd(int fd, const char *path, void **bytes, size_t *n, dp_error *err)
{
    struct stat st;
    size_t size, got;
    char *p;

    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return dp_error_set(err, DP_EPLUGIN, "'%s' is not a regular file", path);
    if (st.st_size > DP_LIMIT_PLUGIN_FILE)
        return dp_error_set(err, DP_ERESOURCE, "'%s' has %lld bytes, more than plugin_file = %d",
                            path, (long long)st.st_size, DP_LIMIT_PLUGIN_FILE);
    size = (size_t)st.st_size;
    p = dp_malloc(size);
    if (p == NULL)
        return dpi_no_memory(err, "a plugin's file");
    got = read_all(fd, p, size);
    if (got < size || !unchanged(fd, path, &st)) {
        dp_free(p);
        return dp_error_set(err, DP_EBUSY,
                            "'%s' changed while it was read (%zu of %zu bytes): somebody is "
                            "writing it",
                            path, got, size);
    }
    *bytes = p;
    *n = size;
    return 0;
}

int dpi_file_read(const char *path, void **bytes, size_t *n, dp_error *err)
{
    /* O_NONBLOCK: open() must not wait if the path is a pipe. */
    int rc, fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

    if (fd < 0)
        return open_error(path, err);
    rc = read_fd(fd, path, bytes, n, err);
    close(fd);
    return rc;
}

/* -- the file's bytes -- */

const void *dpi_elf_at(const dpi_elf *e, uint64_t offset, uint64_t bytes)
{
    return offset <= e->n && bytes <= e->n - offset ? e->p + offset : NULL;
}

bool dpi_elf_get(const dpi_elf *e, uint64_t offset, void *dst, size_t bytes)
{
    const void *src = dpi_elf_at(e, offset, bytes);

    if (src)
        memcpy(dst, src, bytes);
    return src != NULL;
}

bool dpi_elf_segment(const dpi_elf *e, unsigned i, Elf64_Phdr *ph)
{
    return i < e->eh.e_phnum && e->eh.e_phoff <= e->n &&
           dpi_elf_get(e, e->eh.e_phoff + (uint64_t)i * sizeof(*ph), ph, sizeof(*ph));
}

bool dpi_elf_section(const dpi_elf *e, unsigned i, Elf64_Shdr *sh)
{
    return i < e->eh.e_shnum && e->eh.e_shentsize == sizeof(*sh) && e->eh.e_shoff <= e->n &&
           dpi_elf_get(e, e->eh.e_shoff + (uint64_t)i * sizeof(*sh), sh, sizeof(*sh));
}

uint64_t dpi_elf_offset(const dpi_elf *e, uint64_t address)
{
    Elf64_Phdr ph;

    for (unsigned i = 0; dpi_elf_segment(e, i, &ph); i++)
        if (ph.p_type == PT_LOAD && address >= ph.p_vaddr && address - ph.p_vaddr < ph.p_filesz &&
            ph.p_offset <= e->n)
            return ph.p_offset + (address - ph.p_vaddr);
    return UINT64_MAX;
}

bool dpi_elf_has(const dpi_elf *e, uint64_t address, uint64_t bytes)
{
    Elf64_Phdr ph;

    for (unsigned i = 0; dpi_elf_segment(e, i, &ph); i++)
        if (ph.p_type == PT_LOAD && address >= ph.p_vaddr && bytes <= ph.p_memsz &&
            address - ph.p_vaddr <= ph.p_memsz - bytes)
            return true;
    return false;
}

int dpi_elf_open(dpi_elf *e, const void *bytes, size_t n, const char *path, dp_error *err)
{
    e->p = bytes;
    e->n = n;
    if (!dpi_elf_get(e, 0, &e->eh, sizeof(e->eh)) || memcmp(e->eh.e_ident, ELFMAG, SELFMAG) != 0)
        return dp_error_set(err, DP_EPLUGIN, "'%s' is not an ELF file", path);
    if (e->eh.e_ident[EI_CLASS] != ELFCLASS64 || e->eh.e_ident[EI_DATA] != ELFDATA2LSB ||
        e->eh.e_type != ET_DYN || e->eh.e_phentsize != sizeof(Elf64_Phdr))
        return dp_error_set(err, DP_EPLUGIN, "'%s' is not a 64-bit little-endian shared object",
                            path);
    return 0;
}

/* -- checks that the dynamic linker omits -- */

/* The range of addresses of all PT_LOAD segments checked until now. */
typedef struct span {
    uint64_t low, end;
    bool any; /* false: no segment was checked yet */
} span;

/* Check a PT_LOAD segment, whose addresses must be above those in `s`, and extend `s` by it.  NULL:
 * no fault. */
static const char *load_segment_fault(const dpi_elf *e, const Elf64_Phdr *ph, span *s)
{
    const uint64_t max_address = UINT64_C(1) << 47; /* a process has no higher addresses */

    if (dpi_elf_at(e, ph->p_offset, ph->p_filesz) == NULL)
        return "is cut short: a segment lies past its end";
    if (ph->p_memsz < ph->p_filesz || ph->p_vaddr > max_address ||
        ph->p_memsz > max_address - ph->p_vaddr)
        return "has a segment of an impossible size";
    if (s->any && ph->p_vaddr < s->end)
        return "has segments that overlap or are out of order";
    if ((ph->p_align & (ph->p_align - 1)) != 0)
        return "has a segment whose alignment is no power of two";
    if (!s->any)
        s->low = ph->p_vaddr;
    s->end = ph->p_vaddr + ph->p_memsz;
    s->any = true;
    return NULL;
}

/* Check that a header which describes a part of the mapped segments points into them, because the
 * dynamic linker reads that part, or (for PT_GNU_RELRO) makes its pages read-only.  NULL: no
 * fault. */
static const char *header_fault(const Elf64_Phdr *ph, const span *s)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), end = (s->end + page - 1) / page * page;
    bool is_checked = ph->p_type == PT_DYNAMIC || ph->p_type == PT_TLS ||
                      ph->p_type == PT_GNU_RELRO || ph->p_type == PT_GNU_EH_FRAME;

    return is_checked && (!s->any || ph->p_vaddr < s->low || ph->p_vaddr > end ||
                          ph->p_filesz > end - ph->p_vaddr ||
                          (ph->p_type != PT_TLS && ph->p_memsz > end - ph->p_vaddr))
               ? "has a header that points past its segments"
               : NULL;
}

/* Check that notes and dynamic segments have no more bytes than the file: thousands of headers of
 * the same bytes would take memory and time without end.  NULL: no fault. */
static const char *repeated_fault(const dpi_elf *e)
{
    bool has_dynamic = false;
    uint64_t notes = 0;
    Elf64_Phdr ph;

    for (unsigned i = 0; dpi_elf_segment(e, i, &ph); i++) {
        if (ph.p_type == PT_DYNAMIC && has_dynamic)
            return "has two dynamic segments";
        has_dynamic = has_dynamic || ph.p_type == PT_DYNAMIC;
        if (ph.p_type == PT_NOTE && ph.p_filesz > e->n - notes)
            return "has notes that overlap or lie past its end";
        notes += ph.p_type == PT_NOTE ? ph.p_filesz : 0;
    }
    return NULL;
}

int dpi_elf_check_segments(const dpi_elf *e, const char *path, dp_error *err)
{
    enum { HEADERS_MAX = 128 }; /* linkers make about 12; each relocation is compared with all */
    const char *fault = NULL;
    span s = {0, 0, false};
    Elf64_Phdr ph;

    if (e->eh.e_phnum > HEADERS_MAX)
        return dp_error_set(err, DP_EPLUGIN, "'%s' has %u program headers, expected at most %d",
                            path, e->eh.e_phnum, HEADERS_MAX);
    if (e->eh.e_phnum && dpi_elf_at(e, e->eh.e_phoff, (uint64_t)e->eh.e_phnum * sizeof(ph)) == NULL)
        fault = "is cut short: its headers lie past its end";
    if (fault == NULL)
        fault = repeated_fault(e);
    for (unsigned i = 0; fault == NULL && dpi_elf_segment(e, i, &ph); i++)
        fault = ph.p_type == PT_LOAD ? load_segment_fault(e, &ph, &s) : NULL;
    for (unsigned i = 0; fault == NULL && dpi_elf_segment(e, i, &ph); i++)
        fault = header_fault(&ph, &s);
    return fault ? dp_error_set(err, DP_EPLUGIN, "'%s' %s", path, fault) : 0;
}
