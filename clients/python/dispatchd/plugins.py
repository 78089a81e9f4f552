"""plugins.py -- dispatchd.plugins: plugins are loaded, reloaded and unloaded; C source becomes a plugin."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
from typing import Any

from . import private
from .connection import Connection
from .defaults import current
from .errors import PluginError

_folder: tempfile.TemporaryDirectory[str] | None = None


class Object:
    """An object of a plugin: packed weights, a plan, a work handle; operators take it as an argument."""

    __slots__ = ("_c", "_h", "kind", "plugin")

    def __init__(self, c: Connection, answer: dict[str, Any]) -> None:
        self._c, self._h = c, answer["object"]
        self.kind, self.plugin = answer.get("kind"), answer.get("plugin")

    def _handle_on(self, c: Connection) -> str:
        self._c.session.check(c, "an object")
        if c is not self._c and c.pipelined:
            c.holding(self)
        return f'{{"object":{self._h}}}'

    def __del__(self) -> None:
        c = getattr(self, "_c", None)
        if c is not None:
            c.session.forget(c, "object.release", "objects", [self._h])

    def __repr__(self) -> str:
        return f"<{self.kind} of plugin {self.plugin}>"


def load(path: "str | os.PathLike[str]", replace: str = "stack") -> dict[str, Any]:
    """Load a plugin from a file, and return what it brings.  A path without a folder is looked up by the daemon."""
    text = os.fspath(path)
    return current().call("plugin.load", path=os.path.abspath(text) if os.sep in text else text, replace=replace)  # type: ignore[no-any-return]


def reload(plugin: str, share: "float | None" = None, **canary: Any) -> dict[str, Any]:
    """Load a plugin's file again in the place of its loaded code; calls that run finish on the old code.  `share`: the
    new code is a canary, which serves that share of the calls first, until promote() or rollback(); `differences`,
    `rtol` and `atol` are those of plugin.reload."""
    if share is not None:
        canary["share"] = share
    return current().call("plugin.reload", plugin=plugin, **canary)  # type: ignore[no-any-return]


def promote(plugin: str) -> dict[str, Any]:
    """Let a plugin's canary replace its loaded code."""
    return current().call("plugin.promote", plugin=plugin)  # type: ignore[no-any-return]


def rollback(plugin: str) -> dict[str, Any]:
    """Unload a plugin's canary."""
    return current().call("plugin.rollback", plugin=plugin)  # type: ignore[no-any-return]


def unload(plugin: str, force: bool = False) -> dict[str, Any]:
    """Remove a plugin."""
    return current().call("plugin.unload", plugin=plugin, force=force)  # type: ignore[no-any-return]


def loaded() -> list[dict[str, Any]]:
    """Return the loaded plugins."""
    return current().call("plugin.list")["plugins"]  # type: ignore[no-any-return]


def describe(path: "str | os.PathLike[str]") -> dict[str, Any]:
    """Return what a plugin's file says that it brings; none of its code runs."""
    return current().call("plugin.describe", path=os.path.abspath(os.fspath(path)))  # type: ignore[no-any-return]


def include_folder() -> str:
    """Return the folder of dispatchd/plugin.h: $DISPATCHD_INCLUDE, or beside the daemon's program, or the system's."""
    named = os.environ.get("DISPATCHD_INCLUDE")
    if named:
        return named
    bases = [os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "..")]
    try:
        bases.append(os.path.join(os.path.dirname(os.path.realpath(private.program())), ".."))
    except FileNotFoundError:
        pass
    # the first is that of a source tree, the second that of an installation
    beside = [os.path.abspath(os.path.join(base, sub)) for base in bases for sub in ("libdispatch/include", "include")]
    for folder in (*beside, "/usr/local/include", "/usr/include"):
        if os.path.exists(os.path.join(folder, "dispatchd", "plugin.h")):
            return folder
    raise FileNotFoundError("dispatchd/plugin.h is not there: install libdispatchd-dev, or name its folder in $DISPATCHD_INCLUDE")


def compile(source: str, name: str = "kernel", flags: "tuple[str, ...]" = ("-O2",)) -> str:
    """Compile C source to a plugin and return the path of the file, which lives as long as this program.

    PluginError: the compiler has found errors, which are its message."""
    global _folder
    if not name or os.path.basename(name) != name or "\0" in name:
        raise ValueError(f"the name of a plugin's file is {name!r}: it takes no folder, as in \"kernel\"")
    if _folder is None:
        _folder = tempfile.TemporaryDirectory(prefix="dispatchd-kernels-")
        atexit.register(_folder.cleanup)  # without a ResourceWarning
    compiler = os.environ.get("CC", "cc").split()
    if shutil.which(compiler[0]) is None:
        raise FileNotFoundError(f"there is no C compiler '{compiler[0]}': install gcc, or name one in $CC")
    path = os.path.join(_folder.name, name)
    with open(path + ".c", "w", encoding="utf-8") as f:
        f.write(source)
    done = subprocess.run([*compiler, "-std=gnu11", "-shared", "-fPIC", "-I", include_folder(), *flags, path + ".c", "-o", path + ".new"],
                          capture_output=True, text=True)
    if done.returncode:
        raise PluginError({"code": -32000, "message": f"{name}.c does not compile:\n{done.stderr.replace(path, name)}",
                           "data": {"type": "PluginError"}})
    os.rename(path + ".new", path + ".so")
    return path + ".so"


def load_source(source: str, name: str = "kernel") -> dict[str, Any]:
    """Compile C source and load it; if the plugin of that file is loaded already, reload it.  Returns what it brings."""
    path = compile(source, name)
    c = current()
    for p in c.call("plugin.list")["plugins"]:
        if p["path"] == path and not p["kept"]:
            return c.call("plugin.reload", plugin=p["plugin"])  # type: ignore[no-any-return]
    return c.call("plugin.load", path=path)  # type: ignore[no-any-return]
