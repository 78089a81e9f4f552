"""printing.py -- tensors as text, in the form of PyTorch 1.13.1 (torch/_tensor_str.py).

Of a tensor with more elements than the threshold only those at the edges are fetched from the daemon."""

from __future__ import annotations

import html as _html
import math
from typing import Any

from . import dtypes
from .tensors import Tensor


class _Options:
    precision, threshold, edgeitems, linewidth = 4, 1000.0, 3, 80
    sci_mode: bool | None = None


OPTIONS = _Options()
_PROFILES = {"default": (4, 1000.0, 3, 80), "short": (2, 1000.0, 2, 80), "full": (4, math.inf, 3, 80)}


def set_printoptions(precision: int | None = None, threshold: float | None = None, edgeitems: int | None = None,
                     linewidth: int | None = None, profile: str | None = None, sci_mode: bool | None = None) -> None:
    """Set how tensors are printed, as torch.set_printoptions() does.

    precision: digits after the point.  threshold: most elements that are all printed.  edgeitems: elements at each
    edge of a dimension of a larger tensor.  profile: "default", "short" or "full".  sci_mode: scientific notation;
    None decides by the values."""
    o = OPTIONS
    if profile is not None:
        if profile not in _PROFILES:
            raise ValueError(f"no profile {profile!r}: there are {', '.join(_PROFILES)}")
        o.precision, o.threshold, o.edgeitems, o.linewidth = _PROFILES[profile]
    for name, value in ("precision", precision), ("threshold", threshold), ("edgeitems", edgeitems), ("linewidth", linewidth):
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0):
            raise TypeError(f"set_printoptions() takes a number of at least 0 for {name}, got {value!r}")
    o.precision = o.precision if precision is None else precision
    o.threshold = o.threshold if threshold is None else threshold
    o.edgeitems = o.edgeitems if edgeitems is None else edgeitems
    o.linewidth = o.linewidth if linewidth is None else linewidth
    o.sci_mode = sci_mode


class _Formatter:
    """How the numbers of one tensor are written: with the same width and notation."""

    def __init__(self, values: list[Any], floating: bool) -> None:
        self.floating, self.sci, self.whole, self.width = floating, False, True, 1
        o = OPTIONS
        if not floating:
            self.width = max([1, *(len(str(v)) for v in values)])
        else:
            finite: list[float] = [v for v in values if v != 0 and math.isfinite(v)]
            if not finite:
                return
            sizes = [abs(v) for v in finite]
            least, most = min(sizes), max(sizes)
            self.whole = all(v == math.ceil(v) for v in finite)
            ratio = most / least > 1000.0 or most > 1.0e8
            self.sci = ratio if self.whole else ratio or least < 1.0e-4
            if self.sci:
                self.width = max(len(f"{v:.{o.precision}e}") for v in finite)
            elif self.whole:
                self.width = max(len(f"{v:.0f}") + 1 for v in finite)
            else:
                self.width = max(len(f"{v:.{o.precision}f}") for v in finite)
        if o.sci_mode is not None:
            self.sci = o.sci_mode

    def __call__(self, value: Any) -> str:
        precision = OPTIONS.precision
        if not self.floating:
            text = str(value)
        elif self.sci:
            text = f"{value:{self.width}.{precision}e}"
        elif self.whole:
            text = f"{value:.0f}" + ("." if math.isfinite(value) else "")
        else:
            text = f"{value:.{precision}f}"
        return text.rjust(self.width)


class _Complex:
    """The same for complex numbers: one formatter for the real parts, one for the imaginary ones."""

    def __init__(self, values: list[complex]) -> None:
        self.real = _Formatter([v.real for v in values], True)
        self.imag = _Formatter([v.imag for v in values], True)
        self.width = self.real.width + self.imag.width + 1

    def __call__(self, value: complex) -> str:
        imag = (self.imag(value.imag) + "j").lstrip()
        return self.real(value.real) + ("" if imag[0] in "+-" else "+") + imag


def _edges(t: Tensor) -> tuple[Any, list[bool]]:
    """Return the elements that are printed, as nested lists, and for each dimension whether its middle is left out."""
    cut = [False] * t.ndim
    if t.numel() > OPTIONS.threshold:
        from . import api
        from .arrays import tensor
        edge = OPTIONS.edgeitems
        for d, size in enumerate(t.shape):
            if size > 2 * edge:
                cut[d] = True
                places = tensor([*range(edge), *range(size - edge, size)], dtype=dtypes.int64, connection=t._c)
                t = api.call_named("index_select", t, d, places)
    return t.tolist(), cut


def _flat(data: Any) -> list[Any]:
    if not isinstance(data, list):
        return [data]
    if data and not isinstance(data[0], list):
        return data
    return [v for row in data for v in _flat(row)]


def _vector(values: list[Any], indent: int, cut: bool, form: Any) -> str:
    per_line = max(1, math.floor((OPTIONS.linewidth - indent) / (form.width + 2)))
    words = [form(v) for v in values]
    if cut:
        words.insert(OPTIONS.edgeitems, " ...")
    lines = [", ".join(words[i:i + per_line]) for i in range(0, len(words), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _nested(data: Any, depth: int, indent: int, cut: list[bool], form: Any) -> str:
    if not cut[depth:]:
        return str(form(data))
    if depth == len(cut) - 1:
        return _vector(data, indent, cut[depth], form)
    rows = [_nested(row, depth + 1, indent + 1, cut, form) for row in data]
    if cut[depth]:
        rows.insert(OPTIONS.edgeitems, "...")
    return "[" + ("," + "\n" * (len(cut) - depth - 1) + " " * (indent + 1)).join(rows) + "]"


def _contents(t: Tensor, indent: int) -> str:
    if t.numel() == 0:
        return "[]"
    from .autograd import no_grad
    with no_grad():
        data, cut = _edges(t.resolve_conj().resolve_neg() if t.is_complex() else t)
    values = _flat(data)
    form: _Complex | _Formatter = _Complex(values) if t.is_complex() else _Formatter(values, t.is_floating_point())
    return _nested(data, 0, indent, cut, form)


def text(t: Tensor, package: str = "dispatchd") -> str:
    """Return what print() shows of a tensor; package: the word before the name of a dtype."""
    prefix = "tensor("
    indent = len(prefix)
    kind, shape, device = t.dtype, t.shape, t.device
    suffixes = []
    if device != "cpu":
        suffixes.append(f"device='{device}'")
    usual = kind in ("float32", "complex64", "int64", "bool")
    if device.startswith("meta"):
        suffixes.append(f"size={tuple(shape)}")
        if kind != "float32":
            suffixes.append(f"dtype={package}.{kind}")
        body = "..."
    else:
        if 0 in shape:
            if len(shape) != 1:
                suffixes.append(f"size={tuple(shape)}")
            if kind != "float32":
                suffixes.append(f"dtype={package}.{kind}")
        elif not usual:
            suffixes.append(f"dtype={package}.{kind}")
        body = _contents(t, indent)
    if kind.is_floating_point or kind.is_complex:
        info = t._refresh()
        if info.get("grad_fn"):
            suffixes.append(f"grad_fn=<{info['grad_fn']}>")
        elif info["requires_grad"]:
            suffixes.append("requires_grad=True")
    return _with_suffixes(prefix + body, suffixes, indent)


def _with_suffixes(body: str, suffixes: list[str], indent: int) -> str:
    parts = [body]
    last = len(body) - body.rfind("\n") + 1
    for suffix in suffixes:
        if last + len(suffix) + 2 > OPTIONS.linewidth:
            parts.append(",\n" + " " * indent + suffix)
            last = indent + len(suffix)
        else:
            parts.append(", " + suffix)
            last += len(suffix) + 2
    return "".join(parts) + ")"


def html(t: Tensor) -> str:
    """Return what a notebook shows of a tensor: a table of the elements at the edges, and a line about the tensor."""
    caption = f"{t.dtype} {list(t.shape)} on {t.device}, {t.nbytes} bytes"
    if t.ndim > 2 or t.numel() == 0 or t.device.startswith("meta"):
        return f"<pre>{_html.escape(text(t))}</pre><small>{_html.escape(caption)}</small>"
    data, cut = _edges(t)
    values = _flat(data)
    form: _Complex | _Formatter = _Complex(values) if t.is_complex() else _Formatter(values, t.is_floating_point())
    rows = [[data]] if t.ndim == 0 else [data] if t.ndim == 1 else data
    lines = []
    for i, row in enumerate(rows):
        if t.ndim == 2 and cut[0] and i == OPTIONS.edgeitems:
            lines.append("<tr><td>&#8942;</td></tr>")
        cells = [f"<td style='text-align:right'>{_html.escape(form(v).strip())}</td>" for v in row]
        if cut and cut[-1]:
            cells.insert(OPTIONS.edgeitems, "<td>&#8230;</td>")
        lines.append("<tr>" + "".join(cells) + "</tr>")
    return f"<table>{''.join(lines)}</table><small>{_html.escape(caption)}</small>"
