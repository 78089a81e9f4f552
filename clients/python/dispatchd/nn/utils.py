"""utils.py -- dispatchd.nn.utils: bounds for gradients."""

from __future__ import annotations

from typing import Any, Iterable

from ..api import results
from ..autograd import get_grads
from ..encode import connection_of, encode
from ..tensors import Tensor


def _given(parameters: "Iterable[Tensor] | Tensor") -> list[Tensor]:
    params = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    for p in params:
        if not isinstance(p, Tensor):
            raise TypeError(f"gradients are those of tensors, got {type(p).__name__}")
    return [g for g in get_grads(params) if g is not None] if params else []


def clip_grad_norm_(parameters: "Iterable[Tensor] | Tensor", max_norm: float, norm_type: float = 2.0,
                    error_if_nonfinite: bool = False) -> Any:
    """Scale the gradients of parameters so that their common norm is at most `max_norm`; return the norm they had."""
    grads = _given(parameters)
    if not grads:
        from ..arrays import tensor
        return tensor(0.0)
    c = connection_of(grads[0])
    outputs = c.outputs("optim::clip_grad_norm_", f"{encode(grads, c)},{encode(float(max_norm), c)},"
                        f"{encode(float(norm_type), c)},{encode(error_if_nonfinite, c)}", "")
    return results(outputs, c, None, None, (), {})


def clip_grad_value_(parameters: "Iterable[Tensor] | Tensor", clip_value: float) -> None:
    """Bound each element of the gradients of parameters by -clip_value and clip_value."""
    grads = _given(parameters)
    if grads:
        c = connection_of(grads[0])
        results(c.outputs("optim::clip_grad_value_", f"{encode(grads, c)},{encode(float(clip_value), c)}", ""), c, None, None, (), {})
