/* retain.c -- tensors that are no leaves, but retain their gradients (Tensor.retain_grad,
 * torch/csrc/autograd/variable.cpp).
 *
 * While a backward runs, it collects the gradients of such tensors.  Only when it has succeeded, it
 * adds them to the tensors' gradients, so a failure changes none.  If a base was written through a
 * view, the base retains the gradient of its value before the write, as in PyTorch 1.13. */
#include "history.h"

typedef struct dpi_retained_grad {
    dpi_kept *kept;  /* where the tensor's gradient is stored; with a reference */
    dp_tensor *grad; /* owned; gradient to add; after dpi_retained_sum() the sum */
} dpi_retained_grad;

int dp_tensor_retain_grad(dp_ctx *ctx, dp_tensor *t)
{
    dpi_edge e;
    dpi_kept *new = NULL;
    int rc = dpi_edge_of(ctx, t, &e);

    if (rc < 0)
        return rc;
    if (e.to == NULL)
        return dp_error_set(&ctx->error, DP_ERUNTIME,
                            "can't retain_grad on Tensor that has requires_grad=False");
    if (!e.leaf && dpi_kept_of(t) == NULL)
        rc = dpi_meta_make(t) != NULL ? dpi_kept_new(ctx, &new)
                                      : dpi_no_memory(&ctx->error, "a gradient");
    if (rc == 0)
        rc = dpi_kept_follow(ctx, new, e.to, e.nr); /* first: t changes only if all succeeds */
    if (new != NULL && (rc < 0 || !dpi_meta_keep(t, new)))
        dpi_kept_end(new); /* or another connection was faster */
    dpi_edge_unref(e);
    return rc;
}

bool dp_tensor_retains_grad(const dp_tensor *t)
{
    return dpi_kept_of(t) != NULL;
}

/* -- one backward -- */

static int add_one(dp_ctx *ctx, dpi_retained *r, dpi_kept *k, dp_tensor *grad)
{
    void *items = dpi_grow(r->items, &r->cap, r->n + 1, sizeof(*r->items));

    if (items == NULL)
        return dpi_no_memory(&ctx->error, "gradients");
    r->items = items;
    r->items[r->n++] = (dpi_retained_grad){dpi_kept_ref(k), dp_tensor_ref(grad)};
    return 0;
}

DPI_HOT int dpi_retained_add(dp_ctx *ctx, dpi_retained *r, const dpi_node *n,
                             dp_tensor *const *grads)
{
    int rc = 0;

    for (dpi_kept_item *i = atomic_load_explicit(&n->kept, memory_order_acquire);
         i != NULL && rc == 0; i = i->next) {
        dp_tensor *grad = dpi_kept_pick(i->kept, n, grads);
        if (grad != NULL)
            rc = add_one(ctx, r, i->kept, grad);
    }
    return rc;
}

int dpi_retained_sum(dp_ctx *ctx, dpi_retained *r)
{
    int rc = 0;

    for (uint32_t i = 0; i < r->n && rc == 0; i++) {
        dp_tensor *have = dpi_kept_grad(r->items[i].kept), **grad = &r->items[i].grad;
        dp_value add[3] = {{0}, {0}, dp_int(1)}, copy[2] = {{0}, dp_int(DP_CONTIGUOUS)};
        if (have != NULL)
            add[1] = dp_tensor_value(have);
        rc = have != NULL ? dpi_replace(ctx, "aten::add.Tensor", add, 3, grad)
                          : dpi_replace(ctx, "aten::clone", copy, 2, grad);
        dp_tensor_unref(have);
    }
    return rc;
}

void dpi_retained_store(dpi_retained *r)
{
    for (uint32_t i = 0; i < r->n; i++)
        dpi_kept_store(r->items[i].kept, r->items[i].grad);
}

void dpi_retained_fini(dpi_retained *r)
{
    for (uint32_t i = 0; i < r->n; i++) {
        dp_tensor_unref(r->items[i].grad);
        dpi_kept_unref(r->items[i].kept);
    }
    dp_free(r->items);
}
