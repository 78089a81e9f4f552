/* shadow.c -- shadow calls in JSON: the param of session.set, and their counts in server.status. */
#include "methods.h"
#include <math.h>
#include <string.h>

static void member_double(jw *w, const char *name, double d)
{
    jw_key(w, name);
    jw_element(w, DP_FLOAT64, &d);
}

/* Read member `name`, a number from 0 to `most`; `*out` is unchanged if there is none. */
static int read_number(const cJSON *j, const char *name, double most, double *out, dp_error *err)
{
    const cJSON *n = param(j, name);
    json_path outer = {NULL, "shadow", 0}, at = {&outer, name, 0};

    if (n == NULL)
        return 0;
    if (!(n->valuedouble >= 0 && n->valuedouble <= most))
        return json_path_fail(err, DP_EPARAMS, &at, "expected a number from 0 to %g but got %.15g",
                              most, n->valuedouble);
    *out = n->valuedouble;
    return 0;
}

int shadow_from_json(const cJSON *j, shadow_settings **out, dp_error *err)
{
    static atomic_uint_fast64_t seeds = 1;
    shadow_settings s = {.share = 0.1, .rtol = -1, .atol = -1};
    json_path outer = {NULL, "shadow", 0}, at = {&outer, "backend", 0};
    dp_device device;

    *out = NULL;
    if (cJSON_IsNull(j))
        return 0;
    int rc = read_number(j, "share", 1, &s.share, err);
    if (rc == 0)
        rc = read_number(j, "rtol", INFINITY, &s.rtol, err);
    if (rc == 0)
        rc = read_number(j, "atol", INFINITY, &s.atol, err);
    if (rc < 0)
        return rc;
    const char *name = param_str(j, "backend");
    dp_error why = DP_ERROR_INIT;
    if (dp_device_parse(name, &device, &why) < 0)
        return json_path_fail(err, why.code, &at, "%s", why.message);
    if (dp_device_backend(device) == DP_B_Meta)
        return json_path_fail(err, DP_EVALUE, &at, "'%.64s' computes no values", name);
    dp_device_name(device, s.device);
    s.draws = atomic_fetch_add_explicit(&seeds, 1, memory_order_relaxed) << 32;
    *out = dp_malloc(sizeof(**out));
    if (*out == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: shadow calls");
    **out = s;
    return 0;
}

void shadow_to_json(jw *w, const shadow_settings *s)
{
    if (s == NULL)
        return;
    jw_key(w, "shadow");
    jw_object(w);
    member_str(w, "backend", s->device);
    member_double(w, "share", s->share);
    if (s->rtol >= 0)
        member_double(w, "rtol", s->rtol);
    if (s->atol >= 0)
        member_double(w, "atol", s->atol);
    jw_object_end(w);
}

int shadows_to_json(request *rq, jw *w, dp_error *err)
{
    shadow_count *rows;
    size_t n, most = LIMIT_SIZE(STATUS_SHADOWS);

    if (request_shadows(rq, &rows, &n, err) < 0)
        return err->code;
    jw_key(w, "shadow");
    jw_array(w);
    for (const shadow_count *c = rows; c < rows + (n < most ? n : most); c++) {
        jw_object(w);
        member_str(w, "op", c->op);
        member_str(w, "backend", c->device);
        member_int(w, "calls", (int64_t)c->calls);
        member_int(w, "differs", (int64_t)c->differs);
        member_int(w, "failed", (int64_t)c->failed);
        member_int(w, "dropped", (int64_t)c->dropped);
        member_double(w, "largest", c->largest);
        jw_object_end(w);
    }
    jw_array_end(w);
    if (n > most)
        member_bool(w, "shadow_cut", true);
    return 0;
}
