"""nn_cases.py -- for test_ops.py: cases of normalisation, losses, distances, recurrent cells and attention.

Tensors come from make(), which test_ops gives, so that all cases share its random values."""

import itertools
import torch

f32, f64, i64, i32, u8, bf16 = torch.float32, torch.float64, torch.int64, torch.int32, torch.uint8, torch.bfloat16
nan, inf = float("nan"), float("inf")


def targets(*shape, classes=5, ignored=None):
    t = torch.randint(0, classes, shape)
    if ignored is not None and t.numel():
        t.view(-1)[0] = ignored
    return t


def cases(make):
    """{operator: function that yields (arguments, keyword arguments)}"""
    out = {}

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
        out[name + "_forward"] = out[name] = forward
        out[name + "_backward"] = backward
        out[name + "_forward.output"] = lambda f=forward: (
            (a, {"output": torch.zeros(0, dtype=a[0].dtype), "total_weight": torch.zeros(0, dtype=a[0].dtype)}) for a, _ in itertools.islice(f(), 40))
        out[name + ".out"] = lambda f=forward: ((a, {"out": torch.zeros(0, dtype=e)}) for a, _ in itertools.islice(f(), 20) for e in (f32, f64) if a[1].numel())
        out[name + "_backward.grad_input"] = lambda f=backward: (
            (a, {"grad_input": torch.zeros(s, dtype=a[1].dtype)}) for a, _ in itertools.islice(f(), 30) for s in ((0,), a[1].shape))

    many = [*rows[:6], *pixels[:4], ((2, 5, 7), (2, 7)), ((2, 5, 2, 3, 2), (2, 2, 3, 2)), ((2, 5, 7), (2, 6)), ((0, 5, 7), (0, 7))]
    out["nll_loss_nd"] = lambda: (((make(d, *x), targets(*t, ignored=-100), *w), {}) for d in (f32, f64) for x, t in many
                                  for w in ((), (None, 0), (make(d, 5, low=0), 2), (make(d, 5, low=0), 1)))

    def entropy():
        yield from ((a, {"label_smoothing": s}) for a, _ in out["nll_loss_nd"]() for s in (0, 0.1, 1.5) if a[0].dim())
        for x in ((3, 5), (5,), (2, 5, 3), (0, 5), (3, 0)):
            for w, r, s in itertools.product((None, make(f32, 5, low=0)), (0, 1, 2), (0, 0.1, 1.5)):
                yield (make(f32, *x), make(f32, *x, low=0), w, r), {"label_smoothing": s}
        yield (make(f32, 3, 5), targets(3, 5)), {}
        yield (make(f32, 3, 5), make(f32, 3, 5), None, 1, 2), {}

    out["cross_entropy_loss"] = entropy

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

    aten = torch.ops.aten
    out["multi_margin_loss"] = margins
    out["multi_margin_loss.out"] = lambda: ((a, {"out": torch.zeros(0, dtype=a[0].dtype)}) for a, _ in itertools.islice(margins(), 60))
    out["multi_margin_loss_backward"] = lambda: (((g, *a), {}) for g, a, _ in with_grad(margins, aten.multi_margin_loss))
    out["multi_margin_loss_backward.grad_input"] = lambda: ((a, {"grad_input": torch.zeros(0, dtype=a[1].dtype)}) for a, _ in out["multi_margin_loss_backward"]())
    out["multilabel_margin_loss"] = out["multilabel_margin_loss_forward"] = labels
    out["multilabel_margin_loss.out"] = lambda: ((a, {"out": torch.zeros(0, dtype=a[0].dtype)}) for a, _ in labels())
    out["multilabel_margin_loss_forward.output"] = lambda: ((a, {"output": torch.zeros(0, dtype=a[0].dtype), "is_target": torch.zeros(0, dtype=a[0].dtype)}) for a, _ in labels())
    out["multilabel_margin_loss_backward"] = lambda: (((g, *a, *m), {}) for g, a, m in with_grad(labels, aten.multilabel_margin_loss_forward))
    out["multilabel_margin_loss_backward.grad_input"] = lambda: (
        (a, {"grad_input": torch.zeros(0, dtype=a[1].dtype)}) for a, _ in out["multilabel_margin_loss_backward"]())

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

    out["ctc_loss.IntList"] = lambda: (((*a, b, r, z), {}) for a in sequences() for b in (0, 4) for r in (0, 1, 2) for z in (False, True) if a[0].dim() == 3)
    out["ctc_loss.Tensor"] = lambda: (((x, y, torch.tensor(l), torch.tensor(s), *o), {}) for (x, y, l, s, *o), _ in out["ctc_loss.IntList"]())
    # The others leave some of log alpha as what lay in memory.
    whole = lambda: ((make(d, 6, 3, 5).log_softmax(-1), torch.tensor([[1, 2, 2], [3, 3, 0], [4, 1, 2]]), [6, 6, 6], [3, 3, 3]) for d in (f32, f64))
    out["_ctc_loss"] = lambda: (((*a, b), {}) for a in whole() for b in (0, 4, 5, -1))
    out["_ctc_loss.Tensor"] = lambda: (((x, y, torch.tensor(l), torch.tensor(s)), {}) for x, y, l, s in whole())
    out["_ctc_loss.out"] = lambda: ((a, {"out0": torch.zeros(0, dtype=a[0].dtype), "out1": torch.zeros(0, dtype=a[0].dtype)}) for a, _ in out["_ctc_loss"]())

    def ctc_backward():
        for x, y, l, s in sequences():
            for b, z in ((0, False), (0, True)):
                try:
                    loss, alpha = aten._ctc_loss(x, y, l, s, b, z)
                except RuntimeError:
                    continue
                yield (make(x.dtype, 3), x, y, l, s, loss, alpha, b, z), {}

    out["_ctc_loss_backward"] = ctc_backward
    out["_ctc_loss_backward.Tensor"] = lambda: (((g, x, y, torch.tensor(l), torch.tensor(s), *o), {}) for (g, x, y, l, s, *o), _ in ctc_backward())
    out["_ctc_loss_backward.out"] = lambda: ((a, {"out": torch.zeros(0, dtype=a[1].dtype)}) for a, _ in ctc_backward())

    slices = lambda: (((make(d, *s), p, dim, m), {}) for d in (f32, f64, i64, bf16, torch.complex64) for s in ((3, 4), (2, 3, 4), (3,), (0, 4)) for p in (2, 1, 0.5, inf, 0)
                      for dim in (0, -1, 2) for m in (1, 0.5, -1) if not (d is bf16 and p == 0.5))
    out["renorm"] = out["renorm_"] = slices
    out["renorm.out"] = lambda: ((a, {"out": torch.zeros(0, dtype=a[0].dtype)}) for a, _ in slices())

    # -- distances, and losses of them --

    def two(*dtypes, shapes=(((3, 4), (3, 4)), ((3, 4), (4,)), ((4,), (4,)), ((), ()), ((2, 3, 4), (3, 1)), ((0, 4), (0, 4)), ((3, 4), (3, 5)))):
        return ((make(d, *a), make(e, *b)) for d in dtypes for e in ({d, i64} if i64 in dtypes else {d}) for a, b in shapes)

    out["dist"] = lambda: (((x, y, p), {}) for x, y in two(f32, f64, i64) for p in (2, 1, 0, inf, 0.5, 3))
    out["dist.out"] = lambda: ((a, {"out": torch.zeros(0, dtype=a[0].dtype)}) for a, _ in out["dist"]() if a[0].dtype is a[1].dtype)
    out["pairwise_distance"] = lambda: (((x, y, *o), {}) for x, y in two(f32, f64, i64) for o in ((), (1.0,), (inf, 0.1), (0.5, 0.1, True), (2.0, 1e-6, True)))
    out["cosine_similarity"] = lambda: (((x, y, *o), {}) for x, y in two(f32, f64, i64, bf16) for o in ((), (0,), (-1, 0.5), (2,)))

    def matrices(p2=True):
        for d in (f32, f64, bf16, i64):
            for x, y in (((3, 4), (5, 4)), ((2, 3, 4), (2, 5, 4)), ((2, 3, 4), (5, 4)), ((2, 1, 3, 4), (6, 5, 4)), ((0, 4), (5, 4)), ((3, 0), (5, 0)),
                         ((0, 3, 4), (0, 5, 4)), ((3, 4), (5, 3)), ((4,), (5, 4)), ((30, 4), (3, 4)), ((2, 3, 4), (3, 5, 4))):
                yield make(d, *x), make(d, *y)
        yield make(f32, 4, 3).t(), make(f32, 5, 4)
        yield make(f32, 3, 4), make(f64, 5, 4)
        yield torch.tensor([[nan, 1.0], [inf, 2]]), make(f32, 2, 2)

    powers = 0.0, 1.0, 2.0, inf, 0.5, 1.5, 3.0
    out["_cdist_forward"] = out["cdist"] = lambda: (((x, y, p, m), {}) for x, y in matrices() for p in (*powers, -1.0) for m in ((None, 1, 2, 3) if p == 2 else (None,))
                                                    if x.dtype is y.dtype and not (p == 2 and (x.isnan().any() or x.dtype is bf16)))
    out["_cdist_forward.out"] = lambda: ((a, {"out": torch.zeros(0, dtype=a[0].dtype)}) for a, _ in itertools.islice(out["_cdist_forward"](), 60))
    out["_euclidean_dist"] = lambda: (((x, y), {}) for x, y in matrices() if x.dtype in (f32, f64) and x.dtype is y.dtype and not x.isnan().any() and x.dim() > 1)
    out["_euclidean_dist.out"] = lambda: ((a, {"out": torch.zeros(0, dtype=a[0].dtype)}) for a, _ in out["_euclidean_dist"]())

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

    out["_cdist_backward"] = cdist_backward
    out["_cdist_backward.out"] = lambda: ((a, {"out": torch.zeros(0, dtype=a[1].dtype)}) for a, _ in itertools.islice(cdist_backward(), 30))
    singles = lambda: (make(d, *s) for d in (f32, f64, i64, bf16) for s in ((4, 3), (1, 3), (0, 3), (4, 0), (3,), (2, 3, 4), (9, 17)))
    out["pdist"] = lambda: (((x, p), {}) for x in (*singles(), make(f32, 3, 4).t()) for p in (*powers, -1.0))
    out["_pdist_forward"] = lambda: (((x, p), {}) for x in (*singles(), make(f32, 3, 4).t()) for p in powers if x.dim() == 2)
    out["_pdist_forward.out"] = lambda: ((a, {"out": torch.zeros(0, dtype=a[0].dtype)}) for a, _ in itertools.islice(out["_pdist_forward"](), 20))

    def pdist_backward():
        for (x, p), _ in out["_pdist_forward"]():
            if x.dtype in (f32, f64) and x.is_contiguous():
                x = torch.cat([x, x[:1]])
                dist = torch.pdist(x, p)
                yield (make(x.dtype, *dist.shape), x, p, dist), {}

    out["_pdist_backward"] = pdist_backward
    out["_pdist_backward.out"] = lambda: ((a, {"out": torch.zeros(0, dtype=a[1].dtype)}) for a, _ in itertools.islice(pdist_backward(), 20))

    signs = lambda *shape: torch.randint(0, 2, shape) * 2 - 1
    out["cosine_embedding_loss"] = lambda: (((make(d, *s), make(d, *s), t, m, r), {}) for d in (f32, f64, i64) for s, t in (
        ((3, 4), signs(3)), ((4,), signs()), ((3, 4), signs()), ((4,), signs(4)), ((3, 4), signs(3, 4)), ((0, 4), signs(0))) for m in (0, 0.5) for r in (0, 1, 2))
    out["hinge_embedding_loss"] = lambda: (((make(d, *s), signs(*s), m, r), {}) for d in (f32, f64, bf16) for s in ((3, 4), (), (0,)) for m in (1, 0.5) for r in (0, 1, 2))
    out["margin_ranking_loss"] = lambda: (((x, y, signs(*x.shape), m, r), {}) for x, y in two(f32, f64, i64) for m in (0, 0.5) for r in (0, 1, 2))
    out["triplet_margin_loss"] = lambda: (((make(d, *s), make(d, *s), make(d, *t)), {"reduction": r, **k}) for d in (f32, f64) for s, t in (
        ((3, 4), (3, 4)), ((4,), (4,)), ((3, 4), (4,)), ((0, 4), (0, 4))) for r in (0, 1, 2) for k in ({}, {"swap": True, "margin": 0.5}, {"p": 1.0, "eps": 0.1}))
    out["kl_div"] = lambda: (((x, y, r), {"log_target": t}) for x, y in two(f32, f64, i64) for r in (0, 1, 2) for t in (False, True))
    out["poisson_nll_loss"] = lambda: (((x, y, l, f, 0.1, r), {}) for x, y in two(f32, f64) for l in (False, True) for f in (False, True) for r in (0, 1, 2))
    return out
