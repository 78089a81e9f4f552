/* elf.h -- a shared object's bytes, of which nothing is trusted. */
#ifndef DPI_ELF_H
#define DPI_ELF_H

#include "plugin_i.h"
#include <elf.h>

typedef struct dpi_elf {
    const unsigned char *p; /* borrowed */
    size_t n;
    Elf64_Ehdr eh;
} dpi_elf;

/* DP_EPLUGIN when it is no 64-bit little-endian shared object. */
int dpi_elf_open(dpi_elf *e, const void *bytes, size_t n, const char *path, dp_error *err);
/* `bytes` bytes at `offset`; NULL when they are not all in the file. */
const void *dpi_elf_at(const dpi_elf *e, uint64_t offset, uint64_t bytes);
/* The same, copied: what is in a file need not be aligned. */
bool dpi_elf_get(const dpi_elf *e, uint64_t offset, void *dst, size_t bytes);
/* Program header i; false past the last, or when it is not in the file. */
bool dpi_elf_segment(const dpi_elf *e, unsigned i, Elf64_Phdr *ph);
/* Section header i; false past the last, or when it is not in the file.  For hints alone: nothing
 * that runs needs sections. */
bool dpi_elf_section(const dpi_elf *e, unsigned i, Elf64_Shdr *sh);
/* Where the byte of this address lies in the file; UINT64_MAX: nowhere. */
uint64_t dpi_elf_offset(const dpi_elf *e, uint64_t address);
/* Do these addresses lie in one of its segments, in memory? */
bool dpi_elf_has(const dpi_elf *e, uint64_t address, uint64_t bytes);
/* DP_EPLUGIN unless its segments lie in the file, and in memory one behind the other, and what says
 * more of them points into them.  The dynamic linker takes that for granted: it maps segments where
 * they say, over whatever is there, and its trial in another process may happen to hit nothing. */
int dpi_elf_check_segments(const dpi_elf *e, const char *path, dp_error *err);

/* hazards.c: fill in out->warnings and *h.  DP_EPLUGIN where the dynamic linker would read or write
 * outside of the file's own memory. */
int dpi_hazards_find(const dpi_elf *e, const char *path, dp_arena *a, dp_manifest *out,
                     dpi_hazards *h, dp_error *err);

#endif
