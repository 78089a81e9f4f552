"""random.py -- random operators: everything but the values, which test_draws.py compares for given seeds."""

import itertools

import torch

from cases.inputs import CASES, b8, bf16, c64, f16, f32, f64, i32, i64, make, u8

ALL = f32, f64, f16, bf16, i64, i32, u8, torch.int8, torch.int16, b8, c64
IN_PLACE = {"uniform": [(), (-1.0, 2.0), (2.0, 1.0), (0.0, 1e39), (float("nan"), 1.0), (-3e38, 3e38)],
            "normal": [(), (2.0, 0.5), (0.0, 0.0), (0.0, -1.0), (0.0, float("nan"))],
            "exponential": [(), (2.0,), (0.0,), (-1.0,)], "geometric": [(0.5,), (0.0,), (1.0,), (float("nan"),)],
            "cauchy": [(), (1.0, 2.0), (0.0, 0.0)], "log_normal": [(), (0.0, 0.5), (0.0, 0.0), (0.0, -1.0)],
            "random": [()], "random.to": [(10,), (0,), (200,), (2**40,)],
            "random.from": [(-3, 7), (0, None), (-2**63, None), (5, None), (3, 3), (2**62, 2**63 - 1), (-200, 100)]}
DROPOUTS = "dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"


def tensors(dtype):
    yield from (make(dtype, 5), make(dtype, 4, 6).t(), make(dtype, 9, 9)[::2, 1:], make(dtype), make(dtype, 0, 3), make(dtype, 3, 1).expand(3, 4),
                make(dtype, 2, 3, 4, 5).contiguous(memory_format=torch.channels_last))


def filled(lists):
    return lambda: (((x, *a), {}) for d in ALL for i, a in enumerate(lists) for x in itertools.islice(tensors(d), None if i == 0 else 1))


for name, lists in IN_PLACE.items():
    base, _, overload = name.partition(".")
    end = "." + overload if overload else ""
    CASES[base + "_" + end] = filled(lists)
    CASES[base + end] = lambda lists=lists: (((make(d, 3, 4), *a), {}) for d in (f32, i64) for a in lists)
    CASES[base + (end + "_out" if end else ".out")] = lambda lists=lists: (
        ((make(f32, 3, 4), *lists[0]), {"out": torch.zeros(*s)}) for s in ((0,), (3, 4), (2,)))
del CASES["normal"], CASES["normal.out"]
CASES["normal_functional"] = lambda: (((make(d, 3, 4), *a), {}) for d in (f32, i64) for a in IN_PLACE["normal"])
CASES["normal.float_float"] = lambda: (((0.0, s, [3, 4]), {}) for s in (1.0, -1.0))
CASES["normal.float_float_out"] = lambda: (((0.0, 1.0, [3, 4]), {"out": torch.zeros(*s)}) for s in ((0,), (3, 4), (2,)))

sizes = [[3], [2, 0], [], [2, -1]]
given = [{}, {"dtype": f64}, {"dtype": i64}, {"dtype": c64}, {"dtype": torch.bool}]
for name in "rand", "randn":
    CASES[name] = lambda: (((s,), k) for s in sizes for k in given)
    CASES[name + ".generator"] = lambda: (((s,), {**k, "generator": None}) for s in sizes for k in given)
    CASES[name + ".out"] = lambda: (((s,), {"out": torch.zeros(2, dtype=d)}) for s in sizes for d in (f32, f64, i64))
    CASES[name + ".generator_out"] = lambda: (((s,), {"generator": None, "out": torch.zeros(2)}) for s in sizes)
    CASES[name + "_like"] = lambda: (((x,), k) for x in tensors(f32) for k in given)
    CASES[name + "_like.out"] = lambda: (((make(f32, 3),), {"out": torch.zeros(n)}) for n in (0, 3))
ranges = {"": [(10,), (0,)], "low": [(-3, 10), (5, 5)]}
for low, lists in ranges.items():
    dot, under = ("." + low, low + "_") if low else ("", "")
    CASES["randint" + dot] = lambda lists=lists: (((*a, s), k) for a in lists for s in sizes for k in given)
    CASES[f"randint.{under}generator"] = lambda lists=lists: (((*a, [3]), {**k, "generator": None}) for a in lists for k in given)
    CASES[f"randint.{under}out"] = lambda lists=lists: (((*a, s), {"out": torch.zeros(2, dtype=d)}) for a in lists for s in sizes for d in (f32, i64))
    CASES[f"randint.{under}generator_out"] = lambda lists=lists: (((*a, [3]), {"generator": None, "out": torch.zeros(2)}) for a in lists)
    dot = ".low_dtype" if low else ""
    CASES["randint_like" + dot] = lambda lists=lists: (((x, *a), k) for x in tensors(f32) for a in lists for k in given)
    CASES["randint_like" + (dot + "_out" if dot else ".out")] = lambda lists=lists: (
        ((make(f32, 3), *lists[0]), {"out": torch.zeros(n)}) for n in (0, 3))
CASES["randperm"] = lambda: (((n,), k) for n in (0, 1, 9, 300, -1) for k in ({}, *({"dtype": d} for d in ALL)))
CASES["randperm.generator"] = lambda: (((n,), {"generator": None}) for n in (0, 9))
CASES["randperm.out"] = lambda: (((n,), {"out": torch.zeros(2, dtype=d)}) for n in (0, 9, -1) for d in (i64, f32, b8))
CASES["randperm.generator_out"] = lambda: (((9,), {"generator": None, "out": torch.zeros(2, dtype=i64)}) for _ in "1")

odds = [torch.rand(5), torch.rand(4, 6).t(), torch.rand(()), torch.rand(0, 3), torch.tensor([0.0, 1.0, 2.0]), torch.rand(3).double(),
        torch.rand(3).to(bf16), torch.ones(3, dtype=i64), torch.rand(3).half()]
CASES["bernoulli"] = lambda: (((p,), {}) for p in odds)
CASES["bernoulli.out"] = lambda: (((p,), {"out": torch.zeros(2, dtype=d)}) for p in odds for d in (f32, i64))
CASES["bernoulli.p"] = CASES["bernoulli_.float"] = filled([(0.5,), (0.0,), (1.0,), (-0.5,), (float("nan"),)])
CASES["bernoulli_.Tensor"] = lambda: (((make(d, 4, 3), p), {}) for d in (f32, u8, b8, f16) for p in (torch.rand(4, 3), torch.rand(3), torch.rand(4, 1).double(),
                                                                                                  torch.rand(2, 4, 3), torch.full((3,), 1.5)))
CASES["bernoulli.Tensor"] = lambda: (((make(f32, 4, 3), torch.rand(3)), {}) for _ in "1")
CASES["bernoulli.Tensor_out"] = lambda: (((make(f32, 4, 3), torch.rand(3)), {"out": torch.zeros(*s)}) for s in ((0,), (4, 3)))
weights = [torch.rand(5), torch.rand(3, 5), torch.rand(3, 5).double(), torch.rand(3, 5).to(bf16), torch.rand(3, 5).half(), torch.zeros(4),
           torch.tensor([1.0, -1.0]), torch.tensor([1.0, float("inf")]), torch.ones(3, dtype=i64), torch.rand(2, 3, 4), torch.rand(0, 3)]
CASES["multinomial"] = lambda: (((w, n, r), {}) for w in weights for n in (1, 2, 0, 9) for r in (False, True))
CASES["multinomial.out"] = lambda: (((w, 2), {"out": torch.zeros(2, dtype=d)}) for w in weights[:2] for d in (i64, f32))
for name in DROPOUTS:
    CASES[name] = CASES[name + "_"] = lambda: (
        ((x, p, train), {}) for d in (f32, f64, bf16, f16, i64) for x in tensors(d) for p, train in ((0.5, True), (0.0, True), (1.0, True), (0.5, False), (1.5, True)))
CASES["native_dropout"] = lambda: (((x, p, train), {}) for d in (f32, f64, bf16, f16, i64, c64) for x in tensors(d)
                                   for p, train in ((0.5, True), (0.0, True), (1.0, None), (0.5, False), (1.5, True)))
CASES["native_dropout_backward"] = lambda: (((make(d, 3, 4), make(b8, 3, 4), 2.0), {}) for d in (f32, f64, bf16, i64))
slopes = [(), (0.1, 0.3, True), (0.1, 0.3, False), (0.3, 0.1, True), (0.2, 0.2, True)]
CASES["rrelu"] = CASES["rrelu_"] = lambda: (((x, *a), {}) for d in (f32, f64, bf16, f16, i64) for x in tensors(d) for a in slopes)
CASES["rrelu_with_noise"] = CASES["rrelu_with_noise_"] = lambda: (
    ((make(d, *s), torch.zeros(s, dtype=d), *a), {}) for d in (f32, f64, bf16, i64) for s in ((3, 4), (0,), ()) for a in slopes[:3])
CASES["rrelu_with_noise.out"] = lambda: (((make(f32, 3, 4), torch.zeros(3, 4), *a), {"out": torch.zeros(*s)})
                                         for a in slopes[:3] for s in ((3, 4), (0,), (2,))[:1 if True in a else 3])  # PyTorch writes past a shorter one
CASES["rrelu_with_noise_backward"] = lambda: (((make(d, 3, 4), make(d, 3, 4), make(d, 3, 4), 0.1, u, t, r), {}) for d in (f32, f64, bf16)
                                              for u in (0.1, 0.3) for t in (True, False) for r in (True, False))
counts = [make(f32, 5, low=0), make(f64, 4, 6, low=0).t(), torch.full((3,), 30.0), torch.tensor([1.0, -1.0]), make(bf16, 5, low=0), make(f16, 5, low=0),
          make(i64, 5, low=0), make(f32, 0, 3), make(f32, low=0)]
CASES["poisson"] = CASES["_standard_gamma"] = lambda: (((x,), {}) for x in counts if not ((x < 0).any()))
CASES["_sample_dirichlet"] = lambda: (((x + 1,), {}) for x in counts if x.dim() and not (x < 0).any())
CASES["binomial"] = lambda: (((x, torch.rand(x.shape).to(x.dtype)), {}) for x in counts)
means = [make(d, *s) for d in (f32, f64, f16, bf16, i64, c64) for s in ((3, 4), (20,), ())]
CASES["normal.Tensor_float"] = lambda: (((m, s), {}) for m in means for s in (1.0, -1.0))
CASES["normal.float_Tensor"] = lambda: (((1.0, m.abs()), {}) for m in means + [torch.tensor([-1.0])])
CASES["normal.Tensor_Tensor"] = lambda: (((m, s), {}) for m in means for s in (torch.rand(4), torch.rand(3, 1), torch.rand(2), torch.full((4,), -1.0)))
CASES["normal.Tensor_float_out"] = lambda: (((make(f32, 3, 4), 1.0), {"out": torch.zeros(*s)}) for s in ((3, 4), (2, 3, 4), (4,), (3, 1)))
CASES["normal.float_Tensor_out"] = lambda: (((1.0, torch.rand(3, 4)), {"out": torch.zeros(*s)}) for s in ((3, 4), (0,), (4,)))
CASES["normal.Tensor_Tensor_out"] = lambda: (((make(f32, 3, 1), torch.rand(4)), {"out": torch.zeros(*s)}) for s in ((3, 4), (0,), (4,)))
shapes = [torch.rand(50, dtype=f64) * top + 1e-3 for top in (0.5, 5, 40)]
CASES["_standard_gamma_grad"] = lambda: (((a.to(d), torch._standard_gamma(a).to(d)), {}) for a in shapes for d in (f32, f64, bf16, i64))

CASES["_dirichlet_grad"] = lambda: itertools.chain(
    (((torch.rand(60, dtype=d) ** p, torch.rand(60, dtype=d) * a + 0.05, torch.rand(60, dtype=d) * b + a + 0.1), {})
     for d in (f64, f32) for p in (1, 4, 0.2) for a in (1, 5, 40) for b in (1, 20)),
    (((torch.rand(3, 4, dtype=d), torch.ones(e, dtype=d), torch.full((3, 1), 3., dtype=d)), {}) for d in (f32, f64) for e in (4, 1)),
    ((((x := make(d, 2, 2)), x, x), {}) for d in (i64, torch.bfloat16)), [((make(f32, 2), make(f64, 2), make(f32, 2)), {})])


def sobol(dimension):
    return torch.ops.aten._sobol_engine_initialize_state_(torch.zeros(dimension, 30, dtype=i64), dimension)


CASES["_sobol_engine_initialize_state_"] = lambda: (((x, n), {}) for x, n in (
    (torch.zeros(40, 30, dtype=i64), 40), (make(i64, 30, 9).t(), 5), (make(i64, 60, 60)[::2, ::2], 30), (torch.zeros(21201, 30, dtype=i64), 21201),
    (make(i64, 1, 30), 1), (make(i64, 3, 30), 0), (make(i64, 3, 30), -2), (make(f32, 3, 30), 2), (make(i64, 30), 2)))
CASES["_sobol_engine_draw"] = lambda: (((torch.zeros(12, dtype=i64)[::2], n, sobol(6), d, g), {"dtype": t}) for n in (0, 1, 7, -1) for d in (6, 3)
                                       for g in (0, 5, 2**20 - 3) for t in (None, f64, f32, torch.bfloat16))
CASES["_sobol_engine_ff_"] = lambda: (((torch.zeros(12, dtype=i64)[::2], n, sobol(6).t().contiguous().t(), d, g), {}) for n in (0, 1, 7, 1000, 65537, -1) for d in (6, 3)
                                      for g in (0, 5, 2**20 - 3))
CASES["_sobol_engine_scramble_"] = lambda: (((sobol(6), torch.randint(0, 2, (6, 30, 30)).tril().to(e), d), {}) for e in (i64, i32) for d in (6, 3, 0))
