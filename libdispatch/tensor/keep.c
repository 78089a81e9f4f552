/* keep.c -- whose account the memory of a storage is charged to.
 *
 * A storage has one word for it: the account and, in the bits that its alignment leaves, the holder;
 * 0 is nobody.  It changes by compare and exchange; `keeps` counts how often that holder asked.  The
 * bytes of a storage stay, so what is refunded is what was charged; those that it grew by are a
 * storage of their own (dpi_growth), charged to whom the storage is when it grows, or to its next
 * keeper.  A wrapper tensor has no bytes, and is charged what its parts have; each of
 * its sets of parts has a word, too.  What formers hold changes between dpi_change_shapes_begin()
 * and _end() only, where storages that grew and wrappers are kept and let. */
#include "base/account.h"
#include "room.h"

enum { HOLDER_BITS = 7 };
_Static_assert(DP_HOLDERS <= HOLDER_BITS + 1, "a holder fits beside the account");

static uintptr_t word_of(dp_account *a, int holder)
{
    return (uintptr_t)a | (unsigned)holder;
}

static dp_account *account_of(uintptr_t word)
{
    return (dp_account *)(word & ~(uintptr_t)HOLDER_BITS);
}

static int holder_of(uintptr_t word)
{
    return (int)(word & HOLDER_BITS);
}

static uint64_t bytes_of(const dpi_storage *s)
{
    return s->memoryless ? 0 : s->bytes;
}

/* Give back what the word stands for. */
static void forget(uintptr_t word, uint64_t bytes)
{
    dp_account_refund(account_of(word), holder_of(word), 0, bytes);
    dpi_account_unref(account_of(word));
}

static int keep(dp_account *a, int holder, const dp_tensor *t, bool anyway, dp_error *err);
static void let(dp_account *a, int holder, const dp_tensor *t);

static void let_first(uintptr_t word, const dpi_parts *p, uint32_t n)
{
    while (n > 0)
        let(account_of(word), holder_of(word), p->tensors[--n]);
}

static void let_parts(uintptr_t word, dpi_parts *p)
{
    if (p->charged != word)
        return;
    p->charged = 0;
    let_first(word, p, p->n_tensors);
    dpi_account_unref(account_of(word));
}

static int keep_parts(uintptr_t word, dpi_parts *p, bool anyway, dp_error *err)
{
    uintptr_t former = p->charged;

    if (former == word)
        return 0;
    for (uint32_t i = 0; i < p->n_tensors; i++)
        if (keep(account_of(word), holder_of(word), p->tensors[i], anyway, err) < 0) {
            let_first(word, p, i);
            return DP_ERESOURCE;
        }
    dpi_account_ref(account_of(word));
    p->charged = word;
    if (former != 0)
        dpi_account_unref(account_of(former));
    return 0;
}

static dpi_geometry *newest(const dp_tensor *t)
{
    return atomic_load_explicit(&t->geometry, memory_order_acquire);
}

static void let_all_parts(uintptr_t word, const dp_tensor *t)
{
    for (const dpi_geometry *g = newest(t); g != NULL && g->parts != NULL; g = dpi_former_of(g))
        let_parts(word, g->parts);
}

/* What a wrapper is made of, and what it was made of and is still there.  Only the first to keep a
 * wrapper comes here, so what it holds along several ways is not walked once for each. */
static int keep_all_parts(uintptr_t word, const dp_tensor *t, bool anyway, dp_error *err)
{
    int rc = 0;

    for (const dpi_geometry *g = newest(t); g != NULL && g->parts != NULL && rc == 0;
         g = dpi_former_of(g))
        rc = keep_parts(word, g->parts, anyway, err);
    if (rc < 0)
        let_all_parts(word, t);
    return rc;
}

/* 1: s is charged here from now on; 0: it was, or to somebody whom it stays charged to. */
static int charge(dp_account *a, int holder, dpi_storage *s, bool anyway, dp_error *err)
{
    uintptr_t mine = word_of(a, holder), word = atomic_load(&s->charged);
    uint64_t bytes = bytes_of(s);

    if (word != 0 && (account_of(word) != a || holder_of(word) <= holder))
        return 0;
    if (anyway)
        dpi_account_charge_anyway(a, holder, bytes);
    else if (dp_account_charge(a, holder, 0, bytes, err) < 0)
        return DP_ERESOURCE;
    dpi_account_ref(a);
    if (!atomic_compare_exchange_strong(&s->charged, &word, mine)) { /* somebody was faster */
        forget(mine, bytes);
        return charge(a, holder, s, anyway, err);
    }
    if (word != 0)
        forget(word, bytes);
    return 1;
}

/* What s grew by when nobody was charged for it, or another holder. */
static int keep_growth(dp_account *a, int holder, dpi_storage *s, bool anyway, dp_error *err)
{
    dpi_growth *g = atomic_load_explicit(&s->growth, memory_order_acquire);
    int rc = 0;

    for (; g != NULL && rc >= 0; g = g->former)
        rc = charge(a, holder, &g->memory, anyway, err);
    return rc;
}

static void let_growth(uintptr_t word, dpi_storage *s)
{
    dpi_growth *g = atomic_load_explicit(&s->growth, memory_order_acquire);

    for (uintptr_t mine = word; g != NULL; g = g->former, mine = word)
        if (atomic_compare_exchange_strong(&g->memory.charged, &mine, 0))
            forget(word, bytes_of(&g->memory));
}

static int keep(dp_account *a, int holder, const dp_tensor *t, bool anyway, dp_error *err)
{
    dpi_storage *s = dpi_storage_of(t);
    uintptr_t mine = word_of(a, holder);
    int rc = charge(a, holder, s, anyway, err);

    if (rc == 0 && atomic_load(&s->charged) == mine)
        atomic_fetch_add_explicit(&s->keeps, 1, memory_order_relaxed);
    if (rc <= 0)
        return rc;
    atomic_store_explicit(&s->keeps, 1, memory_order_relaxed);
    rc = keep_growth(a, holder, s, anyway, err);
    if (DPI_UNLIKELY(s->kind != NULL) && rc >= 0)
        rc = keep_all_parts(mine, t, anyway, err);
    if (rc >= 0)
        return 0;
    if (atomic_compare_exchange_strong(&s->charged, &mine, 0))
        forget(mine, bytes_of(s));
    return rc;
}

static void let(dp_account *a, int holder, const dp_tensor *t)
{
    dpi_storage *s = dpi_storage_of(t);
    uintptr_t mine = word_of(a, holder);

    if (atomic_load(&s->charged) != mine ||
        atomic_fetch_sub_explicit(&s->keeps, 1, memory_order_relaxed) > 1)
        return;
    if (!atomic_compare_exchange_strong(&s->charged, &mine, 0))
        return;
    if (s->kind != NULL)
        let_all_parts(mine, t);
    let_growth(mine, s);
    forget(mine, bytes_of(s));
}

/* What t holds may change at any time: if it is more than its storage's first memory, only one thread
 * looks at it.  0: it is not. */
static uint64_t alone_begin(const dp_tensor *t)
{
    const dpi_storage *s = dpi_storage_of(t);
    bool more = s->kind != NULL || atomic_load_explicit(&s->growth, memory_order_acquire) != NULL;

    return more ? dpi_change_shapes_begin() : 0;
}

static void alone_end(uint64_t since)
{
    if (since != 0)
        dpi_change_shapes_end(since - 1); /* nothing changed */
}

int dp_account_keep(dp_account *a, int holder, const dp_tensor *t, dp_error *err)
{
    uint64_t since = alone_begin(t);
    int rc = keep(a, holder, t, false, err);

    alone_end(since);
    return rc;
}

void dp_account_keep_anyway(dp_account *a, int holder, const dp_tensor *t)
{
    uint64_t since = alone_begin(t);

    keep(a, holder, t, true, NULL);
    alone_end(since);
}

void dp_account_let(dp_account *a, int holder, const dp_tensor *t)
{
    uint64_t since = alone_begin(t);

    let(a, holder, t);
    alone_end(since);
}

/* While this holds the word, what it stands for stays. */
int dpi_storage_charge_growth(dpi_storage *s, dpi_storage *grown, dp_error *err)
{
    uintptr_t word = atomic_exchange(&s->charged, 0), nobody = 0;
    int rc = 0;

    if (word == 0)
        return 0;
    rc = dp_account_charge(account_of(word), holder_of(word), 0, bytes_of(grown), err);
    if (rc == 0) {
        dpi_account_ref(account_of(word));
        atomic_store(&grown->charged, word);
    }
    if (!atomic_compare_exchange_strong(&s->charged, &nobody, word))
        forget(word, bytes_of(s));
    return rc;
}

int dpi_parts_keep(const dpi_geometry *g, dp_error *err)
{
    uintptr_t word = atomic_load(&g->storage->charged);

    return word != 0 ? keep_parts(word, g->parts, false, err) : 0;
}

void dpi_parts_let(dpi_parts *p)
{
    uintptr_t word = p->charged;

    if (word == 0)
        return;
    uint64_t since = dpi_change_shapes_begin();
    let_parts(word, p);
    dpi_change_shapes_end(since - 1);
}

void dpi_storage_refund_own(dpi_storage *s)
{
    uintptr_t word = atomic_load(&s->charged);

    if (word != 0)
        dp_account_refund(account_of(word), holder_of(word), 0, bytes_of(s));
}

void dpi_storage_forget(dpi_storage *s)
{
    uintptr_t word = atomic_load_explicit(&s->charged, memory_order_relaxed);

    if (word != 0)
        forget(word, bytes_of(s));
}
