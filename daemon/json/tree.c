/* tree.c -- the memory of a parsed tree: blocks of nodes, which are freed together, with one
 * reference count.
 *
 * After its nodes, the first block has a copy of the text, in which read.c unescapes strings. */
#include "json/text.h"
#include <dispatchd/sizes.h>
#include <stddef.h>

block *json_block_new(size_t nodes, size_t text)
{
    block *b = dp_malloc(
        dp_size_plus(dp_size_plus(sizeof(*b), text), dp_size_times(nodes, sizeof(b->nodes[0]))));

    if (b != NULL) {
        b->next = NULL;
        atomic_init(&b->refs, 1);
    }
    return b;
}

static block *first_block(cJSON *root)
{
    return (void *)((char *)root - offsetof(block, nodes));
}

cJSON *json_ref(cJSON *root)
{
    atomic_fetch_add(&first_block(root)->refs, 1);
    return root;
}

void json_free(cJSON *root)
{
    block *b = root != NULL ? first_block(root) : NULL;

    if (b != NULL && atomic_fetch_sub(&b->refs, 1) > 1)
        return;

    while (b != NULL) {
        block *next = b->next;
        dp_free(b);
        b = next;
    }
}
