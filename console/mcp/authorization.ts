import { useSignal } from '@preact/signals'
import { type Failure, request } from '../api.ts'
import { html } from '../html.ts'
import { visible } from '../parts/markup.ts'
import { Fault } from '../parts/notice.ts'
import { may } from '../session.ts'
import { clockTime } from '../times.ts'
import type { McpServer } from './server.ts'

type Authorization = NonNullable<McpServer['authorization']>

/** Whether a person has signed in at a server, and the way in and out. */
export function AuthorizationPart({ id, authorization }: { id: string; authorization: Authorization }) {
  const failure = useSignal<Failure | undefined>(undefined)
  const address = useSignal<string | undefined>(undefined)
  const isBusy = useSignal(false)
  const { state, detail } = authorization

  async function ask<T>(method: 'POST' | 'DELETE'): Promise<T | undefined> {
    isBusy.value = true
    const answer = await request<T>(method, `/v1/mcp-servers/${id}/connect`, method === 'POST' ? {} : undefined)
    isBusy.value = false
    failure.value = answer.ok ? undefined : answer.failure
    return answer.ok ? answer.value : undefined
  }

  async function signIn(): Promise<void> {
    address.value = (await ask<{ authorization_url: string }>('POST'))?.authorization_url
  }

  async function signOut(): Promise<void> {
    address.value = undefined
    await ask('DELETE')
  }

  const waiting = state === 'authorized' ? undefined : (authorization.authorization_url ?? address.value)
  return html`
    <h2>Sign-in</h2>
    <p role="status"><span class=${state === 'authorized' ? 'state-completed' : state === 'none' ? 'age' : 'state-waiting'}>${textOf(authorization)}</span></p>
    ${detail && html`<p class="hint">${visible(detail)}</p>`}
    ${
      waiting &&
      /^https?:/.test(waiting) &&
      html`<p><a href=${waiting} target="_blank" rel="noopener noreferrer">Open the page of its authorization server</a>, decide there, and come back: this page follows.</p>`
    }
    ${
      may('admin') &&
      html`<div class="bar">
        <button disabled=${isBusy.value} onClick=${signIn}>${state === 'authorized' ? 'Sign in again' : 'Sign in'}</button>
        ${state === 'authorized' && html`<button class="quiet" disabled=${isBusy.value} onClick=${signOut}>Sign out</button>`}
      </div>`
    }
    <${Fault} failure=${failure.value} />
  `
}

function textOf({ state, issuer, scope, expires_at: end }: Authorization): string {
  switch (state) {
    case 'none':
      return 'The server has not asked for it.'
    case 'needed':
      return 'A person must sign in.'
    case 'waiting':
      return `Waits for a person${end ? ` until ${clockTime(end)}` : ''}.`
    case 'authorized':
      return `Signed in at ${visible(issuer ?? '')}${scope ? ` for ${visible(scope)}` : ''}.`
  }
}
