/* normal.c -- normal, which draws normal numbers whose means and deviations are tensors
 * (aten/src/ATen/native/Distributions.cpp). */
#include "draw.h"
#include "core/pack.h"
#include "core/dense.h"
#include "core/elements.h"

/* arguments; mean and std are numbers if the tensors are NULL */
typedef struct bell {
    dp_tensor *mean, *std;
    double mean_number, std_number;
    dp_generator *g;
} bell;

static int check_deviation(dp_ctx *ctx, const bell *b)
{
    pack p = {.ctx = ctx};
    double least = b->std_number;

    if (b->std != NULL) {
        DP_VIEW(s, b->std);
        if (dp_dtype_is_complex(s.dtype))
            return dp_fail(ctx, DP_ERUNTIME, "normal expects standard deviation to be non-complex");
        if (dp_memoryless(ctx) || s.numel == 0)
            return 0;
        const double *x = pack_get(&p, b->std, DP_FLOAT64);
        least = 0;
        for (int64_t i = 0; x != NULL && i < s.numel; i++)
            least = x[i] >= least ? least : x[i];
        int rc = pack_end(&p);
        if (rc < 0)
            return rc;
    }
    if (least >= 0)
        return 0;
    return dp_fail(ctx, DP_ERUNTIME,
                   b->std ? "normal expects all elements of std >= 0.0, but found %g"
                          : "normal expects std >= 0.0, but found std %g",
                   least);
}

/* Run normal into *out; NULL: it is set to a new tensor. */
static int run_bell(dp_ctx *ctx, const bell *b, dp_tensor **out)
{
    dp_tensor *first = b->mean ? b->mean : b->std, *given = *out;
    int64_t sizes[DP_DIM_MAX];
    DP_VIEW(x, first);
    DP_VIEW(y, b->std ? b->std : given ? given : first);
    int rc = check_deviation(ctx, b), ndim = x.ndim > y.ndim ? x.ndim : y.ndim;

    if (rc == 0)
        rc = dp_broadcast_shapes(ctx, x.ndim, x.sizes, y.ndim, y.sizes, sizes);
    if (rc == 0)
        rc = dp_set_output(ctx, out, ndim, sizes, NULL, given ? DP_DTYPE_NONE : x.dtype, x.device);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    rc = draw_normal(ctx, *out, b->g, 0, b->std ? 1 : b->std_number);
    if (rc == 0 && b->std)
        rc = dp_invoke(ctx, "aten::mul_.Tensor", "TT>", *out, b->std);
    if (rc == 0 && b->mean)
        rc = dp_invoke(ctx, "aten::add_.Tensor", "TTs>", *out, b->mean, dp_int(1));
    else if (rc == 0)
        rc =
            dp_invoke(ctx, "aten::add_.Scalar", "Tss>", *out, dp_double(b->mean_number), dp_int(1));
    if (rc < 0 && given == NULL)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* aten::normal.<overload>(mean, std, *, Generator? generator=None) -> Tensor, and its out= */
#define NORMAL(overload, mean_type, std_type, ...)                                                 \
    static int normal_##overload(dp_ctx *ctx, mean_type m, std_type s, dp_generator *g,            \
                                 dp_tensor **out)                                                  \
    {                                                                                              \
        *out = NULL;                                                                               \
        return run_bell(ctx, &(bell){.g = g, __VA_ARGS__}, out);                                   \
    }                                                                                              \
    static int normal_##overload##_out(dp_ctx *ctx, mean_type m, std_type s, dp_generator *g,      \
                                       dp_tensor *out)                                             \
    {                                                                                              \
        return run_bell(ctx, &(bell){.g = g, __VA_ARGS__}, &out);                                  \
    }
NORMAL(Tensor_float, dp_tensor *, double, .mean = m, .std_number = s)
NORMAL(float_Tensor, double, dp_tensor *, .mean_number = m, .std = s)
NORMAL(Tensor_Tensor, dp_tensor *, dp_tensor *, .mean = m, .std = s)

DP_LIBRARY_META(
    aten, CPU, DP_IMPL_UNBOXED("normal.Tensor_float", normal_Tensor_float, (T, f, og), (T)),
    DP_IMPL_UNBOXED("normal.Tensor_float_out", normal_Tensor_float_out, (T, f, og, T), ()),
    DP_IMPL_UNBOXED("normal.float_Tensor", normal_float_Tensor, (f, T, og), (T)),
    DP_IMPL_UNBOXED("normal.float_Tensor_out", normal_float_Tensor_out, (f, T, og, T), ()),
    DP_IMPL_UNBOXED("normal.Tensor_Tensor", normal_Tensor_Tensor, (T, T, og), (T)),
    DP_IMPL_UNBOXED("normal.Tensor_Tensor_out", normal_Tensor_Tensor_out, (T, T, og, T), ()))
