#!/bin/sh
# What `meson install` puts down is enough: the installed smelt finds its shim, and its Open MPI component where one was built; pkg-config
# finds the library where it was built, and the guide's barrier builds and runs against it.
#   install_test.sh BUILD_ROOT SOURCE_ROOT library|none [COMPONENT]
set -eu
build=$1 source=$2
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
meson install -C "$build" --no-rebuild --quiet --destdir "$place" >/dev/null
if [ "$3" = library ]; then
  module=$(find "$place" -name smelt.pc)
  [ -n "$module" ] || { echo "FAIL: no smelt.pc"; exit 1; }
  library=$(find "$place" -name 'libsmelt.so.0')
  PKG_CONFIG_PATH=$(dirname "$module") PKG_CONFIG_SYSROOT_DIR=$place LD_LIBRARY_PATH=$(dirname "$library") \
    "$source/tests/abi/guide_test.py" "$source/core/library/guide.md" barrier.c
  for page in smelt smelt_barrier smelt_barrier_wait; do
    [ -n "$(find "$place" -path "*/man3/$page.3")" ] || { echo "FAIL: no manual page $page(3)"; exit 1; }
  done
fi
smelt=$(find "$place" -path '*/bin/smelt')
"$smelt" run --dry-run -- true | grep "$place.*/smelt/libsmelt_gomp.so" || { echo "FAIL: smelt run does not find the shim"; exit 1; }
"$smelt" run --dry-run -- true | grep "$place.*/smelt/libsmelt_kmp.so" || { echo "FAIL: smelt run does not find the shim for libomp"; exit 1; }
"$smelt" run --verbose -- true 2>&1 | grep 'smelt: loaded; no process called' || { echo "FAIL: smelt run does not load the shim"; exit 1; }
for completion in bash-completion/completions/smelt zsh/site-functions/_smelt fish/vendor_completions.d/smelt.fish; do
  [ -n "$(find "$place" -path "*/share/$completion")" ] || { echo "FAIL: no $completion"; exit 1; }
done
[ -n "$(find "$place" -path '*/man1/smelt.1')" ] || { echo "FAIL: no manual page smelt(1)"; exit 1; }
"$smelt" draw --help | grep -q 'timeline' || { echo "FAIL: smelt does not find smelt-pictures"; exit 1; }
"$smelt" draw schedule --machine zoo:apple-m1-pro-1x6 | grep -q '^     CPU  round 1' || { echo "FAIL: nothing is drawn"; exit 1; }
[ -n "$(find "$place" -path '*/man1/smelt-pictures.1')" ] || { echo "FAIL: no manual page smelt-pictures(1)"; exit 1; }
# smelt finds the program of rails, where that house was built.
if [ -n "$(find "$place" -name libsmelt_rail_ofi.so)" ]; then
  "$smelt" network --help | grep -q 'listen' || { echo "FAIL: smelt does not find smelt-network"; exit 1; }
  [ -n "$(find "$place" -path '*/man1/smelt-network.1')" ] || { echo "FAIL: no manual page smelt-network(1)"; exit 1; }
  [ -n "$(find "$place" -path '*/man3/smelt_rail_send.3')" ] || { echo "FAIL: no manual page smelt_rail_send(3)"; exit 1; }
  [ -n "$(find "$place" -path '*/include/smelt/rail.h')" ] || { echo "FAIL: no smelt/rail.h"; exit 1; }
fi
# Module files, units, prologues and completions, with this prefix.
prefix=${smelt#"$place"} prefix=${prefix%/bin/smelt}
for file in share/modulefiles/smelt/*.lua share/modulefiles/smelt/*.*.? lib/systemd/system/smelt-calibrate.service \
  lib/systemd/system/smelt-calibrate.timer share/smelt/slurm/smelt-prolog.sh share/smelt/slurm/smelt-task-prolog.sh \
  share/bash-completion/completions/smelt share/zsh/site-functions/_smelt share/fish/vendor_completions.d/smelt.fish; do
  ls "$place$prefix"/$file >/dev/null || { echo "FAIL: no $file"; exit 1; }
done
for file in share/modulefiles/smelt lib/systemd/system/smelt-calibrate.service share/smelt/slurm; do
  ! grep -rLF "$prefix/" "$place$prefix/$file" | grep . || { echo "FAIL: another prefix"; exit 1; }
done
if [ -n "${4-}" ]; then
  "$smelt" run --dry-run -- true | grep "OMPI_MCA_mca_base_component_path=$place.*smelt/openmpi" ||
    { echo "FAIL: smelt run does not find the Open MPI component"; exit 1; }
  [ -n "$(find "$place" -path '*/smelt/openmpi/mca_coll_smelt.so')" ] || { echo "FAIL: no mca_coll_smelt.so"; exit 1; }
  if [ -n "$(find "$place" -path '*/smelt/openmpi/mca_pml_smelt.so')" ]; then  # only with Open MPI 4.1; in the same folder
    "$smelt" run --messages --dry-run -- true |
      grep "OMPI_MCA_mca_base_component_path=[^:]*smelt/openmpi:SYSTEM_DEFAULT.* OMPI_MCA_pml_smelt_enable=1 " ||
      { echo "FAIL: smelt run --messages does not find the component for messages"; exit 1; }
  fi
fi
