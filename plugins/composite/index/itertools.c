/* itertools.c -- combinations and cartesian_prod (aten/src/ATen/native/Itertools.cpp). */
#include "core/chain.h"

/* aten::cartesian_prod(Tensor[] tensors) -> Tensor */
static int cartesian_prod(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, dp_tensor **out)
{
    char text[DP_SHAPE_TEXT];
    int64_t any = -1;
    dp_value grids = dp_none();

    for (size_t i = 0; i < n; i++) {
        DP_VIEW(x, tensors[i]);
        if (x.ndim != 1)
            return dp_fail(ctx, DP_ERUNTIME, "Expect a 1D vector, but got shape %s",
                           dp_shape_text(text, x.sizes, (size_t)x.ndim));
    }
    if (n == 1) {
        *out = dp_tensor_ref(tensors[0]);
        return 0;
    }
    int rc = dp_invoke(ctx, "aten::meshgrid", "lT>lT", tensors, n, &grids);
    if (rc < 0)
        return rc;
    dp_tensor **flat = dp_alloc_n(ctx, n, sizeof(*flat));
    size_t made = 0;
    for (rc = flat ? 0 : DP_ERESOURCE; rc == 0 && made < n; made += rc == 0)
        rc = dp_invoke(ctx, "aten::reshape", "Tli>T", grids.u.tensors[made], &any, (size_t)1,
                       &flat[made]);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::stack", "lTi>T", flat, n, (int64_t)1, out);
    for (size_t i = 0; i < made; i++)
        dp_tensor_unref(flat[i]);
    dp_values_release(&grids, 1);
    return rc;
}

/* -- combinations -- */

/* Return the number of ways to choose r of n elements, each at most once or, with `again`,
 * repeatedly; -1: it does not fit in int64. */
static int64_t count_ways(int64_t n, int64_t r, bool again)
{
    __int128 ways = 1;

    if (again)
        n += n > 0 ? r - 1 : 0;
    if (r > n)
        return 0;
    for (int64_t i = 1; i <= r; i++) {
        ways = ways * (n - r + i) / i;
        if (ways > INT64_MAX)
            return -1;
    }
    return (int64_t)ways;
}

/* List all ways, each with ascending indices, in lexicographic order. */
static void list_ways(int64_t *at, int64_t ways, int64_t n, int64_t r, bool again)
{
    for (int64_t i = 0; i < r && ways > 0; i++)
        at[i] = again ? 0 : i;
    for (int64_t k = 1; k < ways; k++, at += r) {
        int64_t *next = at + r, i = r - 1;
        dp_copy_n(next, at, (size_t)r, sizeof(int64_t));
        while (next[i] == (again ? n - 1 : n - r + i))
            i--;
        next[i]++;
        for (int64_t j = i + 1; j < r; j++)
            next[j] = next[j - 1] + !again;
    }
}

/* Return the indices of the combinations of one or two of `n` elements, [ways * r] on `device`,
 * computed by operators, so that a capture knows them. */
static dp_tensor *indices_of_few(chain *c, int64_t n, int64_t r, bool again, dp_device device)
{
    const int64_t type = DP_INT64, on = device, *layout = NULL;

    if (r == 1)
        return CHAIN(c, "aten::arange", "soioioi>T", dp_int(n), &type, layout, &on);
    dp_tensor *rows =
        CHAIN(c, "aten::triu_indices", "iiioioioi>T", n, n, (int64_t)!again, &type, layout, &on);
    return CHAIN(c, "aten::reshape", "Tli>T", CHAIN(c, "aten::t", "T>T", rows), &(int64_t){-1},
                 (size_t)1);
}

/* Return the indices of the combinations of `r` of `n` elements, [all] on `device`, which this
 * function writes. */
static dp_tensor *indices_of(chain *c, int64_t ways, int64_t all, int64_t n, int64_t r, bool again,
                             dp_device device)
{
    dp_tensor *index = NULL;

    c->rc = all == 0 ? call_empty(c->ctx, DP_INT64, device, 1, &all, &index)
                     : dp_empty(c->ctx, DP_INT64, DP_DEVICE_CPU, 1, &all, DP_CONTIGUOUS, &index);
    if (c->rc < 0 || all == 0)
        return chain_keep(c, index);
    DP_VIEW(v, index);
    if (v.data != NULL)
        list_ways(v.data, ways, n, r, again);
    return chain_move(c, index, device);
}

/* aten::combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor */
static int combinations(dp_ctx *ctx, dp_tensor *self, int64_t r, bool again, dp_tensor **out)
{
    char text[DP_SHAPE_TEXT];
    int64_t none = 0;
    chain c = {.ctx = ctx};
    DP_VIEW(x, self);

    if (x.ndim != 1)
        return dp_fail(ctx, DP_ERUNTIME, "Expect a 1D vector, but got shape %s",
                       dp_shape_text(text, x.sizes, (size_t)x.ndim));
    if (r < 0)
        return dp_fail(ctx, DP_ERUNTIME, "Expect a non-negative number, but got %" PRId64, r);
    if (r == 0)
        return call_empty(ctx, x.dtype, x.device, 1, &none, out);
    int rc = check_ndim(ctx, r > DP_DIM_MAX ? DP_DIM_MAX + 1 : (size_t)r);
    int64_t ways = rc == 0 ? count_ways(x.numel, r, again) : 0, sizes[2] = {ways, r}, all = 0;
    if (rc == 0 && (ways < 0 || __builtin_mul_overflow(ways, r, &all)))
        rc = dp_fail(ctx, DP_ERESOURCE, "too many combinations of %" PRId64 " out of %" PRId64, r,
                     x.numel);
    if (rc < 0)
        return rc;
    dp_tensor *index = r <= 2 ? indices_of_few(&c, x.numel, r, again, x.device)
                              : indices_of(&c, ways, all, x.numel, r, again, x.device);
    dp_tensor *t = CHAIN(&c, "aten::index_select", "TiT>T", self, (int64_t)0, index);
    return chain_end(&c, CHAIN(&c, "aten::view", "Tli>T", t, sizes, (size_t)2), out);
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("combinations", combinations, (T, i, b), (T)),
                DP_IMPL_UNBOXED("cartesian_prod", cartesian_prod, (lT), (T)))
