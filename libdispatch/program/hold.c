/* hold.c -- copy values with the strings and lists that they point to, and take references to their
 * tensors; the numbers of wrapped tensors. */
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

bool dpi_wrapped_number(const dp_tensor *t, double z[2], dp_value *out)
{
    DPI_VIEW(v, t);
    int64_t i = 0;

    if (!dp_tensor_is_wrapped(t) || v.ndim != 0 || v.data == NULL)
        return false;
    if (dp_dtype_is_complex(v.dtype)) {
        dp_convert(DP_COMPLEX128, z, v.dtype, v.data, 1);
        *out = (dp_value){DP_TAG_COMPLEX, 0, {0}};
        out->u.doubles = z;
    } else if (dp_dtype_is_floating(v.dtype)) {
        dp_convert(DP_FLOAT64, z, v.dtype, v.data, 1);
        *out = dp_double(z[0]);
    } else {
        dp_convert(DP_INT64, &i, v.dtype, v.data, 1);
        *out = v.dtype == DP_BOOL ? dp_bool(i != 0) : dp_int(i);
    }
    return true;
}
