/* gradients.c -- remembers which gradients were computed, for connections that asked by grad.watch.
 *
 * A backward never waits for a client: the thread that runs it writes the tensor's handle into a
 * ring of the connection, and the main thread sends it (notify.c).  At most LIMIT_WATCH_CHANGES
 * notifications wait to be sent, and WAITING_MOST handles behind them.  When the ring is full, the
 * oldest handle is dropped, and the next notification has the number of those dropped before it. */
#include "server.h"
#include "transport/parts.h"
#include <dispatchd/grad.h>

enum { WAITING_MOST = 64 };

struct gradient_notices {
    server *server;
    dp_grad_watcher *watcher;       /* owned; NULL: none since the connection joined its session */
    pthread_mutex_t lock;           /* protects the members below */
    uint64_t handles[WAITING_MOST]; /* ring: [n] from index `first` on, oldest first */
    unsigned first, n;
    uint64_t dropped; /* handles that were dropped before the oldest one in the ring */
};

typedef struct gradient_notices gradient_notices;

/* A backward has computed the gradient of the tensor with this handle.  Any thread. */
static void computed(void *arg, uint64_t name)
{
    gradient_notices *g = arg;

    pthread_mutex_lock(&g->lock);
    if (g->n == WAITING_MOST) {
        g->first = (g->first + 1) % WAITING_MOST;
        g->n--;
        g->dropped++;
    }
    g->handles[(g->first + g->n++) % WAITING_MOST] = name;
    pthread_mutex_unlock(&g->lock);
    if (!atomic_exchange(&g->server->gradients_due, true))
        uv_async_send(&g->server->async);
}

struct dp_grad_watcher *connection_watch_gradients(struct connection *c)
{
    /* the requests of a connection run one after another, so no other thread makes these */
    gradient_notices *g = atomic_load(&c->gradients);

    if (g == NULL) {
        if ((g = dp_calloc(1, sizeof(*g))) == NULL)
            return NULL;
        pthread_mutex_init(&g->lock, NULL);
        g->server = c->server;
        atomic_store(&c->gradients, g);
    }
    if (g->watcher == NULL)
        g->watcher = dp_grad_watcher_new(computed, g);
    return g->watcher;
}

void connection_forget_gradients(struct connection *c)
{
    gradient_notices *g = atomic_load(&c->gradients);

    if (g == NULL)
        return;
    /* not under the lock, for which computed() may wait */
    g->watcher = dp_grad_watcher_end(g->watcher);
    pthread_mutex_lock(&g->lock);
    g->n = 0;
    g->dropped = 0;
    pthread_mutex_unlock(&g->lock);
}

void connection_free_gradients(struct connection *c)
{
    gradient_notices *g = atomic_load(&c->gradients);

    if (g == NULL)
        return;
    connection_forget_gradients(c);
    pthread_mutex_destroy(&g->lock);
    dp_free(g);
}

bool connection_take_gradient(struct connection *c, uint64_t *tensor, uint64_t *dropped)
{
    gradient_notices *g = atomic_load(&c->gradients);

    if (g == NULL)
        return false;
    pthread_mutex_lock(&g->lock);
    bool found = g->n > 0;
    if (found) {
        *tensor = g->handles[g->first];
        *dropped = g->dropped;
        g->first = (g->first + 1) % WAITING_MOST;
        g->n--;
        g->dropped = 0;
    }
    pthread_mutex_unlock(&g->lock);
    return found;
}

void connection_drop_gradients(struct connection *c, uint64_t n)
{
    gradient_notices *g = atomic_load(&c->gradients);

    pthread_mutex_lock(&g->lock);
    g->dropped += n;
    pthread_mutex_unlock(&g->lock);
}
