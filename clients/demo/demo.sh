#!/bin/sh
# demo.sh -- starts the daemon of $BUILD and runs five programs that use it on real input.
# The exit status is 0 only if every check passed.
BUILD=$(cd "${BUILD:-build}" && pwd) || exit 1
PYTHON=${PYTHON:-/usr/bin/python3}
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d) || exit 1
export BUILD DISPATCHD_SOCKET="$dir/dispatchd.sock" DEMO_DIR="$dir" TMPDIR="$dir"
export PYTHONDONTWRITEBYTECODE=1 PATH="$BUILD:$PATH"
ln -s "$here/../../libdispatch/include" "$dir/include"

"$BUILD/dispatchd" 2>"$dir/log" &
DEMO_PID=$!
export DEMO_PID
trap 'kill "$DEMO_PID" 2>/dev/null; rm -rf "$dir"' EXIT

echo "dispatchd runs as process $DEMO_PID; its clients talk to it over a Unix socket."
status=0
for part in layout plugins cnn train autocast; do
    "$PYTHON" "$here/demo_$part.py" || { status=1; break; }
done

kill "$DEMO_PID"
wait "$DEMO_PID"
stopped=$?
[ "$stopped" = 0 ] || { echo "the daemon ended with status $stopped; its log:"; cat "$dir/log"; status=1; }
[ "$status" != 0 ] || printf '\nThe daemon has stopped cleanly. Everything was so.\n'
[ "$status" = 0 ] || { printf '\nThe demo FAILED. The end of the log:\n'; tail -n 20 "$dir/log"; }
exit "$status"
