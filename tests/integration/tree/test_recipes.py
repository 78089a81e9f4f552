"""test_recipes.py -- each recipe of CONTRIBUTING.md with numbered steps, walked in a copy of the tree.

A walk applies its edits, writes the generated pages, compares the files that changed with those that the steps name,
and checks who includes whom and that PyTorch has the schemas.  Then it compiles what the edits reach by the Makefile's
rules, and looks for the addition in the objects: for its symbol, or by a program that is linked with them.  The build
directory of the tests is not used."""

import filecmp
import os
import re
import shutil
import subprocess
import sys
import tempfile

from harness import ROOT, contains, equal, less, main

# The environment of all commands: nothing of a make that runs this test but its compiler and its sanitizers.
ENVIRONMENT = {**{name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ},
               "CC": os.environ.get("CC", "gcc"), "SANITIZE": os.environ.get("SANITIZE", ""), "PYTHONDONTWRITEBYTECODE": "1"}
PLACEHOLDERS = re.compile(r"\b(NAME|FAMILY)\b")


# -- edits: (path, text that stands there once, text in its place); "" is the end of the file, None makes the file --

def after(path, old, new):
    return path, old, old + new


def before(path, old, new):
    return path, old, new + old


NATIVE, POINTWISE, REDUCE = (f"proto/ops/{name}.yaml" for name in ("native_functions", "pointwise", "reduce"))
INCLUDE = "libdispatch/include/dispatchd/"
MAP_END = " " * 20  # between the end of a row of an X macro and its backslash

PROGRAM_HEAD = '#include "base/backend.h"\n#include "base/levels/convert.h"\n#include <stdio.h>\n'


class Walk:
    """recipe: its heading in CONTRIBUTING.md.  objects: what is compiled, below the build directory.  defines: symbols
    by object.  program: C statements, linked with the objects of libdispatch; prints: its output."""

    def __init__(self, recipe, edits, objects, defines=(), text=(), program=None, prints=None):
        self.recipe, self.edits, self.objects, self.defines, self.text = recipe, edits, objects, dict(defines), dict(text)
        self.program, self.prints = program, prints


POINTWISE_OPERATOR = Walk(
    "A pointwise operator", [
        (NATIVE, "", "- func: _masked_scale(Tensor self, Tensor mask, float scale) -> Tensor\n  dispatch: CPU\n"
                     "  autogen: _masked_scale.out\n"),
        after(POINTWISE, "\nlosses:\n", "- op: masked_scale\n  func: _masked_scale\n  args: [self, mask]\n  params: [scale]\n"
                                        "  float: self * mask * scale\n")],
    ["gen/aten.o", "gen/pointwise_entries.o", "gen/levels/pw_losses_v1.o", "gen/composite_follow.o"],
    defines={"gen/pointwise_entries.o": "call__masked_scale", "gen/levels/pw_losses_v1.o": "masked_scale_f32"},
    text={"gen/pointwise_entries.c": 'DP_IMPL_UNBOXED("_masked_scale", call__masked_scale, (T, T, f), (T))',
          "gen/composite_follow.c": '"aten::_masked_scale.out", "aten::_masked_scale"',
          "gen/dispatchd/aten.h": "dp_aten__masked_scale("})

REDUCTION = Walk(
    "A reduction", [
        (NATIVE, "", "- func: _sparse_csr_sum.dim_dtype(Tensor self, int[1] dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor\n"
                     "  dispatch: CPU\n  autogen: _sparse_csr_sum.dim_dtype_out\n"),
        after(REDUCE, "\ntruth:\n", "- op: sparse_csr_sum\n  func: _sparse_csr_sum.dim_dtype\n  types: float\n  merge: a + b\n"
                                    "  none: 0\n  flags: [RD_DTYPE]\n"),
        ("tests/operators/cases/reduce.py", "", 'CASES["_sparse_csr_sum.dim_dtype"] = lambda: (((x, [0]), {}) for x in counted())\n')],
    ["gen/aten.o", "gen/reduce_entries.o", "gen/levels/rd_truth_v1.o", "gen/composite_follow.o"],
    defines={"gen/reduce_entries.o": "reduce__sparse_csr_sum_dim_dtype", "gen/levels/rd_truth_v1.o": "sparse_csr_sum_f32_merge"},
    text={"gen/reduce_entries.c": 'DP_IMPL_UNBOXED("_sparse_csr_sum.dim_dtype", reduce__sparse_csr_sum_dim_dtype, (T, li, b, oi), (T))'})

FAMILY = Walk(
    "A family of operators", [
        (NATIVE, "", "- func: dense_dim(Tensor self) -> int\n  dispatch: CPU\n"),
        ("plugins/cpu/sparse/dense_dim.c", None, """\
/* dense_dim.c -- dense_dim, the number of dimensions that are stored densely
 * (aten/src/ATen/native/sparse/SparseTensor.cpp).  A strided tensor stores all of them so. */
#include <dispatchd/plugin.h>

static int dense_dim(dp_ctx *ctx, dp_tensor *self, int64_t *out)
{
    DP_VIEW(x, self);

    (void)ctx;
    *out = x.ndim;
    return 0;
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("dense_dim", dense_dim, (T), (i)))
"""),
        ("tests/operators/cases/sparse.py", None, '''\
"""sparse.py -- how a tensor is stored."""

from cases.inputs import CASES, with_args

CASES["dense_dim"] = with_args(())
''')],
    ["gen/aten.o", "plugins/cpu/sparse/dense_dim.o"], defines={"plugins/cpu/sparse/dense_dim.o": "dense_dim"},
    text={"gen/dispatchd/aten.h": "dp_aten_dense_dim("})

METHOD = Walk(
    "A method of the protocol", [
        ("proto/methods/server.uptime.json", None, """\
{
    "summary": "How long the daemon has run",
    "runs": "loop",
    "params": {
        "type": "object",
        "required": ["unit"],
        "properties": {"unit": {"type": "string", "enum": ["ms", "s"]}}
    },
    "result": {
        "type": "object",
        "required": ["uptime"],
        "properties": {"uptime": {"type": "integer", "minimum": 0}}
    }
}
"""),
        before("daemon/methods/service.c", "int server_shutdown(request *rq, const", """\
int server_uptime(request *rq, const server_uptime_params *p, jw *w, dp_error *err)
{
    server_info f;

    (void)err;
    rq->daemon->info(rq->conn, &f);
    jw_object(w);
    member_int(w, "uptime", (int64_t)f.uptime_ms / (p->unit == SERVER_UPTIME_UNIT_S ? 1000 : 1));
    jw_object_end(w);
    return 0;
}

"""),
        before("tests/integration/daemon/test_methods.py", "def test_discover_describes_what_is_there(f):\n", """\
def test_uptime_grows(f):
    first = f.call("server.uptime", unit="ms")["uptime"]
    less(first - 1, f.call("server.uptime", unit="ms")["uptime"])


""")],
    ["gen/proto_tables.o", "daemon/methods/service.o"],
    defines={"daemon/methods/service.o": "server_uptime", "gen/proto_tables.o": "run_server_uptime"},
    text={"gen/proto_tables.c": '{"server.uptime", run_server_uptime, METHOD_LOOP,'})

ERROR_CODE = Walk(
    "An error code", [
        after(INCLUDE + "error.h", '    X(DP_ECANCELLED, -15, "Cancelled", "called off before it ran")',
              MAP_END + '\\\n    X(DP_EFULL, -16, "StorageFull", "no space is left on a disk")'),
        ("docs/protocol.md", "`DeadlineExceeded`, `Cancelled`. The", "`DeadlineExceeded`, `Cancelled`,\n`StorageFull`. The")],
    ["libdispatch/base/error.o"],
    program="""
    dp_error err = DP_ERROR_INIT;
    int rc = dp_error_set(&err, DP_EFULL, "disk %d", 1);
    printf("%d %s: %s, %s", rc, dp_error_name(err.code), dp_error_text(err.code), err.message);
""", prints="-16 StorageFull: no space is left on a disk, disk 1")

CONVERT, PROMOTE = "libdispatch/base/levels/convert.h", "libdispatch/tensor/promote.c"
# What the rows of the table of promotions get as their last column, row by row.
UINT32 = dict(u1="u4", i1="i8", i2="i8", i4="i8", i8="i8", f2="f2", f4="f4", f8="f8", c8="c8", c16="c16", b1="u4", bf="bf")
DTYPE = Walk(
    "A dtype", [
        after(INCLUDE + "tensor.h", '    X(DP_BFLOAT16, 15, "bfloat16", "BFloat16", 2, FLOATING)',
              MAP_END + '\\\n    X(DP_UINT32, 28, "uint32", "UInt32", 4, INTEGRAL)'),
        (INCLUDE + "tensor.h", re.compile(r'    X\(28, "uint32"\) *\\\n'), ""),
        after(CONVERT, "typedef int32_t cv_i32 CV_UNALIGNED;\n", "typedef uint32_t cv_u32 CV_UNALIGNED;\n"),
        before(CONVERT, "    X(i64, DP_INT64, cv_i64, I, __VA_ARGS__)", "    X(u32, DP_UINT32, cv_u32, I, __VA_ARGS__)" + MAP_END + "\\\n"),
        before(CONVERT, "    X(i64, DP_INT64, cv_i64) ", "    X(u32, DP_UINT32, cv_u32)" + MAP_END + "\\\n"),
        before(CONVERT, "#define CV_READ_i64(x) ", "#define CV_READ_u32(x)  (x)\n"),
        before(CONVERT, "#define CV_PUT_I_i64(x) ", "#define CV_PUT_I_u32(x)  ((uint32_t)(x))\n"),
        before(CONVERT, "#define CV_PUT_R_i64(x) ", "#define CV_PUT_R_u32(x)  ((uint32_t)CV_INT64(CV_REAL(x)))\n"),
        before(CONVERT, "#define CV_PUT_C_i64(x) ", "#define CV_PUT_C_u32(x)  CV_PUT_R_u32(x)\n"),
        (PROMOTE, "b1, bf, DTYPES };", "b1, bf, u4, DTYPES };"),
        (PROMOTE, "[DP_BFLOAT16] = bf,\n", "[DP_BFLOAT16] = bf,\n    [DP_UINT32] = u4,\n"),
        (PROMOTE, "[bf] = DP_BFLOAT16,\n", "[bf] = DP_BFLOAT16,\n    [u4] = DP_UINT32,\n"),
        *((PROMOTE, re.compile(rf"(    \[{row}\] *= \{{.*?) \}},\n"), rf"\1, {with_u4} }},\n") for row, with_u4 in UINT32.items()),
        (PROMOTE, "};\n/* clang-format on */", f"    [u4]  = {{ {', '.join(UINT32.values())}, u4 }},\n}};\n/* clang-format on */"),
        after("libdispatch/tensor/scalar.c", "    [DP_BFLOAT16] = {-0x1.fep127, 0x1.fep127},\n", "    [DP_UINT32] = {0, 0x1p32 - 1},\n"),
        before(INCLUDE + "dtypes.h", "#define DP_DTYPES_FLOATING(X)", "#define DP_DTYPES_UINT32(X) X(u32, DP_UINT32, uint32_t, uint32_t, , (uint32_t))\n"),
        after("daemon/methods/literal.c", "    {DP_QINT32, INT32_MIN, INT32_MAX},\n", "    {DP_UINT32, 0, UINT32_MAX},\n"),
        ("proto/types/dtype.json", '        "qint32"\n', '        "qint32",\n        "uint32"\n')],
    [f"libdispatch/{name}.o" for name in ("base/dtype", "base/error", "base/levels/convert_v1", "tensor/promote", "tensor/scalar",
                                          "tensor/twist")] + ["gen/proto_tables.o", "daemon/methods/literal.o", "daemon/json/print.o"],
    text={"gen/proto_tables.c": '"qint32", "uint32"'},
    program="""
    const double in = 4e9;
    uint32_t element = 0;
    double out = 0;
    dpi_converts_v1[DP_UINT32][DP_FLOAT64]((char *)&element, 4, (const char *)&in, 8, 1);
    dpi_converts_v1[DP_FLOAT64][DP_UINT32]((char *)&out, 8, (const char *)&element, 4, 1);
    dp_dtype d = dp_dtype_parse("uint32");
    printf("%d %s %d %d %g %s %s", d, dp_dtype_name(d), (int)dp_dtype_size(d), dp_dtype_is_integral(d, false), out,
           dp_dtype_name(dp_promote_types(d, DP_INT8)), dp_dtype_name(dp_promote_types(DP_BOOL, d)));
""", prints="28 uint32 4 1 4e+09 int64 uint32")

KEY = Walk(
    "A dispatch key", [
        before(INCLUDE + "key.h", '    X(Named, 16, 0, "")', '    X(Profiled, 57, 0, "")' + MAP_END + "\\\n"),
        ("libdispatch/dispatch/registry/table.c", "DPI_BIT(VmapMode);\n", "DPI_BIT(VmapMode) |\n    DPI_BIT(Profiled);\n"),
        ("libdispatch/dispatch/ask/explain.c", "    DPI_BIT(Fake);\n", "    DPI_BIT(Fake) | DPI_BIT(Profiled);\n")],
    [f"libdispatch/{name}.o" for name in ("base/key", "base/kind", "base/backend", "base/error", "base/nearest", "base/mem",
                                          "dispatch/registry/table", "dispatch/ask/explain")],
    program="""
    char name[DP_KEY_NAME_MAX], other[DP_KEY_NAME_MAX];
    dp_keyset both = dp_keyset_or(dp_keyset_of(DP_KEY(DP_F_Profiled)), dp_keyset_of(DP_KEY(DP_F_Named)));
    dp_key below = dp_keyset_highest(dp_keyset_below(both, DP_KEY(DP_F_Named)));
    printf("%s %d above %s", dp_key_name(below, name), dp_key_parse("Profiled") >> 8,
           dp_key_name(dp_keyset_highest(dp_keyset_of(DP_KEY(DP_F_Functionalize))), other));
""", prints="Profiled 57 above Functionalize")

WALKS = [POINTWISE_OPERATOR, REDUCTION, FAMILY, METHOD, ERROR_CODE, DTYPE, KEY]


# -- the page --

def recipes():
    """{heading: [path of each step]} of the recipes with numbered steps"""
    with open(os.path.join(ROOT, "CONTRIBUTING.md"), encoding="utf-8") as f:
        sections = re.split(r"^### ", f.read().split("\n## Recipes\n")[1], flags=re.M)[1:]
    steps = {s.split("\n")[0]: re.findall(r"^\d+\. `([^`]+)`:", s, re.M) for s in sections}
    return {heading: paths for heading, paths in steps.items() if paths}


def is_path(pattern, path):
    """Is `path` what the step's `pattern` names?  NAME and FAMILY stand for a word, which may have dots."""
    parts = PLACEHOLDERS.split(pattern)
    return re.fullmatch("".join(r"[\w.]+" if i % 2 else re.escape(part) for i, part in enumerate(parts)), path) is not None


# -- the copy --

def tree_files():
    """Return the paths of the tree's files: git's, or outside of git all but those of build directories."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True) \
        if os.path.exists(os.path.join(ROOT, ".git")) and shutil.which("git") else None
    if listed and listed.returncode == 0:
        return [p for p in listed.stdout.split("\0") if p and os.path.isfile(os.path.join(ROOT, p))]
    found = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [f for f in folders if f not in (".git", "__pycache__") and not (folder == ROOT and re.match("build(-|$)", f))]
        found += [os.path.relpath(os.path.join(folder, name), ROOT) for name in names]
    return found


class Original:
    """A copy of the tree in which the generated pages are new; each walk gets a copy of it, whose files are links."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="recipes-")
        self.root = os.path.join(self.folder.name, "original")
        self.files = tree_files()
        less(1000, len(self.files), "files of the tree")
        self.copy_to(self.root, ROOT, shutil.copy2)
        make(self.root, "map")

    def copy_to(self, to, root, copy):
        for folder in {os.path.dirname(path) for path in self.files}:
            os.makedirs(os.path.join(to, folder), exist_ok=True)
        for path in self.files:
            copy(os.path.join(root, path), os.path.join(to, path))

    def changed(self, copy):
        """Return the files of the copy that are new, or have other text."""
        now = {os.path.relpath(os.path.join(folder, name), copy) for folder, _, names in os.walk(copy) for name in names}
        equal(sorted(set(self.files) - now), [], "files that the recipe removed")
        return sorted(p for p in now if p not in self.files
                      or not filecmp.cmp(os.path.join(self.root, p), os.path.join(copy, p), shallow=False))

    def done(self):
        self.folder.cleanup()


def apply(edit, copy):
    path, old, new = edit
    name = os.path.join(copy, path)
    if old is None:
        equal(os.path.exists(name), False, f"{path} is there before the recipe made it")
        os.makedirs(os.path.dirname(name), exist_ok=True)
        text = new
    else:
        with open(name, encoding="utf-8") as f:
            text = f.read()
        pattern = old if isinstance(old, re.Pattern) else re.compile(re.escape(old))
        if old == "":
            text += new
        else:
            equal(len(pattern.findall(text)), 1, f"how often {path} has {pattern.pattern!r}")
            text = pattern.sub(new if isinstance(old, re.Pattern) else lambda _: new, text)
        os.unlink(name)  # a link to the original
    with open(name, "w", encoding="utf-8") as f:
        f.write(text)


def run(command, copy, what, **env):
    done = subprocess.run(command, cwd=copy, env={**ENVIRONMENT, **env}, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise AssertionError(f"{what}: exit status {done.returncode}\n{(done.stdout + done.stderr)[-4000:]}")
    return done.stdout


def make(copy, *targets):
    return run(["make", f"BUILD={os.path.join(copy, 'build')}", *targets], copy, "make " + " ".join(targets))


# -- checks --

def check_tree(copy):
    """Run the tests of the tree that tell who includes whom, and look up the schemas among PyTorch's."""
    said = run([sys.executable, "tests/integration/tree/test_rooms.py"], copy, "test_rooms.py",
               PYTHONPATH=os.path.join(copy, "tests", "lib"), TESTS="includes", BUILD=os.path.join(copy, "build"))
    contains(said, "3 passed, 0 failed")
    with open(os.path.join(copy, "tests", "data", "aten_schemas.txt")) as f:
        known = set(f.read().splitlines())
    with open(os.path.join(copy, NATIVE)) as f:
        funcs = re.findall(r"^- func: (.*)$", f.read(), re.M)
    less(1000, len(funcs), "schemas")
    equal([func for func in funcs if "aten::" + func not in known], [], "schemas that PyTorch does not have")


def check_objects(walk, copy):
    make(copy, *(f"build/{name}" for name in walk.objects))
    for name, symbol in walk.defines.items():
        listed = run(["nm", f"build/{name}"], copy, f"nm {name}")
        equal(re.search(rf" [tT] {re.escape(symbol)}(\.|$)", listed, re.M) is not None, True, f"{name} defines {symbol}")
    for name, text in walk.text.items():
        with open(os.path.join(copy, "build", name), encoding="utf-8") as f:
            contains(f.read(), text, name)


def stubs(objects, copy):
    """Return C that defines what these objects of libdispatch use of others; a program that reaches it dies."""
    defined, used = set(), {}
    for kind, section, name in re.findall(r"^ *\d+: \w+ +\d+ (\w+) +(?:GLOBAL|WEAK) +\w+ +(\w+) (\w+)$",
                                          run(["readelf", "-sW", *objects], copy, "readelf"), re.M):
        if section != "UND":
            defined.add(name)
        elif name.startswith("dp"):
            used[name] = f"_Thread_local char {name}[64];" if kind == "TLS" else f"void {name}(void)\n{{\n    __builtin_trap();\n}}"
    return "\n".join(text for name, text in sorted(used.items()) if name not in defined)


def check_program(walk, copy):
    """Link a program with the objects of libdispatch, compiled by the library's flags, and compare what it prints."""
    objects = [f"build/{name}" for name in walk.objects if name.startswith("libdispatch/")]
    for name, text in (("walk.c", f"{PROGRAM_HEAD}\nint main(void)\n{{\n{walk.program}\n    return 0;\n}}\n"), ("stubs.c", stubs(objects, copy))):
        with open(os.path.join(copy, "build", name), "w") as f:
            f.write(text)
    with open(os.path.join(copy, "build", "flags", "lib")) as f:
        flags = f.read().strip()
    run(["sh", "-c", f"{flags} -o build/walk build/walk.c build/stubs.c {' '.join(objects)} -lpthread -lm"], copy, "link")
    equal(run(["build/walk"], copy, "the program"), walk.prints, "what the program prints")


def follow(walk, original):
    """Walk a recipe in a copy of the tree."""
    named = recipes()
    equal(walk.recipe in named, True, f"CONTRIBUTING.md has the recipe '{walk.recipe}'")
    copy = os.path.join(original.folder.name, walk.recipe.replace(" ", "-"))
    original.copy_to(copy, original.root, os.link)
    for edit in walk.edits:
        apply(edit, copy)
    make(copy, "map")
    steps, touched = named[walk.recipe], original.changed(copy)
    equal([p for p in touched if not any(is_path(s, p) for s in steps)], [], "files that the recipe touches but does not name")
    equal([s for s in steps if not any(is_path(s, p) for p in touched)], [], "files that the recipe names but does not touch")
    check_tree(copy)
    check_objects(walk, copy)
    if walk.program:
        check_program(walk, copy)
    shutil.rmtree(copy)


def test_every_recipe_with_steps_is_walked():
    equal(sorted(recipes()), sorted(walk.recipe for walk in WALKS), "recipes of CONTRIBUTING.md with numbered steps")


def test_a_step_names_a_path():
    equal([is_path("plugins/cpu/FAMILY/NAME.c", p) for p in ("plugins/cpu/sparse/dim.c", "plugins/cpu/dim.c", "plugins/cpu/a/b/dim.c")],
          [True, False, False])
    equal(is_path("README.md", "READMEamd"), False)


def test_the_page_of_the_protocol_names_every_error():
    with open(os.path.join(ROOT, INCLUDE, "error.h")) as f:
        names = re.findall(r'^    X\(DP_E\w+, -\d+, "(\w+)"', f.read(), re.M)
    with open(os.path.join(ROOT, "docs", "protocol.md")) as f:
        page = f.read()
    less(10, len(names), "error codes")
    equal([n for n in names[5:] if f"`{n}`" not in page], [], "errors that are not PyTorch's and not on docs/protocol.md")


def test_a_pointwise_operator(original):
    follow(POINTWISE_OPERATOR, original)


def test_a_reduction(original):
    follow(REDUCTION, original)


def test_a_family(original):
    follow(FAMILY, original)


def test_a_method(original):
    follow(METHOD, original)


def test_an_error_code(original):
    follow(ERROR_CODE, original)


def test_a_dtype(original):
    follow(DTYPE, original)


def test_a_dispatch_key(original):
    follow(KEY, original)


main(Original, Original.done)
