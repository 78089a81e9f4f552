/* draft.c -- a program while it is built: names, inputs, constants, and memory for its arrays and
 * steps. */
#include "program_i.h"
#include "dispatch/call/ctx.h"
#include "dispatch/call/values.h"

/* -- errors and memory -- */

int dpi_builder_fail(dp_builder *b, int code, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    dp_error_vset(&b->ctx->error, code, format, ap);
    va_end(ap);
    return code;
}

static int no_memory(dp_builder *b)
{
    return dpi_no_memory(&b->ctx->error, "a program");
}

bool dpi_builder_grow(dp_builder *b, void *array, uint32_t *cap, uint32_t need, size_t item)
{
    void *old, *grown;

    memcpy(&old, array, sizeof(old));
    if ((grown = dpi_grow(old, cap, need, item)) == NULL) {
        no_memory(b);
        return false;
    }
    memcpy(array, &grown, sizeof(grown));
    return true;
}

const char *dpi_builder_str(dp_builder *b, const char *s)
{
    const char *copy = dp_arena_dup(b->arena, s, strlen(s) + 1);

    if (copy == NULL)
        no_memory(b);
    return copy;
}

/* -- references to values: dp_ref -- */

bool dpi_builder_has(const dp_builder *b, dp_ref r)
{
    uint32_t n = DPI_REF_KIND(r) == DPI_REF_VALUE      ? b->p.n_values
                 : DPI_REF_KIND(r) == DPI_REF_CONSTANT ? b->p.n_constants
                                                       : 0;
    return DPI_REF_INDEX(r) < n;
}

uint32_t dpi_builder_tags(const dp_builder *b, dp_ref r)
{
    if (DPI_REF_KIND(r) == DPI_REF_CONSTANT)
        return 1u << b->p.constants[DPI_REF_INDEX(r)].tag;
    return b->p.values[DPI_REF_INDEX(r)].tags;
}

const char *dpi_builder_name_of(const dp_builder *b, dp_ref r, char buf[DP_KEY_NAME_MAX])
{
    return dp_program_value_name(&b->p, r, buf);
}

int dpi_builder_check(dp_builder *b, dp_ref r)
{
    if (dpi_builder_has(b, r))
        return 0;
    return dpi_builder_fail(b, DP_EVALUE, "reference %#x is to nothing made so far", (unsigned)r);
}

/* -- names -- */

/* Return the slot of `name` in the hash table, or the free slot where `name` belongs. */
static dpi_name *slot(const dp_builder *b, const char *name)
{
    uint64_t h = dpi_hash(name, strlen(name));
    uint32_t i = (uint32_t)(h ^ h >> 32) & b->mask;

    while (b->names[i].name != NULL && strcmp(b->names[i].name, name) != 0)
        i = (i + 1) & b->mask;
    return &b->names[i];
}

/* Make the hash table large enough for one more name: at most half of its slots are used. */
static bool names_grow(dp_builder *b)
{
    dpi_name *old = b->names;
    uint32_t n = old != NULL ? b->mask + 1 : 0, capacity = n > 0 ? 2 * n : 64;

    if (2 * (b->n_names + 1) <= n)
        return true;
    if ((b->names = dp_calloc(capacity, sizeof(*old))) == NULL) {
        b->names = old;
        no_memory(b);
        return false;
    }
    b->mask = capacity - 1;
    for (uint32_t i = 0; i < n; i++)
        if (old[i].name != NULL)
            *slot(b, old[i].name) = old[i];
    dp_free(old);
    return true;
}

static int fail_name_used(dp_builder *b, const dpi_name *used)
{
    if (used->origin == DPI_ORIGIN_INPUT)
        return dpi_builder_fail(b, DP_EEXISTS, "name '%.64s' is an input already", used->name);
    if (used->origin == DPI_ORIGIN_CONSTANT)
        return dpi_builder_fail(b, DP_EEXISTS, "name '%.64s' is a constant already", used->name);
    return dpi_builder_fail(b, DP_EEXISTS, "name '%.64s' is made by %s %u already", used->name,
                            b->p.of_lines ? "line" : "step", used->origin);
}

/* Check that `name` is unused, reserve a slot for it, and copy it into the arena as `*copy`. */
static int name_reserve(dp_builder *b, const char *name, const char **copy)
{
    if (!names_grow(b))
        return DP_ERESOURCE;
    const dpi_name *found = slot(b, name);
    if (found->name != NULL)
        return fail_name_used(b, found);
    *copy = dpi_builder_str(b, name);
    return *copy != NULL ? 0 : DP_ERESOURCE;
}

/* Enter the name that name_reserve() copied. */
static void name_add(dp_builder *b, const char *copy, dp_ref r, uint32_t origin)
{
    *slot(b, copy) = (dpi_name){copy, r, origin};
    b->n_names++;
}

int dp_builder_name(dp_builder *b, const char *name, dp_ref r, uint32_t origin)
{
    if (!DPI_GIVEN(&b->ctx->error, DP_EVALUE, name))
        return DP_EVALUE;
    const char *copy;
    int rc = dpi_builder_check(b, r);

    if (rc == 0)
        rc = name_reserve(b, name, &copy);
    if (rc < 0)
        return rc;
    name_add(b, copy, r, origin);
    if (DPI_REF_KIND(r) == DPI_REF_VALUE && b->p.values[DPI_REF_INDEX(r)].name == NULL)
        b->p.values[DPI_REF_INDEX(r)].name = copy;
    return 0;
}

int dp_builder_find(dp_builder *b, const char *name, dp_ref *out)
{
    if (!DPI_GIVEN(&b->ctx->error, DP_EVALUE, name, out))
        return DP_EVALUE;
    const dpi_name *n = b->names != NULL ? slot(b, name) : NULL;

    if (n == NULL || n->name == NULL)
        return dpi_builder_fail(b, DP_ENOTFOUND,
                                "no earlier step, input or constant is called '%.64s'", name);
    *out = n->ref;
    return 0;
}

/* -- inputs -- */

/* Parse `type`, written as in a schema before an argument's name, into a schema of one argument. */
static int type_parse(dp_builder *b, const char *type, dp_schema **out)
{
    dpi_text text = {0};

    dpi_text_printf(&text, "input(%.200s v) -> ()", type);
    int rc = text.failed ? no_memory(b) : dpi_schema_parse(text.s, "program", out, &b->ctx->error);
    dpi_text_fini(&text);
    if (rc == DP_ERESOURCE)
        return rc;
    const dp_schema *s = rc == 0 ? *out : NULL;
    if (s != NULL && s->n_args == 1 && !s->vararg && !s->args[0].kwarg_only)
        return 0;
    if (s != NULL)
        *out = dp_schema_free(*out);
    return dpi_builder_fail(
        b, DP_EVALUE, "expected a type of a schema, such as Tensor or int, but got '%.64s'", type);
}

/* Find `type` in the program's types, or add it.  NULL stands for any type.  Returns the index in
 * types or an error code. */
static int64_t type_find(dp_builder *b, const char *type)
{
    const char *text = type != NULL ? type : "any";
    dp_schema *schema = NULL;

    for (uint32_t i = 0; i < b->p.n_types; i++)
        if (strcmp(b->p.types[i].text, text) == 0 &&
            (b->p.types[i].schema != NULL) == (type != NULL))
            return i;
    if (!DPI_GROW(b, types, 1) || (text = dpi_builder_str(b, text)) == NULL)
        return DP_ERESOURCE;
    int rc = type != NULL ? type_parse(b, type, &schema) : 0;
    if (rc < 0)
        return rc;
    b->p.types[b->p.n_types] = (dpi_type_text){schema, text};
    return b->p.n_types++;
}

int dp_builder_input(dp_builder *b, const char *name, const char *type, dp_ref *out)
{
    if (!DPI_GIVEN(&b->ctx->error, DP_EVALUE, out))
        return DP_EVALUE;
    const char *copy = NULL;
    int64_t t = type_find(b, type);
    uint32_t i = b->p.n_inputs;

    if (t < 0)
        return (int)t;
    if (b->p.n_steps > 0)
        return dpi_builder_fail(b, DP_EVALUE, "input '%.64s' comes after the first step",
                                name != NULL ? name : "");
    if (i >= DP_LIMIT_PROGRAM_VALUES)
        return dp_error_limit(
            dpi_builder_fail(b, DP_ERESOURCE, "a program of more than %d values (program_values)",
                             DP_LIMIT_PROGRAM_VALUES),
            "program_values", DP_LIMIT_PROGRAM_VALUES, DP_LIMIT_PROGRAM_VALUES + 1);
    if (!DPI_GROW(b, inputs, 1) || !DPI_GROW(b, values, 1))
        return DP_ERESOURCE;
    int rc = name != NULL ? name_reserve(b, name, &copy) : 0;
    if (rc < 0)
        return rc;
    *out = DPI_REF(DPI_REF_VALUE, i);
    if (name != NULL)
        name_add(b, copy, *out, DPI_ORIGIN_INPUT);
    const dp_schema *s = b->p.types[t].schema;
    b->p.inputs[b->p.n_inputs++] = (dpi_input){(uint32_t)t, i}; /* lay.c sorts by_name */
    b->p.values[b->p.n_values++] =
        (dpi_value_info){.name = copy, .tags = s != NULL ? s->args[0].tags : DPI_TAGS_ANY};
    return 0;
}

/* -- constants -- */

static int add_constant_bytes(dp_builder *b, size_t bytes)
{
    if (bytes > DP_LIMIT_PROGRAM_CONSTANT_BYTES - b->p.constant_bytes)
        return dp_error_limit(dpi_builder_fail(b, DP_ERESOURCE,
                                               "a program's constants of more than %d bytes "
                                               "(program_constant_bytes)",
                                               DP_LIMIT_PROGRAM_CONSTANT_BYTES),
                              "program_constant_bytes", DP_LIMIT_PROGRAM_CONSTANT_BYTES,
                              b->p.constant_bytes + bytes);
    b->p.constant_bytes += bytes;
    return 0;
}

int dp_builder_constant(dp_builder *b, const char *name, const dp_value *v, dp_ref *out)
{
    if (!DPI_GIVEN(&b->ctx->error, DP_EVALUE, v, out))
        return DP_EVALUE;
    const char *copy = NULL;
    dpi_bump m = {0};

    if (b->p.n_constants >= DP_LIMIT_PROGRAM_ARGUMENTS)
        return dp_error_limit(dpi_builder_fail(b, DP_ERESOURCE,
                                               "a program of more than %d constants "
                                               "(program_arguments)",
                                               DP_LIMIT_PROGRAM_ARGUMENTS),
                              "program_arguments", DP_LIMIT_PROGRAM_ARGUMENTS,
                              DP_LIMIT_PROGRAM_ARGUMENTS + 1);
    if (!DPI_GROW(b, constants, 1) ||
        !dpi_builder_grow(b, &b->p.constant_names, &b->cap_constant_names, b->p.n_constants + 1,
                          sizeof(*b->p.constant_names)))
        return DP_ERESOURCE;
    int rc = name != NULL ? name_reserve(b, name, &copy) : 0;
    if (rc < 0)
        return rc;
    dpi_bump_value(&m, v); /* only counts the bytes */
    size_t payload = m.used;
    m = (dpi_bump){dp_arena_alloc(b->arena, payload + 1), 0};
    if (m.at == NULL)
        return no_memory(b);
    if ((rc = add_constant_bytes(b, payload + dpi_storage_bytes_of(v))) < 0)
        return rc;
    dp_value owned = dpi_bump_value(&m, v);
    dpi_values_ref(&owned, 1);
    *out = DPI_REF(DPI_REF_CONSTANT, b->p.n_constants);
    if (copy != NULL)
        name_add(b, copy, *out, DPI_ORIGIN_CONSTANT);
    b->p.constant_names[b->p.n_constants] = copy;
    b->p.constants[b->p.n_constants++] = owned;
    return 0;
}

/* -- steps -- */

static int fail_limit(dp_builder *b, int64_t limit, const char *what, const char *name)
{
    return dp_error_limit(dpi_builder_fail(b, DP_ERESOURCE, "a program of more than %lld %s (%s)",
                                           (long long)limit, what, name),
                          name, (uint64_t)limit, (uint64_t)limit + 1);
}

/* Check the limits of a program, and grow its arrays for one more step (program_i.h). */
int dpi_reserve_step(dp_builder *b, size_t n_args, size_t n_rets, uint32_t frame, uint64_t expanded)
{
    const dp_program *p = &b->p;

    if (frame < p->frame)
        frame = p->frame;
    if (p->n_steps >= DP_LIMIT_PROGRAM_LOWERED_STEPS)
        return fail_limit(b, DP_LIMIT_PROGRAM_LOWERED_STEPS, "steps", "program_lowered_steps");
    if (n_args > DP_LIMIT_PROGRAM_ARGUMENTS - p->n_links)
        return fail_limit(b, DP_LIMIT_PROGRAM_ARGUMENTS, "arguments", "program_arguments");
    if (n_rets > DP_LIMIT_PROGRAM_VALUES - p->n_values ||
        frame > DP_LIMIT_PROGRAM_VALUES - p->n_values - n_rets)
        return fail_limit(b, DP_LIMIT_PROGRAM_VALUES, "values", "program_values");
    if (expanded > DP_LIMIT_PROGRAM_EXPANDED - p->expanded)
        return fail_limit(b, DP_LIMIT_PROGRAM_EXPANDED, "steps, those it runs counted each time",
                          "program_expanded");
    if (!DPI_GROW(b, steps, 1) || !DPI_GROW(b, links, (uint32_t)n_args) ||
        !DPI_GROW(b, values, (uint32_t)n_rets))
        return DP_ERESOURCE;
    return 0;
}

int dpi_reserve_origins(dp_builder *b, size_t n)
{
    if (n >= DP_LIMIT_PROGRAM_ARGUMENTS - b->p.n_origins)
        return fail_limit(b, DP_LIMIT_PROGRAM_ARGUMENTS, "origins of steps", "program_arguments");
    return n == 0 || DPI_GROW(b, origins, (uint32_t)n + 1) ? 0 : DP_ERESOURCE;
}

/* Append the list of the step's origins. */
static void add_origins(dp_builder *b, dpi_step *step, const dp_step *s)
{
    step->origin = s->origins[0];
    b->p.origins[b->p.n_origins++] = (uint32_t)s->n_origins;
    step->origins = b->p.n_origins;
    for (size_t i = 0; i < s->n_origins; i++)
        b->p.origins[b->p.n_origins++] = s->origins[i];
}

/* Append a step after dpi_reserve_step().  dpi_add_link() and dpi_add_value() then add its
 * arguments and returns. */
dpi_step *dpi_add_step(dp_builder *b, uint32_t kind, uint32_t operand, const dp_step *s)
{
    dpi_step *step = &b->p.steps[b->p.n_steps++];

    *step = (dpi_step){.kind = kind,
                       .operand = operand,
                       .args = b->p.n_links,
                       .ret = b->p.n_values,
                       .origin = s->origin,
                       .when = s->when != NULL ? *s->when : DPI_REF_NONE};
    if (s->n_origins > 0)
        add_origins(b, step, s);
    b->p.expanded++;
    return step;
}

void dpi_add_link(dp_builder *b, dpi_step *step, dp_ref r)
{
    b->p.links[b->p.n_links++] = r;
    step->n_args++;
}

void dpi_add_value(dp_builder *b, dpi_step *step, dpi_value_info v)
{
    b->p.values[b->p.n_values++] = v;
    step->n_rets++;
}

bool dpi_builder_from_constant(const dp_builder *b, dp_ref r)
{
    if (DPI_REF_KIND(r) == DPI_REF_VALUE)
        return b->p.values[DPI_REF_INDEX(r)].from_constant;
    uint32_t tag = b->p.constants[DPI_REF_INDEX(r)].tag;
    return tag == DP_TAG_TENSOR || tag == DP_TAG_TENSORS || tag == DP_TAG_LIST;
}

int dpi_builder_push(dp_builder *b, const dp_step *s, uint32_t kind, uint32_t operand,
                     const dpi_value_info *ret)
{
    int rc = s->n_rets >= 0 && s->n_rets != 1
                 ? dpi_builder_fail(b, DP_EVALUE, "as names %lld returns but the step has 1",
                                    (long long)s->n_rets)
                 : dpi_reserve_step(b, s->n_args, 1, 0, 1);

    if (rc < 0)
        return rc;
    dpi_step *step = dpi_add_step(b, kind, operand, s);
    for (size_t k = 0; k < s->n_args; k++)
        dpi_add_link(b, step, s->args[k]);
    dpi_add_value(b, step, *ret);
    return 0;
}
