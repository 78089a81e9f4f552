/* service.c -- server.*, session.*, call.cancel and rpc.discover. */
#include "methods.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    PROTOCOL_MIN = 1,
    PROTOCOL_MAX = 1,
    RUNNING_MAX = 4 * WORKERS_MOST,
    SHUTDOWN_DRAIN_MS = 5000
};

/* Check that the time `ms`, param `name`, is at most `most`, the limit of the same name. */
static int check_ms(const char *name, int64_t ms, int64_t most, dp_error *err)
{
    const json_path at = {NULL, name, 0};

    if (ms <= most)
        return 0;
    return dp_error_limit(json_path_fail(err, DP_EPARAMS, &at,
                                         "expected at most %lld (%s) but got %lld", (long long)most,
                                         name, (long long)ms),
                          name, (uint64_t)most, (uint64_t)ms);
}

/* -- server.hello -- */

static void write_limits(jw *w)
{
    jw_key(w, "limits");
    jw_object(w);
    for (size_t i = 0; i < LIMITS; i++)
        member_int(w, limit_names[i], atomic_load(&limits_in_force[i]));
    for (size_t i = 0; i < LIBRARY_LIMITS; i++)
        member_int(w, library_limits[i].name, library_limits[i].value);
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
    member_int(w, "draft", DP_ABI_DRAFT);
    jw_object_end(w);
    member_int(w, "pid", getpid());
}

int server_hello(request *rq, const server_hello_params *p, jw *w, dp_error *err)
{
    int64_t protocol = p->has_protocol ? p->protocol : PROTOCOL_MAX;

    if (protocol < PROTOCOL_MIN || protocol > PROTOCOL_MAX)
        return dp_error_set(err, DP_EVALUE,
                            "protocol: expected a version from %d to %d but got %lld", PROTOCOL_MIN,
                            PROTOCOL_MAX, (long long)protocol);
    if (check_ms("linger_ms", p->linger_ms, LIMIT(LINGER_MS), err) < 0)
        return DP_EPARAMS;
    if (p->session_key != NULL && rq->daemon->join(rq->conn, p->session_key, err) < 0)
        return err->code;
    struct session *s = rq->daemon->session(rq->conn);
    if (s == NULL)
        return dp_error_set(err, DP_ECANCELLED, "the connection is closed");
    if (p->has_linger_ms)
        session_set_linger(s, p->linger_ms);
    jw_object(w);
    write_identity(w);
    member_int(w, "session", session_id(s));
    member_str(w, "session_key", session_key(s));
    write_limits(w);
    jw_key(w, "features");
    jw_array(w);
    jw_str(w, "attachments");
    jw_str(w, "batch");
    jw_str(w, "fds");
    jw_str(w, "into");
    jw_str(w, "open");
    jw_str(w, "program");
    jw_array_end(w);
    jw_object_end(w);
    session_unref(s);
    return 0;
}

int server_open(request *rq, jw *w, dp_error *err)
{
    int rc = rq->daemon->open(rq, &rq->sent_fd, err);

    if (rc < 0)
        return rc;
    rq->sends_fd = true;
    jw_object(w);
    member_int(w, "fd", 0);
    member_int(w, "session", session_id(rq->session));
    jw_object_end(w);
    return 0;
}

/* -- server.status -- */

/* Write the members that describe the running kernel. */
static void write_call(jw *w, const dp_running *r)
{
    char key[DP_KEY_NAME_MAX];

    member_str(w, "op", r->op);
    member_str(w, "key", dp_key_name(r->key, key));
    member_str(w, "plugin", r->plugin);
    member_int(w, "generation", r->generation);
}

static void write_running(jw *w, const dp_running *calls, size_t n)
{
    unsigned long long session;

    jw_key(w, "running");
    jw_array(w);
    for (const dp_running *r = calls; r < calls + n; r++) {
        jw_object(w);
        member_str(w, "label", r->label);
        if (sscanf(r->label, "session %llu", &session) == 1)
            member_int(w, "session", session);
        write_call(w, r);
        member_int(w, "depth", r->depth);
        member_int(w, "ms", r->nanos / 1000000);
        jw_object_end(w);
    }
    jw_array_end(w);
}

/* Write member "stuck": the method that each stuck worker (executor.c) runs, and the innermost
 * kernel that the worker runs, looked up among the `n` running `calls`. */
static void write_stuck(request *rq, jw *w, const dp_running *calls, size_t n)
{
    stuck_call stuck[WORKERS_MOST];
    size_t n_stuck = rq->daemon->stuck(rq->conn, stuck);

    jw_key(w, "stuck");
    jw_array(w);
    for (const stuck_call *s = stuck; s < stuck + n_stuck; s++) {
        const dp_running *in = NULL;
        for (size_t i = 0; i < n; i++)
            in = calls[i].thread == s->thread ? &calls[i] : in;
        jw_object(w);
        member_int(w, "session", s->session);
        member_str(w, "request", s->method);
        if (in != NULL)
            write_call(w, in);
        member_int(w, "ms", s->nanos / 1000000);
        jw_object_end(w);
    }
    jw_array_end(w);
}

/* Write the members that are counts.  Those of the whole daemon are for clients of its own uid:
 * they would tell other uids what others do. */
static void write_counts(request *rq, jw *w, const dp_usage *usage)
{
    bool owner = session_is_owner(rq->session);
    server_info f;
    dp_registry_stats r;
    dp_tensor_stats t;

    rq->daemon->info(rq->conn, &f);
    dp_registry_stats_get(f.reg, &r);
    dp_tensor_stats_get(&t);
    const struct {
        const char *name;
        uint64_t value;
        bool anyone; /* other uids may see it, too */
    } rows[] = {
        {"uptime_ms", f.uptime_ms, true},
        {"sessions", f.sessions, false},
        {"connections", f.connections, false},
        {"tensors", usage[DP_HOLDER_TENSORS].count, true},
        {"live_tensors", t.tensors, false},
        {"live_objects", dp_objects_count(), false},
        {"storages", t.storages, false},
        {"bytes", t.bytes, false},
        {"bytes_peak", t.bytes_peak, false},
        {"plugins", r.plugins, true},
        {"ops", r.ops, true},
        {"kernels", r.kernels, true},
        {"backends", r.backends, true},
        {"draining", r.draining, true},
        {"snapshots", r.snapshots, true},
        {"calls", r.calls, false},
        {"requests", f.requests, false},
        {"calls_inline", f.calls_inline, false},
        {"calls_worker", f.calls_worker, false},
        {"demotions", f.demotions, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (owner || rows[i].anyone)
            member_int(w, rows[i].name, rows[i].value);
}

/* Write the calls that fell back: of all sessions for the daemon's own uid, else of the client's
 * uid. */
static int write_fallbacks(request *rq, jw *w, dp_error *err)
{
    dp_fallback_count *rows;
    size_t n, most = LIMIT_SIZE(STATUS_FALLBACKS);

    if (request_fallbacks(rq, NULL, &rows, &n, err) < 0)
        return err->code;
    fallbacks_to_json(w, rows, n < most ? n : most);
    if (n > most)
        member_bool(w, "fallbacks_cut", true);
    return 0;
}

/* Write the members about calls: of all sessions for the daemon's own uid, of none for others. */
static int write_calls(request *rq, jw *w, dp_registry *reg, dp_error *err)
{
    dp_running *calls = dp_malloc_n(RUNNING_MAX, sizeof(*calls));

    if (calls == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: calls that run");
    size_t n = dp_registry_running(reg, calls, RUNNING_MAX);
    write_running(w, calls, n);
    if (n == RUNNING_MAX)
        member_bool(w, "running_cut", true);
    write_stuck(rq, w, calls, n);
    dp_free(calls);
    return 0;
}

int server_status(request *rq, jw *w, dp_error *err)
{
    server_info f;
    dp_usage usage[DP_HOLDERS];

    rq->daemon->info(rq->conn, &f);
    rq->daemon->held(rq->conn, rq->session, usage);
    jw_object(w);
    write_counts(rq, w, usage);
    usage_to_json(w, usage);
    if (holders_to_json(rq, w, err) < 0 || write_fallbacks(rq, w, err) < 0 ||
        shadows_to_json(rq, w, err) < 0 ||
        (session_is_owner(rq->session) && write_calls(rq, w, f.reg, err) < 0))
        return err->code;
    canaries_to_json(rq, w);
    int rc = plugins_status(rq, f.reg, w, err);
    jw_object_end(w);
    return rc;
}

int server_metrics(request *rq, jw *w, dp_error *err)
{
    char *text = NULL;
    size_t bytes = 0;
    int rc = rq->daemon->metrics(rq, &text, &bytes, err);

    if (rc < 0)
        return rc;
    jw_object(w);
    jw_key(w, "text");
    jw_strn(w, text, bytes);
    jw_object_end(w);
    dp_free(text);
    return 0;
}

int server_shutdown(request *rq, const server_shutdown_params *p, jw *w, dp_error *err)
{
    int64_t drain_ms = p->has_drain_ms ? p->drain_ms : SHUTDOWN_DRAIN_MS;

    if (check_ms("drain_ms", drain_ms, LIMIT(DRAIN_MS), err) < 0)
        return DP_EPARAMS;
    rq->daemon->shutdown(rq->conn, drain_ms);
    jw_object(w);
    member_int(w, "drain_ms", drain_ms);
    jw_object_end(w);
    return 0;
}

/* -- call.cancel, rpc.discover -- */

int call_cancel(request *rq, const call_cancel_params *p, jw *w, dp_error *err)
{
    bool waiting;
    int rc = rq->daemon->cancel(rq, p->id, &waiting, err);

    if (rc < 0)
        return rc;
    jw_object(w);
    member_bool(w, "waiting", waiting);
    jw_object_end(w);
    return 0;
}

int rpc_discover(request *rq, jw *w, dp_error *err)
{
    (void)rq, (void)err;
    jw_raw(w, proto_openrpc, strlen(proto_openrpc));
    return 0;
}

/* -- session.get, session.set: the connection's dispatcher state -- */

static const char *const fallback_names[] = {[DP_FALLBACK_ALLOW] = "allow",
                                             [DP_FALLBACK_REPORT] = "report",
                                             [DP_FALLBACK_FORBID] = "forbid"};
/* DP_FALLBACK_ constants, indexed by the enum that is made from proto/types/fallback.json. */
static const uint8_t fallbacks[] = {[FALLBACK_ALLOW] = DP_FALLBACK_ALLOW,
                                    [FALLBACK_REPORT] = DP_FALLBACK_REPORT,
                                    [FALLBACK_FORBID] = DP_FALLBACK_FORBID};

/* Write the members of the connection's dispatcher state. */
static void write_state(request *rq, jw *w, const conn_state *s)
{
    uint64_t seed;

    member_bool(w, "grad_enabled", !s->mode.no_grad && !s->mode.inference);
    member_bool(w, "inference", s->mode.inference);
    autocast_to_json(w, &s->mode);
    keyset_to_json(w, "include", s->include);
    keyset_to_json(w, "exclude", s->exclude);
    member_str(w, "fallback", fallback_names[s->mode.fallback]);
    member_int(w, "num_threads", s->num_threads);
    uint64_t share_from = dp_account_share_from(session_account(rq->session));
    member_int(w, "share_from", share_from == UINT64_MAX ? 0 : share_from);
    shadow_to_json(w, s->shadow);
    if (dp_generators_initial_seed(session_default_generators(rq->session), &seed))
        member_seed(w, seed);
}

/* Read param `name`, a list of keys, into `*out`; `*out` is unchanged when `list` is NULL. */
static int keys_from_json(const cJSON *list, const char *name, dp_keyset *out, dp_error *err)
{
    const cJSON *item;
    dp_keyset set = {0};
    json_path at = {NULL, name, 0}, inside = {&at, NULL, 0};

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

/* Set the members of `*m` for which a param is given. */
static int mode_from_params(request *rq, const session_set_params *p, dp_mode *m, dp_error *err)
{
    m->size = (uint32_t)sizeof(*m);
    if (p->has_grad_enabled)
        m->no_grad = !p->grad_enabled;
    if (p->has_inference)
        m->inference = p->inference;
    if (p->has_fallback)
        m->fallback = fallbacks[p->fallback];
    return autocast_from_json(rq, p->autocast, NULL, m, err);
}

int session_get(request *rq, jw *w, dp_error *err)
{
    dp_usage usage[DP_HOLDERS], named[DP_HOLDERS];

    (void)err;
    dp_account_usage(session_account(rq->session), usage);
    names_usage(session_user(rq->session), named);
    usage[DP_HOLDER_NAMES] = named[DP_HOLDER_NAMES];
    jw_object(w);
    write_state(rq, w, rq->state);
    usage_to_json(w, usage);
    jw_object_end(w);
    return 0;
}

/* Read the params "include" and "exclude".  While names are converted to bits, all backends and
 * kinds of wrapper tensors are pinned: otherwise the unload of a plugin could give a bit another
 * meaning. */
static int key_sets_from_params(const session_set_params *p, conn_state *s, dp_error *err)
{
    dp_keyset all_pinned = dp_keyset_pin((dp_keyset){UINT64_MAX, UINT64_MAX});
    int rc = keys_from_json(p->include, "include", &s->include, err);

    if (rc == 0)
        rc = keys_from_json(p->exclude, "exclude", &s->exclude, err);
    if (rc == 0)
        s->pinned = dp_keyset_pin(dp_keyset_or(dp_keyset_or(s->include, s->exclude),
                                               (dp_keyset){0, s->mode.cast_backends}));
    dp_keyset_unpin(all_pinned);
    return rc;
}

/* Free what state `s` owns and `other` does not. */
static void state_drop(conn_state *s, const conn_state *other)
{
    if (s->shadow != other->shadow)
        dp_free(s->shadow);
}

int session_set(request *rq, const session_set_params *p, jw *w, dp_error *err)
{
    /* more than the answer has if both sets have all keys */
    enum { STATE_BYTES = 16 << 10 };
    conn_state *state = rq->state, next = *state;
    dp_generators *generators = session_default_generators(rq->session);
    uint64_t seed = 0;

    if (mode_from_params(rq, p, &next.mode, err) < 0 || seed_from_json(p->seed, &seed, err) < 0)
        return err->code;
    if (p->seed != NULL && session_draws(rq->session) && !run_is_quick(rq, SIZE_MAX))
        return DP_EWORKER;
    int64_t threads = p->has_num_threads ? p->num_threads : next.num_threads;
    if (threads > LIMIT(SESSION_THREADS))
        return LIMIT_REACHED(
            SESSION_THREADS, threads,
            dp_error_set(err, DP_EPARAMS,
                         "num_threads: expected at most %lld (session_threads) but got %lld",
                         (long long)LIMIT(SESSION_THREADS), (long long)threads));
    next.num_threads = (int)threads;
    if (p->has_share_from && p->share_from != 0 && p->share_from < LIMIT(SHARE_FROM))
        return LIMIT_REACHED(
            SHARE_FROM, p->share_from,
            dp_error_set(err, DP_EPARAMS,
                         "share_from: expected 0 or at least %lld (share_from) but got %lld",
                         (long long)LIMIT(SHARE_FROM), (long long)p->share_from));
    if (p->shadow != NULL && shadow_from_json(p->shadow, &next.shadow, err) < 0)
        return err->code;
    int rc = key_sets_from_params(p, &next, err);
    if (rc < 0) {
        state_drop(&next, state);
        return rc;
    }
    if (!answer_reserve(w, STATE_BYTES, err))
        rc = err->code;
    if (rc == 0 && p->seed != NULL && dp_ctx_generators_seed(rq->ctx, generators, seed) < 0)
        rc = run_ctx_error(rq, err);
    if (rc < 0) {
        dp_keyset_unpin(next.pinned);
        state_drop(&next, state);
        return rc;
    }
    if (p->has_share_from)
        dp_account_share(session_account(rq->session),
                         p->share_from != 0 ? (uint64_t)p->share_from : UINT64_MAX);
    dp_keyset_unpin(state->pinned);
    state_drop(state, &next);
    *state = next;
    jw_object(w);
    write_state(rq, w, state);
    jw_object_end(w);
    return 0;
}
