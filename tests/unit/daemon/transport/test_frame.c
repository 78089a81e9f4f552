/* test_frame.c -- however bytes are cut, the same messages come out; nothing read is lost or kept.
 */
#include "unit.h"
#include "transport/frame.h"
#include "daemon.h"
#include <stdlib.h>
#include <string.h>

typedef struct seen { /* what came out, as text: L<line> B<bytes> X (long) ! (lost) */
    char text[4096];
    size_t n;
} seen;

static void note(seen *s, char kind, const char *p, size_t n)
{
    ck_assert_uint_lt(s->n + n + 2, sizeof(s->text));
    s->text[s->n++] = kind;
    if (n > 0)
        memcpy(s->text + s->n, p, n);
    s->n += n;
    s->text[s->n++] = '|';
    s->text[s->n] = '\0';
}

/* A line that announces says how many bytes follow in its first number. */
static void take(frame *f, seen *s)
{
    char *line;
    size_t bytes;

    for (;;) {
        switch (frame_next(f, &line, &bytes)) {
        case FRAME_LINE:
            ck_assert_uint_eq(strlen(line), bytes);
            note(s, 'L', line, bytes);
            if (f->announces)
                frame_expect(f, strtoul(line, NULL, 10));
            dp_free(line);
            break;
        case FRAME_BODY: {
            size_t n = f->body_bytes;
            uint8_t *body = frame_body(f);
            note(s, 'B', (char *)body, n);
            dp_free(body);
            break;
        }
        case FRAME_LONG:
            note(s, 'X', f->announces ? "+" : "", f->announces);
            break;
        case FRAME_LOST:
            note(s, '!', "", 0);
            return;
        case FRAME_MORE:
            return;
        default:
            ck_abort_msg("no memory");
        }
    }
}

static void run(const char *text, size_t n, size_t step, size_t max_line, seen *s)
{
    frame f;

    frame_init(&f, max_line);
    s->n = 0;
    s->text[0] = '\0';
    for (size_t at = 0; at < n && strchr(s->text, '!') == NULL;) {
        char *p;
        size_t room = frame_space(&f, &p);
        ck_assert_uint_gt(room, 0);
        size_t some = step < room ? step : room;
        some = some < n - at ? some : n - at;
        memcpy(p, text + at, some);
        frame_filled(&f, some);
        at += some;
        take(&f, s);
    }
    frame_fini(&f);
}

static const struct {
    const char *in, *out;
} cases[] = {
    {"{}\n", "L{}|"},
    {"a\nb\nc", "La|Lb|"},
    {"\n \t\n\r\na\r\n", "La\r|"},
    {"3 \"attachments\"\nxyz{}\n", "L3 \"attachments\"|Bxyz|L{}|"},
    {"2 \"attachments\"\n\n\n{}\n", "L2 \"attachments\"|B\n\n|L{}|"},
    {"0 \"fds\"\n{}\n", "L0 \"fds\"|B|L{}|"},
    {"0123456789012345678901234567890123456789\nok\n", "X|Lok|"},
    {"0123456789012345678901234567890\nok\n", "L0123456789012345678901234567890|Lok|"},
    {"attachments fds\nok\n", "Lattachments fds|Lok|"},
};

/* Every way to cut the bytes into pieces of one size gives the same messages. */
START_TEST(frame_cuts_do_not_matter)
{
    seen s;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (size_t step = 1; step <= strlen(cases[i].in); step++) {
            run(cases[i].in, strlen(cases[i].in), step, 31, &s);
            ck_assert_str_eq(s.text, cases[i].out);
        }
}
END_TEST

/* The word may come after the limit was passed, and in two reads: the connection is lost either
 * way. */
START_TEST(frame_long_line_that_announces_is_lost)
{
    const char *in = "01234567890123456789012345678901234567890123456789\"attachments\"\nok\n";
    seen s;

    for (size_t step = 1; step <= strlen(in); step++) {
        run(in, strlen(in), step, 31, &s);
        ck_assert_msg(strcmp(s.text, "X|!|") == 0 || strncmp(s.text, "X+|", 3) == 0, "step %zu: %s",
                      step, s.text);
    }
}
END_TEST

START_TEST(frame_long_line_is_not_kept)
{
    frame f;
    seen s = {.n = 0};

    frame_init(&f, 1000);
    for (int i = 0; i < 10000; i++) {
        char *p;
        size_t n = frame_space(&f, &p);
        ck_assert_uint_gt(n, 0);
        memset(p, 'x', n);
        frame_filled(&f, n);
        take(&f, &s);
        ck_assert_uint_le(f.cap, 1 << 17);
    }
    ck_assert_str_eq(s.text, "X|");
    frame_fini(&f);
}
END_TEST

/* Bytes after a large body go to the next line, and the body is read in place. */
START_TEST(frame_body_larger_than_the_buffer)
{
    enum { BODY = 1 << 20 };
    frame f;
    char *p, *line;
    size_t n, at = 0;
    static const char head[] = "1048576 \"attachments\"\n";

    frame_init(&f, 1000);
    n = frame_space(&f, &p);
    memcpy(p, head, sizeof(head) - 1);
    memset(p + sizeof(head) - 1, 7, n - (sizeof(head) - 1));
    at = n - (sizeof(head) - 1);
    frame_filled(&f, n);
    ck_assert_int_eq(frame_next(&f, &line, &n), FRAME_LINE);
    dp_free(line);
    ck_assert_int_eq(frame_next(&f, &line, &n), FRAME_MORE);
    frame_expect(&f, BODY);
    while (frame_next(&f, &line, &n) == FRAME_MORE) {
        n = frame_space(&f, &p);
        ck_assert_uint_le(n, BODY - at + (1 << 17));
        n = n < 100000 ? n : 100000;
        memset(p, 7, n);
        frame_filled(&f, n);
        at += n;
    }
    ck_assert_uint_eq(at, BODY);
    uint8_t *body = frame_body(&f);
    for (size_t i = 0; i < BODY; i++)
        unit_each(body[i] == 7, "byte %zu is %d", i, body[i]);
    dp_free(body);
    frame_fini(&f);
}
END_TEST

/* Without memory for them the announced bytes are still consumed, and nothing else. */
START_TEST(frame_body_without_memory_is_consumed)
{
    frame f;
    char *p, *line;
    size_t n;
    static const char in[] = "5 \"attachments\"\n";

    frame_init(&f, 1000);
    frame_space(&f, &p);
    memcpy(p, in, sizeof(in) - 1);
    frame_filled(&f, sizeof(in) - 1);
    ck_assert_int_eq(frame_next(&f, &line, &n), FRAME_LINE);
    dp_free(line);
    dp_fault_arm(1);
    frame_expect(&f, 5);
    dp_fault_arm(0);
    frame_space(&f, &p);
    memcpy(p, "abcdenext\n", 10);
    frame_filled(&f, 10);
    ck_assert_int_eq(frame_next(&f, &line, &n), FRAME_BODY);
    ck_assert_ptr_null(frame_body(&f));
    ck_assert_int_eq(frame_next(&f, &line, &n), FRAME_LINE);
    ck_assert_str_eq(line, "next");
    dp_free(line);
    frame_fini(&f);
}
END_TEST

/* A line without memory for it is skipped, and the next one is found. */
START_TEST(frame_line_without_memory_is_skipped)
{
    frame f;
    char *p, *line;
    size_t n;
    static const char *const in[] = {"first\nnext\n", "first \"fds\"\nnext\n"};

    frame_init(&f, 1000);
    frame_space(&f, &p);
    memcpy(p, in[_i], strlen(in[_i]));
    frame_filled(&f, strlen(in[_i]));
    dp_fault_arm(1);
    ck_assert_int_eq(frame_next(&f, &line, &n), FRAME_NO_MEMORY);
    dp_fault_arm(0);
    ck_assert_int_eq(f.announces, _i);
    ck_assert_int_eq(frame_next(&f, &line, &n), FRAME_LINE);
    ck_assert_str_eq(line, "next");
    dp_free(line);
    frame_fini(&f);
}
END_TEST

UNIT_SUITE(frame)
{
    tcase_add_test(tc, frame_cuts_do_not_matter);
    tcase_add_test(tc, frame_long_line_that_announces_is_lost);
    tcase_add_test(tc, frame_long_line_is_not_kept);
    tcase_add_test(tc, frame_body_larger_than_the_buffer);
    tcase_add_test(tc, frame_body_without_memory_is_consumed);
    tcase_add_loop_test(tc, frame_line_without_memory_is_skipped, 0, 2);
}
