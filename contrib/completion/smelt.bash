# Completion of smelt's command line in bash. The candidates are asked of smelt itself (smelt --complete), so that they
# cannot be out of date. bash-completion sources this file from its folder completions/ under the name smelt; it can be
# sourced by hand, too.
# Checked (tests/cli/completion_test.sh): by bash itself.
# shellcheck shell=bash disable=SC2207

_smelt() {
  local smelt=$1 current='' words=() glued='' i word line
  # bash takes "zoo:x" and "--op=x" apart, and we put them together again; what bash itself has split off stays in front.
  for ((i = 1; i <= COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    if [ ${#words[@]} -gt 0 ] && { [[ $word == [:=] ]] || [[ ${COMP_WORDS[i - 1]} == [:=] ]]; }; then
      words[${#words[@]} - 1]+=$word
    else
      words+=("$word")
    fi
  done
  current=${words[${#words[@]} - 1]}
  [[ $current == *[:=]* ]] && glued=${current%"${current##*[:=]}"}
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :files) COMPREPLY+=($(compgen -f -- "${current#"$glued"}")) ;;
      :program*)
        i=$((${line#:program } + 1))
        if declare -F _comp_command_offset >/dev/null; then _comp_command_offset "$i"
        elif declare -F _command_offset >/dev/null; then _command_offset "$i"
        elif [ "$i" -eq "$COMP_CWORD" ]; then COMPREPLY=($(compgen -c -- "$current"))
        else COMPREPLY=($(compgen -f -- "$current")); fi ;;
      *)
        word=${line%%$'\t'*}
        COMPREPLY+=("${word#"$glued"}") ;;
    esac
  done < <("$smelt" --complete "${words[@]}" 2>/dev/null)
}
complete -o filenames -F _smelt smelt
