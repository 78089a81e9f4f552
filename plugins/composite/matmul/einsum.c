/* einsum.c -- the operator einsum (aten/src/ATen/native/Linear.cpp).
 *
 * All operands are permuted to one order of dimensions: first the dimensions of the result, then
 * those that are summed.  Then they are multiplied in pairs, as batches of matrices. */
#include "einsum.h"
#include "core/chain.h"
#include <string.h>

/* -- operands in the common order -- */

typedef struct aligning {
    einsum_equation *e;
    chain *c;
    dp_tensor *t;
    size_t i;
    int64_t dim,
        /* the next dimension; for each common dimension, the dimension of the tensor or -1 */
        from[DP_DIM_MAX];
    /* [e->ndim] sizes of the common dimensions; 1 before an operand has the dimension */
    int64_t *sizes;
} aligning;

/* Set dimension a->dim of the tensor to be common dimension `to`. */
static void align_dim(aligning *a, int to, int label)
{
    DP_VIEW(x, a->t);
    int64_t size = x.sizes[a->dim];

    if (size != 1 && a->sizes[to] != 1 && a->sizes[to] != size) {
        if (label == EINSUM_ELLIPSIS)
            chain_fail(
                a->c, DP_ERUNTIME,
                "einsum(): dimension %" PRId64 " covered by ellipsis in operand %zu has size "
                "%" PRId64 " which does not broadcast with previously seen ellipsis with size "
                "%" PRId64 " for the respective dimension",
                a->dim, a->i, size, a->sizes[to]);
        else
            chain_fail(a->c, DP_ERUNTIME,
                       "einsum(): subscript %c has size %" PRId64 " for operand %zu which does not "
                       "broadcast with previously seen size %" PRId64,
                       einsum_label_name(label), size, a->i, a->sizes[to]);
    }
    if (size != 1) {
        a->sizes[to] = size;
        a->e->uses[to]++;
    }
    a->from[to] = a->dim++;
}

/* Take the diagonal of the two dimensions that have the same label. */
static void take_diagonal(aligning *a, int label)
{
    int64_t before = a->from[a->e->place[label]];
    DP_VIEW(x, a->t);

    if (x.sizes[a->dim] != x.sizes[before]) {
        chain_fail(a->c, DP_ERUNTIME,
                   "einsum(): subscript %c is repeated for operand %zu but the sizes don't match, "
                   "%" PRId64 " != %" PRId64,
                   einsum_label_name(label), a->i, x.sizes[a->dim], x.sizes[before]);
        return;
    }
    a->t = CHAIN(a->c, "aten::diagonal", "Tiii>T", a->t, (int64_t)0, before, a->dim);
    a->t = CHAIN(a->c, "aten::movedim.int", "Tii>T", a->t, (int64_t)-1, before);
}

static dp_tensor *align(einsum_equation *e, chain *c, size_t i, int64_t *sizes)
{
    const einsum_operand *o = &e->operands[i];
    aligning a = {.e = e, .c = c, .t = e->tensors[i], .i = i, .sizes = sizes};
    DP_VIEW(x, a.t);
    int covered = x.ndim - (o->n - 1);

    for (int d = 0; d < e->ndim; d++)
        a.from[d] = -1;
    for (int k = 0; c->rc == 0 && k < o->n; k++) {
        int label = o->labels[k];
        if (label == EINSUM_ELLIPSIS)
            for (int j = e->ellipsis - covered; c->rc == 0 && j < e->ellipsis; j++)
                align_dim(&a, e->ell_at + j, EINSUM_ELLIPSIS);
        else if (a.from[e->place[label]] < 0)
            align_dim(&a, e->place[label], label);
        else
            take_diagonal(&a, label);
    }
    for (int d = 0; d < e->ndim; d++)
        if (a.from[d] < 0) {
            a.t = CHAIN(c, "aten::unsqueeze", "Ti>T", a.t, a.dim);
            a.from[d] = a.dim++;
        }
    return CHAIN(c, "aten::permute", "Tli>T", a.t, a.from, (size_t)e->ndim);
}

/* -- products of two operands -- */

/* kinds of dimensions: those of both operands and the result; of the left one; of the right one; of
 * both and summed */
enum { BOTH, LEFT, RIGHT, SUMMED, KINDS };

typedef struct pairing {
    int64_t dims[KINDS][DP_DIM_MAX], size[KINDS];
    size_t n[KINDS];
} pairing;

static void sort_dims(pairing *p, const dp_view *x, const dp_view *y, const bool *summed)
{
    memset(p, 0, sizeof(*p));
    for (int k = 0; k < KINDS; k++)
        p->size[k] = 1;
    for (int d = 0; d < x->ndim; d++) {
        bool l = x->sizes[d] != 1, r = y->sizes[d] != 1;
        int kind = summed[d] ? SUMMED : l && r ? BOTH : l ? LEFT : RIGHT;
        p->dims[kind][p->n[kind]++] = d;
        p->size[kind] *= l ? x->sizes[d] : y->sizes[d];
    }
}

/* View `t` as batches of matrices: the dimensions of each kind in this order become one dimension;
 * those of kind `rest` have size 1. */
static dp_tensor *as_matrices(chain *c, dp_tensor *t, const pairing *p, int rows, int columns,
                              int rest)
{
    int order[KINDS] = {BOTH, rows, columns, rest};
    int64_t dims[DP_DIM_MAX], sizes[3] = {p->size[BOTH], p->size[rows], p->size[columns]};
    size_t n = 0;

    for (int k = 0; k < KINDS; k++) {
        dp_copy_n(dims + n, p->dims[order[k]], p->n[order[k]], sizeof(int64_t));
        n += p->n[order[k]];
    }
    t = CHAIN(c, "aten::permute", "Tli>T", t, dims, n);
    return CHAIN(c, "aten::reshape", "Tli>T", t, sizes, (size_t)3);
}

/* Return x * y, summed over dimensions that both have; summed dimensions stay, with size 1. */
static dp_tensor *multiply(chain *c, dp_tensor *x, dp_tensor *y, const bool *summed)
{
    static const int order[KINDS] = {BOTH, LEFT, SUMMED, RIGHT};
    int64_t sizes[DP_DIM_MAX], back[DP_DIM_MAX], at = 0;
    pairing p;
    DP_VIEW(a, x);
    DP_VIEW(b, y);

    sort_dims(&p, &a, &b, summed);
    if (p.n[SUMMED] == 0)
        return chain_TT(c, "aten::mul.Tensor", x, y);
    for (int k = 0; k < KINDS; k++)
        for (size_t i = 0; i < p.n[order[k]]; i++) {
            int64_t d = p.dims[order[k]][i];
            sizes[at] = order[k] == SUMMED ? 1 : order[k] == RIGHT ? b.sizes[d] : a.sizes[d];
            back[d] = at++;
        }
    dp_tensor *left = as_matrices(c, x, &p, LEFT, SUMMED, RIGHT);
    dp_tensor *right = as_matrices(c, y, &p, SUMMED, RIGHT, LEFT);
    dp_tensor *t = CHAIN(c, "aten::bmm", "TT>T", left, right);
    t = CHAIN(c, "aten::view", "Tli>T", t, sizes, (size_t)a.ndim);
    return CHAIN(c, "aten::permute", "Tli>T", t, back, (size_t)a.ndim);
}

/* Replace two operands by their product, summed over dimensions that no other operand has. */
static dp_tensor *contract(einsum_equation *e, chain *c, dp_tensor *x, dp_tensor *y)
{
    int64_t own[2][DP_DIM_MAX];
    size_t n[2] = {0, 0};
    bool summed[DP_DIM_MAX] = {false};
    DP_VIEW(a, x);
    DP_VIEW(b, y);

    for (int d = e->n_out; d < e->ndim; d++) {
        if (a.sizes[d] != 1 && b.sizes[d] != 1)
            summed[d] = --e->uses[d] == 1;
        else if (e->uses[d] == 1 && (a.sizes[d] != 1 || b.sizes[d] != 1)) {
            int which = a.sizes[d] == 1;
            own[which][n[which]++] = d;
        } else
            continue;
        if (summed[d] || e->uses[d] == 1)
            e->uses[d] = 0;
    }
    if (n[0] > 0)
        x = CHAIN(c, "aten::sum.dim_IntList", "Tolib>T", x, own[0], n[0], (int)true);
    if (n[1] > 0)
        y = CHAIN(c, "aten::sum.dim_IntList", "Tolib>T", y, own[1], n[1], (int)true);
    return c->rc < 0 ? NULL : multiply(c, x, y, summed);
}

/* -- all operands -- */

/* Set *i and *j to the next pair of operands to contract: the first two operands, or the pair in
 * `path`. */
static int next_pair(einsum_equation *e, const dp_value *path, size_t step, size_t n, size_t *i,
                     size_t *j)
{
    *i = 0, *j = 1;
    if (path->tag == DP_TAG_NONE)
        return 0;
    int64_t a = path->u.ints[2 * step], b = path->u.ints[2 * step + 1];
    if (a > b) {
        int64_t t = a;
        a = b, b = t;
    }
    if (a == b || a < 0 || b >= (int64_t)n)
        return dp_fail(e->ctx, DP_ERUNTIME,
                       "einsum(): invalid contraction (%" PRId64 ", %" PRId64 "%s", a, b,
                       a == b ? ") cannot contract an operand with itself"
                              : ") operand index is out of bounds");
    *i = (size_t)a, *j = (size_t)b;
    return 0;
}

/* Contract all operands; tensors [n] are owned.  Each step has its own chain, because the steps of
 * many operands would not fit in one. */
static int contract_all(einsum_equation *e, const dp_value *path, dp_tensor **tensors)
{
    int rc = 0;

    for (size_t step = 0, n = e->n; rc == 0 && n > 1; step++, n--) {
        chain c = {.ctx = e->ctx};
        dp_tensor *made = NULL;
        size_t i, j;
        rc = next_pair(e, path, step, n, &i, &j);
        if (rc < 0)
            break;
        dp_tensor *x = tensors[i], *y = tensors[j];
        rc = chain_end(&c, contract(e, &c, x, y), &made);
        dp_tensor_unref(x);
        dp_tensor_unref(y);
        dp_move_n(tensors + j, tensors + j + 1, (n - j - 1), sizeof(*tensors));
        dp_move_n(tensors + i, tensors + i + 1, (n - i - 2), sizeof(*tensors));
        if (path->tag != DP_TAG_NONE) {
            tensors[n - 2] = made;
        } else {
            dp_move_n(tensors + 1, tensors, n - 2, sizeof(*tensors));
            tensors[0] = made;
        }
        tensors[n - 1] = NULL;
    }
    return rc;
}

/* Remove the dimensions after those of the result: a single operand is summed over them; else they
 * have size 1. */
static int drop_summed(einsum_equation *e, dp_tensor *t, dp_tensor **out)
{
    int64_t dims[DP_DIM_MAX];
    size_t n = (size_t)(e->ndim - e->n_out);
    DP_VIEW(x, t);

    if (n == 0) {
        *out = dp_tensor_ref(t);
        return 0;
    }
    if (e->n > 1)
        return dp_invoke(e->ctx, "aten::view", "Tli>T", t, x.sizes, (size_t)e->n_out, out);
    for (size_t i = 0; i < n; i++)
        dims[i] = e->n_out + (int64_t)i;
    return dp_invoke(e->ctx, "aten::sum.dim_IntList", "Toli>T", t, dims, n, out);
}

static int evaluate(einsum_equation *e, const dp_value *path, dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX];
    size_t made = 0;
    dp_tensor **tensors = dp_alloc_n(e->ctx, e->n, sizeof(*tensors));
    int rc = tensors ? 0 : DP_ERESOURCE;

    for (int d = 0; d < e->ndim; d++)
        sizes[d] = 1;
    for (; rc == 0 && made < e->n; made += rc == 0) {
        chain c = {.ctx = e->ctx};
        rc = chain_end(&c, align(e, &c, made, sizes), &tensors[made]);
    }
    if (rc == 0)
        rc = contract_all(e, path, tensors);
    if (rc == 0)
        rc = drop_summed(e, tensors[0], out);
    for (size_t i = 0; i < made; i++)
        dp_tensor_unref(tensors[i]);
    return rc;
}

/* aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor */
static int einsum(dp_call *call)
{
    const dp_value *text = &call->args[0], *tensors = &call->args[1], *path = &call->args[2];
    einsum_equation e = {.ctx = call->ctx,
                         .text = {text->u.s, text->len},
                         .tensors = tensors->u.tensors,
                         .n = tensors->len};
    dp_tensor *made;

    if (e.n == 0)
        return dp_fail(call->ctx, DP_ERUNTIME, "einsum(): must provide at least one operand");
    if (path->tag != DP_TAG_NONE && path->len != (e.n == 1 ? 1 : 2 * (e.n - 1)))
        return dp_fail(
            call->ctx, DP_ERUNTIME,
            "einsum(): expected contraction path given in path parameter to have size %zu, "
            "but got %u",
            e.n == 1 ? 1 : 2 * (e.n - 1), path->len);
    e.operands = dp_alloc_n(call->ctx, e.n, sizeof(einsum_operand));
    if (e.operands == NULL)
        return DP_ERESOURCE;
    dp_zero_n(e.operands, e.n, sizeof(einsum_operand));
    int rc = einsum_parse(&e);
    if (rc == 0)
        rc = evaluate(&e, path, &made);
    if (rc == 0)
        call->rets[0] = dp_tensor_value(made);
    return rc;
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL("einsum", einsum))
