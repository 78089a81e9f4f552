/* into.c -- param "into": handles below zero that the client chooses for the outputs of a request.
 *
 * The numbers are reserved before the operator or the program runs.  If the request fails, whatever
 * the reason, they become failed: a later request that uses one of them fails with the same
 * error. */
#include "methods.h"
#include <string.h>

enum { ID_BYTES = 100 }; /* a failure keeps the id of its request if that is not longer */

/* -- reading -- */

/* Is `into` one number instead of an array of them? */
static bool is_single(const cJSON *into)
{
    return json_type(into) == cJSON_Number;
}

const cJSON *into_first(const cJSON *into)
{
    return into == NULL || is_single(into) ? into : into->child;
}

const cJSON *into_next(const cJSON *into, const cJSON *entry)
{
    return entry == NULL || is_single(into) ? NULL : entry->next;
}

bool into_is_given(const cJSON *entry)
{
    return entry != NULL && json_type(entry) != cJSON_NULL;
}

static bool is_handle(const cJSON *j)
{
    return json_is_int(j) && j->valuedouble < 0;
}

/* Call `fn` for the handles in `j`, at most `most` ones.  Returns how many more are allowed. */
static size_t each_handle(const cJSON *j, size_t most, void (*fn)(void *arg, uint64_t handle),
                          void *arg)
{
    const cJSON *item;

    if (is_handle(j) && most > 0) {
        fn(arg, handle_of(j));
        return most - 1;
    }
    if (json_type(j) == cJSON_Array)
        cJSON_ArrayForEach(item, j) most = each_handle(item, most, fn, arg);
    return most;
}

/* -- checking -- */

static int check_entry(const cJSON *entry, const json_path *at, dp_error *err)
{
    json_path inside = {at, NULL, 0};
    const cJSON *item;

    if (json_type(entry) == cJSON_Number && !is_handle(entry))
        return json_path_fail(err, DP_EPARAMS, at,
                              "expected a handle below 0, null or an array but got %.15g",
                              entry->valuedouble);
    if (json_type(entry) != cJSON_Array)
        return 0;
    cJSON_ArrayForEach(item, entry)
    {
        if (check_entry(item, &inside, err) < 0)
            return DP_EPARAMS;
        inside.index++;
    }
    return 0;
}

int into_check(const cJSON *into, int how, dp_error *err)
{
    static const char *const names[] = {[RETURN_DATA] = "data", [RETURN_ATTACHMENT] = "attachment"};
    json_path at = {NULL, "into", 0};

    if (into == NULL)
        return 0;
    if (how != RETURN_HANDLE)
        return json_path_fail(
            err, DP_EPARAMS, &at,
            "return is '%s': outputs get no handles, so there is nothing to number", names[how]);
    return check_entry(into, &at, err);
}

int into_check_count(const cJSON *into, uint32_t n, const char *what, dp_error *err)
{
    json_path at = {NULL, "into", 0};
    uint32_t given = 0;

    if (into == NULL)
        return 0;
    for (const cJSON *e = into_first(into); e != NULL; e = into_next(into, e))
        given++;
    if (given == n)
        return 0;
    return json_path_fail(err, DP_EVALUE, &at, "%u %s, but %s has %u %s", given,
                          given == 1 ? "entry" : "entries", what, n, n == 1 ? "output" : "outputs");
}

/* Compare an entry of "into" with the array of `n` tensors or values that it is for. */
static int check_list(const cJSON *entry, const dp_value *list, const json_path *at, dp_error *err)
{
    static const dp_value tensor = {DP_TAG_TENSOR, 0, {0}}, number = {DP_TAG_INT, 0, {0}};
    json_path inside = {at, NULL, 0};
    const cJSON *item;

    if (json_type(entry) != cJSON_Array)
        return json_path_fail(err, DP_EVALUE, at,
                              "the output is a list: expected an array of %u entries or null but "
                              "got %.15g",
                              list->len, entry->valuedouble);
    if ((uint32_t)cJSON_GetArraySize(entry) != list->len)
        return json_path_fail(err, DP_EVALUE, at, "%d entries, but the output is a list of %u",
                              cJSON_GetArraySize(entry), list->len);
    cJSON_ArrayForEach(item, entry)
    {
        const dp_value *v = list->tag == DP_TAG_LIST      ? &list->u.values[inside.index]
                            : list->tag == DP_TAG_TENSORS ? &tensor
                                                          : &number;
        if (into_check_value(item, v, &inside, err) < 0)
            return err->code;
        inside.index++;
    }
    return 0;
}

int into_check_value(const cJSON *entry, const dp_value *v, const json_path *at, dp_error *err)
{
    if (!into_is_given(entry))
        return 0;
    if (v->tag == DP_TAG_NONE) /* the number stays free */
        return 0;
    if (v->tag == DP_TAG_TENSOR && json_type(entry) == cJSON_Number)
        return 0;
    if (v->tag == DP_TAG_TENSOR)
        return json_path_fail(err, DP_EVALUE, at,
                              "the output is one tensor: expected a number below 0 or null but got "
                              "an array");
    if (v->tag >= DP_TAG_TENSORS)
        return check_list(entry, v, at, err);
    return json_path_fail(err, DP_EVALUE, at,
                          "the output is no tensor and gets no handle of its client: expected null "
                          "but got %s",
                          json_kind(entry));
}

/* -- reserving -- */

static int reserve_entry(request *rq, const cJSON *entry, const json_path *at, dp_error *err)
{
    json_path inside = {at, NULL, 0};
    dp_error why = DP_ERROR_INIT;
    const cJSON *item;

    if (is_handle(entry)) {
        if (session_reserve(rq->session, handle_of(entry), rq->run->number, &why) < 0)
            return json_path_fail(err, why.code, at, "%s", why.message);
        rq->run->n_reserved++;
        return 0;
    }
    if (json_type(entry) != cJSON_Array)
        return 0;
    cJSON_ArrayForEach(item, entry)
    {
        if (reserve_entry(rq, item, &inside, err) < 0)
            return err->code;
        inside.index++;
    }
    return 0;
}

int into_reserve(request *rq, const cJSON *into, dp_error *err)
{
    if (into == NULL)
        return 0;
    rq->run->into = into;
    return reserve_entry(rq, into, &(json_path){NULL, "into", 0}, err);
}

typedef struct unreserving {
    struct session *session;
    uint64_t owner;
} unreserving;

static void unreserve(void *arg, uint64_t handle)
{
    const unreserving *u = arg;

    session_unreserve(u->session, handle, u->owner);
}

void into_unreserve(const run *r, struct session *s)
{
    unreserving u = {s, r->number};

    if (r->n_reserved > 0)
        each_handle(r->into, SIZE_MAX, unreserve, &u);
}

/* -- failing -- */

/* Return the param "into" of `f`; NULL: its method takes none, or it has none. */
static const cJSON *into_of(const failed_request *f)
{
    const cJSON *into = f->method != NULL ? param(f->params, "into") : NULL;

    for (unsigned i = 0; into != NULL && i < f->method->params->n_members; i++)
        if (same_name(f->method->params->members[i].name, "into"))
            return into;
    return NULL;
}

/* Make the failure of request `f`: that of the handle for which it failed, or a new one. */
static failure *failure_of(const failed_request *f, const run *r, const dp_error *err)
{
    dp_error own = *err;
    jw w;

    if (r != NULL && r->cause != NULL)
        return failure_ref(r->cause);
    if (dp_error_name(own.code) == NULL)
        own.code = DP_EVALUE; /* params that do not fit have no type of their own */
    jw_init(&w);
    if (cJSON_IsString(f->id))
        jw_str(&w, f->id->valuestring);
    else if (f->id != NULL && json_is_int(f->id))
        jw_int(&w, (int64_t)f->id->valuedouble);
    else
        jw_null(&w);
    jw_text(&w, "", 1); /* the NUL */
    bool fits = !w.failed && w.len <= ID_BYTES;
    failure *made = failure_new(&own, f->method->name, fits ? w.s : "null");
    jw_fini(&w);
    return made;
}

typedef struct failing {
    struct session *session;
    uint64_t owner;
    failure *failure;
} failing;

static void fail_handle(void *arg, uint64_t handle)
{
    const failing *f = arg;

    session_fail(f->session, handle, f->owner, f->failure);
}

void into_fail(request *rq, const failed_request *failed, const run *r, const dp_error *err)
{
    const cJSON *into = rq->session != NULL ? into_of(failed) : NULL;

    if (into == NULL)
        return;
    failing f = {rq->session, rq->run != NULL ? rq->run->number : 0, failure_of(failed, r, err)};
    if (f.failure == NULL)
        return; /* no memory: the handles are free */
    each_handle(into, LIMIT_SIZE(SESSION_FAILED), fail_handle, &f);
    failure_unref(f.failure);
}
