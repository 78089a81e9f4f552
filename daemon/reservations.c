/* reservations.c -- what becomes of the handles that a client chooses for the outputs of a request.
 *
 * A request first reserves the numbers in its param "into", so that numbers that are taken are an
 * error before an operator runs.  Then it puts its outputs there, or the numbers become failed.
 * Reserved and live numbers are charged to the session like handles that the daemon chooses.  Every
 * function may be called on any thread. */
#include "session.h"

static int fail_taken(const client_handle *e, uint64_t owner, dp_error *err)
{
    const char *why = e->failure != NULL  ? "has failed and was not released"
                      : e->tensor != NULL ? "names a tensor that was not released"
                      : e->owner == owner ? "is given to two outputs"
                                          : "is reserved by a request that runs";

    return dp_error_set(err, DP_EEXISTS, "handle %lld %s", (long long)e->id, why);
}

/* Reserve `id`.  The caller holds session.lock. */
static int reserve(struct session *s, uint64_t id, uint64_t owner, dp_error *err)
{
    client_handle *e = client_handles_find(&s->client_handles, id);

    if (e != NULL)
        return fail_taken(e, owner, err);
    int rc = dp_account_charge(s->account, DP_HOLDER_TENSORS, 1, 0, err);
    if (rc < 0)
        return rc;
    e = client_handles_add(&s->client_handles, id);
    if (e == NULL) {
        dp_account_refund(s->account, DP_HOLDER_TENSORS, 1, 0);
        return dp_error_set(err, DP_ERESOURCE, "out of memory: handle %lld", (long long)id);
    }
    e->owner = owner;
    return 0;
}

int session_reserve(struct session *s, uint64_t id, uint64_t owner, dp_error *err)
{
    pthread_mutex_lock(&s->lock);
    int rc = reserve(s, id, owner, err);
    pthread_mutex_unlock(&s->lock);
    return rc;
}

int session_put_at(struct session *s, dp_tensor *t, uint64_t id, uint64_t owner, dp_error *err)
{
    pthread_mutex_lock(&s->lock);
    client_handle *e = client_handles_find(&s->client_handles, id);
    int rc = e != NULL && e->owner == owner
                 ? dp_account_charge_tensor(s->account, DP_HOLDER_TENSORS, t, err)
                 : dp_error_set(err, DP_ENOTFOUND, "handle %lld is not reserved", (long long)id);
    if (rc == 0) {
        e->owner = 0;
        e->tensor = dp_tensor_ref(t);
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
}

void session_unreserve(struct session *s, uint64_t id, uint64_t owner)
{
    pthread_mutex_lock(&s->lock);
    client_handle *e = client_handles_find(&s->client_handles, id);
    if (e != NULL && e->owner == owner) {
        client_handles_remove(&s->client_handles, e);
        dp_account_refund(s->account, DP_HOLDER_TENSORS, 1, 0);
    }
    pthread_mutex_unlock(&s->lock);
}

void session_fail(struct session *s, uint64_t id, uint64_t owner, failure *f)
{
    pthread_mutex_lock(&s->lock);
    client_handle *e = client_handles_find(&s->client_handles, id);
    if (e == NULL)
        e = client_handles_add(&s->client_handles, id);
    else if (owner != 0 && e->owner == owner)
        dp_account_refund(s->account, DP_HOLDER_TENSORS, 1, 0);
    else
        e = NULL;
    if (e != NULL)
        client_handles_fail(&s->client_handles, e, failure_ref(f));
    pthread_mutex_unlock(&s->lock);
}

failure *session_failure(struct session *s, uint64_t id)
{
    pthread_mutex_lock(&s->lock);
    const client_handle *e = client_handles_find(&s->client_handles, id);
    failure *f = e != NULL && e->failure != NULL ? failure_ref(e->failure) : NULL;
    pthread_mutex_unlock(&s->lock);
    return f;
}
