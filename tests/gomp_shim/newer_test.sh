#!/bin/sh
# A libgomp that is newer than Smelt knows: this machine's, with other names in it.
#   newer_test.sh SHIM PROGRAM_DIRECTORY
set -u
shim=$1 programs=$2
here=$(dirname "$0")
. "$here/checks.sh"

libgomp=$(ldd "$programs/constructs" | awk '/libgomp/ { print $3 }')
nodes() { readelf -VW "$1" | sed -n 's/.*Name: \(GOMP_[0-9][0-9.]*\).*/\1/p' | sort -u; }
nodes "$programs/fork" >"$scratch/wanted"
newest=$(nodes "$libgomp" | grep -vxF -f "$scratch/wanted" | tail -n 1)  # that this program does without
# copy NAME: where that libgomp goes
copy() { mkdir "$scratch/$1"; echo "$scratch/$1/libgomp.so.1"; }
check_on() { n=$1 p=$2 on=$scratch/$3; shift 3; check_under "$n" 0 "$p" LD_LIBRARY_PATH="$on" SMELT_CPUS=64 SMELT_TUNE=spin_us=20 "$@"; }

# A node is another, so its names have come in new versions.
"$here/renamed_node.py" "$libgomp" "$newest" GOMP_barrier "$(copy versions)" || fails "no node $newest"
unknown='takes nothing: this libgomp has (GOMP|omp)_[a-z_0-9]+( and [0-9]+ other names?)? that Smelt does not know'
check_on "names in a new version: steps aside" "$unknown" versions SMELT_VERBOSE=1 "$programs/fork"

# A node that is not known, and all that is in it asks for something (omp_get_wtime): barriers alone are taken.
"$here/renamed_node.py" "$libgomp" OMP_2.0 GOMP_barrier "$(copy asks)" || fails "no node OMP_2.0"
alone='this libgomp is newer than Smelt knows: its barriers alone are taken'
for program in constructs nested tasks cancel fork hot own_tasks loops solo; do
  if nm -D "$programs/$program" | grep -q 'omp_get_wti'; then skips "$program wants what is not there"; continue; fi
  check_on "new names that only ask: $program" "$alone" asks SMELT_VERBOSE=1 "$programs/$program"
done
check_on "... barriers are taken, and nothing else" 'OpenMP: [0-9]+ regions \(0 hot; 0 hot teams made.*barriers: [1-9][0-9]* own' asks SMELT_STATS=1 \
  "$programs/constructs"
grep -Eq 'dynamic loops|by stealing' "$output" && fails "loops or tasks are taken"
check_on "... whatever is set" '\(0 hot; 0 hot teams made' asks SMELT_STATS=1 SMELT_OPENMP=on \
  "$programs/tasks" 100
grep -Eq 'dynamic loops|by stealing' "$output" && fails "loops or tasks are taken"
check_on "... and said where a hot team is missed" "not hot: $alone" asks SMELT_VERBOSE=2 "$programs/hot"
check_on "... SMELT_OPENMP=-libgomp" 'takes nothing: switched off by SMELT_OPENMP' asks SMELT_OPENMP=-libgomp SMELT_VERBOSE=1 "$programs/fork"

# Names beside, in that node; those of the nodes before are no longer asked about.
LC_ALL=C sed 's/omp_get_wti/omp_gut_wti/g' "$scratch/asks/libgomp.so.1" >"$(copy names)"
check_on "names that are not known: steps aside" 'takes nothing: this libgomp has omp_gut_wti[a-z_]+ and 3 other names that Smelt does not know' names \
  SMELT_VERBOSE=1 "$programs/fork"

finish
