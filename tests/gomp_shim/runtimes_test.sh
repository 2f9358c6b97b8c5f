#!/bin/sh
# Several OpenMP runtimes in one process, stock and under the shim; and none.
#   runtimes_test.sh SHIM PROGRAM_DIRECTORY
set -u
shim=$1 programs=$2
. "$(dirname "$0")/checks.sh"

taken='smelt: [0-9.]+: libgomp GOMP_[0-9.]+, [0-9]+ threads, pattern .*symbols taken'
export OMP_WAIT_POLICY=passive  # many threads of several runtimes: who spins here measures the machine's load

# Python's case: libraries with a renamed libgomp each. The names are of equal length, so they are edited in place.
runtimes=$scratch/runtimes && mkdir "$runtimes"
libgomp=$(ldd "$programs/constructs" | awk '/libgomp/ { print $3 }')
renamed() { LC_ALL=C sed "s/libgomp\.so\.1/libgomp.so.$2/g" "$1" >"$3"; }  # FILE LETTER COPY
for letter in A B; do
  renamed "$libgomp" $letter "$runtimes/libgomp.so.$letter"
  renamed "$programs/libplugin.so" $letter "$runtimes/plugin$letter.so"
done
cp "$runtimes/pluginA.so" "$runtimes/another.so"  # bound to A, too
paths="LD_LIBRARY_PATH=$runtimes:${LD_LIBRARY_PATH-}"
check "two renamed libgomps, stock" 0 '^ok$' env "$paths" "$programs/host" "$runtimes/pluginA.so" "$runtimes/pluginB.so"
check_under "one renamed libgomp" 0 "$taken" "$paths" SMELT_VERBOSE=1 "$programs/host" "$runtimes/pluginA.so"
check_under "two renamed libgomps" 0 "$taken" "$paths" SMELT_VERBOSE=1 "$programs/host" "$runtimes/pluginA.so" "$runtimes/pluginB.so"
check_under "three libgomps, hot teams" 0 "^ok$" "$paths" SMELT_CPUS=64 SMELT_TUNE=spin_us=20 "$programs/host" "$runtimes/pluginB.so" "$programs/libplugin.so" "$runtimes/pluginA.so"
# 2 rounds of 3 turns, each from 2 threads, of 4 calls with 30 regions.
check_under "two libgomps: what is handed on is counted" 0 'OpenMP: 1440 regions .*; 1440 regions of other OpenMP runtimes$' "$paths" SMELT_STATS=1 "$programs/host" "$runtimes/pluginA.so" "$runtimes/pluginB.so"
check_under "one libgomp: nothing is handed on" 0 'OpenMP: 1440 regions .* sleeps; [0-9]+ dynamic loops(;|$)' "$paths" SMELT_STATS=1 "$programs/host" "$runtimes/pluginA.so"

# both NAME MODE LIBRARY...: stock, and under the shim
# Where a library had not come to the place of another: again.
both() {
  case=$1
  shift
  set -- sh -c 'for i in 1 2 3 4 5 6 7 8; do "$@"; status=$?; [ $status -eq 3 ] || break; done; exit $status' - "$programs/runtimes" "$@"
  check "$case, stock" 0 '^ok$' env "$paths" "$@"
  check_under "$case" 0 '^ok$' "$paths" "$@"
  check_under "$case, hot teams" 0 '^ok$' "$paths" SMELT_CPUS=64 SMELT_TUNE=spin_us=20 "$@"
}
limit=30  # deadlocks
both "settings from one place, by tables and by jumps" settings "$runtimes/pluginA.so" "$runtimes/pluginB.so"
both "another runtime's library in the place of ours" reopen "$runtimes/pluginA.so" "$runtimes/pluginB.so" "$runtimes/pluginA.so"
both "our library in the place of another runtime's" beside "$runtimes/pluginA.so" "$runtimes/pluginB.so" "$runtimes/another.so" "$runtimes/pluginB.so"
mkdir "$runtimes/of_B" "$runtimes/of_A"
for letter in A B; do
  for library in libconstructor.so libneeded.so; do renamed "$programs/$library" $letter "$runtimes/of_$letter/$library"; done
done
for letter in A B; do
  paths="LD_LIBRARY_PATH=$runtimes/of_$letter:$runtimes:${LD_LIBRARY_PATH-}"
  both "a region in a constructor, libgomp $letter" constructor "$runtimes/pluginA.so" "$runtimes/pluginB.so" "$runtimes/of_$letter/libconstructor.so"
  both "a region in a constructor brings libgomp $letter" constructor "$runtimes/pluginA.so" "$runtimes/of_$letter/libconstructor.so"
done
paths="LD_LIBRARY_PATH=$runtimes:${LD_LIBRARY_PATH-}"
both "barriers while the loader is busy" loading "$programs/libslow.so" "$runtimes/pluginA.so" "$runtimes/pluginB.so"
unset limit

check "weak references, stock" 0 '^ok$' "$programs/weak" stock
check_under "weak references, no runtime in the process" 0 '^ok$' "$programs/weak" under
check "weak references, a runtime comes later, stock" 0 '^ok$' "$programs/weak" stock "$programs/libplugin.so"
check_under "weak references, a runtime comes later" 0 '^ok$' "$programs/weak" under "$programs/libplugin.so"
check_under "weak references: told once" 0 '^smelt: GOMP_parallel was called, which no loaded library has: run by one thread' "$programs/weak" under
if [ "$(grep -c '^smelt: ' "$output")" -ne 1 ]; then fails "told more than once"; fi
check_under "weak references: settings too, if asked" 0 '^smelt: omp_set_num_threads was called, .* it does nothing' SMELT_VERBOSE=1 "$programs/weak" under

libomp=$(ls /usr/lib/*/libomp.so.5 /usr/lib/llvm-*/lib/libomp.so.5 2>/dev/null | head -n 1)
if [ -n "$libomp" ]; then
  # The same library bound to libomp, beside one bound to libgomp.
  ln -s "$libomp" "$runtimes/libgomp.so.C"
  renamed "$programs/libplugin_plain.so" C "$runtimes/pluginC.so"
  check_under "libgomp and LLVM's libomp in one process" 0 "^ok$" "$paths" "$programs/host" "$programs/libplugin.so" "$runtimes/pluginC.so"
  check_under "LLVM's libomp and libgomp in one process" 0 "^ok$" "$paths" "$programs/host" "$runtimes/pluginC.so" "$programs/libplugin.so"
  both "settings, LLVM's libomp" settings "$programs/libplugin.so" "$runtimes/pluginC.so"
else
  skips "LLVM's libomp is not installed"
fi

finish
