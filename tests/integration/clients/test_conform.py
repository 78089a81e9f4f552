"""test_conform.py -- dispatchctl conform: its options, reports and exit codes, and that it comes to an end
whatever a backend does."""

import json
import os
import subprocess
import xml.etree.ElementTree as xml

from harness import BUILD, ROOT, contains, equal, less, main, wait_until
from daemon import TestDaemon

PLUGINS = os.path.join(BUILD, "tests", "plugins")
NPU, UNRULY = os.path.join(PLUGINS, "npu.so"), os.path.join(PLUGINS, "unruly.so")
SAMPLES = os.path.join(ROOT, "proto", "samples", "calls.jsonl")


class Fixture(TestDaemon):
    def command(self, *words):
        return [os.path.join(BUILD, "dispatchctl"), "conform", *words]

    def environment(self, **more):
        return {**os.environ, "DISPATCHD_SOCKET": self.socket, "TMPDIR": self.dir, **more}

    def conform(self, *words, status=0, cwd=None, **env):
        """Run conform; returns (standard output, standard error)."""
        done = subprocess.run(self.command(*words), capture_output=True, text=True, timeout=240, cwd=cwd,
                              env=self.environment(**env))
        equal(done.returncode, status, f"exit code of {words}; {done.stdout}{done.stderr}")
        equal([n for n in os.listdir(self.dir) if n.startswith("conform-")], [], "folders that were left")
        return done.stdout, done.stderr

    def json(self, *words, **kw):
        return json.loads(self.conform(*words, "--json", **kw)[0])

    def file(self, name, text=None):
        path = os.path.join(self.dir, name)
        if text is not None:
            with open(path, "w") as f:
                f.write(text)
        return path


def one_sample(f):
    return f.file("one", '{"op":"aten::neg","dtypes":["float32"],"args":[{"tensor":-1}],'
                  '"tensors":[{"shape":[2],"dtype":"*","draw":[0,1]}]}\n')


def verdicts(report):
    return {(c["op"], c["dtype"]): c["verdict"] for c in report["cells"]}


def test_the_cpu_beside_itself(f):
    for op in ("aten::add.Tensor", "aten::_softmax", "aten::gather", "aten::sort"):
        report = f.json("--device", "cpu", "--op", op)
        equal((list(report["counts"]), report["complete"], report["guards"], report["restarts"]),
              (["pass"], True, True, 0), op)
        equal((report["device"], report["reference"], report["seed"]), ("cpu", "cpu", 0))
    out = f.conform("--device", "cpu", "--op", "aten::neg")[0].splitlines()
    equal(out[0].split()[:3] + out[0].split()[-2:], ["cpu", "beside", "cpu:", "seed", "0"])
    equal(out[1].split()[1:], ["pass"])


def test_a_backend_that_falls_back(f):
    for op in ("aten::logit", "aten::cat", "aten::index_put", "aten::linalg_cross", "aten::max_pool2d"):
        report = f.json("--device", "npu", "--op", op)
        equal([c for c in report["cells"] if c["verdict"] not in ("pass", "fell back")], [], op)
    cells = f.json("--device", "npu", "--op", "aten::neg", "--dtype", "float32")["cells"]
    equal((cells[0]["verdict"], cells[0]["why"]), ("fell back", "aten::neg.out fell back"))


def test_each_call_tells_whether_it_fell_back(f):
    """The kernel computes packed tensors, and leaves others to the CPU."""
    report = f.json("--device", "npu", "--plugin", UNRULY, "--samples", one_sample(f), UNRULY_NEG="slow")
    cell = next(c for c in report["cells"] if c["op"] == "aten::neg")
    equal((cell["verdict"], sorted(cell["counts"])), ("fell back", ["fell back", "pass"]))
    more = f.json("--device", "npu", "--plugin", UNRULY, "--samples", one_sample(f))
    less(more["counts"].get("pass", 0), cell["counts"]["pass"])


def test_a_device_that_computes_nothing(f):
    out = f.conform("--device", "meta", "--op", "aten::neg", "--dtype", "float32", status=1)[0].splitlines()
    equal(out[0].split()[:3], ["differs", "aten::neg", "float32,"])
    contains(out[1], "aten::neg(float32[")
    contains(out[2], "output 0: 0 bytes, want ")
    equal(verdicts(f.json("--device", "cpu", "--against", "meta", "--op", "aten::abs", "--dtype", "int8",
                          status=1))["aten::abs", "int8"], "differs")


def test_dtypes(f):
    for dtype in ("float32", "bfloat16", "int8"):
        cells = f.json("--device", "cpu", "--op", "aten::abs", "--dtype", dtype)["cells"]
        equal({c["dtype"] for c in cells}, {dtype})
    contains(f.conform("--device", "cpu", "--dtype", "float33", status=2)[1], "no dtype 'float33'")
    contains(f.conform("--device", "cpu", "--op", "aten::bitwise_not", "--dtype", "float64", status=2)[1],
             "no sample of 'aten::bitwise_not' has dtype float64")


def test_seeds(f):
    """The first element that differs is one that was drawn."""
    def why(seed):
        report = f.json("--device", "npu", "--plugin", UNRULY, "--op", "aten::neg", "--dtype", "float32", "--seed", seed,
                        UNRULY_NEG="wrong", status=1)
        equal(report["seed"], int(seed))
        return [c["why"] for c in report["cells"] if c["op"] == "aten::neg"]
    equal(why("1"), why("1"))
    if why("1") == why("2"):
        raise AssertionError(f"seeds 1 and 2 draw the same elements: {why('1')}")
    for seed in ("-1", "1.5", "1e300", "x", ""):
        contains(f.conform("--device", "cpu", "--seed", seed, status=2)[1],
                 f"--seed wants an integer from 0 to 2^53, not '{seed}'")


def test_words_that_are_wrong(f):
    for deadline in ("0", "3600001"):
        contains(f.conform("--device", "cpu", "--deadline", deadline, status=2)[1],
                 "--deadline wants milliseconds from 1 to 3600000")
    contains(f.conform("--op", "aten::neg", status=2)[1], "--device names the device to be checked")
    contains(f.conform("--device", "cpu", "--op", "nosuch", status=2)[1], "no operator contains 'nosuch'")
    contains(f.conform("--device", "npu9", "--op", "aten::neg", status=1)[1], "no device 'npu9'; there are cpu,")
    contains(f.conform("--device", "cpu", "--against", "npu9", "--op", "aten::neg", status=1)[1], "no device 'npu9'")
    for device in ("npu9", "cuda"):
        words = ("--device", device, "--op", "aten::neg")
        contains(f.conform(*words, status=1)[1], "'dispatchctl plugin load ./FILE.so', or 'dispatchctl conform --plugin")
        contains(f.conform(*words, "--plugin", NPU, status=1)[1], "the file of --plugin does not bring this device")
    contains(f.conform("--device", "cpu", "--against", "/nonexistent/s", "--op", "aten::neg", status=3)[1],
             "no daemon at '/nonexistent/s'")
    contains(f.conform("--device", "cpu", "--op", "aten::neg", "--socket", "/nonexistent/s", status=3)[1],
             "no daemon at '/nonexistent/s'")
    contains(f.conform("--device", "cpu", NPU, status=2)[1], "too many arguments")
    contains(f.conform("--device", "npu", "--plugin", NPU, NPU, "--against", "cpu", status=2)[1],
             "--plugin with two files compares these")
    contains(f.conform("--device", "npu", "--plugin", "/nonexistent.so", "--op", "aten::neg", status=3)[1],
             "cannot open '/nonexistent.so'")
    contains(f.conform("--device", "npu", "--plugin", NPU, "--op", "aten::neg", DISPATCHD="/nonexistent", status=3)[1],
             "cannot start /nonexistent: No such file")


def test_samples_that_are_wrong(f):
    with open(SAMPLES) as lines:
        good = next(line for line in lines if '"aten::neg"' in line)
    tensor = '{"shape":[2],"dtype":"*","draw":[0,1]}'
    sample = '{"op":"aten::neg","dtypes":["float32"],"tensors":[%s],"args":[%s]%s}\n'
    first = '{"tensor":-1}'
    for text in (good + good[:40], good + "\n", "[]\n", '{"op":"aten::neg"}\n',
                 sample % (tensor, '{"tensor":-2}', ""), sample % (tensor, '{"tensor":1}', ""),
                 sample % (tensor, '[[{"tensor":0.5}]]', ""), sample % (tensor, first, ',"kwargs":[]'),
                 sample % (tensor, first, ',"kwargs":{"out":{"tensor":-9}}'),
                 sample % (tensor.replace('"*"', '"float33"'), first, ""),
                 sample % (tensor.replace("[2]", "[1000000000,1000000000,1000000000]"), first, ""),
                 sample % (tensor.replace("[2]", "[-1]"), first, ""),
                 sample % (tensor.replace("[0,1]", "[1,0]"), first, ""),
                 sample % (tensor.replace("}", ',"offset":-1}'), first, ""),
                 sample % (tensor.replace("}", ',"offset":1e300}'), first, ""),
                 sample % (tensor.replace("}", ',"strides":[1000000000]}'), first, ""),
                 sample % (tensor.replace('"draw":[0,1]', '"data":[1]'), first, "")):
        path = f.file("samples", text)
        error = f.conform("--device", "cpu", "--samples", path, status=2)[1]
        contains(error, f"{path}:{2 if text.startswith(good) else 1}: not a sample: ", text)
    contains(f.conform("--device", "cpu", "--samples", f.file("samples", ""), status=2)[1], "has no samples")
    contains(f.conform("--device", "cpu", "--samples", "/nonexistent", status=2)[1], "No such file or directory")
    contains(f.conform("--device", "cpu", "--samples", f.dir, status=2)[1], "Is a directory")
    equal(f.json("--device", "cpu", "--samples", f.file("samples", good))["counts"].keys(), {"pass"})


def test_junit(f):
    path = f.file("junit.xml")
    f.conform("--device", "meta", "--op", "aten::bitwise_not", "--junit", path, status=1)
    suite = xml.parse(path).getroot()
    cases = suite.findall("testcase")
    failures = suite.findall("testcase/failure")
    equal((suite.tag, suite.get("name"), int(suite.get("tests")), int(suite.get("failures"))),
          ("testsuite", "conform meta", len(cases), len(failures)))
    contains([c.get("classname") for c in cases], "aten::bitwise_not")
    equal({x.get("type") for x in failures}, {"differs"})
    contains(failures[0].text, "aten::bitwise_not(")
    f.conform("--device", "cpu", "--op", "aten::bitwise_not", "--junit", path)
    equal(xml.parse(path).getroot().get("failures"), "0")


def test_html_asks_for_nothing_from_elsewhere(f):
    path = f.file("page.html")
    f.conform("--device", "meta", "--op", "aten::bitwise_not", "--html", path, status=1)
    with open(path) as page:
        text = page.read()
    for part in ("http:", "https:", "src=", "href=", "url(", "@import", "fetch("):
        if part in text:
            raise AssertionError(f"the page contains {part!r}")
    data = text.split('<script id="data" type="application/json">')[1].split("</script>")[0]
    report = json.loads(data)
    equal(report["cells"][0]["op"][:6], "aten::")
    equal(set(verdicts(report).values()), {"differs"})


def test_reports_that_cannot_be_written(f):
    words = ("--device", "cpu", "--op", "aten::neg", "--dtype", "float32")
    for option in ("--junit", "--html"):
        for path, text in (("/dev/full", "No space left on device"), ("/nonexistent/x", "No such file"),
                           (f.dir, "Is a directory")):
            out, error = f.conform(*words, option, path, status=1)
            contains(error, f"dispatchctl: {path}: {text}")
            contains(out, "cpu beside cpu: ")
    page = f.file("page.html")
    f.conform(*words, "--junit", "/dev/full", "--html", page, status=1)
    contains(open(page).read(), "</html>")


def test_a_daemon_of_its_own(f):
    report = f.json("--device", "npu", "--plugin", NPU, "--op", "aten::neg", "--dtype", "float32")
    equal((report["counts"].keys(), report["reference"]), ({"fell back"}, "cpu"))
    report = f.json("--device", "npu", "--plugin", NPU, NPU, "--op", "aten::neg", "--dtype", "float32")
    equal((report["counts"].keys(), report["reference"]), ({"fell back"}, NPU))
    report = f.json("--device", "npu", "--plugin", NPU, UNRULY, "--op", "aten::neg", "--dtype", "float32",
                    UNRULY_NEG="wrong", status=1)
    equal(verdicts(report)["aten::neg", "float32"], "differs")


def test_a_plugin_of_this_folder(f):
    """A word without a slash is a file of this folder; if there is none, a name in the daemon's folders."""
    words = ("--device", "npu", "--op", "aten::neg", "--dtype", "int8")
    for files in (["npu.so"], ["npu.so", "npu.so"]):
        equal(f.json(*words, "--plugin", *files, cwd=PLUGINS)["counts"].keys(), {"fell back"})
    folder = f.file("elsewhere")
    os.makedirs(os.path.join(folder, "npu.so"))
    contains(f.conform(*words, "--plugin", "npu.so", cwd=folder, status=3)[1], "no file 'npu.so.so'")


def test_another_daemon(f):
    with TestDaemon("--plugin", NPU) as other:
        report = f.json("--device", "cpu", "--against", other.socket, "--op", "aten::neg", "--dtype", "float32")
        equal((report["counts"].keys(), report["reference"]), ({"pass"}, other.socket))


def test_slower(f):
    report = f.json("--device", "npu", "--plugin", UNRULY, "--samples", one_sample(f), "--slow", "2", UNRULY_NEG="slow",
                    status=1)
    cell = next(c for c in report["cells"] if c["op"] == "aten::neg")
    equal(cell["verdict"], "slower")
    contains(cell["why"], "us in the kernel, ")


# -- backends and daemons that misbehave --

def test_a_kernel_that_hangs(f):
    """With a daemon of its own conform goes on, also where the kernel blocks the thread that reads requests."""
    report = f.json("--device", "npu", "--plugin", UNRULY, "--samples", one_sample(f), "--deadline", "1000",
                    UNRULY_NEG="hangs", status=1)
    contains([c["why"] for c in report["cells"]], "the daemon answers nothing for 2.5 s")
    equal((verdicts(report)["aten::neg", "float32"], report["complete"], report["restarts"]), ("hangs", True, 1))


def test_every_third_call_crashes(f):
    report = f.json("--device", "npu", "--plugin", UNRULY, "--op", "aten::bitwise_", "--dtype", "int32",
                    UNRULY_CRASH="3", status=1)
    found = verdicts(report)
    contains(list(found.values()), "crashed")
    equal((report["complete"], report["restarts"]), (True, list(found.values()).count("crashed")))
    cell = next(c for c in report["cells"] if c["verdict"] == "crashed")
    contains(cell["why"], "SIGABRT in ")


def test_writes_behind_its_outputs(f):
    report = f.json("--device", "npu", "--plugin", UNRULY, "--op", "aten::neg", "--dtype", "float32", UNRULY_NEG="beyond",
                    status=1)
    cell = next(c for c in report["cells"] if c["op"] == "aten::neg")
    if "address" in os.path.basename(BUILD):  # the sanitizer ends the daemon at the write
        equal(cell["verdict"], "crashed")
        return
    equal(cell["verdict"], "differs")
    contains(cell["why"], "or its surroundings, after the call: element [")


def test_writes_before_its_outputs(f):
    report = f.json("--device", "npu", "--plugin", UNRULY, "--op", "aten::neg", "--dtype", "float32", UNRULY_NEG="before",
                    status=1)
    cell = next(c for c in report["cells"] if c["op"] == "aten::neg")
    equal(cell["verdict"], "differs")
    contains(cell["why"], "or its surroundings, after the call: element [")


def test_lies_about_its_device(f):
    """A result on the CPU has the right elements, and is still no result of the device."""
    for lie, why in (("elsewhere", "output 0: on device cpu, want npu:0"), ("nowhere", "npu:9"),
                     ("dtype", "output 0: dtype float64, want float32")):
        report = f.json("--device", "npu", "--plugin", UNRULY, "--samples", one_sample(f), UNRULY_NEG=lie, status=1)
        cell = next(c for c in report["cells"] if c["op"] == "aten::neg")
        equal((cell["verdict"], report["complete"], report["restarts"]), ("differs", True, 0), lie)
        contains(cell["why"], why)
    with TestDaemon("--plugin", UNRULY) as other:
        honest = ("--device", "npu", "--samples", one_sample(f), "--against", other.socket)
        equal(f.json(*honest, "--plugin", UNRULY)["counts"].keys(), {"fell back"})
        contains([c["why"] for c in f.json(*honest, "--plugin", UNRULY, UNRULY_NEG="elsewhere", status=1)["cells"]],
                 "output 0: on device cpu, want npu:0")


def begin(f, *words, **env):
    """Start conform on all samples, and wait until it calls operators."""
    with f.connect() as d:
        before = d.call("server.status")["requests"]
        run = subprocess.Popen(f.command("--device", "npu", "--json", *words), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=f.environment(**env))
        wait_until(lambda: d.call("server.status")["requests"] > before + 5000, "conform calls operators")
    return run


def ended(run, text):
    """conform must end by itself, with what it found until then."""
    out, error = run.communicate(timeout=120)
    report = json.loads(out)
    equal((run.returncode, report["complete"], bool(report["cells"])), (3, False, True), error)
    contains(error, text)


def test_the_device_is_unloaded_in_the_middle(f):
    run = begin(f)
    with f.connect() as d:
        d.call("plugin.unload", plugin="npu", force=True)
        ended(run, "dispatchctl: device npu: ")
        d.call("plugin.load", path=NPU)


def test_the_daemon_is_killed_in_the_middle(f):
    other = Fixture("--plugin", NPU)
    run = begin(other)
    other.process.kill()
    ended(run, "dispatchctl: ")
    other.process.wait()


if __name__ == "__main__":
    with Fixture("--plugin", NPU) as daemon:
        main(setup=lambda: daemon)
