#!/bin/sh
# Smelt in an emulated machine, under a real kernel.
#   guest_test.sh MACHINE BUILD_DIRECTORY PART...     MACHINE: see machines.sh; PART: see guest_job.sh
# For another architecture than this machine's the build directory is aarch64_build.sh's, which is called first.
# Exit 77: skipped, the last line says why.
set -eu
here=$(cd "$(dirname "$0")" && pwd) name=$1 build=$2
shift 2
. "$here/machines.sh"
machine "$name"
case $arch in
  amd64) tools="qemu-system-x86_64 cpio" ;;
  arm64) tools="qemu-system-aarch64 cpio aarch64-linux-gnu-g++" ;;
esac
for tool in $tools; do command -v "$tool" >/dev/null || { echo "skipped: $tool is not installed"; exit 77; }; done
root=$("$here/root.sh" $arch) || { echo "$root"; exit 77; }
if [ $arch = arm64 ]; then "$here/aarch64_build.sh" "$here/../.." "$build" "$root"; fi

files=$(mktemp -d)
trap 'rm -rf "$files"' EXIT
for folder in core gomp_shim ompi_coll_smelt tests/gomp_shim tests/ompi_coll_smelt; do
  mkdir -p "$files/smelt/$folder"
  if [ -d "$build/$folder" ]; then
    find "$build/$folder" -maxdepth 1 -type f -perm -u+x -exec cp {} "$files/smelt/$folder" \;
  fi
done
case " $* " in
  *' conformance '*)
    tests=$(sed -n 's/^\(lib[^ ]*\).*/\1/p' "$here/conformance.txt")
    "$here/conformance_programs.py" "$build/tests/conformance/work" "$files/smelt/conformance" $tests ||
      [ $? -eq 77 ] || exit 1 ;;
esac
cp "$here/machines.sh" "$here/../gomp_shim/checks.sh" "$here/../control_group.sh" "$files/smelt"
cp "$here/../cli/fit_quota_test.sh" "$here/../gomp_shim/team_size_test.sh" "$files/smelt/core"
cp "$here/guest_job.sh" "$files/job"
echo "$name" >"$files/smelt/machine"
echo "$*" >"$files/smelt/parts"

"$here/guest.sh" $arch "$root" "$files" $qemu | tee "$files/console"
grep -q '^job ended 0$' "$files/console" || { echo "the emulated machine did not end well"; exit 1; }
