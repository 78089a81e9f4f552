/* enums.h -- arguments that are numbers with names: dtypes, layouts, memory formats, devices. */
#ifndef DPI_ENUMS_H
#define DPI_ENUMS_H

#include "dispatch/schema/schema.h"

#pragma GCC visibility push(hidden)

/* The kind of enum (DPI_TYPE_DEVICE ...) that a type's numbers are, in lists and optionals too; 0:
 * plain numbers. */
uint8_t dpi_enum_kind(const dpi_type *type);
/* Name of `number` in that kind of enum, NULL if it has none.  buf: DP_KEY_NAME_MAX bytes. */
const char *dpi_enum_name(uint8_t kind, int64_t number, char *buf);
/* Numbers of that kind of enum (dp_bound.ret_names) as names: one value, or a list. */
int dpi_name_value(dp_ctx *ctx, uint8_t kind, dp_value *v);
/* Read a name or a number as one of that kind of enum.  False: it is none. */
bool dpi_enum_number(uint8_t kind, const dp_value *v, int64_t *out);
/* Append ": no dtype 'float31'; nearest: ..." when `name` is none of that kind of enum. */
void dpi_enum_nearest(dpi_text *t, uint8_t kind, const char *name);

#pragma GCC visibility pop

#endif
