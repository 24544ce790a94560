import { createHash } from 'node:crypto'
import type { Json } from '../core/json.ts'
import type { Exchange } from './exchange.ts'
import type { KeyRing } from './key-ring.ts'
import type { HttpAnswer } from './play-answer.ts'
import { asObject } from './request-fields.ts'

type Tokens = {
  access_token: string
  refresh_token: string
  token_type: 'Bearer'
  expires_in: number
  scope: string
}

export type OAuth = {
  control: {
    /** Issues tokens without a sign-in. */
    issue(): Tokens
    /** Approves the device with this user code. */
    approve(userCode: string): void
    deny(userCode: string): void
    /** Revokes an unused refresh token. */
    revoke(refreshToken: string): void
    readonly settings: OAuthSettings
  }
  answer(exchange: Exchange): HttpAnswer
  reset(): void
}

type OAuthSettings = {
  expiresInSeconds: number
  /** Polls answered with `authorization_pending` before the device is approved; `never` waits for `approve`. */
  pendingPolls: number | 'never'
  /** Errors as in the OAuth standard, or as in the Codex login. */
  errors: 'standard' | 'codex'
  /** A refresh revokes the access token that was issued before. */
  revokesOnRefresh: boolean
}

const DEFAULT_SETTINGS: OAuthSettings = {
  expiresInSeconds: 3600,
  pendingPolls: 1,
  errors: 'standard',
  revokesOnRefresh: false,
}

type Device = { userCode: string; polls: number; state: 'pending' | 'approved' | 'denied' }
type AuthorizationCode = { challenge: string | undefined }
type RefreshToken = { state: 'fresh' | 'used' | 'revoked'; access: string }

/** An OAuth server: codes with PKCE, single-use refresh tokens, device codes. Tokens are numbered, not random. */
export function newOAuth({ ring, url }: { ring: KeyRing; url: () => string }): OAuth {
  const settings: OAuthSettings = { ...DEFAULT_SETTINGS }
  const codes = new Map<string, AuthorizationCode>()
  const devices = new Map<string, Device>()
  const refreshes = new Map<string, RefreshToken>()
  let counted = { tokens: 0, codes: 0, devices: 0 }

  const issue = (): Tokens => {
    counted.tokens += 1
    const access = `access-${counted.tokens}`
    ring.admit(access)
    refreshes.set(`refresh-${counted.tokens}`, { state: 'fresh', access })
    return {
      access_token: access,
      refresh_token: `refresh-${counted.tokens}`,
      token_type: 'Bearer',
      expires_in: settings.expiresInSeconds,
      scope: 'openid profile offline_access',
    }
  }
  const granted = (): HttpAnswer => ({ status: 200, body: issue() })

  const authorize = (query: URLSearchParams): HttpAnswer => {
    const redirect = query.get('redirect_uri')
    if (!redirect) return refused('invalid_request', 'redirect_uri is missing')
    counted.codes += 1
    const code = `code-${counted.codes}`
    codes.set(code, { challenge: query.get('code_challenge') ?? undefined })
    const target = new URL(redirect)
    target.searchParams.set('code', code)
    if (query.has('state')) target.searchParams.set('state', query.get('state')!)
    return { status: 302, headers: { location: target.href } }
  }

  const startDevice = (): HttpAnswer => {
    counted.devices += 1
    const userCode = `USER-${String(counted.devices).padStart(4, '0')}`
    devices.set(`device-${counted.devices}`, { userCode, polls: 0, state: 'pending' })
    const page = `${url()}/oauth/device`
    return {
      status: 200,
      body: {
        device_code: `device-${counted.devices}`,
        user_code: userCode,
        verification_uri: page,
        verification_uri_complete: `${page}?user_code=${userCode}`,
        expires_in: 900,
        interval: 1,
      },
    }
  }

  const settle = (userCode: string, state: Device['state']): boolean => {
    const device = [...devices.values()].find((one) => one.userCode === userCode)
    if (device) device.state = state
    return device !== undefined
  }

  const visitDevice = (query: URLSearchParams): HttpAnswer =>
    settle(query.get('user_code') ?? '', 'approved')
      ? { status: 200, body: 'Approved. Return to the device.' }
      : { status: 404, body: 'Unknown user_code.' }

  const exchangeCode = ({ code, code_verifier }: Form): HttpAnswer => {
    const known = codes.get(code ?? '')
    if (!known) return refused('invalid_grant', 'the authorization code is unknown or was already used')
    if (known.challenge !== undefined && known.challenge !== challengeOf(code_verifier ?? ''))
      return refused('invalid_grant', 'the code_verifier does not match the code_challenge')
    codes.delete(code!)
    return granted()
  }

  const exchangeRefresh = ({ refresh_token }: Form): HttpAnswer => {
    const known = refreshes.get(refresh_token ?? '')
    if (known?.state !== 'fresh') return refuseRefresh(known?.state ?? 'unknown', settings.errors)
    known.state = 'used'
    if (settings.revokesOnRefresh) ring.set(known.access, 'revoked')
    return granted()
  }

  const pollDevice = ({ device_code }: Form): HttpAnswer => {
    const device = devices.get(device_code ?? '')
    if (!device) return refused('expired_token', 'the device code is unknown or has expired')
    if (device.state === 'denied') return refused('access_denied', 'the user declined')
    const isApproved =
      device.state === 'approved' || (settings.pendingPolls !== 'never' && device.polls >= settings.pendingPolls)
    device.polls += 1
    if (!isApproved) return refused('authorization_pending', 'the code has not been entered yet')
    devices.delete(device_code!)
    return granted()
  }

  const grants: Record<string, (form: Form) => HttpAnswer> = {
    authorization_code: exchangeCode,
    refresh_token: exchangeRefresh,
    'urn:ietf:params:oauth:grant-type:device_code': pollDevice,
  }

  return {
    control: {
      issue,
      settings,
      approve: (userCode) => void settle(userCode, 'approved'),
      deny: (userCode) => void settle(userCode, 'denied'),
      revoke(refreshToken) {
        const known = refreshes.get(refreshToken)
        if (known) known.state = 'revoked'
      },
    },
    answer({ received: { path, query, raw, body } }) {
      if (path.endsWith('/authorize')) return authorize(query)
      if (/\/device(\/code|_authorization)$/.test(path)) return startDevice()
      if (path.endsWith('/device')) return visitDevice(query)
      if (!path.endsWith('/token')) return { status: 404, body: { error: 'not_found' } }
      const form = formOf(raw, body)
      const grant = grants[form.grant_type ?? '']
      return grant ? grant(form) : refused('unsupported_grant_type', `grant_type is ${form.grant_type ?? 'missing'}`)
    },
    reset() {
      Object.assign(settings, DEFAULT_SETTINGS)
      for (const memory of [codes, devices, refreshes]) memory.clear()
      counted = { tokens: 0, codes: 0, devices: 0 }
    },
  }
}

type Form = { [field: string]: string | undefined }

/** Vendors take a form or JSON. */
const formOf = (raw: string, body: Json): Form => {
  const fields = asObject(body)
  return Object.keys(fields).length > 0 ? (fields as Form) : Object.fromEntries(new URLSearchParams(raw))
}

const refused = (error: string, description: string): HttpAnswer => ({
  status: 400,
  body: { error, error_description: description },
})

const REFRESH_REFUSALS: Record<'unknown' | 'used' | 'revoked', { code: string; description: string }> = {
  unknown: { code: 'invalid_grant', description: 'the refresh token is unknown' },
  used: { code: 'refresh_token_reused', description: 'refresh_token_reused: the refresh token was already used' },
  revoked: { code: 'token_revoked', description: 'the refresh token was revoked' },
}

function refuseRefresh(why: keyof typeof REFRESH_REFUSALS, errors: OAuthSettings['errors']): HttpAnswer {
  const { code, description } = REFRESH_REFUSALS[why]
  if (errors === 'standard') return refused('invalid_grant', description)
  return { status: 401, body: { error: { message: description, type: 'invalid_request_error', param: null, code } } }
}

const challengeOf = (verifier: string): string => createHash('sha256').update(verifier).digest('base64url')
