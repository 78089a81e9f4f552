"""test_completion.py -- completion of dispatchctl in bash and zsh: every verb and option of --help, names from the
daemon, and quiet when there is none."""

import os
import re
import shutil
import subprocess

from harness import BUILD, contains, equal, less, main
from daemon import TestDaemon

CTL = os.path.join(BUILD, "dispatchctl")
# Complete $LINE as bash does: it cuts the line into words, at the signs of COMP_WORDBREAKS, too, and calls the function.
BASH = r"""
source <("$CTL" completion bash)
COMP_LINE=$LINE COMP_POINT=${#LINE}
mapfile -t COMP_WORDS < <(python3 -c '
import os, re, sys
line, breaks = os.environ["LINE"], ":="
words = re.findall(r"[%s]+|[^\s%s]+" % (breaks, breaks), line)
print("\n".join(words + [""] * (not line or line[-1] == " " or line[-1] in breaks and line[-1] == "=")))')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_WORDBREAKS=$' \t\n=:'
_dispatchctl "$CTL"
printf '%s\n' "${COMPREPLY[@]}"
"""
# Completion functions of zsh run only in its line editor: `compadd` is replaced by one that prints.
ZSH = r"""
autoload -U compinit; compinit -D -u
source <("$CTL" completion zsh)
compset() { PREFIX=${PREFIX#${~2}} }
compadd() { print -rl -- ${(P)2} | grep -e "^$PREFIX" }
_files() { print -rl -- *(N) }
words=("$CTL" ${=LINE#dispatchctl})
[[ $LINE != *' ' ]] || words+=('')
CURRENT=$#words PREFIX=$words[CURRENT]
_dispatchctl
"""
VERB = re.compile(r"^  ([a-z]+(?: [a-z]+)?)(?= |$)(.*)$", re.M)


class Fixture(TestDaemon):
    def shell(self, shell, script, line, socket=None):
        env = {**os.environ, "DISPATCHD_SOCKET": socket or self.socket, "CTL": CTL, "LINE": line}
        done = subprocess.run(shell, input=script, env=env, cwd=self.dir, capture_output=True, text=True, timeout=60)
        equal(done.stderr, "", f"standard error of {shell[0]} for '{line}'")
        return done.stdout.split()

    def bash(self, line, **kw):
        return self.shell(["bash", "--norc", "-s"], BASH, line, **kw)

    def zsh(self, line, **kw):
        return self.shell(["zsh", "-f", "-s"], ZSH, line, **kw)


def verbs():
    """{verb: its options} as --help tells."""
    text = subprocess.run([CTL, "--help"], capture_output=True, text=True, check=True).stdout.split("\nOptions of")[0]
    found = {name: re.findall(r"--[a-z-]+", args) for name, args in VERB.findall(text)}
    less(25, len(found), "verbs")
    return found


def shells(f):
    return [f.bash] + ([f.zsh] if shutil.which("zsh") else [])


def test_zsh_is_there_or_named():
    if not shutil.which("zsh"):
        print("skipped: no zsh, its script is not run")


def test_every_verb_and_option_is_completed(f):
    for complete in shells(f):
        equal(sorted(complete("dispatchctl ")), sorted({v.split()[0] for v in verbs()}), "first words")
        for verb, options in verbs().items():
            got = complete(f"dispatchctl {verb} --")
            equal(sorted(o for o in options if o not in got), [], f"options of {verb} that are not completed")
            contains(got, "--socket")
            if " " in verb:
                contains(complete(f"dispatchctl {verb[:-1]}"), verb.split()[1])


def test_common_options_are_those_of_the_help(f):
    text = subprocess.run([CTL, "--help"], capture_output=True, text=True, check=True).stdout.split("\nOptions of")[1]
    equal(sorted(f.bash("dispatchctl status --")), sorted(re.findall(r"^  (--[a-z]+)", text, re.M)))


def test_operators_are_the_daemons(f):
    names = ["addmm", "addmm.out", "addmm_"]
    equal(f.bash("dispatchctl op aten::addmm"), names, "bash replaces what is behind the colons")
    if shutil.which("zsh"):
        equal(f.zsh("dispatchctl op aten::addmm"), [f"aten::{n}" for n in names])
    equal(f.bash("dispatchctl call aten::"), f.bash("dispatchctl table aten::relu aten::"))
    less(1000, len(f.bash("dispatchctl call aten::")))
    equal(f.bash("dispatchctl call aten::neg aten::"), [], "an argument of an operator is no name")


def test_names_of_each_kind(f):
    for complete in shells(f):
        equal(complete("dispatchctl plugin unload c"), ["capture", "composite", "cpu"])
        equal(complete("dispatchctl plugin unload --timeout-ms 5 c"), ["capture", "composite", "cpu"])
        equal(complete("dispatchctl ops --plugin c"), ["capture", "composite", "cpu"])
        contains(complete("dispatchctl ops --key AutogradC"), "AutogradCPU")
        equal(complete("dispatchctl raw server.st"), ["server.status"])
        equal(complete("dispatchctl completion "), ["bash", "zsh"])
    equal(f.bash("dispatchctl ops --plugin=c"), ["capture", "composite", "cpu"])
    equal(f.bash("dispatchctl table --keys CPU,AutogradCP"), ["CPU,AutogradCPU"])
    open(os.path.join(f.dir, "here.so"), "w").close()
    for complete in shells(f):
        contains(complete("dispatchctl plugin load here"), "here.so")


def test_handles_of_the_session(f):
    def ctl(*words):
        return subprocess.run([CTL, "--socket", f.socket, *words], capture_output=True, text=True, check=True).stdout.strip()
    key = ctl("session")
    ctl("--session", key, "tensor", "create", "[1,2]")
    for complete in shells(f):
        equal(complete(f"dispatchctl --session {key} tensor read "), ["1"])
        equal(complete(f"dispatchctl --session={key} tensor read "), ["1"])
        equal(complete("dispatchctl tensor read "), [])
    ctl("--session", key, "tensor", "release", "--all")
    with f.connect() as d:  # takes the session along when it leaves
        d.call("server.hello", session_key=key, linger_ms=0)


def test_the_socket_of_the_line_is_asked(f):
    for complete in shells(f):
        equal(complete(f"dispatchctl --socket {f.socket} plugin unload c", socket="/nowhere"), ["capture", "composite", "cpu"])


def test_without_a_daemon_nothing_is_said(f):
    for complete in shells(f):
        equal(complete("dispatchctl plugin unload ", socket="/nowhere"), [])
        equal(complete("dispatchctl plugin ", socket="/nowhere"), ["load", "unload", "reload", "promote", "rollback", "list", "describe"])
    done = subprocess.run([CTL, "--socket", "/nowhere", "complete", "plugins"], capture_output=True, text=True)
    equal((done.returncode, done.stdout, done.stderr), (0, "", ""))


def test_unknown_kinds_and_shells_are_named(f):
    for words, said in ((("complete", "colours"), "no kind 'colours'"), (("completion", "fish"), "no shell 'fish'")):
        done = subprocess.run([CTL, "--socket", f.socket, *words], capture_output=True, text=True)
        equal(done.returncode, 2)
        contains(done.stderr, said)


main(Fixture, Fixture.finish)
