import type { Conversation } from '../../core/agent.ts'
import { defined } from '../../core/defined.ts'
import type { ConversationId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import { parseTarget, type TargetHandle } from '../../core/target.ts'
import { requireModelHandle } from '../agents/create-agent.ts'
import type { ServiceContext } from '../service-context.ts'
import { updateConversation } from './conversations.ts'

/** The model of this conversation from its next turn on; undefined means that of its agent. */
export function useModel(
  id: ConversationId,
  handle: string | undefined,
  context: ServiceContext,
): Promise<Conversation> {
  const model = handle === undefined ? undefined : requireServedModel(handle, context)
  return updateConversation(id, { details: ({ model: _, ...kept }) => ({ ...kept, ...defined({ model }) }) }, context)
}

function requireServedModel(named: string, context: ServiceContext): TargetHandle {
  const handle = requireModelHandle(named, context)
  if (context.deps.models.find(parseTarget(handle)!.provider)) return handle
  const known = context.directory.list().map(({ name }) => `${name}/…`)
  throw new Problem('not-found', `Handle ${handle.slice(0, 200)} not found, must be one of [${known.join(', ')}]`)
}
