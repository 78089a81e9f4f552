/* test_generator.c -- generators draw what PyTorch's draw. */
#include "draws.h"

enum { STATE_BYTES = 5056, LINE_BYTES = 2 * STATE_BYTES + 64 };

static dp_generator *make(uint64_t seed)
{
    dp_generator *g = NULL;

    ck_assert_int_eq(dp_generator_new(DP_DEVICE_CPU, seed, &g, &err), 0);
    return g;
}

static uint64_t hash(dp_generator *g)
{
    uint8_t bytes[STATE_BYTES];
    uint64_t h = 14695981039346656037u;

    ck_assert_uint_eq(dp_generator_state_bytes(g), STATE_BYTES);
    dp_generator_state_get(g, bytes);
    for (size_t i = 0; i < STATE_BYTES; i++)
        h = (h ^ bytes[i]) * 1099511628211u;
    return h;
}

/* One draw of this kind, as bits. */
static uint64_t draw(dp_generator *g, const char *kind)
{
    uint64_t bits = 0;
    uint32_t word = 0;
    dp_dtype dtype = kind[1] == '3' ? DP_FLOAT32 : DP_FLOAT64;
    int rc;

    if (strcmp(kind, "u64") == 0)
        rc = dpi_generator_u64(g, &bits, 1, &err);
    else if (kind[0] == 'u')
        rc = dpi_generator_u32(g, &word, 1, &err);
    else if (kind[0] == 'f')
        rc = dpi_generator_uniform(g, dtype, dtype == DP_FLOAT32 ? (void *)&word : &bits, 1, &err);
    else
        rc = dpi_generator_normal(g, dtype, dtype == DP_FLOAT32 ? (void *)&word : &bits, 1, &err);
    ck_assert_int_eq(rc, 0);
    return bits | word;
}

static void check_state(dp_generator *g, const char *hex)
{
    uint8_t want[STATE_BYTES], got[STATE_BYTES];
    dp_generator *other = make(7);

    for (size_t i = 0; i < STATE_BYTES; i++)
        sscanf(hex + 2 * i, "%2hhx", &want[i]);
    dp_generator_state_get(g, got);
    ck_assert_mem_eq(got, want, STATE_BYTES);
    ck_assert_int_eq(dp_generator_state_set(other, want, STATE_BYTES, &err), 0);
    ck_assert_uint_eq(hash(other), hash(g));
    ck_assert_uint_eq(dp_generator_initial_seed(other), dp_generator_initial_seed(g));
    dp_generator_unref(other);
}

static void check_line(dp_generator *g, const char *kind, char *words, size_t number)
{
    for (char *w = strtok(words, " \n"); w != NULL; w = strtok(NULL, " \n")) {
        uint64_t want = strtoull(w, NULL, 16);
        if (strcmp(kind, "skip") == 0) {
            while (want-- > 0)
                draw(g, "u32");
            continue;
        }
        uint64_t got = strcmp(kind, "hash") == 0 ? hash(g) : draw(g, kind);
        unit_each(got == want, "line %zu, %s: got %" PRIx64 ", PyTorch %" PRIx64, number, kind, got,
                  want);
    }
}

START_TEST(generator_draws_what_pytorch_draws)
{
    static char line[LINE_BYTES], kind[8];
    FILE *f = fopen("tests/data/generator_cases.txt", "r");
    dp_generator *g = NULL;
    size_t seeds = 0, states = 0, number = 0;

    ck_assert_msg(f != NULL, "no tests/data/generator_cases.txt");
    while (fgets(line, sizeof(line), f)) {
        int n = 0;
        number++;
        ck_assert_int_eq(sscanf(line, "%7s %n", kind, &n), 1);
        if (strcmp(kind, "seed") == 0) {
            dp_generator_unref(g);
            g = make(strtoull(line + n, NULL, 16));
            seeds++;
        } else if (strcmp(kind, "state") == 0) {
            check_state(g, line + n);
            states++;
        } else {
            check_line(g, kind, line + n, number);
        }
    }
    fclose(f);
    dp_generator_unref(g);
    ck_assert_uint_eq(seeds, 10);
    ck_assert_uint_eq(states, 1);
}
END_TEST

/* Many draws at once are the same as one after the other. */
START_TEST(generator_draws_in_bulk)
{
    dp_generator *a = make(3), *b = make(3);
    double all[1501];

    ck_assert_int_eq(dpi_generator_normal(a, DP_FLOAT64, all, 1501, &err), 0);
    for (int i = 0; i < 1501; i++) {
        double one;
        dpi_generator_normal(b, DP_FLOAT64, &one, 1, &err);
        unit_each(one == all[i], "draw %d: got %a, in bulk %a", i, one, all[i]);
    }
    ck_assert_uint_eq(hash(a), hash(b));
    dp_generator_unref(a);
    dp_generator_unref(b);
}
END_TEST

START_TEST(generator_state_goes_on_where_it_was)
{
    uint8_t state[STATE_BYTES];
    uint64_t want[700], got[700];
    dp_generator *g = make(11), *other = make(12);
    float first;

    ck_assert_int_eq(dpi_generator_normal(g, DP_FLOAT32, &first, 1, &err), 0); /* one is kept */
    dp_generator_state_get(g, state);
    ck_assert_int_eq(dpi_generator_u64(g, want, 700, &err), 0);
    ck_assert_int_eq(dp_generator_state_set(other, state, sizeof(state), &err), 0);
    ck_assert_int_eq(dpi_generator_u64(other, got, 700, &err), 0);
    ck_assert_mem_eq(got, want, sizeof(want));
    ck_assert_uint_eq(hash(g), hash(other));
    dp_generator_seed(g, 5);
    dp_generator *fresh = make(5);
    ck_assert_uint_eq(hash(g), hash(fresh));
    dp_generator_unref(fresh);
    dp_generator_unref(g);
    dp_generator_unref(other);
}
END_TEST

/* What no state can be changes nothing; nothing that is taken reads past the words. */
START_TEST(generator_refuses_what_is_no_state)
{
    static const struct {
        int32_t left, seeded;
        uint64_t next;
        bool good;
    } cases[] = {
        {1, 1, 0, true},    {1, 1, 624, true},         {624, 1, 1, true},  {624, 1, 2, false},
        {0, 1, 0, false},   {-1, 1, 0, false},         {625, 1, 0, false}, {2, 1, 624, false},
        {1, 1, 625, false}, {2, 1, UINT64_MAX, false}, {1, 0, 0, false},
    };
    uint8_t state[STATE_BYTES + 1] = {0};
    uint32_t draws[1300];
    dp_generator *g = make(1);
    uint64_t before = hash(g);

    dp_generator_state_get(g, state);
    for (size_t n = 0; n < sizeof(state); n += 8)
        if (n != STATE_BYTES && n != STATE_BYTES - 8)
            ck_assert_int_eq(dp_generator_state_set(g, state, n, &err), DP_EVALUE);
    ck_assert_str_eq(err.message, "expected a state of 5056 bytes but got 5040");
    for (size_t i = 0; i < DPI_COUNT(cases); i++) {
        memcpy(state + 8, &cases[i].left, 4);
        memcpy(state + 12, &cases[i].seeded, 4);
        memcpy(state + 16, &cases[i].next, 8);
        int rc = dp_generator_state_set(g, state, STATE_BYTES, &err);
        ck_assert_msg((rc == 0) == cases[i].good, "case %zu: %d", i, rc);
        if (rc < 0)
            ck_assert_uint_eq(hash(g), before);
        dpi_generator_u32(g, draws, 1300, &err);
        dp_generator_seed(g, 1);
    }
    dp_generator_unref(g);
}
END_TEST

/* A state of before PyTorch kept float draws: two uniforms, of which the sine is to come. */
START_TEST(generator_takes_the_old_state)
{
    uint8_t state[STATE_BYTES];
    double numbers[] = {0.25, 0, 3}, got; /* normal_x, normal_y, normal_rho */
    int32_t valid = 1;
    dp_generator *g = make(1);

    dp_generator_state_get(g, state);
    memcpy(state + 24 + 624 * 8, numbers, sizeof(numbers));
    memcpy(state + 24 + 624 * 8 + 24, &valid, 4);
    ck_assert_int_eq(dp_generator_state_set(g, state, STATE_BYTES - 8, &err), 0);
    ck_assert_int_eq(dpi_generator_normal(g, DP_FLOAT64, &got, 1, &err), 0);
    ck_assert_msg(got == 3, "got %a, want 3", got);
    dp_generator_unref(g);
}
END_TEST

START_TEST(generator_ranges_follow_each_other)
{
    static const uint64_t increments[] = {1, 4, 5, 0, 1000}, offsets[] = {0, 4, 8, 16, 16};
    uint64_t seed, offset, state[2], bad[] = {1, 6};
    uint32_t word;
    dp_generator *g;

    ck_assert_int_eq(dp_generator_new(DP_DEVICE(DP_B_Meta, 0), 9, &g, &err), 0);
    for (size_t i = 0; i < DPI_COUNT(increments); i++) {
        ck_assert_int_eq(dpi_generator_philox(g, increments[i], &seed, &offset, &err), 0);
        ck_assert_uint_eq(seed, 9);
        ck_assert_uint_eq(offset, offsets[i]);
    }
    ck_assert_int_eq(dpi_generator_u32(g, &word, 1, &err), DP_ERUNTIME);
    ck_assert_int_eq(dpi_generator_philox(g, UINT64_MAX, &seed, &offset, &err), DP_EVALUE);
    ck_assert_uint_eq(dp_generator_state_bytes(g), sizeof(state));
    dp_generator_state_get(g, state);
    ck_assert_uint_eq(state[0], 9);
    ck_assert_uint_eq(state[1], 1016);
    ck_assert_int_eq(dp_generator_state_set(g, bad, sizeof(bad), &err), DP_EVALUE);
    state[1] = 40;
    ck_assert_int_eq(dp_generator_state_set(g, state, sizeof(state), &err), 0);
    ck_assert_int_eq(dpi_generator_philox(g, 1, &seed, &offset, &err), 0);
    ck_assert_uint_eq(offset, 40);
    dp_generator_unref(g);
    g = make(1);
    ck_assert_int_eq(dpi_generator_philox(g, 1, &seed, &offset, &err), DP_ERUNTIME);
    dp_generator_unref(g);
}
END_TEST

enum { THREADS = 4, TURNS = 200, EACH = 100, DRAWS = THREADS * TURNS * EACH };

static dp_generator *shared;
static uint32_t drawn[THREADS][TURNS * EACH];

static void *take_turns(void *arg)
{
    uint32_t *mine = arg;
    dp_error e = DP_ERROR_INIT;

    for (int i = 0; i < TURNS; i++) {
        dpi_generator_lock(shared);
        dpi_generator_u32(shared, mine + i * EACH, EACH, &e);
        dpi_generator_unlock(shared);
    }
    return NULL;
}

static int ascending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

START_TEST(generator_gives_each_draw_to_one_thread)
{
    static uint32_t want[DRAWS];
    pthread_t threads[THREADS];
    dp_generator *alone = make(21);

    shared = make(21);
    dpi_generator_u32(alone, want, DRAWS, &err);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, take_turns, drawn[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(hash(shared), hash(alone));
    qsort(drawn, DRAWS, sizeof(uint32_t), ascending);
    qsort(want, DRAWS, sizeof(uint32_t), ascending);
    ck_assert_mem_eq(drawn, want, sizeof(want));
    dp_generator_unref(shared);
    dp_generator_unref(alone);
}
END_TEST

UNIT_SUITE(generator)
{
    tcase_add_test(tc, generator_draws_what_pytorch_draws);
    tcase_add_test(tc, generator_draws_in_bulk);
    tcase_add_test(tc, generator_state_goes_on_where_it_was);
    tcase_add_test(tc, generator_refuses_what_is_no_state);
    tcase_add_test(tc, generator_takes_the_old_state);
    tcase_add_test(tc, generator_ranges_follow_each_other);
    tcase_add_test(tc, generator_gives_each_draw_to_one_thread);
}
