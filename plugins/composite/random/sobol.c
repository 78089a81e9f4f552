/* sobol.c -- Sobol sequences: points that fill a cube evenly
 * (aten/src/ATen/native/SobolEngineOps.cpp).
 *
 * Each dimension has 30 direction numbers, a row of the state.  In each dimension, point n + 1 is
 * point n xor a direction number, whose index is the index of the lowest 0 bit of n.  The first
 * direction numbers of each dimension, and the polynomial from which the others follow, are in
 * sobol.bin; tests/operators/record/sobol_numbers.py, which wrote that file, describes its format.
 * The numbers are by S. Joe and F. Y. Kuo:
 *
 * Copyright (c) 2008, Frances Y. Kuo and Stephen Joe.  All rights reserved.
 *
 * Redistribution and use in source and binary forms, with or without modification, are permitted
 * provided that the following conditions are met:
 *  - Redistributions of source code must retain the above copyright notice, this list of conditions
 *    and the following disclaimer.
 *  - Redistributions in binary form must reproduce the above copyright notice, this list of
 *    conditions and the following disclaimer in the documentation and/or other materials provided
 *    with the distribution.
 *  - Neither the names of the copyright holders nor the names of the University of New South Wales
 *    and the University of Waikato and its contributors may be used to endorse or promote products
 *    derived from this software without specific prior written permission.
 *
 * THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS "AS IS" AND ANY EXPRESS OR IMPLIED WARRANTIES,
 * INCLUDING, BUT NOT LIMITED TO, THE IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A
 * PARTICULAR PURPOSE ARE DISCLAIMED.  IN NO EVENT SHALL THE COPYRIGHT HOLDERS BE LIABLE FOR ANY
 * DIRECT, INDIRECT, INCIDENTAL, SPECIAL, EXEMPLARY, OR CONSEQUENTIAL DAMAGES (INCLUDING, BUT NOT
 * LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR SERVICES; LOSS OF USE, DATA, OR PROFITS; OR
 * BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON ANY THEORY OF LIABILITY, WHETHER IN CONTRACT, STRICT
 * LIABILITY, OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE OF THIS
 * SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.
 *
 * Operators: _sobol_engine_draw, _sobol_engine_ff, _sobol_engine_initialize_state,
 * _sobol_engine_scramble. */
#include "core/chain.h"
#include <dispatchd/check.h>

enum { BITS = 30, DIMENSIONS = 21201 };

__asm__(".pushsection .rodata\n"
        "sobol_numbers: .incbin \"plugins/composite/random/sobol.bin\"\n"
        ".popsection");
extern const uint8_t sobol_numbers[] __attribute__((visibility("hidden")));

/* -- checks that all memory that is read or written is in the tensors -- */

/* Check that `t` is int64 and has at least the sizes [rows, columns], or [rows] if `ndim` is 1. */
static int check_numbers(dp_ctx *ctx, const char *name, dp_tensor *t, int ndim, int64_t rows,
                         int64_t columns)
{
    char want[DP_SHAPE_TEXT], got[DP_SHAPE_TEXT];
    DP_VIEW(x, t);

    if (x.dtype != DP_INT64)
        return dp_refuse(ctx, DP_ERUNTIME, "%s needs to be of type Long, but is %s", name,
                         dp_dtype_aten_name(x.dtype));
    if (x.ndim != ndim)
        return dp_refuse(ctx, DP_ERUNTIME, "%s: expected %d dims but tensor has %d", name, ndim,
                         x.ndim);
    if (dp_device_backend(x.device) != 0 && !dp_memoryless(ctx))
        return dp_refuse(ctx, DP_ENOTIMPL, "%s is not on the CPU", name);
    if (rows > x.sizes[0] || (ndim == 2 && columns > x.sizes[1]))
        return dp_refuse(ctx, DP_ERUNTIME, "%s: expected a shape of at least %s but got %s", name,
                         dp_shape_text(want, (int64_t[]){rows, columns}, (size_t)ndim),
                         dp_shape_text(got, x.sizes, (size_t)x.ndim));
    return 0;
}

static int64_t *number_at(const dp_view *x, int64_t i, int64_t j)
{
    return (int64_t *)x->data + i * x->strides[0] + j * x->strides[1];
}

/* -- points -- */

/* Return the index of the lowest bit of `n` that is 0; 0 if n is negative. */
static int lowest_zero(int64_t n)
{
    return n < 0 ? 0 : __builtin_ctzll(~(uint64_t)n);
}

typedef struct engine {
    dp_tensor *state;
    int64_t n, dimension, generated; /* number of points to draw; number of points drawn before */
} engine;

/* Return for how many of the points, from e->generated on, lowest_zero() is `bit`. */
static uint64_t points_at(const engine *e, int bit)
{
    uint64_t n = e->n > 0 ? (uint64_t)e->n : 0,
             before = e->generated < 0 ? -(uint64_t)e->generated : 0;
    uint64_t below = before < n ? before : n;
    unsigned __int128 half = (unsigned __int128)1 << bit;
    unsigned __int128 first = e->generated < 0 ? 0 : (uint64_t)e->generated,
                      end = first + (n - below);

    return (uint64_t)(((end + half) >> (bit + 1)) - ((first + half) >> (bit + 1))) +
           (bit == 0 ? below : 0);
}

static int check_engine(dp_ctx *ctx, const engine *e, dp_tensor *quasi)
{
    int bits = 64; /* for the greatest number, the lowest 0 is a bit of its own */

    while (bits > 0 && points_at(e, bits - 1) == 0)
        bits--;
    int rc = check_numbers(ctx, "sobolstate", e->state, 2, e->dimension, bits);
    return rc < 0 ? rc : check_numbers(ctx, "quasi", quasi, 1, e->dimension, 0);
}

/* Compute the next point from a point, by the direction numbers of `bit`. */
static void step(const dp_view *state, int64_t dimension, int bit, int64_t *quasi, int64_t stride)
{
    if (dimension <= 0) /* without dimensions, there may be no numbers in `state` */
        return;
    const int64_t *number = number_at(state, 0, bit);
    int64_t rows = state->strides[0];

    for (int64_t j = 0; j < dimension; j++)
        quasi[j * stride] ^= number[j * rows];
}

/* Write point quasi [dimension], as fractions of 1, to row `i` of y. */
static void write_point(const dp_view *y, int64_t i, const int64_t *quasi, int64_t dimension)
{
    const float one = 1.0F / (1 << BITS);

    if (y->dtype == DP_FLOAT32)
        for (int64_t j = 0; j < dimension; j++)
            ((float *)y->data)[i * dimension + j] = (float)quasi[j] * one;
    else
        for (int64_t j = 0; j < dimension; j++)
            ((double *)y->data)[i * dimension + j] = (double)quasi[j] * one;
}

enum { EACH = 1 << 12 }; /* number of points between two checks whether the request is cancelled */

/* Draw e->n points, as rows of e->dimension numbers. */
static int draw_points(dp_ctx *ctx, const engine *e, dp_tensor *points, dp_tensor *quasi)
{
    DP_VIEW(s, e->state);
    DP_VIEW(y, points);
    DP_VIEW(q, quasi);
    int rc = 0;

    for (int64_t i = 0; rc == 0 && i < e->n; i++) {
        int bit = lowest_zero((int64_t)((uint64_t)e->generated + (uint64_t)i));
        step(&s, e->dimension, bit, q.data, 1);
        write_point(&y, i, q.data, e->dimension);
        rc = i % EACH == 0 ? dp_checkpoint(ctx) : 0;
    }
    return rc;
}

/* aten::_sobol_engine_draw(Tensor quasi, int n, Tensor sobolstate, int dimension, int
 *     num_generated, ScalarType? dtype) -> (Tensor, Tensor) */
static int draw(dp_ctx *ctx, dp_tensor *quasi, int64_t n, dp_tensor *state, int64_t dimension,
                int64_t generated, const int64_t *dtype, dp_tensor **points, dp_tensor **next)
{
    const engine e = {state, n, dimension, generated};
    const int64_t sizes[2] = {n, dimension}, packed = DP_CONTIGUOUS;
    dp_dtype type = dtype ? (dp_dtype)*dtype : DP_FLOAT32;
    int rc = check_engine(ctx, &e, quasi);

    if (rc == 0 && type != DP_FLOAT32 && type != DP_FLOAT64)
        rc = dp_refuse_dtype(ctx, "_sobol_engine_draw", type);
    if (rc == 0 && (n < 0 || dimension < 0))
        rc = dp_fail(ctx, DP_ERUNTIME,
                     "Trying to create tensor with negative dimension: [%" PRId64 ", %" PRId64 "]",
                     n, dimension);
    if (rc < 0)
        return rc;
    DP_VIEW(s, state);
    rc = dp_empty(ctx, type, s.device, 2, sizes, DP_CONTIGUOUS, points);
    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::clone", "Toi>T", quasi, &packed, next);
    if (rc == 0 && !dp_memoryless(ctx) && (rc = draw_points(ctx, &e, *points, *next)) < 0)
        *next = dp_tensor_unref(*next);
    return release_on_error(rc, points);
}

/* aten::_sobol_engine_ff_(Tensor(a!) self, int n, Tensor sobolstate, int dimension, int
 *     num_generated) -> Tensor(a!)
 * Changes self as if n points had been drawn; two steps by the same number cancel. */
static int skip(dp_ctx *ctx, dp_tensor *self, int64_t n, dp_tensor *state, int64_t dimension,
                int64_t generated)
{
    const engine e = {state, n, dimension, generated};
    int rc = check_engine(ctx, &e, self);

    if (rc < 0 || dp_memoryless(ctx))
        return rc;
    DP_VIEW(q, self);
    DP_VIEW(s, state);
    for (int bit = 0; bit < BITS; bit++)
        if (points_at(&e, bit) % 2 == 1)
            step(&s, dimension, bit, q.data, q.strides[0]);
    return 0;
}

/* -- the state -- */

/* Return the last rows of ltm [dimensions, bits, bits], with ones on the diagonals, as numbers
 * [dimensions, bits]. */
static dp_tensor *rows_as_numbers(chain *c, dp_tensor *ltm)
{
    dp_tensor *t = CHAIN(c, "aten::clone", "T>T", ltm);
    dp_tensor *diagonal =
        CHAIN(c, "aten::diagonal", "Tiii>T", t, (int64_t)0, (int64_t)-2, (int64_t)-1);

    diagonal = chain_Ts(c, "aten::fill_.Scalar", diagonal, dp_int(1));
    if (c->rc < 0)
        return NULL;
    DP_VIEW(x, t);
    const int64_t dtype = x.dtype, device = x.device, size = x.sizes[x.ndim - 1];
    dp_tensor *powers = CHAIN(c, "aten::arange.start_step", "sssoioioi>T", dp_int(size - 1),
                              dp_int(-1), dp_int(-1), &dtype, NULL, &device);
    powers = chain_sT(c, "aten::pow.Scalar", dp_int(2), powers);
    const int64_t last = -1;
    return CHAIN(c, "aten::sum.dim_IntList", "Toli>T", chain_TT(c, "aten::mul.Tensor", powers, t),
                 &last, (size_t)1);
}

static void scramble_rows(const dp_view *state, const dp_view *rows, int64_t dimension)
{
    const uint64_t all = ((uint64_t)1 << BITS) - 1;

    for (int64_t d = 0; d < dimension; d++)
        for (int64_t j = 0; j < BITS; j++) {
            int64_t *at = number_at(state, d, j);
            uint64_t number = (uint64_t)*at & all, made = 0;
            for (int p = 0; p < BITS; p++) {
                uint64_t row = (uint64_t)*number_at(rows, d, p);
                made |= (uint64_t)__builtin_parityll(row & number) << (BITS - 1 - p);
            }
            *at = (int64_t)made;
        }
}

/* aten::_sobol_engine_scramble_(Tensor(a!) self, Tensor ltm, int dimension) -> Tensor(a!)
 * Multiplies each number by the bit matrix of its dimension. */
static int scramble(dp_ctx *ctx, dp_tensor *self, dp_tensor *ltm, int64_t dimension)
{
    int64_t bits = dimension > 0 ? BITS : 0;
    chain c = {.ctx = ctx, .rc = check_numbers(ctx, "sobolstate", self, 2, dimension, bits)};
    dp_tensor *rows = rows_as_numbers(&c, ltm);

    if (c.rc == 0)
        c.rc = check_numbers(ctx, "ltm", rows, 2, dimension, bits);
    if (c.rc < 0)
        return dp_refuse(ctx, chain_end(&c, NULL, NULL), NULL);
    DP_VIEW(s, self);
    DP_VIEW(r, rows);
    if (!dp_memoryless(ctx))
        scramble_rows(&s, &r, dimension);
    return chain_end(&c, NULL, NULL);
}

/* Position at which sobol.bin is read. */
typedef struct reader {
    size_t bit;
    int degree;
    int64_t polynomial;
} reader;

static int64_t read_bits(reader *r, int n)
{
    int64_t v = 0;

    for (int i = 0; i < n; i++, r->bit++)
        v |= (int64_t)(sobol_numbers[r->bit / 8] >> r->bit % 8 & 1) << i;
    return v;
}

static void next_polynomial(reader *r)
{
    int64_t half = read_bits(r, 8);

    if (half == 0) {
        r->degree++;
        r->polynomial = ((int64_t)1 << r->degree) - 1;
        half = read_bits(r, 8);
    }
    r->polynomial += 2 * half;
}

static void first_numbers(reader *r, int64_t *numbers)
{
    next_polynomial(r);
    for (int i = 0; i < r->degree; i++)
        numbers[i] = read_bits(r, i) << 1 | 1;
    for (int j = r->degree; j < BITS; j++) {
        numbers[j] = numbers[j - r->degree];
        for (int k = 0; k < r->degree; k++)
            if (r->polynomial >> (r->degree - 1 - k) & 1)
                numbers[j] ^= numbers[j - k - 1] << (k + 1);
    }
}

/* aten::_sobol_engine_initialize_state_(Tensor(a!) self, int dimension) -> Tensor(a!)
 * Shifts number j of each dimension left by BITS - 1 - j bits; the rows of self after the last
 * dimension are shifted, too. */
static int initialize(dp_ctx *ctx, dp_tensor *self, int64_t dimension)
{
    reader r = {.degree = 1, .polynomial = 1};
    int64_t numbers[BITS];
    DP_VIEW(s, self);
    int rc = check_numbers(ctx, "sobolstate", self, 2, dimension, 0);

    if (rc == 0 && dimension > DIMENSIONS)
        rc = dp_refuse(ctx, DP_ERUNTIME, "there are numbers of %d dimensions, not of %" PRId64,
                       DIMENSIONS, dimension);
    if (rc == 0 && s.sizes[0] == 0)
        rc = dp_refuse(ctx, DP_EINDEX, "select(): sobolstate has no rows");
    if (rc == 0 && s.sizes[1] != BITS)
        rc = dp_refuse(ctx, DP_ERUNTIME, "sobolstate should have %d columns, but has %" PRId64,
                       BITS, s.sizes[1]);
    if (rc < 0 || dp_memoryless(ctx))
        return rc;
    for (int64_t d = 0; rc == 0 && d < s.sizes[0]; d++) {
        if (d > 0 && d < dimension)
            first_numbers(&r, numbers);
        for (int64_t j = 0; j < BITS; j++) {
            int64_t *at = number_at(&s, d, j);
            int64_t number = d == 0 ? 1 : d < dimension ? numbers[j] : *at;
            *at = number << (BITS - 1 - j);
        }
        rc = d % EACH == 0 ? dp_checkpoint(ctx) : 0;
    }
    return rc;
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("_sobol_engine_draw", draw, (T, i, T, i, i, oi), (T, T)),
                DP_IMPL_UNBOXED("_sobol_engine_ff_", skip, (T, i, T, i, i), ()),
                DP_IMPL_UNBOXED("_sobol_engine_scramble_", scramble, (T, T, i), ()),
                DP_IMPL_UNBOXED("_sobol_engine_initialize_state_", initialize, (T, i), ()))
