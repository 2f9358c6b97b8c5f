#!/bin/sh
# Who may include whom (tests/layering.txt), read off the #include lines; and getenv, abort, exit, printf only where
# they may be.
#   layering_test.sh SOURCE_ROOT
set -u
cd "$1" || exit 1
failed=0 checked=0
rooms=$(sed -n 's/^\([a-z/]*\):.*/\1/p' tests/layering.txt)
allowed() { sed -n "s|^\($1\): *\(.*\)|\1 \2|p" tests/layering.txt; }
room_of() { sed -n 's/^#include "\(profile\/text\|library\/[a-z_]*\|rails\/[a-z_]*\|pictures\/machines\|[a-z_]*\)\/.*/\1/p' "$@" | sort -u; }
# What is a house's, main may not have: neither may its row name such a room, nor a file include one or a header that only programmers use.
! grep -E '^[a-z_/]+:.* ((library|rails)/|pictures)' tests/layering.txt | grep -vE '^((library|rails|bench)/|pictures:)' || { echo "FAIL: main may not use a house's room"; failed=1; }
for header in $(find core gomp_shim kmp_shim ompi_coll_smelt ompi_pml_smelt -path core/library -prune -o -name '*.[ch]' -print -o -name '*.cc' -print |
    xargs sed -n 's/^# *include <\(smelt\/[^>]*\)>.*/\1/p' | sort -u); do
  checked=$((checked + 1))
  [ -e "core/include/$header" ] || { echo "FAIL: main includes <$header>, which is a house's"; failed=$((failed + 1)); }
done
for room in $rooms; do
  case $room in bench/*|rails/*|pictures*) folder=$room ;; *) folder=core/$room ;; esac
  for file in $(find "$folder" -maxdepth 2 -name '*.cc' -o -maxdepth 2 -name '*.[ch]' -o -maxdepth 2 -name '*.def'); do
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
# The shims may do what openmp may.
for shim in gomp_shim kmp_shim; do
  for included in $(sed -n 's/^#include "\([a-z_]*\)\/.*/\1/p' $shim/*.cc $shim/*.h | sort -u); do
    case "$shim: $(allowed openmp) " in
      *" $included "*) ;;
      *) echo "FAIL: $shim includes $included/: only openmp and what it may use may be"; failed=$((failed + 1)) ;;
    esac
  done
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
# Nor is there a circle among their files, where a file and its header are one. That tsort sees circles is tried, too.
for component in ompi_coll_smelt ompi_pml_smelt rails/nodes; do
  circle=$(for file in $component/*.c $component/*.h; do
      name=$(basename "${file%.*}")
      sed -n 's/^#include "\([a-z_0-9]*\)\.h".*/\1/p' "$file" | grep -vx "$name" | sed "s/^/$name /"
    done | tsort 2>&1 >/dev/null)
  [ -z "$circle" ] || { echo "FAIL: a circle of #include lines in $component:" $circle; failed=$((failed + 1)); }
done
[ -n "$(printf 'a b\nb c\nc a\n' | tsort 2>&1 >/dev/null)" ] || { echo "FAIL: control: a circle of three is none"; failed=$((failed + 1)); }
# The runtime half and the shims neither end the host program, nor print, nor read its environment behind options.h's back. Words in
# comments do not count; ::exit and std::exit are exit.
called() { sed 's|//.*||' "$2" | grep -Eq "(^|[^_a-zA-Z:>.])(std::|::)?$1 *\("; }
runtime_half=$(find core/transport core/model core/profile/*.* core/policy core/message core/generate core/schedule core/team core/group core/openmp $(sed -n 's|^\(library/[a-z]*\):.*|core/\1|p' tests/layering.txt) rails/rail rails/far rails/ofi rails/nodes gomp_shim kmp_shim ompi_coll_smelt ompi_pml_smelt -name '*.cc' -o -name '*.c' -o -name '*.h')
runtime_half="$runtime_half $(find core/base -name '*.cc' -o -name '*.h')"
checked=$((checked + $(echo $runtime_half | wc -w)))
for word in abort exit _exit _Exit quick_exit __builtin_trap __builtin_abort printf fprintf puts getenv secure_getenv; do
  for file in $(grep -lE "$word *\(" $runtime_half); do
    called $word "$file" || continue
    case $file in core/base/*) case $word in *getenv) continue ;; esac ;; esac  # the one place that reads it
    echo "FAIL: $file calls $word()"; failed=$((failed + 1))
  done
done
for file in $(grep -rlE '(secure_)?getenv\(' core --include='*.cc' --include='*.h' | grep -v '^core/base/' | grep -vE '^core/(cli|library/(tests|bench|examples))/'); do
  echo "FAIL: $file reads the environment; options.h does that"; failed=$((failed + 1))
done
# One type, one meaning: no two rooms have types of one name in their headers, but for the `name` lines of tests/layering.txt.
declared() {
  grep -rEo '^(template <.*> )?(struct|class|enum|enum class)( alignas\([^)]*\))? [A-Z][A-Za-z0-9]*( final)?( : [^;]*)? \{' --include='*.h' "$@" |
    grep -vE '^(core/library/(tests|bench|examples)|rails/(tests|bench)|(bench/lab|pictures)/tests)/' | sed -E \
    's,^(core/library/[a-z]+|core/profile/text|core/[a-z]+|rails/[a-z]+|bench/lab|[a-z_]+)/[^:]*:.*(struct|class|enum)( alignas\(.*\))? ([A-Z][A-Za-z0-9]*).*,\4 \1,' | sort -u
}
types=$(declared core gomp_shim kmp_shim pictures rails bench/lab)
[ "$(echo "$types" | wc -l)" -gt 300 ] || { echo "FAIL: control: the headers declare types"; failed=$((failed + 1)); }
twice=$(echo "$types" | cut -d' ' -f1 | uniq -d)
named=$(sed -n 's/^name \([A-Za-z]*\) .*/\1/p' tests/layering.txt)
for name in $twice $named; do
  case " $(echo $twice) / $(echo $named) " in *" $name "*/*" $name "*) continue ;; esac
  echo "FAIL: a type $name:" $(echo "$types" | sed -n "s/^$name //p") "(tests/layering.txt names: ${named:+$(echo $named)})"; failed=$((failed + 1))
done
# The walls. Main is all rooms of core and what is preloaded or loaded; houses, tests and benchmarks have walls of their own.
lines_of() {
  find "$@" -type f \( -name '*.cc' -o -name '*.h' -o -name '*.hpp' -o -name '*.c' -o -name '*.def' -o -name '*.S' -o -name '*.map' \
    -o -name '*.py' -o -name '*.html' -o -name '*.css' -o -name '*.js' -o -name '*.sh' -o -name '*.in' -o -name meson.build \) -exec cat {} + | wc -l
}
budget_of() { sed -n "s|^budget $1 \([0-9]*\)$|\1|p" tests/layering.txt; }
main=$(for room in core/*/; do room=${room%/}; [ "$room" = core/library ] || echo "$room"; done; echo gomp_shim kmp_shim ompi_coll_smelt ompi_pml_smelt)
all=0
for room in $main core/library rails bench epcc pictures tests; do
  lines=$(lines_of "$room") budget=$(budget_of "$room")
  case " $(echo $main) " in *" $room "*) all=$((all + lines)) ;; esac
  [ -n "$budget" ] || { echo "FAIL: tests/layering.txt has no budget for $room"; failed=$((failed + 1)); continue; }
  [ "$lines" -le "$budget" ] || { echo "FAIL: $room has $lines lines, $budget are its budget: take something out, or say what they are for"; failed=$((failed + 1)); }
done
[ "$all" -le "$(budget_of main)" ] || { echo "FAIL: main has $all lines, $(budget_of main) are its budget"; failed=$((failed + 1)); }
[ "$checked" -gt 30 ] || { echo "FAIL: only $checked files found: is $1 the source?"; failed=$((failed + 1)); }
echo "$checked files, $failed violations"
[ "$failed" -eq 0 ]
