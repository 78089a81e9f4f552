/* test_tensor.c -- tensors: making, viewing, copying, on the host and on devices that are not. */
#include "tensor_cases.h"
#include "../../plugins/faulting_device.h"
#include "../alive.h"
#include "base/stream.h"
#include <pthread.h>

static dp_error err;

static dp_tensor *make(dp_dtype dtype, dp_device device, int ndim, const int64_t *sizes)
{
    dp_tensor *t = NULL;
    OK(dp_tensor_new(dtype, device, ndim, sizes, NULL, &t, &err));
    return t;
}

static dp_tensor *floats(int ndim, const int64_t *sizes) /* 0, 1, 2 ... */
{
    dp_tensor *t = make(DP_FLOAT32, DP_DEVICE_CPU, ndim, sizes);
    for (int64_t i = 0; i < t->geometry->numel; i++)
        ((float *)t->geometry->storage->data)[i] = (float)i;
    return t;
}

static void assert_floats(const dp_tensor *t, int n, const float *expected)
{
    float got[256];

    ck_assert_int_eq(t->geometry->numel, n);
    OK(dp_tensor_read(t, got, &err));
    for (int i = 0; i < n; i++)
        ck_assert_msg(got[i] == expected[i], "element %d: %g, expected %g", i, (double)got[i],
                      (double)expected[i]);
}

/* -- the object -- */

START_TEST(new_has_keys_geometry_and_zero_version)
{
    int64_t sizes[] = {2, 3};
    dp_tensor *t = make(DP_INT16, DP_DEVICE_CPU, 2, sizes);
    dp_view v = {.size = sizeof(v)};
    char keys[256];

    dp_tensor_view(t, &v);
    ck_assert_int_eq(v.dtype, DP_INT16);
    ck_assert_int_eq(v.ndim, 2);
    ck_assert_int_eq(v.numel, 6);
    ck_assert_int_eq(v.strides[0], 3);
    ck_assert_uint_eq((uintptr_t)v.data % 64, 0);
    ck_assert_uint_eq(dp_tensor_storage_bytes(t), 12);
    ck_assert_int_eq(dp_tensor_offset(t), 0);
    ck_assert_uint_eq(dp_tensor_version(t), 0);
    ck_assert_str_eq(dp_keyset_print(dp_tensor_keys(t), keys, sizeof(keys)),
                     "AutogradCPU, ADInplaceOrView, CPU");
    ck_assert_ptr_eq(dp_tensor_ref(t), t);
    ck_assert_ptr_null(dp_tensor_unref(t));
    ck_assert_ptr_null(dp_tensor_unref(t));
    ck_assert_ptr_null(dp_tensor_unref(NULL));
}
END_TEST

START_TEST(view_writes_no_more_than_its_size)
{
    dp_tensor *t = make(DP_INT8, DP_DEVICE_CPU, 0, NULL);
    dp_view v;

    memset(&v, 0x55, sizeof(v));
    v.size = offsetof(dp_view, data);
    dp_tensor_view(t, &v);
    ck_assert_int_eq(v.dtype, DP_INT8);
    ck_assert_int_eq(v.ndim, 0);
    ck_assert_int_eq(v.numel, 0x5555555555555555);
    dp_tensor_unref(t);
}
END_TEST

START_TEST(only_zero_dim_tensors_are_wrapped_numbers)
{
    int64_t one[] = {1};
    dp_tensor *a = make(DP_INT8, DP_DEVICE_CPU, 0, NULL), *b = make(DP_INT8, DP_DEVICE_CPU, 1, one);

    dp_tensor_set_wrapped(a, true);
    dp_tensor_set_wrapped(b, true);
    ck_assert(dp_tensor_is_wrapped(a));
    ck_assert(!dp_tensor_is_wrapped(b));
    dp_tensor_set_wrapped(a, false);
    ck_assert(!dp_tensor_is_wrapped(a));
    dp_tensor_unref(a);
    dp_tensor_unref(b);
}
END_TEST

START_TEST(views_share_bytes_and_once_joined_version_and_root)
{
    int64_t sizes[] = {3, 4}, small[] = {2, 2}, strides[] = {4, 2};
    dp_tensor *t = floats(2, sizes), *v = NULL, *same = NULL;

    OK(dpi_as_strided(t, 2, small, strides, 5, &v, &err));
    assert_floats(v, 4, (float[]){5, 7, 9, 11});
    ck_assert_uint_eq(dp_tensor_storage_id(t), dp_tensor_storage_id(v));
    dp_tensor_bump_version(v);
    ck_assert_uint_eq(dp_tensor_version(t), 0);
    ck_assert_ptr_null(dp_tensor_root(v));
    dp_tensor_set_creation(v, DP_CREATED_CUSTOM); /* no view as yet */
    dpi_tensor_join(v, t, false, DP_CREATED_DEFAULT);
    OK(dp_tensor_alias(v, &same, &err));
    ck_assert_uint_eq(dp_tensor_version(v), 0);
    dp_tensor_bump_version(v);
    ck_assert_uint_eq(dp_tensor_version(t), 1);
    ck_assert_uint_eq(dp_tensor_version(same), 1);
    ck_assert_ptr_eq(dp_tensor_root(v), t);
    ck_assert_int_eq(dp_tensor_creation(v), DP_CREATED_DEFAULT);
    dp_tensor_set_creation(v, DP_CREATED_CUSTOM);
    dp_tensor_set_creation(v, DP_CREATED_END);
    ck_assert_int_eq(dp_tensor_creation(v), DP_CREATED_CUSTOM);
    ck_assert_int_eq(dp_tensor_offset(same), 5);
    dp_tensor_unref(t);
    assert_floats(same, 4, (float[]){5, 7, 9, 11});
    dp_tensor_unref(v);
    dp_tensor_unref(same);
}
END_TEST

/* Of the object, not of its bytes; of the tensor, not of its memory, which the next one may get. */
START_TEST(ids_are_of_tensors_and_never_reused)
{
    int64_t sizes[] = {2};
    dp_tensor *t = floats(1, sizes), *view = NULL, *saved = NULL, *second = NULL;
    uint64_t id = dp_tensor_id(t);

    ck_assert_uint_ne(id, 0);
    ck_assert_uint_eq(dp_tensor_id(t), id);
    OK(dpi_as_strided(t, 1, sizes, NULL, 0, &view, &err));
    ck_assert_uint_ne(dp_tensor_id(view), id);
    OK(dp_tensor_alias(t, &saved, &err));
    ck_assert_uint_eq(dp_tensor_id(saved), id);
    OK(dp_tensor_alias(view, &second, &err));
    ck_assert_uint_eq(dp_tensor_id(second), dp_tensor_id(view));
    dp_tensor_unref(t);
    dp_tensor_unref(view);
    dp_tensor_unref(saved);
    uint64_t last = dp_tensor_id(second);
    dp_tensor_unref(second);
    for (int i = 0; i < 100; i++) {
        t = floats(1, sizes);
        ck_assert_uint_gt(dp_tensor_id(t), last);
        last = dp_tensor_id(t);
        dp_tensor_unref(t);
    }
}
END_TEST

START_TEST(as_strided_stays_within_the_storage)
{
    int64_t sizes[] = {3, 4}, past[] = {3, 4}, strides[] = {4, 1};
    dp_tensor *t = floats(2, sizes), *v = NULL;

    FAILS(dpi_as_strided(t, 2, past, strides, 1, &v, &err), DP_ERUNTIME,
          "sizes [3, 4], strides [4, 1], offset 1 and itemsize 4 require a storage of 52 bytes; it "
          "has 48");
    past[0] = 0;
    OK(dpi_as_strided(t, 2, past, strides, 1000, &v, &err)); /* nothing to reach */
    dp_tensor_unref(v);
    dp_tensor_unref(t);
}
END_TEST

START_TEST(whole_storages_come_zeroed)
{
    int64_t sizes[] = {2, 2}, strides[] = {1, 3};
    dp_tensor *t = NULL;

    OK(dp_tensor_new_storage(DP_FLOAT32, 0, 10, 2, sizes, strides, 4, &t, &err));
    assert_floats(t, 4, (float[]){0, 0, 0, 0});
    ck_assert_uint_eq(dp_tensor_storage_bytes(t), 40);
    dp_tensor_unref(t);
    FAILS(dp_tensor_new_storage(DP_FLOAT32, 0, 8, 2, sizes, strides, 4, &t, &err), DP_ERUNTIME,
          "require a storage of 36 bytes; it has 32");
    FAILS(dp_tensor_new_storage(DP_FLOAT32, 0, -1, 2, sizes, strides, 4, &t, &err), DP_EVALUE,
          "-1");
}
END_TEST

static void count_release(void *arg)
{
    ++*(int *)arg;
}

START_TEST(foreign_memory_is_released_once_by_the_last)
{
    int released = 0;
    int64_t sizes[] = {4}, many[] = {5};
    _Alignas(16) float memory[4] = {1, 2, 3, 4};
    dp_tensor *t = NULL, *alias = NULL;

    FAILS(dp_tensor_wrap(DP_FLOAT32, 1, many, NULL, memory, sizeof(memory), count_release,
                         &released, &t, &err),
          DP_ERUNTIME, "require a storage of 20 bytes; it has 16");
    FAILS(dp_tensor_wrap(DP_FLOAT32, 1, sizes, NULL, (char *)memory + 2, 16, count_release,
                         &released, &t, &err),
          DP_EVALUE, "not aligned for float32");
    ck_assert_int_eq(released, 0);
    OK(dp_tensor_wrap(DP_FLOAT32, 1, sizes, NULL, memory, sizeof(memory), count_release, &released,
                      &t, &err));
    OK(dp_tensor_alias(t, &alias, &err));
    dp_tensor_unref(t);
    ck_assert_int_eq(released, 0);
    assert_floats(alias, 4, memory);
    dp_tensor_unref(alias);
    ck_assert_int_eq(released, 1);
    OK(dp_tensor_wrap(DP_FLOAT32, 1, sizes, NULL, memory, 16, NULL, NULL, &t, &err));
    dp_tensor_unref(t);
}
END_TEST

START_TEST(empty_and_zero_dim_tensors_work)
{
    int64_t none[] = {3, 0, 2};
    dp_tensor *e = make(DP_FLOAT32, DP_DEVICE_CPU, 3, none), *z = floats(0, NULL);

    ck_assert_uint_eq(dp_tensor_storage_bytes(e), 0);
    OK(dp_tensor_read(e, NULL, &err));
    OK(dp_tensor_write(e, NULL, &err));
    assert_floats(z, 1, (float[]){0});
    OK(dpi_copy(e, z, 0, &err)); /* broadcast to nothing */
    dp_tensor_unref(e);
    dp_tensor_unref(z);
}
END_TEST

/* As in PyTorch: torch.empty(1, device="cpu:1").device is cpu. */
START_TEST(cpu_and_meta_have_no_index)
{
    const int bits[] = {DP_B_CPU, DP_B_Meta};

    for (int i = 0; i < 2; i++) {
        dp_tensor *t = NULL;
        OK(dp_tensor_new(DP_INT8, DP_DEVICE(bits[i], 7), 0, NULL, NULL, &t, &err));
        DP_VIEW(v, t);
        ck_assert_int_eq(v.device, DP_DEVICE(bits[i], 0));
        dp_tensor_unref(t);
    }
}
END_TEST

START_TEST(strangers_are_named)
{
    int64_t huge[] = {(int64_t)1 << 50};
    dp_tensor *t = NULL;

    FAILS(dp_tensor_new(8, 0, 0, NULL, NULL, &t, &err), DP_ETYPE, "no dtype has number 8");
    FAILS(dp_tensor_new(DP_INT8, DP_DEVICE(DP_B_CUDA, 0), 0, NULL, NULL, &t, &err), DP_ERUNTIME,
          "CUDA");
    FAILS(dp_tensor_new(DP_INT8, DP_DEVICE(40, 0), 0, NULL, NULL, &t, &err), DP_ERUNTIME, "");
    FAILS(dp_tensor_new(DP_INT8, 0, 1, huge, NULL, &t, &err), DP_ERESOURCE,
          "out of memory: 1125899906842624 bytes for a tensor on cpu");
    ck_assert_ptr_null(t);
}
END_TEST

/* -- scalars -- */

START_TEST(scalars_take_their_kinds_dtype)
{
    double pair[] = {1, 2};
    dp_value complex = {DP_TAG_COMPLEX, 0, {.doubles = pair}};
    const struct {
        dp_value v;
        dp_dtype dtype, expected;
        double value;
    } rows[] = {
        {dp_int(7), DP_DTYPE_NONE, DP_INT64, 7},
        {dp_double(1.5), DP_DTYPE_NONE, DP_FLOAT64, 1.5},
        {dp_bool(true), DP_DTYPE_NONE, DP_BOOL, 1},
        {complex, DP_DTYPE_NONE, DP_COMPLEX128, 1},
        {dp_int(-5), DP_UINT8, DP_UINT8, 251},
        {dp_double(2.9), DP_INT32, DP_INT32, 2},
        {dp_int(5), DP_BOOL, DP_BOOL, 1},
        {dp_int(65504), DP_FLOAT16, DP_FLOAT16, 65504},
    };

    for (size_t i = 0; i < DPI_COUNT(rows); i++) {
        dp_tensor *t = NULL;
        double x;
        OK(dpi_scalar_tensor(NULL, rows[i].v, rows[i].dtype, &t, &err));
        ck_assert_int_eq(t->dtype, rows[i].expected);
        ck_assert_int_eq(t->geometry->ndim, 0);
        dp_convert(DP_FLOAT64, &x, t->dtype, t->geometry->storage->data, 1);
        ck_assert_double_eq(x, rows[i].value);
        dp_tensor_unref(t);
    }
}
END_TEST

START_TEST(scalars_that_do_not_fit_are_refused)
{
    double pair[] = {1, 2};
    dp_value complex = {DP_TAG_COMPLEX, 0, {.doubles = pair}};
    const struct {
        dp_value v;
        dp_dtype dtype;
    } rows[] = {{dp_int(300), DP_UINT8},        {dp_int(-129), DP_INT8},
                {dp_double(1e300), DP_FLOAT32}, {dp_double(0x1p63), DP_INT64},
                {complex, DP_FLOAT32},          {dp_double(__builtin_nan("")), DP_INT32},
                {dp_int(65536), DP_FLOAT16}};
    dp_tensor *t = NULL;

    for (size_t i = 0; i < DPI_COUNT(rows); i++)
        FAILS(dpi_scalar_tensor(NULL, rows[i].v, rows[i].dtype, &t, &err), DP_ERUNTIME,
              "value cannot be converted to type");
    FAILS(dpi_scalar_tensor(NULL, dp_none(), DP_INT8, &t, &err), DP_ETYPE, "a number or a bool");
    FAILS(dpi_scalar_tensor(NULL, dp_int(1), 77, &t, &err), DP_ETYPE, "no dtype has number 77");
}
END_TEST

/* -- copies -- */

/* Each through its neighbours: contiguous, transposed and stepped destinations. */
START_TEST(every_dtype_copies_to_every_other)
{
    static const dp_dtype dtypes[] = {
#define ID(id, number, name, bytes) id,
        DP_DTYPE_MAP(ID)
#undef ID
    };
    int64_t sizes[] = {17, 31}, transposed[] = {1, 17}, stepped[] = {62, 2};
    const int64_t *layouts[] = {NULL, transposed, stepped};
    dp_tensor *numbers_ = floats(2, sizes);

    for (size_t i = 0; i < DPI_COUNT(dtypes) * DPI_COUNT(dtypes) * 9; i++) {
        dp_dtype from = dtypes[i % 12], to = dtypes[i / 12 % 12];
        dp_tensor *a = NULL, *b = NULL, *back = make(DP_FLOAT32, 0, 2, sizes);
        OK(dp_tensor_new(from, 0, 2, sizes, layouts[i / 144 % 3], &a, &err));
        OK(dp_tensor_new(to, 0, 2, sizes, layouts[i / 432], &b, &err));
        OK(dpi_copy(a, numbers_, 0, &err));
        OK(dpi_copy(b, a, 0, &err));
        OK(dpi_copy(back, b, 0, &err));
        for (int k = 0; k < 17 * 31; k += 41) {
            float wanted = (float)k, twice[2];
            char one[2][16];
            dp_convert(from, one[0], DP_FLOAT32, &wanted, 1);
            dp_convert(to, one[1], from, one[0], 1);
            dp_convert(DP_FLOAT32, twice, to, one[1], 1);
            ck_assert_msg(((float *)back->geometry->storage->data)[k] == twice[0],
                          "%s to %s: element %d", dp_dtype_name(from), dp_dtype_name(to), k);
        }
        dp_tensor_unref(a);
        dp_tensor_unref(b);
        dp_tensor_unref(back);
    }
    dp_tensor_unref(numbers_);
}
END_TEST

/* Larger than a tile, by a rest, or by none; so large that threads share it. */
START_TEST(copies_across_the_layout_move_every_element)
{
    static const int64_t shapes[][3] = {{2, 130, 70}, {70, 2, 130},  {3, 5, 128},
                                        {1, 65, 64},  {7, 150, 210}, {301, 3, 202}};

    OK(dp_pool_start(_i, &err));
    for (size_t i = 0; i < DPI_COUNT(shapes); i++)
        for (int turn = 0; turn < 6; turn++) {
            static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                             {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
            const int64_t *s = shapes[i];
            dp_tensor *whole = floats(3, s), *turned = NULL, *copy = make(DP_FLOAT32, 0, 3, s);
            int64_t strides[3], next = 1;
            for (int d = 0; d < 3; next *= s[orders[turn][d]], d++)
                strides[orders[turn][d]] = next;
            OK(dp_tensor_new(DP_FLOAT32, 0, 3, s, strides, &turned, &err));
            OK(dpi_copy(turned, whole, 0, &err));
            OK(dpi_copy(copy, turned, 0, &err));
            ck_assert_mem_eq(copy->geometry->storage->data, whole->geometry->storage->data,
                             whole->geometry->storage->bytes);
            const float *at = turned->geometry->storage->data;
            ck_assert_float_eq(at[(s[0] - 1) * strides[0]], (float)((s[0] - 1) * s[1] * s[2]));
            dp_tensor_unref(whole);
            dp_tensor_unref(turned);
            dp_tensor_unref(copy);
        }
    dp_pool_stop();
}
END_TEST

START_TEST(copies_broadcast_the_source)
{
    int64_t sizes[] = {2, 3}, row[] = {3}, column[] = {2, 1}, one[] = {1, 3};
    dp_tensor *dst = make(DP_FLOAT32, 0, 2, sizes), *r = floats(1, row), *c = floats(2, column);
    dp_tensor *flat = floats(1, row), *wide = floats(2, one);

    OK(dpi_copy(dst, r, 0, &err));
    assert_floats(dst, 6, (float[]){0, 1, 2, 0, 1, 2});
    OK(dpi_copy(dst, c, 0, &err));
    assert_floats(dst, 6, (float[]){0, 0, 0, 1, 1, 1});
    FAILS(dpi_copy(flat, wide, 0, &err), DP_ERUNTIME,
          "output with shape [3] doesn't match the broadcast shape [1, 3]");
    FAILS(dpi_copy(c, r, 0, &err), DP_ERUNTIME,
          "output with shape [2, 1] doesn't match the broadcast shape [2, 3]");
    row[0] = 4;
    dp_tensor *four = floats(1, row);
    FAILS(dpi_copy(dst, four, 0, &err), DP_ERUNTIME,
          "The size of tensor a (3) must match the size of tensor b (4) at non-singleton "
          "dimension 1");
    dp_tensor *all[] = {dst, r, c, flat, wide, four};
    for (size_t i = 0; i < DPI_COUNT(all); i++)
        dp_tensor_unref(all[i]);
}
END_TEST

START_TEST(copies_onto_shared_elements_are_refused)
{
    int64_t six[] = {6}, five[] = {5}, one[] = {1}, zero[] = {0};
    dp_tensor *t = floats(1, six), *low = NULL, *high = NULL, *point = NULL, *same = NULL;

    OK(dpi_as_strided(t, 1, five, one, 0, &low, &err));
    OK(dpi_as_strided(t, 1, five, one, 1, &high, &err));
    OK(dpi_as_strided(t, 1, five, zero, 0, &point, &err));
    OK(dp_tensor_alias(low, &same, &err));
    ck_assert_int_eq(dp_overlap(low, high), 2);
    ck_assert_int_eq(dp_overlap(low, same), 1);
    ck_assert_int_eq(dp_overlap(low, point), 3);
    FAILS(dpi_copy(low, high, 0, &err), DP_ERUNTIME, "some elements of the input tensor");
    FAILS(dpi_copy(point, high, 0, &err), DP_ERUNTIME, "more than one element of the written-to");
    FAILS(dp_tensor_write(point, "", &err), DP_ERUNTIME, "more than one element of the written-to");
    OK(dpi_copy(low, same, 0, &err));
    OK(dpi_copy(low, low, 0, &err));
    assert_floats(t, 6, (float[]){0, 1, 2, 3, 4, 5});
    dp_tensor *all[] = {t, low, high, point, same};
    for (size_t i = 0; i < DPI_COUNT(all); i++)
        dp_tensor_unref(all[i]);
}
END_TEST

START_TEST(bytes_written_as_bools_become_bools)
{
    int64_t sizes[] = {4};
    dp_tensor *t = make(DP_BOOL, 0, 1, sizes);
    const unsigned char bytes[4] = {0, 1, 2, 255};
    unsigned char got[4];

    OK(dp_tensor_write(t, bytes, &err));
    OK(dp_tensor_read(t, got, &err));
    ck_assert_int_eq(got[1] + got[2] + got[3] + got[0], 3);
    dp_tensor_unref(t);
}
END_TEST

/* -- devices -- */

static int device_bit;
static dpi_device *the_device; /* of the last registration */

static dp_device open_device(int index)
{
    if (index == 0) {
        OK(dpi_device_new("faultdev", &faultdev_ops, &the_device, &err));
        OK(dpi_backend_install("faultdev", "test", the_device, &device_bit, &err));
        dpi_device_unref(the_device); /* the table's */
    }
    return DP_DEVICE(device_bit, index);
}

static void close_device(void)
{
    dpi_backend_unregister(device_bit);
    ck_assert_uint_eq(faultdev.live, 0);
    faultdev_close();
}

START_TEST(device_memory_is_reached_by_the_device_alone)
{
    dp_device device = open_device(0);
    int64_t sizes[] = {2, 3}, inner[] = {2, 2}, strides[] = {3, 1}, turned[] = {1, 2};
    dp_tensor *host = floats(2, sizes), *there = make(DP_FLOAT32, device, 2, sizes), *part = NULL;
    dp_tensor *ints = make(DP_INT64, device, 2, sizes), *back = make(DP_FLOAT32, 0, 2, sizes);
    dp_tensor *columns = NULL, *other = make(DP_FLOAT32, open_device(1), 2, sizes);

    OK(dpi_copy(there, host, 0, &err)); /* down */
    OK(dpi_copy(back, there, 0, &err)); /* up */
    assert_floats(back, 6, (float[]){0, 1, 2, 3, 4, 5});
    OK(dp_tensor_new(DP_FLOAT32, device, 2, sizes, turned, &columns, &err));
    OK(dpi_copy(columns, there, 0, &err)); /* another layout, same device */
    assert_floats(columns, 6, (float[]){0, 1, 2, 3, 4, 5});
    OK(dpi_copy(ints, columns, 0, &err)); /* another dtype */
    OK(dpi_copy(other, ints, 0, &err));   /* another device */
    assert_floats(other, 6, (float[]){0, 1, 2, 3, 4, 5});
    OK(dpi_as_strided(there, 2, inner, strides, 1, &part, &err));
    OK(dp_tensor_write(part, (float[]){10, 20, 30, 40}, &err)); /* what lies between stays */
    assert_floats(there, 6, (float[]){0, 10, 20, 3, 30, 40});
    OK(dpi_copy(other, there, 0, &err));
    OK(dpi_copy(there, other, 0, &err));
    dp_tensor *again = make(DP_FLOAT32, device, 2, sizes);
    OK(dpi_copy(again, there, 0, &err)); /* alike: moved by the device */
    assert_floats(again, 6, (float[]){0, 10, 20, 3, 30, 40});
    dp_tensor *all[] = {host, there, part, ints, back, columns, other, again};
    for (size_t i = 0; i < DPI_COUNT(all); i++)
        dp_tensor_unref(all[i]);
    close_device();
}
END_TEST

START_TEST(device_failures_are_told_with_the_backends_name)
{
    dp_device device = open_device(0);
    int64_t sizes[] = {2}, huge[] = {1 << 30};
    dp_tensor *host = floats(1, sizes), *there = make(DP_FLOAT32, device, 1, sizes), *t = NULL;

    FAILS(dp_tensor_new(DP_INT8, DP_DEVICE(device_bit, 2), 1, sizes, NULL, &t, &err), DP_ERUNTIME,
          "backend faultdev has 2 devices, there is no faultdev:2");
    FAILS(dp_tensor_new(DP_INT8, device, 1, huge, NULL, &t, &err), DP_ERESOURCE,
          "backend faultdev: allocate failed: no room on the device");
    faultdev.refuse = DP_EBUSY;
    FAILS(dpi_copy(there, host, 0, &err), DP_EBUSY,
          "backend faultdev: copy failed: told to refuse");
    faultdev.refuse = 12345;
    FAILS(dp_tensor_read(there, &sizes, &err), DP_EPLUGIN,
          "backend faultdev: copy returned 12345, which is no error code");
    FAILS(dp_tensor_new(DP_INT8, device, 1, sizes, NULL, &t, NULL), DP_EPLUGIN, "");
    faultdev.refuse = 0;
    faultdev.off = 16;
    FAILS(dp_tensor_new(DP_INT8, device, 1, sizes, NULL, &t, &err), DP_EPLUGIN,
          "which is not aligned to 64 bytes");
    ck_assert_uint_eq(faultdev.live, 1); /* it has it back */
    faultdev.off = 0;
    dp_tensor_unref(host);
    dp_tensor_unref(there);
    close_device();
}
END_TEST

START_TEST(tensors_of_a_device_that_ends_are_released_by_it)
{
    dp_device device = open_device(0);
    int64_t sizes[] = {2}, none[] = {0};
    dp_tensor *old = make(DP_FLOAT32, device, 1, sizes), *gone = make(DP_INT8, device, 1, sizes),
              *empty = make(DP_INT8, device, 1, none);
    dp_tensor_stats start, end;
    float x[2];

    dp_tensor_stats_get(&start);
    dp_tensor_unref(gone);
    ck_assert_uint_eq(faultdev.live, 1);
    dpi_device_end(the_device);
    ck_assert_uint_eq(faultdev.live, 0);
    dp_tensor_stats_get(&end);
    ck_assert_uint_eq(end.bytes, start.bytes - 10);
    FAILS(dp_tensor_read(old, x, &err), DP_ERUNTIME, "backend faultdev was unloaded");
    FAILS(dpi_tensor_check_device(empty, &err), DP_ERUNTIME, "backend faultdev was unloaded");
    open_device(0);
    dp_tensor *fresh = make(DP_FLOAT32, device, 1, sizes);
    OK(dp_tensor_read(fresh, x, &err));
    FAILS(dpi_tensor_check_device(old, &err), DP_ERUNTIME, "backend faultdev was unloaded");
    dp_tensor_unref(old);
    dp_tensor_unref(empty);
    ck_assert_uint_eq(faultdev.live, 1);
    dp_tensor_unref(fresh);
    close_device();
}
END_TEST

/* The device goes first; what it had is its own to lose, and a later one of that name has other
 * memory. */
START_TEST(tensors_of_an_unloaded_backend_answer_by_name)
{
    dp_device device = open_device(0);
    int64_t sizes[] = {2};
    dp_tensor *old = make(DP_FLOAT32, device, 1, sizes), *host = floats(1, sizes), *t = NULL;
    float x[2];

    dpi_backend_unregister(device_bit);
    ck_assert_uint_eq(dpi_backend_storages(device_bit), 1);
    FAILS(dp_tensor_read(old, x, &err), DP_ERUNTIME, "backend faultdev was unloaded");
    FAILS(dpi_copy(old, host, 0, &err), DP_ERUNTIME, "backend faultdev was unloaded");
    FAILS(dpi_copy(host, old, 0, &err), DP_ERUNTIME, "backend faultdev was unloaded");
    FAILS(dpi_empty_like(old, DP_DTYPE_NONE, (dpi_place){dpi_storage_of(old)->device, NULL},
                         DP_PRESERVE, &t, &err),
          DP_ERUNTIME, "backend faultdev was unloaded");
    ck_assert_int_eq(open_device(0), device);
    FAILS(dp_tensor_read(old, x, &err), DP_ERUNTIME, "backend faultdev was unloaded");
    dp_tensor *fresh = make(DP_FLOAT32, device, 1, sizes);
    FAILS(dpi_copy(fresh, old, 0, &err), DP_ERUNTIME, "backend faultdev was unloaded");
    dp_tensor_unref(fresh);
    ck_assert_uint_eq(faultdev.live, 1); /* the old block: nobody gave it back */
    dp_tensor_unref(old);
    ck_assert_uint_eq(faultdev.live, 1);
    ck_assert_uint_eq(dpi_backend_storages(device_bit), 0);
    dp_tensor_unref(host);
    faultdev.live = 0;
    close_device();
}
END_TEST

/* A record with the three slots that must be there: what the others do when they are not. */
START_TEST(a_device_without_streams_has_nothing_to_wait_for)
{
    dp_device device = open_device(0);
    int64_t sizes[] = {2, 3};
    dp_tensor *host = floats(2, sizes), *there = make(DP_FLOAT32, device, 2, sizes), *pinned = NULL;
    dp_stream *s = NULL, *other = NULL;
    dp_event *begin = NULL, *end = NULL;
    size_t have, all;
    double ms = -1;
    bool done = false;

    OK(dpi_stream_new(device, &s, &err));
    ck_assert_ptr_null(dp_stream_handle(s));
    OK(dpi_event_new(device, &begin, &err));
    OK(dpi_event_new(device, &end, &err));
    FAILS(dpi_event_elapsed(begin, end, &ms, &err), DP_ERUNTIME, "never recorded");
    OK(dpi_event_record(begin, s, &err));
    OK(dpi_copy_async(there, host, s, 1, &err));
    OK(dpi_event_record(end, s, &err));
    OK(dpi_event_wait(end, s, &err));
    OK(dpi_event_query(end, &done, &err));
    ck_assert(done);
    OK(dpi_event_elapsed(begin, end, &ms, &err));
    ck_assert_double_ge(ms, 0);
    OK(dpi_stream_query(s, &done, &err));
    ck_assert(done);
    assert_floats(there, 6, (float[]){0, 1, 2, 3, 4, 5});
    OK(dpi_fill_bytes(there, 0, s, &err));
    assert_floats(there, 6, (float[]){0, 0, 0, 0, 0, 0});
    OK(dpi_empty_pinned(DP_FLOAT32, (dpi_place){device, NULL}, 2, sizes, &pinned, &err));
    ck_assert(!dpi_tensor_is_pinned(pinned));
    OK(dpi_record_stream(there, s, &err));
    FAILS(dpi_device_memory(device, &have, &all, &err), DP_ENOTIMPL, "faultdev:0 has is not known");
    FAILS(dpi_stream_new(DP_DEVICE(device_bit, 2), &other, &err), DP_ERUNTIME, "faultdev:2");
    dp_tensor_unref(host);
    dp_tensor_unref(there);
    dp_tensor_unref(pinned);
    dp_stream_unref(s);
    dp_event_unref(begin);
    dp_event_unref(end);
    close_device();
}
END_TEST

START_TEST(meta_tensors_have_no_data)
{
    int64_t sizes[] = {1 << 20, 1 << 20}, none[] = {0};
    dp_tensor *m = make(DP_FLOAT64, DP_DEVICE(DP_B_Meta, 0), 2, sizes), *z = floats(0, NULL);
    dp_tensor *empty = make(DP_FLOAT64, DP_DEVICE(DP_B_Meta, 0), 1, none);
    dp_tensor_stats now;
    float x = 7;

    ck_assert_ptr_null(dpi_tensor_data(m));
    ck_assert(dpi_is_memoryless(m) && dpi_is_memoryless(empty) && !dpi_is_memoryless(z));
    ck_assert_uint_eq(dp_tensor_storage_bytes(m), (uint64_t)1 << 43);
    dp_tensor_stats_get(&now);
    ck_assert_uint_eq(now.bytes, alive_before.bytes + sizeof(x));
    ck_assert_uint_eq(now.storages, alive_before.storages + 3);
    FAILS(dp_tensor_read(m, &x, &err), DP_ENOTIMPL, "Cannot copy out of meta tensor; no data!");
    OK(dp_tensor_read(empty, &x, &err));
    OK(dpi_copy(m, z, 0, &err));
    dp_tensor *small = make(DP_FLOAT64, DP_DEVICE(DP_B_Meta, 0), 0, NULL);
    FAILS(dpi_copy(z, small, 0, &err), DP_ENOTIMPL, "Cannot copy out of meta tensor; no data!");
    OK(dp_tensor_write(small, &x, &err));
    ck_assert_float_eq(x, 7);
    dp_tensor_unref(empty);
    dp_tensor_unref(small);
    dp_tensor_unref(m);
    dp_tensor_unref(z);
}
END_TEST

/* The device is a true one; it may go meanwhile, since the storage has nothing of it. */
START_TEST(storages_without_memory_know_a_size_alone)
{
    dpi_device *d;
    int64_t sizes[] = {1 << 18};
    dp_tensor_stats now;

    open_device(0);
    dp_tensor *t = make(DP_FLOAT32, DP_DEVICE(device_bit, 1) | DPI_MEMORYLESS, 1, sizes);
    const dpi_storage *s = dpi_storage_of(t);
    ck_assert_ptr_null(s->data);
    ck_assert_uint_eq(s->bytes, 1 << 20);
    ck_assert_int_eq(s->device, DP_DEVICE(device_bit, 1));
    ck_assert_uint_eq(faultdev.live, 0);
    dp_tensor_stats_get(&now);
    ck_assert_uint_eq(now.bytes, alive_before.bytes);
    FAILS(dpi_storage_enter(s, &d, &err), DP_ENOTIMPL,
          "Cannot copy out of a tensor on faultdev:1 that has no memory; no data!");
    dpi_device_end(the_device);
    FAILS(dpi_storage_enter(s, &d, &err), DP_ENOTIMPL, "faultdev:1 that has no memory");
    ck_assert_uint_eq(dpi_backend_storages(device_bit), 1);
    FAILS(dp_tensor_new(DP_FLOAT32, DP_DEVICE(70, 0) | DPI_MEMORYLESS, 1, sizes, NULL, &t, &err),
          DP_ERUNTIME, "no backend has number 70");
    dp_tensor_unref(t);
    ck_assert_uint_eq(dpi_backend_storages(device_bit), 0);
    faultdev_close();
}
END_TEST

/* As on the host: it is the places in the storage that count. */
START_TEST(overlaps_are_found_without_memory)
{
    int64_t sizes[] = {8}, four[] = {4}, one[] = {1}, zero[] = {0};
    dp_tensor *m = make(DP_FLOAT32, DP_DEVICE(DP_B_Meta, 0), 1, sizes), *v[4];

    for (int i = 0; i < 3; i++)
        OK(dpi_as_strided(m, 1, four, one, 2 * i, &v[i], &err));
    OK(dpi_as_strided(m, 1, four, zero, 0, &v[3], &err));
    ck_assert_int_eq(dp_overlap(v[0], v[1]), DPI_OVERLAP_PARTIAL);
    ck_assert_int_eq(dp_overlap(v[0], v[2]), DPI_OVERLAP_NONE);
    ck_assert_int_eq(dp_overlap(v[0], v[0]), DPI_OVERLAP_FULL);
    FAILS(dpi_copy(v[0], v[1], 0, &err), DP_ERUNTIME, "refer to a single memory location");
    FAILS(dpi_copy(v[3], v[1], 0, &err), DP_ERUNTIME, "more than one element");
    for (int i = 0; i < 4; i++)
        dp_tensor_unref(v[i]);
    dp_tensor_unref(m);
}
END_TEST

/* -- faults -- */

static int do_new(const dp_tensor *t, dp_tensor **out)
{
    return dp_tensor_new(DP_INT8, 0, t->geometry->ndim, t->geometry->sizes, NULL, out, &err);
}
static int do_empty_like(const dp_tensor *t, dp_tensor **out)
{
    return dpi_empty_like(t, DP_INT8, (dpi_place){0}, DP_PRESERVE, out, &err);
}
static int do_view(const dp_tensor *t, dp_tensor **out)
{
    return dpi_as_strided(t, 2, t->geometry->sizes, t->geometry->strides, 0, out, &err);
}
static int do_alias(const dp_tensor *t, dp_tensor **out)
{
    return dp_tensor_alias(t, out, &err);
}
static int do_scalar(const dp_tensor *t, dp_tensor **out)
{
    (void)t;
    return dpi_scalar_tensor(NULL, dp_int(1), DP_DTYPE_NONE, out, &err);
}
static int do_wrap(const dp_tensor *t, dp_tensor **out)
{
    static _Alignas(64) char memory[64];
    return dp_tensor_wrap(DP_INT8, t->geometry->ndim, t->geometry->sizes, NULL, memory,
                          sizeof(memory), NULL, NULL, out, &err);
}
static int do_device(const dp_tensor *t, dp_tensor **out)
{
    dp_tensor *there = NULL;
    int rc = dp_tensor_new(DP_INT8, DP_DEVICE(device_bit, 0), t->geometry->ndim, t->geometry->sizes,
                           NULL, &there, &err);
    if (rc == DP_OK)
        rc = dpi_copy(there, t, 0, &err);
    if (rc == DP_OK)
        *out = there;
    else
        dp_tensor_unref(there);
    return rc;
}

/* Every allocation in turn fails. */
START_TEST(no_memory_is_an_error_and_changes_nothing)
{
    static int (*const makers[])(const dp_tensor *, dp_tensor **) = {
        do_new, do_empty_like, do_view, do_alias, do_scalar, do_wrap, do_device};
    int64_t sizes[] = {3, 2};
    dp_tensor *t = floats(2, sizes);
    dp_tensor_stats start, now;

    open_device(0);
    dp_tensor_stats_get(&start);
    for (uint64_t n = 1;; n++) {
        dp_tensor *out = NULL;
        dp_error_clear(&err);
        dp_fault_arm(n);
        int rc = makers[_i](t, &out);
        bool hit = dp_fault_hit();
        dp_fault_arm(0);
        dp_tensor_unref(out);
        dp_tensor_stats_get(&now);
        ck_assert_uint_eq(now.tensors, start.tensors);
        ck_assert_uint_eq(now.bytes, start.bytes);
        ck_assert_int_eq(rc, hit ? DP_ERESOURCE : DP_OK);
        if (!hit)
            break;
        ck_assert_ptr_null(out);
        ck_assert(strstr(err.message, "out of memory"));
    }
    dp_tensor_unref(t);
    close_device();
}
END_TEST

/* -- threads -- */

static void *ref_and_make(void *arg)
{
    dp_tensor *t = arg;

    for (int i = 0; i < 2000; i++) {
        dp_tensor *mine = NULL;
        dp_error local = DP_ERROR_INIT;
        dp_tensor_ref(t);
        if (dpi_empty_like(t, DP_DTYPE_NONE, (dpi_place){0}, DP_PRESERVE, &mine, &local) == DP_OK)
            dpi_copy(mine, t, 0, &local);
        dp_tensor_unref(mine);
        dp_tensor_unref(t);
    }
    return NULL;
}

START_TEST(threads_share_tensors)
{
    int64_t sizes[] = {5, 5};
    dp_tensor *t = floats(2, sizes);
    pthread_t threads[4];

    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, ref_and_make, t);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(t->refs, 1);
    dp_tensor_unref(t);
}
END_TEST

UNIT_SUITE(tensor)
{
    tcase_add_checked_fixture(tc, alive_begin, alive_end);
    tcase_add_test(tc, new_has_keys_geometry_and_zero_version);
    tcase_add_test(tc, view_writes_no_more_than_its_size);
    tcase_add_test(tc, only_zero_dim_tensors_are_wrapped_numbers);
    tcase_add_test(tc, views_share_bytes_and_once_joined_version_and_root);
    tcase_add_test(tc, ids_are_of_tensors_and_never_reused);
    tcase_add_test(tc, as_strided_stays_within_the_storage);
    tcase_add_test(tc, whole_storages_come_zeroed);
    tcase_add_test(tc, foreign_memory_is_released_once_by_the_last);
    tcase_add_test(tc, empty_and_zero_dim_tensors_work);
    tcase_add_test(tc, cpu_and_meta_have_no_index);
    tcase_add_test(tc, strangers_are_named);
    tcase_add_test(tc, scalars_take_their_kinds_dtype);
    tcase_add_test(tc, scalars_that_do_not_fit_are_refused);
    tcase_add_test(tc, every_dtype_copies_to_every_other);
    tcase_add_loop_test(tc, copies_across_the_layout_move_every_element, 0, 3);
    tcase_add_test(tc, copies_broadcast_the_source);
    tcase_add_test(tc, copies_onto_shared_elements_are_refused);
    tcase_add_test(tc, bytes_written_as_bools_become_bools);
    tcase_add_test(tc, device_memory_is_reached_by_the_device_alone);
    tcase_add_test(tc, device_failures_are_told_with_the_backends_name);
    tcase_add_test(tc, tensors_of_a_device_that_ends_are_released_by_it);
    tcase_add_test(tc, tensors_of_an_unloaded_backend_answer_by_name);
    tcase_add_test(tc, a_device_without_streams_has_nothing_to_wait_for);
    tcase_add_test(tc, meta_tensors_have_no_data);
    tcase_add_test(tc, storages_without_memory_know_a_size_alone);
    tcase_add_test(tc, overlaps_are_found_without_memory);
    tcase_add_loop_test(tc, no_memory_is_an_error_and_changes_nothing, 0, 7);
    tcase_add_test(tc, threads_share_tensors);
}
