"""schema.py -- what the package reads in the schema of an operator: names of arguments, and what is returned."""

from __future__ import annotations

import re
from typing import NamedTuple


class Argument(NamedTuple):
    """An argument: its name, type ("Tensor", "int[2]?") and default as text, or None."""

    name: str
    type: str
    default: str | None
    written: bool
    keyword: bool  # can only be given by name


class Schema(NamedTuple):
    """One overload."""

    name: str  # "add.Tensor"
    arguments: list[Argument]
    returns: list[tuple[str, str]]  # (type, name or "")
    text: str

    @property
    def out(self) -> list[str]:
        """Names of the arguments of an out= overload that it writes."""
        return [a.name for a in self.arguments if a.written and a.keyword]

    @property
    def single(self) -> bool:
        """Is there one return, a new tensor?"""
        return len(self.returns) == 1 and self.returns[0][0] == "Tensor"


_SPLIT = re.compile(r", (?![^\[(]*[\])])")
_ALIAS = re.compile(r"\([a-z](?:! ?)?(?: ?-> ?[^)]*|\|[^)]*)?\)")


def parse(text: str) -> Schema:
    """Return the schema that `text` spells."""
    head, _, returns = text.rpartition(" -> ")
    name, _, arguments = head.partition("(")
    found = []
    keyword = False
    for part in _SPLIT.split(arguments[:-1]) if arguments != ")" else []:
        if part == "*":
            keyword = True
            continue
        declared, _, default = part.partition("=")
        kind, _, label = declared.rpartition(" ")
        found.append(Argument(label, _ALIAS.sub("", kind), default or None, "!" in kind, keyword))
    inner = returns[1:-1] if returns.startswith("(") else returns
    pairs = []
    for part in _SPLIT.split(inner) if inner else []:
        bare = _ALIAS.sub("", part).strip().split(" ")
        pairs.append((bare[0] if "!" not in part else bare[0] + "!", bare[1] if len(bare) > 1 else ""))
    return Schema(name, found, pairs, text)
