"""autograd.py -- gradients: backward, grad, hooks, and the modes in which nothing is recorded or in which casts are made."""

from __future__ import annotations

import functools
import json
from typing import Any, Sequence

from .connection import Connection
from .defaults import current
from .dtypes import of
from .encode import connection_of, encode
from .tensors import Tensor, wrap


class _Mode:
    """A mode of the connection, as a context manager and a decorator: one member of session.set."""

    member = ""

    def __init__(self, value: Any) -> None:
        self._value = value
        self._before: list[tuple[Connection, Any]] = []

    def __enter__(self) -> None:
        c = current()
        before = _get(c, self.member)
        _set(c, self.member, self._value)
        self._before.append((c, before))

    def __exit__(self, *exc: object) -> None:
        c, before = self._before.pop()
        if not c.session.closed and _get(c, self.member) != before:
            # The next message brings it to the daemon: here nothing waits, and nothing can be interrupted.
            c._restore[self.member] = _text(before)
            _know(c, self.member, before)

    def __call__(self, f: Any) -> Any:
        @functools.wraps(f)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self._again():
                return f(*args, **kwargs)
        return wrapped

    def _again(self) -> "_Mode":
        """Return a mode like this one, for one call of a decorated function."""
        return type(self)()  # type: ignore[call-arg]


def modes(c: Connection) -> dict[str, Any]:
    """Return the modes of a connection that are not as at its start: members of session.set, and what they are."""
    return c.__dict__.setdefault("_modes", {})  # type: ignore[no-any-return]


def _default(member: str) -> Any:
    return member == "grad_enabled" if not member.startswith("autocast") else '{"enabled":false,"device":' + member[9:] + "}"


def _get(c: Connection, member: str) -> Any:
    return modes(c).get(member, _default(member))


def _set(c: Connection, member: str, value: Any) -> None:
    """Set a mode: True or False, or for `autocast "DEVICE"` the JSON of the param."""
    if _get(c, member) == value:
        return
    try:
        c.request("session.set", f'"{member.partition(" ")[0]}":{_text(value)}')
    except (KeyboardInterrupt, SystemExit, OSError):  # it may be set, or not
        c._restore[member] = _text(_get(c, member))
        raise
    c._restore.pop(member, None)
    _know(c, member, value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "true" if value else "false"


def _know(c: Connection, member: str, value: Any) -> None:
    if value == _default(member):
        modes(c).pop(member, None)
    else:
        modes(c)[member] = value


class no_grad(_Mode):
    """Record nothing, inside `with no_grad():` or in a function with the decorator @no_grad()."""

    member = "grad_enabled"

    def __init__(self) -> None:
        super().__init__(False)


class enable_grad(_Mode):
    """Record calls again, inside `with enable_grad():`."""

    member = "grad_enabled"

    def __init__(self) -> None:
        super().__init__(True)


class inference_mode(_Mode):
    """Do not even check whether to record, inside `with inference_mode():`."""

    member = "inference"

    def __init__(self, mode: bool = True) -> None:
        super().__init__(mode)

    def _again(self) -> "_Mode":
        return inference_mode(self._value)


class set_grad_enabled(_Mode):
    """Record calls, or not: from now on, or inside `with set_grad_enabled(mode):`."""

    member = "grad_enabled"

    def __init__(self, mode: bool) -> None:
        super().__init__(mode)
        c = current()
        self._earlier = _get(c, self.member)
        _set(c, self.member, mode)

    def __enter__(self) -> None:
        self._before.append((current(), self._earlier))

    def _again(self) -> "_Mode":
        return set_grad_enabled(self._value)


class autocast(_Mode):
    """Compute in mixed precision, inside `with autocast("cpu"):` or in a function with the decorator @autocast("cpu"):
    torch.autocast.

    device_type: "cpu", or the backend of a plugin.  dtype: bfloat16 or float16; by default bfloat16 on the CPU and
    float16 elsewhere.  enabled: False for a part of such a block that computes as outside of it.  cache_enabled: may a
    request cast a parameter once and use it several times?"""

    def __init__(self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None) -> None:
        if not isinstance(device_type, str):
            raise TypeError(f"autocast() takes a type of device, such as \"cpu\", first, got {type(device_type).__name__}")
        self._given = device_type, dtype, enabled, cache_enabled
        device = json.dumps(device_type)
        members = ['"enabled":true', f'"device":{device}']
        if dtype is not None:
            members.append(f'"dtype":"{of(dtype)}"')
        if cache_enabled is not None:
            members.append(f'"cache":{"true" if cache_enabled else "false"}')
        self.member = "autocast " + device
        super().__init__("{" + ",".join(members) + "}" if enabled else _default(self.member))

    def _again(self) -> "_Mode":
        return autocast(*self._given)


def is_grad_enabled() -> bool:
    """Are calls recorded?  Inside inference_mode() they are not."""
    return records(current())


def records(c: Connection) -> bool:
    """Are calls of this connection recorded?"""
    return bool(_get(c, "grad_enabled")) and not _get(c, "inference")


def is_inference_mode_enabled() -> bool:
    """Is inference mode on?"""
    return bool(_get(current(), "inference"))


def _flags(retain_graph: bool | None, create_graph: bool) -> str:
    text = "" if retain_graph is None else f',"retain_graph":{"true" if retain_graph else "false"}'
    return text + (',"create_graph":true' if create_graph else "")


def _listed(tensors: Any) -> list[Tensor]:
    """Return one tensor, or several, as a list."""
    given = [tensors] if isinstance(tensors, Tensor) or not hasattr(tensors, "__iter__") else list(tensors)
    for t in given:
        if not isinstance(t, Tensor):
            raise TypeError(f"gradients are those of tensors, got {type(t).__name__}")
    return given


def backward(tensors: "Tensor | Sequence[Tensor]", grad_tensors: Any = None, retain_graph: bool | None = None,
             create_graph: bool = False, inputs: Any = None) -> None:
    """Compute the gradients of `tensors` and add them to the .grad of the leaves that require one, or of `inputs`.

    grad_tensors: the gradient of each tensor; None stands for 1 and is for tensors of one element."""
    tensors = _listed(tensors)
    if not tensors:
        return
    if inputs is not None:
        inputs = _listed(inputs)
        for leaf, g in zip(inputs, grad(tensors, inputs, grad_tensors, retain_graph, create_graph, True)):
            if g is not None:
                before = leaf.grad
                leaf.grad = g if before is None else before + g
        return
    c = connection_of(tensors[0])
    given = "" if grad_tensors is None else f',"gradients":{encode(list(grad_tensors), c)}'
    c.request("grad.backward", f'"tensors":{encode(tensors, c)}{given}{_flags(retain_graph, create_graph)}')


def grad(outputs: "Tensor | Sequence[Tensor]", inputs: "Tensor | Sequence[Tensor]", grad_outputs: Any = None,
         retain_graph: bool | None = None, create_graph: bool = False, allow_unused: bool = False) -> tuple[Any, ...]:
    """Return the gradients of `outputs` with respect to `inputs`, as torch.autograd.grad() does."""
    outputs, inputs = _listed(outputs), _listed(inputs)
    if not outputs or not inputs:
        raise ValueError(f"grad() takes at least one output and one input, got {len(outputs)} and {len(inputs)}")
    if isinstance(grad_outputs, Tensor):
        grad_outputs = [grad_outputs]
    c = connection_of(outputs[0])
    given = "" if grad_outputs is None else f',"gradients":{encode(list(grad_outputs), c)}'
    answer = c.waited("grad.backward", f'"tensors":{encode(outputs, c)},"inputs":{encode(inputs, c)}{given}'
                      + _flags(retain_graph, create_graph))
    found = tuple([wrap(g, c) for g in answer["grads"]])
    c.claim()
    if not allow_unused and None in found:
        raise RuntimeError("One of the differentiated Tensors appears to not have been used in the graph. Set "
                           "allow_unused=True if this is the desired behavior.")
    return found


def numbers(tensors: Sequence[Tensor], c: Connection) -> list[int]:
    """Return the handles of tensors, which must be of the session of connection `c`."""
    for t in tensors:
        t._handle_on(c)
    return [t._h for t in tensors]


def get_grad(t: Tensor) -> Tensor | None:
    """Return the gradient that backward() has accumulated for `t`."""
    t._info
    c = connection_of(t)
    found: Tensor | None = wrap(c.waited("grad.get", f'"tensor":{t._h}')["grad"], c)
    c.claim()
    return found


def get_grads(tensors: Sequence[Tensor]) -> list[Tensor | None]:
    """Return the gradient of each tensor, by one wait for all of them."""
    c = connection_of(tensors[0])
    answers = c.all_waited("grad.get", [f'"tensor":{n}' for n in numbers(tensors, c)])
    found = [wrap(a["grad"], c) for a in answers]
    c.claim()
    return found


def set_grad(t: Tensor, value: Tensor | None) -> None:
    """Replace the gradient of `t`; None removes it."""
    c = connection_of(t)
    c.request("grad.set", f'"tensor":{numbers([t], c)[0]},"grad":{encode(value, c)}')


def zero_grad(tensors: Sequence[Tensor]) -> None:
    """Remove the gradients of tensors."""
    if tensors:
        c = connection_of(tensors[0])
        c.request("grad.zero", f'"tensors":[{",".join(map(str, numbers(tensors, c)))}]')


def hook(t: Tensor, op: str | None) -> None:
    """Let operator `op` change the gradient of `t` in each backward; None removes all hooks."""
    if not isinstance(op, (str, type(None))):
        raise TypeError(f"a hook is the name of an operator, such as \"aten::neg\", since it runs in the daemon; got {type(op).__name__}")
    c = connection_of(t)
    c.request("grad.hook", f'"tensor":{numbers([t], c)[0]},"op":{encode(op, c)}')


def graph(*tensors: Tensor) -> dict[str, Any]:
    """Return what was recorded for tensors: nodes and edges (docs/gradients.md)."""
    c = connection_of(tensors[0])
    return c.waited("grad.graph", f'"tensors":[{",".join(map(str, numbers(tensors, c)))}]')
