import { defined } from '../../core/defined.ts'
import type { CredentialState, PoolMember } from '../../service/providers/providers.ts'
import { timeJson } from '../run-json.ts'
import { type Look, safeName, safeText } from '../terminal.ts'
import { ageText } from './run.ts'

/** One credential on one line: its label, state, reason and use. */
export function credentialLine(member: PoolMember, now: number, { paint }: Look): string {
  const { label, hint, kind, source, useCount, lastUsedAt, expiresAt, refreshFailure } = member
  const what = source === 'environment' ? 'from the environment' : kind === 'oauth' ? 'login' : 'key'
  const used = useCount
    ? `used ${useCount}×${lastUsedAt === undefined ? '' : `, last ${ageText(now - lastUsedAt)} ago`}`
    : ''
  const expiry = expiresAt === undefined ? '' : expiryText(expiresAt, now)
  const trouble = refreshFailure ? paint.yellow(`not refreshed: ${safeText(refreshFailure)}`) : ''
  const about = [what, used, expiry].filter(Boolean).join(', ')
  return [
    `${paint.bold(safeName(label))} ${paint.dim(hint ?? '')}`.trimEnd(),
    stateText(member.state, now, paint),
    paint.dim(about),
    trouble,
  ]
    .filter(Boolean)
    .join('  ')
}

function stateText(state: CredentialState, now: number, { green, yellow, red }: Look['paint']): string {
  switch (state.type) {
    case 'ok':
      return green('ok')
    case 'cooling-down':
      return yellow(`cooling down ${untilText(state.until, now)} (${state.reason}: ${safeText(state.detail)})`)
    case 'dead':
      return red(`dead (${safeText(state.reason)}: ${safeText(state.detail)})`)
  }
}

/** A future time, with the remaining duration. */
export const untilText = (until: number, now: number): string =>
  `until ${new Date(until).toISOString()} (${ageText(until - now)} left)`

const expiryText = (expiresAt: number, now: number): string =>
  expiresAt > now ? `token valid for ${ageText(expiresAt - now)}` : 'token expired; refreshed before use'

export const credentialJson = (member: PoolMember & { provider?: string }) => {
  const { id, provider, label, source, kind, hint, state, useCount, lastUsedAt, expiresAt, refreshFailure } = member
  return {
    id,
    ...defined({ provider }),
    label,
    source,
    kind,
    hint: hint ?? null,
    state: state.type,
    until: state.type === 'cooling-down' ? timeJson(state.until) : null,
    reason: state.type === 'ok' ? null : state.reason,
    detail: state.type === 'ok' ? null : state.detail,
    use_count: useCount ?? null,
    last_used_at: timeJson(lastUsedAt),
    expires_at: timeJson(expiresAt),
    refresh_failure: refreshFailure ?? null,
  }
}
