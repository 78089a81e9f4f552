/* client_handles.c -- a hash table of the handles whose numbers the client of a session chooses,
 * and the errors of handles that have failed.  The caller holds session.lock. */
#include "client_handles.h"
#include <string.h>
#include <sys/random.h>

enum { FIRST_BUCKETS = 16 };

/* -- failures -- */

static char *append(char **end, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = memcpy(*end, text, bytes);

    *end += bytes;
    return copy;
}

failure *failure_new(const dp_error *err, const char *method, const char *request_id)
{
    size_t bytes = sizeof(failure) + strlen(err->message) + strlen(err->op) + strlen(err->key) +
                   strlen(method) + strlen(request_id) + 5; /* five NULs */
    failure *f = dp_malloc(bytes);

    if (f == NULL)
        return NULL;
    char *end = (char *)(f + 1);
    f->code = err->code;
    f->message = append(&end, err->message);
    f->op = append(&end, err->op);
    f->key = append(&end, err->key);
    f->method = append(&end, method);
    f->request_id = append(&end, request_id);
    atomic_init(&f->refs, 1);
    return f;
}

failure *failure_ref(failure *f)
{
    atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
    return f;
}

failure *failure_unref(failure *f)
{
    if (f != NULL && atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) == 1)
        dp_free(f);
    return NULL;
}

void failure_get(const failure *f, dp_error *err)
{
    dp_error_set(err, f->code, "%s", f->message);
    snprintf(err->op, sizeof(err->op), "%s", f->op);
    snprintf(err->key, sizeof(err->key), "%s", f->key);
}

/* -- the table -- */

static client_handle **bucket(const client_handles *h, uint64_t id)
{
    /* the upper half of the product depends on every bit of `id` */
    return &h->buckets[(id * h->multiplier >> 32) & (h->n_buckets - 1)];
}

client_handle *client_handles_find(const client_handles *h, uint64_t id)
{
    client_handle *e = h->n > 0 ? *bucket(h, id) : NULL;

    while (e != NULL && e->id != id)
        e = e->next_in_bucket;
    return e;
}

dp_tensor *client_handles_tensor(const client_handles *h, uint64_t id)
{
    const client_handle *e = client_handles_find(h, id);

    return e != NULL && e->tensor != NULL ? dp_tensor_ref(e->tensor) : NULL;
}

static void enter_bucket(client_handles *h, client_handle *e)
{
    client_handle **b = bucket(h, e->id);

    e->next_in_bucket = *b;
    *b = e;
}

/* Double the number of buckets, or allocate the first ones.  false: out of memory, and nothing has
 * changed. */
static bool more_buckets(client_handles *h)
{
    client_handle **old = h->buckets;
    size_t n_old = h->n_buckets, n = n_old > 0 ? 2 * n_old : FIRST_BUCKETS;
    client_handle **buckets = dp_calloc(n, sizeof(*buckets));

    if (buckets == NULL)
        return false;
    if (old == NULL && getrandom(&h->multiplier, sizeof(h->multiplier), 0) < 0)
        h->multiplier = nanos();
    h->multiplier |= 1;
    h->buckets = buckets;
    h->n_buckets = n;
    for (size_t i = 0; i < n_old; i++)
        for (client_handle *e = old[i], *next; e != NULL; e = next) {
            next = e->next_in_bucket;
            enter_bucket(h, e);
        }
    dp_free(old);
    return true;
}

static void list_append(client_handle_list *l, client_handle *e)
{
    e->older = l->newest;
    e->newer = NULL;
    *(l->newest != NULL ? &l->newest->newer : &l->oldest) = e;
    l->newest = e;
}

static void list_remove(client_handle_list *l, client_handle *e)
{
    *(e->older != NULL ? &e->older->newer : &l->oldest) = e->newer;
    *(e->newer != NULL ? &e->newer->older : &l->newest) = e->older;
}

client_handle *client_handles_add(client_handles *h, uint64_t id)
{
    client_handle *e = dp_malloc(sizeof(*e));

    /* a table that cannot grow only becomes slower; the first buckets are needed */
    if (e == NULL || (h->n >= h->n_buckets && !more_buckets(h) && h->buckets == NULL)) {
        dp_free(e);
        return NULL;
    }
    *e = (client_handle){.id = id};
    enter_bucket(h, e);
    list_append(&h->reachable, e);
    h->n++;
    return e;
}

dp_tensor *client_handles_remove(client_handles *h, client_handle *e)
{
    client_handle **p = bucket(h, e->id);
    dp_tensor *t = e->tensor;

    while (*p != e)
        p = &(*p)->next_in_bucket;
    *p = e->next_in_bucket;
    list_remove(e->failure != NULL ? &h->failed : &h->reachable, e);
    h->n--;
    h->n_failed -= e->failure != NULL;
    failure_unref(e->failure);
    dp_free(e);
    return t;
}

void client_handles_fail(client_handles *h, client_handle *e, failure *f)
{
    list_remove(&h->reachable, e);
    list_append(&h->failed, e);
    e->owner = 0;
    e->failure = f;
    if (++h->n_failed > LIMIT_SIZE(SESSION_FAILED))
        client_handles_remove(h, h->failed.oldest);
}

bool client_handles_take(client_handles *h, uint64_t id, dp_tensor **t)
{
    client_handle *e = client_handles_find(h, id);

    if (e == NULL || e->owner != 0)
        return false;
    *t = client_handles_remove(h, e);
    return true;
}

void release_tensor(dp_account *a, dp_tensor *t)
{
    if (t == NULL)
        return;
    dp_account_refund_tensor(a, DP_HOLDER_TENSORS, t);
    dp_account_refund(a, DP_HOLDER_TENSORS, 1, 0);
    dp_tensor_unref(t);
}

void client_handles_fini(client_handles *h, dp_account *a)
{
    while (h->reachable.oldest != NULL) {
        dp_tensor *t = client_handles_remove(h, h->reachable.oldest);
        if (t == NULL) /* the handle was only reserved */
            dp_account_refund(a, DP_HOLDER_TENSORS, 1, 0);
        release_tensor(a, t);
    }
    while (h->failed.oldest != NULL)
        client_handles_remove(h, h->failed.oldest);
    dp_free(h->buckets);
    *h = (client_handles){0};
}
