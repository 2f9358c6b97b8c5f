#!/bin/sh
# Smelt for AArch64 on this machine's CPUs: cross built, with the libraries of a Debian of that architecture, and
# emulated program by program (qemu-user). The instructions and the system calls are AArch64's; the order in which
# others see what one wrote is this machine's.
#   aarch64_test.sh SOURCE_DIRECTORY CROSS_BUILD_DIRECTORY NATIVE_MPI_PROGRAMS [--long]
# --long: more patterns, more numbers of threads and ranks.
#   AARCH64_SEEDS=100    random mixtures of tasks, loops and nested regions (tests/gomp_shim/mixed.c); by default 6
# Exit 77: skipped, the last line says why.
set -u
here=$(cd "$(dirname "$0")" && pwd) source=$1 build=$2 native=$3
patterns='best spread:3 dissemination:2' sizes='3 8' ranks='2 5'
if [ "${4-}" = --long ]; then
  patterns='best hierarchical:1 spread:3 dissemination:2 mst hybrid adaptive-sorted binary' sizes='3 4 7 8 16' ranks='2 3 5 8'
fi
for tool in qemu-aarch64-static aarch64-linux-gnu-g++; do
  command -v $tool >/dev/null || { echo "skipped: $tool is not installed"; exit 77; }
done
[ -x /bin/busybox ] || { echo "skipped: busybox-static is not installed"; exit 77; }
root=$("$here/root.sh" arm64) || { echo "$root"; exit 77; }
"$here/aarch64_build.sh" "$source" "$build" "$root" || exit 1
export QEMU_LD_PREFIX="$root"

shim=$build/gomp_shim/libsmelt_gomp.so
. "$here/../gomp_shim/checks.sh"

# started FOLDER: of the build; its programs become scripts that start them emulated. By a shell that is linked
# statically: what is preloaded for a program is AArch64's, of which another shell's loader would complain.
started() {
  mkdir -p "$scratch/$1"
  for file in "$build/$1"/*; do
    [ -f "$file" ] && [ -x "$file" ] || continue
    to=$scratch/$1/${file##*/}
    case $file in
      *.so) ln -s "$file" "$to" ;;
      *)
        printf '#!/bin/busybox sh\nexec qemu-aarch64-static %s "$@"\n' "$file" >"$to"
        chmod +x "$to" ;;
    esac
  done
}
for folder in core tests/gomp_shim tests/ompi_coll_smelt; do started $folder; done
# smelt itself would become the smelt-main beside it, which this machine cannot execute.
smelt=$scratch/core/smelt-main programs=$scratch/tests/gomp_shim

# --- the smelt program

check "smelt info" 0 '^CPUs ' "$smelt" info
check "smelt doctor" 0 '^ok +CPUs allowed' sh -c '"$1" doctor; [ $? -le 1 ]' - "$smelt"  # 1: warnings, of load
check "smelt calibrate" 0 '^written' "$smelt" calibrate -o "$scratch/here.profile" --race 0.2
check "smelt info, calibrated" 0 '^measured, ns' env SMELT_PROFILE="$scratch/here.profile" "$smelt" info

# --- threads

for program in constructs nested tasks cancel fork hot "regions 4"; do
  check "$program, stock" 0 '^ok$' "$programs/"$program
  check_under "$program" 0 'symbols taken' SMELT_VERBOSE=1 "$programs/"$program
  check_under "$program, hot teams" 0 '^ok$' SMELT_CPUS=64 SMELT_TUNE=spin_us=20 "$programs/"$program
  check_under "$program, hot teams asleep" 0 '^ok$' SMELT_CPUS=64 SMELT_WAIT=sleep "$programs/"$program
done

check "tasks that nobody marks fail: the tests can see it" 1 'failed: ' \
  env LD_PRELOAD="$programs/libsmelt_gomp_unmarked.so" SMELT_CPUS=64 "$programs/tasks"

# Each on a CPU of its own, of pretended machines.
. "$here/../gomp_shim/pretend.sh"
. "$here/../gomp_shim/proper.sh"
all=SMELT_OPENMP=on
counted='; [1-9][0-9]* dynamic loops; [1-9][0-9]* tasks by stealing$'
for program in "own_tasks 12" "loops 12" "kept 6"; do
  check "$program, with all switches" 0 '^ok$' env $(small) $waiting $all "$programs/"$program
done
check "mixed, all served" 0 "$counted" env $(small) $waiting $all SMELT_STATS=1 "$programs/mixed" 1 20 4
seed=0
while [ $((seed += 1)) -le "${AARCH64_SEEDS:-6}" ]; do
  check "mixed, seed $seed" 0 '^ok$' env $(small) $waiting $all "$programs/mixed" $seed 20 8
done
for asked in $patterns; do
  why=
  for size in $sizes; do
    proper $asked "$size" large SMELT_TUNE=pattern=$asked "$programs/constructs" "$size" "$(rounds "$size")" || break
    proper $asked "$size" large SMELT_TUNE=pattern=$asked "$programs/tasks" 5 "$size" || break
  done
  if [ -z "$why" ]; then passes "$asked: $sizes threads"; else fails "$asked: $why"; fi
done

# --- processes: mpirun is this machine's, the ranks are AArch64's

if command -v mpirun >/dev/null && [ -e "$build/ompi_coll_smelt/mca_coll_smelt.so" ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
  export OMPI_MCA_orte_tmpdir_base="$scratch" OMPI_MCA_coll_smelt_priority=90
  export OMPI_MCA_btl_vader_single_copy_mechanism=none  # an emulated process cannot read another's memory
  with=$build/ompi_coll_smelt:SYSTEM_DEFAULT mpi=$scratch/tests/ompi_coll_smelt
  check "wrong bits fail: the tests can see it" 0 '^FAILED: rank' \
    sh -c '! "$@"' - mpirun -n 3 -x LD_PRELOAD="$mpi/libbroken_mpi.so" -x BROKEN=bit "$mpi/reductions" --light
  checksum() { sed -n 's/^checksum //p' "$output"; }
  for n in $ranks; do
    export OMPI_MCA_mca_base_component_path="$with"
    check "$n ranks are served" 0 '^ok$' mpirun -n $n "$mpi/counters" used
    check "barriers, $n ranks" 0 '^ok$' mpirun -n $n "$mpi/barrier" --light --rounds 200 --mixed 100
    check "reductions, $n ranks" 0 '^ok$' mpirun -n $n "$mpi/reductions" --light
    check "broadcasts, $n ranks" 0 '^ok$' mpirun -n $n "$mpi/broadcasts" --light
    check "allgathers, $n ranks" 0 '^ok$' mpirun -n $n "$mpi/allgathers" --light
    check "gathers, $n ranks" 0 '^ok$' mpirun -n $n "$mpi/gathers" --light
    check "same bits, $n ranks" 0 '^ok$' mpirun -n $n "$mpi/same_bits" --light --order
    there=$(checksum)
    export OMPI_MCA_mca_base_component_path="$native/../../ompi_coll_smelt:SYSTEM_DEFAULT"
    check "same bits here, $n ranks" 0 '^ok$' mpirun -n $n "$native/same_bits" --light --order
    if [ -z "$there" ] || [ "$there" != "$(checksum)" ]; then fails "$n ranks: other bits than on this machine"; fi
  done
else
  skips "there is no mpirun here"
fi

finish
