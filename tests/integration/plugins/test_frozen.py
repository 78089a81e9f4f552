"""test_frozen.py -- plugins as they were built with the headers of earlier releases: today's host loads
them and answers as it did (tests/frozen)."""

import os
import platform

from harness import ROOT, equal, less, main, raises
from daemon import TestDaemon

X = {"data": [[1, 2], [3, 4]]}


def path(release):
    return f"{ROOT}/tests/frozen/abi_{release}-{platform.machine()}.so"


def data(client, op, *args, **kwargs):
    answer = client.call("op.call", op=op, args=list(args), kwargs=kwargs, **{"return": "data"})
    return [o["data"] if isinstance(o, dict) and "data" in o else o for o in answer["outputs"]]


def test_the_first_interface_is_refused_by_name():
    if not os.path.exists(path("1_0")):
        print(f"none was built for {platform.machine()}")
        return
    with TestDaemon() as daemon, daemon.connect() as d:
        equal(d.call("plugin.describe", path=path("1_0"))["abi"], {"major": 1, "minor": 0, "target": 0, "draft": 0})
        raises(lambda: d.call("plugin.load", path=path("1_0")), "AbiMismatch", "plugin 'frozen'", "interface 1.0", "this host has 2.0",
               "build it again")


def test_abi_2_0():
    if not os.path.exists(path("2_0")):
        print(f"none was built for {platform.machine()}")
        return
    daemon = TestDaemon()
    with daemon.connect() as d:
        dump = d.call("registry.dump")["text"]
        manifest = d.call("plugin.describe", path=path("2_0"))
        equal((manifest["plugin"], manifest["abi"]), ("frozen", d.call("server.hello")["abi"] | {"target": 0}))
        loaded = d.call("plugin.load", path=path("2_0"))
        equal((loaded["defs"], loaded["backends"]), (7, ["frozen"]))
        equal(data(d, "frozen::scale", X), [[[2, 4], [6, 8]]])
        equal(data(d, "frozen::scale", X, -0.5), [[[-0.5, -1], [-1.5, -2]]])
        equal(data(d, "frozen::add_", X, 5), [[[6, 7], [8, 9]]])
        equal(data(d, "frozen::six_times", X), [[[6, 12], [18, 24]]])
        equal(data(d, "frozen::range", 5000), [list(range(5000))])
        equal(data(d, "frozen::describe", X, [7, 8]), [X["data"], [2, -1, 1], True])
        equal(data(d, "frozen::describe", X, [], "abc", s=9), [X["data"], [0, 3, 9], True])
        raises(lambda: d.op("frozen::scale", {"data": [1], "dtype": "int64"}), "TypeError",
               "expected float32 but got int64")
        moved = d.op("frozen::move", X)
        equal((moved["device"], d.call("tensor.read", tensor=moved["tensor"])["data"]),
              ("frozen:0", X["data"]))
        raises(lambda: d.call("plugin.unload", plugin="frozen"), "Busy", "frozen")
        d.release(moved)
        first, second = data(d, "frozen::observed", X), data(d, "frozen::observed", X)
        less(0, first[0])
        equal([b - a for a, b in zip(first, second)], [1, 1], "calls begun and ended meanwhile")
        trace = d.call("op.call", op="frozen::scale", args=[X], trace=True, **{"return": "data"})["trace"]
        equal([s["key"] for s in trace], ["AutogradCPU", "CPU"])
        equal(d.call("plugin.unload", plugin="frozen")["unmapped"], True)
        equal(d.call("registry.dump")["text"], dump)
    daemon.finish()


if __name__ == "__main__":
    main()
