/* key_fallbacks.c -- says which fallback each dispatch key has, which one PyTorch 1.13 registers
 * there, and why the two differ.
 *
 * PyTorch's are those that torch._C._dispatch_dump_table() prints for an operator without kernels
 * as "[backend fallback]". */
#include "ask.h"
#include "dispatch/registry/registry.h"

typedef enum kind { NONE, FALLTHROUGH, KERNEL } kind;
static const char *const kind_names[] = {
    [NONE] = "none", [FALLTHROUGH] = "fallthrough", [KERNEL] = "kernel"};

/* Backends for whose autograd PyTorch 1.13 registers a fallback. */
static const uint64_t autograd_backends =
    DP_BBIT(DP_B_CPU) | DP_BBIT(DP_B_CUDA) | DP_BBIT(DP_B_XLA) | DP_BBIT(DP_B_MPS) |
    DP_BBIT(DP_B_XPU) | DP_BBIT(DP_B_HPU) | DP_BBIT(DP_B_Lazy);

/* The fallback that PyTorch registers for a functionality.  `reason`: why a registry has another
 * kind of fallback; NULL: that depends on the loaded plugins only. */
static const struct {
    uint64_t functionality;
    kind kind;
    const char *reason;
} pytorch[] = {
    {DPI_BIT(BackendSelect), FALLTHROUGH, NULL},
    {DPI_BIT(ADInplaceOrView), FALLTHROUGH, NULL},
    {DPI_BIT(AutogradOther) | DPI_BIT(AutogradFunctionality), FALLTHROUGH,
     "one kernel records the calls of all operators; PyTorch registers one for each operator"},
    {DPI_BIT(AutocastCPU) | DPI_BIT(AutocastCUDA), FALLTHROUGH, NULL},
    {DPI_BIT(FuncTorchVmapMode) | DPI_BIT(VmapMode), FALLTHROUGH, NULL},
    {DPI_BIT(Conjugate) | DPI_BIT(Negative), KERNEL, NULL},
    {DPI_BIT(Functionalize), KERNEL, NULL},
    {DPI_BIT(Tracer), KERNEL, NULL},
    {DPI_BIT(FuncTorchBatched), KERNEL, NULL},
    {DPI_BIT(Batched), KERNEL,
     "serves torch.vmap as it was before functorch, whose key is FuncTorchBatched"},
    {DPI_BIT(ZeroTensor), KERNEL,
     "replaces zeros without memory, which only _efficientzerotensor makes; it is not served"},
    {DPI_BIT(Named), KERNEL,
     "refuses tensors with named dimensions; dimensions have no names here"},
    {DPI_BIT(Python), KERNEL,
     "calls __torch_dispatch__ of Python classes; no Python code runs in a call here"},
    {DPI_BIT(PythonDispatcher), KERNEL,
     "reads kernels from tables of Python; all kernels are in the registry here"},
    {DPI_BIT(PythonTLSSnapshot), KERNEL,
     "saves the thread's state for key Python; no Python code runs in a call here"},
    {DPI_BIT(FuncTorchGradWrapper), KERNEL,
     "reports tensors that outlive functorch.grad, which wraps tensors; gradients need no wrappers "
     "here"},
    {DPI_BIT(FuncTorchDynamicLayerFrontMode) | DPI_BIT(FuncTorchDynamicLayerBackMode), KERNEL,
     "runs the innermost of functorch's nested transforms; a transform is no state of a thread "
     "here"},
};

static kind pytorch_kind(dp_key k, const char **reason)
{
    *reason = NULL;
    if (dp_key_functionality(k) == DP_F_AutogradFunctionality &&
        !(autograd_backends & DP_BBIT(dp_key_backend(k))))
        return NONE;
    for (size_t i = 0; i < DPI_COUNT(pytorch); i++)
        if (pytorch[i].functionality & dpi_key_bit(k)) {
            *reason = pytorch[i].reason;
            return pytorch[i].kind;
        }
    return NONE;
}

static dp_key_fallback describe(dpi_answer *a, const dp_registry *reg, dp_key k)
{
    static const dp_op no_kernels;
    dpi_cell c = dpi_table_cell(&no_kernels, &reg->fallbacks, k, NULL, 0);
    kind ours = dpi_cell_falls_through(c) ? FALLTHROUGH : c.kernel != NULL ? KERNEL : NONE;
    const char *reason;
    kind theirs = pytorch_kind(k, &reason);
    dp_key_fallback f = {.kind = kind_names[ours], .pytorch = kind_names[theirs]};

    f.from = dpi_answer_cell(a, c);
    if (ours != theirs && theirs != NONE)
        f.reason = reason != NULL ? reason : "no loaded plugin registers one";
    return f;
}

int dp_registry_key_fallbacks(dp_registry *reg, const dp_key *keys, size_t n, dp_arena *arena,
                              const dp_key_fallback **out, dp_error *err)
{
    if (!DPI_GIVEN(err, DP_EVALUE, reg, keys, arena, out))
        return DP_EVALUE;
    dpi_answer a = {arena, false};
    dp_key_fallback *all = dpi_answer_alloc(&a, n, sizeof(*all));

    pthread_mutex_lock(&reg->lock);
    for (size_t i = 0; all != NULL && i < n; i++)
        all[i] = describe(&a, reg, keys[i]);
    pthread_mutex_unlock(&reg->lock);
    *out = all;
    return a.failed ? dpi_no_memory(err, "fallbacks of keys") : 0;
}
