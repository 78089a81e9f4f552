/* handles.c -- a list of handles, one for a session's generators and one for its objects.
 *
 * A list is short, so it is searched linearly.  The caller holds `session.lock`. */
#include "session.h"

static size_t find(const handle_list *l, uint64_t id)
{
    size_t i = 0;

    while (i < l->n && l->items[i].id != id)
        i++;
    return i;
}

int handle_list_reserve(handle_list *l, dp_error *err)
{
    handle_item *items = array_grow(l->items, l->n, &l->cap, sizeof(*items));

    if (items == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: handle");
    l->items = items;
    return 0;
}

void handle_list_add(handle_list *l, uint64_t id, void *object)
{
    l->items[l->n++] = (handle_item){id, object};
}

void *handle_list_get(const handle_list *l, uint64_t id)
{
    size_t i = find(l, id);

    return i < l->n ? l->items[i].object : NULL;
}

void *handle_list_take(handle_list *l, uint64_t id)
{
    size_t i = find(l, id);
    void *object = i < l->n ? l->items[i].object : NULL;

    if (object != NULL) {
        l->n--;
        for (; i < l->n; i++)
            l->items[i] = l->items[i + 1];
    }
    return object;
}
