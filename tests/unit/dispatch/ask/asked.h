/* asked.h -- fixture of a registry with four units (definer, kernels, others, falls), and its
 * expected dump, for tests of the functions that describe a registry (dispatch/ask). */
#ifndef ASKED_H
#define ASKED_H

#include "dispatch/records.h"
#include <pthread.h>

static dp_registry *reg;
static dp_arena *arena;
static dp_error err;

static const dp_item schemas[] = {
    {.size = sizeof(dp_item),
     .kind = DP_ITEM_DEF,
     .name = "f.a(Tensor(a!) x, int[2] n=3, *, str s=\"q\") -> Tensor(a!)",
     .tags = "core pointwise"},
    REC_DEF("g(Tensor x) -> Tensor"),
};
static const dp_item composite[] = {REC_IMPL("g", rec_kernel)};
static const dp_item cpu[] = {REC_IMPL("f.a", rec_kernel)};
static const dp_item dangling[] = {REC_IMPL("h", rec_kernel)};

static const dp_block definer[] = {REC_BLOCK(DP_BLOCK_LIBRARY, 1, "t", "", schemas)};
static const dp_block kernels[] = {
    REC_BLOCK(DP_BLOCK_IMPL, 10, "t", "CPU", cpu),
    REC_BLOCK(DP_BLOCK_IMPL, 11, "t", "CompositeImplicitAutograd", composite)};
static const dp_block others[] = {REC_PLAIN(DP_BLOCK_BACKEND, 0, 20, "npu", "", NULL),
                                  REC_BLOCK(DP_BLOCK_IMPL, 21, "t", "npu", dangling),
                                  REC_BLOCK(DP_BLOCK_IMPL, 22, "t", "CPU", cpu)};
static const dp_block fallback[] = {
    REC_PLAIN(DP_BLOCK_FALLBACK, DP_FLAG_FALLTHROUGH, 30, "_", "Batched", NULL)};

static inline void setup(void)
{
    err = (dp_error)DP_ERROR_INIT;
    arena = dp_arena_new();
    reg = rec_registry();
    rec_attach(reg, "definer", definer, DPI_COUNT(definer));
    rec_attach(reg, "kernels", kernels, DPI_COUNT(kernels));
    rec_attach(reg, "others", others, DPI_COUNT(others));
    rec_attach(reg, "falls", fallback, DPI_COUNT(fallback));
}

static inline void teardown(void)
{
    dp_registry_free(reg);
    dp_arena_free(arena);
}

static const char expected_dump[] =
    "plugins:\n"
    "  definer 1.0\n"
    "  falls 1.0\n"
    "  kernels 1.0\n"
    "  others 1.0\n"
    "\n"
    "backends:\n"
    "  npu: others t.c:20, memory: host\n"
    "\n"
    "libraries:\n"
    "  t: definer t.c:1\n"
    "\n"
    "fallbacks:\n"
    "  Batched: falls t.c:30 [fallthrough]\n"
    "\n"
    "host's fallthroughs: BackendSelect, ADInplaceOrView, AutogradOther, Autograd*, "
    "AutogradNestedTensor, Tracer, AutocastCPU, AutocastMTIA, AutocastMAIA, AutocastXPU, "
    "AutocastIPU, "
    "AutocastHPU, AutocastXLA, AutocastMPS, AutocastCUDA, AutocastPrivateUse1, Autocastnpu, "
    "FuncTorchVmapMode, VmapMode\n"
    "\n"
    "t::f.a\n"
    "  schema: t::f.a(Tensor(a!) x, int[2] n=3, *, str s=\"q\") -> Tensor(a!)\n"
    "  tags: core pointwise\n"
    "  defined: definer t.c:1\n"
    "  CPU: others t.c:22\n"
    "  CPU (inactive): kernels t.c:10\n"
    "  > kernel, others t.c:22: CPU\n"
    "  > backend fallback, falls t.c:30 [fallthrough]: Batched\n"
    "t::g\n"
    "  schema: t::g(Tensor x) -> Tensor\n"
    "  defined: definer t.c:1\n"
    "  CompositeImplicitAutograd[alias]: kernels t.c:11\n"
    "  > math kernel, kernels t.c:11: Undefined, Dense*, FPGA, Vulkan, Metal, Quantized*, "
    "CustomRNGKeyId, MkldnnCPU, Sparse*, SparseCsr*, NestedTensor*, Functionalize, AutogradOther, "
    "Autograd*, AutogradNestedTensor\n"
    "  > backend fallback, falls t.c:30 [fallthrough]: Batched\n"
    "t::h\n"
    "  schema: (none)\n"
    "  npu: others t.c:21\n"
    "  > kernel, others t.c:21: npu\n"
    "  > backend fallback, falls t.c:30 [fallthrough]: Batched\n";

#endif
