/* method_op.c -- op.call and program.run: JSON arguments -> dp_bind -> dp_call_boxed -> outputs.
 *
 * Every output gets a fresh handle, except results that the schema marks as written: those answer
 * with the handle their argument came by.  A program pins one registry snapshot and owns what its
 * steps return until it ends. */
#include "method.h"
#include <stdio.h>
#include <string.h>

static const char *const return_kinds[] = {"handle", "data", "attachment", NULL}; /* RETURN_* */

/* -- arguments -- */

static int kwargs_from_json(request *rq, const cJSON *j, const place *at, dp_kwarg **out, size_t *n,
                            dp_error *err)
{
    const cJSON *m;
    size_t i = 0;

    *n = j != NULL ? (size_t)cJSON_GetArraySize(j) : 0;
    *out = dp_arena_alloc(dp_ctx_arena(rq->ctx), *n * sizeof(**out));
    if (*out == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: %zu arguments by name", *n);
    cJSON_ArrayForEach(m, j)
    {
        place inside = {at, m->string, 0};
        int rc = value_from_json(rq, m, &inside, &(*out)[i].value, err);
        if (rc < 0)
            return rc;
        (*out)[i++].name = m->string;
    }
    return 0;
}

int bind_from_json(request *rq, const cJSON *j, const place *at, dp_bound *out, dp_error *err)
{
    place in_args = {at, "args", 0}, in_kwargs = {at, "kwargs", 0};
    size_t n_args, n_kwargs;
    dp_value *args;
    dp_kwarg *kwargs;
    int rc = values_from_json(rq, param(j, "args"), &in_args, &args, &n_args, err);

    if (rc == 0)
        rc = kwargs_from_json(rq, param(j, "kwargs"), &in_kwargs, &kwargs, &n_kwargs, err);
    if (rc == 0 && dp_bind(rq->ctx, param_str(j, "op"), args, n_args, kwargs, n_kwargs, out) < 0)
        rc = run_ctx_error(rq, err);
    return rc;
}

/* -- calling -- */

/* A guess at the work, so that big calls of a kernel are told from small ones (daemon.h). */
static size_t work_of(const dp_bound *b)
{
    size_t bytes = 0;

    for (uint32_t i = 0; i < b->n_args; i++) {
        const dp_value *v = &b->args[i];
        uint64_t product = sizeof(double);
        if (v->tag == DP_TAG_TENSOR)
            bytes += tensor_bytes(v->u.t);
        for (uint32_t k = 0; v->tag == DP_TAG_TENSORS && k < v->len; k++)
            bytes += tensor_bytes(v->u.tensors[k]);
        for (uint32_t k = 0; v->tag == DP_TAG_INTS && k < v->len; k++)
            if (__builtin_mul_overflow(product, (uint64_t)v->u.ints[k], &product))
                product = SIZE_MAX / 2;
        if (v->tag == DP_TAG_INTS && __builtin_add_overflow(bytes, product, &bytes))
            bytes = SIZE_MAX / 2;
    }
    return bytes;
}

static void note_written(run *r, const dp_tensor *t)
{
    uint64_t handle = t != NULL ? run_handle(r, t) : 0;

    if (handle != 0 && r->n_written < sizeof(r->written) / sizeof(r->written[0]))
        r->written[r->n_written++] = handle;
}

/* The handles of the arguments whose bytes are unspecified now. */
static void note_failure(run *r, const dp_bound *b, uint64_t written)
{
    for (uint32_t i = 0; i < b->n_args && i < 64; i++) {
        const dp_value *v = &b->args[i];
        if (!(written & (uint64_t)1 << i))
            continue;
        if (v->tag == DP_TAG_TENSOR)
            note_written(r, v->u.t);
        for (uint32_t k = 0; v->tag == DP_TAG_TENSORS && k < v->len; k++)
            note_written(r, v->u.tensors[k]);
    }
}

/* rets [b->n_rets]: owned on success. */
static int call(request *rq, const dp_bound *b, dp_value *rets, dp_error *err)
{
    if (dp_call_boxed(rq->ctx, b->op, b->args, b->n_args, rets, b->n_rets) == 0) {
        if (dp_name_returns(rq->ctx, b, rets) == 0)
            return 0;
        dp_values_release(rets, b->n_rets);
        return run_ctx_error(rq, err);
    }
    run_ctx_error(rq, err);
    note_failure(rq->run, b, err->written);
    return err->code;
}

static int check_deadline(const request *rq, const cJSON *params, dp_error *err)
{
    int64_t deadline = param_int(params, "deadline_ms", -1);
    uint64_t waited = nanos() - rq->t_read;

    if (deadline < 0 || waited / 1000000 < (uint64_t)deadline)
        return 0;
    return dp_error_set(err, DP_EDEADLINE, "queued for %.3f ms, deadline_ms is %lld",
                        (double)waited / 1e6, (long long)deadline);
}

/* -- answering -- */

/* The handle that return i has already, when the schema says that it is an argument it wrote. */
static uint64_t written_handle(const request *rq, const dp_bound *b, uint32_t i)
{
    const dp_value *argument;

    if (i >= 64 || !(b->ret_written & (uint64_t)1 << i) || b->ret_alias[i] < 0)
        return 0;
    argument = &b->args[b->ret_alias[i]];
    return argument->tag == DP_TAG_TENSOR ? run_handle(rq->run, argument->u.t) : 0;
}

static int output_to_json(request *rq, jw *w, const dp_bound *b, const dp_value *rets, uint32_t i,
                          int how, dp_error *err)
{
    uint64_t handle = how == RETURN_HANDLE ? written_handle(rq, b, i) : 0;

    if (handle != 0 && rets[i].tag == DP_TAG_TENSOR)
        return tensor_to_json(rq, w, rets[i].u.t, handle, how, err);
    return value_to_json(rq, w, &rets[i], how, err);
}

static int outputs_to_json(request *rq, jw *w, const dp_bound *b, const dp_value *rets, int how,
                           dp_error *err)
{
    int rc = 0;

    jw_key(w, "outputs");
    jw_array(w);
    for (uint32_t i = 0; i < b->n_rets && rc == 0; i++)
        rc = output_to_json(rq, w, b, rets, i, how, err);
    jw_array_end(w);
    return rc;
}

static void write_step(jw *w, const dp_trace_step *s)
{
    char key[DP_KEY_NAME_MAX];
    const struct {
        const char *name, *value;
    } texts[] = {
        {"op",  dp_op_name(s->op) },
        {"key", dp_key_name(s->key, key)},
        {"provenance",     s->provenance           },
        {"plugin",     s->from.plugin    },
        {"file",     s->from.file ? s->from.file : ""             },
    };

    jw_object(w);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        member_str(w, texts[i].name, texts[i].value);
    }
    member_int(w, "line", s->from.line);
    member_int(w, "generation", s->from.generation);
    member_int(w, "depth", s->depth);
    member_bool(w, "redispatch", s->redispatch);
    member_int(w, "nanos", s->nanos);
    jw_object_end(w);
}

static void trace_to_json(const request *rq, jw *w)
{
    bool cut = false;
    size_t n;
    const dp_trace_step *steps = dp_ctx_trace_get(rq->ctx, &n, &cut);

    jw_key(w, "trace");
    jw_array(w);
    for (size_t i = 0; i < n; i++)
        write_step(w, &steps[i]);
    jw_array_end(w);
    if (cut) {
        member_bool(w, "trace_cut", true);
    }
}

/* A line is parsed when it is read, or later on the worker that runs it: then it queued first. */
static void timing_to_json(const request *rq, jw *w)
{
    dp_call_facts facts = dp_ctx_facts(rq->ctx);
    bool parsed_late = rq->t_started != 0 && rq->t_started <= rq->t_parsed;
    uint64_t parse = rq->t_parsed - (parsed_late ? rq->t_started : rq->t_read);
    uint64_t begun = parsed_late ? rq->t_started : rq->t_read + parse;
    const struct {
        const char *name;
        uint64_t nanos;
    } rows[] = {
        {"parse",    parse                                           },
        {"queue",    parsed_late                    ? begun - rq->t_read
                  : rq->t_started > rq->t_parsed ? rq->t_started - rq->t_parsed
                                                 : 0},
        {"dispatch", facts.dispatch_nanos                            },
        {"kernel",   facts.kernel_nanos                              },
        {"total",    nanos() - rq->t_read                            },
    };

    jw_key(w, "timing");
    jw_object(w);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        member_int(w, rows[i].name, rows[i].nanos);
    }
    jw_object_end(w);
}

/* -- op.call -- */

/* Where it may run, then the call, then what the executor learns from it. */
static int call_placed(request *rq, const dp_bound *b, int how, dp_value *rets, dp_error *err)
{
    uint64_t id = dp_bound_kernel(rq->ctx, b), begun;
    size_t work = work_of(b);

    /* A short kernel may have a long answer: a view of much, printed. */
    if (!executor_may_run(rq, id, work) || (how != RETURN_HANDLE && !run_is_quick(rq, work)))
        return DP_EWORKER;
    begun = nanos();
    int rc = call(rq, b, rets, err);
    dp_call_facts facts = dp_ctx_facts(rq->ctx);
    executor_note(rq, b->op, id, work, &facts, nanos() - begun);
    return rc;
}

static int call_and_answer(request *rq, const cJSON *params, const dp_bound *b, jw *w,
                           dp_error *err)
{
    dp_value *rets = dp_arena_alloc(dp_ctx_arena(rq->ctx), b->n_rets * sizeof(*rets));
    int how = param_enum(params, "return", return_kinds);

    if (rets == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: %u returns", b->n_rets);
    int rc = call_placed(rq, b, how, rets, err);
    if (rc != 0)
        return rc;
    jw_object(w);
    rc = outputs_to_json(rq, w, b, rets, how, err);
    if (param_bool(params, "trace"))
        trace_to_json(rq, w);
    if (param_bool(params, "timing"))
        timing_to_json(rq, w);
    jw_object_end(w);
    dp_values_release(rets, b->n_rets);
    return rc;
}

int op_call(request *rq, const cJSON *params, jw *w, dp_error *err)
{
    bool trace = param_bool(params, "trace"), timing = param_bool(params, "timing");
    dp_bound bound;

    if (check_deadline(rq, params, err) < 0)
        return err->code;
    int rc = bind_from_json(rq, params, NULL, &bound, err);
    if (rc < 0)
        return rc;
    dp_ctx_timing(rq->ctx, timing);
    if (dp_ctx_trace(rq->ctx, trace) < 0)
        return run_ctx_error(rq, err);
    rc = call_and_answer(rq, params, &bound, w, err);
    dp_ctx_timing(rq->ctx, false);
    dp_ctx_trace(rq->ctx, false);
    return rc;
}

/* -- program.run -- */

typedef struct binding {
    const char *name; /* borrowed from the params; NULL: free */
    int64_t step;     /* that makes it; -1: an input */
    dp_value value;   /* borrowed */
    uint64_t handle;  /* of the argument it is, when its step wrote that one; 0: none */
} binding;

struct program {
    binding *table; /* [mask + 1] by hash, open addressing, never full */
    size_t mask;
    dp_value **rets; /* [n_steps], owned values; NULL: the step has not run */
    uint32_t *n_rets;
    int64_t n_steps;
};

static binding *slot(const program *p, const char *name)
{
    uint64_t h = 14695981039346656037u; /* FNV-1a */

    for (const char *c = name; *c != '\0'; c++)
        h = (h ^ (unsigned char)*c) * 1099511628211u;
    size_t i = (size_t)(h ^ h >> 32) & p->mask;
    while (p->table[i].name != NULL && strcmp(p->table[i].name, name) != 0)
        i = (i + 1) & p->mask;
    return &p->table[i];
}

static int declare(program *p, const char *name, int64_t step, const place *at, dp_error *err)
{
    binding *b = slot(p, name);

    if (b->name != NULL && b->step < 0)
        return place_fail(err, DP_EEXISTS, at, "name '%.64s' is an input already", name);
    if (b->name != NULL)
        return place_fail(err, DP_EEXISTS, at, "name '%.64s' is made by step %lld already", name,
                          (long long)b->step);
    *b = (binding){name, step, dp_none(), 0};
    return 0;
}

static int list_item(const dp_value *list, size_t i, dp_value *out)
{
    switch (list->tag) {
    case DP_TAG_TENSORS:
        *out = dp_tensor_value(list->u.tensors[i]);
        return 0;
    case DP_TAG_INTS:
        *out = dp_int(list->u.ints[i]);
        return 0;
    case DP_TAG_DOUBLES:
        *out = dp_double(list->u.doubles[i]);
        return 0;
    case DP_TAG_BOOLS:
        *out = dp_bool(list->u.bools[i]);
        return 0;
    case DP_TAG_LIST:
        *out = list->u.values[i];
        return 0;
    default:
        return DP_ETYPE;
    }
}

static bool is_list(const dp_value *v)
{
    return v->tag >= DP_TAG_TENSORS && v->tag <= DP_TAG_LIST;
}

int program_ref(const program *p, const cJSON *j, const place *at, dp_value *out, dp_error *err)
{
    const char *name = param_str(j, "ref");
    int64_t index = param_int(j, "index", -1);
    const binding *b = slot(p, name); /* there: the program was checked before its first step */

    *out = b->value;
    if (index < 0)
        return 0;
    if (!is_list(&b->value))
        return place_fail(err, DP_ETYPE, at, "index %lld of '%.64s', which is no list",
                          (long long)index, name);
    if ((uint64_t)index >= b->value.len)
        return place_fail(err, DP_EINDEX, at, "index %lld of '%.64s', a list of %u",
                          (long long)index, name, b->value.len);
    return list_item(&b->value, (size_t)index, out);
}

/* -- before the first step: names, refs, room -- */

static size_t count_names(const cJSON *steps, const cJSON *inputs)
{
    size_t n = inputs != NULL ? (size_t)cJSON_GetArraySize(inputs) : 0;
    const cJSON *step;

    cJSON_ArrayForEach(step, steps)
    {
        const cJSON *as = param(step, "as");
        n += as != NULL ? (size_t)cJSON_GetArraySize(as) : 0;
    }
    return n;
}

static int program_init(request *rq, const cJSON *params, program *p, dp_error *err)
{
    const cJSON *steps = param(params, "steps");
    size_t names = count_names(steps, param(params, "inputs")), room = 8;
    dp_arena *a = dp_ctx_arena(rq->ctx);

    *p = (program){.n_steps = cJSON_GetArraySize(steps)};
    if (p->n_steps > LIMIT_PROGRAM_STEPS)
        return dp_error_set(err, DP_ERESOURCE, "a program of %lld steps, at most %d",
                            (long long)p->n_steps, LIMIT_PROGRAM_STEPS);
    while (room < 2 * names)
        room *= 2;
    p->mask = room - 1;
    p->table = dp_arena_alloc(a, room * sizeof(*p->table));
    p->rets = dp_arena_alloc(a, (size_t)p->n_steps * sizeof(*p->rets) + 1);
    p->n_rets = dp_arena_alloc(a, (size_t)p->n_steps * sizeof(*p->n_rets) + 1);
    if (p->table == NULL || p->rets == NULL || p->n_rets == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: a program of %lld steps",
                            (long long)p->n_steps);
    memset(p->table, 0, room * sizeof(*p->table));
    memset(p->rets, 0, (size_t)p->n_steps * sizeof(*p->rets));
    return 0;
}

static int read_inputs(request *rq, const cJSON *inputs, program *p, dp_error *err)
{
    place at = {NULL, "inputs", 0};
    const cJSON *m;

    cJSON_ArrayForEach(m, inputs)
    {
        place inside = {&at, m->string, 0};
        int rc = declare(p, m->string, -1, &inside, err);
        if (rc == 0)
            rc = value_from_json(rq, m, &inside, &slot(p, m->string)->value, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int check_known(const program *p, const char *name, const place *at, dp_error *err)
{
    if (slot(p, name)->name != NULL)
        return 0;
    return place_fail(err, DP_ENOTFOUND, at, "no earlier step or input is called '%.64s'", name);
}

/* Every {"ref"} in a value.  Depth is bounded by LIMIT_JSON_DEPTH. */
static int check_refs(const program *p, const cJSON *j, const place *at, dp_error *err)
{
    place inside = {at, NULL, 0};
    const char *name = cJSON_IsObject(j) ? param_str(j, "ref") : NULL;
    const cJSON *item;

    if (name != NULL)
        return check_known(p, name, at, err);
    if (!cJSON_IsArray(j))
        return 0;
    cJSON_ArrayForEach(item, j)
    {
        int rc = check_refs(p, item, &inside, err);
        if (rc < 0)
            return rc;
        inside.index++;
    }
    return 0;
}

static int check_step(program *p, const cJSON *step, int64_t number, const place *at, dp_error *err)
{
    place in_args = {at, "args", 0}, in_kwargs = {at, "kwargs", 0}, in_as = {at, "as", 0};
    const cJSON *m;
    int rc = check_refs(p, param(step, "args"), &in_args, err);

    cJSON_ArrayForEach(m, param(step, "kwargs")) if (rc == 0) rc =
        check_refs(p, m, &(place){&in_kwargs, m->string, 0}, err);
    cJSON_ArrayForEach(m, param(step, "as")) if (rc == 0 && cJSON_IsString(m)) rc =
        declare(p, m->valuestring, number, &in_as, err);
    return rc;
}

static int check_program(request *rq, const cJSON *params, program *p, dp_error *err)
{
    place at = {NULL, "steps", 0}, inside = {&at, NULL, 0};
    place of_outputs = {NULL, "outputs", 0}, output = {&of_outputs, NULL, 0};
    const cJSON *j;

    cJSON_ArrayForEach(j, param(params, "steps"))
    {
        rq->run->step = (int64_t)inside.index;
        int rc = check_step(p, j, rq->run->step, &inside, err);
        if (rc < 0)
            return rc;
        inside.index++;
    }
    rq->run->step = -1;
    cJSON_ArrayForEach(j, param(params, "outputs"))
    {
        int rc = check_known(p, j->valuestring, &output, err);
        if (rc < 0)
            return rc;
        output.index++;
    }
    return 0;
}

/* -- the steps -- */

static void name_returns(const request *rq, program *p, const cJSON *as, const dp_bound *b,
                         const dp_value *rets)
{
    uint32_t i = 0;
    const cJSON *name;

    cJSON_ArrayForEach(name, as)
    {
        if (cJSON_IsString(name)) {
            binding *to = slot(p, name->valuestring);
            to->value = rets[i];
            to->handle = written_handle(rq, b, i);
        }
        i++;
    }
}

static int run_step(request *rq, program *p, const cJSON *step, int64_t number, const place *at,
                    dp_error *err)
{
    const cJSON *as = param(step, "as");
    dp_bound b;
    int rc = bind_from_json(rq, step, at, &b, err);

    if (rc < 0)
        return rc;
    if (as != NULL && (uint32_t)cJSON_GetArraySize(as) != b.n_rets)
        return place_fail(err, DP_EVALUE, at, "as names %d returns but %s has %u",
                          cJSON_GetArraySize(as), dp_op_name(b.op), b.n_rets);
    dp_value *rets = dp_arena_alloc(dp_ctx_arena(rq->ctx), b.n_rets * sizeof(*rets));
    if (rets == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: %u returns", b.n_rets);
    rc = call(rq, &b, rets, err);
    if (rc < 0)
        return rc;
    p->rets[number] = rets;
    p->n_rets[number] = b.n_rets;
    name_returns(rq, p, as, &b, rets);
    return 0;
}

static int run_steps(request *rq, program *p, const cJSON *steps, dp_error *err)
{
    place at = {NULL, "steps", 0}, inside = {&at, NULL, 0};
    const cJSON *step;

    cJSON_ArrayForEach(step, steps)
    {
        rq->run->step = (int64_t)inside.index;
        int rc = run_step(rq, p, step, rq->run->step, &inside, err);
        if (rc < 0)
            return rc;
        inside.index++;
    }
    rq->run->step = -1;
    return 0;
}

static int program_outputs(request *rq, const program *p, const cJSON *params, jw *w, dp_error *err)
{
    int how = param_enum(params, "return", return_kinds), rc = 0;
    const cJSON *name;

    jw_object(w);
    jw_key(w, "outputs");
    jw_array(w);
    cJSON_ArrayForEach(name, param(params, "outputs"))
    {
        const binding *b = slot(p, name->valuestring);
        if (rc == 0 && b->handle != 0 && how == RETURN_HANDLE && b->value.tag == DP_TAG_TENSOR)
            rc = tensor_to_json(rq, w, b->value.u.t, b->handle, how, err);
        else if (rc == 0)
            rc = value_to_json(rq, w, &b->value, how, err);
    }
    jw_array_end(w);
    jw_object_end(w);
    return rc;
}

static void program_fini(program *p)
{
    for (int64_t i = 0; i < p->n_steps && p->rets != NULL; i++)
        if (p->rets[i] != NULL)
            dp_values_release(p->rets[i], p->n_rets[i]);
}

int program_run(request *rq, const cJSON *params, jw *w, dp_error *err)
{
    program p;

    if (check_deadline(rq, params, err) < 0 || program_init(rq, params, &p, err) < 0 ||
        read_inputs(rq, param(params, "inputs"), &p, err) < 0 ||
        check_program(rq, params, &p, err) < 0)
        return err->code;
    if (dp_ctx_begin(rq->ctx) < 0)
        return run_ctx_error(rq, err);
    rq->run->program = &p;
    int rc = run_steps(rq, &p, param(params, "steps"), err);
    dp_ctx_end(rq->ctx);
    if (rc == 0)
        rc = program_outputs(rq, &p, params, w, err);
    rq->run->program = NULL;
    program_fini(&p);
    return rc;
}
