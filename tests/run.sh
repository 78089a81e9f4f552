#!/bin/sh
# run.sh -- every test of one build.  BUILD names it.  Each part's line has its seconds and ends in "N
# passed, N failed"; so does the whole.
BUILD=${BUILD:-build}
PYTHON=${PYTHON:-/usr/bin/python3}
total_passed=0 total_failed=0
part() {
    name=$1 start=$(date +%s)
    shift
    out=$("$@" 2>&1)
    rc=$?
    line=$(printf '%s\n' "$out" | grep -E '[0-9]+ passed, [0-9]+ failed' | tail -n 1)
    p=$(printf '%s\n' "$line" | sed -n 's/.*[^0-9]\{0,1\}\b\([0-9][0-9]*\) passed.*/\1/p')
    f=$(printf '%s\n' "$line" | sed -n 's/.* \([0-9][0-9]*\) failed.*/\1/p')
    [ -n "$p" ] || { p=0 f=1; }
    [ "$rc" = 0 ] || [ "$f" != 0 ] || f=1
    total_passed=$((total_passed + p)) total_failed=$((total_failed + f))
    printf '%-28s %4d s  %s passed, %s failed\n' "$name" $(($(date +%s) - start)) "$p" "$f"
    [ "$f" = 0 ] || printf '%s\n' "$out" | tail -n 60
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
