/* client.h -- types and functions that the files of libdispatchd-client share.
 *
 * request.c builds requests, memory.c has memory that passes as descriptors, answer.c reads
 * answers, receive.c turns the received bytes into answers, maps.c the received descriptors into
 * memory, send.c sends requests and reads while the daemon takes no bytes, connect.c makes
 * connections, and calls.c has functions that make one call each. */
#ifndef DISPATCHD_CLIENT_INTERNAL_H
#define DISPATCHD_CLIENT_INTERNAL_H

#include "dispatchd-client.h"
#include <cjson/cJSON.h>
#include <stdarg.h>

struct msghdr;

enum { DPCI_FDS_MAX = 16 /* descriptors of one message: the protocol's limit */ };

/* -- error.c -- */

/* Describe a failure in `*err` (may be NULL); returns `code`. */
int dpci_fail(dpc_error *err, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Describe the error object of an answer in `*err` (may be NULL); returns DPC_EDAEMON. */
int dpci_fail_daemon(dpc_error *err, const cJSON *error);

/* -- growing buffers -- */

typedef struct dpci_text {
    char *at; /* [cap], the first `len` are in use */
    size_t len, cap;
} dpci_text;

/* Make `cap` at least `len` + `more`.  false: out of memory, and `t` is unchanged. */
bool dpci_reserve(dpci_text *t, size_t more);

/* -- requests -- */

typedef struct dpci_bytes {
    const void *data; /* borrowed from the caller */
    size_t nbytes;
} dpci_bytes;

enum dpci_form {
    DPCI_METHOD, /* members of params are added */
    DPCI_JSON,   /* params are complete */
    DPCI_OP,     /* arguments of op.call are added */
    DPCI_RUN     /* inputs of program.run are added */
};

struct dpc_request {
    enum dpci_form form;
    dpci_text text;    /* the message from `,"method":` on, up to the last value that was added */
    dpci_text options; /* members of params that follow, each after a comma */
    size_t begin;      /* length of `text` when the request was begun */
    dpci_bytes *attachments;
    size_t n_attachments, cap_attachments;
    dpc_memory *memories[DPCI_FDS_MAX]; /* [n_memories], each with a reference */
    size_t n_memories;
    int depth;                  /* lists and objects that are open */
    char closes[DPC_DEPTH_MAX]; /* ']' or '}' of each */
    bool empty;                 /* nothing was added to the innermost list or object yet */
    bool by_name;               /* an argument by name was added */
    int fault;                  /* code of the first fault; 0: none */
    char message[160];          /* message of the first fault */
};

/* -- text.c -- */

/* Remember the first fault of a request; dpci_request_finish() reports it. */
void dpci_fault(dpc_request *r, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Append to buffer `t` of the request; if memory runs out, that is the fault of the request. */
void dpci_put_bytes(dpc_request *r, dpci_text *t, const char *s, size_t n);
void dpci_put(dpc_request *r, dpci_text *t, const char *s);
void dpci_put_string(dpc_request *r, dpci_text *t, const char *s); /* a JSON string */
/* JSON text; a line feed, which would end the message, becomes a space */
void dpci_put_json(dpc_request *r, dpci_text *t, const char *json);
void dpci_put_int(dpc_request *r, dpci_text *t, int64_t value);
/* a number; "nan", "inf" and "-inf", for which JSON has no numbers, as strings */
void dpci_put_float(dpc_request *r, dpci_text *t, double value);

/* -- values.c -- */

/* Compute the bytes of a packed tensor.  false: it has no known dtype or too many bytes, which is a
 * fault of the request. */
bool dpci_data_bytes(dpc_request *r, dpc_dtype dtype, const int64_t *shape, size_t ndim,
                     size_t *bytes);
/* Add the members of a tensor literal to an object. */
void dpci_put_data(dpc_request *r, dpc_dtype dtype, const int64_t *shape, size_t ndim,
                   const void *data);

/* -- request.c -- */

/* Append what ends the message to `tail`: closing brackets, options, sizes of attachments, the
 * number of descriptors, a line feed.  Returns 0 or the fault of the request. */
int dpci_request_finish(const dpc_request *r, dpci_text *tail, dpc_error *err);

/* -- answer.c -- */

struct dpc_answer {
    dpc_answer *next; /* in the client's queue */
    uint64_t id;
    cJSON *root;                 /* owned */
    const cJSON *result, *error; /* exactly one is not NULL; both point into `root` */
    struct dpci_blob {
        void *data; /* owned; NULL: not allocated yet */
        size_t nbytes;
    } * blobs; /* attachments [n_blobs], owned */
    size_t n_blobs;
    dpc_memory *memory;  /* a reference to the memory that the result names; NULL: none */
    int fd;              /* owned: another descriptor of the result; -1: none */
    size_t blob, filled; /* while the answer arrives: the attachment, and how much is there */
};

/* -- memory.c -- */

/* Shared memory and its mapping in this process, counted: any thread may drop a reference. */
struct dpc_memory {
    unsigned refs; /* only changed by atomic operations */
    int fd;        /* owned: the memfd of memory that dpc_memory_new() made; -1: the daemon's */
    void *data;    /* [nbytes], owned; NULL: not mapped */
    size_t nbytes;
    bool sealed; /* the bytes cannot change any more */
};

dpc_memory *dpci_memory_ref(dpc_memory *m);
/* Make a memory with one reference, which owns `fd` and the mapping `data`.  NULL: out of
 * memory. */
dpc_memory *dpci_memory_of(int fd, void *data, size_t nbytes);
/* Add the members of a tensor literal whose elements begin at byte `offset` of `m`. */
void dpci_put_memory(dpc_request *r, dpc_dtype dtype, const int64_t *shape, size_t ndim,
                     dpc_memory *m, size_t offset);

/* A number by which the daemon names shared memory on a connection (docs/protocol.md). */
typedef struct dpci_map {
    int64_t number;
    dpc_memory *memory; /* a reference; NULL: unused, the number waits for map.release */
} dpci_map;

/* -- receive.c -- */

struct dpc_client {
    int fd;     /* -1: no connection */
    char *path; /* of the socket; owned */
    char *name; /* owned; NULL: none */
    int64_t linger_ms;
    int timeout_ms, spin_us;
    bool no_hello;
    bool notifying; /* a notification's callback runs */

    cJSON *hello;                         /* result of server.hello, owned; NULL: none */
    int64_t line_limit, attachment_limit; /* of one line, of one attachment; INT64_MAX: unknown */
    uint64_t handle_range; /* the 20 bits above the 32 that dpc_handle_new() counts */
    uint32_t handles;

    int broken; /* code with which every call fails until dpc_reconnect(); 0: none */
    char why[256];

    /* Request `id` is answered by the answer with `id`; ids are consecutive. */
    uint64_t sent;    /* id of the last request that was sent; 0: none */
    uint64_t arrived; /* id of the last request whose answer arrived */
    uint64_t wanted;  /* id of the next answer that dpc_receive() gives; earlier ones are dropped */
    size_t sizes[DPC_OUTSTANDING_MAX]; /* bytes of request `id` at index `id` % MAX */
    size_t in_flight;                  /* bytes of requests `arrived` + 1 to `sent` */

    dpci_text in;              /* received bytes; those before `start` are used up */
    size_t start;              /* where the next message begins */
    size_t searched;           /* bytes after `start` that hold no line feed */
    dpc_answer *partial;       /* an answer of which attachments are still missing; owned */
    dpc_answer *first, **last; /* queue of complete answers, owned */
    uint64_t messages;         /* messages read: answers and notifications */

    uint64_t received; /* bytes received on this connection */
    int fds
        [DPCI_FDS_MAX]; /* [n_fds], owned: descriptors that no line has announced yet, in order */
    size_t n_fds;
    uint64_t fds_end; /* value of `received` after the bytes that the newest of `fds` came with */
    dpci_map *maps;   /* [n_maps] of cap_maps, owned */
    size_t n_maps, cap_maps;
    size_t n_unused;   /* maps without memory */
    uint64_t asked_fd; /* id of the last request that may be answered by a map; 0: none */

    uint32_t naps;       /* waits that do not spin, because other processes use the core */
    uint32_t nap_length; /* `naps` after the next such finding */

    dpci_text line; /* scratch for send.c */
    dpc_notification_fn *on_notification;
    void *context;
};

int64_t dpci_now(void); /* nanoseconds */
/* Return the time `timeout_ms` from now; INT64_MAX: -1. */
int64_t dpci_until(int timeout_ms);
/* Return 0, or the code with which the client is broken, or DPC_EARGUMENT in a callback. */
int dpci_check(const dpc_client *c, dpc_error *err);
/* Read until one message more is complete, at most until `until`; the first `spin_us` without
 * sleeping. */
int dpci_pump(dpc_client *c, int64_t until, dpc_error *err);
/* Read what has arrived, without waiting. */
int dpci_drain(dpc_client *c, dpc_error *err);
/* Wait until the socket has one of the poll() `events` or `until` is past. */
int dpci_poll(dpc_client *c, short events, int64_t until, short *revents, dpc_error *err);
/* Give the oldest answer, at most until `until`; see dpc_receive(). */
int dpci_receive(dpc_client *c, int64_t until, dpc_answer **out, dpc_error *err);
/* Drop everything that was received or is expected. */
void dpci_forget(dpc_client *c);

/* Fail all calls until dpc_reconnect(); returns `code`.  error.c */
int dpci_break(dpc_client *c, int code, dpc_error *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* -- maps.c -- */

/* Queue the descriptors that recvmsg() gave in `h`.  Fails if some were lost. */
int dpci_queue_descriptors(dpc_client *c, struct msghdr *h, dpc_error *err);
/* Give answer `a`, whose line was read, the descriptors that it announces and the memory that it
 * names.  DPC_EMEMORY: nothing has changed. */
int dpci_take_descriptors(dpc_client *c, dpc_answer *a, dpc_error *err);
/* Fail if descriptors came whose line is read and did not announce them. */
int dpci_check_descriptors(dpc_client *c, dpc_error *err);
void dpci_drop_descriptors(dpc_client *c); /* Close the descriptors that no line has announced. */
/* Let the map of `m` be unused, if no answer uses it or may name it. */
void dpci_disuse_map(dpc_client *c, const dpc_memory *m);
/* If the connection has `most` maps (-1: no limit is known), let those be unused whose memory no
 * answer uses. */
void dpci_disuse_maps(dpc_client *c, int64_t most);
void dpci_drop_unused_maps(dpc_client *c); /* Forget the unused maps: their numbers are released. */
void dpci_forget_maps(dpc_client *c);      /* Drop all maps: their connection has ended. */

/* -- send.c -- */

/* Release the numbers of unused maps, by a notification. */
int dpci_release_maps(dpc_client *c, int64_t until, dpc_error *err);
/* Send `r` and wait for its answer; see dpc_call(). */
int dpci_call(dpc_client *c, const dpc_request *r, int64_t until, dpc_answer **out, dpc_error *err);

#endif
