#!/bin/sh
# Runs a command in a root folder (root.sh), in mount and process namespaces of its own, so that nothing stays mounted or running.
#   enter.sh [-n] [-l FOLDER] [-b FROM:TO]... [-r FROM:TO]... ROOT COMMAND...
# -n  without a network
# -l  in a layer over ROOT, which stays as it is; the layer lies in FOLDER, for the caller to remove
# -b  what lies at FROM is seen at TO; -r: to be read only
set -eu
isolated='' layer='' binds=''
while getopts nl:b:r: option; do
  case $option in
    n) isolated=--net ;;
    l) layer=$OPTARG ;;
    b) binds="$binds rw:$OPTARG" ;;
    r) binds="$binds ro:$OPTARG" ;;
    *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))
export layer binds
exec unshare --mount --pid --fork --kill-child --propagation private $isolated sh -c '
  set -eu
  root=$1
  shift
  if [ -n "$layer" ]; then
    mkdir -p "$layer/upper" "$layer/work" "$layer/root"
    mount -t overlay -o "lowerdir=$root,upperdir=$layer/upper,workdir=$layer/work" overlay "$layer/root"
    root=$layer/root
  fi
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount --rbind /dev "$root/dev"
  mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
  mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
  # An installed system knows its own name. Where it has to be asked for, every mpirun of Open MPI 4 waits 5 s for the answer.
  [ -e "$root/etc/hosts" ] || printf "127.0.0.1 localhost\n127.0.1.1 %s\n" "$(uname -n)" >"$root/etc/hosts"
  for bind in $binds; do
    mode=${bind%%:*} paths=${bind#*:}
    from=${paths%%:*} to=$root${paths#*:}
    if [ -d "$from" ]; then mkdir -p "$to"; else mkdir -p "${to%/*}" && : >>"$to"; fi
    mount --bind "$from" "$to"
    [ "$mode" = rw ] || mount -o remount,bind,ro "$to"
  done
  ip link set lo up 2>/dev/null || :
  exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"' - "$@"
