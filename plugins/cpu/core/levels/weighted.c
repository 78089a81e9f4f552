/* weighted.c -- weighted sums of arrays, and weighted sums of rows of a table (weighted.h). */
#include "core/weighted.h"

#define COMBINE(name, type, fma)                                                                   \
    static void name(size_t n, void *sums, char *const *from, const double *by, int count)         \
    {                                                                                              \
        type *to = sums;                                                                           \
        for (size_t i = 0; i < n; i++) {                                                           \
            type sum = 0;                                                                          \
            for (int k = 0; k < count; k++)                                                        \
                sum = fma(((const type *)from[k])[i], (type)by[k], sum);                           \
            to[i] = sum;                                                                           \
        }                                                                                          \
    }
COMBINE(combine_f32, float, __builtin_fmaf)
COMBINE(combine_f64, double, __builtin_fma)
const wt_combine DP_ISA_NAME(wt_combined)[] = {combine_f32, combine_f64};

enum {
    LANES = 16, /* columns in one vector */
    WIDE = 4,   /* vectors added per row while at least WIDE * LANES columns remain */
    BLOCK = 64, /* rows summed in float32 before their sum is added to `out`, in double */
    AHEAD = 16, /* distance in rows between the row read and the row prefetched */
};
typedef float lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float))));

/* Add columns [d, d + k * LANES) of the rows of terms [begin, end) to `out`.  `k` is a constant at
 * each call, so that the compiler holds the sums of a block in registers. */
static inline __attribute__((always_inline)) void
add_lanes(const wt_rows *r, int64_t begin, int64_t end, int64_t d, int k, bool scaled, double *out)
{
    const float *column = r->table + d;
    const int64_t *at = r->at, dim = r->dim, padding = r->padding;

    for (int64_t i = begin, stop; i < end; i = stop) {
        lanes sum[WIDE] = {{0}};
        stop = end - i < BLOCK ? end : i + BLOCK;
        for (int64_t j = i; j < stop; j++) {
            const lanes *row = (const lanes *)(column + at[j] * dim);
            const lanes *next = (const lanes *)(column + at[end - j > AHEAD ? j + AHEAD : j] * dim);
            for (int l = 0; l < k; l++)
                __builtin_prefetch(next + l);
            for (int l = 0; at[j] != padding && l < k; l++)
                sum[l] += scaled ? row[l] * (float)r->factor[j] : row[l];
        }
        for (int j = 0; j < k; j++)
            for (int l = 0; l < LANES; l++)
                out[d + j * LANES + l] += (double)sum[j][l];
    }
}

static void add_rows(const wt_rows *r, int64_t begin, int64_t end, double *out)
{
    bool scaled = r->factor != NULL;
    int64_t d = 0, dim = r->dim;

    for (; dim - d >= WIDE * LANES; d += WIDE * LANES)
        if (scaled)
            add_lanes(r, begin, end, d, WIDE, true, out);
        else
            add_lanes(r, begin, end, d, WIDE, false, out);
    for (; dim - d >= LANES; d += LANES)
        add_lanes(r, begin, end, d, 1, scaled, out);
    for (int64_t i = begin; d < dim && i < end; i++)
        for (int64_t e = d; r->at[i] != r->padding && e < dim; e++)
            out[e] += (double)r->table[r->at[i] * dim + e] * (scaled ? r->factor[i] : 1);
}
const wt_add DP_ISA_NAME(wt_added)[] = {add_rows};
