/* barrier.c -- a barrier that one thread passes for all of them (membarrier(2)), so that what each
 * call publishes need not be followed by one.  Where it is missing, callers fence. */
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
    static atomic_int any; /* this thread's own: a locked instruction */
    atomic_fetch_add(&any, 0);
}
