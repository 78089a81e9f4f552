"""compare.py -- one call here and in PyTorch 1.13.1, through the daemon's socket, and what differs.

Importing it ends the process where PyTorch is missing: there is nothing to compare with, and it says so."""

import functools
import re
import sys
import warnings

import harness  # finds dispatchd
import dispatchd

try:
    import torch
    import yaml
except ImportError as e:
    print(f"skipped: {e}; install python3-torch to compare operators with PyTorch")
    print("0 passed, 0 failed")
    sys.exit(0)

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
from cases.inputs import BY_NAME, DTYPES, FORMATS, copy, f32, f64, inf, storage

# Their values depend on the generator.
RANDOM = re.compile(r"(rand|normal|uniform|exponential|geometric|cauchy|log_normal|bernoulli|multinomial|.*dropout_?$|random|poisson|binomial|"
                    r"_standard_gamma$|_sample_dirichlet|rrelu(_with_noise)?(_|\.out)?$)")
# Their values are whatever lay in memory.
UNDEFINED = re.compile(r"empty|new_empty")
# Sums in another order, and 16-bit results of 32-bit sums, differ more than single operations do.
LOOSE = re.compile(r"(sum|mean|prod|var|std|matmul|linear|(?<!a)mm|conv|norm|dot|mv(?!l)|softmax|pool|grid_sampler|logcum|dist|loss|kl_div|cosine|dirichlet|transformer|attention|rnn|gru|lstm)")
# Where PyTorch's own values are wrong, and by how much: its polynomials for 1/x lack the leading coefficient, and
# the phase of float32 is rounded.  Ours agree with mpmath (tests/integration/operators/test_special.py).
WRONG = ((re.compile("special_bessel_"), {f32: 1e-4, f64: 1e-6}), (re.compile("special_airy_ai"), {f32: 3e-3, f64: 5e-6}))


def wrong_by(name, dtype):
    """Tolerances where PyTorch's values of dtype are that wrong."""
    most = [by[dtype] for names, by in WRONG if names.match(name) and dtype in by]
    return {"rtol": 1e-5, "atol": most[0]} if most else {}


def raw(t):
    return t.view(torch.uint8).numpy().tobytes() if t.numel() else b""


class Both:
    def __init__(self, client, device="cpu"):
        self.client = client
        self.device = device  # of every tensor, and what an argument of device cpu stands for
        self.handles = []
        self.sent = {}  # handles by tensors' ids: one that is given twice is one there, too

    def encode(self, v):
        if torch.is_tensor(v):
            if id(v) not in self.sent:
                made = self.client.call("tensor.create", dtype=DTYPES[v.dtype], shape=list(v.shape), strides=list(v.stride()),
                                        storage_offset=v.storage_offset(), attachment=raw(storage(v)), device=self.device)
                for op in ["aten::_conj"] * v.is_conj() + ["aten::_neg_view"] * v.is_neg():
                    plain, made = made, self.client.op(op, {"tensor": made["tensor"]})
                    self.client.release(plain["tensor"])
                self.sent[id(v)] = made["tensor"], v
            self.handles.append(self.sent[id(v)][0])
            return {"tensor": self.handles[-1]}
        if isinstance(v, (list, tuple)):
            return [self.encode(x) for x in v]
        if isinstance(v, int) and not isinstance(v, bool) and abs(v) >= 2**53:
            return {"int": str(v)}
        if isinstance(v, complex):
            return {"complex": [v.real, v.imag]}
        if isinstance(v, float):
            return {"float": v if v == v and abs(v) != inf else str(v)}
        return DTYPES.get(v) or FORMATS.get(v) or (self.device if isinstance(v, torch.device) else v)

    def read(self, handle):
        answer = self.client.call("tensor.read", tensor=handle, **{"as": "attachment"})
        dtype, data = BY_NAME[answer["dtype"]], answer["attachment"]
        flat = torch.frombuffer(bytearray(data), dtype=dtype) if data else torch.empty(0, dtype=dtype)
        return flat.reshape(answer["shape"]), answer

    def call(self, name, args, kwargs):
        """(outputs as the daemon tells them, then every tensor argument after the call)"""
        sent = [self.encode(a) for a in args], {k: self.encode(v) for k, v in kwargs.items()}
        given = list(self.handles)
        outputs = self.client.call("op.call", op="aten::" + name, args=sent[0], kwargs=sent[1])["outputs"]
        flat = [x for o in outputs for x in (o if isinstance(o, list) else [o])]
        self.handles += [o["tensor"] for o in flat if isinstance(o, dict) and "tensor" in o]
        return flat, given

    def done(self):
        if self.handles:
            self.client.release(*set(self.handles))
        self.handles, self.sent = [], {}


LAPACK = {"float32": 1e-4, "complex64": 1e-4, "float64": 1e-9, "complex128": 1e-9}
LINEAR = re.compile(r"linalg|cholesky|symeig|geqrf|ormqr|orgqr|triangular_solve|\bsvd|\bqr|\blu_|det|inverse|matrix_|^cross|pinv")
# PyTorch's loops by vectors and by elements differ where an argument is NaN, -0 or a bound: it has the one
# for most elements and the other for the last few, here all are computed as by the first.
TWO_LOOPS = re.compile("(hardtanh|hardshrink|softshrink|hardswish|logit|elu)_backward")
# What PyTorch 1.13.1 has no kernel for and later versions have: here it may work.
WIDER = re.compile(r"not implemented for '(Half|BFloat16)'|please report a bug to PyTorch")
ERRORS = {RuntimeError: "RuntimeError", IndexError: "IndexError", TypeError: "TypeError", ValueError: "ValueError",
          NotImplementedError: "NotImplementedError"}


def flat_tensors(v):
    return [t for x in v for t in (flat_tensors(x) if isinstance(x, (list, tuple)) else [x]) if torch.is_tensor(t)]


def compare(name, got, want, answer, what, halves=False, written=False):
    if answer["dtype"] != DTYPES[want.dtype]:
        return f"{what}: dtype {answer['dtype']}, want {DTYPES[want.dtype]}"
    if answer["shape"] != list(want.shape):
        return f"{what}: shape {answer['shape']}, want {list(want.shape)}"
    if want.numel() > 1 and answer["strides"] != list(want.stride()):
        return f"{what}: strides {answer['strides']}, want {list(want.stride())}"
    if UNDEFINED.match(name) or RANDOM.match(name):
        return None
    tolerance, coarse = {}, written and (answer["dtype"] in ("float16", "bfloat16") or halves)
    if want.dtype in (torch.float16, torch.bfloat16):  # computed in float32 here and rounded once
        tolerance = {"rtol": 2e-2, "atol": 2e-2}
    if written:  # computed in the type of the inputs
        tolerance = {"rtol": 2e-2, "atol": 2e-2} if coarse else {"rtol": 1e-5, "atol": 1e-5}
    if LOOSE.search(name) and want.is_floating_point():
        loose = 2e-2 if coarse or want.dtype not in (f32, f64) else 1e-4 if want.dtype is f32 or written else 1e-10
        tolerance = {"rtol": loose, "atol": loose}
    if re.search("fft_|stft", name) and want.is_floating_point() | want.is_complex() and want.numel() and torch.isfinite(want).all():
        exact = want.dtype in (f64, torch.complex128) and "out" not in name  # rounded as the largest number is
        tolerance = {"rtol": 0, "atol": (1e-13 if exact else 2e-6) * (want.abs().max().item() + 1)}
    tolerance |= wrong_by(name, f32 if "out" in name else want.dtype)
    if LINEAR.search(name) and answer["dtype"] in LAPACK:  # as far apart as rounding in another order brings them
        tolerance = {"rtol": LAPACK[answer["dtype"]], "atol": LAPACK[answer["dtype"]]}
    try:
        torch.testing.assert_close(got, want.contiguous(), equal_nan=True, **tolerance)
    except AssertionError as e:
        return f"{what}: {' '.join(str(e).split())[:300]}"
    return None


def by_vectors(function, args, kwargs):
    """The answer of PyTorch's vector loop for each element: that of 16 copies of it."""
    tensors = [a for a in args if torch.is_tensor(a)]
    shape, dtype = torch.broadcast_shapes(*[t.shape for t in tensors]), functools.reduce(torch.promote_types, [t.dtype for t in tensors])
    more = [a.to(dtype).broadcast_to(shape).unsqueeze(-1).expand(*shape, 16).contiguous() if torch.is_tensor(a) else a for a in args]
    given = {k: v for k, v in kwargs.items() if not torch.is_tensor(v)}
    return getattr(function.overloadpacket, "default")(*more, **given)[..., 0]


def one(both, name, function, args, kwargs):
    """None when both agree, else why not."""
    made = {}
    mine = [copy(a, made) for a in args], {k: copy(v, made) for k, v in kwargs.items()}
    try:
        with torch.backends.mkldnn.flags(enabled=not name.startswith("gelu_backward")):  # which reads them by wrong strides
            want = function(*mine[0], **mine[1])
    except tuple(ERRORS) as e:
        if WIDER.search(str(e)):
            return None
        try:
            both.call(name, args, kwargs)
        except dispatchd.Error as error:
            kind = next(ERRORS[t] for t in type(e).__mro__ if t in ERRORS)
            same = error.type == kind or error.type == "IndexError" and "INDICES element" in str(e)
            return None if same else f"{error}, want {kind}: {str(e)[:200]}"
        return f"no error, want {type(e).__name__}: {str(e)[:200]}"
    try:
        flat, given = both.call(name, args, kwargs)
    except dispatchd.Error as error:
        return f"{error}, want a result"
    halves = any(t.dtype in (torch.float16, torch.bfloat16) for t in flat_tensors([*args, *kwargs.values()]))
    written = any(a.kwarg_only and a.is_out for a in function._schema.arguments)
    if TWO_LOOPS.match(name):
        want.copy_(by_vectors(function, args, kwargs).broadcast_to(want.shape))
    wants = want if isinstance(want, (tuple, list)) else [] if want is None else [want]
    wants = [w for x in wants for w in (x if isinstance(x, list) else [x])]
    if len(wants) != len(flat):
        return f"{len(flat)} outputs, want {len(wants)}"
    for i, (w, got) in enumerate(zip(wants, flat)):
        if not torch.is_tensor(w):
            number = float(got["float"]) if isinstance(got, dict) and "float" in got else \
                int(got["int"]) if isinstance(got, dict) else got
            if number != w and not (number != number and w != w):
                return f"output {i}: {number!r}, want {w!r}"
            continue
        if got is None:
            return f"output {i}: None, want a tensor of {list(w.shape)}"
        why = compare(name, *both.read(got["tensor"])[:1], w, both.client.call("tensor.describe", tensor=got["tensor"]), f"output {i}", halves, written)
        if why:
            return why
    for handle, before in zip(given, flat_tensors([*mine[0], *mine[1].values()])):
        got, answer = both.read(handle)
        why = compare(name, got, before, {**answer, "strides": list(before.stride())}, "argument", halves, written)
        if why:
            return "after the call, " + why
    return None


def show(v):
    if torch.is_tensor(v):
        text = f"{DTYPES[v.dtype]}{list(v.shape)}" + ("" if v.is_contiguous() else f"/{list(v.stride())}")
        return text + (f"={v.tolist()}" if v.numel() < 6 else "")
    return "[" + ", ".join(map(show, v)) + "]" if isinstance(v, list) else repr(v)
