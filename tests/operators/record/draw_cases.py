"""draw_cases.py -- writes tests/data/draw_cases.jsonl: what PyTorch's random operators give for ten seeds.

    ATEN_CPU_CAPABILITY=default python3 tests/operators/record/draw_cases.py > tests/data/draw_cases.jsonl

Needs PyTorch (written with 1.13.1); the tests need only the file.  A line is a seed, the calls made with one
generator in their order, and the CRC of its state after them.  A call is an operator, its arguments after
the first, the dtype and size of that, and what it gave: the CRC of the bytes where they are to be the same,
else some elements.  The first argument is a tensor to fill; of multinomial its weights, 1, 2, 3 ...; of
randperm the size."""
import json
import os
import sys
import zlib

if os.environ.get("ATEN_CPU_CAPABILITY") != "default":
    sys.exit("set ATEN_CPU_CAPABILITY=default: PyTorch's vectors round normal numbers otherwise")
import torch

SIZES = 1, 15, 16, 17, 1000
EXACT = [("uniform_", [], "float32"), ("uniform_", [-2.5, 7.25], "float64"), ("random_", [], "int64"), ("random_", [], "uint8"),
         ("random_.from", [-7, 2**33], "int64"), ("random_.to", [100], "int32"), ("bernoulli_.float", [0.3], "float32"),
         ("multinomial", [3, True], "float32"), ("multinomial", [1, False], "float64"), ("randperm", [], "int64")]
NEAR = [("normal_", [], "float32"), ("normal_", [3.0, 0.5], "float64"), ("exponential_", [2.0], "float32"), ("log_normal_", [0.5, 0.25], "float32"),
        ("cauchy_", [], "float64"), ("geometric_", [0.25], "float32")]


def run(op, args, dtype, size, g):
    if op == "randperm":
        return torch.randperm(size, generator=g)
    dtype = getattr(torch, dtype)
    if op == "multinomial":
        return torch.multinomial(torch.arange(1, size + 1, dtype=dtype), *args, generator=g)
    return getattr(torch.zeros(size, dtype=dtype), op.split(".")[0])(*args, generator=g)


def some(values):
    return values if len(values) <= 17 else values[:4] + values[-20:-16] + values[-2:]


for seed in (0, 1, 5, 42, 12345, 67280421310721, 2**32 - 1, 2**32, 2**63 - 1, -1):
    g = torch.Generator()
    g.manual_seed(seed)
    calls = []
    for size in SIZES:
        for op, args, dtype in EXACT:
            if not (op == "multinomial" and args[0] > size and not args[1]):
                calls.append([op, args, dtype, size, zlib.crc32(run(op, args, dtype, size, g).numpy().tobytes())])
        for op, args, dtype in NEAR:
            calls.append([op, args, dtype, size, [float(f"{v:.9g}") for v in some(run(op, args, dtype, size, g).tolist())]])
    print(json.dumps({"seed": seed, "calls": calls, "state": zlib.crc32(g.get_state().numpy().tobytes())}, separators=(",", ":")))
