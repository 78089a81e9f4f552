/* notify.c -- sends notifications to the connections that asked for them: about changes of the
 * registry, and about gradients (gradients.c).
 *
 * A notification waits behind the answers of its connection that are complete, so it never stands
 * inside an answer.  At most LIMIT_WATCH_CHANGES wait for one client; of further changes only the
 * newest is kept, and is sent, with the number of those that it stands for, once the client has
 * read everything before. */
#include "methods/methods.h"
#include "server.h"
#include "transport/parts.h"

static void write_change(jw *w, const change *e)
{
    notification_begin(w, "registry.changed");
    jw_object(w);
    member_str(w, "plugin", e->plugin);
    member_int(w, "generation", (int64_t)e->generation);
    member_int(w, "added", e->added);
    member_int(w, "removed", e->removed);
    if (e->dropped > 0)
        member_int(w, "dropped", (int64_t)e->dropped);
    jw_object_end(w);
    notification_end(w);
}

/* Queue the notification about `e`.  false: out of memory. */
static bool send_change(struct connection *c, const change *e)
{
    jw line;

    jw_init(&line);
    write_change(&line, e);
    return connection_queue_notice(c, &line);
}

/* Keep `e` until the client has read: it replaces the change that is kept. */
static void keep(struct connection *c, const change *e)
{
    uint64_t dropped = c->has_kept ? c->kept.dropped + 1 : 0;

    c->kept = *e;
    c->kept.dropped += dropped;
    c->has_kept = true;
}

void connection_send_kept(struct connection *c)
{
    if (c->closed || !atomic_load(&c->watching))
        c->has_kept = false;
    else if (c->has_kept)
        c->has_kept = !send_change(c, &c->kept);
}

static void notify(struct connection *c, const change *e)
{
    if (!atomic_load(&c->watching) || c->shut || e->number <= atomic_load(&c->watches_after))
        return;
    if (c->has_kept || c->notices >= LIMIT(WATCH_CHANGES) || !send_change(c, e))
        keep(c, e);
    if (c->notices == 0) /* there was no memory: try once more */
        connection_send_kept(c);
}

static void notify_changes(struct server *s)
{
    change waiting[CHANGES_WAITING];
    size_t n = changes_take(&s->changes, waiting);

    for (struct connection *c = n > 0 ? s->connections : NULL, *next; c != NULL; c = next) {
        next = c->next; /* settle() may close `c`, but never another connection */
        if (!atomic_load(&c->watching))
            continue;
        c->refs++;
        for (size_t i = 0; i < n; i++)
            notify(c, &waiting[i]);
        connection_begin_turn(c);
        c->settle(c);
        connection_unref(c);
    }
}

void connection_watch(struct connection *c, bool watching)
{
    changes *all = &c->server->changes;

    /* the requests of a connection run one after another, so no other thread changes `watching` */
    if (atomic_load(&c->watching) == watching)
        return;
    uint64_t last = changes_watch(all, watching ? 1 : -1);
    if (watching)
        atomic_store(&c->watches_after, last);
    atomic_store(&c->watching, watching);
}

/* -- gradients -- */

/* Queue one notification.  false: out of memory. */
static bool send_gradient(struct connection *c, uint64_t tensor, uint64_t dropped)
{
    jw line;

    jw_init(&line);
    notification_begin(&line, "grad.computed");
    jw_object(&line);
    member_int(&line, "tensor", (int64_t)tensor);
    if (dropped > 0)
        member_int(&line, "dropped", (int64_t)dropped);
    jw_object_end(&line);
    notification_end(&line);
    return connection_queue_notice(c, &line);
}

void connection_send_gradients(struct connection *c)
{
    uint64_t tensor, dropped;

    while (!c->closed && !c->shut && c->notices < LIMIT(WATCH_CHANGES) &&
           connection_take_gradient(c, &tensor, &dropped))
        if (!send_gradient(c, tensor, dropped)) {
            connection_drop_gradients(c, dropped + 1);
            return;
        }
}

static void notify_gradients(struct server *s)
{
    if (!atomic_exchange(&s->gradients_due, false))
        return;
    for (struct connection *c = s->connections, *next; c != NULL; c = next) {
        next = c->next; /* settle() may close `c`, but never another connection */
        if (atomic_load(&c->gradients) == NULL)
            continue;
        c->refs++;
        connection_send_gradients(c);
        connection_begin_turn(c);
        c->settle(c);
        connection_unref(c);
    }
}

void connections_notify(struct server *s)
{
    notify_changes(s);
    notify_gradients(s);
}
