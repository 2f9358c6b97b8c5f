# Part of component_test.sh: a profile that does not hold any more is noticed by the first group of all ranks.

stale=$scratch/false.profile
false_profile=$programs/../gomp_shim/false_profile
drift='smelt: the machine is not as it was measured: CPUs [0-9]+ and [0-9]+, .*: a hop takes [0-9]+ ns, was'
asked='not as it was measured|as far as asked'

# stale NAME NS WAS MPIRUN_ARGUMENT...: two ranks under that profile; the program succeeds, and one rank says the line
# once. A rank that lost its CPU for the moment gives no answer, so it may take several tries.
stale() {
  stale_name=$1 was=$3
  "$false_profile" "$stale" "$2" || { fail "$stale_name: no profile"; return; }
  shift 3
  for try in $(seq 100); do
    mpi "$stale_name (try $try)" 0 '^ok$' 2 --bind-to core -x SMELT_PROFILE="$stale" -x SMELT_VERBOSE=1 "$@" \
      >"$scratch/told" || { cat "$scratch/told"; return; }
    grep -Eq "$drift $was\b" "$output" && break
    passed=$((passed - 1))
  done
  cat "$scratch/told"
  [ "$(grep -Ec "$drift $was\b" "$output")" -eq 1 ] || fail "$stale_name: not told once"
}
# silent NAME RANKS MPIRUN_ARGUMENT...
silent() {
  silent_name=$1 silent_ranks=$2
  shift 2
  ok "$silent_name" "$silent_ranks" -x SMELT_PROFILE="$stale" -x SMELT_VERBOSE=2 "$@" || return
  if grep -Eq "$asked" "$output"; then fail "$silent_name: asked"; fi
}

if [ "$(nproc)" -lt 2 ] || ! [ -x "$false_profile" ]; then
  skip "staleness needs two CPUs and a program of the OpenMP shim's tests"
else
  stale "a hop was dear: told once" 40000 40000 counters used
  stale "a hop was cheap: told once" 0.01 0 counters used
  stale "many communicators: asked once" 40000 40000 communicators --rounds 50
  mpi "what came of it: told at level 2" 0 "$asked" 2 --bind-to core -x SMELT_PROFILE="$stale" -x SMELT_VERBOSE=2 \
    counters used
  silent "SMELT_TUNE=canary=0: nothing is asked" 2 -x SMELT_TUNE=canary=0 counters used
  silent "a crowd is not asked" $(($(nproc) + 1)) counters used
fi
