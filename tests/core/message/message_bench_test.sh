#!/bin/sh
# Does bench/message_bench measure: nine rows, each with a time above 0?
#   message_bench_test.sh PROGRAM
set -u
said=$("$1" --quick) || exit $?
echo "$said"
[ "$(echo "$said" | grep -cE '^(posted|unexpected|reverse) +[0-9]+ +[0-9]*[1-9][0-9]*\.[0-9] ns$')" -eq 9 ] || { echo "FAIL: not nine rows"; exit 1; }
"$1" --quickly 2>/dev/null
[ $? -eq 2 ] || { echo "FAIL: an unknown argument is taken"; exit 1; }
