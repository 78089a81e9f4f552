/* standard_gamma_grad.c -- _standard_gamma_grad, the derivative of a gamma sample by its shape: -(d
 * cdf / d alpha) / pdf (aten/src/ATen/native/Distributions.h).
 *
 * As in PyTorch, the method is a Taylor series for small numbers, a saddle point expansion for
 * large shapes (Rice), and a fitted rational function of two variables elsewhere.  All are computed
 * in float64. */
#include "core/dense.h"
#include "core/elements.h"
#include "core/pack.h"
#include "special/special.h"

enum { GRAIN = 256 /* elements, of some 0.1 microseconds each */ };

static double small_number(double alpha, double x)
{
    double numerator = 1, denominator = alpha, first = 1 / alpha, second = first * first;

    for (int i = 1; i <= 5; i++) {
        numerator *= -x / i;
        denominator++;
        first += numerator / denominator;
        second += numerator / (denominator * denominator);
    }
    double power = pow(x, alpha), density = pow(x, alpha - 1) * exp(-x);
    double slope = (log(x) - sf_digamma_f64(alpha)) * power * first - power * second;
    double result = -slope / density;
    return isnan(result) ? 0 : result;
}

static double large_shape(double alpha, double x)
{
    double apart = alpha - x, ratio = log(x / alpha), root = sqrt(8 * alpha);

    if (0.9 * alpha <= x && x <= 1.1 * alpha) {
        double a = 1 + 24 * alpha * (1 + 12 * alpha);
        double b = 1440 * alpha * alpha + 6 * x * (53 - 120 * x) - 65 * x * x / alpha +
                   alpha * (107 + 3600 * x);
        return a * b / (1244160 * (alpha * alpha) * (alpha * alpha));
    }
    double term = pow(-apart - alpha * ratio, -1.5);
    double both = x < alpha ? root / apart - term : root / apart + term;
    double first = ratio * both - sqrt(2 / alpha) * (alpha + x) / (apart * apart);
    double stirling = 1 + 1 / (12 * alpha) * (1 + 1 / (24 * alpha));
    return -stirling * x * first / root;
}

static double fitted(double alpha, double x)
{
    enum { TERMS = 8, DEGREE = 4 };
    static const double c[3][TERMS] = {
        {0.16009398, -0.094634809, 0.025146376, -0.0030648343, 1, 0.32668115, 0.10406089,
         0.0014179084},
        {0.53487893, 0.1298071, 0.065735949, -0.0015649758, 0.16639465, 0.020070113, -0.0035938915,
         -0.00058392623},
        {0.040121004, -0.0065914022, -0.0026286047, -0.0013441777, 0.017050642, -0.0021309326,
         0.00085092367, -1.5247877e-07},
    };
    double u = log(x / alpha), v = log(alpha), p = 0, q = 0;

    for (int i = DEGREE - 1; i >= 0; i--) {
        int k = i + DEGREE;
        p = p * v + c[0][i] + u * (c[1][i] + u * c[2][i]);
        q = q * v + c[0][k] + u * (c[1][k] + u * c[2][k]);
    }
    return exp(p / q);
}

/* alpha > 0, else NaN */
static double gamma_grad(double alpha, double x)
{
    if (!(alpha > 0))
        return NAN;
    return x < 0.8 ? small_number(alpha, x) : alpha > 8 ? large_shape(alpha, x) : fitted(alpha, x);
}

typedef struct gradients {
    const double *alpha, *number;
    double *grad;
} gradients;

static void run_range(int64_t begin, int64_t end, void *user)
{
    const gradients *g = user;

    for (int64_t i = begin; i < end; i++)
        g->grad[i] = gamma_grad(g->alpha[i], g->number[i]);
}

/* aten::_standard_gamma_grad(Tensor self, Tensor output) -> Tensor
 * self: shapes, output: numbers that were drawn for them; they broadcast to self's shape. */
static int standard_gamma_grad(dp_ctx *ctx, dp_tensor *self, dp_tensor *output, dp_tensor **out)
{
    unsigned types = DP_DTYPE_BITS(DP_DTYPES_FLOATING);
    pack p = {.ctx = ctx};
    int64_t sizes[DP_DIM_MAX];
    dp_tensor *made = NULL, *shape = NULL, *drawn = NULL;
    DP_VIEW(x, self);
    DP_VIEW(y, output);

    p.device = x.device;
    p.rc = dense_check_type(ctx, "_standard_gamma_grad_cpu", x.dtype, types);
    if (p.rc == 0 && x.dtype != y.dtype)
        p.rc = dp_fail(ctx, DP_ERUNTIME, "Found dtype %s but expected %s", dense_type_name(y.dtype),
                       dense_type_name(x.dtype));
    if (p.rc == 0)
        p.rc = dp_broadcast_shapes(ctx, x.ndim, x.sizes, y.ndim, y.sizes, sizes);
    int ndim = x.ndim > y.ndim ? x.ndim : y.ndim;
    double *alpha = pack_new(&p, DP_FLOAT64, ndim, sizes, &shape);
    double *number = pack_new(&p, DP_FLOAT64, ndim, sizes, &drawn);
    double *grad = pack_new(&p, DP_FLOAT64, ndim, sizes, &made);
    if (p.rc == 0)
        p.rc = dp_copy(ctx, shape, self);
    if (p.rc == 0)
        p.rc = dp_copy(ctx, drawn, output);
    if (p.rc == 0 && !dp_memoryless(ctx)) {
        DP_VIEW(m, made);
        gradients g = {alpha, number, grad};
        p.rc = dp_parallel_for(ctx, 0, m.numel, GRAIN, run_range, &g);
    }
    *out = NULL;
    pack_give(&p, made, x.dtype, out);
    return pack_end(&p);
}

DP_LIBRARY_META(aten, CPU,
                DP_IMPL_UNBOXED("_standard_gamma_grad", standard_gamma_grad, (T, T), (T)))
