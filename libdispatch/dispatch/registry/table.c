/* table.c -- computes the cells of an operator's dispatch table from its registered kernels.
 *
 * The rules are those of c10's OperatorEntry::computeDispatchTableEntryWithDebug, and one more: a
 * CPU kernel with DP_FLAG_META also serves Meta, if no kernel is registered for Meta. */
#include "registry.h"

const char *const dpi_provenance_names[] = {
    [DPI_P_KERNEL] = "kernel",
    [DPI_P_DEFAULT_BACKEND] = "default backend kernel",
    [DPI_P_MATH] = "math kernel",
    [DPI_P_NESTED] = "nested kernel",
    [DPI_P_AUTOGRAD] = "autograd kernel",
    [DPI_P_BATCHED] = "batched kernel",
    [DPI_P_AUTOCAST] = "autocast kernel of named backends",
    [DPI_P_META] = "cpu kernel without memory",
    [DPI_P_AMBIGUOUS] = "ambiguous autogradother",
    [DPI_P_FALLBACK] = "backend fallback",
    [DPI_P_FALLTHROUGH] = "fallthrough",
    [DPI_P_MISSING] = "missing",
};

/* Functionalities that fall through unless a plugin registers kernels for them.  In PyTorch,
 * VariableFallbackKernel.cpp, BackendSelectFallbackKernel.cpp and VmapModeRegistrations.cpp
 * register the same fallthroughs. */
static const uint64_t host_fallthrough =
    DPI_AUTOGRAD_BITS | DPI_AUTOCAST_BITS | DPI_BIT(ADInplaceOrView) | DPI_BIT(BackendSelect) |
    DPI_BIT(Tracer) | DPI_BIT(FuncTorchVmapMode) | DPI_BIT(VmapMode);

/* Backends whose autograd key is AutogradOther: c10's autogradother_backends. */
static const uint64_t autogradother_backends =
    DPI_BIT(FPGA) | DPI_BIT(Vulkan) | DPI_BIT(Metal) | DPI_BIT(CustomRNGKeyId) |
    DPI_BIT(MkldnnCPU) | DPI_BIT(Sparse) | DPI_BIT(SparseCsr) | DPI_BIT(Quantized);

/* Stands for a kernel that does not exist, but that a query assumes (`extra` in
 * dpi_table_cell()). */
static const dpi_kernel what_if_kernel;

enum { N_ALIASES = DP_ALIAS_END - DP_ALIAS_FIRST };

/* Properties of one operator that the rules use, collected once for all table cells. */
typedef struct rules {
    const dpi_kernel *alias[N_ALIASES]; /* newest kernel for each alias key; NULL: none */
    const dpi_kernel *cpu;              /* newest kernel for CPU; NULL: none */
    uint64_t dense;                     /* bits of backends that have a Dense kernel */
    bool nested;                        /* some kernel is for NestedTensor */
    bool autogradother;                 /* some kernel is for one of autogradother_backends */
} rules;

static void rules_note(rules *r, dp_key key, const dpi_kernel *k)
{
    int f = dp_key_functionality(key);

    if (dp_key_is_alias(key)) {
        r->alias[f - DP_ALIAS_FIRST] = k;
        return;
    }
    if (f == DP_F_Dense)
        r->dense |= DP_BBIT(dp_key_backend(key));
    if (key == DP_KEY_OF(DP_F_Dense, DP_B_CPU))
        r->cpu = k;
    r->nested |= f == DP_F_NestedTensor;
    r->autogradother |= (autogradother_backends & dpi_key_bit(key)) != 0;
}

static bool cpu_serves_meta(const rules *r)
{
    return r->cpu != NULL && (r->cpu->flags & DP_FLAG_META) != 0;
}

static void rules_gather(rules *r, const dpi_truth *t, const dp_key *extra, size_t n_extra)
{
    memset(r, 0, sizeof(*r));
    for (uint32_t i = 0; i < t->n_stacks; i++)
        rules_note(r, t->stacks[i].key, t->stacks[i].kernels[0]);
    for (size_t i = 0; i < n_extra; i++)
        rules_note(r, extra[i], &what_if_kernel);
    if (cpu_serves_meta(r))
        r->dense |= DP_BBIT(DP_B_Meta);
}

/* Does the backend of autograd key `k` have its own kernel?  If so, the CompositeImplicitAutograd
 * kernel must not serve `k`. */
static bool has_backend_kernel(const rules *r, dp_key k)
{
    switch (dp_key_functionality(k)) {
    case DP_F_AutogradFunctionality:
        return (r->dense & DP_BBIT(dp_key_backend(k))) != 0;
    case DP_F_AutogradNestedTensor:
        return r->nested;
    case DP_F_AutogradOther:
        return r->autogradother;
    default:
        return false;
    }
}

static dpi_cell cell_of(const rules *r, const dpi_kernel *own, const dpi_fallbacks *fb, dp_key k)
{
    static const struct {
        uint8_t alias, provenance;
        bool undefined; /* also serves Undefined */
    } rule[] = {
        {DP_ALIAS_CompositeExplicitAutogradNonFunctional, DPI_P_DEFAULT_BACKEND, true},
        {DP_ALIAS_CompositeExplicitAutograd, DPI_P_DEFAULT_BACKEND, true},
        {DP_ALIAS_CompositeImplicitAutogradNestedTensor, DPI_P_NESTED, false},
        {DP_ALIAS_CompositeImplicitAutograd, DPI_P_MATH, true},
        {DP_ALIAS_Autograd, DPI_P_AUTOGRAD, false},
        {DP_ALIAS_FuncTorchBatchedDecomposition, DPI_P_BATCHED, false},
        {DP_ALIAS_AutocastNamed, DPI_P_AUTOCAST, false},
    };
    int f = dp_key_functionality(k);

    if (own != NULL)
        return (dpi_cell){own, DPI_P_KERNEL};
    if (k == DP_KEY_OF(DP_F_Dense, DP_B_Meta) && cpu_serves_meta(r))
        return (dpi_cell){r->cpu, DPI_P_META};
    for (size_t i = 0; i < DPI_COUNT(rule); i++) {
        const dpi_kernel *kernel = r->alias[rule[i].alias - DP_ALIAS_FIRST];
        if (kernel == NULL)
            continue;
        if (f == DP_F_Undefined ? !rule[i].undefined : !dpi_alias_has(DP_KEY(rule[i].alias), k))
            continue;
        if (rule[i].provenance == DPI_P_MATH) {
            if (f == DP_F_AutogradOther && r->autogradother)
                return (dpi_cell){NULL, DPI_P_AMBIGUOUS};
            if (r->alias[DP_ALIAS_CompositeExplicitAutograd - DP_ALIAS_FIRST] != NULL ||
                has_backend_kernel(r, k))
                continue;
        }
        return (dpi_cell){kernel, rule[i].provenance};
    }
    const dpi_kernel *fallback = dpi_fallback_for(fb, k);
    if (fallback != NULL)
        return (dpi_cell){fallback, DPI_P_FALLBACK};
    if (host_fallthrough & dpi_key_bit(k))
        return (dpi_cell){NULL, DPI_P_FALLTHROUGH};
    return (dpi_cell){NULL, DPI_P_MISSING};
}

dpi_cell dpi_table_cell(const dpi_truth *t, const dpi_fallbacks *f, dp_key k, const dp_key *extra,
                        size_t n_extra)
{
    rules r;
    const dpi_stack *s = dpi_truth_stack(t, k);
    const dpi_kernel *own = s ? s->kernels[0] : NULL;

    rules_gather(&r, t, extra, n_extra);
    for (size_t i = 0; i < n_extra; i++)
        if (extra[i] == k)
            own = &what_if_kernel;
    return cell_of(&r, own, f, k);
}

void dpi_table_cells(const dpi_truth *t, const dpi_fallbacks *f, uint32_t n_slots, dpi_cell *out)
{
    rules r;
    const dpi_kernel *own[DPI_SLOTS_MAX] = {NULL};

    rules_gather(&r, t, NULL, 0);
    for (uint32_t i = 0; i < t->n_stacks; i++)
        if (!dp_key_is_alias(t->stacks[i].key))
            own[dpi_key_slot(t->stacks[i].key)] = t->stacks[i].kernels[0];
    for (uint32_t slot = 0; slot < n_slots; slot++)
        out[slot] = cell_of(&r, own[slot], f, dpi_slot_key(slot));
}

bool dpi_is_composite(dp_key k)
{
    static const bool composite[N_ALIASES] = {
        [DP_ALIAS_CompositeImplicitAutograd - DP_ALIAS_FIRST] = true,
        [DP_ALIAS_CompositeImplicitAutogradNestedTensor - DP_ALIAS_FIRST] = true,
        [DP_ALIAS_CompositeExplicitAutograd - DP_ALIAS_FIRST] = true,
        [DP_ALIAS_CompositeExplicitAutogradNonFunctional - DP_ALIAS_FIRST] = true};

    return dp_key_is_alias(k) && composite[dp_key_functionality(k) - DP_ALIAS_FIRST];
}

bool dpi_cell_falls_through(dpi_cell c)
{
    if (c.kernel == NULL)
        return c.provenance == DPI_P_FALLTHROUGH;
    return (c.kernel->flags & DP_FLAG_FALLTHROUGH) != 0;
}

bool dpi_cell_needs_grad(dpi_cell c)
{
    return c.kernel != NULL && (c.kernel->flags & DP_FLAG_GRAD) != 0;
}
