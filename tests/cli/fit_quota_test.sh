#!/bin/sh
# smelt run --fit in control groups with real quotas. Needs root and a hierarchy that it may write to; else it is skipped.
#   fit_quota_test.sh SMELT
set -u
smelt=$1 failed=0
[ "$(id -u)" -eq 0 ] || { echo "skip: not root"; exit 77; }
if [ -w /sys/fs/cgroup/cpu ] && [ -f /sys/fs/cgroup/cpu/cgroup.procs ]; then
  group=/sys/fs/cgroup/cpu/smelt-fit-$$
  mkdir "$group" 2>/dev/null && [ -f "$group/cpu.cfs_quota_us" ] || { rmdir "$group" 2>/dev/null; echo "skip: no quotas"; exit 77; }
  limit() { echo 100000 >"$group/cpu.cfs_period_us" && echo "$1" >"$group/cpu.cfs_quota_us"; }
elif [ -f /sys/fs/cgroup/cgroup.controllers ]; then
  group=/sys/fs/cgroup/smelt-fit-$$
  echo +cpu >/sys/fs/cgroup/cgroup.subtree_control 2>/dev/null
  mkdir "$group" 2>/dev/null && [ -f "$group/cpu.max" ] || { rmdir "$group" 2>/dev/null; echo "skip: no quotas"; exit 77; }
  limit() { echo "$1 100000" >"$group/cpu.max"; }
else
  echo "skip: no control groups"
  exit 77
fi
trap 'rmdir "$group"' EXIT
cpus=$(nproc)
# expect QUOTA_US THREADS: in a group with that quota per 100 ms.
expect() {
  limit "$1" || { echo "FAIL: the quota $1 cannot be set"; failed=1; return; }
  got=$(sh -c 'echo $$ >"$1/cgroup.procs" && exec "$2" run --fit -- sh -c "echo \$OMP_NUM_THREADS"' sh "$group" "$smelt" 2>&1 | tail -n 1)
  if [ "$got" = "$2" ]; then echo "ok: $1 us of 100000: $got"; else echo "FAIL: $1 us of 100000: $got threads, not $2"; failed=1; fi
}
expect 50000 1
expect 100000 1
expect 140000 1
if [ "$cpus" -ge 2 ]; then expect 150000 2; expect 190000 2; expect 200000 2; fi
expect 100000000 "$cpus"
exit $failed
