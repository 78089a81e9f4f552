/* attach.c -- values that plugins attach to tensors (dp_tensor_attach), freed with the tensor.
 *
 * A tensor points to a list of entries.  An entry is a key and a value that was copied with
 * dp_value_copy().  No pointer in an entry leads into a plugin, so an entry may outlive the plugin
 * that attached it.
 *
 * An entry may refer to tensors, but a tensor must not refer to itself, not even through other
 * tensors: it would never be freed.  So each tensor with entries has a level: 1 + the highest level
 * of the tensors to which its entries refer.  As soon as an entry refers to a tensor, the level of
 * that tensor is fixed: it must not grow any more.  So levels decrease along every chain of
 * references.  An entry with a view refers also to the view's root, an entry with a wrapper to the
 * wrapper's parts, and an entry with an object to the object's tensors.  The levels of all these
 * tensors are fixed, too. */
#include "enter.h"
#include "values.h"
#include "tensor/object.h"
#include <pthread.h>
#include <stdio.h>

typedef struct entry {
    struct entry *next;
    char *key;
    dp_value value; /* freed by dp_value_free() */
    dp_account *account;
    uint64_t bytes; /* bytes charged to `account` */
} entry;

/* The attachments of one tensor.  Made when the tensor gets its first entry, or when an entry of
 * another tensor first refers to it; freed with the tensor. */
typedef struct attached {
    entry *first;
    uint32_t n, level;
    bool level_fixed; /* an entry of another tensor refers to this tensor */
    struct attached *next_dead;
} attached;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects all entries and levels */

/* -- freeing -- */

static void entry_free(entry *e)
{
    dp_value_free(&e->value);
    if (e->account != NULL)
        dp_account_refund(e->account, DP_HOLDER_TENSORS, 0, e->bytes);
    dp_free(e->key);
    dp_free(e);
}

static _Thread_local attached *dead; /* list of attachments that this thread still has to free */
static _Thread_local bool freeing;

/* Free the attachments `all` of a tensor that ended.  Freeing an entry may end another tensor, and
 * so call this function again, along a chain of any length.  The inner call only adds to the list
 * `dead`, which the outer call empties: so the stack does not grow. */
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

/* Return the attachments of `t`, made if there are none; NULL: no memory.  Call with `lock`
 * held. */
static attached *attached_make(dp_tensor *t)
{
    attached *a = attached_of(t);

    if (a == NULL && (a = dp_calloc(1, sizeof(*a))) != NULL) {
        dpi_on_tensor_end(free_all);
        atomic_store_explicit(&t->attached, a, memory_order_release);
    }
    return a;
}

/* Call `fn` for `t`, its root, and the parts of a wrapper.  Stop and return false when `fn` returns
 * false.  Call with `lock` held. */
static bool for_each_inside(dp_tensor *t, bool (*fn)(dp_tensor *t, void *user), void *user)
{
    dp_tensor *root = dp_tensor_root(t);
    dp_wrapper w = {.size = sizeof(w)};

    if (!fn(t, user) || (root != NULL && !fn(root, user)))
        return false;
    for (uint32_t i = 0; dp_wrapper_get(t, &w) && i < w.n_tensors; i++)
        if (!for_each_inside(w.tensors[i], fn, user))
            return false;
    return true;
}

/* Call for_each_inside() for all tensors of a value.  Call with `lock` held. */
static bool for_each_tensor(const dp_value *v, bool (*fn)(dp_tensor *t, void *user), void *user)
{
    size_t n = 0;
    dp_tensor *const *parts = v->tag == DP_TAG_OBJECT ? dpi_object_tensors(v->u.o, &n) : NULL;

    if (v->tag == DP_TAG_TENSOR)
        return for_each_inside(v->u.t, fn, user);
    for (size_t i = 0; i < n; i++)
        if (!for_each_inside(parts[i], fn, user))
            return false;
    for (uint32_t i = 0; v->tag == DP_TAG_TENSORS && i < v->len; i++)
        if (v->u.tensors[i] != NULL && !for_each_inside(v->u.tensors[i], fn, user))
            return false;
    for (uint32_t i = 0; v->tag == DP_TAG_LIST && i < v->len; i++)
        if (!for_each_tensor(&v->u.values[i], fn, user))
            return false;
    return true;
}

typedef struct level_scan {
    const dp_tensor *target; /* the tensor to which the value is to be attached */
    uint32_t level;          /* 1 + highest level of the tensors in the value */
} level_scan;

static bool scan_level(dp_tensor *t, void *user)
{
    const attached *a = attached_of(t);
    level_scan *l = user;
    uint32_t needed = a != NULL ? a->level + 1 : 1;

    l->level = needed > l->level ? needed : l->level;
    return t != l->target;
}

/* Make the attachments of `t` if there are none.  If a later allocation fails, the empty struct is
 * freed with `t`. */
static bool ensure_attached(dp_tensor *t, void *user)
{
    (void)user;
    return attached_make(t) != NULL;
}

static bool fix_level(dp_tensor *t, void *user)
{
    (void)user;
    attached_of(t)->level_fixed = true;
    return true;
}

/* -- entries -- */

/* Return the link that points to the entry of `key`, or the NULL link at the end of the list.  Call
 * with `lock` held. */
static entry **entry_link(attached *a, const char *key)
{
    entry **link = &a->first;

    while (*link != NULL && strcmp((*link)->key, key) != 0)
        link = &(*link)->next;
    return link;
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
        return dp_error_limit(
            dp_fail(ctx, DP_ERESOURCE,
                    "'%s' cannot be attached: it has %llu bytes, and the limit is %d "
                    "(attached_bytes)",
                    key, (unsigned long long)bytes, DP_LIMIT_ATTACHED_BYTES),
            "attached_bytes", DP_LIMIT_ATTACHED_BYTES, bytes);
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

/* Add `e` to the entries of `t`.  If there is an entry with the same key, put `e` in its place and
 * set *replaced to the old entry, which the caller frees.  DP_EVALUE: `t` might then refer to
 * itself.  Call with `lock` held. */
static int entry_insert(dp_ctx *ctx, dp_tensor *t, entry *e, entry **replaced)
{
    level_scan l = {t, 0};
    bool without_target = for_each_tensor(&e->value, scan_level, &l);
    attached *a = attached_make(t);

    if (a == NULL || !for_each_tensor(&e->value, ensure_attached, NULL))
        return dpi_no_memory(&ctx->error, "what is attached to a tensor");
    if (!without_target || (a->level_fixed && l.level > a->level))
        return dp_fail(ctx, DP_EVALUE,
                       "'%s' cannot be attached: the tensor might hold itself, since its value has "
                       "the tensor, or one whose attachments may lead to it",
                       e->key);
    entry **link = entry_link(a, e->key);
    if (*link == NULL && a->n == DP_LIMIT_ATTACHED)
        return dp_error_limit(
            dp_fail(ctx, DP_ERESOURCE,
                    "'%s' cannot be attached: the tensor has %u, the limit (attached)", e->key,
                    a->n),
            "attached", DP_LIMIT_ATTACHED, a->n + 1);
    for_each_tensor(&e->value, fix_level, NULL);
    a->level = l.level > a->level ? l.level : a->level;
    *replaced = *link;
    a->n += *replaced == NULL;
    e->next = *replaced != NULL ? (*replaced)->next : NULL;
    *link = e;
    return 0;
}

/* Remove the entry of `key` from the list and return it; NULL: there is none.  Call with `lock`
 * held. */
static entry *entry_remove(dp_tensor *t, const char *key)
{
    attached *a = attached_of(t);
    entry **link = a != NULL ? entry_link(a, key) : NULL, *e = link != NULL ? *link : NULL;

    if (e != NULL) {
        *link = e->next;
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
        replaced = entry_remove(t, key);
    else
        rc = entry_insert(ctx, t, e, &replaced);
    pthread_mutex_unlock(&lock);
    if (rc < 0)
        entry_free(e);
    if (replaced != NULL)
        entry_free(replaced); /* without the lock: this may end tensors */
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
    const entry *e = *entry_link(attached_of(t), key);
    int rc = e != NULL ? dp_value_copy(ctx, &e->value, out) : 0;
    pthread_mutex_unlock(&lock);
    return rc;
}

/* Call with `lock` held. */
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
