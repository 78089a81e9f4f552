"""conv.py -- convolutions, im2col and col2im."""

import torch

from cases.inputs import CASES, edges, f32, f64, i64, make, none


def images(dtype=f32):
    x = make(dtype, 2, 4, 9, 8)
    return [x, x.contiguous(memory_format=torch.channels_last), x[:, :, ::2], x[:0], x[0]]


CASES["conv2d"] = lambda: (((x, make(x.dtype, 6, 4 // g, 3, 3), b, s, p, d, g), {}) for t in (f32, f64) for x in images(t) for b in (None, make(t, 6))
                           for s, p, d, g in (([1], [0], [1], 1), ([2, 1], [1, 1], [1, 1], 2), ([1, 1], [2, 1], [2, 1], 1)))
CASES["conv1d"] = lambda: (((make(f32, *s), make(f32, 6, 4, 3), b, [t], [1]), {}) for s in ((2, 4, 9), (4, 9), (2, 3, 9)) for b in (None, make(f32, 6)) for t in (1, 2))
CASES["convolution"] = lambda: (((x, make(f32, 6, 4, 3, 3), make(f32, 6), [1, 1], [1, 1], [1, 1], False, [0, 0], 1), {}) for x in images()[:3])
_spread = ([2, 1], [1, 0], [1, 2])  # stride, padding, dilation
CASES["conv3d"] = lambda: (((make(f32, 2, 4, 5, 4, 6), make(f32, 6, 4 // g, 3, 2, 3), b, [1, 2, 1], 1, [1, 1, 2], g), {}) for b in (None, make(f32, 6)) for g in (1, 2))
CASES["conv2d.padding"] = lambda: (((x, make(f32, 6, 4, *k), None, 1, m, [1, 2]), {}) for x in images()[:2] for k in ((3, 3), (2, 4)) for m in ("same", "valid", "other"))
CASES["conv_transpose2d.input"] = lambda: (((x, make(x.dtype, 4, 6 // g, 3, 2), b, s, 1, o, g, [1, 2]), {}) for t in (f32, f64) for x in images(t) for b in (None, make(t, 6)) for g in (1, 2) for s, o in ((1, 0), ([2, 3], [1, 2]), (1, 5)))
CASES["convolution_backward"] = lambda: (((make(t, 2, 6, 4, 3), layout(make(t, 2, 4, 7, 7)), make(t, 6, 4 // g, 3, 3), [6], *_spread, False, [0, 0], g, m), {}) for t in (f32, f64, i64) for layout in (lambda x: x, lambda x: x.contiguous(memory_format=torch.channels_last)) for g in (1, 2) for m in ([True] * 3, [True, False, False]))
CASES["_convolution"] = lambda: (((x, make(f32, 6, 4, 3, 2), make(f32, 6), *_spread, False, [0, 0], 1, *[True] * 4), {}) for x in images()[:2])
CASES["_convolution.deprecated"] = lambda: ((a[:-1], k) for a, k in CASES["_convolution"]())
CASES["_convolution_mode"] = lambda: (((x, w, b, [1], m, d, 1), k) for (x, w, b, _, m, d), k in CASES["conv2d.padding"]())
CASES["_nnpack_available"] = lambda: [((), {})]
CASES["conv_tbc"] = lambda: (((make(t, 6, 2, 3), make(t, 2, 3, 4), make(t, 4), p), {}) for t in (f32, torch.complex64) for p in (0, 2))
CASES["conv_tbc_backward"] = lambda: (((make(f32, 5 + 2 * p, 2, 4), make(f32, 6, 2, 3), make(f32, 2, 3, 4), make(f32, 4), p), {}) for p in (0, 2))
CASES["_convolution_double_backward"] = lambda: (((*ggs, make(f32, 2, 6, 4, 3), make(f32, 6, 2, 3, 3), make(f32, 2, 4, 7, 7), *_spread, False, [0, 0], 2, [True] * 3), {}) for ggs in ((make(f32, 2, 4, 7, 7), make(f32, 6, 2, 3, 3), make(f32, 6)), (None, make(f32, 6, 2, 3, 3), None), (None, None, make(f32, 6))))
CASES["im2col"] = lambda: (((x, [3, 2], [1, 2], [1, 0], [2, 1]), {}) for x in images()[:2] + [make(torch.bfloat16, 4, 7, 7), make(i64, 1, 4, 7, 7)])
CASES["col2im"] = lambda: (((make(t, 2, 24, n), [7, 7], [3, 2], [1, 2], [1, 0], [2, 1]), {}) for t in (f32, torch.complex64) for n in (20, 19))
for _name in "im2col", "col2im":
    CASES[_name + ".out"] = lambda n=_name: ((a, {"out": torch.zeros(0, dtype=a[0].dtype)}) for a, _ in CASES[n]())
CASES["thnn_conv2d"] = lambda: (((x, make(f32, 6, 4, 3, 2), [3, 2], b, *_spread[:2]), {}) for x in images()[:2] for b in (None, make(f32, 6)))
CASES["_slow_conv2d_forward"] = lambda: (((x, make(x.dtype, 6, 4, 3, 2), [3, 2], b, *_spread[:2]), {}) for x in images()[:2] + [make(i64, 2, 4, 9, 8)] for b in (None, make(x.dtype, 6)))
CASES["_slow_conv2d_forward.output"] = lambda: ((a, {"output": torch.zeros(n)}) for a, _ in CASES["thnn_conv2d"]() for n in (0, (2, 6, 5, 7)))
CASES["thnn_conv2d.out"] = lambda: ((a, {"out": k["output"]}) for a, k in CASES["_slow_conv2d_forward.output"]())
CASES["_slow_conv2d_backward.output_mask"] = lambda: (((make(t, 2, 6, 5, 7), make(t, 2, 4, 9, 8), make(t, 6, 4, 3, 2), [3, 2], *_spread[:2], m), {}) for t in (f32, f64, i64) for m in ([True] * 3, [True, False, False]))
CASES["_slow_conv2d_backward.grad_input"] = lambda: ((a[:-1], {"grad_input": torch.zeros(0), "grad_weight": torch.zeros(0), "grad_bias": torch.zeros(0)}) for a, _ in [*CASES["_slow_conv2d_backward.output_mask"]()][:1])
CASES["slow_conv3d_forward"] = lambda: (((make(t, 2, 4, 5, 4, 6), make(t, 6, 4, 3, 2, 3), [3, 2, 3], None, [1, 1, 1], [0, 1, 1]), {}) for t in (f32, i64))
CASES["slow_conv3d_forward.output"] = lambda: ((a, {"output": torch.zeros(0)}) for a, _ in [*CASES["slow_conv3d_forward"]()][:1])
CASES["slow_conv3d.out"] = lambda: ((a, {"out": k["output"]}) for a, k in CASES["slow_conv3d_forward.output"]())
CASES["slow_conv3d"] = lambda: (((make(t, 2, 4, 5, 4, 6), make(t, 6, 4, 3, 2, 3), [3, 2, 3], None, 1, 1), {}) for t in (f32, i64))
CASES["slow_conv_dilated2d"] = lambda: (((x, make(f32, 6, 4, 3, 2), [3, 2], b, *_spread), {}) for x in images()[:2] + [make(f32, 4, 7, 7)] for b in (make(f32, 6),))
CASES["slow_conv_transpose2d"] = lambda: (((x, make(f32, 4, 6, 3, 2), [3, 2], b, *_spread[:2], [1, 0], [2, 1]), {}) for x in images()[:2] for b in (None, make(f32, 6)))


# -- at the edges --

edges("convolution", [[none(0, 2, *[4] * n), torch.ones(2, 1, *[3] * n), None, [1] * n, [1] * n, [1] * n, t, [0] * n, g]
                      for n in (1, 2, 3) for t in (False, True) for g in (1, 2)] +
      [[none(b, 2, 5, 5), none(2, 1, *k), None, [1, 2], [0, 0], [1, 1], t, [0, 0], 2] for b in (0, 1) for k in ((0, 2), (0, 0)) for t in (False, True)] +
      [[none(b, 0, s, 4), none(2, 0, 2, 1), None, [2, 1], [1, 0], [1, 2], False, [0, 0], 1] for b in (0, 1) for s in (0, 4)])

# Not compared, because PyTorch's answer there is not one:
#   convolution of infinite weights and zeros around the image: NaN or not goes by the routine that it takes
