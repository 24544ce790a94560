import { type Change, type ChangedKind, parsePosition } from '../../core/change.ts'
import { defined } from '../../core/defined.ts'
import { scopeCovers } from '../../core/people.ts'
import { Problem } from '../../core/problem.ts'
import type { FeedItem } from '../../ports/change-feed.ts'
import type { ServiceContext } from '../service-context.ts'

/** What only administrators may list, only they are told about. */
const ADMIN_KINDS: ReadonlySet<ChangedKind> = new Set([
  'key',
  'user',
  'credential',
  'cooldown',
  'gateway_account',
  'pairing',
])

/** The changes of the caller's organization after this position; without one, from now on. */
export function watchChanges(
  { after, signal }: { after?: string; signal: AbortSignal },
  { changeFeed, organizationId, caller }: ServiceContext,
): AsyncGenerator<FeedItem, void> {
  const position = after === undefined ? undefined : parsePosition(after)
  if (after !== undefined && !position)
    throw new Problem(
      'invalid',
      `"${after.slice(0, 40)}" is not a position of the feed. Send the position of an earlier event, or leave it out.`,
    )
  const items = changeFeed.watch({ organizationId, signal, ...defined({ after: position }) })
  return scopeCovers(caller.scope, 'admin') ? items : withoutAdminKinds(items)
}

async function* withoutAdminKinds(items: AsyncGenerator<FeedItem, void>): AsyncGenerator<FeedItem, void> {
  const isVisible = ({ kind }: Change) => !ADMIN_KINDS.has(kind)
  for await (const item of items)
    yield item.type === 'changes' ? { ...item, changes: item.changes.filter(isVisible) } : item
}
