"""gradients.py -- tests of the gradients of one program: against PyTorch's, and against finite differences.

Steps and tolerances of finite differences are those of torch.autograd.gradcheck in its fast mode: each gradient in a
random direction.  Where PyTorch's own gradients do not agree with finite differences either, as at the corners of a
function, nothing is said."""

from compare import dispatchd, flat_tensors, torch
from cases.inputs import copy
from joint import joint
from replay import Unsupported, recorded
from torch.utils._pytree import tree_flatten

KINDS = ("grad", "gradcheck", "gradgrad", "gradgradcheck", "joint")
NARROW = (torch.float32, torch.complex64, torch.float16, torch.bfloat16)
EPS, ATOL, RTOL = 1e-6, 1e-5, 1e-3
DRAW = torch.Generator()


def random_like(t):
    return torch.rand(t.shape, dtype=t.dtype, generator=DRAW)


def direction(t):
    u = random_like(t)
    return u / u.norm() if u.numel() else u


def moved(t, u, by):
    """t + by * u, with the strides of t where its elements have memory of their own."""
    t = t.detach()
    try:
        return copy(t).add_(u, alpha=by)
    except RuntimeError:
        return t + by * u


def inner(a, b):
    """The real inner product of two lists; None counts as zeros."""
    return sum(((x.conj() * y).real.sum().item() for x, y in zip(a, b) if x is not None and y is not None), 0.0)


def size(tensors):
    return sum(t.abs().sum().item() for t in tensors)


def near(analytic, numeric, scale):
    return abs(analytic - numeric) <= ATOL * max(scale, 1) + RTOL * abs(numeric)


class Program:
    """What a function computes in PyTorch of `given`, its gradients and theirs.

    record: the calls and the outputs of a function."""

    def __init__(self, function, given, record=recorded):
        self.function = function
        found = {id(t): t for t in tree_flatten(given)[0] if torch.is_tensor(t) and t.requires_grad and t.layout is torch.strided}
        # A view made without history has neither a function nor a gradient of its own; steps are too small for float32.
        self.inputs = [t for t in found.values() if (t.grad_fn is not None or not t._is_view()) and t.dtype not in NARROW]
        self.calls, self.outs = record(function)
        self.seeds = [random_like(t).requires_grad_() for t in self.outs]
        self.second, self.refused = None, False  # refused: PyTorch has no gradients of it
        narrow = any(t.dtype in NARROW for t in [*flat_tensors([a for steps, _ in self.calls for _, a, _ in steps]), *found.values()])
        self.tolerance = {"rtol": 1e-5, "atol": 1e-5} if narrow else {}  # some steps round to float32

    def gradients(self, create_graph):
        return torch.autograd.grad(self.outs, self.inputs, self.seeds, create_graph=create_graph, allow_unused=True)

    def gradients_of(self, grads):
        """Second gradients, of `grads` in directions that stay: of the inputs, then of the seeds."""
        self.second = [None if g is None else random_like(g) for g in (self.inputs if self.refused else grads)]
        if self.refused:
            return None
        pairs = [(g, w) for g, w in zip(grads, self.second) if g is not None and g.requires_grad]
        if not pairs:
            return None
        return torch.autograd.grad([g for g, _ in pairs], self.inputs + self.seeds, [w for _, w in pairs], allow_unused=True)

    def at(self, points, create_graph=False):
        """What PyTorch answers where the inputs and the seeds have the values `points`: outputs, or gradients."""
        kept = [t.detach().clone() for t in self.inputs]
        with torch.no_grad():
            for t, p in zip(self.inputs, points):
                t.copy_(p)
        try:
            outs = [t for t in tree_flatten(self.function())[0] if torch.is_tensor(t) and t.requires_grad]
            if not create_graph:
                return [t.detach() for t in outs]
            return torch.autograd.grad(outs, self.inputs, points[len(self.inputs):], allow_unused=True)
        finally:
            with torch.no_grad():
                for t, k in zip(self.inputs, kept):
                    t.copy_(k)


class Checks:
    def __init__(self, replay, program, wants_second):
        self.replay, self.program, self.wants_second = replay, program, wants_second
        self.want = None if program.refused else program.gradients(wants_second)
        self.values = [t.detach() for t in program.inputs]
        outs, self.given = replay.run(program.calls, program.inputs, self.values, program.outs)
        self.seeds = [replay.put(s, True) for s in program.seeds]
        self.grads = replay.backward(outs, self.seeds, self.given, wants_second)
        self.got = [replay.value(g) for g in self.grads]

    def agree(self, got, want, names):
        for name, g, w in zip(names, got, want):
            if g is None and w is None:
                continue
            g, w = (torch.zeros_like(w) if g is None else g), (torch.zeros_like(g) if w is None else w.detach())
            try:
                torch.testing.assert_close(g, w.resolve_conj().resolve_neg().contiguous(), equal_nan=True, **self.program.tolerance)
            except AssertionError as e:
                at = (g - w).abs().nan_to_num(float("inf")).argmax() if g.shape == w.shape and g.numel() else None
                values = f" {g.flatten()[at].item()!r}, PyTorch has {w.flatten()[at].item()!r}:" if at is not None else ""
                return f"gradient of {name}:{values} {' '.join(str(e).split())[:150]}"
        return None

    def names(self):
        return [f"input {i}" for i in range(len(self.given))] + [f"seed {i}" for i in range(len(self.seeds))]

    def grad(self):
        return self.agree(self.got, self.want, self.names())

    def outputs(self, points):
        handles, _ = self.replay.run(self.program.calls, self.program.inputs, points, self.program.outs)
        return [self.replay.value(h) for h in handles]

    def gradients(self, points):
        n = len(self.values)
        handles, given = self.replay.run(self.program.calls, self.program.inputs, points[:n], self.program.outs)
        grads = self.replay.backward(handles, [self.replay.put(p) for p in points[n:]], given)
        return [self.replay.value(g) for g in grads]

    def difference(self, function, points, directions, weights):
        """The slope of <function(points), weights> in these directions."""
        ends = [function([moved(p, u, by) if u is not None else p for p, u in zip(points, directions)]) for by in (EPS, -EPS)]
        return (inner(ends[0], weights) - inner(ends[1], weights)) / (2 * EPS)

    def gradcheck(self):
        seeds = [s.detach() for s in self.program.seeds]
        for i, value in enumerate(self.values):
            u = direction(value)
            directions = [u if j == i else None for j in range(len(self.values))]
            numeric = self.difference(self.outputs, self.values, directions, seeds)
            analytic, scale = inner([self.got[i]], [u]), size([u]) * size(seeds)
            if near(analytic, numeric, scale):
                continue
            found = f"gradient of input {i}: {analytic!r}, finite difference {numeric!r}"
            if self.want is None:
                return found
            theirs = self.difference(self.program.at, self.values, directions, seeds)
            if near(inner([self.want[i]], [u]), theirs, scale):
                return f"{found}; PyTorch has {inner([self.want[i]], [u])!r} and {theirs!r}"
        return None

    def of_gradients(self):
        """None where PyTorch has no second gradients; else (ours, PyTorch's)."""
        want = self.program.gradients_of(self.want)
        if want is None and self.want is not None:
            return None
        some = [(g, self.replay.put(w)) for g, w in zip(self.grads, self.program.second)
                if g is not None and w is not None and self.replay.client.call("tensor.describe", tensor=g)["requires_grad"]]
        handles = self.given + self.seeds
        got = self.replay.backward([g for g, _ in some], [w for _, w in some], handles) if some else [None] * len(handles)
        return [self.replay.value(g) for g in got], want

    def gradgradcheck(self, got, want):
        points = self.values + [s.detach() for s in self.program.seeds]
        directions = [direction(p) for p in points]
        numeric = self.difference(self.gradients, points, directions, self.program.second)
        analytic = inner(got, directions)
        scale = size(directions) * size(w for w in self.program.second if w is not None)
        if near(analytic, numeric, scale):
            return None
        found = f"gradient of gradients: {analytic!r}, finite difference {numeric!r}"
        if want is None:
            return found
        theirs = self.difference(lambda p: self.program.at(p, True), points, directions, self.program.second)
        if near(inner(want, directions), theirs, scale):
            return f"{found}; PyTorch has {inner(want, directions)!r} and {theirs!r}"
        return None


def made(*given, alone=False, **more):
    """The Program; None where PyTorch refuses it, the generator decides, or there is nothing to differentiate.

    alone: differentiate it also where PyTorch cannot."""
    try:
        program = Program(*given, **more)
        if not program.outs or not program.inputs:
            return None
    except Exception:
        return None
    try:
        program.gradients(True)
    except Exception:
        program.refused = True
        return program if alone else None
    return program


def tests_of(replay, program, second):
    """Yield (kind, None or why not) of each test of a program; second: has it second gradients?"""
    kind = "grad"
    try:
        checks = Checks(replay, program, second)
        if not program.refused:
            yield kind, checks.grad()
        if second:
            kind = "gradgrad"
            try:
                both = checks.of_gradients()
            except RuntimeError as e:
                if isinstance(e, dispatchd.Error):
                    raise
                both = None
            if both is not None:
                if not program.refused:
                    yield kind, checks.agree(*both, checks.names())
                kind = "gradgradcheck"
                yield kind, checks.gradgradcheck(*both)
        kind = "gradcheck"
        yield kind, checks.gradcheck()
        kind = "joint"
        yield kind, joint(replay, program)
    except (dispatchd.Error, Unsupported) as e:
        yield kind, f"{type(e).__name__}: {e}"
    finally:
        replay.end()
