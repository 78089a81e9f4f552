/* account.c -- accounts: for each holder a count and a sum of bytes, each with a limit.
 *
 * charged[h].count <= limits[h].count and charged[h].bytes <= limits[h].bytes after each charge
 * that succeeded.  A charge first adds its amount, and subtracts it again if the sum exceeds the
 * limit; a charge of another thread between these two steps may fail although it would fit.
 * Accounts of a group (group.c) also share limits.  The owner has one reference to an account, and
 * each storage charged to it has one (tensor/keep.c). */
#include "account.h"

const char *dp_holder_name(int holder)
{
#define NAME(NAME, name) #name,
    static const char *const names[] = {DP_HOLDER_MAP(NAME)};
#undef NAME
    return names[holder];
}

int dp_account_new(const dp_holder_limit *limits, dp_account **out, dp_error *err)
{
    dp_account *a = dp_calloc(1, sizeof(*a));

    if (a == NULL)
        return dpi_no_memory(err, "an account");
    atomic_init(&a->refs, 1);
    pthread_mutex_init(&a->backward, NULL);
    pthread_mutex_init(&a->cycles_lock, NULL);
    a->limits = limits;
    atomic_init(&a->share_from, UINT64_MAX);
    dp_account_limits_changed(a);
    *out = a;
    return 0;
}

void dpi_account_free(dp_account *a)
{
    dpi_group_leave(a);
    pthread_mutex_destroy(&a->backward);
    pthread_mutex_destroy(&a->cycles_lock);
    dp_free(a);
}

dp_account *dp_account_ref(dp_account *a)
{
    dpi_account_ref(a);
    return a;
}

dp_account *dp_account_close(dp_account *a)
{
    if (a != NULL)
        dpi_account_unref(a);
    return NULL;
}

static int refuse(int holder, const char *what, const char *limit, uint64_t requested,
                  uint64_t before, uint64_t max, dp_error *err)
{
    if (err == NULL)
        return DP_ERESOURCE;
    dp_error_set(err, DP_ERESOURCE, "%s: %llu %s asked for, %llu of %llu left (%s)",
                 dp_holder_name(holder), (unsigned long long)requested, what,
                 (unsigned long long)(before < max ? max - before : 0), (unsigned long long)max,
                 limit);
    return dp_error_limit(DP_ERESOURCE, limit, max, requested);
}

/* Add `n` to `*sum`.  False: the sum would exceed `max`, and is unchanged.  `*before` gets the sum
 * before the addition. */
static bool add(atomic_uint_fast64_t *sum, uint64_t n, uint64_t max, uint64_t *before)
{
    *before = atomic_fetch_add_explicit(sum, n, memory_order_relaxed);
    if (*before <= max && n <= max - *before)
        return true;
    atomic_fetch_sub_explicit(sum, n, memory_order_relaxed);
    return false;
}

/* Charge `bytes`; returns DPI_CHARGED or why not. */
static int add_bytes(dp_account *a, int holder, uint64_t bytes)
{
    uint64_t before = atomic_fetch_add(&a->charged[holder].bytes, bytes);
    uint64_t max = atomic_load(&a->granted[holder]);

    return before <= max && bytes <= max - before ? DPI_CHARGED
                                                  : dpi_account_grow(a, holder, bytes);
}

/* Charge `count` things, which are not 0, to the account and to its group. */
static int charge_count(dp_account *a, int holder, uint64_t count, dp_error *err)
{
    const dp_holder_limit *limit = &a->limits[holder];
    uint64_t before, most = __atomic_load_n(&limit->count, __ATOMIC_RELAXED);

    if (!add(&a->charged[holder].count, count, most, &before))
        return refuse(holder, "more", limit->count_name, count, before, most, err);
    const char *name = dpi_group_count(a, holder, count, &before, &most);
    if (name == NULL)
        return 0;
    atomic_fetch_sub_explicit(&a->charged[holder].count, count, memory_order_relaxed);
    return refuse(holder, "more", name, count, before, most, err);
}

int dp_account_charge(dp_account *a, int holder, uint64_t count, uint64_t bytes, dp_error *err)
{
    const dp_holder_limit *limit = &a->limits[holder];
    uint64_t before, most, left;
    const char *name;

    if (count > 0 && charge_count(a, holder, count, err) < 0)
        return DP_ERESOURCE;
    int why = bytes > 0 ? add_bytes(a, holder, bytes) : DPI_CHARGED;
    if (why == DPI_CHARGED)
        return 0;
    dp_account_refund(a, holder, count, 0);
    if (why == DPI_OVER_GROUP) {
        name = dpi_group_left(a, &left, &most);
        return refuse(holder, "bytes", name, bytes, most - left, most, err);
    }
    before = atomic_load_explicit(&a->charged[holder].bytes, memory_order_relaxed);
    return refuse(holder, "bytes", limit->bytes_name, bytes, before, dpi_account_limit(a, holder),
                  err);
}

void dp_account_charge_anyway(dp_account *a, int holder, uint64_t bytes)
{
    uint64_t now = atomic_fetch_add(&a->charged[holder].bytes, bytes) + bytes;

    if (now > atomic_load(&a->granted[holder]))
        dpi_group_cover(a, holder);
}

void dp_account_refund(dp_account *a, int holder, uint64_t count, uint64_t bytes)
{
    if (count > 0) {
        atomic_fetch_sub_explicit(&a->charged[holder].count, count, memory_order_relaxed);
        dpi_group_uncount(a, holder, count);
    }
    if (bytes > 0)
        atomic_fetch_sub_explicit(&a->charged[holder].bytes, bytes, memory_order_relaxed);
}

void dp_account_usage(const dp_account *a, dp_usage out[DP_HOLDERS])
{
    for (int h = 0; h < DP_HOLDERS; h++)
        out[h] = (dp_usage){atomic_load_explicit(&a->charged[h].count, memory_order_relaxed),
                            atomic_load_explicit(&a->charged[h].bytes, memory_order_relaxed)};
}
