/* kept.c -- struct dpi_kept: the gradient of a tensor that is no leaf, but keeps its gradient
 * (retain.c).
 *
 * Both the tensor and its node refer to the dpi_kept.  When a recorded call writes the tensor in
 * place, the tensor becomes a return of that call's node, and its dpi_kept is added to this node's
 * list, too.  It stays in the list of the earlier node; `at` says which node is valid. */
#include "base/account.h"
#include "history.h"

/* -- one gradient -- */

/* Allocate memory that is charged as history: *out. */
static int alloc(dp_ctx *ctx, dp_account *a, size_t bytes, void **out)
{
    int rc = a != NULL ? dp_account_charge(a, DP_HOLDER_HISTORY, 0, bytes, &ctx->error) : 0;

    if (rc < 0 || (*out = dp_malloc(bytes)) != NULL)
        return rc;
    if (a != NULL)
        dp_account_refund(a, DP_HOLDER_HISTORY, 0, bytes);
    return dpi_no_memory(&ctx->error, "a gradient");
}

static void release(dp_account *a, size_t bytes, void *p)
{
    if (a != NULL)
        dp_account_refund(a, DP_HOLDER_HISTORY, 0, bytes);
    dp_free(p);
}

int dpi_kept_new(dp_ctx *ctx, dpi_kept **out)
{
    void *p = NULL;
    int rc = alloc(ctx, ctx->account, sizeof(**out), &p);

    *out = p;
    if (rc < 0)
        return rc;
    **out = (dpi_kept){.account = ctx->account != NULL ? dp_account_ref(ctx->account) : NULL};
    atomic_init(&(*out)->refs, 1);
    pthread_mutex_init(&(*out)->lock, NULL);
    return 0;
}

dpi_kept *dpi_kept_ref(dpi_kept *k)
{
    atomic_fetch_add_explicit(&k->refs, 1, memory_order_relaxed);
    return k;
}

void dpi_kept_unref(dpi_kept *k)
{
    if (atomic_fetch_sub_explicit(&k->refs, 1, memory_order_acq_rel) != 1)
        return;
    dp_account *a = k->account;
    dp_tensor_unref(k->grad);
    pthread_mutex_destroy(&k->lock);
    release(a, sizeof(*k), k);
    dp_account_close(a);
}

dp_tensor *dpi_kept_grad(dpi_kept *k)
{
    pthread_mutex_lock(&k->lock);
    dp_tensor *grad = k->grad != NULL ? dp_tensor_ref(k->grad) : NULL;
    pthread_mutex_unlock(&k->lock);
    return grad;
}

static void set(dpi_kept *k, dp_tensor *grad, bool if_alive)
{
    pthread_mutex_lock(&k->lock);
    if (if_alive && k->at == NULL) {
        pthread_mutex_unlock(&k->lock);
        return;
    }
    dp_tensor *previous = k->grad;
    k->grad = grad != NULL ? dp_tensor_ref(grad) : NULL;
    pthread_mutex_unlock(&k->lock);
    dp_tensor_unref(previous);
}

void dpi_kept_set(dpi_kept *k, dp_tensor *grad)
{
    set(k, grad, false);
}

void dpi_kept_store(dpi_kept *k, dp_tensor *grad)
{
    set(k, grad, true);
}

static void move(dpi_kept *k, const dpi_node *n, uint32_t nr)
{
    pthread_mutex_lock(&k->lock);
    k->at = n;
    k->nr = nr;
    pthread_mutex_unlock(&k->lock);
}

void dpi_kept_end(dpi_kept *k)
{
    move(k, NULL, 0);
    dpi_kept_set(k, NULL);
    dpi_kept_unref(k);
}

/* -- the list of each node -- */

int dpi_kept_follow(dp_ctx *ctx, dpi_kept *k, dpi_node *n, uint32_t nr)
{
    if (k == NULL)
        return 0;
    void *p;
    int rc = alloc(ctx, k->account, sizeof(dpi_kept_item), &p);
    if (rc < 0)
        return rc;
    dpi_kept_item *item = p;
    *item = (dpi_kept_item){atomic_load_explicit(&n->kept, memory_order_relaxed), dpi_kept_ref(k),
                            nr, NULL};
    while (!atomic_compare_exchange_weak_explicit(&n->kept, &item->next, item, memory_order_release,
                                                  memory_order_relaxed))
        ;
    move(k, n, nr);
    return 0;
}

dp_tensor *dpi_kept_pick(dpi_kept *k, const dpi_node *n, dp_tensor *const *grads)
{
    pthread_mutex_lock(&k->lock);
    dp_tensor *grad = k->at == n ? grads[k->nr] : NULL;
    pthread_mutex_unlock(&k->lock);
    return grad;
}

dpi_hooks *dpi_kept_hooks(const dpi_kept_item *i)
{
    pthread_mutex_lock(&i->kept->lock);
    dpi_hooks *h = i->kept->at != NULL ? dpi_hooks_ref(i->hooks) : NULL;
    pthread_mutex_unlock(&i->kept->lock);
    return h;
}

bool dpi_kept_hooks_replace(dpi_kept_item *i, const dpi_hooks *before, dpi_hooks *after)
{
    pthread_mutex_lock(&i->kept->lock);
    dpi_hooks *now = i->hooks;
    if (now == before)
        i->hooks = after;
    pthread_mutex_unlock(&i->kept->lock);
    if (now == before)
        dpi_hooks_unref(now);
    return now == before;
}

DPI_HOT void dpi_kept_items_free(dpi_kept_item *item)
{
    while (item != NULL) {
        dpi_kept_item *next = item->next;
        dpi_kept *k = item->kept;
        dpi_hooks_unref(item->hooks);
        release(k->account, sizeof(*item), item);
        dpi_kept_unref(k);
        item = next;
    }
}
