import { type MessageBody, textOf } from './message.ts'

export const CHARS_PER_TOKEN = 4
const TOKENS_PER_MESSAGE = 4
/** A typical cost, as characters. */
const IMAGE_CHARS = 6_400

/** Messages never change, so each is measured once. */
const known = new WeakMap<MessageBody, number>()

/** Four characters per token and a typical cost per image; used only where the provider's count is missing. */
export function estimateTokens(body: MessageBody): number {
  const before = known.get(body)
  if (before !== undefined) return before
  const tokens = Math.ceil(lengthOf(body) / CHARS_PER_TOKEN) + TOKENS_PER_MESSAGE
  known.set(body, tokens)
  return tokens
}

export const estimateAll = (bodies: readonly MessageBody[]): number =>
  bodies.reduce((sum, body) => sum + estimateTokens(body), 0)

export const textTokens = (text: string): number => Math.ceil(text.length / CHARS_PER_TOKEN)

const toolTokens = new WeakMap<readonly unknown[], number>()

/** Tokens of every request besides its messages. */
export function fixedTokens({ system, tools }: { system: string; tools: readonly unknown[] }): number {
  let ofTools = toolTokens.get(tools)
  if (ofTools === undefined) {
    ofTools = textTokens(JSON.stringify(tools))
    toolTokens.set(tools, ofTools)
  }
  return textTokens(system) + ofTools
}

function lengthOf(body: MessageBody): number {
  switch (body.role) {
    case 'user':
    case 'system':
      return textOf(body.content).length + IMAGE_CHARS * body.content.filter((part) => part.type === 'image').length
    case 'assistant': {
      const thoughts = body.content.map((part) => ('data' in part ? part.data.length : part.text.length))
      const calls = body.calls.map((call) => call.tool.length + JSON.stringify(call.input).length)
      return [...thoughts, ...calls].reduce((sum, length) => sum + length, 0)
    }
    case 'tool':
      return body.outcomes.reduce(
        (sum, { output, images = [] }) => sum + output.length + IMAGE_CHARS * images.length,
        0,
      )
    case 'approval':
      return 0
    case 'summary':
      return body.text.length
  }
}
