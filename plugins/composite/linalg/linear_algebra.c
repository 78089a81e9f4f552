/* linear_algebra.c -- operators that call one other operator of linear algebra, with added
 * arguments, and return some of its outputs; each as a functional and as an out= variant
 * (aten/src/ATen/native/BatchLinearAlgebra.cpp, LinearAlgebra.cpp).
 *
 * Operators: det, inverse, linalg_cholesky, linalg_det, linalg_eigh, linalg_eigvalsh, linalg_inv,
 * linalg_ldl_factor, linalg_lu_factor, linalg_slogdet, linalg_solve, linalg_solve_ex, linalg_svd,
 * linalg_svdvals, lu_solve, _lu_with_info, matrix_exp, matrix_power, orgqr, qr, slogdet. */
#include "linalg.h"
#include <string.h>

/* The operator that is called, and what it returns.  `rets` has a letter for each of its returns: 0
 * to 3 if it is that output of ours; else the dtype of the tensor to make for it if the call has
 * out=: a (the first argument's), r (its real dtype) or i (int32). */
typedef struct route {
    const char *op, *out; /* the functional and the out= overload */
    uint32_t n_args;
    const char *rets;
    /* the name under which the return `info` is checked; NULL: info is not checked */
    const char *check;
    int info;
} route;

enum { ARGS_MAX = 8 };

/* Call the out= overload.  all [OUTS_MAX], owned, is set to its outputs. */
static int follow_out(dp_ctx *ctx, const route *r, const dp_value *args, outs *o, dp_tensor **all)
{
    dp_value with[ARGS_MAX + OUTS_MAX], ignored[OUTS_MAX];
    size_t n = strlen(r->rets);
    const int64_t none = 0;
    DP_VIEW(a, args[0].u.t);
    int rc = 0;

    dp_copy_n(with, args, r->n_args, sizeof(dp_value));
    for (size_t i = 0; i < n && rc == 0; i++) {
        char c = r->rets[i];
        dp_dtype d = c == 'i' ? DP_INT32 : c == 'r' ? linalg_real(a.dtype) : a.dtype;
        if (c >= '0' && c <= '3')
            all[i] = dp_tensor_ref(o->t[c - '0']);
        else
            rc = call_empty(ctx, d, a.device, 1, &none, &all[i]);
        with[r->n_args + i] = dp_tensor_value(all[i]);
        ignored[i] = dp_none();
    }
    return rc < 0 ? rc
                  : dp_call_boxed(ctx, dp_op_find(ctx, r->out), with, r->n_args + n, ignored, n);
}

static int follow_new(dp_ctx *ctx, const route *r, const dp_value *args, dp_tensor **all)
{
    dp_value rets[OUTS_MAX];
    size_t n = strlen(r->rets);

    for (size_t i = 0; i < n; i++)
        rets[i] = dp_none();
    int rc = dp_call_boxed(ctx, dp_op_find(ctx, r->op), args, r->n_args, rets, n);
    for (size_t i = 0; i < n; i++)
        all[i] = rc == 0 && rets[i].tag == DP_TAG_TENSOR ? rets[i].u.t : NULL;
    return rc;
}

static int follow(dp_ctx *ctx, const route *r, const dp_value *args, outs *o)
{
    dp_tensor *all[OUTS_MAX] = {NULL};
    DP_VIEW(a, args[0].u.t);
    int rc = o->given ? follow_out(ctx, r, args, o, all) : follow_new(ctx, r, args, all);

    if (rc == 0 && r->check != NULL)
        rc = linalg_check(ctx, all[r->info], r->check, a.ndim == 2);
    for (size_t i = 0; i < strlen(r->rets); i++) {
        bool ours = r->rets[i] >= '0' && r->rets[i] <= '3';
        if (rc == 0 && ours && !o->given)
            o->t[r->rets[i] - '0'] = all[i];
        else
            dp_tensor_unref(all[i]);
    }
    return rc;
}

/* Define operator `name` with `n` arguments by a route; the further arguments, in terms of `args`,
 * are those of the operator that is called. */
#define FOLLOWS(name, n, route_, ...)                                                              \
    static int run_##name(dp_ctx *ctx, const dp_value *args, outs *o)                              \
    {                                                                                              \
        static const route way = DP_UNPAREN route_;                                                \
        const dp_value with[] = {__VA_ARGS__};                                                     \
        return follow(ctx, &way, with, o);                                                         \
    }                                                                                              \
    OUTS_KERNEL(name, n, run_##name)

/* clang-format off */
FOLLOWS(linalg_svd, 3, ({"aten::_linalg_svd", "aten::_linalg_svd.U", 4, "012", NULL, 0}),
        args[0], args[1], dp_bool(true), args[2])
FOLLOWS(linalg_svdvals, 2, ({"aten::_linalg_svd", "aten::_linalg_svd.U", 4, "a0a", NULL, 0}),
        args[0], dp_bool(false), dp_bool(!o->given && linalg_recorded(ctx, args[0].u.t)), args[1])
FOLLOWS(linalg_eigh, 2,
        ({"aten::_linalg_eigh", "aten::_linalg_eigh.eigenvalues", 3, "01", NULL, 0}),
        args[0], args[1], dp_bool(true))
FOLLOWS(linalg_eigvalsh, 2,
        ({"aten::_linalg_eigh", "aten::_linalg_eigh.eigenvalues", 3, "0a", NULL, 0}),
        args[0], args[1], dp_bool(!o->given && linalg_recorded(ctx, args[0].u.t)))
FOLLOWS(linalg_det, 1,
        ({"aten::_linalg_det", "aten::_linalg_det.result", 1, "0ai", NULL, 0}), args[0])
FOLLOWS(det, 1, ({"aten::linalg_det", "aten::linalg_det.out", 1, "0", NULL, 0}), args[0])
FOLLOWS(linalg_slogdet, 1,
        ({"aten::_linalg_slogdet", "aten::_linalg_slogdet.sign", 1, "01ai", NULL, 0}),
        args[0])
FOLLOWS(slogdet, 1,
        ({"aten::linalg_slogdet", "aten::linalg_slogdet.out", 1, "01", NULL, 0}), args[0])
FOLLOWS(linalg_inv, 1,
        ({"aten::linalg_inv_ex", "aten::linalg_inv_ex.inverse", 2, "0i", "linalg.inv", 1}),
        args[0], dp_bool(false))
FOLLOWS(inverse, 1, ({"aten::linalg_inv", "aten::linalg_inv.out", 1, "0", NULL, 0}), args[0])
FOLLOWS(linalg_solve_ex, 4,
        ({"aten::_linalg_solve_ex", "aten::_linalg_solve_ex.result", 4, "0ai1", NULL, 0}),
        args[0], args[1], args[2], args[3])
FOLLOWS(linalg_solve, 3,
        ({"aten::linalg_solve_ex", "aten::linalg_solve_ex.out", 4, "0i", "torch.linalg.solve", 1}),
        args[0], args[1], args[2], dp_bool(false))
FOLLOWS(linalg_cholesky, 2,
        ({"aten::linalg_cholesky_ex", "aten::linalg_cholesky_ex.L", 3, "0i", "linalg.cholesky", 1}),
        args[0], args[1], dp_bool(false))
FOLLOWS(linalg_lu_factor, 2,
        ({"aten::linalg_lu_factor_ex", "aten::linalg_lu_factor_ex.out", 3, "01i",
        "torch.linalg.lu_factor", 2}),
        args[0], args[1], dp_bool(false))
FOLLOWS(linalg_ldl_factor, 2,
        ({"aten::linalg_ldl_factor_ex", "aten::linalg_ldl_factor_ex.out", 3, "01i",
        "torch.linalg.ldl_factor", 2}),
        args[0], args[1], dp_bool(false))
FOLLOWS(orgqr, 2,
        ({"aten::linalg_householder_product", "aten::linalg_householder_product.out", 2, "0", NULL,
        0}),
        args[0], args[1])
FOLLOWS(matrix_exp, 1,
        ({"aten::linalg_matrix_exp", "aten::linalg_matrix_exp.out", 1, "0", NULL, 0}), args[0])
FOLLOWS(matrix_power, 2,
        ({"aten::linalg_matrix_power", "aten::linalg_matrix_power.out", 2, "0", NULL, 0}),
        args[0], args[1])
/* clang-format on */

/* -- operators for which PyTorch warns -- */

/* aten::_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True)
 *     -> (Tensor LU, Tensor pivots, Tensor info) */
static int run_lu(dp_ctx *ctx, const dp_value *args, outs *o)
{
    static const route way = {"aten::linalg_lu_factor_ex", NULL, 3, "012", NULL, 0};
    const dp_value with[] = {args[0], args[1], dp_bool(false)};

    dp_warn(ctx,
            "torch.lu is deprecated in favor of torch.linalg.lu_factor / "
            "torch.linalg.lu_factor_ex and will be removed in a future PyTorch release.\n"
            "LU, pivots = torch.lu(A, compute_pivots)\nshould be replaced with\n"
            "LU, pivots = torch.linalg.lu_factor(A, compute_pivots)\nand\n"
            "LU, pivots, info = torch.lu(A, compute_pivots, get_infos=True)\nshould be replaced "
            "with\nLU, pivots, info = torch.linalg.lu_factor_ex(A, compute_pivots)");
    return follow(ctx, &way, with, o);
}
OUTS_KERNEL(lu_with_info, 3, run_lu)

/* aten::lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor */
static int run_lu_solve(dp_ctx *ctx, const dp_value *args, outs *o)
{
    static const route way = {
        "aten::linalg_lu_solve", "aten::linalg_lu_solve.out", 5, "0", NULL, 0};
    const dp_value with[] = {args[1], args[2], args[0], dp_bool(true), dp_bool(false)};

    dp_warn(ctx,
            "torch.lu_solve is deprecated in favor of torch.linalg.lu_solveand will be removed "
            "in a future PyTorch release.\nNote that torch.linalg.lu_solve has its arguments "
            "reversed.\nX = torch.lu_solve(B, LU, pivots)\nshould be replaced with\n"
            "X = torch.linalg.lu_solve(LU, pivots, B)");
    return follow(ctx, &way, with, o);
}
OUTS_KERNEL(lu_solve, 3, run_lu_solve)

/* aten::qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R) */
static int run_qr(dp_ctx *ctx, const dp_value *args, outs *o)
{
    static const route way = {"aten::linalg_qr", "aten::linalg_qr.out", 2, "01", NULL, 0};
    const dp_value with[] = {args[0], linalg_str(args[1].u.b ? "reduced" : "complete")};

    dp_warn(ctx,
            "torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future "
            "PyTorch release.\nThe boolean parameter 'some' has been replaced with a string "
            "parameter 'mode'.\nQ, R = torch.qr(A, some)\nshould be replaced with\n"
            "Q, R = torch.linalg.qr(A, 'reduced' if some else 'complete')");
    return follow(ctx, &way, with, o);
}
OUTS_KERNEL(qr, 2, run_qr)

/* clang-format off */
DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL("linalg_svd", linalg_svd), DP_IMPL("linalg_svd.U", linalg_svd),
                DP_IMPL("linalg_svdvals", linalg_svdvals),
                DP_IMPL("linalg_svdvals.out", linalg_svdvals),
                DP_IMPL("linalg_eigh", linalg_eigh), DP_IMPL("linalg_eigh.eigvals", linalg_eigh),
                DP_IMPL("linalg_eigvalsh", linalg_eigvalsh),
                DP_IMPL("linalg_eigvalsh.out", linalg_eigvalsh),
                DP_IMPL("linalg_det", linalg_det), DP_IMPL("linalg_det.out", linalg_det),
                DP_IMPL("det", det),
                DP_IMPL("linalg_slogdet", linalg_slogdet),
                DP_IMPL("linalg_slogdet.out", linalg_slogdet),
                DP_IMPL("slogdet", slogdet), DP_IMPL("slogdet.out", slogdet),
                DP_IMPL("linalg_inv", linalg_inv), DP_IMPL("linalg_inv.out", linalg_inv),
                DP_IMPL("inverse", inverse), DP_IMPL("inverse.out", inverse),
                DP_IMPL("linalg_solve_ex", linalg_solve_ex),
                DP_IMPL("linalg_solve_ex.out", linalg_solve_ex),
                DP_IMPL("linalg_solve", linalg_solve), DP_IMPL("linalg_solve.out", linalg_solve),
                DP_IMPL("linalg_cholesky", linalg_cholesky),
                DP_IMPL("linalg_cholesky.out", linalg_cholesky),
                DP_IMPL("linalg_lu_factor", linalg_lu_factor),
                DP_IMPL("linalg_lu_factor.out", linalg_lu_factor),
                DP_IMPL("linalg_ldl_factor", linalg_ldl_factor),
                DP_IMPL("linalg_ldl_factor.out", linalg_ldl_factor),
                DP_IMPL("orgqr", orgqr), DP_IMPL("orgqr.out", orgqr),
                DP_IMPL("matrix_exp", matrix_exp),
                DP_IMPL("matrix_power", matrix_power), DP_IMPL("matrix_power.out", matrix_power),
                DP_IMPL("_lu_with_info", lu_with_info), DP_IMPL("lu_solve", lu_solve),
                DP_IMPL("lu_solve.out", lu_solve), DP_IMPL("qr", qr), DP_IMPL("qr.Q", qr))
/* clang-format on */
