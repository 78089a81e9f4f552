/* grad_picture.c -- draws the graph of recorded calls as SVG, and as a page of HTML around it.
 *
 * Each call is a row.  A call stands above the calls whose results it used, so backward goes from
 * the top to the bottom.  Lines at the left lead from row to row, each long one in a lane of its
 * own; the leaves that get a gradient from a call stand at the right of its row.  What a row shows
 * in short is in full in its title, which browsers show when the pointer is over it. */
#include "cli.h"
#include <stdio.h>
#include <stdlib.h>

enum {
    ROW = 30,        /* pixels from row to row */
    BOX = 22,        /* height of a box */
    TOP = 48,        /* pixels above the first row */
    CHARACTER = 7,   /* width of a character */
    PAD = 8,         /* pixels between a box and its text, and at the edges of the picture */
    GAP = 14,        /* between two boxes of a row */
    LANE = 9,        /* between two lanes */
    LANES_MAX = 40,  /* further lines share the last lane */
    BAR = 80,        /* width of the bar for the most bytes that a call has saved */
    LEAVES_SHOWN = 6 /* most leaves of one row */
};

typedef struct edge {
    int from, to; /* indices of nodes */
} edge;

typedef struct picture {
    FILE *out;
    const cJSON **nodes; /* [n] nodes of the answer, by index */
    int n, n_edges, n_rows;
    edge *edges; /* [n_edges] in the order of `from`, each once */
    int *first;  /* [n + 1] the first edge of each node */
    int *row;    /* [n] row of a call */
    int *at;     /* [n_rows] index of the call in a row */
    int lane_end[LANES_MAX], n_lanes;
    int op_x, shape_x, bar_x, leaf_x, width; /* where the columns begin, in pixels */
    double most_saved, saved;                /* bytes that one call and all calls have saved */
} picture;

static bool is_leaf(const picture *p, int i)
{
    return cJSON_IsTrue(member(p->nodes[i], "leaf"));
}

/* -- texts -- */

/* Print text, with the characters replaced that mean something in XML. */
static void put_text(FILE *out, const char *s)
{
    for (; *s; s++) {
        if (*s == '<')
            fputs("&lt;", out);
        else if (*s == '>')
            fputs("&gt;", out);
        else if (*s == '&')
            fputs("&amp;", out);
        else if (*s == '"')
            fputs("&quot;", out);
        else
            fputc((unsigned char)*s < ' ' ? ' ' : *s, out);
    }
}

static int width_of(const char *text)
{
    int n = 0;

    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n * CHARACTER;
}

/* Return "float32 [64, 10]" of a leaf or of a return; owned. */
static char *tensor_text(const cJSON *t)
{
    char *shape = list_text(member(t, "shape"));
    char *text = text_printf("%s [%s]", text_of(t, "dtype"), shape);

    free(shape);
    return text;
}

/* Return what a call returned, in short: the first tensor, and the number of others; owned. */
static char *returns_text(const cJSON *node)
{
    const cJSON *returns = member(node, "returns"), *t = returns ? returns->child : NULL;
    int n = cJSON_GetArraySize(returns);

    while (cJSON_IsNull(t))
        t = t->next;
    if (t == NULL)
        return text_printf("%s", "");
    char *first = tensor_text(t);
    char *text = n > 1 ? text_printf("%s, +%d", first, n - 1) : text_printf("%s", first);
    free(first);
    return text;
}

static char *leaf_text(const cJSON *node)
{
    char *tensor = tensor_text(node);
    char *text = member(node, "tensor")
                     ? text_printf("tensor %.0f: %s", number_of(node, "tensor"), tensor)
                     : text_printf("%s", tensor);

    free(tensor);
    return text;
}

static char *bytes_text(double bytes)
{
    return bytes >= 1 << 20   ? text_printf("%.1f MiB", bytes / (1 << 20))
           : bytes >= 1 << 10 ? text_printf("%.1f KiB", bytes / (1 << 10))
                              : text_printf("%.0f bytes", bytes);
}

/* -- which row and lane -- */

static int by_nodes(const void *a, const void *b)
{
    const edge *x = a, *y = b;
    return x->from != y->from ? x->from - y->from : x->to - y->to;
}

/* Read the edges of the answer; two of the same nodes are one. */
static void read_edges(picture *p, const cJSON *list)
{
    int n = 0;
    const cJSON *e;

    p->edges = need(calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof(edge)));
    cJSON_ArrayForEach(e, list)
    {
        double from = number_of(e, "from"), to = number_of(e, "to");
        if (from >= 0 && from < p->n && to >= 0 && to < p->n)
            p->edges[n++] = (edge){(int)from, (int)to};
    }
    qsort(p->edges, (size_t)n, sizeof(edge), by_nodes);
    for (int i = 0; i < n; i++)
        if (i == 0 || by_nodes(&p->edges[i - 1], &p->edges[i]) != 0)
            p->edges[p->n_edges++] = p->edges[i];
    p->first = need(calloc((size_t)p->n + 1, sizeof(int)));
    for (int i = 0, k = 0; i <= p->n; i++) {
        while (k < p->n_edges && p->edges[k].from < i)
            k++;
        p->first[i] = k;
    }
}

/* Give each call a row below the rows of all calls that use its results, and as soon below the last
 * one as possible, so that chains stand together. */
static void place(picture *p)
{
    int *users = need(calloc((size_t)p->n + 1, sizeof(int))), n_ready = 0;
    int *ready = need(calloc((size_t)p->n + 1, sizeof(int)));

    for (int i = 0; i < p->n_edges; i++)
        users[p->edges[i].to]++;
    for (int i = p->n; i-- > 0;)
        if (users[i] == 0)
            ready[n_ready++] = i;
    while (n_ready > 0) {
        int i = ready[--n_ready];
        if (!is_leaf(p, i)) {
            p->row[i] = p->n_rows;
            p->at[p->n_rows++] = i;
        }
        for (int k = p->first[i]; k < p->first[i + 1]; k++)
            if (--users[p->edges[k].to] == 0)
                ready[n_ready++] = p->edges[k].to;
    }
    free(users);
    free(ready);
}

/* Return a lane that no line uses from row `begin` on, and use it until row `end`. */
static int lane_of(picture *p, int begin, int end)
{
    int lane = 0;

    while (lane < p->n_lanes && p->lane_end[lane] > begin)
        lane++;
    if (lane == LANES_MAX)
        lane--;
    if (lane == p->n_lanes)
        p->n_lanes++;
    p->lane_end[lane] = end;
    return lane;
}

/* Return the lane of edge `e`; -1: it leads to a leaf or to the next row. */
static int lane_of_edge(picture *p, const edge *e)
{
    if (is_leaf(p, e->to) || p->row[e->to] == p->row[e->from] + 1)
        return -1;
    return lane_of(p, p->row[e->from], p->row[e->to]);
}

/* -- columns -- */

/* Return the next leaf to which call `i` leads, from edge *k on; -1: there is none. */
static int next_leaf(const picture *p, int i, int *k)
{
    for (; *k < p->first[i + 1]; ++*k)
        if (is_leaf(p, p->edges[*k].to))
            return p->edges[(*k)++].to;
    return -1;
}

/* Draw the leaves of call `i` if `draws`; return where they end. */
static int leaves(const picture *p, int i, int y, bool draws)
{
    int x = p->leaf_x, k = p->first[i], shown = 0, more = 0;

    for (int leaf; (leaf = next_leaf(p, i, &k)) >= 0;) {
        if (shown++ >= LEAVES_SHOWN) {
            more++;
            continue;
        }
        char *text = leaf_text(p->nodes[leaf]);
        int width = width_of(text) + 2 * PAD;
        if (draws) {
            fprintf(p->out,
                    "<rect class=\"leaf\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"11\"/>"
                    "<text x=\"%d\" y=\"%d\">",
                    x, y - BOX / 2, width, BOX, x + PAD, y + 4);
            put_text(p->out, text);
            fputs("</text>\n", p->out);
        }
        x += width + GAP / 2;
        free(text);
    }
    if (more > 0 && draws)
        fprintf(p->out, "<text x=\"%d\" y=\"%d\">and %d more</text>\n", x, y + 4, more);
    return more > 0 ? x + 16 * CHARACTER : x;
}

static void measure(picture *p)
{
    int op = 0, shape = 0;

    for (int i = 0; i < p->n_edges; i++)
        lane_of_edge(p, &p->edges[i]);
    for (int r = 0; r < p->n_rows; r++) {
        const cJSON *node = p->nodes[p->at[r]];
        char *text = returns_text(node);
        double saved = number_of(node, "saved_bytes");
        int width = width_of(text_of(node, "op"));
        op = width > op ? width : op;
        shape = width_of(text) > shape ? width_of(text) : shape;
        p->most_saved = saved > p->most_saved ? saved : p->most_saved;
        p->saved += saved;
        free(text);
    }
    p->op_x = PAD + LANE * (p->n_lanes + 1);
    p->shape_x = p->op_x + op + 2 * PAD + GAP;
    p->bar_x = p->shape_x + shape + GAP;
    p->leaf_x = p->bar_x + BAR + 12 * CHARACTER + GAP;
    p->width = p->leaf_x + 60 * CHARACTER;
    for (int r = 0; r < p->n_rows; r++) {
        int end = leaves(p, p->at[r], 0, false) + PAD;
        p->width = end > p->width ? end : p->width;
    }
}

static int y_of(int row)
{
    return TOP + ROW * row + ROW / 2;
}

/* -- drawing -- */

static void draw_edge(picture *p, const edge *e)
{
    int lane = lane_of_edge(p, e), x = p->op_x + 2 * PAD;

    if (is_leaf(p, e->to))
        return;
    int from = y_of(p->row[e->from]), to = y_of(p->row[e->to]);
    if (lane < 0)
        fprintf(p->out, "<path class=\"edge\" d=\"M%d %dV%d\"/>\n", x, from + BOX / 2,
                to - BOX / 2 - 1);
    else
        fprintf(p->out, "<path class=\"edge\" d=\"M%d %dH%dV%dH%d\"/>\n", p->op_x, from + 3,
                p->op_x - LANE * (lane + 2) + 2, to - 3, p->op_x - 1);
}

static void draw_call(picture *p, int i)
{
    const cJSON *node = p->nodes[i];
    const char *op = text_of(node, "op");
    int y = y_of(p->row[i]), k = p->first[i];
    double saved = number_of(node, "saved_bytes");
    char *shape = returns_text(node), *bytes = bytes_text(saved);

    fprintf(p->out,
            "<g><rect class=\"call\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"3\"/>"
            "<text x=\"%d\" y=\"%d\">",
            p->op_x, y - BOX / 2, width_of(op) + 2 * PAD, BOX, p->op_x + PAD, y + 4);
    put_text(p->out, op);
    fputs("</text><title>", p->out);
    put_text(p->out, op);
    if (*text_of(node, "request")) {
        fputs(", request ", p->out);
        put_text(p->out, text_of(node, "request"));
    }
    if (member(node, "step"))
        fprintf(p->out, ", step %.0f", number_of(node, "step"));
    fprintf(p->out, ", %.0f bytes saved%s</title></g>\n", saved,
            cJSON_IsTrue(member(node, "released")) ? ", released by a backward" : "");
    fprintf(p->out, "<text class=\"shape\" x=\"%d\" y=\"%d\">", p->shape_x, y + 4);
    put_text(p->out, shape);
    fputs("</text>\n", p->out);
    if (saved > 0)
        fprintf(p->out,
                "<rect class=\"saved\" x=\"%d\" y=\"%d\" width=\"%.0f\" height=\"8\"/>"
                "<text class=\"shape\" x=\"%d\" y=\"%d\">%s</text>\n",
                p->bar_x, y - 4, 1 + (BAR - 1) * saved / p->most_saved, p->bar_x + BAR + PAD, y + 4,
                bytes);
    if (next_leaf(p, i, &k) >= 0)
        fprintf(p->out, "<path class=\"grad\" d=\"M%d %dH%d\"/>\n", p->leaf_x - GAP, y,
                p->leaf_x - 1);
    leaves(p, i, y, true);
    free(shape);
    free(bytes);
}

static const char style[] =
    "<style>text{font:11.5px monospace;fill:#222}.head{font-weight:bold}.shape{fill:#555}"
    ".call{fill:#e8eef7;stroke:#5b7db1}.leaf{fill:#e9f5e6;stroke:#5f9a50}.saved{fill:#d9a441}"
    ".edge,.grad{fill:none;stroke:#5b7db1;marker-end:url(#arrow)}.grad{stroke:#5f9a50}</style>\n"
    "<defs><marker id=\"arrow\" viewBox=\"0 0 6 6\" refX=\"5\" refY=\"3\" markerWidth=\"6\" "
    "markerHeight=\"6\" orient=\"auto\"><path d=\"M0 0L6 3L0 6z\" fill=\"#5b7db1\"/></marker>"
    "</defs>\n";

static void draw_head(picture *p)
{
    char *saved = bytes_text(p->saved);

    fprintf(p->out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\">\n%s"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            p->width, TOP + ROW * p->n_rows + PAD, p->width, TOP + ROW * p->n_rows + PAD, style);
    fprintf(p->out,
            "<text class=\"head\" x=\"%d\" y=\"20\">backward, from the top: %d calls, which saved "
            "%s</text>\n"
            "<text class=\"head\" x=\"%d\" y=\"38\">operator</text>"
            "<text class=\"head\" x=\"%d\" y=\"38\">it returned</text>"
            "<text class=\"head\" x=\"%d\" y=\"38\">it saved</text>"
            "<text class=\"head\" x=\"%d\" y=\"38\">leaves that get a gradient</text>\n",
            p->op_x, p->n_rows, saved, p->op_x, p->shape_x, p->bar_x, p->leaf_x);
    free(saved);
}

static void draw_svg(const cJSON *result, FILE *out)
{
    const cJSON *nodes = member(result, "nodes"), *node;
    picture p = {.out = out};

    p.nodes = need(calloc((size_t)cJSON_GetArraySize(nodes) + 1, sizeof(*p.nodes)));
    cJSON_ArrayForEach(node, nodes) p.nodes[p.n++] = node;
    p.row = need(calloc((size_t)p.n + 1, sizeof(int)));
    p.at = need(calloc((size_t)p.n + 1, sizeof(int)));
    read_edges(&p, member(result, "edges"));
    place(&p);
    measure(&p);
    draw_head(&p);
    p.n_lanes = 0; /* every line gets the lane again that it was measured with */
    for (int i = 0; i < p.n_edges; i++)
        draw_edge(&p, &p.edges[i]);
    for (int r = 0; r < p.n_rows; r++)
        draw_call(&p, p.at[r]);
    fputs("</svg>\n", out);
    free(p.nodes);
    free(p.edges);
    free(p.first);
    free(p.row);
    free(p.at);
}

void show_grad_svg(const cJSON *result)
{
    draw_svg(result, stdout);
}

void show_grad_html(const cJSON *result)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
          "<title>recorded calls</title></head>\n<body>\n",
          stdout);
    draw_svg(result, stdout);
    fputs("</body></html>\n", stdout);
}
