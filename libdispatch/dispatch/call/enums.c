/* enums.c -- names and numbers of dtypes, layouts, memory formats and devices. */
#include "enums.h"
#include "ctx.h"

static const struct {
    uint8_t kind;
    int8_t number;
    const char *name;
} enum_names[] = {
#define LAYOUT(id, number, name) {DPI_TYPE_LAYOUT, number, name},
    DP_LAYOUT_MAP(LAYOUT)
#undef LAYOUT
        {DPI_TYPE_MEMORY_FORMAT, DP_CONTIGUOUS, "contiguous_format"},
    {DPI_TYPE_MEMORY_FORMAT, DP_PRESERVE, "preserve_format"},
    {DPI_TYPE_MEMORY_FORMAT, DP_CHANNELS_LAST, "channels_last"},
    {DPI_TYPE_MEMORY_FORMAT, DP_CHANNELS_LAST_3D, "channels_last_3d"},
};

static bool is_dtype(int64_t number)
{
    return number >= 0 && number < DP_DTYPE_END && dp_dtype_size((dp_dtype)number) > 0;
}

static bool is_device(int64_t number)
{
    return number >= 0 && number <= INT32_MAX && number >> 16 < 64 &&
           dpi_backend_name((int)(number >> 16)) != NULL;
}

bool dpi_enum_number(uint8_t kind, const dp_value *v, int64_t *out)
{
    dp_device device = 0;

    if (v->tag != DP_TAG_STR && v->tag != DP_TAG_INT)
        return false;
    if (kind == DPI_TYPE_SCALAR_TYPE) {
        *out = v->tag == DP_TAG_STR ? (int64_t)dp_dtype_parse(v->u.s) : v->u.i;
        return is_dtype(*out);
    }
    if (kind == DPI_TYPE_DEVICE) {
        bool named = v->tag == DP_TAG_STR && dp_device_parse(v->u.s, &device, NULL) == 0;
        *out = named ? device : v->u.i;
        return named || (v->tag == DP_TAG_INT && is_device(v->u.i));
    }
    for (size_t i = 0; i < DPI_COUNT(enum_names); i++) {
        bool same = v->tag == DP_TAG_STR ? strcmp(v->u.s, enum_names[i].name) == 0
                                         : v->u.i == enum_names[i].number;
        *out = enum_names[i].number;
        if (same && enum_names[i].kind == kind)
            return true;
    }
    return false;
}

uint8_t dpi_enum_kind(const dpi_type *type)
{
    while (type->kind == DPI_TYPE_LIST || type->kind == DPI_TYPE_OPTIONAL)
        type = type->elem;
    bool is_enum = type->kind >= DPI_TYPE_SCALAR_TYPE && type->kind <= DPI_TYPE_DEVICE;
    return is_enum ? type->kind : 0;
}

const char *dpi_enum_name(uint8_t kind, int64_t number, char *buf)
{
    if (kind == DPI_TYPE_SCALAR_TYPE)
        return is_dtype(number) ? dp_dtype_name((dp_dtype)number) : NULL;
    if (kind == DPI_TYPE_DEVICE)
        return is_device(number) ? dp_device_name((dp_device)number, buf) : NULL;
    for (size_t i = 0; i < DPI_COUNT(enum_names); i++)
        if (enum_names[i].kind == kind && enum_names[i].number == number)
            return enum_names[i].name;
    return NULL;
}

/* List the names of an enum of kind `kind`, which is not DPI_TYPE_DEVICE.  Return their number. */
static size_t list_enum(uint8_t kind, const char *names[DP_DTYPE_END])
{
    size_t n = 0;

    for (int d = 0; kind == DPI_TYPE_SCALAR_TYPE && d < DP_DTYPE_END; d++)
        if (is_dtype(d))
            names[n++] = dp_dtype_name((dp_dtype)d);
    for (size_t i = 0; i < DPI_COUNT(enum_names); i++)
        if (enum_names[i].kind == kind)
            names[n++] = enum_names[i].name;
    return n;
}

void dpi_enum_nearest(dpi_text *t, uint8_t kind, const char *name)
{
    static const char *const what[] = {[DPI_TYPE_SCALAR_TYPE] = "dtype",
                                       [DPI_TYPE_LAYOUT] = "layout",
                                       [DPI_TYPE_MEMORY_FORMAT] = "memory format"};
    const char *names[DP_DTYPE_END];
    dp_error why = DP_ERROR_INIT;
    char near[200] = "";

    if (kind == DPI_TYPE_DEVICE && dp_device_parse(name, &(dp_device){0}, &why) < 0)
        dpi_text_printf(t, ": %s", why.message);
    if (kind == DPI_TYPE_DEVICE)
        return;
    if (kind == DPI_TYPE_SCALAR_TYPE && dpi_dtype_is_reserved(name)) {
        dpi_text_printf(t, ": dtype %s is PyTorch's; tensors of it are not supported", name);
        return;
    }
    dpi_nearest(name, names, list_enum(kind, names), 3, near, sizeof(near));
    dpi_text_printf(t, ": no %s '%.64s'; nearest: %s", what[kind], name, near);
}

static int name_one(dp_ctx *ctx, uint8_t kind, dp_value *v)
{
    char buf[DP_KEY_NAME_MAX];
    const char *name = v->tag == DP_TAG_INT ? dpi_enum_name(kind, v->u.i, buf) : NULL;

    if (name == NULL)
        return 0;
    const char *copy = dp_arena_dup(&ctx->arena, name, strlen(name) + 1);
    if (copy == NULL)
        return dpi_no_memory(&ctx->error, "the name of a return");
    *v = (dp_value){DP_TAG_STR, (uint32_t)strlen(copy), {0}};
    v->u.s = copy;
    return 0;
}

static int name_list(dp_ctx *ctx, uint8_t kind, dp_value *v)
{
    dp_value *items = dp_arena_alloc_n(&ctx->arena, v->len, sizeof(*items));
    int rc = items ? 0 : dpi_no_memory(&ctx->error, "the names of a return");

    for (uint32_t i = 0; i < v->len && rc == 0; i++) {
        items[i] = dp_int(v->u.ints[i]);
        rc = name_one(ctx, kind, &items[i]);
    }
    if (rc == 0) {
        v->tag = DP_TAG_LIST;
        v->u.values = items;
    }
    return rc;
}

int dpi_name_value(dp_ctx *ctx, uint8_t kind, dp_value *v)
{
    return v->tag == DP_TAG_INTS ? name_list(ctx, kind, v) : name_one(ctx, kind, v);
}

int dp_name_returns(dp_ctx *ctx, const dp_bound *b, dp_value *rets)
{
    if (!DPI_GIVEN(&ctx->error, DP_EVALUE, b))
        return DP_EVALUE;
    int rc = 0;

    for (uint32_t i = 0; i < b->n_rets && rc == 0; i++)
        if (b->ret_names[i] != 0)
            rc = dpi_name_value(ctx, b->ret_names[i], &rets[i]);
    return rc;
}
