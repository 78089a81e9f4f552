/* cycle.c -- gradients that have history themselves, as backward with create_graph makes them.
 *
 * Such a gradient leads back to its leaf, which nobody can release then: leaf, gradient and graph
 * refer to each other in a cycle.  Each account lists the leaves that got such gradients, so that
 * the end of a session breaks its cycles. */
#include "base/account.h"
#include "history.h"

void dpi_cycle_add(dp_ctx *ctx, dpi_meta *m)
{
    dp_account *a = ctx->account;

    if (a == NULL)
        return;
    pthread_mutex_lock(&a->cycles_lock);
    if (m->listed == NULL) {
        m->listed = dp_account_ref(a);
        m->next = a->cycles;
        m->link = &a->cycles;
        if (m->next != NULL)
            m->next->link = &m->next;
        a->cycles = m;
    }
    pthread_mutex_unlock(&a->cycles_lock);
}

/* Take `m` out of its list, which is locked, if it is still there. */
static void unlist(dpi_meta *m)
{
    if (m->link == NULL)
        return;
    *m->link = m->next;
    if (m->next != NULL)
        m->next->link = m->link;
    m->link = NULL;
}

void dpi_cycle_end(dpi_meta *m)
{
    dp_account *a = m->listed;

    if (a == NULL)
        return;
    pthread_mutex_lock(&a->cycles_lock);
    unlist(m);
    pthread_mutex_unlock(&a->cycles_lock);
    dp_account_close(a);
}

void dp_grad_end(dp_account *a)
{
    for (;;) {
        dp_tensor *grad = NULL;
        dpi_kept *kept = NULL;
        pthread_mutex_lock(&a->cycles_lock);
        dpi_meta *m = a->cycles;
        if (m != NULL) {
            unlist(m);
            grad = m->grad;
            m->grad = NULL;
            kept = m->kept != NULL ? dpi_kept_ref(m->kept) : NULL;
        }
        pthread_mutex_unlock(&a->cycles_lock);
        dp_tensor_unref(grad); /* and with it, perhaps, the leaf */
        if (kept != NULL) {
            dpi_kept_set(kept, NULL);
            dpi_kept_unref(kept);
        }
        if (m == NULL)
            return;
    }
}
