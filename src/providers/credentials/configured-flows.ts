import type { PoolStrategy } from '../../core/credential.ts'
import type { FlowOverrides } from './oauth-flows.ts'

type OAuthFields = Partial<
  Record<'token_url' | 'client_id' | 'account_url' | 'exchange_url' | 'scope' | 'device_code_url', string | undefined>
>

/** What the operator configured about the credentials of providers. */
type ConfiguredProviders = Readonly<
  Record<string, { strategy?: PoolStrategy | undefined; oauth?: OAuthFields | undefined }>
>

export const strategiesOf = (providers: ConfiguredProviders) =>
  Object.fromEntries(Object.entries(providers).flatMap(([name, { strategy }]) => (strategy ? [[name, strategy]] : [])))

export function oauthOverrides(providers: ConfiguredProviders): FlowOverrides {
  return Object.fromEntries(
    Object.entries(providers).flatMap(([name, { oauth }]) => {
      if (!oauth) return []
      const { token_url: tokenUrl, client_id: clientId, account_url: accountUrl, exchange_url: exchangeUrl } = oauth
      const { scope, device_code_url: codeUrl } = oauth
      const device = codeUrl ? { type: 'standard', codeUrl } : undefined
      const fields = Object.entries({ tokenUrl, clientId, accountUrl, exchangeUrl, scope, device })
      return [[name, Object.fromEntries(fields.filter(([, value]) => value))]]
    }),
  )
}
