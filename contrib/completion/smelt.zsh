#compdef smelt
# Completion of smelt's command line in zsh. What there is to complete is asked of smelt itself, so that it cannot be out of date.
# zsh finds it under the name _smelt in a folder of $fpath, as /usr/share/zsh/site-functions.
# Checked (tests/packages/contrib_test.sh): asked for words.

_smelt() {
  setopt localoptions extendedglob
  local smelt=${(Q)words[1]} before=${words[CURRENT-1]} current=${words[CURRENT]} verb= line inside=0
  local -a verbs found
  (( CURRENT > 2 )) && verb=$words[2]
  [[ -n $verb ]] && verbs=($verb)
  [[ $CURRENT -gt 3 && $words[3] == [a-z]* && $verb == profile ]] && verbs+=($words[3])

  # From the program's name on it is another program's command line.
  if [[ $verb == run || $verb == try ]]; then
    local -i i
    for ((i = 3; i <= CURRENT; ++i)); do
      case $words[i] in
        (--library|--pairs|--seconds) ((++i)); continue ;;
        (--) ((++i)) ;;
        (-*) continue ;;
      esac
      (( i > CURRENT )) && break
      shift $((i - 1)) words
      (( CURRENT -= i - 1 ))
      _normal
      return
    done
  fi

  case $before in
    (--pattern) found=(${(f)"$($smelt tree --list 2>/dev/null | sed -n 's/^  *\([a-z][a-z-]*\).*/\1/p')"}) ;;
    (--op) found=(broadcast reduce barrier) ;;
    (--cost-model) found=(overlap paper) ;;
    (--format) found=(text dot json) ;;
    (-o|--output|--library|--network|--plot|--folder) _files; return ;;
  esac
  if (( $#found )); then
    compadd -a found
  elif [[ $current == -* ]]; then
    found=(${(f)"$($smelt $verbs --help 2>/dev/null | sed -n 's/^  \(-[a-zA-Z],\)\{0,1\} *\(--[a-z][a-z-]*\).*/\2/p')"})
    compadd -a found
  elif [[ $verb == draw && $CURRENT -eq 3 ]]; then
    compadd matrix tree schedule timeline
  else
    if (( $#verbs < 2 )); then
      $smelt $verbs --help 2>/dev/null | while IFS= read -r line; do
        case ${(L)line} in
          (subcommands:*) inside=1 ;;
          ('') inside=0 ;;
          (*) (( inside )) && [[ $line == (#b)[[:space:]]##([a-z-]##)[[:space:]]##(*) ]] && found+=("$match[1]:$match[2]") ;;
        esac
      done
    fi
    if (( $#found )); then _describe command found; else _files; fi
  fi
}

_smelt "$@"
