#!/bin/bash
# The completion of the command line, typed into bash, zsh and fish themselves; a shell that is not here is left out.
#
#   completion_test.sh SMELT SOURCE_ROOT
smelt=$(realpath "$1") scripts=$2/contrib/completion
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin" "$scratch/files"
ln -s "$smelt" "$scratch/bin/smelt"
touch "$scratch/files/node7.json"
ln -s "$scripts/smelt.zsh" "$scratch/_smelt"  # the name that zsh looks for
cd "$scratch/files" || exit 1
export PATH=$scratch/bin:$PATH HOME=$scratch XDG_CACHE_HOME=$scratch
failed=0

# COMMAND LINE and what it must become or offer, the last word being completed; "-": nothing at all.
cases=(
  'smelt calib|calibrate'
  'smelt profile |verify'
  'smelt profile import --rep|--replace'
  'smelt profile import no|node7.json'
  'smelt tree --pattern hy|hybrid'
  'smelt tree --op |reduce'
  'smelt tree --machine zoo:amd-epyc-9754|amd-epyc-9754-2x128x2'
  'smelt draw |timeline'
  'smelt run --dr|--dry-run'
  'smelt run -- ls no|node7.json'
  'smelt try --pairs 3 ls no|node7.json'
  'smelt zz|-'
)

in_bash() {
  bash --norc -c '
    . "$1/smelt.bash"
    line=$2
    words=()  # as readline takes them apart
    while read -r word; do words+=("$word"); done < <(sed "s/\([:=]\)/ \1 /g; s/  */\n/g" <<<"$line")
    COMP_WORDS=("${words[@]}") COMP_CWORD=$((${#words[@]} - 1)) COMPREPLY=()
    _smelt smelt "${words[-1]}" "${words[-2]}"
    printf "%s\n" "${COMPREPLY[@]}"' bash "$scripts" "$1"
}

in_fish() { fish --no-config -c "source '$scripts/smelt.fish'; complete -C '$1'" | cut -f1; }

# Typed at a prompt: what comes out behind it.
in_zsh() {
  zsh -f -c '
    zmodload zsh/zpty
    zpty shell zsh -f -i
    zpty -w shell "PS1=\"> \" fpath=('"$scratch"' \$fpath); autoload -Uz compinit; compinit -D -u; print READY-"
    said= part=
    while zpty -r shell part; do said+=$part; [[ $said == *$'"'\\n'"'READY-* ]] && break; done
    zpty -w -n shell "$1"$'"'\\t'"'
    said=
    for i in {1..100}; do
      sleep 0.1
      while zpty -r -t shell part; do said+=$part; done
      [[ $said == *$2* ]] && break
      [[ $2 == - && $i -gt 10 ]] && break
    done
    print -r -- $said' zsh "$1" "$2" | sed 's/\x1b\[[0-9;?]*[a-zA-Z]//g; s/.\x08//g'
}

for shell in bash zsh fish; do
  if ! command -v $shell >/dev/null; then
    echo "$shell: not here"
    continue
  fi
  for one in "${cases[@]}"; do
    line=${one%|*} expected=${one#*|}
    offered=$(in_$shell "$line" "$expected")
    case $expected in
      -) [ $shell = zsh ] || [ -z "$offered" ] ;;
      *) grep -q -F -e "$expected" <<<"$offered" ;;
    esac || { echo "FAIL: $shell: '$line' gives '$offered', not '$expected'"; failed=$((failed + 1)); }
  done
  echo "$shell: ${#cases[@]} lines"
done

# The test can fail.
grep -q -F frobnicate <<<"$(in_bash 'smelt calib')" && { echo "FAIL: control"; failed=$((failed + 1)); }
[ $failed -eq 0 ]
