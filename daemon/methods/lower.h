/* lower.h -- what lower.c and inline.c share. */
#ifndef DAEMON_METHODS_LOWER_H
#define DAEMON_METHODS_LOWER_H

#include "methods.h"

typedef struct lowering {
    request *rq;
    dp_builder *b;
    dp_error *err;
    dp_ref next;   /* inline: the input that the next tensor is */
    uint32_t step; /* of the client */
    bool is_inline;
} lowering;

/* A handle or a literal. */
static inline bool is_tensor_json(const cJSON *j)
{
    return cJSON_IsObject(j) && param(j, "ref") == NULL && param(j, "int") == NULL &&
           param(j, "float") == NULL && param(j, "complex") == NULL;
}

/* Lower the steps in `list` and the outputs in `results` and finish the program; `rc` is what
 * declaring its inputs gave.  l->b is gone afterwards. */
int lowering_finish(lowering *l, const cJSON *list, const cJSON *results, int rc, dp_program **out);

#endif
