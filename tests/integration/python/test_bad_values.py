"""test_bad_values.py -- values that the Python package does not take: each is one of Python's exceptions, which names both
sides and changes nothing."""

import array
import copy
import ctypes
import fractions
import functools
import mmap
import os
import pathlib
import pickle
import sys
import tempfile

from harness import BUILD, contains, equal, main

try:
    import numpy as np
except ImportError:
    print("skipped: numpy is not there\n0 passed, 0 failed")
    sys.exit()
try:
    import torch
except ImportError:
    torch = None
import dispatchd as dd

x, a = dd.ones(2, 3), dd.arange(10)
leaf = dd.ones(2, requires_grad=True)


class Foreign:
    """A tensor of another library on a device of kind `kind`."""

    def __init__(self, kind):
        self.kind = kind

    def __dlpack_device__(self):
        return self.kind, 0

    def __dlpack__(self, stream=None):
        raise AssertionError("the memory of another device is asked for")


class Exported:
    """A tensor of another library on the CPU."""

    def __dlpack__(self, stream=None):
        return torch.ones(2).__dlpack__()


def endless():
    made = []
    made.append(made)
    return made


def nested(depth):
    return functools.reduce(lambda inner, _: [inner], range(depth), 1)


class Index:
    def __index__(self):
        return "a"


# a call, the exception, and parts of its message
MADE_OF = [
    (lambda: dd.tensor([[1, 2], [3]]), ValueError, "length 2 at dim 1", "got 1"),
    (lambda: dd.tensor([[1, 2], 3]), ValueError, "length 2", "int 3", "ragged"),
    (lambda: dd.tensor([1, [3]]), ValueError, "number at dim 1", "length 1"),
    (lambda: dd.tensor([np.ones(2), np.ones(3)]), ValueError, "(2,) and (3,)", "ragged"),
    (lambda: dd.tensor([dd.ones(2), dd.ones(2)]), TypeError, "[2]", "stack()"),
    (lambda: dd.tensor(endless()), ValueError, "64"), (lambda: dd.tensor(nested(5000)), ValueError, "64"),
    (lambda: dd.tensor(None), TypeError, "NoneType"), (lambda: dd.tensor({1, 2}), TypeError, "set"),
    (lambda: dd.tensor("text"), TypeError, "str"), (lambda: dd.tensor(v for v in (1, 2)), TypeError, "generator"),
    (lambda: dd.tensor(2 ** 63), RuntimeError, str(2 ** 63), "int64"),
    *[(lambda v=v, d=d: dd.tensor([v, 1.5], dtype=d), RuntimeError, f"{v.bit_length()} bits", d)
      for v in (10 ** 400, 10 ** 5000) for d in ("float32", "bfloat16", "complex64", "int8")],
    (lambda: dd.tensor([1, range(2)]), ValueError, "ragged"), (lambda: dd.to_dlpack(3), TypeError, "int"),
    (lambda: dd.tensor((ctypes.c_uint16 * 2)()), TypeError, "'<H'"),
    (lambda: dd.tensor((ctypes.c_float.__ctype_be__ * 2)()), TypeError, "'>f'"),
    (lambda: dd.tensor([float("nan")], dtype=dd.int32), ValueError, "nan", "int32"),
    (lambda: dd.tensor([float("-inf")], dtype=dd.int64), ValueError, "-inf", "int64"),
    *[(lambda d=d: dd.tensor([1j], dtype=d), TypeError, "1j", d) for d in ("float32", "int32", "bfloat16")],
    (lambda: dd.tensor(np.arange(3, dtype=">i4")), TypeError, "'>i4'", "byte order", "x.astype('<i4')"),
    (lambda: x + np.array(3, dtype=">f8"), TypeError, "'>f8'"), (lambda: a[np.arange(3, dtype=">i8")], TypeError, "'>i8'"),
    *[(lambda k=k: dd.tensor(np.zeros(2, dtype=k)), TypeError, np.dtype(k).name, "int64", "astype")
      for k in ("u2", "u8", "U3", "M8[D]", "O", np.longdouble)],
    (lambda: dd.tensor(memoryview(np.arange(3, dtype=">i4"))), TypeError, "'>i'"),
    (lambda: dd.tensor(array.array("I", [1])), TypeError, "'I'"),
    (lambda: dd.tensor(Foreign(2)), BufferError, "CUDA", "CPU"), (lambda: dd.from_dlpack(Foreign(99)), BufferError, "99"),
    (lambda: dd.from_dlpack(3), TypeError, "int"), (lambda: leaf.__dlpack__(), BufferError, "gradient", "detach()"),
    (lambda: dd.ones(1, dtype=dd.bool).__dlpack__(), BufferError, "bool"),
    (lambda: dd.Tensor([1]), TypeError, "dispatchd.tensor(data)"), (lambda: dd.tensor([1.0], device="cuda"), RuntimeError, "CUDA"),
]
if torch is not None:
    MADE_OF += [
        (lambda: dd.tensor(torch.eye(2).to_sparse()), TypeError, "sparse_coo", "to_dense()"),
        (lambda: dd.tensor([torch.ones(2)]), TypeError, "[2]", "stack()"),
        (lambda: dd.tensor(Exported(), device="none"), TypeError, "'none'"),
        (lambda: dd.tensor(torch.ones(2, device="meta")), TypeError, "meta", "CPU"),
        (lambda: dd.tensor(torch.quantize_per_tensor(torch.ones(2), 1.0, 0, torch.qint8)), TypeError, "qint8"),
    ]
CALLS = [
    (lambda: x + [1], TypeError, "list"), (lambda: None + x, TypeError, "NoneType"), (lambda: x < None, TypeError, "NoneType"),
    (lambda: x + fractions.Fraction(1, 2), TypeError, "Fraction"), (lambda: x + 2 ** 63, ValueError, str(2 ** 63), "int64"),
    (lambda: "a" in x, TypeError, "str"), (lambda: pow(x, 2, 3), TypeError, "Tensor.__pow__()"),
    (lambda: float(x), ValueError, "[2, 3]"), (lambda: [1][dd.tensor(1.0)], TypeError, "integer"),
    (lambda: int(dd.tensor(1j)), TypeError, "complex"),
    (lambda: a["a"], IndexError, "str"), (lambda: a[1.5], IndexError, "float"), (lambda: a[100], IndexError, "100", "[10]"),
    (lambda: x[..., ...], IndexError, "ellipsis"), (lambda: a[::-1], ValueError, "flip()"), (lambda: a[::0], ValueError, "step"),
    (lambda: a[1 << 70], IndexError, "71 bits", "[10]"), (lambda: x[0, -10 ** 5000], IndexError, "16610 bits", "[2, 3]"),
    (lambda: a[Index()], IndexError, "Index"), (lambda: a[Index():], TypeError, "Index"), (lambda: dd.einsum(x), TypeError, "equation"),
    (lambda: x + 10 ** 5000, ValueError, "16610 bits", "int64"), (lambda: a[1.5:], TypeError, "float"), (lambda: a[[1, 20]], IndexError, "20", "10"),
    (lambda: a[dd.ones(3, dtype=dd.bool)], IndexError, "[3]", "[10]"), (lambda: a.__setitem__(slice(3), dd.ones(4)), RuntimeError, "3", "4"),
    (lambda: a.__setitem__(0, "a"), TypeError, "str"), (lambda: leaf.__setitem__(0, 1), RuntimeError, "leaf"),
    (lambda: dd.zeros(-1), RuntimeError, "-1"), (lambda: dd.zeros(1 << 44), MemoryError, str(1 << 46)),
    (lambda: dd.zeros(1.5), TypeError, "SymInt[]", "float"), (lambda: dd.zeros(2, color=3), TypeError, "'color'", "layout"),
    (lambda: dd.zeros(2, dtype="f4"), TypeError, "'f4'"), (lambda: dd.zeros(2, dtype=object), TypeError, "type"),
    (lambda: x.stride(9), IndexError, "[-2, 1]", "9"), (lambda: x.size("a"), TypeError, "'str'"),
    (lambda: x.view(7), RuntimeError, "[7]", "6"), (lambda: x.to("junk"), TypeError, "'junk'", "cpu"),
    (lambda: setattr(x, "grad", 3), TypeError, "tensor", "number"), (lambda: setattr(x, "grad", dd.ones(7)), RuntimeError, "[7]", "[2, 3]"),
    (lambda: (leaf * 2).backward(3), TypeError, "tensor", "number"), (lambda: dd.autograd.grad(3, leaf), TypeError, "int"),
    (lambda: dd.autograd.grad([], []), ValueError, "0 and 0"), (lambda: dd.autograd.backward([3]), TypeError, "int"),
    (lambda: leaf.register_hook(print), TypeError, "name of an operator"), (lambda: leaf.register_hook("aten::no"), dd.NotFound, "aten::no"),
    (lambda: dd.einsum("i\0", x), ValueError, "NUL at index 1"), (lambda: dd.einsum("\ud800", x), ValueError, "index 0"),
    (lambda: dd.ops.no.way(x, **{"a\nb": 1}), dd.NotFound, "no::way"), (lambda: getattr(dd.ops, 'a"b').way(x), dd.NotFound, 'a"b::way'),
    (lambda: dd.ops.no.way(x, **{"\ud800": 1}), ValueError, "index 0"), (lambda: getattr(dd.ops.no, "a\0")(x), ValueError, "NUL"),
    (lambda: dd.explain(dd.add, x, **{'a"\n': 1}), TypeError, 'a"'), (lambda: dd.sum(x, axis=0, dim=1), TypeError, "'axis' and 'dim'"),
    (lambda: dd.add(x, {"data": [float("nan")]}), ValueError, "literal", '"nan"'),
    (lambda: dd.add(x, {1: 2}), TypeError, "'1'"),
    (lambda: dd.manual_seed(2 ** 80), ValueError, str(2 ** 80)), (lambda: dd.manual_seed("a"), ValueError, "'a'"),
    (lambda: dd.rand(2, generator=3), TypeError, "Generator", "int"), (lambda: dd.set_printoptions(precision="a"), TypeError, "'a'"),
    (lambda: dd.explain(3), TypeError, "int"), (lambda: dd.table("aten::add", keys=["None"]), dd.NotFound, "'None'"),
    (lambda: dd.plugins.load_source("", "../a"), ValueError, "'../a'"), (lambda: dd.use(3), TypeError, "int"),
    (lambda: dd.connect(3), TypeError, "int"), (lambda: dd.connect(pathlib.Path("/no/where")), FileNotFoundError, "/no/where"),
    (lambda: dd.name_tensor(3, "a"), TypeError, "int"), (lambda: dd.name_tensor(x, "\0"), ValueError, "string"),
    (lambda: dd.load("/no/where"), FileNotFoundError, "/no/where"), (lambda: dd.load("/"), IsADirectoryError, "'/'"),
    (lambda: dd.save([x], "/no/where"), TypeError, "list"), (lambda: dd.save({1: x}, "/no/where"), TypeError, "{1: 'Tensor'}"),
    (lambda: dd.save({"a": x}, "/no/where"), FileNotFoundError, "/no/where"),
]


def refused(calls):
    before = dd.current().call("server.status")["tensors"]
    for n, (f, kind, *parts) in enumerate(calls):
        for pipelined in False, True:
            try:
                if pipelined:
                    with dd.pipelined():
                        got = f()
                        dd.synchronize()
                else:
                    got = f()
            except kind as e:
                for part in parts:
                    contains(str(e), part, f"message of call {n}")
            except BaseException as e:
                raise AssertionError(f"call {n} {parts}: got {type(e).__name__} ({e}), want {kind.__name__}") from e
            else:
                raise AssertionError(f"call {n} {parts}: got {got!r}, want {kind.__name__}")
            equal((x + 1).sum().item(), 12.0, f"what follows call {n}")
    got = None
    dd.synchronize()
    equal((a.tolist(), leaf.tolist()), (list(range(10)), [1.0, 1.0]), "tensors that were used")
    equal(dd.current().call("server.status")["tensors"], before, "tensors that are left")


def test_values_that_are_no_tensors():
    refused(MADE_OF)


def test_calls_with_wrong_arguments():
    refused(CALLS)


def test_arrays_in_other_orders_are_copied():
    whole = np.arange(24.0).reshape(2, 3, 4)
    fixed = whole.copy()
    fixed.flags.writeable = False
    for n, v in enumerate((whole[::-1], whole[:, ::-2, ::3], np.asfortranarray(whole), whole.transpose(2, 0, 1), fixed,
                           np.broadcast_to(whole[:1], (3, 3, 4)), whole[:, :0], np.array(2.5))):
        equal(dd.tensor(v).tolist(), v.tolist(), f"array {n}")
        equal((dd.zeros(v.shape, dtype=dd.float64) + v).tolist(), v.tolist(), f"array {n} as an argument")
    equal(dd.tensor(memoryview(array.array("i", range(6)))[::-2]).tolist(), [5, 3, 1])
    with mmap.mmap(-1, 4) as m:
        m[:] = b"abcd"
        equal(dd.tensor(m).tolist(), list(b"abcd"))
    if torch is not None:
        t = torch.arange(6).reshape(2, 3)
        equal([(a[:6].view(2, 3) + t).tolist(), (t.t() + a[:6].view(3, 2)).tolist()], [[[0, 2, 4], [6, 8, 10]], [[0, 4], [3, 7], [6, 10]]])


def test_what_is_taken():
    equal([a[:1 << 70].tolist(), a[-1 << 70:1 << 70:1 << 70].tolist()], [list(range(10)), [0]], "slices beyond any size")
    equal([dd.tensor([1e39, -10 ** 300], dtype=d).tolist() for d in ("float32", "bfloat16")], [[float("inf"), float("-inf")]] * 2)
    for kind in ctypes.c_int, ctypes.c_long, ctypes.c_byte, ctypes.c_float, ctypes.c_double, ctypes.c_bool:
        equal(dd.tensor((kind * 3)(0, 1, 0)).tolist(), [0, 1, 0], kind.__name__)
    for shape in (0, 3), (70000, 0):
        equal(dd.tensor(memoryview(np.zeros(shape))).shape, shape, "a buffer without elements")
    made = dd.ones(2)
    copy.copy(made).add_(1)
    equal((made.tolist(), copy.copy(leaf).requires_grad, pickle.loads(pickle.dumps(leaf)).requires_grad), ([2.0, 2.0], True, True))
    try:
        a[10]
    except IndexError as e:
        for other in pickle.loads(pickle.dumps(e)), copy.copy(e):
            equal((type(other), str(other), other.data), (type(e), str(e), e.data))
    if torch is not None:
        equal(a[torch.tensor([1, 2])].tolist(), [1, 2])
        equal(x[torch.tensor(True)].shape, (1, 2, 3), "a mask")
        equal(dd.tensor([torch.tensor(1.5), 2]).tolist(), [1.5, 2.0])
        equal(dd.tensor(torch.arange(8.0)[3::8]).tolist(), [3.0], "one element with a stride")
        equal(dd.tensor(Exported(), device="meta").device, "meta")


def test_an_export_that_numpy_refuses_is_dropped():
    from dispatchd import dlpack
    try:
        np.from_dlpack(dd.ones(2, dtype="bfloat16"))
    except (RuntimeError, SystemError, BufferError):
        pass
    equal(len(dlpack._exported), 0)


def stepped(lib, optim, shape=(2,)):
    p = lib.ones(shape, requires_grad=True)
    o = optim.Adam([p], lr=0.1)
    for _ in range(2):
        o.zero_grad()
        (p * p).sum().backward()
        o.step()
    return p, o


def test_states_and_options_of_optimizers():
    for given, kind, *parts in [
            (lambda s: {}, TypeError, "'param_groups'"), (lambda s: None, TypeError, "NoneType"),
            (lambda s: stepped(dd, dd.optim, (3,))[1].state_dict(), ValueError, "[3]", "[2]", "'exp_avg'"),
            (lambda s: s["state"][0].update(exp_avg=None) or s, TypeError, "NoneType", "'exp_avg'"),
            (lambda s: s["param_groups"][0].update(lr="a") or s, TypeError, "lr", "'a'"),
            (lambda s: s["param_groups"][0].update(betas=(0.9,)) or s, ValueError, "(0.9,)", "two numbers")]:
        p, o = stepped(dd, dd.optim)
        before = repr(o.state_dict())
        refused([(lambda: o.load_state_dict(given(o.state_dict())), kind, *parts)])  # noqa: B023
        equal(repr(o.state_dict()), before, "a state that was not loaded changes nothing")
    refused([(lambda f=f: f(), kind, *parts) for f, kind, *parts in [
        (lambda: dd.optim.Adam([leaf], lr="a"), TypeError, "lr", "'a'"), (lambda: dd.optim.Adam([leaf], lr=None), TypeError, "None"),
        (lambda: dd.optim.Adam([leaf], betas=3), ValueError, "betas", "3"), (lambda: dd.optim.Adam(3), TypeError, "list", "int"),
        (lambda: dd.optim.Adam([{"params": [leaf], "lr": -1}]), ValueError, "lr", "-1"),
        (lambda: dd.optim.Adam([{"weights": [leaf]}]), TypeError, "'params'", "'weights'"),
        (lambda: dd.optim.Adam([leaf]).add_param_group(3), TypeError, "dict", "int"),
        (lambda: dd.nn.utils.clip_grad_norm_([3], 1), TypeError, "int")]])
    if torch is not None:  # a state of PyTorch goes on where it was
        (p, o), (q, theirs) = stepped(dd, dd.optim), stepped(torch, torch.optim)
        o.load_state_dict(theirs.state_dict())
        for lib_p, lib_o in (p, o), (q, theirs):
            for _ in range(3):
                lib_o.zero_grad()
                (lib_p * lib_p * 3).sum().backward()
                lib_o.step()
        equal([round(v, 5) for v in p.tolist()], [round(v, 5) for v in q.tolist()])


def test_what_is_no_file_is_not_replaced():
    with tempfile.TemporaryDirectory() as folder:
        path, link, fifo, old = (os.path.join(folder, n) for n in ("file", "link", "fifo", "old"))
        os.symlink(path, link)
        os.mkfifo(fifo)
        dd.save({"a": x}, link)
        equal((os.path.islink(link), dd.load(path)["a"].shape), (True, (2, 3)), "the file of a link")
        refused([(lambda: dd.save({"a": x}, fifo), FileExistsError, fifo), (lambda: dd.save({"a": x}, folder), IsADirectoryError, folder)])
        with open(old, "w", encoding="ascii") as f:
            f.write("no tensors are in this file")
        refused([(lambda: dd.load(old), ValueError, repr(old), "safetensors")])
        equal(sorted(os.listdir(folder)), ["fifo", "file", "link", "old"])


def test_objects_are_released():
    plugin = os.path.join(BUILD, "tests", "plugins", "packed.so")
    if not os.path.exists(plugin):
        print("skipped: the test plugins are not built")
        return
    dd.plugins.load(plugin)
    kept = dd.ops.packed.prepack(dd.ones(2, 2))
    for _ in range(5):
        dd.ops.packed.twice(kept)
    dd.ones(1)
    equal(len(dd.current().call("object.list")["objects"]), 1)
    g = dd.Generator()
    with dd.connect():
        y = dd.ones(2, 2)
        for f in (lambda: dd.ops.packed.linear(y, kept)), (lambda: dd.rand(2, generator=g)):
            try:
                f()
            except RuntimeError as e:
                contains(str(e), "another connection's session")
            else:
                raise AssertionError("an object of another session was used")


def test_a_file_that_is_not_written_leaves_nothing():
    with tempfile.TemporaryDirectory() as folder:
        try:
            dd.save({"": x}, os.path.join(folder, "a"))
        except (TypeError, ValueError) as e:
            contains(str(e), "1 to 1023 bytes")
        else:
            raise AssertionError("a tensor without a name was saved")
        equal(os.listdir(folder), [])


main()
