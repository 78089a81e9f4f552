/* descriptor.c -- fuzzes descriptors that clients pass: an input is what a client sends (stream.h)
 * and which files of which kind, size and seals go with it.
 *
 * After the mark 0xff: "f", a kind and a size of two bytes make a file, which goes with the next
 * bytes; "t" and a size truncate the newest file, "p" punches a hole into it, "e" and a byte seal
 * it, "w" and a byte write one. */
#define _GNU_SOURCE
#include "stream.h"
#include <fcntl.h>
#include <sys/eventfd.h>

static int newest = -1; /* a descriptor of the newest memfd, for changes after it was passed */

/* Return the size that a word means: small ones of any number of bytes, large ones of pages. */
static off_t size_of(unsigned word)
{
    return word < 1 << 15 ? (off_t)word : (off_t)(word - (1 << 15)) * 512;
}

static int sealed_memfd(unsigned flags, int seals, off_t size)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC | flags);

    if (fd >= 0 && ftruncate(fd, size) == 0 && size > 0)
        pwrite(fd, "\1", 1, size - 1);
    if (fd >= 0 && seals != 0)
        fcntl(fd, F_ADD_SEALS, seals);
    if (newest >= 0)
        close(newest);
    newest = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    return fd;
}

/* Open the file `fd` again with other flags, and close `fd`. */
static int reopened(int fd, int flags)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int again = open(path, flags | O_CLOEXEC);
    close(fd);
    return again;
}

enum { FIXED = F_SEAL_SHRINK | F_SEAL_GROW, AS_MADE = -1 };
/* Kinds of memfds: flags of memfd_create(), seals, and flags with which it is opened again. */
static const struct {
    unsigned flags;
    int seals, again;
} memfds[] = {
    {MFD_ALLOW_SEALING, F_SEAL_SHRINK, AS_MADE},
    {MFD_ALLOW_SEALING, FIXED, AS_MADE},
    {MFD_ALLOW_SEALING, FIXED | F_SEAL_WRITE, AS_MADE},
    {MFD_ALLOW_SEALING, FIXED | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL, AS_MADE},
    {MFD_ALLOW_SEALING, 0, AS_MADE},
    {0, 0, AS_MADE},
    {MFD_ALLOW_SEALING, FIXED, O_RDONLY},
    {MFD_ALLOW_SEALING, FIXED, O_WRONLY},
    {MFD_ALLOW_SEALING, FIXED, O_PATH},
    {MFD_ALLOW_SEALING, FIXED, O_RDWR | O_APPEND},
};
/* Files that are no memfds; the last kinds are a pipe, the client's own end and an eventfd. */
static const char *const paths[] = {"/dev/null", "/proc/self/status", "/"};
enum {
    MEMFDS = sizeof(memfds) / sizeof(memfds[0]),
    PATHS = sizeof(paths) / sizeof(paths[0]),
    PIPE = MEMFDS + PATHS,
    OWN_END,
    EVENTFD,
    KINDS
};

static int make_file(const stream *s, unsigned kind, off_t size)
{
    int ends[2];

    if (kind < MEMFDS) {
        int fd = sealed_memfd(memfds[kind].flags, memfds[kind].seals, size);
        return memfds[kind].again == AS_MADE ? fd : reopened(fd, memfds[kind].again);
    }
    if (kind < PIPE)
        return open(paths[kind - MEMFDS], O_RDONLY | O_CLOEXEC);
    if (kind == OWN_END)
        return fcntl(s->fd, F_DUPFD_CLOEXEC, 3);
    if (kind == EVENTFD)
        return eventfd(0, EFD_CLOEXEC);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    close(ends[1]);
    return ends[0];
}

static void act(stream *s, uint8_t what)
{
    if (what == 'f') {
        unsigned kind = stream_byte(s) % KINDS;
        int fd = make_file(s, kind, size_of(stream_word(s)));
        if (fd >= 0 && s->n_files < STREAM_FILES)
            s->files[s->n_files++] = fd;
        else if (fd >= 0)
            close(fd);
    } else if (what == 't') {
        FUZZ_CHECK(ftruncate(newest, size_of(stream_word(s))) <= 0, "truncated");
    } else if (what == 'p') {
        fallocate(newest, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096);
    } else if (what == 'e') {
        fcntl(newest, F_ADD_SEALS, (int)stream_byte(s));
    } else if (what == 'w') {
        uint8_t byte = stream_byte(s);
        FUZZ_CHECK(pwrite(newest, &byte, 1, 0) <= 1, "written");
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    served_start();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    stream_run(data, size, act);
    if (newest >= 0)
        close(newest);
    newest = -1;
    return 0;
}
