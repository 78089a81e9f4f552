/* storage.c -- bytes on one device.
 *
 * A storage lies in the home of a tensor, the block of memory that also holds the tensor, its
 * version and its geometry (home.h).  Its bytes lie there, too, if they are few and in host memory.
 * A storage has the number of its device (dp_device), and no pointer to a plugin's code.  Its bytes
 * may be used only between dpi_storage_enter() and dpi_device_leave().  Bytes in device memory are
 * a block (block.c).  When the device ends, it takes the block back, and the storage stays without
 * data. */
#include "base/account.h"
#include "base/kind.h"
#include "meter.h"
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

DPI_HOT static void release_nothing(void *arg)
{
    (void)arg;
}

DPI_HOT size_t dpi_storage_inline_bytes(dp_device device, size_t bytes)
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
    /* not NULL: if possible, memory that other processes can map, of this account (shared.c) */
    dp_account *shared;
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
    if (from.shared != NULL && dpi_shared_new(s, from.shared, NULL) == DP_OK)
        return DP_OK;
    if (s->total_bytes > s->bytes) /* it was charged for whole pages */
        dpi_charge_end(dpi_storage_split_charge(s, s->total_bytes - s->bytes, true));
    s->data = dpi_memory_alloc(s->bytes);
    return s->data || s->bytes == 0 ? DP_OK : out_of_memory(s->device, s->bytes, err);
}

/* Return how many bytes of host memory `s` itself counts; block.c counts the bytes of a block, and
 * may set `data` to NULL at the same time, when a plugin is unloaded by force. */
static int64_t memory_bytes(const dpi_storage *s)
{
    return s->block == NULL && s->data ? (int64_t)s->bytes : 0;
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
DPI_HOT static void storage_clear(dpi_storage *s, dp_device device, size_t bytes)
{
    s->device = device;
    s->data = NULL;
    s->bytes = bytes;
    atomic_init(&s->id, 0);
    s->release = NULL;
    s->release_arg = NULL;
    s->host = s->memoryless = s->fake = s->call_made = s->fixed = s->named = false;
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
    s->release_arg = dpi_meter_storage(bytes);
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

int dpi_storage_init_memory(dpi_storage *s, dpi_target at, size_t bytes, dp_error *err)
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
    dp_account *shared =
        at.account != NULL && dpi_account_shares(at.account, bytes) ? at.account : NULL;
    s->total_bytes = shared != NULL && d->host ? dpi_shared_bytes(bytes) : bytes;
    rc = memory_init(s, d, at.account, (source){at.streams, NULL, shared}, err);
    dpi_device_leave(d);
    return rc;
}

int dpi_storage_init_shared(dpi_storage *s, dp_account *a, size_t bytes, dp_error *err)
{
    storage_clear(s, DP_DEVICE_CPU, bytes);
    s->total_bytes = bytes;
    s->host = true;
    int rc = dpi_shared_new(s, a, err);
    if (rc == DP_OK)
        storage_count(s);
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
             : memory_init(s, d, at.account, (source){0, name, NULL}, err);
    dpi_device_leave(d);
    return rc;
}

DPI_HOT int dpi_storage_init(dpi_storage *s, dpi_target at, size_t bytes, void *inline_data,
                             dp_error *err)
{
    if (dpi_storage_inline_bytes(at.device, bytes) == 0)
        return dpi_storage_init_memory(s, at, bytes, err);
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

void dpi_storage_settle(dpi_storage *s, dpi_charge charge)
{
    if (s->block)
        dpi_block_charge(s->block, charge);
    else if (s->release == dpi_block_release)
        dpi_block_charge(s->release_arg, charge);
    else if (s->release == dpi_shared_release)
        dpi_shared_charge(s->release_arg, charge);
    else
        dpi_charge_end(charge);
}

/* Let a storage without memory count no longer. */
static void end_metering(dpi_storage *s)
{
    dpi_meter_storage_end(s->release_arg, s->bytes);
    s->release_arg = NULL;
}

DPI_HOT void dpi_storage_memory_release(dpi_storage *s)
{
    int64_t bytes = memory_bytes(s);

    if (s->block)
        dpi_block_drop(s->block);
    else if (s->release)
        s->release(s->release_arg);
    else if (!s->memoryless)
        dpi_memory_free(s->data, s->bytes);
    else if (s->release_arg != NULL)
        end_metering(s);
    if (bytes > 0)
        dpi_bytes_count(-bytes);
}

DPI_HOT void dpi_storage_memory_fini(dpi_storage *s)
{
    bool counted = s->block == NULL; /* else block.c counts the block */

    dpi_storage_memory_release(s);
    if (counted)
        dpi_backend_unref(dp_device_backend(s->device));
}
