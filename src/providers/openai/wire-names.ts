import { createHash, randomBytes } from 'node:crypto'
import type { Quirks } from '../wire/quirks.ts'

/** The longest id that Chat Completions takes back. */
const MAX_LENGTH = 40
const NINE_CHARACTERS = /^[a-zA-Z0-9]{9}$/

/** Ids that another vendor made may not fit here; the same id always becomes the same one. */
export function wireCallId(callId: string, rule: Quirks['callIds']): string {
  if (rule === 'nine-characters') return NINE_CHARACTERS.test(callId) ? callId : digestOf(callId).slice(0, 9)
  return callId.length <= MAX_LENGTH ? callId : `call_${digestOf(callId).slice(0, 32)}`
}

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex')

const MAX_NAME = 64

/** A model may have called a tool by a name that no tool can have; the call is in the history all the same. */
export const wireToolName = (tool: string): string =>
  tool.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, MAX_NAME) || 'unknown_tool'

/** For servers that name no id: an outcome must be able to say which call it belongs to. */
export const newCallId = (): string => `call_${randomBytes(12).toString('hex')}`
