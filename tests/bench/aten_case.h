/* aten_case.h -- a parser of the cases of aten.tsv, for the programs that measure them: aten.c
 * calls the operators of this project, aten_torch.cc those of PyTorch.  The head of aten.tsv
 * describes the syntax of arguments. */
#ifndef BENCH_ATEN_CASE_H
#define BENCH_ATEN_CASE_H

#include <dispatchd/tensor.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CASE_DIMS = 8, CASE_LIST = 8, CASE_ARGS = 16, CASE_NAME = 32 };

typedef struct case_tensor {
    dp_dtype dtype; /* has the same value as c10::ScalarType */
    int ndim;
    int64_t sizes[CASE_DIMS], strides[CASE_DIMS];
    int64_t span;  /* number of elements of the storage */
    int64_t below; /* values are whole, in [0, below); 0: no limit */
    bool positive;
    double scale;  /* factor of the values */
    bool dominant; /* matrices are diagonally dominant */
    uint32_t seed; /* seed of the values; different for each tensor of a line */
} case_tensor;

enum {
    CASE_NONE,
    CASE_INT, /* also dtypes and memory formats */
    CASE_DOUBLE,
    CASE_BOOL,
    CASE_INTS,
    CASE_BOOLS,
    CASE_TENSOR,
    CASE_TENSORS
};

typedef struct case_value {
    int kind;
    char name[CASE_NAME]; /* name of a keyword argument; "": positional */
    double d;
    int64_t i;
    int n; /* length of ints, bools or tensors */
    int64_t ints[CASE_LIST];
    bool bools[CASE_LIST];
    case_tensor tensors[CASE_LIST];
} case_value;

static inline dp_dtype case_dtype(const char *s, size_t len)
{
    static const struct {
        const char *name;
        dp_dtype dtype;
    } names[] = {{"u8", DP_UINT8},      {"i8", DP_INT8},         {"i16", DP_INT16},
                 {"i32", DP_INT32},     {"i64", DP_INT64},       {"f16", DP_FLOAT16},
                 {"f32", DP_FLOAT32},   {"f64", DP_FLOAT64},     {"c64", DP_COMPLEX64},
                 {"bf16", DP_BFLOAT16}, {"c128", DP_COMPLEX128}, {"b8", DP_BOOL}};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strlen(names[i].name) == len && memcmp(names[i].name, s, len) == 0)
            return names[i].dtype;
    return DP_DTYPE_NONE;
}

static inline int case_bytes(dp_dtype d)
{
#define CASE_BYTES_(id, number, name, aten, bytes, category)                                       \
    if (d == id)                                                                                   \
        return bytes;
    DP_DTYPE_MAP(CASE_BYTES_)
#undef CASE_BYTES_
    return 0;
}

/* Set strides and span of t, a dense tensor whose dimensions lie in memory in `order`, outermost
 * first. */
static inline void case_pack(case_tensor *t, const int *order)
{
    int64_t step = 1;

    for (int i = t->ndim - 1; i >= 0; i--) {
        t->strides[order[i]] = step;
        step *= t->sizes[order[i]];
    }
    t->span = step;
}

/* Parse the suffixes behind the sizes, such as ' or ^, at *at, and move *at behind them.  false: a
 * suffix is unknown. */
static inline bool case_layout(case_tensor *t, const char **at)
{
    int order[CASE_DIMS], n = t->ndim, c;

    for (int i = 0; i < n; i++)
        order[i] = i;
    for (case_pack(t, order); (c = **at) != '\0' && strchr("'/^+*<@", c) != NULL;) {
        ++*at;
        if (c == '\'' && n >= 2) {
            order[n - 1] = n - 2, order[n - 2] = n - 1;
            case_pack(t, order);
        } else if (c == '^' && n == 4) {
            order[1] = 2, order[2] = 3, order[3] = 1;
            case_pack(t, order);
        } else if (c == '/') {
            int64_t step = strtoll(*at, (char **)at, 10);
            for (int i = 0; i < n; i++)
                t->strides[i] *= step;
            t->span *= step;
        } else if (c == '<') {
            t->below = strtoll(*at, (char **)at, 10);
        } else if (c == '+') {
            t->positive = true;
        } else if (c == '*') {
            t->scale = strtod(*at, (char **)at);
        } else if (c == '@' && n >= 2) {
            t->dominant = true;
        } else {
            return false;
        }
    }
    return true;
}

/* Parse a tensor, such as f32[64,64]', at *at, and move *at behind it.  false: a syntax error. */
static inline bool case_read_tensor(const char **at, case_tensor *t)
{
    size_t name = strcspn(*at, "[");

    memset(t, 0, sizeof(*t));
    t->scale = 1;
    t->dtype = case_dtype(*at, name);
    if (t->dtype == DP_DTYPE_NONE || (*at)[name] != '[')
        return false;
    *at += name + 1;
    while (**at != ']' && t->ndim < CASE_DIMS) {
        const char *begin = *at;
        t->sizes[t->ndim++] = strtoll(begin, (char **)at, 10);
        if (*at == begin)
            return false;
        *at += **at == ',';
    }
    ++*at;
    return case_layout(t, at);
}

static inline bool case_read_list(const char *at, case_value *v)
{
    bool tensors = *at++ == '{', good = true;

    v->kind = tensors ? CASE_TENSORS : CASE_INTS;
    while (good && *at != '\0' && *at != ')' && *at != '}' && v->n < CASE_LIST) {
        if (tensors) {
            good = case_read_tensor(&at, &v->tensors[v->n]);
        } else if (*at == 't' || *at == 'f') {
            v->kind = CASE_BOOLS;
            v->bools[v->n] = *at == 't';
            at += strcspn(at, ",)");
        } else {
            v->ints[v->n] = strtoll(at, (char **)&at, 10);
        }
        v->n++;
        at += *at == ',' || *at == ';';
    }
    return good;
}

/* Parse one argument, such as f32[1] or dtype=f64.  false: a syntax error. */
static inline bool case_read(const char *word, case_value *v)
{
    const char *equals = strchr(word, '=');
    char *end;

    memset(v, 0, sizeof(*v));
    if (equals != NULL && equals - word < CASE_NAME) {
        memcpy(v->name, word, (size_t)(equals - word));
        word = equals + 1;
    }
    if (*word == '(' || *word == '{')
        return case_read_list(word, v);
    if (strcmp(word, "none") == 0)
        return true;
    if (strcmp(word, "true") == 0 || strcmp(word, "false") == 0) {
        v->kind = CASE_BOOL;
        v->i = *word == 't';
    } else if (strcmp(word, "channels_last") == 0 || strcmp(word, "contiguous") == 0) {
        v->kind = CASE_INT;
        v->i = strcmp(word, "contiguous") == 0 ? DP_CONTIGUOUS : DP_CHANNELS_LAST;
    } else if (strchr(word, '[') != NULL) {
        v->kind = CASE_TENSOR;
        return case_read_tensor(&word, &v->tensors[0]) && *word == '\0';
    } else if (case_dtype(word, strlen(word)) != DP_DTYPE_NONE) {
        v->kind = CASE_INT;
        v->i = case_dtype(word, strlen(word));
    } else {
        v->kind = strpbrk(word, ".e") != NULL ? CASE_DOUBLE : CASE_INT;
        v->d = strtod(word, &end);
        v->i = (int64_t)v->d;
        return end != word && *end == '\0';
    }
    return true;
}

/* Parse the arguments in `text`, which is changed.  Return their number; -1: *bad is the argument
 * with a syntax error, or the first argument after CASE_ARGS. */
static inline int case_read_all(char *text, case_value *args, const char **bad)
{
    uint32_t seed = 0;
    int n = 0;

    for (char *save = NULL, *w = strtok_r(text, " \n", &save); w != NULL;
         w = strtok_r(NULL, " \n", &save)) {
        *bad = w;
        if (n == CASE_ARGS || !case_read(w, &args[n]))
            return -1;
        for (int i = 0; i < CASE_LIST; i++)
            args[n].tensors[i].seed = ++seed;
        n++;
    }
    return n;
}

/* Return random bits for element `i` of the tensor with `seed` (the finalizer of MurmurHash3). */
static inline uint32_t case_bits(uint32_t seed, int64_t i)
{
    uint32_t x = (uint32_t)i * 2654435761u + seed * 40503u;

    x = (x ^ x >> 16) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return x ^ x >> 16;
}

/* Write `x` to `to` as an element of `dtype`; for a complex dtype, as a real or imaginary part.
 * `bytes` is the size of the element or part. */
static inline void case_put(dp_dtype dtype, int bytes, void *to, double x)
{
    int64_t whole = (int64_t)x;
    float f = (float)x;
    uint16_t h = dtype == DP_BFLOAT16 ? dp_float_to_bfloat16(f) : dp_float_to_float16(f);

    if (!dp_dtype_is_floating(dtype) && !dp_dtype_is_complex(dtype))
        memcpy(to, &whole, (size_t)bytes); /* little endian */
    else
        memcpy(to, bytes == 8 ? (void *)&x : bytes == 4 ? (void *)&f : (void *)&h, (size_t)bytes);
}

/* Fill the storage `data` of t with numbers that depend only on t, so that both programs get the
 * same numbers. */
static inline void case_fill(const case_tensor *t, void *data)
{
    int halves = dp_dtype_is_complex(t->dtype) ? 2 : 1, bytes = case_bytes(t->dtype) / halves;
    bool real = dp_dtype_is_floating(t->dtype) || halves == 2;
    int64_t n = t->dominant ? t->sizes[t->ndim - 1] : 0;

    for (int64_t i = 0; i < t->span * halves; i++) {
        uint32_t bits = case_bits(t->seed, i);
        double u = (bits >> 8) / 16777216.0, x;
        if (t->below > 0 || t->dtype == DP_BOOL)
            x = (double)(bits % (t->dtype == DP_BOOL ? 2 : (uint64_t)t->below));
        else if (real)
            x = (t->positive ? .25 + 2 * u : 6 * u - 3) * t->scale;
        else
            x = t->positive || t->dtype == DP_UINT8 ? 1 + (int)(bits % 9) : (int)(bits % 19) - 9;
        if (n > 0 && i % (n * n) % (n + 1) == 0)
            x = 4 * (double)n;
        case_put(t->dtype, bytes, (char *)data + i * bytes, x);
    }
}

/* Return a checksum of a result, by which the results of both programs are compared. */
static inline double case_sum(const double *x, int64_t n)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += isfinite(x[i]) ? fabs(x[i]) : 1;
    return sum;
}

static inline double case_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Return the nanoseconds per call of the fastest of some batches, which together last 2 ms;
 * calls(arg, n) makes n calls.  The first calls, for which threads sleep and caches are cold,
 * only decide how many calls a batch has. */
static inline double case_turn(void (*calls)(void *, long), void *arg)
{
    const double batch = 2e5, turn = 2e6, warm = 1e7;
    double t0 = case_now(), best = INFINITY, once, begin;
    long n = 1;

    calls(arg, 1);
    once = case_now() - t0;
    if (once < warm) {
        t0 = case_now();
        calls(arg, 2);
        once = (case_now() - t0) / 2;
    }
    if (once < batch)
        n = (long)(batch / (once > 1 ? once : 1)) + 1;
    begin = case_now();
    do {
        t0 = case_now();
        calls(arg, n);
        double each = (case_now() - t0) / (double)n;
        best = each < best ? each : best;
    } while (case_now() - begin < turn);
    return best;
}

#endif
