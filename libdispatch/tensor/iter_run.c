/* iter_run.c -- run a loop over the elements of an iterator, in blocks of two dimensions
 * (aten/src/ATen/TensorIterator.cpp: for_each, serial_for_each;
 * cpu/TensorIteratorDynamicCasting). */
#include "nest.h"

/* -- blocks of two dimensions -- */

typedef struct position {
    int64_t at[DP_DIM_MAX];
    char *data[DP_ITER_OPERANDS_MAX];
} position;

static const int64_t *strides_at(const dp_iter *it, int d)
{
    return it->strides + (size_t)d * (size_t)it->n;
}

static void seek(const dp_iter *it, position *p, int64_t to)
{
    dp_copy_n(p->data, it->data, (size_t)it->n, sizeof(char *));
    for (int d = 0; d < it->ndim; d++) {
        const int64_t *s = strides_at(it, d);
        p->at[d] = to % it->shape[d];
        to /= it->shape[d];
        for (int k = 0; k < it->n; k++)
            p->data[k] += p->at[d] * s[k];
    }
}

/* Go `n` steps forward in dimension `d`.  At the end of a dimension, go one step forward in the
 * next dimension. */
static void step(const dp_iter *it, position *p, int d, int64_t n)
{
    for (; d < it->ndim; d++, n = 1) {
        const int64_t *s = strides_at(it, d);
        int64_t by = n;
        p->at[d] += n;
        bool ends = p->at[d] == it->shape[d];
        if (ends) {
            by -= it->shape[d];
            p->at[d] = 0;
        }
        for (int k = 0; k < it->n; k++)
            p->data[k] += by * s[k];
        if (!ends)
            return;
    }
}

static void run_blocks(const dp_iter *it, int64_t begin, int64_t end, dp_iter_loop2d loop,
                       void *user)
{
    char *data[DP_ITER_OPERANDS_MAX];
    position p;

    seek(it, &p, begin);
    while (begin < end) {
        int64_t n0 = it->shape[0] - p.at[0], n1 = 1;
        if (n0 > end - begin)
            n0 = end - begin;
        if (n0 == it->shape[0] && it->ndim > 1) {
            int64_t rows = (end - begin) / n0;
            n1 = it->shape[1] - p.at[1];
            n1 = n1 < rows ? n1 : rows;
        }
        dp_copy_n(data, p.data, (size_t)it->n, sizeof(char *));
        loop(data, it->strides, n0, n1, user);
        begin += n0 * n1;
        step(it, &p, n1 > 1 ? 1 : 0, n1 > 1 ? n1 : n0);
    }
}

DPI_HOT static void run_range(const dp_iter *it, int64_t begin, int64_t end, dp_iter_loop2d loop,
                              void *user)
{
    char *data[DP_ITER_OPERANDS_MAX];

    if (it->ndim > 1) {
        run_blocks(it, begin, end, loop, user);
        return;
    }
    for (int k = 0; k < it->n; k++)
        data[k] = it->data[k] + begin * it->strides[k];
    loop(data, it->strides, end - begin, 1, user);
}

/* -- operands that are converted for the loop -- */

enum { BUFFER_BYTES = 32 << 10 /* bytes of converted elements */ };

typedef struct job {
    const dp_iter *it;
    dp_iter_loop2d loop;
    void *user;
    int64_t block; /* number of elements that are converted at a time */
} job;

static bool is_converted(const dp_iter *it, int k)
{
    return it->own[k] != it->seen[k];
}

/* Return the number of elements of the loop whose converted operands fit into the buffer. */
int64_t dpi_iter_block(const dp_iter *it)
{
    int64_t bytes = 0;

    for (int k = 0; k < it->n; k++)
        bytes += is_converted(it, k) ? (int64_t)dpi_itemsize(it->seen[k]) : 0;
    return bytes ? BUFFER_BYTES / bytes / 8 * 8 : BUFFER_BYTES;
}

/* The operands of one block as the loop sees them. */
typedef struct block_view {
    char *seen[DP_ITER_OPERANDS_MAX];
    int64_t strides[2 * DP_ITER_OPERANDS_MAX];
} block_view;

/* Set the addresses and strides that the loop sees.  An input that is broadcast along a row stays
 * broadcast. */
static void set_block_operands(const dp_iter *it, block_view *v, char *const *data,
                               const int64_t *strides, int64_t n0, int64_t n1, char *buffer)
{
    for (int k = 0; k < it->n; k++) {
        int64_t bytes = (int64_t)dpi_itemsize(it->seen[k]);
        bool converted = is_converted(it, k), flat = k >= it->n_out && strides[k] == 0;
        v->seen[k] = converted ? buffer : data[k];
        v->strides[k] = !converted ? strides[k] : flat ? 0 : bytes;
        v->strides[it->n + k] = converted ? n0 * bytes : strides[it->n + k];
        buffer += converted ? n0 * n1 * bytes : 0;
    }
}

/* Convert n1 rows of operand `k` at `data` to the dtype that the loop sees, or, if `back` is true,
 * from that dtype to the operand's own. */
static void convert(const dp_iter *it, const block_view *v, int k, char *data,
                    const int64_t *strides, int64_t n0, int64_t n1, bool back)
{
    int64_t bytes = (int64_t)dpi_itemsize(it->seen[k]);

    for (int64_t i = 0; i < n1; i++) {
        char *own = data + i * strides[it->n + k];
        char *seen = v->seen[k] + i * v->strides[it->n + k];
        if (back)
            dpi_run_copy(it->own[k], own, strides[k], it->seen[k], seen, bytes, n0);
        else
            dpi_run_copy(it->seen[k], seen, bytes, it->own[k], own, strides[k],
                         v->strides[k] ? n0 : 1);
    }
}

void dpi_iter_run_block(const dp_iter *it, char *const *data, const int64_t *strides, int64_t n0,
                        int64_t n1, dp_iter_loop2d loop, void *user)
{
    _Alignas(64) char buffer[BUFFER_BYTES];
    char *seen[DP_ITER_OPERANDS_MAX];
    block_view v;

    set_block_operands(it, &v, data, strides, n0, n1, buffer);
    for (int k = it->n_out; k < it->n; k++)
        if (is_converted(it, k))
            convert(it, &v, k, data[k], strides, n0, n1, false);
    dp_copy_n(seen, v.seen, (size_t)it->n, sizeof(char *));
    loop(seen, v.strides, n0, n1, user);
    for (int k = 0; k < it->n_out; k++)
        if (is_converted(it, k))
            convert(it, &v, k, data[k], strides, n0, n1, true);
}

/* A dp_iter_loop2d that splits its range into blocks that fit the buffer. */
static void run_converted(char **data, const int64_t *strides, int64_t n0, int64_t n1, void *user)
{
    const job *j = user;
    int n = j->it->n;
    int64_t columns = n0 < j->block ? n0 : j->block, rows = j->block / columns;
    char *at[DP_ITER_OPERANDS_MAX];

    for (int64_t i = 0; i < n1; i += rows)
        for (int64_t c = 0; c < n0; c += columns) {
            dp_copy_n(at, data, (size_t)n, sizeof(char *));
            for (int k = 0; k < n; k++)
                at[k] += i * strides[n + k] + c * strides[k];
            dpi_iter_run_block(j->it, at, strides, n0 - c < columns ? n0 - c : columns,
                               n1 - i < rows ? n1 - i : rows, j->loop, j->user);
        }
}

/* -- threads -- */

static void run_piece(int64_t begin, int64_t end, void *arg)
{
    job *j = arg;

    if (j->it->converts)
        run_range(j->it, begin, end, run_converted, j);
    else
        run_range(j->it, begin, end, j->loop, j->user);
}

DPI_HOT int dpi_iter_run(const dp_iter *it, int max_threads, dp_iter_loop2d loop, void *user,
                         const dpi_stop *stop, dp_error *err)
{
    job j = {it, loop, user, it->converts ? dpi_iter_block(it) : 0};
    dpi_device *d = NULL;
    int rc = DP_OK;

    if (it->memoryless || it->numel == 0)
        return DP_OK;
    if (it->numel < it->grain && !it->converts && it->device == DP_DEVICE_CPU) {
        run_range(it, 0, it->numel, loop, user);
        return DP_OK;
    }
    if (it->device != DP_DEVICE_CPU)
        rc = dpi_device_enter(dp_device_backend(it->device), &d, err);
    if (rc < 0)
        return rc;
    if (it->flags & DP_ITER_SERIAL)
        max_threads = 1;
    rc = dpi_thread_pool_run(max_threads, 0, it->numel, it->grain, run_piece, &j, stop);
    if (d != NULL)
        dpi_device_leave(d);
    return rc;
}

typedef struct rows {
    dp_iter_loop loop;
    void *user;
    int n; /* number of operands */
} rows;

static void run_rows(char **data, const int64_t *strides, int64_t n0, int64_t n1, void *user)
{
    const rows *r = user;

    for (int64_t i = 0; i < n1; i++) {
        r->loop(data, strides, n0, r->user);
        for (int k = 0; k < r->n; k++)
            data[k] += strides[r->n + k];
    }
}

int dpi_iter_run_1d(const dp_iter *it, int max_threads, dp_iter_loop loop, void *user,
                    const dpi_stop *stop, dp_error *err)
{
    rows r = {loop, user, it->n};
    return dpi_iter_run(it, max_threads, run_rows, &r, stop, err);
}
