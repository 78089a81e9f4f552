"""__init__.py -- dispatchd.nn: functional, and the bounds of gradients of torch.nn.utils."""

from __future__ import annotations

from . import functional, utils

__all__ = ["functional", "utils"]
