#!/bin/sh
# Boots a machine that is not there, by QEMU's emulation, and runs one program in it; its console is the output.
#   guest.sh amd64|arm64 ROOT FILES QEMU-OPTION...
# ROOT is what root.sh made, FILES a folder that is laid over it: its /job is what runs. Everything lies in memory and
# is gone in the end. The last line is "job ended STATUS". Without it the machine stuck or fell: exit status 1.
set -eu
arch=$1 root=$2 files=$3
shift 3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

over=$scratch/over
mkdir "$over"
(cd "$over" && mkdir -p bin etc usr/bin proc sys dev tmp run root)
ln -s mpirun.openmpi "$over/usr/bin/mpirun"
echo 'root:x:0:0::/root:/bin/sh' >"$over/etc/passwd"
echo '127.0.0.1 localhost guest' >"$over/etc/hosts"
cat >"$over/init" <<'INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/usr/bin:/bin HOME=/root
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; mount -t cgroup2 cgroup /sys/fs/cgroup
mkdir -p /dev/shm /dev/pts; mount -t tmpfs shm /dev/shm; mount -t devpts pts /dev/pts
ln -sf /proc/self/fd /dev/fd
hostname guest; ip link set lo up
/job </dev/null 2>&1
echo "job ended $?"
poweroff -f
INIT
chmod +x "$over/init"
# An initial RAM disk is a chain of archives; later files replace earlier ones.
for folder in "$root" "$over" "$files"; do
  (cd "$folder" && find . \( -path ./boot -o -path ./usr/include \) -prune -o -print0 |
    sort -z | cpio -0 -o -H newc --quiet -R 0:0)
done >"$scratch/ramdisk"

case $arch in
  # One thread emulates all CPUs by turns. PAUSE hands the turn on, so those that wait cost nothing. A model of Intel's,
  # for its caches, and an old one, all of which is emulated. Without the last options the kernel would measure its
  # clocks against a timer that comes when it may.
  amd64)
    start="qemu-system-x86_64 -machine q35 -cpu Nehalem -accel tcg,thread=single"
    options="console=ttyS0 no_timer_check lpj=4000000 tsc=reliable" ;;
  # A thread for each CPU: no instruction with which programs wait here hands the turn on.
  arm64)
    start="qemu-system-aarch64 -machine virt,gic-version=3 -cpu max,pauth-impdef=on -accel tcg,thread=multi"
    options="console=ttyAMA0" ;;
esac
timeout "${GUEST_SECONDS:-3300}" $start "$@" -nodefaults -display none -no-reboot -serial stdio \
  -kernel "$root"/boot/vmlinuz-* -initrd "$scratch/ramdisk" \
  -append "quiet panic=-1 mitigations=off nowatchdog rcupdate.rcu_cpu_stall_suppress=1 $options" </dev/null 2>&1 |
  sed -u 's/\r//g' | tee "$scratch/console"
grep -q '^job ended [0-9]*$' "$scratch/console"
