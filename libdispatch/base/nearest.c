/* nearest.c -- finds the names nearest to a mistyped one, for error messages. */
#include "base.h"
#include <stdio.h>

enum { NAME_MAX_BYTES = DP_LIMIT_NAME_BYTES, NEAREST_MAX = 8 };

/* Return the Levenshtein distance.  Both strings have at most NAME_MAX_BYTES bytes. */
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
    size_t n_best = 0, wanted_bytes = strnlen(name, NAME_MAX_BYTES), used = 0;

    if (max > NEAREST_MAX)
        max = NEAREST_MAX;
    for (size_t i = 0; i < n && max > 0; i++) {
        size_t name_bytes = strnlen(names[i], NAME_MAX_BYTES);
        size_t least =
            name_bytes > wanted_bytes ? name_bytes - wanted_bytes : wanted_bytes - name_bytes;
        if (n_best == max && least >= best[n_best - 1].distance)
            continue;
        size_t d = distance(name, wanted_bytes, names[i], name_bytes), j;
        bool seen = false; /* names may repeat: overloads share a base name */
        for (j = 0; j < n_best; j++)
            seen |= strcmp(best[j].name, names[i]) == 0;
        if (seen || (n_best == max && d >= best[n_best - 1].distance))
            continue;
        n_best += n_best < max;
        for (j = n_best - 1; j > 0 && best[j - 1].distance > d; j--)
            best[j] = best[j - 1];
        best[j].distance = d;
        best[j].name = names[i];
    }
    if (bytes > 0)
        buf[0] = '\0';
    for (size_t i = 0; i < n_best && used < bytes; i++)
        used += (size_t)snprintf(buf + used, bytes - used, "%s'%s'", i ? ", " : "", best[i].name);
}
