import { errorDetail } from '../call-fault.ts'

/** An answer of an authorization server. `unavailable`: none, or none that can be read. */
type OAuthFault = { type: 'refused'; code: string; detail: string } | { type: 'unavailable'; detail: string }

const MAX_DETAIL_CHARACTERS = 200

/** What an error of the SDK means. Its texts may contain what was sent, so `secrets` are removed from them. */
export function oauthFault(error: unknown, secrets: readonly (string | undefined)[]): OAuthFault {
  const hide = (text: string) =>
    secrets
      .reduce<string>((shown, one) => (one && one.length >= 8 ? shown.replaceAll(one, '…') : shown), text)
      .slice(0, MAX_DETAIL_CHARACTERS)
  const { errorCode: code, name, message } = error as { errorCode?: unknown; name?: string; message?: string }
  if (name === 'ZodError' || error instanceof SyntaxError)
    return { type: 'unavailable', detail: 'the authorization server sent an answer that is not of the protocol' }
  if (typeof code !== 'string') return { type: 'unavailable', detail: hide(errorDetail(error)) }
  // The SDK also uses this code for answers that it cannot read, with the whole body in the message.
  if (code === 'server_error' || code === 'temporarily_unavailable') {
    const status = /^HTTP \d{3}/.exec(message ?? '')?.[0]
    return { type: 'unavailable', detail: `the authorization server answered with ${status ?? code}` }
  }
  return { type: 'refused', code, detail: hide(message || code) }
}
