/* names.c -- tensors with a name, which belong to a uid and outlive the sessions that made them.
 *
 * Each uid has an account for them (user.named), because nobody else can pay for a named tensor
 * after its session has ended.  The account is in no group: the limit `uid_named_bytes` stands
 * beside `uid_bytes`.  The account's holder DP_HOLDER_NAMES stands before the sessions' holders in
 * DP_HOLDER_MAP, so it takes the charge over from the session that had it.  When the last name of a
 * storage is removed while a session still has a handle on it, the charge moves to
 * DP_HOLDER_INTERMEDIATES of the same account.  The limit of a uid's bytes therefore applies to the
 * sum of both; otherwise a session could use any amount of memory by naming and unlinking tensors.
 *
 * Every function may be called on any thread.  `sessions.lock` is not held while the reference to a
 * tensor is dropped, because freeing a tensor may take long. */
#include "session.h"
#include <string.h>

enum { SHOWN = 100 }; /* most characters of a name in an error message */

void names_drop(user *u)
{
    for (size_t i = 0; i < u->n_names; i++) {
        dp_account_refund_tensor(u->named, DP_HOLDER_NAMES, u->names[i].tensor);
        dp_account_refund(u->named, DP_HOLDER_NAMES, 1, 0);
        dp_tensor_unref(u->names[i].tensor);
        dp_free(u->names[i].name);
    }
    dp_free(u->names);
    u->names = NULL;
    u->n_names = u->cap_names = 0;
}

/* -- the names of one uid; the caller holds sessions.lock -- */

/* Return the index of `name`, or the index at which it would have to be inserted. */
static size_t find(const user *u, const char *name, bool *found)
{
    size_t low = 0, high = u->n_names;

    *found = false;
    while (low < high && !*found) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(u->names[middle].name, name);
        *found = order == 0;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return high;
}

static bool has_storage(const user *u, uint64_t storage)
{
    for (size_t i = 0; i < u->n_names; i++)
        if (dp_tensor_storage_id(u->names[i].tensor) == storage)
            return true;
    return false;
}

/* Check that the storage of `t` fits the limit of the uid's bytes: see the head of this file. */
static int check_bytes(const user *u, const dp_tensor *t, uint64_t most, dp_error *err)
{
    dp_usage usage[DP_HOLDERS];
    uint64_t bytes = dp_tensor_is_memoryless(t) ? 0 : dp_tensor_storage_bytes(t);

    dp_account_usage(u->named, usage);
    uint64_t named = usage[DP_HOLDER_NAMES].bytes, unlinked = usage[DP_HOLDER_INTERMEDIATES].bytes;
    uint64_t sum = dp_size_plus(named, unlinked);
    if (bytes <= (sum < most ? most - sum : 0) || has_storage(u, dp_tensor_storage_id(t)))
        return 0;
    return dp_error_limit(
        dp_error_set(err, DP_ERESOURCE,
                     "uid %ld has %llu bytes of named tensors and %llu of unlinked ones that "
                     "are still in use: %llu more exceed %llu (uid_named_bytes)",
                     (long)u->uid, (unsigned long long)named, (unsigned long long)unlinked,
                     (unsigned long long)bytes, (unsigned long long)most),
        "uid_named_bytes", most, bytes);
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
static int insert(user *u, size_t at, char *name, dp_tensor *t, dp_error *err)
{
    named_tensor *names =
        name != NULL ? array_grow(u->names, u->n_names, &u->cap_names, sizeof(*names)) : NULL;

    if (names == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: a name");
    u->names = names;
    int rc = check_bytes(u, t, u->all->limits[DP_HOLDER_NAMES].bytes, err);
    if (rc == 0)
        rc = dp_account_charge(u->named, DP_HOLDER_NAMES, 1, 0, err);
    if (rc < 0)
        return rc;
    rc = dp_account_charge_tensor(u->named, DP_HOLDER_NAMES, t, err);
    if (rc < 0) {
        dp_account_refund(u->named, DP_HOLDER_NAMES, 1, 0);
        return rc;
    }
    dp_move_n(names + at + 1, names + at, u->n_names - at, sizeof(*names));
    names[at] = (named_tensor){name, dp_tensor_ref(t)};
    u->n_names++;
    return 0;
}

int names_add(user *u, const char *name, dp_tensor *t, dp_error *err)
{
    char *own = dp_strdup(name);
    bool found;

    pthread_mutex_lock(&u->all->lock);
    size_t at = find(u, name, &found);
    int rc = found ? fail_taken(&u->names[at], err) : insert(u, at, own, t, err);
    pthread_mutex_unlock(&u->all->lock);
    if (rc < 0)
        dp_free(own);
    return rc;
}

dp_tensor *names_get(user *u, const char *name)
{
    bool found;

    pthread_mutex_lock(&u->all->lock);
    size_t at = find(u, name, &found);
    dp_tensor *t = found ? dp_tensor_ref(u->names[at].tensor) : NULL;
    pthread_mutex_unlock(&u->all->lock);
    return t;
}

dp_tensor *names_take(user *u, const char *name)
{
    named_tensor taken = {NULL, NULL};
    bool found;

    pthread_mutex_lock(&u->all->lock);
    size_t at = find(u, name, &found);
    if (found) {
        taken = u->names[at];
        u->n_names--;
        dp_move_n(u->names + at, u->names + at + 1, u->n_names - at, sizeof(*u->names));
        dp_account_refund_tensor(u->named, DP_HOLDER_NAMES, taken.tensor);
        dp_account_refund(u->named, DP_HOLDER_NAMES, 1, 0);
    }
    pthread_mutex_unlock(&u->all->lock);
    dp_free(taken.name);
    return taken.tensor;
}

dp_tensor *names_next(user *u, char name[LIMIT_TENSOR_NAME_BYTES + 1])
{
    dp_tensor *t = NULL;
    bool found;

    pthread_mutex_lock(&u->all->lock);
    size_t at = find(u, name, &found);
    at += found;
    if (at < u->n_names) {
        snprintf(name, LIMIT_TENSOR_NAME_BYTES + 1, "%s", u->names[at].name);
        t = dp_tensor_ref(u->names[at].tensor);
    }
    pthread_mutex_unlock(&u->all->lock);
    return t;
}

void names_usage(const user *u, dp_usage out[DP_HOLDERS])
{
    dp_account_usage(u->named, out);
    /* Add unlinked bytes to the tensors, among which a session counts the handle that uses them. */
    out[DP_HOLDER_TENSORS].bytes += out[DP_HOLDER_INTERMEDIATES].bytes;
    out[DP_HOLDER_INTERMEDIATES].bytes = 0;
}
