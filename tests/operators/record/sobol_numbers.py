"""sobol_numbers.py -- writes plugins/composite/random/sobol.bin: what plugins/composite/random/sobol.c begins with.

    python3 tests/operators/record/sobol_numbers.py > plugins/composite/random/sobol.bin

Needs PyTorch (written with 1.13.1), whose state for 21,201 dimensions has the direction numbers of Joe and Kuo
(new-joe-kuo-6.21201; sobol.c has their licence).  The polynomials are all primitive ones up to degree 18, in
ascending order; each is checked to give the state that its numbers begin.

A string of bits, the lowest of each byte first; for each dimension but the first:
    8 bits    half the step from the polynomial before, of those of a degree s the first one from 2^s - 1; before
              each degree but the first a step of 0
    i bits    of number i, for i in [0, s): those above the lowest, which is 1"""
import sys

import torch

DIMENSIONS, BITS = 21201, 30


def factors(n):
    return [p for p in range(2, n + 1) if n % p == 0 and all(p % q for q in range(2, int(p ** 0.5) + 1))]


def power(e, p, s):
    """x^e modulo the polynomial p of degree s"""
    def times(a, b):
        r = 0
        while b:
            r ^= a if b & 1 else 0
            a <<= 1
            a ^= p if a >> s else 0
            b >>= 1
        return r
    result, base = 1, 2
    while e:
        result = times(result, base) if e & 1 else result
        base = times(base, base)
        e >>= 1
    return result


def primitive(s):
    """The polynomials of degree s whose x has every other polynomial for a power."""
    if s == 1:
        return [3]
    order = 2 ** s - 1
    tried = [order // q for q in factors(order)]
    return [p for p in range(order + 2, 2 * order + 2, 2)
            if bin(p).count("1") % 2 and power(order, p, s) == 1 and all(power(e, p, s) != 1 for e in tried)]


def continued(first, p, s):
    numbers = list(first)
    for j in range(s, BITS):
        new = numbers[j - s]
        for k in range(s):
            if p >> (s - 1 - k) & 1:
                new ^= numbers[j - k - 1] << (k + 1)
        numbers.append(new)
    return numbers


def main():
    state = torch.zeros(DIMENSIONS, BITS, dtype=torch.int64)
    torch.ops.aten._sobol_engine_initialize_state_(state, DIMENSIONS)
    rows = iter([[v >> (BITS - 1 - j) for j, v in enumerate(row)] for row in state.tolist()[1:]])
    bits, at = 0, 0
    parts = []

    def put(value, n):
        nonlocal bits, at
        assert 0 <= value < 1 << n
        bits |= value << at
        at += n
        while at >= 8:
            parts.append(bits & 255)
            bits >>= 8
            at -= 8

    for s in range(1, 19):
        if s > 1:
            put(0, 8)
        before = 2 ** s - 1
        for p in primitive(s):
            row = next(rows)
            assert row == continued(row[:s], p, s) and all(v & 1 and v < 2 << i for i, v in enumerate(row[:s]))
            put((p - before) // 2, 8)
            before = p
            for i, v in enumerate(row[:s]):
                put(v >> 1, i)
    assert next(rows, None) is None
    put(0, 8)
    sys.stdout.buffer.write(bytes(parts))


main()
