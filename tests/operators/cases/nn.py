"""nn.py -- losses of classes, recurrent cells, attention, embeddings, distances, packed sequences."""

import itertools

import torch

from cases.inputs import (CASES, MAIN, b8, bf16, c64, edges, f32, f64, i32, i64, inf, make, nan, none, of, two, u8,
                          upto)

aten = torch.ops.aten


def targets(*shape, classes=5, ignored=None):
    t = torch.randint(0, classes, shape)
    if ignored is not None and t.numel():
        t.view(-1)[0] = ignored
    return t


# -- losses of classes --

def nll(shapes, images):
    for d, (x, t), r in itertools.product((f32, f64, bf16, i64), shapes, (0, 1, 2)):
        x = make(d, *x)
        t = targets(*t, ignored=-100)
        yield (x, t, None, r, -100), {}
    for (x, t), r in itertools.product(shapes, (0, 1, 2)):
        x, t = make(f32, *x), targets(*t, ignored=2)
        yield (x, t, make(f32, 5, low=0), r, 2), {}
        yield (x.double(), t, make(f32, 5, low=0), r, 2), {}
        yield (x, t, make(f32, 4), r, 2), {}
        yield (x, t.int(), None, r, -100), {}
        yield (x, t.to(u8), None, r, -100), {}
        yield (x, t + 4, None, r, -100), {}
        yield (x, torch.full_like(t, 7), None, r, 7), {}
    x, t = make(f32, *shapes[0][0]), targets(*shapes[0][1])
    yield (x.transpose(0, 1).contiguous().transpose(0, 1), t, None, 0, -100), {}
    yield (x, targets(2, 2, 2, 2), None, 1, -100), {}
    if images:
        yield (x.contiguous(memory_format=torch.channels_last), t, None, 1, -100), {}


rows = [((3, 5), (3,)), ((5,), ()), ((0, 5), (0,)), ((3, 5), (4,)), ((3, 5), ()), ((700, 5), (700,)), ((), ())]
pixels = [((2, 5, 3, 4), (2, 3, 4)), ((0, 5, 3, 4), (0, 3, 4)), ((2, 5, 0, 4), (2, 0, 4)), ((2, 5, 3), (2, 3)), ((2, 5, 3, 4), (2, 4, 3))]


def nll_backward(shapes, images):
    for (x, t, w, r, i), _ in nll(shapes, images):
        each = r == 0 and x.dim() > 1
        grad = make(x.dtype, *(t.shape if each else ()))
        for total in (torch.tensor(3.0), torch.tensor(3.0, dtype=x.dtype)):
            if not (images and not x.is_contiguous()) and x.dim() and not (each and t.numel() and (
                    t[t != i].numel() and (t[t != i] >= x.size(1) if x.dim() > 1 else False).any())):
                yield (grad, x, t, w, r, i, total), {}
    x, t = make(f32, *shapes[0][0]), targets(*shapes[0][1])
    yield (make(f32, 2), x, t, None, 1, -100, torch.tensor(3.0)), {}
    yield (make(f32, 7), x, t, None, 0, -100, torch.tensor(3.0)), {}
    yield (make(f32), x, t, None, 1, -100, make(f32, 2)), {}


for name, shapes, images in (("nll_loss", rows, False), ("nll_loss2d", pixels, True)):
    forward = lambda shapes=shapes, images=images: nll(shapes, images)
    backward = lambda shapes=shapes, images=images: nll_backward(shapes, images)
    CASES[name + "_forward"] = CASES[name] = forward
    CASES[name + "_backward"] = backward
    CASES[name + "_forward.output"] = lambda f=forward: (
        (a, {"output": torch.zeros(0, dtype=a[0].dtype), "total_weight": torch.zeros(0, dtype=a[0].dtype)}) for a, _ in itertools.islice(f(), 40))
    CASES[name + ".out"] = lambda f=forward: ((a, {"out": torch.zeros(0, dtype=e)}) for a, _ in itertools.islice(f(), 20) for e in (f32, f64) if a[1].numel())
    CASES[name + "_backward.grad_input"] = lambda f=backward: (
        (a, {"grad_input": torch.zeros(s, dtype=a[1].dtype)}) for a, _ in itertools.islice(f(), 30) for s in ((0,), a[1].shape))

many = [*rows[:6], *pixels[:4], ((2, 5, 7), (2, 7)), ((2, 5, 2, 3, 2), (2, 2, 3, 2)), ((2, 5, 7), (2, 6)), ((0, 5, 7), (0, 7))]
CASES["nll_loss_nd"] = lambda: (((make(d, *x), targets(*t, ignored=-100), *w), {}) for d in (f32, f64) for x, t in many
                              for w in ((), (None, 0), (make(d, 5, low=0), 2), (make(d, 5, low=0), 1)))


def entropy():
    yield from ((a, {"label_smoothing": s}) for a, _ in CASES["nll_loss_nd"]() for s in (0, 0.1, 1.5) if a[0].dim())
    for x in ((3, 5), (5,), (2, 5, 3), (0, 5), (3, 0)):
        for w, r, s in itertools.product((None, make(f32, 5, low=0)), (0, 1, 2), (0, 0.1, 1.5)):
            yield (make(f32, *x), make(f32, *x, low=0), w, r), {"label_smoothing": s}
    yield (make(f32, 3, 5), targets(3, 5)), {}
    yield (make(f32, 3, 5), make(f32, 3, 5), None, 1, 2), {}


CASES["cross_entropy_loss"] = entropy


def margins():
    for d, (x, t), p, r in itertools.product((f32, f64, i64), (((3, 5), (3,)), ((5,), ()), ((5,), (1,)), ((), ()), ((0, 5), (0,)), ((3, 5), (4,)), ((3, 0), (3,)),
                                             ((2, 3, 5), (2,))), (1, 2), (0, 1, 2)):
        if not (x == (0, 5) and r):
            t = targets(*t) if x else torch.zeros(t, dtype=i64)
            yield (make(d, *x), t, p, 0.5, None, r), {}
            yield (make(d, *x), t, p, 1, make(d, 5, low=0), r), {}
    yield (make(f32, 3, 5), targets(3) + 4, 1, 1), {}
    yield (make(f32, 3, 5), targets(3).int(), 1, 1), {}
    yield (make(f32, 3, 5), targets(3), 3, 1), {}


def labels():
    for d, s, r in itertools.product((f32, f64, i64), ((3, 5), (5,), (), (0, 5), (3, 0), (2, 3, 5)), (0, 1, 2)):
        t = torch.randint(-1, s[-1] if s and s[-1] else 1, s)
        if not (s == (0, 5) and r):
            yield (make(d, *s), t, r), {}
    yield (make(f32, 3, 5), targets(3, 5) + 4, 1), {}
    yield (make(f32, 3, 5), targets(3, 4), 1), {}
    yield (make(f32, 3, 5), targets(3, 5).int(), 1), {}


def with_grad(f, forward):
    for a, _ in f():
        try:
            loss = forward(*a)
        except RuntimeError:
            continue
        loss = loss if isinstance(loss, tuple) else (loss,)
        yield make(a[0].dtype, *loss[0].shape), a, loss[1:]


CASES["multi_margin_loss"] = margins
CASES["multi_margin_loss.out"] = lambda: ((a, {"out": torch.zeros(0, dtype=a[0].dtype)}) for a, _ in itertools.islice(margins(), 60))
CASES["multi_margin_loss_backward"] = lambda: (((g, *a), {}) for g, a, _ in with_grad(margins, aten.multi_margin_loss))
CASES["multi_margin_loss_backward.grad_input"] = lambda: ((a, {"grad_input": torch.zeros(0, dtype=a[1].dtype)}) for a, _ in CASES["multi_margin_loss_backward"]())
CASES["multilabel_margin_loss"] = CASES["multilabel_margin_loss_forward"] = labels
CASES["multilabel_margin_loss.out"] = lambda: ((a, {"out": torch.zeros(0, dtype=a[0].dtype)}) for a, _ in labels())
CASES["multilabel_margin_loss_forward.output"] = lambda: ((a, {"output": torch.zeros(0, dtype=a[0].dtype), "is_target": torch.zeros(0, dtype=a[0].dtype)}) for a, _ in labels())
CASES["multilabel_margin_loss_backward"] = lambda: (((g, *a, *m), {}) for g, a, m in with_grad(labels, aten.multilabel_margin_loss_forward))
CASES["multilabel_margin_loss_backward.grad_input"] = lambda: (
    (a, {"grad_input": torch.zeros(0, dtype=a[1].dtype)}) for a, _ in CASES["multilabel_margin_loss_backward"]())


def sequences(*flags):
    for d in (f32, f64):
        x = make(d, 6, 3, 5).log_softmax(-1)
        y = torch.tensor([[1, 2, 2], [3, 3, 0], [4, 1, 2]])
        for lengths, sizes in (([6, 6, 6], [3, 2, 3]), ([6, 5, 2], [3, 2, 1]), ([6, 1, 3], [1, 2, 0]), ([6, 7, 3], [1, 2, 0]), ([6, 6], [3, 2, 3]), ([6, 6, 6], [4, 2, 3])):
            yield x, y, lengths, sizes
        yield x, torch.tensor([1, 2, 2, 3, 4, 1]), [6, 6, 6], [3, 1, 2]
        yield x, torch.tensor([1, 2, 2, 3, 4, 1]), [6, 6, 6], [3, 1, 3]
        yield x, y.int(), [6, 6, 6], [3, 2, 3]
    yield make(f32, 6, 3), y, [6, 6, 6], [3, 2, 3]
    yield make(i64, 6, 3, 5), y, [6, 6, 6], [3, 2, 3]


CASES["ctc_loss.IntList"] = lambda: (((*a, b, r, z), {}) for a in sequences() for b in (0, 4) for r in (0, 1, 2) for z in (False, True) if a[0].dim() == 3)
CASES["ctc_loss.Tensor"] = lambda: (((x, y, torch.tensor(l), torch.tensor(s), *o), {}) for (x, y, l, s, *o), _ in CASES["ctc_loss.IntList"]())
# The others leave some of log alpha as what lay in memory.
whole = lambda: ((make(d, 6, 3, 5).log_softmax(-1), torch.tensor([[1, 2, 2], [3, 3, 0], [4, 1, 2]]), [6, 6, 6], [3, 3, 3]) for d in (f32, f64))
CASES["_ctc_loss"] = lambda: (((*a, b), {}) for a in whole() for b in (0, 4, 5, -1))
CASES["_ctc_loss.Tensor"] = lambda: (((x, y, torch.tensor(l), torch.tensor(s)), {}) for x, y, l, s in whole())
CASES["_ctc_loss.out"] = lambda: ((a, {"out0": torch.zeros(0, dtype=a[0].dtype), "out1": torch.zeros(0, dtype=a[0].dtype)}) for a, _ in CASES["_ctc_loss"]())


def ctc_backward():
    for x, y, l, s in sequences():
        for b, z in ((0, False), (0, True)):
            try:
                loss, alpha = aten._ctc_loss(x, y, l, s, b, z)
            except RuntimeError:
                continue
            yield (make(x.dtype, 3), x, y, l, s, loss, alpha, b, z), {}


CASES["_ctc_loss_backward"] = ctc_backward
CASES["_ctc_loss_backward.Tensor"] = lambda: (((g, x, y, torch.tensor(l), torch.tensor(s), *o), {}) for (g, x, y, l, s, *o), _ in ctc_backward())
CASES["_ctc_loss_backward.out"] = lambda: ((a, {"out": torch.zeros(0, dtype=a[1].dtype)}) for a, _ in ctc_backward())


# -- recurrent networks --

def cell(gates, states=1):
    for d in (f32, f64):
        for bias in (True, False):
            w = [make(d, gates * 4, 5), make(d, gates * 4, 4)] + ([make(d, gates * 4), make(d, gates * 4)] if bias else [])
            h = [make(d, 3, 4) for _ in range(states)]
            yield (make(d, 3, 5), h[0] if states == 1 else h, *w), {}
            yield (make(d, 3, 6), h[0] if states == 1 else h, *w), {}
            yield (make(d, 2, 5), h[0] if states == 1 else h, *w), {}
            h = [make(d, 3, 3) for _ in range(states)]
            yield (make(d, 3, 5), h[0] if states == 1 else h, *w), {}


for name, gates in (("rnn_tanh", 1), ("rnn_relu", 1), ("gru", 3)):
    CASES[name + "_cell"] = lambda g=gates: cell(g)
CASES["lstm_cell"] = lambda: cell(4, 2)


def network(gates, packed, states=1):
    for d, bias, layers, both, first in itertools.product((f32, f64), (True, False), (1, 2), (False, True), (False, True)):
        for proj in (0, 2) if states == 2 and d is f64 else (0,):
            n, h, params = (2 if both else 1), proj or 4, []
            for layer in range(layers):
                for _ in range(n):
                    params += [make(d, gates * 4, 5 if layer == 0 else h * n, low=-1, high=1), make(d, gates * 4, h, low=-1, high=1)]
                    params += [make(d, gates * 4), make(d, gates * 4)] if bias else []
                    params += [make(d, proj, 4)] if proj else []
            hx = [make(d, layers * n, 3, h)] + [make(d, layers * n, 3, 4)] * (states - 1)
            hx = hx[0] if states == 1 else hx
            rest = params, bias, layers, 0.0, False, both
            if packed:
                yield (make(d, 8, 5), torch.tensor([3, 2, 2, 1]), hx, *rest), {}
                yield (make(d, 9, 5), torch.tensor([3, 3, 3]), hx, *rest), {}
            else:
                yield (make(d, 3, 7, 5) if first else make(d, 7, 3, 5), hx, *rest, first), {}
    if not packed:
        yield (make(d, 7, 3, 5), hx, params[:-1], *rest[1:], first), {}


for name, gates in (("rnn_tanh", 1), ("rnn_relu", 1), ("gru", 3), ("lstm", 4)):
    for form, packed in (("input", False), ("data", True)):
        CASES[f"{name}.{form}"] = lambda g=gates, p=packed, n=name: network(g, p, 2 if n == "lstm" else 1)

# -- attention --

bools = lambda *shape: torch.rand(shape) < 0.4
CASES["_masked_softmax"] = lambda: (((make(d, *x), bools(*m), *o), {}) for d in (f32, f64, i64) for x, m, o in (
    ((3, 4), (3, 4), ()), ((3, 4), (3, 4), (0, 1)), ((2, 3, 5, 5), (5, 5), (3, 0)), ((2, 3, 5, 5), (2, 5), (3, 1)), ((2, 3, 5, 5), (2, 3, 5, 5), (-1, 2)),
    ((3, 4), (3, 4), (1, 0)), ((3, 4), (4,), (1, 1)), ((3, 4), (3, 4), (5, 1)), ((3, 4), (3, 4), (1, 3))))
CASES["_masked_softmax.out"] = lambda: ((a, {"out": torch.zeros(0)}) for a, _ in itertools.islice(CASES["_masked_softmax"](), 2))
CASES["_masked_softmax_backward"] = lambda: (((make(d, *x), make(d, *x).softmax(-1), bools(*m), *o), {}) for d in (f32, f64) for x, m, o in (
    ((3, 4), (3, 4), ()), ((3, 4), (3, 4), (0,)), ((2, 3, 5, 5), (2, 3, 5, 5), (-1,)), ((3, 4), (4,), ())))
CASES["_masked_softmax_backward.out"] = lambda: ((a, {"out": torch.zeros(0)}) for a, _ in itertools.islice(CASES["_masked_softmax_backward"](), 3))


def attention():
    for d in (f32, f64):
        for s, t in (((2, 4, 3, 8), (2, 4, 5, 8)), ((3, 8), (5, 8)), ((4, 3, 8), (4, 5, 8))):
            q, k, v = make(d, *s), make(d, *t), make(d, *t)
            for m, causal in ((None, False), (None, True), (torch.ones(3, 5, dtype=torch.bool).tril(), False), (make(d, 3, 5), False), (make(d, 3, 5), True), (make(d, 3, 4), False)):
                for need in (False, True):
                    yield (q, k, v, m, 0.0, need, causal), {}


for name in ("_scaled_dot_product_attention", "_scaled_dot_product_attention_forward", "_scaled_dot_product_attention_math"):
    CASES[name] = attention
CASES["_transform_bias_rescale_qkv"] = lambda: (((make(d, 2, 3, 24), make(d, n), h), {}) for d in (f32, f64, i64) for n in (24,) for h in (1, 2, 4))
CASES["_transform_bias_rescale_qkv.out"] = lambda: ((a, {f"out{i}": torch.zeros(0, dtype=a[0].dtype) for i in range(3)}) for a, _ in itertools.islice(
    CASES["_transform_bias_rescale_qkv"](), 3))


def multi_head():
    for d in (f32, f64):
        x, y, z = make(d, 2, 3, 8), make(d, 2, 3, 8), make(d, 2, 3, 8)
        rest = make(d, 24, 8), make(d, 24), make(d, 8, 8), make(d, 8)
        for q, k, v in ((x, x, x), (x, y, y), (x, y, z)):
            for m in ((None,), (None, True, False), (None, False), (torch.ones(3, 3).triu(1).bool(), True, True, 0), (torch.tensor([[False, False, True]] * 2), True, True, 1)):
                yield (q, k, v, 8, 2, *rest, *m), {}
        yield (x, x, x, 8, 3, *rest), {}
        yield (x, x, x, 9, 3, *rest), {}
        yield (x, x, x[0], 8, 2, *rest), {}
        yield (x, x, x, 8, 2, make(d, 23, 8), *rest[1:]), {}


CASES["_native_multi_head_attention"] = multi_head
CASES["_native_multi_head_attention.out"] = lambda: ((a, {f"out{i}": torch.zeros(0, dtype=a[0].dtype) for i in range(2)}) for a, _ in itertools.islice(multi_head(), 2))


def encoder():
    for d, gelu, first in itertools.product((f32, f64), (False, True), (False, True)):
        for m in ((), (torch.tensor([[False, False, True]] * 2), 1)):
            yield (make(d, 2, 3, 8), 8, 2, make(d, 24, 8), make(d, 24), make(d, 8, 8), make(d, 8), gelu, first, 1e-5, make(d, 8), make(d, 8), make(d, 8), make(d, 8),
                   make(d, 16, 8), make(d, 16), make(d, 8, 16), make(d, 8), *m), {}


CASES["_transformer_encoder_layer_fwd"] = encoder
CASES["_transformer_encoder_layer_fwd.out"] = lambda: ((a, {"out": torch.zeros(0, dtype=a[0].dtype)}) for a, _ in itertools.islice(encoder(), 2))


# -- bags of embeddings --

def bags(modes=(0, 1, 2)):
    for d, mode in itertools.product((f32, f64, torch.float16), modes):
        w = make(d, 6, 3)
        for i, o, last in (([1, 2, 3, 1, 0], [0, 2, 2], False), ([1, 2, 3, 1, 0], [0, 2, 2, 5], True), ([], [0, 0], False), ([], [], False), ([1], [0], False)):
            i, o = torch.tensor(i, dtype=i64), torch.tensor(o, dtype=i64)
            for pad in (-1, 1):
                for factors in (None, make(d, i.numel())) if mode == 0 and d is not torch.float16 else (None,):
                    if not (d is torch.float16 and (mode == 2 or pad >= 0)):
                        yield w, i, o, False, mode, False, factors, last, pad
    yield make(f32, 3, 6).t(), torch.tensor([1, 2, 3]), torch.tensor([0, 1]), False, 0, False, None, False, -1


def wide_bags():
    w, i, o = make(f32, 40, 87, low=0), make(i64, 300, low=0, high=40), torch.tensor([0, 150, 150, 290])
    for mode, factors in ((0, None), (0, make(f32, 300, low=0)), (1, None)):
        for pad in (-1, 1):
            yield (w, i, o, False, mode, False, factors, False, pad), {}


wrong = lambda: (((make(f32, 6, 3), torch.tensor(i), torch.tensor(o), False, m, False, f), {}) for i, o, m, f in (
    ([1, 2, 9], [0, 2], 0, None), ([1, 2, 3], [1, 2], 0, None), ([1, 2, 3], [0, 4], 0, None), ([1.0, 2, 3], [0, 2], 0, None)))
CASES["_embedding_bag"] = CASES["_embedding_bag_forward_only"] = lambda: itertools.chain(((a, {}) for a in bags()), wide_bags(), wrong(), (
    ((make(i64, 6, 3), torch.tensor([1]), torch.tensor([0])), {}), ((make(f32, 6, 3), torch.tensor([1], dtype=i32), torch.tensor([0], dtype=i32)), {}),
    ((make(f32, 6, 3), torch.tensor([1], dtype=i32), torch.tensor([0])), {})))
for name in ("_embedding_bag", "_embedding_bag_forward_only"):
    CASES[name + ".out"] = lambda: ((a, {"out0": torch.zeros(0, dtype=a[0].dtype), **{f"out{i}": torch.zeros(0, dtype=i64) for i in (1, 2, 3)}}) for a in itertools.islice(bags(), 9))
# Where a gradient may be asked for another operator runs, which counts bags with a last offset otherwise.
CASES["embedding_bag"] = lambda: ((a[:8], {}) for a in bags() if a[8] < 0 and not (a[7] and a[4] == 0))
CASES["embedding_bag.padding_idx"] = lambda: ((a[:8] + (p,), {}) for a in bags() for p in (None, 1, -1, 6) if a[0].dtype is not torch.float16 and not (a[7] and a[4] == 0))


def bags_backward(dense):
    for w, i, o, s, mode, sparse, factors, last, pad in bags():
        if w.dtype is torch.float16 or not i.numel():
            continue
        y, bag_of, counts, at = aten._embedding_bag(w, i, o, s, mode, sparse, factors, last, pad)
        for scale in (False, True) if mode < 2 and i.numel() == 1 else (False,):  # of several PyTorch divides by others' counts
            g = make(w.dtype, *y.shape)
            if not dense:
                yield (g, i, o[:len(y)], bag_of, counts, at, 6, scale, mode, False, factors, pad), {}
            elif bag_of.numel():
                yield (g, i, bag_of, counts, at, 6, scale, mode, factors, pad), {}


CASES["_embedding_bag_backward"] = lambda: bags_backward(False)
CASES["_embedding_bag_dense_backward"] = lambda: bags_backward(True)
CASES["_embedding_bag_dense_backward.out"] = lambda: ((a, {"out": torch.zeros(0, dtype=a[0].dtype)}) for a, _ in itertools.islice(bags_backward(True), 5))
CASES["_embedding_bag_per_sample_weights_backward"] = lambda: (
    ((make(w.dtype, len(o), 3), w, i, o, torch.zeros(0, dtype=i64), 0, pad), {}) for w, i, o, _, _, _, f, last, pad in bags((0,)) if f is not None and not last and i.numel())
CASES["_embedding_bag_per_sample_weights_backward.out"] = lambda: ((a, {"out": torch.zeros(0, dtype=a[0].dtype)}) for a, _ in CASES["_embedding_bag_per_sample_weights_backward"]())
CASES["embedding_backward"] = lambda: (((make(d, 4, 3), torch.tensor([1, 2, 5, 1]), 6, p, s, False), {}) for d in (f32, f64) for p in (-1, 2) for s in (False, True))

# -- distances --

CASES["dist"] = lambda: (((x, y, p), {}) for x, y in two(f32, f64, i64) for p in (2, 1, 0, inf, 0.5, 3))
CASES["dist.out"] = lambda: ((a, {"out": torch.zeros(0, dtype=a[0].dtype)}) for a, _ in CASES["dist"]() if a[0].dtype is a[1].dtype)
CASES["pairwise_distance"] = lambda: (((x, y, *o), {}) for x, y in two(f32, f64, i64) for o in ((), (1.0,), (inf, 0.1), (0.5, 0.1, True), (2.0, 1e-6, True)))
CASES["cosine_similarity"] = lambda: (((x, y, *o), {}) for x, y in two(f32, f64, i64, bf16) for o in ((), (0,), (-1, 0.5), (2,)))


def matrices(p2=True):
    for d in (f32, f64, bf16, i64):
        for x, y in (((3, 4), (5, 4)), ((2, 3, 4), (2, 5, 4)), ((2, 3, 4), (5, 4)), ((2, 1, 3, 4), (6, 5, 4)), ((0, 4), (5, 4)), ((3, 0), (5, 0)),
                     ((0, 3, 4), (0, 5, 4)), ((3, 4), (5, 3)), ((4,), (5, 4)), ((30, 4), (3, 4)), ((2, 3, 4), (3, 5, 4))):
            yield make(d, *x), make(d, *y)
    yield make(f32, 4, 3).t(), make(f32, 5, 4)
    yield make(f32, 3, 4), make(f64, 5, 4)
    yield torch.tensor([[nan, 1.0], [inf, 2]]), make(f32, 2, 2)


powers = 0.0, 1.0, 2.0, inf, 0.5, 1.5, 3.0
CASES["_cdist_forward"] = CASES["cdist"] = lambda: (((x, y, p, m), {}) for x, y in matrices() for p in (*powers, -1.0) for m in ((None, 1, 2, 3) if p == 2 else (None,))
                                                if x.dtype is y.dtype and not (p == 2 and (x.isnan().any() or x.dtype is bf16)))
CASES["_cdist_forward.out"] = lambda: ((a, {"out": torch.zeros(0, dtype=a[0].dtype)}) for a, _ in itertools.islice(CASES["_cdist_forward"](), 60))
CASES["_euclidean_dist"] = lambda: (((x, y), {}) for x, y in matrices() if x.dtype in (f32, f64) and x.dtype is y.dtype and not x.isnan().any() and x.dim() > 1)
CASES["_euclidean_dist.out"] = lambda: ((a, {"out": torch.zeros(0, dtype=a[0].dtype)}) for a, _ in CASES["_euclidean_dist"]())


def cdist_backward():
    for x, y in matrices():
        if x.dtype not in (f32, f64) or x.dtype is not y.dtype or x.dim() < 2 or x.size(-1) != y.size(-1) or x.isnan().any():
            continue
        for p in powers:
            try:
                dist = torch.cdist(x, y, p)
            except RuntimeError:
                continue
            yield (make(x.dtype, *dist.shape), x, y, p, dist), {}
    yield (make(f32, 5, 3).t(), make(f32, 3, 4), make(f32, 5, 4), 2.0, make(f32, 3, 5)), {}


CASES["_cdist_backward"] = cdist_backward
CASES["_cdist_backward.out"] = lambda: ((a, {"out": torch.zeros(0, dtype=a[1].dtype)}) for a, _ in itertools.islice(cdist_backward(), 30))
singles = lambda: (make(d, *s) for d in (f32, f64, i64, bf16) for s in ((4, 3), (1, 3), (0, 3), (4, 0), (3,), (2, 3, 4), (9, 17)))
CASES["pdist"] = lambda: (((x, p), {}) for x in (*singles(), make(f32, 3, 4).t()) for p in (*powers, -1.0))
CASES["_pdist_forward"] = lambda: (((x, p), {}) for x in (*singles(), make(f32, 3, 4).t()) for p in powers if x.dim() == 2)
CASES["_pdist_forward.out"] = lambda: ((a, {"out": torch.zeros(0, dtype=a[0].dtype)}) for a, _ in itertools.islice(CASES["_pdist_forward"](), 20))


def pdist_backward():
    for (x, p), _ in CASES["_pdist_forward"]():
        if x.dtype in (f32, f64) and x.is_contiguous() and x.numel():  # PyTorch reads where there is nothing
            x = torch.cat([x, x[:1]])
            dist = torch.pdist(x, p)
            yield (make(x.dtype, *dist.shape), x, p, dist), {}


CASES["_pdist_backward"] = pdist_backward
CASES["_pdist_backward.out"] = lambda: ((a, {"out": torch.zeros(0, dtype=a[1].dtype)}) for a, _ in itertools.islice(pdist_backward(), 20))

# -- embeddings and packed sequences --

CASES["embedding"] = lambda: (((make(d, 5, 3), torch.tensor(i, dtype=t)), {}) for d in MAIN for i, t in
                              (([0, 4, 1], i64), ([[1, 2], [3, 0]], i64), (2, i64), ([5], i64), ([], i64), ([1], i32), ([1], f32)))

CASES["embedding_dense_backward"] = lambda: (
    ((make(d, *torch.tensor(i).shape, 3), torch.tensor(i, dtype=t), 6, p, s), {}) for d in (f32, f64, torch.bfloat16) for p in (-1, 1, 0) for s in (False, True)
    for i, t in (([0, 4, 1, 4], i64), ([[1, 2], [1, 0]], i64), (2, i64), ([1, 1], i32), ([1], f32)))
CASES["embedding_renorm_"] = lambda: (((make(d, 5, 3), torch.tensor(i, dtype=t), m, p), {}) for d in (f32, f64) for m in (1.0, 100.0, 0.5) for p in (2.0, 1.0, inf)
                                      for i, t in (([0, 4, 1, 4], i64), ([[1, 2], [3, 0]], i64), ([9], i64), ([1], i32), ([1], f32)))
CASES["_pack_padded_sequence"] = lambda: (((x, torch.tensor(n, dtype=d), b), {}) for e in (f32, i64, b8)
                                          for x in (make(e, 3, 3, 2), make(e, 3, 3), make(e, 3, 3, 2).transpose(0, 2), make(e, 3), make(e, 0, 3))
                                          for n, d in (([3, 2, 2], i64), ([3, 1, 1], i64), ([2, 2, 2], i64), ([2, 3, 1], i64), ([3, 1, 0], i64), ([3, 2], i64),
                                                       ([[3, 2, 1]], i64), ([3, 2, 1], i32), ([5, 2, 1], i64)) for b in (False, True))
CASES["_pack_padded_sequence_backward"] = lambda: (((make(f32, 6, 2), s, torch.tensor(n), b), {}) for s in ([3, 3, 2], [3, 4, 2], [2, 3, 2], [3])
                                                   for n in ([3, 2, 1], [2, 2, 2], [6], [3, 3, 3], [3, 1], [1, 1, 1, 1, 1, 1]) for b in (False, True))
CASES["_pad_packed_sequence"] = lambda: (((x, torch.tensor(n), b, v, t), {}) for x in (make(f32, 6, 2), make(i64, 6), make(f32, 6, 4)[:, ::2])
                                         for n in ([3, 2, 1], [2, 2, 2], [6], [1, 2, 3], [3, 3, 3], [2, 1], [3, 3, 0]) for b in (False, True)
                                         for v, t in ((0, -1), (1.5, 4), (2, 1)))


# -- at the edges --

edges("embedding_dense_backward",
      [[torch.ones(3, 2), of(*i, dtype=t), n, -1, by] for t in (i64, i32) for i, n in (((0, 2, 1), 2), ((0, 1, 1), 2), ((-1, 0, 1), 2), ((0, 0, 0), 0))
       for by in (False, True) if not by or max(i) < n and min(i) >= 0] +
      [[torch.ones(2, 2, dtype=d), of(0, 1, dtype=i64), 2, -1, False] for d in (i64, i32, torch.bool, c64, bf16, torch.float16)] +
      [[none(0), of(4, dtype=i64), 3, 2, False]])
edges("ctc_loss.IntList", ([torch.zeros(3, 1, 2), of([[1, 1]], dtype=i64), [3], [2], 0, r] for r in (-1, 0, 1, 2, 3, 7)))
edges("cross_entropy_loss", ([torch.ones(2, 3), t, None, r, -100, e] for t in (of(0, 1, dtype=i64), torch.ones(2, 3)) for r in (-1, 0, 1, 2, 3) for e in (0.0, 0.5)))
edges("multilabel_margin_loss_forward.output", (([upto(2, 3), of([[0, 2, -1], [1, -1, 0]], dtype=i64), 1], {"output": none(), "is_target": t})
                                                for t in (none(3, 2).t(), none(2, 3), none(4, 2).t())))

# Not compared, because PyTorch's answer there is not one:
#   embedding_dense_backward scaled by frequency, an index that is no row: it writes beyond its counts; here an error
#   multi_margin_loss with a weight, _embedding_bag with indices that are not packed: it reads them as if they were
#   multi_margin_loss, multilabel_margin_loss of no rows: it answers with what lay in memory
