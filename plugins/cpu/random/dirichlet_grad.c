/* dirichlet_grad.c -- _dirichlet_grad, the derivative of a sample of a Dirichlet distribution by
 * its alpha: -(d cdf / d alpha) / pdf / (1 - x) of the sample's own beta distribution
 * (aten/src/ATen/native/Distributions.h).
 *
 * As in PyTorch, the method is a Taylor series near 0 and 1, a saddle point expansion if both
 * shapes are large (Rice), and a fitted rational function elsewhere.  All are computed in
 * float64. */
#include "core/dense.h"
#include "core/pack.h"
#include "special/special.h"

enum { GRAIN = 256 /* elements, which take some 0.1 microseconds each */ };

/* Return the derivative by alpha if x is close to 0. */
static double near_zero(double x, double alpha, double beta)
{
    enum { TERMS = 10 };
    double factor = sf_digamma_f64(alpha) - sf_digamma_f64(alpha + beta) - log(x);
    double numerator = 1, series = (factor + 1 / alpha) / alpha;

    for (int i = 1; i <= TERMS; i++) {
        numerator *= (i - beta) * x / i;
        series += numerator / (alpha + i) * (factor + 1 / (alpha + i));
    }
    double result = x * pow(1 - x, -beta) * series;
    return isnan(result) ? 0 : result;
}

/* Return the derivative by beta if x is close to 0; this is the derivative by alpha if 1 - x is
 * close to 0. */
static double near_one(double x, double alpha, double beta)
{
    enum { TERMS = 8 };
    double factor = sf_digamma_f64(alpha + beta) - sf_digamma_f64(beta);
    double numerator = 1, betas = 1, slopes = 0, series = factor / alpha;

    for (int i = 1; i <= TERMS; i++) {
        numerator *= -x / i;
        slopes = slopes * (beta - i) + betas;
        betas *= beta - i;
        series += numerator / (alpha + i) * (slopes + factor * betas);
    }
    double result = -pow(1 - x, 1 - beta) * series;
    return isnan(result) ? 0 : result;
}

/* Return the derivative at the mean, where the saddle point expansion is 0 / 0. */
static double at_mean(double x, double a, double b)
{
    double total = a + b, y = 1 - x;
    double inner = (453 + 1620 * b * y - 455 * x) * b + a * (8 * y * (135 * b - 11));
    double middle = 3 * (59 + 180 * b - 90 * x) * (b * b) + a * inner;
    double outer = (43 + 20 * (16 + 27 * b) * x) * (b * b) * b + a * middle;
    double poly = 47 * x * (b * b) * (b * b) + a * outer;
    double over = (1 + 12 * a) * (1 + 12 * b) / (total * total);

    return over / y * poly / (12960 * a * a * a * b * b * (1 + 12 * total));
}

static double stirling(double n)
{
    return 1 + 1 / (12 * n) + 1 / (288 * n * n);
}

static double both_large(double x, double a, double b)
{
    double total = a + b, mean = a / total, deviation = sqrt(a * b / (total + 1)) / total;

    if (mean - 0.1 * deviation <= x && x <= mean + 0.1 * deviation)
        return at_mean(x, a, b);
    double apart = a * (x - 1) + b * x, ratio = log(a / (total * x));
    double first = 2 * (a * a) * (x - 1) + a * b * (x - 1) - x * (b * b);
    first /= sqrt(2 * a / b) * pow(total, 1.5) * apart * apart;
    double root = sqrt(8 * a * b / total) / apart;
    double power = pow(b * log(b / (total * (1 - x))) + a * ratio, -1.5);
    double sum = first + 0.5 * ratio * (root + (x < mean ? power : -power));
    return stirling(a) * stirling(b) / stirling(total) * (-x / sqrt(2 * a * b / total)) * sum;
}

static double fitted(double x, double alpha, double total)
{
    enum { N = 3, DEGREE = 4 };
    static const double c[2][N][N][DEGREE] = {
        {{{1.003668233, -0.01061107488, -0.0657888334, 0.01201642863},
          {0.6336835991, -0.3557432599, 0.05486251648, -0.001465281033},
          {-0.03276231906, 0.004474107445, 0.002429354597, -0.0001557569013}},
         {{0.221950385, -0.3187676331, 0.01799915743, 0.01074823814},
          {-0.2951249643, 0.06219954479, 0.01535556598, 0.001550077057},
          {0.02155310298, 0.004170831599, 0.001292462449, 6.976601077e-05}},
         {{-0.05980841433, 0.008441916499, 0.01085618172, 0.002319392565},
          {0.02911413504, 0.01400243777, -0.002721828457, 0.000751041181},
          {0.005900514878, -0.001936558688, -9.495446725e-06, 5.385558597e-05}}},
        {{{1, -0.02924021934, -0.04438342661, 0.007285809825},
          {0.6357567472, -0.3473456711, 0.05454656494, -0.002407477521},
          {-0.03301322327, 0.004845219414, 0.00231480583, -0.0002307248149}},
         {{0.5925320577, -0.1757678135, 0.01505928619, 0.000564515273},
          {0.1014815858, -0.06589186703, 0.01272886114, -0.0007316646956},
          {-0.007258481865, 0.001096195486, 0.0003934994223, -4.12701925e-05}},
         {{0.06469649321, -0.0236701437, 0.002902096474, -5.896963079e-05},
          {0.001925008108, -0.002869809258, 0.0008000589141, -6.063713228e-05},
          {-0.0003477407336, 6.959756487e-05, 1.097287507e-05, -1.650964693e-06}}},
    };
    double u = log(x), a = log(alpha) - u, b = log(total) - a, sum[2] = {0, 0};
    const double powers_u[N] = {1, u, u * u}, powers_a[N] = {1, a, a * a};

    for (int k = 0; k < 2; k++)
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                const double *d = c[k][i][j];
                sum[k] += powers_u[i] * powers_a[j] * (d[0] + b * (d[1] + b * (d[2] + b * d[3])));
            }
    double about = x * (sf_digamma_f64(total) - sf_digamma_f64(alpha)) / (total - alpha);
    return sum[0] / sum[1] * about;
}

static double dirichlet_grad(double x, double alpha, double total)
{
    double beta = total - alpha, edge = total * x * (1 - x);

    if (x <= 0.5 && edge < 2.5)
        return near_zero(x, alpha, beta);
    if (x >= 0.5 && edge < 0.75)
        return -near_one(1 - x, beta, alpha);
    return alpha > 6 && beta > 6 ? both_large(x, alpha, beta) : fitted(x, alpha, total);
}

typedef struct gradients {
    const double *const *d; /* arrays of x, alpha and total */
    double *grad;
} gradients;

static void run_range(int64_t begin, int64_t end, void *user)
{
    const gradients *g = user;

    for (int64_t i = begin; i < end; i++)
        g->grad[i] = dirichlet_grad(g->d[0][i], g->d[1][i], g->d[2][i]);
}

/* aten::_dirichlet_grad(Tensor x, Tensor alpha, Tensor total) -> Tensor
 * The result has the shape to which the arguments broadcast. */
static int dirichlet(dp_ctx *ctx, dp_tensor *x, dp_tensor *alpha, dp_tensor *total, dp_tensor **out)
{
    dp_tensor *given[] = {x, alpha, total}, *packed[3], *made = NULL;
    int64_t sizes[DP_DIM_MAX];
    int ndim = 0;
    pack p = {.ctx = ctx};
    double *d[3];
    DP_VIEW(first, x);

    p.device = first.device;
    p.rc = dense_check_type(ctx, "_dirichlet_grad_cpu", first.dtype,
                            DP_DTYPE_BITS(DP_DTYPES_FLOATING));
    for (int i = 0; p.rc == 0 && i < 3; i++) {
        DP_VIEW(v, given[i]);
        p.rc = dense_check_same(ctx, first.dtype, v.dtype);
        if (p.rc == 0)
            p.rc = dp_broadcast_shapes(ctx, ndim, sizes, v.ndim, v.sizes, sizes);
        ndim = v.ndim > ndim ? v.ndim : ndim;
    }
    for (int i = 0; i < 3; i++) {
        d[i] = pack_new(&p, DP_FLOAT64, ndim, sizes, &packed[i]);
        if (p.rc == 0)
            p.rc = dp_copy(ctx, packed[i], given[i]);
    }
    double *grad = pack_new(&p, DP_FLOAT64, ndim, sizes, &made);
    if (p.rc == 0 && !dp_memoryless(ctx)) {
        DP_VIEW(m, made);
        gradients g = {(const double *const *)d, grad};
        p.rc = dp_parallel_for(ctx, 0, m.numel, GRAIN, run_range, &g);
    }
    *out = NULL;
    pack_give(&p, made, first.dtype, out);
    return pack_end(&p);
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("_dirichlet_grad", dirichlet, (T, T, T), (T)))
