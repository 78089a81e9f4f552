/* metrics.c -- counts and times of requests and calls, which server.metrics answers. */
#include "metrics.h"
#include "methods/methods.h"
#include <stdlib.h>
#include <string.h>

enum { KERNELS_KNOWN = 32 }; /* kernels that a thread remembers */

const uint64_t metric_bounds[METRIC_BOUNDS] = {
    1000,     3000,     10000,     30000,     100000,     300000,     1000000,    3000000,
    10000000, 30000000, 100000000, 300000000, 1000000000, 3000000000, 10000000000};

#define WIRE_(code, number, wire, text) wire,
const char *const metric_failures[FAILURES] = {DP_ERROR_MAP(WIRE_) "ParseError", "InvalidRequest",
                                               "MethodNotFound", "InvalidParams"};
#undef WIRE_

const char *metric_limit_name(size_t i)
{
    return i < LIMITS ? limit_names[i] : library_limits[i - LIMITS].name;
}

/* -- tables -- */

static int table_init(metric_table *t, dp_error *err)
{
    t->methods = dp_calloc(n_methods + 2, sizeof(*t->methods));
    return t->methods != NULL ? 0 : dp_error_set(err, DP_ERESOURCE, "out of memory: metrics");
}

static void table_fini(metric_table *t)
{
    for (size_t i = 0; i < METRIC_HEADS; i++)
        for (metric_series *s = t->heads[i], *next; s != NULL; s = next) {
            next = s->next;
            dp_free(s);
        }
    dp_free(t->methods);
    fallbacks_fini(&t->fallbacks);
}

int metrics_init(metrics *m, dp_error *err)
{
    memset(m, 0, sizeof(*m));
    pthread_mutex_init(&m->lock, NULL);
    pthread_mutex_init(&m->fold, NULL);
    return table_init(&m->all, err);
}

void metrics_fini(metrics *m)
{
    table_fini(&m->all);
    pthread_mutex_destroy(&m->fold);
    pthread_mutex_destroy(&m->lock);
}

metric_table *metrics_table_new(metrics *m, dp_error *err)
{
    metric_table *t = dp_calloc(1, sizeof(*t));

    if (t == NULL || table_init(t, err) < 0) {
        dp_free(t);
        dp_error_set(err, DP_ERESOURCE, "out of memory: metrics");
        return NULL;
    }
    t->metrics = m;
    pthread_mutex_lock(&m->fold);
    t->next = m->foreign;
    m->foreign = t;
    pthread_mutex_unlock(&m->fold);
    return t;
}

void metrics_table_free(metric_table *t)
{
    if (t == NULL)
        return;
    metric_table **p = &t->metrics->foreign;
    pthread_mutex_lock(&t->metrics->fold);
    while (*p != t)
        p = &(*p)->next;
    *p = t->next;
    pthread_mutex_unlock(&t->metrics->fold);
    table_fini(t);
    dp_free(t);
}

/* -- series; the caller holds metrics.lock -- */

static metric_series **list_of(metric_table *t, uint64_t hash)
{
    _Static_assert(METRIC_HEADS == 1 << 10, "10 bits of hash choose a list");
    return &t->heads[hash * 0x9e3779b97f4a7c15u >> 54];
}

static metric_series *series_find(metric_table *t, uint64_t kernel)
{
    metric_series *s = *list_of(t, kernel);

    while (s != NULL && s->kernel != kernel)
        s = s->next;
    return s;
}

/* Return the list of the series of gone kernels that have the labels of `s`. */
static metric_series **gone_list(metric_table *t, const metric_series *s)
{
    uint64_t hash = (uintptr_t)s->op; /* one operator has one name at one address */

    for (const char *c = s->key; *c != '\0'; c++)
        hash = hash * 31 + (unsigned char)*c;
    for (const char *c = s->plugin; *c != '\0'; c++)
        hash = hash * 31 + (unsigned char)*c;
    return list_of(t, hash);
}

static metric_series *gone_find(metric_table *t, const metric_series *like)
{
    metric_series *s = *gone_list(t, like);

    while (s != NULL && (s->kernel != 0 || s->op != like->op || strcmp(s->key, like->key) != 0 ||
                         strcmp(s->plugin, like->plugin) != 0))
        s = s->next;
    return s;
}

/* Return the series of a kernel; a new one if there is none; `over` if there is no room for it. */
static metric_series *series_of(metric_table *t, const metric_call *c)
{
    const dp_kernel_origin *from = &c->from;
    metric_series *s = series_find(t, from->id);

    if (s != NULL)
        return s;
    if (t->n_series >= LIMIT_SIZE(METRIC_SERIES) || (s = dp_calloc(1, sizeof(*s))) == NULL)
        return &t->over;
    s->kernel = from->id;
    s->op = c->op;
    dp_key_name(from->key, s->key);
    memcpy(s->plugin, from->plugin, sizeof(s->plugin));
    s->generation = from->generation;
    metric_series **list = list_of(t, s->kernel);
    s->next = *list;
    *list = s;
    t->n_series++;
    return s;
}

/* -- counting -- */

static void times_add(metric_times *t, uint64_t nanos)
{
    int i = 0;

    while (i < METRIC_BOUNDS && nanos > metric_bounds[i])
        i++;
    t->buckets[i]++;
    t->nanos += nanos;
}

/* Describe kernel `number` of the call `b`.  Each thread remembers the kernels that it called last,
 * because dp_bound_origin() costs as much as a small call; numbers of kernels are never reused. */
static const dp_kernel_origin *origin_of(dp_ctx *ctx, const dp_bound *b, uint64_t number)
{
    static _Thread_local dp_kernel_origin last[KERNELS_KNOWN];
    dp_kernel_origin *from = &last[number % KERNELS_KNOWN];

    if (from->id != number)
        dp_bound_origin(ctx, b, from);
    return from;
}

void metrics_begin(dp_ctx *ctx, const dp_bound *b, uint64_t kernel, metric_call *out)
{
    out->from.id = 0;
    if (kernel == 0)
        return;
    out->from = *origin_of(ctx, b, DP_KERNEL_BELOW(kernel));
    out->op = dp_op_name(b->op);
    out->began = nanos();
}

/* The caller holds metrics.lock. */
static void add_call(metric_table *t, const metric_call *c)
{
    metric_series *s = series_of(t, c);

    s->errors += c->failed;
    times_add(&s->times, c->nanos);
}

void metrics_call(metrics *m, metric_table *own, const metric_call *c)
{
    pthread_mutex_lock(&m->lock);
    add_call(&m->all, c);
    if (own != NULL)
        add_call(own, c);
    pthread_mutex_unlock(&m->lock);
}

void metrics_request(metrics *m, metric_table *own, size_t which, uint64_t nanos,
                     const metric_call *c)
{
    pthread_mutex_lock(&m->lock);
    for (metric_table *t = &m->all; t != NULL; t = t == &m->all ? own : NULL) {
        times_add(&t->methods[which].times, nanos);
        if (c->from.id != 0)
            add_call(t, c);
    }
    pthread_mutex_unlock(&m->lock);
}

void metrics_fallbacks(metrics *m, metric_table *own, const dp_fallback_count *counts, size_t n)
{
    pthread_mutex_lock(&m->lock);
    for (metric_table *t = &m->all; t != NULL; t = t == &m->all ? own : NULL)
        fallbacks_add(&t->fallbacks, counts, n);
    pthread_mutex_unlock(&m->lock);
}

/* -- failures -- */

static int failure_of(int rpc, const dp_error *err)
{
#define CODE_(code, number, wire, text) code,
    static const int codes[] = {DP_ERROR_MAP(CODE_)};
#undef CODE_
    static const struct {
        int rpc, failure;
    } others[] = {{-32700, FAILURE_PARSE},
                  {-32600, FAILURE_REQUEST},
                  {-32601, FAILURE_METHOD},
                  {-32602, FAILURE_PARAMS}};

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (others[i].rpc == rpc)
            return others[i].failure;
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (codes[i] == err->code)
            return (int)i;
    return FAILURE_DP_ERUNTIME;
}

/* Return the index of the limit that the error is due to; METRIC_LIMITS: it is due to none. */
static size_t limit_of(const dp_error *err)
{
    const dp_refusal *refused = dp_error_refusal(err);
    size_t i = refused != NULL ? 0 : METRIC_LIMITS;

    while (i < METRIC_LIMITS && strcmp(metric_limit_name(i), refused->limit) != 0)
        i++;
    return i;
}

void metrics_failure(metrics *m, metric_table *own, size_t which, int rpc, const dp_error *err)
{
    int kind = failure_of(rpc, err);
    size_t limit = limit_of(err);

    pthread_mutex_lock(&m->lock);
    for (metric_table *t = &m->all; t != NULL; t = t == &m->all ? own : NULL) {
        t->methods[which].failures[kind]++;
        if (limit < METRIC_LIMITS)
            t->refusals[limit]++;
    }
    pthread_mutex_unlock(&m->lock);
}

/* -- folding -- */

static int compare_numbers(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static void times_sum(metric_times *to, const metric_times *t)
{
    for (int i = 0; i < METRIC_BUCKETS; i++)
        to->buckets[i] += t->buckets[i];
    to->nanos += t->nanos;
}

/* Fold `s`, which is in no list: add it to the series of gone kernels with its labels, or make it
 * that series. */
static void fold(metric_table *t, metric_series *s)
{
    metric_series *gone = gone_find(t, s);

    if (gone != NULL) {
        times_sum(&gone->times, &s->times);
        gone->errors += s->errors;
        t->n_series--;
        dp_free(s);
        return;
    }
    s->kernel = 0;
    metric_series **list = gone_list(t, s);
    s->next = *list;
    *list = s;
}

/* Fold the series of one list whose generation is not in `live`. */
static void fold_list(metric_table *t, metric_series **p, const uint64_t *live, size_t n)
{
    metric_series *gone = NULL;

    while (*p != NULL) {
        metric_series *s = *p;
        if (s->kernel != 0 &&
            (n == 0 || bsearch(&s->generation, live, n, sizeof(*live), compare_numbers) == NULL)) {
            *p = s->next;
            s->next = gone;
            gone = s;
        } else {
            p = &s->next;
        }
    }
    while (gone != NULL) {
        metric_series *s = gone;
        gone = s->next;
        fold(t, s);
    }
}

static void fold_table(metrics *m, metric_table *t, const uint64_t *live, size_t n)
{
    for (size_t i = 0; i < METRIC_HEADS; i++) {
        pthread_mutex_lock(&m->lock); /* for one list at a time: requests wait for this lock */
        fold_list(t, &t->heads[i], live, n);
        pthread_mutex_unlock(&m->lock);
    }
}

void metrics_fold(metrics *m, uint64_t *live, size_t n)
{
    if (n > 0)
        qsort(live, n, sizeof(*live), compare_numbers);
    pthread_mutex_lock(&m->fold);
    fold_table(m, &m->all, live, n);
    for (metric_table *t = m->foreign; t != NULL; t = t->next)
        fold_table(m, t, live, n);
    pthread_mutex_unlock(&m->fold);
}

/* -- reading -- */

static int compare_series(const void *a, const void *b)
{
    const metric_series *x = a, *y = b;
    int c = strcmp(x->op, y->op);

    c = c != 0 ? c : strcmp(x->key, y->key);
    c = c != 0 ? c : strcmp(x->plugin, y->plugin);
    if (c != 0 || (x->kernel != 0) != (y->kernel != 0))
        return c != 0 ? c : x->kernel != 0 ? 1 : -1;
    return x->generation < y->generation ? -1 : x->generation > y->generation;
}

/* Two kernels of one generation have the same labels if both are registered for one operator and
 * one key: they become one series. */
static size_t merge_series(metric_series *s, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        if (kept > 0 && compare_series(&s[kept - 1], &s[i]) == 0) {
            times_sum(&s[kept - 1].times, &s[i].times);
            s[kept - 1].errors += s[i].errors;
        } else {
            s[kept++] = s[i];
        }
    }
    return kept;
}

int metrics_copy(metrics *m, const metric_table *t, dp_arena *a, metric_copy *out, dp_error *err)
{
    pthread_mutex_lock(&m->fold); /* no series leaves its list now */
    pthread_mutex_lock(&m->lock);
    size_t n = 0, max = t->n_series;
    pthread_mutex_unlock(&m->lock);
    out->series = dp_arena_alloc_n(a, max, sizeof(*out->series));
    out->methods = dp_arena_alloc_n(a, n_methods + 2, sizeof(*out->methods));
    if (out->series == NULL || out->methods == NULL) {
        pthread_mutex_unlock(&m->fold);
        return dp_error_set(err, DP_ERESOURCE, "out of memory: a copy of %zu series", max);
    }
    for (size_t i = 0; i < METRIC_HEADS; i++) {
        pthread_mutex_lock(&m->lock);
        for (const metric_series *s = t->heads[i]; s != NULL && n < max; s = s->next)
            out->series[n++] = *s;
        pthread_mutex_unlock(&m->lock);
    }
    pthread_mutex_lock(&m->lock);
    dp_copy_n(out->methods, t->methods, n_methods + 2, sizeof(*out->methods));
    memcpy(out->refusals, t->refusals, sizeof(out->refusals));
    out->over = t->over;
    pthread_mutex_unlock(&m->lock);
    pthread_mutex_unlock(&m->fold);
    if (n > 0)
        qsort(out->series, n, sizeof(*out->series), compare_series);
    out->n_series = merge_series(out->series, n);
    return 0;
}

int metrics_fallbacks_copy(metrics *m, const metric_table *t, const char *op, dp_arena *a,
                           dp_fallback_count **out, size_t *n, dp_error *err)
{
    static const char other[] = "(other)";
    const fallback_table *f = &t->fallbacks;

    *n = 0;
    pthread_mutex_lock(&m->lock);
    size_t max = f->n;
    pthread_mutex_unlock(&m->lock);
    if ((*out = dp_arena_alloc_n(a, max + 1, sizeof(**out))) == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: counts of %zu fallbacks", max);
    for (size_t i = 0; i < FALLBACK_HEADS; i++) {
        pthread_mutex_lock(&m->lock);
        *n = fallbacks_copy(f, i, op, *out, *n, max);
        pthread_mutex_unlock(&m->lock);
    }
    pthread_mutex_lock(&m->lock);
    if (op == NULL && f->over.op != NULL) {
        dp_fallback_count *over = &(*out)[(*n)++];
        *over = f->over;
        over->op = other;
        memcpy(over->key, other, sizeof(other));
    }
    pthread_mutex_unlock(&m->lock);
    fallbacks_sort(*out, *n);
    return 0;
}

/* -- turns of the event loop -- */

/* Return the number of the slot of the time `now` (nanos()). */
static uint64_t slot_of(uint64_t now)
{
    return now / (TURN_SLOT_MS * UINT64_C(1000000));
}

void turn_end(loop_turns *t)
{
    if (t->began == 0)
        return;
    uint64_t now = nanos(), took = now - t->began, slot = slot_of(now);
    size_t i = slot % TURN_SLOTS;

    t->began = 0;
    if (atomic_load_explicit(&t->slot[i], memory_order_relaxed) != slot) {
        atomic_store_explicit(&t->longest[i], took, memory_order_relaxed);
        atomic_store_explicit(&t->slot[i], slot, memory_order_release);
    } else if (took > atomic_load_explicit(&t->longest[i], memory_order_relaxed)) {
        atomic_store_explicit(&t->longest[i], took, memory_order_relaxed);
    }
}

uint64_t turns_longest(loop_turns *t, uint64_t now)
{
    uint64_t longest = 0, slot = slot_of(now);

    for (size_t i = 0; i < TURN_SLOTS; i++) {
        uint64_t of = atomic_load_explicit(&t->slot[i], memory_order_acquire);
        uint64_t took = atomic_load_explicit(&t->longest[i], memory_order_relaxed);
        if (of + TURN_SLOTS > slot && took > longest)
            longest = took;
    }
    return longest;
}
