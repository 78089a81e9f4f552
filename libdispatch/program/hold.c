/* hold.c -- copy values with the strings and lists that they point to, and take references to their
 * tensors. */
#include "program_i.h"
#include "dispatch/call/values.h"

void *dpi_bump_add(dpi_bump *m, const void *src, size_t bytes)
{
    void *p = m->at != NULL ? m->at + m->used : NULL;

    m->used += (bytes + 15) & ~(size_t)15;
    if (p != NULL && bytes > 0)
        memcpy(p, src, bytes);
    return p;
}

dp_value dpi_bump_value(dpi_bump *m, const dp_value *v)
{
    dp_value copy = *v;

    if (m->at != NULL)
        dpi_values_move(&copy, 1, m->at + m->used);
    m->used += dpi_values_bytes(v, 1);
    return copy;
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

int dpi_value_ref(dp_arena *a, dp_value *v, dp_error *err)
{
    if (v->tag == DP_TAG_LIST && dpi_values_copy(a, v, 1) < 0)
        return dpi_no_memory(err, "a list");
    dpi_values_ref(v, 1);
    return 0;
}
