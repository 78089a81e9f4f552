/* arena.c -- one lifetime for many allocations.
 *
 * A list of blocks, the one being filled first.  Blocks double from BLOCK_MIN to BLOCK_MAX; what
 * would not fit into half of the largest is an allocation of its own, of which a record lies in a
 * block: so one address, `at`, says how far an arena was filled.  Under the address sanitizer every
 * allocation is one, so that writing past it is seen.  What it takes is charged to its account
 * until it gives that back, or is reset: the block that it keeps then is nobody's. */
#include "account.h"
#include <stdio.h>

enum {
    ALIGN = 16,
    BLOCK_MIN = 1 << 10,
    BLOCK_MAX = 64 << 10,
#ifdef __SANITIZE_ADDRESS__
    OWN_MIN = 0
#else
    OWN_MIN = BLOCK_MAX / 2
#endif
};

typedef struct dpi_block {
    struct dpi_block *next;
    dp_account *account; /* who pays for it; NULL: nobody */
    size_t bytes;        /* of data */
    _Alignas(ALIGN) char data[];
} block;

typedef struct dpi_own { /* a large allocation; lies in a block, and goes with its place there */
    struct dpi_own *next;
    dp_account *account; /* as of blocks */
    void *data;
    size_t bytes;
} own;

static void *take_paid(dp_arena *a, size_t bytes)
{
    if (a->account != NULL && !dpi_account_add(a->account, DP_HOLDER_INTERMEDIATES, bytes))
        return NULL;
    void *p = a->alloc(bytes);
    if (p == NULL && a->account != NULL)
        dpi_account_sub(a->account, DP_HOLDER_INTERMEDIATES, bytes);
    return p;
}

static void refund(dp_account *paid, size_t bytes)
{
    if (paid != NULL)
        dpi_account_sub(paid, DP_HOLDER_INTERMEDIATES, bytes);
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
    *a = (dp_arena){.alloc = alloc, .release = release};
}

dp_arena *dp_arena_new(void)
{
    dp_arena *a = dp_malloc(sizeof(*a));

    if (a)
        dpi_arena_init(a, from_malloc, to_malloc);
    return a;
}

/* Large allocations that lie in [from, to). */
static void drop_own(dp_arena *a, const char *from, const char *to)
{
    while (a->own && (char *)a->own >= from && (char *)a->own < to) {
        own *o = a->own;
        a->own = o->next;
        refund(o->account, o->bytes);
        a->release(o->data, o->bytes);
    }
}

static void drop_block(dp_arena *a)
{
    block *b = a->blocks;

    drop_own(a, b->data, b->data + b->bytes);
    a->blocks = b->next;
    refund(b->account, sizeof(block) + b->bytes);
    a->release(b, sizeof(block) + b->bytes);
}

void dpi_arena_fini(dp_arena *a)
{
    while (a->blocks)
        drop_block(a);
}

dp_arena *dp_arena_free(dp_arena *a)
{
    if (a)
        dpi_arena_fini(a);
    dp_free(a);
    return NULL;
}

static void fill_from(dp_arena *a, char *at)
{
    char *end = a->blocks->data + a->blocks->bytes;

    drop_own(a, at, end);
    a->at = at;
    a->left = (size_t)(end - at);
}

static bool holds(const block *b, const char *at)
{
    return at >= b->data && at <= b->data + b->bytes;
}

void dpi_arena_rewind(dp_arena *a, char *at)
{
    if (at == NULL) {
        dp_arena_reset(a);
        return;
    }
    while (!holds(a->blocks, at))
        drop_block(a);
    fill_from(a, at);
}

/* Keeps the newest block, which is the largest. */
void dp_arena_reset(dp_arena *a)
{
    block *newest = a->blocks;

    if (newest == NULL)
        return;
    fill_from(a, newest->data);
    for (a->blocks = newest->next; a->blocks;)
        drop_block(a);
    newest->next = NULL;
    refund(newest->account, sizeof(block) + newest->bytes);
    newest->account = NULL;
    a->blocks = newest;
}

static block *block_new(dp_arena *a, size_t bytes)
{
    block *b = take_paid(a, sizeof(block) + bytes);
    if (b) {
        b->bytes = bytes;
        b->account = a->account;
    }
    return b;
}

static bool grow(dp_arena *a, size_t bytes)
{
    size_t size = a->grown ? a->grown * 2 : BLOCK_MIN;

    while (size < bytes)
        size *= 2;
    if (size > BLOCK_MAX)
        size = BLOCK_MAX;
    block *b = block_new(a, size);
    if (b == NULL)
        return false;
    b->next = a->blocks;
    a->blocks = b;
    a->grown = size;
    fill_from(a, b->data);
    return true;
}

/* room: a multiple of ALIGN. */
static void *take(dp_arena *a, size_t room)
{
    if (room > a->left && !grow(a, room))
        return NULL;
    void *p = a->at;
    a->at += room;
    a->left -= room;
    return p;
}

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

static void *take_own(dp_arena *a, size_t bytes)
{
    own *o = take(a, aligned(sizeof(*o)));

    if (o == NULL)
        return NULL;
    *o = (own){a->own, a->account, take_paid(a, bytes), bytes};
    if (o->data)
        a->own = o;
    return o->data;
}

void *dp_arena_alloc(dp_arena *a, size_t bytes)
{
    if (bytes > SIZE_MAX - ALIGN || dpi_fault())
        return NULL;
    size_t room = aligned(bytes + !bytes);
    return room > OWN_MIN ? take_own(a, bytes + !bytes) : take(a, room);
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
    size_t taken = bytes > OWN_MIN ? bytes : sizeof(block) + BLOCK_MAX;

    if (a->account != NULL &&
        dp_account_charge(a->account, DP_HOLDER_INTERMEDIATES, 0, taken, err) < 0)
        return DP_ERESOURCE;
    refund(a->account, taken);
    return dp_error_set(err, DP_ERESOURCE, "out of memory: %zu bytes of %s", bytes, what);
}
