"""test_bench_aten.py -- the cases of `make bench-aten`, and the program that runs ours."""

import os
import sys

from harness import BUILD, ROOT, SANITIZED, contains, equal, less, main

sys.path.insert(0, os.path.join(ROOT, "tests", "bench"))
import aten_bench

PLUGINS = [os.path.join(BUILD, "plugins", p + ".so") for p in ("aten", "composite", "cpu")]


def program():
    return aten_bench.Worker(1, os.path.join(BUILD, "tests", "bench", "aten"), "1", *PLUGINS)


def end(p):
    p.process.stdin.close()
    equal(p.process.wait(), 0, "exit status")


def test_cases_are_complete():
    rows = aten_bench.cases("")
    less(119, len(rows), "number of cases")
    for r in rows:
        equal(len(r), 5, f"columns of {r}")
        contains(aten_bench.CLASSES, r["class"])
        contains(("fresh", "given"), r["form"])
    keys = [(r["name"], r["class"], r["form"]) for r in rows]
    equal(sorted({k for k in keys if keys.count(k) > 1}), [], "cases that are there twice")


def test_every_line_is_understood():
    p = program()
    small = [r for r in aten_bench.cases("") if r["class"] in ("1", "1k")]
    for r in small:
        answer = p.ask(f"case aten::{r['operator']} {r['arguments']}")
        equal("is not understood" in answer, False, f"{r['name']}: {answer}")
    end(p)


def test_answers():
    p = program()
    equal(p.ask("case aten::add.Tensor i64[2,3]<1 4"), "ok 48 24")
    equal(p.ask("case aten::cat {f32[2]<1;f32[3]<1} 0"), "ok 20 0")
    equal(p.ask("case aten::sum.dim_IntList f64[2,3]'<1 (1) dtype=f32"), "ok 8 0")
    equal(p.ask("case aten::add.out f32[4]<1 f32[4]<1 out=f32[4]"), "ok 16 0")
    equal(p.ask("case aten::no_such f32[4]"), "missing")
    contains(p.ask("case aten::mm f32[2,3] f32[2,3]"), "fails mat1 and mat2 shapes cannot be multiplied")
    contains(p.ask("case aten::relu f33[2]"), "fails argument f33[2] is not understood")
    p.ask("case aten::relu f32[4]")
    less(0, float(p.ask("run")), "nanoseconds")
    end(p)


def test_one_element():
    if SANITIZED:
        return
    p = program()
    words = p.ask("small").split()
    equal(words[::2], ["tensor", "view", "add.out", "add", "growth_kib", "rc"])
    equal(words[-1], "0", "what the calls returned")
    end(p)


def test_comparison():
    equal(aten_bench.differ("ok 8 3.0", "ok 8 3.0001"), False)
    equal(aten_bench.differ("ok 8 3.0", "ok 8 3.1"), True)
    equal(aten_bench.differ("ok 8 3.0", "ok 16 3.0"), True)
    equal(round(aten_bench.geometric([2, 8]), 6), 4)


main()
