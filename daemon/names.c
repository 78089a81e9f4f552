/* names.c -- tensors with a name, which belong to a uid and outlive the sessions that made them.
 *
 * Each uid has an account of its own, because nobody else can pay for a named tensor after its
 * session has ended.  The account's holder DP_HOLDER_NAMES stands before the sessions' holders in
 * DP_HOLDER_MAP, so it takes the charge over from the session that had it.  When the last name of a
 * storage is removed while a session still has a handle on it, the charge moves to
 * DP_HOLDER_INTERMEDIATES of the same account.  The limit of a uid's bytes therefore applies to the
 * sum of both; otherwise a session could use any amount of memory by naming and unlinking tensors.
 *
 * Every function may be called on any thread.  `names.lock` is not held while the reference to a
 * tensor is dropped, because freeing a tensor may take long. */
#include "names.h"
#include "session.h"
#include <string.h>

enum { SHOWN = 100 }; /* most characters of a name in an error message */

void names_init(name_table *all, const int64_t *limits)
{
    dp_holder_limit every[DP_HOLDERS];

    *all = (name_table){0};
    sessions_holder_limits(limits, every);
    all->limits[DP_HOLDER_NAMES] = every[DP_HOLDER_NAMES];
    pthread_mutex_init(&all->lock, NULL);
}

void names_limits(name_table *all, const int64_t *limits)
{
    dp_holder_limit *now = &all->limits[DP_HOLDER_NAMES];

    pthread_mutex_lock(&all->lock);
    __atomic_store_n(&now->count, (uint64_t)limits[LIMIT_AT_UID_NAMES], __ATOMIC_RELAXED);
    __atomic_store_n(&now->bytes, (uint64_t)limits[LIMIT_AT_UID_NAMED_BYTES], __ATOMIC_RELAXED);
    for (size_t i = 0; i < all->n; i++)
        dp_account_limits_changed(all->uids[i]->account);
    pthread_mutex_unlock(&all->lock);
}

static void uid_free(uid_names *u)
{
    for (size_t i = 0; i < u->n; i++) {
        dp_account_refund_tensor(u->account, DP_HOLDER_NAMES, u->items[i].tensor);
        dp_tensor_unref(u->items[i].tensor);
        dp_free(u->items[i].name);
    }
    dp_free(u->items);
    dp_account_close(u->account);
    dp_free(u);
}

void names_fini(name_table *all)
{
    for (size_t i = 0; i < all->n; i++)
        uid_free(all->uids[i]);
    dp_free(all->uids);
    pthread_mutex_destroy(&all->lock);
}

/* -- the table; the caller holds names.lock -- */

static uid_names *find_uid(const name_table *all, uid_t uid)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->uids[i]->uid == uid)
            return all->uids[i];
    return NULL;
}

/* Return the names of `uid`, which are created if necessary; NULL: out of memory. */
static uid_names *make_uid(name_table *all, uid_t uid, dp_error *err)
{
    uid_names *u = find_uid(all, uid);

    if (u != NULL)
        return u;
    uid_names **uids = array_grow(all->uids, all->n, &all->cap, sizeof(*uids));
    if (uids != NULL)
        all->uids = uids;
    u = uids != NULL ? dp_calloc(1, sizeof(*u)) : NULL;
    if (u == NULL)
        dp_error_set(err, DP_ERESOURCE, "out of memory: the names of uid %ld", (long)uid);
    if (u == NULL || dp_account_new(all->limits, &u->account, err) < 0) {
        dp_free(u);
        return NULL;
    }
    u->uid = uid;
    all->uids[all->n++] = u;
    return u;
}

/* Return the index of `name`, or the index at which it would have to be inserted. */
static size_t find(const uid_names *u, const char *name, bool *found)
{
    size_t low = 0, high = u->n;

    *found = false;
    while (low < high && !*found) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(u->items[middle].name, name);
        *found = order == 0;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return high;
}

static bool has_storage(const uid_names *u, uint64_t storage)
{
    for (size_t i = 0; i < u->n; i++)
        if (dp_tensor_storage_id(u->items[i].tensor) == storage)
            return true;
    return false;
}

/* Check that the storage of `t` fits the limit of the uid's bytes: see the head of this file. */
static int check_bytes(const uid_names *u, const dp_tensor *t, uint64_t most, dp_error *err)
{
    dp_usage usage[DP_HOLDERS];
    uint64_t bytes = dp_tensor_is_memoryless(t) ? 0 : dp_tensor_storage_bytes(t);

    dp_account_usage(u->account, usage);
    uint64_t named = usage[DP_HOLDER_NAMES].bytes, unlinked = usage[DP_HOLDER_INTERMEDIATES].bytes;
    uint64_t sum = dp_size_plus(named, unlinked);
    if (bytes <= (sum < most ? most - sum : 0) || has_storage(u, dp_tensor_storage_id(t)))
        return 0;
    return dp_error_set(err, DP_ERESOURCE,
                        "uid %ld has %llu bytes of named tensors and %llu of unlinked ones that "
                        "are still in use: %llu more exceed %llu (uid_named_bytes)",
                        (long)u->uid, (unsigned long long)named, (unsigned long long)unlinked,
                        (unsigned long long)bytes, (unsigned long long)most);
}

static int fail_taken(const named_tensor *taken, dp_error *err)
{
    char shape[DP_SHAPE_TEXT];

    DP_VIEW(v, taken->tensor);
    return dp_error_set(err, DP_EEXISTS,
                        "the name '%.*s' is taken by a tensor of dtype %s and shape %s: choose "
                        "another name, or free this one with tensor.unlink",
                        SHOWN, taken->name, dp_dtype_name(v.dtype),
                        dp_shape_text(shape, v.sizes, (size_t)v.ndim));
}

/* Insert `name`, which is owned by `u` on success, at index `at`. */
static int insert(uid_names *u, const name_table *all, size_t at, char *name, dp_tensor *t,
                  dp_error *err)
{
    named_tensor *items = name != NULL ? array_grow(u->items, u->n, &u->cap, sizeof(*items)) : NULL;

    if (items == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: a name");
    u->items = items;
    int rc = check_bytes(u, t, all->limits[DP_HOLDER_NAMES].bytes, err);
    if (rc == 0)
        rc = dp_account_charge(u->account, DP_HOLDER_NAMES, 1, 0, err);
    if (rc < 0)
        return rc;
    rc = dp_account_charge_tensor(u->account, DP_HOLDER_NAMES, t, err);
    if (rc < 0) {
        dp_account_refund(u->account, DP_HOLDER_NAMES, 1, 0);
        return rc;
    }
    dp_move_n(items + at + 1, items + at, u->n - at, sizeof(*items));
    items[at] = (named_tensor){name, dp_tensor_ref(t)};
    u->n++;
    return 0;
}

int names_add(name_table *all, uid_t uid, const char *name, dp_tensor *t, dp_error *err)
{
    char *own = dp_strdup(name);
    bool found = false;

    pthread_mutex_lock(&all->lock);
    uid_names *u = make_uid(all, uid, err);
    int rc = u != NULL ? 0 : DP_ERESOURCE;
    if (rc == 0) {
        size_t at = find(u, name, &found);
        rc = found ? fail_taken(&u->items[at], err) : insert(u, all, at, own, t, err);
    }
    pthread_mutex_unlock(&all->lock);
    if (rc < 0)
        dp_free(own);
    return rc;
}

dp_tensor *names_get(name_table *all, uid_t uid, const char *name)
{
    bool found = false;
    size_t at = 0;

    pthread_mutex_lock(&all->lock);
    const uid_names *u = find_uid(all, uid);
    if (u != NULL)
        at = find(u, name, &found);
    dp_tensor *t = found ? dp_tensor_ref(u->items[at].tensor) : NULL;
    pthread_mutex_unlock(&all->lock);
    return t;
}

dp_tensor *names_take(name_table *all, uid_t uid, const char *name)
{
    named_tensor taken = {NULL, NULL};
    bool found = false;
    size_t at = 0;

    pthread_mutex_lock(&all->lock);
    uid_names *u = find_uid(all, uid);
    if (u != NULL)
        at = find(u, name, &found);
    if (found) {
        taken = u->items[at];
        u->n--;
        dp_move_n(u->items + at, u->items + at + 1, u->n - at, sizeof(*u->items));
        dp_account_refund_tensor(u->account, DP_HOLDER_NAMES, taken.tensor);
        dp_account_refund(u->account, DP_HOLDER_NAMES, 1, 0);
    }
    pthread_mutex_unlock(&all->lock);
    dp_free(taken.name);
    return taken.tensor;
}

dp_tensor *names_next(name_table *all, uid_t uid, char name[LIMIT_TENSOR_NAME_BYTES + 1])
{
    dp_tensor *t = NULL;
    bool found = false;

    pthread_mutex_lock(&all->lock);
    const uid_names *u = find_uid(all, uid);
    size_t at = u != NULL ? find(u, name, &found) : 0;
    at += found;
    if (u != NULL && at < u->n) {
        snprintf(name, LIMIT_TENSOR_NAME_BYTES + 1, "%s", u->items[at].name);
        t = dp_tensor_ref(u->items[at].tensor);
    }
    pthread_mutex_unlock(&all->lock);
    return t;
}

void names_of_uid(name_table *all, uid_t uid, dp_usage *named, dp_usage *unlinked)
{
    dp_usage usage[DP_HOLDERS] = {{0, 0}};

    pthread_mutex_lock(&all->lock);
    const uid_names *u = find_uid(all, uid);
    if (u != NULL)
        dp_account_usage(u->account, usage);
    pthread_mutex_unlock(&all->lock);
    *named = usage[DP_HOLDER_NAMES];
    *unlinked = usage[DP_HOLDER_INTERMEDIATES];
}

void names_usage(name_table *all, const struct session *asker, dp_usage out[DP_HOLDERS])
{
    dp_usage usage[DP_HOLDERS];

    pthread_mutex_lock(&all->lock);
    for (size_t i = 0; i < all->n; i++) {
        if (!session_may_see(asker, all->uids[i]->uid))
            continue;
        dp_account_usage(all->uids[i]->account, usage);
        for (int h = 0; h < DP_HOLDERS; h++) {
            out[h].count += usage[h].count;
            out[h].bytes += usage[h].bytes;
        }
    }
    pthread_mutex_unlock(&all->lock);
}
