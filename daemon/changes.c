/* changes.c -- the changes of the registry that are not yet delivered to the connections that watch
 * it. */
#include "changes.h"
#include <stdio.h>
#include <string.h>

void changes_init(changes *c)
{
    memset(c, 0, sizeof(*c));
    pthread_mutex_init(&c->lock, NULL);
}

void changes_fini(changes *c)
{
    pthread_mutex_destroy(&c->lock);
}

bool changes_add(changes *c, const char *plugin, uint64_t generation, uint32_t added,
                 uint32_t removed)
{
    pthread_mutex_lock(&c->lock);
    uint64_t number = ++c->last, dropped = 0;
    bool watched = c->watchers > 0;
    if (watched) {
        if (c->n == CHANGES_WAITING)
            dropped = c->waiting[--c->n].dropped + 1;
        change *next = &c->waiting[c->n++];
        *next = (change){.generation = generation,
                         .added = added,
                         .removed = removed,
                         .number = number,
                         .dropped = dropped};
        snprintf(next->plugin, sizeof(next->plugin), "%s", plugin);
    }
    pthread_mutex_unlock(&c->lock);
    return watched;
}

uint64_t changes_watch(changes *c, int by)
{
    pthread_mutex_lock(&c->lock);
    c->watchers += (unsigned)by;
    uint64_t last = c->last;
    pthread_mutex_unlock(&c->lock);
    return last;
}

size_t changes_take(changes *c, change out[CHANGES_WAITING])
{
    pthread_mutex_lock(&c->lock);
    size_t n = c->n;
    dp_copy_n(out, c->waiting, n, sizeof(*out));
    c->n = 0;
    pthread_mutex_unlock(&c->lock);
    return n;
}
