"""layouts.py -- how a tensor lies in memory: the part of the tensor that tells memory formats, layouts and kinds of devices."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Layout:
    """A base of Tensor: what is known of it without its elements."""

    __slots__ = ()

    if TYPE_CHECKING:  # Tensor has them
        @property
        def _info(self) -> dict[str, Any]: ...
        @property
        def shape(self) -> tuple[int, ...]: ...
        @property
        def device(self) -> str: ...

    def storage_offset(self) -> int:
        """Return the index in the storage of the first element."""
        return int(self._info["storage_offset"])

    def is_contiguous(self, memory_format: str = "contiguous_format") -> bool:
        """Do the elements lie in memory in row-major order, or in the order of `memory_format`?"""
        shape = self.shape
        order = list(range(len(shape)))[::-1]
        if memory_format in ("channels_last", "channels_last_3d"):
            order = [1, *order[:-2], 0]
        step = 1
        for d in order:
            if shape[d] != 1 and self._info["strides"][d] != step and 0 not in shape:
                return False
            step *= shape[d]
        return True

    def _has_key(self, prefix: str) -> bool:
        return any(key.startswith(prefix) for key in self._info["keys"])

    @property
    def layout(self) -> str:
        """Layout of the elements: dispatchd.strided, or that of a plugin's tensors by PyTorch's name."""
        return ("sparse_csr" if self.is_sparse_csr else "sparse_coo" if self.is_sparse else "_mkldnn" if self.is_mkldnn else
                "strided")

    @property
    def is_sparse(self) -> bool:
        """Are the elements those of a plugin's sparse tensor, with coordinates?"""
        return self._has_key("Sparse") and not self.is_sparse_csr

    @property
    def is_sparse_csr(self) -> bool:
        """Are the elements those of a plugin's sparse tensor, in compressed rows?"""
        return self._has_key("SparseCsr")

    @property
    def is_quantized(self) -> bool:
        """Are the elements those of a plugin's quantized tensor?"""
        return self._has_key("Quantized")

    @property
    def is_mkldnn(self) -> bool:
        """Are the elements in a layout of oneDNN?"""
        return self._has_key("Mkldnn")

    @property
    def is_cpu(self) -> bool:
        """Is the device the CPU?"""
        return self.device == "cpu"

    @property
    def is_cuda(self) -> bool:
        """Is the device a CUDA one?"""
        return self.device.partition(":")[0] == "cuda"

    @property
    def is_meta(self) -> bool:
        """Has the tensor a shape and a dtype but no memory?"""
        return self.device.partition(":")[0] == "meta"
