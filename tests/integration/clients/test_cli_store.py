"""test_cli_store.py -- dispatchctl's verbs for tensors that stay: save, load, name, unlink, names."""

import os
import shutil
import subprocess
import tempfile

from harness import BUILD, ROOT, contains, equal, main
from daemon import TestDaemon


class Fixture(TestDaemon):
    def __init__(self):
        self.data = tempfile.mkdtemp(prefix="dispatchd-data-")
        super().__init__("--data-path", self.data)
        self.d = self.connect()
        self.key = self.d.call("server.hello")["session_key"]

    def ctl(self, *words, status=0):
        """Run dispatchctl in the session of `d`; returns (standard output, standard error)."""
        done = subprocess.run([os.path.join(BUILD, "dispatchctl"), *words], capture_output=True, text=True, timeout=120,
                              env={**os.environ, "DISPATCHD_SOCKET": self.socket, "DISPATCHD_SESSION": self.key})
        equal(done.returncode, status, f"exit code of {words}; {done.stdout}{done.stderr}")
        return done.stdout, done.stderr

    def table(self, *words):
        return [line.split() for line in self.ctl(*words)[0].splitlines()]


def finish(f):
    f.d.close()
    f.finish()
    shutil.rmtree(f.data)


def test_names(f):
    t = str(f.d.call("tensor.create", data=[1, 2])["tensor"])
    equal(f.table("name", t, "w"), [["name", "w"]])
    equal(f.table("names"), [["name", "dtype", "shape", "device"], ["w", "float32", "2", "cpu"]])
    contains(f.ctl("name", t, "w", status=1)[1], "AlreadyExists: the name 'w' is taken", "standard error")
    equal(f.table("unlink", "w"), [["name", "w"]])
    equal(f.table("names"), [["name", "dtype", "shape", "device"]])
    f.d.call("tensor.release", all=True)


def test_save_and_load(f):
    w = f.d.call("tensor.create", data=[[1, 2], [3, 4]], name="layer.w")["tensor"]
    f.ctl("name", str(f.d.call("tensor.create", data=[5])["tensor"]), "layer.b")
    equal(f.table("save", "m", "--named", "layer.w", "layer.b")[0], ["tensors", "2"])
    equal(f.table("save", "n", f"a={w}", f"b=c={w}")[0], ["tensors", "2"])
    rows = f.table("load", "m", "--prefix", "layer.w")
    equal((rows[0], rows[1][0], rows[1][2:]), (["name", "tensor", "dtype", "shape", "device"], "layer.w", ["float32", "2,", "2", "cpu"]))
    equal([row[0] for row in f.table("load", "n", "--name")], ["name", "a", "b=c"])
    equal([row[0] for row in f.table("names")], ["name", "a", "b=c", "layer.b", "layer.w"])
    f.ctl("unlink", "a")
    contains(f.ctl("load", "n", "--name", status=1)[1], "the name 'b=c' is taken", "standard error")
    equal([row[0] for row in f.table("names")], ["name", "b=c", "layer.b", "layer.w"], "'a' was not named alone")
    for name in ("b=c", "layer.b", "layer.w"):
        f.ctl("unlink", name)
    f.d.call("tensor.release", all=True)


def test_a_progress_bar(f):
    shutil.copy(os.path.join(ROOT, "tests", "data", "digits_cnn.safetensors"), f.data)
    out, bar = f.ctl("load", "digits_cnn.safetensors", "--progress")
    equal(len(out.splitlines()), 14)
    equal(bar.endswith("[##############################] 100 % of 0.2 MiB\n"), True, bar)
    equal(f.ctl("load", "digits_cnn.safetensors")[1], "", "without a terminal")
    f.d.call("tensor.release", all=True)


def test_what_the_store_has_done(f):
    before = dict(f.table("store"))
    equal(before["data_path"], f.data)
    w = f.d.call("tensor.create", data=[1])["tensor"]
    f.ctl("save", "one", f"w={w}")
    f.d.call("tensor.release", all=True)
    after = dict(f.table("store"))
    equal((int(after["saves"]), after["loads"]), (int(before["saves"]) + 1, before["loads"]))


def test_wrong_words(f):
    for words, part in ((("save", "m"), "usage"), (("save", "m", "w"), "'w' is not NAME=HANDLE"),
                        (("save", "m", "w=x"), "w wants a whole number"), (("load",), "usage"), (("name", "x", "y"), "whole number"),
                        (("unlink",), "usage"), (("names", "x"), "usage"), (("store", "x"), "usage")):
        contains(f.ctl(*words, status=2)[1], part, "standard error")
    contains(f.ctl("load", "../x", status=1)[1], "PermissionError: path '../x'", "standard error")


main(Fixture, finish)
