import type { Grant } from '../../ports/credentials.ts'
import type { Quirks } from './quirks.ts'

type Auth = NonNullable<Quirks['auth']>

/** How a secret is shown to the provider. OAuth tokens are bearers everywhere; a local server needs none. */
export function authHeaders(grant: Grant | undefined, auth: Auth): Record<string, string> {
  if (!grant || auth === 'none') return {}
  // Keys are pasted with the end of their line, which no header can hold.
  return HEADERS[grant.kind === 'oauth' ? 'bearer' : auth](grant.secret.trim())
}

const HEADERS: Record<Auth, (secret: string) => Record<string, string>> = {
  bearer: (secret) => ({ authorization: `Bearer ${secret}` }),
  'api-key': (secret) => ({ 'api-key': secret }),
  'x-api-key': (secret) => ({ 'x-api-key': secret }),
  'x-goog-api-key': (secret) => ({ 'x-goog-api-key': secret }),
  none: () => ({}),
}
