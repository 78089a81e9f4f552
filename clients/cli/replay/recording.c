/* recording.c -- reads the file of a recorded session: one frame at a time, so that its size needs
 * no memory.  Nothing in it is trusted: what is wrong is an error that names the byte. */
#define _GNU_SOURCE /* for pread() of 64-bit offsets */
#include "replay.h"
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    JSON_MOST =
        16 << 20,        /* bytes of a frame of JSON: a command has 2 MiB, and escapes are longer */
    PIECE = 1 << 16,     /* bytes of a body that are read at once to compare its checksum */
    DEVICES_MOST = 1024, /* different ones that a recording names */
};
#define CALL_MOST                                                                                  \
    (2 * (uint64_t)LINE_MOST + (uint64_t)PARTS_MOST * (PART_INLINE + PART_HEAD) + CALL_HEAD)

static uint32_t get32(const char *at)
{
    uint32_t v;

    memcpy(&v, at, sizeof(v));
    return le32toh(v);
}

static uint64_t get64(const char *at)
{
    uint64_t v;

    memcpy(&v, at, sizeof(v));
    return le64toh(v);
}

void frame_free(frame *f)
{
    free(f->body);
    free(f->parts);
    memset(f, 0, sizeof(*f));
}

static bool read_at(const recording *r, void *to, uint64_t n, uint64_t offset)
{
    for (uint64_t done = 0; done < n;) {
        size_t take = n - done < (1u << 30) ? (size_t)(n - done) : 1u << 30;
        ssize_t got = pread(r->fd, (char *)to + done, take, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (uint64_t)got;
    }
    return true;
}

/* Say that the file is usable up to the frame at `offset`.  `how` is taken.  Returns false. */
static bool spoilt_text(recording *r, uint64_t offset, char *how)
{
    free(r->fault);
    r->fault =
        text_printf("%s: byte %" PRIu64 " of %" PRIu64 ": %s", r->path, offset, r->size, how);
    r->end = offset;
    free(how);
    return false;
}

static bool spoilt(recording *r, uint64_t offset, const char *how)
{
    return spoilt_text(r, offset, text_printf("%s", how));
}

bool recording_refuse(recording *r, const frame *f, const char *how)
{
    return spoilt_text(r, f->at, text_printf("the file is damaged: %s", how));
}

/* Can a body of this kind have so many bytes?  An attachment of fewer stands in its call. */
static bool length_fits(const frame *f)
{
    if (f->kind == FRAME_BYTES)
        return f->nbytes > PART_INLINE && f->nbytes <= PART_MOST;
    return f->nbytes <= (f->kind == FRAME_CALL ? CALL_MOST : JSON_MOST);
}

/* Read the head of the frame at `r->at`.  false: there is none, see `r->fault`. */
static bool read_head(recording *r, char head[FRAME_HEAD], frame *f)
{
    memset(f, 0, sizeof(*f));
    f->at = r->at;
    if (r->at == r->size)
        return spoilt(r, r->at, "the recording ends here without its last frame");
    if (r->size - r->at < FRAME_HEAD || !read_at(r, head, FRAME_HEAD, r->at))
        return spoilt(r, r->at, "the file is torn in the head of a frame");
    f->kind = get32(head);
    f->connection = get32(head + 4);
    f->nbytes = get64(head + 8);
    if (f->kind < FRAME_ABOUT || f->kind > FRAME_END)
        return spoilt(r, r->at, "the file is damaged: no frame begins here");
    if (f->nbytes > r->size - r->at - FRAME_HEAD)
        return spoilt(r, r->at, "the file is torn: this frame goes on behind its end");
    if (!length_fits(f))
        return spoilt_text(r, r->at,
                           text_printf("the file is damaged: no frame of kind %d has %" PRIu64
                                       " bytes",
                                       f->kind, f->nbytes));
    return true;
}

/* Compare the `n` bytes of a body at `offset` with their frame's checksum, a piece at a time: a
 * damaged length asks for no memory. */
static bool checksum_fits(const recording *r, const char head[FRAME_HEAD], uint64_t offset,
                          uint64_t n)
{
    uint64_t h = hash_begin(hash_bytes(0, head, 16), n);
    char piece[PIECE];

    for (uint64_t done = 0; done < n;) {
        size_t take = n - done < PIECE ? (size_t)(n - done) : PIECE;
        if (!read_at(r, piece, take, offset + done))
            return false;
        h = hash_more(h, piece, take);
        done += take;
    }
    return h == get64(head + 16);
}

/* Read the `n` bytes of the body of the frame at `at`.  Returns owned bytes with a 0 behind them;
 * NULL: they are not those that were written, or there is no memory, see `r->fault`. */
static char *read_body(recording *r, const char head[FRAME_HEAD], uint64_t at, uint64_t n)
{
    uint64_t offset = at + FRAME_HEAD;

    if (!checksum_fits(r, head, offset, n)) {
        spoilt(r, at, "the file is damaged: the checksum of this frame is another");
        return NULL;
    }
    char *body = n < SIZE_MAX ? malloc((size_t)n + 1) : NULL;
    if (body == NULL) {
        spoilt_text(r, at, text_printf("no memory for the %" PRIu64 " bytes of this frame", n));
        return NULL;
    }
    if (!read_at(r, body, n, offset)) {
        spoilt(r, at, "this frame cannot be read");
        free(body);
        return NULL;
    }
    body[n] = '\0';
    return body;
}

/* Find the texts and the parts in the body of a call.  false: their lengths do not fit. */
static bool split_call(frame *f)
{
    if (f->nbytes < CALL_HEAD)
        return false;
    uint64_t request = get64(f->body), answer = get64(f->body + 8), left = f->nbytes - CALL_HEAD;

    f->n_parts = get32(f->body + 16);
    if (f->n_parts > PARTS_MOST || request >= left || answer >= left - request - 1)
        return false;
    f->request = f->body + CALL_HEAD;
    f->answer = f->request + request + 1;
    left -= request + answer + 2;
    if (strlen(f->request) != request || strlen(f->answer) != answer)
        return false;
    f->parts = need(calloc(f->n_parts + 1, sizeof(*f->parts)));
    const char *at = f->answer + answer + 1;
    for (uint32_t i = 0; i < f->n_parts; i++) {
        if (left < PART_HEAD || get64(at) > PART_LEFT_OUT)
            return false;
        part *p = &f->parts[i];
        *p = (part){(part_how)get64(at), get64(at + 8), get64(at + 16), at + PART_HEAD};
        left -= PART_HEAD;
        at += PART_HEAD;
        if (p->nbytes > PART_MOST)
            return false;
        if (p->how != PART_HERE)
            continue;
        if (p->nbytes > left)
            return false;
        left -= p->nbytes;
        at += p->nbytes;
    }
    return left == 0;
}

/* Read the next frame.  Of FRAME_BYTES only the head is read. */
static bool read_frame(recording *r, frame *f)
{
    char head[FRAME_HEAD];

    if (r->at >= r->end || !read_head(r, head, f))
        return false;
    if (f->kind != FRAME_BYTES) {
        f->body = read_body(r, head, r->at, f->nbytes);
        bool fits = f->body != NULL && (f->kind != FRAME_CALL || split_call(f));
        if (f->body != NULL && !fits)
            recording_refuse(r, f, "the lengths in this call do not add up");
        if (!fits) {
            frame_free(f);
            return false;
        }
    }
    r->at += FRAME_HEAD + f->nbytes;
    return true;
}

void recording_rewind(recording *r)
{
    r->at = HEADER_BYTES;
}

bool recording_next(recording *r, frame *f)
{
    while (read_frame(r, f)) {
        if (f->kind == FRAME_SESSION || f->kind == FRAME_CALL || f->kind == FRAME_CLOSE)
            return true;
        bool last = f->kind == FRAME_END;
        frame_free(f);
        if (last)
            return false;
    }
    return false;
}

void *recording_bytes(recording *r, const frame *f, const part *p)
{
    char head[FRAME_HEAD];

    if (p->number >= r->n_blobs || r->blobs[p->number].nbytes != p->nbytes)
        return recording_refuse(r, f, "a call names bytes that are not there"), NULL;
    uint64_t at = r->blobs[p->number].offset - FRAME_HEAD;
    if (!read_at(r, head, FRAME_HEAD, at))
        return spoilt(r, at, "this frame cannot be read"), NULL;
    return read_body(r, head, at, p->nbytes);
}

/* -- the first look -- */

/* false: there are too many. */
static bool add_device(recording *r, const char *name)
{
    const cJSON *known;
    int n = 0;

    cJSON_ArrayForEach(known, r->devices)
    {
        if (strcmp(known->valuestring, name) == 0)
            return true;
        n++;
    }
    if (n == DEVICES_MOST)
        return false;
    cJSON_AddItemToArray(r->devices, need(cJSON_CreateString(name)));
    return true;
}

/* Collect the devices in a text: what stands behind "device".  false: there are too many. */
static bool find_devices(recording *r, const char *text)
{
    static const char before[] = "\"device\":\"";

    while ((text = strstr(text, before)) != NULL) {
        text += sizeof(before) - 1;
        char *name = text_printf("%.*s", (int)strcspn(text, "\"\\"), text);
        bool fits = add_device(r, name);
        free(name);
        if (!fits)
            return false;
    }
    return true;
}

static void scan(recording *r)
{
    bool last = false;
    frame f;

    recording_rewind(r);
    while (!last && read_frame(r, &f)) {
        if (f.kind == FRAME_BYTES) {
            r->blobs = need(realloc(r->blobs, (r->n_blobs + 1) * sizeof(*r->blobs)));
            r->blobs[r->n_blobs++] = (struct blob){0, f.nbytes, r->at - f.nbytes, 0};
        } else if (f.kind == FRAME_CALL) {
            r->calls++;
            if (!find_devices(r, f.request) || !find_devices(r, f.answer))
                last = !recording_refuse(r, &f, "the calls name more than 1024 devices");
        } else if (f.kind == FRAME_ABOUT) {
            r->left_out = strstr(f.body, "\"left_out\":true") != NULL;
        }
        last = last || f.kind == FRAME_END;
        frame_free(&f);
    }
    if (r->end == UINT64_MAX && r->at < r->size)
        spoilt(r, r->at, "the recording has ended, but more bytes follow");
}

static bool check_header(const recording *r)
{
    char header[HEADER_BYTES] = {0};

    if (r->size < HEADER_BYTES || !read_at(r, header, HEADER_BYTES, 0) ||
        memcmp(header, RECORDING_MAGIC, MAGIC_BYTES) != 0) {
        fprintf(stderr, "dispatchctl: %s is no recording: it does not begin with '%.*s'\n", r->path,
                MAGIC_BYTES - 1, RECORDING_MAGIC);
        return false;
    }
    uint32_t version = get32(header + MAGIC_BYTES);
    if (version == RECORDING_VERSION)
        return true;
    fprintf(stderr,
            "dispatchctl: %s has version %" PRIu32 " of the format, this dispatchctl reads %d\n",
            r->path, version, RECORDING_VERSION);
    return false;
}

bool recording_open(recording *r, const char *path)
{
    struct stat st;

    memset(r, 0, sizeof(*r));
    r->path = path;
    r->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (r->fd < 0 || fstat(r->fd, &st) != 0) {
        fprintf(stderr, "dispatchctl: %s: %s\n", path, strerror(errno));
        return false;
    }
    if (!S_ISREG(st.st_mode)) {
        fprintf(stderr, "dispatchctl: %s is no regular file\n", path);
        return false;
    }
    r->size = r->end = (uint64_t)st.st_size;
    if (!check_header(r))
        return false;
    r->end = UINT64_MAX; /* so that a missing last frame is looked for */
    r->devices = need(cJSON_CreateArray());
    scan(r);
    if (r->end == UINT64_MAX)
        r->end = r->size;
    return true;
}

void recording_close(recording *r)
{
    if (r->fd >= 0)
        close(r->fd);
    free(r->fault);
    free(r->blobs);
    cJSON_Delete(r->devices);
}
