"""captured.py -- times of programs that are made of calls: a captured step of training beside the one written by hand, and
what it takes to make the programs of a program's gradients."""

import statistics
import time

WARM, REPEAT = 4, 150
BATCHES = 22  # of digits that take turns
STEPS, JOINT_REPEAT = 1000, 30


def ms(function):
    begin = time.perf_counter()
    function()
    return (time.perf_counter() - begin) * 1e3


def digits_step(d, digits):
    """Return the median times of a captured step of digits.Training and of the program from which it was captured, in
    turns.  Both get the images and the labels of a batch: what a capture gets as a number it takes for granted."""
    training = digits.Training(d, True)
    batches = []
    for k in range(BATCHES):
        made = digits.run_each(d, digits.TRAIN[:3], {**training.tensors, "k": k})
        batches.append({name: made[name] for name in ("x", "answers")})
    weights = {k: v for k, v in training.inputs.items() if k not in ("images", "labels", "batches")}
    inputs = [{"name": name, "type": "Tensor"} for name in [*batches[0], *weights]]
    written = d.call("program.create", inputs=inputs, steps=digits.TRAIN[3:], outputs=["loss"])["program"]
    captured = d.call("program.capture", program=written, inputs={**batches[0], **weights})["program"]
    times = {captured: [], written: []}
    for k in range(WARM + REPEAT):
        for program, found in times.items():
            found.append(ms(lambda: d.call("program.run", program=program, inputs={**batches[k % BATCHES], **weights},
                                           grad_enabled=program == written, **{"return": "data"})))
    return [statistics.median(found[WARM:]) for found in times.values()]


def chain_step(i):
    """Return step i of a chain of mul and add, one of two in place."""
    op, other = ("add_.Scalar", 1.5) if i % 2 else ("mul.Tensor", {"ref": "w"})
    return {"op": "aten::" + op, "args": [{"ref": f"x{i}"}, other], "as": [f"x{i + 1}"]}


def joint(d):
    """Return {partition: median time} of making a chain functional, and of its joint program and its halves."""
    steps = [*map(chain_step, range(STEPS)), {"op": "aten::sum", "args": [{"ref": f"x{STEPS}"}], "as": ["loss"]}]
    program = d.call("program.create", steps=steps, outputs=["loss"],
                     inputs=[{"name": n, "type": "Tensor"} for n in ("x0", "w")])["program"]
    inputs = {n: {"tensor": d.call("tensor.create", data=[1.0])["tensor"]} for n in ("x0", "w")}
    made = []

    def make(partition):
        functional = d.call("program.pass", program=program, passes=["functionalize"])["program"]
        halves = d.call("program.grad", program=functional, inputs=inputs, wrt=["w"], partition=partition)
        made.extend([functional, *(halves[k] for k in ("program", "forward", "backward"))])

    times = {"default": [], "min_cut": []}
    for _ in range(WARM + JOINT_REPEAT):
        for partition, found in times.items():
            found.append(ms(lambda: make(partition)))
            while made:
                d.call("program.release", program=made.pop())
    return {partition: statistics.median(found[WARM:]) for partition, found in times.items()}
