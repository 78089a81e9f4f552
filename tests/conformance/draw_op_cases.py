"""draw_op_cases.py -- for test_ops.py: cases of random operators.  What is compared is everything but the values,
which tests/integration/test_draws.py compares for given seeds.

Tensors come from make(), which test_ops gives, so that all cases share its random values."""

import itertools
import re
import torch

f32, f64, f16, bf16, i64, i32, u8, b8, c64 = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32,
                                              torch.uint8, torch.bool, torch.complex64)
ALL = f32, f64, f16, bf16, i64, i32, u8, torch.int8, torch.int16, b8, c64
IN_PLACE = {"uniform": [(), (-1.0, 2.0), (2.0, 1.0), (0.0, 1e39), (float("nan"), 1.0), (-3e38, 3e38)],
            "normal": [(), (2.0, 0.5), (0.0, 0.0), (0.0, -1.0), (0.0, float("nan"))],
            "exponential": [(), (2.0,), (0.0,), (-1.0,)], "geometric": [(0.5,), (0.0,), (1.0,), (float("nan"),)],
            "cauchy": [(), (1.0, 2.0), (0.0, 0.0)], "log_normal": [(), (0.0, 0.5), (0.0, 0.0), (0.0, -1.0)],
            "random": [()], "random.to": [(10,), (0,), (200,), (2**40,)],
            "random.from": [(-3, 7), (0, None), (-2**63, None), (5, None), (3, 3), (2**62, 2**63 - 1), (-200, 100)]}
DROPOUTS = "dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"
# Their values depend on the generator.
RANDOM = re.compile(r"(rand|normal|uniform|exponential|geometric|cauchy|log_normal|bernoulli|multinomial|.*dropout_?$|random|poisson|binomial|"
                    r"_standard_gamma$|_sample_dirichlet|rrelu(_with_noise)?(_|\.out)?$)")


def cases(make):
    """{operator: function that yields (arguments, keyword arguments)}"""
    found = {}

    def tensors(dtype):
        yield from (make(dtype, 5), make(dtype, 4, 6).t(), make(dtype, 9, 9)[::2, 1:], make(dtype), make(dtype, 0, 3), make(dtype, 3, 1).expand(3, 4),
                    make(dtype, 2, 3, 4, 5).contiguous(memory_format=torch.channels_last))

    def filled(lists):
        return lambda: (((x, *a), {}) for d in ALL for i, a in enumerate(lists) for x in itertools.islice(tensors(d), None if i == 0 else 1))

    for name, lists in IN_PLACE.items():
        base, _, overload = name.partition(".")
        end = "." + overload if overload else ""
        found[base + "_" + end] = filled(lists)
        found[base + end] = lambda lists=lists: (((make(d, 3, 4), *a), {}) for d in (f32, i64) for a in lists)
        found[base + (end + "_out" if end else ".out")] = lambda lists=lists: (
            ((make(f32, 3, 4), *lists[0]), {"out": torch.zeros(*s)}) for s in ((0,), (3, 4), (2,)))
    del found["normal"], found["normal.out"]
    found["normal_functional"] = lambda: (((make(d, 3, 4), *a), {}) for d in (f32, i64) for a in IN_PLACE["normal"])
    found["normal.float_float"] = lambda: (((0.0, s, [3, 4]), {}) for s in (1.0, -1.0))
    found["normal.float_float_out"] = lambda: (((0.0, 1.0, [3, 4]), {"out": torch.zeros(*s)}) for s in ((0,), (3, 4), (2,)))

    sizes = [[3], [2, 0], [], [2, -1]]
    given = [{}, {"dtype": f64}, {"dtype": i64}, {"dtype": c64}, {"dtype": torch.bool}]
    for name in "rand", "randn":
        found[name] = lambda: (((s,), k) for s in sizes for k in given)
        found[name + ".generator"] = lambda: (((s,), {**k, "generator": None}) for s in sizes for k in given)
        found[name + ".out"] = lambda: (((s,), {"out": torch.zeros(2, dtype=d)}) for s in sizes for d in (f32, f64, i64))
        found[name + ".generator_out"] = lambda: (((s,), {"generator": None, "out": torch.zeros(2)}) for s in sizes)
        found[name + "_like"] = lambda: (((x,), k) for x in tensors(f32) for k in given)
        found[name + "_like.out"] = lambda: (((make(f32, 3),), {"out": torch.zeros(n)}) for n in (0, 3))
    ranges = {"": [(10,), (0,)], "low": [(-3, 10), (5, 5)]}
    for low, lists in ranges.items():
        dot, under = ("." + low, low + "_") if low else ("", "")
        found["randint" + dot] = lambda lists=lists: (((*a, s), k) for a in lists for s in sizes for k in given)
        found[f"randint.{under}generator"] = lambda lists=lists: (((*a, [3]), {**k, "generator": None}) for a in lists for k in given)
        found[f"randint.{under}out"] = lambda lists=lists: (((*a, s), {"out": torch.zeros(2, dtype=d)}) for a in lists for s in sizes for d in (f32, i64))
        found[f"randint.{under}generator_out"] = lambda lists=lists: (((*a, [3]), {"generator": None, "out": torch.zeros(2)}) for a in lists)
        dot = ".low_dtype" if low else ""
        found["randint_like" + dot] = lambda lists=lists: (((x, *a), k) for x in tensors(f32) for a in lists for k in given)
        found["randint_like" + (dot + "_out" if dot else ".out")] = lambda lists=lists: (
            ((make(f32, 3), *lists[0]), {"out": torch.zeros(n)}) for n in (0, 3))
    found["randperm"] = lambda: (((n,), k) for n in (0, 1, 9, 300, -1) for k in ({}, *({"dtype": d} for d in ALL)))
    found["randperm.generator"] = lambda: (((n,), {"generator": None}) for n in (0, 9))
    found["randperm.out"] = lambda: (((n,), {"out": torch.zeros(2, dtype=d)}) for n in (0, 9, -1) for d in (i64, f32, b8))
    found["randperm.generator_out"] = lambda: (((9,), {"generator": None, "out": torch.zeros(2, dtype=i64)}) for _ in "1")

    odds = [torch.rand(5), torch.rand(4, 6).t(), torch.rand(()), torch.rand(0, 3), torch.tensor([0.0, 1.0, 2.0]), torch.rand(3).double(),
            torch.rand(3).to(bf16), torch.ones(3, dtype=i64), torch.rand(3).half()]
    found["bernoulli"] = lambda: (((p,), {}) for p in odds)
    found["bernoulli.out"] = lambda: (((p,), {"out": torch.zeros(2, dtype=d)}) for p in odds for d in (f32, i64))
    found["bernoulli.p"] = found["bernoulli_.float"] = filled([(0.5,), (0.0,), (1.0,), (-0.5,), (float("nan"),)])
    found["bernoulli_.Tensor"] = lambda: (((make(d, 4, 3), p), {}) for d in (f32, u8, b8, f16) for p in (torch.rand(4, 3), torch.rand(3), torch.rand(4, 1).double(),
                                                                                                      torch.rand(2, 4, 3), torch.full((3,), 1.5)))
    found["bernoulli.Tensor"] = lambda: (((make(f32, 4, 3), torch.rand(3)), {}) for _ in "1")
    found["bernoulli.Tensor_out"] = lambda: (((make(f32, 4, 3), torch.rand(3)), {"out": torch.zeros(*s)}) for s in ((0,), (4, 3)))
    weights = [torch.rand(5), torch.rand(3, 5), torch.rand(3, 5).double(), torch.rand(3, 5).to(bf16), torch.rand(3, 5).half(), torch.zeros(4),
               torch.tensor([1.0, -1.0]), torch.tensor([1.0, float("inf")]), torch.ones(3, dtype=i64), torch.rand(2, 3, 4), torch.rand(0, 3)]
    found["multinomial"] = lambda: (((w, n, r), {}) for w in weights for n in (1, 2, 0, 9) for r in (False, True))
    found["multinomial.out"] = lambda: (((w, 2), {"out": torch.zeros(2, dtype=d)}) for w in weights[:2] for d in (i64, f32))
    for name in DROPOUTS:
        found[name] = found[name + "_"] = lambda: (
            ((x, p, train), {}) for d in (f32, f64, bf16, f16, i64) for x in tensors(d) for p, train in ((0.5, True), (0.0, True), (1.0, True), (0.5, False), (1.5, True)))
    found["native_dropout"] = lambda: (((x, p, train), {}) for d in (f32, f64, bf16, f16, i64, c64) for x in tensors(d)
                                       for p, train in ((0.5, True), (0.0, True), (1.0, None), (0.5, False), (1.5, True)))
    found["native_dropout_backward"] = lambda: (((make(d, 3, 4), make(b8, 3, 4), 2.0), {}) for d in (f32, f64, bf16, i64))
    slopes = [(), (0.1, 0.3, True), (0.1, 0.3, False), (0.3, 0.1, True), (0.2, 0.2, True)]
    found["rrelu"] = found["rrelu_"] = lambda: (((x, *a), {}) for d in (f32, f64, bf16, f16, i64) for x in tensors(d) for a in slopes)
    found["rrelu_with_noise"] = found["rrelu_with_noise_"] = lambda: (
        ((make(d, *s), torch.zeros(s, dtype=d), *a), {}) for d in (f32, f64, bf16, i64) for s in ((3, 4), (0,), ()) for a in slopes[:3])
    found["rrelu_with_noise.out"] = lambda: (((make(f32, 3, 4), torch.zeros(3, 4), *a), {"out": torch.zeros(*s)})
                                             for a in slopes[:3] for s in ((3, 4), (0,), (2,))[:1 if True in a else 3])  # PyTorch writes past a shorter one
    found["rrelu_with_noise_backward"] = lambda: (((make(d, 3, 4), make(d, 3, 4), make(d, 3, 4), 0.1, u, t, r), {}) for d in (f32, f64, bf16)
                                                  for u in (0.1, 0.3) for t in (True, False) for r in (True, False))
    counts = [make(f32, 5, low=0), make(f64, 4, 6, low=0).t(), torch.full((3,), 30.0), torch.tensor([1.0, -1.0]), make(bf16, 5, low=0), make(f16, 5, low=0),
              make(i64, 5, low=0), make(f32, 0, 3), make(f32, low=0)]
    found["poisson"] = found["_standard_gamma"] = lambda: (((x,), {}) for x in counts if not ((x < 0).any()))
    found["_sample_dirichlet"] = lambda: (((x + 1,), {}) for x in counts if x.dim() and not (x < 0).any())
    found["binomial"] = lambda: (((x, torch.rand(x.shape).to(x.dtype)), {}) for x in counts)
    means = [make(d, *s) for d in (f32, f64, f16, bf16, i64, c64) for s in ((3, 4), (20,), ())]
    found["normal.Tensor_float"] = lambda: (((m, s), {}) for m in means for s in (1.0, -1.0))
    found["normal.float_Tensor"] = lambda: (((1.0, m.abs()), {}) for m in means + [torch.tensor([-1.0])])
    found["normal.Tensor_Tensor"] = lambda: (((m, s), {}) for m in means for s in (torch.rand(4), torch.rand(3, 1), torch.rand(2), torch.full((4,), -1.0)))
    found["normal.Tensor_float_out"] = lambda: (((make(f32, 3, 4), 1.0), {"out": torch.zeros(*s)}) for s in ((3, 4), (2, 3, 4), (4,), (3, 1)))
    found["normal.float_Tensor_out"] = lambda: (((1.0, torch.rand(3, 4)), {"out": torch.zeros(*s)}) for s in ((3, 4), (0,), (4,)))
    found["normal.Tensor_Tensor_out"] = lambda: (((make(f32, 3, 1), torch.rand(4)), {"out": torch.zeros(*s)}) for s in ((3, 4), (0,), (4,)))
    shapes = [torch.rand(50, dtype=f64) * top + 1e-3 for top in (0.5, 5, 40)]
    found["_standard_gamma_grad"] = lambda: (((a.to(d), torch._standard_gamma(a).to(d)), {}) for a in shapes for d in (f32, f64, bf16, i64))
    return found
