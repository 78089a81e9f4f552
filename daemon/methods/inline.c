/* inline.c -- builds the program of a program.run request that contains the steps of the program.
 *
 * A built program is cached: a later request with the same steps uses it again.  The tensors among
 * the arguments become inputs without a name, so that they are not part of the cache key. */
#include "lower.h"
#include <string.h>

/* The cache key of a program, and the program's tensors, which are not part of the key. */
typedef struct content {
    request *rq;
    jw key;
    /* [n] the named inputs, then the tensors in the order in which the key is made */
    dp_value *values;
    size_t n, cap, n_named;
    /* a step runs a program that is named by its handle, which may be released: do not cache */
    bool runs_programs;
    dp_error *err;
} content;

static int add_value(content *c, const cJSON *j, const json_path *at)
{
    dp_value *values = array_grow(c->values, c->n, &c->cap, sizeof(*values));

    if (values == NULL)
        return dp_error_set(c->err, DP_ERESOURCE, "out of memory: a program's tensors");
    c->values = values;
    int rc = value_from_json(c->rq, j, at, &values[c->n], c->err);
    c->n += rc == 0;
    return rc;
}

/* Append `kind`, a letter for the kind of the value, and the `bytes` bytes at `p` to the key.  The
 * bytes of a kind have a fixed number, or follow their length (add_text()); thus different programs
 * have different keys. */
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

static int add_content(content *c, const cJSON *j, const json_path *at)
{
    json_path inside = {at, NULL, 0};
    const cJSON *item;
    int rc = 0;

    if (cJSON_IsString(j))
        add_text(c, 's', j->valuestring);
    else if (cJSON_IsNumber(j))
        add_bytes(c, 'n', &j->valuedouble, sizeof(j->valuedouble));
    else if (is_tensor_json(j))
        jw_text(&c->key, "T", 1);
    else if (cJSON_IsArray(j) || cJSON_IsObject(j))
        jw_text(&c->key, cJSON_IsArray(j) ? "[" : "{", 1);
    else
        jw_text(&c->key, cJSON_IsNull(j) ? "0" : cJSON_IsTrue(j) ? "t" : "f", 1);
    if (is_tensor_json(j))
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

/* Append one step to the key.  "args" comes before "kwargs" and "inputs", whatever their order in
 * the JSON text, because step() in lower.c numbers the tensors in this order. */
static int add_step_content(content *c, const cJSON *j, const json_path *at)
{
    static const char *const groups[] = {"args", "kwargs", "inputs"};
    const cJSON *m;

    c->runs_programs |= param(j, "program") != NULL;
    cJSON_ArrayForEach(m, j)
    {
        if (strcmp(m->string, "as") != 0 && !cJSON_IsString(m) && !cJSON_IsBool(m))
            continue;
        add_text(c, 'm', m->string);
        /* `m` is a string, a boolean or a list of names, so it contains no tensors */
        int rc = add_content(c, m, at);
        if (rc < 0)
            return rc;
    }
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        const cJSON *group = param(j, groups[i]), *item;
        json_path in_group = {at, groups[i], 0}, inside = {&in_group, NULL, 0};
        add_text(c, 'm', groups[i]);
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
    json_path at = {NULL, "inputs", 0};
    const cJSON *m;
    char kind;

    cJSON_ArrayForEach(m, object)
    {
        json_path inside = {&at, m->string, 0};
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

static int add_program(content *c, const program_run_params *p)
{
    json_path at = {NULL, "steps", 0}, inside = {&at, NULL, 0};
    const cJSON *j;
    int rc = add_inputs(c, p->inputs);

    cJSON_ArrayForEach(j, p->steps)
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
    return add_content(c, p->outputs, &at);
}

/* Return the type of the program's input that gets the value `v`; NULL: any type. */
static const char *type_of(const dp_value *v)
{
    static const char *const types[DP_TAG_END] = {
        [DP_TAG_TENSOR] = "Tensor", [DP_TAG_INT] = "int", [DP_TAG_DOUBLE] = "float",
        [DP_TAG_BOOL] = "bool",     [DP_TAG_STR] = "str", [DP_TAG_COMPLEX] = "complex"};

    return types[v->tag];
}

static int build(content *c, const program_run_params *p, dp_program **out)
{
    lowering l = {.rq = c->rq, .err = c->err, .is_inline = true, .next = (dp_ref)c->n_named};
    const cJSON *m = p->inputs;
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
    return lowering_finish(&l, p->steps, p->outputs, rc, out);
}

static int find_or_build(content *c, const program_run_params *p, dp_program **out)
{
    programs *ps = session_programs(c->rq->session);
    int rc = add_program(c, p);
    bool cacheable = rc == 0 && !c->key.failed && !c->runs_programs;

    if (rc < 0)
        return rc;
    *out = cacheable ? programs_recall(ps, c->key.s, c->key.len) : NULL;
    if (*out != NULL)
        return 0;
    rc = build(c, p, out);
    if (rc == 0 && cacheable)
        programs_remember(ps, c->key.s, c->key.len, *out);
    return rc;
}

int program_inline(request *rq, const program_run_params *p, dp_program **out,
                   const dp_value **inputs, dp_error *err)
{
    content c = {.rq = rq, .err = err};

    if (cJSON_GetArraySize(p->steps) > LIMIT(PROGRAM_STEPS))
        return LIMIT_REACHED(
            PROGRAM_STEPS, cJSON_GetArraySize(p->steps),
            dp_error_set(err, DP_ERESOURCE, "a program of %d steps, at most %lld (program_steps)",
                         cJSON_GetArraySize(p->steps), (long long)LIMIT(PROGRAM_STEPS)));
    jw_init(&c.key);
    int rc = find_or_build(&c, p, out);
    if (rc == 0) {
        *inputs = dp_arena_dup_n(dp_ctx_arena(rq->ctx), c.values, c.n, sizeof(*c.values));
        if (*inputs == NULL) {
            *out = dp_program_unref(*out);
            rc = dp_error_set(err, DP_ERESOURCE, "out of memory: a program's inputs");
        }
    }
    jw_fini(&c.key);
    dp_free(c.values);
    return rc;
}
