import type { Agent } from '../../core/agent.ts'
import type { AgentId } from '../../core/id.ts'
import type { Desk } from '../desk.ts'

export type Secrets = Record<string, string>

/** What is kept of secrets: all of it under the key of the home, or, where there is none, only how they are called. */
export type KeptSecrets = { type: 'sealed'; text: string } | { type: 'none' } | { type: 'unkept'; names: string[] }

export function sealSecrets(id: AgentId, secrets: Secrets, { secretKeys }: Desk): KeptSecrets {
  const names = Object.keys(secrets)
  if (names.length === 0) return { type: 'none' }
  if (!secretKeys) return { type: 'unkept', names }
  return { type: 'sealed', text: secretKeys.box.seal(JSON.stringify(secrets), id) }
}

/** In place of what the agent had. */
export function withSecrets(agent: Agent, kept: KeptSecrets): Agent {
  const { sealedSecrets: _, settings = {}, ...rest } = agent
  const { unkeptSecrets: __, ...others } = settings
  switch (kept.type) {
    case 'none':
      return { ...rest, settings: others }
    case 'sealed':
      return { ...rest, settings: others, sealedSecrets: kept.text }
    case 'unkept':
      return { ...rest, settings: { ...others, unkeptSecrets: kept.names } }
  }
}

/** Their values, for whoever may act as the agent does. Whoever may only look is told how they are called. */
export function secretsOf({ id, sealedSecrets }: Agent, { secretKeys, caller }: Desk): Secrets | 'unreadable' {
  if (sealedSecrets === undefined) return {}
  const text = secretKeys?.box.open(sealedSecrets, id)
  if (text === undefined) return 'unreadable'
  const secrets = JSON.parse(text) as Secrets
  if (caller?.scope !== 'read') return secrets
  return Object.fromEntries(Object.keys(secrets).map((name) => [name, '']))
}
