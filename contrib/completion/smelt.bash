# Completion of smelt's command line in bash. What there is to complete is asked of smelt itself, so that it cannot be
# out of date. Sourced by bash-completion, from its folder completions/ under the name smelt; or by hand.
# Checked (tests/packages/contrib_test.sh): asked for words.
# shellcheck shell=bash disable=SC2207

# _smelt_help PROGRAM SCRIPT [COMMAND...]: what sed's SCRIPT finds in the help of a command.
_smelt_help() {
  local script=$2
  "$1" "${@:3}" --help 2>/dev/null | sed -n "$script"
}

_smelt() {
  local smelt=$1 current=$2 before=$3
  local commands='/^subcommands:/I,/^$/ s/^  \([a-z][a-z-]*\) .*/\1/p'
  local options='s/^  \(-[a-zA-Z],\)\{0,1\} *\(--[a-z][a-z-]*\).*/\2/p'
  local verb='' below='' i
  [ "$COMP_CWORD" -gt 1 ] && verb=${COMP_WORDS[1]}
  case ${COMP_WORDS[2]-} in [a-z]*) [ "$COMP_CWORD" -gt 2 ] && below=${COMP_WORDS[2]} ;; esac

  # From the program's name on it is another program's command line.
  if [ "$verb" = run ] || [ "$verb" = try ]; then
    for ((i = 2; i < COMP_CWORD; ++i)); do
      case ${COMP_WORDS[i]} in
        --library | --pairs | --seconds) ((++i)) ;;
        --) below=program; ((++i)); break ;;
        -*) ;;
        *) below=program; break ;;
      esac
    done
    if [ "$below" = program ]; then
      if declare -F _comp_command_offset >/dev/null; then _comp_command_offset "$i"
      elif declare -F _command_offset >/dev/null; then _command_offset "$i"
      elif [ "$i" -eq "$COMP_CWORD" ]; then COMPREPLY=($(compgen -c -- "$current"))
      else COMPREPLY=($(compgen -f -- "$current")); fi
      return
    fi
  fi

  local words=''
  case $before in
    --pattern) words=$("$smelt" tree --list 2>/dev/null | sed -n 's/^  *\([a-z][a-z-]*\).*/\1/p') ;;
    --op) words='broadcast reduce barrier' ;;
    --cost-model) words='overlap paper' ;;
    --format) words='text dot json' ;;
    -o | --output | --library | --network | --plot | --folder) COMPREPLY=($(compgen -f -- "$current")); return ;;
    *)
      case $current in
        -*) words=$(_smelt_help "$smelt" "$options" $verb $below) ;;
        *)
          if [ "$verb $COMP_CWORD" = 'draw 2' ]; then words='matrix tree schedule timeline'
          elif [ -z "$below" ]; then words=$(_smelt_help "$smelt" "$commands" $verb); fi ;;
      esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  # What takes no command of its own takes files.
  if [ ${#COMPREPLY[@]} -eq 0 ] && [ -n "$verb" ]; then COMPREPLY=($(compgen -f -- "$current")); fi
}
complete -o filenames -F _smelt smelt
