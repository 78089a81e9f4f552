/* embedding_bag.c -- sums, means and maxima of the table's rows in each bag
 * (aten/src/ATen/native/EmbeddingBag.cpp).
 *
 * Rows are converted to double, reduced, and converted back; sums and means of a contiguous float32
 * table are computed as core/weighted.h says.  Indices and offsets are copied and checked before
 * they are used.
 *
 * Operators: _embedding_bag, _embedding_bag_forward_only. */
#include "embedding_bag.h"
#include "core/weighted.h"
#include <string.h>

/* -- checks -- */

int eb_check_index_dtype(dp_ctx *ctx, const char *name, dp_dtype d)
{
    if (d == DP_INT64 || d == DP_INT32)
        return 0;
    return dp_fail(
        ctx, DP_ERUNTIME,
        "Expected tensor for argument #1 '%s' to have one of the following scalar types: "
        "Long, Int; but got %s instead (while checking arguments for embedding_bag)",
        name, dense_type_name(d));
}

static int check_ranks(dp_ctx *ctx, const dp_view *w, const dp_view *i, const dp_view *o)
{
    if (i->ndim != 1)
        return dp_fail(ctx, DP_ERUNTIME,
                       "input has to be a 1D Tensor, but got Tensor of dimension %d", i->ndim);
    if (o->ndim != 1)
        return dp_fail(ctx, DP_ERUNTIME,
                       "offsets has to be a 1D Tensor, but got Tensor of dimension %d", o->ndim);
    if (w->ndim == 2)
        return 0;
    return w->ndim < 2
               ? dp_fail(ctx, DP_EINDEX,
                         "Dimension out of range (expected to be in range of [-1, 0], but "
                         "got 1)")
               : dp_fail(ctx, DP_ERUNTIME,
                         "weight has to be a 2D Tensor, but got Tensor of dimension %d", w->ndim);
}

static int check_factors(dp_ctx *ctx, const eb_bags *b, dp_dtype dtype)
{
    if (b->factors == NULL)
        return 0;
    DP_VIEW(f, b->factors);
    if (b->mode != EB_SUM)
        return dp_fail(ctx, DP_ERUNTIME,
                       "embedding_bag: per_sample_weights was not None. per_sample_weights is only "
                       "supported for mode='sum'");
    if (f.ndim != 1 || f.numel != b->n)
        return dp_fail(ctx, DP_ERUNTIME,
                       "expected per_sample_weights to be 1D with %" PRId64 " elements, as input",
                       b->n);
    return dense_check_same(ctx, dtype, f.dtype);
}

static int check(dp_ctx *ctx, eb_bags *b)
{
    DP_VIEW(w, b->weight);
    DP_VIEW(i, b->indices);
    DP_VIEW(o, b->offsets);
    int rc = check_ranks(ctx, &w, &i, &o);

    if (rc == 0)
        rc = eb_check_index_dtype(ctx, "indices", i.dtype);
    if (rc == 0)
        rc = eb_check_index_dtype(ctx, "offsets", o.dtype);
    if (rc < 0)
        return rc;
    if (w.dtype != DP_FLOAT16 && w.dtype != DP_FLOAT32 && w.dtype != DP_FLOAT64)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Expected tensor for argument #1 'weight' to have one of the following "
                       "scalar types: Half, Float, Double; but got %s instead (while checking "
                       "arguments for embedding_bag)",
                       dense_type_name(w.dtype));
    if (b->mode < 0 || b->mode >= EB_MODES)
        return dp_fail(ctx, DP_ERUNTIME, "embedding_bag: mode must be 0, 1 or 2, not %" PRId64,
                       b->mode);
    if (b->last && o.numel < 1)
        return dp_fail(ctx, DP_ERUNTIME,
                       "include_last_offset: number of offsets should be at least 1");
    b->dtype = w.dtype;
    b->index_dtype = i.dtype == o.dtype ? i.dtype : DP_INT64;
    b->rows = w.sizes[0];
    b->dim = w.sizes[1];
    b->n = i.numel;
    b->bags = o.numel - b->last;
    return check_factors(ctx, b, w.dtype);
}

/* Check that offsets begin at 0, do not decrease and are at most the number of indices, and that
 * indices are rows. */
static int check_values(dp_ctx *ctx, const eb_bags *b)
{
    if (b->bags > 0 && b->from[0] != 0)
        return dp_fail(ctx, DP_ERUNTIME,
                       "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to "
                       "start from position 0. However, got %" PRId64,
                       b->from[0]);
    for (int64_t k = 0; k < b->bags + b->last; k++) {
        if (b->from[k] > b->n)
            return dp_fail(ctx, DP_ERUNTIME,
                           "offsets[-1] can not be greater than input's length %" PRId64
                           " but got offsets[-1] of %" PRId64,
                           b->n, b->from[k]);
        if (k > 0 && b->from[k] < b->from[k - 1])
            return dp_fail(ctx, DP_ERUNTIME,
                           "offsets[%" PRId64 "] is %" PRId64 ", less than the one before it", k,
                           b->from[k]);
    }
    /* `signs` is negative if an index is negative or greater than the last row */
    int64_t signs = 0, last = b->rows - 1;
    for (int64_t i = 0; i < b->n; i++)
        signs |= b->at[i] | (last - b->at[i]);
    for (int64_t i = 0; signs < 0 && i < b->n; i++)
        if (b->at[i] < 0 || b->at[i] >= b->rows)
            return dp_fail(ctx, DP_ERUNTIME,
                           "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx "
                           "to be %" PRId64,
                           b->at[i]);
    return 0;
}

void eb_prepare(dp_ctx *ctx, eb_bags *b)
{
    b->p.ctx = ctx;
    b->p.rc = check(ctx, b);
    b->at = pack_own(&b->p, b->indices, DP_INT64);
    b->from = pack_own(&b->p, b->offsets, DP_INT64);
    b->factor = pack_get(&b->p, b->factors, DP_FLOAT64);
    if (b->p.rc < 0 || dp_memoryless(ctx))
        return;
    b->p.rc = check_values(ctx, b);
    if (b->dtype == DP_FLOAT32 && dp_tensor_is_contiguous(b->weight, DP_CONTIGUOUS))
        b->packed = pack_get(&b->p, b->weight, DP_FLOAT32);
}

/* -- forward -- */

/* Test whether the result offset2bag is computed: PyTorch's fast path for contiguous rows leaves it
 * empty. */
static bool knows_bags(const eb_bags *b)
{
    DP_VIEW(w, b->weight);
    bool even = w.strides[1] == 1 && (w.dtype == DP_FLOAT32 || w.dtype == DP_FLOAT16);

    if (b->factors != NULL) {
        DP_VIEW(f, b->factors);
        even = even && f.strides[0] == 1;
    }
    return b->mode != EB_SUM || !even || b->padding >= 0;
}

typedef struct totals {
    const eb_bags *bags;
    double *out; /* [bags, dim] results */
    /* [n] or NULL: bag of each index; [counts]; [bags, dim]: rows of the maxima (mode MAX) */
    int64_t *bag_of, *counts, *max_at;
    double *row;
} totals;

void eb_load_row(const eb_bags *b, int64_t row, double *to)
{
    DP_VIEW(w, b->weight);
    int64_t size = (int64_t)dp_dtype_size(w.dtype);
    dp_converter(DP_FLOAT64, w.dtype)((char *)to, sizeof(double),
                                      (const char *)w.data + row * w.strides[0] * size,
                                      w.strides[1] * size, b->dim);
}

/* Merge the row of index `i` into its bag; `first`: it is the first row of the bag. */
static void take_row(const eb_bags *b, const totals *m, int64_t bag, int64_t i, bool first)
{
    double *out = m->out + bag * b->dim, factor = b->factor ? b->factor[i] : 1;

    eb_load_row(b, b->at[i], m->row);
    for (int64_t d = 0; d < b->dim; d++)
        if (b->mode != EB_MAX)
            out[d] += m->row[d] * factor;
        else if (first || m->row[d] > out[d]) {
            out[d] = m->row[d];
            m->max_at[bag * b->dim + d] = b->at[i];
        }
}

static int64_t count_of(const eb_bags *b, int64_t bag)
{
    int64_t n = eb_end_of(b, bag) - b->from[bag];

    for (int64_t i = b->from[bag]; b->padding >= 0 && i < eb_end_of(b, bag); i++)
        n -= b->at[i] == b->padding;
    return n;
}

static void run_bags(int64_t begin, int64_t end, void *user)
{
    const totals *m = user;
    const eb_bags *b = m->bags;
    const wt_rows rows = {b->packed, b->at, b->factor, b->dim, b->padding};

    for (int64_t bag = begin; bag < end; bag++) {
        int64_t count = 0, from = b->from[bag], to = eb_end_of(b, bag);
        for (int64_t i = from; m->bag_of && i < to; i++)
            m->bag_of[i] = bag;
        if (b->packed && b->mode != EB_MAX)
            CPU_CHOSEN(wt_added)[0](&rows, from, to, m->out + bag * b->dim);
        else
            for (int64_t i = from; i < to; i++)
                if (b->at[i] != b->padding)
                    take_row(b, m, bag, i, count++ == 0);
        if (b->mode != EB_SUM)
            m->counts[bag] = count = count_of(b, bag);
        for (int64_t d = 0; b->mode == EB_MEAN && count > 0 && d < b->dim; d++)
            m->out[bag * b->dim + d] /= (double)count;
    }
}

/* Compute all bags, in parallel unless rows are loaded to m->row. */
static int run(dp_ctx *ctx, const eb_bags *b, totals *m)
{
    double each = (double)b->n * (double)b->dim / (double)(b->bags ? b->bags : 1);

    m->bags = b;
    if (b->packed && b->mode != EB_MAX)
        return dp_parallel_for(ctx, 0, b->bags, dense_grain(each), run_bags, m);
    run_bags(0, b->bags, m);
    return dp_checkpoint(ctx);
}

/* Compute the results into outs [4].  `counted`: there is a count for each offset, even for a last
 * one that is only the end. */
static int embed(dp_ctx *ctx, eb_bags *b, bool counted, dp_tensor **outs[4])
{
    dp_tensor *t[4] = {0};
    totals m = {0};

    for (int i = 0; i < 4; i++)
        *outs[i] = NULL;
    eb_prepare(ctx, b);
    int64_t sizes[] = {b->bags, b->dim}, n = b->p.rc == 0 && knows_bags(b) ? b->n : 0;
    int64_t counts = b->bags + (counted && b->last && b->mode == EB_SUM);
    m.out = pack_zeros(&b->p, DP_FLOAT64, 2, sizes, &t[0]);
    int64_t *bag_of = pack_new(&b->p, DP_INT64, 1, &n, &t[1]);
    m.counts = pack_zeros(&b->p, DP_INT64, 1, &counts, &t[2]);
    if (b->mode == EB_MAX)
        m.max_at = pack_zeros(&b->p, DP_INT64, 2, sizes, &t[3]);
    m.bag_of = n > 0 ? bag_of : NULL;
    for (int64_t i = 0; b->p.rc == 0 && b->bags == 0 && !dp_memoryless(ctx) && i < n; i++)
        bag_of[i] = -1; /* no bag has the index */
    m.row = pack_array(&b->p, b->dim, sizeof(double));
    if (b->p.rc == 0 && !dp_memoryless(ctx))
        b->p.rc = run(ctx, b, &m);
    pack_give(&b->p, t[0], b->dtype, outs[0]);
    for (int i = 1; i < 3; i++)
        pack_give(&b->p, t[i], b->index_dtype, outs[i]);
    if (b->mode == EB_MAX)
        pack_give(&b->p, t[3], b->index_dtype, outs[3]);
    else if (b->p.rc == 0)
        b->p.rc = dp_invoke(ctx, "aten::clone", "T>T", *outs[2], outs[3]);
    for (int i = 0; b->p.rc < 0 && i < 4; i++)
        *outs[i] = dp_tensor_unref(*outs[i]);
    return pack_end(&b->p);
}

/* aten::_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool
 *     scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None,
 *     bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)
 * The results are: the bags; the bag of each index, if PyTorch returns it; the number of indices of
 * each bag (0 for sums); for maxima the rows that have them, else the counts again. */
#define BAG_FORM(name, counted)                                                                    \
    static int name(dp_ctx *ctx, dp_tensor *weight, dp_tensor *indices, dp_tensor *offsets,        \
                    bool scale, int64_t mode, bool sparse, dp_tensor *factors, bool last,          \
                    int64_t padding, dp_tensor **out, dp_tensor **bag_of, dp_tensor **counts,      \
                    dp_tensor **max_at)                                                            \
    {                                                                                              \
        eb_bags b = {.weight = weight,                                                             \
                     .indices = indices,                                                           \
                     .offsets = offsets,                                                           \
                     .factors = factors,                                                           \
                     .mode = mode,                                                                 \
                     .padding = padding,                                                           \
                     .last = last};                                                                \
        dp_tensor **outs[] = {out, bag_of, counts, max_at};                                        \
        (void)scale, (void)sparse;                                                                 \
        return embed(ctx, &b, counted, outs);                                                      \
    }
BAG_FORM(embedding_bag, false)
BAG_FORM(embedding_bag_forward_only, true)

DP_LIBRARY_META(aten, CPU,
                DP_IMPL_UNBOXED("_embedding_bag", embedding_bag, (T, T, T, b, i, b, oT, b, i),
                                (T, T, T, T)),
                DP_IMPL_UNBOXED("_embedding_bag_forward_only", embedding_bag_forward_only,
                                (T, T, T, b, i, b, oT, b, i), (T, T, T, T)))
