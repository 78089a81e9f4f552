/* process.c -- saves process state before a plugin's code runs, and restores it afterwards.
 *
 * Loads, hooks and unloads are rare, so all state is compared after each of them.  After a kernel
 * only the floating-point environment is compared, because that takes less than a nanosecond; if it
 * changed, dpi_fp_restore() restores it. */
#define _GNU_SOURCE /* sched_getaffinity, sigabbrev_np */
#include "process.h"
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* -- the listener of warnings -- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    void (*fn)(const char *text, void *arg);
    void *arg;
} listener; /* protected by `lock` */

void dp_on_warning(void (*fn)(const char *text, void *arg), void *arg)
{
    pthread_mutex_lock(&lock);
    listener.fn = fn;
    listener.arg = arg;
    pthread_mutex_unlock(&lock);
}

void dpi_warn_listener(const char *text)
{
    pthread_mutex_lock(&lock);
    if (listener.fn != NULL)
        listener.fn(text, listener.arg);
    pthread_mutex_unlock(&lock);
}

/* -- text -- */

/* Text of a warning that is being written; it is cut so that it fits into `cap` bytes with its
 * NUL. */
typedef struct line {
    char *s;
    size_t len, cap;
} line;

static void __attribute__((format(printf, 2, 3))) add(line *l, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    int n = vsnprintf(l->s + l->len, l->cap - l->len, format, ap);
    va_end(ap);
    if (n > 0)
        l->len = l->len + (size_t)n < l->cap ? l->len + (size_t)n : l->cap - 1;
}

/* -- the floating-point environment -- */

static const struct {
    dpi_fp mask, value;
    const char *text;
} fp_modes[] = {
#if defined(__x86_64__)
    {0x8000, 0x8000, "subnormal results become zero"},
    {0x0040, 0x0040, "subnormal operands count as zero"},
    {0x6000, 0x0000, "rounding to nearest"},
    {0x6000, 0x2000, "rounding downward"},
    {0x6000, 0x4000, "rounding upward"},
    {0x6000, 0x6000, "rounding toward zero"},
    {(dpi_fp)0x0300 << 32, 0, "long double of 24 bits"},
    {(dpi_fp)0x0300 << 32, (dpi_fp)0x0200 << 32, "long double of 53 bits"},
#elif defined(__aarch64__)
    {0x1000000, 0x1000000, "subnormal numbers become zero"},
    {0x0c00000, 0x0000000, "rounding to nearest"},
    {0x0c00000, 0x0400000, "rounding upward"},
    {0x0c00000, 0x0800000, "rounding downward"},
    {0x0c00000, 0x0c00000, "rounding toward zero"},
#endif
    {~(dpi_fp)0, ~(dpi_fp)0, ""} /* matches no change; C arrays cannot be empty */
};

static void fp_describe(const void *was, const void *now, line *l)
{
    const dpi_fp before = *(const dpi_fp *)was, after = *(const dpi_fp *)now;
    bool any = false;

    for (size_t i = 0; i < DPI_COUNT(fp_modes); i++)
        if ((after & fp_modes[i].mask) == fp_modes[i].value &&
            (before & fp_modes[i].mask) != fp_modes[i].value) {
            add(l, "%s%s", any ? ", " : "", fp_modes[i].text);
            any = true;
        }
    if (!any)
        add(l, "control bits %#llx became %#llx", (unsigned long long)before,
            (unsigned long long)after);
}

static bool fp_save(void *to)
{
    *(dpi_fp *)to = dpi_fp_get();
    return true;
}

static bool fp_set(const void *was, const void *now)
{
    (void)now;
    dpi_fp_set(*(const dpi_fp *)was);
    return true;
}

void dpi_fp_restore(dpi_fp before, char *changed, size_t bytes)
{
    dpi_fp after = dpi_fp_get();
    line l = {changed, 0, bytes};

    dpi_fp_set(before);
    fp_describe(&before, &after, &l);
}

/* -- signals -- */

/* Copy the fields, because unused bytes of struct sigaction may differ from call to call. */
static bool actions_save(void *to)
{
    enum { RESTORER = 0x04000000 }; /* a flag that the C library may add */
    dpi_action *actions = to;
    struct sigaction a;

    for (int i = 1; i <= DPI_SIGNALS; i++) {
        if (sigaction(i, NULL, &a) < 0)
            continue; /* the C library reserves this signal and refuses the query */
        actions[i].handler = a.sa_handler;
        memcpy(&actions[i].mask, &a.sa_mask, sizeof(actions[i].mask));
        actions[i].flags = a.sa_flags & ~RESTORER;
    }
    return true;
}

static bool same_action(const dpi_action *a, const dpi_action *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

static bool actions_set(const void *was, const void *now)
{
    const dpi_action *to = was, *from = now;
    bool all = true;

    for (int i = 1; i <= DPI_SIGNALS; i++) {
        struct sigaction a = {.sa_handler = to[i].handler, .sa_flags = (int)to[i].flags};
        memcpy(&a.sa_mask, &to[i].mask, sizeof(to[i].mask));
        if (!same_action(&to[i], &from[i]))
            all &= sigaction(i, &a, NULL) == 0;
    }
    return all;
}

static void add_signal(line *l, bool first, int number)
{
    const char *name = sigabbrev_np(number);

    if (name != NULL)
        add(l, "%sSIG%s", first ? "" : ", ", name);
    else
        add(l, "%ssignal %d", first ? "" : ", ", number);
}

static void actions_describe(const void *was, const void *now, line *l)
{
    const dpi_action *a = was, *b = now;
    bool first = true;

    for (int i = 1; i <= DPI_SIGNALS; i++)
        if (!same_action(&a[i], &b[i])) {
            add_signal(l, first, i);
            first = false;
        }
}

static bool blocked_save(void *to)
{
    sigset_t set;

    sigemptyset(&set);
    if (pthread_sigmask(SIG_SETMASK, NULL, &set) != 0)
        return false;
    memcpy(to, &set, sizeof(uint64_t));
    return true;
}

static bool blocked_set(const void *was, const void *now)
{
    sigset_t set;

    (void)now;
    sigemptyset(&set);
    memcpy(&set, was, sizeof(uint64_t));
    return pthread_sigmask(SIG_SETMASK, &set, NULL) == 0;
}

static void blocked_describe(const void *was, const void *now, line *l)
{
    uint64_t differ = *(const uint64_t *)was ^ *(const uint64_t *)now;
    bool first = true;

    for (int i = 1; i <= DPI_SIGNALS; i++)
        if (differ >> (i - 1) & 1) {
            add_signal(l, first, i);
            first = false;
        }
}

/* -- locales -- */

static bool locale_save(void *to)
{
    const char *name = setlocale(LC_ALL, NULL);

    if (name == NULL || strlen(name) >= DPI_LOCALE_BYTES)
        return false;
    strcpy(to, name);
    return true;
}

static bool locale_set(const void *was, const void *now)
{
    (void)now;
    return setlocale(LC_ALL, was) != NULL;
}

static void text_describe(const void *was, const void *now, line *l)
{
    add(l, "'%.100s' became '%.100s'", (const char *)was, (const char *)now);
}

static bool thread_locale_save(void *to)
{
    *(locale_t *)to = uselocale((locale_t)0);
    return true;
}

static bool thread_locale_set(const void *was, const void *now)
{
    (void)now;
    return uselocale(*(const locale_t *)was) != (locale_t)0;
}

/* -- files -- */

/* Read the umask from /proc.  umask() would change it for a moment, while other threads may create
 * files. */
static bool umask_save(void *to)
{
    char status[4096], *at = NULL;
    int fd = open("/proc/thread-self/status", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, status, sizeof(status) - 1) : -1;

    if (fd >= 0)
        close(fd);
    if (n > 0) {
        status[n] = '\0';
        at = strstr(status, "\nUmask:");
    }
    if (at == NULL)
        return false;
    *(unsigned *)to = (unsigned)strtoul(at + strlen("\nUmask:"), NULL, 8);
    return true;
}

static bool umask_set(const void *was, const void *now)
{
    (void)now;
    umask((mode_t) * (const unsigned *)was);
    return true;
}

static void umask_describe(const void *was, const void *now, line *l)
{
    add(l, "%03o became %03o", *(const unsigned *)was, *(const unsigned *)now);
}

/* Save the path of the working directory; it is empty if that directory was removed. */
static bool directory_save(void *to)
{
    if (getcwd(to, DPI_DIRECTORY_BYTES) == NULL)
        memset(to, 0, DPI_DIRECTORY_BYTES);
    return true;
}

static bool directory_set(const void *was, const void *now)
{
    (void)now;
    return chdir(was) == 0;
}

static void directory_describe(const void *was, const void *now, line *l)
{
    static const char none[] = "(no path)";

    text_describe(*(const char *)was ? was : none, *(const char *)now ? now : none, l);
}

/* -- resources -- */

static bool limits_save(void *to)
{
    struct rlimit *limits = to;

    for (int i = 0; i < RLIM_NLIMITS; i++)
        if (getrlimit(i, &limits[i]) < 0)
            return false;
    return true;
}

static bool same_limit(const struct rlimit *a, const struct rlimit *b)
{
    return a->rlim_cur == b->rlim_cur && a->rlim_max == b->rlim_max;
}

/* Restore limits that changed.  If the process may not raise a hard limit again, set the soft limit
 * as far as the hard limit allows, and return false. */
static bool limits_set(const void *was, const void *now)
{
    const struct rlimit *to = was, *from = now;
    bool all = true;

    for (int i = 0; i < RLIM_NLIMITS; i++) {
        struct rlimit allowed = {to[i].rlim_cur < from[i].rlim_max ? to[i].rlim_cur
                                                                   : from[i].rlim_max,
                                 from[i].rlim_max};
        if (same_limit(&to[i], &from[i]) || setrlimit(i, &to[i]) == 0)
            continue;
        setrlimit(i, &allowed);
        all = false;
    }
    return all;
}

static void limits_describe(const void *was, const void *now, line *l)
{
    static const char *const names[] = {
        [RLIMIT_AS] = "AS",           [RLIMIT_CORE] = "CORE",
        [RLIMIT_CPU] = "CPU",         [RLIMIT_DATA] = "DATA",
        [RLIMIT_FSIZE] = "FSIZE",     [RLIMIT_LOCKS] = "LOCKS",
        [RLIMIT_MEMLOCK] = "MEMLOCK", [RLIMIT_MSGQUEUE] = "MSGQUEUE",
        [RLIMIT_NICE] = "NICE",       [RLIMIT_NOFILE] = "NOFILE",
        [RLIMIT_NPROC] = "NPROC",     [RLIMIT_RSS] = "RSS",
        [RLIMIT_RTPRIO] = "RTPRIO",   [RLIMIT_RTTIME] = "RTTIME",
        [RLIMIT_STACK] = "STACK",     [RLIMIT_SIGPENDING] = "SIGPENDING",
    };
    const struct rlimit *a = was, *b = now;
    bool first = true;

    for (size_t i = 0; i < DPI_COUNT(names); i++)
        if (names[i] != NULL && !same_limit(&a[i], &b[i])) {
            add(l, "%sRLIMIT_%s", first ? "" : ", ", names[i]);
            first = false;
        }
}

static bool cpus_save(void *to)
{
    cpu_set_t *cpus = to;

    return sched_getaffinity(0, sizeof(cpus[0]), &cpus[0]) == 0 &&
           sched_getaffinity(getpid(), sizeof(cpus[1]), &cpus[1]) == 0;
}

static bool cpus_set(const void *was, const void *now)
{
    const cpu_set_t *cpus = was;

    (void)now;
    return sched_setaffinity(0, sizeof(cpus[0]), &cpus[0]) == 0 &&
           sched_setaffinity(getpid(), sizeof(cpus[1]), &cpus[1]) == 0;
}

/* -- all items -- */

static const struct {
    const char *name;
    size_t offset, bytes;                          /* of the member of dpi_process */
    bool (*save)(void *to);                        /* false: unreadable; it is not compared */
    bool (*set)(const void *was, const void *now); /* restore `was`; false: failed */
    /* Append a description of the change; NULL: the item's name is enough. */
    void (*describe)(const void *was, const void *now, line *l);
} items[] = {
#define AT(member) offsetof(dpi_process, member), sizeof(((dpi_process *)0)->member)
    /* must be first: dpi_process_settle() restores the limits before it reads the other items,
     * because that opens files, which a lowered limit could prevent */
    {"resource limits", AT(limits), limits_save, limits_set, limits_describe},
    {"the floating-point environment", AT(fp), fp_save, fp_set, fp_describe},
    {"what signals do", AT(actions), actions_save, actions_set, actions_describe},
    {"the thread's blocked signals", AT(blocked), blocked_save, blocked_set, blocked_describe},
    {"the locale", AT(locale), locale_save, locale_set, text_describe},
    {"the thread's locale", AT(thread_locale), thread_locale_save, thread_locale_set, NULL},
    {"the umask", AT(umask), umask_save, umask_set, umask_describe},
    {"the working directory", AT(directory), directory_save, directory_set, directory_describe},
    {"the CPU affinity", AT(cpus), cpus_save, cpus_set, NULL},
#undef AT
};

void dpi_process_save(dpi_process *p)
{
    memset(p, 0, sizeof(*p));
    for (size_t i = 0; i < DPI_COUNT(items); i++)
        if (items[i].save((char *)p + items[i].offset))
            p->known |= 1u << i;
}

void dpi_process_settle(const dpi_process *was, const char *plugin, const char *what)
{
    char text[DP_LIMIT_WARNING_BYTES + 1];
    line l = {text, 0, sizeof(text)};
    bool any = false;
    dpi_process now = {0};

    for (size_t i = 0; i < DPI_COUNT(items); i++) {
        const char *before = (const char *)was + items[i].offset;
        char *after = (char *)&now + items[i].offset;
        if (!(was->known & 1u << i) || !items[i].save(after) ||
            memcmp(before, after, items[i].bytes) == 0)
            continue;
        if (any)
            add(&l, ", ");
        else
            add(&l, "plugin '%s': %s changed and the host set back: ", plugin, what);
        any = true;
        bool restored = items[i].set(before, after);
        add(&l, "%s", items[i].name);
        if (items[i].describe != NULL) {
            add(&l, " (");
            items[i].describe(before, after, &l);
            add(&l, ")");
        }
        if (!restored)
            add(&l, ", which could not be set back");
    }
    if (any)
        dpi_warn_listener(text);
}
