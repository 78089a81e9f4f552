"""programs.py -- a Python function as one program of the daemon: recorded by its first call, then one request a call."""

from __future__ import annotations

import functools
import json
import re
from typing import Any, Callable

from .api import call_named, known
from .connection import Cell, Connection, current
from .encode import connection_of
from .errors import Error
from .tensors import Tensor, make

_NUMBER = re.compile(r"(int|SymInt|Scalar|float)(\[\d+\])?\??$")  # types of arguments that one int fits
_HANDLE = re.compile(r'\{"tensor":(-?\d+)\}')


class Recording:
    """The requests of one call of a function, as steps of a program."""

    def __init__(self, c: Connection, arguments: list[Tensor]) -> None:
        self.c = c
        self.requests: list[tuple[str, str, int, Cell]] = []  # method, params, `into`, cell
        self.names: dict[int, str] = {t._h: f"arg{i}" for i, t in enumerate(arguments)}
        self.captured: dict[int, str] = {}
        self.kept: list[Tensor] = []  # tensors that the function used besides its arguments
        self.paused = False  # are requests left out?
        self.grad_enabled = _grad_enabled(c)
        self._steps: list[str] = []
        self._backwards: list[_Backward] = []  # calls of backward() that add to leaves
        self._zeroed: dict[int, int] = {}  # handle of a leaf -> how many of them came before its last zero_grad()
        self._added: set[int] = set()  # leaves whose gradients were read, and never removed

    def add(self, method: str, params: str, into: int, cell: Cell) -> None:
        """Note a request; refuse one that a program cannot make."""
        if self.paused or method == "tensor.describe":
            return
        if method not in ("op.call", "grad.backward", "grad.get", "grad.zero", "session.set", "tensor.create"):
            raise RuntimeError(f"a function that becomes a program cannot use {method}: it may call operators, backward() and "
                               "optimizers, and read shapes; values can be read from what it returns")
        if method == "session.set" and set(json.loads("{" + params + "}")) != {"grad_enabled"}:
            raise RuntimeError(f"a function that becomes a program cannot change the session ({params}): do that before it "
                               "is called")
        self.requests.append((method, params, into, cell))

    def _refs(self, text: str) -> str:
        def one(match: re.Match[str]) -> str:
            handle = int(match[1])
            name = self.names.get(handle)
            if name is None:
                name = self.captured.setdefault(handle, f"kept{len(self.captured)}")
            return f'{{"ref":"{name}"}}'
        return _HANDLE.sub(one, text)

    def steps(self) -> list[str]:
        """Return the steps as JSON."""
        mode = ""
        for n, (method, params, into, cell) in enumerate(self.requests):
            given = json.loads("{" + params + "}") if method != "op.call" else {}
            if method == "session.set":
                on = given["grad_enabled"]
                mode = "" if on == self.grad_enabled else f',"grad_enabled":{"true" if on else "false"}'
            elif method == "op.call":
                self._steps.append(self._step(n, params, into, cell, mode))
            elif method == "grad.backward":
                b = _Backward(n, len(self._steps), given, mode)
                self._steps.append("")
                if "inputs" not in given:
                    self._backwards.append(b)
                for leaf, g in zip(given.get("inputs", ()), _result(cell).get("grads", ())):
                    self._want(b, leaf, g)
            elif method == "grad.zero":
                self._zeroed.update(dict.fromkeys(given["tensors"], len(self._backwards)))
                self._added.difference_update(given["tensors"])
            elif method == "grad.get":
                self._gradient(given["tensor"], _result(cell)["grad"])
        if self._added:
            raise RuntimeError("a function that becomes a program uses gradients to which the next call would add: call "
                               "zero_grad() in it")
        return [re.sub(r',"_":""', "", s) for s in self._steps if s]

    def _want(self, b: "_Backward", leaf: Any, g: Any) -> None:
        """Let the step of a backward() compute the gradient `g` of `leaf`."""
        if not isinstance(g, dict):  # the tensors do not depend on it
            return
        ref = self._refs(_compact(leaf))
        if ref not in b.inputs:  # the gradient that clipping has changed is the one that the optimizer reads
            b.inputs.append(ref)
        self.names[g["tensor"]] = f'g{b.n}","index":{b.inputs.index(ref)},"_":"'
        more = f',{self._refs(_compact(b.gradients))}' if b.gradients else ""
        self._steps[b.at] = (f'{{"op":"grad::gradients","args":[{self._refs(_compact(b.tensors))},[{",".join(b.inputs)}]{more}],'
                             f'"kwargs":{_compact(b.flags)},"as":["g{b.n}"]{b.mode}}}')

    def _gradient(self, leaf: int, g: Any) -> None:
        """The function reads the gradient of `leaf`: it is that of the one backward() since zero_grad()."""
        if not self._backwards:
            raise RuntimeError("a function that becomes a program reads a gradient that it has not computed: call backward() "
                               "in it")
        count = len(self._backwards) - self._zeroed.get(leaf, 0)
        if count > 1 and isinstance(g, dict):
            raise RuntimeError(f"a function that becomes a program reads the sum of the gradients of {count} calls of "
                               "backward(): add the losses instead, or call zero_grad() between them")
        if leaf not in self._zeroed:
            self._added.add(leaf)
        self._want(self._backwards[-1], {"tensor": leaf}, g)

    def _step(self, n: int, params: str, into: int, cell: Cell, mode: str) -> str:
        text = self._refs(_joined(re.sub(r',"into":-?\d+', "", params)))
        names: list[str | None] = []
        for i, output in enumerate(_result(cell)["outputs"]):
            name: str | None = f"v{n}" if i == 0 else f"v{n}_{i}"
            if isinstance(output, dict) and output.get("tensor", 0) in self.names:
                name = None  # an argument that the operator has written
            elif isinstance(output, dict) and "tensor" in output:
                self.names[output["tensor"]] = str(name)
            elif isinstance(output, list):
                for k, t in enumerate(output):
                    if isinstance(t, dict) and "tensor" in t:
                        self.names[t["tensor"]] = f'{name}","index":{k},"_":"'
            names.append(name)
        return f'{{{text},"as":{json.dumps(names)}{mode}}}'


class _Backward:
    """A call of backward() or grad() as a step: its number, the index of its step, and its arguments."""

    def __init__(self, n: int, at: int, given: dict[str, Any], mode: str) -> None:
        self.n, self.at, self.mode = n, at, mode
        self.tensors, self.gradients = given["tensors"], given.get("gradients")
        self.flags = {k: given[k] for k in ("retain_graph", "create_graph") if k in given}
        self.inputs: list[str] = []


def _joined(params: str) -> str:
    """Return the params of op.call with its last numbers as one list, if the operator takes them so: op.call takes the
    sizes in view(x, 2, 3) one by one, and a program does not."""
    given = json.loads("{" + params + "}")
    args, (base, _, overload) = given["args"], given["op"].removeprefix("aten::").partition(".")
    operator = known(base)
    lists = [[a.type for a in s.arguments if not a.keyword]
             for s in (operator.schemas if operator else ()) if overload in ("", s.name.partition(".")[2])]
    for types in lists:
        at = len(types) - 1
        if (types[-1:] in (["int[]"], ["SymInt[]"]) and len(args) > at and all(type(a) is int for a in args[at:])
                and not any(len(other) >= len(args) and _NUMBER.match(other[at]) for other in lists)):
            given["args"] = [*args[:at], args[at:]]
            return _compact(given)[1:-1]
    return params


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _grad_enabled(c: Connection) -> bool:
    return c.__dict__.get("_modes", {}).get("grad_enabled", True)  # type: ignore[no-any-return]


def _result(cell: Cell) -> dict[str, Any]:
    answer = cell[0]
    if isinstance(answer, bytes):
        return json.loads(answer)["result"]  # type: ignore[no-any-return]
    return {"outputs": [answer]} if isinstance(answer, dict) and "outputs" not in answer else answer


def _captured(c: Connection, handle: int) -> Tensor:
    """Return the tensor of a handle, on whichever connection of the session it was made.  If the recorded function made
    and dropped it, its release still waits, and a new tensor takes the handle."""
    for other in (c, c.session.first(), *list(c.session.members.values())):
        ref = other._alive.get(handle) if other is not None else None
        found: Tensor | None = ref() if ref is not None else None
        if found is not None:
            return found
    return _own(c, handle)


def _kind(value: Any, tensors: list[Tensor]) -> Any:
    """Return what decides which program runs with an argument, and append its tensors to `tensors`."""
    if isinstance(value, Tensor):
        tensors.append(value)
        first = next(i for i, t in enumerate(tensors) if t is value)  # a tensor that is given twice is one input
        return tuple(value._info["shape"]), value._info["dtype"], first
    if isinstance(value, (list, tuple)):
        return type(value), *[_kind(v, tensors) for v in value]
    if isinstance(value, dict):
        return dict, *[(k, _kind(v, tensors)) for k, v in value.items()]
    # 1, 1.0 and True are equal, and so are 0.0 and -0.0, but give other results
    return type(value), repr(value) if isinstance(value, (float, complex)) else value


def _stand_in(t: Tensor) -> Tensor:
    """Return a tensor for an argument while the function is recorded, so that the function's use of the same tensor as a
    variable of its own is told from its use as the argument.  One that requires a gradient stands for itself: an alias of
    it would be no leaf."""
    if t.requires_grad:
        return t
    try:
        made: Tensor = call_named("alias", t)
        made._info
    except Error:  # of a layout that has no views
        return t
    return made


def _replaced(value: Any, others: dict[int, Tensor]) -> Any:
    """Return a value, in lists and dicts too, with other tensors in the place of those whose id() is in `others`."""
    if isinstance(value, Tensor):
        return others.get(id(value), value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[_replaced(v, others) for v in value])
    if type(value) in (list, tuple):
        return type(value)([_replaced(v, others) for v in value])
    if type(value) is dict:
        return {k: _replaced(v, others) for k, v in value.items()}
    return value


def _own(c: Connection, handle: int) -> Tensor:
    """Return a tensor for a handle whose tensor the recorded function made and dropped; its release still waits."""
    for ref in list(c._drops):
        if getattr(ref, "number", ref) == handle:
            c._drops.remove(ref)
    return make(c, handle, [None, 0, None])


class Program:
    """A function that runs as a program of the daemon, one request a call; dispatchd.program() makes it.

    The first call with tensors of new shapes or dtypes runs the function and records its calls; further ones run the
    program.  Numbers and other arguments are part of the program: other values record another one.  So are the options of
    optimizers: a learning rate that changes is a tensor.  Gradients of backward() are values of the program: after the
    first call it leaves none in .grad."""

    def __init__(self, f: Callable[..., Any]) -> None:
        functools.update_wrapper(self, f)
        self._f = f
        self._made: dict[Any, tuple[Connection, int, list[str], list[Tensor], Any]] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tensors: list[Tensor] = []
        kinds = _kind([args, *sorted(kwargs.items())], tensors)
        key = _grad_enabled(connection_of(tensors[0]) if tensors else current()), kinds
        made = self._made.get(key)
        if made is None or made[0].session.closed:
            return self._record(key, args, kwargs, tensors)
        c, number, captured, kept, kind = made
        inputs = ",".join([f'"arg{i}":{t._handle_on(c)}' for i, t in enumerate(tensors)] +
                          [f'"{n}":{t._handle_on(c)}' for n, t in zip(captured, kept)])
        if kind is Tensor:
            c._last_handle = handle = c._last_handle - 1
            cell = c.request("program.run", f'"program":{number},"inputs":{{{inputs}}},"into":{handle}', handle)
            return make(c, handle, cell)
        outputs = c.waited("program.run", f'"program":{number},"inputs":{{{inputs}}}')["outputs"]
        from .tensors import wrap
        found = [wrap(o, c) for o in outputs]
        return None if not found else tuple(found) if kind is tuple else kind(*found)  # or of dispatchd.return_types

    def _record(self, key: Any, args: tuple[Any, ...], kwargs: dict[str, Any], tensors: list[Tensor]) -> Any:
        c = connection_of(tensors[0]) if tensors else current()
        if c._recording is not None:  # within another program this function is a part of it
            return self._f(*args, **kwargs)
        c.raise_failed()
        depth, c.pipelined = c.pipelined, 0
        try:
            stand_ins = {id(t): _stand_in(t) for t in tensors}
            recording = c._recording = Recording(c, [stand_ins[id(t)] for t in tensors])
            result = self._f(*_replaced(args, stand_ins), **_replaced(kwargs, stand_ins))
        finally:
            c._recording = None
            c.pipelined = depth
        results = result if isinstance(result, tuple) else () if result is None else (result,)
        if not all(isinstance(r, Tensor) for r in results):
            raise TypeError(f"a function that becomes a program returns tensors, got {[type(r).__name__ for r in results]}")
        steps = recording.steps()
        outputs = [json.loads(re.sub(r',"_":""', "", recording._refs(f'{{"tensor":{r._h}}}'))) for r in results]
        for i, o in enumerate(outputs):
            if "index" in o or o["ref"].startswith(("arg", "kept")):
                steps.append(f'{{"op":"aten::alias","args":[{json.dumps(o)}],"as":["out{i}"]}}')
                outputs[i] = {"ref": f"out{i}"}
        kept = [_captured(c, h) for h in recording.captured]
        names = list(recording.captured.values())
        listed = [{"name": f"arg{i}", "type": "Tensor"} for i in range(len(tensors))] + [
            {"name": n, "type": "Tensor"} for n in names]
        number = c.call("program.create", inputs=listed, steps=[json.loads(s) for s in steps],
                        outputs=[o["ref"] for o in outputs])["program"]
        self._made[key] = c, number, names, kept, Tensor if isinstance(result, Tensor) else type(result)
        return _replaced(result, {id(stand_ins[id(t)]): t for t in tensors})

    def text(self) -> str:
        """Return the steps of the programs that were recorded, as text."""
        return "\n".join(c.call("program.describe", program=n, format="text")["text"]
                         for c, n, *_ in self._made.values() if not c.session.closed)

    def __del__(self) -> None:
        for c, number, *_ in getattr(self, "_made", {}).values():
            if not c.session.closed and c.lock.acquire(blocking=False):
                try:
                    if not c._pending and not c._lines and not c._out:
                        c.notify("program.release", program=number)
                except OSError:
                    pass  # the next call says that the daemon is lost
                finally:
                    c.lock.release()


def program(f: Callable[..., Any]) -> Program:
    """Return `f` as a function that runs as one program: a decorator.

    `f` takes tensors and returns tensors; it may call operators, backward() and optimizers, and read shapes, but no
    values.  Tensors that it uses besides its arguments, such as weights, are used as they are at each call."""
    return Program(f)
