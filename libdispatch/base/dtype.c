/* dtype.c -- names and sizes of dtypes. */
#include "base.h"

static const char *const names[DP_DTYPE_END] = {
#define ROW(id, number, name, aten, bytes, category) [number] = name,
    DP_DTYPE_MAP(ROW)
#undef ROW
};
/* Names of the dtypes that PyTorch has and dispatchd lacks, by PyTorch's number. */
static const char *const reserved[] = {
#define ROW(number, name) [number] = name,
    DP_DTYPE_RESERVED_MAP(ROW)
#undef ROW
};
const uint8_t dpi_itemsizes[DP_DTYPE_END] = {
#define ROW(id, number, name, aten, bytes, category) [number] = bytes,
    DP_DTYPE_MAP(ROW)
#undef ROW
};

DPI_HOT size_t dp_dtype_size(dp_dtype d)
{
    return dpi_itemsize(d);
}

const char *dp_dtype_name(dp_dtype d)
{
    return dp_dtype_size(d) ? names[d] : "?";
}

DPI_HOT int dpi_dtype_check(dp_dtype d, dp_error *err)
{
    const char *name = d >= 0 && (size_t)d < DPI_COUNT(reserved) ? reserved[d] : NULL;

    if (dp_dtype_size(d))
        return DP_OK;
    if (name != NULL)
        return dp_error_set(err, DP_ETYPE,
                            "dtype %s is PyTorch's, but tensors of it are not supported", name);
    if (d == DP_DTYPE_NONE)
        return dp_error_set(err, DP_ETYPE,
                            "no dtype: none was given, or the tensors have no common one because "
                            "one is quantized");
    return dp_error_set(err, DP_ETYPE, "no dtype has number %d", d);
}

bool dpi_dtype_is_reserved(const char *name)
{
    for (size_t i = 0; i < DPI_COUNT(reserved); i++)
        if (reserved[i] != NULL && strcmp(reserved[i], name) == 0)
            return true;
    return false;
}

dp_dtype dp_dtype_parse(const char *name)
{
    for (dp_dtype d = 0; d < DP_DTYPE_END; d++)
        if (names[d] && strcmp(names[d], name) == 0)
            return d;
    return DP_DTYPE_NONE;
}
