/* test_attachments.c -- what a line announces: sizes, their sum, descriptors, and what is wrong
 * with them. */
#include "methods/methods.h"
#include "unit.h"
#include <string.h>

enum { MOST = 1000 };

static request rq;
static dp_error err;

/* What the line announces when `came` descriptors are there. */
static int64_t announced(const char *line, size_t came, size_t *n_fds)
{
    rq = (request){0};
    dp_error_clear(&err);
    ck_assert_int_eq(json_parse(line, strlen(line), &rq.root, &err), 0);
    return request_announced(&rq, MOST, came, n_fds, &err);
}

static void drop(void)
{
    json_free(rq.root);
    dp_free(rq.attachment_bytes);
    dp_free(rq.attachment_offset);
}

START_TEST(sizes_are_added_up)
{
    size_t n_fds = 9;

    ck_assert_int_eq(announced("{\"attachments\":[3,0,997]}", 0, &n_fds), MOST);
    ck_assert_uint_eq(rq.n_attachments, 3);
    ck_assert_uint_eq(rq.attachment_offset[2], 3);
    ck_assert_uint_eq(rq.attachment_bytes[2], 997);
    ck_assert_uint_eq(n_fds, 0);
    drop();
    ck_assert_int_eq(announced("{\"id\":1}", 0, &n_fds), 0);
    drop();
}
END_TEST

START_TEST(descriptors_have_to_be_there)
{
    size_t n_fds;

    ck_assert_int_eq(announced("{\"fds\":2}", 3, &n_fds), 0);
    ck_assert_uint_eq(n_fds, 2);
    drop();
    ck_assert_int_eq(announced("{\"fds\":2}", 1, &n_fds), -1);
    ck_assert_ptr_nonnull(strstr(err.message, "1 came"));
    drop();
}
END_TEST

static const char *const wrong[] = {
    "{\"attachments\":[3,998]}", "{\"attachments\":3}", "{\"attachments\":[-1]}",
    "{\"attachments\":[1.5]}",   "{\"fds\":1.5}",       "{\"fds\":\"1\"}"};

START_TEST(wrong_announcements_are_refused)
{
    size_t n_fds;

    ck_assert_int_eq(announced(wrong[_i], LIMIT_DESCRIPTORS, &n_fds), -1);
    ck_assert_int_eq(err.code, DP_EVALUE);
    drop();
}
END_TEST

START_TEST(an_announcement_is_compared_with_what_came)
{
    size_t n_fds;

    announced("{\"attachments\":[1,2]}", 0, &n_fds);
    const cJSON *list = rq.root->child;
    ck_assert_int_eq(announcement_check(&rq, list, NULL, false, &err), 0);
    ck_assert_int_eq(announcement_check(&rq, NULL, NULL, false, &err), DP_EVALUE);
    ck_assert_str_eq(err.message, "attachments: 0 announced but 2 came");
    ck_assert_int_eq(announcement_check(&rq, list, NULL, true, &err), DP_EVALUE);
    drop();
}
END_TEST

UNIT_SUITE(attachments)
{
    tcase_add_test(tc, sizes_are_added_up);
    tcase_add_test(tc, descriptors_have_to_be_there);
    tcase_add_loop_test(tc, wrong_announcements_are_refused, 0, sizeof(wrong) / sizeof(wrong[0]));
    tcase_add_test(tc, an_announcement_is_compared_with_what_came);
}
