/* ask.h -- what the files that answer questions about the registry share: bind, info, dump,
 * explain.
 *
 * Answers are copied into the asker's arena: what they are made from may be unloaded the next
 * moment. */
#ifndef DPI_ASK_H
#define DPI_ASK_H

#include "dispatch_i.h"

/* An arena with a sticky failure: an answer is many small pieces and one check at its end. */
typedef struct dpi_answer {
    dp_arena *arena;
    bool failed;
} dpi_answer;
void *dpi_answer_alloc(dpi_answer *a, size_t n, size_t bytes); /* zeroed; NULL: no memory */
const char *dpi_answer_str(dpi_answer *a, const char *s);      /* NULL stays NULL */
const char *dpi_answer_printf(dpi_answer *a, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
dp_provenance dpi_answer_from(dpi_answer *a, const dpi_generation *gen, const char *file,
                              uint32_t line);
/* Where a cell's kernel comes from; the host itself for its fallthroughs, {0} for nothing. */
dp_provenance dpi_answer_cell(dpi_answer *a, dpi_cell c);

/* Runtime keys of the backends alive, in table order, Undefined first; returns how many.
 * AutocastNamed is a key of named backends only. */
size_t dpi_runtime_keys(dp_key out[DPI_SLOTS_MAX]);
/* What the entry's table says for k. */
dpi_cell dpi_entry_cell(const dpi_entry *e, dp_key k);
/* The key is passed over: the host's fallthrough, or a kernel that is one. */
bool dpi_cell_falls_through(dpi_cell c);
/* Defined, or at least one kernel. */
bool dpi_op_alive(const dp_op *op);

/* Hold a snapshot for a moment: the running call's or program's, or the newest.  No lock. */
int dpi_ask_begin(dp_ctx *ctx, bool *begun);
void dpi_ask_end(dp_ctx *ctx, bool begun);

/* DP_ENOTFOUND for a name the snapshot does not have: its overloads, or the nearest names. */
int dpi_no_operator(const dpi_snapshot *s, const char *name, dp_error *err);

#endif
