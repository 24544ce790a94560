import type { OAuthFlow } from './oauth-flows.ts'
import { asRecord, sendRequest } from './token-endpoint.ts'

type Entitlement = { type: 'entitled' } | { type: 'not-entitled' } | { type: 'unknown'; detail: string }

/** Asks the vendor whether the account behind a token may use paid models. */
export async function fetchEntitlement(flow: OAuthFlow, secret: string, signal: AbortSignal): Promise<Entitlement> {
  if (flow.accountUrl === undefined) return { type: 'unknown', detail: 'the provider has no account endpoint' }
  const reply = await sendRequest(flow.accountUrl, {
    headers: { ...flow.requestHeaders, authorization: `Bearer ${secret}` },
    signal,
  })
  if (reply.type === 'unavailable') return { type: 'unknown', detail: reply.detail }
  if (reply.status >= 300)
    return { type: 'unknown', detail: `the account endpoint answered with status ${reply.status}` }
  return { type: isPaid(reply.body) ? 'entitled' : 'not-entitled' }
}

/** The vendor sends an object or a boolean. */
function isPaid({ paid_service_access: access }: Record<string, unknown>): boolean {
  const verdict = asRecord(access)
  return verdict ? (verdict.allowed ?? verdict.paid_access) === true : access === true
}
