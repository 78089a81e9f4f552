/* generator.c -- generators: reference-counted random state that one kernel at a time may use.
 *
 * A generator of the CPU is a Mersenne Twister (MT19937, Matsumoto and Nishimura).  A generator of
 * another device is a seed and an offset into a Philox stream, whose numbers the device computes.
 * Seeding, draws and the bytes of a saved state are those of PyTorch: at::CPUGeneratorImpl and
 * at::CUDAGeneratorImpl. */
#include "generator.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>

enum { WORDS = 624, MIDDLE = 397 };

typedef struct twister {
    uint32_t left; /* number of words that are not drawn yet, plus one */
    uint32_t next; /* index of the next word to draw */
    uint32_t words[WORDS];
    bool has_normal, has_normal_float; /* are the next two fields set? */
    double normal;                     /* second number of the last pair of normal draws */
    float normal_float;
} twister;

struct dp_generator {
    dp_keyset keys; /* must be first, as in a tensor: typed calls read it at offset 0 */
    atomic_uint refs;
    dp_device device;
    uint64_t registration; /* dpi_backend_registration() at its creation */
    uint64_t pinned; /* result of dp_backends_pin(): the backend's bit, or 0 if it needs no pin */
    pthread_mutex_t mutex; /* protects `locked` */
    pthread_cond_t unlocked;
    /* a thread has locked the generator; only that thread uses the fields below, except `seed`,
     * which any thread may read */
    atomic_bool locked;
    atomic_uint_fast64_t seed;
    uint64_t offset;  /* in the Philox stream */
    twister *twister; /* owned; NULL: Philox */
};

/* -- the twister -- */

static void twister_seed(twister *t, uint64_t seed)
{
    *t = (twister){.left = 1};
    t->words[0] = (uint32_t)seed;
    for (uint32_t i = 1; i < WORDS; i++)
        t->words[i] = 1812433253u * (t->words[i - 1] ^ t->words[i - 1] >> 30) + i;
}

static inline uint32_t twist(uint32_t high, uint32_t low)
{
    uint32_t y = (high & 0x80000000u) | (low & 0x7fffffffu);

    return y >> 1 ^ (low & 1 ? 0x9908b0dfu : 0);
}

/* Compute the next WORDS words. */
static void twister_refill(twister *t)
{
    uint32_t *w = t->words;

    for (int i = 0; i < WORDS - MIDDLE; i++)
        w[i] = w[i + MIDDLE] ^ twist(w[i], w[i + 1]);
    for (int i = WORDS - MIDDLE; i < WORDS - 1; i++)
        w[i] = w[i + MIDDLE - WORDS] ^ twist(w[i], w[i + 1]);
    w[WORDS - 1] = w[MIDDLE - 1] ^ twist(w[WORDS - 1], w[0]);
    t->left = WORDS;
    t->next = 0;
}

static inline uint32_t draw(twister *t)
{
    if (--t->left == 0)
        twister_refill(t);
    uint32_t y = t->words[t->next++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}

static inline uint64_t draw64(twister *t)
{
    uint64_t high = draw(t);

    return high << 32 | draw(t);
}

static inline double draw_double(twister *t) /* uniform in [0, 1), 53 random bits */
{
    return (double)(draw64(t) & ((UINT64_C(1) << 53) - 1)) * 0x1p-53;
}

static inline float draw_float(twister *t) /* uniform in [0, 1), 24 random bits */
{
    return (float)(draw(t) & ((1u << 24) - 1)) * 0x1p-24f;
}

/* Draw a normal number by the Box-Muller transform.  It gives two numbers; the second one is stored
 * for the next draw.  The float version computes log, sqrt, sin and cos in double, as PyTorch
 * does. */
static double draw_normal(twister *t)
{
    if (t->has_normal) {
        t->has_normal = false;
        return t->normal;
    }
    double u1 = draw_double(t), u2 = draw_double(t);
    double r = sqrt(-2.0 * log(1.0 - u2)), theta = 2.0 * M_PI * u1;
    t->normal = r * sin(theta);
    t->has_normal = true;
    return r * cos(theta);
}

static float draw_normal_float(twister *t)
{
    if (t->has_normal_float) {
        t->has_normal_float = false;
        return t->normal_float;
    }
    float u1 = draw_float(t), u2 = draw_float(t);
    float r = (float)sqrt(-2.0 * log(1.0f - u2)), theta = 2.0f * (float)M_PI * u1;
    t->normal_float = (float)(r * sin(theta));
    t->has_normal_float = true;
    return (float)(r * cos(theta));
}

/* -- lifetime -- */

static int check_index(const dpi_device *d, dp_device device, dp_error *err)
{
    int n = dpi_device_count(d);
    char name[DP_KEY_NAME_MAX];

    if (dp_device_index(device) < n)
        return 0;
    return dp_error_set(err, DP_ERUNTIME, "no device %s: its backend has %d",
                        dp_device_name(device, name), n);
}

static int check_device(dp_device device, dp_error *err)
{
    dpi_device *d;
    int rc = dpi_device_enter(dp_device_backend(device), &d, err);

    if (rc < 0)
        return rc;
    rc = check_index(d, device, err);
    dpi_device_leave(d);
    return rc;
}

int dp_generator_new(dp_device device, uint64_t seed, dp_generator **out, dp_error *err)
{
    if (!DPI_GIVEN(err, DP_EVALUE, out))
        return DP_EVALUE;
    bool cpu = dp_device_backend(device) == DP_B_CPU;
    int rc = check_device(device, err);

    if (rc < 0)
        return rc;
    dp_generator *g = dp_calloc(1, sizeof(*g));
    if (g == NULL || (cpu && (g->twister = dp_calloc(1, sizeof(twister))) == NULL)) {
        dp_free(g);
        return dpi_no_memory(err, "a generator");
    }
    g->keys = dpi_backend_keys(dp_device_backend(device));
    g->keys.functionality &= DPI_BIT(Dense);
    g->device = device;
    g->registration = dpi_backend_registration(dp_device_backend(device));
    g->pinned = dp_backends_pin(DP_BBIT(dp_device_backend(device)));
    atomic_init(&g->refs, 1);
    pthread_mutex_init(&g->mutex, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&g->unlocked, &monotonic);
    pthread_condattr_destroy(&monotonic);
    dpi_generator_seed(g, seed);
    *out = g;
    return 0;
}

int dpi_generator_copy(const dp_generator *g, dp_generator **out, dp_error *err)
{
    int rc = dp_generator_new(g->device, g->seed, out, err);

    if (rc < 0)
        return rc;
    (*out)->offset = g->offset;
    if (g->twister != NULL)
        *(*out)->twister = *g->twister;
    return 0;
}

dp_generator *dp_generator_ref(dp_generator *g)
{
    atomic_fetch_add_explicit(&g->refs, 1, memory_order_relaxed);
    return g;
}

dp_generator *dp_generator_unref(dp_generator *g)
{
    if (g == NULL || atomic_fetch_sub_explicit(&g->refs, 1, memory_order_acq_rel) > 1)
        return NULL;
    pthread_mutex_destroy(&g->mutex);
    pthread_cond_destroy(&g->unlocked);
    dp_backends_unpin(g->pinned);
    dp_free(g->twister);
    dp_free(g);
    return NULL;
}

dp_device dp_generator_device(const dp_generator *g)
{
    return g->device;
}

int dpi_generator_check(const dp_generator *g, dp_error *err)
{
    if (g->registration == dpi_backend_registration(dp_device_backend(g->device)))
        return 0;
    return dp_error_set(err, DP_ERUNTIME, "backend %s of this generator was unloaded",
                        dpi_backend_name(dp_device_backend(g->device)));
}

bool dpi_generator_trylock(dp_generator *g)
{
    pthread_mutex_lock(&g->mutex);
    bool taken = !atomic_load_explicit(&g->locked, memory_order_relaxed);
    atomic_store_explicit(&g->locked, true, memory_order_relaxed);
    pthread_mutex_unlock(&g->mutex);
    return taken;
}

int dpi_generator_wait(dp_generator *g, const dpi_stop *stop)
{
    const struct timespec until = {(time_t)(stop->deadline / 1000000000),
                                   (long)(stop->deadline % 1000000000)};
    int code = 0;

    pthread_mutex_lock(&g->mutex);
    while (atomic_load_explicit(&g->locked, memory_order_relaxed) &&
           (code = dpi_stop_code(stop)) == 0) {
        if (stop->deadline != 0)
            pthread_cond_timedwait(&g->unlocked, &g->mutex, &until);
        else
            pthread_cond_wait(&g->unlocked, &g->mutex);
    }
    if (code == 0)
        atomic_store_explicit(&g->locked, true, memory_order_relaxed);
    pthread_mutex_unlock(&g->mutex);
    return code;
}

void dpi_generator_lock(dp_generator *g)
{
    dpi_generator_wait(g, &(dpi_stop){0});
}

void dp_generator_wake(dp_generator *g)
{
    pthread_mutex_lock(&g->mutex);
    pthread_cond_broadcast(&g->unlocked);
    pthread_mutex_unlock(&g->mutex);
}

void dpi_generator_unlock(dp_generator *g)
{
    pthread_mutex_lock(&g->mutex);
    atomic_store_explicit(&g->locked, false, memory_order_relaxed);
    pthread_cond_signal(&g->unlocked);
    pthread_mutex_unlock(&g->mutex);
}

bool dp_generator_busy(const dp_generator *g)
{
    return atomic_load_explicit(&g->locked, memory_order_relaxed);
}

void dpi_generator_seed(dp_generator *g, uint64_t seed)
{
    atomic_store_explicit(&g->seed, seed, memory_order_relaxed);
    g->offset = 0;
    if (g->twister != NULL)
        twister_seed(g->twister, seed);
}

void dp_generator_seed(dp_generator *g, uint64_t seed)
{
    dpi_generator_lock(g);
    dpi_generator_seed(g, seed);
    dpi_generator_unlock(g);
}

uint64_t dp_generator_initial_seed(const dp_generator *g)
{
    return atomic_load_explicit(&g->seed, memory_order_relaxed);
}

/* -- draws, for the thread that has locked the generator -- */

static int no_stream(dp_error *err)
{
    return dp_error_set(err, DP_ERUNTIME,
                        "only the CPU's generators are a stream; draw a range of another's "
                        "(dp_generator_philox)");
}

int dpi_generator_u32(dp_generator *g, uint32_t *out, size_t n, dp_error *err)
{
    if (g->twister == NULL)
        return no_stream(err);
    for (size_t i = 0; i < n; i++)
        out[i] = draw(g->twister);
    return 0;
}

int dpi_generator_u64(dp_generator *g, uint64_t *out, size_t n, dp_error *err)
{
    if (g->twister == NULL)
        return no_stream(err);
    for (size_t i = 0; i < n; i++)
        out[i] = draw64(g->twister);
    return 0;
}

static int no_dtype(const char *what, dp_dtype dtype, dp_error *err)
{
    return dp_error_set(err, DP_ETYPE, "%s draws are float32 or float64, not %s", what,
                        dp_dtype_name(dtype));
}

int dpi_generator_uniform(dp_generator *g, dp_dtype dtype, void *out, size_t n, dp_error *err)
{
    if (g->twister == NULL)
        return no_stream(err);
    if (dtype != DP_FLOAT32 && dtype != DP_FLOAT64)
        return no_dtype("uniform", dtype, err);
    for (size_t i = 0; dtype == DP_FLOAT32 && i < n; i++)
        ((float *)out)[i] = draw_float(g->twister);
    for (size_t i = 0; dtype == DP_FLOAT64 && i < n; i++)
        ((double *)out)[i] = draw_double(g->twister);
    return 0;
}

int dpi_generator_normal(dp_generator *g, dp_dtype dtype, void *out, size_t n, dp_error *err)
{
    if (g->twister == NULL)
        return no_stream(err);
    if (dtype != DP_FLOAT32 && dtype != DP_FLOAT64)
        return no_dtype("normal", dtype, err);
    for (size_t i = 0; dtype == DP_FLOAT32 && i < n; i++)
        ((float *)out)[i] = draw_normal_float(g->twister);
    for (size_t i = 0; dtype == DP_FLOAT64 && i < n; i++)
        ((double *)out)[i] = draw_normal(g->twister);
    return 0;
}

/* The range is rounded up to a multiple of 4, because a kernel's threads draw 4 numbers at once. */
int dpi_generator_philox(dp_generator *g, uint64_t increment, uint64_t *seed, uint64_t *offset,
                         dp_error *err)
{
    if (g->twister != NULL)
        return dp_error_set(err, DP_ERUNTIME, "the CPU's generators are a stream, without ranges");
    if (increment > UINT64_MAX - 3)
        return dp_error_set(err, DP_EVALUE, "a range of %llu draws", (unsigned long long)increment);
    *seed = g->seed;
    *offset = g->offset;
    g->offset += (increment + 3) / 4 * 4;
    return 0;
}

/* -- states: the bytes of torch.Generator.get_state() -- */

typedef struct twister_state {
    uint64_t seed;
    int32_t left, seeded;
    uint64_t next, words[WORDS];
    double normal_x, normal_y, normal_rho; /* normal_y: second number of a pair */
    int32_t has_normal, unused;
    float normal_float;
    uint8_t has_normal_float, unused_too[3];
} twister_state;
enum { TWISTER_BYTES = 5056, TWISTER_BYTES_OLD = 5048 }; /* old: without the float fields */
_Static_assert(sizeof(twister_state) == TWISTER_BYTES &&
                   offsetof(twister_state, normal_float) == TWISTER_BYTES_OLD,
               "PyTorch's CPUGeneratorImplState");

typedef struct philox_state {
    uint64_t seed, offset;
} philox_state;

size_t dp_generator_state_bytes(const dp_generator *g)
{
    return g->twister != NULL ? sizeof(twister_state) : sizeof(philox_state);
}

static void twister_get(const dp_generator *g, twister_state *s)
{
    const twister *t = g->twister;

    *s = (twister_state){.seed = g->seed, .left = (int32_t)t->left, .seeded = 1, .next = t->next};
    for (int i = 0; i < WORDS; i++)
        s->words[i] = t->words[i];
    s->has_normal = t->has_normal;
    s->normal_y = t->has_normal ? t->normal : 0;
    s->has_normal_float = t->has_normal_float;
    s->normal_float = t->has_normal_float ? t->normal_float : 0;
}

void dpi_generator_state_get(const dp_generator *g, void *out)
{
    if (g->twister != NULL)
        twister_get(g, out);
    else
        *(philox_state *)out = (philox_state){g->seed, g->offset};
}

void dp_generator_state_get(dp_generator *g, void *out)
{
    dpi_generator_lock(g);
    dpi_generator_state_get(g, out);
    dpi_generator_unlock(g);
}

static int bad_size(size_t want, size_t bytes, dp_error *err)
{
    return dp_error_set(err, DP_EVALUE, "expected a state of %zu bytes but got %zu", want, bytes);
}

static int twister_set(dp_generator *g, const void *p, size_t bytes, dp_error *err)
{
    twister_state s = {0};

    if (bytes != TWISTER_BYTES && bytes != TWISTER_BYTES_OLD)
        return bad_size(TWISTER_BYTES, bytes, err);
    memcpy(&s, p, bytes);
    bool fits = s.left == 1 || (s.left > 1 && s.left <= WORDS && s.next <= WORDS &&
                                s.next + (uint64_t)s.left <= WORDS + 1);
    if (!s.seeded || !fits || s.next > WORDS)
        return dp_error_set(err, DP_EVALUE,
                            "no state of a generator: seeded %d, left %d, next %llu", s.seeded,
                            s.left, (unsigned long long)s.next);
    if (bytes == TWISTER_BYTES_OLD)
        s.normal_y = s.normal_rho * sin(2.0 * M_PI * s.normal_x);
    twister *t = g->twister;
    *t = (twister){.left = (uint32_t)s.left, .next = (uint32_t)s.next};
    for (int i = 0; i < WORDS; i++)
        t->words[i] = (uint32_t)s.words[i];
    t->has_normal = s.has_normal != 0;
    t->normal = s.normal_y;
    t->has_normal_float = s.has_normal_float != 0;
    t->normal_float = s.normal_float;
    g->seed = s.seed;
    return 0;
}

static int philox_set(dp_generator *g, const void *p, size_t bytes, dp_error *err)
{
    philox_state s;

    if (bytes != sizeof(s))
        return bad_size(sizeof(s), bytes, err);
    memcpy(&s, p, sizeof(s));
    if (s.offset % 4 != 0)
        return dp_error_set(err, DP_EVALUE, "an offset is a multiple of 4 but got %llu",
                            (unsigned long long)s.offset);
    g->seed = s.seed;
    g->offset = s.offset;
    return 0;
}

int dpi_generator_state_set(dp_generator *g, const void *state, size_t bytes, dp_error *err)
{
    return g->twister != NULL ? twister_set(g, state, bytes, err)
                              : philox_set(g, state, bytes, err);
}

int dp_generator_state_set(dp_generator *g, const void *state, size_t bytes, dp_error *err)
{
    dpi_generator_lock(g);
    int rc = dpi_generator_state_set(g, state, bytes, err);
    dpi_generator_unlock(g);
    return rc;
}
