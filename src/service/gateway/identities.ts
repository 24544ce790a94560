import { defined } from '../../core/defined.ts'
import { type Identity, isOpenLink, LINK_CODE_TTL_MS } from '../../core/gateway/identity.ts'
import type { Chat, Sender } from '../../core/gateway/incoming.ts'
import { newCode } from '../../core/gateway/pairing.ts'
import { Problem } from '../../core/problem.ts'
import type { GatewayChange } from '../../ports/gateway-store.ts'
import { newAuditEntry } from '../people/audit.ts'
import type { ServiceContext } from '../service-context.ts'
import type { GatewayScope } from './gateway-scope.ts'

/** Who writes in a private chat, which is where the person can be reached. */
type Speaker = { chat: Chat; sender: Sender }

/** The reply, and what is written in the commit that ends the command. */
type LinkResult = { text: string; changes: GatewayChange[] }

const say = (text: string): LinkResult => ({ text, changes: [] })

/** `/link`: a code for the other account of the same person. */
export async function offerLink(speaker: Speaker, scope: GatewayScope, context: ServiceContext): Promise<LinkResult> {
  const { clock, randomness } = context.deps
  const known = await findIdentity(speaker, scope, context)
  const code = newCode(randomness.fraction)
  const identity = { ...newIdentity(speaker, scope, context), ...known, code }
  identity.codeExpiresAt = clock.now() + LINK_CODE_TTL_MS
  return {
    text: `Your link code is ${code}. Within ten minutes, write to me from your other account:\n\`${scope.commandPrefix}link ${code}\``,
    changes: [{ type: 'save-identity', identity }],
  }
}

/** `/link CODE`: the speaker and the person who was shown the code are one person from now on. */
export async function acceptLink(
  { speaker, code }: { speaker: Speaker; code: string },
  scope: GatewayScope,
  context: ServiceContext,
): Promise<LinkResult> {
  const { store, clock } = context.deps
  const wanted = code.trim().toUpperCase()
  const offered = await store.gateway.identityByCode(context.organizationId, wanted)
  if (!offered || !isOpenLink(offered, clock.now()))
    return say(
      `There is no link code "${wanted}", or it has expired. Write ${scope.commandPrefix}link on your other account for a new one.`,
    )
  if (offered.account === scope.lease.account && offered.senderId === speaker.sender.id)
    return say('This is the account that asked for the code. Write it from your other account.')
  const known = await findIdentity(speaker, scope, context)
  if (known?.personId === offered.personId) return say('These accounts are linked already.')
  const identity = { ...newIdentity(speaker, scope, context), personId: offered.personId }
  return {
    text: `This account and "${offered.account}" belong to one person now: ${offered.name}.`,
    changes: [{ type: 'link-identity', identity, code: wanted, ...defined({ former: known?.personId }) }],
  }
}

const findIdentity = (
  { sender }: Speaker,
  { lease }: GatewayScope,
  { deps }: ServiceContext,
): Promise<Identity | undefined> => deps.store.gateway.identity(lease, sender.id)

function newIdentity({ chat, sender }: Speaker, { lease }: GatewayScope, { deps }: ServiceContext): Identity {
  const { organizationId, account } = lease
  const personId = `person-${deps.randomness.uuid()}`
  const linkedAt = deps.clock.now()
  return { organizationId, account, senderId: sender.id, chatId: chat.id, personId, name: sender.name, linkedAt }
}

/** The accounts of the person who speaks, theirs here too; empty if none is linked. */
export async function accountsOfSpeaker(
  speaker: Speaker,
  scope: GatewayScope,
  context: ServiceContext,
): Promise<Identity[]> {
  const known = await findIdentity(speaker, scope, context)
  return known ? context.deps.store.gateway.identitiesOf(context.organizationId, known.personId) : []
}

/** Accounts of people, those of one person together. */
export const listIdentities = ({ deps, organizationId }: ServiceContext): Promise<Identity[]> =>
  deps.store.gateway.identities(organizationId)

/** The account belongs to a person of its own again. */
export async function unlinkIdentity(
  { account, senderId }: { account: string; senderId: string },
  context: ServiceContext,
): Promise<Identity> {
  const { deps, organizationId } = context
  const found = await deps.store.gateway.identity({ organizationId, account }, senderId)
  if (!found || !(await deps.store.gateway.removeIdentity({ organizationId, account }, senderId)))
    throw new Problem('not-found', `${senderId} of the account "${account}" is not linked to a person.`)
  await deps.store.audit.append(newAuditEntry({ verb: 'gateway.unlink', object: `${account}/${senderId}` }, context))
  return found
}
