/* expression.c -- find an expression of a few sizes that gives the numbers which were seen for some
 * values of the sizes.  The search goes from simple expressions to less simple ones. */
#include "symbol.h"
#include <stdio.h>

enum { DIVISOR_MAX = 16 }; /* the probes have all remainders of divisions by at most this */

static int64_t product(uint32_t set, const int64_t *sizes)
{
    int64_t x = 1;

    for (uint32_t s = 0; set >> s != 0; s++)
        if (set >> s & 1)
            x = (int64_t)((uint64_t)x * (uint64_t)sizes[s]);
    return x;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t eval_once(const dpi_expr *e, const int64_t *sizes)
{
    /* Unsigned: an expression that was found by chance may overflow for other sizes. */
    uint64_t u = (uint64_t)e->c;

    if (e->first != 0)
        u += (uint64_t)e->a * (uint64_t)product(e->first, sizes);
    if (e->second != 0)
        u += (uint64_t)e->b * (uint64_t)product(e->second, sizes);
    int64_t x = (int64_t)u;
    switch (e->outer) {
    case DPI_EXPR_FLOORDIV:
        return floor_div(x, e->d);
    case DPI_EXPR_MOD:
        return x - floor_div(x, e->d) * e->d;
    case DPI_EXPR_MIN:
        return x < e->d ? x : e->d;
    case DPI_EXPR_MAX:
        return x > e->d ? x : e->d;
    default:
        return x;
    }
}

int64_t dpi_expr_eval(const dpi_expr *e, const int64_t *sizes)
{
    uint64_t x = (uint64_t)eval_once(e, sizes);

    return (int64_t)(e->times > 1 ? x * (uint64_t)e->times : x);
}

bool dpi_expr_is_equal(const dpi_expr *x, const dpi_expr *y)
{
    return x->a == y->a && x->b == y->b && x->c == y->c && x->d == y->d && x->first == y->first &&
           x->second == y->second && x->outer == y->outer && x->times == y->times;
}

static bool holds(const dpi_probes *p, const int64_t *values, const dpi_expr *e)
{
    uint32_t k = 0;

    while (k < p->n && dpi_expr_eval(e, p->sizes + (size_t)k * p->n_symbols) == values[k])
        k++;
    return k == p->n;
}

static int64_t product_at(const dpi_probes *p, uint32_t set, uint32_t k)
{
    return product(set, p->sizes + (size_t)k * p->n_symbols);
}

/* Try a * product(set) + c. */
static bool try_linear(const dpi_probes *p, const int64_t *v, uint32_t set, dpi_expr *out)
{
    int64_t x0 = product_at(p, set, 0);
    uint32_t k = 1;

    while (k < p->n && product_at(p, set, k) == x0)
        k++;
    if (k == p->n)
        return false;
    int64_t x = product_at(p, set, k), a = (v[k] - v[0]) / (x - x0);
    *out = (dpi_expr){.a = a, .first = set, .c = v[0] - a * x0};
    return a != 0 && holds(p, v, out);
}

/* Try a * product(first) + b * product(second) + c, from probes 0, i and j. */
static bool try_two_at(const dpi_probes *p, const int64_t *v, uint32_t first, uint32_t second,
                       uint32_t i, uint32_t j, dpi_expr *out)
{
    int64_t x0 = product_at(p, first, 0), y0 = product_at(p, second, 0);
    __int128 x1 = product_at(p, first, i) - x0, x2 = product_at(p, first, j) - x0;
    __int128 y1 = product_at(p, second, i) - y0, y2 = product_at(p, second, j) - y0;
    __int128 v1 = v[i] - v[0], v2 = v[j] - v[0], det = x1 * y2 - x2 * y1;

    if (det == 0 || (v1 * y2 - v2 * y1) % det != 0 || (x1 * v2 - x2 * v1) % det != 0)
        return false;
    int64_t a = (int64_t)((v1 * y2 - v2 * y1) / det), b = (int64_t)((x1 * v2 - x2 * v1) / det);
    *out = (dpi_expr){.a = a,
                      .first = first,
                      .b = b,
                      .second = second,
                      .c = (int64_t)(v[0] - (__int128)a * x0 - (__int128)b * y0)};
    return a != 0 && b != 0 && holds(p, v, out);
}

static bool try_two(const dpi_probes *p, const int64_t *v, uint32_t first, uint32_t second,
                    dpi_expr *out)
{
    return p->n > 3 && (try_two_at(p, v, first, second, 1, 2, out) ||
                        try_two_at(p, v, first, second, 2, p->n - 1, out));
}

/* Try floordiv(a * product(set) + c, d) for one d: the numbers leave a range for c. */
static bool try_floordiv(const dpi_probes *p, const int64_t *v, uint32_t set, int64_t a, int64_t d,
                         dpi_expr *out)
{
    int64_t low = INT64_MIN, high = INT64_MAX;

    for (uint32_t k = 0; k < p->n; k++) {
        int64_t least = d * v[k] - a * product_at(p, set, k);
        low = least > low ? least : low;
        high = least + d - 1 < high ? least + d - 1 : high;
    }
    *out = (dpi_expr){.a = a, .first = set, .c = low, .d = d, .outer = DPI_EXPR_FLOORDIV};
    return low <= high && holds(p, v, out);
}

static bool try_divisions(const dpi_probes *p, const int64_t *v, uint32_t set, dpi_expr *out)
{
    uint32_t least = 0, most = 0;

    for (uint32_t k = 1; k < p->n; k++) {
        if (product_at(p, set, k) < product_at(p, set, least))
            least = k;
        if (product_at(p, set, k) > product_at(p, set, most))
            most = k;
    }
    int64_t span = product_at(p, set, most) - product_at(p, set, least);
    for (int64_t d = 2; d <= DIVISOR_MAX && span > 0; d++) {
        int64_t a = (v[most] - v[least]) * d / span; /* the slope is about a / d */
        for (int64_t near = a - 1; near <= a + 1; near++)
            if (near > 0 && near % d != 0 && try_floordiv(p, v, set, near, d, out))
                return true;
        *out = (dpi_expr){.a = 1, .first = set, .d = d, .outer = DPI_EXPR_MOD};
        if (holds(p, v, out))
            return true;
    }
    return false;
}

/* Try min(s, d) and max(s, d). */
static bool try_bounds(const dpi_probes *p, const int64_t *v, uint32_t set, dpi_expr *out)
{
    int64_t low = v[0], high = v[0];

    for (uint32_t k = 1; k < p->n; k++) {
        low = v[k] < low ? v[k] : low;
        high = v[k] > high ? v[k] : high;
    }
    *out = (dpi_expr){.a = 1, .first = set, .d = high, .outer = DPI_EXPR_MIN};
    if (holds(p, v, out))
        return true;
    *out = (dpi_expr){.a = 1, .first = set, .d = low, .outer = DPI_EXPR_MAX};
    return holds(p, v, out);
}

/* Return the set after `set` among those of `n` symbols, in the order of their numbers of symbols;
 * 0: there is none. */
static uint32_t next_set(uint32_t set, uint32_t n)
{
    int count = __builtin_popcount(set);

    for (uint32_t s = set + 1; s < 1u << n; s++)
        if (__builtin_popcount(s) == count)
            return s;
    return count < (int)n ? (1u << (count + 1)) - 1 : 0;
}

/* Try divisions and bounds, of the numbers and of their quotients by their common divisor. */
static bool try_outer(const dpi_probes *p, int64_t *v, dpi_expr *out)
{
    int64_t common = 0;

    for (uint32_t set = 1; set != 0; set = next_set(set, p->n_symbols))
        if (try_divisions(p, v, set, out) || try_bounds(p, v, set, out))
            return true;
    for (uint32_t k = 0; k < p->n; k++)
        for (int64_t x = v[k]; x != 0;) { /* Euclid: the common divisor of x and `common` */
            int64_t rest = common % x;
            common = x;
            x = rest;
        }
    if (common < 2)
        return false;
    for (uint32_t k = 0; k < p->n; k++)
        v[k] /= common;
    bool found = try_outer(p, v, out);
    out->times = common;
    return found;
}

bool dpi_expr_solve(const dpi_probes *p, int64_t *v, dpi_expr *out)
{
    uint32_t n = p->n_symbols;

    *out = (dpi_expr){.c = v[0]};
    if (holds(p, v, out))
        return true;
    for (uint32_t set = 1; set != 0; set = next_set(set, n))
        if (try_linear(p, v, set, out))
            return true;
    for (uint32_t i = 1; i != 0; i = next_set(i, n))
        for (uint32_t k = next_set(i, n); k != 0 && __builtin_popcount(k) <= 2; k = next_set(k, n))
            if (try_two(p, v, i, k, out))
                return true;
    return try_outer(p, v, out);
}

/* -- text -- */

static size_t add_product(char *buf, size_t at, int64_t factor, uint32_t set)
{
    bool any = factor != 1;

    if (set == 0)
        return at;
    if (any)
        at += (size_t)snprintf(buf + at, DPI_EXPR_TEXT - at, "%s%lld",
                               at > 0 && factor > 0 ? "+" : "", (long long)factor);
    else if (at > 0)
        at += (size_t)snprintf(buf + at, DPI_EXPR_TEXT - at, "+");
    for (uint32_t s = 0; set >> s != 0; s++)
        if (set >> s & 1) {
            at += (size_t)snprintf(buf + at, DPI_EXPR_TEXT - at, "%ss%u", any ? "*" : "", s);
            any = true;
        }
    return at;
}

const char *dpi_expr_text(const dpi_expr *e, char buf[DPI_EXPR_TEXT])
{
    static const char *const outer[] = {[DPI_EXPR_FLOORDIV] = "%s((%s)//%lld)",
                                        [DPI_EXPR_MOD] = "%s((%s)%%%lld)",
                                        [DPI_EXPR_MIN] = "%smin(%s,%lld)",
                                        [DPI_EXPR_MAX] = "%smax(%s,%lld)"};
    char inner[DPI_EXPR_TEXT] = "", times[32] = "";
    size_t at = add_product(inner, add_product(inner, 0, e->a, e->first), e->b, e->second);

    if (e->c != 0 || at == 0)
        snprintf(inner + at, DPI_EXPR_TEXT - at, "%s%lld", at > 0 && e->c > 0 ? "+" : "",
                 (long long)e->c);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-truncation"
    if (e->times > 1)
        snprintf(times, sizeof(times), "%lld*", (long long)e->times);
    if (e->outer == DPI_EXPR_PLAIN)
        snprintf(buf, DPI_EXPR_TEXT, "%s", inner);
    else
        snprintf(buf, DPI_EXPR_TEXT, outer[e->outer], times, inner, (long long)e->d);
#pragma GCC diagnostic pop
    return buf;
}
