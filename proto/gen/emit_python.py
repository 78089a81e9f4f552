"""emit_python.py NATIVE_FUNCTIONS_YAML PUBLIC_YAML FOLDER -- writes what the Python package knows of the operators.

    _schemas.py     the schemas by operator, and the public names
    __init__.pyi    the types of the package's functions and of the methods of its Tensor, for type checkers

Both are kept in the repository, so that pip can install the package without a generator; `make map` writes them,
and tests/integration/python/test_package.py compares them with the tables."""

import os
import re

import sys

import ops
from tables import Entry, check, load

HEAD = '''"""_schemas.py -- the operators of aten and their public names; written by proto/gen/emit_python.py."""

# name of an operator -> the schemas of its overloads, a line each
SCHEMAS: dict[str, str] = {
'''


def public(path, bases):
    """Return {kind: names} of public.yaml; each name is that of an operator in `bases`."""
    found = load(path, Entry, "lists of names")
    for kind, names in found.items():
        prefix = "" if kind in ("functions", "methods") else kind + "_"
        for name in names.split():
            check(prefix + name in bases, found.at(kind), f"{kind}: no operator '{prefix + name}'")
    return found


def emit(native_path, public_path):
    """Return the text of the module."""
    bases = {}
    for op in ops.native(native_path).values():
        bases.setdefault(op.base, []).append(op.func)
    names = public(public_path, bases)
    text = [HEAD]
    for base, funcs in bases.items():
        text.append(f"    {base!r}:\n" + "\n".join(f"        {f + chr(10) if f is not funcs[-1] else f!r}" for f in funcs) + ",\n")
    text.append("}\n")
    for kind in names:
        text.append(f"{kind.upper()}: frozenset[str] = frozenset({' '.join(names[kind].split())!r}.split())\n")
    return "".join(text)


# Types of arguments in Python; a number may stand for a tensor.
TYPES = {"Tensor": "_T", "Scalar": "_Number | Tensor", "int": "int", "SymInt": "int", "float": "float", "bool": "bool", "str": "str",
         "ScalarType": "_Dtype", "Device": "str", "Layout": "str", "MemoryFormat": "str", "Generator": "Generator"}
RETURNS = {"Tensor": "Tensor", "Tensor[]": "tuple[Tensor, ...]", "bool": "bool", "int": "int", "float": "float",
           "Scalar": "_Number", "ScalarType": "dtype", "()": "None"}
KEYWORDS = {"from", "lambda", "in", "is", "not", "and", "or", "if", "else", "def", "class", "global"}
STUB = '''"""__init__.pyi -- the types of the package; written by proto/gen/emit_python.py."""

from typing import Any, Callable, Iterator, Sequence, overload

from . import autograd as autograd, dtypes as dtypes, nn as nn, optim as optim, plugins as plugins
from .api import Namespace, Ops
from .arrays import as_tensor as as_tensor, asarray as asarray, from_numpy as from_numpy, tensor as tensor
from .autograd import (autocast as autocast, enable_grad as enable_grad, inference_mode as inference_mode,
                       is_grad_enabled as is_grad_enabled, is_inference_mode_enabled as is_inference_mode_enabled,
                       no_grad as no_grad, set_grad_enabled as set_grad_enabled)
from .client import Client as Client, Fd as Fd, share as share, socket_path as socket_path
from .connection import Connection as Connection
from .defaults import connect as connect, current as current, use as use
from .dlpack import from_dlpack as from_dlpack, to_dlpack as to_dlpack
from .dtypes import dtype as dtype, finfo as finfo, get_default_dtype as get_default_dtype, iinfo as iinfo
from .errors import (AbiMismatch as AbiMismatch, AlreadyExists as AlreadyExists, Busy as Busy, Cancelled as Cancelled,
                     Closed as Closed, DaemonLost as DaemonLost, DeadlineExceeded as DeadlineExceeded, Error as Error,
                     InvalidParams as InvalidParams, InvalidRequest as InvalidRequest,
                     NotFound as NotFound, ParseError as ParseError, PluginCrashed as PluginCrashed, PluginError as PluginError,
                     ResourceExhausted as ResourceExhausted)
from .functions import broadcast_shapes as broadcast_shapes, is_tensor as is_tensor, numel as numel, unique as unique
from .generators import (Generator as Generator, get_rng_state as get_rng_state, manual_seed as manual_seed, seed as seed,
                         set_rng_state as set_rng_state)
from .pipeline import pipelined as pipelined, synchronize as synchronize
from .printing import set_printoptions as set_printoptions
from .programs import Program as Program, program as program
from .show import explain as explain, table as table, trace as trace
from .store import (load as load, name_tensor as name_tensor, open_tensor as open_tensor, save as save,
                    unlink_tensor as unlink_tensor)
from .tensors import Size as Size, Tensor as Tensor
from .wire import from_wire as from_wire, op_params as op_params, to_wire as to_wire

_Number = int | float | complex
_T = Tensor | int | float | complex
_Dtype = dtype | str | type
linalg: Namespace
fft: Namespace
special: Namespace
ops: Ops
inf: float
nan: float
pi: float
e: float
strided: str
contiguous_format: str
preserve_format: str
channels_last: str
channels_last_3d: str
'''
HAND_WRITTEN = {"trace", "tensor", "save", "load"}  # names that other modules define


def python_type(kind):
    """Return the Python type of an argument of a schema's type."""
    optional, kind = kind.endswith("?"), kind.rstrip("?")
    listed = re.fullmatch(r"(\w+\??)\[(\d*)\]", kind)
    if listed:
        inner = python_type(listed[1])
        made = f"Sequence[{inner}]" + (f" | {inner}" if listed[2] or listed[1] in ("int", "SymInt") else "")
    else:
        made = TYPES.get(kind, "Any")
    return made + (" | None" if optional and "None" not in made else "")


def stub(name, schemas):
    """Return the lines of a function's stub: its one signature, or *args where it has several overloads."""
    plain = [s for s in schemas if not any(a.written for a in s.args)] or schemas
    returns = {tuple(ops.without_alias(r).split(" ")[0] for r in s.returns) for s in plain}
    one = returns.pop() if len(returns) == 1 else None
    result = "Any" if one is None else RETURNS.get(one[0], "Any") if len(one) == 1 else "Any" if not one else (
        f"tuple[{', '.join(RETURNS.get(r, 'Any') for r in one)}]")
    result = "None" if one == () else result
    sizes = plain and any(a.type in ("int[]", "SymInt[]") for s in plain for a in s.args)
    if len(plain) > 1 or sizes or any(a.name in KEYWORDS for a in plain[0].args):
        return f"def {name}(*args: Any, **kwargs: Any) -> {result}: ...\n"
    parts, out = [], any(a.written for s in schemas for a in s.args)
    for text in plain[0].parts:
        if text == "*":
            parts.append("*")
            continue
        a = next(a for a in plain[0].args if text.split("=")[0].endswith(" " + a.name))
        label = "input" if a.name == "self" else a.name
        parts.append(f"{label}: {python_type(a.type)}" + (" = ..." if a.default else ""))
    if out and "*" not in parts:
        parts.append("*")
    if out:
        parts.append("out: Any = ...")
    return f"def {name}({', '.join(parts)}) -> {result}: ...\n"


def stubs(native_path, public_path):
    """Return the text of __init__.pyi."""
    bases = {}
    for op in ops.native(native_path).values():
        bases.setdefault(op.base, []).append(op)
    names = public(public_path, bases)
    dtypes = ("uint8 int8 int16 short int32 int int64 long float16 half bfloat16 float32 float float64 double complex64 cfloat "
              "complex128 cdouble bool byte char").split()
    builtin = {"int", "float", "bool"}
    text = [STUB, *(f"{d}: dtype\n" for d in dtypes if d not in builtin)]
    text += ["\n", *(stub(n, bases[n]) for n in names["functions"].split() if n not in HAND_WRITTEN)]
    return "".join(text)


def main(native_path, public_path, folder):
    for name, text in (("_schemas.py", emit(native_path, public_path)), ("__init__.pyi", stubs(native_path, public_path))):
        path = os.path.join(folder, name)
        with open(path + ".new", "w", encoding="utf-8") as f:
            f.write(text)
        os.replace(path + ".new", path)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
