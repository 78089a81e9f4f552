/* header.c -- the header of a safetensors file: reads and writes the JSON text that says which
 * tensors a file has, and where.
 *
 * Nothing of a header is believed: names are unique and not too long, dtypes are known, the bytes
 * of each tensor are those of its shape, and the tensors follow one another without a gap, from the
 * first byte of the data to the last. */
#include "store/store.h"
#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 100 }; /* most characters of a name in an error message */

static const struct {
    dp_dtype dtype;
    const char *name;
} dtypes[] = {
    {DP_FLOAT64, "F64"}, {DP_FLOAT32, "F32"}, {DP_FLOAT16, "F16"},   {DP_BFLOAT16, "BF16"},
    {DP_INT64, "I64"},   {DP_INT32, "I32"},   {DP_INT16, "I16"},     {DP_INT8, "I8"},
    {DP_UINT8, "U8"},    {DP_BOOL, "BOOL"},   {DP_COMPLEX64, "C64"},
};
enum { DTYPES = sizeof(dtypes) / sizeof(dtypes[0]) };

static const char METADATA[] = "__metadata__";

const char *stored_dtype_name(dp_dtype dtype)
{
    for (size_t i = 0; i < DTYPES; i++)
        if (dtypes[i].dtype == dtype)
            return dtypes[i].name;
    return NULL;
}

/* -- reading -- */

int stored_length(const uint8_t first[STORE_LENGTH_BYTES], uint64_t file_bytes, size_t *out,
                  dp_error *err)
{
    uint64_t bytes, left = file_bytes - STORE_LENGTH_BYTES;

    if (file_bytes < STORE_LENGTH_BYTES)
        return dp_error_set(err, DP_EVALUE,
                            "no safetensors file: it has %" PRIu64 " bytes, but begins with the "
                            "length of its header, %d bytes",
                            file_bytes, STORE_LENGTH_BYTES);
    memcpy(&bytes, first, sizeof(bytes));
    bytes = le64toh(bytes);
    if (bytes > left)
        return dp_error_set(err, DP_EVALUE,
                            "no whole safetensors file: a header of %" PRIu64 " bytes is announced "
                            "but %" PRIu64 " bytes follow",
                            bytes, left);
    if (bytes > LIMIT_SIZE(STORE_HEADER_BYTES))
        return LIMIT_REACHED(STORE_HEADER_BYTES, bytes,
                             dp_error_set(err, DP_ERESOURCE,
                                          "the header has %" PRIu64
                                          " bytes, at most %lld (store_header_bytes)",
                                          bytes, (long long)LIMIT(STORE_HEADER_BYTES)));
    *out = (size_t)bytes;
    return 0;
}

/* The text, the parser's copy of it, and the parser's nodes: one for every two bytes at most, whose
 * memory may be twice as much as is used; and the arrays of this file. */
uint64_t stored_header_cost(size_t bytes)
{
    uint64_t nodes = bytes / 2 < LIMIT_SIZE(JSON_NODES) ? bytes / 2 : LIMIT_SIZE(JSON_NODES);

    return (uint64_t)2 * bytes + nodes * (2 * sizeof(cJSON) + sizeof(int64_t)) +
           bytes / 16 * sizeof(cJSON) + LIMIT_SIZE(STORE_TENSORS);
}

static int fail(const cJSON *j, dp_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static int fail(const cJSON *j, dp_error *err, const char *format, ...)
{
    char text[256];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    return dp_error_set(err, DP_EVALUE, "tensor '%.*s' of the header: %s", SHOWN, j->string, text);
}

static int read_dtype(const cJSON *tensor, const cJSON *j, stored *t, dp_error *err)
{
    if (!cJSON_IsString(j))
        return fail(tensor, err, "dtype: expected a name such as F32");
    for (size_t i = 0; i < DTYPES; i++)
        if (strcmp(dtypes[i].name, j->valuestring) == 0) {
            t->dtype = dtypes[i].dtype;
            return 0;
        }
    fail(tensor, err, "dtype '%.32s' is none of F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL C64",
         j->valuestring);
    return err->code = DP_ENOTIMPL;
}

/* Is `j` an array of at most `most` integers of 0 or more? */
static bool is_counts(const cJSON *j, int most)
{
    const cJSON *item;

    if (!cJSON_IsArray(j) || cJSON_GetArraySize(j) > most)
        return false;
    cJSON_ArrayForEach(item, j) if (!json_is_int(item) || item->valuedouble < 0) return false;
    return true;
}

/* Read the shape into `sizes`, where memory for it is left. */
static int read_shape(const cJSON *tensor, const cJSON *j, stored *t, int64_t *sizes, dp_error *err)
{
    const cJSON *item;

    if (!is_counts(j, DP_DIM_MAX))
        return fail(tensor, err, "shape: expected an array of at most %d integers from 0 to 2^53",
                    DP_DIM_MAX);
    t->ndim = 0;
    t->sizes = sizes;
    cJSON_ArrayForEach(item, j) sizes[t->ndim++] = (int64_t)item->valuedouble;
    return 0;
}

static int read_offsets(const cJSON *tensor, const cJSON *j, stored *t, dp_error *err)
{
    if (!is_counts(j, 2) || cJSON_GetArraySize(j) != 2)
        return fail(tensor, err, "data_offsets: expected two integers from 0 to 2^53");
    t->begin = (uint64_t)j->child->valuedouble;
    t->end = (uint64_t)j->child->next->valuedouble;
    if (t->begin > t->end)
        return fail(tensor, err, "data_offsets: the begin %" PRIu64 " is after the end %" PRIu64,
                    t->begin, t->end);
    return 0;
}

static int check_size(const cJSON *tensor, const stored *t, dp_error *err)
{
    uint64_t bytes = dp_sizes_product(dp_dtype_size(t->dtype), t->sizes, (size_t)t->ndim);
    char shape[DP_SHAPE_TEXT];

    if (bytes == t->end - t->begin)
        return 0;
    dp_shape_text(shape, t->sizes, (size_t)t->ndim);
    if (bytes == UINT64_MAX)
        return fail(tensor, err, "the bytes of shape %.150s do not fit 64 bits", shape);
    return fail(tensor, err,
                "%s of shape %.100s takes %" PRIu64 " bytes but data_offsets has %" PRIu64,
                stored_dtype_name(t->dtype), shape, bytes, t->end - t->begin);
}

static int read_tensor(const cJSON *tensor, int64_t *sizes, stored *t, dp_error *err)
{
    const cJSON *dtype = NULL, *shape = NULL, *offsets = NULL, *m;
    size_t bytes = strlen(tensor->string);

    if (bytes == 0 || bytes > LIMIT_SIZE(TENSOR_NAME_BYTES)) {
        int rc =
            fail(tensor, err, "a name has 1 to %lld bytes (tensor_name_bytes) but this has %zu",
                 (long long)LIMIT(TENSOR_NAME_BYTES), bytes);
        return LIMIT_REACHED(TENSOR_NAME_BYTES, bytes, rc);
    }
    if (!cJSON_IsObject(tensor))
        return fail(tensor, err, "expected an object with dtype, shape and data_offsets");
    cJSON_ArrayForEach(m, tensor)
    {
        const cJSON **to = strcmp(m->string, "dtype") == 0          ? &dtype
                           : strcmp(m->string, "shape") == 0        ? &shape
                           : strcmp(m->string, "data_offsets") == 0 ? &offsets
                                                                    : NULL;
        if (to == NULL)
            return fail(tensor, err, "unknown member '%.32s' beside dtype, shape and data_offsets",
                        m->string);
        *to = m;
    }
    if (dtype == NULL || shape == NULL || offsets == NULL)
        return fail(tensor, err, "member '%s' is missing",
                    dtype == NULL   ? "dtype"
                    : shape == NULL ? "shape"
                                    : "data_offsets");
    *t = (stored){.name = tensor->string};
    int rc = read_dtype(tensor, dtype, t, err);
    if (rc == 0)
        rc = read_shape(tensor, shape, t, sizes, err);
    if (rc == 0)
        rc = read_offsets(tensor, offsets, t, err);
    return rc == 0 ? check_size(tensor, t, err) : rc;
}

static int check_metadata(const cJSON *j, dp_error *err)
{
    const cJSON *m;

    if (!cJSON_IsObject(j))
        return dp_error_set(err, DP_EVALUE, "%s of the header: expected an object of strings",
                            METADATA);
    cJSON_ArrayForEach(m, j) if (!cJSON_IsString(m)) return dp_error_set(
        err, DP_EVALUE, "%s of the header: '%.*s' is no string", METADATA, SHOWN, m->string);
    return 0;
}

static int by_offset(const void *a, const void *b)
{
    const stored *x = *(const stored *const *)a, *y = *(const stored *const *)b;

    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

/* Check that the tensors follow one another without a gap, and end where the file ends. */
static int check_places(const stored_header *h, uint64_t data_bytes, dp_error *err)
{
    const stored **sorted = dp_malloc_n(h->n + 1, sizeof(stored *));
    uint64_t at = 0;
    int rc = 0;

    if (sorted == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: %zu tensors of a header", h->n);
    for (size_t i = 0; i < h->n; i++)
        sorted[i] = &h->tensors[i];
    qsort(sorted, h->n, sizeof(*sorted), by_offset);
    for (size_t i = 0; i < h->n && rc == 0; at = sorted[i++]->end)
        if (sorted[i]->begin != at)
            rc = dp_error_set(err, DP_EVALUE,
                              "tensor '%.*s' of the header begins at byte %" PRIu64
                              " of the data, but the one before it ends at %" PRIu64,
                              SHOWN, sorted[i]->name, sorted[i]->begin, at);
    dp_free(sorted);
    if (rc == 0 && at != data_bytes)
        rc = dp_error_set(err, DP_EVALUE,
                          "the tensors of the header have %" PRIu64
                          " bytes but the file has %" PRIu64 " after its header",
                          at, data_bytes);
    return rc;
}

/* Count the tensors and their dimensions; shapes that are no arrays count as none. */
static int count(const cJSON *root, size_t *n, size_t *dimensions, dp_error *err)
{
    const cJSON *j, *m;

    *n = *dimensions = 0;
    cJSON_ArrayForEach(j, root)
    {
        *n += strcmp(j->string, METADATA) != 0;
        if (cJSON_IsObject(j))
            cJSON_ArrayForEach(m, j) if (cJSON_IsArray(m) &&
                                         strcmp(m->string, "shape") == 0) *dimensions +=
                (size_t)cJSON_GetArraySize(m);
    }
    if (*n > LIMIT_SIZE(STORE_TENSORS))
        return LIMIT_REACHED(
            STORE_TENSORS, *n,
            dp_error_set(err, DP_ERESOURCE,
                         "the header has %zu tensors, at most %lld (store_tensors)", *n,
                         (long long)LIMIT(STORE_TENSORS)));
    return 0;
}

static int read_all(stored_header *h, uint64_t data_bytes, dp_error *err)
{
    size_t n, dimensions;
    const cJSON *j;
    int rc = count(h->root, &n, &dimensions, err);

    if (rc < 0)
        return rc;
    h->tensors = dp_malloc_n(n + 1, sizeof(*h->tensors));
    h->sizes = dp_malloc_n(dimensions + 1, sizeof(*h->sizes));
    if (h->tensors == NULL || h->sizes == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: %zu tensors of a header", n);
    int64_t *sizes = h->sizes;
    cJSON_ArrayForEach(j, h->root)
    {
        if (strcmp(j->string, METADATA) == 0) {
            h->metadata = j;
            rc = check_metadata(j, err);
        } else {
            rc = read_tensor(j, sizes, &h->tensors[h->n], err);
        }
        if (rc < 0)
            return rc;
        if (j != h->metadata)
            sizes += h->tensors[h->n++].ndim;
    }
    return check_places(h, data_bytes, err);
}

int stored_header_read(const char *text, size_t bytes, uint64_t data_bytes, stored_header *out,
                       dp_error *err)
{
    dp_error why = DP_ERROR_INIT;

    *out = (stored_header){0};
    if (bytes == 0 || text[0] != '{')
        return dp_error_set(err, DP_EVALUE,
                            "no safetensors file: its header of %zu bytes does not "
                            "begin with '{'",
                            bytes);
    int rc = json_parse(text, bytes, &out->root, &why);
    if (rc < 0)
        return dp_error_set(err, rc, "the header: %s", why.message);
    if (!cJSON_IsObject(out->root))
        rc = dp_error_set(err, DP_EVALUE, "the header: expected an object");
    if (rc == 0)
        rc = read_all(out, data_bytes, err);
    if (rc < 0)
        stored_header_fini(out);
    return rc;
}

void stored_header_fini(stored_header *h)
{
    json_free(h->root);
    dp_free(h->tensors);
    dp_free(h->sizes);
    *h = (stored_header){0};
}

/* -- writing -- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const stored *)a)->name, ((const stored *)b)->name);
}

/* Elements of more bytes first, then by name. */
static int by_item(const void *a, const void *b)
{
    size_t x = dp_dtype_size(((const stored *)a)->dtype);
    size_t y = dp_dtype_size(((const stored *)b)->dtype);

    return x != y ? (x > y ? -1 : 1) : by_name(a, b);
}

int stored_arrange(stored *tensors, size_t n, dp_error *err)
{
    uint64_t at = 0;

    qsort(tensors, n, sizeof(*tensors), by_name);
    for (size_t i = 1; i < n; i++)
        if (by_name(&tensors[i - 1], &tensors[i]) == 0)
            return dp_error_set(err, DP_EVALUE, "two tensors have the name '%.*s'", SHOWN,
                                tensors[i].name);
    qsort(tensors, n, sizeof(*tensors), by_item);
    for (stored *t = tensors; t < tensors + n; t++) {
        t->begin = at;
        at = dp_size_plus(at, dp_sizes_product(dp_dtype_size(t->dtype), t->sizes, (size_t)t->ndim));
        if (at > (uint64_t)JSON_EXACT_INT)
            return dp_error_set(err, DP_ERESOURCE,
                                "the tensors have more than %lld bytes, the most that offsets in a "
                                "header count",
                                (long long)JSON_EXACT_INT);
        t->end = at;
    }
    return 0;
}

static void write_tensor(const stored *t, jw *w)
{
    jw_name(w, t->name);
    jw_object(w);
    member_str(w, "dtype", stored_dtype_name(t->dtype));
    jw_key(w, "shape");
    jw_array(w);
    for (int d = 0; d < t->ndim; d++)
        jw_int(w, t->sizes[d]);
    jw_array_end(w);
    jw_key(w, "data_offsets");
    jw_array(w);
    jw_int(w, (int64_t)t->begin);
    jw_int(w, (int64_t)t->end);
    jw_array_end(w);
    jw_object_end(w);
}

void stored_header_write(const stored *tensors, size_t n, const cJSON *metadata, jw *w)
{
    static const char length[STORE_LENGTH_BYTES];
    const cJSON *m;

    jw_text(w, length, sizeof(length)); /* stored_header_end() sets it */
    jw_object(w);
    if (metadata != NULL) {
        jw_key(w, METADATA);
        jw_object(w);
        cJSON_ArrayForEach(m, metadata)
        {
            jw_name(w, m->string);
            jw_str(w, m->valuestring);
        }
        jw_object_end(w);
    }
    for (size_t i = 0; i < n && !w->failed; i++)
        write_tensor(&tensors[i], w);
    jw_object_end(w);
}

/* The header ends with blanks, so that the elements are aligned. */
int stored_header_end(jw *w, dp_error *err)
{
    while (!w->failed && w->len % STORE_LENGTH_BYTES != 0)
        jw_text(w, " ", 1);
    if (w->refused)
        return err->code;
    if (w->failed)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: the header of a file");
    size_t bytes = w->len - STORE_LENGTH_BYTES;
    if (bytes > LIMIT_SIZE(STORE_HEADER_BYTES))
        return LIMIT_REACHED(
            STORE_HEADER_BYTES, bytes,
            dp_error_set(err, DP_ERESOURCE,
                         "the header has %zu bytes, at most %lld (store_header_bytes)", bytes,
                         (long long)LIMIT(STORE_HEADER_BYTES)));
    memcpy(w->s, &(uint64_t){htole64(bytes)}, sizeof(uint64_t));
    return 0;
}
