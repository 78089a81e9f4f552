/* test_backend.c -- the table of backends. */
#include "base/backend.h"
#include "unit.h"
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

START_TEST(backend_forty_at_once_and_gone)
{
    int bits[DP_B_NAMED_MAX], bit = -1;
    dp_error err = DP_ERROR_INIT;
    dp_arena *a = dp_arena_new();
    const dp_backend_info *list;
    char name[32], key[DP_KEY_NAME_MAX];

    for (int i = 0; i < DP_B_NAMED_MAX; i++) {
        snprintf(name, sizeof(name), "dev%d", i);
        ck_assert_int_eq(dpi_backend_register(name, "tests", NULL, &bits[i], &err), DP_OK);
        ck_assert_int_eq(bits[i], DP_B_NAMED_FIRST + i);
        ck_assert_int_eq(dpi_backend_find(name), bits[i]);
        ck_assert_str_eq(dpi_backend_name(bits[i]), name);
        snprintf(name, sizeof(name), "Autograddev%d", i);
        ck_assert_str_eq(dp_key_name(DP_KEY_OF(DP_F_AutogradFunctionality, bits[i]), key), name);
    }
    ck_assert_uint_eq(dpi_backend_named_top(), DP_B_NAMED_MAX);
    ck_assert_uint_eq(dp_backend_list(a, &list), 16 + DP_B_NAMED_MAX);
    ck_assert_str_eq(list[0].name, "CPU");
    ck_assert_str_eq(list[15].owner, "tests");
    ck_assert_str_eq(list[15 + DP_B_NAMED_MAX].name, "Meta");
    ck_assert_int_eq(dpi_backend_register("more", "tests", NULL, &bit, &err), DP_ERESOURCE);
    ck_assert_int_eq(bit, -1);
    for (int i = 0; i < DP_B_NAMED_MAX; i++)
        dpi_backend_unregister(bits[i]);
    ck_assert_uint_eq(dpi_backend_named_top(), 0);
    ck_assert_uint_eq(dp_backend_list(a, &list), 16);
    ck_assert_ptr_null(dpi_backend_name(bits[3]));
    ck_assert_uint_eq(dp_key_parse("dev3"), DP_KEY_Undefined);
    dp_arena_free(a);
}
END_TEST

/* CUDA has no device until a plugin brings it, and none again afterwards; CPU and Meta have the
 * host's. */
START_TEST(backend_builtin_is_brought_and_gone)
{
    dp_error err = DP_ERROR_INIT;
    dp_arena *a = dp_arena_new();
    const dp_backend_info *list;
    dpi_device *d;
    int bit = -1, other = -1;

    for (int round = 0; round < 2; round++) {
        ck_assert_int_eq(dpi_device_enter(DP_B_CUDA, &d, &err), DP_ERUNTIME);
        ck_assert_str_eq(err.message, "backend CUDA has no device in this process");
        ck_assert_int_eq(dpi_backend_register("cuda", "a", NULL, &bit, &err), DP_OK);
        ck_assert_int_eq(bit, DP_B_CUDA);
        ck_assert_int_eq(dpi_backend_register("cuda", "b", NULL, &other, &err), DP_EEXISTS);
        ck_assert_str_eq(err.message, "backend 'cuda' is registered by plugin 'a'");
        ck_assert_int_eq(other, -1);
        ck_assert_int_eq(dpi_device_enter(DP_B_CUDA, &d, &err), DP_OK);
        ck_assert_str_eq(d->name, "cuda");
        dpi_backend_ref(DP_B_CUDA);
        ck_assert_uint_eq(dpi_backend_storages(DP_B_CUDA), 1);
        dpi_backend_unref(DP_B_CUDA);
        dpi_device_leave(d);
        ck_assert_uint_eq(dp_backend_list(a, &list), 16);
        ck_assert_str_eq(list[DP_B_CUDA].owner, "a");
        ck_assert(!list[DP_B_CUDA].named);
        ck_assert_uint_eq(dpi_backend_named_top(), 0);
        dpi_backend_unregister(bit);
        ck_assert_uint_eq(dp_backend_list(a, &list), 16);
        ck_assert_str_eq(list[DP_B_CUDA].owner, "");
        ck_assert_str_eq(dpi_backend_name(DP_B_CUDA), "CUDA");
    }
    ck_assert_int_eq(dpi_backend_register("meta", "a", NULL, &bit, &err), DP_EEXISTS);
    ck_assert_int_eq(dpi_backend_register("CUDA", "a", NULL, &bit, &err), DP_EVALUE);
    dp_arena_free(a);
}
END_TEST

START_TEST(backend_bit_waits_for_its_storages)
{
    dp_error err = DP_ERROR_INIT;
    dpi_device *d;
    int npu, other, again;

    ck_assert_int_eq(dpi_backend_register("npu", "a", NULL, &npu, &err), DP_OK);
    ck_assert_int_eq(dpi_backend_register("npu", "b", NULL, &other, &err), DP_EEXISTS);
    ck_assert_str_eq(err.message, "backend 'npu' is registered by plugin 'a'");
    ck_assert_int_eq(dpi_device_enter(npu, &d, &err), DP_OK);
    ck_assert(d->host);
    dpi_backend_ref(npu);
    dpi_device_leave(d);
    dpi_backend_unregister(npu);
    ck_assert_str_eq(dpi_backend_name(npu), "npu");
    ck_assert_int_eq(dpi_backend_find("npu"), -1);
    ck_assert_int_eq(dpi_device_enter(npu, &d, &err), DP_ERUNTIME);
    ck_assert_str_eq(err.message, "backend npu was unloaded");
    ck_assert_int_eq(dpi_backend_register("tpu", "a", NULL, &other, &err), DP_OK);
    ck_assert_int_ne(other, npu);
    ck_assert_int_eq(dpi_backend_register("npu", "a", NULL, &again, &err), DP_OK);
    ck_assert_int_eq(again, npu);
    dpi_backend_unref(npu);
    dpi_backend_unregister(npu);
    dpi_backend_unregister(other);
    ck_assert_ptr_null(dpi_backend_name(npu));
}
END_TEST

START_TEST(backend_bit_waits_for_its_pins)
{
    dp_error err = DP_ERROR_INIT;
    int npu, other;

    ck_assert_int_eq(dpi_backend_register("npu", "a", NULL, &npu, &err), DP_OK);
    ck_assert_uint_eq(dp_backends_pin(DP_BBIT(npu) | DP_BBIT(npu + 1) | 1), DP_BBIT(npu));
    dpi_backend_unregister(npu);
    ck_assert_uint_eq(dpi_backend_storages(npu), 0);
    ck_assert_str_eq(dpi_backend_name(npu), "npu");
    ck_assert_int_eq(dpi_backend_register("tpu", "a", NULL, &other, &err), DP_OK);
    ck_assert_int_ne(other, npu);
    dpi_backend_unregister(other);
    dp_backends_unpin(DP_BBIT(npu));
    ck_assert_ptr_null(dpi_backend_name(npu));
}
END_TEST

static int device_allocate(int index, size_t bytes, void *stream, void **out, dp_error *err)
{
    (void)index, (void)stream;
    (void)err;
    *out = malloc(bytes);
    return 0;
}
static void device_release(int index, void *p, size_t bytes, void *stream)
{
    (void)index, (void)stream;
    (void)bytes;
    free(p);
}
static int device_copy(int index, void *dst, const void *src, size_t bytes, int direction,
                       dp_error *err)
{
    (void)index;
    (void)direction;
    (void)err;
    memcpy(dst, src, bytes);
    return 0;
}
static const dp_device_ops device = {.size = sizeof(device),
                                     .allocate = device_allocate,
                                     .release = device_release,
                                     .copy = device_copy};

static void *enter_and_leave(void *arg)
{
    int bit = *(int *)arg;
    dpi_device *d;
    void *p = NULL;

    for (int i = 0; i < 2000; i++)
        if (dpi_device_enter(bit, &d, NULL) == DP_OK) {
            ck_assert_int_eq(d->ops.allocate(0, 16, NULL, &p, NULL), 0);
            d->ops.release(0, p, 16, NULL);
            dpi_device_leave(d);
        }
    return NULL;
}

START_TEST(backend_is_replaced_between_uses)
{
    pthread_t threads[2];
    dpi_device *on, *next;
    int bit;

    ck_assert_int_eq(dpi_device_new("npu", &device, &on, NULL), DP_OK);
    ck_assert_int_eq(dpi_backend_install("npu", "t", on, &bit, NULL), DP_OK);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, enter_and_leave, &bit);
    for (int i = 0; i < 100; i++, on = next) {
        ck_assert_int_eq(dpi_device_new("npu", &device, &next, NULL), DP_OK);
        dpi_device_close(on);
        dpi_backend_replace(on, "t", next);
        dpi_device_close(on);
        dpi_device_finish(on);
        dpi_device_unref(on);
    }
    dpi_device_unref(on);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    dpi_backend_unregister(bit);
}
END_TEST

UNIT_SUITE(backend)
{
    tcase_add_test(tc, backend_forty_at_once_and_gone);
    tcase_add_test(tc, backend_builtin_is_brought_and_gone);
    tcase_add_test(tc, backend_bit_waits_for_its_storages);
    tcase_add_test(tc, backend_bit_waits_for_its_pins);
    tcase_add_test(tc, backend_is_replaced_between_uses);
}
