/* common.c -- the pass that lets one step serve for several that do the same.
 *
 * Steps do the same if they have the same kind, operator, arguments, condition and mode.
 * Constants count as the same argument if they are equal numbers or lists of ints, or one
 * constant.  The step that stays has the origins of all. */
#include "graph.h"
#include "dispatch/call/ctx.h"

typedef struct table {
    uint32_t *steps; /* [mask + 1] 1 + index of a step that stays; 0: a free slot */
    uint32_t mask;
    dp_ref *values;       /* [n_values] the value that stands for each one */
    uint32_t *same;       /* [n_steps] the step that stands for each one */
    uint32_t *next;       /* [n_steps] the next step for which the same one stands, or NONE */
    uint32_t *last;       /* [n_steps] the last step for which each one stands */
    bool *touched, *kept; /* of values; kept: of those that stand for others, too */
    dp_ref *numbers;      /* [n_constants] first constant with the same value */
} table;
enum { NONE = UINT32_MAX };

/* -- constants -- */

static bool same_number(const dp_value *a, const dp_value *b)
{
    bool number = a->tag == DP_TAG_INT || a->tag == DP_TAG_DOUBLE || a->tag == DP_TAG_BOOL ||
                  a->tag == DP_TAG_NONE;

    if (!number || a->tag != b->tag)
        return false;
    return a->tag == DP_TAG_NONE || (a->tag == DP_TAG_BOOL ? a->u.b == b->u.b : a->u.i == b->u.i);
}

static bool same_value(const dp_value *a, const dp_value *b)
{
    if (a->tag == DP_TAG_INTS && b->tag == DP_TAG_INTS && a->len == b->len)
        return a->len == 0 || memcmp(a->u.ints, b->u.ints, a->len * sizeof(*a->u.ints)) == 0;
    return same_number(a, b);
}

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static uint64_t hash_value(const dp_value *v)
{
    uint64_t h = mix(v->tag, v->len);

    for (uint32_t i = 0; v->tag == DP_TAG_INTS && i < v->len; i++)
        h = mix(h, (uint64_t)v->u.ints[i]);
    if (v->tag == DP_TAG_INT || v->tag == DP_TAG_DOUBLE)
        h = mix(h, (uint64_t)v->u.i);
    return v->tag == DP_TAG_BOOL ? mix(h, v->u.b) : h;
}

/* Find for each constant the first one with the same value, with a hash table of the size of
 * `t->steps`, which is free again afterwards. */
static void find_numbers(const dp_program *p, table *t)
{
    for (uint32_t i = 0; i < p->n_constants; i++) {
        uint32_t at = (uint32_t)hash_value(&p->constants[i]) & t->mask;
        while (t->steps[at] != 0 && !same_value(&p->constants[t->steps[at] - 1], &p->constants[i]))
            at = (at + 1) & t->mask;
        if (t->steps[at] == 0)
            t->steps[at] = i + 1;
        t->numbers[i] = DPI_REF(DPI_REF_CONSTANT, t->steps[at] - 1);
    }
    dp_zero_n(t->steps, (size_t)t->mask + 1, sizeof(*t->steps));
}

/* -- steps -- */

/* Return what stands for argument `r` in comparisons. */
static dp_ref key(const table *t, dp_ref ref)
{
    if (ref == DPI_REF_NONE)
        return ref;
    return dpi_is_value(ref) ? t->values[ref] : t->numbers[DPI_REF_INDEX(ref)];
}

static bool same_step(const dp_program *p, const table *t, const dpi_step *a, const dpi_step *b)
{
    if (a->kind != b->kind || a->operand != b->operand || a->mode != b->mode ||
        a->n_args != b->n_args || key(t, a->when) != key(t, b->when))
        return false;
    for (uint32_t i = 0; i < a->n_args; i++)
        if (key(t, p->links[a->args + i]) != key(t, p->links[b->args + i]))
            return false;
    return true;
}

static uint64_t hash_step(const dp_program *p, const table *t, const dpi_step *s)
{
    uint64_t h = mix(mix(s->kind, s->operand), mix(s->mode, key(t, s->when)));

    for (uint32_t i = 0; i < s->n_args; i++)
        h = mix(h, key(t, p->links[s->args + i]));
    return h;
}

/* May another step stand for `s`, or `s` for another one? */
static bool is_common(const dp_program *p, const table *t, const dpi_step *s)
{
    bool common = s->kind != DPI_STEP_BIND && s->kind != DP_STEP_SUB &&
                  (s->flags & (DP_STEP_FLAG_RANDOM | DP_STEP_FLAG_EFFECT)) == 0;

    for (uint32_t i = 0; i < s->n_args && common; i++)
        common = !dpi_is_value(p->links[s->args + i]) || !t->touched[p->links[s->args + i]];
    for (uint32_t i = 0; i < s->n_rets && common; i++)
        common = !t->touched[s->ret + i];
    return common;
}

/* May an output be a tensor that `s` returns, or share its memory? */
static bool reaches_output(const dp_program *p, const table *t, const dpi_step *s)
{
    bool reaches = false;

    for (uint32_t i = 0; i < s->n_rets; i++)
        reaches |=
            t->kept[s->ret + i] && (p->values[s->ret + i].tags & (DPI_TENSOR | DPI_LISTS)) != 0;
    return reaches;
}

/* Find the step that stands for step i: its index, or NONE.  *slot: where step i belongs. */
static uint32_t find_same(const dp_program *p, const table *t, uint32_t i, uint32_t *slot)
{
    const dpi_step *s = &p->steps[i];
    uint32_t at = (uint32_t)hash_step(p, t, s) & t->mask;

    for (; t->steps[at] != 0; at = (at + 1) & t->mask)
        if (same_step(p, t, &p->steps[t->steps[at] - 1], s))
            break;
    *slot = at;
    return t->steps[at] != 0 ? t->steps[at] - 1 : NONE;
}

/* Find the step that stands for step i, which may be step i itself. */
static void look_at(const dp_program *p, table *t, uint32_t i)
{
    const dpi_step *s = &p->steps[i];
    uint32_t slot = 0, same = NONE;
    bool common = is_common(p, t, s);

    if (common)
        same = find_same(p, t, i, &slot);
    if (same != NONE && reaches_output(p, t, s) && reaches_output(p, t, &p->steps[same]))
        same = NONE;
    if (same == NONE && common)
        t->steps[slot] = i + 1;
    t->same[i] = same == NONE ? i : same;
    t->last[i] = i;
    t->next[i] = NONE;
    if (same != NONE) {
        t->next[t->last[same]] = i;
        t->last[same] = i;
    }
    for (uint32_t k = 0; k < s->n_rets; k++) {
        dp_ref stands = p->steps[t->same[i]].ret + k;
        t->values[s->ret + k] = stands;
        t->kept[stands] |= t->kept[s->ret + k];
    }
}

/* Copy step i, with the origins of all steps for which it stands. */
static int copy_step(dpi_rewrite *r, const table *t, uint32_t i)
{
    const dp_program *p = r->from;
    uint32_t *more = NULL, cap = 0;
    int rc = 0;

    for (uint32_t k = t->next[i]; k != NONE && rc == 0; k = t->next[k]) {
        uint32_t n;
        const uint32_t *origins = dpi_step_origins(p, &p->steps[k], &n);
        uint32_t *grown = dpi_grow(more, &cap, (uint32_t)r->n_more + n, sizeof(*more));
        if (grown == NULL) {
            rc = dpi_no_memory(&r->ctx->error, "a pass over a program");
            break;
        }
        more = grown;
        dp_copy_n(more + r->n_more, origins, n, sizeof(*more));
        r->n_more += n;
    }
    r->more = more;
    if (rc == 0)
        rc = dpi_rewrite_keep(r, i);
    r->n_more = 0;
    dp_free(more);
    return rc;
}

static int copy_steps(dpi_rewrite *r, const table *t)
{
    const dp_program *p = r->from;
    int rc = 0;

    for (uint32_t i = 0; i < p->n_steps && rc == 0; i++) {
        const dpi_step *s = &p->steps[i], *same = &p->steps[t->same[i]];
        if (same == s)
            rc = copy_step(r, t, i);
        for (uint32_t k = 0; k < s->n_rets && rc == 0 && same != s; k++)
            rc = dpi_rewrite_set(r, s->ret + k, r->values[same->ret + k]);
    }
    return rc;
}

static int make_table(dp_ctx *ctx, const dp_program *p, table *t)
{
    uint32_t n = p->n_steps > p->n_constants ? p->n_steps : p->n_constants;

    for (t->mask = 63; t->mask < 2 * n; t->mask = 2 * t->mask + 1)
        ;
    t->steps = dp_calloc((size_t)t->mask + 1, sizeof(*t->steps));
    t->touched = dp_calloc((size_t)p->n_values + 1, sizeof(*t->touched));
    t->kept = dp_calloc((size_t)p->n_values + 1, sizeof(*t->kept));
    t->numbers = dp_malloc_n((size_t)p->n_constants + 1, sizeof(*t->numbers));
    t->values = dp_malloc_n((size_t)p->n_values + 1, sizeof(*t->values));
    t->same = dp_malloc_n((size_t)p->n_steps + 1, sizeof(*t->same));
    t->next = dp_malloc_n((size_t)p->n_steps + 1, sizeof(*t->next));
    t->last = dp_malloc_n((size_t)p->n_steps + 1, sizeof(*t->last));
    if (t->steps == NULL || t->touched == NULL || t->kept == NULL || t->numbers == NULL ||
        t->values == NULL || t->same == NULL || t->next == NULL || t->last == NULL)
        return dpi_no_memory(&ctx->error, "a pass over a program");
    find_numbers(p, t);
    dpi_find_touched(p, t->touched);
    dpi_find_kept(p, t->kept);
    for (uint32_t v = 0; v < p->n_inputs; v++)
        t->values[v] = v;
    for (uint32_t i = 0; i < p->n_steps; i++)
        look_at(p, t, i);
    return 0;
}

int dp_program_common(dp_ctx *ctx, const dp_program *p, dp_program **out)
{
    dpi_rewrite r;
    table t = {0};
    int rc = dpi_rewrite_begin(&r, ctx, p);

    if (rc == 0)
        rc = make_table(ctx, p, &t);
    if (rc == 0)
        rc = copy_steps(&r, &t);
    if (rc == 0)
        rc = dpi_rewrite_outputs(&r);
    if (rc == 0)
        rc = dpi_rewrite_finish(&r, out);
    dp_free(t.steps);
    dp_free(t.touched);
    dp_free(t.kept);
    dp_free(t.numbers);
    dp_free(t.values);
    dp_free(t.same);
    dp_free(t.next);
    dp_free(t.last);
    dpi_rewrite_end(&r);
    return rc;
}
