#!/bin/sh
# The release tarball, as meson dist makes it of the last commit: where the runtime parts alone are wanted, it builds
# with a compiler, meson and ninja, without network, without root, and where neither hwloc nor fmt, CLI11, JSON,
# GoogleTest, Open MPI, libfabric or Boost are to be found; and the shim that comes out serves an OpenMP program.
#   tarball_test.sh SOURCE_ROOT
# Exit 77, with a line that says why: skipped.
set -eu
source=$(cd "$1" && pwd)
skip() { echo "skipped: $*"; exit 77; }
fail() { echo "FAIL: $*"; exit 1; }
git -C "$source" rev-parse -q --verify HEAD >/dev/null 2>&1 || skip "meson dist packs a commit, and this is no checkout"
quietly() { "$@" >"$place/log" 2>&1 || { tail -n 20 "$place/log"; fail "$*"; }; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
chmod 755 "$place"

# Configured anywhere: only the source matters.
quietly meson setup "$place/dist" "$source" -Dcli=disabled -Drails=disabled
quietly meson dist -C "$place/dist" --no-tests --allow-dirty --formats xztar
tarball=$(ls "$place"/dist/meson-dist/smelt-*.tar.xz)
[ -s "$tarball.sha256sum" ] || fail "no checksum"
mkdir "$place/source"
tar -x -J -C "$place/source" --strip-components=1 --no-same-owner -f "$tarball"
for file in LICENSE README.md CHANGELOG.md debian/control contrib/spack/packages/smelt/package.py docs/smelt.1.in; do
  [ -s "$place/source/$file" ] || fail "the tarball lacks $file"
done
[ ! -e "$place/source/.git" ] || fail "the tarball has a .git"

# Somebody without rights, without network, and without the headers of anything: under an empty folder for each.
cat >"$place/build.sh" <<'BUILD'
set -eu
place=$1
cd "$place/home"
export HOME="$place/home" PKG_CONFIG_LIBDIR="$place/nothing" PKG_CONFIG_PATH= CCACHE_DISABLE=1
unset XDG_CACHE_HOME
for library in hwloc fmt nlohmann_json CLI11 gtest ompi-c libfabric; do
  ! pkg-config --exists "$library" 2>/dev/null || { echo "$library is there"; exit 1; }
done
for header in hwloc.h fmt/format.h nlohmann/json.hpp CLI/CLI.hpp gtest/gtest.h boost/version.hpp rdma/fabric.h \
  mpi.h; do
  ! echo "#include <$header>" | c++ -E -x c++ - >/dev/null 2>&1 || { echo "$header is there"; exit 1; }
done
[ "$(cat /proc/net/route | wc -l)" -le 1 ] || { echo "there is a network"; exit 1; }
meson setup build "$place/source" -Dcli=disabled -Drails=disabled --prefix="$place/home/installed" --libdir=lib
ninja -C build
meson install -C build --no-rebuild --quiet
cat >a.c <<'PROGRAM'
#include <stdio.h>
int main(void) {
  int sum = 0;
  for (int i = 0; i < 100; ++i) {
#pragma omp parallel num_threads(2) reduction(+ : sum)
    sum += 1;
  }
  printf("sum %d\n", sum);
  return 0;
}
PROGRAM
cc -fopenmp a.c -o a
shim=$place/home/installed/lib/smelt/libsmelt_gomp.so
SMELT_VERBOSE=1 LD_PRELOAD="$shim" ./a >output 2>&1 || { cat output; exit 1; }
grep -q '^sum 200$' output && grep -q '^smelt: .*symbols taken' output || { cat output; exit 1; }
for file in lib/libsmelt.so.0 include/smelt/smelt.h share/man/man3/smelt_barrier.3 share/doc/smelt/LICENSE share/doc/smelt/README.md; do
  [ -e "installed/$file" ] || { echo "$file is not installed"; exit 1; }
done
# A prologue comes with the program that it calls.
[ ! -e installed/bin/smelt ] && [ ! -e installed/share/smelt/slurm/smelt-prolog.sh ] || { echo "smelt, or what needs it"; exit 1; }
# CMake finds the library, by its package alone.
if command -v cmake >/dev/null; then
  mkdir -p consumer && cat >consumer/CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.16)
project(consumer C)
find_package(Smelt 0.1 REQUIRED)
find_package(Threads REQUIRED)
add_executable(consumer consumer.c)
target_link_libraries(consumer Smelt::smelt Threads::Threads)
CMAKE
  cat >consumer/consumer.c <<'PROGRAM'
#include <smelt/smelt.h>
int main(void) { return smelt_version()[0] == 0; }
PROGRAM
  cmake -S consumer -B consumer/build -DCMAKE_PREFIX_PATH="$place/home/installed" >cmake.log 2>&1 &&
    cmake --build consumer/build >>cmake.log 2>&1 && consumer/build/consumer || { cat cmake.log; exit 1; }
  ! cmake -S consumer -B consumer/none >/dev/null 2>&1 || { echo "find_package finds it anywhere"; exit 1; }
fi
BUILD
mkdir "$place/home" "$place/nothing"
echo '#error not to be found' >"$place/nothing.h"
if [ "$(id -u)" -eq 0 ]; then
  unshare --mount --net true 2>/dev/null || skip "no namespaces here, so what is installed cannot be hidden"
  chown nobody "$place/home"
  as_nobody="setpriv --reuid nobody --regid nogroup --clear-groups"
  enter='unshare --mount --net --propagation private'
else
  unshare --map-root-user --mount --net true 2>/dev/null ||
    skip "no namespaces here, so what is installed cannot be hidden"
  as_nobody='' enter='unshare --map-root-user --mount --net'
fi
$enter sh -c '
  nothing=$1
  shift
  for hidden in /usr/include/hwloc /usr/include/fmt /usr/include/nlohmann /usr/include/CLI /usr/include/gtest \
    /usr/include/boost /usr/include/rdma /usr/lib/*/openmpi/include /usr/include/*/mpi; do
    [ ! -d "$hidden" ] || mount --bind "$nothing" "$hidden" || exit 1
  done
  for hidden in /usr/include/hwloc.h /usr/include/mpi.h /usr/lib/*/libboost_context.a; do
    [ ! -e "$hidden" ] || mount --bind "$nothing.h" "$hidden" || exit 1
  done
  exec "$@"' - "$place/nothing" $as_nobody bash "$place/build.sh" "$place" >"$place/build.log" 2>&1 ||
  { tail -n 40 "$place/build.log"; fail "the runtime parts alone, from the tarball"; }
echo "${tarball##*/}: $(wc -c <"$tarball") bytes; its runtime parts are built, installed and serve"
