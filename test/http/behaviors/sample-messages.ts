import { defined } from '../../../src/core/defined.ts'
/** Messages that tests send, and answers of the simulated model. */
export const hello = (otid?: string) => ({
  messages: [{ role: 'user', content: 'Hello', ...defined({ otid: otid || undefined }) }],
})

export const DICE = { calls: [{ id: 'call-1', name: 'roll_dice', arguments: {} }] }
export const POSTCARD = { id: 'call-card', name: 'send_postcard', arguments: { to: 'Ada', message: 'hi' } }
/** An answer of half a second: long enough to act in the middle of it. */
export const SLOW = { text: 'abcdefghij'.repeat(30), pace: { everyMs: 10, charactersPerChunk: 6 } }
/** An answer that takes so long that its run has to be cancelled. */
export const NEVER = { text: 'word '.repeat(4_000), pace: { everyMs: 20, charactersPerChunk: 5 } }

export const approvalMessage = (...approvals: object[]) => ({ messages: [{ type: 'approval', approvals }] })
export const approveCall = (tool_call_id: string) => ({ type: 'approval', tool_call_id, approve: true })
export const denyCall = (tool_call_id: string, reason: string) => ({
  type: 'approval',
  tool_call_id,
  approve: false,
  reason,
})
