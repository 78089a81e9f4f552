/* get.c -- properties of tensors and lists that a GET step reads without calling an operator. */
#include "program_i.h"
#include "dispatch/call/ctx.h"

static int get_sizes(dp_ctx *ctx, const dp_value *args, dp_value *out)
{
    DPI_VIEW(v, args[0].u.t);
    const int64_t *copy = dp_arena_dup_n(&ctx->arena, v.sizes, (size_t)v.ndim, sizeof(*copy));

    *out = dp_ints(copy, (size_t)v.ndim);
    return copy != NULL ? 0 : dpi_no_memory(&ctx->error, "sizes");
}

static int get_strides(dp_ctx *ctx, const dp_value *args, dp_value *out)
{
    DPI_VIEW(v, args[0].u.t);
    const int64_t *copy = dp_arena_dup_n(&ctx->arena, v.strides, (size_t)v.ndim, sizeof(*copy));

    *out = dp_ints(copy, (size_t)v.ndim);
    return copy != NULL ? 0 : dpi_no_memory(&ctx->error, "strides");
}

/* Get element `which` of `from` [v->ndim]: *out.  A negative `which` counts from the end. */
static int get_dim(dp_ctx *ctx, const dp_view *v, const dp_value *which, const int64_t *from,
                   dp_value *out)
{
    if (which->tag != DP_TAG_INT)
        return dp_error_set(&ctx->error, DP_ETYPE, "a dimension must be int, not %s",
                            dpi_value_kind(which));
    int64_t d = which->u.i < 0 ? which->u.i + v->ndim : which->u.i;
    if (d < 0 || d >= v->ndim)
        return dp_error_set(&ctx->error, DP_EINDEX, "dimension %lld of a tensor with %d",
                            (long long)which->u.i, v->ndim);
    *out = dp_int(from[d]);
    return 0;
}

static int get_size(dp_ctx *ctx, const dp_value *args, dp_value *out)
{
    DPI_VIEW(v, args[0].u.t);
    return get_dim(ctx, &v, &args[1], v.sizes, out);
}

static int get_stride(dp_ctx *ctx, const dp_value *args, dp_value *out)
{
    DPI_VIEW(v, args[0].u.t);
    return get_dim(ctx, &v, &args[1], v.strides, out);
}

static int get_dtype(dp_ctx *ctx, const dp_value *args, dp_value *out)
{
    DPI_VIEW(v, args[0].u.t);
    (void)ctx;
    *out = dp_int(v.dtype);
    return 0;
}

static int get_device(dp_ctx *ctx, const dp_value *args, dp_value *out)
{
    DPI_VIEW(v, args[0].u.t);
    (void)ctx;
    *out = dp_int(v.device);
    return 0;
}

static int get_layout(dp_ctx *ctx, const dp_value *args, dp_value *out)
{
    dp_wrapper w = {.size = sizeof(w)};

    (void)ctx;
    *out = dp_int(dp_wrapper_get(args[0].u.t, &w) ? w.layout : DP_LAYOUT_STRIDED);
    return 0;
}

static int get_ndim(dp_ctx *ctx, const dp_value *args, dp_value *out)
{
    DPI_VIEW(v, args[0].u.t);
    (void)ctx;
    *out = dp_int(v.ndim);
    return 0;
}

static int get_numel(dp_ctx *ctx, const dp_value *args, dp_value *out)
{
    DPI_VIEW(v, args[0].u.t);
    (void)ctx;
    *out = dp_int(v.numel);
    return 0;
}

static int get_offset(dp_ctx *ctx, const dp_value *args, dp_value *out)
{
    (void)ctx;
    *out = dp_int(dp_tensor_offset(args[0].u.t));
    return 0;
}

static int get_is_complex(dp_ctx *ctx, const dp_value *args, dp_value *out)
{
    DPI_VIEW(v, args[0].u.t);
    (void)ctx;
    *out = dp_bool(v.dtype == DP_COMPLEX64 || v.dtype == DP_COMPLEX128);
    return 0;
}

static int get_len(dp_ctx *ctx, const dp_value *args, dp_value *out)
{
    (void)ctx;
    *out = dp_int(args[0].len);
    return 0;
}

static int get_item(dp_ctx *ctx, const dp_value *args, dp_value *out)
{
    if (args[1].tag != DP_TAG_INT)
        return dp_error_set(&ctx->error, DP_ETYPE, "an index must be int, not %s",
                            dpi_value_kind(&args[1]));
    int64_t i = args[1].u.i < 0 ? args[1].u.i + args[0].len : args[1].u.i;
    if (i < 0 || i >= args[0].len)
        return dp_error_set(&ctx->error, DP_EINDEX, "index %lld of a list of %u",
                            (long long)args[1].u.i, args[0].len);
    *out = dp_int(args[0].u.ints[i]);
    return 0;
}

const dpi_get dpi_gets[] = {
    {"sizes", 1, DPI_TENSOR, DP_TAG_INTS, 0, get_sizes},
    {"strides", 1, DPI_TENSOR, DP_TAG_INTS, 0, get_strides},
    {"size", 2, DPI_TENSOR, DP_TAG_INT, 0, get_size},
    {"stride", 2, DPI_TENSOR, DP_TAG_INT, 0, get_stride},
    {"dtype", 1, DPI_TENSOR, DP_TAG_INT, DPI_TYPE_SCALAR_TYPE, get_dtype},
    {"device", 1, DPI_TENSOR, DP_TAG_INT, DPI_TYPE_DEVICE, get_device},
    {"layout", 1, DPI_TENSOR, DP_TAG_INT, DPI_TYPE_LAYOUT, get_layout},
    {"ndim", 1, DPI_TENSOR, DP_TAG_INT, 0, get_ndim},
    {"numel", 1, DPI_TENSOR, DP_TAG_INT, 0, get_numel},
    {"offset", 1, DPI_TENSOR, DP_TAG_INT, 0, get_offset},
    {"is_complex", 1, DPI_TENSOR, DP_TAG_BOOL, 0, get_is_complex},
    {"len", 1, DPI_LISTS, DP_TAG_INT, 0, get_len},
    {"item", 2, 1u << DP_TAG_INTS, DP_TAG_INT, 0, get_item},
};
const uint32_t dpi_n_gets = DPI_COUNT(dpi_gets);
_Static_assert(DPI_COUNT(dpi_gets) <= DPI_GETS_MAX, "their names fit into an array");
