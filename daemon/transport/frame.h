/* frame.h -- splits received bytes into messages: a line each, and the attachments (body) that
 * follow the line.  Uses neither sockets nor the event loop. */
#ifndef DAEMON_TRANSPORT_FRAME_H
#define DAEMON_TRANSPORT_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* results of frame_next() */
enum {
    FRAME_MORE, /* neither the line nor the body is complete: read more */
    FRAME_LINE, /* a line; if frame.announces, call frame_expect() next */
    FRAME_BODY, /* the body that the line announced is complete: call frame_body() */
    FRAME_LONG, /* a line longer than `max_line`: answer an error, and close if frame.announces */
    FRAME_LOST, /* a later part of such a long line announces a body: close the connection */
    /* no memory for a line, which was skipped: answer an error, and close if frame.announces */
    FRAME_NO_MEMORY,
};

typedef struct frame {
    size_t max_line;
    char *in; /* in[start, end) was received and is not consumed yet */
    size_t start, end, cap;
    size_t scanned; /* the first `scanned` bytes from `start` contain no LF */
    int state;      /* LINE, ANNOUNCED, BODY or SKIP of frame.c */
    bool announces; /* the last line contains "attachments" or "fds", including the quotes */
    /* owned: the body received so far; NULL although body_bytes > 0: out of memory, the body is
     * dropped */
    uint8_t *body;
    size_t body_bytes, body_received;
} frame;
void frame_init(frame *f, size_t max_line);
void frame_fini(frame *f);
/* Reserve memory at `*p` for bytes to receive.  Returns the size of that memory; 0: out of memory.
 * Then report the number of received bytes by frame_filled(). */
size_t frame_space(frame *f, char **p);
void frame_filled(frame *f, size_t n);
/* Find the next message.  Returns one of FRAME_*.  For FRAME_LINE, `*line` is owned by the caller,
 * NUL-terminated and without its LF.  For FRAME_LONG, `*bytes` is the number of bytes of the line
 * that were received. */
int frame_next(frame *f, char **line, size_t *bytes);
/* Set the length of the body of the line that was found last; 0: none.  Called if
 * frame.announces. */
void frame_expect(frame *f, size_t bytes);
/* Expect a body like frame_expect(), but do not store it: frame_body() will be NULL. */
void frame_expect_dropped(frame *f, size_t bytes);
/* Has a line begun that has not ended?  Called after frame_next(). */
bool frame_in_line(const frame *f);
/* Skip the line that has not ended, and free its bytes.  `announces` is set as for FRAME_LONG. */
void frame_give_up(frame *f);
/* Return the body, owned by the caller; NULL: none, or out of memory. */
uint8_t *frame_body(frame *f);

#endif
