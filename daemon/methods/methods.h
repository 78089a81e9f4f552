/* methods.h -- JSON-RPC: reads messages, runs methods, writes answers.
 *
 * JSON files in proto/ describe the methods and types of the protocol.  proto_tables.py makes the
 * tables that are declared here from these files, and proto_params.py makes a struct of params for
 * each method.  proto_read() checks params against the tables and fills that struct, so no method
 * looks up a param by its name.
 *
 *   envelope.c attachments.c       read a message, write an answer's line
 *   table.c                        finds a method by its name
 *   op.c registry.c tensor.c ...   the methods
 *   value.c literal.c number.c     read JSON into dp_values and tensors
 *   result.c                       writes dp_values and tensors as JSON
 *   lower.c inline.c               make programs from JSON
 *   names.c                        named tensors
 *   store.c save.c load.c          files of tensors
 *   run.c                          holds the arguments and handles of one running method
 *   into.c                         handles that the client chooses, and what becomes of them
 *   sync.c                         failures of notifications
 *   proto.c                        checks and reads params
 *
 * Over 500 lines: these files call one another, and each declares only a few functions here. */
#ifndef DAEMON_METHODS_H
#define DAEMON_METHODS_H

#include "request.h"

/* -- envelope.c: entry points for the rest of the daemon; any thread -- */

/* The members "attachments" and "fds" of a message announce what follows its line: attachments, and
 * file descriptors.  A line with such a member is parsed, and request_announced() is called, before
 * the attachments have arrived; request_run() is called afterwards.  frame.c finds these two
 * members only if their names contain no escapes; otherwise they announce nothing, and
 * request_run() refuses a message with a different number of "attachments" than were read
 * (request.n_attachments).  The same holds for "fds" and request.received. */

/* Parse `rq->line` strictly into `rq->root`.  On failure, write the error answer into `rq->out` and
 * return false. */
bool request_parse(request *rq);
/* Run the whole parsed message, one request or a batch, and write the answer's line into `rq->out`
 * (nothing for notifications).  `rq->ctx` must be set.  DP_EWORKER, DP_EWAIT: the request must run
 * again; `rq->out` then has only the answers of the batch's earlier requests.  DP_EANSWERED: the
 * main thread has answered the request; `rq->run` still exists. */
int request_run(request *rq);
/* Write into `successor`, a new request, the error answer for `rq`, whose deadline has passed.
 * `calls`: `rq` runs a kernel.  For a batch, `successor` also gets the answers so far and the
 * requests that have not run.  true: `successor` must run the remaining requests. */
bool request_overdue(request *rq, bool calls, request *successor);
/* Free `rq->run`, in which a method stores its arguments and results until the request is answered.
 * `rq->run` may be NULL. */
void request_drop(request *rq);
/* Answer `*err` to a message that cannot be run at all, with id null.  A DP_EVALUE error is
 * answered as an invalid request (-32600), any other error like the error of a method. */
void request_refuse(request *rq, const dp_error *err);
/* Answer `*err` under the request's own id instead of running `rq`.  A notification gets no answer.
 * `rq` must be parsed and must not be a batch. */
void request_fail(request *rq, const dp_error *err);
/* Answer `*err` instead of running the current request: `rq` itself, or the next request of a
 * batch.  false: other requests of the batch must still run.  `rq` must be parsed. */
bool request_give_up(request *rq, const dp_error *err);
/* The client of `rq`, which is parsed, has left: nobody runs or answers `rq`.  The handles that its
 * requests should have made fail with `*err`. */
void request_abandon(request *rq, const dp_error *err);
bool request_is_batch(const request *rq);
/* Add `text` to the warnings of the request that this thread runs, if it runs one. */
void request_warn(const char *text);
/* Reserve memory for `bytes` of an answer, before a method does what it cannot undo.  false:
 * DP_ERESOURCE. */
bool answer_reserve(jw *w, size_t bytes, dp_error *err);
/* Write the beginning and the end of a message that answers no request (daemon_calls.notify); its
 * params, one JSON value, are written in between. */
void notification_begin(jw *w, const char *name);
void notification_end(jw *w);
/* Is `id` the id of request `rq`?  false for a batch. */
bool request_has_id(const request *rq, const cJSON *id);

/* -- attachments.c -- */

/* Return the number of attachment bytes that follow the parsed line of `rq`, and set `*n_fds` to
 * the number of file descriptors.  Store the sizes of the attachments in `rq`.  `received`: number
 * of descriptors that have arrived.  -1: "attachments" or "fds" is wrong, see `*err`; the caller
 * answers by request_refuse(). */
int64_t request_announced(request *rq, size_t max_bytes, size_t received, size_t *n_fds,
                          dp_error *err);
/* Compare the members `attachments` and `fds` of the parsed message with the attachments that were
 * read.  DP_EVALUE: they differ. */
int announcement_check(const request *rq, const cJSON *attachments, const cJSON *fds, bool in_batch,
                       dp_error *err);
/* Write member "attachments", the sizes of the attachments that follow the answer, if there are
 * any. */
void attachments_to_json(request *rq);

/* -- session.c -- */

/* Write member "account": for each kind of charge (holder), the number of things and their
 * bytes. */
void usage_to_json(jw *w, const dp_usage usage[DP_HOLDERS]);
/* Write the members "users" and "holders" of server.status: what each uid holds, and the sessions
 * that hold most. */
int holders_to_json(request *rq, jw *w, dp_error *err);
/* Write member "fallbacks", counts of calls that fell back (registry.c). */
void fallbacks_to_json(jw *w, const dp_fallback_count *rows, size_t n);
/* shadow.c: read param "shadow" of session.set.  *out: owned; NULL: `j` is null. */
int shadow_from_json(const cJSON *j, shadow_settings **out, dp_error *err);
/* Write member "shadow" of the dispatcher's state; none if `s` is NULL. */
void shadow_to_json(jw *w, const shadow_settings *s);
/* Write member "shadow" of server.status: counts of shadow calls. */
int shadows_to_json(request *rq, jw *w, dp_error *err);
/* Fail unless the client has the daemon's own uid; `what` is what only that uid may do. */
int owner_check(const request *rq, const char *what, dp_error *err);

/* -- table.c -- */

/* proto_params.h is generated from proto/methods.  For each method it declares the struct of its
 * checked params and the method's function.  A method writes its result (exactly one JSON value)
 * into `w`, or fails with `*err`; after a failure, everything that it wrote is dropped. */
#include "proto_params.h"

/* A function that calls the function of one method with the method's member of the union `*p`. */
typedef int (*method_fn)(request *rq, const proto_params *p, jw *w, dp_error *err);

enum {
    DP_EPARAMS = -1000, /* the params are invalid: answered as -32602 */
    DP_EWORKER = -1001, /* placement.c refused the thread: run the request again, on a worker */
    /* a stuck call uses an argument: run the request again when a stuck call of the session has
     * ended */
    DP_EWAIT = -1002,
    /* the deadline has passed and the main thread has answered: print nothing */
    DP_EANSWERED = -1003,
};

/* The thread on which a method may run: the member "runs" in proto/methods. */
enum {
    METHOD_LOOP = 0,    /* a short method: on the main thread if no earlier request waits */
    METHOD_CALL = 1,    /* on the main thread or a worker, see placement_may_run() */
    METHOD_WORKER = 2,  /* always on a worker */
    METHOD_AT_ONCE = 3, /* on the main thread when read, even if earlier requests wait */
};

typedef struct method {
    const char *name;
    method_fn fn;
    int where;
    const struct proto_type *params;
    size_t params_bytes; /* size of the method's params struct; 0: the method has none */
    bool owner_only;     /* only clients of the daemon's own uid may call the method */
} method;
extern const method methods[]; /* sorted by name; the last one has a NULL name */
extern const char *const method_names[];
extern const size_t n_methods;
const method *method_find(const char *name);

/* -- proto.c: JSON paths -- */

/* The path of a value inside the params, for error messages: "args[1].data".  Each function that
 * reads a nested value has one element of the path as a local variable, linked to the element `up`
 * of its caller; the path is printed only in an error. */
typedef struct json_path {
    const struct json_path *up; /* NULL: outermost element */
    const char *name;           /* member name; NULL: an array's item, [index] */
    size_t index;
} json_path;
/* Set `*err` to `code` and the message "PATH: TEXT", with the path `at` (NULL: "params") and the
 * text of `format`.  Returns `code`. */
int json_path_fail(dp_error *err, int code, const json_path *at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* -- proto.c: the check -- */

/* proto_type.kinds, a bit set; 0: any kind is accepted */
enum {
    PROTO_NULL = 1,
    PROTO_BOOL = 2,
    PROTO_INT = 4, /* an integer with a magnitude below 2^53 */
    PROTO_NUMBER = 8,
    PROTO_STRING = 16,
    PROTO_ARRAY = 32,
    PROTO_OBJECT = 64,
};
struct proto_type;
/* proto_member.fill: the C type of the param in the params struct */
enum {
    PARAM_NONE = 0, /* nothing: not a param of a method */
    PARAM_INT,      /* int64_t */
    PARAM_BOOL,     /* bool */
    PARAM_ENUM,     /* int: the index of the value in proto_type.values */
    PARAM_STR,      /* const char * */
    PARAM_JSON,     /* const cJSON * */
};
typedef struct proto_member {
    const char *name;
    const struct proto_type *type;
    bool required;
    uint8_t fill;    /* a PARAM_ constant */
    uint16_t offset; /* byte offset in the params struct */
    uint16_t has;    /* byte offset of the struct's bool has_NAME; 0: no such bool */
} proto_member;
typedef struct proto_type {
    unsigned kinds;
    const proto_member *members; /* [n_members] members of an object, required ones first */
    const char *const *values;   /* [n_values] values a string may have; n_values 0: any string */
    /* Type of an array's items, or of those members of an object that are not in `members`; NULL:
     * any type. */
    const struct proto_type *items;
    /* Alternative types of an object.  The first type applies whose first required member the
     * object has; if none applies, the last one. */
    const struct proto_type *const *choices;
    unsigned n_members, n_values, n_choices;
    bool closed;     /* an object has no other members than `members` */
    bool bounded;    /* `minimum` is set */
    int64_t minimum; /* smallest number allowed, if `bounded` */
} proto_type;
extern const char proto_openrpc[]; /* the OpenRPC document that rpc.discover answers */

/* Check `j` against type `t`.  DP_EPARAMS: the message names the path, the expected and the actual
 * kind. */
int proto_check(const proto_type *t, const cJSON *j, const json_path *at, dp_error *err);
/* Check the params of a method against their type `t` and store them in the method's params struct
 * `*out`, which must be zeroed. */
int proto_read(const proto_type *t, const cJSON *params, void *out, dp_error *err);
/* Store the members of `object` in the params struct `*out`, which must be zeroed.  `object` was
 * checked before, against a type with the same members as `t`. */
void proto_fill(const proto_type *t, const cJSON *object, void *out);

/* -- proto.c: members of checked objects -- */

const cJSON *param(const cJSON *params, const char *name); /* NULL: absent */
/* Find `n` members at once: `found[i]` is the member `names[i]`, or NULL.  Returns the first member
 * that has none of these names; NULL: every member has one of them. */
const cJSON *params_find(const cJSON *params, const char *const *names, size_t n,
                         const cJSON **found);
const char *param_str(const cJSON *params, const char *name); /* NULL: absent */
int64_t param_int(const cJSON *params, const char *name, int64_t absent);
const char *json_kind(const cJSON *j); /* "object", "string" ..., for error messages */
/* Return the name of `names` with the smallest edit distance to `name`; NULL: none is close. */
const char *nearest_name(const char *name, const char *const *names, size_t n);

/* -- run.c: the state of one running method -- */

typedef struct pin {   /* one argument, with a reference that is held until the method ends */
    dp_tensor *tensor; /* owned */
    uint64_t handle;   /* handle of `tensor`; 0: `tensor` came without a handle */
    uint64_t storage; /* storage id of `tensor` when the method began; valid if `handle` is not 0 */
    dp_generator *generator; /* owned */
    dp_object *object;       /* owned */
} pin;

typedef struct run {
    pin *pins;
    size_t n_pins, cap_pins;
    uint64_t *fresh; /* handles that this method made; released if it fails */
    size_t n_fresh, cap_fresh;
    bool records;             /* a capture recorded calls when the method began */
    dp_capture_mark recorded; /* what it had */
    uint64_t number;          /* number of this run; no other run of the daemon has it */
    const cJSON *into;        /* param "into", if its handles are reserved (into.c) */
    size_t n_reserved;        /* number of these handles that name no tensor yet */
    /* owned: the first error of an argument whose handle has failed, and that handle; NULL: none */
    failure *cause;
    uint64_t cause_handle;
    /* names that this method gave to tensors, borrowed from the request; removed if the method
     * fails */
    const char **named;
    size_t n_named, cap_named;
    /* tensor literals become constants of a program, and are charged with that program */
    bool constants;
    /* tensor literals in memfds use one mapping, to which clients may write during the call */
    bool borrows;
    bool borrowed; /* `borrows` was set, and there was such a literal */
    /* number of entries in `written`, which is the last member because it is long and not zeroed */
    size_t n_written;
    int64_t step; /* index of the program step that failed; -1: none */
    /* index of the current step of a running program, read atomically; NULL: no program runs */
    const int64_t *step_now;
    /* op.call: the kernel has run; only the answer with `rets` is left to write. */
    bool called;
    canary_choice canary; /* op.call: whether a canary serves the call */
    dp_bound bound;       /* op.call: the overload and its arguments */
    dp_value *rets;       /* [bound.n_rets], owned */
    /* handles of tensors that a failed or stuck call may have written: their elements are
     * unspecified */
    uint64_t written[DP_LIMIT_ARGUMENTS];
} run;

/* Allocate `rq->run` for the method of `rq`.  If `rq->run` exists, a worker continues what the main
 * thread began, and this function does nothing. */
int run_begin(request *rq, dp_error *err);
/* The parts of the dispatcher's mode (dp_mode) that a request sets for itself, from its members
 * "grad_enabled", "inference" and "autocast".  A part is set only if its has_ member is true, or
 * `autocast` is not NULL. */
typedef struct asked_mode {
    bool has_grad_enabled, grad_enabled, has_inference, inference;
    const cJSON *autocast;
} asked_mode;
/* Set the mode of `rq->ctx`: the connection's, with the members that `asked` has.  On failure it
 * stays the connection's. */
int run_mode(request *rq, const asked_mode *asked, dp_error *err);
/* Read param "autocast" of the object at `outer` (NULL: the params) into the members of *m for
 * autocast; `j` NULL: leave them.  DP_ENOTFOUND: plugin autocast is not loaded. */
int autocast_from_json(request *rq, const cJSON *j, const json_path *outer, dp_mode *m,
                       dp_error *err);
/* Write member "autocast": an object for each device for which autocast is on. */
void autocast_to_json(jw *w, const dp_mode *m);
void run_mode_end(request *rq, const asked_mode *asked); /* Restore the connection's mode. */
/* Return the member "id" of the request that runs; NULL: that request wants no answer. */
const cJSON *request_id(const request *rq);
/* Let autograd's records name this request by its JSON-RPC id. */
void run_name(request *rq);
/* Check that the deadline of `rq` has not passed at `now` (nanos).  DP_EDEADLINE: it has passed. */
int run_check_deadline(const request *rq, uint64_t now, dp_error *err);
/* Undo a failed method: release the handles and the attachments that it made. */
void run_undo(request *rq);
/* Allocate `bytes` bytes in the arena of `rq->ctx`; they are freed when the request ends. */
void *run_alloc(request *rq, size_t bytes, dp_error *err);
/* The handle that `j`, an integer below 2^53 in magnitude, stands for. */
static inline uint64_t handle_of(const cJSON *j)
{
    return (uint64_t)(int64_t)j->valuedouble;
}
/* Find the tensor with this handle, and hold a reference to it until the method ends.  `*out` is
 * borrowed.  DP_ENOTFOUND: the session has no such handle; the message names path `at`.  If the
 * handle has failed, its error is that of the request that should have made the tensor.  DP_EWAIT
 * or, while the daemon drains, DP_EBUSY: a stuck call uses the tensor's memory. */
int run_pin(request *rq, uint64_t handle, const json_path *at, dp_tensor **out, dp_error *err);
/* Like run_pin(), but for the generator with this handle. */
int run_pin_generator(request *rq, uint64_t handle, const json_path *at, dp_generator **out,
                      dp_error *err);
/* Like run_pin(), but for the object with this handle.  DP_ERUNTIME: the object has ended with its
 * plugin. */
int run_pin_object(request *rq, uint64_t handle, const json_path *at, dp_object **out,
                   dp_error *err);
/* Take over the reference `t` (or `g`), also on failure, and drop it when the method ends. */
int run_keep(request *rq, dp_tensor *t, dp_error *err);
int run_keep_generator(request *rq, dp_generator *g, dp_error *err);
/* Return the handle by which the request named argument `t`; 0: `t` was given without a handle. */
uint64_t run_handle(const run *r, const dp_tensor *t);
/* Record that the elements of `t` are unspecified: add the handle of `t`, if it has one, to
 * `r->written`.  `t` may be NULL. */
void run_written(run *r, const dp_tensor *t);
/* Create a new handle of the session for a tensor, a generator or an object.  run_undo() releases
 * the handle if the method fails. */
int run_put(request *rq, dp_tensor *t, uint64_t *handle, dp_error *err);
/* Like run_put(), but if `entry` of param "into" is given (see into_is_given()), the handle is that
 * number, which into_reserve() has reserved. */
int run_put_at(request *rq, dp_tensor *t, const cJSON *entry, uint64_t *handle, dp_error *err);
/* Like run_put(), for a method with one output: if param `into` is not NULL, the handle is the
 * number in it.  Fails if `into` is not one number below 0 that is free. */
int run_put_one(request *rq, dp_tensor *t, const cJSON *into, uint64_t *handle, dp_error *err);
int run_put_generator(request *rq, dp_generator *g, uint64_t *handle, dp_error *err);
int run_put_object(request *rq, dp_object *o, uint64_t *handle, dp_error *err);
/* Add the `bytes` bytes of `packed`, a contiguous tensor in host memory, to the answer as an
 * attachment and return its index; -1: no memory.  Takes over the reference, also on failure. */
int run_attach(request *rq, dp_tensor *packed, size_t bytes);
/* May this thread copy or print `bytes` bytes?  false: the method must return DP_EWORKER. */
bool run_is_quick(request *rq, size_t bytes);
enum {
    FREED_BYTES = 256
}; /* freeing or unmapping this many bytes takes as long as printing one byte */
/* Does `device` use the host's memory, or no memory at all (meta)? */
static inline bool device_is_host(dp_device device)
{
    int backend = dp_device_backend(device);

    return backend == DP_B_CPU || backend == DP_B_Meta;
}
/* May this thread allocate, copy or release memory of `device`?  The main thread may do so only for
 * the host, because a device call may take long.  false: the method must return DP_EWORKER. */
bool run_may_reach(request *rq, dp_device device);
/* Copy the context's error to `*err` and return its code. */
int run_ctx_error(request *rq, dp_error *err);
/* Make a contiguous tensor in host memory, which the session pays for: *out, owned.  It has memory
 * even if the session includes a key, such as Fake, under which calls make tensors without. */
int run_empty(request *rq, dp_dtype dtype, int ndim, const int64_t *sizes, dp_tensor **out,
              dp_error *err);

/* -- descriptors.c: files by descriptor; shared memory, by descriptor or by `map` number -- */

/* Check that the request names its file either by `path` or by `fd`, and that the client may do
 * so: only the daemon's own uid names paths.  `what`: see owner_check(). */
int file_check(request *rq, const char *path, bool has_fd, const char *what, dp_error *err);
/* Find the descriptor with this index in the message; `*fd` is borrowed from `rq`.  DP_EVALUE:
 * there is none, or it is not open for reading, or for writing at any offset (`writes`). */
int descriptor_of_file(request *rq, int64_t index, bool writes, int *fd, dp_error *err);

/* Write the members that announce the answer's descriptor, and the numbers that received memfds
 * got. */
void descriptors_to_json(request *rq);
/* Find the memory that member "fd" (an index in the message's descriptors) or "map" of a tensor
 * literal names; `*out` is borrowed from the connection's maps. */
int shared_from_params(request *rq, const tensor_create_params *p, const json_path *at,
                       dp_shared **out, dp_error *err);
/* Give `s`, which has memory of this daemon's tensors, a number, and send its descriptor with the
 * answer if it had no number.  `*fresh`: it had none.  Returns 0 on failure. */
uint64_t shared_to_answer(request *rq, dp_shared *s, bool *fresh, dp_error *err);
/* Undo a failed method: drop the numbers that it gave. */
void maps_undo(request *rq);

/* -- into.c: param "into", handles that the client chooses -- */

/* The entries of `into`, one for each output: the first one, and the one after `entry`; NULL: there
 * is none.  `into` may be NULL. */
const cJSON *into_first(const cJSON *into);
const cJSON *into_next(const cJSON *into, const cJSON *entry);
bool into_is_given(const cJSON *entry); /* Is `entry` neither NULL nor a JSON null? */
/* The next four functions do nothing if `into` is NULL.  Check that the numbers are below 0, and
 * that tensors are returned as handles; `how`: RETURN_HANDLE, RETURN_DATA, ... */
int into_check(const cJSON *into, int how, dp_error *err);
/* Check that `into` has `n` entries, as many as `what` has outputs. */
int into_check_count(const cJSON *into, uint32_t n, const char *what, dp_error *err);
/* Check that output `v` is a tensor, or a list of tensors as long as the array `entry`.  Of a
 * tensor only the tag is read. */
int into_check_value(const cJSON *entry, const dp_value *v, const json_path *at, dp_error *err);
/* Reserve the handles in `into`, which were checked, for this run.  They are free again when it
 * ends, unless they name tensors then, or have failed.  DP_EEXISTS: one is not free. */
int into_reserve(request *rq, const cJSON *into, dp_error *err);
void into_unreserve(const run *r, struct session *s); /* Free those that name no tensor. */
/* A request that has failed; its params may not have been checked. */
typedef struct failed_request {
    const method *method; /* NULL: unknown */
    const cJSON *params;  /* NULL: none */
    const cJSON *id;      /* NULL: a notification */
} failed_request;
/* Let the handles in param "into" of `f`, which has failed with `*err`, fail: those that are free
 * or reserved for `rq->run`, at most LIMIT_SESSION_FAILED.  `r`: the run that failed; NULL: none,
 * or it still runs. */
void into_fail(request *rq, const failed_request *f, const run *r, const dp_error *err);

/* -- sync.c -- */

/* Store the failure `*err` of the notification `f` for session.sync. */
void sync_note(request *rq, const failed_request *f, const dp_error *err);

/* -- names.c: named tensors -- */

/* Check the length of a name.  DP_EPARAMS: it is wrong; the message names path `at`. */
int tensor_name_check(const char *name, const json_path *at, dp_error *err);
/* Give `t` a name of the client's uid.  `name` lives until the request ends; run_undo() removes the
 * names that a method gave if it fails later.  DP_EEXISTS: the name is taken. */
int run_add_name(request *rq, const dp_tensor *t, const char *name, dp_error *err);
/* Find the tensor with this name of the client's uid; `*out` is borrowed until the method ends.
 * DP_ENOTFOUND: there is no such name; the message names path `at`. */
int run_find_name(request *rq, const char *name, const json_path *at, dp_tensor **out,
                  dp_error *err);

/* -- number.c -- */

/* Read a number, or one of the strings "nan", "inf" and "-inf". */
int double_from_json(const cJSON *j, const json_path *at, double *out, dp_error *err);
/* Read an integral number, or a string with the decimal digits of an int64. */
int int_from_json(const cJSON *j, const json_path *at, int64_t *out, dp_error *err);

/* -- literal.c -- */

/* Make a tensor from a literal {"dtype", "shape", "data" | "attachment", "strides",
 * "storage_offset"}; these members are also the params of tensor.create.  `*out` is owned. */
int tensor_from_params(request *rq, const tensor_create_params *p, const json_path *at,
                       dp_tensor **out, dp_error *err);
int tensor_from_json(request *rq, const cJSON *j, const json_path *at, dp_tensor **out,
                     dp_error *err);

/* -- value.c: JSON to dp_value; result.c: dp_value to JSON -- */

/* The JSON was already checked against proto/types/value.json.  Lists and strings live until
 * `rq->ctx` is reset, tensors until the method ends. */

/* Read a value of any kind in proto/types/value.json but "ref"; an array becomes a DP_TAG_LIST.
 * The values are not yet converted to the types of a schema. */
int value_from_json(request *rq, const cJSON *j, const json_path *at, dp_value *out, dp_error *err);
/* Read the items of `array`; NULL: there are none. */
int values_from_json(request *rq, const cJSON *array, const json_path *at, dp_value **out,
                     size_t *n, dp_error *err);

enum { /* how to write a tensor: the enum of proto/types/return_kind.json, and RETURN_DESCRIBED */
       RETURN_HANDLE = RETURN_KIND_HANDLE,
       RETURN_DATA = RETURN_KIND_DATA,
       RETURN_ATTACHMENT = RETURN_KIND_ATTACHMENT,
       RETURN_DESCRIBED,
};
/* Write member `name`, an array of the n numbers in `ints`. */
void ints_to_json(jw *w, const char *name, const int64_t *ints, int n);
/* Write one returned value.  A tensor becomes an object with its dtype, shape, device and the like
 * (a descriptor), and either a handle (RETURN_HANDLE) or its elements.  `into` is an entry of param
 * "into" that into_check_value() accepts; without one (NULL, or a JSON null) handles are new ones
 * of the session. */
int value_to_json(request *rq, jw *w, const dp_value *v, int how, const cJSON *into, dp_error *err);
/* Write the descriptor of `t` as one JSON object.  `how` adds the elements of `t` (as JSON or as an
 * attachment), or everything known about `t` (RETURN_DESCRIBED).  handle 0: the member "tensor" is
 * omitted. */
int tensor_to_json(request *rq, jw *w, dp_tensor *t, uint64_t handle, int how, dp_error *err);
/* Write the members of the descriptor of `t`.  handle 0: the member "tensor" is omitted. */
void descriptor_to_json(jw *w, const dp_tensor *t, uint64_t handle);
/* Write the descriptor of `t`, whose storage is the shared memory with number `map`, and where its
 * elements lie in that memory.  `fresh`: the memory's descriptor is sent with the answer. */
int shared_tensor_to_json(request *rq, jw *w, dp_tensor *t, uint64_t handle, uint64_t map,
                          bool fresh, dp_error *err);
/* Read a runtime key, that is, one that calls are dispatched to, by its name.  DP_ENOTFOUND: no
 * such key; the message has the nearest names.  DP_EVALUE: the name is an alias key. */
int key_from_json(const cJSON *j, const json_path *at, dp_key *out, dp_error *err);
/* Write member `name`: an array of the runtime keys in `s`, highest priority first. */
void keyset_to_json(jw *w, const char *name, dp_keyset s);
/* Return the address of the elements of `t`, if they are contiguous in the host's memory, and `t`
 * has neither key Conjugate nor Negative.  `*v` is dp_tensor_view() of `t`.  NULL: one of these
 * conditions fails, or `t` has no elements. */
void *host_elements(const dp_tensor *t, const dp_view *v);
/* Return the number of elements from the first to the last one of a tensor, in its storage.  0: it
 * has no elements.  UINT64_MAX: too many to count. */
uint64_t spanned_elements(int ndim, const int64_t *sizes, const int64_t *strides);
/* Return the number of bytes that the elements of `t` take when they are contiguous.  0: `t` is
 * NULL.  UINT64_MAX: too many to count. */
uint64_t tensor_bytes(const dp_tensor *t);
/* Return the fewest characters that the elements of `t` take as JSON text.  0: `t` is NULL.
 * UINT64_MAX: too many to count. */
uint64_t tensor_text_bytes(const dp_tensor *t);
/* Return tensor_bytes() for a tensor in the host's memory, and UINT64_MAX for a tensor in a
 * device's memory, which a request on the main thread must not use. */
uint64_t tensor_host_bytes(const dp_tensor *t);

/* -- object.c -- */

/* Write the handle, kind, plugin and size of object `o`. */
void object_to_json(jw *w, uint64_t handle, dp_object *o);

/* -- generator.c -- */

/* Read param "seed", 64 bits written as an int64.  `*out` is unchanged when `seed` is NULL. */
int seed_from_json(const cJSON *seed, uint64_t *out, dp_error *err);
void member_seed(jw *w, uint64_t seed);

/* -- lower.c, inline.c: programs as JSON -- */

/* Make the program that the params of program.create describe.  `*out` is owned. */
int program_from_params(request *rq, const program_create_params *p, dp_program **out,
                        dp_error *err);
/* Make the program from the steps and outputs in the params of program.run, or find the same
 * program in the session's cache.  `*out` is owned.  `*inputs`, in the order of the program's
 * inputs, is allocated in the arena of `rq->ctx`. */
int program_inline(request *rq, const program_run_params *p, dp_program **out,
                   const dp_value **inputs, dp_error *err);
/* Find a program by handle; `*out` is owned.  DP_ENOTFOUND: the session has no such program; the
 * message names member "program" of the object at `at`. */
int program_get(request *rq, int64_t handle, const json_path *at, dp_program **out, dp_error *err);

/* program.c: read the values in `object`, one for each input of `p`, in the order of its inputs.
 * `*out` is allocated in the arena of `rq->ctx`.  `object` may be NULL. */
int program_inputs(request *rq, const cJSON *object, const dp_program *p, const dp_value **out,
                   dp_error *err);

/* -- grad_draw.c: random arguments for an operator -- */

/* Arguments of one operator that are drawn from its schema: those that the client does not give and
 * that have no default. */
typedef struct draws {
    const dp_op *op;
    dp_value *args; /* [n_args] the client's, in the arena of `rq->ctx` */
    size_t n_args;
    dp_kwarg *kwargs; /* [n_kwargs] the client's, with space for all arguments of `op` */
    size_t n_kwargs, cap_kwargs;
    uint64_t state;      /* of the random numbers; the seed at first */
    uint64_t number;     /* sets of arguments that were drawn so far */
    bool complex;        /* the tensors of the last set are complex */
    dp_tensor **tensors; /* [n_tensors] owned; the tensors of the last set */
    size_t n_tensors, cap_tensors;
} draws;
/* Read the client's arguments into *d, whose op and state are set. */
int draws_begin(request *rq, draws *d, const cJSON *args, const cJSON *kwargs, dp_error *err);
/* Draw a set of arguments, and bind the operator to them: *out.  The tensors live until the next
 * set is drawn, or until draws_end().  DP_EPARAMS: an argument is of a type that cannot be
 * drawn. */
int draws_next(request *rq, draws *d, dp_bound *out, dp_error *err);
void draws_end(draws *d);

/* -- functions that several methods use -- */

/* run.c: write member "warnings", the warnings of this request's kernels, if there are any. */
void warnings_to_json(const request *rq, jw *w);
/* op.c: choose the overload of `op` and bind the arguments to it.  `args` and `kwargs` may be
 * NULL. */
int bind_from_json(request *rq, const char *op, const cJSON *args, const cJSON *kwargs,
                   dp_bound *out, dp_error *err);
/* plugin.c: write member "canaries", for clients of the daemon's own uid. */
void canaries_to_json(request *rq, jw *w);
/* plugin.c: write member "notes", the status texts that plugins provide, and member "kept", the
 * unloaded generations of plugins whose code could not be unmapped, with the reason. */
int plugins_status(request *rq, dp_registry *reg, jw *w, dp_error *err);

#endif
