/* iter_reduce.c -- reductions over an iterator, in chunks of fixed size that are merged in pairs.
 *
 * aten/src/ATen/TensorIteratorReduce.cpp has two strategies, chosen by the number of threads.  Here
 * the chunks depend on the shape alone, so the result has the same bits with any number of threads.
 *
 * In this file, an output is one element of an output tensor (or one of each, if there are
 * several), and its elements are those that are reduced to it.  An item of work is one chunk of the
 * elements of some neighbouring outputs.  If there is only one chunk, its accumulators are on the
 * stack and are finished at once.  Otherwise they are in the arena's memory until all items are
 * done. */
#include "nest.h"

enum {
    ACC_BYTES = 16 << 10, /* bytes of accumulators of one item */
    /* least number of outputs of an item if the inputs of neighbouring outputs are closer in memory
     * than the elements that are reduced together */
    MIN_WIDTH = 128,
    ITEM_ELEMENTS = 2 * DPI_GRAIN /* target number of elements of an item */
};

typedef struct job {
    const dp_iter *it;
    const dp_reduction *r;
    void *user;
    int64_t n_outputs, n_chunks;
    /* `row`: number of outputs along the innermost dimension that is not reduced.  `width`:
     * greatest number of outputs of an item.  `n_blocks`: number of items for each chunk; they are
     * called blocks */
    int64_t row, width, n_blocks;
    char *partial; /* [n_chunks][n_outputs] accumulators; NULL: one chunk */
    int64_t block; /* number of elements that are converted at a time; 0: no conversion */
} job;

static const int64_t *strides_at(const dp_iter *it, int d)
{
    return it->strides + (size_t)d * (size_t)it->n;
}

/* Neighbouring outputs in one row: outputs [first, first + n). */
typedef struct output_run {
    int64_t first, n;
    char *data[DP_ITER_OPERANDS_MAX];
    /* [it->n] bytes between elements of an output, then [it->n] bytes between outputs */
    int64_t strides[2 * DP_ITER_OPERANDS_MAX];
} output_run;

/* Set `p` to the outputs of block number `block`, 0 to n_blocks - 1. */
static void seek_outputs(const job *j, int64_t block, output_run *p)
{
    const dp_iter *it = j->it;
    int64_t in_row = (j->row + j->width - 1) / j->width, row = block / in_row;
    int64_t at = block % in_row * j->width;
    int d = it->n_reduced;

    p->first = row * j->row + at;
    p->n = j->row - at < j->width ? j->row - at : j->width;
    dp_copy_n(p->data, it->data, (size_t)it->n, sizeof(char *));
    memset(p->strides, 0, sizeof(p->strides));
    if (d > 0)
        dp_copy_n(p->strides, it->strides, (size_t)it->n, sizeof(int64_t));
    if (d < it->ndim)
        dp_copy_n(p->strides + it->n, strides_at(it, d), (size_t)it->n, sizeof(int64_t));
    for (; d < it->ndim; d++) {
        int64_t i = d == it->n_reduced ? at : row % it->shape[d];
        row = d == it->n_reduced ? row : row / it->shape[d];
        for (int k = 0; k < it->n; k++)
            p->data[k] += i * strides_at(it, d)[k];
    }
}

/* -- one chunk -- */

typedef struct call {
    const job *j;
    char *acc;
    int64_t index;
} call;

/* Accumulate one block of elements, which have the dtype that the reduction sees.  This is a
 * dp_iter_loop2d. */
static void step_block(char **data, const int64_t *strides, int64_t n0, int64_t n1, void *user)
{
    const call *c = user;
    c->j->r->step(c->acc, data, strides, n0, n1, c->index, c->j->user);
}

/* Accumulate `n0` elements of a row, beginning at `data`. */
static void step_row(const job *j, const output_run *p, char *const *data, char *acc, int64_t n0,
                     int64_t index)
{
    int64_t columns = j->block == 0 ? n0 : j->block / p->n;
    char *at[DP_ITER_OPERANDS_MAX];

    for (int64_t i = 0; i < n0; i += columns) {
        int64_t m = n0 - i < columns ? n0 - i : columns;
        call c = {j, acc, index + i};
        dp_copy_n(at, data, (size_t)j->it->n, sizeof(char *));
        for (int k = 0; k < j->it->n; k++)
            at[k] += i * p->strides[k];
        if (j->block == 0)
            step_block(at, p->strides, m, p->n, &c);
        else
            dpi_iter_run_block(j->it, at, p->strides, m, p->n, step_block, &c);
    }
}

/* Accumulate elements [begin, end) of the outputs `p`, row by row along dimension 0. */
static void step_chunk(const job *j, const output_run *p, char *acc, int64_t begin, int64_t end)
{
    const dp_iter *it = j->it;
    int64_t row = it->n_reduced > 0 ? it->shape[0] : 1;
    char *data[DP_ITER_OPERANDS_MAX];

    while (begin < end) {
        int64_t index = begin, n = row - begin % row;
        n = n < end - begin ? n : end - begin;
        dp_copy_n(data, p->data, (size_t)it->n, sizeof(char *));
        for (int d = 0; d < it->n_reduced; d++) {
            for (int k = 0; k < it->n; k++)
                data[k] += index % it->shape[d] * strides_at(it, d)[k];
            index /= it->shape[d];
        }
        step_row(j, p, data, acc, n, begin);
        begin += n;
    }
}

static void run_item(const job *j, int64_t item)
{
    _Alignas(64) char acc_buffer[ACC_BYTES];
    int64_t chunk = item / j->n_blocks, begin = chunk * DP_ITER_CHUNK, end = j->it->n_each;
    char *acc = acc_buffer;
    output_run p;

    seek_outputs(j, item % j->n_blocks, &p);
    if (j->partial != NULL)
        acc = j->partial + (chunk * j->n_outputs + p.first) * j->r->acc_bytes;
    j->r->begin(acc, p.n, j->user);
    step_chunk(j, &p, acc, begin, end - begin < DP_ITER_CHUNK ? end : begin + DP_ITER_CHUNK);
    if (j->partial == NULL)
        j->r->finish(p.data, p.strides + j->it->n, acc, p.n, j->user);
}

static void run_items(int64_t begin, int64_t end, void *user)
{
    while (begin < end)
        run_item(user, begin++);
}

/* Merge the chunks of outputs [begin, end): neighbouring chunks in pairs, then pairs of these, and
 * so on. */
static void merge_chunks(int64_t begin, int64_t end, void *user)
{
    const job *j = user;
    int64_t bytes = j->r->acc_bytes, row = j->n_outputs * bytes;

    for (int64_t by = 1; by < j->n_chunks; by *= 2)
        for (int64_t c = 0; c + by < j->n_chunks; c += 2 * by)
            j->r->merge(j->partial + c * row + begin * bytes,
                        j->partial + (c + by) * row + begin * bytes, end - begin, j->user);
}

/* Write the results of all outputs, whose chunks are merged. */
static void finish_all(const job *j)
{
    output_run p;

    for (int64_t block = 0; block < j->n_blocks; block++) {
        seek_outputs(j, block, &p);
        j->r->finish(p.data, p.strides + j->it->n, j->partial + p.first * j->r->acc_bytes, p.n,
                     j->user);
    }
}

/* -- the whole reduction -- */

/* Return the number of neighbouring outputs of an item.  This number does not affect the result. */
static int64_t width_of(const job *j)
{
    const dp_iter *it = j->it;
    int64_t each = it->n_each < DP_ITER_CHUNK ? it->n_each : DP_ITER_CHUNK;
    int64_t width = each > 0 ? ITEM_ELEMENTS / each : ITEM_ELEMENTS,
            most = ACC_BYTES / j->r->acc_bytes;
    bool outer = it->n_reduced > 0 && it->n_reduced < it->ndim &&
                 strides_at(it, it->n_reduced)[it->n - 1] < strides_at(it, 0)[it->n - 1];

    if (outer && width < MIN_WIDTH)
        width = MIN_WIDTH;
    width = width < 1 ? 1 : width < most ? width : most;
    if (j->block > 0 && width > j->block)
        width = j->block;
    return width < j->row ? width : j->row;
}

static void plan(job *j)
{
    const dp_iter *it = j->it;

    j->n_outputs = 1;
    for (int d = it->n_reduced; d < it->ndim; d++)
        j->n_outputs *= it->shape[d];
    j->row = it->n_reduced < it->ndim ? it->shape[it->n_reduced] : 1;
    j->block = it->converts ? dpi_iter_block(it) : 0;
    j->width = width_of(j);
    j->n_blocks = j->n_outputs / j->row * ((j->row + j->width - 1) / j->width);
    j->n_chunks = it->n_each > 0 ? 1 + (it->n_each - 1) / DP_ITER_CHUNK : 1;
}

static int allocate_partial(job *j, dp_arena *a, dp_error *err)
{
    int64_t bytes = 0;

    if (j->n_chunks == 1)
        return DP_OK;
    if (!__builtin_mul_overflow(j->n_chunks * (int64_t)j->r->acc_bytes, j->n_outputs, &bytes))
        j->partial = dp_arena_alloc(a, (size_t)bytes + 64);
    if (j->partial == NULL)
        return dpi_no_memory(err, "a reduction");
    j->partial = (char *)(((uintptr_t)j->partial + 63) & ~(uintptr_t)63);
    return DP_OK;
}

static int run(job *j, int max_threads, const dpi_stop *stop)
{
    int64_t items = j->n_blocks * j->n_chunks, numel = j->it->numel;
    int64_t grain = numel < DPI_GRAIN ? items : 1 + (DPI_GRAIN - 1) * items / numel;
    int rc = dpi_thread_pool_run(max_threads, 0, items, grain, run_items, j, stop);

    if (rc == 0 && j->partial != NULL)
        rc = dpi_thread_pool_run(max_threads, 0, j->n_outputs, 1 + DPI_GRAIN / j->n_chunks,
                                 merge_chunks, j, stop);
    if (rc == 0 && j->partial != NULL)
        finish_all(j);
    return rc;
}

static int check(const dp_iter *it, const dp_reduction *r, dp_error *err)
{
    if (r == NULL || r->size < sizeof(*r) || r->acc_bytes == 0 || r->acc_bytes > ACC_BYTES ||
        !(it->flags & DP_ITER_REDUCE))
        return dp_error_set(
            err, DP_EPLUGIN,
            "dp_reduction of %u bytes with accumulators of %u over a loop with flags "
            "%u; %zu, %d and DP_ITER_REDUCE are the bounds",
            r ? r->size : 0, r ? r->acc_bytes : 0, it->flags, sizeof(*r), ACC_BYTES);
    return DP_OK;
}

int dpi_iter_reduce(const dp_iter *it, int max_threads, const dp_reduction *r, void *user,
                    dp_arena *a, const dpi_stop *stop, dp_error *err)
{
    job j = {.it = it, .r = r, .user = user};
    dpi_device *d = NULL;
    int rc = check(it, r, err);

    if (rc < 0 || it->memoryless || dpi_geometry_of(it->tensors[0])->numel == 0)
        return rc;
    plan(&j);
    rc = allocate_partial(&j, a, err);
    if (rc == DP_OK && it->device != DP_DEVICE_CPU)
        rc = dpi_device_enter(dp_device_backend(it->device), &d, err);
    if (rc < 0)
        return rc;
    rc = run(&j, max_threads, stop);
    if (d != NULL)
        dpi_device_leave(d);
    return rc;
}
