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

static int make_file(const stream *s, uint8_t kind, off_t size)
{
    const int fixed = F_SEAL_SHRINK | F_SEAL_GROW;
    int ends[2];

    switch (kind % 16) {
    case 0:
        return sealed_memfd(MFD_ALLOW_SEALING, F_SEAL_SHRINK, size);
    case 1:
        return sealed_memfd(MFD_ALLOW_SEALING, fixed, size);
    case 2:
        return sealed_memfd(MFD_ALLOW_SEALING, fixed | F_SEAL_WRITE, size);
    case 3:
        return sealed_memfd(MFD_ALLOW_SEALING, fixed | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL, size);
    case 4:
        return sealed_memfd(MFD_ALLOW_SEALING, 0, size);
    case 5:
        return sealed_memfd(0, 0, size);
    case 6:
        return reopened(sealed_memfd(MFD_ALLOW_SEALING, fixed, size), O_RDONLY);
    case 7:
        return reopened(sealed_memfd(MFD_ALLOW_SEALING, fixed, size), O_WRONLY);
    case 8:
        return reopened(sealed_memfd(MFD_ALLOW_SEALING, fixed, size), O_PATH);
    case 9:
        return reopened(sealed_memfd(MFD_ALLOW_SEALING, fixed, size), O_RDWR | O_APPEND);
    case 10:
        return open("/dev/null", O_RDWR | O_CLOEXEC);
    case 11:
        return open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    case 12:
        return open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    case 13:
        if (pipe2(ends, O_CLOEXEC) < 0)
            return -1;
        close(ends[1]);
        return ends[0];
    case 14:
        return fcntl(s->fd, F_DUPFD_CLOEXEC, 3);
    default:
        return eventfd(0, EFD_CLOEXEC);
    }
}

static void act(stream *s, uint8_t what)
{
    if (what == 'f') {
        uint8_t kind = stream_byte(s);
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
