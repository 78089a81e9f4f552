/* test_store.c -- store.save and store.load at every allocation that fails: a file is old or new,
 * and no handle, charge or temporary file is left. */
#define _GNU_SOURCE
#include "store/store.h"
#include "values.h"
#include <dirent.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static char folder[64];
static store files;
static int notices;

static struct store *store_get(struct connection *c)
{
    (void)c;
    return &files;
}

static void notify(struct connection *c, jw *line)
{
    (void)c;
    notices += !line->failed && strstr(line->s, "\"store.progress\"") != NULL;
    jw_fini(line);
}

static const daemon_calls calls = {.store = store_get, .notify = notify};

static void setup(void)
{
    values_begin();
    snprintf(folder, sizeof(folder), "/tmp/dispatchd-store-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(store_open(&files, folder, &err), 0);
    dp_ctx_set_account(rq.ctx, session_account(rq.session));
    rq.daemon = &calls;
    rq.root = (cJSON *)(uintptr_t)json("{\"id\":\"x\"}");
    notices = 0;
}

static void teardown(void)
{
    char command[128];

    store_close(&files);
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
    values_end();
}

/* Number of files in the directory. */
static int entries(void)
{
    DIR *d = opendir(folder);
    int n = 0;

    for (const struct dirent *e; (e = readdir(d)) != NULL;)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(d);
    return n;
}

static int64_t handles(void)
{
    uint64_t *list = NULL;
    int64_t n = session_handles(rq.session, false, &list, &err);

    dp_free(list);
    return n;
}

/* Begin the next request. */
static void again(void)
{
    request_drop(&rq);
    dp_ctx_reset(rq.ctx);
    dp_error_clear(&err);
    jw_fini(&rq.out);
    jw_init(&rq.out);
    ck_assert_int_eq(run_begin(&rq, &err), 0);
}

/* A transposed matrix of 3 MiB, which takes several pieces. */
static uint64_t make(void)
{
    int64_t sizes[] = {512, 1536}, turned[] = {1536, 512}, strides[] = {1, 1536};
    dp_tensor *t = NULL, *view = NULL;

    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 2, sizes, NULL, &t, &err), 0);
    DP_VIEW(v, t);
    for (int i = 0; i < 512 * 1536; i++)
        ((float *)v.data)[i] = (float)i;
    ck_assert_int_eq(dp_as_strided(rq.ctx, t, 2, turned, strides, 0, &view), 0);
    uint64_t id = session_put(rq.session, view, &err);
    dp_tensor_unref(t);
    dp_tensor_unref(view);
    return id;
}

/* `_i`: 0: by path, 1: by a descriptor. */
START_TEST(saving_and_loading_at_the_nth_allocation_that_fails)
{
    char list[64];
    snprintf(list, sizeof(list), "{\"w\":%llu}", (unsigned long long)make());
    cJSON *tensors = cJSON_Parse(list);
    store_save_params save = {.tensors = tensors, .progress = true};
    store_load_params load = {.progress = true};
    descriptors came = {.n = 1, .fds = {memfd_create("f", 0)}};

    save.path = load.path = _i == 0 ? "f" : NULL;
    save.has_fd = load.has_fd = _i == 1;
    rq.received = _i == 1 ? &came : NULL;

    for (int done = 0, n = 1; done < 2; n++) {
        again();
        dp_fault_arm((uint64_t)n);
        int rc = done == 0 ? store_save(&rq, &save, &rq.out, &err)
                           : store_load(&rq, &load, &rq.out, &err);
        bool hit = dp_fault_hit();
        dp_fault_arm(0);
        ck_assert_msg(rc == 0 || rc == DP_ERESOURCE, "%d: %s", rc, err.message);
        ck_assert_msg(hit || rc == 0, "%s", err.message);
        if (hit) /* a message about progress may be lost: then the method does not fail */
            run_undo(&rq);
        else
            done++, n = 0;
        ck_assert_int_le(entries(), 1 - _i);
        ck_assert_int_eq(handles(), 1 + (done == 2));
        ck_assert_int_lt(n, 200);
    }
    ck_assert_int_eq(entries(), 1 - _i);
    ck_assert_int_gt(notices, 0);
    dp_tensor *t = session_tensor_get(rq.session, rq.run->fresh[0]);
    DP_VIEW(v, t);
    ck_assert_float_eq(((const float *)v.data)[1], 1536);
    ck_assert_float_eq(((const float *)v.data)[512 * 1536 - 1], 512 * 1536 - 1);
    dp_tensor_unref(t);
    cJSON_Delete(tensors);
    rq.received = NULL;
    close(came.fds[0]);
}
END_TEST

UNIT_SUITE(methods_store)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_tags(tc, "not_valgrind"); /* which lacks openat2() */
    tcase_add_loop_test(tc, saving_and_loading_at_the_nth_allocation_that_fails, 0, 2);
}
