"""__init__.py -- tensors, gradients, programs and plugins of a dispatchd daemon, as PyTorch has them.

    import dispatchd as dd
    x = dd.rand(2, 3)
    (x @ x.T).relu()

Without a daemon, the first call starts a private one, which ends with the program.  dd.connect() returns a
connection, on which the methods of the protocol can be called; docs/python.md is the tutorial."""

from __future__ import annotations

from importlib import import_module

from .errors import (AbiMismatch, AlreadyExists, Busy, Cancelled, Closed, DaemonLost, DeadlineExceeded, Error, InvalidParams,
                     InvalidRequest, NotFound, ParseError, PluginCrashed, PluginError, ResourceExhausted)
from .tracebacks import install

TYPE_CHECKING = False  # importing typing takes longer than the rest of the package
if TYPE_CHECKING:
    from typing import Any

# name -> the module that has it, which is imported at the first use: json and socket take longer than all of this
_LAZY = {name: module for module, names in {
    "client": "Client Fd share socket_path",
    "connection": "Connection",
    "defaults": "connect current use",
    "wire": "from_wire op_params to_wire",
    "tensors": "Tensor Size",
    "arrays": "tensor as_tensor asarray from_numpy",
    "autograd": "no_grad enable_grad inference_mode set_grad_enabled is_grad_enabled is_inference_mode_enabled autocast",
    "dtypes": "dtype finfo iinfo get_default_dtype",
    "dlpack": "from_dlpack to_dlpack",
    "generators": "Generator manual_seed seed get_rng_state set_rng_state",
    "functions": "is_tensor is_floating_point is_complex numel norm nonzero einsum split tensordot meshgrid unique "
                 "unique_consecutive cdist broadcast_tensors broadcast_shapes atleast_1d atleast_2d atleast_3d block_diag "
                 "cartesian_prod chain_matmul stft",
    "programs": "program Program",
    "show": "explain table trace",
    "store": "save load name_tensor open_tensor unlink_tensor",
    "pipeline": "pipelined synchronize",
    "printing": "set_printoptions",
}.items() for name in names.split()}
_MODULES = {"api", "arrays", "autograd", "client", "connection", "defaults", "dtypes", "nn", "optim", "operators", "plugins",
            "printing", "private", "programs", "show", "tensors", "wire"}
_NAMESPACES = {"linalg", "fft", "special"}
_CONSTANTS = {"inf": float("inf"), "nan": float("nan"), "pi": 3.141592653589793, "e": 2.718281828459045,
              "strided": "strided", "contiguous_format": "contiguous_format", "preserve_format": "preserve_format",
              "channels_last": "channels_last", "channels_last_3d": "channels_last_3d"}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        value = getattr(import_module("." + _LAZY[name], __name__), name)
    elif name in _MODULES:
        return import_module("." + name, __name__)
    elif name in _CONSTANTS:
        value = _CONSTANTS[name]
    elif name.startswith("_"):
        raise AttributeError(name)
    else:
        api, dtypes = (import_module(f".{module}", __name__) for module in ("api", "dtypes"))
        if name in dtypes.PUBLIC:
            value = dtypes.PUBLIC[name]
        elif name in _NAMESPACES:
            value = api.Namespace(name)
        elif name == "ops":
            value = api.Ops()
        elif name in api.function_names():
            value = api.function(name, name)
        else:
            raise AttributeError(f"module 'dispatchd' has no attribute '{name}'" + api.nearest(name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    api, dtypes = (import_module(f".{module}", __name__) for module in ("api", "dtypes"))
    return sorted({*globals(), *_LAZY, "autograd", "nn", "optim", "plugins", *_NAMESPACES, *_CONSTANTS, "ops", *dtypes.PUBLIC, *api.function_names()})


def load_ipython_extension(ipython: Any) -> None:
    """Define the magic %%kernel: C source in a cell is compiled, loaded, and reloaded when it changes."""
    from .magic import register
    register(ipython)


install()
