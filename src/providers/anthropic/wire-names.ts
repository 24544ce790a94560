const MAX_NAME = 128
const REFUSED = /[^a-zA-Z0-9_-]/g

/**
 * The vendor accepts letters, digits, `_` and `-` in call ids. Ids of other vendors may contain other characters, which
 * are replaced; an added hash keeps two ids distinct.
 */
export const wireCallId = (callId: string): string => (isPlain(callId) ? callId : `${cleaned(callId)}_${hash(callId)}`)

/** A model may have called a tool by an invalid name; the call is in the history nevertheless. */
export const wireToolName = (tool: string): string =>
  (isPlain(tool) ? tool : cleaned(tool) || 'unknown_tool').slice(0, MAX_NAME)

const isPlain = (text: string): boolean => /^[a-zA-Z0-9_-]+$/.test(text)
const cleaned = (text: string): string => text.replace(REFUSED, '_')

/** FNV-1a: deterministic; the input is not secret. */
function hash(text: string): string {
  let value = 0x811c9dc5
  for (let index = 0; index < text.length; index++) {
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193) >>> 0
  }
  return value.toString(36)
}
