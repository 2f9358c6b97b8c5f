#!/bin/sh
# Every pattern of the generator under programs on LLVM's libomp, with 2 to 33 threads, whatever machine this is: each thread believes it
# is on a CPU of its own of a pretended machine (tests/gomp_shim/pretended_cpus.c). That the team really crossed its barriers by that
# pattern, and not as a crowd, is what SMELT_VERBOSE=2 says, and is checked each time.
#   kmp_patterns_test.sh SHIM SMELT PROGRAMS_BY_CLANG PROGRAMS_BY_GCC
set -u
shim=$1 smelt=$2 clang_programs=$3 programs=$3
. "$(dirname "$0")/../gomp_shim/checks.sh"
. "$(dirname "$0")/clang_only.sh"
programs=$4
. "$(dirname "$0")/../gomp_shim/pretend.sh"
. "$(dirname "$0")/../gomp_shim/proper.sh"
# libomp counts the CPUs of the mask and finds more than there are: an assertion of its own, without any shim. It must not look.
export KMP_AFFINITY=disabled

names=$(patterns "$smelt")
[ "$(echo "$names" | wc -w)" -ge 17 ] || fails "patterns are missing from the list"
for pattern in $names best; do
  sizes="3 4 7 8 16 33"
  [ "$pattern" = pair ] && sizes=2
  why=
  for size in $sizes; do
    proper "$pattern" "$size" large "SMELT_TUNE=pattern=$pattern" "$clang_programs/constructs" "$size" "$(rounds "$size")" || break
    proper "$pattern" "$size" large "SMELT_TUNE=pattern=$pattern" "$clang_programs/tasks" "$(($(rounds "$size") + 5))" "$size" || break
  done
  if [ -z "$why" ]; then passes "$pattern: constructs and tasks with $sizes threads"; else fails "$pattern: $why"; fi
done

# With five threads and more reductions go up a tree, and tasks that are made meanwhile interrupt them.
check "reductions" 0 '^ok$' env $(large) SMELT_TUNE=spin_us=20 OMP_WAIT_POLICY=passive "$clang_programs/reductions"

finish
