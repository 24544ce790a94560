import type { MessageBody } from '../../core/message.ts'
import type { CallResult } from './friendly-comments.ts'
import type { Reply } from './reply.ts'

/** `words` is the sentence, matched without regard to case; the first rule that fits answers. */
export type FriendlyRule = {
  pattern: RegExp
  answer(match: RegExpExecArray, messages: readonly MessageBody[]): Reply
  /** What follows when all of a round went well; without it, or an answer of it, the results are told. */
  next?(so: RuleProgress): Reply | undefined
}

export type RuleProgress = {
  match: RegExpExecArray
  messages: readonly MessageBody[]
  /** What the tools gave since the sentence was said, answer by answer. */
  rounds: CallResult[][]
}
