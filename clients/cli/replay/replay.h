/* replay.h -- types and functions of the verbs record, replay and bisect: a session's calls in a
 * file, and the calls of such a file made again on two sides.
 *
 * record.c runs a command, proxy.c passes on what its clients send and receive, stream.c finds
 * messages in that, log.c pairs requests with answers, file.c writes them, and recording.c reads
 * them.  replay.c chooses the sides, peers.c connects to them, run.c makes the calls on both,
 * handles.c translates what the calls name, judge.c compares and mends what differs, and result.c
 * counts and prints.  bisect.c looks for a build.
 * All functions run in one thread; memory that runs out ends the program (need()). */
#ifndef DISPATCHCTL_REPLAY_H
#define DISPATCHCTL_REPLAY_H
#include "conform/conform.h"

enum {
    RECORDING_VERSION = 1,
    PART_INLINE = 64 << 10, /* largest bytes of an attachment that stand in the call's frame */
    PARTS_MOST = 1024,      /* attachments of one call */
    LINE_MOST = 1 << 30,    /* bytes of a line: more than a daemon takes */
    DESCRIPTORS_MOST = 16,  /* of one message: the protocol's limit */
    BLOB_LISTS = 1 << 12,
    STEPS_MOST = 1000,         /* of a program in which a step is looked for */
    REPLAY_DEADLINE_MS = 60000 /* of a call that is made again */
};
#define PART_MOST ((uint64_t)1 << 36) /* bytes of an attachment: more than a daemon takes */

/* -- file.c, recording.c: the file --
 *
 * "dispatchd-recording\n", the version as 4 bytes, then frames.  A frame is its kind and its
 * connection in 4 bytes each, the length of its body and a checksum of all this in 8 bytes each,
 * and the body.  All numbers are little-endian. */

#define RECORDING_MAGIC "dispatchd-recording\n"
enum {
    MAGIC_BYTES = sizeof(RECORDING_MAGIC) - 1,
    HEADER_BYTES = MAGIC_BYTES + 4,
    FRAME_HEAD = 24,
    CALL_HEAD = 24, /* in the body of a FRAME_CALL: the lengths of its texts, and how many parts */
    PART_HEAD = 24, /* before the bytes of each part */
};

typedef enum frame_kind {
    FRAME_ABOUT = 1, /* JSON: "command", "left_out" (true: inputs over PART_INLINE are not there) */
    FRAME_BYTES = 2, /* an attachment that calls name by its number among the frames of this kind */
    FRAME_SESSION = 3, /* JSON: "session", the connection's session; "lingers": it may outlive it */
    FRAME_CALL = 4,    /* a request and its answer, below */
    FRAME_CLOSE = 5,   /* empty: the connection has ended */
    FRAME_END = 6,     /* JSON: "calls", "unanswered"; nothing follows */
} frame_kind;

/* How the bytes of an attachment are given. */
typedef enum part_how { PART_HERE = 0, PART_BYTES = 1, PART_LEFT_OUT = 2 } part_how;

/* A hash of `n` bytes, going on from `h`: each 8 bytes are mixed in by the finisher of splitmix64,
 * which no single flipped bit survives.  Bytes that come in pieces begin with hash_begin(), and all
 * pieces but the last have a multiple of 8 bytes. */
uint64_t hash_begin(uint64_t h, uint64_t n);
uint64_t hash_more(uint64_t h, const void *bytes, size_t n);
uint64_t hash_bytes(uint64_t h, const void *bytes, size_t n);

typedef struct part {
    part_how how;
    uint64_t nbytes, number; /* `number`: of the frame, or a hash of what was left out */
    const void *bytes;       /* PART_HERE: borrowed */
} part;

typedef struct frame {
    uint64_t at; /* offset in the file */
    frame_kind kind;
    uint32_t connection;
    char *body; /* owned; a 0 stands behind it */
    uint64_t nbytes;
    /* FRAME_CALL; these point into the body */
    const char *request, *answer; /* {"method","params"}; the answer without "data", or "" */
    uint32_t n_parts;
    part *parts; /* owned */
} frame;

/* A file that is being written. */
typedef struct recorder {
    const char *path; /* borrowed */
    int fd;           /* -1: a write has failed, and a message was printed */
    bool leave_out;
    uint64_t at, calls, unanswered, n_blobs;
    struct blob {
        uint64_t hash, nbytes, offset; /* of the bytes in the file */
        uint64_t next;                 /* number + 1 of another one in the same list; 0: none */
    } * blobs;                         /* [n_blobs]; owned */
    uint64_t by_hash[BLOB_LISTS];      /* number + 1 of the newest one with such a hash; 0: none */
} recorder;

/* Create the file.  false: a message was printed. */
bool recorder_open(recorder *w, const char *path, char *const *command, bool leave_out);
void recorder_session(recorder *w, uint32_t connection, double session, bool lingers);
void recorder_connection_end(recorder *w, uint32_t connection);
/* Write a call.  `answer` NULL: it has none.  `parts` [n]: its attachments. */
void recorder_call(recorder *w, uint32_t connection, const char *request, const char *answer,
                   const part *parts, size_t n);
/* End the file and close it.  false: the file is not complete, and a message was printed. */
bool recorder_close(recorder *w);

/* A file that is being read. */
typedef struct recording {
    const char *path; /* borrowed */
    int fd;
    uint64_t size, at;
    uint64_t end;   /* of the last frame that is whole */
    char *fault;    /* owned: why the file ends there; NULL: it is complete */
    bool left_out;  /* large inputs are not in the file */
    uint64_t calls; /* how many there are */
    uint64_t n_blobs;
    struct blob *blobs; /* [n_blobs], owned */
    cJSON *devices;     /* owned: an array of the names of devices that hold tensors */
} recording;

/* Open a file, and look through all its frames but for the bodies of FRAME_BYTES.  false: the file
 * cannot be read or is no recording that this program knows, and a message was printed. */
bool recording_open(recording *r, const char *path);
void recording_close(recording *r);
/* Go back to the first frame. */
void recording_rewind(recording *r);
/* Read the next frame of kind FRAME_SESSION, FRAME_CALL or FRAME_CLOSE; frame_free() frees it.
 * false: there is none, or `r->fault` tells what is wrong with the file. */
bool recording_next(recording *r, frame *f);
void frame_free(frame *f);
/* Say that the file ends with the frame before `f`, of which `how` says what is wrong.  Returns
 * false. */
bool recording_refuse(recording *r, const frame *f, const char *how);
/* Read the bytes of a PART_BYTES of call `f`, owned.  NULL: `r->fault` tells why. */
void *recording_bytes(recording *r, const frame *f, const part *p);

/* -- stream.c: messages in a stream of bytes -- */

/* A message: a line, and the attachments that follow it. */
typedef struct message {
    cJSON *json; /* owned; NULL: the line is no JSON */
    size_t n_parts;
    part *parts; /* owned, and so are their bytes */
    int n_fds;   /* how many descriptors it announces */
} message;

typedef struct stream {
    char *text; /* owned: the bytes of the line that has begun */
    size_t n, cap;
    message now;       /* while its attachments arrive */
    bool body;         /* they do */
    size_t at, filled; /* the attachment that arrives, and how much of it is there */
    bool lost;         /* the stream could not be followed: the rest is not looked at */
} stream;

/* Is a message incomplete? */
static inline bool stream_inside(const stream *s)
{
    return s->body || s->n > 0;
}
/* Take bytes up to the end of a message.  Returns how many were taken.  `*done`: the message is
 * complete, and `*out` is to be freed by message_free(). */
size_t stream_take(stream *s, const char *bytes, size_t n, message *out, bool *done);
void message_free(message *m);
void stream_free(stream *s);

/* -- log.c: requests and their answers -- */

typedef struct pending pending;

/* The requests of one connection that are not answered yet. */
typedef struct traffic {
    recorder *to;
    uint32_t connection; /* its number in the file */
    pending *first, *last;
    size_t n_maps;
    struct shared {
        double number; /* by which the client names the memory */
        int fd;        /* owned */
    } * maps;          /* owned */
} traffic;

/* Is a request of this method written?  Others ask, or are about the daemon and not the session. */
bool is_recorded(const char *method);
/* Take a request of the client, and the attachments of `m`; takes ownership of the descriptors
 * `fds` [n]. */
void traffic_request(traffic *t, message *m, const int *fds, int n);
void traffic_answer(traffic *t, const message *m);
/* Is the oldest request without an answer one of this method? */
bool traffic_waits_for(const traffic *t, const char *method);
/* Write the requests that were not answered, and free everything. */
void traffic_end(traffic *t);

/* -- proxy.c -- */

/* Accept connections on `listener`, and connect each to the daemon at `path`, until `ended` (a
 * descriptor) is readable and all connections have ended, or `stop` is. */
void proxy_run(recorder *to, int listener, const char *path, int ended, int stop);

/* -- handles.c: what a recorded call names, on a side -- */

enum { WANT = 0, GOT = 1 }; /* the sides: the reference, and what is judged */

typedef enum thing { TENSOR, PROGRAM, GENERATOR, OBJECT, N_THINGS } thing;

/* A handle of a recorded session, and what stands for it now. */
typedef struct entry {
    struct entry *next;
    uint32_t session;
    thing of;
    double recorded;
    double at[2];
    cJSON *made_from; /* owned; of a program: the params of program.create; NULL: unknown */
    bool tainted;     /* a tensor whose values differ, and could not be made equal */
} entry;

typedef struct handles {
    entry **buckets; /* [n_buckets], owned */
    size_t n_buckets, n;
} handles;

/* Return the entry of a handle; NULL: none.  A client's handle (below 0) without an entry stands
 * for itself on both sides. */
entry *handles_find(const handles *h, uint32_t session, thing of, double recorded);
/* Return the entry of a handle, made if there is none. */
entry *handles_bind(handles *h, uint32_t session, thing of, double recorded);
/* Forget a handle; with `recorded` NAN all of the session. */
void handles_forget(handles *h, uint32_t session, thing of, double recorded);
void handles_free(handles *h);

/* Devices of the recording and those that stand for them. */
typedef struct places {
    const cJSON *recorded; /* names of devices in the recording */
    const char *device;    /* NULL: the recorded ones */
} places;

/* Return the device that stands for `name`. */
const char *place_of(const places *p, const char *name);
/* Translate the params of a recorded request for a side.  `*tainted`: they name a tainted tensor.
 * Returns NULL, or owned text that says what is not there. */
char *translate(cJSON *params, const handles *h, uint32_t session, int side, const places *p,
                bool *tainted);
/* Append to `list` the objects in `value` that describe a thing, or (of TENSOR) a tensor without a
 * handle, in their order; `list` is an array of references. */
void collect(cJSON *list, const cJSON *value, thing of);
extern const char *const thing_names[N_THINGS];

/* -- peers.c: the connections of the recording, on both sides -- */

/* A daemon, and how it is called in messages. */
typedef struct replay_side {
    const char *name, *socket; /* `socket` NULL: the default path */
    places places;
} replay_side;

typedef struct replay_session {
    struct replay_session *next;
    uint32_t number;
    double recorded; /* its number in the recording; NAN: unknown */
    bool lingers;
    int connections;
    dpc_client *aside[2]; /* for what the recording has not: its state is nobody's */
    bool grads_lost;      /* a value that has a history was replaced */
} replay_session;

/* A connection of the recording. */
typedef struct peer {
    struct peer *next;
    uint32_t connection;
    replay_session *of;
    dpc_client *client[2];
} peer;

typedef struct peers {
    const replay_side *sides; /* [2] */
    peer *first;
    replay_session *sessions;
    uint32_t n_sessions;
} peers;

/* Return the connection, made on both sides at its first use; NULL: a message was printed. */
peer *peers_get(peers *p, uint32_t connection);
/* The connection is one of the session with this number in the recording.  false: a message was
 * printed. */
bool peers_join(peers *p, uint32_t connection, const cJSON *session);
/* The connection has ended.  Returns the number of the session that has ended with it; 0: none. */
uint32_t peers_leave(peers *p, uint32_t connection);
void peers_free(peers *p);
/* Make a tensor on the device of a side.  CLI_OK, or a message was printed. */
int side_has_device(const replay_side *on);
/* Start a daemon with the plugin in a file, and connect to it.  false: a message was printed. */
bool start_with(host *h, const char *plugin);

/* -- result.c -- */

/* A call whose results differ. */
typedef struct fault {
    char *op, *why, *call; /* owned; NULL: no fault */
    uint64_t number;       /* of the call in the recording, from 1 */
    int step;              /* of a program; -1: none */
    verdict kind;
} fault;

typedef struct tally {
    char *op; /* owned */
    uint64_t calls, faults;
} tally;

typedef struct findings {
    uint64_t calls;    /* made on both sides */
    uint64_t same;     /* of these: all results are the same bits */
    uint64_t close;    /* the results agree within the tolerances */
    uint64_t faults;   /* they do not */
    uint64_t unread;   /* results that have no elements to be read, so only dtype and shape count */
    uint64_t behind;   /* the inputs differed already, and could not be made equal */
    uint64_t skipped;  /* could not be made */
    char *why_skipped; /* owned: the first of them */
    fault first, matters; /* the first difference of any size, and the first fault */
    size_t n_tallies;
    tally *tallies; /* [n_tallies], owned; in order of the first call */
    bool lost;      /* a daemon has ended: calls are missing */
} findings;

void result_call(findings *r, const char *op, bool faulty);
/* Name the step of a program in the faults of call `number`; takes ownership of `step`. */
void result_step(findings *r, uint64_t number, fault *step);
void result_skip(findings *r, uint64_t number, const char *op, const char *why);
/* Keep a fault if it is the first; takes ownership of `why`. */
void result_fault(fault *at, const char *op, uint64_t number, verdict kind, const char *call,
                  char *why);
void result_text(const findings *r, const recording *from, const replay_side *sides);
cJSON *result_json(const findings *r, const recording *from, const replay_side *sides); /* owned */
void result_free(findings *r);
/* Print "HEAD: call 7, aten::exp: WHY", and the request in the next line. */
void print_fault(const char *head, const fault *f);
cJSON *fault_json(const fault *f); /* owned */
void fault_free(fault *f);

/* -- run.c: all calls on both sides -- */

typedef struct described described;

typedef struct replay {
    recording *from;
    replay_side sides[2];
    int deadline_ms;
    bool first_only; /* stop at the first fault */
    peers peers;
    handles handles;
    findings result;
    uint64_t number; /* of the call that is made */
    cJSON *names[2]; /* owned: arrays of the names given to tensors on each side */
    described *ops;  /* owned: operators that were described, see run.c */
} replay;

/* Make all calls.  false: a message was printed, and the result is about a part of them. */
bool replay_run(replay *r);
void replay_free(replay *r);

/* -- steps.c -- */

/* Find the first step of a program that gives something else on the other side, after a run of it
 * did.  `params`: those of the recorded program.run.  false: it could not be found; else `f` names
 * the step's operator, its number and what differs. */
bool find_step(replay *r, const peer *at, const cJSON *params, fault *f);

/* -- judge.c -- */

/* Keep the error of an answer (NULL: the connection broke), or its values: first the tensors that
 * `nodes` describe, read by `aside`, then the others. */
void keep(outcome *o, dpc_client *aside, const dpc_answer *a, const cJSON *nodes);

/* A request that was made on both sides. */
typedef struct judged {
    const char *op;      /* or the method */
    char *call;          /* as text */
    const cJSON *answer; /* the recorded one; NULL: none */
    const cJSON *into;   /* the handles that the request has chosen; NULL: none */
    cJSON *written;      /* recorded handles of tensors that the operator writes; an array */
    bool tainted;        /* its inputs differ already */
    bool of_gradients;
    bool faulty;  /* out: both sides can go on, but what they made differs */
    bool refused; /* it had failed when it was recorded */
    replay_session *of;
    dpc_answer *answers[2]; /* NULL: the connection broke */
} judged;

/* Compare what the sides made of a request, and make equal what differs.  false: a daemon has
 * ended. */
bool judge(replay *r, judged *j);

/* -- record.c -- */

int record_verb(cli *c);

/* -- bisect.c -- */

int bisect_verb(cli *c);

#endif
