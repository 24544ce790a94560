import { KEY_WORDS, readKeyState } from './key-ring.ts'
import { describeIssue, readScript } from './read-script.ts'
import type { RequestRecord } from './recorder.ts'
import { startSimulator } from './start-simulator.ts'

type ServeScriptOptions = {
  port: number
  /** The text of a script file. */
  source?: string
  /** By key: `valid`, `revoked`, `expired`, `out-of-credit`, `limited` or `limited:SECONDS`. */
  keys: Record<string, string>
  onEnded(request: RequestRecord): void
}

/** The running simulator, or the reasons why it cannot start, each in a sentence. */
type ServeScriptResult =
  | { type: 'serving'; url: string; rules: number; close(): Promise<void> }
  | { type: 'refused'; because: 'script' | 'keys' | 'port'; reasons: string[] }

export async function serveScript({ port, source, keys, onEnded }: ServeScriptOptions): Promise<ServeScriptResult> {
  const read = source === undefined ? { type: 'read' as const, script: [] } : readScript(source)
  if (read.type === 'refused')
    return { type: 'refused', because: 'script', reasons: read.complaints.map(describeIssue) }
  const states = Object.entries(keys).map(([key, state]) => ({ key, state, meant: readKeyState(state, Date.now()) }))
  const unknown = states.filter(({ meant }) => meant === undefined)
  if (unknown.length > 0)
    return { type: 'refused', because: 'keys', reasons: unknown.map(({ state }) => wrongState(state)) }
  try {
    const known = Object.fromEntries(states.map(({ key, meant }) => [key, meant!]))
    const { url, close } = await startSimulator({ port, script: read.script, keys: known, onEnded })
    return { type: 'serving', url, rules: read.script.length, close }
  } catch (fault) {
    const reason = portFault(fault, port)
    if (reason === undefined) throw fault
    return { type: 'refused', because: 'port', reasons: [reason] }
  }
}

// The key itself is not repeated: it may be a real one.
const wrongState = (state: string): string => `--key: the state must be ${KEY_WORDS}, not "${state}"`

/** Why this port cannot be listened on, in a sentence; undefined for any other fault. */
export function portFault(fault: unknown, port: number): string | undefined {
  const reason = PORT_FAULTS[(fault as NodeJS.ErrnoException).code ?? '']
  return reason && `Port ${port} ${reason}. Choose another with --port.`
}

const PORT_FAULTS: Record<string, string> = {
  EADDRINUSE: 'is already in use',
  EACCES: 'is not permitted for this user',
}
