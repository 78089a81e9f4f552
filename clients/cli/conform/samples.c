/* samples.c -- reads the samples: a call of an operator on each line (proto/samples/README.md) */
#include "conform.h"
#include <errno.h>
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

static bool read_spec(spec *t, const cJSON *j)
{
    const cJSON *draw = member(j, "draw"), *strides = member(j, "strides");
    const char *dtype = text_of(j, "dtype");

    t->geometry.ndim = read_dims(member(j, "shape"), t->geometry.shape);
    if (t->geometry.ndim < 0 || geometry_count(&t->geometry) > 1 << 24)
        return false;
    geometry_pack(&t->geometry);
    if (strides != NULL && read_dims(strides, t->geometry.strides) != t->geometry.ndim)
        return false;
    t->geometry.offset = member(j, "offset") ? (int64_t)number_of(j, "offset") : 0;
    geometry_fit(&t->geometry);
    t->dtype = dtype_named(dtype);
    t->on_cpu = cJSON_IsTrue(member(j, "on_cpu"));
    t->given = member(j, "data");
    if (t->given != NULL)
        return cJSON_IsArray(t->given);
    if (!cJSON_IsArray(draw) || cJSON_GetArraySize(draw) != 2)
        return false;
    t->low = cJSON_GetNumberValue(cJSON_GetArrayItem(draw, 0));
    t->high = cJSON_GetNumberValue(cJSON_GetArrayItem(draw, 1));
    return t->low <= t->high;
}

static bool read_sample(op_sample *s, const cJSON *line)
{
    const cJSON *j, *tensors = member(line, "tensors");

    s->op = text_of(line, "op");
    s->of = text_of(line, "of");
    s->args = member(line, "args");
    s->kwargs = member(line, "kwargs");
    s->refused = cJSON_IsTrue(member(line, "refused"));
    cJSON_ArrayForEach(j, member(line, "dtypes"))
    {
        dpc_dtype d = dtype_named(cJSON_IsString(j) ? j->valuestring : "");
        if (d == DPC_DTYPE_OTHER)
            return false;
        s->dtypes |= 1u << d;
    }
    if (*s->op == '\0' || s->dtypes == 0 || !cJSON_IsArray(s->args) || !cJSON_IsArray(tensors) ||
        cJSON_GetArraySize(tensors) > CONFORM_TENSORS - 2)
        return false;
    s->tensors = need(calloc((size_t)cJSON_GetArraySize(tensors) + 1, sizeof(*s->tensors)));
    cJSON_ArrayForEach(j, tensors)
    {
        if (!read_spec(&s->tensors[s->n++], j))
            return false;
    }
    return true;
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
        ok = parsed != NULL && read_sample(&one, parsed);
        if (!ok)
            fprintf(stderr, "dispatchctl: %s:%zu: not a sample\n", path, number);
        if (!ok || !wanted(&one, text)) {
            free(one.tensors);
            cJSON_Delete(parsed);
            continue;
        }
        if ((s->n & (s->n - 1)) == 0) { /* the arrays double */
            s->at = need(realloc(s->at, (2 * s->n + 1) * sizeof(*s->at)));
            s->lines = need(realloc(s->lines, (2 * s->n + 1) * sizeof(*s->lines)));
        }
        s->lines[s->n] = parsed;
        s->at[s->n++] = one;
    }
    free(line);
    if (f != NULL)
        fclose(f);
    if (ok && s->n > 0)
        qsort(s->at, s->n, sizeof(*s->at), by_op);
    return ok;
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
