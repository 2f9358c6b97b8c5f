#!/bin/sh
# Part of wheel_test.sh: what runs inside the clean root folder, without rights and without network.
set -eu
cd "$HOME"
fail() { echo "FAIL: $*"; [ ! -e output ] || cat output; exit 1; }
quietly() { "$@" >output 2>&1 || fail "$*"; }
for tool in cc gcc c++ g++ clang ld meson ninja make; do ! command -v $tool >/dev/null || fail "there is $tool"; done
[ "$(id -u)" -ne 0 ] || fail "this is root"
wheel=$(ls /wheels/smelt-*.whl)
libc=$(ldd --version | sed -n '1s/.* //p')
echo "$(. /etc/os-release && echo "$PRETTY_NAME"), glibc $libc, $(python3 --version): ${wheel##*/}, $(($(wc -c <"$wheel") / 1024)) KiB"

# Numpy and scikit-learn are the system's; Smelt is the environment's.
quietly python3 -m venv --system-site-packages environment
find environment \( -type f -o -type l \) | grep -v __pycache__ | sort >before
quietly environment/bin/pip install --no-index "$wheel"
find environment \( -type f -o -type l \) | grep -v __pycache__ | sort >installed
PATH=$HOME/environment/bin:$PATH
quietly smelt --version
sed -n 1,2p output
# Nothing but the C library is taken from the system.
for file in environment/bin/smelt environment/lib/smelt/smelt-* environment/lib/smelt/*.so; do
  ldd "$file" >output
  ! grep 'not found' output || fail "$file"
  ! grep '=> ' output | grep -vE "=> $HOME/environment/|/lib(c|m|pthread|dl|rt)\.so\." || fail "$file takes more from the system"
done
[ "$(smelt env --format file | sed -n "s,^LD_PRELOAD=,,p")" = \
  "$HOME/environment/lib/smelt/libsmelt_gomp.so:$HOME/environment/lib/smelt/libsmelt_kmp.so" ] || fail "smelt env: $(smelt env)"
quietly smelt calibrate --no-methods --race 0 --limit 20 --quiet
quietly smelt info
quietly smelt profile verify
quietly smelt report --json
quietly smelt tree --machine zoo:intel-xeon-e5-2670v2-2x10

# scikit-learn's loops are OpenMP's (libgomp), numpy's matrices OpenBLAS's (OpenMP as well, by libopenblas0-openmp).
cat >learn.py <<'LEARN'
import numpy
from sklearn.cluster import KMeans
points = numpy.random.default_rng(1).normal(size=(20000, 8))
print(round(float(KMeans(n_clusters=8, n_init=2, random_state=1).fit(points).inertia_)))
a = numpy.random.default_rng(1).normal(size=(400, 400))
print(round(float(sum((a @ a).sum() for _ in range(50)))))
LEARN
export OMP_NUM_THREADS=2
quietly python3 learn.py
cp output stock
smelt run --verbose -- python3 learn.py >served 2>output || fail "smelt run -- python3"
cmp stock served || fail "other results"
grep -E '^smelt: OpenMP \(libgomp, 2 threads\): [1-9][0-9]* of [0-9]* parallel regions' output || fail "smelt run -- python3: not served"
quietly smelt try --pairs 2 -- python3 learn.py
head -n 1 output
! OMPI_COMM_WORLD_SIZE= smelt run --dry-run -- mpirun -n 2 ./a | grep openmpi || fail "a component that is not in the wheel"

quietly environment/bin/pip uninstall --yes smelt
find environment \( -type f -o -type l \) | grep -v __pycache__ | sort >after
diff before after >output || fail "left behind"
[ "$(comm -13 before installed | wc -l)" -gt 8 ] || fail "control: nothing was installed"
echo "installed, used, uninstalled: nothing is left"
