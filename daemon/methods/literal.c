/* literal.c -- reads tensor literals: {"dtype", "shape", "data" | "attachment", "strides", ...}
 * (docs/protocol.md).
 *
 * The caller owns the resulting tensor. */
#include "methods.h"
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* -- tensor literals: data -- */

/* The state of a pass over "data".  Elements are read as float64, int64 or complex128 (`wide`); at
 * the end all are converted to `dtype`. */
typedef struct literal {
    dp_dtype dtype, wide;
    const json_path *at; /* path of "data" */
    char *to;            /* address of the next element, of type `wide` */
    bool all_bool;       /* every element so far was true or false */
    dp_error *err;
    int ndim; /* used entries of the arrays below; the others are not initialised */
    int64_t shape[DP_DIM_MAX];
    int64_t index[DP_DIM_MAX]; /* index of the element being read */
} literal;

static dp_dtype wide_of(dp_dtype dtype)
{
    return dp_dtype_is_complex(dtype)    ? DP_COMPLEX128
           : dp_dtype_is_floating(dtype) ? DP_FLOAT64
                                         : DP_INT64;
}

/* Fail with a message about the path data[i0][i1]..., which has the first `depth` indices of
 * l->index. */
static int literal_fail(const literal *l, int depth, int code, const char *what)
{
    char path[1024] = "";
    size_t n = 0;

    for (int d = 0; d < depth && n < sizeof(path); d++)
        n += (size_t)snprintf(path + n, sizeof(path) - n, "[%" PRId64 "]", l->index[d]);
    json_path up = *l->at;
    char name[1100];
    snprintf(name, sizeof(name), "%s%s", up.name, path);
    up.name = name;
    return json_path_fail(l->err, code, &up, "%s", what);
}

static bool is_complex(const literal *l)
{
    return l->wide == DP_COMPLEX128;
}

static int fail_element(const literal *l, const char *expected, const cJSON *j)
{
    char what[256];

    if (cJSON_IsString(j))
        snprintf(what, sizeof(what), "expected %s but got '%.64s'", expected, j->valuestring);
    else if (cJSON_IsNumber(j))
        snprintf(what, sizeof(what), "expected %s but got %.15g", expected, j->valuedouble);
    else
        snprintf(what, sizeof(what), "expected %s but got %s", expected, json_kind(j));
    return literal_fail(l, l->ndim, DP_EVALUE, what);
}

/* Set the shape from the length of the first array at each level.  A complex element is itself an
 * array. */
static int literal_shape(literal *l, const cJSON *data)
{
    const cJSON *j = data;
    int ndim = 0;

    for (; cJSON_IsArray(j); j = j->child) {
        if (ndim == DP_DIM_MAX)
            return literal_fail(l, 0, DP_EVALUE, "expected at most 64 dimensions but got more");
        l->shape[ndim++] = cJSON_GetArraySize(j);
    }
    if (is_complex(l) && j != NULL)
        ndim--;
    if (ndim < 0)
        return fail_element(l, "[re, im] for each element", data);
    l->ndim = ndim;
    return 0;
}

static const struct {
    dp_dtype dtype;
    int64_t min, max;
} int_ranges[] = {
    {DP_UINT8, 0, UINT8_MAX},          {DP_INT8, INT8_MIN, INT8_MAX},
    {DP_INT16, INT16_MIN, INT16_MAX},  {DP_INT32, INT32_MIN, INT32_MAX},
    {DP_INT64, INT64_MIN, INT64_MAX},  {DP_BOOL, 0, 1},
    {DP_QINT8, INT8_MIN, INT8_MAX},    {DP_QUINT8, 0, UINT8_MAX},
    {DP_QINT32, INT32_MIN, INT32_MAX},
};

static int put_int(literal *l, const cJSON *j)
{
    int64_t i = cJSON_IsTrue(j);
    dp_error ignored;
    char what[128];

    if (!cJSON_IsBool(j) && int_from_json(j, l->at, &i, &ignored) < 0)
        return fail_element(l, l->dtype == DP_BOOL ? "true or false" : "an integer of 64 bits", j);
    for (size_t r = 0; r < sizeof(int_ranges) / sizeof(int_ranges[0]); r++) {
        if (int_ranges[r].dtype != l->dtype || (i >= int_ranges[r].min && i <= int_ranges[r].max))
            continue;
        snprintf(what, sizeof(what), "%" PRId64 " does not fit %s (%" PRId64 " to %" PRId64 ")", i,
                 dp_dtype_name(l->dtype), int_ranges[r].min, int_ranges[r].max);
        return literal_fail(l, l->ndim, DP_EVALUE, what);
    }
    memcpy(l->to, &i, sizeof(i));
    return 0;
}

/* Is `d` a finite number that `dtype` cannot hold? */
static bool too_large(dp_dtype dtype, double d)
{
    char narrow[16];
    double back;

    if (fabs(d) < 65504 || dtype == DP_FLOAT64 || dtype == DP_COMPLEX128 || !isfinite(d))
        return false;
    if (dtype == DP_COMPLEX64)
        dtype = DP_FLOAT32;
    dp_convert(dtype, narrow, DP_FLOAT64, &d, 1);
    dp_convert(DP_FLOAT64, &back, dtype, narrow, 1);
    return !isfinite(back);
}

static int put_double(literal *l, const cJSON *j, size_t part)
{
    double d = json_type(j) == cJSON_True;
    dp_error ignored;
    char what[128];

    if (!json_is_bool(j) && double_from_json(j, l->at, &d, &ignored) < 0)
        return fail_element(l, "a number, 'nan', 'inf' or '-inf'", j);
    if (too_large(l->dtype, d)) {
        snprintf(what, sizeof(what), "%.15g does not fit %s", d, dp_dtype_name(l->dtype));
        return literal_fail(l, l->ndim, DP_EVALUE, what);
    }
    memcpy(l->to + part * sizeof(d), &d, sizeof(d));
    return 0;
}

static int put_complex(literal *l, const cJSON *j)
{
    if (!cJSON_IsArray(j) || cJSON_GetArraySize(j) != 2)
        return fail_element(l, "[re, im]", j);
    int rc = put_double(l, j->child, 0);
    return rc < 0 ? rc : put_double(l, j->child->next, 1);
}

static int put_element(literal *l, const cJSON *j)
{
    int rc = is_complex(l)         ? put_complex(l, j)
             : l->wide == DP_INT64 ? put_int(l, j)
                                   : put_double(l, j, 0);
    l->to += dp_dtype_size(l->wide);
    return rc;
}

static int fail_ragged(literal *l, int depth, const cJSON *j)
{
    char what[128];

    if (!cJSON_IsArray(j)) {
        snprintf(what, sizeof(what), "expected an array of %" PRId64 " but got %s", l->shape[depth],
                 json_kind(j));
        return literal_fail(l, depth, DP_EVALUE, what);
    }
    snprintf(what, sizeof(what), "%d elements where the first one of its level has %" PRId64,
             cJSON_GetArraySize(j), l->shape[depth]);
    return literal_fail(l, depth, DP_EVALUE, what);
}

/* Walk the nested arrays: check that the arrays are rectangular, and read the elements. */
static int walk(literal *l, const cJSON *j, int depth)
{
    const cJSON *item;

    if (depth == l->ndim) {
        l->all_bool = l->all_bool && json_is_bool(j);
        if (json_type(j) == cJSON_Array && !is_complex(l))
            return literal_fail(l, depth, DP_EVALUE,
                                "found an array; the first element at this level is no array");
        return put_element(l, j);
    }
    if (json_type(j) != cJSON_Array || cJSON_GetArraySize(j) != l->shape[depth])
        return fail_ragged(l, depth, j);
    l->index[depth] = 0;
    cJSON_ArrayForEach(item, j)
    {
        int rc = walk(l, item, depth + 1);
        if (rc < 0)
            return rc;
        l->index[depth]++;
    }
    return 0;
}

/* -- tensor literals: sizes, strides and offset -- */

typedef struct geometry {
    bool has_shape, has_strides;
    bool is_storage; /* the given elements are the storage, not the tensor's elements in order */
    int64_t offset;
    dp_device device;
    int ndim, n_strides; /* used entries of the arrays below; the others are not initialised */
    int64_t shape[DP_DIM_MAX], strides[DP_DIM_MAX];
} geometry;

static int sizes_from_json(const cJSON *j, const json_path *at, int64_t *out, int *n, dp_error *err)
{
    const cJSON *item;

    *n = 0;
    if (cJSON_GetArraySize(j) > DP_DIM_MAX)
        return json_path_fail(err, DP_ERUNTIME, at, "%d dimensions, at most %d",
                              cJSON_GetArraySize(j), DP_DIM_MAX);
    cJSON_ArrayForEach(item, j) out[(*n)++] = (int64_t)item->valuedouble;
    return 0;
}

static int geometry_from_params(const tensor_create_params *p, const json_path *at, geometry *g,
                                dp_error *err)
{
    const cJSON *shape = p->shape, *strides = p->strides;
    int rc = 0;

    memset(g, 0, offsetof(geometry, shape));
    g->has_shape = shape != NULL;
    g->has_strides = strides != NULL;
    g->is_storage = strides != NULL || p->has_storage_offset;
    g->offset = p->storage_offset;
    if (g->is_storage && shape == NULL)
        return json_path_fail(err, DP_EVALUE, at, "strides and storage_offset need a shape");
    if (shape != NULL)
        rc = sizes_from_json(shape, &(json_path){at, "shape", 0}, g->shape, &g->ndim, err);
    if (rc == 0 && strides != NULL)
        rc = sizes_from_json(strides, &(json_path){at, "strides", 0}, g->strides, &g->n_strides,
                             err);
    if (rc == 0 && strides != NULL && g->n_strides != g->ndim)
        return json_path_fail(err, DP_EVALUE, at, "strides have %d dimensions but shape has %d",
                              g->n_strides, g->ndim);
    if (rc == 0 && p->device != NULL)
        rc = dp_device_parse(p->device, &g->device, err);
    return rc;
}

/* Does the shape of "data" agree with the given shape?  In nested arrays, an empty array hides the
 * sizes of all further dimensions. */
static bool shapes_agree(const literal *l, const geometry *g)
{
    int n = l->ndim;

    if (n > 0 && l->shape[n - 1] == 0 ? n > g->ndim : n != g->ndim)
        return false;
    return memcmp(l->shape, g->shape, (size_t)n * sizeof(*l->shape)) == 0;
}

static int check_shape(const literal *l, geometry *g, dp_error *err)
{
    char ours[DP_SHAPE_TEXT], theirs[DP_SHAPE_TEXT];

    if (g->is_storage && l->ndim != 1)
        return json_path_fail(err, DP_EVALUE, l->at,
                              "with strides or storage_offset it is the storage, one flat array");
    if (g->is_storage)
        return 0;
    if (!g->has_shape) {
        dp_copy_n(g->shape, l->shape, (size_t)l->ndim, sizeof(*l->shape));
        g->ndim = l->ndim;
        return 0;
    }
    if (shapes_agree(l, g))
        return 0;
    return json_path_fail(err, DP_EVALUE, l->at, "shape %s was given but data has %s",
                          dp_shape_text(theirs, g->shape, (size_t)g->ndim),
                          dp_shape_text(ours, l->shape, (size_t)l->ndim));
}

/* Replace `*t`, the storage as a one-dimensional tensor, by the tensor on it that `g` describes.
 * On failure, `*t` is released. */
static int strided_view(request *rq, const geometry *g, dp_tensor **t, dp_error *err)
{
    dp_tensor *flat = *t;
    int rc = dp_as_strided(rq->ctx, flat, g->ndim, g->shape, g->has_strides ? g->strides : NULL,
                           g->offset, t);

    dp_tensor_unref(flat);
    return rc < 0 ? run_ctx_error(rq, err) : 0;
}

/* Make a tensor from `n` contiguous elements of dtype `from`, which are its whole storage if
 * `g->is_storage`; `*out` is owned. */
static int tensor_of_elements(request *rq, const geometry *g, dp_dtype dtype, int64_t n,
                              dp_dtype from, const void *elements, const json_path *at,
                              dp_tensor **out, dp_error *err)
{
    dp_account *a = rq->run->constants ? NULL : session_account(rq->session);
    dp_tensor *flat = NULL;

    /* dp_as_strided() does not check this: it allows any offset for a shape without elements */
    if (g->offset > n)
        return json_path_fail(err, DP_EVALUE, at,
                              "storage_offset %" PRId64 " is beyond the %" PRId64 " elements given",
                              g->offset, n);
    int rc = dp_tensor_from(a, dtype, g->device, g->is_storage ? 1 : g->ndim,
                            g->is_storage ? &n : g->shape, from, elements, &flat, err);

    *out = flat;
    return rc < 0 || !g->is_storage ? rc : strided_view(rq, g, out, err);
}

static int tensor_of_data(request *rq, literal *l, geometry *g, const cJSON *data, bool has_dtype,
                          dp_tensor **out)
{
    int rc = literal_shape(l, data);

    if (rc < 0)
        return rc;
    /* Each element takes at least one byte of the line.  If the product of the sizes is larger, the
     * arrays are not rectangular and walk() will fail; so `n` is limited. */
    uint64_t n = dp_sizes_product(1, l->shape, (size_t)l->ndim);
    n = n < rq->line_bytes ? n : rq->line_bytes;
    char *wide = dp_malloc_n((size_t)n, dp_dtype_size(l->wide));
    if (wide == NULL)
        return dp_error_set(l->err, DP_ERESOURCE,
                            "out of memory: a tensor literal of %" PRIu64 " elements", n);
    l->to = wide;
    rc = walk(l, data, 0);
    if (rc == 0)
        rc = check_shape(l, g, l->err);
    if (rc == 0 && !has_dtype && l->all_bool && n > 0)
        l->dtype = DP_BOOL;
    if (rc == 0)
        rc = tensor_of_elements(rq, g, l->dtype, (int64_t)n, l->wide, wide, l->at, out, l->err);
    dp_free(wide);
    return rc;
}

static int tensor_of_attachment(request *rq, const geometry *g, dp_dtype dtype, size_t index,
                                const json_path *at, dp_tensor **out, dp_error *err)
{
    size_t size = dp_dtype_size(dtype), have;
    uint64_t want = dp_sizes_product(size, g->shape, (size_t)g->ndim);

    if (index >= rq->n_attachments)
        return json_path_fail(err, DP_EVALUE, at, "attachment %zu, but the message has %zu", index,
                              rq->n_attachments);
    have = rq->attachment_bytes[index];
    if (g->is_storage && have % size != 0)
        return json_path_fail(err, DP_EVALUE, at, "%zu bytes are no whole number of %s", have,
                              dp_dtype_name(dtype));
    if (!g->is_storage && want != have)
        return json_path_fail(err, DP_EVALUE, at,
                              "shape and dtype take %" PRIu64 " bytes but the attachment has %zu",
                              want, have);
    return tensor_of_elements(rq, g, dtype, (int64_t)(have / size), dtype,
                              rq->attached + rq->attachment_offset[index], at, out, err);
}

/* Compute how many elements of its storage a tensor with geometry `g` needs; UINT64_MAX: too many
 * to count. */
static uint64_t storage_elements(const geometry *g)
{
    uint64_t n = g->has_strides ? spanned_elements(g->ndim, g->shape, g->strides)
                                : dp_sizes_product(1, g->shape, (size_t)g->ndim);

    return dp_size_plus((uint64_t)g->offset, n);
}

/* Make a tensor whose elements are in a memfd of the client, which member "fd" or "map" names. */
static int tensor_of_shared(request *rq, const tensor_create_params *p, const geometry *g,
                            dp_dtype dtype, const json_path *at, dp_tensor **out, dp_error *err)
{
    dp_account *a = rq->run->constants ? NULL : session_account(rq->session);
    uint64_t n = storage_elements(g);
    int64_t flat_size = n <= INT64_MAX ? (int64_t)n : INT64_MAX;
    dp_error why = DP_ERROR_INIT;
    dp_shared *s;

    if (!p->has_dtype || !g->has_shape)
        return json_path_fail(err, DP_EVALUE, at, "fd and map need dtype and shape");
    if (dp_device_backend(g->device) != DP_B_CPU)
        return json_path_fail(err, DP_EVALUE, at,
                              "fd and map make tensors on cpu, not on '%s'; aten::to copies them",
                              p->device);
    int rc = shared_from_params(rq, p, at, &s, err);
    if (rc < 0)
        return rc;
    int how = rq->run->borrows       ? DP_SHARED_BORROW
              : dp_shared_is_racy(s) ? DP_SHARED_COPY
                                     : DP_SHARED_PRIVATE;
    rq->run->borrowed = rq->run->borrowed || how == DP_SHARED_BORROW;
    if (how == DP_SHARED_COPY && !run_is_quick(rq, dp_size_times(n, dp_dtype_size(dtype))))
        return DP_EWORKER;
    rc = dp_shared_tensor(s, how, (uint64_t)p->offset, dtype, g->is_storage ? 1 : g->ndim,
                          g->is_storage ? &flat_size : g->shape, a, out, &why);
    if (rc < 0)
        return json_path_fail(err, rc, at, "%s", why.message);
    return g->is_storage ? strided_view(rq, g, out, err) : 0;
}

extern const proto_type proto_dtype; /* proto/types/dtype.json */

static int from_data(request *rq, const tensor_create_params *p, geometry *g, dp_dtype dtype,
                     const json_path *at, dp_tensor **out, dp_error *err)
{
    literal l;

    memset(&l, 0, offsetof(literal, shape));
    l.dtype = dtype;
    l.wide = wide_of(dtype);
    l.at = at;
    l.all_bool = true;
    l.err = err;
    return tensor_of_data(rq, &l, g, p->data, p->has_dtype, out);
}

int tensor_from_params(request *rq, const tensor_create_params *p, const json_path *at,
                       dp_tensor **out, dp_error *err)
{
    json_path inside = {at, p->data != NULL ? "data" : "attachment", 0};
    dp_dtype dtype = p->has_dtype ? dp_dtype_parse(proto_dtype.values[p->dtype]) : DP_FLOAT32;
    geometry g;

    int rc = geometry_from_params(p, at, &g, err);
    if (rc < 0)
        return rc;
    if (!run_may_reach(rq, g.device))
        return DP_EWORKER;
    bool meta = dp_device_backend(g.device) == DP_B_Meta;
    if (meta && g.has_shape && g.offset == 0 && p->data == NULL && !p->has_attachment &&
        !p->has_fd && !p->has_map)
        return dp_tensor_new(dtype, g.device, g.ndim, g.shape, g.has_strides ? g.strides : NULL,
                             out, err);
    if ((p->data != NULL) + p->has_attachment + p->has_fd + p->has_map != 1)
        return json_path_fail(err, DP_EVALUE, at,
                              "a tensor literal needs one of data, attachment, fd and map%s",
                              meta ? ", or a shape alone" : "");
    if (p->has_fd || p->has_map)
        return tensor_of_shared(rq, p, &g, dtype, at, out, err);
    if (p->offset != 0)
        return json_path_fail(err, DP_EVALUE, at, "offset is for fd and map only");
    if (p->data != NULL)
        return from_data(rq, p, &g, dtype, &inside, out, err);
    if (!p->has_dtype || !g.has_shape)
        return json_path_fail(err, DP_EVALUE, at, "an attachment needs dtype and shape");
    return tensor_of_attachment(rq, &g, dtype, (size_t)p->attachment, &inside, out, err);
}

int tensor_from_json(request *rq, const cJSON *j, const json_path *at, dp_tensor **out,
                     dp_error *err)
{
    tensor_create_params p = {0};

    proto_fill(&proto_tensor_create_params, j, &p);
    return tensor_from_params(rq, &p, at, out, err);
}
