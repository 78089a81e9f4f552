/* bind.c -- which overload is meant, and arguments fitted to its schema.
 *
 * Overloads are tried in the order of their definition: first with exact kinds only, then with
 * numbers for tensors and 0-dim tensors for numbers (python_arg_parser.cpp); one alone, that has so
 * many arguments of these names, needs no first round.  Trying formats no
 * messages; once nothing fits, the one likely candidate is tried again to say why. */
#include "dispatch/call/bind.h"
#include "find.h"
#include "dispatch/registry/truth.h"
#include <stdio.h>
#include <stdlib.h>

/* -- one value to one type -- */

typedef struct request {
    dp_ctx *ctx;
    const dp_value *args;
    size_t n_args;
    const dp_kwarg *kwargs;
    size_t n_kwargs;
    dpi_kinds *kinds; /* NULL: there are no symbols */
    bool only;        /* there is but one overload that can be meant */
    bool named;       /* check_names() has passed */
} request;

/* One attempt at one schema. */
typedef struct fit {
    const request *rq;
    const dp_schema *schema;
    dp_error *err;   /* NULL: only trying */
    bool loose;      /* pass 2: numbers for Tensor, 0-dim tensors for numbers */
    bool written;    /* the argument at hand is written: a number cannot be */
    bool late;       /* it is a symbol that has to be fitted again */
    bool maybe;      /* some symbol fits or does not, as its value will say */
    int64_t element; /* of a list, that did not fit; -1 */
    char actual[96]; /* what did not fit, for the message */
} fit;

/* Fits v to type, or returns DP_ETYPE without a message; other codes come with one in the
 * context's error. */
typedef int (*coercion)(fit *f, const dpi_type *type, const dp_value *v, dp_value *out);
static int coerce(fit *f, const dpi_type *type, const dp_value *v, dp_value *out);

static int no_memory(const fit *f)
{
    return dpi_no_memory(&f->rq->ctx->error, "arguments of a call");
}

static bool is_number(const dp_value *v)
{
    return v->tag == DP_TAG_INT || v->tag == DP_TAG_DOUBLE || v->tag == DP_TAG_BOOL ||
           v->tag == DP_TAG_COMPLEX;
}

static int to_tensor(fit *f, const dpi_type *type, const dp_value *v, dp_value *out)
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

/* The number in a 0-dim tensor, as at::Tensor::item() has it. */
static int item(fit *f, const dp_value *v, dp_value *out)
{
    union {
        int64_t i;
        double z[2];
        uint8_t byte; /* of a bool: memory that nobody wrote holds others than 0 and 1 */
        uint64_t raw[2];
    } raw = {0}, number = {0};
    dp_view t = {.size = (uint32_t)sizeof(t)};

    if (v->tag != DP_TAG_TENSOR || !f->loose)
        return DP_ETYPE;
    dp_tensor_view(v->u.t, &t);
    if (t.ndim != 0)
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

static int to_scalar(fit *f, const dpi_type *type, const dp_value *v, dp_value *out)
{
    (void)type;
    *out = *v;
    return is_number(v) ? 0 : item(f, v, out);
}

static int to_int(fit *f, const dpi_type *type, const dp_value *v, dp_value *out)
{
    int rc = to_scalar(f, type, v, out);

    return rc == 0 && out->tag != DP_TAG_INT ? DP_ETYPE : rc;
}

static int to_float(fit *f, const dpi_type *type, const dp_value *v, dp_value *out)
{
    int rc = to_scalar(f, type, v, out);

    if (rc == 0 && out->tag == DP_TAG_INT)
        *out = dp_double((double)out->u.i);
    return rc == 0 && out->tag != DP_TAG_DOUBLE ? DP_ETYPE : rc;
}

static int to_complex(fit *f, const dpi_type *type, const dp_value *v, dp_value *out)
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

/* bool, str, Generator, Any ...: what fits is taken as it is. */
static int to_same(fit *f, const dpi_type *type, const dp_value *v, dp_value *out)
{
    (void)f;
    *out = *v;
    return dpi_type_fits(type, v) ? 0 : DP_ETYPE;
}

/* -- enums: by name, or already as the number -- */

static const struct {
    uint8_t kind;
    int8_t number;
    const char *name;
} enum_names[] = {
    {DPI_TYPE_LAYOUT, DP_LAYOUT_STRIDED, "strided"},
    {DPI_TYPE_MEMORY_FORMAT, DP_CONTIGUOUS, "contiguous_format"},
    {DPI_TYPE_MEMORY_FORMAT, DP_PRESERVE, "preserve_format"},
    {DPI_TYPE_MEMORY_FORMAT, DP_CHANNELS_LAST, "channels_last"},
    {DPI_TYPE_MEMORY_FORMAT, DP_CHANNELS_LAST_3D, "channels_last_3d"},
};

static int to_enum(fit *f, const dpi_type *type, const dp_value *v, dp_value *out)
{
    (void)f;
    for (size_t i = 0; i < DPI_COUNT(enum_names); i++) {
        bool same = v->tag == DP_TAG_STR   ? strcmp(v->u.s, enum_names[i].name) == 0
                    : v->tag == DP_TAG_INT ? v->u.i == enum_names[i].number
                                           : false;
        *out = dp_int(enum_names[i].number);
        if (same && enum_names[i].kind == type->kind)
            return 0;
    }
    return DP_ETYPE;
}

static bool is_dtype(int64_t number)
{
    return number >= 0 && number < DP_DTYPE_END && dp_dtype_size((dp_dtype)number) > 0;
}

static int to_dtype(fit *f, const dpi_type *type, const dp_value *v, dp_value *out)
{
    int64_t d = v->tag == DP_TAG_STR ? dp_dtype_parse(v->u.s) : v->tag == DP_TAG_INT ? v->u.i : -1;

    (void)f, (void)type;
    *out = dp_int(d);
    return is_dtype(d) ? 0 : DP_ETYPE;
}

static bool is_device(int64_t number)
{
    return number >= 0 && number <= INT32_MAX && number >> 16 < 64 &&
           dpi_backend_name((int)(number >> 16)) != NULL;
}

static int to_device(fit *f, const dpi_type *type, const dp_value *v, dp_value *out)
{
    dp_device d = 0;

    (void)f, (void)type;
    *out = *v;
    if (v->tag == DP_TAG_STR && dp_device_parse(v->u.s, &d, NULL) == 0) {
        *out = dp_int(d);
        return 0;
    }
    return v->tag == DP_TAG_INT && is_device(v->u.i) ? 0 : DP_ETYPE;
}

/* The kind of enum that a type's numbers are, in lists and optionals too; 0: plain numbers. */
static uint8_t enum_kind(const dpi_type *type)
{
    while (type->kind == DPI_TYPE_LIST || type->kind == DPI_TYPE_OPTIONAL)
        type = type->elem;
    bool is = type->kind >= DPI_TYPE_SCALAR_TYPE && type->kind <= DPI_TYPE_DEVICE;
    return is ? type->kind : 0;
}

/* NULL: the number is none of them.  buf: DP_KEY_NAME_MAX bytes. */
static const char *enum_name(uint8_t kind, int64_t number, char *buf)
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

/* -- lists -- */

/* How a list of this element type lies in memory (tensor.h). */
static uint32_t list_tag(const dpi_type *elem)
{
    static const uint8_t tags[DPI_TYPE_FUTURE + 1] = {
        [DPI_TYPE_TENSOR] = DP_TAG_TENSORS, [DPI_TYPE_INT] = DP_TAG_INTS,
        [DPI_TYPE_SYMINT] = DP_TAG_INTS,    [DPI_TYPE_SCALAR_TYPE] = DP_TAG_INTS,
        [DPI_TYPE_LAYOUT] = DP_TAG_INTS,    [DPI_TYPE_MEMORY_FORMAT] = DP_TAG_INTS,
        [DPI_TYPE_DEVICE] = DP_TAG_INTS,    [DPI_TYPE_FLOAT] = DP_TAG_DOUBLES,
        [DPI_TYPE_BOOL] = DP_TAG_BOOLS,
    };

    if (elem->kind == DPI_TYPE_OPTIONAL && elem->elem->kind == DPI_TYPE_TENSOR)
        return DP_TAG_TENSORS;
    return tags[elem->kind] ? tags[elem->kind] : DP_TAG_LIST;
}

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

static int to_list(fit *f, const dpi_type *type, const dp_value *v, dp_value *out)
{
    const dpi_type *elem = type->elem;
    bool sized = type->n > 0 && (elem->kind == DPI_TYPE_INT || elem->kind == DPI_TYPE_SYMINT);
    bool repeat = sized && v->tag == DP_TAG_INT; /* int[2] x = 3 */

    *out = *v;
    if (!repeat && !dp_is_list(v))
        return DP_ETYPE;
    if (elem->kind == DPI_TYPE_BOOL && type->n > 0 &&
        v->len != type->n) /* kernels read n of them */
        return dp_error_set(&f->rq->ctx->error, DP_ERUNTIME, "%s: bool[%u] is given a list of %u",
                            f->schema->name, type->n, v->len);
    if (repeat && type->n > DP_LIMIT_REPEATED)
        return dp_error_set(&f->rq->ctx->error, DP_ERESOURCE,
                            "%s: a number for int[%u] stands for more than %d", f->schema->name,
                            type->n, DP_LIMIT_REPEATED);
    out->tag = list_tag(elem);
    out->len = repeat ? type->n : v->len;
    void *list = dp_arena_alloc(&f->rq->ctx->arena, dpi_items_bytes(out->tag, out->len) + 1);
    if (list == NULL)
        return no_memory(f);
    out->u.values = list;
    for (uint32_t i = 0; i < out->len; i++) {
        dp_value given = repeat ? *v : dp_list_item(v, i), fitted;
        int rc = coerce(f, elem, &given, &fitted);
        if (rc < 0) {
            f->element = i;
            return rc;
        }
        element_store(out->tag, list, i, &fitted);
    }
    return 0;
}

static int to_optional(fit *f, const dpi_type *type, const dp_value *v, dp_value *out)
{
    *out = *v;
    return v->tag == DP_TAG_NONE ? 0 : coerce(f, type->elem, v, out);
}

/* Types without a line here take what fits as it is. */
static const coercion coercions[DPI_TYPE_FUTURE + 1] = {
    [DPI_TYPE_TENSOR] = to_tensor,      [DPI_TYPE_INT] = to_int,
    [DPI_TYPE_SYMINT] = to_int,         [DPI_TYPE_FLOAT] = to_float,
    [DPI_TYPE_SCALAR] = to_scalar,      [DPI_TYPE_COMPLEX] = to_complex,
    [DPI_TYPE_SCALAR_TYPE] = to_dtype,  [DPI_TYPE_LAYOUT] = to_enum,
    [DPI_TYPE_MEMORY_FORMAT] = to_enum, [DPI_TYPE_DEVICE] = to_device,
    [DPI_TYPE_LIST] = to_list,          [DPI_TYPE_OPTIONAL] = to_optional,
};

/* -- symbols: what is known of a value is which tags it may have -- */

enum { NO, YES, FITTED, MAYBE }; /* FITTED: it fits, but not as it is */

static int number_fits(const fit *f, uint8_t kind, uint32_t tag)
{
    bool real = tag == DP_TAG_INT || tag == DP_TAG_DOUBLE;

    if (tag == DP_TAG_TENSOR)
        return f->loose ? MAYBE : NO;
    switch (kind) {
    case DPI_TYPE_SCALAR:
        return real || tag == DP_TAG_BOOL || tag == DP_TAG_COMPLEX ? YES : NO;
    case DPI_TYPE_FLOAT:
        return tag == DP_TAG_DOUBLE ? YES : tag == DP_TAG_INT ? FITTED : NO;
    case DPI_TYPE_COMPLEX:
        return tag == DP_TAG_COMPLEX ? YES : real ? FITTED : NO;
    default:
        return tag == DP_TAG_INT ? YES : NO;
    }
}

static int tag_fits(const fit *f, const dpi_type *type, uint32_t tag);

static int list_fits(const fit *f, const dpi_type *type, uint32_t tag)
{
    static const uint8_t elements[DP_TAG_END] = {[DP_TAG_TENSORS] = DP_TAG_TENSOR,
                                                 [DP_TAG_INTS] = DP_TAG_INT,
                                                 [DP_TAG_DOUBLES] = DP_TAG_DOUBLE,
                                                 [DP_TAG_BOOLS] = DP_TAG_BOOL};
    const dpi_type *elem = type->elem;

    if (tag == DP_TAG_LIST)
        return MAYBE;
    if (tag == DP_TAG_INT && type->n > 0)
        return elem->kind == DPI_TYPE_INT || elem->kind == DPI_TYPE_SYMINT ? FITTED : NO;
    if (elements[tag] == 0)
        return NO;
    int fits = tag_fits(f, elem, elements[tag]);
    return fits == YES && list_tag(elem) != tag ? FITTED : fits;
}

static int tag_fits(const fit *f, const dpi_type *type, uint32_t tag)
{
    dp_value v = {tag, 0, {0}};

    switch (type->kind) {
    case DPI_TYPE_OPTIONAL:
        return tag == DP_TAG_NONE ? YES : tag_fits(f, type->elem, tag);
    case DPI_TYPE_TENSOR:
        return tag == DP_TAG_TENSOR ? YES : is_number(&v) && f->loose && !f->written ? FITTED : NO;
    case DPI_TYPE_INT:
    case DPI_TYPE_SYMINT:
    case DPI_TYPE_FLOAT:
    case DPI_TYPE_SCALAR:
    case DPI_TYPE_COMPLEX:
        return number_fits(f, type->kind, tag);
    case DPI_TYPE_SCALAR_TYPE:
    case DPI_TYPE_LAYOUT:
    case DPI_TYPE_MEMORY_FORMAT:
    case DPI_TYPE_DEVICE:
        return tag == DP_TAG_INT || tag == DP_TAG_STR ? MAYBE : NO;
    case DPI_TYPE_LIST:
        return list_fits(f, type, tag);
    default:
        return dpi_type_fits(type, &v) ? YES : NO;
    }
}

static int coerce_symbol(fit *f, const dpi_type *type, const dp_value *v, dp_value *out)
{
    bool some = false, all = true, as_it_is = true;

    for (uint32_t tag = 0; tag < DP_TAG_END; tag++) {
        if (!(v->u.i >> tag & 1))
            continue;
        int fits = tag_fits(f, type, tag);
        some |= fits != NO;
        all &= fits == YES || fits == FITTED;
        as_it_is &= fits == YES;
    }
    *out = *v;
    f->late = !as_it_is;
    f->maybe |= !all;
    return some ? 0 : DP_ETYPE;
}

static void describe_symbol(const dp_value *v, char *buf, size_t bytes)
{
    size_t n = 0;

    buf[0] = '\0';
    for (uint32_t tag = 0; tag < DP_TAG_END; tag++)
        if ((v->u.i >> tag & 1) && n < bytes)
            n += (size_t)snprintf(buf + n, bytes - n, "%s%s", n ? " or " : "",
                                  dpi_value_kind(&(dp_value){tag, 0, {0}}));
}

/* What a value is, for messages; of a string also its text. */
static void describe(const dp_value *v, char *buf, size_t bytes)
{
    if (v->tag == DPI_TAG_SYMBOL)
        describe_symbol(v, buf, bytes);
    else if (v->tag == DP_TAG_STR)
        snprintf(buf, bytes, "str '%.60s'", v->u.s);
    else
        snprintf(buf, bytes, "%s", dpi_value_kind(v));
}

static int coerce(fit *f, const dpi_type *type, const dp_value *v, dp_value *out)
{
    coercion fn = v->tag == DPI_TAG_SYMBOL ? coerce_symbol
                  : coercions[type->kind]  ? coercions[type->kind]
                                           : to_same;
    int rc = fn(f, type, v, out);

    if (rc == DP_ETYPE && f->err != NULL && f->actual[0] == '\0')
        describe(v, f->actual, sizeof(f->actual)); /* the innermost one */
    return rc;
}

/* Defaults lie in the schema, which may be unloaded while the request lives. */
static int copy_default(const fit *f, const dp_value *def, dp_value *out)
{
    *out = *def;
    return dpi_values_copy(&f->rq->ctx->arena, out, 1) < 0 ? no_memory(f) : 0;
}

/* -- one schema -- */

static uint32_t positionals(const dp_schema *s)
{
    uint32_t n = 0;

    while (n < s->n_args && !s->args[n].kwarg_only)
        n++;
    return n;
}

static uint32_t required(const dp_schema *s)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->n_args; i++)
        n += !s->args[i].has_default;
    return n;
}

static const dp_kwarg *kwarg_of(const request *rq, const char *name)
{
    for (size_t i = 0; i < rq->n_kwargs; i++)
        if (strcmp(rq->kwargs[i].name, name) == 0)
            return &rq->kwargs[i];
    return NULL;
}

/* NULL: not given. */
static const dp_value *given(const fit *f, uint32_t i)
{
    if (i < f->rq->n_args)
        return &f->rq->args[i];
    const dp_kwarg *kw = kwarg_of(f->rq, f->schema->args[i].name);
    return kw ? &kw->value : NULL;
}

static int fail_count(const fit *f)
{
    uint32_t most = positionals(f->schema), least = 0;

    for (uint32_t i = 0; i < most; i++)
        least += !f->schema->args[i].has_default;
    if (least < most)
        return dp_error_set(f->err, DP_ETYPE,
                            "%s: takes from %u to %u positional arguments, but %zu were given",
                            f->schema->name, least, most, f->rq->n_args);
    return dp_error_set(f->err, DP_ETYPE, "%s: takes %u positional argument%s, but %zu %s given",
                        f->schema->name, most, most == 1 ? "" : "s", f->rq->n_args,
                        f->rq->n_args == 1 ? "was" : "were");
}

static int fail_unknown(const fit *f, const char *name)
{
    const char *names[DP_LIMIT_ARGUMENTS];
    char near[200] = "";

    for (uint32_t i = 0; i < f->schema->n_args; i++)
        names[i] = f->schema->args[i].name;
    if (f->err != NULL)
        dpi_nearest(name, names, f->schema->n_args, 3, near, sizeof(near));
    return dp_error_set(f->err, DP_ETYPE, "%s: has no argument named '%s'; nearest: %s",
                        f->schema->name, name, near[0] ? near : "(it takes none)");
}

static int fail_missing(const fit *f)
{
    dpi_text names = {0};
    uint32_t n = 0;

    if (f->err == NULL)
        return DP_ETYPE;
    for (uint32_t i = 0; i < f->schema->n_args; i++)
        if (given(f, i) == NULL && !f->schema->args[i].has_default)
            dpi_text_printf(&names, "%s'%s'", n++ ? ", " : "", f->schema->args[i].name);
    int rc = names.failed ? no_memory(f)
                          : dp_error_set(f->err, DP_ETYPE, "%s: missing %u required argument%s: %s",
                                         f->schema->name, n, n == 1 ? "" : "s", names.s);
    dpi_text_fini(&names);
    return rc;
}

static int fail_value(const fit *f, uint32_t i)
{
    const dpi_argument *arg = &f->schema->args[i];
    const dp_value *v = given(f, i);
    dp_error why = DP_ERROR_INIT;
    dpi_text t = {0};

    dpi_text_printf(&t, "%s: argument '%s'", f->schema->name, arg->name);
    if (i < f->rq->n_args)
        dpi_text_printf(&t, " (position %u)", i + 1);
    dpi_text_add(&t, " must be ");
    dpi_type_print(&t, arg->type, true);
    if (f->element < 0)
        dpi_text_printf(&t, ", not %s", f->actual);
    else
        dpi_text_printf(&t, ", not %s with %s at index %lld", dpi_value_kind(given(f, i)),
                        f->actual, (long long)f->element);
    if (enum_kind(arg->type) == DPI_TYPE_DEVICE && v != NULL && v->tag == DP_TAG_STR &&
        dp_device_parse(v->u.s, &(dp_device){0}, &why) < 0)
        dpi_text_printf(&t, ": %s", why.message);
    int rc = t.failed ? no_memory(f) : dp_error_set(f->err, DP_ETYPE, "%s", t.s);
    dpi_text_fini(&t);
    return rc;
}

/* Names and counts, before any value is looked at. */
static int check_names(const fit *f)
{
    const dp_schema *s = f->schema;
    const request *rq = f->rq;

    if (s->vararg)
        return dp_error_set(f->err, DP_ETYPE,
                            "%s: takes any number of arguments ('...'), which a call cannot give",
                            s->name);
    if (rq->n_args > positionals(s))
        return fail_count(f);
    for (size_t k = 0; k < rq->n_kwargs; k++) {
        const char *name = rq->kwargs[k].name;
        uint32_t i = 0;
        while (i < s->n_args && strcmp(s->args[i].name, name) != 0)
            i++;
        if (i == s->n_args)
            return fail_unknown(f, name);
        if (i < rq->n_args || kwarg_of(rq, name) != &rq->kwargs[k])
            return dp_error_set(f->err, DP_ETYPE, "%s: argument '%s' has more than one value",
                                s->name, name);
    }
    for (uint32_t i = (uint32_t)rq->n_args; i < s->n_args; i++)
        if (!s->args[i].has_default && given(f, i) == NULL)
            return fail_missing(f);
    return 0;
}

/* v NULL: the default. */
static int fit_argument(fit *f, uint32_t i, const dp_value *v, dp_value *out)
{
    const dpi_argument *arg = &f->schema->args[i];

    f->written = arg->written;
    f->late = false;
    f->element = -1;
    f->actual[0] = '\0';
    int rc = v ? coerce(f, arg->type, v, out) : copy_default(f, &arg->def, out);
    return rc == DP_ETYPE && f->err != NULL ? fail_value(f, i) : rc;
}

static int fit_arguments(fit *f, dp_value *out, uint64_t *late)
{
    int rc = f->rq->named ? 0 : check_names(f);

    *late = 0;
    for (uint32_t i = 0; rc == 0 && i < f->schema->n_args; i++) {
        rc = fit_argument(f, i, given(f, i), &out[i]);
        *late |= (uint64_t)f->late << i;
    }
    return rc;
}

static int fit_schema(const request *rq, const dpi_entry *e, bool loose, dp_error *err,
                      dp_bound *out)
{
    const dp_schema *s = e->schema;
    fit f = {.rq = rq, .schema = s, .err = err, .loose = loose};
    dp_value *values = dp_arena_alloc(&rq->ctx->arena, (size_t)s->n_args * sizeof(dp_value) + 1);
    uint64_t late = 0;
    int rc = values ? fit_arguments(&f, values, &late) : no_memory(&f);

    if (rc < 0)
        return rc;
    if (rq->kinds != NULL)
        *rq->kinds = (dpi_kinds){f.maybe && !rq->only ? NULL : e->schema, late};
    out->op = e->op;
    out->n_args = s->n_args;
    out->n_rets = s->n_rets;
    out->args = values;
    out->written = s->written;
    out->ret_written = 0;
    memset(out->ret_alias, -1, sizeof(out->ret_alias));
    for (uint32_t i = 0; i < s->n_rets; i++) {
        out->ret_alias[i] = s->ret_alias[i];
        out->ret_names[i] = enum_kind(s->rets[i].type);
        if (s->ret_alias[i] >= 0)
            out->ret_written |= (uint64_t)1 << i;
    }
    return 0;
}

/* -- returns by name -- */

static int name_one(dp_ctx *ctx, uint8_t kind, dp_value *v)
{
    char buf[DP_KEY_NAME_MAX];
    const char *name = v->tag == DP_TAG_INT ? enum_name(kind, v->u.i, buf) : NULL;

    if (name == NULL)
        return 0;
    const char *kept = dp_arena_dup(&ctx->arena, name, strlen(name) + 1);
    if (kept == NULL)
        return dpi_no_memory(&ctx->error, "the name of a return");
    *v = (dp_value){DP_TAG_STR, (uint32_t)strlen(kept), {0}};
    v->u.s = kept;
    return 0;
}

static int name_list(dp_ctx *ctx, uint8_t kind, dp_value *v)
{
    dp_value *items = dp_arena_alloc(&ctx->arena, v->len * sizeof(*items) + 1);
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

/* -- overloads -- */

static int fail_undefined(const dpi_entry *e, dp_error *err)
{
    const dpi_kernel *k = e->kernels[0];

    return dp_error_set(err, DP_ENOTFOUND,
                        "operator '%s' is implemented (plugin '%s', %s:%u) but not defined: no "
                        "plugin that is loaded has its schema",
                        e->op->name, k->gen->plugin, k->file, k->line);
}

/* The overloads that `name` can mean; those without a schema are left out. */
static int candidates(const request *rq, const char *name, const dpi_entry ***out, size_t *n)
{
    dp_ctx *ctx = rq->ctx;
    const dpi_snapshot *s = dpi_ctx_snapshot(ctx);
    size_t base = dpi_base_bytes(name), found, kept = 0;
    const dpi_entry *exact = name[base] == '.' ? dpi_snapshot_find(s, name, strlen(name)) : NULL;
    const dpi_entry **list;

    found = exact ? 1 : name[base] == '.' ? 0 : dpi_overloads(s, name, base, NULL, 0);
    if (found == 0)
        return dpi_no_operator(s, name, &ctx->error);
    if ((list = dp_arena_alloc(&ctx->arena, found * sizeof(*list))) == NULL)
        return dpi_no_memory(&ctx->error, "overloads of an operator");
    list[0] = exact;
    if (exact == NULL)
        dpi_overloads(s, name, base, list, found);
    const dpi_entry *first = list[0];
    for (size_t i = 0; i < found; i++)
        if (list[i]->schema != NULL)
            list[kept++] = list[i];
    *out = list;
    *n = kept;
    return kept ? 0 : fail_undefined(first, &ctx->error);
}

/* Could so many arguments be meant for it? */
static bool plausible(const request *rq, const dp_schema *s)
{
    size_t n = rq->n_args + rq->n_kwargs;
    return rq->n_args <= positionals(s) && n >= required(s) && n <= s->n_args;
}

static void describe_request(const request *rq, dpi_text *t)
{
    char kind[96];

    for (size_t i = 0; i < rq->n_args; i++) {
        describe(&rq->args[i], kind, sizeof(kind));
        dpi_text_printf(t, "%s%s", i ? ", " : "", kind);
    }
    for (size_t i = 0; i < rq->n_kwargs; i++) {
        describe(&rq->kwargs[i].value, kind, sizeof(kind));
        dpi_text_printf(t, "%s%s=%s", i || rq->n_args ? ", " : "", rq->kwargs[i].name, kind);
    }
}

/* Nothing fits: why, if one overload is likely meant, else what was given and what there is. */
static int fail_fit(const request *rq, const char *name, const dpi_entry **list, size_t n)
{
    const dpi_entry *likely = NULL;
    size_t n_likely = 0;
    dpi_text t = {0};
    dp_bound unused;

    for (size_t i = 0; i < n; i++)
        if (n == 1 || plausible(rq, list[i]->schema)) {
            likely = list[i];
            n_likely++;
        }
    if (n_likely == 1)
        return fit_schema(rq, likely, true, &rq->ctx->error, &unused);
    dpi_text_printf(&t, "%s: no overload takes (", name);
    describe_request(rq, &t);
    dpi_text_add(&t, "); it has:");
    for (size_t i = 0; i < n; i++)
        dpi_text_printf(&t, "\n  %s", list[i]->schema->text);
    if (t.failed)
        dpi_no_memory(&rq->ctx->error, "message");
    else
        dp_error_set(&rq->ctx->error, DP_ETYPE, "%s", t.s);
    int rc = t.failed ? DP_ERESOURCE : DP_ETYPE;
    dpi_text_fini(&t);
    return rc;
}

/* Those of list [n] that take so many arguments of these names: to one alone, no kind matters. */
static size_t named(request *rq, const dpi_entry *const *list, size_t n, const dpi_entry **out)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        if (check_names(&(fit){.rq = rq, .schema = list[i]->schema}) == 0)
            out[kept++] = list[i];
    rq->named = true;
    return kept;
}

static int choose(const request *rq, const dpi_entry *const *list, size_t n, dp_bound *out)
{
    for (int loose = rq->only; loose < 2; loose++) /* what fits strictly fits the same loosely */
        for (size_t i = 0; i < n; i++) {
            int rc = fit_schema(rq, list[i], loose != 0, NULL, out);
            if (rc != DP_ETYPE)
                return rc;
        }
    return DP_ETYPE;
}

static int choose_or_say(request *rq, const char *name, const dpi_entry **list, size_t n,
                         dp_bound *out)
{
    const dpi_entry **meant = list;
    size_t n_meant = n;

    if (n > 1) {
        if ((meant = dp_arena_alloc(&rq->ctx->arena, n * sizeof(*meant))) == NULL)
            return dpi_no_memory(&rq->ctx->error, "overloads of an operator");
        n_meant = named(rq, list, n, meant);
    }
    rq->only = n_meant == 1;
    int rc = choose(rq, meant, n_meant, out);
    rq->named = false;
    return rc == DP_ETYPE ? fail_fit(rq, name, list, n) : rc;
}

static int bind_one(request *rq, const char *name, dp_bound *out)
{
    dp_ctx *ctx = rq->ctx;
    const dpi_entry **list = NULL;
    bool begun;
    size_t n = 0;
    int rc = dpi_ctx_hold(ctx, &begun);

    *out = (dp_bound){0};
    if (rc < 0)
        return rc;
    rc = candidates(rq, name, &list, &n);
    if (rc == 0)
        rc = choose_or_say(rq, name, list, n, out);
    if (rc < 0)
        snprintf(ctx->error.op, sizeof(ctx->error.op), "%s", name);
    dpi_ctx_let_go(ctx, begun);
    return rc;
}

int dp_bind(dp_ctx *ctx, const char *name, const dp_value *args, size_t n_args,
            const dp_kwarg *kwargs, size_t n_kwargs, dp_bound *out)
{
    if (!DPI_GIVEN(&ctx->error, DP_EVALUE, name, out))
        return DP_EVALUE;
    request rq = {ctx, args, n_args, kwargs, n_kwargs, NULL, false, false};

    return bind_one(&rq, name, out);
}

int dpi_bind_kinds(dp_ctx *ctx, const char *name, const dp_value *args, size_t n_args,
                   const dp_kwarg *kwargs, size_t n_kwargs, dp_bound *out, dpi_kinds *kinds)
{
    request rq = {ctx, args, n_args, kwargs, n_kwargs, kinds, false, false};

    return bind_one(&rq, name, out);
}

int dpi_fit(dp_ctx *ctx, const dp_schema *schema, uint64_t late, dp_value *values)
{
    request rq = {ctx, values, schema->n_args, NULL, 0, NULL, true, true};
    fit f = {.rq = &rq, .schema = schema, .err = &ctx->error, .loose = true};
    int rc = 0;

    for (; late != 0 && rc == 0; late &= late - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(late);
        dp_value fitted;
        rc = fit_argument(&f, i, &values[i], &fitted);
        if (rc == 0)
            values[i] = fitted;
    }
    if (rc < 0)
        snprintf(ctx->error.op, sizeof(ctx->error.op), "%s", schema->name);
    return rc;
}

/* Does this kernel hand the call on, as layers do?  A composite one makes other calls. */
static bool is_layer(dp_key k, dpi_cell c)
{
    return dp_key_functionality(k) > DP_F_NestedTensor &&
           (c.provenance == DPI_P_KERNEL || c.provenance == DPI_P_AUTOGRAD ||
            c.provenance == DPI_P_FALLBACK);
}

/* dp_bound_kernel() of a call with these keys, state applied. */
static uint64_t number_kernels(const dpi_entry *e, dp_keyset keys)
{
    const dp_keyset none = {0, 0};
    uint64_t grad = keys.functionality & DP_GRAD_BIT, layers = 0, id = 0;
    bool more = true;

    while (more) {
        keys = dpi_call_keys(e, keys, none, none);
        dp_key k = dp_keyset_highest(keys);
        dpi_cell c = dpi_entry_cell(e, k);
        if (c.kernel == NULL)
            break;
        id = c.kernel->id;
        more = is_layer(k, c);
        layers = more ? layers * 31 + id : layers;
        keys = more ? dp_keyset_below(keys, k) : keys;
        keys.functionality |= grad;
    }
    return id | layers << (DP_KERNEL_BITS + 1);
}

uint64_t dp_bound_kernel(dp_ctx *ctx, const dp_bound *b)
{
    uint64_t id = 0;
    bool begun;

    if (dpi_ctx_hold(ctx, &begun) < 0)
        return 0;
    const dpi_entry *e = dpi_snapshot_entry(dpi_ctx_snapshot(ctx), b->op);
    if (e != NULL && e->schema != NULL && e->n_args == b->n_args) {
        dp_keyset keys = dp_keyset_or(dpi_argument_keys(e, b->args), ctx->state->include);
        id = number_kernels(e, dp_keyset_minus(keys, ctx->state->exclude));
    }
    dpi_ctx_let_go(ctx, begun);
    return id;
}
