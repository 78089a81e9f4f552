/* gradient.c -- the seven overloads of the operator gradient, which estimates derivatives from
 * samples (aten/src/ATen/native/ReduceOps.cpp: gradient). */
#include "core/chain.h"

/* arguments of one call of any overload */
typedef struct gradient {
    dp_ctx *ctx;
    dp_tensor *self;
    dp_value spacing; /* distances (Scalar[], Scalar, None: 1) or coordinates (Tensor[]) */
    bool one_spacing; /* `spacing` is one number for all dimensions */
    dp_value dim;     /* int[], int, or None: all dimensions */
    int64_t order;    /* edge_order */
    int64_t n;        /* number of dimensions along which derivatives are estimated */
} gradient;

static int64_t dim_of(const gradient *g, int64_t i)
{
    return g->dim.tag == DP_TAG_INTS ? g->dim.u.ints[i] : g->dim.tag == DP_TAG_INT ? g->dim.u.i : i;
}

static int check_dims(const gradient *g)
{
    DP_VIEW(x, g->self);
    bool seen[DP_DIM_MAX] = {false};

    for (int64_t i = 0; i < g->n; i++) {
        int64_t d = dim_of(g, i);
        int rc = wrap_dim(g->ctx, &d, x.ndim);
        if (rc < 0)
            return rc;
        if (seen[d])
            return dp_fail(g->ctx, DP_ERUNTIME,
                           "dim %" PRId64 " appears multiple times in the list of dims", d);
        seen[d] = true;
    }
    if (x.ndim == 0 && g->n > 0)
        return dp_fail(g->ctx, DP_EINDEX,
                       "Dimension specified as %" PRId64 " but tensor has no dimensions",
                       dim_of(g, 0));
    for (int d = 0; d < x.ndim; d++)
        if (seen[d] && x.sizes[d] < g->order + 1)
            return dp_fail(
                g->ctx, DP_ERUNTIME,
                "torch.gradient expected each dimension size to be at least edge_order+1");
    return 0;
}

static int check(gradient *g)
{
    DP_VIEW(x, g->self);
    bool listed = dp_is_list(&g->spacing) && !g->one_spacing;

    g->n = g->dim.tag == DP_TAG_INTS ? (int64_t)g->dim.len : g->dim.tag == DP_TAG_INT ? 1 : x.ndim;
    if (x.dtype == DP_UINT8)
        return dp_fail(g->ctx, DP_ERUNTIME, "torch.gradient does not support uint8 input.");
    if (listed && (int64_t)g->spacing.len != g->n)
        return dp_fail(g->ctx, DP_ERUNTIME,
                       "torch.gradient expected spacing to be unspecified, a scalar, or a list of "
                       "length %" PRId64 ", but got a list of length %u",
                       g->n, g->spacing.len);
    if (g->order != 1 && g->order != 2)
        return dp_fail(g->ctx, DP_ERUNTIME,
                       "torch.gradient only supports edge_order=1 and edge_order=2.");
    return check_dims(g);
}

/* -- sums of slices -- */

static dp_tensor *part(chain *c, dp_tensor *t, int64_t dim, int64_t start, int64_t end)
{
    return CHAIN(c, "aten::slice.Tensor", "Tioioi>T", t, dim, &start, &end);
}

/* Return the sample with index `k`, counted from the front or, with `back`, from the back, as a
 * slice of size 1. */
static dp_tensor *edge(chain *c, dp_tensor *t, int64_t dim, bool back, int64_t k)
{
    return back ? part(c, t, dim, -k - 1, k == 0 ? INT64_MAX : -k) : part(c, t, dim, k, k + 1);
}

static dp_tensor *quotient(chain *c, dp_tensor *a, dp_tensor *b)
{
    return chain_TT(c, "aten::div.Tensor", a, b);
}

static dp_tensor *times(chain *c, dp_tensor *t, double k)
{
    return chain_Ts(c, "aten::mul.Scalar", t, dp_double(k));
}

static dp_tensor *join(chain *c, dp_tensor *first, dp_tensor *middle, dp_tensor *last, int64_t dim)
{
    dp_tensor *list[3] = {first, middle, last};
    return CHAIN(c, "aten::cat", "lTi>T", list, (size_t)3, dim);
}

/* -- samples at equal distances -- */

static dp_tensor *over(chain *c, dp_tensor *t, dp_value distance)
{
    return chain_Ts(c, "aten::div.Scalar", t, distance);
}

/* Estimate the derivative at the first sample or, with `back`, at the last sample: from the
 * difference of two samples (order 1), or from a parabola through three samples (order 2). */
static dp_tensor *even_edge(chain *c, dp_tensor *t, int64_t dim, bool back, int64_t order,
                            dp_value distance)
{
    dp_tensor *a = edge(c, t, dim, back, 0), *b = edge(c, t, dim, back, 1), *made;

    if (order == 1)
        return over(c, back ? chain_sub(c, a, b) : chain_sub(c, b, a), distance);
    dp_tensor *third = times(c, edge(c, t, dim, back, 2), 0.5);
    if (back) {
        made = chain_sub(c, third, chain_Ts(c, "aten::mul.Scalar", b, dp_int(2)));
        return over(c, chain_add(c, made, times(c, a, 1.5)), distance);
    }
    made = chain_add(c, times(c, a, -1.5), chain_Ts(c, "aten::mul.Scalar", b, dp_int(2)));
    return over(c, chain_sub(c, made, third), distance);
}

static dp_tensor *gradient_even(chain *c, const gradient *g, int64_t dim, dp_value distance)
{
    dp_tensor *t = g->self;
    dp_tensor *upper = part(c, t, dim, 2, INT64_MAX), *lower = part(c, t, dim, 0, -2);
    dp_tensor *center = over(c, chain_sub(c, upper, lower), distance);
    dp_tensor *first = even_edge(c, t, dim, false, g->order, distance);
    dp_tensor *last = even_edge(c, t, dim, true, g->order, distance);

    return join(c, first, chain_Ts(c, "aten::div.Scalar", center, dp_int(2)), last, dim);
}

/* -- samples at given coordinates -- */

static dp_tensor *item(chain *c, dp_tensor *t, int64_t i)
{
    return CHAIN(c, "aten::select.int", "Tii>T", t, (int64_t)0, i);
}

static dp_tensor *negative(chain *c, dp_tensor *t)
{
    return CHAIN(c, "aten::neg", "T>T", t);
}

/* Estimate the derivative at an edge, like even_edge().  `steps` are the distances between
 * neighbouring samples; the local `h` is the distance nearest to the edge, `k` the second
 * nearest. */
static dp_tensor *uneven_edge(chain *c, dp_tensor *t, int64_t dim, bool back, int64_t order,
                              dp_tensor *steps)
{
    dp_tensor *h = item(c, steps, back ? -1 : 0);
    dp_tensor *p = edge(c, t, dim, back, 0), *q = edge(c, t, dim, back, 1);

    if (order == 1)
        return quotient(c, back ? chain_sub(c, p, q) : chain_sub(c, q, p), h);
    dp_tensor *k = item(c, steps, back ? -2 : 1), *both = chain_add(c, h, k);
    dp_tensor *near = quotient(c, chain_add(c, times(c, h, 2), k), chain_mul(c, h, both));
    dp_tensor *middle = quotient(c, both, chain_mul(c, h, k));
    dp_tensor *far = quotient(c, h, chain_mul(c, k, both));
    if (back)
        middle = negative(c, middle);
    else
        near = negative(c, near), far = negative(c, far);
    dp_tensor *r = chain_mul(c, far, edge(c, t, dim, back, 2));
    if (back)
        return chain_add(c, chain_add(c, r, chain_mul(c, middle, q)), chain_mul(c, near, p));
    return chain_add(c, chain_add(c, chain_mul(c, near, p), chain_mul(c, middle, q)), r);
}

/* Return the vector `t` as a tensor of `ndim` dimensions that all have size 1, except `dim`. */
static dp_tensor *shaped(chain *c, dp_tensor *t, int ndim, int64_t dim)
{
    int64_t sizes[DP_DIM_MAX];

    for (int d = 0; d < ndim; d++)
        sizes[d] = d == dim ? -1 : 1;
    return CHAIN(c, "aten::reshape", "Tli>T", t, sizes, (size_t)ndim);
}

static dp_tensor *center_of(chain *c, dp_tensor *t, int ndim, int64_t dim, dp_tensor *steps)
{
    dp_tensor *h = part(c, steps, 0, 0, -1), *k = part(c, steps, 0, 1, INT64_MAX);
    dp_tensor *both = chain_add(c, h, k);
    dp_tensor *before = shaped(c, quotient(c, negative(c, k), chain_mul(c, h, both)), ndim, dim);
    dp_tensor *here = shaped(c, quotient(c, chain_sub(c, k, h), chain_mul(c, h, k)), ndim, dim);
    dp_tensor *behind = shaped(c, quotient(c, h, chain_mul(c, k, both)), ndim, dim);
    dp_tensor *sum = chain_add(c, chain_mul(c, before, part(c, t, dim, 0, -2)),
                               chain_mul(c, here, part(c, t, dim, 1, -1)));

    return chain_add(c, sum, chain_mul(c, behind, part(c, t, dim, 2, INT64_MAX)));
}

static int gradient_uneven(const gradient *g, int64_t dim, dp_tensor *coordinates, dp_tensor **out)
{
    chain c = {.ctx = g->ctx}, ends = {.ctx = g->ctx};
    dp_tensor *center = NULL;
    DP_VIEW(x, g->self);
    DP_VIEW(p, coordinates);

    if (p.ndim != 1)
        return dp_fail(
            g->ctx, DP_ERUNTIME,
            "torch.gradient expected each element of spacing to have one dimension, but got "
            "an element with %d dimensions!",
            p.ndim);
    dp_tensor *steps = CHAIN(&c, "aten::diff", "Tii>T", coordinates, (int64_t)1, (int64_t)0);
    if (c.rc == 0)
        center = center_of(&c, g->self, x.ndim, dim, steps);
    ends.rc = c.rc;
    dp_tensor *first = uneven_edge(&ends, g->self, dim, false, g->order, steps);
    dp_tensor *last = uneven_edge(&ends, g->self, dim, true, g->order, steps);
    int rc = chain_end(&ends, join(&ends, first, center, last, dim), out);
    (void)chain_end(&c, NULL, NULL);
    return rc;
}

/* -- the overloads -- */

/* Estimate the derivative along dimension dim_of(g, i).  *out owned. */
static int along_dim(const gradient *g, int64_t i, dp_tensor **out)
{
    int64_t dim = dim_of(g, i);
    DP_VIEW(x, g->self);
    int rc = wrap_dim(g->ctx, &dim, x.ndim);

    if (rc < 0)
        return rc;
    if (g->spacing.tag == DP_TAG_TENSORS)
        return gradient_uneven(g, dim, g->spacing.u.tensors[i], out);
    chain c = {.ctx = g->ctx};
    dp_value distance = dp_is_list(&g->spacing) ? dp_list_item(&g->spacing, (size_t)i) : g->spacing;
    if (distance.tag == DP_TAG_NONE)
        distance = dp_double(1);
    return chain_end(&c, gradient_even(&c, g, dim, distance), out);
}

static int run(dp_call *call, gradient *g)
{
    int64_t made = 0;

    g->ctx = call->ctx;
    g->self = call->args[0].u.t;
    int rc = check(g);
    if (rc < 0)
        return rc;
    dp_tensor **list = dp_alloc_n(g->ctx, (size_t)g->n, sizeof(*list));
    if (list == NULL)
        return DP_ERESOURCE;
    for (; rc == 0 && made < g->n; made += rc == 0)
        rc = along_dim(g, made, &list[made]);
    if (rc == 0)
        call->rets[0] = dp_tensors(list, (size_t)g->n);
    for (int64_t i = 0; rc < 0 && i < made; i++)
        dp_tensor_unref(list[i]);
    return rc;
}

/* aten::gradient.scalarint(Tensor self, *, Scalar? spacing=None, int? dim=None, int edge_order=1)
 *     -> Tensor[]
 * aten::gradient.scalararray(Tensor self, *, Scalar spacing, int[] dim, int edge_order=1) ->
 * Tensor[] */
static int scalar_spacing(dp_call *call)
{
    gradient g = {.spacing = call->args[1],
                  .one_spacing = true,
                  .dim = call->args[2],
                  .order = call->args[3].u.i};
    return run(call, &g);
}

/* aten::gradient.array(Tensor self, *, int[] dim, int edge_order=1) -> Tensor[] */
static int default_spacing(dp_call *call)
{
    gradient g = {.one_spacing = true, .dim = call->args[1], .order = call->args[2].u.i};
    return run(call, &g);
}

/* aten::gradient.scalarrayint(Tensor self, *, Scalar[] spacing, int? dim=None, int edge_order=1)
 * aten::gradient.scalarrayarray(Tensor self, *, Scalar[] spacing, int[] dim, int edge_order=1)
 * aten::gradient.tensorarrayint(Tensor self, *, Tensor[] spacing, int? dim=None, int edge_order=1)
 * aten::gradient.tensorarray(Tensor self, *, Tensor[] spacing, int[] dim, int edge_order=1)
 *     -> Tensor[] */
static int listed_spacing(dp_call *call)
{
    gradient g = {.spacing = call->args[1], .dim = call->args[2], .order = call->args[3].u.i};
    return run(call, &g);
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL("gradient.scalarint", scalar_spacing),
                DP_IMPL("gradient.scalararray", scalar_spacing),
                DP_IMPL("gradient.array", default_spacing),
                DP_IMPL("gradient.scalarrayint", listed_spacing),
                DP_IMPL("gradient.scalarrayarray", listed_spacing),
                DP_IMPL("gradient.tensorarrayint", listed_spacing),
                DP_IMPL("gradient.tensorarray", listed_spacing))
