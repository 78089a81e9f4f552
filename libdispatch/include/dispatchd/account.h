/* dispatchd/account.h -- an account counts what a session uses: for each holder (a kind of use,
 * such as tensors or programs) a number of things and a number of bytes, each with a limit.
 *
 *     dp_account_new(limits, &a, err);
 *     if (dp_account_charge(a, DP_HOLDER_PROGRAMS, 1, bytes, err) == 0) ...
 *     dp_account_refund(a, DP_HOLDER_PROGRAMS, 1, bytes);
 *     dp_account_close(a);
 *
 * A context names the account that pays for its calls (dp_ctx_set_account).  Storages of tensors,
 * the bytes by which a storage grows, pinned memory and scratch memory are charged to this account
 * before they are allocated.  DP_ERESOURCE: over the account's limit; then nothing has changed.
 * The bytes are refunded when the memory is freed; memory of a device is freed when no stream uses
 * it any more.
 *
 * A storage may be used by several tensors, holders and accounts, but is charged once.  A storage
 * that a call made is charged to DP_HOLDER_INTERMEDIATES of the call's account, until it is charged
 * to a holder that stands earlier in DP_HOLDER_MAP (dp_account_charge_tensor()).  For example: a
 * call of session 1 leaves a tensor in a plugin; as soon as session 2 gets a handle of that tensor
 * (the number by which a client names it), its storage is charged to session 2.  All functions may
 * be called from any thread. */
#ifndef DISPATCHD_ACCOUNT_H
#define DISPATCHD_ACCOUNT_H

#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Holders: X(NAME, name).  A storage that several holders use is charged to the first of them in
 * this order. */
#define DP_HOLDER_MAP(X)                                                                           \
    X(NAMES, names)                 /* tensors with a name that outlives sessions */               \
    X(TENSORS, tensors)             /* tensors that handles name */                                \
    X(INTERMEDIATES, intermediates) /* results without a handle, scratch, answers */               \
    X(PROGRAMS, programs)           /* programs and their constants */                             \
    X(PROGRAM_CACHE, program_cache) /* programs cached because a request had them inline */        \
    X(GENERATORS, generators)                                                                      \
    X(OBJECTS, objects) /* objects of plugins; handles that name objects */                        \
    X(HISTORY, history) /* nodes of autograd graphs */                                             \
    X(MEMFDS, memfds)   /* descriptors of memory that processes share (shared.h) */
#define DP_HOLDER_ENUM_(NAME, name) DP_HOLDER_##NAME,
enum { DP_HOLDER_MAP(DP_HOLDER_ENUM_) DP_HOLDERS };
#undef DP_HOLDER_ENUM_

typedef struct dp_account dp_account;

typedef struct dp_holder_limit {
    const char *count_name, *bytes_name; /* names of the two limits, for errors */
    uint64_t count, bytes;
} dp_holder_limit;

typedef struct dp_usage {
    uint64_t count, bytes;
} dp_usage;

DP_API const char *dp_holder_name(int holder); /* "tensors" */
/* Make an account.  `limits` [DP_HOLDERS] is borrowed until the memory of the last thing charged is
 * freed.  *out owned. */
DP_API int dp_account_new(const dp_holder_limit *limits, dp_account **out, dp_error *err);
/* returns `a`, which must then be closed once more */
DP_API dp_account *dp_account_ref(dp_account *a);
/* Release a reference.  Charges that are still open may be refunded later.  NULL is allowed;
 * returns NULL. */
DP_API dp_account *dp_account_close(dp_account *a);
/* Charge `count` things and `bytes`, both or neither.  DP_ERESOURCE names the limit, the holder,
 * the amount asked for and the amount left. */
DP_API int dp_account_charge(dp_account *a, int holder, uint64_t count, uint64_t bytes,
                             dp_error *err);
DP_API void dp_account_refund(dp_account *a, int holder, uint64_t count, uint64_t bytes);
/* Charge `bytes` for memory that is allocated already: the account, and its group, may exceed their
 * limits, and later charges fail until enough is refunded. */
DP_API void dp_account_charge_anyway(dp_account *a, int holder, uint64_t bytes);
/* Make the account use changed values in its array of limits (dp_account_new()).  Write such values
 * by __atomic_store_n(); other threads may read them meanwhile. */
DP_API void dp_account_limits_changed(dp_account *a);
/* Charge the bytes of t's storage to `holder` of account `a`.  If another holder or account pays
 * for the storage, `a` takes the charge over if `holder` stands earlier in DP_HOLDER_MAP; otherwise
 * nothing changes, then or later.  Call dp_account_refund_tensor() once for each call of this
 * function, with the same account and holder.  The charge ends when the holder and account that pay
 * have refunded as often as they have charged, even if others have charged the storage, too: until
 * they are freed, the bytes that operator calls allocated are then charged to
 * DP_HOLDER_INTERMEDIATES of the same account, and other bytes to nobody.  DP_ERESOURCE: over the
 * holder's limit. */
DP_API int dp_account_charge_tensor(dp_account *a, int holder, const dp_tensor *t, dp_error *err);
/* Charge a storage as dp_account_charge_tensor() does, but without failing: the account may exceed
 * its limit, and later charges fail until enough is refunded.  For memory that is allocated
 * already. */
DP_API void dp_account_charge_tensor_anyway(dp_account *a, int holder, const dp_tensor *t);
DP_API void dp_account_refund_tensor(dp_account *a, int holder, const dp_tensor *t);
DP_API void dp_account_usage(const dp_account *a, dp_usage out[DP_HOLDERS]);

/* -- groups: accounts that together have limits of bytes over all holders, and of things -- */

typedef struct dp_account_group dp_account_group;
typedef struct dp_group_limits {
    const char *bytes_name; /* names of limits, for errors */
    uint64_t bytes;         /* over all holders */
    struct {
        const char *name; /* NULL: the group has no limit for the things of this holder */
        uint64_t most;
    } counts[DP_HOLDERS];
} dp_group_limits;
/* Make a group without accounts.  `limits` is borrowed for as long as the group exists.  *out
 * owned. */
DP_API int dp_account_group_new(const dp_group_limits *limits, dp_account_group **out,
                                dp_error *err);
/* Release a reference; each account of the group has one.  NULL is allowed; returns NULL. */
DP_API dp_account_group *dp_account_group_close(dp_account_group *g);
/* Add `a`, which has no group and to which nothing was charged yet, to the group. */
DP_API void dp_account_group_add(dp_account_group *g, dp_account *a);
/* Make the group use changed values in its limits, written as for dp_account_limits_changed().  If
 * a limit is lower than what is charged, only later charges fail. */
DP_API void dp_account_group_limits_changed(dp_account_group *g);
/* Sum up the usage of all accounts of the group. */
DP_API void dp_account_group_usage(dp_account_group *g, dp_usage out[DP_HOLDERS]);

#ifdef __cplusplus
}
#endif
#endif
