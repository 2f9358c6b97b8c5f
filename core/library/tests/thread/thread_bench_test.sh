#!/bin/sh
# Does thread_bench measure: a time above 0 in each row?
#   thread_bench_test.sh PROGRAM
set -u
said=$("$1" --quick) || { case $("$1" --quick 2>&1) in *Boost*) exit 77 ;; esac; echo "FAIL: $said"; exit 1; }
echo "$said"
number='[0-9]*[1-9][0-9]*\.[0-9]'
[ "$(echo "$said" | grep -cE "^[a-z -]+[0-9]* +($number|[0-9]+\.[1-9]) +($number|[0-9]+\.[1-9]) ns\$")" -eq 12 ] || { echo "FAIL: not twelve rows"; exit 1; }
echo "$said" | grep -qE "^alive 1000 +[0-9]+ bytes +$number ns" || { echo "FAIL: nothing is said of memory"; exit 1; }
"$1" --quickly 2>/dev/null
[ $? -eq 2 ] || { echo "FAIL: an unknown argument is taken"; exit 1; }
