/* object.c -- objects of plugins: registers their kinds, makes and frees objects, and ends them
 * when their plugin is unloaded.
 *
 * A kind is registered once for each generation of its plugin, and lists its objects.  An object on
 * a list is alive.  An object that has ended is on no list, and its memory stays until the last
 * reference is dropped.  Only code of the kind's plugin gets the data.  While a thread runs the
 * plugin's functions `end` or `adopt` on an object, the object is busy, and other threads that want
 * it wait. */
#define _GNU_SOURCE /* for pthread_cond_clockwait() */
#include "object.h"
#include "base/fp.h"
#include "base/process.h"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

struct dpi_object_kind {
    dpi_object_kind *next;
    const dp_object_ops *key; /* the plugin's own struct; only its address is compared */
    dp_object_ops ops;        /* copy of `*key` */
    char *name, *plugin;      /* `name` is "ns.Name" */
    uint64_t generation;
    unsigned refs; /* one for the registration and one for each object made with it */
    dp_object *objects;
};

struct dp_object {
    atomic_uint refs;
    bool busy; /* a thread runs ops.end or ops.adopt on the object */
    /* the registration on whose list the object is; NULL: the object has ended */
    dpi_object_kind *kind;
    dp_object *next, **prev_next; /* in kind->objects */
    uint32_t version;             /* version of the data's layout (dp_object_ops.version) */
    uint32_t n_tensors;
    dp_tensor **tensors; /* each with a reference */
    size_t bytes;
    /* the registration with which the object was made; the object has one of its references */
    dpi_object_kind *origin;
    dp_account *account; /* the object is charged to this account */
    uint64_t charged;
    _Alignas(16) char data[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;  /* protects kinds, their lists, objects */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER; /* some object is not busy any more */
static dpi_object_kind *kinds;                            /* newest first */
static atomic_uint_fast64_t n_objects;

uint64_t dp_objects_count(void)
{
    return atomic_load(&n_objects);
}

/* -- kinds -- */

static int check_kind(const char *name, const char *plugin, bool again, dp_error *err)
{
    unsigned n = 0;

    for (const dpi_object_kind *k = kinds; k != NULL; k = k->next, n++)
        if (strcmp(k->name, name) == 0 && (!again || strcmp(k->plugin, plugin) != 0))
            return dp_error_set(err, DP_EEXISTS, "kind of objects '%s': plugin '%s' has it", name,
                                k->plugin);
    return n < DP_LIMIT_OBJECT_KINDS
               ? 0
               : dp_error_limit(
                     dp_error_set(err, DP_ERESOURCE,
                                  "kind of objects '%s': there are %u, the limit (object_kinds)",
                                  name, n),
                     "object_kinds", DP_LIMIT_OBJECT_KINDS, n + 1);
}

/* Check that no two kinds have the same dp_object_ops, because its address identifies the kind.
 * The caller holds the lock. */
static int check_unshared(const dpi_object_kind *k, dp_error *err)
{
    for (const dpi_object_kind *found = kinds; found != NULL; found = found->next)
        if (found->key == k->key && found->generation == k->generation)
            return dp_error_set(err, DP_EPLUGIN,
                                "kinds of objects '%s' and '%s' share one dp_object_ops: each "
                                "needs its own",
                                found->name, k->name);
    return 0;
}

int dpi_object_kind_new(const char *ns, const char *name, const char *plugin, uint64_t generation,
                        bool again, const dp_object_ops *ops, dpi_object_kind **out, dp_error *err)
{
    char full[2 * DP_LIMIT_NAME_BYTES + 2];

    snprintf(full, sizeof(full), "%s.%s", ns, name);
    if (ops == NULL || ops->size < sizeof(uint32_t))
        return dp_error_set(err, DP_EPLUGIN,
                            "kind of objects '%s': the size of its dp_object_ops is %u; set .size "
                            "= sizeof(dp_object_ops)",
                            full, ops != NULL ? ops->size : 0);
    dpi_object_kind *k = dp_calloc(1, sizeof(*k));
    if (k == NULL)
        return dpi_no_memory(err, full);
    k->refs = 1;
    k->key = ops;
    memcpy(&k->ops, ops, ops->size < sizeof(k->ops) ? ops->size : sizeof(k->ops));
    k->generation = generation;
    k->name = dp_strdup(full);
    k->plugin = dp_strdup(plugin);
    if (k->name == NULL || k->plugin == NULL) {
        dpi_object_kind_free(k);
        return dpi_no_memory(err, full);
    }
    pthread_mutex_lock(&lock);
    int rc = check_kind(full, plugin, again, err);
    if (rc == 0)
        rc = check_unshared(k, err);
    if (rc == 0) {
        k->next = kinds;
        kinds = k;
    }
    pthread_mutex_unlock(&lock);
    if (rc < 0)
        dpi_object_kind_free(k);
    else
        *out = k;
    return rc;
}

/* The caller holds the lock. */
static void kind_unref(dpi_object_kind *k)
{
    if (--k->refs > 0)
        return;
    dp_free(k->name);
    dp_free(k->plugin);
    dp_free(k);
}

/* Find a kind by its ops.  NULL: no loaded plugin registered it.  The caller holds the lock. */
static dpi_object_kind *kind_named(const dp_object_ops *ops)
{
    dpi_object_kind *k = kinds;

    while (k != NULL && k->key != ops)
        k = k->next;
    return k;
}

/* -- lists -- */

/* The caller holds the lock. */
static void list(dp_object *o, dpi_object_kind *k)
{
    o->kind = k;
    o->next = k->objects;
    o->prev_next = &k->objects;
    if (o->next != NULL)
        o->next->prev_next = &o->next;
    k->objects = o;
}

/* The caller holds the lock. */
static void unlist(dp_object *o)
{
    *o->prev_next = o->next;
    if (o->next != NULL)
        o->next->prev_next = o->prev_next;
    o->kind = NULL;
}

/* -- the plugin's code -- */

/* Make `o` busy and release the lock, which the caller holds, so that a function of the plugin can
 * run on `o`.  Returns the floating-point environment for code_end(), which takes the lock
 * again. */
static dpi_fp code_begin(dp_object *o)
{
    o->busy = true;
    pthread_mutex_unlock(&lock);
    return dpi_fp_look();
}

static void code_end(dp_object *o, dpi_fp before)
{
    if (DPI_UNLIKELY(dpi_fp_look() != before))
        dpi_fp_set(before);
    pthread_mutex_lock(&lock);
    o->busy = false;
    pthread_cond_broadcast(&changed);
}

static void warn_of(const dp_object *o, int rc, const dp_error *why_not)
{
    char text[DP_ERROR_MESSAGE_MAX + 4 * DP_LIMIT_NAME_BYTES];

    snprintf(text, sizeof(text),
             "an object of kind '%s' of plugin '%s': its end failed with %d: %s", o->origin->name,
             o->origin->plugin, rc, why_not->message[0] ? why_not->message : "it did not say why");
    dpi_warn_listener(text);
}

/* End `o`, which is on a list and not busy.  The caller holds the lock. */
static void end(dp_object *o)
{
    int (*fn)(void *, dp_error *) = o->kind->ops.end;
    dp_error why_not = DP_ERROR_INIT;

    if (fn != NULL) {
        dpi_fp before = code_begin(o);
        int rc = fn(o->data, &why_not);
        if (rc != 0)
            warn_of(o, rc, &why_not);
        code_end(o, before);
    }
    unlist(o); /* last, because the kind and its code stay while `o` is on its list */
}

/* Tell whether `k` adopts `o`, which is on a list and not busy.  The caller holds the lock. */
static bool adopt(dp_object *o, dpi_object_kind *k, dp_error *why_not)
{
    if (k->ops.adopt == NULL)
        return false;
    dpi_fp before = code_begin(o);
    int rc = k->ops.adopt(o->data, o->bytes, o->version, why_not);
    code_end(o, before);
    if (rc != 0)
        return false;
    unlist(o);
    list(o, k);
    o->version = k->ops.version;
    return true;
}

/* Find the newest registration of the kind that `k` registers.  NULL: it is `k` itself.  The caller
 * holds the lock. */
static dpi_object_kind *newer(const dpi_object_kind *k)
{
    dpi_object_kind *found = kinds;

    while (found != k && strcmp(found->name, k->name) != 0)
        found = found->next;
    return found != k ? found : NULL;
}

/* Find an object of `k` that has references and is not busy, and take a reference.  NULL: there is
 * none.  The caller holds the lock. */
static dp_object *take_one(const dpi_object_kind *k)
{
    for (dp_object *o = k->objects; o != NULL; o = o->next) {
        unsigned refs = atomic_load(&o->refs);
        while (!o->busy && refs > 0)
            if (atomic_compare_exchange_weak(&o->refs, &refs, refs + 1))
                return o;
    }
    return NULL;
}

bool dpi_object_kind_end(dpi_object_kind *k, int timeout_ms, char *why, size_t bytes)
{
    struct timespec until = dpi_time_after(timeout_ms);
    int rc = 0;

    pthread_mutex_lock(&lock);
    while (k->objects != NULL && rc != ETIMEDOUT) {
        dp_error why_not = DP_ERROR_INIT;
        dp_object *o = take_one(k);
        if (o == NULL) { /* other threads are ending the objects that are left */
            rc = pthread_cond_clockwait(&changed, &lock, CLOCK_MONOTONIC, &until);
            continue;
        }
        dpi_object_kind *successor = newer(k);
        if (successor == NULL || !adopt(o, successor, &why_not))
            end(o);
        pthread_mutex_unlock(&lock);
        dp_object_unref(o);
        pthread_mutex_lock(&lock);
    }
    bool all = k->objects == NULL;
    if (!all)
        snprintf(why, bytes, "another thread is ending an object of its kind '%s'", k->name);
    pthread_mutex_unlock(&lock);
    return all;
}

void dpi_object_kind_free(dpi_object_kind *k)
{
    char why[DP_ERROR_MESSAGE_MAX];

    if (k == NULL)
        return;
    while (!dpi_object_kind_end(k, 1000, why, sizeof(why)))
        ;
    pthread_mutex_lock(&lock);
    dpi_object_kind **at = &kinds;
    while (*at != NULL && *at != k)
        at = &(*at)->next;
    if (*at != NULL)
        *at = k->next;
    kind_unref(k);
    pthread_mutex_unlock(&lock);
}

/* -- objects -- */

static void release(dp_object *o)
{
    for (uint32_t i = 0; i < o->n_tensors; i++)
        dp_tensor_unref(o->tensors[i]);
    if (o->account != NULL) {
        dp_account_refund(o->account, DP_HOLDER_OBJECTS, 1, o->charged);
        dp_account_close(o->account);
    }
    pthread_mutex_lock(&lock);
    if (o->origin != NULL)
        kind_unref(o->origin);
    pthread_mutex_unlock(&lock);
    dp_free(o->tensors);
    dp_free(o);
}

/* Make an object without a kind. */
static dp_object *make(size_t bytes, dp_tensor *const *tensors, size_t n)
{
    size_t all;
    dp_object *o = NULL;

    if (!__builtin_add_overflow(sizeof(*o), bytes, &all))
        o = dp_calloc(1, all);
    if (o == NULL || (o->tensors = dp_calloc(n + 1, sizeof(*o->tensors))) == NULL) {
        dp_free(o);
        return NULL;
    }
    atomic_init(&o->refs, 1);
    o->bytes = bytes;
    o->n_tensors = (uint32_t)n;
    for (size_t i = 0; i < n; i++)
        o->tensors[i] = dp_tensor_ref(tensors[i]);
    return o;
}

static int charge(dp_object *o, dp_account *account, dp_error *err)
{
    uint64_t bytes = sizeof(*o) + o->bytes + o->n_tensors * sizeof(dp_tensor *);

    if (account == NULL || dp_account_charge(account, DP_HOLDER_OBJECTS, 1, bytes, err) < 0)
        return account == NULL ? 0 : err->code;
    o->charged = bytes;
    o->account = dp_account_ref(account);
    return 0;
}

/* The caller holds the lock. */
static int set_kind(dp_object *o, const dp_object_ops *ops, dp_error *err)
{
    dpi_object_kind *k = kind_named(ops);

    if (k == NULL)
        return dp_error_set(err, DP_EPLUGIN,
                            "an object of no kind: no plugin that is loaded has a DP_OBJECT_KIND "
                            "with these dp_object_ops");
    o->origin = k;
    k->refs++;
    o->version = k->ops.version;
    list(o, k);
    return 0;
}

int dpi_object_new(const dp_object_ops *kind, size_t bytes, dp_tensor *const *tensors, size_t n,
                   dp_account *account, dp_object **out, dp_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (tensors[i] == NULL)
            return dp_error_set(err, DP_EPLUGIN, "an object: tensor %zu of %zu is NULL", i, n);
    if (n > DP_LIMIT_OBJECT_TENSORS)
        return dp_error_limit(
            dp_error_set(err, DP_ERESOURCE,
                         "an object of %zu tensors; the limit is %d (object_tensors)", n,
                         DP_LIMIT_OBJECT_TENSORS),
            "object_tensors", DP_LIMIT_OBJECT_TENSORS, n);
    dp_object *o = make(bytes, tensors, n);
    if (o == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: an object of %zu bytes", bytes);
    int rc = charge(o, account, err);
    pthread_mutex_lock(&lock);
    if (rc == 0)
        rc = set_kind(o, kind, err);
    pthread_mutex_unlock(&lock);
    if (rc < 0) {
        release(o);
        return rc;
    }
    atomic_fetch_add(&n_objects, 1);
    *out = o;
    return 0;
}

dp_object *dp_object_ref(dp_object *o)
{
    if (o != NULL)
        atomic_fetch_add_explicit(&o->refs, 1, memory_order_relaxed);
    return o;
}

dp_object *dp_object_unref(dp_object *o)
{
    if (o == NULL || atomic_fetch_sub_explicit(&o->refs, 1, memory_order_acq_rel) > 1)
        return NULL;
    pthread_mutex_lock(&lock);
    if (o->kind != NULL)
        end(o);
    pthread_mutex_unlock(&lock);
    atomic_fetch_sub(&n_objects, 1);
    release(o);
    return NULL;
}

static int ended(const dp_object *o, dp_error *err)
{
    return dp_error_set(err, DP_ERUNTIME,
                        "an object of kind '%s' has ended: plugin '%s', which made it, was "
                        "unloaded, or reloaded without adopting it",
                        o->origin->name, o->origin->plugin);
}

/* Check that code with registration `k` may use `o`.  The caller holds the lock. */
static int check_user(dp_object *o, dpi_object_kind *k, dp_error *err)
{
    dp_error why_not = DP_ERROR_INIT;

    while (o->busy)
        pthread_cond_wait(&changed, &lock);
    if (o->kind == k)
        return 0;
    if (o->kind == NULL)
        return ended(o, err);
    if (strcmp(o->kind->name, k->name) != 0)
        return dp_error_set(err, DP_ETYPE, "expected an object of kind '%s' but got one of '%s'",
                            k->name, o->origin->name);
    if (k->generation < o->kind->generation && k->ops.version == o->version)
        return 0; /* a call of the old code is running while the new code adopted `o` */
    if (k->generation > o->kind->generation && adopt(o, k, &why_not))
        return 0;
    return dp_error_set(err, DP_ERUNTIME,
                        "an object of kind '%s' is of generation %llu of plugin '%s', and "
                        "generation %llu did not adopt it%s%s",
                        o->origin->name, (unsigned long long)o->kind->generation, o->origin->plugin,
                        (unsigned long long)k->generation, why_not.message[0] ? ": " : "",
                        why_not.message);
}

int dpi_object_get(dp_object *o, const dp_object_ops *kind, dp_object_view *out, dp_error *err)
{
    int rc;

    pthread_mutex_lock(&lock);
    dpi_object_kind *k = kind_named(kind);
    if (k == NULL)
        rc = dp_error_set(err, DP_EPLUGIN,
                          "no plugin that is loaded has a DP_OBJECT_KIND with these dp_object_ops");
    else
        rc = check_user(o, k, err);
    pthread_mutex_unlock(&lock);
    if (rc == 0 && out->size == 0) /* else the caller would use members that are not set */
        rc = dp_error_set(err, DP_EPLUGIN,
                          "dp_object_view.size is 0; set .size = sizeof(dp_object_view)");
    if (rc < 0)
        return rc;
    dp_object_view view = {out->size, o->n_tensors, o->tensors, o->data, o->bytes};
    memcpy(out, &view, out->size < sizeof(view) ? out->size : sizeof(view));
    return 0;
}

int dp_object_check(dp_object *o, dp_error *err)
{
    pthread_mutex_lock(&lock);
    int rc = o->kind != NULL ? 0 : ended(o, err);
    pthread_mutex_unlock(&lock);
    return rc;
}

const char *dp_object_kind(const dp_object *o)
{
    return o->origin->name;
}

const char *dp_object_plugin(const dp_object *o)
{
    return o->origin->plugin;
}

size_t dp_object_bytes(const dp_object *o)
{
    return o->bytes;
}

dp_tensor *const *dpi_object_tensors(const dp_object *o, size_t *n)
{
    *n = o->n_tensors;
    return o->tensors;
}
