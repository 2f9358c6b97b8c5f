# Sourced after pretend.sh: a program whose team crosses its barriers by the pattern it was asked for, and not as a crowd.

# Threads of which many share a CPU: whoever waits gives it up soon.
waiting="SMELT_TUNE=spin_us=20 OMP_WAIT_POLICY=passive"

# proper NAME PATTERN THREADS machine command...   (an extended regular expression of the pattern's text, best: any but a crowd.) Says why not in
# $why. The team is of so many threads, is told of that pattern when it is first seen and when it is seen on its CPUs, and is hot.
why=
proper() {
  pattern=$1 threads=$2 machine=$3
  shift 3
  # It is known where threads run once they are all there; two need nothing else then, nor others that run where their plan had them, on CPU
  # after CPU, as they may where these are given out in this order.
  case $machine in large | busy) rebuilt=', rebuilt' seen='[0-9].*' ;; *) rebuilt='(, rebuilt)?' seen='.*' ;; esac
  if [ "$threads" -le 2 ]; then rebuilt='' seen='.*'; fi
  [ "$pattern" = best ] && pattern='[a-z]+(-[a-z]+)*(:[0-9]+)?'
  combined timeout "${limit:-120}" env $($machine) $waiting SMELT_VERBOSE=2 "$@" >"$output" 2>&1
  got=$?
  if [ "$got" -ne 0 ] || ! grep -q '^ok$' "$output"; then
    why="$threads threads: exit status $got"
  elif ! grep -Eq "team of $threads, CPUs $seen: barrier $pattern( \([0-9]+ ns predicted\))?$rebuilt$" "$output"; then
    why="$threads threads: not told to be $pattern where they run"
  elif grep -E "team of $threads, .*: barrier" "$output" | grep -Eqv ": barrier $pattern( \(|,|$)"; then
    why="$threads threads: not $pattern"
  elif grep -Eq 'barrier (crowd|alone)' "$output"; then
    why="$threads threads: a crowd"
  elif [ "${cold:-no}" = no ] && ! grep -Eq "team of $threads, CPUs [0-9].*: hot, fork and join ${fork:-[a-z]+}" "$output"; then
    why="$threads threads: not hot, or not by ${fork:-any pattern}"
  else
    return 0
  fi
  return 1
}

# What a size may do in about a second on two CPUs.
rounds() { if [ "$1" -le 5 ]; then echo 20; elif [ "$1" -le 8 ]; then echo 8; elif [ "$1" -le 16 ]; then echo 3; else echo 1; fi; }

# patterns SMELT: all that the generator has, with the argument that stands for the default
patterns() {
  "$1" tree --list >"$output"
  awk '$2 == "tree" || $2 == "exchange" {
    name = $1
    if (match($0, /\(default [^)]*\)/)) name = substr($0, RSTART + 9, RLENGTH - 10)
    print name }' "$output"
}
