"""test_printing.py -- the text of tensors, compared with PyTorch's; what is fetched for it; HTML."""

import random
import sys

from harness import contains, equal, less, main

try:
    import torch
except ImportError:
    print("skipped: torch is not there\n0 passed, 0 failed")
    sys.exit()
import dispatchd as dd
from dispatchd.printing import text

DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "int8", "uint8", "bool", "complex64", "complex128")


def values(rnd, shape, name):
    """A random tensor of PyTorch whose numbers are small, huge, whole, not finite or zero."""
    dtype = getattr(torch, name)
    n = int(torch.Size(shape).numel())
    if name == "bool":
        return (torch.rand(shape) < 0.5)
    if not (dtype.is_floating_point or dtype.is_complex):
        top = rnd.choice([3, 100, 127])
        return torch.randint(0 if name == "uint8" else -top, top, shape).to(dtype)
    kind = rnd.choice(["unit", "huge", "tiny", "mixed", "whole", "whole large", "odd"])
    scale = {"unit": 1, "huge": 1e9, "tiny": 1e-6, "mixed": 1, "whole": 10, "whole large": 1e6, "odd": 1}[kind]
    t = torch.randn(shape, dtype=torch.complex128 if dtype.is_complex else torch.float64) * scale
    if kind == "mixed":
        t = t * 10.0 ** torch.randint(-4, 5, shape)
    if kind.startswith("whole"):
        t = torch.view_as_complex(torch.view_as_real(t).round()) if dtype.is_complex else t.round()
    if kind == "odd" and n:
        flat = t.reshape(-1)
        for v in (float("nan"), float("inf"), -float("inf"), -0.0, 0.0):
            flat[rnd.randrange(n)] = v
    return t.to(dtype)


def given(t):
    """The same tensor with the daemon."""
    return dd.tensor(t)


def test_500_tensors():
    rnd = random.Random(3)
    torch.manual_seed(3)
    for k in range(500):
        shape = [rnd.choice([0, 1, 2, 3, 7, 8, 13]) if rnd.random() < 0.9 else rnd.randint(20, 60) for _ in range(rnd.randint(0, 4))]
        t = values(rnd, shape, rnd.choice(DTYPES))
        if t.numel() > 200000:
            continue
        if t.dim() == 2 and rnd.random() < 0.3:
            t = t.t()
        equal(text(given(t), "torch"), repr(t), f"{k}: {t.dtype} {shape}")


def test_options():
    t = torch.linspace(0, 5, 2000).reshape(40, 50) ** 3
    x = given(t)
    for options in ({"precision": 2}, {"threshold": 5000}, {"edgeitems": 2}, {"linewidth": 40}, {"profile": "short"},
                    {"sci_mode": True}, {"sci_mode": False}, {"profile": "default"}):
        torch.set_printoptions(**options)
        dd.set_printoptions(**options)
        equal(text(x, "torch"), repr(t), str(options))
        torch.set_printoptions(profile="default")
        dd.set_printoptions(profile="default")


def test_only_the_edges_are_fetched():
    from dispatchd import arrays
    fetched, original = [], arrays.to_bytes
    arrays.to_bytes = lambda t: fetched.append(original(t)) or fetched[-1]
    try:
        contains(repr(dd.arange(1 << 22).reshape(1 << 11, 1 << 11)), "...")
    finally:
        arrays.to_bytes = original
    equal([len(data) for data in fetched], [36 * 8], "bytes of the elements at the edges")


def test_html():
    contains(dd.arange(6).reshape(2, 3)._repr_html_(), "<td style='text-align:right'>5</td>", "the table")
    contains(dd.ones(100, 100)._repr_html_(), "&#8230;")
    contains(dd.ones(2, 2, 2)._repr_html_(), "<pre>tensor([[[1., 1.],")


def test_gradients_are_mentioned():
    x = dd.ones(2, requires_grad=True)
    contains(repr(x), "requires_grad=True")
    contains(repr(x * 2), "grad_fn=<aten::mul.Tensor>")


main()
