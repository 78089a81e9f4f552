/* users.h -- one record for each uid that uses the daemon: its sessions and connections, its named
 * tensors, its limits and its figures.
 *
 * Sessions and connections have references to the record.  It stays when the last of them has gone,
 * for two reasons: named tensors outlive sessions, and memory that sessions left in plugins counts
 * for later sessions of the uid.  When LIMIT_UIDS records exist, one that has neither gives way to
 * the next uid.  sessions.lock protects every member, except where a comment names another lock. */
#ifndef DAEMON_USERS_H
#define DAEMON_USERS_H

#include "request.h"
#include <sys/types.h>

struct metric_table;
struct sessions;

typedef struct named_tensor {
    char *name;        /* owned */
    dp_tensor *tensor; /* counted reference */
} named_tensor;

struct user {
    struct user *next;
    struct sessions *all;
    uid_t uid;     /* never changes, like the pointers to accounts and figures */
    unsigned refs; /* sessions and connections of the uid */
    unsigned n_sessions, n_connections; /* of the sessions that can be joined */
    dp_account_group *group;            /* owned: the accounts of all sessions of the uid */
    dp_account *named;                  /* owned: charged for the named tensors; see names.c */
    named_tensor *names;                /* [n_names], sorted by name */
    size_t n_names, cap_names;
    struct metric_table *figures; /* owned; NULL: the uid is the daemon's own */
};

/* -- users.c -- */

/* Return a reference to the record of `uid`, which is made if necessary.  The caller holds
 * sessions.lock.  NULL: LIMIT_UIDS uids use the daemon, or out of memory; see `*err`. */
user *users_get(struct sessions *all, uid_t uid, dp_error *err);
user *user_ref(user *u); /* returns `u` */
void user_unref(user *u);
void users_fini(struct sessions *all);

/* -- names.c -- */

void names_drop(user *u); /* Remove all names. */

#endif
