/* hash.c -- the hash of a program's content, equal for programs with the same inputs, steps and
 * outputs.
 *
 * Names of values, the order of keyword arguments, and whether a default was given are not part of
 * the hash.  LIST, ITEM, SCALAR and SELECT steps (pure steps) only compute from their arguments, so
 * their position among the steps does not matter: a pure step has a digest of its own, which is
 * hashed wherever its value is used.  Of a tensor among the constants, the dtype, device, keys,
 * sizes and strides are hashed, but not the elements, because the elements may change later; of a
 * number that stands for a tensor, the number, which nobody can change. */
#include "program_i.h"
#include "dispatch/call/ctx.h"
#include <endian.h>
#include <stdlib.h>

/* A hash of one value, constant or operator. */
typedef struct digest {
    uint64_t word[2];
} digest;

typedef struct hashing {
    const dp_program *p;
    digest *values, *constants; /* [p->n_values], [p->n_constants] */
    digest *ops;                /* [p->n_ops] digests of the operators' schemas */
    bool *known;                /* [p->n_constants] constants[i] was computed */
    dpi_siphash steps;          /* hash of the inputs and of the steps that are not pure */
    digest pure;                /* sum of the digests of all pure steps, used or not */
    uint64_t n_made;            /* values that the steps in `steps` returned so far */
    uint64_t n_identities;      /* constants with has_identity() that were hashed so far */
} hashing;

/* First word of a digest, or first word that is hashed for it; so digests of different kinds of
 * things differ. */
enum {
    OF_INPUT = 1,
    OF_RETURN,
    OF_CONSTANT,
    OF_NAME,
    OF_PURE,
    OF_OPERATOR,
    OF_OUTPUTS,
    OF_NOTHING,
    OF_GUARDS
};

static void begin(dpi_siphash *h)
{
    dpi_siphash_begin(h, 0x6470705f70726f67, 0); /* the key is public */
}

static void add_int(dpi_siphash *h, uint64_t n)
{
    uint64_t bytes = htole64(n);

    dpi_siphash_add(h, &bytes, sizeof(bytes));
}

static void add_text(dpi_siphash *h, const char *s)
{
    size_t n = strlen(s);

    add_int(h, n);
    dpi_siphash_add(h, s, n);
}

static void add_digest(dpi_siphash *h, digest d)
{
    add_int(h, d.word[0]);
    add_int(h, d.word[1]);
}

static digest end(dpi_siphash *h)
{
    digest d = {{0}};

    dpi_siphash_end(h, d.word);
    return d;
}

/* -- constants -- */

static void add_tensor(dpi_siphash *h, const dp_tensor *t)
{
    char name[DP_KEY_NAME_MAX];

    if (t == NULL) {
        add_int(h, OF_NOTHING);
        return;
    }
    DPI_VIEW(v, t);
    add_text(h, dp_dtype_name(v.dtype));
    add_text(h, dp_device_name(v.device, name));
    add_int(h, dp_tensor_keys(t).functionality);
    add_int(h, dp_tensor_is_wrapped(t));
    add_int(h, (uint64_t)v.ndim);
    for (int d = 0; d < v.ndim; d++) {
        add_int(h, (uint64_t)v.sizes[d]);
        add_int(h, (uint64_t)v.strides[d]);
    }
}

static void add_value(dpi_siphash *h, const dp_value *v)
{
    dp_value number;
    double z[2];
    uint64_t bits;

    add_int(h, v->tag);
    switch (v->tag) {
    case DP_TAG_NONE:
        break;
    case DP_TAG_TENSOR:
        add_tensor(h, v->u.t);
        if (v->u.t != NULL && dpi_wrapped_number(v->u.t, z, &number))
            add_value(h, &number);
        break;
    case DP_TAG_BOOL:
        add_int(h, v->u.b);
        break;
    case DP_TAG_COMPLEX:
        memcpy(&bits, &v->u.doubles[0], sizeof(bits));
        add_int(h, bits);
        memcpy(&bits, &v->u.doubles[1], sizeof(bits));
        add_int(h, bits);
        break;
    case DP_TAG_STR:
        add_int(h, v->len);
        dpi_siphash_add(h, v->u.s, v->len);
        break;
    case DP_TAG_TENSORS:
    case DP_TAG_INTS:
    case DP_TAG_DOUBLES:
    case DP_TAG_BOOLS:
    case DP_TAG_LIST:
        add_int(h, v->len);
        for (uint32_t i = 0; i < v->len; i++) {
            dp_value item = dp_list_item(v, i);
            add_value(h, &item);
        }
        break;
    default: /* numbers, and pointers of generators and objects */
        memcpy(&bits, &v->u, sizeof(bits));
        add_int(h, bits);
    }
}

/* Does `v` contain a tensor?  Two tensors whose dtype, device, sizes and strides are equal may have
 * other elements, so each constant with a tensor is numbered. */
static bool has_identity(const dp_value *v)
{
    bool found = v->tag == DP_TAG_TENSOR || v->tag == DP_TAG_TENSORS;

    for (uint32_t i = 0; v->tag == DP_TAG_LIST && i < v->len && !found; i++)
        found = has_identity(&v->u.values[i]);
    return found;
}

static digest constant_digest(hashing *c, uint32_t i)
{
    const dp_value *v = &c->p->constants[i];
    dpi_siphash h;

    if (c->known[i])
        return c->constants[i];
    begin(&h);
    add_int(&h, OF_CONSTANT);
    add_value(&h, v);
    add_int(&h, has_identity(v) ? ++c->n_identities : 0);
    c->known[i] = true;
    return c->constants[i] = end(&h);
}

/* -- steps -- */

static digest ref_digest(hashing *c, dp_ref r)
{
    if (r == DPI_REF_NONE)
        return (digest){{OF_NOTHING, 0}};
    return DPI_REF_KIND(r) == DPI_REF_CONSTANT ? constant_digest(c, DPI_REF_INDEX(r))
                                               : c->values[r];
}

/* Return the digest of an argument.  Of a constant device or dtype, the name is hashed. */
static digest arg_digest(hashing *c, uint32_t step, uint32_t i)
{
    char buf[DP_KEY_NAME_MAX];
    const char *name = dp_program_argument_name(c->p, step, i, buf);
    dpi_siphash h;

    if (name == NULL)
        return ref_digest(c, c->p->links[c->p->steps[step].args + i]);
    begin(&h);
    add_int(&h, OF_NAME);
    add_text(&h, name);
    return end(&h);
}

static void add_mode(dpi_siphash *h, const dp_step_mode *m)
{
    add_int(h, m->sets);
    add_int(h, m->mode.no_grad);
    add_int(h, m->mode.no_cast_cache);
    add_int(h, m->mode.cast_backends);
    dpi_siphash_add(h, m->mode.cast_dtype, sizeof(m->mode.cast_dtype));
}

typedef struct kwarg {
    const char *name;
    uint32_t i; /* index of the argument */
} kwarg;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const kwarg *)a)->name, ((const kwarg *)b)->name);
}

/* Hash the arguments of a step, keyword arguments in the order of their names. */
static void add_args(hashing *c, dpi_siphash *h, uint32_t step)
{
    const dpi_step *s = &c->p->steps[step];
    const char *const *names = s->kind == DPI_STEP_BIND ? c->p->binds[s->operand].kwargs : NULL;
    kwarg kwargs[DP_LIMIT_ARGUMENTS];
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->n_args; i++)
        if (names != NULL && names[i] != NULL && n < DP_LIMIT_ARGUMENTS)
            kwargs[n++] = (kwarg){names[i], i};
        else
            add_digest(h, arg_digest(c, step, i));
    if (n > 1)
        qsort(kwargs, n, sizeof(*kwargs), by_name);
    for (uint32_t i = 0; i < n; i++) {
        add_text(h, kwargs[i].name);
        add_digest(h, arg_digest(c, step, kwargs[i].i));
    }
}

/* Hash what step `i` does: the schema of a CALL step's operator, else the step's name, index and
 * program. */
static void add_name(hashing *c, dpi_siphash *h, uint32_t i)
{
    const dpi_step *step = &c->p->steps[i];
    dp_step_info s = {.size = sizeof(s)};

    if (step->kind == DP_STEP_CALL) {
        add_digest(h, c->ops[step->operand]);
        return;
    }
    dp_program_step(c->p, i, &s);
    add_text(h, s.name);
    add_int(h, (uint64_t)s.index);
    if (s.program != NULL)
        add_digest(h, (digest){{s.program->hash[0], s.program->hash[1]}});
}

static void add_step(hashing *c, dpi_siphash *h, uint32_t i)
{
    const dpi_step *s = &c->p->steps[i];
    bool when = s->when != DPI_REF_NONE, recompute = (s->flags & DP_STEP_FLAG_RECOMPUTE) != 0;

    _Static_assert(DP_LIMIT_PROGRAM_VALUES <= 1 << 20, "n_rets has the bits 12 to 32");
    _Static_assert(DPI_STEP_BIND < 16 && DPI_SAVE_FLAGS == (8 | 16), "kinds have the bits 0 to 3");
    add_int(h, s->kind | (s->flags & DPI_SAVE_FLAGS) << 1 | (uint64_t)s->names_written << 8 |
                   (uint64_t)when << 9 | (uint64_t)(s->mode > 0) << 10 | (uint64_t)recompute << 11 |
                   (uint64_t)s->n_rets << 12 | (uint64_t)s->n_args << 33);
    add_name(c, h, i);
    if (when)
        add_digest(h, ref_digest(c, s->when));
    if (s->mode > 0)
        add_mode(h, &c->p->modes[s->mode - 1]);
    add_args(c, h, i);
}

/* Does the step only compute from its arguments? */
static bool is_pure(const dpi_step *s)
{
    return s->kind == DP_STEP_LIST || s->kind == DP_STEP_ITEM || s->kind == DP_STEP_SCALAR ||
           s->kind == DP_STEP_SELECT;
}

static void hash_step(hashing *c, uint32_t i)
{
    const dpi_step *step = &c->p->steps[i];
    dpi_siphash h;

    if (is_pure(step)) {
        begin(&h);
        add_int(&h, OF_PURE);
        add_step(c, &h, i);
        digest d = end(&h);
        c->values[step->ret] = d;
        c->pure.word[0] += d.word[0];
        c->pure.word[1] += d.word[1];
        return;
    }
    add_step(c, &c->steps, i);
    for (uint32_t k = 0; k < step->n_rets; k++)
        c->values[step->ret + k] = (digest){{OF_RETURN, c->n_made++}};
}

/* Hash the guards, in order; nothing if there are none. */
static void add_guards(hashing *c)
{
    char device[DP_KEY_NAME_MAX];
    dpi_siphash *h = &c->steps;

    for (uint32_t i = 0; i < c->p->n_guards; i++) {
        const dp_input_guard *g = &c->p->guards[i];
        const dp_input_place places[2] = {g->of, g->other};
        add_int(h, OF_GUARDS);
        add_int(h, g->kind);
        for (int k = 0; k < 2; k++) {
            add_int(h, (uint64_t)places[k].input << 32 | (uint32_t)places[k].item);
            add_int(h, (uint64_t)places[k].dim);
        }
        add_int(h, (uint64_t)g->number);
        if (g->value != NULL)
            add_value(h, g->value);
        if (g->kind != DP_GUARD_TENSOR)
            continue;
        add_text(h, dp_dtype_name(g->dtype));
        add_text(h, dp_device_name(g->device, device));
        add_int(h, g->layout);
        add_int(h, (uint64_t)g->offset);
        add_int(h, (uint64_t)g->ndim);
        for (int d = 0; d < g->ndim; d++) {
            add_int(h, (uint64_t)g->sizes[d]);
            add_int(h, (uint64_t)g->strides[d]);
        }
    }
}

static void hash_program(hashing *c)
{
    const dp_program *p = c->p;
    dpi_siphash h;

    begin(&c->steps);
    for (uint32_t i = 0; i < p->n_inputs; i++) {
        const dp_schema *type = p->types[p->inputs[i].type].schema;
        add_text(&c->steps, type != NULL ? type->text : "");
        c->values[i] = (digest){{OF_INPUT, i}};
    }
    add_guards(c);
    for (uint32_t i = 0; i < p->n_ops; i++) {
        begin(&h);
        add_int(&h, OF_OPERATOR);
        add_text(&h, p->ops[i].schema->text);
        c->ops[i] = end(&h);
    }
    for (uint32_t i = 0; i < p->n_steps; i++)
        hash_step(c, i);
    add_digest(&c->steps, c->pure);
    add_int(&c->steps, OF_OUTPUTS);
    add_int(&c->steps, p->n_outputs);
    for (uint32_t i = 0; i < p->n_outputs; i++)
        add_digest(&c->steps, ref_digest(c, p->outputs[i].ref));
}

int dpi_program_hash(dp_builder *b)
{
    const dp_program *p = &b->p;
    hashing c = {.p = p,
                 .values = dp_malloc_n((size_t)p->n_values + 1, sizeof(digest)),
                 .constants = dp_malloc_n((size_t)p->n_constants + 1, sizeof(digest)),
                 .ops = dp_malloc_n((size_t)p->n_ops + 1, sizeof(digest)),
                 .known = dp_calloc((size_t)p->n_constants + 1, sizeof(bool))};
    bool made = c.values != NULL && c.constants != NULL && c.ops != NULL && c.known != NULL;

    if (made) {
        hash_program(&c);
        dpi_siphash_end(&c.steps, b->p.hash);
    }
    dp_free(c.values);
    dp_free(c.constants);
    dp_free(c.ops);
    dp_free(c.known);
    return made ? 0 : dpi_no_memory(&b->ctx->error, "a program");
}

void dp_program_hash(const dp_program *p, uint64_t out[2])
{
    out[0] = p->hash[0];
    out[1] = p->hash[1];
}
