/* stream.c -- finds messages in the bytes of one direction of a connection: lines of JSON, and the
 * attachments that they announce */
#include "replay.h"
#include <stdlib.h>
#include <string.h>

void message_free(message *m)
{
    cJSON_Delete(m->json);
    for (size_t i = 0; i < m->n_parts; i++)
        free((void *)m->parts[i].bytes);
    free(m->parts);
    memset(m, 0, sizeof(*m));
}

void stream_free(stream *s)
{
    free(s->text);
    message_free(&s->now);
    memset(s, 0, sizeof(*s));
}

/* Read a number of bytes.  false: `j` is none. */
static bool size_from(const cJSON *j, uint64_t *out)
{
    double x = cJSON_IsNumber(j) ? j->valuedouble : -1;

    if (!(x >= 0 && x < 9007199254740992.0))
        return false;
    *out = (uint64_t)x;
    return true;
}

/* Make room for the attachments that a line announces.  false: they are no list of sizes, or one
 * that no daemon takes. */
static bool announce(message *m)
{
    const cJSON *sizes = member(m->json, "attachments"), *size;
    int n = cJSON_GetArraySize(sizes);

    if (n > PARTS_MOST)
        return false;
    m->parts = need(calloc((size_t)n + 1, sizeof(*m->parts)));
    cJSON_ArrayForEach(size, sizes)
    {
        part *p = &m->parts[m->n_parts];
        bool fits = size_from(size, &p->nbytes) && p->nbytes <= PART_MOST;
        void *bytes = fits ? malloc(p->nbytes + 1) : NULL;
        if (bytes == NULL)
            return false;
        p->bytes = bytes;
        m->n_parts++;
    }
    return true;
}

/* Keep the bytes of a line.  false: it is too long. */
static bool keep_text(stream *s, const char *bytes, size_t n)
{
    if (s->n + n > LINE_MOST)
        return false;
    if (s->n + n + 1 > s->cap) {
        s->cap = 2 * (s->n + n + 1);
        s->text = need(realloc(s->text, s->cap));
    }
    memcpy(s->text + s->n, bytes, n);
    s->n += n;
    s->text[s->n] = '\0';
    return true;
}

/* Take bytes of a line, and parse it at its end. */
static size_t take_line(stream *s, const char *bytes, size_t n)
{
    const char *end = memchr(bytes, '\n', n);
    size_t taken = end ? (size_t)(end - bytes) + 1 : n;

    if (!keep_text(s, bytes, taken)) {
        s->lost = true;
        return n;
    }
    if (end == NULL)
        return taken;
    s->now.json = cJSON_ParseWithLength(s->text, s->n);
    const cJSON *fds = member(s->now.json, "fds");
    s->now.n_fds = cJSON_IsNumber(fds) ? fds->valueint : 0;
    s->n = 0;
    s->at = s->filled = 0;
    s->body = true;
    s->lost = !announce(&s->now);
    return taken;
}

static size_t take_body(stream *s, const char *bytes, size_t n)
{
    size_t taken = 0;

    while (s->at < s->now.n_parts) {
        part *p = &s->now.parts[s->at];
        size_t most = (size_t)p->nbytes - s->filled, left = n - taken;
        size_t take = left < most ? left : most;
        memcpy((char *)p->bytes + s->filled, bytes + taken, take);
        taken += take;
        s->filled += take;
        if (s->filled < p->nbytes)
            return taken;
        s->filled = 0;
        s->at++;
    }
    return taken;
}

size_t stream_take(stream *s, const char *bytes, size_t n, message *out, bool *done)
{
    *done = false;
    if (s->lost)
        return n;
    size_t taken = s->body ? 0 : take_line(s, bytes, n);
    if (!s->body || s->lost)
        return s->lost ? n : taken;
    taken += take_body(s, bytes + taken, n - taken);
    if (s->at < s->now.n_parts)
        return taken;
    *out = s->now;
    memset(&s->now, 0, sizeof(s->now));
    s->body = false;
    *done = true;
    return taken;
}
