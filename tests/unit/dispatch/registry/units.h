/* units.h -- six units (groups of registrations) that can be attached in any order. */
#ifndef UNITS_H
#define UNITS_H

#include "dispatch/records.h"
#include "dispatch/registry/registry.h"

enum { UNITS = 6, ORDERS = 720 };

/* No two units register a kernel for the same operator and key.  If unit 1 is attached before unit
 * 0, kernels exist before their operators are defined.  The backends of units 4 and 5 get their
 * backend bits in the order of attachment. */
static const dp_item definitions[] = {
    REC_DEF("foo(Tensor x) -> Tensor"),
    REC_DEF("bar.two(Tensor x, Tensor y) -> Tensor"),
};
static const dp_item cpu[] = {REC_IMPL("foo", rec_kernel), REC_IMPL("bar.two", rec_kernel)};
static const dp_item fragment[] = {REC_DEF("baz(int n=3) -> Tensor"), REC_IMPL("baz", rec_kernel)};
static const dp_item meta[] = {REC_IMPL("foo", rec_kernel)};
static const dp_item npu[] = {REC_IMPL("foo", rec_kernel)};
static const dp_item npu_autograd[] = {REC_IMPL_FLAGS("foo", rec_kernel, DP_FLAG_BELOW)};
static const dp_item abc[] = {REC_IMPL("bar.two", rec_kernel)};
static const dp_item explicit[] = {REC_IMPL("bar.two", rec_kernel)};

static const dp_block unit0[] = {REC_BLOCK(DP_BLOCK_LIBRARY, 1, "t", "", definitions)};
static const dp_block unit1[] = {REC_BLOCK(DP_BLOCK_IMPL, 10, "t", "CPU", cpu)};
static const dp_block unit2[] = {REC_BLOCK(DP_BLOCK_FRAGMENT, 20, "t", "", fragment),
                                 REC_BLOCK(DP_BLOCK_IMPL, 21, "t", "Meta", meta)};
static const dp_block unit3[] = {
    REC_PLAIN(DP_BLOCK_FALLBACK, 0, 30, "_", "AutogradCPU", rec_kernel),
    REC_PLAIN(DP_BLOCK_FALLBACK, DP_FLAG_FALLTHROUGH, 31, "_", "Batched", NULL),
    REC_PLAIN(DP_BLOCK_FALLBACK, 0, 32, "_", "Sparse", rec_kernel)};
static const dp_block unit4[] = {REC_PLAIN(DP_BLOCK_BACKEND, 0, 40, "npu", "", NULL),
                                 REC_BLOCK(DP_BLOCK_IMPL, 41, "t", "npu", npu),
                                 REC_BLOCK(DP_BLOCK_IMPL, 42, "t", "Autogradnpu", npu_autograd),
                                 REC_PLAIN(DP_BLOCK_FALLBACK, 0, 43, "_", "Sparsenpu", rec_kernel)};
static const dp_block unit5[] = {
    REC_PLAIN(DP_BLOCK_BACKEND, 0, 50, "abc", "", NULL),
    REC_BLOCK(DP_BLOCK_IMPL, 51, "t", "Sparseabc", abc),
    REC_BLOCK(DP_BLOCK_IMPL, 52, "t", "CompositeExplicitAutograd", explicit)};

static const struct {
    const char *name;
    const dp_block *blocks;
    size_t n;
} unit[UNITS] = {
    {"definer", unit0, DPI_COUNT(unit0)}, {"cpu", unit1, DPI_COUNT(unit1)},
    {"more", unit2, DPI_COUNT(unit2)},    {"falling", unit3, DPI_COUNT(unit3)},
    {"npu", unit4, DPI_COUNT(unit4)},     {"abc", unit5, DPI_COUNT(unit5)},
};

#endif
