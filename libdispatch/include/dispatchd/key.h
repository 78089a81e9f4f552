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

/* X(name, id, per_backend, prefix of its runtime keys), lowest priority first: those of backends,
 * whose kernels end a call, and layers above them.  An id is for ever: a new functionality stands
 * at its priority and has the lowest id that no other has.  Kind0 to Kind7 are lent to kinds of
 * wrapper tensors (DP_WRAPPER_KIND), by whose names they go while one has them. */
#ifdef DP_TEST_INSERTED /* a host of a later day, for a test */
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

/* Ids.  0 is Undefined. */
enum {
    DP_F_Undefined = 0,
#define DP_F_ENUM_(name, id, per_backend, prefix) DP_F_##name = (id),
    DP_FUNCTIONALITY_MAP(DP_F_ENUM_)
#undef DP_F_ENUM_
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

/* A runtime key or an alias: id of the functionality << 8 | backend + 1; the low byte is 0 for keys
 * that are not per-backend.  0 is Undefined.  Ids are not priorities: the host alone knows those,
 * and orders keys by dp_keyset_below() and dp_keyset_highest(). */
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
 * tell {AutogradCPU, CUDA} from {AutogradCUDA, CPU}.  Which bit stands for which
 * functionality is the host's: what is not here is a function of api.h. */
typedef struct dp_keyset {
    uint64_t functionality; /* the host's bits, highest priority last */
    uint64_t backend;       /* DP_BBIT */
} dp_keyset;

#define DP_BBIT(b) ((uint64_t)1 << (b))

/* Sets that have a name: dp_keyset_named(DP_KEYSET_AUTOGRAD | DP_KEYSET_AUTOCAST). */
enum {
    DP_KEYSET_AUTOGRAD = 1, /* every backend's, AutogradOther, AutogradNestedTensor */
    DP_KEYSET_AUTOCAST = 2, /* every device's */
    /* Conjugate and Negative: keys of tensors whose elements are not quite what their bytes say.
     * Views of such a tensor are such, too; dp_copy() from or to one converts. */
    DP_KEYSET_MATH = 4
};

#define DP_KEY_NAME_MAX 64 /* bytes of a key's name, its NUL included */

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

/* Keeps b's functionalities only; backends stay. */
static inline dp_keyset dp_keyset_only(dp_keyset a, dp_keyset b)
{
    dp_keyset s = {a.functionality & b.functionality, a.backend};
    return s;
}

static inline bool dp_keyset_is_empty(dp_keyset s) /* no functionality */
{
    return s.functionality == 0;
}

/* Highest backend bit; -1 when there is none. */
static inline int dp_keyset_backend(dp_keyset s)
{
    return s.backend ? 63 - __builtin_clzll(s.backend) : -1;
}

#ifdef __cplusplus
}
#endif
#endif
