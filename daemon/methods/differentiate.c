/* differentiate.c -- program.grad, program.jvp: programs that compute derivatives of a program. */
#include "methods.h"
#include <dispatchd/passes.h>
#include <string.h>

/* Find the inputs that `names` names: *out [*n], in the arena of `rq->ctx`. */
static int read_wrt(request *rq, const dp_program *p, const cJSON *names, uint32_t **out,
                    uint32_t *n, dp_error *err)
{
    json_path at = {NULL, "wrt", 0};
    uint32_t count = (uint32_t)cJSON_GetArraySize(names);
    const cJSON *m;

    *n = 0;
    if ((*out = run_alloc(rq, (size_t)dp_size_times(count, sizeof(**out)), err)) == NULL)
        return err->code;
    cJSON_ArrayForEach(m, names)
    {
        int64_t i = dp_program_input_find(p, m->valuestring);
        if (i < 0)
            return json_path_fail(err, DP_ENOTFOUND, &(json_path){&at, NULL, *n},
                                  "the program has no input '%.64s'", m->valuestring);
        (*out)[(*n)++] = (uint32_t)i;
    }
    return 0;
}

/* Give `program` a handle and write it as member `name`. */
static int answer_one(request *rq, jw *w, const char *name, dp_program *program, uint64_t *handle,
                      dp_error *err)
{
    *handle = programs_put(session_programs(rq->session), program, err);
    if (*handle == 0)
        return err->code;
    member_int(w, name, (int64_t)*handle);
    return 0;
}

static int answer(request *rq, jw *w, const dp_grad_programs *made, dp_error *err)
{
    uint64_t handles[3] = {0, 0, 0};

    jw_object(w);
    int rc = answer_one(rq, w, "program", made->joint, &handles[0], err);
    if (rc == 0)
        rc = answer_one(rq, w, "forward", made->forward, &handles[1], err);
    if (rc == 0)
        rc = answer_one(rq, w, "backward", made->backward, &handles[2], err);
    for (int i = 0; i < 3 && rc < 0; i++)
        if (handles[i] != 0)
            programs_release(session_programs(rq->session), handles[i]);
    member_int(w, "saved", made->n_saved);
    member_int(w, "saved_bytes", (int64_t)made->saved_bytes);
    member_int(w, "default_bytes", (int64_t)made->default_bytes);
    jw_object_end(w);
    return rc;
}

static int make(request *rq, const program_grad_params *p, const dp_program *program,
                dp_grad_programs *made, dp_error *err)
{
    dp_grad_options o = {.size = sizeof(o),
                         .partition = p->partition == PROGRAM_GRAD_PARTITION_MIN_CUT
                                          ? DP_PARTITION_MIN_CUT
                                          : DP_PARTITION_DEFAULT,
                         .memory = p->has_memory ? (uint64_t)p->memory : 0};
    const dp_value *inputs = NULL;
    uint32_t *wrt = NULL;

    int rc = program_inputs(rq, p->inputs, program, &inputs, err);
    if (rc == 0)
        rc = read_wrt(rq, program, p->wrt, &wrt, &o.n_wrt, err);
    o.wrt = wrt;
    if (rc == 0 && dp_program_grad(rq->ctx, program, inputs, &o, made) < 0)
        rc = run_ctx_error(rq, err);
    return rc;
}

int program_grad(request *rq, const program_grad_params *p, jw *w, dp_error *err)
{
    dp_grad_programs made = {.size = sizeof(made)};
    dp_program *program = NULL;

    if (p->has_memory && p->partition != PROGRAM_GRAD_PARTITION_MIN_CUT)
        return json_path_fail(err, DP_EPARAMS, &(json_path){NULL, "memory", 0},
                              "only with partition min_cut");
    int rc = program_get(rq, p->program, NULL, &program, err);
    if (rc == 0)
        rc = make(rq, p, program, &made, err);
    if (rc == 0)
        rc = answer(rq, w, &made, err);
    dp_program_unref(made.joint);
    dp_program_unref(made.forward);
    dp_program_unref(made.backward);
    dp_program_unref(program);
    return rc;
}

int program_jvp(request *rq, const program_jvp_params *p, jw *w, dp_error *err)
{
    dp_program_info info = {.size = sizeof(info)};
    dp_program *program = NULL, *made = NULL;
    const dp_value *inputs = NULL;
    uint32_t *wrt = NULL, n = 0;
    uint64_t handle;

    int rc = program_get(rq, p->program, NULL, &program, err);
    if (rc == 0)
        rc = program_inputs(rq, p->inputs, program, &inputs, err);
    if (rc == 0)
        rc = read_wrt(rq, program, p->wrt, &wrt, &n, err);
    if (rc == 0 && dp_program_jvp(rq->ctx, program, inputs, wrt, n, &made) < 0)
        rc = run_ctx_error(rq, err);
    if (rc == 0) {
        dp_program_info_get(made, &info);
        jw_object(w);
        rc = answer_one(rq, w, "program", made, &handle, err);
        member_int(w, "steps", info.n_steps);
        jw_object_end(w);
    }
    dp_program_unref(made);
    dp_program_unref(program);
    return rc;
}
