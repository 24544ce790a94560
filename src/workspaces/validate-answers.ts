import type { Json } from '../core/json.ts'
import {
  type ListeningPort,
  type ProcessOutput,
  type ProcessState,
  WorkspaceError,
  type WorkspaceState,
} from '../ports/workspaces.ts'

/** Answers from a sandbox are untrusted: a command may have taken over the supervisor. */
export function parseProcess(answer: Json): ProcessState {
  const state = answer as unknown as ProcessState
  const { processId, key, command, runId, background, startedAt, outputBytes, ending, endedAt } = requireObject(state)
  const texts = [processId, key, command, runId].every((value) => typeof value === 'string')
  const numbers = [startedAt, outputBytes].every(Number.isFinite) && (endedAt === undefined || Number.isFinite(endedAt))
  if (!texts || !numbers || typeof background !== 'boolean' || !isEnding(ending)) throw invalidAnswer()
  return state
}

export function parseProcesses(answer: Json): ProcessState[] {
  if (!Array.isArray(answer)) throw invalidAnswer()
  return answer.map(parseProcess)
}

export function parseOutput(answer: Json): ProcessOutput {
  const output = answer as unknown as ProcessOutput
  const { text, from, next, total, dropped } = requireObject(output)
  if (typeof text !== 'string' || ![from, next, total, dropped].every(Number.isFinite)) throw invalidAnswer()
  return output
}

export function parseUsage(answer: Json): WorkspaceState['usage'] {
  const usage = answer as unknown as WorkspaceState['usage']
  const { diskBytes, processes, memoryBytes } = requireObject(usage)
  if (![diskBytes, processes, memoryBytes].every(Number.isFinite)) throw invalidAnswer()
  return usage
}

/** A supervisor of an older version answers null. */
export function parsePorts(answer: Json): ListeningPort[] {
  if (answer === null) return []
  if (!Array.isArray(answer)) throw invalidAnswer()
  return (answer as unknown as ListeningPort[]).map(({ port, processId }) => {
    if (!Number.isInteger(port) || port < 1 || port > 65_535) throw invalidAnswer()
    if (processId !== null && typeof processId !== 'string') throw invalidAnswer()
    return { port, processId }
  })
}

const ENDINGS: ReadonlySet<string> = new Set(['exited', 'killed', 'over-limit', 'lost'])

const isEnding = (ending: ProcessState['ending']): boolean =>
  ending === undefined || (typeof ending === 'object' && ending !== null && ENDINGS.has(ending.type))

function requireObject<T>(value: T): T {
  if (typeof value !== 'object' || value === null) throw invalidAnswer()
  return value
}

const invalidAnswer = () =>
  new WorkspaceError('unavailable', 'Invalid response from the workspace supervisor. Try again.')
