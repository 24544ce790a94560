import { SAYS_TOO_LONG } from '../failure.ts'
import type { Invariant, RunRecord, StoreRecord } from './record.ts'

export const overflowIsSolved: Invariant<StoreRecord> = {
  id: 'I33',
  name: 'room is made',
  sentence: 'No two turns of a conversation in a row fail because the conversation is too long for its models.',
  promise: 'nothing is stuck',
  check({ runs }) {
    const before = new Map<string, string | undefined>()
    return runs.flatMap(({ id, conversationId, phase, overflowed }) => {
      if (phase !== 'settled') return []
      const last = before.get(conversationId)
      before.set(conversationId, overflowed ? id : undefined)
      return overflowed && last !== undefined ? [`${last} and ${id} both failed for a context overflow`] : []
    })
  },
}

/** A system prompt that is too long for every model is reported as such and is not counted. */
export function hasOverflowed({ run, events }: Pick<RunRecord, 'run' | 'events'>): boolean {
  if (run.stopReason !== 'context_window_overflow_in_system_prompt') return false
  const last = events.findLast(({ event }) => event.type === 'attempt-failed')?.event
  return (
    last?.type === 'attempt-failed' && SAYS_TOO_LONG.has(last.failure.kind) && last.failure.fixedTokens === undefined
  )
}
