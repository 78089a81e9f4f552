/* pointwise_run.c -- runs a loop, which takes elements of one type, on the operands of an operator.
 *
 * Most loops read the operands directly.  If an operand has another dtype in memory, or the loop
 * takes only contiguous elements, blocks of at most PW_BLOCK elements are converted to buffers and
 * back.  If rows are short, a block has several rows. */
#include "pointwise_run.h"
#include <dispatchd/iter.h>

/* the operands of one call of a loop, n1 rows of n0 elements */
typedef struct part {
    char *data[PW_OPERANDS_MAX];
    int64_t strides[2 * PW_OPERANDS_MAX];
} part;

static void take_part(const pw_run *run, char *const *data, const int64_t *strides, int n, part *p)
{
    for (int k = 0; k < run->n; k++) {
        const pw_operand *o = &run->operand[k];
        bool scalar = o->at < 0;
        p->data[k] = scalar ? (char *)o->scalar : data[o->at];
        p->strides[k] = scalar ? 0 : strides[o->at];
        p->strides[run->n + k] = scalar ? 0 : strides[n + o->at];
    }
}

static int iterator_operands(const pw_run *run)
{
    int n = 0;

    for (int k = 0; k < run->n; k++)
        n += run->operand[k].at >= 0;
    return n;
}

static void loop_with_scalars(char **data, const int64_t *strides, int64_t n0, int64_t n1,
                              void *user)
{
    pw_run *run = user;
    part p;

    take_part(run, data, strides, iterator_operands(run), &p);
    run->loop(p.data, p.strides, n0, n1, &run->state);
}

/* -- loops by blocks -- */

typedef char buffer[PW_BLOCK_BYTES] __attribute__((aligned(64)));

/* Convert `n` elements in one or two steps. */
static void load(const pw_operand *o, char *to, const char *from, int64_t stride, int64_t n)
{
    buffer half;

    if (o->second == NULL || o->first == NULL) {
        (o->first ? o->first : o->second)(to, o->bytes, from, stride, n);
        return;
    }
    o->first(half, 2, from, stride, n); /* with two steps, the common dtype is a 16-bit float */
    o->second(to, o->bytes, half, 2, n);
}

static void store(const pw_operand *o, char *to, int64_t stride, const char *from, int64_t n)
{
    buffer half;

    if (o->second == NULL || o->first == NULL) {
        (o->first ? o->first : o->second)(to, stride, from, o->bytes, n);
        return;
    }
    o->second(half, 2, from, o->bytes, n);
    o->first(to, stride, half, 2, n);
}

static bool has_loop_type(const pw_operand *o)
{
    return o->first == NULL && o->second == NULL;
}

/* Load `rows` rows of operand `k` to `to`, one after the other: `m` elements of each, from element
 * `at` on.  The last element is repeated up to `padded` elements. */
static void gather(const pw_run *run, const part *p, int k, int64_t at, int64_t m, int64_t rows,
                   int64_t padded, char *to)
{
    const pw_operand *o = &run->operand[k];
    int64_t s = p->strides[k], bytes = o->bytes, n = rows * m;

    for (int64_t r = 0; r < rows; r++) {
        const char *from = p->data[k] + r * p->strides[run->n + k] + at * s;
        if (has_loop_type(o))
            o->move(to + r * m * bytes, bytes, from, s, m);
        else
            load(o, to + r * m * bytes, from, s, m);
    }
    o->move(to + n * bytes, bytes, to + (n - 1) * bytes, 0, padded - n);
}

static void scatter(const pw_run *run, const part *p, int64_t at, int64_t m, int64_t rows,
                    const char *from)
{
    const pw_operand *o = &run->operand[0];
    int64_t s = p->strides[0], bytes = o->bytes;

    for (int64_t r = 0; r < rows; r++) {
        char *to = p->data[0] + r * p->strides[run->n] + at * s;
        if (has_loop_type(o))
            o->move(to, s, from + r * m * bytes, bytes, m);
        else
            store(o, to, s, from + r * m * bytes, m);
    }
}

/* Test whether operand `k` of a block needs no buffer, and set *data and *stride to its address and
 * stride. */
static bool stays(const pw_run *run, const part *p, int k, int64_t at, int64_t m, int64_t rows,
                  char **data, int64_t *stride)
{
    const pw_operand *o = &run->operand[k];
    bool one = rows == 1 || (p->strides[k] == 0 && p->strides[run->n + k] == 0) ||
               p->strides[run->n + k] == m * p->strides[k];

    *data = p->data[k] + at * p->strides[k];
    *stride = p->strides[k];
    if (!has_loop_type(o) || !one)
        return false;
    return !run->packed || (*stride == o->bytes && rows * m % PW_VECTOR == 0);
}

/* Run the loop for one block: `rows` rows, `m` elements of each, from element `at` on. */
static void run_block(pw_run *run, const part *p, int64_t at, int64_t m, int64_t rows)
{
    buffer room[PW_OPERANDS_MAX];
    char *data[PW_OPERANDS_MAX];
    int64_t strides[2 * PW_OPERANDS_MAX] = {0}, n = rows * m;
    int64_t padded = run->packed ? (n + PW_VECTOR - 1) / PW_VECTOR * PW_VECTOR : n;

    for (int k = 0; k < run->n; k++) {
        if (stays(run, p, k, at, m, rows, &data[k], &strides[k]))
            continue;
        data[k] = room[k];
        bool one = k > 0 && !run->packed && p->strides[k] == 0 &&
                   (rows == 1 || p->strides[run->n + k] == 0);
        strides[k] = one ? 0 : run->operand[k].bytes;
        if (k > 0)
            gather(run, p, k, at, one ? 1 : m, one ? 1 : rows, one ? 1 : padded, room[k]);
    }
    run->loop(data, strides, padded, 1, &run->state);
    if (data[0] == room[0])
        scatter(run, p, at, m, rows, room[0]);
}

static void advance(const pw_run *run, part *p, int64_t rows)
{
    for (int k = 0; k < run->n; k++)
        p->data[k] += rows * p->strides[run->n + k];
}

static bool is_one(const pw_run *run, const part *p, int k)
{
    return k > 0 && p->strides[k] == 0 && p->strides[run->n + k] == 0;
}

/* If only operands that are single elements need a conversion, convert them to `ones`, and let the
 * loop read them there.  False: other operands need one. */
static bool convert_ones(const pw_run *run, part *p, char (*ones)[PW_ITEM])
{
    if (run->packed)
        return false;
    for (int k = 0; k < run->n; k++)
        if (!has_loop_type(&run->operand[k]) && !is_one(run, p, k))
            return false;
    for (int k = 0; k < run->n; k++) {
        if (has_loop_type(&run->operand[k]))
            continue;
        load(&run->operand[k], ones[k], p->data[k], 0, 1);
        p->data[k] = ones[k];
    }
    return true;
}

static void loop_by_blocks(char **data, const int64_t *strides, int64_t n0, int64_t n1, void *user)
{
    pw_run *run = user;
    int64_t most = n0 < run->block ? run->block / n0 : 1;
    _Alignas(PW_ITEM) char ones[PW_OPERANDS_MAX][PW_ITEM];
    part p;

    take_part(run, data, strides, iterator_operands(run), &p);
    if (convert_ones(run, &p, ones)) {
        run->loop(p.data, p.strides, n0, n1, &run->state);
        return;
    }
    for (int64_t rows; n1 > 0; n1 -= rows) {
        rows = n1 < most ? n1 : most;
        for (int64_t at = 0, m; at < n0; at += m) {
            m = n0 - at < run->block ? n0 - at : run->block;
            if (m > PW_VECTOR && m < n0 && run->packed)
                m -= m % PW_VECTOR;
            run_block(run, &p, at, m, rows);
        }
        advance(run, &p, rows);
    }
}

int pw_run_over(dp_ctx *ctx, const dp_iter *it, pw_run *run)
{
    int rc;

    if (run->converted || run->packed)
        rc = dp_iter_run(ctx, it, loop_by_blocks, run);
    else if (run->rearranged)
        rc = dp_iter_run(ctx, it, loop_with_scalars, run);
    else
        rc = dp_iter_run(ctx, it, run->loop, &run->state);
    return rc;
}
