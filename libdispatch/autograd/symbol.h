/* symbol.h -- programs that are captured for any size of some dimensions of their inputs. */
#ifndef DPI_SYMBOL_H
#define DPI_SYMBOL_H

#include "program/program_i.h"

#pragma GCC visibility push(hidden)

/* Sizes to give to some dimensions of the inputs while a program is captured. */
typedef struct dpi_dynamic {
    const dp_input_place *places; /* [n] */
    const int64_t *sizes;         /* [n] */
    uint32_t n;
} dpi_dynamic;

/* Set `sizes` and `strides` to those of tensor `t` at place `at`, with the sizes that `d` gives it.
 * It is dense, with its dimensions in the order of the strides of `t`.  False: `d` gives it none
 * (captured_run.c). */
bool dpi_dynamic_layout(const dpi_dynamic *d, const dp_tensor *t, dp_input_place at, int64_t *sizes,
                        int64_t *strides);

/* dp_program_capture(), with fakes of other sizes; NULL: of those of `inputs` (captured_run.c). */
int dpi_capture_program(dp_ctx *ctx, const dp_program *p, const dp_value *inputs,
                        const dp_capture_options *o, const dpi_dynamic *dynamic, dp_program **out);

/* Make the tensors among the constants of `p` constants of `c` (captured_run.c). */
int dpi_capture_constants(dp_ctx *ctx, dp_capture *c, const dp_program *p);

/* Sizes with which a program was captured: sizes[k * n_symbols + s] is that of symbol `s` in the
 * k-th capture. */
typedef struct dpi_probes {
    const int64_t *sizes;
    uint32_t n, n_symbols;
} dpi_probes;

enum { /* dpi_expr.outer */
       DPI_EXPR_PLAIN,
       DPI_EXPR_FLOORDIV,
       DPI_EXPR_MOD,
       DPI_EXPR_MIN,
       DPI_EXPR_MAX
};

/* times * outer(a * product(first) + b * product(second) + c, d); `times` 0 stands for 1.  Bit s of
 * `first` and `second` stands for symbol `s`; a set without symbols stands for nothing. */
typedef struct dpi_expr {
    int64_t a, b, c, d, times;
    uint32_t first, second, outer;
} dpi_expr;

/* Find the simplest expression that gives values[k] for each probe `k`; may change the values
 * (expression.c). */
bool dpi_expr_solve(const dpi_probes *p, int64_t *values, dpi_expr *out);
int64_t dpi_expr_eval(const dpi_expr *e, const int64_t *sizes);
bool dpi_expr_is_equal(const dpi_expr *x, const dpi_expr *y);
/* Write the expression, such as "(s0+1)//2", to `buf`.  Returns `buf`. */
enum { DPI_EXPR_TEXT = 160 };
const char *dpi_expr_text(const dpi_expr *e, char buf[DPI_EXPR_TEXT]);

/* A number of a captured program that depends on the sizes. */
typedef struct dpi_varying {
    uint32_t step, arg; /* step n_steps: output `arg` */
    uint32_t item;      /* of a list */
    uint32_t as;        /* how the number comes from `expr` */
    dpi_expr expr;
} dpi_varying;
enum { DPI_AS_INT, DPI_AS_DOUBLE, DPI_AS_RECIPROCAL };

/* The numbers of a program that depend on the sizes, in the order of steps, arguments and items. */
typedef struct dpi_general {
    dpi_varying *varying;
    uint32_t n, cap;
} dpi_general;

/* Compare the programs of all probes, and find the numbers that differ; programs[0] is the one that
 * is made general.  DP_EVALUE: the steps differ, or no expression gives a number (general.c). */
int dpi_general_find(dp_ctx *ctx, dp_program *const *programs, const dpi_probes *p,
                     dpi_general *out);
/* Is `q`, captured with `sizes`, what the general program made of `p` is for these sizes?  Errors
 * as above. */
int dpi_general_check(dp_ctx *ctx, const dp_program *p, const dp_program *q, const dpi_general *g,
                      const int64_t *sizes);
/* Make the general program: *out, owned.  symbols[i]: the symbol of dynamic size i; least[s]: its
 * least size (general_make.c). */
int dpi_general_make(dp_ctx *ctx, const dp_program *p, const dpi_general *g,
                     const dpi_dynamic *dynamic, const uint32_t *symbols, const int64_t *least,
                     dp_program **out);

#pragma GCC visibility pop

#endif
