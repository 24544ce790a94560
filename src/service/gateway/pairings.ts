import type { Sender } from '../../core/gateway/incoming.ts'
import {
  isOpenPairing,
  MAX_PENDING_PAIRINGS,
  newCode,
  PAIRING_TTL_MS,
  type Pairing,
} from '../../core/gateway/pairing.ts'
import type { ChatAddress } from '../../core/gateway/session.ts'
import { Problem } from '../../core/problem.ts'
import type { GatewayChange } from '../../ports/gateway-store.ts'
import { newAuditEntry } from '../people/audit.ts'
import type { ServiceContext } from '../service-context.ts'
import type { GatewayScope } from './gateway-scope.ts'

export const findPairing = (
  senderId: string,
  { lease }: Pick<GatewayScope, 'lease'>,
  { deps }: ServiceContext,
): Promise<Pairing | undefined> => deps.store.gateway.pairing(lease, senderId)

export const listPairings = ({ deps, organizationId }: ServiceContext): Promise<Pairing[]> =>
  deps.store.gateway.pairings(organizationId)

type Stranger = { sender: Sender; address: ChatAddress; known: Pairing | undefined; number: number }

/** A code for a stranger, at most one in an hour and three at once. Without changes the stranger gets no answer. */
export async function pairStranger(
  { sender, address, known, number }: Stranger,
  { lease }: GatewayScope,
  context: ServiceContext,
): Promise<GatewayChange[]> {
  const { store, clock, randomness } = context.deps
  const now = clock.now()
  if (known && isOpenPairing(known, now)) return []
  const pairings = await store.gateway.pairings(lease.organizationId)
  const open = pairings.filter((one) => one.account === lease.account && isOpenPairing(one, now))
  if (open.length >= MAX_PENDING_PAIRINGS) return []
  const code = newCode(randomness.fraction)
  const { organizationId, account } = lease
  const pairing: Pairing = {
    organizationId,
    account,
    senderId: sender.id,
    name: sender.name,
    state: 'pending',
    code,
    createdAt: now,
    expiresAt: now + PAIRING_TTL_MS,
  }
  const text =
    `Hello! I do not know you yet. Your pairing code is ${code}\n\n` +
    `The owner of this bot can approve it within an hour:\n\`holdfast gateway approve ${code}\`\n` +
    'or in the console, under Health, where it says "People".'
  return [
    { type: 'save-pairing', pairing },
    {
      type: 'add-outbound',
      message: { organizationId, account, key: `update/${number}`, ...address, body: { text }, createdAt: now },
    },
  ]
}

/** Approves the person who was shown this code, and tells them. */
export async function approvePairing(code: string, context: ServiceContext): Promise<Pairing> {
  const { deps, organizationId, caller } = context
  const { gateway, audit } = deps.store
  const wanted = code.trim().toUpperCase()
  const now = deps.clock.now()
  const found = (await gateway.pairings(organizationId)).find((one) => one.code === wanted)
  if (!found)
    throw new Problem('not-found', `There is no pairing code "${code}". \`holdfast gateway pairings\` lists them.`)
  const { account, senderId } = found
  const approved = await gateway.decidePairing({ organizationId, account }, senderId, (before) => {
    if (before.code !== wanted) throw new Problem('conflict', `The pairing code "${code}" was replaced by a newer one.`)
    if (before.state === 'approved') return before
    if (!isOpenPairing(before, now))
      throw new Problem(
        'gone',
        `The pairing code "${code}" has expired. ${before.name} gets a new one by writing again.`,
      )
    const { expiresAt: _, ...kept } = before
    return { ...kept, state: 'approved', approvedBy: caller.actor }
  })
  if (!approved) throw new Problem('not-found', `There is no pairing code "${code}".`)
  await audit.append(newAuditEntry({ verb: 'gateway.pair', object: `${account}/${senderId}` }, context))
  await gateway.add({
    organizationId,
    account,
    key: `paired/${senderId}/${approved.createdAt}`,
    // A private chat has the id of its person.
    chatId: senderId,
    isPrivate: true,
    body: { text: 'You are paired now. Write to me.' },
    createdAt: now,
  })
  return approved
}

/** Ends a pairing: the person is a stranger again. */
export async function revokePairing(
  { account, senderId }: { account: string; senderId: string },
  context: ServiceContext,
): Promise<Pairing> {
  const { deps, organizationId } = context
  const removed = await deps.store.gateway.decidePairing({ organizationId, account }, senderId, () => 'delete')
  if (!removed) throw new Problem('not-found', `${senderId} is not paired with the account "${account}".`)
  await deps.store.audit.append(newAuditEntry({ verb: 'gateway.unpair', object: `${account}/${senderId}` }, context))
  return removed
}
