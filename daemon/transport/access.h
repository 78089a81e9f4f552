/* access.h -- which users may connect. */
#ifndef DAEMON_TRANSPORT_ACCESS_H
#define DAEMON_TRANSPORT_ACCESS_H

#include "options.h"
#include <sys/types.h>

/* Ask the kernel who has connected on the socket `fd`, and check that this user may.  `*uid` gets
 * the user; (uid_t)-1: unknown.  DP_EPERM: the message names the uid and who may connect. */
int access_check(const options *o, int fd, uid_t *uid, dp_error *err);

#endif
