/* list.c -- a list of tensors that a kernel makes one by one. */
#include "list.h"

enum { LIST_MAX = 1 << 16 }; /* tensors that one call may return */

list list_of(dp_ctx *ctx, size_t capacity)
{
    list l = {ctx, NULL, 0, capacity, 0};

    if (capacity > LIST_MAX)
        l.rc = dp_fail(ctx, DP_ERESOURCE, "%zu tensors are over the limit of %d for one call",
                       capacity, LIST_MAX);
    else if ((l.made = dp_alloc_n(ctx, capacity, sizeof(dp_tensor *))) == NULL)
        l.rc = DP_ERESOURCE;
    return l;
}

dp_tensor **list_next(list *l)
{
    return &l->made[l->n];
}

void list_made(list *l, int rc)
{
    l->rc = rc;
    l->n += rc == 0;
}

void list_release(list *l)
{
    for (size_t i = 0; i < l->n; i++)
        dp_tensor_unref(l->made[i]);
    l->n = 0;
}

int list_end(list *l, dp_value *out)
{
    if (l->rc == 0)
        *out = dp_tensors(l->made, l->n);
    else
        list_release(l);
    return l->rc;
}

int list_cat(list *l, int64_t dim, dp_tensor **out)
{
    if (l->rc == 0)
        l->rc = *out == NULL
                    ? dp_invoke(l->ctx, "aten::cat", "lTi>T", l->made, l->n, dim, out)
                    : dp_invoke(l->ctx, "aten::cat.out", "lTiT>", l->made, l->n, dim, *out);
    list_release(l);
    return l->rc;
}
