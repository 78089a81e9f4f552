/* quantity.c -- reads numbers with units: bytes and times. */
#include "options.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct unit_row {
    const char *name;
    int64_t factor;
} unit_row;

static const unit_row bytes[] = {
    {"B", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", (int64_t)1 << 40}};
static const unit_row times[] = {{"ms", 1}, {"s", 1000}, {"min", 60 * 1000}, {"h", 60 * 60 * 1000}};

static const struct {
    const unit_row *rows;
    size_t n;
    const char *want; /* the text of an error, between "expected " and the range */
    const char *after;
} units[] = {
    [UNIT_NONE] = {NULL, 0, "a number", ""},
    [UNIT_OCTAL] = {NULL, 0, "an octal number", ""},
    [UNIT_BYTES] = {bytes, sizeof(bytes) / sizeof(bytes[0]), "a number of bytes",
                    " (a unit may follow: B, KiB, MiB, GiB or TiB)"},
    [UNIT_TIME] = {times, sizeof(times) / sizeof(times[0]), "a number of milliseconds",
                   " (a unit may follow: ms, s, min or h)"},
};

int quantity_unit(const char *limit)
{
    size_t n = strlen(limit);

    if (n > 6 && strcmp(limit + n - 6, "_bytes") == 0)
        return UNIT_BYTES;
    return n > 3 && strcmp(limit + n - 3, "_ms") == 0 ? UNIT_TIME : UNIT_NONE;
}

/* Return the factor of the unit `name`; 0: there is no such unit. */
static int64_t factor_of(const char *name, int unit)
{
    if (*name == '\0')
        return 1;
    for (size_t i = 0; i < units[unit].n; i++)
        if (strcmp(name, units[unit].rows[i].name) == 0)
            return units[unit].rows[i].factor;
    return 0;
}

int quantity_read(const char *text, int unit, int64_t low, int64_t high, const char *where,
                  int64_t *out, dp_error *err)
{
    bool octal = unit == UNIT_OCTAL;
    char *end;

    errno = 0;
    long long n = strtoll(text, &end, octal ? 8 : 10);
    bool number = errno == 0 && end != text;
    while (number && units[unit].n > 0 && *end == ' ')
        end++;
    int64_t factor = number ? factor_of(end, unit) : 0, product;
    if (factor == 0 || __builtin_mul_overflow(n, factor, &product) || product < low ||
        product > high)
        return dp_error_set(err, DP_EVALUE,
                            octal ? "%s: expected %s from %llo to %llo%s, got '%s'"
                                  : "%s: expected %s from %lld to %lld%s, got '%s'",
                            where, units[unit].want, (long long)low, (long long)high,
                            units[unit].after, text);
    *out = product;
    return 0;
}
