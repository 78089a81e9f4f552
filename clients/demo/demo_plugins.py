"""demo_plugins.py -- part 2: loads, reloads and unloads operators and a backend while clients
call."""

import os
import shutil
import threading
import time

from demo import DIR, HERE, build_plugin, check, connect, ctl, ctl_json, say, title

OLD, NEW = "= a + b;", "= a + b + 100;"
ON_CPU = ['[1,2,3]', '[10,20,30]']
ON_NPU = ['{"data":[1,2,3],"device":"npu"}', '{"data":[10,20,30],"device":"npu"}']


def copy_source(name):
    """Copy a plugin's source to the demo's directory, to be built and changed; return its line
    count."""
    with open(shutil.copy(os.path.join(HERE, name), DIR)) as f:
        return len(f.readlines())


def hot_load():
    say(f"myadd.c, {copy_source('myadd.c')} lines of C, defines an operator myops::myadd and a kernel for "
        "it. It includes one header and links nothing of the daemon's. It is built and loaded while "
        "the daemon runs:")
    print()
    build_plugin("myadd")
    ctl("plugin", "load", "./myadd.so")
    ctl("call", "myops::myadd", *ON_CPU, "--trace")
    with connect() as d:
        check(d.op("myops::myadd", {"data": [1, 2, 3]}, {"data": [10, 20, 30]}, returns="data")["data"]
              == [11, 22, 33], "1+10, 2+20, 3+30")


def new_backend():
    print()
    say("A second plugin names a backend that the daemon has never heard of, npu, and brings its own "
        "myadd. The dispatcher chooses by the tensors:")
    print()
    copy_source("npu.c")
    build_plugin("npu")
    ctl("plugin", "load", "./npu.so")
    ctl("tensor", "create", "[1,2,3]", "--device", "npu")
    ctl("explain", "myops::myadd", *ON_CPU)
    print()
    ctl("explain", "myops::myadd", *ON_NPU)
    print()
    ctl("call", "myops::myadd", *ON_NPU, "--trace")
    with connect() as d:
        for device, plugin in ("cpu", "myadd"), ("npu", "npu"):
            answer = d.call("op.call", op="myops::myadd", trace=True, **{"return": "data"}, args=[
                {"data": [1, 2, 3], "device": device}, {"data": [10, 20, 30], "device": device}])
            check(answer["outputs"][0]["data"] == [11, 22, 33]
                  and answer["outputs"][0]["device"].startswith(device)
                  and answer["trace"][-1]["plugin"] == plugin,
                  f"on {device} the kernel of plugin {plugin} ran")


class Caller(threading.Thread):
    """A client that calls myops::myadd without pause and stores the results."""

    def __init__(self):
        super().__init__()
        self.results, self.failures, self.stop = [], [], False

    def run(self):
        with connect() as d:
            a, b = (d.call("tensor.create", data=[float(x)]) for x in (1, 10))
            while not self.stop:
                try:
                    out = d.op("myops::myadd", {"tensor": a["tensor"]}, {"tensor": b["tensor"]},
                               returns="data")
                    self.results.append(out["data"][0])
                except Exception as e:
                    self.failures.append(e)
                    break
            d.release(a, b)

    def wait_for(self, n):
        """Wait until `n` more calls have been answered."""
        end = len(self.results) + n
        while len(self.results) < end and self.is_alive():
            time.sleep(0.001)


def reload_under_load():
    print()
    say("Now the first plugin is changed, rebuilt and reloaded while another client keeps calling it:")
    print()
    with open(os.path.join(HERE, "myadd.c")) as old, open(os.path.join(DIR, "myadd.c"), "w") as new:
        new.write(old.read().replace(OLD, NEW))
    caller = Caller()
    caller.start()
    try:
        caller.wait_for(200)
        print(f"   - {OLD}\n   + {NEW}", flush=True)
        build_plugin("myadd")
        ctl("plugin", "reload", "myadd")
        caller.wait_for(200)
    finally:
        caller.stop = True
        caller.join()
    old, new = caller.results.count(11), caller.results.count(111)
    print(f"\n   {len(caller.results)} calls meanwhile: {old} answered 11 (old code), {new} answered 111 "
          f"(new code), {len(caller.failures)} failed")
    check(not caller.failures, "no call failed" if not caller.failures else f"{caller.failures}")
    check(old > 0 and new > 0 and caller.results == [11] * old + [111] * new,
          "the results change from old to new once, and nothing else came back")


def mapped():
    """Return the lines of the daemon's memory map that belong to the two plugins."""
    with open(f"/proc/{os.environ['DEMO_PID']}/maps") as f:
        return [line for line in f if "/myadd" in line or "/npu" in line]


def unload():
    print()
    say("Both go again. The daemon proves that their code has left its memory:")
    print()
    check(len(mapped()) > 0, f"before, /proc/PID/maps has {len(mapped())} lines of the two plugins")
    for name in "npu", "myadd":
        report = ctl_json("plugin", "unload", name)
        check(report["unmapped"] is True and "kept_because" not in report,
              f"{name}: unmapped after {report['drained_ms']:.2f} ms of draining")
    check(mapped() == [], "after, it has none")
    with connect() as d:
        check(d.call("registry.list", namespace="myops")["ops"] == [], "no operator myops::* is left")
        check(d.call("server.status")["tensors"] == 0, "no tensor is left")


title("2. Plugins come and go while the daemon runs")
hot_load()
new_backend()
reload_under_load()
unload()
