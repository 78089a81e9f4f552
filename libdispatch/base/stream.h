/* stream.h -- streams and events of devices, and which stream of each device is current. */
#ifndef DPI_STREAM_H
#define DPI_STREAM_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* From here to dpi_event_elapsed(), function dpi_x() does the work of dp_x() in api.h, but without
 * a context.  A function that has no counterpart in api.h has a comment of its own.  Streams must
 * not be NULL. */

/* `ctx` is passed to the backend and may be NULL.  `options` NULL: the default options. */
int dpi_stream_new(dp_ctx *ctx, dp_device device, const dp_stream_options *options, dp_stream **out,
                   dp_error *err);
int dpi_stream_priorities(dp_device device, int *least, int *greatest, dp_error *err);
/* Get the default stream of the device.  *out owned. */
int dpi_stream_default(dp_device device, dp_stream **out, dp_error *err);
/* Return the device for which `e` was made. */
dp_device dpi_event_device(const dp_event *e);
int dpi_stream_query(const dp_stream *s, bool *done, dp_error *err);
int dpi_stream_synchronize(const dp_stream *s, dp_error *err);
int dpi_device_synchronize(dp_device device, dp_error *err);
int dpi_device_trim(dp_device device, size_t bytes, dp_error *err);
int dpi_device_memory(dp_device device, size_t *free_bytes, size_t *total_bytes, dp_error *err);
int dpi_event_new(dp_device device, uint32_t flags, dp_event **out, dp_error *err);
/* Make an event by the functions of the device that made `s`, even if a reload has replaced that
 * device.  The event has no time: dpi_event_elapsed() fails for it. */
int dpi_event_new_on(const dp_stream *s, dp_event **out, dp_error *err);
int dpi_event_record(dp_event *e, const dp_stream *s, dp_error *err);
int dpi_event_wait(const dp_event *e, const dp_stream *s, dp_error *err);
int dpi_event_query(const dp_event *e, bool *done, dp_error *err);
int dpi_event_synchronize(const dp_event *e, dp_error *err);
int dpi_event_elapsed(const dp_event *begin, const dp_event *end, double *ms, dp_error *err);

/* Check that the backend has a device with the index of `device`.  The caller must have entered
 * `d`.  DP_ERUNTIME: it has fewer. */
int dpi_device_check_index(const dpi_device *d, dp_device device, dp_error *err);
/* Check that streams of `device` may have this priority.  The caller must have entered `d`.
 * DP_EVALUE: they may not. */
int dpi_device_check_priority(dpi_device *d, dp_device device, int priority, dp_error *err);

/* At a reload, move the state of device `old` other than blocks of memory, for example a driver
 * context, to `d`, the device of the new code (hand_over and take_over of dp_device_ops).  Both
 * devices must be closed.  True also if one of them lacks its function for this.  False: it failed
 * and a warning says why; `d` must not adopt blocks either. */
bool dpi_device_hand_over(const dpi_device *old, const dpi_device *d);

/* Enter the device of `s`, also one that a reload replaced, until dpi_device_leave(); `*handle`
 * gets the backend's handle of `s`.  DP_ERUNTIME: the backend was unloaded. */
int dpi_stream_enter(const dp_stream *s, dpi_device **out, void **handle, dp_error *err);

/* Return the backend's handle of `s` for functions of `d`, which the caller must have entered.
 * NULL, the default stream: `s` is NULL or not a stream of `d`. */
void *dpi_stream_of(const dp_stream *s, const dpi_device *d);

/* Did the code of `d` make `s`, and has it not freed the handle?  The caller must have entered
 * `d`. */
bool dpi_stream_belongs(const dp_stream *s, const dpi_device *d);

/* Return a number for `all`, for fields that are too small for a pointer; 0: `all` is
 * NULL.  dpi_streams_of() returns the pointer for a number; NULL: the object was freed, or the
 * number is 0. */
uint32_t dpi_streams_id(const dp_streams *all);
dp_streams *dpi_streams_of(uint32_t id);

/* Get or set the current stream of a device in `all`, the current streams of a session; any thread
 * may call.  dpi_streams_get() returns a new reference.  It returns the default stream if no stream
 * was set, or if the stream's backend was unloaded or reloaded.  Operator `op` is noted as one that
 * queues work, if the backend has streams (dpi_queued_note()); NULL: none is. */
int dpi_streams_get(dp_streams *all, dp_device device, const char *op, dp_stream **out,
                    dp_error *err);
int dpi_streams_set(dp_streams *all, dp_stream *s, dp_error *err);

/* Wait for all work of `d`, which is closed, then free the handles of its streams and events.
 * Functions of streams and events that still have references fail from then on: the backend was
 * unloaded. */
void dpi_streams_end(dpi_device *d);

#pragma GCC visibility pop

#endif
