/* nearest.c -- the names nearest to a mistyped one, for error messages. */
#include "base.h"
#include <stdio.h>

enum { NAME_MAX_BYTES = DP_LIMIT_NAME_BYTES, NEAREST_MAX = 8 };

/* Both are at most NAME_MAX_BYTES long. */
static size_t distance(const char *a, size_t na, const char *b, size_t nb)
{
    size_t row[NAME_MAX_BYTES + 1];

    for (size_t j = 0; j <= nb; j++)
        row[j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t change = corner + (a[i - 1] != b[j - 1]);
            size_t gap = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            corner = row[j];
            row[j] = change < gap ? change : gap;
        }
    }
    return row[nb];
}

size_t dp_edit_distance(const char *a, const char *b)
{
    return distance(a, strnlen(a, NAME_MAX_BYTES), b, strnlen(b, NAME_MAX_BYTES));
}

void dpi_nearest(const char *name, const char *const *names, size_t n, size_t max, char *buf,
                 size_t bytes)
{
    struct {
        size_t distance;
        const char *name;
    } best[NEAREST_MAX] = {0};
    size_t have = 0, length = strnlen(name, NAME_MAX_BYTES), at = 0;

    if (max > NEAREST_MAX)
        max = NEAREST_MAX;
    for (size_t i = 0; i < n && max > 0; i++) {
        size_t other = strnlen(names[i], NAME_MAX_BYTES);
        size_t least = other > length ? other - length : length - other;
        if (have == max && least >= best[have - 1].distance)
            continue;
        size_t d = distance(name, length, names[i], other), j;
        bool seen = false; /* overloads share a base name */
        for (j = 0; j < have; j++)
            seen |= strcmp(best[j].name, names[i]) == 0;
        if (seen || (have == max && d >= best[have - 1].distance))
            continue;
        have += have < max;
        for (j = have - 1; j > 0 && best[j - 1].distance > d; j--)
            best[j] = best[j - 1];
        best[j].distance = d;
        best[j].name = names[i];
    }
    if (bytes > 0)
        buf[0] = '\0';
    for (size_t i = 0; i < have && at < bytes; i++)
        at += (size_t)snprintf(buf + at, bytes - at, "%s'%s'", i ? ", " : "", best[i].name);
}
