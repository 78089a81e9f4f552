/* grad_draw.c -- draw random arguments for grad.check by the types in an operator's schema.
 *
 * A schema does not say which shapes and numbers an operator accepts.  So the tensors of one set
 * have one shape, square in every second set, which fits matrix products, and positive elements in
 * half of the sets, for logarithms and roots; the operator refuses what does not fit. */
#include "methods.h"
#include <string.h>

enum { MOST_DIMS = 3, MOST_SIZE = 3, LIST_LENGTH = 2 };

/* One set of arguments. */
typedef struct drawing {
    request *rq;
    draws *d;
    dp_error *err;
    int64_t sizes[MOST_DIMS];
    int ndim;
    bool positive;
} drawing;

/* Return 64 random bits (splitmix64). */
static uint64_t bits(draws *d)
{
    uint64_t z = d->state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static uint64_t below(draws *d, uint64_t n)
{
    return (bits(d) >> 32) % n;
}

/* Return a number between 0.1 and 0.9 or, if not `positive`, between -2 and 2. */
static double real(drawing *g)
{
    double x = (double)(bits(g->d) >> 11) * 0x1p-53;

    return g->positive ? 0.1 + 0.8 * x : 4 * x - 2;
}

/* Draw the properties that the tensors of a set have in common. */
static void begin(drawing *g)
{
    draws *d = g->d;
    bool square = d->number % 2 == 0;

    g->positive = d->number / 2 % 2 == 1;
    d->complex = below(d, 4) == 0;
    g->ndim = square ? 2 : (int)below(d, MOST_DIMS + 1);
    for (int i = 0; i < g->ndim; i++)
        g->sizes[i] = square && i > 0 ? g->sizes[0] : 1 + (int64_t)below(d, MOST_SIZE);
    d->number++;
}

static void release(draws *d)
{
    for (size_t i = 0; i < d->n_tensors; i++)
        dp_tensor_unref(d->tensors[i]);
    d->n_tensors = 0;
}

static int tensor(drawing *g, dp_tensor **out)
{
    draws *d = g->d;
    void *grown = array_grow(d->tensors, d->n_tensors, &d->cap_tensors, sizeof(*d->tensors));
    dp_dtype dtype = d->complex ? DP_COMPLEX128 : DP_FLOAT64;

    if (grown == NULL)
        return dp_error_set(g->err, DP_ERESOURCE, "out of memory: a random tensor");
    d->tensors = grown;
    int rc = run_empty(g->rq, dtype, g->ndim, g->sizes, out, g->err);
    if (rc < 0)
        return rc;
    d->tensors[d->n_tensors++] = *out;
    DP_VIEW(v, *out);
    double *data = v.data;
    for (int64_t i = 0; i < v.numel << d->complex; i++)
        data[i] = real(g);
    return 0;
}

/* Draw one item, of the innermost type of an argument. */
static int item(drawing *g, const dp_arg_info *a, dp_value *out)
{
    dp_tensor *t;

    switch (a->type) {
    case DP_TYPE_TENSOR: {
        int rc = tensor(g, &t);
        *out = rc == 0 ? dp_tensor_value(t) : *out;
        return rc;
    }
    case DP_TYPE_INT:
    case DP_TYPE_SYMINT:
        *out = dp_int((int64_t)below(g->d, MOST_SIZE));
        return 0;
    case DP_TYPE_FLOAT:
    case DP_TYPE_SCALAR:
        *out = dp_double(real(g));
        return 0;
    case DP_TYPE_BOOL:
        *out = dp_bool(below(g->d, 2) == 1);
        return 0;
    default:
        return json_path_fail(g->err, DP_EPARAMS, &(json_path){NULL, "random", 0},
                              "%s: argument '%s' of type %s cannot be drawn: give it in kwargs",
                              dp_op_name(g->d->op), a->name, a->type_name);
    }
}

static int argument(drawing *g, const dp_arg_info *a, dp_value *out)
{
    uint32_t n = a->length > 0                                         ? a->length
                 : a->type == DP_TYPE_INT || a->type == DP_TYPE_SYMINT ? (uint32_t)g->ndim
                                                                       : LIST_LENGTH;
    int rc = 0;

    *out = (dp_value){0};
    if (a->optional && (a->type != DP_TYPE_TENSOR || below(g->d, 2) == 0))
        return 0;
    if (a->depth == 0)
        return item(g, a, out);
    dp_value *list = dp_arena_alloc_n(dp_ctx_arena(g->rq->ctx), n, sizeof(*list));
    if (list == NULL)
        return dp_error_set(g->err, DP_ERESOURCE, "out of memory: a random list");
    for (uint32_t i = 0; i < n && rc == 0; i++)
        rc = item(g, a, &list[i]);
    *out = (dp_value){.tag = DP_TAG_LIST, .len = n, .u = {.values = list}};
    return rc;
}

/* Did the client give argument `i`? */
static bool is_given(const draws *d, uint32_t i, const char *name)
{
    bool given = i < d->n_args;

    for (size_t k = 0; k < d->n_kwargs && !given; k++)
        given = strcmp(d->kwargs[k].name, name) == 0;
    return given;
}

/* Bind the operator to the client's arguments and to drawn ones. */
static int bind(drawing *g, const dp_schema_info *info, dp_bound *out)
{
    const draws *d = g->d;
    size_t n = d->n_kwargs;
    int rc = 0;

    for (uint32_t i = 0; i < info->n_args && rc == 0; i++) {
        dp_arg_info a = {.size = sizeof(a)};
        if (!dp_op_arg(info, i, &a) || a.has_default || is_given(d, i, a.name))
            continue;
        if (n == d->cap_kwargs) /* the operator was replaced by one with more arguments */
            return dp_error_set(g->err, DP_ERUNTIME, "%s has changed", dp_op_name(d->op));
        d->kwargs[n].name = a.name;
        rc = argument(g, &a, &d->kwargs[n++].value);
    }
    if (rc == 0 &&
        dp_bind(g->rq->ctx, dp_op_name(d->op), d->args, d->n_args, d->kwargs, n, out) < 0)
        rc = run_ctx_error(g->rq, g->err);
    return rc;
}

int draws_begin(request *rq, draws *d, const cJSON *args, const cJSON *kwargs, dp_error *err)
{
    json_path in_args = {NULL, "args", 0}, in_kwargs = {NULL, "kwargs", 0};
    const cJSON *m;
    int rc = values_from_json(rq, args, &in_args, &d->args, &d->n_args, err);

    if (rc < 0)
        return rc;
    d->cap_kwargs = DP_LIMIT_ARGUMENTS + (size_t)cJSON_GetArraySize(kwargs);
    d->kwargs = dp_arena_alloc_n(dp_ctx_arena(rq->ctx), d->cap_kwargs, sizeof(*d->kwargs));
    if (d->kwargs == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: random arguments");
    cJSON_ArrayForEach(m, kwargs)
    {
        json_path inside = {&in_kwargs, m->string, 0};
        if ((rc = value_from_json(rq, m, &inside, &d->kwargs[d->n_kwargs].value, err)) < 0)
            return rc;
        d->kwargs[d->n_kwargs++].name = m->string;
    }
    return 0;
}

int draws_next(request *rq, draws *d, dp_bound *out, dp_error *err)
{
    dp_schema_info info = {.size = sizeof(info)};
    drawing g = {.rq = rq, .d = d, .err = err};

    release(d);
    begin(&g);
    if (dp_ctx_begin(rq->ctx) < 0)
        return run_ctx_error(rq, err);
    int rc = dp_schema_info_get(rq->ctx, d->op, &info) < 0 ? run_ctx_error(rq, err) : 0;
    if (rc == 0)
        rc = bind(&g, &info, out);
    dp_ctx_end(rq->ctx);
    return rc;
}

void draws_end(draws *d)
{
    release(d);
    dp_free(d->tensors);
    d->tensors = NULL;
}
