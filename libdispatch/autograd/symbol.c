/* symbol.c -- capture a program for any size of some dimensions of its inputs.
 *
 * Kernels compute with sizes as plain numbers, so no symbol flows through them.  Instead the
 * program is captured over fakes several times (a probe each), with other sizes; numbers that
 * differ between the probes are found as expressions of the sizes (expression.c, general.c).  More
 * probes, which the search does not see, and one with the given sizes check the result. */
#include "symbol.h"
#include "dispatch/call/ctx.h"
#include <stdio.h>

/* Probe k gives symbol s the size first[s] + k * (s + 1) % PROBES: the sizes of each symbol have
 * all remainders of divisions by less than PROBES, no two symbols have equal sizes if they were
 * given equal, and no symbol's sizes are a linear function of another one's. */
enum { FIRST = 5, APART = 19, PROBES = 17, HELD_OUT = 3 };
_Static_assert(DP_LIMIT_PROGRAM_SYMBOLS <= PROBES / 2,
               "s + 1 and PROBES - (s + 1) are not both used");

/* A program that is being captured. */
typedef struct prober {
    dp_ctx *ctx;
    const dp_program *p;
    const dp_value *inputs;
    const dp_capture_options *o;
    const dp_input_place *places; /* [n] the dynamic sizes */
    uint32_t n;
    uint32_t n_symbols;
    uint32_t symbols[DP_LIMIT_PROGRAM_SYMBOLS]; /* [n] */
    int64_t given[DP_LIMIT_PROGRAM_SYMBOLS];    /* [n] the sizes of the inputs */
    int64_t first[DP_LIMIT_PROGRAM_SYMBOLS];    /* [n_symbols] the symbol's least size in probes */
    dp_program *programs[PROBES];
    int64_t sizes[PROBES * DP_LIMIT_PROGRAM_SYMBOLS];
} prober;

/* -- the given sizes -- */

/* Find the tensor at `at`; NULL: there is none. */
static const dp_tensor *tensor_at(const prober *r, const dp_input_place *at)
{
    if (at->input >= r->p->n_inputs)
        return NULL;
    dp_value v = r->inputs[at->input];
    if (at->item >= 0 && dp_is_list(&v) && (uint32_t)at->item < v.len)
        v = dp_list_item(&v, (uint32_t)at->item);
    return v.tag == DP_TAG_TENSOR ? v.u.t : NULL;
}

static int check_dense(const prober *r, const dp_tensor *t, const char *name)
{
    int64_t dense[DP_DIM_MAX];
    DPI_VIEW(v, t);

    dpi_dense_strides(v.ndim, v.strides, v.sizes, dense);
    for (int d = 0; d < v.ndim; d++)
        if (v.sizes[d] > 1 && v.strides[d] != dense[d])
            return dp_error_set(&r->ctx->error, DP_EVALUE,
                                "input '%.64s' has dynamic sizes and must be dense, but its stride "
                                "in dimension %d is %lld instead of %lld",
                                name, d, (long long)v.strides[d], (long long)dense[d]);
    return 0;
}

/* Check dynamic size `i`, and note the given size. */
static int check_place(prober *r, uint32_t i)
{
    const dp_input_place *at = &r->places[i];
    const dp_tensor *t = tensor_at(r, at);
    const char *name = at->input < r->p->n_inputs ? dp_program_input_name(r->p, at->input) : "";

    if (t == NULL)
        return dp_error_set(&r->ctx->error, DP_EVALUE,
                            "input '%.64s' has dynamic sizes, but is no tensor", name);
    DPI_VIEW(v, t);
    if (at->dim < 0 || at->dim >= v.ndim)
        return dp_error_set(&r->ctx->error, DP_EVALUE,
                            "dimension %d of input '%.64s' is to be dynamic, but it has %d "
                            "dimensions",
                            at->dim, name, v.ndim);
    for (uint32_t k = 0; k < i; k++)
        if (r->places[k].input == at->input && r->places[k].item == at->item &&
            r->places[k].dim == at->dim)
            return dp_error_set(&r->ctx->error, DP_EVALUE,
                                "dimension %d of input '%.64s' is named twice", at->dim, name);
    r->given[i] = v.sizes[at->dim];
    return check_dense(r, t, name);
}

static int check_places(prober *r)
{
    int rc = 0;

    if (r->o == NULL || !r->o->fakes)
        return dp_error_set(&r->ctx->error, DP_EVALUE,
                            "dynamic sizes need a capture over fakes, since it is made several "
                            "times");
    if (r->n > DP_LIMIT_PROGRAM_SYMBOLS)
        return dp_error_limit(dp_error_set(&r->ctx->error, DP_ERESOURCE,
                                           "a capture with more than %d dynamic sizes "
                                           "(program_symbols)",
                                           DP_LIMIT_PROGRAM_SYMBOLS),
                              "program_symbols", DP_LIMIT_PROGRAM_SYMBOLS, r->n);
    for (uint32_t i = 0; i < r->n && rc == 0; i++)
        rc = check_place(r, i);
    return rc;
}

/* -- probes -- */

/* Capture the program with these sizes of the symbols: *out, owned. */
static int probe(prober *r, const int64_t *sizes, dp_program **out)
{
    int64_t at[DP_LIMIT_PROGRAM_SYMBOLS];
    const dpi_dynamic d = {r->places, at, r->n};

    for (uint32_t i = 0; i < r->n; i++)
        at[i] = sizes[r->symbols[i]];
    return dpi_capture_program(r->ctx, r->p, r->inputs, r->o, &d, out);
}

/* Put the sizes of the probe before the message of the error. */
static int fail_probe(prober *r, const int64_t *sizes, int rc)
{
    char message[sizeof(r->ctx->error.message)], where[DP_LIMIT_PROGRAM_SYMBOLS * 100] = "";
    size_t at = 0;

    for (uint32_t s = 0; s < r->n_symbols; s++) {
        uint32_t i = 0;
        while (r->symbols[i] != s)
            i++;
        at += (size_t)snprintf(where + at, sizeof(where) - at, "%ss%u=%lld (%.40s.size(%d))",
                               s > 0 ? ", " : "", s, (long long)sizes[s],
                               dp_program_input_name(r->p, r->places[i].input), r->places[i].dim);
    }
    snprintf(message, sizeof(message), "%s", r->ctx->error.message);
    return dp_error_set(&r->ctx->error, rc, "capture with %s: %s", where, message);
}

static void sizes_of(const prober *r, uint32_t k, int64_t *out)
{
    for (uint32_t s = 0; s < r->n_symbols; s++)
        out[s] = r->first[s] + (int64_t)(k * (s + 1) % PROBES);
}

/* Give the symbols numbers without gaps, in the order of the dynamic sizes, and least sizes. */
static void number_symbols(prober *r, const uint32_t *class)
{
    r->n_symbols = 0;
    for (uint32_t i = 0; i < r->n; i++) {
        uint32_t first = 0;
        while (class[first] != class[i])
            first++;
        uint32_t s = r->n_symbols;
        r->symbols[i] = first < i ? r->symbols[first] : r->n_symbols++;
        /* Sizes from the given one on are most likely to be valid. */
        if (first == i)
            r->first[s] = (r->given[i] > FIRST ? r->given[i] : FIRST) + (int64_t)s * APART;
    }
}

/* Can the program be captured if dynamic sizes of one class are equal? */
static int try_classes(prober *r, const uint32_t *class)
{
    int64_t sizes[DP_LIMIT_PROGRAM_SYMBOLS];
    dp_program *program = NULL;

    number_symbols(r, class);
    sizes_of(r, 0, sizes);
    int rc = probe(r, sizes, &program);
    dp_program_unref(program);
    return rc < 0 ? fail_probe(r, sizes, rc) : 0;
}

/* Find which sizes must be equal.  Each is a symbol of its own, if the program can be captured so;
 * else sizes that were given equal are joined, unless one can be apart. */
static int find_symbols(prober *r)
{
    uint32_t class[DP_LIMIT_PROGRAM_SYMBOLS];

    for (uint32_t i = 0; i < r->n; i++)
        class[i] = i;
    int rc = try_classes(r, class);
    if (rc != DP_EVALUE && rc != DP_ERUNTIME && rc != DP_EINDEX)
        return rc;
    bool joined = false;
    for (uint32_t i = 0; i < r->n; i++)
        for (uint32_t k = 0; k < i && class[i] == i; k++)
            if (r->given[k] == r->given[i]) {
                class[i] = class[k];
                joined = true;
            }
    if (!joined || (rc = try_classes(r, class)) < 0)
        return rc;
    for (uint32_t i = 0; i < r->n; i++) {
        uint32_t before = class[i];
        if (before == i)
            continue;
        class[i] = i;
        if (try_classes(r, class) < 0)
            class[i] = before;
    }
    dp_error_clear(&r->ctx->error);
    number_symbols(r, class);
    return 0;
}

/* Is the general program right for `sizes`? */
static int check_sizes(prober *r, const dpi_general *g, const int64_t *sizes)
{
    dp_program *program = NULL;
    int rc = probe(r, sizes, &program);

    if (rc == 0)
        rc = dpi_general_check(r->ctx, r->programs[0], program, g, sizes);
    dp_program_unref(program);
    return rc < 0 ? fail_probe(r, sizes, rc) : 0;
}

/* Check the general program for sizes that the search has not seen, and for the given ones. */
static int check_others(prober *r, const dpi_general *g)
{
    int64_t sizes[DP_LIMIT_PROGRAM_SYMBOLS];
    bool small = false;
    int rc = 0;

    for (uint32_t k = 1; k <= HELD_OUT && rc == 0; k++) {
        for (uint32_t s = 0; s < r->n_symbols; s++)
            sizes[s] = r->first[s] + PROBES + (int64_t)(k * (23 + 7 * (s + k)));
        rc = check_sizes(r, g, sizes);
    }
    for (uint32_t i = 0; i < r->n; i++) {
        sizes[r->symbols[i]] = r->given[i];
        small |= r->given[i] < 2; /* broadcasts: lower_bounds() tells whether the program holds */
    }
    return rc == 0 && !small ? check_sizes(r, g, sizes) : rc;
}

/* Does the general program hold if symbol `s` has size `n`?  The others have those of probe 0. */
static bool holds(prober *r, const dpi_general *g, uint32_t s, int64_t n)
{
    int64_t sizes[DP_LIMIT_PROGRAM_SYMBOLS];

    sizes_of(r, 0, sizes);
    sizes[s] = n;
    return check_sizes(r, g, sizes) == 0;
}

/* Find the least size of symbol `s` for which the general program holds. */
static int64_t least_of(prober *r, const dpi_general *g, uint32_t s)
{
    int64_t low = 1, high = r->first[s]; /* it does not hold for low, and holds for high */

    if (holds(r, g, s, 2))
        return !holds(r, g, s, 1) ? 2 : holds(r, g, s, 0) ? 0 : 1;
    for (low = 2; low + 1 < high;) {
        int64_t middle = low + (high - low) / 2;
        if (holds(r, g, s, middle))
            high = middle;
        else
            low = middle;
    }
    return high;
}

static int lower_bounds(prober *r, const dpi_general *g, int64_t *least)
{
    for (uint32_t s = 0; s < r->n_symbols; s++)
        least[s] = least_of(r, g, s);
    if (check_sizes(r, g, least) < 0) /* all at once */
        for (uint32_t s = 0; s < r->n_symbols; s++)
            least[s] = least[s] < 2 ? 2 : least[s];
    int rc = check_sizes(r, g, least);
    if (rc == 0)
        dp_error_clear(&r->ctx->error);
    return rc;
}

/* -- the capture -- */

static int capture(prober *r, dp_program **out)
{
    int64_t least[DP_LIMIT_PROGRAM_SYMBOLS];
    dpi_general g = {0};
    int rc = check_places(r);

    if (rc == 0)
        rc = find_symbols(r);
    for (uint32_t k = 0; k < PROBES && rc == 0; k++) {
        int64_t *sizes = r->sizes + (size_t)k * r->n_symbols;
        sizes_of(r, k, sizes);
        if ((rc = probe(r, sizes, &r->programs[k])) < 0)
            rc = fail_probe(r, sizes, rc);
    }
    if (rc == 0)
        rc = dpi_general_find(r->ctx, r->programs, &(dpi_probes){r->sizes, PROBES, r->n_symbols},
                              &g);
    if (rc == 0)
        rc = check_others(r, &g);
    if (rc == 0)
        rc = lower_bounds(r, &g, least);
    const dpi_dynamic d = {r->places, r->sizes, r->n};
    return rc == 0 ? dpi_general_make(r->ctx, r->programs[0], &g, &d, r->symbols, least, out) : rc;
}

int dp_program_capture_dynamic(dp_ctx *ctx, const dp_program *p, const dp_value *inputs,
                               const dp_capture_options *o, const dp_input_place *dynamic,
                               uint32_t n, dp_program **out)
{
    prober r = {.ctx = ctx, .p = p, .inputs = inputs, .o = o, .places = dynamic, .n = n};

    if (n == 0)
        return dp_program_capture(ctx, p, inputs, o, out);
    int rc = capture(&r, out);
    for (uint32_t k = 0; k < PROBES; k++)
        dp_program_unref(r.programs[k]);
    return rc;
}
