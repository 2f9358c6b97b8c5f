#!/bin/sh
# Does agree_bench measure: four rows, each with a cost and a hop that are numbers above 0?
#   agree_bench_test.sh PROGRAM      exit status 77: this machine has one CPU
set -u
said=$("$1" --quick) || exit $?
echo "$said"
[ "$(echo "$said" | grep -cE ' +[0-9]*[1-9][0-9.]* ns +[0-9]*[1-9][0-9.]* ns +-?[0-9.]+ hops$')" -eq 4 ] || { echo "FAIL: not four rows"; exit 1; }
"$1" --quickly 2>/dev/null
[ $? -eq 2 ] || { echo "FAIL: an unknown argument is taken"; exit 1; }
