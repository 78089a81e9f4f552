/* random_kernel.c -- draws from generators: as torch.rand and normal_ do, raw, by range, and
 * wrongly.
 */
#include <dispatchd/plugin.h>
#include <unistd.h>

DP_PLUGIN(random_kernel, "1.0")
DP_BACKEND(dice) /* a device whose generators have ranges */

/* Hold g while `draw` fills the tensor. */
static int fill(dp_ctx *ctx, dp_tensor *t, dp_generator *g,
                int (*draw)(dp_ctx *ctx, dp_dtype dtype, void *out, size_t n))
{
    DP_VIEW(x, t);
    int rc = dp_generator_enter(ctx, g, DP_DEVICE_CPU);

    if (rc)
        return rc;
    rc = draw(ctx, x.dtype, x.data, (size_t)x.numel);
    dp_generator_leave(ctx);
    return rc;
}

static int uniform(dp_ctx *ctx, const int64_t *sizes, size_t n, const int64_t *dtype,
                   dp_generator *g, dp_tensor **out)
{
    int rc = dp_empty(ctx, dtype ? (dp_dtype)*dtype : DP_FLOAT32, DP_DEVICE_CPU, (int)n, sizes,
                      DP_CONTIGUOUS, out);
    return rc ? rc : fill(ctx, *out, g, dp_generator_uniform);
}

/* at::normal_ of fewer than 16 elements: draws of float64, whatever the dtype */
static int normal_(dp_ctx *ctx, dp_tensor *self, dp_generator *g)
{
    DP_VIEW(x, self);
    double *draws = dp_alloc(ctx, (size_t)x.numel * sizeof(double));
    int rc = draws ? dp_generator_enter(ctx, g, DP_DEVICE_CPU) : DP_ERESOURCE;

    if (rc)
        return rc;
    rc = dp_generator_normal(ctx, DP_FLOAT64, draws, (size_t)x.numel);
    dp_generator_leave(ctx);
    for (int64_t i = 0; rc == 0 && i < x.numel; i++)
        if (x.dtype == DP_FLOAT32)
            ((float *)x.data)[i] = (float)draws[i];
        else
            ((double *)x.data)[i] = draws[i];
    return rc;
}

/* n draws of 32 bits, as int64. */
static int raw(dp_ctx *ctx, int64_t n, dp_generator *g, dp_tensor **out)
{
    uint32_t *draws = dp_alloc(ctx, (size_t)n * sizeof(*draws));
    int rc =
        draws ? dp_empty(ctx, DP_INT64, DP_DEVICE_CPU, 1, &n, DP_CONTIGUOUS, out) : DP_ERESOURCE;

    if (rc)
        return rc;
    DP_VIEW(x, *out);
    rc = dp_generator_enter(ctx, g, DP_DEVICE_CPU);
    if (rc)
        return rc;
    rc = dp_generator_u32(ctx, draws, (size_t)n);
    dp_generator_leave(ctx);
    for (int64_t i = 0; i < n; i++)
        ((int64_t *)x.data)[i] = draws[i];
    return rc;
}

static int range(dp_ctx *ctx, int64_t increment, dp_generator *g, int64_t *seed, int64_t *offset)
{
    dp_device dice;
    int rc = dp_device_find(ctx, "dice", &dice);

    if (rc == 0)
        rc = dp_generator_enter(ctx, g, dice);
    if (rc)
        return rc;
    rc = dp_generator_philox(ctx, (uint64_t)increment, (uint64_t *)seed, (uint64_t *)offset);
    dp_generator_leave(ctx);
    return rc;
}

/* Leaves nothing: the request's end does. */
static int forgets(dp_ctx *ctx, dp_generator *g, int64_t *out)
{
    uint32_t draw = 0;
    int rc = dp_generator_enter(ctx, g, DP_DEVICE_CPU);

    if (rc == 0)
        rc = dp_generator_u32(ctx, &draw, 1);
    *out = draw;
    return rc;
}

/* A kernel that keeps the generator until the file `path` exists. */
static int holds(dp_ctx *ctx, dp_str path, int64_t *out)
{
    int rc = dp_generator_enter(ctx, NULL, DP_DEVICE_CPU);

    while (rc == 0 && access(path.s, F_OK) != 0)
        usleep(2000);
    dp_generator_leave(ctx);
    *out = 1;
    return rc;
}

static int draws_without(dp_ctx *ctx, int64_t *out)
{
    uint64_t draw = 0;
    int rc = dp_generator_u64(ctx, &draw, 1);

    *out = (int64_t)draw;
    return rc;
}

static int holds_two(dp_ctx *ctx, dp_generator *g, int64_t *out)
{
    int rc = dp_generator_enter(ctx, NULL, DP_DEVICE_CPU);

    *out = 0;
    if (rc == 0)
        rc = dp_generator_enter(ctx, g, DP_DEVICE_CPU);
    dp_generator_leave(ctx);
    return rc;
}

DP_LIBRARY(rnd,
           DP_DEF("uniform(int[] size, *, ScalarType? dtype=None, Generator? generator=None) -> "
                  "Tensor"),
           DP_DEF("normal_(Tensor(a!) self, *, Generator? generator=None) -> Tensor(a!)"),
           DP_DEF("raw(int n, *, Generator? generator=None) -> Tensor"),
           DP_DEF("range(int increment, *, Generator? generator=None) -> (int, int)"),
           DP_DEF("forgets(*, Generator? generator=None) -> int"), DP_DEF("holds(str path) -> int"),
           DP_DEF("draws_without() -> int"), DP_DEF("holds_two(*, Generator generator) -> int"))
DP_LIBRARY_IMPL(rnd, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("uniform", uniform, (li, oi, og), (T)),
                DP_IMPL_UNBOXED("normal_", normal_, (T, og), ()),
                DP_IMPL_UNBOXED("raw", raw, (i, og), (T)),
                DP_IMPL_UNBOXED("range", range, (i, og), (i, i)),
                DP_IMPL_UNBOXED("forgets", forgets, (og), (i)),
                DP_IMPL_UNBOXED("holds", holds, (S), (i)),
                DP_IMPL_UNBOXED("draws_without", draws_without, (), (i)),
                DP_IMPL_UNBOXED("holds_two", holds_two, (g), (i)))
