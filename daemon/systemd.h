/* systemd.h -- the service manager's protocols: readiness and socket activation. */
#ifndef DAEMON_SYSTEMD_H
#define DAEMON_SYSTEMD_H

#include "daemon.h"

/* Read and remove $NOTIFY_SOCKET, $LISTEN_PID, $LISTEN_FDS and $LISTEN_FDNAMES, so that child
 * processes do not use them.  Call this function once, before the first thread starts.  DP_EVALUE:
 * a value that this daemon cannot use; the message names the variable. */
int systemd_init(dp_error *err);
/* Return the descriptor of the listening socket that the service manager passed; -1: none. */
int systemd_listener(void);
/* Send a message in the form of sd_notify(3), "READY=1" for example, to the service manager.
 * Without $NOTIFY_SOCKET, do nothing.  Never blocks; a failure is logged.  Main thread. */
void systemd_notify(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
