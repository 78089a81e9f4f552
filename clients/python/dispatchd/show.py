"""show.py -- why a kernel runs, and which kernels ran: explain, table and trace."""

from __future__ import annotations

import html as _html
import json
import os
from typing import Any, Callable

from .connection import Connection
from .defaults import current
from .encode import encode, encode_kwargs, find_connection
from .tensors import Tensor


def _op_name(f: Any, c: Connection) -> str:
    """Return the operator that `f` names: "aten::add", "add", dispatchd.add or dispatchd.ops.aten.add."""
    name = getattr(f, "_name", None) or (f if isinstance(f, str) else getattr(f, "__name__", None))
    if name is None:
        raise TypeError(f"expected an operator, such as dispatchd.add or 'aten::add.Tensor', got {type(f).__name__}")
    return str(name) if "::" in name else f"aten::{name}"


class Explanation:
    """Which kernels a call would run, and why: printed as text, or as a table in a notebook."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self.answer = answer
        self.op: str = answer["op"]
        self.path: list[dict[str, Any]] = answer["path"]

    def __repr__(self) -> str:
        a = self.answer
        lines = [f"{a['op']}", f"  keys of the arguments: {', '.join(a['argument_keys'])}",
                 f"  after the connection's state: {', '.join(a['after_state'])}"]
        for step in a["path"]:
            at = os.path.basename(str(step.get("file", "")))
            lines.append(f"  runs {step['key']}: {step['provenance']} of plugin {step.get('plugin')} ({at}:{step.get('line')})"
                         + (f", because {step['why']}" if step.get("why") else ""))
        for step in a["skipped"]:
            lines.append(f"  skips {step['key']}: {step['why']}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{'runs' if step in self.path else 'skips'}</td><td>{_html.escape(str(step['key']))}</td>"
                       f"<td>{_html.escape(str(step.get('plugin') or ''))}</td><td>{_html.escape(str(step.get('why') or ''))}</td></tr>"
                       for step in [*self.answer["path"], *self.answer["skipped"]])
        return f"<b>{_html.escape(self.op)}</b><table><tr><th></th><th>key</th><th>plugin</th><th>why</th></tr>{rows}</table>"


def explain(f: Any, *args: Any, **kwargs: Any) -> Explanation:
    """Explain which kernels the call f(*args, **kwargs) would run, without running it.

    f: an operator: dispatchd.add, dispatchd.ops.aten.add.Tensor, or its name."""
    c = find_connection(args, kwargs)
    op = encode(_op_name(f, c), c)
    return Explanation(c.waited("registry.explain", f'"op":{op},"args":{encode(list(args), c)}{encode_kwargs(kwargs, c)}'))


class Table:
    """The dispatch table of operators: for each key the rule that filled the entry."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self.keys: list[str] = answer["keys"]
        self.rows: dict[str, dict[str, str]] = {r["op"]: dict(zip(answer["keys"], r["cells"])) for r in answer["rows"]}

    def __repr__(self) -> str:
        lines = []
        for op, cells in self.rows.items():
            width = max(map(len, cells), default=0)
            lines += [op, *(f"  {key:{width}}  {cell}" for key, cell in cells.items() if cell != "missing")]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        shown = [k for k in self.keys if any(cells[k] != "missing" for cells in self.rows.values())]
        head = "".join(f"<th>{_html.escape(op)}</th>" for op in self.rows)
        body = "".join(f"<tr><td>{k}</td>" + "".join(f"<td>{_html.escape(c[k])}</td>" for c in self.rows.values()) + "</tr>"
                       for k in shown)
        return f"<table><tr><th></th>{head}</tr>{body}</table>"


def table(*ops: Any, keys: list[str] | None = None) -> Table:
    """Return the dispatch tables of operators, such as table("aten::add.Tensor") or table("aten::mm", keys=["CPU"])."""
    c = current()
    known: list[str] = []
    for f in ops:
        name = _op_name(f, c)
        overloads = [n for n in c.call("registry.list", match=name)["ops"] if n == name or n.startswith(name + ".")]
        known += overloads if "." not in name else [name]
        if not overloads:
            c.call("registry.describe", op=name)  # raises NotFound with the nearest names
    return Table(c.call("registry.table", ops=known, **({} if keys is None else {"keys": keys})))


class trace:
    """List the kernels that run inside `with trace() as t:`, with their times.

    print(t) shows a tree; a notebook shows the tree with its times; t.chrome() is JSON for chrome://tracing.
    trace(x) with a tensor is the operator: the sum of the diagonal of a matrix."""

    calls: "list[tuple[str, list[dict[str, Any]]]]"

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if args or "input" in kwargs:
            from .api import function
            found: Callable[..., Any] | None = function("trace", "trace")
            assert found is not None
            return found(*args, **kwargs)
        return super().__new__(cls)

    def __init__(self, *args: Any) -> None:
        self.calls = []

    def __enter__(self) -> "trace":
        self._c = current()
        self._c.raise_failed()
        self._before, self._c._tracing = self._c._tracing, self
        return self

    def __exit__(self, *exc: object) -> None:
        self._c._tracing = self._before

    def add(self, result: dict[str, Any]) -> None:
        """Note the kernels of one call."""
        steps = result.get("trace") or []
        self.calls.append((steps[0]["op"] if steps else "?", steps))

    @property
    def steps(self) -> list[dict[str, Any]]:
        """All kernels, in order."""
        return [s for _, steps in self.calls for s in steps]

    def __repr__(self) -> str:
        lines = []
        for _, steps in self.calls:
            lines += [f"{'  ' * s['depth']}{s['op']}  {s['key']}  {s.get('plugin') or ''}  {s['nanos'] / 1000:.1f} us" for s in steps]
        return "\n".join(lines) or "no call was traced"

    def _repr_html_(self) -> str:
        most = max((s["nanos"] for s in self.steps), default=1) or 1
        rows = "".join(
            f"<tr><td style='padding-left:{1 + 2 * s['depth']}em'>{_html.escape(s['op'])}</td><td>{s['key']}</td>"
            f"<td>{_html.escape(s.get('plugin') or '')}</td><td style='text-align:right'>{s['nanos'] / 1000:.1f} us</td>"
            f"<td><div style='background:#48a;height:.7em;width:{max(1, 200 * s['nanos'] // most)}px'></div></td></tr>"
            for s in self.steps)
        return f"<table><tr><th>operator</th><th>key</th><th>plugin</th><th>time</th><th></th></tr>{rows}</table>"

    def chrome(self) -> str:
        """Return the trace as JSON for chrome://tracing; the calls stand one after another."""
        events, start = [], 0.0
        for _, steps in self.calls:
            at = [start]
            for s in steps:
                depth = s["depth"]
                begin = at[depth] if depth < len(at) else at[-1]
                events.append({"name": s["op"], "cat": s["key"], "ph": "X", "ts": begin, "dur": s["nanos"] / 1000, "pid": 1, "tid": 1,
                               "args": {k: s.get(k) for k in ("plugin", "file", "line", "provenance")}})
                at[depth:] = [begin + s["nanos"] / 1000, begin]
            start = at[0]
        return json.dumps({"traceEvents": events, "displayTimeUnit": "ns"})

    def save(self, path: str) -> None:
        """Write chrome() to a file."""
        with open(path, "w", encoding="utf-8") as f:
            f.write(self.chrome())


__all__ = ["explain", "table", "trace", "Explanation", "Table", "Tensor"]
