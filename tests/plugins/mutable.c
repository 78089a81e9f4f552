/* mutable.c -- a backend in the host's memory with kernels that are easy to make wrong:
 * tests/integration/clients/mutants.py changes a line of this file at a time, and conform must
 * find every change.
 *
 * Kernels serve float32, bfloat16 and int32; the CPU gets all other calls.  Numbers are computed as
 * long double, which holds the product of two int32. */
#include <dispatchd/plugin.h>
#include <dispatchd/half.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

DP_PLUGIN(mutable, "1.0")
DP_BACKEND(mutable)
DP_FALLBACK(mutable, dp_fallback_cpu)

enum { DIMS = 8, GRAIN = 4096 };
typedef long double number;

/* -- elements -- */

static number load(dp_dtype dtype, const char *at)
{
    switch (dtype) {
    case DP_BOOL:
        return *(const bool *)at;
    case DP_FLOAT32:
        return *(const float *)at;
    case DP_BFLOAT16:
        return dp_bfloat16_to_float(*(const uint16_t *)at);
    case DP_INT32:
        return *(const int32_t *)at;
    default:
        return *(const int64_t *)at;
    }
}

static void store(dp_dtype dtype, char *at, number x)
{
    float f = (float)x;

    switch (dtype) {
    case DP_BOOL:
        *(bool *)at = x != 0;
        break;
    case DP_FLOAT32:
        *(float *)at = f;
        break;
    case DP_BFLOAT16:
        *(uint16_t *)at = dp_float_to_bfloat16(f);
        break;
    case DP_INT32:
        *(int32_t *)at = (int32_t)(uint32_t)(int64_t)x;
        break;
    default:
        *(int64_t *)at = (int64_t)x;
    }
}

static bool serves(dp_dtype dtype)
{
    return dtype == DP_FLOAT32 || dtype == DP_BFLOAT16 || dtype == DP_INT32;
}

/* -- geometry -- */

/* A tensor's elements as a loop over a shape sees them. */
typedef struct operand {
    char *data;
    dp_dtype dtype;
    int64_t bytes;         /* of an element */
    int64_t strides[DIMS]; /* in elements */
} operand;

static operand operand_of(const dp_view *v)
{
    operand o = {v->data, v->dtype, (int64_t)dp_dtype_size(v->dtype), {0}};

    for (int d = 0; d < v->ndim; d++)
        o.strides[d] = v->strides[d];
    return o;
}

/* Return the operand as if it had the shape `sizes`: a dimension of size 1 is repeated. */
static operand broadcast(const dp_view *v, int ndim, const int64_t *sizes)
{
    operand o = operand_of(v);
    int first = ndim - v->ndim;

    memset(o.strides, 0, sizeof(o.strides));
    for (int d = 0; d < v->ndim; d++)
        if (v->sizes[d] == sizes[first + d])
            o.strides[first + d] = v->strides[d];
    return o;
}

/* Return element `i`, in row-major order, of a shape. */
static char *at(const operand *o, int ndim, const int64_t *sizes, int64_t i)
{
    int64_t place = 0;

    for (int d = ndim - 1; d >= 0; d--) {
        place += i % sizes[d] * o->strides[d];
        i /= sizes[d];
    }
    return o->data + place * o->bytes;
}

/* -- outputs -- */

/* Argument `target` is the output; -1: it is made. */
static dp_tensor *output_of(const dp_call *call, int target)
{
    return target < 0 ? NULL : call->args[target].u.t;
}

static int give(dp_call *call, int target, dp_tensor *out)
{
    if (target < 0)
        call->rets[0] = dp_tensor_value(out);
    return 0;
}

/* -- pointwise -- */

typedef number (*point)(number x, number y, number alpha);

typedef struct pointwise {
    operand x, y, out;
    int ndim;
    int64_t sizes[DIMS];
    point f;
    number alpha;
    volatile number shared; /* only mutants use it */
} pointwise;

static void pointwise_range(int64_t begin, int64_t end, void *user)
{
    pointwise *p = user;

    for (int64_t i = begin; i < end; i++) {
        number x = load(p->x.dtype, at(&p->x, p->ndim, p->sizes, i));
        number y = load(p->y.dtype, at(&p->y, p->ndim, p->sizes, i));
        store(p->out.dtype, at(&p->out, p->ndim, p->sizes, i), p->f(x, y, p->alpha));
    }
}

/* Serve an operator of arguments 0 and `second`; `dtype` is the result's, NONE: the arguments'. */
static int run_pointwise(dp_call *call, point f, int second, dp_dtype dtype, int target)
{
    dp_tensor *out = output_of(call, target);
    pointwise p = {.f = f, .alpha = 1};

    if (call->args[0].tag != DP_TAG_TENSOR || call->args[second].tag != DP_TAG_TENSOR)
        return dp_fallback_cpu(call);
    DP_VIEW(x, call->args[0].u.t);
    DP_VIEW(y, call->args[second].u.t);
    if (!serves(x.dtype) || x.dtype != y.dtype || x.device != y.device || x.ndim > DIMS ||
        y.ndim > DIMS)
        return dp_fallback_cpu(call);
    if (call->n_args > 2 && second == 1 && call->args[2].tag == DP_TAG_DOUBLE)
        p.alpha = (float)call->args[2].u.d;
    if (call->n_args > 2 && second == 1 && call->args[2].tag == DP_TAG_INT)
        p.alpha = call->args[2].u.i;
    p.ndim = x.ndim > y.ndim ? x.ndim : y.ndim;
    dtype = dtype == DP_DTYPE_NONE ? x.dtype : dtype;
    int rc = dp_broadcast_shapes(call->ctx, x.ndim, x.sizes, y.ndim, y.sizes, p.sizes);
    if (rc == 0)
        rc = dp_set_output(call->ctx, &out, p.ndim, p.sizes, NULL, dtype, x.device);
    if (rc < 0)
        return rc;
    DP_VIEW(z, out);
    p.x = broadcast(&x, p.ndim, p.sizes);
    p.y = broadcast(&y, p.ndim, p.sizes);
    p.out = operand_of(&z);
    rc = dp_parallel_for(call->ctx, 0, z.numel, GRAIN, pointwise_range, &p);
    return rc < 0 ? rc : give(call, target, out);
}

static number f_mul(number x, number y, number alpha)
{
    (void)alpha;
    return x * y;
}

static number f_add(number x, number y, number alpha)
{
    return x + alpha * y;
}

static number f_relu(number x, number y, number alpha)
{
    (void)y, (void)alpha;
    return x < 0 ? 0 : x;
}

static number f_eq(number x, number y, number alpha)
{
    (void)alpha;
    return x == y;
}

#define POINTWISE(name, f, second, dtype, target)                                                  \
    static int name(dp_call *c)                                                                    \
    {                                                                                              \
        return run_pointwise(c, f, second, dtype, target);                                         \
    }
POINTWISE(mul, f_mul, 1, DP_DTYPE_NONE, -1)
POINTWISE(mul_, f_mul, 1, DP_DTYPE_NONE, 0)
POINTWISE(mul_out, f_mul, 1, DP_DTYPE_NONE, 2)
POINTWISE(add, f_add, 1, DP_DTYPE_NONE, -1)
POINTWISE(add_, f_add, 1, DP_DTYPE_NONE, 0)
POINTWISE(add_out, f_add, 1, DP_DTYPE_NONE, 3)
POINTWISE(relu, f_relu, 0, DP_DTYPE_NONE, -1)
POINTWISE(relu_, f_relu, 0, DP_DTYPE_NONE, 0)
POINTWISE(relu_out, f_relu, 0, DP_DTYPE_NONE, 1)
POINTWISE(eq, f_eq, 1, DP_BOOL, -1)
/* eq_ calls this with self as the output */
POINTWISE(eq_out, f_eq, 1, c->args[2].u.t == c->args[0].u.t ? DP_DTYPE_NONE : DP_BOOL, 2)

DP_LIBRARY_IMPL(aten, mutable, DP_IMPL("mul.Tensor", mul), DP_IMPL("mul_.Tensor", mul_),
                DP_IMPL("mul.out", mul_out), DP_IMPL("add.Tensor", add),
                DP_IMPL("add_.Tensor", add_), DP_IMPL("add.out", add_out), DP_IMPL("relu", relu),
                DP_IMPL("relu_", relu_), DP_IMPL("relu.out", relu_out), DP_IMPL("eq.Tensor", eq),
                DP_IMPL("eq.Tensor_out", eq_out))

/* -- reductions -- */

/* Read the dimensions that a list names, as bits; none are all.  false: one is wrong. */
static bool read_dims(const dp_value *list, int ndim, uint32_t *bits)
{
    *bits = 0;
    for (uint32_t i = 0; list->tag == DP_TAG_INTS && i < list->len; i++) {
        int64_t dim = list->u.ints[i];
        if (dim < 0)
            dim += ndim;
        if (dim < 0 || dim >= ndim || *bits & 1u << dim)
            return false;
        *bits |= 1u << dim;
    }
    if (*bits == 0)
        *bits = (1u << ndim) - 1;
    return true;
}

static number join(bool is_sum, number a, number x)
{
    if (is_sum)
        return a + x;
    return isnan(a) || a > x ? a : x;
}

/* Serve sum and amax, whose arguments are a tensor, dimensions and whether those are kept. */
static int run_reduce(dp_call *call, bool is_sum, int target)
{
    dp_tensor *out = output_of(call, target);
    int64_t sizes[DIMS], outer[DIMS], n_out = 1, n_each = 1;
    uint32_t bits;
    int ndim = 0;
    DP_VIEW(x, call->args[0].u.t);

    if (!serves(x.dtype) || x.ndim > DIMS || !read_dims(&call->args[1], x.ndim, &bits) ||
        (is_sum && call->args[3].tag != DP_TAG_NONE))
        return dp_fallback_cpu(call);
    bool keep = call->args[2].u.b;
    for (int d = 0; d < x.ndim; d++) {
        bool reduced = bits >> d & 1;
        outer[d] = reduced ? 1 : x.sizes[d];
        n_out *= outer[d];
        n_each *= reduced ? x.sizes[d] : 1;
        if (!reduced || keep)
            sizes[ndim++] = outer[d];
    }
    if (!is_sum && n_each == 0)
        return dp_fallback_cpu(call);
    dp_dtype dtype = is_sum && x.dtype == DP_INT32 ? DP_INT64 : x.dtype;
    number *totals = dp_alloc_n(call->ctx, (size_t)n_out, sizeof(*totals));
    int rc =
        totals ? dp_set_output(call->ctx, &out, ndim, sizes, NULL, dtype, x.device) : DP_ERESOURCE;
    if (rc < 0)
        return rc;
    for (int64_t i = 0; i < n_out; i++)
        totals[i] = is_sum ? 0 : -INFINITY;
    if (!is_sum && x.dtype == DP_INT32)
        for (int64_t i = 0; i < n_out; i++)
            totals[i] = INT32_MIN;
    operand from = operand_of(&x);
    for (int64_t i = 0; i < x.numel; i++) {
        int64_t rest = i, place = 0, step = 1;
        for (int d = x.ndim - 1; d >= 0; d--) {
            if (!(bits >> d & 1)) {
                place += rest % x.sizes[d] * step;
                step *= x.sizes[d];
            }
            rest /= x.sizes[d];
        }
        totals[place] = join(is_sum, totals[place], load(x.dtype, at(&from, x.ndim, x.sizes, i)));
    }
    DP_VIEW(z, out);
    operand to = operand_of(&z);
    for (int64_t i = 0; i < n_out; i++)
        store(dtype, at(&to, z.ndim, z.sizes, i), totals[i]);
    return give(call, target, out);
}

static int sum(dp_call *c)
{
    return run_reduce(c, true, -1);
}
static int sum_out(dp_call *c)
{
    return run_reduce(c, true, 4);
}
static int amax(dp_call *c)
{
    return run_reduce(c, false, -1);
}
static int amax_out(dp_call *c)
{
    return run_reduce(c, false, 3);
}

/* Serve cumsum of float32. */
static int cumsum(dp_call *call)
{
    dp_tensor *out = NULL;
    int64_t inner = 1;
    DP_VIEW(x, call->args[0].u.t);
    int64_t dim = call->args[1].u.i;

    if (x.dtype != DP_FLOAT32 || x.ndim > DIMS || call->args[2].tag != DP_TAG_NONE)
        return dp_fallback_cpu(call);
    dim = dim < 0 ? dim + x.ndim : dim;
    if (dim < 0 || dim >= x.ndim)
        return dp_fallback_cpu(call);
    int rc = dp_set_output(call->ctx, &out, x.ndim, x.sizes, NULL, x.dtype, x.device);
    if (rc < 0)
        return rc;
    DP_VIEW(z, out);
    operand from = operand_of(&x);
    float *to = z.data;
    for (int d = (int)dim + 1; d < x.ndim; d++)
        inner *= x.sizes[d];
    for (int64_t i = 0; i < x.numel; i++) {
        bool begins = i / inner % x.sizes[dim] == 0;
        float one = *(float *)at(&from, x.ndim, x.sizes, i);
        to[i] = begins ? one : to[i - inner] + one;
    }
    return give(call, -1, out);
}

static int argmax(dp_call *call)
{
    dp_tensor *out = NULL;
    DP_VIEW(x, call->args[0].u.t);
    int64_t best = 0;

    if (!serves(x.dtype) || x.ndim > DIMS || x.numel == 0 || call->args[1].tag != DP_TAG_NONE ||
        call->args[2].u.b)
        return dp_fallback_cpu(call);
    int rc = dp_set_output(call->ctx, &out, 0, NULL, NULL, DP_INT64, x.device);
    if (rc < 0)
        return rc;
    operand from = operand_of(&x);
    number most = load(x.dtype, from.data);
    for (int64_t i = 1; i < x.numel; i++) {
        number one = load(x.dtype, at(&from, x.ndim, x.sizes, i));
        if (!isnan(most) && (one > most || isnan(one))) {
            most = one;
            best = i;
        }
    }
    DP_VIEW(z, out);
    *(int64_t *)z.data = best;
    return give(call, -1, out);
}

DP_LIBRARY_IMPL(aten, mutable, DP_IMPL("sum.dim_IntList", sum), DP_IMPL("sum.IntList_out", sum_out),
                DP_IMPL("amax", amax), DP_IMPL("amax.out", amax_out), DP_IMPL("cumsum", cumsum),
                DP_IMPL("argmax", argmax))

/* -- matrices and indices -- */

static int mm(dp_call *call)
{
    dp_tensor *out = NULL;
    DP_VIEW(a, call->args[0].u.t);
    DP_VIEW(b, call->args[1].u.t);

    if (a.dtype != DP_FLOAT32 || b.dtype != a.dtype || a.device != b.device || a.ndim != 2 ||
        b.ndim != 2 || a.sizes[1] != b.sizes[0])
        return dp_fallback_cpu(call);
    int64_t sizes[] = {a.sizes[0], b.sizes[1]}, inner = a.sizes[1];
    int rc = dp_set_output(call->ctx, &out, 2, sizes, NULL, a.dtype, a.device);
    if (rc < 0)
        return rc;
    DP_VIEW(z, out);
    const float *x = a.data, *y = b.data;
    float *to = z.data;
    for (int64_t i = 0; i < sizes[0]; i++)
        for (int64_t j = 0; j < sizes[1]; j++) {
            number total = 0;
            for (int64_t k = 0; k < inner; k++)
                total += (number)x[i * a.strides[0] + k * a.strides[1]] *
                         y[k * b.strides[0] + j * b.strides[1]];
            to[i * sizes[1] + j] = (float)total;
        }
    return give(call, -1, out);
}

static int gather(dp_call *call)
{
    dp_tensor *out = NULL;
    DP_VIEW(x, call->args[0].u.t);
    DP_VIEW(index, call->args[2].u.t);
    int64_t dim = call->args[1].u.i;

    dim = dim < 0 ? dim + x.ndim : dim;
    if (x.dtype != DP_FLOAT32 || index.dtype != DP_INT64 || x.device != index.device ||
        x.ndim != index.ndim || x.ndim > DIMS || dim < 0 || dim >= x.ndim)
        return dp_fallback_cpu(call);
    for (int d = 0; d < x.ndim; d++)
        if (d != dim && index.sizes[d] > x.sizes[d])
            return dp_fallback_cpu(call);
    int rc = dp_set_output(call->ctx, &out, index.ndim, index.sizes, NULL, x.dtype, x.device);
    if (rc < 0)
        return rc;
    DP_VIEW(z, out);
    operand from = operand_of(&x), by = operand_of(&index);
    int64_t stride = from.strides[dim];
    from.strides[dim] = 0;
    for (int64_t i = 0; i < index.numel; i++) {
        int64_t to = *(int64_t *)at(&by, index.ndim, index.sizes, i);
        if (to < 0 || to >= x.sizes[dim])
            return dp_tensor_unref(out), dp_fail(call->ctx, DP_ERUNTIME, "index out of bounds");
        const char *row = at(&from, index.ndim, index.sizes, i);
        ((float *)z.data)[i] = *(const float *)(row + to * stride * 4);
    }
    return give(call, -1, out);
}

static int softmax(dp_call *call)
{
    dp_tensor *out = NULL;
    DP_VIEW(x, call->args[0].u.t);
    int64_t dim = call->args[1].u.i;

    dim = dim < 0 ? dim + x.ndim : dim;
    if (x.dtype != DP_FLOAT32 || x.ndim > DIMS || dim < 0 || dim >= x.ndim || call->args[2].u.b)
        return dp_fallback_cpu(call);
    int rc = dp_set_output(call->ctx, &out, x.ndim, x.sizes, NULL, x.dtype, x.device);
    if (rc < 0)
        return rc;
    DP_VIEW(z, out);
    operand from = operand_of(&x), to = operand_of(&z);
    for (int64_t i = 0; i < x.numel; i++) {
        int64_t inner = 1, n = x.sizes[dim];
        for (int d = (int)dim + 1; d < x.ndim; d++)
            inner *= x.sizes[d];
        if (i / inner % n != 0)
            continue;
        float most = -INFINITY, total = 0;
        for (int64_t k = 0; k < n; k++) {
            float one = *(float *)at(&from, x.ndim, x.sizes, i + k * inner);
            most = isnan(most) || most > one ? most : one;
        }
        for (int64_t k = 0; k < n; k++)
            total += expf(*(float *)at(&from, x.ndim, x.sizes, i + k * inner) - most);
        for (int64_t k = 0; k < n; k++)
            *(float *)at(&to, x.ndim, x.sizes, i + k * inner) =
                expf(*(float *)at(&from, x.ndim, x.sizes, i + k * inner) - most) / total;
    }
    return give(call, -1, out);
}

static int fill_(dp_call *call)
{
    const dp_value *value = &call->args[1];
    DP_VIEW(x, call->args[0].u.t);

    if (!serves(x.dtype) || x.ndim > DIMS ||
        (value->tag != DP_TAG_INT && value->tag != DP_TAG_DOUBLE))
        return dp_fallback_cpu(call);
    operand to = operand_of(&x);
    number filled = value->tag == DP_TAG_INT ? (number)value->u.i : value->u.d;
    for (int64_t i = 0; i < x.numel; i++)
        store(x.dtype, at(&to, x.ndim, x.sizes, i), filled);
    return 0;
}

DP_LIBRARY_IMPL(aten, mutable, DP_IMPL("mm", mm), DP_IMPL("gather", gather),
                DP_IMPL("_softmax", softmax), DP_IMPL("fill_.Scalar", fill_))
