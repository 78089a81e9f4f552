/* guard_check.c -- check the inputs of a run against the guards of a program. */
#include "program_i.h"
#include "dispatch/call/ctx.h"
#include "dispatch/call/enums.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The inputs of a run, and the guard that is checked. */
typedef struct checker {
    dp_ctx *ctx;
    const dp_program *p;
    const dp_value *inputs;
} checker;

/* A tensor among the inputs, for DP_GUARD_APART. */
typedef struct extent {
    uint64_t storage;
    int64_t low, high; /* bytes of the storage: from `low` to before `high` */
    uint32_t guard;    /* index of the TENSOR guard */
    bool written;
} extent;

enum { NAME_BYTES = 100 };

/* Write "input 'x'" or "item 2 of input 'x'" to `buf`. */
static const char *name_of(const checker *c, const dp_input_place *at, char buf[NAME_BYTES])
{
    const char *name = dp_program_input_name(c->p, at->input);

    if (at->item < 0)
        snprintf(buf, NAME_BYTES, "input '%.64s'", name);
    else
        snprintf(buf, NAME_BYTES, "item %" PRId32 " of input '%.64s'", at->item, name);
    return buf;
}

static int fail_place(const checker *c, const dp_input_place *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Fail with the name of `at`, then the text. */
static int fail_place(const checker *c, const dp_input_place *at, const char *format, ...)
{
    char name[NAME_BYTES], text[300];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return dp_error_set(&c->ctx->error, DP_EVALUE, "%s %s", name_of(c, at, name), text);
}

/* Return the value at `at`; NONE if the list is shorter. */
static dp_value value_at(const checker *c, const dp_input_place *at)
{
    const dp_value *v = &c->inputs[at->input];

    if (at->item < 0)
        return *v;
    return dp_is_list(v) && (uint32_t)at->item < v->len ? dp_list_item(v, (uint32_t)at->item)
                                                        : dp_none();
}

/* Find the tensor at `at`; NULL: it is none, and the error is set. */
static const dp_tensor *tensor_at(const checker *c, const dp_input_place *at)
{
    dp_value v = value_at(c, at);

    if (v.tag == DP_TAG_TENSOR && v.u.t != NULL)
        return v.u.t;
    fail_place(c, at, "is %s, but the program was captured for a tensor", dpi_value_kind(&v));
    return NULL;
}

static bool is_any_size(const dp_input_guard *g)
{
    bool any = false;

    for (int32_t d = 0; d < g->ndim; d++)
        any |= g->sizes[d] < 0;
    return any;
}

void dpi_dense_strides(int ndim, const int64_t *like, const int64_t *sizes, int64_t *want)
{
    int order[DP_DIM_MAX];
    int64_t stride = 1;

    for (int d = 0; d < ndim; d++) {
        int at = d;
        /* Dimensions of equal strides: the later one is the inner one. */
        for (; at > 0 && like[order[at - 1]] < like[d]; at--)
            order[at] = order[at - 1];
        order[at] = d;
    }
    for (int k = ndim; k-- > 0;) {
        want[order[k]] = stride;
        stride *= sizes[order[k]] > 1 ? sizes[order[k]] : 1;
    }
}

static int check_strides(const checker *c, const dp_input_guard *g, const dp_view *v)
{
    int64_t dense[DP_DIM_MAX] = {0};
    const int64_t *want = g->strides;
    bool any = is_any_size(g), empty = false;

    if (any) {
        dpi_dense_strides(g->ndim, g->strides, v->sizes, dense);
        want = dense;
    }
    for (int d = 0; d < g->ndim; d++)
        empty |= v->sizes[d] == 0;
    for (int d = 0; d < g->ndim && !empty; d++)
        if (v->sizes[d] != 1 && v->strides[d] != want[d])
            return fail_place(c, &g->of,
                              "has stride %" PRId64 " in dimension %d, but the program was "
                              "captured for stride %" PRId64 "%s",
                              v->strides[d], d, want[d], any ? " (dense)" : "");
    return 0;
}

static int check_tensor(const checker *c, const dp_input_guard *g)
{
    char is[DP_KEY_NAME_MAX], want[DP_KEY_NAME_MAX];
    const dp_tensor *t = tensor_at(c, &g->of);

    if (t == NULL)
        return DP_EVALUE;
    DPI_VIEW(v, t);
    if (v.dtype != g->dtype)
        return fail_place(c, &g->of, "is %s, but the program was captured for %s",
                          dp_dtype_name(v.dtype), dp_dtype_name(g->dtype));
    if (v.device != g->device)
        return fail_place(c, &g->of, "is on %s, but the program was captured for %s",
                          dp_device_name(v.device, is), dp_device_name(g->device, want));
    uint64_t layout = dp_tensor_keys(t).functionality & DPI_LAYOUT_BITS;
    if (layout != g->layout)
        return fail_place(c, &g->of,
                          "has the layout keys %#" PRIx64 ", but the program was captured for "
                          "%#" PRIx64,
                          layout, g->layout);
    if (v.ndim != g->ndim)
        return fail_place(c, &g->of, "has %d dimensions, but the program was captured for %d",
                          v.ndim, g->ndim);
    for (int d = 0; d < g->ndim; d++)
        if (g->sizes[d] >= 0 && v.sizes[d] != g->sizes[d])
            return fail_place(c, &g->of,
                              "has size %" PRId64 " in dimension %d, but the program was captured "
                              "for size %" PRId64,
                              v.sizes[d], d, g->sizes[d]);
    if (g->offset >= 0 && dp_tensor_offset(t) != g->offset)
        return fail_place(c, &g->of,
                          "begins at element %" PRId64 " of its storage, but the program was "
                          "captured for %" PRId64,
                          dp_tensor_offset(t), g->offset);
    return check_strides(c, g, &v);
}

static double number_of(const dp_value *v)
{
    return v->tag == DP_TAG_DOUBLE ? v->u.d : (double)v->u.i;
}

/* Are two values equal?  Numbers of different kinds are not, since operators tell them apart. */
static bool are_equal(const dp_value *a, const dp_value *b)
{
    if (a->tag != b->tag)
        return dp_is_list(a) && dp_is_list(b) && a->len == 0 && b->len == 0;
    if (dp_is_list(a)) {
        bool equal = a->len == b->len;
        for (uint32_t i = 0; equal && i < a->len; i++) {
            dp_value x = dp_list_item(a, i), y = dp_list_item(b, i);
            equal = are_equal(&x, &y);
        }
        return equal;
    }
    switch (a->tag) {
    case DP_TAG_NONE:
        return true;
    case DP_TAG_BOOL:
        return a->u.b == b->u.b;
    case DP_TAG_STR:
        return a->len == b->len && memcmp(a->u.s, b->u.s, a->len) == 0;
    case DP_TAG_COMPLEX:
        return memcmp(a->u.doubles, b->u.doubles, 2 * sizeof(double)) == 0;
    case DP_TAG_DOUBLE: /* by bits: 0.0 is not -0.0, and a NaN is itself */
        return memcmp(&a->u.d, &b->u.d, sizeof(double)) == 0;
    default:
        return a->u.i == b->u.i;
    }
}

/* Write a value for people to `buf`. */
static const char *print_value(const dp_value *v, char buf[80])
{
    if (v->tag == DP_TAG_STR)
        snprintf(buf, 80, "'%.40s'", v->u.s);
    else if (v->tag == DP_TAG_BOOL)
        snprintf(buf, 80, "%s", v->u.b ? "true" : "false");
    else if (v->tag == DP_TAG_INT || v->tag == DP_TAG_DOUBLE)
        snprintf(buf, 80, "%.17g", number_of(v));
    else
        snprintf(buf, 80, "%s", dpi_value_kind(v));
    return buf;
}

static int check_value(const checker *c, const dp_input_guard *g)
{
    dp_value v = value_at(c, &g->of);
    char is[80], want[80];

    if (are_equal(&v, g->value))
        return 0;
    if (dp_is_list(&v) && dp_is_list(g->value))
        return fail_place(c, &g->of,
                          "is a list of %u items, but the program was captured for another list, "
                          "of %u",
                          v.len, g->value->len);
    return fail_place(c, &g->of, "is %s, but the program was captured for %s", print_value(&v, is),
                      print_value(g->value, want));
}

static int check_length(const checker *c, const dp_input_guard *g)
{
    dp_value v = value_at(c, &g->of);

    if (!dp_is_list(&v))
        return fail_place(c, &g->of, "is %s, but the program was captured for a list",
                          dpi_value_kind(&v));
    if (v.len != g->number)
        return fail_place(c, &g->of, "has %u items, but the program was captured for %" PRId64,
                          v.len, g->number);
    return 0;
}

/* Find the size at `at`. */
static int size_at(const checker *c, const dp_input_place *at, int64_t *out)
{
    const dp_tensor *t = tensor_at(c, at);

    if (t == NULL)
        return DP_EVALUE;
    DPI_VIEW(v, t);
    if (at->dim < 0 || at->dim >= v.ndim)
        return fail_place(c, at, "has %d dimensions, so no dimension %" PRId32, v.ndim, at->dim);
    *out = v.sizes[at->dim];
    return 0;
}

static int check_size(const checker *c, const dp_input_guard *g)
{
    int64_t n = 0;
    int rc = size_at(c, &g->of, &n);

    if (rc == 0 && n < g->number)
        rc = fail_place(c, &g->of,
                        "has size %" PRId64 " in dimension %" PRId32 ", but the program holds for "
                        "sizes of at least %" PRId64,
                        n, g->of.dim, g->number);
    return rc;
}

static int check_equal(const checker *c, const dp_input_guard *g)
{
    char other[NAME_BYTES];
    int64_t a = 0, b = 0;
    int rc = size_at(c, &g->of, &a);

    if (rc == 0)
        rc = size_at(c, &g->other, &b);
    if (rc == 0 && a != b)
        rc = fail_place(c, &g->of,
                        "has size %" PRId64 " in dimension %" PRId32 ", but the program holds "
                        "where it is that of %s in dimension %" PRId32 ", which is %" PRId64,
                        a, g->of.dim, name_of(c, &g->other, other), g->other.dim, b);
    return rc;
}

static int64_t first_byte(const dp_tensor *t)
{
    return dp_tensor_offset(t) * (int64_t)dp_dtype_size(t->dtype);
}

static int check_share(const checker *c, const dp_input_guard *g)
{
    char other[NAME_BYTES];
    const dp_tensor *a = tensor_at(c, &g->of), *b = a != NULL ? tensor_at(c, &g->other) : NULL;

    if (a == NULL || b == NULL)
        return DP_EVALUE;
    name_of(c, &g->other, other);
    if (dp_tensor_storage_id(a) != dp_tensor_storage_id(b))
        return fail_place(c, &g->of,
                          "has another storage than %s, but the program was captured where they "
                          "share one",
                          other);
    if (first_byte(a) - first_byte(b) != g->number)
        return fail_place(c, &g->of,
                          "begins %" PRId64 " bytes after %s, but the program was captured for "
                          "%" PRId64,
                          first_byte(a) - first_byte(b), other, g->number);
    return 0;
}

/* -- inputs that are written overlap with no others -- */

static int by_byte(const void *a, const void *b)
{
    const extent *x = a, *y = b;

    if (x->storage != y->storage)
        return x->storage < y->storage ? -1 : 1;
    return x->low != y->low ? (x->low < y->low ? -1 : 1) : 0;
}

static extent extent_of(const checker *c, uint32_t guard, const dp_tensor *t)
{
    const dp_input_guard *g = &c->p->guards[guard];
    int64_t bytes = (int64_t)dp_dtype_size(t->dtype), last = 0;
    extent e = {dp_tensor_storage_id(t), first_byte(t), 0, guard,
                dp_program_input_written(c->p, g->of.input)};

    DPI_VIEW(v, t);
    for (int d = 0; d < v.ndim; d++) {
        if (v.sizes[d] == 0)
            bytes = last = 0;
        else
            last += (v.sizes[d] - 1) * v.strides[d];
    }
    e.high = bytes > 0 ? e.low + (last + 1) * bytes : e.low;
    return e;
}

static bool is_same_place(const dp_input_place *a, const dp_input_place *b)
{
    return a->input == b->input && a->item == b->item;
}

/* Return the first TENSOR guard of the group that SHARE guards join guard `i` with.  A SHARE guard
 * names an earlier input as `other`. */
static uint32_t group_of(const checker *c, uint32_t i)
{
    const dp_input_guard *g = c->p->guards;
    const dp_input_place *at = &g[i].of;

    for (uint32_t k = c->p->n_guards; k-- > 0;)
        if (g[k].kind == DP_GUARD_SHARE && is_same_place(&g[k].of, at))
            at = &g[k].other;
    uint32_t first = 0;
    while (first < i && (g[first].kind != DP_GUARD_TENSOR || !is_same_place(&g[first].of, at)))
        first++;
    return first;
}

static int check_pair(const checker *c, const extent *a, const extent *b)
{
    char other[NAME_BYTES];
    const dp_input_guard *g = c->p->guards;
    const extent *written = a->written ? a : b, *with = a->written ? b : a;

    if (!(a->written || b->written) || group_of(c, a->guard) == group_of(c, b->guard))
        return 0;
    return fail_place(c, &g[written->guard].of,
                      "is written and overlaps with %s, but the program was captured where they "
                      "do not overlap",
                      name_of(c, &g[with->guard].of, other));
}

static int check_apart(const checker *c)
{
    const dp_program *p = c->p;
    uint32_t n = 0;
    int rc = 0;

    extent *e = dp_arena_alloc_n(&c->ctx->arena, p->n_guards, sizeof(*e));
    if (e == NULL)
        return dpi_no_memory(&c->ctx->error, "the guards of a program");
    for (uint32_t i = 0; i < p->n_guards; i++) {
        dp_value v = value_at(c, &p->guards[i].of);
        if (p->guards[i].kind == DP_GUARD_TENSOR && v.tag == DP_TAG_TENSOR && v.u.t != NULL)
            e[n++] = extent_of(c, i, v.u.t);
    }
    if (n > 1)
        qsort(e, n, sizeof(*e), by_byte);
    for (uint32_t i = 0; i < n && rc == 0; i++)
        for (uint32_t k = i + 1; k < n && rc == 0 && e[k].storage == e[i].storage &&
                                 e[k].low < e[i].high && e[k].low < e[k].high;
             k++)
            rc = check_pair(c, &e[i], &e[k]);
    return rc;
}

int dpi_guard_check(dp_ctx *ctx, const dp_program *p, uint32_t i, const dp_value *inputs)
{
    static int (*const kinds[DP_GUARD_END])(const checker *, const dp_input_guard *) = {
        [DP_GUARD_TENSOR] = check_tensor, [DP_GUARD_VALUE] = check_value,
        [DP_GUARD_LENGTH] = check_length, [DP_GUARD_SIZE] = check_size,
        [DP_GUARD_EQUAL] = check_equal,   [DP_GUARD_SHARE] = check_share,
    };
    const checker c = {ctx, p, inputs};

    return p->guards[i].kind == DP_GUARD_APART ? check_apart(&c)
                                               : kinds[p->guards[i].kind](&c, &p->guards[i]);
}

int dp_program_guards_check(dp_ctx *ctx, const dp_program *p, const dp_value *inputs)
{
    int rc = 0;

    for (uint32_t i = 0; i < p->n_guards && rc == 0; i++)
        rc = dpi_guard_check(ctx, p, i, inputs);
    return rc;
}
