/* dispatchd/key.h -- dispatch keys and key sets.
 *
 * A functionality is a layer of the dispatcher, a backend is a kind of device.  A runtime key is a
 * functionality, or, for the seven per-backend ones, a functionality of one backend: Dense of CPU
 * is printed CPU, AutogradFunctionality of npu is printed Autogradnpu.  Alias keys stand for
 * several runtime keys and exist in registrations only.  Names and order are PyTorch's
 * (c10/core/DispatchKey.h); the one functionality that is ours is AutocastNamed, which named
 * backends share at AutocastPrivateUse1's priority. */
#ifndef DISPATCHD_KEY_H
#define DISPATCHD_KEY_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, per_backend, prefix of its runtime keys), lowest priority first. */
#define DP_FUNCTIONALITY_MAP(X)                                                                    \
    X(Dense, 1, "")                                                                                \
    X(FPGA, 0, "")                                                                                 \
    X(Vulkan, 0, "")                                                                               \
    X(Metal, 0, "")                                                                                \
    X(Quantized, 1, "Quantized")                                                                   \
    X(CustomRNGKeyId, 0, "")                                                                       \
    X(MkldnnCPU, 0, "")                                                                            \
    X(Sparse, 1, "Sparse")                                                                         \
    X(SparseCsr, 1, "SparseCsr")                                                                   \
    X(NestedTensor, 1, "NestedTensor")                                                             \
    X(BackendSelect, 0, "")                                                                        \
    X(Python, 0, "")                                                                               \
    X(Fake, 0, "")                                                                                 \
    X(FuncTorchDynamicLayerBackMode, 0, "")                                                        \
    X(Functionalize, 0, "")                                                                        \
    X(Named, 0, "")                                                                                \
    X(Conjugate, 0, "")                                                                            \
    X(Negative, 0, "")                                                                             \
    X(ZeroTensor, 0, "")                                                                           \
    X(ADInplaceOrView, 0, "")                                                                      \
    X(AutogradOther, 0, "")                                                                        \
    X(AutogradFunctionality, 1, "Autograd")                                                        \
    X(AutogradNestedTensor, 0, "")                                                                 \
    X(Tracer, 0, "")                                                                               \
    X(AutocastCPU, 0, "")                                                                          \
    X(AutocastMTIA, 0, "")                                                                         \
    X(AutocastMAIA, 0, "")                                                                         \
    X(AutocastXPU, 0, "")                                                                          \
    X(AutocastIPU, 0, "")                                                                          \
    X(AutocastHPU, 0, "")                                                                          \
    X(AutocastXLA, 0, "")                                                                          \
    X(AutocastMPS, 0, "")                                                                          \
    X(AutocastCUDA, 0, "")                                                                         \
    X(AutocastPrivateUse1, 0, "")                                                                  \
    X(AutocastNamed, 1, "Autocast")                                                                \
    X(FuncTorchBatched, 0, "")                                                                     \
    X(BatchedNestedTensor, 0, "")                                                                  \
    X(FuncTorchVmapMode, 0, "")                                                                    \
    X(Batched, 0, "")                                                                              \
    X(VmapMode, 0, "")                                                                             \
    X(FuncTorchGradWrapper, 0, "")                                                                 \
    X(DeferredInit, 0, "")                                                                         \
    X(PythonTLSSnapshot, 0, "")                                                                    \
    X(FuncTorchDynamicLayerFrontMode, 0, "")                                                       \
    X(TESTING_ONLY_GenericWrapper, 0, "")                                                          \
    X(TESTING_ONLY_GenericMode, 0, "")                                                             \
    X(PreDispatch, 0, "")                                                                          \
    X(PythonDispatcher, 0, "")

/* 1-based, as in PyTorch; bit f-1 of dp_keyset.functionality.  0 is Undefined. */
enum {
    DP_F_Undefined = 0,
#define DP_F_ENUM_(name, per_backend, prefix) DP_F_##name,
    DP_FUNCTIONALITY_MAP(DP_F_ENUM_)
#undef DP_F_ENUM_
        DP_F_COUNT /* Undefined included */
};

/* X(name, device name).  Bit i of dp_keyset.backend, lowest priority first; named backends take
 * DP_B_NAMED_FIRST and up; Meta is the last bit, so that it wins over every other. */
#define DP_BACKEND_MAP(X)                                                                          \
    X(CPU, "cpu")                                                                                  \
    X(CUDA, "cuda")                                                                                \
    X(HIP, "hip")                                                                                  \
    X(XLA, "xla")                                                                                  \
    X(MPS, "mps")                                                                                  \
    X(IPU, "ipu")                                                                                  \
    X(XPU, "xpu")                                                                                  \
    X(HPU, "hpu")                                                                                  \
    X(VE, "ve")                                                                                    \
    X(Lazy, "lazy")                                                                                \
    X(MTIA, "mtia")                                                                                \
    X(MAIA, "maia")                                                                                \
    X(PrivateUse1, "privateuseone")                                                                \
    X(PrivateUse2, "privateusetwo")                                                                \
    X(PrivateUse3, "privateusethree")

enum {
#define DP_B_ENUM_(name, device) DP_B_##name,
    DP_BACKEND_MAP(DP_B_ENUM_)
#undef DP_B_ENUM_
        DP_B_NAMED_FIRST,
    DP_B_NAMED_MAX = 40, /* named backends alive at once */
    DP_B_Meta = 63
};

/* A runtime key or an alias.  functionality << 8 | backend + 1; the low byte is 0 for keys that are
 * not per-backend.  0 is Undefined. */
typedef uint16_t dp_key;
#define DP_KEY(f)        ((dp_key)((f) << 8))
#define DP_KEY_OF(f, b)  ((dp_key)((f) << 8 | ((b) + 1)))
#define DP_KEY_Undefined ((dp_key)0)

/* Alias keys, in registrations only. */
enum {
    DP_ALIAS_FIRST = 0x80,
    DP_ALIAS_Autograd = DP_ALIAS_FIRST,
    DP_ALIAS_CompositeImplicitAutograd,
    DP_ALIAS_FuncTorchBatchedDecomposition,
    DP_ALIAS_CompositeImplicitAutogradNestedTensor,
    DP_ALIAS_CompositeExplicitAutograd,
    DP_ALIAS_CompositeExplicitAutogradNonFunctional,
    DP_ALIAS_END
};

static inline int dp_key_functionality(dp_key k)
{
    return k >> 8;
}
static inline int dp_key_backend(dp_key k)
{
    return (k & 0xff) - 1;
} /* -1: none */
static inline bool dp_key_is_alias(dp_key k)
{
    return k >> 8 >= DP_ALIAS_FIRST;
}

/* A set of runtime keys.  Like PyTorch's it keeps functionalities and backends apart, so it cannot
 * tell {AutogradCPU, CUDA} from {AutogradCUDA, CPU}. */
typedef struct dp_keyset {
    uint64_t functionality;
    uint64_t backend;
} dp_keyset;

#define DP_FBIT(f) ((uint64_t)1 << ((f)-1))
#define DP_BBIT(b) ((uint64_t)1 << (b))
#define DP_PER_BACKEND_BITS                                                                        \
    (DP_FBIT(DP_F_Dense) | DP_FBIT(DP_F_Quantized) | DP_FBIT(DP_F_Sparse) |                        \
     DP_FBIT(DP_F_SparseCsr) | DP_FBIT(DP_F_NestedTensor) | DP_FBIT(DP_F_AutogradFunctionality) |  \
     DP_FBIT(DP_F_AutocastNamed))
#define DP_AUTOCAST_BITS                                                                           \
    (DP_FBIT(DP_F_AutocastNamed + 1) - DP_FBIT(DP_F_AutocastCPU)) /* all between */
#define DP_AUTOGRAD_BITS                                                                           \
    (DP_FBIT(DP_F_AutogradFunctionality) | DP_FBIT(DP_F_AutogradOther) |                           \
     DP_FBIT(DP_F_AutogradNestedTensor))

/* Keys of tensors whose elements are not quite what their bytes say: conjugated, negated, or both.
 * Views of such a tensor are such, too; dp_copy() from or to one converts. */
#define DP_MATH_BITS (DP_FBIT(DP_F_Conjugate) | DP_FBIT(DP_F_Negative))

/* The skip bit, of no functionality: some tensor here may have a gradient.  It is a hint: set too
 * often costs time, and never a gradient.  It stands in the key sets inside of tensors and of
 * arguments; in those that kernels see or give it means nothing. */
#define DP_GRAD_BIT ((uint64_t)1 << 63)

static inline dp_keyset dp_keyset_of(dp_key k)
{
    dp_keyset s = {0, 0};
    int f = dp_key_functionality(k), b = dp_key_backend(k);

    if (f != 0 && !dp_key_is_alias(k))
        s.functionality = DP_FBIT(f);
    if (b >= 0)
        s.backend = DP_BBIT(b);
    return s;
}

static inline dp_keyset dp_keyset_or(dp_keyset a, dp_keyset b)
{
    dp_keyset s = {a.functionality | b.functionality, a.backend | b.backend};
    return s;
}

/* Clears functionality bits only, never backend bits (DispatchKeySet::operator-). */
static inline dp_keyset dp_keyset_minus(dp_keyset a, dp_keyset b)
{
    dp_keyset s = {a.functionality & ~b.functionality, a.backend};
    return s;
}

/* Every functionality strictly below k's, with every backend: what a kernel at k may redispatch to.
 * PythonDispatcher stays in (DispatchKeySet FULL_AFTER). */
static inline dp_keyset dp_keyset_below(dp_keyset s, dp_key k)
{
    uint64_t below = DP_FBIT(dp_key_functionality(k)) - 1;
    dp_keyset r = {s.functionality & (below | DP_FBIT(DP_F_PythonDispatcher)), s.backend};
    return r;
}

static inline bool dp_keyset_has(dp_keyset s, dp_key k)
{
    dp_keyset one = dp_keyset_of(k);
    return (s.functionality & one.functionality) == one.functionality &&
           (s.backend & one.backend) == one.backend;
}

/* Highest backend bit; -1 when there is none. */
static inline int dp_keyset_backend(dp_keyset s)
{
    return s.backend ? 63 - __builtin_clzll(s.backend) : -1;
}

/* Highest-priority runtime key; Undefined when there is no functionality.  A per-backend
 * functionality without a backend bit counts as CPU's, as in PyTorch. */
static inline dp_key dp_keyset_highest(dp_keyset s)
{
    s.functionality &= ~DP_GRAD_BIT;
    if (s.functionality == 0)
        return DP_KEY_Undefined;
    int f = 64 - __builtin_clzll(s.functionality);
    if (!(DP_PER_BACKEND_BITS & DP_FBIT(f)))
        return DP_KEY(f);
    int b = dp_keyset_backend(s);
    return DP_KEY_OF(f, b < 0 ? DP_B_CPU : b);
}

#ifdef __cplusplus
}
#endif
#endif
