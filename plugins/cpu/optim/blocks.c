/* blocks.c -- elementwise loops over lists of tensors, block by block (blocks.h).
 *
 * Tensors of one index that are dense and have the same strides are one array each; of others, the
 * elements of a block are copied to contiguous memory and, where they are written, back. */
#include "blocks.h"
#include "core/dense.h"
#include <string.h>

typedef struct block_item {
    dp_view view[BLOCK_LISTS];
    bool flat; /* all tensors of this index are arrays, with their elements in the same order */
} block_item;

/* -- blocks -- */

static bool is_flat(const block_lists *l, uint32_t i, const block_item *item)
{
    const dp_view *a = item->view;
    bool flat = dp_tensor_is_dense(l->of[0].at[i]);

    for (int k = 1; k < l->n && flat; k++)
        for (int d = 0; d < a->ndim && flat; d++)
            flat = a->sizes[d] == 1 || item->view[k].strides[d] == a->strides[d];
    return flat;
}

static bool is_skipped(const block_lists *l, uint32_t i)
{
    bool skipped = false;

    for (int k = 0; k < l->n; k++)
        skipped |= l->of[k].at[i] == NULL;
    return skipped;
}

int blocks_count(dp_ctx *ctx, const block_lists *l, blocks_run *r)
{
    uint32_t n = l->of[0].len;

    r->ctx = ctx;
    r->lists = l;
    r->n_blocks = 0;
    r->items = dp_alloc_n(ctx, n, sizeof(block_item));
    r->first = dp_alloc_n(ctx, (size_t)n + 1, sizeof(int64_t));
    if (r->items == NULL || r->first == NULL)
        return DP_ERESOURCE;
    for (uint32_t i = 0; i < n; i++) {
        block_item *item = &r->items[i];
        r->first[i] = r->n_blocks;
        if (is_skipped(l, i))
            continue;
        for (int k = 0; k < l->n; k++) {
            DP_VIEW(v, l->of[k].at[i]);
            item->view[k] = v;
        }
        item->flat = is_flat(l, i, item);
        r->n_blocks += (item->view[0].numel + BLOCK - 1) / BLOCK;
    }
    r->first[n] = r->n_blocks;
    return 0;
}

/* Copy `n` elements of `v`, which has the shape of `v`, from element `at` on in row-major order, to
 * `array`, or, if `store`, from it.  `type`: the dtype of the array. */
static void move_elements(const dp_view *v, int64_t at, int64_t n, char *array, dp_dtype type,
                          bool store)
{
    size_t size = dp_dtype_size(v->dtype), wide = dp_dtype_size(type);
    int last = v->ndim - 1;
    int64_t step = last >= 0 ? v->strides[last] * (int64_t)size : 0;
    dp_convert_fn convert = store ? dp_converter(v->dtype, type) : dp_converter(type, v->dtype);

    for (int64_t run; n > 0; n -= run, at += run, array += (size_t)run * wide) {
        int64_t offset = 0, left = at;
        run = last >= 0 ? v->sizes[last] - at % v->sizes[last] : 1;
        run = run < n ? run : n;
        for (int d = last; d >= 0; left /= v->sizes[d--])
            offset += left % v->sizes[d] * v->strides[d];
        char *element = (char *)v->data + offset * (int64_t)size;
        if (store)
            convert(element, step, array, (int64_t)wide, run);
        else
            convert(array, (int64_t)wide, element, step, run);
    }
}

/* Copy `n` elements of an array of v->dtype from element `at` on, like move_elements(). */
static void move_array(const dp_view *v, int64_t at, int64_t n, char *array, dp_dtype type,
                       bool store)
{
    int64_t size = (int64_t)dp_dtype_size(v->dtype), wide = (int64_t)dp_dtype_size(type);
    char *element = (char *)v->data + at * size;

    if (store)
        dp_converter(v->dtype, type)(element, size, array, wide, n);
    else
        dp_converter(type, v->dtype)(array, wide, element, size, n);
}

static void run_block(const blocks_run *r, uint32_t i, int64_t block)
{
    _Alignas(64) double scratch[BLOCK_LISTS][BLOCK];
    void *x[BLOCK_LISTS] = {NULL};
    const block_item *item = &r->items[i];
    const block_lists *l = r->lists;
    dp_dtype dtype = item->view[0].dtype, type = dense_opmath(dtype);
    int64_t at = (block - r->first[i]) * BLOCK, n = item->view[0].numel - at;
    void (*move)(const dp_view *, int64_t, int64_t, char *, dp_dtype, bool) =
        item->flat ? move_array : move_elements;
    bool direct = item->flat && type == dtype;

    n = n < BLOCK ? n : BLOCK;
    for (int k = 0; k < l->n; k++)
        if (direct)
            x[k] = (char *)item->view[k].data + at * (int64_t)dp_dtype_size(dtype);
        else
            move(&item->view[k], at, n, x[k] = scratch[k], type, false);
    r->fn(i, block, type == DP_FLOAT64, n, x, r->user);
    for (int k = 0; k < l->n && !direct; k++)
        if (l->of[k].written)
            move(&item->view[k], at, n, x[k], type, true);
}

/* -- runs -- */

/* Return the index of the tensors that have block `block`. */
static uint32_t item_of(const blocks_run *r, int64_t block)
{
    uint32_t low = 0, high = r->lists->of[0].len;

    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (r->first[middle] <= block)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void run_range(int64_t begin, int64_t end, void *user)
{
    const blocks_run *r = user;
    uint32_t i = item_of(r, begin);

    for (int64_t b = begin; b < end; b++) {
        while (b >= r->first[i + 1])
            i++;
        if (r->done == NULL && b % 16 == 0 && dp_stop_code(NULL) != 0)
            return;
        run_block(r, i, b);
        if (r->done)
            r->done[b] = 1;
    }
}

int blocks_each(blocks_run *r, bool whole)
{
    r->done = whole ? dp_alloc_n(r->ctx, (size_t)r->n_blocks, 1) : NULL;
    if (whole && r->done == NULL)
        return DP_ERESOURCE;
    if (whole)
        memset(r->done, 0, (size_t)r->n_blocks);
    int rc =
        dp_parallel_for(r->ctx, 0, r->n_blocks, dense_grain(BLOCK * r->lists->n), run_range, r);
    if (!whole || rc == 0 || (rc != DP_ECANCELLED && rc != DP_EDEADLINE))
        return rc;
    for (int64_t b = 0; b < r->n_blocks; b++)
        if (!r->done[b])
            run_range(b, b + 1, r);
    return 0;
}
