/* scalar.c -- the operations of a program's SCALAR steps, which compute with sizes, Scalar
 * arguments and flags without calling an operator: arithmetic on numbers, comparisons (eq and ne
 * also of strings), and tests of any value.
 *
 * The names and the rounding are Python's: "div" divides truly, "floordiv" and "mod" round to
 * minus infinity, and a bool counts as an int.  A result of arithmetic is complex if an operand
 * is complex, else a float if an operand is a float, else an int; "div" and "pow" never give an
 * int.  Unlike in Python, an int result outside int64 fails, and a float divided by 0 is inf or
 * nan. */
#include "dispatch/call/ctx.h"
#include "dispatch/call/values.h"
#include "program_i.h"
#include <complex.h>
#include <math.h>

enum {
    NUMBERS = 1u << DP_TAG_INT | 1u << DP_TAG_DOUBLE | 1u << DP_TAG_COMPLEX | 1u << DP_TAG_BOOL,
    REALS = 1u << DP_TAG_INT | 1u << DP_TAG_DOUBLE | 1u << DP_TAG_BOOL,
    ARITHMETIC = 1u << DP_TAG_INT | 1u << DP_TAG_DOUBLE | 1u << DP_TAG_COMPLEX,
    TEXTS = 1u << DP_TAG_STR
};

/* -- operands -- */

static bool is_integer(const dp_value *v)
{
    return v->tag == DP_TAG_INT || v->tag == DP_TAG_BOOL;
}

static int64_t integer_of(const dp_value *v)
{
    return v->tag == DP_TAG_BOOL ? v->u.b : v->u.i;
}

static double real_of(const dp_value *v)
{
    return v->tag == DP_TAG_DOUBLE ? v->u.d : (double)integer_of(v);
}

static double _Complex complex_of(const dp_value *v)
{
    return v->tag == DP_TAG_COMPLEX ? __builtin_complex(v->u.doubles[0], v->u.doubles[1])
                                    : __builtin_complex(real_of(v), 0.0);
}

static int fail_overflow(dp_ctx *ctx, const char *name)
{
    return dp_error_set(&ctx->error, DP_EVALUE, "scalar %s: the result does not fit in int64",
                        name);
}

static int give_complex(dp_ctx *ctx, double _Complex z, dp_value *out)
{
    double *parts = dp_arena_alloc_n(&ctx->arena, 2, sizeof(*parts));

    if (parts == NULL)
        return dpi_no_memory(&ctx->error, "a complex number");
    parts[0] = creal(z);
    parts[1] = cimag(z);
    *out = (dp_value){DP_TAG_COMPLEX, 0, {0}};
    out->u.doubles = parts;
    return 0;
}

bool dpi_scalar_true(const dp_value *v)
{
    switch (v->tag) {
    case DP_TAG_BOOL:
        return v->u.b;
    case DP_TAG_INT:
        return v->u.i != 0;
    case DP_TAG_DOUBLE:
        return v->u.d != 0;
    case DP_TAG_COMPLEX:
        return v->u.doubles[0] != 0 || v->u.doubles[1] != 0;
    default:
        return v->tag != DP_TAG_NONE;
    }
}

/* -- arithmetic -- */

/* Compute floor(a / b); b is not 0. */
static int64_t floor_div(int64_t a, int64_t b)
{
    int64_t q = a / b;

    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

/* Define a function of two numbers a and b.  `ints`: expression that sets `r` to the result for
 * ints and is true on overflow.  `reals`, `complexes`: expressions for the results for other
 * types. */
#define ARITHMETIC_OF(name, ints, reals, complexes)                                                \
    static int do_##name(dp_ctx *ctx, const dp_value *v, dp_value *out)                            \
    {                                                                                              \
        if (v[0].tag == DP_TAG_COMPLEX || v[1].tag == DP_TAG_COMPLEX) {                            \
            double _Complex a = complex_of(&v[0]), b = complex_of(&v[1]);                          \
            return give_complex(ctx, complexes, out);                                              \
        }                                                                                          \
        if (is_integer(&v[0]) && is_integer(&v[1])) {                                              \
            int64_t a = integer_of(&v[0]), b = integer_of(&v[1]), r;                               \
            if (ints)                                                                              \
                return fail_overflow(ctx, #name);                                                  \
            *out = dp_int(r);                                                                      \
            return 0;                                                                              \
        }                                                                                          \
        double a = real_of(&v[0]), b = real_of(&v[1]);                                             \
        *out = dp_double(reals);                                                                   \
        return 0;                                                                                  \
    }
ARITHMETIC_OF(add, __builtin_add_overflow(a, b, &r), a + b, a + b)
ARITHMETIC_OF(sub, __builtin_sub_overflow(a, b, &r), a - b, a - b)
ARITHMETIC_OF(mul, __builtin_mul_overflow(a, b, &r), a *b, a *b)
ARITHMETIC_OF(max, (r = a > b ? a : b, false), a > b ? a : b, ((void)b, a))
ARITHMETIC_OF(min, (r = a < b ? a : b, false), a < b ? a : b, ((void)b, a))

static int do_div(dp_ctx *ctx, const dp_value *v, dp_value *out)
{
    if (v[0].tag == DP_TAG_COMPLEX || v[1].tag == DP_TAG_COMPLEX)
        return give_complex(ctx, complex_of(&v[0]) / complex_of(&v[1]), out);
    *out = dp_double(real_of(&v[0]) / real_of(&v[1]));
    return 0;
}

static int do_pow(dp_ctx *ctx, const dp_value *v, dp_value *out)
{
    if (v[0].tag == DP_TAG_COMPLEX || v[1].tag == DP_TAG_COMPLEX)
        return give_complex(ctx, cpow(complex_of(&v[0]), complex_of(&v[1])), out);
    *out = dp_double(pow(real_of(&v[0]), real_of(&v[1])));
    return 0;
}

static int check_divisor(dp_ctx *ctx, const dp_value *v)
{
    int64_t a = integer_of(&v[0]), b = integer_of(&v[1]);

    if (b == 0)
        return dp_error_set(&ctx->error, DP_EVALUE, "scalar division of %lld by 0", (long long)a);
    return b == -1 && a == INT64_MIN ? fail_overflow(ctx, "floordiv") : 0;
}

static int do_floordiv(dp_ctx *ctx, const dp_value *v, dp_value *out)
{
    if (!is_integer(&v[0]) || !is_integer(&v[1])) {
        *out = dp_double(floor(real_of(&v[0]) / real_of(&v[1])));
        return 0;
    }
    int rc = check_divisor(ctx, v);
    if (rc == 0)
        *out = dp_int(floor_div(integer_of(&v[0]), integer_of(&v[1])));
    return rc;
}

static int do_mod(dp_ctx *ctx, const dp_value *v, dp_value *out)
{
    if (!is_integer(&v[0]) || !is_integer(&v[1])) {
        double a = real_of(&v[0]), b = real_of(&v[1]);
        *out = dp_double(a - floor(a / b) * b);
        return 0;
    }
    int rc = check_divisor(ctx, v);
    if (rc == 0) {
        int64_t a = integer_of(&v[0]), b = integer_of(&v[1]);
        *out = dp_int(a - floor_div(a, b) * b);
    }
    return rc;
}

static int do_neg(dp_ctx *ctx, const dp_value *v, dp_value *out)
{
    const dp_value both[2] = {dp_int(0), v[0]};

    if (v->tag != DP_TAG_DOUBLE)
        return do_sub(ctx, both, out);
    *out = dp_double(-v->u.d);
    return 0;
}

static int do_conj(dp_ctx *ctx, const dp_value *v, dp_value *out)
{
    if (v->tag == DP_TAG_COMPLEX)
        return give_complex(ctx, conj(complex_of(v)), out);
    *out = *v;
    return 0;
}

#define REAL_OF(name, expression)                                                                  \
    static int do_##name(dp_ctx *ctx, const dp_value *v, dp_value *out)                            \
    {                                                                                              \
        double x = real_of(v);                                                                     \
        (void)ctx;                                                                                 \
        *out = dp_double(expression);                                                              \
        return 0;                                                                                  \
    }
REAL_OF(log, log(x))
REAL_OF(exp, exp(x))
REAL_OF(sqrt, sqrt(x))

static int do_clog(dp_ctx *ctx, const dp_value *v, dp_value *out)
{
    return v->tag == DP_TAG_COMPLEX ? give_complex(ctx, clog(complex_of(v)), out)
                                    : do_log(ctx, v, out);
}

/* -- tests -- */

static bool are_equal(const dp_value *a, const dp_value *b)
{
    if (a->tag == DP_TAG_STR && b->tag == DP_TAG_STR)
        return a->len == b->len && memcmp(a->u.s, b->u.s, a->len) == 0;
    if (a->tag == DP_TAG_COMPLEX || b->tag == DP_TAG_COMPLEX)
        return complex_of(a) == complex_of(b);
    if (is_integer(a) && is_integer(b))
        return integer_of(a) == integer_of(b);
    return real_of(a) == real_of(b);
}

static bool is_less(const dp_value *a, const dp_value *b)
{
    if (is_integer(a) && is_integer(b))
        return integer_of(a) < integer_of(b);
    return real_of(a) < real_of(b);
}

static bool is_text_of_one(const dp_value *a, const dp_value *b)
{
    return (a->tag == DP_TAG_STR) != (b->tag == DP_TAG_STR);
}

#define TEST_OF(name, expression)                                                                  \
    static int do_##name(dp_ctx *ctx, const dp_value *v, dp_value *out)                            \
    {                                                                                              \
        (void)ctx;                                                                                 \
        *out = dp_bool(expression);                                                                \
        return 0;                                                                                  \
    }
TEST_OF(eq, !is_text_of_one(&v[0], &v[1]) && are_equal(&v[0], &v[1]))
TEST_OF(ne, is_text_of_one(&v[0], &v[1]) || !are_equal(&v[0], &v[1]))
TEST_OF(lt, is_less(&v[0], &v[1]))
TEST_OF(le, is_less(&v[0], &v[1]) || are_equal(&v[0], &v[1]))
TEST_OF(gt, is_less(&v[1], &v[0]))
TEST_OF(ge, is_less(&v[1], &v[0]) || are_equal(&v[0], &v[1]))
TEST_OF(and, dpi_scalar_true(&v[0]) && dpi_scalar_true(&v[1]))
TEST_OF(or, dpi_scalar_true(&v[0]) || dpi_scalar_true(&v[1]))
TEST_OF(not, !dpi_scalar_true(&v[0]))
TEST_OF(is_none, v[0].tag == DP_TAG_NONE)

/* Fail unless both are equal: a program that was captured holds only where a number that depends on
 * data is what it was.  A NaN is equal to a NaN. */
static int do_expect(dp_ctx *ctx, const dp_value *v, dp_value *out)
{
    bool nan = v[0].tag == DP_TAG_DOUBLE && v[1].tag == DP_TAG_DOUBLE && isnan(v[0].u.d) &&
               isnan(v[1].u.d);

    *out = v[0];
    if (nan || (!is_text_of_one(&v[0], &v[1]) && are_equal(&v[0], &v[1])))
        return 0;
    return dp_error_set(&ctx->error, DP_EVALUE,
                        "the program was captured where this number was %.17g, but it is %.17g",
                        creal(complex_of(&v[1])), creal(complex_of(&v[0])));
}

const dpi_scalar dpi_scalars[] = {
    {"add", 2, NUMBERS, ARITHMETIC, do_add},
    {"sub", 2, NUMBERS, ARITHMETIC, do_sub},
    {"mul", 2, NUMBERS, ARITHMETIC, do_mul},
    {"div", 2, NUMBERS, ARITHMETIC & ~(1u << DP_TAG_INT), do_div},
    {"pow", 2, NUMBERS, ARITHMETIC & ~(1u << DP_TAG_INT), do_pow},
    {"floordiv", 2, REALS, REALS & ~(1u << DP_TAG_BOOL), do_floordiv},
    {"mod", 2, REALS, REALS & ~(1u << DP_TAG_BOOL), do_mod},
    {"max", 2, REALS, REALS & ~(1u << DP_TAG_BOOL), do_max},
    {"min", 2, REALS, REALS & ~(1u << DP_TAG_BOOL), do_min},
    {"neg", 1, NUMBERS, ARITHMETIC, do_neg},
    {"conj", 1, NUMBERS, NUMBERS, do_conj},
    {"log", 1, NUMBERS, ARITHMETIC & ~(1u << DP_TAG_INT), do_clog},
    {"exp", 1, REALS, 1u << DP_TAG_DOUBLE, do_exp},
    {"sqrt", 1, REALS, 1u << DP_TAG_DOUBLE, do_sqrt},
    {"eq", 2, NUMBERS | TEXTS, 1u << DP_TAG_BOOL, do_eq},
    {"ne", 2, NUMBERS | TEXTS, 1u << DP_TAG_BOOL, do_ne},
    {"lt", 2, REALS, 1u << DP_TAG_BOOL, do_lt},
    {"le", 2, REALS, 1u << DP_TAG_BOOL, do_le},
    {"gt", 2, REALS, 1u << DP_TAG_BOOL, do_gt},
    {"ge", 2, REALS, 1u << DP_TAG_BOOL, do_ge},
    {"and", 2, DPI_TAGS_ANY, 1u << DP_TAG_BOOL, do_and},
    {"or", 2, DPI_TAGS_ANY, 1u << DP_TAG_BOOL, do_or},
    {"not", 1, DPI_TAGS_ANY, 1u << DP_TAG_BOOL, do_not},
    {"is_none", 1, DPI_TAGS_ANY, 1u << DP_TAG_BOOL, do_is_none},
    {"expect", 2, NUMBERS, NUMBERS, do_expect},
};
const uint32_t dpi_n_scalars = DPI_COUNT(dpi_scalars);

int dpi_scalar_run(dp_ctx *ctx, const dpi_scalar *s, const dp_value *args, dp_value *out)
{
    for (uint32_t i = 0; i < s->n_args; i++)
        if (!(s->arg_tags >> args[i].tag & 1))
            return dp_error_set(&ctx->error, DP_ETYPE, "scalar %s of %s", s->name,
                                dpi_value_kind(&args[i]));
    return s->fn(ctx, args, out);
}
