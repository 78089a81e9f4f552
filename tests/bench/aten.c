/* aten.c -- operators of the plugins, called in process and boxed, for aten_bench.py.
 *
 *     aten THREADS PLUGIN...
 *
 * reads commands from stdin and answers each with one line:
 *     case OPERATOR ARGUMENTS   (aten_case.h)  ->  ok BYTES SUM | missing | fails MESSAGE
 *     run                       ->  nanoseconds a call
 *     small                     ->  NAME FIGURE ... of one-element calls with C types
 */
#include "aten_case.h"
#include <dispatchd/dispatch.h>
#include <dispatchd/typed.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 4096, RETS = 8 };

typedef struct bench {
    dp_registry *reg;
    dp_ctx *binds, *calls; /* what holds the bound arguments, and what is reset between calls */
    dp_bound call;
    dp_tensor *made[CASE_ARGS * CASE_LIST];
    int n_made;
} bench;

static int make(bench *b, const case_tensor *c, dp_tensor **out)
{
    int rc = dp_tensor_new_storage(c->dtype, DP_DEVICE_CPU, c->span, c->ndim, c->sizes, c->strides,
                                   0, out, dp_ctx_error(b->binds));
    if (rc < 0)
        return rc;
    DP_VIEW(v, *out);
    case_fill(c, v.data);
    b->made[b->n_made++] = *out;
    return 0;
}

static int value(bench *b, const case_value *c, dp_value *out)
{
    dp_tensor *t = NULL, **list;
    int rc = 0;

    switch (c->kind) {
    case CASE_TENSOR:
        rc = make(b, &c->tensors[0], &t);
        *out = dp_tensor_value(t);
        return rc;
    case CASE_TENSORS:
        list = dp_arena_alloc(dp_ctx_arena(b->binds), sizeof(*list) * CASE_LIST);
        for (int i = 0; list != NULL && rc == 0 && i < c->n; i++)
            rc = make(b, &c->tensors[i], &list[i]);
        *out = dp_tensors(list, (size_t)c->n);
        return list == NULL ? DP_ERESOURCE : rc;
    case CASE_INTS:
        *out = dp_ints(c->ints, (size_t)c->n);
        return 0;
    case CASE_BOOLS:
        *out = (dp_value){.tag = DP_TAG_BOOLS, .len = (uint32_t)c->n, .u.bools = c->bools};
        return 0;
    case CASE_INT:
        *out = dp_int(c->i);
        return 0;
    default:
        *out = c->kind == CASE_DOUBLE ? dp_double(c->d)
               : c->kind == CASE_BOOL ? dp_bool(c->i != 0)
                                      : dp_none();
        return 0;
    }
}

static void drop(bench *b)
{
    for (int i = 0; i < b->n_made; i++)
        dp_tensor_unref(b->made[i]);
    b->n_made = 0;
    dp_ctx_reset(b->binds);
    dp_ctx_reset(b->calls);
}

/* *bytes and *sum of a call's first result. */
static int look(bench *b, const dp_value *ret, double *bytes, double *sum)
{
    dp_error *err = dp_ctx_error(b->binds);
    int rc = 0;

    *bytes = *sum = 0;
    if (ret->tag != DP_TAG_TENSOR)
        return 0;
    DP_VIEW(v, ret->u.t);
    dp_dtype to = dp_dtype_is_complex(v.dtype) ? DP_COMPLEX128 : DP_FLOAT64;
    int64_t doubles = to == DP_FLOAT64 ? v.numel : 2 * v.numel;
    void *raw = malloc((size_t)v.numel * dp_dtype_size(v.dtype) + 1);
    double *wide = malloc((size_t)doubles * sizeof(double) + 1);

    if (raw == NULL || wide == NULL)
        rc = dp_error_set(err, DP_ERESOURCE, "no memory to look at a result");
    if (rc == 0)
        rc = dp_tensor_read(ret->u.t, raw, err);
    if (rc == 0) {
        dp_convert(to, wide, v.dtype, raw, (size_t)v.numel);
        *bytes = (double)v.numel * (double)dp_dtype_size(v.dtype);
        *sum = case_sum(wide, doubles);
    }
    free(raw);
    free(wide);
    return rc;
}

static int call(bench *b, dp_value *rets)
{
    for (int i = 0; i < RETS; i++)
        rets[i] = dp_none();
    return dp_call_boxed(b->calls, b->call.op, b->call.args, b->call.n_args, rets, b->call.n_rets);
}

static void calls(void *arg, long n)
{
    bench *b = arg;
    dp_value rets[RETS];

    for (long i = 0; i < n; i++) {
        if (call(b, rets) < 0)
            abort(); /* it worked a moment ago */
        dp_values_release(rets, b->call.n_rets);
    }
    dp_ctx_reset(b->calls);
}

static void fails(dp_ctx *ctx)
{
    char *message = dp_ctx_error(ctx)->message;

    for (char *c = message; *c != '\0'; c++)
        *c = *c == '\n' ? ' ' : *c;
    printf("fails %s\n", message);
}

static void prepare(bench *b, const char *op, char *text)
{
    static case_value args[CASE_ARGS];
    dp_value values[CASE_ARGS], rets[RETS];
    dp_kwarg kwargs[CASE_ARGS];
    const char *bad = "";
    size_t n_values = 0, n_kwargs = 0;
    double bytes, sum;
    int n = case_read_all(text, args, &bad), rc = 0;

    drop(b);
    if (n < 0) {
        printf("fails argument %s is not understood\n", bad);
        return;
    }
    for (int i = 0; i < n && rc == 0; i++) {
        kwargs[n_kwargs].name = args[i].name;
        rc = value(b, &args[i], *args[i].name ? &kwargs[n_kwargs++].value : &values[n_values++]);
    }
    if (rc == 0)
        rc = dp_bind(b->binds, op, values, n_values, kwargs, n_kwargs, &b->call);
    if (rc == DP_ENOTFOUND || rc < 0) {
        rc == DP_ENOTFOUND ? (void)puts("missing") : fails(b->binds);
        return;
    }
    rc = call(b, rets);
    if (rc == 0 && look(b, &rets[0], &bytes, &sum) == 0)
        printf("ok %.0f %.9g\n", bytes, sum);
    else if (rc == DP_ENOTIMPL)
        puts("missing");
    else
        fails(rc < 0 ? b->calls : b->binds);
    if (rc == 0)
        dp_values_release(rets, b->call.n_rets);
}

/* -- one element, by calls with C types -- */

DP_TYPED(call_add, (T, T, s), (T))
DP_TYPED(call_add_out, (T, T, s, T), ())
DP_TYPED(call_view, (T, li), (T))

typedef struct small {
    dp_ctx *ctx;
    dp_typed add, add_out, view;
    dp_tensor *x, *y, *out;
    int rc;
} small;

static void small_add(void *arg, long n)
{
    small *s = arg;
    for (long i = 0; i < n; i++) {
        dp_tensor *out = NULL;
        s->rc |= call_add(s->ctx, &s->add, s->x, s->y, dp_int(1), &out);
        dp_tensor_unref(out);
    }
}

static void small_add_out(void *arg, long n)
{
    small *s = arg;
    for (long i = 0; i < n; i++)
        s->rc |= call_add_out(s->ctx, &s->add_out, s->x, s->y, dp_int(1), s->out);
}

static void small_view(void *arg, long n)
{
    small *s = arg;
    int64_t sizes[] = {1, 1};
    for (long i = 0; i < n; i++) {
        dp_tensor *out = NULL;
        s->rc |= call_view(s->ctx, &s->view, s->x, sizes, 2, &out);
        dp_tensor_unref(out);
    }
}

static void small_tensor(void *arg, long n)
{
    small *s = arg;
    int64_t one = 1;
    for (long i = 0; i < n; i++) {
        dp_tensor *out = NULL;
        s->rc |= dp_empty(s->ctx, DP_FLOAT32, DP_DEVICE_CPU, 1, &one, DP_CONTIGUOUS, &out);
        dp_tensor_unref(out);
    }
}

/* Pages that the process has. */
static long pages(void)
{
    long total, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    if (f != NULL && fscanf(f, "%ld %ld", &total, &resident) != 2)
        resident = 0;
    if (f != NULL)
        fclose(f);
    return resident;
}

/* KiB that the process grew by in a million calls without a reset. */
static long growth(small *s)
{
    enum { SETTLE = 100000, CALLS = 1000000 };

    small_add(s, SETTLE);
    long before = pages();
    small_add(s, CALLS);
    return (pages() - before) * (sysconf(_SC_PAGESIZE) / 1024);
}

static void run_small(bench *b)
{
    const struct {
        const char *name;
        void (*fn)(void *, long);
    } all[] = {{"tensor", small_tensor},
               {"view", small_view},
               {"add.out", small_add_out},
               {"add", small_add}};
    case_tensor one = {.dtype = DP_FLOAT32, .ndim = 1, .sizes = {1}, .strides = {1}, .span = 1};
    small s = {.ctx = b->calls};

    drop(b);
    if (make(b, &one, &s.x) < 0 || make(b, &one, &s.y) < 0 || make(b, &one, &s.out) < 0 ||
        dp_typed_init(s.ctx, "aten::add.Tensor", DP_CODE((T, T, s), (T)), &s.add) < 0 ||
        dp_typed_init(s.ctx, "aten::add.out", DP_CODE((T, T, s, T), ()), &s.add_out) < 0 ||
        dp_typed_init(s.ctx, "aten::view", DP_CODE((T, li), (T)), &s.view) < 0) {
        fails(s.ctx);
        return;
    }
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        printf("%s %.1f ", all[i].name, case_turn(all[i].fn, &s));
        dp_ctx_reset(s.ctx);
    }
    printf("growth_kib %ld rc %d\n", growth(&s), s.rc);
    dp_ctx_reset(s.ctx);
}

static int start(bench *b, int argc, char **argv, dp_error *err)
{
    dp_arena *a = dp_arena_new();
    dp_plugin_report report;
    int threads = argc > 1 ? atoi(argv[1]) : 1, rc = dp_thread_pool_start(threads - 1, err);

    if (rc == 0)
        rc = dp_registry_new(&b->reg, err);
    for (int i = 2; i < argc && rc == 0; i++)
        rc = dp_plugin_load(b->reg, argv[i], NULL, a, &report, err);
    if (rc == 0 && (rc = dp_ctx_new(b->reg, &b->binds, err)) == 0)
        rc = dp_ctx_new(b->reg, &b->calls, err);
    dp_arena_free(a);
    return rc;
}

int main(int argc, char **argv)
{
    static char line[LINE_MAX_BYTES];
    static bench b;
    dp_error err = DP_ERROR_INIT;

    if (start(&b, argc, argv, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    while (fgets(line, sizeof(line), stdin) != NULL) {
        char *rest = line, *word = strsep(&rest, " \n");
        if (strcmp(word, "case") == 0 && rest != NULL) {
            char *op = strsep(&rest, " \n");
            prepare(&b, op, rest != NULL ? rest : op + strlen(op));
        } else if (strcmp(word, "run") == 0) {
            printf("%.1f\n", case_turn(calls, &b));
        } else {
            run_small(&b);
        }
        fflush(stdout);
    }
    drop(&b);
    dp_ctx_free(b.binds);
    dp_ctx_free(b.calls);
    dp_registry_free(b.reg);
    dp_thread_pool_stop();
    return 0;
}
