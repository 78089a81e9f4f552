/* hook_list.c -- the list of a tensor's hooks (hook.c). */
#include "base/account.h"
#include "history.h"

dpi_hooks *dpi_hooks_ref(dpi_hooks *h)
{
    if (h != NULL)
        atomic_fetch_add_explicit(&h->refs, 1, memory_order_relaxed);
    return h;
}

void dpi_hooks_unref(dpi_hooks *h)
{
    if (h == NULL || atomic_fetch_sub_explicit(&h->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (uint32_t i = 0; i < h->n; i++)
        dpi_watcher_unref(h->of[i].watcher);
    if (h->account != NULL)
        dp_account_refund(h->account, DP_HOLDER_HISTORY, 0, h->bytes);
    dp_account_close(h->account);
    dp_free(h);
}

uint32_t dpi_hooks_ops(const dpi_hooks *h)
{
    uint32_t n = 0;

    for (uint32_t i = 0; h != NULL && i < h->n; i++)
        n += h->of[i].op != NULL;
    return n;
}

/* Does `i` stay in the list that `change` makes? */
static bool stays(const dpi_hook *i, const dpi_hooks_change *change)
{
    if (i->op != NULL)
        return !change->drop_ops;
    return i->watcher != change->drop && i->watcher != change->add.watcher &&
           !dpi_watcher_ended(i->watcher);
}

/* Check that the hook to add is not one too many.  `same`: hooks of its kind in the new list. */
static int check_number(dp_ctx *ctx, const dpi_hook *add, uint32_t same)
{
    if (same < DP_LIMIT_HOOKS)
        return 0;
    return dp_error_limit(dp_error_set(&ctx->error, DP_ERESOURCE,
                                       "the tensor has %u %s already (hooks)", same,
                                       add->op != NULL ? "hooks" : "watchers"),
                          "hooks", DP_LIMIT_HOOKS, same + (uint64_t)1);
}

/* Allocate a list with room for `most` hooks. */
static int alloc(dp_ctx *ctx, uint32_t most, dpi_hooks **out)
{
    size_t bytes = sizeof(dpi_hooks) + dp_size_times(most, sizeof(dpi_hook));
    dp_account *a = ctx->account;
    int rc = a != NULL ? dp_account_charge(a, DP_HOLDER_HISTORY, 0, bytes, &ctx->error) : 0;

    if (rc < 0)
        return rc;
    dpi_hooks *h = dp_malloc(bytes);
    if (h == NULL) {
        if (a != NULL)
            dp_account_refund(a, DP_HOLDER_HISTORY, 0, bytes);
        return dpi_no_memory(&ctx->error, "a hook");
    }
    *h = (dpi_hooks){.account = a != NULL ? dp_account_ref(a) : NULL, .bytes = bytes};
    atomic_init(&h->refs, 1);
    *out = h;
    return 0;
}

int dpi_hooks_new(dp_ctx *ctx, const dpi_hooks *before, const dpi_hooks_change *change,
                  dpi_hooks **out)
{
    const dpi_hook *add = &change->add;
    const bool adds = add->op != NULL || add->watcher != NULL;
    uint32_t n = 0, same = 0;
    dpi_hooks *h = NULL;

    for (uint32_t i = 0; before != NULL && i < before->n; i++)
        if (stays(&before->of[i], change)) {
            n++;
            same += (before->of[i].op != NULL) == (add->op != NULL);
        }
    int rc = adds ? check_number(ctx, add, same) : 0;
    *out = NULL;
    if (rc < 0 || n + adds == 0 || (rc = alloc(ctx, n + adds, &h)) < 0)
        return rc;
    /* a watcher may have ended since the hooks were counted, so there can be fewer now */
    for (uint32_t i = 0; before != NULL && i < before->n; i++)
        if (stays(&before->of[i], change))
            h->of[h->n++] = before->of[i];
    if (adds)
        h->of[h->n++] = *add;
    for (uint32_t i = 0; i < h->n; i++)
        if (h->of[i].watcher != NULL)
            dpi_watcher_ref(h->of[i].watcher);
    *out = h;
    return 0;
}
