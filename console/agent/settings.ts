import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { type Failure, request } from '../api.ts'
import { html } from '../html.ts'
import { visible } from '../parts/markup.ts'
import { Fault } from '../parts/notice.ts'
import { save } from '../parts/save.ts'
import { goTo } from '../route.ts'
import type { TabProps } from '../screens/agent.ts'
import { may } from '../session.ts'

/** The model with its chain and settings, secrets by name, and the end of the agent. Fields keep what is typed over a reload. */
export function SettingsTab({ agent, reload }: TabProps) {
  const failure = useSignal<Failure | undefined>(undefined)
  const note = useSignal('')
  const dialog = useRef<HTMLDialogElement>(null)

  async function save(event: SubmitEvent): Promise<void> {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    const field = (name: string) => (form.get(name) as string).trim()
    let settings: unknown
    try {
      settings = JSON.parse(field('settings') || 'null')
    } catch (fault) {
      failure.value = { status: 0, detail: `The model settings are not JSON: ${(fault as Error).message}` }
      return
    }
    const fallback = field('fallback')
      .split(/[\s,]+/)
      .filter(Boolean)
    const body: Record<string, unknown> = {
      name: field('name'),
      description: field('description'),
      system: form.get('system'),
      fallback,
    }
    if (field('model') !== '') body.model = field('model')
    if (settings !== null) body.model_settings = settings
    const answer = await request('PATCH', `/v1/agents/${agent.id}`, body)
    failure.value = answer.ok ? undefined : answer.failure
    note.value = answer.ok ? 'Saved.' : ''
    reload()
  }

  async function remove(): Promise<void> {
    const answer = await request('DELETE', `/v1/agents/${agent.id}`)
    if (answer.ok) goTo('agents')
    else failure.value = answer.failure
    dialog.current?.close()
  }

  const isReader = !may('agent')
  return html`
    <form class="form" onSubmit=${save}>
      <label for="agent-name">Name</label><input id="agent-name" name="name" defaultValue=${agent.name} required readonly=${isReader} />
      <label for="agent-description">Description</label><input id="agent-description" name="description" defaultValue=${agent.description ?? ''} readonly=${isReader} />
      <label for="agent-model">Model</label><input id="agent-model" name="model" defaultValue=${agent.model ?? ''} placeholder="The default model" readonly=${isReader} />
      <label for="agent-fallback">When it fails, ask these instead, in this order</label>
      <input id="agent-fallback" name="fallback" defaultValue=${agent.fallback.join(', ')} placeholder="provider/model, provider/model" readonly=${isReader} />
      <label for="agent-settings">Model settings</label>
      <textarea id="agent-settings" name="settings" rows="5" readonly=${isReader} defaultValue=${agent.model_settings ? JSON.stringify(agent.model_settings, undefined, 2) : ''}></textarea>
      <label for="agent-system">System prompt</label><textarea id="agent-system" name="system" rows="10" readonly=${isReader} defaultValue=${agent.system}></textarea>
      ${!isReader && html`<div class="bar"><button class="primary">Save</button><span role="status">${note.value}</span></div>`}
      <${Fault} failure=${failure.value} />
    </form>
    <h2>Secrets</h2>
    ${(agent.secrets ?? []).length === 0 ? html`<p class="hint">None. Tools read them from their environment.</p>` : html`<ul>${agent.secrets!.map(({ key }) => html`<li key=${key}><code>${visible(key)}</code></li>`)}</ul>`}
    <h2>Export</h2>
    <p><a class="button" href=${`/v1/agents/${agent.id}/export`} download=${`${agent.name}.af`} onClick=${(
      event: Event,
    ) => {
      event.preventDefault()
      void download(agent.id, agent.name).then((fault) => {
        failure.value = fault
      })
    }}>Export this agent as a file</a></p>
    ${
      !isReader &&
      html`<h2>Delete</h2><p><button class="stop" onClick=${() => dialog.current?.showModal()}>Delete this agent …</button></p>
      <dialog ref=${dialog} aria-label="Delete this agent">
        <p>Delete ${visible(agent.name)} with its conversations, messages and workspaces? This cannot be undone. Running turns are cancelled.</p>
        <div class="bar"><button class="stop" onClick=${remove}>Delete it</button><button onClick=${() => dialog.current?.close()}>Keep it</button></div>
      </dialog>`
    }
  `
}

async function download(id: string, name: string): Promise<Failure | undefined> {
  const answer = await request<object>('GET', `/v1/agents/${id}/export`)
  if (!answer.ok) return answer.failure
  save(`${name}.af`, JSON.stringify(answer.value), 'application/json')
  return undefined
}
