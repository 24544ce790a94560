import { defined } from '../../core/defined.ts'
import { unsentFile } from '../../core/gateway/chat-file.ts'
import type { OutboundRow, SendProgress } from '../../core/gateway/outbound.ts'
import { afterDeath } from '../../core/gateway/send-plan.ts'
import type { GatewayChange } from '../../ports/gateway-store.ts'
import type { Capabilities } from '../../ports/platform.ts'
import type { ServiceContext } from '../service-context.ts'
import { commitChanges, type GatewayScope, LostAccount } from './gateway-scope.ts'

type Scope = Pick<GatewayScope, 'lease'>

/** Messages that are not sent yet, in their order. */
export const openMessages = ({ lease }: Scope, limit: number, { deps }: ServiceContext): Promise<OutboundRow[]> =>
  deps.store.gateway.open(lease, limit)

/** Committed before the platform is called. Undefined: the message is no longer pending. */
export const beginSend = (
  row: OutboundRow,
  { lease }: Scope,
  { deps }: ServiceContext,
): Promise<OutboundRow | undefined> => deps.store.gateway.beginSend(lease, row.number, deps.clock.now())

export async function endSend(
  row: OutboundRow,
  progress: SendProgress,
  { scope: { lease }, context }: { scope: Scope; context: ServiceContext },
): Promise<void> {
  const { deps } = context
  const { number, version } = row
  const written = await deps.store.gateway.endSend(lease, { ...progress, number, version, at: deps.clock.now() })
  if (!written && !(await ownsAccount({ lease }, context))) throw new LostAccount(lease.account)
  // Its bytes were kept for this. If the process dies here, they are removed with the old rows.
  if (written && row.body.file && isOver(progress))
    await deps.store.gateway.removeFile(lease.organizationId, row.body.file.id)
}

const isOver = ({ state }: SendProgress): boolean => state === 'sent' || state === 'failed'

export const ownsAccount = ({ lease }: Scope, { deps }: ServiceContext): Promise<boolean> =>
  deps.store.gateway.commit(lease, [])

/** Messages that a former owner was sending when it died: their calls may have been made. */
export async function recoverSending(
  scope: Scope,
  capabilities: Capabilities,
  context: ServiceContext,
): Promise<number> {
  const { deps } = context
  let count = 0
  for (const row of await openMessages(scope, MOST_SENDING, context)) {
    if (row.state !== 'sending') continue
    count += 1
    await endSend(row, afterDeath(row, deps.clock.now(), capabilities), { scope, context })
  }
  return count
}

const MOST_SENDING = 100_000

/** Says in the chat that messages may be missing, once each: they were sent and no answer came. */
export async function tellUnknown(row: OutboundRow, scope: Scope, context: ServiceContext): Promise<boolean> {
  const { deps } = context
  const unknown = await deps.store.gateway.untold(scope.lease, row.chatId)
  if (unknown.length === 0) return false
  const { organizationId, account } = scope.lease
  const at = deps.clock.now()
  const first = unknown[0]!
  const which = unknown.length === 1 ? 'A message of mine' : `${unknown.length} messages of mine`
  const changes: GatewayChange[] = [
    { type: 'told-unknown', chatId: row.chatId },
    {
      type: 'add-outbound',
      message: {
        organizationId,
        account,
        key: `unknown/${first.number}`,
        chatId: row.chatId,
        isPrivate: row.isPrivate,
        body: { text: `⚠️ ${which} may not have arrived: the platform did not answer. I do not send it twice.` },
        createdAt: at,
        ...defined({ thread: row.thread }),
      },
    },
  ]
  await commitChanges(changes, scope, context)
  return true
}

export const storedBytes = (id: string, { lease }: Scope, { deps }: ServiceContext): Promise<Uint8Array | undefined> =>
  deps.store.gateway.fileBytes(lease.organizationId, id)

type Unsent = { reason: string; scope: Scope; context: ServiceContext }

/** A file that cannot be sent becomes a message that says why. */
export async function nameUnsent({ key, body }: OutboundRow, { reason, scope, context }: Unsent): Promise<void> {
  const said = unsentFile(body.file?.name ?? '', reason)
  await commitChanges([{ type: 'revise-outbound', key, body: said, at: context.deps.clock.now() }], scope, context)
}

/** The chat has another id from now on. */
export const moveChat = (from: string, to: string, { scope, context }: { scope: Scope; context: ServiceContext }) =>
  commitChanges([{ type: 'move-chat', from, to }], scope, context)
