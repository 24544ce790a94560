import type { CredentialId } from '../../core/credential.ts'
import type { Clock } from '../../ports/clock.ts'
import type { DeviceFlow, DeviceFlowStart, DeviceOutcome } from '../../ports/credential-admin.ts'
import type { TokenResponse, Tokens } from '../../ports/token-refresh.ts'
import { type DeviceEndpoints, type FlowOverrides, findFlow, findFlowName, type OAuthFlow } from './oauth-flows.ts'
import { asText, parseOAuthError, post, refreshTokens, requestTokens } from './token-endpoint.ts'

type DeviceFlowDeps = {
  flows: FlowOverrides
  clock: Pick<Clock, 'now' | 'sleep'>
  /** Stores the tokens of the login. */
  storeTokens(flow: string, tokens: Tokens): Promise<CredentialId>
}

const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:device_code'
const LIFETIME_MS = 15 * 60_000
const INTERVAL_MS = 5_000

/** The OAuth device flow: the user opens a URL and enters a code. */
export async function startDeviceFlow(
  provider: string,
  deps: DeviceFlowDeps,
  signal: AbortSignal,
): Promise<DeviceFlowStart> {
  const name = findFlowName(provider)
  const flow = name === undefined ? undefined : findFlow({ flow: name }, deps.flows)
  if (name === undefined || !flow?.device) return { type: 'unsupported' }
  const scope = flow.scope !== undefined && flow.device.type === 'standard' ? { scope: flow.scope } : {}
  const fields = { client_id: flow.clientId ?? '', ...scope }
  const reply = await post(flow.device.codeUrl, fields, { flow: withBodyFormat(flow, flow.device), signal })
  if (reply.type === 'unavailable') return { type: 'failed', detail: reply.detail }
  const code = parseDeviceCode(reply.body, flow.device)
  if (!code) {
    const { code: error = `status ${reply.status}` } = parseOAuthError(reply.body)
    return { type: 'failed', detail: `the provider returned no device code (${error})` }
  }
  const started = { flow, name, code, endsAt: deps.clock.now() + code.lifetimeMs }
  const device: DeviceFlow = {
    userCode: code.userCode,
    verificationUrl: code.verificationUrl,
    poll: (until) => pollForTokens(started, deps, until),
  }
  return { type: 'started', flow: device }
}

type DeviceCode = {
  userCode: string
  /** Identifies this login to the vendor; a secret until the login ends. */
  deviceCode: string
  verificationUrl: string
  intervalMs: number
  lifetimeMs: number
}

type PendingLogin = { flow: OAuthFlow; name: string; code: DeviceCode; endsAt: number }

async function pollForTokens(started: PendingLogin, deps: DeviceFlowDeps, signal: AbortSignal): Promise<DeviceOutcome> {
  const { clock, storeTokens } = deps
  let { intervalMs } = started.code
  while (!signal.aborted && clock.now() < started.endsAt) {
    await clock.sleep(intervalMs, signal)
    if (signal.aborted) break
    const answer = await pollOnce(started, clock.now(), signal)
    switch (answer.type) {
      case 'tokens':
        return { type: 'stored', credentialId: await storeTokens(started.name, answer.tokens) }
      // The network may come back before the code runs out.
      case 'unavailable':
        break
      case 'refused':
        if (answer.code === 'authorization_pending') break
        if (answer.code === 'slow_down') intervalMs += INTERVAL_MS
        else if (answer.code === 'expired_token') return { type: 'expired' }
        else if (answer.code === 'access_denied') return { type: 'denied' }
        else return { type: 'failed', detail: `${answer.code}: ${answer.detail}` }
    }
  }
  return signal.aborted ? { type: 'cancelled' } : { type: 'expired' }
}

async function pollOnce(started: PendingLogin, now: number, signal: AbortSignal): Promise<TokenResponse> {
  const { flow, code } = started
  const device = flow.device!
  if (device.type === 'codex') return pollCodex(started, device, { now, signal })
  const answer = await requestTokens({ grant_type: GRANT_TYPE, device_code: code.deviceCode }, { flow, now, signal })
  if (answer.type !== 'tokens' || flow.renewal.type !== 'exchange') return answer
  // The login returns the long-lived token; the first exchange proves that it works.
  const longLived = answer.tokens.secret
  const exchanged = await refreshTokens(longLived, { flow, now, signal })
  if (exchanged.type === 'refused') return exchanged
  // The endpoint did not answer: store the login as expired, so that the exchange happens before its first use.
  const tokens = exchanged.type === 'tokens' ? exchanged.tokens : { secret: longLived, expiresAt: now }
  return { type: 'tokens', tokens: { ...tokens, refreshToken: longLived } }
}

type CodexEndpoints = Extract<DeviceEndpoints, { type: 'codex' }>

async function pollCodex(
  { flow, code }: PendingLogin,
  device: CodexEndpoints,
  { now, signal }: { now: number; signal: AbortSignal },
): Promise<TokenResponse> {
  const fields = { device_auth_id: code.deviceCode, user_code: code.userCode }
  const reply = await post(device.pollUrl, fields, { flow: { ...flow, body: 'json' }, signal })
  if (reply.type === 'unavailable') return reply
  const authorization = asText(reply.body.authorization_code)
  const verifier = asText(reply.body.code_verifier)
  // This vendor answers 403 or 404 until the user has finished.
  if (authorization === undefined || verifier === undefined)
    return { type: 'refused', code: 'authorization_pending', detail: '', isFinal: false }
  const grant = {
    grant_type: 'authorization_code',
    code: authorization,
    code_verifier: verifier,
    redirect_uri: device.redirectUri,
  }
  return requestTokens(grant, { flow, now, signal })
}

function parseDeviceCode(body: Record<string, unknown>, device: DeviceEndpoints): DeviceCode | undefined {
  const userCode = asText(body.user_code)
  const deviceCode = asText(device.type === 'codex' ? body.device_auth_id : body.device_code)
  const verificationUrl =
    device.type === 'codex'
      ? device.verificationUrl
      : (asText(body.verification_uri_complete) ?? asText(body.verification_uri))
  if (userCode === undefined || deviceCode === undefined || verificationUrl === undefined) return undefined
  const intervalMs = toMilliseconds(body.interval) ?? INTERVAL_MS
  return {
    userCode,
    deviceCode,
    verificationUrl,
    intervalMs,
    lifetimeMs: toMilliseconds(body.expires_in) ?? LIFETIME_MS,
  }
}

function toMilliseconds(seconds: unknown): number | undefined {
  const number = Number(seconds)
  return seconds !== undefined && Number.isFinite(number) && number >= 0 ? number * 1_000 : undefined
}

const withBodyFormat = (flow: OAuthFlow, device: DeviceEndpoints): OAuthFlow =>
  device.type === 'codex' ? { ...flow, body: 'json' } : flow
