"""test_new.py -- dispatchctl new: what it writes builds, loads and passes its own check; what it refuses, it names."""

import json
import os
import re
import shutil
import subprocess
import tempfile

from harness import BUILD, ROOT, contains, equal, less, main

CTL = os.path.join(BUILD, "dispatchctl")
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
KINDS = {"own": ("backend", "--memory", "own"), "host": ("backend", "--memory=host"), "op": ("op",), "layer": ("layer",)}
LIMIT = 300


class Folder:
    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="dispatchd-new-")

    def run(self, *words, status=0, folder="", **env):
        """Run a command with the tree's headers; returns (standard output, standard error)."""
        env = {**{k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "CFLAGS")},
               "PATH": BUILD + os.pathsep + os.environ["PATH"], "TMPDIR": self.dir,
               "DISPATCHD_CFLAGS": f"-I{ROOT}/libdispatch/include", **env}
        done = subprocess.run(words, cwd=os.path.join(self.dir, folder), env=env, capture_output=True, text=True,
                              timeout=LIMIT)
        equal(done.returncode, status, f"status of {words}: {done.stdout}{done.stderr}")
        return done.stdout, done.stderr

    def new(self, *words, **kw):
        return self.run(CTL, "new", *words, **kw)

    def refused(self, *words):
        """Standard error of a call that is refused, and that writes nothing."""
        before = sorted(os.listdir(self.dir))
        text = self.new(*words, status=2)[1]
        equal(sorted(os.listdir(self.dir)), before, f"files after {words}")
        return text

    def remove(self):
        shutil.rmtree(self.dir)


def test_each_plugin_passes_its_own_check(f):
    for compiler in COMPILERS:
        for kind, words in KINDS.items():
            name = f"{kind}_{compiler}"
            out = f.new(*words, name)[0]
            contains(out, f"'{name}' is in {name}: ")
            built = f.run("make", "-s", f"CC={compiler}", "CFLAGS=-O1 -Wall -Wextra -Werror", folder=name)
            equal(built, ("", ""), f"what a build with {compiler} prints")
            out = f.run("make", "-s", "check", f"CC={compiler}", folder=name)[0]
            passed = re.search(r"^ *(\d+) pass$", out, re.M)
            less(15, int(passed[1]) if passed else 0, f"calls that pass in the check of {name}: {out}")
            equal("differs" in out, False, out)


def test_a_check_fails_when_the_kernel_is_wrong(f):
    for kind, right, wrong in (("own", "= -*at", "= 2 * -*at"), ("host", "= -*(const", "= 2 * -*(const"),
                               ("op", "= factor * ", "= 2 * factor * "), ("layer", "return 0;", "return dp_fail(call->ctx, DP_ERUNTIME, \"no\");")):
        f.new(*KINDS[kind], "wrong_" + kind)
        path = os.path.join(f.dir, "wrong_" + kind, f"wrong_{kind}.c")
        with open(path) as source:
            text = source.read()
        contains(text, right)
        with open(path, "w") as source:
            source.write(text.replace(right, wrong, 1))
        contains(f.run("make", "-s", "check", folder="wrong_" + kind, status=2)[0], " differs\n")


def test_a_backend_falls_back_to_the_cpu(f):
    for kind in ("own", "host"):
        name = "falls_" + kind
        f.new(*KINDS[kind], name)
        f.run("make", "-s", folder=name)
        out = f.run(CTL, "conform", "--json", "--device", name, "--plugin", f"./{name}.so", "--op", "aten::tanh", "--dtype",
                    "float32", folder=name)[0]
        found = json.loads(out)
        equal((found["complete"], sorted(found["counts"])), (True, ["fell back"]), kind)


def test_a_check_leaves_nothing(f):
    f.new("backend", "clean")
    tmp = os.path.join(f.dir, "tmp")
    os.mkdir(tmp)
    f.run("make", "-s", "check", folder="clean", TMPDIR=tmp)
    equal(os.listdir(tmp), [], "what the daemon of the check leaves")


def test_a_folder_of_another_name(f):
    contains(f.new("op", "answers", "other/")[0], "operator 'answers' is in other/: ")
    equal(sorted(os.listdir(os.path.join(f.dir, "other"))),
          ["Makefile", "README.md", "answers.c", "check.sh", "reference.c", "samples.jsonl"])
    for name in os.listdir(os.path.join(f.dir, "other")):
        with open(os.path.join(f.dir, "other", name)) as file:
            equal("@" in re.sub(r"\$@", "", file.read()), False, f"{name} has a mark of a template")


def test_the_own_memory_is_the_default(f):
    f.new("backend", "plain")
    with open(os.path.join(f.dir, "plain", "plain.c")) as file:
        contains(file.read(), "DP_BACKEND_DEVICE(plain, ops)")


def test_names_that_are_refused(f):
    for name in ("Chip", "1chip", "my-chip", "", "_chip", "a" * 41, "naïve"):
        contains(f.refused("backend", name), f"dispatchctl: '{name}' is no name of a plugin: it begins with a letter")
    for name in ("cpu", "cuda", "meta", "xpu"):
        contains(f.refused("backend", name), f"'{name}' is a device of the dispatcher; choose another name")
    for name in ("aten", "autograd", "composite", "template"):
        contains(f.refused("op", name), f"'{name}' is a plugin of dispatchd; choose another name")
    for name in ("int", "linux", "while", "true"):
        contains(f.refused("layer", name), f"'{name}' has a meaning in C; choose another name")
    contains(f.refused("op", "reference"), "'reference' has a meaning in the folder of a plugin")


def test_every_plugin_of_the_tree_is_refused(f):
    for name in sorted(os.listdir(os.path.join(ROOT, "plugins"))):
        if name != "lib" and name != "cpu" and os.path.isdir(os.path.join(ROOT, "plugins", name)):
            contains(f.refused("op", name), "is a plugin of dispatchd")


def test_words_that_are_refused(f):
    contains(f.refused("backend", "chip", "--memory", "shared"), "--memory is own or host, not 'shared'")
    contains(f.refused("op", "chip", "--memory=own"), "unknown option '--memory=own'")
    contains(f.refused("op"), "not enough arguments for 'new op'")


def test_a_folder_that_is_there_is_left_alone(f):
    os.mkdir(os.path.join(f.dir, "there"))
    text = f.new("op", "there", status=1)[1]
    equal(text, "dispatchctl: folder 'there': File exists; a new plugin gets a new folder, which a second word names\n")
    equal(os.listdir(os.path.join(f.dir, "there")), [])
    contains(f.new("op", "deeper", "no/such/folder", status=1)[1], "folder 'no/such/folder': No such file or directory\n")


def test_templates_that_are_missing(f):
    """A dispatchctl without its share/ says so, and leaves no folder."""
    alone = os.path.join(f.dir, "alone", "bin")
    os.makedirs(alone)
    shutil.copy(CTL, alone)
    text = f.run(os.path.join(alone, "dispatchctl"), "new", "op", "orphan", status=1)[1]
    contains(text, "share/dispatchd/templates/op.c.in: No such file or directory; is dispatchctl installed with its share/?")
    equal(os.path.exists(os.path.join(f.dir, "orphan")), False)


def test_a_makefile_without_headers_says_how_to_get_them(f):
    f.new("op", "headless")
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "DISPATCHD_CFLAGS")}
    done = subprocess.run(["make"], cwd=os.path.join(f.dir, "headless"), capture_output=True, text=True,
                          env={**env, "PKG_CONFIG_LIBDIR": f.dir})
    equal(done.returncode, 2)
    contains(done.stderr, "pkg-config finds no dispatchd-plugin: install libdispatchd-dev, or set DISPATCHD_CFLAGS.")


main(Folder, Folder.remove)
