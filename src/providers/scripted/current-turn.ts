import { type InputBody, type MessageBody, textOf } from '../../core/message.ts'

export const isInput = (body: MessageBody): body is InputBody => body.role === 'user' || body.role === 'system'

/** Everything after the last thing a person or an application said. */
export const sinceInput = (messages: readonly MessageBody[]): readonly MessageBody[] =>
  messages.slice(messages.findLastIndex(isInput) + 1)

/** The last thing said to the model; empty when it holds no text. */
export function lastInput(messages: readonly MessageBody[]): string {
  const input = messages.findLast(isInput)
  return input ? textOf(input.content) : ''
}
