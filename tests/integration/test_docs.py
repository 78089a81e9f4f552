"""test_docs.py -- runs every command of docs/protocol.md and compares what it prints with the page;
and no page has lines that are too long.

A block ```sh is run; a block ```output after it is what it must print, where "..." stands for
anything.  Blocks run one after the other in one shell, so that functions stay defined."""

import glob
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from harness import BUILD, ROOT, equal, less, main
from daemon import TestDaemon

PAGE = os.path.join(ROOT, "docs", "protocol.md")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
MARK = "-- end of block --"
WIDTH = 110  # of a page, outside of code and tables


def blocks():
    """[(commands, what they must print or None)]"""
    with open(PAGE) as f:
        found = BLOCK.findall(f.read())
    pairs = []
    for language, text in found:
        if language == "output":
            pairs[-1] = (pairs[-1][0], text)
        else:
            equal(language, "sh", "language of a block in docs/protocol.md")
            pairs.append((text, None))
    return pairs


def netcat_speaks_unix():
    try:
        done = subprocess.run(["nc", "-h"], capture_output=True, text=True)
    except FileNotFoundError:
        return False
    return "-N" in done.stdout + done.stderr and "-U" in done.stdout + done.stderr


def run(script, daemon):
    env = {**os.environ, "DISPATCHD_SOCKET": daemon.socket, "BUILD": BUILD}
    if not netcat_speaks_unix():
        env["PATH"] = daemon.dir + os.pathsep + env["PATH"]
        os.symlink(os.path.join(ROOT, "tests", "lib", "nc"), os.path.join(daemon.dir, "nc"))
    with tempfile.NamedTemporaryFile("w", suffix=".sh") as f:
        f.write(script)
        f.flush()
        done = subprocess.run(["sh", f.name], env=env, capture_output=True, text=True, timeout=120)
    equal((done.returncode, done.stderr), (0, ""), "status and standard error of the page's commands")
    return done.stdout


def matches(want, got):
    pattern = ".*".join(re.escape(part) for part in want.split("..."))
    return re.fullmatch(pattern, got) is not None


def test_every_command_prints_what_the_page_says(f):
    pairs = blocks()
    less(10, len(pairs), "blocks on the page")
    script = "".join(f"{commands}echo '{MARK}'\n" for commands, _ in pairs)
    printed = run(script, f).split(MARK + "\n")
    equal(len(printed), len(pairs) + 1, "blocks that ran")
    wrong = []
    for (commands, want), got in zip(pairs, printed):
        want, got = (want or "").splitlines(), got.splitlines()
        if len(want) != len(got):
            wrong.append(f"{commands}printed {len(got)} lines, the page has {len(want)}: {got}")
        wrong += [f"got  {g}\nwant {w}" for g, w in zip(got, want) if not matches(w, g)]
    equal("\n\n".join(wrong), "", "the page")


def long_lines(path):
    """Lines over WIDTH outside of code and tables."""
    long, code = [], False
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            line = line.rstrip("\n")
            if line.startswith("```"):
                code = not code
            if len(line) > WIDTH and not code and not line.lstrip().startswith("|") and line[:4].strip():
                long.append(f"{os.path.relpath(path, ROOT)}:{number} has {len(line)}")
    return long


def test_no_line_of_a_page_is_too_long():
    pages = [p for pattern in ("*.md", "docs/*.md", "plugins/*/*.md", "tests/*/*.md")
             for p in sorted(glob.glob(os.path.join(ROOT, pattern)))]
    less(5, len(pages), "pages")
    equal([line for page in pages for line in long_lines(page)], [], f"lines over {WIDTH} characters")


main(TestDaemon, TestDaemon.finish)
