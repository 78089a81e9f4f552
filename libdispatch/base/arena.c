/* arena.c -- one lifetime for many allocations.
 *
 * A list of blocks, the one being filled first.  Blocks double from BLOCK_MIN to BLOCK_MAX; what
 * would not fit into half of the largest gets a block of its own, which is linked behind the
 * current one so that the room left there stays in use.  Under the address sanitizer every
 * allocation has a block of its own, so that writing past one is seen. */
#include "base.h"
#include <stdio.h>

enum {
    ALIGN = 16,
    BLOCK_MIN = 1 << 10,
    BLOCK_MAX = 64 << 10, /* and the most that dp_arena_reset() keeps */
#ifdef __SANITIZE_ADDRESS__
    OWN_BLOCK = 0
#else
    OWN_BLOCK = BLOCK_MAX / 2
#endif
};

typedef struct block {
    struct block *next;
    size_t bytes; /* of data */
    _Alignas(ALIGN) char data[];
} block;

struct dp_arena {
    block *blocks;
    char *at;     /* in the first block */
    size_t left;  /* bytes after `at` */
    size_t grown; /* size of the latest block that is not some allocation's own */
};

dp_arena *dp_arena_new(void)
{
    return dp_calloc(1, sizeof(dp_arena));
}

static void free_blocks(block *b, const block *keep)
{
    while (b) {
        block *next = b->next;
        if (b != keep)
            dp_free(b);
        b = next;
    }
}

dp_arena *dp_arena_free(dp_arena *a)
{
    if (a)
        free_blocks(a->blocks, NULL);
    dp_free(a);
    return NULL;
}

void dp_arena_reset(dp_arena *a)
{
    block *keep = NULL;

    for (block *b = a->blocks; b; b = b->next)
        if (b->bytes <= BLOCK_MAX && (keep == NULL || b->bytes > keep->bytes))
            keep = b;
    free_blocks(a->blocks, keep);
    a->blocks = keep;
    a->at = keep ? keep->data : NULL;
    a->left = keep ? keep->bytes : 0;
    if (keep)
        keep->next = NULL;
}

static block *block_new(size_t bytes)
{
    block *b = bytes < SIZE_MAX - sizeof(block) ? dp_malloc(sizeof(block) + bytes) : NULL;
    if (b)
        b->bytes = bytes;
    return b;
}

static void *own_block(dp_arena *a, size_t bytes)
{
    block *b = block_new(bytes);

    if (b == NULL)
        return NULL;
    if (a->blocks) {
        b->next = a->blocks->next;
        a->blocks->next = b;
    } else {
        b->next = NULL;
        a->blocks = b;
        a->at = b->data + bytes; /* full */
        a->left = 0;
    }
    return b->data;
}

static bool grow(dp_arena *a, size_t bytes)
{
    size_t size = a->grown ? a->grown * 2 : BLOCK_MIN;

    while (size < bytes)
        size *= 2;
    if (size > BLOCK_MAX)
        size = BLOCK_MAX;
    block *b = block_new(size);
    if (b == NULL)
        return false;
    b->next = a->blocks;
    a->blocks = b;
    a->at = b->data;
    a->left = a->grown = size;
    return true;
}

void *dp_arena_alloc(dp_arena *a, size_t bytes)
{
    if (bytes > SIZE_MAX - ALIGN)
        return NULL;
    size_t room = (bytes + !bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);

    if (room > a->left) {
        if (room > OWN_BLOCK)
            return own_block(a, OWN_BLOCK ? room : bytes);
        if (!grow(a, room))
            return NULL;
    }
    void *p = a->at;
    a->at += room;
    a->left -= room;
    return p;
}

void *dp_arena_dup(dp_arena *a, const void *p, size_t bytes)
{
    void *copy = dp_arena_alloc(a, bytes);
    return copy && bytes ? memcpy(copy, p, bytes) : copy;
}

char *dp_arena_printf(dp_arena *a, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    int n = vsnprintf(NULL, 0, format, ap);
    va_end(ap);
    char *s = n < 0 ? NULL : dp_arena_alloc(a, (size_t)n + 1);
    if (s) {
        va_start(ap, format);
        vsnprintf(s, (size_t)n + 1, format, ap);
        va_end(ap);
    }
    return s;
}
