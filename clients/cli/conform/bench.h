/* bench.h -- what bench.c measures */
#ifndef DISPATCHCTL_CONFORM_BENCH_H
#define DISPATCHCTL_CONFORM_BENCH_H
#include "conform.h"

typedef struct bench_row {
    char *call; /* owned */
    const char *op;
    int64_t elements;                   /* of the largest tensor, about */
    double device_ns, cpu_ns, torch_ns; /* torch_ns NaN: not measured */
} bench_row;

typedef struct bench {
    const char *device;
    dpc_dtype dtype;
    bool torch; /* PyTorch was there */
    size_t n;
    bench_row *rows; /* [n] */
    char **lines;    /* [n] the calls as JSON, for PyTorch; owned */
} bench;

#endif
