/* cross.c -- cross products of vectors with three elements (aten/src/ATen/native/Cross.cpp).
 *
 * Operators: linalg_cross. */
#include <dispatchd/plugin.h>
#include <dispatchd/iter.h>
#include "matrices.h"
#include <complex.h>

typedef struct steps {
    int64_t out, a, b; /* strides of the components in bytes */
} steps;

#define AT(type, p, i, step) (*(const type *)((p) + (i) * (step)))

#define CROSSED(X)                                                                                 \
    DP_DTYPES_INTEGRAL(X)                                                                          \
    DP_DTYPES_FLOATING(X) DP_DTYPES_BFLOAT16(X) DP_DTYPES_COMPLEX(X)

#define CROSS(name, dtype, memory, value, load, store)                                             \
    static void cross_##name(char **data, const int64_t *strides, int64_t n0, int64_t n1,          \
                             void *user)                                                           \
    {                                                                                              \
        const steps s = *(const steps *)user;                                                      \
        for (int64_t j = 0; j < n1; j++)                                                           \
            for (int64_t i = 0; i < n0; i++) {                                                     \
                char *to = data[0] + j * strides[3] + i * strides[0];                              \
                const char *a = data[1] + j * strides[4] + i * strides[1];                         \
                const char *b = data[2] + j * strides[5] + i * strides[2];                         \
                value a0 = load(AT(memory, a, 0, s.a)), a1 = load(AT(memory, a, 1, s.a)),          \
                      a2 = load(AT(memory, a, 2, s.a));                                            \
                value b0 = load(AT(memory, b, 0, s.b)), b1 = load(AT(memory, b, 1, s.b)),          \
                      b2 = load(AT(memory, b, 2, s.b));                                            \
                *(memory *)to = store(a1 * b2 - a2 * b1);                                          \
                *(memory *)(to + s.out) = store(a2 * b0 - a0 * b2);                                \
                *(memory *)(to + 2 * s.out) = store(a0 * b1 - a1 * b0);                            \
            }                                                                                      \
    }
CROSSED(CROSS)

static const dp_iter_loop2d loops[DP_DTYPE_END] = {
#define ROW(name, dtype, ...) [dtype] = cross_##name,
    CROSSED(ROW)
#undef ROW
};

/* Set *out, owned, to a view of the first component of the vectors in `t`, and *step to the stride
 * in bytes of the components.  The vectors are along the dimension `from_end` from the end. */
static int components(dp_ctx *ctx, dp_tensor *t, int from_end, dp_tensor **out, int64_t *step)
{
    int64_t sizes[DP_DIM_MAX];
    DP_VIEW(v, t);
    int d = v.ndim - from_end;

    dp_copy_n(sizes, v.sizes, (size_t)v.ndim, sizeof(int64_t));
    sizes[d] = 1;
    *step = v.strides[d] * (int64_t)dp_dtype_size(v.dtype);
    return dp_as_strided(ctx, t, v.ndim, sizes, v.strides, dp_tensor_offset(t), out);
}

static int multiply(dp_ctx *ctx, dp_tensor *out, dp_tensor *a, dp_tensor *b, int from_end)
{
    dp_tensor *firsts[3] = {NULL, NULL, NULL};
    steps s;
    dp_iter it;
    DP_VIEW(v, out);
    int rc = components(ctx, out, from_end, &firsts[0], &s.out);

    if (rc == 0)
        rc = components(ctx, a, from_end, &firsts[1], &s.a);
    if (rc == 0)
        rc = components(ctx, b, from_end, &firsts[2], &s.b);
    if (rc == 0) {
        dp_iter_config config = dp_iter_of(
            DP_ITER_UNARY | DP_ITER_NO_OVERLAP_CHECK | DP_ITER_NO_RESIZE, 1, firsts, 2, firsts + 1);
        rc = dp_iter_init(ctx, &config, &it);
        if (rc == 0)
            rc = dp_iter_run(ctx, &it, loops[v.dtype], &s);
    }
    for (int i = 0; i < 3; i++)
        dp_tensor_unref(firsts[i]);
    return rc;
}

static int check(dp_ctx *ctx, const dp_view *a, const dp_view *b, int64_t *dim)
{
    int64_t given = *dim;

    if (a->ndim != b->ndim)
        return dp_fail(ctx, DP_ERUNTIME,
                       "linalg.cross: inputs must have the same number of dimensions.");
    if (a->ndim == 0)
        return dp_fail(ctx, DP_EINDEX,
                       "Dimension specified as %" PRId64 " but tensor has no dimensions", given);
    int rc = wrap_dim(ctx, dim, a->ndim);
    if (rc == 0 && (a->sizes[*dim] != 3 || b->sizes[*dim] != 3))
        rc = dp_fail(ctx, DP_ERUNTIME,
                     "linalg.cross: inputs dimension %" PRId64 " must have length 3. Got %" PRId64
                     " and %" PRId64,
                     given, a->sizes[*dim], b->sizes[*dim]);
    return rc;
}

/* aten::linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor */
static int run_cross(dp_ctx *ctx, const dp_value *args, outs *o)
{
    int64_t sizes[DP_DIM_MAX], dim = args[2].u.i;
    dp_tensor *aside = NULL;
    DP_VIEW(a, args[0].u.t);
    DP_VIEW(b, args[1].u.t);
    int rc = check(ctx, &a, &b, &dim);

    if (rc == 0)
        rc = dp_broadcast_shapes(ctx, a.ndim, a.sizes, b.ndim, b.sizes, sizes);
    if (rc == 0)
        rc = dp_set_output(ctx, &o->t[0], a.ndim, sizes, NULL, a.dtype, a.device);
    if (rc == 0 && loops[a.dtype] == NULL)
        rc = dense_check_type(ctx, "cross", a.dtype, 0);
    if (rc == 0)
        rc = dense_check_same(ctx, a.dtype, b.dtype);
    if (rc == 0 && o->aside[0])
        rc = dp_empty_like(ctx, o->t[0], DP_DTYPE_NONE, DP_CONTIGUOUS, &aside);
    if (rc < 0)
        return rc;
    o->written = true;
    rc = multiply(ctx, aside ? aside : o->t[0], args[0].u.t, args[1].u.t, a.ndim - (int)dim);
    if (rc == 0 && aside != NULL)
        rc = dp_copy(ctx, o->t[0], aside);
    dp_tensor_unref(aside);
    return rc;
}
static int linalg_cross(dp_call *call)
{
    return mx_call(call, 3, run_cross);
}

DP_LIBRARY_META(aten, CPU, DP_IMPL("linalg_cross", linalg_cross),
                DP_IMPL("linalg_cross.out", linalg_cross))
