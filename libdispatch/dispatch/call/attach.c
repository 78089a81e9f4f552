/* attach.c -- data that plugins attach to tensors, and that goes with them.
 *
 * A tensor points to a list of entries, each a key and a value that was copied as dp_value_copy()
 * does.  Nothing of a plugin is in it, so it outlives plugins.
 *
 * An entry may hold tensors, and no tensor may come to hold itself.  So each tensor with entries
 * has a level: one more than the highest level of what it holds.  A tensor that another's entry
 * holds keeps the level that it had then, so levels fall along every chain.  What holds a view
 * holds its root, what holds a wrapper its parts, and what holds an object its tensors: these keep
 * their levels, too. */
#include "enter.h"
#include "values.h"
#include "tensor/object.h"
#include <pthread.h>
#include <stdio.h>

typedef struct entry {
    struct entry *next;
    char *key;
    dp_value value; /* dp_value_free() ends it */
    dp_account *account;
    uint64_t bytes; /* charged to it */
} entry;

/* What a tensor points to: its own alone, from the first time that it is part of this on. */
typedef struct attached {
    entry *first;
    uint32_t n, level;
    bool held; /* by an entry of another tensor: its level stays */
    struct attached *next_dead;
} attached;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all entries and levels */

/* -- ends -- */

static void entry_free(entry *e)
{
    dp_value_free(&e->value);
    if (e->account != NULL)
        dp_account_refund(e->account, DP_HOLDER_TENSORS, 0, e->bytes);
    dp_free(e->key);
    dp_free(e);
}

static _Thread_local attached *dead; /* that this thread is to free */
static _Thread_local bool freeing;

/* Called when a tensor ends.  Entries may hold the last reference to the next tensor, and chains of
 * them may be long: what ends meanwhile is put on the list of the call that is under way. */
static void free_all(void *all)
{
    attached *a = all;

    a->next_dead = dead;
    dead = a;
    if (freeing)
        return;
    freeing = true;
    while ((a = dead) != NULL) {
        dead = a->next_dead;
        for (entry *e; (e = a->first) != NULL; entry_free(e))
            a->first = e->next;
        dp_free(a);
    }
    freeing = false;
}

/* -- levels -- */

static attached *attached_of(const dp_tensor *t)
{
    return atomic_load_explicit(&t->attached, memory_order_relaxed);
}

/* Locked.  NULL: no memory. */
static attached *attached_make(dp_tensor *t)
{
    attached *a = attached_of(t);

    if (a == NULL && (a = dp_calloc(1, sizeof(*a))) != NULL) {
        dpi_on_tensor_end(free_all);
        atomic_store_explicit(&t->attached, a, memory_order_release);
    }
    return a;
}

/* Locked.  What fn is called for: t, its root, the parts of a wrapper.  False as soon as fn is. */
static bool each_inside(dp_tensor *t, bool (*fn)(dp_tensor *t, void *user), void *user)
{
    dp_tensor *root = dp_tensor_root(t);
    dp_wrapper w = {.size = sizeof(w)};

    if (!fn(t, user) || (root != NULL && !fn(root, user)))
        return false;
    for (uint32_t i = 0; dp_wrapper_get(t, &w) && i < w.n_tensors; i++)
        if (!each_inside(w.tensors[i], fn, user))
            return false;
    return true;
}

/* Locked.  The same for all tensors of a value. */
static bool each_tensor(const dp_value *v, bool (*fn)(dp_tensor *t, void *user), void *user)
{
    size_t n = 0;
    dp_tensor *const *parts = v->tag == DP_TAG_OBJECT ? dpi_object_tensors(v->u.o, &n) : NULL;

    if (v->tag == DP_TAG_TENSOR)
        return each_inside(v->u.t, fn, user);
    for (size_t i = 0; i < n; i++)
        if (!each_inside(parts[i], fn, user))
            return false;
    for (uint32_t i = 0; v->tag == DP_TAG_TENSORS && i < v->len; i++)
        if (v->u.tensors[i] != NULL && !each_inside(v->u.tensors[i], fn, user))
            return false;
    for (uint32_t i = 0; v->tag == DP_TAG_LIST && i < v->len; i++)
        if (!each_tensor(&v->u.values[i], fn, user))
            return false;
    return true;
}

typedef struct look {
    const dp_tensor * not ; /* the tensor that the value is for */
    uint32_t level;         /* one more than the highest one of what the value holds */
} look;

static bool look_at(dp_tensor *t, void *user)
{
    const attached *a = attached_of(t);
    look *l = user;
    uint32_t above = a != NULL ? a->level + 1 : 1;

    l->level = above > l->level ? above : l->level;
    return t != l->not ;
}

/* A struct without an entry stays if a later one finds no memory: it goes with its tensor. */
static bool prepare(dp_tensor *t, void *user)
{
    (void)user;
    return attached_make(t) != NULL;
}

static bool hold(dp_tensor *t, void *user)
{
    (void)user;
    attached_of(t)->held = true;
    return true;
}

/* -- entries -- */

/* Locked.  The place that points to the entry, or where one would be added. */
static entry **find(attached *a, const char *key)
{
    entry **at = &a->first;

    while (*at != NULL && strcmp((*at)->key, key) != 0)
        at = &(*at)->next;
    return at;
}

static int check_key(dp_ctx *ctx, const char *key)
{
    size_t n = strlen(key);
    bool good = n > 0 && n <= DP_LIMIT_NAME_BYTES;

    for (size_t i = 0; good && i < n; i++)
        good = (unsigned)(key[i] | 32) - 'a' < 26 || (unsigned)key[i] - '0' < 10 ||
               strchr("_.:-", key[i]) != NULL;
    return good ? 0
                : dp_fail(ctx, DP_EVALUE,
                          "the key of what is attached is a name of 1 to %d letters, digits and "
                          "_.:-, not '%.*s'",
                          DP_LIMIT_NAME_BYTES, DP_LIMIT_NAME_BYTES, key);
}

static int entry_new(dp_ctx *ctx, const char *key, const dp_value *value, entry **out)
{
    uint64_t bytes = dpi_values_bytes(value, 1) + sizeof(entry) + strlen(key) + 1;

    if (bytes > DP_LIMIT_ATTACHED_BYTES)
        return dp_fail(ctx, DP_ERESOURCE,
                       "'%s' cannot be attached: it has %llu bytes, and the limit is %d "
                       "(attached_bytes)",
                       key, (unsigned long long)bytes, DP_LIMIT_ATTACHED_BYTES);
    entry *e = dp_calloc(1, sizeof(*e));
    if (e == NULL || (e->key = dp_strdup(key)) == NULL) {
        dp_free(e);
        return dpi_no_memory(&ctx->error, "what is attached to a tensor");
    }
    int rc = ctx->account != NULL
                 ? dp_account_charge(ctx->account, DP_HOLDER_TENSORS, 0, bytes, &ctx->error)
                 : 0;
    if (rc == 0) {
        e->account = ctx->account;
        e->bytes = bytes;
        rc = dp_value_copy(ctx, value, &e->value);
    }
    if (rc == 0)
        *out = e;
    else
        entry_free(e);
    return rc;
}

/* Locked.  Put e in the place of *former, the entry of its key that t had, or add it. */
static int put(dp_ctx *ctx, dp_tensor *t, entry *e, entry **replaced)
{
    look l = {t, 0};
    bool apart = each_tensor(&e->value, look_at, &l);
    attached *a = attached_make(t);

    if (a == NULL || !each_tensor(&e->value, prepare, NULL))
        return dpi_no_memory(&ctx->error, "what is attached to a tensor");
    if (!apart || (a->held && l.level > a->level))
        return dp_fail(ctx, DP_EVALUE,
                       "'%s' cannot be attached: the tensor might hold itself, since its value has "
                       "the tensor, or one whose attachments may lead to it",
                       e->key);
    entry **at = find(a, e->key);
    if (*at == NULL && a->n == DP_LIMIT_ATTACHED)
        return dp_fail(ctx, DP_ERESOURCE,
                       "'%s' cannot be attached: the tensor has %u, the limit (attached)", e->key,
                       a->n);
    each_tensor(&e->value, hold, NULL);
    a->level = l.level > a->level ? l.level : a->level;
    *replaced = *at;
    a->n += *replaced == NULL;
    e->next = *replaced != NULL ? (*replaced)->next : NULL;
    *at = e;
    return 0;
}

/* Locked.  Take the entry of this key out; NULL: there is none. */
static entry *take(dp_tensor *t, const char *key)
{
    attached *a = attached_of(t);
    entry **at = a != NULL ? find(a, key) : NULL, *e = at != NULL ? *at : NULL;

    if (e != NULL) {
        *at = e->next;
        a->n--;
    }
    return e;
}

int dp_tensor_attach(dp_ctx *ctx, dp_tensor *t, const char *key, const dp_value *value)
{
    entry *e = NULL, *replaced = NULL;

    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, t, key))
        return DP_EPLUGIN;
    bool none = value == NULL || value->tag == DP_TAG_NONE;
    int rc = check_key(ctx, key);
    if (rc == 0 && !none)
        rc = entry_new(ctx, key, value, &e);
    if (rc < 0)
        return rc;
    pthread_mutex_lock(&lock);
    if (none)
        replaced = take(t, key);
    else
        rc = put(ctx, t, e, &replaced);
    pthread_mutex_unlock(&lock);
    if (rc < 0)
        entry_free(e);
    if (replaced != NULL)
        entry_free(replaced); /* not under the lock: what it held may end */
    return rc;
}

int dp_tensor_attached(dp_ctx *ctx, const dp_tensor *t, const char *key, dp_value *out)
{
    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, t, key, out))
        return DP_EPLUGIN;
    *out = dp_none();
    if (attached_of(t) == NULL)
        return 0;
    pthread_mutex_lock(&lock);
    const entry *e = *find(attached_of(t), key);
    int rc = e != NULL ? dp_value_copy(ctx, &e->value, out) : 0;
    pthread_mutex_unlock(&lock);
    return rc;
}

/* Locked. */
static int list_locked(const attached *a, dp_arena *arena, const dp_attached_info **out, size_t *n)
{
    dp_attached_info *all = dp_arena_alloc_n(arena, a->n + 1, sizeof(*all));

    *n = 0;
    *out = all;
    for (const entry *e = a->first; all != NULL && e != NULL; e = e->next) {
        char *key = dp_arena_dup(arena, e->key, strlen(e->key) + 1);
        if (key == NULL)
            return DP_ERESOURCE;
        all[(*n)++] = (dp_attached_info){key, e->bytes};
    }
    return all != NULL ? 0 : DP_ERESOURCE;
}

int dp_tensor_attached_list(const dp_tensor *t, dp_arena *arena, const dp_attached_info **out,
                            size_t *n, dp_error *err)
{
    *n = 0;
    if (attached_of(t) == NULL)
        return 0;
    pthread_mutex_lock(&lock);
    int rc = list_locked(attached_of(t), arena, out, n);
    pthread_mutex_unlock(&lock);
    return rc < 0 ? dpi_no_memory(err, "the list of what is attached") : 0;
}
