/* lower.c -- programs as JSON, lowered to the form that the library builds and runs.
 *
 * A step of the client may become several: a list with references in it is a LIST step before the
 * call, {"ref","index"} an ITEM step; all of them carry the client's number.  Inline, the tensors
 * among the arguments are inputs without a name, so that a program's content does not depend on
 * them and can be recognised when it comes again. */
#include "methods.h"
#include <string.h>

typedef struct lowering {
    request *rq;
    dp_builder *b;
    dp_error *err;
    dp_ref next;   /* inline: the input that the next tensor is */
    uint32_t step; /* of the client */
    bool is_inline;
} lowering;

/* What the library said, at a place of the params. */
static int fail_at(const lowering *l, const place *at)
{
    const dp_error *said = dp_ctx_error(l->rq->ctx);

    return place_fail(l->err, said->code, at, "%s", said->message);
}

static bool is_ref(const cJSON *j)
{
    return cJSON_IsObject(j) && param(j, "ref") != NULL;
}

/* A handle or a literal. */
static bool is_tensor(const cJSON *j)
{
    return cJSON_IsObject(j) && param(j, "ref") == NULL && param(j, "int") == NULL &&
           param(j, "float") == NULL && param(j, "complex") == NULL;
}

/* Does a list hold what only a run knows?  Depth is bounded by LIMIT_JSON_DEPTH. */
static bool is_open(const cJSON *j)
{
    const cJSON *item;

    if (!cJSON_IsArray(j))
        return is_ref(j) || is_tensor(j);
    cJSON_ArrayForEach(item, j) if (is_open(item)) return true;
    return false;
}

/* -- arguments -- */

static int operand(lowering *l, const cJSON *j, const place *at, dp_ref *out);

static int add(lowering *l, dp_step *s, dp_ref *first)
{
    s->size = sizeof(*s);
    s->origin = l->step;
    return dp_builder_add(l->b, s, first, NULL) < 0 ? run_ctx_error(l->rq, l->err) : 0;
}

static int reference(lowering *l, const cJSON *j, const place *at, dp_ref *out)
{
    int64_t index = param_int(j, "index", -1);
    dp_ref list;

    if (dp_builder_find(l->b, param_str(j, "ref"), index < 0 ? out : &list) < 0)
        return fail_at(l, at);
    if (index < 0)
        return 0;
    return add(
        l,
        &(dp_step){.kind = DP_STEP_ITEM, .args = &list, .n_args = 1, .index = index, .n_rets = 1},
        out);
}

static int operands(lowering *l, const cJSON *array, const place *at, dp_ref **out, size_t *n)
{
    place inside = {at, NULL, 0};
    const cJSON *item;

    *n = array != NULL ? (size_t)cJSON_GetArraySize(array) : 0;
    *out = dp_arena_alloc(dp_ctx_arena(l->rq->ctx), *n * sizeof(**out));
    if (*out == NULL)
        return dp_error_set(l->err, DP_ERESOURCE, "out of memory: %zu arguments", *n);
    cJSON_ArrayForEach(item, array)
    {
        int rc = operand(l, item, &inside, &(*out)[inside.index]);
        if (rc < 0)
            return rc;
        inside.index++;
    }
    return 0;
}

static int constant(lowering *l, const cJSON *j, const place *at, dp_ref *out)
{
    dp_value v;
    int rc = value_from_json(l->rq, j, at, &v, l->err);

    if (rc == 0 && dp_builder_constant(l->b, NULL, &v, out) < 0)
        rc = fail_at(l, at);
    return rc;
}

static int operand(lowering *l, const cJSON *j, const place *at, dp_ref *out)
{
    dp_step s = {.kind = DP_STEP_LIST, .n_rets = 1};
    dp_ref *items;

    if (is_ref(j))
        return reference(l, j, at, out);
    if (l->is_inline && is_tensor(j)) {
        *out = l->next++;
        return 0;
    }
    if (!cJSON_IsArray(j) || !is_open(j))
        return constant(l, j, at, out);
    int rc = operands(l, j, at, &items, &s.n_args);
    s.args = items;
    return rc < 0 ? rc : add(l, &s, out);
}

static int kwargs(lowering *l, const cJSON *object, const place *at, dp_step *s)
{
    size_t n = object != NULL ? (size_t)cJSON_GetArraySize(object) : 0;
    dp_ref_kwarg *list = dp_arena_alloc(dp_ctx_arena(l->rq->ctx), n * sizeof(*list));
    const cJSON *m;

    if (list == NULL)
        return dp_error_set(l->err, DP_ERESOURCE, "out of memory: %zu arguments by name", n);
    s->kwargs = list;
    cJSON_ArrayForEach(m, object)
    {
        place inside = {at, m->string, 0};
        list[s->n_kwargs].name = m->string;
        int rc = operand(l, m, &inside, &list[s->n_kwargs].value);
        if (rc < 0)
            return rc;
        s->n_kwargs++;
    }
    return 0;
}

/* -- steps -- */

int program_get(request *rq, const cJSON *params, const place *at, dp_program **out, dp_error *err)
{
    uint64_t handle = (uint64_t)param_int(params, "program", 0);
    place inside = {at, "program", 0};

    *out = programs_get(session_programs(rq->session), handle);
    if (*out != NULL)
        return 0;
    return place_fail(err, DP_ENOTFOUND, &inside, "no program %llu in this session",
                      (unsigned long long)handle);
}

/* What the step is; s->program is owned. */
static int kind_of_step(lowering *l, const cJSON *j, const place *at, dp_step *s)
{
    static const struct {
        const char *name;
        uint32_t kind;
    } kinds[] = {
        {"op", DP_STEP_CALL},
        {"get", DP_STEP_GET},
        {"cond", DP_STEP_COND},
        {"while", DP_STEP_WHILE},
    };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (param(j, kinds[i].name) != NULL) {
            s->kind = kinds[i].kind;
            s->name = param_str(j, kinds[i].name);
            return 0;
        }
    s->kind = DP_STEP_SUB;
    return program_get(l->rq, j, at, &s->program, l->err);
}

static int names(lowering *l, const cJSON *as, const place *at, dp_ref first)
{
    const cJSON *name;

    cJSON_ArrayForEach(name, as)
    {
        if (cJSON_IsString(name) && dp_builder_name(l->b, name->valuestring, first, l->step) < 0)
            return fail_at(l, at);
        first++;
    }
    return 0;
}

static int step(lowering *l, const cJSON *j, const place *at)
{
    place in_args = {at, "args", 0}, in_kwargs = {at, "kwargs", 0}, in_as = {at, "as", 0};
    const cJSON *as = param(j, "as"), *by_name = param(j, "kwargs");
    dp_step s = {.n_rets = as != NULL ? cJSON_GetArraySize(as) : -1};
    dp_ref *args, first = 0;
    int rc = kind_of_step(l, j, at, &s);

    if (s.kind == DP_STEP_SUB) {
        by_name = param(j, "inputs");
        in_kwargs.name = "inputs";
    }
    if (rc == 0)
        rc = operands(l, param(j, "args"), &in_args, &args, &s.n_args);
    if (rc == 0) {
        s.args = args;
        rc = kwargs(l, by_name, &in_kwargs, &s);
    }
    if (rc == 0)
        rc = add(l, &s, &first);
    if (rc == 0)
        rc = names(l, as, &in_as, first);
    dp_program_unref(s.program);
    return rc;
}

static int steps(lowering *l, const cJSON *list)
{
    place at = {NULL, "steps", 0}, inside = {&at, NULL, 0};
    const cJSON *j;

    if (cJSON_GetArraySize(list) > LIMIT_PROGRAM_STEPS)
        return dp_error_set(l->err, DP_ERESOURCE,
                            "a program of %d steps, at most %d (program_steps)",
                            cJSON_GetArraySize(list), LIMIT_PROGRAM_STEPS);
    cJSON_ArrayForEach(j, list)
    {
        l->step = (uint32_t)inside.index;
        int rc = step(l, j, &inside);
        if (rc < 0) {
            l->rq->run->step = l->step;
            return rc;
        }
        inside.index++;
    }
    return 0;
}

static int outputs(lowering *l, const cJSON *list)
{
    place at = {NULL, "outputs", 0}, inside = {&at, NULL, 0};
    const cJSON *j;
    dp_ref r;

    cJSON_ArrayForEach(j, list)
    {
        if (dp_builder_find(l->b, j->valuestring, &r) < 0 ||
            dp_builder_output(l->b, j->valuestring, r) < 0)
            return fail_at(l, &inside);
        inside.index++;
    }
    return 0;
}

/* Inputs are declared; l->b is gone afterwards. */
static int finish(lowering *l, const cJSON *params, int rc, dp_program **out)
{
    if (rc == 0)
        rc = steps(l, param(params, "steps"));
    if (rc == 0)
        rc = outputs(l, param(params, "outputs"));
    if (rc == 0 && dp_builder_finish(l->b, out) < 0)
        rc = run_ctx_error(l->rq, l->err);
    dp_builder_free(l->b);
    return rc;
}

/* -- program.create -- */

static int declare_inputs(lowering *l, const cJSON *list)
{
    place at = {NULL, "inputs", 0}, inside = {&at, NULL, 0};
    const cJSON *j;
    dp_ref r;

    cJSON_ArrayForEach(j, list)
    {
        if (dp_builder_input(l->b, param_str(j, "name"), param_str(j, "type"), &r) < 0)
            return fail_at(l, &inside);
        inside.index++;
    }
    return 0;
}

static int declare_constants(lowering *l, const cJSON *object)
{
    place at = {NULL, "constants", 0};
    const cJSON *j;
    dp_value v;
    dp_ref r;

    cJSON_ArrayForEach(j, object)
    {
        place inside = {&at, j->string, 0};
        int rc = value_from_json(l->rq, j, &inside, &v, l->err);
        if (rc < 0)
            return rc;
        if (dp_builder_constant(l->b, j->string, &v, &r) < 0)
            return fail_at(l, &inside);
    }
    return 0;
}

int program_from_json(request *rq, const cJSON *params, dp_program **out, dp_error *err)
{
    lowering l = {.rq = rq, .err = err};

    if (dp_builder_new(rq->ctx, &l.b) < 0)
        return run_ctx_error(rq, err);
    int rc = declare_inputs(&l, param(params, "inputs"));
    if (rc == 0)
        rc = declare_constants(&l, param(params, "constants"));
    return finish(&l, params, rc, out);
}

/* -- program.run, inline -- */

/* The content of a program, apart from the tensors in it, and those tensors. */
typedef struct content {
    request *rq;
    jw key;
    dp_value *values; /* [n] inputs by name, then tensors in the order of the text */
    size_t n, cap, n_named;
    bool runs_programs; /* what a handle names may be gone the next time */
    dp_error *err;
} content;

static int add_value(content *c, const cJSON *j, const place *at)
{
    dp_value *values = array_grow(c->values, c->n, &c->cap, sizeof(*values));

    if (values == NULL)
        return dp_error_set(c->err, DP_ERESOURCE, "out of memory: a program's tensors");
    c->values = values;
    int rc = value_from_json(c->rq, j, at, &values[c->n], c->err);
    c->n += rc == 0;
    return rc;
}

/* kind, then a fixed number of bytes, or their number and they: no two contents have one key. */
static void add_bytes(content *c, char kind, const void *p, size_t bytes)
{
    jw_text(&c->key, &kind, 1);
    jw_text(&c->key, p, bytes);
}

static void add_text(content *c, char kind, const char *s)
{
    size_t bytes = strlen(s);

    add_bytes(c, kind, &bytes, sizeof(bytes));
    jw_text(&c->key, s, bytes);
}

static int add_content(content *c, const cJSON *j, const place *at)
{
    place inside = {at, NULL, 0};
    const cJSON *item;
    int rc = 0;

    if (cJSON_IsString(j))
        add_text(c, 's', j->valuestring);
    else if (cJSON_IsNumber(j))
        add_bytes(c, 'n', &j->valuedouble, sizeof(j->valuedouble));
    else if (is_tensor(j))
        jw_text(&c->key, "T", 1);
    else if (cJSON_IsArray(j) || cJSON_IsObject(j))
        jw_text(&c->key, cJSON_IsArray(j) ? "[" : "{", 1);
    else
        jw_text(&c->key, cJSON_IsNull(j) ? "0" : cJSON_IsTrue(j) ? "t" : "f", 1);
    if (is_tensor(j))
        return add_value(c, j, at);
    if (!cJSON_IsArray(j) && !cJSON_IsObject(j))
        return 0;
    cJSON_ArrayForEach(item, j)
    {
        inside.name = item->string;
        if (item->string != NULL)
            add_text(c, 'm', item->string);
        if ((rc = add_content(c, item, &inside)) < 0)
            return rc;
        inside.index++;
    }
    jw_text(&c->key, "]", 1);
    return 0;
}

/* args before kwargs, whatever the order of the members: as step() takes them. */
static int add_step_content(content *c, const cJSON *j, const place *at)
{
    static const char *const taken[] = {"args", "kwargs", "inputs"};
    const cJSON *m;

    c->runs_programs |= param(j, "program") != NULL;
    cJSON_ArrayForEach(m, j)
    {
        if (strcmp(m->string, "as") != 0 && !cJSON_IsString(m))
            continue;
        add_text(c, 'm', m->string);
        int rc = add_content(c, m, at); /* no tensor is in it */
        if (rc < 0)
            return rc;
    }
    for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
        const cJSON *group = param(j, taken[i]), *item;
        place in_group = {at, taken[i], 0}, inside = {&in_group, NULL, 0};
        add_text(c, 'm', taken[i]);
        cJSON_ArrayForEach(item, group)
        {
            inside.name = item->string;
            if (item->string != NULL)
                add_text(c, 'm', item->string);
            int rc = add_content(c, item, &inside);
            if (rc < 0)
                return rc;
            inside.index++;
        }
    }
    jw_text(&c->key, ";", 1);
    return 0;
}

static int add_inputs(content *c, const cJSON *object)
{
    place at = {NULL, "inputs", 0};
    const cJSON *m;
    char kind;

    cJSON_ArrayForEach(m, object)
    {
        place inside = {&at, m->string, 0};
        int rc = add_value(c, m, &inside);
        if (rc < 0)
            return rc;
        add_text(c, 'i', m->string);
        kind = (char)('a' + c->values[c->n - 1].tag);
        jw_text(&c->key, &kind, 1);
    }
    c->n_named = c->n;
    return 0;
}

static int add_program(content *c, const cJSON *params)
{
    place at = {NULL, "steps", 0}, inside = {&at, NULL, 0};
    const cJSON *j;
    int rc = add_inputs(c, param(params, "inputs"));

    cJSON_ArrayForEach(j, param(params, "steps"))
    {
        if (rc == 0)
            rc = add_step_content(c, j, &inside);
        if (rc < 0) {
            c->rq->run->step = c->n > c->n_named || inside.index > 0 ? (int64_t)inside.index : -1;
            return rc;
        }
        inside.index++;
    }
    if (rc < 0)
        return rc;
    jw_text(&c->key, "o", 1);
    return add_content(c, param(params, "outputs"), &at);
}

/* A value that came says of which type its input is. */
static const char *type_of(const dp_value *v)
{
    static const char *const types[DP_TAG_END] = {
        [DP_TAG_TENSOR] = "Tensor", [DP_TAG_INT] = "int", [DP_TAG_DOUBLE] = "float",
        [DP_TAG_BOOL] = "bool",     [DP_TAG_STR] = "str", [DP_TAG_COMPLEX] = "complex"};

    return types[v->tag];
}

static int build(content *c, const cJSON *params, dp_program **out)
{
    lowering l = {.rq = c->rq, .err = c->err, .is_inline = true, .next = (dp_ref)c->n_named};
    const cJSON *m = param(params, "inputs");
    int rc = 0;
    dp_ref r;

    if (dp_builder_new(c->rq->ctx, &l.b) < 0)
        return run_ctx_error(c->rq, c->err);
    m = m != NULL ? m->child : NULL;
    for (size_t i = 0; i < c->n && rc == 0; i++) {
        const char *name = i < c->n_named ? m->string : NULL;
        if (dp_builder_input(l.b, name, type_of(&c->values[i]), &r) < 0)
            rc = run_ctx_error(c->rq, c->err);
        m = i < c->n_named ? m->next : NULL;
    }
    return finish(&l, params, rc, out);
}

static int recall_or_build(content *c, const cJSON *params, dp_program **out)
{
    programs *ps = session_programs(c->rq->session);
    int rc = add_program(c, params);
    bool kept = rc == 0 && !c->key.failed && !c->runs_programs;

    if (rc < 0)
        return rc;
    *out = kept ? programs_recall(ps, c->key.s, c->key.len) : NULL;
    if (*out != NULL)
        return 0;
    rc = build(c, params, out);
    if (rc == 0 && kept)
        programs_remember(ps, c->key.s, c->key.len, *out);
    return rc;
}

int program_inline(request *rq, const cJSON *params, dp_program **out, const dp_value **inputs,
                   dp_error *err)
{
    content c = {.rq = rq, .err = err};

    if (cJSON_GetArraySize(param(params, "steps")) > LIMIT_PROGRAM_STEPS)
        return dp_error_set(err, DP_ERESOURCE, "a program of %d steps, at most %d (program_steps)",
                            cJSON_GetArraySize(param(params, "steps")), LIMIT_PROGRAM_STEPS);
    jw_init(&c.key);
    int rc = recall_or_build(&c, params, out);
    if (rc == 0) {
        *inputs = dp_arena_dup(dp_ctx_arena(rq->ctx), c.values, c.n * sizeof(*c.values));
        if (*inputs == NULL) {
            *out = dp_program_unref(*out);
            rc = dp_error_set(err, DP_ERESOURCE, "out of memory: a program's inputs");
        }
    }
    jw_fini(&c.key);
    dp_free(c.values);
    return rc;
}
