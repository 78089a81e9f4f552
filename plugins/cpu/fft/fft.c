/* fft.c -- the Fourier transforms _fft_c2c, _fft_r2c and _fft_c2r, which transform one dimension
 * after the other (aten/src/ATen/native/mkl/SpectralOps.cpp: the pocketfft part).  fft.h describes
 * the method.
 *
 * Lines are processed in tiles.  Each tile is gathered into the scratch memory of the thread that
 * works on it, and scattered from there; so input and output may have any strides, and may be one
 * tensor.  An inverse transform is a forward transform with real and imaginary parts exchanged. */
#include "fft.h"
#include "core/dense.h"

enum {
    WIDE = 16,  /* greatest number of lanes of a tile */
    SLOTS = 16, /* greatest number of parts of the lines, each with scratch memory of its own */
    /* greatest number of elements of a tile whose lines are transformed one by one */
    ROOM = 1 << 18,
    /* real lines up to this length are not transformed as complex lines of half the length */
    SHORT = 64,
    DENSE = 64, /* contiguous lines of at least so many elements are transformed one by one */
};

typedef enum fft_kind { COMPLEX, FROM_REAL, TO_REAL } fft_kind;

/* The transform along one dimension.  Strides count floats or doubles, not complex numbers. */
typedef struct axis_job {
    fft_kind kind;
    bool inverse;
    double scale;
    /* elements of a line: of the transform, of the input, of the output */
    int64_t n, in_rows, out_rows;
    /* input and output; `offsets` and `apart` are set by side_of() for each tile */
    fft_side in, out;
    /* number of dimensions in `sizes`: those that are not transformed */
    int ndim;
    int64_t sizes[DP_DIM_MAX], in_strides[DP_DIM_MAX], out_strides[DP_DIM_MAX];
    int64_t lines, lanes, tiles;
    const fft_plan *plan;
    const fft_row *loops;
    /* the elements of a line are contiguous in a tile, and each line is transformed separately */
    bool one_by_one;
    int64_t rows; /* elements of a line in a tile */
    char *room;   /* scratch memory [slots, 4, part_bytes] */
    int64_t slots, part_bytes;
} axis_job;

/* -- one tile -- */

/* Test whether a real line is transformed as a complex line of half the length.  This rounds once
 * more than a transform of the line itself; short lines, which gain little speed, are therefore
 * excluded. */
static bool is_halved(const axis_job *j)
{
    return j->kind != COMPLEX && j->n % 2 == 0 && j->n > SHORT;
}

/* Return the input or, with `out`, the output of line `first` and the lines after it.  offsets
 * [lanes] is set to the offsets of the lines. */
static fft_side side_of(const axis_job *j, bool out, int64_t first, int64_t lanes, int64_t *offsets)
{
    const int64_t *strides = out ? j->out_strides : j->in_strides;
    fft_side side = out ? j->out : j->in;

    for (int64_t b = 0; b < lanes; b++) {
        offsets[b] = 0;
        for (int64_t d = j->ndim - 1, at = first + b; d >= 0; at /= j->sizes[d], d--)
            offsets[b] += at % j->sizes[d] * strides[d];
    }
    side.offsets = offsets;
    side.apart = lanes > 1 ? offsets[1] - offsets[0] : 0;
    for (int64_t b = 2; b < lanes; b++)
        side.apart = offsets[b] - offsets[b - 1] == side.apart ? side.apart : 0;
    return side;
}

/* Change a side of real numbers to one of complex numbers, pairs of neighbours. */
static void halve(fft_side *side)
{
    side->imag = side->step;
    side->step *= 2;
    side->real = false;
}

static fft_pair swapped(fft_pair p, bool swap)
{
    return swap ? (fft_pair){p.im, p.re} : p;
}

/* Transform tile `x`, with tile `y` as scratch memory.  Return the tile that has the result. */
static fft_tile transform(const axis_job *j, fft_tile x, fft_tile y)
{
    size_t item = j->loops == &CPU_CHOSEN(fft_loops)[1] ? sizeof(double) : sizeof(float);
    fft_pair a = swapped(x.parts, j->inverse), b = swapped(y.parts, j->inverse), done;

    if (!j->one_by_one) {
        x.parts = swapped(j->loops->run(j->plan, a, b, x.lanes), j->inverse);
        return x;
    }
    for (int64_t i = 0; i < x.lanes; i++) {
        size_t at = (size_t)(i * x.lane) * item;
        done = j->loops->run(j->plan, (fft_pair){(char *)a.re + at, (char *)a.im + at},
                             (fft_pair){(char *)b.re + at, (char *)b.im + at}, 1);
        if (i == 0)
            x.parts = swapped(done, j->inverse); /* the results of the other lines follow */
    }
    return x;
}

static void run_tile(const axis_job *j, int64_t slot, int64_t tile)
{
    int64_t in_at[WIDE], out_at[WIDE], first = tile * j->lanes;
    int64_t lanes = j->lines - first < j->lanes ? j->lines - first : j->lanes;
    fft_side in = side_of(j, false, first, lanes, in_at);
    fft_side out = side_of(j, true, first, lanes, out_at);
    char *room = j->room + slot * 4 * j->part_bytes;
    fft_tile x = {{room, room + j->part_bytes}, lanes, 1, lanes}, y;
    int64_t in_rows = j->in_rows, out_rows = j->out_rows;

    if (j->one_by_one) {
        x.row = 1;
        x.lane = j->rows;
    }
    y = x;
    y.parts = (fft_pair){room + 2 * j->part_bytes, room + 3 * j->part_bytes};
    if (is_halved(j) && j->kind == FROM_REAL) {
        halve(&in);
        in_rows /= 2;
    } else if (is_halved(j)) {
        halve(&out);
        out_rows /= 2;
    }
    j->loops->gather(&x, in_rows, &in);
    if (j->kind == TO_REAL && is_halved(j))
        j->loops->real_before(j->plan, &x);
    else if (j->kind == TO_REAL)
        j->loops->mirror(&x, j->n);
    x = transform(j, x, y);
    if (j->kind == FROM_REAL && is_halved(j))
        j->loops->real_after(j->plan, &x);
    if (j->kind == FROM_REAL && out_rows == j->n)
        j->loops->mirror(&x, j->n);
    j->loops->scatter(&x, out_rows, &out, j->scale);
}

static void run_slots(int64_t begin, int64_t end, void *user)
{
    const axis_job *j = user;

    for (int64_t slot = begin; slot < end; slot++)
        for (int64_t i = j->tiles * slot / j->slots;
             i < j->tiles * (slot + 1) / j->slots && dp_stop_code(NULL) == 0; i++)
            run_tile(j, slot, i);
}

/* -- one dimension -- */

/* List the dimensions that are not transformed in `j`, in descending order of the output's
 * strides. */
static void list_lines(axis_job *j, const dp_view *in, const dp_view *out, int64_t axis)
{
    int in_unit = j->in.real ? 1 : 2, out_unit = j->out.real ? 1 : 2;

    j->lines = 1;
    for (int d = 0; d < out->ndim; d++) {
        int at = j->ndim;
        if (d == axis || out->sizes[d] == 1)
            continue;
        for (; at > 0 && j->out_strides[at - 1] < out->strides[d] * out_unit; at--) {
            j->sizes[at] = j->sizes[at - 1];
            j->in_strides[at] = j->in_strides[at - 1];
            j->out_strides[at] = j->out_strides[at - 1];
        }
        j->sizes[at] = out->sizes[d];
        j->in_strides[at] = in->strides[d] * in_unit;
        j->out_strides[at] = out->strides[d] * out_unit;
        j->lines *= out->sizes[d];
        j->ndim++;
    }
}

/* Choose the number of lanes of a tile, and whether its lines are transformed one by one. */
static void choose_tiles(axis_job *j, bool dense)
{
    j->rows = j->plan->rows > j->out_rows ? j->plan->rows : j->out_rows;
    j->one_by_one = j->lines == 1 || j->plan->rows >= (dense ? DENSE : FFT_LONG);
    j->lanes = j->lines < WIDE ? j->lines : WIDE;
    if (j->one_by_one && (dense || j->rows > ROOM))
        j->lanes = 1;
    else if (j->one_by_one && j->rows * j->lanes > ROOM)
        j->lanes = ROOM / j->rows;
    j->tiles = (j->lines + j->lanes - 1) / j->lanes;
    j->slots = j->tiles < SLOTS ? j->tiles : SLOTS;
}

static int make_rooms(dp_ctx *ctx, axis_job *j, size_t item)
{
    /* distance of the parts, so that they are mapped to different cache lines */
    enum { APART = 3 * FFT_ALIGN };
    int64_t bytes;

    if (__builtin_mul_overflow(j->rows * j->lanes, (int64_t)item, &j->part_bytes) ||
        __builtin_mul_overflow(j->part_bytes + 2 * APART, 4 * j->slots, &bytes))
        return dp_fail(ctx, DP_ERESOURCE, "a transform of %" PRId64 " elements", j->n);
    j->part_bytes = (j->part_bytes + APART + FFT_ALIGN - 1) & -(int64_t)FFT_ALIGN;
    j->room = dp_alloc_n(ctx, dp_size_times(4, j->part_bytes), (size_t)j->slots);
    return j->room != NULL ? 0 : DP_ERESOURCE;
}

/* Transform along dimension `axis`; `in` and `out` have the same sizes in all other dimensions. */
static int run_axis(dp_ctx *ctx, axis_job *j, const dp_view *in, const dp_view *out, int64_t axis)
{
    bool wide = in->dtype == DP_FLOAT64 || in->dtype == DP_COMPLEX128;
    fft_plan *plan;
    double ops;
    int rc;

    j->in_rows = j->kind == TO_REAL ? j->n / 2 + 1 : j->n;
    j->out_rows = out->sizes[axis];
    j->in.real = j->kind == FROM_REAL;
    j->out.real = j->kind == TO_REAL;
    j->in.data = in->data;
    j->out.data = out->data;
    j->in.step = in->strides[axis] * (j->in.real ? 1 : 2);
    j->out.step = out->strides[axis] * (j->out.real ? 1 : 2);
    j->in.imag = j->out.imag = 1;
    list_lines(j, in, out, axis);
    if (j->lines == 0)
        return 0;
    j->loops = &CPU_CHOSEN(fft_loops)[wide];
    rc = fft_plan_get(ctx, is_halved(j) ? j->n / 2 : j->n, in->dtype, is_halved(j), &plan);
    if (rc < 0)
        return rc;
    j->plan = plan;
    choose_tiles(j, in->strides[axis] == 1 && out->strides[axis] == 1);
    ops = (double)j->lines * (double)j->plan->rows * 8;
    rc = make_rooms(ctx, j, wide ? sizeof(double) : sizeof(float));
    if (rc == 0)
        rc = dp_parallel_for(ctx, 0, j->slots, dense_grain(ops / (double)j->slots), run_slots, j);
    fft_plan_put(plan);
    return rc;
}

/* -- several dimensions -- */

/* arguments of a call */
typedef struct fft_call {
    fft_kind kind;
    bool inverse;
    dp_tensor *self;
    const int64_t *dim;
    size_t n;
    /* normalization; length of the last transformed dimension, in real numbers */
    int64_t norm, length;
    bool onesided;
    double scale; /* factor of the result, set by check() */
} fft_call;

/* at::native's fft_norm_mode */
enum { NORM_NONE, NORM_ROOT, NORM_ALL };

static int find_scale(dp_ctx *ctx, fft_call *c, const int64_t *sizes)
{
    double all = 1;

    for (size_t i = 0; i < c->n; i++)
        all *= (double)sizes[c->dim[i]];
    if (c->norm < NORM_NONE || c->norm > NORM_ALL)
        return dp_fail(ctx, DP_ERUNTIME, "Unsupported normalization type %" PRId64, c->norm);
    c->scale = c->norm == NORM_ALL ? 1 / all : c->norm == NORM_ROOT ? 1 / sqrt(all) : 1;
    return 0;
}

static int check_dims(dp_ctx *ctx, const fft_call *c, int ndim)
{
    uint64_t seen = 0;

    for (size_t i = 0; i < c->n; i++) {
        if (c->dim[i] < 0 || c->dim[i] >= ndim)
            return dp_fail(ctx, DP_EVALUE,
                           "dimension %" PRId64 " is out of range for a tensor of %d dimensions",
                           c->dim[i], ndim);
        if (seen >> c->dim[i] & 1)
            return dp_fail(ctx, DP_EVALUE, "dimension %" PRId64 " is given twice", c->dim[i]);
        seen |= (uint64_t)1 << c->dim[i];
    }
    return 0;
}

/* Return the complex dtype of a real dtype, and the real dtype of a complex dtype. */
static dp_dtype other_dtype(dp_dtype d)
{
    return d == DP_FLOAT32     ? DP_COMPLEX64
           : d == DP_FLOAT64   ? DP_COMPLEX128
           : d == DP_COMPLEX64 ? DP_FLOAT32
                               : DP_FLOAT64;
}

/* Check the call, and set sizes [ndim] of the result and c->scale. */
static int check(dp_ctx *ctx, fft_call *c, int64_t *sizes)
{
    DP_VIEW(x, c->self);
    unsigned types =
        c->kind == FROM_REAL ? DP_DTYPE_BITS(DP_DTYPES_FLOATING) : DP_DTYPE_BITS(DP_DTYPES_COMPLEX);
    int rc =
        x.ndim > 0 ? check_dims(ctx, c, x.ndim) : dp_fail(ctx, DP_ERUNTIME, "ndim must be >= 1");

    if (rc == 0 && !(types & DENSE_BIT(x.dtype)))
        rc = dp_fail(ctx, DP_ERUNTIME, "the transform expects a %s tensor but got %s",
                     c->kind == FROM_REAL ? "floating point" : "complex", dp_dtype_name(x.dtype));
    if (rc == 0 && c->kind != COMPLEX && c->n == 0)
        rc = dp_fail(ctx, DP_ERUNTIME,
                     "a transform to or from real numbers needs a dimension, but dim is empty");
    if (rc < 0)
        return rc;
    dp_copy_n(sizes, x.sizes, (size_t)x.ndim, sizeof(int64_t));
    if (c->kind == COMPLEX)
        return find_scale(ctx, c, sizes);
    int64_t last = c->dim[c->n - 1];
    c->length = c->kind == FROM_REAL ? sizes[last] : c->length;
    if (c->length < 1)
        return dp_fail(ctx, DP_ERUNTIME, "Invalid number of data points (%" PRId64 ") specified",
                       c->length);
    if (c->kind == TO_REAL && sizes[last] < c->length / 2 + 1)
        return dp_fail(ctx, DP_ERUNTIME,
                       "an output of %" PRId64 " real numbers needs %" PRId64
                       " numbers in dimension %" PRId64 " of the input, which has %" PRId64,
                       c->length, c->length / 2 + 1, last, sizes[last]);
    sizes[last] = c->length;
    rc = find_scale(ctx, c, sizes);
    sizes[last] = c->kind == FROM_REAL && c->onesided ? c->length / 2 + 1 : c->length;
    return rc;
}

/* Transform the first `n` dimensions of c->dim one after the other, as complex numbers; the last
 * transform multiplies by `scale`. */
static int run_complex(dp_ctx *ctx, const fft_call *c, const dp_view *from, const dp_view *to,
                       size_t n, double scale)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++) {
        axis_job j = {.kind = COMPLEX,
                      .inverse = c->inverse,
                      .scale = i + 1 == n ? scale : 1,
                      .n = to->sizes[c->dim[i]]};
        rc = run_axis(ctx, &j, i == 0 ? from : to, to, c->dim[i]);
    }
    return rc;
}

static int run_from_real(dp_ctx *ctx, const fft_call *c, const dp_view *x, const dp_view *out)
{
    axis_job j = {.kind = FROM_REAL, .scale = c->n > 1 ? 1 : c->scale, .n = c->length};
    int rc = run_axis(ctx, &j, x, out, c->dim[c->n - 1]);

    return rc < 0 ? rc : run_complex(ctx, c, out, out, c->n - 1, c->scale);
}

static int run_to_real(dp_ctx *ctx, const fft_call *c, const dp_view *x, const dp_view *out)
{
    axis_job j = {.kind = TO_REAL, .inverse = true, .scale = c->scale, .n = c->length};
    dp_tensor *between;

    if (c->n == 1)
        return run_axis(ctx, &j, x, out, c->dim[0]);
    int rc = dp_empty(ctx, x->dtype, x->device, x->ndim, x->sizes, DP_CONTIGUOUS, &between);
    if (rc < 0)
        return rc;
    DP_VIEW(y, between);
    rc = run_complex(ctx, c, x, &y, c->n - 1, 1);
    if (rc == 0)
        rc = run_axis(ctx, &j, &y, out, c->dim[c->n - 1]);
    dp_tensor_unref(between);
    return rc;
}

/* Run the transform into *out, owned. */
static int run(dp_ctx *ctx, fft_call *c, dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX];
    DP_VIEW(x, c->self);
    dp_dtype dtype = c->kind == COMPLEX ? x.dtype : other_dtype(x.dtype);
    int rc = check(ctx, c, sizes);

    if (rc == 0)
        rc = dp_empty(ctx, dtype, x.device, x.ndim, sizes, DP_CONTIGUOUS, out);
    if (rc < 0)
        return rc;
    DP_VIEW(y, *out);
    if (dp_memoryless(ctx) || y.numel == 0)
        return 0;
    if (c->n == 0)
        rc = dp_copy(ctx, *out, c->self);
    else
        rc = c->kind == COMPLEX     ? run_complex(ctx, c, &x, &y, c->n, c->scale)
             : c->kind == FROM_REAL ? run_from_real(ctx, c, &x, &y)
                                    : run_to_real(ctx, c, &x, &y);
    if (rc < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

static int run_out(dp_ctx *ctx, fft_call *c, dp_tensor *out)
{
    dp_tensor *made;
    DP_VIEW(x, c->self);
    DP_VIEW(o, out);
    int rc = 0;

    if (c->kind == FROM_REAL && !c->onesided && !dp_dtype_is_complex(o.dtype))
        rc = dp_fail(ctx, DP_ERUNTIME,
                     "\"_fft_fill_with_conjugate_symmetry\" not implemented for '%s'",
                     dense_type_name(o.dtype));
    if (rc == 0)
        rc = run(ctx, c, &made);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    DP_VIEW(y, made);
    rc = dp_set_output(ctx, &out, y.ndim, y.sizes, NULL, DP_DTYPE_NONE, x.device);
    if (rc == 0)
        rc = dp_copy(ctx, out, made);
    dp_tensor_unref(made);
    return rc < 0 ? dp_refuse(ctx, rc, NULL) : rc;
}

#define FORMS(name, ...)                                                                           \
    static int name(PARAMS, dp_tensor **out)                                                       \
    {                                                                                              \
        return run(ctx, &(fft_call){.self = self, .dim = dim, .n = n, .norm = norm, __VA_ARGS__},  \
                   out);                                                                           \
    }                                                                                              \
    static int name##_out(PARAMS, dp_tensor *out)                                                  \
    {                                                                                              \
        return run_out(                                                                            \
            ctx, &(fft_call){.self = self, .dim = dim, .n = n, .norm = norm, __VA_ARGS__}, out);   \
    }

/* aten::_fft_c2c(Tensor self, int[] dim, int normalization, bool forward) -> Tensor */
#define PARAMS                                                                                     \
    dp_ctx *ctx, dp_tensor *self, const int64_t *dim, size_t n, int64_t norm, bool forward
FORMS(fft_c2c, .kind = COMPLEX, .inverse = !forward)
#undef PARAMS
/* aten::_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor */
#define PARAMS                                                                                     \
    dp_ctx *ctx, dp_tensor *self, const int64_t *dim, size_t n, int64_t norm, bool onesided
FORMS(fft_r2c, .kind = FROM_REAL, .onesided = onesided)
#undef PARAMS
/* aten::_fft_c2r(Tensor self, int[] dim, int normalization, int last_dim_size) -> Tensor */
#define PARAMS                                                                                     \
    dp_ctx *ctx, dp_tensor *self, const int64_t *dim, size_t n, int64_t norm, int64_t length
FORMS(fft_c2r, .kind = TO_REAL, .inverse = true, .length = length)
#undef PARAMS

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("_fft_c2c", fft_c2c, (T, li, i, b), (T)),
                DP_IMPL_UNBOXED("_fft_c2c.out", fft_c2c_out, (T, li, i, b, T), ()),
                DP_IMPL_UNBOXED("_fft_r2c", fft_r2c, (T, li, i, b), (T)),
                DP_IMPL_UNBOXED("_fft_r2c.out", fft_r2c_out, (T, li, i, b, T), ()),
                DP_IMPL_UNBOXED("_fft_c2r", fft_c2r, (T, li, i, i), (T)),
                DP_IMPL_UNBOXED("_fft_c2r.out", fft_c2r_out, (T, li, i, i, T), ()))
