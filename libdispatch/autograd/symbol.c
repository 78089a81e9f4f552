/* symbol.c -- capture a program for any size of some dimensions of its inputs. */
#include "symbol.h"

bool dpi_dynamic_layout(const dpi_dynamic *d, const dp_tensor *t, dp_input_place at, int64_t *sizes,
                        int64_t *strides)
{
    bool any = false;
    DPI_VIEW(v, t);

    dp_copy_n(sizes, v.sizes, (size_t)v.ndim, sizeof(*sizes));
    for (uint32_t i = 0; i < d->n; i++)
        if (d->places[i].input == at.input && d->places[i].item == at.item) {
            sizes[d->places[i].dim] = d->sizes[i];
            any = true;
        }
    dpi_dense_strides(v.ndim, v.strides, sizes, strides);
    return any;
}
