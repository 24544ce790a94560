import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { WORKSPACE_TOOLS } from '../../src/core/base-tools.ts'
import { defined } from '../../src/core/defined.ts'
import { type Failure, request } from '../api.ts'
import { html } from '../html.ts'
import { shortName, visible } from '../parts/markup.ts'
import { Fault, ListState } from '../parts/notice.ts'
import { useOlder } from '../parts/older.ts'
import { useResource } from '../resource.ts'
import { goTo, hrefOf } from '../route.ts'
import { may } from '../session.ts'
import { ageOf } from '../times.ts'

type Listed = { id: string; name: string; model: string | null; description: string | null; created_at: string }

export function AgentsScreen() {
  const words = useSignal('')
  const path = `/v1/agents?${new URLSearchParams({ limit: String(PAGE), query_text: words.value })}`
  const agents = useResource<Listed[]>(path, ({ kind }) => kind === 'agent').value
  const older = useOlder<Listed>(path, PAGE)
  const shown = older.after(agents.value ?? [])
  return html`
    <h1>Agents</h1>
    ${may('agent') && html`<${CreateAgent} isOpen=${agents.value?.length === 0 && words.value === ''} /><${ImportAgent} />`}
    <div class="bar" hidden=${agents.value?.length === 0 && words.value === ''}><label class="grow">Find
      <input type="search" placeholder="Part of a name" value=${words.value} onInput=${(event: InputEvent) => {
        words.value = (event.target as HTMLInputElement).value.trim()
      }} /></label></div>
    <${ListState} resource=${agents} empty=${words.value ? 'No agent has this in its name.' : 'No agents yet.'} />
    ${
      shown.length > 0 &&
      html`
      <table class="wide">
        <thead><tr><th>Name</th><th>Model</th><th>Description</th><th>Age</th></tr></thead>
        <tbody>${shown.map(
          ({ id, name, model, description, created_at: date }) => html`
          <tr key=${id}>
            <td><a href=${hrefOf('agents', id)}>${shortName(name)}</a></td><td>${visible(model ?? 'the default model')}</td>
            <td>${visible(description ?? '')}</td><td class="age">${ageOf(date)}</td>
          </tr>`,
        )}</tbody>
      </table>`
    }
    <${Fault} failure=${older.failure} />
    ${older.hasMore(shown) && html`<button onClick=${() => older.load(shown)}>Show more agents</button>`}
  `
}

const PAGE = 100

/** Open while there is no agent: it is what a newcomer looks for. */
function CreateAgent({ isOpen }: { isOpen: boolean }) {
  const failure = useSignal<Failure | undefined>(undefined)
  const models = useResource<{ handle: string }[]>('/v1/models', () => false).value.value ?? []
  async function create(event: SubmitEvent): Promise<void> {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    const field = (name: string) => (form.get(name) as string).trim() || undefined
    const body = defined({ name: field('name'), model: field('model'), system: field('system') })
    const answer = await request<{ id: string }>('POST', '/v1/holdfast/agents', body)
    if (!answer.ok) {
      failure.value = answer.failure
      return
    }
    const refused = form.get('workspace') ? await addWorkspaceTools(answer.value.id) : undefined
    if (!refused) goTo('agents', answer.value.id)
    else failure.value = { ...refused, detail: `The agent was made, but may not run commands: ${refused.detail}` }
  }
  return html`
    <details class="card" open=${isOpen}><summary>Create an agent</summary>
      <form class="form" onSubmit=${create}>
        <label for="name">Name</label><input id="name" name="name" required maxlength="500" />
        <label for="model">Model</label>
        <input id="model" name="model" list="models" placeholder="Empty: the server's default" />
        <datalist id="models">${models.map(({ handle }) => html`<option value=${handle} key=${handle}></option>`)}</datalist>
        <label for="system">System prompt</label>
        <textarea id="system" name="system" rows="4" placeholder="Empty: a helpful assistant"></textarea>
        <label class="check"><input type="checkbox" name="workspace" defaultChecked=${true} /> It may run commands and write files, in a sandbox of its own. Commands that destroy something ask you first.</label>
        <div class="bar"><button class="primary">Create</button></div>
        <${Fault} failure=${failure.value} />
      </form>
    </details>
  `
}

/** Beside the tools that an agent has by default. */
async function addWorkspaceTools(agentId: string): Promise<Failure | undefined> {
  const all = await request<{ id: string; name: string }[]>('GET', '/v1/tools?limit=500')
  if (!all.ok) return all.failure
  const own = await request<{ id: string }[]>('GET', `/v1/agents/${agentId}/tools?limit=500`)
  if (!own.ok) return own.failure
  const added = all.value.filter(({ name }) => WORKSPACE_TOOLS.includes(name))
  const answer = await request('PATCH', `/v1/agents/${agentId}`, {
    tool_ids: [...own.value, ...added].map(({ id }) => id),
  })
  return answer.ok ? undefined : answer.failure
}

function ImportAgent() {
  const failure = useSignal<Failure | undefined>(undefined)
  const note = useSignal('')
  const input = useRef<HTMLInputElement>(null)
  async function bring(file: File | undefined): Promise<void> {
    if (!file) return
    note.value = `Importing ${file.name} …`
    const form = new FormData()
    form.set('file', file)
    const answer = await request<{ agent_ids: string[] }>('POST', '/v1/agents/import', form)
    note.value = answer.ok ? `Imported ${answer.value.agent_ids.length} from ${file.name}.` : ''
    failure.value = answer.ok ? undefined : answer.failure
    if (input.current) input.current.value = ''
  }
  return html`
    <div class="bar">
      <label class="button">Import an agent file<input ref=${input} type="file" accept=".af,.json,application/json" hidden
        onChange=${(event: Event) => void bring((event.target as HTMLInputElement).files?.[0])} /></label>
      <span role="status">${visible(note.value)}</span>
    </div>
    <${Fault} failure=${failure.value} />
  `
}
