"""test_quantized.py -- every overload with a quantized tensor in each tensor argument, in all of them, and with a
quantized dtype wherever it takes one: a value or an error with a name, the daemon lives, and nothing is left."""

from harness import equal, main
from daemon import TestDaemon
from recorded import Recorded, arguments_of, at, literals, replaced
import dispatchd

DTYPE = "qint8"


def calls_of(client, recorded, op, schema):
    """[(args, kwargs)]"""
    call = list(recorded.call(op, schema))
    paths = list(literals(call))
    for chosen in [[p] for p in paths] + [paths] * (len(paths) > 1):
        args, kwargs = call
        for path in chosen:
            shape = at(call, path)["shape"]
            made = client.call("tensor.create", dtype=DTYPE, shape=shape, attachment=bytes(numel(shape)))
            args, kwargs = replaced([args, kwargs], {path}, {"tensor": made["tensor"]})
        yield replaced([args, kwargs], set(), None)
    for type_, name, _, named in arguments_of(schema):
        if type_ in ("ScalarType", "ScalarType?") and named:
            args, kwargs = replaced(call, set(), None)
            yield args, {**kwargs, name: DTYPE}


def numel(shape):
    n = 1
    for size in shape:
        n *= size
    return n


def test_every_overload_answers():
    recorded, answers, faults = Recorded(), {}, []
    with TestDaemon() as daemon, daemon.connect(60) as d:
        for op in d.call("registry.list", namespace="aten")["ops"]:
            schema = d.call("registry.describe", op=op)["schema"]
            for args, kwargs in calls_of(d, recorded, op, schema):
                try:
                    d.call("op.call", op=op, args=args, kwargs=kwargs)
                    answer = "a value"
                except dispatchd.Error as e:
                    answer = e.type
                    if e.type == "InternalError" or "no error code" in e.message:
                        faults.append(f"{op}: {e}")
                answers[answer] = answers.get(answer, 0) + 1
            d.call("tensor.release", all=True)
            status = d.call("server.status")
            if status["live_tensors"] or status["bytes"]:
                faults.append(f"{op}: {status['live_tensors']} live tensors")
    print(answers)
    equal(faults, [])


if __name__ == "__main__":
    main()
