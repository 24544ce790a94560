import { defined } from '../../core/defined.ts'
import { Problem } from '../../core/problem.ts'
import type { DeviceFlow } from '../../ports/credential-admin.ts'
import { requireProviderName } from '../providers/providers.ts'
import type { ServiceContext } from '../service-context.ts'
import { addCredential, type ListedCredential } from './credentials.ts'

type SignInRequest = { provider: string; label?: string; signal: AbortSignal }

/** Starts a device-code login, if the vendor has one. Nothing is stored before the user completes it. */
export async function signIn({ provider, label, signal }: SignInRequest, context: ServiceContext): Promise<DeviceFlow> {
  requireProviderName(provider, context)
  const started = await context.credentialAdmin.startDeviceFlow(provider, { label: label?.trim() || 'default', signal })
  switch (started.type) {
    case 'started':
      return started.flow
    case 'unsupported':
      throw new Problem(
        'invalid',
        `Provider ${provider} does not support signing in with a device code. Add an API key with \`holdfast auth add ${provider}\`.`,
      )
    case 'failed':
      throw new Problem('unavailable', `The sign-in to ${provider} could not be started: ${started.detail}.`)
  }
}

type AddTokenRequest = {
  provider: string
  label?: string
  /** The JSON response of a token endpoint. */
  tokenResponse: string
  /** For a provider without a built-in flow: its token endpoint and the client id to refresh with. */
  tokenUrl?: string
  clientId?: string
  onSameLabel?: 'replace'
}

/** Stores tokens that were issued elsewhere; from then on they are refreshed automatically. */
export async function addToken(request: AddTokenRequest, context: ServiceContext): Promise<ListedCredential> {
  const { provider, label, tokenResponse, tokenUrl, clientId, onSameLabel } = request
  const { access_token, refresh_token, expires_in, expires_at } = parseTokenResponse(tokenResponse)
  if (typeof access_token !== 'string' || typeof refresh_token !== 'string')
    throw new Problem('invalid', 'The token response must contain an access_token and a refresh_token.')
  const hasFlow = context.directory.loginNames().includes(provider)
  if (!hasFlow && tokenUrl === undefined)
    throw new Problem('invalid', `The token endpoint of ${provider} is not known. Give its address with --token-url.`)
  const expiresAt = expiryOf(expires_in, expires_at, context.deps.clock.now())
  return addCredential(
    {
      provider,
      secret: access_token,
      refreshToken: refresh_token,
      oauth: {
        flow: hasFlow ? provider : 'generic',
        ...defined({ tokenUrl, clientId }),
      },
      ...defined({ label, expiresAt, onSameLabel }),
    },
    context,
  )
}

function parseTokenResponse(answer: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(answer)
    if (parsed !== null && typeof parsed === 'object') return parsed as Record<string, unknown>
  } catch {
    // Reported below without the text: it is a secret.
  }
  throw new Problem('invalid', 'The token response must be a JSON object, as a token endpoint returns it.')
}

/** `expires_in` is seconds from now, `expires_at` seconds since 1970. */
function expiryOf(expiresIn: unknown, expiresAt: unknown, now: number): number | undefined {
  if (typeof expiresIn === 'number') return now + expiresIn * 1_000
  return typeof expiresAt === 'number' ? expiresAt * 1_000 : undefined
}
