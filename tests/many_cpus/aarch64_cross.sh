#!/bin/sh
# Prints a meson cross file for AArch64 programs that are linked with the libraries of a root and run by qemu-user.
#   aarch64_cross.sh ROOT
root=$1
libraries=$root/usr/lib/aarch64-linux-gnu
# A library's own libraries lie where the program will find them; headers that differ by architecture come last.
links="['-Wl,-rpath-link,$libraries:$root/lib/aarch64-linux-gnu']"
arguments="['-idirafter', '$root/usr/include/aarch64-linux-gnu']"
launcher=
if command -v ccache >/dev/null; then launcher="'ccache', "; fi  # meson adds it by itself to native compilers alone
cat <<FILE
[binaries]
c = [$launcher'aarch64-linux-gnu-gcc']
cpp = [$launcher'aarch64-linux-gnu-g++']
ar = 'aarch64-linux-gnu-gcc-ar'
strip = 'aarch64-linux-gnu-strip'
pkgconfig = 'pkg-config'
exe_wrapper = ['qemu-aarch64-static', '-L', '$root']
[properties]
sys_root = '$root'
library_dirs = ['$libraries']
pkg_config_libdir = '$libraries/pkgconfig:$root/usr/share/pkgconfig'
[built-in options]
c_args = $arguments
cpp_args = $arguments
c_link_args = $links
cpp_link_args = $links
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'armv8-a'
endian = 'little'
FILE
