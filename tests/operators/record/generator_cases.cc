/* generator_cases.cc -- writes tests/data/generator_cases.txt: what PyTorch's generators draw.
 *
 *     g++ -std=c++17 -o /tmp/cases tests/operators/record/generator_cases.cc -ltorch -ltorch_cpu
 *     -lc10 /tmp/cases > tests/data/generator_cases.txt
 *
 * Needs PyTorch's headers (written with 1.13.1); the tests need only the file.  A line is a kind
 * and hexadecimal words, those of a float or double being its bits:
 *
 *     seed S          a generator seeded with S; the lines up to the next seed draw from it in turn
 *     u32 f32 ...     draws: 32 and 64 bits, uniform in [0, 1), normal
 *     skip N          N draws of 32 bits
 *     hash H          FNV-1a of the 5056 bytes of its state
 *     state BYTES     the bytes themselves */
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/DistributionsHelper.h>
#include <cinttypes>
#include <cstdio>

template <typename T, typename Draw> static void line(const char *kind, int n, Draw draw)
{
    printf("%s", kind);
    for (int i = 0; i < n; i++) {
        T x = draw();
        uint64_t bits = 0;
        memcpy(&bits, &x, sizeof(x));
        printf(" %" PRIx64, bits);
    }
    printf("\n");
}

static void state(at::CPUGeneratorImpl *g, bool bytes)
{
    at::Tensor t(g->get_state());
    const uint8_t *p = t.data_ptr<uint8_t>();
    uint64_t h = 14695981039346656037u;
    for (int64_t i = 0; i < t.numel(); i++)
        h = (h ^ p[i]) * 1099511628211u;
    printf("hash %" PRIx64 "\n", h);
    if (!bytes)
        return;
    printf("state ");
    for (int64_t i = 0; i < t.numel(); i++)
        printf("%02x", p[i]);
    printf("\n");
}

int main()
{
    const uint64_t seeds[] = {0,
                              1,
                              5,
                              42,
                              12345,
                              67280421310721,
                              0xffffffff,
                              0x100000000,
                              0x7fffffffffffffff,
                              0xffffffffffffffff};
    for (uint64_t seed : seeds) {
        auto generator = at::detail::createCPUGenerator(seed);
        auto *g = at::check_generator<at::CPUGeneratorImpl>(generator);
        printf("seed %" PRIx64 "\n", seed);
        state(g, false);
        line<uint32_t>("u32", 3, [&] { return g->random(); });
        line<uint64_t>("u64", 2, [&] { return g->random64(); });
        line<float>("f32", 5, [&] { return at::uniform_real_distribution<float>(0, 1)(g); });
        line<double>("f64", 3, [&] { return at::uniform_real_distribution<double>(0, 1)(g); });
        line<double>("n64", 3, [&] { return at::normal_distribution<double>(0, 1)(g); });
        line<float>("n32", 5, [&] { return at::normal_distribution<float>(0, 1)(g); });
        state(g, seed == 5);
        for (int i = 0; i < 600; i++)
            g->random();
        printf("skip 258\n"); /* 600 */
        line<double>("n64", 4, [&] { return at::normal_distribution<double>(0, 1)(g); });
        line<uint32_t>("u32", 4, [&] { return g->random(); });
        line<float>("n32", 2, [&] { return at::normal_distribution<float>(0, 1)(g); });
        state(g, false);
    }
}
