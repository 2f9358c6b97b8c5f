#!/bin/sh
# What the shipped objects need and export, and that every header of the components stands alone.
#   binary_test.sh SHIM SHIM_FOR_LIBOMP SOURCE_ROOT RAILS|none [COMPONENT...]
set -u
export LC_ALL=C  # one order for sort and comm
shim=$1 kmp=$2 source=$3 rails=$4
shift 4
[ "$rails" != none ] || rails=
failed=0
fail() { echo "FAIL: $*"; failed=$((failed + 1)); }

for object in "$shim" "$kmp" $rails; do
  needed=$(readelf -d "$object" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p' | grep -v '^libc\.so\.6$' | tr '\n' ' ')
  [ -z "$needed" ] || fail "$object needs more than libc: $needed"
  readelf -d "$object" | grep -q 'BIND_NOW' || fail "$object is not bound at load time"
  ! readelf -lW "$object" | grep -q 'GNU_STACK.*RWE' || fail "$object wants an executable stack"
done

exported() { nm -D --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort; }
listed() { tr ';' '\n' <"$1" | sed -n 's/^ *\([A-Za-z_][A-Za-z0-9_]*\) *$/\1/p' | sort; }
declared() { sed -n 's/^SMELT_API .*\b\(smelt_[a-z_]*\)(.*/\1/p' "$@" | sort; }
difference=$(mktemp)
if [ -n "$rails" ]; then
  exported "$rails" >"$difference.a"; listed "$source/rails/ofi/smelt_rail_ofi.map" | grep '^smelt_' >"$difference.b"
  diff "$difference.b" "$difference.a" >"$difference" || { fail "libsmelt_rail_ofi.so exports (>) other symbols than its map lists (<)"; cat "$difference"; }
  # Each function of the header is in it.
  declared "$source/rails/include/smelt/rail.h" >"$difference.b"
  diff "$difference.b" "$difference.a" >"$difference" || { fail "libsmelt_rail_ofi.so exports (>) other functions than smelt/rail.h declares (<)"; cat "$difference"; }
fi
exported "$shim" >"$difference.a"; listed "$source/gomp_shim/smelt_gomp.map" | grep -E '^(GOMP|omp)_|^smelt_gomp_counters$|^dlclose$|^pthread_create$|^pthread_getaffinity_np$|^pthread_setspecific$|^tss_set$|^__cxa_thread_atexit_impl$' >"$difference.b"
diff "$difference.b" "$difference.a" >"$difference" || { fail "the shim exports (>) other symbols than smelt_gomp.map lists (<)"; cat "$difference"; }
exported "$kmp" >"$difference.a"; listed "$source/kmp_shim/smelt_kmp.map" | grep -E '^(__kmpc|kmpc?|ompc?)_|^smelt_kmp_counters$|^dlclose$|^sched_yield$|^pthread_create$' >"$difference.b"
diff "$difference.b" "$difference.a" >"$difference" || { fail "the shim exports (>) other symbols than smelt_kmp.map lists (<)"; cat "$difference"; }
# What is written under a runtime's name is to stand in that one's place: it needs a line of the map. (The linker drops what has none.)
for written in gomp kmp; do
  sed -n 's/^[a-z][A-Za-z0-9_]*[ *]* *\(\(GOMP\|omp\|__kmpc\)_[a-z_]*\)(.*/\1/p' "$source/${written}_shim"/*.cc | sort -u >"$difference.a"
  listed "$source/${written}_shim/smelt_$written.map" >"$difference.b"
  [ -s "$difference.a" ] || fail "no function of ${written}_shim's is seen"
  for name in $(comm -23 "$difference.a" "$difference.b"); do fail "$name is written in ${written}_shim, but not in smelt_$written.map"; done
done
rm -f "$difference" "$difference.a" "$difference.b"
for object in "$shim" "$kmp"; do
  readelf -V "$object" | grep -q 'Version definition' && fail "$object defines symbol versions: ld.so would pass it over"
done

# The components: Open MPI's two libraries (three in 6.0), PMIx's where messages agree by it (from 5.0 on), and libc; one symbol,
# mca_<type>_smelt_component, and from 6.0 on a pointer to it.
for component in "$@"; do
  case $component in *pml_smelt*) more='|libpmix\.so\..*' ;; *) more= ;; esac
  needed=$(readelf -d "$component" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p' | grep -vE "^(libc\.so\.6|lib(open_)?mpi\.so\..*|libopen-pal\.so\..*$more)\$" | tr '\n' ' ')
  [ -z "$needed" ] || fail "the component needs more than libmpi, libopen-pal and libc: $needed"
  [ "$(exported "$component" | grep -v '_component_ptr$')" = "$(basename "$component" .so)_component" ] || fail "$component exports: $(exported "$component" | tr '\n' ' ')"
done

for header in "$source"/core/include/smelt/*.h; do
  name=smelt/$(basename "$header")
  echo "#include <$name>" | ${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$source/core/include" -fsyntax-only -x c - ||
    fail "$name does not stand alone as C11"
  echo "#include <$name>" | ${CXX:-c++} -std=c++17 -Wall -Wextra -Wpedantic -Werror -I"$source/core/include" -fsyntax-only -x c++ - ||
    fail "$name does not stand alone as C++17"
done
echo "$failed violations"
[ "$failed" -eq 0 ]
