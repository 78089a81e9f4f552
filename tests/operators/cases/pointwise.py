"""pointwise.py -- pointwise operators whose arguments do not follow from their schemas, quantisation, losses of distances."""

import functools
import itertools

import torch

from cases.inputs import (BITS, CASES, MAIN, MORE, MOST, TURNED, b8, bf16, c128, c64, case, edges, f32, f64, i32, i64,
                          i8, inf, layouts, make, nan, none, of, operator, pairs, shaped, shared, special, two, u8,
                          upto)
from cases.plain import plain

CASES["frexp.Tensor"] = lambda: (((x,), {}) for d in MORE for x in layouts(d))
CASES["frexp.Tensor_out"] = lambda: (((make(d, 3, 4),), {"mantissa": torch.zeros(n, dtype=m), "exponent": torch.zeros(n, dtype=e)})
                                     for d in MORE for m in (d, f32) for e in (i32, i64) for n in (0, (3, 4)))


@case("where.self")
def chosen():
    for a, b in itertools.product(MAIN, MAIN):
        for x, y in pairs(a, b):
            yield (make(b8, *x.shape), x, y), {}
    yield (make(f32, 3), make(f32, 3), make(f32, 3)), {}
    yield (make(b8, 3), make(f32, 4), make(f32, 3)), {}


CASES["where.self_out"] = lambda: (((make(b8, *x.shape), x, y), {"out": o}) for d in MAIN for x, y in pairs(d, d) if x.numel() < 100 and y.dim() <= x.dim()
                                   for o in (torch.zeros(0, dtype=d), torch.zeros(6, 8, dtype=d)[::2, ::2], torch.zeros(3, 4, dtype=torch.int8)))
CASES["where.ScalarOther"] = lambda: (((make(b8, 3), make(d, 2, 3), s), {}) for d in MAIN for s in (2, 1.5))
CASES["where.ScalarSelf"] = lambda: (((make(b8, 3), s, make(d, 2, 3)), {}) for d in MAIN for s in (2, 1.5))
CASES["where.Scalar"] = lambda: (((make(b8, 3), s, t), {}) for s in (2, 1.5) for t in (2, 1.5))

# -- pointwise ones with arguments of their own --

CASES["gelu"] = lambda: (((x,), {"approximate": a}) for d in MORE for x in layouts(d) for a in ("none", "tanh", "no"))
CASES["div.Tensor_mode"] = CASES["div_.Tensor_mode"] = lambda: (
    ((x, y), {"rounding_mode": m}) for a in MAIN for b in MAIN for x, y in pairs(a, b) for m in (None, "trunc", "floor", "up"))
CASES["clamp"] = CASES["clamp_"] = lambda: (((x, lo, hi), {}) for d in MAIN for x in layouts(d) for lo, hi in
                                            ((None, None), (1, None), (None, 2), (-1, 2), (0.5, 1.5), (3, 1), (nan, 1.0)))
CASES["clamp.Tensor"] = lambda: (((x, make(d, 4), None), {}) for d in MAIN for x in (make(d, 3, 4),))
CASES["leaky_relu"] = CASES["leaky_relu_"] = CASES["elu"] = CASES["softplus"] = \
    lambda: (((x, *a), {}) for d in MAIN for x in layouts(d) for a in ((), (2,), (0.25,)))
CASES["hardtanh"] = lambda: (((x, *a), {}) for d in MAIN for x in layouts(d) for a in ((), (-2, 2), (0.5, 1.5), (2, 1)))
CASES["lerp.Scalar"] = lambda: (((x, y, w), {}) for d in MAIN for x, y in pairs(d, d) for w in (0.25, 0.75, 2))
CASES["addcmul"] = CASES["addcdiv"] = lambda: (((make(d, 3, 4), make(d, 4), make(d, 3, 1)), {"value": v})
                                               for d in MAIN for v in (1, 2, 0.5))
CASES["_add_relu_.Tensor"] = lambda: (
    ((x, y), k) for a in (f32, i64, f64, torch.int8, u8, torch.bfloat16) for x, y in itertools.islice(pairs(a, a), 9)
    for k in ({}, {"alpha": 2}))
CASES["_add_relu.Tensor"] = lambda: itertools.chain(CASES["_add_relu_.Tensor"](), (
    ((x, y), {}) for a in (f32, i64, torch.int8) for b in (f64, i32, u8, f32, torch.bfloat16) for x, y in itertools.islice(pairs(a, b), 9)))
CASES["_add_relu.out"] = lambda: (((x, y), {"out": torch.zeros(s, dtype=d)}) for a in (f32, i64) for x, y in itertools.islice(pairs(a, a), 3)
                                  for d in (a,) for s in ((3, 4), (0,), (4, 3)))
CASES["_add_relu.Scalar"] = CASES["_add_relu_.Scalar"] = lambda: (((make(d, 3, 4), s, *a), {}) for d in (f32, i64, torch.int16, b8) for s in (1, -2, 1.5)
                                                                  for a in ((), (2,), (1.5,)))
CASES["glu_jvp"] = lambda: (((make(d, *g), make(d, 3, 4), make(e, 3, 4), dim), {}) for d in (f32, f64, i64, torch.bfloat16) for e in (d, f64)
                            for g, dim in (((3, 2), 1), ((3, 2), -1), ((1, 4), 0), ((3, 2), 2), ((3, 3), 1)))
CASES["glu_backward_jvp"] = lambda: (((make(d, 3, 4), make(d, 3, 2), make(d, 3, 4), make(d, 3, 2), make(d, 3, 4), dim), {})
                                     for d in (f32, f64, i64, torch.bfloat16) for dim in (1, -1, 0, 2))
CASES["prelu_backward"] = lambda: (((g, x, w), {}) for d in (f32, f64, torch.bfloat16, i64) for x, g in (
    (make(d, 2, 3, 4), make(d, 2, 3, 4)), (make(d, 4, 3, 2).transpose(0, 2), make(d, 2, 3, 4)), (make(d, 3), make(d, 3)), (make(d), make(d)), (make(d, 0, 3), make(d, 0, 3)))
    for w in (make(d, 3), make(d, 1), make(d), make(f64, 3)))
CASES["infinitely_differentiable_gelu_backward"] = lambda: (((make(d, 3, 4), make(d, 3, 4)), {}) for d in (f32, f64, i64, torch.complex64))
CASES["_test_serialization_subcmul"] = lambda: (((make(d, 3, 4), make(d, 4), *a), {}) for d in (f32, i64, b8) for a in ((), (2,), (1.5,)))
CASES["dequantize.self"] = CASES["cudnn_is_acceptable"] = shaped(())
CASES["is_vulkan_available"] = CASES["_use_cudnn_rnn_flatten_weight"] = lambda: [((), {})]
FAKED = [make(f32, 3, 4), make(f64, 4, 3).t(), make(f32, 3, 1).expand(3, 4), make(f32), make(f32, 0, 3), special(f32), make(i64, 3, 4)]
CASES["fake_quantize_per_tensor_affine"] = CASES["fake_quantize_per_tensor_affine_cachemask"] = lambda: (
    ((x, *a), {}) for x in FAKED for a in ((0.1, 0, 0, 255), (0.5, 3, -8, 7), (1e-9, 0, -128, 127), (0.1, 9, 0, 7), (0.1, 0, 7, 0), (0.0, 1, 0, 255)))
CASES["fake_quantize_per_tensor_affine.tensor_qparams"] = lambda: (
    ((x, torch.tensor(s), torch.tensor(z, dtype=d), 0, 15), {}) for x in FAKED for s, z in ((0.5, 3), ([0.25], [7]), ([0.5, 1], [1, 2])) for d in (i32, f32))
CASES["_fake_quantize_per_tensor_affine_cachemask_tensor_qparams"] = lambda: (
    ((x, torch.tensor([0.5]), torch.tensor([2], dtype=i32), torch.tensor([on]), *r), {}) for x in FAKED for on in (0, 1) for r in ((0, 15), (15, 0)))
CASES["fake_quantize_per_tensor_affine_cachemask_backward"] = CASES["fake_quantize_per_channel_affine_cachemask_backward"] = lambda: (
    ((make(d, 3, 4), m), {}) for d in (f32, f64, i64) for m in (make(b8, 3, 4), make(b8, 4, 3), make(b8, 3), make(u8, 3, 4)))
CASES["_fake_quantize_learnable_per_tensor_affine"] = lambda: (
    ((x, torch.tensor(s), torch.tensor(z), *r), {}) for x in FAKED for s, z in (([0.5], [3.4]), ([0.3], [-200.0]), (0.5, 1.0)) for r in ((0, 15), (-8, 7, 0.5), (3, 1)))
CASES["_fake_quantize_learnable_per_tensor_affine_backward"] = lambda: (
    ((make(x.dtype, *x.shape), *a), {}) for a, _ in CASES["_fake_quantize_learnable_per_tensor_affine"]() for x in a[:1])
CASES["fake_quantize_per_channel_affine"] = CASES["fake_quantize_per_channel_affine_cachemask"] = lambda: (
    ((x, make(e, 3, low=0.1, high=2), make(d, n, low=0, high=9), axis, *r), {})
    for x in (make(f32, 3, 4), make(f32, 4, 3).t(), make(f64, 3, 3, 2), make(i64, 3, 4)) for e in (f32, f64) for d in (i32, f32, torch.float16, i64) for n in (3, 2)
    for axis in (0, 1, -1, 5) for r in ((0, 15), (0, 3)))
CASES["_fake_quantize_learnable_per_channel_affine"] = lambda: (
    ((x, make(f32, 3, low=0.1, high=2), make(d, 3, low=-3, high=9), axis, *r), {})
    for x in (make(f32, 3, 4), make(f32, 4, 3).t(), make(f32, 3, 3, 2), make(f32, 3), make(f32, 3, 0), make(f64, 3, 4)) for d in (f32, f64) for axis in (0, 1)
    for r in ((0, 15), (-4, 3, 0.5), (1, 3)))
CASES["_fake_quantize_learnable_per_channel_affine_backward"] = lambda: (
    ((make(x.dtype, *x.shape), *a), {}) for a, _ in CASES["_fake_quantize_learnable_per_channel_affine"]() for x in a[:1])
CASES["_choose_qparams_per_tensor"] = lambda: (((x, *a), {}) for a in ((), (True,)) for x in (
    make(f32, 3, 4), make(f32, 3, 4) * 1e-5, make(f32, 4, low=1, high=3), make(f32, 4, low=-3, high=-1), torch.zeros(3), make(i64, 4), make(f64, 4), make(f32, 0)))


def observed():
    for low, high, n in ((inf, -inf, 1), (-1.0, 1.0, 1), (inf, -inf, 3), (-0.5, 0.5, 3)):
        for on, quantize in itertools.product((0, 1), repeat=2):
            for least, most, symmetric in ((0, 255, False), (-128, 127, True), (0, 15, True)):
                yield (make(f32, 3, 4), torch.tensor([on]), torch.tensor([quantize]), torch.full((n,), low), torch.full((n,), high), torch.ones(n),
                       torch.zeros(n, dtype=i32), 0.01, least, most, 0, n > 1, symmetric), {}


CASES["_fused_moving_avg_obs_fq_helper"] = CASES["fused_moving_avg_obs_fake_quant"] = observed


def slopes(name, *more):
    """What plain has, and gradient, input and target whose dtypes, shapes and orders differ."""
    x, y, v, whole = make(f32, 3, 4, low=0, high=1), make(f32, 4, 3, low=0, high=1).t(), make(f32, 4, low=0, high=1), make(i64, 3, 4)
    for three in ((x, x, v), (x, v, x), (v, y, y), (x, y, x), (x, whole, x), (x, x, whole), (whole, x, x), (x.double(), x, x), (x, x.double(), x),
                  (x, x, x.double()), (v, v[None], v), (v[None], v, v), (x[:0], x[:0], v), (x[:0], v, x), (x.half(), x.half(), x.half())):
        yield (*three, *more), {}
    yield from plain(operator(name)._schema)


for _name, _more in (("mse_loss", (1,)), ("smooth_l1_loss", (2, 0.5)), ("huber_loss", (0, 0.5)), ("soft_margin_loss", (1,)),
                     ("binary_cross_entropy", (None, 1)), ("log_sigmoid", ())):
    CASES[_name + "_backward"] = functools.partial(slopes, _name + "_backward", *_more)


def loss_outs(name, *more):
    """What plain has, and outputs of other shapes, orders and dtypes, by each reduction."""
    x, y = make(f32, 3, 4, low=0, high=1), make(f32, 3, 4, low=0, high=1)
    for reduction in (0, 1, 2):
        for out in (torch.zeros(0), torch.zeros(2), torch.zeros(()), torch.zeros(4, 3).t(), torch.zeros(3, 1, 4), torch.zeros(3, 1).expand(3, 4),
                    torch.zeros(3, 8)[:, ::2], torch.zeros(3, 4, dtype=f64), torch.zeros(3, 4, dtype=i64)):
            yield (x, y, *more, reduction), {"out": out}
    yield from plain(operator(name)._schema)


for _name, _more in (("mse_loss", ()), ("smooth_l1_loss", ()), ("huber_loss", ()), ("binary_cross_entropy", (None,))):
    CASES[_name + ".out"] = functools.partial(loss_outs, _name + ".out", *_more)

# -- losses of distances --

signs = lambda *shape: torch.randint(0, 2, shape) * 2 - 1
CASES["cosine_embedding_loss"] = lambda: (((make(d, *s), make(d, *s), t, m, r), {}) for d in (f32, f64, i64) for s, t in (
    ((3, 4), signs(3)), ((4,), signs()), ((3, 4), signs()), ((4,), signs(4)), ((3, 4), signs(3, 4)), ((0, 4), signs(0))) for m in (0, 0.5) for r in (0, 1, 2))
CASES["hinge_embedding_loss"] = lambda: (((make(d, *s), signs(*s), m, r), {}) for d in (f32, f64, bf16) for s in ((3, 4), (), (0,)) for m in (1, 0.5) for r in (0, 1, 2))
CASES["margin_ranking_loss"] = lambda: (((x, y, signs(*x.shape), m, r), {}) for x, y in two(f32, f64, i64) for m in (0, 0.5) for r in (0, 1, 2))
CASES["triplet_margin_loss"] = lambda: (((make(d, *s), make(d, *s), make(d, *t)), {"reduction": r, **k}) for d in (f32, f64) for s, t in (
    ((3, 4), (3, 4)), ((4,), (4,)), ((3, 4), (4,)), ((0, 4), (0, 4))) for r in (0, 1, 2) for k in ({}, {"swap": True, "margin": 0.5}, {"p": 1.0, "eps": 0.1}))
CASES["kl_div"] = lambda: (((x, y, r), {"log_target": t}) for x, y in two(f32, f64, i64) for r in (0, 1, 2) for t in (False, True))
CASES["poisson_nll_loss"] = lambda: (((x, y, l, f, 0.1, r), {}) for x, y in two(f32, f64) for l in (False, True) for f in (False, True) for r in (0, 1, 2))


# -- at the edges --

edges("lerp.Scalar", ([of(0.0, 1, 0.5), of(-inf, inf, 2), w] for w in (-64, -1, 0.25, 0.5, 2, nan)))
edges("lerp.Tensor", [[of(0.0, 1, 0.5), of(-inf, inf, 2), torch.tensor(float(w)).expand(3)] for w in (-64, -1, 0.25, 0.5, 2, nan)] +
      [[of(c, dtype=c64), of(complex(inf, 1), dtype=c64), of(w, dtype=c64)] for c in (0, 1j) for w in (-1, 0.25, 0.6j)])
edges("gcd", ([of(-2**b, 2**b - 1, -2**b, -2**b, dtype=d), of(2**b - 1, -2**b, 0, 2, dtype=d)] for b, d in ((31, i32), (7, i8), (63, i64))))
edges("threshold_", [[torch.ones(1).expand(3), 0, 5], [of(-1.0, 1), 0, 5]])
BOUNDS = 300, -5, 256, -300, MOST, -1, 1e300, 2.5, nan
edges("clamp", ([torch.ones(2).to(d), *b] for d in (u8, b8, i32, f32, bf16) for v in BOUNDS[:-1] for b in ((v, None), (0, v))))
edges("clamp_max", ([torch.ones(2).to(d), v] for d in (u8, b8, i32, f32, bf16) for v in BOUNDS))
edges("pow.Tensor_Scalar", ([torch.ones(2).to(d), v] for d in (u8, b8, i32, f32) for v in BOUNDS))
edges("soft_margin_loss.out", (([torch.ones(2, 3), torch.ones(2, 3), r], {"out": o}) for r in (0, 1, 2)
                               for o in (shared(2, 3), shared(3), none(2, 3), none(0))))
# Scalars that their dtype just holds: operator -> (tensors, what the Scalar is: alpha, value, or the last or first argument after them)
SCALARS = {"add.Tensor": (2, "alpha"), "sub.Tensor": (2, "alpha"), "rsub.Tensor": (2, "alpha"), "lerp.Scalar": (2, None), "addcmul": (3, "value"),
           "addcdiv": (3, "value"), "logit": (1, None), "elu": (1, None), "leaky_relu": (1, None), "hardtanh": (1, None), "softplus": (1, None),
           "threshold": (1, None), "hardshrink": (1, None), "softshrink": (1, None), "threshold_backward": (2, None)}
for _name, (_tensors, _by_name) in SCALARS.items():
    edges(_name, (([torch.ones(2).to(d)] * _tensors + ([] if _by_name else [v]) + ([1] if _name == "threshold" else []), {_by_name: v} if _by_name else {})
                  for d, v in ((f32, 1e308), (f32, inf), (f64, 1e308), (u8, 300), (u8, -3.9375), (i32, 2**40), (bf16, 1e308))))
edges("mse_loss smooth_l1_loss huber_loss binary_cross_entropy", (([upto(2, 3) / 6, torch.ones(2, 3)], {"reduction": r}) for r in (-1, 0, 1, 2, 3)))
edges("isreal", ([of(complex(nan, 0), complex(inf, 0), complex(1, nan), 2 + 0j, 1j, dtype=d)] for d in (c64, c128)))
edges("angle abs sgn", ([t] for t in BITS))
edges("angle.out abs.out", (([t], {"out": none(*s)}) for t in TURNED for s in ((0,), (5,), (3, 2)) if t.is_floating_point() or t.is_complex()))
edges("log_sigmoid_forward.output", [([x], {"output": x, "buffer": none(0)}) for x in (upto(2, 3), none(2, 3))] +
      [([upto(2, 3)], {"output": none(3, 2).t(), "buffer": none(3, 2).t()})])
edges("prelu", ([x, none(w)] for x in (upto(4, 3).t(), upto(2, 4, 4, 3).permute(0, 3, 1, 2), upto(2, 3, 6)[:, :, ::2]) for w in (1, x.shape[1])))

# Not compared, because PyTorch's answer there is not one:
#   add of complex infinities: it multiplies by alpha = 1 as a complex number, whose NaN is of no use
#   clamp with a single bound that is NaN: unlike clamp_min and with both bounds it leaves everything as it is
#   lcm of the least integer and what divides by -1: it dies
