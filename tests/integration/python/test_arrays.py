"""test_arrays.py -- lists, NumPy arrays, buffers and DLPack: into the daemon and back."""

import array
import gc
import os
import pickle
import signal
import subprocess
import sys
import warnings

from harness import BUILD, ROOT, equal, fails, main

try:
    import numpy as np
except ImportError:
    print("skipped: numpy is not there\n0 passed, 0 failed")
    sys.exit()
import dispatchd as dd

DTYPES = ("uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128", "bool")


def test_every_dtype_and_layout_comes_back():
    rnd = np.random.default_rng(1)
    for name in DTYPES:
        for shape in ((), (3,), (0, 2), (4, 5), (2, 3, 4), (200, 300)):
            a = (rnd.random(shape) * 100).astype(name)
            for b in (a, a.T, np.asfortranarray(a), a[..., ::-1] if a.ndim else a):
                x = dd.tensor(b)
                equal((x.dtype, tuple(x.shape)), (name, b.shape))
                equal(np.array_equal(x.numpy(), b), True, f"{name} {shape}")
                equal(x.numpy().dtype, b.dtype)
                equal(np.array_equal(np.array(x.tolist(), dtype=name).reshape(b.shape), b), True, f"{name} {shape} as a list")
    readonly = np.arange(5)
    readonly.flags.writeable = False
    equal(dd.tensor(readonly).tolist(), [0, 1, 2, 3, 4])


def test_a_tensor_is_taken_as_it_is():
    x = dd.ones(2, requires_grad=True)
    y = x * 2
    for given in ({}, {"dtype": "float32"}, {"device": "cpu"}, {"dtype": np.float32, "device": "cpu"}):
        equal((dd.as_tensor(x, **given) is x, dd.as_tensor(y, **given) is y), (True, True), str(given))
    wide = dd.as_tensor(y, dtype=dd.float64)
    equal((wide.dtype, wide.requires_grad, wide.is_leaf), ("float64", True, False), "the history is kept")
    equal(dd.as_tensor([1, 2], dtype="int32").dtype, "int32")
    a = np.ones(2)
    t = dd.as_tensor(a)
    a[0] = 5
    equal(t.tolist(), [1.0, 1.0], "an array is copied")


def test_asarray():
    x, w = dd.ones(2, requires_grad=True), dd.ones(2)
    y = x * 2
    for of in (x, y):
        equal(dd.asarray(of, requires_grad=True) is of, True, "with its history")
        copied = dd.asarray(of, copy=True, requires_grad=True)
        equal((copied is of, copied.requires_grad, copied.is_leaf), (False, True, False))
        equal(dd.asarray(of, copy=True).requires_grad, False)
        wide = dd.asarray(of, dtype="float64")
        equal((wide.dtype, wide.requires_grad), ("float64", False))
        equal(dd.asarray(of, dtype="float64", requires_grad=True).grad_fn, "aten::_to_copy")
    shared = dd.asarray(y, copy=False)
    shared[0] = 7
    equal((shared.requires_grad, y.requires_grad, y.tolist()), (False, True, [7.0, 2.0]), "the memory is y's")
    equal((dd.asarray(x) is x, x.requires_grad), (True, False), "a leaf is returned itself")
    equal((dd.asarray(w) is w, dd.asarray(w, requires_grad=True) is w, w.requires_grad), (True, True, True))
    for made, dtype, values in (
            (dd.asarray([1, 2]), "int64", [1, 2]), (dd.asarray(3.5), "float32", 3.5), (dd.asarray(range(2)), "int64", [0, 1]),
            (dd.asarray(np.ones(2)), "float64", [1.0, 1.0]), (dd.asarray(np.float64(3)), "float64", 3.0),
            (dd.asarray(np.ones(2), dtype=dd.int32), "int32", [1, 1]), (dd.asarray(dd.to_dlpack(dd.ones(2))), "float32", [1.0, 1.0]),
            (dd.asarray(array.array("f", [1, 2])), "float32", [1.0, 2.0]), (dd.asarray(b"\1\0\2\0", dtype="int16"), "int16", [1, 2]),
            (dd.asarray(memoryview(b"\1\0\2\0")[::2], dtype="uint8"), "uint8", [1, 2])):
        equal((made.dtype, made.tolist(), made.requires_grad), (dtype, values, False))
    equal(dd.asarray([1.0], requires_grad=True).requires_grad, True)
    fails(lambda: dd.asarray(w, dtype="float64", copy=False), ValueError, "float32", "float64")
    fails(lambda: dd.asarray(w, device="meta", copy=False), ValueError, "cpu", "meta")
    for of in ([1, 2], np.ones(2), 3, b"abcd"):
        fails(lambda: dd.asarray(of, copy=False), ValueError, type(of).__name__)
    fails(lambda: dd.asarray(b"abc"), ValueError, "3 bytes", "float32", "4")
    fails(lambda: dd.asarray([1], requires_grad=True), RuntimeError, "floating")


def test_views_keep_their_strides():
    x = dd.arange(24).reshape(2, 3, 4)
    for v in (x, x.permute(2, 0, 1), x[:, 1:, ::2], x[1], x.expand(5, 2, 3, 4)):
        equal(v.numpy().tolist(), v.tolist())
    equal(x.numpy().strides, (96, 32, 8))


def test_memory_is_shared_and_read_only():
    x = dd.zeros(100, 100)
    a = x.numpy()
    equal((a.flags.writeable, a.base is not None), (False, True))
    fails(lambda: a.__setitem__(0, 1), ValueError, "read-only")
    x.add_(3)
    equal(a[5, 5], 3.0, "a later write is seen")
    b = x.numpy(writable=True)
    b[0, 0] = 99
    equal((b[0, 0], x[0, 0].item(), a[0, 0]), (99.0, 3.0, 3.0), "a private array")
    equal(np.asarray(x).sum(), 30000.0)
    equal((np.ones(2) + dd.ones(2)).tolist(), [2.0, 2.0], "array + tensor is a tensor")
    equal((dd.ones(3) + np.float64(2)).dtype, "float32", "NumPy's scalars are numbers")
    equal(dd.add(dd.ones(2), np.arange(2)).tolist(), [1.0, 2.0], "arrays are arguments")


def test_what_requires_a_gradient_is_detached_first():
    x = dd.ones(2, requires_grad=True)
    for t in (x, x + 1, x[:0], x.expand(100000, 2), x * 1j):
        for f in (lambda: t.numpy(), lambda: np.asarray(t), lambda: np.array(t, dtype="float64"), lambda: t.numpy(writable=True)):
            fails(f, RuntimeError, "requires grad", "detach()")
        equal(np.array_equal(t.numpy(force=True), t.detach().numpy()), True)
        for mode in (dd.no_grad, dd.inference_mode):
            with mode():
                equal(t.numpy().shape, tuple(t.shape))
        fails(lambda: t.numpy(), RuntimeError, "detach()")
    equal(x.requires_grad_(False).numpy().tolist(), [1.0, 1.0], "no longer")
    equal(dd.ones(2).requires_grad_().detach().numpy().tolist(), [1.0, 1.0])


def test_a_second_array_copies_nothing():
    x = dd.rand(1000, 1000)
    a, b = x.numpy(), x.numpy()
    equal(a.ctypes.data, b.ctypes.data, "one map")


def test_arrays_survive_their_tensor_connection_and_daemon():
    c = dd.connect()
    dd.use(c)
    x = dd.arange(100000)
    a = x.numpy()
    tail = a[-3:]
    del x, a
    gc.collect()
    dd.ones(200000).sum().item()
    equal(tail.tolist(), [99997, 99998, 99999], "after its tensor")
    whole = dd.arange(100000).numpy()
    os.kill(c.call("server.hello")["pid"], signal.SIGKILL)
    equal((tail.tolist(), int(whole.sum())), ([99997, 99998, 99999], 4999950000), "after the daemon")
    c.close()
    equal(int(whole.sum()), 4999950000, "after the connection")


def test_maps_end_with_their_arrays():
    for _ in range(2000):
        dd.ones(10).numpy()
    equal(len(dd.current()._kept) < 3, True, "maps that are kept")


def test_lists():
    equal(str(dd.tensor([1, 2]).dtype), "int64")
    equal(str(dd.tensor([1, 2.5]).dtype), "float32")
    equal(str(dd.tensor([True, False]).dtype), "bool")
    equal(str(dd.tensor([1j, 2]).dtype), "complex64")
    equal(dd.tensor(3).shape, ())
    equal(tuple(dd.tensor([[], []]).shape), (2, 0))
    equal(dd.tensor([dd.tensor(1), dd.tensor(2)]).tolist(), [1, 2])
    equal(dd.tensor([1.5, -2.25, 3e38], dtype=dd.bfloat16).tolist()[:2], [1.5, -2.25])
    equal(dd.tensor(range(4)).tolist(), [0, 1, 2, 3])
    equal(dd.tensor([2 ** 62, -2 ** 63]).tolist(), [2 ** 62, -2 ** 63])
    equal(dd.tensor(array.array("d", [1, 2])).dtype, "float64")
    equal(dd.tensor(b"ab").tolist(), [97, 98])
    fails(lambda: dd.tensor([[1, [2]]]), ValueError, "ragged")
    fails(lambda: dd.tensor([1, None]), TypeError, "NoneType")


def test_the_dtype_of_a_list_is_pytorchs():
    """Every pair of elements: the dtypes of NumPy's numbers and of tensors count, and only Python's numbers have a default."""
    try:
        import torch
    except ImportError:
        print("skipped: torch is not there")
        return
    elements = [True, 1, 1.0, 1j, *(np.dtype(n).type(1) for n in DTYPES), *DTYPES]

    def of(module, v):
        return module.ones((), dtype=getattr(module, v)) if isinstance(v, str) else v

    def made(module, *values):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch's, about arrays in lists
            x = module.tensor(values)
        return str(x.dtype).removeprefix("torch."), x.tolist()
    for v in elements:
        equal(made(dd, of(dd, v)), made(torch, of(torch, v)), f"[{v!r}]")
        equal(made(dd, of(torch, v)), made(torch, of(torch, v)), f"[{v!r}] of PyTorch")
        for w in elements:
            equal(made(dd, [of(dd, v)], (of(dd, w),)), made(torch, [of(torch, v)], (of(torch, w),)), f"[[{v!r}], ({w!r},)]")
    arrays = [[np.ones(1, n)] for n in DTYPES]
    for v in arrays:
        for w in [*arrays, [[True]], [[1]], [[1.0]], [(1j,)], [[np.float64(1)]]]:
            equal(made(dd, v, w), made(torch, v, w), f"[{v!r}, {w!r}]")
            equal(made(dd, v[0], w[0]), made(torch, v[0], w[0]), f"[{v[0]!r}, {w[0]!r}]")
    for v in (np.uint16(3), np.longdouble(1), np.ones(1, "u2")):
        fails(lambda: dd.tensor([v]), TypeError, str(v.dtype), "float32")
    equal(dd.tensor([np.uint16(3), 4.5], dtype="int32").tolist(), [3, 4], "a dtype that is given")
    equal(dd.tensor([np.float64(0.1)]).item(), 0.1)
    equal(dd.tensor([np.float64(1), dd.ones(1), np.array(2)]).tolist(), [1.0, 1.0, 2.0], "of one element")


def test_what_is_refused():
    fails(lambda: dd.tensor(np.zeros(2, dtype=">f4")), TypeError, ">f4", "<f4", "astype")
    fails(lambda: dd.tensor(np.array(["a"])), TypeError, "str", "float32")
    fails(lambda: dd.tensor(np.zeros(2, dtype="uint32")), TypeError, "uint32")
    fails(lambda: dd.from_numpy([1]), TypeError, "list")
    fails(lambda: dd.from_dlpack(3), TypeError, "__dlpack__", "int")

    class Foreign:
        def __dlpack_device__(self):
            return 2, 0
    fails(lambda: dd.from_dlpack(Foreign()), BufferError, "CUDA")


def test_dlpack():
    x = dd.arange(12.0).reshape(3, 4)
    a = np.from_dlpack(x)
    equal(a.tolist(), x.tolist())
    equal(dd.from_dlpack(np.arange(6).reshape(2, 3).T).tolist(), [[0, 3], [1, 4], [2, 5]])
    capsule = x.__dlpack__()
    equal(dd.from_dlpack(capsule).tolist(), x.tolist())
    fails(lambda: dd.from_dlpack(capsule), TypeError, "used")
    del capsule, a
    from dispatchd import dlpack
    x.__dlpack__()
    gc.collect()
    equal(len(dlpack._exported), 0, "exports that are left")


def test_bfloat16_is_raw_without_ml_dtypes():
    x = dd.tensor([1.0, -2.0], dtype=dd.bfloat16)
    equal(x.numpy().view("uint16").tolist(), [0x3F80, 0xC000])
    equal(dd.tensor(np.array([0x3F80], dtype="uint16"), dtype="bfloat16").tolist(), [1.0])


def test_pickle():
    x = dd.rand(3, 4)
    equal(pickle.loads(pickle.dumps(x)).tolist(), x.tolist())


def test_numpy_is_not_needed():
    code = ("import sys; sys.modules['numpy'] = None\nimport dispatchd as dd\n"
            "print((dd.ones(2, 3) @ dd.ones(3, 2)).tolist(), dd.tensor([[1, 2]])[0], dd.tensor(b'ab').sum().item())")
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60, env={
        **os.environ, "PYTHONPATH": os.path.join(ROOT, "clients", "python"), "DISPATCHD": os.path.join(BUILD, "dispatchd")})
    equal((done.stdout, done.stderr), ("[[3.0, 3.0], [3.0, 3.0]] tensor([1, 2]) 195\n", ""))


main()
