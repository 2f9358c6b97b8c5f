#!/bin/sh
# Part of systems_test.sh: what runs inside the system, where the source lies in the folder above tests/.
set -eu
cd "$(dirname "$0")/../.."
fail() { echo "FAIL: $*"; exit 1; }
quietly() { "$@" >/tmp/log 2>&1 || { tail -n 60 /tmp/log; fail "$*"; }; }
export OMPI_MCA_btl_tcp_if_include=lo  # Open MPI complains where a machine has no address but the loopback's

# --- README's first command, by somebody who is not root and has sudo
quietly apt-get update
quietly apt-get install -y --no-install-recommends sudo
useradd newcomer --shell /bin/sh
echo 'newcomer ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/newcomer
chown -R newcomer: /home/newcomer
as_newcomer() { su newcomer -c "$1"; }
began=$(date +%s)
as_newcomer ./quickstart >/tmp/quickstart 2>&1 || { cat /tmp/quickstart; fail "./quickstart"; }
took=$(($(date +%s) - began))
cat /tmp/quickstart
echo "quickstart took $((took / 60)) min $((took % 60)) s"
said() { grep -q "$1" /tmp/quickstart || fail "quickstart does not say: $1"; }
said '^PARALLEL  .*[0-9]'  # there may be a word before the figures, near or far
said '^allreduce  *.*[0-9.]'
said '^here: a region [0-9.]* times, a barrier [0-9.]* times as fast as stock'
said '^  no libfabric (libfabric-dev): there are no rails'
[ -z "$(find /home/newcomer ! -user newcomer)" ] || fail "what ./quickstart made is not all the newcomer's"
cp -r /home/newcomer/.cache /root/.cache  # the profile, for what root runs below

# --- what is served
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
quietly apt-get install -y --no-install-recommends clang libomp-dev
smelt=build/core/smelt
# served PATTERN COMMAND...: it succeeds, and smelt run's last line says so
served() {
  pattern=$1
  shift
  "$smelt" run --verbose -- "$@" >/tmp/output 2>&1 || { cat /tmp/output; fail "smelt run -- $*"; }
  grep -E "^smelt: $pattern" /tmp/output || { cat /tmp/output; fail "smelt run -- $*: not served"; }
}
awk '/^```c$/ { inside = 1; next } /^```$/ { inside = 0 } inside' docs/start.md >/tmp/meet.c
cc -O2 -fopenmp /tmp/meet.c -o /tmp/meet
clang -O2 -fopenmp /tmp/meet.c -o /tmp/meet_clang
served 'OpenMP \(libgomp, 2 threads\): .*[1-9][0-9]* barriers served' /tmp/meet
served 'OpenMP \(libomp, 2 threads\): .*[1-9][0-9]* barriers or reductions served' /tmp/meet_clang
cat >/tmp/m.c <<'PROGRAM'
#include <mpi.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int one = 1, sum = 0, ranks = 0, wrong = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int round = 0; round < 1000; ++round) {
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    wrong += sum != ranks;
  }
  MPI_Finalize();
  return wrong != 0;
}
PROGRAM
mpicc -O2 /tmp/m.c -o /tmp/m
served 'MPI \(2 ranks\): [1-9][0-9]* of [0-9]* collective calls of all ranks served: .*allreduce' mpirun -n 2 /tmp/m

# --- README's second command, as far as other systems can break it
. .ci/prepare
unset OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
. /etc/os-release
# What stands on the system's own libgomp, libomp, Open MPI (on two pretended nodes, too: iproute2), CLI11, coreutils, binutils, shells,
# man, Doxygen and MkDocs.
suites='abi cli gomp_shim kmp_shim ompi_coll_smelt ompi_pml_smelt'
case ${VERSION_ID-sid} in
  12) suites= ;;  # the first tier's own system
  sid) suites="$suites core" ;;  # the newest compiler may see the rest otherwise
esac
if [ -n "$suites" ]; then
  need_packages $test_packages ccache python3 procps libpmix-dev gfortran iproute2 mount zsh fish man-db doxygen mkdocs
  need_build build -Dtests=true
  quietly ninja -C build build.ninja
  # Only what these tests need: meson 1.7 (Debian 13) builds all that any test needs.
  python3 -c 'import sys; sys.path.insert(0, "tests"); import check; build = check.Build("plain")
sys.exit(not build.compile([test for test in build.tests() if test.part is None and {*test.suites} & {*sys.argv[1:]}]))' $suites ||
    fail "the tests do not build"
  meson test -C build --no-rebuild --print-errorlogs $(printf ' --suite %s' $suites) \
    $(sed -n 's/^\([a-z0-9-]*\):.*/--no-suite full-\1/p' tests/parts.txt) || fail "tests"
fi

version() { sed -n "s/.*$1\([0-9][0-9.rc]*\).*/\1/p" | head -n 1; }
libomp=$(dpkg-query -W -f '${db:Status-Abbrev}${source:Upstream-Version}\n' 'libomp5*' | sed -n 's/^ii *//p')
echo "| ${NAME%% GNU*} ${VERSION_ID-sid} | $(gcc -dumpfullversion) | $(ompi_info --version | version 'Open MPI v') | $libomp |" \
  "$((took / 60)) min $((took % 60)) s |"
