/* invoke.c -- dp_invoke(), which takes C arguments, and small functions of api.h. */
#include "enter.h"
#include "find.h"

int dp_vfail(dp_ctx *ctx, int code, const char *format, va_list ap)
{
    return dp_error_vset(&ctx->error, code, format, ap);
}

void *dp_alloc(dp_ctx *ctx, size_t bytes)
{
    enum { ALIGN = 64 };
    char *p = bytes <= SIZE_MAX - ALIGN ? dp_arena_alloc(&ctx->arena, bytes + ALIGN) : NULL;

    if (p == NULL) {
        dp_arena_failed(&ctx->arena, bytes, "scratch", &ctx->error);
        return NULL;
    }
    return (void *)(((uintptr_t)p + ALIGN - 1) & ~(uintptr_t)(ALIGN - 1));
}

int dp_cpu_level(dp_ctx *ctx)
{
    return dpi_cpu_level(&ctx->error);
}

int dp_checkpoint(dp_ctx *ctx)
{
    int code = dpi_stop_code(&ctx->stop);

    return DPI_LIKELY(code == 0) ? 0 : dpi_fail_stopped(ctx, code);
}

int dp_stop_code(const dp_ctx *ctx)
{
    return ctx != NULL ? dpi_stop_code(&ctx->stop) : dpi_thread_pool_stop_code();
}

bool dp_memoryless(const dp_ctx *ctx)
{
    dpi_ctx_touch(ctx);
    return dpi_ctx_memoryless(ctx);
}

int dp_parallel_for(dp_ctx *ctx, int64_t begin, int64_t end, int64_t grain, dp_range_fn fn,
                    void *user)
{
    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, fn))
        return DP_EPLUGIN;
    if (DPI_UNLIKELY(dpi_ctx_memoryless(ctx)))
        return dpi_fail_memoryless(ctx);
    int64_t n;
    if (DPI_UNLIKELY(__builtin_sub_overflow(end, begin, &n)))
        return dp_error_set(&ctx->error, DP_EVALUE, "a range longer than an int64");
    dpi_ctx_touch(ctx);
    unsigned char outer = atomic_exchange_explicit(&ctx->looping, 1, memory_order_relaxed);
    int code = dpi_thread_pool_run(ctx->threads, begin, end, grain, fn, user, &ctx->stop);

    if (DPI_UNLIKELY(atomic_exchange_explicit(&ctx->looping, outer, memory_order_relaxed) == 2))
        return dpi_fail_looping(ctx);
    return DPI_LIKELY(code == 0) ? 0 : dpi_fail_stopped(ctx, code);
}

const char *dp_op_name(const dp_op *op)
{
    return op != NULL ? op->name : "(no operator)";
}

dp_key dp_key_find(dp_ctx *ctx, const char *name)
{
    return DPI_GIVEN(&ctx->error, DP_EPLUGIN, name) ? dp_key_parse(name) : DP_KEY_Undefined;
}

int dp_device_find(dp_ctx *ctx, const char *name, dp_device *out)
{
    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, name, out))
        return DP_EPLUGIN;
    return dp_device_parse(name, out, &ctx->error);
}

dp_keyset dp_device_keys(dp_device d)
{
    return dpi_backend_keys(dp_device_backend(d));
}

/* -- dp_invoke: C arguments, described by the letters of `code` -- */

/* Argument `i` of `op`, for messages. */
typedef struct c_argument {
    dp_ctx *ctx;
    const dp_op *op;
    const char *code; /* all letters that the caller gave */
    uint32_t i;
} c_argument;

static int no_c_type(const c_argument *a, const char *start)
{
    return dp_error_set(&a->ctx->error, DP_ETYPE,
                        "%s: argument %u has no C type '%s' (the caller's code is '%s')",
                        a->op->name, a->i + 1, start, a->code);
}

static int fail_list(const c_argument *a, const dp_value *v)
{
    return dp_error_set(&a->ctx->error, DP_EPLUGIN, "%s: argument %u: %s of %u is NULL",
                        a->op->name, a->i + 1,
                        v->u.values == NULL ? "a list" : "a tensor in a list", v->len);
}

/* Read a pointer and a length.  For an optional list, NULL is None. */
static int read_list(const c_argument *a, const char *start, char letter, bool opt, va_list *ap,
                     dp_value *v)
{
    static const struct {
        char letter;
        uint8_t tag;
    } lists[] = {{'T', DP_TAG_TENSORS}, {'i', DP_TAG_INTS}, {'f', DP_TAG_DOUBLES},
                 {'b', DP_TAG_BOOLS},   {'s', DP_TAG_LIST}, {'S', DP_TAG_LIST},
                 {'l', DP_TAG_LIST}};
    const void *p = va_arg(*ap, const void *);

    v->len = (uint32_t)va_arg(*ap, size_t);
    v->u.values = p;
    for (size_t i = 0; i < DPI_COUNT(lists); i++)
        if (lists[i].letter == letter)
            v->tag = lists[i].tag;
    if (p == NULL && opt)
        v->tag = DP_TAG_NONE;
    if (v->tag == DP_TAG_NONE)
        return opt ? 0 : no_c_type(a, start);
    bool has_null = p == NULL && v->len > 0, no_none = letter == 'T' && start[opt + 1] != 'o';
    for (uint32_t i = 0; no_none && !has_null && i < v->len; i++)
        has_null = v->u.tensors[i] == NULL;
    return has_null ? fail_list(a, v) : 0;
}

/* Read an int?, float?, bool? or Scalar?: a pointer that may be NULL. */
static void read_optional(char letter, va_list *ap, dp_value *v)
{
    const void *p = va_arg(*ap, const void *);

    if (p == NULL)
        return;
    *v = letter == 'i'   ? dp_int(*(const int64_t *)p)
         : letter == 'f' ? dp_double(*(const double *)p)
         : letter == 'b' ? dp_bool(*(const bool *)p)
                         : *(const dp_value *)p;
}

static int read_plain(const c_argument *a, const char *start, char letter, va_list *ap, dp_value *v)
{
    dp_str s;

    switch (letter) {
    case 'T':
        *v = dp_tensor_value(va_arg(*ap, dp_tensor *));
        break;
    case 'i':
        *v = dp_int(va_arg(*ap, int64_t));
        break;
    case 'f':
        *v = dp_double(va_arg(*ap, double));
        break;
    case 'b':
        *v = dp_bool(va_arg(*ap, int) != 0);
        break;
    case 's':
        *v = va_arg(*ap, dp_value);
        break;
    case 'S':
        s = va_arg(*ap, dp_str);
        *v = (dp_value){s.s ? DP_TAG_STR : DP_TAG_NONE, (uint32_t)s.len, {.s = s.s}};
        break;
    case 'g':
        v->u.g = va_arg(*ap, dp_generator *);
        v->tag = v->u.g ? DP_TAG_GENERATOR : DP_TAG_NONE;
        break;
    case 'O':
        *v = dp_object_value(va_arg(*ap, dp_object *));
        break;
    default:
        return no_c_type(a, start);
    }
    return 0;
}

/* Read one argument from `ap` into *v, by the letters at *c; advance *c.  plugin.h lists the
 * letters. */
static int read_argument(const c_argument *a, const char **c, va_list *ap, dp_value *v)
{
    const char *start = *c;
    bool opt = **c == 'o';

    *c += opt;
    bool list = **c == 'l';
    *c += list;
    *c += list && **c == 'o';
    char letter = *(*c)++;
    *v = (dp_value){0};
    if (list) {
        *c += letter == 'l';
        return read_list(a, start, letter, opt, ap, v);
    }
    if (opt && letter != '\0' && strchr("ifbs", letter) != NULL) {
        read_optional(letter, ap, v);
        return 0;
    }
    return read_plain(a, start, letter, ap, v);
}

/* Store return `v` in *slot, which has the C type of `letter` (plugin.h). */
static void store_return(char letter, dp_value *v, void *slot)
{
    switch (letter) {
    case 'T':
        *(dp_tensor **)slot = v->tag == DP_TAG_TENSOR ? v->u.t : NULL;
        break;
    case 'i':
        *(int64_t *)slot = v->u.i;
        break;
    case 'f':
        *(double *)slot = v->u.d;
        break;
    case 'b':
        *(bool *)slot = v->u.b;
        break;
    default:
        *(dp_value *)slot = *v;
    }
}

/* Read the arguments for which *c has letters; use the schema's defaults for the other
 * arguments. */
static int invoke_arguments(dp_ctx *ctx, const dpi_entry *e, const char **c, va_list *ap,
                            dp_value *args)
{
    const char *code = *c;
    uint32_t n = 0;

    while (**c != '\0' && **c != '>') {
        int rc = n < e->n_args ? read_argument(&(c_argument){ctx, e->op, code, n}, c, ap, &args[n])
                               : DP_ETYPE;
        if (rc < 0)
            return n < e->n_args
                       ? rc
                       : dp_error_set(&ctx->error, DP_ETYPE, "%s takes %u arguments, not more",
                                      e->op->name, e->n_args);
        n++;
    }
    for (; n < e->n_args; n++) {
        if (!e->schema->args[n].has_default)
            return dp_error_set(&ctx->error, DP_ETYPE, "%s: missing argument '%s'", e->op->name,
                                e->schema->args[n].name);
        args[n] = e->schema->args[n].def;
    }
    return 0;
}

/* Store the returns in the caller's slots, by the letters at `c`.  There are no slots for returns
 * that are written arguments. */
static void store_returns(const dp_schema *s, const char *c, va_list *ap, dp_value *rets)
{
    for (uint32_t i = 0; i < s->n_rets; i++) {
        if (s->ret_alias[i] >= 0) {
            dp_values_release(&rets[i], 1);
            continue;
        }
        bool value = *c == 'l' || (*c == 'o' && c[1] != 'T'); /* stored as a dp_value */
        c += strspn(c, "lo");
        store_return(value ? 's' : *c, &rets[i], va_arg(*ap, void *));
        c++;
    }
}

/* Check that none of the n slots for returns, which are next in `ap`, is NULL. */
static int check_slots(dp_ctx *ctx, const dp_op *op, uint32_t n, va_list *ap)
{
    va_list slots;
    uint32_t i = 0;

    va_copy(slots, *ap);
    while (i < n && va_arg(slots, void *) != NULL)
        i++;
    va_end(slots);
    return i == n
               ? 0
               : dp_error_set(&ctx->error, DP_EPLUGIN,
                              "dp_invoke: the slot for return %u of %s is NULL", i + 1, op->name);
}

static int invoke(dp_ctx *ctx, const char *name, const char *code, va_list *ap)
{
    dp_value args[DP_LIMIT_ARGUMENTS], rets[DP_LIMIT_ARGUMENTS];
    const dpi_entry *e = dpi_snapshot_find(dpi_ctx_snapshot(ctx), name, strlen(name));
    const char *c = code;

    if (e == NULL || e->schema == NULL)
        return e == NULL ? dpi_no_operator(dpi_ctx_snapshot(ctx), name, &ctx->error)
                         : dp_error_set(&ctx->error, DP_ENOTFOUND,
                                        "%s is implemented but not defined", name);
    int rc = invoke_arguments(ctx, e, &c, ap, args);
    if (rc < 0)
        return rc;
    c += *c == '>';
    uint32_t n_rets = 0;
    for (const char *p = c; *p; p++)
        n_rets += *p != 'l' && *p != 'o';
    if (n_rets != e->schema->n_given)
        return dp_error_set(&ctx->error, DP_ETYPE,
                            "%s returns %u values besides written arguments, the caller's '%s' "
                            "says %u",
                            name, e->schema->n_given, code, n_rets);
    const char *schema_returns = strchr(e->schema->code, '>');
    if (schema_returns != NULL && strcmp(schema_returns + 1, c) != 0)
        return dp_error_set(&ctx->error, DP_ETYPE,
                            "%s returns the C types '%s', the caller's '%s' says '%s'", name,
                            schema_returns + 1, code, c);
    if ((rc = check_slots(ctx, e->op, n_rets, ap)) < 0)
        return rc;
    rc = dp_call_boxed(ctx, e->op, args, e->n_args, rets, e->n_rets);
    if (rc == 0)
        store_returns(e->schema, c, ap, rets);
    return rc;
}

int dp_vinvoke(dp_ctx *ctx, const char *name, const char *code, va_list ap)
{
    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, name, code))
        return DP_EPLUGIN;
    if (atomic_load_explicit(&ctx->looping, memory_order_relaxed) != 0) {
        /* ctx belongs to the thread that runs the loop, so its error is not set here. */
        atomic_store_explicit(&ctx->looping, 2, memory_order_relaxed);
        return DP_EPLUGIN;
    }
    va_list copy;
    bool begun;
    int rc = dpi_ctx_pin(ctx, &begun);

    if (rc < 0)
        return rc;
    va_copy(copy, ap);
    rc = invoke(ctx, name, code, &copy);
    va_end(copy);
    dpi_ctx_unpin(ctx, begun);
    return rc;
}
