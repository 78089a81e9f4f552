#!/bin/sh
# run.sh -- run the tests of the build in $BUILD, $JOBS parts at a time.  The line of a part has its seconds and ends in
# "N passed, N failed"; so does the last line, which has the sums.
#   sh tests/run.sh                      runs the parts in $PARTS, or all but those of tests/operators
#   T=TEXT sh tests/run.sh               runs less of them (of all, if PARTS is not set): Python files whose path contains TEXT, in
#                                        other files the tests whose name contains it, unit suites whose path, name or tests do,
#                                        and operators whose name or file of cases does
#   sh tests/run.sh FILE.py ARGUMENT...  runs one Python file and shows all that it prints
BUILD=${BUILD:-build}
PYTHON=${PYTHON:-/usr/bin/python3}
PART_SECONDS=${PART_SECONDS:-900} # a part that takes longer is stopped, and has failed
JOBS=${JOBS:-2}
# The only place that says where Python tests find the modules they share.
PYTHONPATH=$PWD/tests/lib:$PWD/tests/operators${PYTHONPATH:+:$PYTHONPATH}
export BUILD PYTHON PYTHONPATH PART_SECONDS RESULTS T
case $1 in *.py) exec "$PYTHON" "$@" ;; esac

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
    line=$(printf '%-36s %4d s  %s passed, %s failed' "$name" $(($(date +%s) - start)) "$p" "$f")
    [ "$f" = 0 ] && echo "$line" || printf '%s\n%s\n' "$line" "$(tail -n 60 "$out")"
    [ "$p$f" != 00 ] || grep -a '^skipped' "$out"
    rm -f "$out"
}

# name_of FILE.py: print the name of its part, plugins/test_far for tests/integration/plugins/test_far.py
name_of() { echo "${1%.py}" | sed 's#^tests/\(integration/\)\{0,1\}##'; }

if [ "$1" = --part ]; then
    case $2 in
    unit) part unit "$BUILD/tests/run_unit" ;;
    # check's own process frees what each assertion sends; kept in quarantine it makes every fork and leak check slow
    units:*) part "unit ${2#*:}" env UNIT_PART="${2#*:}" ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=8" "$BUILD/tests/run_unit" ;;
    unit:*) part "unit ${2#*:}" env CK_RUN_SUITE="${2#*:}" "$BUILD/tests/run_unit" ;;
    schema_roundtrip) part "$2" "$BUILD/tests/schema_roundtrip" tests/data/aten_schemas.txt ;;
    dispatch_tables) part "$2" "$BUILD/tests/dispatch_tables" tests/data/dispatch_tables.jsonl ;;
    failed_calls) part "$2" "$BUILD/tests/failed_calls" "$BUILD/plugins" tests/data/calls.jsonl tests/data/refused_calls.jsonl ;;
    symbols) part symbols make -s symbols BUILD="$BUILD" ;;
    named:*) part "$(name_of "${2#*:}") $T" env TESTS="$T" "$PYTHON" "${2#*:}" ;;
    operators:*) part "operators/run $T" "$PYTHON" "${2#*:}" "$T" ;;
    *) part "$(name_of "$2")" "$PYTHON" "$2" ;;
    esac
    exit 0
fi

# has TEXT...: succeed if one of them contains $T
has() { printf '%s\n' "$@" | grep -qF -e "$T"; }

# narrowed PART...: print the parts, or parts of these, that $T selects
narrowed() {
    for one; do
        case $one in
        unit)
            grep -rl '^UNIT_SUITE(' tests/unit | sort | while read -r file; do
                tests=$(sed -n 's/^START_TEST(\(.*\))$/\1/p' "$file")
                for suite in $(sed -n 's/^UNIT_SUITE(\(.*\))$/\1/p' "$file"); do
                    has "$file" "$suite" "$tests" && echo "unit:$suite"
                done
            done
            ;;
        *.py)
            if has "$one"; then
                echo "$one"
            elif [ "$one" = tests/operators/run.py ]; then
                has "$(ls tests/operators/cases/*.py)" "$(sed -n 's/^- func: \([^(]*\)(.*/\1/p' proto/ops/native_functions.yaml)" && echo "operators:$one"
            else
                has "$(sed -n 's/^def \(test_[^(]*\)(.*/\1/p' "$one")" && echo "named:$one"
            fi
            ;;
        *) has "$one" && echo "$one" ;;
        esac
    done
}

# Parts that take longest, in this order.  They start first, so that the others fill the time beside them.
LONG="unit units test_soak operators/run test_samples test_forms test_headers test_embedding test_levels test_limits test_fairness test_left_behind
      test_long test_executor test_bad_input test_plugins"
longest_first() {
    awk -v long="$LONG" '{ part[NR] = $0; sub(/^(named|operators):/, ""); sub(/\.py$/, ""); name[NR] = $0 }
        END {
            n = split(long, first)
            for (i = 1; i <= n; i++)
                for (j = 1; j <= NR; j++)
                    if (name[j] ~ "(^|/)" first[i] "(:|$)" && !done[j]++)
                        print part[j]
            for (j = 1; j <= NR; j++)
                if (!done[j])
                    print part[j]
        }'
}

if [ -z "$PARTS" ]; then
    PARTS="$([ -z "$T" ] && echo units:1/4 units:2/4 units:3/4 units:4/4 || echo unit) schema_roundtrip dispatch_tables failed_calls $([ -n "$SANITIZE" ] || echo symbols)
           $(find tests/integration tests/fuzz tests/soak plugins -name 'test_*.py' | sort)"
    [ -z "$T" ] || PARTS="$PARTS tests/operators/run.py tests/operators/test_*.py"
fi
PARTS=$([ -z "$T" ] && printf '%s\n' $PARTS || narrowed $PARTS)
if [ -z "$PARTS" ]; then
    echo "no test has '$T' in its path or name"
    exit 1
fi
RESULTS=$(mktemp)
trap 'rm -f "$RESULTS"' EXIT
printf '%s\n' "$PARTS" | longest_first | xargs -P "$JOBS" -n 1 sh "$0" --part
awk '{ p += $1; f += $2 } END { printf "%d passed, %d failed\n", p, f; exit !(p && !f) }' "$RESULTS"
