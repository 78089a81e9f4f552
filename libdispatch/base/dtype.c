/* dtype.c -- the twelve dtypes: names and sizes. */
#include "base.h"

static const char *const names[DP_DTYPE_END] = {
#define ROW(id, number, name, bytes) [number] = name,
    DP_DTYPE_MAP(ROW)
#undef ROW
};
const uint8_t dpi_itemsizes[DP_DTYPE_END] = {
#define ROW(id, number, name, bytes) [number] = bytes,
    DP_DTYPE_MAP(ROW)
#undef ROW
};

size_t dp_dtype_size(dp_dtype d)
{
    return dpi_itemsize(d);
}

const char *dp_dtype_name(dp_dtype d)
{
    return dp_dtype_size(d) ? names[d] : "?";
}

dp_dtype dp_dtype_parse(const char *name)
{
    for (dp_dtype d = 0; d < DP_DTYPE_END; d++)
        if (names[d] && strcmp(names[d], name) == 0)
            return d;
    return DP_DTYPE_NONE;
}
