/* arena.c -- arenas: many allocations that are freed together.
 *
 * An arena is a list of blocks, newest first; the newest one is being filled.  Block sizes double
 * from BLOCK_MIN to BLOCK_MAX, or to a smaller `most_bytes`.  An allocation larger than half of
 * BLOCK_MAX gets memory of its own, and a record of it lies in a block.  Since every allocation
 * thus has an address in a block, the address `at` alone tells which allocations are older.  With
 * the address sanitizer every allocation has its own memory, so that the sanitizer finds writes
 * past its end.  An arena charges its memory to its account until it releases the memory or is
 * reset.  The one block that remains after a reset is charged to no account. */
#include "account.h"
#include <stdio.h>

enum {
    ALIGN = 16,
    BLOCK_MIN = 1 << 10,
    BLOCK_MAX = 64 << 10,
#ifdef __SANITIZE_ADDRESS__
    LARGE_MIN = 0 /* larger allocations get memory of their own */
#else
    LARGE_MIN = BLOCK_MAX / 2
#endif
};

typedef struct dpi_arena_block {
    struct dpi_arena_block *next;
    dp_account *account; /* charged for this block; NULL: none */
    size_t bytes;        /* size of `data` */
    _Alignas(ALIGN) char data[];
} block;

/* Record of a large allocation.  The record itself lies in a block; rewinding the arena past the
 * record frees `data`. */
typedef struct dpi_arena_large {
    struct dpi_arena_large *next; /* the next older one */
    dp_account *account;          /* charged for `data`; NULL: none */
    void *data;                   /* owned */
    size_t bytes;
} large;

/* Allocate `bytes` and charge them to the arena's account.  NULL: over its limit, or no memory. */
static void *alloc_charged(dp_arena *a, size_t bytes)
{
    if (a->account != NULL && !dpi_account_add(a->account, DP_HOLDER_INTERMEDIATES, bytes))
        return NULL;
    void *p = a->alloc(bytes);
    if (p == NULL && a->account != NULL)
        dpi_account_sub(a->account, DP_HOLDER_INTERMEDIATES, bytes);
    return p;
}

static void refund(dp_account *account, size_t bytes)
{
    if (account != NULL)
        dpi_account_sub(account, DP_HOLDER_INTERMEDIATES, bytes);
}

static void *from_malloc(size_t bytes)
{
    return dp_malloc(bytes);
}

static void to_malloc(void *p, size_t bytes)
{
    (void)bytes;
    dp_free(p);
}

void dpi_arena_init(dp_arena *a, void *(*alloc)(size_t bytes),
                    void (*release)(void *p, size_t bytes))
{
    *a = (dp_arena){.most_bytes = BLOCK_MAX, .alloc = alloc, .release = release};
}

dp_arena *dp_arena_new(void)
{
    dp_arena *a = dp_malloc(sizeof(*a));

    if (a)
        dpi_arena_init(a, from_malloc, to_malloc);
    return a;
}

/* Free the newest large allocations while their records lie in [from, to). */
static void free_large(dp_arena *a, const char *from, const char *to)
{
    while (a->large && (char *)a->large >= from && (char *)a->large < to) {
        large *l = a->large;
        a->large = l->next;
        refund(l->account, l->bytes);
        a->release(l->data, l->bytes);
    }
}

static void free_newest_block(dp_arena *a)
{
    block *b = a->blocks;

    free_large(a, b->data, b->data + b->bytes);
    a->blocks = b->next;
    refund(b->account, sizeof(block) + b->bytes);
    a->release(b, sizeof(block) + b->bytes);
}

void dpi_arena_fini(dp_arena *a)
{
    while (a->blocks)
        free_newest_block(a);
}

dp_arena *dp_arena_free(dp_arena *a)
{
    if (a)
        dpi_arena_fini(a);
    dp_free(a);
    return NULL;
}

/* Make the bytes of the newest block from `at` on free, and free the large allocations whose
 * records lie there. */
static void fill_from(dp_arena *a, char *at)
{
    char *end = a->blocks->data + a->blocks->bytes;

    free_large(a, at, end);
    a->at = at;
    a->left = (size_t)(end - at);
}

static bool contains(const block *b, const char *at)
{
    return at >= b->data && at <= b->data + b->bytes;
}

DPI_HOT void dpi_arena_rewind(dp_arena *a, char *at)
{
    if (at == NULL) {
        dp_arena_reset(a);
        return;
    }
    while (!contains(a->blocks, at))
        free_newest_block(a);
    fill_from(a, at);
}

/* Free all allocations, and all blocks except the newest, which is the largest. */
void dp_arena_reset(dp_arena *a)
{
    block *newest = a->blocks;

    if (newest == NULL)
        return;
    fill_from(a, newest->data);
    for (a->blocks = newest->next; a->blocks;)
        free_newest_block(a);
    newest->next = NULL;
    refund(newest->account, sizeof(block) + newest->bytes);
    newest->account = NULL;
    a->blocks = newest;
}

static block *block_new(dp_arena *a, size_t bytes)
{
    block *b = alloc_charged(a, sizeof(block) + bytes);
    if (b) {
        b->bytes = bytes;
        b->account = a->account;
    }
    return b;
}

/* Add a block in which `bytes`, at most BLOCK_MAX, fit.  False: over the account's limit, or no
 * memory. */
static bool add_block(dp_arena *a, size_t bytes)
{
    size_t size = a->newest_bytes ? a->newest_bytes * 2 : BLOCK_MIN;

    if (size > a->most_bytes)
        size = a->most_bytes;
    while (size < bytes)
        size *= 2;
    if (size > BLOCK_MAX)
        size = BLOCK_MAX;
    block *b = block_new(a, size);
    if (b == NULL)
        return false;
    b->next = a->blocks;
    a->blocks = b;
    a->newest_bytes = size;
    fill_from(a, b->data);
    return true;
}

/* Allocate `bytes`, a multiple of ALIGN, from the newest block or a new one.  NULL: over the
 * account's limit, or no memory. */
static void *take(dp_arena *a, size_t bytes)
{
    if (bytes > a->left && !add_block(a, bytes))
        return NULL;
    void *p = a->at;
    a->at += bytes;
    a->left -= bytes;
    return p;
}

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

static void *take_large(dp_arena *a, size_t bytes)
{
    large *l = take(a, aligned(sizeof(*l)));

    if (l == NULL)
        return NULL;
    *l = (large){a->large, a->account, alloc_charged(a, bytes), bytes};
    if (l->data)
        a->large = l;
    return l->data;
}

void *dp_arena_alloc(dp_arena *a, size_t bytes)
{
    if (bytes > SIZE_MAX - ALIGN || dpi_fault())
        return NULL;
    size_t rounded = aligned(bytes + !bytes);
    return rounded > LARGE_MIN ? take_large(a, bytes + !bytes) : take(a, rounded);
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

int dp_arena_failed(dp_arena *a, size_t bytes, const char *what, dp_error *err)
{
    /* Repeat the charge that failed, so that `err` says which limit it exceeds. */
    size_t taken = bytes > LARGE_MIN ? bytes : sizeof(block) + BLOCK_MAX;

    if (a->account != NULL &&
        dp_account_charge(a->account, DP_HOLDER_INTERMEDIATES, 0, taken, err) < 0)
        return DP_ERESOURCE;
    refund(a->account, taken);
    return dp_error_set(err, DP_ERESOURCE, "out of memory: %zu bytes of %s", bytes, what);
}
