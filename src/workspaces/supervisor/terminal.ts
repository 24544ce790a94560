import { accessSync, chmodSync, constants, existsSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { readPlain, writePlain } from './plain-files.ts'
import { readJson, writeJsonAtomic, writeTextAtomic } from './spool.ts'

type TerminalState = { cwd: string; environment: Record<string, string> }
type InvocationOptions = { scriptFile: string; stateFile?: string; tag: number }
export type Invocation = { file: string; parameters: string[]; cwd: string; environment: Record<string, string> }

/** Names the shell sets itself, and those that would change how the next command is run rather than what it does. */
const NOT_KEPT =
  /^(_|PWD|OLDPWD|SHLVL|BASH_ENV|ENV|BASHOPTS|SHELLOPTS|PROMPT_COMMAND|PS4|BASH_FUNC_.*|BASH_XTRACEFD|LD_PRELOAD|LD_AUDIT|HOLDFAST_.*)$/
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/
/** The system takes 128 KB for one and some two megabytes for all, parameters included. */
const MAX_VALUE = 32 * 1024
/** Of a command; a longer one is run from a file. */
const MAX_PARAMETER = 96 * 1024
const MAX_ENVIRONMENT = 256 * 1024

// Built-ins only, so that leaving costs no process. Read by bash before the command, unless its input is a socket.
const BASH_SCRIPT = `holdfast_leave() {
  set +eu
  local name
  { compgen -e >| "$1.names" && { printf '%s\\0' "$PWD"; while IFS= read -r name; do printf '%s=%s\\0' "$name" "\${!name}"; done < "$1.names"; } >| "$1"; } 2>/dev/null
}
ulimit -q "$HOLDFAST_TAG" 2>/dev/null
if [[ $HOLDFAST_STATE ]]; then
  printf -v HOLDFAST_STATE %q "$HOLDFAST_STATE"
  trap "holdfast_leave $HOLDFAST_STATE" EXIT
fi
unset BASH_ENV HOLDFAST_SCRIPT HOLDFAST_STATE HOLDFAST_TAG
`
const SH_SCRIPT = `holdfast_state=$HOLDFAST_STATE; unset HOLDFAST_STATE
[ -z "$holdfast_state" ] || trap '{ printf "%s\\0" "$PWD"; env -0; } > "$holdfast_state" 2>/dev/null' EXIT
eval "$1"`

/** Where foreground commands are and what they exported, as the last one to end left it. */
export function newTerminal(spool: string, first: TerminalState, bash = findBash()) {
  const file = join(spool, 'terminal.json')
  const script = join(spool, 'terminal.bash')
  let state: TerminalState = cleaned(readJson<TerminalState>(file)) ?? first

  function cleaned(value: TerminalState | undefined): TerminalState | undefined {
    if (typeof value?.cwd !== 'string' || typeof value.environment !== 'object') return undefined
    return { cwd: value.cwd, environment: kept(Object.entries(value.environment)) }
  }

  function kept(entries: [string, string][]): Record<string, string> {
    const environment: Record<string, string> = {}
    let size = 0
    for (const [name, value] of entries) {
      if (typeof value !== 'string' || !NAME.test(name) || NOT_KEPT.test(name)) continue
      size += name.length + value.length
      if (value.length <= MAX_VALUE && size <= MAX_ENVIRONMENT) environment[name] = value
    }
    // Without these nothing would be found any more.
    for (const name of ['PATH', 'HOME']) if (!environment[name]) environment[name] = first.environment[name] ?? ''
    return environment
  }

  return {
    /** How to run a command where the terminal is now; a foreground one leaves its state in `stateFile`. */
    invocation(command: string, { scriptFile, stateFile = '', tag }: InvocationOptions): Invocation {
      const cwd = placeToBe(state.cwd, first.cwd)
      const environment = { ...state.environment, PWD: cwd, HOLDFAST_STATE: stateFile }
      const isLong = Buffer.byteLength(command) > MAX_PARAMETER
      if (isLong) writePlain(scriptFile, command)
      if (!bash) {
        const parameters = ['-c', SH_SCRIPT, 'sh', isLong ? '. "$HOLDFAST_SCRIPT"' : command]
        return { file: '/bin/sh', parameters, cwd, environment: { ...environment, HOLDFAST_SCRIPT: scriptFile } }
      }
      // Not written anew for each: another command that has just begun may be reading it.
      if (textOf(script) !== BASH_SCRIPT) writeTextAtomic(script, BASH_SCRIPT)
      // Bash expands the value: a path with a `$` in it must be the outcome of that, not its subject.
      const setUp = { BASH_ENV: '$HOLDFAST_SCRIPT', HOLDFAST_SCRIPT: script, HOLDFAST_TAG: String(tag) }
      return {
        file: bash,
        parameters: isLong ? [scriptFile] : ['-c', command],
        cwd,
        environment: { ...environment, ...setUp },
      }
    },
    /** Takes over what a foreground command left; nothing changes where it left nothing that makes sense. */
    adopt(stateFile: string): void {
      const left = readLeft(stateFile)
      for (const used of [stateFile, `${stateFile}.names`]) rmSync(used, { force: true })
      if (!left) return
      const [cwd, ...pairs] = left
      if (!cwd?.startsWith('/')) return
      const entries = pairs.map((pair): [string, string] => {
        const cut = pair.indexOf('=')
        return [pair.slice(0, cut), pair.slice(cut + 1)]
      })
      state = { cwd, environment: kept(entries) }
      writeJsonAtomic(file, state)
    },
    state: () => state,
  }
}

/** Undefined where there is none: then it is what every system has. */
const findBash = (): string | undefined =>
  ['/bin/bash', '/usr/bin/bash', '/usr/local/bin/bash'].find((path) => existsSync(path))

export type Terminal = ReturnType<typeof newTerminal>

/** The nearest folder that is still there, within where the terminal began. */
function placeToBe(wanted: string, first: string): string {
  for (let folder = wanted; folder !== '/' && folder !== '.'; folder = dirname(folder)) {
    if (isEnterable(folder)) return folder
    if (folder === first) break
  }
  // Locked by a command, which only its owner can undo; nothing could be started any more.
  if (!isEnterable(first)) chmodSync(first, 0o700)
  return first
}

function isEnterable(folder: string): boolean {
  try {
    accessSync(folder, constants.X_OK)
    return statSync(folder).isDirectory()
  } catch {
    return false
  }
}

function textOf(file: string): string | undefined {
  try {
    return readPlain(file)
  } catch {
    return undefined
  }
}

function readLeft(file: string): string[] | undefined {
  try {
    if (statSync(file).size > 4 * 1024 * 1024) return undefined
    const text = readPlain(file)
    return text.endsWith('\0') ? text.slice(0, -1).split('\0') : undefined
  } catch {
    return undefined
  }
}
