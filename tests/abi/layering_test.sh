#!/bin/sh
# Who may include whom (the arrows of the house), read off the #include lines; and getenv, abort, exit, printf only where
# they may be.
#   layering_test.sh SOURCE_ROOT
set -u
cd "$1" || exit 1
failed=0 checked=0
# Rooms in this order; a room below another does not know it.
runtime='base transport model rail profile policy queue message thread generate schedule team context group openmp agree'
offline='profile/text zoo discover measure network draw report cli'
allowed() {
  case $1 in
    base) echo base ;;
    transport) echo base transport ;;
    model) echo base model ;;
    rail) echo base model rail ;;
    profile) echo base model profile ;;
    policy) echo base transport model profile policy ;;
    queue) echo base transport model profile policy queue ;;
    message) echo base transport model profile policy message ;;
    thread) echo base transport model profile policy message thread ;;
    generate) echo base model profile policy generate ;;
    schedule) echo base model profile policy generate schedule ;;
    team) echo base transport model profile policy generate schedule team ;;
    context) echo base transport model profile policy queue generate schedule team context ;;
    agree) echo base transport model profile policy queue generate schedule agree ;;
    group) echo base transport model profile policy generate schedule group ;;
    openmp) echo base transport model profile policy generate schedule team openmp ;;
    agree) echo base transport model profile policy queue generate schedule agree ;;
    profile/text) echo base model rail profile profile/text ;;
    zoo) echo base zoo ;;
    discover) echo base model profile profile/text zoo discover ;;
    measure) echo base transport model profile profile/text policy generate schedule team discover measure ;;
    network) echo base model rail profile profile/text network ;;
    draw) echo base model generate schedule draw ;;
    report) echo base draw report ;;
    cli) echo $runtime $offline ;;
  esac
}
room_of() { sed -n 's/^#include "\([a-z_]*\(\/text\)\{0,1\}\)\/.*/\1/p' "$@" | sort -u; }
for room in $runtime $offline; do
  for file in $(find "core/$room" -maxdepth 2 -name '*.cc' -o -maxdepth 2 -name '*.h' -o -maxdepth 2 -name '*.def'); do
    case $room:$file in profile:core/profile/text/*) continue ;; esac
    checked=$((checked + 1))
    for included in $(room_of "$file"); do
      case $included in arch|os) included=base ;; esac
      case " $(allowed $room) " in
        *" $included "*) ;;
        *) echo "FAIL: $file includes $included/, which $room may not"; failed=$((failed + 1)) ;;
      esac
    done
    # What a shim gives to this room is found by the linker; its folder is on the compiler's way all the same.
    for included in $([ "$room" = openmp ] && sed -n 's/^#include "\([^/]*\)".*/\1/p' "$file"); do
      [ "$included" = smelt_config.h ] || { echo "FAIL: $file includes $included, which is a shim's"; failed=$((failed + 1)); }
    done
  done
done
# The shims may do what openmp may; libgomp's, which has user-level threads, how to switch to them.
for shim in gomp_shim kmp_shim; do
  for included in $(sed -n 's/^#include "\([a-z_]*\)\/.*/\1/p' $shim/*.cc $shim/*.h | sort -u); do
    case "$shim: $(allowed openmp) " in
      *" $included "*) ;;
      gomp_shim:*) [ "$included" = thread ] || { echo "FAIL: $shim includes $included/"; failed=$((failed + 1)); } ;;
      *) echo "FAIL: $shim includes $included/: only openmp and what it may use may be"; failed=$((failed + 1)) ;;
    esac
  done
done
for included in $(sed -n 's/^#include "\([a-z_]*\)\/.*/\1/p' rail_ofi/*.cc rail_ofi/*.h | sort -u); do
  checked=$((checked + 1))
  case " rail_ofi base rail profile " in
    *" $included "*) ;;
    *) echo "FAIL: rail_ofi includes $included/, which it may not"; failed=$((failed + 1)) ;;
  esac
done
# The components see Smelt through its installed headers and nothing else.
for component in ompi_coll_smelt ompi_pml_smelt; do
  for included in $(sed -n 's/^#include "\([a-z_]*\)\/.*/\1/p' $component/*.c $component/*.h | sort -u); do
    case " ompi opal " in
      *" $included "*) ;;
      *) echo "FAIL: $component includes $included/: only Open MPI's headers and <smelt/...> may be"; failed=$((failed + 1)) ;;
    esac
  done
done
# The runtime half and the shims neither end the host program, nor print, nor read its environment behind options.h's back. Words in
# comments do not count; ::exit and std::exit are exit.
called() { sed 's|//.*||' "$2" | grep -Eq "(^|[^_a-zA-Z:>.])(std::|::)?$1 *\("; }
runtime_half=$(find core/transport core/model core/rail core/profile/*.* core/policy core/queue core/message core/thread core/generate core/schedule core/team core/context core/group core/openmp core/agree rail_ofi gomp_shim kmp_shim ompi_coll_smelt ompi_pml_smelt -name '*.cc' -o -name '*.c' -o -name '*.h')
runtime_half="$runtime_half $(find core/base -name '*.cc' -o -name '*.h')"
checked=$((checked + $(echo $runtime_half | wc -w)))
for word in abort exit _exit _Exit quick_exit __builtin_trap __builtin_abort printf fprintf puts getenv secure_getenv; do
  for file in $(grep -lE "$word *\(" $runtime_half); do
    called $word "$file" || continue
    case $file in core/base/*) case $word in *getenv) continue ;; esac ;; esac  # the one place that reads it
    echo "FAIL: $file calls $word()"; failed=$((failed + 1))
  done
done
for file in $(grep -rlE '(secure_)?getenv\(' core --include='*.cc' --include='*.h' | grep -v '^core/base/' | grep -v '^core/cli/'); do
  echo "FAIL: $file reads the environment; options.h does that"; failed=$((failed + 1))
done
[ "$checked" -gt 30 ] || { echo "FAIL: only $checked files found: is $1 the source?"; failed=$((failed + 1)); }
echo "$checked files, $failed violations"
[ "$failed" -eq 0 ]
