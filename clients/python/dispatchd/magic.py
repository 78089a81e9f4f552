"""magic.py -- the magic %%kernel of IPython: C source in a cell becomes a plugin."""

from __future__ import annotations

from typing import Any

from .errors import PluginError
from .plugins import load_source


def register(ipython: Any) -> None:
    """Define %%kernel [NAME] in an IPython shell."""
    def kernel(line: str, cell: str) -> None:
        """Compile C source, and load it as a plugin, or reload it if a cell of that name was loaded before."""
        name = line.strip() or "kernel"
        if not name.isidentifier():
            raise ValueError(f"%%kernel takes a name for the plugin's file, such as %%kernel scale, not {name!r}")
        try:
            done = load_source(cell, name)
        except PluginError as e:
            print(e.message)
            return
        what = "reloaded" if "old" in done else "loaded"
        print(f"plugin {done['plugin']} {done['version']} {what}: {done['defs']} operators, {done['impls']} kernels, "
              f"{done['millis']:.1f} ms")
    ipython.register_magic_function(kernel, "cell", "kernel")
