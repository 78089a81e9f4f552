/* maps.c -- descriptors that arrive, and the memory of tensors that the daemon passes by them
 * (maps).
 *
 * A descriptor comes beside bytes of the line that announces it, and one recvmsg() ends after bytes
 * that a descriptor came with.  So descriptors are queued, and a line takes as many as it
 * announces; when the bytes that came with a descriptor are read and no line has taken it, nobody
 * asked for it.
 *
 * The daemon passes a descriptor once and then names the memory by a number.  Therefore the client
 * keeps the memory of each answer, even if the caller no longer waits for the answer. */
#define _GNU_SOURCE /* memory seals */
#include "client.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static const cJSON *member(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

/* -- descriptors that arrive -- */

static int bad(dpc_client *c, dpc_error *err, const char *what)
{
    return dpci_break(c, DPC_EPROTOCOL, err, "the daemon's message %s", what);
}

int dpci_queue_descriptors(dpc_client *c, struct msghdr *h, dpc_error *err)
{
    bool all = true;

    for (struct cmsghdr *m = CMSG_FIRSTHDR(h); m != NULL; m = CMSG_NXTHDR(h, m)) {
        if (m->cmsg_level != SOL_SOCKET || m->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t i = 0; i < (m->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(m) + i * sizeof(fd), sizeof(fd));
            if (c->n_fds < DPCI_FDS_MAX)
                c->fds[c->n_fds++] = fd;
            else
                all = false, close(fd);
        }
        c->fds_end = c->received;
    }
    if (h->msg_flags & MSG_CTRUNC) /* the kernel has closed those that did not fit */
        return dpci_break(c, DPC_EBROKEN, err,
                          "a descriptor was lost: this process has too many open files, or the "
                          "daemon sent more than %d",
                          DPCI_FDS_MAX);
    return all ? 0 : bad(c, err, "comes with more descriptors than it may have");
}

int dpci_check_descriptors(dpc_client *c, dpc_error *err)
{
    uint64_t taken = c->received - (c->in.len - c->start);

    if (c->n_fds == 0 || taken < c->fds_end)
        return 0;
    dpci_drop_descriptors(c);
    return bad(c, err, "comes with a descriptor that it does not announce");
}

void dpci_drop_descriptors(dpc_client *c)
{
    while (c->n_fds > 0)
        close(c->fds[--c->n_fds]);
}

/* -- maps: numbers of shared memory on this connection -- */

static dpci_map *find_map(dpc_client *c, int64_t number)
{
    for (size_t i = 0; i < c->n_maps; i++)
        if (c->maps[i].number == number)
            return &c->maps[i];
    return NULL;
}

static bool reserve_maps(dpc_client *c, size_t more)
{
    size_t cap = c->cap_maps;

    while (cap < c->n_maps + more)
        cap = cap > 0 ? 2 * cap : 8;
    dpci_map *grown = cap > c->cap_maps ? realloc(c->maps, cap * sizeof(*grown)) : c->maps;
    if (grown == NULL && cap > 0)
        return false;
    c->maps = grown;
    c->cap_maps = cap;
    return true;
}

/* Drop the client's reference to the memory of `map`, whose number is then to be released. */
static void disuse(dpc_client *c, dpci_map *map)
{
    map->memory = dpc_memory_free(map->memory);
    c->n_unused++;
}

/* Let `number` name `m`, which the client takes over; NULL: the number is to be released. */
static void put_map(dpc_client *c, int64_t number, dpc_memory *m)
{
    dpci_map *map = find_map(c, number);

    if (map == NULL)
        map = &c->maps[c->n_maps++];
    else if (map->memory == NULL)
        c->n_unused--;
    else
        dpc_memory_free(map->memory);
    *map = (dpci_map){number, m};
    c->n_unused += m == NULL;
}

void dpci_forget_maps(dpc_client *c)
{
    for (size_t i = 0; i < c->n_maps; i++)
        dpc_memory_free(c->maps[i].memory);
    c->n_maps = c->n_unused = 0;
    c->asked_fd = 0;
}

/* Map the memory of the daemon behind `fd`.  A memory that could shrink would end this process by
 * SIGBUS, so it is refused. */
static int map_descriptor(dpc_client *c, int fd, dpc_memory **out, dpc_error *err)
{
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS);

    if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &st) < 0 || st.st_size <= 0)
        return bad(c, err, "passes a descriptor that is no memfd sealed against shrinking");
    void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED && errno != ENOMEM)
        return bad(c, err, "passes a descriptor that cannot be mapped");
    dpc_memory *m = data != MAP_FAILED ? dpci_memory_of(-1, data, (size_t)st.st_size) : NULL;
    if (m == NULL && data != MAP_FAILED)
        munmap(data, (size_t)st.st_size);
    if (m == NULL)
        return dpci_fail(err, DPC_EMEMORY, "out of memory to map a tensor of %lld bytes",
                         (long long)st.st_size);
    *out = m;
    return 0;
}

/* Find the memory that a result of tensor.read names, among `n` descriptors that came with it. */
static int take_map(dpc_client *c, dpc_answer *a, size_t n, dpc_error *err)
{
    const cJSON *map = member(a->result, "map"), *fd = member(a->result, "fd");
    int64_t number, index = -1;
    dpc_memory *m = NULL;

    if (map == NULL)
        return 0;
    if (dpc_value_int(map, &number) != 0 ||
        (fd != NULL && (dpc_value_int(fd, &index) != 0 || index < 0 || (size_t)index >= n)))
        return bad(c, err, "names a descriptor that it does not have");
    if (fd == NULL) {
        const dpci_map *known = find_map(c, number);
        if (known == NULL || known->memory == NULL)
            return bad(c, err, "names shared memory of which no descriptor came");
        a->memory = dpci_memory_ref(known->memory);
        return 0;
    }
    int rc = map_descriptor(c, c->fds[index], &m, err);
    if (rc != 0)
        return rc;
    put_map(c, number, m);
    a->memory = dpci_memory_ref(m);
    return 0;
}

int dpci_take_descriptors(dpc_client *c, dpc_answer *a, dpc_error *err)
{
    const cJSON *fds = member(a->root, "fds"), *maps = member(a->root, "maps"), *item;
    int64_t n = 0, number;

    if (fds == NULL && maps == NULL && member(a->result, "map") == NULL)
        return 0;
    if (fds != NULL && (dpc_value_int(fds, &n) != 0 || n < 0 || (size_t)n > c->n_fds))
        return bad(c, err, "announces descriptors that did not come");
    if (!reserve_maps(c, 1 + dpc_value_len(maps)))
        return dpci_fail(err, DPC_EMEMORY, "out of memory for the numbers of shared memory");
    int rc = take_map(c, a, (size_t)n, err);
    if (rc != 0)
        return rc;
    cJSON_ArrayForEach(item, maps)
    {
        if (dpc_value_int(item, &number) == 0) /* the tensor has the memory, the number is idle */
            put_map(c, number, NULL);
    }
    /* nobody needs the descriptor of a map, and the only other method with one is server.open */
    a->fd = n == 1 && a->memory == NULL ? c->fds[0] : -1;
    for (int64_t i = a->fd >= 0; i < n; i++)
        close(c->fds[i]);
    c->n_fds -= (size_t)n;
    memmove(c->fds, c->fds + n, c->n_fds * sizeof(c->fds[0]));
    return 0;
}

/* -- maps that are not used any more -- */

/* May an answer that has not arrived name a map without its descriptor? */
static bool answers_may_name_maps(const dpc_client *c)
{
    return c->asked_fd > c->arrived;
}

/* Has the caller the only reference?  Others can only drop theirs meanwhile. */
static bool is_only_user(const dpc_memory *m)
{
    return __atomic_load_n(&m->refs, __ATOMIC_ACQUIRE) == 1;
}

void dpci_disuse_map(dpc_client *c, const dpc_memory *m)
{
    for (size_t i = 0; i < c->n_maps; i++)
        if (c->maps[i].memory == m && is_only_user(m) && !answers_may_name_maps(c))
            disuse(c, &c->maps[i]);
}

void dpci_disuse_maps(dpc_client *c, int64_t most)
{
    if (most < 0 || (int64_t)c->n_maps < most || answers_may_name_maps(c))
        return;
    for (size_t i = 0; i < c->n_maps; i++)
        if (c->maps[i].memory != NULL && is_only_user(c->maps[i].memory))
            disuse(c, &c->maps[i]);
}

void dpci_drop_unused_maps(dpc_client *c)
{
    size_t kept = 0;

    for (size_t i = 0; i < c->n_maps; i++)
        if (c->maps[i].memory != NULL)
            c->maps[kept++] = c->maps[i];
    c->n_maps = kept;
    c->n_unused = 0;
}
