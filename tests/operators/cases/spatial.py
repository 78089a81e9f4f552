"""spatial.py -- pooling, resampling, padding, sampling of grids.

Batches and single images, packed, with channels innermost, in strides, empty; gradients of the same; outputs that are
given."""

import torch

from cases.inputs import CASES, MOST, bf16, edges, f32, f64, i64, inf, nan, none, upto

FORMATS = {2: torch.channels_last, 3: torch.channels_last_3d}


def make(dtype, *shape):
    if dtype in (i64, torch.uint8, bf16):  # whole numbers: PyTorch adds 16-bit ones in 16 bits
        return torch.randint(0, 9, shape).to(dtype)
    if dtype.is_complex:
        return torch.randn(shape, dtype=dtype)
    return (torch.rand(shape, dtype=f64) * 9 - 4).to(dtype)


def images(dims, dtype=f32, size=(5, 9, 8), channels=3):
    """Batches of all layouts, and one image."""
    x = make(dtype, 2, channels, *size[3 - dims:])
    last = [x.contiguous(memory_format=FORMATS[dims])] if dims > 1 else []
    return [x, x[0], x[..., ::2], x.transpose(0, 1), x[:0]] + last if dtype is f32 else [x] + last


def special():
    x = make(f32, 1, 2, 6, 7)
    x[0, 0, 1:3, 1:4] = nan
    x[0, 0, 4:, 3:] = -inf
    x[0, 1, 2, 2] = inf
    x[0, 1, 3:, 4:] = 2
    return [x, x.contiguous(memory_format=torch.channels_last), torch.full((1, 4, 4), -inf)]


def places(grad, x, dims, order=1):
    """Indices of the shape of grad into planes of x."""
    top = 1
    for s in x.shape[x.dim() - dims:]:
        top *= s
    return torch.randint(0, max(top, 1), grad.shape)


class Cases(dict):
    """Cases by name; forms() adds those with outputs that are given."""

    def forms(self, name, out, outs=("out",)):
        def given():
            for n, (args, kwargs) in enumerate(self[name]()):
                try:
                    made = getattr(torch.ops.aten, name)(*args, **kwargs)
                except (RuntimeError, IndexError):
                    continue
                made = made if isinstance(made, tuple) else (made,)
                if n % 5 and made[0].numel():
                    continue
                shapes = [(0,), made[0].shape] if n else [(0,), made[0].shape, (2, 3)]
                for shape in shapes:
                    yield args, {**kwargs, **{o: torch.zeros(shape, dtype=m.dtype) for o, m in zip(outs, made)}}
                if n == 0:
                    yield args, {**kwargs, **{o: torch.zeros(m.shape, dtype=torch.int32) for o, m in zip(outs, made)}}
        self[f"{name}.{out}"] = given


def pooling():
    c = Cases()
    for dims in 2, 3:
        def windows(dims=dims, extra=False):
            k = [3, 2, 3][:dims]
            yield [2], [], [0]
            yield k, [2, 1, 2][:dims], [1] * dims
            yield [3], [1], [1]
            yield [4], [3], [2]
            yield [2] * dims, [5], [0]

        def maxima(dims=dims):
            for x in [x for t in (f32, f64, bf16, i64) for x in images(dims, t)] + (special() if dims == 2 else []):
                for k, s, p in windows(dims):
                    for d, ceil in (([1], False), ([2], True)):
                        yield (x, k, s, p, d, ceil), {}
            yield (make(f32, 1, *[3] * dims), [0]), {}
            yield (make(f32, 1, *[3] * dims), [2], [0]), {}
            yield (make(f32, 1, *[3] * dims), [2], [1], [2]), {}
            yield (make(f32, 1, *[3] * dims), [2], [1], [-1]), {}
            yield (make(f32, 1, *[3] * dims), [2] * 4), {}
            yield (make(f32, 1, *[3] * dims), [5]), {}
            yield (make(f32, 2, 0, *[3] * dims), [2]), {}

        def averages(dims=dims):
            for x in (x for t in (f32, f64, bf16, i64, torch.uint8) for x in images(dims, t)):
                for k, s, p in windows(dims):
                    for more in ((False, True), (True, False), (True, True), (False, True, 5), (False, False, -3)):
                        yield (x, k, s, p, *more), {}
            yield (make(f32, 1, *[3] * dims), [2], [1], [0], False, True, 0), {}
            yield (make(f32, 1, *[3] * dims), [5]), {}
            yield (make(f32, 1, 1, 1, *[3] * dims), [2]), {}

        def back(forward, args, ints=False, dims=dims):
            """(a gradient of forward(*args), the input, ...)"""
            made = forward(*args)
            made = made if isinstance(made, tuple) else (made,)
            return make(args[0].dtype, *made[0].shape), made[-1]

        def maxima_back(dims=dims, maxima=maxima):
            forward = getattr(torch.ops.aten, f"max_pool{dims}d_with_indices")
            for args, _ in maxima():
                try:
                    grad, indices = back(forward, args)
                except (RuntimeError, IndexError):
                    continue
                yield (grad, *args, indices), {}
            x, grad = make(f32, 1, 2, *[4] * dims), make(f32, 1, 2, *[2] * dims)
            yield (grad, x, [2], [], [0], [1], False, torch.zeros(1, 2, *[3] * dims, dtype=i64)), {}
            yield (grad[..., :1], x, [2], [], [0], [1], False, torch.zeros(1, 2, *[2] * dims, dtype=i64)), {}
            yield (grad.double(), x, [2], [], [0], [1], False, torch.zeros(1, 2, *[2] * dims, dtype=i64)), {}

        def averages_back(dims=dims, averages=averages):
            forward = getattr(torch.ops.aten, f"avg_pool{dims}d")
            for args, _ in averages():
                try:
                    grad, _ = back(forward, args)
                except (RuntimeError, IndexError):
                    continue
                yield (grad, *args, *([None] if len(args) == 6 else [])), {}

        def adaptive(dims=dims, types=(f32, f64, bf16)):
            for x in [x for t in types for x in images(dims, t)] + (special() if dims == 2 else []):
                for size in ([1] * dims, [2, 3, 4][:dims], [7, 9, 8][:dims], [12, 5, 3][:dims], [2, 0, 2][:dims]):
                    yield (x, size), {}
            yield (make(f32, *[3] * dims), [2] * dims), {}
            yield (make(f32, 1, *[3] * dims), [2] * (dims + 1)), {}
            yield (make(f32, 1, *[0] * dims), [2] * dims), {}
            yield (make(f32, 1, *[3] * dims), [-2] * dims), {}

        def adaptive_back(dims=dims, adaptive=adaptive, forward=None):
            for args, _ in adaptive():
                try:
                    grad, indices = back(forward, args)
                except (RuntimeError, IndexError):
                    continue
                yield (grad, args[0], *([indices] if indices.dtype is i64 else [])), {}

        def fractional(dims=dims):
            for x in (x for t in (f32, f64) for x in images(dims, t)):
                n, channels = (x.shape[0], x.shape[1]) if x.dim() == dims + 2 else (1, x.shape[0])
                for k, size in (([2] * dims, [3, 3, 3][:dims]), ([3, 1, 2][:dims], [1, 2, 2][:dims])):
                    yield (x, k, size, torch.rand(n, channels, dims).to(x.dtype)), {}
            yield (make(f32, 1, *[5] * dims), [2] * dims, [5] * dims, torch.rand(1, 1, dims)), {}
            yield (make(f32, 1, *[5] * dims), [2], [2] * dims, torch.rand(1, 1, dims)), {}
            yield (make(f32, 1, *[5] * dims), [2] * dims, [2] * dims, torch.rand(1, 1, dims).double()), {}

        def fractional_back(dims=dims, fractional=fractional):
            forward = getattr(torch.ops.aten, f"fractional_max_pool{dims}d")
            for args, _ in fractional():
                try:
                    grad, indices = back(forward, args)
                except (RuntimeError, IndexError):
                    continue
                yield (grad, *args[:3], indices), {}

        def unpool(dims=dims):
            for x in (x for t in (f32, f64, i64) for x in images(dims, t)):
                size = [s + 2 for s in x.shape[x.dim() - dims:]]
                top, n = 1, 1
                for s in size:
                    top *= s
                for s in x.shape[x.dim() - dims:]:
                    n *= s
                index = torch.stack([torch.randperm(top)[:n] for _ in range(max(x.shape[:-dims].numel(), 1))])
                index = index[:x.shape[:-dims].numel()].reshape(x.shape)
                yield (x, index, size, *([[2] * 3, [0] * 3] if dims == 3 else [])), {}
            tail = [[2] * 3, [0] * 3] if dims == 3 else []
            x = make(f32, 1, *[3] * dims)
            yield (x, torch.full(x.shape, 999), [4] * dims, *tail), {}
            yield (x, torch.full(x.shape, -1), [4] * dims, *tail), {}
            yield (x, torch.zeros(x.shape), [4] * dims, *tail), {}
            yield (x, torch.zeros(1, *[2] * dims).long(), [4] * dims, *tail), {}
            yield (x, torch.zeros(x.shape).long(), [4], *tail), {}
            yield (x[0], torch.zeros(x[0].shape).long(), [4] * dims, *tail), {}

        name = f"max_pool{dims}d"
        c[name] = c[name + "_with_indices"] = maxima
        c.forms(name + "_with_indices", "out", ("out", "indices"))
        c[name + "_with_indices_backward"] = maxima_back
        c.forms(name + "_with_indices_backward", "grad_input", ("grad_input",))
        c[f"avg_pool{dims}d"] = averages
        c.forms(f"avg_pool{dims}d", "out")
        c[f"avg_pool{dims}d_backward"] = averages_back
        c.forms(f"avg_pool{dims}d_backward", "grad_input", ("grad_input",))
        c[f"adaptive_avg_pool{dims}d"] = c[f"_adaptive_avg_pool{dims}d"] = adaptive
        c.forms(f"_adaptive_avg_pool{dims}d", "out")
        c[f"adaptive_avg_pool{dims}d.out"] = lambda dims=dims: (
            (a, k) for a, k in c[f"_adaptive_avg_pool{dims}d.out"]() if k["out"].is_contiguous())
        c[f"_adaptive_avg_pool{dims}d_backward"] = lambda dims=dims, f=adaptive_back: f(
            forward=getattr(torch.ops.aten, f"_adaptive_avg_pool{dims}d"))
        c.forms(f"_adaptive_avg_pool{dims}d_backward", "out")
        c[f"adaptive_max_pool{dims}d"] = adaptive
        c.forms(f"adaptive_max_pool{dims}d", "out", ("out", "indices"))
        c[f"adaptive_max_pool{dims}d_backward"] = lambda dims=dims, f=adaptive_back: f(
            forward=getattr(torch.ops.aten, f"adaptive_max_pool{dims}d"))
        c.forms(f"adaptive_max_pool{dims}d_backward", "grad_input", ("grad_input",))
        c[f"fractional_max_pool{dims}d"] = fractional
        c.forms(f"fractional_max_pool{dims}d", "output", ("output", "indices"))
        c[f"fractional_max_pool{dims}d_backward"] = fractional_back
        c.forms(f"fractional_max_pool{dims}d_backward", "grad_input", ("grad_input",))
        c[f"max_unpool{dims}d"] = unpool
        c.forms(f"max_unpool{dims}d", "out")
    c["adaptive_avg_pool3d_backward.grad_input"] = lambda: (
        (a, {"grad_input": k["out"]}) for a, k in c["_adaptive_avg_pool3d_backward.out"]())
    lines = [make(f32, 2, 3, 9), make(f64, 3, 9), make(f32, 9), make(f32, 2, 3, 9)[..., ::2]]
    c["max_pool1d"] = c["max_pool1d_with_indices"] = lambda: (
        ((x, *a), {}) for x in lines for a in (([2],), ([3], [2], [1]), ([3], [2], [1], [2], True), ([2, 2],), ([0],)))
    c["avg_pool1d"] = lambda: (((x, *a), {}) for x in lines for a in (([2],), ([3], [2], [1]), ([3], [2], [1], True, False), ([2], [2, 2])))
    c["adaptive_avg_pool1d"] = c["adaptive_max_pool1d"] = lambda: (((x, s), {}) for x in lines for s in ([1], [4], [12], [2, 2]))
    return c


def resampling():
    c = Cases()
    names = {"upsample_nearest1d": 1, "upsample_nearest2d": 2, "upsample_nearest3d": 3, "_upsample_nearest_exact1d": 1,
             "_upsample_nearest_exact2d": 2, "_upsample_nearest_exact3d": 3, "upsample_linear1d": 1,
             "upsample_bilinear2d": 2, "upsample_trilinear3d": 3, "upsample_bicubic2d": 2,
             "_upsample_bilinear2d_aa": 2, "_upsample_bicubic2d_aa": 2}
    for name, dims in names.items():
        near = "nearest" in name
        sizes = [[10, 18, 16], [3, 4, 5], [5, 9, 8], [1, 1, 1], [7, 25, 11]]

        def forward(dims=dims, near=near):
            for x in (x for t in (f32, f64, i64, torch.uint8) + ((bf16,) if near else ()) for x in images(dims, t)):
                for align in [[]] if near else [[False], [True]]:
                    for size in sizes:
                        yield (x, size[3 - dims:], *align, *[None] * dims), {}
                    for scales in [1.7, 2.3, 0.8], [0.4, 1.0, 2.1]:
                        size = [int(n * s) for n, s in zip(x.shape[x.dim() - dims:], scales)]
                        yield (x, size, *align, *scales[:dims]), {}
            tail = [] if near else [False]
            x = make(f32, 1, 2, *[3] * dims)
            for bad in ((x, [0] * dims), (x, [-3] * dims), (x, [4] * (dims + 1)), (x[0], [4] * dims),
                        (x[:, :0], [4] * dims), (x[..., :0], [4] * dims)):
                yield (*bad, *tail), {}

        def backward(dims=dims, forward=forward, near=near):
            for (x, size, *more), _ in forward():
                if x.dim() == dims + 2 and x.dtype not in (i64, torch.uint8):
                    for fmt in (torch.contiguous_format, FORMATS.get(dims, torch.contiguous_format)):
                        grad = make(x.dtype, *x.shape[:2], *[max(s, 0) for s in size[:dims]])
                        yield (grad.contiguous(memory_format=fmt), size, list(x.shape), *more), {}
            tail = [] if near else [False]
            yield (make(f32, 1, 2, *[3] * dims), [4] * dims, [1, 2, *[2] * dims], *tail), {}
            yield (make(f32, 2, *[4] * dims), [4] * dims, [1, 2, *[2] * dims], *tail), {}
            yield (make(f32, 1, 2, *[4] * dims), [4] * dims, [2, *[2] * dims], *tail), {}

        def by_factors(dims=dims, near=near):
            for x in images(dims):
                tail = [] if near else [False]
                for size, scales in ((None, [2.0] * dims), (None, [1.5, 0.6, 2.1][:dims]), ([6] * dims, None), (None, None),
                                     ([6] * dims, [2.0] * dims), (None, [2.0] * (dims + 1)), (None, [0.0] * dims)):
                    yield (x, size, *tail, scales), {}

        def by_factors_back(dims=dims, by_factors=by_factors, name=name):
            for (x, size, *more), _ in by_factors():
                try:
                    made = getattr(torch.ops.aten, name).vec(x, size, *more)
                except (RuntimeError, IndexError):
                    continue
                yield (make(f32, *made.shape), size, list(x.shape), *more), {}
        c[name] = forward
        c.forms(name, "out")
        c[name + "_backward"] = backward
        c.forms(name + "_backward", "grad_input", ("grad_input",))
        c[name + ".vec"] = by_factors
        c[name + "_backward.vec"] = by_factors_back
    return c


def padding():
    c = Cases()
    types = (f32, f64, bf16, i64, torch.complex64)
    for kind in "reflection", "replication":
        for dims in 1, 2, 3:
            def forward(dims=dims):
                for x in (x for t in types for x in images(dims, t)):
                    for pads in ([1, 2, 3, 1, 2, 2], [0, 3, 0, 0, 4, 1], [-2, 3, 1, -3, 0, 0], [-1, -1, 0, -1, 0, -2],
                                 [9, 1, 1, 1, 1, 1], [-6, 4, 0, 0, 0, 0], [-9, 1, 0, 0, 0, 0]):
                        yield (x, pads[:2 * dims]), {}
                for shape in ([3] * dims, [3] * (dims + 3), [2, 0, *[3] * dims], [0, *[3] * dims], [2, 2, *[0] * dims]):
                    yield (make(f32, *shape), [1, 1] * dims), {}

            def backward(dims=dims, forward=forward, name=f"{kind}_pad{dims}d"):
                for (x, pads), _ in forward():
                    try:
                        made = getattr(torch.ops.aten, name)(x, pads)
                    except (RuntimeError, IndexError):
                        continue
                    if made.numel() or not x.numel():
                        yield (make(x.dtype, *made.shape), x, pads), {}
                x = make(f32, 1, 2, *[4] * dims)
                yield (make(f32, 1, 2, *[6] * dims).double(), x, [1, 1] * dims), {}
                if dims < 3:  # where PyTorch looks at the gradient's size
                    yield (make(f32, 1, 2, *[5] * dims), x, [1, 1] * dims), {}
            name = f"{kind}_pad{dims}d"
            c[name] = forward
            c.forms(name, "out")
            c[name + "_backward"] = backward
            c.forms(name + "_backward", "grad_input", ("grad_input",))
    return c


def sampling():
    c = Cases()
    for dims in 2, 3:
        def forward(dims=dims):
            for dtype in f32, f64:
                for x in images(dims, dtype):
                    if x.dim() != dims + 2:
                        continue
                    grid = torch.rand(x.shape[0], *[4, 3, 5][:dims], dims).to(dtype) * 3 - 1.5
                    grid.view(-1)[:2] = 1
                    for mode in (0, 1, 2) if dims == 2 else (0, 1):
                        for pad in 0, 1, 2:
                            for align in False, True:
                                yield (x, grid, mode, pad, align), {}
            x, grid = make(f32, 1, 2, *[3] * dims), torch.rand(1, *[4] * dims, dims)
            for a, b in ((x, grid.double()), (x, grid[..., :1]), (x[..., :0], grid), (x, grid.expand(2, *grid.shape[1:])),
                         (x[0], grid), (x[:, :0], grid), (x, grid[:, :0]), (x.to(bf16), grid.to(bf16))):
                yield (a, b, 0, 0, False), {}
            if dims == 3:
                yield (x, grid, 2, 0, False), {}

        def backward(dims=dims, forward=forward):
            for (x, grid, *more), _ in forward():
                if x.dtype == grid.dtype and grid.shape[-1] == dims and x.dim() == dims + 2 and x.numel() and more[0] < 5 - dims:
                    if x.shape[0] == grid.shape[0]:
                        grad = make(x.dtype, *x.shape[:2], *grid.shape[1:-1])
                        yield (grad, x, grid, *more, [True, True]), {}
                        yield (grad, x, grid, *more, [False, True]), {}
        c[f"grid_sampler_{dims}d"] = forward
        c[f"grid_sampler_{dims}d_backward"] = backward
    c["grid_sampler"] = lambda: ((a, k) for d in (2, 3) for a, k in c[f"grid_sampler_{d}d"]())
    c["_grid_sampler_2d_cpu_fallback"] = lambda: ((a, k) for a, k in c["grid_sampler_2d"]() if a[0].dim() == 4)
    c["_grid_sampler_2d_cpu_fallback_backward"] = lambda: (
        (a[:-1], k) for a, k in c["grid_sampler_2d_backward"]() if a[-1][0])
    c["affine_grid_generator"] = lambda: (((make(d, n, k, k + 1), [n, 2, *[4, 1, 5][:k]], align), {}) for d in (f32, f64) for n in (1, 2)
                                          for k in (2, 3, 1) for align in (False, True))
    c["affine_grid_generator_backward"] = lambda: (((make(f32, 2, *[4, 3, 5][:k], k), [2, 2, *[4, 3, 5][:k]], align), {})
                                                   for k in (2, 3) for align in (False, True))
    c["pad"] = lambda: (((make(f32, *shape), p, mode, *value), {}) for shape in ((5,), (3, 5), (2, 3, 5), (2, 3, 4, 5), (2, 2, 3, 4, 5))
                        for p in ([1, 2], [1, 0, 2, 1], [1, 1, 0, 1, 2, 1], [1], [-1, 2], [2, -1, -1, 1], [9, 1])
                        for mode in ("constant", "reflect", "replicate", "circular", "else") for value in ((), (2.0,)))
    c["_pad_enum"] = lambda: (((a, p, ["reflect", "replicate", "circular", "constant", "else"].index(m), *v), k)
                              for (a, p, m, *v), k in c["pad"]())
    c["_pad_circular"] = lambda: ((a[:2], k) for a, k in c["pad"]() if a[2] == "circular")
    return c


for _cases in pooling, resampling, padding, sampling:
    CASES.update(_cases())


# -- at the edges --

def pooled(dims):
    return [[none(*s, *[4] * dims), [2] * dims] for s in ((1, 0), (0,), (0, 0), (0, 2))]


for _dims in 1, 2, 3:
    edges(f"adaptive_max_pool{_dims}d adaptive_avg_pool{_dims}d avg_pool{_dims}d max_pool{_dims}d", pooled(_dims))
edges("max_pool1d", [[upto(*s), [3], [], [1], [2]] for s in ((0, 3, 2), (1, 1), (1, 1, 1), (3, 2))] +
      [[upto(0, 2, 2), [2], [1], [0], [2]], [upto(1, 2, 2), [1], [MOST]], [upto(2, 5, 3).transpose(1, 2), [2]],
       [upto(4, 2, 5).transpose(0, 1), [2]], [upto(3, 5).t(), [2]]])
for _dims in 2, 3:
    edges(f"fractional_max_pool{_dims}d", ([none(*s, *[4] * _dims), [2] * _dims, [2] * _dims, torch.full(((1,) + s)[-2:] + (_dims,), 0.4)]
                                           for s in ((1, 0), (0,), (0, 0), (0, 2), (1, 2))))

# Not compared, because PyTorch's answer there is not one:
#   avg_pool3d with a divisor from 2^31 on: it takes another one, as an int
#   fractional_max_pool of samples that are not packed, or not numbers: it reads them as if packed; here by their strides, or an error
#   grid_sampler of three dimensions, reflected 2^31 times and more: it counts in an int
#   upsample with a scale that is not that of the sizes: it reads beyond the image; here what lies at its border
