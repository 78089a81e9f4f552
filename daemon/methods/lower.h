/* lower.h -- the state and functions that lower.c and inline.c share. */
#ifndef DAEMON_METHODS_LOWER_H
#define DAEMON_METHODS_LOWER_H

#include "methods.h"

typedef struct lowering {
    request *rq;
    dp_builder *b;
    dp_error *err;
    dp_ref next;   /* inline only: number of the input for the next tensor */
    uint32_t step; /* number of the client's step that is being lowered */
    bool is_inline;
} lowering;

/* Is `j` a tensor: a handle or a tensor literal? */
static inline bool is_tensor_json(const cJSON *j)
{
    return cJSON_IsObject(j) && param(j, "ref") == NULL && param(j, "int") == NULL &&
           param(j, "float") == NULL && param(j, "complex") == NULL;
}

/* Lower the steps in `list` and the outputs in `results`, finish the program and free `l->b`.  `rc`
 * is the result of declaring the inputs; if it is negative, only free `l->b`. */
int lowering_finish(lowering *l, const cJSON *list, const cJSON *results, int rc, dp_program **out);

#endif
