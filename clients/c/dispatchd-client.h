/* dispatchd-client.h -- a blocking client of dispatchd for C and C++ (library libdispatchd-client).
 *
 *     dpc_error err;
 *     dpc_client *c;
 *     dpc_answer *a = NULL;
 *     int64_t shape[] = {2}, sum;
 *     float x[] = {1, 2};
 *
 *     if (dpc_connect(NULL, &c, &err) != 0)
 *         ...                                    // err.message says why
 *     dpc_request *r = dpc_op_new("aten::add.Tensor");
 *     dpc_add_data(r, NULL, DPC_FLOAT32, shape, 1, x);
 *     dpc_add_int(r, NULL, 10);
 *     dpc_set_return(r, DPC_RETURN_BYTES);
 *     if (dpc_call(c, r, &a, &err) == 0) {
 *         dpc_tensor t;
 *         dpc_value_tensor(a, dpc_answer_output(a, 0), &t, &err);
 *         ...                                    // t.data points to t.nbytes bytes of `a`
 *     }
 *     dpc_answer_free(a);
 *     dpc_request_free(r);
 *     dpc_close(c);
 *
 * Ownership.  "Owned" means that the caller releases the value, by the function that is named.
 * "Borrowed from X" means that the value lives as long as X.  Text and arrays that are passed to a
 * function are copied, unless its comment says otherwise.
 *
 * Errors.  A function with a parameter `dpc_error *err` returns 0, or one of the codes DPC_E...
 * below, after it has described the failure in `*err`; `err` may be NULL.  On failure the results
 * are unchanged.  Functions that release something, and those that build requests, do not fail:
 * a request remembers its first fault, and the function that sends the request reports that fault.
 *
 * Over 500 lines: programs include this header alone.
 *
 * Threads.  The library starts no threads and has no global state.  "Thread: one at a time" means:
 * two threads must not use the same client, request or answer at the same time; different ones may
 * be used in parallel.  Several clients may share one session (dpc_options.session_key), and so the
 * tensors in it.  Where a comment says "any", every thread may call the function at any time.
 * Functions that only read an answer may run in several threads at once. */
#ifndef DISPATCHD_CLIENT_H
#define DISPATCHD_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define DPC_API __attribute__((visibility("default")))
#else
#define DPC_API
#endif

/* -- errors -- */

enum {
    DPC_EARGUMENT = -1, /* an argument or a request is wrong; nothing was sent */
    DPC_EMEMORY = -2,   /* out of memory; after dpc_call() the daemon may have run the request */
    DPC_ECONNECT = -3,  /* no daemon accepts connections at the path */
    DPC_EPEER = -4,     /* the server runs as a user whom this one does not trust */
    DPC_EBROKEN = -5, /* the connection ended; only dpc_reconnect() makes the client usable again */
    DPC_EPROTOCOL = -6, /* the daemon's answer is not as the protocol says; then as DPC_EBROKEN */
    DPC_EDAEMON = -7,   /* the daemon answered an error: `type` and `message` are the daemon's */
    DPC_ETIMEOUT = -8,  /* the time was over before the answer came */
    DPC_EFULL = -9,     /* DPC_OUTSTANDING_MAX answers are not received yet; nothing was sent */
    DPC_EKIND = -10     /* a value of an answer is of another kind than was asked for */
};

typedef struct dpc_error {
    int code;           /* DPC_E... */
    int rpc_code;       /* JSON-RPC's code with DPC_EDAEMON (-32602: wrong params), else 0 */
    char type[40];      /* the daemon's error type with DPC_EDAEMON, such as "TypeError"; else "" */
    char op[128];       /* operator that the daemon's error names; "": none */
    char message[1024]; /* one line in English; a longer message ends in "..." */
} dpc_error;

/* Return the version of the library, such as "0.1.0"; static.  Thread: any. */
DPC_API const char *dpc_version(void);

/* -- connections -- */

typedef struct dpc_client dpc_client;

enum {
    DPC_OUTSTANDING_MAX = 1000, /* answers of one client that dpc_receive() has not given yet */
    DPC_OUTSTANDING_BYTES = 1 << 20, /* bytes of requests that the daemon has not answered */
    DPC_SPIN_US = 50                 /* default of dpc_options.spin_us */
};

/* Options of dpc_connect().  Initialise with DPC_OPTIONS_INIT, then set fields. */
typedef struct dpc_options {
    size_t size;             /* sizeof(dpc_options) */
    const char *socket;      /* NULL: see dpc_socket_path() */
    const char *name;        /* name of the program, for server.hello; NULL: none */
    const char *session_key; /* key of the session to join; NULL: a session of its own */
    int64_t linger_ms;       /* milliseconds that the session outlives its last connection */
    int timeout_ms;          /* limit for sending, and for dpc_call(); -1: no limit */
    int spin_us;             /* microseconds to look for an answer, yielding, before sleeping */
    bool no_hello;           /* true: send no server.hello; then there is no key and no limit */
} dpc_options;

#define DPC_OPTIONS_INIT                                                                           \
    {                                                                                              \
        sizeof(dpc_options), NULL, NULL, NULL, 0, -1, DPC_SPIN_US, false                           \
    }

/* Write the path of the daemon's socket to `buf`: `path` if it is not NULL, else
 * $DISPATCHD_SOCKET, else $XDG_RUNTIME_DIR/dispatchd.sock, else /run/dispatchd.sock for root, else
 * dispatchd-UID/dispatchd.sock in the temporary directory.  Returns `buf`; NULL: the path does not
 * fit.  Thread: any, as for getenv(). */
DPC_API const char *dpc_socket_path(const char *path, char *buf, size_t bytes);

/* Connect to the daemon, check by SO_PEERCRED that root, this user or the user whose number is in
 * $DISPATCHD_SERVER_UID runs it, and greet it with server.hello.  `options` NULL: the defaults.
 * `*out` is owned: dpc_close().  Errors: EARGUMENT, EMEMORY, ECONNECT, EPEER, EBROKEN, EPROTOCOL,
 * EDAEMON (an unknown session_key is the daemon's "NotFound"), ETIMEOUT.  Thread: any. */
DPC_API int dpc_connect(const dpc_options *options, dpc_client **out, dpc_error *err);

/* Close the connection and release the client; NULL is allowed.  The daemon cancels requests that
 * it has not answered.  Answers that were received stay valid.  Returns NULL.  Thread: one at a
 * time. */
DPC_API dpc_client *dpc_close(dpc_client *c);

/* Close the connection and connect again to the same path, in the same session if that session
 * still exists, else in a new one; `*rejoined` (may be NULL) tells which.  Tensors, programs and
 * other handles of an earlier session are gone.  Answers that were not received are lost, and it is
 * unknown which of their requests ran.  While no daemon listens, the function tries again until
 * `timeout_ms` have passed (0: one try, -1: no limit).  Errors: as dpc_connect(); after a failure
 * the client is as with EBROKEN, and the function may be called again.  Thread: one at a time. */
DPC_API int dpc_reconnect(dpc_client *c, int timeout_ms, bool *rejoined, dpc_error *err);

/* Open another connection in the session of `c`, with the options of dpc_connect().  It does not
 * need the socket's path, and the daemon's limits on connections hold for it.  It has no handles,
 * modes or answers in common with `c` but the session's; both clients may be used in different
 * threads, and either may be closed first.  `*out` is owned: dpc_close().  Errors: as dpc_call(),
 * and EPEER.  Thread: one at a time. */
DPC_API int dpc_open(dpc_client *c, dpc_client **out, dpc_error *err);

/* Return the key that lets another connection join the session; "" without hello.  Borrowed from
 * `c`, until dpc_reconnect().  Thread: one at a time. */
DPC_API const char *dpc_session_key(const dpc_client *c);

/* Return a limit of the daemon by its name in the answer of server.hello, such as "line_bytes";
 * -1: there is no such limit.  Thread: one at a time. */
DPC_API int64_t dpc_limit(const dpc_client *c, const char *name);

/* Test whether the answer of server.hello lists `feature`.  Thread: one at a time. */
DPC_API bool dpc_has_feature(const dpc_client *c, const char *feature);

/* Return the socket, for poll(); borrowed from `c`, until dpc_reconnect().  An answer may already
 * be in the client's memory: call dpc_receive() with a timeout of 0 before sleeping in poll().
 * Thread: one at a time. */
DPC_API int dpc_fd(const dpc_client *c);

/* -- dtypes -- */

typedef enum dpc_dtype { /* numbers of PyTorch's ScalarType */
                         DPC_UINT8 = 0,
                         DPC_INT8 = 1,
                         DPC_INT16 = 2,
                         DPC_INT32 = 3,
                         DPC_INT64 = 4,
                         DPC_FLOAT16 = 5,
                         DPC_FLOAT32 = 6,
                         DPC_FLOAT64 = 7,
                         DPC_COMPLEX64 = 9,
                         DPC_COMPLEX128 = 10,
                         DPC_BOOL = 11,
                         DPC_BFLOAT16 = 15,
                         DPC_DTYPE_OTHER = 255 /* in answers: a dtype that has no number here */
} dpc_dtype;

/* Return the protocol's name of a dtype, such as "float32"; static.  NULL: no such dtype.
 * Thread: any. */
DPC_API const char *dpc_dtype_name(dpc_dtype dtype);

/* Return the bytes of one element; 0: no such dtype.  Thread: any. */
DPC_API size_t dpc_dtype_size(dpc_dtype dtype);

/* -- requests -- */

/* A request that is being built.  It can be sent any number of times, by any client.  In all
 * functions below `r` may be NULL, which stands for a request for which there was no memory. */
typedef struct dpc_request dpc_request;

enum { DPC_DEPTH_MAX = 64 /* lists and objects of a request inside each other */ };

/* Begin a request for any method of the protocol (docs/methods.md); dpc_add_...() add its params by
 * name.  Owned: dpc_request_free().  NULL: out of memory.  Thread: any. */
DPC_API dpc_request *dpc_request_new(const char *method);

/* Begin a request whose params are the JSON object `params`; NULL: none.  Nothing can be added to
 * this request but attachments.  Owned: dpc_request_free().  NULL: out of memory.  Thread: any. */
DPC_API dpc_request *dpc_request_json(const char *method, const char *params);

/* Begin a call of an operator ("aten::add.Tensor", or "aten::add" to let the daemon choose the
 * overload).  dpc_add_...() add its arguments: with a NULL name by position, else by name.  Owned:
 * dpc_request_free().  NULL: out of memory.  Thread: any. */
DPC_API dpc_request *dpc_op_new(const char *op);

/* Begin a run of a program that dpc_program_create() made; dpc_add_...() add its inputs by name.
 * Owned: dpc_request_free().  NULL: out of memory.  Thread: any. */
DPC_API dpc_request *dpc_run_new(int64_t program);

/* Begin the creation of a tensor from row-major, packed elements, like dpc_add_data().  Useful with
 * dpc_set_into(), to send it without waiting; else see dpc_tensor_create().  Owned:
 * dpc_request_free().  NULL: out of memory.  Thread: any. */
DPC_API dpc_request *dpc_create_new(dpc_dtype dtype, const int64_t *shape, size_t ndim,
                                    const void *data);

/* Remove everything that was added to the request or set in it, and its fault; its memory is used
 * again.  Thread: one at a time. */
DPC_API void dpc_request_reset(dpc_request *r);

/* Release a request; NULL is allowed.  Returns NULL.  Thread: one at a time. */
DPC_API dpc_request *dpc_request_free(dpc_request *r);

/* Add a value.  `name`: the member of an object, the name of an argument or of a param; NULL in
 * lists and for arguments by position.  Thread: one at a time. */
DPC_API void dpc_add_none(dpc_request *r, const char *name);
DPC_API void dpc_add_bool(dpc_request *r, const char *name, bool value);
DPC_API void dpc_add_int(dpc_request *r, const char *name, int64_t value);
DPC_API void dpc_add_float(dpc_request *r, const char *name, double value);
DPC_API void dpc_add_complex(dpc_request *r, const char *name, double re, double im);
/* `value` is UTF-8; dtypes, devices, layouts and memory formats are strings, too. */
DPC_API void dpc_add_str(dpc_request *r, const char *name, const char *value);
DPC_API void dpc_add_tensor(dpc_request *r, const char *name, int64_t handle);
DPC_API void dpc_add_generator(dpc_request *r, const char *name, int64_t handle);
DPC_API void dpc_add_object(dpc_request *r, const char *name, int64_t handle);
/* a list of ints, of floats, of tensors */
DPC_API void dpc_add_ints(dpc_request *r, const char *name, const int64_t *values, size_t n);
DPC_API void dpc_add_floats(dpc_request *r, const char *name, const double *values, size_t n);
DPC_API void dpc_add_tensors(dpc_request *r, const char *name, const int64_t *handles, size_t n);
/* Add JSON text, unchanged but for line feeds, which become spaces. */
DPC_API void dpc_add_json(dpc_request *r, const char *name, const char *json);

/* Add a tensor by its elements, row-major and packed; shape [ndim].  The bytes of `data` are
 * borrowed until dpc_request_reset() or dpc_request_free(): they are read each time that the
 * request is sent.  Thread: one at a time. */
DPC_API void dpc_add_data(dpc_request *r, const char *name, dpc_dtype dtype, const int64_t *shape,
                          size_t ndim, const void *data);

/* -- memory that client and daemon share --
 *
 * The elements of a tensor that is made from such memory are not copied: the daemon maps the same
 * pages.  Make a dpc_memory, write the elements into it, and hand it over by one of the functions
 * below.  These seal the memory: from then on nobody can write it, and an attempt ends the process
 * by SIGSEGV.  If an operator writes a tensor that is made from it, the daemon copies the pages
 * concerned, and the memory stays as it is. */
typedef struct dpc_memory dpc_memory;

/* Make a memory of `nbytes` bytes, all 0.  `*out` is owned: dpc_memory_free().  Errors: EARGUMENT
 * (`nbytes` is 0), EMEMORY (also: no file descriptor is left).  Thread: any. */
DPC_API int dpc_memory_new(size_t nbytes, dpc_memory **out, dpc_error *err);

/* Return the address of the bytes, aligned to a page; borrowed from `m`.  A child process that is
 * forked before the memory is sealed does not have it.  Thread: any. */
DPC_API void *dpc_memory_data(dpc_memory *m);

/* Release the memory; NULL is allowed.  Requests to which it was added, and tensors of the daemon,
 * keep using it.  Returns NULL.  Thread: any. */
DPC_API dpc_memory *dpc_memory_free(dpc_memory *m);

/* Add a tensor whose elements, row-major and packed, begin at byte `offset` of `m`, a multiple of
 * the dtype's size; shape [ndim].  Seals `m`; the request uses `m` until dpc_request_reset() or
 * dpc_request_free().  Thread: one at a time, for the request and for the memory. */
DPC_API void dpc_add_memory(dpc_request *r, const char *name, dpc_dtype dtype, const int64_t *shape,
                            size_t ndim, dpc_memory *m, size_t offset);

/* Begin the creation of a tensor from `m`, like dpc_add_memory(); see also dpc_create_new() and
 * dpc_tensor_share().  Owned: dpc_request_free().  NULL: out of memory.  Thread: one at a time for
 * the memory. */
DPC_API dpc_request *dpc_share_new(dpc_dtype dtype, const int64_t *shape, size_t ndim,
                                   dpc_memory *m, size_t offset);

/* Have `m` sent beside the request's line, and seal it.  Returns the index for members "fd" in JSON
 * text.  A request has 16 memories at most.  Thread: one at a time, for the request and for the
 * memory. */
DPC_API size_t dpc_attach_memory(dpc_request *r, dpc_memory *m);

/* Add bytes that follow the request's line, borrowed like `data` of dpc_add_data().  Returns the
 * index for members "attachment" in JSON text.  Thread: one at a time. */
DPC_API size_t dpc_attach(dpc_request *r, const void *data, size_t nbytes);

/* Begin a list or an object, to which the following calls add until dpc_end().  Thread: one at a
 * time. */
DPC_API void dpc_begin_list(dpc_request *r, const char *name);
DPC_API void dpc_begin_object(dpc_request *r, const char *name);
DPC_API void dpc_end(dpc_request *r);

enum {
    DPC_RETURN_HANDLE = 0, /* tensors stay with the daemon, and the answer has their handles */
    DPC_RETURN_DATA = 1,   /* the answer has their elements as nested lists */
    DPC_RETURN_BYTES = 2   /* the answer has their elements as bytes */
};

/* Set a param of op.call, program.run or (only `into`) tensor.create; each once at most, else the
 * daemon refuses the request.  Thread: one at a time. */
DPC_API void dpc_set_return(dpc_request *r, int how);
/* milliseconds from when the daemon reads the request until it fails with DeadlineExceeded */
DPC_API void dpc_set_deadline(dpc_request *r, int64_t ms);
/* Choose the handles of the outputs, in order: numbers below 0, see dpc_handle_new(); 0: the
 * daemon chooses.  Later requests of the client may use them at once.  Needs feature "into". */
DPC_API void dpc_set_into(dpc_request *r, const int64_t *handles, size_t n);
/* any other param, as JSON: "trace", "grad_enabled", "into" with lists, ... */
DPC_API void dpc_set_json(dpc_request *r, const char *name, const char *json);

/* Return a handle below 0 for dpc_set_into() that this client has not returned before.  Clients of
 * one session choose from different random ranges of 2^32 numbers.  Thread: one at a time. */
DPC_API int64_t dpc_handle_new(dpc_client *c);

/* -- sending and receiving -- */

typedef struct dpc_answer dpc_answer;

/* Send `r` and wait for its answer, at most dpc_options.timeout_ms.  `*out` (may be NULL) is owned:
 * dpc_answer_free().  Errors: EARGUMENT (also while answers to dpc_submit() are not received),
 * EMEMORY, EBROKEN, EPROTOCOL, EDAEMON, ETIMEOUT (the answer is dropped when it comes).
 * Thread: one at a time. */
DPC_API int dpc_call(dpc_client *c, const dpc_request *r, dpc_answer **out, dpc_error *err);

/* Call `method` with a JSON object as params (NULL: none), like dpc_call().  Thread: one at a
 * time. */
DPC_API int dpc_call_json(dpc_client *c, const char *method, const char *params, dpc_answer **out,
                          dpc_error *err);

/* Send `r` without waiting for its answer; answers come in the order of the requests, by
 * dpc_receive().  While the daemon takes no more bytes, the function reads answers into memory, and
 * no number of requests leaves both sides waiting for each other.  `*id` (may be NULL) is the
 * request's number for dpc_cancel().  Errors: EARGUMENT, EMEMORY, EBROKEN, EPROTOCOL, EFULL,
 * ETIMEOUT (nothing was sent).  Thread: one at a time. */
DPC_API int dpc_submit(dpc_client *c, const dpc_request *r, uint64_t *id, dpc_error *err);

/* Send `r` as a notification: it is run, but not answered.  Method session.sync tells which
 * notifications failed.  Errors: as dpc_submit(), but not EFULL.  Thread: one at a time. */
DPC_API int dpc_notify(dpc_client *c, const dpc_request *r, dpc_error *err);

/* Return the number of answers that dpc_receive() has not given yet.  Thread: one at a time. */
DPC_API size_t dpc_outstanding(const dpc_client *c);

/* Give the answer to the oldest request of dpc_submit(); wait for it at most `timeout_ms` (-1: no
 * limit).  Returns 0 also if the daemon answered an error: dpc_answer_error().  `*out` is owned:
 * dpc_answer_free().  Errors: EARGUMENT (nothing is outstanding), EMEMORY (the answer may be
 * received again), EBROKEN, EPROTOCOL, ETIMEOUT (the request stays outstanding).  Thread: one at a
 * time. */
DPC_API int dpc_receive(dpc_client *c, int timeout_ms, dpc_answer **out, dpc_error *err);

/* Ask the daemon to cancel request `id` (dpc_submit); it does not wait.  The request's answer, the
 * error "Cancelled" or its result, is received as usual.  Errors: as dpc_notify().  Thread: one at
 * a time. */
DPC_API int dpc_cancel(dpc_client *c, uint64_t id, dpc_error *err);

/* A value of an answer: a node of cJSON, which programs that use cJSON may read as such. */
typedef struct cJSON dpc_value;

/* Have `fn` called, with `context`, for each notification of the daemon, by whichever function of
 * the client reads it; NULL: drop notifications.  `method` and `params` (NULL: none) are borrowed
 * for the call.  `fn` must not use the client.  Thread: one at a time. */
typedef void dpc_notification_fn(void *context, const char *method, const dpc_value *params);
DPC_API void dpc_on_notification(dpc_client *c, dpc_notification_fn *fn, void *context);

/* Wait until a message of the daemon was read: a notification, or an answer, which stays for
 * dpc_receive(); at most `timeout_ms` (-1: no limit).  Errors: EMEMORY, EBROKEN, EPROTOCOL,
 * ETIMEOUT.  Thread: one at a time. */
DPC_API int dpc_wait(dpc_client *c, int timeout_ms, dpc_error *err);

/* -- answers -- */

/* Release an answer and all that is borrowed from it; NULL is allowed.  Returns NULL.  Thread: one
 * at a time. */
DPC_API dpc_answer *dpc_answer_free(dpc_answer *a);

/* Return the number of the answered request (dpc_submit); 0: the daemon could not tell, which it
 * answers only with an error.  Thread: any. */
DPC_API uint64_t dpc_answer_id(const dpc_answer *a);

/* Return 0 if `a` has a result; else DPC_EDAEMON, and `*err` describes the daemon's error.
 * Thread: any. */
DPC_API int dpc_answer_error(const dpc_answer *a, dpc_error *err);

/* Return the daemon's error object with "code", "message" and "data" (docs/protocol.md, Errors);
 * NULL: the answer has a result.  Borrowed from `a`.  Thread: any. */
DPC_API const dpc_value *dpc_answer_fault(const dpc_answer *a);

/* Return the result of the method; NULL: the answer is an error.  Borrowed from `a`.  Thread:
 * any. */
DPC_API const dpc_value *dpc_answer_result(const dpc_answer *a);

/* Return the number of outputs of op.call and program.run; 0: there are none.  Thread: any. */
DPC_API size_t dpc_answer_outputs(const dpc_answer *a);

/* Return output `i`; NULL: there is none.  Borrowed from `a`.  Thread: any. */
DPC_API const dpc_value *dpc_answer_output(const dpc_answer *a, size_t i);

/* Return attachment `i` and write its size to `*nbytes` (may be NULL); NULL: there is none.
 * Borrowed from `a`, aligned for every dtype.  Thread: any. */
DPC_API const void *dpc_answer_attachment(const dpc_answer *a, size_t i, size_t *nbytes);

typedef enum dpc_kind {
    DPC_KIND_NONE,
    DPC_KIND_BOOL,
    DPC_KIND_INT,
    DPC_KIND_FLOAT,
    DPC_KIND_COMPLEX,
    DPC_KIND_STR,
    DPC_KIND_LIST,
    DPC_KIND_TENSOR, /* an object that describes a tensor: dpc_value_tensor() */
    DPC_KIND_OBJECT, /* a plugin's object: member "object" is its handle */
    DPC_KIND_DICT    /* any other JSON object */
} dpc_kind;

/* Return the kind of a value; NULL is DPC_KIND_NONE.  A number is an int if it has an integral
 * value of less than 2^53; the daemon writes other ints and integral floats so that they can be
 * told apart.  Thread: any. */
DPC_API dpc_kind dpc_value_kind(const dpc_value *v);

/* Read a value.  Returns 0, or DPC_EKIND if `v` (may be NULL) is of another kind; `*out` is
 * unchanged then.  dpc_value_float() takes ints, too, and dpc_value_complex() takes both.
 * Thread: any. */
DPC_API int dpc_value_bool(const dpc_value *v, bool *out);
DPC_API int dpc_value_int(const dpc_value *v, int64_t *out);
DPC_API int dpc_value_float(const dpc_value *v, double *out);
DPC_API int dpc_value_complex(const dpc_value *v, double *re, double *im);

/* Return the text of a string; NULL: `v` is none.  Borrowed from the answer.  Thread: any. */
DPC_API const char *dpc_value_str(const dpc_value *v);

/* Return the number of elements of a list or of members of an object; 0: `v` is neither.
 * Thread: any. */
DPC_API size_t dpc_value_len(const dpc_value *v);

/* Return element `i` of a list, or member `name` of an object; NULL: there is none.  Borrowed from
 * the answer.  Thread: any. */
DPC_API const dpc_value *dpc_value_at(const dpc_value *v, size_t i);
DPC_API const dpc_value *dpc_value_member(const dpc_value *v, const char *name);

enum { DPC_DIMS_MAX = 64 };

/* A tensor as an answer describes it.  A plain copy: nothing in it is to be released. */
typedef struct dpc_tensor {
    int64_t handle;  /* 0: the tensor has no handle, because its elements were answered */
    int64_t storage; /* number of its storage, which views share; -1: a wrapper tensor */
    int64_t version; /* counts the calls that wrote to it */
    int64_t storage_offset;
    dpc_dtype dtype;
    bool requires_grad;
    int ndim;
    int64_t shape[DPC_DIMS_MAX];
    int64_t strides[DPC_DIMS_MAX]; /* in elements */
    char device[64];
    /* elements, borrowed from the answer: row-major and packed, but with DPC_SHARED as `strides`
     * say.  NULL: the answer has them not as bytes */
    const void *data;
    size_t nbytes; /* bytes at `data`, up to the last element */
} dpc_tensor;

/* Read the description of a tensor: an output, or the result of a method tensor.*.  Errors: EKIND
 * (`v` does not describe a tensor), EPROTOCOL (its members contradict each other).  Thread: any. */
DPC_API int dpc_value_tensor(const dpc_answer *a, const dpc_value *v, dpc_tensor *out,
                             dpc_error *err);

/* -- tensors and programs: one call each -- */

/* Like dpc_call(), the functions below wait for the daemon at most dpc_options.timeout_ms and fail
 * as dpc_call() does.  Thread: one at a time. */

/* Create a tensor from row-major, packed elements.  `*handle` is the caller's until
 * dpc_tensor_release() or the end of the session. */
DPC_API int dpc_tensor_create(dpc_client *c, dpc_dtype dtype, const int64_t *shape, size_t ndim,
                              const void *data, int64_t *handle, dpc_error *err);

/* Create a tensor whose elements begin at byte `offset` of `m`, without a copy; see
 * dpc_add_memory().  `*handle` as above. */
DPC_API int dpc_tensor_share(dpc_client *c, dpc_dtype dtype, const int64_t *shape, size_t ndim,
                             dpc_memory *m, size_t offset, int64_t *handle, dpc_error *err);

enum {
    DPC_COPY = 1,  /* the elements are copied into the answer */
    DPC_SHARED = 2 /* the tensor's own memory is mapped, read-only; nothing is copied */
};

/* Read a tensor's elements.  `how` is DPC_COPY or DPC_SHARED; other numbers are EARGUMENT.
 * `out->data` is borrowed from `*hold`, which is owned: dpc_answer_free() or dpc_tensor_unmap().
 *
 * With DPC_SHARED `out->data` points to the tensor's memory, where the elements lie as
 * `out->strides` say.  Later calls that write the tensor change it, also while it is read.  A
 * tensor that was in ordinary memory of the daemon is copied into shared memory at the first such
 * read.  The memory of a tensor is mapped once, and stays mapped for later reads after
 * dpc_answer_free(); dpc_tensor_unmap() gives it back.  At most dpc_limit(c, "maps") memories are
 * mapped; a further one takes the place of those that no answer uses, else it is the daemon's
 * "ResourceExhausted".  The mapping of `*hold` stays valid until `*hold` is released, also after
 * dpc_reconnect(), dpc_close() and the end of the daemon; but when a session of another uid than
 * the daemon's ends, its tensors become zeros.  A tensor on a device or without memory is the
 * daemon's "NotImplementedError".
 *
 * The answer to a request of tensor.read with "as": "fd", sent by dpc_submit(), is such a `*hold`,
 * too; dpc_value_tensor() reads it. */
DPC_API int dpc_tensor_read(dpc_client *c, int64_t handle, int how, dpc_tensor *out,
                            dpc_answer **hold, dpc_error *err);

/* Release `hold`, which dpc_tensor_read() gave, like dpc_answer_free(), also on failure.  If no
 * other answer uses its memory, unmap the memory and tell the daemon, which may then use it for
 * other tensors; but not while answers are outstanding that could name the same memory.  The
 * function does not wait for an answer.  `hold` may be NULL, or be from another connection: then it
 * is only released.  Errors: EARGUMENT, EMEMORY, EBROKEN, EPROTOCOL, ETIMEOUT. */
DPC_API int dpc_tensor_unmap(dpc_client *c, dpc_answer *hold, dpc_error *err);

/* Release handles of tensors.  If one is unknown, none is released. */
DPC_API int dpc_tensor_release(dpc_client *c, const int64_t *handles, size_t n, dpc_error *err);

/* Create a program from a JSON object with "inputs", "constants" (optional), "steps" and "outputs"
 * (docs/programs.md).  `*program` is the caller's until dpc_program_release() or the end of the
 * session. */
DPC_API int dpc_program_create(dpc_client *c, const char *json, int64_t *program, dpc_error *err);
DPC_API int dpc_program_release(dpc_client *c, int64_t program, dpc_error *err);

#ifdef __cplusplus
}
#endif
#endif
