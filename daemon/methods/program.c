/* program.c -- program.create, program.run, program.describe, program.release.
 *
 * lower.c makes programs of JSON; here they are named, run and told about.  As in op.call, every
 * output gets a fresh handle, except an argument that its step wrote, which answers with its own.
 */
#include "methods.h"
#include <string.h>

static const char *const return_kinds[] = {"handle", "data", "attachment", NULL}; /* RETURN_* */
static const char *const formats[] = {"json", "text", "dot", NULL};
enum { FORMAT_JSON, FORMAT_TEXT, FORMAT_DOT };

/* -- program.create, program.release -- */

int program_create(request *rq, const cJSON *params, jw *w, dp_error *err)
{
    dp_program *p = NULL;
    rq->run->constants = true;
    int rc = program_from_json(rq, params, &p, err);

    if (rc < 0)
        return rc;
    uint64_t handle = programs_put(session_programs(rq->session), p, err);
    dp_program_unref(p);
    if (handle == 0)
        return err->code;
    jw_object(w);
    member_int(w, "program", (int64_t)handle);
    jw_object_end(w);
    return 0;
}

int program_release(request *rq, const cJSON *params, jw *w, dp_error *err)
{
    uint64_t handle = (uint64_t)param_int(params, "program", 0);

    if (!programs_release(session_programs(rq->session), handle))
        return place_fail(err, DP_ENOTFOUND, &(place){NULL, "program", 0},
                          "no program %llu in this session", (unsigned long long)handle);
    jw_object(w);
    member_int(w, "released", 1);
    jw_object_end(w);
    return 0;
}

/* -- program.run -- */

/* Values by name in the order of the program's inputs; NONE and `given` false where there is none.
 */
static int fill_inputs(request *rq, const cJSON *object, const dp_program *p, dp_value *inputs,
                       bool *given, dp_error *err)
{
    place at = {NULL, "inputs", 0};
    const cJSON *m;

    cJSON_ArrayForEach(m, object)
    {
        place inside = {&at, m->string, 0};
        int64_t i = dp_program_input_find(p, m->string);
        if (i < 0)
            return place_fail(err, DP_ENOTFOUND, &at, "the program has no input '%.64s'",
                              m->string);
        int rc = value_from_json(rq, m, &inside, &inputs[i], err);
        if (rc < 0)
            return rc;
        given[i] = true;
    }
    return 0;
}

static int inputs_by_name(request *rq, const cJSON *object, const dp_program *p,
                          const dp_value **out, dp_error *err)
{
    dp_arena *a = dp_ctx_arena(rq->ctx);
    dp_program_info info;

    dp_program_info_get(p, &info);
    dp_value *inputs = dp_arena_alloc(a, info.n_inputs * sizeof(*inputs));
    bool *given = dp_arena_alloc(a, info.n_inputs * sizeof(*given));
    if (inputs == NULL || given == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: a program's inputs");
    memset(given, 0, info.n_inputs * sizeof(*given));
    int rc = fill_inputs(rq, object, p, inputs, given, err);
    for (uint32_t i = 0; rc == 0 && i < info.n_inputs; i++)
        if (!given[i])
            rc = place_fail(err, DP_ETYPE, &(place){NULL, "inputs", 0}, "missing input '%.64s'",
                            dp_program_input_name(p, i));
    *out = inputs;
    return rc;
}

static int outputs_to_json(request *rq, jw *w, const dp_run *r, uint32_t n, int how, dp_error *err)
{
    int rc = 0;

    jw_object(w);
    jw_key(w, "outputs");
    jw_array(w);
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        const dp_value *v = &r->outputs[i];
        bool own = r->written[i] && how == RETURN_HANDLE && v->tag == DP_TAG_TENSOR;
        uint64_t handle = own ? run_handle(rq->run, v->u.t) : 0;
        rc = handle != 0 ? tensor_to_json(rq, w, v->u.t, handle, how, err)
                         : value_to_json(rq, w, v, how, err);
    }
    jw_array_end(w);
    warnings_to_json(rq, w);
    jw_object_end(w);
    return rc;
}

static int fail_run(request *rq, const dp_run *r, dp_error *err)
{
    run *now = rq->run;

    now->step = r->step;
    for (size_t i = 0; i < r->n_unspecified && now->n_written < DP_LIMIT_ARGUMENTS; i++) {
        uint64_t handle = run_handle(now, r->unspecified[i]);
        if (handle != 0)
            now->written[now->n_written++] = handle;
    }
    return run_ctx_error(rq, err);
}

static int run_and_answer(request *rq, const dp_program *p, const dp_value *inputs, int how, jw *w,
                          dp_error *err)
{
    dp_arena *a = dp_ctx_arena(rq->ctx);
    dp_program_info info;

    dp_program_info_get(p, &info);
    dp_run r = {.size = sizeof(r),
                .inputs = inputs,
                .outputs = dp_arena_alloc(a, info.n_outputs * sizeof(dp_value)),
                .written = dp_arena_alloc(a, info.n_outputs * sizeof(bool))};
    if (r.outputs == NULL || r.written == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: %u outputs", info.n_outputs);
    dp_shapes_let(); /* or what its steps change would stay until it ends */
    int code = dp_program_run(rq->ctx, p, &r);
    if (code < 0)
        return fail_run(rq, &r, err);
    if (dp_shapes_hold(err) < 0) {
        dp_values_release(r.outputs, info.n_outputs);
        return DP_ERESOURCE;
    }
    int rc = outputs_to_json(rq, w, &r, info.n_outputs, how, err);
    dp_values_release(r.outputs, info.n_outputs);
    return rc;
}

int program_run(request *rq, const cJSON *params, jw *w, dp_error *err)
{
    bool by_handle = param(params, "program") != NULL;
    const dp_value *inputs = NULL;
    dp_program *p = NULL;
    int rc;

    if (by_handle == (param(params, "steps") != NULL) ||
        by_handle == (param(params, "outputs") != NULL))
        return place_fail(err, DP_EPARAMS, NULL, "expected either program, or steps and outputs");
    if (dp_checkpoint(rq->ctx) < 0)
        return run_ctx_error(rq, err);
    if (by_handle) {
        rc = program_get(rq, params, NULL, &p, err);
        if (rc == 0)
            rc = inputs_by_name(rq, param(params, "inputs"), p, &inputs, err);
    } else {
        rc = program_inline(rq, params, &p, &inputs, err);
    }
    if (rc == 0)
        rc = run_and_answer(rq, p, inputs, param_enum(params, "return", return_kinds), w, err);
    dp_program_unref(p);
    return rc;
}

/* -- program.describe -- */

static int refs_to_json(request *rq, jw *w, const char *name, const dp_program *p,
                        const dp_ref *refs, uint32_t n, dp_error *err)
{
    char text[DP_KEY_NAME_MAX];
    int rc = 0;

    jw_key(w, name);
    jw_array(w);
    for (uint32_t i = 0; i < n && rc == 0 && !w->failed; i++) {
        const dp_value *v = dp_program_constant(p, refs[i]);
        dp_program_value_name(p, refs[i], text);
        if (v != NULL && text[0] == '\0') {
            rc = value_to_json(rq, w, v, RETURN_DESCRIBED, err);
            continue;
        }
        jw_object(w);
        member_str(w, "ref", text);
        jw_object_end(w);
    }
    jw_array_end(w);
    return rc;
}

static int step_to_json(request *rq, jw *w, const dp_program *p, uint32_t i, dp_error *err)
{
    char text[DP_KEY_NAME_MAX];
    dp_program_info info;
    dp_step_info s;

    dp_program_step(p, i, &s);
    jw_object(w);
    member_int(w, "step", s.origin);
    member_str(w, "kind", s.kind);
    if (s.name[0] != '\0')
        member_str(w, "name", s.name);
    if (!s.decided)
        member_bool(w, "decided", false);
    if (s.index >= 0)
        member_int(w, "index", s.index);
    if (s.program != NULL) {
        dp_program_info_get(s.program, &info);
        member_int(w, "steps", info.n_steps);
    }
    int rc = refs_to_json(rq, w, "args", p, s.args, s.n_args, err);
    jw_key(w, "as");
    jw_array(w);
    for (uint32_t k = 0; k < s.n_rets; k++)
        jw_str(w, dp_program_value_name(p, s.first + k, text));
    jw_array_end(w);
    jw_key(w, "ends");
    jw_array(w);
    for (uint32_t k = 0; k < s.n_frees; k++)
        jw_str(w, dp_program_value_name(p, s.frees[k], text));
    jw_array_end(w);
    jw_object_end(w);
    return rc;
}

static void inputs_to_json(jw *w, const dp_program *p, uint32_t n)
{
    jw_key(w, "inputs");
    jw_array(w);
    for (uint32_t i = 0; i < n; i++) {
        jw_object(w);
        member_str(w, "name", dp_program_input_name(p, i));
        member_str(w, "type", dp_program_input_type(p, i));
        jw_object_end(w);
    }
    jw_array_end(w);
}

static int describe_json(request *rq, jw *w, const dp_program *p, dp_error *err)
{
    dp_program_info info;
    int rc = 0;

    dp_program_info_get(p, &info);
    inputs_to_json(w, p, info.n_inputs);
    jw_key(w, "steps");
    jw_array(w);
    for (uint32_t i = 0; i < info.n_steps && rc == 0 && !w->failed; i++)
        rc = step_to_json(rq, w, p, i, err);
    jw_array_end(w);
    jw_key(w, "outputs");
    jw_array(w);
    for (uint32_t i = 0; i < info.n_outputs; i++)
        jw_str(w, dp_program_output_name(p, i));
    jw_array_end(w);
    member_int(w, "depth", info.depth);
    member_int(w, "expanded", (int64_t)info.expanded);
    member_int(w, "bytes", (int64_t)info.bytes);
    member_int(w, "constant_bytes", (int64_t)info.constant_bytes);
    return rc;
}

static int describe_text(request *rq, jw *w, const dp_program *p, int format, dp_error *err)
{
    dp_arena *a = dp_ctx_arena(rq->ctx);
    const char *text = format == FORMAT_DOT ? dp_program_dot(p, a) : dp_program_text(p, a);

    if (text == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: the text of a program");
    member_str(w, "text", text);
    return 0;
}

int program_describe(request *rq, const cJSON *params, jw *w, dp_error *err)
{
    int format = param_enum(params, "format", formats);
    dp_program *p = NULL;
    int rc = program_get(rq, params, NULL, &p, err);

    if (rc < 0)
        return rc;
    jw_object(w);
    rc =
        format == FORMAT_JSON ? describe_json(rq, w, p, err) : describe_text(rq, w, p, format, err);
    jw_object_end(w);
    dp_program_unref(p);
    return rc;
}
