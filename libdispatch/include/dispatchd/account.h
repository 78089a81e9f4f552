/* dispatchd/account.h -- what somebody holds, in numbers and bytes, by holder, each with a limit.
 *
 *     dp_account_new(limits, &a, err);
 *     if (dp_account_charge(a, DP_HOLDER_PROGRAMS, 1, bytes, err) == 0) ...
 *     dp_account_refund(a, DP_HOLDER_PROGRAMS, 1, bytes);
 *     dp_account_close(a);
 *
 * What a call makes is charged to its context's account (dp_ctx_set_account) before it is there:
 * tensors' storages and what they grow by, pinned memory, scratch.  DP_ERESOURCE, and nothing has
 * happened, if that is too much.  It is refunded when the memory is given back: that of a device
 * when no stream uses it any more.  Several tensors, holders and accounts may share a storage,
 * which is charged once: to DP_HOLDER_INTERMEDIATES of whose call made it while nobody keeps it,
 * and to a keeper while somebody does (dp_account_charge_tensor).  So what one session's call left
 * in a plugin is charged to the other session that names it.  Any thread. */
#ifndef DISPATCHD_ACCOUNT_H
#define DISPATCHD_ACCOUNT_H

#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(NAME, name): a storage that several hold is charged to the first of them in this order. */
#define DP_HOLDER_MAP(X)                                                                           \
    X(TENSORS, tensors)             /* that handles name */                                        \
    X(INTERMEDIATES, intermediates) /* what calls made that no handle names; scratch, answers */   \
    X(PROGRAMS, programs)           /* and what their constants hold */                            \
    X(PROGRAM_CACHE, program_cache) /* the same, of those that came inline */                      \
    X(GENERATORS, generators)                                                                      \
    X(OBJECTS, objects) /* of plugins, and handles that name them */
#define DP_HOLDER_ENUM_(NAME, name) DP_HOLDER_##NAME,
enum { DP_HOLDER_MAP(DP_HOLDER_ENUM_) DP_HOLDERS };
#undef DP_HOLDER_ENUM_

typedef struct dp_account dp_account;

typedef struct dp_holder_limit {
    const char *count_name, *bytes_name; /* of the limits, for errors */
    uint64_t count, bytes;
} dp_holder_limit;

typedef struct dp_usage {
    uint64_t count, bytes;
} dp_usage;

DP_API const char *dp_holder_name(int holder); /* "tensors" */
/* limits [DP_HOLDERS], borrowed until the memory of the last thing charged is gone.  *out owned. */
DP_API int dp_account_new(const dp_holder_limit *limits, dp_account **out, dp_error *err);
DP_API dp_account *dp_account_ref(dp_account *a); /* shared: returns a, to be closed once more */
/* Takes.  What is still charged may be refunded afterwards.  NULL is fine; returns NULL. */
DP_API dp_account *dp_account_close(dp_account *a);
/* Both or neither.  DP_ERESOURCE names the limit, the holder, what was asked for and what is left.
 */
DP_API int dp_account_charge(dp_account *a, int holder, uint64_t count, uint64_t bytes,
                             dp_error *err);
DP_API void dp_account_refund(dp_account *a, int holder, uint64_t count, uint64_t bytes);
/* Charge the bytes of t's storage, unless somebody keeps them already who comes no later in
 * DP_HOLDER_MAP, of whichever account; a holder that comes first takes them over from one behind
 * it.  At the last of as many dp_account_refund_tensor() as there were calls of this for the same
 * holder they are refunded or, if a call made them, intermediates again until they are given
 * back. */
DP_API int dp_account_charge_tensor(dp_account *a, int holder, const dp_tensor *t, dp_error *err);
/* The same for memory that there is already: it may exceed the limit, and nothing else then
 * fits. */
DP_API void dp_account_charge_tensor_anyway(dp_account *a, int holder, const dp_tensor *t);
DP_API void dp_account_refund_tensor(dp_account *a, int holder, const dp_tensor *t);
DP_API void dp_account_usage(const dp_account *a, dp_usage out[DP_HOLDERS]);

#ifdef __cplusplus
}
#endif
#endif
