/* access.c -- which users may connect: the daemon's own uid, those of --allow-uid, and members of
 * the groups of --allow-gid.
 *
 * The kernel says who the client was when it connected: its uid and gid (SO_PEERCRED), and its
 * supplementary groups (SO_PEERGROUPS). */
#define _GNU_SOURCE
#include "transport/access.h"
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

enum { GROUPS_MOST = 65536 }; /* NGROUPS_MAX of Linux */

static bool contains(const id_list *l, int64_t id)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->items[i] == id)
            return true;
    return false;
}

/* Is one of the client's supplementary groups allowed? */
static bool has_allowed_group(const options *o, int fd)
{
    socklen_t bytes = GROUPS_MOST * sizeof(gid_t);
    gid_t *groups = o->allow_gids.n > 0 ? dp_malloc(bytes) : NULL;
    bool found = false;

    if (groups == NULL || getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &bytes) < 0)
        bytes = 0;
    for (size_t i = 0; i < bytes / sizeof(gid_t) && !found; i++)
        found = contains(&o->allow_gids, groups[i]);
    dp_free(groups);
    return found;
}

int access_check(const options *o, int fd, uid_t *uid, dp_error *err)
{
    struct ucred peer;
    socklen_t n = sizeof(peer);

    *uid = (uid_t)-1;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0)
        return dp_error_set(err, DP_EPERM, "the client's uid is unknown: errno %d", errno);
    *uid = peer.uid;
    if (peer.uid == geteuid() || contains(&o->allow_uids, peer.uid) ||
        contains(&o->allow_gids, peer.gid) || has_allowed_group(o, fd))
        return 0;
    return dp_error_set(err, DP_EPERM, "uid %ld is not the daemon's %ld, nor allowed by %s",
                        (long)peer.uid, (long)geteuid(), "--allow-uid or --allow-gid");
}
