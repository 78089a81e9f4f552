/* graph.h -- the rewriter with which passes make a new program from a program.
 *
 * A pass reads the steps of the old program in order and adds the steps of the new one to a
 * builder.  The rewriter has a map from the old values and constants to the new ones.  What a pass
 * copies keeps its name, origins, mode, condition and flags. */
#ifndef DPI_GRAPH_H
#define DPI_GRAPH_H

#include "program/program_i.h"
#include <dispatchd/passes.h>

#pragma GCC visibility push(hidden)

typedef struct dpi_rewrite {
    dp_ctx *ctx;
    const dp_program *from;
    dp_builder *b;
    dp_ref *values;    /* [from->n_values] new value of each old one; DPI_REF_NONE: none yet */
    dp_ref *constants; /* [from->n_constants] the same for constants, copied at their first use */
    /* [n_more] origins that the next steps get besides those of the step that they replace */
    const uint32_t *more;
    size_t n_more;
    /* [from->n_subs] programs that SUB steps run in place of those of `from`; an item NULL, or
     * `subs` NULL: the same.  Borrowed. */
    dp_program *const *subs;
    /* While the steps of an inner program are copied: the rewriter of the program around it and the
     * SUB step there, whose origins all steps get; the condition of that step, a new reference, or
     * DPI_REF_NONE; and its mode (sets 0: that of the run). */
    struct dpi_rewrite *outer;
    uint32_t like;
    dp_ref when;
    dp_step_mode mode;
} dpi_rewrite;

/* Make the builder and copy the inputs.  Call dpi_rewrite_end() afterwards, also after a
 * failure. */
int dpi_rewrite_begin(dpi_rewrite *r, dp_ctx *ctx, const dp_program *from);
void dpi_rewrite_end(dpi_rewrite *r);
/* Begin as dpi_rewrite_begin() does, but copy no inputs and guards, for a program of some of the
 * steps; dpi_rewrite_input() copies input i. */
int dpi_rewrite_begin_part(dpi_rewrite *r, dp_ctx *ctx, const dp_program *from);
int dpi_rewrite_input(dpi_rewrite *r, uint32_t i);
/* Copy the guards that name only inputs from `first` to before `end`, which must be in the map, and
 * the one of written inputs (guards.c). */
int dpi_rewrite_guards(dpi_rewrite *r, uint32_t first, uint32_t end);
/* *may: may the guards of the program of SUB step `step`, which is not copied yet, be guards of the
 * new program (guards.c)? */
int dpi_guards_may_rise(dpi_rewrite *r, uint32_t step, bool *may);
/* Make them such, once the inputs of `inner` are in its map. */
int dpi_guards_rise(const dpi_rewrite *inner);
/* Begin to copy the program of SUB step `like`, which `outer` has not copied, into the same
 * builder.  The caller enters the inputs in inner->values.  Call dpi_rewrite_end() afterwards. */
int dpi_rewrite_within(dpi_rewrite *inner, dpi_rewrite *outer, uint32_t like);
/* Make the new program: *out, owned. */
int dpi_rewrite_finish(dpi_rewrite *r, dp_program **out);
/* Get the new reference of value or constant `old`: *out. */
int dpi_rewrite_ref(dpi_rewrite *r, dp_ref old, dp_ref *out);
/* Add a copy of step i, with the new references of its arguments.  *first: its first return.  The
 * map does not get the returns. */
int dpi_rewrite_step(dpi_rewrite *r, uint32_t i, dp_ref *first);
/* Add a copy of step i, as dpi_rewrite_step() does, and enter its returns and their names. */
int dpi_rewrite_keep(dpi_rewrite *r, uint32_t i);
/* Add step `s`, whose references are new ones, with the origins and the mode of step `like`. */
int dpi_rewrite_add(dpi_rewrite *r, uint32_t like, dp_step *s, dp_ref *first);
/* Get the condition of step i, as a new reference: *out.  DPI_REF_NONE: it always runs. */
int dpi_rewrite_when(dpi_rewrite *r, uint32_t i, dp_ref *out);
/* Add a step that chooses *yes if `when` is true, else *no; `no` NULL: None.  *yes: its return. */
int dpi_rewrite_select(dpi_rewrite *r, uint32_t like, dp_ref when, dp_ref *yes, const dp_ref *no);
/* Enter `ref` as the new value of `old`.  It gets the name of `old` if neither had one in the new
 * program. */
int dpi_rewrite_set(dpi_rewrite *r, dp_ref old, dp_ref ref);
/* Copy all outputs. */
int dpi_rewrite_outputs(dpi_rewrite *r);
/* Add a constant that the old program does not have. */
int dpi_rewrite_int(dpi_rewrite *r, int64_t i, dp_ref *out);
/* Put the origins of step i before the message of the context's error.  Returns its code. */
int dpi_rewrite_fail(const dpi_rewrite *r, uint32_t i);

/* Does the operator change what a tensor is, such as its sizes, and not its elements? */
bool dpi_changes_tensor(const dp_schema *s);
/* Fill touched [p->n_values]: may a step of p write to the memory of the value? */
void dpi_find_touched(const dp_program *p, bool *touched);
/* Fill kept [p->n_values]: may an output share the memory of the value? */
void dpi_find_kept(const dp_program *p, bool *kept);

static inline bool dpi_is_value(dp_ref r)
{
    return DPI_REF_KIND(r) == DPI_REF_VALUE;
}

/* Return the value whose memory value `v` shares: one with memory of its own, or `v` itself, also
 * if its memory is a constant's or not known. */
static inline dp_ref dpi_root_of(const dp_program *p, dp_ref v)
{
    const dpi_share *share = &p->values[v].share;
    bool shares = share->how == DPI_SAME || share->how == DPI_VIEW_OF;

    return shares && dpi_is_value(share->base) ? share->base : v;
}

/* Mark `r`, if it is a value, and the value whose memory it shares. */
static inline void dpi_mark_shared(const dp_program *p, dp_ref r, bool *marks)
{
    if (dpi_is_value(r))
        marks[r] = marks[dpi_root_of(p, r)] = true;
}

#pragma GCC visibility pop

#endif
