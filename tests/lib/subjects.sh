#!/bin/sh
# subjects.sh -- the subject of every commit since this check was added is `room: imperative`, at most 60 characters.
#
# Without .git, as in a release's archive, there is nothing to check.
cd "$(dirname "$0")/../.." || exit 1
git rev-parse --git-dir >/dev/null 2>&1 || { echo "no history: 0 passed, 0 failed"; exit 0; }
added=$(git log --diff-filter=A --format=%H -- tests/lib/subjects.sh | tail -1)
[ -n "$added" ] || { echo "not committed yet: 0 passed, 0 failed"; exit 0; }
git log --no-merges --format=%s "$added..HEAD" | awk '
    length($0) > 60                              { print "over 60 characters: " $0; failed++; next }
    !/^[a-z][a-z0-9_., \/-]*: [a-z].*[^. ]$/  { print "not \"room: imperative\": " $0; failed++; next }
                                                 { passed++ }
    END { printf "%d passed, %d failed\n", passed, failed; exit failed > 0 }'
