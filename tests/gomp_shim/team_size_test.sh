#!/bin/sh
# Teams of as many threads as a quota pays for, in a real control group. Needs root and a hierarchy that it may write to; else it is
# skipped. A machine with one CPU has no team to be made smaller.
#   team_size_test.sh SHIM SHIM PROGRAM
shims=$1:$2 program=$3 failed=0
[ -x "$program" ] || { echo "skip: ${program##*/} was not built; for the one of clang, its OpenMP is missing"; exit 77; }
cpus=$(nproc)
[ "$cpus" -ge 2 ] || { echo "skip: one CPU"; exit 77; }
. "$(dirname "$0")/../control_group.sh"
unset OMP_NUM_THREADS OMP_THREAD_LIMIT OMP_PROC_BIND OMP_PLACES SMELT_FIT SMELT_VERBOSE OMPI_COMM_WORLD_LOCAL_SIZE

of() { printf 'child %s\nmain %s\nthread %s\ncall 3 3\nclause 4' "$1 $2 $2" "$1 $2 $2" "$1 $2 $2"; }
# expect NAME PROCESSORS THREADS [VARIABLE=VALUE...]
expect() {
  name=$1 wanted=$(of "$2" "$3")
  shift 3
  got=$(in_group env LD_PRELOAD="$shims" "$@" timeout 60 "$program" 2>&1)
  if [ "$got" = "$wanted" ]; then echo "ok: $name"; else echo "FAIL: $name: '$got', not '$wanted'"; failed=1; fi
}
limit 50000
expect "half a CPU" 1 1
expect "SMELT_FIT=0: as stock" "$cpus" "$cpus" SMELT_FIT=0
expect "the shims are off: as stock" "$cpus" "$cpus" SMELT_OPENMP=off
expect "the user's number" "$cpus" 5 OMP_NUM_THREADS=5
said=$(in_group env LD_PRELOAD="$shims" SMELT_VERBOSE=1 "$program" 2>&1 | grep -c "teams of 1 thread: the quota pays for 0.50 CPUs of $cpus")
[ "$said" = 1 ] && echo "ok: one line says so" || { echo "FAIL: $said lines say so"; failed=1; }
limit 140000
expect "1.4 CPUs" 1 1
limit 150000
expect "1.5 CPUs, rounded up" $((cpus > 2 ? 2 : cpus)) $((cpus > 2 ? 2 : cpus))
expect "1.5 CPUs, two ranks of a job" 1 1 OMPI_COMM_WORLD_LOCAL_SIZE=2
limit 100000000
expect "more than there are" "$cpus" "$cpus"
exit $failed
