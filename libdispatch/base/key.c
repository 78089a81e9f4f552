/* key.c -- names, table slots and alias expansions of dispatch keys.
 *
 * The tables are constant and are generated from the maps in dispatchd/key.h.  Names of backends
 * are in backend.c, names of kinds in kind.c. */
#include "backend.h"
#include "kind.h"
#include <stdio.h>

/* Names of the functionalities, by rank. */
static const char *const functionality_names[DPI_RANKS] = {"Undefined",
#define NAME(name, id, per_backend, prefix) [DPI_RANK_##name] = #name,
                                                           DP_FUNCTIONALITY_MAP(NAME)
#undef NAME
};

/* Prefixes of keys with a backend, by rank of the functionality: "Autograd" of "AutogradCPU". */
static const char *const prefixes[DPI_RANKS] = {"",
#define PREFIX(name, id, per_backend, prefix) [DPI_RANK_##name] = prefix,
                                                DP_FUNCTIONALITY_MAP(PREFIX)
#undef PREFIX
};

const uint8_t dpi_ranks[256] = {
#define RANK_OF(name, id, per_backend, prefix) [id] = DPI_RANK_##name,
    DP_FUNCTIONALITY_MAP(RANK_OF)
#undef RANK_OF
};

const dp_key dpi_rank_keys[64] = {
#define KEY_OF(name, id, per_backend, prefix) [DPI_RANK_##name] = DP_KEY(id),
    DP_FUNCTIONALITY_MAP(KEY_OF)
#undef KEY_OF
};

static const char *const alias_names[DP_ALIAS_END - DP_ALIAS_FIRST] = {
    "Autograd",
    "CompositeImplicitAutograd",
    "FuncTorchBatchedDecomposition",
    "CompositeImplicitAutogradNestedTensor",
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
    "AutogradFormula",
    "AutocastNamed",
};

static bool per_backend(int rank)
{
    return rank > 0 && (DPI_PER_BACKEND_BITS & ((uint64_t)1 << (rank - 1))) != 0;
}

/* -- slots -- */

/* Call a functionality plain if it is not per backend.  PLAIN_x is the number of plain
 * functionalities up to x, x included; this is the slot of x if x is plain.  PER_x is the index of
 * x among the per-backend ones.  PLAIN_NEXT_x and PER_NEXT_x have no value of their own: they are
 * the previous enumerator plus 1.  PLAIN_x subtracts that 1 again if x is per backend, and PER_x
 * does if x is plain. */
enum {
    PLAIN_START = 0,
#define COUNT(name, id, per, prefix) PLAIN_NEXT_##name, PLAIN_##name = PLAIN_NEXT_##name - (per),
    DP_FUNCTIONALITY_MAP(COUNT)
#undef COUNT
};
enum {
    PER_START = -1,
#define COUNT(name, id, per, prefix) PER_NEXT_##name, PER_##name = PER_NEXT_##name - !(per),
    DP_FUNCTIONALITY_MAP(COUNT)
#undef COUNT
};
#define SLOT(name, per) ((per) ? DPI_SLOTS_PLAIN + (int)PER_##name : (int)PLAIN_##name)

#define NAMED(b) [b].column = (b) + 1 /* + 1: Meta's column is before those of named backends */
#define NAMED8(b)                                                                                  \
    NAMED(b), NAMED(b + 1), NAMED(b + 2), NAMED(b + 3), NAMED(b + 4), NAMED(b + 5), NAMED(b + 6),  \
        NAMED(b + 7)
const dpi_slot_row dpi_slot_rows[64] = {
#define FUNCTIONALITY(name, id, per, prefix)                                                       \
    [DPI_RANK_##name].base = SLOT(name, per),                                                      \
    [DPI_RANK_##name].stride = (per) ? DPI_PER_BACKEND : 0,
    DP_FUNCTIONALITY_MAP(FUNCTIONALITY)
#undef FUNCTIONALITY
#define COLUMN(name, device) [DP_B_##name].column = DP_B_##name,
        DP_BACKEND_MAP(COLUMN)
#undef COLUMN
            NAMED8(DP_B_NAMED_FIRST),
    NAMED8(DP_B_NAMED_FIRST + 8),
    NAMED8(DP_B_NAMED_FIRST + 16),
    NAMED8(DP_B_NAMED_FIRST + 24),
    NAMED8(DP_B_NAMED_FIRST + 32),
    [DP_B_Meta].column = DP_B_NAMED_FIRST,
    [62].column = UINT8_MAX, /* DPI_WRAPPER_BIT: beyond every table's columns */
};
_Static_assert(DPI_COLUMNS_BUILTIN + DP_B_NAMED_MAX < UINT8_MAX, "no table has so many columns");
_Static_assert(DP_B_NAMED_FIRST + DP_B_NAMED_MAX <= 62, "bit 62 is no backend's");
_Static_assert(DP_B_NAMED_MAX == 40, "dpi_slot_rows lists 40 named backends");

/* Functionality ids by slot.  Per-backend functionalities are listed once, at the slots of CPU's
 * column. */
static const uint8_t slot_functionality[DPI_SLOTS_PLAIN + DPI_PER_BACKEND] = {
#define INVERSE(name, id, per, prefix) [SLOT(name, per)] = (id),
    DP_FUNCTIONALITY_MAP(INVERSE)
#undef INVERSE
};

dp_key dpi_slot_key(unsigned slot)
{
    if (slot < DPI_SLOTS_PLAIN)
        return DP_KEY(slot_functionality[slot]);
    unsigned column = (slot - DPI_SLOTS_PLAIN) / DPI_PER_BACKEND;
    int f = slot_functionality[slot - column * DPI_PER_BACKEND];
    int b = column < DP_B_NAMED_FIRST    ? (int)column
            : column == DP_B_NAMED_FIRST ? DP_B_Meta
                                         : (int)column - 1;
    return (dp_key)DP_KEY_OF(f, b);
}

size_t dpi_runtime_keys(dp_key out[DPI_SLOTS_MAX])
{
    unsigned n_slots = DPI_SLOTS(dpi_backend_named_top());
    size_t n = 0;

    for (unsigned slot = 0; slot < n_slots; slot++) {
        dp_key k = dpi_slot_key(slot);
        int b = dp_key_backend(k);
        if (b >= 0 && dpi_backend_name(b) == NULL)
            continue;
        if (dp_key_functionality(k) == DP_F_AutocastNamed && !dpi_backend_is_named(b))
            continue;
        if (dpi_kind_slot(k) >= 0 && dpi_kind_name(dpi_kind_slot(k)) == NULL)
            continue;
        out[n++] = k;
    }
    return n;
}

/* -- names -- */

/* Append `s` at offset `at` and return the new length.  Async-signal-safe, unlike snprintf():
 * crash reports print key names in a signal handler. */
static size_t put(char buf[DP_KEY_NAME_MAX], size_t at, const char *s)
{
    while (*s != '\0' && at < DP_KEY_NAME_MAX - 1)
        buf[at++] = *s++;
    buf[at] = '\0';
    return at;
}

static size_t put_number(char buf[DP_KEY_NAME_MAX], size_t at, unsigned n)
{
    char digits[12], *first = digits + sizeof(digits);

    *--first = '\0';
    do
        *--first = (char)('0' + n % 10);
    while ((n /= 10) != 0);
    return put(buf, at, first);
}

const char *dp_key_name(dp_key k, char buf[DP_KEY_NAME_MAX])
{
    int f = dp_key_functionality(k), b = dp_key_backend(k), rank = dpi_rank(k);
    const char *backend = b < 0 ? NULL : dpi_backend_name(b);
    const char *kind = dpi_kind_slot(k) < 0 ? NULL : dpi_kind_name(dpi_kind_slot(k));

    if (f >= DP_ALIAS_FIRST && f < DP_ALIAS_END)
        put(buf, 0, alias_names[f - DP_ALIAS_FIRST]);
    else if (kind != NULL)
        put(buf, 0, kind);
    else if (f != DP_F_Undefined && rank == 0)
        put_number(buf, put(buf, 0, "key "), k);
    else if (b < 0 || (f == DP_F_AutocastNamed && !dpi_backend_is_named(b)))
        put(buf, 0, functionality_names[rank]);
    else if (backend != NULL)
        put(buf, put(buf, 0, prefixes[rank]), backend);
    else
        put(buf, put_number(buf, put(buf, put(buf, 0, prefixes[rank]), "(backend "), (unsigned)b),
            ")");
    return buf;
}

static bool find_key(const char *name, dp_key *out)
{
    int kind = dpi_kind_find(name);

    if (kind >= 0) {
        *out = dpi_kind_key(kind);
        return true;
    }
    for (int r = 0; r < DPI_RANKS; r++) /* the keys Kind0 to Kind7 have only their kinds' names */
        if (!per_backend(r) && dpi_kind_slot(dpi_rank_keys[r]) < 0 &&
            strcmp(name, functionality_names[r]) == 0) {
            *out = dpi_rank_keys[r];
            return true;
        }
    for (int a = DP_ALIAS_FIRST; a < DP_ALIAS_END; a++)
        if (strcmp(name, alias_names[a - DP_ALIAS_FIRST]) == 0) {
            *out = DP_KEY(a);
            return true;
        }
    for (int r = 1; r < DPI_RANKS; r++) {
        size_t n = strlen(prefixes[r]);
        if (!per_backend(r) || strncmp(name, prefixes[r], n) != 0)
            continue;
        int b = dpi_backend_find_alive(name + n);
        if (b >= 0 && (r != DPI_RANK_AutocastNamed || dpi_backend_is_named(b))) {
            *out = (dp_key)(dpi_rank_keys[r] | (b + 1));
            return true;
        }
    }
    return false;
}

dp_key dpi_functionality_find(const char *name)
{
    for (int r = 1; r < DPI_RANKS; r++)
        if (per_backend(r) && strcmp(name, functionality_names[r]) == 0)
            return dpi_rank_keys[r];
    return DP_KEY_Undefined;
}

dp_key dp_key_parse(const char *name)
{
    dp_key k = DP_KEY_Undefined;

    find_key(name, &k);
    return k;
}

static int no_key(const char *name, dp_error *err)
{
    dp_key keys[DPI_SLOTS_MAX + DP_ALIAS_END - DP_ALIAS_FIRST];
    size_t n = dpi_runtime_keys(keys);
    char near[3 * DP_KEY_NAME_MAX] = "";

    if (dpi_kind_is_alive(name))
        return dp_error_set(err, DP_ENOTFOUND,
                            "the plugin of kind '%.64s' is not loaded: only live tensors and key "
                            "sets of sessions still have its key",
                            name);
    for (int a = DP_ALIAS_FIRST; a < DP_ALIAS_END; a++)
        keys[n++] = DP_KEY(a);
    char(*names)[DP_KEY_NAME_MAX] = dp_malloc_n(n, sizeof(*names));
    const char **list = dp_malloc_n(n, sizeof(*list));
    for (size_t i = 0; names != NULL && list != NULL && i < n; i++)
        list[i] = dp_key_name(keys[i], names[i]);
    if (names != NULL && list != NULL)
        dpi_nearest(name, list, n, 3, near, sizeof(near));
    dp_free(list);
    dp_free(names);
    return dp_error_set(err, DP_ENOTFOUND, "no dispatch key '%.64s'%s%s", name,
                        near[0] != '\0' ? "; nearest: " : "", near);
}

int dp_key_lookup(const char *name, dp_key *out, dp_error *err)
{
    if (!DPI_GIVEN(err, DP_EVALUE, name, out))
        return DP_EVALUE;
    return find_key(name, out) ? 0 : no_key(name, err);
}

/* Clear the highest bit of `*bits` and return its number. */
static int take_highest(uint64_t *bits)
{
    int bit = 63 - __builtin_clzll(*bits);

    *bits ^= UINT64_C(1) << bit;
    return bit;
}

size_t dp_keyset_list(dp_keyset s, dp_key *out, size_t cap)
{
    s.functionality &= ~DPI_GRAD_BIT;
    uint64_t functionalities = s.functionality & (((uint64_t)1 << (DPI_RANKS - 1)) - 1);
    size_t n = 0;

    while (functionalities != 0) {
        int r = take_highest(&functionalities) + 1;
        if (!per_backend(r)) {
            if (n++ < cap)
                out[n - 1] = dpi_rank_keys[r];
            continue;
        }
        for (uint64_t backends = s.backend; backends != 0;) {
            int b = take_highest(&backends);
            if (r != DPI_RANK_AutocastNamed || dpi_backend_is_named(b))
                if (n++ < cap)
                    out[n - 1] = (dp_key)(dpi_rank_keys[r] | (b + 1));
        }
    }
    return n;
}

const char *dp_keyset_print(dp_keyset s, char *buf, size_t bytes)
{
    dp_key keys[DPI_SLOTS_MAX];
    char name[DP_KEY_NAME_MAX];
    size_t n = dp_keyset_list(s, keys, DPI_COUNT(keys)), at = 0;

    if (bytes > 0)
        buf[0] = '\0';
    for (size_t i = 0; i < n && at < bytes; i++)
        at += (size_t)snprintf(buf + at, bytes - at, "%s%s", i ? ", " : "",
                               dp_key_name(keys[i], name));
    return buf;
}

/* -- names of kinds -- */

int dpi_kind_check_name(const char *name, dp_error *err)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
    char key[DP_KEY_NAME_MAX];

    if (name[n] != '\0' || n == 0 || n >= DP_KEY_NAME_MAX || name[0] < 'a' || name[0] > 'z')
        return dp_error_set(
            err, DP_EVALUE,
            "kind '%.64s' is not of the form [a-z][a-z0-9_]*, at most %d characters", name,
            DP_KEY_NAME_MAX - 1);
    if (dpi_backend_find_alive(name) >= 0 || dpi_backend_find_device(name) >= 0)
        return dp_error_set(err, DP_EEXISTS, "kind '%s': a backend has this name", name);
    dp_key k = dp_key_parse(name);
    return k == DP_KEY_Undefined || dpi_kind_slot(k) >= 0
               ? DP_OK
               : dp_error_set(err, DP_EEXISTS, "kind '%s': a key has this name, %s", name,
                              dp_key_name(k, key));
}

/* -- key sets, for plugins and embedders -- */

dp_keyset dp_keyset_pin(dp_keyset s)
{
    return (dp_keyset){dpi_kinds_pin(s.functionality), dp_backends_pin(s.backend)};
}

void dp_keyset_unpin(dp_keyset pinned)
{
    dpi_kinds_unpin(pinned.functionality);
    dp_backends_unpin(pinned.backend);
}

dp_keyset dp_keyset_of(dp_key k)
{
    return dpi_keyset_of(k);
}

dp_keyset dp_keyset_below(dp_keyset s, dp_key k)
{
    return dpi_keyset_below(s, k);
}

bool dp_keyset_has(dp_keyset s, dp_key k)
{
    return dpi_keyset_has(s, k);
}

dp_key dp_keyset_highest(dp_keyset s)
{
    return dpi_keyset_highest(s);
}

dp_keyset dp_keyset_named(unsigned names)
{
    dp_keyset s = {(names & DP_KEYSET_AUTOGRAD ? DPI_AUTOGRAD_BITS : 0) |
                       (names & DP_KEYSET_AUTOCAST ? DPI_AUTOCAST_BITS : 0) |
                       (names & DP_KEYSET_MATH ? DPI_MATH_BITS : 0),
                   0};
    return s;
}

/* -- expansions, as in c10/core/DispatchKeySet.cpp -- */

/* Backends whose autograd key is AutogradOther. */
#define NO_AUTOGRAD (DP_BBIT(DP_B_HIP) | DP_BBIT(DP_B_VE))

static bool has_own_autograd(int b)
{
    return b >= 0 && !(NO_AUTOGRAD & DP_BBIT(b));
}

DPI_HOT dp_keyset dpi_backend_keys(int backend)
{
    uint64_t autograd =
        has_own_autograd(backend) ? DPI_BIT(AutogradFunctionality) : DPI_BIT(AutogradOther);
    dp_keyset s = {DPI_BIT(Dense) | DPI_BIT(ADInplaceOrView) | autograd, DP_BBIT(backend)};
    return s;
}

#define BACKEND_BITS                                                                               \
    (DPI_BIT(Dense) | DPI_BIT(Quantized) | DPI_BIT(Sparse) | DPI_BIT(SparseCsr) | DPI_BIT(FPGA) |  \
     DPI_BIT(Vulkan) | DPI_BIT(Metal) | DPI_BIT(CustomRNGKeyId) | DPI_BIT(MkldnnCPU) |             \
     DPI_KIND_BITS)

/* The runtime keys that each alias includes: functionalities, and backends that are excluded. */
static const struct {
    uint64_t functionality;
    uint64_t without; /* bits of backends that the alias excludes */
} expansions[DP_ALIAS_END - DP_ALIAS_FIRST] = {
    [DP_ALIAS_Autograd - DP_ALIAS_FIRST] = {DPI_AUTOGRAD_BITS, 0},
    [DP_ALIAS_CompositeImplicitAutograd - DP_ALIAS_FIRST] =
        {BACKEND_BITS | DPI_AUTOGRAD_BITS | DPI_BIT(NestedTensor) | DPI_BIT(Functionalize), 0},
    [DP_ALIAS_FuncTorchBatchedDecomposition - DP_ALIAS_FIRST] = {DPI_BIT(FuncTorchBatched), 0},
    [DP_ALIAS_CompositeImplicitAutogradNestedTensor -
        DP_ALIAS_FIRST] = {DPI_BIT(NestedTensor) | DPI_BIT(AutogradNestedTensor), 0},
    [DP_ALIAS_CompositeExplicitAutograd - DP_ALIAS_FIRST] = {BACKEND_BITS, 0},
    [DP_ALIAS_CompositeExplicitAutogradNonFunctional -
        DP_ALIAS_FIRST] = {BACKEND_BITS & ~(DPI_BIT(Sparse) | DPI_KIND_BITS),
                           DP_BBIT(DP_B_XLA) | DP_BBIT(DP_B_Lazy)},
    [DP_ALIAS_AutogradFormula - DP_ALIAS_FIRST] = {0, 0},
    [DP_ALIAS_AutocastNamed - DP_ALIAS_FIRST] = {DPI_BIT(AutocastNamed), 0},
};

/* -- autocast -- */

/* Backends that have an autocast key of their own; named backends share AutocastNamed. */
static const dp_key autocast_keys[DP_B_NAMED_FIRST] = {
    [DP_B_CPU] = DP_KEY(DP_F_AutocastCPU),   [DP_B_CUDA] = DP_KEY(DP_F_AutocastCUDA),
    [DP_B_XLA] = DP_KEY(DP_F_AutocastXLA),   [DP_B_MPS] = DP_KEY(DP_F_AutocastMPS),
    [DP_B_IPU] = DP_KEY(DP_F_AutocastIPU),   [DP_B_XPU] = DP_KEY(DP_F_AutocastXPU),
    [DP_B_HPU] = DP_KEY(DP_F_AutocastHPU),   [DP_B_MTIA] = DP_KEY(DP_F_AutocastMTIA),
    [DP_B_MAIA] = DP_KEY(DP_F_AutocastMAIA), [DP_B_PrivateUse1] = DP_KEY(DP_F_AutocastPrivateUse1)};

dp_key dp_autocast_key(int backend)
{
    if (dpi_backend_is_named(backend))
        return (dp_key)DP_KEY_OF(DP_F_AutocastNamed, backend);
    return backend >= 0 && backend < DP_B_NAMED_FIRST ? autocast_keys[backend] : DP_KEY_Undefined;
}

int dpi_autocast_backend(dp_key k)
{
    if (dp_key_functionality(k) == DP_F_AutocastNamed)
        return dp_key_backend(k);
    for (int b = 0; b < DP_B_NAMED_FIRST && k != DP_KEY_Undefined; b++)
        if (autocast_keys[b] == k)
            return b;
    return -1;
}

uint64_t dpi_autocast_bits(uint64_t backends)
{
    uint64_t bits = 0;

    for (; backends != 0; backends &= backends - 1)
        bits |= dpi_key_bit(dp_autocast_key(__builtin_ctzll(backends)));
    return bits;
}

bool dpi_alias_has(dp_key alias, dp_key k)
{
    int b = dp_key_backend(k), i = dp_key_functionality(alias) - DP_ALIAS_FIRST;

    if (!dp_key_is_alias(alias))
        return alias == k;
    /* a number that no alias has, such as that of DPI_OBSERVES_SESSIONS (registry/truth.h) */
    if (i >= DP_ALIAS_END - DP_ALIAS_FIRST)
        return false;
    if (k == DP_KEY_Undefined || dp_key_is_alias(k))
        return false;
    return (expansions[i].functionality & dpi_key_bit(k)) &&
           (b < 0 || !(expansions[i].without & DP_BBIT(b)));
}

bool dpi_is_backend_key(dp_key k)
{
    return dpi_alias_has(DP_KEY(DP_ALIAS_CompositeExplicitAutograd), k);
}

dp_key dpi_autograd_of(dp_key k)
{
    int b = dp_key_backend(k);

    return has_own_autograd(b) ? (dp_key)DP_KEY_OF(DP_F_AutogradFunctionality, b)
                               : DP_KEY(DP_F_AutogradOther);
}
