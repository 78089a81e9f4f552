/* frame.c -- splits received bytes into messages: lines, and the attachments (body) that follow a
 * line (docs/protocol.md).
 *
 *   States:  LINE --line that announces--> ANNOUNCED --frame_expect--> BODY --all read--> LINE
 *            LINE --too long, no LF has arrived--> SKIP --the LF--> LINE
 *
 * A frame owns the bytes that are not consumed yet (at most one line and what one read adds) and
 * the body.  It does not parse JSON: the caller parses the line and sets the length of its body. */
#define _GNU_SOURCE
#include "transport/frame.h"
#include "daemon.h"
#include <endian.h>
#include <string.h>

enum { LINE, ANNOUNCED, BODY, SKIP };
enum { READ_BYTES = 16 << 10, IDLE_BYTES_MAX = 64 << 10 };

/* A line that contains one of these words announces attachments or descriptors. */
static const struct {
    const char *text;
    size_t bytes;
} words[] = {{"\"attachments\"", 13}, {"\"fds\"", 5}};
enum { WORD_MAX = 13, STEP = sizeof(uint64_t) };

/* Does one of the words end at byte `i` + 1 of the line `p`, which has that byte? */
static bool ends_word(const char *p, size_t i)
{
    for (size_t k = 0; p[i] == 's' && k < sizeof(words) / sizeof(words[0]); k++)
        if (i + 2 >= words[k].bytes &&
            memcmp(p + i + 2 - words[k].bytes, words[k].text, words[k].bytes) == 0)
            return true;
    return false;
}

/* Does a line contain one of the words?  Every line is searched, so the search must be fast: both
 * words end in `s"`, and eight bytes at a time are checked for these two characters. */
static bool has_word(const char *p, size_t n)
{
    const uint64_t each = UINT64_C(0x0101010101010101);
    size_t i = 0;

    for (uint64_t here, behind; n - i > STEP; i += STEP) {
        memcpy(&here, p + i, STEP);
        memcpy(&behind, p + i + 1, STEP);
        /* a byte is 0 exactly where `s"` begins */
        here = le64toh((here ^ each * 's') | (behind ^ each * '"'));
        for (uint64_t hits = (here - each) & ~here & each * 0x80; hits != 0; hits &= hits - 1)
            if (ends_word(p, i + (size_t)__builtin_ctzll(hits) / 8))
                return true;
    }
    for (; i + 1 < n; i++)
        if (ends_word(p, i))
            return true;
    return false;
}

void frame_init(frame *f, size_t max_line)
{
    *f = (frame){.max_line = max_line, .state = LINE};
}

void frame_fini(frame *f)
{
    dp_free(f->in);
    dp_free(f->body);
    frame_init(f, f->max_line);
}

size_t frame_space(frame *f, char **p)
{
    if (f->state == BODY && f->body != NULL && f->start == f->end) {
        *p = (char *)f->body + f->body_received;
        return f->body_bytes - f->body_received;
    }
    if (f->start > 0) {
        memmove(f->in, f->in + f->start, f->end - f->start);
        f->end -= f->start;
        f->start = 0;
    }
    if (f->cap - f->end < READ_BYTES) {
        size_t cap = f->cap < READ_BYTES ? READ_BYTES : dp_size_times(f->cap, 2);
        char *in = dp_realloc(f->in, cap);
        if (in == NULL)
            return 0;
        f->in = in;
        f->cap = cap;
    }
    *p = f->in + f->end;
    return f->cap - f->end;
}

void frame_filled(frame *f, size_t n)
{
    if (f->state == BODY && f->body != NULL && f->start == f->end)
        f->body_received += n;
    else
        f->end += n;
}

static void consume(frame *f, size_t n)
{
    f->start += n;
    f->scanned = 0;
    if (f->start < f->end)
        return;
    f->start = f->end = 0;
    /* Free the memory of a long line.  The buffer for the next one stays: without it, the
     * connection would have to be closed. */
    char *in = f->cap > IDLE_BYTES_MAX ? dp_realloc(f->in, READ_BYTES) : NULL;
    if (in != NULL) {
        f->in = in;
        f->cap = READ_BYTES;
    }
}

static bool blank(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != ' ' && p[i] != '\t' && p[i] != '\r')
            return false;
    return true;
}

/* Compute the length `*n` of the line at `start`, without its LF.  false: no LF has arrived yet. */
static bool line_end(frame *f, size_t *n)
{
    const char *from = f->in + f->start + f->scanned;
    const char *lf = memchr(from, '\n', f->end - f->start - f->scanned);

    f->scanned = f->end - f->start;
    if (lf != NULL)
        *n = (size_t)(lf - f->in) - f->start;
    return lf != NULL;
}

static int take_line(frame *f, size_t n, char **line, size_t *bytes)
{
    char *copy = dp_malloc(n + 1);

    f->announces = has_word(f->in + f->start, n);
    if (copy != NULL) {
        memcpy(copy, f->in + f->start, n);
        copy[n] = '\0';
        f->state = f->announces ? ANNOUNCED : LINE;
    }
    consume(f, n + 1);
    *line = copy;
    *bytes = n;
    return copy != NULL ? FRAME_LINE : FRAME_NO_MEMORY;
}

static int next_line(frame *f, char **line, size_t *bytes)
{
    size_t n;

    while (f->start < f->end && line_end(f, &n)) {
        if (n > f->max_line) {
            *bytes = n;
            f->announces = has_word(f->in + f->start, n);
            consume(f, n + 1);
            return FRAME_LONG;
        }
        if (!blank(f->in + f->start, n))
            return take_line(f, n, line, bytes);
        consume(f, n + 1);
    }
    if (f->end - f->start <= f->max_line)
        return FRAME_MORE;
    *bytes = f->end - f->start;
    f->announces = has_word(f->in + f->start, *bytes);
    f->state = SKIP;
    return FRAME_LONG;
}

/* Drop the received part of a line over the limit, except its last bytes: one of the words may
 * begin in these and end in the next bytes.  Returns FRAME_LINE when the line has ended (the next
 * one can be taken), FRAME_LOST or FRAME_MORE. */
static int skip_line(frame *f)
{
    size_t n = f->end - f->start;

    if (n == 0)
        return FRAME_MORE;
    bool ended = line_end(f, &n);
    if (has_word(f->in + f->start, n))
        return FRAME_LOST;
    if (!ended) {
        if (n >= WORD_MAX)
            consume(f, n - (WORD_MAX - 1));
        return FRAME_MORE;
    }
    consume(f, n + 1);
    f->state = LINE;
    return FRAME_LINE;
}

static int next_body(frame *f)
{
    size_t n = f->end - f->start, want = f->body_bytes - f->body_received;

    if (n > want)
        n = want;
    if (n > 0) {
        if (f->body != NULL)
            memcpy(f->body + f->body_received, f->in + f->start, n);
        f->body_received += n;
        consume(f, n);
    }
    if (f->body_received < f->body_bytes)
        return FRAME_MORE;
    f->state = LINE;
    return FRAME_BODY;
}

int frame_next(frame *f, char **line, size_t *bytes)
{
    if (f->state == ANNOUNCED)
        return FRAME_MORE;
    if (f->state == BODY)
        return next_body(f);
    if (f->state == SKIP) {
        int found = skip_line(f);
        if (found != FRAME_LINE)
            return found;
    }
    return next_line(f, line, bytes);
}

bool frame_in_line(const frame *f)
{
    /* frame_next() has found no LF in these bytes */
    return f->state == LINE && f->start < f->end && f->scanned == f->end - f->start;
}

void frame_give_up(frame *f)
{
    size_t n = f->end - f->start, keep = n < WORD_MAX - 1 ? n : WORD_MAX - 1;
    char *in = dp_malloc(READ_BYTES);

    f->announces = has_word(f->in + f->start, n);
    f->state = SKIP;
    if (in == NULL)
        return;                              /* keep the larger buffer */
    memcpy(in, f->in + f->end - keep, keep); /* one of the words may end in the next bytes */
    dp_free(f->in);
    f->in = in;
    f->cap = READ_BYTES;
    f->start = f->scanned = 0;
    f->end = keep;
}

void frame_expect_dropped(frame *f, size_t bytes)
{
    f->state = BODY;
    f->body_bytes = bytes;
    f->body_received = 0;
    f->body = NULL;
}

void frame_expect(frame *f, size_t bytes)
{
    frame_expect_dropped(f, bytes);
    f->body = bytes > 0 ? dp_malloc(bytes) : NULL;
}

uint8_t *frame_body(frame *f)
{
    uint8_t *body = f->body;

    f->body = NULL;
    f->body_bytes = f->body_received = 0;
    return body;
}
