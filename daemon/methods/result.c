/* result.c -- writes dp_values and tensors as JSON, the results of methods (docs/protocol.md). */
#include "methods.h"
#include <dispatchd/grad.h>
#include <math.h>
#include <string.h>

bool answer_reserve(jw *w, size_t bytes, dp_error *err)
{
    if (!jw_reserve(w, bytes) && !w->refused)
        dp_error_set(err, DP_ERESOURCE, "out of memory: an answer");
    return !w->failed;
}

void ints_to_json(jw *w, const char *name, const int64_t *ints, int n)
{
    jw_key(w, name);
    jw_array(w);
    for (int i = 0; i < n; i++)
        jw_int(w, ints[i]);
    jw_array_end(w);
}

/* Has the key the same name for as long as the process runs?  Named backends, and the kinds of
 * wrapper tensors, come and go with plugins, and their keys go to others. */
static bool has_fixed_name(dp_key k)
{
    int functionality = dp_key_functionality(k), backend = dp_key_backend(k);

    return (functionality < DP_F_Kind0 || functionality > DP_F_Kind7) &&
           (backend < DP_B_NAMED_FIRST || backend >= DP_B_NAMED_FIRST + DP_B_NAMED_MAX);
}

/* Write the names of the keys in `s`.  Returns whether all names are fixed. */
static bool keys_to_json(jw *w, dp_keyset s)
{
    dp_key keys[128];
    char text[DP_KEY_NAME_MAX];
    size_t n = dp_keyset_list(s, keys, sizeof(keys) / sizeof(keys[0]));
    bool fixed = true;

    jw_array(w);
    for (size_t i = 0; i < n && i < sizeof(keys) / sizeof(keys[0]); i++) {
        jw_str(w, dp_key_name(keys[i], text));
        fixed = fixed && has_fixed_name(keys[i]);
    }
    jw_array_end(w);
    return fixed;
}

/* Write the names of the keys in `s`.  `last` caches the text for one set: most tensors have the
 * same keys as the previous tensor.  Only sets whose names are fixed are cached. */
void keyset_to_json(jw *w, const char *name, dp_keyset s)
{
    static _Thread_local struct {
        dp_keyset set;
        size_t n; /* 0: none */
        char text[256];
    } last;

    jw_key(w, name);
    if (last.n > 0 && last.set.functionality == s.functionality && last.set.backend == s.backend) {
        jw_raw(w, last.text, last.n);
        return;
    }
    size_t from = w->len;
    bool fixed = keys_to_json(w, s);
    size_t n = w->len - from;
    if (w->failed || !fixed || n > sizeof(last.text))
        return;
    last.set = s;
    last.n = n;
    memcpy(last.text, w->s + from, n);
}

void descriptor_to_json(jw *w, const dp_tensor *t, uint64_t handle)
{
    char device[DP_KEY_NAME_MAX];
    dp_view v = {.size = sizeof(v)};
    dp_wrapper parts = {.size = sizeof(parts)};

    dp_tensor_view(t, &v);
    if (handle != 0)
        member_int(w, "tensor", handle);
    member_str(w, "dtype", dp_dtype_name(v.dtype));
    ints_to_json(w, "shape", v.sizes, v.ndim);
    ints_to_json(w, "strides", v.strides, v.ndim);
    member_int(w, "storage_offset", dp_tensor_offset(t));
    member_str(w, "device", dp_device_name(v.device, device));
    jw_key(w, "storage");
    if (dp_wrapper_get(t, &parts))
        jw_null(w);
    else
        jw_int(w, (int64_t)dp_tensor_storage_id(t));
    member_int(w, "version", dp_tensor_version(t));
    member_bool(w, "requires_grad", dp_tensor_requires_grad(t));
    keyset_to_json(w, "keys", dp_tensor_keys(t));
}

uint64_t tensor_bytes(const dp_tensor *t)
{
    dp_view v = {.size = sizeof(v)};

    if (t == NULL)
        return 0;
    dp_tensor_view(t, &v);
    return dp_sizes_product(dp_dtype_size(v.dtype), v.sizes, (size_t)v.ndim);
}

uint64_t tensor_host_bytes(const dp_tensor *t)
{
    dp_view v = {.size = sizeof(v)};

    if (t == NULL)
        return 0;
    dp_tensor_view(t, &v);
    return device_is_host(v.device) ? tensor_bytes(t) : UINT64_MAX;
}

uint64_t spanned_elements(int ndim, const int64_t *sizes, const int64_t *strides)
{
    uint64_t last = 0;

    if (dp_sizes_product(1, sizes, (size_t)ndim) == 0)
        return 0;
    for (int d = 0; d < ndim; d++)
        last = dp_size_plus(last, dp_size_times((uint64_t)sizes[d] - 1, (uint64_t)strides[d]));
    return dp_size_plus(last, 1);
}

/* Return the fewest characters that the elements take as JSON text: brackets, commas and the
 * shortest elements.  A tensor without elements also has its outer brackets. */
static uint64_t text_bytes(const dp_view *v)
{
    uint64_t element = dp_dtype_is_complex(v->dtype) ? sizeof("[0,0]") - 1
                       : v->dtype == DP_BOOL         ? sizeof("true") - 1
                                                     : sizeof("0") - 1;
    uint64_t arrays = 1, bytes = 0;

    for (int d = 0; d < v->ndim; d++) {
        uint64_t size = (uint64_t)v->sizes[d], commas = size > 0 ? size - 1 : 0;
        bytes = dp_size_plus(bytes, dp_size_times(arrays, sizeof("[]") - 1 + commas));
        arrays = dp_size_times(arrays, size);
    }
    return dp_size_plus(bytes, dp_size_times(arrays, element));
}

uint64_t tensor_text_bytes(const dp_tensor *t)
{
    dp_view v = {.size = sizeof(v)};

    if (t == NULL)
        return 0;
    dp_tensor_view(t, &v);
    return text_bytes(&v);
}

void *host_elements(const dp_tensor *t, const dp_view *v)
{
    bool on_host =
        dp_device_backend(v->device) == DP_B_CPU &&
        dp_keyset_is_empty(dp_keyset_only(dp_tensor_keys(t), dp_keyset_named(DP_KEYSET_MATH)));

    return on_host && dp_tensor_is_contiguous(t, DP_CONTIGUOUS) ? v->data : NULL;
}

/* Copy the elements of `t` into a new contiguous tensor in host memory, which the session pays for:
 * `*out`, owned.  `*v` is dp_tensor_view() of `t`. */
static int packed_copy(request *rq, const dp_tensor *t, const dp_view *v, dp_tensor **out,
                       dp_error *err)
{
    int rc = run_empty(rq, v->dtype, v->ndim, v->sizes, out, err);

    if (rc < 0)
        return rc;
    DP_VIEW(to, *out);
    rc = dp_tensor_read(t, to.data, err);
    if (rc < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* Write one level of nested arrays; `p` points to the next contiguous element.  The brackets are
 * written as text, not as arrays of `w`: a tensor may have as many dimensions as `w` has levels. */
static const char *write_level(jw *w, const dp_view *v, int depth, const char *p)
{
    int64_t n = depth < v->ndim ? v->sizes[depth] : 1;

    if (depth < v->ndim)
        jw_text(w, "[", 1);
    if (depth + 1 >= v->ndim) {
        jw_elements(w, v->dtype, p, n);
        p += (size_t)n * dp_dtype_size(v->dtype);
    }
    for (int64_t i = 0; depth + 1 < v->ndim && i < n && !w->failed; i++) {
        if (i > 0)
            jw_text(w, ",", 1);
        p = write_level(w, v, depth + 1, p);
    }
    if (depth < v->ndim)
        jw_text(w, "]", 1);
    return p;
}

static int data_to_json(request *rq, jw *w, const dp_tensor *t, dp_error *err)
{
    dp_view v = {.size = sizeof(v)};
    dp_tensor *packed = NULL;

    dp_tensor_view(t, &v);
    int rc = dp_sizes_check(dp_size_plus(w->len, text_bytes(&v)), LIMIT_SIZE(ANSWER_BYTES),
                            "answer_bytes", v.sizes, (size_t)v.ndim, dp_dtype_size(v.dtype), err);
    const void *elements = host_elements(t, &v);
    if (rc == 0 && elements == NULL)
        rc = packed_copy(rq, t, &v, &packed, err);
    if (rc < 0)
        return rc;
    if (packed != NULL) {
        DP_VIEW(copy, packed);
        elements = copy.data != NULL ? copy.data : ""; /* NULL: there are no elements */
    }
    jw_key(w, "data");
    jw_raw(w, "", 0); /* tells `w` that a value follows; write_level() writes its text */
    int begun = print_begin(rq, text_bytes(&v), err);
    if (begun >= 0)
        write_level(w, &v, 0, elements);
    print_end(rq, begun);
    dp_tensor_unref(packed);
    return begun < 0 ? begun : 0;
}

/* Check that the elements of `v` fit the limit for the answer's attachments. */
static int check_attachment(const request *rq, const dp_view *v, dp_error *err)
{
    size_t item = dp_dtype_size(v->dtype);
    uint64_t bytes = dp_sizes_product(item, v->sizes, (size_t)v->ndim);

    for (size_t i = 0; i < rq->n_parts; i++)
        bytes = dp_size_plus(bytes, rq->parts[i].bytes);
    return dp_sizes_check(bytes, LIMIT_SIZE(ANSWER_ATTACHMENT_BYTES), "answer_attachment_bytes",
                          v->sizes, (size_t)v->ndim, item, err);
}

static int attachment_to_json(request *rq, jw *w, dp_tensor *t, dp_error *err)
{
    dp_view v = {.size = sizeof(v)};
    dp_tensor *packed;

    dp_tensor_view(t, &v);
    /* copied, because a later request may write to the tensor before the answer is sent; into a
     * tensor, because the memory of tensors is used again, and fresh pages take longer to fill */
    int rc = check_attachment(rq, &v, err);
    if (rc == 0)
        rc = packed_copy(rq, t, &v, &packed, err);
    if (rc < 0)
        return rc;
    int index = run_attach(rq, packed, (size_t)tensor_bytes(packed));
    if (index < 0)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: an attachment");
    member_int(w, "attachment", index);
    return 0;
}

/* If `t` is a wrapper tensor, write its parts, and the descriptors of the tensors inside it.  The
 * parts of inner wrapper tensors are left out. */
static void parts_to_json(request *rq, jw *w, const dp_tensor *t)
{
    dp_wrapper parts = {.size = sizeof(parts)};

    if (!dp_wrapper_get(t, &parts))
        return;
    member_str(w, "kind", parts.kind);
    jw_key(w, "parts");
    jw_array(w);
    for (uint32_t i = 0; i < parts.n_tensors; i++) {
        dp_wrapper inner = {.size = sizeof(inner)};
        jw_object(w);
        descriptor_to_json(w, parts.tensors[i], session_handle_of(rq->session, parts.tensors[i]));
        if (dp_wrapper_get(parts.tensors[i], &inner))
            member_str(w, "kind", inner.kind);
        jw_object_end(w);
    }
    jw_array_end(w);
    ints_to_json(w, "ints", parts.ints, (int)parts.n_ints);
    jw_key(w, "doubles");
    jw_array(w);
    for (uint32_t i = 0; i < parts.n_doubles; i++)
        jw_element(w, DP_FLOAT64, &parts.doubles[i]);
    jw_array_end(w);
    member_str(w, "layout", dp_layout_name(parts.layout));
}

/* Write the key and the size of every piece of data that plugins attached to `t`. */
static int attached_to_json(request *rq, jw *w, const dp_tensor *t, dp_error *err)
{
    const dp_attached_info *all;
    size_t n;
    int rc = dp_tensor_attached_list(t, dp_ctx_arena(rq->ctx), &all, &n, err);

    if (rc < 0 || n == 0)
        return rc;
    jw_key(w, "attached");
    jw_array(w);
    for (size_t i = 0; i < n; i++) {
        jw_object(w);
        member_str(w, "key", all[i].key);
        member_int(w, "bytes", (int64_t)all[i].bytes);
        jw_object_end(w);
    }
    jw_array_end(w);
    return 0;
}

/* Write the elements of `t`.  A tensor without memory (meta) gets "data": null; tensor.read refuses
 * such a tensor. */
static int elements_to_json(request *rq, jw *w, dp_tensor *t, int how, dp_error *err)
{
    if (dp_tensor_is_memoryless(t)) {
        jw_key(w, "data");
        jw_null(w);
        return 0;
    }
    return how == RETURN_DATA ? data_to_json(rq, w, t, err) : attachment_to_json(rq, w, t, err);
}

/* Write the handle of the tensor that `t` is a view of, if the session has such a handle. */
static void base_to_json(request *rq, jw *w, const dp_tensor *t)
{
    const dp_tensor *root = dp_tensor_root(t);
    uint64_t handle = root != NULL ? session_handle_of(rq->session, root) : 0;

    if (handle != 0)
        member_int(w, "base", handle);
}

/* Write the members of autograd: is_leaf, grad_fn, grad and others.  The gradient is described, but
 * only grad.get gives it a handle. */
static void history_to_json(request *rq, jw *w, const dp_tensor *t)
{
    const char *grad_fn = dp_tensor_grad_fn(t);
    dp_tensor *grad = dp_tensor_grad(t);

    member_int(w, "id", dp_tensor_id(t));
    member_bool(w, "is_leaf", dp_tensor_is_leaf(t));
    jw_key(w, "grad_fn");
    if (grad_fn != NULL)
        jw_str(w, grad_fn);
    else
        jw_null(w);
    member_int(w, "output_nr", dp_tensor_output_nr(t));
    member_bool(w, "retains_grad", dp_tensor_retains_grad(t));
    jw_key(w, "grad");
    if (grad != NULL) {
        jw_object(w);
        descriptor_to_json(w, grad, session_handle_of(rq->session, grad));
        jw_object_end(w);
    } else {
        jw_null(w);
    }
    dp_tensor_unref(grad);
}

int tensor_to_json(request *rq, jw *w, dp_tensor *t, uint64_t handle, int how, dp_error *err)
{
    int rc = 0;

    /* Until dp_ctx_end() this thread reads the same shape of `t`, even if another connection
     * resizes `t`. */
    if (dp_ctx_begin(rq->ctx) < 0)
        return run_ctx_error(rq, err);
    jw_object(w);
    descriptor_to_json(w, t, handle);
    if (how == RETURN_DESCRIBED) {
        base_to_json(rq, w, t);
        history_to_json(rq, w, t);
        parts_to_json(rq, w, t);
        rc = attached_to_json(rq, w, t, err);
    }
    if (rc == 0 && (how == RETURN_DATA || how == RETURN_ATTACHMENT))
        rc = elements_to_json(rq, w, t, how, err);
    jw_object_end(w);
    dp_ctx_end(rq->ctx);
    return rc;
}

static int tensor_out(request *rq, jw *w, dp_tensor *t, int how, const cJSON *into, dp_error *err)
{
    uint64_t handle = 0;

    if (t == NULL) {
        jw_null(w);
        return 0;
    }
    if (how == RETURN_HANDLE && run_put_at(rq, t, into, &handle, err) < 0)
        return err->code;
    return tensor_to_json(rq, w, t, handle, how, err);
}

static int object_out(request *rq, jw *w, dp_object *o, dp_error *err)
{
    uint64_t handle = 0;

    if (run_put_object(rq, o, &handle, err) < 0)
        return err->code;
    object_to_json(w, handle, o);
    return 0;
}

static void complex_to_json(jw *w, const double *z)
{
    jw_object(w);
    jw_key(w, "complex");
    jw_element(w, DP_COMPLEX128, z);
    jw_object_end(w);
}

static int item_to_json(request *rq, jw *w, const dp_value *list, uint32_t i, int how,
                        const cJSON *into, dp_error *err)
{
    switch (list->tag) {
    case DP_TAG_TENSORS:
        return tensor_out(rq, w, list->u.tensors[i], how, into, err);
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
        return value_to_json(rq, w, &list->u.values[i], how, into, err);
    }
}

static int list_to_json(request *rq, jw *w, const dp_value *list, int how, const cJSON *into,
                        dp_error *err)
{
    const cJSON *entry = into != NULL ? into->child : NULL;
    int rc = 0;

    jw_array(w);
    for (uint32_t i = 0; i < list->len && rc == 0 && !w->failed; i++) {
        rc = item_to_json(rq, w, list, i, how, entry, err);
        entry = entry != NULL ? entry->next : NULL;
    }
    jw_array_end(w);
    return rc;
}

int value_to_json(request *rq, jw *w, const dp_value *v, int how, const cJSON *into, dp_error *err)
{
    switch (v->tag) {
    case DP_TAG_NONE:
        jw_null(w);
        return 0;
    case DP_TAG_TENSOR:
        return tensor_out(rq, w, v->u.t, how, into, err);
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
    case DP_TAG_OBJECT:
        return object_out(rq, w, v->u.o, err);
    default:
        return list_to_json(rq, w, v, how, into, err);
    }
}
