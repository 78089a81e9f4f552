/* values.c -- adds values to requests: dpc_add_...(), lists, objects, tensors by their elements. */
#include "client.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define EXACT (INT64_C(1) << 53) /* a JSON number holds integers of less than this */

static const struct dtype {
    const char *name;
    size_t bytes;
} dtypes[] = {
    [DPC_UINT8] = {"uint8", 1},         [DPC_INT8] = {"int8", 1},
    [DPC_INT16] = {"int16", 2},         [DPC_INT32] = {"int32", 4},
    [DPC_INT64] = {"int64", 8},         [DPC_FLOAT16] = {"float16", 2},
    [DPC_FLOAT32] = {"float32", 4},     [DPC_FLOAT64] = {"float64", 8},
    [DPC_COMPLEX64] = {"complex64", 8}, [DPC_COMPLEX128] = {"complex128", 16},
    [DPC_BOOL] = {"bool", 1},           [DPC_BFLOAT16] = {"bfloat16", 2},
};
enum { N_DTYPES = sizeof(dtypes) / sizeof(dtypes[0]) };

const char *dpc_dtype_name(dpc_dtype dtype)
{
    return (unsigned)dtype < N_DTYPES ? dtypes[dtype].name : NULL;
}

size_t dpc_dtype_size(dpc_dtype dtype)
{
    return (unsigned)dtype < N_DTYPES ? dtypes[dtype].bytes : 0;
}

static bool is_finite(double value)
{
    return value - value == 0;
}

/* Test whether a bare JSON number would be an int for the daemon. */
static bool is_integral(double value)
{
    return value >= (double)EXACT || value <= -(double)EXACT || (double)(int64_t)value == value;
}

/* -- adding values -- */

/* Write what stands before a value outside of all lists and objects. */
static bool put_outer(dpc_request *r, const char *name)
{
    if (r->form == DPCI_JSON) {
        dpci_fault(r, DPC_EARGUMENT, "a request of dpc_request_json() takes no more values");
        return false;
    }
    if (r->form != DPCI_OP && name == NULL) {
        dpci_fault(r, DPC_EARGUMENT, "a value needs a name: it is a member of an object");
        return false;
    }
    if (r->form == DPCI_OP && name == NULL && r->by_name) {
        dpci_fault(r, DPC_EARGUMENT, "an argument by position follows one by name");
        return false;
    }
    if (r->form == DPCI_OP && name != NULL && !r->by_name) {
        dpci_put(r, &r->text, "],\"kwargs\":{");
        r->by_name = r->empty = true;
    }
    return true;
}

/* Write what stands before a value: a comma, and a name if the value is a member.  false: the
 * request has a fault, and the value is not written. */
static bool put_name(dpc_request *r, const char *name)
{
    if (r == NULL || r->fault != 0)
        return false;
    if (r->depth == 0) {
        if (!put_outer(r, name))
            return false;
    } else if (r->closes[r->depth - 1] == '}' && name == NULL) {
        dpci_fault(r, DPC_EARGUMENT, "a value needs a name: it is a member of an object");
        return false;
    } else if (r->closes[r->depth - 1] == ']' && name != NULL) {
        dpci_fault(r, DPC_EARGUMENT, "value '%.60s' has a name, but is in a list", name);
        return false;
    }
    if (!r->empty)
        dpci_put(r, &r->text, ",");
    r->empty = false;
    if (name != NULL) {
        dpci_put_string(r, &r->text, name);
        dpci_put(r, &r->text, ":");
    }
    return r->fault == 0;
}

void dpc_add_json(dpc_request *r, const char *name, const char *json)
{
    if (put_name(r, name))
        dpci_put_json(r, &r->text, json);
}

void dpc_add_none(dpc_request *r, const char *name)
{
    dpc_add_json(r, name, "null");
}

void dpc_add_bool(dpc_request *r, const char *name, bool value)
{
    dpc_add_json(r, name, value ? "true" : "false");
}

void dpc_add_int(dpc_request *r, const char *name, int64_t value)
{
    if (!put_name(r, name))
        return;
    bool exact = value < EXACT && value > -EXACT;
    dpci_put(r, &r->text, exact ? "" : "{\"int\":\"");
    dpci_put_int(r, &r->text, value);
    dpci_put(r, &r->text, exact ? "" : "\"}");
}

void dpc_add_float(dpc_request *r, const char *name, double value)
{
    if (!put_name(r, name))
        return;
    bool bare = is_finite(value) && !is_integral(value);
    dpci_put(r, &r->text, bare ? "" : "{\"float\":");
    dpci_put_float(r, &r->text, value);
    dpci_put(r, &r->text, bare ? "" : "}");
}

void dpc_add_complex(dpc_request *r, const char *name, double re, double im)
{
    if (!put_name(r, name))
        return;
    dpci_put(r, &r->text, "{\"complex\":[");
    dpci_put_float(r, &r->text, re);
    dpci_put(r, &r->text, ",");
    dpci_put_float(r, &r->text, im);
    dpci_put(r, &r->text, "]}");
}

void dpc_add_str(dpc_request *r, const char *name, const char *value)
{
    if (value == NULL)
        dpc_add_none(r, name);
    else if (put_name(r, name))
        dpci_put_string(r, &r->text, value);
}

static void add_handle(dpc_request *r, const char *name, const char *kind, int64_t handle)
{
    if (!put_name(r, name))
        return;
    dpci_put(r, &r->text, kind);
    dpci_put_int(r, &r->text, handle);
    dpci_put(r, &r->text, "}");
}

void dpc_add_tensor(dpc_request *r, const char *name, int64_t handle)
{
    add_handle(r, name, "{\"tensor\":", handle);
}

void dpc_add_generator(dpc_request *r, const char *name, int64_t handle)
{
    add_handle(r, name, "{\"generator\":", handle);
}

void dpc_add_object(dpc_request *r, const char *name, int64_t handle)
{
    add_handle(r, name, "{\"object\":", handle);
}

/* -- lists and objects -- */

static void open_as(dpc_request *r, const char *name, const char *bracket, char closes)
{
    if (r != NULL && r->depth == DPC_DEPTH_MAX)
        dpci_fault(r, DPC_EARGUMENT, "more than %d lists and objects inside each other",
                   DPC_DEPTH_MAX);
    if (!put_name(r, name))
        return;
    dpci_put(r, &r->text, bracket);
    r->closes[r->depth++] = closes;
    r->empty = true;
}

void dpc_begin_list(dpc_request *r, const char *name)
{
    open_as(r, name, "[", ']');
}

void dpc_begin_object(dpc_request *r, const char *name)
{
    open_as(r, name, "{", '}');
}

void dpc_end(dpc_request *r)
{
    if (r == NULL || r->fault != 0)
        return;
    if (r->depth == 0) {
        dpci_fault(r, DPC_EARGUMENT, "dpc_end() without a list or an object that is open");
        return;
    }
    dpci_put_bytes(r, &r->text, &r->closes[--r->depth], 1);
    r->empty = false;
}

void dpc_add_ints(dpc_request *r, const char *name, const int64_t *values, size_t n)
{
    dpc_begin_list(r, name);
    for (size_t i = 0; i < n; i++)
        dpc_add_int(r, NULL, values[i]);
    dpc_end(r);
}

void dpc_add_floats(dpc_request *r, const char *name, const double *values, size_t n)
{
    dpc_begin_list(r, name);
    for (size_t i = 0; i < n; i++)
        dpc_add_float(r, NULL, values[i]);
    dpc_end(r);
}

void dpc_add_tensors(dpc_request *r, const char *name, const int64_t *handles, size_t n)
{
    dpc_begin_list(r, name);
    for (size_t i = 0; i < n; i++)
        dpc_add_tensor(r, NULL, handles[i]);
    dpc_end(r);
}

/* -- tensors by their elements -- */

size_t dpc_attach(dpc_request *r, const void *data, size_t nbytes)
{
    if (r == NULL || r->fault != 0)
        return 0;
    if (r->n_attachments == r->cap_attachments) {
        size_t cap = r->cap_attachments > 0 ? 2 * r->cap_attachments : 4;
        dpci_bytes *grown = realloc(r->attachments, cap * sizeof(*grown));
        if (grown == NULL) {
            dpci_fault(r, DPC_EMEMORY, "out of memory for %zu attachments", cap);
            return 0;
        }
        r->attachments = grown;
        r->cap_attachments = cap;
    }
    r->attachments[r->n_attachments] = (dpci_bytes){data, nbytes};
    return r->n_attachments++;
}

bool dpci_data_bytes(dpc_request *r, dpc_dtype dtype, const int64_t *shape, size_t ndim,
                     size_t *bytes)
{
    size_t n = dpc_dtype_size(dtype);
    bool none = false;

    if (n == 0) {
        dpci_fault(r, DPC_EARGUMENT, "dtype %d is none of those in dpc_dtype", (int)dtype);
        return false;
    }
    for (size_t i = 0; i < ndim; i++) {
        if (shape[i] < 0) {
            dpci_fault(r, DPC_EARGUMENT, "shape[%zu] is %" PRId64 ", want 0 or more", i, shape[i]);
            return false;
        }
        none = none || shape[i] == 0;
        if (shape[i] > 0 && n > (size_t)EXACT / (size_t)shape[i]) {
            dpci_fault(r, DPC_EARGUMENT, "a shape of more than 2^53 bytes");
            return false;
        }
        n *= shape[i] > 0 ? (size_t)shape[i] : 1;
    }
    *bytes = none ? 0 : n;
    return true;
}

void dpci_put_data(dpc_request *r, dpc_dtype dtype, const int64_t *shape, size_t ndim,
                   const void *data)
{
    size_t bytes;

    if (!dpci_data_bytes(r, dtype, shape, ndim, &bytes))
        return;
    dpc_add_str(r, "dtype", dpc_dtype_name(dtype));
    dpc_add_ints(r, "shape", shape, ndim);
    dpc_add_int(r, "attachment", (int64_t)dpc_attach(r, data, bytes));
}

void dpc_add_data(dpc_request *r, const char *name, dpc_dtype dtype, const int64_t *shape,
                  size_t ndim, const void *data)
{
    dpc_begin_object(r, name);
    if (r != NULL && r->fault == 0)
        dpci_put_data(r, dtype, shape, ndim, data);
    dpc_end(r);
}
