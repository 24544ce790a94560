import { useSignal } from '@preact/signals'
import { type Failure, request } from '../api.ts'
import { html } from '../html.ts'
import { visible } from '../parts/markup.ts'
import { Fault } from '../parts/notice.ts'
import { useResource } from '../resource.ts'
import { hrefOf } from '../route.ts'
import { ageOf } from '../times.ts'

type Account = {
  name: string
  platform: string
  state: string
  detail: string | null
  bot: string | null
  owner: string | null
  last_success_at: string | null
  next_try_at: string | null
  inbound_pending: number
  inbound_oldest_at: string | null
  outbound_open: number
  outbound_oldest_at: string | null
  outbound_unknown: number
  runs_owed: number
}

type Pairing = { account: string; sender_id: string; name: string; state: string; expires_at?: string | null }

type Outbound = { number: number; account: string; state: string; error?: string | null; run_id?: string | null }

/** Bots on chat platforms, and the people who ask to talk to them. */
export function Gateway() {
  const accounts = useResource<Account[]>(
    '/v1/gateway/accounts',
    ({ kind }) => kind === 'gateway_account' || kind === 'run',
  ).value
  if ((accounts.value ?? []).length === 0)
    return html`<h2>Chat platforms</h2><${Fault} failure=${accounts.failure} /><p class="hint">No account is configured. An account is a few lines of <code>gateway</code> in <code>config.yaml</code>; docs/gateway.md shows them.</p>`
  return html`
    <h2>Chat platforms</h2>
    <${Fault} failure=${accounts.failure} />
    <table class="wide">
      <thead><tr><th>Account</th><th>State</th><th>In</th><th>Out</th></tr></thead>
      <tbody>${accounts.value!.map(
        (one) => html`
        <tr key=${one.name}>
          <td>${visible(one.name)} <small>${one.platform}${one.bot ? `, ${visible(one.bot)}` : ''}</small></td>
          <td class=${one.state === 'up' ? 'state-completed' : 'state-waiting'}>${one.state}${one.detail && html`<br /><small>${visible(one.detail)}</small>`}
            ${one.last_success_at && html`<br /><small>last answer ${ageOf(one.last_success_at)}</small>`}</td>
          <td>${one.inbound_pending} waiting${one.inbound_oldest_at ? `, the oldest ${ageOf(one.inbound_oldest_at)}` : ''}</td>
          <td>${one.outbound_open} open, ${one.runs_owed} answers owed${one.outbound_unknown > 0 && html`<br /><span class="state-failed">${one.outbound_unknown} of which it is not known whether they arrived</span>`}</td>
        </tr>`,
      )}</tbody>
    </table>
    ${accounts.value!.some(({ outbound_unknown: count }) => count > 0) && html`<${Unknown} />`}
    <${Pairings} />
  `
}

/** Sends that are never repeated, because they may have arrived. */
function Unknown() {
  const rows =
    useResource<Outbound[]>('/v1/gateway/outbound?state=unknown', ({ kind }) => kind === 'gateway_account').value
      .value ?? []
  return html`<ul>${rows.map(({ number, account, error, run_id: run }) => html`<li key=${number}>${visible(account)}: ${visible(error ?? 'the answer of the platform was lost')} ${run && html`<a href=${hrefOf('runs', run)}>its run</a>`}</li>`)}</ul>`
}

function Pairings() {
  const pairings = useResource<Pairing[]>('/v1/gateway/pairings', ({ kind }) => kind === 'pairing').value
  const failure = useSignal<Failure | undefined>(undefined)
  const note = useSignal('')

  async function approve(event: SubmitEvent): Promise<void> {
    event.preventDefault()
    const form = event.currentTarget as HTMLFormElement
    const code = (new FormData(form).get('code') as string).trim()
    const answer = await request<Pairing>('POST', '/v1/gateway/pairings/approve', { code })
    failure.value = answer.ok ? undefined : answer.failure
    note.value = answer.ok ? `${answer.value.name} may talk to ${answer.value.account} now.` : ''
    if (answer.ok) form.reset()
  }

  async function revoke({ account, sender_id: sender }: Pairing): Promise<void> {
    const answer = await request(
      'DELETE',
      `/v1/gateway/pairings/${encodeURIComponent(account)}/${encodeURIComponent(sender)}`,
    )
    failure.value = answer.ok ? undefined : answer.failure
  }

  return html`
    <h3>People</h3>
    <form class="bar" onSubmit=${approve}>
      <label for="pairing-code">Code that the bot showed to a person</label>
      <input id="pairing-code" name="code" required autocomplete="off" class="short" />
      <button class="primary">Let them talk</button>
    </form>
    <p role="status">${visible(note.value)}</p>
    <${Fault} failure=${failure.value} />
    <ul>${(pairings.value ?? []).map(
      (
        one,
      ) => html`<li key=${`${one.account}/${one.sender_id}`}>${visible(one.name)} <small>${visible(one.account)}, ${one.state}</small>
        ${one.state === 'approved' && html`<button class="small quiet" onClick=${() => revoke(one)}>End it</button>`}</li>`,
    )}</ul>
  `
}
