import type { TurnEvent } from '../../../src/core/event.ts'

export type LadderStates = { take(event: TurnEvent, fence: number): string[] }

/** Detects rare states of the recovery of one run from its events. */
export function ladderStates(): LadderStates {
  let before: TurnEvent | undefined
  /** The fence of the last failure since the last answer. */
  let failedBy: number | undefined
  let wasCut = false
  const room = { windowFound: false, partly: false, forFallback: false }
  return {
    take(event, fence) {
      const states: string[] = []
      const hasMore = before?.type === 'attempt-failed' && before.remedy !== 'give-up'
      if (event.type === 'worker-lost' && hasMore) states.push('a crash between a failed attempt and the next')
      if (event.type === 'attempt-failed') {
        if (failedBy !== undefined && fence > failedBy) states.push('a takeover in the middle of a ladder')
        failedBy = fence
        const { kind } = event.failure
        wasCut ||= event.target === 0 && !event.purpose && (kind === 'cut-off' || kind === 'stalled')
      }
      room.windowFound ||= event.type === 'attempt-failed' && event.window !== undefined
      if (event.type === 'context-compacted') {
        if (room.partly) states.push('a summary written in several requests')
        room.forFallback ||= event.forTurn !== undefined
      }
      room.partly = event.type === 'summary-extended'
      if (event.type === 'answer-received') {
        if (room.windowFound) states.push('an answer after the window was found out within the turn')
        if (room.forFallback) states.push('a fallback answers with a summary made for its smaller window')
        if (event.wasCut) states.push('an answer to a request that was cut to fit')
        if (wasCut && event.target > 0) states.push('a fallback answers after its primary died in mid-answer')
        failedBy = undefined
        wasCut = false
      }
      before = event
      return states
    },
  }
}
