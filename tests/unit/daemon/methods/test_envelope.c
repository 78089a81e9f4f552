/* test_envelope.c -- the envelope, the params check against proto, and which error answers what. */
#include "methods/methods.h"
#include "unit.h"
#include <stdio.h>
#include <string.h>

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

#define ROW(line, answer)                                                                          \
    {                                                                                              \
        line, answer                                                                               \
    } /* clang-format 14 dies of a table of such braces */

/* The answer line to one line, of a method that needs neither session nor registry. */
static char *answer(const char *line)
{
    conn_state state = {0};
    request rq = {.line = (char *)line, .line_bytes = strlen(line), .state = &state};

    jw_init(&rq.out);
    if (request_parse(&rq))
        request_run(&rq);
    json_free(rq.root);
    sync_drop(&state.failures);
    jw_text(&rq.out, "", 1);
    return rq.out.s;
}

#define FAULT(id, code, text)                                                                      \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":" code ",\"message\":\"" text "\"}}"
#define ERROR(id, code, text)    FAULT(id, code, text) "\n"
#define IN_BATCH(id, code, text) "[" FAULT(id, code, text) "]\n"
#define CALL(method, params)                                                                       \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":" params "}"

static const struct {
    const char *line, *answer;
} lines[] = {
    ROW("{", ERROR("null", "-32700", "expected a member's name but the line ends at byte 1")),
    ROW("1", ERROR("null", "-32600", "expected a request object but got number")),
    ROW("[]", ERROR("null", "-32600", "a batch of 0 requests: expected 1 to 1000")),
    ROW("[1]", IN_BATCH("null", "-32600", "expected a request object but got number")),
    ROW("{\"id\":7}", ERROR("7", "-32600", "jsonrpc: expected \\\"2.0\\\" but got nothing")),
    ROW("{\"jsonrpc\":\"2.0\",\"id\":\"a\"}",
        ERROR("\"a\"", "-32600", "method: expected a string but got nothing")),
    ROW("{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"rpc.discover\"}",
        ERROR("null", "-32600", "id: expected a string or an integer below 2^53 but got number")),
    ROW("{\"jsonrpc\":\"2.0\",\"id\":1,\"metod\":\"rpc.discover\",\"method\":\"x\"}",
        ERROR("1", "-32600", "unknown member 'metod' of a request, did you mean 'method'?")),
    ROW("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"rpc.discover\",\"params\":3}",
        ERROR("1", "-32600", "params: expected an object but got number")),
    ROW("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"rpc.discover\",\"attachments\":[3]}",
        ERROR("1", "-32600", "attachments: 1 announced but 0 came")),
    ROW("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"rpc.discover\",\"f\\u0064s\":2}",
        ERROR("1", "-32600", "fds: 2 announced but 0 came")),
    ROW("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"rpc.discover\",\"f\\u0064s\":1e300}",
        ERROR("1", "-32600", "fds: expected a count of at most 16 descriptors")),
    ROW("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"rpc.discover\",\"f\\u0064s\":\"0\"}",
        ERROR("1", "-32600", "fds: expected a count of at most 16 descriptors")),
    ROW("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"rpc.discover\",\"attachments\":[]}]",
        IN_BATCH("1", "-32600", "a batch carries neither attachments nor fds")),
    ROW(CALL("server.statsu", "{}"),
        ERROR("1", "-32601", "no method 'server.statsu', did you mean 'server.status'?")),
    ROW(CALL("x", "{}"), ERROR("1", "-32601", "no method 'x'")),
    ROW("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"x\"}",
        ERROR("null", "-32601", "no method 'x'")),
    ROW(CALL("call.cancel", "{}"), ERROR("1", "-32602", "params: missing member 'id'")),
    ROW(CALL("call.cancel", "{\"id\":null}"),
        ERROR("1", "-32602", "id: expected integer or string but got null")),
    ROW(CALL("server.hello", "{\"linger_ms\":86400001}"),
        ERROR("1", "-32602", "linger_ms: expected at most 86400000 (linger_ms) but got 86400001")),
    ROW(CALL("server.hello", "{\"linger_ms\":18446744073709}"),
        ERROR("1", "-32602",
              "linger_ms: expected at most 86400000 (linger_ms) but got 18446744073709")),
    ROW(CALL("rpc.discover", "[]"), ERROR("1", "-32602", "params: expected object but got array")),
    ROW(CALL("rpc.discover", "{\"x\":1}"), ERROR("1", "-32602", "params: unknown member 'x'")),
    ROW(CALL("op.call", "{}"), ERROR("1", "-32602", "params: missing member 'op'")),
    ROW(CALL("op.call", "{\"op\":1}"), ERROR("1", "-32602", "op: expected string but got 1")),
    ROW(CALL("op.call", "{\"op\":null}"), ERROR("1", "-32602", "op: expected string but got null")),
    ROW(CALL("op.call", "{\"op\":\"a\",\"agrs\":[]}"),
        ERROR("1", "-32602", "params: unknown member 'agrs', did you mean 'args'?")),
    ROW(CALL("op.call", "{\"op\":\"a\",\"return\":\"dta\"}"),
        ERROR("1", "-32602",
              "return: expected one of 'handle', 'data', 'attachment' but got 'dta'")),
    ROW(CALL("op.call", "{\"op\":\"a\",\"deadline_ms\":-1}"),
        ERROR("1", "-32602", "deadline_ms: expected at least 0 but got -1")),
    ROW(CALL("op.call", "{\"op\":\"a\",\"args\":[[{\"tensor\":1,\"x\":2}]]}"),
        ERROR("1", "-32602", "args[0][0]: unknown member 'x'")),
    ROW(CALL("op.call", "{\"op\":\"a\",\"kwargs\":{\"k\":{\"data\":[],\"dtyp\":1}}}"),
        ERROR("1", "-32602", "kwargs.k: unknown member 'dtyp', did you mean 'dtype'?")),
    ROW(CALL("op.call", "{\"op\":\"a\",\"args\":[{\"data\":[1],\"names\":[\"n\"]}]}"),
        ERROR("1", "-32602", "args[0]: unknown member 'names': dimensions have no names")),
    ROW(CALL("op.call", "{\"op\":\"a\",\"kwargs\":{\"k\":{\"tensor\":1.5}}}"),
        ERROR("1", "-32602", "kwargs.k.tensor: expected integer but got 1.5")),
};

START_TEST(lines_are_answered)
{
    char *got = answer(lines[_i].line);
    ck_assert_str_eq(got, lines[_i].answer);
    dp_free(got);
}
END_TEST

static const char *const unanswered[] = {
    "{\"jsonrpc\":\"2.0\",\"method\":\"rpc.discover\"}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"no.such\"}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"op.call\",\"params\":{\"x\":1}}",
    "[{\"jsonrpc\":\"2.0\",\"method\":\"rpc.discover\"},{\"jsonrpc\":\"2.0\",\"method\":\"x\"}]",
};

START_TEST(notifications_are_not_answered)
{
    char *got = answer(unanswered[_i]);
    ck_assert_str_eq(got, "");
    dp_free(got);
}
END_TEST

START_TEST(batches_keep_their_order)
{
    char *got = answer("[{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"x\"},"
                       "{\"jsonrpc\":\"2.0\",\"method\":\"rpc.discover\"},"
                       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"y\"}]");
    ck_assert_str_eq(got, "[{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32601,\"message\":"
                          "\"no method 'x'\"}},{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":"
                          "-32601,\"message\":\"no method 'y'\"}}]\n");
    dp_free(got);
}
END_TEST

START_TEST(discover_lists_every_method)
{
    char *got = answer(CALL("rpc.discover", "{}"));
    cJSON *j = cJSON_Parse(got), *listed;

    ck_assert_ptr_ne(j, NULL);
    listed = cJSON_GetObjectItem(cJSON_GetObjectItem(j, "result"), "methods");
    int n = 0;
    for (const method *m = methods; m->name != NULL; m++, n++)
        ck_assert_str_eq(
            cJSON_GetStringValue(cJSON_GetObjectItem(cJSON_GetArrayItem(listed, n), "name")),
            m->name);
    ck_assert_int_eq(cJSON_GetArraySize(listed), n);
    cJSON_Delete(j);
    dp_free(got);
}
END_TEST

START_TEST(every_method_is_found_by_its_name)
{
    size_t n = 0;

    for (const method *m = methods; m->name != NULL; m++, n++) {
        ck_assert_str_eq(method_names[n], m->name);
        ck_assert_ptr_eq(method_find(m->name), m);
    }
    ck_assert_uint_eq(n, n_methods);
    ck_assert_ptr_eq(method_find("server.stats"), NULL);
}
END_TEST

START_TEST(nearest_names)
{
    static const char *const names[] = {"server.status", "server.hello", "op.call"};

    ck_assert_str_eq(nearest_name("server.stauts", names, 3), "server.status");
    ck_assert_str_eq(nearest_name("opcall", names, 3), "op.call");
    ck_assert_ptr_eq(nearest_name("zzz", names, 3), NULL);
    ck_assert_ptr_eq(nearest_name("", names, 3), NULL);
}
END_TEST

/* An answer there is no memory for ends the connection; nothing leaks, nothing half-written leaves.
 */
START_TEST(no_memory_for_an_answer)
{
    const char *line = CALL("server.statsu", "{}");

    for (uint64_t n = 1;; n++) {
        conn_state state = {0};
        request rq = {.line = (char *)line, .line_bytes = strlen(line), .state = &state};
        dp_fault_arm(n);
        if (request_parse(&rq))
            request_run(&rq);
        bool hit = dp_fault_hit();
        dp_fault_arm(0);
        json_free(rq.root);
        sync_drop(&state.failures);
        ck_assert_int_eq(rq.out.len > 0, !rq.close_after);
        ck_assert(rq.out.len == 0 || rq.out.s[rq.out.len - 1] == '\n');
        jw_fini(&rq.out);
        if (!hit)
            break;
    }
}
END_TEST

UNIT_SUITE(envelope)
{
    tcase_add_loop_test(tc, lines_are_answered, 0, COUNT(lines));
    tcase_add_loop_test(tc, notifications_are_not_answered, 0, COUNT(unanswered));
    tcase_add_test(tc, batches_keep_their_order);
    tcase_add_test(tc, discover_lists_every_method);
    tcase_add_test(tc, every_method_is_found_by_its_name);
    tcase_add_test(tc, nearest_names);
    tcase_add_test(tc, no_memory_for_an_answer);
}
