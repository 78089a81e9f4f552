"""norm.py -- softmax, normalisation of batches, layers and groups, renorm."""

import functools
import itertools

import torch

from cases.inputs import CASES, bf16, edges, f32, f64, i64, inf, layouts, make, nan, none, outs_of, shared, u8, upto

aten = torch.ops.aten

CASES["layer_norm"] = lambda: (((x, [x.shape[-1]], w, b), {}) for x in (make(f32, 3, 5), make(f64, 2, 3, 5)) for w, b in
                               ((None, None), (make(x.dtype, 5), make(x.dtype, 5))))
CASES["softmax.int"] = CASES["log_softmax.int"] = lambda: (((x, d, t), {}) for t in (None, f64) for e in (f32, f64, i64) for x in layouts(e)
                                                           if x.numel() for d in (0, -1, 1) for _ in (0,))
CASES["_softmax"] = CASES["_log_softmax"] = lambda: (((x, d, False), {}) for e in (f32, f64) for x in layouts(e) if x.numel() for d in (0, -1, 1))

CASES["special_softmax"] = CASES["softmax.int"]
CASES["special_log_softmax"] = lambda: ((a[:2], {"dtype": a[2]}) for a, _ in CASES["softmax.int"]())
CASES["_softmax.out"] = CASES["_log_softmax.out"] = lambda: (
    ((make(d, 3, 4), dim, False), {"out": o}) for d in (f32, f64, torch.bfloat16, i64) for dim in (0, 1) for o in (
        torch.zeros(0, dtype=d), torch.zeros(3, 4, dtype=d), torch.zeros(3, 4, dtype=f64)))  # PyTorch takes a strided one for dense
CASES["_softmax_backward_data"] = CASES["_log_softmax_backward_data"] = lambda: (
    ((make(d, *x.shape), x, dim, t), {}) for d in (f32, f64, torch.bfloat16) for x in layouts(d) if x.numel() != 14 and x.is_contiguous() and x.numel() < 1000
    for dim in (0, -1, 1) for t in (d, f64))
CASES["_softmax_backward_data.out"] = lambda: (((make(f32, 3, 4), make(f32, 3, 4), dim, f32), {"grad_input": torch.zeros(*s)})
                                               for dim in (0, 1) for s in ((0,), (3, 4), (5,)))
CASES["_log_softmax_backward_data.out"] = lambda: ((a, {"out": k["grad_input"]}) for a, k in CASES["_softmax_backward_data.out"]())
CASES["softmax.int_out"] = functools.partial(outs_of, "softmax.int")
CASES["log_softmax.int_out"] = functools.partial(outs_of, "log_softmax.int")


# -- normalisation --

def images(*dtypes):
    for d in dtypes or (f32, f64):
        for shape in ((2, 3, 4, 5), (4, 3), (2, 3, 7), (2, 3, 2, 3, 2), (3, 2, 40, 130), (2, 3, 1, 1), (200, 3)):
            yield make(d, *shape)
        yield make(d, 2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
        yield make(d, 2, 3, 2, 3, 2).contiguous(memory_format=torch.channels_last_3d)
        yield make(d, 2, 3, 4, 10)[:, :, :, ::2]
        yield make(d, 3, 2, 4, 5).transpose(0, 1)


def batches(*dtypes):
    for x in images(*dtypes):
        c = x.size(1)
        for p in (bf16, f32) if x.dtype is bf16 else (x.dtype,):
            v = lambda low=-4, p=p, c=c: make(p, c, low=low)
            for w, b, m, s in ((v(), v(), v(), v(1)), (None, None, v(), v(1)), (v(), None, None, None)):
                yield x, w, b, m, s


CASES["native_batch_norm"] = CASES["batch_norm"] = lambda: itertools.chain(
    (((x, w, b, m, s, t, 0.1, 1e-5), {}) for x, w, b, m, s in batches(f32, f64) for t in (False, True) if t or m is not None),
    (((x, w, b, m, s, False, 0.1, 1e-5), {}) for x, w, b, m, s in batches(bf16) if m is not None and w is None),
    (((make(i64, 2, 3, 4), None, None, None, None, True, 0.1, 1e-5), {}),
     ((make(f32, 2, 3), make(f64, 3), None, None, None, True, 0.1, 1e-5), {})))
native = CASES["native_batch_norm"]
CASES["batch_norm"] = lambda: ((a + (False,), k) for a, k in native() if a[5] is False or a[0].numel() // a[0].size(1) > 1)
CASES["_batch_norm_impl_index"] = lambda: ((a + (False,), k) for a, k in native() if a[0].dtype is not bf16)
CASES["batch_norm_update_stats"] = lambda: (((x, m, s, 0.1), {}) for x, _, _, m, s in batches(f32, f64))
CASES["batch_norm_update_stats.out"] = lambda: ((a, {"out0": torch.zeros(0, dtype=a[0].dtype), "out1": torch.zeros(0, dtype=a[0].dtype)})
                                              for a, _ in itertools.islice(CASES["batch_norm_update_stats"](), 6))


def batch_backward():
    for (x, w, b, m, s, t, _, e), _ in native():
        if x.is_floating_point() and x.size(1) == 3 and (w is None or w.dtype is x.dtype or x.dtype is bf16) and (w is None or w.numel() == 3):
            _, mean, invstd = aten.native_batch_norm(x, w, b, m, s, t, 0.1, e)
            for mask in ([True, True, True], [False, True, True], [True, False, False]):
                for g in (make(x.dtype, *x.shape), torch.empty_like(x).copy_(make(x.dtype, *x.shape))):
                    yield (g, x, w, m, s, mean, invstd, t, e, mask), {}


CASES["native_batch_norm_backward"] = lambda: (c for c in batch_backward() if c[0][1].dtype is not bf16)
CASES["_batch_norm_impl_index_backward"] = lambda: (
    ((0, a[1], a[0], *a[2:], torch.zeros(0, dtype=u8)), {}) for a, _ in itertools.islice(CASES["native_batch_norm_backward"](), 60))


def given_outs(name, *which):
    for a, _ in itertools.islice(CASES[name](), 40):
        if a[-1] == [True, True, True] and a[2] is not None:
            yield a, {f"out{i}": torch.zeros(0, dtype=a[0].dtype) for i in range(3)}


CASES["native_batch_norm_backward.out"] = lambda: given_outs("native_batch_norm_backward")


def rows(*dtypes):
    for d in dtypes:
        for shape, n in (((3, 4, 5), 1), ((3, 4, 5), 2), ((7, 5000), 1), ((300, 33), 1), ((4,), 1), ((0, 4), 1), ((2, 3, 9), 1), ((2, 3, 4, 5), 3)):
            s = list(shape[-n:])
            for w, b in ((make(d, *s), make(d, *s)), (make(d, *s), None), (None, None)):
                yield (make(d, *shape), s, w, b, 1e-5), {}
        yield (make(d, 5, 3).t(), [5], make(d, 5), None, 0.1), {}


CASES["native_layer_norm"] = lambda: itertools.chain(rows(f32, f64, i64), ((a, {}) for a in (
    (make(f32, 3, 4), [3], None, None, 1e-5), (make(f32, 3, 4), [], None, None, 1e-5), (make(f32, 3, 4), [4], make(f32, 3), None, 1e-5),
    (make(f32, 3, 4), [4], make(f64, 4), None, 1e-5), (make(f32, 4), [3, 4], None, None, 1e-5), (torch.tensor([[1.0, nan], [inf, 2]]), [2], None, None, 1e-5))))
CASES["native_layer_norm.out"] = lambda: ((a, {f"out{i}": torch.zeros(0, dtype=a[0].dtype) for i in range(3)}) for a, _ in itertools.islice(rows(f32), 8))


def layer_backward():
    for (x, s, w, b, e), _ in rows(f32, f64):
        _, mean, rstd = aten.native_layer_norm(x, s, w, b, e)
        for mask in ([True, True, True], [False, True, True], [True, False, False]):
            if mask[1] and (w is None or b is None):
                continue
            yield (make(x.dtype, *x.shape), x, s, mean, rstd, w, b, mask), {}


CASES["native_layer_norm_backward"] = layer_backward
CASES["native_layer_norm_backward.out"] = lambda: ((a, {f"out{i}": torch.zeros(0, dtype=a[0].dtype) for i in range(3)}) for a, _ in itertools.islice(layer_backward(), 8) if all(a[-1]))


def groups(*dtypes):
    for d in dtypes:
        for shape, g in (((2, 4, 3, 5), 2), ((2, 4, 3), 4), ((2, 4), 1), ((2, 6, 33, 70), 3), ((0, 4, 3), 2), ((2, 4, 3), 3), ((2, 4, 3), 0)):
            x, c = make(d, *shape), shape[1]
            for w, b in ((make(d, c), make(d, c)), (make(d, c), None), (None, None)):
                yield x, g, w, b
        yield make(d, 2, 4, 3, 5).contiguous(memory_format=torch.channels_last), 2, make(d, 4), make(d, 4)
        yield make(d, 2, 4, 5, 3).transpose(2, 3), 2, make(d, 4), make(d, 4)
        yield make(d, 2, 4, 3), 2, make(d, 3), None
        yield make(d, 4), 2, None, None
    yield make(f32, 2, 4, 3), 2, make(f64, 4), None


CASES["group_norm"] = lambda: (((x, g, w, b), {}) for x, g, w, b in groups(f32, f64, i64))
CASES["native_group_norm"] = lambda: (((x, w, b, x.size(0), x.size(1), x[0, 0].numel() if x.numel() else 3, g, 1e-5), {}) for x, g, w, b in groups(f32, f64)
                                    if x.dim() > 1 and g and x.size(1) % g == 0)
CASES["native_group_norm.out"] = lambda: ((a, {f"out{i}": torch.zeros(0, dtype=a[0].dtype) for i in range(3)}) for a, _ in itertools.islice(CASES["native_group_norm"](), 6))


def group_backward():
    for (x, w, b, *sizes, e), _ in CASES["native_group_norm"]():
        if x.is_contiguous() and x.dtype in (f32, f64) and x.numel() and (w is None or w.shape == (x.size(1),) and w.dtype is x.dtype):
            _, mean, rstd = aten.native_group_norm(x, w, b, *sizes, e)
            for mask in ([True, True, True], [False, True, True], [True, False, False]):
                if w is not None or not mask[1]:
                    yield (make(x.dtype, *x.shape), x, mean, rstd, w, *sizes, mask), {}


CASES["native_group_norm_backward"] = group_backward
CASES["native_group_norm_backward.out"] = lambda: ((a, {f"out{i}": torch.zeros(0, dtype=a[0].dtype) for i in range(3)}) for a, _ in itertools.islice(group_backward(), 8) if all(a[-1]))
CASES["instance_norm"] = lambda: itertools.chain(
    (((x, w, b, m, s, t, 0.1, 1e-5, False), {}) for x, w, b, m, s in batches(f32, f64) for t in (False, True) if x.dim() > 2 and x[0, 0].numel() > 1 and (t or m is not None)),
    (((make(f32, 3), None, None, None, None, True, 0.1, 1e-5, False), {}),))


def weights(*ends):
    for d in (f32, f64):
        for shape in ((3, 4), (2, 3, 4), (5,), (2, 3, 4, 5)):
            for dim in {0, len(shape) - 1} if ends else {0, 1, len(shape) - 1, -1, 7}:
                v = make(d, *shape)
                if dim < len(shape) and dim >= 0:
                    yield v, make(d, *(n if i == dim else 1 for i, n in enumerate(shape))), dim
                elif dim < 0:
                    yield v, make(d), dim
    yield make(f32, 4, 3).t(), make(f32, 3, 1), 0


CASES["_weight_norm"] = lambda: ((a, {}) for a in weights())
CASES["norm_except_dim"] = lambda: (((v, p, d), {}) for v, _, d in weights() for p in (2, 1))
CASES["_weight_norm_interface"] = lambda: ((a, {}) for a in weights(True) if a[0].is_contiguous())
CASES["_weight_norm_interface.out"] = lambda: ((a, {f"out{i}": torch.zeros(0, dtype=a[0].dtype) for i in range(2)}) for a, _ in CASES["_weight_norm_interface"]())
CASES["_weight_norm_interface_backward"] = CASES["_weight_norm_differentiable_backward"] = lambda: (
    ((make(v.dtype, *v.shape), v, g, aten._weight_norm_interface(v, g, d)[1], d), {}) for (v, g, d), _ in CASES["_weight_norm_interface"]())
CASES["_weight_norm_interface_backward.out"] = lambda: (
    (a, {f"out{i}": torch.zeros(0, dtype=a[0].dtype) for i in range(2)}) for a, _ in CASES["_weight_norm_interface_backward"]())

# -- renorm --

slices = lambda: (((make(d, *s), p, dim, m), {}) for d in (f32, f64, i64, bf16, torch.complex64) for s in ((3, 4), (2, 3, 4), (3,), (0, 4)) for p in (2, 1, 0.5, inf, 0)
                  for dim in (0, -1, 2) for m in (1, 0.5, -1) if not (d is bf16 and p == 0.5))
CASES["renorm"] = CASES["renorm_"] = slices
CASES["renorm.out"] = lambda: ((a, {"out": torch.zeros(0, dtype=a[0].dtype)}) for a, _ in slices())


# -- at the edges --

# one tensor as two outputs: the last one is what it holds
edges("native_layer_norm.out", [([upto(2, 3), [3], None, None, 1e-5], {"out0": o, "out1": o, "out2": none(0)}) for o in (none(0), none(2, 3))] +
      [([upto(2, 3), [3], None, None, 1e-5], {"out0": none(2, 3), "out1": none(0), "out2": shared(2, 1)})])
edges("renorm.out", (([upto(2, 3, 4).transpose(1, 2), 2, 0, 0.5], {"out": none(*s)}) for s in ((0,), (2, 4, 3))))
