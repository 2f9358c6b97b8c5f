#!/bin/sh
# Part of other_libgomp_test.sh: what runs inside the root folder, where the source lies at /source.
#   inside.sh BUILD_DIRECTORY GCC [FULL]
set -eu
build=$1 gcc=$2 full=${3-}
cd /
fail() { echo "FAIL: $*"; exit 1; }
[ "$(gcc -dumpversion | cut -d . -f 1)" = "$gcc" ] || fail "this is GCC $(gcc -dumpversion), and $gcc was wanted"
[ ! -f "$build/build.ninja" ] || again=--reconfigure
meson setup ${again-} -Dtests=true -Dbench=false "$build" /source >"$build.log" 2>&1 || { tail -n 20 "$build.log"; fail "meson setup"; }

# meson builds what these tests need, and no more.
meson test -C "$build" --print-errorlogs --suite gomp_shim --no-suite full-shims || fail "tests in $build"
programs=$build/tests/gomp_shim shim=$build/gomp_shim/libsmelt_gomp.so
libgomp=$(ldd "$programs/constructs" | awk '/libgomp/ { print $3 }')
echo "GCC $(gcc -dumpfullversion), $libgomp, $(readelf -VW "$libgomp" | grep -o 'Name: GOMP_[0-9][0-9.]*' | tail -n 1)"

# The whole protocol is of a libgomp with one central barrier. Another would have to be read first.
! strings -a "$libgomp" | grep GOMP_BARRIER_TYPE || fail "this libgomp has barriers of several types"

# Where a tool watches, it must not miss what the shim takes. No libgomp has tools yet: one that says so (mov $-1, %eax).
if [ "$gcc" -ge 17 ] && [ "$(uname -m)" = x86_64 ]; then
  mkdir -p /tmp/watched
  python3 - "$libgomp" /tmp/watched/libgomp.so.1 <<'PATCH' || fail "omp_control_tool is not as it was"
import subprocess, sys
data = bytearray(open(sys.argv[1], 'rb').read())
names = subprocess.run(['nm', '-D', '--defined-only', sys.argv[1]], stdout=subprocess.PIPE, text=True, check=True).stdout
at = next(int(line.split()[0], 16) for line in names.splitlines() if line.split()[2].startswith('omp_control_tool@'))
code = data.index(b'\xb8\xfe\xff\xff\xff\xc3', at, at + 16)  # mov $-2, %eax; ret
data[code + 1] = 0xff
open(sys.argv[2], 'wb').write(data)
PATCH
  LD_LIBRARY_PATH=/tmp/watched SMELT_VERBOSE=1 LD_PRELOAD="$shim" "$programs/constructs" >/tmp/output 2>&1 || fail "where a tool watches"
  grep -q 'takes nothing: an OMPT tool watches' /tmp/output || { cat /tmp/output; fail "a tool is not seen"; }
  # The entry points of programs that are built for one.
  gcc -O2 -fopenmp -fopenmp-ompt=extended /source/tests/gomp_shim/constructs.c -o /tmp/constructs || fail "-fopenmp-ompt"
  nm -D /tmp/constructs | grep -q GOMP_loop_static_worksharing_end || fail "-fopenmp-ompt is not what it was"
  for threads in 2 5; do
    SMELT_CPUS=64 SMELT_TUNE=spin_us=20 SMELT_STATS=1 LD_PRELOAD="$shim" /tmp/constructs $threads 20 >/tmp/output 2>&1 &&
      grep -q 'barriers: [1-9][0-9]* own' /tmp/output || { cat /tmp/output; fail "a program built for tools"; }
  done
fi

tarball=$(ls /usr/src/gcc-*/gcc-*.tar.xz | tail -n 1)
subset="--subset /source/tests/conformance/subset.txt"
[ -z "$full" ] || subset=
python3 /source/tests/conformance/conformance.py --work "$build/conformance" --source "$tarball" --shim "$shim" $subset --threads 4 \
  --env SMELT_CPUS=64 --used '[1-9][0-9]* tasks by stealing' || fail "libgomp's own suite"
