/* listen.c -- calls the registry's listeners: when an operator's definition is added or removed,
 * after each published change of the registrations, and when a plugin sets a text about itself with
 * dp_note().
 *
 * Listeners run under the registry's lock. */
#include "change.h"

typedef struct dpi_listener_node {
    struct dpi_listener_node *next;
    const dp_listener *l;
} dpi_listener_node;

int dp_registry_listen(dp_registry *reg, const dp_listener *l, dp_error *err)
{
    if (!DPI_GIVEN(err, DP_EVALUE, reg, l))
        return DP_EVALUE;
    dpi_listener_node *node = dp_calloc(1, sizeof(*node));

    if (node == NULL)
        return dpi_no_memory(err, "a listener");
    node->l = l;
    pthread_mutex_lock(&reg->lock);
    dpi_listener_node **link = (dpi_listener_node **)&reg->listeners;
    while (*link != NULL)
        link = &(*link)->next;
    *link = node;
    for (uint32_t i = 0; l->defined && i < reg->n_ops; i++)
        if (reg->ops[i]->schema != NULL)
            l->defined(l->arg, reg->ops[i]->name);
    pthread_mutex_unlock(&reg->lock);
    return 0;
}

void dp_registry_unlisten(dp_registry *reg, const dp_listener *l)
{
    pthread_mutex_lock(&reg->lock);
    for (dpi_listener_node **link = (dpi_listener_node **)&reg->listeners; *link;
         link = &(*link)->next)
        if ((*link)->l == l) {
            dpi_listener_node *gone = *link;
            *link = gone->next;
            dp_free(gone);
            break;
        }
    pthread_mutex_unlock(&reg->lock);
}

void dpi_notify_definitions(dp_registry *reg, const dpi_truth *t, const dpi_truth *old)
{
    for (const dpi_listener_node *n = reg->listeners; n != NULL; n = n->next) {
        bool changed = old->schema != t->schema;
        if (changed && old->schema != NULL && n->l->undefined)
            n->l->undefined(n->l->arg, t->name);
        if (changed && t->schema != NULL && n->l->defined)
            n->l->defined(n->l->arg, t->name);
    }
}

void dpi_notify_changed(dp_registry *reg, const dp_unit *u, uint32_t added, uint32_t removed)
{
    for (const dpi_listener_node *n = reg->listeners; n != NULL; n = n->next)
        if (n->l->changed)
            n->l->changed(n->l->arg, u->gen->plugin, u->gen->number, added, removed);
}

void dpi_notify_note(dp_registry *reg, const char *plugin, const char *name, const char *text)
{
    for (const dpi_listener_node *n = reg->listeners; n != NULL; n = n->next)
        if (n->l->noted)
            n->l->noted(n->l->arg, plugin, name, text);
}
