/* drop.c -- a thread that frees the nodes of large graphs.  A thread that releases the last tensor
 * of a graph may be the daemon's event loop, and must not spend its time on freeing thousands of
 * nodes. */
#include "history.h"
#include <pthread.h>
#include <signal.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static dpi_node *queue;                /* nodes to free, linked by next_dead */
static void (*free_nodes)(dpi_node *); /* the function that dpi_node_drop() got */
static bool started, busy;

static void *work(void *unused)
{
    pthread_mutex_lock(&lock);
    for (;;) {
        dpi_node *n = queue;
        busy = n != NULL;
        if (n == NULL) {
            pthread_cond_broadcast(&changed);
            pthread_cond_wait(&changed, &lock);
            continue;
        }
        void (*free_list)(dpi_node *) = free_nodes;
        queue = NULL;
        pthread_mutex_unlock(&lock);
        free_list(n);
        pthread_mutex_lock(&lock);
    }
    return unused;
}

/* Start the thread, with all signals blocked: the embedder's threads handle them.  The caller holds
 * `lock`. */
static bool start(void)
{
    sigset_t all, before;
    pthread_t thread;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool ok = !dpi_fault() && pthread_create(&thread, NULL, work, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (ok)
        pthread_detach(thread);
    return ok;
}

bool dpi_node_drop(dpi_node *n, void (*free)(dpi_node *))
{
    pthread_mutex_lock(&lock);
    free_nodes = free;
    started = started || start();
    bool taken = started;
    if (taken) {
        n->next_dead = queue;
        queue = n;
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
    return taken;
}

void dpi_node_drop_wait(void)
{
    pthread_mutex_lock(&lock);
    while (queue != NULL || busy)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}
