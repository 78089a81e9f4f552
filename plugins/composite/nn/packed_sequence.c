/* packed_sequence.c -- packed sequences (aten/src/ATen/native/PackedSequence.cpp).
 *
 * The sequences are sorted by descending length.  A packed sequence has the rows of all first time
 * steps, then those of all second steps, and so on, and the number of rows of each step.
 *
 * Operators: _pack_padded_sequence, _pack_padded_sequence_backward, _pad_packed_sequence. */
#include "core/chain.h"
#include <dispatchd/check.h>
#include <string.h>

/* Set *out to a copy of the numbers of `t`, which no other thread can change, and *n to their
 * number, at least 1. */
static int read_numbers(dp_ctx *ctx, dp_tensor *t, const int64_t **out, int64_t *n)
{
    DP_VIEW(x, t);

    if (x.ndim != 1 || x.dtype != DP_INT64 || (x.device != DP_DEVICE_CPU && x.data))
        return dp_fail(ctx, DP_ERUNTIME,
                       "'lengths' argument should be a 1D CPU int64 tensor, but got %dD %s tensor",
                       x.ndim, dp_dtype_aten_name(x.dtype));
    if (x.numel == 0)
        return dp_fail(ctx, DP_ERUNTIME, "expected at least one length but got none");
    if (x.data == NULL)
        return dp_fail(ctx, DP_ENOTIMPL, "expected lengths with elements, but they have no memory");
    int64_t *copy = dp_alloc(ctx, dp_size_times((uint64_t)x.numel, sizeof(*copy)));
    if (copy == NULL)
        return DP_ERESOURCE;
    for (int64_t i = 0; i < x.numel; i++)
        copy[i] = ((const int64_t *)x.data)[i * x.strides[0]];
    *out = copy;
    *n = x.numel;
    return 0;
}

/* Check that numbers do not increase, and that the last one is at least `least`. */
static int check_falling(dp_ctx *ctx, const int64_t *numbers, int64_t n, int64_t least,
                         const char *what, const char *bound)
{
    if (numbers[n - 1] < least)
        return dp_fail(ctx, DP_ERUNTIME, "%s", bound);
    for (int64_t i = 1; i < n; i++)
        if (numbers[i] > numbers[i - 1])
            return dp_fail(ctx, DP_ERUNTIME,
                           "%s must be sorted in decreasing order, but %" PRId64
                           " follows %" PRId64,
                           what, numbers[i], numbers[i - 1]);
    return 0;
}

/* Set element i of *out [numbers[0]] to how many of `n` descending numbers are greater than i.
 * From lengths, this gives the number of rows of each step; from these, the lengths. */
static int count_above(dp_ctx *ctx, const int64_t *numbers, int64_t n, dp_tensor **out)
{
    int rc = dp_empty(ctx, DP_INT64, DP_DEVICE_CPU, 1, numbers, DP_CONTIGUOUS, out);

    if (rc < 0 || dp_memoryless(ctx))
        return rc;
    DP_VIEW(y, *out);
    for (int64_t i = 0; i < numbers[0]; i++) {
        while (numbers[n - 1] <= i)
            n--;
        ((int64_t *)y.data)[i] = n;
    }
    return 0;
}

/* Return a view of steps [from, to) of the first `n` sequences of t [time, batch, ...]. */
static dp_tensor *block(chain *c, dp_tensor *t, int64_t from, int64_t to, int64_t n)
{
    int64_t first = 0;

    t = CHAIN(c, "aten::slice.Tensor", "Tioioi>T", t, (int64_t)0, &from, &to);
    return CHAIN(c, "aten::slice.Tensor", "Tioioi>T", t, (int64_t)1, &first, &n);
}

static dp_tensor *transposed(chain *c, dp_tensor *t, bool batch_first)
{
    return batch_first ? CHAIN(c, "aten::transpose.int", "Tii>T", t, (int64_t)0, (int64_t)1) : t;
}

/* -- packing -- */

static int check_padded(dp_ctx *ctx, const dp_view *x, const int64_t *lengths, int64_t n)
{
    if (x->numel == 0)
        return dp_fail(ctx, DP_ERUNTIME, "Cannot pack empty tensors.");
    if (n != x->sizes[1])
        return dp_fail(ctx, DP_ERUNTIME,
                       "Expected `len(lengths)` to be equal to batch_size, but got %" PRId64
                       " (batch_size=%" PRId64 ")",
                       n, x->sizes[1]);
    return check_falling(ctx, lengths, n, 1, "`lengths` array",
                         "Length of all samples has to be greater than 0, but found an element in "
                         "'lengths' that is <= 0");
}

/* Set *out to the packed rows of x [time, batch, ...]; sequences of equal length end in one
 * block. */
static int pack_rows(dp_ctx *ctx, dp_tensor *x, const int64_t *lengths, int64_t n, dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX] = {-1}, done = 0;
    size_t made = 0;
    dp_tensor **rows = dp_alloc(ctx, dp_size_times((uint64_t)n, sizeof(*rows)));
    DP_VIEW(v, x);
    int rc = rows ? 0 : DP_ERESOURCE;

    dp_copy_n(sizes + 1, v.sizes + 2, (size_t)(v.ndim - 2), sizeof(int64_t));
    for (int64_t i = n; rc == 0 && i > 0; i--) {
        if (lengths[i - 1] <= done)
            continue;
        chain c = {.ctx = ctx};
        dp_tensor *part = block(&c, x, done, lengths[i - 1], i);
        part = CHAIN(&c, "aten::reshape", "Tli>T", part, sizes, (size_t)v.ndim - 1);
        rc = chain_end(&c, part, &rows[made]);
        made += rc == 0;
        done = lengths[i - 1];
    }
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::cat", "lTi>T", rows, made, (int64_t)0, out);
    for (size_t i = 0; i < made; i++)
        dp_tensor_unref(rows[i]);
    return rc;
}

/* aten::_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> (Tensor,
 * Tensor) */
static int pack(dp_ctx *ctx, dp_tensor *input, dp_tensor *lengths_t, bool batch_first,
                dp_tensor **out, dp_tensor **batch_sizes)
{
    const int64_t *lengths = NULL;
    int64_t n = 0, batch;
    chain c = {.ctx = ctx};
    dp_tensor *x = transposed(&c, input, batch_first);

    if (c.rc == 0)
        c.rc = read_numbers(ctx, lengths_t, &lengths, &n);
    if (c.rc == 0)
        c.rc = dp_invoke(ctx, "aten::size.int", "Ti>i", x, (int64_t)1, &batch);
    if (c.rc == 0) {
        DP_VIEW(v, x);
        c.rc = check_padded(ctx, &v, lengths, n);
    }
    if (c.rc == 0)
        c.rc = pack_rows(ctx, x, lengths, n, out);
    if (c.rc == 0 && (c.rc = count_above(ctx, lengths, n, batch_sizes)) < 0)
        *out = dp_tensor_unref(*out);
    return chain_end(&c, NULL, NULL);
}

/* aten::_pack_padded_sequence_backward(Tensor grad, int[] input_size, Tensor batch_sizes, bool
 *     batch_first) -> Tensor
 * The gradient is 0 where nothing was packed. */
static int pack_backward(dp_ctx *ctx, dp_tensor *grad, const int64_t *sizes, size_t n_sizes,
                         dp_tensor *batch_sizes, bool batch_first, dp_tensor **out)
{
    int64_t turned_sizes[DP_DIM_MAX], n = 0, done = 0;
    const int64_t *rows = NULL;
    chain c = {.ctx = ctx, .rc = check_ndim(ctx, n_sizes)};

    if (c.rc == 0 && batch_first && n_sizes < 2)
        chain_fail(&c, DP_ERUNTIME, "Expected input_size.size() >= 2 to be true, but got %zu",
                   n_sizes);
    if (c.rc < 0 || (c.rc = read_numbers(ctx, batch_sizes, &rows, &n)) < 0)
        return c.rc;
    dp_copy_n(turned_sizes, sizes, n_sizes, sizeof(int64_t));
    if (batch_first)
        turned_sizes[0] = sizes[1], turned_sizes[1] = sizes[0];
    dp_tensor *made = CHAIN(&c, "aten::new_zeros", "Tli>T", grad, turned_sizes, n_sizes);
    for (int64_t t = 0; c.rc == 0 && t < n; t++) {
        chain s = {.ctx = ctx};
        int64_t first = 0, end;
        if (__builtin_add_overflow(done, rows[t], &end))
            end = INT64_MAX; /* greater than any row */
        dp_tensor *to = CHAIN(&s, "aten::select.int", "Tii>T", made, (int64_t)0, t);
        to = CHAIN(&s, "aten::slice.Tensor", "Tioioi>T", to, (int64_t)0, &first, &rows[t]);
        dp_tensor *from =
            CHAIN(&s, "aten::slice.Tensor", "Tioioi>T", grad, (int64_t)0, &done, &end);
        if (s.rc == 0)
            s.rc = dp_invoke(ctx, "aten::copy_", "TT>", to, from);
        c.rc = chain_end(&s, NULL, NULL);
        done = end;
    }
    return chain_end(&c, transposed(&c, made, batch_first), out);
}

/* -- padding -- */

/* Copy the rows of data to their positions in out [time, batch, ...]: one block for steps with an
 * equal number of rows. */
static int place_rows(dp_ctx *ctx, dp_tensor *data, const int64_t *rows, int64_t steps,
                      dp_tensor *out)
{
    int64_t sizes[DP_DIM_MAX], done = 0;
    DP_VIEW(y, out);

    dp_copy_n(sizes, y.sizes, (size_t)y.ndim, sizeof(int64_t));
    for (int64_t begin = 0, end; begin < steps; begin = end) {
        for (end = begin; end < steps && rows[end] == rows[begin]; end++)
            ;
        chain c = {.ctx = ctx};
        int64_t next;
        if (__builtin_mul_overflow(rows[begin], end - begin, &next) ||
            __builtin_add_overflow(done, next, &next))
            next = INT64_MAX; /* greater than any row */
        sizes[0] = end - begin;
        sizes[1] = rows[begin];
        dp_tensor *from =
            CHAIN(&c, "aten::slice.Tensor", "Tioioi>T", data, (int64_t)0, &done, &next);
        from = CHAIN(&c, "aten::view", "Tli>T", from, sizes, (size_t)y.ndim);
        dp_tensor *to = block(&c, out, begin, end, rows[begin]);
        if (c.rc == 0)
            c.rc = dp_invoke(ctx, "aten::copy_", "TT>", to, from);
        if (chain_end(&c, NULL, NULL) < 0)
            return c.rc;
        done = next;
    }
    return 0;
}

static int check_packed(dp_ctx *ctx, const dp_view *data, const int64_t *rows, int64_t steps,
                        int64_t total)
{
    if (data->ndim == 0)
        return dp_fail(ctx, DP_ERUNTIME,
                       "a packed sequence has data of 1 dimension or more, not 0");
    if (total > 0 && total < steps)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "Expected total_length to be at least the length of the longest sequence in input, but "
            "got total_length=%" PRId64 " and max sequence length being %" PRId64,
            total, steps);
    int rc = check_ndim(ctx, (size_t)data->ndim + 1);
    return rc < 0 ? rc
                  : check_falling(ctx, rows, steps, 0, "`batch_sizes`",
                                  "`batch_sizes` must not be negative");
}

/* aten::_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, Scalar
 *     padding_value, int total_length) -> (Tensor, Tensor) */
static int pad(dp_ctx *ctx, dp_tensor *data, dp_tensor *batch_sizes, bool batch_first,
               dp_value padding, int64_t total, dp_tensor **out, dp_tensor **lengths)
{
    int64_t sizes[DP_DIM_MAX], steps = 0;
    const int64_t *rows = NULL;
    DP_VIEW(x, data);
    chain c = {.ctx = ctx, .rc = read_numbers(ctx, batch_sizes, &rows, &steps)};

    if (c.rc == 0)
        c.rc = check_packed(ctx, &x, rows, steps, total);
    if (c.rc < 0)
        return c.rc;
    sizes[0] = total > 0 ? total : steps;
    sizes[1] = rows[0];
    dp_copy_n(sizes + 2, x.sizes + 1, (size_t)(x.ndim - 1), sizeof(int64_t));
    dp_tensor *made =
        CHAIN(&c, "aten::new_full", "Tlis>T", data, sizes, (size_t)x.ndim + 1, padding);
    if (c.rc == 0)
        c.rc = place_rows(ctx, data, rows, steps, made);
    dp_tensor *result = transposed(&c, made, batch_first);
    if (c.rc == 0)
        c.rc = count_above(ctx, rows, steps, lengths);
    return chain_end(&c, result, out);
}

DP_LIBRARY_META(aten, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("_pack_padded_sequence", pack, (T, T, b), (T, T)))
DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("_pack_padded_sequence_backward", pack_backward, (T, li, T, b),
                                (T)),
                DP_IMPL_UNBOXED("_pad_packed_sequence", pad, (T, T, b, s, i), (T, T)))
