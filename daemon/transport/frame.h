/* frame.h -- bytes in, messages out; no sockets, no loop. */
#ifndef DAEMON_TRANSPORT_FRAME_H
#define DAEMON_TRANSPORT_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* what frame_next() found */
enum {
    FRAME_MORE,      /* no whole line or body yet: read on */
    FRAME_LINE,      /* a line; if frame.announces, say with frame_expect() what follows it */
    FRAME_BODY,      /* the announced bytes have all come: frame_body() */
    FRAME_LONG,      /* a line over the limit: answer it, and close if frame.announces */
    FRAME_LOST,      /* the over-long line that is being skipped announces bytes: close */
    FRAME_NO_MEMORY, /* close */
};

typedef struct frame {
    size_t max_line;
    char *in; /* in[start, end) has been received and not yet consumed */
    size_t start, end, cap;
    size_t scanned; /* the first `scanned` bytes from start hold no LF */
    int state;
    bool announces; /* the last line holds "attachments" or "fds", quotes included */
    uint8_t *body;  /* attachments so far; NULL while body_bytes > 0: no memory, they are dropped */
    size_t body_bytes, body_received;
} frame;
void frame_init(frame *f, size_t max_line);
void frame_fini(frame *f);
/* Room for received bytes at *p; its size, or 0: no memory.  frame_filled() says how many came. */
size_t frame_space(frame *f, char **p);
void frame_filled(frame *f, size_t n);
/* FRAME_...; *line owned, NUL-terminated, without its LF. */
int frame_next(frame *f, char **line, size_t *bytes);
/* How many bytes follow the line that was found last and announces some; 0: none. */
void frame_expect(frame *f, size_t bytes);
uint8_t *frame_body(frame *f); /* owned; NULL: there was none, or no memory for it */

#endif
