import type { ProcessEnding, ProcessOutput, ProcessState } from '../../ports/workspaces.ts'

const KILL_REASONS: Record<NonNullable<Extract<ProcessEnding, { type: 'killed' }>['why']>, string> = {
  asked: 'it was ended on request',
  cancelled: 'it was ended because the run was cancelled',
  'timed-out': 'it was ended because it took too long',
  removed: 'it was ended with everything else in this workspace',
}

function describeEnding(ending: ProcessEnding): string {
  switch (ending.type) {
    case 'exited':
      return `exit code ${ending.code}`
    case 'killed':
      return ending.why ? `${KILL_REASONS[ending.why]} (${ending.signal})` : `killed by ${ending.signal}`
    case 'over-limit':
      return `it was ended because it went over the ${ending.limit} limit of this workspace`
    case 'lost':
      return 'it was lost: the sandbox or the machine stopped while it ran, and how far it got is unknown'
  }
}

export const isSuccess = ({ ending }: ProcessState): boolean => ending?.type === 'exited' && ending.code === 0

/** The status of a process in a few words. */
export function describeStatus(process: ProcessState, now: number): string {
  const { ending, startedAt, endedAt } = process
  const took = formatSeconds((endedAt ?? now) - startedAt)
  return ending ? `${describeEnding(ending)}, after ${took}` : `running for ${took}`
}

const formatSeconds = (ms: number): string =>
  ms < 10_000 ? `${(Math.max(0, ms) / 1_000).toFixed(1)} s` : `${Math.round(ms / 1_000)} s`

/** The parts of an output that were read, with a notice where bytes are left out. */
export function formatOutput(parts: readonly ProcessOutput[], processId: string): string {
  const pieces: string[] = []
  let at = parts[0]?.from ?? 0
  for (const part of parts) {
    if (part.from > at) pieces.push(omittedNotice(part.from - at, { processId, from: at }))
    if (part.text !== '') pieces.push(part.text)
    at = part.next
  }
  const dropped = parts.at(-1)?.dropped ?? 0
  if (dropped > 0) pieces.push(`[${dropped} more bytes were printed than are kept]`)
  return pieces.map((piece) => piece.replace(/\n$/, '')).join('\n')
}

const omittedNotice = (bytes: number, { processId, from }: { processId: string; from: number }): string =>
  `[${bytes} bytes left out here; process {"action":"log","process_id":"${processId}","from":${from}} reads them]`

export const lastLines = (text: string, count: number): string => {
  const lines = text.replace(/\n$/, '').split('\n')
  return lines.slice(-count).join('\n')
}
