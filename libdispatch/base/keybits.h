/* keybits.h -- which bit of a key set stands for which functionality: the host's alone.
 *
 * A dp_key holds the id of a functionality, which never changes.  Its rank is its place in the
 * order of priorities, from 1, and its bit is the one below that: a functionality that is inserted
 * in the middle moves the ranks above it, and no id.  Code that a plugin is compiled with knows ids
 * only; the functions of api.h that need a bit are these. */
#ifndef DPI_KEYBITS_H
#define DPI_KEYBITS_H

#include <dispatchd/key.h>

#pragma GCC visibility push(hidden)

/* DPI_RANK_Dense ...; 0 is Undefined's. */
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

/* The bit of a functionality by its name. */
#define DPI_BIT(name) ((uint64_t)1 << (DPI_RANK_##name - 1))

/* Rank by id; 0 for what is no functionality: Undefined, aliases, an id that is nobody's. */
extern const uint8_t dpi_ranks[256];
/* Key without a backend by rank. */
extern const dp_key dpi_rank_keys[64];

static inline int dpi_rank(dp_key k)
{
    return dpi_ranks[dp_key_functionality(k)];
}

/* The bit of k's functionality; 0 if it has none. */
static inline uint64_t dpi_key_bit(dp_key k)
{
    return ((uint64_t)1 << dpi_rank(k)) >> 1;
}

#ifdef DP_TEST_INSERTED
#define DPI_INSERTED_BIT DPI_BIT(InsertedBackend)
#else
#define DPI_INSERTED_BIT 0
#endif
#define DPI_PER_BACKEND_BITS                                                                       \
    (DPI_BIT(Dense) | DPI_BIT(Quantized) | DPI_BIT(Sparse) | DPI_BIT(SparseCsr) |                  \
     DPI_BIT(NestedTensor) | DPI_BIT(AutogradFunctionality) | DPI_BIT(AutocastNamed) |             \
     DPI_INSERTED_BIT)
/* All from AutocastCPU to AutocastNamed. */
#define DPI_AUTOCAST_BITS (2 * DPI_BIT(AutocastNamed) - DPI_BIT(AutocastCPU))
#define DPI_AUTOGRAD_BITS                                                                          \
    (DPI_BIT(AutogradFunctionality) | DPI_BIT(AutogradOther) | DPI_BIT(AutogradNestedTensor))
/* All from Kind0 to Kind7. */
#define DPI_KIND_BITS (2 * DPI_BIT(Kind7) - DPI_BIT(Kind0))
#define DPI_MATH_BITS (DPI_BIT(Conjugate) | DPI_BIT(Negative))

/* The skip bit, of no functionality: some tensor here may have a gradient.  It is a hint: set too
 * often costs time, and never a gradient.  It stands in the key sets inside of tensors and of
 * arguments; in those that kernels see or give it means nothing. */
#define DPI_GRAD_BIT ((uint64_t)1 << 63)

/* Does a key of a functionality that is not Undefined stand above those of backends? */
static inline bool dpi_is_layer(dp_key k)
{
    return dpi_rank(k) >= DPI_RANK_LAYER_FIRST;
}

/* -- what api.h has for plugins -- */

static inline dp_keyset dpi_keyset_of(dp_key k)
{
    int b = dp_key_backend(k);
    dp_keyset s = {dpi_key_bit(k), b >= 0 ? DP_BBIT(b & 63) : 0};
    return s;
}

static inline dp_keyset dpi_keyset_below(dp_keyset s, dp_key k)
{
    uint64_t below = dpi_key_bit(k) - (dpi_rank(k) != 0); /* below Undefined there is nothing */
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
