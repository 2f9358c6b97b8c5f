# Part of component_test.sh and of pml_test.sh: jobs of which a rank, all ranks, mpirun, or all together are killed at any moment: while they
# start, make communicators, are in calls, or end. Afterwards no process of theirs is there, no file of Smelt's, and the next job is right.
#   KILLS=200 KILLS_FIRST=31    how many, and from which seed on; by default 4, by chance
# The caller sets `victims`: a program with its arguments in each line, each of which ends with "ok"; and `as`, what runs them.

milliseconds() { echo $(($(date +%s%N) / 1000000)); }
# draw N: sets `drawn` to a number below that.
draw() { draws=$((draws + 1)) drawn=$((0x$(echo "$kill_seed $draws" | md5sum | cut -c 1-7) % $1)); }
ranks_left() { pgrep -f "^$scratch/victims/"; }
files_left() { find /dev/shm "$scratch/session" -name '*smelt*' ! -name 'smelt-test-*' -user "$(id -u)" 2>/dev/null; }
# waited_for SECONDS command...: until it says so.
waited_for() {
  for _ in $(seq "$1"0); do
    if $2; then return 0; fi
    sleep 0.1
  done
  return 1
}
no_ranks() { ! ranks_left >/dev/null; }
ended() { [ -e "$scratch/ended" ]; }
# nothing_left NAME: fails, and removes it, if something is. Open MPI's own mpirun may lock itself out of its library (PMIx_server_finalize,
# 4.1.4) when it is to end early, without a rank: then it is ended.
nothing_left() {
  if ! waited_for 30 ended && no_ranks; then kill -KILL "$job"; hung=$((hung + 1)); fi
  if ! waited_for 60 no_ranks; then
    fail "$1: processes are left: $(pgrep -af "^$scratch/victims/" | head -n 3)"
    kill -KILL "$job" $(ranks_left) 2>/dev/null
    return 1
  fi
  waited_for 60 ended
  files_left | sort >"$scratch/after"
  left=$(comm -13 "$scratch/before" "$scratch/after")
  [ -z "$left" ] || { fail "$1: left behind: $left"; rm -f $left; return 1; }
}
# started RANKS LINE: in the background; `job` is its mpirun.
started() {
  rm -f "$scratch/ended" "$scratch/job"
  { sh -c 'echo $$ >"$0"; exec "$@"' "$scratch/job" $as mpirun -n $1 "$scratch/victims/"$2; : >"$scratch/ended"; } >"$output" 2>&1 </dev/null &
  until [ -s "$scratch/job" ]; do sleep 0.01; done
  job=$(cat "$scratch/job")
}

kill_at_random() {
  draws=0
  draw "$(echo "$victims" | wc -l)"
  line=$(echo "$victims" | sed -n "$((drawn + 1))p") lasts=$(sed -n "$((drawn + 1))p" "$scratch/lasts")
  draw 4; killed_ranks=$((drawn + 2))
  draw "$lasts"; at=$drawn
  draw 6; how=$(echo rank rank ranks mpirun all term | cut -d ' ' -f $((drawn + 1)))
  files_left | sort >"$scratch/before"
  started $killed_ranks "$line"
  sleep "$(printf %d.%03d $((at / 1000)) $((at % 1000)))"
  ! ended || late=$((late + 1))
  set -- $(ranks_left)
  case $how in
    rank) [ $# -eq 0 ] || { draw $#; shift "$drawn"; kill -KILL "$1"; } ;;
    ranks) [ $# -eq 0 ] || kill -KILL "$@" ;;
    mpirun) kill -KILL "$job" ;;
    all) kill -KILL "$job" "$@" ;;
    term) kill -TERM "$job" ;;
  esac 2>/dev/null
  nothing_left "$kill_name" || return 1
  check "$kill_name: $how of $killed_ranks ranks after $at ms, $(basename "${line%% *}"); the next job" 0 '^ok$' \
    $as mpirun -n $killed_ranks "$scratch/victims/"$line
}

mkdir "$scratch/victims"
for program in $(echo "$victims" | sed 's/ .*//'); do ln -sf "$(command -v "$program")" "$scratch/victims/"; done
: >"$scratch/before"
# What is left must be seen.
: >"$scratch/ended"
: >"$scratch/session/smelt-left"
if (nothing_left "a file" >/dev/null); then fail "control: a file that is left is not seen"; fi
ln -sf "$(command -v sleep)" "$scratch/victims/"
"$scratch/victims/sleep" 1000 &
waited_for 60 ranks_left >/dev/null
if no_ranks; then fail "control: a process that is left is not seen"; fi
kill $!
late=0 hung=0
echo "$victims" >"$scratch/lines"
while read -r line; do
  began=$(milliseconds)
  check "nobody kills $line" 0 '^ok$' $as mpirun -n 3 "$scratch/victims/"$line
  echo $(($(milliseconds) - began)) >>"$scratch/lasts"
done <"$scratch/lines"
seed=${KILLS_FIRST:-$(date +%s)} kills=${KILLS:-4}
for kill_seed in $(seq "$seed" $((seed + kills - 1))); do
  kill_name="seed $kill_seed"
  kill_at_random
done
echo "$kills kills from seed $seed on, $late of them after the end; mpirun hung $hung times"
