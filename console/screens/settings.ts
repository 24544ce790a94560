import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { defined } from '../../src/core/defined.ts'
import { SCOPES } from '../../src/core/people.ts'
import { type Failure, request } from '../api.ts'
import { html } from '../html.ts'
import { visible } from '../parts/markup.ts'
import { Fault, ListState } from '../parts/notice.ts'
import { useResource } from '../resource.ts'
import { may, signedIn } from '../session.ts'
import { ageOf, clockTime, present } from '../times.ts'

export function SettingsScreen() {
  const { value } = signedIn
  if (value.state !== 'signed-in') return null
  const { actor, scope, version } = value.session
  return html`
    <h1>Settings</h1>
    <div class="facts"><span>Signed in with ${actor === 'home' ? 'the key of the home' : `the key ${actor}`}</span><span>Scope: ${scope}</span><span>Holdfast ${version}</span></div>
    <${Notifications} />
    ${
      may('admin')
        ? html`<${Keys} /><${Users} /><${Organizations} /><${Audit} /><${Configuration} />`
        : html`<p class="hint">Keys, users, organizations, the audit log and the configuration are for administrators.</p>`
    }
  `
}

function Notifications() {
  const state = useSignal('Notification' in globalThis ? Notification.permission : 'unsupported')
  if (state.value === 'unsupported') return null
  return html`
    <h2>Notifications</h2>
    ${
      state.value === 'granted'
        ? html`<p>This browser tells you when something waits for a decision.</p>`
        : html`<p><button onClick=${async () => {
            state.value = await Notification.requestPermission()
          }}>Tell me when something waits for a decision</button> ${state.value === 'denied' && 'Your browser refuses: change it in its settings of this page.'}</p>`
    }
  `
}

type Key = {
  id: string
  name: string
  scope: string
  prefix: string
  created_at: string
  expires_at: string | null
  revoked_at: string | null
}

function Keys() {
  const keys = useResource<Key[]>('/v1/keys', ({ kind }) => kind === 'key').value
  const failure = useSignal<Failure | undefined>(undefined)
  const created = useSignal<string | undefined>(undefined)
  const dialog = useRef<HTMLDialogElement>(null)
  const revoking = useSignal<Key | undefined>(undefined)

  async function create(event: SubmitEvent): Promise<void> {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    const days = Number(form.get('days'))
    const body = {
      name: form.get('name') as string,
      scope: form.get('scope') as string,
      ...defined({ expires_at: days > 0 ? new Date(present() + days * 86_400_000).toISOString() : undefined }),
    }
    const answer = await request<{ key: string }>('POST', '/v1/keys', body)
    failure.value = answer.ok ? undefined : answer.failure
    if (answer.ok) created.value = answer.value.key
  }

  async function revoke(): Promise<void> {
    const answer = await request('DELETE', `/v1/keys/${revoking.value?.id}`)
    failure.value = answer.ok ? undefined : answer.failure
    dialog.current?.close()
    keys.reload()
  }

  return html`
    <h2>API keys</h2>
    <details class="card"><summary>Create a key</summary>
      <form class="form" onSubmit=${create}>
        <label for="key-name">Name</label><input id="key-name" name="name" required />
        <label for="key-scope">Scope</label><select id="key-scope" name="scope">${SCOPES.map((scope) => html`<option key=${scope}>${scope}</option>`)}</select>
        <label for="key-days">Days until it expires (0: never)</label><input id="key-days" name="days" type="number" min="0" defaultValue="90" />
        <div class="bar"><button class="primary">Create</button></div>
      </form>
      ${created.value && html`<p class="note" role="status">This is shown once: <code>${created.value}</code></p>`}
    </details>
    <${Fault} failure=${failure.value} />
    <${ListState} resource=${keys} empty="No keys yet: only the key of the home." />
    ${
      (keys.value ?? []).length > 0 &&
      html`<table class="wide"><thead><tr><th>Name</th><th>Scope</th><th>Begins with</th><th>Made</th><th>Ends</th><th><span class="visually-hidden">Action</span></th></tr></thead>
      <tbody>${keys.value!.map(
        (
          key,
        ) => html`<tr key=${key.id}><td>${visible(key.name)}</td><td>${key.scope}</td><td><code>${key.prefix}</code></td><td class="age">${ageOf(key.created_at)}</td>
        <td>${key.revoked_at ? 'revoked' : key.expires_at ? clockTime(key.expires_at) : 'never'}</td>
        <td>${
          !key.revoked_at &&
          html`<button class="small" onClick=${() => {
            revoking.value = key
            dialog.current?.showModal()
          }}>Revoke</button>`
        }</td></tr>`,
      )}</tbody></table>`
    }
    <dialog ref=${dialog} aria-label="Revoke a key">
      <p>Revoke the key ${visible(revoking.value?.name ?? '')}? Its requests and streams end at once, in browsers too.</p>
      <div class="bar"><button class="stop" onClick=${revoke}>Revoke it</button><button onClick=${() => dialog.current?.close()}>Keep it</button></div>
    </dialog>
  `
}

function Users() {
  const users = useResource<{ id: string; name: string; created_at: string }[]>(
    '/v1/users',
    ({ kind }) => kind === 'user',
  ).value
  return html`<h2>Users</h2><${ListState} resource=${users} empty="No users." />
    <ul>${(users.value ?? []).map(({ id, name, created_at: date }) => html`<li key=${id}>${visible(name)} <span class="age">${ageOf(date)}</span></li>`)}</ul>`
}

function Organizations() {
  const list = useResource<{ id: string; name: string }[]>('/v1/organizations', () => false).value
  return html`<h2>Organizations</h2><${ListState} resource=${list} empty="No organizations." />
    <ul>${(list.value ?? []).map(({ id, name }) => html`<li key=${id}>${visible(name)} <small>${id}</small></li>`)}</ul>`
}

type AuditEntry = {
  id: string
  date: string
  actor: string
  from: string | null
  verb: string
  object: string | null
  outcome: string
}

function Audit() {
  const entries = useResource<AuditEntry[]>('/v1/audit?limit=50', () => false).value
  return html`
    <h2>Audit log</h2>
    <${ListState} resource=${entries} empty="Nothing recorded yet." />
    <div class="bar"><button class="quiet" onClick=${entries.reload}>Read again</button></div>
    <table class="wide"><thead><tr><th>When</th><th>Who</th><th>What</th><th>Outcome</th></tr></thead>
    <tbody>${(entries.value ?? []).map(
      ({
        id,
        date,
        actor,
        from,
        verb,
        object,
        outcome,
      }) => html`<tr key=${id}><td class="age">${clockTime(date)}</td><td>${visible(actor)}${from && html` <small>${from}</small>`}</td>
        <td>${visible(verb)}${object && html` <small>${visible(object)}</small>`}</td><td>${visible(outcome)}</td></tr>`,
    )}</tbody></table>
  `
}

function Configuration() {
  const settings = useResource<{ name: string; value: string }[]>('/v1/holdfast/settings', () => false).value
  const check = useSignal<{ faults: string[]; changed: string[] } | undefined>(undefined)
  const failure = useSignal<Failure | undefined>(undefined)
  async function run(): Promise<void> {
    const answer = await request<{ faults: string[]; changed: string[] }>('GET', '/v1/holdfast/settings/check')
    failure.value = answer.ok ? undefined : answer.failure
    check.value = answer.ok ? answer.value : undefined
  }
  return html`
    <h2>Configuration</h2>
    <p class="hint">In force since the start of the server. Change it in <code>config.yaml</code> or the environment, check it, then start the server again.</p>
    <div class="bar"><button onClick=${run}>Check config.yaml</button><span role="status">${check.value && checkText(check.value)}</span></div>
    <${Fault} failure=${failure.value} />
    ${check.value && check.value.faults.length > 0 && html`<ul class="fault plain-list">${check.value.faults.map((text) => html`<li key=${text}>${visible(text)}</li>`)}</ul>`}
    <${Fault} failure=${settings.failure} />
    <table><thead><tr><th>Setting</th><th>Value</th></tr></thead>
      <tbody>${(settings.value ?? []).map(({ name, value }) => html`<tr key=${name}><td><code>${name}</code></td><td>${visible(value)}</td></tr>`)}</tbody></table>
  `
}

function checkText({ faults, changed }: { faults: string[]; changed: string[] }): string {
  if (faults.length > 0) return 'The server would not start with it:'
  if (changed.length === 0) return 'It is as the server runs.'
  return `It can be used. A restart changes ${changed.join(', ')}.`
}
