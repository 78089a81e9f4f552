/* test_header.c -- headers of safetensors files: what is written reads back, damaged ones are
 * refused with both sides of what is wrong, at every allocation that fails nothing is left. */
#include "store/store.h"
#include "unit.h"
#include <stdlib.h>
#include <string.h>

static dp_error err;

static int read_text(const char *text, uint64_t data_bytes, stored_header *h)
{
    dp_error_clear(&err);
    return stored_header_read(text, strlen(text), data_bytes, h, &err);
}

START_TEST(a_header_says_what_follows)
{
    stored_header h;

    ck_assert_int_eq(
        read_text("{\"__metadata__\":{\"by\":\"x\"},"
                  "\"b\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[24,32]},"
                  "\"a\\n\":{\"data_offsets\":[0,24],\"shape\":[2,3],\"dtype\":\"F32\"},"
                  "\"none\":{\"dtype\":\"BOOL\",\"shape\":[0,5],\"data_offsets\":[24,24]}}  \n ",
                  32, &h),
        0);
    ck_assert_uint_eq(h.n, 3);
    ck_assert_str_eq(h.tensors[0].name, "b");
    ck_assert(h.tensors[0].dtype == DP_INT64 && h.tensors[0].ndim == 0);
    ck_assert_str_eq(h.tensors[1].name, "a\n");
    ck_assert(h.tensors[1].ndim == 2 && h.tensors[1].sizes[1] == 3 && h.tensors[1].end == 24);
    ck_assert(h.tensors[2].dtype == DP_BOOL && h.tensors[2].sizes[1] == 5);
    ck_assert_str_eq(h.metadata->child->valuestring, "x");
    stored_header_fini(&h);
    ck_assert_int_eq(read_text("{}", 0, &h), 0);
    stored_header_fini(&h);
}
END_TEST

#define ONE(dtype, shape, offsets)                                                                 \
    "{\"w\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}}"
#define TWO(first, second)                                                                         \
    "{\"v\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":" first                               \
    "},\"w\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":" second "}}"
#define F32 "\"F32\""

static const struct {
    const char *text;
    uint64_t data_bytes;
    int code;
    const char *message;
} damaged[] = {
    {"", 0, DP_EVALUE, "header of 0 bytes does not begin with '{'"},
    {"[]", 0, DP_EVALUE, "does not begin with '{'"},
    {" {}", 0, DP_EVALUE, "does not begin with '{'"},
    {"{", 0, DP_EVALUE, "the header: "},
    {"{}x", 0, DP_EVALUE, "the header: "},
    {"{\"a\":{},\"a\":{}}", 0, DP_EVALUE, "the header: "},
    {"{\"\xff\":{}}", 0, DP_EVALUE, "the header: "},
    {"{\"\\ud800\":{}}", 0, DP_EVALUE, "the header: "},
    {"{\"a\":9007199254740992}", 0, DP_EVALUE, "the header: "},
    {"{\"a\":1}", 0, DP_EVALUE, "'a' of the header: expected an object"},
    {"{\"\":{}}", 0, DP_EVALUE, "1 to 1023 bytes (tensor_name_bytes) but this has 0"},
    {"{\"w\":{}}", 0, DP_EVALUE, "member 'dtype' is missing"},
    {"{\"w\":{\"dtype\":\"F32\"}}", 0, DP_EVALUE, "member 'shape' is missing"},
    {"{\"w\":{\"dtype\":\"F32\",\"shape\":[]}}", 0, DP_EVALUE, "member 'data_offsets' is missing"},
    {"{\"w\":{\"dtype\":\"F32\",\"stride\":[]}}", 0, DP_EVALUE, "unknown member 'stride'"},
    {"{\"__metadata__\":[]}", 0, DP_EVALUE, "__metadata__ of the header: expected an object"},
    {"{\"__metadata__\":{\"a\":1}}", 0, DP_EVALUE, "'a' is no string"},
    {ONE("7", "[]", "[0,4]"), 4, DP_EVALUE, "dtype: expected a name"},
    {ONE("\"F33\"", "[]", "[0,4]"), 4, DP_ENOTIMPL, "dtype 'F33' is none of F64 F32"},
    {ONE("\"U64\"", "[]", "[0,8]"), 8, DP_ENOTIMPL, "dtype 'U64' is none of"},
    {ONE(F32, "4", "[0,4]"), 4, DP_EVALUE, "shape: expected an array"},
    {ONE(F32, "[-1]", "[0,4]"), 4, DP_EVALUE, "shape: expected an array"},
    {ONE(F32, "[1.5]", "[0,4]"), 4, DP_EVALUE, "shape: expected an array"},
    {ONE(F32, "[[1]]", "[0,4]"), 4, DP_EVALUE, "shape: expected an array"},
    {ONE(F32,
         "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
         "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]",
         "[0,4]"),
     4, DP_EVALUE, "at most 64 integers"},
    {ONE(F32, "[]", "[0]"), 4, DP_EVALUE, "data_offsets: expected two integers"},
    {ONE(F32, "[]", "[0,4,8]"), 4, DP_EVALUE, "data_offsets: expected two integers"},
    {ONE(F32, "[]", "[-4,0]"), 4, DP_EVALUE, "data_offsets: expected two integers"},
    {ONE(F32, "[]", "[4,0]"), 4, DP_EVALUE, "the begin 4 is after the end 0"},
    {ONE(F32, "[2]", "[0,4]"), 4, DP_EVALUE,
     "F32 of shape [2] takes 8 bytes but data_offsets has 4"},
    {ONE(F32, "[0]", "[0,4]"), 4, DP_EVALUE, "takes 0 bytes but data_offsets has 4"},
    {ONE(F32, "[4294967296,4294967296]", "[0,4]"), 4, DP_EVALUE, "do not fit 64 bits"},
    {ONE(F32, "[4611686018427387904]", "[0,4]"), 4, DP_EVALUE, "the header: "},
    {ONE(F32, "[1]", "[0,4]"), 5, DP_EVALUE, "have 4 bytes but the file has 5 after its header"},
    {ONE(F32, "[1]", "[0,4]"), 3, DP_EVALUE, "have 4 bytes but the file has 3"},
    {ONE(F32, "[1]", "[4,8]"), 8, DP_EVALUE,
     "begins at byte 4 of the data, but the one before it ends at 0"},
    {TWO("[0,4]", "[0,4]"), 4, DP_EVALUE,
     "begins at byte 0 of the data, but the one before it ends at 4"},
    {TWO("[0,4]", "[3,7]"), 7, DP_EVALUE,
     "begins at byte 3 of the data, but the one before it ends at 4"},
    {TWO("[5,9]", "[0,4]"), 9, DP_EVALUE, "'v' of the header begins at byte 5"},
    {"{}", 1, DP_EVALUE, "have 0 bytes but the file has 1"},
};
enum { DAMAGED = sizeof(damaged) / sizeof(damaged[0]) };

START_TEST(a_damaged_header_is_refused)
{
    stored_header h;

    ck_assert_int_eq(read_text(damaged[_i].text, damaged[_i].data_bytes, &h), damaged[_i].code);
    ck_assert_msg(strstr(err.message, damaged[_i].message) != NULL, "%s: got '%s', want '%s'",
                  damaged[_i].text, err.message, damaged[_i].message);
    ck_assert_ptr_null(h.root);
    ck_assert_ptr_null(h.tensors);
}
END_TEST

static int length(uint64_t announced, uint64_t file_bytes, size_t *out)
{
    uint8_t first[STORE_LENGTH_BYTES];

    for (int i = 0; i < STORE_LENGTH_BYTES; i++)
        first[i] = (uint8_t)(announced >> 8 * i);
    return stored_length(first, file_bytes, out, &err);
}

START_TEST(a_length_fits_the_file_and_the_limit)
{
    size_t bytes = 0;

    ck_assert_int_eq(length(2, 10, &bytes), 0);
    ck_assert_uint_eq(bytes, 2);
    ck_assert_int_eq(length(3, 10, &bytes), DP_EVALUE);
    ck_assert_str_eq(err.message, "no whole safetensors file: a header of 3 bytes is announced but "
                                  "2 bytes follow");
    ck_assert_int_eq(length(UINT64_MAX, 10, &bytes), DP_EVALUE);
    ck_assert_int_eq(length(0, 7, &bytes), DP_EVALUE);
    ck_assert_int_eq(length(LIMIT_STORE_HEADER_BYTES, UINT64_C(1) << 40, &bytes), 0);
    ck_assert_int_eq(length(LIMIT_STORE_HEADER_BYTES + 1, UINT64_C(1) << 40, &bytes), DP_ERESOURCE);
    ck_assert_ptr_nonnull(strstr(err.message, "at most 16777216 (store_header_bytes)"));
}
END_TEST

static const int64_t two[] = {2, 2};

/* Write a header of three tensors.  Returns the offset of its text, or an error. */
static int write_header(jw *w, stored *tensors)
{
    const stored all[] = {{"bytes", DP_UINT8, 1, two, 0, 0, NULL},
                          {"\"quoted\"", DP_FLOAT32, 2, two, 0, 0, NULL},
                          {"short", DP_INT16, 2, two, 0, 0, NULL}};

    memcpy(tensors, all, sizeof(all));
    int rc = stored_arrange(tensors, 3, &err);
    stored_header_write(tensors, 3, NULL, w);
    return rc == 0 ? stored_header_end(w, &err) : rc;
}

START_TEST(what_is_written_reads_back)
{
    stored tensors[3];
    stored_header h;
    size_t bytes;
    jw w;

    jw_init(&w);
    ck_assert_int_eq(write_header(&w, tensors), 0);
    ck_assert_uint_eq(w.len % 8, 0);
    ck_assert_int_eq(stored_length((const uint8_t *)w.s, w.len + 26, &bytes, &err), 0);
    ck_assert_uint_eq(bytes, w.len - 8);
    ck_assert_int_eq(stored_header_read(w.s + 8, bytes, 26, &h, &err), 0);
    ck_assert_str_eq(h.tensors[0].name, "\"quoted\"");
    ck_assert_str_eq(h.tensors[1].name, "short");
    ck_assert_uint_eq(h.tensors[1].begin, 16);
    ck_assert_uint_eq(h.tensors[2].end, 26);
    stored_header_fini(&h);
    jw_fini(&w);
    tensors[0].name = tensors[2].name;
    ck_assert_int_eq(stored_arrange(tensors, 3, &err), DP_EVALUE);
    ck_assert_ptr_nonnull(strstr(err.message, "two tensors have the name '"));
}
END_TEST

START_TEST(every_dtype_of_the_format_has_its_name)
{
    static const dp_dtype dtypes[] = {DP_FLOAT64, DP_FLOAT32, DP_FLOAT16,  DP_BFLOAT16,
                                      DP_INT64,   DP_INT32,   DP_INT16,    DP_INT8,
                                      DP_UINT8,   DP_BOOL,    DP_COMPLEX64};
    char text[100];
    stored_header h;

    for (size_t i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++) {
        int size = (int)dp_dtype_size(dtypes[i]);
        snprintf(text, sizeof(text), ONE("\"%s\"", "[1]", "[0,%d]"), stored_dtype_name(dtypes[i]),
                 size);
        ck_assert_msg(read_text(text, (uint64_t)size, &h) == 0, "%s", err.message);
        ck_assert_int_eq(h.tensors[0].dtype, dtypes[i]);
        stored_header_fini(&h);
    }
    ck_assert_ptr_null(stored_dtype_name(DP_COMPLEX128));
    ck_assert_ptr_null(stored_dtype_name(DP_QINT8));
}
END_TEST

START_TEST(at_the_nth_allocation_that_fails)
{
    stored tensors[3];
    int rc = -1;

    for (uint64_t n = 1; rc != 0; n++) {
        stored_header h = {0};
        jw w;
        jw_init(&w);
        dp_fault_arm(n);
        rc = write_header(&w, tensors);
        if (rc == 0)
            rc = stored_header_read(w.s + 8, w.len - 8, 26, &h, &err);
        dp_fault_arm(0);
        ck_assert(rc == 0 || rc == DP_ERESOURCE);
        ck_assert((rc == 0) == (h.root != NULL));
        stored_header_fini(&h);
        jw_fini(&w);
        ck_assert_uint_lt(n, 20);
    }
}
END_TEST

/* Bytes of a good header are changed, cut and doubled: each is refused, or describes tensors that
 * cover the data exactly. */
START_TEST(damage_at_random)
{
    enum { ROUNDS = 30000 };
    static const char letters[] = "{}[]\",:0123456789-.eE \\ntF32U8\x80\xff";
    stored tensors[3];
    unsigned seed = 7, read = 0;
    jw w;

    jw_init(&w);
    ck_assert_int_eq(write_header(&w, tensors), 0);
    for (int round = 0; round < ROUNDS; round++) {
        char text[1024];
        stored_header h;
        size_t n = w.len - 8;
        memcpy(text, w.s + 8, n);
        for (int changes = rand_r(&seed) % 3; changes >= 0; changes--)
            text[(size_t)rand_r(&seed) % n] =
                letters[(size_t)rand_r(&seed) % (sizeof(letters) - 1)];
        if (rand_r(&seed) % 8 == 0)
            n = (size_t)rand_r(&seed) % n;
        uint64_t data = 26 + (uint64_t)(rand_r(&seed) % 8 == 0), sum = 0;
        if (stored_header_read(text, n, data, &h, &err) < 0)
            continue;
        read++;
        for (size_t i = 0; i < h.n; i++) {
            const stored *t = &h.tensors[i];
            uint64_t bytes = dp_sizes_product(dp_dtype_size(t->dtype), t->sizes, (size_t)t->ndim);
            unit_each(t->end <= data && t->end - t->begin == bytes, "tensor %zu", i);
            sum += bytes;
        }
        unit_each(sum == data, "%llu bytes", (unsigned long long)sum);
        stored_header_fini(&h);
    }
    ck_assert_uint_gt(read, 100); /* changes of names and of blanks */
    jw_fini(&w);
}
END_TEST

UNIT_SUITE(store_header)
{
    tcase_add_test(tc, a_header_says_what_follows);
    tcase_add_loop_test(tc, a_damaged_header_is_refused, 0, DAMAGED);
    tcase_add_test(tc, a_length_fits_the_file_and_the_limit);
    tcase_add_test(tc, what_is_written_reads_back);
    tcase_add_test(tc, every_dtype_of_the_format_has_its_name);
    tcase_add_test(tc, at_the_nth_allocation_that_fails);
    tcase_add_test(tc, damage_at_random);
}
