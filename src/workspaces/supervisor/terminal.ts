import { accessSync, chmodSync, constants, existsSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { ProgramRequest } from '../../ports/workspaces.ts'
import { readPlain, writePlain } from './plain-files.ts'
import { readJson, writeJsonAtomic, writeTextAtomic } from './spool.ts'

type TerminalState = { cwd: string; environment: Record<string, string> }
type InvocationOptions = { scriptFile: string; stateFile?: string; tag: number }
export type Invocation = { file: string; parameters: string[]; cwd: string; environment: Record<string, string> }

/** Variables the shell sets itself, and those that would change how the next command is started. */
const DROPPED_VARIABLES =
  /^(_|PWD|OLDPWD|SHLVL|BASH_ENV|ENV|BASHOPTS|SHELLOPTS|PROMPT_COMMAND|PS4|BASH_FUNC_.*|BASH_XTRACEFD|LD_PRELOAD|LD_AUDIT|HOLDFAST_.*)$/
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/
/** Linux allows 128 KB for one variable and about 2 MB for all, arguments included. */
const MAX_VALUE = 32 * 1024
/** Of a command line; a longer one is run from a file. */
const MAX_PARAMETER = 96 * 1024
const MAX_ENVIRONMENT = 256 * 1024

// Builtins only, so that saving the state starts no process. Bash reads it before the command, unless its input is a
// socket.
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

const PROGRAM_SCRIPT = 'ulimit -q "$0" 2>/dev/null; exec "$@"'

/** Working directory and exported variables of foreground commands, as left by the last one to end. */
export function newTerminal(spool: string, first: TerminalState, bash = findBash()) {
  const file = join(spool, 'terminal.json')
  const script = join(spool, 'terminal.bash')
  let state: TerminalState = sanitizeState(readJson<TerminalState>(file)) ?? first

  function sanitizeState(value: TerminalState | undefined): TerminalState | undefined {
    if (typeof value?.cwd !== 'string' || typeof value.environment !== 'object') return undefined
    return { cwd: value.cwd, environment: sanitizeEnvironment(Object.entries(value.environment)) }
  }

  function sanitizeEnvironment(entries: [string, string][]): Record<string, string> {
    const environment: Record<string, string> = {}
    let size = 0
    for (const [name, value] of entries) {
      if (typeof value !== 'string' || !NAME.test(name) || DROPPED_VARIABLES.test(name)) continue
      size += name.length + value.length
      if (value.length <= MAX_VALUE && size <= MAX_ENVIRONMENT) environment[name] = value
    }
    // Without these no program would be found.
    for (const name of ['PATH', 'HOME']) if (!environment[name]) environment[name] = first.environment[name] ?? ''
    return environment
  }

  return {
    /** How to run a command in the current state; a foreground command writes its final state to `stateFile`. */
    invocation(command: string, { scriptFile, stateFile = '', tag }: InvocationOptions): Invocation {
      const cwd = nearestFolder(state.cwd, first.cwd)
      const environment = { ...state.environment, PWD: cwd, HOLDFAST_STATE: stateFile }
      const isLong = Buffer.byteLength(command) > MAX_PARAMETER
      if (isLong) writePlain(scriptFile, command)
      if (!bash) {
        const parameters = ['-c', SH_SCRIPT, 'sh', isLong ? '. "$HOLDFAST_SCRIPT"' : command]
        return { file: '/bin/sh', parameters, cwd, environment: { ...environment, HOLDFAST_SCRIPT: scriptFile } }
      }
      // Not rewritten for each command: another one that has just started may be reading it.
      if (readTextIfPresent(script) !== BASH_SCRIPT) writeTextAtomic(script, BASH_SCRIPT)
      // Bash expands the value of BASH_ENV: a path that contains `$` must not be expanded itself.
      const setUp = { BASH_ENV: '$HOLDFAST_SCRIPT', HOLDFAST_SCRIPT: script, HOLDFAST_TAG: String(tag) }
      return {
        file: bash,
        parameters: isLong ? [scriptFile] : ['-c', command],
        cwd,
        environment: { ...environment, ...setUp },
      }
    },
    /** How to run a program: in the first folder and environment, of which no command changes anything. */
    programInvocation(
      { file: program, parameters }: Pick<ProgramRequest, 'file' | 'parameters'>,
      { tag, resultFile }: { tag: number; resultFile: string },
    ): Invocation {
      const cwd = nearestFolder(first.cwd, first.cwd)
      const environment = { ...first.environment, PWD: cwd, HOLDFAST_RESULT: resultFile }
      if (!bash) return { file: program, parameters, cwd, environment }
      return { file: bash, parameters: ['-c', PROGRAM_SCRIPT, String(tag), program, ...parameters], cwd, environment }
    },
    /** Adopts the state a foreground command left; invalid state is ignored. */
    adopt(stateFile: string): void {
      const stateFields = readStateFile(stateFile)
      for (const used of [stateFile, `${stateFile}.names`]) rmSync(used, { force: true })
      if (!stateFields) return
      const [cwd, ...pairs] = stateFields
      if (!cwd?.startsWith('/')) return
      const entries = pairs.map((pair): [string, string] => {
        const cut = pair.indexOf('=')
        return [pair.slice(0, cut), pair.slice(cut + 1)]
      })
      state = { cwd, environment: sanitizeEnvironment(entries) }
      writeJsonAtomic(file, state)
    },
    state: () => state,
  }
}

/** Undefined if bash is not installed; /bin/sh is used then. */
const findBash = (): string | undefined =>
  ['/bin/bash', '/usr/bin/bash', '/usr/local/bin/bash'].find((path) => existsSync(path))

export type Terminal = ReturnType<typeof newTerminal>

/** The nearest ancestor that still exists, within the terminal's first folder. */
function nearestFolder(wanted: string, first: string): string {
  for (let folder = wanted; folder !== '/' && folder !== '.'; folder = dirname(folder)) {
    if (isEnterable(folder)) return folder
    if (folder === first) break
  }
  // A command removed its own permission to the folder; without it no command could start.
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

function readTextIfPresent(file: string): string | undefined {
  try {
    return readPlain(file, 2 * BASH_SCRIPT.length)
  } catch {
    return undefined
  }
}

function readStateFile(file: string): string[] | undefined {
  try {
    const text = readPlain(file, 4 * 1024 * 1024)
    return text.endsWith('\0') ? text.slice(0, -1).split('\0') : undefined
  } catch {
    return undefined
  }
}
