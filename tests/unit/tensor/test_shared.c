/* test_shared.c -- memfds made here: nobody else can write, shrink or grow them. */
#define _GNU_SOURCE
#include "tensors.h"
#include <dispatchd/shared.h>
#include <fcntl.h>
#include <sys/mman.h>
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

UNIT_SUITE(tensor_shared)
{
    tcase_add_test(tc, no_reader_can_write);
    tcase_add_test(tc, revocable_readers_see_zeros_afterwards);
}
