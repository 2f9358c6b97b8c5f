# Sourced by tests that need a control group with a quota: makes one, or ends with 77, skipped, and says why.
#   limit MICROSECONDS     the quota per 100 ms
#   in_group COMMAND...    runs it there
[ "$(id -u)" -eq 0 ] || { echo "skip: no control group can be made: not root"; exit 77; }
if [ -w /sys/fs/cgroup/cpu ] && [ -f /sys/fs/cgroup/cpu/cgroup.procs ]; then
  group=/sys/fs/cgroup/cpu/smelt-test-$$ quota_file=cpu.cfs_quota_us version=1
  limit() { echo 100000 >"$group/cpu.cfs_period_us" && echo "$1" >"$group/cpu.cfs_quota_us"; }
elif [ -f /sys/fs/cgroup/cgroup.controllers ]; then
  group=/sys/fs/cgroup/smelt-test-$$ quota_file=cpu.max version=2
  echo +cpu >/sys/fs/cgroup/cgroup.subtree_control 2>/dev/null
  limit() { echo "$1 100000" >"$group/cpu.max"; }
else
  echo "skip: no control groups are mounted"
  exit 77
fi
mkdir "$group" 2>/dev/null && [ -f "$group/$quota_file" ] || { rmdir "$group" 2>/dev/null; echo "skip: control groups have no quotas"; exit 77; }
trap 'rmdir "$group" 2>/dev/null || { sleep 1; rmdir "$group"; }' EXIT  # the kernel may be about to let go of it
echo "control groups of version $version"
in_group() { sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "$@"; }
