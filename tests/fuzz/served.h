/* served.h -- a whole daemon in this process, without a listener and plugins' files: its loop runs
 * only while a fuzzer lets it.
 *
 * The limits are small, so that short inputs reach them.  A few operators, which take values of
 * every type, are defined without a plugin. */
#ifndef SERVED_H
#define SERVED_H

#include "executor/parts.h"
#include "fuzz.h"
#include "methods/methods.h"
#include "server.h"
#include "transport/parts.h"
#include <dispatchd/helpers.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static server served;
static options served_options;
static dp_ctx *served_ctx;    /* for requests that a fuzzer runs itself */
static uint64_t served_fault; /* the allocation of the next request that fails; 0: none */

static const char served_limits[] =
    "line_bytes = 1024\nattachment_bytes = 8192\nattachments = 8\nbatch = 8\njson_depth = 16\n"
    "json_nodes = 1024\njson_number_bytes = 24\noutstanding = 8\noutstanding_bytes = 8192\n"
    "outstanding_descriptors = 4\nwaiting_descriptors = 4\nmaps = 4\nshare_from = 4096\n"
    "cancel_bytes = 64\ninline_bytes = 512\nunsent_bytes = 65536\nanswer_bytes = 65536\n"
    "answer_attachment_bytes = 65536\nsilent_ms = 20\nsession_tensors = 256\nuid_names = 8\n"
    "session_generators = 4\nsession_failed = 4\nstore_header_bytes = 8192\nstore_tensors = 64\n"
    "linger_ms = 0\ndrain_ms = 0\nprogram_steps = 16\nsession_programs = 4\nprogram_cache = 4\n"
    "watch_changes = 2\n";

/* -- operators -- */

/* kernel that returns its first argument */
static inline int served_first(dp_call *call)
{
    dp_value v = call->args[0];

    if (v.tag == DP_TAG_TENSOR)
        dp_tensor_ref(v.u.t);
    for (uint32_t i = 0; v.tag == DP_TAG_TENSORS && i < v.len; i++)
        dp_tensor_ref(v.u.tensors[i]);
    call->rets[0] = v;
    return 0;
}

/* kernel of an operator whose only return is an argument that it writes */
static inline int served_nothing(dp_call *call)
{
    (void)call;
    return 0;
}

/* kernel that reads each element of a tensor and returns the sum of their bytes */
static inline int served_sum(dp_call *call)
{
    enum { ELEMENTS_MOST = 1 << 16 };
    int64_t at[DP_DIM_MAX] = {0}, sum = 0;
    DP_VIEW(v, call->args[0].u.t);
    size_t bytes = dp_dtype_size(v.dtype);

    for (int64_t n = 0; n < v.numel && n < ELEMENTS_MOST; n++) {
        int64_t offset = 0;
        for (int d = 0; d < v.ndim; d++)
            offset += at[d] * v.strides[d];
        for (size_t b = 0; b < bytes; b++)
            sum += ((const volatile uint8_t *)v.data)[(size_t)offset * bytes + b];
        for (int d = v.ndim - 1; d >= 0 && ++at[d] == v.sizes[d]; d--)
            at[d] = 0;
    }
    call->rets[0] = dp_int(sum);
    return 0;
}

#define SERVED_DEF(schema, words)                                                                  \
    {                                                                                              \
        .size = sizeof(dp_item), .kind = DP_ITEM_DEF, .name = schema, .tags = words                \
    }
#define SERVED_IMPL(op, fn)                                                                        \
    {                                                                                              \
        .size = sizeof(dp_item), .kind = DP_ITEM_IMPL, .name = op, .boxed = fn, .code = ""         \
    }
#define SERVED_BLOCK(what, on, list)                                                               \
    {                                                                                              \
        .size = sizeof(dp_block), .kind = what, .line = __LINE__,                                  \
        .n_items = sizeof(list) / sizeof((list)[0]), .item_size = sizeof(dp_item),                 \
        .file = "served.h", .ns = "t", .key = on, .items = list                                    \
    }

static const dp_item served_defs[] = {
    SERVED_DEF("tensor(Tensor x, Tensor? y=None) -> Tensor", ""),
    SERVED_DEF("tensors(Tensor[] x, Tensor?[] y=[]) -> Tensor[]", ""),
    SERVED_DEF("int(int x, SymInt y=1, int[] z=[], int[2] two=1, SymInt[]? s=None) -> int", ""),
    SERVED_DEF("float(float x, float[]? y=None, float? z=None) -> float", ""),
    SERVED_DEF("bool(bool x, bool? y=None, bool[3] z=[False, True, False]) -> bool", ""),
    SERVED_DEF("scalar(Scalar x, Scalar[] y=[], Scalar? z=None) -> Scalar", ""),
    SERVED_DEF("str(str x, str? y=None, str[] z=[]) -> str", ""),
    SERVED_DEF("ints(int[] x) -> int[]", ""),
    SERVED_DEF("options(Tensor x, *, ScalarType? dtype=None, Layout? layout=None, Device? "
               "device=None, bool? pin_memory=None, MemoryFormat? memory_format=None, Generator? "
               "generator=None) -> Tensor",
               ""),
    SERVED_DEF("fill_(Tensor(a!) self, Scalar value) -> Tensor(a!)", ""),
    SERVED_DEF("sum(Tensor x) -> int", ""),
    SERVED_DEF("sum_once(Tensor x) -> int", "reads_once"),
    SERVED_DEF("over.Tensor(Tensor x) -> Tensor", ""),
    SERVED_DEF("over.Scalar(Scalar x) -> Scalar", ""),
    SERVED_DEF("over.int(int x) -> int", ""),
};
static const dp_item served_impls[] = {
    SERVED_IMPL("tensor", served_first),      SERVED_IMPL("tensors", served_first),
    SERVED_IMPL("int", served_first),         SERVED_IMPL("float", served_first),
    SERVED_IMPL("bool", served_first),        SERVED_IMPL("scalar", served_first),
    SERVED_IMPL("str", served_first),         SERVED_IMPL("ints", served_first),
    SERVED_IMPL("options", served_first),     SERVED_IMPL("fill_", served_nothing),
    SERVED_IMPL("sum", served_sum),           SERVED_IMPL("sum_once", served_sum),
    SERVED_IMPL("over.Tensor", served_first), SERVED_IMPL("over.Scalar", served_first),
    SERVED_IMPL("over.int", served_first),
};
static const dp_block served_blocks[] = {
    SERVED_BLOCK(DP_BLOCK_LIBRARY, "", served_defs),
    SERVED_BLOCK(DP_BLOCK_IMPL, "CompositeImplicitAutograd", served_impls),
};

/* -- the daemon -- */

static inline void served_check(int rc, const dp_error *err)
{
    FUZZ_CHECK(rc == 0, "%d: %s", rc, err->message);
}

static inline void served_init(void)
{
    char serve[32], config[64];
    char *argv[] = {"dispatchd",
                    "--no-plugins",
                    "--workers=1",
                    "--threads=1",
                    "--spin-us=0",
                    "--log-level=error",
                    "--session-bytes=16777216",
                    serve,
                    "--config",
                    config,
                    NULL};
    const int argc = sizeof(argv) / sizeof(argv[0]) - 1;
    int ends[2], file = memfd_create("config", MFD_CLOEXEC);
    dp_error err = DP_ERROR_INIT;
    dp_unit *unit = NULL;
    ssize_t n = write(file, served_limits, sizeof(served_limits) - 1);

    FUZZ_CHECK(n > 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0,
               "no descriptors");
    snprintf(serve, sizeof(serve), "--serve-fd=%d", ends[0]);
    snprintf(config, sizeof(config), "/proc/self/fd/%d", file);
    served_check(options_parse(&served_options, argc, argv, &err), &err);
    log_level_set(served_options.log_level);
    served_check(server_init(&served, &served_options, argc, argv, &err), &err);
    /* libFuzzer handles signals itself */
    uv_signal_stop(&served.sigterm);
    uv_signal_stop(&served.sigint);
    uv_signal_stop(&served.sighup);
    served_check(dp_registry_attach(served.reg, "fuzz", "1", served_blocks,
                                    sizeof(served_blocks) / sizeof(served_blocks[0]), &unit, &err),
                 &err);
    served_check(dp_ctx_new(served.reg, &served_ctx, &err), &err);
    close(file);
    close(ends[1]);
    while (served.connections != NULL)
        uv_run(&served.loop, UV_RUN_ONCE);
    served.serves_one = false;
}

static inline void served_fini(void)
{
    served_ctx = dp_ctx_free(served_ctx);
    FUZZ_CHECK(server_fini(&served), "the daemon cannot stop");
    options_fini(&served_options);
}

/* Start the daemon; it stops when the process exits. */
static inline void served_start(void)
{
    signal(SIGPIPE, SIG_IGN);
    cJSON_InitHooks(&(cJSON_Hooks){dp_malloc, dp_free});
    served_init();
    atexit(served_fini);
}

/* Connect a client; returns its end, which does not block. */
static inline int served_connect(void)
{
    int ends[2];

    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0 &&
                   connection_accept(&served, ends[0]),
               "no connection");
    return ends[1];
}

/* Remove what the clients of this input have left.  All their connections are closed. */
static inline void served_clean(void)
{
    char name[LIMIT_TENSOR_NAME_BYTES + 1] = "";

    if (served.draining || atomic_load(&served.shutdown)) {
        served_fini();
        served_init();
        return;
    }
    uv_run(&served.loop, UV_RUN_NOWAIT);
    for (user *u = served.sessions.users; u != NULL; u = u->next, name[0] = '\0')
        for (dp_tensor *t; (t = names_next(u, name)) != NULL;) {
            dp_tensor_unref(t);
            dp_tensor_unref(names_take(u, name));
        }
}

/* -- requests without the loop -- */

/* Check that the answer is one line of valid JSON, or empty. */
static inline void served_check_answer(const request *rq)
{
    const jw *w = &rq->out;

    if (w->len == 0)
        return;
    FUZZ_CHECK(w->s[w->len - 1] == '\n' && memchr(w->s, '\n', w->len) == w->s + w->len - 1,
               "not one line: %.*s", (int)w->len, w->s);
    for (size_t at = 0, n; at < w->len; at += n) {
        n = utf8_sequence(w->s + at, w->len - at);
        FUZZ_CHECK(n > 0, "byte %zu is not UTF-8: %.*s", at, (int)w->len, w->s);
    }
    cJSON *j = cJSON_ParseWithLength(w->s, w->len);
    FUZZ_CHECK(cJSON_IsObject(j) || cJSON_IsArray(j), "not JSON: %.*s", (int)w->len, w->s);
    cJSON_Delete(j);
}

/* Give `j`, whose line is parsed, the attachments that it announces: the first bytes of `*body`
 * [*left], which are skipped.  false: there are fewer. */
static inline bool served_attach(job *j, const uint8_t **body, size_t *left)
{
    dp_error err = DP_ERROR_INIT;
    size_t n_named = 0, n_fds = j->rq.received != NULL ? j->rq.received->n : 0;
    int64_t total = request_announced(&j->rq, LIMIT_SIZE(ATTACHMENT_BYTES), n_fds, &n_named, &err);

    if (total < 0) {
        request_refuse(&j->rq, &err);
        j->stage = JOB_ANSWERED;
    }
    if (total <= 0 || (size_t)total > *left)
        return total <= 0;
    j->rq.attached = dp_malloc((size_t)total);
    memcpy(j->rq.attached, *body, (size_t)total);
    j->rq.bytes_charged += (size_t)total;
    j->rq.conn->outstanding_bytes += (size_t)total;
    *body += total;
    *left -= (size_t)total;
    return true;
}

/* Make a job of the request `line`, with the `n_fds` descriptors in `fds`, which are taken over. */
static inline job *served_job(struct connection *c, const char *line, size_t bytes, const int *fds,
                              size_t n_fds)
{
    char *copy = dp_malloc(bytes + 1);

    memcpy(copy, line, bytes);
    copy[bytes] = '\0';
    job *j = connection_job(c, copy, bytes);
    j->rq.session = session_ref(c->session);
    /* as frame.c finds it: another spelling of these words announces nothing */
    j->announces = memmem(line, bytes, "\"attachments\"", 13) != NULL ||
                   memmem(line, bytes, "\"fds\"", 5) != NULL || n_fds > 0;
    if (n_fds == 0)
        return j;
    j->rq.received = dp_calloc(1, sizeof(*j->rq.received));
    j->rq.received->n = n_fds;
    memcpy(j->rq.received->fds, fds, n_fds * sizeof(fds[0]));
    c->outstanding_fds += n_fds;
    return j;
}

/* Run the request `line` of connection `c` as a worker does.  `fds`, `n_fds`: as above; `body`,
 * `left`: as above.  Returns the answered job, which connection_job_free() frees; NULL: the
 * attachments are not complete. */
static inline job *served_run(struct connection *c, const char *line, size_t bytes, const int *fds,
                              size_t n_fds, const uint8_t **body, size_t *left)
{
    job *j = served_job(c, line, bytes, fds, n_fds);

    dp_fault_arm(served_fault);
    job_parse(j);
    dp_fault_arm(0);
    if (j->stage == JOB_PARSED && j->announces && !served_attach(j, body, left)) {
        connection_job_free(j);
        return NULL;
    }
    if (j->stage == JOB_PARSED) {
        dp_fault_arm(served_fault);
        int outcome = job_execute(&served.executor, j, served_ctx, false);
        dp_fault_arm(0);
        FUZZ_CHECK(outcome == RUN_DONE, "outcome %d", outcome);
    }
    served_check_answer(&j->rq);
    return j;
}

#endif
