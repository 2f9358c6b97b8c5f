#!/bin/sh
# More threads than CPUs: real programs, each part on one CPU and on all.
#   crowd_test.sh SHIM PROGRAM_DIRECTORY
set -u
shim=$1 programs=$2
. "$(dirname "$0")/checks.sh"
limit=300
first=$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')
cpus=$(nproc)

# crowd NAME THREADS PART [ROUNDS]: on all CPUs, and on one, with tasks of libgomp's
crowd() {
  check_under "$1" 0 '^ok$' "$programs/crowd" "$3" "$2" "${4:-5}"
  check_under "$1, one CPU" 0 '^ok$' SMELT_OPENMP=-tasks taskset -c "$first" "$programs/crowd" "$3" "$2" "${4:-5}"
}
few=$((cpus + 1)) some=$((4 * cpus)) many=$((32 * cpus))
[ "$many" -le 256 ] || many=256
for part in barriers loops singles criticals tasks detached nested own signals mutexes pipes forks masters settings; do
  crowd "$part, $few threads" $few $part
  crowd "$part, $many threads" $many $part 2
done
crowd "ordered" $some ordered 1
crowd "a flag that the next thread sets, which nobody gives way for" $few flags
crowd "teams of all sizes" $some sizes
check_under "exceptions" 0 '^ok$' "$programs/crowd_cxx" $some
check_under "exceptions, one CPU" 0 '^ok$' taskset -c "$first" "$programs/crowd_cxx" $many
check_under "the teams were hot" 0 '\([1-9][0-9]* hot' SMELT_STATS=1 "$programs/crowd" barriers $some 20
finish
