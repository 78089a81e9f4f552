/* dispatchd/tensor.h -- types of tensors and of values, for plugins and embedders.
 *
 * A tensor is a typed, strided view of a reference-counted storage.  Views of one tensor share its
 * storage and its version counter.  Sizes, strides and offsets count elements, not bytes.  api.h
 * has the functions on tensors. */
#ifndef DISPATCHD_TENSOR_H
#define DISPATCHD_TENSOR_H

#include "half.h"
#include "key.h"
#include "sizes.h"
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DP_DIM_MAX 64 /* maximal number of dimensions of a tensor */

/* X(enum, number, name, PyTorch's name of the ScalarType, bytes of an element, category), in the
 * order of the numbers, which are those of PyTorch's ScalarType.  The category is one of the
 * DP_CATEGORY_ below; it decides the results of dp_dtype_is_integral() and the similar functions
 * below, and of type promotion.  A quantized dtype (qint8, quint8, qint32) only says how an element
 * is stored; scale and zero point belong to the plugin's wrapper tensor.  Tensors of these dtypes
 * have the functionality Quantized in place of Dense, so kernels for dense tensors do not get them,
 * and they are never promoted (c10::isQIntType). */
#define DP_DTYPE_MAP(X)                                                                            \
    X(DP_UINT8, 0, "uint8", "Byte", 1, INTEGRAL)                                                   \
    X(DP_INT8, 1, "int8", "Char", 1, INTEGRAL)                                                     \
    X(DP_INT16, 2, "int16", "Short", 2, INTEGRAL)                                                  \
    X(DP_INT32, 3, "int32", "Int", 4, INTEGRAL)                                                    \
    X(DP_INT64, 4, "int64", "Long", 8, INTEGRAL)                                                   \
    X(DP_FLOAT16, 5, "float16", "Half", 2, FLOATING)                                               \
    X(DP_FLOAT32, 6, "float32", "Float", 4, FLOATING)                                              \
    X(DP_FLOAT64, 7, "float64", "Double", 8, FLOATING)                                             \
    X(DP_COMPLEX64, 9, "complex64", "ComplexFloat", 8, COMPLEX)                                    \
    X(DP_COMPLEX128, 10, "complex128", "ComplexDouble", 16, COMPLEX)                               \
    X(DP_BOOL, 11, "bool", "Bool", 1, BOOL)                                                        \
    X(DP_QINT8, 12, "qint8", "QInt8", 1, QUANTIZED)                                                \
    X(DP_QUINT8, 13, "quint8", "QUInt8", 1, QUANTIZED)                                             \
    X(DP_QINT32, 14, "qint32", "QInt32", 4, QUANTIZED)                                             \
    X(DP_BFLOAT16, 15, "bfloat16", "BFloat16", 2, FLOATING)

/* X(number, name): dtypes of PyTorch that dispatchd does not have.  Their numbers stay unused, and
 * an error about such a number gives the name.  PyTorch 1.13 has 8, 16 and 17; later versions have
 * the others. */
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
#define DP_DTYPE_ENUM_(id, number, name, aten, bytes, category) id = number,
    DP_DTYPE_MAP(DP_DTYPE_ENUM_)
#undef DP_DTYPE_ENUM_
        DP_DTYPE_END, /* the highest number plus 1 */
    DP_DTYPE_NONE = -1
};
typedef int32_t dp_dtype;

/* An optional dtype, for members of structs: all bytes zero mean no dtype, although uint8 has the
 * number 0.  An optional dtype that is a parameter of a function is a dp_dtype, and may be
 * DP_DTYPE_NONE. */
typedef struct dp_opt_dtype {
    int32_t number_plus_1;
} dp_opt_dtype;
static inline dp_opt_dtype dp_some_dtype(dp_dtype d) /* DP_DTYPE_NONE: no dtype */
{
    dp_opt_dtype o = {d + 1};
    return o;
}
static inline dp_dtype dp_dtype_of(dp_opt_dtype o) /* DP_DTYPE_NONE: no dtype */
{
    return o.number_plus_1 - 1;
}

enum {
    DP_CATEGORY_BOOL,
    DP_CATEGORY_INTEGRAL,
    DP_CATEGORY_FLOATING,
    DP_CATEGORY_COMPLEX,
    DP_CATEGORY_QUANTIZED
};
/* Bit `number` if the dtype of this row is of the category `of`. */
#define DP_DTYPE_IF_(number, category, of)                                                         \
    | (uint64_t)(DP_CATEGORY_##category == DP_CATEGORY_##of) << (number)
#define DP_DTYPE_INTEGRAL_(id, number, name, aten, bytes, category)                                \
    DP_DTYPE_IF_(number, category, INTEGRAL)
#define DP_DTYPE_FLOATING_(id, number, name, aten, bytes, category)                                \
    DP_DTYPE_IF_(number, category, FLOATING)
#define DP_DTYPE_COMPLEX_(id, number, name, aten, bytes, category)                                 \
    DP_DTYPE_IF_(number, category, COMPLEX)
#define DP_DTYPE_QUANTIZED_(id, number, name, aten, bytes, category)                               \
    DP_DTYPE_IF_(number, category, QUANTIZED)

/* Is bit `d` of `dtypes` set?  Also false if `d` is not the number of a dtype. */
static inline bool dp_dtype_is_one_of_(dp_dtype d, uint64_t dtypes)
{
    return d >= 0 && d < DP_DTYPE_END && (dtypes >> d & 1) != 0;
}
/* Source: c10::isIntegralType, whose second argument says whether bool counts; isFloatingType;
 * isComplexType. */
static inline bool dp_dtype_is_integral(dp_dtype d, bool with_bool)
{
    return dp_dtype_is_one_of_(d, 0 DP_DTYPE_MAP(DP_DTYPE_INTEGRAL_)) ||
           (with_bool && d == DP_BOOL);
}
static inline bool dp_dtype_is_floating(dp_dtype d)
{
    return dp_dtype_is_one_of_(d, 0 DP_DTYPE_MAP(DP_DTYPE_FLOATING_));
}
static inline bool dp_dtype_is_complex(dp_dtype d)
{
    return dp_dtype_is_one_of_(d, 0 DP_DTYPE_MAP(DP_DTYPE_COMPLEX_));
}

/* Source: c10::isQIntType. */
static inline bool dp_dtype_is_quantized(dp_dtype d)
{
    return dp_dtype_is_one_of_(d, 0 DP_DTYPE_MAP(DP_DTYPE_QUANTIZED_));
}

enum { DP_CONTIGUOUS = 0, DP_PRESERVE = 1, DP_CHANNELS_LAST = 2, DP_CHANNELS_LAST_3D = 3 };
typedef int32_t dp_memory_format;

/* X(enum, number, name).  The numbers are those of PyTorch (c10/core/Layout.h).  A tensor whose
 * layout is not strided is a wrapper tensor (dp_wrapper). */
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
static inline const char *dp_layout_name(int64_t layout) /* "?" for an unknown number */
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

/* How a view was made (torch::autograd::CreationMeta).  Autograd uses this to decide whether the
 * view may be written in place. */
enum {
    DP_CREATED_DEFAULT = 0,
    DP_CREATED_NO_GRAD,   /* made while grad mode was off */
    DP_CREATED_INFERENCE, /* made in inference mode */
    DP_CREATED_MULTIPLE,  /* one of several views that one call returned, like split or unbind */
    DP_CREATED_CUSTOM,    /* made by code with its own derivative: dp_tensor_set_creation() */
    DP_CREATED_END
};

/* A device: number of the backend (DP_B_* of key.h) << 16 | index.  The CPU is 0. */
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

/* A reference-counted tensor.  An owner has one reference for each pointer that it stores.  ABI
 * promise: the first 16 bytes of a tensor are its dp_keyset. */
typedef struct dp_tensor dp_tensor;
typedef struct dp_generator dp_generator; /* reference-counted random state; see api.h */
/* reference-counted state of a plugin; see abi.h, api.h */
typedef struct dp_object dp_object;

/* Everything that a kernel needs to read or write a tensor.  The pointers are borrowed from the
 * tensor, and are valid for the call.  `data` is the address of the first element: a host address,
 * or an address on the device if the backend's memory is not the host's; NULL: the tensor has no
 * memory. */
typedef struct dp_view {
    /* sizeof(dp_view) of the code that declares it; the host writes at most this many bytes */
    uint32_t size;
    dp_dtype dtype;
    dp_device device;
    int32_t ndim;
    void *data;
    const int64_t *sizes;   /* [ndim] */
    const int64_t *strides; /* [ndim] in elements */
    int64_t numel;
} dp_view;

/* Kinds of a dp_value.  DP_TAG_INT also stands for the enums of schemas (ScalarType, Layout,
 * MemoryFormat), SymInt and Device.  A Scalar is INT, DOUBLE, BOOL or COMPLEX. */
enum {
    DP_TAG_NONE = 0,
    DP_TAG_TENSOR,    /* u.t, never NULL */
    DP_TAG_INT,       /* u.i */
    DP_TAG_DOUBLE,    /* u.d */
    DP_TAG_BOOL,      /* u.b */
    DP_TAG_COMPLEX,   /* u.doubles points to {re, im} */
    DP_TAG_STR,       /* u.s: `len` bytes and a NUL */
    DP_TAG_TENSORS,   /* u.tensors[len]; an entry may be NULL only for Tensor?[] */
    DP_TAG_INTS,      /* u.ints[len] */
    DP_TAG_DOUBLES,   /* u.doubles[len] */
    DP_TAG_BOOLS,     /* u.bools[len] */
    DP_TAG_LIST,      /* u.values[len]: Scalar[], str[] and lists of lists */
    DP_TAG_GENERATOR, /* u.g */
    DP_TAG_OBJECT,    /* u.o, never NULL */
    DP_TAG_END
};

/* A value: 8 bytes of tag and length, 8 bytes of payload.  The payload of a list, string or complex
 * number is a pointer to its contents.  In an argument, everything that the value points to is
 * borrowed.  In a return, the tensors and objects are owned by the receiver; the host copies the
 * other contents, which must lie in memory of dp_alloc() or in memory that outlives the call. */
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
/* Return element `i` of a list of any kind.  The element is borrowed. */
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
