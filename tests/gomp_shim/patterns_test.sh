#!/bin/sh
# Every pattern of the generator under OpenMP programs, with 2 to 64 threads, whatever machine this is: each thread believes it is on a
# CPU of its own, of a pretended machine whose profile it has (pretended_cpus.c, false_profile.cc). That the team really
# crossed its barriers by that pattern, and not as a crowd, is what SMELT_VERBOSE=2 says, and is checked each time.
#   patterns_test.sh SHIM SMELT PROGRAM_DIRECTORY
set -u
shim=$1 smelt=$2 programs=$3
. "$(dirname "$0")/checks.sh"
. "$(dirname "$0")/pretend.sh"
. "$(dirname "$0")/proper.sh"

names=$(patterns "$smelt")
[ "$(echo "$names" | wc -w)" -ge 17 ] || fails "patterns are missing from the list"
for pattern in $names knomial:1 knomial:3 dissemination:2 dissemination:3 hierarchical:2 spread:1; do
  sizes="3 4 5 7 8 16 33 64"
  [ "$pattern" = pair ] && sizes=2
  why=
  for size in $sizes; do
    # The large machine, neighbours apart; and close together on the small one.
    proper "$pattern" "$size" large "SMELT_TUNE=pattern=$pattern" "$programs/constructs" "$size" "$(rounds "$size")" || break
    proper "$pattern" "$size" large "SMELT_TUNE=pattern=$pattern" "$programs/tasks" "$(($(rounds "$size") + 5))" "$size" || break
    [ "$size" = 8 ] || [ "$size" = 16 ] || continue
    proper "$pattern" "$size" small "SMELT_TUNE=pattern=$pattern" "$programs/constructs" "$size" 2 || break
  done
  if [ -z "$why" ]; then passes "$pattern: constructs and tasks, hot, with $sizes threads"; else fails "$pattern: $why"; fi
done

# all NAME PATTERN machine "sizes" setting...
all() {
  name=$1 asked=$2 where=$3 sizes=$4
  shift 4
  why=
  for size in $sizes; do
    proper "$asked" "$size" "$where" "$@" "$programs/constructs" "$size" "$(rounds "$size")" || break
  done
  if [ -z "$why" ]; then passes "$name: $sizes threads"; else fails "$name: $why"; fi
}
sizes="3 4 5 7 8 16 33 64"
all "the cheapest" best large "$sizes" SMELT_TUNE=pattern=best
# bad never is the cheapest: it can only come from the profile, which is of another machine: nobody may look whether it still holds.
all "what won, says the profile" bad winners "$sizes" SMELT_TUNE=pattern=best,canary=0
fork='(binary|fibonacci|binomial|knomial:[0-9]+|mst|cluster|adaptive|adaptive-sorted|optimised|line(:[0-9]+)?|relay(:[0-9]+)?) '
all "fork and join by trees" best busy "8 16 33 64" SMELT_TUNE=pattern=best
fork=
cold=yes
all "barriers alone, libgomp forks" best large "3 8 16" SMELT_OPENMP=-hot
cold=no
for pattern in hierarchical:1 spread:3 hybrid adaptive-sorted relay:2 line:1; do
  all "$pattern, asleep" "$pattern" large "3 8 16" "SMELT_TUNE=pattern=$pattern" SMELT_WAIT=sleep
done

# Threads that run where their plan had them keep its barrier, and others get one for where they are.
check "on the CPUs of the plan" 0 'CPUs 0 1 2 3 4 5 6 7: hot' env $(small) $waiting SMELT_VERBOSE=2 "$programs/regions" 8 in-turn
if grep -q rebuilt "$output"; then fails "on the CPUs of the plan: planned twice"; fi
check "on other CPUs than the plan's" 0 'CPUs 0 9 18 27 .*: barrier .*, rebuilt$' env $(large) $waiting SMELT_VERBOSE=2 "$programs/regions" 8 in-turn

# Several masters, nested teams, sizes that change: every pattern that teams of all sizes have, and libgomp's.
for program in nested hot fork "tasks 100"; do
  set -- $program
  program=$1
  shift
  for pattern in best hierarchical spread hybrid adaptive-sorted; do
    check "$program by $pattern" 0 '^ok$' env $(large) $waiting "SMELT_TUNE=pattern=$pattern" "$programs/$program" "$@"
  done
done

# The smallest stacks that there are, for masters and for workers.
for size in 2 4 9 12 33; do
  check "stacks of 16 KiB, $size threads, stock" 0 '^ok$' env OMP_STACKSIZE=16k "$programs/stack" "$size"
  check "stacks of 16 KiB, $size threads" 0 '^ok$' env $(large) $waiting OMP_STACKSIZE=16k "$programs/stack" "$size"
  check "stacks of 16 KiB, $size threads, told" 0 '^ok$' env $(large) $waiting SMELT_VERBOSE=2 OMP_STACKSIZE=16k "$programs/stack" "$size"
  check "stacks of 16 KiB, $size threads, no profile" 0 '^ok$' env LD_PRELOAD="$shim" OMP_STACKSIZE=16k "$programs/stack" "$size"
done
# What a master needs is 12 KiB, or as much as libgomp takes by itself and 640 bytes for what is between it and the program. (With 64
# threads libgomp takes 16,360 of the 16,384 bytes.)
used() { sed -n 's/^used \([0-9]*\) of.*/\1/p' "$output"; }
for size in 2 9 10 16 33 64; do
  check "a painted stack, $size threads, stock" 0 '^used' "$programs/stack" "$size" 262144
  most=$(($(used) + 640))
  [ "$most" -ge 12288 ] || most=12288
  check_under "a painted stack, $size threads" 0 '^used' "$programs/stack" "$size" 262144
  if [ "$(used)" -gt "$most" ]; then fails "$size threads: more than $most bytes of stack"; fi
  # The pretended machine's syscall() lies there, too.
  check "a painted stack, $size threads, a pattern" 0 '^used' env $(large) $waiting "$programs/stack" "$size" 262144
  if [ "$(used)" -gt $((most + 256)) ]; then fails "$size threads: more than $((most + 256)) bytes of stack"; fi
done

finish
