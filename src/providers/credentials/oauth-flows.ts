import type { OAuthDetails } from '../../core/credential.ts'
import { defined } from '../../core/defined.ts'

/** How one vendor issues and renews tokens. It is all data, and every URL can be set in the configuration. */
export type OAuthFlow = {
  provider: string
  tokenUrl: string
  clientId?: string
  body: 'form' | 'json'
  /** Requested at the login; a renewal keeps the granted scope. */
  scope?: string
  /**
   * `refresh-token` is the grant of RFC 6749, section 6. `exchange` sends a long-lived token to `exchangeUrl`, which
   * returns a short-lived one; it can be repeated.
   */
  renewal: { type: 'refresh-token' } | { type: 'exchange'; exchangeUrl: string; scheme: 'token' | 'bearer' }
  /** Sent to the vendor's token endpoints. */
  requestHeaders?: Readonly<Record<string, string>>
  /** Sent with each model request that uses the token. */
  grantHeaders?: Readonly<Record<string, string>>
  /** A header of model requests whose value is a claim in the tokens. */
  claimHeader?: { header: string; claim: readonly string[] }
  device?: DeviceEndpoints
  /** Reports whether the account may use paid models. */
  accountUrl?: string
}

/** `standard` is RFC 8628. `codex` returns a code that is exchanged for tokens in a third request. */
export type DeviceEndpoints =
  | { type: 'standard'; codeUrl: string }
  | { type: 'codex'; codeUrl: string; pollUrl: string; verificationUrl: string; redirectUri: string }

type FlowOverride = Partial<Pick<OAuthFlow, 'tokenUrl' | 'clientId' | 'accountUrl' | 'scope'>> & {
  exchangeUrl?: string
  device?: DeviceEndpoints
}
export type FlowOverrides = Readonly<Record<string, FlowOverride>>

/**
 * None of these flows was ever tried against its vendor. URLs, client ids and bodies are those of public programs with
 * the same login, as far as they could be found; the tests use a simulated token endpoint. Newer Claude programs
 * reportedly use platform.claude.com for the same path.
 */
const FLOWS: Readonly<Record<string, OAuthFlow>> = {
  codex: {
    provider: 'codex',
    tokenUrl: 'https://auth.openai.com/oauth/token',
    clientId: 'app_EMoamEEZ73f0CkXaXp7hrann',
    body: 'form',
    scope: 'openid profile email offline_access',
    renewal: { type: 'refresh-token' },
    claimHeader: { header: 'chatgpt-account-id', claim: ['https://api.openai.com/auth', 'chatgpt_account_id'] },
    device: {
      type: 'codex',
      codeUrl: 'https://auth.openai.com/api/accounts/deviceauth/usercode',
      pollUrl: 'https://auth.openai.com/api/accounts/deviceauth/token',
      verificationUrl: 'https://auth.openai.com/codex/device',
      redirectUri: 'https://auth.openai.com/deviceauth/callback',
    },
  },
  anthropic: {
    provider: 'anthropic',
    tokenUrl: 'https://console.anthropic.com/v1/oauth/token',
    clientId: '9d1c250a-e61b-44d9-88ed-5944d1962f5e',
    body: 'json',
    renewal: { type: 'refresh-token' },
    grantHeaders: { 'anthropic-beta': 'oauth-2025-04-20' },
  },
  nous: {
    provider: 'nous',
    tokenUrl: 'https://portal.nousresearch.com/api/oauth/token',
    clientId: 'hermes-cli',
    body: 'form',
    scope: 'inference:invoke inference:mint_agent_key',
    renewal: { type: 'refresh-token' },
    device: { type: 'standard', codeUrl: 'https://portal.nousresearch.com/api/oauth/device/code' },
    accountUrl: 'https://portal.nousresearch.com/api/oauth/account',
  },
  copilot: {
    provider: 'copilot',
    tokenUrl: 'https://github.com/login/oauth/access_token',
    clientId: 'Iv1.b507a08c87ecfe98',
    body: 'form',
    scope: 'read:user',
    renewal: { type: 'exchange', exchangeUrl: 'https://api.github.com/copilot_internal/v2/token', scheme: 'token' },
    requestHeaders: { 'editor-version': 'vscode/1.99.3', 'editor-plugin-version': 'copilot-chat/0.26.7' },
    grantHeaders: { 'editor-version': 'vscode/1.99.3', 'copilot-integration-id': 'vscode-chat' },
    device: { type: 'standard', codeUrl: 'https://github.com/login/device/code' },
  },
  /** Any server that follows RFC 6749; its URL is stored with the credential. */
  generic: { provider: '', tokenUrl: '', body: 'form', renewal: { type: 'refresh-token' } },
}

/** The configuration overrides the credential, which overrides the vendor's defaults. Undefined: no such flow. */
export function findFlow(details: OAuthDetails, overrides: FlowOverrides): OAuthFlow | undefined {
  const flow = FLOWS[details.flow]
  if (!flow) return undefined
  const { exchangeUrl, ...override } = overrides[details.flow] ?? {}
  const fromCredential = defined({ tokenUrl: details.tokenUrl, clientId: details.clientId })
  const { renewal } = flow
  return {
    ...flow,
    ...fromCredential,
    ...override,
    renewal: renewal.type === 'exchange' && exchangeUrl !== undefined ? { ...renewal, exchangeUrl } : renewal,
  }
}

export const flowNames: readonly string[] = Object.keys(FLOWS)

/** The flow whose tokens serve this provider. */
export const findFlowName = (provider: string): string | undefined =>
  flowNames.find((name) => FLOWS[name]!.provider === provider)

/** The provider whose models accept the tokens of this flow; undefined for the generic flow. */
export const flowProvider = (name: string): string | undefined => FLOWS[name]?.provider || undefined
