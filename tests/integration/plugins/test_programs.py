"""test_programs.py -- plugins that build and run programs (tests/plugins/programs.c)."""

import os

from harness import BUILD, equal, main, raises
from daemon import TestDaemon

PLUGIN = os.path.join(BUILD, "tests", "plugins", "programs.so")


class Fixture(TestDaemon):
    def __init__(self):
        super().__init__()
        self.d = self.connect()
        self.d.call("plugin.load", path=PLUGIN)

    def run(self, data):
        answer = self.d.call("op.call", op="programs::run_kept", args=[{"data": data}], **{"return": "data"})
        return [o["data"] if isinstance(o, dict) else o for o in answer["outputs"]]

    def write(self, t, k, op):
        return self.d.call("op.call", op="programs::write_", args=[t, k, op])["outputs"]

    def data(self, t):
        return self.d.call("tensor.read", tensor=t["tensor"])["data"]


def test_a_kept_program_runs_in_every_call(f):
    equal(f.run([1, 2, 3]), [15, 1, 1])
    equal(f.run([[1, 2], [3, 4]]), [[10, 14], 2, 1])
    equal(f.run(5), [11, 0, 1])


def test_a_program_of_one_call_writes_to_the_argument(f):
    x = {"tensor": f.d.call("tensor.create", data=[1, 2])["tensor"]}
    for i in range(3):
        out, = f.write(x, 3, "aten::mul_")
        equal(out["tensor"], x["tensor"])
    equal(f.data(x), [27, 54])


def test_errors_name_the_steps(f):
    x = {"tensor": f.d.call("tensor.create", data=[1, 2], dtype="int64")["tensor"]}
    raises(lambda: f.write(x, 3, "aten::nothing_"), "NotFound", "steps 4 and 6: no operator 'aten::nothing_'")
    raises(lambda: f.write(x, 3, "aten::mul"), "RuntimeError", "the program is not as it was built")
    raises(lambda: f.write(x, 1.5, "aten::mul_"), "RuntimeError", "steps 4 and 6: result type float32")
    equal(f.data(x), [1, 2])


def test_the_plugin_can_be_unloaded_and_loaded(f):
    for _ in range(3):
        equal(f.run([1, 2, 3])[2], 1)
        f.d.call("plugin.unload", plugin="programs")
        f.d.call("plugin.load", path=PLUGIN)
    f.run([1, 2, 3])


main(Fixture)
