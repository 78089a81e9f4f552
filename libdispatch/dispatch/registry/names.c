/* names.c -- hash tables with open addressing: full name -> operator id, base name -> overloads.
 *
 * The overloads of a base name form a linked list of slots.  Slots are numbered from 1 in links, so
 * that 0 ends a list. */
#include "snapshot.h"

typedef struct name_slot {
    uint32_t hash, id; /* hash of the full name; operator id + 1, or 0 if the slot is empty */
    uint32_t len;      /* bytes of the full name */
    uint32_t next;     /* link to the next overload of the same base name; 0: none */
    const char *name;  /* borrowed from the operator, which outlives the table */
} name_slot;

struct dpi_names {
    atomic_uint refs;
    uint32_t mask;
    /* [mask + 1], in this memory block; indexed by the base name's hash: link to an overload */
    uint32_t *base;
    name_slot slot[]; /* [mask + 1] */
};

dpi_names *dpi_names_ref(dpi_names *n)
{
    atomic_fetch_add_explicit(&n->refs, 1, memory_order_relaxed);
    return n;
}

dpi_names *dpi_names_unref(dpi_names *n)
{
    if (n != NULL && atomic_fetch_sub_explicit(&n->refs, 1, memory_order_acq_rel) == 1)
        dp_free(n);
    return NULL;
}

size_t dpi_base_bytes(const char *name)
{
    const char *colons = strstr(name, "::");
    return strcspn(colons ? colons : name, ".") + (colons ? (size_t)(colons - name) : 0);
}

/* Return the element of names->base for base name `base` (`n` bytes).  The value of the element is
 * 0 if the name has no overloads. */
static uint32_t *base_of(const dpi_names *names, const char *base, size_t n)
{
    uint32_t i = (uint32_t)dpi_hash(base, n) & names->mask;

    for (; names->base[i] != 0; i = (i + 1) & names->mask) {
        const char *name = names->slot[names->base[i] - 1].name;
        if (strncmp(name, base, n) == 0 && dpi_base_bytes(name) == n)
            break;
    }
    return &names->base[i];
}

static void names_add(dpi_names *names, const char *name, uint32_t id)
{
    size_t len = strlen(name);
    uint32_t hash = (uint32_t)dpi_hash(name, len), i = hash & names->mask;
    uint32_t *base = base_of(names, name, dpi_base_bytes(name));

    while (names->slot[i].id != 0)
        i = (i + 1) & names->mask;
    names->slot[i] = (name_slot){hash, id + 1, (uint32_t)len, *base, name};
    *base = i + 1;
}

dpi_names *dpi_names_build(dp_op *const *ops, uint32_t n)
{
    uint32_t cap = 16;

    while (cap < n * 2)
        cap *= 2;
    dpi_names *names;
    uint64_t slots = dp_size_times(cap, sizeof(name_slot) + sizeof(*names->base));
    names = dp_calloc(1, dp_size_plus(sizeof(*names), slots));
    if (names == NULL)
        return NULL;
    atomic_init(&names->refs, 1);
    names->mask = cap - 1;
    names->base = (uint32_t *)(names->slot + cap);
    for (uint32_t id = 0; id < n; id++)
        names_add(names, ops[id]->name, id);
    return names;
}

bool dpi_names_add(dpi_names **names, dp_op *const *ops, uint32_t n)
{
    if (*names != NULL && (uint64_t)n * 2 <= (uint64_t)(*names)->mask + 1) {
        names_add(*names, ops[n - 1]->name, n - 1);
        return true;
    }
    dpi_names *more = dpi_names_build(ops, n);
    if (more == NULL)
        return false;
    dpi_names_unref(*names);
    *names = more;
    return true;
}

int64_t dpi_names_find(const dpi_names *names, const char *name, size_t n)
{
    uint32_t hash = (uint32_t)dpi_hash(name, n);

    for (uint32_t i = hash & names->mask; names->slot[i].id != 0; i = (i + 1) & names->mask) {
        const name_slot *s = &names->slot[i];
        if (s->hash == hash && s->len == n && memcmp(s->name, name, n) == 0)
            return (int64_t)s->id - 1;
    }
    return -1;
}

uint32_t dpi_names_base(const dpi_names *names, const char *base, size_t n)
{
    return *base_of(names, base, n);
}

uint32_t dpi_names_next(const dpi_names *names, uint32_t slot_number, uint32_t *id)
{
    *id = names->slot[slot_number - 1].id - 1;
    return names->slot[slot_number - 1].next;
}
