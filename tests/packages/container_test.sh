#!/bin/sh
# contrib/container/Containerfile: built by buildah, on a Debian 13 that is made of packages and stands for the registry's; a program is run
# in what comes out.
#   container_test.sh SOURCE_ROOT
# Exit 77, with a line that says why: skipped.
set -eu
source=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
command -v buildah >/dev/null || { echo "skipped: there is no buildah"; exit 77; }
git -C "$source" rev-parse -q --verify HEAD >/dev/null 2>&1 || { echo "skipped: this is no checkout"; exit 77; }
root=$("$here/../systems/root.sh" image trixie)
place=$(mktemp -d "$root.images.XXXXXX")
trap 'rm -rf --one-file-system "$place"' EXIT
fail() { echo "FAIL: $*"; tail -n 60 "$place/log"; exit 1; }
quietly() { "$@" >"$place/log" 2>&1 || fail "$*"; }
images() { command buildah --root "$place/store" --runroot "$place/run" --storage-driver vfs "$@"; }
mkdir "$place/source"
(cd "$source" && git ls-files --cached --others --exclude-standard | while read -r file; do [ ! -e "$file" ] || echo "$file"; done) |
  tar -c -C "$source" -T - | tar -x -C "$place/source"

base=$(images from scratch)
quietly images add -q "$base" "$root" /
quietly images commit -q --rm "$base" docker.io/library/debian:13
quietly images bud --isolation chroot --network host --pull-never -f "$place/source/contrib/container/Containerfile" -t smelt "$place/source"
[ "$(images inspect --type image --format '{{.OCIv1.Config.Entrypoint}}' smelt)" = '[smelt run --fit --]' ] || fail "its entry point"

# A program of its users', which has what its own image would give it.
awk '/^```c$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$source/docs/start.md" >"$place/meet.c"
quietly cc -O2 -fopenmp "$place/meet.c" -o "$place/meet"
used=$(images from --pull-never smelt)
quietly images copy -q "$used" "$place/meet" /meet
quietly images run --isolation chroot "$used" -- sh -c 'apt-get update && apt-get install -y --no-install-recommends libgomp1'
quietly images run --isolation chroot "$used" -- smelt run --fit --verbose -- /meet
grep -E '^smelt: OpenMP \(libgomp, 2 threads\): .*barriers served' "$place/log" || fail "not served in the image"
quietly images run --isolation chroot "$used" -- sh -c 'test -e /usr/local/lib/smelt/openmpi/mca_coll_smelt.so && ! command -v cc'
echo "image: built, and a program served in it"
