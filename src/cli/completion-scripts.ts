export type Shell = 'bash' | 'zsh' | 'fish'

/** Each asks the program itself, so that a script stays right after an upgrade and knows the agents of the home. */
export const COMPLETION_SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `# holdfast completion for bash: holdfast completion bash >> ~/.bashrc
_holdfast() {
  local word
  COMPREPLY=()
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(holdfast __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _holdfast holdfast
`,
  zsh: `#compdef holdfast
# holdfast completion for zsh: holdfast completion zsh > a folder of $fpath, as _holdfast
_holdfast() {
  local -a found
  found=("\${(@f)$(holdfast __complete -- "\${words[@]:1:$((CURRENT-1))}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then compadd -- "\${found[@]}"; else _files; fi
}
if [[ "$funcstack[1]" = "_holdfast" ]]; then _holdfast "$@"; else compdef _holdfast holdfast; fi
`,
  fish: `# holdfast completion for fish: holdfast completion fish > ~/.config/fish/completions/holdfast.fish
function __holdfast_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l found (holdfast __complete -- $words[2..-1] 2>/dev/null)
  if test (count $found) -gt 0; printf '%s\\n' $found; else; __fish_complete_path (commandline -ct); end
end
complete -c holdfast -f -a '(__holdfast_complete)'
`,
}
