/* test_shared.c -- memfds made here: nobody else can write, shrink or grow them. */
#define _GNU_SOURCE
#include "tensors.h"
#include <dispatchd/shared.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

START_TEST(no_reader_can_write)
{
    int64_t sizes[] = {4};
    dp_tensor *t = floats(1, sizes);
    dp_shared *s = NULL;
    char path[64];
    int fd = -1;

    OK(dp_tensor_share(t, NULL, &s, &err));
    OK(dp_shared_reader(s, false, &fd, &err));
    ck_assert_int_eq(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int again = open(path, O_RDWR | O_CLOEXEC);
    ck_assert_int_ge(again, 0);
    ck_assert_ptr_eq(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, again, 0), MAP_FAILED);
    ck_assert_int_lt(pwrite(again, "x", 1, 0), 0);
    ck_assert_int_lt(ftruncate(again, 0), 0);
    close(again);
    close(fd);
    dp_shared_unref(s);
    dp_tensor_unref(t);
}
END_TEST

/* Share a tensor, map it as a reader does, and release it; returns the reader's first element.
 * `second`: a reader that is not revocable comes, too. */
static float seen_after_release(bool revocable, bool second)
{
    int64_t sizes[] = {4};
    dp_tensor *t = floats(1, sizes);
    dp_shared *s = NULL;
    int fd = -1;

    *(float *)dpi_tensor_data(t) = 7;
    OK(dp_tensor_share(t, NULL, &s, &err));
    OK(dp_shared_reader(s, revocable, &fd, &err));
    if (second) {
        close(fd);
        OK(dp_shared_reader(s, false, &fd, &err));
    }
    const float *seen = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(seen, MAP_FAILED);
    close(fd);
    ck_assert_float_eq(seen[0], 7);
    dp_shared_unref(s);
    ck_assert_float_eq(seen[0], 7); /* the tensor has it still */
    dp_tensor_unref(t);
    float first = seen[0];
    munmap((void *)seen, 4096);
    return first;
}

START_TEST(revocable_readers_see_zeros_afterwards)
{
    ck_assert_float_eq(seen_after_release(false, false), 7);
    ck_assert_float_eq(seen_after_release(true, false), 0);
    ck_assert_float_eq(seen_after_release(true, true), 7);
}
END_TEST

static dp_account *account;

static uint64_t charged(void)
{
    dp_usage held[DP_HOLDERS];
    uint64_t bytes = 0;

    dp_account_usage(account, held);
    for (int h = 0; h < DP_HOLDERS; h++)
        bytes += held[h].bytes;
    return bytes;
}

/* Make a tensor of `n` bytes that `account` is charged for. */
static dp_tensor *bytes_of(int64_t n)
{
    dp_tensor *t = NULL;
    void *data = calloc(1, (size_t)n);

    OK(dp_tensor_from(account, DP_UINT8, DP_DEVICE_CPU, 1, &n, DP_UINT8, data, &t, &err));
    OK(dp_account_charge_tensor(account, DP_HOLDER_TENSORS, t, &err));
    free(data);
    return t;
}

/* A memfd has whole pages, and the account is charged for them. */
START_TEST(shared_memory_is_charged_by_pages)
{
    static dp_holder_limit limits[DP_HOLDERS];
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    dp_shared *s = NULL;

    for (int h = 0; h < DP_HOLDERS; h++)
        limits[h] = (dp_holder_limit){"count", "bytes", 100, 5 * page};
    OK(dp_account_new(limits, &account, &err));
    dp_tensor *t = bytes_of(4), *named = bytes_of(4);
    ck_assert_uint_eq(charged(), 8);
    OK(dp_tensor_share(t, account, &s, &err));
    ck_assert_uint_eq(dp_shared_bytes(s), page);
    ck_assert_uint_eq(charged(), page + 8); /* with the bytes in the tensor's home */
    ck_assert_int_eq(dp_tensor_storage_bytes(t), 4);
    dp_account_refund_tensor(account, DP_HOLDER_TENSORS, t);
    dp_tensor_unref(t);
    ck_assert_uint_eq(charged(), page + 4); /* while it is mapped */
    dp_shared_unref(s);
    ck_assert_uint_eq(charged(), 4);
    /* memory that is shared from its birth, and grows */
    dp_account_share(account, 1);
    t = bytes_of(1000);
    ck_assert_uint_eq(charged(), page + 4);
    OK(dpi_resize(account, t, 1, (int64_t[]){(int64_t)page + 1}, DP_PRESERVE, &err));
    dp_account_refund_tensor(account, DP_HOLDER_TENSORS, t);
    dp_tensor_unref(t);
    dp_account_share(account, UINT64_MAX);
    ck_assert_uint_eq(charged(), 4);
    /* it is charged before it is made */
    for (int h = 0; h < DP_HOLDERS; h++)
        limits[h].bytes = page;
    dp_account_limits_changed(account);
    ck_assert_int_eq(dp_tensor_share(named, account, &s, &err), DP_ERESOURCE);
    ck_assert_uint_eq(charged(), 4);
    dp_account_refund_tensor(account, DP_HOLDER_TENSORS, named);
    dp_tensor_unref(named);
    ck_assert_uint_eq(charged(), 0);
    account = dp_account_close(account);
}
END_TEST

/* Where no memfd can be made, other memory is used, of which no page is charged. */
START_TEST(memory_in_place_of_shared_memory_is_charged_by_bytes)
{
    static dp_holder_limit limits[DP_HOLDERS];
    struct rlimit was, none = {0, 0};

    for (int h = 0; h < DP_HOLDERS; h++)
        limits[h] = (dp_holder_limit){"count", "bytes", 100, 1 << 20};
    OK(dp_account_new(limits, &account, &err));
    dp_account_share(account, 1);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &was), 0);
    none.rlim_max = was.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    dp_tensor *t = bytes_of(1000);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &was), 0);
    ck_assert(!dp_tensor_is_shared(t));
    ck_assert_uint_eq(charged(), 1000);
    dp_account_refund_tensor(account, DP_HOLDER_TENSORS, t);
    dp_tensor_unref(t);
    ck_assert_uint_eq(charged(), 0);
    account = dp_account_close(account);
}
END_TEST

UNIT_SUITE(tensor_shared)
{
    tcase_add_test(tc, shared_memory_is_charged_by_pages);
    tcase_add_test(tc, memory_in_place_of_shared_memory_is_charged_by_bytes);
    tcase_add_test(tc, no_reader_can_write);
    tcase_add_test(tc, revocable_readers_see_zeros_afterwards);
}
