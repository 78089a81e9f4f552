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
 * It is dense, with its dimensions in the order of the strides of `t`.  False: `d` gives it none.
 * (symbol.c) */
bool dpi_dynamic_layout(const dpi_dynamic *d, const dp_tensor *t, dp_input_place at, int64_t *sizes,
                        int64_t *strides);

/* dp_program_capture(), with fakes of other sizes; NULL: of those of `inputs` (captured_run.c). */
int dpi_capture_program(dp_ctx *ctx, const dp_program *p, const dp_value *inputs,
                        const dp_capture_options *o, const dpi_dynamic *dynamic, dp_program **out);

#pragma GCC visibility pop

#endif
