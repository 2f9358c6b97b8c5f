#!/bin/sh
# More threads than CPUs as user-level threads: real programs, each part on one CPU and on all.
#   surplus_test.sh SHIM PROGRAM_DIRECTORY
set -u
shim=$1 programs=$2
. "$(dirname "$0")/checks.sh"
limit=300
first=$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')
cpus=$(nproc)
on=SMELT_SURPLUS=1

# surplus NAME THREADS PART [ROUNDS]: on all CPUs, and on one
surplus() {
  check_under "$1" 0 '^ok$' $on "$programs/surplus" "$3" "$2" "${4:-5}"
  check_under "$1, one CPU" 0 '^ok$' $on taskset -c "$first" "$programs/surplus" "$3" "$2" "${4:-5}"
}
few=$((cpus + 1)) some=$((4 * cpus)) many=$((32 * cpus))
[ "$many" -le 256 ] || many=256
for part in barriers loops singles criticals tasks detached nested own signals mutexes pipes forks masters settings; do
  surplus "$part, $few threads" $few $part
  surplus "$part, $many threads" $many $part 2
done
surplus "ordered" $some ordered 1
surplus "a flag that the next thread sets, which nobody gives way for" $few flags
surplus "teams of all sizes" $some sizes
check_under "exceptions" 0 '^ok$' $on "$programs/surplus_cxx" $some
check_under "exceptions, one CPU" 0 '^ok$' $on taskset -c "$first" "$programs/surplus_cxx" $many

# Are they?
check_under "as many kernel threads as CPUs" 0 '^ok$' $on "$programs/surplus" user_level $many
check_under "as many kernel threads as CPUs: one" 0 '^ok$' $on taskset -c "$first" "$programs/surplus" user_level $many
check_under "without the setting they are kernel threads" 1 'failed: as_many' "$programs/surplus" user_level $many
check_under "they are counted" 0 '; [1-9][0-9]* regions of user-level threads' $on SMELT_STATS=1 "$programs/surplus" barriers $some
check_under "... and how often the watchdog had to help" 0 '\([1-9][0-9]* times taken from a carrier' $on SMELT_STATS=1 \
  taskset -c "$first" "$programs/surplus" pipes $some
check_under "level 2: a line" 0 "team of $some: its threads are user-level threads of $cpus" $on SMELT_VERBOSE=2 "$programs/surplus" barriers $some

# What is refused, and runs as ever.
refused() {
  name=$1 why=$2
  shift 2
  check_under "$name: refused" 0 "no surplus threads: $why" $on SMELT_VERBOSE=2 "$@" "$programs/surplus" barriers $some
  check_under "$name: and runs" 0 '^ok$' $on "$@" "$programs/surplus" barriers $some
}
refused "tasks by stealing" "SMELT_TASKS=1" SMELT_TASKS=1
refused "bound threads" "threads are bound" OMP_PROC_BIND=true
refused "a CPU for each" "there is a CPU for each" SMELT_CPUS=1024

# The other programs of these tests.
for program in constructs nested tasks fork hot loops kept; do
  check_under "$program" 0 '^ok' $on "$programs/$program"
  check_under "$program, one CPU" 0 '^ok' $on taskset -c "$first" "$programs/$program"
done
for how in main-exits masters keys cancel untold-children forks; do
  check_under "$how" 0 '^ok$' $on SMELT_CPUS=1 "$programs/life" "$how"
done
for program in mixed depend own_tasks cancel; do
  check_under "$program" 0 '^ok' $on SMELT_CPUS=1 "$programs/$program" 3
done
check_under "phases of tasks" 0 '^ok' $on "$programs/task_phases" 20 4
finish
