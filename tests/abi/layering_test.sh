#!/bin/sh
# Who may include whom (the arrows of the house), read off the #include lines; and getenv, abort, exit, printf only where
# they may be.
#   layering_test.sh SOURCE_ROOT
set -u
cd "$1" || exit 1
failed=0 checked=0
allowed() {
  case $1 in
    base) echo base ;;
    model) echo base model ;;
    generate) echo base model generate ;;
    schedule) echo base model generate schedule ;;
    transport) echo base transport ;;
    collective) echo base model generate schedule transport collective ;;
    zoo) echo base zoo ;;
    discover) echo base model zoo discover ;;
    measure) echo base model generate schedule transport collective discover measure ;;
    draw) echo base model generate schedule draw ;;
    cli) echo base model generate schedule transport collective zoo discover measure draw cli ;;
  esac
}
for room in base model generate schedule transport collective zoo discover measure draw cli; do
  for file in $(find "core/$room" -name '*.cc' -o -name '*.h' -o -name '*.def'); do
    checked=$((checked + 1))
    for included in $(sed -n 's/^#include "\([a-z_]*\)\/.*/\1/p' "$file" | sort -u); do
      case " $(allowed $room) " in
        *" $included "*) ;;
        *) echo "FAIL: $file includes $included/, which $room may not"; failed=$((failed + 1)) ;;
      esac
    done
  done
done
for included in $(sed -n 's/^#include "\([a-z_]*\)\/.*/\1/p' gomp_shim/*.cc gomp_shim/*.h | sort -u); do
  case " base model generate schedule transport collective " in
    *" $included "*) ;;
    *) echo "FAIL: gomp_shim includes $included/: only the runtime half may be"; failed=$((failed + 1)) ;;
  esac
done
# The component sees Smelt through its installed headers and nothing else.
for included in $(sed -n 's/^#include "\([a-z_]*\)\/.*/\1/p' ompi_coll_smelt/*.c ompi_coll_smelt/*.h | sort -u); do
  case " ompi opal " in
    *" $included "*) ;;
    *) echo "FAIL: ompi_coll_smelt includes $included/: only Open MPI's headers and <smelt/...> may be"; failed=$((failed + 1)) ;;
  esac
done
# The runtime half neither ends the host program nor reads its environment behind options.cc's back.
for word in getenv abort exit printf fprintf puts; do
  for file in $(grep -lE "(^|[^_a-zA-Z:>.])$word\(" core/model/*.cc core/generate/*.cc core/schedule/*.cc core/transport/*.cc \
    core/collective/*.cc 2>/dev/null); do
    echo "FAIL: $file calls $word()"; failed=$((failed + 1))
  done
done
for file in $(grep -rlE '(secure_)?getenv\(' core gomp_shim --include='*.cc' --include='*.h' | grep -v '^core/base/' | grep -v '^core/cli/'); do
  echo "FAIL: $file reads the environment; options.h does that"; failed=$((failed + 1))
done
[ "$checked" -gt 30 ] || { echo "FAIL: only $checked files found: is $1 the source?"; failed=$((failed + 1)); }
echo "$checked files, $failed violations"
[ "$failed" -eq 0 ]
