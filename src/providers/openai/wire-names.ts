import { createHash, randomBytes } from 'node:crypto'
import type { Quirks } from '../wire/quirks.ts'

/** The longest id that Chat Completions accepts. */
const MAX_LENGTH = 40
const NINE_CHARACTERS = /^[a-zA-Z0-9]{9}$/

/** Adapts ids of other vendors to this vendor's rule; deterministic. */
export function wireCallId(callId: string, rule: Quirks['callIds']): string {
  if (rule === 'nine-characters') return NINE_CHARACTERS.test(callId) ? callId : digestOf(callId).slice(0, 9)
  return callId.length <= MAX_LENGTH ? callId : `call_${digestOf(callId).slice(0, 32)}`
}

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex')

const MAX_NAME = 64

/** A model may have called a tool by an invalid name; the call is in the history nevertheless. */
export const wireToolName = (tool: string): string =>
  tool.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, MAX_NAME) || 'unknown_tool'

/** For servers that send no id: outcomes refer to calls by id. */
export const newCallId = (): string => `call_${randomBytes(12).toString('hex')}`
