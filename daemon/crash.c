/* crash.c -- the crash report: it logs which calls ran when the process was ended by a fatal
 * signal, by std::terminate (which aborts) or by exit() in a kernel.  The process survives only a
 * SIGFPE that comes from floating-point exceptions that a plugin unmasked.
 *
 * The report lists the calls that every thread was running, then the stack of the thread that died.
 * Afterwards the process ends as it would have ended without the report.  The signal handlers call
 * only async-signal-safe functions: write(), but neither stdio nor malloc, and they run on a stack
 * of their own.  Another thread may change the list of its calls while the report reads this list.
 * A fault during this read costs only the lines of that other thread; any other fault in the report
 * ends the process. */
#define _GNU_SOURCE /* for ucontext_t */
#include "crash.h"
#include "log_json.h"
#include <execinfo.h>
#include <fcntl.h>
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
    STACK_BYTES = 64 << 10, /* size of each thread's signal stack */
    FRAMES = 64,            /* most frames in the backtrace */
    LINE_BYTES = 1280,
    WRITE_MS = 1000, /* time limit for writing one line of the report */
    REPORT_S = 10,   /* time limit for the whole report, enforced by SIGALRM */
    WAIT_MS = 10000  /* time that other dying threads wait for the first report */
};

static const struct {
    int number;
    const char *name;
} fatal_signals[] = {{SIGSEGV, "SIGSEGV"},
                     {SIGBUS, "SIGBUS"},
                     {SIGFPE, "SIGFPE"},
                     {SIGILL, "SIGILL"},
                     {SIGABRT, "SIGABRT"}};
enum { N_FATAL = sizeof(fatal_signals) / sizeof(fatal_signals[0]) };

/* the handlers that were installed before this file's: those of a sanitizer, or the default ones */
static struct sigaction previous_actions[N_FATAL];
static atomic_int reporter; /* id of the thread that writes the report; 0: none */
/* While `reading` is set, a fault in the reporter's thread jumps to `read_failed`: put_threads()
 * reads another thread's calls. */
static sigjmp_buf read_failed;
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
    for (; *s != '\0' && t->n < LINE_BYTES - 1; s++) /* one byte is reserved for the LF */
        t->s[t->n++] = (unsigned char)*s < 0x20 ? ' ' : *s;
}

static void add_number(text *t, uint64_t n, unsigned base, int width)
{
    char digits[24], *at = digits + sizeof(digits);

    for (*--at = '\0'; n > 0 || width > 0; n /= base, width--)
        *--at = "0123456789abcdef"[n % base];
    add(t, at);
}

/* Append the time in the format of log.c, without gmtime_r(), which takes a lock.  Years are
 * counted from March, so that a leap day is the last day of its year. */
static void add_stamp(text *t)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t second = (uint64_t)now.tv_sec % 86400, days = (uint64_t)now.tv_sec / 86400 + 719468;
    uint64_t era = days / 146097, day = days % 146097; /* an era has 400 years */
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

static void put_bytes(const char *s, size_t n)
{
    if (!can_write(log_descriptor()) || write(log_descriptor(), s, n) < 0)
        return;
}

static void put_line(const char *event, const char *s)
{
    const char *level = event == trap_event ? "warn" : "error";
    text t = {.n = 0};

    add_stamp(&t);
    if (log_format() == LOG_JSON) {
        log_json j;
        t.s[t.n] = '\0';
        log_json_begin(&j, t.s, level, event);
        log_json_member(&j, "text", s);
        put_bytes(j.line, log_json_end(&j));
        return;
    }
    add(&t, " ");
    add(&t, level);
    add(&t, " ");
    add(&t, event);
    add(&t, " ");
    add(&t, s);
    t.s[t.n++] = '\n';
    put_bytes(t.s, t.n);
}

/* -- the report -- */

static void put_call(void *arg, const char *s)
{
    (void)arg;
    put_line("server.crash.call", s);
}

static bool put_thread(size_t thread)
{
    bool more = dp_thread_report(thread, put_call, NULL);

    if (thread == 0)
        dp_thread_report_last(put_call, NULL);
    return more;
}

static void put_threads(void)
{
    /* `thread` is volatile so that it is in memory, which siglongjmp() does not change */
    for (volatile size_t thread = 0; thread <= DP_LIMIT_THREADS; thread++) {
        bool more = true;
        if (sigsetjmp(read_failed, 1) == 0) {
            reading = 1;
            more = put_thread(thread);
        } else {
            put_line("server.crash.call", "what a thread ran cannot be read");
        }
        reading = 0;
        if (!more)
            return;
    }
}

/* Write one frame of the stack as a line of the JSON log.  The frame's text comes through a pipe:
 * no other function for it may be called in a signal handler. */
static void put_frame_json(void *frame)
{
    char s[LINE_BYTES];
    int fds[2];

    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
        return;
    backtrace_symbols_fd(&frame, 1, fds[1]);
    ssize_t n = read(fds[0], s, sizeof(s) - 1);
    close(fds[0]);
    close(fds[1]);
    s[n > 1 ? n - 1 : 0] = '\0'; /* without its LF */
    put_line("server.crash.stack", s);
}

static void put_stack(void)
{
    void *frames[FRAMES];
    int n = backtrace(frames, FRAMES);

    put_line("server.crash.stack", "of thread=0, the latest call first:");
    for (int i = 0; log_format() == LOG_JSON && i < n; i++)
        put_frame_json(frames[i]);
    if (log_format() == LOG_TEXT && can_write(log_descriptor()))
        backtrace_symbols_fd(frames, n, log_descriptor());
}

static void report(const char *what)
{
    /* the report may hang: the dynamic linker's lock is held, the disk is full, ... */
    alarm(REPORT_S);
    put_line("server.crash", what);
    put_threads();
    put_stack();
    alarm(0);
}

/* Make this thread the reporter.  Returns true for the first caller in the life of the process
 * only. */
static bool claim(void)
{
    int none = 0;
    return atomic_compare_exchange_strong(&reporter, &none, (int)syscall(SYS_gettid));
}

/* -- floating-point exceptions that a kernel unmasked -- */

static void put_trap(void *arg, const char *s)
{
    (void)arg;
    put_line(trap_event, s);
}

/* If floating-point exceptions caused the SIGFPE, mask them in the interrupted code and return
 * true: the code can continue (x86-64 only).  Otherwise a kernel that called feenableexcept() would
 * end the daemon at the next such exception on its thread, often in other code.  Comparing the
 * masks after each kernel would cost as much as a short call does.  An integer division by zero
 * raises SIGFPE too; that is a fault, and false is returned. */
static bool mask_exceptions(const siginfo_t *info, void *context)
{
#if defined(__x86_64__)
    enum { MXCSR_MASKS = 0x1f80, X87_MASKS = 0x3f };
    static _Thread_local volatile sig_atomic_t reported;
    const ucontext_t *interrupted = context;
    struct _libc_fpstate *fp = interrupted->uc_mcontext.fpregs;

    if (info->si_code < FPE_FLTDIV || info->si_code > FPE_FLTSUB || fp == NULL)
        return false;
    fp->mxcsr |= MXCSR_MASKS;
    fp->cwd |= X87_MASKS;
    if (!reported) {
        reported = 1;
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
    while (i < N_FATAL - 1 && fatal_signals[i].number != number)
        i++;
    if (claim()) {
        add(&what, "signal=");
        add(&what, fatal_signals[i].name);
        if (info->si_code == SI_KERNEL && info->si_addr == NULL) {
            /* x86-64 gives no address when the address is not canonical */
            add(&what, " address=unknown");
        } else if (info->si_code > 0 && number != SIGABRT) {
            add(&what, " address=0x");
            add_number(&what, (uintptr_t)info->si_addr, 16, 1);
        }
        add(&what, "  thread 0 is the one that died");
        what.s[what.n] = '\0';
        report(what.s);
    } else if (atomic_load(&reporter) != (int)syscall(SYS_gettid)) {
        poll(NULL, 0, WAIT_MS);
    } else if (reading) {
        siglongjmp(read_failed, 1);
    }
    sigaction(number, &previous_actions[i], NULL);
    /* a process sent the signal, so it must be raised again; a fault comes again by itself, with
     * the right address, when its instruction is repeated */
    if (info->si_code <= 0)
        raise(number);
}

static void count_call(void *arg, const char *s)
{
    (void)s;
    ++*(unsigned *)arg;
}

/* If a plugin called exit(), report it and end the process at once.  exit() runs this handler on
 * the thread that called it, so if this thread still runs calls, exit() was called in one of them.
 * The remaining handlers do not run, because destructors of libraries would free memory that calls
 * on other threads may still use. */
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
    /* the address sanitizer installs its own signal stack, and removes it at the end */
    if (old.ss_flags & SS_DISABLE)
        sigaltstack(&stack, NULL);
}

void crash_watch(void)
{
    struct sigaction action = {.sa_sigaction = on_signal,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    void *one[1];

    /* the first call loads libgcc, for which there may be no memory at the time of a crash */
    backtrace(one, 1);
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < N_FATAL; i++) {
        sigaction(fatal_signals[i].number, &action, &previous_actions[i]);
        /* the parent process (nohup, for example) may ignore signals, but a fatal signal must end
         * the process */
        if (previous_actions[i].sa_handler == SIG_IGN)
            previous_actions[i].sa_handler = SIG_DFL;
    }
    on_exit(on_end, NULL);
    crash_thread();
}
