/* storage.c -- bytes on one device.
 *
 * A storage lies in the home of a tensor, the block of memory that also holds the tensor, its
 * version and its geometry (home.h).  Its bytes lie there, too, if they are few and in host memory.
 * A storage has the number of its device (dp_device), and no pointer to a plugin's code.  Its bytes
 * may be used only between dpi_storage_enter() and dpi_device_leave().  Bytes in device memory are
 * a block (block.c).  When the device ends, it takes the block back, and the storage stays without
 * data.
 *
 * Over 500 lines: making, growing and undoing a storage share its list of growths. */
#include "base/kind.h"
#include "room.h"

enum {
#ifdef __SANITIZE_ADDRESS__
    INLINE_MAX = 0 /* so that the sanitizer sees writes past the end */
#else
    INLINE_MAX = 512 /* bytes; malloc() caches freed homes of this size */
#endif
};

static int out_of_memory(dp_device device, size_t bytes, dp_error *err)
{
    char name[DP_KEY_NAME_MAX];
    return dp_error_set(err, DP_ERESOURCE, "out of memory: %zu bytes for a tensor on %s", bytes,
                        dp_device_name(device, name));
}

static void release_nothing(void *arg)
{
    (void)arg;
}

size_t dpi_storage_inline_bytes(dp_device device, size_t bytes)
{
    return bytes <= INLINE_MAX && dp_device_backend(device) == DP_B_CPU ? bytes : 0;
}

/* Check the index of `device`.  A backend in host memory has one device.  Memoryless tensors are
 * not checked, because they need no device. */
static int check_index(const dpi_device *d, dp_device device, dp_error *err)
{
    int n = dpi_device_count(d), index = dp_device_index(device);

    return index < n
               ? DP_OK
               : dp_error_set(err, DP_ERUNTIME, "backend %s has %d device%s, there is no %s:%d",
                              d->name, n, n == 1 ? "" : "s", d->name, index);
}

/* Says how a block of device memory is made: opened or allocated. */
typedef struct source {
    uint32_t streams;            /* as in dpi_target */
    const dp_block_name *import; /* a block of another process to open; NULL: allocate */
} source;

/* Allocate or open the data of `s`.  The caller has entered `d`, its device. */
static int allocate_data(dpi_storage *s, dpi_device *d, source from, dp_error *err)
{
    int rc = check_index(d, s->device, err);

    if (rc < 0)
        return rc;
    s->host = d->host;
    if (!d->host)
        return from.import ? dpi_block_import(d, s, from.import, err)
                           : dpi_block_new(d, s, from.streams, err);
    s->data = dpi_memory_alloc(s->bytes);
    return s->data || s->bytes == 0 ? DP_OK : out_of_memory(s->device, s->bytes, err);
}

/* Return how many bytes of host memory `s` itself counts; block.c counts the bytes of a block. */
static int64_t memory_bytes(const dpi_storage *s)
{
    return s->data && s->block == NULL ? (int64_t)s->bytes : 0;
}

/* Count the new storage `s` and its bytes. */
static void storage_count(dpi_storage *s)
{
    if (s->block == NULL)
        dpi_backend_ref(dp_device_backend(s->device));
    dpi_bytes_count(memory_bytes(s));
}

/* Clear the struct member by member: for an assignment of the whole struct, gcc would emit an
 * instruction (rep stos) that takes longer than all other steps of making a tensor. */
static void storage_clear(dpi_storage *s, dp_device device, size_t bytes)
{
    s->device = device;
    s->data = NULL;
    s->bytes = bytes;
    atomic_init(&s->id, 0);
    s->release = NULL;
    s->release_arg = NULL;
    s->host = s->memoryless = s->fake = s->call_made = s->fixed = false;
    s->kind = NULL;
    s->kind_ref = 0;
    s->block = NULL;
    atomic_init(&s->charged, 0);
    s->charge_count = 0;
    s->total_bytes = s->call_made_bytes = 0;
    atomic_init(&s->growth, NULL);
}

static int init_memoryless(dpi_storage *s, dp_device device, bool fake, size_t bytes, dp_error *err)
{
    int bit = dp_device_backend(device);

    if (bit < 0 || bit > 63 || dpi_backend_name(bit) == NULL)
        return dp_error_set(err, DP_ERUNTIME, "no backend has number %d", bit);
    storage_clear(s, device, bytes);
    s->memoryless = true;
    s->fake = fake && bit != DP_B_Meta;
    storage_count(s);
    return DP_OK;
}

/* Charge the bytes of `s`.  If that is over the limit, try again after the blocks that wait on the
 * device are released.  The caller has entered `d`. */
static int charge(dpi_storage *s, const dpi_device *d, dp_account *a, dp_error *err)
{
    if (d->host)
        return dpi_storage_charge(s, a, err);
    if (dpi_storage_charge(s, a, NULL) == DP_OK)
        return DP_OK;
    dpi_blocks_settle(d->bit);
    return dpi_storage_charge(s, a, err);
}

/* Charge and allocate the memory of `s`, whose device and size are set.  The caller has entered
 * `d`, its device. */
static int memory_init(dpi_storage *s, dpi_device *d, dp_account *a, source from, dp_error *err)
{
    int rc = a != NULL && s->bytes > 0 ? charge(s, d, a, err) : DP_OK;

    if (rc < 0)
        return rc;
    rc = allocate_data(s, d, from, err);
    if (rc == DP_OK)
        storage_count(s); /* before leaving the device, so that the backend's bit is never free */
    else
        dpi_charge_end(dpi_storage_charge_of(s));
    return rc;
}

/* Initialise `s`, and allocate its memory, unless the device is meta or at.device has the flag
 * DPI_MEMORYLESS. */
static int storage_init(dpi_storage *s, dpi_target at, size_t bytes, dp_error *err)
{
    dp_device device = at.device;
    dpi_device *d;
    int bit = dp_device_backend(device), without_flags = dp_device_backend(device & ~DPI_FAKE);

    if (without_flags == DP_B_CPU || without_flags == DP_B_Meta)
        device -= dp_device_index(device); /* "cpu:1" means cpu, as in PyTorch */
    if (bit == DP_B_Meta || (device & DPI_MEMORYLESS))
        return init_memoryless(s, device & ~DPI_FAKE, (device & DPI_FAKE) == DPI_FAKE, bytes, err);
    int rc = dpi_device_enter(bit, &d, err);
    if (rc < 0)
        return rc;
    storage_clear(s, device, bytes);
    s->total_bytes = bytes;
    rc = memory_init(s, d, at.account, (source){at.streams, NULL}, err);
    dpi_device_leave(d);
    return rc;
}

int dpi_storage_init_import(dpi_storage *s, dpi_target at, size_t bytes, const dp_block_name *name,
                            dp_error *err)
{
    dpi_device *d;
    int rc = dpi_device_enter(dp_device_backend(at.device), &d, err);

    if (rc < 0)
        return rc;
    storage_clear(s, at.device, bytes);
    s->total_bytes = bytes;
    s->fixed = true;
    rc = d->host || d->ops.import_block == NULL
             ? dp_error_set(err, DP_ENOTIMPL, "backend %s opens no blocks of other processes",
                            d->name)
             : memory_init(s, d, at.account, (source){0, name}, err);
    dpi_device_leave(d);
    return rc;
}

int dpi_storage_init(dpi_storage *s, dpi_target at, size_t bytes, void *inline_data, dp_error *err)
{
    if (dpi_storage_inline_bytes(at.device, bytes) == 0)
        return storage_init(s, at, bytes, err);
    storage_clear(s, DP_DEVICE_CPU, bytes);
    s->total_bytes = bytes;
    int rc = at.account != NULL ? dpi_storage_charge(s, at.account, err) : DP_OK;
    if (rc < 0)
        return rc;
    s->host = true;
    s->data = inline_data;
    s->release = release_nothing;
    storage_count(s);
    return DP_OK;
}

void dpi_storage_init_foreign(dpi_storage *s, void *data, size_t bytes, void (*release)(void *arg),
                              void *arg)
{
    storage_clear(s, DP_DEVICE_CPU, bytes);
    s->total_bytes = bytes;
    s->data = data;
    s->release = release ? release : release_nothing;
    s->release_arg = arg;
    s->host = s->fixed = true;
    storage_count(s);
}

int dpi_no_data(const dpi_storage *s, dp_error *err)
{
    char name[DP_KEY_NAME_MAX];
    dp_device device = s->device;

    if (s->kind != NULL)
        return dp_error_set(err, DP_ENOTIMPL,
                            "a tensor of kind '%s' has no bytes of its own: they are those of the "
                            "tensors that it is made of",
                            s->kind);
    if (dp_device_backend(device) == DP_B_Meta)
        return dp_error_set(err, DP_ENOTIMPL, "Cannot copy out of meta tensor; no data!");
    return dp_error_set(err, DP_ENOTIMPL,
                        "Cannot copy out of a tensor on %s that has no memory; no data!",
                        dp_device_name(device, name));
}

int dpi_no_wrapper(const dp_tensor *t, dp_error *err)
{
    const dpi_storage *s = dpi_storage_of(t);

    return DPI_LIKELY(s->kind == NULL) ? DP_OK : dpi_no_data(s, err);
}

int dpi_storage_enter(const dpi_storage *s, dpi_device **d, dp_error *err)
{
    const dpi_block *b = dpi_memory_of(s)->block;

    if (s->memoryless)
        return dpi_no_data(s, err);
    if (b)
        return dpi_block_enter(b, d, err);
    return dpi_device_enter(dp_device_backend(s->device), d, err);
}

int dpi_tensor_check_device(const dp_tensor *t, dp_error *err)
{
    const dpi_storage *s = dpi_storage_of(t);
    dpi_device *d;
    int rc = s->memoryless ? DP_OK : dpi_storage_enter(s, &d, err);

    if (rc == DP_OK && !s->memoryless)
        dpi_device_leave(d);
    return rc;
}

/* End `charge`, which is for the memory of `s` without its growths.  Call this before
 * memory_release().  If the memory is a block, the block takes the charge, because the block may
 * outlive the storage. */
static void settle_charge(dpi_storage *s, dpi_charge charge)
{
    if (s->block)
        dpi_block_charge(s->block, charge);
    else if (s->release == dpi_block_release)
        dpi_block_charge(s->release_arg, charge);
    else
        dpi_charge_end(charge);
}

/* Release the memory of `s`, without its growths.  A block counts its bytes itself. */
static void memory_release(dpi_storage *s)
{
    int64_t bytes = memory_bytes(s);

    if (s->block)
        dpi_block_drop(s->block);
    else if (s->release)
        s->release(s->release_arg);
    else if (!s->memoryless)
        dpi_memory_free(s->data, s->bytes);
    if (bytes > 0)
        dpi_bytes_count(-bytes);
}

static void memory_fini(dpi_storage *s)
{
    bool counted = s->block == NULL; /* else block.c counts the block */

    memory_release(s);
    if (counted)
        dpi_backend_unref(dp_device_backend(s->device));
}

/* Return how many bytes `piece` uses; it is a storage without its growths, or the memory of one
 * growth. */
static uint64_t piece_bytes(const dpi_storage *piece)
{
    return piece->memoryless ? 0 : piece->bytes;
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
    settle_charge(&g->memory,
                  dpi_storage_split_charge(s, piece_bytes(&g->memory), g->memory.call_made));
    memory_fini(&g->memory);
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

void dpi_storage_fini(dpi_storage *s)
{
    dpi_growth *g = atomic_load_explicit(&s->growth, memory_order_relaxed);

    if (DPI_UNLIKELY(s->kind_ref != 0))
        dpi_kind_unref(s->kind_ref - 1);
    if (DPI_UNLIKELY(g != NULL))
        growths_free(s, g);
    if (atomic_load_explicit(&s->charged, memory_order_relaxed) != 0) {
        if (s->block || s->release == dpi_block_release)
            settle_charge(s, dpi_storage_charge_of(s));
        else
            dpi_storage_discharge(s);
    }
    memory_fini(s);
}

/* -- growing -- */

static int check_growth(const dpi_storage *s, const dpi_growth *last, size_t bytes, dp_error *err)
{
    const dpi_storage *now = dpi_memory_of(s);

    if (s->fixed)
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
static int growth_fill(const dpi_storage *s, size_t bytes, dpi_growth *g, dp_error *err)
{
    dp_device device = s->device | (s->memoryless ? DPI_MEMORYLESS : 0);
    int rc = storage_init(&g->memory, (dpi_target){device, 0, NULL}, bytes, err);

    if (rc < 0)
        return rc;
    rc = s->memoryless ? DP_OK : copy_bytes(&g->memory, dpi_memory_of(s), err);
    if (rc < 0)
        dpi_storage_fini(&g->memory);
    return rc;
}

/* Charge `bytes`, then call growth_fill(). */
static int growth_charged(dpi_storage *s, dp_account *a, size_t bytes, dpi_growth *g, dp_error *err)
{
    size_t counted = s->memoryless ? 0 : bytes;
    int rc = dpi_storage_charge_growth(s, a, counted, err);

    if (rc == DP_OK && (rc = growth_fill(s, bytes, g, err)) < 0)
        dpi_charge_end(dpi_storage_split_charge(s, counted, a != NULL));
    if (rc == DP_OK)
        g->memory.call_made = a != NULL;
    return rc;
}

/* Release the memory that `s` had before its first growth.  `s` itself stays, and keeps its
 * reference to the backend. */
static void own_memory_end(dpi_storage *s)
{
    settle_charge(s, dpi_storage_split_charge(s, piece_bytes(s), s->call_made));
    if (s->block != NULL)
        dpi_backend_ref(dp_device_backend(s->device)); /* its block had this reference */
    memory_release(s);
    s->block = NULL;
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

/* Add a growth that replaces `last`.  If growths that replaced `last` were undone, use the struct
 * of the oldest of these, `undone`. */
static int grow(dpi_storage *s, dp_account *a, dpi_growth *last, dpi_growth *undone, size_t bytes,
                uint64_t since, dp_error *err)
{
    dpi_growth *g = undone != NULL ? undone : dp_calloc(1, sizeof(*g));

    if (g == NULL)
        return dpi_no_memory(err, "a tensor's storage");
    int rc = growth_charged(s, a, bytes, g, err);
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

int dpi_storage_grow(dpi_storage *s, dp_account *a, size_t bytes, dp_error *err)
{
    dpi_growth *undone;

    if (bytes <= dpi_memory_of(s)->bytes)
        return DP_OK;
    uint64_t since = dpi_change_shapes_begin();
    dpi_growth *last = last_growth(s, &undone);
    if (last != NULL)
        release_replaced(s, last);
    int rc = check_growth(s, last, bytes, err);
    if (rc == DP_OK)
        rc = grow(s, a, last, undone, bytes, since, err);
    dpi_change_shapes_end(since);
    return rc;
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
