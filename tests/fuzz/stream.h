/* stream.h -- a client that does with a connection what the bytes of an input say.
 *
 * Every byte is sent, except 0xff and the byte that follows it: "s" ends a piece, so that the
 * daemon receives what was sent until then; "r" reads the answers; "h" shuts down the client's
 * sending side; "u" sends urgent data; "x" closes the connection; another 0xff is sent once.  A
 * fuzzer may add others. */
#ifndef STREAM_H
#define STREAM_H

#include "served.h"
#include <errno.h>

enum { STREAM_MARK = 0xff, STREAM_FILES = 24 };

typedef struct stream {
    const uint8_t *at, *end; /* the rest of the input */
    int fd;                  /* the client's end */
    int files[STREAM_FILES]; /* descriptors that go with the next bytes; owned */
    unsigned n_files;
    /* Called with a byte after the mark that has no meaning above; NULL: it is ignored. */
    void (*act)(struct stream *s, uint8_t what);
} stream;

static inline uint8_t stream_byte(stream *s)
{
    return s->at < s->end ? *s->at++ : 0;
}

static inline unsigned stream_word(stream *s)
{
    unsigned low = stream_byte(s);

    return low | (unsigned)stream_byte(s) << 8;
}

static inline void stream_close_files(stream *s)
{
    while (s->n_files > 0)
        close(s->files[--s->n_files]);
}

/* Read and drop all answers, and the descriptors that come with them. */
static inline void stream_read(stream *s)
{
    static char bytes[1 << 16];
    char control[CMSG_SPACE(64 * sizeof(int))] __attribute__((aligned(8)));

    for (ssize_t n = 1; n > 0;) {
        struct iovec iov = {bytes, sizeof(bytes)};
        struct msghdr m = {.msg_iov = &iov,
                           .msg_iovlen = 1,
                           .msg_control = control,
                           .msg_controllen = sizeof(control)};
        n = recvmsg(s->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        for (struct cmsghdr *h = n >= 0 ? CMSG_FIRSTHDR(&m) : NULL; h != NULL;
             h = CMSG_NXTHDR(&m, h))
            for (size_t i = 0; i < (h->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
                int fd;
                memcpy(&fd, CMSG_DATA(h) + i * sizeof(fd), sizeof(fd));
                close(fd);
            }
    }
}

/* Send `n` bytes, the first of them with the files.  If the socket is full, let the daemon read. */
static inline void stream_send(stream *s, const uint8_t *p, size_t n)
{
    char control[CMSG_SPACE(STREAM_FILES * sizeof(int))] __attribute__((aligned(8)));

    while (n > 0) {
        struct iovec iov = {(void *)(uintptr_t)p, n};
        struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
        if (s->n_files > 0) {
            size_t bytes = s->n_files * sizeof(int);
            m.msg_control = control;
            m.msg_controllen = CMSG_SPACE(bytes);
            struct cmsghdr *h = CMSG_FIRSTHDR(&m);
            *h = (struct cmsghdr){CMSG_LEN(bytes), SOL_SOCKET, SCM_RIGHTS};
            memcpy(CMSG_DATA(h), s->files, bytes);
        }
        ssize_t sent = sendmsg(s->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent >= 0) {
            p += sent;
            n -= (size_t)sent;
            stream_close_files(s);
        } else if (errno == EAGAIN) {
            stream_read(s);
            uv_run(&served.loop, UV_RUN_NOWAIT);
        } else {
            return; /* the daemon has closed the connection, or refuses such files */
        }
    }
}

static inline void stream_act(stream *s, uint8_t what)
{
    static const uint8_t mark = STREAM_MARK;

    if (what == STREAM_MARK)
        stream_send(s, &mark, 1);
    else if (what == 's')
        uv_run(&served.loop, UV_RUN_NOWAIT);
    else if (what == 'r')
        stream_read(s);
    else if (what == 'h')
        shutdown(s->fd, SHUT_WR);
    else if (what == 'u')
        send(s->fd, "u", 1, MSG_OOB | MSG_DONTWAIT | MSG_NOSIGNAL);
    else if (s->act != NULL)
        s->act(s, what);
}

/* Connect, do what the input says, and disconnect. */
static inline void stream_run(const uint8_t *data, size_t size, void (*act)(stream *, uint8_t))
{
    stream s = {.at = data, .end = data + size, .fd = served_connect(), .act = act};
    bool leaves = false;

    while (s.at < s.end && !leaves) {
        const uint8_t *mark = memchr(s.at, STREAM_MARK, (size_t)(s.end - s.at));
        const uint8_t *to = mark != NULL ? mark : s.end;
        stream_send(&s, s.at, (size_t)(to - s.at));
        s.at = mark != NULL ? mark + 1 : s.end;
        uint8_t what = mark != NULL ? stream_byte(&s) : 's';
        leaves = what == 'x';
        if (!leaves)
            stream_act(&s, what);
    }
    /* a descriptor of this end may be on its way, so close() alone would not end the connection */
    shutdown(s.fd, leaves ? SHUT_RDWR : SHUT_WR);
    stream_close_files(&s);
    while (served.connections != NULL) {
        stream_read(&s);
        uv_run(&served.loop, UV_RUN_ONCE);
    }
    close(s.fd);
    served_clean();
}

#endif
