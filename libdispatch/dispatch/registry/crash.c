/* crash.c -- describes the calls that threads run, for a crash report.
 *
 * All code here may run in a signal handler: it takes no lock, allocates nothing and uses no stdio.
 * The frames of the calling thread do not change meanwhile.  Data of another thread may be freed
 * while it is read here; the caller must handle the SIGSEGV that may follow. */
#include "thread.h"

enum {
    LINE_BYTES = 1024,
    SHOWN = 8 /* items of a list that are printed */
};

/* One line of text.  If it is too long, its end is replaced by "...". */
typedef struct text {
    char s[LINE_BYTES];
    size_t n;
} text;

static void add(text *t, const char *s)
{
    static const char cut[] = "...";

    while (*s != '\0' && t->n < LINE_BYTES - sizeof(cut))
        t->s[t->n++] = *s++;
    if (*s != '\0')
        memcpy(t->s + LINE_BYTES - sizeof(cut), cut, sizeof(cut));
    else
        t->s[t->n] = '\0';
}

static void add_number(text *t, int64_t i)
{
    char digits[24], *first = digits + sizeof(digits);
    uint64_t remaining = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;

    *--first = '\0';
    do
        *--first = (char)('0' + remaining % 10);
    while ((remaining /= 10) != 0);
    if (i < 0)
        *--first = '-';
    add(t, first);
}

/* Append `d`: "7.0" if it is an integer of 32 bits, else with six significant digits, in the form
 * 1.23456e7. */
static void add_double(text *t, double d)
{
    int exponent = 0;

    if (d != d || d - d != 0) {
        add(t, d != d ? "nan" : d > 0 ? "inf" : "-inf");
        return;
    }
    if (d == (double)(int32_t)d) { /* ".0" distinguishes it from a value of tag int */
        add_number(t, (int32_t)d);
        add(t, ".0");
        return;
    }
    add(t, d < 0 ? "-" : "");
    d = d < 0 ? -d : d;
    for (; d >= 10 && exponent < 400; exponent++)
        d /= 10;
    for (; d < 1 && exponent > -400; exponent--)
        d *= 10;
    int64_t digits = (int64_t)(d * 1e5 + 0.5);
    add_number(t, digits / 100000);
    add(t, ".");
    for (int64_t unit = 10000; unit > 0; unit /= 10)
        add_number(t, digits / unit % 10);
    if (exponent != 0) {
        add(t, "e");
        add_number(t, exponent);
    }
}

static void add_tensor(text *t, const dp_tensor *x)
{
    if (x == NULL) {
        add(t, "None");
        return;
    }
    const dpi_geometry *g = dpi_geometry_of(x);
    add(t, dp_dtype_name(x->dtype));
    add(t, " [");
    for (int i = 0; i < g->ndim; i++) {
        add(t, i ? ", " : "");
        add_number(t, g->sizes[i]);
    }
    add(t, "]");
}

/* Append a tensor's dtype and shape, the value of an int, double or bool, or the kind of any other
 * value.  For a list of tensors or ints, append its first SHOWN items, too. */
static void add_value(text *t, const dp_value *v)
{
    uint32_t n = v->tag == DP_TAG_TENSORS || v->tag == DP_TAG_INTS ? v->len : 0;

    if (v->tag == DP_TAG_TENSOR)
        add_tensor(t, v->u.t);
    else if (v->tag == DP_TAG_INT)
        add_number(t, v->u.i);
    else if (v->tag == DP_TAG_DOUBLE)
        add_double(t, v->u.d);
    else if (v->tag == DP_TAG_BOOL)
        add(t, v->u.b ? "true" : "false");
    else
        add(t, dpi_value_kind(v));
    for (uint32_t i = 0; i < n && i < SHOWN; i++) {
        add(t, i ? ", " : " {");
        if (v->tag == DP_TAG_INTS)
            add_number(t, v->u.ints[i]);
        else
            add_tensor(t, v->u.tensors[i]);
    }
    add(t, n > SHOWN ? ", ...}" : n > 0 ? "}" : "");
}

static void add_arguments(text *t, const dpi_thread *th, const dpi_frame *f, const dp_op *op)
{
    const dp_value *args = atomic_load_explicit(&f->args, memory_order_relaxed);
    const dpi_snapshot *s = atomic_load_explicit(&th->pinned, memory_order_relaxed);
    const dpi_entry *e = s != NULL ? dpi_snapshot_entry(s, op) : NULL;

    if (args == NULL || e == NULL) /* a typed call has no boxed arguments */
        return;
    add(t, " args=(");
    for (uint32_t i = 0; i < e->n_args; i++) {
        add(t, i ? ", " : "");
        add_value(t, &args[i]);
    }
    add(t, ")");
}

static void add_kernel(text *t, const dpi_kernel *k)
{
    add(t, " plugin='");
    add(t, k->gen->plugin);
    add(t, "' generation=");
    add_number(t, (int64_t)k->gen->number);
    add(t, " kernel=");
    add(t, k->file);
    add(t, ":");
    add_number(t, k->line);
}

static void add_call(text *t, const dpi_frame *f, const dp_op *op)
{
    char key[DP_KEY_NAME_MAX];

    add(t, " op='");
    add(t, op->name);
    add(t, "' key=");
    add(t, dp_key_name(dpi_keyset_highest(dpi_frame_keys(f)), key));
}

static void add_thread(text *t, const dpi_thread *th, size_t number)
{
    char label[DPI_LABEL_BYTES];

    dpi_thread_label(th, label);
    add(t, "thread=");
    add_number(t, (int64_t)number);
    add(t, " for='");
    add(t, label);
    add(t, "'");
}

static void report_frame(const dpi_thread *th, size_t number, uint32_t depth,
                         void (*line)(void *arg, const char *text), void *arg)
{
    const dpi_frame *f = &th->frames[depth];
    const dpi_kernel *k = atomic_load_explicit(&f->kernel, memory_order_relaxed);
    const dp_op *op = atomic_load_explicit(&f->op, memory_order_relaxed);
    text t = {.n = 0};

    if (k == NULL || op == NULL)
        return;
    add_thread(&t, th, number);
    add(&t, " depth=");
    add_number(&t, depth);
    add_call(&t, f, op);
    add_kernel(&t, k);
    add_arguments(&t, th, f, op);
    line(arg, t.s);
}

/* Return the record of thread `number`: 0 is the calling thread, 1 and up are the other records in
 * list order.  NULL: `number` is past the last record. */
static const dpi_thread *thread_at(size_t number)
{
    if (number == 0)
        return dpi_thread_self;
    for (const dpi_thread *t = dpi_threads(); t != NULL; t = t->next)
        if (t != dpi_thread_self && --number == 0)
            return t;
    return NULL;
}

bool dp_thread_report(size_t number, void (*line)(void *arg, const char *text), void *arg)
{
    const dpi_thread *t = thread_at(number);

    if (t == NULL)
        return false;
    uint32_t depth = atomic_load_explicit(&t->depth, memory_order_acquire);
    for (uint32_t d = 0; d < depth && d < DP_LIMIT_CALL_DEPTH; d++)
        report_frame(t, number, d, line, arg);
    if (number == 0 && depth == 0 && dpi_thread_plugin[0] != '\0')
        line(arg, dpi_thread_plugin);
    return true;
}

/* Report only the operator and key of the last call: its kernel may have been freed, but operator
 * names live as long as the registry. */
void dp_thread_report_last(void (*line)(void *arg, const char *text), void *arg)
{
    const dpi_thread *t = dpi_thread_self;
    const dp_op *op = atomic_load_explicit(&t->frames[0].op, memory_order_relaxed);
    text last = {.n = 0};

    if (op == NULL || atomic_load_explicit(&t->depth, memory_order_relaxed) > 0)
        return;
    add_thread(&last, t, 0);
    add(&last, " returned=1");
    add_call(&last, &t->frames[0], op);
    line(arg, last.s);
}
