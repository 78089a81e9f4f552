/* partition.c -- divide a joint program into a forward and a backward program
 * (torch/_functorch/partitioners.py).
 *
 * A step that reads the gradient of an output, directly or not, is of the backward.  Of the others,
 * the forward has those that its outputs need, that draw random numbers or that write; the backward
 * has the rest, and computes again what the forward computed unless that is saved.  What is saved
 * is a cut through the values between the inputs and the backward.  A smallest cut is found in a
 * network with two nodes a value, joined by an edge whose capacity is the value's bytes. */
#include "dispatch/call/ctx.h"
#include "joint.h"
#include <stdio.h>

typedef struct splitter {
    dp_ctx *ctx;
    const dpi_joint *joint;
    const dp_program *p; /* the joint program */
    dpi_value_size *sizes;
    bool *late;    /* [n_values] the value depends on the gradient of an output */
    bool *touched; /* [n_values] a step may write to the value's memory */
    bool *saved;   /* [n_values] */
    bool *kept;    /* [n_steps] the program that is built has the step */
    bool *wanted;  /* [n_values] it needs the value */
} splitter;

static int no_memory(dp_ctx *ctx)
{
    return dpi_no_memory(&ctx->error, "the programs of a gradient");
}

/* Step `s` reads n_reads() values: its arguments, then its condition, if it has one. */
static uint32_t n_reads(const dpi_step *s)
{
    return s->n_args + (s->when != DPI_REF_NONE);
}

static dp_ref read_of(const dp_program *p, const dpi_step *s, uint32_t i)
{
    return i < s->n_args ? p->links[s->args + i] : s->when;
}

static bool is_late(const splitter *x, const dpi_step *s)
{
    bool late = false;

    for (uint32_t i = 0; i < n_reads(s) && !late; i++) {
        dp_ref r = read_of(x->p, s, i);
        late = dpi_is_value(r) && x->late[r];
    }
    return late;
}

static void find_late(splitter *x)
{
    const dp_program *p = x->p;

    for (uint32_t i = x->joint->n_inputs; i < p->n_inputs; i++)
        x->late[i] = true;
    for (uint32_t i = 0; i < p->n_steps; i++)
        for (uint32_t k = 0; k < p->steps[i].n_rets; k++)
            x->late[p->steps[i].ret + k] = is_late(x, &p->steps[i]);
}

/* Mark in x->kept the steps that the wanted values need, from the last one, and in x->wanted the
 * values that those read; a value for which `stops` is true is not computed. */
static void follow(splitter *x, const bool *stops)
{
    const dp_program *p = x->p;

    for (uint32_t i = p->n_steps; i-- > 0;) {
        const dpi_step *s = &p->steps[i];
        for (uint32_t k = 0; k < s->n_rets; k++)
            x->kept[i] |= x->wanted[s->ret + k] && (stops == NULL || !stops[s->ret + k]);
        for (uint32_t k = 0; k < n_reads(s) && x->kept[i]; k++)
            if (dpi_is_value(read_of(p, s, k)))
                x->wanted[read_of(p, s, k)] = true;
    }
}

static void want(splitter *x, dp_ref r)
{
    if (dpi_is_value(r))
        x->wanted[r] = true;
}

static void clear(splitter *x)
{
    dp_zero_n(x->kept, x->p->n_steps, sizeof(*x->kept));
    dp_zero_n(x->wanted, x->p->n_values, sizeof(*x->wanted));
}

/* Mark what the forward has.  With `saved`, also what the saved values need. */
static void mark_forward(splitter *x, bool saved)
{
    const dp_program *p = x->p;

    clear(x);
    for (uint32_t i = 0; i < x->joint->n_outputs; i++)
        want(x, p->outputs[i].ref);
    for (uint32_t i = 0; i < p->n_values && saved; i++)
        x->wanted[i] |= x->saved[i];
    for (uint32_t i = 0; i < p->n_steps; i++)
        x->kept[i] = (p->steps[i].flags & (DP_STEP_FLAG_RANDOM | DP_STEP_FLAG_EFFECT)) != 0 &&
                     !is_late(x, &p->steps[i]);
    follow(x, NULL);
}

/* Mark what the backward has, if it does not compute what `stops` says. */
static void mark_backward(splitter *x, const bool *stops)
{
    const dp_program *p = x->p;

    clear(x);
    for (uint32_t i = x->joint->n_outputs; i < p->n_outputs; i++)
        want(x, p->outputs[i].ref);
    for (uint32_t i = 0; i < p->n_steps; i++)
        x->kept[i] = (p->steps[i].flags & (DP_STEP_FLAG_RANDOM | DP_STEP_FLAG_EFFECT)) != 0 &&
                     is_late(x, &p->steps[i]);
    follow(x, stops);
}

/* -- what may be saved -- */

/* Is `v` an input, or a view of one, that the forward writes at its end?  Then a copy is saved. */
static bool is_overwritten(const splitter *x, uint32_t v)
{
    dp_ref root = dpi_root_of(x->p, v);

    if (x->p->values[v].share.how == DPI_SEVERAL)
        return x->touched[v];
    return root < x->p->n_inputs && x->p->values[root].written != 0;
}

/* May `v` be saved?  Not a list of tensors that the forward overwrites, of which no step makes a
 * copy, and no list that a step makes of values, which may be saved one by one. */
static bool may_save(const splitter *x, uint32_t v, const dpi_step *maker)
{
    if (!x->sizes[v].is_list)
        return true;
    return (maker == NULL || maker->kind != DP_STEP_LIST) && !is_overwritten(x, v);
}

/* Does step `s` read an input that cannot be saved?  Then the backward cannot have the step. */
static bool reads_unsaved(const splitter *x, const dpi_step *s)
{
    bool reads = false;

    for (uint32_t i = 0; i < n_reads(s); i++) {
        dp_ref r = read_of(x->p, s, i);
        reads |= dpi_is_value(r) && r < x->joint->n_inputs && !may_save(x, r, NULL);
    }
    return reads;
}

/* -- what is saved -- */

/* Save all that the backward reads and the forward has. */
static void save_all(splitter *x)
{
    const dp_program *p = x->p;

    mark_forward(x, false);
    dp_zero_n(x->saved, p->n_values, sizeof(*x->saved));
    for (uint32_t i = 0; i < x->joint->n_inputs; i++)
        x->saved[i] = may_save(x, i, NULL);
    for (uint32_t i = 0; i < p->n_steps; i++) {
        const dpi_step *s = &p->steps[i];
        bool has = x->kept[i] || (!is_late(x, s) && reads_unsaved(x, s));
        for (uint32_t k = 0; k < s->n_rets; k++)
            x->saved[s->ret + k] = has && may_save(x, s->ret + k, s);
    }
    mark_backward(x, x->saved);
    for (uint32_t i = 0; i < p->n_values; i++)
        x->saved[i] = x->saved[i] && x->wanted[i];
}

/* May the backward compute step `s` again?  Not where another step writes to the result, which
 * would be missing; but inputs are written at the end only, and copied before.  `all`: also what
 * takes long.  What cannot be saved is always computed again. */
static bool may_repeat(const splitter *x, const dpi_step *s, bool all)
{
    bool may = !(s->flags & (DP_STEP_FLAG_RANDOM | DP_STEP_FLAG_EFFECT)) && !reads_unsaved(x, s);
    bool must = false;

    for (uint32_t k = 0; k < s->n_rets && may && s->kind != DP_STEP_LIST; k++)
        may = !x->touched[s->ret + k] || dpi_root_of(x->p, s->ret + k) < x->p->n_inputs;
    for (uint32_t k = 0; k < s->n_rets; k++)
        must |= !may_save(x, s->ret + k, s);
    if (must || !may || (s->flags & DP_STEP_FLAG_MUST_SAVE))
        return must && may;
    return all || (!(s->flags & DP_STEP_FLAG_PREFER_SAVE) && !dpi_is_heavy(x->p, s));
}

#define NODE_IN(v)  (2 + 2 * (uint32_t)(v))
#define NODE_OUT(v) (3 + 2 * (uint32_t)(v))

/* Add the edge of value `v`, which step `maker` returns (NULL: it is an input). */
static bool add_value(const splitter *x, dpi_flow *f, uint32_t v, const dpi_step *maker)
{
    uint64_t bytes = x->sizes[v].of_input && !is_overwritten(x, v) ? 0 : x->sizes[v].bytes;

    if (x->late[v])
        return true;
    return dpi_flow_edge(f, NODE_IN(v), NODE_OUT(v), may_save(x, v, maker) ? bytes : UINT64_MAX);
}

/* Add the edges that lead to the values that step `s` returns. */
static bool add_step(const splitter *x, dpi_flow *f, const dpi_step *s, bool all)
{
    bool repeat = may_repeat(x, s, all), ok = true;

    for (uint32_t k = 0; k < s->n_rets && ok; k++) {
        uint32_t v = s->ret + k;
        if (!repeat)
            ok = dpi_flow_edge(f, 0, NODE_IN(v), UINT64_MAX);
        for (uint32_t i = 0; i < n_reads(s) && repeat && ok; i++) {
            dp_ref r = read_of(x->p, s, i);
            if (dpi_is_value(r))
                ok = dpi_flow_edge(f, NODE_OUT(r), NODE_IN(v), UINT64_MAX);
        }
    }
    return ok;
}

/* Add the edges from the values that the backward must have, which late step `s` reads. */
static bool add_late(const splitter *x, dpi_flow *f, const dpi_step *s)
{
    bool ok = true;

    for (uint32_t i = 0; i < n_reads(s) && ok; i++) {
        dp_ref r = read_of(x->p, s, i);
        if (dpi_is_value(r) && !x->late[r])
            ok = dpi_flow_edge(f, NODE_OUT(r), 1, UINT64_MAX);
    }
    return ok;
}

static bool fill_network(const splitter *x, dpi_flow *f, bool all)
{
    const dp_program *p = x->p;
    bool ok = true;

    for (uint32_t v = 0; v < x->joint->n_inputs && ok; v++)
        ok = dpi_flow_edge(f, 0, NODE_IN(v), UINT64_MAX) && add_value(x, f, v, NULL);
    for (uint32_t i = 0; i < p->n_steps && ok; i++)
        for (uint32_t k = 0; k < p->steps[i].n_rets && ok; k++)
            ok = add_value(x, f, p->steps[i].ret + k, &p->steps[i]);
    for (uint32_t i = 0; i < p->n_steps && ok; i++)
        ok = is_late(x, &p->steps[i]) ? add_late(x, f, &p->steps[i])
                                      : add_step(x, f, &p->steps[i], all);
    for (uint32_t i = x->joint->n_outputs; i < p->n_outputs && ok; i++)
        if (dpi_is_value(p->outputs[i].ref) && !x->late[p->outputs[i].ref])
            ok = dpi_flow_edge(f, NODE_OUT(p->outputs[i].ref), 1, UINT64_MAX);
    return ok;
}

/* Save a smallest cut. */
static int save_cut(splitter *x, bool all)
{
    const dp_program *p = x->p;
    uint32_t n = NODE_IN(p->n_values);
    dpi_flow *f = dpi_flow_new(n);
    bool *reached = dp_malloc_n(n, sizeof(*reached));
    bool ok = f != NULL && reached != NULL && fill_network(x, f, all);

    if (ok) {
        dpi_flow_cut(f, reached);
        for (uint32_t v = 0; v < p->n_values; v++)
            x->saved[v] = !x->late[v] && reached[NODE_IN(v)] && !reached[NODE_OUT(v)];
        mark_backward(x, x->saved);
        for (uint32_t v = 0; v < p->n_values; v++)
            x->saved[v] = x->saved[v] && x->wanted[v];
    }
    dpi_flow_free(f);
    dp_free(reached);
    return ok ? 0 : no_memory(x->ctx);
}

/* Return the memory of what is saved; each storage counts once, with its largest value. */
static uint64_t saved_bytes(const splitter *x)
{
    const dp_program *p = x->p;
    uint64_t sum = 0;

    for (uint32_t v = 0; v < p->n_values; v++) {
        const dpi_value_size size = x->sizes[v];
        bool counts = x->saved[v] && (!size.of_input || is_overwritten(x, v));
        for (uint32_t k = 0; k < p->n_values && counts; k++)
            if (x->saved[k] && k != v && x->sizes[k].storage == size.storage)
                counts =
                    size.bytes > x->sizes[k].bytes || (size.bytes == x->sizes[k].bytes && v < k);
        sum = counts ? dp_size_plus(sum, size.bytes) : sum;
    }
    return sum;
}

/* Choose what is saved: x->saved. */
static int choose(splitter *x, const dp_grad_options *o, dp_grad_programs *out)
{
    bool all = false;
    int rc = 0;

    save_all(x);
    out->default_bytes = out->saved_bytes = saved_bytes(x);
    if (o->partition == DP_PARTITION_DEFAULT)
        return 0;
    do {
        rc = save_cut(x, all);
        out->saved_bytes = rc == 0 ? saved_bytes(x) : 0;
        all = !all;
    } while (rc == 0 && all && o->memory > 0 && out->saved_bytes > o->memory);
    if (rc == 0 &&
        out->saved_bytes > out->default_bytes) { /* views of one storage, counted twice */
        save_all(x);
        out->saved_bytes = out->default_bytes;
    }
    if (rc == 0 && o->memory > 0 && out->saved_bytes > o->memory)
        rc = dp_error_set(&x->ctx->error, DP_ERESOURCE,
                          "the backward needs at least %llu bytes of the forward, but memory is "
                          "%llu bytes",
                          (unsigned long long)out->saved_bytes, (unsigned long long)o->memory);
    return rc;
}

/* -- the two programs -- */

static int output_saved(splitter *x, dpi_rewrite *r)
{
    char name[DP_KEY_NAME_MAX];
    uint32_t n = 0;
    int rc = 0;

    for (uint32_t v = 0; v < x->p->n_values && rc == 0; v++) {
        if (!x->saved[v])
            continue;
        snprintf(name, sizeof(name), "saved%u", n++);
        rc = dp_builder_output(r->b, name, r->values[v]);
    }
    return rc;
}

/* Copy the values that the forward overwrites at its end. */
static int copy_overwritten(splitter *x, dpi_rewrite *r, uint32_t v, dp_ref *copies)
{
    dp_step clone = {.size = sizeof(clone),
                     .kind = DP_STEP_CALL,
                     .name = "aten::clone",
                     .n_args = 1,
                     .n_rets = 1};

    copies[v] = r->values[v];
    if (!x->saved[v] || !is_overwritten(x, v) || x->sizes[v].storage == 0)
        return 0;
    clone.args = &r->values[v];
    return dp_builder_add(r->b, &clone, &copies[v], NULL);
}

static int build_forward(splitter *x, dp_program **out)
{
    const dp_program *p = x->p;
    dp_ref *copies = dp_malloc_n(p->n_values, sizeof(*copies));
    dpi_rewrite r;
    int rc = dpi_rewrite_begin_part(&r, x->ctx, p);

    mark_forward(x, true);
    if (rc == 0 && copies == NULL)
        rc = no_memory(x->ctx);
    for (uint32_t i = 0; i < x->joint->n_inputs && rc == 0; i++)
        rc = dpi_rewrite_input(&r, i);
    if (rc == 0)
        rc = dpi_rewrite_guards(&r, 0, x->joint->n_inputs);
    for (uint32_t i = 0; i < x->joint->n_inputs && rc == 0; i++)
        rc = copy_overwritten(x, &r, i, copies);
    for (uint32_t i = 0; i < p->n_steps && rc == 0; i++) {
        if (!x->kept[i])
            continue;
        rc = dpi_rewrite_keep(&r, i);
        for (uint32_t k = 0; k < p->steps[i].n_rets && rc == 0; k++)
            rc = copy_overwritten(x, &r, p->steps[i].ret + k, copies);
    }
    for (uint32_t i = 0; i < x->joint->n_outputs && rc == 0; i++) {
        dp_ref ref;
        rc = dpi_rewrite_ref(&r, p->outputs[i].ref, &ref);
        if (rc == 0)
            rc = dp_builder_output(r.b, p->outputs[i].name, ref);
    }
    for (uint32_t v = 0; v < p->n_values && rc == 0; v++)
        if (x->saved[v])
            r.values[v] = copies[v];
    if (rc == 0)
        rc = output_saved(x, &r);
    if (rc == 0)
        rc = dpi_rewrite_finish(&r, out);
    dp_free(copies);
    dpi_rewrite_end(&r);
    return rc;
}

static int build_backward(splitter *x, dp_program **out, uint32_t *n_saved)
{
    const dp_program *p = x->p;
    char name[DP_KEY_NAME_MAX];
    dpi_rewrite r;
    int rc = dpi_rewrite_begin_part(&r, x->ctx, p);

    mark_backward(x, x->saved);
    *n_saved = 0;
    for (uint32_t v = 0; v < p->n_values && rc == 0; v++) {
        if (!x->saved[v])
            continue;
        snprintf(name, sizeof(name), "saved%u", (*n_saved)++);
        rc = dp_builder_input(r.b, name, NULL, &r.values[v]);
    }
    for (uint32_t i = x->joint->n_inputs; i < p->n_inputs && rc == 0; i++)
        rc = dpi_rewrite_input(&r, i);
    if (rc == 0)
        rc = dpi_rewrite_guards(&r, x->joint->n_inputs, p->n_inputs);
    for (uint32_t i = 0; i < p->n_steps && rc == 0; i++)
        if (x->kept[i])
            rc = dpi_rewrite_keep(&r, i);
    for (uint32_t i = x->joint->n_outputs; i < p->n_outputs && rc == 0; i++) {
        dp_ref ref;
        rc = dpi_rewrite_ref(&r, p->outputs[i].ref, &ref);
        if (rc == 0)
            rc = dp_builder_output(r.b, p->outputs[i].name, ref);
    }
    if (rc == 0)
        rc = dpi_rewrite_finish(&r, out);
    dpi_rewrite_end(&r);
    return rc;
}

static int split(splitter *x, const dp_grad_options *o, dp_grad_programs *out)
{
    find_late(x);
    dpi_find_touched(x->p, x->touched);
    int rc = choose(x, o, out);
    if (rc == 0)
        rc = build_forward(x, &out->forward);
    if (rc == 0)
        rc = build_backward(x, &out->backward, &out->n_saved);
    return rc;
}

/* Allocate the splitter's arrays and divide the joint program. */
static int divide(dp_ctx *ctx, const dpi_joint *j, const dp_grad_options *o, dp_grad_programs *out)
{
    const dp_program *p = j->p;
    splitter x = {.ctx = ctx, .joint = j, .p = p};
    size_t n_marks = dp_size_plus(dp_size_times(4, p->n_values), p->n_steps);
    bool *marks = dp_calloc(dp_size_plus(n_marks, 1), sizeof(*marks));

    x.sizes = dp_malloc_n((size_t)p->n_values + 1, sizeof(*x.sizes));
    int rc = marks != NULL && x.sizes != NULL ? 0 : no_memory(ctx);
    if (rc == 0) {
        x.late = marks;
        x.saved = x.late + p->n_values;
        x.wanted = x.saved + p->n_values;
        x.touched = x.wanted + p->n_values;
        x.kept = x.touched + p->n_values;
        rc = dpi_value_sizes(ctx, p, j->fakes, x.sizes);
    }
    if (rc == 0)
        rc = split(&x, o, out);
    dp_free(marks);
    dp_free(x.sizes);
    return rc;
}

int dp_program_grad(dp_ctx *ctx, const dp_program *p, const dp_value *inputs,
                    const dp_grad_options *o, dp_grad_programs *out)
{
    dp_grad_programs made = {.size = (uint32_t)sizeof(made)};
    dpi_joint j;

    if (!DPI_GIVEN(&ctx->error, DP_EVALUE, p, o, out))
        return DP_EVALUE;
    int rc = dpi_joint_make(ctx, p, inputs, o, &j);
    if (rc == 0)
        rc = divide(ctx, &j, o, &made);
    if (rc == 0) {
        made.joint = dp_program_ref(j.p);
        *out = made;
    } else {
        dp_program_unref(made.forward);
        dp_program_unref(made.backward);
    }
    dpi_joint_drop(&j);
    return rc;
}
