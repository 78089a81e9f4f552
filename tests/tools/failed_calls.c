/* failed_calls.c -- check that a call that fails leaves nothing behind and changes nothing.
 *
 *     failed_calls [--allocations] FOLDER FILE...
 *
 * loads the plugins aten, composite and cpu of FOLDER and makes the call of each line of FILE,
 * which tests/operators/record/record_calls.py wrote.  Each call is repeated with its first
 * allocation failing, then its second, until none fails.  After each failure
 *   - no tensor, storage or byte is left, and the context's account is empty;
 *   - arguments have the geometry and as many bytes as they had, and, unless the error's `written`
 *     names them, the bytes and the version;
 *   - the error is DP_ERESOURCE.
 * A line with "fails" is a call that is refused: it changes no version, too, and nothing is
 * `written`.  At the end the registry's dump is what it was, and a call of every overload that
 * composite, cpu or the library itself implements has succeeded.  A test is one line; the last line
 * of the output is "N passed, M failed".  With --allocations it only prints "LINE STATUS
 * ALLOCATIONS" of each, for the recorder. */
#include "failure.h"
#include <cjson/cJSON.h>
#include <dispatchd/dispatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARGS_MAX = 64, TENSORS_MAX = 64, RETS_MAX = 64, ALLOCATIONS_MAX = 100000 };

/* A tensor argument, and how it was before the call. */
typedef struct argument {
    dp_tensor *tensor;
    const void *data; /* of the storage */
    void *bytes;      /* a copy of it; owned */
    size_t n_bytes;
    uint64_t version, storage;
    int64_t offset, geometry[2 * DP_DIM_MAX];
    int ndim;
} argument;

typedef struct replay {
    dp_registry *reg;
    dp_ctx *binds, *calls;     /* of the arguments, and of the call */
    dp_account *account;       /* of the call */
    dp_usage held[DP_HOLDERS]; /* by the account before the call */
    dp_generators *generators;
    const char *file;
    int line;
    const cJSON *json;
    dp_bound call;
    argument arguments[TENSORS_MAX];
    int n_arguments;
    bool failed;
    char **succeeded; /* overloads, in the order of their calls; owned */
    size_t n_succeeded;
} replay;

static void print_heading(const void *of)
{
    const replay *r = of;

    printf("%s:%d: %s\n", r->file, r->line,
           cJSON_GetStringValue(cJSON_GetObjectItem(r->json, "op")));
}

static void fail(replay *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void fail(replay *r, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    failure_print(&r->failed, print_heading, r, format, ap);
    va_end(ap);
}

/* -- arguments -- */

static double number_of(const cJSON *json)
{
    return cJSON_IsString(json) ? strtod(json->valuestring, NULL) : json->valuedouble;
}

static int64_t integer_of(const cJSON *json)
{
    return cJSON_IsString(json) ? strtoll(json->valuestring, NULL, 10) : (int64_t)json->valuedouble;
}

static int integers_of(const cJSON *list, int64_t *to)
{
    const cJSON *item;
    int n = 0;

    cJSON_ArrayForEach(item, list) if (n < DP_DIM_MAX) to[n++] = integer_of(item);
    return n;
}

/* Fill the storage of t with the numbers `data`; a complex element is two of them. */
static void fill(dp_tensor *t, const cJSON *data)
{
    const cJSON *item;
    DP_VIEW(v, t);
    size_t itemsize = dp_dtype_size(v.dtype);
    bool complex = dp_dtype_is_complex(v.dtype);
    char *to = (char *)v.data - dp_tensor_offset(t) * (int64_t)itemsize;

    for (item = data->child; item != NULL; item = item->next, to += itemsize) {
        double parts[2] = {number_of(item), 0};
        int64_t whole = dp_dtype_is_integral(v.dtype, true) ? integer_of(item) : 0;
        if (complex && (item = item->next) != NULL)
            parts[1] = number_of(item);
        if (dp_dtype_is_integral(v.dtype, true))
            dp_convert(v.dtype, to, DP_INT64, &whole, 1);
        else
            dp_convert(v.dtype, to, complex ? DP_COMPLEX128 : DP_FLOAT64, parts, 1);
        if (item == NULL)
            return;
    }
}

/* {"dtype", "sizes", "strides", "offset", "data"}, or {"of": number of an earlier one, ...}: on its
 * storage. */
static int make_tensor(replay *r, const cJSON *json, dp_tensor **out)
{
    dp_error *err = dp_ctx_error(r->binds);
    int64_t sizes[DP_DIM_MAX], strides[DP_DIM_MAX];
    const cJSON *data = cJSON_GetObjectItem(json, "data"), *of = cJSON_GetObjectItem(json, "of");
    int64_t offset = integer_of(cJSON_GetObjectItem(json, "offset"));
    dp_dtype dtype = DP_DTYPE_NONE;
    int ndim = integers_of(cJSON_GetObjectItem(json, "sizes"), sizes), rc;

    integers_of(cJSON_GetObjectItem(json, "strides"), strides);
    if (of != NULL)
        return dp_as_strided(r->binds, r->arguments[of->valueint].tensor, ndim, sizes, strides,
                             offset, out);
    dtype = dp_dtype_parse(cJSON_GetStringValue(cJSON_GetObjectItem(json, "dtype")));
    int64_t n = cJSON_GetArraySize(data) / (dp_dtype_is_complex(dtype) ? 2 : 1);
    rc = dp_tensor_new_storage(dtype, DP_DEVICE_CPU, n, ndim, sizes, strides, offset, out, err);
    if (rc == 0)
        fill(*out, data);
    return rc;
}

static void look(argument *a)
{
    DP_VIEW(v, a->tensor);

    a->ndim = v.ndim;
    memcpy(a->geometry, v.sizes, (size_t)v.ndim * sizeof(int64_t));
    memcpy(a->geometry + v.ndim, v.strides, (size_t)v.ndim * sizeof(int64_t));
    a->offset = dp_tensor_offset(a->tensor);
    a->version = dp_tensor_version(a->tensor);
    a->storage = dp_tensor_storage_id(a->tensor);
    a->n_bytes = dp_tensor_storage_bytes(a->tensor);
    a->data = v.data == NULL ? NULL : (char *)v.data - a->offset * (int64_t)dp_dtype_size(v.dtype);
}

static int make_tensors(replay *r)
{
    const cJSON *json;
    int rc = 0;

    cJSON_ArrayForEach(json, cJSON_GetObjectItem(r->json, "tensors"))
    {
        argument *a = &r->arguments[r->n_arguments];
        if (r->n_arguments == TENSORS_MAX)
            return dp_error_set(dp_ctx_error(r->binds), DP_EVALUE, "more than %d tensors",
                                TENSORS_MAX);
        if ((rc = make_tensor(r, json, &a->tensor)) < 0)
            return rc;
        r->n_arguments++;
    }
    for (int i = 0; i < r->n_arguments; i++) {
        argument *a = &r->arguments[i];
        look(a);
        a->bytes = malloc(a->n_bytes + 1);
        if (a->bytes == NULL)
            return dp_error_set(dp_ctx_error(r->binds), DP_ERESOURCE, "no memory for a copy");
        if (a->n_bytes > 0)
            memcpy(a->bytes, a->data, a->n_bytes);
    }
    return 0;
}

/* A JSON value as an argument: {"t": number of a tensor}, {"f": float}, {"i": "integer"}, {"c":
 * [re, im]}. */
static dp_value value_of(replay *r, const cJSON *json)
{
    dp_arena *arena = dp_ctx_arena(r->binds);
    dp_value v = dp_none();
    const cJSON *item;

    if (cJSON_IsBool(json))
        return dp_bool(cJSON_IsTrue(json));
    if (cJSON_IsNumber(json))
        return dp_int(integer_of(json));
    if (cJSON_IsString(json)) {
        v = (dp_value){DP_TAG_STR, (uint32_t)strlen(json->valuestring), {0}};
        v.u.s = json->valuestring;
    } else if (cJSON_IsArray(json)) {
        dp_value *items = dp_arena_alloc(arena, (size_t)cJSON_GetArraySize(json) * sizeof(*items));
        v.tag = DP_TAG_LIST;
        v.u.values = items;
        cJSON_ArrayForEach(item, json) items[v.len++] = value_of(r, item);
    } else if ((item = cJSON_GetObjectItem(json, "t")) != NULL) {
        v = dp_tensor_value(r->arguments[item->valueint].tensor);
    } else if ((item = cJSON_GetObjectItem(json, "f")) != NULL) {
        v = dp_double(number_of(item));
    } else if ((item = cJSON_GetObjectItem(json, "i")) != NULL) {
        v = dp_int(integer_of(item));
    } else if ((item = cJSON_GetObjectItem(json, "c")) != NULL) {
        double *parts = dp_arena_alloc(arena, 2 * sizeof(*parts));
        parts[0] = number_of(item->child), parts[1] = number_of(item->child->next);
        v.tag = DP_TAG_COMPLEX;
        v.u.doubles = parts;
    }
    return v;
}

/* Make and bind the arguments of the line. */
static int prepare(replay *r)
{
    dp_value args[ARGS_MAX];
    dp_kwarg kwargs[ARGS_MAX];
    size_t n_args = 0, n_kwargs = 0;
    const cJSON *item;
    int rc = make_tensors(r);

    if (rc < 0)
        return rc;
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(r->json, "args")) args[n_args++] =
        value_of(r, item);
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(r->json, "kwargs")) kwargs[n_kwargs++] =
        (dp_kwarg){item->string, value_of(r, item)};
    return dp_bind(r->binds, cJSON_GetStringValue(cJSON_GetObjectItem(r->json, "op")), args, n_args,
                   kwargs, n_kwargs, &r->call);
}

static void drop(replay *r)
{
    for (int i = 0; i < r->n_arguments; i++) {
        dp_tensor_unref(r->arguments[i].tensor);
        free(r->arguments[i].bytes);
    }
    memset(r->arguments, 0, sizeof(r->arguments));
    r->n_arguments = 0;
    dp_ctx_reset(r->binds);
    dp_ctx_reset(r->calls);
}

/* -- what is left -- */

static void expect_stats(replay *r, const dp_tensor_stats *before, uint64_t n, const char *when)
{
    dp_tensor_stats now;

    dp_tensor_stats_get(&now);
    if (now.tensors != before->tensors || now.storages != before->storages ||
        now.bytes != before->bytes)
        fail(r, "allocation %llu, %s: %lld tensors, %lld storages, %lld bytes are left",
             (unsigned long long)n, when, (long long)(now.tensors - before->tensors),
             (long long)(now.storages - before->storages), (long long)(now.bytes - before->bytes));
}

static void expect_account(replay *r, uint64_t n, const char *when)
{
    dp_usage held[DP_HOLDERS];

    dp_account_usage(r->account, held);
    for (int h = 0; h < DP_HOLDERS; h++)
        if (held[h].count != r->held[h].count || held[h].bytes != r->held[h].bytes)
            fail(r, "allocation %llu, %s: the account holds %lld bytes more of %s",
                 (unsigned long long)n, when, (long long)(held[h].bytes - r->held[h].bytes),
                 dp_holder_name(h));
}

static bool has_tensor(const dp_value *v, const dp_tensor *t)
{
    bool found = v->tag == DP_TAG_TENSOR && v->u.t == t;

    for (uint32_t i = 0; !found && v->tag == DP_TAG_TENSORS && i < v->len; i++)
        found = v->u.tensors[i] == t;
    return found;
}

/* Is t, or what shares its memory, an argument that `written` names? */
static bool is_written(const replay *r, const argument *a, uint64_t written)
{
    for (uint32_t i = 0; i < r->call.n_args; i++)
        for (int k = 0; written >> i & 1 && k < r->n_arguments; k++)
            if (r->arguments[k].storage == a->storage &&
                has_tensor(&r->call.args[i], r->arguments[k].tensor))
                return true;
    return false;
}

static void expect_arguments(replay *r, uint64_t n, uint64_t written)
{
    for (int i = 0; i < r->n_arguments; i++) {
        argument *a = &r->arguments[i], now = {.tensor = a->tensor};
        look(&now);
        if (now.ndim != a->ndim || now.offset != a->offset || now.storage != a->storage ||
            memcmp(now.geometry, a->geometry, 2 * (size_t)a->ndim * sizeof(int64_t)) != 0)
            fail(r, "allocation %llu: tensor %d has another shape or storage",
                 (unsigned long long)n, i);
        else if (now.n_bytes != a->n_bytes)
            fail(r, "allocation %llu: the storage of tensor %d has %zu bytes, want %zu",
                 (unsigned long long)n, i, now.n_bytes, a->n_bytes);
        else if (!is_written(r, a, written) &&
                 (a->n_bytes > 0 && memcmp(now.data, a->bytes, a->n_bytes) != 0))
            fail(r, "allocation %llu: tensor %d has other bytes, and `written` is %llx",
                 (unsigned long long)n, i, (unsigned long long)written);
        if (!is_written(r, a, written) && now.version != a->version)
            fail(r, "allocation %llu: tensor %d has version %llu, want %llu", (unsigned long long)n,
                 i, (unsigned long long)now.version, (unsigned long long)a->version);
    }
}

/* -- calls -- */

/* Call with allocation n failing; 0: none.  *hit: there was an n-th one. */
static int call(replay *r, uint64_t n, bool *hit)
{
    dp_value rets[RETS_MAX];
    dp_error *err = dp_ctx_error(r->calls);
    dp_tensor_stats before;

    for (int i = 0; i < RETS_MAX; i++)
        rets[i] = dp_none();
    dp_ctx_set_account(r->calls, r->account);
    dp_ctx_set_generators(r->calls, r->generators);
    dp_generators_seed(r->generators, 1);
    dp_tensor_stats_get(&before);
    dp_fault_arm(n);
    int rc =
        dp_call_boxed(r->calls, r->call.op, r->call.args, r->call.n_args, rets, r->call.n_rets);
    *hit = dp_fault_hit();
    dp_fault_arm(0);
    if (rc == 0) {
        dp_values_release(rets, r->call.n_rets);
        return 0;
    }
    for (uint32_t i = 0; i < r->call.n_rets; i++)
        if (rets[i].tag != DP_TAG_NONE)
            fail(r, "allocation %llu: return %u is not None", (unsigned long long)n, i);
    if (*hit && rc != DP_ERESOURCE)
        fail(r, "allocation %llu: %s: %s", (unsigned long long)n, dp_error_name(rc), err->message);
    expect_arguments(r, n, err->written);
    if (!*hit && err->written != 0)
        fail(r, "refused, but `written` is %llx: %s", (unsigned long long)err->written,
             err->message);
    dp_ctx_reset(r->calls);
    expect_stats(r, &before, n, "after the call");
    expect_account(r, n, "after the call");
    return rc;
}

/* Prepare and call once.  1: not prepared. */
static int call_once(replay *r, uint64_t n, bool *hit)
{
    dp_tensor_stats before;
    int rc;

    dp_tensor_stats_get(&before);
    dp_account_usage(r->account, r->held);
    *hit = false;
    if (prepare(r) < 0) {
        fail(r, "%s", dp_ctx_error(r->binds)->message);
        rc = 1;
    } else {
        rc = call(r, n, hit);
    }
    drop(r);
    expect_stats(r, &before, n, "with its arguments released");
    expect_account(r, n, "with its arguments released");
    return rc;
}

/* How many allocations the call of the line makes; *rc is its code. */
static uint64_t count(replay *r, int *rc)
{
    bool hit;

    *rc = call_once(r, 0, &hit);
    if (*rc == 1)
        return 0;
    for (uint64_t n = 1;; n *= 2) { /* none is armed that would be hit */
        call_once(r, n, &hit);
        if (!hit || n >= ALLOCATIONS_MAX)
            return n;
    }
}

static void add_succeeded(replay *r)
{
    const char *op = cJSON_GetStringValue(cJSON_GetObjectItem(r->json, "op"));
    char **more = realloc(r->succeeded, (r->n_succeeded + 1) * sizeof(*more));

    if (more == NULL || (more[r->n_succeeded] = strdup(op)) == NULL) {
        fprintf(stderr, "no memory\n");
        exit(2);
    }
    r->succeeded = more;
    r->n_succeeded++;
}

static void replay_line(replay *r)
{
    const char *fails = cJSON_GetStringValue(cJSON_GetObjectItem(r->json, "fails"));
    bool hit = true;
    int rc = call_once(r, 0, &hit);

    if (rc == 1)
        return;
    const char *got = rc < 0 ? dp_error_name(rc) : "a result";
    if (strcmp(got, fails ? fails : "a result") != 0)
        fail(r, "got %s, want %s", got, fails ? fails : "a result");
    if (rc == 0)
        add_succeeded(r);
    hit = true;
    for (uint64_t n = 1; hit && !r->failed; n++) {
        if (n == ALLOCATIONS_MAX)
            fail(r, "more than %d allocations", ALLOCATIONS_MAX);
        int again = call_once(r, n, &hit);
        if (!hit && again != rc)
            fail(r, "got %s in the end, want %s", dp_error_name(again), dp_error_name(rc));
    }
}

/* -- the whole -- */

static bool has_succeeded(const replay *r, const char *op)
{
    for (size_t i = 0; i < r->n_succeeded; i++)
        if (strcmp(r->succeeded[i], op) == 0)
            return true;
    return false;
}

/* How many overloads have no call. */
static int overloads_without_call(const replay *r, dp_arena *a, dp_error *err)
{
    static const char *const plugins[] = {"composite", "cpu", "(built in)"};
    int missing = 0;

    for (size_t p = 0; p < sizeof(plugins) / sizeof(*plugins); p++) {
        const char *const *ops;
        size_t n;
        if (dp_registry_list(r->reg, &(dp_list_filter){.plugin = plugins[p]}, a, &ops, &n, err) <
            0) {
            printf("%s\n", err->message);
            return 1;
        }
        for (size_t i = 0; i < n; i++)
            if (!has_succeeded(r, ops[i])) {
                printf("%s has no call that succeeds: add one to "
                       "tests/operators/record/given_calls.py\n",
                       ops[i]);
                missing++;
            }
    }
    return missing;
}

static int start(replay *r, const char *given, dp_error *err)
{
    static const char *const plugins[] = {"aten", "composite", "cpu"};
    static dp_holder_limit limits[DP_HOLDERS];
    dp_arena *a = dp_arena_new();
    char *folder = realpath(given, NULL);
    int rc = dp_registry_new(&r->reg, err);

    for (int h = 0; h < DP_HOLDERS; h++)
        limits[h] = (dp_holder_limit){"count", "bytes", UINT64_MAX / 2, UINT64_MAX / 2};
    for (size_t i = 0; rc == 0 && i < sizeof(plugins) / sizeof(*plugins); i++) {
        dp_plugin_report report;
        rc = dp_plugin_load(r->reg,
                            dp_arena_printf(a, "%s/%s.so", folder ? folder : given, plugins[i]),
                            NULL, a, &report, err);
    }
    if (rc == 0)
        rc = dp_ctx_new(r->reg, &r->binds, err);
    if (rc == 0)
        rc = dp_ctx_new(r->reg, &r->calls, err);
    if (rc == 0)
        rc = dp_account_new(limits, &r->account, err);
    if (rc == 0)
        rc = dp_generators_new(&r->generators, err);
    free(folder);
    dp_arena_free(a);
    return rc;
}

static int of_file(replay *r, bool counting, int *passed)
{
    char *line = NULL;
    size_t cap = 0;
    int failed = 0;
    FILE *f = fopen(r->file, "r");

    if (f == NULL) {
        printf("%s cannot be read\n", r->file);
        return 1;
    }
    for (r->line = 1; getline(&line, &cap, f) > 0; r->line++) {
        cJSON *json = cJSON_Parse(line);
        r->json = json;
        r->failed = false;
        if (counting) {
            int rc;
            uint64_t n = count(r, &rc);
            printf("%d %s %llu\n", r->line,
                   rc == 1  ? "unbound"
                   : rc < 0 ? dp_error_name(rc)
                            : "ok",
                   (unsigned long long)n);
        } else {
            replay_line(r);
        }
        cJSON_Delete(json);
        failed += r->failed;
        *passed += !r->failed;
    }
    free(line);
    fclose(f);
    return failed;
}

int main(int argc, char **argv)
{
    static replay r;
    dp_error err = DP_ERROR_INIT;
    dp_arena *a = dp_arena_new();
    const char *before, *after;
    bool counting = argc > 1 && strcmp(argv[1], "--allocations") == 0;
    int passed = 0, failed = 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    argv += counting, argc -= counting;
    if (argc < 3 || a == NULL) {
        fprintf(stderr, "usage: failed_calls [--allocations] FOLDER FILE...\n");
        return 2;
    }
    if (start(&r, argv[1], &err) < 0 || dp_registry_dump(r.reg, a, &before, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    for (int i = 2; i < argc; i++) {
        r.file = argv[i];
        failed += of_file(&r, counting, &passed);
    }
    if (dp_registry_dump(r.reg, a, &after, &err) < 0 || strcmp(before, after) != 0) {
        printf("the registry is another one\n");
        failed++;
    }
    if (!counting)
        failed += overloads_without_call(&r, a, &err);
    for (size_t i = 0; i < r.n_succeeded; i++)
        free(r.succeeded[i]);
    free(r.succeeded);
    dp_arena_free(a);
    dp_generators_free(r.generators);
    dp_account_close(r.account);
    dp_ctx_free(r.binds);
    dp_ctx_free(r.calls);
    dp_registry_free(r.reg);
    if (!counting)
        printf("%d passed, %d failed\n", passed, failed);
    return failed != 0 && !counting;
}
