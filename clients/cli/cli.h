/* cli.h -- types and functions that the files of dispatchctl share.
 *
 * print.c turns answers into text, words.c removes options from the command line, ask.c owns the
 * connection, and main.c finds the verb.  Each other file defines one group of verbs and a table of
 * them.  A verb is a command such as "plugin load"; it returns one of the exit codes below. */
#ifndef CLI_H
#define CLI_H

#include "dispatchd-client.h"
#include <cjson/cJSON.h>
#include <stdbool.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum { /* exit codes; --help prints them */
       CLI_OK = 0,
       CLI_ERROR = 1,         /* the daemon answered an error, or a check has failed */
       CLI_USAGE = 2,         /* the command line is wrong; nothing was sent */
       CLI_NO_CONNECTION = 3, /* no daemon, or the connection broke */
};

typedef struct cli {
    const char *socket;  /* --socket; NULL: the default path */
    const char *session; /* key of --session; NULL: a new session for this command */
    bool json;           /* --json */
    bool quiet;          /* do not print errors of the daemon and of the connection */
    dpc_client *client;  /* NULL until the first request */
    /* called for messages of the daemon that answer no request; NULL: they are ignored */
    void (*on_notification)(struct cli *c, const char *method, const cJSON *params);
    const struct verb *verb;
    const struct verb *const *groups; /* all tables of verbs; the last one is NULL */
    /* [n_words] words after the verb (at first all words); take_flag() and others remove words */
    char **words;
    int n_words;
} cli;

typedef struct verb {
    const char *name; /* "plugin load" */
    const char *args, *help;
    int (*run)(cli *c);
} verb;

/* One table of verbs per file; the last verb has a NULL name. */
extern const verb verbs_call[], verbs_registry[], verbs_plugin[], verbs_tensor[], verbs_program[],
    verbs_grad[], verbs_store[], verbs_service[], verbs_metrics[], verbs_watch[], verbs_top[],
    verbs_bench[], verbs_conform[], verbs_new[], verbs_dev[], verbs_replay[], verbs_completion[];

/* -- words.c -- */

/* Remove flag `name`, like "--trace", from the words.  false: the flag is absent. */
bool take_flag(cli *c, const char *name);
/* Remove option `name`, written "--key VALUE" or "--key=VALUE", and return its value; NULL:
 * absent. */
const char *take_option(cli *c, const char *name);
/* Check that `min` to `max` words are left (max -1: no limit) after all known options were removed,
 * and that no word is an option.  The word "--" is removed; words after it are no options.  false:
 * a usage message was printed. */
bool words_fit(cli *c, int min, int max);
/* Remove `n` words, the first of which has index `at`. */
void remove_words(cli *c, int at, int n);
/* Return an owned copy of JSON text in which each integer N with a magnitude of 2^53 or more is
 * written as text: "N" for an element of a tensor, else {"int":"N"}.  `elements`: every number is
 * an element; otherwise only the numbers inside objects are, because an object is a tensor
 * literal. */
char *spell_integers(const char *json, bool elements);
/* Print a message, and how the verb (if it is known) is used; return CLI_USAGE. */
int usage(cli *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* -- ask.c -- */

/* Send one request, after connecting if necessary; takes ownership of `params`.  An error of the
 * daemon is printed.  CLI_OK: `*a` is owned, see dpc_answer_free(); otherwise it is unchanged. */
int request(cli *c, const char *method, cJSON *params, dpc_answer **a);
/* Send one request and print its result: as JSON with --json, else with `show`.  Takes ownership of
 * `params`. */
int ask(cli *c, const char *method, cJSON *params, void (*show)(const cJSON *result));

/* Send one request; `*result` is owned by the caller.  Takes ownership of `params`. */
int fetch(cli *c, const char *method, cJSON *params, cJSON **result);
/* Wait for a message of the daemon, when no answer is outstanding: a notification. */
int wait_notification(cli *c);
/* Print why the connection broke; returns CLI_NO_CONNECTION. */
int print_lost(const dpc_error *err);
/* Close the connection; the next request connects again. */
void disconnect(cli *c);

cJSON *params_new(void);
/* Add string member `name`; `value` NULL: add nothing. */
void params_text(cJSON *params, const char *name, const char *value);
/* Add member `name` with JSON text `json`, sent unchanged; NULL: add nothing. */
void params_raw(cJSON *params, const char *name, const char *json);
/* Add member `name` with value true; `value` false: add nothing. */
void params_bool(cJSON *params, const char *name, bool value);
/* Add member `name` with the non-negative integer in `text`; NULL: add nothing.  false: `text` is
 * not such an integer, and a usage message was printed. */
bool params_count(cli *c, cJSON *params, const char *name, const char *text);

/* -- call.c -- */

/* Read an operator and its arguments from the words, and add "op", "args" and "kwargs" to
 * `params`. */
int bind_words(cli *c, cJSON *params);

/* -- sample.c: the text of server.metrics -- */

/* A sample "NAME{LABEL="VALUE",...} NUMBER" of the text; `labels` and `value` point into it. */
typedef struct sample {
    const char *labels; /* the first label; NULL: none */
    double value;
} sample;
/* Find the next sample of metric `name` in `*text`, and move `*text` behind it. */
bool sample_next(const char **text, const char *name, sample *out);
/* Return the value of a label, owned; "": the sample has no such label. */
char *sample_label(const sample *s, const char *label);
/* Return the sum of the samples of metric `name`. */
double sample_sum(const char *text, const char *name);

/* -- grad_picture.c -- */

/* Draw the answer of grad.graph on standard output, as SVG, or as a page of HTML with that. */
void show_grad_svg(const cJSON *result);
void show_grad_html(const cJSON *result);

/* -- basics.c -- */

/* Return `p`.  If `p` is NULL, memory ran out: print that and exit. */
void *need(void *p);
/* Return `array` [n] with room for one more item of `bytes` bytes.  It doubles: the array has grown
 * by this function alone, one item at a time. */
void *grown(void *array, size_t n, size_t bytes);
/* Return the seconds of CLOCK_MONOTONIC. */
double seconds_now(void);
/* Format like printf() into owned text. */
char *text_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* -- print.c -- */

/* One column of a table whose rows are JSON objects. */
typedef struct column {
    const char *header;
    char *(*cell)(const cJSON *row, const char *member); /* returns owned text */
    const char *member;
    bool right; /* align the cells to the right */
} column;
/* Functions for column.cell; each returns owned text. */
/* a string or number; "a, b" for an array; other JSON */
char *cell_text(const cJSON *row, const char *member);
char *cell_micros(const cJSON *row, const char *member);   /* nanoseconds as microseconds: 12.3 */
char *cell_location(const cJSON *row, const char *member); /* "file:line" of the row */
char *cell_count(const cJSON *row, const char *member);    /* length of an array */
char *cell_mark(const cJSON *row, const char *member);     /* "yes" for true, else "" */
/* Draw a progress bar on standard error, over the one drawn before: "[####      ]  40 % of WHAT".
 * The line ends when `done` reaches `total`, or by end_progress(), before anything else is printed.
 */
void draw_progress(double done, double total, const char *what);
void end_progress(void);
void print_table(const cJSON *rows, const column *columns, size_t n);
/* Test whether a row of the table fits on one line of the terminal. */
bool table_fits(const cJSON *rows, const column *columns, size_t n);
/* Print `header`, then, from column `indent` on, the array of strings `words`, wrapped to the
 * terminal's width. */
void print_wrapped(const char *header, int indent, const cJSON *words);
/* Print a line "name  value" for each member of an object, except members whose value is an empty
 * array, or an array or object that begins with an object. */
void print_members(const cJSON *object);

char *json_text(const cJSON *j); /* numbers keep every digit; returns owned text */
/* Print member "fallbacks" of an answer as a table; nothing if it is empty (service.c). */
void print_fallbacks(const cJSON *result);
void print_json(const cJSON *j);      /* one line of JSON */
void print_value(const cJSON *value); /* tensors as matrices, other values as JSON */
/* Print the outputs of a call or a program; warnings go to standard error. */
void print_outputs(const cJSON *result);
char *list_text(const cJSON *array); /* "a, b, c"; returns owned text */

static inline const cJSON *member(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}
/* Return string member `name`; "": there is no such string. */
static inline const char *text_of(const cJSON *object, const char *name)
{
    const char *s = cJSON_GetStringValue(member(object, name));
    return s ? s : "";
}
/* Return number member `name`; NaN: there is no such number. */
static inline double number_of(const cJSON *object, const char *name)
{
    return cJSON_GetNumberValue(member(object, name));
}

#endif
