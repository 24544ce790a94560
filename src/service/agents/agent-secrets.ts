import type { Agent } from '../../core/agent.ts'
import type { AgentId } from '../../core/id.ts'
import type { ServiceContext } from '../service-context.ts'

export type Secrets = Record<string, string>

/** Secrets of an agent under the key of the home; undefined where there are none to keep. */
export const sealSecrets = (id: AgentId, secrets: Secrets, { secretKeys }: ServiceContext): string | undefined =>
  Object.keys(secrets).length === 0 ? undefined : secretKeys.box.seal(JSON.stringify(secrets), id)

/** Replaces the secrets the agent had. */
export function withSecrets(agent: Agent, sealed: string | undefined): Agent {
  const { sealedSecrets: _, ...rest } = agent
  return sealed === undefined ? rest : { ...rest, sealedSecrets: sealed }
}

/** With their values for callers that may act as the agent; a key with the scope `read` is told their names only. */
export function secretsOf(
  { id, sealedSecrets }: Agent,
  { secretKeys, caller }: ServiceContext,
): Secrets | 'unreadable' {
  if (sealedSecrets === undefined) return {}
  const text = secretKeys.box.open(sealedSecrets, id)
  if (text === undefined) return 'unreadable'
  const secrets = JSON.parse(text) as Secrets
  if (caller.scope !== 'read') return secrets
  return Object.fromEntries(Object.keys(secrets).map((name) => [name, '']))
}
