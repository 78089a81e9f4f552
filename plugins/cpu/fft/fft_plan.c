/* fft_plan.c -- plans of Fourier transforms: their factors and twiddle factors, and the cache of
 * plans.
 *
 * Twiddle factors are computed as long double and rounded once.  Plans are immutable and shared by
 * all threads.  When the cache has more plans or bytes than its limits, it releases plans that no
 * thread uses. */
#include "lib/poll.h"
#include "fft.h"
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

enum {
    STEPS = 32,            /* cost of a table entry for poll_stops() (poll.h) */
    KEPT = 32,             /* greatest number of plans in the cache */
    KEPT_BYTES = 64 << 20, /* greatest number of bytes of all plans in the cache */
    TABLES_MAX = FFT_PASSES * 2 + 5,
};

/* a plan with its tables, as it is built and kept in the cache */
typedef struct made {
    fft_plan plan; /* first member, because a plan's address is also that of its `made` */
    bool wide, real;
    size_t bytes;
    unsigned users;
    /* number of the request that used the plan last; 0: the plan is not in the cache */
    uint64_t used;
    void *tables[TABLES_MAX];
    int n_tables;
} made;

/* -- roots of unity: exp(-2 pi i k / n) -- */

typedef struct turn {
    long double re, im;
} turn;

/* a table of exp(-2 pi i k / n) as coarse[k / step] * fine[k % step] */
typedef struct turns {
    int64_t n, step;
    turn *coarse, *fine; /* one memory block, which begins with `coarse` */
} turns;

/* Return exp(-2 pi i k / n).  The angle is first reduced to less than an eighth of a turn, where
 * sinl() and cosl() are exact to the last bit. */
static turn turn_at(int64_t k, int64_t n)
{
    __extension__ typedef __int128 wide;
    const long double quarter_pi = 0.785398163397448309615660845819875721L;
    int octant = (int)((wide)k * 8 / n);
    int64_t rest = (int64_t)((wide)k * 8 - (wide)octant * n);
    long double x = (long double)(octant % 2 ? n - rest : rest) / (long double)n * quarter_pi;
    bool swapped = (octant + 1) / 2 % 2;
    long double cosine = swapped ? sinl(x) : cosl(x), sine = swapped ? cosl(x) : sinl(x);

    return (turn){octant >= 2 && octant < 6 ? -cosine : cosine, octant >= 4 ? sine : -sine};
}

static bool turns_init(turns *t, int64_t n)
{
    *t = (turns){.n = n, .step = 1};
    while (t->step * t->step < n)
        t->step *= 2;
    int64_t many = n / t->step + 1;
    t->coarse = malloc(dp_size_times(many + t->step, sizeof(turn)));
    if (t->coarse == NULL)
        return false;
    t->fine = t->coarse + many;
    for (int64_t i = 0; i < many; i++)
        t->coarse[i] = turn_at(i * t->step % n, n);
    for (int64_t i = 0; i < t->step; i++)
        t->fine[i] = turn_at(i % n, n);
    return true;
}

static void turns_fini(turns *t)
{
    free(t->coarse);
}

static turn turns_at(const turns *t, int64_t k) /* Return entry `k` of the table, 0 <= k < n. */
{
    turn a = t->coarse[k / t->step], b = t->fine[k % t->step];

    return k % t->step == 0 ? a : (turn){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* -- tables -- */

/* Allocate a table of `n` complex numbers, which m owns.  False: out of memory. */
static bool table_new(made *m, int64_t n, fft_pair *out)
{
    size_t item = m->wide ? sizeof(double) : sizeof(float), bytes;

    if (__builtin_mul_overflow((size_t)n, 2 * item, &bytes) || bytes > SIZE_MAX / 2)
        return false;
    bytes = (bytes + FFT_ALIGN - 1) / FFT_ALIGN * FFT_ALIGN;
    char *p = aligned_alloc(FFT_ALIGN, bytes);
    if (p == NULL)
        return false;
    m->tables[m->n_tables++] = p;
    m->bytes += bytes;
    *out = (fft_pair){p, p + (size_t)n * item};
    return true;
}

static turn table_get(const made *m, fft_pair t, int64_t i)
{
    return m->wide ? (turn){((double *)t.re)[i], ((double *)t.im)[i]}
                   : (turn){((float *)t.re)[i], ((float *)t.im)[i]};
}

static void table_put(const made *m, fft_pair t, int64_t i, turn w)
{
    if (m->wide) {
        ((double *)t.re)[i] = (double)w.re;
        ((double *)t.im)[i] = (double)w.im;
    } else {
        ((float *)t.re)[i] = (float)w.re;
        ((float *)t.im)[i] = (float)w.im;
    }
}

/* -- factors -- */

/* Set radices [FFT_PASSES] to the factors of `n`.  Return their number; -1: a prime factor is too
 * large. */
static int factors_of(int64_t n, int64_t *radices)
{
    static const int first[] = {8, 4, 2};
    int count = 0;

    for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
        for (; n % first[i] == 0; n /= first[i])
            radices[count++] = first[i];
    for (int64_t prime = 3; prime <= FFT_PRIME; prime += 2)
        for (; n % prime == 0; n /= prime)
            radices[count++] = prime;
    return n == 1 ? count : -1;
}

/* Return the least product of factors 2, 3 and 5 that is at least `least`. */
static int64_t round_length(int64_t least)
{
    int64_t best = INT64_MAX;

    for (int64_t five = 1; five < 5 * least; five *= 5)
        for (int64_t three = five; three < 3 * least; three *= 3) {
            int64_t n = three;
            while (n < least)
                n *= 2;
            best = n < best ? n : best;
        }
    return best;
}

/* Return the greatest factor of `n` that is at most the square root of n. */
static int64_t factor_near_root(int64_t n)
{
    int64_t d = (int64_t)sqrt((double)n);

    while (n % d != 0)
        d--;
    return d;
}

/* -- plans -- */

static made *made_free(made *m)
{
    if (m == NULL)
        return NULL;
    made_free((made *)m->plan.first);
    made_free((made *)m->plan.second);
    made_free((made *)m->plan.inner);
    for (int i = 0; i < m->n_tables; i++)
        free(m->tables[i]);
    free(m);
    return NULL;
}

static bool plan_passes(made *m, const int64_t *radices, int count, const turns *w)
{
    int64_t left = m->plan.n;
    poll look = {0};

    for (int i = 0; i < count; i++) {
        fft_pass *p = &m->plan.passes[i];
        int64_t r = radices[i], before = m->plan.n / left;
        *p = (fft_pass){.radix = r, .m = left / r};
        if (!table_new(m, p->m * (r - 1), &p->factors))
            return false;
        for (int64_t j = 0; j < p->m && !poll_stops(&look, STEPS * r); j++)
            for (int64_t k = 1; k < r; k++)
                table_put(m, p->factors, j * (r - 1) + k - 1, turns_at(w, j * k * before));
        if (r > 8 && !table_new(m, r, &p->roots))
            return false;
        for (int64_t k = 0; r > 8 && k < r; k++)
            table_put(m, p->roots, k, turns_at(w, k * (m->plan.n / r)));
        left = p->m;
    }
    m->plan.n_passes = count;
    return !look.stops;
}

/* Uses of a plan: transforms of several lines in lanes, of one line, or both. */
enum { LANES = 1, LINE = 2 };

static made *plan_new(int64_t n, bool wide, int use);

static bool plan_matrix(made *m, int64_t n1, const turns *w)
{
    int64_t n2 = m->plan.n / n1;
    made *first = plan_new(n1, m->wide, LANES), *second = plan_new(n2, m->wide, LANES);

    m->plan.first = (fft_plan *)first;
    m->plan.second = (fft_plan *)second;
    if (first == NULL || second == NULL || !table_new(m, m->plan.n, &m->plan.turns))
        return false;
    m->bytes += first->bytes + second->bytes;
    poll look = {0};
    for (int64_t i = 0; i < n1; i++)
        for (int64_t j = 0; j < n2; j++) {
            if (poll_stops(&look, STEPS))
                return false;
            table_put(m, m->plan.turns, i * n2 + j, turns_at(w, i * j));
        }
    return true;
}

static bool plan_smooth(made *m, const int64_t *radices, int count, int use)
{
    enum { MATRIX = 32 }; /* least number of elements for the four-step method */
    int64_t n = m->plan.n, n1 = n >= MATRIX ? factor_near_root(n) : 1;
    turns w;

    m->plan.rows = n;
    if (!turns_init(&w, n))
        return false;
    bool whole = (use == LINE && n1 > 1) || plan_passes(m, radices, count, &w);
    whole = whole && (!(use & LINE) || n1 == 1 || plan_matrix(m, n1, &w));
    turns_fini(&w);
    return whole;
}

/* Set m->plan.kernel to the transform of the conjugated chirp, divided by its length. */
static bool plan_kernel(made *m)
{
    const fft_plan *inner = m->plan.inner;
    int64_t n = m->plan.n, rows = inner->n;
    fft_pair x, y;

    if (!table_new(m, rows, &x) || !table_new(m, rows, &y))
        return false;
    poll look = {0};
    for (int64_t i = 0; i < rows && !poll_stops(&look, STEPS); i++) {
        int64_t k = i < n ? i : rows - i;
        turn w = k < n ? table_get(m, m->plan.chirp, k) : (turn){0, 0};
        table_put(m, x, i, (turn){w.re / (long double)rows, -w.im / (long double)rows});
    }
    if (look.stops)
        return false;
    m->plan.kernel = CPU_CHOSEN(fft_loops)[m->wide].run(inner, x, y, 1);
    return true;
}

static bool plan_chirp(made *m, int use)
{
    int64_t n = m->plan.n, square = 0; /* k squared, modulo 2 n */
    turns w;

    m->plan.rows = round_length(2 * n - 1);
    made *inner = plan_new(m->plan.rows, m->wide, LINE | use);
    m->plan.inner = (fft_plan *)inner;
    if (inner == NULL || !table_new(m, n, &m->plan.chirp) || !turns_init(&w, 2 * n))
        return false;
    m->bytes += inner->bytes;
    poll look = {0};
    for (int64_t k = 0; k < n && !poll_stops(&look, STEPS); k++) {
        table_put(m, m->plan.chirp, k, turns_at(&w, square));
        square = (square + 2 * k + 1) % (2 * n);
    }
    turns_fini(&w);
    return !look.stops && plan_kernel(m);
}

static made *plan_new(int64_t n, bool wide, int use)
{
    int64_t radices[FFT_PASSES];
    int count = factors_of(n, radices);
    made *m = calloc(1, sizeof(*m));

    if (m == NULL)
        return NULL;
    m->plan.n = n;
    m->wide = wide;
    m->bytes = sizeof(*m);
    return (count < 0 ? plan_chirp(m, use) : plan_smooth(m, radices, count, use)) ? m
                                                                                  : made_free(m);
}

/* Add the factors for a real line of 2 n elements to the plan. */
static bool plan_real(made *m)
{
    int64_t n = m->plan.n;
    turns w;

    m->real = true;
    if (!table_new(m, n / 2 + 1, &m->plan.real) || !turns_init(&w, 2 * n))
        return false;
    poll look = {0};
    for (int64_t k = 0; k <= n / 2 && !poll_stops(&look, STEPS); k++)
        table_put(m, m->plan.real, k, turns_at(&w, k));
    turns_fini(&w);
    if (look.stops)
        return false;
    if (m->plan.rows < n + 1)
        m->plan.rows = n + 1;
    return true;
}

/* -- the cache -- */

static pthread_mutex_t lock =
    /* protects the variables below, and `users` and `used` of all plans */
    PTHREAD_MUTEX_INITIALIZER;
static made *kept[KEPT];
static int n_kept;
static size_t kept_bytes;
static uint64_t clock_; /* number of requests */

static made *find(int64_t n, bool wide, bool real)
{
    for (int i = 0; i < n_kept; i++) {
        made *m = kept[i];
        if (m->plan.n == n && m->wide == wide && m->real == real)
            return m;
    }
    return NULL;
}

static void take_out(int i)
{
    kept_bytes -= kept[i]->bytes;
    if (kept[i]->users == 0)
        made_free(kept[i]);
    else
        kept[i]->used = 0; /* fft_plan_put() of its last user frees it */
    kept[i] = kept[--n_kept];
}

/* Put `m` into the cache; first remove the plans that were used least recently, until there is
 * capacity. */
static void keep(made *m)
{
    if (m->bytes > KEPT_BYTES)
        return;
    while (n_kept > 0 && (n_kept == KEPT || kept_bytes + m->bytes > KEPT_BYTES)) {
        int oldest = 0;
        for (int i = 1; i < n_kept; i++)
            if (kept[i]->used < kept[oldest]->used)
                oldest = i;
        take_out(oldest);
    }
    m->used = ++clock_;
    kept[n_kept++] = m;
    kept_bytes += m->bytes;
}

static fft_plan *use_kept(int64_t n, bool wide, bool real, made *instead)
{
    pthread_mutex_lock(&lock);
    made *m = find(n, wide, real);
    if (m == NULL && instead != NULL) {
        m = instead;
        instead = NULL;
        keep(m);
    }
    if (m != NULL) {
        m->users++;
        m->used = m->used > 0 ? ++clock_ : 0;
    }
    pthread_mutex_unlock(&lock);
    made_free(instead); /* another thread has put an equal plan into the cache */
    return (fft_plan *)m;
}

typedef struct making {
    int64_t n;
    bool wide, real;
    made *m;
} making;

static void make(int64_t begin, int64_t end, void *user)
{
    making *j = user;

    (void)begin, (void)end;
    j->m = plan_new(j->n, j->wide, j->n < FFT_LONG ? LANES | LINE : LINE);
    if (j->m != NULL && j->real && !plan_real(j->m))
        j->m = made_free(j->m);
}

int fft_plan_get(dp_ctx *ctx, int64_t n, dp_dtype dtype, bool real, fft_plan **out)
{
    bool wide = dtype == DP_FLOAT64 || dtype == DP_COMPLEX128;
    making j = {n, wide, real, NULL};

    *out = use_kept(n, wide, real, NULL);
    if (*out != NULL)
        return 0;
    int rc =
        /* run in dp_parallel_for(), so that a cancelled request stops the loops */
        dp_parallel_for(ctx, 0, 1, 1, make, &j);
    if (rc == 0 && j.m == NULL)
        rc = dp_fail(ctx, DP_ERESOURCE, "out of memory: a transform of %" PRId64 " elements", n);
    if (rc < 0)
        made_free(j.m); /* the tables may not be complete */
    else
        *out = use_kept(n, wide, real, j.m);
    return rc;
}

void fft_plan_put(fft_plan *plan)
{
    made *m = (made *)plan;

    if (m == NULL)
        return;
    pthread_mutex_lock(&lock);
    bool last = --m->users == 0 && m->used == 0;
    pthread_mutex_unlock(&lock);
    if (last)
        made_free(m);
}

void fft_plans_drop(void)
{
    pthread_mutex_lock(&lock);
    while (n_kept > 0)
        take_out(n_kept - 1);
    pthread_mutex_unlock(&lock);
}
