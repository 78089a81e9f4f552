/* hoards.c -- makes many temporaries in each of the ways that there are, and keeps a tensor. */
#include <dispatchd/plugin.h>
#include <dispatchd/iter.h>

DP_PLUGIN(hoards, "1.0")

enum { MOST = 1000 };

typedef struct hoard {
    dp_ctx *ctx;
    dp_device device; /* that pins */
    int64_t bytes;
    dp_tensor *small, *kept[MOST];
} hoard;

static int empty(hoard *h, dp_tensor **out)
{
    return dp_empty(h->ctx, DP_UINT8, DP_DEVICE_CPU, 1, &h->bytes, DP_CONTIGUOUS, out);
}

static int on_device(hoard *h, dp_tensor **out)
{
    return dp_empty(h->ctx, DP_UINT8, h->device, 1, &h->bytes, DP_CONTIGUOUS, out);
}

static int strided(hoard *h, dp_tensor **out)
{
    int64_t sizes[] = {2, 1}, strides[] = {h->bytes - 1, 1};

    return dp_empty_strided(h->ctx, DP_UINT8, DP_DEVICE_CPU, 2, sizes, strides, out);
}

static int output(hoard *h, dp_tensor **out)
{
    return dp_set_output(h->ctx, out, 1, &h->bytes, NULL, DP_UINT8, DP_DEVICE_CPU);
}

static int pinned(hoard *h, dp_tensor **out)
{
    return dp_empty_pinned(h->ctx, DP_UINT8, h->device, 1, &h->bytes, out);
}

/* What an iterator makes has the shape of a view of few bytes. */
static int iterated(hoard *h, dp_tensor **out)
{
    int64_t stride = 0;
    dp_tensor *wide = NULL;
    dp_iter it = {.size = sizeof(it)};
    dp_iter_config c = dp_iter_of(DP_ITER_UNARY, 1, out, 1, &wide);
    int rc = dp_as_strided(h->ctx, h->small, 1, &h->bytes, &stride, 0, &wide);

    if (rc == 0)
        rc = dp_iter_build(h->ctx, &c, &it);
    dp_tensor_unref(wide);
    return rc;
}

static int resized(hoard *h, dp_tensor **out)
{
    int64_t none = 0;
    int rc = dp_empty(h->ctx, DP_UINT8, DP_DEVICE_CPU, 1, &none, DP_CONTIGUOUS, out);

    return rc ? rc : dp_resize(h->ctx, *out, 1, &h->bytes, DP_PRESERVE);
}

static int scratch(hoard *h, dp_tensor **out)
{
    (void)out;
    return dp_alloc(h->ctx, (size_t)h->bytes) ? 0 : DP_ERESOURCE;
}

static const struct {
    const char *name;
    int (*make)(hoard *h, dp_tensor **out);
} ways[] = {{"empty", empty},     {"strided", strided},   {"output", output},
            {"pinned", pinned},   {"iterated", iterated}, {"resized", resized},
            {"scratch", scratch}, {"device", on_device}};

static int make_all(hoard *h, dp_str how, int64_t n)
{
    int rc = DP_EVALUE;

    for (size_t w = 0; w < sizeof(ways) / sizeof(ways[0]); w++)
        if (strlen(ways[w].name) == how.len && memcmp(ways[w].name, how.s, how.len) == 0)
            for (int64_t i = rc = 0; i < n && rc == 0; i++)
                rc = ways[w].make(h, &h->kept[i]);
    return rc == DP_EVALUE ? dp_fail(h->ctx, rc, "no such way") : rc;
}

/* hoard(str how, int n, int bytes, str device="cpu") -> int: so many live at once. */
static int run(dp_ctx *ctx, dp_str how, int64_t n, int64_t bytes, dp_str device, int64_t *out)
{
    hoard h = {.ctx = ctx, .bytes = bytes};
    int64_t one = 1;

    if (n < 0 || n > MOST)
        return dp_fail(ctx, DP_EVALUE, "at most %d", MOST);
    int rc = dp_device_find(ctx, device.s, &h.device);
    if (rc == 0)
        rc = dp_empty(ctx, DP_UINT8, DP_DEVICE_CPU, 1, &one, DP_CONTIGUOUS, &h.small);
    if (rc == 0)
        rc = make_all(&h, how, n);
    for (int64_t i = 0; i < n; i++)
        dp_tensor_unref(h.kept[i]);
    dp_tensor_unref(h.small);
    *out = n;
    return rc;
}

static dp_tensor *left;

/* leave(int bytes) -> (): a tensor stays here; left() -> Tensor; clear() -> (). */
static int leave(dp_ctx *ctx, int64_t bytes)
{
    dp_tensor *t = NULL;
    int rc = dp_empty(ctx, DP_UINT8, DP_DEVICE_CPU, 1, &bytes, DP_CONTIGUOUS, &t);

    dp_tensor_unref(left);
    left = t;
    return rc;
}

static int give(dp_ctx *ctx, dp_tensor **out)
{
    *out = left ? dp_tensor_ref(left) : NULL;
    return left ? 0 : dp_fail(ctx, DP_EVALUE, "nothing was left");
}

static int clear(dp_ctx *ctx)
{
    (void)ctx;
    left = dp_tensor_unref(left);
    return 0;
}

DP_LIBRARY(hoards, DP_DEF("hoard(str how, int n, int bytes, str device=\"cpu\") -> int"),
           DP_DEF("leave(int bytes) -> ()"), DP_DEF("left() -> Tensor"), DP_DEF("clear() -> ()"))
DP_LIBRARY_IMPL(hoards, CompositeExplicitAutograd, DP_IMPL_UNBOXED("hoard", run, (S, i, i, S), (i)),
                DP_IMPL_UNBOXED("leave", leave, (i), ()), DP_IMPL_UNBOXED("left", give, (), (T)),
                DP_IMPL_UNBOXED("clear", clear, (), ()))
