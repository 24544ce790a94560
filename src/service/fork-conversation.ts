import type { Conversation } from '../core/agent.ts'
import type { Block } from '../core/block.ts'
import { forkPoint } from '../core/fork.ts'
import type { BlockId } from '../core/id.ts'
import { Problem } from '../core/problem.ts'
import { promptOf } from './compile-prompt.ts'
import { copyOfBlock, newConversation, withOwnBlocks } from './conversations.ts'
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
  const { hidden: _, ownBlocks = [], ...details } = source.details ?? {}
  const blocks = await copiesOf(ownBlocks, desk)
  const last = view.findLast(({ position }) => position < end)?.createdAt
  const fork: Conversation = {
    ...newConversation(
      source.agentId,
      desk,
      withOwnBlocks({ ...details, ...(isHidden ? { hidden: true } : {}) }, blocks),
    ),
    ...{ nextPosition: end, contextStart },
    ...(last === undefined ? {} : { lastMessageAt: last }),
  }
  if ((await store.conversations.fork(source.id, fork, blocks)) === 'not-found')
    throw new Problem('not-found', `There is no conversation ${source.id}.`)
  await promptOf(fork.id, desk)
  return fork
}

async function copiesOf(ids: readonly BlockId[], desk: Desk): Promise<Block[]> {
  const found = await Promise.all(ids.map((id) => desk.world.store.blocks.get(desk.organizationId, id)))
  return found.flatMap((block) => (block ? [copyOfBlock(block, desk)] : []))
}
