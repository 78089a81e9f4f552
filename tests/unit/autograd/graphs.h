/* graphs.h -- fixture for tests of autograd: a registry with operators that have derivative
 * formulas, and the aten operators that the engine calls; and helpers for calls, leaves and
 * backward. */
#ifndef GRAPHS_H
#define GRAPHS_H

#include "../alive.h"
#include "autograd/history.h"
#include "dispatch/records.h"

static dp_registry *reg;
static dp_ctx *ctx;
static dp_cancel_flag cancel;
static int runs; /* calls of t::count */

/* -- kernels of float32 on the CPU -- */

static inline dp_view view_of_tensor(const dp_tensor *t)
{
    dp_view v = {.size = sizeof(v)};

    dp_tensor_view(t, &v);
    return v;
}

/* Return the address of element `i` of `v` in row-major order; if v has one element, its
 * address. */
static inline float *element(const dp_view *v, int64_t i)
{
    int64_t at = 0;

    for (int d = v->ndim - 1; d >= 0 && v->numel > 1; d--) {
        at += i % v->sizes[d] * v->strides[d];
        i /= v->sizes[d];
    }
    return (float *)v->data + at;
}

/* Set `to` to a * b if `times`, otherwise to a + b. */
static inline void combine(dp_tensor *to, const dp_tensor *a, const dp_tensor *b, bool times)
{
    dp_view o = view_of_tensor(to), x = view_of_tensor(a), y = view_of_tensor(b);

    for (int64_t i = 0; i < o.numel; i++) {
        float p = *element(&x, i), q = *element(&y, i);
        *element(&o, i) = times ? p * q : p + q;
    }
}

static inline int give(dp_call *call, int rc, dp_tensor *made)
{
    if (rc == 0)
        call->rets[0] = dp_tensor_value(made);
    return rc;
}

static inline int combined(dp_call *call, bool times)
{
    dp_tensor *a = call->args[0].u.t, *b = call->args[1].u.t, *out;
    dp_tensor *larger = dpi_geometry_of(a)->numel < dpi_geometry_of(b)->numel ? b : a;
    int rc = dp_empty_like(call->ctx, larger, DP_DTYPE_NONE, DP_PRESERVE, &out);

    if (rc == 0)
        combine(out, a, b, times);
    return give(call, rc, out);
}
static inline int add_kernel(dp_call *call)
{
    return combined(call, false);
}
static inline int mul_kernel(dp_call *call)
{
    return combined(call, true);
}
/* Arguments and result of the dp_backward() that call_backward() runs inside a kernel. */
static struct nested {
    dp_tensor *root;
    uint32_t flags;
    int rc;
    bool in_add; /* the next add_ calls backward */
} nested;
static inline void call_backward(dp_ctx *inside)
{
    const dp_backward_options o = {
        .size = sizeof(o), .flags = nested.flags, .tensors = &nested.root, .n = 1};

    nested.rc = dp_backward(inside, &o);
}
static inline int add_in_place(dp_call *call)
{
    if (nested.in_add) {
        nested.in_add = false;
        call_backward(call->ctx);
        if (nested.rc < 0)
            return nested.rc;
    }
    combine(call->args[0].u.t, call->args[0].u.t, call->args[1].u.t, false);
    return 0;
}
static inline int mul_in_place(dp_call *call)
{
    combine(call->args[0].u.t, call->args[0].u.t, call->args[1].u.t, true);
    return 0;
}
static inline int add_out(dp_call *call)
{
    combine(call->args[2].u.t, call->args[0].u.t, call->args[1].u.t, false);
    return 0;
}
static inline int clone_kernel(dp_call *call)
{
    dp_tensor *out;
    int rc = dp_empty_like(call->ctx, call->args[0].u.t, DP_DTYPE_NONE, DP_PRESERVE, &out);

    if (rc == 0 && (rc = dp_copy(call->ctx, out, call->args[0].u.t)) < 0)
        dp_tensor_unref(out);
    return give(call, rc, out);
}
static inline int full_of(dp_call *call, float x, const dp_value *dtype)
{
    dp_dtype d = dtype->tag == DP_TAG_INT ? (dp_dtype)dtype->u.i : DP_FLOAT32;
    dp_tensor *out, *one = NULL;
    int rc = dp_empty(call->ctx, d, DP_DEVICE_CPU, (int)call->args[0].len, call->args[0].u.ints,
                      DP_CONTIGUOUS, &out);

    if (rc < 0)
        return rc;
    if ((rc = dp_scalar_tensor(call->ctx, dp_double(x), d, &one)) == 0)
        rc = dp_copy(call->ctx, out, one);
    dp_tensor_unref(one);
    if (rc < 0)
        dp_tensor_unref(out);
    return give(call, rc, out);
}
static inline int zeros_kernel(dp_call *call)
{
    return full_of(call, 0, &call->args[1]);
}
static inline int full_kernel(dp_call *call)
{
    return full_of(call, (float)call->args[1].u.i, &call->args[2]);
}
static inline int zero_in_place(dp_call *call)
{
    dp_view v = view_of_tensor(call->args[0].u.t);

    for (int64_t i = 0; i < v.numel; i++)
        *element(&v, i) = 0;
    return 0;
}
static inline int copy_in_place(dp_call *call)
{
    return dp_copy(call->ctx, call->args[0].u.t, call->args[1].u.t);
}
static inline int strided_kernel(dp_call *call)
{
    const dp_value *a = call->args;
    dp_tensor *out;
    int rc =
        dp_as_strided(call->ctx, a[0].u.t, (int)a[1].len, a[1].u.ints, a[2].u.ints, a[3].u.i, &out);

    return give(call, rc, out);
}
/* Return the sum of all elements as a tensor with `ndim` dimensions of size 1. */
static inline int sum_all(dp_call *call, int ndim)
{
    static const int64_t ones[4] = {1, 1, 1, 1};
    dp_view v = view_of_tensor(call->args[0].u.t);
    dp_tensor *out;
    int rc = dp_empty(call->ctx, DP_FLOAT32, DP_DEVICE_CPU, ndim, ones, DP_CONTIGUOUS, &out);

    if (rc < 0)
        return rc;
    dp_view o = view_of_tensor(out);
    *element(&o, 0) = 0;
    for (int64_t i = 0; i < v.numel; i++)
        *element(&o, 0) += *element(&v, i);
    return give(call, 0, out);
}
static inline int sum_kernel(dp_call *call)
{
    return sum_all(call, 0);
}
static inline int sum_dim_kernel(dp_call *call)
{
    return sum_all(call, 1);
}
static inline int sum_to_size_kernel(dp_call *call)
{
    return sum_all(call, (int)call->args[1].len);
}
static inline int to_kernel(dp_call *call)
{
    dp_tensor *out;
    int rc =
        dp_empty_like(call->ctx, call->args[0].u.t, (dp_dtype)call->args[1].u.i, DP_PRESERVE, &out);

    if (rc == 0 && (rc = dp_copy(call->ctx, out, call->args[0].u.t)) < 0)
        dp_tensor_unref(out);
    return give(call, rc, out);
}
static inline int real_kernel(dp_call *call)
{
    const dp_tensor *t = call->args[0].u.t;
    int64_t strides[1] = {2};
    dp_tensor *out;
    int rc =
        dp_view_as(call->ctx, t, DP_FLOAT32, 0, 1, dpi_geometry_of(t)->sizes, strides, 0, &out);

    return give(call, rc, out);
}
/* Return a view of elements 1 and 3 of a vector with 4 elements. */
static inline int half_kernel(dp_call *call)
{
    int64_t sizes[1] = {2}, strides[1] = {2};
    dp_tensor *out;
    int rc = dp_as_strided(call->ctx, call->args[0].u.t, 1, sizes, strides, 1, &out);

    return give(call, rc, out);
}
static inline int unhalf_kernel(dp_call *call)
{
    dp_tensor *out;
    int rc = full_of(call, 0, &(dp_value){0});

    if (rc < 0)
        return rc;
    out = call->rets[0].u.t;
    dp_view o = view_of_tensor(out), g = view_of_tensor(call->args[1].u.t);
    *element(&o, 1) = *element(&g, 0);
    *element(&o, 3) = *element(&g, 1);
    return 0;
}
static inline int list_of(dp_call *call, int n, bool views)
{
    dp_tensor **list = dp_alloc(call->ctx, (size_t)n * sizeof(*list));
    const dp_tensor *t = call->args[0].u.t;
    int rc = list != NULL ? 0 : DP_ERESOURCE;
    int made = 0;

    for (; made < n && rc == 0; made += rc == 0)
        rc = views ? dp_as_strided(call->ctx, t, dpi_geometry_of(t)->ndim,
                                   dpi_geometry_of(t)->sizes, NULL, 0, &list[made])
                   : dp_empty_like(call->ctx, t, DP_DTYPE_NONE, DP_PRESERVE, &list[made]);
    for (int i = 0; i < made && rc == 0 && !views; i++)
        rc = dp_copy(call->ctx, list[i], t);
    for (int i = 0; i < made && rc < 0; i++)
        dp_tensor_unref(list[i]);
    if (rc == 0)
        call->rets[0] = dp_tensors(list, (size_t)n);
    return rc;
}
static inline int many_kernel(dp_call *call)
{
    return list_of(call, 20, false);
}
static inline int pair_kernel(dp_call *call)
{
    return list_of(call, 2, true);
}
/* Return the sum of the tensors of the list, which has at least two. */
static inline int total_kernel(dp_call *call)
{
    const dp_value *list = &call->args[0];
    dp_tensor *out;
    int rc = dp_empty_like(call->ctx, list->u.tensors[0], DP_DTYPE_NONE, DP_PRESERVE, &out);

    if (rc < 0)
        return rc;
    combine(out, list->u.tensors[0], list->u.tensors[1], false);
    for (uint32_t i = 2; i < list->len; i++)
        combine(out, out, list->u.tensors[i], false);
    return give(call, rc, out);
}
static inline int both_kernel(dp_call *call)
{
    int rc = mul_kernel(call);

    if (rc < 0)
        return rc;
    dp_tensor *product = call->rets[0].u.t, *sum;
    rc = dp_empty_like(call->ctx, product, DP_DTYPE_NONE, DP_PRESERVE, &sum);
    if (rc < 0) {
        dp_tensor_unref(product);
        return rc;
    }
    combine(sum, call->args[0].u.t, call->args[1].u.t, false);
    call->rets[1] = dp_tensor_value(sum);
    return 0;
}
static inline int cancel_kernel(dp_call *call)
{
    atomic_store(&cancel, 1);
    return clone_kernel(call);
}
static inline int count_kernel(dp_call *call)
{
    runs++;
    return clone_kernel(call);
}

static const dp_item aten_defs[] = {
    REC_DEF("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"),
    REC_DEF("add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)"),
    REC_DEF("add.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)"),
    REC_DEF("mul.Tensor(Tensor self, Tensor other) -> Tensor"),
    REC_DEF("mul_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)"),
    REC_DEF("clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor"),
    REC_DEF("zeros(int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None,"
            " bool? pin_memory=None) -> Tensor"),
    REC_DEF("full(int[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, "
            "Device? device=None, bool? pin_memory=None) -> Tensor"),
    REC_DEF("zero_(Tensor(a!) self) -> Tensor(a!)"),
    REC_DEF("copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)"),
    REC_DEF("as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? "
            "storage_offset=None) -> Tensor(a)"),
    REC_DEF("sum(Tensor self) -> Tensor"),
    REC_DEF("sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? "
            "dtype=None) -> Tensor"),
    REC_DEF("sum_to_size(Tensor self, SymInt[] size) -> Tensor"),
    REC_DEF("to.dtype(Tensor self, ScalarType dtype, bool non_blocking=False, bool copy=False, "
            "MemoryFormat? memory_format=None) -> Tensor"),
    REC_DEF("real(Tensor(a) self) -> Tensor(a)"),
};
static const dp_item aten_kernels[] = {
    REC_IMPL("add.Tensor", add_kernel),
    REC_IMPL("add_.Tensor", add_in_place),
    REC_IMPL("add.out", add_out),
    REC_IMPL("mul.Tensor", mul_kernel),
    REC_IMPL("mul_.Tensor", mul_in_place),
    REC_IMPL("clone", clone_kernel),
    REC_IMPL("zero_", zero_in_place),
    REC_IMPL("copy_", copy_in_place),
    REC_IMPL("as_strided", strided_kernel),
    REC_IMPL("sum", sum_kernel),
    REC_IMPL("sum.dim_IntList", sum_dim_kernel),
    REC_IMPL("sum_to_size", sum_to_size_kernel),
    REC_IMPL("to.dtype", to_kernel),
    REC_IMPL("real", real_kernel),
};
static const dp_item factories[] = {
    REC_IMPL("zeros", zeros_kernel),
    REC_IMPL("full", full_kernel),
};
static const dp_item t_defs[] = {
    REC_DEF("square(Tensor self) -> Tensor"),
    REC_DEF("plain(Tensor self) -> Tensor"),
    REC_DEF("half(Tensor(a) self) -> Tensor(a)"),
    REC_DEF("unhalf(int[] sizes, Tensor grad) -> Tensor"),
    REC_DEF("many(Tensor self) -> Tensor[]"),
    REC_DEF("pair(Tensor(a -> *) self) -> Tensor(a)[]"),
    REC_DEF("total(Tensor[] x) -> Tensor"),
    REC_DEF("both(Tensor self, Tensor other) -> (Tensor, Tensor)"),
    REC_DEF("product_only(Tensor self, Tensor other) -> (Tensor, Tensor)"),
    REC_DEF("through(Tensor self) -> Tensor"),
    REC_DEF("stops(Tensor self) -> Tensor"),
    REC_DEF("cancel(Tensor self) -> Tensor"),
    REC_DEF("count(Tensor self) -> Tensor"),
    REC_DEF("wrong(Tensor self) -> Tensor"),
    REC_DEF("cube(Tensor self) -> Tensor"),
    REC_DEF("copied(Tensor self) -> Tensor"),
    REC_DEF("nests(Tensor self) -> Tensor"),
    REC_DEF("again(Tensor self) -> Tensor"),
    REC_DEF("reshaped_(Tensor(a!) self) -> Tensor(a!)"),
};
static inline int square_kernel(dp_call *call)
{
    const dp_value args[2] = {call->args[0], call->args[0]};
    dp_call twice = *call;

    twice.args = args;
    return mul_kernel(&twice);
}
/* Call other operators, whose calls are recorded instead of the call of t::cube (its formula has
 * the flag "through"). */
static inline int cube_kernel(dp_call *call)
{
    dp_tensor *square, *cube;
    dp_value args[2] = {call->args[0], {0}};
    int rc = dpi_call_one(call->ctx, "t::square", args, 1, &square);

    if (rc < 0)
        return rc;
    args[1] = dp_tensor_value(square);
    rc = dpi_call_one(call->ctx, "aten::mul.Tensor", args, 2, &cube);
    dp_tensor_unref(square);
    return give(call, rc, cube);
}
static inline int again_kernel(dp_call *call)
{
    call_backward(call->ctx);
    return nested.rc < 0 ? nested.rc : clone_kernel(call);
}
static inline int nothing_kernel(dp_call *call)
{
    (void)call;
    return 0;
}
static const dp_item t_kernels[] = {
    REC_IMPL("square", square_kernel),     REC_IMPL("plain", clone_kernel),
    REC_IMPL("half", half_kernel),         REC_IMPL("unhalf", unhalf_kernel),
    REC_IMPL("many", many_kernel),         REC_IMPL("pair", pair_kernel),
    REC_IMPL("total", total_kernel),       REC_IMPL("both", both_kernel),
    REC_IMPL("through", clone_kernel),     REC_IMPL("stops", clone_kernel),
    REC_IMPL("cancel", cancel_kernel),     REC_IMPL("count", count_kernel),
    REC_IMPL("wrong", clone_kernel),       REC_IMPL("product_only", both_kernel),
    REC_IMPL("cube", cube_kernel),         REC_IMPL("copied", clone_kernel),
    REC_IMPL("reshaped_", nothing_kernel), REC_IMPL("again", again_kernel),
    REC_IMPL("nests", clone_kernel),
};

/* -- formulas -- */

#define FORMULA_FLAGS(op, flags, text)                                                             \
    {                                                                                              \
        .size = sizeof(dp_item), .kind = DP_ITEM_FORMULA, .name = op,                              \
        .code = "flags " flags "\n" text                                                           \
    }
#define FORMULA(op, text) FORMULA_FLAGS(op, "", text)
#define PRODUCT                                                                                    \
    "in grad Tensor\nin self Tensor\nin other Tensor\n"                                            \
    "a = aten::mul.Tensor(grad, other)\nb = aten::mul.Tensor(grad, self)\n"                        \
    "out self a\nout other b\n"

static const dp_item aten_formulas[] = {
    FORMULA("add.Tensor", "in grad Tensor\nout self grad\nout other grad\n"),
    FORMULA("add_.Tensor", "in grad Tensor\nout self grad\nout other grad\n"),
    FORMULA("mul.Tensor", PRODUCT),
    FORMULA_FLAGS("mul_.Tensor", "clone=self", PRODUCT),
    FORMULA("clone", "in grad Tensor\nout self grad\n"),
    FORMULA("sum", "in grad Tensor\nin self.sizes int[]\n"
                   "a = aten::zeros(self.sizes)\nb = aten::add.Tensor(a, grad)\nout self b\n"),
    FORMULA("copy_", "in grad Tensor\nin self.sizes int[]\na = aten::zeros(self.sizes)\n"
                     "out self a\nout src grad\n"),
};
static const dp_item t_formulas[] = {
    FORMULA("square", "in grad Tensor\nin self Tensor\na = aten::mul.Tensor(grad, self)\n"
                      "b = aten::add.Tensor(a, a)\nout self b\n"),
    FORMULA("half", "in grad Tensor\nin self.sizes int[]\na = t::unhalf(self.sizes, grad)\n"
                    "out self a\n"),
    FORMULA("many", "in grad Tensor[]\na = t::total(grad)\nout self a\n"),
    FORMULA("pair", "in grad Tensor[]\na = t::total(grad)\nout self a\n"),
    FORMULA("total", "in grad Tensor\nin x.len int\nl = [grad, grad]\nout x l\n"),
    FORMULA("both", "in grad Tensor?\nin grad1 Tensor\nin self Tensor\nin other Tensor\n"
                    "in need.other bool\n"
                    "n = scalar is_none(grad)\nd = scalar not(n)\n"
                    "a = when d: aten::mul.Tensor(grad, other)\n"
                    "b = when d: aten::add.Tensor(a, grad1)\n"
                    "c = select(d, b, grad1)\n"
                    "e = when need.other: t::count(grad1)\n"
                    "out self c\nout other e\n"),
    FORMULA_FLAGS("product_only", "differentiable=10", PRODUCT),
    FORMULA_FLAGS("cube", "through", ""),
    /* like the formula of exp: the gradient times the operator's result */
    FORMULA("copied", "in grad Tensor\nin need.self bool\nin result Tensor\n"
                      "a = aten::mul.Tensor(grad, result)\nout self a\n"),
    FORMULA_FLAGS("reshaped_", "reshapes", "in grad Tensor\nout self grad\n"),
    FORMULA("through", "in grad Tensor\na = t::count(grad)\nout self a\n"),
    FORMULA("nests", "in grad Tensor\na = t::again(grad)\nout self a\n"),
    FORMULA("stops", "in grad Tensor\na = t::cancel(grad)\nout self a\n"),
};

static const dp_block graph_blocks[] = {
    REC_BLOCK(DP_BLOCK_LIBRARY, 1, "aten", "", aten_defs),
    REC_BLOCK(DP_BLOCK_IMPL, 2, "aten", "CPU", aten_kernels),
    REC_BLOCK(DP_BLOCK_IMPL, 3, "aten", "CompositeExplicitAutograd", factories),
    REC_BLOCK(DP_BLOCK_LIBRARY, 4, "t", "", t_defs),
    REC_BLOCK(DP_BLOCK_IMPL, 5, "t", "CPU", t_kernels),
    REC_BLOCK(DP_BLOCK_IMPL, 6, "aten", "AutogradFormula", aten_formulas),
    REC_BLOCK(DP_BLOCK_IMPL, 7, "t", "AutogradFormula", t_formulas),
    REC_PLAIN(DP_BLOCK_FALLBACK, DP_FLAG_GRAD, 8, "_", "AutogradFunctionality", dp_record),
};

/* -- fixture -- */

static inline void graphs_setup(void)
{
    dp_error err = DP_ERROR_INIT;

    alive_begin();
    reg = rec_registry();
    rec_attach(reg, "graphs", graph_blocks, DPI_COUNT(graph_blocks));
    ck_assert_int_eq(dp_ctx_new(reg, &ctx, &err), 0);
    atomic_store(&cancel, 0);
    runs = 0;
    nested = (struct nested){0};
}

/* Check that a test left no node and no tensor, and that the registry is in order. */
static inline void graphs_teardown(void)
{
    ctx = dp_ctx_free(ctx);
    dpi_node_drop_wait();
    ck_assert_uint_eq(dp_grad_nodes(), 0);
    rec_check(reg);
    reg = dp_registry_free(reg);
    alive_end();
}

/* -- helpers of tests -- */

static inline const char *said(void)
{
    return dp_ctx_error(ctx)->message;
}

/* Check that `rc` and the code of the context's error are `code`, and that the error's message
 * contains `part`. */
static inline void refused(int rc, int code, const char *part)
{
    ck_assert_msg(rc == code, "%d, want %d: %s", rc, code, rc < 0 ? said() : "");
    ck_assert_int_eq(dp_ctx_error(ctx)->code, code);
    ck_assert_msg(strstr(said(), part) != NULL, "no '%s' in '%s'", part, said());
}

static inline dp_tensor *floats(int64_t n, const float *values)
{
    dp_error err = DP_ERROR_INIT;
    dp_tensor *t = NULL;

    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, &n, NULL, &t, &err), 0);
    ck_assert_int_eq(dp_tensor_write(t, values, &err), 0);
    return t;
}

static inline dp_tensor *leaf(int64_t n, const float *values)
{
    dp_tensor *t = floats(n, values);

    ck_assert_int_eq(dp_tensor_set_requires_grad(ctx, t, true), 0);
    return t;
}
#define FLOATS(...)                                                                                \
    (int64_t)(sizeof((float[]){__VA_ARGS__}) / sizeof(float)), (float[])                           \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static inline void is_floats(const dp_tensor *t, int64_t n, const float *want)
{
    dp_error err = DP_ERROR_INIT;
    float got[64];

    ck_assert_ptr_nonnull(t);
    ck_assert_int_eq(t->dtype, DP_FLOAT32);
    ck_assert_int_eq(dpi_geometry_of(t)->numel, n);
    ck_assert_int_eq(dp_tensor_read(t, got, &err), 0);
    for (int64_t i = 0; i < n; i++)
        unit_each(got[i] == want[i], "element %d: %g, want %g", (int)i, (double)got[i],
                  (double)want[i]);
}

static inline int try_call(const char *op, const dp_value *args, size_t n, dp_tensor **out)
{
    return dpi_call_one(ctx, op, args, n, out);
}

static inline dp_tensor *call1(const char *op, dp_tensor *x)
{
    const dp_value args[2] = {dp_tensor_value(x), {0}};
    dp_tensor *out;
    int rc = try_call(op, args, strcmp(op, "aten::clone") == 0 ? 2 : 1, &out);

    ck_assert_msg(rc == 0, "%s: %s", op, said());
    return out;
}

static inline int try_call2(const char *op, dp_tensor *x, dp_tensor *y, dp_tensor **out)
{
    const dp_value args[3] = {dp_tensor_value(x), dp_tensor_value(y), dp_int(1)};

    return try_call(op, args, strncmp(op, "aten::add", 9) == 0 ? 3 : 2, out);
}

static inline dp_tensor *call2(const char *op, dp_tensor *x, dp_tensor *y)
{
    dp_tensor *out;
    int rc = try_call2(op, x, y, &out);

    ck_assert_msg(rc == 0, "%s: %s", op, said());
    return out;
}

/* Call an in-place operator on x and y, and release the reference to x that it returns. */
static inline void write2(const char *op, dp_tensor *x, dp_tensor *y)
{
    dp_tensor *same = call2(op, x, y);

    ck_assert_ptr_eq(same, x);
    dp_tensor_unref(same);
}

/* Run backward from y, whose gradient is `grad`; NULL: 1. */
static inline int try_backward(dp_tensor *y, dp_tensor *grad, uint32_t flags)
{
    const dp_backward_options o = {
        .size = sizeof(o), .flags = flags, .tensors = &y, .gradients = &grad, .n = 1};

    return dp_backward(ctx, &o);
}

static inline void backward(dp_tensor *y)
{
    int rc = try_backward(y, NULL, 0);

    ck_assert_msg(rc == 0, "%s", said());
}

static inline int gradients_of(dp_tensor *y, size_t n, dp_tensor *const *inputs, dp_tensor **grads,
                               uint32_t flags)
{
    const dp_backward_options o = {.size = sizeof(o),
                                   .flags = flags,
                                   .tensors = &y,
                                   .n = y != NULL,
                                   .inputs = inputs,
                                   .n_inputs = n,
                                   .grads = grads};

    return dp_backward(ctx, &o);
}

/* Check that the gradient of t has the elements `want` [n]. */
static inline void has_grad(const dp_tensor *t, int64_t n, const float *want)
{
    dp_tensor *grad = dp_tensor_grad(t);

    is_floats(grad, n, want);
    dp_tensor_unref(grad);
}

static inline void drop(int n, dp_tensor *const *tensors)
{
    for (int i = 0; i < n; i++)
        dp_tensor_unref(tensors[i]);
}
#define DROP(...)                                                                                  \
    drop((int)(sizeof((dp_tensor *[]){__VA_ARGS__}) / sizeof(dp_tensor *)),                        \
         (dp_tensor *[]){__VA_ARGS__})

/* Run `body` again and again; in the n-th run, make its n-th allocation fail, until a run has fewer
 * than n allocations.  Check that each run returns 0 or DP_ERESOURCE, and leaves no nodes and no
 * tensors.  Return the number of allocations that failed. */
static inline uint64_t each_allocation(int (*body)(void))
{
    bool hit = true;
    uint64_t n = 1;

    for (; hit; n++) {
        uint64_t nodes = dp_grad_nodes();
        dp_tensor_stats before = alive();
        dp_fault_arm(n);
        int rc = body();
        hit = dp_fault_hit();
        dp_fault_arm(0);
        unit_each(rc == 0 || (hit && rc == DP_ERESOURCE), "allocation %llu: %d %s",
                  (unsigned long long)n, rc, said());
        unit_each(dp_grad_nodes() == nodes, "allocation %llu left nodes", (unsigned long long)n);
        unit_each(alive().tensors == before.tensors, "allocation %llu left tensors",
                  (unsigned long long)n);
        dp_ctx_reset(ctx);
        unit_each(n < 10000, "it never succeeds");
    }
    return n - 2;
}

#endif
