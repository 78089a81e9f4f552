/* ops.cc -- operators of the device: the out= forms of elementwise operators, mm, fill_, and what
 * tests turn.  What a kernel cannot do (another dtype, more dimensions) it leaves to the CPU, and
 * so does everything that has none.
 *
 * A kernel gives its work to the session's current stream and returns; what it uses is recorded. */
#include "device.h"
#include <dispatchd/check.h>
#include <cstring>

namespace
{

/* The current stream of t's device, for work on `tensors`. */
struct on_stream {
    dp_stream *s = nullptr;
    int rc;

    on_stream(dp_ctx *ctx, dp_tensor *const *tensors, int n)
    {
        DP_VIEW(x, tensors[0]);
        rc = dp_stream_current(ctx, x.device, &s);
        for (int i = 0; rc == 0 && i < n && dp_stream_handle(s) != nullptr; i++)
            rc = dp_record_stream(ctx, tensors[i], s);
        if (rc == 0)
            cudaSetDevice(dp_device_index(x.device));
    }
    ~on_stream() { dp_stream_unref(s); }
    cudaStream_t handle() const { return (cudaStream_t)dp_stream_handle(s); }
};

int launched(dp_ctx *ctx, cudaError_t e)
{
    dp_error err = DP_ERROR_INIT;
    int rc = simcuda_failed(&err, e, "launch");

    return rc ? dp_fail(ctx, rc, "%s", err.message) : 0;
}

bool dtype_of(dp_dtype d, dtype *out)
{
    *out = d == DP_FLOAT32 ? F32 : d == DP_FLOAT64 ? F64 : d == DP_INT32 ? I32 : I64;
    return d == DP_FLOAT32 || d == DP_FLOAT64 || d == DP_INT32 || d == DP_INT64;
}

/* Is t what a kernel sees through its view alone, on the device `on`? */
bool is_plain(const dp_tensor *t, dp_device on)
{
    DP_VIEW(x, t);
    dp_keyset math = dp_keyset_only(dp_tensor_keys(t), dp_keyset_named(DP_KEYSET_MATH));

    return x.device == on && x.ndim <= DIMS_MAX && dp_keyset_is_empty(math) &&
           dp_internal_overlap(t) == 0;
}

/* Operands that broadcast to the shape of tensors[0]; false: they do not, or it has another shape
 * than theirs, so that an out= argument would be resized. */
bool operands_of(dp_tensor *const *tensors, int n, operands *o)
{
    bool reached[DIMS_MAX] = {};
    DP_VIEW(out, tensors[0]);

    *o = operands();
    o->n = out.numel;
    o->ndim = out.ndim;
    for (int d = 0; d < out.ndim; d++) /* the last one first */
        o->sizes[d] = out.sizes[out.ndim - 1 - d];
    for (int k = 0; k < n; k++) {
        DP_VIEW(x, tensors[k]);
        int64_t item = (int64_t)dp_dtype_size(x.dtype);
        if (x.ndim > out.ndim)
            return false;
        o->data[k] = (char *)x.data;
        for (int d = 0; d < x.ndim; d++) {
            int64_t size = x.sizes[x.ndim - 1 - d];
            if (size != o->sizes[d] && size != 1)
                return false;
            reached[d] = reached[d] || (k > 0 && size == o->sizes[d]);
            o->strides[k][d] = size == 1 ? 0 : x.strides[x.ndim - 1 - d] * item;
        }
    }
    for (int d = 0; d < o->ndim; d++)
        if (!reached[d])
            return false;
    return true;
}

/* Inputs may be the output, element by element, and otherwise share nothing with it. */
bool overlaps(dp_tensor *const *tensors, int n)
{
    for (int k = 1; k < n; k++)
        if (dp_overlap(tensors[0], tensors[k]) > 1)
            return true;
    return false;
}

template <unary op> int unary_out(dp_call *call)
{
    dp_tensor *t[2] = {call->args[call->n_args - 1].u.t, call->args[0].u.t};
    DP_VIEW(out, t[0]);
    DP_VIEW(x, t[1]);
    dtype d;
    operands o;

    if (x.dtype != out.dtype || !dtype_of(x.dtype, &d) || !has_unary(op, d) ||
        !is_plain(t[0], x.device) || !is_plain(t[1], x.device) || overlaps(t, 2) ||
        !operands_of(t, 2, &o) || x.ndim != out.ndim)
        return dp_fallback_cpu(call);
    if (o.n == 0)
        return 0;
    on_stream on(call->ctx, t, 2);
    return on.rc ? on.rc : launched(call->ctx, launch_unary(op, d, o, on.handle()));
}

/* (self, other, [alpha,] out): alpha other than 1 is the CPU's. */
template <binary op> int binary_out(dp_call *call)
{
    dp_tensor *t[3] = {call->args[call->n_args - 1].u.t, call->args[0].u.t, call->args[1].u.t};
    DP_VIEW(out, t[0]);
    DP_VIEW(a, t[1]);
    DP_VIEW(b, t[2]);
    bool compares = op >= EQ,
         plain = a.dtype == b.dtype && out.dtype == (compares ? DP_BOOL : a.dtype);
    bool one = call->n_args == 3 || (call->args[2].tag == DP_TAG_INT && call->args[2].u.i == 1);
    dtype d;
    operands o;

    for (dp_tensor *x : t)
        plain = plain && is_plain(x, out.device);
    if (!plain || !one || !dtype_of(a.dtype, &d) || !has_binary(op, d) || overlaps(t, 3) ||
        !operands_of(t, 3, &o))
        return dp_fallback_cpu(call);
    if (o.n == 0)
        return 0;
    on_stream on(call->ctx, t, 3);
    return on.rc ? on.rc : launched(call->ctx, launch_binary(op, d, o, on.handle()));
}

/* mm.out(self, mat2, out) */
int mm_out(dp_call *call)
{
    dp_tensor *t[3] = {call->args[2].u.t, call->args[0].u.t, call->args[1].u.t};
    DP_VIEW(c, t[0]);
    DP_VIEW(a, t[1]);
    DP_VIEW(b, t[2]);
    dtype d;
    bool fits = a.ndim == 2 && b.ndim == 2 && c.ndim == 2 && a.sizes[1] == b.sizes[0] &&
                c.sizes[0] == a.sizes[0] && c.sizes[1] == b.sizes[1] &&
                (c.strides[1] == 1 || c.sizes[1] <= 1) && a.dtype == b.dtype && a.dtype == c.dtype;

    for (dp_tensor *x : t)
        fits = fits && is_plain(x, c.device);
    if (!fits || !dtype_of(a.dtype, &d) || d > F64 || a.numel == 0 || dp_overlap(t[0], t[1]) != 0 ||
        dp_overlap(t[0], t[2]) != 0)
        return dp_fallback_cpu(call);
    if (c.numel == 0)
        return 0;
    on_stream on(call->ctx, t, 3);
    return on.rc ? on.rc
                 : launched(call->ctx, launch_mm(d, a.sizes[0], b.sizes[1], a.sizes[1], a.data,
                                                 a.strides[0], a.strides[1], b.data, b.strides[0],
                                                 b.strides[1], c.data, c.strides[0], on.handle()));
}

/* -- what tests turn -- */

int device_of(dp_ctx *ctx, int64_t index, dp_device *out)
{
    char name[32];

    snprintf(name, sizeof(name), "cuda:%lld", (long long)index);
    return dp_device_find(ctx, name, out);
}

int use_stream(dp_ctx *ctx, int64_t index, int64_t priority, int64_t flags)
{
    dp_stream_options o = {sizeof(o), (uint32_t)flags, (int32_t)priority, 0};
    dp_device device;
    dp_stream *s = nullptr;
    int rc = device_of(ctx, index, &device);

    if (rc == 0)
        rc = dp_stream_new(ctx, device, &o, &s);
    if (rc == 0)
        rc = dp_stream_set_current(ctx, s);
    dp_stream_unref(s);
    return rc;
}

int fault(dp_ctx *ctx, int64_t index)
{
    dp_device device;
    dp_stream *s = nullptr;
    int rc = device_of(ctx, index, &device);

    if (rc == 0)
        rc = dp_stream_current(ctx, device, &s);
    if (rc == 0) {
        cudaSetDevice((int)index);
        rc = launched(ctx, launch_fault((cudaStream_t)dp_stream_handle(s)));
    }
    dp_stream_unref(s);
    return rc;
}

int synchronize(dp_ctx *ctx, int64_t index)
{
    dp_device device;
    int rc = device_of(ctx, index, &device);

    return rc ? rc : dp_device_synchronize(ctx, device);
}

int trim(dp_ctx *ctx, int64_t index)
{
    dp_device device;
    int rc = device_of(ctx, index, &device);

    return rc ? rc : dp_device_trim(ctx, device, 0);
}

/* Bytes in use, bytes cached, segments. */
int stats(dp_ctx *, int64_t *used, int64_t *cached, int64_t *segments)
{
    size_t u, c, s;

    allocator_stats(simcuda_memory, &u, &c, &s);
    *used = (int64_t)u;
    *cached = (int64_t)c;
    *segments = (int64_t)s;
    return 0;
}

/* pinned(Tensor self) -> Tensor: in host memory that copies run to and from by themselves */
int pinned(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    dp_device device;
    DP_VIEW(x, self);
    int rc = device_of(ctx, 0, &device);

    if (rc == 0)
        rc = dp_empty_pinned(ctx, x.dtype, device, x.ndim, x.sizes, out);
    return rc ? rc : dp_copy(ctx, *out, self);
}

/* copy_async(Tensor(a!) dst, Tensor src) -> () */
int copy_async(dp_ctx *ctx, dp_tensor *dst, dp_tensor *src)
{
    DP_VIEW(x, dst);
    DP_VIEW(y, src);
    dp_stream *s = nullptr;
    int rc = dp_stream_current(ctx, y.device != DP_DEVICE_CPU ? y.device : x.device, &s);

    if (rc == 0)
        rc = dp_copy_async(ctx, dst, src, s);
    dp_stream_unref(s);
    return rc;
}

} // namespace

DP_LIBRARY_IMPL(aten, CUDA, DP_IMPL("abs.out", unary_out<ABS>), DP_IMPL("neg.out", unary_out<NEG>),
                DP_IMPL("exp.out", unary_out<EXP>), DP_IMPL("log.out", unary_out<LOG>),
                DP_IMPL("sqrt.out", unary_out<SQRT>), DP_IMPL("sin.out", unary_out<SIN>),
                DP_IMPL("cos.out", unary_out<COS>), DP_IMPL("tanh.out", unary_out<TANH>),
                DP_IMPL("sigmoid.out", unary_out<SIGMOID>),
                DP_IMPL("reciprocal.out", unary_out<RECIPROCAL>),
                DP_IMPL("rsqrt.out", unary_out<RSQRT>), DP_IMPL("floor.out", unary_out<FLOOR>),
                DP_IMPL("ceil.out", unary_out<CEIL>), DP_IMPL("add.out", binary_out<ADD>),
                DP_IMPL("sub.out", binary_out<SUB>), DP_IMPL("mul.out", binary_out<MUL>),
                DP_IMPL("div.out", binary_out<DIV>), DP_IMPL("maximum.out", binary_out<MAXIMUM>),
                DP_IMPL("minimum.out", binary_out<MINIMUM>),
                DP_IMPL("eq.Tensor_out", binary_out<EQ>), DP_IMPL("ne.Tensor_out", binary_out<NE>),
                DP_IMPL("lt.Tensor_out", binary_out<LT>), DP_IMPL("le.Tensor_out", binary_out<LE>),
                DP_IMPL("gt.Tensor_out", binary_out<GT>), DP_IMPL("ge.Tensor_out", binary_out<GE>),
                DP_IMPL("mm.out", mm_out))
DP_FALLBACK(CUDA, dp_fallback_cpu)

DP_LIBRARY(simcuda, DP_DEF("use_stream(int index=0, int priority=0, int flags=0) -> ()"),
           DP_DEF("fault(int index=0) -> ()"), DP_DEF("synchronize(int index=0) -> ()"),
           DP_DEF("trim(int index=0) -> ()"), DP_DEF("stats() -> (int, int, int)"),
           DP_DEF("pinned(Tensor self) -> Tensor"),
           DP_DEF("copy_async(Tensor(a!) dst, Tensor src) -> ()"))
DP_LIBRARY_IMPL(simcuda, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("use_stream", use_stream, (i, i, i), ()),
                DP_IMPL_UNBOXED("fault", fault, (i), ()),
                DP_IMPL_UNBOXED("synchronize", synchronize, (i), ()),
                DP_IMPL_UNBOXED("trim", trim, (i), ()),
                DP_IMPL_UNBOXED("stats", stats, (), (i, i, i)),
                DP_IMPL_UNBOXED("pinned", pinned, (T), (T)),
                DP_IMPL_UNBOXED("copy_async", copy_async, (T, T), ()))
