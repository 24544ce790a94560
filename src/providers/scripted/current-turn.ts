import { type InputBody, type MessageBody, textOf } from '../../core/message.ts'

export const isInput = (body: MessageBody): body is InputBody => body.role === 'user' || body.role === 'system'

/** The messages after the last input of a user or an application. */
export const sinceInput = (messages: readonly MessageBody[]): readonly MessageBody[] =>
  messages.slice(messages.findLastIndex(isInput) + 1)

/** The text of the last input; empty if it has none. */
export function lastInput(messages: readonly MessageBody[]): string {
  const input = messages.findLast(isInput)
  return input ? textOf(input.content) : ''
}
