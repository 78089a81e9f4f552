/* lower.h -- the state and functions that lower.c and inline.c share to make programs from JSON. */
#ifndef DAEMON_METHODS_LOWER_H
#define DAEMON_METHODS_LOWER_H

#include "methods.h"

typedef struct lowering {
    request *rq;
    dp_builder *b;
    dp_error *err;
    dp_ref next;    /* if `is_inline`: number of the input for the next tensor */
    uint32_t step;  /* index of the client's step that is being converted */
    bool is_inline; /* the steps were sent in program.run: tensors become inputs, see inline.c */
} lowering;

/* Is `j` a value that becomes an input of an inline program: a tensor (by handle or as a literal),
 * a generator or an object of a plugin? */
static inline bool is_tensor_json(const cJSON *j)
{
    return cJSON_IsObject(j) && param(j, "ref") == NULL && param(j, "int") == NULL &&
           param(j, "float") == NULL && param(j, "complex") == NULL;
}

/* Add the steps in `list` and the outputs in `results` to `l->b`, finish the program and free
 * `l->b`.  `rc` is the result of declaring the inputs; if it is negative, only free `l->b`. */
int lowering_finish(lowering *l, const cJSON *list, const cJSON *results, int rc, dp_program **out);

#endif
