import { defined } from '../../core/defined.ts'
import type { TokenResponse, Tokens } from '../../ports/token-refresh.ts'
import { loadUndici } from '../load-undici.ts'
import type { OAuthFlow } from './oauth-flows.ts'

const DEADLINE_MS = 15_000
const MAX_DETAIL_CHARACTERS = 200

type TokenRequest = { flow: OAuthFlow; now: number; signal: AbortSignal }

export function refreshTokens(refreshToken: string, request: TokenRequest): Promise<TokenResponse> {
  if (request.flow.renewal.type === 'exchange') return exchangeToken(refreshToken, request)
  return requestTokens({ grant_type: 'refresh_token', refresh_token: refreshToken }, request)
}

/** One request to the token endpoint with this grant. */
export async function requestTokens(grant: Record<string, string>, request: TokenRequest): Promise<TokenResponse> {
  const { flow, signal } = request
  const client: Record<string, string> = flow.clientId === undefined ? {} : { client_id: flow.clientId }
  const reply = await post(flow.tokenUrl, { ...grant, ...client }, { flow, signal })
  return toTokenResponse(reply, Object.values(grant), request)
}

async function exchangeToken(longLived: string, request: TokenRequest): Promise<TokenResponse> {
  const { flow, signal } = request
  if (flow.renewal.type !== 'exchange') throw new Error('this flow has no exchange')
  const authorization = `${flow.renewal.scheme} ${longLived}`
  const reply = await sendRequest(flow.renewal.exchangeUrl, {
    headers: { ...flow.requestHeaders, authorization },
    signal,
  })
  // This vendor sends no error code: 401 means that the long-lived token was revoked.
  if (reply.type === 'reply' && reply.status === 401)
    return {
      type: 'refused',
      code: 'token_revoked',
      detail: 'the provider no longer accepts this login',
      isFinal: true,
    }
  return toTokenResponse(reply, [longLived], request)
}

type EndpointReply =
  | { type: 'reply'; status: number; body: Record<string, unknown> }
  | { type: 'unavailable'; detail: string }

export function post(
  url: string,
  fields: Record<string, string>,
  { flow, signal }: Pick<TokenRequest, 'flow' | 'signal'>,
): Promise<EndpointReply> {
  const isForm = flow.body === 'form'
  const headers = {
    ...flow.requestHeaders,
    'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json',
  }
  const body = isForm ? new URLSearchParams(fields).toString() : JSON.stringify(fields)
  return sendRequest(url, { headers, body, signal })
}

type EndpointRequest = { headers: Record<string, string>; body?: string; signal: AbortSignal }

/** Redirects are not followed, so that a token reaches only the configured host. */
export async function sendRequest(url: string, { headers, body, signal }: EndpointRequest): Promise<EndpointReply> {
  try {
    const { request } = await loadUndici()
    const { statusCode, body: stream } = await request(url, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { accept: 'application/json', ...headers },
      ...defined({ body }),
      signal: AbortSignal.any([signal, AbortSignal.timeout(DEADLINE_MS)]),
    })
    const text = await stream.text()
    const parsed = parseJsonObject(text)
    if (parsed) return { type: 'reply', status: statusCode, body: parsed }
    return {
      type: 'unavailable',
      detail: `${hostOf(url)} answered with status ${statusCode} and a body that is not JSON`,
    }
  } catch (error) {
    // Only the code: the message may contain what was sent.
    const { code, name } = error as { code?: unknown; name?: string }
    const reason = typeof code === 'string' ? code : (name ?? 'unknown error')
    return { type: 'unavailable', detail: `${hostOf(url)} could not be reached (${reason})` }
  }
}

/** RFC 6749, section 5.2, the additions of vendors, and the permanent states of a token. */
const FINAL_CODES: ReadonlySet<string> = new Set([
  'invalid_grant',
  'unauthorized_client',
  'refresh_token_reused',
  'refresh_token_expired',
  'refresh_token_invalidated',
  'token_revoked',
  'token_invalidated',
  'invalid_token',
])

function toTokenResponse(
  reply: EndpointReply,
  sentSecrets: readonly string[],
  { flow, now }: TokenRequest,
): TokenResponse {
  if (reply.type === 'unavailable') return reply
  const { status, body } = reply
  const tokens = status < 300 ? parseTokens(body, flow, now) : undefined
  if (tokens) return { type: 'tokens', tokens }
  const { code, text } = parseOAuthError(body)
  if (code === undefined) return { type: 'unavailable', detail: `the token endpoint answered with status ${status}` }
  // A 5xx or 429 response says nothing final about the token.
  const isFinal = status < 500 && status !== 429 && FINAL_CODES.has(code)
  return { type: 'refused', code, detail: redactSecrets(sentSecrets, text ?? code), isFinal }
}

function parseTokens(body: Record<string, unknown>, flow: OAuthFlow, now: number): Tokens | undefined {
  const secret = asText(body.access_token) ?? asText(body.token)
  if (secret === undefined) return undefined
  const refreshToken = asText(body.refresh_token)
  const expiresAt = parseExpiry(body, now)
  const header = parseClaimHeader(body, flow)
  const baseUrl = asText(asRecord(body.endpoints)?.api) ?? asText(body.inference_base_url)
  return {
    secret,
    ...defined({ refreshToken, expiresAt, headers: header, baseUrl }),
  }
}

/** `expires_in` is seconds from now, `expires_at` seconds since 1970. */
function parseExpiry({ expires_in, expires_at }: Record<string, unknown>, now: number): number | undefined {
  const left = Number(expires_in)
  if (expires_in !== undefined && Number.isFinite(left)) return now + Math.round(left * 1_000)
  return typeof expires_at === 'number' ? Math.round(expires_at * 1_000) : undefined
}

function parseClaimHeader(body: Record<string, unknown>, flow: OAuthFlow): Record<string, string> | undefined {
  if (!flow.claimHeader) return undefined
  const { header, claim } = flow.claimHeader
  for (const token of [body.id_token, body.access_token]) {
    const [, payload] = asText(token)?.split('.') ?? []
    let value: unknown =
      payload === undefined ? undefined : parseJsonObject(Buffer.from(payload, 'base64url').toString('utf8'))
    for (const name of claim) value = asRecord(value)?.[name]
    if (typeof value === 'string') return { [header]: value }
  }
  return undefined
}

/** Reads `{error: "code", error_description}` of the standard and `{error: {code, message}}` of some vendors. */
export function parseOAuthError(body: Record<string, unknown>): { code?: string; text?: string } {
  const inner = asRecord(body.error)
  const code = asText(body.error) ?? asText(inner?.code) ?? asText(inner?.type)
  const text = asText(body.error_description) ?? asText(inner?.message)
  return defined({ code, text })
}

/** A vendor may echo the secret it received; stored details must not contain it. */
function redactSecrets(secrets: readonly string[], text: string): string {
  const long = secrets.filter((secret) => secret.length >= 8)
  return long
    .reduce((redacted, secret) => redacted.replaceAll(secret, '[secret]'), text)
    .slice(0, MAX_DETAIL_CHARACTERS)
}

function parseJsonObject(text: string): Record<string, unknown> | undefined {
  try {
    return asRecord(JSON.parse(text))
  } catch {
    return undefined
  }
}

export const asText = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

export const asRecord = (value: unknown): Record<string, unknown> | undefined =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : 'an invalid URL')
