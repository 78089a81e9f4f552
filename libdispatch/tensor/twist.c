/* twist.c -- apply the bits Conjugate and Negative of a tensor to its bytes (resolve_conj,
 * resolve_neg). */
#include "nest.h"

/* Negate `n` numbers of `type`.  Integers are negated in two's complement; for floating-point
 * numbers, also 0 and NaN, the sign bit is inverted. */
#define NEGATE(name, type, expr)                                                                   \
    static void name(char *data, int64_t stride, int64_t n)                                        \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++, data += stride) {                                          \
            type v;                                                                                \
            memcpy(&v, data, sizeof(v));                                                           \
            v = (type)(expr);                                                                      \
            memcpy(data, &v, sizeof(v));                                                           \
        }                                                                                          \
    }
NEGATE(negate_8, uint8_t, -v)
NEGATE(negate_16, uint16_t, -v)
NEGATE(negate_32, uint32_t, -v)
NEGATE(negate_64, uint64_t, -v)
NEGATE(sign_16, uint16_t, v ^ 0x8000)
NEGATE(sign_32, uint32_t, v ^ 0x80000000U)
NEGATE(sign_64, uint64_t, v ^ 0x8000000000000000U)

typedef void (*negate_fn)(char *data, int64_t stride, int64_t n);

/* Return the function that negates elements of `dtype`; for a complex dtype, the function that
 * negates one of an element's two numbers.  NULL: a bool or a quantized element, which has no
 * negative. */
static negate_fn negate_of(dp_dtype dtype)
{
    static const negate_fn integers[] = {
        [1] = negate_8, [2] = negate_16, [4] = negate_32, [8] = negate_64};
    static const negate_fn floats[] = {[2] = sign_16, [4] = sign_32, [8] = sign_64};
    size_t size = dp_dtype_size(dtype);

    if (dp_dtype_is_integral(dtype, false))
        return integers[size];
    return dp_dtype_is_floating(dtype)  ? floats[size]
           : dp_dtype_is_complex(dtype) ? floats[size / 2]
                                        : NULL;
}

typedef struct negation {
    negate_fn real, imag; /* NULL: no change */
    int64_t half;         /* bytes from the real to the imaginary part */
} negation;

static void run(char *const *data, const int64_t *strides, int64_t n, void *user)
{
    const negation *t = user;

    if (t->real)
        t->real(data[0], strides[0], n);
    if (t->imag)
        t->imag(data[0] + t->half, strides[0], n);
}

void dpi_twist(dp_dtype dtype, uint64_t bits, int ndim, const int64_t *sizes,
               const int64_t *strides, char *data)
{
    int64_t at[DP_DIM_MAX + 1], steps[DP_DIM_MAX + 1], itemsize = (int64_t)dp_dtype_size(dtype);
    dpi_nest nest = {
        .n_ops = 1, .ndim = ndim ? ndim : 1, .numel = 1, .sizes = at, .strides = steps};
    bool is_complex = dp_dtype_is_complex(dtype), negative = bits & DPI_BIT(Negative);
    bool conjugate = is_complex && bits & DPI_BIT(Conjugate);
    negate_fn negate = negate_of(dtype);
    negation t = {negative ? negate : NULL, is_complex && negative != conjugate ? negate : NULL,
                  itemsize / 2};

    nest.data[0] = data;
    at[0] = 1;
    steps[0] = 0;
    for (int d = 0; d < ndim; d++)
        if (sizes[d] == 0)
            return;
    for (int d = 0; d < ndim; d++) { /* the stride of a dimension of size 1 may be any number */
        at[ndim - 1 - d] = sizes[d];
        steps[ndim - 1 - d] = sizes[d] > 1 ? strides[d] * itemsize : 0;
        nest.numel *= sizes[d];
    }
    if (t.real || t.imag)
        dpi_nest_run(&nest, 0, nest.numel, run, &t);
}
