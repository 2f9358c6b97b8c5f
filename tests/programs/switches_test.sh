#!/bin/sh
# End-to-end: whole programs of tasks, dynamic loops and nested regions print with the shim's switches what they print on
# the stock runtime, bit for bit, and what each switch is for was really served: the shim's own counts say so.
#   switches_test.sh SHIM SHIM_FOR_LIBOMP PROGRAMS CLANG'S_PROGRAMS SHIM'S_TEST_PROGRAMS
# Every program checks its own result against a serial run, too, and ends with 1 if it is wrong. No time is looked at.
set -u
shim=$1 kmp=$2 programs=$5 clang_programs=$4
. "$(dirname "$0")/../gomp_shim/checks.sh"
. "$(dirname "$0")/../gomp_shim/pretend.sh"
programs=$3

# Each thread believes it is on a CPU of its own: what crowds do is libgomp's.
served="SMELT_TUNE=spin_us=20 SMELT_STATS=1 SMELT_VERBOSE=2 OMP_WAIT_POLICY=passive"
on_machine="$(small) $served"
tasks='; [1-9][0-9]* tasks by stealing' loops='; [1-9][0-9]* dynamic loops' nested=': kept, fork and join '
all=SMELT_OPENMP=on none=SMELT_OPENMP=-tasks,-loops,-nested

# run LABEL SETTING... : runs $program; must end well and print what stock prints. What the shim says goes to $output.
run() {
  run_label=$1
  shift
  # shellcheck disable=SC2086  # $program holds arguments
  combined timeout 120 env OMP_NUM_THREADS="$threads" "$@" $program >"$scratch/out" 2>"$output"
  got=$?
  if [ $got -ne 0 ]; then
    fails "$run_label: exit status $got"
  elif ! cmp -s "$scratch/stock" "$scratch/out"; then
    { echo "stock:"; cat "$scratch/stock"; echo "here:"; cat "$scratch/out"; } >"$output"
    fails "$run_label: not what stock prints"
  else
    passes "$run_label"
    return 0
  fi
  return 1
}
stock() {
  timeout 120 env OMP_NUM_THREADS="$threads" OMP_WAIT_POLICY=passive $program >"$scratch/stock" 2>"$output" &&
    [ -s "$scratch/stock" ] ||
    fails "$1, stock"
}
says() {  # LABEL PATTERN
  grep -Eq "$2" "$output" || fails "$1: nothing says '$2'"
}

# Which switch each program is for.
while read -r switch file; do
  program=$programs/$file
  case $switch in
    tasks) setting=SMELT_OPENMP=-loops,-nested said=$tasks ;;
    loops) setting=SMELT_OPENMP=-tasks,-nested said=$loops ;;
    nested) setting=SMELT_OPENMP=-tasks,-loops said=$nested ;;
  esac
  if [ ! -x "$program" ]; then
    case $file in
      *_f90) skips "$file: built without a Fortran compiler" ;;
      *) fails "$file: not built" ;;
    esac
    continue
  fi
  for threads in 2 4 8; do
    label="$file, $threads threads"
    stock "$label"
    run "$label, off" $on_machine $none &&
      if grep -Eq "$tasks|$loops|$nested" "$output"; then fails "$label: off, and yet served"; fi
    run "$label, $switch" $on_machine "$setting" && says "$label, $switch" "$said"
    run "$label, all switches" $on_machine $all && says "$label, all switches" "$said"
  done
  run "$file, all switches, asleep" $on_machine SMELT_WAIT=sleep $all
  run "$file, all switches, no hot team" $on_machine SMELT_OPENMP=-hot $all
  run "$file, all switches, the CPUs that there are" LD_PRELOAD="$shim" $all
done <<PROGRAMS
tasks quicksort
tasks sort
tasks fibonacci
tasks cholesky
tasks cholesky_f90
tasks unbalanced_tree
loops triangle
loops triangle_f90
loops sparse_rows
nested nested_plates
nested nested_loops_f90
PROGRAMS

# The same in C and C++, built by clang, on LLVM's libomp.
if [ ! -x "$clang_programs/quicksort" ]; then
  skips "clang, or its OpenMP (Debian: clang, libomp-dev), is not installed"
else
  export OMP_WAIT_POLICY=passive  # libomp's threads spin long where they share CPUs
  while read -r kind file; do  # small: where threads share CPUs, libomp's tasks take a time slice each
    program=$clang_programs/$file
    for threads in 2 4; do
      label="$file on libomp, $threads threads"
      stock "$label"
      run "$label" LD_PRELOAD="$kmp" SMELT_STATS=1 &&
        says "$label" 'OpenMP: [1-9][0-9]* regions .*; barriers: [0-9]+ own, [0-9]+ libomp'
      run "$label, a CPU for each" LD_PRELOAD="$kmp" SMELT_CPUS=64 $served $all || continue
      # Programs of tasks alone: their barriers are libomp's, all of them.
      case $kind in
        tasks) says "$label, a CPU for each" 'barriers: .* [1-9][0-9]* libomp' ;;
        *) says "$label, a CPU for each" 'barriers: [1-9][0-9]* own' ;;
      esac
    done
  done <<PROGRAMS
tasks quicksort 4000 60 1
tasks cholesky 5 8 1
tasks unbalanced_tree 20 2
loops triangle 60 2
loops sparse_rows 300 8 2
nested nested_plates 20 4 1
PROGRAMS
  run "nested_plates on libomp, both shims" LD_PRELOAD="$shim:$kmp" SMELT_CPUS=64 $served $all
fi

finish
