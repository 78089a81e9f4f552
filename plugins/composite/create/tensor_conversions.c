/* tensor_conversions.c -- conversions of dtype, device, layout and memory format
 * (aten/src/ATen/native/TensorConversions.cpp, TypeProperties.cpp, TensorFactories.cpp,
 * quantized/QTensor.cpp).  They return self if no conversion is needed.
 *
 * Operators: _autocast_to_full_precision, _autocast_to_reduced_precision, _cast_Byte, _cast_Char,
 * _cast_Double, _cast_Float, _cast_Half, _cast_Int, _cast_Long, _cast_Short, dequantize, to,
 * _to_cpu, to_dense, type_as. */
#include "core/list.h"
#include <string.h>

/* -- copies of lists -- */

/* aten::_to_cpu(Tensor[] tensors) -> Tensor[] */
static int to_cpu(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, dp_value *out)
{
    list l = list_of(ctx, n);

    for (size_t i = 0; l.rc == 0 && i < n; i++) {
        DP_VIEW(x, tensors[i]);
        list_made(&l, dp_invoke(ctx, "aten::to.device", "Tii>T", tensors[i], (int64_t)DP_DEVICE_CPU,
                                (int64_t)x.dtype, list_next(&l)));
    }
    return list_end(&l, out);
}

/* -- to -- */

/* Convert self, or return self if it already has what the options ask for
 * (at::native::to_will_alias). */
static int to(dp_ctx *ctx, dp_tensor *self, const options *o, bool non_blocking, bool copy,
              const int64_t *format, dp_tensor **out)
{
    DP_VIEW(x, self);
    bool same = (!o->dtype || *o->dtype == x.dtype) && (!o->device || *o->device == x.device) &&
                (!o->layout || *o->layout == DP_LAYOUT_STRIDED) && !(o->pin && *o->pin) &&
                (!format || *format == DP_PRESERVE || *format == dp_tensor_suggest_format(self));

    if (!same || copy)
        return dp_invoke(ctx, "aten::_to_copy", "Toioioiobboi>T", self, o->dtype, o->layout,
                         o->device, o->pin, non_blocking, format, out);
    *out = dp_tensor_ref(self);
    return 0;
}

/* aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False,
 *     MemoryFormat? memory_format=None) -> Tensor(a) */
static int to_dtype(dp_ctx *ctx, dp_tensor *self, int64_t dtype, bool non_blocking, bool copy,
                    const int64_t *format, dp_tensor **out)
{
    return to(ctx, self, &(options){.dtype = &dtype}, non_blocking, copy, format, out);
}

/* aten::to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False,
 *     bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a) */
static int to_device(dp_ctx *ctx, dp_tensor *self, int64_t device, int64_t dtype, bool non_blocking,
                     bool copy, const int64_t *format, dp_tensor **out)
{
    return to(ctx, self, &(options){.dtype = &dtype, .device = &device}, non_blocking, copy, format,
              out);
}

/* aten::to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None,
 *     Device? device=None, bool? pin_memory=None, bool non_blocking=False, bool copy=False,
 *     MemoryFormat? memory_format=None) -> Tensor(a) */
static int to_options(dp_ctx *ctx, dp_tensor *self, const int64_t *dtype, const int64_t *layout,
                      const int64_t *device, const bool *pin, bool non_blocking, bool copy,
                      const int64_t *format, dp_tensor **out)
{
    return to(ctx, self, &(options){dtype, layout, device, pin}, non_blocking, copy, format, out);
}

/* aten::to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False,
 *     MemoryFormat? memory_format=None) -> Tensor(a) */
static int to_other(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, bool non_blocking, bool copy,
                    const int64_t *format, dp_tensor **out)
{
    DP_VIEW(y, other);
    int64_t dtype = y.dtype, device = y.device;
    return to(ctx, self, &(options){.dtype = &dtype, .device = &device}, non_blocking, copy, format,
              out);
}

/* aten::type_as(Tensor self, Tensor other) -> Tensor */
static int type_as(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_tensor **out)
{
    return to_other(ctx, self, other, false, false, NULL, out);
}

/* -- conversions -- */

static int converted(dp_ctx *ctx, dp_tensor *self, bool wanted, int64_t dtype, dp_tensor **out)
{
    if (wanted)
        return dp_invoke(ctx, "aten::to.dtype", "Ti>T", self, dtype, out);
    *out = dp_tensor_ref(self);
    return 0;
}

/* aten::to_dense(Tensor self, ScalarType? dtype=None) -> Tensor */
static int to_dense(dp_ctx *ctx, dp_tensor *self, const int64_t *dtype, dp_tensor **out)
{
    return converted(ctx, self, dtype != NULL, dtype ? *dtype : 0, out);
}

static bool on_host(const dp_view *x)
{
    return dp_device_backend(x->device) == 0;
}

/* aten::_autocast_to_full_precision(Tensor(a) self, bool cuda_enabled, bool cpu_enabled) ->
 * Tensor(a) */
static int to_full(dp_ctx *ctx, dp_tensor *self, bool cuda, bool cpu, dp_tensor **out)
{
    DP_VIEW(x, self);
    bool narrow = x.dtype == DP_FLOAT16 || x.dtype == DP_BFLOAT16;

    (void)cuda;
    return converted(ctx, self, cpu && narrow && on_host(&x), DP_FLOAT32, out);
}

/* aten::_autocast_to_reduced_precision(Tensor(a) self, bool cuda_enabled, bool cpu_enabled,
 *     ScalarType cuda_dtype, ScalarType cpu_dtype) -> Tensor(a) */
static int to_reduced(dp_ctx *ctx, dp_tensor *self, bool cuda, bool cpu, int64_t cuda_dtype,
                      int64_t cpu_dtype, dp_tensor **out)
{
    DP_VIEW(x, self);

    (void)cuda, (void)cuda_dtype;
    return converted(ctx, self, cpu && x.dtype == DP_FLOAT32 && on_host(&x), cpu_dtype, out);
}

/* aten::dequantize.self(Tensor self) -> Tensor
 * This kernel is for tensors that are not quantized. */
static int dequantize(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    return dp_invoke(ctx, "aten::to.dtype", "Ti>T", self, (int64_t)DP_FLOAT32, out);
}

/* -- casts by name -- */

/* aten::_cast_Float(Tensor self, bool non_blocking=False) -> Tensor */
#define CAST(name, dtype)                                                                          \
    static int cast_##name(dp_ctx *ctx, dp_tensor *self, bool non_blocking, dp_tensor **out)       \
    {                                                                                              \
        return dp_invoke(ctx, "aten::to.dtype", "Tib>T", self, (int64_t)dtype, (int)non_blocking,  \
                         out);                                                                     \
    }
CAST(byte, DP_UINT8)
CAST(char, DP_INT8)
CAST(double, DP_FLOAT64)
CAST(float, DP_FLOAT32)
CAST(half, DP_FLOAT16)
CAST(int, DP_INT32)
CAST(long, DP_INT64)
CAST(short, DP_INT16)

DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED("_to_cpu", to_cpu, (lT), (lT)),
                DP_IMPL_UNBOXED("to.dtype", to_dtype, (T, i, b, b, oi), (T)),
                DP_IMPL_UNBOXED("to.device", to_device, (T, i, i, b, b, oi), (T)),
                DP_IMPL_UNBOXED("to.dtype_layout", to_options, (T, oi, oi, oi, ob, b, b, oi), (T)),
                DP_IMPL_UNBOXED("to.other", to_other, (T, T, b, b, oi), (T)),
                DP_IMPL_UNBOXED("type_as", type_as, (T, T), (T)),
                DP_IMPL_UNBOXED("to_dense", to_dense, (T, oi), (T)),
                DP_IMPL_UNBOXED("_autocast_to_full_precision", to_full, (T, b, b), (T)),
                DP_IMPL_UNBOXED("_autocast_to_reduced_precision", to_reduced, (T, b, b, i, i), (T)),
                DP_IMPL_UNBOXED("_cast_Byte", cast_byte, (T, b), (T)),
                DP_IMPL_UNBOXED("_cast_Char", cast_char, (T, b), (T)),
                DP_IMPL_UNBOXED("_cast_Double", cast_double, (T, b), (T)),
                DP_IMPL_UNBOXED("_cast_Float", cast_float, (T, b), (T)),
                DP_IMPL_UNBOXED("_cast_Half", cast_half, (T, b), (T)),
                DP_IMPL_UNBOXED("_cast_Int", cast_int, (T, b), (T)),
                DP_IMPL_UNBOXED("_cast_Long", cast_long, (T, b), (T)),
                DP_IMPL_UNBOXED("_cast_Short", cast_short, (T, b), (T)))
DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("dequantize.self", dequantize, (T), (T)))
