/* print.c -- prints answers: tables, tensors as matrices, JSON with exact numbers. */
#define _GNU_SOURCE /* open_memstream */
#include "cli.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    MATRIX_WHOLE = 1000, /* elements; of a larger tensor only the edges are printed */
    MATRIX_EDGE = 3,     /* entries printed at each end of a dimension of a larger tensor */
};

/* -- progress -- */

static bool progress_shown; /* the last line of the terminal is a bar that has not ended */

void draw_progress(double done, double total, const char *what)
{
    enum { BAR = 30 };
    double part = total > 0 ? fmin(done / total, 1) : 1;
    int filled = (int)(part * BAR);

    fprintf(stderr, "\r[%.*s%*s] %3.0f %% of %s", filled, "##############################",
            BAR - filled, "", part * 100, what);
    progress_shown = true;
    if (part >= 1)
        end_progress();
}

void end_progress(void)
{
    if (progress_shown)
        fputc('\n', stderr);
    progress_shown = false;
}

/* -- JSON -- */

/* Write `d` so that it reads back as the same value; JSON numbers are finite. */
static void number_write(FILE *f, double d)
{
    char buf[32];

    if (d == floor(d) && fabs(d) < 1e15) {
        fprintf(f, "%.0f", d);
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(buf, sizeof(buf), "%.*g", digits, d);
        if (strtod(buf, NULL) == d)
            break;
    }
    fputs(buf, f);
}

static void string_write(FILE *f, const char *s)
{
    cJSON *item = need(cJSON_CreateString(s));
    char *text = need(cJSON_PrintUnformatted(item));

    fputs(text, f);
    cJSON_free(text);
    cJSON_Delete(item);
}

static void json_write(FILE *f, const cJSON *j)
{
    bool object = cJSON_IsObject(j);
    const cJSON *item;

    if (cJSON_IsNumber(j)) {
        number_write(f, j->valuedouble);
    } else if (cJSON_IsString(j)) {
        string_write(f, j->valuestring);
    } else if (cJSON_IsRaw(j)) {
        fputs(j->valuestring, f);
    } else if (!object && !cJSON_IsArray(j)) {
        fputs(cJSON_IsTrue(j) ? "true" : cJSON_IsFalse(j) ? "false" : "null", f);
    } else {
        fputc(object ? '{' : '[', f);
        cJSON_ArrayForEach(item, j)
        {
            if (item != j->child)
                fputc(',', f);
            if (object) {
                string_write(f, item->string);
                fputc(':', f);
            }
            json_write(f, item);
        }
        fputc(object ? '}' : ']', f);
    }
}

char *json_text(const cJSON *j)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = need(open_memstream(&text, &bytes));

    json_write(f, j);
    fclose(f);
    return need(text);
}

void print_json(const cJSON *j)
{
    json_write(stdout, j);
    putchar('\n');
}

/* Return a string without its quotes, any other value as JSON; owned. */
static char *plain_text(const cJSON *j)
{
    return cJSON_IsString(j) ? text_printf("%s", j->valuestring) : json_text(j);
}

char *list_text(const cJSON *array)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = need(open_memstream(&text, &bytes));
    const cJSON *item;

    cJSON_ArrayForEach(item, array)
    {
        char *s = plain_text(item);
        fprintf(f, "%s%s", item == array->child ? "" : ", ", s);
        free(s);
    }
    fclose(f);
    return need(text);
}

/* -- tables -- */

char *cell_text(const cJSON *row, const char *name)
{
    const cJSON *j = member(row, name);

    if (j == NULL || cJSON_IsNull(j))
        return text_printf("%s", "");
    return cJSON_IsArray(j) ? list_text(j) : plain_text(j);
}

char *cell_micros(const cJSON *row, const char *name)
{
    return text_printf("%.1f", number_of(row, name) / 1e3);
}

char *cell_location(const cJSON *row, const char *name)
{
    (void)name;
    if (*text_of(row, "file") == '\0')
        return text_printf("%s", "");
    return text_printf("%s:%.0f", text_of(row, "file"), number_of(row, "line"));
}

char *cell_count(const cJSON *row, const char *name)
{
    return text_printf("%d", cJSON_GetArraySize(member(row, name)));
}

char *cell_mark(const cJSON *row, const char *name)
{
    return text_printf("%s", cJSON_IsTrue(member(row, name)) ? "yes" : "");
}

/* Return how many terminal columns UTF-8 text takes: one for each character. */
static int text_width(const char *text)
{
    int width = 0;

    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static void print_cell(const char *text, int width, const column *c, bool last)
{
    int pad = width - text_width(text);

    if (c->right)
        printf("%*s%s%s", pad, "", text, last ? "\n" : "  ");
    else
        printf("%s%*s%s", text, last ? 0 : pad, "", last ? "\n" : "  ");
}

/* Return the text of a cell, owned, with a '?' for each byte of a control character: other clients
 * choose names and ids, and the terminal must not take them for commands. */
static char *cell_of(const column *c, const cJSON *row)
{
    char *text = c->cell(row, c->member);
    unsigned char *t = (unsigned char *)text;

    for (size_t i = 0; t[i] != '\0'; i++) {
        bool is_c1 = t[i] == 0xc2 && t[i + 1] >= 0x80 && t[i + 1] < 0xa0; /* U+0080 to 009f */
        if (is_c1)
            t[i] = t[i + 1] = '?';
        else if (t[i] < ' ' || t[i] == 0x7f)
            t[i] = '?';
    }
    return text;
}

/* Return the width of each column in characters; owned. */
static int *widths_of(const cJSON *rows, const column *columns, size_t n)
{
    int *width = need(calloc(n, sizeof(*width)));
    const cJSON *row;

    for (size_t i = 0; i < n; i++) {
        width[i] = text_width(columns[i].header);
        cJSON_ArrayForEach(row, rows)
        {
            char *text = cell_of(&columns[i], row);
            width[i] = text_width(text) > width[i] ? text_width(text) : width[i];
            free(text);
        }
    }
    return width;
}

void print_table(const cJSON *rows, const column *columns, size_t n)
{
    int *width = widths_of(rows, columns, n);
    const cJSON *row;

    for (size_t i = 0; i < n; i++)
        print_cell(columns[i].header, width[i], &columns[i], i + 1 == n);
    cJSON_ArrayForEach(row, rows) for (size_t i = 0; i < n; i++)
    {
        char *text = cell_of(&columns[i], row);
        print_cell(text, width[i], &columns[i], i + 1 == n);
        free(text);
    }
    free(width);
}

/* Return how many characters a line of the output holds; 80 if the output is not a terminal. */
static int line_width(void)
{
    struct winsize size;

    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

bool table_fits(const cJSON *rows, const column *columns, size_t n)
{
    int *width = widths_of(rows, columns, n), line = -2;

    for (size_t i = 0; i < n; i++)
        line += width[i] + 2;
    free(width);
    return line <= line_width();
}

void print_wrapped(const char *header, int indent, const cJSON *words)
{
    int at = printf("%-*s", indent, header);
    const cJSON *word;

    cJSON_ArrayForEach(word, words)
    {
        int n = text_width(word->valuestring) + (word->next != NULL);
        if (word != words->child && at + 1 + n > line_width())
            at = printf("\n%*s", indent, "") - 1;
        else if (word != words->child)
            at += printf(" ");
        at += printf("%s%s", word->valuestring, word->next != NULL ? "," : "");
    }
    putchar('\n');
}

void print_members(const cJSON *object)
{
    const cJSON *item;

    cJSON_ArrayForEach(item, object)
    {
        if (cJSON_IsObject(item->child) || (cJSON_IsArray(item) && item->child == NULL))
            continue; /* rows of a table, or none */
        char *text = cell_text(object, item->string);
        printf("%-14s  %s\n", item->string, text);
        free(text);
    }
}

/* -- tensors -- */

typedef struct matrix {
    int ndim, width; /* number of dimensions; characters of the longest element printed */
    bool cut;        /* print only the edges */
    FILE *out;       /* NULL: only measure `width` */
} matrix;

/* Return the text of one element: a number, bool, "nan", or [re, im]; owned. */
static char *element_text(const cJSON *j)
{
    if (!cJSON_IsArray(j))
        return plain_text(j);
    char *re = plain_text(cJSON_GetArrayItem(j, 0)), *im = plain_text(cJSON_GetArrayItem(j, 1));
    char *text = text_printf("%s%s%sj", re, *im == '-' ? "" : "+", im);
    free(re);
    free(im);
    return text;
}

static void matrix_element(matrix *m, const cJSON *j)
{
    char *text = element_text(j);
    int len = (int)strlen(text);

    if (m->out)
        fprintf(m->out, "%*s", m->width, text);
    else
        m->width = len > m->width ? len : m->width;
    free(text);
}

/* Write `text` between two entries of dimension `depth`, then a space in the last dimension, or a
 * new line indented to the open brackets in the others. */
static void matrix_gap(matrix *m, int depth, const char *text)
{
    fputs(text, m->out);
    if (depth + 1 == m->ndim)
        fputc(' ', m->out);
    else
        fprintf(m->out, "\n%*s", depth + 1, "");
}

static void matrix_walk(matrix *m, const cJSON *j, int depth)
{
    int i = 0, n = cJSON_GetArraySize(j);
    const cJSON *item;

    if (depth == m->ndim) {
        matrix_element(m, j);
        return;
    }
    if (m->out)
        fputc('[', m->out);
    cJSON_ArrayForEach(item, j)
    {
        bool hidden = m->cut && i >= MATRIX_EDGE && i < n - MATRIX_EDGE;
        if (m->out && hidden && i == MATRIX_EDGE)
            matrix_gap(m, depth, "...,");
        if (!hidden)
            matrix_walk(m, item, depth + 1);
        i++;
        if (m->out && !hidden && i < n)
            matrix_gap(m, depth, ",");
    }
    if (m->out)
        fputc(']', m->out);
}

static void print_matrix(const cJSON *data, const cJSON *shape)
{
    matrix m = {.ndim = cJSON_GetArraySize(shape)};
    double numel = 1;
    const cJSON *size;

    cJSON_ArrayForEach(size, shape) numel *= size->valuedouble;
    m.cut = numel > MATRIX_WHOLE;
    matrix_walk(&m, data, 0);
    m.out = stdout;
    matrix_walk(&m, data, 0);
    putchar('\n');
}

static void print_tensor(const cJSON *t);

/* Print the kind of a wrapper tensor on the tensor's line, and each part on a line of its own. */
static void print_wrapper(const cJSON *t)
{
    static const char *const numbers[] = {"ints", "doubles"};
    const cJSON *part;
    int i = 0;

    printf("  kind %s", text_of(t, "kind"));
    if (member(t, "layout"))
        printf("  layout %s", text_of(t, "layout"));
    for (size_t n = 0; n < COUNT(numbers); n++) {
        char *list = list_text(member(t, numbers[n]));
        if (*list != '\0')
            printf("  %s [%s]", numbers[n], list);
        free(list);
    }
    putchar('\n');
    cJSON_ArrayForEach(part, member(t, "parts"))
    {
        printf("  part %d: ", i++);
        print_tensor(part);
    }
}

static void print_tensor(const cJSON *t)
{
    char *shape = list_text(member(t, "shape")), *strides = list_text(member(t, "strides"));
    char *keys = list_text(member(t, "keys"));
    const cJSON *handle = member(t, "tensor");

    if (handle)
        printf("tensor %.0f  ", handle->valuedouble);
    printf("%s [%s]  strides [%s]  %s  keys %s", text_of(t, "dtype"), shape, strides,
           text_of(t, "device"), keys);
    if (member(t, "kind"))
        print_wrapper(t);
    else
        putchar('\n');
    if (member(t, "data") && !cJSON_IsNull(member(t, "data"))) /* null: a tensor without memory */
        print_matrix(member(t, "data"), member(t, "shape"));
    free(shape);
    free(strides);
    free(keys);
}

/* -- values -- */

static bool holds_tensor(const cJSON *value)
{
    const cJSON *item;

    if (!cJSON_IsArray(value))
        return member(value, "dtype") != NULL;
    cJSON_ArrayForEach(item, value) if (holds_tensor(item)) return true;
    return false;
}

/* Print `value` after its index in the list that is printed: "[1][0] " or "".  A list without
 * tensors is one line of JSON. */
static void print_indexed(const cJSON *value, const char *index)
{
    const cJSON *item;
    int i = 0;

    if (cJSON_IsArray(value) && holds_tensor(value)) {
        cJSON_ArrayForEach(item, value)
        {
            char *inside = text_printf("%.*s[%d] ", (int)strcspn(index, " "), index, i++);
            print_indexed(item, inside);
            free(inside);
        }
        return;
    }
    fputs(index, stdout);
    if (member(value, "dtype"))
        print_tensor(value);
    else
        print_json(value);
}

void print_value(const cJSON *value)
{
    print_indexed(value, "");
}

void print_outputs(const cJSON *result)
{
    const cJSON *warning, *output;

    cJSON_ArrayForEach(warning, member(result, "warnings"))
        fprintf(stderr, "dispatchctl: warning: %s\n", text_of(warning, "message"));
    cJSON_ArrayForEach(output, member(result, "outputs")) print_value(output);
}
