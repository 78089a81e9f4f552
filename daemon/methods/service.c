/* service.c -- server.*, session.*, call.cancel and rpc.discover. */
#include "methods.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PROTOCOL_MIN = 1, PROTOCOL_MAX = 1, RUNNING_MAX = 256, SHUTDOWN_DRAIN_MS = 5000 };

/* The param `name` is a time; refuse one that is longer than the limit of the same name. */
static int check_ms(const char *name, int64_t ms, int64_t most, dp_error *err)
{
    const place at = {NULL, name, 0};

    if (ms <= most)
        return 0;
    return place_fail(err, DP_EPARAMS, &at, "expected at most %lld (%s) but got %lld",
                      (long long)most, name, (long long)ms);
}

/* -- server.hello -- */

static void write_limits(jw *w, const int64_t *limits)
{
#define LIBRARY_(NAME, name, value) {#name, DP_LIMIT_##NAME},
    static const struct {
        const char *name;
        int64_t value;
    } library[] = {DP_LIMIT_MAP(LIBRARY_) DP_PROGRAM_LIMIT_MAP(LIBRARY_)};
#undef LIBRARY_

    jw_key(w, "limits");
    jw_object(w);
    for (size_t i = 0; i < LIMITS; i++)
        member_int(w, limit_names[i], limits[i]);
    for (size_t i = 0; i < sizeof(library) / sizeof(library[0]); i++)
        member_int(w, library[i].name, library[i].value);
    jw_object_end(w);
}

static void write_identity(jw *w)
{
    member_str(w, "server", "dispatchd");
    member_str(w, "version", DISPATCHD_VERSION);
    jw_key(w, "protocol");
    jw_object(w);
    member_int(w, "min", PROTOCOL_MIN);
    member_int(w, "max", PROTOCOL_MAX);
    jw_object_end(w);
    jw_key(w, "abi");
    jw_object(w);
    member_int(w, "major", DP_ABI_MAJOR);
    member_int(w, "minor", DP_ABI_MINOR);
    jw_object_end(w);
    member_int(w, "pid", getpid());
}

int server_hello(request *rq, const cJSON *params, jw *w, dp_error *err)
{
    int64_t protocol = param_int(params, "protocol", PROTOCOL_MAX);
    int64_t linger = param_int(params, "linger_ms", -1);
    const char *key = param_str(params, "session_key");
    server_facts facts;

    if (protocol < PROTOCOL_MIN || protocol > PROTOCOL_MAX)
        return dp_error_set(err, DP_EVALUE, "protocol %lld, but this daemon speaks %d to %d",
                            (long long)protocol, PROTOCOL_MIN, PROTOCOL_MAX);
    if (check_ms("linger_ms", linger, LIMIT_LINGER_MS, err) < 0)
        return DP_EPARAMS;
    if (key != NULL && rq->daemon->join(rq->conn, key, err) < 0)
        return err->code;
    struct session *s = rq->daemon->session(rq->conn);
    if (s == NULL)
        return dp_error_set(err, DP_ECANCELLED, "the connection is closed");
    if (linger >= 0)
        session_set_linger(s, linger);
    rq->daemon->facts(rq->conn, &facts);
    jw_object(w);
    write_identity(w);
    member_int(w, "session", session_id(s));
    member_str(w, "session_key", session_key(s));
    write_limits(w, facts.limits);
    jw_key(w, "features");
    jw_array(w);
    jw_str(w, "attachments");
    jw_str(w, "batch");
    jw_str(w, "program");
    jw_array_end(w);
    jw_object_end(w);
    session_unref(s);
    return 0;
}

/* -- server.status -- */

static void write_running(jw *w, dp_registry *reg)
{
    dp_running calls[RUNNING_MAX];
    char key[DP_KEY_NAME_MAX];
    unsigned long long session;
    size_t n = dp_registry_running(reg, calls, RUNNING_MAX);

    jw_key(w, "running");
    jw_array(w);
    for (size_t i = 0; i < n && i < RUNNING_MAX; i++) {
        const dp_running *r = &calls[i];
        jw_object(w);
        member_str(w, "label", r->label);
        if (sscanf(r->label, "session %llu", &session) == 1)
            member_int(w, "session", session);
        member_str(w, "op", r->op);
        member_str(w, "key", dp_key_name(r->key, key));
        member_str(w, "plugin", r->plugin);
        member_int(w, "generation", r->generation);
        member_int(w, "depth", r->depth);
        member_int(w, "ms", r->nanos / 1000000);
        jw_object_end(w);
    }
    jw_array_end(w);
}

/* Member "account": what each holder holds. */
static void write_held(jw *w, const dp_held *held)
{
    jw_key(w, "account");
    jw_object(w);
    for (int h = 0; h < DP_HOLDERS; h++) {
        jw_key(w, dp_holder_name(h));
        jw_object(w);
        member_int(w, "count", (int64_t)held[h].count);
        member_int(w, "bytes", (int64_t)held[h].bytes);
        jw_object_end(w);
    }
    jw_object_end(w);
}

/* The members that are counts. */
static void write_counts(jw *w, const server_facts *f, const dp_held *held)
{
    dp_registry_stats r;
    dp_tensor_stats t;

    dp_registry_stats_get(f->reg, &r);
    dp_tensor_stats_get(&t);
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {
        {"uptime_ms", f->uptime_ms},
        {"sessions", f->sessions},
        {"connections", f->connections},
        {"tensors", held[DP_HOLDER_TENSORS].count},
        {"live_tensors", t.tensors},
        {"storages", t.storages},
        {"bytes", t.bytes},
        {"bytes_peak", t.bytes_peak},
        {"plugins", r.plugins},
        {"ops", r.ops},
        {"kernels", r.kernels},
        {"backends", r.backends},
        {"draining", r.draining},
        {"snapshots", r.snapshots},
        {"calls", r.calls},
        {"requests", f->requests},
        {"calls_inline", f->calls_inline},
        {"calls_worker", f->calls_worker},
        {"demotions", f->demotions},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        member_int(w, rows[i].name, rows[i].value);
}

int server_status(request *rq, const cJSON *params, jw *w, dp_error *err)
{
    server_facts f;
    dp_held held[DP_HOLDERS];

    (void)params;
    rq->daemon->facts(rq->conn, &f);
    rq->daemon->held(rq->conn, held);
    jw_object(w);
    write_counts(w, &f, held);
    write_held(w, held);
    write_running(w, f.reg);
    int rc = plugins_kept(rq, f.reg, w, err);
    jw_object_end(w);
    return rc;
}

int server_shutdown_method(request *rq, const cJSON *params, jw *w, dp_error *err)
{
    int64_t drain_ms = param_int(params, "drain_ms", SHUTDOWN_DRAIN_MS);

    if (check_ms("drain_ms", drain_ms, LIMIT_DRAIN_MS, err) < 0)
        return DP_EPARAMS;
    rq->daemon->shutdown(rq->conn, drain_ms);
    jw_object(w);
    member_int(w, "drain_ms", drain_ms);
    jw_object_end(w);
    return 0;
}

/* -- call.cancel, rpc.discover -- */

int call_cancel(request *rq, const cJSON *params, jw *w, dp_error *err)
{
    bool waiting;
    int rc = rq->daemon->cancel(rq, param(params, "id"), &waiting, err);

    if (rc < 0)
        return rc;
    jw_object(w);
    member_bool(w, "waiting", waiting);
    jw_object_end(w);
    return 0;
}

int rpc_discover(request *rq, const cJSON *params, jw *w, dp_error *err)
{
    (void)rq, (void)params, (void)err;
    jw_raw(w, proto_openrpc, strlen(proto_openrpc));
    return 0;
}

/* -- session.get, session.set: state of this connection -- */

static const char *const fallback_names[] = {[DP_FALLBACK_ALLOW] = "allow",
                                             [DP_FALLBACK_REPORT] = "report",
                                             [DP_FALLBACK_FORBID] = "forbid"};

/* Members of the connection's state. */
static void write_state(request *rq, jw *w, const conn_state *s)
{
    uint64_t seed;

    member_bool(w, "grad_enabled", !s->mode.no_grad && !s->mode.inference);
    member_bool(w, "inference", s->mode.inference);
    keyset_to_json(w, "include", s->include);
    keyset_to_json(w, "exclude", s->exclude);
    member_str(w, "fallback", fallback_names[s->mode.fallback]);
    member_int(w, "num_threads", s->num_threads);
    if (dp_generators_initial_seed(session_default_generators(rq->session), &seed))
        member_seed(w, seed);
}

/* Read the keys that member `name` lists into *out, which is unchanged when there is no such
 * member. */
static int keys_from_json(const cJSON *params, const char *name, dp_keyset *out, dp_error *err)
{
    const cJSON *list = param(params, name), *item;
    dp_keyset set = {0};
    place at = {NULL, name, 0}, inside = {&at, NULL, 0};

    if (list == NULL)
        return 0;
    cJSON_ArrayForEach(item, list)
    {
        dp_key k;
        int rc = key_from_json(item, &inside, &k, err);
        if (rc < 0)
            return rc;
        set = dp_keyset_or(set, dp_keyset_of(k));
        inside.index++;
    }
    *out = set;
    return 0;
}

/* Read what is given of the mode into *m. */
static int mode_from_json(const cJSON *params, dp_mode *m, dp_error *err)
{
    const cJSON *autocast = param(params, "autocast");
    const char *fallback = param_str(params, "fallback");

    if (autocast != NULL && param_bool(autocast, "enabled"))
        return dp_error_set(err, DP_ENOTFOUND,
                            "autocast: plugin 'autocast' brings it, which is not loaded");
    m->size = (uint32_t)sizeof(*m);
    if (param(params, "grad_enabled") != NULL)
        m->no_grad = !param_bool(params, "grad_enabled");
    if (param(params, "inference") != NULL)
        m->inference = param_bool(params, "inference");
    for (uint8_t i = 0; fallback != NULL && i < sizeof(fallback_names) / sizeof(*fallback_names);
         i++)
        if (strcmp(fallback, fallback_names[i]) == 0)
            m->fallback = i;
    return 0;
}

int session_get_method(request *rq, const cJSON *params, jw *w, dp_error *err)
{
    dp_held held[DP_HOLDERS];

    (void)params, (void)err;
    dp_account_held(session_account(rq->session), held);
    jw_object(w);
    write_state(rq, w, rq->state);
    write_held(w, held);
    jw_object_end(w);
    return 0;
}

int session_set_method(request *rq, const cJSON *params, jw *w, dp_error *err)
{
    conn_state *state = rq->state, next = *state;
    dp_generators *generators = session_default_generators(rq->session);
    uint64_t seed = 0;

    if (keys_from_json(params, "include", &next.include, err) < 0 ||
        keys_from_json(params, "exclude", &next.exclude, err) < 0 ||
        mode_from_json(params, &next.mode, err) < 0 || seed_from_json(params, &seed, err) < 0)
        return err->code;
    if (param(params, "seed") != NULL && session_draws(rq->session) && !run_is_quick(rq, SIZE_MAX))
        return DP_EWORKER;
    int64_t threads = param_int(params, "num_threads", next.num_threads);
    if (threads > LIMIT_SESSION_THREADS)
        return dp_error_set(err, DP_EPARAMS,
                            "num_threads is %lld, the most is %d (session_threads)",
                            (long long)threads, LIMIT_SESSION_THREADS);
    next.num_threads = (int)threads;
    *state = next;
    if (param(params, "seed") != NULL)
        dp_generators_seed(generators, seed);
    jw_object(w);
    write_state(rq, w, state);
    jw_object_end(w);
    return 0;
}
