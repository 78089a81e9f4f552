"""test_cpu_heavy.py -- products, convolution, pooling, normalisation, softmax and reductions of plugin
cpu against PyTorch: dtype, shape, strides, values, and the kind of every error.

Inputs are sent as they lie in memory (strides, offset, channels_last); the same call is made in both.
Without torch there is nothing to compare with, and the test says so."""

import sys

import harness
from harness import main

try:
    import torch
except ImportError:
    print("skipped: torch is not installed, so there is nothing to compare with")
    print("0 passed, 0 failed")
    sys.exit(0)

import warnings

import dispatchd
from daemon import TestDaemon

warnings.simplefilter("ignore")
torch.manual_seed(0)
nan, inf = float("nan"), float("inf")
FLOATS = (torch.float32, torch.float64)
NUMBERS = FLOATS + (torch.int64, torch.uint8)
ALL = NUMBERS + (torch.bool, torch.float16, torch.bfloat16, torch.int32)
# Relative to the largest magnitude that went in: results of sums that cancel have no digits of their own.
TOLERANCE = {torch.float16: 1e-2, torch.bfloat16: 2e-2, torch.float32: 2e-5, torch.float64: 1e-12}


def tensor(*shape, dtype=torch.float32):
    if dtype == torch.bool:
        return torch.rand(shape) > 0.5
    if not dtype.is_floating_point:
        return torch.randint(0 if dtype == torch.uint8 else -9, 10, shape).to(dtype)
    return torch.randn(shape, dtype=torch.float64).to(dtype)


def channels_last(t):
    return t.contiguous(memory_format=torch.channels_last)


def name(dtype):
    return str(dtype).removeprefix("torch.")


def raw(t):
    """The bytes of t's whole storage."""
    n = t.storage().size()
    flat = torch.empty(0, dtype=t.dtype).set_(t.storage(), 0, (n,), (1,))
    return bytes(flat.view(torch.uint8).numpy()) if n and t.dtype != torch.bool else \
        bytes(flat.to(torch.uint8).numpy())


def literal(a):
    """An argument as the protocol writes it."""
    if isinstance(a, torch.Tensor):
        return {"dtype": name(a.dtype), "shape": list(a.shape), "strides": list(a.stride()),
                "storage_offset": a.storage_offset(), "attachment": raw(a)}
    if isinstance(a, torch.dtype):
        return name(a)
    if isinstance(a, float):
        return {"float": a if abs(a) < inf else "inf" if a > 0 else "-inf"} if a == a else {"float": "nan"}
    return a


def from_answer(d):
    dtype = getattr(torch, d["dtype"])
    n = 1
    for s in d["shape"]:
        n *= s
    if n == 0:
        return torch.empty(d["shape"], dtype=dtype)
    return torch.frombuffer(bytearray(d["attachment"]), dtype=dtype).reshape(d["shape"])


def scale(args):
    values = [a.double().abs()[a.double().isfinite()] for a in args if isinstance(a, torch.Tensor)]
    return max([1.0] + [float(v.max()) for v in values if v.numel()])


def different(want, got, limit):
    """What differs, or None."""
    if name(want.dtype) != got["dtype"]:
        return f"dtype {got['dtype']}, want {name(want.dtype)}"
    if list(want.shape) != got["shape"]:
        return f"shape {got['shape']}, want {list(want.shape)}"
    told = [s for s, n in zip(got["strides"], want.shape) if n > 1]
    meant = [s for s, n in zip(want.stride(), want.shape) if n > 1]
    if want.numel() and told != meant:
        return f"strides {got['strides']}, want {list(want.stride())}"
    value = from_answer(got)
    tolerance = TOLERANCE.get(want.dtype, 0)
    if not torch.allclose(value.double(), want.double(), rtol=tolerance, atol=tolerance * limit,
                          equal_nan=True):
        bad = ~torch.isclose(value.double(), want.double(), rtol=tolerance, atol=tolerance * limit,
                             equal_nan=True)
        return f"{int(bad.sum())} of {bad.numel()} differ: {value[bad][:4]}, want {want[bad][:4]}"
    return None


def torch_call(op, args, kwargs):
    packet, _, overload = op.partition(".")
    try:
        r = getattr(getattr(torch.ops.aten, packet), overload or "default")(*args, **kwargs)
    except Exception as e:
        return e
    return list(r) if isinstance(r, (tuple, list)) else [r]


class Comparison:
    def __init__(self, client):
        self.client, self.count, self.faults = client, 0, []

    def __call__(self, op, *args, says=None, code=None, **kwargs):
        """One call in both; says: words of the message when it fails.  code: ours, where PyTorch's own
        kind of error says less."""
        want = torch_call(op, args, kwargs)
        shown = f"{op}({', '.join(describe(a) for a in args)}{', ' if kwargs else ''}{kwargs or ''})"
        self.count += 1
        try:
            got = self.client.op("aten::" + op, *map(literal, args), returns="attachment",
                                 **{k: literal(v) for k, v in kwargs.items()})
            got = got if isinstance(got, list) else [got]
        except dispatchd.Error as e:
            kind = code or (type(want).__name__ if isinstance(want, Exception) else "no error")
            if e.type != kind:
                self.faults.append(f"{shown}: {e}, want {kind}: {want}")
            elif says and says not in e.message:
                self.faults.append(f"{shown}: no {says!r} in {e.message!r}")
            return
        if isinstance(want, Exception) or code:
            self.faults.append(f"{shown}: a result, want {code or type(want).__name__}: {want}")
            return
        if len(want) != len(got):
            self.faults.append(f"{shown}: {len(got)} results, want {len(want)}")
        limit = scale(args)
        for i, (w, g) in enumerate(zip(want, got)):
            fault = different(w, g, limit * limit * 10)
            if fault:
                self.faults.append(f"{shown} result {i}: {fault}")

    def finish(self):
        if self.faults:
            raise AssertionError(f"{len(self.faults)} of {self.count} calls differ:\n  " +
                                 "\n  ".join(self.faults[:25]))


def describe(a):
    if isinstance(a, torch.Tensor):
        return f"{name(a.dtype)}{list(a.shape)}" + ("" if a.is_contiguous() else f"/{list(a.stride())}")
    return repr(a)


def compared(fill):
    """A test that makes its comparisons on a connection of its own."""
    def test(daemon):
        with daemon.connect() as client:
            c = Comparison(client)
            fill(c)
            c.finish()
    return test


@compared
def test_mm(c):
    for dtype in ALL:
        x, y = tensor(5, 7, dtype=dtype), tensor(7, 3, dtype=dtype)
        c("mm", x, y)
        c("mm", tensor(7, 5, dtype=dtype).t(), tensor(3, 7, dtype=dtype).t())
        c("mm", tensor(10, 14, dtype=dtype)[::2, ::2], y)
        c("mm", x[:1], y[:, :1])
        c("mm", tensor(5, 1, dtype=dtype).expand(5, 7), tensor(1, 3, dtype=dtype).expand(7, 3))
        c("mv", x, tensor(7, dtype=dtype))
        c("mv", x.t(), tensor(10, dtype=dtype)[::2])
        c("dot", x[0], x[1])
        c("dot", y[:, 0], y[:, 1])
        c("bmm", tensor(4, 5, 7, dtype=dtype), tensor(4, 7, 3, dtype=dtype))
        c("bmm", tensor(7, 5, 4, dtype=dtype).permute(2, 1, 0), tensor(4, 3, 7, dtype=dtype).mT)
        c("addmm", tensor(3, dtype=dtype), x, y)
        c("addmm", tensor(5, 1, dtype=dtype), x, y, beta=2, alpha=3)
        c("baddbmm", tensor(3, dtype=dtype), x[None], y[None], beta=2)
    for dtype in FLOATS:
        c("addmm", tensor(dtype=dtype), tensor(5, 7, dtype=dtype), tensor(7, 3, dtype=dtype), beta=0.5,
          alpha=-1.5)
        c("mm", tensor(200, 300, dtype=dtype), tensor(300, 150, dtype=dtype))
        c("mm", tensor(3, 600, dtype=dtype), tensor(600, 900, dtype=dtype))
        c("mm", tensor(900, 400, dtype=dtype), tensor(2, 400, dtype=dtype).t())
        c("bmm", tensor(64, 20, 30, dtype=dtype), tensor(64, 30, 10, dtype=dtype))
    c("addmm", torch.full((4,), nan), tensor(2, 3), tensor(3, 4), beta=0)
    c("addmm", torch.ones(4, dtype=torch.int64), torch.ones(2, 3, dtype=torch.int64),
      torch.ones(3, 4, dtype=torch.int64), alpha=1.5)
    c("mm", torch.tensor([[inf, 0.0]]), torch.tensor([[0.0, 1.0], [nan, 1.0]]))
    c("mm", torch.tensor([[2**62]]), torch.tensor([[3]]))


@compared
def test_mm_empty(c):
    for m, k, n in (0, 3, 4), (2, 0, 4), (2, 3, 0), (0, 0, 0):
        c("mm", tensor(m, k), tensor(k, n))
        c("addmm", tensor(n), tensor(m, k), tensor(k, n), beta=3)
        c("addmm", torch.full((n,), nan), tensor(m, k), tensor(k, n), beta=0)
        c("bmm", tensor(2, m, k), tensor(2, k, n))
        c("mv", tensor(m, k), tensor(k))
    c("bmm", tensor(0, 2, 3), tensor(0, 3, 4))
    c("dot", tensor(0), tensor(0))
    c("mm", tensor(2, 0, dtype=torch.int64), tensor(0, 3, dtype=torch.int64))


@compared
def test_mm_faults(c):
    c("mm", tensor(2, 3), tensor(4, 5), says="mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)")
    c("mm", tensor(2, 3, 1), tensor(4, 5), says="self must be a matrix")
    c("mm", tensor(2, 3), tensor(4), says="mat2 must be a matrix")
    c("mm", tensor(2, 3), tensor(3, 2, dtype=torch.float64), says="expected scalar type Float but found Double")
    small = torch.ones(2, 2, dtype=torch.uint8)
    c("addmm", small, small, small, alpha=-3)
    for wrong in -3.0, 300:
        c("addmm", small, small, small, alpha=wrong, says="value cannot be converted to type uint8_t without overflow")
    c("addmm", tensor(3), tensor(2, 3), tensor(3, 4), says="The expanded size of the tensor (4)")
    c("addmm", tensor(2, 2, 4), tensor(2, 3), tensor(3, 4), says="size=[2, 4]")
    c("addmm", tensor(2, 4), tensor(2, 3), tensor(4, 4), says="(2x3 and 4x4)")
    c("addmm", tensor(4, dtype=torch.float64), tensor(2, 3), tensor(3, 4), says="must have the same dtype")
    c("addmm", tensor(4), tensor(3), tensor(3, 4), says="mat1 must be a matrix, got 1-D tensor")
    c("bmm", tensor(2, 2, 3), tensor(2, 4, 5), says="[2, 3] but got: [2, 4]")
    c("bmm", tensor(2, 2, 3), tensor(3, 3, 5), says="[2, 3] but got: [3, 3]")
    c("bmm", tensor(2, 3), tensor(3, 3, 5), says="batch1 must be a 3D tensor")
    c("bmm", tensor(2, 2, 3), tensor(2, 3, 5, dtype=torch.float64), says="but found Double")
    c("baddbmm", tensor(4), tensor(2, 2, 3), tensor(2, 3, 5), says="non-singleton dimension 2")
    c("dot", tensor(2), tensor(3), says="but got 2 and 3 elements")
    c("dot", tensor(2, 1), tensor(3), says="1D tensors expected, but got 2D and 1D")
    c("dot", tensor(2), tensor(2, dtype=torch.float64), says="Float and Double")
    c("mv", tensor(2, 3), tensor(4), says="size mismatch")
    c("mv", tensor(2, 3, 1), tensor(4))


def conv(c, x, w, b=None, stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1, transposed=False, **more):
    c("convolution", x, w, b, list(stride), list(padding), list(dilation), transposed, [0] * len(stride),
      groups, **more)


@compared
def test_convolution(c):
    for dtype in ALL:
        x, w, b = tensor(2, 4, 9, 8, dtype=dtype), tensor(6, 4, 3, 2, dtype=dtype), tensor(6, dtype=dtype)
        conv(c, x, w)
        conv(c, x, w, b)
        conv(c, x, w, b, stride=(2, 3), padding=(1, 2))
        conv(c, x, tensor(6, 2, 3, 3, dtype=dtype), b, padding=(1, 1), groups=2)
        conv(c, x, tensor(8, 1, 3, 3, dtype=dtype), None, groups=4)
        conv(c, x, tensor(6, 4, 1, 1, dtype=dtype), b)
        conv(c, x, tensor(6, 4, 1, 1, dtype=dtype), b, stride=(2, 2))
    for dtype in FLOATS:
        x, w = tensor(2, 4, 9, 8, dtype=dtype), tensor(6, 4, 3, 3, dtype=dtype)
        conv(c, x, w, stride=(2, 3), padding=(1, 2), dilation=(2, 1))  # PyTorch has it for fewer dtypes
        conv(c, channels_last(x), w, tensor(6, dtype=dtype), padding=(1, 1))
        conv(c, x, channels_last(w))
        conv(c, channels_last(x), channels_last(tensor(6, 2, 3, 3, dtype=dtype)), groups=2)
        conv(c, x.transpose(2, 3), w)
        conv(c, x[:, :, ::2, 1:], w)
        conv(c, tensor(70, 3, 12, 12, dtype=dtype), tensor(8, 3, 5, 5, dtype=dtype), padding=(4, 4))
        conv(c, tensor(1, 8, 40, 40, dtype=dtype), tensor(16, 8, 3, 3, dtype=dtype), padding=(1, 1))
        conv(c, tensor(3, 4, 20, dtype=dtype), tensor(5, 4, 3, dtype=dtype), tensor(5, dtype=dtype),
             stride=(2,), padding=(3,), dilation=(2,))
        conv(c, tensor(2, 3, 5, 6, 7, dtype=dtype), tensor(4, 3, 2, 3, 2, dtype=dtype), None,
             stride=(1, 2, 1), padding=(1, 0, 1), dilation=(1, 1, 2))
        x, w = tensor(2, 3, 60, 300, dtype=dtype), tensor(3, 1, 3, 3, dtype=dtype)  # made in several parts
        for stride in (1, 1), (2, 2), (3, 1):
            conv(c, x, w, tensor(3, dtype=dtype), stride=stride, padding=(1, 2), groups=3)
            rows, columns = 59 // stride[0] + 1, 301 // stride[1] + 1
            c("convolution_backward", tensor(2, 3, rows, columns, dtype=dtype), x, w, [3], stride, (1, 2), (1, 1),
              False, (0, 0), 3, [True] * 3)
        x, w = channels_last(tensor(3, 20, 9, 8, dtype=dtype)), channels_last(tensor(50, 20, 3, 3, dtype=dtype))
        for stride, groups in ((1, 1), 1), ((2, 3), 1), ((1, 1), 2):  # channels side by side, several vectors of them
            v = w[:, :20 // groups].contiguous(memory_format=torch.channels_last)
            conv(c, x, v, tensor(50, dtype=dtype), stride=stride, padding=(1, 2), groups=groups)
            y = channels_last(tensor(3, 50, 8 // stride[0] + 1, 9 // stride[1] + 1, dtype=dtype))
            c("convolution_backward", y, x, v, [50], stride, (1, 2), (1, 1), False, (0, 0), groups, [True] * 3)
        conv(c, x, tensor(33, 20, 1, 1, dtype=dtype), tensor(33, dtype=dtype))
        conv(c, tensor(1, 2, 4200, dtype=dtype), tensor(2, 1, 5, dtype=dtype), stride=(2,), padding=(2,), groups=2)
    x = tensor(1, 1, 4, 4)
    x[0, 0, 1, 1], x[0, 0, 3, 3] = nan, inf
    conv(c, x, tensor(1, 1, 2, 2))
    conv(c, tensor(2, 3, 1, 1), tensor(4, 3, 1, 1))
    conv(c, channels_last(tensor(2, 1, 8, 8)), tensor(4, 1, 3, 3))
    conv(c, tensor(0, 3, 8, 8), tensor(4, 3, 3, 3))
    conv(c, tensor(1, 3, 8, 8), tensor(4, 3, 3, 3), stride=(2,), padding=(1,), dilation=(1,))


@compared
def test_convolution_faults(c):
    x, w = tensor(2, 3, 8, 8), tensor(4, 3, 3, 3)
    conv(c, x, tensor(4, 2, 3, 3), says="weight of size [4, 2, 3, 3], expected input[2, 3, 8, 8] to have 2")
    conv(c, tensor(2, 4, 8, 8), tensor(3, 2, 3, 3), groups=2, says="divisible by 2")
    conv(c, x, w, tensor(3), says="4 elements, but got bias of size [3]")
    conv(c, x, w, tensor(4, 1), says="[4, 1]")
    conv(c, tensor(2, 3, 2, 2), w, says="(2 x 2). Kernel size: (3 x 3)")
    conv(c, tensor(2, 3, 0, 8), w, says="(0 x 8). Kernel size: (3 x 3)")
    conv(c, x, w.double(), says="(torch.FloatTensor) and weight type (torch.DoubleTensor)")
    conv(c, x, w, tensor(4).double(), says="bias type (torch.DoubleTensor)")
    conv(c, tensor(3, 8, 8), w, says="Expected 4-dimensional input for 4-dimensional weight [4, 3, 3, 3]")
    conv(c, x, tensor(4, 3))
    conv(c, x, w, stride=(0, 1), says="non-positive stride is not supported")
    conv(c, x, w, padding=(-1, 1), says="negative padding is not supported")
    conv(c, x, w, dilation=(0, 1), says="dilation")
    conv(c, x, w, stride=(2, 2, 2), says="stride=[2, 2, 2]")
    conv(c, x, w, groups=0, says="non-positive groups is not supported")
    conv(c, x, tensor(4, 3, 3, 3), transposed=True)


@compared
def test_pooling(c):
    for dtype in ALL:
        x = tensor(2, 3, 9, 8, dtype=dtype)
        c("max_pool2d_with_indices", x, [2])
        c("avg_pool2d", x, [2])
    for dtype in FLOATS:
        x = tensor(2, 3, 9, 8, dtype=dtype)
        for y in x, x[0], channels_last(x), x.transpose(2, 3), x[:, :, ::2]:
            for ceil in False, True:
                c("max_pool2d_with_indices", y, [3, 2], [2, 1], [1, 1], [1, 2], ceil)
                c("max_pool2d_with_indices", y, [2, 3], [], [0, 1], [2, 1], ceil)
                c("avg_pool2d", y, [3, 2], [2, 1], [1, 1], ceil)
                c("avg_pool2d", y, [3, 3], [3, 2], [1, 1], ceil, False)
                c("avg_pool2d", y, [3, 3], [], [1, 1], ceil, True, 5)
    special = torch.tensor([[[1, nan, 3], [2, nan, -inf], [-inf, -inf, inf]]])
    c("max_pool2d_with_indices", special, [2, 2], [1, 1])
    c("max_pool2d_with_indices", torch.full((1, 3, 3), -inf), [2, 2], [1, 1], [1, 1])
    c("avg_pool2d", special, [2, 2], [1, 1])
    c("max_pool2d_with_indices", tensor(0, 3, 4, 4), [2, 2])
    c("avg_pool2d", tensor(2, 2, 5, 5, dtype=torch.int64) * 10, [2, 2])


@compared
def test_pooling_faults(c):
    x = tensor(1, 4, 4)
    for op in "max_pool2d_with_indices", "avg_pool2d":
        c(op, x, [2, 2, 2])
        c(op, x, [2, 2], [1, 2, 3])
        c(op, x, [2, 2], [2, 2], [2, 2], says="pad=2 and kernel_size=2")
        c(op, tensor(4, 4), [2, 2], says="[4, 4]", code="RuntimeError")
        c(op, tensor(2, 0, 4, 4), [2, 2], says="[2, 0, 4, 4]")
        c(op, tensor(1, 1, 1, 1), [2, 2], says="Calculated output size: (1x0x0)")
        c(op, x, [0, 2])
        c(op, x, [2, 2], [0, 1])
        c(op, x, [2, 2], [1, 1], [-1, 0], says="-1")
    c("max_pool2d_with_indices", x, [2, 2], [1, 1], [0, 0], [0, 1], says="dilation should be greater than zero")
    c("avg_pool2d", x, [2, 2], [1, 1], [0, 0], False, True, 0, says="divisor must be not zero")


@compared
def test_batch_norm(c):
    for dtype in FLOATS + (torch.bfloat16,):
        w, b, m, v = (tensor(3, dtype=dtype) for _ in range(4))
        for x in (tensor(4, 3, dtype=dtype), tensor(4, 3, 5, dtype=dtype), tensor(4, 3, 5, 6, dtype=dtype),
                  channels_last(tensor(4, 3, 5, 6, dtype=dtype)), tensor(5, 3, 4, dtype=dtype).permute(2, 1, 0)):
            c("native_batch_norm", x, w, b, m, v.abs(), False, 0.1, 1e-5)
            c("native_batch_norm", x, None, None, m, v.abs(), False, 0.1, 1e-3)
            c("native_batch_norm", x, w, None, None, None, True, 0.1, 1e-5)
            c("native_batch_norm", x, None, b, m.clone(), v.abs(), True, 0.1, 1e-5)
    x = tensor(4, 3, 5).bfloat16()
    c("native_batch_norm", x, tensor(3), None, tensor(3), tensor(3).abs(), False, 0.1, 1e-5)
    x = tensor(2, 3)
    x[0, 0], x[1, 2] = nan, inf
    c("native_batch_norm", x, None, None, tensor(3), tensor(3).abs(), False, 0.1, 1e-5)
    c("native_batch_norm", x, None, None, None, None, True, 0.1, 1e-5)
    for dtype in torch.int64, torch.float16, torch.bool:
        y = tensor(2, 3, dtype=dtype)
        c("native_batch_norm", y, None, None, y[0], y[0], False, 0.1, 1e-5)
    c("native_batch_norm", tensor(2, 3), tensor(3).double(), None, tensor(3), tensor(3), False, 0.1, 1e-5)


@compared
def test_layer_norm(c):
    for dtype in ALL:
        x = tensor(4, 5, 6, dtype=dtype)
        c("native_layer_norm", x, [6], tensor(6, dtype=dtype), tensor(6, dtype=dtype), 1e-5)
        c("native_layer_norm", x, [5, 6], tensor(5, 6, dtype=dtype), None, 1e-5)
        c("native_layer_norm", x.transpose(0, 2), [4], None, tensor(4, dtype=dtype), 1e-3)
        c("native_layer_norm", x, [4, 5, 6], None, None, 1e-5)
    c("native_layer_norm", tensor(2, 3), [4], None, None, 1e-5, says="[*, 4], but got input of size")
    c("native_layer_norm", tensor(2, 3), [3], tensor(4), None, 1e-5, says="weight of shape [4]")
    c("native_layer_norm", tensor(2, 3), [3], None, tensor(4), 1e-5, says="bias of shape [4]")
    c("native_layer_norm", tensor(2, 3), [], None, None, 1e-5, says="at least 1-dimensional")
    c("native_layer_norm", tensor(0, 3), [3], None, None, 1e-5)
    c("native_layer_norm", tensor(2, 0), [0], None, None, 1e-5)
    c("native_layer_norm", tensor(2, 3), [3], tensor(3).double(), None, 1e-5)
    c("native_layer_norm", torch.tensor([[1, nan], [2, inf], [-inf, 1], [3, 3]]), [2], None, None, 1e-5)


@compared
def test_softmax(c):
    for op in "_softmax", "_log_softmax":
        for dtype in ALL:
            x = tensor(4, 5, 6, dtype=dtype)
            for dim in -1, 0, 1:
                c(op, x, dim, False)
                c(op, x.transpose(0, 2), dim, False)
        c(op, channels_last(tensor(2, 3, 4, 5)), 1, False)
        c(op, tensor(300, 400), 1, False)
        c(op, tensor(), 0, False)
        c(op, tensor(3, 0), 1, False)
        c(op, tensor(0, 3), 1, False)
        c(op, torch.tensor([[inf, 1, 2], [-inf, -inf, -inf], [nan, 1, 2], [1e30, -1e30, 0], [-inf, 0, 1]]), 1, False)
        c(op, tensor(3, 4), 2, False, says="expected to be in range of [-2, 1], but got 2")
        c(op, tensor(3, 4), 0, True)


@compared
def test_sums(c):
    for dtype in ALL:
        x = tensor(4, 5, 6, dtype=dtype)
        for op in "sum", "prod", "mean":
            c(op, x)
            c(op, x.transpose(0, 2)[1:])
        for dims in [0], [-1], [1], [0, 2], [2, 1, 0], []:
            for keep in False, True:
                c("sum.dim_IntList", x, dims, keep)
                c("mean.dim", x.permute(1, 2, 0), dims, keep)
        c("sum.dim_IntList", x, None, True)
        c("prod.dim_int", x, 1)
        c("prod.dim_int", x, -1, True)
        for to in torch.float32, torch.float64, torch.int64, torch.uint8:
            c("sum", x.abs() if dtype != torch.bool else x, dtype=to)
            c("mean", x, dtype=to)
        c("sum", tensor(dtype=dtype))
        c("sum.dim_IntList", tensor(dtype=dtype), [0], True)
    c("sum", tensor(1000003))
    c("mean", tensor(300, 1000).abs())
    c("sum.dim_IntList", tensor(3, 200000), [1])
    c("sum.dim_IntList", tensor(3, 1000), [0])
    c("sum.dim_IntList", channels_last(tensor(2, 3, 4, 5)), [2])
    c("sum.dim_IntList", tensor(1, 4).expand(3, 4), [0])
    c("sum", torch.tensor([1, nan, inf]))
    c("sum", torch.tensor([inf, -inf]))
    for op in "sum", "prod", "mean":
        c(op, tensor(0))
    c("sum.dim_IntList", tensor(2, 0, 3), [1])
    c("mean.dim", tensor(2, 0, 3), [1])
    c("sum.dim_IntList", tensor(2, 0, 3), [0])
    c("sum.dim_IntList", tensor(2, 3), [0, -2], says="dim 0 appears multiple times")
    c("sum.dim_IntList", tensor(2, 3), [2], says="expected to be in range of [-2, 1], but got 2")
    c("sum.dim_IntList", tensor(), [1], says="[-1, 0], but got 1")


@compared
def test_extremes(c):
    for dtype in ALL:
        x = tensor(4, 5, 6, dtype=dtype)
        for op in "max", "min", "argmax", "argmin", "any", "all":
            c(op, x)
            c(op, x.transpose(0, 2)[1:])
            c(op, tensor(dtype=dtype))
        for op in "max.dim", "min.dim", "argmax", "argmin", "any.dim", "all.dim":
            for dim in 0, 1, -1:
                c(op, x, dim)
                c(op, x.permute(2, 0, 1), dim, True)
        for dims in [], [0], [-1, 0], [0, 1, 2]:
            c("amax", x, dims)
            c("amin", x.transpose(0, 1), dims, True)
    special = torch.tensor([[1, nan, 3, nan], [3, 1, 3, 1], [-inf, -inf, -inf, -inf], [inf, 0, inf, 0]])
    for op in "max", "min", "argmax", "argmin", "amax", "amin", "any", "all":
        c(op, special)
    for op in "max.dim", "min.dim", "argmax", "argmin", "any.dim", "all.dim":
        c(op, special, 1)
        c(op, special, 0)
        c(op, tensor(2, 0), 1)
        c(op, tensor(2, 0), 0)
        c(op, tensor(0, 2), 1, True)
        c(op, tensor(2, 3), 2)
        c(op, tensor(), -1, True)
    for op in "max", "min", "argmax", "argmin", "amax", "amin", "any", "all":
        c(op, tensor(0))
    c("max", tensor(1000003))
    c("argmax", channels_last(torch.arange(24.0).view(1, 2, 3, 4)))
    c("amax", tensor(2, 0), [1])
    c("amax", tensor(2, 0), [0])
    c("amax", tensor(2, 3), [1, 1])
    c("any", torch.tensor([0.0, nan]))
    c("any.dim", torch.tensor([[0, 5]], dtype=torch.uint8), 1)


if __name__ == "__main__":
    def setup():
        return TestDaemon()

    main(setup, lambda daemon: daemon.stop())
