import type { MessageBody } from '../../core/message.ts'
import type { CallResult } from './friendly-comments.ts'
import type { Reply } from './reply.ts'

/** `pattern` matches the sentence, ignoring case; the first matching rule answers. */
export type FriendlyRule = {
  pattern: RegExp
  answer(match: RegExpExecArray, messages: readonly MessageBody[]): Reply
  /** The next reply after a round without failures; if there is none, the reply comments on the results. */
  next?(so: RuleProgress): Reply | undefined
}

export type RuleProgress = {
  match: RegExpExecArray
  messages: readonly MessageBody[]
  /** The tool results since the sentence, one list per answer. */
  rounds: CallResult[][]
}
