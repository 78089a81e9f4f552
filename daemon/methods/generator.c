/* generator.c -- generator.*: the session's random generators, whose state is a uint8 tensor.
 *
 * A request names a generator by its handle, or names a device to use the session's default
 * generator of that device.  Reading or setting a state waits until no kernel uses the
 * generator. */
#include "methods.h"
#include <inttypes.h>
#include <stdio.h>

int seed_from_json(const cJSON *seed, uint64_t *out, dp_error *err)
{
    json_path at = {NULL, "seed", 0};
    int64_t i = 0;

    if (seed == NULL || int_from_json(seed, &at, &i, err) < 0)
        return seed != NULL ? err->code : 0;
    *out = (uint64_t)i;
    return 0;
}

void member_seed(jw *w, uint64_t seed)
{
    int64_t i = (int64_t)seed;
    char text[24];

    if (i < JSON_EXACT_INT && i > -JSON_EXACT_INT) {
        member_int(w, "seed", i);
        return;
    }
    snprintf(text, sizeof(text), "%" PRId64, i);
    member_str(w, "seed", text);
}

/* Read the device called `name`; NULL: the CPU. */
static int device_named(const char *name, dp_device *out, dp_error *err)
{
    *out = DP_DEVICE_CPU;
    return name != NULL ? dp_device_parse(name, out, err) : 0;
}

/* Find the generator with this handle, or for handle 0 the session's default generator of device
 * `of_device` (NULL: the CPU), and hold a reference to it until the method ends. */
static int find(request *rq, int64_t handle, const char *of_device, dp_generator **out,
                dp_error *err)
{
    json_path at = {NULL, "generator", 0};
    dp_device device;
    int rc;

    if (handle != 0 && of_device != NULL)
        return json_path_fail(err, DP_EPARAMS, NULL, "expected 'generator' or 'device', not both");
    if (handle != 0)
        return run_pin_generator(rq, (uint64_t)handle, &at, out, err);
    rc = device_named(of_device, &device, err);
    if (rc == 0)
        rc = dp_generators_get(session_default_generators(rq->session), device, out, err);
    return rc == 0 ? run_keep_generator(rq, *out, err) : rc;
}

static void write_generator(jw *w, uint64_t handle, dp_generator *g)
{
    char device[DP_KEY_NAME_MAX];

    jw_object(w);
    member_int(w, "generator", handle);
    member_str(w, "device", dp_device_name(dp_generator_device(g), device));
    member_seed(w, dp_generator_initial_seed(g));
    jw_object_end(w);
}

int generator_create(request *rq, const generator_create_params *p, jw *w, dp_error *err)
{
    uint64_t seed = DP_GENERATOR_SEED, handle;
    dp_device device;
    dp_generator *g;

    if (seed_from_json(p->seed, &seed, err) < 0 || device_named(p->device, &device, err) < 0)
        return err->code;
    int rc = dp_generator_new(device, seed, &g, err);
    if (rc == 0)
        rc = run_keep_generator(rq, g, err);
    if (rc < 0)
        return rc;
    rc = run_put_generator(rq, g, &handle, err);
    if (rc < 0)
        return rc;
    write_generator(w, handle, g);
    return 0;
}

static int state_tensor(request *rq, dp_generator *g, dp_tensor **out, dp_error *err)
{
    int64_t bytes = (int64_t)dp_generator_state_bytes(g);
    void *state = dp_malloc((size_t)bytes);

    if (state == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: a generator's state");
    int rc = dp_ctx_generator_state_get(rq->ctx, g, state);
    if (rc < 0)
        run_ctx_error(rq, err);
    else
        rc = dp_tensor_from(session_account(rq->session), DP_UINT8, DP_DEVICE_CPU, 1, &bytes,
                            DP_UINT8, state, out, err);
    dp_free(state);
    return rc;
}

int generator_state(request *rq, const generator_state_params *p, jw *w, dp_error *err)
{
    uint64_t handle = 0;
    dp_generator *g;
    dp_tensor *t;
    int rc = find(rq, p->generator, p->device, &g, err);

    if (rc == 0)
        rc = state_tensor(rq, g, &t, err);
    if (rc == 0)
        rc = run_keep(rq, t, err);
    if (rc == 0 && p->return_ == RETURN_HANDLE)
        rc = run_put(rq, t, &handle, err);
    if (rc < 0)
        return rc;
    jw_object(w);
    jw_key(w, "state");
    rc = tensor_to_json(rq, w, t, handle, p->return_, err);
    jw_object_end(w);
    return rc;
}

/* Copy the bytes of a uint8 tensor with 1 dimension; `*out` is owned. */
static int state_bytes(const dp_tensor *t, void **out, size_t *n, dp_error *err)
{
    /* every generator's state is shorter; a longer tensor is refused before it is copied */
    enum { STATE_BYTES_MAX = 1 << 16 };
    dp_view v = {.size = sizeof(v)};

    dp_tensor_view(t, &v);
    if (v.dtype != DP_UINT8 || v.ndim != 1)
        return dp_error_set(
            err, DP_ETYPE,
            "state: expected a uint8 tensor of 1 dimension but got %s of %d dimensions",
            dp_dtype_name(v.dtype), v.ndim);
    if (v.numel > STATE_BYTES_MAX)
        return dp_error_set(err, DP_EVALUE,
                            "state: expected a generator's state of at most %d bytes but got %lld",
                            STATE_BYTES_MAX, (long long)v.numel);
    *n = (size_t)v.numel;
    *out = dp_malloc(*n + 1);
    if (*out == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: a generator's state");
    int rc = dp_tensor_read(t, *out, err);
    if (rc < 0)
        dp_free(*out);
    return rc;
}

int generator_set_state(request *rq, const generator_set_state_params *p, jw *w, dp_error *err)
{
    json_path at = {NULL, "state", 0};
    dp_generator *g;
    dp_value state;
    void *bytes;
    size_t n = 0;
    int rc = find(rq, p->generator, p->device, &g, err);

    if (rc == 0)
        rc = value_from_json(rq, p->state, &at, &state, err);
    if (rc == 0 && state.tag != DP_TAG_TENSOR)
        rc =
            json_path_fail(err, DP_ETYPE, &at, "expected a tensor but got %s", json_kind(p->state));
    if (rc == 0)
        rc = state_bytes(state.u.t, &bytes, &n, err);
    if (rc < 0)
        return rc;
    rc = dp_ctx_generator_state_set(rq->ctx, g, bytes, n);
    dp_free(bytes);
    if (rc < 0)
        return run_ctx_error(rq, err);
    jw_object(w);
    member_seed(w, dp_generator_initial_seed(g));
    jw_object_end(w);
    return 0;
}

int generator_release(request *rq, const generator_release_params *p, jw *w, dp_error *err)
{
    const cJSON *item;
    json_path at = {NULL, "generators", 0}, inside = {&at, NULL, 0};
    int64_t released = 0;
    dp_generator *g;

    cJSON_ArrayForEach(item, p->generators)
    {
        int rc = run_pin_generator(rq, (uint64_t)item->valuedouble, &inside, &g, err);
        if (rc < 0)
            return rc;
        inside.index++;
    }
    cJSON_ArrayForEach(item, p->generators) released +=
        session_generator_release(rq->session, (uint64_t)item->valuedouble);
    jw_object(w);
    member_int(w, "released", released);
    jw_object_end(w);
    return 0;
}
