#!/bin/sh
# End-to-end: unmodified programs built by clang, under LLVM's libomp, stock and under the shim.
#   kmp_test.sh SHIM NEGATIVE_CONTROL SHIM_FOR_LIBGOMP PROGRAMS_BY_CLANG PROGRAMS_BY_GCC
set -u
shim=$1 control=$2 gomp=$3 programs=$4 gcc_programs=$5
. "$(dirname "$0")/../gomp_shim/checks.sh"
. "$(dirname "$0")/clang_only.sh"

taken='smelt: [0-9.]+: libomp, [0-9]+ threads, pattern .*symbols taken'
# libomp's threads spin where they wait for a region, and beside busy ones that is long: most runs are asked to sleep there.
for program in "constructs 2 10" "constructs 5 4" nested "tasks 10 2" "tasks 5 4" fork reductions arguments alone handed_on; do
  run="$programs/$program"  # split into words below
  [ "$program" != handed_on ] || run="env SMELT_OPENMP=-hot $run"  # it looks at regions that libomp forks
  check "$program, stock" 0 '^ok$' env OMP_WAIT_POLICY=passive $run
  check_under "$program" 0 "$taken" SMELT_VERBOSE=1 OMP_WAIT_POLICY=passive $run
  check_under "$program, bound" 0 '^ok$' OMP_PROC_BIND=true OMP_WAIT_POLICY=passive $run
  # As if every thread had a CPU: no team is a crowd by its number of threads, so all wait as if alone.
  check_under "$program, a CPU for each" 0 '^ok$' SMELT_CPUS=64 SMELT_TUNE=spin_us=20 OMP_WAIT_POLICY=passive $run
  check_under "$program, asleep" 0 '^ok$' SMELT_CPUS=64 SMELT_WAIT=sleep OMP_WAIT_POLICY=passive $run
  check_under "$program, one CPU" 0 '^ok$' SMELT_CPUS=1 OMP_WAIT_POLICY=passive $run
done
# Threads that live for a few regions: what one of them needs is kept for the next.
check "short threads, stock" 0 '^ok$' env OMP_WAIT_POLICY=passive "$programs/short_threads" plain
for how in SMELT_CPUS=64 SMELT_WAIT=sleep; do
  check_under "short threads, $how" 0 '^ok$' $how OMP_WAIT_POLICY=passive "$programs/short_threads" plain kept
done
check_under "waiting as libomp does" 0 '^ok$' "$programs/fork"
counted='OpenMP: [1-9][0-9]* regions .*barriers: [1-9][0-9]* own, [1-9][0-9]* libomp'
check_under "barriers are served, and those with tasks are libomp's" 0 "$counted" SMELT_STATS=1 SMELT_CPUS=64 OMP_WAIT_POLICY=passive "$programs/tasks" 20 2
check_under "level 2: a line per team" 0 'team of 2, CPUs .*: barrier pair' SMELT_VERBOSE=2 SMELT_CPUS=64 "$programs/arguments"
check "tasks without marking fail: the stress can see the hazard" 1 'failed: ' \
  env LD_PRELOAD="$control" SMELT_CPUS=64 OMP_WAIT_POLICY=passive "$programs/tasks" 300 3
# What is learnt from rows of barriers with tasks. With 6 threads reductions are a tree's.
check "phases of tasks, stock" 0 '^ok' env OMP_WAIT_POLICY=passive "$programs/task_phases" 20
for seed in 1 2; do
  check_under "phases of tasks, seed $seed" 0 '^ok' SMELT_CPUS=64 SMELT_TUNE=spin_us=20 OMP_WAIT_POLICY=passive "$programs/task_phases" 40 $seed
done
check_under "phases of tasks, 6 threads" 0 '^ok' SMELT_CPUS=64 SMELT_TUNE=spin_us=20 OMP_WAIT_POLICY=passive "$programs/task_phases" 8 3 6
learnt libomp
check "phases without marking fail" 1 'failed: ' env LD_PRELOAD="$control" SMELT_CPUS=64 OMP_WAIT_POLICY=passive "$programs/task_phases"

# Steps aside, and the program runs as it would.
aside() { check_under "$1: steps aside" 0 "takes nothing: $2" SMELT_VERBOSE=1 OMP_WAIT_POLICY=passive "$3" "$4" 2 3; }
aside "cancellation on" 'OMP_CANCELLATION is on' OMP_CANCELLATION=true "$programs/constructs"
aside "SMELT_OPENMP=-libomp" 'switched off by SMELT_OPENMP' SMELT_OPENMP=-libomp "$programs/constructs"
aside "KMP_TASKING" 'KMP_TASKING is set' KMP_TASKING=0 "$programs/constructs"
aside "KMP_CONSISTENCY_CHECK" 'KMP_CONSISTENCY_CHECK is set' KMP_CONSISTENCY_CHECK=all "$programs/constructs"
# Ubuntu 24.04 links its libomp so that no tool is found in the program (-Bsymbolic-functions); then there is nothing to step aside for.
if OMP_TOOL_VERBOSE_INIT=stderr "$programs/tool" 2>&1 | grep -q 'current address space\.\.\. Failed'; then
  skips "an OMPT tool: this libomp finds none in a program"
else
  check "an OMPT tool, stock" 0 '^ok$' "$programs/tool"
  aside "an OMPT tool" 'an OMPT tool watches' OMP_TOOL=enabled "$programs/tool"
fi
check_under "no tool, but one could be" 0 "$taken" SMELT_VERBOSE=1 OMP_TOOL=disabled "$programs/constructs" 2 3

# Both shims, as smelt run preloads them: each serves its own runtime.
both=$gomp:$shim
check "both shims, clang's program" 0 "$taken" env LD_PRELOAD="$both" SMELT_VERBOSE=1 "$programs/constructs" 2 3
check "both shims, GCC's program" 0 'smelt: [0-9.]+: libgomp GOMP' env LD_PRELOAD="$both" SMELT_VERBOSE=1 "$gcc_programs/constructs" 2 3
check "both shims, GCC's program with tasks" 0 '^ok$' env LD_PRELOAD="$both" SMELT_CPUS=64 "$gcc_programs/tasks" 20 3
check "both shims, the other way round" 0 '^ok$' env LD_PRELOAD="$shim:$gomp" SMELT_CPUS=64 "$gcc_programs/tasks" 20 3
libomp=$(ldd "$programs/constructs" | awk '/libomp/ { print $3 }')
for program in "constructs 2 10" "tasks 10 2" nested; do
  check "GCC's $program on libomp: its own barriers" 0 '^ok$' env LD_PRELOAD="$both:$libomp" OMP_WAIT_POLICY=passive $gcc_programs/$program
done
check_under "no OpenMP in the process: not a word" 0 '' SMELT_VERBOSE=1 true
[ -s "$output" ] && fails "a word where there is no OpenMP"
check_under "silent by default" 0 '^ok$' "$programs/fork"
[ "$(wc -l <"$output")" -eq 1 ] || fails "not silent"

finish
