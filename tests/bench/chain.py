"""chain.py -- times of 64 adds that are sent in one write, until the last answer is there: each add uses the
result of the one before, by a handle that the client chooses (param "into"), or all use one tensor."""

import json
import socket
import statistics
import time

LENGTH, ROUNDS, WARM = 64, 400, 100


def lines(*requests):
    return b"".join(json.dumps({"jsonrpc": "2.0", "id": i, "method": m, "params": p}, separators=(",", ":")).encode()
                    + b"\n" for i, (m, p) in enumerate(requests))


def exchange(s, sent, n):
    """Send these requests and return their `n` answers."""
    s.sendall(sent)
    got = b""
    while got.count(b"\n") < n:
        got += s.recv(1 << 20)
    if b'"error"' in got:
        raise RuntimeError(got.decode())
    return got


def adds(argument, into):
    return lines(*(("op.call", {"op": "aten::add.Tensor", "args": [{"tensor": argument(i)}, 1], **into(i)})
                   for i in range(1, LENGTH + 1)))


def measure(path):
    """Return the medians in microseconds: of the chain, and of adds that do not depend on each other."""
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    exchange(s, lines(("tensor.create", {"data": [1, 2, 3, 4], "into": -1})), 1)
    kinds = {"chain": adds(lambda i: -i, lambda i: {"into": [-i - 1]}), "independent": adds(lambda i: -1, lambda i: {})}
    times = {kind: [] for kind in kinds}
    for _ in range(WARM + ROUNDS):
        for kind, sent in kinds.items():
            begin = time.perf_counter()
            got = exchange(s, sent, LENGTH)
            times[kind].append((time.perf_counter() - begin) * 1e6)
            made = [json.loads(line)["result"]["outputs"][0]["tensor"] for line in got.splitlines()]
            exchange(s, lines(("tensor.release", {"tensors": made})), 1)
    s.close()
    return [statistics.median(times[kind][WARM:]) for kind in kinds]
