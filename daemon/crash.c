/* crash.c -- what the log says when the process dies: of a signal, of std::terminate (which
 * aborts), of exit() in a kernel.  One signal it survives: SIGFPE of floating-point exceptions that
 * a plugin has unmasked.
 *
 * The report says what every thread was running, then the stack of the one that died; afterwards
 * the process ends as it would have.  In the handlers only what is async-signal-safe is called:
 * write, no stdio, no memory, a stack of their own.  What another thread runs may change while it
 * is read: a fault there costs that thread's lines; a second one of the report itself ends the
 * process.
 */
#define _GNU_SOURCE /* ucontext_t */
#include "crash.h"
#include "daemon.h"
#include <execinfo.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum {
    STACK_BYTES = 64 << 10, /* of a thread's handlers */
    FRAMES = 64,            /* of the backtrace */
    LINE_BYTES = 1280,
    WRITE_MS = 1000,  /* a log that takes nothing for so long is given up */
    REPORT_S = 10,    /* then SIGALRM ends it */
    OTHERS_MS = 10000 /* threads that die meanwhile wait for the first one's report */
};

static const struct {
    int number;
    const char *name;
} deadly[] = {{SIGSEGV, "SIGSEGV"},
              {SIGBUS, "SIGBUS"},
              {SIGFPE, "SIGFPE"},
              {SIGILL, "SIGILL"},
              {SIGABRT, "SIGABRT"}};
enum { N_DEADLY = sizeof(deadly) / sizeof(deadly[0]) };

static struct sigaction before[N_DEADLY]; /* the sanitizers', or the system's */
static atomic_int reporter;               /* id of the thread that reports; 0: none */
static sigjmp_buf unreadable;
static volatile sig_atomic_t reading;
static _Thread_local _Alignas(16) char handler_stack[STACK_BYTES];

static const char trap_event[] = "executor.fp_trap";

/* -- lines -- */

typedef struct text {
    char s[LINE_BYTES];
    size_t n;
} text;

static void add(text *t, const char *s)
{
    for (; *s != '\0' && t->n < LINE_BYTES - 1; s++) /* the last byte is the LF's */
        t->s[t->n++] = (unsigned char)*s < 0x20 ? ' ' : *s;
}

static void add_number(text *t, uint64_t n, unsigned base, int width)
{
    char digits[24], *at = digits + sizeof(digits);

    for (*--at = '\0'; n > 0 || width > 0; n /= base, width--)
        *--at = "0123456789abcdef"[n % base];
    add(t, at);
}

/* As log.c has it; gmtime_r() takes a lock.  Years begin in March, so that leap days end them. */
static void add_stamp(text *t)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t second = (uint64_t)now.tv_sec % 86400, days = (uint64_t)now.tv_sec / 86400 + 719468;
    uint64_t era = days / 146097, day = days % 146097; /* of 400 years */
    uint64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    day -= 365 * year + year / 4 - year / 100;
    uint64_t month = (5 * day + 2) / 153;
    const struct {
        uint64_t n;
        int width;
        const char *after;
    } parts[] = {
        {year + 400 * era + (month >= 10), 4, "-"},
        {month < 10 ? month + 3 : month - 9, 2, "-"},
        {day - (153 * month + 2) / 5 + 1, 2, "T"},
        {second / 3600, 2, ":"},
        {second / 60 % 60, 2, ":"},
        {second % 60, 2, "."},
        {(uint64_t)now.tv_nsec / 1000000, 3, "Z"},
    };
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        add_number(t, parts[i].n, 10, parts[i].width);
        add(t, parts[i].after);
    }
}

static bool can_write(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    return poll(&p, 1, WRITE_MS) == 1;
}

static void put_line(const char *event, const char *s)
{
    text t = {.n = 0};

    add_stamp(&t);
    add(&t, event == trap_event ? " warn " : " error ");
    add(&t, event);
    add(&t, " ");
    add(&t, s);
    t.s[t.n++] = '\n';
    if (!can_write(log_descriptor()) || write(log_descriptor(), t.s, t.n) < 0)
        return;
}

/* -- the report -- */

static void put_call(void *arg, const char *s)
{
    (void)arg;
    put_line("server.crash.call", s);
}

static bool tell(size_t thread)
{
    bool more = dp_thread_report(thread, put_call, NULL);

    if (thread == 0)
        dp_thread_report_last(put_call, NULL);
    return more;
}

static void put_threads(void)
{
    /* volatile: written between sigsetjmp() and siglongjmp() */
    for (volatile size_t thread = 0; thread <= DP_LIMIT_THREADS; thread++) {
        bool more = true;
        if (sigsetjmp(unreadable, 1) == 0) {
            reading = 1;
            more = tell(thread);
        } else {
            put_line("server.crash.call", "what a thread ran cannot be read");
        }
        reading = 0;
        if (!more)
            return;
    }
}

static void put_stack(void)
{
    void *frames[FRAMES];
    int n = backtrace(frames, FRAMES);

    put_line("server.crash.stack", "of thread=0, the latest call first:");
    if (can_write(log_descriptor()))
        backtrace_symbols_fd(frames, n, log_descriptor());
}

static void report(const char *what)
{
    alarm(REPORT_S); /* the dynamic linker's lock, a full disk ... */
    put_line("server.crash", what);
    put_threads();
    put_stack();
    alarm(0);
}

/* True once in the life of the process. */
static bool claim(void)
{
    int none = 0;
    return atomic_compare_exchange_strong(&reporter, &none, (int)syscall(SYS_gettid));
}

/* -- floating-point exceptions that a kernel lets trap -- */

static void put_trap(void *arg, const char *s)
{
    (void)arg;
    put_line(trap_event, s);
}

/* Mask the exceptions of the interrupted code and let it go on, if that is why SIGFPE came.  A
 * kernel that called feenableexcept() would end the daemon with the next inexact result on its
 * thread, often in other code; to compare the masks after each kernel would cost as much as a short
 * call does.  Integers divided by zero come as SIGFPE too, and are faults. */
static bool mask_exceptions(const siginfo_t *info, void *context)
{
#if defined(__x86_64__)
    enum { MXCSR_MASKS = 0x1f80, X87_MASKS = 0x3f };
    static _Thread_local volatile sig_atomic_t told;
    const ucontext_t *interrupted = context;
    struct _libc_fpstate *fp = interrupted->uc_mcontext.fpregs;

    if (info->si_code < FPE_FLTDIV || info->si_code > FPE_FLTSUB || fp == NULL)
        return false;
    fp->mxcsr |= MXCSR_MASKS;
    fp->cwd |= X87_MASKS;
    if (!told) {
        told = 1;
        put_line(trap_event,
                 "floating-point exceptions trapped on this thread and are masked again; "
                 "it ran, or ran last:");
        if (!dp_thread_report(0, put_trap, NULL))
            dp_thread_report_last(put_trap, NULL);
    }
    return true;
#else
    (void)info, (void)context;
    return false;
#endif
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    size_t i = 0;
    text what = {.n = 0};

    if (number == SIGFPE && mask_exceptions(info, context))
        return;
    while (i < N_DEADLY - 1 && deadly[i].number != number)
        i++;
    if (claim()) {
        add(&what, "signal=");
        add(&what, deadly[i].name);
        if (info->si_code == SI_KERNEL && info->si_addr == NULL) {
            add(&what, " address=unknown"); /* x86-64 gives none for one that no mapping can have */
        } else if (info->si_code > 0 && number != SIGABRT) {
            add(&what, " address=0x");
            add_number(&what, (uintptr_t)info->si_addr, 16, 1);
        }
        add(&what, "  thread 0 is the one that died");
        what.s[what.n] = '\0';
        report(what.s);
    } else if (atomic_load(&reporter) != (int)syscall(SYS_gettid)) {
        poll(NULL, 0, OTHERS_MS);
    } else if (reading) {
        siglongjmp(unreadable, 1);
    }
    sigaction(number, &before[i], NULL);
    if (info->si_code <= 0) /* sent: a fault comes again by itself, with its own address */
        raise(number);
}

static void count_call(void *arg, const char *s)
{
    (void)s;
    ++*(unsigned *)arg;
}

/* exit() runs its handlers on the thread that calls it.  With calls of other threads under way the
 * destructors of libraries would pull the ground from under them: nothing more is run. */
static void on_end(int status, void *arg)
{
    unsigned calls = 0;
    text what = {.n = 0};

    (void)arg;
    dp_thread_report(0, count_call, &calls);
    if (calls == 0 || !claim())
        return;
    add(&what, "exit=");
    add_number(&what, (uint64_t)(status & 0xff), 10, 1);
    add(&what, "  a plugin called exit(); thread 0 is the one that did");
    what.s[what.n] = '\0';
    report(what.s);
    _exit(status);
}

/* -- installing -- */

void crash_thread(void)
{
    stack_t stack = {.ss_sp = handler_stack, .ss_size = sizeof(handler_stack)}, old;

    sigaltstack(NULL, &old);
    if (old.ss_flags & SS_DISABLE) /* the address sanitizer brings its own and takes that away */
        sigaltstack(&stack, NULL);
}

void crash_watch(void)
{
    struct sigaction action = {.sa_sigaction = on_signal,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    void *one[1];

    backtrace(one, 1); /* loads what it needs now: later there may be no memory */
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < N_DEADLY; i++) {
        sigaction(deadly[i].number, &action, &before[i]);
        if (before[i].sa_handler == SIG_IGN) /* nohup and the like: it must end */
            before[i].sa_handler = SIG_DFL;
    }
    on_exit(on_end, NULL);
    crash_thread();
}
