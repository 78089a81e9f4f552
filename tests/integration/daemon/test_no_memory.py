"""test_no_memory.py -- every method with the N-th allocation failing, for every N until the request succeeds.

A request that fails answers ResourceExhausted and leaves the session, the registry and the daemon as they were.  A
request may also succeed without what the daemon can do without, such as a cached block; its answer is then the usual one.
The allocations are those of the daemon, its libraries and plugins that go through dp_malloc() and its like; plugin
short_of_memory (tests/plugins) makes one fail.

`make check` tries the first allocations of each request and some of the others, chosen by DP_SEED (default: the time);
DP_EVERY_ALLOCATION=1 tries all, but not of registry.dump."""

import json
import os
import random
import shutil
import socket
import struct
import tempfile
import time

from harness import BUILD, ROOT, equal, less, main, wait_until
from daemon import TestDaemon
import dispatchd

TEST_PLUGINS = os.path.join(BUILD, "tests", "plugins")
METHODS = sorted(name[:-len(".json")] for name in os.listdir(os.path.join(ROOT, "proto", "methods")))
EVERY = os.environ.get("DP_EVERY_ALLOCATION") == "1"
SEED = int(os.environ.get("DP_SEED", time.time()))
FIRST = 60  # allocations of one request that are always tried
FIRST_OF_REGISTRY = 20  # where the registry is compared, which takes longer
IN_USE = -1
# Members of answers that differ between two equal requests, or that only count what was asked so far.
CHANGING = {"uptime_ms", "bytes_peak", "calls", "requests", "calls_inline", "calls_worker", "demotions", "timing",
            "requests_failed", "millis", "idle_ms", "age_ms", "calls_running", "drained_ms", "failed", "workers"}


class Faults:
    """The other end of plugin short_of_memory."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "faults")
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(self.path)
        self.listening.listen()

    def accept(self):
        self.socket, _ = self.listening.accept()

    def command(self, n):
        self.socket.sendall(struct.pack("=q", n))
        return struct.unpack("=q", self.socket.recv(8, socket.MSG_WAITALL))[0]

    def close(self):
        self.socket.close()
        self.listening.close()


def without(value, names):
    """The value without members of these names, at any depth."""
    if isinstance(value, dict):
        return {k: without(v, names) for k, v in value.items() if k not in names}
    return [without(v, names) for v in value] if isinstance(value, list) else value


class Fixture:
    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="dispatchd-no-memory-")
        self.faults = Faults(self.dir)
        self.start()
        self.random = random.Random(SEED)
        print(f"     DP_SEED={SEED}", "every allocation" if EVERY else f"the first {FIRST} allocations, and some others")

    def start(self):
        self.daemon = TestDaemon("--plugin-path", TEST_PLUGINS, "--data-path", self.dir, "--plugin",
                                 os.path.join(TEST_PLUGINS, "packed.so"), "--plugin",
                                 os.path.join(TEST_PLUGINS, "short_of_memory.so"),
                                 env={"SHORT_OF_MEMORY": self.faults.path})
        self.faults.accept()
        self.dump = None, None  # the number of a registry's snapshot, and its text
        self.d = self.daemon.connect()

    # -- short words for preparations --

    def tensor(self, *data, **more):
        return self.d.call("tensor.create", data=list(data) or [1, 2, 3], **more)["tensor"]

    def op(self, name, *args):
        return self.d.op("aten::" + name, *[{"tensor": a.number} if isinstance(a, Handle) else a for a in args])["tensor"]

    def release(self, *tensors):
        if tensors:
            self.d.call("tensor.release", tensors=list(tensors))

    # -- the state that a failed request must not change --

    def state(self, registry):
        call = self.d.call
        status = call("server.status")
        snapshots = status.pop("snapshots")
        ended = ("running", "stuck", "holders", "shadow", "canaries")
        names = {k: v for k, v in without(status, CHANGING).items() if k not in ended}
        state = {"status": names, "tensors": call("tensor.list"), "names": call("tensor.names"),
                 "objects": call("object.list"), "session": call("session.get"), "store": without(call("store.stats"), CHANGING),
                 "sync": call("session.sync")}
        if registry:
            if self.dump[0] != snapshots:  # a dump takes a while
                self.dump = snapshots, call("registry.dump")["text"]
            state["dump"] = self.dump[1]
            state["plugins"] = without(call("plugin.list"), {"calls_running"})
        return state

    def settled(self, registry):
        """The state, once the sessions and notifications of earlier requests are gone."""
        last = self.state(registry)
        for _ in range(200):
            time.sleep(0 if _ == 0 else 0.005)
            now = self.state(registry)
            if now == last:
                return now
            last = now
        raise AssertionError(f"the state does not settle: {difference(last, now)}")

    def lists_failed(self, handle):
        """Does the session have this handle, of which the tensor was not made?"""
        try:
            self.d.call("tensor.describe", tensor=handle)
        except dispatchd.Error as e:
            return e.type != "NotFound"
        return True

    def joined(self):
        """A connection more of the session."""
        d = self.daemon.connect()
        d.call("server.hello", session_key=self.d.call("server.hello")["session_key"])
        return d

    def attempt(self, n, method, params, d):
        """Send a request of which the n-th allocation fails; return (result, error, whether an allocation failed)."""
        result = error = None
        self.faults.command(n)
        try:
            result = d.call(method, **params)
        except dispatchd.Error as e:
            error = e
        except ConnectionError as e:
            raise AssertionError(f"{method}, allocation {n}: {e}; {self.daemon.log()[-2000:]}")
        return result, error, self.faults.command(0) == 1


class Handle:
    def __init__(self, number):
        self.number = number


def difference(a, b):
    """Where two values differ, for a message."""
    if isinstance(a, dict) and isinstance(b, dict):
        return {k: difference(a.get(k), b.get(k)) for k in a.keys() | b.keys() if a.get(k) != b.get(k)}
    return (a, b) if len(str((a, b))) < 1000 else "long values that differ"


def same_state(f, before, registry, what):
    """Charges of a request may be returned just after its answer was sent."""
    after = f.state(registry)
    for _ in range(200):
        if after == before:
            return
        time.sleep(0.005)
        after = f.state(registry)
    raise AssertionError(f"{what}: the state changed (before, after): {difference(before, after)}")


class Case:
    """One request.  prepare(f) returns its params and what undo(f, prepared, result) needs to undo a success; each
    success is followed by another prepare().  again: an answer equals the first one.  registry: the whole registry is
    compared.  announces: the request has attachments, so that its connection is closed if its line cannot be read.
    once: a success cannot be undone."""

    def __init__(self, method, prepare=lambda f: ({}, None), undo=lambda f, kept, result: None, again=False, registry=False,
                 announces=False, once=False):
        self.method, self.prepare, self.undo, self.again, self.registry = method, prepare, undo, again, registry
        self.announces, self.once = announces, once
        # all of a dump's allocations, thousands of the same kind, would take an hour
        self.always = (1 << 30 if EVERY and method != "registry.dump" else FIRST_OF_REGISTRY if registry else FIRST)

    def run(self, f):
        """Return the number of failures that were tried."""
        tried = failed = 0
        n = 1
        params, kept = self.prepare(f)
        usual = None
        if not self.once:  # a first time fills caches
            usual = f.d.call(self.method, **params)
            self.undo(f, kept, usual)
            params, kept = self.prepare(f)
        before = f.settled(self.registry)
        while True:
            what = f"{self.method} {str(params)[:100]}, allocation {n}"
            if self.announces:
                with f.joined() as d:
                    result, error, hit = f.attempt(n, self.method, params, d)
            else:
                result, error, hit = f.attempt(n, self.method, params, f.d)
            if not hit and error is not None:
                raise AssertionError(f"{what}: failed though no allocation did: {error}")
            tried += hit
            if error is not None:
                equal(error.type, "ResourceExhausted", f"{what}: '{error.message}'")
                failed += 1
                if "into" in params and f.lists_failed(params["into"][0]):
                    f.release(params["into"][0])
                same_state(f, before, self.registry, what)
            else:
                if self.again:
                    equal(without(result, CHANGING), without(usual, CHANGING), what)
                self.undo(f, kept, result)
                if not hit or self.once:
                    return tried, failed
                params, kept = self.prepare(f)
                before = f.settled(self.registry)
            n += 1 if n < self.always else f.random.randrange(1, max(2, n // 10))
            less(n, 1_000_000, what)


# -- a request or more for each method --

def plain(**params):
    return lambda f: (params, None)


def outputs(f, kept, result):
    lists = [o if isinstance(o, list) else [o] for o in result["outputs"]]
    f.release(*[o["tensor"] for o in sum(lists, []) if isinstance(o, dict) and "tensor" in o])
    if kept:
        f.release(*kept)


def released(f, kept, result):
    f.release(*kept)


def made(f, kept, result):
    f.release(result["tensor"], *(kept or []))


def on_tensors(*names, **params):
    """Params `names` are handles of new tensors."""
    def prepare(f):
        handles = [f.tensor(1, 2, 3) for _ in names]
        return {**dict(zip(names, handles)), **params}, handles
    return prepare


def call_on_tensors(n, op, *args, **more):
    def prepare(f):
        handles = [f.tensor(1, 2, 3) for _ in range(n)]
        return {"op": op, "args": [{"tensor": h} for h in handles] + list(args), **more}, handles
    return prepare


def shadowed(prepare):
    """The call is shadowed, on the CPU; whatever the shadow lacks, the call succeeds."""
    def both(f):
        f.d.call("session.set", shadow={"backend": "cpu", "share": 1})
        return prepare(f)
    return both


def shadowed_gone(f, kept, result):
    f.d.call("session.set", shadow=None)
    outputs(f, kept, result)
    wait_until(lambda: f.d.call("server.status")["live_tensors"] == 0, "the shadow call has ended")


def served(f):
    """A canary serves the call; if it lacks memory, the loaded build answers."""
    f.d.call("plugin.load", path="trial")
    f.d.call("plugin.reload", plugin="trial", share=1)
    return {"op": "trial::twice", "args": [{"data": [1.0, 2.0]}]}, None


def served_gone(f, kept, result):
    outputs(f, kept, result)
    equal(f.d.call("server.status")["canaries"][0]["state"], "runs", "a lack of memory is no fault of the canary")
    equal(f.d.call("plugin.unload", plugin="trial")["unmapped"], True)
    wait_until(lambda: f.d.call("server.status")["live_tensors"] == 0, "the comparison has ended")


def graph(f):
    x = f.tensor(1, 2, 3, requires_grad=True)
    square = f.op("mul.Tensor", Handle(x), Handle(x))
    y = f.op("sum", Handle(square))
    return x, square, y


def with_graph(params):
    def prepare(f):
        x, square, y = graph(f)
        return params(x, y), [x, square, y]
    return prepare


def backward_undo(f, kept, result):
    f.release(*[g["tensor"] for g in result.get("grads", []) if g], *kept)


def recomputed(f):
    """A leaf, the output of two nested programs of which backward runs both again, and the inner program."""
    x = f.tensor(1, 2, 3, requires_grad=True)
    inner = f.d.call("program.create", inputs=[{"name": "x", "type": "Tensor"}], outputs=["d"], steps=[
        {"op": "aten::clone", "args": [{"ref": "x"}], "as": ["c"]},
        {"op": "aten::exp_", "args": [{"ref": "c"}], "as": ["e"]},
        {"op": "aten::dropout", "args": [{"ref": "e"}, 0.5, True], "as": ["d"]}])["program"]
    outer = f.d.call("program.create", inputs=[{"name": "x", "type": "Tensor"}], outputs=["y"], steps=[
        {"program": inner, "inputs": {"x": {"ref": "x"}}, "as": ["z"], "recompute": True},
        {"program": inner, "inputs": {"x": {"ref": "z"}}, "as": ["w"], "recompute": True},
        {"op": "aten::sum", "args": [{"ref": "w"}], "as": ["y"]}])["program"]
    return x, {"steps": [{"program": outer, "inputs": {"x": {"tensor": x}}, "as": ["y"], "recompute": True}],
               "outputs": ["y"], "return": "handle"}, [inner, outer]


def recompute_run(f):
    x, params, programs = recomputed(f)
    return params, ([x], programs)


def recompute_backward(f):
    x, params, programs = recomputed(f)
    y = f.d.call("program.run", **params)["outputs"][0]["tensor"]
    return {"tensors": [y], "inputs": [x], "retain_graph": True}, ([x, y], programs)


def recompute_gone(f, kept, result):
    tensors, programs = kept
    f.release(*[t["tensor"] for t in result.get("outputs", result.get("grads", []))], *tensors)
    for p in programs:
        f.d.call("program.release", program=p)


def with_gradient(f):
    x = f.tensor(1, 2, 3, requires_grad=True)
    f.d.call("grad.set", tensor=x, grad={"data": [4, 5, 6]})
    return x


def gradient_undo(f, kept, result):
    if isinstance(result.get("grad"), dict):
        f.release(result["grad"]["tensor"])
    f.release(*kept)


def generator(f):
    return f.d.call("generator.create", seed=1)["generator"]


def generator_gone(f, kept, result):
    f.d.call("generator.release", generators=[kept])


def generator_state(f):
    g = generator(f)
    state = f.d.call("generator.state", generator=g)["state"]["tensor"]
    return {"generator": g, "state": {"tensor": state}}, (g, state)


def generator_state_gone(f, kept, result):
    f.release(kept[1])
    f.d.call("generator.release", generators=[kept[0]])


def weights(f):
    return f.d.op("packed::prepack", {"data": [[1.0, 2.0], [3.0, 4.0]]}, 1.0, "")["object"]


PROGRAM = {"inputs": [{"name": "x", "type": "Tensor"}], "constants": {"k": {"data": [1, 2, 3]}},
           "steps": [{"op": "aten::mul.Tensor", "args": [{"ref": "x"}, {"ref": "k"}], "as": ["y"]},
                     {"op": "aten::add", "args": [{"ref": "y"}, {"ref": "x"}], "kwargs": {"alpha": 2}, "as": ["z"]},
                     {"op": "aten::cat", "args": [[{"ref": "y"}, {"ref": "z"}]], "as": ["both"]}],
           "outputs": ["z", "both"]}


def program(f):
    return f.d.call("program.create", **PROGRAM)["program"]


def program_gone(f, kept, result):
    f.d.call("program.release", program=kept)


def program_run_gone(f, kept, result):
    outputs(f, None, result)
    program_gone(f, kept, result)


def capture_undo(f, kept, result):
    program_gone(f, kept, result)
    program_gone(f, result["program"], result)


def grad_undo(f, kept, result):
    for name in "program", "forward", "backward":
        program_gone(f, result[name], result)
    program_gone(f, kept, result)


def trace_params(f):
    t = f.tensor(1, 2, 3)
    return {"inputs": {"x": {"tensor": t}}, "constants": {"k": f.tensor(4)}}, t


def trace_ended(f, kept, result):
    f.d.call("trace.stop", discard=True)
    f.d.call("tensor.release", all=True)


def recording(f):
    """A connection that has recorded one call."""
    x = f.tensor(1, 2, 3)
    f.d.call("trace.start", inputs={"x": {"tensor": x}})
    y = f.d.call("op.call", op="aten::silu", args=[{"tensor": x}])["outputs"][0]["tensor"]
    return {"outputs": {"y": {"tensor": y}}}, [x, y]


def recorded_undo(f, kept, result):
    program_gone(f, result["program"], result)
    f.release(*kept)


def shared(f, **params):
    """A tensor in memory that the client maps; its map is 0 in its connection."""
    fd = dispatchd.share(b"\0" * (1 << 16))
    t = f.d.call("tensor.create", dtype="uint8", shape=[1 << 16], fd=fd)["tensor"]
    fd.close()
    return fd.map, t


def named(f):
    t = f.tensor(1, 2, 3, name="no_memory/kept")
    return t


def unnamed(f, kept, result):
    f.d.call("tensor.unlink", name="no_memory/kept")
    f.release(kept)


def other_session(f):
    other = f.daemon.connect()
    return {"session": other.call("server.hello")["session"]}, other


def watched(f, kept, result):
    f.d.call("registry.watch", enabled=False)


def loaded(f, kept, result):
    f.d.call("plugin.unload", plugin=result["plugin"])


def load(name, **more):
    def prepare(f):
        f.d.call("plugin.load", path=name)
        return {"plugin": name, **more}, name
    return prepare


def canary(f):
    params, kept = load("trial")(f)
    f.d.call("plugin.reload", plugin="trial", share=0.5)
    return params, kept


def unloaded(f, kept, result):
    f.d.call("plugin.unload", plugin=kept)


def saved(f):
    t = f.tensor(1, 2, 3)
    f.d.call("store.save", path="kept.safetensors", tensors={"a": t, "b/c": t}, metadata={"k": "v"})
    f.release(t)
    return {"path": "kept.safetensors"}, None


def stored_gone(f, kept, result):
    f.release(*[t["tensor"] for t in result["tensors"].values()] if isinstance(result["tensors"], dict)
              else [t["tensor"] for t in result["tensors"]])


SQUARES = {"op": "aten::mul.Tensor", "args": [{"data": [1, 2]}, {"data": [3, 4]}], "as": ["y"]}
ONE, TWO, THREE = {"data": [1]}, {"data": [1, 2]}, {"data": [1, 2, 3]}
FORMULAS = [("cat_back", [THREE, [[1], [2]], 0]), ("block_diag_back", [{"data": [[1, 0], [0, 2]]}, [[1, 1], [1, 1]]]),
            ("constant_pad_nd_back", [THREE, [1, 1]]), ("as_strided_back", [TWO, [3], [1], 0, [2], [1], 1]),
            ("permute_back", [{"data": [[1, 2]]}, [1, 0]]), ("split_back", [[None, ONE], [3], 2, 0]),
            ("split_with_sizes_back", [[ONE, None], [3], [1, 2], 0]), ("unbind_back", [[None, THREE], [2, 3], 0]),
            ("repeat_back", [{"data": [1, 2, 3, 4, 5, 6]}, [2], [3]])]
CASES = [
    Case("call.cancel", plain(id="nothing"), again=True),
    Case("generator.create", plain(seed=5), lambda f, kept, r: generator_gone(f, r["generator"], r)),
    Case("generator.release", lambda f: ({"generators": [generator(f)]}, None)),
    Case("generator.set_state", generator_state, generator_state_gone),
    Case("generator.state", lambda f: (lambda g: ({"generator": g, "return": "data"}, g))(generator(f)), generator_gone),
    Case("grad.backward", with_graph(lambda x, y: {"tensors": [y], "retain_graph": True}), backward_undo),
    Case("grad.backward", with_graph(lambda x, y: {"tensors": [y], "inputs": [x], "create_graph": True, "retain_graph": True}),
         backward_undo),
    Case("grad.backward", recompute_backward, recompute_gone),
    Case("grad.check", plain(op="aten::mul.Tensor", args=[{"data": [1, 2]}, {"data": [3, 4]}]), again=True),
    Case("grad.get", lambda f: (lambda x: ({"tensor": x}, [x]))(with_gradient(f)), gradient_undo),
    Case("grad.graph", with_graph(lambda x, y: {"tensors": [y]}), released),
    Case("grad.hook", lambda f: (lambda x: ({"tensor": x, "op": "aten::neg"}, [x]))(with_gradient(f)), released),
    Case("grad.set", lambda f: (lambda x: ({"tensor": x, "grad": {"data": [7, 8, 9]}}, [x]))(with_gradient(f)), released),
    Case("grad.watch", lambda f: (lambda x: ({"tensors": [x], "enabled": True}, [x]))(with_gradient(f)), released),
    Case("grad.zero", lambda f: (lambda x: ({"tensors": [x]}, [x]))(with_gradient(f)), released),
    Case("map.release", lambda f: (lambda m, t: ({"maps": [m]}, [t]))(*shared(f)), released),
    Case("object.list", lambda f: (lambda o: ({}, o))(weights(f)),
         lambda f, kept, r: f.d.call("object.release", objects=[kept])),
    Case("object.release", lambda f: ({"objects": [weights(f)]}, None)),
    Case("op.call", call_on_tensors(2, "aten::add.Tensor"), outputs),
    Case("op.call", call_on_tensors(2, "aten::add", into=[-7]), outputs),
    Case("op.call", call_on_tensors(1, "aten::mul", {"data": [2.0]}, trace=True, timing=True, **{"return": "data"}), outputs),
    Case("op.call", call_on_tensors(1, "aten::split", 1), outputs),
    Case("op.call", call_on_tensors(2, "aten::matmul", autocast={"enabled": True}), outputs),
    Case("op.call", call_on_tensors(1, "aten::softmax", 0, **{"return": "attachment"}), outputs),
    Case("op.call", lambda f: (lambda x: ({"op": "aten::exp", "args": [{"tensor": x}]}, [x]))(
        f.tensor(1, 2, requires_grad=True)), outputs),
    Case("op.call", shadowed(call_on_tensors(2, "aten::add.Tensor")), shadowed_gone),
    Case("op.call", served, served_gone),
    *[Case("op.call", plain(op="grad::" + op, args=args), outputs) for op, args in FORMULAS],
    Case("op.call", plain(op="packed::prepack", args=[{"data": [[1.0, 2.0]]}, 1.0, ""]),
         lambda f, kept, r: f.d.call("object.release", objects=[r["outputs"][0]["object"]])),
    Case("plugin.describe", plain(path="overrides"), again=True),
    Case("plugin.list", again=True),
    Case("plugin.load", plain(path="overrides"), loaded, registry=True),
    Case("plugin.load", plain(path="toy_backend"), loaded, registry=True),
    Case("plugin.reload", load("overrides"), unloaded, registry=True),
    Case("plugin.reload", load("trial", share=0.5), unloaded, registry=True),
    Case("plugin.promote", canary, unloaded, registry=True),
    Case("plugin.rollback", canary, unloaded, registry=True),
    Case("plugin.unload", load("toy_backend"), registry=True),
    Case("program.capture", lambda f: (lambda p: ({"program": p, "inputs": {"x": {"data": [4, 5, 6]}}}, p))(program(f)),
         capture_undo),
    Case("program.create", lambda f: (PROGRAM, None), lambda f, kept, r: program_gone(f, r["program"], r)),
    Case("program.describe", lambda f: (lambda p: ({"program": p, "format": "json"}, p))(program(f)), program_gone),
    Case("program.describe", lambda f: (lambda p: ({"program": p, "format": "dot"}, p))(program(f)), program_gone),
    Case("program.grad", lambda f: (lambda p: ({"program": p, "wrt": ["x"], "partition": "min_cut", "inputs": {
        "x": {"data": [4.0, 5.0, 6.0]}}}, p))(program(f)), grad_undo),
    Case("program.jvp", lambda f: (lambda p: ({"program": p, "wrt": ["x"], "inputs": {"x": {"data": [4.0, 5.0, 6.0]}}}, p))(
        program(f)), capture_undo),
    Case("program.pass", lambda f: (lambda p: ({"program": p, "passes": ["functionalize", "common", "dead", "fold"]}, p))(
        program(f)), lambda f, kept, r: (program_gone(f, kept, r), program_gone(f, r["program"], r))),
    Case("program.release", lambda f: ({"program": program(f)}, None)),
    Case("program.run", lambda f: (lambda p: ({"program": p, "inputs": {"x": {"data": [4, 5, 6]}}}, p))(program(f)),
         program_run_gone),
    Case("program.run", recompute_run, recompute_gone),
    Case("program.run", plain(steps=[SQUARES], outputs=["y"]), outputs),
    Case("registry.check", again=True),
    Case("registry.describe", plain(op="aten::add.Tensor"), again=True),
    Case("registry.dump", again=True),
    Case("registry.explain", plain(op="aten::add", args=[{"data": [1]}, 2]), again=True),
    Case("registry.keys", again=True),
    Case("registry.list", plain(namespace="aten", match="add"), again=True),
    Case("registry.table", plain(ops=["aten::add.Tensor"], **{"with": [{"op": "aten::add.Tensor", "key": "CUDA"}]}),
         again=True),
    Case("registry.watch", plain(enabled=True), watched),
    Case("rpc.discover", again=True),
    Case("server.hello", plain(client="no memory", protocol=1), again=True),
    Case("server.metrics"),
    Case("server.open", undo=lambda f, kept, r: os.close(r["fd"])),
    Case("server.status"),
    Case("session.end", other_session, lambda f, kept, r: kept.close()),
    Case("session.get", again=True),
    Case("session.list"),
    Case("session.set", plain(include=["Tracer", "BackendSelect", "ADInplaceOrView"], num_threads=2, seed=7),
         lambda f, kept, r: f.d.call("session.set", include=["BackendSelect", "ADInplaceOrView"], num_threads=0)),
    Case("session.set", plain(shadow={"backend": "cpu"}), lambda f, kept, r: f.d.call("session.set", shadow=None)),
    Case("session.sync", again=True),
    Case("store.load", saved, stored_gone),
    Case("store.save", lambda f: (lambda t: ({"path": "new.safetensors", "tensors": {"x": t}, "metadata": {"a": "b"}}, [t]))(
        f.tensor(1, 2, 3)), released),
    Case("store.stats"),
    Case("tensor.create", plain(data=[[1, 2], [3, 4]]), made),
    Case("tensor.create", plain(dtype="float64", shape=[2], attachment=b"\0" * 16, requires_grad=True), made,
         announces=True),
    Case("tensor.create", plain(data=[1, 2], name="no_memory/made"),
         lambda f, kept, r: (f.d.call("tensor.unlink", name="no_memory/made"), f.release(r["tensor"]))),
    Case("tensor.describe", on_tensors("tensor"), released),
    Case("tensor.list", on_tensors(), again=True),
    Case("tensor.name", on_tensors("tensor", name="no_memory/kept"), lambda f, kept, r: unnamed(f, kept[0], r)),
    Case("tensor.names", lambda f: ({}, named(f)), unnamed),
    Case("tensor.open", lambda f: ({"name": "no_memory/kept"}, named(f)),
         lambda f, kept, r: (f.release(r["tensor"]), unnamed(f, kept, r))),
    Case("tensor.read", on_tensors("tensor"), released),
    Case("tensor.read", on_tensors("tensor", **{"as": "attachment"}), released),
    Case("tensor.release", lambda f: ({"tensors": [f.tensor(), f.tensor()]}, None)),
    Case("tensor.release", lambda f: (f.tensor(), ({"all": True}, None))[1]),
    Case("object.release", lambda f: (weights(f), ({"all": True}, None))[1]),
    Case("tensor.unlink", lambda f: (lambda t: ({"name": "no_memory/kept"}, [t]))(named(f)), released),
    Case("trace.start", trace_params, trace_ended),
    Case("trace.stop", recording, recorded_undo),
]


def test_every_method_has_a_case(f):
    equal(sorted({c.method for c in CASES} | {"server.shutdown"}), METHODS)


def one(method):
    def test(f):
        for case in CASES:
            if case.method == method:
                start = time.monotonic()
                tried, failed = case.run(f)
                print(f"     {case.method}: {tried} allocations failed, {failed} answers with an error, "
                      f"{time.monotonic() - start:.1f} s")
                less(0, tried, f"failed allocations of {case.method}")
    return test


for _method in sorted({c.method for c in CASES}):
    globals()["test_" + _method.replace(".", "_")] = one(_method)


def counts(f):
    status = f.d.call("server.status")
    return [status[k] for k in ("connections", "sessions", "live_tensors", "storages")]


def settles(f, before, what):
    for _ in range(200):
        if counts(f) == before:
            return
        time.sleep(0.01)
    equal(counts(f), before, what)


def test_a_new_connection(f):
    """It is served, or told why not; the others stay."""
    wait_until(lambda: f.d.call("server.status")["sessions"] == 1, "the sessions of earlier connections have ended")
    before, refused, n = counts(f), 0, 0
    params = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "session.get", "params": {}}).encode() + b"\n"
    hit = True
    while hit:
        n += 1
        f.faults.command(n)
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(f.daemon.socket)
            try:
                s.sendall(params)
            except BrokenPipeError:
                pass  # it was refused already
            with s.makefile("rb") as lines:
                answer = json.loads(lines.readline() or b"null")
            hit = f.faults.command(0) == 1
            if hit and (answer is None or "error" in answer):
                refused += 1
                if answer is not None:
                    equal(answer["error"]["data"]["type"], "ResourceExhausted", f"allocation {n}")
            else:
                equal(answer["id"], 1, f"allocation {n}: {answer}")
        settles(f, before, f"after allocation {n}: {answer}")
        less(n, 1000, "allocations of a new connection")
    less(0, refused, "refused connections")


def test_a_long_line(f):
    """A line for which the buffer cannot grow is skipped and answered; the next one is served."""
    data = [0.5] * 40_000
    hit, failed, n = True, 0, 0
    with f.joined() as d:
        d.call("tensor.release", tensors=[d.call("tensor.create", data=data)["tensor"]])  # a first time fills caches
        before = counts(f)
        while hit:
            n += 1
            what, made = f"after allocation {n}", []
            f.faults.command(n)
            try:
                made = [d.call("tensor.create", data=data)["tensor"]]
            except dispatchd.Error as e:
                equal(e.type, "ResourceExhausted", f"allocation {n}: {e.message}")
                failed += 1
                what = f"after allocation {n}: {e}"
            hit = f.faults.command(0) == 1
            d.call("tensor.release", tensors=made)
            settles(f, before, what)
            equal(d.call("tensor.list"), {"tensors": []}, what)
            less(n, 1000, "allocations of a long line")
    less(0, failed, "answers with an error")


def test_shutdown(f):
    """The last request: until it succeeds, the daemon serves."""
    tried, failed = Case("server.shutdown", plain(drain_ms=100), once=True).run(f)
    less(0, tried, "failed allocations of server.shutdown")
    f.daemon.process.wait(60)


def teardown(f):
    f.d.close()
    if f.daemon.process.poll() is None:
        f.daemon.finish()
    f.faults.close()
    shutil.rmtree(f.dir)


main(Fixture, teardown)
