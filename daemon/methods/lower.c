/* lower.c -- lowers a program, that is, converts its JSON to the steps of dp_builder, which the
 * library runs.
 *
 * One step of the client may become several steps: a list that contains references or tensors
 * becomes a LIST step before the call, and {"ref","index"} becomes an ITEM step.  All of these have
 * the index of the client's step.  If the steps were sent in program.run, the tensors among the
 * arguments become inputs without a name: the program then does not depend on the tensors and can
 * be cached. */
#include "lower.h"

/* Copy the context's error to `l->err`, with path `at` in front. */
static int ctx_fail_at(const lowering *l, const json_path *at)
{
    const dp_error *why = dp_ctx_error(l->rq->ctx);

    return json_path_fail(l->err, why->code, at, "%s", why->message);
}

static bool is_ref(const cJSON *j)
{
    return cJSON_IsObject(j) && param(j, "ref") != NULL;
}

/* Does `j` contain references, or tensors and other values of is_tensor_json(), which are known
 * only when the program runs?  LIMIT_JSON_DEPTH bounds the recursion. */
static bool has_runtime_values(const cJSON *j)
{
    const cJSON *item;

    if (!cJSON_IsArray(j))
        return is_ref(j) || is_tensor_json(j);
    cJSON_ArrayForEach(item, j) if (has_runtime_values(item)) return true;
    return false;
}

/* -- arguments -- */

static int operand(lowering *l, const cJSON *j, const json_path *at, dp_ref *out);

static int add(lowering *l, dp_step *s, dp_ref *first)
{
    s->size = sizeof(*s);
    s->origin = l->step;
    return dp_builder_add(l->b, s, first, NULL) < 0 ? run_ctx_error(l->rq, l->err) : 0;
}

static int reference(lowering *l, const cJSON *j, const json_path *at, dp_ref *out)
{
    int64_t index = param_int(j, "index", -1);
    dp_ref list;

    if (dp_builder_find(l->b, param_str(j, "ref"), index < 0 ? out : &list) < 0)
        return ctx_fail_at(l, at);
    if (index < 0)
        return 0;
    return add(
        l,
        &(dp_step){.kind = DP_STEP_ITEM, .args = &list, .n_args = 1, .index = index, .n_rets = 1},
        out);
}

static int operands(lowering *l, const cJSON *array, const json_path *at, dp_ref **out, size_t *n)
{
    json_path inside = {at, NULL, 0};
    const cJSON *item;

    *n = array != NULL ? (size_t)cJSON_GetArraySize(array) : 0;
    *out = dp_arena_alloc_n(dp_ctx_arena(l->rq->ctx), *n, sizeof(**out));
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

static int constant(lowering *l, const cJSON *j, const json_path *at, dp_ref *out)
{
    dp_value v;
    int rc = value_from_json(l->rq, j, at, &v, l->err);

    if (rc == 0 && dp_builder_constant(l->b, NULL, &v, out) < 0)
        rc = ctx_fail_at(l, at);
    return rc;
}

static int operand(lowering *l, const cJSON *j, const json_path *at, dp_ref *out)
{
    dp_step s = {.kind = DP_STEP_LIST, .n_rets = 1};
    dp_ref *items;

    if (is_ref(j))
        return reference(l, j, at, out);
    if (l->is_inline && is_tensor_json(j)) {
        *out = l->next++;
        return 0;
    }
    if (!cJSON_IsArray(j) || !has_runtime_values(j))
        return constant(l, j, at, out);
    int rc = operands(l, j, at, &items, &s.n_args);
    s.args = items;
    return rc < 0 ? rc : add(l, &s, out);
}

static int kwargs(lowering *l, const cJSON *object, const json_path *at, dp_step *s)
{
    size_t n = object != NULL ? (size_t)cJSON_GetArraySize(object) : 0;
    dp_ref_kwarg *list = dp_arena_alloc_n(dp_ctx_arena(l->rq->ctx), n, sizeof(*list));
    const cJSON *m;

    if (list == NULL)
        return dp_error_set(l->err, DP_ERESOURCE, "out of memory: %zu arguments by name", n);
    s->kwargs = list;
    cJSON_ArrayForEach(m, object)
    {
        json_path inside = {at, m->string, 0};
        list[s->n_kwargs].name = m->string;
        int rc = operand(l, m, &inside, &list[s->n_kwargs].value);
        if (rc < 0)
            return rc;
        s->n_kwargs++;
    }
    return 0;
}

/* -- steps -- */

int program_get(request *rq, int64_t handle, const json_path *at, dp_program **out, dp_error *err)
{
    json_path inside = {at, "program", 0};

    *out = programs_get(session_programs(rq->session), (uint64_t)handle);
    if (*out != NULL)
        return 0;
    return json_path_fail(err, DP_ENOTFOUND, &inside, "no program %llu in this session",
                          (unsigned long long)handle);
}

/* Set the kind of step `s`, and its name or its program; `s->program` is owned. */
static int kind_of_step(lowering *l, const cJSON *j, const json_path *at, dp_step *s)
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
    return program_get(l->rq, param_int(j, "program", 0), at, &s->program, l->err);
}

static int names(lowering *l, const cJSON *as, const json_path *at, dp_ref first)
{
    const cJSON *name;

    cJSON_ArrayForEach(name, as)
    {
        if (cJSON_IsString(name) && dp_builder_name(l->b, name->valuestring, first, l->step) < 0)
            return ctx_fail_at(l, at);
        first++;
    }
    return 0;
}

static uint32_t flags_of(const cJSON *step)
{
    const cJSON *save = param(step, "save");
    uint32_t flags = cJSON_IsTrue(param(step, "recompute")) ? DP_STEP_FLAG_RECOMPUTE : 0;

    if (save != NULL)
        flags |= strcmp(save->valuestring, "must") == 0 ? DP_STEP_FLAG_MUST_SAVE
                                                        : DP_STEP_FLAG_PREFER_SAVE;
    return flags;
}

static int step(lowering *l, const cJSON *j, const json_path *at)
{
    json_path in_args = {at, "args", 0}, in_kwargs = {at, "kwargs", 0}, in_as = {at, "as", 0};
    const cJSON *as = param(j, "as"), *by_name = param(j, "kwargs");
    const cJSON *grad = param(j, "grad_enabled");
    const cJSON *autocast = param(j, "autocast");
    dp_step_mode mode = {.size = sizeof(mode),
                         .sets = (grad != NULL ? DP_STEP_MODE_GRAD : 0) |
                                 (autocast != NULL ? DP_STEP_MODE_CAST : 0),
                         .mode = {.size = sizeof(dp_mode), .no_grad = cJSON_IsFalse(grad)}};
    dp_step s = {.n_rets = as != NULL ? cJSON_GetArraySize(as) : -1,
                 .mode = mode.sets != 0 ? &mode : NULL,
                 .flags = flags_of(j)};
    dp_ref *args, first = 0;
    int rc = kind_of_step(l, j, at, &s);
    if (rc == 0)
        rc = autocast_from_json(l->rq, autocast, at, &mode.mode, l->err);

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
    json_path at = {NULL, "steps", 0}, inside = {&at, NULL, 0};
    const cJSON *j;

    if (cJSON_GetArraySize(list) > LIMIT(PROGRAM_STEPS))
        return LIMIT_REACHED(PROGRAM_STEPS, cJSON_GetArraySize(list),
                             dp_error_set(l->err, DP_ERESOURCE,
                                          "a program of %d steps, at most %lld (program_steps)",
                                          cJSON_GetArraySize(list),
                                          (long long)LIMIT(PROGRAM_STEPS)));
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
    json_path at = {NULL, "outputs", 0}, inside = {&at, NULL, 0};
    const cJSON *j;
    dp_ref r;

    cJSON_ArrayForEach(j, list)
    {
        if (dp_builder_find(l->b, j->valuestring, &r) < 0 ||
            dp_builder_output(l->b, j->valuestring, r) < 0)
            return ctx_fail_at(l, &inside);
        inside.index++;
    }
    return 0;
}

int lowering_finish(lowering *l, const cJSON *list, const cJSON *results, int rc, dp_program **out)
{
    if (rc == 0)
        rc = steps(l, list);
    if (rc == 0)
        rc = outputs(l, results);
    if (rc == 0 && dp_builder_finish(l->b, out) < 0)
        rc = run_ctx_error(l->rq, l->err);
    dp_builder_free(l->b);
    return rc;
}

/* -- program.create -- */

static int declare_inputs(lowering *l, const cJSON *list)
{
    json_path at = {NULL, "inputs", 0}, inside = {&at, NULL, 0};
    const cJSON *j;
    dp_ref r;

    cJSON_ArrayForEach(j, list)
    {
        if (dp_builder_input(l->b, param_str(j, "name"), param_str(j, "type"), &r) < 0)
            return ctx_fail_at(l, &inside);
        inside.index++;
    }
    return 0;
}

static int declare_constants(lowering *l, const cJSON *object)
{
    json_path at = {NULL, "constants", 0};
    const cJSON *j;
    dp_value v;
    dp_ref r;

    cJSON_ArrayForEach(j, object)
    {
        json_path inside = {&at, j->string, 0};
        int rc = value_from_json(l->rq, j, &inside, &v, l->err);
        if (rc < 0)
            return rc;
        if (dp_builder_constant(l->b, j->string, &v, &r) < 0)
            return ctx_fail_at(l, &inside);
    }
    return 0;
}

int program_from_params(request *rq, const program_create_params *p, dp_program **out,
                        dp_error *err)
{
    lowering l = {.rq = rq, .err = err};

    if (dp_builder_new(rq->ctx, &l.b) < 0)
        return run_ctx_error(rq, err);
    int rc = declare_inputs(&l, p->inputs);
    if (rc == 0)
        rc = declare_constants(&l, p->constants);
    return lowering_finish(&l, p->steps, p->outputs, rc, out);
}
