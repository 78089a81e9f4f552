/* folder.c -- the folder of a plugin: builds it with make, finds its file, waits for sources to be
 * saved */
#define _GNU_SOURCE /* for ppoll(), nftw() */
#include "dev.h"
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum {
    QUIET_MS = 15,     /* an editor has saved when nothing happened for so long */
    OPEN_FOLDERS = 16, /* of a walk */
};

char *folder_file(const folder *f, const char *name)
{
    char *path = text_printf("%s/%s", f->path, name);

    if (access(path, R_OK) == 0)
        return path;
    free(path);
    return NULL;
}

static bool fail(const char *name)
{
    fprintf(stderr, "dispatchctl: %s: %s\n", name, strerror(errno));
    return false;
}

static int walk_watch; /* of the walk that goes on: nftw() hands nothing through */

static int watch_one(const char *path, const struct stat *about, int type, struct FTW *at)
{
    (void)about;
    if (type != FTW_D)
        return FTW_CONTINUE;
    if (at->level > 0 && path[at->base] == '.')
        return FTW_SKIP_SUBTREE; /* such as .git */
    inotify_add_watch(walk_watch, path, IN_CLOSE_WRITE | IN_MOVED_TO);
    return FTW_CONTINUE;
}

/* Watch the folder and all below it; new folders are found by the next walk. */
static void watch_folders(const folder *f)
{
    walk_watch = f->watch;
    nftw(f->path, watch_one, OPEN_FOLDERS, FTW_PHYS | FTW_ACTIONRETVAL);
}

bool folder_open(folder *f, const char *word)
{
    struct stat about;

    memset(f, 0, sizeof(*f));
    f->watch = -1;
    if (stat(word, &about) != 0)
        return fail(word);
    char *path = realpath(word, NULL);
    if (path == NULL)
        return fail(word);
    f->named = !S_ISDIR(about.st_mode);
    f->path = f->named ? text_printf("%s", dirname(path)) : text_printf("%s", path);
    free(path);
    f->file = f->named ? realpath(word, NULL) : NULL;
    char *makefile = folder_file(f, "Makefile");
    f->makes = makefile != NULL;
    free(makefile);
    if (!f->makes && !f->named) {
        fprintf(stderr,
                "dispatchctl: folder '%s' has no Makefile: name the plugin's file, or make a "
                "folder with 'dispatchctl new'\n",
                word);
        return false;
    }
    f->watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (f->watch < 0)
        return fail("inotify");
    watch_folders(f); /* what is saved while the first build runs counts */
    return true;
}

void folder_close(folder *f)
{
    if (f->watch >= 0)
        close(f->watch);
    free(f->path);
    free(f->file);
    memset(f, 0, sizeof(*f));
}

/* -- building -- */

/* Run make; its output goes to standard error. */
static bool run_make(const folder *f)
{
    char *argv[] = {"make", "-s", "-C", f->path, NULL};
    posix_spawn_file_actions_t actions;
    int status = -1;
    pid_t pid;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    int rc = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (rc != 0) {
        fprintf(stderr, "dispatchctl: cannot start make: %s\n", strerror(rc));
        return false;
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), bytes = strlen(end);

    return n > bytes && strcmp(name + n - bytes, end) == 0;
}

/* Find the one plugin of the folder. */
static bool find_plugin(folder *f)
{
    DIR *dir = opendir(f->path);
    char *found = NULL;
    bool one = true;

    if (dir == NULL)
        return fail(f->path);
    for (struct dirent *d; (d = readdir(dir)) != NULL;) {
        if (!ends_in(d->d_name, ".so") || strcmp(d->d_name, "reference.so") == 0)
            continue;
        one = found == NULL;
        if (!one) {
            fprintf(stderr,
                    "dispatchctl: folder '%s' has several plugins, such as %s and %s: name one, "
                    "%s/%s\n",
                    f->path, found, d->d_name, f->path, found);
            break;
        }
        found = text_printf("%s", d->d_name);
    }
    closedir(dir);
    if (found == NULL)
        fprintf(stderr, "dispatchctl: make has made no .so file in folder '%s'\n", f->path);
    else if (one)
        f->file = text_printf("%s/%s", f->path, found);
    free(found);
    return f->file != NULL;
}

bool folder_build(folder *f)
{
    if (f->makes && !run_make(f))
        return false;
    if (f->named)
        return true;
    free(f->file);
    f->file = NULL;
    return find_plugin(f);
}

/* -- saved files -- */

/* Test whether a file that was written means that the plugin is another one now: not what a build
 * writes, and not the copies that editors keep. */
static bool is_source(const folder *f, const char *name)
{
    static const char *const others[] = {".so", ".o", ".d", ".a", ".new", ".tmp", "~", ".pyc"};

    if (!f->makes) {
        const char *slash = strrchr(f->file, '/');
        return strcmp(name, slash + 1) == 0;
    }
    for (size_t i = 0; i < COUNT(others); i++)
        if (ends_in(name, others[i]))
            return false;
    /* vim writes 4913 to see whether it may write in the folder. */
    return name[0] != '.' && strcmp(name, "4913") != 0;
}

/* Read all events that are there.  true: one of them is a saved source. */
static bool read_events(const folder *f)
{
    char buffer[16384] __attribute__((aligned(__alignof__(struct inotify_event))));
    bool saved = false;

    for (ssize_t n; (n = read(f->watch, buffer, sizeof(buffer))) > 0;)
        for (char *at = buffer; at < buffer + n;) {
            const struct inotify_event *e = (const struct inotify_event *)at;
            if (e->mask & IN_Q_OVERFLOW || (e->len > 0 && is_source(f, e->name)))
                saved = true;
            at += sizeof(*e) + e->len;
        }
    return saved;
}

bool folder_wait(folder *f, const volatile sig_atomic_t *stop)
{
    static const struct timespec quiet = {0, QUIET_MS * 1000000};
    struct pollfd ready = {.fd = f->watch, .events = POLLIN};
    sigset_t all, before;
    bool saved = false;

    watch_folders(f);
    /* A signal that comes between the look at *stop and the wait would be slept through. */
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    while (!saved && !*stop) {
        if (ppoll(&ready, 1, NULL, &before) > 0)
            saved = read_events(f);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    while (saved && !*stop && ppoll(&ready, 1, &quiet, NULL) > 0)
        read_events(f);
    return !*stop;
}
