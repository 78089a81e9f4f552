/* one_hot.c -- one_hot, which calls scatter (aten/src/ATen/native/Onehot.cpp). */
#include "core/composite.h"

static int number_of(dp_ctx *ctx, const char *op, dp_tensor *t, int64_t *out)
{
    dp_tensor *one;
    dp_value number;
    int rc = dp_invoke(ctx, op, "T>T", t, &one);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::item", "T>s", one, &number);
    dp_tensor_unref(one);
    *out = rc < 0 ? 0 : as_int(number);
    return rc;
}

/* Set the number of classes: the argument, or the greatest value of self plus 1. */
static int count_classes(dp_ctx *ctx, dp_tensor *self, int64_t *classes)
{
    int64_t least, most;
    int rc = number_of(ctx, "aten::min", self, &least);

    if (rc == 0)
        rc = number_of(ctx, "aten::max", self, &most);
    if (rc < 0)
        return rc;
    if (least < 0)
        return dp_fail(ctx, DP_ERUNTIME, "Class values must be non-negative.");
    if (*classes != -1 && *classes <= most)
        return dp_fail(ctx, DP_ERUNTIME, "Class values must be smaller than num_classes.");
    if (*classes == -1 && __builtin_add_overflow(most, 1, classes))
        return dp_fail(ctx, DP_ERUNTIME, "class value %" PRId64 " is too large", most);
    return 0;
}

/* aten::one_hot(Tensor self, int num_classes=-1) -> Tensor */
static int one_hot(dp_ctx *ctx, dp_tensor *self, int64_t classes, dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX + 1];
    dp_tensor *made = NULL, *index = NULL;
    DP_VIEW(x, self);
    int rc = check_ndim(ctx, (size_t)x.ndim + 1);

    if (rc == 0 && x.dtype != DP_INT64)
        rc = dp_fail(ctx, DP_ERUNTIME, "one_hot is only applicable to index tensor.");
    if (rc == 0 && x.numel == 0 && classes <= 0)
        rc = dp_fail(ctx, DP_ERUNTIME, "Can not infer total number of classes from empty tensor.");
    if (rc == 0 && x.numel > 0)
        rc = count_classes(ctx, self, &classes);
    if (rc < 0)
        return rc;
    dp_copy_n(sizes, x.sizes, (size_t)x.ndim, sizeof(int64_t));
    sizes[x.ndim] = classes;
    rc = dp_invoke(ctx, "aten::new_zeros", "Tli>T", self, sizes, (size_t)x.ndim + 1, &made);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::unsqueeze", "Ti>T", self, (int64_t)-1, &index);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::scatter_.value", "TiTs>", made, (int64_t)-1, index, dp_int(1));
    dp_tensor_unref(index);
    if (rc < 0)
        made = dp_tensor_unref(made);
    *out = made;
    return rc;
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED("one_hot", one_hot, (T, i), (T)))
