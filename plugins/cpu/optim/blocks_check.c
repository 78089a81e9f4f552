/* blocks_check.c -- checks of lists of tensors before an operator writes to them (blocks.h). */
#include "blocks.h"
#include "core/dense.h"
#include <dispatchd/check.h>
#include <stdlib.h>

void blocks_add(block_lists *l, const char *name, const dp_value *v, bool written)
{
    block_list list = {name, v->u.tensors, v->len, written};
    l->of[l->n++] = list;
}

static int check_lengths(dp_ctx *ctx, const block_lists *l)
{
    for (int k = 1; k < l->n; k++)
        if (l->of[k].len != l->of[0].len)
            return dp_refuse(ctx, DP_ERUNTIME,
                             "Tensor lists must have the same number of tensors, got %u %s and %u "
                             "%s",
                             l->of[0].len, l->of[0].name, l->of[k].len, l->of[k].name);
    return 0;
}

static const char *device_name(dp_device d, char name[DP_KEY_NAME_MAX])
{
    return dp_key_name(DP_KEY_OF(DP_F_Dense, dp_device_backend(d)), name);
}

/* Check the tensor at index `i` of list `b` beside that of list `a`. */
static int check_pair(dp_ctx *ctx, const block_list *a, const block_list *b, uint32_t i)
{
    char x_text[DP_SHAPE_TEXT], y_text[DP_SHAPE_TEXT], here[DP_KEY_NAME_MAX],
        there[DP_KEY_NAME_MAX];
    DP_VIEW(x, a->at[i]);
    DP_VIEW(y, b->at[i]);

    if (x.device != y.device)
        return dp_refuse(ctx, DP_ERUNTIME,
                         "Expected all tensors to be on the same device, but %s[%u] is on %s and "
                         "%s[%u] is on %s",
                         a->name, i, device_name(x.device, here), b->name, i,
                         device_name(y.device, there));
    if (x.dtype != y.dtype)
        return dp_refuse(ctx, DP_ERUNTIME,
                         "%s[%u] has dtype %s, but %s[%u] has dtype %s: they must have the same "
                         "dtype",
                         a->name, i, dp_dtype_name(x.dtype), b->name, i, dp_dtype_name(y.dtype));
    if (!dp_same_sizes(x.ndim, x.sizes, y.ndim, y.sizes))
        return dp_refuse(ctx, DP_ERUNTIME,
                         "%s[%u] has shape %s, but %s[%u] has shape %s: they must have the same "
                         "shape",
                         a->name, i, dp_shape_text(x_text, x.sizes, (size_t)x.ndim), b->name, i,
                         dp_shape_text(y_text, y.sizes, (size_t)y.ndim));
    return 0;
}

int blocks_check(dp_ctx *ctx, const block_lists *l, const char *what)
{
    const block_list *first = l->of;
    int rc = check_lengths(ctx, l);

    for (uint32_t i = 0; rc == 0 && i < first->len; i++) {
        DP_VIEW(x, first->at[i]);
        if (!(DENSE_BIT(x.dtype) & (DENSE_FLOATS | DENSE_BIT(DP_FLOAT16))))
            rc = dp_refuse_dtype(ctx, what, x.dtype);
        for (int k = 1; rc == 0 && k < l->n; k++)
            if (l->of[k].at[i])
                rc = check_pair(ctx, first, &l->of[k], i);
    }
    return rc;
}

/* -- memory -- */

typedef struct span {
    const char *begin, *end; /* the bytes between the first and the last element */
    const block_list *list;
    uint32_t index;
    size_t order; /* its number among all spans, so that errors name the same two tensors always */
} span;

static int by_begin(const void *a, const void *b)
{
    const span *x = a, *y = b;
    return x->begin != y->begin ? (x->begin > y->begin) - (x->begin < y->begin)
                                : (x->order > y->order) - (x->order < y->order);
}

/* Add the spans of the tensors of `list` that have elements in memory to spans; return the new
 * number of spans. */
static size_t add_spans(const block_list *list, span *spans, size_t n)
{
    for (uint32_t i = 0; i < list->len; i++) {
        if (list->at[i] == NULL)
            continue;
        DP_VIEW(v, list->at[i]);
        int64_t extent = 1;
        for (int d = 0; d < v.ndim; d++)
            extent += (v.sizes[d] - 1) * v.strides[d];
        span s = {v.data, (const char *)v.data + (size_t)extent * dp_dtype_size(v.dtype), list, i,
                  n};
        if (v.numel > 0 && v.data)
            spans[n++] = s;
    }
    return n;
}

static int check_inside(dp_ctx *ctx, const span *s)
{
    if (!s->list->written || dp_internal_overlap(s->list->at[s->index]) != 1)
        return 0;
    return dp_refuse(ctx, DP_ERUNTIME,
                     "unsupported operation: more than one element of the written-to tensor "
                     "%s[%u] refers to a single memory location. Please clone() the tensor before "
                     "performing the operation.",
                     s->list->name, s->index);
}

static int check_two(dp_ctx *ctx, const span *a, const span *b)
{
    if (!a->list->written && !b->list->written)
        return 0;
    int overlap = dp_overlap(a->list->at[a->index], b->list->at[b->index]);
    if (overlap != 1 && overlap != 2)
        return 0;
    return dp_refuse(ctx, DP_ERUNTIME,
                     "unsupported operation: some elements of %s[%u] and %s[%u] refer to a single "
                     "memory location. Please clone() the tensor before performing the operation.",
                     a->list->name, a->index, b->list->name, b->index);
}

int blocks_check_apart(dp_ctx *ctx, const block_lists *l, const block_list *more)
{
    size_t most = more ? more->len : 0, n = 0;
    int rc = 0;

    for (int k = 0; k < l->n; k++)
        most += l->of[k].len;
    span *spans = dp_alloc_n(ctx, most, sizeof(span));
    if (spans == NULL)
        return DP_ERESOURCE;
    for (int k = 0; k < l->n; k++)
        n = add_spans(&l->of[k], spans, n);
    n = more ? add_spans(more, spans, n) : n;
    qsort(spans, n, sizeof(span), by_begin);
    for (size_t i = 0; i < n && rc == 0; i++) {
        rc = i % 256 == 0 ? dp_checkpoint(ctx) : 0;
        rc = rc == 0 ? check_inside(ctx, &spans[i]) : dp_refuse(ctx, rc, NULL);
        for (size_t j = i + 1; rc == 0 && j < n && spans[j].begin < spans[i].end; j++)
            rc = check_two(ctx, &spans[i], &spans[j]);
    }
    return rc;
}
