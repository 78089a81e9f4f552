/* test_limits.c -- what grows without a client's or a plugin's restraint stops at its limit, by
 * name, and goes on below it.  Limits of schemas, of recursion and of draining are tested with
 * those. */
#include "methods/methods.h"
#include "dispatch/registry/thread.h"
#include "dispatch/records.h"
#include "server.h"
#include <pthread.h>

static dp_error err;

static void refused(int rc, const char *limit)
{
    ck_assert_int_eq(rc, DP_ERESOURCE);
    ck_assert_msg(strstr(err.message, limit) != NULL, "no '%s' in '%s'", limit, err.message);
}

/* As if the registry had seen all the names it may. */
START_TEST(limits_operator_names)
{
    static const dp_item one[] = {REC_DEF("one() -> ()")}, two[] = {REC_DEF("two() -> ()")};
    dp_block blocks[] = {REC_BLOCK(DP_BLOCK_FRAGMENT, 1, "t", NULL, one),
                         REC_BLOCK(DP_BLOCK_FRAGMENT, 1, "t", NULL, two)};
    dp_registry *reg = rec_registry();
    dp_unit *first = rec_attach(reg, "first", &blocks[0], 1), *second = NULL;
    uint32_t n = reg->n_ops;

    reg->n_ops = DP_LIMIT_OPERATORS;
    refused(dp_registry_attach(reg, "second", "1.0", &blocks[1], 1, &second, &err), "65535");
    reg->n_ops = n;
    rec_check(reg);
    second = rec_attach(reg, "second", &blocks[1], 1);
    rec_detach(reg, first);
    rec_detach(reg, second);
    dp_registry_free(reg);
}
END_TEST

START_TEST(limits_kernels_of_one_operator_and_key)
{
    enum { MOST = DP_LIMIT_KERNELS_PER_OP };
    dp_item *items = calloc(MOST + 1, sizeof(*items));
    dp_block block = {.size = sizeof(block),
                      .kind = DP_BLOCK_IMPL,
                      .item_size = sizeof(dp_item),
                      .file = "t.c",
                      .ns = "t",
                      .key = "CPU",
                      .items = items,
                      .n_items = MOST + 1};
    dp_registry *reg = rec_registry();
    dp_unit *unit = NULL;

    for (int i = 0; i <= MOST; i++)
        items[i] = (dp_item)REC_IMPL("f", rec_kernel);
    refused(dp_registry_attach(reg, "many", "1.0", &block, 1, &unit, &err), "kernels");
    block.n_items = MOST;
    unit = rec_attach(reg, "many", &block, 1);
    rec_detach(reg, unit);
    dp_registry_free(reg);
    free(items);
}
END_TEST

/* A kernel that calls t::f more often than a trace has room for. */
static int calls_many(dp_call *call)
{
    const dp_op *f = dp_op_find(call->ctx, "t::f");

    for (int i = 0; i < DP_LIMIT_TRACE; i++) {
        dp_value out;
        int rc = dp_call_boxed(call->ctx, f, call->args, 1, &out, 1);
        if (rc < 0)
            return rc;
        dp_tensor_unref(out.u.t);
    }
    call->rets[0] = dp_tensor_value(dp_tensor_ref(call->args[0].u.t));
    return 0;
}

START_TEST(limits_a_trace_is_cut)
{
    static const dp_item defs[] = {REC_DEF("f(Tensor a) -> Tensor"),
                                   REC_DEF("g(Tensor a) -> Tensor")};
    static const dp_item impls[] = {REC_IMPL("f", rec_kernel), REC_IMPL("g", calls_many)};
    dp_block blocks[] = {REC_BLOCK(DP_BLOCK_LIBRARY, 1, "t", NULL, defs),
                         REC_BLOCK(DP_BLOCK_IMPL, 2, "t", "CPU", impls)};
    dp_registry *reg = rec_registry();
    dp_unit *unit = rec_attach(reg, "t", blocks, 2);
    dp_ctx *ctx = NULL;
    dp_tensor *t = NULL;
    int64_t sizes[] = {1};
    dp_value arg, out;
    size_t n;
    bool cut;

    ck_assert_int_eq(dp_ctx_new(reg, &ctx, &err), 0);
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, sizes, NULL, &t, &err), 0);
    arg = dp_tensor_value(t);
    ck_assert_int_eq(dp_ctx_trace(ctx, true), 0);
    ck_assert_int_eq(dp_call_boxed(ctx, dp_op_find(ctx, "t::g"), &arg, 1, &out, 1), 0);
    dp_tensor_unref(out.u.t);
    dp_ctx_trace_get(ctx, &n, &cut);
    ck_assert_uint_eq(n, DP_LIMIT_TRACE);
    ck_assert(cut);
    dp_tensor_unref(t);
    dp_ctx_free(ctx);
    rec_detach(reg, unit);
    dp_registry_free(reg);
}
END_TEST

static pthread_barrier_t all_in;

static void *enter(void *arg)
{
    dp_error *e = arg;

    dpi_thread_enter(e);
    pthread_barrier_wait(&all_in);
    return NULL;
}

START_TEST(limits_threads_that_call_at_once)
{
    enum { N = DP_LIMIT_THREADS + 1 };
    static dp_error errors[N];
    static pthread_t threads[N];
    pthread_attr_t small;
    int failed = 0;

    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 << 10);
    pthread_barrier_init(&all_in, NULL, N);
    for (int i = 0; i < N; i++)
        ck_assert_int_eq(pthread_create(&threads[i], &small, enter, &errors[i]), 0);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < N; i++)
        if (errors[i].code != 0) {
            failed++;
            err = errors[i];
            refused(err.code, "1024");
        }
    ck_assert_int_ge(failed, 1);
    ck_assert_int_le(failed, 4); /* records that other threads of the process have */
    pthread_barrier_destroy(&all_in);
    pthread_attr_destroy(&small);
    pthread_barrier_init(&all_in, NULL, 1);
    dp_error_clear(&err);
    ck_assert_int_eq(pthread_create(&threads[0], NULL, enter, &err), 0);
    pthread_join(threads[0], NULL);
    ck_assert_int_eq(err.code, 0);
    pthread_barrier_destroy(&all_in);
}
END_TEST

START_TEST(limits_tensors_of_a_session)
{
    sessions all;
    dp_tensor *t = NULL;
    int64_t sizes[] = {1};

    sessions_init(&all, limit_defaults);
    struct session *s = session_new(&all, &err);
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, sizes, NULL, &t, &err), 0);
    for (int i = 0; i < LIMIT_SESSION_TENSORS; i++)
        if (session_put(s, t, &err) == 0)
            ck_abort_msg("put %d: %s", i, err.message);
    ck_assert_uint_eq(session_put(s, t, &err), 0);
    refused(err.code, "session_tensors");
    ck_assert(session_release(s, 1));
    ck_assert_uint_ne(session_put(s, t, &err), 0);
    dp_tensor_unref(t);
    session_leave(s);
    sessions_fini(&all);
}
END_TEST

/* Each holder of a session stops at two limits that server.hello reports. */
START_TEST(limits_of_a_sessions_account)
{
    static const struct {
        int count, bytes;
    } at[DP_HOLDERS] = {
        [DP_HOLDER_TENSORS] = {LIMIT_AT_SESSION_TENSORS, LIMIT_AT_SESSION_TENSOR_BYTES},
        [DP_HOLDER_INTERMEDIATES] = {LIMIT_AT_SESSION_INTERMEDIATES,
                                     LIMIT_AT_SESSION_INTERMEDIATE_BYTES},
        [DP_HOLDER_PROGRAMS] = {LIMIT_AT_SESSION_PROGRAMS, LIMIT_AT_SESSION_PROGRAM_BYTES},
        [DP_HOLDER_PROGRAM_CACHE] = {LIMIT_AT_PROGRAM_CACHE, LIMIT_AT_PROGRAM_CACHE_BYTES},
        [DP_HOLDER_GENERATORS] = {LIMIT_AT_SESSION_GENERATORS, LIMIT_AT_SESSION_GENERATOR_BYTES},
    };
    int64_t limits[LIMITS];
    sessions all;

    memcpy(limits, limit_defaults, sizeof(limits));
    limits[LIMIT_AT_SESSION_TENSOR_BYTES] = 5; /* as --session-bytes has it */
    sessions_init(&all, limits);
    struct session *s = session_new(&all, &err);
    dp_account *a = session_account(s);
    for (int h = 0; h < DP_HOLDERS; h++) {
        uint64_t count = (uint64_t)limits[at[h].count], bytes = (uint64_t)limits[at[h].bytes];
        ck_assert_int_eq(dp_account_charge(a, h, count, bytes, &err), 0);
        refused(dp_account_charge(a, h, 1, 0, &err), limit_names[at[h].count]);
        refused(dp_account_charge(a, h, 0, 1, &err), limit_names[at[h].bytes]);
        refused(err.code, dp_holder_name(h));
        dp_account_refund(a, h, count, bytes);
    }
    session_leave(s);
    sessions_fini(&all);
}
END_TEST

/* What was used least lately goes first, by number and by bytes. */
START_TEST(limits_programs_kept_from_inline_runs)
{
    enum { MOST = LIMIT_PROGRAM_CACHE };
    dp_registry *reg = rec_registry();
    dp_builder *b;
    dp_program *p, *found;
    dp_held held[DP_HOLDERS];
    static char large[LIMIT_PROGRAM_CACHE_BYTES / 2];
    sessions all;
    dp_ctx *ctx;

    ck_assert_int_eq(dp_ctx_new(reg, &ctx, &err), 0);
    ck_assert_int_eq(dp_builder_new(ctx, &b), 0);
    ck_assert_int_eq(dp_builder_finish(b, &p), 0);
    dp_builder_free(b);
    sessions_init(&all, limit_defaults);
    struct session *s = session_new(&all, &err);
    programs *ps = session_programs(s);
    for (int i = 0; i <= MOST; i++) /* one too many: that of 0 goes */
        programs_remember(ps, (const char *)&i, sizeof(i), p);
    for (int i = 0; i <= MOST; i++) {
        found = programs_recall(ps, (const char *)&i, sizeof(i));
        ck_assert_msg((found != NULL) == (i > 0), "%d", i);
        dp_program_unref(found);
    }
    dp_account_held(session_account(s), held);
    ck_assert_uint_eq(held[DP_HOLDER_PROGRAM_CACHE].count, MOST);
    for (int i = 0; i < 3; i++) { /* two of these do not fit together */
        large[0] = (char)i;
        programs_remember(ps, large, sizeof(large), p);
    }
    dp_account_held(session_account(s), held);
    ck_assert_uint_le(held[DP_HOLDER_PROGRAM_CACHE].bytes, LIMIT_PROGRAM_CACHE_BYTES);
    ck_assert_uint_eq(held[DP_HOLDER_PROGRAM_CACHE].count, 1);
    found = programs_recall(ps, large, sizeof(large));
    ck_assert_ptr_eq(found, p);
    dp_program_unref(found);
    dp_program_unref(p);
    session_leave(s);
    sessions_fini(&all);
    dp_ctx_free(ctx);
    dp_registry_free(reg);
}
END_TEST

START_TEST(limits_text_of_an_answer)
{
    jw w;

    jw_init(&w);
    jw_array(&w);
    jw_raw(&w, "", (size_t)LIMIT_ANSWER_BYTES + 1); /* refused before it is read */
    ck_assert(w.failed);
    jw_fini(&w);
}
END_TEST

START_TEST(limits_values_of_a_line)
{
    size_t n = 2 * (size_t)LIMIT_JSON_NODES + 2; /* [0,0,...]: the list is a value, too */
    char *line = malloc(n);
    cJSON *root = NULL;

    for (size_t i = 0; i < n; i += 2)
        memcpy(line + i, ",0", 2);
    line[0] = '[';
    line[n - 1] = ']';
    ck_assert_int_eq(json_parse(line, n, &root, &err), DP_EVALUE);
    ck_assert_str_eq(err.message, "more than 1048576 values");
    free(line);
}
END_TEST

UNIT_SUITE(limits)
{
    tcase_add_test(tc, limits_operator_names);
    tcase_add_test(tc, limits_kernels_of_one_operator_and_key);
    tcase_add_test(tc, limits_a_trace_is_cut);
    tcase_add_test(tc, limits_threads_that_call_at_once);
    tcase_add_test(tc, limits_tensors_of_a_session);
    tcase_add_test(tc, limits_of_a_sessions_account);
    tcase_add_test(tc, limits_programs_kept_from_inline_runs);
    tcase_add_test(tc, limits_text_of_an_answer);
    tcase_add_test(tc, limits_values_of_a_line);
}
