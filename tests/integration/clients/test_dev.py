"""test_dev.py -- dispatchctl dev: a verdict at each save, and only good code in the daemon of --socket."""

import json
import os
import select
import shutil
import signal
import subprocess
import time

from harness import BUILD, ROOT, contains, equal, less, main, wait_until
from daemon import TestDaemon

CTL = os.path.join(BUILD, "dispatchctl")
LIMIT = 120
RIGHT, WRONG, CRASHES = "= -*at(&x, i);", "= 2 * *at(&x, i);", "= *(volatile float *)x.data;"


def environment(**env):
    kept = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "CFLAGS", "DISPATCHD_SOCKET")}
    return {**kept, "PATH": BUILD + os.pathsep + os.environ["PATH"], "DISPATCHD_CFLAGS": f"-I{ROOT}/libdispatch/include", **env}


class Dev:
    """A running `dispatchctl dev`, whose folder of temporary files is empty when it has ended."""

    def __init__(self, *words, folder, text=False):
        self.tmp, self.folder = folder + "-tmp", folder
        os.makedirs(self.tmp, exist_ok=True)
        self.errors = open(os.path.join(self.tmp + "-errors"), "w+")
        self.rest = b""
        self.process = subprocess.Popen([CTL, "dev", *([] if text else ["--json"]), *words], stdout=subprocess.PIPE,
                                        stderr=self.errors, cwd=os.path.dirname(folder), env=environment(TMPDIR=self.tmp))

    def line(self):
        end = time.monotonic() + LIMIT
        while b"\n" not in self.rest:
            ready = select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0]
            more = os.read(self.process.stdout.fileno(), 65536) if ready else b""
            if not more:
                raise AssertionError(f"no line after {self.rest!r}; standard error: {self.said()}")
            self.rest += more
        line, self.rest = self.rest.split(b"\n", 1)
        return line.decode()

    def verdict(self):
        """(verdict, {kind: number of calls})"""
        found = json.loads(self.line())
        return found["verdict"], found.get("report", {}).get("counts", {})

    def said(self):
        """Standard error."""
        self.errors.seek(0)
        return self.errors.read()

    def save(self, old, new):
        """Replace text in the plugin's source, as an editor does that writes a new file."""
        path = os.path.join(self.folder, os.path.basename(self.folder) + ".c")
        with open(path) as f:
            text = f.read()
        contains(text, old)
        with open(path + "~", "w") as f:
            f.write(text.replace(old, new, 1))
        os.replace(path + "~", path)

    def end(self, sig=signal.SIGINT):
        """The exit code; nothing is left of the daemons."""
        self.process.send_signal(sig)
        code = self.process.wait(LIMIT)
        self.process.stdout.close()
        equal(os.listdir(self.tmp), [], "files that are left")
        return code

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.errors.close()


class Fixture(TestDaemon):
    def new(self, kind, name, *words):
        """The folder of a new plugin."""
        folder = os.path.join(self.dir, name)
        subprocess.run([CTL, "new", kind, name, folder, *words], check=True, capture_output=True)
        return folder

    def refused(self, *words, status=2):
        done = subprocess.run([CTL, "dev", *words], capture_output=True, text=True, env=environment(), timeout=LIMIT)
        equal((done.returncode, done.stdout.startswith("watching")), (status, False), done.stdout + done.stderr)
        return done.stderr


def test_an_error_then_a_wrong_kernel_then_a_right_one(f):
    folder = f.new("backend", "steps")
    with Dev(folder, folder=folder) as dev:
        word, first = dev.verdict()
        equal((word, sorted(first)), ("ok", ["fell back", "pass"]))
        dev.save(RIGHT, "= -*att(&x, i);")
        equal(dev.verdict(), ("not built", {}))
        contains(dev.said(), "steps.c:")
        contains(dev.said(), "att")
        dev.save("= -*att(&x, i);", WRONG)
        word, counts = dev.verdict()
        equal((word, "differs" in counts), ("not ok", True), str(counts))
        dev.save(WRONG, RIGHT)
        equal(dev.verdict(), ("ok", first))
        equal(dev.end(), 0)


def test_a_kernel_that_crashes(f):
    folder = f.new("backend", "falling")
    with Dev(folder, folder=folder) as dev:
        equal(dev.verdict()[0], "ok")
        dev.save(RIGHT, CRASHES)
        word, counts = dev.verdict()
        equal((word, "crashed" in counts), ("not ok", True), str(counts))
        dev.save(CRASHES, RIGHT)
        equal(dev.verdict()[0], "ok")
        dev.save(RIGHT, WRONG)
        equal(dev.verdict()[0], "not ok")
        equal(dev.end(signal.SIGTERM), 1)


def test_a_kernel_that_hangs(f):
    """One call that hangs ends the round, and the next round has a new daemon."""
    folder = f.new("backend", "hanging")
    with Dev(folder, folder=folder) as dev:
        equal(dev.verdict()[0], "ok")
        dev.save(RIGHT, RIGHT + " for (volatile int i = 0; i == 0;);")
        word, counts = dev.verdict()
        equal((word, counts.get("hangs")), ("not ok", 1), str(counts))
        dev.save(" for (volatile int i = 0; i == 0;);", "")
        equal(dev.verdict()[0], "ok")
        equal(dev.end(), 0)


def test_an_end_in_the_middle_of_a_round(f):
    """Ctrl-C ends the calls: a slow kernel writes a byte for each."""
    folder = f.new("backend", "slow")
    calls = os.path.join(f.dir, "calls")
    count = f'{{ int fd = open("{calls}", O_WRONLY | O_APPEND | O_CREAT, 0600); write(fd, "x", 1); close(fd); usleep(50000); }}'
    with Dev("--op", "neg.out", folder, folder=folder) as dev:
        equal(dev.verdict()[0], "ok")
        dev.save("#include <stdlib.h>", "#include <fcntl.h>\n#include <stdlib.h>\n#include <unistd.h>")
        equal(dev.verdict()[0], "ok")
        dev.save("    DP_VIEW(y, out);", f"    if (write(-1, \"\", 0) < 1)\n        {count}\n    DP_VIEW(y, out);")
        equal(dev.verdict()[0], "ok")
        whole = os.path.getsize(calls)
        less(10, whole, "calls of a whole round")
        os.unlink(calls)
        dev.save("usleep(50000)", "usleep(50001)")
        wait_until(lambda: os.path.exists(calls), "the next round calls the kernel", LIMIT)
        equal(dev.end(), 1)
        less(os.path.getsize(calls), whole, "calls of a round that was ended")


def test_every_kind_of_plugin(f):
    for name, right, wrong, *words in (("host_one", "= -*(const", "= 2 * *(const", "backend", "--memory=host"),
                                       ("op_one", "= factor *", "= 2 * factor *", "op"),
                                       ("layer_one", "    if (rc < 0)\n", "    rc = dp_fail(call->ctx, DP_ERUNTIME, \"no\");\n    if (rc < 0)\n", "layer")):
        folder = f.new(words[0], name, *words[1:])
        with Dev(folder, folder=folder) as dev:
            equal(dev.verdict()[0], "ok", name)
            dev.save(right, wrong)
            word, counts = dev.verdict()
            equal((word, "differs" in counts), ("not ok", True), f"{name}: {counts}")
            dev.save(wrong, right)
            equal(dev.verdict()[0], "ok", name)
            equal(dev.end(), 0)


def test_a_daemon_gets_good_code_alone(f):
    folder = f.new("op", "kept")
    with Dev("--socket", f.socket, folder, folder=folder) as dev, f.connect() as d:
        def scaled():
            return d.op("kept::scale", {"data": [1.0, 2.0]}, 10.0, returns="data")["data"]

        equal(dev.verdict()[0], "ok")
        equal(json.loads(dev.line())["plugin"], "kept")
        dev.save("= factor *", "= 1 * factor *")
        equal(dev.verdict()[0], "ok")
        good = json.loads(dev.line())["generation"]
        dev.save("= 1 * factor *", "= 3 * factor *")
        equal(dev.verdict()[0], "not ok")
        equal((scaled(), dev.end()), ([10, 20], 1))
        there = [p["generation"] for p in d.call("plugin.list")["plugins"] if p["plugin"] == "kept"]
        equal((scaled(), there), ([10, 20], [good]), "the good code after the end")
        d.call("plugin.unload", plugin="kept")


def test_a_daemon_that_has_the_plugin_gets_it_again(f):
    folder = f.new("op", "again")
    subprocess.run(["make", "-s", "-C", folder], check=True, env=environment(), capture_output=True)
    with f.connect() as d:
        d.call("plugin.load", path=os.path.join(folder, "again.so"))
        with Dev("--socket", f.socket, folder, folder=folder, text=True) as dev:
            lines = [dev.line() for _ in range(3)]
            equal((lines[0], lines[1][:4]), (f"watching {folder}; Ctrl-C ends it", "ok: "))
            contains(lines[2], f"again is in the daemon at {f.socket}, generation ")
            equal(dev.end(), 0)
        equal(f.loaded(d).count("again"), 1)
        d.call("plugin.unload", plugin="again")


def test_a_file_without_a_makefile(f):
    folder = f.new("backend", "filed")
    apart = os.path.join(f.dir, "apart")
    os.mkdir(apart)
    build = ["cc", "-shared", "-fPIC", "-fvisibility=hidden", f"-I{ROOT}/libdispatch/include", os.path.join(folder, "filed.c"), "-o"]
    file = os.path.join(apart, "filed.so")
    subprocess.run([*build, file], check=True)
    with Dev(file, "--op", "neg", folder=folder, text=True) as dev:
        contains(dev.line(), f"watching {apart};")
        contains(dev.line(), "ok: filed beside cpu: ")
        dev.save(RIGHT, WRONG)
        open(os.path.join(apart, "notes"), "w").close()  # another file: no line
        subprocess.run([*build, file + ".new"], check=True)
        os.replace(file + ".new", file)
        lines = [dev.line()]
        while not lines[-1].startswith("not ok: filed beside cpu: "):
            lines.append(dev.line())
        contains("\n".join(lines), "differs  aten::neg float32, ")
        equal(dev.end(), 1)


def test_a_text_that_no_operator_has(f):
    """A verdict about no call at all is not a good one."""
    folder = f.new("backend", "choosy")
    with Dev("--op", "nothing", folder, folder=folder, text=True) as dev:
        dev.line()
        contains(dev.line(), "not ok: no operator for which the plugin has a kernel contains 'nothing'  (")
        equal(dev.end(), 1)


def test_a_plugin_that_does_not_load(f):
    folder = f.new("backend", "loading")
    bad = "static int on_load(dp_ctx *ctx) { return dp_fail(ctx, DP_ERUNTIME, \"no such chip\"); }\nDP_ON_LOAD(on_load)\n"
    with Dev(folder, folder=folder) as dev:
        equal(dev.verdict()[0], "ok")
        dev.save("/* -- kernels", bad + "/* -- kernels")
        equal(dev.verdict(), ("not loaded", {}))
        contains(dev.said(), "no such chip")
        dev.save(bad, "")
        equal(dev.verdict()[0], "ok")
        equal(dev.end(), 0)


def test_a_plugin_of_the_cpu_without_a_reference(f):
    folder = f.new("op", "lonely")
    os.unlink(os.path.join(folder, "reference.c"))
    with Dev(folder, folder=folder, text=True) as dev:
        dev.line()
        contains(dev.line(), "ok: loaded; a plugin of the CPU is compared with reference.so, which is not there")
        equal(dev.end(), 0)


def test_a_reference_that_changes(f):
    folder = f.new("op", "moving")
    with Dev(folder, folder=folder) as dev:
        equal(dev.verdict()[0], "ok")
        path = os.path.join(folder, "reference.c")
        with open(path) as file:
            text = file.read()
        with open(path, "w") as file:
            file.write(text.replace("dp_double(f)", "dp_double(f + 1)"))
        equal(dev.verdict()[0], "not ok")
        equal(dev.end(), 1)


def test_folders_that_are_refused(f):
    empty = os.path.join(f.dir, "empty")
    os.mkdir(empty)
    equal(f.refused(empty), f"dispatchctl: folder '{empty}' has no Makefile: name the plugin's file, or make a folder "
                            "with 'dispatchctl new'\n")
    equal(f.refused(empty + "/none"), f"dispatchctl: {empty}/none: No such file or directory\n")
    contains(f.refused(), "not enough arguments for 'dev'")


def test_a_folder_of_two_plugins_names_both(f):
    folder = f.new("op", "twin")
    with open(os.path.join(folder, "other.so"), "w"):
        pass
    with Dev(folder, folder=folder) as dev:
        equal(dev.verdict()[0], "not built")
        contains(dev.said(), f"folder '{folder}' has several plugins, such as ")
        equal(dev.end(), 1)
    with Dev(os.path.join(folder, "twin.so"), folder=folder) as dev:
        equal(dev.verdict()[0], "ok")
        equal(dev.end(), 0)
    shutil.rmtree(folder)


main(Fixture, Fixture.finish)
