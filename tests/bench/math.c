/* math.c -- plugins/lib/math.h beside glibc's vector functions, taking turns: ns for an element, of
 * 16 K in cache, the smallest of ROUNDS.  Arguments: names of functions, none for all.  Unary
 * functions get numbers of (0, 1), which all of them take; pow and its like of (0, 4) and (-2, 2).
 * */
#include "../lib/math_loops.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define N      16384
#define ROUNDS 40

extern const math_loop math_libmvec_v1[], math_libmvec_v3[], math_libmvec_v4[];

static double a64[N], b64[N], out64[N];
static float a32[N], b32[N], out32[N];

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double time_once(const math_loop *loop, int wide)
{
    double start = now();

    if (wide)
        loop->f64(out64, a64, b64, N);
    else
        loop->f32(out32, a32, b32, N);
    return (now() - start) / N;
}

/* best[wide * 2 + theirs] */
static void measure(const math_loop *ours, const math_loop *theirs, double best[4])
{
    for (int k = 0; k < 4; k++)
        best[k] = 1e9;
    for (int round = 0; round < ROUNDS; round++)
        for (int k = 0; k < 4; k++) {
            double t = time_once(k % 2 ? theirs : ours, k / 2);
            best[k] = t < best[k] ? t : best[k];
        }
}

static int wanted(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(name, argv[i]) == 0)
            return 1;
    return argc < 2;
}

static void fill(int binary)
{
    srand(1);
    for (int i = 0; i < N; i++) {
        double u = (rand() + 1.0) / (RAND_MAX + 2.0), v = (rand() + 1.0) / (RAND_MAX + 2.0);
        a64[i] = binary ? 4 * u : u;
        b64[i] = 4 * v - 2;
        a32[i] = (float)a64[i];
        b32[i] = (float)b64[i];
    }
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"v1", "v3", "v4"};
    const math_loop *ours[] = {math_loops_v1, math_loops_v3, math_loops_v4};
    const math_loop *theirs[] = {math_libmvec_v1, math_libmvec_v3, math_libmvec_v4};
    int levels = __builtin_cpu_supports("avx512dq") ? 3 : __builtin_cpu_supports("fma") ? 2 : 1;

    printf("ns for an element  f32: ours libmvec ratio   f64: ours libmvec ratio\n");
    for (int level = 0; level < levels; level++)
        for (int f = 0; theirs[level][f].name != NULL; f++) {
            double t[4];
            if (!wanted(ours[level][f].name, argc, argv))
                continue;
            fill(strcmp(ours[level][f].name, "pow") == 0);
            measure(&ours[level][f], &theirs[level][f], t);
            printf("%s %-10s %10.3f %7.3f %5.2f %14.3f %7.3f %5.2f\n", names[level],
                   ours[level][f].name, t[0], t[1], t[0] / t[1], t[2], t[3], t[2] / t[3]);
        }
    return 0;
}
