#compdef smelt
# Completion of smelt's command line in zsh, which finds it under the name _smelt in a folder of fpath. The candidates
# are asked of smelt itself (smelt --complete), so that they cannot be out of date.
# Checked (tests/cli/completion_test.sh): by zsh itself.

_smelt() {
  local line word ret=1
  local -a candidates
  while IFS= read -r line; do
    case $line in
      :files) _files && ret=0 ;;
      :program\ *)
        shift $((${line#:program } + 1)) words
        (( CURRENT -= ${line#:program } + 1 ))
        _normal
        return ;;
      *)
        word=${line%%$'\t'*}
        line=${line#*$'\t'}
        candidates+=("${word//:/\\:}${line:+:}$line") ;;
    esac
  done < <($words[1] --complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)
  (( $#candidates )) && _describe smelt candidates && ret=0
  return ret
}

_smelt "$@"
