"""test_forms.py -- how a plugin says what it has: DP_KERNEL in C and C++, a thousand of them, records
that a generator wrote, and blocks of two thousand."""

import os
import resource
import shutil
import subprocess
import tempfile
import time

from harness import BUILD, ROOT, contains, equal, main, raises
from daemon import TestDaemon

N = 1000
HEAD = """#include <dispatchd/plugin.h>
DP_PLUGIN(%s, "1.0")
static int add(dp_ctx *ctx, int64_t n, int64_t *out)
{
    (void)ctx;
    *out = n + 1;
    return 0;
}
DP_LIBRARY(%s, DP_DEF("f(int n) -> int"))
"""
THUNK = """static int boxed_add(dp_call *c)
{
    c->rets[0] = dp_int(0);
    return add(c->ctx, c->args[0].u.i, &c->rets[0].u.i);
}
"""


class Fixture:
    def __init__(self):
        self.daemon = TestDaemon("--plugin-path", os.path.join(BUILD, "tests", "plugins"))
        self.d = self.daemon.connect()
        self.dir = tempfile.mkdtemp(prefix="dispatchd-forms-")

    def build(self, name, source, n=N):
        """Compile and load it: n definitions and n kernels beside those of HEAD."""
        path = os.path.join(self.dir, name)
        with open(path + ".c", "w") as f:
            f.write(source)
        begun, used = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared",
                        "-fvisibility=hidden", "-I", os.path.join(ROOT, "libdispatch", "include"), "-o",
                        path + ".so", path + ".c"], check=True, timeout=120)
        seconds, now = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
        begun = time.monotonic()
        loaded = self.d.call("plugin.load", path=path + ".so")
        print(f"{name}: {n} definitions, {n} kernels: compiled in {seconds:.2f} s, {cpu:.2f} s of them computing, loaded in "
              f"{time.monotonic() - begun:.2f} s")
        equal((loaded["defs"], loaded["impls"]), (n + 1, n))


def finish(f):
    shutil.rmtree(f.dir)
    equal(f.d.call("server.status")["tensors"], 0, "live tensors")
    f.d.close()
    f.daemon.stop()


def unload(f, plugin):
    equal(f.d.call("plugin.unload", plugin=plugin)["unmapped"], True, "unmapped")


def test_kernels_of_cxx_that_have_no_plain_name(f):
    f.d.call("plugin.load", path="cxx_forms")
    op = lambda name, *args: f.d.op("cxx_forms::" + name, *args, returns="data")
    equal(op("add_", {"data": [1, 2], "dtype": "float32"})["data"], [2, 3])
    equal(op("add_.double", {"data": [1, 2], "dtype": "float64"})["data"], [3, 4])
    raises(lambda: op("add_.double", {"data": [1], "dtype": "float32"}), "TypeError", "not for float32")
    equal([op("next", 5), op("after", 6), op("half", 5.0)], [6, 7, 2.5])
    equal(op("twice", {"data": [1, 2]}, 3)["data"], [3, 6])
    equal(op("many", *range(1, 18), {"data": [0]}, [1, 2]), [1, sum(range(2, 17)) + 17000 + 3000000])
    path = os.path.join(BUILD, "tests", "plugins", "cxx_forms.so")
    symbols = subprocess.run(["nm", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    equal([line for line in symbols.splitlines() if "_GLOBAL__sub" in line], [], "code that runs at load")
    unload(f, "cxx_forms")


def test_a_thousand_kernels(f):
    f.build("kernels", HEAD % ("kernels", "kernels") + "".join(
        f'DP_LIBRARY_FRAGMENT(kernels, DP_DEF("f.n{i}(int n) -> int"))\n'
        f'DP_KERNEL(n{i}, kernels, CompositeExplicitAutograd, "f.n{i}", add, (i), (i))\n' for i in range(N)))
    equal(f.d.op("kernels::f.n999", 41), 42)
    unload(f, "kernels")


def test_a_thousand_records(f):
    def records(kind, key, items, lines):
        return (f"static const dp_item {kind}_items[] = {{\n" + "".join(items) + "};\n"
                f"DP_RECORDS({kind}, {kind}, records, {key}, {kind}_items, {N},\n" + "".join(lines) + ")\n")
    names = [f"f.n{i}" for i in range(N)]
    schemas = [name + "(int n) -> int" for name in names]
    source = (HEAD % ("records", "records") + THUNK
              + records("FRAGMENT", "", [f'{{sizeof(dp_item), DP_ITEM_DEF, 0, "{s}", "", 0, 0, ""}},\n'
                                         for s in schemas], [f'"def\\t{s}\\t\\n"\n' for s in schemas])
              + records("IMPL", "CompositeExplicitAutograd",
                        [f'{{sizeof(dp_item), DP_ITEM_IMPL, 0, "{n}", "", boxed_add, (dp_any_fn)add, "i>i"}},\n'
                         for n in names], [f'"impl\\t{n}\\ti>i\\n"\n' for n in names]))
    f.build("records", source)
    equal(f.d.op("records::f.n0", 1), 2)
    unload(f, "records")


def test_blocks_of_any_number_of_items(f):
    for n in 64, 65, 576, 577, 2000:  # the steps in which the macros take them, and many
        name = f"block{n}"
        source = HEAD % (name, name) + "static int boxed_add(dp_call *c)\n{\n    return add(c->ctx, 0, &c->rets[0].u.i);\n}\n"
        for block, items in [(f"DP_LIBRARY_FRAGMENT({name}, ", [f'DP_DEF("f.n{i}(int n) -> int")' for i in range(n)]),
                             (f"DP_LIBRARY_IMPL({name}, CompositeExplicitAutograd, ",
                              [f'DP_IMPL("f.n{i}", boxed_add)' for i in range(n)])]:
            source += block + ",\n".join(items) + ")\n"
        f.build(name, source, n)
        equal(set(f.d.call("registry.list", namespace=name)["ops"]), {f"{name}::f"} | {f"{name}::f.n{i}" for i in range(n)})
        unload(f, name)


def test_macros_named_like_letters_do_no_harm(f):
    source = HEAD % ("macros", "macros") + "#define T float\n#define f 7\n"
    source += 'DP_TYPED(call, (i), (i))\n__attribute__((unused)) static const char code[] = DP_CODE((i, T, f), (T));\n'
    source += 'DP_LIBRARY_IMPL(macros, CPU, DP_IMPL_UNBOXED("f", add, (i), (i)))\n'
    source += 'DP_KERNEL(id, macros, CompositeExplicitAutograd, "f", (add), (i), (i))\n'
    done = subprocess.run(["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I",
                           os.path.join(ROOT, "libdispatch", "include"), "-x", "c", "-"], input=source,
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    equal((done.returncode, done.stdout), (0, ""))


def test_a_block_of_too_many_items_says_what_to_do(f):
    items = ", ".join(f'DP_DEF("f.n{i}() -> ()")' for i in range(11400))
    done = subprocess.run(["gcc", "-std=gnu11", "-fsyntax-only", "-I",
                           os.path.join(ROOT, "libdispatch", "include"), "-x", "c", "-"],
                          input=f"#include <dispatchd/plugin.h>\nDP_LIBRARY(many, {items})\n", text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    equal(done.returncode, 1)
    contains(done.stdout, "DP_MORE_THAN_10000_ITEMS_IN_A_BLOCK_MAKE_TWO_OR_USE_DP_KERNEL")


def test_kernels_of_a_backend_make_their_views(*_):
    daemon = TestDaemon("--plugin-path", os.path.join(BUILD, "tests", "plugins"))
    with daemon.connect() as d:
        d.call("plugin.load", path="own_views")
        text = d.call("registry.dump")["text"]
        lines = [x for x in text.splitlines() if x.startswith("  own: own_views ") and "memory: host" not in x]
        contains("\n".join(lines), "[makes its views]")
        equal([x for x in lines if "without memory" in x], [])
        x = d.op("own_views::rest", {"data": [1, 2, 3], "device": "own"})
        equal((x["device"], d.call("tensor.read", tensor=x["tensor"])["data"]), ("own:0", [2, 3]))
        d.release(x)
        equal(d.call("plugin.unload", plugin="own_views")["unmapped"], True)
    daemon.finish()


if __name__ == "__main__":
    main(Fixture, finish)
