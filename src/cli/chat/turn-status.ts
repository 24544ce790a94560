import type { Chunk } from '../../core/chunk.ts'
import { parseTarget } from '../../core/target.ts'
import { type Look, safeText, shortened } from '../terminal.ts'

/** What a running turn does now, for the line above the input. */
export type TurnStatus = {
  startedAt: number
  target: string
  phase:
    | { type: 'model'; attempt: number }
    /** The pause before an attempt. */
    | { type: 'waiting'; attempt: number; until: number }
    | { type: 'answering'; attempt: number }
    | { type: 'tools'; names: readonly string[] }
    | { type: 'cancelling' }
}

export const newTurnStatus = (target: string, now: number): TurnStatus => ({
  startedAt: now,
  target,
  phase: { type: 'model', attempt: 1 },
})

/** The status after one more chunk. */
export function afterChunk(status: TurnStatus, chunk: Chunk, now: number): TurnStatus {
  const { phase } = status
  if (phase.type === 'cancelling') return status
  const attempt = 'attempt' in phase ? phase.attempt : 1
  switch (chunk.message_type) {
    case 'assistant_message':
    case 'reasoning_message':
    case 'tool_call_delta':
      return { ...status, phase: { type: 'answering', attempt } }
    case 'tool_call_message':
      return { ...status, phase: { type: 'tools', names: chunk.tool_calls.map(({ name }) => name) } }
    case 'tool_return_message': {
      if (phase.type !== 'tools') return status
      const at = phase.names.indexOf(chunk.name)
      const names = phase.names.filter((_, index) => index !== at)
      // The model is asked again once every call has its result.
      return { ...status, phase: names.length > 0 ? { type: 'tools', names } : { type: 'model', attempt: 1 } }
    }
    case 'attempt_failed': {
      const target = chunk.next_target ?? status.target
      const next = { attempt: attempt + 1 }
      if (!chunk.wait_ms) return { ...status, target, phase: { type: 'model', ...next } }
      return { ...status, target, phase: { type: 'waiting', ...next, until: now + chunk.wait_ms } }
    }
    case 'worker_lost':
    case 'message_reset':
      return { ...status, phase: { type: 'model', attempt } }
    case 'approval_request_message':
    case 'tool_progress':
    case 'summary_message':
    case 'stop_reason':
    case 'error_message':
    case 'usage_statistics':
    case 'done':
      return status
  }
}

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const FRAME_MS = 100

/** One row: what happens, and for how long. */
export function statusLine(status: TurnStatus, now: number, { paint, width }: Look): string {
  const frame = FRAMES[Math.floor((now - status.startedAt) / FRAME_MS) % FRAMES.length]!
  const seconds = Math.max(0, Math.floor((now - status.startedAt) / 1_000))
  const words = [phaseText(status, now), `${seconds} s`, 'Ctrl-C cancels'].join(' · ')
  return `${paint.cyan(frame)} ${paint.dim(shortened(words, width - 2))}`
}

function phaseText({ phase, target }: TurnStatus, now: number): string {
  const model = safeText(target)
  switch (phase.type) {
    case 'model':
      return phase.attempt > 1 ? `waiting for ${model}, attempt ${phase.attempt}` : `waiting for ${model}`
    case 'waiting': {
      const left = Math.max(0, Math.ceil((phase.until - now) / 1_000))
      const who = safeText(parseTarget(target)?.provider ?? target)
      if (left === 0) return `waiting for ${model}, attempt ${phase.attempt}`
      return `waiting for ${who}, attempt ${phase.attempt}, next in ${left} s`
    }
    case 'answering':
      return model
    case 'tools':
      return `running ${phase.names.map(safeText).join(', ')}`
    case 'cancelling':
      return 'cancelling; Ctrl-C again leaves'
  }
}
