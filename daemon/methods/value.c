/* value.c -- reads JSON values into dp_values (docs/protocol.md).
 *
 * The JSON was already checked against proto/types/value.json, so this file checks only what that
 * type cannot express.  Lists and strings are allocated in the arena of `rq->ctx`; `rq->run` holds
 * references to tensors until the method ends. */
#include "methods.h"
#include <string.h>

static int pair_from_json(const cJSON *j, const json_path *at, double *out, dp_error *err)
{
    json_path inside = {at, NULL, 0};
    const cJSON *part;

    if (!cJSON_IsArray(j) || cJSON_GetArraySize(j) != 2)
        return json_path_fail(err, DP_EVALUE, at, "expected [re, im] but got %s of %d elements",
                              json_kind(j), cJSON_GetArraySize(j));
    cJSON_ArrayForEach(part, j)
    {
        int rc = double_from_json(part, &inside, &out[inside.index], err);
        if (rc < 0)
            return rc;
        inside.index++;
    }
    return 0;
}

int values_from_json(request *rq, const cJSON *array, const json_path *at, dp_value **out,
                     size_t *n, dp_error *err)
{
    const cJSON *item;
    json_path inside = {at, NULL, 0};

    *n = array != NULL ? (size_t)cJSON_GetArraySize(array) : 0;
    *out = run_alloc(rq, dp_size_times(*n, sizeof(**out)), err);
    if (*out == NULL)
        return DP_ERESOURCE;
    cJSON_ArrayForEach(item, array)
    {
        int rc = value_from_json(rq, item, &inside, &(*out)[inside.index], err);
        if (rc < 0)
            return rc;
        inside.index++;
    }
    return 0;
}

static int list_from_json(request *rq, const cJSON *j, const json_path *at, dp_value *out,
                          dp_error *err)
{
    dp_value *values;
    size_t n;
    int rc = values_from_json(rq, j, at, &values, &n, err);

    *out = (dp_value){DP_TAG_LIST, (uint32_t)n, {0}};
    out->u.values = values;
    return rc;
}

static int string_from_json(request *rq, const char *s, dp_value *out, dp_error *err)
{
    size_t n = strlen(s);
    dp_device device;

    /* a device's name usually asks for a copy to that device, which may be slow */
    if (dp_device_parse(s, &device, NULL) == 0 && !run_may_reach(rq, device))
        return DP_EWORKER;
    char *copy = run_alloc(rq, n + 1, err);
    if (copy == NULL)
        return DP_ERESOURCE;
    *out = (dp_value){DP_TAG_STR, (uint32_t)n, {0}};
    out->u.s = memcpy(copy, s, n + 1);
    return 0;
}

static int complex_from_json(request *rq, const cJSON *j, const json_path *at, dp_value *out,
                             dp_error *err)
{
    double *z = run_alloc(rq, 2 * sizeof(*z), err);

    if (z == NULL)
        return DP_ERESOURCE;
    *out = (dp_value){DP_TAG_COMPLEX, 0, {0}};
    out->u.doubles = z;
    return pair_from_json(j, at, z, err);
}

static int handle_from_json(request *rq, const cJSON *j, const json_path *at, dp_value *out,
                            dp_error *err)
{
    dp_tensor *t;
    int rc = run_pin(rq, handle_of(j), at, &t, err);

    if (rc == 0)
        *out = dp_tensor_value(t);
    return rc;
}

static int generator_from_json(request *rq, const cJSON *j, const json_path *at, dp_value *out,
                               dp_error *err)
{
    *out = (dp_value){DP_TAG_GENERATOR, 0, {0}};
    return run_pin_generator(rq, (uint64_t)j->valuedouble, at, &out->u.g, err);
}

static int object_value_from_json(request *rq, const cJSON *j, const json_path *at, dp_value *out,
                                  dp_error *err)
{
    dp_object *o;
    int rc = run_pin_object(rq, (uint64_t)j->valuedouble, at, &o, err);

    if (rc == 0)
        *out = dp_object_value(o);
    return rc;
}

static int int_value_from_json(request *rq, const cJSON *j, const json_path *at, dp_value *out,
                               dp_error *err)
{
    (void)rq;
    *out = dp_int(0);
    return int_from_json(j, at, &out->u.i, err);
}

static int float_value_from_json(request *rq, const cJSON *j, const json_path *at, dp_value *out,
                                 dp_error *err)
{
    (void)rq;
    *out = dp_double(0);
    return double_from_json(j, at, &out->u.d, err);
}

static int literal_from_json(request *rq, const cJSON *j, const json_path *at, dp_value *out,
                             dp_error *err)
{
    dp_tensor *t;
    int rc = tensor_from_json(rq, j, at, &t, err);

    if (rc == 0)
        rc = run_keep(rq, t, err);
    if (rc == 0)
        *out = dp_tensor_value(t);
    return rc;
}

/* For each kind of value that is written as an object: the member that tells the kind, and the
 * function that reads this member. */
static const struct {
    const char *name;
    int (*read)(request *rq, const cJSON *j, const json_path *at, dp_value *out, dp_error *err);
} objects[] = {
    {"tensor", handle_from_json},       {"int", int_value_from_json},
    {"float", float_value_from_json},   {"complex", complex_from_json},
    {"generator", generator_from_json}, {"object", object_value_from_json},
};

static int object_from_json(request *rq, const cJSON *j, const json_path *at, dp_value *out,
                            dp_error *err)
{
    const cJSON *m;

    cJSON_ArrayForEach(m, j)
    {
        json_path inside = {at, m->string, 0};
        for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
            if (same_name(objects[i].name, m->string))
                return objects[i].read(rq, m, &inside, out, err);
        if (same_name(m->string, "ref"))
            return json_path_fail(err, DP_EVALUE, at, "ref is for the steps of a program");
    }
    return literal_from_json(rq, j, at, out, err);
}

int value_from_json(request *rq, const cJSON *j, const json_path *at, dp_value *out, dp_error *err)
{
    *out = dp_none();
    switch (json_type(j)) {
    case cJSON_Object:
        return object_from_json(rq, j, at, out, err);
    case cJSON_Array:
        return list_from_json(rq, j, at, out, err);
    case cJSON_String:
        return string_from_json(rq, j->valuestring, out, err);
    case cJSON_True:
    case cJSON_False:
        *out = dp_bool(json_type(j) == cJSON_True);
        return 0;
    case cJSON_Number:
        *out = json_is_int(j) ? dp_int((int64_t)j->valuedouble) : dp_double(j->valuedouble);
        return 0;
    default:
        return 0;
    }
}

int key_from_json(const cJSON *j, const json_path *at, dp_key *out, dp_error *err)
{
    dp_error why = DP_ERROR_INIT;

    if (dp_key_lookup(j->valuestring, out, &why) < 0)
        return json_path_fail(err, why.code, at, "%s", why.message);
    if (dp_key_is_alias(*out))
        return json_path_fail(err, DP_EVALUE, at,
                              "'%s' is an alias, expected a key that calls go to", j->valuestring);
    return 0;
}
