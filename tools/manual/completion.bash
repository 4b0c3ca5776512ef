# bash completion of @program@; written by headlight-manual
_headlight_words() {
  COMPREPLY=($(compgen -W "$1" -- "$current"))
}
_headlight_words_or_files() {
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current"; compgen -f -- "$current")
  compopt -o filenames
}
_headlight_list() {
  local before=''
  if [[ $current == *,* ]]; then before=${current%,*},; fi
  COMPREPLY=($(compgen -P "$before" -W "$1" -- "${current##*,}"))
  compopt -o nospace
}
@function@() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
  local command=@program@ words='' i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "$command ${COMP_WORDS[i]}" in
@commands@    esac
  done
  case "$command $previous" in
@values@  esac
  case "$command" in
@words@  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [[ $current != -* ]]; then compopt -o default; fi
}
complete -F @function@ @program@
