/* stream.h -- streams and events of devices, and which stream of each device is current. */
#ifndef DPI_STREAM_H
#define DPI_STREAM_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* The functions of api.h without a context; `stream` NULL is not allowed. */
/* ctx: may be NULL; the backend gets it.  options NULL: the defaults. */
int dpi_stream_new(dp_ctx *ctx, dp_device device, const dp_stream_options *options, dp_stream **out,
                   dp_error *err);
int dpi_stream_priorities(dp_device device, int *least, int *greatest, dp_error *err);
/* The default one of the device; *out owned. */
int dpi_stream_default(dp_device device, dp_stream **out, dp_error *err);
dp_device dpi_event_device(const dp_event *e);
int dpi_stream_query(const dp_stream *s, bool *done, dp_error *err);
int dpi_stream_synchronize(const dp_stream *s, dp_error *err);
int dpi_device_synchronize(dp_device device, dp_error *err);
int dpi_device_trim(dp_device device, size_t bytes, dp_error *err);
int dpi_device_memory(dp_device device, size_t *free_bytes, size_t *total_bytes, dp_error *err);
int dpi_event_new(dp_device device, uint32_t flags, dp_event **out, dp_error *err);
/* Of the code that made s; for being waited for, not for its time. */
int dpi_event_new_on(const dp_stream *s, dp_event **out, dp_error *err);
int dpi_event_record(dp_event *e, const dp_stream *s, dp_error *err);
int dpi_event_wait(const dp_event *e, const dp_stream *s, dp_error *err);
int dpi_event_query(const dp_event *e, bool *done, dp_error *err);
int dpi_event_synchronize(const dp_event *e, dp_error *err);
int dpi_event_elapsed(const dp_event *begin, const dp_event *end, double *ms, dp_error *err);

/* Inside d.  DP_ERUNTIME: the backend has fewer devices. */
int dpi_device_check_index(const dpi_device *d, dp_device device, dp_error *err);
/* Inside d.  DP_EVALUE: no stream of `device` has this priority. */
int dpi_device_check_priority(dpi_device *d, dp_device device, int priority, dp_error *err);

/* Both are closed.  Let the new code `d` have what `old` has beyond blocks, if both can.  False: it
 * failed, a warning says why, and d is to get no block, either. */
bool dpi_device_hand_over(const dpi_device *old, const dpi_device *d);

/* Pin the device of s until dpi_device_leave(); *handle is what its functions take. */
int dpi_stream_enter(const dp_stream *s, dpi_device **out, void **handle, dp_error *err);

/* The handle for functions of `d`, inside which the caller is; NULL, the default stream, if s is
 * none of d's. */
void *dpi_stream_of(const dp_stream *s, const dpi_device *d);

/* Did the code of `d` make `s`, and not take it back?  Inside `d`. */
bool dpi_stream_belongs(const dp_stream *s, const dpi_device *d);

/* A number for `all`, 0 for NULL, and back while it lives: it fits where a pointer does not. */
uint32_t dpi_streams_id(const dp_streams *all);
dp_streams *dpi_streams_of(uint32_t id);

/* The current streams of a session; any thread.  *out counted: the device's default one when
 * another was never set, or is gone with its backend. */
int dpi_streams_get(dp_streams *all, dp_device device, const char *op, dp_stream **out,
                    dp_error *err);
int dpi_streams_set(dp_streams *all, dp_stream *s, dp_error *err);

/* d is closed: wait for all that it was given, then free its streams and events; those that are
 * still referred to answer from then on that the backend was unloaded. */
void dpi_streams_end(dpi_device *d);

#pragma GCC visibility pop

#endif
