/* program.c -- program.create, program.pass, program.run, program.describe, program.release.
 *
 * lower.c makes programs from JSON; this file gives them handles and runs them.  As in
 * op.call, every output gets a new handle, or that in param "into", if the client asks for handles;
 * but if a step wrote an input of the program and returned it, the answer has the handle of the
 * input. */
#include "methods.h"
#include <dispatchd/grad.h>
#include <dispatchd/passes.h>
#include <string.h>

/* -- program.create, program.pass, program.release -- */

/* Give `program` a handle, and answer it; the caller's reference ends. */
static int answer_handle(request *rq, dp_program *program, jw *w, dp_error *err)
{
    uint64_t handle = programs_put(session_programs(rq->session), program, err);
    dp_program_unref(program);
    if (handle == 0)
        return err->code;
    jw_object(w);
    member_int(w, "program", (int64_t)handle);
    jw_object_end(w);
    return 0;
}

int program_create(request *rq, const program_create_params *p, jw *w, dp_error *err)
{
    dp_program *program = NULL;
    rq->run->constants = true;
    int rc = program_from_params(rq, p, &program, err);

    return rc == 0 ? answer_handle(rq, program, w, err) : rc;
}

/* Replace *program by what the pass `item` makes of it. */
static int run_pass(request *rq, const cJSON *item, dp_program **program, dp_error *err)
{
    dp_program *made = NULL;
    int rc = dp_checkpoint(rq->ctx);

    if (rc == 0)
        rc = dp_program_pass(rq->ctx, *program, item->valuestring, &made);

    dp_ctx_fp_settle(rq->ctx, "the pass");
    if (rc < 0)
        return run_ctx_error(rq, err);
    dp_program_unref(*program);
    *program = made;
    return 0;
}

int program_pass(request *rq, const program_pass_params *p, jw *w, dp_error *err)
{
    int n = cJSON_GetArraySize(p->passes);
    dp_program *program = NULL;
    const cJSON *item;

    if (n > LIMIT(PROGRAM_PASSES))
        return LIMIT_REACHED(PROGRAM_PASSES, n,
                             dp_error_set(err, DP_ERESOURCE,
                                          "%d passes, at most %lld (program_passes)", n,
                                          (long long)LIMIT(PROGRAM_PASSES)));
    int rc = program_get(rq, p->program, NULL, &program, err);
    cJSON_ArrayForEach(item, p->passes) if (rc == 0) rc = run_pass(rq, item, &program, err);
    if (rc == 0)
        return answer_handle(rq, program, w, err);
    dp_program_unref(program);
    return rc;
}

int program_release(request *rq, const program_release_params *p, jw *w, dp_error *err)
{
    if (!programs_release(session_programs(rq->session), (uint64_t)p->program))
        return json_path_fail(err, DP_ENOTFOUND, &(json_path){NULL, "program", 0},
                              "no program %llu in this session", (unsigned long long)p->program);
    jw_object(w);
    member_int(w, "released", 1);
    jw_object_end(w);
    return 0;
}

/* -- program.run -- */

/* Read the values in `object` into `inputs`, in the order of the program's inputs, and set
 * `given[i]` for each input that has a value. */
static int fill_inputs(request *rq, const cJSON *object, const dp_program *p, dp_value *inputs,
                       bool *given, dp_error *err)
{
    json_path at = {NULL, "inputs", 0};
    const cJSON *m;

    cJSON_ArrayForEach(m, object)
    {
        json_path inside = {&at, m->string, 0};
        int64_t i = dp_program_input_find(p, m->string);
        if (i < 0)
            return json_path_fail(err, DP_ENOTFOUND, &at, "the program has no input '%.64s'",
                                  m->string);
        int rc = value_from_json(rq, m, &inside, &inputs[i], err);
        if (rc < 0)
            return rc;
        given[i] = true;
    }
    return 0;
}

int program_inputs(request *rq, const cJSON *object, const dp_program *p, const dp_value **out,
                   dp_error *err)
{
    dp_arena *a = dp_ctx_arena(rq->ctx);
    dp_program_info info = {.size = sizeof(info)};

    dp_program_info_get(p, &info);
    dp_value *inputs = dp_arena_alloc_n(a, info.n_inputs, sizeof(*inputs));
    bool *given = dp_arena_alloc_n(a, info.n_inputs, sizeof(*given));
    if (inputs == NULL || given == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: a program's inputs");
    dp_zero_n(given, info.n_inputs, sizeof(*given));
    int rc = fill_inputs(rq, object, p, inputs, given, err);
    for (uint32_t i = 0; rc == 0 && i < info.n_inputs; i++)
        if (!given[i])
            rc = json_path_fail(err, DP_ETYPE, &(json_path){NULL, "inputs", 0},
                                "missing input '%.64s'", dp_program_input_name(p, i));
    *out = inputs;
    return rc;
}

static int fail_written(uint32_t output, uint64_t handle, dp_error *err)
{
    json_path into = {NULL, "into", 0};

    return json_path_fail(err, DP_EVALUE, &(json_path){&into, NULL, output},
                          "the program answers the handle %lld of the input that it writes: "
                          "expected null",
                          (long long)handle);
}

/* Write output `i`.  `entry`: its entry of param "into", or NULL. */
static int output_to_json(request *rq, jw *w, const dp_run *r, uint32_t i, int how,
                          const cJSON *entry, dp_error *err)
{
    const dp_value *v = &r->outputs[i];
    json_path into = {NULL, "into", 0};
    bool is_argument = r->written[i] && how == RETURN_HANDLE && v->tag == DP_TAG_TENSOR;
    uint64_t handle = is_argument ? run_handle(rq->run, v->u.t) : 0;

    if (handle != 0)
        return into_is_given(entry) ? fail_written(i, handle, err)
                                    : tensor_to_json(rq, w, v->u.t, handle, how, err);
    int rc = into_check_value(entry, v, &(json_path){&into, NULL, i}, err);
    return rc == 0 ? value_to_json(rq, w, v, how, entry, err) : rc;
}

static int outputs_to_json(request *rq, jw *w, const dp_run *r, uint32_t n,
                           const program_run_params *p, uint64_t captured, dp_error *err)
{
    const cJSON *entry = into_first(p->into);
    int rc = 0;

    jw_object(w);
    jw_key(w, "outputs");
    jw_array(w);
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        rc = output_to_json(rq, w, r, i, p->return_, entry, err);
        entry = into_next(p->into, entry);
    }
    jw_array_end(w);
    if (captured != 0)
        member_int(w, "program", (int64_t)captured);
    warnings_to_json(rq, w);
    jw_object_end(w);
    return rc;
}

static int fail_run(request *rq, const dp_run *r, dp_error *err)
{
    for (size_t i = 0; i < r->n_unspecified; i++)
        run_written(rq->run, r->unspecified[i]);
    return run_ctx_error(rq, err);
}

/* Add the handles in `v`, an input that the program writes, to `r->written`: if the deadline
 * passes, the answer lists these handles. */
static void note_written(run *r, const dp_value *v)
{
    if (v->tag == DP_TAG_TENSOR)
        run_written(r, v->u.t);
    for (uint32_t i = 0; v->tag == DP_TAG_LIST && i < v->len; i++)
        note_written(r, &v->u.values[i]);
}

/* Find the program whose handle `p` names, or make it from the steps in `p`, and read its inputs in
 * order; `*out` is owned. */
static int find_program(request *rq, const program_run_params *p, dp_program **out,
                        const dp_value **inputs, dp_error *err)
{
    if (!p->has_program)
        return program_inline(rq, p, out, inputs, err);
    int rc = program_get(rq, p->program, NULL, out, err);
    return rc == 0 ? program_inputs(rq, p->inputs, *out, inputs, err) : rc;
}

/* Allocate a dp_run and its arrays, in the arena of `rq->ctx` instead of on the stack: the main
 * thread may read `rq->run->step_now` after the deadline. */
static int prepare_run(request *rq, const dp_value *inputs, uint32_t n_outputs, dp_run **out,
                       dp_error *err)
{
    dp_arena *a = dp_ctx_arena(rq->ctx);
    dp_run *r = dp_arena_alloc(a, sizeof(*r));
    dp_value *outputs = dp_arena_alloc_n(a, n_outputs, sizeof(*outputs));
    bool *written = dp_arena_alloc_n(a, n_outputs, sizeof(*written));

    if (r == NULL || outputs == NULL || written == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: %u outputs", n_outputs);
    *r = (dp_run){
        .size = sizeof(*r), .inputs = inputs, .outputs = outputs, .written = written, .step = -1};
    rq->run->step_now = &r->step;
    *out = r;
    return 0;
}

/* If `inputs` break a guard of *program, capture program `source`, of which it was captured, for
 * these inputs, and give it a handle, which *handle is then.  *program, owned, is replaced. */
static int capture_again(request *rq, int64_t source, const dp_value *inputs, dp_program **program,
                         uint64_t *handle, dp_error *err)
{
    const dp_capture_options o = {.size = sizeof(o), .fakes = true};
    dp_program *whole = NULL, *made = NULL;

    if (dp_program_guards_check(rq->ctx, *program, inputs) == 0)
        return 0;
    if (dp_ctx_error(rq->ctx)->code != DP_EVALUE)
        return run_ctx_error(rq, err);
    int rc = program_get(rq, source, &(json_path){NULL, "recapture", 0}, &whole, err);
    if (rc == 0 && dp_program_capture(rq->ctx, whole, inputs, &o, &made) < 0)
        rc = run_ctx_error(rq, err);
    if (rc == 0 && (*handle = programs_put(session_programs(rq->session), made, err)) == 0)
        rc = err->code;
    dp_program_unref(whole);
    if (rc < 0) {
        dp_program_unref(made);
        return rc;
    }
    dp_program_unref(*program);
    *program = made;
    return 0;
}

/* Run the steps; `r->outputs` is owned on success. */
static int run_steps(request *rq, const dp_program *p, const dp_program_info *info, dp_run *r,
                     dp_error *err)
{
    for (uint32_t i = 0; i < info->n_inputs && rq->deadline != 0; i++)
        if (dp_program_input_written(p, i))
            note_written(rq->run, &r->inputs[i]);
    if (!deadline_call(rq))
        return DP_EANSWERED;
    /* Without this call, memory that steps replace would be freed only when the program ends. */
    dp_shapes_unpin();
    dp_ctx_set_step(rq->ctx, &r->step);
    int code = dp_program_run(rq->ctx, p, r);
    dp_ctx_set_step(rq->ctx, NULL);
    dp_ctx_fp_settle(rq->ctx, "the program");
    if (!deadline_end(rq)) {
        if (code == 0)
            dp_values_release(r->outputs, info->n_outputs);
        return DP_EANSWERED;
    }
    rq->run->n_written = 0;
    if (code < 0)
        return fail_run(rq, r, err);
    if (dp_shapes_pin(err) < 0) {
        dp_values_release(r->outputs, info->n_outputs);
        return DP_ERESOURCE;
    }
    return 0;
}

/* Check param "into" against what is known of the outputs before the program runs, and reserve its
 * handles. */
static int reserve_into(request *rq, const dp_program *p, const dp_program_info *info,
                        const dp_value *inputs, const cJSON *into, dp_error *err)
{
    int rc = into_check_count(into, info->n_outputs, "the program", err);
    uint32_t i = 0;

    for (const cJSON *e = into_first(into); e != NULL && rc == 0; e = into_next(into, e), i++) {
        dp_alias a = {.size = sizeof(a)};
        dp_program_output_alias(p, i, &a);
        if (!into_is_given(e) || a.kind != DP_ALIAS_INPUT || !a.same ||
            !dp_program_input_written(p, a.index) || inputs[a.index].tag != DP_TAG_TENSOR)
            continue;
        uint64_t handle = run_handle(rq->run, inputs[a.index].u.t);
        rc = handle != 0 ? fail_written(i, handle, err) : 0;
    }
    return rc == 0 ? into_reserve(rq, into, err) : rc;
}

static int run_and_answer(request *rq, const dp_program *p, const dp_value *inputs,
                          const program_run_params *params, uint64_t captured, jw *w, dp_error *err)
{
    dp_program_info info = {.size = sizeof(info)};
    dp_run *r = NULL;

    dp_program_info_get(p, &info);
    int rc = reserve_into(rq, p, &info, inputs, params->into, err);
    if (rc == 0)
        rc = prepare_run(rq, inputs, info.n_outputs, &r, err);
    if (rc == 0)
        rc = run_steps(rq, p, &info, r, err);
    if (rc < 0)
        return rc;
    rc = outputs_to_json(rq, w, r, info.n_outputs, params, captured, err);
    dp_values_release(r->outputs, info.n_outputs);
    return rc;
}

int program_run(request *rq, const program_run_params *p, jw *w, dp_error *err)
{
    const asked_mode asked = {p->has_grad_enabled, p->grad_enabled, p->has_inference, p->inference,
                              p->autocast};
    const dp_value *inputs = NULL;
    dp_program *program = NULL;
    uint64_t captured = 0;

    if (p->has_program == (p->steps != NULL) || p->has_program == (p->outputs != NULL))
        return json_path_fail(err, DP_EPARAMS, NULL,
                              "expected either program, or steps and outputs");
    if (p->has_recapture && !p->has_program)
        return json_path_fail(err, DP_EPARAMS, &(json_path){NULL, "recapture", 0},
                              "only with program");
    int rc = into_check(p->into, p->return_, err);
    if (rc < 0)
        return rc;
    if (dp_checkpoint(rq->ctx) < 0)
        return run_ctx_error(rq, err);
    run_name(rq);
    rc = run_mode(rq, &asked, err);
    if (rc == 0)
        rc = find_program(rq, p, &program, &inputs, err);
    if (rc == 0 && p->has_recapture)
        rc = capture_again(rq, p->recapture, inputs, &program, &captured, err);
    if (rc == 0)
        rc = run_and_answer(rq, program, inputs, p, captured, w, err);
    if (rc < 0 && captured != 0)
        programs_release(session_programs(rq->session), captured);
    run_mode_end(rq, &asked);
    dp_program_unref(program);
    return rc;
}
