/* machine.h -- declarations for running a program: the values of one run, and the functions that
 * run the steps that call no operator. */
#ifndef DPI_MACHINE_H
#define DPI_MACHINE_H

#include "program_i.h"

#pragma GCC visibility push(hidden)

typedef struct dpi_machine {
    dp_ctx *ctx;
    dp_run *run;
    bool is_formula;  /* dpi_program_run_formula() runs the program */
    dp_value *values; /* [p->frame] of the outermost program and of the inner ones that run */
    bool *written;    /* [p->frame] the value is an argument that its step has written */
} dpi_machine;

/* Get the value or constant `r` of program `p`, whose values begin at `base`. */
static inline const dp_value *dpi_machine_value(const dpi_machine *m, const dp_program *p,
                                                uint32_t base, dp_ref r)
{
    return DPI_REF_KIND(r) == DPI_REF_VALUE ? &m->values[base + r]
                                            : &p->constants[DPI_REF_INDEX(r)];
}

/* Run step `s` of program `p`, whose values begin at `base`, and store what it returns (steps.c).
 * Each returns 0, or the code of the context's error. */
int dpi_run_get(dpi_machine *m, const dp_program *p, uint32_t base, const dpi_step *s);
int dpi_run_list(dpi_machine *m, const dp_program *p, uint32_t base, const dpi_step *s);
int dpi_run_item(dpi_machine *m, const dp_program *p, uint32_t base, const dpi_step *s);
int dpi_run_scalar(dpi_machine *m, const dp_program *p, uint32_t base, const dpi_step *s);
int dpi_run_select(dpi_machine *m, const dp_program *p, uint32_t base, const dpi_step *s);

#pragma GCC visibility pop

#endif
