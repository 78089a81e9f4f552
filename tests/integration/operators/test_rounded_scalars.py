"""test_rounded_scalars.py -- parameters that bfloat16 rounds, as PyTorch 1.13.1 takes them: recorded answers, of which
tests/operators/test_rounded_scalars.py compares every overload beside PyTorch."""

from harness import equal, main, raises
from daemon import TestDaemon


def bf16(values):
    return {"data": values, "dtype": "bfloat16"}


# Rounded first (.to<scalar_t>()), then those that are not (.to<opmath_t>()).  0.3 becomes 0.30078125.
CASES = (
    ("add.Tensor", [bf16([1.0]), bf16([3.0])], {"alpha": 0.3}, [1.90625]),
    ("sub.Tensor", [bf16([0.90234375]), bf16([3.0])], {"alpha": 0.3}, [0.0]),
    ("rsub.Scalar", [bf16([1.0]), 0.3, 0.3], {}, [0.0]),
    ("hardshrink", [bf16([0.30078125, 0.5, 1.0]), 0.3], {}, [0.0, 0.5, 1.0]),
    ("hardshrink_backward", [bf16([0.30078125, 0.5, 1.0]), bf16([0.30078125, 0.5, 1.0]), 0.3], {}, [0.0, 0.5, 1.0]),
    ("softshrink_backward", [bf16([0.30078125, 0.5, 1.0]), bf16([0.30078125, 0.5, 1.0]), 0.3], {}, [0.0, 0.5, 1.0]),
    ("threshold", [bf16([0.30078125, 0.5, 1.0]), 0.3, 9], {}, [9.0, 0.5, 1.0]),
    ("threshold_backward", [bf16([0.30078125, 0.5, 1.0]), bf16([0.30078125, 0.5, 1.0]), 0.3], {}, [0.0, 0.5, 1.0]),
    ("logit", [bf16([0.30078125, 0.5, 1.0]), 0.3], {}, [-0.84375, 0.0, 0.84375]),
    ("softshrink", [bf16([0.30078125, 0.5, 1.0]), 0.3], {}, [0.000782012939453125, 0.2001953125, 0.69921875]),
    ("leaky_relu", [bf16([-3.0]), 0.3], {}, [-0.8984375]),
    ("addcmul", [bf16([0.0]), bf16([1.0]), bf16([3.0])], {"value": 0.3}, [0.8984375]),
    ("elu", [bf16([3.0]), 1, 0.3], {}, [0.8984375]),
    ("addr", [bf16([[3.0]]), bf16([0.0]), bf16([0.0])], {"beta": 0.3}, [[0.90234375]]),
)


def test_scalars_are_rounded_as_in_pytorch():
    with TestDaemon() as daemon, daemon.connect() as client:
        for name, args, kwargs, want in CASES:
            made = client.call("op.call", op="aten::" + name, args=args, kwargs=kwargs)["outputs"][0]["tensor"]
            exact = client.call("op.call", op="aten::_to_copy", args=[{"tensor": made}], kwargs={"dtype": "float64"})["outputs"][0]
            equal(client.call("tensor.read", tensor=exact["tensor"])["data"], want, name)


def test_scalars_that_the_dtype_cannot_hold_are_refused():
    with TestDaemon() as daemon, daemon.connect() as client:
        for name, args in (("pow.Tensor_Scalar", [bf16([1]), 1e39]), ("where.ScalarOther", [{"data": [True]}, bf16([1]), 1e39]),
                           ("hardshrink", [bf16([1]), 1e39]), ("addr", [bf16([[1]]), bf16([1]), bf16([1])])):
            kwargs = {"beta": 1e39} if name == "addr" else {}
            raises(lambda: client.call("op.call", op="aten::" + name, args=args, kwargs=kwargs), "RuntimeError", "without overflow")


if __name__ == "__main__":
    main()
