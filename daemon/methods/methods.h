/* methods.h -- JSON-RPC: reads messages, runs methods, writes answers.
 *
 * proto/ describes the protocol as data.  proto_tables.py makes the tables declared here from
 * proto/, and proto_params.py makes one struct of params per method.  proto_read() checks params
 * against the tables and fills that struct, so no method looks up a param by its name.
 *
 *   envelope.c attachments.c       read a message, write an answer's line
 *   table.c                        finds a method by name
 *   op.c registry.c tensor.c ...   the methods
 *   value.c literal.c number.c     JSON to values
 *   result.c                       values to JSON
 *   run.c                          the arguments and handles of one running method
 *   proto.c                        checks and reads params */
#ifndef DAEMON_METHODS_H
#define DAEMON_METHODS_H

#include "request.h"

/* -- envelope.c: entry points for the rest of the daemon; any thread -- */

/* A line is parsed and request_announced() called while the line's attachments are still being
 * received, so request_parse() may run long before request_run().  frame.c recognises the members
 * "attachments" and "fds" only where they are spelled without escapes; an escaped spelling
 * therefore announces nothing.  request_run() refuses a message whose top-level "attachments" has a
 * different number of items than `n_attachments`.  Descriptors are received and closed: no method
 * takes them. */

/* Parse `rq->line` strictly into `rq->root`.  On failure, write the error answer into `rq->out` and
 * return false. */
bool request_parse(request *rq);
/* Run the whole parsed message, one request or a batch, and write the answer's line into `rq->out`
 * (nothing for notifications).  `rq->ctx` must be set.  DP_EWORKER, DP_EWAIT: the request must run
 * again; `rq->out` holds only the answers of a batch's earlier requests.  DP_EANSWERED: the loop's
 * thread has answered the request; `rq->run` still exists. */
int request_run(request *rq);
/* Write into `successor` the error answer for `rq`, whose deadline has passed; `calls`: the request
 * is inside a kernel.  For a batch, `successor` gets the answers so far and the requests that have
 * not run, and must then be run.  false: nothing is left to run. */
bool request_overdue(const request *rq, bool calls, request *successor);
/* Free `rq->run`, in which a method stores its arguments and results until it is answered.
 * `rq->run` may be NULL. */
void request_drop(request *rq);
/* Answer a message that cannot be run at all, with id null.  A DP_EVALUE error is answered as an
 * invalid request (-32600), any other error like the error of a method. */
void request_refuse(request *rq, const dp_error *err);
/* Answer `*err` under the request's own id instead of running `rq`.  A notification gets no answer.
 * `rq` must be parsed and must not be a batch. */
void request_fail(request *rq, const dp_error *err);
/* Answer `*err` instead of running the current request: `rq` itself, or the next request of a
 * batch.  false: requests of the batch are left to run.  `rq` must be parsed. */
bool request_give_up(request *rq, const dp_error *err);
bool request_is_batch(const request *rq);
/* Add `text` to the warnings of the request that this thread runs, if it runs one. */
void request_warn(const char *text);
/* Is `id` the id of request `rq`?  Not for a batch. */
bool request_has_id(const request *rq, const cJSON *id);

/* -- attachments.c -- */

/* Return the number of attachment bytes that follow the parsed line of `rq`, and set `*n_fds` to
 * the number of descriptors.  Store the attachments' sizes in `rq`.  `received`: descriptors
 * received so far.  -1: the announcement is wrong; the caller answers with request_refuse(). */
int64_t request_announced(request *rq, size_t max_bytes, size_t received, size_t *n_fds,
                          dp_error *err);
/* Compare the announcement in the parsed message with the attachments that were read.  DP_EVALUE:
 * they differ. */
int announcement_check(const request *rq, const cJSON *attachments, const cJSON *fds, bool in_batch,
                       dp_error *err);
/* Write member "attachments", the sizes of the attachments that follow the answer, if there are
 * any. */
void attachments_to_json(request *rq);

/* -- table.c -- */

/* proto_params.h is generated from proto/methods.  For each method it declares the struct of its
 * checked params and the method's function.  A method writes its result (exactly one JSON value)
 * into `w`, or fails with `*err`; then everything it wrote is dropped. */
#include "proto_params.h"

/* Unpack the params of one method from `p` and call its function. */
typedef int (*method_fn)(request *rq, const proto_params *p, jw *w, dp_error *err);

enum {
    DP_EPARAMS = -1000, /* the params are invalid: answered as -32602 */
    DP_EWORKER = -1001, /* placement.c refused the thread: run the request again, on a worker */
    /* a stuck call uses an argument: run the request again when that call has ended */
    DP_EWAIT = -1002,
    /* the deadline has passed and the loop's thread has answered: print nothing */
    DP_EANSWERED = -1003,
};

/* The thread a method may run on: "runs" of proto/methods. */
enum {
    METHOD_LOOP = 0,    /* short: on the loop's thread if no earlier request waits */
    METHOD_CALL = 1,    /* depends on the operator: see placement_may_run() */
    METHOD_WORKER = 2,  /* always on a worker */
    METHOD_AT_ONCE = 3, /* on the loop's thread as soon as it is read; answers keep their order */
};

typedef struct method {
    const char *name;
    method_fn fn;
    int where;
    const struct proto_type *params;
    size_t params_bytes; /* size of the method's params struct; 0: the method has none */
} method;
extern const method methods[]; /* sorted by name; the last one has a NULL name */
extern const char *const method_names[];
extern const size_t n_methods;
const method *method_find(const char *name);

/* -- proto.c: JSON paths -- */

/* The path of a value inside the params, for errors: "args[1].data".  Each level of the parser puts
 * its own element on the stack and links it to `up`; only an error prints the path. */
typedef struct json_path {
    const struct json_path *up; /* NULL: outermost element */
    const char *name;           /* member name; NULL: an array's item, [index] */
    size_t index;
} json_path;
/* Call dp_error_set() with `code` and the message "<path>: <format>". */
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
/* proto_member.fill: the C type that the check stores a param as */
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
    /* Type of an array's items, or of an object's members that are not in `members`; NULL: any
     * type. */
    const struct proto_type *items;
    /* Alternative types of an object.  The first type is used whose first required member the
     * object has; the last type is the default. */
    const struct proto_type *const *choices;
    unsigned n_members, n_values, n_choices;
    bool closed; /* the object may have no members beyond `members` */
    bool bounded;
    int64_t minimum; /* smallest number allowed, if `bounded` */
} proto_type;
extern const char proto_openrpc[]; /* the OpenRPC document that rpc.discover answers */

/* Check `j` against type `t`.  DP_EPARAMS: the message names the path, the expected and the actual
 * kind. */
int proto_check(const proto_type *t, const cJSON *j, const json_path *at, dp_error *err);
/* Check the params of a method against its type `t` and store them in `*out`, whose struct must be
 * zeroed. */
int proto_read(const proto_type *t, const cJSON *params, void *out, dp_error *err);
/* Store `object`, already checked against a type with the same members as `t`, in `*out`, whose
 * struct must be zeroed. */
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

typedef struct pin {   /* one argument that lives until the method ends */
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
    bool constants; /* tensor literals become constants of a program, which is charged for them */
    /* used entries of `written`, which is last because it is long and not zeroed */
    size_t n_written;
    int64_t step; /* program step that failed; -1: none */
    /* current step of a running program, read atomically; NULL: no program runs */
    const int64_t *step_now;
    /* op.call: the kernel has run; only the answer with `rets` is left to write. */
    bool called;
    dp_bound bound;
    dp_value *rets;                       /* [bound.n_rets], owned */
    uint64_t written[DP_LIMIT_ARGUMENTS]; /* handles whose bytes are unspecified after the call */
} run;

/* Allocate `rq->run` for the method of `rq`.  Does nothing if it exists: then a worker continues
 * what the loop's thread began. */
int run_begin(request *rq, dp_error *err);
/* Check that the deadline of `rq` has not passed at `now` (nanos).  DP_EDEADLINE: it has, before
 * `rq` began. */
int run_check_deadline(const request *rq, uint64_t now, dp_error *err);
/* Undo a failed method: release the handles and the attachments that it made. */
void run_undo(request *rq);
/* Allocate `bytes` that live until the request ends. */
void *run_alloc(request *rq, size_t bytes, dp_error *err);
/* Find the tensor with this handle and pin it until the method ends.  `*out` is borrowed.
 * DP_ENOTFOUND: the session has no such handle; the message names path `at`. */
int run_pin(request *rq, uint64_t handle, const json_path *at, dp_tensor **out, dp_error *err);
/* Find the generator with this handle; otherwise like run_pin(). */
int run_pin_generator(request *rq, uint64_t handle, const json_path *at, dp_generator **out,
                      dp_error *err);
/* Find the object with this handle and pin it until the method ends.  `*out` is borrowed.
 * DP_ENOTFOUND: the session has no such handle.  DP_ERUNTIME: the object has ended with its
 * plugin. */
int run_pin_object(request *rq, uint64_t handle, const json_path *at, dp_object **out,
                   dp_error *err);
/* Take `t` and release it when the method ends. */
int run_keep(request *rq, dp_tensor *t, dp_error *err);
int run_keep_generator(request *rq, dp_generator *g, dp_error *err);
/* Return the handle that argument `t` was given by; 0: `t` has none. */
uint64_t run_handle(const run *r, const dp_tensor *t);
/* Record that the call leaves the bytes of `t` unspecified: add the handle of `t`, if it has one,
 * to `r->written`.  `t` may be NULL. */
void run_written(run *r, const dp_tensor *t);
/* Give a tensor, a generator or an object a new handle in the session.  run_undo() releases the
 * handle if the method fails. */
int run_put(request *rq, dp_tensor *t, uint64_t *handle, dp_error *err);
int run_put_generator(request *rq, dp_generator *g, uint64_t *handle, dp_error *err);
int run_put_object(request *rq, dp_object *o, uint64_t *handle, dp_error *err);
/* Add an attachment to the answer and return its index; -1: no memory.  Takes `elements` and the
 * session's charge for them. */
int run_attach(request *rq, void *elements, size_t bytes);
/* May this thread copy or print `bytes` bytes?  false: return DP_EWORKER. */
bool run_is_quick(request *rq, size_t bytes);
/* Does `device` use the host's memory, or no memory at all (meta)? */
static inline bool device_is_host(dp_device device)
{
    int backend = dp_device_backend(device);

    return backend == DP_B_CPU || backend == DP_B_Meta;
}
/* May this thread allocate, copy or release memory of `device`?  The loop's thread may do so only
 * for the host, because a device call may take any time.  false: return DP_EWORKER. */
bool run_may_reach(request *rq, dp_device device);
/* Copy the context's error to `*err` and return its code. */
int run_ctx_error(request *rq, dp_error *err);

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

/* The JSON was already checked against proto's type `value`.  Lists and strings live until
 * `rq->ctx` is reset, tensors until the method ends. */

/* Read numbers, strings, arrays (DP_TAG_LIST), {"tensor":n} and tensor literals.  The values are
 * not yet converted to the types of a schema. */
int value_from_json(request *rq, const cJSON *j, const json_path *at, dp_value *out, dp_error *err);
/* Read the items of an array, or the members of an object. */
int values_from_json(request *rq, const cJSON *array, const json_path *at, dp_value **out,
                     size_t *n, dp_error *err);

enum { /* proto's return_kind, and RETURN_DESCRIBED */
       RETURN_HANDLE = RETURN_KIND_HANDLE,
       RETURN_DATA = RETURN_KIND_DATA,
       RETURN_ATTACHMENT = RETURN_KIND_ATTACHMENT,
       RETURN_DESCRIBED,
};
/* Write one returned value.  A tensor becomes a descriptor, with a new handle (RETURN_HANDLE) or
 * with its elements and no handle. */
int value_to_json(request *rq, jw *w, const dp_value *v, int how, dp_error *err);
/* Write the descriptor of `t` as one JSON object.  `how` adds its data, an attachment, or
 * everything known about it (RETURN_DESCRIBED).  handle 0: the member "tensor" is omitted. */
int tensor_to_json(request *rq, jw *w, dp_tensor *t, uint64_t handle, int how, dp_error *err);
/* Read a runtime key by its name.  DP_ENOTFOUND: no such key; the message has the nearest names.
 * DP_EVALUE: the name is an alias key. */
int key_from_json(const cJSON *j, const json_path *at, dp_key *out, dp_error *err);
/* Write member `name`: the runtime keys of set `s`, highest priority first. */
void keyset_to_json(jw *w, const char *name, dp_keyset s);
/* Return the elements of `t`, whose view is `*v`, if they are contiguous in the host's memory.
 * NULL: they are not, or `t` has no elements. */
void *host_elements(const dp_tensor *t, const dp_view *v);
/* Return the bytes of the elements of `t`, contiguous.  0: `t` is NULL.  UINT64_MAX: too many to
 * count. */
uint64_t tensor_bytes(const dp_tensor *t);
/* Return the fewest characters that the elements of `t` take as JSON text.  0: `t` is NULL.
 * UINT64_MAX: too many to count. */
uint64_t tensor_text_bytes(const dp_tensor *t);
/* Return tensor_bytes() of a tensor in the host's memory, and UINT64_MAX of a tensor in a device's
 * memory, which a short request must not touch. */
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
 * program from an earlier request.  `*out` is owned; `*inputs`, in the order of the program's
 * inputs, lies in the request's memory. */
int program_inline(request *rq, const program_run_params *p, dp_program **out,
                   const dp_value **inputs, dp_error *err);
/* Find a program by handle; `*out` is owned.  DP_ENOTFOUND: the session has no such program; the
 * message names member "program" of the object at `at`. */
int program_get(request *rq, int64_t handle, const json_path *at, dp_program **out, dp_error *err);

/* -- functions that several methods use -- */

/* run.c: write member "warnings", the warnings of this request's kernels, if there are any. */
void warnings_to_json(const request *rq, jw *w);
/* op.c: choose the overload of `op` and bind the arguments to it.  `args` and `kwargs` may be
 * NULL. */
int bind_from_json(request *rq, const char *op, const cJSON *args, const cJSON *kwargs,
                   dp_bound *out, dp_error *err);
/* plugin.c: write member "notes", status texts that plugins provide, and member "kept", generations
 * whose code could not be unmapped, and why. */
int plugins_status(request *rq, dp_registry *reg, jw *w, dp_error *err);

#endif
