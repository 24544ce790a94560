import { useSignal } from '@preact/signals'
import type { WireProcess, WireWorkspace } from '../../src/http/holdfast/wire/workspace.ts'
import { type Failure, request } from '../api.ts'
import { html } from '../html.ts'
import { PlainText } from '../parts/markdown.ts'
import { visible } from '../parts/markup.ts'
import { Fault, ListState } from '../parts/notice.ts'
import { useResource } from '../resource.ts'
import { hrefOf } from '../route.ts'
import type { TabProps } from '../screens/agent.ts'
import { may } from '../session.ts'
import { Files } from './files.ts'

export function WorkspaceTab({ agent }: TabProps) {
  const list = useResource<WireWorkspace[]>(
    `/v1/workspaces?agent_id=${agent.id}`,
    (change) => change.kind === 'run' && change.agent_id === agent.id,
  ).value
  return html`
    <p class="hint">Folder, terminal and processes of each conversation of this agent, in a sandbox.</p>
    <${ListState} resource=${list} empty="No workspace yet: it is made by the first command or file." />
    ${(list.value ?? []).map((workspace) => html`<${WorkspaceView} key=${workspace.conversation_id} workspace=${workspace} reload=${list.reload} />`)}
  `
}

const megabytes = (bytes: number): string => `${(bytes / 1_048_576).toFixed(1)} MB`

function WorkspaceView({ workspace, reload }: { workspace: WireWorkspace; reload(): void }) {
  const { conversation_id: id, usage, quota, processes, ports, status, containment } = workspace
  const failure = useSignal<Failure | undefined>(undefined)

  async function end(processId: string): Promise<void> {
    const answer = await request('DELETE', `/v1/workspaces/${id}/processes/${processId}`)
    failure.value = answer.ok ? undefined : answer.failure
    reload()
  }

  /** Another origin, in a tab of its own: no cookie of the console goes there. */
  async function open(port: number): Promise<void> {
    const answer = await request<{ url: string }>('POST', `/v1/workspaces/${id}/pages`, { port })
    failure.value = answer.ok ? undefined : answer.failure
    if (answer.ok) globalThis.open(answer.value.url, '_blank', 'noopener,noreferrer')
  }

  return html`
    <section class="card" aria-label="Workspace">
      <div class="card-head">
        <h2><a href=${hrefOf('chat', id)}>${workspace.is_default ? 'Default conversation' : 'Conversation'}</a></h2>
        <span class="age">${status}, ${containment === 'local' ? 'no sandbox' : containment}</span>
        ${usage && html`<span class="age">${megabytes(usage.disk_bytes)} of ${megabytes(quota.disk_bytes)} on disk, ${megabytes(usage.memory_bytes)} of memory, ${usage.processes} ${usage.processes === 1 ? 'process' : 'processes'}</span>`}
      </div>
      ${workspace.folder && html`<p class="hint">On the machine: <code>${visible(workspace.folder)}</code></p>`}
      <${Fault} failure=${failure.value} />
      ${
        ports &&
        ports.length > 0 &&
        may('agent') &&
        html`<div class="bar">${ports.map(({ port }) => html`<button key=${port} onClick=${() => open(port)}>Open the page on port ${port}</button>`)}</div>`
      }
      <${Files} workspace=${id} agentId=${workspace.agent_id} isAsleep=${status === 'asleep'} />
      ${processes && processes.length > 0 && html`<h3>Processes</h3>`}
      ${(processes ?? []).map((process) => html`<${ProcessView} key=${process.id} workspace=${id} process=${process} onEnd=${() => end(process.id)} />`)}
    </section>
  `
}

function ProcessView({ workspace, process, onEnd }: { workspace: string; process: WireProcess; onEnd(): void }) {
  return html`
    <details class="tool">
      <summary><code>${visible(process.command)}</code> <span class="state">${endingText(process)}</span></summary>
      <${Output} workspace=${workspace} processId=${process.id} />
      <div class="bar"><a href=${hrefOf('runs', process.run_id)}>Its run</a>
        ${may('agent') && process.ending === null && html`<button class="stop" onClick=${onEnd}>End it</button>`}</div>
    </details>
  `
}

function endingText({ ending, background }: WireProcess): string {
  if (ending === null) return background ? 'running in the background' : 'running'
  switch (ending.type) {
    case 'exited':
      return ending.code === 0 ? 'done' : `failed with exit code ${ending.code}`
    case 'killed':
      return `ended by ${ending.signal}`
    case 'over-limit':
      return `ended: over the limit of ${ending.limit}`
    case 'lost':
      return 'lost: the machine or the sandbox stopped'
  }
}

function Output({ workspace, processId }: { workspace: string; processId: string }) {
  const output = useSignal<string | undefined>(undefined)
  const failure = useSignal<Failure | undefined>(undefined)
  async function load(): Promise<void> {
    const path = `/v1/workspaces/${workspace}/processes/${processId}?last=20000`
    const answer = await request<{ output: { text: string } }>('GET', path)
    failure.value = answer.ok ? undefined : answer.failure
    if (answer.ok) output.value = answer.value.output.text
  }
  return html`<${Fault} failure=${failure.value} />${output.value !== undefined && html`<${PlainText} text=${output.value} />`}
    <button class="quiet" onClick=${load}>${output.value === undefined ? 'Show its output' : 'Read again'}</button>`
}
