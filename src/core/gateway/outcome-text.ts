import { type Message, textOf } from '../message.ts'
import type { Run } from '../run.ts'

/** What a chat is told of a run that is over: everything the agent said, and why it stopped if that is not plain. */
export function outcomeText(
  run: Pick<Run, 'status' | 'stopReason' | 'error' | 'waiting'>,
  messages: readonly Message[],
): string {
  return paragraphs([saidIn(messages), noticeOf(run)])
}

/** Everything the agent said. */
export const saidIn = (messages: readonly Message[]): string =>
  paragraphs(messages.flatMap(({ body }) => (body.role === 'assistant' ? [textOf(body.content).trim()] : [])))

const paragraphs = (parts: readonly string[]): string => parts.filter((part) => part !== '').join('\n\n')

function noticeOf({
  status,
  stopReason,
  error,
  waiting,
}: Pick<Run, 'status' | 'stopReason' | 'error' | 'waiting'>): string {
  if (waiting) return ''
  switch (status) {
    case 'failed':
      return `⚠️ I could not finish: ${error?.message ?? stopReason ?? 'an unknown error'}`
    case 'cancelled':
      return '⏹ Stopped.'
    case 'completed':
      return stopReason === 'max_steps' ? '⚠️ I stopped because this took too many steps.' : ''
    case 'created':
    case 'running':
      return ''
  }
}

/** For an answer without any text. */
export const NO_ANSWER = '(The agent had nothing to say.)'
