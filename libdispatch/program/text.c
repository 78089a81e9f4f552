/* text.c -- print a program for people: as lines of text, or as a Graphviz graph (dot).
 *
 * A program that a step runs is shown only by its number of steps. */
#include "program_i.h"
#include <inttypes.h>
#include <stdio.h>

static const struct {
    uint32_t bit;
    const char *name;
} step_flags[] = {{DP_STEP_FLAG_RANDOM, "random"},
                  {DP_STEP_FLAG_EFFECT, "effect"},
                  {DP_STEP_FLAG_RECOMPUTE, "recompute"},
                  {DP_STEP_FLAG_MUST_SAVE, "must_save"},
                  {DP_STEP_FLAG_PREFER_SAVE, "prefer_save"}};

enum { LIST_SHOWN = 16, TEXT_SHOWN = 40 }; /* elements of a list, bytes of a string */

/* -- values -- */

static void add_number(dpi_text *t, double d)
{
    char buf[40];
    int n = 0;

    for (int digits = 6; digits <= 17; digits++) { /* the fewest digits that read back as d */
        double back;
        n = snprintf(buf, sizeof(buf), "%.*g", digits, d);
        if (sscanf(buf, "%lf", &back) == 1 && back == d)
            break;
    }
    dpi_text_addn(t, buf, (size_t)n);
}

static void add_value(dpi_text *t, const dp_value *v, int depth);

static void add_list(dpi_text *t, const dp_value *v, int depth)
{
    dpi_text_add(t, "[");
    for (uint32_t i = 0; i < v->len; i++) {
        dp_value item = dp_list_item(v, i);
        dpi_text_add(t, i > 0 ? ", " : "");
        if (i == LIST_SHOWN || depth == DP_LIMIT_TYPE_DEPTH) {
            dpi_text_add(t, "...");
            break;
        }
        add_value(t, &item, depth + 1);
    }
    dpi_text_add(t, "]");
}

static void add_tensor(dpi_text *t, const dp_tensor *tensor)
{
    DPI_VIEW(v, tensor);
    dpi_text_printf(t, "<%s [", dp_dtype_name(v.dtype));
    for (int d = 0; d < v.ndim; d++)
        dpi_text_printf(t, "%s%" PRId64, d ? ", " : "", v.sizes[d]);
    dpi_text_add(t, "]>");
}

static void add_value(dpi_text *t, const dp_value *v, int depth)
{
    dp_value number;
    double z[2];

    switch (v->tag) {
    case DP_TAG_TENSOR:
        if (dpi_wrapped_number(v->u.t, z, &number))
            add_value(t, &number, depth);
        else
            add_tensor(t, v->u.t);
        break;
    case DP_TAG_INT:
        dpi_text_printf(t, "%" PRId64, v->u.i);
        break;
    case DP_TAG_DOUBLE:
        add_number(t, v->u.d);
        break;
    case DP_TAG_BOOL:
        dpi_text_add(t, v->u.b ? "true" : "false");
        break;
    case DP_TAG_COMPLEX:
        dpi_text_add(t, "(");
        add_number(t, v->u.doubles[0]);
        dpi_text_add(t, ", ");
        add_number(t, v->u.doubles[1]);
        dpi_text_add(t, ")");
        break;
    case DP_TAG_STR:
        dpi_text_printf(t, "'%.*s'", TEXT_SHOWN, v->u.s);
        break;
    case DP_TAG_NONE:
    case DP_TAG_GENERATOR:
    case DP_TAG_OBJECT:
        dpi_text_add(t, dpi_value_kind(v));
        break;
    default:
        add_list(t, v, depth);
    }
}

static void add_ref(dpi_text *t, const dp_program *p, dp_ref r)
{
    char name[DP_KEY_NAME_MAX];
    const dp_value *constant = dp_program_constant(p, r);

    dp_program_value_name(p, r, name);
    if (constant != NULL && name[0] == '\0')
        add_value(t, constant, 0);
    else
        dpi_text_add(t, name);
}

static void add_refs(dpi_text *t, const dp_program *p, const dp_ref *refs, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        dpi_text_add(t, i > 0 ? ", " : "");
        add_ref(t, p, refs[i]);
    }
}

static void add_args(dpi_text *t, const dp_program *p, uint32_t step, const dp_step_info *s)
{
    char buf[DP_KEY_NAME_MAX];

    for (uint32_t i = 0; i < s->n_args; i++) {
        const char *name = dp_program_argument_name(p, step, i, buf);
        dpi_text_add(t, i > 0 ? ", " : "");
        if (s->kwargs != NULL && s->kwargs[i] != NULL)
            dpi_text_printf(t, "%s=", s->kwargs[i]);
        if (name != NULL)
            dpi_text_printf(t, "'%s'", name);
        else
            add_ref(t, p, s->args[i]);
    }
}

/* -- text -- */

/* Return the word that stands before the name of a step that calls no operator. */
static const char *word_of(const dp_step_info *s)
{
    return strcmp(s->kind, "GET") == 0 ? "get " : strcmp(s->kind, "SCALAR") == 0 ? "scalar " : "";
}

static void add_call(dpi_text *t, const dp_program *p, uint32_t step, const dp_step_info *s)
{
    bool list = strcmp(s->kind, "LIST") == 0;

    if (s->index >= 0) {
        add_refs(t, p, s->args, 1);
        dpi_text_printf(t, "[%" PRId64 "]", s->index);
        return;
    }
    if (s->program != NULL)
        dpi_text_printf(t, "program of %u steps", s->program->n_steps);
    else
        dpi_text_printf(t, "%s%s%s", word_of(s), s->name, s->decided ? "" : "?");
    dpi_text_add(t, list ? "[" : "(");
    add_args(t, p, step, s);
    dpi_text_add(t, list ? "]" : ")");
}

/* Add a comment with the step's flags and mode, and the values that are released after it. */
static void add_comment(dpi_text *t, const dp_program *p, const dp_step_info *s)
{
    const char *before = "  # ";

    for (uint32_t i = 0; i < DPI_COUNT(step_flags); i++)
        if (s->flags & step_flags[i].bit) {
            dpi_text_printf(t, "%s%s", before, step_flags[i].name);
            before = ", ";
        }
    if (s->mode != NULL && (s->mode->sets & DP_STEP_MODE_GRAD)) {
        dpi_text_printf(t, "%sgrad %s", before, s->mode->mode.no_grad ? "off" : "on");
        before = ", ";
    }
    if (s->mode != NULL && (s->mode->sets & DP_STEP_MODE_CAST)) {
        dpi_text_printf(t, "%sautocast %s", before, s->mode->mode.cast_backends ? "on" : "off");
        before = ", ";
    }
    if (s->n_frees > 0) {
        dpi_text_printf(t, "%sends: ", before);
        add_refs(t, p, s->frees, s->n_frees);
    }
}

static void add_step(dpi_text *t, const dp_program *p, uint32_t i)
{
    dp_step_info s = {.size = sizeof(s)};

    dp_program_step(p, i, &s);
    for (uint32_t k = 0; k < s.n_origins; k++)
        dpi_text_printf(t, k > 0 ? ",%u" : "  %4u", s.origins[k]);
    dpi_text_add(t, "  ");
    for (uint32_t k = 0; k < s.n_rets; k++) {
        dpi_text_add(t, k > 0 ? ", " : "");
        add_ref(t, p, s.first + k);
    }
    dpi_text_add(t, s.n_rets > 0 ? " = " : "");
    if (s.when != NULL) {
        dpi_text_add(t, "when ");
        add_ref(t, p, *s.when);
        dpi_text_add(t, ": ");
    }
    add_call(t, p, i, &s);
    add_comment(t, p, &s);
    dpi_text_add(t, "\n");
}

/* Move the text of `t` to arena `a` and end `t`.  NULL: no memory. */
static const char *finish(dpi_text *t, dp_arena *a)
{
    const char *text = t->failed ? NULL : dp_arena_dup(a, t->s, t->len + 1);

    dpi_text_fini(t);
    return text;
}

/* Add a line about the memory of output i, if the output shares memory with other values. */
static void add_alias(dpi_text *t, const dp_program *p, uint32_t i)
{
    dp_alias a = {.size = sizeof(a)};

    dp_program_output_alias(p, i, &a);
    if (a.kind == DP_ALIAS_NONE)
        return;
    dpi_text_printf(t, "  output %s ", dp_program_output_name(p, i));
    if (a.kind == DP_ALIAS_INPUT)
        dpi_text_printf(t, "%s input %s\n", a.same ? "is" : "is a view of",
                        dp_program_input_name(p, a.index));
    else if (a.kind == DP_ALIAS_OUTPUT)
        dpi_text_printf(t, "%s output %s\n", a.same ? "is" : "shares memory with",
                        dp_program_output_name(p, a.index));
    else
        dpi_text_add(t, "may share memory with several values\n");
}

/* -- guards -- */

/* Add the name of an input or of its item. */
static void add_place(dpi_text *t, const dp_program *p, const dp_input_place *at)
{
    dpi_text_add(t, dp_program_input_name(p, at->input));
    if (at->item >= 0)
        dpi_text_printf(t, "[%" PRId32 "]", at->item);
}

static void add_size(dpi_text *t, const dp_program *p, const dp_input_place *at)
{
    add_place(t, p, at);
    dpi_text_printf(t, ".size(%" PRId32 ")", at->dim);
}

static bool is_size(const dp_input_place *a, const dp_input_place *b)
{
    return a->input == b->input && a->item == b->item && a->dim == b->dim;
}

/* Find the number of the symbol that size `dim` of the tensor at `at` is; -1: of none. */
static int find_symbol(const dp_program *p, dp_input_place at, int32_t dim)
{
    int symbol = -1;

    at.dim = dim;
    for (uint32_t i = 0; i < p->n_guards; i++) /* EQUAL guards name the size of a SIZE guard */
        if (p->guards[i].kind == DP_GUARD_EQUAL && is_size(&p->guards[i].of, &at)) {
            at = p->guards[i].other;
            break;
        }
    for (uint32_t i = 0; i < p->n_guards; i++) {
        symbol += p->guards[i].kind == DP_GUARD_SIZE;
        if (p->guards[i].kind == DP_GUARD_SIZE && is_size(&p->guards[i].of, &at))
            return symbol;
    }
    return -1;
}

/* Add the sizes or the strides of guard `g`; a size that may be any is a symbol. */
static void add_extents(dpi_text *t, const dp_program *p, const dp_input_guard *g, const char *what,
                        const int64_t *n)
{
    dpi_text_printf(t, " %s [", what);
    for (int32_t d = 0; d < g->ndim; d++) {
        int symbol = n[d] < 0 ? find_symbol(p, g->of, d) : -1;
        dpi_text_add(t, d > 0 ? ", " : "");
        if (symbol >= 0)
            dpi_text_printf(t, "s%d", symbol);
        else if (n[d] < 0)
            dpi_text_add(t, "*");
        else
            dpi_text_printf(t, "%" PRId64, n[d]);
    }
    dpi_text_add(t, "]");
}

static void add_geometry(dpi_text *t, const dp_program *p, const dp_input_guard *g)
{
    char device[DP_KEY_NAME_MAX];
    bool any = false;

    for (int32_t d = 0; d < g->ndim; d++)
        any |= g->sizes[d] < 0;
    dpi_text_printf(t, " is %s on %s,", dp_dtype_name(g->dtype), dp_device_name(g->device, device));
    add_extents(t, p, g, "sizes", g->sizes);
    add_extents(t, p, g, any ? "dense, ordered as strides" : "strides", g->strides);
    if (g->offset >= 0)
        dpi_text_printf(t, " offset %" PRId64, g->offset);
}

static void add_guard(dpi_text *t, const dp_program *p, const dp_input_guard *g)
{
    if (g->kind == DP_GUARD_APART) {
        dpi_text_add(t, "written inputs overlap with no others");
        return;
    }
    if (g->kind == DP_GUARD_SIZE || g->kind == DP_GUARD_EQUAL)
        add_size(t, p, &g->of);
    else
        add_place(t, p, &g->of);
    if (g->kind == DP_GUARD_TENSOR) {
        add_geometry(t, p, g);
    } else if (g->kind == DP_GUARD_VALUE) {
        dpi_text_add(t, " == ");
        add_value(t, g->value, 0);
    } else if (g->kind == DP_GUARD_LENGTH) {
        dpi_text_printf(t, " has %" PRId64 " items", g->number);
    } else if (g->kind == DP_GUARD_SIZE) {
        dpi_text_printf(t, " >= %" PRId64, g->number);
    } else if (g->kind == DP_GUARD_EQUAL) {
        dpi_text_add(t, " == ");
        add_size(t, p, &g->other);
    } else {
        dpi_text_printf(t, " begins %" PRId64 " bytes after ", g->number);
        add_place(t, p, &g->other);
        dpi_text_add(t, ", in its storage");
    }
}

static void add_guards(dpi_text *t, const dp_program *p)
{
    for (uint32_t i = 0; i < p->n_guards; i++) {
        if (p->guards[i].kind == DP_GUARD_SIZE && p->guards[i].number <= 0)
            continue; /* all sizes hold */
        dpi_text_add(t, "  guard ");
        add_guard(t, p, &p->guards[i]);
        dpi_text_add(t, "\n");
    }
}

const char *dp_program_guard_text(const dp_program *p, uint32_t i, dp_arena *a)
{
    dpi_text t = {0};

    add_guard(&t, p, &p->guards[i]);
    return finish(&t, a);
}

/* Add the name of output i, and the value that it is, if that has another name. */
static void add_output(dpi_text *t, const dp_program *p, uint32_t i)
{
    char buf[DP_KEY_NAME_MAX];
    const char *name = dp_program_output_name(p, i);

    if (name[0] != '\0' && strcmp(name, dp_program_value_name(p, p->outputs[i].ref, buf)) != 0)
        dpi_text_printf(t, "%s: ", name);
    add_ref(t, p, p->outputs[i].ref);
}

const char *dp_program_text(const dp_program *p, dp_arena *a)
{
    dpi_text t = {0};

    dpi_text_add(&t, "program(");
    for (uint32_t i = 0; i < p->n_inputs; i++)
        dpi_text_printf(&t, "%s%s %s", i ? ", " : "", dp_program_input_type(p, i),
                        dp_program_input_name(p, i));
    dpi_text_add(&t, ") -> (");
    for (uint32_t i = 0; i < p->n_outputs; i++) {
        dpi_text_add(&t, i > 0 ? ", " : "");
        add_output(&t, p, i);
    }
    dpi_text_add(&t, ")\n");
    for (uint32_t i = 0; i < p->n_constants; i++)
        if (p->constant_names[i] != NULL) {
            dpi_text_printf(&t, "  constant %s = ", p->constant_names[i]);
            add_value(&t, &p->constants[i], 0);
            dpi_text_add(&t, "\n");
        }
    add_guards(&t, p);
    for (uint32_t i = 0; i < p->n_steps; i++)
        add_step(&t, p, i);
    for (uint32_t i = 0; i < p->n_inputs; i++)
        if (dp_program_input_written(p, i))
            dpi_text_printf(&t, "  writes to %s\n", dp_program_input_name(p, i));
    for (uint32_t i = 0; i < p->n_outputs; i++)
        add_alias(&t, p, i);
    return finish(&t, a);
}

/* -- dot -- */

/* Add `s` to a string in double quotes: escape quotes and backslashes, replace newlines by
 * spaces. */
static void add_quoted(dpi_text *t, const char *s)
{
    for (; *s != '\0'; s++) {
        if (*s == '"' || *s == '\\')
            dpi_text_add(t, "\\");
        dpi_text_addn(t, *s == '\n' ? " " : s, 1);
    }
}

static void add_node(dpi_text *t, const char *kind, uint32_t i, const char *shape)
{
    dpi_text_printf(t, "  %s%u [shape=%s, label=\"", kind, i, shape);
}

/* Add an edge for each value in `refs`, to node number `to` of kind `kind`.  The edge starts at the
 * node of the input or of the step that gives the value; maker[v] is the step that returns value v.
 * A constant has no node and no edge. */
static void add_edges(dpi_text *t, const dp_program *p, const uint32_t *maker, const dp_ref *refs,
                      uint32_t n, const char *kind, uint32_t to)
{
    char name[DP_KEY_NAME_MAX];

    for (uint32_t i = 0; i < n; i++) {
        uint32_t v = DPI_REF_INDEX(refs[i]);
        if (DPI_REF_KIND(refs[i]) != DPI_REF_VALUE)
            continue;
        bool input = v < p->n_inputs;
        dpi_text_printf(t, "  %s%u -> %s%u [label=\"", input ? "input" : "step",
                        input ? v : maker[v], kind, to);
        add_quoted(t, input ? "" : dp_program_value_name(p, refs[i], name));
        dpi_text_add(t, "\"];\n");
    }
}

static void dot_nodes(dpi_text *t, const dp_program *p)
{
    dp_step_info s = {.size = sizeof(s)};

    for (uint32_t i = 0; i < p->n_inputs; i++) {
        add_node(t, "input", i, "ellipse");
        add_quoted(t, dp_program_input_name(p, i));
        dpi_text_add(t, "\"];\n");
    }
    for (uint32_t i = 0; i < p->n_steps; i++) {
        dp_program_step(p, i, &s);
        add_node(t, "step", i, "box");
        add_quoted(t, s.name[0] != '\0' ? s.name : s.kind);
        if (s.index >= 0)
            dpi_text_printf(t, " %" PRId64, s.index);
        if (s.flags & DP_STEP_FLAG_RECOMPUTE)
            dpi_text_add(t, " recompute");
        dpi_text_add(t, "\"];\n");
    }
    for (uint32_t i = 0; i < p->n_outputs; i++) {
        add_node(t, "output", i, "ellipse");
        add_quoted(t, dp_program_output_name(p, i));
        dpi_text_add(t, "\"];\n");
    }
}

const char *dp_program_dot(const dp_program *p, dp_arena *a)
{
    dpi_text t = {0};
    uint32_t *maker = dp_calloc(p->n_values + 1, sizeof(*maker));
    dp_step_info s = {.size = sizeof(s)};

    if (maker == NULL)
        return NULL;
    for (uint32_t i = 0; i < p->n_steps; i++)
        for (uint32_t k = 0; k < p->steps[i].n_rets; k++)
            maker[p->steps[i].ret + k] = i;
    dpi_text_add(&t, "digraph program {\n");
    dot_nodes(&t, p);
    for (uint32_t i = 0; i < p->n_steps; i++) {
        dp_program_step(p, i, &s);
        add_edges(&t, p, maker, s.args, s.n_args, "step", i);
    }
    for (uint32_t i = 0; i < p->n_outputs; i++)
        add_edges(&t, p, maker, &p->outputs[i].ref, 1, "output", i);
    dpi_text_add(&t, "}\n");
    dp_free(maker);
    return finish(&t, a);
}
