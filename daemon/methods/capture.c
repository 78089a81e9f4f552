/* capture.c -- trace.start, trace.stop, program.capture: programs made of the calls of a
 * connection, or of a program.
 *
 * The connection's state owns a capture from trace.start to trace.stop or to the end of the
 * connection; the executor gives it to the context of each of the connection's requests. */
#include "methods.h"
#include <string.h>

static int fail_none(dp_error *err)
{
    return dp_error_set(err, DP_ERUNTIME, "this connection records no calls: trace.start begins");
}

static int add_inputs(request *rq, dp_capture *c, const cJSON *object, dp_error *err)
{
    json_path at = {NULL, "inputs", 0};
    const cJSON *m;

    cJSON_ArrayForEach(m, object)
    {
        json_path inside = {&at, m->string, 0};
        dp_value v;
        int rc = value_from_json(rq, m, &inside, &v, err);
        if (rc == 0 && dp_capture_input(rq->ctx, c, m->string, &v) < 0)
            rc = run_ctx_error(rq, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int add_constants(request *rq, dp_capture *c, const cJSON *object, dp_error *err)
{
    json_path at = {NULL, "constants", 0};
    const cJSON *m;

    cJSON_ArrayForEach(m, object)
    {
        json_path inside = {&at, m->string, 0};
        dp_tensor *t;
        int rc = run_pin(rq, (uint64_t)m->valuedouble, &inside, &t, err);
        if (rc == 0 && dp_capture_constant(rq->ctx, c, m->string, t) < 0)
            rc = run_ctx_error(rq, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

int trace_start(request *rq, const trace_start_params *p, jw *w, dp_error *err)
{
    const dp_capture_options o = {sizeof(o), p->whole, p->numbers, p->fakes};
    dp_capture *c = NULL;

    if (rq->state->capture != NULL)
        return dp_error_set(err, DP_ERUNTIME,
                            "this connection records its calls already: trace.stop ends that");
    if (dp_capture_new(rq->ctx, &o, &c) < 0)
        return run_ctx_error(rq, err);
    int rc = add_inputs(rq, c, p->inputs, err);
    if (rc == 0)
        rc = add_constants(rq, c, p->constants, err);
    if (rc < 0) {
        dp_capture_free(c);
        return rc;
    }
    rq->state->capture = c;
    dp_ctx_set_capture(rq->ctx, c); /* for later requests of this batch */
    jw_object(w);
    jw_object_end(w);
    return 0;
}

/* Give `program` a handle and write it. */
static int answer(request *rq, jw *w, dp_program *program, dp_error *err)
{
    dp_program_info info = {.size = sizeof(info)};
    uint64_t handle = programs_put(session_programs(rq->session), program, err);

    dp_program_info_get(program, &info);
    if (handle == 0)
        return err->code;
    jw_object(w);
    member_int(w, "program", (int64_t)handle);
    member_int(w, "steps", info.n_steps);
    warnings_to_json(rq, w);
    jw_object_end(w);
    return 0;
}

/* Make the program of capture `c` with the outputs in `object`. */
static int finish(request *rq, dp_capture *c, const cJSON *object, dp_program **out, dp_error *err)
{
    json_path at = {NULL, "outputs", 0};
    const cJSON *m;

    cJSON_ArrayForEach(m, object)
    {
        json_path inside = {&at, m->string, 0};
        dp_value v;
        int rc = value_from_json(rq, m, &inside, &v, err);
        if (rc == 0 && dp_capture_output(rq->ctx, c, m->string, &v) < 0)
            rc = run_ctx_error(rq, err);
        if (rc < 0)
            return rc;
    }
    return dp_capture_finish(rq->ctx, c, out) < 0 ? run_ctx_error(rq, err) : 0;
}

int trace_stop(request *rq, const trace_stop_params *p, jw *w, dp_error *err)
{
    dp_capture *c = rq->state->capture;
    dp_program *program = NULL;
    int rc = 0;

    if (c == NULL)
        return fail_none(err);
    if (p->discard) {
        jw_object(w);
        member_int(w, "steps", dp_capture_steps(c));
        jw_object_end(w);
    } else {
        dp_ctx_set_capture(rq->ctx, NULL);
        rc = finish(rq, c, p->outputs, &program, err);
        if (rc == 0)
            rc = answer(rq, w, program, err);
        dp_program_unref(program);
    }
    if (rc < 0) { /* run_undo() forgets the outputs, and the recording goes on */
        dp_ctx_set_capture(rq->ctx, c);
        return rc;
    }
    dp_ctx_set_capture(rq->ctx, NULL);
    rq->state->capture = dp_capture_free(c);
    return 0;
}

/* Read the dynamic sizes in `object`: dimensions by the names of inputs. */
static int read_dynamic(request *rq, const dp_program *p, const cJSON *object,
                        const dp_input_place **out, uint32_t *n, dp_error *err)
{
    const json_path at = {NULL, "dynamic", 0};
    const cJSON *m, *dim;
    dp_input_place *places =
        dp_arena_alloc_n(dp_ctx_arena(rq->ctx), DP_LIMIT_PROGRAM_SYMBOLS + 1, sizeof(*places));

    *out = places;
    if (places == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: dynamic sizes");
    cJSON_ArrayForEach(m, object)
    {
        int64_t input = dp_program_input_find(p, m->string);
        if (input < 0)
            return json_path_fail(err, DP_ENOTFOUND, &at, "the program has no input '%.64s'",
                                  m->string);
        cJSON_ArrayForEach(
            dim,
            m) if (*n <= DP_LIMIT_PROGRAM_SYMBOLS) /* one too many is an error of the capture */
            places[(*n)++] = (dp_input_place){
                (uint32_t)input, -1,
                dim->valuedouble < DP_DIM_MAX ? (int32_t)dim->valuedouble : DP_DIM_MAX};
    }
    return 0;
}

int program_capture(request *rq, const program_capture_params *p, jw *w, dp_error *err)
{
    const asked_mode asked = {p->has_grad_enabled, p->grad_enabled, p->has_inference, p->inference,
                              p->autocast};
    const dp_capture_options o = {sizeof(o), p->whole, p->numbers, !p->has_fakes || p->fakes};
    const dp_value *inputs = NULL;
    const dp_input_place *dynamic = NULL;
    uint32_t n = 0;
    dp_program *program = NULL, *captured = NULL;

    if (dp_checkpoint(rq->ctx) < 0)
        return run_ctx_error(rq, err);
    run_name(rq);
    int rc = run_mode(rq, &asked, err);
    if (rc == 0)
        rc = program_get(rq, p->program, NULL, &program, err);
    if (rc == 0)
        rc = program_inputs(rq, p->inputs, program, &inputs, err);
    if (rc == 0)
        rc = read_dynamic(rq, program, p->dynamic, &dynamic, &n, err);
    if (rc == 0 &&
        dp_program_capture_dynamic(rq->ctx, program, inputs, &o, dynamic, n, &captured) < 0)
        rc = run_ctx_error(rq, err);
    run_mode_end(rq, &asked);
    if (rc == 0)
        rc = answer(rq, w, captured, err);
    dp_program_unref(captured);
    dp_program_unref(program);
    return rc;
}
