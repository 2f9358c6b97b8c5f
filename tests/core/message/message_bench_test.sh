#!/bin/sh
# Does bench/message_bench measure: 24 rows, each with times above 0?
#   message_bench_test.sh PROGRAM
set -u
said=$("$1" --quick) || exit $?
echo "$said"
rows=$(echo "$said" | grep -cE '^(posted|unexpected|wildcards|unasked|reverse|size|latency|rate) +[0-9]+ +[0-9]*[1-9][0-9]*\.[0-9] ns +hop +[0-9]*[1-9][0-9]*\.[0-9] ns$')
[ "$rows" -eq 24 ] || { echo "FAIL: $rows rows, not 24"; exit 1; }
"$1" --quickly 2>/dev/null
[ $? -eq 2 ] || { echo "FAIL: an unknown argument is taken"; exit 1; }
