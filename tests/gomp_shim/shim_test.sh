#!/bin/sh
# End-to-end: unmodified OpenMP programs, stock and under the shim.
#   shim_test.sh SHIM NEGATIVE_CONTROL PROGRAM_DIRECTORY [--full]
# --full: each program in every mode, and stock, which tests the programs. Otherwise each mode has the programs that it can change most:
# how threads wait shows in any, so in the short ones.
set -u
length=${4-}
shim=$1 control=$2 programs=$3
. "$(dirname "$0")/checks.sh"

taken='smelt: [0-9.]+: libgomp GOMP_[0-9.]+, [0-9]+ threads, pattern .*symbols taken'
for program in constructs nested tasks cancel fork hot; do
  check_under "$program, dynamic loops" 0 '^ok$' SMELT_OPENMP=on SMELT_CPUS=64 SMELT_TUNE=spin_us=20 "$programs/$program"
  check_under "$program, tasks are libgomp's" 0 '^ok$' SMELT_OPENMP=-tasks SMELT_CPUS=64 SMELT_TUNE=spin_us=20 "$programs/$program"
  check_under "$program" 0 "$taken" SMELT_VERBOSE=1 "$programs/$program"
  case $length-$program in --full-* | -nested | -cancel | -fork)
    check "$program, stock" 0 '^ok$' "$programs/$program"
    check_under "$program, passive" 0 '^ok$' OMP_WAIT_POLICY=passive "$programs/$program"
    check_under "$program, active" 0 '^ok$' OMP_WAIT_POLICY=active "$programs/$program"
    check_under "$program, bound" 0 '^ok$' OMP_PROC_BIND=true "$programs/$program"
    check_under "$program, no hot team" 0 '^ok$' SMELT_OPENMP=-hot "$programs/$program" ;;
  esac
  # As if every thread had a CPU: no team is a crowd by its number of threads, so all wait as if alone. (The patterns for many need a
  # profile of as many CPUs: patterns_test.sh.)
  check_under "$program, hot teams" 0 '^ok$' SMELT_CPUS=64 SMELT_TUNE=spin_us=20 "$programs/$program"
  check_under "$program, hot teams asleep" 0 '^ok$' SMELT_CPUS=64 SMELT_WAIT=sleep "$programs/$program"
done
check_under "hot teams are there, and counted" 0 'OpenMP: [0-9]+ regions \([1-9][0-9]+ hot; [1-9][0-9]* hot teams made' SMELT_STATS=1 SMELT_CPUS=64 "$programs/hot"
check_under "regions of one thread between" 0 'OpenMP: 1000 regions \(99[0-9] hot; 2 hot teams made, 0 ended' SMELT_STATS=1 SMELT_CPUS=64 "$programs/hot" turns
check_under "regions of one thread between, inside" 0 'OpenMP: 1001 regions \(99[0-9] hot; 4 hot teams made' SMELT_STATS=1 SMELT_CPUS=64 "$programs/hot" turns inside
check_under "targets and teams end hot teams" 0 '^ok$' SMELT_CPUS=64 "$programs/hot" target
check "settings changed between, stock" 0 '^ok$' "$programs/hot" settings
check_under "settings changed between" 0 'hot no more after [0-9]* regions: a setting was changed' SMELT_VERBOSE=2 SMELT_CPUS=64 \
  "$programs/hot" settings
check_under "settings by turns" 0 'hot; 2 hot teams made, 0 ended early' SMELT_STATS=1 SMELT_CPUS=64 "$programs/hot" settings turns
check "settings changed between, a list of sizes, stock" 0 '^ok$' env OMP_NUM_THREADS=2,3 "$programs/hot" settings 3
check_under "settings changed between, a list of sizes" 0 'hot no more after [0-9]* regions: a setting was changed' SMELT_VERBOSE=2 \
  SMELT_CPUS=64 OMP_NUM_THREADS=2,3 "$programs/hot" settings 3
check "target regions, stock" 0 '^ok$' "$programs/hot" beside tasks
for bind in true false; do
  check_under "target regions end the hot team, bound: $bind" 0 'hot; [2-9] hot teams made, [1-9] ended early' SMELT_STATS=1 SMELT_CPUS=64 \
    OMP_PROC_BIND=$bind "$programs/hot" beside
  check_under "target regions that are tasks, bound: $bind" 0 '^ok$' SMELT_CPUS=64 OMP_PROC_BIND=$bind "$programs/hot" beside tasks
done
check_under "proc_bind clauses that ask for less" 0 'hot no more after [0-9]* regions: a proc_bind clause' SMELT_VERBOSE=2 SMELT_CPUS=64 \
  OMP_PROC_BIND=spread "$programs/hot" beside
check_under "SMELT_OPENMP=-hot: none" 0 '\(0 hot; 0 hot teams made' SMELT_STATS=1 SMELT_OPENMP=-hot "$programs/hot"
check_under "level 2: a line per team" 0 'team of 2, CPUs .*: barrier pair' SMELT_VERBOSE=2 SMELT_CPUS=64 "$programs/hot"
check_under "level 2: why a team is not hot" 0 'team of 2: not hot: dynamic adjustment' SMELT_VERBOSE=2 "$programs/hot"
check_under "no hot team with priorities" 0 'team of 2: not hot: OMP_MAX_TASK_PRIORITY is set' OMP_MAX_TASK_PRIORITY=4 SMELT_VERBOSE=2 \
  "$programs/tasks"
check_under "level 2: a hot team, and its end" 0 'hot no more after [0-9]+ regions: a setting was changed' SMELT_VERBOSE=2 SMELT_CPUS=64 "$programs/hot"
check_under "counters through the C API" 0 '^ok$' "$programs/counters"
check "counters through the C API, no shim" 0 '^ok$' "$programs/counters" absent
check_under "constructs, one CPU" 0 '^ok$' SMELT_CPUS=1 "$programs/constructs"
check_under "tasks, asleep" 0 '^ok$' SMELT_WAIT=sleep "$programs/tasks" 500
check_under "tasks of libgomp's, asleep" 0 '^ok$' SMELT_OPENMP=-tasks SMELT_WAIT=sleep "$programs/tasks" 500
check_under "tasks, hot teams made and ended" 0 "OpenMP: .*\([1-9][0-9]+ hot;" SMELT_STATS=1 SMELT_CPUS=64 SMELT_TUNE=spin_us=20 "$programs/tasks" 500
check "tasks without marking fail: the stress can see the hazard" 1 'failed: ' env LD_PRELOAD="$control" SMELT_OPENMP=-tasks SMELT_CPUS=64 "$programs/tasks"
# What is learnt from rows of barriers with tasks.
check "phases of tasks, stock" 0 '^ok' "$programs/task_phases" 20
for seed in 1 2 3; do
  check_under "phases of tasks, seed $seed" 0 '^ok' SMELT_CPUS=64 SMELT_TUNE=spin_us=20 "$programs/task_phases" 60 $seed
  check_under "phases of tasks, no hot team, seed $seed" 0 '^ok' SMELT_OPENMP=-hot SMELT_CPUS=64 SMELT_TUNE=spin_us=20 "$programs/task_phases" 60 $seed
done
check_under "phases of tasks, a crowd" 0 '^ok' "$programs/task_phases" 20 4
check_under "phases of tasks that are libgomp's" 0 '^ok' SMELT_OPENMP=-tasks SMELT_CPUS=64 SMELT_TUNE=spin_us=20 "$programs/task_phases" 60 5
learnt libgomp
check "phases without marking fail" 1 'failed: ' env LD_PRELOAD="$control" SMELT_OPENMP=-tasks SMELT_CPUS=64 "$programs/task_phases"

check "cancellation on, stock" 0 '^ok$' env OMP_CANCELLATION=true "$programs/cancel"
check_under "cancellation on: steps aside" 0 'takes nothing: OMP_CANCELLATION is on' OMP_CANCELLATION=true SMELT_VERBOSE=1 "$programs/cancel"
check "memory runs out, stock" 0 '^ok$' "$programs/memory"
check_under "memory runs out" 0 '^ok$' SMELT_CPUS=64 "$programs/memory"
check_under "SMELT_OPENMP=off: steps aside" 0 'takes nothing: switched off by SMELT_OPENMP' SMELT_OPENMP=-libgomp SMELT_VERBOSE=1 "$programs/constructs"
check_under "a library loaded RTLD_LOCAL" 0 "$taken" SMELT_VERBOSE=1 "$programs/host" "$programs/libplugin.so"
check "jump out of a region, stock" 0 '^ok$' "$programs/hot" jump
check_under "jump out of a region" 0 '^ok$' SMELT_CPUS=64 "$programs/hot" jump
# Two threads on one CPU: whoever spins keeps the other from running.
check_under "two threads bound to one CPU" 0 '^ok$' GOMP_CPU_AFFINITY="0 0" "$programs/fork"
check_under "two threads bound to one CPU, hot" 0 '^ok$' SMELT_CPUS=64 GOMP_CPU_AFFINITY="0 0" "$programs/fork"
if [ -x "$programs/static_fork" ]; then
  check_under "libgomp inside the program" 0 'took nothing: the program never called libgomp' SMELT_VERBOSE=1 "$programs/static_fork"
else
  skips "there is no libgomp.a"
fi
check_under "no OpenMP in the process" 0 'took nothing: the program never called libgomp' SMELT_VERBOSE=1 true

# Staleness: a profile in which a hop takes 40 µs, or a hundredth of a nanosecond. A pair that lost its CPU meanwhile gives no answer, and there is one
# question per process: asked until answered.
stale=$scratch
line='smelt: the machine is not as it was measured: CPUs [0-9]+ and [0-9]+, .*: a hop takes [0-9]+ ns, was'
# stale NAME NS WAS command...   (the program must print ok, and the line exactly once)
stale() {
  name=$1 was=$3
  "$programs/false_profile" "$stale/false.profile" "$2" || { fails "$name: no profile"; return; }
  shift 3
  tries=0
  while [ "$tries" -lt 200 ]; do
    tries=$((tries + 1))
    timeout 120 env LD_PRELOAD="$shim" SMELT_PROFILE="$stale/false.profile" SMELT_VERBOSE=1 OMP_PROC_BIND=true "$@" >"$output" 2>&1
    got=$?
    if [ "$got" -ne 0 ] || ! grep -q '^ok$' "$output"; then
      fails "$name: exit status $got"; return
    fi
    if grep -Eq "$line $was\b" "$output"; then
      if [ "$(grep -Ec "$line" "$output")" -eq 1 ]; then
        passes "$name (try $tries)"
      else
        fails "$name: told more than once"
      fi
      return
    fi
  done
  fails "$name: not told"
}
# silent NAME command...   (ten times)
silent() {
  name=$1
  shift
  for try in 1 2 3 4 5 6 7 8 9 10; do
    timeout 120 env LD_PRELOAD="$shim" SMELT_PROFILE="$stale/false.profile" OMP_PROC_BIND=true "$@" >"$output" 2>&1
    got=$?
    if [ "$got" -ne 0 ] || ! grep -q '^ok$' "$output" || grep -Eq 'not as it was measured|as far as asked' "$output"; then
      fails "$name: exit status $got"; return
    fi
  done
  passes "$name"
}
if [ "$(nproc)" -ge 2 ]; then
  stale "a hop was dear: told once" 40000 40000 "$programs/regions"
  stale "a hop was cheap: told once" 0.01 0 "$programs/regions"
  # One try of each: whether the canary is answered is not the question.
  stale "waiting asleep" 40000 40000 SMELT_WAIT=sleep "$programs/regions"
  for program in constructs nested tasks fork hot; do
    check_under "$program, stale profile, teams of all sizes" 0 '^ok$' SMELT_PROFILE="$stale/false.profile" SMELT_CPUS=64 SMELT_TUNE=spin_us=20 "$programs/$program"
  done
  silent "SMELT_TUNE=canary=0: nothing is asked" SMELT_VERBOSE=2 SMELT_TUNE=canary=0 "$programs/regions"
  silent "a crowd is not asked" SMELT_VERBOSE=2 SMELT_CPUS=1 "$programs/regions"
  # They share CPUs, so there would be no answer, and the one who waits for it would lose its CPU: 12 ms, where 0.15 are promised.
  silent "nor more threads than CPUs, though SMELT_CPUS promises enough" SMELT_VERBOSE=2 SMELT_CPUS=1000 SMELT_TUNE=spin_us=20 \
    "$programs/regions" $(($(nproc) + 2))
  silent "no hot team, nothing is asked" SMELT_VERBOSE=2 SMELT_OPENMP=-hot "$programs/regions"
  silent "a stale profile alone is no reason for a line" "$programs/regions"
else
  skips "staleness needs two CPUs"
fi

check_under "silent by default" 0 '^ok$' "$programs/fork"
if [ "$(wc -l <"$output")" -ne 1 ]; then fails "not silent"; fi
mkdir -p "$stale/smelt"  # profiles may lie there, so one is looked for
check_under "silent where the profile cannot be opened" 0 '^ok$' XDG_CACHE_HOME="$stale" "$programs/no_files"
if [ "$(wc -l <"$output")" -ne 1 ]; then fails "a word about a profile that nobody named"; fi
check_under "a profile that was named and cannot be opened: one line" 0 'cannot be opened \(Too many open files\)' \
  SMELT_PROFILE="$stale/false.profile" "$programs/no_files"
check_under "a profile that cannot be opened, at level 1" 0 'cannot be opened \(Too many open files\)' SMELT_VERBOSE=1 \
  XDG_CACHE_HOME="$stale" "$programs/no_files"
check_under "no folder, no profile, no word" 0 '^ok$' SMELT_VERBOSE=1 XDG_CACHE_HOME="$stale/none" "$programs/no_files"
if grep -q "cannot be opened" "$output"; then fails "a word about a profile that cannot be there"; fi
check_under "unknown pattern: one line, best is used" 0 'SMELT_TUNE=pattern=nonsense' SMELT_TUNE=pattern=nonsense "$programs/fork"
check_under "bad value: one line, default" 0 'SMELT_TUNE=spin_us=-3 is not a whole number' SMELT_TUNE=spin_us=-3 "$programs/fork"
check_under "unknown setting: did you mean" 0 'maybe: SMELT_TUNE=spin_us' SMELT_SPIN_MS=3 "$programs/fork"

libomp=$(ls /usr/lib/*/libomp.so.5 /usr/lib/llvm-*/lib/libomp.so.5 2>/dev/null | head -n 1)
if [ -n "$libomp" ]; then
  check "LLVM's libomp under the program: steps aside" 0 "takes nothing: the OpenMP runtime is LLVM" \
    env LD_PRELOAD="$shim:$libomp" SMELT_VERBOSE=1 "$programs/constructs"
else
  skips "LLVM's libomp is not installed"
fi

finish
