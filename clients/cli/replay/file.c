/* file.c -- writes the file of a recorded session: frames with checksums, as calls are answered */
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

uint64_t hash_begin(uint64_t h, uint64_t n)
{
    return h ^ n * UINT64_C(0x9e3779b97f4a7c15);
}

uint64_t hash_more(uint64_t h, const void *bytes, size_t n)
{
    const char *at = bytes;

    for (; n > 0; at += 8) {
        size_t take = n < 8 ? n : 8;
        char word[8] = {0};
        memcpy(word, at, take);
        uint64_t v;
        memcpy(&v, word, sizeof(v));
        h ^= le64toh(v);
        h = (h ^ (h >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        h = (h ^ (h >> 27)) * UINT64_C(0x94d049bb133111eb);
        h ^= h >> 31;
        n -= take;
    }
    return h;
}

uint64_t hash_bytes(uint64_t h, const void *bytes, size_t n)
{
    return hash_more(hash_begin(h, n), bytes, n);
}

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
    put_bytes(w, RECORDING_MAGIC, MAGIC_BYTES);
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
