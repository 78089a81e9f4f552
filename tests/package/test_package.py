"""test_package.py -- the Debian packages: two builds of an archive without git give the same bytes; in a new Debian 12
they install, the daemon answers, an upgrade replaces it, and a purge leaves nothing.  `make package-check` runs this; it
needs root, debhelper and debootstrap, and downloads a base system and the packages' dependencies.

MIRROR is the address that debootstrap downloads from, by default debootstrap's own; BASE_SYSTEM is a folder with a base
system that debootstrap made before, to save its time."""

import glob
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

from harness import ROOT, contains, equal, less, main, wait_until

MIRROR = [os.environ["MIRROR"]] if os.environ.get("MIRROR") else []
CONFIG = "/etc/dispatchd/dispatchd.conf"
PACKAGES = ("dispatchd", "dispatchd-client", "python3-dispatchd", "libdispatchd-dev")
# Run as root in the new system: make the socket as systemd does, and become the daemon of the system's unit.
AS_SYSTEMD = """
import os, pwd, socket
user = pwd.getpwnam("dispatchd")
s = socket.socket(socket.AF_UNIX)
s.bind("/run/dispatchd.sock")
os.chown("/run/dispatchd.sock", user.pw_uid, user.pw_gid)
s.listen(8)
os.dup2(s.fileno(), 3)
os.set_inheritable(3, True)
os.setgroups([]), os.setgid(user.pw_gid), os.setuid(user.pw_uid)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execv("/usr/bin/dispatchd", ["dispatchd", "--config", "/etc/dispatchd/dispatchd.conf", "--log", "/tmp/log"])
"""
# Folders that package managers fill, and files that they copy before they change them.
UNWATCHED = re.compile(r"^/(var/lib/(dpkg|apt)|var/cache|var/log|run/adduser|tmp|proc|etc/(passwd|group|shadow|gshadow|subuid|subgid)-)")


def missing():
    """What this machine lacks for the test, or None."""
    if os.geteuid() != 0:
        return "root"
    return next((program for program in ("debootstrap", "dh", "dpkg-buildpackage") if not shutil.which(program)), None)


def run(*words, **kw):
    done = subprocess.run(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, **kw)
    equal(done.returncode, 0, f"status of {words}: {done.stdout[-3000:]}")
    return done.stdout


class System:
    """Folders with an unpacked archive, the packages built from it, and a new Debian 12."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="dispatchd-package-")
        self.root = os.path.join(self.dir, "root")
        # `git` fails: neither the archive nor the packages may need it
        os.mkdir(os.path.join(self.dir, "bin"))
        with open(os.path.join(self.dir, "bin", "git"), "w") as f:
            f.write("#!/bin/sh\necho 'git was called' >&2\nexit 1\n")
        os.chmod(f.name, 0o755)
        self.env = {**{k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "BUILD", "PYTHONPATH")},
                    "PATH": f"{self.dir}/bin:{os.environ['PATH']}", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
        run("make", "-s", "-C", ROOT, "dist", f"DIST={self.dir}/dist",
            env={k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "BUILD")})
        self.archive, = glob.glob(self.dir + "/dist/*.tar.gz")
        self.debs = {}
        self.started = []

    def unpack(self, name):
        folder = os.path.join(self.dir, name)
        os.mkdir(folder)
        run("tar", "-xf", self.archive, "-C", folder, "--strip-components=1")
        return folder

    def build(self, folder, label):
        """Build packages in the folder, and keep their paths as self.debs[label]."""
        said = run("make", "-s", "-C", folder, "deb", env=self.env)
        equal("git was called" in said, False, "git was called")
        self.debs[label] = [p for p in sorted(glob.glob(folder + "/build/deb/*.deb")) if "dbgsym" not in p]
        equal(sorted(os.path.basename(p).split("_")[0] for p in self.debs[label]), sorted(PACKAGES), "packages")

    def inside(self, *words, **kw):
        return run("chroot", self.root, *words, env={**self.env, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}, **kw)

    def start(self, *words):
        """Start a daemon inside, and return its process."""
        self.started.append(subprocess.Popen(["chroot", self.root, *words], stdin=subprocess.DEVNULL,
                                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                             env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}))
        return self.started[-1]

    def listens(self, path):
        """Wait until something listens on a socket inside."""
        def connects():
            with socket.socket(socket.AF_UNIX) as s:
                return s.connect_ex(self.root + path) == 0
        wait_until(connects, f"a daemon listens on {path}", 60)

    def install(self, label):
        for deb in self.debs[label]:
            shutil.copy(deb, self.root + "/tmp")
        self.inside("apt-get", "install", "-y", "--no-install-recommends",
                    *("/tmp/" + os.path.basename(deb) for deb in self.debs[label]))

    def files(self):
        found = self.inside("find", "/", "-xdev").splitlines()
        less(5000, len(found), "files of the system")
        return {p for p in found if not UNWATCHED.match(p)}

    def end(self):
        for process in self.started:  # those of tests that failed
            process.kill()
            process.wait()
        subprocess.run(["umount", self.root + "/proc"], stderr=subprocess.DEVNULL)
        if not os.path.ismount(self.root + "/proc"):
            shutil.rmtree(self.dir)


def stop(process):
    process.send_signal(signal.SIGTERM)
    equal(process.wait(60), 0, "status of the daemon")


def test_two_builds_give_the_same_bytes(s):
    s.build(s.unpack("first"), "first")
    s.build(s.unpack("a-second-folder"), "second")
    for one, other in zip(s.debs["first"], s.debs["second"]):
        equal(run("cmp", one, other), "", "the packages of two builds")


def test_the_packages_have_no_lintian_errors(s):
    if not shutil.which("lintian"):
        print("skipped: no lintian")
        return
    changes, = glob.glob(os.path.dirname(s.debs["first"][0]) + "/*.changes")
    said = run("lintian", "--allow-root", "--fail-on", "error,warning", changes)
    equal([line for line in said.splitlines() if re.match("[EW]:", line)], [])


def test_they_install_into_a_new_system(s):
    if os.environ.get("BASE_SYSTEM"):
        run("cp", "-a", os.environ["BASE_SYSTEM"], s.root)
    else:
        run("debootstrap", "--variant=minbase", "bookworm", s.root, *MIRROR)
    shutil.copy("/etc/resolv.conf", s.root + "/etc/resolv.conf")
    run("mount", "-t", "proc", "proc", s.root + "/proc")
    s.inside("apt-get", "update")
    s.before = s.files()
    s.install("first")
    contains(s.inside("getent", "passwd", "dispatchd"), "/usr/sbin/nologin")
    equal(s.inside("dispatchd", "--version"), s.inside("dispatchctl", "--version").replace("ctl", "d"))


def answers(s, path, *user):
    """A daemon inside answers its client: an addition, and a product, for which it opens OpenBLAS."""
    ctl = [*user, "dispatchctl", "--socket", path]
    s.listens(path)
    contains(s.inside(*ctl, "status"), "sessions hold")
    contains(s.inside(*ctl, "call", "aten::add.Tensor", "[[1,2],[3,4]]", "10"), "[[11, 12],\n [13, 14]]")
    contains(s.inside(*ctl, "call", "aten::mm", "[[1,2],[3,4]]", "[[1,2],[3,4]]"), "[[ 7, 10],\n [15, 22]]")
    contains(s.inside(*ctl, "call", "aten::linalg_inv", "[[2,0],[0,4]]"), "0.25")


def test_a_user_starts_a_daemon_by_hand(s):
    user = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    daemon = s.start(*user, "dispatchd", "--socket", "/tmp/user.sock")
    answers(s, "/tmp/user.sock", *user)
    contains(s.inside(*user, "python3", "-c", "import dispatchd\nwith dispatchd.connect('/tmp/user.sock') as d:\n"
                      " print(d.call('registry.check')['ok'])"), "True")
    stop(daemon)


def test_the_daemon_of_the_system(s):
    """As its units start it: the socket is root's, the daemon the user dispatchd's, and its config file the package's."""
    contains(s.inside("dpkg-query", "-W", "-f", "${Conffiles}", "dispatchd"), " /etc/dispatchd/dispatchd.conf ")
    user = ("setpriv", "--reuid=dispatchd", "--regid=dispatchd", "--clear-groups")

    def limits():
        return s.inside(*user, "dispatchctl", "--socket", "/run/dispatchd.sock", "raw", "server.hello")
    daemon = s.start("python3", "-c", AS_SYSTEMD)
    answers(s, "/run/dispatchd.sock", *user)
    contains(limits(), '"silent_ms":5000')
    with open(s.root + CONFIG, "a") as f:
        f.write("silent_ms = 6 s\n")
    daemon.send_signal(signal.SIGHUP)
    wait_until(lambda: '"silent_ms":6000' in limits(), "the daemon has read its config file again", 60)
    stop(daemon)


def test_a_plugin_builds_against_the_installed_headers(s):
    """The example of dispatchd-plugin(7), by this machine's compiler."""
    page = s.inside("gzip", "-dc", "/usr/share/man/man7/dispatchd-plugin.7.gz").replace("\\-", "-").replace("\\(aq", "'")
    with open(s.root + "/tmp/myops.c", "w") as f:
        f.write(re.findall(r"^\.EX\n(.*?)^\.EE$", page, re.M | re.S)[1])
    flags = run("pkg-config", "--cflags", "dispatchd-plugin", env={
        **s.env, "PKG_CONFIG_PATH": glob.glob(s.root + "/usr/lib/*/pkgconfig")[0]}).split()
    run("cc", "-shared", "-fPIC", "-fvisibility=hidden", *flags, "-o", s.root + "/tmp/myops.so", s.root + "/tmp/myops.c")
    daemon = s.start("dispatchd", "--socket", "/tmp/root.sock", "--plugin", "/tmp/myops.so")
    s.listens("/tmp/root.sock")
    contains(s.inside("dispatchctl", "--socket", "/tmp/root.sock", "call", "myops::twice", "[1,2]"), "[2, 4]")
    stop(daemon)


def test_completion_is_installed(s):
    contains(s.inside("bash", "-c", ". /usr/share/bash-completion/completions/dispatchctl; complete -p dispatchctl"),
             "complete -F _dispatchctl dispatchctl")


def raise_version(folder):
    """The next version of the sources in the folder; returns (the old one, the new one)."""
    header, changelog = folder + "/daemon/daemon.h", folder + "/debian/changelog"
    with open(header) as f:
        text = f.read()
    old = re.search(r'#define DISPATCHD_VERSION "(.*)"', text)[1]
    new = re.sub(r"\d+$", lambda m: str(int(m[0]) + 1), old)
    with open(header, "w") as f:
        f.write(text.replace(f'DISPATCHD_VERSION "{old}"', f'DISPATCHD_VERSION "{new}"'))
    with open(changelog) as f:
        entry = f.read()
    with open(changelog, "w") as f:
        f.write(f"dispatchd ({new}) bookworm; urgency=medium\n\n  * The next version.\n\n"
                f"{re.search('^ -- .*$', entry, re.M)[0]}\n\n{entry}")
    return old, new


def test_an_upgrade_replaces_the_files_and_not_what_runs(s):
    folder = s.unpack("third")
    old, new = raise_version(folder)
    s.build(folder, "next")

    def version():
        hello = s.inside("dispatchctl", "--socket", "/tmp/root.sock", "raw", "server.hello")
        return re.search(r'"version":"(.*?)"', hello)[1]
    daemon = s.start("dispatchd", "--socket", "/tmp/root.sock")
    s.listens("/tmp/root.sock")
    equal(version(), old)
    s.install("next")
    with open(s.root + CONFIG) as f:
        contains(f.read(), "\nsilent_ms = 6 s\n", "an upgrade keeps what was changed in the config file")
    equal(version(), old, "version of the daemon that runs on")
    contains(s.inside("dispatchctl", "--socket", "/tmp/root.sock", "call", "aten::add.Tensor", "[1]", "1"), "[2]")
    stop(daemon)
    daemon = s.start("dispatchd", "--socket", "/tmp/root.sock")
    answers(s, "/tmp/root.sock")
    equal(version(), new, "version of the daemon that was started again")
    stop(daemon)


def test_a_purge_leaves_nothing(s):
    s.inside("apt-get", "purge", "-y", *PACKAGES)
    left = [p for p in s.files() if "dispatch" in p]
    equal(left, [], "files named after dispatchd that a purge leaves")
    for database in ("passwd", "group"):
        equal("dispatchd" in s.inside("getent", database), False, f"dispatchd in {database}")
    equal(glob.glob(s.root + "/var/lib/dpkg/info/*dispatch*"), [])
    equal(glob.glob(s.root + "/tmp/dispatchd-plugins-*"), [], "private copies of plugins")
    # what was installed for these packages goes with them, and then the system is as it was
    s.inside("apt-get", "autoremove", "--purge", "-y")
    equal(sorted(s.files() - s.before), [], "files that the system did not have before")
    equal(sorted(s.before - s.files()), [], "files that the system has no more")


lacks = missing()
if lacks:
    print(f"skipped: no {lacks}, packages are not tested\n0 passed, 0 failed")
    sys.exit(0)
main(System, System.end)
