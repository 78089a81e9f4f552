"""replay.py -- a computation of PyTorch, recorded as calls of operators and repeated by the daemon.

Recorder notes each function of PyTorch in C++ that a program calls with tensors that require a gradient, also inside
functions in Python.  Replay makes the same calls in the daemon, with other values for the inputs if asked, and
differentiates them there."""

import contextlib
import os
import re
import sys

from compare import RANDOM, Both, flat_tensors, raw, torch
from cases.inputs import DTYPES, storage
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten

NAMES = {s.name[6:] for s in torch._C._jit_get_all_schemas() if s.name.startswith("aten::")}
# Python's names of what operators call otherwise.
CASTS = {"float": torch.float32, "double": torch.float64, "half": torch.float16, "bfloat16": torch.bfloat16,
         "cfloat": torch.complex64, "cdouble": torch.complex128}
NOT_RANDOM = ("poisson_nll_loss",)
RENAMED = {"T": "numpy_T", "H": "matrix_H", "data": "detach", "__radd__": "add", "__rmul__": "mul"}


class Unsupported(Exception):
    """A call that the daemon has no operator for, or that the generator decides."""


@contextlib.contextmanager
def python_inside():
    """Python functions run as if nobody overrode them, so that the mode sees what they call."""
    changed = []
    for module in [m for n, m in sys.modules.items() if n == "torch" or n.startswith("torch.")]:
        for name in ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic"):
            if callable(vars(module).get(name)) and module is not torch.overrides and module is not torch._C:
                changed.append((module, name, vars(module)[name]))
                setattr(module, name, lambda *_: False)
    try:
        yield
    finally:
        for module, name, old in changed:
            setattr(module, name, old)


def indexed(key, ndim):
    """The calls of x[key]: (operator, arguments after the tensor) of each."""
    keys, steps, dim, tensors = list(key) if isinstance(key, tuple) else [key], [], 0, {}
    used = sum(k.ndim if torch.is_tensor(k) and k.dtype == torch.bool else k is not None and k is not Ellipsis for k in keys)
    for k in keys:
        if k is None:
            steps.append(("unsqueeze", [dim]))
            dim += 1
        elif k is Ellipsis:
            dim += ndim - used
        elif isinstance(k, slice):
            steps.append(("slice.Tensor", [dim, k.start, k.stop, 1 if k.step is None else k.step]))
            dim += 1
        elif isinstance(k, int) and not isinstance(k, bool):
            steps.append(("select.int", [dim, k]))
        elif torch.is_tensor(k) or isinstance(k, (list, range)):
            tensors[dim] = k if torch.is_tensor(k) else torch.tensor(k)
            dim += tensors[dim].ndim if tensors[dim].dtype == torch.bool else 1
        else:
            raise Unsupported(f"x[{k!r}]")
    if tensors:
        steps.append(("index.Tensor", [[tensors.get(d) for d in range(max(tensors) + 1)]]))
    return steps


class Recorder(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.calls = []  # (steps, outputs): a step is (operator, arguments, keyword arguments), without what the last returned

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs, name = kwargs or {}, getattr(function, "__name__", "")
        if hasattr(function, "__code__"):
            with self:
                return function(*args, **kwargs)
        given = args
        if name.endswith("_") and not name.endswith("__") and not args[0].requires_grad:  # its value before the call
            given = [args[0].detach().clone(), *args[1:]]
        out = function(*args, **kwargs)
        outs = tree_flatten(out)[0]
        if any(torch.is_tensor(t) and t.requires_grad for t in outs) and name not in ("requires_grad_", "__set__"):
            self.calls.append((self.steps(name, function, given, kwargs), outs))
        return out  # without a gradient, it is a constant: replayed as its value

    @staticmethod
    def steps(name, function, args, kwargs):
        if name == "__get__":
            name = function.__self__.__name__
        if name == "__getitem__":
            return [("alias", args[:1], {})] + [(n, a, {}) for n, a in indexed(args[1], args[0].ndim)]
        if name in CASTS:
            return [("to.dtype", [args[0], CASTS[name]], {})]
        name = RENAMED.get(name, name)
        name = next((n for n in (name, name.strip("_")) if n.partition(".")[0] in NAMES), None)
        if name is None or RANDOM.match(name) and name not in NOT_RANDOM or kwargs.get("dropout_p"):
            raise Unsupported(name or function.__name__)
        return [(name, args, kwargs)]


def recorded(function):
    """(calls, outputs of `function` that have a gradient)"""
    with python_inside(), Recorder() as recorder:
        out = function()
    outs = [t for t in tree_flatten(out)[0] if torch.is_tensor(t) and t.requires_grad]
    known = {id(t) for _, results in recorder.calls for t in results}
    if any(t.layout is not torch.strided or t.dtype not in DTYPES for t in flat_tensors([[results, *[a for _, a, _ in steps]] for steps, results in recorder.calls])):
        raise Unsupported("a layout or a dtype that no request carries")
    if any(id(t) not in known for t in outs):
        raise Unsupported("an output that no call returned")
    return recorder.calls, outs


class Replay(Both):
    """The daemon's side of a program; `sent` has the handles of its tensors."""

    def put(self, tensor, requires_grad=False):
        """A handle of a copy of `tensor`, with its strides."""
        tensor = tensor.detach().resolve_conj().resolve_neg()
        made = self.client.call("tensor.create", dtype=DTYPES[tensor.dtype], shape=list(tensor.shape), strides=list(tensor.stride()),
                                storage_offset=tensor.storage_offset(), attachment=raw(storage(tensor)))["tensor"]
        if requires_grad:
            self.client.call("op.call", op="aten::requires_grad_", args=[{"tensor": made}])
        return made

    def encode(self, v):
        if not torch.is_tensor(v):
            return super().encode(v)
        if id(v) not in self.sent:
            self.sent[id(v)] = self.put(v), v
        return {"tensor": self.sent[id(v)][0]}

    def run(self, calls, inputs, values, outs):
        """Handles of `outs` where the tensors `inputs` of the program have `values`, and of the inputs."""
        given = [self.put(v, True) for v in values]
        self.sent = {id(t): (h, t) for t, h in zip(inputs, given)}
        return self.repeat(calls, outs), given

    def repeat(self, calls, outs):
        """Handles of `outs`; `sent` has the inputs."""
        for steps, results in calls:
            flat = []
            for name, args, kwargs in steps:
                sent = flat + [self.encode(a) for a in args], {k: self.encode(a) for k, a in kwargs.items()}
                outputs = self.client.call("op.call", op="aten::" + name, args=sent[0], kwargs=sent[1])["outputs"]
                flat = [x for o in outputs for x in (o if isinstance(o, list) else [o])]
                flat = [{"tensor": x["tensor"]} if isinstance(x, dict) and "tensor" in x else x for x in flat]
            if len(flat) != len(results):
                raise Unsupported(f"{name}: {len(flat)} outputs, want {len(results)}")
            for mine, theirs in zip(flat, results):
                if torch.is_tensor(theirs):
                    self.sent[id(theirs)] = mine["tensor"], theirs
        return [self.sent[id(t)][0] for t in outs]

    def backward(self, outs, gradients, inputs, create_graph=False):
        """Handles of the gradients of `inputs`; None where there is none, or (create_graph) it is constant."""
        answer = self.client.call("grad.backward", tensors=[{"tensor": t} for t in outs], gradients=[{"tensor": g} for g in gradients],
                                  inputs=[{"tensor": t} for t in inputs], create_graph=create_graph)["grads"]
        return [g and g["tensor"] for g in answer]

    def value(self, handle):
        return None if handle is None else self.read(handle)[0]

    def end(self):
        self.client.call("tensor.release", all=True)
        self.sent = {}
