"""test_conform_page.py -- the page of dispatchctl conform --html in a real browser, which leaves build/conform.png.

Skipped if Debian's package chromium is not installed, or does not even show an empty page, as in some sandboxes."""

import json
import os
import shutil
import subprocess
import sys
import tempfile

from browser import CHROMIUM, Browser
from daemon import TestDaemon
from harness import BUILD, contains, equal, less, main

UNRULY = os.path.join(BUILD, "tests", "plugins", "unruly.so")
# Text in the page that must not become an element of it: conform prints the socket as the reference's name.
SOCKET = "<i id=evil>&amp;.sock"
SHOWN = "[...document.querySelectorAll('#rows tr')].filter(e => e.getClientRects().length)"


class Fixture:
    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="dispatchd-page-")
        self.page = os.path.join(self.dir, "page.html")
        self.reference = os.path.join(self.dir, SOCKET)
        with TestDaemon("--plugin", UNRULY) as daemon:
            os.symlink(daemon.socket, self.reference)
            done = subprocess.run(
                [os.path.join(BUILD, "dispatchctl"), "conform", "--device", "npu", "--plugin", UNRULY, "--op", "aten::neg",
                 "--against", self.reference, "--html", self.page, "--json"], capture_output=True, text=True, timeout=240,
                env={**os.environ, "TMPDIR": self.dir, "UNRULY_NEG": "wrong"})
        equal((done.returncode, done.stderr), (1, ""))
        self.report = json.loads(done.stdout)
        self.cells = self.report["cells"]
        self.browser = Browser()
        self.browser.open(self.page)

    def shown(self):
        """Names of the operators whose rows are shown."""
        return self.browser.run(SHOWN + ".map(e => e.firstChild.textContent)")

    def end(self):
        self.browser.close()
        shutil.rmtree(self.dir)


def ops(cells):
    return list(dict.fromkeys(c["op"] for c in cells))


def test_it_is_whole_without_anything_else(f):
    equal(f.browser.errors, [], "errors in the console")
    equal([r.split("?")[0] for r in f.browser.requests], ["file://" + f.page], "requests")
    contains(f.browser.run("document.body.innerText"), f"{len(f.cells)} operators and dtypes, seed 0")


def test_text_stays_text(f):
    equal(f.browser.run("document.querySelectorAll('#evil').length"), 0, "elements that a socket's name made")
    for where in ("document.title", "document.querySelector('h1').textContent"):
        equal(f.browser.run(where), f"npu beside {f.reference}")


def test_the_grid(f):
    equal({c["verdict"] for c in f.cells}, {"pass", "fell back", "differs"}, "verdicts in the report")
    equal(f.shown(), ops(f.cells))
    heads = f.browser.run("[...document.querySelectorAll('#dtypes th')].map(e => e.textContent)")
    equal((heads[0], sorted(heads[1:])), ("operator", sorted({c["dtype"] for c in f.cells})))
    grid = f.browser.run(SHOWN + ".map(e => [...e.children].map(td => td.querySelector('button')?.title ?? ''))")
    equal(sorted(t for row in grid for t in row if t),
          sorted(f"{c['op']} {c['dtype']}: {c['verdict']}" for c in f.cells))
    for row, op in zip(grid, ops(f.cells)):
        for title, dtype in zip(row[1:], heads[1:]):
            if title:
                equal(title.split(":")[:-1], f"{op} {dtype}".split(":"), "a cell's place")


def test_a_filter_hides_rows(f):
    b = f.browser
    b.click("#search")
    b.type("NEG out")
    want = [op for op in ops(f.cells) if "neg" in op and "out" in op]
    equal(f.shown(), want)
    less(len(want), len(ops(f.cells)), "rows")
    contains(b.run("document.getElementById('shown').textContent"), f"{len(want)} of {len(ops(f.cells))} operators")
    b.type("no such operator")
    equal(f.shown(), [])
    b.click("#all")
    equal(f.shown(), ops(f.cells))


def test_a_verdict_is_left_out(f):
    b = f.browser
    for button, left_out in (("input[name='fell back']", ("fell back",)), ("#faults", ("pass", "fell back"))):
        kept = [c for c in f.cells if c["verdict"] not in left_out]
        b.click(button)
        equal(f.shown(), ops(kept))
        equal(b.run(SHOWN + ".flatMap(e => [...e.querySelectorAll('button')])"
                    ".filter(e => e.getClientRects().length).length"), len(kept), "cells that are shown")
        b.click("#all")


def test_a_click_shows_the_calls(f):
    b = f.browser
    cell = next(c for c in f.cells if c["verdict"] == "differs")
    equal(b.run("document.getElementById('detail').getClientRects().length"), 0, "details before a click")
    b.click(f"button[title='{cell['op']} {cell['dtype']}: differs']")
    text = b.run("document.getElementById('detail').innerText")
    contains(text, f"{cell['op']} {cell['dtype']}: {sum(cell['counts'].values())} calls")
    contains(text, f"differs {cell['counts']['differs']}")
    contains(text, cell["call"])
    contains(text, cell["why"])
    b.screenshot(os.path.join(BUILD, "conform.png"))
    b.press("Escape")
    equal(b.run("document.getElementById('detail').getClientRects().length"), 0, "details after Escape")


def contrast(b):
    """The least contrast of the page's texts with what is behind them, as WCAG 2 computes it."""
    return b.run("""(() => {
        const rgb = c => c.match(/[\\d.]+/g).map(Number);
        const light = c => rgb(c).slice(0, 3).map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
            .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
        const behind = e => { for (; e; e = e.parentElement) {
            const c = getComputedStyle(e).backgroundColor; if ((rgb(c)[3] ?? 1) > 0) return c }
            return 'rgb(255, 255, 255)' };
        return Math.min(...[...document.querySelectorAll('h1, p, small, td, th, td button, .swatch')]
            .map(e => [light(getComputedStyle(e).color), light(behind(e))].sort((a, b) => a - b))
            .map(([dark, bright]) => (bright + 0.05) / (dark + 0.05)));
    })()""")


def test_it_can_be_read_in_light_and_dark(f):
    b = f.browser
    backgrounds = set()
    for scheme in ("light", "dark"):
        b.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        backgrounds.add(b.run("getComputedStyle(document.body).backgroundColor"))
        less(4.5, contrast(b), f"contrast, {scheme}")
    equal(len(backgrounds), 2, "backgrounds")


def test_it_may_ask_for_nothing(f):
    """The page's policy refuses what a script in it would ask for."""
    b = f.browser
    outside = "file://" + f.page + ".png"
    for script in (f"fetch('{outside}').then(() => 'answered', () => 'refused')",
                   f"new Promise(done => {{ const i = new Image(); i.onload = () => done('answered'); "
                   f"i.onerror = () => done('refused'); i.src = '{outside}' }})"):
        equal(b.run(script), "refused")
    b.wait(lambda: sum("Content Security Policy" in e for e in b.errors) >= 2, "two reports of a refusal")
    equal([r for r in b.requests if r.startswith("http")], [])


missing = "package chromium is not installed" if CHROMIUM is None else Browser.refusal()
if missing:
    print(f"skipped test_conform_page.py: {missing}\n0 passed, 0 failed")
    sys.exit(0)
main(Fixture, Fixture.end)
