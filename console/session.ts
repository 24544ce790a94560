import { effect, signal } from '@preact/signals'
import { defined } from '../src/core/defined.ts'
import { type Failure, request, whenSignedOut } from './api.ts'
import { connection, startFeed, stopFeed } from './feed.ts'

type Session = { actor: string; scope: string; organization_id: string; user_id: string | null; version: string }

type SignIn =
  | { state: 'checking' }
  | { state: 'signed-in'; session: Session }
  | { state: 'signed-out'; reason?: string }

export const signedIn = signal<SignIn>({ state: 'checking' })

/** The version of a server that took the place of the one this page came from. */
export const newVersion = signal<string | undefined>(undefined)

let wasLost = false
effect(() => {
  const { state } = connection.value
  if (state === 'live' && wasLost) void compareVersions()
  wasLost = state === 'lost' || (wasLost && state !== 'live')
})

async function compareVersions(): Promise<void> {
  const answer = await request<Session>('GET', '/v1/session')
  const { value } = signedIn
  if (!answer.ok || value.state !== 'signed-in') return
  const { version } = answer.value
  newVersion.value = version === value.session.version ? undefined : version
}

/** What was typed stays on the screen behind the sign-in form: the screens are not unmounted. */
whenSignedOut(() => {
  if (signedIn.value.state !== 'signed-in') return
  stopFeed()
  signedIn.value = { state: 'signed-out', reason: 'Your key is no longer accepted. Sign in again to go on.' }
})

const LINK = /^#sign-in=([\w-]+)$/

// A link that is pasted into an open page changes the hash alone.
addEventListener('hashchange', () => {
  if (LINK.test(location.hash)) void restoreSession()
})

export async function restoreSession(): Promise<void> {
  const link = LINK.exec(location.hash)?.[1]
  if (link) {
    // The link works once: it must not stay in the history of the browser.
    history.replaceState(undefined, '', '#/')
    dispatchEvent(new HashChangeEvent('hashchange'))
    const failure = await signIn(link)
    if (!failure) return
  }
  await showSession(link ? 'This link was used before, or has expired. Sign in with a key.' : undefined)
}

/** Undefined: signed in. */
export async function signIn(key: string): Promise<Failure | undefined> {
  try {
    const headers = { authorization: `Bearer ${key.trim()}` }
    const response = await fetch('/v1/session', { method: 'POST', headers })
    if (!response.ok) return { status: response.status, detail: refusal(response.status) }
  } catch {
    return { status: 0, detail: 'The server cannot be reached.' }
  }
  await showSession()
  return undefined
}

const refusal = (status: number): string =>
  status === 429 ? 'Too many attempts. Wait a minute, then try again.' : 'This key is not accepted.'

export async function signOut(): Promise<void> {
  stopFeed()
  await request('DELETE', '/v1/session')
  signedIn.value = { state: 'signed-out' }
}

async function showSession(reason?: string): Promise<void> {
  const answer = await request<Session>('GET', '/v1/session')
  if (answer.ok) {
    signedIn.value = { state: 'signed-in', session: answer.value }
    startFeed()
    return
  }
  const { status, detail } = answer.failure
  const why = reason ?? (status === 401 ? undefined : detail)
  signedIn.value = { state: 'signed-out', ...defined({ reason: why }) }
}

/** Whether the key may do this; the server decides, the page only leaves out what would be refused. */
export function may(right: 'agent' | 'approve' | 'tools' | 'admin'): boolean {
  const { value } = signedIn
  if (value.state !== 'signed-in') return false
  const { scope } = value.session
  return scope === 'admin' || scope.split(' ').includes(right)
}
