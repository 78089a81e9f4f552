/* openblas.c -- opens OpenBLAS with the kernels that fit the machine, and counts the buffers that
 * OpenBLAS has mapped.
 *
 * OpenBLAS reads its settings from the environment while dlopen() runs its constructor.  The
 * settings forbid threads of its own (the host's thread pool has them) and choose a core type that
 * fits the processor (blas_core.h).  setenv() would be unsafe while another thread calls getenv().
 * So `environ` points to an array with these settings during dlopen(); the array stays allocated
 * until the plugin is unloaded.
 *
 * Each thread inside OpenBLAS uses one buffer of 128 MiB of address space.  If no buffer is free,
 * OpenBLAS maps another one and never unmaps it; if the system refuses the mapping, OpenBLAS
 * retries for ever.  So at most as many threads call OpenBLAS at a time as there are buffers.  A
 * buffer is added only after a check that the memory for it can be mapped; if it cannot, threads
 * wait for a free buffer. */
#define _GNU_SOURCE /* RTLD_NOLOAD, environ */
#include "openblas.h"
#include "blas_core.h"
#include "lapack.h"
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LIBRARY   "libopenblas.so.0"
#define CORE_TYPE "OPENBLAS_CORETYPE"

enum {
    MIB = 1 << 20,
    LIBRARY_BYTES = 64 * MIB, /* bytes of the library file, and of libgfortran and libquadmath */
    BUFFER_BYTES = 132 * MIB, /* bytes of one buffer, with its alignment */
    /* greatest number of buffers; the smallest builds of OpenBLAS can manage 50 */
    BUFFERS_MAX = 48
};

/* -- functions of OpenBLAS -- */

struct blas_functions blas;

#define LAPACK4(name, s, d, c, z, ...) lapack_##name##_fn *lapack_##name[4];
#define LAPACK2(name, f, d, ...)       lapack_##name##_fn *lapack_##name[2];
#include "lapack_routines.h"
#undef LAPACK4
#undef LAPACK2

static char *(*get_corename)(void);
static char *(*get_config)(void);
static void (*set_num_threads)(int);
static void *(*memory_alloc)(int);
static void (*memory_free)(void *);

#define SYMBOL_(pointer, name) {(void *)&(pointer), name},
#define CBLAS_(name)           SYMBOL_(blas.name, "cblas_" #name)
#define LAPACK2(name, f, d, ...)                                                                   \
    SYMBOL_(lapack_##name[0], #f)                                                                  \
    SYMBOL_(lapack_##name[1], #d)
#define LAPACK4(name, s, d, c, z, ...)                                                             \
    LAPACK2(name, s, d)                                                                            \
    SYMBOL_(lapack_##name[2], #c)                                                                  \
    SYMBOL_(lapack_##name[3], #z)
static const struct {
    void **pointer;
    const char *name;
} symbols[] = {BLAS_MAP(CBLAS_) SYMBOL_(get_corename, "openblas_get_corename")
                   SYMBOL_(get_config, "openblas_get_config")
                       SYMBOL_(set_num_threads, "openblas_set_num_threads")
                           SYMBOL_(memory_alloc, "blas_memory_alloc")
                               SYMBOL_(memory_free, "blas_memory_free")
#include "lapack_routines.h"
};
#undef LAPACK4
#undef LAPACK2

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *library;      /* handle of dlopen(); protected by the lock */
static atomic_bool opened; /* true after `library` has all symbols, and there is a buffer */

/* Look up all symbols.  Return 0, or DP_ERUNTIME: a symbol is missing. */
static int find_symbols(dp_ctx *ctx)
{
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++)
        if ((*symbols[i].pointer = dlsym(library, symbols[i].name)) == NULL)
            return dp_fail(ctx, DP_ERUNTIME, "OpenBLAS (%s) has no function '%s'", LIBRARY,
                           symbols[i].name);
    return 0;
}

/* -- opening -- */

/* The environment while OpenBLAS is loaded: two settings, then the variables of the process.
 * getenv() returns the first variable of a name.  NULL before OpenBLAS is loaded. */
static char **settings;

static int settings_make(dp_ctx *ctx)
{
    static char threads[] = "OPENBLAS_NUM_THREADS=1";
    size_t n = 0;

    while (environ != NULL && environ[n] != NULL)
        n++;
    free(settings);
    settings = malloc(dp_size_times(n + 3, sizeof(*settings)));
    if (settings == NULL)
        return dp_fail(ctx, DP_ERESOURCE, "out of memory: settings of OpenBLAS");
    settings[0] = settings[1] = threads;
    if (n > 0)
        dp_copy_n(settings + 2, environ, n, sizeof(*settings));
    settings[n + 2] = NULL;
    return 0;
}

/* Load OpenBLAS with a core type, "OPENBLAS_CORETYPE=..."; NULL: the process's environment or
 * OpenBLAS chooses it. */
static void *open_as(char *core)
{
    char **before = environ, **with = settings;

    settings[1] = core != NULL ? core : settings[0];
    __atomic_store_n(&environ, with, __ATOMIC_RELEASE);
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    /* if a setenv() on another thread has replaced `environ`, its array stays */
    __atomic_compare_exchange_n(&environ, &with, before, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    return handle;
}

/* Close OpenBLAS if it is open, and open it with core type `core`; NULL: with the type that it
 * chooses. */
static int reopen(dp_ctx *ctx, const char *core)
{
    /* static, because `environ` may point to it after this function has returned */
    static char setting[64];

    if (library != NULL)
        dlclose(library);
    if (core != NULL)
        snprintf(setting, sizeof(setting), CORE_TYPE "=%s", core);
    library = open_as(core != NULL ? setting : NULL);
    if (library == NULL)
        return dp_fail(ctx, DP_ERUNTIME, "OpenBLAS cannot be loaded: %s", dlerror());
    return find_symbols(ctx);
}

/* Replace core type `own` if the processor has instructions that it does not use. */
static int choose_core(dp_ctx *ctx, const char *own)
{
    const blas_cpu cpu = blas_this_cpu();
    const char *core;
    int rc = 0;

    for (int i = 0; rc == 0 && (core = blas_better_core(&cpu, own, i)) != NULL; i++) {
        rc = reopen(ctx, core);
        if (rc == 0 && strcasecmp(get_corename(), core) == 0)
            return 0;
    }
    return rc == 0 && strcasecmp(get_corename(), own) != 0 ? reopen(ctx, NULL) : rc;
}

/* Report which kernels are used, and whether OpenBLAS, this plugin or another library has chosen
 * them. */
static void note(dp_ctx *ctx, const char *own, bool shared)
{
    const char *core = get_corename(), *config = get_config();
    size_t version = strcspn(config, " "); /* the string is "OpenBLAS 0.3.21 NO_LAPACKE ..." */

    version += config[version] != '\0' ? 1 + strcspn(config + version + 1, " ") : 0;
    if (strcasecmp(core, own) != 0)
        dp_note(ctx, "blas", "%.*s, %s kernels: it chose %s, which does not fit this processor",
                (int)version, config, core, own);
    else
        dp_note(ctx, "blas", "%.*s, %s kernels%s", (int)version, config, core,
                shared                      ? ": it was loaded before"
                : getenv(CORE_TYPE) != NULL ? ": " CORE_TYPE " is set"
                                            : "");
}

/* Load the library, and look up its symbols; the caller has the lock. */
static int open_library(dp_ctx *ctx)
{
    char own[32];

    library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    bool shared = library != NULL;
    int rc = shared ? find_symbols(ctx) : settings_make(ctx);
    if (rc == 0 && !shared)
        rc = reopen(ctx, NULL);
    if (rc == 0) {
        snprintf(own, sizeof(own), "%s", get_corename());
        if (!shared && getenv(CORE_TYPE) == NULL)
            rc = choose_core(ctx, own);
    }
    if (rc < 0) {
        if (library != NULL)
            dlclose(library);
        library = NULL;
        return rc;
    }
    set_num_threads(1); /* the process may have loaded OpenBLAS before, with more threads */
    note(ctx, own, shared);
    return 0;
}

/* -- buffers -- */

static pthread_cond_t left = PTHREAD_COND_INITIALIZER;
static void *buffers[BUFFERS_MAX]; /* buffers that OpenBLAS has mapped; protected by the lock */
static atomic_int n_buffers, inside, waiting;

static bool is_possible(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p != MAP_FAILED)
        munmap(p, bytes);
    return p != MAP_FAILED;
}

/* Take a free buffer.  False: no buffer is free. */
static bool take(void)
{
    int n = atomic_load(&inside);

    while (n < atomic_load(&n_buffers))
        if (atomic_compare_exchange_weak(&inside, &n, n + 1))
            return true;
    return false;
}

static bool is_known(const void *buffer, int n)
{
    for (int i = 0; i < n; i++)
        if (buffers[i] == buffer)
            return true;
    return false;
}

/* Let OpenBLAS map one more buffer; the caller has the lock.  False: there is no memory for it.  If
 * the function returns true, but n_buffers has not changed, OpenBLAS returned a buffer that another
 * thread has just left. */
static bool add_buffer(void)
{
    int n = atomic_load(&n_buffers);

    if (n == BUFFERS_MAX || !is_possible(BUFFER_BYTES))
        return false;
    void *buffer = memory_alloc(0);
    if (!is_known(buffer, n)) {
        buffers[n] = buffer;
        atomic_store(&n_buffers, n + 1);
    }
    memory_free(buffer);
    return true;
}

void blas_enter(void)
{
    if (take())
        return;
    pthread_mutex_lock(&lock);
    atomic_fetch_add(&waiting, 1);
    while (!take())
        if (!add_buffer())
            pthread_cond_wait(&left, &lock);
    atomic_fetch_sub(&waiting, 1);
    pthread_mutex_unlock(&lock);
}

void blas_leave(void)
{
    atomic_fetch_sub(&inside, 1);
    if (atomic_load(&waiting) == 0)
        return;
    pthread_mutex_lock(&lock);
    pthread_cond_signal(&left);
    pthread_mutex_unlock(&lock);
}

/* -- loading and unloading -- */

static int start(dp_ctx *ctx)
{
    int rc = 0;

    if (!is_possible((library != NULL ? 0 : LIBRARY_BYTES) + BUFFER_BYTES))
        return dp_fail(ctx, DP_ERESOURCE,
                       "OpenBLAS needs %d MiB of address space, which the system refuses (%s; see "
                       "ulimit -v)",
                       (LIBRARY_BYTES + BUFFER_BYTES) / MIB, strerror(errno));
    if (library == NULL)
        rc = open_library(ctx);
    if (rc == 0 && !add_buffer())
        rc =
            dp_fail(ctx, DP_ERESOURCE,
                    "OpenBLAS needs %d MiB of address space for a thread, which the system refuses "
                    "(%s; see ulimit -v)",
                    BUFFER_BYTES / MIB, strerror(errno));
    atomic_store_explicit(&opened, rc == 0, memory_order_release);
    return rc;
}

int blas_ready(dp_ctx *ctx)
{
    if (atomic_load_explicit(&opened, memory_order_acquire))
        return 0;
    pthread_mutex_lock(&lock);
    int rc = atomic_load(&opened) ? 0 : start(ctx);
    pthread_mutex_unlock(&lock);
    return rc;
}

void blas_close(void)
{
    if (library != NULL)
        dlclose(library);
    free(settings);
    library = NULL;
    settings = NULL;
    atomic_store(&n_buffers, 0);
    /* if unloading fails, the plugin continues to run, and opens OpenBLAS again */
    atomic_store(&opened, false);
}
