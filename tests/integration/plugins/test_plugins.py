"""test_plugins.py -- plugins come, go and misbehave; the daemon, its registry and its clients do not."""

import os
import shutil
import subprocess
import threading

from harness import BUILD, SANITIZED, contains, equal, main, raises, wait_until, warnings
from daemon import TestDaemon
import dispatchd

X = {"data": [1.0, 2.0, 3.0]}

# Refused by plugin.load: file, error type, parts of the message.
REFUSED = [
    ("bad_schema", "PluginError", ["broken(Tensor self -> Tensor"]),
    ("clash", "AlreadyExists", ["tutorial::scale", "clash.c", "template.c"]),
    ("device_without_size", "PluginError", ["device_without_size.c:8", "size is 0; set .size = sizeof(dp_device_ops)"]),
    ("empty_version", "PluginError", ["its version is empty"]),
    ("failing_on_load", "RuntimeError", ["no device of kind 'toy' is there"]),
    ("lying_note", "PluginError", ["lying_note", "note"]),
    ("missing_symbol", "PluginError", ["not_anywhere"]),
    ("object_kinds_share", "PluginError", ["'object_kinds_share.First'", "'object_kinds_share.Second'", "share one dp_object_ops"]),
    ("object_without_size", "PluginError",
     ["'object_without_size.Sizeless'", "size of its dp_object_ops is 0; set .size = sizeof(dp_object_ops)"]),
    ("second_owner", "AlreadyExists", ["tutorial", "second_owner.c", "template.c"]),
    ("split_tags", "PluginError", ["split_tags::f", "split_tags.c:6", "a control character"]),
    ("static_tls", "PluginError", ["static TLS"]),
    ("too_new", "AbiMismatch", ["2.99", "2.0"]),
    ("two_names", "PluginError", ["two_names.c:4", "two_names.c:5"]),
    ("unknown_flag", "PluginError", ["unknown_flag.c:14", "a flag this host does not know"]),
    ("wrong_abi", "AbiMismatch", ["99", "2.0"]),
    ("wrong_signature", "TypeError", ["Tf>T", "Ti>T"]),
]

# Loaded, and then a call fails: file, operator, error type, parts of the message.
FAILING = [
    ("returns_error", "returns_error::said", "ValueError", ["the moon is in the wrong phase"]),
    ("returns_error", "returns_error::halfway", "IndexError", ["index 7 is out of range"]),
    ("returns_error", "returns_error::silent", "RuntimeError", ["returns_error"]),
    ("returns_error", "returns_error::stranger", "PluginError", ["12345"]),
    ("returns_nothing", "returns_nothing::boxed", "PluginError", ["returns_nothing"]),
    ("returns_nothing", "returns_nothing::unboxed", "PluginError", ["returns_nothing"]),
    ("returns_nothing", "returns_nothing::half", "PluginError", ["returns_nothing"]),
    ("returns_wrong_kind", "returns_wrong_kind::an_int", "PluginError", ["Tensor", "int"]),
    ("returns_wrong_kind", "returns_wrong_kind::a_tensor", "PluginError", ["Tensor", "int"]),
    ("returns_wrong_kind", "returns_wrong_kind::no_tag", "PluginError", ["Tensor"]),
    ("wrong_dtype", "wrong_dtype::no_such", "TypeError", ["complex32"]),
    ("recursion", "recursion::f", "RuntimeError", ["128"]),
]


class Fixture:
    def __init__(self):
        self.daemon = TestDaemon("--plugin-path", os.path.join(BUILD, "tests", "plugins"))
        self.client = self.daemon.connect()

    def load(self, name):
        return self.client.call("plugin.load", path=name)

    def unload(self, name, **params):
        return self.client.call("plugin.unload", plugin=name, **params)

    def ctl(self, *words, cwd=None):
        return run([os.path.join(BUILD, "dispatchctl"), "--socket", self.daemon.socket, *words], cwd=cwd)

    def state(self):
        """Everything that a failed load or call must leave as it was."""
        status = self.client.call("server.status")
        return {"dump": self.client.call("registry.dump")["text"], "draining": status["draining"],
                "check": self.client.call("registry.check")["violations"],
                "tensors": status["live_tensors"], "storages": status["storages"], "bytes": status["bytes"],
                "plugins": [p["plugin"] for p in self.client.call("plugin.list")["plugins"]],
                "copies": len([line for line in self.daemon.maps() if ".so" in line])}


def run(command, cwd=None):
    return subprocess.run(command, check=True, text=True, timeout=60, cwd=cwd, stdout=subprocess.PIPE).stdout


def gone(report):
    equal((report["unmapped"], report.get("kept_because")), (True, None), "unloaded")


def test_load_describe_call_unload(f):
    before = f.state()
    manifest = f.client.call("plugin.describe", path="version_1.so")
    equal((manifest["plugin"], manifest["version"], manifest["defs"], manifest["impls"]),
          ("version", "1.0", 1, 1))
    contains(manifest["text"], "value(Tensor self) -> int")
    equal(f.state(), before, "after a describe")
    report = f.load("version_1.so")
    equal((report["defs"], report["impls"], report["backends"], report["dangling"]), (1, 1, [], []))
    described = f.client.call("registry.describe", op="version::value")
    equal(described["schema"], "version::value(Tensor self) -> int")
    equal([(k["key"], k["plugin"], k["generation"]) for k in described["kernels"]],
          [("CPU", "version", report["generation"])])
    contains(described["kernels"][0]["file"], "version_1.c")
    equal(f.client.op("version::value", X), 1)
    gone(f.unload("version"))
    equal(f.state(), before, "after an unload")
    raises(lambda: f.client.op("version::value", X), "NotFound", "version::value")


def test_refused_plugins_change_nothing(f):
    for name, type_, parts in REFUSED:
        before = f.state()
        raises(lambda: f.load(name + ".so"), type_, *parts)
        equal(f.state(), before, f"after {name}")


def test_files_that_are_no_plugins(f):
    before, bad = f.state(), os.path.join(f.daemon.dir, "bad.so")
    whole = open(os.path.join(BUILD, "tests", "plugins", "version_1.so"), "rb").read()
    for what, content in {"empty": b"", "text": b"hello" * 100, "cut": whole[:2000], "header": whole[:64]}.items():
        with open(bad, "wb") as out:
            out.write(content)
        e = raises(lambda: f.client.call("plugin.load", path=bad), "PluginError")
        contains(e.message, "bad.so", what)
    raises(lambda: f.client.call("plugin.load", path="/nowhere/x.so"), "NotFound", "/nowhere/x.so")
    raises(lambda: f.client.call("plugin.load", path="not_there.so"), "NotFound", "not_there.so")
    raises(lambda: f.client.call("plugin.load", path=f.daemon.dir), "PluginError", f.daemon.dir)
    equal(f.state(), before)


def test_a_file_that_changes_while_it_is_read_is_refused(f):
    path, stop = os.path.join(f.daemon.dir, "changing.so"), threading.Event()
    with open(path, "wb") as out:
        out.truncate(32 << 20)

    def keep_touching():
        while not stop.is_set():
            os.utime(path)

    toucher = threading.Thread(target=keep_touching)
    toucher.start()
    try:
        raises(lambda: f.client.call("plugin.load", path=path), "Busy", path, "changed while it was read")
    finally:
        stop.set()
        toucher.join()
    raises(lambda: f.client.call("plugin.load", path=path), "PluginError", "is not an ELF file")


def test_an_optional_return_may_be_none(f):
    f.load("returns_nothing.so")
    equal(f.client.op("returns_nothing::optional", X, False), None)
    equal(f.client.call("op.call", op="returns_nothing::optional", args=[X, True],
                        **{"return": "data"})["outputs"][0]["data"], X["data"])
    equal([f.client.op("returns_nothing::number", X, some) for some in (False, True)], [None, 7])
    equal([f.client.op("returns_nothing::asks_number", X, some) for some in (False, True)], [-1, 7])
    equal([f.client.op("returns_nothing::asks", X, some) for some in (False, True)], [False, True])
    gone(f.unload("returns_nothing"))


def test_a_second_copy_is_refused(f):
    f.load("version_1.so")
    before = f.state()
    raises(lambda: f.load("version_1.so"), "AlreadyExists", "version")
    raises(lambda: f.load("version_2.so"), "AlreadyExists", "version")
    equal(f.state(), before)
    gone(f.unload("version"))


def test_a_plugin_in_cxx(f):
    f.load("in_cxx")
    for op, want in ("twice", [3, -4]), ("same", [1.5, -2]):
        equal(f.client.op("in_cxx::" + op, {"data": [1.5, -2]}, returns="data")["data"], want, op)
    equal(f.unload("in_cxx")["unmapped"], True, "unmapped")


def test_failing_kernels_are_errors(f):
    for name, op, type_, parts in FAILING:
        f.load(name + ".so")
        before = f.state()
        e = raises(lambda: f.client.op(op, X), type_, *parts)
        where = (e.data.get("op"), e.data.get("key"))
        equal(where, (op, "CPU"), "data.op, data.key")
        equal(f.state(), before, f"after {op}")
        gone(f.unload(name))


def test_numbers_that_have_names_answer_by_name(f):
    f.load("names.so")
    x = {"data": [1.0], "dtype": "float64"}
    equal(f.client.op("names::of", x, "int8"), ["int8", "cpu", "strided", "channels_last"])
    equal(f.client.op("names::list", x), ["float64", "bool", 99])  # 99 is no dtype
    program = {"inputs": {"x": x}, "outputs": ["d2", "f"], "steps": [
        {"op": "names::of", "args": [{"ref": "x"}, "uint8"], "as": ["d", None, None, None]},
        {"op": "names::of", "args": [{"ref": "x"}, {"ref": "d"}], "as": ["d2", None, None, "f"]}]}
    equal(f.client.call("program.run", **program)["outputs"], ["uint8", "channels_last"])
    gone(f.unload("names"))


def test_a_written_argument_is_named(f):
    f.load("written.so")
    before = f.state()
    out = f.client.call("tensor.create", data=[0.0, 0.0, 0.0])
    e = raises(lambda: f.client.op("written::sets_and_fails_", {"tensor": out["tensor"]}),
               "ValueError", "what it must not")
    equal(e.data.get("written"), [out["tensor"]])
    equal(f.client.call("tensor.describe", tensor=out["tensor"])["version"], out["version"] + 1, "version")
    f.client.release(out)
    equal(f.state(), before)
    gone(f.unload("written"))


def test_values_that_are_not_finite(f):
    f.load("not_finite.so")
    out = f.client.op("not_finite::tensor", {"data": [0, 0, 0, 0]}, returns="data")
    equal(out["data"][:3], ["nan", "inf", "-inf"])
    equal(str(float(out["data"][3])), "-0.0")
    equal(str(f.client.op("not_finite::number", X)), "nan")
    gone(f.unload("not_finite"))


def test_overrides_are_reported_and_undone(f):
    before = f.state()
    equal(f.client.op("tutorial::scale", X, 2, returns="data")["data"], [2, 4, 6])
    report = f.load("overrides.so")
    equal(report["dangling"], ["nowhere::dangling"])
    equal(len(report["overrides"]), 1)
    contains(report["overrides"][0], "overrides.c")
    contains(report["overrides"][0], "template.c")
    equal(f.client.op("tutorial::scale", X, 2, returns="data")["data"], [1, 2, 3])
    gone(f.unload("overrides"))
    equal(f.client.op("tutorial::scale", X, 2, returns="data")["data"], [2, 4, 6])
    raises(lambda: f.client.call("plugin.load", path="overrides.so", replace="reject"),
           "AlreadyExists", "overrides.c", "template.c")
    equal(f.state(), before)


def test_one_fallback_for_a_key(f):
    before = f.state()
    f.load("duplicate_fallback_a.so")
    raises(lambda: f.load("duplicate_fallback_b.so"), "AlreadyExists", "TESTING_ONLY_GenericMode",
           "duplicate_fallback_a.c", "duplicate_fallback_b.c")
    gone(f.unload("duplicate_fallback_a"))
    equal(f.state(), before)


def test_records_of_other_releases(f):
    f.load("other_sizes.so")
    for op in "other_sizes::f", "other_sizes::g":
        equal(f.client.op(op, X, returns="data")["data"], X["data"])
    gone(f.unload("other_sizes"))


def test_an_observer_sees_calls(f):
    f.load("observer.so")
    begun, ended = f.client.op("observer::counts", X)
    f.client.op("aten::neg", X, returns="data")
    begun2, ended2 = f.client.op("observer::counts", X)
    equal((begun2 - begun >= 2, ended2 - ended >= 2), (True, True))
    gone(f.unload("observer"))


def test_an_unload_that_the_plugin_refuses(f):
    f.load("failing_on_unload.so")
    before = f.state()
    raises(lambda: f.unload("failing_on_unload"), "PluginError", "failing_on_unload", "77")
    equal(f.state(), before, "it is still there")
    equal(f.client.op("failing_on_unload::asked", X), 1)
    gone(f.unload("failing_on_unload"))


def test_an_unload_waits_for_calls_and_gives_up(f):
    f.load("sleeps.so")
    with f.daemon.connect() as sleeper, f.daemon.gate() as gate:
        sleeper.send("op.call", op="sleeps::until", args=[X, gate.path], **{"return": "data"})
        wait_until(lambda: f.client.call("server.status")["running"], "the call runs")
        e = raises(lambda: f.unload("sleeps", timeout_ms=100), "Busy", "sleeps")
        contains(e.message, "sleeps::until")
        gate.open()
        equal(sleeper.receive()["outputs"][0]["data"], X["data"])
        sleeper.send("op.call", op="sleeps::sleep", args=[X, 300], **{"return": "data"})
        wait_until(lambda: f.client.call("server.status")["running"], "the call runs")
        gone(f.unload("sleeps"))
        equal(sleeper.receive()["outputs"][0]["data"], X["data"], "the call that was waited for")


def test_a_backend_with_live_tensors_stays(f):
    before = f.state()
    f.load("toy_backend.so")
    y = f.client.op("toy::to_toy", X)
    equal((y["device"], y["keys"][-1]), ("toy:0", "toy"))
    equal(f.client.call("tensor.read", tensor=y["tensor"])["data"], X["data"])
    raises(lambda: f.unload("toy_backend"), "Busy", "toy", "1")
    f.client.release(y)
    gone(f.unload("toy_backend"))
    raises(lambda: f.client.call("tensor.create", data=[1], device="toy"), "RuntimeError", "toy")
    equal(f.state(), before)


def test_force_frees_a_backends_tensors(f):
    before = f.state()
    f.load("toy_backend.so")
    y = f.client.op("toy::to_toy", X)
    gone(f.unload("toy_backend", force=True))
    raises(lambda: f.client.call("tensor.read", tensor=y["tensor"]), "RuntimeError",
           "backend toy was unloaded")
    f.client.release(y)
    equal(f.state(), before)


def test_a_reload_without_adopt_says_what_it_costs(f):
    """Memory that the new code does not take over is gone, and does not keep the new code loaded."""
    before = f.state()
    f.load("faulting_device.so")
    lost = [f.client.op("myfault::to", X)["tensor"] for _ in range(2)]
    answer = f.client.call("plugin.reload", plugin="faulting_device")
    equal([w for w in warnings(answer) if "storage" in w],
          ["plugin 'faulting_device': 2 storages of its device 'faultdev' went with the code before it, since it has no "
           "'adopt'"], "warnings of the reload")
    raises(lambda: f.client.call("tensor.read", tensor=lost[0]), "RuntimeError", "backend faultdev was unloaded")
    new = f.client.op("myfault::to", X)["tensor"]
    raises(lambda: f.unload("faulting_device"), "Busy", "1 storage of its backend 'faultdev' is alive")
    f.client.call("tensor.release", tensors=[new])
    gone(f.unload("faulting_device"))
    f.client.call("tensor.release", tensors=lost)
    equal(f.state(), before)


def test_force_has_the_device_release_its_memory(f):
    """Before its on_unload, which fails if blocks are left; and no old pointer reaches the new code."""
    before = f.state()
    f.load("faulting_device.so")
    old = f.client.op("myfault::to", X)
    kept = f.client.op("myfault::to", {"data": [0] * 9})
    bytes_ = f.client.call("server.status")["bytes"]
    f.client.release(kept)
    raises(lambda: f.unload("faulting_device"), "Busy", "1 storage of its backend 'faultdev' is alive")
    gone(f.unload("faulting_device", force=True))
    equal(f.client.call("server.status")["bytes"], bytes_ - 12 - 36, "bytes")
    for again in False, True:
        if again:
            f.load("faulting_device.so")
        for op in "myfault::add_one", "aten::neg", "aten::add.Tensor":
            args = [{"tensor": old["tensor"]}] * (2 if "add." in op else 1)
            what = "NotFound" if "myfault" in op and not again else "RuntimeError"
            e = raises(lambda: f.client.op(op, *args), what)
            if what == "RuntimeError":
                contains(e.message, "backend faultdev was unloaded")
        raises(lambda: f.client.call("tensor.read", tensor=old["tensor"]), "RuntimeError",
               "backend faultdev was unloaded")
    new = f.client.op("myfault::add_one", {"tensor": f.client.op("myfault::to", X)["tensor"]})
    equal(f.client.call("tensor.read", tensor=new["tensor"])["data"], [2, 3, 4], "on the new device")
    f.client.release(old)
    gone(f.unload("faulting_device", force=True))
    for handle in f.client.call("tensor.list")["tensors"]:
        f.client.call("tensor.release", tensors=[handle["tensor"]])
    equal(f.state(), before)


def test_a_reload_and_the_status_say_what_stayed_mapped(f):
    for name, reason in ("starts_thread", "pthread_create"), ("failing_on_unload", "failed with 77"):
        f.load(name + ".so")
        old = f.client.call("plugin.reload", plugin=name)["old"]
        equal((old["drained"], old["unmapped"]), (True, False), name)
        contains(old["kept_because"], reason)
        for kept in f.client.call("server.status")["kept"], \
                [p for p in f.client.call("plugin.list")["plugins"] if p["kept"]]:
            why = [p["kept_because"] for p in kept if p["generation"] == old["generation"]]
            equal(why, [old["kept_because"]], name)
        for words in ("plugin", "list"), ("status",):
            contains(f.ctl(*words), old["kept_because"], words)
        equal(f.unload(name, force=True)["unmapped"], False, "forced out, and kept")
    f.load("version_1.so")
    equal([(o["drained"], o["unmapped"], o.get("kept_because")) for o in
           [f.client.call("plugin.reload", plugin="version")["old"]]], [(True, True, None)])
    gone(f.unload("version"))


def test_a_link_is_followed_at_each_load(f):
    link = os.path.join(f.daemon.dir, "link.so")
    for version in 1, 2, 1:
        if os.path.lexists(link):
            os.unlink(link)
        os.symlink(os.path.join(BUILD, "tests", "plugins", f"version_{version}.so"), link)
        if f.client.call("plugin.list")["plugins"][-1]["path"] == link:
            f.client.call("plugin.reload", plugin="version")
        else:
            f.ctl("plugin", "load", "./link.so", cwd=f.daemon.dir)
        equal(f.client.op("version::value", X), version)
    gone(f.unload("version"))


def test_a_file_is_described_without_a_daemon(f):
    for name in "version_1", "starts_thread":
        path = os.path.join(BUILD, "tests", "plugins", name + ".so")
        equal(run([os.path.join(BUILD, "dispatchd"), "--describe", path]), f.ctl("plugin", "describe", path))
    done = subprocess.run([os.path.join(BUILD, "dispatchd"), "--describe", __file__], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    equal((done.returncode, done.stdout), (1, ""))
    contains(done.stderr, "is not an ELF file")


def test_a_bare_name_of_a_file_in_the_folder_is_explained(f):
    """Names without a '/' are looked for in the plugin path only: the error says so, and what was tried."""
    shutil.copy(os.path.join(BUILD, "tests", "plugins", "version_1.so"), os.path.join(f.daemon.dir, "mine.so"))
    ctl = [os.path.join(BUILD, "dispatchctl"), "--socket", f.daemon.socket, "plugin"]
    dispatchd = os.path.join(BUILD, "dispatchd")
    path = os.path.join(BUILD, "tests", "plugins")
    for command in [*ctl, "load"], [*ctl, "describe"], [dispatchd, "--plugin-path", path, "--describe"], \
            [dispatchd, "--no-plugins", "--socket", "./own.sock", "--plugin-path", path, "--plugin"]:
        done = subprocess.run([*command, "mine.so"], text=True, timeout=60, cwd=f.daemon.dir, stderr=subprocess.PIPE,
                              stdout=subprocess.PIPE)
        equal((done.returncode, done.stdout), (1, ""), command)
        for part in "'mine.so.so'", "'mine.so'", "in the plugin path", "a path needs a '/': './mine.so'":
            contains(done.stderr, part)
        done = subprocess.run([*command, "yours"], text=True, timeout=60, cwd=f.daemon.dir, stderr=subprocess.PIPE,
                              stdout=subprocess.PIPE)
        equal((done.returncode, "'yours.so'" in done.stderr, "needs a '/'" in done.stderr), (1, True, False), command)
    shown = run([dispatchd, "--describe", "./mine.so"], cwd=f.daemon.dir)
    equal(shown, f.ctl("plugin", "describe", "./mine.so", cwd=f.daemon.dir))
    equal(shown, run([dispatchd, "--plugin-path", f.daemon.dir, "--describe", "mine"]))


def test_a_drained_generation_is_gone_from_the_list_at_once(f):
    f.load("sleeps.so")
    with f.daemon.connect() as sleeper, f.daemon.gate() as gate:
        sleeper.send("op.call", op="sleeps::until", args=[X, gate.path], **{"return": "data"})
        wait_until(lambda: f.client.call("plugin.list")["plugins"][-1]["calls_running"] == 1, "a call")
        f.client.call("plugin.reload", plugin="sleeps")
        equal([p["draining"] for p in f.client.call("plugin.list")["plugins"] if p["plugin"] == "sleeps"],
              [True, False])
        gate.open()
        sleeper.receive()
        equal([p["draining"] for p in f.client.call("plugin.list")["plugins"] if p["plugin"] == "sleeps"], [False])
    gone(f.unload("sleeps"))


def test_a_file_that_kills_its_loader_is_an_error():
    for how, part in ("abort", "died of signal 6 (SIGABRT)"), ("exit", "with status 0"), \
            ("sleep", "longer than probe_ms"):
        with TestDaemon("--no-plugins", "--plugin-path", os.path.join(BUILD, "tests", "plugins"),
                        env={"DIES_BY": how}) as daemon, daemon.connect() as d:
            raises(lambda: d.call("plugin.load", path="dies_on_load"), "PluginError",
                   "tests/plugins/dies_on_load.so", part)
            equal(d.call("plugin.list")["plugins"], [])


def test_what_cannot_be_unmapped_says_why(f):
    for name, reason in ("unique_symbol", "unique"), ("resident", "resident"), \
            ("starts_thread", "thread"), ("puts_environment", "the environment may keep strings"):
        f.load(name + ".so")
        report = f.unload(name)  # the next load copies the environment
        equal(report["unmapped"], False, name)
        contains(report["kept_because"].lower(), reason, name)


def test_unique_symbols_of_std_need_their_own_flag(f):
    f.load("std_symbols.so")
    equal(f.client.op("std_symbols::digits", 123), 3)
    report = f.unload("std_symbols")
    equal(report["unmapped"], False)
    contains(report["kept_because"], "-fno-gnu-unique")
    contains(report["kept_because"], "-fvisibility=hidden does not")
    f.load("std_not_unique.so")
    equal(f.client.op("std_not_unique::digits", 1234), 4)
    gone(f.unload("std_not_unique"))


def test_a_library_that_stays_does_not_keep_the_plugin(f):
    """The warning of libgomp says what stays: not the plugin."""
    warnings = f.client.call("plugin.describe", path="openmp")["warnings"]
    equal([w for w in warnings if "libgomp" in w],
          ["needs 'libgomp.so.1', whose threads never end: that library stays mapped, the plugin can go"])
    f.load("openmp.so")
    gone(f.unload("openmp"))


def test_registrations_commute(f):
    """Two plugins that share no kernel give one dump in either order."""
    dumps = set()
    for order in ("version_1.so", "not_finite.so"), ("not_finite.so", "version_1.so"):
        for name in order:
            f.load(name)
        text = f.client.call("registry.dump")["text"]
        for report in f.client.call("plugin.list")["plugins"]:  # generations are of this load
            text = text.replace(f" {report['generation']} ", " G ")
        dumps.add(text)
        gone(f.unload("version"))
        gone(f.unload("not_finite"))
    equal(len(dumps), 1, "different dumps")


def test_many_clients_while_plugins_come_and_go(f):
    failures, stop = [], threading.Event()

    def keep_calling():
        try:
            with f.daemon.connect() as d:
                while not stop.is_set():
                    d.op("aten::add.Tensor", X, 1, returns="data")
                    try:
                        equal(d.op("version::value", X), 1)
                    except dispatchd.Error as e:
                        equal(e.type, "NotFound", e.message)
        except Exception as e:
            failures.append(e)

    threads = [threading.Thread(target=keep_calling) for _ in range(3)]
    for t in threads:
        t.start()
    try:
        for _ in range(10 if SANITIZED else 50):
            f.load("version_1.so")
            gone(f.unload("version"))
    finally:
        stop.set()
        for t in threads:
            t.join()
    equal(failures, [])


def test_one_element_past_the_end(_):
    """Under the address sanitizer, and only there, this must be seen: by a daemon of its own."""
    if "address" not in os.path.basename(BUILD) and "address" not in os.environ.get("SANITIZE", ""):
        return
    daemon = TestDaemon("--plugin-path", os.path.join(BUILD, "tests", "plugins"))
    with daemon.connect() as d:
        d.call("plugin.load", path="writes_past_end.so")
        try:
            d.op("writes_past_end::f", X)
        except ConnectionError:
            pass
    daemon.process.wait(60)
    contains(daemon.log(), "AddressSanitizer")
    shutil.rmtree(daemon.dir)


def nothing_is_left(f):
    f.client.close()
    f.daemon.finish()


main(Fixture, nothing_is_left)
