/* dispatchd/key.h -- dispatch keys and key sets.
 *
 * A functionality is one purpose of kernels: computing a result (Dense, Sparse) or adding something
 * around that (AutogradFunctionality, Tracer).  A backend is a kind of device.  A runtime key is a
 * functionality, or, for a per-backend functionality, the pair of a functionality and a backend:
 * Dense of CPU is printed as CPU, AutogradFunctionality of npu as Autogradnpu.  An alias key stands
 * for several runtime keys, and is used only in registrations.  A named backend is one that a
 * plugin names with DP_BACKEND, such as npu.  Names and order are those of PyTorch
 * (c10/core/DispatchKey.h).  dispatchd's own are named backends; functionality AutocastNamed, which
 * they share, at the priority of AutocastPrivateUse1; Kind0 to Kind7; and aliases
 * AutogradFormula and AutocastNamed. */
#ifndef DISPATCHD_KEY_H
#define DISPATCHD_KEY_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, id, per_backend, prefix of its runtime keys), lowest priority first: first
 * functionalities of backends, whose kernels compute the result, then those of layers (abi.h),
 * whose kernels run before and usually redispatch.  An id never changes: a new functionality stands
 * at the line of its priority, and gets the lowest id that is free.  Kind0 to Kind7 are assigned to
 * kinds of wrapper tensors (DP_WRAPPER_KIND); while a kind has such a key, the key is called by the
 * kind's name. */
#ifdef DP_TEST_INSERTED /* a test builds a host that has more functionalities */
#define DP_TEST_INSERTED_BACKEND(X) X(InsertedBackend, 100, 1, "InsertedBackend")
#define DP_TEST_INSERTED_LAYER(X)   X(InsertedLayer, 101, 0, "")
#else
#define DP_TEST_INSERTED_BACKEND(X)
#define DP_TEST_INSERTED_LAYER(X)
#endif
#define DP_BACKEND_FUNCTIONALITIES(X)                                                              \
    X(Dense, 1, 1, "")                                                                             \
    X(FPGA, 2, 0, "")                                                                              \
    X(Vulkan, 3, 0, "")                                                                            \
    X(Metal, 4, 0, "")                                                                             \
    X(Quantized, 5, 1, "Quantized")                                                                \
    DP_TEST_INSERTED_BACKEND(X)                                                                    \
    X(CustomRNGKeyId, 6, 0, "")                                                                    \
    X(MkldnnCPU, 7, 0, "")                                                                         \
    X(Sparse, 8, 1, "Sparse")                                                                      \
    X(SparseCsr, 9, 1, "SparseCsr")                                                                \
    X(NestedTensor, 10, 1, "NestedTensor")                                                         \
    X(Kind0, 49, 0, "")                                                                            \
    X(Kind1, 50, 0, "")                                                                            \
    X(Kind2, 51, 0, "")                                                                            \
    X(Kind3, 52, 0, "")                                                                            \
    X(Kind4, 53, 0, "")                                                                            \
    X(Kind5, 54, 0, "")                                                                            \
    X(Kind6, 55, 0, "")                                                                            \
    X(Kind7, 56, 0, "")
#define DP_LAYER_FUNCTIONALITIES(X)                                                                \
    X(BackendSelect, 11, 0, "")                                                                    \
    X(Python, 12, 0, "")                                                                           \
    X(Fake, 13, 0, "")                                                                             \
    X(FuncTorchDynamicLayerBackMode, 14, 0, "")                                                    \
    X(Functionalize, 15, 0, "")                                                                    \
    DP_TEST_INSERTED_LAYER(X)                                                                      \
    X(Named, 16, 0, "")                                                                            \
    X(Conjugate, 17, 0, "")                                                                        \
    X(Negative, 18, 0, "")                                                                         \
    X(ZeroTensor, 19, 0, "")                                                                       \
    X(ADInplaceOrView, 20, 0, "")                                                                  \
    X(AutogradOther, 21, 0, "")                                                                    \
    X(AutogradFunctionality, 22, 1, "Autograd")                                                    \
    X(AutogradNestedTensor, 23, 0, "")                                                             \
    X(Tracer, 24, 0, "")                                                                           \
    X(AutocastCPU, 25, 0, "")                                                                      \
    X(AutocastMTIA, 26, 0, "")                                                                     \
    X(AutocastMAIA, 27, 0, "")                                                                     \
    X(AutocastXPU, 28, 0, "")                                                                      \
    X(AutocastIPU, 29, 0, "")                                                                      \
    X(AutocastHPU, 30, 0, "")                                                                      \
    X(AutocastXLA, 31, 0, "")                                                                      \
    X(AutocastMPS, 32, 0, "")                                                                      \
    X(AutocastCUDA, 33, 0, "")                                                                     \
    X(AutocastPrivateUse1, 34, 0, "")                                                              \
    X(AutocastNamed, 35, 1, "Autocast")                                                            \
    X(FuncTorchBatched, 36, 0, "")                                                                 \
    X(BatchedNestedTensor, 37, 0, "")                                                              \
    X(FuncTorchVmapMode, 38, 0, "")                                                                \
    X(Batched, 39, 0, "")                                                                          \
    X(VmapMode, 40, 0, "")                                                                         \
    X(FuncTorchGradWrapper, 41, 0, "")                                                             \
    X(DeferredInit, 42, 0, "")                                                                     \
    X(PythonTLSSnapshot, 43, 0, "")                                                                \
    X(FuncTorchDynamicLayerFrontMode, 44, 0, "")                                                   \
    X(TESTING_ONLY_GenericWrapper, 45, 0, "")                                                      \
    X(TESTING_ONLY_GenericMode, 46, 0, "")                                                         \
    X(PreDispatch, 47, 0, "")                                                                      \
    X(PythonDispatcher, 48, 0, "")
#define DP_FUNCTIONALITY_MAP(X) DP_BACKEND_FUNCTIONALITIES(X) DP_LAYER_FUNCTIONALITIES(X)

/* The ids.  0 is Undefined. */
enum {
    DP_F_Undefined = 0,
#define DP_F_ENUM_(name, id, per_backend, prefix) DP_F_##name = (id),
    DP_FUNCTIONALITY_MAP(DP_F_ENUM_)
#undef DP_F_ENUM_
};

/* X(name, device name): bit i of dp_keyset.backend, lowest priority first.  Named backends use the
 * bits from DP_B_NAMED_FIRST on.  Meta has the last bit, so that it has the highest priority. */
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
    DP_B_NAMED_MAX = 40, /* named backends that exist at once */
    DP_B_Meta = 63
};

/* A runtime key or an alias key: id of the functionality << 8 | (backend + 1).  The low byte is 0
 * for keys that are not per-backend.  0 is Undefined.  Ids are not priorities: only the host knows
 * the priorities, and orders keys in dp_keyset_below() and dp_keyset_highest(). */
typedef uint16_t dp_key;
#define DP_KEY(f)        ((dp_key)((f) << 8))
#define DP_KEY_OF(f, b)  ((dp_key)((f) << 8 | ((b) + 1)))
#define DP_KEY_Undefined ((dp_key)0)

/* Alias keys, for registrations only. */
enum {
    DP_ALIAS_FIRST = 0x80,
    DP_ALIAS_Autograd = DP_ALIAS_FIRST,
    DP_ALIAS_CompositeImplicitAutograd,
    DP_ALIAS_FuncTorchBatchedDecomposition,
    DP_ALIAS_CompositeImplicitAutogradNestedTensor,
    DP_ALIAS_CompositeExplicitAutograd,
    DP_ALIAS_CompositeExplicitAutogradNonFunctional,
    DP_ALIAS_AutogradFormula, /* for DP_FORMULA only, never dispatched to */
    DP_ALIAS_AutocastNamed,   /* autocast of every named backend, later ones too */
    DP_ALIAS_END
};

static inline int dp_key_functionality(dp_key k)
{
    return k >> 8;
}
static inline int dp_key_backend(dp_key k)
{
    return (k & 0xff) - 1;
} /* -1: the key has no backend */
static inline bool dp_key_is_alias(dp_key k)
{
    return k >> 8 >= DP_ALIAS_FIRST;
}

/* A set of runtime keys.  As in PyTorch, functionalities and backends are stored separately, so
 * that {AutogradCPU, CUDA} and {AutogradCUDA, CPU} are equal.  Only the host knows which bit stands
 * for which functionality, so all operations that depend on this are functions of api.h. */
typedef struct dp_keyset {
    uint64_t functionality; /* bits known to the host only; the highest bit has priority */
    uint64_t backend;       /* DP_BBIT() of each backend */
} dp_keyset;

#define DP_BBIT(b) ((uint64_t)1 << (b))

/* Named sets of functionalities: dp_keyset_named(DP_KEYSET_AUTOGRAD | DP_KEYSET_AUTOCAST). */
enum {
    DP_KEYSET_AUTOGRAD = 1, /* autograd of every backend, AutogradOther, AutogradNestedTensor */
    DP_KEYSET_AUTOCAST = 2, /* autocast of every device */
    /* Conjugate and Negative.  Elements of a tensor with such a key are the conjugate, or the
     * negative, of the values in memory.  Views of the tensor have the key, too; dp_copy() from or
     * to the tensor converts. */
    DP_KEYSET_MATH = 4
};

#define DP_KEY_NAME_MAX 64 /* bytes of a key's name, with the final NUL */

static inline dp_keyset dp_keyset_or(dp_keyset a, dp_keyset b)
{
    dp_keyset s = {a.functionality | b.functionality, a.backend | b.backend};
    return s;
}

/* Remove the functionalities of `b` from `a`; keep `a`'s backends (DispatchKeySet::operator-). */
static inline dp_keyset dp_keyset_minus(dp_keyset a, dp_keyset b)
{
    dp_keyset s = {a.functionality & ~b.functionality, a.backend};
    return s;
}

/* Keep only those functionalities of `a` that `b` has, too; keep `a`'s backends. */
static inline dp_keyset dp_keyset_only(dp_keyset a, dp_keyset b)
{
    dp_keyset s = {a.functionality & b.functionality, a.backend};
    return s;
}

static inline bool dp_keyset_is_empty(dp_keyset s) /* ignores backends */
{
    return s.functionality == 0;
}

/* Number of the backend with the highest priority; -1: the set has no backend. */
static inline int dp_keyset_backend(dp_keyset s)
{
    return s.backend ? 63 - __builtin_clzll(s.backend) : -1;
}

#ifdef __cplusplus
}
#endif
#endif
