/* block.c -- memory that a device's code allocated or pinned, and the streams that use it.
 *
 * A block outlives its storage while streams use it (dp_record_stream).  Such a block waits on a
 * list, with one event for each stream.  After these events, the next allocation on its device, or
 * dpi_blocks_reap(), releases it.  Threads wait only if memory is exhausted or a device ends.  A
 * device lists all of its blocks, so that its code can take them back before it is unloaded.
 *
 * Over 500 lines: all functions share one lock and two lists that no other source file sees. */
#include "base/stream.h"
#include "room.h"
#include <pthread.h>
#include <stdlib.h>

typedef struct use {
    struct use *next;
    dp_stream *stream; /* a reference */
    /* a reference; recorded when the block begins to wait; NULL: nothing to wait for */
    dp_event *event;
} use;

struct dpi_block {
    dpi_device *owner; /* a reference; enter it with dpi_device_use() */
    dp_device device;
    dpi_storage *storage; /* whose data it is; NULL: pinned memory, or the storage was freed */
    void *data;
    size_t bytes;
    bool pinned;          /* host memory; else memory of the device */
    bool imported;        /* from another process: released by import_end() */
    dp_stream *stream;    /* a reference; ops.allocate got it; NULL: the default stream */
    atomic_bool unpinned; /* the device ended: `data` is ordinary host memory now */
    /* change at which a reload did not adopt the block (dpi_changes); 0: none */
    atomic_uint_fast64_t since;
    use *uses;
    dpi_charge charge;                   /* charge that is refunded when the block is freed */
    struct dpi_block *next, **prev_next; /* in owner->blocks */
    struct dpi_block *next_waiting;
};

enum { PAGE = 4096, ALIGN = 64 /* as in dp_device_ops */ };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects lists, `uses`, `storage` */

/* -- lists -- */

static void list(dpi_block *b, dpi_device *d)
{
    pthread_mutex_lock(&lock);
    b->next = d->blocks;
    b->prev_next = &d->blocks;
    if (b->next)
        b->next->prev_next = &b->next;
    d->blocks = b;
    pthread_mutex_unlock(&lock);
}

/* The caller holds the lock. */
static void unlist_locked(dpi_block *b)
{
    if (b->prev_next == NULL)
        return;
    *b->prev_next = b->next;
    if (b->next)
        b->next->prev_next = b->prev_next;
    b->prev_next = NULL;
}

static void unlist(dpi_block *b)
{
    pthread_mutex_lock(&lock);
    unlist_locked(b);
    pthread_mutex_unlock(&lock);
}

/* Take all waiting blocks off the list of `d`, so that no other thread finds them. */
static dpi_block *take_waiting(dpi_device *d)
{
    pthread_mutex_lock(&lock);
    dpi_block *all = d->waiting;
    d->waiting = NULL;
    pthread_mutex_unlock(&lock);
    return all;
}

static void add_waiting(dpi_block *b, dpi_device *d)
{
    pthread_mutex_lock(&lock);
    b->next_waiting = d->waiting;
    d->waiting = b;
    pthread_mutex_unlock(&lock);
}

/* -- the end of a block -- */

/* Let owner `d`, which the caller has entered or closed, release or unpin b's data. */
static void return_to_device(dpi_block *b, const dpi_device *d)
{
    if (b->data == NULL)
        return;
    if (b->pinned) {
        if (!atomic_exchange(&b->unpinned, true))
            d->ops.unpin(b->data, b->bytes);
        return;
    }
    if (b->imported)
        d->ops.import_end(dp_device_index(b->device), b->data, b->bytes);
    else
        d->ops.release(dp_device_index(b->device), b->data, b->bytes, dpi_stream_of(b->stream, d));
    dpi_bytes_count(-(int64_t)b->bytes);
    b->data = NULL;
}

static void uses_free(dpi_block *b)
{
    for (use *u; (u = b->uses) != NULL; dp_free(u)) {
        b->uses = u->next;
        dp_event_unref(u->event);
        dp_stream_unref(u->stream);
    }
}

static void block_free(dpi_block *b)
{
    dpi_device *d;

    if (dpi_device_use(&b->owner, true, &d, NULL) == DP_OK) {
        return_to_device(b, d);
        unlist(b);
        dpi_device_leave(d);
    } else {
        unlist(b);
    }
    if (b->pinned)
        free(b->data);
    else if (b->data) /* its device could not take it back */
        dpi_bytes_count(-(int64_t)b->bytes);
    if (!b->pinned)
        dpi_backend_unref(dp_device_backend(b->device));
    uses_free(b);
    dp_stream_unref(b->stream);
    dpi_device_unref(b->owner);
    dpi_charge_end(b->charge);
    dp_free(b);
}

/* -- streams that use it -- */

int dpi_block_record(dpi_block *b, dp_stream *s, dp_error *err)
{
    use *u = dp_calloc(1, sizeof(*u)), *known;

    if (u == NULL)
        return dpi_no_memory(err, "a stream that uses a tensor");
    u->stream = dp_stream_ref(s);
    pthread_mutex_lock(&lock);
    for (known = b->uses; known && known->stream != s; known = known->next)
        continue;
    if (known == NULL) {
        u->next = b->uses;
        b->uses = u;
    }
    pthread_mutex_unlock(&lock);
    if (known != NULL) {
        dp_stream_unref(s);
        dp_free(u);
    }
    return DP_OK;
}

/* Record an event in u's stream.  If that fails, wait for the stream, because memory in use must
 * not be released. */
static void use_mark(use *u)
{
    if (dpi_event_new_on(u->stream, &u->event, NULL) == DP_OK &&
        dpi_event_record(u->event, u->stream, NULL) == DP_OK)
        return;
    u->event = dp_event_unref(u->event);
    dpi_stream_synchronize(u->stream, NULL);
}

/* Have all streams finished with `b`?  Yes if a query fails: dpi_device_end() waits for all
 * work. */
static bool is_over(const dpi_block *b)
{
    bool done = true;

    for (const use *u = b->uses; u && done; u = u->next)
        if (u->event && dpi_event_query(u->event, &done, NULL) < 0)
            done = true;
    return done;
}

static struct {
    void (*fn)(void *arg);
    void *arg;
} aside_listener; /* protected by `lock` */

void dp_on_aside(void (*fn)(void *arg), void *arg)
{
    pthread_mutex_lock(&lock);
    aside_listener.fn = fn;
    aside_listener.arg = arg;
    pthread_mutex_unlock(&lock);
}

static void call_aside_listener(void)
{
    pthread_mutex_lock(&lock);
    if (aside_listener.fn)
        aside_listener.fn(aside_listener.arg);
    pthread_mutex_unlock(&lock);
}

/* Make `b`, whose storage was freed, wait if streams still use it, and return true if it waits. */
static bool put_aside(dpi_block *b)
{
    dpi_device *d;

    if (b->uses == NULL || dpi_device_use(&b->owner, true, &d, NULL) < 0)
        return false;
    bool ordered = d->ops.flags & DP_DEVICE_STREAM_ORDERED;
    for (use *u = b->uses; u; u = u->next)
        if (!ordered || u->stream != b->stream) /* else the device orders the release itself */
            use_mark(u);
    bool waits = !is_over(b);
    if (waits)
        add_waiting(b, d);
    dpi_device_leave(d);
    if (waits)
        call_aside_listener();
    return waits;
}

void dpi_block_drop(dpi_block *b)
{
    pthread_mutex_lock(&lock);
    b->storage = NULL;
    pthread_mutex_unlock(&lock);
    if (!put_aside(b))
        block_free(b);
}

/* Free blocks whose streams are done, and return how many still wait.  The caller has entered
 * `d`. */
static size_t reap(dpi_device *d)
{
    size_t left = 0;

    for (dpi_block *b, *all = take_waiting(d); (b = all) != NULL;) {
        all = b->next_waiting;
        if (is_over(b)) {
            block_free(b);
        } else {
            add_waiting(b, d);
            left++;
        }
    }
    return left;
}

size_t dpi_blocks_reap(void)
{
    dpi_device *d;
    size_t left = 0;

    for (int bit = DP_B_CPU + 1; bit < DP_B_NAMED_FIRST + DP_B_NAMED_MAX; bit++)
        if (dpi_device_enter(bit, &d, NULL) == DP_OK) {
            left += reap(d);
            dpi_device_leave(d);
        }
    return left;
}

/* Wait for all waiting blocks and free them.  False: there were none.  `d` is entered. */
static bool settle(dpi_device *d)
{
    dpi_block *b, *all = take_waiting(d);
    bool any = all != NULL;

    for (; (b = all) != NULL; block_free(b)) {
        all = b->next_waiting;
        for (use *u = b->uses; u; u = u->next)
            if (u->event)
                dpi_event_synchronize(u->event, NULL);
    }
    return any;
}

void dpi_blocks_settle(int bit)
{
    dpi_device *d;

    if (dpi_device_enter(bit, &d, NULL) < 0)
        return;
    settle(d);
    dpi_device_leave(d);
}

/* -- making a block -- */

static int out_of_memory(dp_device device, size_t bytes, dp_error *err)
{
    char name[DP_KEY_NAME_MAX];
    return dp_error_set(err, DP_ERESOURCE, "out of memory: %zu bytes for a tensor on %s", bytes,
                        dp_device_name(device, name));
}

/* Check b->data, which function `by` made.  DP_EPLUGIN: misaligned.  DP_ERESOURCE: NULL. */
static int check_address(const dpi_device *d, const char *by, const dpi_block *b, dp_error *err)
{
    if ((uintptr_t)b->data % ALIGN == 0)
        return b->data ? DP_OK : out_of_memory(b->device, b->bytes, err);
    return dp_error_set(err, DP_EPLUGIN, "backend %s: %s gave %p, which is not aligned to %d bytes",
                        d->name, by, b->data, ALIGN);
}

/* Allocate the data of `b`.  If the device is out of memory, try again after waiting blocks are
 * freed, and after the device has released what it caches.  The caller has entered `d`. */
static int allocate(dpi_device *d, dpi_block *b, dp_error *err)
{
    dp_error theirs = DP_ERROR_INIT, ignored = DP_ERROR_INIT;
    void *stream = dpi_stream_of(b->stream, d);
    int index = dp_device_index(b->device);
    int rc = d->ops.allocate(index, b->bytes, stream, &b->data, &theirs);

    if (rc == DP_ERESOURCE && settle(d))
        rc = d->ops.allocate(index, b->bytes, stream, &b->data, &theirs);
    if (rc == DP_ERESOURCE && d->ops.trim && d->ops.trim(index, b->bytes, &ignored) == 0)
        rc = d->ops.allocate(index, b->bytes, stream, &b->data, &theirs);
    if (rc != 0)
        return dpi_device_failed(d, "allocate", rc, &theirs, err);
    rc = check_address(d, "allocate", b, err);
    if (rc == DP_EPLUGIN)
        d->ops.release(index, b->data, b->bytes, stream);
    return rc;
}

/* The caller has entered `d`. */
static int import(dpi_device *d, dpi_block *b, const dp_block_name *name, dp_error *err)
{
    dp_error theirs = DP_ERROR_INIT;
    int index = dp_device_index(b->device);
    int rc = d->ops.import_block(index, name, b->bytes, &b->data, &theirs);

    if (rc != 0)
        return dpi_device_failed(d, "import_block", rc, &theirs, err);
    b->imported = true;
    rc = check_address(d, "import_block", b, err);
    if (rc == DP_EPLUGIN)
        d->ops.import_end(index, b->data, b->bytes);
    return rc;
}

/* Return the current stream of `device` in dp_streams number `streams`; NULL: the default. */
static dp_stream *stream_for(const dpi_device *d, uint32_t streams, dp_device device)
{
    dp_streams *all = d->ops.stream_new != NULL ? dpi_streams_of(streams) : NULL;
    dp_stream *s = NULL;

    if (all != NULL && dpi_streams_get(all, device, NULL, &s, NULL) == DP_OK &&
        dp_stream_handle(s) == NULL)
        s = dp_stream_unref(s);
    return s;
}

static dpi_block *block_new(dpi_device *d, dp_device device, size_t bytes)
{
    dpi_block *b = dp_calloc(1, sizeof(*b));

    if (b == NULL)
        return NULL;
    b->owner = dpi_device_ref(d);
    b->device = device;
    b->bytes = bytes;
    return b;
}

/* Make the block of `storage`.  `name` not NULL: open this block of another process. */
static int block_for(dpi_device *d, dpi_storage *storage, uint32_t streams,
                     const dp_block_name *name, dp_error *err)
{
    int rc = DP_OK;
    dpi_block *b = block_new(d, storage->device, storage->bytes);
    if (b == NULL)
        return dpi_no_memory(err, "a block of a device");
    reap(d);
    b->stream = stream_for(d, streams, storage->device);
    if (storage->bytes > 0)
        rc = name ? import(d, b, name, err) : allocate(d, b, err);
    if (rc < 0) {
        dp_stream_unref(b->stream);
        dpi_device_unref(b->owner);
        dp_free(b);
        return rc;
    }
    b->storage = storage;
    storage->data = b->data;
    storage->block = b;
    dpi_backend_ref(dp_device_backend(storage->device));
    if (b->data)
        dpi_bytes_count((int64_t)b->bytes);
    list(b, d);
    return DP_OK;
}

int dpi_block_new(dpi_device *d, dpi_storage *storage, uint32_t streams, dp_error *err)
{
    return block_for(d, storage, streams, NULL, err);
}

int dpi_block_import(dpi_device *d, dpi_storage *storage, const dp_block_name *name, dp_error *err)
{
    return block_for(d, storage, 0, name, err);
}

void dpi_block_release(void *arg)
{
    dpi_block_drop(arg);
}

void dpi_block_charge(dpi_block *b, dpi_charge charge)
{
    b->charge = charge;
}

dpi_block *dpi_block_of(const dpi_storage *s)
{
    return s->release == dpi_block_release ? s->release_arg : dpi_memory_of(s)->block;
}

const dpi_device *dpi_block_pinned_by(const dpi_block *b)
{
    return b->pinned && !atomic_load(&b->unpinned) ? b->owner : NULL;
}

int dpi_block_pin(dpi_device *d, dp_device device, size_t bytes, dpi_block **out, void **data,
                  dp_error *err)
{
    dp_error theirs = DP_ERROR_INIT;
    size_t padded = (bytes + PAGE - 1) / PAGE * PAGE;
    dpi_block *b = block_new(d, device, padded);

    if (b == NULL || dpi_fault() || (b->data = aligned_alloc(PAGE, padded)) == NULL) {
        if (b)
            dpi_device_unref(b->owner);
        dp_free(b);
        return dp_error_set(err, DP_ERESOURCE, "out of memory: %zu bytes to pin", bytes);
    }
    int rc = d->ops.pin(b->data, padded, &theirs);
    if (rc != 0) {
        rc = dpi_device_failed(d, "pin", rc, &theirs, err);
        dpi_device_unref(b->owner);
        free(b->data);
        dp_free(b);
        return rc;
    }
    b->pinned = true;
    list(b, d);
    *out = b;
    *data = b->data;
    return DP_OK;
}

/* -- using a block -- */

/* Did this thread's call, which may use `b`, begin before the reload that did not adopt `b`? */
static bool began_before(const dpi_block *b)
{
    uint64_t since = atomic_load_explicit(&b->since, memory_order_acquire);

    return since != 0 && dpi_call_since() != 0 && dpi_call_since() < since;
}

void *dpi_block_replaced_data(const dpi_block *b)
{
    return began_before(b) ? b->data : NULL;
}

int dpi_block_enter(const dpi_block *b, dpi_device **out, dp_error *err)
{
    return dpi_device_use(&b->owner, began_before(b), out, err);
}

/* -- devices that end -- */

/* Give all blocks back to `d`, which is closed.  Pinned memory stays with its tensors, unpinned. */
static void return_all(dpi_device *d)
{
    for (dpi_block *b;;) {
        pthread_mutex_lock(&lock);
        if ((b = d->blocks) != NULL)
            unlist_locked(b);
        if (b && b->storage)
            __atomic_store_n(&b->storage->data, NULL, __ATOMIC_RELAXED);
        pthread_mutex_unlock(&lock);
        if (b == NULL)
            return;
        return_to_device(b, d); /* dpi_block_drop() in other threads waits to enter `d` */
    }
}

void dpi_device_quiet(dpi_device *d)
{
    dpi_device_close(d);
    dpi_streams_end(d);
    for (dpi_block *b = d->blocks, *next; b; b = next) {
        next = b->next;
        if (b->pinned) {
            unlist(b);
            return_to_device(b, d);
        }
    }
    dpi_device_open(d);
}

void dpi_device_end(dpi_device *d)
{
    if (d->bit < 0)
        return; /* it never became the device of a backend */
    dpi_device_close(d);
    dpi_streams_end(d);
    dpi_block *waiting = take_waiting(d);
    return_all(d);
    dpi_device_finish(d);
    for (dpi_block *b; (b = waiting) != NULL; block_free(b))
        waiting = b->next_waiting;
}

/* Tell whether the new code `d` takes over `b`, which the closed device `old` allocated. */
static bool adopt(const dpi_block *b, const dpi_device *old, const dpi_device *d)
{
    dp_error ignored = DP_ERROR_INIT;
    int index = dp_device_index(b->device);

    if (b->imported || d->ops.adopt == NULL ||
        d->ops.adopt(index, b->data, b->bytes, &ignored) != 0)
        return false;
    if (old->ops.adopted != NULL)
        old->ops.adopted(index, b->data, b->bytes);
    return true;
}

/* Move `b` from `old` to `d` if d's code adopts it; else return false, and only calls that began
 * before change `since` use `b` from now on.  `handed`: result of dpi_device_hand_over(). */
static bool adopt_or_retire(dpi_block *b, const dpi_device *old, dpi_device *d, bool handed,
                            uint64_t since)
{
    if (b->data == NULL || (handed && adopt(b, old, d))) {
        unlist(b);
        dpi_device_move(&b->owner, d);
        list(b, d);
        return true;
    }
    atomic_store_explicit(&b->since, since, memory_order_release);
    pthread_mutex_lock(&lock);
    if (b->storage)
        __atomic_store_n(&b->storage->data, NULL, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
    return false;
}

static bool has_storage(const dpi_block *b)
{
    pthread_mutex_lock(&lock);
    bool has = b->storage != NULL;
    pthread_mutex_unlock(&lock);
    return has;
}

uint64_t dpi_device_storages(const dpi_device *d)
{
    uint64_t n = 0;

    if (d->host) /* host memory: there are no blocks, and a reload loses none */
        return dpi_backend_storages(d->bit);
    pthread_mutex_lock(&lock);
    for (const dpi_block *b = d->blocks; b; b = b->next)
        n += b->storage != NULL;
    pthread_mutex_unlock(&lock);
    return n;
}

/* No other thread is in `old`, so its list changes only here.  Shape changes are excluded before
 * `old` is closed, since a thread that changes a shape may wait to enter `old`. */
uint64_t dpi_device_replace(dpi_device *old, const char *owner, dpi_device *d)
{
    uint64_t since = dpi_change_shapes_begin(), lost = 0;

    dpi_device_close(old);
    d->bit = old->bit;
    dpi_device_close(d); /* nobody may use adopted blocks before dpi_backend_replace() */
    bool handed = dpi_device_hand_over(old, d);
    for (dpi_block *b = old->blocks, *next; b; b = next) {
        next = b->next;
        if (has_storage(b))
            lost += !adopt_or_retire(b, old, d, handed, since);
    }
    dpi_backend_replace(old, owner, d);
    dpi_change_shapes_end(since);
    return lost;
}
