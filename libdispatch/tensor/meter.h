/* meter.h -- count the bytes that fakes would take if they had memory. */
#ifndef DPI_METER_H
#define DPI_METER_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Each fake storage that a thread makes while it uses a meter counts, until it is freed by any
 * thread, and holds a reference to the meter. */
typedef struct dpi_meter dpi_meter;

dpi_meter *dpi_meter_new(void);     /* NULL: no memory */
void dpi_meter_unref(dpi_meter *m); /* NULL is fine; any thread */
/* Let this thread use `m`, borrowed, instead of the meter that it used before; NULL: none.  Returns
 * the meter before. */
dpi_meter *dpi_meter_use(dpi_meter *m);
void dpi_meter_add(dpi_meter *m, uint64_t bytes);
void dpi_meter_sub(dpi_meter *m, uint64_t bytes);
uint64_t dpi_meter_now(const dpi_meter *m);
uint64_t dpi_meter_peak(const dpi_meter *m); /* the largest value of dpi_meter_now() so far */

/* Count a new storage of `bytes` bytes with this thread's meter, and return that, with a reference;
 * NULL: the thread uses none. */
dpi_meter *dpi_meter_storage(uint64_t bytes);
/* End that storage.  The reference to `m` is released. */
void dpi_meter_storage_end(dpi_meter *m, uint64_t bytes);

#pragma GCC visibility pop

#endif
