#!/bin/sh
# The program kvstore: what it prints, whether what it checks holds, and what it refuses.
#   program_test.sh KVSTORE
set -u
kvstore=$1 failed=0
fail() { echo "FAIL: $*"; failed=1; }

# run LINES ARGUMENTS...: it must succeed, with so many lines of figures, in which every figure is a number above 0, and
# as many histories that are linearizable.
run() {
  lines=$1; shift
  output=$("$kvstore" --check "$@" 2>&1) || fail "kvstore $* returned $?: $output"
  echo "$output"
  good=$(echo "$output" | awk '($1 == "tree" || $1 == "sequential") && NF == 9 {
    for (i = 2; i <= NF; ++i) if ($i !~ /^[0-9.]+$/ || $i + 0 <= 0) next
    ++good } END { print good + 0 }')
  [ "$good" -eq "$lines" ] || fail "kvstore $*: $good lines of figures, not $lines"
  checked=$(echo "$output" | grep -c ' operations: linearizable; ')
  [ "$checked" -eq "$lines" ] || fail "kvstore $*: $checked histories are linearizable, not $lines"
}
run 2 --seconds 0.5
run 2 --both --replicas 2 --clients 2 --operations 100
run 1 --tree --operations 100 --keys 2 --gets 50 --value-bytes 1000 --seed 3
run 1 --sequential --operations 100 --keys 1 --clients 6 --replicas 5 --cpus 0
run 1 --tree --operations 50 --pattern knomial:2 --replicas 4

# So many operations of each client, and each of them in the history.
"$kvstore" --tree --check --clients 3 --operations 70 | grep -q '^  210 operations: linearizable' || fail "not 210 operations"

# refuse WORDS ARGUMENTS...: 2 is returned, and the words are among what is said.
refuse() {
  words=$1; shift
  output=$("$kvstore" "$@" 2>&1); status=$?
  [ $status -eq 2 ] || fail "kvstore $* returned $status"
  case $output in *"$words"*) ;; *) fail "kvstore $*: '$output' does not say '$words'" ;; esac
}
refuse "'1' is not a number from 2 to 64" --replicas 1
refuse "'101' is not a number from 0 to 100" --gets 101
refuse "'7' is not a number from 8 to 65536" --value-bytes 7
refuse "'x' is not a number" --clients x
refuse "'0' is not a number of seconds" --seconds 0
refuse "'3-1' is not a list of CPUs" --cpus 3-1
refuse "'word'?" word
refuse "unrecognized option" --nonsense
refuse "no-such-tree" --tree --pattern no-such-tree
"$kvstore" --help | grep -q -e --value-bytes || fail "--help does not name --value-bytes"
exit $failed
