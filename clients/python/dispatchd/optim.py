"""optim.py -- the optimizers of torch.optim over the daemon's own: a step of all parameters is one call."""

from __future__ import annotations

from typing import Any, Iterable, Mapping

from . import autograd
from .encode import connection_of, encode
from .programs import not_recorded
from .tensors import Tensor


class Optimizer:
    """What the optimizers have in common: groups of parameters, their state, and how both are saved.

    defaults: options of every group.  op: the operator of a step.  slots: (keyword of the operator, name in the state,
    option that needs it or None)."""

    op = ""
    slots: tuple[tuple[str, str, str | None], ...] = ()

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        _check(defaults)
        self.defaults = defaults
        self.changes = 0  # how often groups or states were replaced: recorded programs use the old ones
        self.state: dict[Tensor, dict[str, Tensor]] = {}
        self.param_groups: list[dict[str, Any]] = []
        if isinstance(params, Tensor):
            raise TypeError("params argument given to the optimizer should be an iterable of tensors or dicts, but got a tensor")
        if not hasattr(params, "__iter__"):
            raise TypeError(f"an optimizer takes a list of tensors, or of dicts with the member 'params', got {type(params).__name__}")
        given = list(params)
        if not given:
            raise ValueError("optimizer got an empty parameter list")
        for group in given if isinstance(given[0], dict) else [{"params": given}]:
            self.add_param_group(group)

    def add_param_group(self, group: Mapping[str, Any]) -> None:
        """Add parameters with options of their own."""
        if not isinstance(group, Mapping) or not hasattr(group.get("params"), "__iter__"):
            got = f"one with {', '.join(map(repr, group))}" if isinstance(group, Mapping) else type(group).__name__
            raise TypeError(f"a group of parameters is a dict whose member 'params' lists tensors, got {got}")
        _check(group)
        listed = [group["params"]] if isinstance(group["params"], Tensor) else list(group["params"])
        for p in listed:
            if not isinstance(p, Tensor):
                raise TypeError(f"an optimizer takes tensors, got {type(p).__name__}")
        if listed:
            c = connection_of(listed[0])
            known = c.all_waited("tensor.describe", [f'"tensor":{n}' for n in autograd.numbers(listed, c)])
            if not all(t.get("is_leaf", True) or t.get("retains_grad", False) for t in known):
                raise ValueError("can't optimize a non-leaf Tensor")
        if len(set(listed)) < len(listed) or not self.state.keys().isdisjoint(listed):
            raise ValueError("some parameters appear in more than one parameter group, or twice in one")
        self.state.update((p, {}) for p in listed)
        self.param_groups.append({**self.defaults, **group, "params": listed})
        self.changes += 1

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Remove the gradients of all parameters.  set_to_none: False sets them to zero instead."""
        params = [p for group in self.param_groups for p in group["params"]]
        if set_to_none:
            autograd.zero_grad(params)
            return
        for p in params:
            g = p.grad
            if g is not None:
                g.zero_()

    def options(self, group: dict[str, Any]) -> dict[str, Any]:
        """Return the keyword arguments of the operator for a group; other members, such as a scheduler's, are not ours."""
        return {k: group[k] for k in self.defaults}

    def settings(self, group: dict[str, Any]) -> tuple[Any, ...]:
        """Return what a recorded program has as constants, for comparison: the options but a learning rate that is a
        number, and which state the parameters have."""
        return self.changes, *[id(v) if isinstance(v, Tensor) else tuple(v) if isinstance(v, list) else v for k, v in group.items()
                               if k in self.defaults and (k != "lr" or isinstance(v, Tensor))]

    def step(self, closure: Any = None) -> Any:
        """Change all parameters by their gradients.  closure: computes the loss anew and returns it."""
        loss = None
        if closure is not None:
            with autograd.enable_grad():
                loss = closure()
        for group in self.param_groups:
            self._step(group)
        return loss

    def _step(self, group: dict[str, Any]) -> None:
        params = group["params"]
        given = [(p, g) for p, g in zip(params, autograd.get_grads(params) if params else ()) if g is not None]
        if given:
            self._update(group, given, self.options(group))

    def _update(self, group: dict[str, Any], given: list[tuple[Tensor, Tensor]], options: dict[str, Any]) -> None:
        """Take a step for some parameters of a group and their gradients."""
        params = [p for p, _ in given]
        lists = [params, [g for _, g in given]]
        for _, name, needs in self.slots:
            if needs is not None and not group[needs]:
                lists.append([])
                continue
            for p in params:
                if name not in self.state[p]:
                    self.state[p][name] = self._new_state(group, name, p)
            lists.append([self.state[p][name] for p in params])
        c = connection_of(params[0])
        if c._recording is not None:
            options["lr"] = c._recording.learning_rate(self, group)
        more = ",".join(f'"{k}":{encode(v, c)}' for k, v in options.items())
        c.request("op.call", f'"op":"optim::{self.op}","args":{encode(lists, c)},"kwargs":{{{more}}}')

    def _new_state(self, group: dict[str, Any], name: str, p: Tensor) -> Tensor:
        from .api import call_named
        # Of a program, state is an input: it is used, not made.
        with not_recorded(connection_of(p)), autograd.no_grad():
            if name == "step":
                return call_named("zeros", [], dtype="float32")  # type: ignore[no-any-return]
            return call_named("full_like", p, self._initial(group))  # type: ignore[no-any-return]

    def _initial(self, group: dict[str, Any]) -> float:
        """Return the value with which state of a parameter begins."""
        return 0

    def state_dict(self) -> dict[str, Any]:
        """Return the state by index of parameter, and the groups with indices, in the form of torch.optim."""
        index = {p: i for i, p in enumerate(p for g in self.param_groups for p in g["params"])}
        return {"state": {index[p]: dict(s) for p, s in self.state.items() if s},
                "param_groups": [{**g, "params": [index[p] for p in g["params"]]} for g in self.param_groups]}

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Continue from a state of state_dict(); its tensors are copied."""
        if not isinstance(saved, Mapping) or not {"state", "param_groups"} <= saved.keys():
            got = f"one with {', '.join(map(repr, saved))}" if isinstance(saved, Mapping) else type(saved).__name__
            raise TypeError(f"load_state_dict() takes a dict of state_dict(), with 'state' and 'param_groups', got {got or 'an empty one'}")
        groups = saved["param_groups"]
        here = [len(g["params"]) for g in self.param_groups]
        if [len(g["params"]) for g in groups] != here:
            raise ValueError(f"loaded state dict has groups of {[len(g['params']) for g in groups]} parameters, this optimizer "
                             f"has {here}")
        made = {}
        for group, old in zip(self.param_groups, groups):  # before anything changes
            _check(old)
            for p, i in zip(group["params"], old["params"]):
                made[p] = {k: _copied(f"state {i!r}: '{k}'", k, v, p) for k, v in saved["state"].get(i, {}).items()}
        for group, old in zip(self.param_groups, groups):
            group.update({k: v for k, v in old.items() if k != "params"})
        self.state.update(made)
        self.changes += 1

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self.defaults.items())})"


_RANGES: dict[str, tuple[float, float]] = {
    "lr": (0, float("inf")), "momentum": (0, float("inf")), "weight_decay": (0, float("inf")), "eps": (0, float("inf")),
    "alpha": (0, float("inf")), "betas": (0, 1), "lr_decay": (0, float("inf")),
    "initial_accumulator_value": (0, float("inf"))}


def _check(options: Mapping[str, Any]) -> None:
    """Raise the error about an option of a wrong type, or out of its range."""
    for name, (least, below) in _RANGES.items():
        if name not in options:
            continue
        values = options[name]
        if name == "betas" and (not isinstance(values, (tuple, list)) or len(values) != 2):
            raise ValueError(f"Invalid betas: {values!r}, they are two numbers, as in (0.9, 0.999)")
        for value in values if name == "betas" else (values,):
            if isinstance(value, Tensor) or hasattr(value, "__array__"):
                continue
            if not isinstance(value, (int, float)):
                raise TypeError(f"Invalid {name}: {value!r}, it is a number, not {type(value).__name__}")
            if not least <= value < below:
                raise ValueError(f"Invalid {name}: {value}, it must be at least {least}" +
                                 (f" and below {below}" if below < float("inf") else ""))


def _copied(what: str, name: str, value: Any, p: Tensor) -> Tensor:
    """Return a copy of a saved tensor of parameter `p`; it may be an array, PyTorch's or a number."""
    from .arrays import tensor
    if not isinstance(value, Tensor) and not hasattr(value, "__array__") and not isinstance(value, (int, float)):
        raise TypeError(f"{what} of the loaded state dict is of type {type(value).__name__}: a state consists of tensors and numbers")
    made = tensor(value, dtype="float32" if name == "step" else None, connection=connection_of(p))
    made._handle_on(connection_of(p))  # raises the error of another session
    if name != "step" and made.shape != p.shape:
        raise ValueError(f"{what} of the loaded state dict has shape {list(made.shape)}, but its parameter has {list(p.shape)}")
    return made


def _with_betas(options: dict[str, Any]) -> dict[str, Any]:
    options["beta1"], options["beta2"] = options.pop("betas")
    return options


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum: torch.optim.SGD."""

    op, slots = "sgd_", (("momentum_buffers", "momentum_buffer", "momentum"),)

    def __init__(self, params: Iterable[Any], lr: Any, momentum: float = 0, dampening: float = 0, weight_decay: float = 0,
                 nesterov: bool = False, *, maximize: bool = False) -> None:
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, dict(lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay,
                                      nesterov=nesterov, maximize=maximize))

    def _update(self, group: dict[str, Any], given: list[tuple[Tensor, Tensor]], options: dict[str, Any]) -> None:
        """A parameter's first gradient becomes its momentum, so those without a momentum take a step of their own."""
        first = [x for x in given if group["momentum"] and "momentum_buffer" not in self.state[x[0]]]
        if first and connection_of(first[0][0])._recording is not None:
            if group["dampening"]:
                raise RuntimeError("the first step of SGD with dampening differs from the others: take one before the function "
                                   "becomes a program")
            first = []  # with a momentum of zeros and no dampening, the first step is as the others
        chosen = {p for p, _ in first}
        for part, is_first in (first, True), ([x for x in given if x[0] not in chosen], False):
            if part:
                super()._update(group, part, {**options, "is_first_step": is_first})


class Adam(Optimizer):
    """Adam: torch.optim.Adam."""

    op = "adam_"
    slots = (("exp_avgs", "exp_avg", None), ("exp_avg_sqs", "exp_avg_sq", None),
             ("max_exp_avg_sqs", "max_exp_avg_sq", "amsgrad"), ("state_steps", "step", None))

    def __init__(self, params: Iterable[Any], lr: Any = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, amsgrad: bool = False, *, maximize: bool = False) -> None:
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad,
                                      maximize=maximize))

    def options(self, group: dict[str, Any]) -> dict[str, Any]:
        return _with_betas(super().options(group))


class AdamW(Adam):
    """Adam with weight decay of its own: torch.optim.AdamW."""

    op = "adamw_"

    def __init__(self, params: Iterable[Any], lr: Any = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 1e-2, amsgrad: bool = False, *, maximize: bool = False) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)


class RMSprop(Optimizer):
    """RMSprop: torch.optim.RMSprop."""

    op = "rmsprop_"
    slots = (("square_avgs", "square_avg", None), ("grad_avgs", "grad_avg", "centered"),
             ("momentum_buffers", "momentum_buffer", "momentum"))

    def __init__(self, params: Iterable[Any], lr: Any = 1e-2, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0,
                 momentum: float = 0, centered: bool = False, maximize: bool = False) -> None:
        super().__init__(params, dict(lr=lr, alpha=alpha, eps=eps, weight_decay=weight_decay, momentum=momentum,
                                      centered=centered, maximize=maximize))


class Adagrad(Optimizer):
    """Adagrad: torch.optim.Adagrad."""

    op, slots = "adagrad_", (("state_sums", "sum", None), ("state_steps", "step", None))

    def __init__(self, params: Iterable[Any], lr: Any = 1e-2, lr_decay: float = 0, weight_decay: float = 0,
                 initial_accumulator_value: float = 0, eps: float = 1e-10, *, maximize: bool = False) -> None:
        super().__init__(params, dict(lr=lr, lr_decay=lr_decay, weight_decay=weight_decay,
                                      initial_accumulator_value=initial_accumulator_value, eps=eps, maximize=maximize))

    def options(self, group: dict[str, Any]) -> dict[str, Any]:
        found = super().options(group)
        del found["initial_accumulator_value"]
        return found

    def _initial(self, group: dict[str, Any]) -> float:
        return group["initial_accumulator_value"]  # type: ignore[no-any-return]


class Lion(Optimizer):
    """Lion, which moves each parameter by the sign of its momentum (Chen et al. 2023, "Symbolic Discovery of
    Optimization Algorithms", algorithm 2); PyTorch 1.13 has none."""

    op, slots = "lion_", (("exp_avgs", "exp_avg", None),)

    def __init__(self, params: Iterable[Any], lr: Any = 1e-4, betas: tuple[float, float] = (0.9, 0.99), weight_decay: float = 0,
                 *, maximize: bool = False) -> None:
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay, maximize=maximize))

    def options(self, group: dict[str, Any]) -> dict[str, Any]:
        return _with_betas(super().options(group))
