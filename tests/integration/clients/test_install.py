"""test_install.py -- what `make install` puts below DESTDIR works from there: the daemon finds its plugins, the client its
daemon, pkg-config its headers; manual pages have every option and verb, and units are what systemd reads."""

import os
import re
import shutil
import subprocess
import tempfile

from harness import BUILD, ROOT, SANITIZED, contains, equal, less, main, wait_until

PREFIX, LIBDIR = "/usr", "/usr/lib/any-linux"  # as Debian has it
LIMIT = 120


def make(*words):
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL")}
    done = subprocess.run(["make", "-s", "-C", ROOT, f"BUILD={BUILD}", f"SANITIZE={os.environ.get('SANITIZE', '')}", *words],
                          env=env, text=True, timeout=1200, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    equal(done.returncode, 0, f"make {words}: {done.stdout}")
    return done.stdout


class Tree:
    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="dispatchd-install-")
        self.root = os.path.join(self.dir, "root")
        self.socket = os.path.join(self.dir, "d.sock")
        self.make("install")

    def make(self, target):
        make(target, f"DESTDIR={self.root}", f"PREFIX={PREFIX}", f"LIBDIR={LIBDIR}")

    def path(self, name):
        return self.root + name

    def run(self, *words, **env):
        """Run a command with nothing of this process's environment that could lead to the build directory."""
        env = {"PATH": f"{self.root}{PREFIX}/bin:/usr/bin:/bin", "TMPDIR": self.dir, "DISPATCHD_SOCKET": self.socket,
               "PKG_CONFIG_PATH": f"{self.root}{LIBDIR}/pkgconfig", **env}
        done = subprocess.run(words, env=env, cwd=self.dir, text=True, capture_output=True, timeout=LIMIT)
        equal(done.returncode, 0, f"status of {words}: {done.stdout}{done.stderr}")
        return done.stdout

    def remove(self):
        self.make("uninstall")
        left = [os.path.join(d, n) for d, folders, names in os.walk(self.root) for n in folders + names]
        equal(left, [], "files and folders that an uninstall leaves")
        shutil.rmtree(self.dir)


class Daemon:
    """The installed daemon, found by PATH, without options and variables that name its plugins."""

    def __init__(self, tree):
        self.tree = tree

    def __enter__(self):
        self.log = open(os.path.join(self.tree.dir, "log"), "w+")
        self.process = subprocess.Popen([self.tree.path(PREFIX + "/bin/dispatchd")], stderr=self.log,
                                        env={"DISPATCHD_SOCKET": self.tree.socket, "TMPDIR": self.tree.dir})
        wait_until(lambda: os.path.exists(self.tree.socket), "the installed daemon listens", LIMIT)
        return self

    def __exit__(self, *raised):
        self.process.terminate()
        equal(self.process.wait(LIMIT), 0, "status of the installed daemon")
        self.log.close()


def test_the_installed_client_writes_plugins_that_build(tree):
    for kind in ("backend", "op", "layer"):
        tree.run("dispatchctl", "new", kind, "new_" + kind)
        tree.run("make", "-C", "new_" + kind, "CFLAGS=-Wall -Wextra -Werror")
        if not SANITIZED:
            contains(tree.run("make", "-C", "new_" + kind, "check"), " pass\n")


def page_of(tree, name):
    with open(tree.path(f"{PREFIX}/share/man/man{name[-1]}/{name}")) as f:
        return f.read()


def plain(page):
    """A page's text without fonts and escapes."""
    return re.sub(r"\\f[BIR]", "", page).replace("\\-", "-").replace("\\(aq", "'").replace("\\e", "\\")


def test_the_installed_daemon_answers_the_installed_client(tree):
    if SANITIZED:
        print("skipped: a sanitizer's daemon is tested where it was built")
        return
    with Daemon(tree):
        contains(tree.run("dispatchctl", "status"), "sessions")
        equal(tree.run("dispatchctl", "call", "aten::add.Tensor", "[[1,2],[3,4]]", "10").splitlines()[1:],
              ["[[11, 12],", " [13, 14]]"])
        found = tree.run("dispatchctl", "raw", "plugin.list")
        for name in os.listdir(os.path.join(BUILD, "plugins")):
            if name.endswith(".so"):
                contains(found, f'"path":"{tree.path(LIBDIR)}/dispatchd/plugins/{name}"')


def test_the_example_of_the_plugin_page(tree):
    """It builds by the page's command, and the page's other commands work."""
    page = plain(page_of(tree, "dispatchd-plugin.7"))
    blocks = re.findall(r"^\.EX\n(.*?)^\.EE$", page, re.M | re.S)
    build, source, commands = blocks
    with open(os.path.join(tree.dir, "myops.c"), "w") as f:
        f.write(source)
    tree.run("sh", "-ec", build)
    if SANITIZED:
        return
    with Daemon(tree):
        contains(tree.run("sh", "-ec", commands), "\n[2, 4]\n")


def test_pages_have_every_option_and_verb(tree):
    options = re.findall(r"^  (--[a-z-]+)", subprocess.run([BUILD + "/dispatchd", "--help"], capture_output=True,
                                                           text=True, check=True).stdout, re.M)
    less(10, len(options), "options")
    page = plain(page_of(tree, "dispatchd.8"))
    equal([o for o in options if f"\n{o}" not in page], [], "options that dispatchd(8) lacks")
    text = subprocess.run([BUILD + "/dispatchctl", "--help"], capture_output=True, text=True, check=True).stdout
    verbs = re.findall(r"^  ([a-z].*)$", text.split("\nOptions of")[0], re.M)
    less(25, len(verbs), "verbs")
    page = plain(page_of(tree, "dispatchctl.1"))
    equal([v for v in verbs if f"\n{v}\n" not in page], [], "verbs that dispatchctl(1) lacks")
    for name, meaning in re.findall(r"(\d) ([^,\n]+)", text.split("Exit codes: ")[1]):
        contains(page, f".TP\n{name}\n", f"exit code {name}, {meaning}")


def test_macros_of_the_plugin_page_exist(tree):
    headers = "".join(open(tree.path(f"{PREFIX}/include/dispatchd/{n}")).read()
                      for n in os.listdir(tree.path(PREFIX + "/include/dispatchd")))
    names = set(re.findall(r"\b(DP_[A-Z_]+[A-Z]|dp_[a-z_]+)\b", plain(page_of(tree, "dispatchd-plugin.7"))))
    less(8, len(names), "names on the page")
    equal(sorted(n for n in names if not re.search(rf"\b{n}\b", headers)), [], "names that no header has")


def test_pages_are_read_without_warnings(tree):
    checks = [["mandoc", "-T", "lint", "-W", "warning"], ["man", "-l", "--warnings"]]
    for check in checks:
        if not shutil.which(check[0]):
            print(f"skipped: no {check[0]}, pages are not checked with it")
            continue
        for name in ("dispatchd.8", "dispatchctl.1", "dispatchd-plugin.7"):
            path = tree.path(f"{PREFIX}/share/man/man{name[-1]}/{name}")
            done = subprocess.run([*check, path], env={**os.environ, "MANPAGER": "cat", "MANWIDTH": "100"},
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True)
            said = done.stdout if check[0] == "mandoc" else done.stderr
            equal((done.returncode, said), (0, ""), f"{check[0]} on {name}")


def test_units_are_what_systemd_reads(tree):
    if not shutil.which("systemd-analyze"):
        print("skipped: no systemd-analyze, units are not checked")
        return
    for kind in ("system", "user"):
        folder = tree.path(f"{PREFIX}/lib/systemd/{kind}")
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name)) as f:
                unit = f.read()
            if name.endswith(".service"):
                contains(unit, f"\nExecStart={PREFIX}/bin/dispatchd")
            # the program and the page are looked for where they are
            copy = os.path.join(tree.dir, name)
            with open(copy, "w") as f:
                f.write(re.sub(r"^Documentation=.*\n", "", unit, flags=re.M).replace(f"={PREFIX}/bin", f"={tree.root}{PREFIX}/bin"))
        runtime = {"XDG_RUNTIME_DIR": tree.dir} if kind == "user" else {}
        done = subprocess.run(["systemd-analyze", f"--{kind}", "verify", "dispatchd.service", "dispatchd.socket"],
                              cwd=tree.dir, env={**os.environ, **runtime}, capture_output=True, text=True)
        said = [line for line in done.stderr.splitlines() if "dispatchd" in line]
        equal((done.returncode, said), (0, []), f"systemd-analyze on {kind} units: {done.stderr}")


def test_a_config_file_that_was_changed_stays(tree):
    path = tree.path("/etc/dispatchd/dispatchd.conf")
    with open(os.path.join(ROOT, "daemon", "dispatchd.conf")) as f, open(path) as installed:
        sample = f.read()
        equal(installed.read() == sample, True, "the installed config file is the sample")
    with open(tree.path(f"{PREFIX}/lib/systemd/system/dispatchd.service")) as f:
        unit = f.read()
    contains(unit, "dispatchd --config /etc/dispatchd/dispatchd.conf\n")
    contains(unit, "\nExecReload=/bin/kill -HUP $MAINPID\n")
    changed = sample + "silent_ms = 6 s\n"
    with open(path, "w") as f:
        f.write(changed)
    for target in ("install", "uninstall"):
        tree.make(target)
        with open(path) as f:
            equal(f.read() == changed, True, f"the changed config file after make {target}")
    os.unlink(path)
    tree.make("install")


def test_completions_are_those_that_the_client_prints(tree):
    for shell, path in (("bash", "bash-completion/completions/dispatchctl"), ("zsh", "zsh/site-functions/_dispatchctl")):
        with open(tree.path(f"{PREFIX}/share/{path}")) as f:
            equal(f.read(), tree.run("dispatchctl", "completion", shell))


def test_a_moved_tree_works(tree):
    moved = tree.root + "-moved"
    shutil.copytree(tree.root, moved, symlinks=True)
    if not SANITIZED:
        contains(tree.run(f"{moved}{PREFIX}/bin/dispatchd", "--version"), "dispatchd ")
    flags = tree.run("pkg-config", "--cflags", "--libs", "dispatchd", PKG_CONFIG_PATH=f"{moved}{LIBDIR}/pkgconfig")
    for flag in flags.split():
        if flag.startswith(("-I", "-L")):
            equal(os.path.realpath(flag[2:]).startswith(os.path.realpath(moved)) and os.path.isdir(flag[2:]), True, flag)
    shutil.rmtree(moved)


def test_an_archive_is_the_same_with_and_without_git(tree):
    """An archive that was made of an unpacked archive, by a PATH on which git fails, has the same bytes."""
    dist = os.path.join(tree.dir, "build")
    archive = make("dist", f"DIST={dist}").split()[-1]
    subprocess.run(["tar", "-xf", archive, "-C", tree.dir], check=True)
    unpacked = archive[:-len(".tar.gz")].replace(dist, tree.dir)
    equal(sorted(n for n in ("Makefile", "debian", "tests", ".ci", "install.mk") if not os.path.exists(f"{unpacked}/{n}")), [])
    os.makedirs(os.path.join(tree.dir, "bin"))
    with open(os.path.join(tree.dir, "bin", "git"), "w") as f:
        f.write("#!/bin/sh\necho 'git was called' >&2\nexit 1\n")
    os.chmod(f.name, 0o755)
    env = {**{k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "BUILD")},
           "PATH": f"{tree.dir}/bin:{os.environ['PATH']}"}
    done = subprocess.run(["make", "-s", "-C", unpacked, "dist", f"DIST={tree.dir}/again"], env=env, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    equal(done.returncode, 0, done.stdout)
    again = os.path.join(tree.dir, "again", os.path.basename(archive))
    equal(subprocess.run(["cmp", archive, again], capture_output=True, text=True).stdout, "", "the archives")
    equal("git was called" in done.stdout, False, "git was called")


def test_versions_agree():
    with open(os.path.join(ROOT, "daemon", "daemon.h")) as f:
        version = re.search(r'#define DISPATCHD_VERSION "(.*)"', f.read())[1]
    with open(os.path.join(ROOT, "debian", "changelog")) as f:
        equal(re.match(r"dispatchd \((.*?)\)", f.read())[1], version, "version of debian/changelog")


main(Tree, Tree.remove)
