/* client_shared.h -- what the test programs for shared memory ask about their process and the
 * daemon's. */
#ifndef CLIENT_SHARED_H
#define CLIENT_SHARED_H

#include <unistd.h>
#include "client_test.h"

enum { PAGE = 4096, PAGES = 16, N = PAGES * PAGE / 4 /* floats */ };

/* -- what this process has -- */

/* Find the inode of the file that is mapped at `address` of process `pid`, or the address of the
 * mapping of `*inode` if that is not 0.  false: there is none. */
static inline bool find_mapping(int64_t pid, uint64_t *address, uint64_t *inode)
{
    char name[64], line[512];
    bool found = false;

    snprintf(name, sizeof(name), "/proc/%" PRId64 "/maps", pid);
    FILE *f = fopen(name, "r");
    CHECK(f != NULL);
    while (!found && fgets(line, sizeof(line), f) != NULL) {
        uint64_t from, to, inode_here;
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*s %*s %" SCNu64, &from, &to, &inode_here) !=
            3)
            continue;
        found = *inode != 0 ? inode_here == *inode : from <= *address && *address < to;
        *address = found && *inode != 0 ? from : *address;
        *inode = found ? inode_here : *inode;
    }
    fclose(f);
    return found;
}

static inline int count_mappings(void)
{
    char line[512];
    int n = 0;
    FILE *f = fopen("/proc/self/maps", "r");

    CHECK(f != NULL);
    while (fgets(line, sizeof(line), f) != NULL)
        n += strstr(line, "memfd:dispatchd") != NULL;
    fclose(f);
    return n;
}

/* Read the numbers of the page frames at `address`.  false: only root may know them. */
static inline bool read_frames(int64_t pid, uint64_t address, uint64_t frames[PAGES])
{
    char name[64];
    bool any = false;

    snprintf(name, sizeof(name), "/proc/%" PRId64 "/pagemap", pid);
    FILE *f = fopen(name, "r");
    if (f == NULL)
        return false;
    CHECK(fseek(f, (long)(address / PAGE * 8), SEEK_SET) == 0);
    INT_IS(fread(frames, 8, PAGES, f), PAGES);
    fclose(f);
    for (int i = 0; i < PAGES; i++) {
        frames[i] &= (UINT64_C(1) << 55) - 1;
        any = any || frames[i] != 0;
    }
    return any;
}

static inline int64_t daemon_pid(dpc_client *c)
{
    dpc_answer *a;
    int64_t pid;

    WORKS(dpc_call_json(c, "server.hello", NULL, &a, &err));
    INT_IS(dpc_value_int(dpc_value_member(dpc_answer_result(a), "pid"), &pid), 0);
    dpc_answer_free(a);
    return pid;
}

/* Check that the page at `data` and those behind it are the daemon's own. */
static inline void check_same_pages(dpc_client *c, const void *data)
{
    uint64_t mine[PAGES], theirs[PAGES], inode = 0, address = (uint64_t)(uintptr_t)data;
    int64_t pid = daemon_pid(c);

    /* A mapping has no frame for a page that nothing has read, and how many pages beside it one
     * read brings in is the kernel's choice. */
    for (int i = 0; i < PAGES; i++)
        (void)((const volatile char *)data)[i * PAGE];

    INT_IS(address % PAGE, 0);
    CHECK(find_mapping(getpid(), &address, &inode));
    CHECK(inode != 0);
    bool known = read_frames(getpid(), address, mine);
    address = 0;
    CHECK(find_mapping(pid, &address, &inode));
    for (int i = 0; known && read_frames(pid, address, theirs) && i < PAGES; i++)
        INT_IS(mine[i], theirs[i]);
}

/* Call an operator that takes a tensor and a number; returns a handle. */
static inline int64_t call_op(dpc_client *c, const char *op, int64_t tensor, double number)
{
    dpc_request *r = dpc_op_new(op);

    dpc_add_tensor(r, NULL, tensor);
    dpc_add_float(r, NULL, number);
    dpc_answer *a = answer_of(c, r);
    int64_t handle = output_of(a, 0).handle;
    dpc_answer_free(a);
    return handle;
}

static inline dpc_memory *memory_of(const float *x, size_t n)
{
    dpc_memory *m;

    WORKS(dpc_memory_new(n * sizeof(*x), &m, &err));
    memcpy(dpc_memory_data(m), x, n * sizeof(*x));
    return m;
}

#endif
