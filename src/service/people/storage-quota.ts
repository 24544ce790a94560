import { Problem } from '../../core/problem.ts'
import { textSize } from '../../core/text-size.ts'
import type { ServiceContext } from '../service-context.ts'

type Storing = Pick<ServiceContext, 'deps' | 'organizationId'>

/**
 * Refuses to store more for an organization that is at its limit. Call it before what a caller adds: messages, passages,
 * blocks. What a turn writes after it was accepted is counted and not refused.
 */
export async function requireRoomFor(addition: unknown, context: Storing): Promise<void> {
  const refusal = await roomRefusal(addition, context)
  if (refusal) throw new Problem('queue-full', refusal)
}

/** Why there is no room for this; counts it as stored if there is. */
export async function roomRefusal(addition: unknown, { deps, organizationId }: Storing): Promise<string | undefined> {
  if (!deps.shares) return undefined
  const characters = textSize(addition)
  const room = await deps.shares.takeRoom(organizationId, characters)
  if (room.type === 'enough') return undefined
  const { limit, used } = room
  return `This organization stores ${used} bytes and may store ${limit}, its limit (limits.stored_bytes_per_organization): there is no room for ${characters} characters more. Delete conversations, passages or agents, or ask an operator to raise it.`
}
