/* test_adopt.c -- memfds made for tensors, and memfds of other processes that are adopted. */
#define _GNU_SOURCE
#include "tensors.h"
#include <dispatchd/shared.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 20 };
static dp_holder_limit limits[DP_HOLDERS];

static dp_account *account(void)
{
    dp_account *a = NULL;

    for (int h = 0; h < DP_HOLDERS; h++)
        limits[h] = (dp_holder_limit){"count_limit", "bytes_limit", 8, MOST_BYTES};
    OK(dp_account_new(limits, &a, &err));
    return a;
}

static uint64_t charged(const dp_account *a)
{
    dp_usage held[DP_HOLDERS];
    uint64_t bytes = 0;

    dp_account_usage(a, held);
    for (int h = 0; h < DP_HOLDERS; h++)
        bytes += held[h].bytes;
    return bytes;
}

/* Return what another process sees at the start of `s`. */
static const float *map(dp_shared *s)
{
    int fd = -1;

    OK(dp_shared_reader(s, false, &fd, &err));
    void *p = mmap(NULL, dp_shared_bytes(s), PROT_READ, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(p, MAP_FAILED);
    close(fd);
    return p;
}

START_TEST(a_tensor_moves_once_and_stays)
{
    int64_t sizes[] = {4}, more[] = {8};
    dp_tensor *t = floats(1, sizes), *view = NULL;
    dp_shared *s = NULL, *again = NULL;

    OK(dp_tensor_alias(t, &view, &err));
    OK(dp_tensor_share(t, NULL, &s, &err));
    OK(dp_tensor_share(view, NULL, &again, &err));
    ck_assert_ptr_eq(s, again);
    const float *seen = map(s);
    assert_floats(t, 4, (float[]){0, 1, 2, 3});
    assert_floats(view, 4, (float[]){0, 1, 2, 3});
    ck_assert_float_eq(seen[3], 3);
    DP_VIEW(v, view);
    ((float *)v.data)[3] = 7; /* the reader sees what is written later */
    ck_assert_float_eq(seen[3], 7);
    FAILS(dpi_resize(NULL, t, 1, more, DP_PRESERVE, &err), DP_ERUNTIME, "not resizable");
    dp_tensor_unref(t);
    dp_tensor_unref(view);
    dp_shared_unref(s);
    ck_assert_float_eq(seen[3], 7); /* the mapping outlives everything here */
    munmap((void *)(uintptr_t)seen, dp_shared_bytes(again));
    dp_shared_unref(again);
}
END_TEST

static uint64_t no_call_runs(void)
{
    return UINT64_MAX;
}

START_TEST(an_account_pays_until_the_last_reader_goes)
{
    dp_account *a = account();
    int64_t sizes[] = {1000};
    dp_tensor *t = make(DP_UINT8, DP_DEVICE_CPU, 1, sizes);
    dp_shared *s = NULL;

    dpi_oldest_call_from(no_call_runs); /* so the replaced memory can be released at once */
    OK(dp_account_charge_tensor(a, DP_HOLDER_TENSORS, t, &err));
    OK(dp_tensor_share(t, a, &s, &err));
    ck_assert_uint_eq(charged(a), 4096);
    dp_account_refund_tensor(a, DP_HOLDER_TENSORS, t);
    dp_tensor_unref(t);
    dp_shared_unref(s);
    ck_assert_uint_eq(charged(a), 0);
    dp_account_close(a);
}
END_TEST

START_TEST(storages_are_shared_from_the_size_asked_for)
{
    dp_account *a = account();
    int64_t few[] = {1000}, many[] = {100000};
    dp_tensor *small = NULL, *large = NULL;
    dp_shared *s = NULL;

    dp_account_share(a, 65536);
    dpi_target at = {DP_DEVICE_CPU, 0, a};
    OK(dpi_empty(DP_UINT8, at, 1, few, DP_CONTIGUOUS, &small, &err));
    OK(dpi_empty(DP_UINT8, at, 1, many, DP_CONTIGUOUS, &large, &err));
    const void *before = dpi_memory_of(dpi_storage_of(large))->data;
    OK(dp_tensor_share(large, a, &s, &err));
    ck_assert_ptr_eq(before, dpi_memory_of(dpi_storage_of(large))->data);
    dp_tensor_unref(large);
    ck_assert_uint_eq(charged(a), 103400); /* the reader still has the memory */
    dp_shared_unref(s);
    ck_assert_uint_eq(charged(a), 1000);
    /* the freed memory is used again, unless somebody may still map it */
    OK(dpi_empty(DP_UINT8, at, 1, many, DP_CONTIGUOUS, &large, &err));
    ck_assert_ptr_eq(before, dpi_memory_of(dpi_storage_of(large))->data);
    OK(dp_tensor_share(large, a, &s, &err));
    dp_shared_left_mapped(s);
    dp_shared_unref(s);
    dp_tensor_unref(large);
    OK(dpi_empty(DP_UINT8, at, 1, many, DP_CONTIGUOUS, &large, &err));
    OK(dp_tensor_share(large, a, &s, &err));
    int fd = -1;
    OK(dp_shared_reader(s, false, &fd, &err));
    ck_assert_int_ge(fd, 0);
    close(fd);
    dp_shared_unref(s);
    dp_tensor_unref(large);
    dp_tensor_unref(small);
    dp_account_share(a, UINT64_MAX);
    dp_account_close(a);
}
END_TEST

START_TEST(only_ordinary_memory_is_shared)
{
    int64_t sizes[] = {4};
    float memory[4] = {1, 2, 3, 4};
    dp_tensor *meta = make(DP_FLOAT32, DP_DEVICE(DP_B_Meta, 0), 1, sizes), *foreign = NULL;
    dp_tensor *on_device = make(DP_FLOAT32, open_device(0), 1, sizes);
    dp_shared *s = NULL;

    FAILS(dp_tensor_share(meta, NULL, &s, &err), DP_ENOTIMPL, "no data");
    FAILS(dp_tensor_share(on_device, NULL, &s, &err), DP_ENOTIMPL, "on faultdev");
    OK(dp_tensor_wrap(DP_FLOAT32, 1, sizes, NULL, memory, sizeof(memory), NULL, NULL, &foreign,
                      &err));
    FAILS(dp_tensor_share(foreign, NULL, &s, &err), DP_ERUNTIME, "embedder");
    dp_tensor_unref(meta);
    dp_tensor_unref(foreign);
    dp_tensor_unref(on_device);
    close_device();
}
END_TEST

/* Make a memfd with the floats 0, 1, 2 ... and the `seals`. */
static int memfd(int n, int seals)
{
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    ck_assert_int_ge(fd, 0);
    for (int i = 0; i < n; i++) {
        float x = (float)i;
        ck_assert_int_eq(write(fd, &x, sizeof(x)), sizeof(x));
    }
    ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
    return fd;
}

static uint64_t memfds(const dp_account *a)
{
    dp_usage held[DP_HOLDERS];

    dp_account_usage(a, held);
    return held[DP_HOLDER_MEMFDS].count;
}

START_TEST(each_memfd_in_use_is_counted)
{
    dp_account *a = account();
    int64_t sizes[] = {4}, many[] = {100000};
    dp_tensor *t[3];
    dp_shared *s[3], *none = NULL;
    int fd = memfd(250, F_SEAL_SHRINK);

    limits[DP_HOLDER_MEMFDS].count = 2;
    for (int i = 0; i < 3; i++)
        t[i] = floats(1, sizes);
    OK(dp_tensor_share(t[0], a, &s[0], &err));
    OK(dp_tensor_share(t[0], a, &s[1], &err)); /* the same memfd */
    ck_assert_uint_eq(memfds(a), 1);
    dp_shared_unref(s[1]);
    OK(dp_shared_adopt(fd, a, &s[1], &err));
    ck_assert_uint_eq(memfds(a), 2);
    FAILS(dp_tensor_share(t[1], a, &none, &err), DP_ERESOURCE, "memfds: 1 more asked for, 0 of 2");
    FAILS(dp_shared_adopt(fd, a, &none, &err), DP_ERESOURCE, "memfds: 1 more asked for, 0 of 2");
    dp_account_share(a, 1); /* a call's storage is in ordinary memory then */
    dpi_target at = {DP_DEVICE_CPU, 0, a};
    dp_tensor_unref(t[2]);
    OK(dpi_empty(DP_UINT8, at, 1, many, DP_CONTIGUOUS, &t[2], &err));
    ck_assert(!dp_tensor_is_shared(t[2]));
    dp_shared_unref(s[1]);
    dp_tensor_unref(t[2]);
    OK(dpi_empty(DP_UINT8, at, 1, many, DP_CONTIGUOUS, &t[2], &err));
    ck_assert(dp_tensor_is_shared(t[2]));
    ck_assert_uint_eq(memfds(a), 2);
    dp_tensor_unref(t[2]); /* kept for the next tensor, and not counted meanwhile */
    ck_assert_uint_eq(memfds(a), 1);
    dp_shared_unref(s[0]);
    dp_tensor_unref(t[0]);
    ck_assert_uint_eq(memfds(a), 0);
    dp_tensor_unref(t[1]);
    close(fd);
    dp_account_share(a, UINT64_MAX);
    dp_account_close(a);
}
END_TEST

START_TEST(only_sealed_memfds_are_adopted)
{
    dp_account *a = account();
    dp_shared *s = NULL;
    int ends[2], unsealed = memfd(4, 0), empty = memfd(0, F_SEAL_SHRINK);
    int large = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    ck_assert_int_eq(pipe(ends), 0);
    FAILS(dp_shared_adopt(unsealed, a, &s, &err), DP_EVALUE, "not sealed against shrinking");
    FAILS(dp_shared_adopt(ends[0], a, &s, &err), DP_EVALUE, "no memfd");
    FAILS(dp_shared_adopt(-1, a, &s, &err), DP_EVALUE, "no memfd");
    FAILS(dp_shared_adopt(empty, a, &s, &err), DP_EVALUE, "no bytes");
    ck_assert_int_eq(ftruncate(large, (off_t)1 << 40), 0);
    ck_assert_int_eq(fcntl(large, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    FAILS(dp_shared_adopt(large, a, &s, &err), DP_ERESOURCE, "bytes_limit");
    ck_assert_uint_eq(charged(a), 0);
    close(ends[0]);
    close(ends[1]);
    close(unsealed);
    close(empty);
    close(large);
    dp_account_close(a);
}
END_TEST

enum { LARGE = 1 << 15, LARGE_BYTES = 4 * LARGE }; /* elements, more bytes than are copied */

START_TEST(a_private_tensor_writes_its_own_pages)
{
    dp_account *a = account();
    int fd = memfd(LARGE, F_SEAL_SHRINK | F_SEAL_WRITE);
    dp_shared *s = NULL, *moved = NULL;
    dp_tensor *t = NULL, *other = NULL;

    OK(dp_shared_adopt(fd, a, &s, &err));
    close(fd);
    ck_assert(!dp_shared_is_racy(s));
    ck_assert_uint_eq(charged(a), LARGE_BYTES);
    OK(dp_shared_tensor(s, DP_SHARED_PRIVATE, 4, DP_FLOAT32, 1, (int64_t[]){LARGE - 1}, a, &t,
                        &err));
    OK(dp_shared_tensor(s, DP_SHARED_PRIVATE, 0, DP_FLOAT32, 1, (int64_t[]){LARGE}, a, &other,
                        &err));
    dp_shared_unref(s);
    ck_assert_uint_eq(charged(a), LARGE_BYTES); /* the tensors hold the whole memory */
    DP_VIEW(v, t);
    DP_VIEW(w, other);
    ((float *)v.data)[0] = 9;
    ck_assert_float_eq(((float *)v.data)[1], 2);
    ck_assert_float_eq(((float *)w.data)[1], 1);
    ck_assert_float_eq(((float *)w.data)[LARGE - 1], LARGE - 1);
    OK(dp_tensor_share(t, a, &moved, &err)); /* for readers it moves, as any tensor */
    const float *seen = map(moved);
    ck_assert_float_eq(seen[0], 9);
    munmap((void *)(uintptr_t)seen, dp_shared_bytes(moved));
    dp_shared_unref(moved);
    dp_tensor_unref(t);
    dp_tensor_unref(other);
    ck_assert_uint_eq(charged(a), 0);
    dp_account_close(a);
}
END_TEST

START_TEST(a_small_private_tensor_is_copied)
{
    dp_account *a = account();
    int fd = memfd(LARGE, F_SEAL_SHRINK | F_SEAL_WRITE);
    dp_shared *s = NULL;
    dp_tensor *t = NULL;

    OK(dp_shared_adopt(fd, a, &s, &err));
    close(fd);
    OK(dp_shared_tensor(s, DP_SHARED_PRIVATE, 4, DP_FLOAT32, 1, (int64_t[]){3}, a, &t, &err));
    dp_shared_unref(s);
    ck_assert_uint_lt(charged(a), 4096); /* it does not hold the memory */
    assert_floats(t, 3, (float[]){1, 2, 3});
    dp_tensor_unref(t);
    ck_assert_uint_eq(charged(a), 0);
    dp_account_close(a);
}
END_TEST

START_TEST(racy_memory_is_copied_or_borrowed)
{
    int fd = memfd(4, F_SEAL_SHRINK);
    dp_shared *s = NULL;
    dp_tensor *copy = NULL, *borrowed = NULL;
    float x = 5;

    OK(dp_shared_adopt(fd, NULL, &s, &err));
    ck_assert(dp_shared_is_racy(s));
    OK(dp_shared_tensor(s, DP_SHARED_COPY, 0, DP_FLOAT32, 1, (int64_t[]){4}, NULL, &copy, &err));
    OK(dp_shared_tensor(s, DP_SHARED_BORROW, 8, DP_FLOAT32, 1, (int64_t[]){2}, NULL, &borrowed,
                        &err));
    ck_assert_int_eq(pwrite(fd, &x, sizeof(x), 8), sizeof(x));
    assert_floats(copy, 4, (float[]){0, 1, 2, 3});
    assert_floats(borrowed, 2, (float[]){5, 3});
    dp_shared_unref(s);
    assert_floats(borrowed, 2, (float[]){5, 3});
    dp_tensor_unref(copy);
    dp_tensor_unref(borrowed);
    close(fd);
}
END_TEST

START_TEST(elements_lie_inside_the_memory)
{
    int fd = memfd(4, F_SEAL_SHRINK | F_SEAL_WRITE);
    dp_shared *s = NULL, *ours = NULL;
    dp_tensor *t = NULL;
    const int how[] = {DP_SHARED_PRIVATE, DP_SHARED_COPY, DP_SHARED_BORROW};
    int64_t sizes[] = {4};

    OK(dp_shared_adopt(fd, NULL, &s, &err));
    for (int i = 0; i < 3; i++) {
        FAILS(dp_shared_tensor(s, how[i], 4, DP_FLOAT32, 1, (int64_t[]){4}, NULL, &t, &err),
              DP_EVALUE, "a tensor [4] of float32 from byte 4 is not inside a memfd of 16 bytes");
        FAILS(dp_shared_tensor(s, how[i], 17, DP_UINT8, 1, (int64_t[]){0}, NULL, &t, &err),
              DP_EVALUE, "inside");
        FAILS(dp_shared_tensor(s, how[i], 0, DP_FLOAT32, 1, (int64_t[]){INT64_MAX}, NULL, &t, &err),
              DP_EVALUE, "inside");
        FAILS(dp_shared_tensor(s, how[i], 0, DP_FLOAT32, 1, (int64_t[]){-1}, NULL, &t, &err),
              DP_ERUNTIME, "-1");
        FAILS(dp_shared_tensor(s, how[i], 2, DP_FLOAT32, 1, (int64_t[]){1}, NULL, &t, &err),
              DP_EVALUE, "offset 2 is no multiple of the 4 bytes");
        OK(dp_shared_tensor(s, how[i], 16, DP_FLOAT32, 1, (int64_t[]){0}, NULL, &t, &err));
        assert_floats(t, 0, NULL);
        dp_tensor_unref(t);
    }
    t = floats(1, sizes);
    OK(dp_tensor_share(t, NULL, &ours, &err));
    dp_tensor_unref(t);
    FAILS(dp_shared_tensor(ours, DP_SHARED_COPY, 0, DP_FLOAT32, 1, (int64_t[]){1}, NULL, &t, &err),
          DP_EVALUE, "not adopted");
    dp_shared_unref(ours);
    int reader;
    FAILS(dp_shared_reader(s, false, &reader, &err), DP_EVALUE, "adopted");
    dp_shared_unref(s);
    close(fd);
}
END_TEST

static void count(void *calls)
{
    ++*(int *)calls;
}

/* Memory that has a release function of its own, such as a mapping of adopted memory, is released
 * when shared memory replaces it, and not again with its tensor. */
START_TEST(replaced_memory_is_released_once)
{
    float data[] = {0, 1, 2, 3};
    int64_t sizes[] = {4};
    dp_tensor *t = NULL;
    dp_shared *s = NULL;
    int released = 0;

    OK(dp_tensor_wrap(DP_FLOAT32, 1, sizes, NULL, data, sizeof(data), count, &released, &t, &err));
    dpi_storage_of(t)->fixed = false;
    dpi_oldest_call_from(no_call_runs); /* so the replaced memory can be released at once */
    OK(dp_tensor_share(t, NULL, &s, &err));
    ck_assert_int_eq(released, 1);
    assert_floats(t, 4, data);
    dp_shared_unref(s);
    dp_tensor_unref(t);
    ck_assert_int_eq(released, 1);
}
END_TEST

UNIT_SUITE(tensor_adopt)
{
    tcase_add_test(tc, a_tensor_moves_once_and_stays);
    tcase_add_test(tc, each_memfd_in_use_is_counted);
    tcase_add_test(tc, an_account_pays_until_the_last_reader_goes);
    tcase_add_test(tc, storages_are_shared_from_the_size_asked_for);
    tcase_add_test(tc, only_ordinary_memory_is_shared);
    tcase_add_test(tc, only_sealed_memfds_are_adopted);
    tcase_add_test(tc, a_private_tensor_writes_its_own_pages);
    tcase_add_test(tc, a_small_private_tensor_is_copied);
    tcase_add_test(tc, racy_memory_is_copied_or_borrowed);
    tcase_add_test(tc, elements_lie_inside_the_memory);
    tcase_add_test(tc, replaced_memory_is_released_once);
}
