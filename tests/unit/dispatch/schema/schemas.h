/* schemas.h -- parse(), for tests that need a schema. */
#ifndef SCHEMAS_H
#define SCHEMAS_H

#include "dispatch/schema/schema.h"
#include "unit.h"
#include <locale.h>
#include <stdio.h>

static inline dp_schema *parse(const char *text)
{
    dp_error err = DP_ERROR_INIT;
    dp_schema *s = NULL;

    ck_assert_msg(dp_schema_parse(text, &s, &err) == DP_OK, "%s", err.message);
    return s;
}

#endif
