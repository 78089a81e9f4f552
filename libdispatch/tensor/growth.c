/* growth.c -- replaces the memory of a storage, for all tensors on it, by memory that is larger or
 * that other processes can map.
 *
 * A storage has a list of its growths, the newest first (dpi_growth, tensor_i.h).  A call that
 * began before a growth uses the replaced memory until the call ends; then that memory can be
 * released.  When a call fails, its growths are undone. */
#include "base/kind.h"
#include "room.h"

/* Return how many bytes `piece` is charged for; it is a storage without its growths, or the memory
 * of one growth. */
static uint64_t piece_bytes(const dpi_storage *piece)
{
    if (piece->memoryless)
        return 0;
    return piece->release == dpi_shared_release ? dpi_shared_bytes(piece->bytes) : piece->bytes;
}

static unsigned state_of(const dpi_growth *g)
{
    return atomic_load_explicit(&g->state, memory_order_acquire) & 3;
}

static uint64_t since_of(const dpi_growth *g)
{
    return atomic_load_explicit(&g->state, memory_order_acquire) >> 2;
}

static void growth_memory_end(dpi_storage *s, dpi_growth *g)
{
    dpi_storage_settle(&g->memory,
                       dpi_storage_split_charge(s, piece_bytes(&g->memory), g->memory.call_made));
    dpi_storage_memory_fini(&g->memory);
}

static void growths_free(dpi_storage *s, dpi_growth *g)
{
    for (dpi_growth *replaced; g != NULL; g = replaced) {
        replaced = g->replaced;
        if (state_of(g) != DPI_CHANGE_UNDONE)
            growth_memory_end(s, g);
        dp_free(g);
    }
}

DPI_HOT void dpi_storage_fini(dpi_storage *s)
{
    dpi_growth *g = atomic_load_explicit(&s->growth, memory_order_relaxed);

    if (DPI_UNLIKELY(s->kind_ref != 0))
        dpi_kind_unref(s->kind_ref - 1);
    if (DPI_UNLIKELY(g != NULL))
        growths_free(s, g);
    if (atomic_load_explicit(&s->charged, memory_order_relaxed) != 0) {
        if (s->block || s->release == dpi_block_release || s->release == dpi_shared_release)
            dpi_storage_settle(s, dpi_storage_charge_of(s));
        else
            dpi_storage_discharge(s);
    }
    dpi_storage_memory_fini(s);
}

/* -- growing -- */

/* `shared`: the new memory is shared memory of the same size. */
static int check_growth(const dpi_storage *s, const dpi_growth *last, size_t bytes, bool shared,
                        dp_error *err)
{
    const dpi_storage *now = dpi_memory_of(s);

    if (s->fixed || (s->named && !shared))
        return dp_error_set(err, DP_ERUNTIME,
                            "Trying to resize storage that is not resizable: %zu bytes are needed, "
                            "it has %zu",
                            bytes, now->bytes);
    if (last != NULL && now != &last->memory)
        return dp_error_set(err, DP_ERUNTIME,
                            "a storage of %zu bytes was grown to %zu by another call, since this "
                            "one began",
                            now->bytes, last->memory.bytes);
    if (last != NULL && last->n_replaced >= DP_LIMIT_RESIZES)
        return dp_error_set(err, DP_ERUNTIME,
                            "a storage that grew %d times while a call runs, which is the limit "
                            "(DP_LIMIT_RESIZES), cannot grow from %zu to %zu bytes",
                            last->n_replaced, now->bytes, bytes);
    return DP_OK;
}

static int copy_bytes(const dpi_storage *to, const dpi_storage *from, dp_error *err)
{
    dpi_device *d;
    dp_error theirs = DP_ERROR_INIT;

    if (from->bytes == 0)
        return DP_OK;
    int rc = dpi_storage_enter(from, &d, err);
    if (rc < 0)
        return rc;
    if (from->host)
        memcpy(to->data, from->data, from->bytes);
    else if ((rc = d->ops.copy(dp_device_index(from->device), to->data, from->data, from->bytes,
                               DP_ON_DEVICE, &theirs)) != 0)
        rc = dpi_device_failed(d, "copy", rc, &theirs, err);
    dpi_device_leave(d);
    return rc;
}

/* Initialise the memory of `g`: `bytes` bytes, which begin with a copy of those of `s`. */
static int growth_fill(const dpi_storage *s, dp_account *a, size_t bytes, bool shared,
                       dpi_growth *g, dp_error *err)
{
    dpi_target at = {s->device | (s->memoryless ? DPI_MEMORYLESS : 0), 0, NULL};
    int rc = shared ? dpi_storage_init_shared(&g->memory, a, bytes, err)
                    : dpi_storage_init_memory(&g->memory, at, bytes, err);

    if (rc < 0)
        return rc;
    rc = s->memoryless ? DP_OK : copy_bytes(&g->memory, dpi_memory_of(s), err);
    if (rc < 0)
        dpi_storage_fini(&g->memory);
    return rc;
}

/* Charge `bytes`, then call growth_fill(). */
static int growth_charged(dpi_storage *s, dp_account *a, size_t bytes, bool shared, dpi_growth *g,
                          dp_error *err)
{
    size_t counted = s->memoryless ? 0 : shared ? dpi_shared_bytes(bytes) : bytes;
    int rc = dpi_storage_charge_growth(s, a, counted, err);

    if (rc == DP_OK && (rc = growth_fill(s, a, bytes, shared, g, err)) < 0)
        dpi_charge_end(dpi_storage_split_charge(s, counted, a != NULL));
    if (rc == DP_OK)
        g->memory.call_made = a != NULL;
    return rc;
}

/* Release the memory that `s` had before its first growth.  `s` itself stays, and keeps its
 * reference to the backend. */
static void own_memory_end(dpi_storage *s)
{
    dpi_storage_settle(s, dpi_storage_split_charge(s, piece_bytes(s), s->call_made));
    if (s->block != NULL)
        dpi_backend_ref(dp_device_backend(s->device)); /* its block had this reference */
    dpi_storage_memory_release(s);
    s->block = NULL;
    s->release = NULL;
    s->release_arg = NULL;
    s->data = NULL;
    s->bytes = 0;
    s->call_made = false;
}

/* Return the newest growth of `s` that is not undone; NULL: none.  `*undone`: the oldest of the
 * growths that are newer, all of which were undone; NULL: there are none. */
static dpi_growth *last_growth(const dpi_storage *s, dpi_growth **undone)
{
    dpi_growth *g = atomic_load_explicit(&s->growth, memory_order_acquire);

    *undone = NULL;
    while (g != NULL && state_of(g) == DPI_CHANGE_UNDONE) {
        *undone = g;
        g = g->replaced;
    }
    return g;
}

/* Release the memories of `s` that `last`, its newest growth, or older growths replaced and that no
 * running call can use.  The caller is between dpi_change_shapes_begin() and _end(). */
static void release_replaced(dpi_storage *s, dpi_growth *last)
{
    uint64_t oldest = dpi_oldest_call();
    dpi_growth *g = last;
    int n = 0;

    for (; g != NULL && since_of(g) > oldest; g = g->replaced)
        n++;
    if (g == NULL)
        return;
    growths_free(s, g->replaced);
    g->replaced = NULL;
    last->n_replaced = n;
    if (s->data != NULL || s->bytes > 0)
        own_memory_end(s);
}

/* Add a growth to `bytes` bytes that replaces `last`.  If growths that replaced `last` were undone,
 * use the struct of the oldest of these, `undone`.  `shared`: other processes can map it. */
static int grow(dpi_storage *s, dp_account *a, dpi_growth *last, dpi_growth *undone, size_t bytes,
                bool shared, uint64_t since, dp_error *err)
{
    dpi_growth *g = undone != NULL ? undone : dp_calloc(1, sizeof(*g));

    if (g == NULL)
        return dpi_no_memory(err, "a tensor's storage");
    int rc = growth_charged(s, a, bytes, shared, g, err);
    if (rc < 0) {
        if (g != undone)
            dp_free(g);
        return rc;
    }
    if (g != undone)
        g->replaced = last;
    g->n_replaced = last != NULL ? last->n_replaced + 1 : 1;
    g->needs = 0;
    atomic_store_explicit(&g->by, dpi_looker_self, memory_order_relaxed);
    atomic_store_explicit(&g->state, since << 2 | DPI_CHANGE_OWN, memory_order_release);
    if (g != undone)
        atomic_store_explicit(&s->growth, g, memory_order_release);
    return DP_OK;
}

/* Replace the memory of `s` by a copy of `bytes` bytes.  If `shared` is not NULL, the copy is in
 * shared memory, which `*shared` gets and which is never replaced; memory of `s` that is shared
 * already stays. */
static int replace(dpi_storage *s, dp_account *a, size_t bytes, dp_shared **shared, dp_error *err)
{
    dpi_growth *undone;
    uint64_t since = dpi_change_shapes_begin();
    dpi_growth *last = last_growth(s, &undone);
    int rc = DP_OK;

    if (last != NULL)
        release_replaced(s, last);
    if (shared == NULL || dpi_memory_of(s)->release != dpi_shared_release) {
        rc = check_growth(s, last, bytes, shared != NULL, err);
        if (rc == DP_OK)
            rc = grow(s, a, last, undone, bytes, shared != NULL, since, err);
    }
    if (rc == DP_OK && shared != NULL) {
        last = last_growth(s, &undone);
        if (last != NULL) /* not to be undone: another process may use it */
            atomic_fetch_or_explicit(&last->state, DPI_CHANGE_READ, memory_order_relaxed);
        s->fixed = true;
        *shared = dp_shared_ref(dpi_memory_of(s)->release_arg);
    }
    dpi_change_shapes_end(since);
    return rc;
}

int dpi_storage_grow(dpi_storage *s, dp_account *a, size_t bytes, dp_error *err)
{
    return bytes <= dpi_memory_of(s)->bytes ? DP_OK : replace(s, a, bytes, NULL, err);
}

int dpi_storage_share(dpi_storage *s, dp_account *a, dp_shared **out, dp_error *err)
{
    dp_shared *again;
    int rc = replace(s, a, dpi_memory_of(s)->bytes, out, err);

    /* no call that began since then uses the replaced memory: this releases it */
    if (rc == DP_OK && replace(s, a, 0, &again, NULL) == DP_OK)
        dp_shared_unref(again);
    return rc;
}

void dpi_storage_fix(dpi_storage *s)
{
    uint64_t since = dpi_change_shapes_begin();

    s->named = true;
    dpi_change_shapes_end(since - 1); /* there was no change */
}

/* -- undoing growths -- */

/* Did this thread make growth `g` after change number `change`?  `g` may be NULL. */
static bool grown_here(const dpi_growth *g, uint64_t change)
{
    return g != NULL && since_of(g) > change &&
           atomic_load_explicit(&g->by, memory_order_relaxed) == dpi_looker_self;
}

/* Return the size of the memory that `g` replaced. */
static size_t bytes_before(const dpi_storage *s, const dpi_growth *g)
{
    return g->replaced != NULL ? g->replaced->memory.bytes : s->bytes;
}

bool dpi_storage_count_needs(const dpi_storage *s, size_t bytes, int by)
{
    uint64_t began = dpi_call_since();
    dpi_growth *undone, *g = began != 0 ? last_growth(s, &undone) : NULL;
    bool counted = false;

    for (; grown_here(g, began); g = g->replaced)
        if (bytes > bytes_before(s, g)) {
            g->needs += (uint32_t)by;
            counted = true;
        }
    return counted;
}

void dpi_storage_protect_growths(const dpi_storage *s, uint64_t change)
{
    dpi_growth *undone, *g = last_growth(s, &undone);

    for (; grown_here(g, change); g = g->replaced)
        atomic_fetch_or_explicit(&g->state, DPI_CHANGE_READ, memory_order_relaxed);
}

void dpi_storage_undo_growths(dpi_storage *s, uint64_t change)
{
    dpi_growth *undone, *g = last_growth(s, &undone);

    for (; grown_here(g, change) && g->needs == 0; g = g->replaced) {
        uint64_t own = since_of(g) << 2 | DPI_CHANGE_OWN;
        if (!atomic_compare_exchange_strong_explicit(&g->state, &own, own | DPI_CHANGE_UNDONE,
                                                     memory_order_acq_rel, memory_order_relaxed))
            return;
        growth_memory_end(s, g);
    }
}
