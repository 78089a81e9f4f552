/* keybits.h -- the bits of functionalities in key sets; only the host (libdispatch) knows them,
 * plugins do not.
 *
 * A dp_key contains the id of a functionality, which never changes.  The rank of a functionality is
 * its position in the order of priorities, counted from 1.  Its bit in a key set is bit rank - 1.
 * A new functionality in the middle of the order changes the ranks above it, but no id.  Plugins
 * are compiled with ids only.  Functions of api.h that need a bit are implemented here. */
#ifndef DPI_KEYBITS_H
#define DPI_KEYBITS_H

#include <dispatchd/key.h>

#pragma GCC visibility push(hidden)

/* Ranks: DPI_RANK_Dense and so on; Undefined has rank 0.  The empty comment prevents clang-format
 * from joining lines. */
enum {
    DPI_RANK_Undefined,
#define RANK(name, id, per_backend, prefix) DPI_RANK_##name,
    DP_BACKEND_FUNCTIONALITIES(RANK) /**/
    DP_LAYER_FUNCTIONALITIES(RANK)
#undef RANK
        DPI_RANKS,
    DPI_RANK_LAYER_FIRST = DPI_RANK_BackendSelect
};
_Static_assert(DPI_RANKS <= 64, "bit 63 of the functionalities is the skip bit");

/* Bit of a functionality, by name: DPI_BIT(Dense). */
#define DPI_BIT(name) ((uint64_t)1 << (DPI_RANK_##name - 1))

/* Ranks by id.  0: the id is Undefined's, an alias's or unused. */
extern const uint8_t dpi_ranks[256];
/* Keys without a backend, by rank. */
extern const dp_key dpi_rank_keys[64];

static inline int dpi_rank(dp_key k)
{
    return dpi_ranks[dp_key_functionality(k)];
}

/* Bit of the functionality of `k`; 0: `k` is Undefined or an alias. */
static inline uint64_t dpi_key_bit(dp_key k)
{
    return ((uint64_t)1 << dpi_rank(k)) >> 1;
}

/* Bits of the functionalities that DP_FUNCTIONALITY_MAP (key.h) calls per-backend. */
#define DPI_PER_BACKEND_BITS (0 DP_FUNCTIONALITY_MAP(DPI_PER_BACKEND_BIT_))
/* The bit of one row of the map, with | before it; 0 for a row that is not per-backend. */
#define DPI_PER_BACKEND_BIT_(name, id, per_backend, prefix) | (per_backend)*DPI_BIT(name)
/* Bits of the functionalities from AutocastCPU to AutocastNamed. */
#define DPI_AUTOCAST_BITS (2 * DPI_BIT(AutocastNamed) - DPI_BIT(AutocastCPU))
#define DPI_AUTOGRAD_BITS                                                                          \
    (DPI_BIT(AutogradFunctionality) | DPI_BIT(AutogradOther) | DPI_BIT(AutogradNestedTensor))
/* Bits of the functionalities from Kind0 to Kind7. */
#define DPI_KIND_BITS (2 * DPI_BIT(Kind7) - DPI_BIT(Kind0))
#define DPI_MATH_BITS (DPI_BIT(Conjugate) | DPI_BIT(Negative))

/* The skip bit, which is no functionality's.  Set: a tensor with this key set, or an argument of
 * this call, may need a gradient.  Clear: kernels with DP_FLAG_GRAD are skipped.  If the bit is set
 * needlessly, the call is slower but correct.  Only key sets inside tensors and calls use the bit;
 * in key sets that kernels read or pass it has no meaning. */
#define DPI_GRAD_BIT ((uint64_t)1 << 63)

/* Is `k` a key of layers (abi.h; DP_LAYER_FUNCTIONALITIES of key.h)? */
static inline bool dpi_is_layer(dp_key k)
{
    return dpi_rank(k) >= DPI_RANK_LAYER_FIRST;
}

/* -- implementations of the key set functions of api.h -- */

static inline dp_keyset dpi_keyset_of(dp_key k)
{
    int b = dp_key_backend(k);
    dp_keyset s = {dpi_key_bit(k), b >= 0 ? DP_BBIT(b & 63) : 0};
    return s;
}

static inline dp_keyset dpi_keyset_below(dp_keyset s, dp_key k)
{
    uint64_t below = dpi_key_bit(k) - (dpi_rank(k) != 0); /* no key is below Undefined */
    dp_keyset r = {s.functionality & (below | DPI_BIT(PythonDispatcher)), s.backend};
    return r;
}

static inline bool dpi_keyset_has(dp_keyset s, dp_key k)
{
    dp_keyset one = dpi_keyset_of(k);
    return (s.functionality & one.functionality) == one.functionality &&
           (s.backend & one.backend) == one.backend;
}

static inline dp_key dpi_keyset_highest(dp_keyset s)
{
    s.functionality &= ~DPI_GRAD_BIT;
    if (s.functionality == 0)
        return DP_KEY_Undefined;
    int rank = 64 - __builtin_clzll(s.functionality);
    dp_key k = dpi_rank_keys[rank & 63];
    if (!(DPI_PER_BACKEND_BITS & s.functionality & ((uint64_t)1 << (rank - 1))))
        return k;
    int b = dp_keyset_backend(s);
    return (dp_key)(k | ((b < 0 ? DP_B_CPU : b) + 1));
}

#pragma GCC visibility pop

#endif
