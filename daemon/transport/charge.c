/* charge.c -- charges the session of a connection for the requests that the connection reads, and
 * for those that are read and not answered yet.
 *
 * Charged are the buffer of received bytes, attachments, from the line that announces them, and the
 * lines and attachments of outstanding requests.  The first FREE_BYTES of a connection are not
 * charged: with short requests, nothing is done here. */
#include "server.h"
#include "transport/parts.h"

enum { FREE_BYTES = 128 << 10 };

/* Refund what is charged beyond `bytes`. */
static void refund_to(struct connection *c, size_t bytes)
{
    dp_account_refund(c->paid_by, DP_HOLDER_INTERMEDIATES, 0, c->charged_bytes - bytes);
    c->charged_bytes = bytes;
    if (bytes == 0)
        c->paid_by = dp_account_close(c->paid_by);
}

/* Charge up to `bytes` in all. */
static int charge_to(struct connection *c, size_t bytes, bool anyway, dp_error *err)
{
    size_t more = bytes - c->charged_bytes;

    if (c->paid_by == NULL) {
        pthread_mutex_lock(&c->server->executor.lock); /* it protects c->session */
        if (c->session != NULL)
            c->paid_by = dp_account_ref(session_account(c->session));
        pthread_mutex_unlock(&c->server->executor.lock);
        if (c->paid_by == NULL)
            return 0; /* the connection is closed */
    }
    if (anyway)
        dp_account_charge_anyway(c->paid_by, DP_HOLDER_INTERMEDIATES, more);
    else if (dp_account_charge(c->paid_by, DP_HOLDER_INTERMEDIATES, 0, more, err) < 0) {
        if (c->charged_bytes == 0)
            c->paid_by = dp_account_close(c->paid_by);
        return err->code;
    }
    c->charged_bytes = bytes;
    return 0;
}

int connection_charge(struct connection *c, size_t coming, bool anyway, dp_error *err)
{
    size_t bytes = dp_size_plus(c->frame.cap + c->outstanding_bytes, coming);

    bytes = dp_size_plus(bytes, c->frame.body != NULL ? c->frame.body_bytes : 0);
    if (bytes <= FREE_BYTES)
        bytes = 0;
    if (bytes > c->charged_bytes)
        return charge_to(c, bytes, anyway, err);
    if (bytes < c->charged_bytes)
        refund_to(c, bytes);
    return 0;
}

void connection_discharge(struct connection *c)
{
    if (c->charged_bytes > 0)
        refund_to(c, 0);
}
