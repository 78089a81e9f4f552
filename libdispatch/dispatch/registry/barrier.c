/* barrier.c -- runs a memory barrier on every thread of the process, by membarrier(2).
 *
 * A call stores its frame and then loads the `closed` flag of its kernel's generation.  The store
 * must be visible before the load.  The thread that reads the frames runs this barrier first, so
 * calls need no fence of their own between the two.  On a Linux without membarrier(2), every call
 * executes a fence instead (dpi_thread_fence()). */
#include "thread.h"
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

bool dpi_membarrier_works;

static void membarrier_register(void)
{
    dpi_membarrier_works =
        syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

void dpi_membarrier_start(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, membarrier_register);
}

void dpi_membarrier(void)
{
    if (dpi_membarrier_works)
        syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    static atomic_int any; /* a locked instruction is the calling thread's own barrier */
    atomic_fetch_add(&any, 0);
}
