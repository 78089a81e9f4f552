/* keep.c -- charges the memory of storages to accounts (dispatchd/account.h).
 *
 * Memory that a call allocates is charged to the account of the call's context before it is
 * allocated, and refunded when it is freed, even if others use it by then.  A storage has one word
 * for its charge: the account's address and, in the low bits of that address, the holder; 0 is no
 * charge.  The growths of a storage are charged with it.  When a holder charges or refunds the
 * storage, its charge only moves:
 *
 *   state                               the storage is charged to
 *   ----------------------------------  ------------------------------------------------------
 *   allocated by a call, no holder      DP_HOLDER_INTERMEDIATES of the call's account, with
 *                                       `call_made_bytes`
 *   charged by holders, any number of   the first of them in DP_HOLDER_MAP, of any account; if
 *   times                               equal, the one that charged it first; `total_bytes`
 *   refunded by its last holder         DP_HOLDER_INTERMEDIATES of that holder's account, with
 *                                       `call_made_bytes`
 *
 * Therefore, if a call of one session leaves a tensor in a plugin, another session pays for the
 * tensor from the time at which it gets a handle of the tensor.  Memory that no call allocated
 * (tensors of an embedder, or a plugin's own ones) is charged only while it has a holder.
 *
 * A wrapper tensor has no bytes; its parts are charged instead.  Each dpi_parts has such a word,
 * too.  The word of a storage is locked by its bit BUSY while it changes.  Charges of replaced
 * parts and of growths change only between dpi_change_shapes_begin() and _end(); charging and
 * refunding of wrappers and of storages that grew happens only there, too. */
#include "base/account.h"
#include "room.h"
#include <sched.h>
#include <stddef.h>

enum { HOLDER_BITS = 7, BUSY = 8 };
/* DP_HOLDER_MEMFDS, the last holder, has no bytes, so it pays for no storage. */
_Static_assert(DP_HOLDER_MEMFDS <= HOLDER_BITS + 1 && DP_HOLDERS == DP_HOLDER_MEMFDS + 1 &&
                   _Alignof(max_align_t) > BUSY,
               "a holder of bytes and the lock fit beside the account");

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

/* Lock the charge of `s`, and return its word.  Until unlock() no other thread changes the
 * charge. */
static uintptr_t lock(dpi_storage *s)
{
    uintptr_t word = atomic_load_explicit(&s->charged, memory_order_relaxed) & ~(uintptr_t)BUSY;

    while (!atomic_compare_exchange_weak_explicit(&s->charged, &word, word | BUSY,
                                                  memory_order_acquire, memory_order_relaxed))
        if (word & BUSY) {
            sched_yield();
            word &= ~(uintptr_t)BUSY;
        }
    return word;
}

static void unlock(dpi_storage *s, uintptr_t word)
{
    atomic_store_explicit(&s->charged, word, memory_order_release);
}

static uint64_t charged_bytes(const dpi_storage *s)
{
    return s->charge_count > 0 ? s->total_bytes : s->call_made_bytes;
}

bool dpi_storage_is_held(dpi_storage *s)
{
    uintptr_t word = lock(s);
    bool held = s->charge_count > 0;

    unlock(s, word);
    return held;
}

static int charge(uintptr_t word, uint64_t bytes, bool anyway, dp_error *err)
{
    dp_account *a = account_of(word);

    if (anyway)
        dp_account_charge_anyway(a, holder_of(word), bytes);
    else if (DPI_UNLIKELY(!dpi_account_add(a, holder_of(word), bytes)))
        /* charge again, by the function that sets the error */
        return dp_account_charge(a, holder_of(word), 0, bytes, err);
    return 0;
}

static void refund(uintptr_t word, uint64_t bytes)
{
    dpi_account_sub(account_of(word), holder_of(word), bytes);
}

/* -- charges -- */

int dpi_charge_begin(dpi_charge *c, dp_account *a, uint64_t bytes, dp_error *err)
{
    uintptr_t word = word_of(a, DP_HOLDER_INTERMEDIATES);

    if (charge(word, bytes, false, err) < 0)
        return DP_ERESOURCE;
    dpi_account_ref(a);
    *c = (dpi_charge){word, bytes};
    return 0;
}

void dpi_charge_end(dpi_charge c)
{
    if (c.word == 0)
        return;
    refund(c.word, c.bytes);
    dpi_account_unref(account_of(c.word));
}

static __attribute__((cold, noinline)) int charge_or_fail(dpi_storage *s, dp_account *a,
                                                          dp_error *err)
{
    dpi_charge c;
    int rc = dpi_charge_begin(&c, a, s->total_bytes, err);

    if (rc == 0)
        dpi_storage_set_charge(s, c);
    return rc;
}

int dpi_storage_charge(dpi_storage *s, dp_account *a, dp_error *err)
{
    if (DPI_UNLIKELY(!dpi_account_add(a, DP_HOLDER_INTERMEDIATES, s->total_bytes)))
        return charge_or_fail(s, a, err);
    dpi_account_ref(a);
    dpi_storage_set_charge(s, (dpi_charge){word_of(a, DP_HOLDER_INTERMEDIATES), s->total_bytes});
    return 0;
}

void dpi_storage_discharge(const dpi_storage *s)
{
    uintptr_t word = atomic_load_explicit(&s->charged, memory_order_relaxed);

    refund(word, charged_bytes(s));
    dpi_account_unref(account_of(word));
}

dpi_charge dpi_storage_charge_of(const dpi_storage *s)
{
    return (dpi_charge){atomic_load_explicit(&s->charged, memory_order_relaxed), charged_bytes(s)};
}

/* -- growth -- */

int dpi_storage_charge_growth(dpi_storage *s, dp_account *a, uint64_t bytes, dp_error *err)
{
    uintptr_t word = lock(s), to = word;
    int rc = 0;

    if (word == 0 && a != NULL && bytes > 0)
        to = word_of(a, DP_HOLDER_INTERMEDIATES);
    if (to != 0 && (s->charge_count > 0 || a != NULL))
        rc = charge(to, bytes, false, err);
    if (rc == 0) {
        if (to != word)
            dpi_account_ref(a);
        s->total_bytes += bytes;
        s->call_made_bytes += a != NULL ? bytes : 0;
        word = to;
    }
    unlock(s, word);
    return rc;
}

dpi_charge dpi_storage_split_charge(dpi_storage *s, uint64_t bytes, bool call_made)
{
    uintptr_t word = lock(s);
    dpi_charge part = {word, s->charge_count > 0 || call_made ? bytes : 0};

    s->total_bytes -= bytes;
    s->call_made_bytes -= call_made ? bytes : 0;
    if (word != 0 && s->charge_count == 0 && s->call_made_bytes == 0)
        word = 0; /* the reference to the account moves to `part` */
    else if (word != 0)
        dpi_account_ref(account_of(word));
    unlock(s, word);
    return part;
}

/* -- holders -- */

static int charge_tensor(dp_account *a, int holder, const dp_tensor *t, bool anyway, dp_error *err);
static void discharge_tensor(dp_account *a, int holder, const dp_tensor *t);

/* Refund the first `n` tensors of `p` once for `word`. */
static void discharge_first(uintptr_t word, const dpi_parts *p, uint32_t n)
{
    while (n > 0)
        discharge_tensor(account_of(word), holder_of(word), p->tensors[--n]);
}

/* Refund the tensors of `p` if they are charged to `word`. */
static void discharge_parts(uintptr_t word, dpi_parts *p)
{
    if (p->charged != word)
        return;
    p->charged = 0;
    discharge_first(word, p, p->n_tensors);
    dpi_account_unref(account_of(word));
}

/* Charge the tensors of `p` to `word`, all or none.  `anyway`: even over the limit. */
static int charge_parts(uintptr_t word, dpi_parts *p, bool anyway, dp_error *err)
{
    uintptr_t replaced = p->charged;

    if (replaced == word)
        return 0;
    for (uint32_t i = 0; i < p->n_tensors; i++)
        if (charge_tensor(account_of(word), holder_of(word), p->tensors[i], anyway, err) < 0) {
            discharge_first(word, p, i);
            return DP_ERESOURCE;
        }
    dpi_account_ref(account_of(word));
    p->charged = word;
    if (replaced != 0)
        dpi_account_unref(account_of(replaced));
    return 0;
}

static dpi_geometry *newest(const dp_tensor *t)
{
    return atomic_load_explicit(&t->geometry, memory_order_acquire);
}

static void discharge_all_parts(uintptr_t word, const dp_tensor *t)
{
    for (const dpi_geometry *g = newest(t); g != NULL && g->parts != NULL; g = dpi_replaced_of(g))
        discharge_parts(word, g->parts);
}

/* Charge the parts of all geometries of wrapper `t`, also of replaced ones.  This function runs
 * only when the charge of t's storage has moved (charge_storage() returned 1), so a part that
 * several wrappers contain is not visited once for each way that leads to it. */
static int charge_all_parts(uintptr_t word, const dp_tensor *t, bool anyway, dp_error *err)
{
    int rc = 0;

    for (const dpi_geometry *g = newest(t); g != NULL && g->parts != NULL && rc == 0;
         g = dpi_replaced_of(g))
        rc = charge_parts(word, g->parts, anyway, err);
    if (rc < 0)
        discharge_all_parts(word, t);
    return rc;
}

/* Move the charge of `s` from `word` to `own_word`, and set charge_count to 1.  The word of `s` is
 * locked. */
static int move_charge(dpi_storage *s, uintptr_t word, uintptr_t own_word, bool anyway,
                       dp_error *err)
{
    uint64_t old_bytes = word != 0 ? charged_bytes(s) : 0;

    /* refund first: the group of the account has one limit for all holders, and never pays for the
     * storage twice */
    if (word != 0)
        refund(word, old_bytes);
    if (charge(own_word, s->total_bytes, anyway, err) < 0) {
        if (word != 0)
            charge(word, old_bytes, true, NULL);
        return DP_ERESOURCE;
    }
    if (account_of(word) != account_of(own_word)) {
        dpi_account_ref(account_of(own_word));
        if (word != 0)
            dpi_account_unref(account_of(word));
    }
    s->charge_count = 1;
    return 1;
}

/* Charge `s` once for `own_word`, the account and holder.  Returns 1 if the charge moved to
 * `own_word`; 0 if it was there already, or stays with another holder, because that of `own_word`
 * does not come before it in DP_HOLDER_MAP.  DP_ERESOURCE: over the limit. */
static int charge_storage(dpi_storage *s, uintptr_t own_word, bool anyway, dp_error *err)
{
    uintptr_t word = lock(s);
    int rc = 0;

    if (word == 0 || holder_of(own_word) < holder_of(word) ||
        (word == own_word && s->charge_count == 0))
        rc = move_charge(s, word, own_word, anyway, err);
    else if (word == own_word)
        s->charge_count++;
    unlock(s, rc > 0 ? own_word : word);
    return rc;
}

/* Refund `s` once for `own_word`.  Returns true if that was its last charge. */
static bool discharge_storage(dpi_storage *s, uintptr_t own_word)
{
    uintptr_t word = lock(s), to = word;
    bool last = word == own_word && s->charge_count == 1;

    if (last)
        to = s->call_made_bytes > 0 ? word_of(account_of(word), DP_HOLDER_INTERMEDIATES) : 0;
    if (to != word) {
        refund(word, s->total_bytes);
        if (to != 0)
            charge(to, s->call_made_bytes, true, NULL);
        else
            dpi_account_unref(account_of(word));
    } else if (last) {
        refund(word, s->total_bytes - s->call_made_bytes);
    }
    s->charge_count -= word == own_word && s->charge_count > 0;
    unlock(s, to);
    return last;
}

static int charge_tensor(dp_account *a, int holder, const dp_tensor *t, bool anyway, dp_error *err)
{
    dpi_storage *s = dpi_storage_of(t);
    uintptr_t own_word = word_of(a, holder);
    int rc = charge_storage(s, own_word, anyway, err);

    if (DPI_UNLIKELY(s->kind != NULL) && rc > 0 &&
        (rc = charge_all_parts(own_word, t, anyway, err)) < 0)
        discharge_storage(s, own_word);
    return rc < 0 ? rc : 0;
}

static void discharge_tensor(dp_account *a, int holder, const dp_tensor *t)
{
    dpi_storage *s = dpi_storage_of(t);
    uintptr_t own_word = word_of(a, holder);

    if (discharge_storage(s, own_word) && DPI_UNLIKELY(s->kind != NULL))
        discharge_all_parts(own_word, t);
}

/* Exclude shape changes by other threads if `t` is a wrapper or its storage has grown, because
 * parts and growths change with shapes.  Returns 0 if this is not needed. */
static uint64_t exclusive_begin(const dp_tensor *t)
{
    const dpi_storage *s = dpi_storage_of(t);
    bool shared = s->kind != NULL || atomic_load_explicit(&s->growth, memory_order_acquire) != NULL;

    return shared ? dpi_change_shapes_begin() : 0;
}

static void exclusive_end(uint64_t since)
{
    if (since != 0)
        dpi_change_shapes_end(since - 1); /* there was no change */
}

int dp_account_charge_tensor(dp_account *a, int holder, const dp_tensor *t, dp_error *err)
{
    uint64_t since = exclusive_begin(t);
    int rc = charge_tensor(a, holder, t, false, err);

    exclusive_end(since);
    return rc;
}

void dp_account_charge_tensor_anyway(dp_account *a, int holder, const dp_tensor *t)
{
    uint64_t since = exclusive_begin(t);

    charge_tensor(a, holder, t, true, NULL);
    exclusive_end(since);
}

void dp_account_refund_tensor(dp_account *a, int holder, const dp_tensor *t)
{
    uint64_t since = exclusive_begin(t);

    discharge_tensor(a, holder, t);
    exclusive_end(since);
}

int dpi_parts_charge(const dpi_geometry *g, dp_error *err)
{
    uintptr_t word = atomic_load(&g->storage->charged) & ~(uintptr_t)BUSY;

    return word != 0 ? charge_parts(word, g->parts, false, err) : 0;
}

void dpi_parts_discharge(dpi_parts *p)
{
    uintptr_t word = p->charged;

    if (word == 0)
        return;
    uint64_t since = dpi_change_shapes_begin();
    discharge_parts(word, p);
    dpi_change_shapes_end(since - 1);
}
