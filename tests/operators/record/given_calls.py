"""given_calls.py -- calls by hand, for tests/data/calls.jsonl: of overloads that none of PyTorch's samples reach.

    python3 tests/operators/record/given_calls.py

adds the lines that are missing to the file, which is sorted by overload.  record_calls.py adds them, too.  Needs no
PyTorch: the names of outputs are those of the schemas (tests/data/aten_schemas.txt)."""

import json
import math
import os
import re

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "data")
UNARY = ("abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round sigmoid "
         "sin sinh sqrt tan tanh trunc zero").split()
WITH_SCALARS = ("add", "sub", "mul", "div")


class T:
    """A contiguous tensor with elements that differ; every other float is negative if `signs`."""

    def __init__(self, *sizes, dtype="float32", data=None, signs=True):
        self.sizes, self.dtype = list(sizes), dtype
        self.data = data or [round((0.25 + i % 7 / 8) * (-1 if signs and i % 2 else 1), 6) for i in range(math.prod(sizes))]

    def json(self):
        strides = [math.prod(self.sizes[d + 1:]) for d in range(len(self.sizes))]
        return {"sizes": self.sizes, "strides": strides, "offset": 0, "dtype": self.dtype, "data": self.data}


def ints(*sizes, data):
    return T(*sizes, dtype="int64", data=data)


def line(name, args, kwargs):
    tensors = []

    def value(v):
        if isinstance(v, T):
            if v not in tensors:
                tensors.append(v)
            return {"t": tensors.index(v)}
        if isinstance(v, (list, tuple)):
            return [value(x) for x in v]
        return {"f": v} if isinstance(v, float) else v

    args, kwargs = [value(a) for a in args], {k: value(v) for k, v in kwargs.items()}
    return {"op": name if "::" in name else "aten::" + name, "tensors": [t.json() for t in tensors], "args": args, "kwargs": kwargs}


def outputs():
    """{overload: names of its outputs and whether each is a list}"""
    found = {}
    with open(os.path.join(DATA, "aten_schemas.txt")) as f:
        for schema in f:
            name, given = re.match(r"aten::([\w.]+)\((.*)\) ->", schema).groups()
            found[name] = re.findall(r"Tensor\(\w!\)(\[\])? (\w+)", given.split("*, ")[1]) if "*, " in given else []
    return found


def foreach():
    """(overloads, arguments)"""
    positive = lambda: [T(2, 3, signs=False), T(4, signs=False)]
    for name in UNARY:
        yield [f"_foreach_{name}{form}" for form in ("", "_", ".out")], [positive()]
    for name in WITH_SCALARS:
        yield [f"_foreach_{name}{form}.List" for form in ("", "_")] + [f"_foreach_{name}.List_out"], [positive(), positive()]
        yield [f"_foreach_{name}{form}.Scalar" for form in ("", "_")] + [f"_foreach_{name}.Scalar_out"], [positive(), 2.5]
        yield [f"_foreach_{name}{form}.ScalarList" for form in ("", "_")] + [f"_foreach_{name}.ScalarList_out"], [positive(), [2.5, 3]]
    for name in ("maximum", "minimum"):
        yield [f"_foreach_{name}{form}.List" for form in ("", "_")] + [f"_foreach_{name}.List_out"], [positive(), [T(2, 3), T(4)]]
    for name in ("addcdiv", "addcmul"):
        for form, scalar in (("Scalar", 0.5), ("ScalarList", [0.5, 2.0])):
            yield ([f"_foreach_{name}{end}.{form}" for end in ("", "_")] + [f"_foreach_{name}.{form}_out"],
                   [positive(), positive(), positive(), scalar])
    yield ["_foreach_norm.Scalar", "_foreach_norm.Scalar_out"], [positive(), 2.0]


def convolutions():
    for d in (1, 2, 3):
        x, w, b = T(2, 2, *[4] * d), T(3, 2, *[2] * d), T(3)
        x, w = (T(1, 1, 3, 3, 3), T(2, 1, 2, 2, 2)) if d == 3 else (x, w)
        b = T(2) if d == 3 else b
        one, zero, two = [1] * d, [0] * d, [2] * d
        yield [f"conv{d}d"], [x, w, b, two, one, one, 1]
        yield [f"conv{d}d.padding"], [x, w, b, one, "same", one, 1]
        turned = T(2, 2, *[2] * d) if d < 3 else T(1, 2, 2, 2, 2)
        yield [f"conv_transpose{d}d" + (".input" if d > 1 else "")], [x, turned, T(2), two, zero, one, 1, one]
        if d == 1:
            continue
        yield [f"slow_conv_dilated{d}d", f"slow_conv_dilated{d}d.out"], [x, w, [2] * d, b, one, one, two]
        yield [f"slow_conv_transpose{d}d", f"slow_conv_transpose{d}d.out"], [x, turned, [2] * d, T(2), two, zero, one, one]
    x, w, b, grad = T(2, 2, 4, 4), T(3, 2, 2, 2), T(3), T(2, 3, 3, 3)
    one, zero, mask = [1, 1], [0, 0], [True, True, True]
    usual = [one, zero, one, False, zero, 1]
    yield ["_convolution", "_convolution.out"], [x, w, b, *usual, False, False, False, False]
    yield ["_convolution.deprecated"], [x, w, b, *usual, False, False, False]
    yield ["_convolution_mode"], [x, w, b, one, "same", one, 1]
    yield ["_convolution_double_backward"], [T(2, 2, 4, 4), T(3, 2, 2, 2), T(3), grad, w, x, *usual, mask]
    yield ["convolution_backward", "convolution_backward.out"], [grad, x, w, [3], *usual, mask]
    yield ["convolution_overrideable", "convolution_overrideable.out"], [x, w, b, *usual]
    yield ["convolution_backward_overrideable", "convolution_backward_overrideable.out"], [grad, x, w, *usual, mask]
    yield ["_slow_conv2d_forward", "_slow_conv2d_forward.output"], [x, w, [2, 2], b, one, zero]
    yield ["thnn_conv2d", "thnn_conv2d.out"], [x, w, [2, 2], b, one, zero]
    yield ["_slow_conv2d_backward.output_mask", "_slow_conv2d_backward.output_mask_out"], [grad, x, w, [2, 2], one, zero, mask]
    yield ["_slow_conv2d_backward.grad_input"], [grad, x, w, [2, 2], one, zero]
    x, w, b = T(1, 1, 3, 3, 3), T(2, 1, 2, 2, 2), T(2)
    yield ["slow_conv3d", "slow_conv3d.out", "slow_conv3d_forward", "slow_conv3d_forward.output"], [x, w, [2] * 3, b, [1] * 3, [0] * 3]


def pools():
    x2, x3 = T(1, 2, 4, 4), T(1, 1, 4, 4, 4)
    ones = lambda d: (T(1, 2, 2, 2), T(1, 1, 2, 2, 2))[d - 2]
    for d, x in ((2, x2), (3, x3)):
        window = [[2] * d, [2] * d, [0] * d, False, True, None]
        yield [f"avg_pool{d}d.out"], [x, *window]
        yield [f"avg_pool{d}d_backward", f"avg_pool{d}d_backward.grad_input"], [ones(d), x, *window]
        at = ints(*ones(d).sizes, data=[0, 2, 8, 10] * 2 if d == 2 else [0, 2, 8, 10, 32, 34, 40, 42])
        yield [f"fractional_max_pool{d}d_backward", f"fractional_max_pool{d}d_backward.grad_input"], [ones(d), x, [2] * d, [2] * d, at]
    yield ["_adaptive_avg_pool3d.out", "adaptive_avg_pool3d.out", "adaptive_max_pool3d.out"], [x3, [2] * 3]
    yield ["_adaptive_avg_pool3d_backward", "_adaptive_avg_pool3d_backward.out", "adaptive_avg_pool3d_backward.grad_input"], [ones(3), x3]
    yield ["adaptive_max_pool3d_backward", "adaptive_max_pool3d_backward.grad_input"], [ones(3), x3, at]
    window = [[2] * 3, [2] * 3, [0] * 3, [1] * 3, False]
    yield ["max_pool3d_with_indices.out"], [x3, *window]
    yield ["max_pool3d_with_indices_backward", "max_pool3d_with_indices_backward.grad_input"], [ones(3), x3, *window, at]


def pads():
    pad = [1, 1, 1, 1, 1, 1]
    for kind in ("reflection", "replication"):
        x = T(1, 2, 2, 3)
        yield [f"{kind}_pad3d", f"{kind}_pad3d.out"], [x, pad]
        yield [f"{kind}_pad3d_backward", f"{kind}_pad3d_backward.grad_input"], [T(1, 4, 4, 5), x, pad]
    yield ["replication_pad2d.out"], [T(1, 2, 3), pad[:4]]
    yield ["replication_pad2d_backward", "replication_pad2d_backward.grad_input"], [T(1, 4, 5), T(1, 2, 3), pad[:4]]


def upsamples():
    x2, x3 = T(1, 2, 3, 3), T(1, 1, 2, 2, 2)
    for name, x, aligned in (("_upsample_bicubic2d_aa", x2, True), ("_upsample_bilinear2d_aa", x2, True), ("_upsample_nearest_exact2d", x2, False),
                             ("_upsample_nearest_exact3d", x3, False), ("upsample_bicubic2d", x2, True), ("upsample_bilinear2d", x2, True),
                             ("upsample_nearest2d", x2, False), ("upsample_nearest3d", x3, False), ("upsample_trilinear3d", x3, True)):
        d, corners = len(x.sizes) - 2, [False] if aligned else []
        yield [name, name + ".out"], [x, [4] * d, *corners, *[None] * d]
        yield [name + ".vec", name + ".vec_out"], [x, None, *corners, [2.0] * d]


def attention():
    e = 4
    shared = [e, 2, T(3 * e, e), T(3 * e), T(e, e), T(e)]
    q = T(1, 2, e)
    yield ["_native_multi_head_attention", "_native_multi_head_attention.out"], [q, q, q, *shared]
    norms = [T(e), T(e), T(e), T(e)]
    yield (["_transformer_encoder_layer_fwd", "_transformer_encoder_layer_fwd.out"],
           [q, *shared, False, False, 1e-5, *norms, T(3, e), T(3), T(e, 3), T(e)])


def others():
    x = T(2, 3)
    yield ["clip", "clip_", "clip.out"], [x, -0.5, 0.5]
    yield ["clip.Tensor", "clip_.Tensor", "clip.Tensor_out"], [x, T(3, data=[-0.5] * 3), T(2, 3, data=[0.5] * 6)]
    for name in ("and", "or", "xor"):
        yield [f"bitwise_{name}.Tensor_out"], [ints(2, 2, data=[1, 2, 3, -4]), ints(2, data=[5, 6])]
    yield ["bincount"], [ints(4, data=[0, 2, 2, 5]), T(4), 3]
    yield ["can_cast"], ["float32", "int64"]
    yield ["promote_types"], ["float32", "int64"]
    yield ["result_type.Scalar_Scalar"], [1, 2.5]
    yield ["glu_backward", "glu_backward.grad_input"], [T(2, 2), T(2, 4), 1]
    for d, sizes, grid, out in ((2, [1, 2, 3, 3], [1, 2, 2, 2], [1, 2, 2, 2]), (3, [1, 1, 2, 2, 2], [1, 2, 2, 2, 3], [1, 1, 2, 2, 2])):
        yield [f"grid_sampler_{d}d", f"grid_sampler_{d}d.out"], [T(*sizes), T(*grid), 0, 0, False]
        yield ([f"grid_sampler_{d}d_backward", f"grid_sampler_{d}d_backward.out"],
               [T(*out), T(*sizes), T(*grid), 0, 0, False, [True, True]])
    yield ["_grid_sampler_2d_cpu_fallback.out"], [T(1, 2, 3, 3), T(1, 2, 2, 2), 0, 0, False]
    yield ["gru.input"], [T(2, 1, 2), T(1, 1, 2), [T(6, 2), T(6, 2), T(6), T(6)], True, 1, 0.0, False, False, False]
    yield (["lstm.input"], [T(2, 1, 2), [T(1, 1, 2), T(1, 1, 2)], [T(8, 2), T(8, 2), T(8), T(8)], True, 1, 0.0, False, False, False])
    yield ["istft"], [T(3, 4, dtype="complex64", data=[0.5 + i % 5 for i in range(24)]), 4, 2, 4, T(4, data=[1.0] * 4)]
    yield ["masked_scatter_"], [x, T(2, 3, dtype="bool", data=[1, 0, 1, 0, 1, 1]), T(6)]
    yield ["pad_sequence"], [[T(2, 2), T(3, 2), T(1, 2)], True, 0.5]
    yield ["_sobol_engine_scramble_"], [ints(2, 30, data=[1 << 29 - i % 30 for i in range(60)]),
                                        ints(2, 30, 30, data=[int(i % 30 <= i // 30 % 30) for i in range(1800)]), 2]
    one = lambda *data, dtype="float32": T(len(data), dtype=dtype, data=list(data))
    yield (["_fused_moving_avg_obs_fq_helper_functional"],
           [x, ints(1, data=[1]), ints(1, data=[1]), one(-1.0), one(1.0), one(0.5), T(1, dtype="int32", data=[3]), 0.01, 0, 255, 0])
    yield (["_ctc_loss_backward.Tensor"],
           [T(1), T(3, 1, 3, data=[-1.0] * 9), ints(1, 1, data=[1]), ints(1, data=[3]), ints(1, data=[1]), T(1, data=[1.5]),
            T(1, 3, 3, data=[-1.0, -1.0, -9.0, -2.0, -1.5, -3.0, -3.0, -2.0, -2.5]), 0, False])


def optimizers():
    """Names with their namespace, arguments, and keyword arguments."""
    state = lambda: [T(2, 3, signs=False), T(4, signs=False)]
    params, grads, steps = [T(2, 3), T(4)], [T(2, 3), T(4)], [T(data=[1.0]), T(data=[2.0])]
    adam = [params, grads, state(), state(), state(), steps]
    for name, args in (("sgd_", [params, grads, state()]), ("adam_", adam), ("adamw_", adam), ("lion_", [params, grads, state()]),
                       ("rmsprop_", [params, grads, state(), state(), state()]), ("adagrad_", [params, grads, state(), steps])):
        yield [f"optim::{name}"], args, {"lr": 0.1}
        yield [f"optim::{name}.tensor_lr"], args, {"lr": T(data=[0.1])}
    yield ["optim::clip_grad_norm_"], [grads, 1.0], {}
    yield ["optim::clip_grad_value_"], [grads, 0.5], {}
    options = {"lr": 0.1, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.0, "eps": 1e-8, "amsgrad": True, "maximize": False}
    yield [f"aten::_fused_adam{form}" for form in ("", "_", ".out")], adam, options
    yield ([f"aten::_amp_foreach_non_finite_check_and_unscale{form}" for form in ("", "_", ".out")],
           [grads, T(1, data=[0.0]), T(1, data=[0.5])], {})
    yield ([f"aten::_amp_update_scale{form}" for form in ("", "_", ".out")],
           [T(1, data=[2.0]), T(1, dtype="int32", data=[3]), T(1, data=[0.0]), 2.0, 0.5, 4], {})


def lines():
    """{overload: line}"""
    outs, made = outputs(), {}
    for names, args, kwargs in optimizers():
        for name in names:
            given = {of: [T(*x.sizes) for x in args[0]] if many else T(*args[0].sizes)
                     for many, of in outs.get(name.removeprefix("aten::"), ()) if name.endswith(".out")}
            made[name.removeprefix("aten::")] = line(name, args, kwargs | given)
    for part in (foreach, convolutions, pools, pads, upsamples, attention, others):
        for names, args in part():
            for name in names:
                integral = any(isinstance(a, T) and a.dtype == "int64" for a in args[:1])
                empty = lambda of: T(0, dtype="int64" if of == "indices" or integral else "float32", data=[])
                given = {of: [empty(of) for _ in args[0]] if many else empty(of) for many, of in outs[name]}
                made[name] = line(name, args, given)
    return made


def main():
    path = os.path.join(DATA, "calls.jsonl")
    with open(path) as f:
        recorded = [json.loads(text) for text in f]
    have = {call["op"] for call in recorded}
    added = [call for call in lines().values() if call["op"] not in have]
    with open(path, "w") as f:
        f.writelines(json.dumps(call, separators=(",", ":")) + "\n" for call in sorted(recorded + added, key=lambda c: c["op"]))
    print(f"{len(added)} calls were added")


if __name__ == "__main__":
    main()
