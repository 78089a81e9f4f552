/* programs.c -- a session's programs: programs made by program.create, found by handle, and a cache
 * of programs whose steps were sent in program.run, found by content.
 *
 * All programs are released when the session ends.  A call that runs a program holds a reference to
 * it, so releasing a program or evicting it from the cache never waits for the call. */
#include "session.h"
#include <string.h>

void programs_init(programs *ps, dp_account *account)
{
    ps->account = account;
    pthread_mutex_init(&ps->lock, NULL);
}

void programs_fini(programs *ps)
{
    for (size_t i = 0; i < ps->n_handles; i++)
        dp_program_unref(ps->handles[i].program);
    dp_free(ps->handles);
    for (size_t i = 0; i < ps->n_cached; i++) {
        dp_program_unref(ps->cached[i].program);
        dp_free(ps->cached[i].key);
    }
    pthread_mutex_destroy(&ps->lock);
}

static size_t bytes_of(const dp_program *p)
{
    dp_program_info info = {.size = sizeof(info)};

    dp_program_info_get(p, &info);
    return info.bytes + info.constant_bytes;
}

/* -- programs with a handle; the caller holds `lock` -- */

static program_handle *find(programs *ps, uint64_t id)
{
    return array_find(ps->handles, ps->n_handles, sizeof(*ps->handles), id);
}

static int reserve_handle(programs *ps, size_t bytes, dp_error *err)
{
    program_handle *handles =
        array_grow(ps->handles, ps->n_handles, &ps->cap_handles, sizeof(*handles));

    if (handles == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: handle");
    ps->handles = handles;
    return dp_account_charge(ps->account, DP_HOLDER_PROGRAMS, 1, bytes, err);
}

uint64_t programs_put(programs *ps, dp_program *p, dp_error *err)
{
    uint64_t id = 0;

    pthread_mutex_lock(&ps->lock);
    if (reserve_handle(ps, bytes_of(p), err) == 0) {
        id = ++ps->last_handle;
        ps->handles[ps->n_handles++] = (program_handle){id, dp_program_ref(p)};
    }
    pthread_mutex_unlock(&ps->lock);
    return id;
}

dp_program *programs_get(programs *ps, uint64_t id)
{
    pthread_mutex_lock(&ps->lock);
    const program_handle *h = find(ps, id);
    dp_program *p = h != NULL ? dp_program_ref(h->program) : NULL;
    pthread_mutex_unlock(&ps->lock);
    return p;
}

bool programs_release(programs *ps, uint64_t id)
{
    dp_program *p = NULL;

    pthread_mutex_lock(&ps->lock);
    program_handle *h = find(ps, id);
    if (h != NULL) {
        p = h->program;
        dp_account_refund(ps->account, DP_HOLDER_PROGRAMS, 1, bytes_of(p));
        ps->n_handles--;
        dp_move_n(h, h + 1, (size_t)(ps->handles + ps->n_handles - h), sizeof(*h));
    }
    pthread_mutex_unlock(&ps->lock);
    dp_program_unref(p);
    return p != NULL;
}

/* -- the cache of inline programs -- */

dp_program *programs_recall(programs *ps, const char *key, size_t bytes)
{
    dp_program *p = NULL;

    pthread_mutex_lock(&ps->lock);
    for (size_t i = 0; i < ps->n_cached && p == NULL; i++) {
        cached_program *k = &ps->cached[i];
        if (k->key_bytes != bytes || memcmp(k->key, key, bytes) != 0)
            continue;
        k->used = ++ps->uses;
        p = dp_program_ref(k->program);
    }
    pthread_mutex_unlock(&ps->lock);
    return p;
}

/* Move the least recently used program from the cache to `*out`.  The caller holds `lock`. */
static void evict_oldest(programs *ps, cached_program *out)
{
    size_t oldest = 0;

    for (size_t i = 1; i < ps->n_cached; i++)
        if (ps->cached[i].used < ps->cached[oldest].used)
            oldest = i;
    *out = ps->cached[oldest];
    ps->cached[oldest] = ps->cached[--ps->n_cached];
    dp_account_refund(ps->account, DP_HOLDER_PROGRAM_CACHE, 1, out->bytes);
}

void programs_remember(programs *ps, const char *key, size_t bytes, dp_program *p)
{
    cached_program evicted[LIMIT_PROGRAM_CACHE + 1], k = {.key_bytes = bytes, .program = p};
    size_t n_evicted = 0;

    k.bytes = bytes_of(p) + bytes;
    if (k.bytes > LIMIT_SIZE(PROGRAM_CACHE_BYTES) || (k.key = dp_malloc(bytes + 1)) == NULL)
        return;
    memcpy(k.key, key, bytes);
    dp_program_ref(p);
    pthread_mutex_lock(&ps->lock);
    bool charged;
    while (!(charged =
                 dp_account_charge(ps->account, DP_HOLDER_PROGRAM_CACHE, 1, k.bytes, NULL) == 0) &&
           ps->n_cached > 0)
        evict_oldest(ps, &evicted[n_evicted++]);
    if (charged) {
        k.used = ++ps->uses;
        ps->cached[ps->n_cached++] = k;
    } else {
        /* other sessions of the uid hold what the limit allows, or the limit was lowered */
        evicted[n_evicted++] = k;
    }
    pthread_mutex_unlock(&ps->lock);
    for (size_t i = 0; i < n_evicted; i++) {
        dp_program_unref(evicted[i].program);
        dp_free(evicted[i].key);
    }
}
