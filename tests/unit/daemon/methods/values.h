/* values.h -- fixture of a request with a session and a context, for tests of the functions that
 * the daemon's methods call. */
#ifndef VALUES_H
#define VALUES_H

#include "methods/methods.h"
#include "session.h"
#include "unit.h"
#include <string.h>

static sessions values_all;
static dp_registry *values_reg;
static request rq;
static conn_state values_state; /* of `rq` */
static cJSON *values_root;
static dp_error err;

static void values_begin(void)
{
    sessions_init(&values_all, limit_defaults);
    rq = (request){.session = session_new(&values_all, &err), .line_bytes = 1000};
    ck_assert_ptr_nonnull(rq.session);
    ck_assert_int_eq(dp_registry_new(&values_reg, &err), 0);
    ck_assert_int_eq(dp_ctx_new(values_reg, &rq.ctx, &err), 0);
    dp_state_default(&values_state.include, &values_state.exclude);
    rq.state = &values_state;
    ck_assert_int_eq(run_begin(&rq, &err), 0);
    jw_init(&rq.out);
}

static void values_end(void)
{
    request_drop(&rq);
    jw_fini(&rq.out);
    json_free(values_root);
    values_root = NULL;
    dp_ctx_free(rq.ctx);
    dp_registry_free(values_reg);
    session_leave(rq.session);
    sessions_fini(&values_all);
}

/* Parse `text`.  The result is borrowed, and freed by the next json() or by values_end(). */
static inline const cJSON *json(const char *text)
{
    json_free(values_root);
    values_root = NULL;
    dp_error_clear(&err);
    ck_assert_msg(json_parse(text, strlen(text), &values_root, &err) == 0, "%s", err.message);
    return values_root;
}

/* Return the part of the answer that was written so far. */
static inline const char *written(void)
{
    jw_text(&rq.out, "", 1);
    return rq.out.s;
}

#endif
