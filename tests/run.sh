#!/bin/sh
# run.sh -- every test of one build.  BUILD names it.  Each part's line has its seconds and ends in "N
# passed, N failed"; so does the whole.
BUILD=${BUILD:-build}
PYTHON=${PYTHON:-/usr/bin/python3}
PART_SECONDS=${PART_SECONDS:-900} # a part that takes longer is stopped, and has failed
total_passed=0 total_failed=0
out=$(mktemp) # a file, not a pipe: what a part leaves running would keep a pipe open
trap 'rm -f "$out"' EXIT
part() {
    name=$1 start=$(date +%s)
    shift
    timeout -k 10 "$PART_SECONDS" "$@" >"$out" 2>&1
    rc=$?
    [ "$rc" != 124 ] || echo "stopped after $PART_SECONDS s" >>"$out"
    line=$(grep -aE '[0-9]+ passed, [0-9]+ failed' "$out" | tail -n 1)
    p=$(printf '%s\n' "$line" | sed -n 's/.*[^0-9]\{0,1\}\b\([0-9][0-9]*\) passed.*/\1/p')
    f=$(printf '%s\n' "$line" | sed -n 's/.* \([0-9][0-9]*\) failed.*/\1/p')
    [ -n "$p" ] || { p=0 f=1; }
    [ "$rc" = 0 ] || [ "$f" != 0 ] || f=1
    total_passed=$((total_passed + p)) total_failed=$((total_failed + f))
    printf '%-28s %4d s  %s passed, %s failed\n' "$name" $(($(date +%s) - start)) "$p" "$f"
    [ "$f" = 0 ] || tail -n 60 "$out"
}
if [ -z "$PARTS" ]; then
    PARTS='tests/integration/test_*.py tests/fuzz/test_*.py plugins/*/test_*.py'
    part unit "$BUILD/tests/run_unit"
    part schema_roundtrip "$BUILD/tests/schema_roundtrip" tests/data/aten_schemas.txt
    part dispatch_tables "$BUILD/tests/dispatch_tables" tests/data/dispatch_tables.jsonl
    [ -n "$SANITIZE" ] || part symbols make -s symbols BUILD="$BUILD"
fi
for t in $PARTS; do
    [ -e "$t" ] || continue
    part "$(basename "$t" .py)" env BUILD="$BUILD" "$PYTHON" "$t"
done
echo "$total_passed passed, $total_failed failed"
[ "$total_failed" = 0 ] && [ "$total_passed" -gt 0 ]
