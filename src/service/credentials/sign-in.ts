import { defined } from '../../core/defined.ts'
import { Problem } from '../../core/problem.ts'
import type { DeviceFlow } from '../../ports/credential-admin.ts'
import { requireProviderName } from '../providers/providers.ts'
import type { ServiceContext } from '../service-context.ts'
import { addCredential, type ListedCredential } from './credentials.ts'

type SignInRequest = { provider: string; label?: string; signal: AbortSignal }

/** Begins a login with a code, where the vendor has one. Nothing is kept before the person is done. */
export async function signIn({ provider, label, signal }: SignInRequest, context: ServiceContext): Promise<DeviceFlow> {
  requireProviderName(provider, context)
  const started = await context.credentialAdmin.startDeviceFlow(provider, { label: label?.trim() || 'default', signal })
  switch (started.type) {
    case 'started':
      return started.flow
    case 'unsupported':
      throw new Problem(
        'invalid',
        `${provider} has no login with a code. Add a key: \`holdfast auth add ${provider}\`.`,
      )
    case 'failed':
      throw new Problem('unavailable', `The login at ${provider} could not begin: ${started.detail}.`)
  }
}

type AddTokenRequest = {
  provider: string
  label?: string
  /** The JSON a token endpoint answered with. */
  tokenResponse: string
  /** For a provider whose flow is not known here: where its tokens are renewed, and as whom. */
  tokenUrl?: string
  clientId?: string
  onSameLabel?: 'replace'
}

/** Stores tokens that were issued elsewhere; from then on they are refreshed automatically. */
export async function addToken(request: AddTokenRequest, context: ServiceContext): Promise<ListedCredential> {
  const { provider, label, tokenResponse, tokenUrl, clientId, onSameLabel } = request
  const { access_token, refresh_token, expires_in, expires_at } = parseTokenResponse(tokenResponse)
  if (typeof access_token !== 'string' || typeof refresh_token !== 'string')
    throw new Problem(
      'invalid',
      'The answer of a token endpoint has an access_token and a refresh_token; this has not.',
    )
  const hasFlow = context.directory.loginNames().includes(provider)
  if (!hasFlow && tokenUrl === undefined)
    throw new Problem('invalid', `How tokens of ${provider} are renewed is not known here: say where with --token-url.`)
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
    // Told below; the text is a secret and is not repeated.
  }
  throw new Problem('invalid', 'What was given is no JSON object, as a token endpoint answers with.')
}

/** `expires_in` is seconds from now, `expires_at` seconds since 1970. */
function expiryOf(expiresIn: unknown, expiresAt: unknown, now: number): number | undefined {
  if (typeof expiresIn === 'number') return now + expiresIn * 1_000
  return typeof expiresAt === 'number' ? expiresAt * 1_000 : undefined
}
