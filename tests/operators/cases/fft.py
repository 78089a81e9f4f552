"""fft.py -- Fourier transforms."""

import itertools

import torch

from cases.inputs import CASES, b8, c128, c64, f32, f64, i64, make, of_all

# of the transforms that backends implement: dtypes of input and output, then what follows the tensor
FOURIER = {"_fft_c2c": ([c64, c128], [([d], norm, forward) for d, norm, forward in ((0, 0, True), (0, 1, False), (0, 2, True))]
                        + [([0, 1], 2, False), ([1, 0], 1, True), ([2, 0, 1], 0, True), ([5], 0, True), ([0, 0], 0, True), ([0], 3, True)]),
           "_fft_r2c": ([f32, f64], [([d], norm, half) for d, norm, half in ((0, 0, True), (0, 1, False), (0, 2, True))]
                        + [([0, 1], 2, True), ([1, 0], 1, False), ([2, 0, 1], 0, True)]),
           "_fft_c2r": ([c64, c128], [([0], 0, 4), ([0], 2, 3), ([0], 1, 1), ([1, 0], 2, 3), ([0, 1], 1, 6)])}
NAMES = "fft", "ifft", "rfft", "irfft", "hfft", "ihfft"


def signals(*dtypes):
    for d in dtypes:
        yield from (make(d, 8), make(d, 3, 5), make(d, 12, 4).t(), make(d, 2, 7, 6), make(d, 9, 10)[1::2, ::3],
                    make(d, 3, 1).expand(3, 4), make(d, 0, 4), make(d, 17, 62), make(d, 2, 134), make(d, 1023),
                    make(d, 2, 3, 4, 5).contiguous(memory_format=torch.channels_last))


def read_inside(x, a):
    """Elsewhere PyTorch reads what is not there."""
    return len(a[0]) <= x.dim() and (x.numel() or x.is_complex() and a[0] == [0]) \
        and (isinstance(a[2], bool) or x.size(a[0][-1]) > a[2] // 2)


def lists(dtypes, args):
    return lambda: (((x, *a), {}) for x in signals(*dtypes) for a in args if read_inside(x, a))


def outs(shapes, dtypes):
    return [torch.zeros(*s, dtype=t) for t in dtypes for s in shapes]


def one():
    for args in itertools.chain(
            ((x,) for x in signals(f32, f64, c64, c128)), ((x, 6, 0, "ortho") for x in signals(f32, c64)),
            ((x, 3, -1, "forward") for x in signals(f64)),
            ((make(i64, 5), 7), (make(b8, 5),), (make(torch.float16, 5),), (make(f32, 5), 0), (make(f32, 5), -1),
             (make(f32, 5), None, 1), (make(f32, 5), None, -1, "other"), (make(f32),), (make(c64, 1),))):
        yield args, {}


def many(least):
    lists = [(None, [0, 2]), (None, [0, 0]), (None, [1, 0], "ortho"), (None, [5]), ([2], [0]), ([2], [0, 1])]
    if least == 1:
        lists += [([4, 3],), ([-1, 5],), ([3, 3, 3],)]
    for args in itertools.chain(
            ((x,) for x in signals(f32, c64) if x.dim() >= least), ((x, *a) for x in signals(f64) for a in lists),
            ((make(i64, 5, 5),), (make(torch.bfloat16, 5, 5),), (make(c128, 3, 4), None, [0, 1], "forward"))):
        yield args, {}


CASES["fft_fftshift"] = CASES["fft_ifftshift"] = of_all((), ([0],), ([-1, 0],), ([7],), ([],))
for name, (dtypes, args) in FOURIER.items():
    CASES[name] = lists(dtypes, args)
    CASES[name + ".out"] = lambda dtypes=dtypes, args=args: (
        ((make(dtypes[0], 4, 6), *a), {"out": o}) for a in args[:2]
        for o in (torch.zeros(0, dtype=dtypes[0]), torch.zeros(4, 6, dtype=dtypes[1]), torch.zeros(9, 9, dtype=c64)[::2, 1:]))
for name in NAMES:
    CASES["fft_" + name] = one
    CASES[f"fft_{name}.out"] = lambda: (((make(d, 4, 6), 6, 0), {"out": o}) for d in (f32, c64)
                                        for o in outs(((0,), (6, 6), (5, 5)), (f32, c64)))
    for end, least in (("2", 2), ("n", 1)):
        CASES[f"fft_{name}{end}"] = lambda least=least: many(least)
        CASES[f"fft_{name}{end}.out"] = lambda: (((make(d, 4, 6), [6, 6], [1, 0]), {"out": o}) for d in (f32, c64)
                                                 for o in outs(((0,), (6, 6)), (f32, c64, c128)))


def short():
    for d in (f32, f64, c64):
        for shape in ((40,), (3, 40)):
            x = make(d, *shape)
            yield (x, 8), {"return_complex": True}
            yield (x, 9, 4, 7), {"return_complex": True}
            yield (x, 8, 3, 6, torch.rand(6, dtype=f64 if d is f64 else f32), True), {"return_complex": True, "onesided": False}
    x = make(f32, 40)
    for args in ((8,), (8, 0), (8, 2, 9), (100,), (0,), (8, 2, 8, torch.rand(5))):
        yield (x, *args), {"return_complex": False}
    for x in (make(i64, 40), make(f32, 2, 3, 40), make(f32), make(c64, 40)):
        yield (x, 8), {"return_complex": True, "onesided": True}


def centred():
    for args, kwargs in short():
        yield args[:5], {**kwargs, "center": True, "pad_mode": "reflect"}
    for mode in ("constant", "replicate", "circular", "other"):
        yield (make(f32, 2, 40), 8), {"center": True, "pad_mode": mode, "return_complex": True}
    yield (make(f32, 2, 40), 8), {"center": False, "return_complex": True}


def inverse():
    for d in (c64, c128):
        x = make(d, 2, 5, 12)
        w = torch.rand(8, dtype=f64 if d is c128 else f32) + 0.1
        yield (x, 8), {}
        yield (x[0], 8, 3, 8, w), {}
        yield (x, 8, 2, 8, w, True, True), {"length": 30}
        yield (x, 8, 2, 8, w, False), {"length": 15}
        yield (make(d, 2, 8, 12), 8, 2, 8, w), {"return_complex": True, "onesided": False}
        yield (make(d, 2, 8, 12), 8, 2, 6, w[:6]), {"onesided": False}
        yield (torch.view_as_real(x), 8), {}
    for args in ((8, 0), (8, 9), (7,), (8, 2, 9), (8, 2, 8, torch.rand(5)), (8, 2, 8, torch.zeros(8))):
        yield (make(c64, 5, 12), *args), {}
    for x in (make(c64, 5), make(f32, 5, 12), make(c64, 0, 5, 12)):
        yield (x, 8), {}


CASES["stft"], CASES["stft.center"], CASES["istft"] = short, centred, inverse
