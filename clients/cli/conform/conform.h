/* conform.h -- types and functions of verb conform: calls from the samples, made on two targets,
 * and what differs.  Data goes one way: samples.c reads the lines of proto/samples, forms.c makes
 * calls of them, trial.c runs a call on a target, compare.c tells how two outcomes differ, suite.c
 * counts, and report.c and page.c print.  All functions run in one thread; memory that runs out
 * ends the program (need()). */
#ifndef DISPATCHCTL_CONFORM_H
#define DISPATCHCTL_CONFORM_H
#include "cli.h"
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    CONFORM_DIMS = 16,           /* dimensions of a sample's tensor */
    CONFORM_TENSORS = 64,        /* tensors of a call */
    CONFORM_GUARD = 16,          /* elements before and behind an output that no kernel may write */
    CONFORM_DEADLINE_MS = 10000, /* of a call, where no other is asked for */
    CONFORM_CONNECT_MS = 15000,  /* within which the daemon answers a new connection */
};

/* -- elements.c -- */

/* An element: `im` is 0 unless the dtype is complex.  Integers are exact in `whole`. */
typedef struct element {
    double re, im;
    int64_t whole;
} element;

bool dtype_is_complex(dpc_dtype dtype);
bool dtype_is_real(dpc_dtype dtype);    /* a floating-point dtype that is not complex */
bool dtype_is_integer(dpc_dtype dtype); /* also bool */
/* Return the dtype with this name; DPC_DTYPE_OTHER: there is none. */
dpc_dtype dtype_named(const char *name);
element element_read(dpc_dtype dtype, const void *at);
void element_write(dpc_dtype dtype, void *at, element e);
/* Return the number of representable values from `a` to `b`, which are finite; -1: the dtype has no
 * such order. */
double element_ulps(dpc_dtype dtype, double a, double b);
/* Return the element as text, owned. */
char *element_text(dpc_dtype dtype, element e);

/* Random numbers: splitmix64 (Steele, Lea and Flood 2014). */
uint64_t random_next(uint64_t *state);

/* -- samples.c -- */

typedef struct geometry {
    int ndim;
    int64_t shape[CONFORM_DIMS], strides[CONFORM_DIMS];
    int64_t offset;   /* element of the storage at which the tensor begins */
    int64_t elements; /* of the storage */
} geometry;

/* Return the number of elements of a shape. */
int64_t geometry_count(const geometry *g);
/* Return the place in the storage of element `i`, counted row by row. */
int64_t geometry_at(const geometry *g, int64_t i);
/* Set the strides of a packed, row-major tensor, offset 0 and the size of the storage. */
void geometry_pack(geometry *g);
/* Set the size of the storage to what the strides reach. */
void geometry_fit(geometry *g);

typedef struct spec {
    geometry geometry;
    dpc_dtype dtype;    /* DPC_DTYPE_OTHER: that of the call */
    double low, high;   /* the range its elements are drawn from */
    const cJSON *given; /* its elements; NULL: they are drawn */
    bool on_cpu;        /* the tensor is on the CPU whatever the device is */
} spec;

typedef struct op_sample {
    const char *op, *of; /* the overload, and the OpInfo that it is a call of */
    uint32_t dtypes;     /* bits 1 << dpc_dtype */
    bool refused;        /* PyTorch raises an error */
    const cJSON *args, *kwargs;
    uint64_t hash; /* of the line, for random numbers */
    size_t n;
    spec *tensors; /* [n] */
} op_sample;

typedef struct samples {
    size_t n;
    op_sample *at; /* [n], in order of operators */
    cJSON **lines;
} samples;

/* Read the samples of `path` whose operator or OpInfo contains `text` (NULL: all).  false: a
 * message was printed. */
bool samples_read(samples *s, const char *path, const char *text);
/* Return the path of the samples that belong to this program; owned. */
char *samples_path(void);
void samples_free(samples *s);
/* Put the samples in order of operators, as calls are made. */
void samples_sort(samples *s);
/* Return the number of samples that have the operator of sample `first`, from that on. */
size_t samples_of_op(const samples *s, size_t first);

/* -- schemas.c -- */

/* An operator as registry.describe tells it. */
typedef struct schema {
    char *name;
    cJSON *arguments, *returns;    /* NULL: the registry does not have it */
    struct schema *in_place, *out; /* the overloads with the same arguments; NULL: none */
} schema;

typedef struct schemas {
    size_t n;
    schema *at; /* [n], in order of names */
} schemas;

/* Ask for all operators with the names of `s`, and for those that write what these return.  CLI_OK,
 * or a message was printed. */
int schemas_read(schemas *out, cli *c, const samples *s);
schema *schemas_find(const schemas *s, const char *name);
void schemas_free(schemas *s);

/* -- forms.c -- */

typedef enum form {
    FORM_GIVEN, /* as PyTorch calls it */
    FORM_STRIDED,
    FORM_SPECIAL, /* NaN, infinities and signed zeros among the elements; large integers */
    FORM_IN_PLACE,
    FORM_IN_PLACE_STRIDED,
    FORM_OUT,
    FORM_OUT_STRIDED,
    FORM_OUT_SHAPE, /* out= of another shape */
    FORM_OUT_EMPTY,
    FORM_EMPTY,
    FORM_SCALAR, /* all tensors with 0 dimensions */
    FORM_LONGER, /* the last dimension has one more element */
    FORM_LARGE,
    N_FORMS,
} form;

extern const char *const form_names[N_FORMS];

typedef struct input {
    geometry geometry;
    dpc_dtype dtype;
    void *bytes; /* owned: its storage */
    size_t nbytes;
    bool whole; /* read the storage back, not only the tensor's elements */
    bool on_cpu;
} input;

/* One call to be made on both targets. */
typedef struct trial {
    const char *op;
    form form;
    dpc_dtype dtype;
    cJSON *args, *kwargs; /* owned; {"tensor": -k} is input k - 1 */
    size_t n;
    input inputs[CONFORM_TENSORS];
} trial;

struct outcome;

/* Make the call of a sample in a form.  `first`: the outcome of FORM_GIVEN on the reference; with
 * FORM_LARGE that of FORM_LONGER.  false: the sample has no such form; nothing is to be freed. */
bool form_make(trial *t, form f, const op_sample *s, const schema *op, dpc_dtype dtype,
               uint64_t seed, const struct outcome *first);
void trial_free(trial *t);
/* Make the call of a sample with all dimensions longer by one factor, so that its largest tensor
 * has about `elements` elements.  false: the sample's tensors are not drawn. */
bool form_scaled(trial *t, const op_sample *s, dpc_dtype dtype, int64_t elements);

/* -- trial.c -- */

/* A daemon and one of its devices. */
typedef struct target {
    cli *c;
    struct host *mine; /* the daemon, if this command has started it, else NULL */
    const char *device;
    char place[64];  /* the device as the daemon names it: "npu:0" */
    bool views;      /* as_strided gives views there */
    int deadline_ms; /* of a call; 0: CONFORM_DEADLINE_MS */
} target;

typedef enum ending {
    STATE_DONE,
    STATE_REFUSED, /* the daemon answered an error */
    STATE_HUNG,    /* the kernel did not end in time */
    STATE_STUCK,   /* the daemon answers nothing */
    STATE_LOST,    /* the connection broke */
} ending;

typedef struct result_value {
    bool is_tensor;
    dpc_dtype dtype;
    geometry geometry; /* packed */
    char device[64];
    void *bytes; /* owned */
    size_t nbytes;
    char *text; /* owned: a value that is no tensor, as JSON */
} result_value;

typedef struct outcome {
    ending state;
    char type[40];      /* the error's type */
    char message[1024]; /* the error's message */
    char *fell_back;    /* owned: the operators that fell back; NULL: none, or not asked */
    double kernel_ns;   /* in the kernel */
    const char *place;  /* the target's, borrowed; NULL: unknown */
    size_t n, n_after;
    result_value *values; /* [n]: what was returned */
    result_value *after;  /* [n_after]: the inputs after the call */
} outcome;

/* Run a call.  `trace`: also find out which operators fell back. */
void trial_run(const trial *t, const target *on, bool trace, outcome *out);
void outcome_free(outcome *o);

/* How long a call took, in nanoseconds. */
typedef struct trial_times {
    double kernel; /* in the kernel's function */
    /* reading one element behind the call, which waits for the device's work; 0: the device has no
     * as_strided, and cannot be waited for */
    double waited;
    double idle; /* reading it again; 0 likewise */
} trial_times;

/* Run a call for its times; what it returns is dropped.  false: it fails. */
bool trial_time(const trial *t, const target *on, trial_times *out);
/* Set `*out`, which is empty, to a copy of what was read of a tensor. */
void value_of_tensor(result_value *out, const dpc_tensor *t);
/* Find out the name of the device, and whether as_strided gives views there.  false: no tensor can
 * be made there, and a message was printed. */
bool target_probe(target *t);
/* Return the call as text: "aten::add.Tensor(float32[3], float32[], alpha=2), strided"; owned. */
char *trial_text(const trial *t);

/* Return the call as a line like those of the samples, with the dtypes and shapes of its inputs;
 * owned. */
char *trial_json(const trial *t);

/* -- host.c: daemons of this command -- */

/* A daemon that this command has started, with plugins, on a socket in a folder of its own. */
typedef struct host {
    char folder[64], socket[96], lock[104], log[96];
    const char *const *plugins; /* ends in NULL */
    int pid;
    cli c;
} host;

/* Return the path of the first of `names` (the last one is NULL) that exists beside this program;
 * owned.  None does: the last one's. */
char *find_file(const char *const *names);
/* Return the path by which a daemon of this command finds the plugin `word`, owned.  A file of this
 * folder comes first: to the daemon a word without a slash is a name in its folders of plugins. */
char *host_plugin(const char *word);
/* Start the daemon and connect to it.  `plugins`: files, borrowed. false: a message was printed. */
bool host_start(host *h, const char *const *plugins);
/* Connect to a daemon that runs.  No wait for it is without end: a kernel may block it.  false: a
 * message was printed. */
bool host_connect(cli *c);
/* Start it again after it ended.  Returns the report of its crash in one line, owned; NULL: it does
 * not start again, and a message was printed. */
char *host_restart(host *h);
void host_stop(host *h);

/* -- compare.c -- */

typedef enum verdict {
    VERDICT_PASS,
    VERDICT_FELL_BACK,
    VERDICT_SLOWER,
    VERDICT_MISSING, /* the device has no kernel, and nothing stands in for it */
    VERDICT_DIFFERS,
    VERDICT_HANGS,
    VERDICT_CRASHED,
    N_VERDICTS,
} verdict;

extern const char *const verdict_names[N_VERDICTS];

/* Does the operator give random numbers, or whatever lay in memory? */
bool draws_values(const char *op);
/* Compare what a target made of a call with what the reference made of it.  `*why` (owned, NULL for
 * VERDICT_PASS) says what differs, with both values. */
verdict compare(const trial *t, const outcome *want, const outcome *got, char **why);

/* -- suite.c: what was found -- */

/* An operator and a dtype. */
typedef struct cell {
    const char *op;
    dpc_dtype dtype;
    int count[N_VERDICTS];
    verdict worst;
    char *why;    /* owned: the first fault of the worst kind */
    char *call;   /* owned: the call that it was found with */
    double ns[2]; /* the kernel's nanoseconds on the reference and on the device, in FORM_LARGE */
} cell;

typedef struct suite {
    const char *device, *reference;
    uint64_t seed;
    bool hang_ends; /* no more calls after one that hangs: each takes the whole deadline */
    const volatile sig_atomic_t *stop; /* set by a signal handler: no more calls; NULL: never */
    double slow; /* VERDICT_SLOWER: a kernel takes longer than so many times the reference's */
    size_t n;
    cell *cells;           /* [n], in order of operators, then of dtypes */
    int count[N_VERDICTS]; /* of all cells */
    int restarts;
    bool complete; /* all calls were made; else a daemon or the device is gone */
    bool guards;   /* outputs had guard elements around them */
} suite;

/* Make the calls of all samples on both targets.  `dtypes`: bits of those wanted. */
void suite_run(suite *s, const samples *from, const schemas *ops, uint32_t dtypes,
               target *reference, target *on);
/* Were all calls made, with no verdict worse than VERDICT_FELL_BACK? */
bool suite_is_good(const suite *s);
void suite_free(suite *s);

/* -- report.c, page.c -- */

/* Close a file.  `f` NULL, or a write failed: a message is printed, and false returned. */
bool close_report(FILE *f, const char *path);
/* Print the operators and dtypes with faults, at most so many. */
void report_faults(const suite *s, size_t most);
void report_text(const suite *s);
cJSON *report_json(const suite *s); /* owned */
/* Write a file.  false: a message was printed. */
bool report_junit(const suite *s, const char *path);
bool report_page(const suite *s, const char *path);

/* -- bench.c -- */

/* Verb bench with --device, whose value is `device`. */
int bench_device(cli *c, const char *device);

#endif
