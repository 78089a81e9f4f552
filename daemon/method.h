/* method.h -- what the files that run methods share: checked params, places in errors, outputs.
 *
 * proto/ is data; proto_tables.py turns it into the tables declared here, and one generic function
 * checks params against them, so a method reads only what is known to be there and of its type. */
#ifndef DAEMON_METHOD_H
#define DAEMON_METHOD_H

#include "daemon.h"

/* -- JSON -- */

enum {
    LIMIT_JSON_NODES = 1 << 20,  /* values in one line */
    LIMIT_JSON_NUMBER_BYTES = 63 /* cJSON reads numbers through a buffer of 64 */
};
#define JSON_EXACT_INT ((int64_t)1 << 53) /* bare integers stay below it, in both directions */

/* Bytes of the UTF-8 sequence at s [n > 0]; 0: it is none. */
size_t utf8_sequence(const char *s, size_t n);
/* Strict parse: *out owned.  DP_EVALUE says what is wrong and where, DP_ERESOURCE no memory. */
int json_parse(const char *s, size_t n, cJSON **out, dp_error *err);
/* Bytes as they are: no comma, nothing checked. */
void jw_text(jw *w, const char *s, size_t n);
/* A member of the open object. */
void member_str(jw *w, const char *name, const char *s);
void member_int(jw *w, const char *name, int64_t i);
void member_bool(jw *w, const char *name, bool b);
void member_strings(jw *w, const char *name, const char *const *strings, size_t n);
enum { ELEMENT_TEXT_MAX = 96 };
/* Text of one element, not NUL-terminated; returns its length. */
size_t element_print(char out[ELEMENT_TEXT_MAX], dp_dtype dtype, const void *p);

/* Where in the params something is.  Made on the stack on the way down; costs nothing until an
 * error prints it: "args[1].data". */
typedef struct place {
    const struct place *up; /* NULL: top */
    const char *name;       /* NULL: [index] */
    size_t index;
} place;
/* dp_error_set(err, code, "<place>: <format>"). */
int place_fail(dp_error *err, int code, const place *at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* -- proto -- */

enum { /* proto_type.kinds; 0: anything */
       PROTO_NULL = 1,
       PROTO_BOOL = 2,
       PROTO_INT = 4, /* an integral number below 2^53 */
       PROTO_NUMBER = 8,
       PROTO_STRING = 16,
       PROTO_ARRAY = 32,
       PROTO_OBJECT = 64,
};
struct proto_type;
typedef struct proto_member {
    const char *name;
    const struct proto_type *type;
    bool required;
} proto_member;
typedef struct proto_type {
    unsigned kinds;
    const proto_member *members; /* [n_members] of an object, required ones first */
    const char *const *values;   /* [n_values] of a string; n_values 0: any */
    const struct proto_type
        *items; /* of an array, or of an object's other members; NULL: anything */
    const struct proto_type *const
        *choices; /* objects: the first whose first required member is there */
    unsigned n_members, n_values, n_choices;
    bool closed; /* an object with other members is an error */
    bool bounded;
    int64_t minimum; /* of a number, if bounded */
} proto_type;
typedef struct proto_method {
    const char *name;
    const proto_type *params;
} proto_method;
extern const proto_method proto_methods[]; /* by name; ends with a NULL name */
extern const char proto_openrpc[];         /* the document of rpc.discover */

const proto_method *proto_find(const char *name);
/* DP_EPARAMS names the place and both sides. */
int proto_check(const proto_type *t, const cJSON *j, const place *at, dp_error *err);

/* -- params that were checked -- */

const cJSON *param(const cJSON *params, const char *name);    /* NULL: absent */
const char *param_str(const cJSON *params, const char *name); /* NULL: absent */
int64_t param_int(const cJSON *params, const char *name, int64_t absent);
bool param_bool(const cJSON *params, const char *name);
/* Which of the NULL-ended `values` it is; 0 when absent. */
int param_enum(const cJSON *params, const char *name, const char *const *values);
const char *json_kind(const cJSON *j); /* "object", "string" ..., for messages */
/* The one of n names nearest to `name`, or NULL when none is near. */
const char *nearest_name(const char *name, const char *const *names, size_t n);

/* -- what a running method keeps -- */

typedef struct pin {   /* an argument that came as {"tensor":handle} */
    dp_tensor *tensor; /* owned */
    uint64_t handle;
} pin;

/* Values that the steps of a program have named. */
typedef struct program program;

typedef struct run {
    pin *pins;
    size_t n_pins, cap_pins;
    uint64_t *fresh; /* handles made by this method: taken back when it fails */
    size_t n_fresh, cap_fresh;
    uint64_t written[DP_LIMIT_ARGUMENTS]; /* handles whose bytes are unspecified now */
    size_t n_written;
    int64_t step;           /* of a program, -1: none */
    const program *program; /* NULL: {"ref"} is not understood */
} run;

/* A tensor by handle, kept until the method ends: borrowed.  DP_ENOTFOUND names the place. */
int run_pin(request *rq, uint64_t handle, const place *at, dp_tensor **out, dp_error *err);
/* Keep a tensor until the method ends; takes. */
int run_keep(request *rq, dp_tensor *t, dp_error *err);
uint64_t run_handle(const run *r, const dp_tensor *t); /* that it came in by; 0: none */
int run_put(request *rq, dp_tensor *t, uint64_t *handle, dp_error *err); /* a fresh handle */
/* {"ref":...} of a program; *out borrowed. */
int program_ref(const program *p, const cJSON *j, const place *at, dp_value *out, dp_error *err);

/* A number, "nan", "inf" or "-inf"; an integral number, or the decimal digits of an int64. */
int double_from_json(const cJSON *j, const place *at, double *out, dp_error *err);
int int_from_json(const cJSON *j, const place *at, int64_t *out, dp_error *err);
/* An array of values, or the members of an object, in the request's memory. */
int values_from_json(request *rq, const cJSON *array, const place *at, dp_value **out, size_t *n,
                     dp_error *err);
/* {"op", "args"?, "kwargs"?} of j, bound to an overload. */
int bind_from_json(request *rq, const cJSON *j, const place *at, dp_bound *out, dp_error *err);
size_t tensor_bytes(const dp_tensor *t); /* of its elements, packed; NULL: 0 */
/* A descriptor as one value, with data or an attachment when `how` says so; handle 0: left out. */
int tensor_to_json(request *rq, jw *w, dp_tensor *t, uint64_t handle, int how, dp_error *err);
/* Member `name`: the runtime keys of a set, highest priority first. */
void keyset_to_json(jw *w, const char *name, dp_keyset s);
/* May a method that copies or prints so many bytes run here?  false: return DP_EWORKER. */
enum { QUICK_BYTES = 4096 };
bool run_is_quick(request *rq, size_t bytes);
/* The context's error as the method's. */
int run_ctx_error(request *rq, dp_error *err);

/* -- the methods -- */

#define METHOD_MAP(X)                                                                              \
    X("op.call", op_call, METHOD_CALL)                                                             \
    X("plugin.describe", plugin_describe, METHOD_WORKER)                                           \
    X("plugin.list", plugin_list, METHOD_WORKER)                                                   \
    X("plugin.load", plugin_load, METHOD_WORKER)                                                   \
    X("plugin.reload", plugin_reload, METHOD_WORKER)                                               \
    X("plugin.unload", plugin_unload, METHOD_WORKER)                                               \
    X("program.run", program_run, METHOD_WORKER)                                                   \
    X("registry.check", registry_check, METHOD_WORKER)                                             \
    X("registry.describe", registry_describe, METHOD_WORKER)                                       \
    X("registry.dump", registry_dump, METHOD_WORKER)                                               \
    X("registry.explain", registry_explain, METHOD_WORKER)                                         \
    X("registry.keys", registry_keys, METHOD_WORKER)                                               \
    X("registry.list", registry_list, METHOD_WORKER)                                               \
    X("registry.table", registry_table, METHOD_WORKER)                                             \
    X("rpc.discover", rpc_discover, METHOD_QUICK)                                                  \
    X("server.hello", server_hello, METHOD_QUICK)                                                  \
    X("server.shutdown", server_shutdown_method, METHOD_QUICK)                                     \
    X("server.status", server_status, METHOD_QUICK)                                                \
    X("session.get", session_get_method, METHOD_QUICK)                                             \
    X("session.set", session_set_method, METHOD_QUICK)                                             \
    X("tensor.create", tensor_create, METHOD_QUICK)                                                \
    X("tensor.describe", tensor_describe, METHOD_QUICK)                                            \
    X("tensor.list", tensor_list, METHOD_WORKER)                                                   \
    X("tensor.read", tensor_read, METHOD_QUICK)                                                    \
    X("tensor.release", tensor_release, METHOD_QUICK)

#define METHOD_DECLARE_(name, fn, where)                                                           \
    int fn(request *rq, const cJSON *params, jw *w, dp_error *err);
METHOD_MAP(METHOD_DECLARE_)
#undef METHOD_DECLARE_

#endif
