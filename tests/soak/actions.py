"""actions.py -- what clients of the soak do that speak the protocol well: ACTIONS, a function for each kind.

Every result is compared with what Python computes, or with what the client gave before.  An error that is not
expected here is a fault."""

import os
import struct
import time

import dispatchd
import exposition
import operators
from operators import ALL, K, X, Y
from visits import check, floats, perhaps, refused, writable

MIB = 1 << 20
# what a call may meet whose plugin somebody else has just loaded, replaced or unloaded
PLUGIN_ERRORS = ("NotFound", "AlreadyExists", "Busy", "NotImplementedError", "RuntimeError", "PluginError", "TypeError")
PLUGINS = ("version_1", "version_2", "packed", "packed_next", "observer", "toy_backend", "dozes", "overrides",
           "npu", "wrong_npu")
ACTIONS = {}


def action(fn):
    ACTIONS[fn.__name__.replace("_", " ")] = fn
    return fn


def filled(args, values):
    """The arguments with the values of X, Y and K."""
    if isinstance(args, list):
        return [filled(a, values) for a in args]
    return values[args] if isinstance(args, str) and args in values else args


def step(rnd, x):
    """An operator for a chain: its name, its arguments and its result."""
    op, args, result = rnd.choice(operators.STEPS)
    return op, args, result(x)


# -- calls --

@action
def calls(v):
    for _ in range(v.rnd.randint(1, 6)):
        op, args, result, *more = v.rnd.choice(operators.OPERATORS)
        dtype = v.rnd.choice(more[0] if more else ALL)
        x = operators.matrix(v.rnd)
        y, k = operators.like(v.rnd, x), v.rnd.randint(1, 3)
        values = {X: v.given(x, dtype) if X in str(args) else None, Y: v.given(y, dtype) if Y in str(args) else None, K: k}
        got = v.call(op, *filled(args, values), **(more[1] if len(more) > 1 else {}))
        check(got, result(x, y, k), f"{op} of {dtype} {x} {y} {k}")


@action
def shadowed_calls(v):
    """No answer changes, although wnpu computes wrong results and both backends come and go in the middle."""
    plugin, backend = v.rnd.choice((("npu", "npu:1"), ("wrong_npu", "wnpu")))
    perhaps(lambda: v.d.call("plugin.load", path=os.path.join(v.shared.plugins, plugin + ".so")), *PLUGIN_ERRORS)
    share = v.rnd.choice((0.2, 1))
    if perhaps(lambda: v.d.call("session.set", shadow={"backend": backend, "share": share}), *PLUGIN_ERRORS) is None:
        return  # it was unloaded before
    calls(v)
    x = [[v.rnd.randrange(200) for _ in range(3)] for _ in range(2)]
    t = v.d.call("tensor.create", dtype="float32", data=x)["tensor"]
    check(v.call("aten::relu", {"tensor": t}), x, "a result beside a wrong one")
    v.d.op("aten::mul_.Tensor", {"tensor": t}, {"data": [2.0]})
    check(v.read(t), [[2 * a for a in row] for row in x], "a written tensor beside a wrong one")
    check(v.call("aten::sigmoid", {"data": [0.0]}), [0.5], "a result beside a failure")
    v.d.release({"tensor": t})
    if v.rnd.random() < 0.5:  # else what the client does next has a shadow, too
        v.d.call("session.set", shadow=None)


@action
def writes_in_place(v):
    x = operators.matrix(v.rnd)
    t = v.d.call("tensor.create", dtype="float32", data=x)["tensor"]
    seen = v.d.map(t) if v.rnd.random() < 0.5 else None
    for _ in range(v.rnd.randint(1, 6)):
        k = v.rnd.randint(1, 3)
        op, f = v.rnd.choice((("aten::add_.Scalar", lambda a: a + k), ("aten::sub_.Scalar", lambda a: a - k),
                              ("aten::remainder_.Scalar", lambda a: a % k), ("aten::fill_.Scalar", lambda a: k)))
        x = [[f(a) for a in row] for row in x]
        check(v.d.op(op, {"tensor": t}, k)["tensor"], t, "its own handle")
    check(v.read(t), x, "written in place")
    if seen:
        descriptor, memory = seen
        check(operators.unpack(memory, "float32", descriptor["shape"], descriptor["strides"]), x, "seen through a map")
    v.d.release(t)


@action
def views_of_one_storage(v):
    x = [[v.rnd.randint(-9, 9) for _ in range(4)] for _ in range(4)]
    base = v.d.call("tensor.create", dtype="int64", data=x)["tensor"]
    row = v.d.op("aten::select.int", {"tensor": base}, 0, 2)
    column = v.d.op("aten::select.int", {"tensor": base}, 1, 1)
    v.d.op("aten::fill_.Scalar", {"tensor": row["tensor"]}, 5)
    v.d.op("aten::add_.Scalar", {"tensor": column["tensor"]}, 1)
    x[2] = [5] * 4
    for r in x:
        r[1] += 1
    check(v.read(base), x, "a base whose views were written")
    v.d.release(base, row)
    check(v.read(column["tensor"]), [r[1] for r in x], "a view without its base's handle")
    v.d.release(column)


@action
def calls_with_traces_and_timings(v):
    out = v.d.call("op.call", op="aten::linear", args=[{"data": [[1, 2]]}, {"data": [[3, 4]]}], trace=True, timing=True,
                   **{"return": "data"})
    check((out["outputs"][0]["data"], bool(out["trace"]), out["timing"]["total"] > 0), ([[11]], True, True), "a trace")


@action
def large_attachments(v):
    n = v.rnd.randrange(1, 60000)
    data = v.rnd.randbytes(n)
    t = v.d.call("tensor.create", dtype="uint8", shape=[n], attachment=data)["tensor"]
    back = v.d.call("tensor.read", tensor=t, **{"as": "attachment"})["attachment"]
    check(back == data, True, "bytes that come back")
    total = v.d.op("aten::sum", {"tensor": t}, returns="data")["data"]
    check(total, sum(data), "their sum")
    v.d.release(t)


@action
def shapes_without_memory(v):
    r, n, c = (v.rnd.randrange(1, 1 << 20) for _ in range(3))
    out = v.d.op("aten::mm", {"shape": [r, n], "device": "meta"}, {"shape": [n, c], "device": "meta"})
    check((out["shape"], out["device"]), ([r, c], "meta"), "a product on meta")


@action
def wrong_requests(v):
    wrong = [("op.call", {"op": "aten::no_such", "args": [1]}, "NotFound"),
             ("op.call", {"op": "aten::mm", "args": [{"data": [[1, 2]]}, {"data": [[1, 2]]}]}, "RuntimeError"),
             ("op.call", {"op": "aten::add.Tensor", "args": [{"data": [1]}]}, "TypeError"),
             ("op.call", {"op": "aten::neg", "args": [{"tensor": 1 << 40}]}, "NotFound"),
             ("op.call", {"op": "aten::select.int", "args": [{"data": [1]}, 0, 5]}, "IndexError"),
             ("tensor.create", {"data": [[1], [2, 3]]}, "ValueError"),
             ("tensor.create", {"data": [1], "what": 1}, "InvalidParams"),
             ("no.such", {}, "MethodNotFound"), ("tensor.release", {"tensors": [1 << 40]}, "NotFound"),
             ("map.release", {"maps": [1 << 20]}, "NotFound"), ("program.run", {"program": 1 << 20}, "NotFound"),
             ("store.load", {"path": "../up"}, "PermissionError"), ("store.load", {"path": "none-of-that-name"}, "NotFound"),
             ("op.call", {"op": "aten::empty.memory_format", "args": [[1 << 50]]}, ("ResourceExhausted", "RuntimeError"))]
    for method, params, types in v.rnd.sample(wrong, 4):
        refused(lambda: v.d.call(method, **params), *([types] if isinstance(types, str) else types))


@action
def batches(v):
    n = v.rnd.randint(1, 8)
    v.d.send_message([{"jsonrpc": "2.0", "id": i, "method": "op.call", "params": {
        "op": "aten::add.Scalar", "args": [{"data": [i]}, i], "return": "data"}} for i in range(n)])
    answers = v.d.receive_message()
    check([(a["id"], a["result"]["outputs"][0]["data"]) for a in answers], [(i, [2 * i]) for i in range(n)], "a batch")


@action
def pipelined_calls(v):
    n = v.rnd.randint(2, 60)
    for i in range(n):
        v.d.send("op.call", **dispatchd.op_params("aten::mul.Tensor", {"data": [i]}, {"data": [i]}, returns="data"))
    for i in range(n):
        check(v.d.receive()["outputs"][0]["data"], [i * i], f"answer {i} of {n}")


# -- handles that the client chooses --

def chain(v, x, n):
    """Send a chain of n calls; return its last handle, all handles and the result."""
    handles = [-v.rnd.randrange(1, 1 << 40) for _ in range(n + 1)]
    v.d.send("tensor.create", dtype="int64", data=x, into=handles[0])
    for before, after in zip(handles, handles[1:]):
        op, args, x = step(v.rnd, x)
        v.d.send("op.call", **dispatchd.op_params(op, *filled(args, {X: {"tensor": before}}), into=after))
    return handles, x


@action
def chains(v):
    n = v.rnd.randint(1, 40)
    handles, x = chain(v, operators.matrix(v.rnd), n)
    v.d.send("tensor.read", tensor=handles[-1])
    for h in handles[:-1]:
        v.d.receive()
    v.d.receive()
    check(v.d.receive()["data"], x, "the end of a chain")
    v.d.release(*handles)


@action
def chains_that_fail(v):
    a, b = v.rnd.randint(0, 5), v.rnd.randint(1, 5)
    handles, _ = chain(v, operators.matrix(v.rnd), a)
    failing = -v.rnd.randrange(1, 1 << 40)
    id_ = v.d.send("op.call", **dispatchd.op_params("aten::select.int", {"tensor": handles[-1]}, 7, 0, into=failing))
    others = [failing - 1 - i for i in range(b)]
    for before, after in zip([failing, *others], others):
        v.d.send("op.call", **dispatchd.op_params("aten::neg", {"tensor": before}, into=after))
    for _ in handles:
        v.d.receive()
    refused(v.d.receive, "IndexError")
    for _ in others:
        cause = refused(v.d.receive, "IndexError").data["cause"]
        check((cause["id"], cause["method"]), (id_, "op.call"), "the cause")
    v.d.release(*handles, failing, *others)


@action
def notifications(v):
    x = operators.matrix(v.rnd)
    handles = [-v.rnd.randrange(1, 1 << 40) for _ in range(3)]
    v.d.notify("tensor.create", dtype="int32", data=x, into=handles[0])
    v.d.notify("op.call", **dispatchd.op_params("aten::neg", {"tensor": handles[0]}, into=handles[1]))
    v.d.notify("op.call", **dispatchd.op_params("aten::select.int", {"tensor": handles[1]}, 9, 0, into=handles[2]))
    v.d.notify("tensor.release", tensors=handles[:1])
    sync = v.d.call("session.sync")
    check([(f["type"], f["op"], f["into"]) for f in sync["failed"]], [("IndexError", "aten::select.int", handles[2])], "sync")
    check(v.read(handles[1]), [[-a for a in row] for row in x], "made by notifications")
    v.d.release(*handles[1:])


# -- programs --

def program(rnd, x):
    steps, at = [], "x"
    for i in range(rnd.randint(1, 8)):
        op, args, x = step(rnd, x)
        steps.append({"op": op, "args": filled(args, {X: {"ref": at}}), "as": [f"v{i}"]})
        at = f"v{i}"
    return steps, at, x


@action
def programs_in_one_request(v):
    x = operators.matrix(v.rnd)
    steps, last, want = program(v.rnd, x)
    out = v.d.call("program.run", inputs={"x": v.given(x, "float32")}, steps=steps, outputs=[last],
                   **{"return": v.rnd.choice(("data", "handle", "attachment"))})
    check(v.elements(out["outputs"][0]), want, f"program {steps} of {x}")


@action
def programs_that_are_kept(v):
    x = operators.matrix(v.rnd)
    steps, last, want = program(v.rnd, x)
    p = v.d.call("program.create", inputs=[{"name": "x", "type": "Tensor"}], steps=steps, outputs=[last])["program"]
    for _ in range(v.rnd.randint(1, 4)):
        out = v.d.call("program.run", program=p, inputs={"x": v.given(x, "int64")}, **{"return": "data"})
        check(out["outputs"][0]["data"], want, f"program {steps} of {x}")
    check(len(v.d.call("program.describe", program=p)["steps"]), len(steps), "steps")
    made = v.d.call("program.pass", program=p, passes=v.rnd.sample(["functionalize", "inline", "dead", "common", "fold"], 3))
    out = v.d.call("program.run", program=made["program"], inputs={"x": v.given(x, "int64")}, **{"return": "data"})
    check(out["outputs"][0]["data"], want, f"program {steps} of {x} after passes")
    if v.rnd.random() < 0.8:
        v.d.call("program.release", program=p)
        v.d.call("program.release", program=made["program"])


@action
def programs_of_recorded_calls(v):
    """The calls of a connection as a program, or what a program calls."""
    x = operators.matrix(v.rnd)
    steps, last, want = program(v.rnd, x)
    t = v.d.call("tensor.create", dtype="float32", data=x)["tensor"]
    if v.rnd.random() < 0.5:
        p = v.d.call("program.create", inputs=[{"name": "x", "type": "Tensor"}], steps=steps, outputs=[last])["program"]
        q = v.d.call("program.capture", program=p, inputs={"x": {"tensor": t}}, fakes=v.rnd.random() < 0.7)["program"]
        v.d.call("program.release", program=p)
    else:
        v.d.call("trace.start", inputs={"x": {"tensor": t}}, whole=v.rnd.random() < 0.3)
        at = t
        for s in steps:
            args = [{"tensor": at} if isinstance(a, dict) and "ref" in a else a for a in s["args"]]
            at = v.d.call("op.call", op=s["op"], args=args)["outputs"][0]["tensor"]
        if v.rnd.random() < 0.2:
            v.d.call("trace.stop", discard=True)
            return
        q = v.d.call("trace.stop", outputs={"y": {"tensor": at}})["program"]
    out = v.d.call("program.run", program=q, inputs={"x": {"tensor": t}}, **{"return": "data"})
    check(out["outputs"][0]["data"], want, f"captured program {steps} of {x}")
    v.d.call("program.release", program=q)


# -- shared memory --

@action
def shared_memory_in(v):
    n = v.rnd.choice((100, 1 << 14, 1 << 16))
    data = floats(*[float(v.rnd.randrange(8))] * n)
    want = struct.unpack_from("f", data)[0]
    fd = dispatchd.share(data) if v.rnd.random() < 0.5 else writable(data)[0]
    literal = {"dtype": "float32", "shape": [n], "fd": fd}
    check(v.d.op("aten::sum", literal, returns="data")["data"], want * n, "the sum of shared memory")
    half = {"dtype": "float32", "shape": [n // 2], "map": fd.map, "offset": n // 2 * 4}
    check(v.d.op("aten::amax", half, [0], returns="data")["data"], want, "through its map")
    t = v.d.call("tensor.create", **half)["tensor"]
    v.d.op("aten::add_.Scalar", {"tensor": t}, 1)
    fd.close()
    if v.rnd.random() < 0.8:
        v.d.call("map.release", maps=[fd.map])
    check(v.d.op("aten::amin", {"tensor": t}, [0], returns="data")["data"], want + 1, "written, and the map released")
    v.d.release(t)


@action
def shared_memory_out(v):
    n, k = 1 << v.rnd.randint(14, 16), v.rnd.randint(1, 9)
    v.d.call("session.set", share_from=v.rnd.choice((0, 1 << 16)))
    t = v.d.op("aten::full", [n], k, dtype="float32")
    descriptor, memory = v.d.map(t)
    check(bytes(memory) == floats(*[k] * n), True, "what is mapped")
    v.d.op("aten::mul_.Scalar", {"tensor": t["tensor"]}, 2)
    check(bytes(memory[-4:]), floats(2 * k), "what is mapped, after a call has written it")
    memory.release()
    v.d.release(t)
    if v.rnd.random() < 0.8:
        v.d.unmap(descriptor["map"])


@action
def scribbles_beside_index_select(v):
    n = 1 << v.rnd.randint(4, 12)
    fd, number = writable(struct.pack(f"{n}q", *range(n)))
    x = v.d.op("aten::arange", n, dtype="int64")
    literal = {"dtype": "int64", "shape": [n], "fd": fd}
    first = v.d.op("aten::index_select", {"tensor": x["tensor"]}, 0, literal)
    check(v.d.op("aten::sum", {"tensor": first["tensor"]}, returns="data")["data"], n * (n - 1) // 2, "before")
    params = dispatchd.op_params("aten::index_select", {"tensor": x["tensor"]}, 0,
                                 {"dtype": "int64", "shape": [n], "map": fd.map}, returns="attachment")
    for i in range(10):
        v.d.send("op.call", **params)
        os.pwrite(number, struct.pack("q", 1 << 60), i % n * 8)
        os.pwrite(number, struct.pack("q", i % n), i % n * 8)
    for i in range(10):
        answer = perhaps(v.d.receive, "IndexError", "RuntimeError")
        if answer is not None:
            check(answer["outputs"][0]["attachment"] == struct.pack(f"{n}q", *range(n)), True, "what was selected")
    v.d.release(x, first)


# -- names and files --

@action
def names_of_ones_own(v):
    x, name = operators.matrix(v.rnd), v.name("own")
    v.d.call("tensor.create", dtype="float32", data=x, name=name)
    refused(lambda: v.d.call("tensor.create", data=[1], name=name), "AlreadyExists")
    other = v.connect()
    t = other.call("tensor.open", name=name)["tensor"]
    check(other.call("tensor.read", tensor=t)["data"], x, "a named tensor")
    other.op("aten::neg_", {"tensor": t})
    other.call("tensor.unlink", name=name)
    refused(lambda: v.d.call("tensor.open", name=name), "NotFound")
    check(other.call("tensor.read", tensor=t)["data"], [[-a for a in row] for row in x], "without its name")


@action
def names_that_all_fight_for(v):
    name = f"common-{v.rnd.randrange(4)}"
    for _ in range(3):
        choice = v.rnd.randrange(3)
        if choice == 0:
            k = v.rnd.randrange(1, 100)
            perhaps(lambda: v.d.call("tensor.create", dtype="int64", data=[k] * 64, name=name), "AlreadyExists")
        elif choice == 1:
            perhaps(lambda: v.d.call("tensor.unlink", name=name), "NotFound")
        elif t := perhaps(lambda: v.d.call("tensor.open", name=name), "NotFound"):
            data = v.read(t["tensor"])
            check(data, [data[0]] * 64, "a common tensor is of one writer")
            v.d.release(t)
    v.d.call("tensor.names")


@action
def files_by_path(v):
    x = operators.matrix(v.rnd)
    path = v.name("file")
    t = v.d.call("tensor.create", dtype="float64", data=x)["tensor"]
    v.d.call("store.save", path=path, tensors={"x": t}, metadata={"who": str(v.person.number)})
    loaded = v.d.call("store.load", path=path, progress=True)
    check(loaded["metadata"], {"who": str(v.person.number)}, "metadata")
    check(v.read(loaded["tensors"]["x"]["tensor"]), x, "from a file")
    os.unlink(os.path.join(v.shared.folder, path))
    v.d.release(t, loaded["tensors"]["x"])


@action
def files_that_all_write(v):
    path, n = f"common-{v.rnd.randrange(3)}", 5000
    if v.rnd.random() < 0.5:
        t = v.d.op("aten::full", [n], v.rnd.randrange(1000))["tensor"]
        v.d.call("store.save", path=path, tensors={"x": t})
        v.d.release(t)
    elif loaded := perhaps(lambda: v.d.call("store.load", path=path), "NotFound"):
        data = v.read(loaded["tensors"]["x"]["tensor"])
        check(data, [data[0]] * n, "a common file is of one writer")
        v.d.release(loaded["tensors"]["x"])


@action
def files_by_descriptor(v):
    x = operators.matrix(v.rnd)
    file = os.memfd_create("soak-store", os.MFD_CLOEXEC)
    t = v.d.call("tensor.create", dtype="int32", data=x)["tensor"]
    saved = v.d.call("store.save", fd=dispatchd.Fd(os.dup(file)), tensors={"x": t})
    check(os.fstat(file).st_size, saved["bytes"], "bytes of the file")
    loaded = v.d.call("store.load", fd=dispatchd.Fd(os.dup(file)))
    check(v.read(loaded["tensors"]["x"]["tensor"]), x, "from a descriptor")
    v.d.release(t, loaded["tensors"]["x"])
    os.close(file)


# -- gradients --

@action
def gradients(v):
    x = operators.matrix(v.rnd)
    w = operators.like(v.rnd, x)
    leaf = v.d.call("tensor.create", dtype="float64", data=x, requires_grad=True)["tensor"]
    weights = v.d.call("tensor.create", dtype="float64", data=w)["tensor"]
    y = v.d.op("aten::mul.Tensor", {"tensor": leaf}, {"tensor": leaf})
    y = v.d.op("aten::mul.Tensor", {"tensor": y["tensor"]}, {"tensor": weights})
    loss = v.d.op("aten::sum", {"tensor": y["tensor"]})
    if v.rnd.random() < 0.2:
        return  # the graph goes with the session
    want = [[2 * a * b for a, b in zip(r, s)] for r, s in zip(x, w)]
    v.d.call("grad.backward", tensors=[{"tensor": loss["tensor"]}], retain_graph=True)
    check(v.read(v.d.call("grad.get", tensor=leaf)["grad"]["tensor"]), want, "a gradient")
    out = v.d.call("grad.backward", tensors=[{"tensor": loss["tensor"]}], inputs=[{"tensor": leaf}])
    check(v.read(out["grads"][0]["tensor"]), want, "a gradient of inputs")
    refused(lambda: v.d.call("grad.backward", tensors=[{"tensor": loss["tensor"]}]), "RuntimeError")
    v.d.call("grad.zero", tensors=[leaf])


# -- random numbers --

@action
def generators(v):
    seed, n = v.rnd.randrange(1 << 40), v.rnd.randint(1, 50)
    g = v.d.call("generator.create", seed=seed)["generator"]
    same = v.d.call("generator.create", seed=seed)["generator"]
    first = v.d.op("aten::randperm.generator", n, generator={"generator": g}, returns="data")["data"]
    check(sorted(first), list(range(n)), "a permutation")
    check(v.d.op("aten::randperm.generator", n, generator={"generator": same}, returns="data")["data"], first, "the same seed")
    state = v.d.call("generator.state", generator=g)["state"]["tensor"]
    next_ = v.d.op("aten::randperm.generator", n, generator={"generator": g}, returns="data")["data"]
    v.d.call("generator.set_state", generator=same, state={"tensor": state})
    check(v.d.op("aten::randperm.generator", n, generator={"generator": same}, returns="data")["data"], next_, "the same state")
    if v.rnd.random() < 0.8:
        v.d.call("generator.release", generators=[g, same])


@action
def default_generators(v):
    draws = []
    for _ in range(2):
        v.d.call("session.set", seed=v.person.number)
        draws.append([v.d.op("aten::rand", [8], returns="data")["data"] for _ in range(2)])
    check(draws[0], draws[1], "numbers of one seed")


# -- requests that wait --

@action
def cancelled_calls(v):
    t = v.d.call("tensor.create", data=[1.0])["tensor"]
    ids = [v.d.send("op.call", **dispatchd.op_params("sleeps::sleep", {"tensor": t}, v.rnd.randrange(30), returns="data"))]
    ids += [v.d.send("op.call", **dispatchd.op_params("aten::add.Scalar", {"tensor": t}, i, returns="data")) for i in range(8)]
    chosen = v.rnd.sample(ids, 3)
    for id_ in chosen:
        v.d.notify("call.cancel", id=id_)
    for i, id_ in enumerate(ids):
        answer = perhaps(v.d.receive, *["Cancelled"] * (id_ in chosen))
        if answer is not None:
            check(answer["outputs"][0]["data"], [float(i)] if i else [1.0], "beside cancelled calls")
    v.d.release(t)


@action
def deadlines(v):
    t = v.d.call("tensor.create", data=[1.0])["tensor"]
    params = dispatchd.op_params("sleeps::sleep", {"tensor": t}, v.rnd.randrange(20, 60))
    # within 50 ms of the deadline it is answered; a kernel that ends before that has a result
    perhaps(lambda: v.d.call("op.call", **params, deadline_ms=v.rnd.randrange(3)), "DeadlineExceeded")
    check(v.call("aten::add.Scalar", {"data": [1.0]}, 1), [2.0], "beside a stuck call")
    steps = [{"op": "sleeps::sleep", "args": [{"ref": a}, 20], "as": [b]} for a, b in ("xy", "yz")]
    refused(lambda: v.d.call("program.run", steps=steps, inputs={"x": {"tensor": t}}, outputs=["z"], deadline_ms=1),
            "DeadlineExceeded")
    v.d.release(t)


# -- sessions --

@action
def sessions_that_are_joined(v):
    x = operators.matrix(v.rnd)
    first = v.connect()
    key = first.call("server.hello", linger_ms=2000)["session_key"]
    t = first.call("tensor.create", dtype="float32", data=x)["tensor"]
    second = v.connect()
    second.call("server.hello", session_key=key)
    first.close()
    check(second.call("tensor.read", tensor=t)["data"], x, "read by another connection of the session")
    second.close()
    third = v.connect()
    third.call("server.hello", session_key=key, linger_ms=0)
    check(third.call("tensor.read", tensor=t)["data"], x, "read after the session was left alone")


@action
def sessions_that_are_ended(v):
    other = v.connect()
    number = other.call("server.hello")["session"]
    other.call("tensor.create", data=[1, 2, 3])
    check(v.d.call("session.end", session=number)["connections"], 1, "connections")
    try:
        while True:
            other.call("server.status")
    except (OSError, dispatchd.Error):
        pass
    refused(lambda: v.d.call("session.end", session=number), "NotFound")


@action
def states(v):
    check(v.d.call("session.set", grad_enabled=False)["grad_enabled"], False, "grad_enabled")
    x = v.d.call("tensor.create", data=[1.0], requires_grad=True)["tensor"]
    check(v.d.op("aten::neg", {"tensor": x})["requires_grad"], False, "requires_grad")
    v.d.call("session.set", grad_enabled=True)
    check(v.d.op("aten::neg", {"tensor": x})["requires_grad"], True, "requires_grad")


# -- quotas --

def until_refused(make, limit, most=3000):
    """Call make() until the limit is reached, which the error names; return how often it was not."""
    for n in range(most):
        try:
            make()
        except dispatchd.Error as e:
            check((e.type, limit in e.message), ("ResourceExhausted", True), f"'{e.message}' names {limit}")
            return n
    raise AssertionError(f"{limit}: not reached by {most} times")


@action
def quota_of_bytes(v):
    d = v.connect()
    n = until_refused(lambda: d.op("aten::zeros", [MIB // 4]), "session_tensor_bytes")
    d.call("tensor.release", all=True)
    check(d.call("session.get")["account"]["tensors"]["bytes"], 0, "bytes after a release")
    check(until_refused(lambda: d.op("aten::zeros", [MIB // 4]), "session_tensor_bytes"), n, "the same number fits again")


@action
def quota_of_tensors(v):
    d = v.connect()
    until_refused(lambda: d.call("tensor.create", data=[1]), "session_tensors")
    d.call("tensor.release", all=True)
    d.call("tensor.create", data=[1])


@action
def quota_of_programs(v):
    d = v.connect()
    step_ = [{"op": "aten::neg", "args": [{"ref": "x"}], "as": ["y"]}]
    until_refused(lambda: d.call("program.create", inputs=[{"name": "x"}], steps=step_, outputs=["y"]), "session_programs")


@action
def quota_of_generators(v):
    d = v.connect()
    until_refused(lambda: d.call("generator.create"), "session_generators")


@action
def quota_of_maps(v):
    d = v.connect()
    fd = dispatchd.share(floats(1, 2))
    until_refused(lambda: d.call("tensor.create", dtype="float32", shape=[2], fd=fd), "(maps)")
    d.call("map.release", maps=[fd.map])
    d.call("tensor.create", dtype="float32", shape=[2], fd=fd)


@action
def quota_of_intermediates(v):
    d = v.connect()
    error = refused(lambda: d.op("aten::zeros", [64 * MIB], returns="data"), "ResourceExhausted")
    check("session_intermediate_bytes" in error.message, True, error.message)
    check(d.op("aten::add.Scalar", {"data": [1]}, 1, returns="data")["data"], [2], "after that")


# -- what can be asked --

@action
def questions(v):
    asked = [("server.status", {}), ("tensor.list", {}), ("registry.list", {"match": "aten::add"}), ("registry.keys", {}),
             ("registry.describe", {"op": "aten::add.Tensor"}), ("registry.table", {"ops": ["aten::mm", "aten::relu"]}),
             ("registry.explain", {"op": "aten::add.Tensor", "args": [{"data": [1]}, 2]}), ("plugin.list", {}),
             ("session.list", {}), ("session.get", {}), ("server.hello", {}), ("store.stats", {}), ("object.list", {}),
             ("tensor.names", {}), ("registry.dump", {}), ("rpc.discover", {})]
    for method, params in v.rnd.sample(asked, 4):
        check(isinstance(v.d.call(method, **params), dict), True, method)


@action
def checks_of_the_registry(v):
    check(v.d.call("registry.check"), {"ok": True, "violations": []}, "registry.check")


@action
def metrics(v):
    text = v.d.call("server.metrics")["text"]
    samples = exposition.read(text)
    check(any(name.startswith("dispatchd_") for name in samples), True, "samples")


@action
def watchers(v):
    d = v.connect()
    d.call("registry.watch", enabled=True)
    for _ in range(3):
        d.call("server.status")
        time.sleep(0.05)
    if v.rnd.random() < 0.5:
        d.call("registry.watch", enabled=False)
    for n in d.notifications:
        check((n["method"], sorted(n["params"])), ("registry.changed", ["added", "generation", "plugin", "removed"]), "a change")


@action
def watchers_of_gradients(v):
    d = v.connect()
    leaf = d.call("tensor.create", data=[1.0, 2.0], requires_grad=True)["tensor"]
    loss = d.op("aten::sum", {"tensor": leaf})["tensor"]
    d.call("grad.watch", tensors=[leaf], enabled=True)
    for _ in range(v.rnd.randrange(1, 200)):
        d.send("grad.backward", tensors=[loss], retain_graph=True)
    if v.rnd.random() < 0.5:
        return  # leaves with answers and notifications unread
    while d._sent:
        d.receive()
    d.call("grad.watch", tensors=[leaf], enabled=False)
    for n in d.notifications:
        check((n["method"], n["params"]["tensor"]), ("grad.computed", leaf), "a gradient")


# -- plugins --

@action
def plugins_that_come_and_go(v):
    name = v.rnd.choice(PLUGINS)
    file = os.path.join(v.shared.plugins, name + ".so")
    plugin = {"version_1": "version", "version_2": "version", "packed_next": "packed"}.get(name, name)
    choice = v.rnd.randrange(5)
    if choice < 2:
        perhaps(lambda: v.d.call("plugin.load", path=file), *PLUGIN_ERRORS)
    elif choice == 2:
        perhaps(lambda: v.d.call("plugin.reload", plugin=plugin), *PLUGIN_ERRORS)
    elif choice == 3:
        perhaps(lambda: v.d.call("plugin.unload", plugin=plugin, force=v.rnd.random() < 0.5, timeout_ms=1000), *PLUGIN_ERRORS)
    else:
        v.d.call("plugin.describe", path=file)


@action
def calls_of_plugins_that_go(v):
    x = {"dtype": "float32", "data": [[1, 2], [3, 4]]}
    got = perhaps(lambda: v.d.op("version::value", x), *PLUGIN_ERRORS)
    check(got in (None, 1, 2), True, f"version {got}")
    weights = perhaps(lambda: v.d.op("packed::prepack", x, 2.0), *PLUGIN_ERRORS)
    if weights is not None:
        got = perhaps(lambda: v.d.op("packed::linear", x, {"object": weights["object"]}, returns="data"), *PLUGIN_ERRORS)
        if got is not None:
            check(got["data"], [[10, 22], [22, 50]], "a product with packed weights")
    there = perhaps(lambda: v.d.op("toy::to_toy", x), *PLUGIN_ERRORS)
    if there is not None and v.rnd.random() < 0.5:
        perhaps(lambda: v.d.release(there), *PLUGIN_ERRORS)
    perhaps(lambda: v.d.op("tutorial::scale", x, 2.0), *PLUGIN_ERRORS)
    v.d.call("object.release", all=True)
