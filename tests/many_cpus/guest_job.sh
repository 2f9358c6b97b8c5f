#!/bin/sh
# What runs in an emulated machine, as its only program; guest_test.sh puts everything there. Parts: see the end.
. /smelt/machines.sh
machine "$(cat /smelt/machine)"
shim=/smelt/gomp_shim/libsmelt_gomp.so smelt=/smelt/core/smelt
omp=/smelt/tests/gomp_shim mpi=/smelt/tests/ompi_coll_smelt
. /smelt/checks.sh
limit=400
now() { cut -d. -f1 /proc/uptime; }

# --- what the machine is

has() {  # PATTERN: a line of the output is so
  if grep -Eq "$1" "$output"; then passes "smelt info: $1"; else fails "smelt info: $1"; fi
}
discovery() {
  check "smelt info" 0 '' "$smelt" info
  has "^CPUs +$cpus \(cores: $cores, last-level caches: $caches, NUMA nodes: $nodes, packages: $packages\)$"
  for pair in $pairs; do has "^  $(echo "${pair%=*}" | tr _ ' ') +${pair#*=} "; done
  distances=$(sed '/^measured/,$d' "$output" | grep -Ec '^  (same|other) ')
  if [ "$distances" -ne "$(echo "$pairs" | wc -w)" ]; then fails "smelt info: $distances distances"; fi
}

# --- threads, a CPU each

# team NAME THREADS CPUS command...   CPUS: an extended regular expression of their list, "" for any
team() {
  team_name=$1 threads=$2 on=${3:-[0-9].*}
  shift 3
  check_under "$team_name" 0 '^ok$' $waiting SMELT_VERBOSE=2 "$@" || return
  if ! grep -Eq "team of $threads, CPUs $on: barrier [a-z]" "$output"; then fails "$team_name: not on CPUs $on"; fi
  if grep -Eq 'barrier (crowd|alone)' "$output"; then fails "$team_name: a crowd"; fi
}
threads() {
  for size in $teams; do
    team "constructs, $size threads" "$size" '' OMP_PROC_BIND=true "$omp/constructs" "$size" 3
    team "tasks, $size threads" "$size" '' OMP_PROC_BIND=true "$omp/tasks" 10 "$size"
    for asked in hierarchical dissemination mst; do
      team "regions, $size threads, $asked" "$size" '' OMP_PROC_BIND=true SMELT_TUNE=pattern=$asked "$omp/regions" "$size"
      grep -Eq "team of $size, CPUs [0-9].*: barrier $asked" "$output" || fails "$size threads: not $asked"
    done
  done
  team "threads close together" 4 "$close" OMP_PROC_BIND=close OMP_PLACES=threads "$omp/constructs" 4 3
  team "threads spread" 4 "$spread" OMP_PROC_BIND=spread OMP_PLACES=cores "$omp/constructs" 4 3
  check_under "nested teams, spread and close" 0 '^ok$' $waiting OMP_PROC_BIND=spread,close "$omp/nested"
  check_under "settings that change, several masters, forks" 0 '^ok$' $waiting "$omp/hot"
}

# Loops, nested regions and tasks, each and together. `switches` is short, `switches_long` for --full.
served() {  # NAME PATTERN SETTING... -- command...: ends well, and the counts say that it was served
  served_name=$1 said=$2
  shift 2
  check_under "$served_name" 0 "$said" $waiting OMP_PROC_BIND=true SMELT_STATS=1 "$@"
  grep -q '^ok$' "$output" || fails "$served_name did not come to its end"
}
stolen='; [1-9][0-9]* tasks by stealing$' shared='; [1-9][0-9]* dynamic loops'
all=SMELT_OPENMP=on
mixtures() {  # FIRST LAST MOST_THREADS REGIONS
  seed=$1
  while [ "$seed" -le "$2" ]; do
    served "mixed, seed $seed, up to $3 threads" "$stolen" $all "$omp/mixed" "$seed" "$4" "$3" 300 trees
    seed=$((seed + 1))
  done
}
switches() {
  served "own_tasks" "$stolen" SMELT_OPENMP=on "$omp/own_tasks" 6
  served "loops" "$shared" SMELT_OPENMP=on "$omp/loops" 6
  check_under "kept" 0 ': kept, fork and join ' $waiting SMELT_VERBOSE=2 SMELT_OPENMP=on "$omp/kept" 2
  mixtures 1 3 8 5
}
switches_long() {
  served "own_tasks, long" "$stolen" $all "$omp/own_tasks" 48 7
  served "loops, long" "$shared" $all "$omp/loops" 60 7
  check_under "kept, long" 0 '^ok$' $waiting $all "$omp/kept" 12
  mixtures 10 40 8 20
}

# --- processes, a CPU each

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_plm=isolated OMPI_MCA_btl=self,vader
export OMPI_MCA_mca_base_component_path=/smelt/ompi_coll_smelt:SYSTEM_DEFAULT OMPI_MCA_coll_smelt_priority=90
ranks() { ranks_of "${ranks%% *}"; }
more_ranks() { ranks_of ${ranks#* }; }
ranks_of() {  # SIZE...
  [ -e /smelt/ompi_coll_smelt/mca_coll_smelt.so ] || { skips "no component for Open MPI"; return; }
  check "wrong bits fail: the tests can see it" 0 '^FAILED: rank' sh -c '! "$@"' - \
    mpirun -n 4 -x LD_PRELOAD="$mpi/libbroken_mpi.so" -x BROKEN=bit "$mpi/reductions" --light
  for size in "$@"; do
    # Few rounds: Open MPI's own waits do not hand the turn to another CPU.
    start="mpirun -n $size --use-hwthread-cpus --bind-to hwthread"
    check "$size ranks are served" 0 "MPI_COMM_WORLD \($size ranks\): barrier" \
      $start -x SMELT_VERBOSE=2 "$mpi/counters" used --calls 5
    grep -q '^ok$' "$output" || fails "$size ranks: served, but not ok"
    check "$size ranks look where they are" 0 '^[0-9]+ [0-9]+$' $start sh -c '
      cpu=$(sed -n "s/^Cpus_allowed_list:[^0-9]*//p" /proc/self/status)
      echo "$cpu $(cat "/sys/devices/system/cpu/cpu$cpu/topology/physical_package_id")"'
    [ "$(sort -u "$output" | wc -l)" -eq "$size" ] || fails "$size ranks: not a CPU each"
    [ "$(cut -d' ' -f2 "$output" | sort -u | wc -l)" -eq "$packages" ] || fails "$size ranks: not in $packages packages"
    check "barriers and mixed, $size ranks" 0 '^ok$' $start "$mpi/barrier" --light --rounds 20 --mixed 10
  done
}
collectives() {  # all of them, at all lengths
  start="mpirun -n 8 --use-hwthread-cpus --bind-to hwthread"
  for program in reductions broadcasts allgathers "same_bits --order"; do
    check "$program, 8 ranks" 0 '^ok$' $start "$mpi/"$program --light
  done
}

# --- libgomp's own tests

conformance() {
  for program in /smelt/conformance/*/test; do
    [ -x "$program" ] || continue
    name=$(basename "$(dirname "$program")")
    check_under "$name" 0 '' OMP_NUM_THREADS="$cpus" OMP_PROC_BIND=true "$program"
  done
}

# --- CPUs that come and go while programs run

# meanwhile NAME CHANGE command...: again and again the command, which must be well each time, until CHANGE was called
# with 0 to 11. The last call leaves everything as it was. A program that binds threads and starts just when one of its
# CPUs goes is ended by libgomp itself, stock as well.
meanwhile() {
  name=$1 change=$2 turn=0
  shift 2
  rm -f "$scratch/enough"
  until [ -e "$scratch/enough" ]; do
    timeout "$limit" "$@" >"$output" 2>&1
    grep -Eq '^ok$|^libgomp: Thread creation failed' "$output" || exit 1
  done &
  while [ $turn -lt 12 ] && kill -0 $! 2>/dev/null; do
    sleep 0.3
    $change $turn
    turn=$((turn + 1))
  done
  touch "$scratch/enough"
  if wait $!; then passes "$name"; else fails "$name, after $turn changes"; fi
}
online() { echo "$2" >"/sys/devices/system/cpu/cpu$1/online"; }
offline_and_back() {
  case $(($1 % 4)) in
    0) online 3 0 ;;
    1) online 5 0 ;;
    2) online 3 1 ;;
    3) online 5 1 ;;
  esac
}
group=/sys/fs/cgroup/changing
narrow_and_back() {
  case $(($1 % 4)) in
    0) echo 0-3 ;;
    1) echo 4-7 ;;
    2) echo "1,$((cpus - 1))" ;;
    3) echo "0-$((cpus - 1))" ;;
  esac >$group/cpuset.cpus
}
in_group=$scratch/in_group
printf '#!/bin/sh\necho $$ >%s/cgroup.procs && exec "$@"\n' $group >"$in_group"
chmod +x "$in_group"
changes() {
  unbound="env LD_PRELOAD=$shim $waiting" bound="env LD_PRELOAD=$shim $waiting OMP_PROC_BIND=true"
  meanwhile "threads, CPUs offline and back" offline_and_back $unbound "$omp/constructs" 8 $rounds_meanwhile
  meanwhile "bound threads, CPUs offline and back" offline_and_back $bound "$omp/constructs" 8 $rounds_meanwhile
  online 3 1 && online 5 0
  check "smelt info, a CPU offline" 0 "^CPUs +$((cpus - 1)) " "$smelt" info
  check "smelt doctor, a CPU offline" 0 '^.* CPUs offline +.*5' sh -c '"$1" doctor; [ $? -le 1 ]' - "$smelt"
  check_under "a CPU for each thread but one" 0 '^ok$' $waiting "$omp/constructs" "$cpus" 3
  team "threads that begin with a CPU offline" 4 '0 1 2 3' OMP_PROC_BIND=close OMP_PLACES=threads \
    "$omp/constructs" 4 3
  online 5 1
  [ "$(cat /sys/devices/system/cpu/online)" = "0-$((cpus - 1))" ] || fails "not all CPUs are back"
  echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control
  mkdir $group
  meanwhile "threads, cpusets" narrow_and_back "$in_group" $unbound "$omp/constructs" 8 $rounds_meanwhile
  meanwhile "bound threads, cpusets" narrow_and_back "$in_group" $bound "$omp/constructs" 8 $rounds_meanwhile
  meanwhile "ranks, cpusets" narrow_and_back "$in_group" mpirun -n 8 --oversubscribe \
    --bind-to none "$mpi/barrier" --light --rounds $rounds_meanwhile --mixed $((rounds_meanwhile / 5))
}

# --- quotas: the hierarchy here is of version 2

quotas() {
  check "smelt run --fit under quotas" 0 '^control groups of version 2$' /smelt/core/fit_quota_test.sh "$smelt"
  check "teams by the quota" 0 '^control groups of version 2$' /smelt/core/team_size_test.sh "$shim" "$shim" "$omp/team_size"
}

# --- its costs

calibration() {
  check "smelt calibrate" 0 '^written' "$smelt" calibrate --limit 120
  cat "$output"
  for pair in $pairs; do
    # In the table of hops, where a class is whole: a guest with more CPUs than there really are may have it taken apart.
    pattern="^  $(echo "${pair%=*}" | tr _ ' ') +${pair#*=} +[0-9.]+ +[0-9.]+ +[0-9.]+\$"
    if grep -Eq "$pattern" "$output"; then passes "a class: $pair"; else fails "a class: $pair"; fi
  done
  check "smelt info, calibrated" 0 '^measured' "$smelt" info
  check "smelt doctor, calibrated" 0 '^(ok|note) +profile .*measured 0 days ago' sh -c '"$1" doctor; [ $? -le 1 ]' - "$smelt"
  team "constructs, calibrated" "$cpus" '' OMP_PROC_BIND=true "$omp/constructs" "$cpus" 3
}

cd /tmp || exit 1
for part in $(cat /smelt/parts); do
  begin=$(now)
  $part
  echo "$part: $(($(now) - begin)) s"
done
finish
