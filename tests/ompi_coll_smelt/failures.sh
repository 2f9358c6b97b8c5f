# Part of component_test.sh: what cannot be had, and jobs that die.

# --- without shared memory: all ranks step aside together, results stay right

# refused NAME RANKS ...: four programs under the same conditions.
refused() {
  refused_name=$1
  shift
  ok "$refused_name: stepped aside" "$@" counters refused
  ok "$refused_name: reductions" "$@" reductions --light
  ok "$refused_name: barrier and mixed" "$@" barrier --light --rounds 500
  ok "$refused_name: nonblocking" "$@" nonblocking --light
}
refused "SMELT_SHM_MB=0" 3 -x SMELT_SHM_MB=0
mpi "said when it steps aside" 0 'coll/smelt: MPI_COMM_WORLD \(2 ranks\): not used' 2 -x SMELT_SHM_MB=0 -x \
  SMELT_VERBOSE=1 counters refused
# tcp: Open MPI's own shared memory would need files as well
small_files='ulimit -f 64; exec "$@"'
refused "ulimit -f 64" 3 --mca btl tcp,self sh -c "$small_files" -
one_small='if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then ulimit -f 64; fi; exec "$@"'
ok "ulimit -f 64 on one rank" 3 --mca btl tcp,self sh -c "$one_small" - reductions --light
one_differs='if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then export SMELT_TUNE=chunk=512; fi; exec "$@"'
refused "one rank with another setting" 3 sh -c "$one_differs" -
ok "small SMELT_SHM_MB: communicators" 3 -x SMELT_SHM_MB=1 -x SMELT_TUNE=patience=0 communicators --rounds 300

own_shm='mount -t tmpfs -o size=$0 tmpfs /dev/shm && exec "$@"'
if [ "$(id -u)" -eq 0 ] && unshare --mount sh -c "$own_shm" 64k true 2>/dev/null; then
  for program in reductions broadcasts barrier; do
    check "64 KB of /dev/shm: $program" 0 '^ok$' unshare --mount sh -c "$own_shm" 64k \
      mpirun -n 3 --mca btl_vader_backing_directory "$scratch/session" $program --light
  done
else
  skip "a small /dev/shm needs root and mount namespaces"
fi

# --- jobs that die leave nothing

# Files that Smelt might leave, not those of other tests; and processes of the program that are still there after half a minute.
named_files() { find /dev/shm /tmp "$scratch/session" -maxdepth 1 -name '*smelt*' ! -name 'smelt-test-*' -user "$(id -u)" 2>/dev/null | sort; }
gone() {
  for _ in $(seq 60); do
    pgrep -f "^$programs/crash" >/dev/null || return 0
    sleep 0.5
  done
  return 1
}
limit=120
export OMPI_MCA_btl_vader_backing_directory="$scratch/session"
# ends NAME STATUS PATTERN command...: as check, and nothing is left behind.
ends() {
  ends_name=$1
  named_files >"$scratch/before"
  check "$@"
  gone || fail "$ends_name: processes are left"
  named_files >"$scratch/after"
  if [ -n "$(comm -13 "$scratch/before" "$scratch/after")" ]; then
    fail "$ends_name: left behind: $(comm -13 "$scratch/before" "$scratch/after" | head -n 3)"
  fi
}
for how in kill abort leave forget; do
  status=any
  [ $how = forget ] && status=0
  for n in 2 5; do ends "$how, $n ranks: ends" $status '' mpirun -n $n "$programs/crash" $how; done
done
# In the midst of every collective: mpirun ends the others; who waits for one that is stopped waits until the job is ended, or that one goes on.
end_when_stopped='is_stopped() { ps -o stat= -p "$(pgrep -d , -f "^$0")" 2>/dev/null | grep -q "^T"; }
"$@" & job=$!
until is_stopped || ! kill -0 $job; do sleep 0.1; done
sleep 0.3
is_stopped && echo one is stopped
kill -TERM $job; wait $job'
for collective in $("$programs/crash" list); do
  ends "killed in $collective" any '' mpirun -n 3 "$programs/crash" kill $collective
  ends "stopped in $collective" any '^one is stopped$' \
    sh -c "$end_when_stopped" "$programs/crash" mpirun -n 3 "$programs/crash" stop $collective
  ends "stopped in $collective, and goes on" 0 '^ok$' mpirun -n 3 "$programs/crash" pause $collective
done
unset OMPI_MCA_btl_vader_backing_directory
# In a /dev/shm of its own, so that other jobs' files do not count. The segments of vader, from 5.0 on sm, are Open MPI's.
count_left='mount -t tmpfs tmpfs /dev/shm; "$@" >/dev/null 2>&1; ls -A /dev/shm | grep -v _segment | wc -l'
if [ "$(id -u)" -eq 0 ] && unshare --mount sh -c 'mount -t tmpfs tmpfs /dev/shm' 2>/dev/null; then
  for how in kill leave; do
    check "$how: nothing in /dev/shm" 0 '^0$' unshare --mount sh -c "$count_left" - mpirun -n 3 "$programs/crash" $how
  done
else
  skip "a /dev/shm of one's own needs root and mount namespaces"
fi
limit=120
