/* autocast.c -- autocast in JSON: the param "autocast" (proto/types/autocast.json) of session.set,
 * of calls, of programs and of their steps, and the member of the dispatcher's state. */
#include "methods.h"
#include <string.h>

/* Is plugin autocast, which registers the kernels that cast, loaded? */
static int check_loaded(request *rq, dp_error *err)
{
    const dp_plugin_info *list;
    size_t n = 0;
    bool found = false;
    server_info info;

    rq->daemon->info(rq->conn, &info);
    int rc = dp_plugin_list(info.reg, dp_ctx_arena(rq->ctx), &list, &n, err);

    for (size_t i = 0; i < n && rc == 0; i++)
        found |= strcmp(list[i].plugin, "autocast") == 0 && !list[i].draining && !list[i].kept;
    if (rc == 0 && !found)
        rc = dp_error_set(err, DP_ENOTFOUND,
                          "autocast: plugin 'autocast' brings it, which is not loaded");
    return rc;
}

static int read_device(const cJSON *j, const json_path *at, int *backend, dp_error *err)
{
    const cJSON *name = param(j, "device");
    const json_path inside = {at, "device", 0};
    dp_device device = DP_DEVICE_CPU;

    if (name != NULL && dp_device_parse(name->valuestring, &device, err) < 0)
        return err->code;
    *backend = dp_device_backend(device);
    if (dp_autocast_key(*backend) == DP_KEY_Undefined)
        return json_path_fail(err, DP_EVALUE, &inside, "device '%s' has no autocast",
                              name->valuestring);
    return 0;
}

/* Read the dtype into *code, as dp_mode.cast_dtype has it. */
static int read_dtype(const cJSON *j, const json_path *at, uint8_t *code, dp_error *err)
{
    const cJSON *name = param(j, "dtype");
    const json_path inside = {at, "dtype", 0};
    dp_dtype dtype = name == NULL ? DP_DTYPE_NONE : dp_dtype_parse(name->valuestring);

    if (name != NULL && dtype != DP_BFLOAT16 && dtype != DP_FLOAT16)
        return json_path_fail(err, DP_EVALUE, &inside,
                              "autocast computes in bfloat16 or float16, not in %s",
                              name->valuestring);
    *code = name == NULL ? 0 : (uint8_t)(dtype + 1);
    return 0;
}

int autocast_from_json(request *rq, const cJSON *j, const json_path *outer, dp_mode *m,
                       dp_error *err)
{
    const json_path at = {outer, "autocast", 0};
    bool on = cJSON_IsTrue(param(j, "enabled"));
    const cJSON *cache = param(j, "cache");
    int backend = DP_B_CPU;
    uint8_t code = 0;

    if (j == NULL)
        return 0;
    if (read_device(j, &at, &backend, err) < 0 || read_dtype(j, &at, &code, err) < 0 ||
        (on && check_loaded(rq, err) < 0))
        return err->code;
    m->cast_backends &= ~DP_BBIT(backend);
    m->cast_dtype[backend] = 0;
    if (on) {
        m->cast_backends |= DP_BBIT(backend);
        m->cast_dtype[backend] = code;
        m->no_cast_cache = cache != NULL && !cJSON_IsTrue(cache);
    }
    return 0;
}

void autocast_to_json(jw *w, const dp_mode *m)
{
    char name[DP_KEY_NAME_MAX];

    jw_key(w, "autocast");
    jw_array(w);
    for (int b = 0; b < 64; b++) {
        if (!(m->cast_backends & DP_BBIT(b)))
            continue;
        dp_device_name(DP_DEVICE(b, 0), name);
        name[strcspn(name, ":")] = '\0'; /* autocast is on for all devices of the backend */
        jw_object(w);
        member_str(w, "device", name);
        member_str(w, "dtype", dp_dtype_name(dp_autocast_dtype(m, b)));
        member_bool(w, "cache", !m->no_cast_cache);
        jw_object_end(w);
    }
    jw_array_end(w);
}
