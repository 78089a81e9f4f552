"""test_pages.py -- the blocks of docs/python.md run, in order, and print what the page says; the examples run, the
notebook among them; %%kernel."""

import contextlib
import glob
import io
import json
import os
import re
import subprocess
import sys
import tempfile

from harness import BUILD, ROOT, contains, equal, less, main

try:
    import numpy
except ImportError:
    print("skipped: numpy is not there\n0 passed, 0 failed")
    sys.exit()
import dispatchd as dd

os.environ.setdefault("DISPATCHD", os.path.join(BUILD, "dispatchd"))
os.environ.pop("DISPATCHD_SOCKET", None)
PAGE = os.path.join(ROOT, "docs", "python.md")
EXAMPLES = os.path.join(ROOT, "clients", "python", "examples")


def run(code, names):
    """What a block prints; the value of its last line is shown, as a notebook does."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        lines = code.rstrip("\n").split("\n")
        try:
            last = compile(lines[-1], "page", "eval")
            exec(compile("\n".join(lines[:-1]), "page", "exec"), names)
            value = eval(last, names)
            if value is not None:
                print(repr(value))
        except SyntaxError:
            exec(compile(code, "page", "exec"), names)
    return out.getvalue()


def test_the_blocks_of_the_page():
    with open(PAGE, encoding="utf-8") as f:
        page = f.read()
    blocks = re.findall(r"```python\n(.*?)```\n(?:```output\n(.*?)```)?", page, re.S)
    less(10, len(blocks), "blocks")
    equal(page.count("```python"), len(blocks), "blocks that are understood")
    names = {}
    for code, want in blocks:
        equal(run(code, names), want, f"block:\n{code}")
    dd.plugins.unload("mine")


def test_the_examples_run():
    found = sorted(glob.glob(os.path.join(EXAMPLES, "*.py")))
    less(2, len(found), "examples")
    for path in found:
        done = subprocess.run([sys.executable, "-W", "error", path], capture_output=True, text=True, timeout=300, env={
            **os.environ, "PYTHONPATH": os.path.join(ROOT, "clients", "python")})
        equal((done.returncode, done.stderr), (0, ""), path)
        contains(done.stdout, "ok", path)


def said(notebook):
    """Return the source and the printed text of each cell of code, without times."""
    with open(notebook, encoding="utf-8") as f:
        cells = [c for c in json.load(f)["cells"] if c["cell_type"] == "code"]
    texts = [["".join(o["text"] if "text" in o else o.get("data", {}).get("text/plain", o.get("traceback", ""))) for o in c["outputs"]]
             for c in cells]
    return [("".join(c["source"]), re.sub(r"[0-9.]+ ms", "... ms", "".join(t))) for c, t in zip(cells, texts)]


def test_the_notebook_prints_what_it_shows():
    if subprocess.run([sys.executable, "-c", "import nbconvert, ipykernel"], capture_output=True).returncode:
        print("skipped: python3-nbconvert or python3-ipykernel is not there")
        return
    path = os.path.join(EXAMPLES, "backend.ipynb")
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--allow-errors", "--output-dir", folder, path],
            capture_output=True, text=True, timeout=300, env={
                **os.environ, "PYTHONPATH": os.path.join(ROOT, "clients", "python"), "HOME": folder, "JUPYTER_RUNTIME_DIR": folder,
                "IPYTHONDIR": folder})
        equal(done.returncode, 0, done.stderr)
        want, got = said(path), said(os.path.join(folder, "backend.ipynb"))
        less(7, len(got), "cells of code")
        for (source, shown), (_, printed) in zip(want, got):
            equal(printed, shown, f"cell:\n{source}")


class Shell:
    """What %load_ext gives an extension, as far as ours uses it."""

    def register_magic_function(self, f, kind, name):
        equal((kind, name), ("cell", "kernel"))
        self.kernel = f


def test_the_magic_compiles_loads_and_reloads():
    with open(PAGE, encoding="utf-8") as f:
        source = re.search(r"source = r'''(.*?)'''", f.read(), re.S)[1].replace("mine", "magic")
    shell = Shell()
    dd.load_ipython_extension(shell)
    for factor, said in (("2", "plugin magic 1.0 loaded: 1 operators, 1 kernels"), ("3", "plugin magic 1.0 reloaded")):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            shell.kernel("magic", source.replace("= 2 *", f"= {factor} *"))
        contains(out.getvalue(), said)
        equal(dd.ops.magic.twice(dd.ones(2)).tolist(), [float(factor)] * 2)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        shell.kernel("magic", source.replace("int rc", "integer rc"))
    contains(out.getvalue(), "magic.c does not compile", "the compiler's message")
    equal(dd.ops.magic.twice(dd.ones(2)).tolist(), [3.0] * 2, "the old code stays")
    dd.plugins.unload("magic")


main()
