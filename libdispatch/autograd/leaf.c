/* leaf.c -- store or add the gradients that backward computed for leaves
 * (torch/csrc/autograd/functions/accumulate_grad.h).
 *
 * A leaf's gradient has the leaf's strides.  But if the leaf's elements have gaps between them or
 * share memory, its gradient is contiguous.  A leaf takes over the tensor that backward computed if
 * nothing else refers to it and its strides are right; otherwise the leaf gets a clone.
 *
 * If a leaf already has a gradient, that stays the same tensor and gets the elements of the sum,
 * unless backward records (`create`) or a wrapper tensor is involved: then the leaf gets the sum
 * itself.  All sums are computed first, in other tensors: what can fail has been done then, and
 * either all leaves change or none does. */
#include "engine.h"
#include "tensor/room.h"
#include <stdlib.h>

/* Make a tensor with the leaf's sizes and strides, and copy `grad` to it: *out, owned. */
static int clone_laid_out(dp_ctx *ctx, const dp_tensor *leaf, dp_tensor *grad, dp_tensor **out)
{
    const dpi_geometry *g = dpi_geometry_of(leaf);
    const size_t n = (size_t)g->ndim;
    const dp_value args[7] = {dp_tensor_value(grad), dp_ints(g->sizes, n), dp_ints(g->strides, n)};
    int rc = dpi_call_one(ctx, "aten::new_empty_strided", args, 7, out);

    if (rc == 0 && (rc = dpi_copy_into(ctx, *out, grad)) < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* Replace *grad by a clone unless `leaf` can have *grad itself as its gradient. */
static int own(dp_ctx *ctx, const dp_tensor *leaf, dp_tensor **grad)
{
    const dpi_geometry *a = dpi_geometry_of(leaf), *b = dpi_geometry_of(*grad);
    bool same = dpi_same_strides(a, b), laid_out = a->dense ? same : b->contiguous;
    dp_value args[2] = {{0}, dp_int(a->dense ? DP_PRESERVE : DP_CONTIGUOUS)};
    dp_tensor *clone;

    if (laid_out && dpi_tensor_is_only(*grad) && (*grad)->root == NULL && dpi_math_bits(*grad) == 0)
        return 0;
    if (!a->dense || same)
        return dpi_replace(ctx, "aten::clone", args, 2, grad);
    int rc = clone_laid_out(ctx, leaf, *grad, &clone);
    if (rc < 0)
        return rc;
    dp_tensor_unref(*grad);
    *grad = clone;
    return 0;
}

/* -- sums -- */

/* Can dpi_copy() write `sum` to `have`, of the same sizes and dtype, without allocating memory and
 * without a device?  It has nothing to do for tensors without memory. */
static bool is_plain(const dp_tensor *have, const dp_tensor *sum)
{
    const dpi_geometry *a = dpi_geometry_of(have), *b = dpi_geometry_of(sum);

    return a->parts == NULL && b->parts == NULL &&
           (dpi_is_memoryless(have) || (a->storage->host && b->storage->host));
}

/* Add two gradients of different sizes; the sum must have the sizes of the older one, l->have. */
static int add_broadcast(dp_ctx *ctx, dpi_leaf_grad *l)
{
    char want[DP_SHAPE_TEXT], got[DP_SHAPE_TEXT];
    dp_value args[3] = {{0}, dp_tensor_value(l->have), dp_int(1)};
    int rc = dpi_replace(ctx, "aten::add.Tensor", args, 3, &l->grad);
    const dpi_geometry *a = dpi_geometry_of(l->have), *b = dpi_geometry_of(l->grad);

    if (rc == 0 && !dpi_same_sizes(a, b))
        rc = dp_error_set(&ctx->error, DP_ERUNTIME,
                          "the gradient of a leaf has shape %s and cannot take a sum of shape %s",
                          dp_shape_text(want, a->sizes, (size_t)a->ndim),
                          dp_shape_text(got, b->sizes, (size_t)b->ndim));
    return rc;
}

/* Add l->have to l->grad, and decide how the leaf gets the sum. */
static int sum_one(dp_ctx *ctx, bool create, bool dry, dpi_leaf_grad *l)
{
    int rc = 0;

    if (create || dpi_same_sizes(dpi_geometry_of(l->have), dpi_geometry_of(l->grad)))
        rc = dpi_gradient_add(ctx, create, &l->grad, dp_tensor_ref(l->have));
    else
        rc = add_broadcast(ctx, l);
    if (rc < 0)
        return rc;
    if (create || dpi_geometry_of(l->have)->parts != NULL ||
        dpi_geometry_of(l->grad)->parts != NULL)
        l->have = dp_tensor_unref(l->have); /* the leaf gets the sum itself */
    else if (!dry && (rc = dpi_overlap_check(l->have, NULL, &ctx->error)) == 0 &&
             dpi_is_memoryless(l->grad) && !dpi_is_memoryless(l->have))
        rc = dpi_no_data(dpi_storage_of(l->grad), &ctx->error);
    return rc;
}

static int by_have(const void *a, const void *b)
{
    const dpi_leaf_grad *x = *(dpi_leaf_grad *const *)a, *y = *(dpi_leaf_grad *const *)b;

    if (x->have != y->have)
        return (uintptr_t)x->have < (uintptr_t)y->have ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Several leaves may have one tensor as their gradient: what they get is added for the first of
 * them, and the others, whose `grad` becomes NULL, get nothing of their own. */
static int join_shared(dp_ctx *ctx, dpi_leaf_grad *l, uint32_t n)
{
    dpi_leaf_grad **order = dp_arena_alloc_n(&ctx->arena, n, sizeof(*order));
    int rc = 0;

    if (order == NULL)
        return dpi_no_memory(&ctx->error, "gradients");
    for (uint32_t i = 0; i < n; i++)
        order[i] = &l[i];
    qsort(order, n, sizeof(*order), by_have);
    for (uint32_t i = 1, first = 0; i < n && rc == 0; i++) {
        if (order[i]->have == NULL || order[i]->have != order[first]->have) {
            first = i;
            continue;
        }
        rc = dpi_gradient_add(ctx, false, &order[first]->grad, order[i]->grad);
        order[i]->grad = NULL;
        order[i]->have = dp_tensor_unref(order[i]->have);
    }
    return rc;
}

int dpi_leaves_sum(dp_ctx *ctx, bool create, bool dry, dpi_leaf_grad *l, uint32_t n)
{
    uint32_t n_have = 0;
    int rc = 0;

    for (uint32_t i = 0; i < n && rc == 0; i++) {
        l[i].have = dp_tensor_grad(l[i].leaf);
        n_have += l[i].have != NULL;
        if (!dry && dpi_meta_make(l[i].leaf) == NULL)
            rc = dpi_no_memory(&ctx->error, "a gradient");
        if (rc == 0 && !dry)
            rc = dpi_grad_check(ctx, l[i].leaf, l[i].grad);
        if (rc == 0 && (l[i].have == NULL || create))
            rc = own(ctx, l[i].leaf, &l[i].grad);
    }
    if (rc == 0 && n_have > 1 && !create)
        rc = join_shared(ctx, l, n);
    for (uint32_t i = 0; i < n && rc == 0; i++)
        if (l[i].have != NULL)
            rc = sum_one(ctx, create, dry, &l[i]);
    return rc;
}

/* -- storing -- */

/* Write the sums to gradients on devices.  Fails only if a device does. */
static int store_on_devices(dp_ctx *ctx, dpi_leaf_grad *l, uint32_t n)
{
    int rc = 0;

    for (uint32_t i = 0; i < n && rc == 0; i++)
        if (l[i].have != NULL && !is_plain(l[i].have, l[i].grad)) {
            rc = dpi_copy_into(ctx, l[i].have, l[i].grad);
            l[i].have = dp_tensor_unref(l[i].have);
            l[i].grad = dp_tensor_unref(l[i].grad);
        }
    return rc;
}

int dpi_leaves_store(dp_ctx *ctx, dpi_leaf_grad *l, uint32_t n)
{
    const dpi_stop stop = ctx->stop;

    ctx->stop = (dpi_stop){0}; /* it is too late to stop */
    int rc = store_on_devices(ctx, l, n);
    ctx->stop = stop;
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        if (l[i].grad != NULL && l[i].have == NULL) {
            dpi_grad_put(ctx, l[i].leaf, l[i].grad);
        } else if (l[i].grad != NULL) {
            rc = dpi_copy(l[i].have, l[i].grad, ctx->threads, &ctx->error);
            dp_tensor_bump_version(l[i].have);
            dpi_ctx_touch(ctx);
        }
    }
    return rc;
}

void dpi_leaves_release(dpi_leaf_grad *l, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        dp_tensor_unref(l[i].have);
        dp_tensor_unref(l[i].grad);
    }
}
