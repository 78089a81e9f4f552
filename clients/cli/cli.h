/* cli.h -- what the files of dispatchctl share.
 *
 * print.c turns answers into text; words.c takes options from the command line; ask.c owns the
 * connection.  main.c finds the verb; each other file holds one group of verbs and its table.  A
 * verb returns one of the exit codes below. */
#ifndef CLI_H
#define CLI_H

#include "dispatch_client.h"
#include <stdbool.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum { /* exit codes; --help prints them */
       CLI_OK = 0,
       CLI_ERROR = 1,         /* the daemon answered an error */
       CLI_USAGE = 2,         /* the command line is wrong; nothing was sent */
       CLI_NO_CONNECTION = 3, /* no daemon, or the connection broke */
};

typedef struct cli {
    const char *socket;  /* --socket; NULL: the usual place */
    const char *session; /* --session; NULL: a session of its own */
    bool json;           /* --json */
    dc_client *client;   /* NULL until the first request */
    const struct verb *verb;
    char **words; /* [n_words] what follows the verb; take_* remove from it */
    int n_words;
} cli;

typedef struct verb {
    const char *name; /* "plugin load" */
    const char *args, *help;
    int (*run)(cli *c);
} verb;

/* One table per file; each ends with a NULL name. */
extern const verb verbs_call[], verbs_registry[], verbs_plugin[], verbs_tensor[], verbs_program[],
    verbs_service[];

/* -- words.c -- */

bool take_flag(cli *c, const char *name); /* "--trace" */
const char *take_option(cli *c,
                        const char *name); /* "--key VALUE" or "--key=VALUE"; NULL: not there */
/* After the options are taken: are there min to max words (-1: any number) and no option left?
 * Otherwise says how the verb is used. */
bool words_fit(cli *c, int min, int max);
void remove_words(cli *c, int at, int n);
/* JSON with its integers of 2^53 and more as the protocol spells them; elements: they are those of
 * a tensor, as they are within objects.  Owned. */
char *spell_integers(const char *json, bool elements);
int usage(cli *c, const char *format, ...) __attribute__((format(printf, 2, 3))); /* CLI_USAGE */

/* -- ask.c -- */

/* One request; takes params.  An error is printed.  a: dc_answer_fini() it iff CLI_OK. */
int request(cli *c, const char *method, cJSON *params, dc_answer *a);
/* A request whose result is printed: as JSON with --json, else by show. Takes params. */
int ask(cli *c, const char *method, cJSON *params, void (*show)(const cJSON *result));

cJSON *params_new(void);
void params_text(cJSON *params, const char *name, const char *value); /* NULL value: nothing */
void params_raw(cJSON *params, const char *name, const char *json);   /* JSON text as it is */
void params_bool(cJSON *params, const char *name, bool value);        /* false: nothing */
/* Adds member "name" with the non-negative integer in text; false and usage when it is none. */
bool params_count(cli *c, cJSON *params, const char *name, const char *text);

/* -- print.c -- */

/* p, unless memory ran out: then says so and ends the program. */
void *need(void *p);

/* A column of a table whose rows are objects. */
typedef struct column {
    const char *header;
    char *(*cell)(const cJSON *row, const char *member); /* owned text */
    const char *member;
    bool right; /* aligned */
} column;
char *cell_text(const cJSON *row, const char *member);   /* strings plain, others as JSON */
char *cell_micros(const cJSON *row, const char *member); /* nanoseconds as 12.3 */
char *cell_place(const cJSON *row, const char *member);  /* "file:line" of the row */
char *cell_count(const cJSON *row, const char *member);  /* length of an array */
char *cell_mark(const cJSON *row, const char *member);   /* "yes" or nothing */
char *text_printf(const char *format, ...) __attribute__((format(printf, 1, 2))); /* owned */
void print_table(const cJSON *rows, const column *columns, size_t n);
bool table_fits(const cJSON *rows, const column *columns, size_t n); /* on lines of the terminal */
/* header, and from column `indent` on an array of strings, on as many lines as they take. */
void print_wrapped(const char *header, int indent, const cJSON *words);
/* "name  value" lines: every member of an object that holds no objects. */
void print_members(const cJSON *object);

char *json_text(const cJSON *j);         /* exact numbers; owned */
void print_json(const cJSON *j);         /* one line */
void print_value(const cJSON *value);    /* tensor as a matrix, list, number, null */
void print_outputs(const cJSON *result); /* of a call or program; its warnings on standard error */
char *list_text(const cJSON *array);     /* "a, b, c"; owned */

static inline const cJSON *member(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}
static inline const char *text_of(const cJSON *object, const char *name) /* "" when there is none */
{
    const char *s = cJSON_GetStringValue(member(object, name));
    return s ? s : "";
}
static inline double number_of(const cJSON *object, const char *name) /* NaN when there is none */
{
    return cJSON_GetNumberValue(member(object, name));
}

#endif
