/* digits_data.h -- what train_digits.c and train_digits_calls.c have in common: the connection, the
 * tensors in the daemon by their names in digits.json, and the losses. */
#ifndef DIGITS_DATA_H
#define DIGITS_DATA_H

#include <cjson/cJSON.h>
#include <dispatchd-client.h>

enum {
    NAMES = 96,   /* most names of inputs and results in the program */
    RESULTS = 16, /* most tensors that one step returns */
    AHEAD = 500   /* answers that may wait while more requests are sent */
};

extern dpc_client *client;
extern dpc_error err;

void ok(int rc); /* End the program if a function of the library has failed. */
void die(const char *what, const char *name);

/* a value of the program: one tensor, or the tensors of a list */
typedef struct value {
    const char *name;
    int64_t handles[RESULTS]; /* [n] */
    size_t n;
    bool list;
} value;
void put(const char *name, const int64_t *handles, size_t n, bool list);
value *find(const char *name);

/* Read the words "DATA [BATCHES]" of the command line: the directory of the .safetensors files, and
 * how many batches to train with.  Connect, load the data and the initial weights, and return the
 * program, which is the file at $DIGITS or clients/demo/digits.json. */
cJSON *begin(int argc, char **argv, int *batches);
/* Print the losses in the answers, in order, until only `left` are outstanding. */
void print_losses(size_t left);
void end(cJSON *program, int batches); /* Print all other losses, and leave. */

#endif
