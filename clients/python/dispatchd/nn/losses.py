"""losses.py -- the losses of dispatchd.nn.functional."""

from __future__ import annotations

import math
from typing import Any

from ..api import call_named as _op
from ..tensors import Tensor

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def _reduction(reduction: str, size_average: bool | None = None, reduce: bool | None = None) -> int:
    if size_average is not None or reduce is not None:  # PyTorch's old arguments
        size_average = True if size_average is None else size_average
        reduce = True if reduce is None else reduce
        reduction = "mean" if size_average and reduce else "sum" if reduce else "none"
    if reduction not in _REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction: it is none, mean or sum")
    return _REDUCTIONS[reduction]


def _reduced(loss: Any, reduction: str) -> Tensor:
    code = _reduction(reduction)
    return loss if code == 0 else loss.mean() if code == 1 else loss.sum()  # type: ignore[no-any-return]


def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
             ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    """Return the negative log likelihood of the classes in target."""
    return _op("nll_loss_nd", input, target, weight, _reduction(reduction, size_average, reduce), ignore_index)  # type: ignore[no-any-return]


def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
                  ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean",
                  label_smoothing: float = 0.0) -> Tensor:
    """Return the cross entropy of logits and target: classes, or probabilities."""
    return _op("cross_entropy_loss", input, target, weight, _reduction(reduction, size_average, reduce), ignore_index,  # type: ignore[no-any-return]
               float(label_smoothing))


def _plain(name: str, doc: str) -> Any:
    def f(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
          reduction: str = "mean") -> Tensor:
        code = _reduction(reduction, size_average, reduce)
        if name in ("mse_loss", "l1_loss"):
            input, target = _op("broadcast_tensors", [input, target])
        return _op(name, input, target, code)  # type: ignore[no-any-return]
    f.__name__ = f.__qualname__ = name
    f.__doc__ = doc
    return f


mse_loss = _plain("mse_loss", "Return the squared differences, or their mean or sum.")
l1_loss = _plain("l1_loss", "Return the absolute differences, or their mean or sum.")
soft_margin_loss = _plain("soft_margin_loss", "Return log(1 + exp(-target * input)).")
multilabel_margin_loss = _plain("multilabel_margin_loss", "Return the margin loss of several classes each.")


def smooth_l1_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
                   reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """Return squared differences below beta, absolute ones above."""
    input, target = _op("broadcast_tensors", [input, target])
    return _op("smooth_l1_loss", input, target, _reduction(reduction, size_average, reduce), beta)  # type: ignore[no-any-return]


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """Return squared differences below delta, delta times absolute ones above."""
    input, target = _op("broadcast_tensors", [input, target])
    return _op("huber_loss", input, target, _reduction(reduction), delta)  # type: ignore[no-any-return]


def kl_div(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
           reduction: str = "mean", log_target: bool = False) -> Tensor:
    """Return the Kullback-Leibler divergence; batchmean: its sum divided by the size of the batch."""
    code = 2 if reduction == "batchmean" else _reduction(reduction, size_average, reduce)
    loss = _op("kl_div", input, target, code, log_target=log_target)
    return loss / input.shape[0] if reduction == "batchmean" and input.ndim else loss  # type: ignore[no-any-return]


def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
                         reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    """Return the cross entropy of probabilities."""
    if target.shape != input.shape:
        raise ValueError(f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
                         "Please ensure they have the same size.")
    if weight is not None:
        weight = weight.expand(list(input.shape))
    return _op("binary_cross_entropy", input, target, weight, _reduction(reduction, size_average, reduce))  # type: ignore[no-any-return]


def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None,
                                     size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
                                     pos_weight: Tensor | None = None) -> Tensor:
    """Return the cross entropy of sigmoid(input)."""
    if target.shape != input.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    return _op("binary_cross_entropy_with_logits", input, target, weight, pos_weight,  # type: ignore[no-any-return]
               _reduction(reduction, size_average, reduce))


def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, size_average: bool | None = None,
                     eps: float = 1e-8, reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    """Return the negative log likelihood of Poisson distributions."""
    return _op("poisson_nll_loss", input, target, log_input, full, eps, _reduction(reduction, size_average, reduce))  # type: ignore[no-any-return]


def gaussian_nll_loss(input: Tensor, target: Tensor, var: Tensor, full: bool = False, eps: float = 1e-6,
                      reduction: str = "mean") -> Tensor:
    """Return the negative log likelihood of normal distributions with variance var, at least eps."""
    if var.shape != input.shape:
        if list(input.shape)[:-1] == list(var.shape):
            var = var.unsqueeze(-1)
        elif not (list(input.shape)[:-1] == list(var.shape)[:-1] and var.shape[-1] == 1):
            raise ValueError("var is of incorrect size")
    if bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    var = var.detach().clamp_min(eps) + (var - var.detach())
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    return _reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, size_average: bool | None = None,
                         reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    """Return input where target is 1, max(0, margin - input) where it is -1."""
    return _op("hinge_embedding_loss", input, target, margin, _reduction(reduction, size_average, reduce))  # type: ignore[no-any-return]


def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None,
                        reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    """Return max(0, -target * (input1 - input2) + margin)."""
    return _op("margin_ranking_loss", input1, input2, target, margin, _reduction(reduction, size_average, reduce))  # type: ignore[no-any-return]


def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None,
                          reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    """Return 1 - cos where target is 1, max(0, cos - margin) where it is -1."""
    return _op("cosine_embedding_loss", input1, input2, target, margin, _reduction(reduction, size_average, reduce))  # type: ignore[no-any-return]


def multi_margin_loss(input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Tensor | None = None,
                      size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    """Return the margin loss of several classes."""
    return _op("multi_margin_loss", input, target, p, margin, weight, _reduction(reduction, size_average, reduce))  # type: ignore[no-any-return]


def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
                                reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    """Return the mean over the classes of the cross entropy of sigmoid(input)."""
    code = _reduction(reduction, size_average, reduce)
    loss: Any = -(target * _op("log_sigmoid", input) + (1 - target) * _op("log_sigmoid", -input))
    loss = loss * weight if weight is not None else loss
    loss = loss.sum(input.ndim - 1) / input.shape[-1]
    return loss if code == 0 else loss.mean() if code == 1 else loss.sum()  # type: ignore[no-any-return]


def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2,
                        eps: float = 1e-6, swap: bool = False, size_average: bool | None = None, reduce: bool | None = None,
                        reduction: str = "mean") -> Tensor:
    """Return max(0, distance to positive - distance to negative + margin)."""
    return _op("triplet_margin_loss", anchor, positive, negative, margin, p, eps, swap,  # type: ignore[no-any-return]
               _reduction(reduction, size_average, reduce))


def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0,
             reduction: str = "mean", zero_infinity: bool = False) -> Tensor:
    """Return the loss of connectionist temporal classification."""
    return _op("ctc_loss", log_probs, targets, input_lengths, target_lengths, blank, _reduction(reduction), zero_infinity)  # type: ignore[no-any-return]
