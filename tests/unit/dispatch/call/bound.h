/* bound.h -- fixture for tests of dp_bind(), which binds positional and keyword arguments to an
 * overload. */
#ifndef BOUND_H
#define BOUND_H

#include "dispatch/records.h"

#define INT(n)                                                                                     \
    {                                                                                              \
        .tag = DP_TAG_INT, .u.i = n                                                                \
    }
#define FLOAT(x)                                                                                   \
    {                                                                                              \
        .tag = DP_TAG_DOUBLE, .u.d = x                                                             \
    }
#define BOOL(x)                                                                                    \
    {                                                                                              \
        .tag = DP_TAG_BOOL, .u.b = x                                                               \
    }
#define STR(x)                                                                                     \
    {                                                                                              \
        .tag = DP_TAG_STR, .len = sizeof(x) - 1, .u.s = x                                          \
    }
#define LIST(...)                                                                                  \
    {                                                                                              \
        .tag = DP_TAG_LIST, .len = sizeof((dp_value[]){__VA_ARGS__}) / sizeof(dp_value),           \
        .u.values = (dp_value[])                                                                   \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define NONE                                                                                       \
    {                                                                                              \
        .tag = DP_TAG_NONE                                                                         \
    }

static dp_registry *reg;
static dp_ctx *ctx;
static dp_tensor *two;   /* [2] float32 */
static dp_tensor *point; /* 0-dim int64 tensor of value 7 */

static inline void setup(void)
{
    dp_error err = DP_ERROR_INIT;
    const int64_t sizes[] = {2}, seven = 7;

    reg = rec_registry();
    ck_assert_int_eq(dp_ctx_new(reg, &ctx, &err), 0);
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, sizes, NULL, &two, &err), 0);
    ck_assert_int_eq(dp_tensor_new(DP_INT64, DP_DEVICE_CPU, 0, NULL, NULL, &point, &err), 0);
    ck_assert_int_eq(dp_tensor_write(point, &seven, &err), 0);
}

static inline void teardown(void)
{
    dp_tensor_unref(two);
    dp_tensor_unref(point);
    dp_ctx_free(ctx);
    dp_registry_free(reg);
}

/* Attach unit `name`, which defines the `schemas` [n] in namespace t. */
static inline dp_unit *define(const char *name, const char *const *schemas, size_t n)
{
    dp_item *items = calloc(n, sizeof(*items)); /* the unit copies them */

    for (size_t i = 0; i < n; i++)
        items[i] = (dp_item)REC_DEF(schemas[i]);
    dp_block block = REC_PLAIN(DP_BLOCK_FRAGMENT, 0, 1, "t", "", NULL);
    block.items = items;
    block.n_items = (uint32_t)n;
    dp_unit *u = rec_attach(reg, name, &block, 1);
    free(items);
    return u;
}
#define DEFINE(name, ...)                                                                          \
    define(name, (const char *const[]){__VA_ARGS__},                                               \
           DPI_COUNT(((const char *const[]){__VA_ARGS__})))

static inline void show(dpi_text *t, const dp_value *v)
{
    switch (v->tag) {
    case DP_TAG_NONE:
        dpi_text_add(t, "None");
        return;
    case DP_TAG_TENSOR:
        dpi_text_add(t, v->u.t == two                  ? "two"
                        : dp_tensor_is_wrapped(v->u.t) ? "wrapped "
                                                       : "tensor ");
        if (v->u.t != two)
            dpi_text_add(t, dp_dtype_name(v->u.t->dtype));
        return;
    case DP_TAG_INT:
        dpi_text_printf(t, "%lld", (long long)v->u.i);
        return;
    case DP_TAG_DOUBLE:
        dpi_text_printf(t, "%.1f", v->u.d);
        return;
    case DP_TAG_BOOL:
        dpi_text_add(t, v->u.b ? "true" : "false");
        return;
    case DP_TAG_COMPLEX:
        dpi_text_printf(t, "%.1f%+.1fj", v->u.doubles[0], v->u.doubles[1]);
        return;
    case DP_TAG_STR:
        dpi_text_printf(t, "'%s'", v->u.s);
        return;
    default:
        break;
    }
    ck_assert_ptr_ne(v->u.values, NULL); /* empty lists, too */
    dpi_text_printf(t, "%s[", v->tag == DP_TAG_LIST ? "list" : dpi_value_kind(v));
    for (uint32_t i = 0; i < v->len; i++) {
        dp_value e = v->tag == DP_TAG_TENSORS   ? dp_tensor_value(v->u.tensors[i])
                     : v->tag == DP_TAG_INTS    ? dp_int(v->u.ints[i])
                     : v->tag == DP_TAG_DOUBLES ? dp_double(v->u.doubles[i])
                     : v->tag == DP_TAG_BOOLS   ? dp_bool(v->u.bools[i])
                                                : v->u.values[i];
        dpi_text_add(t, i ? ", " : "");
        show(t, &e);
    }
    dpi_text_add(t, "]");
}

/* Bind a call of `name`, and check that the result, written as "t::op(values)", or else the error,
 * written as "CodeName: message", is `want`. */
static inline void expect_call(const char *name, const dp_value *args, size_t n,
                               const dp_kwarg *kwargs, size_t n_kwargs, const char *want)
{
    dpi_text t = {0};
    dp_bound b;
    int rc = dp_bind(ctx, name, args, n, kwargs, n_kwargs, &b);

    if (rc < 0) {
        ck_assert_int_eq(rc, dp_ctx_error(ctx)->code);
        dpi_text_printf(&t, "%s: %s", dp_error_name(rc), dp_ctx_error(ctx)->message);
    } else {
        dpi_text_printf(&t, "%s(", dp_op_name(b.op));
        for (uint32_t i = 0; i < b.n_args; i++) {
            dpi_text_add(&t, i ? ", " : "");
            show(&t, &b.args[i]);
        }
        dpi_text_add(&t, ")");
    }
    ck_assert_str_eq(t.s, want);
    dpi_text_fini(&t);
    dp_ctx_reset(ctx);
}
#define EXPECT(want, name, ...)                                                                    \
    expect_call(name, (const dp_value[]){__VA_ARGS__},                                             \
                sizeof((const dp_value[]){__VA_ARGS__}) / sizeof(dp_value), NULL, 0, want)

#endif
