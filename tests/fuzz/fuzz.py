"""fuzz.py -- runs the fuzzers one after the other, as `make fuzz` asks, and says what each has reached.

    fuzz.py FOLDER NAME...     FOLDER has the programs, as tests/fuzz/NAME, and gets inputs, logs and crashes

Inputs that reached something new stay in FOLDER/fuzz/NAME/corpus, and the next run goes on from there."""

import os
import re
import subprocess
import sys
import time

import seeds

SECONDS = int(os.environ.get("FUZZ_SECONDS") or "600")
# Workers of a daemon free memory later than the input ends: leaks are looked for at the end of the run alone.
SERVED = ("request", "safetensors", "socket", "descriptor")
# bytes of the longest input; requests are slow, and many of them show no more than a few
LONGEST = {"elf": 1 << 16, "request": 1 << 11, "socket": 1 << 11, "descriptor": 1 << 11}
OPTIONS = {"ASAN_OPTIONS": "allocator_may_return_null=1:detect_leaks=1", "UBSAN_OPTIONS": "print_stacktrace=1"}


def last(pattern, text):
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def run(folder, name):
    """Run one fuzzer.  Returns whether it found nothing."""
    program, own = os.path.join(folder, "tests", "fuzz", name), os.path.join(folder, "fuzz", name)
    corpus, crashes, log = (os.path.join(own, n) for n in ("corpus", "", "log"))
    os.makedirs(corpus, exist_ok=True)
    given, words = seeds.write(name, own, os.path.join(folder, "fuzz", "plugins"))
    command = [program, f"-max_total_time={SECONDS}", f"-max_len={LONGEST.get(name, 1 << 14)}", "-timeout=20",
               "-rss_limit_mb=4096", f"-detect_leaks={int(name not in SERVED)}", f"-artifact_prefix={crashes}",
               f"-dict={words}", "-print_final_stats=1", corpus, given]
    start = time.monotonic()
    with open(log, "w", encoding="utf-8") as f:
        rc = subprocess.run(command, stdout=f, stderr=f, env={**os.environ, **OPTIONS}, check=False).returncode
    with open(log, encoding="utf-8", errors="replace") as f:
        text = f.read()
    executions, edges = last(r"stat::number_of_executed_units:\s*(\d+)", text), last(r"cov: (\d+)", text)
    print(f"{name:12} {time.monotonic() - start:.0f} s  {executions:,} executions, {edges:,} edges, "
          f"{len(os.listdir(corpus)):,} inputs kept", flush=True)
    if rc == 0 and executions > 0:
        return True
    found = re.findall(r"Test unit written to (\S+)", text)
    print("".join(text.splitlines(keepends=True)[-60:]))
    print(f"{name}: exit status {rc}; {log} has all of it")
    if found:
        print(f"reproduce: {' '.join(f'{k}={v}' for k, v in OPTIONS.items())} {program} {found[-1]}", flush=True)
    return False


def main():
    folder, names = sys.argv[1], sys.argv[2:]
    there = sorted(n for n in os.listdir(os.path.join(folder, "tests", "fuzz")) if "." not in n)
    if set(names) - set(there):
        raise SystemExit(f"no fuzzer {', '.join(set(names) - set(there))}; there are {', '.join(there)}")
    passed = [run(folder, name) for name in names]
    print(f"{sum(passed)} passed, {len(passed) - sum(passed)} failed")
    sys.exit(not names or not all(passed))


if __name__ == "__main__":
    main()
