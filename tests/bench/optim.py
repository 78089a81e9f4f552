"""optim.py -- times of a step of Adam, a whole call through the socket, and of the kernel that clips by norm, beside
PyTorch's in turns, and beside the time in which PyTorch reads and writes the same bytes; and what a program adds to
the kernel of a step of SGD."""

import statistics
import time

from daemon import TestDaemon

PARAMETERS, ELEMENTS = 8, 1 << 20
GRADIENTS, SMALL = 100, 10000
ROUNDS, REPEAT, SETTLE = 7, 3, 0.05


def in_turns(*functions):
    """Return the median time of each function in milliseconds; a function may return its time itself."""
    times = [[] for _ in functions]
    for _ in range(ROUNDS):
        for function, found in zip(functions, times):
            time.sleep(SETTLE)
            function()
            for _ in range(REPEAT):
                begin = time.perf_counter()
                told = function()
                found.append(told if isinstance(told, float) else (time.perf_counter() - begin) * 1e3)
    return [statistics.median(found) for found in times]


def full(d, n, shape, value):
    return [{"tensor": d.op("aten::full", shape, value, dtype="float32")["tensor"]} for _ in range(n)]


def adam(d, torch):
    """Return the median times of our step, of PyTorch's, and of reading and writing its bytes; without PyTorch only ours."""
    lists = [full(d, PARAMETERS, [ELEMENTS], value) for value in (1, 0.01, 0, 0)]
    steps = full(d, PARAMETERS, [], 0)
    functions = [lambda: d.call("op.call", op="optim::adam_", args=[*lists, [], steps], kwargs={"lr": 0.001})]
    if torch:
        params = [torch.ones(ELEMENTS, requires_grad=True) for _ in range(PARAMETERS)]
        for p in params:
            p.grad = torch.full_like(p, 0.01)
        written = [torch.zeros(ELEMENTS) for _ in range(3 * PARAMETERS)]

        def bytes_():
            for t in written:
                t.add_(1)
            for p in params:
                p.grad.sum()
        functions += [torch.optim.Adam(params, foreach=True).step, bytes_]
    return in_turns(*functions)


def clip(d, torch):
    grads = full(d, GRADIENTS, [SMALL], 0.01)
    functions = [lambda: d.call("op.call", op="optim::clip_grad_norm_", args=[grads, 0.5], timing=True,
                                **{"return": "data"})["timing"]["kernel"] / 1e6]
    if torch:
        params = [torch.zeros(SMALL) for _ in range(GRADIENTS)]
        for p in params:
            p.grad = torch.full_like(p, 0.01)
        functions.append(lambda: torch.nn.utils.clip_grad_norm_(params, 0.5))
    return in_turns(*functions)


SGD_STEPS = 200  # in one program
DIGITS = [[16, 1, 3, 3], [16], [16], [16], [32, 16, 3, 3], [32], [64, 512], [64], [10, 64], [10]]  # parameters of digits


def sgd():
    """Return the median microseconds of a step of SGD for the digits network as a step of a program, and of its kernel
    as a single call, in turns, with one thread."""
    with TestDaemon("--threads", "1") as daemon, daemon.connect() as d:
        names = [[f"{kind}{i}" for i in range(len(DIGITS))] for kind in "pgm"]
        inputs = {n: full(d, 1, shape, 0.01)[0] for kind in names for n, shape in zip(kind, DIGITS)}
        call = {"op": "optim::sgd_", "kwargs": {"lr": 0.001, "momentum": 0.9}}
        step = {**call, "args": [[{"ref": n} for n in kind] for kind in names], "as": []}
        programs = [d.call("program.create", inputs=[{"name": n, "type": "Tensor"} for n in inputs], steps=[step] * n,
                           outputs=[])["program"] for n in (1, SGD_STEPS)]

        def program():
            times = []
            for p in programs:
                begin = time.perf_counter()
                d.call("program.run", program=p, inputs=inputs)
                times.append((time.perf_counter() - begin) * 1e6)
            return (times[1] - times[0]) / (SGD_STEPS - 1)

        def kernel():
            for _ in range(SGD_STEPS):
                d.send("op.call", **call, args=[[inputs[n] for n in kind] for kind in names], timing=True)
            return statistics.median(d.receive()["timing"]["kernel"] for _ in range(SGD_STEPS)) / 1e3

        times = in_turns(program, kernel)
        for p in programs:
            d.call("program.release", program=p)
        d.call("tensor.release", all=True)
    return times


def measure(threads, torch):
    """Return the times of adam() and of clip() with so many threads here and in PyTorch."""
    before = torch and torch.get_num_threads()
    if torch:
        torch.set_num_threads(threads)
    with TestDaemon("--threads", str(threads)) as daemon, daemon.connect() as d:
        times = adam(d, torch), clip(d, torch)
        d.call("tensor.release", all=True)
    if torch:
        torch.set_num_threads(before)
    return times
