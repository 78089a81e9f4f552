"""programs.py -- a Python function as one program of the daemon: recorded by its first call, then one request a call."""

from __future__ import annotations

import functools
import json
import re
from typing import Any, Callable

from . import autograd
from .api import call_named, known
from .connection import Cell, Connection
from .defaults import current
from .encode import connection_of, encode
from .tensors import Tensor, make

_NUMBER = re.compile(r"(int|SymInt|Scalar|float)(\[\d+\])?\??$")  # types of arguments that one int fits
_HANDLE = re.compile(r'\{"tensor":(-?\d+)\}')
_STAND_INS = -(1 << 52)  # handles of stand-ins, far from those of tensors
# methods that are called while a function is recorded and that are no part of the program: they ask, or make constants
_ASIDE = ("tensor.create", "generator.create", "generator.state", "map.release", "plugin.list", "program.", "registry.", "server.")


class not_recorded:
    """Leave calls on a connection out of the program, inside `with not_recorded(c):`, while a function is recorded."""

    def __init__(self, c: Connection) -> None:
        self._recording: Recording | None = c._recording

    def __enter__(self) -> None:
        if self._recording is not None:
            self._before, self._recording.paused = self._recording.paused, True

    def __exit__(self, *exc: object) -> None:
        if self._recording is not None:
            self._recording.paused = self._before


class Recording:
    """The requests of one call of a function, as steps of a program."""

    def __init__(self, c: Connection, arguments: list[Tensor]) -> None:
        self.c = c
        self.requests: list[tuple[str, str, int, Cell]] = []  # method, params, `into`, cell
        # A function may use a tensor as its argument and as a variable of its own.  Each argument has a stand-in, with a
        # handle that only the recording knows, so that the two uses are told apart.
        self.stand_ins = {id(t): _stand_in(t, n) for n, t in enumerate(arguments)}
        self._handles = {self.stand_ins[id(t)]._h: t._h for t in arguments}
        self.names: dict[int, str] = {self.stand_ins[id(t)]._h: f"arg{i}" for i, t in enumerate(arguments)}
        self.captured: dict[int, str] = {}
        self.paused = False  # are requests left out?
        self.rates: list[tuple[Any, dict[str, Any], tuple[Any, ...], Any, Any]] = []  # see learning_rate()
        self.modes = dict(autograd.modes(c))
        self._steps: list[str] = []
        self._backwards: list[_Backward] = []  # calls of backward() that add to leaves
        self._zeroed: dict[int, int] = {}  # handle of a leaf -> how many of them came before its last zero_grad()
        self._added: set[int] = set()  # leaves whose gradients were read, and never removed

    def add(self, method: str, params: str, into: int, cell: Cell) -> str:
        """Note a request, and return its params as they are sent; refuse one that a program cannot make."""
        if not self.paused and method != "tensor.describe":
            if method == "session.set" and not json.loads("{" + params + "}").keys() <= {"grad_enabled", "autocast"}:
                raise RuntimeError(f"a function that becomes a program cannot change the session ({params}): do that before it "
                                   "is called")
            if method not in ("op.call", "grad.backward", "grad.get", "grad.zero", "session.set"):
                self.refuse(method)
            self.requests.append((method, params, into, cell))
        if not any(str(h) in params for h in self._handles):
            return params
        return _compact(_renamed(json.loads("{" + params + "}"), self._handles))[1:-1]

    def refuse(self, method: str) -> None:
        """Raise the error about a method that no program calls, unless the recorded program is the same without it."""
        if method == "tensor.read":
            raise RuntimeError("a function that becomes a program cannot read values: return the tensor instead")
        if not self.paused and not method.startswith(_ASIDE):
            raise RuntimeError(f"a function that becomes a program cannot use {method}: it may call operators, backward() and "
                               "optimizers, and read shapes; values can be read from what it returns")

    def as_given(self, result: Any, params: str) -> Any:
        """Return a result with the handles of stand-ins in the place of the arguments' that the request has written."""
        given = {h: n for n, h in self._handles.items() if str(n) in params}
        return _renamed(result, given) if given else result

    def end(self, arguments: list[Tensor]) -> None:
        """Let the stand-ins that the function has stored be the arguments themselves, which they keep alive."""
        for t in arguments:
            s = self.stand_ins[id(t)]
            s._h, s._cell = t._h, [*s._cell[:3], t]

    def learning_rate(self, optimizer: Any, group: dict[str, Any]) -> Tensor:
        """Return the learning rate of a group as a tensor: Program changes its value when the group's has changed."""
        rate: Tensor
        for _, known, _, rate, _ in self.rates:
            if known is group:
                return rate
        rate = given = group["lr"]
        if not isinstance(given, Tensor):
            with not_recorded(self.c), autograd.no_grad():
                rate = call_named("full", [], float(given), dtype="float64")
        self.rates.append((optimizer, group, optimizer.settings(group), rate, given))
        return rate

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
        mode, modes = "", dict(self.modes)
        for n, (method, params, into, cell) in enumerate(self.requests):
            given = json.loads("{" + params + "}") if method != "op.call" else {}
            if method == "session.set":
                for member, value in given.items():
                    modes[member if member == "grad_enabled" else f"autocast {json.dumps(value['device'])}"] = value
                mode = self._mode(modes)
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

    def _mode(self, modes: dict[str, Any]) -> str:
        """Return the members of a step that has these modes and not those in which the function was called."""
        text = ""
        grad_enabled = modes.get("grad_enabled", True)
        if grad_enabled != self.modes.get("grad_enabled", True):
            text += f',"grad_enabled":{"true" if grad_enabled else "false"}'
        before, now = ({k: v for k, v in m.items() if k.startswith("autocast") and v["enabled"]} for m in (
            {k: json.loads(v) if isinstance(v, str) else v for k, v in m.items()} for m in (self.modes, modes)))
        if len(now) > 1 and now != before:
            raise RuntimeError("a function that becomes a program uses autocast of several devices at once "
                               f"({', '.join(k[9:] for k in now)}): a step of a program has that of one")
        if now != before:
            text += f',"autocast":{_compact(next(iter(now.values()), {"enabled": False}))}'
        return text

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
        text = self._refs(_joined(re.sub(r',"into":-?\d+|,"trace":true$', "", params)))
        names: list[str | None] = []
        used = set(map(int, _HANDLE.findall(params)))
        for i, output in enumerate(self.as_given(_result(cell)["outputs"], params)):
            name: str | None = f"v{n}" if i == 0 else f"v{n}_{i}"
            if isinstance(output, dict) and output.get("tensor", 0) in used:
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


def _renamed(value: Any, handles: dict[int, int]) -> Any:
    """Return params, or a result, with other handles of tensors."""
    if isinstance(value, list):
        return [_renamed(v, handles) for v in value]
    if not isinstance(value, dict):
        return value
    return {k: handles.get(v, v) if k == "tensor" else [handles.get(h, h) for h in v]
            if k == "tensors" and isinstance(v, list) and all(type(h) is int for h in v) else _renamed(v, handles)
            for k, v in value.items()}


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


def _stand_in(t: Tensor, n: int) -> Tensor:
    """Return the stand-in for argument `n` of a function that is recorded: no handle is released with it."""
    t._info
    made: Tensor = Tensor.__new__(Tensor)
    made._c, made._h, made._cell = t._c, _STAND_INS - n, list(t._cell)
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
    return make(c, handle, [None, 0, None, c])


class _Made:
    """One recorded program: its number, its inputs besides the arguments, and what its function returns."""

    def __init__(self, c: Connection, number: int, names: list[str], kept: list[Tensor], kind: Any, rates: list[Any]) -> None:
        self.c, self.number, self.names, self.kept, self.kind, self.rates = c, number, names, kept, kind, rates

    def is_current(self, c: Connection) -> bool:
        """Have the optimizers still the options that were recorded?  A learning rate that has changed is given to the
        program, by a call on connection `c`."""
        for i, (optimizer, group, settings, rate, known) in enumerate(self.rates):
            if optimizer.settings(group) != settings:
                return False
            now = group["lr"]
            if now is not known:
                if now != known:
                    c.request("op.call", f'"op":"aten::fill_.Scalar","args":[{rate._handle_on(c)},{encode(float(now), c)}]')
                self.rates[i] = optimizer, group, settings, rate, now
        return True

    def __del__(self) -> None:
        """Let the daemon forget the program when the connection's next message is sent.  A thread that has just taken it out
        of Program._made, and is about to run it, keeps it."""
        self.c.session.forget(self.c, "program.release", "program", self.number)


class Program:
    """A function that runs as a program of the daemon, one request a call; dispatchd.program() makes it.

    The first call with tensors of new shapes or dtypes runs the function and records its calls; further ones run the
    program.  Numbers and other arguments are part of the program: other values record another one.  So are the options of
    optimizers, but for the learning rate: it may change from call to call.  Gradients of backward() are values of the
    program: after the first call it leaves none in .grad."""

    def __init__(self, f: Callable[..., Any]) -> None:
        functools.update_wrapper(self, f)
        self._f = f
        self._made: dict[Any, _Made] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tensors: list[Tensor] = []
        kinds = _kind([args, *sorted(kwargs.items())], tensors)
        c = connection_of(tensors[0]) if tensors else current()
        if c._recording is not None:  # within another program this function is a part of it
            return self._f(*args, **kwargs)
        key = c.session, tuple(sorted(autograd.modes(c).items())), kinds
        try:
            made = self._made.get(key)
        except TypeError as e:
            raise TypeError(f"a function that becomes a program takes tensors, numbers, strings, and lists and dicts of them: "
                            f"{e}; dispatchd.tensor() makes a tensor of an array") from None
        if made is None or (made.rates and not made.is_current(c)):
            return self._record(key, args, kwargs, tensors)
        number, captured, kept, kind = made.number, made.names, made.kept, made.kind
        if c.pipelined:
            c.holding(made)
        inputs = ",".join([f'"arg{i}":{t._handle_on(c)}' for i, t in enumerate(tensors)] +
                          [f'"{n}":{t._handle_on(c)}' for n, t in zip(captured, kept)])
        if kind is Tensor:
            handle = c.new_handle()
            cell = c.request("program.run", f'"program":{number},"inputs":{{{inputs}}},"into":{handle}', handle)
            return make(c, handle, cell)
        outputs = c.waited("program.run", f'"program":{number},"inputs":{{{inputs}}}')["outputs"]
        from .tensors import wrap
        found = [wrap(o, c) for o in outputs]
        c.claim()
        return None if not found else tuple(found) if kind is tuple else kind(*found)  # or of dispatchd.return_types

    def _record(self, key: Any, args: tuple[Any, ...], kwargs: dict[str, Any], tensors: list[Tensor]) -> Any:
        c: Connection = key[0].here()
        c.raise_failed()
        depth, c.pipelined = c.pipelined, 0
        recording = Recording(c, tensors)
        stand_ins = recording.stand_ins
        try:
            c._recording = recording
            result = self._f(*_replaced(args, stand_ins), **_replaced(kwargs, stand_ins))
            steps = recording.steps()
            results = result if isinstance(result, tuple) else () if result is None else (result,)
            if not all(isinstance(r, Tensor) for r in results):
                raise TypeError(f"a function that becomes a program returns tensors, got {[type(r).__name__ for r in results]}")
            outputs = [json.loads(re.sub(r',"_":""', "", recording._refs(f'{{"tensor":{r._h}}}'))) for r in results]
        finally:
            c._recording = None
            c.pipelined = depth
            recording.end(tensors)
        if [o.settings(group) for o, group, *_ in recording.rates] != [r[2] for r in recording.rates] or any(
                group["lr"] is not given for _, group, _, _, given in recording.rates):
            raise RuntimeError("a function that becomes a program cannot change the options of an optimizer after its step: do "
                               "that between the calls")
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
        for other in list(self._made):
            if other[0].closed:
                self._made.pop(other, None)
        self._made[key] = _Made(c, number, names, kept, Tensor if isinstance(result, Tensor) else type(result), recording.rates)
        return _replaced(result, {id(stand_ins[id(t)]): t for t in tensors})

    def text(self) -> str:
        """Return the steps of the programs that were recorded, as text."""
        return "\n".join(m.c.session.here().call("program.describe", program=m.number, format="text")["text"]
                         for m in list(self._made.values()) if not m.c.session.closed)


def program(f: Callable[..., Any]) -> Program:
    """Return `f` as a function that runs as one program: a decorator.

    `f` takes tensors and returns tensors; it may call operators, backward() and optimizers, and read shapes, but no
    values.  Tensors that it uses besides its arguments, such as weights, are used as they are at each call."""
    if not callable(f):
        raise TypeError(f"program() takes a function, got {type(f).__name__}")
    return Program(f)
