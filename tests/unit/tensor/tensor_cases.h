/* tensor_cases.h -- reads tests/data/tensor_cases.txt, PyTorch's results about layouts and
 * dtypes. */
#ifndef TENSOR_CASES_H
#define TENSOR_CASES_H

#include "unit.h"
#include "tensor/room.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct cases {
    FILE *f;
    int line;
    char text[512];
    char *fields[16];
    int n;
} cases;

typedef struct numbers {
    int n;
    int64_t at[DP_DIM_MAX];
} numbers;

static inline cases cases_open(void)
{
    cases c = {.f = fopen("tests/data/tensor_cases.txt", "r")};
    ck_assert_msg(c.f != NULL, "tests/data/tensor_cases.txt: run from the top of the tree");
    return c;
}

/* Read the next line whose first word is `kind`, and set c->fields [c->n] to its words.  At the
 * end, close the file and return false. */
static inline bool cases_next(cases *c, const char *kind)
{
    while (fgets(c->text, sizeof(c->text), c->f)) {
        char *save;
        c->line++;
        c->n = 0;
        for (char *w = strtok_r(c->text, " \n", &save); w; w = strtok_r(NULL, " \n", &save))
            c->fields[c->n++] = w;
        if (c->n > 0 && strcmp(c->fields[0], kind) == 0)
            return true;
    }
    fclose(c->f);
    return false;
}

static inline numbers numbers_read(const char *s)
{
    numbers v = {0};
    char *end;

    if (strcmp(s, "-") == 0)
        return v;
    for (;; s = end + 1) {
        v.at[v.n++] = strtoll(s, &end, 10);
        if (*end != ',')
            return v;
    }
}

static inline const char *numbers_print(int n, const int64_t *at, char buf[512])
{
    size_t len = 0;

    buf[0] = '\0';
    for (int i = 0; i < n; i++)
        len += (size_t)snprintf(buf + len, 512 - len, "%s%lld", i ? "," : "", (long long)at[i]);
    return n ? buf : "-";
}

/* Return a new tensor with its own storage; owned. */
static inline dp_tensor *tensor_of(dp_dtype dtype, numbers sizes, numbers strides)
{
    dp_error err = DP_ERROR_INIT;
    dp_tensor *t = NULL;
    int rc = dp_tensor_new(dtype, DP_DEVICE_CPU, sizes.n, sizes.at, strides.at, &t, &err);

    ck_assert_msg(rc == DP_OK, "%s", err.message);
    return t;
}

static inline void assert_strides(const cases *c, const dp_tensor *t, const char *expected)
{
    char buf[512];

    ck_assert_msg(strcmp(numbers_print(t->geometry->ndim, t->geometry->strides, buf), expected) ==
                      0,
                  "line %d: strides %s, PyTorch has %s", c->line, buf, expected);
}

#endif
