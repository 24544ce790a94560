import type { Agent } from '../../core/agent.ts'
import type { AgentId, OrganizationId } from '../../core/id.ts'
import { scopeCovers } from '../../core/people.ts'
import type { SecretBox } from '../../ports/secret-box.ts'
import type { Store } from '../../ports/store.ts'
import type { ServiceContext } from '../service-context.ts'

export type Secrets = Record<string, string>

/** Encrypts the secrets of an agent with the key of the home; undefined if there are none. */
export const sealSecrets = (id: AgentId, secrets: Secrets, { secretKeys }: ServiceContext): string | undefined =>
  Object.keys(secrets).length === 0 ? undefined : secretKeys.box.seal(JSON.stringify(secrets), id)

/** Replaces all secrets of the agent. */
export function withSecrets(agent: Agent, sealed: string | undefined): Agent {
  const { sealedSecrets: _, ...rest } = agent
  return sealed === undefined ? rest : { ...rest, sealedSecrets: sealed }
}

type SecretSource = { store: Pick<Store, 'agents'>; box: SecretBox }

/** One secret, for a tool that acts for the agent. */
export async function findSecret(
  [organizationId, agentId, name]: [OrganizationId, AgentId, string],
  { store, box }: SecretSource,
): Promise<string | undefined> {
  return (await findSecrets([organizationId, agentId], { store, box }))[name]
}

/** All of them; none if they cannot be opened with the keys of this home. */
export async function findSecrets(
  [organizationId, agentId]: [OrganizationId, AgentId],
  { store, box }: SecretSource,
): Promise<Secrets> {
  const agent = await store.agents.get(organizationId, agentId)
  const text = agent?.sealedSecrets && box.open(agent.sealedSecrets, agentId)
  return text ? (JSON.parse(text) as Secrets) : {}
}

/** With values for callers that may act as the agent; a key with scope `read` gets the names only. */
export function secretsOf(
  { id, sealedSecrets }: Agent,
  { secretKeys, caller }: ServiceContext,
): Secrets | 'unreadable' {
  if (sealedSecrets === undefined) return {}
  const text = secretKeys.box.open(sealedSecrets, id)
  if (text === undefined) return 'unreadable'
  const secrets = JSON.parse(text) as Secrets
  if (scopeCovers(caller.scope, 'agent')) return secrets
  return Object.fromEntries(Object.keys(secrets).map((name) => [name, '']))
}
