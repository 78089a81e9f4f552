// cxx_forms.cc -- kernels that have no plain name: lambdas, templates, functions of a namespace,
// one of several overloads, one function for two operators; and macros named like letters.
#include <dispatchd/plugin.h>

#define T float
#define f "f"

DP_PLUGIN(cxx_forms, "1.0")

namespace kernels
{

template <typename element, int by> int add_(dp_ctx *ctx, dp_tensor *self) noexcept
{
    DP_VIEW(x, self);
    if (x.dtype != (sizeof(element) == 4 ? DP_FLOAT32 : DP_FLOAT64))
        return dp_fail(ctx, DP_ETYPE, "not for %s", dp_dtype_name(x.dtype));
    for (int64_t k = 0; k < x.numel; k++)
        static_cast<element *>(x.data)[k] += by;
    return 0;
}

int overloaded(dp_ctx *, int64_t n, int64_t *out)
{
    *out = n + 1;
    return 0;
}
int overloaded(dp_ctx *, double n, double *out)
{
    *out = n / 2;
    return 0;
}

// sixty-four arguments are the most that an operator has
int many(dp_ctx *, int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t v, int64_t g,
         int64_t h, int64_t j, int64_t k, int64_t l, int64_t m, int64_t n, int64_t o, int64_t p,
         int64_t q, int64_t r, dp_tensor *t, const int64_t *list, size_t length, int64_t *first,
         int64_t *sum)
{
    *first = a;
    *sum = b + c + d + e + v + g + h + j + k + l + m + n + o + p + q + 1000 * r;
    for (size_t at = 0; at < length; at++)
        *sum += 1000000 * list[at];
    return t == nullptr;
}

} // namespace kernels

// clang-format off
DP_LIBRARY(cxx_forms, DP_DEF("add_(Tensor(a!) self) -> Tensor(a!)"),
           DP_DEF("add_.double(Tensor(a!) self) -> Tensor(a!)"),
           DP_DEF("next(int n) -> int"), DP_DEF("after(int n) -> int"),
           DP_DEF("half(float n) -> float"),
           DP_DEF("twice(Tensor self, Scalar k) -> Tensor"),
           DP_DEF("many(int a, int b, int c, int d, int e, int f, int g, int h, int j, int k, "
                  "int l, int m, int n, int o, int p, int q, int r, Tensor t, int[] list) "
                  "-> (int, int)"))
DP_KERNEL(add_float, cxx_forms, CPU, "add_", (kernels::add_<float, 1>), (T), ())
DP_KERNEL(add_double, cxx_forms, CPU, "add_.double", (kernels::add_<double, 2>), (T), ())
DP_KERNEL(next, cxx_forms, CompositeExplicitAutograd, "next", kernels::overloaded, (i), (i))
DP_KERNEL(after, cxx_forms, CompositeExplicitAutograd, "after", kernels::overloaded, (i), (i))
DP_KERNEL(half, cxx_forms, CompositeExplicitAutograd, "half", kernels::overloaded, (f), (f))
DP_KERNEL(many, cxx_forms, CPU, "many", kernels::many,
          (i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, T, li), (i, i))
DP_KERNEL(twice, cxx_forms, CPU, "twice",
          ([](dp_ctx *ctx, dp_tensor *self, dp_value k, dp_tensor **out) {
              dp_tensor *sum = nullptr, *none = nullptr;
              int rc = DP_INVOKE(ctx, "aten::mul.Scalar", (T, s), (T), self, k, &sum);
              if (rc == 0)
                  *out = sum;
              dp_tensor_unref(none);
              return rc;
          }), (T, s), (T))
// clang-format on
