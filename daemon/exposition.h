/* exposition.h -- writes metrics in Prometheus's text format, version 0.0.4: for each metric a line
 * HELP, a line TYPE and one line for each set of labels. */
#ifndef DAEMON_EXPOSITION_H
#define DAEMON_EXPOSITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct exposition {
    char *s; /* owned; not terminated by NUL */
    size_t len, cap;
    bool failed; /* out of memory: nothing more is written */
    /* the metric whose samples are written */
    const char *name, *type, *help;
    bool begun; /* HELP and TYPE of the metric are written */
} exposition;
void exposition_fini(exposition *e);

/* A label of a sample.  The value may have any bytes; `value` NULL: the label is left out. */
typedef struct exposition_label {
    const char *name, *value;
} exposition_label;

/* Begin a metric.  `type`: "counter", "gauge" or "histogram".  `help`: one line, without
 * backslashes.  The texts are borrowed until the next metric.  HELP and TYPE are written with the
 * first sample. */
void exposition_metric(exposition *e, const char *name, const char *type, const char *help);
/* Write one sample.  `labels` [n]. */
void exposition_count(exposition *e, const exposition_label *labels, size_t n, uint64_t value);
void exposition_seconds(exposition *e, const exposition_label *labels, size_t n, uint64_t nanos);
/* Write the samples of a histogram of times: a bucket for each of the `n_bounds` upper `bounds`
 * (nanoseconds, ascending) and one without a bound, their sum and their number.  `buckets`
 * [n_bounds + 1]: the number of times in each bucket alone.  At most 8 labels. */
void exposition_histogram(exposition *e, const exposition_label *labels, size_t n,
                          const uint64_t *bounds, size_t n_bounds, const uint64_t *buckets,
                          uint64_t nanos);

#endif
