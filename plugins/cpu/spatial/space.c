/* space.c -- contiguous copies of tensors for kernels over windows, and the outputs of these
 * kernels. */
#include "space.h"
#include <string.h>

space space_of(const dp_tensor *t, int dims, bool last)
{
    DP_VIEW(v, t);
    bool batched = v.ndim == dims + 2;
    space s = {.dims = dims, .n = 1, .size = {1, 1, 1}, .format = DP_CONTIGUOUS};

    s.dtype = s.computed = v.dtype;
    s.device = v.device;
    if (dp_dtype_is_reduced_floating(v.dtype))
        s.computed = DP_FLOAT32;
    if (batched)
        s.n = v.sizes[0];
    s.channels = v.sizes[batched];
    for (int d = 0; d < dims; d++)
        s.size[SPACE_MAX - dims + d] = v.sizes[v.ndim - dims + d];
    if (last && batched)
        s.format = dp_tensor_suggest_format(t);
    return s;
}

int64_t space_planes(const space *s)
{
    return s->format == DP_CONTIGUOUS ? s->n * s->channels : s->n;
}

int64_t space_inner(const space *s)
{
    return s->format == DP_CONTIGUOUS ? 1 : s->channels;
}

int64_t space_places(const space *s)
{
    return s->size[0] * s->size[1] * s->size[2];
}

int space_sizes(const space *s, bool batched, int64_t sizes[DP_DIM_MAX])
{
    int ndim = 0;

    if (batched)
        sizes[ndim++] = s->n;
    sizes[ndim++] = s->channels;
    for (int d = SPACE_MAX - s->dims; d < SPACE_MAX; d++)
        sizes[ndim++] = s->size[d];
    return ndim;
}

int space_get(dp_ctx *ctx, const space *s, dp_tensor *t, dp_tensor **out)
{
    DP_VIEW(v, t);

    if (v.dtype == s->computed && dp_tensor_is_contiguous(t, s->format)) {
        *out = dp_tensor_ref(t);
        return 0;
    }
    int rc = dp_empty_like(ctx, t, s->computed, s->format, out);
    if (rc == 0 && (rc = dp_copy(ctx, *out, t)) < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* Set strides to those of sizes [ndim] with innermost channels, as dp_empty() computes them. */
static void channels_last(int ndim, const int64_t *sizes, int64_t *strides)
{
    int64_t step = 1;

    for (int i = 0; i < ndim; i++) {
        /* the dimensions in the order C, W, H, D, N */
        int d = i == 0 ? 1 : i == ndim - 1 ? 0 : ndim - i;
        strides[d] = step;
        if (__builtin_mul_overflow(step, sizes[d] > 1 ? sizes[d] : 1, &step))
            step = INT64_MAX; /* dp_set_output() refuses sizes whose product overflows */
    }
}

int space_begin(dp_ctx *ctx, space_out *o, const space *s, bool batched, dp_tensor **out,
                dp_tensor *const *inputs, int n)
{
    int64_t sizes[DP_DIM_MAX], strides[DP_DIM_MAX];
    int ndim = space_sizes(s, batched, sizes);
    bool last = s->format != DP_CONTIGUOUS;

    *o = (space_out){.out = out, .given = *out != NULL};
    if (last)
        channels_last(ndim, sizes, strides);
    int rc = dp_set_output(ctx, out, ndim, sizes, last ? strides : NULL, s->dtype, s->device);
    if (rc == 0 && o->given && s->restrides)
        rc = dp_resize(ctx, *out, ndim, sizes, s->format);
    if (rc < 0)
        return o->given ? dp_refuse(ctx, rc, NULL) : rc;
    bool direct = s->dtype == s->computed && dp_tensor_is_contiguous(*out, s->format);
    for (int i = 0; i < n; i++)
        direct = direct && (!o->given || dp_overlap(*out, inputs[i]) == 0);
    if (direct)
        o->work = dp_tensor_ref(*out);
    else
        rc = dp_empty(ctx, s->computed, s->device, ndim, sizes, s->format, &o->work);
    if (rc < 0 && !o->given)
        *out = dp_tensor_unref(*out);
    return rc;
}

int space_end(dp_ctx *ctx, int rc, space_out *o)
{
    if (rc == 0 && o->work != *o->out)
        rc = dp_copy(ctx, *o->out, o->work);
    o->work = dp_tensor_unref(o->work);
    if (rc < 0 && !o->given)
        *o->out = dp_tensor_unref(*o->out);
    return rc;
}

void *space_data(const dp_tensor *t)
{
    DP_VIEW(v, t);
    return v.data;
}

bool space_list(const int64_t *list, size_t have, int n, int64_t *out)
{
    if (have != 1 && have != (size_t)n)
        return false;
    for (int i = 0; i < n; i++)
        out[i] = list[have == 1 ? 0 : i];
    return true;
}
