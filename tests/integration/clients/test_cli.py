"""test_cli.py -- dispatchctl: every verb, its tables, its JSON, its exit codes."""

import json
import os
import shutil
import subprocess
import tempfile

from harness import BUILD, contains, equal, main, wait_until
from daemon import TestDaemon

WARNS = os.path.join(BUILD, "tests", "plugins", "warns.so")
LABELLED = os.path.join(BUILD, "tests", "plugins", "labelled.so")
MASKED = os.path.join(BUILD, "tests", "plugins", "masked.so")
VERSION = os.path.join(BUILD, "tests", "plugins", "version_1.so")


class Fixture(TestDaemon):
    def ctl(self, *words, status=0, env=None):
        """Run dispatchctl; returns (standard output, standard error)."""
        done = subprocess.run([os.path.join(BUILD, "dispatchctl"), *words], capture_output=True,
                              text=True, timeout=120,
                              env={**os.environ, "DISPATCHD_SOCKET": self.socket, **(env or {})})
        equal(done.returncode, status, f"exit code of {words}; {done.stdout}{done.stderr}")
        return done.stdout, done.stderr

    def lines(self, *words, **kw):
        return self.ctl(*words, **kw)[0].splitlines()

    def json(self, *words, **kw):
        return json.loads(self.ctl(*words, "--json", **kw)[0])


def test_words_that_name_no_verb(f):
    for words, text in ((("grad",), "no verb 'grad'; verbs that begin with 'grad': grad backward, grad graph, grad check, grad hook\n"),
                        (("grad", "of", "1"), "no verb 'grad of'; verbs that begin with 'grad': grad backward, grad graph, grad check, grad hook\n"),
                        (("gradient", "1"), "no verb 'gradient'\n")):
        equal(f.ctl(*words, status=2), ("", f"dispatchctl: {text}try: dispatchctl --help\n"))


def test_the_example_of_the_readme(f):
    out = f.lines("call", "aten::add.Tensor", "[[1,2],[3,4]]", "10", "--trace")
    equal(out[0], "float32 [2, 2]  strides [2, 1]  cpu  keys AutogradCPU, ADInplaceOrView, CPU")
    equal(out[1:3], ["[[11, 12],", " [13, 14]]"])
    equal(out[4].split(), ["operator", "key", "plugin", "generation", "provenance", "µs"])
    contains(out[5], "aten::add.Tensor")


def test_gradients_are_checked(f):
    equal(f.lines("grad", "check", "aten::mul.Tensor", "[1,2]", "[3,4]"), ["passes: 8 derivatives compared"])
    contains(f.lines("grad", "check", "aten::mm", "--random", "3", "--seed=1", "--gradgrad")[0], "3 sets of random arguments checked")
    out = f.ctl("grad", "check", "aten::relu", "[1,0]", status=1)[0].splitlines()
    equal(out[:4], ["fails: 4 derivatives compared", "check       gradcheck", "input       self [1]", "output      result [1]"])
    equal((out[4].split()[0], round(float(out[4].split()[1]), 6), out[5].split()), ("numerical", 0.5, ["analytical", "0"]))
    equal(f.json("grad", "check", "aten::neg", "[1]"), {"passes": True, "compared": 1})
    contains(f.ctl("grad", "check", "aten::neg", "[1]", "--seed=1", status=2)[1], "--seed is for --random")
    contains(f.ctl("grad", "check", "aten::argmax", "[1]", status=1)[1], "no output requires a gradient")


def test_a_dry_backward(f):
    session = {"DISPATCHD_SESSION": f.ctl("session")[0].strip()}
    x = f.json("raw", "tensor.create", '{"data":[1,2],"requires_grad":true}', env=session)["tensor"]
    y = f.json("raw", "op.call", '{"op":"aten::exp","args":[{"tensor":%d}],"return":"handle"}' % x, env=session)["outputs"][0]["tensor"]
    y = f.json("raw", "op.call", '{"op":"aten::sum","args":[{"tensor":%d}],"return":"handle"}' % y, env=session)["outputs"][0]["tensor"]
    out = [line.split() for line in f.lines("grad", "backward", str(y), "--dry", env=session)]
    equal(out[-3:], [["op", "calls", "saved", "bytes", "formula"], ["aten::sum", "1", "0", "yes"], ["aten::exp", "1", "8", "yes"]])
    equal([line[0] for line in out[:2]], ["peak_bytes", "saved_bytes"])
    equal([f.json("grad", "hook", *words, env=session) for words in ((str(x), "aten::neg"), (str(x), "--none"))], [{"hooks": 1}, {"hooks": 0}])
    contains(f.ctl("grad", "hook", "x", "aten::neg", env=session, status=2)[1], "'x' is not a handle")
    f.ctl("tensor", "release", "--all", env=session)


def test_call_as_json(f):
    answer = f.json("call", "aten::add.Tensor", "[[1,2],[3,4]]", "10")
    equal(answer["outputs"][0]["data"], [[11, 12], [13, 14]])


def test_arrays_become_tensors_where_those_are_taken(f):
    def data(*words):
        return f.json("call", *words)["outputs"][0]["data"]
    equal(data("aten::add", "[1,2]", "[10,20]"), [11, 22])
    equal(data("aten::sum.dim_IntList", "[[1,2],[3,4]]", "[0]"), [4, 6])
    equal(data("aten::permute", "[[1,2],[3,4]]", "[1,0]"), [[1, 3], [2, 4]])
    equal(data("aten::add.Tensor", "self=[1,2]", "other=[1,1]", "alpha=3"), [4, 5])
    equal(data("aten::neg", '{"dtype":"int64","data":[1,2]}'), [-1, -2])
    equal(data("aten::neg", "[[1,\n2],\n[3,4]]"), [[-1, -2], [-3, -4]])
    equal(data("aten::_to_copy", "[1.5]", "dtype=float64"), [1.5])


def test_numbers_are_printed_exactly(f):
    equal(f.lines("call", "aten::neg", '{"dtype":"float64","data":[0.30000000000000004]}')[1],
          "[-0.30000000000000004]")
    contains(f.ctl("call", "aten::neg", '{"dtype":"float64","data":[0.30000000000000004]}',
                   "--json")[0], "-0.30000000000000004")


def test_numbers_that_json_has_not(f):
    most, least = str(2**63 - 1), str(-2**63)
    for words, value in ((("aten::neg", least), least), (("aten::neg", most), "-" + most), (("aten::neg", "-5"), "5"),
                         (("aten::add", "1", str(-2**53)), str(1 - 2**53)), (("aten::neg", "inf"), "-inf"),
                         (("aten::neg", "-inf"), "inf"), (("aten::neg", "nan"), "nan"),
                         (("aten::full", "[2]", most, "dtype=int64"), f"[{most}, {most}]"),
                         (("aten::roll", "[1,2,3]", f"[{least}]"), "[3, 1, 2]"),
                         (("aten::roll", "[1,2,3]", f"shifts={least}"), "[3, 1, 2]"),
                         (("aten::neg", f'{{"dtype":"int64","data":[1, {most}]}}'), f"[{'-1':>20}, -{most}]")):
        equal(f.lines("call", *words)[1:], [value])
    equal(f.json("tensor", "create", f"[{least}]", "--dtype", "int64")["shape"], [1])
    contains(f.ctl("call", "aten::neg", most + "0", status=1)[1], most + "0 does not fit int64")


def test_shapes_of_all_ranks_print(f):
    equal(f.lines("call", "aten::neg", '{"data":-7,"shape":[]}')[1:], ["7"])
    equal(f.lines("call", "aten::neg", '{"data":[],"shape":[0]}')[1:], ["[]"])
    equal(f.lines("call", "aten::neg", "[[[1],[2]]]")[1:], ["[[[-1],", "  [-2]]]"])
    equal(f.lines("call", "aten::neg", '{"dtype":"bool","data":[true,false]}', status=1), [])
    equal(f.lines("call", "aten::relu", '{"dtype":"float64","data":["nan","inf",-1]}')[1],
          "[nan, inf,   0]")
    big = f.lines("call", "aten::ones", "[40,40]")
    equal(len(big), 8)
    contains(big[1], "1, 1, 1, ..., 1, 1, 1")


def test_lists_keep_their_nesting(f):
    head = "float32 [1]  strides [1]  cpu  keys AutogradCPU, ADInplaceOrView, CPU"
    equal(f.lines("call", "aten::chunk", "[1,2]", "2"), ["[0] " + head, "[1]", "[1] " + head, "[2]"])
    path = os.path.join(f.dir, "l.json")
    x = [{"data": [n]} for n in range(4)]
    with open(path, "w") as out:
        json.dump({"inputs": {}, "steps": [], "outputs": ["flat", "deep", "x", "n", "tensors"],
                   "constants": {"flat": [1, 2], "deep": [1, [2, [3]], [], "a"], "x": x[0], "n": None,
                                 "tensors": [[x[1]], [], [x[2], 5, [x[3], [6, 7]]]]}}, out)
    equal(f.lines("program", "run", path),
          ["[1,2]", '[1,[2,[3]],[],"a"]', head, "[0]", "null", "[0][0] " + head, "[1]", "[1] []",
           "[2][0] " + head, "[2]", "[2][1] 5", "[2][2][0] " + head, "[3]", "[2][2][1] [6,7]"])


def test_explain(f):
    out = f.lines("explain", "aten::add.Tensor", "[1]", "[2]")
    equal(out[0].split(), ["operator", "aten::add.Tensor"])
    contains(out[1], "CPU")
    contains("\n".join(out), "cpu")
    equal(f.json("explain", "aten::add.Tensor", "[1]", "[2]")["path"][0]["plugin"], "cpu")


def test_registry_verbs(f):
    equal(f.lines("ops", "aten::add.Tensor"), ["aten::add.Tensor"])
    equal("tutorial::scale" in f.lines("ops", "--namespace", "tutorial"), True)
    equal("aten::mm" in f.lines("ops", "--plugin=cpu"), True)
    equal(f.lines("op", "tutorial::scale")[0], "tutorial::scale(Tensor self, float factor) -> Tensor")
    table = f.lines("table", "aten::mm", "tutorial::scale", "--keys", "CPU,Meta")
    contains(table[0], "CPU")
    contains(table[1], "aten::mm")
    wide = f.lines("table", "aten::mm")  # all keys: grouped, on lines that fit a terminal
    equal(wide[0], "aten::mm")
    equal([line for line in wide if len(line) > 80], [], "lines of more than 80 columns")
    equal("  kernel                     AutocastCPU, CPU" in wide, True, "the kernel's line")
    equal(wide[-1].endswith("more keys are missing or fall through"), True, "the last line")
    what_if = f.json("table", "tutorial::scale", "--keys", "Meta", "--with", "tutorial::scale@Meta")
    equal(what_if["rows"][0]["cells"], ["kernel"])
    contains(f.ctl("dump")[0], "tutorial::scale")
    contains(f.ctl("keys")[0], "AutogradCPU")
    equal(f.lines("check"), ["ok"])


def test_errors_name_the_operator(f):
    out, err = f.ctl("call", "aten::mm", "[[1,2]]", "[[1,2,3]]", status=1)
    equal(err.startswith("dispatchctl: RuntimeError: aten::mm: mat1 and mat2 shapes"), True, err)
    out, err = f.ctl("call", "aten::relu", status=1)
    equal(err.startswith("dispatchctl: TypeError: aten::relu: no overload"), True, err)


def test_plugin_verbs(f):
    contains(f.ctl("plugin", "describe", VERSION)[0], "value(Tensor self) -> int")
    loaded = f.lines("plugin", "load", VERSION)
    contains(loaded[0], "version 1.0 is loaded")
    equal(loaded[1], "  defines 1 operator, implements 1, falls back for 0 keys")
    equal(f.lines("plugin", "load", LABELLED)[1], "  defines 3 operators, implements 3, falls back for 1 key")
    equal("kinds" in f.lines("plugin", "list")[0].split(), True)
    f.ctl("plugin", "unload", "labelled")
    contains(f.ctl("plugin", "list")[0], "version")
    contains(f.ctl("plugin", "reload", "version", "--timeout-ms", "5000")[0], "is gone")
    contains(f.ctl("plugin", "reload", "version", "--timeout-ms", "soon", status=2)[1], "whole number")
    equal(f.lines("call", "version::value", "[1]"), ["1"])
    contains(f.ctl("plugin", "reload", "version")[0], "version 1.0 is loaded")
    contains(f.ctl("plugin", "unload", "version")[0], "unmapped")


def test_a_reload_names_what_the_new_file_lacks(f):
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "version.so")
        shutil.copy(VERSION, path)
        f.ctl("plugin", "load", path)
        equal("dropped" in f.ctl("plugin", "reload", "version")[0], False)
        os.unlink(path)
        shutil.copy(VERSION.replace("version_1", "version_3"), path)
        contains("\n".join(f.lines("plugin", "reload", "version")), "  dropped: version::value CPU\n")
        wait_until(lambda: "warn plugin.reload.dropped plugin='version' n=1 dropped='version::value CPU' more=0" in f.log(),
                   "the log has it")
        shutil.copy(VERSION, path + ".new")
        os.rename(path + ".new", path)
        equal(f.json("plugin", "reload", "version")["dropped"], ["version::spare", "fallback TESTING_ONLY_GenericMode"])
        f.ctl("plugin", "unload", "version")


def test_a_wrapper_tensor_is_described_with_its_parts(f):
    f.ctl("plugin", "load", MASKED)
    key, = f.lines("session", "--linger-ms", "60000")
    env = {"DISPATCHD_SESSION": key}
    made = f.json("call", "masked::make", "[1.5,2]", '{"data":[true,false]}', "--keep", env=env)
    equal(f.lines("tensor", "describe", str(made["outputs"][0]["tensor"]), env=env),
          ["tensor 1  float32 [2]  strides [1]  cpu  keys masked  kind masked  layout strided  ints [7]",
           "  part 0: float32 [2]  strides [1]  cpu  keys AutogradCPU, ADInplaceOrView, CPU",
           "  part 1: bool [2]  strides [1]  cpu  keys AutogradCPU, ADInplaceOrView, CPU"])
    f.ctl("call", "masked::nest", '{"tensor":1}', "1", "--keep", env=env)
    equal(f.lines("tensor", "describe", "2", env=env)[1], "  part 0: tensor 1  float32 [2]  strides [1]  cpu  keys masked  kind masked")
    f.ctl("tensor", "release", "--all", env=env)
    f.ctl("plugin", "unload", "masked")


def test_sessions_and_tensors(f):
    key, = f.lines("session", "--linger-ms", "60000")
    env = {"DISPATCHD_SESSION": key}
    made = f.lines("tensor", "create", "[[1,2],[3,4]]", "--dtype", "int64", env=env)
    equal(made[0].split()[:3], ["tensor", "1", "int64"])
    equal(f.lines("tensor", "read", "1", env=env)[1:], ["[[1, 2],", " [3, 4]]"])
    contains(f.ctl("tensor", "describe", "1", env=env)[0], "int64")
    equal(f.json("call", "aten::neg", '{"tensor":1}', "--keep", env=env)["outputs"][0]["tensor"], 2)
    equal(len(f.lines("tensor", "list", env=env)), 3)
    equal(f.json("tensor", "release", "1", env=env), {"released": 1})
    equal(f.json("tensor", "release", "--all", env=env), {"released": 1})
    hint = "export DISPATCHD_SESSION=$(dispatchctl session)"
    equal(hint in f.ctl("tensor", "read", "1", "--session", key, status=1)[1], False, "a hint for who has a session")
    contains(f.ctl("tensor", "read", "1", status=1)[1], hint)
    equal(f.ctl("tensor", "read", "1", "--json", status=1)[1].count("\n"), 1, "lines of an error as JSON")


def test_status_and_raw(f):
    contains(f.ctl("status")[0], "plugins")
    equal([line for line in f.ctl("status")[0].splitlines() if len(line.split()) == 1], [], "names without a value")
    contains(" ".join(f.ctl("status")[0].split()), "sessions hold count bytes names 0 0 tensors 0 0 intermediates 0 0")
    equal(f.json("raw", "registry.list", '{"match":"tutorial::scale"}'), {"ops": ["tutorial::scale"]})
    equal(json.loads(f.ctl("raw", "registry.check")[0])["ok"], True)


def test_exit_codes(f):
    out, err = f.ctl("call", "aten::ad.Tensor", "1", "2", status=1)
    contains(err, "NotFound")
    contains(err, "aten::add.Tensor")
    equal(json.loads(f.ctl("call", "aten::ad.Tensor", "1", "--json", status=1)[1])["data"]["type"],
          "NotFound")
    for words in [], ["nonsense"], ["call"], ["op"], ["call", "aten::neg", "[1,"], ["ops", "--nope"], \
            ["tensor", "read", "x"], ["table", "--with", "noat"], ["plugin", "unload"]:
        f.ctl(*words, status=2)
    _, err = f.ctl("status", "--socket", f.dir + "/nothing", status=3)
    contains(err, "/nothing")
    contains(f.ctl("--help")[0], "Exit codes: 0 ok, 1 the daemon answered an error, 2 usage")
    contains(f.ctl("call", "--help")[0], "--trace")


def test_programs_in_files(f):
    path = os.path.join(f.dir, "p.json")
    program = {"inputs": [{"name": "x", "type": "Tensor"}, {"name": "n", "type": "int"}],
               "steps": [{"op": "aten::mul.Tensor", "args": [{"ref": "x"}, {"ref": "n"}], "as": ["y"]}],
               "outputs": ["y"]}
    with open(path, "w") as out:
        json.dump(program, out)
    equal(f.lines("program", "check", path),
          ["program(Tensor x, int n) -> (y)", "     0  y = aten::mul.Tensor(x, n)"])
    equal(f.json("program", "check", path)["steps"][0]["name"], "aten::mul.Tensor")
    equal(f.lines("program", "dot", path)[0], "digraph program {")
    equal(f.lines("program", "pass", path, "functionalize", "dead"), f.lines("program", "check", path))
    contains(f.ctl("program", "pass", path, "flod", status=1)[1], "no pass is called 'flod'")
    equal(f.json("program", "run", path, "x=[1,2]", "n=3")["outputs"][0]["data"], [3, 6])
    contains(f.ctl("program", "run", path, "x=[1,2]", status=1)[1], "missing input 'n'")
    contains(f.ctl("program", "run", path, "x", status=2)[1], "NAME=JSON")
    contains(f.ctl("program", "run", path, "n=1", "x=[1]", "--deadline-ms", "0", status=1)[1], "deadline")
    program["steps"][0]["op"] = "aten::mull"
    with open(path, "w") as out:
        json.dump(program, out)
    contains(f.ctl("program", "check", path, status=1)[1], "aten::mull")
    contains(f.ctl("program", "check", path + "?", status=2)[1], "No such file")


def test_programs_of_files_do_not_stay_in_a_shared_session(f):
    path = os.path.join(f.dir, "s.json")
    with open(path, "w") as out:
        json.dump({"inputs": [{"name": "x", "type": "Tensor"}], "outputs": ["y"],
                   "steps": [{"op": "aten::sum", "args": [{"ref": "x"}], "as": ["y"]}]}, out)
    shared = ("--session", f.ctl("session")[0].strip())
    for words in (("check", path), ("dot", path), ("run", path, "x=[1,2]"), ("pass", path, "dead"), ("capture", path, "x=[1,2]"),
                  ("grad", path, "x=[1,2]", "--wrt", "x")):
        f.ctl("program", *words, *shared)
    f.ctl("program", "run", path, "x=7.5.", *shared, status=2)
    f.ctl("program", "capture", path, *shared, status=1)
    equal(f.json("raw", "session.get", *shared)["account"]["programs"]["count"], 0)


def test_a_capture_for_any_size(f):
    path = os.path.join(f.dir, "d.json")
    with open(path, "w") as out:
        json.dump({"inputs": [{"name": "x", "type": "Tensor"}], "outputs": ["y"],
                   "steps": [{"op": "aten::flatten", "args": [{"ref": "x"}], "as": ["y"]}]}, out)
    lines = f.lines("program", "capture", path, "x=[[1,2],[3,4]]", "--dynamic", "x=0,x=1")
    contains(lines[1], "sizes [s0, s1]")
    contains("\n".join(lines), "s0*s1 = scalar mul(s0, s1)")
    for bad in "x", "x=", "=0", "x=0,", "x=-1", "x=0y":
        contains(f.ctl("program", "capture", path, "x=[[1]]", "--dynamic", bad, status=2)[1], "is not NAME=DIMENSION")
    contains(f.ctl("program", "capture", path, "x=[[1]]", "--dynamic", "z=0", status=1)[1], "no input 'z'")


def test_a_program_whose_inputs_have_values(f):
    path = os.path.join(f.dir, "v.json")
    program = {"inputs": {"x": {"data": [1, -2]}, "n": 3}, "outputs": ["y"],
               "steps": [{"op": "aten::mul.Tensor", "args": [{"ref": "x"}, {"ref": "n"}], "as": ["y"]}]}
    with open(path, "w") as out:
        json.dump(program, out)
    equal(f.lines("program", "check", path)[0], "program(any x, any n) -> (y)")
    equal(f.json("program", "run", path)["outputs"][0]["data"], [3, -6])
    equal(f.json("program", "run", path, "n=5")["outputs"][0]["data"], [5, -10])
    equal(f.json("program", "run", path, "x=[7]", "n=5")["outputs"][0]["data"], [35])
    del program["inputs"]
    program["steps"][0]["args"] = [{"data": [1]}, 2]
    with open(path, "w") as out:
        json.dump(program, out)
    equal(f.json("program", "run", path)["outputs"][0]["data"], [2])


def test_warnings_go_to_standard_error(f):
    f.ctl("plugin", "load", WARNS)
    equal(f.ctl("call", "warns::warn", "careful", "2"),
          ("2\n", "dispatchctl: warning: careful 0\ndispatchctl: warning: careful 1\n"))
    out, error = f.ctl("call", "warns::warn", "careful", "3", "same=true", "--json")
    equal((json.loads(out), error), ({"outputs": [3], "warnings": [{"type": "UserWarning", "message": "careful 0", "op": "warns::warn"}]}, ""))
    path = os.path.join(f.dir, "w.json")
    with open(path, "w") as out:
        json.dump({"inputs": [], "outputs": ["n"],
                   "steps": [{"op": "warns::warn", "args": ["step"], "as": [n]} for n in "mn"]}, out)
    equal(f.ctl("program", "run", path)[1], "dispatchctl: warning: step 0\n")
    equal(f.ctl("call", "aten::neg", "[1]")[1], "")


def test_help(f):
    groups = f.ctl("plugin", "--help")[0]
    contains(groups, "plugin load FILE")
    contains(groups, "plugin describe")
    equal("tensor" in groups, False, "another group's verbs")
    equal(f.ctl("help", "plugin", "load"), f.ctl("plugin", "load", "--help"))
    equal(f.ctl("help"), f.ctl("--help"))
    equal(f.lines("--version"), ["dispatchctl " + f.json("raw", "server.hello")["version"]])
    f.ctl("help", "nonsense", status=2)


def test_a_wrong_key_names_the_nearest(f):
    for words in (["table", "aten::mm", "--keys", "AutogradCPUU"], ["table", "--with", "aten::mm@AutogradCPUU"],
                  ["ops", "--key", "AutogradCPUU"],
                  ["raw", "session.set", '{"exclude":["AutogradCPUU"]}']):
        contains(f.ctl(*words, status=1)[1], "no dispatch key 'AutogradCPUU'; nearest: 'AutogradCPU'")
    contains(f.ctl("raw", "session.set", '{"include":["Autograd"]}', status=1)[1], "is an alias")


main(Fixture, TestDaemon.finish)
