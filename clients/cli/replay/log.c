/* log.c -- pairs the requests of a connection with their answers, and writes those that change
 * something or call */
#define _GNU_SOURCE /* for pread() of 64-bit offsets */
#include "replay.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct pending {
    pending *next;
    cJSON *id;     /* owned; NULL: a notification, which is not answered */
    char *request; /* owned: {"method","params"}; NULL: it is not written */
    char method[32];
    bool lingers;                     /* server.hello: the session may outlive its connections */
    message parts;                    /* `parts` only; owned */
    int fds[DESCRIPTORS_MOST], n_fds; /* owned */
};

/* Methods that are not written: they ask, or are about the daemon and not about the session. */
static const char *const passed[] = {
    "server.",     "registry.",    "plugin.",      "rpc.",        "tensor.read",
    "tensor.list", "tensor.names", "tensor.desc",  "object.list", "program.describe",
    "session.get", "session.list", "session.sync", "session.end", "store.stats",
    "store.save",  "grad.graph",   "grad.check",   "map.release", "call.cancel",
};

bool is_recorded(const char *method)
{
    for (size_t i = 0; i < COUNT(passed); i++)
        if (strncmp(method, passed[i], strlen(passed[i])) == 0)
            return false;
    return true;
}

static void pending_free(pending *p)
{
    cJSON_Delete(p->id);
    free(p->request);
    message_free(&p->parts);
    for (int i = 0; i < p->n_fds; i++)
        close(p->fds[i]);
    free(p);
}

/* -- shared memory becomes attachments -- */

/* Return the descriptor of the memory that a literal names; -1: none. */
static int memory_of(const traffic *t, const pending *p, const cJSON *literal)
{
    const cJSON *fd = member(literal, "fd"), *map = member(literal, "map");

    if (cJSON_IsNumber(fd))
        return fd->valueint >= 0 && fd->valueint < p->n_fds ? p->fds[fd->valueint] : -1;
    for (size_t i = 0; i < t->n_maps && cJSON_IsNumber(map); i++)
        if (t->maps[i].number == map->valuedouble)
            return t->maps[i].fd;
    return -1;
}

/* Return how many elements of its memory a literal uses. */
static double elements_of(const cJSON *literal)
{
    const cJSON *shape = member(literal, "shape"), *strides = member(literal, "strides"), *size;
    double count = 1, reach = cJSON_IsNumber(member(literal, "storage_offset"))
                                  ? number_of(literal, "storage_offset")
                                  : 0;
    int i = 0;

    cJSON_ArrayForEach(size, shape)
    {
        const cJSON *stride = cJSON_GetArrayItem(strides, i++);
        count *= size->valuedouble;
        reach += stride ? (size->valuedouble - 1) * stride->valuedouble : 0;
    }
    return count == 0 ? 0 : cJSON_IsArray(strides) ? reach + 1 : count;
}

/* Read the elements of a literal from memory that the client shares.  The literal then names an
 * attachment in place of the memory. */
static void attach_memory(pending *p, cJSON *literal, int fd)
{
    const cJSON *offset = member(literal, "offset");
    double from = cJSON_IsNumber(offset) ? offset->valuedouble : 0;
    double bytes =
        elements_of(literal) * (double)dpc_dtype_size(dtype_named(text_of(literal, "dtype")));
    struct stat st;

    if (fstat(fd, &st) != 0 || !(bytes >= 0 && from >= 0 && from + bytes <= (double)st.st_size))
        return; /* the daemon refuses it, too */
    part *at = need(realloc((void *)p->parts.parts, (p->parts.n_parts + 1) * sizeof(*at)));
    p->parts.parts = at;
    at += p->parts.n_parts;
    *at = (part){PART_HERE, (uint64_t)bytes, 0, need(malloc((size_t)bytes + 1))};
    ssize_t got = pread(fd, (void *)at->bytes, at->nbytes, (off_t)from);
    if (got != (ssize_t)at->nbytes)
        memset((char *)at->bytes + (got > 0 ? got : 0), 0,
               at->nbytes - (size_t)(got > 0 ? got : 0));
    cJSON_DeleteItemFromObjectCaseSensitive(literal, "fd");
    cJSON_DeleteItemFromObjectCaseSensitive(literal, "map");
    cJSON_DeleteItemFromObjectCaseSensitive(literal, "offset");
    cJSON_AddNumberToObject(literal, "attachment", (double)p->parts.n_parts++);
}

static void find_memory(const traffic *t, pending *p, cJSON *value)
{
    int fd = cJSON_IsObject(value) ? memory_of(t, p, value) : -1;

    if (fd >= 0)
        attach_memory(p, value, fd);
    for (cJSON *j = value->child; j != NULL; j = j->next)
        if (cJSON_IsObject(j) || cJSON_IsArray(j))
            find_memory(t, p, j);
}

/* -- requests -- */

static pending *append(traffic *t)
{
    pending *p = need(calloc(1, sizeof(*p)));

    if (t->last != NULL)
        t->last->next = p;
    else
        t->first = p;
    t->last = p;
    return p;
}

/* Copy the attachments of a message: each request of a batch has all of them. */
static void copy_parts(pending *p, const message *m)
{
    p->parts.parts = need(calloc(m->n_parts + 1, sizeof(part)));
    for (; p->parts.n_parts < m->n_parts; p->parts.n_parts++) {
        part *to = &p->parts.parts[p->parts.n_parts];
        *to = m->parts[p->parts.n_parts];
        to->bytes = need(malloc(to->nbytes + 1));
        memcpy((void *)to->bytes, m->parts[p->parts.n_parts].bytes, to->nbytes);
    }
}

/* Take the attachments of a message that has one request. */
static void move_parts(pending *p, message *m)
{
    p->parts.parts = m->parts;
    p->parts.n_parts = m->n_parts;
    m->parts = NULL;
    m->n_parts = 0;
}

static void take_request(traffic *t, message *m, const cJSON *json, const int *fds, int n)
{
    const cJSON *id = member(json, "id"), *params = member(json, "params");
    pending *p = append(t);

    /* A line that is no request is answered with the id null. */
    if (id != NULL || !cJSON_IsObject(json))
        p->id = need(id ? cJSON_Duplicate(id, true) : cJSON_CreateNull());
    snprintf(p->method, sizeof(p->method), "%s", text_of(json, "method"));
    p->lingers = number_of(params, "linger_ms") > 0;
    for (int i = 0; i < n; i++)
        if ((p->fds[p->n_fds] = dup(fds[i])) >= 0)
            p->n_fds++;
    if (*p->method == '\0' || !is_recorded(p->method))
        return;
    cJSON *request = params_new();
    params_text(request, "method", text_of(json, "method"));
    cJSON *copy = params ? need(cJSON_Duplicate(params, true)) : params_new();
    cJSON_AddItemToObject(request, "params", copy);
    if (json == m->json)
        move_parts(p, m);
    else
        copy_parts(p, m);
    find_memory(t, p, copy);
    p->request = json_text(request);
    cJSON_Delete(request);
}

/* -- answers -- */

/* Remove the elements of tensors from an answer. */
static void drop_data(cJSON *value)
{
    for (cJSON *j = value->child, *next; j != NULL; j = next) {
        next = j->next;
        if (j->string != NULL && strcmp(j->string, "data") == 0 && member(value, "dtype") != NULL)
            cJSON_Delete(cJSON_DetachItemViaPointer(value, j));
        else
            drop_data(j);
    }
}

static void write_pending(traffic *t, const pending *p, const char *answer)
{
    if (p->request == NULL)
        return;
    if (answer == NULL && p->id != NULL)
        t->to->unanswered++;
    recorder_call(t->to, t->connection, p->request, answer, p->parts.parts, p->parts.n_parts);
}

static void remove_first(traffic *t)
{
    pending *p = t->first;

    t->first = p->next;
    if (t->first == NULL)
        t->last = NULL;
    pending_free(p);
}

/* Write the notifications at the head: what was sent before them is answered. */
static void write_notifications(traffic *t)
{
    for (; t->first != NULL && t->first->id == NULL; remove_first(t))
        write_pending(t, t->first, NULL);
}

void traffic_request(traffic *t, message *m, const int *fds, int n)
{
    const cJSON *one;

    if (cJSON_IsArray(m->json))
        cJSON_ArrayForEach(one, m->json) take_request(t, m, one, fds, n);
    else
        take_request(t, m, m->json, fds, n);
    for (int i = 0; i < n; i++)
        close(fds[i]);
    write_notifications(t);
}

/* Keep the memory that the client may name by a number from now on. */
static void keep_maps(traffic *t, pending *p, const cJSON *numbers)
{
    const cJSON *number;
    int i = 0;

    cJSON_ArrayForEach(number, numbers)
    {
        int fd = i < p->n_fds ? dup(p->fds[i++]) : -1;
        if (fd < 0)
            continue;
        t->maps = need(realloc(t->maps, (t->n_maps + 1) * sizeof(*t->maps)));
        t->maps[t->n_maps++] = (struct shared){number->valuedouble, fd};
    }
}

static void take_answer(traffic *t, const cJSON *json)
{
    const cJSON *id = member(json, "id"), *result = member(json, "result"), *session;

    if (id == NULL) /* a notification of the daemon */
        return;
    write_notifications(t);
    pending *p = t->first;
    if (p == NULL || !cJSON_Compare(id, p->id, true))
        return;
    keep_maps(t, p, member(json, "maps"));
    if (strcmp(p->method, "server.hello") == 0 && (session = member(result, "session")) != NULL)
        recorder_session(t->to, t->connection, session->valuedouble, p->lingers);
    cJSON *copy = params_new();
    const char *name = result ? "result" : "error";
    const cJSON *value = result ? result : member(json, "error");
    cJSON_AddItemToObject(copy, name,
                          value ? need(cJSON_Duplicate(value, true)) : need(cJSON_CreateNull()));
    drop_data(copy);
    char *text = json_text(copy);
    write_pending(t, p, text);
    free(text);
    cJSON_Delete(copy);
    remove_first(t);
    write_notifications(t);
}

void traffic_answer(traffic *t, const message *m)
{
    const cJSON *one;

    if (cJSON_IsArray(m->json))
        cJSON_ArrayForEach(one, m->json) take_answer(t, one);
    else
        take_answer(t, m->json);
}

bool traffic_waits_for(const traffic *t, const char *method)
{
    const pending *p = t->first;

    while (p != NULL && p->id == NULL)
        p = p->next;
    return p != NULL && strcmp(p->method, method) == 0;
}

void traffic_end(traffic *t)
{
    for (; t->first != NULL; remove_first(t))
        write_pending(t, t->first, NULL);
    recorder_connection_end(t->to, t->connection);
    for (size_t i = 0; i < t->n_maps; i++)
        close(t->maps[i].fd);
    free(t->maps);
    t->maps = NULL;
    t->n_maps = 0;
}
