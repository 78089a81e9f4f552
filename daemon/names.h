/* names.h -- the table of named tensors. */
#ifndef DAEMON_NAMES_H
#define DAEMON_NAMES_H

#include "request.h"

typedef struct named_tensor {
    char *name;        /* owned */
    dp_tensor *tensor; /* counted reference */
} named_tensor;

/* The names of one uid. */
typedef struct uid_names {
    uid_t uid;
    dp_account *account; /* owned: charged for the named tensors of this uid */
    named_tensor *items; /* [n], sorted by name */
    size_t n, cap;
} uid_names;

struct name_table {
    dp_holder_limit limits[DP_HOLDERS]; /* limits of each uid's account */
    pthread_mutex_t lock;               /* protects `uids` */
    uid_names **uids;                   /* [n] owned, in no order */
    size_t n, cap;
};
void names_init(name_table *all, const int64_t *limits); /* `limits` has LIMITS members */
void names_fini(name_table *all);
void names_limits(name_table *all, const int64_t *limits); /* Put other limits in force. */
/* Add the usage of all uids that `asker` may see to `out`: see session_may_see(). */
void names_usage(name_table *all, const struct session *asker, dp_usage out[DP_HOLDERS]);

#endif
