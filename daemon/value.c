/* value.c -- values and tensors, JSON to dp_value and back (docs/protocol.md).
 *
 * What comes in was checked against proto, so only meaning is checked here.  Lists and strings lie
 * in the request's arena; tensors are kept by the run until the method ends. */
#include "method.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *request_alloc(request *rq, size_t bytes, dp_error *err)
{
    void *p = dp_arena_alloc(dp_ctx_arena(rq->ctx), bytes);

    if (p == NULL)
        dp_error_set(err, DP_ERESOURCE, "out of memory: %zu bytes of arguments", bytes);
    return p;
}

/* -- numbers -- */

/* "nan", "inf", "-inf" */
static bool special_float(const char *s, double *out)
{
    static const struct {
        const char *name;
        double value;
    } rows[] = {
        {"nan",  NAN      },
        {"inf",  INFINITY },
        {"-inf", -INFINITY}
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(rows[i].name, s) == 0) {
            *out = rows[i].value;
            return true;
        }
    return false;
}

/* A number, or one of the strings above. */
int double_from_json(const cJSON *j, const place *at, double *out, dp_error *err)
{
    *out = j->valuedouble;
    if (cJSON_IsNumber(j) || (cJSON_IsString(j) && special_float(j->valuestring, out)))
        return 0;
    if (cJSON_IsString(j))
        return place_fail(err, DP_EVALUE, at,
                          "expected a number, 'nan', 'inf' or '-inf' but got '%.64s'",
                          j->valuestring);
    return place_fail(err, DP_ETYPE, at, "expected a number but got %s", json_kind(j));
}

/* An integral number, or a decimal string of any int64. */
int int_from_json(const cJSON *j, const place *at, int64_t *out, dp_error *err)
{
    const char *s = j->valuestring;

    if (cJSON_IsNumber(j) && floor(j->valuedouble) == j->valuedouble &&
        fabs(j->valuedouble) < (double)JSON_EXACT_INT) {
        *out = (int64_t)j->valuedouble;
        return 0;
    }
    if (cJSON_IsNumber(j))
        return place_fail(err, DP_EVALUE, at, "expected an integer but got %.15g", j->valuedouble);
    if (!cJSON_IsString(j))
        return place_fail(err, DP_ETYPE, at, "expected an integer but got %s", json_kind(j));
    const char *digits = s + (*s == '-');
    size_t n = strspn(digits, "0123456789");
    intmax_t i = strtoimax(s, NULL, 10);
    char back[24];
    snprintf(back, sizeof(back), "%" PRIdMAX, i);
    if (n == 0 || digits[n] != '\0')
        return place_fail(err, DP_EVALUE, at, "expected decimal digits but got '%.64s'", s);
    if (strcmp(back, s) != 0 && n > 18) /* shorter ones fit, leading zeros or not */
        return place_fail(err, DP_EVALUE, at, "%.64s does not fit int64", s);
    *out = i;
    return 0;
}

static int pair_from_json(const cJSON *j, const place *at, double *out, dp_error *err)
{
    place inside = {at, NULL, 0};
    const cJSON *part;

    if (!cJSON_IsArray(j) || cJSON_GetArraySize(j) != 2)
        return place_fail(err, DP_EVALUE, at, "expected [re, im]");
    cJSON_ArrayForEach(part, j)
    {
        int rc = double_from_json(part, &inside, &out[inside.index], err);
        if (rc < 0)
            return rc;
        inside.index++;
    }
    return 0;
}

/* -- values in -- */

int values_from_json(request *rq, const cJSON *array, const place *at, dp_value **out, size_t *n,
                     dp_error *err)
{
    const cJSON *item;
    place inside = {at, NULL, 0};

    *n = array != NULL ? (size_t)cJSON_GetArraySize(array) : 0;
    *out = request_alloc(rq, *n * sizeof(**out), err);
    if (*out == NULL)
        return DP_ERESOURCE;
    cJSON_ArrayForEach(item, array)
    {
        int rc = value_from_json(rq, item, &inside, &(*out)[inside.index], err);
        if (rc < 0)
            return rc;
        inside.index++;
    }
    return 0;
}

static int list_from_json(request *rq, const cJSON *j, const place *at, dp_value *out,
                          dp_error *err)
{
    dp_value *values;
    size_t n;
    int rc = values_from_json(rq, j, at, &values, &n, err);

    *out = (dp_value){DP_TAG_LIST, (uint32_t)n, {0}};
    out->u.values = values;
    return rc;
}

static int string_from_json(request *rq, const char *s, dp_value *out, dp_error *err)
{
    size_t n = strlen(s);
    char *copy = request_alloc(rq, n + 1, err);

    if (copy == NULL)
        return DP_ERESOURCE;
    *out = (dp_value){DP_TAG_STR, (uint32_t)n, {0}};
    out->u.s = memcpy(copy, s, n + 1);
    return 0;
}

static int complex_from_json(request *rq, const cJSON *j, const place *at, dp_value *out,
                             dp_error *err)
{
    double *z = request_alloc(rq, 2 * sizeof(*z), err);

    if (z == NULL)
        return DP_ERESOURCE;
    *out = (dp_value){DP_TAG_COMPLEX, 0, {0}};
    out->u.doubles = z;
    return pair_from_json(j, at, z, err);
}

static int handle_from_json(request *rq, const cJSON *j, const place *at, dp_value *out,
                            dp_error *err)
{
    dp_tensor *t;
    int rc = run_pin(rq, (uint64_t)j->valuedouble, at, &t, err);

    if (rc == 0)
        *out = dp_tensor_value(t);
    return rc;
}

static int int_value_from_json(request *rq, const cJSON *j, const place *at, dp_value *out,
                               dp_error *err)
{
    (void)rq;
    *out = dp_int(0);
    return int_from_json(j, at, &out->u.i, err);
}

static int float_value_from_json(request *rq, const cJSON *j, const place *at, dp_value *out,
                                 dp_error *err)
{
    (void)rq;
    *out = dp_double(0);
    return double_from_json(j, at, &out->u.d, err);
}

static int literal_from_json(request *rq, const cJSON *j, const place *at, dp_value *out,
                             dp_error *err)
{
    dp_tensor *t;
    int rc = tensor_from_json(rq, j, at, &t, err);

    if (rc == 0)
        rc = run_keep(rq, t, err);
    if (rc == 0)
        *out = dp_tensor_value(t);
    return rc;
}

/* The member that says what an object is, and what reads it. */
static const struct {
    const char *name;
    int (*read)(request *rq, const cJSON *j, const place *at, dp_value *out, dp_error *err);
} objects[] = {
    {"tensor",  handle_from_json     },
    {"int",     int_value_from_json  },
    {"float",   float_value_from_json},
    {"complex", complex_from_json    },
};

static int object_from_json(request *rq, const cJSON *j, const place *at, dp_value *out,
                            dp_error *err)
{
    for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++) {
        const cJSON *m = param(j, objects[i].name);
        place inside = {at, objects[i].name, 0};
        if (m != NULL)
            return objects[i].read(rq, m, &inside, out, err);
    }
    if (param(j, "ref") == NULL)
        return literal_from_json(rq, j, at, out, err);
    if (rq->run->program == NULL)
        return place_fail(err, DP_EVALUE, at, "ref is for the steps of a program");
    return program_ref(rq->run->program, j, at, out, err);
}

int value_from_json(request *rq, const cJSON *j, const place *at, dp_value *out, dp_error *err)
{
    *out = dp_none();
    if (cJSON_IsObject(j))
        return object_from_json(rq, j, at, out, err);
    if (cJSON_IsArray(j))
        return list_from_json(rq, j, at, out, err);
    if (cJSON_IsString(j))
        return string_from_json(rq, j->valuestring, out, err);
    if (cJSON_IsBool(j))
        *out = dp_bool(cJSON_IsTrue(j));
    else if (cJSON_IsNumber(j) && floor(j->valuedouble) == j->valuedouble &&
             fabs(j->valuedouble) < (double)JSON_EXACT_INT)
        *out = dp_int((int64_t)j->valuedouble);
    else if (cJSON_IsNumber(j))
        *out = dp_double(j->valuedouble);
    return 0;
}

/* -- values out -- */

static void sizes_to_json(jw *w, const char *name, const int64_t *sizes, int n)
{
    jw_key(w, name);
    jw_array(w);
    for (int d = 0; d < n; d++)
        jw_int(w, sizes[d]);
    jw_array_end(w);
}

void keyset_to_json(jw *w, const char *name, dp_keyset s)
{
    dp_key keys[128];
    char text[DP_KEY_NAME_MAX];
    size_t n = dp_keyset_list(s, keys, sizeof(keys) / sizeof(keys[0]));

    jw_key(w, name);
    jw_array(w);
    for (size_t i = 0; i < n && i < sizeof(keys) / sizeof(keys[0]); i++)
        jw_str(w, dp_key_name(keys[i], text));
    jw_array_end(w);
}

void descriptor_to_json(jw *w, const dp_tensor *t, uint64_t handle)
{
    char device[DP_KEY_NAME_MAX];
    dp_view v = {.size = sizeof(v)};

    dp_tensor_view(t, &v);
    if (handle != 0) {
        member_int(w, "tensor", handle);
    }
    member_str(w, "dtype", dp_dtype_name(v.dtype));
    sizes_to_json(w, "shape", v.sizes, v.ndim);
    sizes_to_json(w, "strides", v.strides, v.ndim);
    member_int(w, "storage_offset", dp_tensor_offset(t));
    member_str(w, "device", dp_device_name(v.device, device));
    member_int(w, "storage", dp_tensor_storage_id(t));
    member_int(w, "version", dp_tensor_version(t));
    member_bool(w, "requires_grad", false);
    keyset_to_json(w, "keys", dp_tensor_keys(t));
}

size_t tensor_bytes(const dp_tensor *t)
{
    dp_view v = {.size = sizeof(v)};

    if (t == NULL)
        return 0;
    dp_tensor_view(t, &v);
    return (size_t)v.numel * dp_dtype_size(v.dtype);
}

/* Packed elements of t, whose view is *v: *out owned, *bytes of them. */
static int packed(const dp_tensor *t, dp_view *v, void **out, size_t *bytes, dp_error *err)
{
    v->size = sizeof(*v);
    dp_tensor_view(t, v);
    *bytes = (size_t)v->numel * dp_dtype_size(v->dtype);
    *out = dp_malloc(*bytes + 1);
    if (*out == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: a copy of %zu bytes", *bytes);
    int rc = dp_tensor_read(t, *out, err);
    if (rc < 0) {
        dp_free(*out);
        *out = NULL;
    }
    return rc;
}

/* One level of nested arrays; p is the next packed element.  Brackets are written as bare text: a
 * tensor may have as many dimensions as jw has levels. */
static const char *write_level(jw *w, const dp_view *v, int depth, const char *p)
{
    char text[ELEMENT_TEXT_MAX];

    if (depth == v->ndim) {
        jw_text(w, text, element_print(text, v->dtype, p));
        return p + dp_dtype_size(v->dtype);
    }
    jw_text(w, "[", 1);
    for (int64_t i = 0; i < v->sizes[depth] && !w->failed; i++) {
        if (i > 0)
            jw_text(w, ",", 1);
        p = write_level(w, v, depth + 1, p);
    }
    jw_text(w, "]", 1);
    return p;
}

int data_to_json(jw *w, const dp_tensor *t, dp_error *err)
{
    dp_view v;
    void *elements;
    size_t bytes;
    int rc = packed(t, &v, &elements, &bytes, err);

    if (rc < 0)
        return rc;
    jw_key(w, "data");
    jw_raw(w, "", 0); /* where one value stands; the text of it follows */
    write_level(w, &v, 0, elements);
    dp_free(elements);
    return 0;
}

static int attachment_to_json(request *rq, jw *w, dp_tensor *t, dp_error *err)
{
    dp_view v;
    void *elements;
    size_t bytes;
    /* A copy: the answer may leave after the next request has written to the tensor. */
    int rc = packed(t, &v, &elements, &bytes, err);

    if (rc < 0)
        return rc;
    int index = request_attach(rq, NULL, elements, elements, bytes);
    if (index < 0)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: an attachment");
    member_int(w, "attachment", index);
    return 0;
}

int tensor_to_json(request *rq, jw *w, dp_tensor *t, uint64_t handle, int how, dp_error *err)
{
    int rc = 0;

    /* as in a call: another connection may give the tensor another shape, but not to us */
    if (dp_ctx_begin(rq->ctx) < 0)
        return run_ctx_error(rq, err);
    jw_object(w);
    descriptor_to_json(w, t, handle);
    if (how == RETURN_DATA)
        rc = data_to_json(w, t, err);
    if (how == RETURN_ATTACHMENT)
        rc = attachment_to_json(rq, w, t, err);
    jw_object_end(w);
    dp_ctx_end(rq->ctx);
    return rc;
}

static int tensor_out(request *rq, jw *w, dp_tensor *t, int how, dp_error *err)
{
    uint64_t handle = 0;

    if (t == NULL) {
        jw_null(w);
        return 0;
    }
    if (how == RETURN_HANDLE && run_put(rq, t, &handle, err) < 0)
        return err->code;
    return tensor_to_json(rq, w, t, handle, how, err);
}

static void complex_to_json(jw *w, const double *z)
{
    jw_object(w);
    jw_key(w, "complex");
    jw_element(w, DP_COMPLEX128, z);
    jw_object_end(w);
}

static int item_to_json(request *rq, jw *w, const dp_value *list, uint32_t i, int how,
                        dp_error *err)
{
    switch (list->tag) {
    case DP_TAG_TENSORS:
        return tensor_out(rq, w, list->u.tensors[i], how, err);
    case DP_TAG_INTS:
        jw_value_int(w, list->u.ints[i]);
        return 0;
    case DP_TAG_DOUBLES:
        jw_value_double(w, list->u.doubles[i]);
        return 0;
    case DP_TAG_BOOLS:
        jw_bool(w, list->u.bools[i]);
        return 0;
    default:
        return value_to_json(rq, w, &list->u.values[i], how, err);
    }
}

static int list_to_json(request *rq, jw *w, const dp_value *list, int how, dp_error *err)
{
    int rc = 0;

    jw_array(w);
    for (uint32_t i = 0; i < list->len && rc == 0 && !w->failed; i++)
        rc = item_to_json(rq, w, list, i, how, err);
    jw_array_end(w);
    return rc;
}

int value_to_json(request *rq, jw *w, const dp_value *v, int how, dp_error *err)
{
    switch (v->tag) {
    case DP_TAG_NONE:
        jw_null(w);
        return 0;
    case DP_TAG_TENSOR:
        return tensor_out(rq, w, v->u.t, how, err);
    case DP_TAG_INT:
        jw_value_int(w, v->u.i);
        return 0;
    case DP_TAG_DOUBLE:
        jw_value_double(w, v->u.d);
        return 0;
    case DP_TAG_BOOL:
        jw_bool(w, v->u.b);
        return 0;
    case DP_TAG_COMPLEX:
        complex_to_json(w, v->u.doubles);
        return 0;
    case DP_TAG_STR:
        jw_strn(w, v->u.s, v->len);
        return 0;
    case DP_TAG_GENERATOR:
        return dp_error_set(err, DP_ENOTIMPL, "a Generator cannot be answered over the socket");
    default:
        return list_to_json(rq, w, v, how, err);
    }
}
