/* proto.c -- checks params against the tables made from proto/, stores them in the method's params
 * struct, and reads members.
 *
 * An error names the path in the params, the values expected and the value given: "args[1].dtype:
 * expected one of 'uint8', ... but got 'flaot32'". */
#include "methods.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_SHOWN = 100 };

/* -- JSON paths -- */

static size_t json_path_print(const json_path *at, char *buf, size_t bytes)
{
    size_t n = at->up != NULL ? json_path_print(at->up, buf, bytes) : 0;

    if (n >= bytes)
        return bytes;
    if (at->name == NULL)
        n += (size_t)snprintf(buf + n, bytes - n, "[%zu]", at->index);
    else
        n += (size_t)snprintf(buf + n, bytes - n, n ? ".%.*s" : "%.*s", NAME_SHOWN, at->name);
    return n;
}

int json_path_fail(dp_error *err, int code, const json_path *at, const char *format, ...)
{
    char where[512] = "params", what[DP_ERROR_MESSAGE_MAX];
    va_list ap;

    if (at != NULL)
        json_path_print(at, where, sizeof(where));
    va_start(ap, format);
    vsnprintf(what, sizeof(what), format, ap);
    va_end(ap);
    return dp_error_set(err, code, "%s: %s", where, what);
}

/* -- names -- */

const char *nearest_name(const char *name, const char *const *names, size_t n)
{
    const char *best = NULL;
    size_t least = strlen(name) / 2 + 2; /* a name at a larger distance was not meant */

    for (size_t i = 0; i < n; i++) {
        size_t d = dp_edit_distance(name, names[i]);
        if (d < least) {
            least = d;
            best = names[i];
        }
    }
    return best;
}

/* -- kinds -- */

static const char *const kind_names[] = {"null",   "bool",  "integer", "number",
                                         "string", "array", "object"};
enum { KINDS = sizeof(kind_names) / sizeof(kind_names[0]) };

static unsigned kinds_of(const cJSON *j)
{
    switch (json_type(j)) {
    case cJSON_True:
    case cJSON_False:
        return PROTO_BOOL;
    case cJSON_String:
        return PROTO_STRING;
    case cJSON_Array:
        return PROTO_ARRAY;
    case cJSON_Object:
        return PROTO_OBJECT;
    case cJSON_Number:
        return json_is_int(j) ? PROTO_INT | PROTO_NUMBER : PROTO_NUMBER;
    default:
        return PROTO_NULL;
    }
}

const char *json_kind(const cJSON *j)
{
    unsigned kinds = kinds_of(j);
    int i = 0;

    while (!(kinds & PROTO_NUMBER) && !(kinds & 1u << i))
        i++;
    return kinds & PROTO_NUMBER ? "number" : kind_names[i];
}

static int fail_kind(unsigned kinds, const cJSON *j, const json_path *at, dp_error *err)
{
    char expected[128] = "";
    size_t n = 0;

    for (int i = 0; i < KINDS; i++)
        if (kinds & 1u << i)
            n += (size_t)snprintf(expected + n, sizeof(expected) - n, n ? " or %s" : "%s",
                                  kind_names[i]);
    if (cJSON_IsNumber(j))
        return json_path_fail(err, DP_EPARAMS, at, "expected %s but got %.15g", expected,
                              j->valuedouble);
    return json_path_fail(err, DP_EPARAMS, at, "expected %s but got %s", expected, json_kind(j));
}

/* -- the check -- */

static int check_enum(const proto_type *t, const cJSON *j, const json_path *at, dp_error *err)
{
    char list[512];
    size_t n = 0;

    for (unsigned i = 0; i < t->n_values; i++)
        if (strcmp(t->values[i], j->valuestring) == 0)
            return 0;
    list[0] = '\0';
    for (unsigned i = 0; i < t->n_values && n < sizeof(list); i++)
        n += (size_t)snprintf(list + n, sizeof(list) - n, i ? ", '%s'" : "'%s'", t->values[i]);
    return json_path_fail(err, DP_EPARAMS, at, "expected one of %s but got '%.*s'", list,
                          NAME_SHOWN, j->valuestring);
}

/* Members of a tensor that a user of PyTorch may expect, and the reason why there is no such
 * member. */
static const struct {
    const char *name, *instead;
} pytorch_members[] = {
    {"names", "dimensions have no names"},
    {"requires_grad", "only tensor.create takes it"},
    {"grad", "grad.set gives a tensor a gradient"},
    {"layout", "every tensor is strided"},
    {"memory_format", "'strides' say it"},
    {"pin_memory", "nothing is pinned"},
    {"is_conj", "aten::_conj makes such a view"},
    {"is_neg", "aten::_neg_view makes such a view"},
    {"qscheme", "no tensor is quantized"},
};

static const char *instead_of(const char *name)
{
    for (size_t i = 0; i < sizeof(pytorch_members) / sizeof(pytorch_members[0]); i++)
        if (strcmp(pytorch_members[i].name, name) == 0)
            return pytorch_members[i].instead;
    return NULL;
}

static int fail_unknown(const proto_type *t, const char *name, const json_path *at, dp_error *err)
{
    const char *names[64], *near;
    size_t n = 0;

    while (n < t->n_members && n < sizeof(names) / sizeof(names[0])) {
        names[n] = t->members[n].name;
        n++;
    }
    const char *instead = instead_of(name);
    if (instead != NULL)
        return json_path_fail(err, DP_EPARAMS, at, "unknown member '%s': %s", name, instead);
    near = nearest_name(name, names, n);
    if (near == NULL)
        return json_path_fail(err, DP_EPARAMS, at, "unknown member '%.*s'", NAME_SHOWN, name);
    return json_path_fail(err, DP_EPARAMS, at, "unknown member '%.*s', did you mean '%s'?",
                          NAME_SHOWN, name, near);
}

/* Return the member of type `t` that has the name of `m`; NULL: none. */
static const proto_member *member_find(const proto_type *t, const cJSON *m)
{
    for (unsigned i = 0; i < t->n_members; i++)
        if (same_name(t->members[i].name, m->string))
            return &t->members[i];
    return NULL;
}

static int check_missing(const proto_type *t, uint64_t given, const json_path *at, dp_error *err)
{
    for (unsigned i = 0; i < t->n_members && t->members[i].required; i++)
        if (!(given & (uint64_t)1 << i))
            return json_path_fail(err, DP_EPARAMS, at, "missing member '%s'", t->members[i].name);
    return 0;
}

/* -- params as a struct -- */

static int enum_index(const proto_type *t, const char *value)
{
    int i = 0;

    while (i + 1 < (int)t->n_values && strcmp(t->values[i], value) != 0)
        i++;
    return i;
}

/* Store the checked value `j` in the params struct `out`, at the member's offset. */
static void fill(const proto_member *m, const cJSON *j, void *out)
{
    void *to = (char *)out + m->offset;

    if (m->has != 0)
        *(bool *)((char *)out + m->has) = true;
    switch (m->fill) {
    case PARAM_INT:
        *(int64_t *)to = (int64_t)j->valuedouble;
        break;
    case PARAM_BOOL:
        *(bool *)to = cJSON_IsTrue(j);
        break;
    case PARAM_ENUM:
        *(int *)to = enum_index(m->type, j->valuestring);
        break;
    case PARAM_STR:
        *(const char **)to = j->valuestring;
        break;
    default:
        *(const cJSON **)to = j;
    }
}

void proto_fill(const proto_type *t, const cJSON *object, void *out)
{
    const cJSON *j;

    cJSON_ArrayForEach(j, object)
    {
        const proto_member *m = member_find(t, j);
        if (m != NULL)
            fill(m, j, out);
    }
}

/* Check object `j` and store its members in the struct `out`; NULL: only check. */
static int check_object(const proto_type *t, const cJSON *j, const json_path *at, void *out,
                        dp_error *err)
{
    /* bit i: member i was given.  64 bits are enough for the required members, which come first */
    uint64_t given = 0;
    const cJSON *m;

    cJSON_ArrayForEach(m, j)
    {
        json_path inside = {at, m->string, 0};
        const proto_member *member = member_find(t, m);
        const proto_type *type = member != NULL ? member->type : t->items;
        if (member == NULL && t->closed)
            return fail_unknown(t, m->string, at, err);
        if (type != NULL && proto_check(type, m, &inside, err) < 0)
            return DP_EPARAMS;
        if (member != NULL && member - t->members < 64)
            given |= (uint64_t)1 << (member - t->members);
        if (member != NULL && out != NULL)
            fill(member, m, out);
    }
    return check_missing(t, given, at, err);
}

static int check_items(const proto_type *t, const cJSON *j, const json_path *at, dp_error *err)
{
    const cJSON *item;
    json_path inside = {at, NULL, 0};

    cJSON_ArrayForEach(item, j)
    {
        if (proto_check(t->items, item, &inside, err) < 0)
            return DP_EPARAMS;
        inside.index++;
    }
    return 0;
}

static const proto_type *choose(const proto_type *t, const cJSON *j)
{
    const cJSON *m;

    for (unsigned i = 0; i + 1 < t->n_choices; i++) {
        const proto_type *c = t->choices[i];
        for (m = c->n_members > 0 ? j->child : NULL; m != NULL; m = m->next)
            if (same_name(c->members[0].name, m->string))
                return c;
    }
    return t->choices[t->n_choices - 1];
}

int proto_check(const proto_type *t, const cJSON *j, const json_path *at, dp_error *err)
{
    unsigned kinds = kinds_of(j);

    if (t->kinds != 0 && !(t->kinds & kinds))
        return fail_kind(t->kinds, j, at, err);
    if (kinds == PROTO_OBJECT)
        return check_object(t->n_choices > 0 ? choose(t, j) : t, j, at, NULL, err);
    if (kinds == PROTO_ARRAY && t->items != NULL)
        return check_items(t, j, at, err);
    if (kinds == PROTO_STRING && t->n_values > 0)
        return check_enum(t, j, at, err);
    if ((kinds & PROTO_NUMBER) && t->bounded && j->valuedouble < (double)t->minimum)
        return json_path_fail(err, DP_EPARAMS, at, "expected at least %" PRId64 " but got %.15g",
                              t->minimum, j->valuedouble);
    return 0;
}

int proto_read(const proto_type *t, const cJSON *params, void *out, dp_error *err)
{
    if (json_type(params) != cJSON_Object)
        return proto_check(t, params, NULL, err);
    return check_object(t, params, NULL, out, err);
}

/* -- members of objects that were checked -- */

const cJSON *param(const cJSON *params, const char *name)
{
    const cJSON *m;

    if (params == NULL || params->type != cJSON_Object) /* the items of an array have no names */
        return NULL;
    for (m = params->child; m != NULL && !same_name(m->string, name);)
        m = m->next;
    return m;
}

const cJSON *params_find(const cJSON *params, const char *const *names, size_t n,
                         const cJSON **found)
{
    const cJSON *m, *unknown = NULL;

    dp_zero_n(found, n, sizeof(*found));
    cJSON_ArrayForEach(m, params)
    {
        size_t i = 0;
        while (i < n && !same_name(names[i], m->string))
            i++;
        if (i < n)
            found[i] = m;
        else if (unknown == NULL)
            unknown = m;
    }
    return unknown;
}

const char *param_str(const cJSON *params, const char *name)
{
    const cJSON *j = param(params, name);
    return j != NULL ? j->valuestring : NULL; /* NULL if `j` is not a string */
}

int64_t param_int(const cJSON *params, const char *name, int64_t absent)
{
    const cJSON *j = param(params, name);
    return j != NULL ? (int64_t)j->valuedouble : absent;
}
