#!/bin/sh
# The program onepaxos: both broadcasts, its table, its refusals.
#   onepaxos_program_test.sh PROGRAM
set -u
program=$1
failed=0
fail() { echo "FAIL: $*"; failed=1; }

out=$("$program" --replicas 2,5 --clients 2 --commands 200 --rounds 3) || fail "exit status $?"
echo "$out"
# Per group: a line with five positive figures for each broadcast, no change of configuration, and the ratio.
for replicas in 2 5; do
  for kind in tree sequential; do
    echo "$out" | awk -v n=$replicas -v kind=$kind \
      '$1 == n && $2 == kind && $3 > 0 && $4 > 0 && $5 >= $4 && $6 ~ /^[0-9]+$/ { found = 1 } END { exit !found }' ||
      fail "no line of $replicas replicas, $kind"
  done
  echo "$out" | grep -Eq "^ *$replicas  tree / sequential: throughput [0-9.]+, response time [0-9.]+$" || fail "no ratio of $replicas"
done
[ "$("$program" --tree --seconds 0.05 --rounds 1 | grep -c sequential)" -eq 0 ] || fail "--tree runs sequential, too"

for wrong in '--replicas x' '--replicas 3,' '--clients 0' '--outstanding 65' '--seconds 0' '--nothing' 'word'; do
  "$program" $wrong >/dev/null 2>&1
  [ $? -eq 2 ] || fail "accepts $wrong"
done
for impossible in '--replicas 1' '--replicas 65' '--pattern none' '--cpus 100000'; do
  "$program" $impossible --commands 1 >/dev/null 2>&1
  [ $? -eq 1 ] || fail "runs with $impossible"
done
exit $failed
