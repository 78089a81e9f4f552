#!/bin/sh
# run.sh -- every test of one build, JOBS parts at a time.  BUILD names it.  Each part's line has its
# seconds and ends in "N passed, N failed"; so does the whole.
BUILD=${BUILD:-build}
PYTHON=${PYTHON:-/usr/bin/python3}
PART_SECONDS=${PART_SECONDS:-900} # a part that takes longer is stopped, and has failed
JOBS=${JOBS:-2}
export BUILD PYTHON PART_SECONDS RESULTS

# part NAME COMMAND...: one line into $RESULTS, and on the output, with the end of what failed
part() {
    name=$1 start=$(date +%s)
    shift
    out=$(mktemp) # a file, not a pipe: what a part leaves running would keep a pipe open
    timeout -k 10 "$PART_SECONDS" "$@" >"$out" 2>&1
    rc=$?
    [ "$rc" != 124 ] || echo "stopped after $PART_SECONDS s" >>"$out"
    line=$(grep -aE '[0-9]+ passed, [0-9]+ failed' "$out" | tail -n 1)
    p=$(printf '%s\n' "$line" | sed -n 's/.*[^0-9]\{0,1\}\b\([0-9][0-9]*\) passed.*/\1/p')
    f=$(printf '%s\n' "$line" | sed -n 's/.* \([0-9][0-9]*\) failed.*/\1/p')
    [ -n "$p" ] || { p=0 f=1; }
    [ "$rc" = 0 ] || [ "$f" != 0 ] || f=1
    echo "$p $f" >>"$RESULTS"
    line=$(printf '%-28s %4d s  %s passed, %s failed' "$name" $(($(date +%s) - start)) "$p" "$f")
    [ "$f" = 0 ] && echo "$line" || printf '%s\n%s\n' "$line" "$(tail -n 60 "$out")"
    rm -f "$out"
}
if [ "$1" = --part ]; then
    case $2 in
    unit) part unit "$BUILD/tests/run_unit" ;;
    schema_roundtrip) part "$2" "$BUILD/tests/schema_roundtrip" tests/data/aten_schemas.txt ;;
    dispatch_tables) part "$2" "$BUILD/tests/dispatch_tables" tests/data/dispatch_tables.jsonl ;;
    symbols) part symbols make -s symbols BUILD="$BUILD" ;;
    *) part "$(basename "$2" .py)" "$PYTHON" "$2" ;;
    esac
    exit 0
fi

# The longest first: the others fill the time beside it.
if [ -z "$PARTS" ]; then
    PARTS="unit schema_roundtrip dispatch_tables $([ -n "$SANITIZE" ] || echo symbols)
           tests/integration/test_*.py tests/fuzz/test_*.py plugins/*/test_*.py"
fi
RESULTS=$(mktemp)
trap 'rm -f "$RESULTS"' EXIT
printf '%s\n' $PARTS | xargs -P "$JOBS" -n 1 sh "$0" --part
awk '{ p += $1; f += $2 } END { printf "%d passed, %d failed\n", p, f; exit !(p && !f) }' "$RESULTS"
