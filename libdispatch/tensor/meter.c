/* meter.c -- count the bytes that fakes would take if they had memory. */
#include "meter.h"
#include "base/base.h"
#include <stdatomic.h>

struct dpi_meter {
    atomic_uint refs;
    atomic_uint_fast64_t now, peak;
};

static _Thread_local dpi_meter *used;

dpi_meter *dpi_meter_new(void)
{
    dpi_meter *m = dp_calloc(1, sizeof(*m));

    if (m != NULL)
        atomic_init(&m->refs, 1);
    return m;
}

void dpi_meter_unref(dpi_meter *m)
{
    if (m != NULL && atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) == 1)
        dp_free(m);
}

dpi_meter *dpi_meter_use(dpi_meter *m)
{
    dpi_meter *before = used;

    used = m;
    return before;
}

void dpi_meter_add(dpi_meter *m, uint64_t bytes)
{
    uint64_t now = atomic_fetch_add(&m->now, bytes) + bytes;
    uint_fast64_t peak = atomic_load(&m->peak);

    while (now > peak && !atomic_compare_exchange_weak(&m->peak, &peak, now))
        ;
}

void dpi_meter_sub(dpi_meter *m, uint64_t bytes)
{
    atomic_fetch_sub(&m->now, bytes);
}

uint64_t dpi_meter_now(const dpi_meter *m)
{
    return atomic_load(&m->now);
}

uint64_t dpi_meter_peak(const dpi_meter *m)
{
    return atomic_load(&m->peak);
}

dpi_meter *dpi_meter_storage(uint64_t bytes)
{
    if (used == NULL)
        return NULL;
    atomic_fetch_add_explicit(&used->refs, 1, memory_order_relaxed);
    dpi_meter_add(used, bytes);
    return used;
}

void dpi_meter_storage_end(dpi_meter *m, uint64_t bytes)
{
    dpi_meter_sub(m, bytes);
    dpi_meter_unref(m);
}
