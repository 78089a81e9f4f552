/* coerce.c -- fit one value to one type of a schema: check the value, and convert it. */
#include "coerce.h"
#include "ctx.h"
#include "enums.h"
#include "values.h"
#include <stdio.h>

/* Fit `v` to `type`.  DP_ETYPE: `v` does not fit, and no error is set.  For other codes the error
 * of the context is set. */
typedef int (*coercion)(dpi_fit_try *f, const dpi_type *type, const dp_value *v, dp_value *out);

static int to_tensor(dpi_fit_try *f, const dpi_type *type, const dp_value *v, dp_value *out)
{
    dp_ctx *ctx = f->rq->ctx;
    dp_tensor *t = NULL;

    (void)type;
    *out = *v;
    if (v->tag == DP_TAG_TENSOR)
        return v->u.t ? dpi_tensor_check_device(v->u.t, &ctx->error) : DP_ETYPE;
    if (!f->loose || f->written || !is_number(v))
        return DP_ETYPE;
    int rc = dpi_scalar_tensor(NULL, *v, DP_DTYPE_NONE, &t, &ctx->error);
    if (rc < 0)
        return rc;
    dp_tensor_set_wrapped(t, true);
    *out = dp_tensor_value(t);
    return dpi_ctx_own(ctx, t);
}

/* Read the number in a 0-dim tensor, like at::Tensor::item(). */
static int item(dpi_fit_try *f, const dp_value *v, dp_value *out)
{
    union {
        int64_t i;
        double z[2];
        uint8_t byte; /* for bool: unwritten memory may have bytes other than 0 and 1 */
        uint64_t raw[2];
    } raw = {0}, number = {0};
    dp_view t = {.size = (uint32_t)sizeof(t)};

    if (v->tag != DP_TAG_TENSOR || !f->loose)
        return DP_ETYPE;
    dp_tensor_view(v->u.t, &t);
    if (t.ndim != 0 || dp_dtype_is_quantized(t.dtype))
        return DP_ETYPE;
    int rc = dp_tensor_read(v->u.t, &raw, &f->rq->ctx->error);
    if (rc < 0)
        return rc;
    switch (t.dtype) {
    case DP_BOOL:
        *out = dp_bool(raw.byte != 0);
        return 0;
    case DP_FLOAT16:
    case DP_BFLOAT16:
    case DP_FLOAT32:
    case DP_FLOAT64:
        dp_convert(DP_FLOAT64, &number, t.dtype, &raw, 1);
        *out = dp_double(number.z[0]);
        return 0;
    case DP_COMPLEX64:
    case DP_COMPLEX128:
        dp_convert(DP_COMPLEX128, &number, t.dtype, &raw, 1);
        *out = (dp_value){DP_TAG_COMPLEX, 0, {0}};
        out->u.doubles = dp_arena_dup(&f->rq->ctx->arena, number.z, sizeof(number.z));
        return out->u.doubles ? 0 : no_memory(f);
    default:
        dp_convert(DP_INT64, &number, t.dtype, &raw, 1);
        *out = dp_int(number.i);
        return 0;
    }
}

static int to_scalar(dpi_fit_try *f, const dpi_type *type, const dp_value *v, dp_value *out)
{
    (void)type;
    *out = *v;
    return is_number(v) ? 0 : item(f, v, out);
}

static int to_int(dpi_fit_try *f, const dpi_type *type, const dp_value *v, dp_value *out)
{
    int rc = to_scalar(f, type, v, out);

    return rc == 0 && out->tag != DP_TAG_INT ? DP_ETYPE : rc;
}

static int to_float(dpi_fit_try *f, const dpi_type *type, const dp_value *v, dp_value *out)
{
    int rc = to_scalar(f, type, v, out);

    if (rc == 0 && out->tag == DP_TAG_INT)
        *out = dp_double((double)out->u.i);
    return rc == 0 && out->tag != DP_TAG_DOUBLE ? DP_ETYPE : rc;
}

static int to_complex(dpi_fit_try *f, const dpi_type *type, const dp_value *v, dp_value *out)
{
    double z[2] = {0, 0};
    int rc = to_scalar(f, type, v, out);

    if (rc < 0 || out->tag == DP_TAG_COMPLEX)
        return rc;
    if (out->tag == DP_TAG_BOOL)
        return DP_ETYPE;
    z[0] = out->tag == DP_TAG_INT ? (double)out->u.i : out->u.d;
    out->tag = DP_TAG_COMPLEX;
    out->u.doubles = dp_arena_dup(&f->rq->ctx->arena, z, sizeof(z));
    return out->u.doubles ? 0 : no_memory(f);
}

/* Accept only values of the type itself, unchanged.  This is for bool, str, Generator and
 * others. */
static int to_same(dpi_fit_try *f, const dpi_type *type, const dp_value *v, dp_value *out)
{
    (void)f;
    *out = *v;
    return dpi_type_fits(type, v) ? 0 : DP_ETYPE;
}

/* -- enums (dtypes, devices, ...), given by name or by number -- */

static int to_enum(dpi_fit_try *f, const dpi_type *type, const dp_value *v, dp_value *out)
{
    int64_t number;

    (void)f;
    if (!dpi_enum_number(type->kind, v, &number))
        return DP_ETYPE;
    *out = dp_int(number);
    return 0;
}

/* -- lists -- */

static void element_store(uint32_t tag, void *list, uint32_t i, const dp_value *v)
{
    switch (tag) {
    case DP_TAG_TENSORS:
        ((dp_tensor **)list)[i] = v->tag == DP_TAG_TENSOR ? v->u.t : NULL;
        break;
    case DP_TAG_INTS:
        ((int64_t *)list)[i] = v->u.i;
        break;
    case DP_TAG_DOUBLES:
        ((double *)list)[i] = v->u.d;
        break;
    case DP_TAG_BOOLS:
        ((bool *)list)[i] = v->u.b;
        break;
    default:
        ((dp_value *)list)[i] = *v;
    }
}

static int to_list(dpi_fit_try *f, const dpi_type *type, const dp_value *v, dp_value *out)
{
    const dpi_type *elem = type->elem;
    bool sized = type->n > 0 && (elem->kind == DPI_TYPE_INT || elem->kind == DPI_TYPE_SYMINT);
    bool repeat = sized && v->tag == DP_TAG_INT; /* int[2] x = 3: the number is repeated */

    *out = *v;
    if (!repeat && !dp_is_list(v))
        return DP_ETYPE;
    if (elem->kind == DPI_TYPE_BOOL && type->n > 0 &&
        v->len != type->n) /* kernels read n elements */
        return dp_error_set(&f->rq->ctx->error, DP_ERUNTIME,
                            "%s: expected a list of %u bools but got one of %u", f->schema->name,
                            type->n, v->len);
    if (repeat && type->n > DP_LIMIT_REPEATED)
        return dp_error_set(&f->rq->ctx->error, DP_ERESOURCE,
                            "%s: a number for int[%u] stands for more than %d", f->schema->name,
                            type->n, DP_LIMIT_REPEATED);
    out->tag = dpi_list_tag(elem);
    out->len = repeat ? type->n : v->len;
    void *list = dp_arena_alloc(&f->rq->ctx->arena, dpi_items_bytes(out->tag, out->len) + 1);
    if (list == NULL)
        return no_memory(f);
    out->u.values = list;
    for (uint32_t i = 0; i < out->len; i++) {
        dp_value given = repeat ? *v : dp_list_item(v, i), fitted;
        int rc = dpi_coerce(f, elem, &given, &fitted);
        if (rc < 0) {
            f->element = i;
            return rc;
        }
        element_store(out->tag, list, i, &fitted);
    }
    return 0;
}

static int to_optional(dpi_fit_try *f, const dpi_type *type, const dp_value *v, dp_value *out)
{
    *out = *v;
    return v->tag == DP_TAG_NONE ? 0 : dpi_coerce(f, type->elem, v, out);
}

/* The function for each kind of type.  Kinds that are not listed use to_same(). */
static const coercion coercions[DPI_TYPE_FUTURE + 1] = {
    [DPI_TYPE_TENSOR] = to_tensor,      [DPI_TYPE_INT] = to_int,
    [DPI_TYPE_SYMINT] = to_int,         [DPI_TYPE_FLOAT] = to_float,
    [DPI_TYPE_SCALAR] = to_scalar,      [DPI_TYPE_COMPLEX] = to_complex,
    [DPI_TYPE_SCALAR_TYPE] = to_enum,   [DPI_TYPE_LAYOUT] = to_enum,
    [DPI_TYPE_MEMORY_FORMAT] = to_enum, [DPI_TYPE_DEVICE] = to_enum,
    [DPI_TYPE_LIST] = to_list,          [DPI_TYPE_OPTIONAL] = to_optional,
};

void dpi_describe(const dp_value *v, char *buf, size_t bytes)
{
    if (v->tag == DPI_TAG_SYMBOL)
        dpi_describe_symbol(v, buf, bytes);
    else if (v->tag == DP_TAG_OBJECT)
        snprintf(buf, bytes, "object of kind '%.200s'", dp_object_kind(v->u.o));
    else if (v->tag == DP_TAG_STR)
        snprintf(buf, bytes, "str '%.60s'", v->u.s);
    else
        snprintf(buf, bytes, "%s", dpi_value_kind(v));
}

int dpi_coerce(dpi_fit_try *f, const dpi_type *type, const dp_value *v, dp_value *out)
{
    coercion fn = v->tag == DPI_TAG_SYMBOL ? dpi_coerce_symbol
                  : coercions[type->kind]  ? coercions[type->kind]
                                           : to_same;
    int rc = fn(f, type, v, out);

    if (rc == DP_ETYPE && f->err != NULL && f->actual[0] == '\0')
        dpi_describe(v, f->actual, sizeof(f->actual)); /* unless an item of `v` has set it */
    return rc;
}
