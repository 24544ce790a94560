import { addPart, answerFailure, newDraft, type Part } from '../../core/answer.ts'
import type { Finish, Usage } from '../../core/event.ts'
import type { Failure } from '../../core/failure.ts'
import type { Json } from '../../core/json.ts'

/** Chunks of `chunkSize` characters with `delayMs` between two of them. */
export type Pace = { chunkSize: number; delayMs: number }

/** `rawJson` is sent unchanged, so that a script can send invalid JSON. */
export type ScriptedCall = { tool: string; callId?: string } & ({ input: Json } | { rawJson: string })

export type Answer = {
  reasoning?: string
  signature?: string
  text?: string
  calls?: ScriptedCall[]
  pace?: Pace
  usage?: Usage
  finish?: Finish
}

/** What the model does in one call. A failing reply may start with chunks of an answer. */
export type Reply =
  | Answer
  | (Answer & { fail: Failure; after?: number })
  /** Sends nothing more until it is aborted. */
  | (Answer & { stall: true; after?: number })
  /** Ends without a finish, like a lost connection. */
  | (Answer & { cutAfter: number })
  | { raw: Part[]; pace?: Pace }

/** Values that a reply takes from its request. */
type ReplyContext = { promptTokens: number; newCallId(index: number): string }

const NO_DELAY: Pace = { chunkSize: 24, delayMs: 0 }
const BROKEN_OFF = 'This answer is going to be broken off before its end can be read.'

export function partsOf(reply: Reply, context: ReplyContext): Part[] {
  if ('raw' in reply) return reply.raw
  if ('cutAfter' in reply) return beginningOf(reply, reply.cutAfter, context)
  if ('stall' in reply) return beginningOf(reply, reply.after ?? 0, context)
  if ('fail' in reply)
    return [...beginningOf(reply, reply.after ?? 0, context), { type: 'failure', failure: reply.fail }]
  const finish = reply.finish ?? ((reply.calls ?? []).length > 0 ? 'tool-calls' : 'stop')
  return [
    ...contentOf(reply, context),
    { type: 'usage', usage: reply.usage ?? usageOf(reply, context) },
    { type: 'finish', finish },
  ]
}

export const paceOf = (reply: Reply): Pace => reply.pace ?? NO_DELAY

export const stalls = (reply: Reply): boolean => 'stall' in reply

/** Cache per reply: every call looks through the script, and its texts may be long. */
const failingReplies = new WeakMap<Reply, boolean>()

/** Whether the engine will retry after this reply, by the rule that the engine itself uses. */
export function isFailing(reply: Reply): boolean {
  const known = failingReplies.get(reply)
  if (known !== undefined) return known
  const draft = newDraft()
  for (const part of partsOf(reply, { promptTokens: 0, newCallId: (index) => `call-${index}` })) addPart(draft, part)
  const fails = answerFailure(draft) !== undefined
  failingReplies.set(reply, fails)
  return fails
}

function contentOf(answer: Answer, context: ReplyContext): Part[] {
  const { reasoning = '', signature, text = '', calls = [] } = answer
  const { chunkSize } = paceOf(answer)
  return [
    ...chunksOf(reasoning, chunkSize).map((chunk): Part => ({ type: 'reasoning-delta', text: chunk })),
    ...(signature === undefined ? [] : [{ type: 'reasoning-signature' as const, signature }]),
    ...chunksOf(text, chunkSize).map((chunk): Part => ({ type: 'text-delta', text: chunk })),
    ...calls.flatMap((call, index): Part[] => [
      { type: 'call-start', index, callId: call.callId ?? context.newCallId(index), tool: call.tool },
      ...chunksOf(jsonOf(call), chunkSize).map((json): Part => ({ type: 'call-delta', index, json })),
    ]),
  ]
}

function beginningOf(answer: Answer, count: number, context: ReplyContext): Part[] {
  const content = contentOf(answer, context)
  return (content.length > 0 ? content : contentOf({ ...answer, text: BROKEN_OFF }, context)).slice(0, count)
}

const jsonOf = (call: ScriptedCall): string => ('rawJson' in call ? call.rawJson : JSON.stringify(call.input))

/** Deterministic; a surrogate pair is never split. */
export function chunksOf(text: string, chunkSize: number): string[] {
  const chunks: string[] = []
  for (let start = 0; start < text.length; ) {
    let end = Math.min(start + Math.max(1, chunkSize), text.length)
    const isInsidePair = end < text.length && /[\uD800-\uDBFF]/.test(text[end - 1]!)
    if (isInsidePair) end += 1
    chunks.push(text.slice(start, end))
    start = end
  }
  return chunks
}

function usageOf({ reasoning = '', text = '', calls = [] }: Answer, { promptTokens }: ReplyContext): Usage {
  const characters = reasoning.length + text.length + calls.reduce((sum, call) => sum + jsonOf(call).length, 0)
  return { promptTokens, completionTokens: tokensIn(characters) }
}

/** The usual rule of thumb for English. */
export const tokensIn = (characters: number): number => Math.ceil(characters / 4)
