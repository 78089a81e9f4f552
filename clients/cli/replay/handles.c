/* handles.c -- translates what recorded calls name, handles and devices, to what stands for it on a
 * side */
#include "replay.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const thing_names[N_THINGS] = {"tensor", "program", "generator", "object"};
static const char *const thing_lists[N_THINGS] = {"tensors", "programs", "generators", "objects"};

/* -- the table -- */

static size_t bucket_of(const handles *h, uint32_t session, double recorded)
{
    uint64_t state;

    memcpy(&state, &recorded, sizeof(state)); /* a damaged file may have any number here */
    state = (recorded == 0 ? 0 : state) * 64 + session;

    return (size_t)(random_next(&state) % h->n_buckets);
}

entry *handles_find(const handles *h, uint32_t session, thing of, double recorded)
{
    entry *e = NULL;

    if (h->n_buckets > 0 && !isnan(recorded))
        e = h->buckets[bucket_of(h, session, recorded)];
    while (e != NULL && (e->session != session || e->of != of || e->recorded != recorded))
        e = e->next;
    return e;
}

static void grow(handles *h)
{
    handles larger = {.n_buckets = h->n_buckets > 0 ? 2 * h->n_buckets : 256, .n = h->n};

    larger.buckets = need(calloc(larger.n_buckets, sizeof(*larger.buckets)));
    for (size_t i = 0; i < h->n_buckets; i++)
        for (entry *e = h->buckets[i], *next; e != NULL; e = next) {
            entry **at = &larger.buckets[bucket_of(&larger, e->session, e->recorded)];
            next = e->next;
            e->next = *at;
            *at = e;
        }
    free(h->buckets);
    *h = larger;
}

entry *handles_bind(handles *h, uint32_t session, thing of, double recorded)
{
    entry *e = handles_find(h, session, of, recorded);

    if (e != NULL)
        return e;
    if (h->n >= h->n_buckets)
        grow(h);
    e = need(calloc(1, sizeof(*e)));
    *e = (entry){.session = session, .of = of, .recorded = recorded, .at = {recorded, recorded}};
    entry **at = &h->buckets[bucket_of(h, session, recorded)];
    e->next = *at;
    *at = e;
    h->n++;
    return e;
}

static void entry_free(entry *e)
{
    cJSON_Delete(e->made_from);
    free(e);
}

static void forget_in(handles *h, size_t bucket, uint32_t session, thing of, double recorded)
{
    for (entry **at = &h->buckets[bucket]; *at != NULL;) {
        entry *e = *at;
        if (e->session == session &&
            (isnan(recorded) || (e->of == of && e->recorded == recorded))) {
            *at = e->next;
            entry_free(e);
            h->n--;
        } else {
            at = &e->next;
        }
    }
}

void handles_forget(handles *h, uint32_t session, thing of, double recorded)
{
    for (size_t i = 0; isnan(recorded) && i < h->n_buckets; i++)
        forget_in(h, i, session, of, recorded);
    if (!isnan(recorded) && h->n_buckets > 0)
        forget_in(h, bucket_of(h, session, recorded), session, of, recorded);
}

void handles_free(handles *h)
{
    for (size_t i = 0; i < h->n_buckets; i++)
        for (entry *e = h->buckets[i], *next; e != NULL; e = next) {
            next = e->next;
            entry_free(e);
        }
    free(h->buckets);
    memset(h, 0, sizeof(*h));
}

/* -- devices -- */

/* Is `name` a device of the type of `device`, with any index? */
static bool same_type(const char *name, const char *device)
{
    size_t n = strcspn(device, ":");

    return strncmp(name, device, n) == 0 && (name[n] == '\0' || name[n] == ':');
}

const char *place_of(const places *p, const char *name)
{
    const cJSON *known;
    bool others = false;

    if (p->device == NULL)
        return name;
    /* Where a session has used a device beside the CPU, that one is replaced, and not the CPU. */
    cJSON_ArrayForEach(known, p->recorded)
    {
        const char *text = known->valuestring;
        if (same_type(text, "cpu") || same_type(text, "meta"))
            continue;
        others = true;
        if (same_type(name, text))
            return p->device;
    }
    return !others && same_type(name, "cpu") ? p->device : name;
}

/* -- params -- */

typedef struct translation {
    const handles *h;
    uint32_t session;
    int side;
    const places *places;
    bool tainted;
    char *missing; /* owned */
} translation;

static void translate_handle(translation *t, cJSON *number, thing of)
{
    const entry *e = handles_find(t->h, t->session, of, number->valuedouble);

    if (e != NULL) {
        cJSON_SetNumberValue(number, e->at[t->side]);
        t->tainted = t->tainted || e->tainted;
    } else if (number->valuedouble > 0 && t->missing == NULL) {
        t->missing = text_printf("%s %.0f is not there: what made it was not replayed",
                                 thing_names[of], number->valuedouble);
    }
}

/* Which thing does a member with this name hold, or (`*list`) list?  N_THINGS: none. */
static thing thing_of(const char *name, bool *list)
{
    for (int of = 0; name != NULL && of < N_THINGS; of++) {
        *list = strcmp(name, thing_lists[of]) == 0;
        if (*list || strcmp(name, thing_names[of]) == 0)
            return (thing)of;
    }
    return N_THINGS;
}

/* Is `name` a member whose own members have names that a client or a schema has chosen? */
static bool has_chosen_names(const char *name)
{
    return name != NULL && (strcmp(name, "kwargs") == 0 || strcmp(name, "inputs") == 0 ||
                            strcmp(name, "constants") == 0 || strcmp(name, "outputs") == 0);
}

static void translate_value(translation *t, cJSON *parent, cJSON *value, bool chosen);

static void translate_members(translation *t, cJSON *value, bool chosen)
{
    for (cJSON *j = value->child, *next; j != NULL; j = next) {
        next = j->next;
        translate_value(t, value, j, chosen);
    }
}

static void translate_text(translation *t, cJSON *parent, cJSON *value)
{
    const char *place = place_of(t->places, value->valuestring);

    if (strcmp(place, value->valuestring) == 0)
        return;
    cJSON *other = need(cJSON_CreateString(place));
    if (cJSON_IsArray(parent))
        cJSON_ReplaceItemViaPointer(parent, value, other);
    else
        cJSON_ReplaceItemInObjectCaseSensitive(parent, value->string, other);
}

/* A tensor is made on the CPU where nothing else is said. */
static void place_literal(translation *t, cJSON *literal)
{
    const char *place = place_of(t->places, "cpu");
    bool makes = member(literal, "data") != NULL || member(literal, "attachment") != NULL;

    if (makes && member(literal, "device") == NULL && strcmp(place, "cpu") != 0)
        params_text(literal, "device", place);
}

static void translate_value(translation *t, cJSON *parent, cJSON *value, bool chosen)
{
    bool list = false;
    thing of = chosen ? N_THINGS : thing_of(value->string, &list);

    if (cJSON_IsString(value)) {
        translate_text(t, parent, value);
        return;
    }
    if (of != N_THINGS && !list && cJSON_IsNumber(value)) {
        translate_handle(t, value, of);
        return;
    }
    if (cJSON_IsObject(value))
        place_literal(t, value);
    if (value->string != NULL && !chosen && strcmp(value->string, "data") == 0)
        return;
    for (cJSON *j = of != N_THINGS && list ? value->child : NULL; j != NULL; j = j->next)
        if (cJSON_IsNumber(j))
            translate_handle(t, j, of);
    translate_members(t, value,
                      !chosen && has_chosen_names(value->string) && cJSON_IsObject(value));
}

char *translate(cJSON *params, const handles *h, uint32_t session, int side, const places *p,
                bool *tainted)
{
    translation t = {.h = h, .session = session, .side = side, .places = p};

    place_literal(&t, params);
    translate_members(&t, params, false);
    *tainted = t.tainted;
    return t.missing;
}

/* -- answers -- */

void collect(cJSON *list, const cJSON *value, thing of)
{
    const cJSON *j;
    bool is = cJSON_IsObject(value) &&
              (cJSON_IsNumber(member(value, thing_names[of])) ||
               (of == TENSOR && member(value, "dtype") != NULL && member(value, "shape") != NULL));

    if (is)
        cJSON_AddItemReferenceToArray(list, (cJSON *)value);
    else
        cJSON_ArrayForEach(j, value) if (cJSON_IsObject(j) || cJSON_IsArray(j))
            collect(list, j, of);
}
