/* test_base.c -- errors, memory and its faults, arenas, text, dtypes, backends, the pool. */
#include "base/backend.h"
#include "unit.h"
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

/* -- errors -- */

START_TEST(error_every_code_has_a_name_and_a_text)
{
#define CHECK(code, number, wire, text)                                                            \
    ck_assert_int_eq(code, number);                                                                \
    ck_assert_str_eq(dp_error_name(code), wire);                                                   \
    ck_assert_str_eq(dp_error_text(code), text);                                                   \
    ck_assert_str_ne(dp_error_text(code), "");
    DP_ERROR_MAP(CHECK)
#undef CHECK
    ck_assert_ptr_null(dp_error_name(1));
    ck_assert_ptr_null(dp_error_text(-1000));
}
END_TEST

START_TEST(error_may_be_wrapped_into_itself)
{
    dp_error err = DP_ERROR_INIT;

    ck_assert_int_eq(dp_error_set(&err, DP_EVALUE, "inner %d", 7), DP_EVALUE);
    snprintf(err.op, sizeof(err.op), "aten::add");
    ck_assert_int_eq(dp_error_set(&err, DP_EBUSY, "outer: %s", err.message), DP_EBUSY);
    ck_assert_str_eq(err.message, "outer: inner 7");
    ck_assert_str_eq(err.op, "");
    ck_assert_int_eq(dp_error_set(NULL, DP_EBUSY, "nobody listens"), DP_EBUSY);
}
END_TEST

START_TEST(error_message_is_cut_between_characters)
{
    dp_error err = DP_ERROR_INIT;
    char text[2 * DP_ERROR_MESSAGE_MAX];

    for (size_t i = 0; i + 1 < sizeof(text); i++)
        text[i] = "\xe2\x82\xac"[i % 3]; /* a euro is 3 bytes, 2047 is not a multiple of 3 */
    text[sizeof(text) - 1] = '\0';
    dp_error_set(&err, DP_EVALUE, "%s", text);
    ck_assert_uint_eq(strlen(err.message), (DP_ERROR_MESSAGE_MAX - 1) / 3 * 3);
}
END_TEST

/* -- memory -- */

START_TEST(memory_fails_the_nth_time_once)
{
    void *p[4];

    dp_fault_arm(3);
    for (int i = 0; i < 4; i++)
        p[i] = dp_malloc(0);
    ck_assert_ptr_nonnull(p[0]);
    ck_assert_ptr_nonnull(p[1]);
    ck_assert_ptr_null(p[2]);
    ck_assert_ptr_nonnull(p[3]);
    ck_assert(dp_fault_hit());
    for (int i = 0; i < 4; i++)
        dp_free(p[i]);
    dp_fault_arm(1);
    dp_fault_arm(0);
    char *s = dp_strdup("kept");
    ck_assert_str_eq(s, "kept");
    ck_assert(!dp_fault_hit());
    dp_free(s);
}
END_TEST

START_TEST(arena_blocks_are_aligned_and_apart)
{
    dp_arena *a = dp_arena_new();
    unsigned char *p[300];

    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < DPI_COUNT(p); i++) {
            p[i] = dp_arena_alloc(a, i * 7);
            ck_assert_ptr_nonnull(p[i]);
            ck_assert_uint_eq((uintptr_t)p[i] % 16, 0);
            memset(p[i], (int)i, i * 7);
        }
        void *huge = dp_arena_alloc(a, 1 << 20);
        ck_assert_ptr_nonnull(huge);
        memset(huge, 0xff, 1 << 20);
        for (size_t i = 0; i < DPI_COUNT(p); i++)
            for (size_t j = 0; j < i * 7; j++)
                unit_each(p[i][j] == (i & 0xff), "block %zu byte %zu is %d", i, j, p[i][j]);
        dp_arena_reset(a);
    }
    ck_assert_str_eq(dp_arena_printf(a, "%d of %s", 3, "many"), "3 of many");
    ck_assert_str_eq(dp_arena_dup(a, "ab", 3), "ab");
    ck_assert_ptr_null(dp_arena_alloc(a, SIZE_MAX));
    ck_assert_ptr_null(dp_arena_alloc(a, SIZE_MAX / 2));
    ck_assert_ptr_null(dp_arena_free(a));
    ck_assert_ptr_null(dp_arena_free(NULL));
}
END_TEST

START_TEST(arena_survives_any_failed_allocation)
{
    for (uint64_t n = 1;; n++) {
        dp_fault_arm(n);
        dp_arena *a = dp_arena_new();
        for (int i = 0; a && i < 100; i++) {
            char *p = dp_arena_alloc(a, 1000);
            if (p)
                memset(p, 1, 1000);
        }
        dp_arena_free(a);
        if (!dp_fault_hit())
            break;
    }
    dp_fault_arm(0);
}
END_TEST

START_TEST(text_grows_and_stays_failed)
{
    dpi_text t = {0};

    for (int i = 0; i < 100; i++)
        dpi_text_printf(&t, "%d,", i);
    dpi_text_addn(&t, "xyz", 2);
    ck_assert_uint_eq(t.len, 10 * 2 + 90 * 3 + 2);
    ck_assert_str_eq(t.s + t.len - 5, "99,xy");
    dp_fault_arm(1);
    for (int i = 0; i < 100; i++)
        dpi_text_add(&t, "more than there was room for");
    dp_fault_arm(0);
    ck_assert(t.failed);
    dpi_text_fini(&t);
    ck_assert_ptr_null(t.s);
}
END_TEST

START_TEST(nearest_names_come_first)
{
    static const char *const names[] = {"aten::mul.Tensor", "aten::add.Tensor", "aten::addmm",
                                        "aten::add_.Tensor", "prim::x"};
    char buf[64], small[8];

    dpi_nearest("aten::ad.Tensor", names, DPI_COUNT(names), 2, buf, sizeof(buf));
    ck_assert_str_eq(buf, "'aten::add.Tensor', 'aten::add_.Tensor'");
    dpi_nearest("anything", names, DPI_COUNT(names), 9, small, sizeof(small));
    ck_assert_uint_lt(strlen(small), sizeof(small));
    dpi_nearest("anything", names, 0, 3, buf, sizeof(buf));
    ck_assert_str_eq(buf, "");
}
END_TEST

/* -- dtypes -- */

START_TEST(dtype_names_and_sizes)
{
#define CHECK(id, number, name, bytes)                                                             \
    ck_assert_int_eq(dp_dtype_parse(name), number);                                                \
    ck_assert_str_eq(dp_dtype_name(id), name);                                                     \
    ck_assert_uint_eq(dp_dtype_size(id), bytes);
    DP_DTYPE_MAP(CHECK)
#undef CHECK
    ck_assert_int_eq(dp_dtype_parse("float"), DP_DTYPE_NONE);
    ck_assert_uint_eq(dp_dtype_size(8), 0);
    ck_assert_uint_eq(dp_dtype_size(DP_DTYPE_NONE), 0);
    ck_assert_str_eq(dp_dtype_name(99), "?");
}
END_TEST

/* What PyTorch 1.13.1 gives on x86-64, out of range too. */
START_TEST(convert_floats_to_integers)
{
    static const float in[] = {300.0f, -1.5f, 1e20f, NAN,    INFINITY, -300.0f,
                               40000,  3e9f,  -3e9f, 129.0f, 255.5f};
    static const uint8_t u8[] = {44, 255, 0, 0, 0, 212, 64, 0, 0, 129, 255};
    static const int8_t i8[] = {44, -1, 0, 0, 0, -44, 64, 0, 0, -127, -1};
    static const int16_t i16[] = {300, -1, 0, 0, 0, -300, -25536, 0, 0, 129, 255};
    static const int32_t i32[] = {300,   -1,        INT32_MIN, INT32_MIN, INT32_MIN, -300,
                                  40000, INT32_MIN, INT32_MIN, 129,       255};
    static const int64_t i64[] = {300,   -1,         INT64_MIN,   INT64_MIN, INT64_MIN, -300,
                                  40000, 3000000000, -3000000000, 129,       255};
    static const uint8_t b[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    static const struct {
        dp_dtype to;
        const void *want;
    } cases[] = {{DP_UINT8, u8},  {DP_INT8, i8},   {DP_INT16, i16},
                 {DP_INT32, i32}, {DP_INT64, i64}, {DP_BOOL, b}};
    int64_t out[DPI_COUNT(in)];

    for (size_t c = 0; c < DPI_COUNT(cases); c++) {
        dp_convert(cases[c].to, out, DP_FLOAT32, in, DPI_COUNT(in));
        ck_assert_mem_eq(out, cases[c].want, DPI_COUNT(in) * dp_dtype_size(cases[c].to));
    }
}
END_TEST

START_TEST(convert_rounds_halves_to_even)
{
    static const float in[] = {1.0f,       65504.0f,  65519.9f,    65520.0f, 0x1p-24f,
                               0x1.8p-25f, 0x1p-25f,  -0.0f,       NAN,      0x1.002p0f,
                               0x1.006p0f, -INFINITY, 0x1.ffcp-15f};
    static const uint16_t want[] = {0x3c00, 0x7bff, 0x7bff, 0x7c00, 1,      1,         0,
                                    0x8000, 0x7e00, 0x3c00, 0x3c02, 0xfc00, 0x03ff + 1};
    static const uint16_t bwant[] = {0x3f80, 0x4780, 0x4780, 0x4780, 0x3380, 0x3340, 0x3300,
                                     0x8000, 0x7fc0, 0x3f80, 0x3f80, 0xff80, 0x3880};
    uint16_t out[DPI_COUNT(in)];

    dp_convert(DP_FLOAT16, out, DP_FLOAT32, in, DPI_COUNT(in));
    for (size_t i = 0; i + 1 < DPI_COUNT(in); i++)
        ck_assert_uint_eq(out[i], want[i]);
    dp_convert(DP_BFLOAT16, out, DP_FLOAT32, in, DPI_COUNT(in));
    for (size_t i = 0; i < DPI_COUNT(in); i++)
        ck_assert_uint_eq(out[i], bwant[i]);
}
END_TEST

/* Every float16 and bfloat16 survives the way through float32. */
START_TEST(convert_halves_there_and_back)
{
    static const dp_dtype halves[] = {DP_FLOAT16, DP_BFLOAT16};

    for (int k = 0; k < 2; k++)
        for (uint32_t u = 0; u <= 0xffff; u++) {
            uint16_t h = (uint16_t)u, back;
            float f;
            dp_convert(DP_FLOAT32, &f, halves[k], &h, 1);
            dp_convert(halves[k], &back, DP_FLOAT32, &f, 1);
            if (isnan(f))
                unit_each((back & 0x7fff) == (k ? 0x7fc0 : 0x7e00), "nan %04x came back as %04x", h,
                          back);
            else
                unit_each(back == h, "%04x came back as %04x", h, back);
        }
}
END_TEST

START_TEST(convert_every_dtype_to_every_other)
{
    static const uint8_t ones[] = {1, 0, 1};
    unsigned char a[64], b[64];
    uint8_t back[3];

    for (dp_dtype from = 0; from < DP_DTYPE_END; from++)
        for (dp_dtype to = 0; to < DP_DTYPE_END; to++) {
            if (!dp_dtype_size(from) || !dp_dtype_size(to))
                continue;
            dp_convert(from, a, DP_UINT8, ones, 3);
            dp_convert(to, b, from, a, 3);
            dp_convert(DP_UINT8, back, to, b, 3);
            ck_assert_mem_eq(back, ones, 3);
        }
    static const double c[] = {2.5, -1, 0, 1};
    float re[2], c64[4];
    uint8_t truth[2];
    int64_t big = INT64_MAX, same;
    dp_convert(DP_FLOAT32, re, DP_COMPLEX128, c, 2);
    ck_assert_float_eq(re[0], 2.5f);
    ck_assert_float_eq(re[1], 0.0f);
    dp_convert(DP_COMPLEX64, c64, DP_COMPLEX128, c, 2);
    ck_assert_float_eq(c64[1], -1.0f);
    dp_convert(DP_BOOL, truth, DP_COMPLEX128, c, 2);
    ck_assert_uint_eq(truth[1], 1);
    dp_convert(DP_INT64, &same, DP_INT64, &big, 1);
    ck_assert_int_eq(same, big);
}
END_TEST

/* -- backends -- */

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
    dpi_backend_hold(npu);
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
    dpi_backend_drop(npu);
    dpi_backend_unregister(npu);
    dpi_backend_unregister(other);
    ck_assert_ptr_null(dpi_backend_name(npu));
}
END_TEST

static int group_allocate(int index, size_t bytes, void **out, dp_error *e)
{
    (void)index, (void)bytes, (void)out;
    return dp_error_set(e, DP_ERESOURCE, "none");
}
static void group_release(int index, void *p, size_t bytes)
{
    (void)index, (void)p, (void)bytes;
}
static int group_copy(int index, void *dst, const void *src, size_t bytes, int direction,
                      dp_error *e)
{
    (void)index, (void)dst, (void)src, (void)bytes, (void)direction, (void)e;
    return 0;
}
static int group_pin(void *p, size_t bytes, dp_error *e)
{
    (void)p, (void)bytes, (void)e;
    return 0;
}
static const dp_device_ops half_a_group = {.size = sizeof(half_a_group),
                                           .allocate = group_allocate,
                                           .release = group_release,
                                           .copy = group_copy,
                                           .pin = group_pin};

START_TEST(backend_names_are_checked)
{
    static const char *const bad[] = {"",
                                      "CPU",
                                      "9p",
                                      "n-p",
                                      "nPu",
                                      "a b",
                                      "a23456789012345678901234567890123456789012345678901234"};
    static const char *const taken[] = {"cpu", "meta", "cuda", "privateuseone"};
    dp_error err = DP_ERROR_INIT;
    int bit = -1;

    for (size_t i = 0; i < DPI_COUNT(bad); i++)
        ck_assert_int_eq(dpi_backend_register(bad[i], "t", NULL, &bit, &err), DP_EVALUE);
    for (size_t i = 0; i < DPI_COUNT(taken); i++)
        ck_assert_int_eq(dpi_backend_register(taken[i], "t", NULL, &bit, &err), DP_EEXISTS);
    dp_device_ops empty = {.size = sizeof(empty)};
    ck_assert_int_eq(dpi_backend_register("npu", "t", &empty, &bit, &err), DP_EPLUGIN);
    empty = half_a_group;
    ck_assert_int_eq(dpi_backend_register("npu", "t", &empty, &bit, &err), DP_EPLUGIN);
    ck_assert_str_eq(err.message, "device record of backend 'npu' has no 'unpin'");
    ck_assert_int_eq(bit, -1);
}
END_TEST

START_TEST(device_names)
{
    dp_error err = DP_ERROR_INIT;
    char name[DP_KEY_NAME_MAX];
    dp_device d = -1;
    dpi_device *on;
    int bit;

    ck_assert_int_eq(dp_device_parse("cpu", &d, &err), DP_OK);
    ck_assert_int_eq(d, DP_DEVICE_CPU);
    ck_assert_str_eq(dp_device_name(d, name), "cpu");
    ck_assert_int_eq(dp_device_parse("meta", &d, &err), DP_OK);
    ck_assert_str_eq(dp_device_name(d, name), "meta");
    ck_assert_int_eq(dpi_device_enter(dp_device_backend(d), &on, &err), DP_OK);
    ck_assert(!on->host);
    ck_assert(on->ops.allocate == NULL);
    ck_assert_int_eq(dp_device_parse("npu", &d, &err), DP_ERUNTIME);
    ck_assert_ptr_nonnull(strstr(err.message, "'npu'"));
    ck_assert_int_eq(dpi_backend_register("npu", "t", NULL, &bit, &err), DP_OK);
    ck_assert_int_eq(dp_device_parse("npu:12", &d, &err), DP_OK);
    ck_assert_int_eq(d, DP_DEVICE(bit, 12));
    ck_assert_str_eq(dp_device_name(d, name), "npu:12");
    ck_assert_str_eq(dp_device_name(DP_DEVICE(bit, 0), name), "npu:0");
    ck_assert_int_eq(dp_device_parse("npu:", &d, &err), DP_ERUNTIME);
    ck_assert_int_eq(dp_device_parse("npu:65536", &d, &err), DP_ERUNTIME);
    ck_assert_int_eq(dp_device_parse("npu:-1", &d, &err), DP_ERUNTIME);
    ck_assert_int_eq(dpi_device_enter(DP_B_CUDA, &on, &err), DP_ERUNTIME);
    ck_assert_str_eq(err.message, "backend CUDA has no device in this process");
    dpi_backend_unregister(bit);
}
END_TEST

static int device_allocate(int index, size_t bytes, void **out, dp_error *err)
{
    (void)index;
    (void)err;
    *out = malloc(bytes);
    return 0;
}
static void device_release(int index, void *p, size_t bytes)
{
    (void)index;
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
            ck_assert_int_eq(d->ops.allocate(0, 16, &p, NULL), 0);
            d->ops.release(0, p, 16);
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

/* -- the pool -- */

typedef struct tally {
    unsigned char seen[10000];
    int64_t smallest;
    pthread_mutex_t lock;
} tally;

static void mark(int64_t begin, int64_t end, void *user)
{
    tally *t = user;

    for (int64_t i = begin; i < end; i++)
        t->seen[i]++;
    pthread_mutex_lock(&t->lock);
    if (end - begin < t->smallest)
        t->smallest = end - begin;
    pthread_mutex_unlock(&t->lock);
}

static void check_run(int max_threads, int64_t begin, int64_t end, int64_t grain)
{
    tally t = {.smallest = INT64_MAX};

    pthread_mutex_init(&t.lock, NULL);
    dpi_pool_run(max_threads, begin, end, grain, mark, &t, NULL);
    for (int64_t i = 0; i < (int64_t)sizeof(t.seen); i++)
        unit_each(t.seen[i] == (i >= begin && i < end), "element %d of [%d, %d) ran %d times",
                  (int)i, (int)begin, (int)end, t.seen[i]);
    if (end - begin >= grain)
        ck_assert_int_ge(t.smallest, grain);
    pthread_mutex_destroy(&t.lock);
}

static void nested(int64_t begin, int64_t end, void *user)
{
    (void)user;
    for (int64_t i = begin; i < end; i++)
        check_run(0, 0, 1000, 10);
}

static void *caller(void *arg)
{
    (void)arg;
    for (int i = 0; i < 50; i++)
        check_run(i % 4, i, 10000 - i, 1 + i * 7);
    return NULL;
}

typedef struct stopping {
    dp_cancel_flag cancel;
    atomic_int pieces;
} stopping;

static void stop_after_two(int64_t begin, int64_t end, void *user)
{
    stopping *s = user;

    (void)begin, (void)end;
    int before = atomic_fetch_add(&s->pieces, 1);
    if (before == 1)
        atomic_store(&s->cancel, 1);
    while (before > 1 && atomic_load(&s->cancel) == 0) /* a thread begins one piece more at most */
        sched_yield();
}

START_TEST(pool_stops_between_pieces)
{
    stopping s = {0};
    dpi_stop stop = {.cancel = &s.cancel}, never = {0}, late = {.deadline = 1};

    if (_i > 0)
        ck_assert_int_eq(dp_pool_start(_i, NULL), DP_OK);
    ck_assert_int_eq(dpi_pool_run(0, 0, 1000, 1, stop_after_two, &s, &stop), DP_ECANCELLED);
    ck_assert_int_ge(atomic_load(&s.pieces), 2);
    ck_assert_int_le(atomic_load(&s.pieces), 2 + _i); /* those that had begun */
    atomic_store(&s.pieces, 10);
    ck_assert_int_eq(dpi_pool_run(0, 0, 1000, 1, stop_after_two, &s, &late), DP_EDEADLINE);
    ck_assert_int_eq(atomic_load(&s.pieces), 10);
    ck_assert_int_eq(dpi_pool_run(0, 0, 1000, 1, stop_after_two, &s, &never), 0);
    ck_assert_int_gt(atomic_load(&s.pieces), 10);
    dp_pool_stop();
}
END_TEST

typedef struct leaving {
    pthread_t caller;
    atomic_bool left;
} leaving;

/* The caller waits until a helper has come, however busy all are. */
static void leave_the_thread(int64_t begin, int64_t end, void *user)
{
    leaving *l = user;

    (void)begin, (void)end;
    if (!pthread_equal(l->caller, pthread_self())) {
        atomic_store(&l->left, true);
        pthread_exit(NULL);
    }
    while (!atomic_load(&l->left))
        sched_yield();
}

START_TEST(pool_has_its_threads_after_a_body_that_ends_them)
{
    ck_assert_int_eq(dp_pool_start(_i, NULL), DP_OK);
    for (int i = 0; i < 100; i++) {
        leaving l = {.caller = pthread_self()};
        ck_assert_int_eq(dpi_pool_run(0, 0, 1000, 1, leave_the_thread, &l, NULL), DPI_POOL_LEFT);
    }
    check_run(0, 0, 10000, 1);
    dp_pool_stop();
}
END_TEST

START_TEST(pool_runs_every_element_once)
{
    pthread_t threads[3];

    check_run(0, 0, 10000, 1); /* not started: all on the caller */
    ck_assert_int_eq(dp_pool_start(_i, NULL), DP_OK);
    if (_i > 0)
        ck_assert_int_eq(dp_pool_start(_i, NULL), DP_EEXISTS);
    check_run(0, 5, 5, 1);
    check_run(0, 9, 3, 1);
    check_run(1, 0, 10000, 1);
    check_run(0, 0, 10000, 0);
    check_run(0, 0, 10000, 100000);
    dpi_pool_run(0, 0, 20, 1, nested, NULL, NULL);
    for (size_t i = 0; i < DPI_COUNT(threads); i++)
        pthread_create(&threads[i], NULL, caller, NULL);
    for (size_t i = 0; i < DPI_COUNT(threads); i++)
        pthread_join(threads[i], NULL);
    dp_pool_stop();
    dp_pool_stop();
    check_run(0, 0, 10000, 1);
}
END_TEST

UNIT_SUITE(base)
{
    tcase_add_test(tc, error_every_code_has_a_name_and_a_text);
    tcase_add_test(tc, error_may_be_wrapped_into_itself);
    tcase_add_test(tc, error_message_is_cut_between_characters);
    tcase_add_test(tc, memory_fails_the_nth_time_once);
    tcase_add_test(tc, arena_blocks_are_aligned_and_apart);
    tcase_add_test(tc, arena_survives_any_failed_allocation);
    tcase_add_test(tc, text_grows_and_stays_failed);
    tcase_add_test(tc, nearest_names_come_first);
    tcase_add_test(tc, dtype_names_and_sizes);
    tcase_add_test(tc, convert_floats_to_integers);
    tcase_add_test(tc, convert_rounds_halves_to_even);
    tcase_add_test(tc, convert_halves_there_and_back);
    tcase_add_test(tc, convert_every_dtype_to_every_other);
    tcase_add_test(tc, backend_forty_at_once_and_gone);
    tcase_add_test(tc, backend_bit_waits_for_its_storages);
    tcase_add_test(tc, backend_names_are_checked);
    tcase_add_test(tc, device_names);
    tcase_add_test(tc, backend_is_replaced_between_uses);
    tcase_add_loop_test(tc, pool_runs_every_element_once, 0, 4);
    tcase_add_loop_test(tc, pool_stops_between_pieces, 0, 4);
    tcase_add_loop_test(tc, pool_has_its_threads_after_a_body_that_ends_them, 1, 4);
}
