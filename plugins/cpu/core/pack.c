/* pack.c -- operands as contiguous arrays, each of the dtype that the kernel asks for; pack_end()
 * releases them together. */
#include "pack.h"

static void *own_tensor(pack *p, dp_tensor *t)
{
    p->made[p->n++] = t;
    DP_VIEW(v, t);
    return v.data;
}

static bool full(pack *p)
{
    if (p->n < PACK_MAX)
        return false;
    p->rc = dp_fail(p->ctx, DP_EPLUGIN, "more than %d packed operands", PACK_MAX);
    return true;
}

static void *copy_as(pack *p, dp_tensor *t, dp_dtype dtype, dp_memory_format format)
{
    dp_tensor *copy;
    DP_VIEW(v, t);

    p->device = v.device;
    void *data = pack_new_as(p, dtype, v.ndim, v.sizes, format, &copy);

    if (p->rc == 0)
        p->rc = dp_copy(p->ctx, copy, t);
    return data;
}

void *pack_own(pack *p, dp_tensor *t, dp_dtype dtype)
{
    return copy_as(p, t, dtype, DP_CONTIGUOUS);
}

void *pack_as(pack *p, dp_tensor *t, dp_dtype dtype, dp_memory_format format)
{
    if (t == NULL || p->rc < 0)
        return NULL;
    DP_VIEW(v, t);
    p->device = v.device;
    if (v.dtype != dtype || !dp_tensor_is_contiguous(t, format))
        return copy_as(p, t, dtype, format);
    return v.data;
}

void *pack_get(pack *p, dp_tensor *t, dp_dtype dtype)
{
    return pack_as(p, t, dtype, DP_CONTIGUOUS);
}

void *pack_new_as(pack *p, dp_dtype dtype, int ndim, const int64_t *sizes, dp_memory_format format,
                  dp_tensor **out)
{
    if (p->rc < 0 || full(p))
        return NULL;
    p->rc = dp_empty(p->ctx, dtype, p->device, ndim, sizes, format, out);
    return p->rc < 0 ? NULL : own_tensor(p, *out);
}

void *pack_new(pack *p, dp_dtype dtype, int ndim, const int64_t *sizes, dp_tensor **out)
{
    return pack_new_as(p, dtype, ndim, sizes, DP_CONTIGUOUS, out);
}

void *pack_zeros(pack *p, dp_dtype dtype, int ndim, const int64_t *sizes, dp_tensor **out)
{
    void *data = pack_new(p, dtype, ndim, sizes, out);

    if (data == NULL) /* no elements, a memoryless tensor, or an error */
        return NULL;
    p->rc = dp_invoke(p->ctx, "aten::zero_", "T>", *out); /* zero_ uses several threads */
    return p->rc < 0 ? NULL : data;
}

void *pack_array(pack *p, int64_t n, size_t item)
{
    uint64_t bytes = dp_sizes_product(item, &n, 1);

    if (p->rc < 0)
        return NULL;
    void *data = bytes <= INT64_MAX ? dp_alloc(p->ctx, bytes) : NULL;
    if (data == NULL)
        p->rc = bytes <= INT64_MAX
                    ? DP_ERESOURCE
                    : dp_fail(p->ctx, DP_ERESOURCE, "out of memory: %" PRId64 " items of %zu bytes",
                              n, item);
    return data;
}

void pack_place(pack *p, const dp_tensor *made, dp_dtype dtype, dp_tensor **out)
{
    if (p->rc < 0 || *out == NULL)
        return;
    DP_VIEW(v, made);
    p->rc = dp_set_output(p->ctx, out, v.ndim, v.sizes, NULL, dtype, v.device);
    if (p->rc < 0)
        p->rc = dp_refuse(p->ctx, p->rc, NULL);
}

void pack_give(pack *p, dp_tensor *made, dp_dtype dtype, dp_tensor **out)
{
    dp_tensor *given = *out;

    pack_place(p, made, dtype, out);
    if (p->rc < 0)
        return;
    DP_VIEW(v, made);
    if (given == NULL && v.dtype == dtype) {
        *out = dp_tensor_ref(made);
        return;
    }
    if (given == NULL)
        p->rc = dp_empty_like(p->ctx, made, dtype, DP_PRESERVE, out);
    if (p->rc == 0 && (p->rc = dp_copy(p->ctx, *out, made)) < 0 && given == NULL)
        *out = dp_tensor_unref(*out);
}

int pack_end(pack *p)
{
    for (int i = 0; i < p->n; i++)
        dp_tensor_unref(p->made[i]);
    return p->rc;
}
