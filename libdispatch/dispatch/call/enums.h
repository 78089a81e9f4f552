/* enums.h -- enum arguments, which are numbers with names: dtypes, layouts, memory formats,
 * devices. */
#ifndef DPI_ENUMS_H
#define DPI_ENUMS_H

#include "dispatch/schema/schema.h"

#pragma GCC visibility push(hidden)

/* Return the kind of enum (DPI_TYPE_DEVICE, ...) of a type, or of the items of a list or optional
 * type.  0: the type is no enum. */
uint8_t dpi_enum_kind(const dpi_type *type);
/* Return the name of `number` in an enum of kind `kind`; NULL: the number has no name.  `buf` has
 * DP_KEY_NAME_MAX bytes. */
const char *dpi_enum_name(uint8_t kind, int64_t number, char *buf);
/* Replace the number in *v, or each number of a list, by its name in an enum of kind `kind`.  This
 * is for returns (dp_bound.ret_names). */
int dpi_name_value(dp_ctx *ctx, uint8_t kind, dp_value *v);
/* Convert a name or a number to a number of an enum of kind `kind`.  False: `v` is not in the
 * enum. */
bool dpi_enum_number(uint8_t kind, const dp_value *v, int64_t *out);
/* Append ": no dtype 'float31'; nearest: ..." for `name`, which is not in an enum of kind
 * `kind`. */
void dpi_enum_nearest(dpi_text *t, uint8_t kind, const char *name);

#pragma GCC visibility pop

#endif
