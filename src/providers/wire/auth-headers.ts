import type { Grant } from '../../ports/credentials.ts'
import type { Quirks } from './quirks.ts'

type Auth = NonNullable<Quirks['auth']>

/** The headers that carry the secret. OAuth tokens are bearer tokens for every vendor; local servers need no header. */
export function authHeaders(grant: Grant | undefined, auth: Auth): Record<string, string> {
  if (!grant || auth === 'none') return {}
  // A pasted key may end with a newline, which a header must not contain.
  return HEADERS[grant.kind === 'oauth' ? 'bearer' : auth](grant.secret.trim())
}

const HEADERS: Record<Auth, (secret: string) => Record<string, string>> = {
  bearer: (secret) => ({ authorization: `Bearer ${secret}` }),
  'api-key': (secret) => ({ 'api-key': secret }),
  'x-api-key': (secret) => ({ 'x-api-key': secret }),
  'x-goog-api-key': (secret) => ({ 'x-goog-api-key': secret }),
  none: () => ({}),
}
