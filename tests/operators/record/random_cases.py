"""random_cases.py -- writes tests/data/random_cases.jsonl: what torch.rand and normal_ give for ten seeds.

    python3 tests/operators/record/random_cases.py > tests/data/random_cases.jsonl

Needs PyTorch (written with 1.13.1); the tests need only the file.  A line is a seed, calls in their
order with the elements they gave, and the CRC of the generator's state after them."""
import json
import zlib

import torch

CALLS = [("uniform", "float32", [5]), ("uniform", "float64", [2, 3]), ("normal_", "float32", [3]),
         ("normal_", "float64", [1]), ("uniform", "float32", [1000]), ("normal_", "float32", [15]),
         ("uniform", "float64", [700])]


def run(call, generator):
    op, dtype, size = call
    options = {"dtype": getattr(torch, dtype), "generator": generator}
    if op == "uniform":
        return torch.rand(size, **options)
    return torch.empty(size, dtype=options["dtype"]).normal_(generator=generator)


for seed in (0, 1, 5, 42, 12345, 67280421310721, 2**32 - 1, 2**32, 2**63 - 1, -1):
    g = torch.Generator()
    g.manual_seed(seed)
    calls = []
    for call in CALLS:
        raw = run(call, g).numpy().tobytes()
        # long ones by their CRC
        calls.append([*call, raw.hex() if len(raw) < 100 else zlib.crc32(raw)])
    print(json.dumps({"seed": seed, "calls": calls, "state": zlib.crc32(g.get_state().numpy().tobytes())}))
