/* frame.h -- splits received bytes into messages; uses neither sockets nor the loop. */
#ifndef DAEMON_TRANSPORT_FRAME_H
#define DAEMON_TRANSPORT_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* results of frame_next() */
enum {
    FRAME_MORE,      /* no complete line or body yet: read more */
    FRAME_LINE,      /* a line; if frame.announces, call frame_expect() next */
    FRAME_BODY,      /* the announced bytes are complete: call frame_body() */
    FRAME_LONG,      /* a line over the limit: answer it, and close if frame.announces */
    FRAME_LOST,      /* the line over the limit, whose end is awaited, announces bytes: close */
    FRAME_NO_MEMORY, /* out of memory: close */
};

typedef struct frame {
    size_t max_line;
    char *in; /* in[start, end) was received and is not consumed yet */
    size_t start, end, cap;
    size_t scanned; /* the first `scanned` bytes from `start` contain no LF */
    int state;
    bool announces; /* the last line contains "attachments" or "fds", including the quotes */
    /* owned: attachments received so far; NULL although body_bytes > 0: out of memory, they are
     * dropped */
    uint8_t *body;
    size_t body_bytes, body_received;
} frame;
void frame_init(frame *f, size_t max_line);
void frame_fini(frame *f);
/* Reserve memory for received bytes at `*p`.  Returns its size; 0: out of memory.  Report the
 * number of received bytes by frame_filled(). */
size_t frame_space(frame *f, char **p);
void frame_filled(frame *f, size_t n);
/* Find the next message.  Returns one of FRAME_*.  For FRAME_LINE, `*line` is owned by the caller,
 * NUL-terminated and without its LF. */
int frame_next(frame *f, char **line, size_t *bytes);
/* Set how many bytes follow the line that was found last and announces some; 0: none. */
void frame_expect(frame *f, size_t bytes);
/* Return the attachments, owned by the caller; NULL: none, or out of memory. */
uint8_t *frame_body(frame *f);

#endif
