"""test_docs.py -- runs every command of the pages below and compares what it prints with the page;
the README's session prints what it says; each page says for whom it is, and has no lines that are too long.

A block ```sh is run; a block ```output after it is what it must print, where "..." stands for
anything; a block ```c is written to the file that its first line names.  Blocks of a page run one
after the other in one shell, so that functions stay defined."""

import glob
import os
import re
import subprocess
import tempfile

from harness import BUILD, ROOT, equal, less, main
from daemon import TestDaemon

# Pages, and the least number of blocks of each.
PAGES = {"protocol": 10, "programs": 5, "plugins": 3, "first-plugin": 3, "devices": 3, "gradients": 4, "backend": 7, "replay": 5}
NAME = re.compile(r"/\* (\w+\.c) -- ")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
MARK = "-- end of block --"
WIDTH = 110  # of a page, outside of code and tables


def blocks(page, folder):
    """[(commands, what they must print or None)]; listings are written into the folder."""
    with open(os.path.join(ROOT, "docs", page + ".md")) as f:
        found = BLOCK.findall(f.read())
    pairs = []
    for language, text in found:
        if language == "output":
            pairs[-1] = (pairs[-1][0], text)
        elif language == "c":
            with open(os.path.join(folder, NAME.match(text)[1]), "w") as f:
                f.write(text)
        else:
            equal(language, "sh", f"language of a block in docs/{page}.md")
            pairs.append((text, None))
    return pairs


def netcat_speaks_unix():
    try:
        done = subprocess.run(["nc", "-h"], capture_output=True, text=True)
    except FileNotFoundError:
        return False
    return "-N" in done.stdout + done.stderr and "-U" in done.stdout + done.stderr


def run(script, daemon, folder):
    env = {**{k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL")},  # of the make that runs the tests
           "DISPATCHD_SOCKET": daemon.socket, "BUILD": BUILD, "ROOT": ROOT,
           "PATH": BUILD + os.pathsep + os.environ["PATH"]}
    if not netcat_speaks_unix():
        env["PATH"] = os.path.join(ROOT, "tests", "lib") + os.pathsep + env["PATH"]
    with tempfile.NamedTemporaryFile("w", suffix=".sh") as f:
        f.write(script)
        f.flush()
        done = subprocess.run(["sh", f.name], env=env, cwd=folder, capture_output=True, text=True, timeout=120)
    equal((done.returncode, done.stderr), (0, ""), "status and standard error of the page's commands")
    return done.stdout


def matches(want, got):
    pattern = ".*".join(re.escape(part) for part in want.split("..."))
    return re.fullmatch(pattern, got) is not None


def wrong_lines(page, daemon):
    """Where what the page's commands print differs from the page."""
    folder = os.path.join(daemon.dir, page)
    os.mkdir(folder)
    pairs = blocks(page, folder)
    less(PAGES[page] - 1, len(pairs), f"blocks on {page}")
    script = "".join(f"{commands}echo '{MARK}'\n" for commands, _ in pairs)
    printed = run(script, daemon, folder).split(MARK + "\n")
    equal(len(printed), len(pairs) + 1, "blocks that ran")
    wrong = []
    for (commands, want), got in zip(pairs, printed):
        want, got = (want or "").splitlines(), got.splitlines()
        if len(want) != len(got):
            wrong.append(f"{commands}printed {len(got)} lines, the page has {len(want)}: {got}")
        wrong += [f"got  {g}\nwant {w}" for g, w in zip(got, want) if not matches(w, g)]
    return wrong


def test_every_command_prints_what_its_page_says(f):
    for page in PAGES:
        equal("\n\n".join(wrong_lines(page, f)), "", f"docs/{page}.md")


def without_times(line):
    """Times, line numbers of kernels and the width of columns differ from one day to the next."""
    return re.sub(r"\d+\.\d+$|(?<=\.c:)(\d+|\.\.\.)", "N", " ".join(line.split()))


def test_the_session_of_the_readme(f):
    with open(os.path.join(ROOT, "README.md")) as page:
        session = page.read().split("\n```\n$ dispatchctl", 1)[1].split("\n```\n", 1)[0]
    commands = 0
    for part in session.split("\n$ dispatchctl"):
        command, _, want = part.partition("\n")
        said = run("dispatchctl" + command + " 2>&1 || true\n", f, f.dir).rstrip("\n")
        equal([without_times(line) for line in said.splitlines()],
              [without_times(line) for line in want.strip("\n").splitlines()], command)
        commands += 1
    less(3, commands, "commands of the session")


def test_the_plugin_of_the_readme(f):
    with open(os.path.join(ROOT, "README.md")) as page:
        text = page.read()
    with open(os.path.join(f.dir, "myops.c"), "w") as out:
        out.write(re.search(r"^```c\n(.*?)^```$", text, re.M | re.S)[1])
    said = run("cc -Wall -Wextra -Werror -shared -fPIC -I $ROOT/libdispatch/include -o myops.so myops.c\n"
               "dispatchctl plugin load ./myops.so\ndispatchctl call myops::twice '[1,2]'\n"
               "dispatchctl plugin unload myops\n", f, f.dir).splitlines()
    equal((said[3], said[4].split()[-1]), ("[2, 4]", "unmapped"), "what it answers, and how it leaves")


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


def test_each_page_says_for_whom_it_is():
    pages = sorted(glob.glob(os.path.join(ROOT, "docs", "*.md")))
    unsaid = []
    for page in pages:
        with open(page, encoding="utf-8") as f:
            paragraph = f.read().split("\n\n")[1]
        if not re.match(r"(This page is for|For) (people|authors) ", paragraph):
            unsaid.append(os.path.basename(page))
    equal(unsaid, [], "pages that do not begin with who they are for")
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as f:
        index = f.read()
    equal([p for p in map(os.path.basename, pages) if f"(docs/{p})" not in index], [], "pages that README does not link")


def test_no_line_of_a_page_is_too_long():
    pages = [p for pattern in ("*.md", "docs/*.md", "plugins/*/*.md", "tests/*/*.md")
             for p in sorted(glob.glob(os.path.join(ROOT, pattern)))]
    less(5, len(pages), "pages")
    equal([line for page in pages for line in long_lines(page)], [], f"lines over {WIDTH} characters")


main(TestDaemon, TestDaemon.finish)
