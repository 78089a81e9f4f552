/* bench.c -- verb bench with --device: how long kernels take on a device and on the CPU, and in
 * PyTorch where it is installed, for tensors of several sizes.
 *
 * A device's time is that of the kernel's function and of the wait for the device's work behind it,
 * both as the daemon tells them. */
#include "bench.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TIMES = 7, N_SIZES = 3 };

static const int64_t sizes[N_SIZES] = {1 << 10, 1 << 15, 1 << 20};

/* -- measuring -- */

/* Return the shortest time of a kernel in nanoseconds; NaN: the call fails.  The wait for the
 * device is a read of one element, less what it takes when nothing is to be waited for. */
static double shortest(const trial *t, const target *on)
{
    double kernel = INFINITY, done = INFINITY, idle = INFINITY;
    bool waits = strcmp(on->device, "cpu") != 0;

    for (int i = 0; i < TIMES; i++) {
        trial_times times;
        if (!trial_time(t, on, &times))
            return NAN;
        kernel = fmin(kernel, times.kernel);
        done = fmin(done, times.kernel + times.waited);
        idle = fmin(idle, times.idle);
    }
    return waits ? fmax(kernel, done - idle) : kernel;
}

static void add_row(bench *b, const trial *t, int64_t elements, double device, double cpu)
{
    b->rows = grown(b->rows, b->n, sizeof(*b->rows));
    b->lines = grown(b->lines, b->n, sizeof(*b->lines));
    b->lines[b->n] = trial_json(t);
    b->rows[b->n++] = (bench_row){trial_text(t), t->op, elements, device, cpu, NAN};
}

/* Measure the first of an operator's samples that can be called in other sizes. */
static void measure_op(bench *b, const op_sample *at, size_t n, dpc_dtype dtype, const target *cpu,
                       const target *on)
{
    for (size_t i = 0; i < n; i++) {
        size_t before = b->n;
        if (!(at[i].dtypes & 1u << dtype) || at[i].refused)
            continue;
        for (int s = 0; s < N_SIZES; s++) {
            trial t;
            if (!form_scaled(&t, &at[i], dtype, sizes[s]))
                break;
            double theirs = shortest(&t, cpu), mine = isnan(theirs) ? NAN : shortest(&t, on);
            bool ok = !isnan(mine);
            if (ok)
                add_row(b, &t, sizes[s], mine, theirs);
            trial_free(&t);
            if (!ok)
                break;
        }
        if (b->n > before)
            return;
    }
}

/* -- PyTorch -- */

static const char *const script =
    "import json, sys, time\n"
    "try:\n"
    "    import torch\n"
    "except ImportError:\n"
    "    sys.exit(0)\n"
    "def value(v, tensors):\n"
    "    if isinstance(v, list):\n"
    "        return [value(x, tensors) for x in v]\n"
    "    if not isinstance(v, dict):\n"
    "        return getattr(torch, v) if isinstance(v, str) and hasattr(torch, v) else v\n"
    "    (kind, x), = v.items()\n"
    "    return {'tensor': lambda: tensors[-x - 1], 'float': lambda: float(x), 'int': lambda: "
    "int(x),\n"
    "            'complex': lambda: complex(*map(float, x)), 'device': lambda: "
    "torch.device('cpu')}[kind]()\n"
    "for line in open(sys.argv[1]):\n"
    "    call, best = json.loads(line), None\n"
    "    try:\n"
    "        name, _, overload = call['op'].removeprefix('aten::').partition('.')\n"
    "        op = getattr(getattr(torch.ops.aten, name), overload or 'default')\n"
    "        tensors = [torch.rand(t['shape'], dtype=torch.float64).mul_(2).to(getattr(torch, "
    "t['dtype']))\n"
    "                   for t in call['tensors']]\n"
    "        args = value(call['args'], tensors)\n"
    "        kwargs = {k: value(v, tensors) for k, v in call['kwargs'].items()}\n"
    "        for _ in range(7):\n"
    "            begun = time.perf_counter_ns()\n"
    "            with torch.no_grad():\n"
    "                op(*args, **kwargs)\n"
    "            took = time.perf_counter_ns() - begun\n"
    "            best = took if best is None else min(best, took)\n"
    "    except Exception:\n"
    "        best = None\n"
    "    print(best, flush=True)\n";

/* Write a temporary file; `path` ends in XXXXXX. */
static bool write_temporary(char *path, char *const *lines, size_t n)
{
    int fd = mkstemp(path);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;

    for (size_t i = 0; i < n && f != NULL; i++)
        fprintf(f, "%s\n", lines[i]);
    return close_report(f, path);
}

/* Read a line for each row: nanoseconds, or another word. */
static void read_times(bench *b, const char *command)
{
    char line[64];
    FILE *out = popen(command, "r");

    for (size_t i = 0; out != NULL && i < b->n && fgets(line, sizeof(line), out) != NULL; i++) {
        char *end;
        double ns = strtod(line, &end);
        b->rows[i].torch_ns = end != line ? ns : NAN;
        b->torch = true;
    }
    if (out != NULL)
        pclose(out);
}

/* Measure the same calls in PyTorch, if a Python has it: that in $PYTHON, the first in $PATH, or
 * Debian's. */
static void measure_torch(bench *b)
{
    const char *pythons[] = {getenv("PYTHON"), "python3", "/usr/bin/python3"};
    char calls[] = "/tmp/bench-calls-XXXXXX", program[] = "/tmp/bench-program-XXXXXX";
    char *text = text_printf("%s", script);
    bool ok = write_temporary(calls, b->lines, b->n) && write_temporary(program, &text, 1);

    for (size_t i = 0; ok && i < COUNT(pythons) && !b->torch; i++) {
        if (pythons[i] == NULL)
            continue;
        char *command = text_printf("'%s' '%s' '%s' 2>/dev/null", pythons[i], program, calls);
        read_times(b, command);
        free(command);
    }
    free(text);
    unlink(calls);
    unlink(program);
}

/* -- results -- */

static void print_rows(const bench *b)
{
    printf("%-40s %9s %12s %12s %7s", "operator", "elements", b->device, "cpu", "ratio");
    printf(b->torch ? " %12s %7s\n" : "\n", "PyTorch", "ratio");
    for (size_t i = 0; i < b->n; i++) {
        const bench_row *r = &b->rows[i];
        printf("%-40s %9lld %9.1f us %9.1f us %7.2f", r->op, (long long)r->elements,
               r->device_ns / 1e3, r->cpu_ns / 1e3, r->device_ns / r->cpu_ns);
        if (b->torch && !isnan(r->torch_ns))
            printf(" %9.1f us %7.2f", r->torch_ns / 1e3, r->device_ns / r->torch_ns);
        putchar('\n');
    }
}

static cJSON *rows_json(const bench *b)
{
    cJSON *out = params_new(), *rows = need(cJSON_CreateArray());

    params_text(out, "device", b->device);
    params_text(out, "dtype", dpc_dtype_name(b->dtype));
    for (size_t i = 0; i < b->n; i++) {
        const bench_row *r = &b->rows[i];
        cJSON *j = params_new();
        params_text(j, "op", r->op);
        params_text(j, "call", r->call);
        cJSON_AddNumberToObject(j, "elements", (double)r->elements);
        cJSON_AddNumberToObject(j, "device_ns", r->device_ns);
        cJSON_AddNumberToObject(j, "cpu_ns", r->cpu_ns);
        if (!isnan(r->torch_ns))
            cJSON_AddNumberToObject(j, "torch_ns", r->torch_ns);
        cJSON_AddItemToArray(rows, j);
    }
    cJSON_AddItemToObject(out, "rows", rows);
    return out;
}

/* Draw a bar for each row: how many times the CPU's time the device takes, on a logarithmic scale
 * from 1/16 to 16. */
static bool draw_rows(const bench *b, const char *path)
{
    enum { LEFT = 420, WIDTH = 480, ROW = 18, TOP = 40 };
    FILE *f = fopen(path, "we");

    if (f == NULL)
        return close_report(f, path);
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%zu\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n"
            "<text x=\"8\" y=\"20\">kernels of %s beside the CPU's, %s: left is faster</text>\n",
            LEFT + WIDTH + 60, TOP + ROW * b->n + 30, b->device, dpc_dtype_name(b->dtype));
    for (int power = -4; power <= 4; power += 2) {
        double x = LEFT + WIDTH * (power + 4) / 8.0;
        fprintf(f,
                "<line x1=\"%g\" x2=\"%g\" y1=\"%d\" y2=\"%zu\" stroke=\"#ccc\"/>"
                "<text x=\"%g\" y=\"%zu\" text-anchor=\"middle\">%g</text>\n",
                x, x, TOP - 8, TOP + ROW * b->n, x, TOP + ROW * b->n + 16, exp2(power));
    }
    for (size_t i = 0; i < b->n; i++) {
        const bench_row *r = &b->rows[i];
        double ratio = fmin(4, fmax(-4, log2(r->device_ns / r->cpu_ns))), zero = LEFT + WIDTH / 2.0;
        double x = zero + WIDTH * ratio / 8.0, y = TOP + (double)(ROW * i);
        fprintf(f,
                "<text x=\"%d\" y=\"%g\" text-anchor=\"end\">%s  %lld</text>"
                "<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%d\" fill=\"%s\"/>\n",
                LEFT - 10, y + 11, r->op, (long long)r->elements, fmin(x, zero), y, fabs(x - zero),
                ROW - 5, ratio > 0 ? "#c62828" : "#2e7d32");
    }
    fputs("</svg>\n", f);
    return close_report(f, path);
}

static void bench_free(bench *b)
{
    for (size_t i = 0; i < b->n; i++) {
        free(b->rows[i].call);
        free(b->lines[i]);
    }
    free(b->rows);
    free(b->lines);
}

/* -- the verb -- */

static void measure_all(bench *b, const samples *from, const target *cpu, const target *on)
{
    bool shown = isatty(STDERR_FILENO);

    for (size_t i = 0, n; i < from->n; i += n) {
        const char *op = from->at[i].op;
        n = samples_of_op(from, i);
        if (shown)
            draw_progress((double)i, (double)from->n, op);
        measure_op(b, &from->at[i], n, b->dtype, cpu, on);
    }
    if (shown)
        draw_progress((double)from->n, (double)from->n, "the operators");
}

int bench_device(cli *c, const char *device)
{
    const char *dtype = take_option(c, "--dtype"), *svg = take_option(c, "--svg"),
               *file = take_option(c, "--samples");
    bench b = {.device = device, .dtype = dtype ? dtype_named(dtype) : DPC_FLOAT32};
    target cpu = {.c = c, .device = "cpu"}, on = cpu;
    samples from;

    if (b.dtype == DPC_DTYPE_OTHER)
        return usage(c, "no dtype '%s'", dtype);
    if (!words_fit(c, 0, 1))
        return CLI_USAGE;
    on.device = device;
    char *path = file ? text_printf("%s", file) : samples_path();
    bool ok = samples_read(&from, path, c->n_words > 0 ? c->words[0] : NULL);
    free(path);
    int rc = !ok ? CLI_USAGE : host_connect(c) ? CLI_OK : CLI_NO_CONNECTION;
    if (rc == CLI_OK)
        rc = target_probe(&on) ? CLI_OK : CLI_ERROR;
    if (rc == CLI_OK) {
        measure_all(&b, &from, &cpu, &on);
        measure_torch(&b);
        cJSON *out = c->json ? rows_json(&b) : NULL;
        if (out != NULL)
            print_json(out);
        else
            print_rows(&b);
        cJSON_Delete(out);
        rc = svg == NULL || draw_rows(&b, svg) ? CLI_OK : CLI_ERROR;
    }
    bench_free(&b);
    samples_free(&from);
    return rc;
}
