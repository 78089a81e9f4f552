/* siphash.c -- the hash function SipHash-2-4 with 128 bits of output (Aumasson and Bernstein), for
 * data that is added in pieces. */
#include "base.h"
#include <endian.h>

static inline uint64_t rotate(uint64_t x, int n)
{
    return x << n | x >> (64 - n);
}

static inline void one_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[0] = rotate(v[0], 32);
    v[2] += v[3];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
}

/* The local copy `v` lets the compiler keep the state in registers. */
static inline void add_word(dpi_siphash *h, uint64_t word)
{
    uint64_t v[4] = {h->v[0], h->v[1], h->v[2], h->v[3] ^ word};

    one_round(v);
    one_round(v);
    v[0] ^= word;
    memcpy(h->v, v, sizeof(v));
}

static void four_rounds(dpi_siphash *h)
{
    for (int i = 0; i < 4; i++)
        one_round(h->v);
}

void dpi_siphash_begin(dpi_siphash *h, uint64_t key0, uint64_t key1)
{
    *h = (dpi_siphash){.v = {key0 ^ 0x736f6d6570736575u, key1 ^ 0x646f72616e646f6du ^ 0xee,
                             key0 ^ 0x6c7967656e657261u, key1 ^ 0x7465646279746573u}};
}

void dpi_siphash_add(dpi_siphash *h, const void *p, size_t n)
{
    const uint8_t *bytes = p;

    for (size_t taken; n > 0; bytes += taken, n -= taken, h->n += taken) {
        uint64_t word;
        bool whole = (h->n & 7) == 0 && n >= sizeof(word);
        taken = whole ? sizeof(word) : 1;
        if (whole) {
            memcpy(&word, bytes, sizeof(word));
            add_word(h, le64toh(word));
            continue;
        }
        h->word |= (uint64_t)bytes[0] << 8 * (h->n & 7);
        if ((h->n & 7) == 7) {
            add_word(h, h->word);
            h->word = 0;
        }
    }
}

void dpi_siphash_end(dpi_siphash *h, uint64_t out[2])
{
    add_word(h, h->word | (uint64_t)h->n << 56);
    h->v[2] ^= 0xee;
    four_rounds(h);
    out[0] = h->v[0] ^ h->v[1] ^ h->v[2] ^ h->v[3];
    h->v[1] ^= 0xdd;
    four_rounds(h);
    out[1] = h->v[0] ^ h->v[1] ^ h->v[2] ^ h->v[3];
}
