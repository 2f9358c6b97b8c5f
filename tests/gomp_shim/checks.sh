# Sourced by the shim's test scripts with $shim set: a clean environment, counted checks of whole programs, and the last line.
failed=0 passed=0 skipped=0
scratch=$(mktemp -d) || exit 1  # removed at the end
output=$scratch/output
trap 'rm -rf "$scratch"' EXIT
for name in $(env | sed -n 's/^\(\(SMELT\|OMP\|GOMP\)_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
XDG_CACHE_HOME=$scratch/cache && mkdir "$XDG_CACHE_HOME" && export XDG_CACHE_HOME  # no profile: the guess serves

passes() { echo "ok: $1"; passed=$((passed + 1)); }
fails() { echo "FAIL: $1"; sed 's/^/    /' "$output" | head -n 10; failed=$((failed + 1)); }
skips() { echo "skip: $1"; skipped=$((skipped + 1)); }

# combined command...: of several SMELT_TUNE=, and of several SMELT_OPENMP=, before a program all words count
combined() {
  tune='' openmp='' words=$#
  while [ "$words" -gt 0 ]; do
    case $1 in
      SMELT_TUNE=*) tune=$tune,${1#*=} ;;
      SMELT_OPENMP=on) ;;  # as it is without
      SMELT_OPENMP=*) openmp=$openmp,${1#*=} ;;
      *) set -- "$@" "$1" ;;
    esac
    shift
    words=$((words - 1))
  done
  SMELT_TUNE=$tune SMELT_OPENMP=$openmp "$@"
}

# check NAME EXPECTED_STATUS PATTERN command...   (a line of its output must match; "" for none). A program that hangs is the last one:
# others would, too, and each takes two minutes.
check() {
  name=$1 status=$2 pattern=$3
  shift 3
  combined timeout "${limit:-120}" "$@" >"$output" 2>&1
  got=$?
  if [ "$got" -ne "$status" ]; then
    fails "$name: exit status $got instead of $status"
    if [ "$got" -eq 124 ]; then finish; exit 1; fi
  elif [ -n "$pattern" ] && ! grep -Eq "$pattern" "$output"; then
    fails "$name: no line matches '$pattern'"
  else
    passes "$name"
  fi
}
check_under() { n=$1 s=$2 p=$3; shift 3; check "$n" "$s" "$p" env LD_PRELOAD="$shim" "$@"; }

# learnt RUNTIME: of task_phases' barriers more are the runtime's than have tasks, and than regions have ends
learnt() {
  check_under "phases of tasks: barriers are assumed to have some" 0 '^ok' SMELT_OPENMP=-tasks SMELT_STATS=1 SMELT_CPUS=64 SMELT_TUNE=spin_us=20 OMP_WAIT_POLICY=passive \
    "$programs/task_phases" 60 6
  with_tasks=$(sed -n 's/^ok, \([0-9]*\) barriers.*/\1/p' "$output")
  by_runtime=$(sed -n "s/.* own, \([0-9]*\) $1.*/\1/p" "$output")
  [ "${by_runtime:-0}" -gt $((with_tasks + 60)) ] || fails "of ${with_tasks:-no} barriers with tasks ${by_runtime:-none} were $1's"
}

finish() {
  echo "$passed passed, $failed failed, $skipped skipped"
  [ "$failed" -eq 0 ]
}
