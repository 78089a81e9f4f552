/* methods.h -- JSON-RPC: the messages, the methods, and what methods are made of.
 *
 * proto/ is data.  proto_tables.py turns it into the tables declared here, and proto_params.py into
 * a struct of params for each method.  One function checks params against the tables and fills that
 * in, so a method looks no param up by its name.
 *
 *   envelope.c attachments.c       a message in, an answer's line out
 *   table.c                        the methods by name
 *   op.c registry.c tensor.c ...   the methods
 *   value.c literal.c number.c     JSON to values
 *   result.c                       and back
 *   run.c                          what one running method keeps
 *   proto.c                        params checked and read */
#ifndef DAEMON_METHODS_H
#define DAEMON_METHODS_H

#include "request.h"

/* -- envelope.c: what the rest of the daemon calls; any thread -- */

/* transport/announce.c looks for an announcement while attachments are still on their way, so it
 * may call request_parse() long before request_run().  frame.c finds "attachments" and "fds" only
 * where they are spelled so, without escapes.  request_run() therefore refuses a message whose
 * top-level "attachments" has not as many items as n_attachments: an escaped spelling announces
 * nothing.  Descriptors are received and closed: no method takes them. */

/* Strict parse of rq->line into rq->root.  On failure the error answer is in rq->out, and the
 * result false. */
bool request_parse(request *rq);
/* Handle the whole parsed message, one request or a batch, and write the answer's line into rq->out
 * (nothing for notifications).  rq->ctx is set.  DP_EWORKER, DP_EWAIT: the request is to run again,
 * and rq->out has nothing but the answers of a batch's earlier requests.  DP_EANSWERED: it was
 * answered, and rq->run is still there. */
int request_run(request *rq);
/* Answer in `heir` for rq, whose deadline has passed; `calls`: inside a kernel.  Of a batch, `heir`
 * gets the answers so far and the requests that have not run, and is to be run.  false: nothing is
 * left to run. */
bool request_overdue(const request *rq, bool calls, request *heir);
/* Free what a method has kept in order to answer later.  rq->run may be NULL. */
void request_drop(request *rq);
/* Answer what cannot be run at all, with id null: an error DP_EVALUE as an invalid request
 * (-32600), any other like a method's error. */
void request_refuse(request *rq, const dp_error *err);
/* Answer *err under the request's own id instead of running it; a notification gets no answer.  rq
 * is parsed and no batch. */
void request_fail(request *rq, const dp_error *err);
/* Answer *err instead of running the request whose turn it is: rq, or the next one of a batch.
 * false: of the batch, requests are left to run.  rq is parsed. */
bool request_give_up(request *rq, const dp_error *err);
bool request_is_batch(const request *rq);
/* Add to the warnings of the request that this thread runs, if it runs one. */
void request_warn(const char *text);
/* Does it have this id?  Not for a batch. */
bool request_has_id(const request *rq, const cJSON *id);

/* -- attachments.c -- */

/* How many bytes of attachments and how many descriptors (*n_fds) follow rq's parsed line.  Keeps
 * the attachments' sizes in rq.  `came`: descriptors that have been received so far.  -1: the
 * announcement is wrong, which request_refuse() answers. */
int64_t request_announced(request *rq, size_t max_bytes, size_t came, size_t *n_fds, dp_error *err);
/* DP_EVALUE: the announcement is not the one that was acted on when the attachments were read. */
int announcement_check(const request *rq, const cJSON *attachments, const cJSON *fds, bool in_batch,
                       dp_error *err);
/* Member "attachments": the sizes of those that follow the answer, if some do. */
void attachments_to_json(request *rq);

/* -- table.c -- */

/* Generated from proto/methods: for each method, the struct of its checked params and the
 * declaration of its function.  A method writes its result (exactly one JSON value) into w, or
 * fails with *err; what it has written is then dropped. */
#include "proto_params.h"

/* Runs the method's own function with its own params. */
typedef int (*method_fn)(request *rq, const proto_params *p, jw *w, dp_error *err);

enum {
    DP_EPARAMS = -1000, /* the params are wrong: answered as -32602 */
    DP_EWORKER = -1001, /* placement.c said no: run the request again, on a worker */
    DP_EWAIT = -1002, /* a stuck call uses an argument: run the request again when that has ended */
    DP_EANSWERED =
        -1003, /* the deadline is over and the loop's thread has answered: print nothing */
};

/* where a method may run: "runs" of proto/methods */
enum {
    METHOD_LOOP = 0,    /* short: on the loop's thread if nothing is queued before it */
    METHOD_CALL = 1,    /* it depends on the operator: see placement_may_run() */
    METHOD_WORKER = 2,  /* always on a worker */
    METHOD_AT_ONCE = 3, /* as soon as it is read; it is still answered in its turn */
};

typedef struct method {
    const char *name;
    method_fn fn;
    int where;
    const struct proto_type *params;
    size_t params_bytes; /* of the struct that the check fills in; 0: there is none */
} method;
extern const method methods[]; /* by name; ends with a NULL name */
extern const char *const method_names[];
extern const size_t n_methods;
const method *method_find(const char *name);

/* -- proto.c: places -- */

/* Where in the params something is, for errors: "args[1].data".  Each level makes its own on the
 * stack on the way down, and only an error prints it. */
typedef struct place {
    const struct place *up; /* NULL: top */
    const char *name;       /* NULL: an array's item, [index] */
    size_t index;
} place;
/* dp_error_set(err, code, "<place>: <format>"). */
int place_fail(dp_error *err, int code, const place *at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* -- proto.c: the check -- */

/* proto_type.kinds; 0: anything */
enum {
    PROTO_NULL = 1,
    PROTO_BOOL = 2,
    PROTO_INT = 4, /* an integral number below 2^53 */
    PROTO_NUMBER = 8,
    PROTO_STRING = 16,
    PROTO_ARRAY = 32,
    PROTO_OBJECT = 64,
};
struct proto_type;
/* proto_member.fill: what the check stores of a method's param */
enum {
    PARAM_NONE = 0, /* nothing: it is no method's param */
    PARAM_INT,      /* int64_t */
    PARAM_BOOL,     /* bool */
    PARAM_ENUM,     /* int: the index of its value */
    PARAM_STR,      /* const char * */
    PARAM_JSON,     /* const cJSON * */
};
typedef struct proto_member {
    const char *name;
    const struct proto_type *type;
    bool required;
    uint8_t fill;    /* PARAM_... */
    uint16_t offset; /* in the struct of params */
    uint16_t has;    /* where that has a bool that says that it was given; 0: nowhere */
} proto_member;
typedef struct proto_type {
    unsigned kinds;
    const proto_member *members; /* [n_members] of an object, required ones first */
    const char *const *values;   /* [n_values] that a string may have; n_values 0: any */
    /* Of an array's items, or of an object's members that are not in `members`; NULL: anything. */
    const struct proto_type *items;
    /* Types that an object may have.  It has the first whose first required member it has. */
    const struct proto_type *const *choices;
    unsigned n_members, n_values, n_choices;
    bool closed; /* an object may have no other members */
    bool bounded;
    int64_t minimum; /* of a number, if bounded */
} proto_type;
extern const char proto_openrpc[]; /* the document that rpc.discover answers */

/* DP_EPARAMS names the place and both sides. */
int proto_check(const proto_type *t, const cJSON *j, const place *at, dp_error *err);
/* Check the params of a method against its `t` and store them in *out, whose struct is zeroed. */
int proto_read(const proto_type *t, const cJSON *params, void *out, dp_error *err);
/* Store an object that was checked against a type with t's members in *out, whose struct is
 * zeroed. */
void proto_fill(const proto_type *t, const cJSON *object, void *out);

/* -- proto.c: members of objects that were checked -- */

const cJSON *param(const cJSON *params, const char *name); /* NULL: absent */
/* n members at once, found[i] the one of names[i].  Returns the first that has none of these names;
 * NULL: all have. */
const cJSON *params_find(const cJSON *params, const char *const *names, size_t n,
                         const cJSON **found);
const char *param_str(const cJSON *params, const char *name); /* NULL: absent */
int64_t param_int(const cJSON *params, const char *name, int64_t absent);
const char *json_kind(const cJSON *j); /* "object", "string" ..., for messages */
/* The one of n names nearest to `name`; NULL: none is near. */
const char *nearest_name(const char *name, const char *const *names, size_t n);

/* -- run.c: what a running method keeps -- */

typedef struct pin {   /* an argument that came by handle: a tensor, a generator or an object */
    dp_tensor *tensor; /* owned */
    uint64_t handle;   /* the tensor's; 0: none */
    uint64_t storage;  /* its id when the method began, if it has a handle */
    dp_generator *generator; /* owned */
    dp_object *object;       /* owned */
} pin;

typedef struct run {
    pin *pins;
    size_t n_pins, cap_pins;
    uint64_t *fresh; /* handles that this method made; taken back when it fails */
    size_t n_fresh, cap_fresh;
    bool constants;          /* literals become a program's, which is charged for them */
    size_t n_written;        /* of `written`, which is last: it is long, and not zeroed */
    int64_t step;            /* of a program; -1: none */
    const int64_t *step_now; /* of a program that runs, read atomically; NULL: it does not */
    /* op.call: the kernel has run, and all that is left is to answer with `rets`. */
    bool called;
    dp_bound bound;
    dp_value *rets;                       /* [bound.n_rets], owned */
    uint64_t written[DP_LIMIT_ARGUMENTS]; /* handles whose bytes the call leaves unspecified */
} run;

/* Begin to keep things for rq's method, unless a worker goes on with what the loop's thread
 * kept. */
int run_begin(request *rq, dp_error *err);
/* DP_EDEADLINE: rq has not begun, and its deadline has passed at `now` (nanos). */
int run_check_deadline(const request *rq, uint64_t now, dp_error *err);
/* The method failed: take back its handles and its attachments. */
void run_undo(request *rq);
/* Memory that lasts until the request ends. */
void *run_alloc(request *rq, size_t bytes, dp_error *err);
/* The tensor with this handle, kept until the method ends; *out borrowed.  DP_ENOTFOUND names the
 * place. */
int run_pin(request *rq, uint64_t handle, const place *at, dp_tensor **out, dp_error *err);
/* The same for a generator. */
int run_pin_generator(request *rq, uint64_t handle, const place *at, dp_generator **out,
                      dp_error *err);
/* Find the object of the session that a handle names, and keep it until the method ends.  *out is
 * borrowed.  DP_ENOTFOUND: the session has no such handle.  DP_ERUNTIME: the object has ended with
 * its plugin. */
int run_pin_object(request *rq, uint64_t handle, const place *at, dp_object **out, dp_error *err);
/* Keep a tensor until the method ends; takes. */
int run_keep(request *rq, dp_tensor *t, dp_error *err);
int run_keep_generator(request *rq, dp_generator *g, dp_error *err);
/* The handle that t came in by; 0: none. */
uint64_t run_handle(const run *r, const dp_tensor *t);
/* The call leaves the bytes of t unspecified: list its handle, if it came by one.  NULL is fine. */
void run_written(run *r, const dp_tensor *t);
/* Give a tensor, a generator or an object a new handle in the session, which is taken back if the
 * method fails. */
int run_put(request *rq, dp_tensor *t, uint64_t *handle, dp_error *err);
int run_put_generator(request *rq, dp_generator *g, uint64_t *handle, dp_error *err);
int run_put_object(request *rq, dp_object *o, uint64_t *handle, dp_error *err);
/* Add an attachment to the answer; takes elements, and what the session is charged for them.  Its
 * index; -1: no memory. */
int run_attach(request *rq, void *elements, size_t bytes);
/* May so many bytes be copied or printed on this thread?  false: return DP_EWORKER. */
bool run_is_quick(request *rq, size_t bytes);
/* Is its memory the host's, or has it none? */
static inline bool device_is_host(dp_device device)
{
    int backend = dp_device_backend(device);

    return backend == DP_B_CPU || backend == DP_B_Meta;
}
/* May memory of this device be made, copied or released on this thread?  Only the host's on the
 * loop's, whatever a device takes for it.  false: return DP_EWORKER. */
bool run_may_reach(request *rq, dp_device device);
/* Fail with the error that the context holds. */
int run_ctx_error(request *rq, dp_error *err);

/* -- number.c -- */

/* A number, or "nan", "inf", "-inf". */
int double_from_json(const cJSON *j, const place *at, double *out, dp_error *err);
/* An integral number, or the decimal digits of an int64 as a string. */
int int_from_json(const cJSON *j, const place *at, int64_t *out, dp_error *err);

/* -- literal.c -- */

/* Tensor literal {"dtype", "shape", "data" | "attachment", "strides", "storage_offset"}, whose
 * members are the params of tensor.create; *out owned. */
int tensor_from_params(request *rq, const tensor_create_params *p, const place *at, dp_tensor **out,
                       dp_error *err);
int tensor_from_json(request *rq, const cJSON *j, const place *at, dp_tensor **out, dp_error *err);

/* -- value.c: JSON to dp_value; result.c: back -- */

/* What comes in was checked against proto's type `value`.  Its lists and strings live until
 * rq->ctx is reset, its tensors until the method ends. */

/* Numbers, strings, arrays (DP_TAG_LIST), {"tensor":n}, tensor literals; not yet fitted to any
 * schema. */
int value_from_json(request *rq, const cJSON *j, const place *at, dp_value *out, dp_error *err);
/* The items of an array, or the members of an object. */
int values_from_json(request *rq, const cJSON *array, const place *at, dp_value **out, size_t *n,
                     dp_error *err);

enum { /* proto's return_kind, and one more */
       RETURN_HANDLE = RETURN_KIND_HANDLE,
       RETURN_DATA = RETURN_KIND_DATA,
       RETURN_ATTACHMENT = RETURN_KIND_ATTACHMENT,
       RETURN_DESCRIBED,
};
/* One returned value.  A tensor becomes a descriptor: with a fresh handle, or with its elements and
 * no handle. */
int value_to_json(request *rq, jw *w, const dp_value *v, int how, dp_error *err);
/* A descriptor as one value, with data, an attachment or what else is known when `how` says so;
 * handle 0: left out. */
int tensor_to_json(request *rq, jw *w, dp_tensor *t, uint64_t handle, int how, dp_error *err);
/* A runtime key by its name.  DP_ENOTFOUND names the nearest ones, DP_EVALUE an alias. */
int key_from_json(const cJSON *j, const place *at, dp_key *out, dp_error *err);
/* Member `name`: the runtime keys of a set, highest priority first. */
void keyset_to_json(jw *w, const char *name, dp_keyset s);
/* The elements of t, whose view is *v, where they lie packed in the host's memory; NULL: they do
 * not, or there are none. */
void *host_elements(const dp_tensor *t, const dp_view *v);
/* Bytes of t's elements, packed; and the fewest characters they take as text.  UINT64_MAX: too many
 * to count.  t NULL: 0. */
uint64_t tensor_bytes(const dp_tensor *t);
uint64_t tensor_text_bytes(const dp_tensor *t);
/* Return tensor_bytes() of a tensor in the host's memory, and UINT64_MAX of one in a device's: a
 * short request must not touch that. */
uint64_t tensor_host_bytes(const dp_tensor *t);

/* -- object.c -- */

/* Write what is known of o. */
void object_to_json(jw *w, uint64_t handle, dp_object *o);

/* -- generator.c -- */

/* Param "seed", any 64 bits written as an int64; *out is left alone when there is none (NULL). */
int seed_from_json(const cJSON *seed, uint64_t *out, dp_error *err);
void member_seed(jw *w, uint64_t seed);

/* -- lower.c, inline.c: programs as JSON -- */

/* Make the program that the params of program.create describe.  *out: owned by the caller. */
int program_from_params(request *rq, const program_create_params *p, dp_program **out,
                        dp_error *err);
/* The steps, outputs and input values that program.run came with: the program, which may be one
 * that ran before, and its inputs in order.  *out owned; inputs in the request's memory. */
int program_inline(request *rq, const program_run_params *p, dp_program **out,
                   const dp_value **inputs, dp_error *err);
/* By handle; *out owned.  DP_ENOTFOUND names member "program" of the object at `at`. */
int program_get(request *rq, int64_t handle, const place *at, dp_program **out, dp_error *err);

/* -- methods that others build on -- */

/* run.c: member "warnings", what kernels of this request warned of, if they did. */
void warnings_to_json(const request *rq, jw *w);
/* op.c: an operator and its arguments as params, bound to an overload; args and kwargs may be
 * NULL. */
int bind_from_json(request *rq, const char *op, const cJSON *args, const cJSON *kwargs,
                   dp_bound *out, dp_error *err);
/* plugin.c: members "notes", what plugins say of themselves, and "kept", the generations that
 * should have left memory but have not, and why. */
int plugins_status(request *rq, dp_registry *reg, jw *w, dp_error *err);

#endif
