"""Cases at the edges that a comparison with random arguments found: operator -> arguments and keyword arguments, all of
them always tried."""

import torch

nan, inf = float("nan"), float("inf")
f32, f64, i64, i32, i8, u8, c64, bf16 = (torch.float32, torch.float64, torch.int64, torch.int32, torch.int8, torch.uint8,
                                         torch.complex64, torch.bfloat16)
MOST = 2**63 - 1


def of(*values, dtype=f32):
    return torch.tensor(values[0] if len(values) == 1 else values, dtype=dtype)


def upto(*shape, dtype=f32):
    return torch.arange(torch.Size(shape).numel()).to(dtype).reshape(shape)


def none(*shape, dtype=f32):
    return torch.zeros(shape, dtype=dtype)


def shared(*shape):
    return torch.zeros(1).expand(shape)


def planes(n):
    """Pairs of indices that are one place apart, and the places of an image of n dimensions."""
    return upto(1, 2, *[4] * n)


E = {}
E["lerp.Scalar"] = [([of(0.0, 1, 0.5), of(-inf, inf, 2), w]) for w in (-64, -1, 0.25, 0.5, 2, nan)]
E["lerp.Tensor"] = [([of(0.0, 1, 0.5), of(-inf, inf, 2), torch.tensor(float(w)).expand(3)]) for w in (-64, -1, 0.25, 0.5, 2, nan)] + \
    [[of(c, dtype=c64), of(complex(inf, 1), dtype=c64), of(w, dtype=c64)] for c in (0, 1j) for w in (-1, 0.25, 0.6j)]
E["polygamma"] = E["special_polygamma"] = [[n, of(0.5, 1, 1.5, -2, 0, -0.5, dtype=d)] for d in (f32, f64)
                                           for n in (0, 1, 20, 2**24 + 1, 2**24 + 2, 2**31 - 2)]
E["max_pool1d"] = [[upto(*s), [3], [], [1], [2]] for s in ((0, 3, 2), (1, 1), (1, 1, 1), (3, 2))] + \
    [[upto(0, 2, 2), [2], [1], [0], [2]], [upto(1, 2, 2), [1], [MOST]], [upto(2, 5, 3).transpose(1, 2), [2]],
     [upto(4, 2, 5).transpose(0, 1), [2]], [upto(3, 5).t(), [2]]]
POOL1 = E["max_pool1d"]
for n in (1, 2, 3):
    E[f"adaptive_max_pool{n}d"] = [[none(*s, *[4] * n), [2] * n] for s in ((1, 0), (0,), (0, 0), (0, 2))]
    E[f"adaptive_avg_pool{n}d"] = E[f"adaptive_max_pool{n}d"]
    E[f"avg_pool{n}d"] = E[f"max_pool{n}d"] = E[f"adaptive_max_pool{n}d"]
E["max_pool1d"] = E["max_pool1d"] + POOL1
for n in (2, 3):
    E[f"fractional_max_pool{n}d"] = [[none(*s, *[4] * n), [2] * n, [2] * n, torch.full(((1,) + s)[-2:] + (n,), 0.4)] for s in ((1, 0), (0,), (0, 0), (0, 2), (1, 2))]
E["convolution"] = [[none(0, 2, *[4] * n), torch.ones(2, 1, *[3] * n), None, [1] * n, [1] * n, [1] * n, t, [0] * n, g]
                    for n in (1, 2, 3) for t in (False, True) for g in (1, 2)]
E["take_along_dim"] = [[of(3.0), of(0, dtype=i64), d] for d in (0, -1, None)] + [[of(3.0), of([0], dtype=i64), 0]]
E["embedding_dense_backward"] = \
    [[torch.ones(3, 2), of(*i, dtype=t), n, -1, by] for t in (i64, i32) for i, n in (((0, 2, 1), 2), ((0, 1, 1), 2), ((-1, 0, 1), 2), ((0, 0, 0), 0))
     for by in (False, True) if not by or max(i) < n and min(i) >= 0] + \
    [[torch.ones(2, 2, dtype=d), of(0, 1, dtype=i64), 2, -1, False] for d in (i64, i32, torch.bool, c64, bf16, torch.float16)] + \
    [[none(0), of(4, dtype=i64), 3, 2, False]]
E["tril"] = E["triu"] = [[none(0, dtype=d), k] for d in (f32, i64) for k in (-1, 0, 3)] + \
    [[none(s), 0] for s in (1, 3)] + [[of(1.0), 0]]
E["ctc_loss.IntList"] = [[torch.zeros(3, 1, 2), of([[1, 1]], dtype=i64), [3], [2], 0, r] for r in (-1, 0, 1, 2, 3, 7)]
E["index.Tensor"] = [[upto(4, 4, 4), [i]] for i in (upto(2, 4, dtype=i64)[:, ::2] // 2, upto(2, 2, dtype=i64).t(), upto(4, dtype=i64)[::2])] + \
    [[upto(4, 4, 4), [None, upto(2, 2, dtype=i64).t()]], [upto(4, 4, 4), [upto(2, 2, dtype=i64).t(), None, upto(2, 2, dtype=i64)]],
     [upto(4, 4, 4).permute(2, 0, 1), [upto(2, 4, dtype=i64)[:, ::2] // 2]], [upto(3, dtype=f32).expand(2, 3), [of(1, 0, dtype=i64)]]]
E["gcd"] = [[of(-2**b, 2**b - 1, -2**b, -2**b, dtype=d), of(2**b - 1, -2**b, 0, 2, dtype=d)] for b, d in ((31, i32), (7, i8), (63, i64))]
E["threshold_"] = [[torch.ones(1).expand(3), 0, 5], [of(-1.0, 1), 0, 5]]
E["narrow_copy"] = [[upto(3, 2), d, s, n] for d, s, n in ((0, 2, 2), (0, -1, 1), (0, 0, -1), (5, 0, 1), (0, 4, 0), (0, -5, 1), (0, 1, 2))]
E["index_reduce"] = [[of(1, 2, dtype=d), 0, of(0, 0, dtype=i64), of(3, 4, dtype=d), r] for d in (c64, i64, torch.bool, bf16) for r in ("prod", "mean", "amax", "amin")]
E["mode"] = [[of(*v, dtype=d), 0] for d in (f32, f64, bf16) for v in ((1.5, nan, 0.25, nan), (nan, 1.5, 1.5), (0.0, nan), (nan, nan, nan), (1, 1, nan, nan, nan))]
E["logspace"] = [[2.5, 5, n] for n in (1, 2)]
E["constant_pad_nd"] = [[torch.ones(*s), p] for s, p in (((2,), [0, -2]), ((2,), [0, -3]), ((2,), [-1, -1]), ((2,), [1, -3]), ((2, 2), [1, 0, 0, -2]), ((2, 2), [-2, 0, -1, 0]))]
E["cross_entropy_loss"] = [[torch.ones(2, 3), t, None, r, -100, e] for t in (of(0, 1, dtype=i64), torch.ones(2, 3)) for r in (-1, 0, 1, 2, 3) for e in (0.0, 0.5)]
E["pixel_unshuffle"] = [[none(*s), 2] for s in ((0, 1, 6, 8), (0, 2, 4), (8, 6, 0, 4))]
E["kthvalue"] = [[torch.tensor(x), 1] for x in (True, 1 + 2j, 2.0)]
E["median.dim"] = [[torch.tensor(x), 0] for x in (True, 2.0)]
E["topk"] = [[torch.tensor(True), 1, 0], [torch.tensor(1 + 2j), 1, -1], [torch.tensor(3.0), 0], [of(True, False, dtype=torch.bool), 1]]
_BOUNDS = 300, -5, 256, -300, MOST, -1, 1e300, 2.5, nan
E["clamp"] = [[torch.ones(2).to(d), *b] for d in (u8, torch.bool, i32, f32, bf16) for v in _BOUNDS[:-1] for b in ((v, None), (0, v))]
E["clamp_max"] = [[torch.ones(2).to(d), v] for d in (u8, torch.bool, i32, f32, bf16) for v in _BOUNDS]
E["pow.Tensor_Scalar"] = [[torch.ones(2).to(d), v] for d in (u8, torch.bool, i32, f32) for v in _BOUNDS]
E["convolution"] += [[none(b, 2, 5, 5), none(2, 1, *k), None, [1, 2], [0, 0], [1, 1], t, [0, 0], 2] for b in (0, 1) for k in ((0, 2), (0, 0)) for t in (False, True)]
E["convolution"] += [[none(b, 0, s, 4), none(2, 0, 2, 1), None, [2, 1], [1, 0], [1, 2], False, [0, 0], 1] for b in (0, 1) for s in (0, 4)]
E = {name: [(list(args), {}) for args in cases] for name, cases in E.items()}
E["logspace"] = [([2.5, 5, n], {"dtype": d}) for n in (1, 2, 4) for d in (i64, u8, f32, i32)] + [([-1, 10, 4], {"dtype": i64})]
E["soft_margin_loss.out"] = [([torch.ones(2, 3), torch.ones(2, 3), r], {"out": o}) for r in (0, 1, 2)
                             for o in (shared(2, 3), shared(3), none(2, 3), none(0))]
for name, given in {"add.Tensor": "a", "sub.Tensor": "a", "rsub.Tensor": "a", "lerp.Scalar": 1, "addcmul": "v", "addcdiv": "v", "logit": 0, "elu": 0,
                    "leaky_relu": 0, "hardtanh": 0, "softplus": 0, "threshold": 1, "hardshrink": 0, "softshrink": 0, "threshold_backward": 1}.items():
    tensors = {"add.Tensor": 2, "sub.Tensor": 2, "rsub.Tensor": 2, "lerp.Scalar": 2, "addcmul": 3, "addcdiv": 3, "threshold_backward": 2}.get(name, 1)
    for d, v in ((f32, 1e308), (f32, inf), (f64, 1e308), (u8, 300), (u8, -3.9375), (i32, 2**40), (bf16, 1e308)):  # what fits the dtype
        more = [v] if tensors == 1 or given == 1 and tensors == 2 else []
        E.setdefault(name, []).append(([torch.ones(2).to(d)] * tensors + more + ([1] if name == "threshold" else []),
                                       {"alpha": v} if given == "a" else {"value": v} if given == "v" else {}))
for name in "mse_loss smooth_l1_loss huber_loss binary_cross_entropy".split():
    E[name] = [([upto(2, 3) / 6, torch.ones(2, 3)], {"reduction": r}) for r in (-1, 0, 1, 2, 3)]
E["isreal"] = [([of(complex(nan, 0), complex(inf, 0), complex(1, nan), 2 + 0j, 1j, dtype=d)], {}) for d in (c64, torch.complex128)]
TURNED = [upto(2, 3, dtype=d).t() + 1 for d in (f32, i64, c64)]
BITS = TURNED + [torch._neg_view(t) for t in TURNED] + [TURNED[2].conj(), torch._neg_view(TURNED[2].conj())]
for name in "angle abs sgn clone resolve_neg resolve_conj".split():
    E[name] = [([t], {}) for t in BITS if t.is_complex() or name != "resolve_conj"]
for name in "angle.out", "abs.out":
    E[name] = [([t], {"out": none(*s)}) for t in TURNED for s in ((0,), (5,), (3, 2)) if t.is_floating_point() or t.is_complex()]
for name in "copy_", "clone.out":  # the last one that goes to a place stays there
    E[name] = [([o, t] if name == "copy_" else [t], {} if name == "copy_" else {"out": o}) for t in (upto(4, 3, dtype=c64) * 1j + 1,)
               for o in (none(9, dtype=c64).as_strided((4, 3), s) for s in ((1, 2), (2, 1), (1, 1))) for o in (o, o.conj())]
for o in none(0), none(2, 3):  # one tensor as two outputs: the last one is what it holds
    E.setdefault("unique_dim.out", []).append(([of([[3, 1], [2, 0], [3, 1]], dtype=i64), 0, True, True, True], dict(zip(("out0", "out1", "out2"), (none(0, dtype=i64), o, o)))))
    E.setdefault("native_layer_norm.out", []).append(([upto(2, 3), [3], None, None, 1e-5], {"out0": o, "out1": o, "out2": none(0)}))
    E.setdefault("split_copy.Tensor_out", []).append(([upto(5, 2), 2], {"out": [none(0), o, o]}))
    E.setdefault("max.dim_max", []).append(([of([[3, 1], [2, 9], [3, 9]], dtype=i64), 0, True], {"max": o.long(), "max_values": o.long()}))
for o in none(0, dtype=i64), none(1, 2, dtype=i64):
    E["max.dim_max"].append(([of([[3, 1], [2, 9], [3, 9]], dtype=i64), 0, True], {"max": o, "max_values": o}))
for x in upto(2, 3), none(2, 3):
    E.setdefault("log_sigmoid_forward.output", []).append(([x], {"output": x, "buffer": none(0)}))
E["multilabel_margin_loss_forward.output"] = [([upto(2, 3), of([[0, 2, -1], [1, -1, 0]], dtype=i64), 1], {"output": none(), "is_target": t})
                                              for t in (none(3, 2).t(), none(2, 3), none(4, 2).t())]
E["linalg_qr.out"] = [([upto(3, 2)], {"Q": none(*q), "R": shared(*r)}) for q in ((3, 2), (0,)) for r in ((2, 2), (2, 3))]
E["prelu"] = [([x, none(w)], {}) for x in (upto(4, 3).t(), upto(2, 4, 4, 3).permute(0, 3, 1, 2), upto(2, 3, 6)[:, :, ::2]) for w in (1, x.shape[1])]
E["renorm.out"] = [([upto(2, 3, 4).transpose(1, 2), 2, 0, 0.5], {"out": none(*s)}) for s in ((0,), (2, 4, 3))]
E["histogram.bin_ct_out"] = [([upto(4), 2], {"hist": none(2), "bin_edges": shared(n)}) for n in (2, 3)]
E["log_sigmoid_forward.output"] += [([upto(2, 3)], {"output": none(3, 2).t(), "buffer": none(3, 2).t()})]
E["native_layer_norm.out"] += [([upto(2, 3), [3], None, None, 1e-5], {"out0": none(2, 3), "out1": none(0), "out2": shared(2, 1)})]
E["svd.U"] = [([of([[1.0, 2], [0, 3]])], {"U": none(*s), "S": none(0), "V": none(0)}) for s in ((0,), (2, 2, 2), (2, 2))]
E["sort.stable"] = [([torch.tensor(x)], {"stable": True, "descending": d}) for x in (1 + 2j, True, 2.5) for d in (False, True)]
E["linspace"] = [([a, b, n], {"dtype": d}) for a, b in ((inf, 5), (5, -2**63), (10, -1), (5, 300), (1e300, 0), (-3, -9)) for n in (0, 1, 2)
                 for d in (u8, i64, f32)]
E["logspace"] += [([a, b, n], {"dtype": d}) for a, b in ((inf, 5), (0, MOST), (-1, 2), (-2**63, nan)) for n in (0, 1, 2) for d in (u8, i64, f32)]
E["arange.start_step"] = [([10, b, s], {"dtype": d}) for b, s in ((10, inf), (12, inf), (12, -inf), (12, nan)) for d in (u8, i64, f32)]
EDGES = E

# What is not compared, because PyTorch's answer there is not one:
#   a bool for an int or in a list of them: torch.ops takes it, torch.* does not; here it is an error
#   LAPACK's results into one tensor given as two outputs: it computes in their memory, or fails; here an error
#   add, index_add, index_reduce of complex infinities: it multiplies by alpha = 1 as a complex number, whose NaN is of no use
#   avg_pool3d with a divisor from 2^31 on: it takes another one, as an int
#   clamp with a single bound that is NaN: unlike clamp_min and with both bounds it leaves everything as it is
#   convolution of infinite weights and zeros around the image: NaN or not goes by the routine that it takes
#   embedding_dense_backward scaled by frequency, an index that is no row: it writes beyond its counts; here an error
#   fractional_max_pool of samples that are not packed, or not numbers: it reads them as if packed; here by their strides, or an error
#   grid_sampler of three dimensions, reflected 2^31 times and more: it counts in an int
#   lcm of the least integer and what divides by -1: it dies
#   median of an expanded tensor along the dimension that was expanded: it sorts in the one place there is
#   mode of lines with NaN: it sorts them by a < b, which orders no NaN, so where they end is chance; here they are last
#   multi_margin_loss with a weight, _embedding_bag with indices that are not packed: it reads them as if they were
#   multi_margin_loss, multilabel_margin_loss of no rows: it answers with what lay in memory
#   polygamma from n = 2^31 - 1 on: its n is an int, so it computes another one; here an error
#   tril, triu, tril_indices, triu_indices, arange, range near 2^63: its sums wrap
#   upsample with a scale that is not that of the sizes: it reads beyond the image; here what lies at its border
