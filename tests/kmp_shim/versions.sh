#!/bin/sh
# Prints the libomps there are: a line each with the version and the folder of its libomp.so.5. Installed ones, and those that Debian
# packages beside, which cannot be installed together: taken from where this machine's apt takes them, kept in the cache
# (XDG_CACHE_HOME or ~/.cache; 3 MB each), not installed. Those that cannot be had are left out.
set -eu
kept=${XDG_CACHE_HOME:-$HOME/.cache}/smelt-tests/libomp
for folder in /usr/lib/llvm-*/lib; do
  [ ! -e "$folder/libomp.so.5" ] || echo "$(basename "$(dirname "$folder")" | sed 's/llvm-//') $folder"
done
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || exit 0
mkdir -p "$kept"
exec 9>"$kept/lock"
flock 9
for version in $(apt-cache pkgnames libomp5- 2>/dev/null | sed -n 's/^libomp5-\([0-9][0-9]*\)$/\1/p' | sort -n); do
  [ ! -e "/usr/lib/llvm-$version/lib/libomp.so.5" ] || continue
  if [ ! -d "$kept/$version" ]; then
    new=$(mktemp -d "$kept/new.XXXXXX")
    (cd "$new" && timeout 60 apt-get -qq download "libomp5-$version" && dpkg-deb -x libomp5-*.deb root) >"$kept/log" 2>&1 9>&- &&
      [ -e "$new/root/usr/lib/llvm-$version/lib/libomp.so.5" ] && mv "$new/root" "$kept/$version"
    rm -rf "$new"
  fi
  [ ! -d "$kept/$version" ] || echo "$version $kept/$version/usr/lib/llvm-$version/lib"
done
