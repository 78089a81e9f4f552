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
    if (h->account != NULL)
        dp_account_refund(h->account, DP_HOLDER_HISTORY, 0, h->bytes);
    dp_account_close(h->account);
    dp_free(h);
}

int dpi_hooks_new(dp_ctx *ctx, const dpi_hooks *before, const dp_op *op, dpi_hooks **out)
{
    uint32_t n = before != NULL ? before->n : 0;
    size_t bytes = sizeof(dpi_hooks) + dp_size_times(n + (uint64_t)1, sizeof(op));
    dp_account *a = ctx->account;

    if (n >= DP_LIMIT_HOOKS)
        return dp_error_limit(
            dp_error_set(&ctx->error, DP_ERESOURCE, "the tensor has %u hooks already (hooks)", n),
            "hooks", DP_LIMIT_HOOKS, n + (uint64_t)1);
    int rc = a != NULL ? dp_account_charge(a, DP_HOLDER_HISTORY, 0, bytes, &ctx->error) : 0;
    if (rc < 0)
        return rc;
    dpi_hooks *h = dp_malloc(bytes);
    if (h == NULL) {
        if (a != NULL)
            dp_account_refund(a, DP_HOLDER_HISTORY, 0, bytes);
        return dpi_no_memory(&ctx->error, "a hook");
    }
    *h = (dpi_hooks){.n = n + 1, .account = a != NULL ? dp_account_ref(a) : NULL, .bytes = bytes};
    atomic_init(&h->refs, 1);
    for (uint32_t i = 0; i < n; i++)
        h->ops[i] = before->ops[i];
    h->ops[n] = op;
    *out = h;
    return 0;
}
