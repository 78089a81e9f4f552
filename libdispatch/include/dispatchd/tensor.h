/* dispatchd/tensor.h -- tensors and values, as plugins and embedders see them.
 *
 * A tensor is a typed, strided view of one counted storage.  Views share the storage and
 * its version counter.  Sizes, strides and offsets count elements, never bytes.  The functions on
 * tensors are in api.h. */
#ifndef DISPATCHD_TENSOR_H
#define DISPATCHD_TENSOR_H

#include "half.h"
#include "key.h"
#include "sizes.h"
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DP_DIM_MAX 64 /* dimensions of a tensor */

/* X(enum, number, name, bytes).  Numbers are PyTorch's ScalarType.  The quantized dtypes say how
 * the bytes of an element are stored; scale and zero point are the business of who makes such
 * tensors, a wrapper of a plugin.  Tensors of theirs have the functionality Quantized instead of
 * Dense, so kernels for dense tensors do not see them, and they are never promoted
 * (c10::isQIntType). */
#define DP_DTYPE_MAP(X)                                                                            \
    X(DP_UINT8, 0, "uint8", 1)                                                                     \
    X(DP_INT8, 1, "int8", 1)                                                                       \
    X(DP_INT16, 2, "int16", 2)                                                                     \
    X(DP_INT32, 3, "int32", 4)                                                                     \
    X(DP_INT64, 4, "int64", 8)                                                                     \
    X(DP_FLOAT16, 5, "float16", 2)                                                                 \
    X(DP_FLOAT32, 6, "float32", 4)                                                                 \
    X(DP_FLOAT64, 7, "float64", 8)                                                                 \
    X(DP_COMPLEX64, 9, "complex64", 8)                                                             \
    X(DP_COMPLEX128, 10, "complex128", 16)                                                         \
    X(DP_BOOL, 11, "bool", 1)                                                                      \
    X(DP_QINT8, 12, "qint8", 1)                                                                    \
    X(DP_QUINT8, 13, "quint8", 1)                                                                  \
    X(DP_QINT32, 14, "qint32", 4)                                                                  \
    X(DP_BFLOAT16, 15, "bfloat16", 2)

/* X(number, name): PyTorch's other dtypes.  There are none here; the numbers stay free for them,
 * and an error about one has its name.  1.13 has 8 and 16 and 17, the rest came later. */
#define DP_DTYPE_RESERVED_MAP(X)                                                                   \
    X(8, "complex32")                                                                              \
    X(16, "quint4x2")                                                                              \
    X(17, "quint2x4")                                                                              \
    X(18, "bits1x8")                                                                               \
    X(19, "bits2x4")                                                                               \
    X(20, "bits4x2")                                                                               \
    X(21, "bits8")                                                                                 \
    X(22, "bits16")                                                                                \
    X(23, "float8_e5m2")                                                                           \
    X(24, "float8_e4m3fn")                                                                         \
    X(25, "float8_e5m2fnuz")                                                                       \
    X(26, "float8_e4m3fnuz")                                                                       \
    X(27, "uint16")                                                                                \
    X(28, "uint32")                                                                                \
    X(29, "uint64")                                                                                \
    X(30, "uint1")                                                                                 \
    X(31, "uint2")                                                                                 \
    X(32, "uint3")                                                                                 \
    X(33, "uint4")                                                                                 \
    X(34, "uint5")                                                                                 \
    X(35, "uint6")                                                                                 \
    X(36, "uint7")                                                                                 \
    X(37, "int1")                                                                                  \
    X(38, "int2")                                                                                  \
    X(39, "int3")                                                                                  \
    X(40, "int4")                                                                                  \
    X(41, "int5")                                                                                  \
    X(42, "int6")                                                                                  \
    X(43, "int7")                                                                                  \
    X(44, "float8_e8m0fnu")                                                                        \
    X(45, "float4_e2m1fn_x2")

enum {
#define DP_DTYPE_ENUM_(id, number, name, bytes) id = number,
    DP_DTYPE_MAP(DP_DTYPE_ENUM_)
#undef DP_DTYPE_ENUM_
        DP_DTYPE_END = 16,
    DP_DTYPE_NONE = -1
};
typedef int32_t dp_dtype;

/* A dtype that a struct may leave out: zero is none.  Members that may be left out are of this
 * type, since zero as a number is uint8; functions take a dp_dtype that may be DP_DTYPE_NONE. */
typedef struct dp_opt_dtype {
    int32_t number_plus_1;
} dp_opt_dtype;
static inline dp_opt_dtype dp_some_dtype(dp_dtype d) /* none of DP_DTYPE_NONE */
{
    dp_opt_dtype o = {d + 1};
    return o;
}
static inline dp_dtype dp_dtype_of(dp_opt_dtype o) /* DP_DTYPE_NONE of none */
{
    return o.number_plus_1 - 1;
}

/* c10::isIntegralType (with bool or without), isFloatingType, isComplexType. */
static inline bool dp_dtype_is_integral(dp_dtype d, bool with_bool)
{
    return (d >= DP_UINT8 && d <= DP_INT64) || (with_bool && d == DP_BOOL);
}
static inline bool dp_dtype_is_floating(dp_dtype d)
{
    return (d >= DP_FLOAT16 && d <= DP_FLOAT64) || d == DP_BFLOAT16;
}
static inline bool dp_dtype_is_complex(dp_dtype d)
{
    return d == DP_COMPLEX64 || d == DP_COMPLEX128;
}

/* c10::isQIntType */
static inline bool dp_dtype_is_quantized(dp_dtype d)
{
    return d >= DP_QINT8 && d <= DP_QINT32;
}

enum { DP_CONTIGUOUS = 0, DP_PRESERVE = 1, DP_CHANNELS_LAST = 2, DP_CHANNELS_LAST_3D = 3 };
typedef int32_t dp_memory_format;

/* X(enum, number, name).  Numbers are PyTorch's (c10/core/Layout.h); tensors of other layouts than
 * strided are wrappers (dp_wrapper). */
#define DP_LAYOUT_MAP(X)                                                                           \
    X(DP_LAYOUT_STRIDED, 0, "strided")                                                             \
    X(DP_LAYOUT_SPARSE_COO, 1, "sparse_coo")                                                       \
    X(DP_LAYOUT_SPARSE_CSR, 2, "sparse_csr")                                                       \
    X(DP_LAYOUT_MKLDNN, 3, "_mkldnn")                                                              \
    X(DP_LAYOUT_SPARSE_CSC, 4, "sparse_csc")                                                       \
    X(DP_LAYOUT_SPARSE_BSR, 5, "sparse_bsr")                                                       \
    X(DP_LAYOUT_SPARSE_BSC, 6, "sparse_bsc")                                                       \
    X(DP_LAYOUT_JAGGED, 7, "jagged")

enum {
#define DP_LAYOUT_ENUM_(id, number, name) id = number,
    DP_LAYOUT_MAP(DP_LAYOUT_ENUM_)
#undef DP_LAYOUT_ENUM_
        DP_LAYOUT_END
};
static inline const char *dp_layout_name(int64_t layout) /* "?" for none of them */
{
    switch (layout) {
#define DP_LAYOUT_CASE_(id, number, name)                                                          \
    case number:                                                                                   \
        return name;
        DP_LAYOUT_MAP(DP_LAYOUT_CASE_)
#undef DP_LAYOUT_CASE_
    default:
        return "?";
    }
}

/* How a view was made (torch::autograd::CreationMeta): whether it may be written in place where
 * gradients are recorded. */
enum {
    DP_CREATED_DEFAULT = 0,
    DP_CREATED_NO_GRAD,   /* grad mode was off */
    DP_CREATED_INFERENCE, /* in inference mode */
    DP_CREATED_MULTIPLE,  /* one of several that one call returned, by split or unbind */
    DP_CREATED_CUSTOM,    /* by code that brings its own derivative: dp_tensor_set_creation() */
    DP_CREATED_END
};

/* backend bit << 16 | index.  cpu is 0. */
typedef int32_t dp_device;
#define DP_DEVICE_CPU             ((dp_device)0)
#define DP_DEVICE(backend, index) ((dp_device)((backend) << 16 | (index)))
static inline int dp_device_backend(dp_device d)
{
    return d >> 16;
}
static inline int dp_device_index(dp_device d)
{
    return d & 0xffff;
}

/* One counted reference per pointer held.  ABI promise: its first 16 bytes are its dp_keyset. */
typedef struct dp_tensor dp_tensor;
typedef struct dp_generator dp_generator; /* the same; random state, see api.h */
typedef struct dp_object dp_object;       /* counted; state of a plugin, see abi.h and api.h */

/* What a kernel needs to read or write a tensor.  Pointers are borrowed from the tensor and hold
 * for the call.  `data` is the first element; on a backend whose memory is not the host's it is
 * that device's address. */
typedef struct dp_view {
    uint32_t size; /* sizeof(dp_view) of whoever fills it in; the host writes no more than that */
    dp_dtype dtype;
    dp_device device;
    int32_t ndim;
    void *data;
    const int64_t *sizes;   /* [ndim] */
    const int64_t *strides; /* [ndim] elements */
    int64_t numel;
} dp_view;

/* What kind a dp_value is.  Enums of the schema language (ScalarType, Layout, MemoryFormat), SymInt
 * and Device are DP_TAG_INT; a Scalar is INT, DOUBLE, BOOL or COMPLEX. */
enum {
    DP_TAG_NONE = 0,
    DP_TAG_TENSOR,    /* u.t, never NULL */
    DP_TAG_INT,       /* u.i */
    DP_TAG_DOUBLE,    /* u.d */
    DP_TAG_BOOL,      /* u.b */
    DP_TAG_COMPLEX,   /* u.doubles -> {re, im} */
    DP_TAG_STR,       /* u.s, len bytes and a NUL */
    DP_TAG_TENSORS,   /* u.tensors[len]; entries may be NULL only for Tensor?[] */
    DP_TAG_INTS,      /* u.ints[len] */
    DP_TAG_DOUBLES,   /* u.doubles[len] */
    DP_TAG_BOOLS,     /* u.bools[len] */
    DP_TAG_LIST,      /* u.values[len]: Scalar[], str[], and lists of lists */
    DP_TAG_GENERATOR, /* u.g */
    DP_TAG_OBJECT,    /* u.o, never NULL */
    DP_TAG_END
};

/* 8 bytes tag, 8 bytes payload.  Lists, strings and complex numbers lie elsewhere: as a return, in
 * memory of dp_alloc() or whatever outlives the call, and the host copies them.  As an argument
 * everything in it is borrowed; as a return the tensors and objects in it are owned. */
typedef struct dp_value {
    uint32_t tag;
    uint32_t len;
    union {
        int64_t i;
        double d;
        bool b;
        dp_tensor *t;
        const char *s;
        dp_tensor *const *tensors;
        const int64_t *ints;
        const double *doubles;
        const bool *bools;
        const struct dp_value *values;
        dp_generator *g;
        dp_object *o;
    } u;
} dp_value;

typedef struct dp_str {
    const char *s; /* NUL-terminated */
    size_t len;
} dp_str;

static inline dp_value dp_none(void)
{
    dp_value v = {DP_TAG_NONE, 0, {0}};
    return v;
}
static inline dp_value dp_int(int64_t i)
{
    dp_value v = {DP_TAG_INT, 0, {0}};
    v.u.i = i;
    return v;
}
static inline dp_value dp_double(double d)
{
    dp_value v = {DP_TAG_DOUBLE, 0, {0}};
    v.u.d = d;
    return v;
}
static inline dp_value dp_bool(bool b)
{
    dp_value v = {DP_TAG_BOOL, 0, {0}};
    v.u.i = 0;
    v.u.b = b;
    return v;
}
static inline dp_value dp_tensor_value(dp_tensor *t) /* NULL gives None */
{
    dp_value v = {t ? (uint32_t)DP_TAG_TENSOR : (uint32_t)DP_TAG_NONE, 0, {0}};
    v.u.t = t;
    return v;
}
static inline dp_value dp_object_value(dp_object *o) /* NULL gives None */
{
    dp_value v = {o ? (uint32_t)DP_TAG_OBJECT : (uint32_t)DP_TAG_NONE, 0, {0}};
    v.u.o = o;
    return v;
}
static inline dp_value dp_ints(const int64_t *p, size_t n)
{
    dp_value v = {DP_TAG_INTS, (uint32_t)n, {0}};
    v.u.ints = p;
    return v;
}
static inline dp_value dp_tensors(dp_tensor *const *p, size_t n)
{
    dp_value v = {DP_TAG_TENSORS, (uint32_t)n, {0}};
    v.u.tensors = p;
    return v;
}

static inline bool dp_is_list(const dp_value *v)
{
    return v->tag >= DP_TAG_TENSORS && v->tag <= DP_TAG_LIST;
}
/* Element i of a list, of whichever kind; borrowed. */
static inline dp_value dp_list_item(const dp_value *v, size_t i)
{
    dp_value none = {DP_TAG_NONE, 0, {0}};

    switch (v->tag) {
    case DP_TAG_TENSORS:
        return dp_tensor_value(v->u.tensors[i]);
    case DP_TAG_INTS:
        return dp_int(v->u.ints[i]);
    case DP_TAG_DOUBLES:
        return dp_double(v->u.doubles[i]);
    case DP_TAG_BOOLS:
        return dp_bool(v->u.bools[i]);
    default:
        return v->tag == DP_TAG_LIST ? v->u.values[i] : none;
    }
}

#if !defined(__cplusplus)
_Static_assert(sizeof(dp_value) == 16, "a dp_value is 16 bytes");
_Static_assert(sizeof(dp_keyset) == 16, "a dp_keyset is 16 bytes");
#endif

#ifdef __cplusplus
}
#endif
#endif
