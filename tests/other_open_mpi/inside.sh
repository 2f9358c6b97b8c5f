#!/bin/sh
# Part of other_open_mpi_test.sh: what runs inside the root folder, where the source lies at /source.
#   inside.sh BUILD_DIRECTORY SERIES
set -eu
build=$1 series=$2
cd /
fail() { echo "FAIL: $*"; exit 1; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Open MPI complains where a machine has no address but the loopback's.
export OMPI_MCA_btl_tcp_if_include=lo
found=$(ompi_info --version | sed -n 's,^Open MPI v,,p')  # mpirun wants a help file to say it, which Ubuntu 26.04 has not
case $found in
  "$series".*) echo "Open MPI $found, GCC $(gcc -dumpfullversion)" ;;
  *) fail "this is Open MPI $found, and $series was wanted" ;;
esac

[ ! -f "$build/build.ninja" ] || again=--reconfigure
meson setup ${again-} -Dtests=true -Dbench=false "$build" /source >"$build.log" 2>&1 || { tail -n 20 "$build.log"; fail "meson setup"; }
! grep 'component is not built' "$build.log" || fail "no component"
# Only what these tests need: meson 1.7 (Debian 13) builds all that any test needs, twice as much.
PYTHONPATH=/source/tests python3 -B -c 'import check, sys
build = check.Build("plain")
build.directory = sys.argv[1]
wanted = {"ompi_coll_smelt", "ompi_pml_smelt", "binaries"}
sys.exit(not build.compile([test for test in build.tests() if test.part is None and wanted & {*test.suites, test.name}]))' "$build" ||
  fail "the tests do not build"
meson test -C "$build" --no-rebuild --print-errorlogs --suite ompi_coll_smelt --suite ompi_pml_smelt --no-suite full-mpi \
  --no-suite full-messages || fail "tests in $build"
grep "passed, .* failed, .* skipped" "$build/meson-logs/testlog.txt"
meson test -C "$build" --no-rebuild --print-errorlogs binaries || fail "tests in $build"

# Installed, and put under a program as the manual says: it is found, and nobody has anything to say about it.
meson introspect --targets "$build" | python3 -c 'import json, sys
for target in json.load(sys.stdin):
    if target["installed"]: print(*target["filename"], sep="\n")' | sed "s,^$build/,," | xargs ninja -C "$build" --quiet
meson install -C "$build" --no-rebuild --quiet --destdir /tmp/installed
smelt=$(find /tmp/installed -path '*/bin/smelt')
counters=$build/tests/ompi_coll_smelt/counters
used() {  # WHAT COMMAND...: it succeeds, and says nothing but the counters and ok
  what=$1
  shift
  "$@" >/tmp/output 2>&1 || { cat /tmp/output; fail "$what"; }
  [ "$(grep -v '^coll_smelt_[a-z_]*: ' /tmp/output)" = ok ] || { cat /tmp/output; fail "$what: not only ok"; }
}
used "installed: smelt run" "$smelt" run -- mpirun -n 2 "$counters" used
folder=$(dirname "$(find /tmp/installed -name mca_coll_smelt.so)")
export OMPI_MCA_mca_base_component_path="$folder:SYSTEM_DEFAULT"
used "installed: by hand" env PMIX_MCA_mca_base_component_path=: mpirun --mca coll smelt -n 2 "$counters" used
# Without PMIx's variable there would be something to see.
mpirun --mca coll smelt -n 2 "$counters" used 2>&1 | grep -q 'search for PMIx components' || fail "control: PMIx does not warn"
echo "installed: found, and silent"
