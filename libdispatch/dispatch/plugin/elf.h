/* elf.h -- bounds-checked access to the bytes of a shared object's file. */
#ifndef DPI_ELF_H
#define DPI_ELF_H

#include "plugin_i.h"
#include <elf.h>

typedef struct dpi_elf {
    const unsigned char *p; /* [n] the file's bytes; borrowed */
    size_t n;
    Elf64_Ehdr eh;
} dpi_elf;

/* Set up `e` for the `n` bytes of a file.  DP_EPLUGIN: the file is not a 64-bit little-endian
 * shared object. */
int dpi_elf_open(dpi_elf *e, const void *bytes, size_t n, const char *path, dp_error *err);
/* Return a pointer to the `bytes` bytes at `offset`.  NULL: some of these bytes lie outside the
 * file. */
const void *dpi_elf_at(const dpi_elf *e, uint64_t offset, uint64_t bytes);
/* Copy `bytes` bytes at `offset` to `dst`, as data in a file need not be aligned.  False: some of
 * the bytes lie outside the file. */
bool dpi_elf_get(const dpi_elf *e, uint64_t offset, void *dst, size_t bytes);
/* Copy program header `i` to *ph.  False: there is no such header, or it lies outside the file. */
bool dpi_elf_segment(const dpi_elf *e, unsigned i, Elf64_Phdr *ph);
/* Copy section header `i` to *sh.  False: there is no such header, or it lies outside the file.
 * Use sections for warnings only: a stripped file may lack them. */
bool dpi_elf_section(const dpi_elf *e, unsigned i, Elf64_Shdr *sh);
/* Return the file offset of the byte at `address`.  UINT64_MAX: the byte is not in the file. */
uint64_t dpi_elf_offset(const dpi_elf *e, uint64_t address);
/* Do the `bytes` bytes at `address` lie in the memory of one segment? */
bool dpi_elf_has(const dpi_elf *e, uint64_t address, uint64_t bytes);
/* Check that the segments lie in the file and, in memory, in ascending order without overlap, and
 * that the headers PT_DYNAMIC, PT_TLS, PT_GNU_RELRO and PT_GNU_EH_FRAME point into the segments;
 * and that the file has few headers, one dynamic segment, and no more bytes of notes than bytes.
 * DP_EPLUGIN: a check fails.  The dynamic linker does not check this: it maps a segment at its
 * address even over other memory.  A trial load in another process may not show the fault, because
 * there the addresses may be unused. */
int dpi_elf_check_segments(const dpi_elf *e, const char *path, dp_error *err);

/* Fill in out->warnings and *h (hazards.c).  DP_EPLUGIN: the dynamic linker would read or write
 * memory that does not belong to the file. */
int dpi_hazards_find(const dpi_elf *e, const char *path, dp_arena *a, dp_manifest *out,
                     dpi_hazards *h, dp_error *err);

#endif
