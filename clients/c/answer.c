/* answer.c -- reads answers: results, errors, values, descriptions of tensors. */
#include "client.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXACT (INT64_C(1) << 53) /* a JSON number holds integers of less than this */

static const cJSON *member(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

/* -- answers -- */

dpc_answer *dpc_answer_free(dpc_answer *a)
{
    if (a == NULL)
        return NULL;
    cJSON_Delete(a->root);
    for (size_t i = 0; i < a->n_blobs; i++)
        free(a->blobs[i].data);
    free(a->blobs);
    dpc_memory_free(a->memory);
    if (a->fd >= 0)
        close(a->fd);
    free(a);
    return NULL;
}

uint64_t dpc_answer_id(const dpc_answer *a)
{
    return a->id;
}

int dpc_answer_error(const dpc_answer *a, dpc_error *err)
{
    return a->error == NULL ? 0 : dpci_fail_daemon(err, a->error);
}

const dpc_value *dpc_answer_fault(const dpc_answer *a)
{
    return a->error;
}

const dpc_value *dpc_answer_result(const dpc_answer *a)
{
    return a->result;
}

size_t dpc_answer_outputs(const dpc_answer *a)
{
    const cJSON *outputs = member(a->result, "outputs");
    return cJSON_IsArray(outputs) ? (size_t)cJSON_GetArraySize(outputs) : 0;
}

const dpc_value *dpc_answer_output(const dpc_answer *a, size_t i)
{
    return dpc_value_at(member(a->result, "outputs"), i);
}

const void *dpc_answer_attachment(const dpc_answer *a, size_t i, size_t *nbytes)
{
    if (i >= a->n_blobs)
        return NULL;
    if (nbytes != NULL)
        *nbytes = a->blobs[i].nbytes;
    return a->blobs[i].data;
}

/* -- values -- */

/* Return the only member of an object if it is called `name`, else NULL. */
static const cJSON *only(const cJSON *v, const char *name)
{
    const cJSON *child = cJSON_IsObject(v) ? v->child : NULL;
    return child != NULL && child->next == NULL && strcmp(child->string, name) == 0 ? child : NULL;
}

static bool is_integral(double value)
{
    return value < (double)EXACT && value > -(double)EXACT && (double)(int64_t)value == value;
}

dpc_kind dpc_value_kind(const dpc_value *v)
{
    if (v == NULL || cJSON_IsNull(v))
        return DPC_KIND_NONE;
    if (cJSON_IsBool(v))
        return DPC_KIND_BOOL;
    if (cJSON_IsNumber(v))
        return is_integral(v->valuedouble) ? DPC_KIND_INT : DPC_KIND_FLOAT;
    if (cJSON_IsString(v))
        return DPC_KIND_STR;
    if (cJSON_IsArray(v))
        return DPC_KIND_LIST;
    return only(v, "int")                                             ? DPC_KIND_INT
           : only(v, "float")                                         ? DPC_KIND_FLOAT
           : only(v, "complex")                                       ? DPC_KIND_COMPLEX
           : member(v, "dtype") != NULL && member(v, "shape") != NULL ? DPC_KIND_TENSOR
           : member(v, "object") != NULL                              ? DPC_KIND_OBJECT
                                                                      : DPC_KIND_DICT;
}

int dpc_value_bool(const dpc_value *v, bool *out)
{
    if (!cJSON_IsBool(v))
        return DPC_EKIND;
    *out = cJSON_IsTrue(v);
    return 0;
}

int dpc_value_int(const dpc_value *v, int64_t *out)
{
    const cJSON *exact = only(v, "int");
    const char *digits = cJSON_GetStringValue(exact != NULL ? exact : v);
    char *end;

    if (cJSON_IsNumber(v) && is_integral(v->valuedouble)) {
        *out = (int64_t)v->valuedouble;
        return 0;
    }
    if (digits == NULL) /* a string is an element of inline data */
        return DPC_EKIND;
    errno = 0;
    long long value = strtoll(digits, &end, 10);
    if (errno != 0 || end == digits || *end != '\0')
        return DPC_EKIND;
    *out = value;
    return 0;
}

/* Read a number, or one of the strings for values that JSON has no number for. */
static int read_double(const cJSON *v, double *out)
{
    const char *s = cJSON_GetStringValue(v);

    if (cJSON_IsNumber(v))
        *out = v->valuedouble;
    else if (s != NULL && strcmp(s, "nan") == 0)
        *out = __builtin_nan("");
    else if (s != NULL && (strcmp(s, "inf") == 0 || strcmp(s, "-inf") == 0))
        *out = *s == '-' ? -__builtin_inf() : __builtin_inf();
    else
        return DPC_EKIND;
    return 0;
}

int dpc_value_float(const dpc_value *v, double *out)
{
    const cJSON *exact = only(v, "float");
    int64_t integer;

    if (read_double(exact != NULL ? exact : v, out) == 0)
        return 0;
    if (dpc_value_int(v, &integer) != 0)
        return DPC_EKIND;
    *out = (double)integer;
    return 0;
}

int dpc_value_complex(const dpc_value *v, double *re, double *im)
{
    const cJSON *pair = only(v, "complex");
    double parts[2] = {0, 0};

    if (pair == NULL && cJSON_IsArray(v)) /* an element of inline data */
        pair = v;
    if (pair == NULL ? dpc_value_float(v, &parts[0]) != 0
                     : cJSON_GetArraySize(pair) != 2 || read_double(pair->child, &parts[0]) != 0 ||
                           read_double(pair->child->next, &parts[1]) != 0)
        return DPC_EKIND;
    *re = parts[0];
    *im = parts[1];
    return 0;
}

const char *dpc_value_str(const dpc_value *v)
{
    return cJSON_GetStringValue(v);
}

size_t dpc_value_len(const dpc_value *v)
{
    return cJSON_IsArray(v) || cJSON_IsObject(v) ? (size_t)cJSON_GetArraySize(v) : 0;
}

const dpc_value *dpc_value_at(const dpc_value *v, size_t i)
{
    return cJSON_IsArray(v) && i <= INT32_MAX ? cJSON_GetArrayItem(v, (int)i) : NULL;
}

const dpc_value *dpc_value_member(const dpc_value *v, const char *name)
{
    return cJSON_IsObject(v) ? member(v, name) : NULL;
}

/* -- tensors -- */

static dpc_dtype dtype_of(const char *name)
{
    for (int i = 0; i < DPC_DTYPE_OTHER; i++) {
        const char *known = dpc_dtype_name((dpc_dtype)i);
        if (known != NULL && strcmp(known, name) == 0)
            return (dpc_dtype)i;
    }
    return DPC_DTYPE_OTHER;
}

/* Read a list of at most DPC_DIMS_MAX ints.  Returns their number; -1: it is no such list. */
static int read_dims(const cJSON *list, int64_t dims[DPC_DIMS_MAX])
{
    const cJSON *v;
    int n = 0;

    if (!cJSON_IsArray(list))
        return -1;
    cJSON_ArrayForEach(v, list)
    {
        if (n == DPC_DIMS_MAX || dpc_value_int(v, &dims[n]) != 0)
            return -1;
        n++;
    }
    return n;
}

/* Read member `name`, an int; `missing` if there is no int. */
static int64_t int_member(const cJSON *v, const char *name, int64_t missing)
{
    dpc_value_int(member(v, name), &missing);
    return missing;
}

/* Compute the bytes from the first to the last element of a tensor.  SIZE_MAX: too many, or a
 * stride below 0. */
static size_t spanned_bytes(const dpc_tensor *t)
{
    size_t last = 0, step, bytes = dpc_dtype_size(t->dtype);

    for (int i = 0; i < t->ndim; i++)
        if (t->shape[i] == 0)
            return 0;
    for (int i = 0; i < t->ndim; i++)
        if (t->shape[i] < 0 || t->strides[i] < 0 ||
            __builtin_mul_overflow((size_t)t->shape[i] - 1, (size_t)t->strides[i], &step) ||
            __builtin_add_overflow(last, step, &last))
            return SIZE_MAX;
    return last == SIZE_MAX || __builtin_mul_overflow(last + 1, bytes, &bytes) ? SIZE_MAX : bytes;
}

/* Check that the tensor's elements are inside the memory that the answer names. */
static int find_shared(const dpc_answer *a, const cJSON *v, dpc_tensor *t, dpc_error *err)
{
    int64_t offset = int_member(v, "offset", -1), nbytes = int_member(v, "nbytes", -1);
    size_t item = dpc_dtype_size(t->dtype), have = a->memory->nbytes;

    if (offset < 0 || nbytes < 0 || (uint64_t)offset > have ||
        (uint64_t)nbytes > have - (size_t)offset)
        return dpci_fail(err, DPC_EPROTOCOL,
                         "a tensor has %lld bytes from byte %lld of a memory of %zu",
                         (long long)nbytes, (long long)offset, have);
    if (item > 0 && ((size_t)offset % item != 0 || spanned_bytes(t) > (size_t)nbytes))
        return dpci_fail(err, DPC_EPROTOCOL,
                         "a tensor's shape and strides do not fit %lld bytes from byte %lld",
                         (long long)nbytes, (long long)offset);
    t->data = (const char *)a->memory->data + offset;
    t->nbytes = (size_t)nbytes;
    return 0;
}

/* Check that the tensor's attachment has the bytes of its elements. */
static int find_data(const dpc_answer *a, const cJSON *v, dpc_tensor *t, dpc_error *err)
{
    int64_t index = int_member(v, "attachment", -1);
    size_t bytes = dpc_dtype_size(t->dtype);

    if (index < 0)
        return 0;
    t->data = dpc_answer_attachment(a, (size_t)index, &t->nbytes);
    if (t->data == NULL)
        return dpci_fail(err, DPC_EPROTOCOL, "a tensor is in attachment %lld, the answer has %zu",
                         (long long)index, a->n_blobs);
    if (t->dtype == DPC_DTYPE_OTHER)
        return 0;
    for (int i = 0; i < t->ndim; i++)
        if (__builtin_mul_overflow(bytes, (size_t)t->shape[i], &bytes))
            bytes = SIZE_MAX;
    if (bytes != t->nbytes)
        return dpci_fail(err, DPC_EPROTOCOL, "a tensor of %zu bytes is in an attachment of %zu",
                         bytes, t->nbytes);
    return 0;
}

int dpc_value_tensor(const dpc_answer *a, const dpc_value *v, dpc_tensor *out, dpc_error *err)
{
    dpc_tensor t = {0};
    const char *dtype = cJSON_GetStringValue(member(v, "dtype"));
    const char *device = cJSON_GetStringValue(member(v, "device"));
    int64_t strides;

    if (dpc_value_kind(v) != DPC_KIND_TENSOR || dtype == NULL)
        return dpci_fail(err, DPC_EKIND, "the value does not describe a tensor");
    t.handle = int_member(v, "tensor", 0);
    t.storage = int_member(v, "storage", -1);
    t.version = int_member(v, "version", 0);
    t.storage_offset = int_member(v, "storage_offset", 0);
    t.requires_grad = cJSON_IsTrue(member(v, "requires_grad"));
    t.dtype = dtype_of(dtype);
    t.ndim = read_dims(member(v, "shape"), t.shape);
    strides = read_dims(member(v, "strides"), t.strides);
    if (t.ndim < 0 || strides != t.ndim)
        return dpci_fail(err, DPC_EPROTOCOL, "a tensor's shape and strides are not %s",
                         "two lists of as many ints, at most 64");
    if (device != NULL && strlen(device) < sizeof(t.device))
        strcpy(t.device, device);
    int rc = a->memory != NULL && member(v, "map") != NULL ? find_shared(a, v, &t, err)
                                                           : find_data(a, v, &t, err);
    if (rc == 0)
        *out = t;
    return rc;
}
