/* test_copy.c -- copies across layouts, beside one that looks up each element by its strides. */
#include "unit.h"
#include <dispatchd/dtypes.h>
#include "tensor/room.h"
#include <stdlib.h>

#define OK(call) ck_assert_msg((call) == DP_OK, "%s", err.message)

static dp_error err;

/* All bytes, gaps too, are of no pattern. */
static dp_tensor *make(dp_dtype dtype, int ndim, const int64_t *sizes, const int64_t *strides,
                       int64_t offset)
{
    int64_t extent = offset + 1;
    dp_tensor *t = NULL;

    for (int d = 0; d < ndim; d++)
        extent += (sizes[d] - 1) * strides[d];
    OK(dp_tensor_new_storage(dtype, DP_DEVICE_CPU, extent, ndim, sizes, strides, offset, &t, &err));
    unsigned char *p = dpi_storage_of(t)->data;
    size_t bytes = (size_t)extent * dp_dtype_size(dtype);
    uint64_t x = 12345;
    for (size_t i = 0; i < bytes; i += sizeof(x)) {
        x = x * 6364136223846793005U + 1442695040888963407U;
        uint64_t word = dtype == DP_BOOL ? x >> 7 & 0x0101010101010101 : x ^ x >> 29;
        memcpy(p + i, &word, bytes - i < sizeof(word) ? bytes - i : sizeof(word));
    }
    return t;
}

/* Every element of dst is src's, converted; and what lies between them is as it was. */
static void check(dp_dtype to, dp_dtype from, int ndim, const int64_t *sizes, const int64_t *ds,
                  const int64_t *ss, int64_t offset, int threads)
{
    dp_tensor *src = make(from, ndim, sizes, ss, offset), *dst = make(to, ndim, sizes, ds, offset);
    dp_tensor *want = make(to, ndim, sizes, ds, offset);
    int64_t at[8] = {0}, numel = dpi_geometry_of(dst)->numel;
    char *in = dpi_tensor_data(src), *out = dpi_tensor_data(want);
    int64_t in_bytes = (int64_t)dp_dtype_size(from), out_bytes = (int64_t)dp_dtype_size(to);

    OK(dpi_copy(dst, src, threads, &err));
    for (int64_t n = 0; n < numel; n++) {
        int64_t i = 0, o = 0;
        for (int d = 0; d < ndim; d++) {
            i += at[d] * ss[d];
            o += at[d] * ds[d];
        }
        if (to == from)
            memcpy(out + o * out_bytes, in + i * in_bytes, (size_t)in_bytes);
        else
            dp_convert(to, out + o * out_bytes, from, in + i * in_bytes, 1);
        for (int d = ndim - 1; d >= 0 && ++at[d] == sizes[d]; d--)
            at[d] = 0;
    }
    unit_each(memcmp(dpi_storage_of(dst)->data, dpi_storage_of(want)->data,
                     dpi_storage_of(want)->bytes) == 0,
              "%s to %s: %lld x %lld, strides %lld %lld to %lld %lld", dp_dtype_name(from),
              dp_dtype_name(to), (long long)sizes[0], (long long)sizes[1], (long long)ss[0],
              (long long)ss[1], (long long)ds[0], (long long)ds[1]);
    dp_tensor_unref(src);
    dp_tensor_unref(dst);
    dp_tensor_unref(want);
}

static const int64_t lengths[] = {1, 2, 3, 4, 5, 8, 17, 64, 65, 130, 1400};

/* Elements of every size; what is read turned, with gaps, with steps. */
START_TEST(matrices_of_every_size_are_turned)
{
    static const dp_dtype dtypes[] = {DP_UINT8, DP_INT16, DP_FLOAT32, DP_INT64, DP_COMPLEX128};

    for (size_t i = 0; i < DPI_COUNT(lengths) * DPI_COUNT(lengths); i++) {
        int64_t a = lengths[i % DPI_COUNT(lengths)], b = lengths[i / DPI_COUNT(lengths)];
        int64_t sizes[] = {a, b}, packed[] = {b, 1}, turned[] = {1, a}, gaps[] = {1, a + 3};
        int64_t steps[] = {2, 2 * a + 1}, wide[] = {b + 5, 1}, apart[] = {3 * b + 1, 3};
        for (size_t d = 0; d < DPI_COUNT(dtypes) && a * b < 10000; d++) {
            check(dtypes[d], dtypes[d], 2, sizes, packed, turned, 0, 0);
            check(dtypes[d], dtypes[d], 2, sizes, packed, gaps, 1, 0);
            check(dtypes[d], dtypes[d], 2, sizes, wide, turned, 1, 0);
            check(dtypes[d], dtypes[d], 2, sizes, packed, steps, 0, 0);
            check(dtypes[d], dtypes[d], 2, sizes, apart, turned, 0, 0);
            check(dtypes[d], dtypes[d], 2, sizes, packed, apart, 0, 0);
        }
    }
}
END_TEST

/* The 144 pairs, turned and stepped. */
START_TEST(every_dtype_is_turned_into_every_other)
{
    static const dp_dtype dtypes[] = {
#define ID(name, dtype, ...) dtype,
        DP_DTYPES_ALL(ID)
#undef ID
    };
    int64_t sizes[] = {70, 67}, packed[] = {67, 1}, turned[] = {1, 70}, apart[] = {1, 210};
    int64_t steps[] = {3 * 67, 3};

    for (size_t i = 0; i < 144; i++) {
        dp_dtype from = dtypes[i / 12], to = dtypes[i % 12];
        check(to, from, 2, sizes, packed, turned, 0, 0);
        check(to, from, 2, sizes, steps, turned, 1, 0);
        check(to, from, 2, sizes, turned, packed, 1, 0);
        check(to, from, 2, sizes, packed, apart, 0, 0);
        check(to, from, 2, sizes, packed, steps, 0, 0);
    }
}
END_TEST

/* Channels last and back, few channels and many; dimensions of size 1; on several threads. */
START_TEST(images_change_their_format)
{
    static const int64_t shapes[][4] = {{2, 3, 40, 50}, {3, 64, 15, 15}, {1, 5, 1, 70},
                                        {4, 1, 9, 9},   {2, 130, 3, 3},  {9, 4, 70, 66}};

    OK(dp_thread_pool_start(3, &err));
    for (size_t i = 0; i < DPI_COUNT(shapes); i++) {
        const int64_t *s = shapes[i];
        int64_t first[] = {s[1] * s[2] * s[3], s[2] * s[3], s[3], 1};
        int64_t last[] = {s[1] * s[2] * s[3], 1, s[1] * s[3], s[1]};
        int64_t odd[] = {1, s[0], s[0] * s[1] * s[3], s[0] * s[1]};
        const int64_t *all[] = {first, last, odd};
        for (int k = 0; k < 9; k++) {
            check(DP_FLOAT32, DP_FLOAT32, 4, s, all[k / 3], all[k % 3], 0, 4);
            check(DP_BFLOAT16, DP_INT64, 4, s, all[k / 3], all[k % 3], 1, 4);
        }
    }
    dp_thread_pool_stop();
}
END_TEST

/* Rows, columns and single elements that are read again and again; on several threads. */
START_TEST(elements_are_repeated)
{
    static const dp_dtype from[] = {DP_UINT8, DP_INT16, DP_FLOAT32, DP_COMPLEX128, DP_FLOAT32},
                          to[] = {DP_UINT8, DP_INT16, DP_FLOAT32, DP_COMPLEX128, DP_FLOAT64};

    OK(dp_thread_pool_start(3, &err));
    for (size_t i = 0; i < DPI_COUNT(lengths) * DPI_COUNT(lengths); i++) {
        int64_t a = lengths[i % DPI_COUNT(lengths)], b = lengths[i / DPI_COUNT(lengths)];
        int64_t sizes[] = {3, a, b}, packed[] = {a * b, b, 1}, wide[] = {a * (b + 5), b + 5, 1};
        int64_t rows[] = {b, 0, 1}, apart[] = {3, 0, 3}, columns[] = {a, 1, 0}, one[] = {2, 0, 0};
        int64_t turned[] = {0, 1, a}, same[] = {0, b, 1};
        for (size_t d = 0; d < DPI_COUNT(to) && a * b < 100000; d++) {
            check(to[d], from[d], 3, sizes, packed, rows, 1, 4);
            check(to[d], from[d], 3, sizes, packed, apart, 0, 4);
            check(to[d], from[d], 3, sizes, packed, columns, 0, 4);
            check(to[d], from[d], 3, sizes, packed, one, 1, 4);
            check(to[d], from[d], 3, sizes, packed, turned, 0, 4);
            check(to[d], from[d], 3, sizes, packed, same, 0, 4);
            check(to[d], from[d], 3, sizes, wide, rows, 0, 4);
            check(to[d], from[d], 3, sizes, wide, columns, 1, 4);
        }
    }
    dp_thread_pool_stop();
}
END_TEST

/* Results that go past the caches: at odd addresses, in rows that end in the middle of a line. */
START_TEST(large_results_are_as_small_ones)
{
    int64_t b = 1501, a = 8, sizes[2], packed[2] = {b, 1}, wide[2] = {b + 3, 1}, turned[2], twos[2],
            row[2] = {0, 1};

    while (!dpi_goes_past(8 * a * b))
        a += a / 2;
    sizes[0] = a;
    sizes[1] = b;
    turned[0] = 1;
    turned[1] = a;
    twos[0] = 2 * b;
    twos[1] = 2;
    OK(dp_thread_pool_start(_i, &err));
    check(DP_INT64, DP_INT64, 2, sizes, packed, packed, 1, 0);
    check(DP_INT64, DP_INT64, 2, sizes, wide, turned, 1, 0);
    check(DP_INT64, DP_INT8, 2, sizes, packed, twos, 1, 0);
    check(DP_INT64, DP_INT8, 2, sizes, packed, row, 1, 0);
    check(DP_INT64, DP_INT64, 2, sizes, packed, row, 1, 0);
    dp_thread_pool_stop();
}
END_TEST

UNIT_SUITE(copy)
{
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, matrices_of_every_size_are_turned);
    tcase_add_test(tc, every_dtype_is_turned_into_every_other);
    tcase_add_test(tc, elements_are_repeated);
    tcase_add_test(tc, images_change_their_format);
    tcase_add_loop_test(tc, large_results_are_as_small_ones, 2, 4);
}
