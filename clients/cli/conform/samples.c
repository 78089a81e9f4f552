/* samples.c -- reads the samples: a call of an operator on each line (proto/samples/README.md) */
#include "conform.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- geometry -- */

int64_t geometry_count(const geometry *g)
{
    int64_t n = 1;

    for (int d = 0; d < g->ndim; d++)
        n *= g->shape[d];
    return n;
}

int64_t geometry_at(const geometry *g, int64_t i)
{
    int64_t at = g->offset;

    for (int d = g->ndim - 1; d >= 0; d--) {
        at += i % g->shape[d] * g->strides[d];
        i /= g->shape[d];
    }
    return at;
}

void geometry_fit(geometry *g)
{
    int64_t last = 0;

    for (int d = 0; d < g->ndim; d++)
        last += (g->shape[d] - 1) * g->strides[d];
    g->elements = geometry_count(g) > 0 ? g->offset + last + 1 : 0;
}

void geometry_pack(geometry *g)
{
    int64_t stride = 1;

    for (int d = g->ndim - 1; d >= 0; d--) {
        g->strides[d] = stride;
        stride *= g->shape[d] > 1 ? g->shape[d] : 1;
    }
    g->offset = 0;
    geometry_fit(g);
}

/* -- lines -- */

enum { ELEMENTS_MOST = 1 << 24 };

/* Read an array of at most CONFORM_DIMS integers; -1: it is none. */
static int read_dims(const cJSON *array, int64_t *out)
{
    const cJSON *j;
    int n = 0;

    if (!cJSON_IsArray(array) || cJSON_GetArraySize(array) > CONFORM_DIMS)
        return -1;
    cJSON_ArrayForEach(j, array)
    {
        if (!cJSON_IsNumber(j) || j->valuedouble < 0 || j->valuedouble > 1e9)
            return -1;
        out[n++] = (int64_t)j->valuedouble;
    }
    return n;
}

/* Test whether the tensor is a sample's: neither it nor its storage is large. */
static bool is_small(const geometry *g)
{
    double n = 1, reach = (double)g->offset + 1;

    for (int d = 0; d < g->ndim; d++) {
        n *= (double)g->shape[d];
        reach += (double)(g->shape[d] - 1) * (double)g->strides[d];
    }
    return n <= ELEMENTS_MOST && (n == 0 || reach <= ELEMENTS_MOST);
}

/* The readers of parts of a line return NULL, or what is wrong with it. */
static const char *read_spec(spec *t, const cJSON *j)
{
    const cJSON *draw = member(j, "draw"), *strides = member(j, "strides"),
                *offset = member(j, "offset");
    const char *dtype = text_of(j, "dtype");
    geometry *g = &t->geometry;

    g->ndim = read_dims(member(j, "shape"), g->shape);
    if (g->ndim < 0)
        return "\"shape\" of a tensor";
    if (!is_small(g))
        return "a tensor is too large";
    geometry_pack(g);
    if (strides != NULL && read_dims(strides, g->strides) != g->ndim)
        return "\"strides\" of a tensor";
    if (offset != NULL && !(cJSON_IsNumber(offset) && offset->valuedouble >= 0 &&
                            offset->valuedouble <= ELEMENTS_MOST))
        return "\"offset\" of a tensor";
    g->offset = offset ? (int64_t)offset->valuedouble : 0;
    if (!is_small(g))
        return "a tensor is too large";
    geometry_fit(g);
    t->dtype = dtype_named(dtype);
    if (t->dtype == DPC_DTYPE_OTHER && strcmp(dtype, "*") != 0)
        return "\"dtype\" of a tensor";
    t->on_cpu = cJSON_IsTrue(member(j, "on_cpu"));
    t->given = member(j, "data");
    if (t->given != NULL) {
        return cJSON_IsArray(t->given) && cJSON_GetArraySize(t->given) >= g->elements
                   ? NULL
                   : "\"data\" of a tensor has fewer elements than its storage";
    }
    if (!cJSON_IsArray(draw) || cJSON_GetArraySize(draw) != 2)
        return "\"draw\" of a tensor";
    t->low = cJSON_GetNumberValue(cJSON_GetArrayItem(draw, 0));
    t->high = cJSON_GetNumberValue(cJSON_GetArrayItem(draw, 1));
    return t->low <= t->high && fabs(t->low) < 0x1p62 && fabs(t->high) < 0x1p62
               ? NULL
               : "\"draw\" of a tensor";
}

/* Test whether each {"tensor": -k} names one of `n` tensors. */
static bool names_tensors(const cJSON *value, size_t n)
{
    for (const cJSON *j = value ? value->child : NULL; j != NULL; j = j->next) {
        const cJSON *tensor = member(j, "tensor");
        if (tensor != NULL ? !(cJSON_IsNumber(tensor) && tensor->valuedouble <= -1 &&
                               tensor->valuedouble >= -(double)n &&
                               tensor->valuedouble == floor(tensor->valuedouble))
                           : !names_tensors(j, n))
            return false;
    }
    return true;
}

static const char *read_sample(op_sample *s, const cJSON *line)
{
    const cJSON *j, *tensors = member(line, "tensors");
    const char *wrong = NULL;

    s->op = text_of(line, "op");
    s->of = text_of(line, "of");
    s->args = member(line, "args");
    s->kwargs = member(line, "kwargs");
    s->refused = cJSON_IsTrue(member(line, "refused"));
    cJSON_ArrayForEach(j, member(line, "dtypes"))
    {
        dpc_dtype d = dtype_named(cJSON_IsString(j) ? j->valuestring : "");
        if (d == DPC_DTYPE_OTHER)
            return "\"dtypes\"";
        s->dtypes |= 1u << d;
    }
    if (*s->op == '\0')
        return "\"op\"";
    if (s->dtypes == 0)
        return "\"dtypes\"";
    if (!cJSON_IsArray(s->args) || (s->kwargs != NULL && !cJSON_IsObject(s->kwargs)))
        return "\"args\" or \"kwargs\"";
    if (!cJSON_IsArray(tensors) || cJSON_GetArraySize(tensors) > CONFORM_TENSORS / 2)
        return "\"tensors\"";
    s->tensors = need(calloc((size_t)cJSON_GetArraySize(tensors) + 1, sizeof(*s->tensors)));
    cJSON_ArrayForEach(j, tensors)
    {
        if (wrong == NULL)
            wrong = read_spec(&s->tensors[s->n++], j);
    }
    return wrong == NULL && !(names_tensors(s->args, s->n) && names_tensors(s->kwargs, s->n))
               ? "an argument names no tensor of the line"
               : wrong;
}

/* FNV-1a: the same line draws the same elements, wherever it stands in the file. */
static uint64_t hash_of(const char *text)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 0x100000001b3u;
    return h;
}

static int by_op(const void *a, const void *b)
{
    const op_sample *x = a, *y = b;
    int rc = strcmp(x->op, y->op);

    return rc != 0 ? rc : x->hash < y->hash ? -1 : x->hash > y->hash;
}

static bool wanted(const op_sample *s, const char *text)
{
    return text == NULL || strstr(s->op, text) != NULL || strstr(s->of, text) != NULL;
}

bool samples_read(samples *s, const char *path, const char *text)
{
    FILE *f = fopen(path, "re");
    char *line = NULL;
    size_t bytes = 0, number = 0;
    bool ok = f != NULL;

    memset(s, 0, sizeof(*s));
    if (!ok)
        fprintf(stderr, "dispatchctl: %s: %s; --samples names the file\n", path, strerror(errno));
    while (ok && getline(&line, &bytes, f) >= 0) {
        cJSON *parsed = cJSON_Parse(line);
        op_sample one = {.hash = hash_of(line)};
        number++;
        const char *wrong = parsed ? read_sample(&one, parsed) : "not JSON";
        ok = wrong == NULL;
        if (!ok)
            fprintf(stderr, "dispatchctl: %s:%zu: not a sample: %s\n", path, number, wrong);
        if (!ok || !wanted(&one, text)) {
            free(one.tensors);
            cJSON_Delete(parsed);
            continue;
        }
        s->at = grown(s->at, s->n, sizeof(*s->at));
        s->lines = grown(s->lines, s->n, sizeof(*s->lines));
        s->lines[s->n] = parsed;
        s->at[s->n++] = one;
    }
    free(line);
    if ((ok && ferror(f)) || (ok && number == 0)) {
        fprintf(stderr, "dispatchctl: %s %s\n", path,
                ferror(f) ? strerror(errno) : "has no samples");
        ok = false;
    }
    if (f != NULL)
        fclose(f);
    if (ok)
        samples_sort(s);
    return ok;
}

void samples_sort(samples *s)
{
    if (s->n > 0)
        qsort(s->at, s->n, sizeof(*s->at), by_op);
}

size_t samples_of_op(const samples *s, size_t first)
{
    size_t n = 1;

    while (first + n < s->n && strcmp(s->at[first + n].op, s->at[first].op) == 0)
        n++;
    return n;
}

char *samples_path(void)
{
    static const char *const places[] = {"../proto/samples/calls.jsonl",
                                         "../share/dispatchd/samples/calls.jsonl", NULL};

    return find_file(places);
}

void samples_free(samples *s)
{
    for (size_t i = 0; i < s->n; i++) {
        free(s->at[i].tensors);
        cJSON_Delete(s->lines[i]);
    }
    free(s->at);
    free(s->lines);
    memset(s, 0, sizeof(*s));
}
