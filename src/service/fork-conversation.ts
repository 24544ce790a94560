import type { Conversation } from '../core/agent.ts'
import { forkPoint } from '../core/fork.ts'
import { Problem } from '../core/problem.ts'
import { promptOf } from './compile-prompt.ts'
import { newConversation } from './conversations.ts'
import type { Desk } from './desk.ts'

export type ForkConversation = {
  source: Conversation
  /** The position of the last message that is wanted; without it, all there is. */
  upTo?: number
  isHidden?: boolean
}

/**
 * Another conversation with the same history up to now: the messages keep their ids, what is said first is compiled anew,
 * and what happens in one of them from here on does not reach the other.
 */
export async function forkConversation(request: ForkConversation, desk: Desk): Promise<Conversation> {
  const { source, upTo, isHidden } = request
  const { store } = desk.world
  if (upTo !== undefined && upTo < source.contextStart)
    throw new Problem('invalid', 'A fork cannot end with a message that the model is no longer shown.')
  const view = await store.messages.context(source.id)
  const { end, contextStart } = forkPoint(view, source.contextStart, upTo)
  const { hidden: _, ...details } = source.details ?? {}
  const last = view.findLast(({ position }) => position < end)?.createdAt
  const fork: Conversation = {
    ...newConversation(source.agentId, desk, { ...details, ...(isHidden ? { hidden: true } : {}) }),
    ...{ nextPosition: end, contextStart },
    ...(last === undefined ? {} : { lastMessageAt: last }),
  }
  if ((await store.conversations.fork(source.id, fork)) === 'not-found')
    throw new Problem('not-found', `There is no conversation ${source.id}.`)
  await promptOf(fork.id, desk)
  return fork
}
