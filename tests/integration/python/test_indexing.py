"""test_indexing.py -- random index expressions and assignments of the Python package, compared with PyTorch's."""

import os
import random
import sys

from harness import equal, less, main

try:
    import numpy
    import torch
except ImportError:
    print("skipped: numpy or torch is not there\n0 passed, 0 failed")
    sys.exit()
import dispatchd as dd

EXPRESSIONS = int(os.environ.get("DP_INDEXES", 5000))


def random_shape(rnd):
    return [rnd.choice([0, 1, 2, 3, 4, 5]) if rnd.random() < 0.1 else rnd.randint(1, 5) for _ in range(rnd.randint(0, 4))]


def part(rnd, size):
    """An index of one dimension: a function from a module (torch or dispatchd) to the index, and its text."""
    kind = rnd.random()
    i = rnd.randint(-size - 1, size) if rnd.random() < 0.1 else rnd.randint(-size, size - 1) if size else 0
    if kind < 0.3:
        return lambda m: i
    if kind < 0.6:
        ends = [rnd.choice([None, rnd.randint(-size - 2, size + 2)]) for _ in range(2)]
        step = rnd.choice([None, 1, 2, 3])
        return lambda m: slice(*ends, step)
    if kind < 0.7:
        n = rnd.randint(0, 3)
        values = [rnd.randint(-size, size - 1) for _ in range(n)] if size else []
        return lambda m: list(values)
    if kind < 0.8:
        values = [rnd.randint(-size, size - 1) for _ in range(rnd.choice([1, 2]))] if size else []
        shape = rnd.choice([[len(values)], [1, len(values)]])
        return lambda m: m.tensor(values, dtype=m.int64).reshape(shape)
    if kind < 0.88:
        mask = [rnd.random() < 0.5 for _ in range(size)]
        return lambda m: m.tensor(mask, dtype=m.bool)
    if kind < 0.91:
        return lambda m: m.tensor(i)
    if kind < 0.94:
        return lambda m: rnd_bool[0]
    return lambda m: numpy.array([0] * rnd.randint(1, 1))


rnd_bool = [True]


def random_index(rnd, shape):
    parts = []
    dims = list(shape)
    n = rnd.randint(0, len(dims)) + (rnd.random() < 0.03)
    for d in range(n):
        if rnd.random() < 0.1:
            parts.append(lambda m: None)
        parts.append(part(rnd, dims[d] if d < len(dims) else 2))
    if rnd.random() < 0.25:
        at = rnd.randint(0, len(parts))
        parts.insert(at, lambda m: Ellipsis)
    if len(parts) == 1 and rnd.random() < 0.7:
        return parts[0]
    return lambda m: tuple(p(m) for p in parts)


def outcome(f):
    try:
        return f()
    except (IndexError, ValueError, TypeError, RuntimeError) as e:
        return next(k.__name__ for k in (IndexError, ValueError, TypeError, RuntimeError) if isinstance(e, k))


def same(got, want, what):
    if isinstance(want, str) or isinstance(got, str):
        equal((got if isinstance(got, str) else got.tolist(), what), (want if isinstance(want, str) else want.tolist(), what))
        return
    equal((list(got.shape), got.tolist(), str(got.dtype)), (list(want.shape), want.tolist(), str(want.dtype)[6:]), what)


def test_reading():
    rnd = random.Random(7)
    read = refused = 0
    for k in range(EXPRESSIONS):
        shape = random_shape(rnd)
        t = torch.arange(int(numpy.prod(shape))).reshape(shape)
        x = dd.tensor(t.tolist(), dtype=dd.int64).reshape(shape)
        rnd_bool[0] = rnd.random() < 0.7
        index = random_index(rnd, shape)
        want = outcome(lambda: t[index(torch)])
        same(outcome(lambda: x[index(dd)]), want, f"{k}: shape {shape}, index {index(torch)!r}")
        read += not isinstance(want, str)
        refused += isinstance(want, str)
    less(EXPRESSIONS // 2, read, "expressions that PyTorch takes")
    less(EXPRESSIONS // 100, refused, "expressions that PyTorch refuses")


def test_assigning():
    rnd = random.Random(8)
    for k in range(EXPRESSIONS):
        shape = random_shape(rnd)
        t = torch.arange(float(numpy.prod(shape))).reshape(shape)
        x = dd.tensor(t.tolist(), dtype=dd.float32).reshape(shape)
        rnd_bool[0] = rnd.random() < 0.7
        index = random_index(rnd, shape)
        here = outcome(lambda: t[index(torch)])
        if not isinstance(here, str) and rnd.random() < 0.6:
            given = torch.arange(100., 100. + here.numel()).reshape(here.shape)
            if given.numel() and rnd.random() < 0.3 and given.dim():
                given = given[:1]
            if rnd.random() < 0.2:
                given = given.unsqueeze(0)
        else:
            given = rnd.choice([-7, 2.5, True])

        def assign(module, to):
            to[index(module)] = given if not isinstance(given, torch.Tensor) else module.tensor(given.tolist(), dtype=module.float32).reshape(
                list(given.shape))
            return to
        if has_duplicates(t, index):
            continue
        what = f"{k}: shape {shape}, index {index(torch)!r}, value {given!r}"
        want = outcome(lambda: assign(torch, t))
        same(outcome(lambda: assign(dd, x)), want, what)


def has_duplicates(t, index):
    """Does the index name an element twice?  Then the order of writing is nobody's."""
    places = outcome(lambda: torch.arange(t.numel()).reshape(t.shape)[index(torch)])
    return not isinstance(places, str) and len(set(places.flatten().tolist())) < places.numel()


def test_reversed_flips_the_first_dimension():
    for shape in ((), (3,), (2, 3), (0, 2), (2, 1, 3)):
        want = torch.arange(numpy.prod(shape)).reshape(shape)
        x = dd.tensor(want)
        got = reversed(x)
        equal((type(got), got.tolist(), tuple(got.shape)), (dd.Tensor, reversed(want).tolist(), shape))
        equal(got is x, reversed(want) is want, f"shape {shape}: the tensor itself")


def test_numpy_agrees():
    rnd = random.Random(9)
    for k in range(EXPRESSIONS // 10):
        shape = [rnd.randint(1, 5) for _ in range(rnd.randint(1, 3))]
        a = numpy.arange(numpy.prod(shape)).reshape(shape)
        x = dd.tensor(a)
        index = tuple(rnd.choice([rnd.randint(-n, n - 1), slice(rnd.randint(-n, n), rnd.randint(-n, n), rnd.randint(1, 3))])
                      for n in shape)
        equal(x[index].tolist(), a[index].tolist(), f"{k}: shape {shape}, index {index}")


main()
