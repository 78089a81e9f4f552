"""bench.py -- timings of $BUILD: a table, and the same in $BUILD/bench.json.

Every figure is a median; where PyTorch is installed it does the same work in the same run, and the
ratio is ours over PyTorch's (below 1: we are faster).  OTHER names another build directory, say of the
commit before: that is the peer then, in turns with ours.  A goal that is missed is marked, and is no
failure: a shared machine decides too.  The last line says which BLAS kernels each side used."""

import ctypes
import fcntl
import json
import os
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from harness import BUILD, ROOT, wait_until
from daemon import TestDaemon
import captured
import chain
import dispatchd
import fairness
import idle
import optim

try:
    import torch
except ImportError:
    torch = None

OTHER = os.environ.get("OTHER") and os.path.abspath(os.environ["OTHER"])
REPEAT, WARM = 30, 4
SETTLE = 0.05  # seconds
ROUNDS = 5  # in which we and PyTorch take turns
rows = []


def row(name, ours, unit, peer=None, goal=None, ratio_goal=None):
    """goal: what ours should stay at or below; ratio_goal: what its ratio to PyTorch's in this run should."""
    ratio = ours / peer if peer else None
    wanted, got = (goal, ours) if ratio_goal is None or OTHER else (ratio_goal, ratio)
    met = None if wanted is None or got is None else got <= wanted
    rows.append({"name": name, "ours": ours, "unit": unit, "peer": peer, "ratio": ratio, "goal": goal,
                 "ratio_goal": ratio_goal, "met": met})
    cells = [f"{ours:10.2f} {unit:<5}", f"{peer:10.2f}" if peer else " " * 10,
             f"{ratio:6.2f}" if ratio else " " * 6,
             "" if met is None else f"goal {wanted:g}: {'met' if met else 'MISSED'}"]
    print(f"{name:<46} {'  '.join(cells)}".rstrip(), flush=True)


def program(*command):
    """The JSON object that a program prints."""
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def torch_program(name):
    """NAME.cc built against PyTorch, to measure it from C++; None where it cannot be built."""
    if torch is None:
        return None
    home = os.path.dirname(torch.__file__)
    include, lib = os.path.join(home, "include"), os.path.join(home, "lib")
    out = os.path.join(BUILD, "tests", "bench", name)
    source = os.path.join(ROOT, "tests", "bench", name + ".cc")
    if not os.path.exists(out) or os.path.getmtime(out) < os.path.getmtime(source):
        done = subprocess.run(["g++", "-std=gnu++14", "-O2", "-o", out, source,
                               *(f"-I{i}{api}" for i in (include, "/usr/include") for api in ("", "/torch/csrc/api/include")),
                               f"-L{lib}", f"-Wl,-rpath,{lib}", "-ltorch", "-ltorch_cpu", "-lc10"],
                              capture_output=True, text=True)
        if done.returncode != 0:
            print(f"(PyTorch is not measured by {name}.cc: that needs libtorch-dev)")
            return None
    return out


def bench_dispatch():
    dispatch = [os.path.join(b, "tests", "bench", "dispatch") for b in (BUILD, OTHER) if b]
    programs = [p for p in (*dispatch, torch_program("torch_dispatch")) if p][:2]
    runs = [[program(p) for p in programs] for _ in range(ROUNDS)]  # in turns: both meet the same noise
    medians = [{k: statistics.median(r[k] for r in each) for k in each[0]} for each in zip(*runs)]
    ours, peer = medians[0], medians[1] if len(medians) > 1 else {}
    row("dispatch: bare call through a pointer", ours["bare_ns"], "ns")
    for what, goal in ("unboxed", 0.35), ("boxed", 0.5), ("lookup", 0.7):
        row(f"dispatch: {what}", ours[what + "_ns"], "ns", peer.get(what + "_ns"), ratio_goal=goal)
    for what, name, goal in (("turns", "two key sets in turns", None), ("label", "context with a label", None),
                             ("thread", "second thread", 0.6)):
        row(f"dispatch: unboxed, {name}", ours[what + "_ns"], "ns", peer.get(what + "_ns", peer.get("unboxed_ns")),
            ratio_goal=goal)
    row("dispatch: a context's label, added to unboxed", ours["label_ns"] - ours["unboxed_ns"], "ns", None, 2)
    row("dispatch: a layer with nothing to do, added", ours["layer_ns"] - ours["unboxed_ns"], "ns", None, 2)
    row("dispatch: a guard inside one that sets the mode", ours["guard_ns"], "ns", peer.get("guard_ns"), 3)


def bench_autocast():
    runs = [program(os.path.join(BUILD, "tests", "bench", "autocast")) for _ in range(ROUNDS)]
    ns = {k: statistics.median(r[k] for r in runs) for k in runs[0]}
    for what, name, goal in (("off", "off", 1), ("plain", "on, for an operator in no list", 1),
                             ("fits", "on, arguments that fit", 60), ("cached", "on, a cached cast", 90)):
        row(f"autocast: {name}, added", ns[what + "_ns"] - ns["none_ns"], "ns", None, goal)


def bench_program():
    """1,000 multiplications of one element; PyTorch's are eager calls from Python."""
    plugins = [os.path.join(BUILD, "plugins", p + ".so") for p in ("aten", "composite", "cpu", "capture")]
    ours, peers = [], []
    for _ in range(ROUNDS):
        ours.append(program(os.path.join(BUILD, "tests", "bench", "program"), *plugins))
        if torch:
            x, k = torch.ones(1), torch.ones(1)
            mul = lambda: [torch.mul(x, k) for _ in range(1000)]
            mul()
            peers += [timed(mul) * 1e6 for _ in range(ROUNDS)]
    peer = statistics.median(peers) if peers else None
    row("program: a step, mul of one element", statistics.median(o["step_ns"] for o in ours), "ns", peer, 450)
    row("program: capture of 100 steps over fakes", statistics.median(o["capture_ns"] for o in ours) / 1e4, "ms", None, 0.3)
    row("program: the same as a boxed call", statistics.median(o["call_ns"] for o in ours), "ns", peer)


def bench_grad():
    """Gradients of tensors of one element, in process; PyTorch's from C++, in turns with ours."""
    plugins = [os.path.join(BUILD, "plugins", p + ".so") for p in ("aten", "composite", "cpu", "autograd")]
    theirs = torch_program("torch_grad")
    runs = []
    for _ in range(ROUNDS):
        runs.append((program(os.path.join(BUILD, "tests", "bench", "grad"), *plugins),
                     program(theirs) if theirs else {}))
    ours, peer = ({k: statistics.median(r[k] for r in each) for k in each[0]} for each in zip(*runs))
    row("gradients: mul where nothing requires one, added", ours["clear_ns"] - ours["without_ns"], "ns", None, 3)
    row("gradients: a view without history, added", ours["view_ns"] - ours["view_without_ns"], "ns", None, 15)
    for op in "mul", "relu", "exp":
        row(f"gradients: recording {op}, added", ours[f"record_{op}_ns"], "ns", peer.get(f"record_{op}_ns"),
            ratio_goal=0.35)
    row("gradients: a formula of two calls, added", ours["formula_ns"], "ns", None, 60)
    row("gradients: mul, sum and backward", ours["step_ns"], "ns", peer.get("step_ns"), 2500)
    row("gradients: backward of 100,000 mul, a node", ours["chain_mul_ns"], "ns", peer.get("chain_mul_ns"), 400)
    row("gradients: releasing 100,000 mul", ours["chain_free_ms"], "ms", peer.get("chain_free_ms"), 1)


def torch_training(digits):
    """A step of digits.Training in PyTorch's eager mode, from Python with one thread: a function of k."""
    def tensor(literal):
        return torch.frombuffer(bytearray(literal["attachment"]), dtype=getattr(torch, literal["dtype"])).reshape(literal["shape"])

    F = torch.nn.functional
    data, recorded = digits.read_safetensors("digits.safetensors"), digits.read_safetensors("digits_training.safetensors")
    images, labels, batches = tensor(data["images"]).double() / 16, tensor(data["labels"]), tensor(recorded["batches"])
    w = {k: tensor(recorded["init." + k]).clone() for k in digits.PARAMETERS + digits.BUFFERS}
    parameters = [w[k].requires_grad_() for k in digits.PARAMETERS]
    sgd = torch.optim.SGD(parameters, lr=digits.LEARNING_RATE, momentum=digits.MOMENTUM)

    def step(k):
        batch = batches[k]
        x = F.conv2d(images.index_select(0, batch), w["conv1.weight"], w["conv1.bias"], padding=1)
        x = F.batch_norm(x, w["bn1.running_mean"], w["bn1.running_var"], w["bn1.weight"], w["bn1.bias"], True)
        x = F.relu(F.conv2d(F.relu(x), w["conv2.weight"], w["conv2.bias"], padding=1))
        x = F.linear(F.max_pool2d(x, 2).flatten(1), w["fc1.weight"], w["fc1.bias"])
        x = F.linear(F.relu(x), w["fc2.weight"], w["fc2.bias"])
        loss = F.nll_loss(F.log_softmax(x, 1), labels.index_select(0, batch))
        sgd.zero_grad()
        loss.backward()
        sgd.step()
        return loss.item()

    return step


def bench_training():
    """A step of training the digits network with one thread, over the socket; PyTorch's in its eager mode."""
    sys.path.insert(0, os.path.join(ROOT, "clients", "demo"))
    import digits

    theirs = torch_training(digits) if torch else None
    threads = torch and torch.get_num_threads()
    if torch:
        torch.set_num_threads(1)
    ours, peers = {False: [], True: []}, []
    with TestDaemon("--threads", "1") as daemon, daemon.connect() as d:
        training = {as_program: digits.Training(d, as_program) for as_program in ours}
        for k in range(WARM + REPEAT):
            for as_program, times in ours.items():
                times.append(timed(lambda: training[as_program].step(k)))
            if theirs:
                peers.append(timed(lambda: theirs(k)))
        for t in training.values():
            t.close()
    if torch:
        torch.set_num_threads(threads)
    peer = statistics.median(peers[WARM:]) * 1e3 if peers else None
    row("training: a step of digits as one program", statistics.median(ours[True][WARM:]) * 1e3, "ms", peer,
        ratio_goal=0.8)
    row("training: the same as single calls", statistics.median(ours[False][WARM:]) * 1e3, "ms", peer)
    bench_captured(digits)
    bench_epoch(theirs)


def bench_captured(digits):
    with TestDaemon("--threads", "1") as daemon, daemon.connect() as d:
        ours, by_hand = captured.digits_step(d, digits)
    row("training: a captured step, beside one by hand", ours, "ms", by_hand, ratio_goal=1.0)


EPOCH = 22  # steps of digits in an epoch of 1437 images, 64 in a batch


def bench_epoch(theirs):
    """An epoch of digits from C over the socket, by the programs of clients/demo, which send ahead; PyTorch's from
    Python; in turns, with one thread.  theirs: a function of the batch, or None."""
    digits = {"DIGITS": os.path.join(ROOT, "clients", "demo", "digits.json")}
    times = {"train_digits": [], "train_digits_calls": [], "PyTorch": []}
    threads = torch and torch.get_num_threads()
    if torch:
        torch.set_num_threads(1)
    with TestDaemon("--threads", "1") as daemon:
        for _ in range(ROUNDS):
            for program_name in "train_digits", "train_digits_calls":
                command = os.path.join(BUILD, "demo", program_name)
                done = subprocess.run([command, os.path.join(ROOT, "tests", "data"), str(EPOCH)], check=True,
                                      env={**os.environ, **digits, "DISPATCHD_SOCKET": daemon.socket},
                                      capture_output=True, text=True)
                times[program_name].append(float(done.stderr.split()[-2]))
            if theirs:
                times["PyTorch"].append(timed(lambda: [theirs(k) for k in range(EPOCH)]))
    if torch:
        torch.set_num_threads(threads)
    peer = median_ms(times["PyTorch"]) if theirs else None
    row("training: an epoch of digits from C, a program a step", median_ms(times["train_digits"]), "ms", peer, ratio_goal=0.8)
    row("training: the same, single calls sent ahead", median_ms(times["train_digits_calls"]), "ms", peer, ratio_goal=1.2)


def bench_program_run(daemon, _):
    """The same over the socket, inline each time and made once: the round trip, for each step."""
    steps = [{"op": "aten::mul.Tensor", "args": [{"ref": "x%d" % i}, {"ref": "k"}], "as": ["x%d" % (i + 1)]}
             for i in range(1000)]
    values, outputs = {"x0": {"data": [1]}, "k": {"data": [1]}}, ["x1000"]
    with daemon.connect() as d:
        made = d.call("program.create", steps=steps, outputs=outputs,
                      inputs=[{"name": n, "type": "Tensor"} for n in values])["program"]
        for name, params in (("inline", {"steps": steps, "outputs": outputs}), ("made once", {"program": made})):
            request = {"jsonrpc": "2.0", "id": 1, "method": "program.run",
                       "params": {**params, "inputs": values, "return": "data"}}
            line = json.dumps(request).encode() + b"\n"

            def run():
                d.send_bytes(line)
                if "result" not in d.receive_message():
                    raise AssertionError("program.run failed")

            ours = [timed(run) for _ in range(WARM + REPEAT)][WARM:]
            row(f"program: the same by program.run, {name}", statistics.median(ours) * 1e6, "ns")


def bench_joint(daemon, _):
    with daemon.connect() as d:
        for partition, ms in captured.joint(d).items():
            row(f"program: functionalize, joint, {partition}, 1,000 steps", ms, "ms", None, 30)


class Echo:
    """A bare libuv server: what the loop and the socket cost with nothing behind them."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="dispatchd-bench-")
        self.socket = os.path.join(self.dir, "echo.sock")
        self.hog = os.path.join(self.dir, "hog")
        with open(self.hog, "w") as f:
            f.write("\n#\n")
        self.process = subprocess.Popen([os.path.join(BUILD, "tests", "bench", "echo"), self.socket])
        wait_until(lambda: os.path.exists(self.socket), "the echo server listens")

    def stop(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.dir)


class Redis:
    """redis-server, which answers GET from a table."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="dispatchd-bench-")
        self.socket = os.path.join(self.dir, "redis.sock")
        self.process = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", self.socket, "--save", "",
                                         "--dir", self.dir], stdout=subprocess.DEVNULL)
        wait_until(lambda: os.path.exists(self.socket), "redis listens")

    def gets_per_s(self):
        """By one client with 64 outstanding requests."""
        out = subprocess.run(["redis-benchmark", "-s", self.socket, "-c", "1", "-P", "64", "-n", "300000", "-t", "get",
                              "--csv"], check=True, capture_output=True, text=True).stdout
        return float(out.splitlines()[-1].split(",")[1].strip('"'))

    def stop(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.dir)


def bench_pipelined(where, servers, client, goal):
    """64 outstanding requests, and redis's GET beside them, in turns; goal: times redis's time for each."""
    redis = Redis() if shutil.which("redis-benchmark") and shutil.which("redis-server") else None
    runs = []
    for _ in range(ROUNDS):
        runs.append({k: program(client, s.socket)["pipelined_per_s"] for k, s in servers.items()})
        runs[-1]["redis"] = redis.gets_per_s() if redis else None
    if redis:
        redis.stop()
    us = {who: 1e6 / statistics.median(r[who] for r in runs) for who in runs[0] if runs[0][who]}
    peer = us.get("redis")
    row(f"{where}: op.call add, 64 outstanding, each", us["ours"], "us", peer, goal * peer if peer else None)
    if OTHER:
        row(f"{where}: the same, of OTHER", us["other"], "us", peer)


def bench_round_trips(where, cores, goal, pipelined_goal):
    """One client, with the servers on `cores`, in turns; goal: times the echo."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)  # the servers and clients started meanwhile stay there
    layer = os.path.join(BUILD, "tests", "plugins", "layer.so")
    servers = {"ours": TestDaemon(), "echo": Echo(), "layer": TestDaemon("--plugin", layer),
               **({"other": TestDaemon(build=OTHER)} if OTHER else {})}
    client = os.path.join(BUILD, "tests", "bench", "socket")
    runs = [{k: program(client, s.socket) for k, s in servers.items()} for _ in range(ROUNDS)]
    bench_pipelined(where, {k: s for k, s in servers.items() if k in ("ours", "other")}, client, pipelined_goal)
    os.sched_setaffinity(0, before)
    for s in servers.values():
        s.stop()

    def median(who, what):
        return statistics.median(r[who][what] for r in runs)

    echo = median("echo", "p50_us")
    row(f"{where}: bare libuv echo, p50", echo, "us")
    row(f"{where}: op.call add, 4 elements, p50", median("ours", "p50_us"), "us", echo, goal * echo)
    row(f"{where}: the same below a layer that sees every call, p50", median("layer", "p50_us"), "us", median("ours", "p50_us"))
    for what in "p50_us", "p99_us":
        if OTHER or what != "p50_us":
            row(f"{where}: op.call add, {what}", median("ours", what), "us", median("other", what) if OTHER else None)


def bench_socket():
    cores = os.sched_getaffinity(0)
    bench_round_trips("socket, one core", {max(cores)}, 1.6, 1 / 0.25)
    bench_round_trips("socket", cores, 0.4, 1 / 0.5)


def bench_chain(daemon, _):
    times = [chain.measure(daemon.socket) for _ in range(ROUNDS)]
    linked, independent = (statistics.median(t[i] for t in times) for i in range(2))
    row("socket: 64 independent adds, pipelined", independent, "us")
    row("socket: a chain of 64 adds with into", linked, "us", independent, 1.3 * independent)


def bench_optim():
    """A step of an optimizer and the clipping of gradients, beside PyTorch's, with one thread and with two."""
    step, kernel = optim.sgd()
    row("sgd, digits: a step of a program", step, "us", kernel)
    row("sgd, digits: what the program adds to the kernel", step - kernel, "us", None, 3)
    for threads in (1, 2):
        (step, *peers), (clip, *clip_peers) = optim.measure(threads, torch)
        label = f"{threads} thread{'s' * (threads > 1)}"
        row(f"adam, 8 x 1 M, {label}", step, "ms", peers[0] if peers else None, None, 0.5)
        row(f"adam, 8 x 1 M, {label}: beside its bytes", step, "ms", peers[1] if peers else None, None, 1.3)
        row(f"kernel: clip_grad_norm_, 100 x 10,000, {label}", clip, "ms", clip_peers[0] if clip_peers else None, None, 0.5)


def bench_client():
    """The library for C beside a client that sends fixed bytes, with everything on one core and on all."""
    cores = os.sched_getaffinity(0)
    for where, few in ("client, one core", {max(cores)}), ("client", cores):
        os.sched_setaffinity(0, few)
        daemon = TestDaemon()
        runs = [program(os.path.join(BUILD, "tests", "bench", "client"), daemon.socket) for _ in range(ROUNDS)]
        daemon.stop()
        os.sched_setaffinity(0, cores)
        us = {k: statistics.median(r[k] for r in runs) for k in runs[0]}
        row(f"{where}: add, 1 element, fixed bytes, p50", us["raw_p50_us"], "us")
        for who, what in ("spinning", "libdispatchd-client"), ("sleeping", "the same, spin_us 0"):
            row(f"{where}: {what}, p50", us[who + "_p50_us"], "us", us["raw_p50_us"], us["raw_p50_us"] + 2)


def op_call(op, *args, **params):
    return {"method": "op.call", "params": {"op": op, "args": list(args), **params}}


# name, what another client sends once, what it sends over and over
HOGS = [
    ("unfold of 4 KB to 4.2 M elements as data",
     [{"method": "tensor.create", "params": {"dtype": "uint8", "shape": [4096], "data": [1] * 4096}}],
     [op_call("aten::unfold", {"tensor": 1}, 0, 2048, 1, **{"return": "data"})]),
    ("arange(200000) after short ones", [op_call("aten::arange", 10)] * 40,
     [op_call("aten::arange", 200_000), {"method": "tensor.release", "params": {"all": True}}]),
    ("lines of 60 KB, 12,000 numbers", [],
     [op_call("aten::sum", {"data": [12.5] * 12_000}, **{"return": "data"})]),
]


def beside(build, once, over_and_over, connections=1):
    daemon = TestDaemon(build=build)
    with open(os.path.join(daemon.dir, "hog"), "w") as f:
        for messages in once, over_and_over:
            for m in messages:
                f.write(json.dumps({"jsonrpc": "2.0", "id": 1, **m}) + "\n")
            f.write("\n" if messages is once else "")
    times = program(os.path.join(BUILD, "tests", "bench", "socket"), daemon.socket, f.name, str(connections))
    daemon.stop()  # whatever the hog, which has just left, may still hold in an older build
    return times


def bench_shared(daemon, _):
    """64 MiB between processes: by maps that are kept, and by attachments beside a bare socket."""
    n = 16 << 20

    def median(step):
        times = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            step()
            times.append((time.perf_counter() - start) * 1e6)
        return statistics.median(times)

    with daemon.connect() as d:
        out = {"tensor": d.op("aten::zeros", [n])["tensor"]}
        x = {"tensor": d.op("aten::ones", [n])["tensor"]}
        d.map(out)
        add = median(lambda: d.op("aten::add.out", x, x, out=out))
        row("shared: add.out, 64 MiB", add, "us")
        row("shared: its result through a kept map", median(lambda: d.map(out)), "us", None, 100)
        fd = dispatchd.share(bytes(4 * n))
        literal = {"dtype": "float32", "shape": [n], "fd": fd}
        d.op("aten::sum", literal)
        literal = {"dtype": "float32", "shape": [n], "map": fd.map}
        handle = median(lambda: d.op("aten::sum", x))
        row("shared: sum of 64 MiB in a client's memfd", median(lambda: d.op("aten::sum", literal)), "us", handle)
        d.op("aten::sum", {"dtype": "float32", "shape": [n], "fd": (racy := memfd(4 * n))})
        literal = {"dtype": "float32", "shape": [n], "map": racy.map}
        row("shared: the same, which the client may write", median(lambda: d.op("aten::sum", literal)), "us", handle)
    read, bare = attachment_us(daemon, n)
    row("shared: 64 MiB by attachment, beside a socket", read, "us", bare, bare / 0.6)


def memfd(size):
    """An Fd of a memfd that its client can still write."""
    fd = os.memfd_create("bench", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.posix_fallocate(fd, 0, size)
    fcntl.fcntl(fd, 1033, 2)  # F_ADD_SEALS, F_SEAL_SHRINK
    return dispatchd.Fd(fd)


def attachment_us(daemon, n):
    """Medians of what it takes to receive `n` floats, as the attachment of an answer of the daemon and as the
    same number of bytes of a bare process, in turns and read in the same way."""
    ones, ask = (json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n"
                 for method, params in (("op.call", {"op": "aten::ones", "args": [[n]]}),
                                        ("tensor.read", {"tensor": 1, "as": "attachment"})))
    with socket.socket(socket.AF_UNIX) as ours:
        ours.connect(daemon.socket)
        received_line(ours, ones)
        size = 4 * n + received_line(ours, ask)
        received_us(ours, b"", 4 * n)
        bare, peer = socket.socketpair()
        child = os.fork()
        if child == 0:
            bare.close()
            data = b"1" * size
            while peer.recv(1):
                peer.sendall(data)
            os._exit(0)
        peer.close()
        runs = [(received_us(ours, ask, size), received_us(bare, b"x", size)) for _ in range(ROUNDS)]
        bare.close()
        os.waitpid(child, 0)
    return [statistics.median(times) for times in zip(*runs)]


def received_line(sock, request):
    """Number of bytes of the line that answers `request`; what follows it stays in the socket."""
    sock.sendall(request)
    length = 0
    while sock.recv(1) != b"\n":
        length += 1
    return length + 1


def received_us(sock, request, size):
    """Microseconds from sending `request` until `size` bytes have been received."""
    buffer = bytearray(1 << 20)
    start, have = time.perf_counter(), 0
    sock.sendall(request)
    while have < size:
        have += sock.recv_into(buffer, min(len(buffer), size - have))
    return (time.perf_counter() - start) * 1e6


def bench_hogs():
    """What short calls of one client take while another sends what would hold up the loop."""
    for name, once, over_and_over in HOGS:
        ours = beside(BUILD, once, over_and_over)
        other = beside(OTHER, once, over_and_over) if OTHER else {}
        row(f"add beside {name}, p99", ours["p99_us"], "us", other.get("p99_us"), 1000)
        row(f"add beside {name}, worst", ours["max_us"], "us", other.get("max_us"))


# How many connections ask for text at once, goals of p99 and worst
CROWDS = (50, 5000, 50_000), (200, 10_000, None)
CROWD_ROUNDS = 3


def bench_crowds():
    """What short calls take while connections of a process at nice 19 ask for 4 MB of text each, over and
    over, in turns with the same beside a libuv echo, which answers them with as many bytes."""
    asks = ([op_call("aten::arange", 600_000)], [{"method": "tensor.read", "params": {"tensor": 1}}])
    builds = {"ours": BUILD, **({"other": OTHER} if OTHER else {})}
    for n, p99, worst in CROWDS:
        runs = []
        for _ in range(CROWD_ROUNDS):
            echo = Echo()
            runs.append({who: beside(build, *asks, n) for who, build in builds.items()})
            runs[-1]["echo"] = program(os.path.join(BUILD, "tests", "bench", "socket"), echo.socket, echo.hog, str(n))
            echo.stop()
        for what, name, goal in ("trip_p99_us", "p99", p99), ("trip_max_us", "worst", worst):
            figures = {who: statistics.median(r[who][what] for r in runs) for who in runs[0]}
            row(f"add beside {n} that ask for 4 MB of text, {name}", figures["ours"], "us", figures.get("other"), goal)
            row(f"echo beside {n} that ask for 4 MB, {name}", figures["echo"], "us")


def plugin_times(daemon):
    """Milliseconds of load, reload and unload, as the client sees them."""
    with daemon.connect() as d:
        path = [p["path"] for p in d.call("plugin.list")["plugins"] if p["plugin"] == "template"][0]
        loads, reloads, unloads = [], [], []
        for _ in range(REPEAT):
            reloads.append(timed(lambda: d.call("plugin.reload", plugin="template")))
        for _ in range(REPEAT):
            unloads.append(timed(lambda: d.call("plugin.unload", plugin="template")))
            loads.append(timed(lambda: d.call("plugin.load", path=path)))
    return [median_ms(seconds) for seconds in (loads, reloads, unloads)]


def bench_plugins(daemon, other):
    peers = plugin_times(other) if other else [None] * 3
    for what, ours, peer, goal in zip(("load", "reload", "unload"), plugin_times(daemon), peers, (5, 5, None)):
        row(f"plugin: {what} template, as the client sees it", ours, "ms", peer, goal)


def bench_fairness(daemon, other):
    def p99s(d):
        return [fairness.percentile(v, 99) * 1e6 for v in fairness.measure(d, 128, 2048, 300)[:2]]

    peers = p99s(other) if other else [None] * 2
    alone, beside_large = p99s(daemon)
    row("fairness: mm 128x128, p99 alone", alone, "us", peers[0])
    row("fairness: mm 128x128, p99 beside 2048x2048", beside_large, "us", peers[1], 10 * alone)


def bench_idle():
    """The start is the fastest of some: what delays it on a shared machine is not the daemon."""
    for what, cold, goal in ("warm", False, 100), ("files not in memory", True, 150):
        ours, peers = [], []
        for _ in range(ROUNDS):
            ours.append(idle.start_seconds(BUILD, cold))
            if OTHER:
                peers.append(idle.start_seconds(OTHER, cold))
        row(f"start to the first answer, {what}", min(ours) * 1e3, "ms", min(peers) * 1e3 if peers else None, goal)
    peers = idle.idle(OTHER) if OTHER else [None] * 3
    (memory, wakeups, each), (memory_peer, _, each_peer) = idle.idle(BUILD), peers
    row("idle: anonymous memory, 3 plugins", memory, "MiB", memory_peer, 12)
    row("idle: wake-ups in 2 s", wakeups, "", None, 0)
    row("idle: a connection of 1000", each, "KiB", each_peer, 24)


def timed(fn):
    start = time.perf_counter()
    fn()
    return time.perf_counter() - start


def median_ms(seconds):
    return statistics.median(seconds) * 1e3


def literal(shape):
    n = 1
    for s in shape:
        n *= s
    return {"dtype": "float32", "shape": shape,
            "attachment": struct.pack(f"<{n}f", *((i * 7919 % 1000) / 1000 for i in range(n)))}


# name, operator, shapes of the tensors that come first, the other arguments, the same in PyTorch
KERNELS = [
    ("add, 1 M", "aten::add.Tensor", [[1 << 20], [1 << 20]], [], lambda a, b: a + b),
    ("add, 16 M", "aten::add.Tensor", [[1 << 24], [1 << 24]], [], lambda a, b: a + b),
    ("relu, 1 M", "aten::relu", [[1 << 20]], [], lambda a: torch.relu(a)),
    ("sum, 1 M", "aten::sum", [[1 << 20]], [], lambda a: a.sum()),
    ("mm 512x512", "aten::mm", [[512, 512], [512, 512]], [], lambda a, b: a.mm(b)),
    ("mm 2048x2048", "aten::mm", [[2048, 2048], [2048, 2048]], [], lambda a, b: a.mm(b)),
    ("convolution 360x16x8x8, 32 of 3x3", "aten::convolution", [[360, 16, 8, 8], [32, 16, 3, 3], [32]],
     [[1, 1], [1, 1], [1, 1], False, [0, 0], 1],
     lambda x, w, b: torch.conv2d(x, w, b, padding=1)),
    ("log_softmax 360x1000", "aten::log_softmax.int", [[360, 1000]], [1],
     lambda a: torch.log_softmax(a, 1)),
    ("channels_last of 8x64x56x56", "aten::clone", [[8, 64, 56, 56]], ["memory_format"],
     lambda a: a.clone(memory_format=torch.channels_last)),
]


def turn(measure):
    """Of one round.  The other's threads may still be looking for work (OpenBLAS's do for some 20 ms), on
    cores that are ours now; and the first calls find threads asleep and caches cold, and do not count."""
    time.sleep(SETTLE)
    return [measure() for _ in range(WARM + REPEAT // ROUNDS)][WARM:]


def torch_args(literals):
    return [torch.frombuffer(bytearray(t["attachment"]), dtype=torch.float32).reshape(t["shape"])
            for t in literals]


def kernel_call(d, op, literals, rest):
    """A function that calls op once: microseconds of its kernel.  And what it takes to end it."""
    tensors = [d.call("tensor.create", **t) for t in literals]
    kwargs = {"memory_format": "channels_last"} if rest == ["memory_format"] else {}
    args = [{"tensor": t["tensor"]} for t in tensors] + ([] if kwargs else rest)

    def call():
        answer = d.call("op.call", op=op, args=args, kwargs=kwargs, timing=True)
        d.release(*answer["outputs"])
        return answer["timing"]["kernel"] / 1e3

    return call, lambda: d.release(*tensors)


def bench_kernels(daemon, other):
    """Kernel time as op.call reports it, against the other build's or the whole call in PyTorch."""
    with daemon.connect() as d, (other or daemon).connect() as d2:
        for name, op, shapes, rest, torchs in KERNELS:
            literals = [literal(s) for s in shapes]
            call, end = kernel_call(d, op, literals, rest)
            peer = end2 = None
            if other:
                peer, end2 = kernel_call(d2, op, literals, rest)
            elif torch:
                theirs = torch_args(literals)
                peer = lambda: timed(lambda: torchs(*theirs)) * 1e6
            ours, peers = [], []
            for _ in range(ROUNDS):
                ours += turn(call)
                peers += turn(peer) if peer else []
            end()
            if end2:
                end2()
            row(f"kernel: {name}", statistics.median(ours), "us", statistics.median(peers) if peers else None)


def torch_blas():
    """The BLAS that PyTorch computes with in this process."""
    with open("/proc/self/maps") as f:
        paths = {line.split()[-1] for line in f if "blas" in os.path.basename(line.split()[-1])}
    for path in sorted(paths):
        try:
            name = ctypes.CDLL(path).openblas_get_corename
        except AttributeError:
            continue
        name.restype = ctypes.c_char_p
        return f"{os.path.basename(path)}, {name().decode()} kernels"
    return ", ".join(map(os.path.basename, sorted(paths))) or "none that is a library of its own"


def say_blas(daemon, other):
    """Which BLAS kernels each side used, after bench_kernels()."""
    def of(d):
        with d.connect() as c:
            return next((n["text"] for n in c.call("server.status").get("notes", []) if n["name"] == "blas"), "unknown")

    used = {"ours": of(daemon), **({"other": of(other)} if other else {}), **({"PyTorch": torch_blas()} if torch else {})}
    print("BLAS: " + "; ".join(f"{who}: {what}" for who, what in used.items()))
    return used


def main():
    print(f"{'':<46} {'ours':>10} {'':<5}  {'peer':>10}  {'ratio':>6}")
    bench_dispatch()
    bench_autocast()
    bench_idle()
    bench_program()
    bench_grad()
    bench_training()
    bench_socket()
    bench_client()
    bench_optim()
    bench_hogs()
    bench_crowds()
    daemon, other = TestDaemon(), TestDaemon(build=OTHER) if OTHER else None
    for part in bench_chain, bench_shared, bench_program_run, bench_joint, bench_plugins, bench_fairness, bench_kernels:
        part(daemon, other)
    blas = say_blas(daemon, other)
    for d in filter(None, (daemon, other)):
        d.stop()
    with open(os.path.join(BUILD, "bench.json"), "w") as f:
        json.dump({"pytorch": torch.__version__ if torch else None, "cores": os.cpu_count(), "blas": blas,
                   "rows": rows}, f, indent=1)


main()
