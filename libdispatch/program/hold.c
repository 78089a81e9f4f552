/* hold.c -- values that outlive what made them: deep copies of what they point to, tensors owned. */
#include "program_i.h"

void *dpi_bump_add(dpi_bump *m, const void *src, size_t bytes)
{
    void *p = m->at != NULL ? m->at + m->used : NULL;

    m->used += (bytes + 15) & ~(size_t)15;
    if (p != NULL && bytes > 0)
        memcpy(p, src, bytes);
    return p;
}

static size_t payload(const dp_value *v)
{
    switch (v->tag) {
    case DP_TAG_COMPLEX:
        return 2 * sizeof(double);
    case DP_TAG_STR:
        return (size_t)v->len + 1;
    case DP_TAG_TENSORS:
        return v->len * sizeof(dp_tensor *);
    case DP_TAG_INTS:
        return v->len * sizeof(int64_t);
    case DP_TAG_DOUBLES:
        return v->len * sizeof(double);
    case DP_TAG_BOOLS:
        return v->len * sizeof(bool);
    case DP_TAG_LIST:
        return v->len * sizeof(dp_value);
    default:
        return 0;
    }
}

static bool has_payload(const dp_value *v)
{
    return v->tag == DP_TAG_COMPLEX || v->tag == DP_TAG_STR ||
           (v->tag >= DP_TAG_TENSORS && v->tag <= DP_TAG_LIST);
}

dp_value dpi_bump_value(dpi_bump *m, const dp_value *v)
{
    dp_value copy = *v;

    if (!has_payload(v))
        return copy;
    dp_value *items = dpi_bump_add(m, v->u.values, payload(v));
    copy.u.values = items;
    for (uint32_t i = 0; v->tag == DP_TAG_LIST && i < v->len; i++) {
        dp_value item = dpi_bump_value(m, &v->u.values[i]);
        if (items != NULL)
            items[i] = item;
    }
    return copy;
}

/* -- tensors in a value -- */

void dpi_tensors_ref(const dp_value *v)
{
    if (v->tag == DP_TAG_TENSOR)
        dp_tensor_ref(v->u.t);
    for (uint32_t i = 0; v->tag == DP_TAG_TENSORS && i < v->len; i++)
        if (v->u.tensors[i] != NULL)
            dp_tensor_ref(v->u.tensors[i]);
    for (uint32_t i = 0; v->tag == DP_TAG_LIST && i < v->len; i++)
        dpi_tensors_ref(&v->u.values[i]);
}

size_t dpi_storage_bytes_of(const dp_value *v)
{
    size_t bytes = v->tag == DP_TAG_TENSOR ? dp_tensor_storage_bytes(v->u.t) : 0;

    for (uint32_t i = 0; v->tag == DP_TAG_TENSORS && i < v->len; i++)
        if (v->u.tensors[i] != NULL)
            bytes += dp_tensor_storage_bytes(v->u.tensors[i]);
    for (uint32_t i = 0; v->tag == DP_TAG_LIST && i < v->len; i++)
        bytes += dpi_storage_bytes_of(&v->u.values[i]);
    return bytes;
}

int dpi_value_hold(dp_arena *a, dp_value *v, dp_error *err)
{
    if (v->tag == DP_TAG_LIST) {
        dpi_bump m = {0};
        dpi_bump_value(&m, v);
        m = (dpi_bump){dp_arena_alloc(a, m.used + 1), 0};
        if (m.at == NULL)
            return dpi_no_memory(err, "a list");
        *v = dpi_bump_value(&m, v);
    }
    dpi_tensors_ref(v);
    return 0;
}
