"""test_strides.py [CASES [SEED]] -- the layout of results beside PyTorch 1.13.1's: sizes and strides, exactly, also of
results with one element or none, and their values.

Operands are random: dimensions in any order, stepped, expanded, of size 1 with any stride, empty; alike or
broadcast against each other; outputs given with a layout of their own, or of a wrong shape.  A test is one
operator.  Without PyTorch nothing is compared, and it says so."""

import contextlib
import os
import random
import sys

from compare import ERRORS, Both, one, torch  # ends the process where PyTorch is missing
from cases.inputs import DTYPES, copy, operator
from daemon import TestDaemon

SIZES = (0, 1, 1, 2, 2, 3, 4, 5)


class Layouts:
    def __init__(self, seed):
        self.rng = random.Random(seed)

    def tensor(self, shape, dtype=torch.float32):
        """Some values of that shape, lying anyhow."""
        rng, n = self.rng, len(shape)
        if dtype is torch.bool:
            return self.tensor(shape) > 0
        base, steps, order = [], [], list(range(n))
        if rng.random() < .5:
            rng.shuffle(order)
        if n == 4 and rng.random() < .3:
            order = [0, 2, 3, 1]
        plain = rng.random() < .5
        expanded = [not plain and rng.random() < .15 for _ in shape]
        for d in order:
            steps.append(1 if plain else rng.choice((1, 1, 1, 2)))
            base.append((1 if expanded[d] else shape[d]) * steps[-1] + (0 if plain else rng.choice((0, 0, 1))))
        x = torch.randint(-8, 9, base).to(dtype)[tuple(slice(0, (1 if expanded[d] else shape[d]) * s, s)
                                                       for d, s in zip(order, steps))]
        x = x.permute([order.index(d) for d in range(n)]).expand(shape)
        if rng.random() < .15 and 1 in shape and x.numel():
            strides = [rng.choice((0, 1, 7, 60)) if s == 1 else t for s, t in zip(shape, x.stride())]
            x = torch.as_strided(x, shape, strides)
        return x

    def shape(self, ndim=None):
        return [self.rng.choice(SIZES if self.rng.random() < .2 else SIZES[1:])
                for _ in range(self.rng.choice((0, 1, 2, 2, 3, 3, 4, 4, 5)) if ndim is None else ndim)]

    def against(self, shape):
        """A shape that broadcasts to it."""
        if self.rng.random() < .5:
            return list(shape)
        cut = self.rng.randrange(len(shape) + 1) if self.rng.random() < .3 else 0
        return [1 if self.rng.random() < .3 else s for s in shape[cut:]]

    def operands(self, n, dtypes=(torch.float32,)):
        shape = self.shape()
        made = [self.tensor(self.against(shape), self.rng.choice(dtypes)) for _ in range(n)]
        if self.rng.random() < .3:  # alike
            made = [made[0]] + [torch.empty_strided(made[0].size(), made[0].stride(), dtype=t.dtype).copy_(made[0])
                                if 0 not in made[0].stride() else t for t in made[1:]]
        return made

    def dims(self, ndim):
        return [d for d in range(ndim) if self.rng.random() < .5] or ([self.rng.randrange(ndim)] if ndim else [])


FLOATS = (torch.float32, torch.float32, torch.float64)
MIXED = (torch.float32, torch.float32, torch.int64, torch.float64, torch.bool)


def unary(r):
    return r.operands(1), {}


def binary(r):
    return r.operands(2, MIXED), {}


def numbers(*values):
    return lambda r: (r.operands(1) + list(values), {})


def ternary(r):
    return r.operands(3), {}


def where(r):
    a, b, c = r.operands(3)
    return [a > 0, b, c], {}


def out(r):
    """The output lies in its own way, has no elements, or has another shape, and then a warning goes with it."""
    a, b = r.operands(2)
    shape = list(torch.broadcast_shapes(a.shape, b.shape))
    made = r.tensor(shape if r.rng.random() < .6 else r.rng.choice(([0], r.shape())), r.rng.choice(FLOATS))
    fresh = torch.empty_strided(made.size(), made.stride(), dtype=made.dtype) if 0 not in made.stride() else \
        torch.empty(made.size(), dtype=made.dtype)
    return [a, b], {"out": fresh.zero_()}


def in_place(r):
    a = r.tensor(r.shape())
    a = a if 0 not in a.stride() else a.contiguous()
    return [a, r.tensor(r.against(a.shape), r.rng.choice((torch.float32, torch.int64)))], {}


def reduced(r):
    a = r.tensor(r.shape())
    return [a, r.dims(a.dim()), r.rng.random() < .5], {}


def reduced_one(r):
    a = r.tensor(r.shape(r.rng.choice((1, 2, 3, 4))))
    return [a, r.rng.randrange(a.dim()), r.rng.random() < .5], {}


OPERATORS = {
    "add.Tensor": binary, "mul.Tensor": binary, "sub.Tensor": lambda r: (r.operands(2, FLOATS), {}), "div.Tensor": binary,
    "eq.Tensor": binary, "lt.Tensor": binary, "maximum": lambda r: (r.operands(2, FLOATS), {}), "logical_and": binary,
    "atan2": binary, "pow.Tensor_Tensor": lambda r: ([a.abs() for a in r.operands(2)], {}), "where.self": where,
    "addcmul": ternary, "addcdiv": ternary, "neg": unary, "abs": unary, "exp": unary, "sqrt": unary, "relu": unary,
    "sigmoid": unary, "isnan": unary, "isinf": unary, "logical_not": unary, "silu": unary, "gelu": unary,
    "clamp": numbers(-1, 2), "clamp_min": numbers(0), "hardtanh": unary, "leaky_relu": unary,
    "pow.Tensor_Scalar": numbers(2), "add.Scalar": numbers(2), "mul.Scalar": numbers(2.5), "eq.Scalar": numbers(1),
    "add.out": out, "mul.out": out, "add_.Tensor": in_place, "mul_.Tensor": in_place,
    "sum.dim_IntList": reduced, "mean.dim": reduced, "amax": reduced, "argmax": reduced_one,
    "clone": unary, "zeros_like": unary, "masked_fill.Scalar": lambda r: (lambda a, b: ([a, b > 0, 3], {}))(*r.operands(2)),
}


def exact(answer, want):
    got = answer["shape"], answer["strides"], answer["dtype"]
    wanted = list(want.shape), list(want.stride()), DTYPES[want.dtype]
    return None if got == wanted else f"shape, strides, dtype {got}, want {wanted}"


def case(both, name, function, args, kwargs):
    fault = one(both, name, function, args, kwargs)
    if fault:
        return fault
    try:
        want = function(*args, **{k: copy(v) for k, v in kwargs.items()}) if not name.split(".")[0].endswith("_") else None
    except tuple(ERRORS):
        return None
    if want is None:
        return None
    flat, _ = both.call(name, args, kwargs)
    return exact(flat[0], want)


@contextlib.contextmanager
def without_warnings():
    """PyTorch's C++ tells stderr of every output that it resizes."""
    own = os.dup(2)
    with open(os.devnull, "w") as null:
        os.dup2(null.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(own, 2)


def main():
    n, seed = (int(a) for a in (sys.argv[1:] + ["80", "20261122"][len(sys.argv) - 1:]))
    passed = failed = calls = 0
    with TestDaemon() as daemon, daemon.connect() as client, torch.no_grad(), without_warnings():
        both = Both(client)
        for name, make in OPERATORS.items():
            layouts, faults = Layouts(f"{seed} {name}"), 0
            torch.manual_seed(seed)
            function = operator(name)
            for _ in range(n):
                args, kwargs = make(layouts)
                calls += 1
                try:
                    fault = case(both, name, function, args, kwargs)
                finally:
                    both.done()
                if fault and faults < 3:
                    given = ", ".join(f"{list(a.shape)}{list(a.stride())}" if torch.is_tensor(a) else str(a)
                                      for a in [*args, *kwargs.values()])
                    print(f"FAIL {name}({given}): {fault}", flush=True)
                faults += fault is not None
            passed, failed = (passed, failed + 1) if faults else (passed + 1, failed)
    print(f"{calls} calls compared")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
