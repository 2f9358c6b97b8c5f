# Part of component_test.sh: what is known of what follows a communicator's calls, and what is said of it.

# regime NAME RANKS LINES MPIRUN_ARGUMENT...: succeeds, and of the duplicate that is tested it is said in this order,
# line by line, and by one rank only.
regime() {
  regime_name=$1 regime_ranks=$2 regime_lines=$3
  shift 3
  ok "$regime_name" "$regime_ranks" -x SMELT_VERBOSE=1 "$@" || return
  regime_got=$(sed -n "s/^smelt: coll.smelt: tested ($regime_ranks ranks): \([a-z]*\) synchronisation: \([^;]*\).*/\1: \2/p" \
    "$output")
  if [ "$regime_got" != "$regime_lines" ]; then fail "$regime_name: said '$regime_got' instead of '$regime_lines'"; fi
}

told='smelt_sync says so' set='SMELT_TUNE=sync says so'
differ='what smelt_sync or SMELT_TUNE=sync says differs between the participants'
followed='strict: a barrier followed each of the last 32 calls'
alone='loose: no barrier followed any of the last 32 calls'
for n in 2 3; do
  regime "info key of a duplicate, $n ranks" $n "strict: $told" loose_strict dup
  regime "info key set later, $n ranks" $n "strict: $told" loose_strict set
  regime "info keys that differ, $n ranks" $n "loose: $differ" loose_strict differ
  regime "what follows is watched, $n ranks" $n "$followed
$alone
$followed
$alone" loose_strict watch
done
regime "the info key counts more than the setting" 2 "strict: $told" -x SMELT_TUNE=sync=loose loose_strict set
regime "SMELT_TUNE=sync=strict" 2 "strict: $set" -x SMELT_TUNE=sync=strict loose_strict mixed
regime "coll_smelt_sync=loose" 2 "loose: $set" --mca coll_smelt_sync loose loose_strict watch
regime "SMELT_TUNE=sync=nonsense: as if nothing were set" 2 "" -x SMELT_TUNE=sync=nonsense loose_strict mixed
grep -q 'SMELT_TUNE=sync=nonsense is not one of auto|loose|strict' "$output" || fail "SMELT_TUNE=sync=nonsense: not said"
regime "a barrier after every other call" 2 "" loose_strict mixed
regime "an info key that comes too late" 2 "strict: $told" loose_strict late
grep -q 'tested (2 ranks): smelt_sync=loose comes after the first calls and has no effect' "$output" ||
  fail "an info key that comes too late: not said"
regime "an info key that is none" 2 "$followed" loose_strict nonsense
[ "$(grep -c 'info key smelt_sync=perhaps is not one of loose|strict' "$output")" -eq 2 ] ||
  fail "an info key that is none: not said once by each rank"
