/* file.c -- the file of a recorded session: frames with checksums, written as calls are answered
 * and read one at a time, so that its size needs no memory */
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

static const char magic[] = "dispatchd-recording\n";

enum { MAGIC_BYTES = sizeof(magic) - 1, HEADER_BYTES = MAGIC_BYTES + 4, FRAME_HEAD = 24 };

/* Where the lengths of a FRAME_CALL's body lie, and how long the head of one of its parts is. */
enum { CALL_HEAD = 24, PART_HEAD = 24 };

static void put32(char *at, uint32_t v)
{
    v = htole32(v);
    memcpy(at, &v, sizeof(v));
}

static void put64(char *at, uint64_t v)
{
    v = htole64(v);
    memcpy(at, &v, sizeof(v));
}

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

/* Return a hash of the bytes, going on from `h`: each 8 bytes are mixed in by the finisher of
 * splitmix64, which no single flipped bit survives. */
static uint64_t hash_bytes(uint64_t h, const void *bytes, size_t n)
{
    const char *at = bytes;

    h ^= n * UINT64_C(0x9e3779b97f4a7c15);
    for (; n > 0; at += 8) {
        size_t take = n < 8 ? n : 8;
        char word[8] = {0};
        memcpy(word, at, take);
        h ^= get64(word);
        h = (h ^ (h >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        h = (h ^ (h >> 27)) * UINT64_C(0x94d049bb133111eb);
        h ^= h >> 31;
        n -= take;
    }
    return h;
}

/* -- writing -- */

/* Write bytes at the end.  A file that cannot be written is given up: the client goes on. */
static void put_bytes(recorder *w, const void *bytes, uint64_t n)
{
    const char *from = bytes;

    while (w->fd >= 0 && n > 0) {
        ssize_t wrote = write(w->fd, from, n > (1u << 30) ? 1u << 30 : (size_t)n);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0) {
            fprintf(stderr, "dispatchctl: %s: %s; the rest of the session is not recorded\n",
                    w->path, strerror(errno));
            close(w->fd);
            w->fd = -1;
            return;
        }
        from += wrote;
        n -= (uint64_t)wrote;
        w->at += (uint64_t)wrote;
    }
}

static void put_frame(recorder *w, frame_kind kind, uint32_t connection, const void *body,
                      uint64_t n)
{
    char head[FRAME_HEAD];

    put32(head, kind);
    put32(head + 4, connection);
    put64(head + 8, n);
    put64(head + 16, hash_bytes(hash_bytes(0, head, 16), body, n));
    put_bytes(w, head, sizeof(head));
    put_bytes(w, body, n);
}

static void put_json(recorder *w, frame_kind kind, uint32_t connection, cJSON *json)
{
    char *text = json_text(json);

    put_frame(w, kind, connection, text, strlen(text));
    free(text);
    cJSON_Delete(json);
}

bool recorder_open(recorder *w, const char *path, char *const *command, bool leave_out)
{
    char version[4];

    memset(w, 0, sizeof(*w));
    w->path = path;
    w->leave_out = leave_out;
    w->fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (w->fd < 0) {
        fprintf(stderr, "dispatchctl: %s: %s\n", path, strerror(errno));
        return false;
    }
    put32(version, RECORDING_VERSION);
    put_bytes(w, magic, MAGIC_BYTES);
    put_bytes(w, version, sizeof(version));
    cJSON *about = params_new(), *words = need(cJSON_AddArrayToObject(about, "command"));
    for (; *command != NULL; command++)
        cJSON_AddItemToArray(words, need(cJSON_CreateString(*command)));
    need(cJSON_AddBoolToObject(about, "left_out", leave_out));
    put_json(w, FRAME_ABOUT, 0, about);
    return w->fd >= 0;
}

void recorder_session(recorder *w, uint32_t connection, double session, bool lingers)
{
    cJSON *json = params_new();

    cJSON_AddNumberToObject(json, "session", session);
    params_bool(json, "lingers", lingers);
    put_json(w, FRAME_SESSION, connection, json);
}

void recorder_connection_end(recorder *w, uint32_t connection)
{
    put_frame(w, FRAME_CLOSE, connection, "", 0);
}

/* Test whether the file has these bytes at an offset. */
static bool has_bytes(const recorder *w, uint64_t offset, const void *bytes, uint64_t n)
{
    char there[1 << 14];

    for (uint64_t done = 0; done < n;) {
        size_t take = n - done < sizeof(there) ? (size_t)(n - done) : sizeof(there);
        if (pread(w->fd, there, take, (off_t)(offset + done)) != (ssize_t)take ||
            memcmp(there, (const char *)bytes + done, take) != 0)
            return false;
        done += take;
    }
    return true;
}

/* Return the number of the frame that holds the bytes, after writing one if there is none yet. */
static uint64_t blob_number(recorder *w, const void *bytes, uint64_t n)
{
    uint64_t hash = hash_bytes(0, bytes, n);

    for (uint64_t i = w->by_hash[hash % BLOB_LISTS]; i > 0; i = w->blobs[i - 1].next)
        if (w->blobs[i - 1].hash == hash && w->blobs[i - 1].nbytes == n &&
            has_bytes(w, w->blobs[i - 1].offset, bytes, n))
            return i - 1;
    w->blobs = need(realloc(w->blobs, (w->n_blobs + 1) * sizeof(*w->blobs)));
    w->blobs[w->n_blobs] =
        (struct blob){hash, n, w->at + FRAME_HEAD, w->by_hash[hash % BLOB_LISTS]};
    put_frame(w, FRAME_BYTES, 0, bytes, n);
    w->by_hash[hash % BLOB_LISTS] = ++w->n_blobs;
    return w->n_blobs - 1;
}

void recorder_call(recorder *w, uint32_t connection, const char *request, const char *answer,
                   const part *parts, size_t n)
{
    char head[CALL_HEAD], *body = NULL;
    size_t bytes = 0;
    FILE *f = need(open_memstream(&body, &bytes));

    put64(head, strlen(request));
    put64(head + 8, answer ? strlen(answer) : 0);
    put32(head + 16, (uint32_t)n);
    put32(head + 20, 0);
    fwrite(head, sizeof(head), 1, f);
    fprintf(f, "%s%c%s%c", request, 0, answer ? answer : "", 0);
    for (size_t i = 0; i < n && w->fd >= 0; i++) {
        bool here = parts[i].nbytes <= PART_INLINE;
        part_how how = here ? PART_HERE : w->leave_out ? PART_LEFT_OUT : PART_BYTES;
        put64(head, how);
        put64(head + 8, parts[i].nbytes);
        put64(head + 16, how == PART_HERE       ? 0
                         : how == PART_LEFT_OUT ? hash_bytes(0, parts[i].bytes, parts[i].nbytes)
                                                : blob_number(w, parts[i].bytes, parts[i].nbytes));
        fwrite(head, PART_HEAD, 1, f);
        if (here)
            fwrite(parts[i].bytes, 1, parts[i].nbytes, f);
    }
    fclose(f);
    put_frame(w, FRAME_CALL, connection, need(body), bytes);
    free(body);
    w->calls++;
}

bool recorder_close(recorder *w)
{
    cJSON *json = params_new();

    cJSON_AddNumberToObject(json, "calls", (double)w->calls);
    cJSON_AddNumberToObject(json, "unanswered", (double)w->unanswered);
    put_json(w, FRAME_END, 0, json);
    bool ok = w->fd >= 0;
    if (ok && close(w->fd) != 0) {
        fprintf(stderr, "dispatchctl: %s: %s\n", w->path, strerror(errno));
        ok = false;
    }
    w->fd = -1;
    free(w->blobs);
    w->blobs = NULL;
    return ok;
}

/* -- reading -- */

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

/* Say that the file is usable up to the frame at `offset`.  Returns false. */
static bool spoilt(recording *r, uint64_t offset, const char *how)
{
    free(r->fault);
    r->fault =
        text_printf("%s: byte %" PRIu64 " of %" PRIu64 ": %s", r->path, offset, r->size, how);
    r->end = offset;
    return false;
}

/* Read the head of the frame at `r->at`.  false: there is none, see `r->fault`. */
static bool read_head(recording *r, char head[FRAME_HEAD], frame *f)
{
    memset(f, 0, sizeof(*f));
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
    return true;
}

/* Read `n` bytes of a body at `offset`, and compare them with their frame's checksum.  Returns
 * owned bytes with a 0 behind them; NULL: they differ, or there is no memory. */
static char *read_body(const recording *r, const char head[FRAME_HEAD], uint64_t offset, uint64_t n)
{
    char *body = n < SIZE_MAX ? malloc((size_t)n + 1) : NULL;

    if (body == NULL || !read_at(r, body, n, offset) ||
        hash_bytes(hash_bytes(0, head, 16), body, n) != get64(head + 16)) {
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
    if (f->request[request] != '\0' || f->answer[answer] != '\0')
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
    uint64_t body = r->at + FRAME_HEAD;
    if (f->kind != FRAME_BYTES) {
        f->body = read_body(r, head, body, f->nbytes);
        if (f->body == NULL || (f->kind == FRAME_CALL && !split_call(f))) {
            frame_free(f);
            return spoilt(r, r->at, "the file is damaged: the checksum of this frame is another");
        }
    }
    r->at = body + f->nbytes;
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

void *recording_bytes(recording *r, uint64_t number, uint64_t nbytes)
{
    char head[FRAME_HEAD];

    if (number >= r->n_blobs || r->blobs[number].nbytes != nbytes)
        return spoilt(r, r->at, "the file is damaged: a call names bytes that are not there"), NULL;
    uint64_t offset = r->blobs[number].offset;
    char *bytes = read_at(r, head, FRAME_HEAD, offset - FRAME_HEAD)
                      ? read_body(r, head, offset, nbytes)
                      : NULL;
    if (bytes == NULL)
        spoilt(r, offset - FRAME_HEAD,
               "the file is damaged: the checksum of this frame is another");
    return bytes;
}

/* -- the first look -- */

static void add_device(recording *r, const char *name)
{
    const cJSON *known;

    cJSON_ArrayForEach(known, r->devices) if (strcmp(known->valuestring, name) == 0) return;
    cJSON_AddItemToArray(r->devices, need(cJSON_CreateString(name)));
}

/* Collect the devices in a text: what stands behind "device". */
static void find_devices(recording *r, const char *text)
{
    static const char before[] = "\"device\":\"";

    while ((text = strstr(text, before)) != NULL) {
        text += sizeof(before) - 1;
        char *name = text_printf("%.*s", (int)strcspn(text, "\"\\"), text);
        add_device(r, name);
        free(name);
    }
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
            find_devices(r, f.request);
            find_devices(r, f.answer);
        } else if (f.kind == FRAME_ABOUT) {
            r->left_out = strstr(f.body, "\"left_out\":true") != NULL;
        }
        last = f.kind == FRAME_END;
        frame_free(&f);
    }
    if (last && r->at < r->size)
        spoilt(r, r->at, "the recording has ended, but more bytes follow");
}

static bool check_header(const recording *r)
{
    char header[HEADER_BYTES] = {0};

    if (r->size < HEADER_BYTES || !read_at(r, header, HEADER_BYTES, 0) ||
        memcmp(header, magic, MAGIC_BYTES) != 0) {
        fprintf(stderr, "dispatchctl: %s is no recording: it does not begin with '%.*s'\n", r->path,
                MAGIC_BYTES - 1, magic);
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
