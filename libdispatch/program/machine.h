/* machine.h -- declarations for running a program: the state of one run, and the functions of
 * steps.c that run the steps that call no operator. */
#ifndef DPI_MACHINE_H
#define DPI_MACHINE_H

#include "dispatch/call/ctx.h"
#include "program_i.h"

#pragma GCC visibility push(hidden)

/* The state of one run (dp_program_run()). */
typedef struct dpi_machine {
    dp_ctx *ctx;
    dp_run *run;
    bool is_formula;  /* dpi_program_run_formula() runs the program */
    dp_value *values; /* [p->frame] values of the outermost program p, then of inner programs */
    bool *written;    /* [p->frame] the value is an argument that the step returning it wrote */
} dpi_machine;

/* Get the value or constant `r` of program `p`, whose values begin at `base`. */
static inline const dp_value *dpi_machine_value(const dpi_machine *m, const dp_program *p,
                                                uint32_t base, dp_ref r)
{
    return DPI_REF_KIND(r) == DPI_REF_VALUE ? &m->values[base + r]
                                            : &p->constants[DPI_REF_INDEX(r)];
}

/* Release the tensors that dpi_fit() or dp_bind() made for arguments of this step, mostly from
 * numbers: all in ctx->owned except the first `n`. */
static inline void dpi_release_owned(dp_ctx *ctx, uint32_t n)
{
    while (DPI_UNLIKELY(ctx->n_owned > n))
        dp_tensor_unref(ctx->owned[--ctx->n_owned]);
}

/* Put the origins of step `s` of `p` (dpi_step.origin) before the message of the context's error;
 * returns the error's code. */
int dpi_fail_at(dp_ctx *ctx, const dp_program *p, const dpi_step *s);
/* Check that each operator of p and of its inner programs still has the schema that the steps were
 * checked against. */
int dpi_check_ops(dp_ctx *ctx, const dp_program *p, dp_run *run);
/* Convert the inputs to the types that `p` declares for them.  Inputs of a formula (a program that
 * computes gradients) that no wanted output needs are left alone: they may be None. */
int dpi_fit_inputs(const dpi_machine *m, const dp_program *p, dp_value *inputs);
/* Check that the devices of the tensors in `values` still exist.  The plugin of a device may have
 * been unloaded since the tensors were made.  dp_bind() checks the arguments of other calls, but
 * inputs and constants of a program do not pass through it. */
int dpi_check_devices(dp_ctx *ctx, const dp_value *values, uint32_t n);
/* Run `p` without charging the number of its values to the account. */
int dpi_run_uncharged(dp_ctx *ctx, const dp_program *p, dp_run *run, bool is_formula);

/* Must step `s` run?  False: its condition (`when`) is false, or the program is the outermost one,
 * some output needs the step, and all outputs that need it are unwanted (dp_run.unwanted). */
static inline bool dpi_is_due(const dpi_machine *m, const dp_program *p, uint32_t base,
                              const dpi_step *s)
{
    if (DPI_UNLIKELY(base == 0 && m->run->unwanted != 0) && s->need != 0 &&
        (s->need & ~(m->run->unwanted & INT64_MAX)) == 0)
        return false;
    return DPI_LIKELY(s->when == DPI_REF_NONE) ||
           dpi_scalar_true(dpi_machine_value(m, p, base, s->when));
}

/* Run step `s`, which neither calls an operator nor runs a program, by the function of its kind
 * below. */
int dpi_run_simple(dpi_machine *m, const dp_program *p, uint32_t base, const dpi_step *s);
/* Run step `s` of program `p`, whose values begin at `base`, and store what it returns (steps.c).
 * Each returns 0, or the code of the context's error. */
int dpi_run_get(dpi_machine *m, const dp_program *p, uint32_t base, const dpi_step *s);
int dpi_run_list(dpi_machine *m, const dp_program *p, uint32_t base, const dpi_step *s);
int dpi_run_item(dpi_machine *m, const dp_program *p, uint32_t base, const dpi_step *s);
int dpi_run_scalar(dpi_machine *m, const dp_program *p, uint32_t base, const dpi_step *s);
int dpi_run_select(dpi_machine *m, const dp_program *p, uint32_t base, const dpi_step *s);

#pragma GCC visibility pop

#endif
