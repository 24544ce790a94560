import { defined } from './defined.ts'
import type { Finish, Usage } from './event.ts'
import type { Failure } from './failure.ts'
import type { AnswerPart, Dialect } from './message.ts'

/** What a provider streams. The last part is `finish` or `failure`; a stream without either ended early. */
export type Part =
  | { type: 'text-delta'; text: string }
  | { type: 'reasoning-delta'; text: string }
  | { type: 'reasoning-signature'; signature: string; origin?: Dialect }
  | { type: 'redacted-reasoning'; data: string; origin?: Dialect }
  | { type: 'encrypted-reasoning'; itemId: string; data: string; origin: Dialect }
  /** A second `call-start` for an index replaces the first but keeps the arguments received so far. */
  | { type: 'call-start'; index: number; callId: string; tool: string; signature?: string }
  | { type: 'call-delta'; index: number; json: string }
  | { type: 'usage'; usage: Usage }
  /** Settings that the model does not take, each with the reason; they were not sent. */
  | { type: 'settings-left-out'; settings: string[] }
  | { type: 'finish'; finish: Finish }
  | { type: 'failure'; failure: Failure }

export type RawCall = { callId: string; tool: string; json: string; signature?: string }

/** The part of an answer that has arrived so far. `calls` has holes if the provider skips an index. */
export type Draft = {
  content: AnswerPart[]
  calls: RawCall[]
  usage: Usage
  finish?: Finish
  failure?: Failure
  settingsLeftOut?: string[]
}

export const newDraft = (): Draft => ({ content: [], calls: [], usage: { promptTokens: 0, completionTokens: 0 } })

/**
 * Adds one part to the draft, in place: a draft belongs to one attempt, and a copy for each token would make the cost
 * quadratic in the length of the answer.
 */
export function addPart(draft: Draft, part: Part): void {
  const last = draft.content.at(-1)
  switch (part.type) {
    case 'text-delta':
      if (last?.type === 'text') last.text += part.text
      else draft.content.push({ type: 'text', text: part.text })
      return
    case 'reasoning-delta':
      if (last?.type === 'reasoning' && last.signature === undefined) last.text += part.text
      else draft.content.push({ type: 'reasoning', text: part.text })
      return
    case 'reasoning-signature':
      if (last?.type === 'reasoning') Object.assign(last, signed(part))
      else draft.content.push({ type: 'reasoning', text: '', ...signed(part) })
      return
    case 'redacted-reasoning':
    case 'encrypted-reasoning':
      draft.content.push(part)
      return
    case 'call-start': {
      const { index, callId, tool, signature } = part
      const json = draft.calls[index]?.json ?? ''
      draft.calls[index] = { callId, tool, json, ...defined({ signature: signature || undefined }) }
      return
    }
    case 'call-delta': {
      const call = draft.calls[part.index]
      if (call) call.json += part.json
      else draft.calls[part.index] = { callId: '', tool: '', json: part.json }
      return
    }
    case 'usage':
      draft.usage = { ...draft.usage, ...part.usage }
      return
    case 'settings-left-out':
      draft.settingsLeftOut = part.settings
      return
    case 'finish':
      draft.finish = part.finish
      return
    case 'failure':
      draft.failure = part.failure
      return
  }
}

const signed = ({ signature, origin }: Extract<Part, { type: 'reasoning-signature' }>) =>
  origin ? { signature, origin } : { signature }

/** Why the draft of an ended stream is not a usable answer; undefined if it is one. */
export function answerFailure(draft: Draft): Failure | undefined {
  if (draft.failure) return draft.failure
  if (!draft.finish)
    return { kind: 'cut-off', detail: 'the stream ended without a finish reason', mayHaveBeenAccepted: true }
  const hasText = draft.content.some((part) => part.type === 'text' && part.text.trim() !== '')
  const hasReasoning = draft.content.some((part) => part.type !== 'text')
  const isTruncated = draft.finish === 'length'
  if (draft.calls.length > 0)
    return isTruncated
      ? { kind: 'call-truncated', detail: 'a tool call was cut off by the output limit; it was not run' }
      : undefined
  if (hasText) return isTruncated ? { kind: 'text-truncated', detail: 'the text reached the output limit' } : undefined
  if (isTruncated && hasReasoning)
    return { kind: 'thinking-exhausted', detail: 'the whole output limit was used for reasoning' }
  if (hasReasoning) return { kind: 'thinking-only', detail: 'the answer contained only reasoning' }
  return { kind: 'empty-answer', detail: 'the answer had no text and no tool call' }
}

/** The content kept from a cancelled attempt: the text, which subscribers may have read. */
export const cutContent = (draft: Draft): AnswerPart[] =>
  draft.content.filter((part) => part.type === 'text' && part.text !== '')
